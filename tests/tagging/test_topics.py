"""Groups of untagged items and their names."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lass
from lass.graph.communities import find_communities
from lass.tagging import item_groups
from lass.tagging.storage import SavedMap
from lass.tagging.topics import (
    Grouping,
    TextTerms,
    find_groups,
    group_names,
    group_terms,
    selection_terms,
    terms_of,
)

SUBJECTS = {
    "mail": ["mail", "message", "inbox", "imap", "folder", "sender", "reply"],
    "chess": ["chess", "board", "king", "queen", "opening", "move", "endgame"],
    "cooking": ["recipe", "oven", "butter", "flour", "sugar", "kitchen", "dinner"],
    "weather": ["weather", "rain", "cloud", "wind", "storm", "forecast", "sunny"],
}
EVERY = [word for words in SUBJECTS.values() for word in words]
FILLER = ["the", "and", "of", "a", "with", "for", "in", "is", "this", "that", "which", "from", "on", "it"]


def texts(count, seed=0):
    """Texts on four subjects in turn, in words that also occur elsewhere."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        own = list(SUBJECTS.values())[number % 4]
        words = [*rng.choice(own, 6), *rng.choice(FILLER, 6), *rng.choice(EVERY, 1)]
        found.append(" ".join(rng.permutation(words)))
    return found


def made(folder, rows, **options):
    """A collection of (id, text)."""
    items = [{"id": name, "text": text} for name, text in rows]
    return lass.create(folder, items, id="id", text="text", n_neighbors=8, **options)


@pytest.fixture(scope="module")
def untagged(tmp_path_factory):
    rows = [(f"{number:03}", text) for number, text in enumerate(texts(120))]
    with made(tmp_path_factory.mktemp("topics") / "texts", rows) as collection:
        yield collection


def test_subjects_are_found_and_named_by_their_own_words(untagged):
    groups = item_groups(untagged)
    right = 0
    for group in groups:
        subjects = [row % 4 for row in group.rows]
        most = max(set(subjects), key=subjects.count)
        right += subjects.count(most)
        words = list(SUBJECTS.values())[most]
        assert set(" ".join(group.terms).split()) <= set(words), "a stop word, or one of another subject"
        assert group.medoid == group.rows[0]
        assert group.medoid % 4 == most
    assert right >= 0.9 * 120
    assert {subject for group in groups for subject in [group.medoid % 4]} == set(range(4))


def test_groups_are_apart_largest_first_and_differ_in_name(untagged):
    groups = item_groups(untagged)
    rows = np.concatenate([group.rows for group in groups])
    assert len(np.unique(rows)) == len(rows)
    sizes = [len(group) for group in groups]
    assert sizes == sorted(sizes, reverse=True)
    assert [group.number for group in groups] == list(range(1, len(groups) + 1))
    assert len({group.name for group in groups}) == len(groups)


