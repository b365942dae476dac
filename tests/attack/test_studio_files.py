"""The Studio on files that are read-only, damaged, full or gone: every answer is a sentence."""

import shutil
import sqlite3
import time
from contextlib import contextmanager

import pytest

import lass
from lass.collection import Item, Settings, backups, store

pytest.importorskip("fastapi")
resource = pytest.importorskip("resource")
from starlette.testclient import TestClient  # noqa: E402

from lass.studio import session  # noqa: E402
from lass.studio.access import Doors  # noqa: E402
from lass.studio.app import create_app  # noqa: E402

TAGGED = {"annotations": [{"row": 6, "tag": 0, "value": 1}], "who": "ann"}


@pytest.fixture
def serve(tmp_path, monkeypatch):
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "index.html").write_text("")
    monkeypatch.setenv("LASS_STUDIO_STATIC", str(pages))

    @contextmanager
    def serving(folder):
        app = create_app(folder, {"ann": "token"}, "ann", Doors(frozenset({"localhost"}), 1))
        headers = {"Authorization": "Bearer token"}
        with TestClient(app, "http://localhost:1", headers=headers, raise_server_exceptions=False) as client:
            yield client

    return serving


def wait(client, phase="ready", seconds=60):
    end = time.monotonic() + seconds
    while (state := client.get("/api/state").json())["model"]["phase"] != phase:
        assert time.monotonic() < end, state["model"]
        assert state["model"]["phase"] != "failed", state["model"]["error"]
        time.sleep(0.05)
    return state


def test_what_is_read_only_is_shown_and_says_so(texts, serve, monkeypatch):
    with lass.open(texts) as collection:
        collection.fit()
        collection.tag("009", "mail")
    monkeypatch.setattr(store, "may_write", lambda _: False)
    before = {path: path.read_bytes() for path in texts.rglob("*") if path.is_file()}
    with serve(texts) as client:
        state = wait(client)
        assert state["notice"] == (
            "This collection is open read-only (you may not write to it): nothing can be stored."
        )
        for path in ("tags", "list", "items/6", "history", "progress", "map", "groups", "report", "export"):
            assert client.get(f"/api/{path}").status_code == 200, path
        refused = client.post("/api/annotations", json=TAGGED)
        assert refused.status_code == 400
        assert (
            "was opened read-only and cannot be changed; you may not write to it" in refused.json()["error"]
        )
    assert {path: path.read_bytes() for path in texts.rglob("*") if path.is_file()} == before


@pytest.mark.filterwarnings("ignore:.* is damaged; it is made again")
@pytest.mark.parametrize("name", ["map", "graph", "assignments", "features"])
def test_damaged_arrays_are_made_again(texts, serve, name):
    with lass.open(texts) as collection:
        collection.fit()
        (texts / "arrays" / f"{name}.npz").write_bytes(b"")
        with serve(texts) as client:
            assert client.get("/api/groups").status_code == 200
            wait(client)
            assert client.post("/api/annotations", json=TAGGED).status_code == 200
            wait(client)
        assert collection.stale().keys() <= {"assignments", "map"}


def test_a_full_disk_is_a_sentence_and_nothing_is_stored(texts, serve):
    with serve(texts) as client:
        wait(client)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        log = texts / "tags.sqlite-wal"
        resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, hard))
        try:
            answers = [client.post("/api/annotations", json=TAGGED) for _ in range(2)]
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        for answer in answers:
            assert answer.status_code in (500, 507)
            assert answer.json()["error"].startswith("Not stored. ")
        with lass.open(texts) as collection:
            assert collection.annotations_of("006") == {}
        assert client.post("/api/annotations", json=TAGGED).status_code == 200
        with lass.open(texts) as collection:
            assert collection.annotations_of("006") == {"mail": 1}


def test_a_studio_that_is_opened_on_a_full_disk_goes_on_when_there_is_space(texts, serve):
    with lass.open(texts) as collection:
        collection.fit()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))  # no file can grow
    try:
        with serve(texts) as client:
            assert "(the disk is full; it goes on when there is space again)" in wait(client)["notice"]
            refused = client.post("/api/annotations", json=TAGGED)
            assert refused.status_code == 507
            assert "the disk is full" in refused.json()["error"]
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            assert client.post("/api/annotations", json=TAGGED).status_code == 200
            assert wait(client)["notice"] == ""
            end = time.monotonic() + 60
            while (state := client.get("/api/state").json())["model"]["revision"] < state["revision"]:
                assert time.monotonic() < end  # training goes on too
                time.sleep(0.05)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with lass.open(texts) as collection:
        assert collection.annotations_of("006") == {"mail": 1}
        assert collection.check() == []


def test_a_damaged_database_is_said_while_it_is_open(texts, serve, monkeypatch):
    monkeypatch.setattr(session, "CARE_AFTER", 0.0)
    path = texts / store.DATABASE
    whole = bytearray(path.read_bytes())
    # a page that is read by nobody who looks at items and tags: that of an index of the log
    with sqlite3.connect(path) as found:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = 'changes_by_person'"
        (page,) = found.execute(query).fetchone()
        (size,) = found.execute("PRAGMA page_size").fetchone()
    whole[(page - 1) * size : page * size] = bytes(size)
    path.write_bytes(whole)
    with serve(texts) as client:
        wait_for(lambda: "is damaged" in notice(client))
        assert notice(client).endswith(f"Close the Studio, and run lass check {texts}.")
    assert not (texts / "backups").exists()  # no copy of what is damaged


