"""Who is kept out of the Studio, and what survives a power cut."""

import gzip
import socket
import threading
import time
from urllib.parse import urlsplit

import httpx
import pytest

from command_line import run
from lass import Collection
from lass.studio import serving
from lass.studio.address import Address
from lass.studio.serving import Serving
from studio_server import studio


@pytest.fixture(scope="module")
def running(packages, tmp_path_factory):
    import shutil

    folder = shutil.copytree(packages, tmp_path_factory.mktemp("safe") / "packages")
    with studio(folder) as found:
        yield found


MAPPING = {"id": None, "title": None, "text": [], "tagColumn": None, "separator": None}
ANNOTATION = {"annotations": [{"row": 0, "tag": 0, "value": 1}], "who": "x"}


def test_without_the_token_there_is_no_data(running):
    with httpx.Client(base_url=running.base) as client:
        for path in (
            "/api/state",
            "/api/items/0",
            "/api/openapi.json",
            "/api/events",
            "/api",
            "/api/nothing",
        ):
            answer = client.get(path)
            assert answer.status_code == 401, path
            assert "token" in answer.json()["error"]
            assert "Packages" not in answer.text
        assert client.post("/api/annotations", json=ANNOTATION).status_code == 401
        for wrong in ("x", "0" * 32, running.token[:-1], running.token + "0", "\N{SNOWMAN}"):
            headers = {"Authorization": f"Bearer {wrong}".encode()}
            assert client.get("/api/state", headers=headers).status_code == 401
        # the token counts in a header alone, not in an address or a cookie
        assert client.get("/api/state", params={"token": running.token}).status_code == 401
        client.cookies.set("lass-studio", running.token)
        assert client.get("/api/state", headers={"Cookie": f"token={running.token}"}).status_code == 401


def test_two_that_start_at_once_do_not_take_the_same_port(tmp_path):
    """A port that is only bound can be bound again; who came second failed when it listened."""
    notes = []
    folder = tmp_path / "packages"
    with serving._bound(Serving(), Address(str(folder)), folder, notes.append) as first:
        port = first.getsockname()[1]
        with serving._bound(Serving(port), Address(str(folder)), folder, notes.append) as second:
            assert second.getsockname()[1] != port
    assert f"Port {port}" in notes[-1]
    assert "is used instead" in notes[-1]


def test_the_page_itself_asks_for_the_token_and_holds_nothing(running):
    with httpx.Client(base_url=running.base) as client:
        pages = [client.get("/"), client.get("/", params={"token": "wrong"}), client.get(running.address)]
        assert {page.status_code for page in pages} == {200}
        assert len({page.text for page in pages}) == 1
        assert "Packages" not in pages[0].text
        assert running.token not in pages[0].text
        assert all("set-cookie" not in page.headers for page in pages)
        assert client.post("/").status_code == 405


def test_a_key_in_the_address_reads_pictures_downloads_and_events_alone(running):
    with running.client() as client:
        key = client.get("/api/state").json()["key"]
    assert key != running.token
    with httpx.Client(base_url=running.base, params={"key": key}) as client:
        assert client.get("/api/export?what=annotations&format=csv&key=" + key).status_code == 200
        with client.stream("GET", f"/api/events?key={key}") as events:
            assert events.status_code == 200
        assert client.get(f"/api/items/0/thumbnail?key={key}").status_code == 404  # there is no picture
        for path in ("/api/state", "/api/items/0", "/api/tags", "/api/history"):
            assert client.get(path).status_code == 401, path
        assert client.post("/api/annotations", json=ANNOTATION).status_code == 401
        assert client.post(f"/api/export?key={key}").status_code == 401
        assert client.get("/api/export", params={"key": running.token}).status_code == 401
        assert client.get("/api/export", params={"key": ""}).status_code == 401


