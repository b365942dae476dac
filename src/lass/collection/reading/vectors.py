"""Vectors in the files that people have: NumPy, SciPy's sparse matrices, MATLAB, Parquet, Arrow, tables."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection.reading.cells import BadCell, number_of, text_of
from lass.collection.reading.errors import BadInput, BadRowLog, reason_of, shown
from lass.collection.reading.lines import UNPACKED
from lass.collection.reading.tables import BATCH, open_table

#: columns that are taken for ids by their name, whatever they hold
ID_NAMES = ("id", "item", "item_id", "key")
#: endings of files with Arrow's columns
PARQUET, ARROW = (".parquet", ".pq"), (".feather", ".arrow", ".ipc")
#: columns of a sparse matrix, at most: a damaged file may claim any number of them
MOST_COLUMNS = 2**24
#: what a matrix in a .mat file may hold; cells, structures and objects are never read
_MATLAB_NUMBERS = frozenset(
    {
        "double",
        "single",
        "logical",
        "sparse",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    }
)


@dataclass(frozen=True)
class GivenVectors:
    """A matrix, dense or sparse, and what its rows are called; None where they are in the order of items."""

    matrix: Any
    names: list[str] | None = None


def open_vectors(source: Any, ids: Sequence[str], bad_rows: BadRowLog) -> GivenVectors:
    """Vectors by the ending of a file or the kind of a table in memory; nothing is unpickled.

    Of a file that holds several arrays, one is chosen by its name behind a colon: ``file.mat:X``. Rows are
    not put into the order of ``ids`` yet, but those of Arrow's columns, of which only these are kept.
    """
    if not isinstance(source, str | Path):
        return _in_memory(source, ids, bad_rows)
    path, wanted = _array_name(Path(source))
    if path.exists() and not path.is_file():  # a pipe would be waited for, for ever
        raise bad_rows.error("is no file but a folder, a pipe or a device; name a file")
    ending = path.suffix.lower()
    if ending == ".npy":
        return GivenVectors(_numpy(path, bad_rows))
    if ending == ".npz":
        return _numpy_archive(path, wanted, len(ids), bad_rows)
    if ending == ".mat":
        return _matlab(path, wanted, len(ids), bad_rows)
    if ending in (*PARQUET, *ARROW):
        return _arrow_file(path, ending, ids, bad_rows)
    return _text_table(path, ids, bad_rows)


def _array_name(path: Path) -> tuple[Path, str | None]:
    """``file.mat:X`` as the file and the name in it."""
    match = re.fullmatch(r"(.+\.(?:mat|npz)):([^:]+)", path.name, re.IGNORECASE)
    if match is None or path.exists():
        return path, None
    return path.with_name(match[1]), match[2]


def check_rows(count: int, ids: Sequence[str] | int, bad_rows: BadRowLog) -> None:
    """Refuse rows without names that are not as many as the items."""
    items = ids if isinstance(ids, int) else len(ids)
    if count != items:
        raise bad_rows.error(f"has {count} rows for {items} items; give it ids, or one row an item")


# ---- NumPy and SciPy


def _numpy(path: Path, bad_rows: BadRowLog) -> NDArray[Any]:
    try:
        with path.open("rb") as raw:
            return np.lib.format.read_array(raw, allow_pickle=False)
    except OSError as error:
        raise _unread(error, bad_rows) from None
    except Exception as error:  # a decoder of damaged bytes may raise anything
        raise _unsound(error, bad_rows) from None


def _unread(error: OSError, bad_rows: BadRowLog) -> BadInput:
    return bad_rows.error(f"cannot be read ({error.strerror or reason_of(error)})")


def _unsound(error: Exception, bad_rows: BadRowLog) -> BadInput:
    return bad_rows.error(f"not a sound NumPy file of plain numbers ({reason_of(error)}); write it again")


def _numpy_archive(path: Path, wanted: str | None, items: int, bad_rows: BadRowLog) -> GivenVectors:
    """One array of a ``.npz`` file, with its ``ids`` if there; or what ``scipy.sparse.save_npz`` wrote."""
    try:
        with path.open("rb") as raw:
            with ZipFile(raw) as archive:
                members = archive.infolist()
            packed = any(member.compress_type != ZIP_STORED for member in members)
            if packed and sum(member.file_size for member in members) > UNPACKED:
                raise bad_rows.error(f"unpacks to more than {UNPACKED:,} bytes; save it without compression")
            raw.seek(0)
            with np.load(raw, allow_pickle=False) as file:
                found = set(file.files)
                if not {"format", "shape", "data"} <= found:
                    name = _chosen(file.files, wanted, path, bad_rows)
                    names = _archived_names(file, bad_rows) if "ids" in found else None
                    return GivenVectors(np.asarray(file[name]), names)
            raw.seek(0)
            matrix = sp.load_npz(raw)
    except BadInput:
        raise
    except OSError as error:
        raise _unread(error, bad_rows) from None
    except Exception as error:  # damaged bytes may raise anything
        raise _unsound(error, bad_rows) from None
    return GivenVectors(_as_csr(matrix, items, bad_rows))


def _archived_names(file: Any, bad_rows: BadRowLog) -> list[str]:
    try:
        ids = file["ids"]
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise bad_rows.error("ids are Python objects; save them as text: ids.astype('U')") from None
    return [_plain_name(one) for one in ids.ravel().tolist()]


def _chosen(names: list[str], wanted: str | None, path: Path, bad_rows: BadRowLog) -> str:
    arrays = [name for name in names if name != "ids"]
    listing = ", ".join(map(shown, arrays[:12])) or "none"
    if wanted is not None:
        if wanted not in arrays:
            raise bad_rows.error(f"there is no array {shown(wanted)}; found {listing}")
        return wanted
    if "vectors" not in arrays and len(arrays) != 1:
        choose = f"; choose one: {path.name}:{arrays[0]}" if arrays else ""
        raise bad_rows.error(f"needs an array called vectors; found {listing}{choose}")
    return "vectors" if "vectors" in arrays else arrays[0]


def _as_csr(matrix: Any, items: int | None, bad_rows: BadRowLog) -> sp.csr_array:
    """A sparse matrix from elsewhere by rows, its indices checked, and never dense."""
    if len(matrix.shape) != 2 or matrix.dtype.kind not in "fiub" or not matrix.shape[1]:
        raise bad_rows.error(
            f"needs a matrix of numbers, one row an item; found sparse {matrix.dtype} {matrix.shape}"
        )
    if matrix.shape[1] > MOST_COLUMNS:
        raise bad_rows.error(
            f"has {matrix.shape[1]:,} columns, and {MOST_COLUMNS:,} are the most; leave empty columns out"
        )
    if items is not None:
        # before anything is made by rows: a damaged file may claim any number of them
        check_rows(matrix.shape[0], items, bad_rows)
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
        with np.errstate(over="ignore"):
            rows = sp.csr_array(matrix, dtype=np.float32, copy=True)
        rows.sum_duplicates()
    except Exception as error:  # damaged bytes may raise anything
        raise bad_rows.error(f"not a sound sparse matrix ({reason_of(error)}); write it again") from None
    return rows


# ---- MATLAB


def _matlab(path: Path, wanted: str | None, items: int, bad_rows: BadRowLog) -> GivenVectors:
    """The only 2-D matrix of a ``.mat`` file, or the one called ``vectors``, or that of the given name."""
    from scipy.io import loadmat, whosmat

    try:
        with warnings.catch_warnings(), path.open("rb") as raw:
            warnings.simplefilter("ignore")  # what it warns of, we refuse or do not read
            contents = {name: (tuple(shape), kind) for name, shape, kind in whosmat(raw)}
            name = _matlab_name(contents, wanted, path, bad_rows)
            shape, _ = contents[name]
            ids_kind = contents["ids"][1] if "ids" in contents and name != "ids" else None
            if ids_kind == "cell":
                raise bad_rows.error(
                    "ids is a cell array, which is not read; write char(ids), or leave it out where rows are "
                    "in order"
                )
            if ids_kind is None:
                check_rows(shape[0], items, bad_rows)
            raw.seek(0)
            wanted_names = [name] if ids_kind is None else [name, "ids"]
            data = loadmat(raw, variable_names=wanted_names, chars_as_strings=True)
            matrix = data[name]
    except BadInput:
        raise
    except OSError as error:
        raise _unread(error, bad_rows) from None
    except NotImplementedError:
        raise bad_rows.error("a .mat file of version 7.3 (HDF5); save it with -v7, or as .npy") from None
    except Exception as error:  # damaged bytes may raise anything
        raise bad_rows.error(f"not a sound .mat file ({reason_of(error)}); write it again") from None
    names = None
    if ids_kind is not None:
        names = [_plain_name(one) for one in np.ravel(data["ids"]).tolist()]
    if sp.issparse(matrix):
        return GivenVectors(_as_csr(matrix, items if names is None else None, bad_rows), names)
    return GivenVectors(np.asarray(matrix), names)


def _plain_name(value: Any) -> str:
    """The id of an item: texts may be bytes, and padded with blanks; MATLAB's whole numbers are real ones."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).strip()


