"""The Studio's server, asked as the page asks it."""

import asyncio
import json
import logging
import shutil
import signal
import threading
import time

import httpx
import numpy as np
import pytest
import uvicorn

from lass import Collection
from lass.collection import Item, Settings
from lass.studio.events import Events
from lass.studio.serving import quiet_at_the_end
from studio_server import studio, wait_until_ready


@pytest.fixture(scope="module")
def served(packages, tmp_path_factory):
    import shutil

    folder = shutil.copytree(packages, tmp_path_factory.mktemp("served") / "packages")
    with studio(folder) as running, running.client() as client:
        wait_until_ready(client)
        yield running, client, folder


def get(client, path, **query):
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(client, path, **body):
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def untagged(client, place=0):
    return get(client, "/api/list", filter="untagged")["rows"][place]


def test_the_state_counts_what_the_collection_holds(served):
    _, client, folder = served
    state = get(client, "/api/state")
    with Collection.open(folder) as collection:
        stored = collection.annotation_matrix()
    assert state["items"] == len(stored.ids) == 500
    assert state["tags"] == len(stored.names)
    assert state["annotations"]["is"] == (stored.G.data > 0).sum()
    assert state["annotations"]["tagged"] == len(np.unique((stored.G > 0).nonzero()[0]))
    assert state["model"]["gap"] <= 1e-3
    assert "certified optimal" in state["model"]["certificate"]


def test_lists_search_and_filter(served):
    _, client, _ = served
    everything = get(client, "/api/list")["rows"]
    assert everything == list(range(500))
    found = get(client, "/api/list", text="mail client")["rows"]
    rows = get(client, "/api/rows", rows=",".join(map(str, found[:50])))
    assert rows
    for row in rows:
        text = json.dumps(get(client, f"/api/items/{row['row']}")).lower()
        assert "mail" in text
        assert "client" in text
    tagged, bare = (set(get(client, "/api/list", filter=kind)["rows"]) for kind in ("tagged", "untagged"))
    assert not tagged & bare
    assert tagged | bare == set(everything)
    tag = max(get(client, "/api/tags"), key=lambda tag: tag["is"])
    has = get(client, "/api/list", tag=f"{tag['tag']}:is")["rows"]
    assert len(has) == tag["is"]
    likely = get(client, "/api/list", tag=f"{tag['tag']}:suggested")["rows"]
    assert not set(likely) & set(has)
    scores = np.frombuffer(client.get("/api/map/scores", params={"tag": tag["tag"]}).content, "<f4")
    assert (np.diff(scores[likely]) <= 0).all()
    assert get(client, "/api/list", text="no such text anywhere")["rows"] == []
    queue = get(client, "/api/list", filter="next")["rows"]
    assert queue
    assert set(queue) <= bare


def test_the_numbers_of_an_assignment_add_up(served):
    _, client, _ = served
    for row in (0, 7, untagged(client)):
        a = get(client, f"/api/items/{row}")["modelDetails"]
        crowd, expert, shares = (np.array(a[name]) for name in ("crowd", "expert", "shares"))
        assert np.maximum(crowd + expert - a["threshold"], 0) == pytest.approx(shares, abs=1e-6)
        adds = np.array([neighbour["contributions"] for neighbour in a["neighbours"]])
        known = sum(neighbour["weight"] for neighbour in a["neighbours"])
        assert (adds.sum(axis=0) <= crowd + 1e-9).all()
        if known > 1 - 1e-9:
            assert adds.sum(axis=0) == pytest.approx(crowd, abs=1e-9)
        path, gammas = np.array(a["path"]), np.array(a["gammas"])
        assert gammas[0] == 0
        assert (np.diff(gammas) >= 0).all()
        assert path[0] == pytest.approx(crowd, abs=1e-9)
        at = np.array([np.interp(a["gamma"], gammas, column) for column in path.T])
        assert at == pytest.approx(shares, abs=1e-9)


