"""Collections whose tags have facets: what is chosen, fitted, updated, saved and read again."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass import Collection
from lass.collection import Item, Settings
from lass.learning.predictors.tag_facets import (
    FacetedProblem,
    FacetedSolution,
    named_facets,
    shares_of,
    stored_shares,
    together,
    update_facets,
    within,
)
from lass.solvers.sparse import SparseAssignments
from lass.tagging import LiveModel, complete, facet_choice, load_model
from lass.tagging.facet_choice import APART, SUBJECT, TOGETHER, compared

USES = {"use::mail": "inbox imap smtp message letter", "use::game": "chess dice player board cards"}
KINDS = {"kind::shell": "prompt terminal flags pipe stdin", "kind::window": "menu mouse icon dialog toolbar"}


def items_of(count, seed=0):
    """Items with words of a use and of a kind, and these two tags."""
    rng = np.random.default_rng(seed)
    items, tags = [], []
    for n in range(count):
        chosen = [str(rng.choice(list(group))) for group in (USES, KINDS)]
        words = [rng.choice({**USES, **KINDS}[tag].split(), 3, replace=False) for tag in chosen]
        items.append(Item(f"p{n:03}", f"Program {n}", " ".join(np.concatenate(words))))
        tags.append(chosen)
    return items, tags


def made(folder, count=90, every=2, **settings):
    """A collection with every second item tagged, with one tag that has no facet."""
    items, tags = items_of(count)
    known = [(items[n].id, tag, 1) for n in range(0, count, every) for tag in tags[n]]
    known += [(items[n].id, "popular", 1) for n in range(0, count, 5 * every)]
    names = [*USES, *KINDS, "popular"]
    chosen = Settings(features={"kind": "text"}, n_neighbors=6, **settings)
    return Collection.create(folder, items, names, known, settings=chosen)


@pytest.fixture
def collection(tmp_path):
    with made(tmp_path / "programs", facets="on") as found:
        found.fit(draw_map=False)
        yield found


def facet_sums(Z, names):
    facets = named_facets([name.partition("::")[0] if "::" in name else "" for name in names])
    return np.stack([Z[:, own].sum(axis=1) for own in facets.columns], axis=1)


def test_a_fit_solves_each_facet_as_the_library_does(collection):
    model, annotations = load_model(collection)
    names = annotations.names
    facets = [name.partition("::")[0] if "::" in name else "" for name in names]
    numbers = np.unique(facets, return_inverse=True)[1]
    known = lass.solve(collection.graph, annotations.G, model.lam, facets=numbers, none=True, tol=1e-9)
    Z = model.solution.Z.to_dense()
    assert isinstance(model.solution, FacetedSolution)
    np.testing.assert_allclose(Z, known.Z, atol=2e-3)
    assert model.solution.objective - known.objective <= model.solution.gap + 1e-9
    assert model.solution.problem.stake == pytest.approx(known.stake)
    assert facet_sums(Z, names).max() <= 1.0 + 1e-9
    assert (facet_sums(Z, names) > 0.999).sum() > 2 * len(Z)


def test_suggestions_are_of_the_right_facets(collection):
    items, tags = items_of(90)
    found = {row.item: row.tag for row in collection.suggest(top=2, untagged=True)}
    assert len(found) == 45
    right = [found[item.id] in own for item, own in zip(items, tags, strict=True) if item.id in found]
    assert np.mean(right) > 0.9


def test_an_update_follows_annotations_and_a_training_is_a_fit(collection):
    live = LiveModel(collection)
    assert live.retrained
    row = int(np.flatnonzero(np.diff(live.annotations.G.indptr) == 0)[0])
    before = live.model.solution.Z.to_dense()[row]
    collection.tag(live.annotations.ids[row], "use::mail", "-kind::window")
    live.update(collection.annotation_matrix())
    after, names = live.model.solution, live.annotations.names
    assert isinstance(after, FacetedSolution)
    assert not live.retrained
    assert after.Z.to_dense()[row, names.index("use::mail")] > before[names.index("use::mail")] - 1e-6
    assert after.Z.to_dense()[row, names.index("kind::window")] < before[names.index("kind::window")] + 1e-6
    exact = complete(after.problem.W, after.problem.G, after.problem.lam, facets=after.facets, tol=1e-9)
    assert after.objective - exact.solution.objective <= after.gap + 1e-9
    live.save()
    kept, _ = load_model(collection)
    np.testing.assert_allclose(kept.solution.Z.to_dense(), after.Z.to_dense(), atol=1e-12)
    live.retrain()
    fitted = collection.fit(draw_map=False).model
    assert isinstance(live.model.solution, FacetedSolution)
    np.testing.assert_array_equal(live.model.solution.Z.to_dense(), fitted.solution.Z.to_dense())
    np.testing.assert_array_equal(live.model.scores.values.toarray(), fitted.scores.values.toarray())


def test_a_new_tag_begins_a_facet_of_its_own(collection):
    live = LiveModel(collection)
    collection.tag("p001", "licence::free", new=True)
    live.update(collection.annotation_matrix())
    Z, names = live.model.solution.Z.to_dense(), live.annotations.names
    assert Z.shape[1] == len(names) == 6
    assert Z[collection.ids().index("p001"), names.index("licence::free")] > 0.9
    assert live.model.solution.converged


def test_renamed_and_merged_tags_change_facets(collection):
    collection.rename_tag("kind::shell", "use::shell")
    assert not collection.is_retrained()
    assert collection.suggest(top=1, limit=3)
    model = collection.fit(draw_map=False).model
    names = collection.annotation_matrix().names
    facets = named_facets([name.partition("::")[0] if "::" in name else "" for name in names])
    assert model.solution.problem.facets.same(facets)
    collection.merge_tags("popular", "kind::window")
    assert collection.suggest(top=1, limit=3)
    live = LiveModel(collection)
    live.update(collection.annotation_matrix())
    live.retrain()
    assert live.retrained


def test_a_tag_alone_in_its_facet_leaves_the_rest_to_none(collection):
    collection.tag("p001", "-popular")
    collection.tag("p003", "-popular")
    model = collection.fit(draw_map=False).model
    names = collection.annotation_matrix().names
    shares = model.solution.Z.to_dense()[:, names.index("popular")]
    assert shares[1] < 1.0 - 1e-6


def test_shares_are_exported_within_facets_and_evaluated(collection, tmp_path):
    collection.export(tmp_path / "shares.json", what="assignments")
    rows = json.loads((tmp_path / "shares.json").read_text())
    own = [row for row in rows if row["item"] == "p000"]
    assert sum(row["share"] for row in own if row["tag"] in USES) == pytest.approx(1.0, abs=0.02)
    assert sum(row["share"] for row in own if row["tag"] in KINDS) == pytest.approx(1.0, abs=0.02)
    names = collection.annotation_matrix().names
    sums = facet_sums(collection.assignments[:], names)
    assert sums.max() <= 1.0 + 1e-9
    np.testing.assert_allclose(
        collection.assignments[:], load_model(collection)[0].solution.Z.to_dense(), atol=1e-12
    )
    result = collection.evaluate(seeds=1, situations=["items"])
    assert result.situations["items"].methods["LASS"]["f1"].mean > 0.4


def test_what_is_stored_is_on_the_simplex_and_comes_back():
    shares = SparseAssignments(sp.csr_array([[0.25, 0.75, 1.0], [0.5, 0.0, 0.0], [0, 0, 0]]), np.zeros(3))
    kept, sums = stored_shares(shares)
    assert kept.feasible
    np.testing.assert_allclose(shares_of(kept, sums).to_dense(), shares.to_dense())
    np.testing.assert_allclose(sums, [2.0, 0.5, 0.0])


def test_facets_of_components_without_annotations_are_none():
    W = sp.block_diag([np.ones((3, 3)) - np.eye(3)] * 2, format="csr")
    G = np.zeros((6, 4))
    G[0, 0] = G[3, 2] = 1.0
    model = complete(sp.csr_array(W), sp.csr_array(G), 0.5, facets=named_facets(["a", "a", "b", "b"]))
    Z = model.solution.Z
    np.testing.assert_allclose(Z.to_dense()[:3], [[1, 0, 0, 0]] * 3, atol=1e-6)
    np.testing.assert_allclose(Z.to_dense()[3:], [[0, 0, 1, 0]] * 3, atol=1e-6)
    assert Z.stored <= 6
    np.testing.assert_allclose(model.solution.crowd().to_dense(), Z.to_dense(), atol=1e-6)


def test_parts_and_the_whole_agree_and_only_what_changed_is_solved():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    W, G = lass.knn_graph(X, 5), sp.random_array((60, 6), density=0.1, rng=rng, format="csr")
    facets = named_facets(["a", "b", "a", "b", "c", "a"])
    problem = FacetedProblem(W, G, 0.5, facets)
    solution = complete(W, G, 0.5, facets=facets, tol=1e-8).solution
    parts = [within(solution.Z, own) for own in facets.columns]
    assert all(part.feasible for part in parts)
    np.testing.assert_allclose(together(problem, parts).to_dense(), solution.Z.to_dense(), atol=1e-9)
    certified = problem.certify(solution.Z.to_dense())
    assert certified.objective == pytest.approx(solution.objective)
    other = G.copy().tolil()
    other[7, 4] = -3.0
    found = update_facets(solution, sp.csr_array(other), np.array([7])).solution
    for f in (0, 1):
        own = facets.columns[f]
        np.testing.assert_array_equal(found.Z.to_dense()[:, own], solution.Z.to_dense()[:, own])
    assert found.Z.to_dense()[7, 4] < solution.Z.to_dense()[7, 4] - 0.1
    anew = complete(W, sp.csr_array(other), 0.5, facets=facets, start=found).solution
    assert anew.converged


def test_without_facets_in_the_names_nothing_is_chosen_or_said(tmp_path):
    items, tags = items_of(40)
    known = [(items[n].id, tags[n][0].partition("::")[2], 1) for n in range(0, 40, 2)]
    settings = Settings(features={"kind": "text"}, n_neighbors=6)
    with Collection.create(tmp_path / "plain", items, ["mail", "game"], known, settings=settings) as plain:
        result = plain.fit(draw_map=False)
        assert result.comparisons == ("texts are compared by words",)
        assert not isinstance(result.model.solution, FacetedSolution)


def test_hidden_tags_decide_and_the_choice_is_kept(tmp_path):
    with made(tmp_path / "many", count=900, every=1) as many:
        result = many.fit(draw_map=False)
        sentence = result.comparisons[-1]
        assert sentence.startswith("all tags share one distribution: one in each facet is not clearly better")
        assert not isinstance(result.model.solution, FacetedSolution)
        file = many.path / "arrays" / "comparisons.json"
        known = json.loads(file.read_text())
        assert known[SUBJECT]["chosen"] == TOGETHER
        known[SUBJECT] |= {"chosen": APART, "reason": "as was kept"}
        file.write_text(json.dumps(known))
        again = many.fit(draw_map=False)
        assert isinstance(again.model.solution, FacetedSolution)
        assert again.comparisons[-1] == "as was kept"
        assert isinstance(LiveModel(many).model.solution, FacetedSolution)
        many.fit(draw_map=False, facets="off")
        assert not isinstance(load_model(many)[0].solution, FacetedSolution)


def test_facets_must_bring_a_point_since_they_cost_more():
    values = np.linspace(0.4, 0.6, 50)
    assert compared({TOGETHER: values, APART: values + 0.005}).chosen == TOGETHER
    assert compared({TOGETHER: values, APART: values + 0.02}).chosen == APART


def test_very_many_items_and_tags_are_not_compared_unasked(tmp_path, monkeypatch):
    monkeypatch.setattr(facet_choice, "NUMBERS", 500)
    with made(tmp_path / "many", count=900, every=1) as many:
        result = many.fit(draw_map=False)
    assert "--facets on" in result.comparisons[-1]
    assert not isinstance(result.model.solution, FacetedSolution)


def test_facets_of_tags_can_be_listed(tmp_path):
    given = {"ways": ["kind::shell", "popular"]}
    with made(tmp_path / "listed", facets="on", facet_tags=given) as listed:
        model = listed.fit(draw_map=False).model
        names = listed.annotation_matrix().names
        codes = model.solution.problem.facets.codes
        assert codes[names.index("popular")] == codes[names.index("kind::shell")]
        assert codes[names.index("kind::window")] != codes[names.index("kind::shell")]
    with Collection.open(tmp_path / "listed") as again:
        assert again.settings.facet_tags == given
        assert again.is_retrained()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"facets": "yes"}, "facets must be one of auto, on, off; found 'yes'"),
        ({"facet_tags": ["a"]}, "facet_tags must be a table"),
        ({"facet_tags": {"": ["a"]}}, "names of facets"),
        ({"facet_tags": {"use": "a"}}, "list of tags for 'use'"),
        ({"facet_tags": {"a": ["x"], "b": ["x"]}}, "each tag once; found 'x' in 'a' and 'b'"),
        ({"facet_tags": {"a": ["x", "x"]}}, "each tag once; found 'x' in 'a' twice"),
    ],
)
def test_odd_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Settings(**settings)


def test_what_facets_do_not_go_with_is_refused_and_nothing_changes(collection):
    before = (collection.path / "collection.toml").read_text()
    with pytest.raises(ValueError, match="does not go with smoothing"):
        collection.fit(draw_map=False, smoothing=0.5)
    with pytest.raises(ValueError, match="cannot be done on workers"):
        collection.fit(draw_map=False, engine="ray")
    assert (collection.path / "collection.toml").read_text() == before
    G = sp.csr_array([[1.0, 0.0], [0.0, 0.0]])
    W = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    facets = named_facets(["a", "b"])
    with pytest.raises(ValueError, match="facets go neither with"):
        complete(W, G, 1.0, facets=facets, category_graph=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="fixed is not known"):
        FacetedProblem(W, G, 1.0, facets).changed(fixed={0: 0})


def test_the_order_of_annotations_does_not_matter(tmp_path):
    items, tags = items_of(60)
    known = [(items[n].id, tag, 1) for n in range(0, 60, 2) for tag in tags[n]]
    found = []
    for name, order in (("one", known), ("two", known[::-1])):
        settings = Settings(features={"kind": "text"}, n_neighbors=6, facets="on")
        names = sorted({tag for _, tag, _ in known}, reverse=name == "two")
        with Collection.create(tmp_path / name, items, names, order, settings=settings) as one:
            model = one.fit(draw_map=False).model
            columns = [one.annotation_matrix().names.index(tag) for tag in sorted(names)]
            found.append(model.solution.Z.to_dense()[:, columns])
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_fit_on_a_device_is_that_of_the_processors(collection, monkeypatch, sparse):
    pytest.importorskip("torch")
    if sparse:
        monkeypatch.setattr("lass.learning.predictors.tag_assignments.DENSE", 10)
    here = collection.fit(draw_map=False).model
    there = collection.fit(draw_map=False, device="cpu").model
    assert isinstance(there.solution, FacetedSolution)
    np.testing.assert_allclose(here.solution.Z.to_dense(), there.solution.Z.to_dense(), atol=0.03)
    assert abs(here.scores.values - there.scores.values).max() < 0.01


def test_what_is_not_compared_and_tags_that_are_not_there_are_said(tmp_path):
    with made(tmp_path / "small", count=200, every=1) as small:
        result = small.fit(draw_map=False)
        few = "all tags share one distribution: too few items are tagged to compare that with"
        assert result.comparisons[-1].startswith(few)
        assert "of the 30 items looked at, and 100 are needed, about " in result.comparisons[-1]
        names = small.annotation_matrix().names
    listed = {"all": [*names, "pyton"], "none": ["nosuchtag"]}
    with made(tmp_path / "listed", facets="on", facet_tags=listed) as one:
        sentence = one.fit(draw_map=False).comparisons[-1]
        assert sentence.startswith("all tags share one distribution: all tags are in one facet; name others")
        assert sentence.endswith("[facet_tags] names tags that are not there: 'nosuchtag', 'pyton'")
