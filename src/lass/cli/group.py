"""Commands that are loaded when asked for, and errors that are one line on stderr."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from types import FrameType
from typing import Any, NoReturn

import click

#: what a user can cause: a wrong argument, a file that is not there, a disk that is full
MISTAKES = (ValueError, OSError, ImportError)


EXIT_CODES = """
Exit codes: 0 done, 1 something failed, 2 a mistake in what was asked for, 130 interrupted.
"""


class Command(click.Command):
    """A command whose help ends with examples, line by line as they are typed."""

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        write_lines(formatter, "For example:" if self.examples else "", self.examples)


def write_lines(formatter: click.HelpFormatter, title: str, lines: Sequence[str]) -> None:
    """Lines that are not to be wrapped, under a title."""
    if lines:
        formatter.write(f"\n{title}\n" + "".join(f"  {line}\n" for line in lines))


class Commands(click.Group):
    """Commands by the module they are in; those whose module is not there are not offered."""

    def __init__(
        self,
        *arguments: Any,
        home: Mapping[str, str],
        beginnings: Mapping[str, Sequence[str]],
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self.beginnings = beginnings
        self.home = {name: place for name, place in home.items() if find_spec(place.partition(":")[0])}

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write how to begin."""
        for title, lines in self.beginnings.items():
            write_lines(formatter, title, lines)
        formatter.write(EXIT_CODES)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order in which they are used."""
        return list(self.home)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One command, its module loaded."""
        if cmd_name not in self.home:
            return None
        module, _, name = self.home[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; a misspelt one is told with the nearest name."""
        from lass.collection.records import close

        if args and not args[0].startswith("-") and args[0] not in self.home:
            near = close(args[0], self.home) or f"; there are {', '.join(self.home)}"
            raise click.UsageError(f"there is no command {args[0]!r}{near}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; that nobody reads on (``lass suggest ... | head``) is no error."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _nobody_listens()
            return 0
        return result

    def main(self, *arguments: Any, **options: Any) -> NoReturn:
        """Run the command line and exit: whatever goes wrong is one line on stderr, never a traceback."""
        options["standalone_mode"] = False
        ours = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, _interrupted) if ours else None
        for stream in (sys.stdout, sys.stderr):
            with suppress(
                AttributeError, ValueError
            ):  # a terminal that cannot show a character shows another
                stream.reconfigure(errors="replace")  # type: ignore[union-attr]
        try:
            code = super().main(*arguments, **options)
        except click.UsageError as error:
            where = f"; see {error.ctx.command_path} --help" if error.ctx else ""
            _end(error.format_message().rstrip(".") + where, 2)
        except click.ClickException as error:
            _end(error.format_message(), 2)
        except click.Abort:
            _end("interrupted", 130)
        except MISTAKES as error:
            _end(_told(error), 2)
        except MemoryError:
            _end("not enough memory for this collection", 1)
        except Exception as error:
            _end(
                f"unexpected {type(error).__name__}: {error} (LASS_TRACEBACK=1 shows where; please tell us)",
                1,
            )
        finally:
            if ours:
                signal.signal(signal.SIGINT, before)
        sys.exit(code if isinstance(code, int) else 0)


def _told(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _end(message: str, code: int) -> NoReturn:
    if os.environ.get("LASS_TRACEBACK") and sys.exc_info()[1] is not None:
        raise
    with suppress(BrokenPipeError):
        click.echo("lass: " + " ".join(message.split()), err=True)
    sys.exit(code)


def _interrupted(number: int, frame: FrameType | None) -> NoReturn:
    # not KeyboardInterrupt, which a solver takes as a wish for the answer so far
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end("interrupted; what was there is unchanged", 130)


def _nobody_listens() -> None:
    """Keep Python from complaining at the end that its output went nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