def _matlab_name(contents: dict[str, Any], wanted: str | None, path: Path, bad_rows: BadRowLog) -> str:
    listing = ", ".join(
        f"{shown(name)} {kind} {'x'.join(map(str, shape))}"
        for name, (shape, kind) in [*contents.items()][:12]
    )
    listing = f"found {listing or 'nothing'}"
    matrices = [
        name
        for name, (shape, kind) in contents.items()
        if kind in _MATLAB_NUMBERS and len(shape) == 2 and name != "ids"
    ]
    if wanted is not None:
        if wanted not in matrices:
            raise bad_rows.error(f"there is no matrix of numbers {shown(wanted)}; {listing}")
        return wanted
    if "vectors" in matrices:
        return "vectors"
    # numbers and settings beside the matrix are 1 x 1
    matrices = [name for name in matrices if contents[name][0] != (1, 1)] or matrices
    if not matrices:
        raise bad_rows.error(f"needs a matrix of numbers; {listing}")
    if len(matrices) > 1:
        raise bad_rows.error(f"needs one matrix; {listing}; choose one: {path.name}:{matrices[0]}")
    return matrices[0]


# ---- Arrow: Parquet, Feather, and tables in memory


@dataclass(frozen=True)
class _Columns:
    """Columns of Arrow that can be gone through again and again, some rows at a time."""

    schema: Any
    batches: Callable[[list[int]], Iterator[Any]]