def test_what_if_moves_the_assignment_and_stores_nothing(served):
    _, client, _ = served
    row = untagged(client, 1)
    before = get(client, f"/api/items/{row}")
    tag = before["suggestions"][-1]["tag"]
    revision = get(client, "/api/state")["revision"]

    def share(answer):
        return dict(zip(answer["tags"], answer["shares"], strict=True)).get(tag, 0.0)

    def what_if(tag, value):
        return post(client, f"/api/items/{row}/what-if", annotations={str(tag): value})

    yes, no = what_if(tag, 1)["details"], what_if(tag, -1)["details"]
    assert tag not in [one["tag"] for one in what_if(tag, 1)["suggestions"]]
    assert share(no) <= share(before["modelDetails"]) < share(yes)
    assert get(client, "/api/state")["revision"] == revision
    flip = before["modelDetails"]["flip"]
    flipped = what_if(flip["runnerUp"], 1)["details"]
    if flip["possible"]:
        assert flipped["tags"][0] == flip["runnerUp"]
    else:
        assert flipped["flip"]["top"] == flip["top"]


def test_an_annotation_is_stored_undone_and_done_again(served):
    _, client, folder = served
    row = untagged(client, 2)
    shown = get(client, f"/api/items/{row}")
    tag = shown["suggestions"][0]["tag"]
    stored = post(client, "/api/annotations", annotations=[{"row": row, "tag": tag, "value": 1}], who="ann")
    assert stored["rows"][0]["annotations"] == [{"tag": tag, "value": 1}]
    assert tag not in [one["tag"] for one in stored["rows"][0]["suggestions"]]
    with Collection.open(folder) as collection:
        name = collection.names()[tag]
        assert collection.annotations_of(shown["id"]) == {name: 1}
        assert collection.history(limit=1)[0].who == "ann"
        assert post(client, "/api/undo", who="bob")["what"] == "Nothing to undo"
        assert collection.annotations_of(shown["id"]) == {name: 1}
        undone = post(client, "/api/undo", who="ann")
        assert undone["what"] == f"Undid: +{name} on {shown['id']}"
        assert undone["rows"][0]["annotations"] == []
        assert collection.annotations_of(shown["id"]) == {}
        assert post(client, "/api/redo", who="ann")["what"] == f"Did again: +{name} on {shown['id']}"
        assert collection.annotations_of(shown["id"]) == {name: 1}
        post(client, "/api/undo", who="ann")
    history = get(client, f"/api/items/{row}")["history"]
    assert [change["value"] for change in history] == [0, 1, 0, 1]


def test_one_action_is_undone_whatever_was_done_since(served):
    _, client, _ = served
    row, other = (untagged(client, place) for place in (3, 4))

    def annotate(row):
        return post(client, "/api/annotations", annotations=[{"row": row, "tag": 0, "value": 1}], who="eve")

    first = annotate(row)
    annotate(other)
    undone = post(client, "/api/undo", who="eve", change=first["change"])
    assert [(one["row"], one["annotations"]) for one in undone["rows"]] == [(row, [])]
    again = post(client, "/api/undo", who="eve", change=first["change"])
    assert (again["what"], again["rows"]) == ("Nothing to undo", [])
    undone = post(client, "/api/undo", who="eve")
    assert [(one["row"], one["annotations"]) for one in undone["rows"]] == [(other, [])]
    assert post(client, "/api/undo", who="eve")["what"] == "Nothing to undo"
    assert client.post("/api/undo", json={"change": -1}).status_code == 422


def test_many_annotations_are_one_action(served):
    _, client, _ = served
    rows = get(client, "/api/list", filter="untagged")["rows"][5:25]
    tag = get(client, "/api/tags")[3]["tag"]
    post(
        client,
        "/api/annotations",
        annotations=[{"row": row, "tag": tag, "value": -1} for row in rows],
        who="cy",
    )
    assert set(rows) <= set(get(client, "/api/list", tag=f"{tag}:is-not")["rows"])
    assert post(client, "/api/undo", who="cy")["what"].endswith("on 20 items")
    assert not set(rows) & set(get(client, "/api/list", tag=f"{tag}:is-not")["rows"])


