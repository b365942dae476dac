"""One state, one answer: whatever was done before, a collection gives the same assignments and scores."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lass.collection import CollectionStore, Item, Settings
from lass.solvers.sparse import SparseAssignments
from lass.tagging import LiveModel, fit, load_model, scores
from lass.tagging.canonical import CanonicalOrder, _widened
from lass.tagging.export_rows import annotation_rows

TOPICS = ("mail inbox imap smtp letter spam", "game chess dice player board puzzle", "")
NAMES = ("a", "b", "c", "d")
#: a failure is told as it was found: to shrink it would take minutes
HOW = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
    "phases": [Phase.explicit, Phase.reuse, Phase.generate],
}
#: items there from the start, and those that may be added
FIRST, ALL = 10, 18


def make_items():
    """Texts on two topics that share no word, so that the graph has two parts, and some without any text."""
    rng = np.random.default_rng(3)
    texts = [TOPICS[n % 5 % 3] for n in range(ALL)]
    return [
        Item(f"i{n * 7 % ALL:02d}", "", " ".join(rng.permutation(text.split())[:3]))
        for n, text in enumerate(texts)
    ]


ITEMS = make_items()


def made(folder, items, annotations=(), tags=(), connected=False, **options):
    """A collection of these items, compared by their texts, or on a ring."""
    graph = None
    how = Settings(features={"kind": "text"}, n_neighbors=3, **options)
    if connected:
        how = Settings(metric="precomputed", **options)
        graph = ring([item.id for item in items])
    return CollectionStore.create(folder, items, tags, annotations, settings=how, graph=graph)


def ring(ids):
    """Edges between items whose ids follow one another, the heavier the smaller they are."""
    order, count = np.argsort(ids), len(ids)
    W = sp.lil_array((count, count))
    for place in range(count):
        one, other = order[place], order[(place + 1) % count]
        W[one, other] = W[other, one] = 1.0 + 1.0 / (1 + place)
    return W.tocsr()


def by_name(collection):
    """Assignments and scores of the saved model as {(item, tag): value}, of tags with annotations."""
    model, annotations = load_model(collection)
    assert model.retrained
    used = np.unique(annotations.G.indices)
    names = [(item, annotations.names[k]) for item in annotations.ids for k in used]
    Z, found = model.solution.Z.to_dense(), scores(model).toarray()
    if model.scores is None:  # the crowd's shares: without a neighbour they are those of all tags
        found[np.diff(model.solution.problem.W.indptr) == 0] = 0.0
    return dict(zip(names, zip(Z[:, used].ravel(), found[:, used].ravel(), strict=True), strict=True))


def same(one, other, atol=1e-4, score_atol=0.005):
    assert one.keys() == other.keys()
    left, right = (np.array([found[key] for key in sorted(one)]).reshape(-1, 2) for found in (one, other))
    np.testing.assert_allclose(left[:, 0], right[:, 0], atol=atol)
    np.testing.assert_allclose(left[:, 1], right[:, 1], atol=score_atol)


item, name = st.sampled_from([one.id for one in ITEMS[:FIRST]]), st.sampled_from(NAMES)
actions = st.one_of(
    st.tuples(st.just("annotate"), item, name, st.sampled_from([1, 1, 1, -1, 0])),
    st.tuples(st.just("annotate"), item, name, st.just(1)),
    st.sampled_from([("undo",), ("redo",), ("fit",), ("live",), ("retrain",), ("add",)]),
    st.tuples(st.just("rename"), name, name),
    st.tuples(st.just("merge"), name, name),
    st.tuples(st.just("unused"), name),
)


def perform(collection, action, *arguments):
    """Do one thing; what cannot be done then, such as renaming a tag that is not there, is left out."""
    if action == "annotate":
        one, tag, value = arguments
        collection.annotate(one, {tag: value}, new=True)
    elif action == "add":
        count = len(collection)
        if collection.settings.metric != "precomputed":
            collection.add_items(ITEMS[count : count + 3])
    elif action in ("undo", "redo"):
        getattr(collection, action)()
    elif action == "fit":
        fit(collection)
    elif action in ("live", "retrain"):
        with suppress(ValueError):  # nothing is fitted, or no annotation is left
            live = LiveModel(collection)
            live.update(collection.annotation_matrix())
            if action == "retrain":
                live.retrain()
            live.save()
    else:
        how = {"rename": "rename_tag", "merge": "merge_tags", "unused": "add_tag"}[action]
        with suppress(ValueError):
            getattr(collection, how)(*arguments)


@pytest.mark.parametrize("connected", [False, True])
@settings(max_examples=15, **HOW)
@given(history=st.lists(actions, min_size=2, max_size=9), seed=st.integers(0, 99))
def test_no_history_leaves_a_trace(connected, history, seed):
    with (
        TemporaryDirectory() as place,
        made(f"{place}/lived", ITEMS[:FIRST], connected=connected) as lived,
    ):
        for action in history:
            perform(lived, *action)
        result = fit(lived)
        rng = np.random.default_rng(seed)
        items, stated = lived.get_items(), list(annotation_rows(lived))
        items = [items[row] for row in rng.permutation(len(items))]
        stated = [tuple(stated[row].values()) for row in rng.permutation(len(stated))]
        with made(f"{place}/fresh", items, stated, connected=connected) as fresh:
            again = fit(fresh)
            assert (result.model is None) == (again.model is None) == (not stated)
            if stated:
                same(by_name(lived), by_name(fresh))
                assert again.model.lam == result.model.lam


@settings(max_examples=10, **HOW)
@given(history=st.lists(actions, min_size=1, max_size=6))
def test_a_live_model_that_was_retrained_is_that_of_a_fit(history):
    with TemporaryDirectory() as place, made(f"{place}/c", ITEMS[:FIRST], [(ITEMS[0].id, "a", 1)]) as one:
        fit(one)
        live = LiveModel(one)
        for action in history:
            perform(one, *action)
            if one.annotation_matrix().G.nnz and len(one) == FIRST:
                live.update(one.annotation_matrix())
        if not one.annotation_matrix().G.nnz:
            return
        live.update(one.annotation_matrix())
        live.retrain()
        assert live.retrained
        kept, _ = live.state
        fit(one)
        fitted, _ = load_model(one)
        np.testing.assert_allclose(kept.solution.Z.to_dense(), fitted.solution.Z.to_dense(), atol=1e-6)
        np.testing.assert_allclose(scores(kept).toarray(), scores(fitted).toarray(), atol=0.001)


def three_groups(folder, annotations):
    """30 items in three clear groups."""
    words = (
        "mail inbox imap smtp letter spam",
        "game chess dice player board",
        "editor cursor buffer indent",
    )
    rng = np.random.default_rng(0)
    items = [
        Item(f"{n:02d}", "", " ".join(rng.permutation(words[n // 10].split())[:3]) + " program")
        for n in range(30)
    ]
    return CollectionStore.create(
        folder, items, annotations=annotations, settings=Settings(features={"kind": "text"}, n_neighbors=5)
    )


def test_two_annotations_one_after_the_other_or_at_once(tmp_path):
    with three_groups(tmp_path / "one", [("00", "mail", 1)]) as one:
        fit(one)
        one.annotate("10", {"game": 1}, new=True)
        fit(one)
        found = by_name(one)
    for number, order in enumerate([(0, 1), (1, 0)]):
        pairs = [("00", "mail", 1), ("10", "game", 1)]
        with three_groups(tmp_path / f"{number}", [pairs[place] for place in order]) as both:
            fit(both)
            same(found, by_name(both))
    with three_groups(tmp_path / "live", [("10", "game", 1)]) as lived:
        fit(lived)
        live = LiveModel(lived)
        lived.annotate("25", {"other": 1}, new=True)
        live.update(lived.annotation_matrix())
        lived.undo()
        lived.annotate("00", {"mail": 1}, new=True)
        live.update(lived.annotation_matrix())
        live.retrain()
        live.save()
        same(found, by_name(lived))
    for group, own, other in ((0, "mail", "game"), (1, "game", "mail")):
        for n in range(group * 10 + 1, group * 10 + 10):
            (share, score), (share_of_other, score_of_other) = (
                found[f"{n:02d}", own],
                found[f"{n:02d}", other],
            )
            assert share > share_of_other
            assert 0.9 > score > 3 * score_of_other
            for third in range(20, 30):  # nobody said anything about them
                assert found[f"{third}", own][1] < score / 3


def test_scores_of_items_added_in_parts_are_those_of_items_given_at_once(program_collection, tmp_path):
    lived = program_collection
    late, stated = lived.get_items()[::-1][:25], list(annotation_rows(lived))
    names = {one.id for one in late}
    early = [one for one in lived.get_items() if one.id not in names]
    first = [tuple(row.values()) for row in stated if row["item"] not in names]
    rest = [tuple(row.values()) for row in stated if row["item"] in names]
    with made(tmp_path / "parts", early, first, ["aaa", "game", "editor", "mail"]) as parts:
        fit(parts)
        parts.add_items(late[:20], [row for row in rest if row[0] in {one.id for one in late[:20]}])
        fit(parts)
        parts.add_items(late[20:])
        parts.annotate_all([row for row in rest if row[0] in {one.id for one in late[20:]}])
        fit(parts)
        with made(tmp_path / "once", late + early, rest + first) as once:
            result = fit(once)
            assert result.model.scores is not None
            same(by_name(parts), by_name(once))


def test_a_tag_that_nobody_uses_changes_nothing(program_collection):
    collection = program_collection
    fit(collection)
    before = by_name(collection)
    collection.add_tag("aaa::first")
    collection.annotate("p5", {"zzz": 1}, new=True)
    collection.undo()
    assert load_model(collection)[0].retrained  # nothing that matters has changed
    fit(collection)
    same(before, by_name(collection), atol=1e-6, score_atol=0.001)
    model, annotations = load_model(collection)
    for tag in ("aaa::first",):
        column = annotations.names.index(tag)
        assert not model.solution.Z.to_dense()[:, column].any()
        assert not scores(model)[:, [column]].nnz


def test_a_negative_annotation_is_certified_where_a_tag_is_not_used(tmp_path):
    stated = [("00", "mail", 1), ("10", "game", 1), ("25", "game", -1), ("25", "mail", -1)]
    with three_groups(tmp_path / "c", stated) as one:
        one.add_tag("unused")
        result = fit(one)
    assert result.model.solution.converged
    assert not result.model.solution.Z.to_dense()[:, 2].any()


def test_one_or_two_threads_give_the_same(tmp_path, own_packages):
    found = {}
    for count in ("1", "2"):
        environment = {**os.environ, "LASS_NUM_THREADS": count, "OMP_NUM_THREADS": count}
        command = [Path(sys.executable).with_name("lass"), "fit", own_packages, "--quiet"]
        subprocess.run(command, check=True, env=environment)
        with CollectionStore.open(own_packages) as collection:
            found[count] = by_name(collection)
    same(found["1"], found["2"])


@pytest.mark.parametrize("unused", [1, 7])
def test_tags_that_nobody_uses_have_no_share_however_many_they_are(program_collection, unused):
    fit(program_collection)
    before, _ = load_model(program_collection)
    for number in range(unused):
        program_collection.add_tag(f"unused {number}")
    assert fit(program_collection).model.solution.converged
    after, _ = load_model(program_collection)
    found = after.solution.Z.to_dense()
    np.testing.assert_allclose(found[:, :3], before.solution.Z.to_dense(), atol=1e-6)
    assert not found[:, 3:].any()


def test_tags_without_annotations_take_little_memory():
    Z = SparseAssignments.of(np.full((50, 40), 1 / 40))
    order = CanonicalOrder(np.arange(50), np.arange(40), 90)
    assert _widened(Z, order.columns, 90).stored == 0
    assert _widened(Z, order.columns, 90).feasible
    few = _widened(Z, order.columns, 42)
    assert few.stored == 100
    np.testing.assert_array_equal(few.to_dense(), np.pad(Z.to_dense(), ((0, 0), (0, 2))))
