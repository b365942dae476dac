"""Arrays that are written and hashed in pieces: the same bytes as those of one array."""

import subprocess
import sys

import numpy as np
import scipy.sparse as sp

from lass.collection.array_files import read_arrays, write_arrays
from lass.collection.arrays import packed, token_of
from lass.model import mapped_arrays
from lass.model.mapped_arrays import CsrPieces, Pieces


def test_pieces_are_saved_and_hashed_as_one_array(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped_arrays, "CHUNK", 64)
    rng = np.random.default_rng(0)
    for shape, dtype in (((50, 3), np.float16), ((70,), np.int32), ((0, 4), float)):
        whole = rng.normal(size=shape).astype(dtype)
        pieces = Pieces([whole[:20], whole[20:21], whole[21:]])
        write_arrays(tmp_path / "whole.npz", {"x": whole})
        write_arrays(tmp_path / "pieces.npz", {"x": pieces})
        assert (tmp_path / "whole.npz").read_bytes() == (tmp_path / "pieces.npz").read_bytes()
        assert token_of({"x": whole}, "") == token_of({"x": pieces}, "")


def test_rows_are_replaced_in_pieces_and_those_in_a_file_stay_as_they_are(tmp_path):
    whole = np.arange(600_000, dtype=float).reshape(-1, 2)
    write_arrays(tmp_path / "one.npz", {"x": whole})
    found, mapped = read_arrays(tmp_path / "one.npz")
    assert mapped == {"x"}
    rows, others = np.array([0, 5, 299_999]), -np.ones((3, 2))
    write_arrays(tmp_path / "two.npz", {"x": Pieces.with_rows(found["x"], rows, others, np.float32)})
    expected = whole.astype(np.float32)
    expected[rows] = others
    again = read_arrays(tmp_path / "two.npz")[0]["x"]
    np.testing.assert_array_equal(again, expected)
    np.testing.assert_array_equal(found["x"], whole)


def test_indices_are_saved_in_32_bits_from_pieces_too():
    whole = sp.random_array((30, 9), density=0.3, rng=np.random.default_rng(0), format="csr")
    wide = whole.indices.astype(np.int64), whole.indptr.astype(np.int64)
    pieces = CsrPieces(Pieces([whole.data]), Pieces([wide[0][:7], wide[0][7:]]), wide[1], whole.shape)
    expected, found = packed(whole, {}), packed(pieces, {})
    assert {name: value.dtype for name, value in found.items()} == {
        name: value.dtype for name, value in expected.items()
    }
    assert token_of(found, "") == token_of(expected, "")


FREED = """
from pathlib import Path
from lass.model.mapped_arrays import return_freed
resident = lambda: 4096 * int(Path("/proc/self/statm").read_text().split()[1])
kept, freed = [], []
for _ in range(20_000):
    freed.append(bytearray(8000))
    kept.append(bytearray(100))
full = resident()
freed.clear()
return_freed()
print(full - resident())
"""


def test_freed_memory_goes_back_to_the_system():
    # what is kept lies between what is freed: only the pages in between can go back
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 60e6
