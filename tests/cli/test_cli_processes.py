"""The command line as a real process: exit codes, pipes, interrupts, and death without notice."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from lass import Collection
from lass.collection import Item, Settings

MAIN = [sys.executable, "-c", "from lass.cli import main; main()"]
TAGS = [f"tag{k}" for k in range(6)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A collection whose suggestions are more than a pipe holds."""
    where = tmp_path_factory.mktemp("cli") / "numbers"
    rng = np.random.default_rng(0)
    items = [Item(f"item {n}", extra={"x": float(x)}) for n, x in enumerate(rng.normal(size=3000))]
    known = [(f"item {n}", TAGS[n % 6], 1) for n in range(0, 3000, 7)]
    settings = Settings(features={"kind": "numeric", "columns": ["x"]}, metric="euclidean", lam=1.0)
    with Collection.create(where, items, TAGS, known, settings=settings):
        pass
    assert lass("fit", where).returncode == 0
    return where


def lass(*arguments, **options):
    return subprocess.run(
        [*MAIN, *map(str, arguments)], capture_output=True, text=True, timeout=60, **options
    )


def test_exit_codes_and_streams(folder, tmp_path):
    good = lass("suggest", folder, "--item", "item 5", "--json", "--quiet")  # no note on a slow start
    assert (good.returncode, good.stderr) == (0, "")
    assert json.loads(good.stdout)[0]["item"] == "item 5"
    bad = lass("suggest", tmp_path)
    assert bad.returncode == 2
    assert bad.stdout == ""
    assert bad.stderr == f"lass: {tmp_path} is not the folder of a collection; make one: lass init --help\n"
    usage = lass("suggest", folder, "--nonsense")
    assert usage.returncode == 2
    assert usage.stderr == "lass: No such option '--nonsense'; see lass suggest --help\n"
    assert lass("--version").stdout.startswith("lass")


@pytest.mark.parametrize("how", ["same settings", "other settings", "--update"])
def test_a_disk_that_is_full_is_one_line_and_changes_nothing(folder, tmp_path, how):
    """A limit on the size of files stands for it: writing fails half way."""
    own = tmp_path / "own"
    shutil.copytree(folder, own)
    with Collection.open(own) as collection:
        collection.annotate("item 5", {TAGS[0]: 1})
        if how == "other settings":  # so that there is another graph, which fits on the disk
            collection.change_settings(n_neighbors=2)
    files = {file.name: file.read_bytes() for file in sorted((own / "arrays").glob("*"))}
    limit = 600_000  # a graph of fewer neighbours fits on the disk
    assert len(files["assignments.npz"]) > limit

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    options = [how, "--quiet"] if how.startswith("--") else ["--quiet"]
    alone = {**os.environ, "LASS_NUM_THREADS": "1"}
    done = lass("fit", own, "--no-map", *options, preexec_fn=limited, env=alone)
    assert done.returncode == 2, done.stderr
    assert "could not be written (File too large); what was there before is unchanged" in done.stderr
    assert done.stderr.count("\n") == 1
    assert {file.name: file.read_bytes() for file in sorted((own / "arrays").glob("*"))} == files
    assert not list(own.glob(".*"))


def test_a_closed_pipe_ends_quietly(folder):
    line = " ".join(f"'{part}'" for part in [*MAIN, "suggest", str(folder), "--quiet"])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line} | head -n 2"], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines()[0] == "item,tag,score,rank,because,neighbours,strength"
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr == ""
    assert done.returncode == 0


def in_shell(redirected, *arguments):
    """A command whose streams are redirected as a shell does it."""
    line = " ".join(f"'{part}'" for part in [*MAIN, *map(str, arguments)])
    return subprocess.run(["bash", "-c", f"{line} {redirected}"], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "arguments",
    [["tag", "item 1", f"+{TAGS[0]}"], ["undo"], ["fit", "--no-map"], ["groups"], ["next"], ["check"]],
    ids=lambda arguments: arguments[0],
)
def test_closed_streams_discard_what_they_get(folder, tmp_path, closed, arguments):
    own = tmp_path / "own"
    shutil.copytree(folder, own)
    with Collection.open(own) as collection:
        collection.annotate("item 5", {TAGS[0]: 1})
    name, *others = arguments
    done = in_shell(closed, name, own, *others)
    assert (done.returncode, "unexpected" in done.stderr) == (0, False), done.stderr
    if closed == "2>&-":
        assert done.stdout


@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&1 >/dev/null | true; exit ${PIPESTATUS[0]}"])
def test_progress_that_cannot_be_written_does_not_end_a_fit(folder, tmp_path, redirected):
    own = tmp_path / "own"
    shutil.copytree(folder, own)
    with Collection.open(own) as collection:
        collection.annotate("item 5", {TAGS[0]: 1})
    assert in_shell(redirected, "fit", own, "--no-map").returncode == 0
    assert lass("suggest", own, "--top", "1").stderr.count("older") == 0


