"""The command line: ``lass`` and its commands, one short file each."""

from __future__ import annotations

import click

import lass
from lass.cli.group import CommandGroup

#: command -> the module it is in and its name there; loaded when it is asked for
COMMANDS = {
    "demo": "lass.cli.demo:demo",
    "studio": "lass.cli.studio:studio",
    "init": "lass.cli.init:init",
    "add": "lass.cli.add:add",
    "fit": "lass.cli.fit:fit",
    "suggest": "lass.cli.suggest:suggest",
    "evaluate": "lass.cli.evaluate:evaluate",
    "report": "lass.cli.report:report",
    "tag": "lass.cli.tag:tag",
    "undo": "lass.cli.undo:undo",
    "log": "lass.cli.log:log",
    "next": "lass.cli.next:next_items",
    "export": "lass.cli.export:export",
    "reproduce": "lass.cli.reproduce:reproduce",
}

EXAMPLES = {
    "A collection is a folder. Make one from tables, complete its tags, see the suggestions:": [
        "lass init packages/ --items items.csv --id package --text summary --tags tags.csv",
        "lass fit packages/",
        "lass suggest packages/ --top 5 --out suggestions.csv",
    ],
    "State tags yourself, on the command line or in the browser:": [
        "lass tag packages/ mutt +mail::imap -game::strategy",
        "lass studio packages/",
    ],
    "Try it on real data that comes with it:": ["lass demo"],
    "Completion of commands and options by the Tab key, in bash (or zsh, fish):": [
        'eval "$(_LASS_COMPLETE=bash_source lass)"'
    ],
}


@click.command(cls=CommandGroup, modules=COMMANDS, examples=EXAMPLES, invoke_without_command=True)
@click.version_option(lass.__version__, prog_name="lass")
@click.pass_context
def group(context: click.Context) -> None:
    """Complete the tags of a collection from a few annotations and many similarities."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """What the command ``lass`` runs."""
    group.main(prog_name="lass")
