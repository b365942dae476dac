"""The Studio on files that are read-only, damaged, full or gone: every answer is a sentence."""

import shutil
import time
from contextlib import contextmanager

import pytest

import lass
from lass.collection import store

pytest.importorskip("fastapi")
resource = pytest.importorskip("resource")
from starlette.testclient import TestClient  # noqa: E402

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


@pytest.mark.parametrize("name", ["row", "tag", "value"])
@pytest.mark.parametrize("value", [True, False])
def test_a_truth_value_is_no_number(texts, serve, name, value):
    with serve(texts) as client:
        change = TAGGED["annotations"][0] | {name: value}
        answer = client.post("/api/annotations", json={"annotations": [change], "who": "ann"})
        assert answer.status_code == 422
        assert answer.json()["error"].startswith(f"annotations.0.{name}: ")


def test_after_the_folder_is_gone_no_annotation_is_acknowledged(texts, serve):
    with serve(texts) as client:
        wait(client)
        assert client.post("/api/annotations", json=TAGGED).status_code == 200
        copy = shutil.copytree(texts, texts.with_name("copy"))
        texts.rename(texts.with_name("elsewhere"))
        copy.rename(texts)
        for _ in range(2):
            answer = client.post("/api/annotations", json=TAGGED)
            assert answer.status_code == 500
            assert "moved, deleted or replaced" in answer.json()["error"]
        assert "moved, deleted or replaced" in client.get("/api/items/6").json()["error"]
