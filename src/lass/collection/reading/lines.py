"""Lines of a text file, decoded and checked: none too long, no NUL, no byte that is not text."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from lass.collection.reading.errors import BadInput, BadRowLog, shown

#: longest line, cell or text that is read, in characters
LIMIT = 10_000_000
TOO_LONG = f"longer than {LIMIT:,} characters, the most that is read; shorten it or split the item"

#: most characters that are read out of a compressed file, which may be far smaller itself
UNPACKED = 4_000_000_000

# UTF-32 first: its little-endian mark begins with that of UTF-16
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: bytes by which an encoding is guessed
SAMPLE = 2**24
CP1252 = "cp1252"
_ASCII = [bytes([letter]) for letter in range(97, 123)]
_SURROGATES = re.compile("[\udc80-\udcff]")
#: letters with accents, and signs that text processors write, as cp1252 has them
_WESTERN = frozenset([*range(0xA0, 0xFF), 0x80, 0x85, *range(0x91, 0x98), 0x99])
#: quotation marks that open, where no letter is before them; after one, other encodings have letters there
_OPENING = re.compile(rb"(?<![A-Za-z\x80-\xff])[\x82\x84\x8b]")
#: a byte beyond ASCII that stands alone; other scripts have them side by side
_LONE = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")
#: what to do, for who reads the file by a call or a command
UNMARKED = "pass encoding= (utf-16-le, utf-16-be)"
OTHER = "pass encoding= (--encoding on the command line): cp1252 is common in the West, gb18030 in China"


def text_lines(path: Path, bad_rows: BadRowLog, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """Number and text of each line, line ends kept; bad ones go to ``bad_rows``.

    A file that ends in .gz is unpacked. Without ``encoding``, see :func:`encoding_of`. Reads one line at a
    time, so memory stays small whatever the size of the file.
    """
    number = size = 0
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except (LookupError, ValueError):  # ValueError: a NUL in the name
            raise unknown_encoding(bad_rows, encoding) from None
    try:
        # bytes that are not text become lone surrogates, so that one bad line does not end the reading
        form = {"encoding": encoding or encoding_of(path), "errors": "surrogateescape", "newline": ""}
        with _opened(path, "rt", **form) as file:
            while line := file.readline(LIMIT + 1):
                number += 1
                size += len(line)
                if size > UNPACKED and is_packed(path):
                    raise bad_rows.error(
                        f"more than {UNPACKED:,} characters unpacked; unpack it yourself", number
                    )
                if number == 1:
                    line = line.removeprefix("\ufeff")  # a mark that the given encoding does not know
                if len(line) > LIMIT and line[-1] not in "\r\n":
                    while (rest := file.readline(LIMIT)) and rest[-1] not in "\r\n":
                        pass
                    bad_rows.add(number, f"a line {TOO_LONG}")
                elif message := fault(line):
                    bad_rows.add(number, message)
                else:
                    yield number, line
    except UnicodeError as error:
        reason = getattr(error, "reason", str(error))
        name = getattr(error, "encoding", None) or encoding or "utf-8"
        raise bad_rows.error(f"not {name} from here on ({reason}); {OTHER}", number + 1) from None
    except LookupError:
        raise unknown_encoding(bad_rows, encoding) from None
    except (EOFError, zlib.error) as error:
        raise bad_rows.error(f"a damaged compressed file ({error}); pack it again", number + 1) from None
    except OSError as error:
        raise bad_rows.error(f"cannot be read ({error.strerror or error})") from None


def is_packed(path: Path) -> bool:
    """Whether a file is compressed, by its name."""
    return path.suffix.lower() == ".gz"


def kind_of(path: Path) -> str:
    """The ending that names the format, ``.csv`` of ``items.csv.gz``."""
    return (Path(path.stem) if is_packed(path) else path).suffix.lower()


def _opened(path: Path, mode: str, **form: Any) -> IO[Any]:
    opened: Any = gzip.open if is_packed(path) else Path.open
    return opened(path, mode, **form)


def unknown_encoding(bad_rows: BadRowLog, encoding: str | None) -> BadInput:
    """The exception for an encoding that is none, or none of texts."""
    return bad_rows.error(f"encoding {shown(encoding)} is not known; try utf-8, cp1252 or utf-16")


def encoding_of(path: Path) -> str:
    """What a file of text is read as: by its byte-order mark, as UTF-8, or as Windows writes in the West.

    A file that is not UTF-8 is taken for cp1252 only where its bytes look like letters of Western languages
    among others; else it stays UTF-8, and lines that are not are bad rows.
    """
    stat = path.stat()
    return _guessed(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=64)
def _guessed(path: Path, _changed: int, _size: int) -> str:
    with _opened(path, "rb") as file:
        start = file.read(4)
        marked = next((name for mark, name in MARKS if start.startswith(mark)), None)
        if marked is not None:
            return marked
        sample = start + file.read(SAMPLE)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
        return "utf-8"
    except UnicodeDecodeError:
        pass
    wrong = len(_SURROGATES.findall(sample.decode(errors="surrogateescape")))
    high = [byte for byte in sample if byte >= 0x80]
    right = (len(high) - wrong) // 2  # of letters that UTF-8 writes with two bytes, at most
    letters = sum(map(sample.lower().count, _ASCII))
    western = sum(byte in _WESTERN for byte in high) + len(_OPENING.findall(sample))
    rare = len(high) <= letters and len(_LONE.findall(sample)) >= 0.5 * len(high)
    return (
        CP1252 if wrong > right and western >= 0.9 * len(high) and rare and b"\0" not in sample else "utf-8"
    )


def fault(text: str) -> str | None:
    """What keeps a text from being stored or shown, or None."""
    if "\0" in text:
        return (
            f"a NUL byte at character {text.index(chr(0)) + 1} of the line: damaged, not text at all, or "
            f"UTF-16 without its mark. Repair it or {UNMARKED}"
        )
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        what = (
            f"byte 0x{code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else f"the half character U+{code:04X}"
        )
        return f"{what} at character {error.start + 1} of the line is not valid text; {OTHER}"
    return None