def _arrow_file(path: Path, ending: str, ids: Sequence[str], bad_rows: BadRowLog) -> GivenVectors:
    what = "Parquet" if ending in PARQUET else "Arrow"
    try:
        pa, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        from lass.model.checks import install_hint

        hint = install_hint("files")
        raise bad_rows.error(f"{what} needs the package pyarrow: {hint}; or save it as .npy") from None
    try:
        with path.open("rb") as raw:
            magic = raw.read(6)
        if not magic:
            raise bad_rows.error("is empty")
        if magic[:4] == b"FEA1":
            raise bad_rows.error("a Feather file of version 1; write it again with version 2")
        if ending in PARQUET:
            file = parquet.ParquetFile(path)
            return _from_columns(_Columns(file.schema_arrow, _parquet_batches(file)), ids, bad_rows)
        with pa.memory_map(str(path)) as mapped:
            return _from_columns(_ipc_columns(pa, mapped, magic == b"ARROW1"), ids, bad_rows)
    except BadInput:
        raise
    except OSError as error:
        if error.strerror:
            raise bad_rows.error(f"cannot be read ({error.strerror})") from None
        raise bad_rows.error(f"not a sound {what} file ({reason_of(error)}); write it again") from None
    except Exception as error:  # damaged bytes may raise anything
        raise bad_rows.error(f"not a sound {what} file ({reason_of(error)}); write it again") from None


