"""What somebody on the same machine, network or web page may try against a Studio that is open to a team."""

import json
import os
import shutil
import socket
import ssl
import stat
import subprocess
import sys
from urllib.parse import urlsplit

import httpx
import pytest

from lass.studio import address
from lass.studio.access import Doors
from lass.studio.serving import Serving, redirect_file

ANNOTATION = {"annotations": [{"row": 0, "tag": 0, "value": 1}], "who": "somebody else"}


@pytest.fixture(scope="module")
def folder(packages, tmp_path_factory):
    return shutil.copytree(packages, tmp_path_factory.mktemp("attacked") / "packages")


@pytest.fixture(scope="module")
def team(folder):
    """Open to the network, behind a proxy that is believed, with links for two people."""
    from studio_server import studio

    options = (
        "--host", "0.0.0.0", "--person", "ann", "--person", "bob", "--name", "tags.example.org",
        "--root-path", "/tags", "--proxy", "127.0.0.1",
    )  # fmt: skip
    with studio(folder, *options, port=18765) as running:
        assert running.base == "https://tags.example.org/tags"
        yield running, address.read(folder)


@pytest.fixture(scope="module")
def asked(team):
    running, known = team
    port = known.port  # the address that is printed is that of the proxy

    def ask(path="/api/state", *, token=running.token, host=f"127.0.0.1:{port}", body=None, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers |= {"Host": host} | ({"Authorization": f"Bearer {token}"} if token else {})
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30.0) as client:
            return (
                client.post(path, json=body, headers=headers) if body else client.get(path, headers=headers)
            )

    return ask, known, port


FOREIGN = (
    "evil.example", "evil.example:{}", "127.0.0.1.evil.example:{}", "127.0.0.1:1{}", "[::1:{}",
    "tags.example.org.:{}", "tags.example.org:{}x", ":", "0x7f.1:{}",
)  # fmt: skip


def test_only_names_of_ours_are_answered(asked):
    ask, _, port = asked
    proxied = {"X_Forwarded_Host": "tags.example.org", "X_Forwarded_Proto": "https"}
    assert ask().status_code == 200
    assert ask(host=f"localhost:{port}").status_code == 200
    assert ask(host=f"192.0.2.7:{port}").status_code == 200  # nobody can rebind an address
    assert ask(host=f"{socket.gethostname().upper()}:{port}").status_code == 200
    assert ask(**proxied).status_code == 200
    for host in (name.format(port) for name in FOREIGN):
        assert ask(host=host).status_code in (400, 421), host
    for forwarded in ("evil.example", "tags.example.org:1", "tags.example.org@evil.example", "127.0.0.1", ""):
        wrong = {**proxied, "X_Forwarded_Host": forwarded}
        assert ask(**wrong).status_code in (200, 421)
        assert (ask(**wrong).status_code == 200) == (forwarded == "127.0.0.1"), forwarded
    assert ask(**{**proxied, "X_Forwarded_Proto": "javascript"}).status_code == 421


def test_another_page_cannot_ask(asked):
    ask, _, port = asked
    proxied = {"X_Forwarded_Host": "tags.example.org", "X_Forwarded_Proto": "https"}
    assert ask(Origin="https://tags.example.org", **proxied).status_code == 200
    for origin in ("http://tags.example.org", "https://evil.example", "null", f"http://127.0.0.1:{port}"):
        assert ask(Origin=origin, **proxied).status_code == 403, origin
    assert ask(Origin="https://tags.example.org").status_code == 403  # not by way of the proxy
    for site in ("cross-site", "same-site"):
        assert ask(Sec_Fetch_Site=site).status_code == 403


def test_forwarded_headers_are_ignored_unless_told(folder, tmp_path):
    from studio_server import studio

    with studio(shutil.copytree(folder, tmp_path / "c")) as running, running.client() as client:
        lies = {
            "X-Forwarded-Host": "evil.example",
            "X-Forwarded-Proto": "https",
            "X-Forwarded-For": "192.0.2.1",
        }
        assert client.get("/api/state", headers=lies).status_code == 200
        assert client.get("/api/state", headers={**lies, "Origin": "https://evil.example"}).status_code == 403
        assert client.get("/tags/api/state").status_code in (401, 404)
    doors = Doors(frozenset({"a.example"}), 80, proxies=frozenset({"192.0.2.1"}))
    told = {"host": "evil.example", "x-forwarded-host": "a.example", "x-forwarded-proto": "https"}
    assert doors.origin({"client": ("192.0.2.1", 1)}, told) == "https://a.example"
    for peer in (("192.0.2.2", 1), None):
        assert doors.origin({"client": peer}, told) is None


