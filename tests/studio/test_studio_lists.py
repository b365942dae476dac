"""Lists and annotations of the open collection, compared with a look at every item."""

import time

import numpy as np
import pytest

from lass.collection import Item
from lass.collection import search as searching
from lass.studio import item_rows
from lass.studio import session as sessions
from lass.studio.item_lists import Condition, likely, list_items, list_rows
from lass.studio.session import NotFound, Session
from lass.studio.tag_rows import tag_page, tags_of
from lass.tagging import Collection

TAGS = ["mail", "game", "news", "chess"]
N = 120


class Scores:
    """As a snapshot gives them."""

    tags, items_until_percentages = 4, 0

    def __init__(self, rng, items=N - 10):
        self.scores = np.round(rng.random((items, 4)) * (rng.random((items, 4)) < 0.6), 3).astype(np.float32)
        self.mean_scores = self.predicted = self.totals = self.scores.mean(axis=0)
        self.doubts = []

    def __len__(self):
        return len(self.scores)

    def column(self, tag):
        return self.scores[:, tag]

    def score(self, row, tag):
        return float(self.scores[row, tag])

    def shown_score(self, row, tag):
        return self.score(row, tag)

    def is_doubtful(self, row, tag):
        return row < len(self) and tag < self.tags and self.score(row, tag) < 0.5 * self.mean_scores[tag]

    def least_score(self, tag):
        return float(self.mean_scores[tag])

    def doubtful(self, rows, tags):
        return np.array([self.is_doubtful(*pair) for pair in zip(rows, tags, strict=True)], bool)

    def best(self, rows):
        return [[] for _ in rows]

    @property
    def best_scores(self):
        return self.scores.max(axis=1)


@pytest.fixture
def opened(tmp_path):
    rng = np.random.default_rng(0)
    items = [Item(f"p{n}", f"{'Mail' if n % 3 else 'Chess'} {n}", f"about {n % 10} things") for n in range(N)]
    known = [
        (f"p{pair // 4}", TAGS[pair % 4], 1 if pair % 3 else -1)
        for pair in rng.permutation(4 * N)[:150].tolist()
    ]
    Collection.create(tmp_path / "c", items, TAGS, known).close()
    changes = []
    session = Session(tmp_path / "c", lambda *change: changes.append(change))
    yield session, changes
    session.close()


def stored(session):
    """The annotations on the disk, item by item."""
    with Collection.open(session.folder) as collection:
        G = collection.annotation_matrix().G.toarray()
    return [{int(tag): int(row[tag]) for tag in row.nonzero()[0]} for row in G]


def listed(session, snapshot, kind, *conditions, **options):
    parsed = [Condition.parse(one) for one in conditions]
    return list_items(session, snapshot, "", kind, parsed, **options).rows.tolist()


def check(session, rng):
    expected = stored(session)
    assert list(session.annotations) == expected
    assert [session.annotations[row] for row in range(len(expected))] == expected
    having = [any(value > 0 for value in item.values()) for item in expected]
    assert session.annotations.is_tagged.tolist() == having
    assert session.annotations.is_empty == (not any(expected))
    snapshot = Scores(rng)
    rows = list(range(len(expected)))
    for tag in range(len(session.names)):
        for value in (1, -1):
            found = [row for row in rows if expected[row].get(tag) == value]
            assert session.annotations.with_tag(tag, value).tolist() == found
        assert session.annotations.counts(tag) == tuple(
            sum(item.get(tag) == value for item in expected) for value in (1, -1)
        )
        if tag >= snapshot.tags:
            continue
        column = snapshot.scores[:, tag]
        without = [row for row in rows[: len(snapshot)] if tag not in expected[row]]
        order = sorted(without, key=lambda row: -column[row])
        above = [row for row in order if column[row] > snapshot.least_score(tag)]
        count = max(sum(column[row] >= 0.1 for row in above), 50)
        best = [] if tag in session.retired else above[:count]
        assert likely(session, snapshot, np.arange(len(rows)), tag).tolist() == best
        has = [row for row in rows if expected[row].get(tag) == 1]
        assert listed(session, snapshot, "all", f"{tag}:is") == has
        assert listed(session, snapshot, "all", f"{tag}:without") == [row for row in rows if row not in has]
        assert listed(session, snapshot, "all", f"{tag}:suggested") == best
        tagged = [row for row in rows if having[row] and expected[row].get(tag) == -1]
        assert listed(session, snapshot, "tagged", f"{tag}:is-not") == tagged
        other = (tag + 1) % 4
        both = [row for row in has if expected[row].get(other) != 1]
        assert listed(session, snapshot, "all", f"{tag}:is", f"{other}:without") == both
        page = tag_page(session, snapshot, tag)
        assert [one.row.row for one in page.candidates] == best[:60]
        doubted = [row for row in has if snapshot.is_doubtful(row, tag)]
        assert {one.row.row for one in page.doubts} == set(doubted)
        for other in page.co_occurring:
            both = sum(expected[row].get(other.tag) == 1 for row in has)
            assert other.share == pytest.approx(both / len(has))
    assert [(tag.is_, tag.is_not) for tag in tags_of(session, None)] == [
        session.annotations.counts(tag) for tag in range(len(session.names))
    ]


