"""Commands that are loaded when asked for, and errors that are one line on stderr."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

import click

from lass.cli.streams import OutputError, safe_streams

#: errors that a user can cause: a wrong argument, a file that is not there, a disk that is full
USER_ERRORS = (ValueError, OSError, ImportError)
#: Ctrl-C, and a terminal that is closed
SIGNALS = [signal.SIGINT, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
EXIT_CODES = "\nExit codes: 0 done, 1 failed, 2 wrong arguments or files, 130 interrupted.\n"


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


class CommandGroup(click.Group):
    """Commands by the module they are in, which is loaded when one is asked for."""

    def __init__(
        self, *arguments: Any, modules: Mapping[str, str], examples: Mapping[str, Sequence[str]],
        **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(*arguments, **options)
        self.examples = examples
        self.modules = modules

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and the exit codes."""
        for title, lines in self.examples.items():
            write_lines(formatter, title, lines)
        formatter.write(EXIT_CODES)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order in which they are used."""
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One command, its module loaded."""
        if cmd_name not in self.modules:
            return None
        module, _, name = self.modules[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"lass.cli.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command; the error for a misspelt one names the nearest."""
        from lass.collection.records import did_you_mean

        if args and not args[0].startswith("-") and args[0] not in self.modules:
            near = did_you_mean(args[0], self.modules) or f"; there are {', '.join(self.modules)}"
            raise click.UsageError(f"there is no command {args[0]!r}{near}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a closed pipe (``lass suggest ... | head``) is no error."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except OutputError as error:
            if error.errno != errno.EPIPE:
                raise
            return 0
        return result

    def main(self, *arguments: Any, **options: Any) -> NoReturn:
        """Run the command line and exit: whatever goes wrong is one line on stderr, never a traceback."""
        with safe_streams():
            self._run(*arguments, **options)

    def _run(self, *arguments: Any, **options: Any) -> NoReturn:
        options["standalone_mode"] = False
        ours = threading.current_thread() is threading.main_thread()
        before = {one: signal.signal(one, _interrupted) for one in heeded()} if ours else {}
        for stream in (sys.stdout, sys.stderr):
            # a terminal that cannot show a character shows another
            with suppress(AttributeError, ValueError):
                stream.reconfigure(errors="replace")  # type: ignore[union-attr]
        try:
            code = super().main(*arguments, **options)
        except click.UsageError as error:
            where = f"; see {error.ctx.command_path} --help" if error.ctx else ""
            _exit(error.format_message().rstrip(".") + where, 2)
        except click.ClickException as error:
            _exit(error.format_message(), 2)
        except click.Abort:
            _exit("interrupted", 130)
        except OutputError as error:
            _exit(f"stdout: {error.strerror}; the output is not whole, what the command changed is kept", 2)
        except USER_ERRORS as error:
            _exit(_message(error), 2)
        except MemoryError:
            _exit("not enough memory for this collection", 1)
        except Exception as error:
            what = f"unexpected {type(error).__name__}: {error}"
            _exit(f"{what} (LASS_TRACEBACK=1 shows where; please report it)", 1)
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
        sys.exit(code if isinstance(code, int) else 0)


def heeded() -> list[signal.Signals]:
    """Signals that end a program, without what is ignored, as nohup has it."""
    return [one for one in SIGNALS if signal.getsignal(one) != signal.SIG_IGN]


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _exit(message: str, code: int) -> NoReturn:
    if os.environ.get("LASS_TRACEBACK") and sys.exc_info()[1] is not None:
        raise
    from lass.collection.records import visible

    click.echo("lass: " + visible(" ".join(message.split())), err=True)
    sys.exit(code)


def _interrupted(number: int, frame: FrameType | None) -> NoReturn:
    # not KeyboardInterrupt, on which a solver returns the solution so far
    for one in SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    _exit("interrupted; what was there is unchanged", 128 + number)