def test_the_root_path_leads_nowhere_else(asked):
    ask, _, _ = asked
    assert ask("/tags/api/state").status_code == 200
    assert ask("/tags/", token="").status_code == 200
    answer = ask("/tags", token="")
    assert (answer.status_code, answer.headers["location"]) == (308, "/tags/")
    for path in (
        "/tags/../api/state",
        "/tags//api/state",
        "/tags/tags/api/state",
        "/tagsapi/state",
        "/tags/%2e%2e/app.py",
    ):
        assert ask(path, token="").status_code in (401, 404), path
    assert ask("/tags/api/state", token="").status_code == 401
    assert ask("/tags/api/state", token="", Cookie=f"token={asked[1].token}").status_code == 401


def test_a_link_of_ones_own_allows_no_other_name(asked):
    ask, known, _ = asked
    state = ask(token=known.people["ann"]).json()
    assert (state["you"], state["ownLink"]) == ("ann", True)
    assert "/" not in state["folder"]
    assert ask("/api/annotations", token=known.people["ann"], body=ANNOTATION).status_code == 200
    latest = ask("/api/history?limit=1").json()[0]
    assert latest["who"] == "ann"
    assert (
        ask("/api/undo", token=known.people["bob"], body={"who": "ann"}).json()["what"] == "Nothing to undo"
    )
    assert ask("/api/undo", token=known.people["ann"], body={"who": "bob"}).json()["what"].startswith("Undid")
    assert ask("/api/annotations", body=ANNOTATION).status_code == 200  # the user works under any name
    assert ask("/api/history?limit=1").json()[0]["who"] == "somebody else"
    tokens = {known.token, *known.people.values()}
    assert len(tokens) == 3
    body = ask(token=known.people["bob"]).text
    assert not any(token in body for token in tokens)


def test_tokens_are_for_the_user_alone_and_new_ones_on_request(folder, tmp_path):
    from studio_server import studio

    own = shutil.copytree(folder, tmp_path / "c")
    with studio(own, "--person", "ann", port=None) as running:
        first = address.read(own)
        assert (running.token, running.base) == (first.token, f"http://127.0.0.1:{first.port}")
    path = address._file(str(own.resolve()))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not any(first.token.encode() in file.read_bytes() for file in own.rglob("*") if file.is_file())
    with studio(own, port=None) as running:
        assert (running.token, running.base) == (first.token, f"http://127.0.0.1:{first.port}")
        with studio(own, port=None) as other:
            assert f"Port {first.port}, where this collection was the last time, is taken" in "".join(
                other.printed
            )
            assert other.token == first.token
            assert other.base != running.base
    assert address.read(own) == first
    with studio(own, "--new-token", port=None) as running, running.client() as client:
        assert running.token != first.token
        assert address.read(own).people == {}
        old = {"Authorization": f"Bearer {first.token}"}
        assert client.get("/api/state", headers=old).status_code == 401


def test_a_file_of_tokens_that_others_could_have_written_is_not_believed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    known = address.read(tmp_path).with_tokens(["ann"])
    assert address.keep(known)
    assert address.read(tmp_path) == known
    path = address._file(known.folder)
    whole = path.read_text()
    for damaged in ("", "{}", "[]", "null", whole[:-5], whole.replace(known.token, "short"), "[" * 100_000,
                    json.dumps({**json.loads(whole), "port": "x"}),
                    json.dumps({**json.loads(whole), "people": [1]}),
                    json.dumps({**json.loads(whole), "folder": "/elsewhere"})):  # fmt: skip
        path.write_text(damaged)
        assert address.read(tmp_path).token == ""
    path.write_text(whole)
    path.chmod(0o644)
    assert address.read(tmp_path).token == ""
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    assert not address.keep(known)


def test_the_token_is_not_in_the_command_line_of_the_browser(folder, tmp_path):
    """What a browser is started with, everybody on the machine can read."""
    seen, browser = tmp_path / "seen", tmp_path / "browser"
    browser.write_text(f"""#!{sys.executable}
import os, sys, urllib.parse, urllib.request
path = urllib.request.url2pathname(urllib.parse.urlsplit(sys.argv[1]).path)
mode = oct(os.stat(path).st_mode & 0o777)
draft = {str(seen)!r} + ".draft"
open(draft, "w").write("\\n".join([" ".join(sys.argv), mode, open(path).read()]))
os.replace(draft, {str(seen)!r})
""")
    browser.chmod(0o755)
    own = shutil.copytree(folder, tmp_path / "c")
    process = subprocess.Popen(
        [sys.executable, "-m", "lass", "studio", str(own), "--port", "0"], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "BROWSER": f"{browser} %s"},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        token = process.stdout.readline().rpartition("token=")[2].strip()
        while not seen.exists():
            assert process.poll() is None
            os.sched_yield()
    finally:
        process.terminate()
        process.communicate(timeout=20)
    command, mode, page = seen.read_text().split("\n", 2)
    assert token not in command
    assert mode == "0o600"
    assert f"?token={token}" in page
    assert list(own.glob("open-studio*")) == []  # it is gone with the server