def test_tags_are_made_renamed_merged_and_it_is_undone(served):
    _, client, folder = served
    made = post(client, "/api/tags", name="mood::sunny", who="dan")["tag"]
    assert get(client, "/api/tags")[made]["name"] == "mood::sunny"
    row = untagged(client, 3)
    post(client, "/api/annotations", annotations=[{"row": row, "tag": made, "value": 1}], who="dan")
    post(client, f"/api/tags/{made}/rename", name="mood::bright", who="dan")
    assert get(client, "/api/tags")[made]["name"] == "mood::bright"
    other = get(client, "/api/tags")[0]["tag"]
    post(client, f"/api/tags/{made}/merge", into=other, who="dan")
    tags = get(client, "/api/tags")
    assert tags[made]["retired"]
    assert row in get(client, "/api/list", tag=f"{other}:is")["rows"]
    for _ in range(4):
        post(client, "/api/undo", who="dan")
    assert get(client, "/api/tags")[made]["retired"], "a tag whose making was undone is not offered"
    with Collection.open(folder) as collection:
        assert collection.annotations_of(collection.ids()[row]) == {}
        assert collection.check() == []
    refused = client.post(f"/api/tags/{other}/rename", json={"name": tags[1]["name"], "who": ""})
    assert refused.status_code == 400
    assert "merge" in refused.json()["error"]


def test_a_tag_is_deleted_and_brought_back(served):
    _, client, folder = served
    tag = max(get(client, "/api/tags"), key=lambda tag: tag["is"])
    having = get(client, "/api/list", tag=f"{tag['tag']}:is")["rows"]
    assert post(client, f"/api/tags/{tag['tag']}/delete", who="eve")["what"] == f"Tag {tag['name']} deleted"
    gone = get(client, "/api/tags")[tag["tag"]]
    assert (gone["retired"], gone["is"], gone["isNot"]) == (True, 0, 0)
    post(client, "/api/undo", who="eve")
    assert get(client, "/api/list", tag=f"{tag['tag']}:is")["rows"] == having
    with Collection.open(folder) as collection:
        assert collection.check() == []
    assert client.post("/api/tags/99999/delete", json={"who": ""}).status_code == 404


def test_a_selection_in_short(served):
    _, client, folder = served
    wait_until_ready(client)
    rows = list(range(0, 500, 3))
    found = post(client, "/api/selection", rows=[*rows, rows[0]])
    assert found["items"] == len(rows)
    assert 1 < len(found["tags"]) <= 6
    with Collection.open(folder) as collection:
        G = collection.annotation_matrix().G
    for one in found["tags"]:
        column = G[:, [one["tag"]]].toarray().ravel()
        assert one["having"] == (column[rows] > 0).sum()
        assert one["notHaving"] == (column[rows] < 0).sum()
        assert set(one["likely"]) <= set(rows)
        assert not column[one["likely"]].any()
        scores = np.frombuffer(client.get("/api/map/scores", params={"tag": one["tag"]}).content, "<f4")
        assert sorted(one["likely"]) == [row for row in rows if scores[row] >= 0.5 and not column[row]]
        assert one["expectedRight"] == pytest.approx(scores[one["likely"]].sum(), rel=1e-5)
    assert client.post("/api/selection", json={"rows": [500]}).status_code == 404


def test_names_and_colours_of_the_map(served):
    _, client, folder = served
    points = np.frombuffer(client.get("/api/map").content, "<f4").reshape(-1, 2)
    whole = get(client, "/api/map/names", level=1, cells="0,1,0,1")
    assert whole
    assert all(abs(one["x"]) <= 1 and abs(one["y"]) <= 1 and one["items"] >= 4 for one in whole)
    assert len({one["name"] for one in whole}) == len(whole)
    finer = get(client, "/api/map/names", level=3, cells="0,7,0,7")
    assert len(finer) > len(whole)
    left = get(client, "/api/map/names", level=3, cells="0,3,0,7")
    assert left
    assert all(one["x"] < 0 for one in left)
    assert sum(one["items"] for one in left) <= (points[:, 0] < 0).sum()
    assert client.get("/api/map/names", params={"level": 3, "cells": "0,3"}).status_code == 400
    counts = np.frombuffer(client.get("/api/map/tag-counts").content, "<u2")
    with Collection.open(folder) as collection:
        assert counts.tolist() == (collection.annotation_matrix().G > 0).sum(axis=1).tolist()
    row = untagged(client, 7)
    post(client, "/api/annotations", annotations=[{"row": row, "tag": 0, "value": 1}], who="zoe")
    found = get(client, "/api/map/changes")
    assert found["rows"][0] == row
    assert found["people"][found["who"][0]] == "zoe"
    assert abs(found["at"][0] - time.time()) < 600
    assert len(found["rows"]) == len(set(found["rows"])) == len(found["who"]) == len(found["at"])
    post(client, "/api/undo", who="zoe")


