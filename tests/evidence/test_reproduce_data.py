import gzip
from pathlib import Path

import numpy as np
import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
import scipy.sparse as sp

import lass
from benchmarks.common import data as files
from benchmarks.common import draws, statistics
from evidence import datasets, peers, tagging
from evidence.comparison import Comparison
from evidence.experiment import Context
from lass import baselines


@pytest.fixture
def small():
    """A graph, affinities of both signs on some items, and which items have any."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    belongs = rng.random((90, 8)) < 0.3
    belongs[np.arange(90), rng.integers(0, 7, 90)] = True
    belongs[:, 7] = False
    W = lass.knn_graph(X, 6)
    return W, draws.tags(belongs, 2, 0), X


def context(folder: Path, data: Path | None = None, *, quick: bool = False, runs: int = 2) -> Context:
    return Context("tagging", data, folder, quick=quick, runs=runs)


@pytest.mark.parametrize("load", [datasets.digits, datasets.posts, *datasets.COLLECTIONS.values()])
def test_missing_data_are_named(load, tmp_path):
    with pytest.raises(ValueError, match=r"needs \w+/[\w.-]+: .*--data"):
        load(context(tmp_path))
    with pytest.raises(ValueError, match=r"not found; --data must name the folder that holds \w+/[\w.-]+"):
        load(context(tmp_path, tmp_path))


def test_digits_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "IMAGES", 4)
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (6, 784), np.uint8), np.arange(6, dtype=np.uint8)
    folder = tmp_path / "mnist"
    folder.mkdir()
    for name, header, values in (("images-idx3", 16, images), ("labels-idx1", 8, labels)):
        with gzip.open(folder / f"train-{name}-ubyte.gz", "wb") as file:
            file.write(bytes(header) + values.tobytes())
    found = datasets.digits(context(tmp_path, tmp_path))
    assert found.X.shape == (4, 784)
    np.testing.assert_allclose(found.X * 255, images[found.truth], rtol=1e-6)


def test_posts_have_one_to_three_topics(tmp_path):
    groups = ["comp.sys.mac.hardware", "comp.graphics", "misc.forsale", "talk.politics.guns"] * 6
    kept = [True] * 20 + [False] * 4
    columns = {"group": groups, "text": ["one two three"] * 24, "in_11269": kept}
    (tmp_path / "newsgroups").mkdir()
    parquet.write_table(arrow.table(columns), tmp_path / "newsgroups" / "newsgroups.parquet")
    found = datasets.posts(context(tmp_path, tmp_path))
    assert found.belongs.shape == (20, 4 + 7)
    assert found.belongs[:4].sum(axis=1).tolist() == [3, 2, 1, 2]
    assert found.X.shape[0] == 20


def test_quick_data_come_along(tmp_path):
    quick = context(tmp_path, quick=True)
    assert datasets.digits(quick).X.shape == (datasets.FEW_IMAGES, 64)
    posts = datasets.posts(quick)
    assert posts.belongs.any(axis=0).all()
    assert posts.X.shape[0] == len(posts.belongs) == datasets.PACKAGES
    packages = datasets.debian(quick)
    assert packages.carries.sum(axis=1).min() >= datasets.TAGS
    assert packages.W.shape == (datasets.FEW_ITEMS, datasets.FEW_ITEMS)


def test_corel5k_weights_fall_with_the_place_in_the_list(tmp_path):
    found = datasets.corel5k(context(tmp_path, corel(tmp_path, 40)))
    assert found.W.shape == (40, 40)
    assert abs(found.W - found.W.T).max() == 0
    assert found.W.diagonal().max() == 0
    assert found.W.max() <= 1.0


def test_delicious_pages_have_enough_frequent_tags(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "CATEGORIES", 9)
    rng = np.random.default_rng(0)
    parts = {}
    for part, columns, share in (("X", 30, 0.3), ("Y", 12, 0.7)):
        matrix = sp.csr_array((rng.random((50, columns)) < share).astype(np.int8))
        parts |= {f"{part}_{name}": getattr(matrix, name) for name in ("data", "indices", "indptr", "shape")}
    (tmp_path / "delicious").mkdir()
    names = np.array([f"TAG_{k}" for k in range(12)])
    np.savez(tmp_path / "delicious" / "delicious.npz", label_names=names, **parts)
    found = datasets.delicious(context(tmp_path, tmp_path))
    assert found.carries.shape[1] == 9
    assert found.carries.sum(axis=1).min() >= datasets.TAGS
    assert found.tags[0].isdigit()


def test_lastfm_artists_have_tags_that_two_users_gave(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "CARRIED", 5)
    users, artists, numbers = range(3), range(30), range(8)
    tables = {
        "artists": {"id": list(artists), "name": [f"artist {n}" for n in artists]},
        "tags": {"id": list(numbers), "tag": [f"tag {k}" for k in numbers]},
        "tagged": {
            # the last tag is given by one user alone
            name: [
                row[place]
                for row in [(u, a, k) for u in users for a in artists for k in numbers[: 8 - (u > 0)]]
            ]
            for place, name in enumerate(("user", "artist", "tag"))
        },
        "listens": {
            name: [row[place] for row in [(u, a, 1 + (u * a) % 7) for u in users for a in artists]]
            for place, name in enumerate(("user", "artist", "weight"))
        },
    }
    (tmp_path / "lastfm").mkdir()
    for name, columns in tables.items():
        parquet.write_table(arrow.table(columns), tmp_path / "lastfm" / f"{name}.parquet")
    found = datasets.lastfm(context(tmp_path, tmp_path))
    assert found.tags == [f"tag {k}" for k in range(7)]
    assert found.items[3] == "artist 3"
    assert found.carries.all()


def test_labels_are_as_many_in_every_class():
    truth = np.repeat(np.arange(4), 10)
    y = draws.labels(truth, 3, seed=1)
    assert np.bincount(y[y >= 0]).tolist() == [3] * 4
    assert (y[y >= 0] == truth[y >= 0]).all()
    assert (y != draws.labels(truth, 3, seed=2)).any()


def test_topics_are_affirmed_once_and_denied_five_times():
    belongs, _ = files.membership(
        ["comp.sys.mac.hardware", "rec.autos", "misc.forsale"] * 20, files.WIDER_TOPICS
    )
    G = draws.topics(belongs, 3, seed=0).toarray()
    drawn = np.flatnonzero(G.any(axis=1))
    assert ((G[drawn] > 0).sum(axis=1) == 1).all()
    assert ((G[drawn] < 0).sum(axis=1) == 5).all()
    assert belongs[G > 0].all()
    assert not belongs[G < 0].any()
    assert len(drawn) == 3 * belongs.any(axis=0).sum()


def test_tags_of_a_quarter_are_hidden():
    carries = np.random.default_rng(0).random((80, 40)) < 0.3
    G = draws.tags(carries, 4, seed=0).toarray()
    known = G.any(axis=1)
    assert known.sum() == 60
    assert (G[known] > 0).sum(axis=1).tolist() == np.minimum(carries[known].sum(axis=1), 4).tolist()
    assert ((G[known] < 0).sum(axis=1) == 5).all()
    assert carries[G > 0].all()
    order = np.argsort(-carries.sum(axis=0), kind="stable")
    for item in np.flatnonzero(known):
        absent = [k for k in order if not carries[item, k]][:20]
        assert set(np.flatnonzero(G[item] < 0)) <= set(absent)


def test_ssl_is_the_harmonic_extension_of_smoothed_labels(small):
    W, G, _ = small
    labelled = np.diff(G.indptr) > 0
    for method, eps, scores in peers.semi_supervised(W, G, (0.0, 0.05)):
        labels = baselines.labels_from_affinities(G, eps)
        if method == "SSL":
            np.testing.assert_allclose(scores, baselines.harmonic(W, labels), atol=1e-5)
        if method == "SSL1":
            plain = baselines.harmonic(W, labels)
            totals, shares = plain[~labelled].sum(axis=0), labels[labelled].sum(axis=0)
            expected = plain * np.divide(shares, totals, out=np.zeros(8), where=totals > 1e-12)
            np.testing.assert_allclose(scores, expected, atol=1e-3)


def test_ssl2_is_ssl_with_the_normalised_laplacian(small):
    W, G, _ = small
    labelled = np.diff(G.indptr) > 0
    root = np.sqrt(W.sum(axis=1))
    S = W.toarray() / root[:, None] / root
    labels = baselines.labels_from_affinities(G, 0.1)
    solved = np.linalg.solve(
        np.eye((~labelled).sum()) - S[~labelled][:, ~labelled], S[~labelled][:, labelled] @ labels[labelled]
    )
    scores = next(s for method, _, s in peers.semi_supervised(W, G, (0.1,)) if method == "SSL2")
    np.testing.assert_allclose(scores[~labelled] * root[~labelled, None], solved, atol=1e-5)


def test_kernel_svm_is_one_against_all(small):
    from sklearn.svm import SVC

    X = small[2].astype(np.float32)
    y = np.where(np.arange(90) % 3 == 0, np.arange(90) // 3 % 4, -1)
    known = y >= 0
    (_, _, scores) = next(peers.kernel_svm(X, y, 2.0, (10.0,)))
    for k in range(4):
        model = SVC(C=10.0, gamma=0.125).fit(X[known], y[known] == k)
        np.testing.assert_allclose(scores[:, k], model.decision_function(X), atol=2e-2)


def test_linear_svm_learns_from_labels_alone(small):
    from sklearn.svm import SVC

    _, G, X = small
    (_, _, scores) = next(peers.linear_svm(sp.csr_array(X), G, (1.0,)))
    labels = G.toarray()
    for k in range(7):
        used = labels[:, k] != 0
        model = SVC(C=1.0, kernel="linear").fit(X[used], labels[used, k])
        np.testing.assert_allclose(scores[:, k], model.decision_function(X), atol=2e-2)
    assert (scores[:, 7] == 0).all()  # affirmed of no item


def test_assignments_reach_their_tolerance(small):
    W, G, _ = small
    for strength, solution in peers.assignments(W, G, (0.1, 1.0, 8.0), 1e-4):
        assert solution.relative_gap <= 1e-4 * min(1.0, strength)
        assert 2 * solution.problem.lam * np.median(W.sum(axis=1)) == pytest.approx(strength)


def test_comparison_finds_what_is_ahead():
    sheets = {
        count: [
            {"figures": {"A": {"1": 9.0, "2": a + run}, "B": {"": b + run}}, "seconds": {"A": 1.0, "B": 2.0}}
        ]
        for count, a, b, run in ((1, 3.0, 4.0, 0.0), (5, 2.0, 1.0, 0.5))
    }
    found = Comparison(("A", "B"), sheets)
    assert found.wins("A", ["B"]) == [1]
    counts = "ahead of B at 1 of 2 numbers of labels, level at 0"
    assert found.standing("A", ["B"]) == f"{counts}, behind at 5: 2.5 against 1.5 of B"
    assert found.rising() == []
    assert [one.parameter for one in found.line("A")] == ["2", "2"]
    assert found.seconds("B", 5) == 2.0
    assert not found.nearly_all("A", ["B"])


def test_difference_is_over_the_same_runs():
    ours, theirs = statistics.Best("", (1.0, 11.0)), statistics.Best("", (2.0, 12.0))
    assert statistics.difference(ours, theirs) == (-1.0, 0.0)


def corel(folder: Path, size: int = 60) -> Path:
    """A data folder with made-up images, their neighbours and tags."""
    rng = np.random.default_rng(0)
    near = np.array([rng.permutation(np.delete(np.arange(size), n))[:20] for n in range(size)])
    carries = rng.random((size, 30)) < 0.2
    carries[:, 0] = True
    (folder / "corel5k").mkdir()
    np.savez(
        folder / "corel5k" / "corel5k_tagprop.npz", NN=near.astype(np.int32), Y=carries.astype(np.uint8),
        words=np.array([f"tag {k}" for k in range(30)]),
    )  # fmt: skip
    return folder


def test_tagging_names_collections_that_are_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(tagging, "FEWER", {"corel5k": (1, 2)})
    data = corel(tmp_path)
    result = tagging.run(context(tmp_path / "out", data))
    assert list(result.data["facts"]) == ["corel5k"]
    assert sum("Left out" in note for note in result.notes) == 3
    assert (tmp_path / "out" / result.pictures[0].file).exists()
    again = tagging.run(context(tmp_path / "out", None))  # all parts are kept: no data are needed
    assert again.tables == result.tables
    with pytest.raises(ValueError, match="--data"):
        tagging.run(context(tmp_path / "elsewhere"))


def test_predictions_show_mismatches_in_bold(tmp_path, monkeypatch):
    monkeypatch.setattr(tagging, "FEWER", {"corel5k": (1,)})
    result = tagging.run(context(tmp_path / "out", corel(tmp_path), runs=1))
    shown = result.tables[-1]
    for _, truth, predicted in shown.rows:
        carried = truth.split(", ")
        for tag in predicted.split(", "):
            assert (tag in carried) != tag.startswith("**")