def _parquet_batches(file: Any) -> Callable[[list[int]], Iterator[Any]]:
    schema = file.schema_arrow

    def batches(wanted: list[int]) -> Iterator[Any]:
        names = [schema.field(one).name for one in wanted]
        for batch in file.iter_batches(batch_size=BATCH, columns=names, use_threads=False):
            yield [batch.column(name) for name in names]

    return batches


def _ipc_columns(pa: Any, mapped: Any, is_file: bool) -> _Columns:
    def reader() -> Any:
        mapped.seek(0)
        return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(mapped)

    def batches(wanted: list[int]) -> Iterator[Any]:
        opened = reader()
        parts = map(opened.get_batch, range(opened.num_record_batches)) if is_file else opened
        for batch in parts:
            batch.validate(full=True)  # offsets of a damaged file would point anywhere
            yield [batch.column(one) for one in wanted]

    return _Columns(reader().schema, batches)


def _in_memory(source: Any, ids: Sequence[str], bad_rows: BadRowLog) -> GivenVectors:
    if sp.issparse(source):
        return GivenVectors(_as_csr(source, len(ids), bad_rows))
    if hasattr(source, "collect_schema") and not hasattr(source, "__array__"):
        raise bad_rows.error(f"is a {type(source).__name__}, not computed yet; pass its .collect()")
    if (table := _arrow_table(source, ids)) is not None:

        def batches(wanted: list[int]) -> Iterator[Any]:
            for batch in table.to_batches(max_chunksize=BATCH):
                yield [batch.column(one) for one in wanted]

        return _from_columns(_Columns(table.schema, batches), ids, bad_rows)
    if isinstance(source, np.ma.MaskedArray) and np.ma.is_masked(source):
        raise bad_rows.error("has masked numbers; a vector needs all its numbers")
    try:
        return GivenVectors(np.asarray(source))
    except ValueError as error:
        raise bad_rows.error(f"needs a table of numbers, one row an item ({error})") from None


def _arrow_table(source: Any, ids: Sequence[str]) -> Any:
    """A data frame of any library as Arrow's table; None where it is none, or pyarrow cannot take it."""
    if not hasattr(source, "__arrow_c_stream__") and not hasattr(source, "__arrow_c_array__"):
        return None
    try:
        pa = import_module("pyarrow")
        if hasattr(source, "itertuples"):
            # pandas: an index with a name, or of the ids, is a column, as in other tables
            named = any(name is not None for name in source.index.names) or (
                source.index.inferred_type == "string" and set(ids) <= set(source.index)
            )
            return pa.Table.from_pandas(source.reset_index() if named else source, preserve_index=False)
        return pa.table(source)
    except Exception:  # no pyarrow, or a column that Arrow has no type for: NumPy says what it is
        return None


