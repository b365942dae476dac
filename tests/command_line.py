"""The command line in tests: two small tables, and a run that checks its exit code and its errors."""

from click.testing import CliRunner

from lass.cli import group
from lass.tagging import STAGES

ITEMS = """package,summary,size
mutt,reads mail and sends mail,1
pine,reads mail and news,2
slrn,reads news,3
tin,reads news and mail,
nethack,a dungeon game,5
angband,another dungeon game,6
xchess,a board game of chess,7
gnugo,a board game of go,8
"""
TAGS = """item,tag,value
mutt,use::mail,1
slrn,use::news,1
nethack,game::dungeon,1
xchess,game::board,1
mutt,game::board,-1
"""


def run(*arguments, code=0):
    result = CliRunner().invoke(group, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output + result.stderr
    assert "Traceback" not in result.output + result.stderr
    if code == 2:
        lines = result.stderr.splitlines()
        mistakes = [line for line in lines if line.partition(":")[0] not in STAGES.values()]  # not progress
        assert mistakes == lines[-1:]
        assert lines[-1].startswith("lass: ")
        assert result.stdout == ""
    return result
