"""Search with an index, with half of one, and without: the same items, ranked alike."""

import re
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lass.collection import CollectionStore, Item, search
from lass.collection.search import BEGINS, FOUND, IN_NAME, NAMED, NEAR, NOT_FOUND, PHRASE

ODD = [
    "Straße", "ΣΊΣΥΦΟΣ", "İstanbul", 'say "hi"', "tab\tand\nline", "e", "日本語",
    "\U0001d518\U0001d52b", "x*y^z", "{id}:", "",
]  # fmt: skip
ITEMS = [
    Item(f"p{n}", f"Title {ODD[n % len(ODD)]} {n}", f"{ODD[-1 - n % len(ODD)]} mail {n % 7} Client", {"n": n})
    for n in range(60)
]


@pytest.fixture
def large(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "MIN_INDEXED", 10)
    monkeypatch.setattr(search, "PAGE", 7)
    with CollectionStore.create(tmp_path / "c", ITEMS) as found:
        yield found


def expected(text, items=ITEMS):
    """Item by item, without an index; no near words."""
    terms, ranks = parts(text), []
    for item in items:
        id, title, body = (f" {plain(part)}" for part in (item.id, item.title, item.text))
        whole = f" {' '.join(terms)}"
        if not all(term in title or term in id or term in body for term in terms):
            ranks.append(NOT_FOUND)
        elif not terms or id.startswith(whole) or title.startswith(whole):
            ranks.append(BEGINS)
        elif whole in id or whole in title:
            ranks.append(IN_NAME)
        elif whole in body:
            ranks.append(PHRASE)
        else:
            ranks.append(NAMED if all(term in id or term in title for term in terms) else FOUND)
    return ranks


def plain(text):
    return " ".join(text.lower().replace("\0", "\N{REPLACEMENT CHARACTER}").split())


def parts(text):
    found = [plain(one.strip('"') if len(one) > 2 else one) for one in re.findall(r'"[^"]+"|\S+', text)]
    return [one for one in found if one]


def ranks(collection, text):
    """Without near words."""
    found = collection.search(text).ranks
    return np.where(found == NEAR, NOT_FOUND, found).tolist()