def test_the_page_of_a_tag(served):
    _, client, _ = served
    tag = max(get(client, "/api/tags"), key=lambda tag: tag["is"])["tag"]
    page = get(client, f"/api/tags/{tag}")
    scores = [one["score"] for one in page["candidates"]]
    assert scores == sorted(scores, reverse=True)
    assert all(
        tag not in [annotation["tag"] for annotation in one["row"]["annotations"]]
        for one in page["candidates"]
    )
    assert all({"tag": tag, "value": 1} in one["row"]["annotations"] for one in page["doubts"])
    assert all(one["score"] < one["meanScore"] for one in page["doubts"])
    assert all(0 < one["share"] <= 1 for one in page["coOccurring"])


def test_the_map_has_a_point_an_item(served):
    _, client, _ = served
    assert get(client, "/api/state")["map"]
    points = np.frombuffer(client.get("/api/map").content, "<f4").reshape(-1, 2)
    assert len(points) == 500
    assert np.abs(points).max() <= 1.0 + 1e-6
    tops = np.frombuffer(client.get("/api/map/tops").content, "<u2")
    assert len(tops) == 500
    seen = {"stated": 0, "suggested": 0}
    for row in get(client, "/api/rows", rows=",".join(map(str, range(0, 500, 5)))):
        stated = [one["tag"] for one in row["annotations"] if one["value"] > 0]
        top = tops[row["row"]]
        if stated:  # the map shows what an item has, else what is suggested first
            assert top in stated
            seen["stated"] += 1
        elif row["suggestions"]:
            best = max(one["score"] for one in row["suggestions"])
            assert {one["tag"]: one["score"] for one in row["suggestions"]}[top] == pytest.approx(best)
            seen["suggested"] += 1
    assert all(seen.values()), seen
    shares = np.frombuffer(client.get("/api/map/simplex", params={"tags": "0,1,2"}).content, "<f4")
    assert shares.shape == (1500,)
    assert (shares >= 0).all()
    assert (shares.reshape(-1, 3).sum(axis=1) <= 1 + 1e-5).all()


def received(running, names, seconds=20.0):
    """A thread that listens until an event of each name came; the events as they come."""
    found = []
    ready = threading.Event()

    def listen():
        headers = {"Authorization": f"Bearer {running.token}"}
        with httpx.stream("GET", f"{running.base}/api/events", headers=headers, timeout=seconds) as stream:
            name, missing = "", set(names)
            for line in stream.iter_lines():
                ready.set()
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    found.append((name, json.loads(line[6:])))
                    missing.discard(name)
                    if not missing:
                        return

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    ready.wait(seconds)
    return thread, found


def test_every_page_gets_an_annotation_and_the_model_follows(served):
    running, client, _ = served
    wait_until_ready(client)
    row = untagged(client, 4)
    tag = get(client, f"/api/items/{row}")["suggestions"][2]["tag"]
    before = get(client, f"/api/items/{row}")["modelDetails"]
    thread, events = received(running, ["annotations", "model", "predictions"])
    stored = post(client, "/api/annotations", annotations=[{"row": row, "tag": tag, "value": 1}], who="eve")
    thread.join(20)
    latest = dict(events)
    assert latest["annotations"] == {
        "revision": stored["revision"], "who": "eve", "what": stored["what"], "rows": [row],
    }  # fmt: skip
    assert latest["predictions"]["revision"] == stored["revision"]
    changed = latest["predictions"]["rows"]
    assert changed is None or row in changed, "None: of all rows, as when a training came first"
    assert latest["model"]["gap"] <= 1e-3
    after = get(client, f"/api/items/{row}")["modelDetails"]
    assert after["shares"] != before["shares"]
    post(client, "/api/undo", who="eve")


