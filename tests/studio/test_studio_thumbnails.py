"""Small copies of pictures: made once, bounded, and safe whatever the file holds."""

import io
import os
import struct
import threading
import zlib

import numpy as np
import pytest
from PIL import Image

from lass.studio import thumbnails
from lass.studio.session import NotFound
from lass.studio.thumbnails import Thumbnails, media_type


@pytest.fixture
def small(tmp_path):
    return Thumbnails(tmp_path / "collection")


def picture(path, size=(640, 320), mode="RGB", colour=(200, 30, 30), **options):
    Image.new(mode, size, colour).save(path, **options)
    return path


def opened(content):
    return Image.open(io.BytesIO(content))


def kept(tmp_path):
    return sorted((tmp_path / "collection" / "thumbnails").rglob("*.copy"))


def test_copies_are_bounded_and_made_once(tmp_path, small, monkeypatch):
    path = picture(tmp_path / "wide.png", (3000, 1500))
    content = small.get(path, "small")
    assert opened(content).size == (256, 128)
    assert opened(small.get(path, "large")).size == (1280, 640)
    assert len(kept(tmp_path)) == 2

    def never(*_):
        raise AssertionError("it is there already")

    monkeypatch.setattr(thumbnails, "shrunk", never)
    assert small.get(path, "small") == content
    assert Thumbnails(tmp_path / "collection").get(path, "small") == content


def test_a_changed_picture_gets_a_new_copy(tmp_path, small):
    path = picture(tmp_path / "a.png")
    before = small.get(path, "small")
    picture(path, colour=(0, 0, 250))
    os.utime(path, (1, 1))
    assert small.get(path, "small") != before


@pytest.mark.parametrize(("mode", "colour"), [("RGBA", (0, 0, 0, 0)), ("LA", (0, 0)), ("L", 255), ("1", 1)])
def test_transparent_pictures_lie_on_white(tmp_path, small, mode, colour):
    path = picture(tmp_path / "a.png", (40, 40), mode, colour)
    pixels = np.asarray(opened(small.get(path, "small")).convert("RGB"))
    assert pixels.min() > 250


def test_nothing_but_the_pixels_is_handed_on(tmp_path, small):
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    path = picture(tmp_path / "a.jpg", exif=exif)
    assert b"taken at home" in path.read_bytes()
    assert b"taken at home" not in small.get(path, "small")


def test_drawings_keep_their_lines(tmp_path, small):
    """JPEG surrounds every line with grey specks, which a picture that is shown larger shows as well."""
    pixels = np.full((72, 72), 255, np.uint8)
    pixels[20:52, 30:34] = 0
    Image.fromarray(pixels).save(tmp_path / "icon.png", icc_profile=b"a profile", dpi=(72, 72))
    content = small.get(tmp_path / "icon.png", "small")
    assert media_type(content) == "image/png"
    assert b"a profile" not in content
    assert np.array_equal(np.asarray(opened(content).convert("L")), pixels)


def test_photographs_are_jpeg_whatever_they_came_as(tmp_path, small):
    noise = np.random.default_rng(0).integers(0, 256, (200, 300, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "photo.png")
    assert media_type(small.get(tmp_path / "photo.png", "small")) == "image/jpeg"


def bomb(side):
    """A PNG of a few bytes whose header promises very many pixels."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000)))


def broken_files():
    whole = io.BytesIO()
    Image.effect_noise((300, 300), 60).save(whole, "PNG")
    return {
        "empty": b"", "text": b"not a picture at all", "cut": whole.getvalue()[:2000], "bomb": bomb(60_000),
        "script": b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        "damaged": whole.getvalue()[:300] + bytes(400) + whole.getvalue()[700:],
    }  # fmt: skip


@pytest.mark.parametrize("name", list(broken_files()))
def test_a_broken_picture_is_refused_and_opened_once(tmp_path, small, name, monkeypatch):
    path = tmp_path / f"{name}.png"
    path.write_bytes(broken_files()[name])
    with pytest.raises(NotFound, match=path.name):
        small.get(path, "small")
    monkeypatch.setattr(thumbnails, "shrunk", lambda *_: b"")
    with pytest.raises(NotFound, match=path.name):
        small.get(path, "small")
    assert not kept(tmp_path)


def test_huge_files_and_missing_ones_are_refused(tmp_path, small, monkeypatch):
    monkeypatch.setattr(thumbnails, "MOST_BYTES", 100)
    with pytest.raises(NotFound, match="the most read"):
        small.get(picture(tmp_path / "a.bmp"), "small")
    with pytest.raises(NotFound, match="not there"):
        small.get(tmp_path / "gone.png", "small")


def test_copies_on_the_disk_are_bounded(tmp_path, small, monkeypatch):
    monkeypatch.setattr(thumbnails, "MOST_KEPT", 3000)
    for number in range(12):
        small.get(picture(tmp_path / f"{number}.png", colour=(number, 0, 0)), "small")
    assert 0 < sum(path.stat().st_size for path in kept(tmp_path)) <= 3000


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path):
    (tmp_path / "collection").write_text("a file where the folder should be")
    path = picture(tmp_path / "a.png")
    assert opened(Thumbnails(tmp_path / "collection").get(path, "small")).size == (256, 128)


def test_many_requests_decode_few_at_a_time(tmp_path, small, monkeypatch):
    at_once, most, gate = [0], [0], threading.Lock()
    real = thumbnails.shrunk

    def counted(path, side):
        with gate:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        try:
            return real(path, side)
        finally:
            with gate:
                at_once[0] -= 1

    monkeypatch.setattr(thumbnails, "shrunk", counted)
    paths = [picture(tmp_path / f"{number}.png", colour=(number, 0, 0)) for number in range(10)]
    threads = [threading.Thread(target=small.get, args=(path, "small")) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] <= thumbnails.AT_A_TIME
    assert len(kept(tmp_path)) == 10