def _from_columns(columns: _Columns, ids: Sequence[str], bad_rows: BadRowLog) -> GivenVectors:
    """One column of lists, or many of numbers; only the rows of ``ids`` are kept, in single precision."""
    names = [field.name for field in columns.schema]
    if len(set(names)) < len(names) or not names:
        raise bad_rows.error(f"needs columns, each with a name of its own; found {_listed(names)}")
    kinds = [_kind(field.type) for field in columns.schema]
    place, id_column = _places(columns, names, kinds, ids, bad_rows)
    lists = [n for n, kind in enumerate(kinds) if kind == "list"]
    if len(lists) > 1:
        raise bad_rows.error(
            f"has {len(lists)} columns of lists ({_listed([names[n] for n in lists])}); keep one"
        )
    wanted = lists or [n for n in range(len(names)) if n != id_column]
    for n in wanted:
        if kinds[n] not in ("list", "number", "whole"):
            found = f"column {shown(names[n])} holds {shown(str(columns.schema.field(n).type))}"
            raise bad_rows.error(f"{found}; vectors are columns of numbers, or one of lists. Leave it out")
    if not wanted:
        raise bad_rows.error(f"has no column of numbers beside the ids; found {_listed(names)}")
    matrix: NDArray[np.float32] | None = None
    row = 0
    for arrays in columns.batches(wanted):
        length = len(arrays[0])
        to = place[row : row + length]
        kept = to >= 0
        parts = [_numbers(array, names[n], row, bad_rows) for n, array in zip(wanted, arrays, strict=True)]
        width = sum(part.shape[1] for part in parts)
        if matrix is None:
            matrix = np.empty((len(ids), width), np.float32)
        if length and width != matrix.shape[1]:
            raise bad_rows.error(_unequal(names[wanted[0]], width, matrix.shape[1]), row + 1)
        with np.errstate(over="ignore"):
            at = 0
            for part in parts:
                matrix[to[kept], at : at + part.shape[1]] = part[kept]
                at += part.shape[1]
        row += length
    return GivenVectors(np.empty((0, 0), np.float32) if matrix is None else matrix)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return (", ".join(map(shown, names[:12])) or "none") + more


def _unequal(name: str, found: int, before: int) -> str:
    return f"column {shown(name)} has a list of {found} numbers where the first has {before}; make them equal"


def _kind(type: Any) -> str:
    """What a column is good for: text, whole (numbers), number, list, or else nothing."""
    types = import_module("pyarrow").types
    if types.is_dictionary(type):
        return "text" if _kind(type.value_type) == "text" else "other"
    if hasattr(type, "storage_type"):
        return _kind(type.storage_type)
    if types.is_string(type) or types.is_large_string(type) or types.is_string_view(type):
        return "text"
    if types.is_integer(type):
        return "whole"
    if types.is_floating(type) or types.is_boolean(type) or types.is_decimal(type):
        return "number"
    if types.is_list(type) or types.is_large_list(type) or types.is_fixed_size_list(type):
        return "list"
    return "other"


def _places(
    columns: _Columns, names: list[str], kinds: list[str], ids: Sequence[str], bad_rows: BadRowLog
) -> tuple[NDArray[np.int64], int | None]:
    """For each row of the table its item, -1 for none; and the column of ids, None where rows are in order.

    Ids are the column that holds them all, preferably one that is called so; a column of whole numbers
    must hold nothing else. Only rows of the items are remembered, however long the table is.
    """
    where = {item: n for n, item in enumerate(ids)}
    called = [n for n, name in enumerate(names) if name.lower() in ID_NAMES]
    usable = [n for n, kind in enumerate(kinds) if kind in ("text", "whole")]
    count: int | None = None
    for n in sorted(usable, key=lambda n: n not in called):
        places: list[NDArray[np.int64]] = []
        for (array,) in columns.batches([n]):
            texts = ("" if value is None else str(value).strip() for value in array.to_pylist())
            found = np.array([where.get(text, -1) for text in texts], np.int64)
            # a column of numbers may happen to hold an id
            if kinds[n] == "whole" and n not in called and (found < 0).any():
                break
            places.append(found)
        else:
            place = np.concatenate([np.zeros(0, np.int64), *places])
            count = len(place)
            times = np.bincount(place[place >= 0], minlength=len(ids))
            if n in called or times.all():
                if n not in called and kinds[n] == "whole" and (times > 1).any():
                    continue
                _check_names(times, ids, names[n], bad_rows)
                return place, n
    if count is None:
        first = min(range(len(kinds)), key=lambda n: kinds[n] == "list")
        count = sum(len(array) for (array,) in columns.batches([first]))
    check_rows(count, ids, bad_rows)
    return np.arange(count), None


