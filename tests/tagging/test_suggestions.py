"""Suggestions and doubts against plain loops over all items and tags."""

import numpy as np
import pytest
import scipy.sparse as sp

from lass import Collection
from lass.collection import Item, Settings
from lass.tagging import TagSuggester, fit

TAGS = [f"tag{k}" for k in range(7)]


@pytest.fixture
def collection(tmp_path):
    rng = np.random.default_rng(3)
    points = rng.normal(size=(50, 2))
    ties = np.exp(-((points[:, None] - points) ** 2).sum(axis=2))
    ties[ties < 0.5] = 0
    np.fill_diagonal(ties, 0)
    ties[49], ties[:, 49] = 0, 0  # nobody knows the last item
    words = [
        (f"i{n}", TAGS[k], rng.choice([1, 1, 1, -1]))
        for n in range(0, 50, 2)
        for k in rng.choice(7, rng.integers(1, 4), replace=False)
    ]
    items = [Item(f"i{n}") for n in range(50)]
    settings = Settings(metric="precomputed", lam=0.5)
    with Collection.create(
        tmp_path / "c", items, TAGS, words, settings=settings, graph=sp.csr_array(ties)
    ) as made:
        fit(made)
        yield made


@pytest.fixture(params=["weighed", "crowd alone"])
def asked(request, collection):
    """The collection as it was fitted, and as it is where too little is known to weigh anybody."""
    if request.param == "crowd alone":
        stored = collection.saved_array("assignments")
        kept = {name: stored.extras[name] for name in ("lam", "gap", "chosen_with", "reason")}
        collection.save_assignments(stored.matrix, stored.stamp.changes, **kept)
    return collection


def by_hand(collection):
    """Scores of all items and tags: as saved, or in loops."""
    W, Z = collection.graph.toarray(), collection.assignments
    extras = collection.saved_array("assignments").extras
    if "scores" in extras:
        return extras["scores"].astype(float), W, Z
    result = np.full(Z.shape, 1 / Z.shape[1])
    for n in range(len(W)):
        if W[n].sum():
            result[n] = sum(W[n, m] * Z[m] for m in range(len(W))) / W[n].sum()
    return result, W, Z


def test_suggestions_are_the_best_of_what_nobody_spoke_of(asked):
    collection = asked
    values, W, Z = by_hand(collection)
    G = collection.annotation_matrix().G.toarray()
    found = TagSuggester.from_collection(collection).suggestions(top=3, neighbours=2)
    expected = []
    for n in range(50):  # of the last, and perhaps others, the crowd knows nothing
        if np.ptp(values[n]) < 1e-9:
            continue
        open_tags = [k for k in range(7) if G[n, k] == 0 and values[n, k] > 1e-12]
        open_tags.sort(key=lambda k: -values[n, k])
        expected += [(f"i{n}", values[n, k], r + 1) for r, k in enumerate(open_tags[:3])]
    kept = [row for row in found if row.score > 1e-12]
    assert [(row.item, row.rank) for row in kept] == [(item, rank) for item, _, rank in expected]
    np.testing.assert_allclose([row.score for row in kept], [score for _, score, _ in expected], atol=1e-6)
    assert len({(row.item, row.tag) for row in kept}) == len(kept)
    for row in kept:
        n, k = int(row.item[1:]), TAGS.index(row.tag)
        assert G[n, k] == 0
        assert row.score == pytest.approx(values[n, k], abs=1e-6)  # of tags that tie, any
        said = W[n] * Z[:, k]
        loudest = np.argsort(-said)[:2]
        assert [voice.item for voice in row.neighbours] == [f"i{m}" for m in loudest if said[m] > 0]
        if row.because:  # parts that add up, the loudest first
            assert list(row.because.values()) == sorted(row.because.values(), key=lambda part: -abs(part))
        shares = [voice.share for voice in row.neighbours]
        np.testing.assert_allclose(shares, said[loudest][: len(shares)] / said.sum(), atol=1e-6)


def test_filters(collection):
    suggester = TagSuggester.from_collection(collection)
    everything = suggester.suggestions(top=4)
    tagged = {item for item in collection.ids() if 1 in collection.annotations_of(item).values()}
    assert suggester.suggestions(top=4, untagged=True) == [r for r in everything if r.item not in tagged]
    assert suggester.suggestions(top=4, tag="tag2") == [r for r in everything if r.tag == "tag2"]
    assert suggester.suggestions(top=4, items=["i7", "i3"]) == [
        r for r in everything if r.item in ("i3", "i7")
    ]
    assert suggester.suggestions(top=4, min_score=0.3) == [r for r in everything if r.score >= 0.3]
    assert suggester.suggestions(min_score=1.0, tag="tag1") == []
    best = {}
    for row in everything:
        best[row.item] = max(best.get(row.item, 0), row.score)
    strongest = sorted(best, key=lambda item: -best[item])[:5]
    limited = suggester.suggestions(top=4, limit=5)
    assert list(dict.fromkeys(row.item for row in limited)) == strongest
    assert set(map(repr, limited)) == {repr(row) for row in everything if row.item in strongest}


def test_doubts_are_stated_tags_that_are_unlikely(asked):
    collection = asked
    values, _, _ = by_hand(collection)
    G = collection.annotation_matrix().G.toarray()
    usual = values.mean(axis=0)
    expected = {
        (f"i{n}", TAGS[k]): 1 + sum(values[n, j] > values[n, k] + 1e-9 for j in range(7))
        for n in range(50)
        for k in range(7)
        if G[n, k] > 0 and values[n, k] < usual[k] and np.ptp(values[n]) > 1e-9
    }
    found = TagSuggester.from_collection(collection).doubtful_tags()
    assert {(row.item, row.tag) for row in found} == set(expected)
    assert [row.score for row in found] == sorted(row.score for row in found)
    for row in found:
        assert row.usual == pytest.approx(usual[TAGS.index(row.tag)], abs=1e-6)
        if row.score > 1e-6:
            assert row.rank == expected[row.item, row.tag]
    assert TagSuggester.from_collection(collection).doubtful_tags(limit=2) == found[:2]
    tag = found[0].tag
    assert TagSuggester.from_collection(collection).doubtful_tags(tag=tag) == [row for row in found if row.tag == tag]
    item = found[-1].item
    assert TagSuggester.from_collection(collection).doubtful_tags(items=[item]) == [row for row in found if row.item == item]


def test_wrong_questions_are_told(collection):
    suggester = TagSuggester.from_collection(collection)
    with pytest.raises(ValueError, match="there is no tag 'tga1'; did you mean 'tag1'"):
        suggester.suggestions(tag="tga1")
    with pytest.raises(ValueError, match="there is no item 'nobody'"):
        suggester.doubtful_tags(items=["nobody"])
    with pytest.raises(ValueError, match="top and limit must be >= 1"):
        suggester.suggestions(top=0)
    with pytest.raises(ValueError, match="from 0 to 1; found 2"):
        suggester.suggestions(min_score=2)


def test_words_tags_and_items_that_came_after_the_fit(collection):
    before = TagSuggester.from_collection(collection).suggestions(items=["i1"])
    collection.annotate("i1", {before[0].tag: 1, "brand new": 1}, new=True)
    collection.add_items([Item("late")])
    suggester = TagSuggester.from_collection(collection)
    after = suggester.suggestions(items=["i1"])
    assert [row.tag for row in after[: len(before) - 1]] == [row.tag for row in before[1:]]
    assert "brand new" not in {row.tag for row in suggester.suggestions(top=8)}
    with pytest.raises(ValueError, match="no item 'late'"):
        suggester.suggestions(items=["late"])
