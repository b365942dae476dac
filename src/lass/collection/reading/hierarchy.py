"""Names of tags that hold a hierarchy: ``facet::tag`` and ``a/b/c``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import scipy.sparse as sp


def parents(name: str) -> list[str]:
    """The parents of a tag, the widest first: the facets before ``::`` or the folders before ``/``.

    Examples
    --------
    >>> from lass.collection.reading import parents
    >>> parents("game::strategy"), parents("music/rock/indie"), parents("mail")
    (['game'], ['music', 'music/rock'], [])
    """
    sign = "::" if "::" in name else "/"
    parts = name.split(sign)
    heads = (sign.join(parts[:i]) for i in range(1, len(parts)))
    return [head for head in heads if head]


def facet_names(names: Sequence[str], given: Mapping[str, Sequence[str]] | None = None) -> list[str]:
    """The facet of each tag: the one that is ``given``, else its widest parent; "" for none.

    Examples
    --------
    >>> from lass.collection.reading import facet_names
    >>> facet_names(["game::chess", "music/rock/indie", "mail"]), facet_names(["red"], {"colour": ["red"]})
    (['game', 'music', ''], ['colour'])
    """
    listed = {tag: facet for facet, tags in (given or {}).items() for tag in tags}
    return [listed.get(name) or next(iter(parents(name)), "") for name in names]


def category_graph(names: Sequence[str], *, group: int = 30) -> sp.csr_array:
    """Edges between tags under the same parent, and between a tag and its parent where that is a tag itself.

    For ``category_graph`` of :func:`lass.solve`: connected categories get similar
    assignments. The edges of a tag to its m siblings weigh 1/m each, one in all, so
    that a facet with many tags does not outweigh a small one. Siblings beyond
    ``group`` are connected in a ring of ``group`` neighbours instead of all to all.

    Parameters
    ----------
    names : sequence of str
        The categories, each once.
    group : int
        Most siblings that are all connected to one another, plus one; even.

    Returns
    -------
    csr_array of shape (K, K)
        Symmetric, >= 0, zero diagonal.

    Examples
    --------
    >>> from lass.collection.reading import category_graph
    >>> category_graph(["game::chess", "game::go", "mail"]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    import numpy as np  # here, so that reading files does not wait for SciPy
    import scipy.sparse as sp

    if len(set(names)) < len(names):
        raise ValueError("names must hold each category once; found one twice")
    where = {name: k for k, name in enumerate(names)}
    siblings: dict[str, list[int]] = {}
    edges: dict[tuple[int, int], float] = {}
    for name, k in where.items():
        above = parents(name)
        if above:
            siblings.setdefault(above[-1], []).append(k)
            if above[-1] in where:
                edges[where[above[-1]], k] = 1.0
    for members in siblings.values():
        size = len(members)
        if size <= group:
            pairs = list(combinations(members, 2))
        else:
            steps = range(1, group // 2 + 1)
            pairs = [(members[i], members[(i + step) % size]) for i in range(size) for step in steps]
        for pair in pairs:
            edges[pair] = 1.0 / (min(size, group + 1) - 1)
    rows = np.array([pair[0] for pair in edges], np.intp)
    columns = np.array([pair[1] for pair in edges], np.intp)
    half = sp.csr_array((np.array(list(edges.values()), float), (rows, columns)), shape=(len(names),) * 2)
    return sp.csr_array(half + half.T)