def _check_names(times: NDArray[np.intp], ids: Sequence[str], column: str, bad_rows: BadRowLog) -> None:
    if (times > 1).any():
        twice = ids[int(times.argmax())]
        raise bad_rows.error(
            f"column {shown(column)} names an item twice, such as {shown(twice)}; keep one vector an item"
        )
    if (missing := np.flatnonzero(times == 0)).size:
        raise bad_rows.error(
            f"has no vector for {missing.size} of {len(ids)} items, such as {shown(ids[missing[0]])}; "
            f"ids are in column {shown(column)}"
        )


def _numbers(array: Any, name: str, before: int, bad_rows: BadRowLog) -> NDArray[Any]:
    """The numbers of a column, one row an entry; ``before`` rows have been read."""
    if hasattr(array, "storage"):
        array = array.storage
    if array.null_count:
        row = before + int(np.argmax(array.is_null().to_numpy(zero_copy_only=False))) + 1
        raise bad_rows.error(f"column {shown(name)} is empty or NaN; a vector needs all its numbers", row)
    if _kind(array.type) != "list":
        numbers = array.to_numpy(zero_copy_only=False)
        return np.asarray(numbers, np.float64 if numbers.dtype == object else None)[:, None]
    if _kind(array.type.value_type) not in ("number", "whole"):
        inner = shown(str(array.type.value_type))
        raise bad_rows.error(
            f"column {shown(name)} holds lists of {inner}; vectors are flat lists of numbers"
        )
    lengths = import_module("pyarrow.compute").list_value_length(array).to_numpy(zero_copy_only=False)
    width = int(lengths[0]) if len(lengths) else 0
    if (other := np.flatnonzero(lengths != width)).size:
        row = before + int(other[0]) + 1
        raise bad_rows.error(_unequal(name, int(lengths[other[0]]), width), row)
    flat = array.flatten()
    if flat.null_count:
        at = int(np.argmax(flat.is_null().to_numpy(zero_copy_only=False)))
        raise bad_rows.error(f"column {shown(name)} has a list with a null in it", before + at // width + 1)
    return _numbers(flat, name, before, bad_rows).reshape(len(array), width)


# ---- CSV, TSV and JSON Lines


def _text_table(path: Path, ids: Sequence[str], bad_rows: BadRowLog) -> GivenVectors:
    table = open_table(path, bad_rows)
    records = list(table.rows)
    name = table.find(*ID_NAMES)
    at = _id_position(records, ids) if name is None else table.position(name)
    names: list[str] = []
    rows: list[list[float]] = []
    for line, cells in records:
        try:
            names.append("" if at is None else text_of(cells[at]).strip())
            row = [
                _entry(entry, column)
                for i, column in enumerate(table.columns)
                if i != at
                for entry in (cells[i] if isinstance(cells[i], list) else [cells[i]])
            ]
            if rows and len(row) != len(rows[0]):
                raise BadCell(f"has {len(row)} numbers where the first has {len(rows[0])}; make them equal")
            rows.append(row)
        except BadCell as error:
            bad_rows.add(line, str(error))
    return GivenVectors(np.array(rows, np.float64).reshape(len(rows), -1), None if at is None else names)


def _id_position(records: list[tuple[int, list[Any]]], ids: Sequence[str]) -> int | None:
    """The first column that holds just the ids, whatever it is called."""
    known = set(ids)
    if not records:
        return None
    for at in range(len(records[0][1])):
        if all(str(cells[at]).strip() in known for _, cells in records) and len(records) == len(known):
            return at
    return None


def _entry(cell: Any, name: str) -> float:
    number = number_of(cell, name)
    if np.isnan(number):
        raise BadCell(f"column {shown(name)} is empty or NaN; a vector needs all its numbers")
    return number
