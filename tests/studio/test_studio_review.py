"""The review: which questions are asked in which order, judged by a look at every score; flags."""

from dataclasses import replace

import numpy as np
import pytest

from lass import Collection
from lass.collection import Item
from lass.studio.item_rows import row_of, rows_of
from lass.studio.messages import ReviewAbove, ReviewQuery
from lass.studio.review import review_above, review_queue
from lass.studio.session import NotFound, Session
from lass.tagging import LiveModel, fit


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Vectors in twenty groups, of five a tag; four of seven items are tagged."""
    rng = np.random.default_rng(0)
    place = np.arange(240) % 20
    X = (rng.normal(size=(20, 8))[place] * 2 + rng.normal(size=(240, 8)) * 0.5).astype(np.float32)
    items = [Item(f"i{n:03d}", f"Title {n}", "a rare word" if n == 5 else "words") for n in range(240)]
    known = [(f"i{n:03d}", f"g{n % 4}", 1) for n in range(240) if n % 7 < 4]
    known += [("i000", "g1", 1), ("i001", "g3", -1)]
    folder = tmp_path_factory.mktemp("review") / "c"
    with Collection.create(folder, items, features=X, annotations=known) as collection:
        fit(collection)
    return folder


@pytest.fixture
def opened(made, tmp_path):
    import shutil

    folder = shutil.copytree(made, tmp_path / "c")
    session = Session(folder, lambda *_: None)
    session.live = LiveModel(session.collection)
    yield session
    session.close()


def expected(session):
    """(row, tag, score) of all suggestions, one look at every pair."""
    snapshot = session.snapshot
    found = []
    for row in range(len(snapshot)):
        for tag in range(snapshot.tags):
            value = snapshot.score(row, tag)
            above = value > max(snapshot.suggester.least_scores[tag], 0.01)
            if above and tag not in session.annotations[row]:
                found.append((row, tag, value))
    return found


def asked(queue):
    return [(one.row, one.tag) for one in queue.questions]


def test_the_surest_come_first_and_all_are_counted(opened):
    pairs = sorted(expected(opened), key=lambda pair: (-pair[2], pair[0], pair[1]))
    pairs = [pair for pair in pairs if pair[2] >= 0.1]
    assert len(pairs) > 40
    queue = review_queue(opened, opened.snapshot, ReviewQuery())
    assert asked(queue) == [pair[:2] for pair in pairs][:200]
    assert queue.total == len(pairs)
    assert queue.likely == sum(score >= 0.5 for *_, score in pairs)
    assert queue.above == {
        level: sum(score >= level / 100 for *_, score in pairs) for level in (99, 95, 90, 80)
    }
    np.testing.assert_allclose([one.score for one in queue.questions], [pair[2] for pair in pairs][:200])


@pytest.mark.parametrize("order", ["surest", "useful"])
def test_scores_are_looked_through_by_parts_of_any_size(opened, monkeypatch, order):
    opened.queue = [9, 3]
    query = ReviewQuery(order=order)
    whole = review_queue(opened, opened.snapshot, query)
    for size in (1, 7, 239, 240):
        monkeypatch.setattr("lass.studio.review.BLOCK", size)
        assert review_queue(opened, opened.snapshot, query) == whole


def test_what_was_decided_since_the_model_is_not_asked_again(opened):
    before = review_queue(opened, opened.snapshot, ReviewQuery())
    first = before.questions[0]
    opened.annotate([(first.row, first.tag, -1)], "")
    now = review_queue(opened, opened.snapshot, ReviewQuery())
    assert (first.row, first.tag) not in asked(now)
    assert (now.total, now.likely) == (before.total - 1, before.likely - 1)
    assert now.above == {
        level: count - (first.score >= 0.01 * int(level)) for level, count in before.above.items()
    }
    opened.undo("")
    assert review_queue(opened, opened.snapshot, ReviewQuery()).questions == before.questions
    opened.annotate([(first.row, first.tag, 1)], "ann")
    opened.annotate([(first.row, first.tag, -1)], "bob")
    assert review_queue(opened, opened.snapshot, ReviewQuery()).total == before.total - 1
    opened.delete_tag(first.tag, "ann")
    assert first.tag not in {tag for _, tag in asked(review_queue(opened, opened.snapshot, ReviewQuery()))}


def test_people_who_differ_are_an_order_of_their_own(opened):
    def questions(**query):
        return review_queue(opened, opened.snapshot, ReviewQuery(order="disputed", **query)).questions

    assert questions() == []
    opened.annotate([(20, 2, 1), (6, 1, 1), (5, 0, 1), (5, 3, 1)], "Ann")
    opened.annotate([(20, 2, -1), (6, 1, -1), (5, 0, -1), (5, 3, 1)], "Bob")
    opened.annotate([(5, 0, -1)], "Cyd")
    found = questions()
    assert [(one.row, one.tag) for one in found] == [(6, 1), (20, 2), (5, 0)], "those that balance come first"
    assert all(one.differ and not one.stated for one in found)
    assert [one.score for one in found] == [opened.snapshot.score(one.row, one.tag) for one in found]
    assert [(one.row, one.tag) for one in questions(tag=2)] == [(20, 2)]
    assert [(one.row, one.tag) for one in questions(rows=[5, 7])] == [(5, 0)]
    queue = review_queue(opened, None, ReviewQuery(order="disputed", rows=[5]))
    assert [(one.row, one.tag, one.score) for one in queue.questions] == [(5, 0, None)], (
        "without a model, too"
    )
    opened.annotate([(20, 2, 1)], "Bob")
    assert [(one.row, one.tag) for one in questions()] == [(6, 1), (5, 0)], "they agree now"


def test_one_tag_some_items_a_filter(opened):
    pairs = expected(opened)
    pairs = [pair for pair in pairs if pair[2] >= 0.1]
    queue = review_queue(opened, opened.snapshot, ReviewQuery(tag=2))
    assert set(asked(queue)) == {(row, tag) for row, tag, _ in pairs if tag == 2}
    rows = [pair[0] for pair in pairs][:5]
    queue = review_queue(opened, opened.snapshot, ReviewQuery(rows=rows))
    assert set(asked(queue)) == {(row, tag) for row, tag, _ in pairs if row in rows}
    queue = review_queue(opened, opened.snapshot, ReviewQuery(rows=[5], filter="untagged"))
    assert set(asked(queue)) == {(row, tag) for row, tag, _ in pairs if row == 5} != set()
    with pytest.raises(NotFound, match="There is no tag 99"):
        review_queue(opened, opened.snapshot, ReviewQuery(tag=99))
    with pytest.raises(NotFound, match="There is no item 900"):
        review_queue(opened, opened.snapshot, ReviewQuery(rows=[900]))


def test_the_most_useful_are_those_of_proposed_items_then_the_uncertain(opened):
    pairs = [pair for pair in expected(opened) if pair[2] >= 0.1]
    proposed = [pairs[10][0], pairs[3][0]]
    opened.queue = proposed
    found = asked(review_queue(opened, opened.snapshot, ReviewQuery(order="useful")))
    own = [sorted((pair for pair in pairs if pair[0] == row), key=lambda one: -one[2]) for row in proposed]
    of_proposed = [pair[:2] for part in own for pair in part[:3]]
    assert found[: len(of_proposed)] == of_proposed
    rest = [abs(opened.snapshot.score(*pair) - 0.5) for pair in found[len(of_proposed) :]]
    assert rest == sorted(rest)
    assert len({*found}) == len(found) == min(len(pairs), 200)
    assert {*found} <= {pair[:2] for pair in pairs}


def test_doubtful_tags_are_asked_about_as_stated_ones(opened):
    queue = review_queue(opened, opened.snapshot, ReviewQuery(order="doubtful"))
    doubted = [
        (row, tag)
        for row in range(len(opened.snapshot))
        for tag, value in opened.annotations[row].items()
        if value > 0 and opened.snapshot.is_doubtful(row, tag)
    ]
    assert sorted(asked(queue)) == sorted(doubted) != []
    assert [one.score for one in queue.questions] == sorted(one.score for one in queue.questions)
    for one in queue.questions:
        assert one.stated
        assert opened.annotations[one.row][one.tag] == 1
        assert opened.snapshot.is_doubtful(one.row, one.tag)
    assert queue.total == len(queue.questions)


def test_all_above_a_score_and_how_many_will_be_wrong(opened):
    pairs = [pair for pair in expected(opened) if pair[2] >= 0.5]
    found = review_above(opened, opened.snapshot, ReviewAbove(score=0.5))
    shown = found.annotations[: len(found.scores)]
    assert found.scores == [opened.snapshot.score(one.row, one.tag) for one in shown]
    assert min(found.scores) >= 0.5
    assert len(found.scores) == min(40, len(found.annotations))
    assert len(pairs) > 3
    assert {(one.row, one.tag) for one in found.annotations} == {pair[:2] for pair in pairs}
    assert all(one.value == 1 for one in found.annotations)
    scores = [opened.snapshot.score(one.row, one.tag) for one in found.annotations]
    assert scores == sorted(scores), "the least sure first"
    assert found.scores == scores[:40], "of those that are shown"
    assert found.expected_wrong == pytest.approx(np.mean([1 - score for score in scores]))
    assert found.items == len({pair[0] for pair in pairs})
    done = opened.annotate([(one.row, one.tag, one.value) for one in found.annotations], "")
    assert len(done.rows) == found.items
    assert not review_above(opened, opened.snapshot, ReviewAbove(score=0.5)).annotations
    opened.undo("")
    assert len(review_above(opened, opened.snapshot, ReviewAbove(score=0.5)).annotations) == len(pairs)


def test_without_percentages_nothing_is_accepted_together(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)).astype(np.float32)
    items = [Item(f"i{n:02d}") for n in range(30)]
    known = [("i00", "a", 1), ("i01", "b", 1)]
    with Collection.create(tmp_path / "c", items, features=X, annotations=known) as made:
        fit(made)
    session = Session(tmp_path / "c", lambda *_: None)
    assert review_queue(session, None, ReviewQuery()).questions == []
    session.live = LiveModel(session.collection)
    queue = review_queue(session, session.snapshot, ReviewQuery())
    assert queue.questions
    assert queue.total == len(expected(session))
    assert all(one.score is None and 0 < one.strength < 1 for one in queue.questions)
    assert queue.above == {}
    with pytest.raises(ValueError, match="Too little is known for percentages"):
        review_above(session, session.snapshot, ReviewAbove(score=0.95))
    session.close()


def test_flags_are_on_the_disk_and_come_back(opened):
    opened.flag(5, True, "ann")
    opened.flag(3, True, "")
    opened.flag(9, True, "")
    opened.flag(3, False, "")
    assert list(opened.flagged) == [9, 5]
    with Collection.open(opened.folder) as other:
        assert sorted(other.flagged_rows()) == [5, 9]
        assert other.revision() == opened.revision, "a flag is no annotation"
    with pytest.raises(NotFound):
        opened.flag(10**6, True, "")
    other = Session(opened.folder, lambda *_: None)
    other.flag(11, True, "")
    opened.catch_up()
    assert list(opened.flagged) == [11, 9, 5]
    other.close()


@pytest.mark.parametrize("scored", [True, False])
def test_items_of_a_page_are_as_if_each_was_looked_up_alone(opened, scored):
    opened.annotate([(0, 3, 1), (7, 0, 1), (9, 2, -1)], "ann")
    # a few rows are newer than the rest, as after every annotation
    opened.live.update(opened.collection.annotation_matrix())
    opened.annotate([(8, 1, 1)], "bea")
    if not scored:
        model, annotations = opened.live.state
        opened.live.state = replace(model, scores=None), annotations
    snapshot = opened.snapshot
    rows = [7, 200, 0, 3, 8, 9, 0]
    found = rows_of(opened, snapshot, rows)
    for row, one in zip(rows, found, strict=True):
        assert one == row_of(opened, snapshot, row)
        own = opened.annotations[row]
        least = np.maximum(snapshot.suggester.least_scores, 0.01)
        alone = [(-snapshot.score(row, tag), tag) for tag in range(snapshot.tags) if tag not in own]
        alone = [-value for value, tag in sorted(alone) if -value > least[tag]]
        assert [round(tag.strength, 6) for tag in one.suggestions] == [round(value, 6) for value in alone[:5]]
        having = [tag for tag, value in own.items() if value > 0]
        assert one.doubted == [tag for tag in having if snapshot.is_doubtful(row, tag)]
    assert any(one.suggestions for one in found)
    assert rows_of(opened, snapshot, []) == []