def test_the_page_that_leads_in_is_not_among_what_a_new_collection_finds(tmp_path):
    with redirect_file(tmp_path, "http://127.0.0.1:1/?token=0") as page:
        assert page.parent != tmp_path  # an empty folder stays empty: a collection can be made in it
    assert not page.exists()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", folder / "k.pem", "-out", folder / "c.pem", "-subj", "/CN=localhost", "-days", "2",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True,
    )  # fmt: skip
    return folder


def test_tls_is_spoken_and_nothing_else(folder, certificate, tmp_path):
    from studio_server import studio

    own = shutil.copytree(folder, tmp_path / "c")
    options = ("--certificate", certificate / "c.pem", "--key", certificate / "k.pem")
    with studio(own, *map(str, options)) as running:
        at = urlsplit(running.base)
        assert at.scheme == "https"
        trust = ssl.create_default_context(cafile=str(certificate / "c.pem"))
        headers = {"Authorization": f"Bearer {running.token}"}
        with httpx.Client(base_url=running.base, verify=trust, headers=headers, timeout=30.0) as client:
            assert client.get("/api/state").status_code == 200
            assert client.get("/api/state", headers={"Origin": running.base}).status_code == 200
            insecure = running.base.replace("https", "http")
            assert client.get("/api/state", headers={"Origin": insecure}).status_code == 403
        with socket.create_connection((at.hostname, at.port), timeout=10) as line:
            line.sendall(f"GET /api/state HTTP/1.1\r\nHost: {at.netloc}\r\n\r\n".encode())
            assert b"200 OK" not in line.recv(1000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"root_path": "tags"}, "--root-path must look like /tags"),
        ({"root_path": "/"}, "--root-path must look like /tags"),
        ({"root_path": "/a//b"}, "--root-path must be a plain path"),
        ({"root_path": "/a b"}, "--root-path must be a plain path"),
        ({"root_path": "/a/../b"}, "--root-path must be a plain path"),
        ({"root_path": "/./a"}, "--root-path must be a plain path"),
        ({"names": ("http://x/",)}, "--name must be the name of a host"),
        ({"names": ("x:80",)}, "--name must be the name of a host"),
        ({"names": ("tags.example.org", "a b")}, "--name must be the name of a host"),
        ({"proxies": ("proxy.example",)}, "--proxy must be the address of a proxy"),
        ({"people": (" ann",)}, "--person must be a name"),
        ({"people": ("",)}, "--person must be a name"),
        ({"certificate": "c.pem"}, "--certificate and --key belong together"),
        ({"certificate": "missing.pem", "key": "missing.pem"}, "--certificate and --key cannot be used"),
    ],
)
def test_options_that_do_not_fit_are_refused_at_once(options, message):
    with pytest.raises(ValueError, match=message):
        Serving(**options).check()


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="only the superuser can act as another")
def test_a_colleague_of_the_group_can_tag_and_fit(tmp_path_factory):
    import tempfile
    from pathlib import Path

    where = Path(tempfile.mkdtemp())  # unlike tmp_path, others may be let in
    where.chmod(0o755)
    shared = where / "shared"
    shared.mkdir()
    os.chown(shared, 0, 4242)
    shared.chmod(0o770)
    code = """
import os, sys, tempfile
import lass
texts = ["reads mail", "mail and news", "news reader", "a chess game", "a card game", "chess cards"]
known = [("0", "mail"), ("3", "game")]

def work(path, who):
    new = not os.path.exists(path)
    made = lass.create(path, texts, tags=known, n_neighbors=2, embed="none") if new else lass.open(path)
    if new:
        os.chmod(path, 0o770)
        for file in [path, *(os.path.join(path, name) for name in os.listdir(path))]:
            os.chown(file, -1, 4242)
    made.tag("1", "mail", who=who)
    made.fit()
    made.close()

path, user, who = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with tempfile.TemporaryDirectory() as warm:  # what is imported now need not be readable later
    for _ in range(2):
        work(warm + "/c", who)
os.umask(0o007)
os.setgroups([4242])
os.setresgid(user, user, user)
os.setresuid(user, user, user)
work(path, who)
"""
    try:
        for user, name in ((1001, "ann"), (1002, "bob"), (1001, "ann")):
            done = subprocess.run(
                [sys.executable, "-c", code, str(shared / "c"), str(user), name],
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr[-2000:]
        files = [path for path in (shared / "c").rglob("*") if path.is_file()]
        assert {path.stat().st_gid for path in files} == {4242}
        assert {stat.S_IMODE(path.stat().st_mode) & 0o666 for path in files} == {0o660}
        assert any(path.suffix == ".npz" and path.stat().st_uid == 1001 for path in files)
    finally:
        shutil.rmtree(where)