@settings(max_examples=5, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(untagged, tmp_path_factory, random):
    rows = [(item.id, item.text) for item in untagged.items]
    random.shuffle(rows)
    with made(tmp_path_factory.mktemp("shuffled") / "texts", rows) as other:
        ids = other.ids()
        again = [(group.name, {ids[row] for row in group.rows}) for group in item_groups(other)]
    ids = untagged.ids()
    assert again == [(group.name, {ids[row] for row in group.rows}) for group in item_groups(untagged)]


def test_numbers_and_edges_have_groups_without_names(tmp_path):
    rng = np.random.default_rng(0)
    items = [
        {"id": f"{n}", "x": float(10 * (n % 3) + rng.normal()), "y": float(rng.normal())} for n in range(60)
    ]
    with lass.create(tmp_path / "numbers", items, id="id", numeric=["x", "y"], n_neighbors=5) as collection:
        groups = item_groups(collection)
        assert groups
        assert [group.name for group in groups] == [f"group {n}" for n in range(1, len(groups) + 1)]
        assert all(group.terms == () for group in groups)
    pairs = [
        (f"{a}", f"{b}", 1.0) for part in (range(10), range(10, 20)) for a in part for b in part if a < b
    ]
    items = [{"id": f"{n}"} for n in range(20)]
    with lass.create(tmp_path / "edges", items, id="id", edges=pairs) as collection:
        assert [sorted(group.rows) for group in item_groups(collection)] == [[*range(10)], [*range(10, 20)]]


@pytest.mark.parametrize("rows", [["one text"], ["same"] * 9, ["", "", "words here", "other things"]])
def test_odd_collections(tmp_path, rows):
    with made(tmp_path / "odd", [(f"{n}", text) for n, text in enumerate(rows)]) as collection:
        for group in item_groups(collection):
            assert len(group) >= 2
            assert group.name


def test_a_selection_is_named_by_its_own_terms(untagged):
    known = terms_of(untagged, untagged.items)
    assert selection_terms(known, np.arange(1, 120, 4))[0] in SUBJECTS["chess"]
    assert selection_terms(known, np.arange(120))  # nothing to compare with: its most frequent terms


def named(groups, **terms):
    """The terms that name groups of so many items, each term in so many of the items of each."""
    part = np.repeat(np.arange(len(groups)), groups)
    ends = np.cumsum(groups)
    matrix = np.zeros((len(part), len(terms)), np.float32)
    for column, counts in enumerate(terms.values()):
        for end, size, count in zip(ends, groups, counts, strict=True):
            matrix[end - size : end - size + count, column] = 1
    names = [term.replace("_", " ") for term in terms]
    return group_terms(TextTerms(sp.csr_array(matrix), names), part, len(groups))


def test_a_name_is_of_enough_items_and_sets_them_apart():
    small, other, large = named(
        [12, 40, 300], chess=(10, 1, 9), play=(11, 12, 240), dummy=(2, 0, 0), mail=(0, 35, 3), uucp=(0, 6, 0)
    )
    assert small == ("chess",), "play is everywhere, dummy in two of twelve"
    assert other == ("mail", "uucp"), "the frequent one first"
    assert large == (), "play is less frequent there than elsewhere"
    [few, _] = named([4, 100], pair=(2, 0))
    assert few == ("pair",)


def test_pieces_of_longer_phrases_are_no_names():
    [found, _] = named(
        [20, 100], command_line=(18, 5), line=(20, 20), line_tool=(12, 1), line_interface=(6, 1), shell=(5, 1)
    )
    assert found == ("command line", "shell")


def test_of_terms_that_all_texts_of_a_group_share_one_word_comes_first():
    """Texts made from one another share whole sentences; pairs came first, by the alphabet."""
    [(first, *_), _] = named([9, 60], agents_doing=(9, 0), billing_current=(9, 0), ceilometer=(9, 0))
    assert first == "ceilometer"


def test_names_differ_also_where_terms_are_the_same():
    assert group_names([("mail", "imap"), ("mail", "pop"), ("mail",), ()]) == [
        "mail", "mail pop", "group 3", "group 4",
    ]  # fmt: skip


def test_groups_are_saved_with_the_map(tmp_path):
    pytest.importorskip("openTSNE")
    rows = [(f"{number:03}", text) for number, text in enumerate(texts(80))]
    with made(tmp_path / "texts", rows, tags=[("000", "mail"), ("001", "chess")]) as collection:
        collection.fit()
        stored = collection.saved_array("map")
        W = collection.saved_array("graph").matrix
        found = find_groups(collection, W)
        np.testing.assert_array_equal(stored.extras["groups"], found.part)
        # a map of an older version: drawn as before, groups are added
        extras = {key: value for key, value in stored.extras.items() if not key.startswith("group")}
        collection.save_map(stored.matrix, **extras)
        collection.fit()
        again = collection.saved_array("map")
        np.testing.assert_array_equal(again.matrix, stored.matrix)
        np.testing.assert_array_equal(again.extras["groups"], found.part)
        assert [group.name for group in item_groups(collection)] == group_names(found.terms)


def test_communities_of_random_graphs_are_connected_and_no_single_move_is_better():
    rng = np.random.default_rng(1)
    for seed in range(5):
        W = sp.random_array((60, 60), density=0.08, rng=rng)
        W = sp.csr_array(W + W.T)
        W.setdiag(0)
        W.eliminate_zeros()
        part = find_communities(W, seed=seed)
        dense, degree = W.toarray(), np.asarray(W.sum(axis=1)).ravel()
        gains = dense - np.outer(degree, degree) / degree.sum()
        np.fill_diagonal(gains, 0)
        modularity = sum(gains[np.ix_(part == c, part == c)].sum() for c in np.unique(part))
        assert modularity > 0
        sizes = np.bincount(part)
        assert (np.diff(sizes) <= 0).all()
        for c in np.unique(part):
            inside = sp.csr_array(dense[np.ix_(part == c, part == c)])
            assert sp.csgraph.connected_components(inside)[0] == 1


def test_communities_are_those_that_were_planted():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(6), 50)
    chance = np.where(truth[:, None] == truth, 0.3, 0.01)
    upper = np.triu(rng.random((300, 300)) < chance, 1)
    part = find_communities(sp.csr_array((upper | upper.T).astype(float)))
    assert len(set(zip(truth.tolist(), part.tolist(), strict=True))) == 6


def test_no_edges_and_bad_resolution():
    assert find_communities(sp.csr_array((3, 3))).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="resolution must be > 0; found 0"):
        find_communities(sp.csr_array((3, 3)), resolution=0)


def test_a_saved_grouping_is_read_back():
    one = Grouping(np.array([0, 0, -1, 1, 1]), [("mail", "imap"), ()])
    again = Grouping.from_map(SavedMap(n_drawn=5, **one.to_map()))
    assert again is not None
    assert again.terms == one.terms
    np.testing.assert_array_equal(again.part, one.part)
    assert Grouping.from_map(SavedMap(n_drawn=5)) is None


def test_of_equal_items_the_first_by_id_is_typical(tmp_path):
    rows = [{"id": f"i{n:02}", "text": "the same words"} for n in range(30)]
    order = []
    for place, some in enumerate((rows, rows[::-1])):
        with lass.create(tmp_path / str(place), some, text="text") as collection:
            ids = collection.ids()
            order.append([[ids[row] for row in group.rows] for group in item_groups(collection)])
    assert order[0] == order[1]