def test_annotations_of_another_program_are_noticed(served):
    running, client, folder = served
    row = untagged(client, 6)
    thread, events = received(running, ["annotations"])
    with Collection.open(folder) as collection:
        item, tag = collection.ids()[row], collection.names()[0]
        collection.annotate(item, {tag: -1}, who="shell")
        thread.join(20)
        assert row in dict(events)["annotations"]["rows"]
        assert {"tag": 0, "value": -1} in get(client, "/api/rows", rows=row)[0]["annotations"]
        collection.undo("shell")


def test_progress_and_history_count_annotations(served):
    _, client, _ = served
    row = untagged(client, 8)
    before = get(client, "/api/progress")[-1]
    post(client, "/api/annotations", annotations=[{"row": row, "tag": 1, "value": 1}], who="fay")
    after = get(client, "/api/progress")[-1]
    assert (after["annotations"], after["tagged"]) == (before["annotations"] + 1, before["tagged"] + 1)
    last = get(client, "/api/history", limit=1)[0]
    assert (last["who"], last["count"], last["items"], last["tags"]) == ("fay", 1, 1, [])
    (change,) = last["changes"]
    assert (change["row"], change["tag"], change["value"]) == (row, 1, 1)
    post(client, "/api/undo", who="fay")


def test_export_is_what_init_reads(served, tmp_path):
    _, client, folder = served
    table = tmp_path / "annotations.csv"
    table.write_bytes(client.get("/api/export").content)
    from lass.collection.reading import read_tags

    with Collection.open(folder) as collection:
        stored, ids = collection.annotation_matrix(), set(collection.ids())
    assert len(read_tags(table, ids=ids).annotations) == stored.G.nnz
    lines = client.get("/api/export", params={"what": "suggestions", "format": "jsonl"}).text.splitlines()
    assert {"item", "tag", "score", "because", "why"} <= json.loads(lines[0]).keys()
    shares = client.get("/api/export", params={"what": "assignments"}).text.splitlines()
    assert shares[0] == "item,tag,share"
    assert len(shares) > 500
    page = client.get("/api/report")
    assert page.headers["content-disposition"] == 'attachment; filename="report.html"'
    assert "<html" in page.text


def looked(client, *files):
    key = client.post("/api/import/files", files=[("files", file) for file in files]).json()["upload"]
    return post(client, "/api/import/look", upload=key)


def test_a_collection_is_made_from_a_table_and_grows(tmp_path):
    folder = tmp_path / "new"
    rows = [
        f"p{n},{'mail reader' if n % 2 else 'chess game'} number {n},{'mail' if n % 2 else 'game'}"
        for n in range(30)
    ]
    rows[5] = "p5,mail reader number 5,"
    table = ("name,summary,tags\n" + "\n".join(rows) + "\n").encode()
    with studio(folder) as running, running.client() as client:
        assert get(client, "/api/state")["model"]["phase"] == "empty"
        assert get(client, "/api/list")["rows"] == []
        assert client.get("/api/items/0").status_code == 404
        seen = looked(client, ("my items.csv", table))
        assert seen["columns"] == ["name", "summary", "tags"]
        assert seen["rows"] == 30
        assert seen["mapping"]["tagColumn"] == "tags"
        assert seen["mapping"]["text"] == ["summary"]
        mapping = {**seen["mapping"], "id": "name"}
        made = post(client, "/api/import", upload=seen["upload"], mapping=mapping, skipBad=False, who="")
        assert (made["items"], made["annotations"], made["tags"]) == (30, 29, 2)
        state = wait_until_ready(client)
        assert state["items"] == 30
        best = get(client, "/api/rows", rows=5)[0]["suggestions"][0]["tag"]
        assert get(client, "/api/tags")[best]["name"] == "mail"
        more = b"name,summary,tags\nq1,another mail reader,-game\nq2,a game of chess,\n"
        seen = looked(client, ("more.csv", more))
        mapping = {**seen["mapping"], "id": "name"}
        added = post(client, "/api/import", upload=seen["upload"], mapping=mapping, skipBad=False, who="")
        assert (added["items"], added["annotations"]) == (2, 1)
        state = wait_until_ready(client)
        assert state["items"] == 32
        again = post(client, "/api/import", upload=seen["upload"], mapping=mapping, skipBad=False, who="")
        assert (again["items"], again["leftOut"], again["annotations"]) == (0, 2, 0)
        assert get(client, "/api/state")["items"] == 32
    with Collection.open(folder) as collection:
        assert collection.annotations_of("q1") == {"game": -1}
        assert collection.check() == []