TEXTS = [
    "mail", "MAIL client", "p1", "p", "title", "Title s", "5", "ma 3", "i", "straße", "STRASSE", "σίσυφος",
    "σίσυφοσ", "i̇stanbul", "istanbul", '"hi"', '"', "a\0b", "\0", "日本語", "本", "\U0001d518",
    "\U0001d518\U0001d52b", "x*y^z", "{id}:", "no such", "*", "and OR", "NEAR(", "il cli", "p10 title",
    '"mail 3"', 'p1 "3 client"', "mail  3 client", "say hi",
    "title p10", "'", "tle 1 cl", "\udcff", "line", "",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_the_index_finds_what_a_look_at_all_items_finds(large, text):
    assert ranks(large, text) == expected(text)
    large._found.clear()
    assert not large.index_texts(lambda _: False)  # a first page alone
    assert ranks(large, text) == expected(text)
    large._found.clear()
    assert large.index_texts()
    assert ranks(large, text) == expected(text)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_part_of_any_item_is_found(tmp_path_factory, data):
    characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    characters |= st.sampled_from("abAB \t\n\"*:^'İßΣς")
    texts = data.draw(st.lists(st.text(characters, max_size=8), min_size=5, max_size=5))
    items = [Item(f"i{n}", texts[n], texts[(2 * n + 1) % 5]) for n in range(5)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "MIN_INDEXED", 1)
        with CollectionStore.create(tmp_path_factory.mktemp("c", numbered=True) / "c", items) as collection:
            assert collection.index_texts()
            source = data.draw(st.sampled_from(texts))
            low = data.draw(st.integers(0, len(source)))
            text = source[low : low + data.draw(st.integers(1, 6))]
            assert ranks(collection, text) == expected(text, items)


def test_items_that_come_later_are_found_before_they_are_indexed(large):
    assert large.index_texts()
    large.search("mail")
    more = [Item("late", "Mail of late", "nothing"), Item("later", "", "much mail")]
    large.add_items(more)
    for _ in range(2):
        assert ranks(large, "mail") == expected("mail", ITEMS + more)
        assert large.index_texts()
        large._found.clear()
    with CollectionStore.open(large.path) as other:
        assert ranks(other, "late") == expected("late", ITEMS + more)
        assert other.check() == []


def test_an_index_of_other_items_is_not_used(large, tmp_path):
    large.index_texts()
    large.close()
    others = [Item(f"q{n}", "mail" * (n % 2)) for n in range(60)]
    with CollectionStore.create(tmp_path / "d", others) as other:
        shutil.copy(large.path / "search.sqlite", other.path)
        assert ranks(other, "mail") == expected("mail", others)
        assert not (other.path / "search.sqlite").exists()
        assert other.index_texts()


@pytest.mark.parametrize("content", [b"", b"no database" * 1000, None])
def test_a_damaged_index_is_made_again(large, content):
    large.index_texts()
    path = large.path / "search.sqlite"
    rng = np.random.default_rng(0)
    large.close()
    damaged = bytearray(path.read_bytes() if content is None else content)
    if content is None:
        for at in rng.integers(4096, len(damaged), size=2000):
            damaged[at] = rng.integers(256)
    path.write_bytes(damaged)
    with CollectionStore.open(large.path) as again:
        for text in TEXTS[:12]:
            found = ranks(again, text)
            assert content is None or found == expected(text)  # other numbers nobody can notice
    path.unlink(missing_ok=True)
    with CollectionStore.open(large.path) as again:
        assert again.index_texts()
        assert ranks(again, "mail") == expected("mail")


def test_small_and_read_only_collections_get_no_index(large, tmp_path, monkeypatch):
    with CollectionStore.open(large.path, read_only=True) as other:
        assert not other.index_texts()
        assert ranks(other, "mail") == expected("mail")
    monkeypatch.setattr(search, "MIN_INDEXED", 61)
    assert not large.index_texts()
    assert not list(large.path.glob("search*"))


def test_without_fts5_all_items_are_looked_through(large, monkeypatch):
    large.index_texts()
    monkeypatch.setattr(search, "is_available", lambda: False)
    with CollectionStore.open(large.path) as other:
        assert not other.index_texts()
        assert ranks(other, "mail client") == expected("mail client")


def test_two_programs_index_together(large):
    with CollectionStore.open(large.path) as other:
        pages = []

        def meanwhile(_):
            pages.append(other.index_texts(lambda _: False))
            return True

        assert large.index_texts(meanwhile)
        assert pages
        assert ranks(other, "client") == ranks(large, "client") == expected("client")
    connection = sqlite3.connect(large.path / "search.sqlite")
    assert connection.execute("SELECT count(*) FROM search").fetchone() == (60,)
    connection.close()


def test_a_kill_leaves_whole_pages_of_the_index(large):
    program = (
        "import sys, time\n"
        "from lass.collection import CollectionStore, search\n"
        "search.MIN_INDEXED, search.PAGE = 10, 7\n"
        "report = lambda _: print(0, flush=True) or not time.sleep(0.02)\n"
        "CollectionStore.open(sys.argv[1]).index_texts(report)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, large.path], stdout=subprocess.PIPE) as process:
        for _ in range(3):
            process.stdout.readline()
        process.kill()
    assert ranks(large, "mail client") == expected("mail client")
    connection = sqlite3.connect(large.path / "search.sqlite")
    (indexed,) = connection.execute("SELECT count(*) FROM search").fetchone()
    connection.close()
    assert indexed in (21, 28, 35, 42)
    assert large.index_texts()
    large._found.clear()
    assert ranks(large, "mail client") == expected("mail client")


def test_phrases_come_first_and_near_words_last(tmp_path):
    items = [
        Item("a", "Reads news", "a client, and also mail"),
        Item("b", "Mail client", "nothing else"),
        Item("c", "Fast", "a mail\nclient of old"),
        Item("d", "The mail client"),
        Item("e", "Fast", "a list of clients for post"),
        Item("f", "Client for mail"),
        Item("g", "Bonsai"),
    ]
    with CollectionStore.create(tmp_path / "c", items) as collection:
        found = collection.search("mail client")
        assert found.ranks.tolist() == [FOUND, BEGINS, PHRASE, IN_NAME, NOT_FOUND, NAMED, NOT_FOUND]
        assert (found.terms, found.near) == (("mail", "client"), ())
        found = collection.search("mial client")
        assert np.flatnonzero(found.ranks == NEAR).tolist() == [0, 1, 2, 3, 5]
        assert found.near == ("mail",)
        found = collection.search("bonsia")
        assert (found.ranks == NEAR).tolist() == [False] * 6 + [True]
        assert found.near == ("bonsai",)
        assert collection.search('"mail client"').ranks.tolist().count(NOT_FOUND) == 4
        assert collection.search('"bonsia"').near == ()
        assert collection.search("zzzzz").near == ()


def test_near_words_of_indexed_and_of_later_items(large):
    def near(text):
        large._found.clear()
        found = large.search(text)
        return found.near, np.flatnonzero(found.ranks == NEAR).tolist()

    without = near("clinet")
    assert without == (("client",), list(range(60)))
    assert large.index_texts()
    assert near("clinet") == without
    large.add_items([Item("late", "Αθήνα", "parcels")])
    assert near("prcels") == (("parcels",), [60])
    assert near("αθηνα") == (("αθήνα",), [60])
    assert large.index_texts()
    assert near("prcels") == (("parcels",), [60])