def test_lists_are_those_of_every_item(opened):
    session, _ = opened
    check(session, np.random.default_rng(1))
    assert [item.id for item in session.items] == [f"p{n}" for n in range(N)]
    assert [item.id for item in session.items[3:6]] == ["p3", "p4", "p5"]
    assert session.items[-1].id == f"p{N - 1}"
    assert list_rows(session, None, "", "all").tolist() == list(range(N))
    found = list_rows(session, None, "mail 1", "all").tolist()
    texts = [f"{item.title}\n{item.id}\n{item.text}".lower() for item in session.items]
    assert sorted(found) == [row for row in range(N) if "mail" in texts[row] and "1" in texts[row]]
    begin = [row for row in found if session.items[row].title.lower().startswith("mail 1")]
    assert found[: len(begin)] == begin
    for row in (-1, N):
        with pytest.raises(NotFound, match="There is no item"):
            session.row(row)


@pytest.mark.parametrize("many", [50_000, 2])
def test_lists_follow_every_change(opened, monkeypatch, many):
    monkeypatch.setattr(sessions, "MANY_ROWS", many)
    session, changes = opened
    rng = np.random.default_rng(2)
    steps = (
        lambda: session.annotate([(3, 0, 1), (4, 0, -1), (3, 1, 0)], "ann"),
        lambda: session.tag_items([3, 7, 7, 9, 11], "brand new", "ann"),
        lambda: session.undo("ann"),
        lambda: session.redo("ann"),
        lambda: session.merge_tags(1, 0, "bob"),
        lambda: session.undo("bob"),
        lambda: session.rename_tag(2, "post", "bob"),
        lambda: session.add_tag("empty", "bob"),
        lambda: session.annotate([(row, 3, 1) for row in range(0, N, 2)], "cy"),
        lambda: session.undo("cy"),
    )
    for step in steps:
        step()
        check(session, rng)
    assert list_rows(session, None, "", "changed").tolist()[: N // 2] == sorted(range(0, N, 2), reverse=True)
    with Collection.open(session.folder) as other:
        other.annotate("p8", {"post": 1}, who="shell")
        session.catch_up()
        assert changes[-1][1].rows == [8]
        check(session, rng)
        other.add_items([Item("late", "Mail of late")], [("late", "post", 1)])
        session.catch_up()
    check(session, rng)
    assert len(session.items) == N + 1
    assert list_rows(session, None, "of late", "all").tolist() == [N]


def test_what_was_undone_is_said_in_a_sentence(opened):
    session, _ = opened
    empty = next(row for row in range(N) if not session.annotations[row])
    item = session.items[empty].id
    assert session.annotate([(empty, 0, 1)], "ann").what == f"+mail on {item}"
    assert session.undo("ann").what == f"Undid: +mail on {item}"
    assert session.redo("ann").what == f"Did again: +mail on {item}"
    session.annotate([(empty, 0, 0), (empty, 1, 1)], "ann")
    assert session.undo("ann").what == f"Undid: 2 annotations on {item}"
    rows = [row for row in range(N) if 2 not in session.annotations[row]][:20]
    session.annotate([(row, 2, -1) for row in rows], "ann")
    assert session.undo("ann").what == "Undid: \N{MINUS SIGN}news on 20 items"
    assert session.undo("nobody").what == "Nothing to undo"


def test_what_was_undone_has_the_names_and_values_that_people_gave(opened):
    session, _ = opened
    rows = [row for row in range(N) if not session.annotations[row]][:3]
    session.tag_items(rows, "my::course", "ann")
    assert session.undo("ann").what == "Undid: new tag my::course, +my::course on 3 items"
    assert session.redo("ann").what == "Did again: new tag my::course, +my::course on 3 items"
    # against the annotation of another person, which together count as none
    item = session.items[rows[0]].id
    session.annotate([(rows[0], 0, -1)], "bob")
    session.annotate([(rows[0], 0, 1)], "ann")
    assert session.undo("ann").what == f"Undid: +mail on {item}"
    assert session.redo("ann").what == f"Did again: +mail on {item}"
    session.annotate([(rows[0], 0, 0)], "ann")
    assert session.undo("ann").what == f"Undid: withdrew mail on {item}"


def test_texts_are_indexed_in_the_background(opened, monkeypatch):
    session, _ = opened
    monkeypatch.setattr(searching, "PAGE", 7)
    for module in (searching, sessions):
        monkeypatch.setattr(module, "MIN_INDEXED", 10)
    monkeypatch.setattr(sessions, "INDEX_AFTER", 0.0)
    expected = list_rows(session, None, "chess", "all").tolist()
    again = Session(session.folder, lambda *_: None)
    again._indexing.join(30)
    assert not again._indexing.is_alive()
    assert (session.folder / "search.sqlite").is_file()
    assert list_rows(again, None, "chess", "all").tolist() == expected
    again.close()
    monkeypatch.setattr(sessions, "INDEX_AFTER", 60.0)
    waiting, began = Session(session.folder, lambda *_: None), time.monotonic()
    waiting.close()
    assert time.monotonic() - began < 5


def test_lists_are_sorted_both_ways(opened):
    session, _ = opened
    snapshot = Scores(np.random.default_rng(3))
    titles = [item.title.lower() for item in session.items]
    by_name = sorted(range(N), key=lambda row: (titles[row], row))
    assert listed(session, None, "all", sort="name") == by_name
    assert listed(session, None, "all", sort="name", backwards=True) == by_name[::-1]
    counts = [sum(value > 0 for value in one.values()) for one in session.annotations]
    most = sorted(range(N), key=lambda row: -counts[row])
    assert listed(session, None, "all", sort="tags") == most
    best = [*snapshot.best_scores.tolist(), *[0.0] * (N - len(snapshot))]
    assert listed(session, snapshot, "all", sort="score") == sorted(range(N), key=lambda row: -best[row])
    of_tag = [*snapshot.column(1).tolist(), *[0.0] * (N - len(snapshot))]
    having = listed(session, snapshot, "all", "1:is")
    assert listed(session, snapshot, "all", "1:is", sort="score") == sorted(
        having, key=lambda row: -of_tag[row]
    )
    assert listed(session, None, "all", sort="changed") == list(range(N))
    session.annotate([(7, 0, 1)], "ann")
    session.annotate([(3, 0, 1), (9, 1, -1)], "bob")
    session.annotate([(7, 1, 1)], "ann")
    assert listed(session, None, "all", sort="changed")[:4] == [7, 9, 3, 0]
    assert [change.who for change in session.last_changes()] == ["ann", "bob", "bob"]


def test_tags_are_found_by_their_names_of_now_and_of_before(opened):
    session, _ = opened
    having = session.annotations.with_tag(3, 1).tolist()
    chess = [row for row in range(N) if row % 3 == 0]
    found = list_items(session, None, "chess", "all")
    assert sorted(found.rows[: len(chess)].tolist()) == chess
    assert found.rows[len(chess) :].tolist() == [row for row in having if row not in chess]
    session.rename_tag(3, "board::checkers", "ann")
    session.merge_tags(1, 3, "ann")
    assert session.synonyms == {3: ["game", "chess"]}
    now = session.annotations.with_tag(3, 1).tolist()
    for text in ("checkers", "board", "game"):
        assert list_rows(session, None, text, "all").tolist() == now
    assert sorted(list_rows(session, None, "chess", "all").tolist()) == sorted({*chess, *now})
    session.undo("ann")
    assert list_rows(session, None, "game", "all").tolist() == session.annotations.with_tag(1, 1).tolist()
    session.delete_tag(3, "ann")
    assert list_rows(session, None, "checkers", "all").tolist() == []
    assert session.undo("ann").what.startswith("Undid: ")
    assert session.annotations.with_tag(3, 1).tolist() == having


def test_near_words_are_found_and_given(opened):
    session, _ = opened
    found = list_items(session, None, "ches", "all")
    assert (found.terms, found.near) == (("ches",), ())
    found = list_items(session, None, "chses", "all")
    having = session.annotations.with_tag(3, 1).tolist()
    assert set(having) - set(range(0, N, 3)), "some have the tag, and not the word"
    assert found.rows.tolist() == sorted({*range(0, N, 3), *having})
    assert found.near == ("chess",)
    assert list_rows(session, None, '"chses"', "all").tolist() == []
    # a word that is only in the name of a tag
    session.rename_tag(3, "board::checkers", "ann")
    found = list_items(session, None, "chekcers", "all")
    assert (found.rows.tolist(), found.near) == (having, ("checkers",))
    session.delete_tag(3, "ann")
    assert list_rows(session, None, "chekcers", "all").tolist() == []


@pytest.mark.parametrize(
    ("title", "text", "shown"),
    [
        ("A mail reader", "A mail\n reader  with folders", "with folders"),
        ("mail", "mailbox tools", "mailbox tools"),
        ("mail", "mail", "mail"),
        ("", "a text", "a text"),
    ],
)
def test_the_beginning_of_a_text_does_not_repeat_the_title(title, text, shown):
    assert item_rows._snippet(Item("one", title, text)) == shown