def test_a_full_stdout_is_named_and_the_work_is_done(folder, tmp_path):
    own = tmp_path / "own"
    shutil.copytree(folder, own)
    done = in_shell(">/dev/full", "tag", own, "item 1", f"+{TAGS[0]}")
    ending = "the output is not whole, what the command changed is kept"
    assert (done.returncode, done.stderr) == (2, f"lass: stdout: No space left on device; {ending}\n")
    with Collection.open(own) as collection:
        assert collection.annotations_of("item 1") == {TAGS[0]: 1}
    for arguments in (["check", own, "--json"], ["log", own], ["export", own]):
        done = in_shell(">/dev/full", *arguments)
        assert (done.returncode, ending in done.stderr) == (2, True)


@pytest.mark.parametrize(("ending", "code"), [("SIGINT", 130), ("SIGHUP", 129)])
def test_an_interrupt_ends_with_its_code_and_changes_nothing(tmp_path, ending, code):
    rng = np.random.default_rng(0)
    where = tmp_path / "large"
    items = [Item(str(n)) for n in range(4000)]
    known = [(str(n), f"tag{n % 200}", 1) for n in range(2000)]
    vectors = rng.normal(size=(4000, 30))
    settings = Settings(features={"kind": "vectors"})
    with Collection.create(where, items, annotations=known, settings=settings, features=vectors):
        pass
    command = [*MAIN, "fit", str(where), "--lam", "30"]
    # a background job of a shell passes SIGINT on as ignored; a person's terminal does not
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    seen = []
    while "completing tags" not in seen:  # in the middle of the longest part
        line = process.stderr.readline()
        assert line, seen
        seen.append(line.strip())
    process.send_signal(getattr(signal, ending))
    out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert err == "lass: interrupted; what was there is unchanged\n"
    assert out == ""
    with Collection.open(where) as collection:
        assert collection.assignments is None
        assert collection.settings.lam == "auto"
        assert collection.check() == []


def test_acknowledged_tags_survive_death_at_any_moment(folder):
    """Writers are killed, each a little later; what the earlier ones acknowledged must be there."""
    one = f"'{MAIN[0]}' -c '{MAIN[2]}' tag '{folder}' \"item $i\" +$0 --json"
    loop = f"for i in $(seq 100); do {one} || exit; done"
    random.seed(1)
    acknowledged = []
    for turn in range(6):
        process = subprocess.Popen(
            ["bash", "-c", loop, TAGS[turn]], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        out = ""
        while "}" not in out:  # past the first, however slow the start
            out += process.stdout.readline()
        time.sleep(random.random())
        os.killpg(process.pid, signal.SIGKILL)
        out += process.communicate()[0]
        decoder = json.JSONDecoder()
        while out.strip():
            try:
                done, end = decoder.raw_decode(out.lstrip())
            except json.JSONDecodeError:
                break  # killed while it wrote
            out = out.lstrip()[end:]
            acknowledged.append((done["item"], TAGS[turn]))
    assert len(acknowledged) >= 6
    with Collection.open(folder) as collection:
        assert collection.check() == []
        for item, tag in acknowledged:
            assert collection.annotations_of(item)[tag] == 1


def test_a_collection_is_made_whole_or_not_at_all(tmp_path):
    rows = "".join(f"i{n},text number {n},a;b\n" for n in range(20_000))
    (tmp_path / "items.csv").write_text("id,text,tags\n" + rows)
    made = 0
    for turn in range(5):
        where = tmp_path / f"made{turn}"
        command = [*MAIN, "init", str(where), "--items", str(tmp_path / "items.csv"), "--tag-column", "tags"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        if turn < 4:
            time.sleep(0.2 + 0.25 * turn)
            process.kill()
        process.wait(timeout=60)
        if where.exists():
            made += 1
            with Collection.open(where) as collection:
                assert len(collection) == 20_000
                assert collection.annotation_matrix().G.nnz == 40_000
    assert made


def test_completion_of_the_shell_knows_the_commands():
    environment = {
        **os.environ,
        "_LASS_COMPLETE": "bash_complete",
        "COMP_WORDS": "lass su",
        "COMP_CWORD": "1",
    }
    code = "import sys; sys.argv[0] = 'lass'; from lass.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["plain,suggest"]


def test_an_unexpected_error_is_one_line_too(folder):
    """A bug, here a part that is missing, is shown without its traceback unless that is asked for."""
    code = "import lass.cli.annotating; lass.cli.annotating.opened = None; lass.cli.main()"
    arguments = [sys.executable, "-c", code, "log", str(folder)]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("lass: unexpected TypeError: ")
    assert done.stderr.count("\n") == 1
    shown = subprocess.run(
        arguments, capture_output=True, text=True, env={**os.environ, "LASS_TRACEBACK": "1"}
    )
    assert "Traceback" in shown.stderr
