"""Vectors from files as scipy, pyarrow, polars and MATLAB's format have them."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat

import lass
from lass.cli import main
from lass.collection.features import joined_vectors, read_vectors
from lass.collection.reading import BadInput

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
pq = pytest.importorskip("pyarrow.parquet")
pl = pytest.importorskip("polars")

IDS = [f"item {n}" for n in range(30)]
V = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
V[V < -0.5] = 0
ORDER = np.random.default_rng(1).permutation(30)
SHUFFLED = [IDS[n] for n in ORDER]


def columns(order=slice(None)):
    return {f"x{n}": V[order, n] for n in range(4)}


def write_stream(path):
    table = pa.table({"v": V.tolist()})
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


DENSE = {
    "columns.parquet": lambda path: pq.write_table(pa.table(columns()), path),
    "list.parquet": lambda path: pq.write_table(pa.table({"v": list(V)}), path, row_group_size=7),
    "by_id.parquet": lambda path: pq.write_table(pa.table({"package": SHUFFLED, **columns(ORDER)}), path),
    "texts.parquet": lambda path: pq.write_table(
        pa.table({"text": ["t"] * 30, "id": SHUFFLED, "v": list(V[ORDER])}), path
    ),
    "more.parquet": lambda path: pq.write_table(
        pa.table({"name": ["other", *SHUFFLED], "v": [V[0], *V[ORDER]]}), path
    ),
    "fixed.feather": lambda path: feather.write_feather(
        pa.table({"v": pa.FixedSizeListArray.from_arrays(V.ravel(), 4)}), path
    ),
    "by_id.feather": lambda path: feather.write_feather(
        pa.table({**columns(ORDER), "name": pa.array(SHUFFLED).dictionary_encode()}), path
    ),
    "stream.arrow": lambda path: write_stream(path),
    "polars.arrow": lambda path: pl.DataFrame({"name": SHUFFLED, **columns(ORDER)}).write_ipc(path),
    "polars.parquet": lambda path: pl.DataFrame(
        {"name": SHUFFLED, "v": V[ORDER]}, schema={"name": pl.String, "v": pl.Array(pl.Float32, 4)}
    ).write_parquet(path),
    "one.mat": lambda path: savemat(path, {"X": V, "version": 2.0}),
    "packed.mat": lambda path: savemat(path, {"X": V}, do_compression=True),
    "ids.mat": lambda path: savemat(path, {"X": V[ORDER], "ids": np.array(SHUFFLED)}),
    "list.jsonl": lambda path: path.write_text("".join(f'{{"v": {row}}}\n' for row in V.tolist())),
    "by_id.csv": lambda path: pl.DataFrame({"package": SHUFFLED, **columns(ORDER)}).write_csv(path),
}
SPARSE = {
    **{
        f"{form}.npz": lambda path, form=form: sp.save_npz(path, sp.csr_matrix(V).asformat(form))
        for form in ("csr", "csc", "coo", "bsr", "dia")
    },
    "array.npz": lambda path: sp.save_npz(path, sp.coo_array(V), compressed=False),
    "sparse.mat": lambda path: savemat(path, {"X": sp.csc_array(V)}),
}


@pytest.mark.parametrize("name", [*DENSE, *SPARSE])
def test_every_format_gives_the_same_vectors(name, tmp_path):
    (DENSE | SPARSE)[name](tmp_path / name)
    found = read_vectors(tmp_path / name, IDS)
    assert sp.issparse(found) == (name in SPARSE)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, V)


def test_tables_in_memory():
    pd = pytest.importorskip("pandas")
    shuffled = {"name": SHUFFLED, **columns(ORDER)}
    tables = [
        pl.DataFrame(columns()), pl.DataFrame(shuffled), pa.table(columns()), pa.table(shuffled),
        pa.table({"v": list(V)}), pd.DataFrame(columns(), index=range(50, 80)), pd.DataFrame(shuffled),
        pd.DataFrame(shuffled).set_index("name"), pa.RecordBatch.from_pydict(shuffled),
    ]  # fmt: skip
    for table in tables:
        np.testing.assert_array_equal(read_vectors(table, IDS), V)
    kept = sp.csr_array(V)
    found = read_vectors(kept, IDS)
    found.data[:] = 0
    np.testing.assert_array_equal(kept.toarray(), V)
    with pytest.raises(BadInput, match=r"LazyFrame.*\.collect\(\)"):
        read_vectors(pl.DataFrame(columns()).lazy(), IDS)


def test_one_of_several_arrays_is_chosen_by_name(tmp_path):
    savemat(tmp_path / "two.mat", {"X": V, "Y": -V})
    np.savez(tmp_path / "two.npz", a=V, b=-V)
    np.testing.assert_array_equal(read_vectors(tmp_path / "two.mat:Y", IDS), -V)
    np.testing.assert_array_equal(read_vectors(f"{tmp_path}/two.npz:b", IDS), -V)
    for name, message in (("two.mat", "'X' single 30x4"), ("two.npz", "choose one: two.npz:a")):
        with pytest.raises(BadInput, match=message):
            read_vectors(tmp_path / name, IDS)
        with pytest.raises(BadInput, match=r"there is no .* 'Z'"):
            read_vectors(tmp_path / f"{name}:Z", IDS)


BAD = {
    "ragged.parquet": (lambda path: pq.write_table(pa.table({"v": [[1.0, 2], [3.0]]}), path),
                       "line 2: column 'v' has a list of 1 numbers where the first has 2"),
    "null.parquet": (lambda path: pq.write_table(pa.table({"x": [1.0, None]}), path), "line 2: column 'x'"),
    "null_list.parquet": (lambda path: pq.write_table(pa.table({"x": [None, [1.0]]}), path), "line 1"),
    "inner.feather": (lambda path: feather.write_feather(pa.table({"x": [[1.0], [None]]}), path),
                      "line 2: .*null"),
    "nested.parquet": (lambda path: pq.write_table(pa.table({"x": [[[1.0]], [[2.0]]]}), path), "flat lists"),
    "text.parquet": (lambda path: pq.write_table(pa.table({"x": [1, 2], "t": ["u", "v"]}), path),
                     "column 't' holds 'string'"),
    "lists.parquet": (lambda path: pq.write_table(pa.table({"u": [[1], [2]], "v": [[1], [2]]}), path),
                      "2 columns of lists"),
    "ids.parquet": (lambda path: pq.write_table(pa.table({"id": ["a"]}), path), "1 of 2 items, such as 'b'"),
    "twice.parquet": (lambda path: pq.write_table(pa.table({"id": ["a", "a"], "x": [1, 2]}), path), "twice"),
    "only.parquet": (lambda path: pq.write_table(pa.table({"id": ["a", "b"]}), path), "no column of numbers"),
    "rows.parquet": (lambda path: pq.write_table(pa.table({"x": [1.5]}), path), "1 rows for 2 items"),
    "rows.npz": (lambda path: sp.save_npz(path, sp.eye_array(3)), "3 rows for 2 items"),
    "nan.npz": (lambda path: sp.save_npz(path, sp.csr_array([[1.0], [np.nan]])), "line 2: NaN"),
    "complex.npz": (lambda path: sp.save_npz(path, sp.eye_array(2) * 1j), "sparse complex128"),
    "outside.npz": (lambda path: np.savez(path, format=b"csr", shape=(2, 2), data=np.ones(2),
                                          indices=np.array([0, 9]), indptr=np.array([0, 1, 2])),
                    "not a sound"),
    "cell.mat": (lambda path: savemat(path, {"X": np.array([[1], ["a"]], object)}), "needs a matrix"),
    "struct.mat": (lambda path: savemat(path, {"X": {"a": 1}}), "'X' struct 1x1"),
    "rows.mat": (lambda path: savemat(path, {"X": np.eye(3)}), "3 rows for 2 items"),
    "cell_ids.mat": (lambda path: savemat(path, {"X": np.eye(2), "ids": np.array(["a", 1], object)}),
                     r"char\(ids\)"),
    "hdf.mat": (lambda path: path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + b"\0" * 500),
                "version 7.3"),
    "broken.mat": (lambda path: path.write_bytes(b"no matrix"), "not a sound"),
    "broken.feather": (lambda path: path.write_bytes(b"ARROW1 no table"), "not a sound Arrow"),
    "broken.parquet": (lambda path: path.write_bytes(b"PAR1 no table"), "not a sound Parquet"),
    "empty.arrow": (lambda path: path.write_bytes(b""), "empty"),
    "absent.mat": (lambda path: None, "No such file"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_is_refused(name, tmp_path):
    write, message = BAD[name]
    write(tmp_path / name)
    with pytest.raises(BadInput, match=message):
        read_vectors(tmp_path / name, ["a", "b"])


@pytest.mark.parametrize("name", ["csr.npz", "packed.mat", "one.mat", "by_id.feather", "stream.arrow"])
def test_random_damage_is_refused_or_harmless(name, tmp_path):
    (DENSE | SPARSE)[name](tmp_path / name)
    content = (tmp_path / name).read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(content)
        for at in rng.integers(0, len(content), rng.integers(1, 4)):
            damaged[at] = rng.integers(256)
        (tmp_path / name).write_bytes(damaged)
        try:
            found = read_vectors(tmp_path / name, IDS)
        except BadInput:
            continue
        assert found.shape[0] == len(IDS)


def test_new_vectors_keep_the_form_of_those_that_are_there():
    for former in (V, sp.csr_array(V)):
        for new in (V[:2], sp.csr_array(V[:2])):
            joined = joined_vectors(former, new)
            assert type(joined) is type(former)
            assert joined.shape == (32, 4)
    with pytest.raises(ValueError, match=r"has 3 columns.* 4 columns"):
        joined_vectors(V, V[:, :3])


def test_suggestions_do_not_depend_on_the_format(tmp_path):
    tags = {item: ["left" if V[n, 0] > V[n, 1] else "right"] for n, item in enumerate(IDS[:20])}
    found = []
    np.save(tmp_path / "v.npy", V)
    for name in ("v.npy", "by_id.parquet", "polars.arrow", "one.mat", "csr.npz"):
        if name != "v.npy":
            (DENSE | SPARSE)[name](tmp_path / name)
        where = tmp_path / f"from {name}"
        items = [{"id": item} for item in IDS]
        with lass.create(where, items, vectors=tmp_path / name, tags=tags, n_neighbors=4) as made:
            made.fit()
            found.append([(row.item, row.tag, row.score) for row in made.suggest(top=2)])
    assert found[1:4] == [found[0]] * 3
    # trees are grown on dense numbers alone: scores of sparse ones differ a little
    dense, sparse = ({item: tag for item, tag, _ in reversed(rows)} for rows in (found[0], found[4]))
    both = dense.keys() & sparse.keys()
    assert len(both) >= 9
    assert all(dense[item] == sparse[item] for item in both)


def test_command_line(tmp_path, capsys, monkeypatch):
    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["lass", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0

    (tmp_path / "items.csv").write_text("id\n" + "".join(f"{item}\n" for item in IDS))
    SPARSE["csr.npz"](tmp_path / "v.npz")
    BAD["ragged.parquet"][0](tmp_path / "bad.parquet")
    init = ["init", tmp_path / "c", "--items", tmp_path / "items.csv", "--vectors"]
    assert run(*init, tmp_path / "bad.parquet") == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "c").exists()
    assert run(*init, tmp_path / "v.npz") == 0
    (tmp_path / "more.csv").write_text("id\nnew\n")
    add = ["add", tmp_path / "c", "--items", tmp_path / "more.csv", "--vectors"]
    np.save(tmp_path / "short.npy", V[:1, :3])
    assert run(*add, tmp_path / "short.npy") == 2
    np.save(tmp_path / "new.npy", V[:1])
    assert run(*add, tmp_path / "new.npy") == 0
    with lass.open(tmp_path / "c") as collection:
        assert sp.issparse(collection.features)
        np.testing.assert_array_equal(collection.features.toarray(), np.concatenate([V, V[:1]]))


def test_a_large_sparse_matrix_is_never_dense(tmp_path, monkeypatch):
    """Dense, it would take 4 GB."""
    N, D = 20_000, 50_000
    rng = np.random.default_rng(0)
    indices = (np.arange(N) % 500 * 100)[:, None] + rng.integers(0, 100, (N, 5))
    X = sp.csr_array((np.ones(5 * N), (np.repeat(np.arange(N), 5), indices.ravel())), shape=(N, D))
    sp.save_npz(tmp_path / "v.npz", X)

    def refuse(self, *args, **kwargs):
        assert np.prod(self.shape) < N * D / 10, "a dense copy"
        return dense(self, *args, **kwargs)

    dense = sp.csr_array.toarray
    monkeypatch.setattr(sp.csr_array, "toarray", refuse)
    items = [{"id": str(n)} for n in range(N)]
    with lass.create(tmp_path / "c", items, vectors=tmp_path / "v.npz", n_neighbors=5) as made:
        assert sp.issparse(made.features)
        assert made.features.nnz == X.nnz
        made.fit()
        assert made.graph.shape == (N, N)
        assert made.graph.nnz


@pytest.mark.parametrize("name", ["v.npy", "v.npz", "v.mat", "v.parquet", "v.arrow", "v.csv"])
def test_files_that_are_not_there_say_so(tmp_path, name):
    with pytest.raises(BadInput, match=r"cannot be read \(No such file"):
        read_vectors(tmp_path / name, IDS)
    (tmp_path / name).mkdir()
    with pytest.raises(BadInput, match="is no file but a folder"):
        read_vectors(tmp_path / name, IDS)


@pytest.mark.parametrize("ids", [[name.encode() for name in SHUFFLED], [f" {name}  " for name in SHUFFLED]])
def test_ids_as_bytes_or_padded(tmp_path, ids):
    np.savez(tmp_path / "v.npz", vectors=V[ORDER], ids=np.array(ids))
    np.testing.assert_array_equal(read_vectors(tmp_path / "v.npz", IDS), V)


def test_masked_numbers_are_refused_and_an_empty_mask_is_none():
    with pytest.raises(BadInput, match="masked"):
        read_vectors(np.ma.masked_array(V, mask=V > 1), IDS)
    np.testing.assert_array_equal(read_vectors(np.ma.masked_array(V), IDS), V)


def test_an_index_of_ids_without_a_name_is_matched():
    pd = pytest.importorskip("pandas")
    np.testing.assert_array_equal(read_vectors(pd.DataFrame(V[ORDER], index=SHUFFLED), IDS), V)
    other = pd.DataFrame(V, index=[f"row {n}" for n in range(30)])
    np.testing.assert_array_equal(read_vectors(other, IDS), V)


def test_sparse_vectors_that_claim_too_many_columns(tmp_path):
    wide = sp.csr_array((np.ones(30), (np.arange(30), np.arange(30) * 2**30)), shape=(30, 2**40))
    sp.save_npz(tmp_path / "wide.npz", wide)
    with pytest.raises(BadInput, match=r"columns, and 16,777,216 are the most"):
        read_vectors(tmp_path / "wide.npz", IDS)


def test_sparse_vectors_with_many_empty_columns_are_fitted(tmp_path):
    place = np.arange(30) % 3 * 5_000_000 + 7
    wide = sp.csr_array((np.ones(30), (np.arange(30), place)), shape=(30, 2**24))
    tags = [(IDS[n], f"t{n % 3}") for n in range(15)]
    items = [{"id": name} for name in IDS]
    with lass.create(tmp_path / "c", items, tags=tags, vectors=wide, n_neighbors=4) as made:
        found = made.fit(draw_map=False).model.scores.values.toarray()
        assert (found[15:].argmax(axis=1) == np.arange(15, 30) % 3).all()
