"""How many annotations a collection has, and which tags have too few."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lass.collection import AnnotationMatrix


@dataclass(frozen=True)
class TagCounts:
    """Counts of items, tags and annotations, and the tags with few items."""

    items: int
    tagged: int
    tags: int
    positive: int
    negative: int
    #: tags without items, and those with one or two
    unused: list[str] = field(default_factory=list)
    rare: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        each = self.positive / max(self.tagged, 1)
        lines = [
            f"{self.tagged:,} of {self.items:,} items have tags, {each:.1f} each; "
            f"{self.negative:,} negative annotation{'' if self.negative == 1 else 's'}"
        ]
        for names, what in ((self.unused, "no item"), (self.rare, "one or two items only")):
            if names:
                shown = ", ".join(names if len(names) <= 3 else [*names[:3], "..."])
                lines.append(f"{len(names):,} of {self.tags:,} tags have {what}: {shown}")
        return "\n".join(lines)


def count_tags(annotations: AnnotationMatrix) -> TagCounts:
    """Count the annotations of a collection.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.collection import AnnotationMatrix
    >>> from lass.tagging import count_tags
    >>> G = sp.csr_array([[1.0, -1.0], [0.0, 0.0]])
    >>> print(count_tags(AnnotationMatrix(G, ["a", "b"], ["jazz", "rock"], 2)))
    1 of 2 items have tags, 1.0 each; 1 negative annotation
    1 of 2 tags have no item: rock
    1 of 2 tags have one or two items only: jazz
    """
    G, names, retired = annotations.G, annotations.names, annotations.retired
    positive = G > 0
    counts = positive.sum(axis=0).tolist()
    used = {name: counts[column] for column, name in enumerate(names) if column not in retired}
    return TagCounts(
        items=G.shape[0], tagged=int(np.count_nonzero(positive.sum(axis=1))), tags=len(used),
        positive=positive.nnz, negative=G.nnz - positive.nnz,
        unused=[name for name, count in used.items() if not count],
        rare=[name for name, count in used.items() if 0 < count < 3],
    )  # fmt: skip
