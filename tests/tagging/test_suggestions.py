"""Suggestions and doubtful tags against plain loops over all items and tags."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass import Collection
from lass.collection import Item, Settings
from lass.tagging import TagSuggester, fit
from lass.tagging.storage import saved_model

TAGS = [f"tag{k}" for k in range(7)]


@pytest.fixture
def collection(tmp_path):
    rng = np.random.default_rng(3)
    points = rng.normal(size=(50, 2))
    weights = np.exp(-((points[:, None] - points) ** 2).sum(axis=2))
    weights[weights < 0.5] = 0
    np.fill_diagonal(weights, 0)
    weights[49], weights[:, 49] = 0, 0  # the last item has no neighbours
    annotations = [
        (f"i{n}", TAGS[k], rng.choice([1, 1, 1, -1]))
        for n in range(0, 50, 2)
        for k in rng.choice(7, rng.integers(1, 4), replace=False)
    ]
    items = [Item(f"i{n}") for n in range(50)]
    settings = Settings(metric="precomputed", lam=0.5)
    with Collection.create(
        tmp_path / "c", items, TAGS, annotations, settings=settings, graph=sp.csr_array(weights)
    ) as made:
        fit(made)
        yield made


@pytest.fixture(params=["all predictors", "crowd only"])
def asked(request, collection):
    """The collection as it was fitted, and without scores of predictors, as with few annotations."""
    if request.param == "crowd only":
        saved, state = collection.saved_array("assignments"), saved_model(collection)
        state = replace(state, weights="", scores=None, top_tags=None, contributions=None)
        collection.save_assignments(saved.matrix, saved.stamp.changes, **state.to_arrays())
    return collection


def by_hand(collection):
    """Scores of all items and tags: as saved, or in loops; zero where all tags have as much."""
    W, Z = collection.graph.toarray(), collection.assignments
    state = saved_model(collection)
    if state.scores is not None:
        return state.scores.toarray().astype(float), W, Z.to_dense()
    result = np.zeros(Z.shape)
    for n in range(len(W)):
        if W[n].sum():
            crowd = sum(W[n, m] * Z[m] for m in range(len(W))) / W[n].sum()
            least = W[n] @ Z.background / W[n].sum()
            result[n] = np.where(crowd > least * (1 + 1e-5) + 1e-10, crowd, 0.0)
    return result, W, Z.to_dense()


def test_suggestions_are_the_best_tags_without_an_annotation(asked):
    collection = asked
    values, W, Z = by_hand(collection)
    G = collection.annotation_matrix().G.toarray()
    found = TagSuggester.from_collection(collection).suggestions(top=3, neighbours=2)
    mean = [sum(values[n, k] for n in range(50)) / 50 for k in range(7)]
    expected = []
    for n in range(50):  # the last, and perhaps others, have no labelled neighbours
        if np.ptp(values[n]) < 1e-9:
            continue
        # no tag that an average item is as likely to have
        open_tags = [k for k in range(7) if G[n, k] == 0 and values[n, k] > mean[k] * (1 + 1e-5)]
        open_tags.sort(key=lambda k: -values[n, k])
        expected += [(f"i{n}", values[n, k], r + 1) for r, k in enumerate(open_tags[:3])]
    assert len(expected) < 49 * 3  # not all of them
    kept = [row for row in found if row.score > 1e-12]
    assert all(row.strength == row.score for row in found)
    assert [(row.item, row.rank) for row in kept] == [(item, rank) for item, _, rank in expected]
    np.testing.assert_allclose([row.score for row in kept], [score for _, score, _ in expected], atol=1e-6)
    assert len({(row.item, row.tag) for row in kept}) == len(kept)
    for row in kept:
        n, k = int(row.item[1:]), TAGS.index(row.tag)
        assert G[n, k] == 0
        assert row.score == pytest.approx(values[n, k], abs=1e-6)  # of tags that tie, any
        support = W[n] * Z[:, k]
        having = np.where(G[:, k] > 0, support, 0.0)  # nobody is named who does not have the tag
        largest = np.argsort(-having)[:2]
        assert [one.item for one in row.neighbours] == [f"i{m}" for m in largest if having[m] > 0]
        if row.because:  # largest contribution first
            assert list(row.because.values()) == sorted(row.because.values(), key=lambda part: -abs(part))
        shares = [one.share for one in row.neighbours]
        np.testing.assert_allclose(shares, support[largest][: len(shares)] / support.sum(), atol=1e-6)


def test_the_first_suggestion_of_every_item_is_the_best_one(collection, monkeypatch):
    suggester = TagSuggester.from_collection(collection)
    expected = np.full(len(collection), -1)
    rows, columns, _ = suggester.best(np.arange(len(collection)), 1)
    expected[rows] = columns
    assert expected.max() > -1
    blocks = list(suggester.scores.blocks(7))
    monkeypatch.setattr(suggester.scores, "blocks", lambda: blocks)
    np.testing.assert_array_equal(suggester.first_suggestions(), expected)


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


def test_doubtful_tags_are_stated_tags_with_low_scores(asked):
    collection = asked
    values, _, _ = by_hand(collection)
    G = collection.annotation_matrix().G.toarray()
    mean = values.mean(axis=0)
    expected = {
        (f"i{n}", TAGS[k]): sum(values[n, j] > values[n, k] - 1e-9 for j in range(7))
        for n in range(50)
        for k in range(7)
        if G[n, k] > 0 and values[n, k] < mean[k] / 2 and (G[:, k] > 0).sum() >= 5
        and (values[n] > mean * (1 + 1e-5)).any()
    }  # fmt: skip
    assert expected
    found = TagSuggester.from_collection(collection).doubtful_tags()
    assert {(row.item, row.tag) for row in found} == set(expected)
    assert [row.score for row in found] == sorted(row.score for row in found)
    for row in found:
        assert row.mean_score == pytest.approx(mean[TAGS.index(row.tag)], abs=1e-6)
        if row.score > 1e-6:
            assert row.rank == expected[row.item, row.tag]
    assert TagSuggester.from_collection(collection).doubtful_tags(limit=2) == found[:2]
    tag = found[0].tag
    assert TagSuggester.from_collection(collection).doubtful_tags(tag=tag) == [
        row for row in found if row.tag == tag
    ]
    item = found[-1].item
    assert TagSuggester.from_collection(collection).doubtful_tags(items=[item]) == [
        row for row in found if row.item == item
    ]


def test_wrong_arguments_are_errors(collection):
    suggester = TagSuggester.from_collection(collection)
    with pytest.raises(ValueError, match="there is no tag 'tga1'; did you mean 'tag1'"):
        suggester.suggestions(tag="tga1")
    with pytest.raises(ValueError, match="there is no item 'nobody'"):
        suggester.doubtful_tags(items=["nobody"])
    with pytest.raises(ValueError, match="top and limit must be >= 1"):
        suggester.suggestions(top=0)
    with pytest.raises(ValueError, match="from 0 to 1; found 2"):
        suggester.suggestions(min_score=2)


def test_annotations_tags_and_items_that_came_after_the_fit(collection):
    before = TagSuggester.from_collection(collection).suggestions(items=["i1"])
    collection.annotate("i1", {before[0].tag: 1, "brand new": 1}, new=True)
    collection.add_items([Item("late")])
    suggester = TagSuggester.from_collection(collection)
    after = suggester.suggestions(items=["i1"])
    assert [row.tag for row in after[: len(before) - 1]] == [row.tag for row in before[1:]]
    assert "brand new" not in {row.tag for row in suggester.suggestions(top=8)}
    with pytest.raises(ValueError, match="no item 'late'"):
        suggester.suggestions(items=["late"])


def test_equal_scores_are_in_the_order_of_names(tmp_path):
    """Whichever tag was made first, and whichever item came first."""
    texts = {"a": "mail reader", "b": "mail client", "c": "mail reader client", "d": "chess game",
             "e": "chess board", "f": "chess card game"}  # fmt: skip
    found = []
    for place, (tags, ids) in enumerate((("xyz", "abcdef"), ("zyx", "fedcba"))):
        items = [{"id": one, "text": texts[one]} for one in ids]
        with lass.create(tmp_path / str(place), items, text="text") as made:
            for tag in tags:
                made.tag("a", tag, new=True)
            made.fit()
            rows = made.suggest(top=2)
            limited = made.suggest(top=1, limit=1)
        assert limited
        found.append(({(row.item, row.tag, row.rank) for row in rows}, [row[:2] for row in limited]))
    assert found[0] == found[1]
    assert {tag for item, tag, rank in found[0][0] if rank == 1} == {"x"}


def test_nothing_is_suggested_where_nothing_connects_items(tmp_path):
    items = [{"id": f"v{n}"} for n in range(6)]
    with lass.create(tmp_path / "c", items, edges=[("v4", "v5", 1.0)]) as made:
        made.tag("v0", "x", new=True)
        made.tag("v2", "y", new=True)
        made.fit()
        assert not made.suggest()


def test_a_tag_is_not_doubted_because_nothing_is_known_about_its_item(tmp_path):
    """An item that is like no other scores low once its own annotation is left out; that says nothing."""
    items, edges, tags = [], [], []
    for n, tag in enumerate(["mail", "game"] * 7):
        ids = [f"{tag}{n}{place}" for place in "abcd"]
        items += ids
        edges += list(itertools.combinations(ids, 2))
        tags += [(one, tag) for one in ids[:3]]
    tags += [("alone1", "mail"), ("alone2", "mail"), (items[-1], "mail")]
    items += ["alone1", "alone2"]
    with lass.create(tmp_path / "c", [{"id": one} for one in items], edges=edges, tags=tags) as made:
        made.fit()
        assert not made.items_until_percentages()
        assert [(row.item, row.tag) for row in made.doubtful_tags()] == [("game13d", "mail")]
