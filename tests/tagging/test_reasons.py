"""The sentence that says why, and the numbers that add up to the score."""

import re

import numpy as np
import pytest

import lass
from lass.report import write_report
from lass.tagging.reasons import SOURCES, Explainer, score_points

TEXTS = {
    "mail": [f"reads and sorts mail by {one}" for one in ("imap", "pop", "smtp", "uucp", "web", "lmtp")],
    "game": [
        f"a board game of skill and {one}" for one in ("chess", "go", "cards", "dice", "stones", "luck")
    ],
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Two groups of texts; three of each are tagged, with a facet of their own beside it."""
    texts = [text for group in TEXTS.values() for text in group]
    known = [(f"{place}", "mail") for place in range(3)] + [(f"{6 + place}", "game") for place in range(3)]
    known += [(f"{place}", "use::reading") for place in (0, 1, 3)]
    known += [(f"{6 + place}", "use::playing") for place in (0, 1, 3)]
    with lass.create(tmp_path_factory.mktemp("reasons") / "c", texts, tags=known, n_neighbors=4) as found:
        found.tag("4", "-game")
        found.fit()
        yield found


def sentence(programs, because):
    """On whether item 3 is about mail, with what predictors add."""
    suggester = programs._suggester()
    rows, columns = np.array([3]), np.array([suggester.columns["mail"]])
    return Explainer.of_collection(programs, suggester).explain(rows, columns, [because])[0].sentence


def test_terms_neighbours_and_tags_are_named_where_they_add_something(programs):
    whole = sentence(programs, {"features": 1.0, "neighbours": 2.0, "co-occurrence": 1.0})
    assert re.fullmatch(
        r"Because its text says [a-z, “”]*“mail”[a-z, “”]*; like [012], [012] and [012], which have it; "
        r"usually goes with use::reading\.", whole
    )  # fmt: skip
    assert sentence(programs, {"neighbours": 2.0}).startswith("Because it is like ")
    assert "goes with" not in sentence(programs, {"neighbours": 2.0, "co-occurrence": -1.0})
    assert "its text" not in sentence(programs, {"neighbours": 2.0, "features": -1.0})


def test_without_being_asked_no_sentence_is_made(programs):
    assert {row.why for row in programs.suggest(top=2)} == {""}
    assert "why" not in programs.suggest(top=2).to_pandas().columns
    assert list(programs.suggest(top=2, explain=True).to_pandas().columns)[-1] == "why"


def test_all_faces_say_the_same(programs):
    found = programs.suggest(untagged=True, explain=True)
    page = write_report(programs)
    shown = [row for row in found if row.rank <= 3]
    assert shown
    for row in shown:
        assert row.why in page.replace("&#x27;", "'")


def test_each_sentence_is_that_of_its_parts(programs):
    suggester = programs._suggester()
    rows, columns = suggester.places(programs.suggest(top=3))
    explainer = Explainer.of_collection(programs, suggester)
    because = suggester.because(rows, columns)
    for row, one in zip(rows.tolist(), explainer.explain(rows, columns, because), strict=True):
        assert one.sentence == "".join(part.text for part in one.parts)
        for part in one.parts:
            if part.kind == "item":
                assert part.text == suggester.annotations.ids[part.place]
                assert suggester.problem.W[row, part.place] > 0
            if part.kind == "tag":
                assert part.text == suggester.annotations.names[part.place]
                assert suggester.problem.G[row, part.place] > 0
            if part.kind == "term":
                assert part.text.split()[0] in programs.items[row].text


def test_a_similar_item_that_lacks_the_tag_is_named(programs):
    suggester = programs._suggester()
    game = suggester.columns["game"]
    W = suggester.problem.W
    row = next(row for row in W[[4]].indices.tolist() if row not in (6, 7, 8))
    one = Explainer.of_collection(programs, suggester).explain(np.array([row]), np.array([game]), [{}])[0]
    assert "unlike 4, which does not have it" in one.sentence


def test_a_stated_tag_is_doubted_in_words(programs):
    suggester = programs._suggester()
    rows, columns = np.array([0]), np.array([suggester.columns["mail"]])
    one = Explainer.of_collection(programs, suggester).explain(rows, columns, [{}])[0]
    assert one.sentence.startswith("Doubtful because ")


@pytest.mark.parametrize("score", [1e-6, 0.004, 0.3, 0.5, 0.97, 0.9999, 1.0])
def test_points_add_up_to_the_score(score):
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.1, 3.0, 30.0):
        of = dict(zip(SOURCES, (scale * rng.normal(size=len(SOURCES))).tolist(), strict=True))
        points = score_points(of, score)
        assert sum(points.values()) == pytest.approx(score, abs=1e-9)
        assert -1e-9 <= points["start"] <= 1 + 1e-9
        for source, adds in of.items():
            assert points[source] * adds >= -1e-12  # the sign of what it adds to the evidence


def test_the_order_of_sources_does_not_count():
    of = {"similar": 2.0, "content": -1.0, "tags": 0.5, "frequency": 0.25}
    other = score_points(dict(reversed(of.items())), 0.7)
    assert score_points(of, 0.7) == pytest.approx(other)


def test_stop_words_are_no_reasons(tmp_path):
    mails = [f"liest und sortiert die Post mit {one}" for one in ("imap", "pop", "smtp", "uucp", "web")]
    games = [
        f"ein Spiel der Geduld auf {one}" for one in ("Brettern", "Karten", "Feldern", "Tischen", "Zeit")
    ]
    known = [(f"{place}", "mail") for place in range(3)] + [(f"{5 + place}", "game") for place in range(3)]
    with lass.create(tmp_path / "c", mails + games, tags=known, n_neighbors=4, embed="none") as found:
        found.fit()
        suggester = found._suggester()
        explainer = Explainer.of_collection(found, suggester)
        rows, columns = np.array([3]), np.array([suggester.columns["mail"]])
        (one,) = explainer.explain(rows, columns, [{"features": 1.0}])
    assert {"und", "die", "mit"}.isdisjoint(one.terms)
    assert "post" in one.terms
    assert "its text says “" in one.sentence


def test_numbers_and_pictures_are_not_called_edges(tmp_path):
    rows = [{"id": f"i{n}", "size": float(n % 2), "weight": float(n)} for n in range(8)]
    with lass.create(
        tmp_path / "numbers", rows, numeric=["size", "weight"], tags={"i0": ["a"]}
    ) as collection:
        collection.fit(draw_map=False)
        explainer = Explainer.of_collection(collection, collection._suggester())
    assert explainer.labels()["content"] == "its content"