def until_phase(client, phase):
    """The state, once the model is in this phase."""
    end = time.monotonic() + 60
    while (state := get(client, "/api/state"))["model"]["phase"] != phase:
        assert time.monotonic() < end, state["model"]
        time.sleep(0.05)
    return state


GAMES = ("chess", "go", "cards", "dice", "skill", "luck")
MAIL = ("mail", "reads", "folders", "reads mail")


@pytest.fixture
def bare(tmp_path):
    """A collection of two subjects without tags."""
    mails = [f"reads mail over {way} with folders" for way in ("imap", "pop", "smtp", "uucp", "http", "ssh")]
    games = [
        f"a board game of {kind} for players" for kind in ("chess", "go", "cards", "dice", "skill", "luck")
    ]
    items = [Item(f"{number:02}", text=text) for number, text in enumerate(mails + games)]
    Collection.create(tmp_path / "bare", items, settings=Settings(n_neighbors=4)).close()
    return tmp_path / "bare"


def test_without_tags_there_are_a_map_groups_search_and_items_to_begin_with(bare):
    with studio(bare) as running, running.client() as client:
        state = until_phase(client, "untagged")
        assert state["map"]
        assert state["model"]["error"] == ""
        assert len(client.get("/api/map").content) == 12 * 8
        assert set(np.frombuffer(client.get("/api/map/tops").content, "<u2")) == {65535}
        groups = get(client, "/api/groups")
        assert sorted(row for group in groups for row in group["rows"]) == list(range(12))
        assert {tuple(sorted(group["rows"])) for group in groups} == {tuple(range(6)), tuple(range(6, 12))}
        assert {group["tagged"] for group in groups} == {0}
        assert all(group["name"] == group["terms"][0] for group in groups)
        queue = get(client, "/api/list", filter="next")["rows"]
        assert queue
        assert all(row["reason"] for row in get(client, "/api/rows", rows=",".join(map(str, queue))))
        assert get(client, "/api/list", text="chess")["rows"] == [6]
        assert get(client, "/api/items/0")["modelDetails"] is None
        # training again is no error, and comes to the same end
        assert client.post("/api/retrain").json() == {"started": True}
        until_phase(client, "untagged")


def test_a_group_becomes_a_tag_in_one_action_and_one_undo(bare):
    with studio(bare) as running, running.client() as client:
        until_phase(client, "untagged")
        rows = list(range(6))
        assert post(client, "/api/proposed-name", rows=rows)["name"] in (
            "mail",
            "reads",
            "folders",
            "reads mail",
        )
        done = post(client, "/api/tag-items", rows=[*rows, 0], name="about::mail", who="ada")
        assert done["what"] == "+about::mail on 6 items"
        state = wait_until_ready(client)
        assert state["annotations"] == {"is": 6, "isNot": 0, "tagged": 6}
        assert state["tags"] == 1
        assert sum(group["tagged"] for group in get(client, "/api/groups")) == 6
        # nobody is told that all other items have the only tag there is
        tops = np.frombuffer(client.get("/api/map/tops").content, "<u2")
        assert set(tops[6:]) == {65535}
        post(client, "/api/annotations", annotations=[{"row": 7, "tag": 0, "value": -1}], who="bob")
        again = post(client, "/api/tag-items", rows=[5, 6, 7], name="about::mail", who="ada")
        assert [row["row"] for row in again["rows"]] == [6], "annotations of the tag stay as they are"
        assert post(client, "/api/tag-items", rows=[5, 6], name="about::mail", who="ada")["rows"] == []
        post(client, "/api/undo", who="ada")
        post(client, "/api/undo", who="ada")
        assert get(client, "/api/state")["annotations"] == {"is": 0, "isNot": 1, "tagged": 0}
        post(client, "/api/undo", who="bob")
        assert until_phase(client, "untagged")["annotations"]["is"] == 0
        assert get(client, "/api/items/0")["suggestions"] == []


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/tag-items", {"rows": [99], "name": "mail"}, 404),
        ("/api/tag-items", {"rows": [], "name": "mail"}, 422),
        ("/api/tag-items", {"rows": [0], "name": ""}, 422),
        ("/api/tag-items", {"rows": [0], "name": " mail"}, 400),
        ("/api/proposed-name", {"rows": [99]}, 404),
        ("/api/proposed-name", {"rows": []}, 422),
    ],
)
def test_wrong_groups_are_refused_with_a_sentence_and_change_nothing(bare, path, body, status):
    with studio(bare) as running, running.client() as client:
        answer = client.post(path, json=body)
        assert answer.status_code == status, answer.text
        assert answer.json()["error"]
        assert get(client, "/api/state")["revision"] == 0


