"""Record a terminal session: real commands on the bundled packages, as one picture.

    python scripts/record_session.py docs/pictures/session.svg

The commands run in a terminal of their own (so that they show what people see), in a temporary folder.
"""

from __future__ import annotations

import os
import pty
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 118
COMMANDS = [
    "lass init packages --items items.csv.gz --id package --text summary --text description"
    " --tags tags.csv.gz",
    "lass fit packages",
    "lass suggest packages --untagged --limit 4 --top 4",
    "lass tag packages minimap2 +field::biology +interface::commandline",
    "lass suggest packages --out suggestions.csv",
]


def run(command: str, folder: str) -> str:
    """What a command writes on a terminal, in the end: lines that were drawn over are gone."""
    written = bytearray()

    def read(descriptor: int) -> bytes:
        part = os.read(descriptor, 4096)
        written.extend(part)
        return part

    os.environ.update(COLUMNS=str(WIDTH), LINES="60", TERM="xterm-256color")
    os.chdir(folder)
    pty.spawn(["bash", "-c", f"stty cols {WIDTH}; {command}"], read, lambda _: b"")
    return settled(written.decode(errors="replace"))


def settled(text: str) -> str:
    """The lines that stay: progress goes back over what it drew."""
    lines: list[str] = [""]
    at = 0
    for part in text.replace("\r\n", "\n").split("\n"):
        ups = part.count("\x1b[1A")
        at = max(0, at - ups)
        clean = part.split("\x1b[2K")[-1].split("\r")[-1]
        for code in ("\x1b[1A", "\x1b[?25l", "\x1b[?25h"):
            clean = clean.replace(code, "")
        while len(lines) <= at:
            lines.append("")
        lines[at] = clean
        at += 1
    return "\n".join(lines[:at]).rstrip("\n")


def main() -> None:
    """Run all commands and write the picture."""
    from lass.collection.bundled import debian

    out = Path(sys.argv[1]).resolve()
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder:
        for path in debian():
            (Path(folder) / path.name).symlink_to(path)
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
            console.print(Text.from_ansi(run(command, folder)))
            console.print()
        os.chdir("/")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(console.export_svg(title="lass"), encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main()