@pytest.mark.parametrize("name", ["row", "tag", "value"])
@pytest.mark.parametrize("value", [True, False])
def test_a_truth_value_is_no_number(texts, serve, name, value):
    with serve(texts) as client:
        change = TAGGED["annotations"][0] | {name: value}
        answer = client.post("/api/annotations", json={"annotations": [change], "who": "ann"})
        assert answer.status_code == 422
        assert answer.json()["error"].startswith(f"annotations.0.{name}: ")


def notice(client):
    return client.get("/api/state").json()["notice"]


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def annotated(client, row, value):
    """The answer to an annotation of a row."""
    change = {"row": row, "tag": 0, "value": value}
    return client.post("/api/annotations", json={"annotations": [change], "who": "ann"})


def test_while_the_folder_is_away_nothing_is_acknowledged_and_then_it_goes_on(texts, serve):
    with serve(texts) as client:
        before = wait(client)
        assert client.post("/api/annotations", json=TAGGED).status_code == 200
        texts.rename(texts.with_name("elsewhere"))
        refused = annotated(client, 7, 1)
        why = (
            f"There is no collection in {texts.name} any more: it was moved or deleted; move it back. "
            "Nothing can be stored; the Studio goes on when the collection is there again."
        )
        assert refused.status_code == 503
        assert refused.json()["error"] == f"Not stored. {why}"
        assert notice(client) == why
        flag = client.post("/api/flag", json={"row": 6, "flagged": True, "who": "ann"})
        assert (flag.status_code, flag.json()["error"]) == (503, f"Not stored. {why}")
        assert client.get("/api/tags").status_code == 200
        item = client.get("/api/items/6")
        assert (item.status_code, item.json()["error"]) == (503, why)
        texts.with_name("elsewhere").rename(texts)
        wait_for(lambda: not notice(client))
        after = wait(client)
        assert after["revision"] == before["revision"] + 1
        assert after["annotations"]["is"] == before["annotations"]["is"] + 1
        assert annotated(client, 7, 1).status_code == 200
        wait(client)
    with lass.open(texts) as collection:
        assert collection.annotations_of("006") == collection.annotations_of("007") == {"mail": 1}


def test_a_folder_that_is_replaced_is_followed_and_holds_what_is_acknowledged(texts, serve):
    with serve(texts) as client:
        wait(client)
        assert annotated(client, 6, 1).status_code == 200
        copy = shutil.copytree(texts, texts.with_name("copy"))
        with lass.open(copy) as collection:
            collection.tag("009", "mail")
        texts.rename(texts.with_name("elsewhere"))
        copy.rename(texts)
        acknowledged = []

        def goes_on():
            row = 10 + len(acknowledged)
            answer = annotated(client, row, -1)
            if answer.status_code == 200:
                acknowledged.append(row)
            else:
                assert answer.status_code == 503 or "closed" in answer.text
            return len(acknowledged) == 5

        wait_for(goes_on)
        assert not notice(client)
        assert client.get("/api/items/9").json()["annotations"] == [{"tag": 0, "value": 1}]
        wait(client)
    with lass.open(texts) as collection:
        for row in acknowledged:
            assert collection.annotations_of(f"{row:03d}") == {"mail": -1}
    with lass.open(texts.with_name("elsewhere")) as former:
        assert former.history(limit=1)[0].item == "006"


def test_a_restore_is_followed(texts, serve):
    with lass.open(texts) as collection:
        collection.fit()
        collection.tag("007", "mail")
        copy = collection.back_up(always=True)
    with serve(texts) as client:
        before = wait(client)
        assert client.post("/api/annotations", json=TAGGED).status_code == 200
        wait(client)
        backups.restore(texts / store.DATABASE, copy)
        wait_for(lambda: client.get("/api/state").json()["started"] != before["started"])
        state = wait(client)
        assert (state["revision"], state["notice"]) == (before["revision"], "")
        assert client.get("/api/items/6").json()["annotations"] == []
        assert annotated(client, 8, 1).status_code == 200
        wait(client)
    with lass.open(texts) as collection:
        assert collection.annotations_of("006") == {}
        assert collection.annotations_of("007") == collection.annotations_of("008") == {"mail": 1}
        assert collection.check() == []


def test_another_collection_in_the_same_place_is_not_annotated(texts, serve):
    with serve(texts) as client:
        wait(client)
        shutil.rmtree(texts)
        how = Settings(created="2001-01-01T00:00:00+00:00", features={"kind": "text"})
        lass.Collection.create(texts, [Item("000", "", "other")], ["mail"], settings=how).close()
        for _ in range(3):
            assert annotated(client, 0, 1).status_code == 503
        wait_for(lambda: "Another collection is in" in notice(client))
    with lass.open(texts) as collection:
        assert collection.annotations_of("000") == {}
