import re
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp

from lass import Collection
from lass.collection import Item, Settings
from lass.report import write_report
from lass.report.facts import facets, gather
from lass.report.markup import Markup, join, table, tag
from lass.tagging import TagSuggester, fit
from lass.tagging.evaluation import FILE
from lass.tagging.storage import saved_model

EVIL = '<script>alert("x")</script>&amp;\'"'
VOID = {"meta", "path", "use", "rect", "br"}


class Reader(HTMLParser):
    """All text and attributes of a page; fails where elements are not closed in their order."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.attributes, self.names = [], [], [], []

    def handle_starttag(self, name, attributes):
        self.names.append(name)
        self.attributes += attributes
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.names.append(name)
        self.attributes += attributes

    def handle_endtag(self, name):
        if name not in VOID:
            assert self.open.pop() == name

    def handle_data(self, data):
        self.text.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    rng = np.random.default_rng(0)
    subjects = {"mail": "mail inbox letters", "games": "game score level", "sound": "audio tune player"}
    items, annotations = [], []
    for n in range(60):
        subject = list(subjects)[n % 3]
        extra = " ".join(rng.choice(["tool", "small", "fast", "free"], 2))
        items.append(
            Item(f"item{n}", text=f"{subjects[subject]} {extra}\nlonger", extra={"source": f"s{n // 2}"})
        )
        if n < 45:
            annotations += [
                (f"item{n}", f"use::{subject}", 1),
                (f"item{n}", "made::c" if n % 2 else "made::go", 1),
            ]
    items.append(Item(EVIL, title=EVIL, text=f"mail inbox {EVIL}"))
    annotations += [(EVIL, f"use::{EVIL}", 1), (EVIL, "made::c", -1)]
    how = Settings(name=EVIL, n_neighbors=6)
    with Collection.create(
        tmp_path_factory.mktemp("r") / "c", items, annotations=annotations, settings=how
    ) as made:
        fit(made)
        yield made


@pytest.fixture(scope="module")
def page(collection):
    collection.evaluate(seeds=2, top=2)
    return write_report(collection)


def test_the_page_is_whole_and_asks_for_nothing_from_elsewhere(page):
    reader = read(page)
    assert page.startswith("<!DOCTYPE html>\n<html lang")
    assert not {"script", "link", "iframe", "object", "embed", "img", "base", "form"} & set(reader.names)
    for name, value in reader.attributes:
        assert not name.startswith("on")
        if name in ("src", "href", "xlink:href", "action"):
            assert value.startswith("#")
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert "default-src 'none'" in page


def test_every_link_leads_somewhere(page):
    reader = read(page)
    anchors = {value for name, value in reader.attributes if name == "id"}
    links = {value[1:] for name, value in reader.attributes if name == "href" and value.startswith("#")}
    assert links <= anchors


def test_names_that_look_like_html_stay_text(page):
    reader = read(page)
    assert EVIL in "".join(reader.text)
    assert "<script" not in page


def test_numbers_on_the_page_are_those_of_the_collection(collection, page):
    text = " ".join("".join(read(page).text).split())
    for n, what in ((61, "items"), (46, "with tags"), (6, "different tags"), (1, "negative annotations")):
        assert f"{n}{what}" in text
    assert f"certified optimal to within {saved_model(collection).relative_gap:.2%}" in text
    suggester = TagSuggester.from_collection(collection)
    best = suggester.suggestions(top=3, untagged=True, limit=8)
    for row in best:
        assert row.item in text
        assert row.tag in text
        assert row.why in text
    for doubt in suggester.doubtful_tags(limit=12):
        assert f"{doubt.rank} of 6" in text
    assert "How good suggestions are" in text
    assert "draws" in text


def test_a_missing_evaluation_is_left_out_and_stale_arrays_are_named(collection, tmp_path):
    file = collection.path / FILE
    kept = file.read_bytes() if file.is_file() else None
    file.unlink(missing_ok=True)
    collection.annotate("item50", {"use::mail": 1})
    try:
        text = "".join(read(write_report(collection)).text)
        assert "How good suggestions are" not in text
        assert "Suggestions are older than 1 annotation; lass fit" in text
    finally:
        collection.undo()
        if kept is not None:
            file.write_bytes(kept)


def test_an_evaluation_that_cannot_be_read_is_named(collection):
    file = collection.path / FILE
    kept = file.read_bytes() if file.is_file() else None
    file.write_text("{")
    try:
        with pytest.raises(ValueError, match=r"evaluation\.json: .*run lass evaluate again"):
            write_report(collection)
    finally:
        file.unlink()
        if kept is not None:
            file.write_bytes(kept)


def test_a_collection_that_is_not_fitted_is_an_error(tmp_path):
    with (
        Collection.create(tmp_path / "c", [Item("a"), Item("b")], annotations=[("a", "x", 1)]) as bare,
        pytest.raises(ValueError, match="no assignments yet"),
    ):
        write_report(bare)


def test_everything_tagged_leaves_nothing_out(tmp_path):
    items = [
        Item(str(n), text=text)
        for n, text in enumerate(("mail here", "mail there", "game here", "game there"))
    ]
    annotations = [(str(n), "mail" if n < 2 else "game", 1) for n in range(4)]
    with Collection.create(
        tmp_path / "c", items, annotations=annotations, settings=Settings(n_neighbors=2)
    ) as small:
        fit(small)
        facts = gather(small)
        assert facts.next_items == []
        assert facts.facets == {"": [("game", 2), ("mail", 2)]}
        read(write_report(small))


def test_no_suggestion_that_is_left_out_scores_higher(collection):
    suggester = TagSuggester.from_collection(collection)
    best = {}
    for row in suggester.suggestions(top=5):
        best[row.item] = max(best.get(row.item, 0.0), row.strength)
    shown = set(gather(collection).suggestions)
    assert len(best) > len(shown)
    assert min(best[item] for item in shown) >= max(best[item] for item in best.keys() - shown)


def test_demand_counts_stated_and_suggested_tags(collection):
    facts = gather(collection)
    rows = TagSuggester.from_collection(collection).suggestions(top=5)
    G = sp.csc_array(collection.annotation_matrix().G)
    names = collection.names()
    for one in facts.demand:
        assert one.suggested == sum(row.tag == one.tag for row in rows)
        assert one.stated == (G[:, [names.index(one.tag)]].toarray() > 0).sum()
    ratios = [one.suggested / (one.stated + 1) for one in facts.demand]
    assert ratios == sorted(ratios, reverse=True)


def test_facets_are_the_widest_parents():
    found = facets({"a/b/c": 1, "a/d": 5, "x::y": 9, "z": 2})
    assert found == {"x": [("x::y", 9)], "a": [("a/d", 5), ("a/b/c", 1)], "": [("z", 2)]}


def test_markup_escapes_text_and_attributes_and_nothing_twice():
    assert tag("b", "<", title='"') == '<b title="&quot;">&lt;</b>'
    assert join(["&", Markup("&amp;"), tag("i", "x")]) == "&amp;&amp;<i>x</i>"
    assert table(["a", "n"], [["<", "1"]], 1) == (
        '<div class="wide"><table><thead><tr><th>a</th><th class="number">n</th></tr></thead>'
        '<tbody><tr><td>&lt;</td><td class="number">1</td></tr></tbody></table></div>'
    )
