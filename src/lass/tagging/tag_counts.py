"""Whether enough is said, and of which tags too little."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lass.collection import Annotations


@dataclass(frozen=True)
class TagHealth:
    """How much is said, and of which tags too little."""

    items: int
    tagged: int
    tags: int
    positive: int
    negative: int
    #: tags that nobody gave to any item, and those with one or two items
    unused: list[str] = field(default_factory=list)
    rare: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        each = self.positive / max(self.tagged, 1)
        said = f"{self.tagged:,} of {self.items:,} items have tags, {each:.1f} each"
        lines = [f"{said}; {self.negative:,} words say no"]
        for names, what in ((self.unused, "no item"), (self.rare, "one or two items only")):
            if names:
                more = ", ..." if len(names) > 3 else ""
                lines.append(
                    f"{len(names):,} of {self.tags:,} tags have {what}: {', '.join(names[:3])}{more}"
                )
        return "\n".join(lines)


def tag_health(words: Annotations) -> TagHealth:
    """Count what is said.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.collection import Annotations
    >>> from lass.tagging import tag_health
    >>> print(tag_health(Annotations(sp.csr_array([[1.0, -1.0], [0.0, 0.0]]), ["a", "b"], ["jazz", "rock"], 2)))
    1 of 2 items have tags, 1.0 each; 1 words say no
    1 of 2 tags have no item: rock
    1 of 2 tags have one or two items only: jazz
    """
    G = words.G
    counts = np.bincount(G.indices[G.data > 0], minlength=G.shape[1])
    positive = int(counts.sum())
    rows = np.repeat(np.arange(G.shape[0]), np.diff(G.indptr))[G.data > 0]
    used = {
        name: count for tag, (name, count) in enumerate(zip(words.names, counts.tolist(), strict=True))
        if tag not in words.retired
    }  # fmt: skip
    return TagHealth(
        items=G.shape[0], tagged=len(np.unique(rows)), tags=len(used), positive=positive,
        negative=G.nnz - positive, unused=[name for name, count in used.items() if not count],
        rare=[name for name, count in used.items() if 0 < count < 3],
    )  # fmt: skip
