"""Record a terminal: every command on the bundled packages, as pictures of what it writes.

    python scripts/record_session.py             # docs/pictures/session.svg and command-*.svg; minutes

The commands run in a terminal of their own (so that they show what people see), in a temporary folder.
"""

from __future__ import annotations

import os
import pty
import re
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

#: columns of the terminal, and lines of one command that a picture has
WIDTH, LINES = 118, 16
PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
INIT = (
    "lass init packages --items items.csv.gz --id package --text summary --text description"
    " --tags tags.csv.gz"
)
SUGGEST = "lass suggest packages --untagged --limit 3 --top 4"
TABLE = "lass suggest packages --top 5 --out suggestions.csv"
TAG = "lass tag packages minimap2 +use::searching -game::arcade"
MORE = "printf 'package,summary,description\\nspelunk,explore caves,A game in a terminal.\\n' > more.csv"
#: what each command of lass is shown by, in the order in which they run
COMMANDS: dict[str, list[str]] = {
    "init": [INIT],
    "groups": ["lass groups packages", "lass groups packages --items 3"],
    "next": ["lass next packages --top 5"],
    "fit": ["lass fit packages"],
    "suggest": [SUGGEST, "lass suggest packages --item minimap2 --top 2 --explain", TABLE],
    "tag": [TAG, "lass fit packages --update"],
    "log": ["lass log packages --limit 4"],
    "undo": ["lass undo packages", "lass undo packages --redo"],
    "add": [MORE, "lass add packages --items more.csv --id package"],
    "evaluate": ["lass evaluate packages --seeds 1"],
    "report": ["lass fit packages --quiet", "lass report packages --out report.html"],
    "export": [
        "lass export packages --out tags.csv",
        "lass export packages --what table --out packages.xlsx",
        "head -n 3 tags.csv",
    ],
    "studio": ["timeout --signal INT 15 lass studio packages --no-browser"],
    "check": ["lass check packages"],
    "restore": ["lass restore packages", "lass restore packages --yes"],
    "repair": ["lass repair packages"],
    "demo": ["lass demo --no-studio"],
    "reproduce": ["lass reproduce toy"],
}
#: the story of the tutorial
SESSION = [INIT, "lass fit packages", SUGGEST, TAG, TABLE]


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


def draw(commands: list[str], written: dict[str, str], path: Path) -> None:
    """One picture of a terminal with these commands and what they wrote."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    for number, command in enumerate(commands):
        if number:
            console.print()
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        lines = written[command].split("\n")
        if len(lines) > LINES:
            lines = [*lines[:LINES], "..."]
        if text := "\n".join(lines):
            console.print(Text.from_ansi(text))
    # names keep the parts of pictures apart; fonts are those of the reader, nothing is fetched
    svg = console.export_svg(title="lass", unique_id=path.stem)
    path.write_text(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S), encoding="utf-8")
    print(path)


def main() -> None:
    """Run all commands and draw the pictures."""
    from lass.collection.bundled import debian

    written = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in debian():
            (Path(folder) / path.name).symlink_to(path)
        # the state of the Studio, such as its token, is not that of who runs this
        os.environ["XDG_STATE_HOME"] = f"{folder}/state"
        for command in (one for some in COMMANDS.values() for one in some):
            print(f"$ {command}", flush=True)
            found = run(command, folder).replace(folder, "~")
            # a token opens nothing any more, but looks as if it did
            written[command] = re.sub(r"(?<=token=)\S+", "TOKEN", found)
        os.chdir("/")
    draw(SESSION, written, PICTURES / "session.svg")
    for name, commands in COMMANDS.items():
        draw(commands, written, PICTURES / f"command-{name}.svg")


if __name__ == "__main__":
    main()
