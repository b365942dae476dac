"""The sources that are released and the wheel built from them hold the pages, and serve them without Node."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]


def test_a_wheel_of_the_released_sources_serves_the_pages_without_node(tmp_path, own_packages):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path], check=True, cwd=ROOT
    )
    (sources,) = tmp_path.glob("*.tar.gz")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--wheel-dir", tmp_path, sources],
        check=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "installed")
    assert "lass/studio/static/index.html" in names
    assert any(re.fullmatch(r"lass/studio/static/assets/index-.*\.js", name) for name in names)
    assert not any("node_modules" in name or name.startswith("web/") for name in names)
    code = (
        "import sys; from pathlib import Path; from lass.studio.serving import Serving, serve;"
        "import lass; assert 'installed' in lass.__file__, lass.__file__;"
        "serve(Path(sys.argv[1]), Serving(0), browser=False, announce=lambda at: print(at.own, flush=True))"
    )
    environment = {
        **{name: value for name, value in os.environ.items() if name != "LASS_STUDIO_STATIC"},
        "PYTHONPATH": str(tmp_path / "installed"), "PATH": "/nowhere",
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", code, own_packages],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with httpx.Client(follow_redirects=True) as client:
            page = client.get(address)
            assert page.status_code == 200
            script = re.search(r'src="\.(/assets/[^"]+\.js)"', page.text)
            assert script is not None
            loaded = client.get(address.split("/?")[0] + script[1])
            assert loaded.status_code == 200
            assert "immutable" in loaded.headers["cache-control"]
            assert len(loaded.content) > 10_000
    finally:
        process.terminate()
        process.communicate(timeout=20)