def test_pictures_are_shown_and_nothing_beside_them(tmp_path):
    from PIL import Image

    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(12):
        Image.new("RGB", (24, 24), (20 * number, 250 - 20 * number, 90)).save(folder / f"p{number}.png")
    (tmp_path / "secret.png").write_bytes((folder / "p0.png").read_bytes())
    (folder / "notes.txt").write_text("not a picture")
    items = [Item(f"p{number}.png") for number in range(12)]
    items += [Item("../secret.png"), Item("notes.txt"), Item(str(tmp_path / "secret.png")), Item("gone.png")]
    settings = Settings(features={"kind": "images", "folder": str(folder)})
    Collection.create(tmp_path / "shots", items, ["red"], settings=settings).close()
    with studio(tmp_path / "shots") as running, running.client() as client:
        assert get(client, "/api/state")["pictures"]
        assert get(client, "/api/rows", rows=3)[0]["picture"]
        shown = client.get("/api/items/3/picture")
        assert shown.headers["content-type"] == "image/png"
        assert shown.content == (folder / "p3.png").read_bytes()
        for row in range(12, 16):
            refused = client.get(f"/api/items/{row}/picture")
            assert refused.status_code == 404, refused.content[:20]


@pytest.mark.parametrize("ending", ["SIGINT", "SIGHUP"])
def test_ctrl_c_and_a_closed_terminal_are_normal_ends(own_packages, ending):
    with studio(own_packages) as running, running.client() as client:
        client.get("/api/state")
        running.process.send_signal(getattr(signal, ending))
        assert running.process.wait(20) == 0


def test_the_end_with_an_open_page_is_quiet(own_packages):
    with studio(own_packages) as running, running.client() as client:
        with client.stream("GET", "/api/events") as events:
            texts = events.iter_text()
            next(texts)
            running.process.send_signal(signal.SIGINT)
            for _ in texts:  # up to a proper end, which a stream that is broken off does not have
                pass
            assert running.process.wait(20) == 0
        rest = running.rest()
    assert "Traceback" not in rest
    assert "The Studio has stopped." in rest


def test_streams_end_when_the_server_stops_and_what_is_broken_off_is_no_error():
    async def ended():
        events = Events()
        events.start()
        first = events.listen()
        await anext(first)
        events.stop()
        later = events.listen()
        await anext(later)
        return [text async for text in first] + [text async for text in later]

    assert asyncio.run(ended()) == []
    server = uvicorn.Server(uvicorn.Config(lambda: None, log_config=None))
    log = logging.getLogger("uvicorn.error")
    broken = log.makeRecord(
        log.name, logging.ERROR, "", 0, "Exception in ASGI application", (),
        (asyncio.CancelledError, asyncio.CancelledError(), None),
    )  # fmt: skip
    with quiet_at_the_end(server):
        assert log.filter(broken)
        server.should_exit = True
        assert not log.filter(broken)
        assert log.filter(log.makeRecord(log.name, logging.ERROR, "", 0, "no room", (), None))
    assert log.filter(broken)


def test_an_export_of_a_folder_that_is_gone_is_an_error_before_it_begins(own_packages):
    with studio(own_packages) as running, running.client() as client:
        assert client.get("/api/export").status_code == 200
        shutil.rmtree(own_packages)
        for answer in (client.get("/api/export"), client.post("/api/retrain")):
            assert answer.status_code == 503
            assert "it was moved or deleted; move it back" in answer.json()["error"]