def test_other_sites_and_names_are_refused(running):
    with running.client() as client:
        port = urlsplit(running.base).port
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", ""):
            assert client.get("/api/state", headers={"Host": host}).status_code in (400, 421), host
        for origin in (
            "http://evil.example",
            "null",
            f"https://127.0.0.1:{port}",
            f"http://127.0.0.1:{port}.evil",
        ):
            headers = {"Origin": origin}
            assert client.post("/api/annotations", json=ANNOTATION, headers=headers).status_code == 403, (
                origin
            )
            assert client.get("/api/events", headers=headers).status_code == 403
        assert client.get("/api/state", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        own = {"Origin": running.base}
        assert client.post("/api/undo", json={"who": "nobody"}, headers=own).status_code == 200
        assert client.get("/api/state", headers={"Host": f"localhost:{port}"}).status_code == 200


def test_answers_keep_the_page_to_itself(running):
    with running.client() as client:
        for path in ("/", "/api/state", "/api/items/99999"):
            headers = client.get(path).headers
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert "access-control-allow-origin" not in headers


def raw(running, path):
    """A request whose path nobody tidies up on the way."""
    host = urlsplit(running.base)
    with socket.create_connection((host.hostname, host.port), timeout=10) as line:
        line.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {host.netloc}\r\nAuthorization: Bearer {running.token}\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        parts = []
        while part := line.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_paths_lead_nowhere_else(running):
    for path in (
        "/../app.py", "/..%2fapp.py", "/%2e%2e/app.py", "/assets/../../app.py", "/....//app.py",
        "/..\\app.py",
        "/%00", "//etc/passwd", "/etc/passwd", "/../../../../../../etc/passwd",
        "/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/api/items/../../state", "/api/items/0/picture/../../../../etc/passwd",
    ):  # fmt: skip
        answer = raw(running, path)
        status = int(answer.split()[1])
        assert 400 <= status < 500, (path, answer[:200])
        assert b"root:" not in answer
        assert b"import annotations" not in answer


def test_too_much_is_refused(running):
    with running.client() as client:
        large = b" " * (9 * 2**20)
        assert client.post("/api/annotations", content=large).status_code == 413
        headers = {"Content-Type": "application/json"}
        # without a length in the header, the body is counted as it comes
        chunks = (b" " * 2**20 for _ in range(10))
        assert client.post("/api/annotations", content=chunks, headers=headers).status_code == 413
        annotations = [{"row": 0, "tag": 0, "value": 1}] * 100_001
        assert (
            client.post("/api/annotations", json={"annotations": annotations, "who": ""}).status_code == 422
        )
        assert client.post("/api/undo", json={"who": "x" * 101}).status_code == 422
        assert client.get("/api/rows", params={"rows": ",".join(["1"] * 201)}).status_code in (400, 422)
        assert client.get("/api/list", params={"text": "x" * 501}).status_code == 422


def test_bad_files_are_refused_with_a_reason(running):
    with running.client() as client:

        def refused(name, content):
            answer = client.post("/api/import/files", files={"files": (name, content)})
            if answer.status_code == 200:
                answer = client.post("/api/import/look", json=answer.json())
            assert answer.status_code == 400, answer.text
            return answer.json()["error"]

        assert "save it as" in refused("items.exe", b"MZ")
        assert "save it as" in refused("../../items", b"a,b\n1,2\n")
        assert "empty" in refused("items.csv", b"")
        assert "no items in it" in refused("items.csv", b"id,text\n")
        assert "unpack" in refused("items.csv.gz", b"not packed")
        bomb = gzip.compress(b"id,text\n" + b"x" * (2**30 + 2**20), 9)
        assert len(bomb) < 3 * 2**20
        assert "more than 1024 MB" in refused("bomb.csv.gz", bomb)
        assert client.post("/api/import", json={
            "upload": "0" * 32, "mapping": MAPPING, "skipBad": False, "who": "",
        }).status_code == 404  # fmt: skip


def test_wrong_rows_and_tags_change_nothing(running):
    with running.client() as client:
        revision = client.get("/api/state").json()["revision"]
        for body, status in (
            ({"annotations": [{"row": 500, "tag": 0, "value": 1}]}, 404),
            ({"annotations": [{"row": 0, "tag": 9999, "value": 1}]}, 404),
            ({"annotations": [{"row": 0, "tag": 0, "value": 2}]}, 422),
            ({"annotations": [{"row": -1, "tag": 0, "value": 1}]}, 422),
            ({"annotations": []}, 422),
            ({"annotations": [{"row": 0, "tag": 0, "value": 1}, {"row": 0, "tag": 0, "value": -1}]}, 400),
            ({"annotations": [{"row": 0, "tag": 0, "value": 1, "extra": 1}]}, 422),
        ):
            answer = client.post("/api/annotations", json=body)
            assert answer.status_code == status, answer.text
            assert answer.json()["error"]
        assert client.post("/api/annotations", content=b"{").status_code == 422
        assert client.get("/api/items/500").status_code == 404
        assert client.get("/api/tags/9999").status_code == 404
        assert client.get("/api/items/x").status_code == 422
        assert client.get("/api/nothing").status_code == 404
        assert client.delete("/api/state").status_code == 405
        assert client.get("/api/state").json()["revision"] == revision


def test_every_acknowledged_annotation_survives_a_kill(own_packages):
    """Four people tag as fast as they can; the server is killed in the midst of it."""
    acknowledged = []
    with studio(own_packages) as running:
        rows = list(range(0, 400))

        def tag_on(person):
            with running.client() as client:
                for row in rows[person::4]:
                    body = {"annotations": [{"row": row, "tag": row % 7, "value": -1}], "who": f"p{person}"}
                    try:
                        answer = client.post("/api/annotations", json=body)
                    except httpx.HTTPError:
                        return
                    if answer.status_code == 200:
                        acknowledged.append((row, row % 7))

        threads = [threading.Thread(target=tag_on, args=(person,)) for person in range(4)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 30
        while len(acknowledged) < 60 and time.monotonic() < end:
            time.sleep(0.005)
        running.kill()
        for thread in threads:
            thread.join(20)
    assert 60 <= len(acknowledged) < 400, "the kill must come in the midst"
    with studio(own_packages) as again, again.client() as client:
        asked = ",".join(str(row) for row, _ in acknowledged[:200])
        shown = {
            row["row"]: row["annotations"] for row in client.get("/api/rows", params={"rows": asked}).json()
        }
        for row, tag in acknowledged[:200]:
            assert {"tag": tag, "value": -1} in shown[row]
    with Collection.open(own_packages) as collection:
        G = collection.annotation_matrix().G
        assert all(G[row, tag] == -1 for row, tag in acknowledged)
        assert collection.check() == []


def test_two_people_lose_nothing_of_each_other(own_packages):
    with studio(own_packages) as running:
        errors = []

        def work(person):
            with running.client() as client:
                for row in range(60):
                    value = 1 if person else -1
                    body = {
                        "annotations": [{"row": row, "tag": 10 + person, "value": value}],
                        "who": f"p{person}",
                    }
                    answer = client.post("/api/annotations", json=body)
                    if answer.status_code != 200:
                        errors.append(answer.text)
                    if row % 10 == 9:
                        client.post("/api/undo", json={"who": f"p{person}"})

        threads = [threading.Thread(target=work, args=(person,)) for person in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        with running.client() as client:
            asked = ",".join(map(str, range(60)))
            shown = {
                row["row"]: row["annotations"]
                for row in client.get("/api/rows", params={"rows": asked}).json()
            }
    with Collection.open(own_packages) as collection:
        G = collection.annotation_matrix().G
    for row in range(60):
        for person in range(2):
            value = 0 if row % 10 == 9 else (1 if person else -1)
            found = {one["tag"]: one["value"] for one in shown[row]}.get(10 + person, 0)
            if row % 10 == 9:  # what stood there before came back
                assert found == G[row, 10 + person]
            else:
                assert found == G[row, 10 + person] == value


def test_without_its_pages_it_does_not_start(tmp_path, monkeypatch):
    """A checkout has none until they are built: the terminal says so, and no address leads nowhere."""
    monkeypatch.setenv("LASS_STUDIO_STATIC", str(tmp_path))
    answer = run("studio", tmp_path / "new", "--no-browser", "--port", "0", code=2)
    assert "the pages of the Studio are not in" in answer.stderr
    assert not (tmp_path / "new").exists()
