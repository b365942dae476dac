"""The command line: ``lass`` and its commands."""

from __future__ import annotations

import click

import lass
from lass.cli.group import CommandGroup

#: command -> the module it is in and its name there; loaded when it is asked for
COMMANDS = {
    "demo": "serving:demo",
    "studio": "serving:studio",
    "init": "importing:init",
    "add": "importing:add",
    "fit": "fitting:fit",
    "suggest": "suggesting:suggest",
    "evaluate": "evaluate:evaluate",
    "report": "exporting:report",
    "groups": "grouping:groups",
    "tag": "annotating:tag",
    "undo": "annotating:undo",
    "log": "annotating:log",
    "next": "suggesting:next_items",
    "export": "exporting:export",
    "check": "mending:check",
    "repair": "mending:repair",
    "restore": "mending:restore",
    "reproduce": "reproduce:reproduce",
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
