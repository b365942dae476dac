"""The first session: from an empty folder over 300 texts without tags to 20 accepted tags, in the browser.

After each step, what is on the page is compared with what is true.
"""

import csv
import gzip
import io
import json
import re
import time

import numpy as np
import pytest
from playwright.sync_api import expect

from browser import FIXTURES, options_of, pick, shot, stored
from command_line import run
from lass import Collection
from lass.collection.bundled import debian
from lass.tagging import load_model, scores
from studio_server import studio, wait_until_ready

chrome, served, open_page, page = FIXTURES

#: tag of the bundled packages -> what the person of this story calls it
SUBJECTS = {
    "field::biology": "biology",
    "use::gameplaying": "games",
    "works-with::mail": "mail",
    "works-with::audio": "sound",
    "works-with::image": "images",
}
ITEMS, ACCEPTED = 300, 20
#: any share or score as a percentage, and those that claim certainty
PERCENT, CERTAIN = re.compile(r"\d\s?%"), re.compile(r"(?<![\d.])100\s?%|>\s?99\s?%")


def packages_without_tags():
    """A table of 300 packages of five subjects, and the subject of each."""
    items, tags = debian()
    subjects = {}
    with gzip.open(tags, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            subjects.setdefault(row["item"], set()).update({SUBJECTS.get(row["tag"])} - {None})
    with gzip.open(items, "rt", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if len(subjects.get(row["package"], ())) == 1]
    truth = {row["package"]: next(iter(subjects[row["package"]])) for row in rows}
    chosen = []
    for subject in SUBJECTS.values():
        chosen += [row for row in rows if truth[row["package"]] == subject][: ITEMS // len(SUBJECTS)]
    chosen.sort(key=lambda row: row["package"])
    out = io.StringIO()
    writer = csv.DictWriter(out, ["package", "summary", "description"], extrasaction="ignore")
    writer.writeheader()
    writer.writerows(chosen)
    return out.getvalue(), {row["package"]: truth[row["package"]] for row in chosen}


class Story:
    """The page, the server behind it, and what the person knows."""

    def __init__(self, page, client, truth):
        self.page, self.client, self.truth = page, client, truth
        self.accepted = []

    def get(self, path, **query):
        answer = self.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def view(self, name):
        self.page.get_by_role("link", name=name, exact=True).click()

    def settle(self):
        """Wait until the model includes all annotations and the page shows it."""
        state = wait_until_ready(self.client)
        expect(self.page.get_by_test_id("model-state")).to_have_attribute("data-phase", "ready")
        return state

    def check(self):
        """Whatever is on the page must be true."""
        state = self.get("/api/state")
        text = self.page.locator("main").inner_text().replace("Suggested at 50% or more", "")
        own = self.page.get_by_test_id("shares").filter(visible=True)
        for shown in own.all() if self.page.get_by_test_id("expert").count() else []:
            text = text.replace(shown.inner_text(), "")  # all of an annotated item may belong to its tag
        assert not CERTAIN.search(text), CERTAIN.search(text)
        assert "nothing is likely" not in text.lower()
        unknown = state["model"]["itemsUntilPercentages"]
        if state["annotations"]["tagged"] == 0:
            assert not PERCENT.search(text), text
            expect(self.page.get_by_role("button", name="Retrain")).to_have_count(0)
        elif unknown:
            lists = self.page.get_by_test_id("suggestions").filter(visible=True)
            for shown in lists.all():
                assert not PERCENT.search(shown.inner_text())
        for row in self.get("/api/rows", rows=",".join(map(str, range(0, ITEMS, 3)))):
            for one in row["suggestions"]:
                assert (one["score"] is None) == bool(unknown)
                assert 0 < one["strength"] < 0.995
        return state

    def retrain(self):
        """Press Retrain: it says that it works, and comes to an end."""
        button = self.page.get_by_role("button", name="Retrain")
        deadline = time.monotonic() + 120  # a training that begins by itself would disable it under the hand
        while not self.settle()["model"]["retrained"]:
            assert time.monotonic() < deadline, "it is not trained again after a pause"
            time.sleep(0.2)
        expect(button).to_be_enabled()
        with stored(self.page, "/api/retrain") as answer:
            button.click()
        assert answer.value.json() == {"started": True}
        self.settle()


@pytest.fixture(scope="module")
def table():
    return packages_without_tags()


@pytest.mark.timeout(300)  # twenty trainings, each after a pause
def test_from_an_empty_folder_to_twenty_tags(open_page, tmp_path, table):
    content, truth = table
    folder = tmp_path / "mine"
    with studio(folder) as running, running.client() as client:
        page = open_page(running, rows=False)
        story = Story(page, client, truth)
        expect(page.get_by_role("heading", name="This collection has no items yet")).to_be_visible()
        shot(page, "first-1-empty")
        import_table(story, content)
        look_around_without_tags(story)
        tag_one_item(story)
        tag_a_group(story)
        accept_suggestions(story)
        story.retrain()
        state = story.check()
        shot(page, "first-9-done")
        assert state["model"]["retrained"]
        studio_side = predictions(story)
        page.close()  # before the server ends, which would be an error in it
    with Collection.open(folder) as collection:
        annotations = {(one.item, one.tag): one.value for one in collection.annotations}
    assert len(story.accepted) == ACCEPTED
    assert {pair: annotations[pair] for pair in story.accepted} == dict.fromkeys(story.accepted, 1)
    compare_with_the_command_line(tmp_path, content, annotations, studio_side)


def import_table(story, content):
    page = story.page
    page.get_by_role("button", name="Import…").click()
    dialog = page.get_by_test_id("import")
    dialog.get_by_label("Items", exact=True).set_input_files(
        {"name": "packages.csv", "mimeType": "text/csv", "buffer": content.encode()}
    )
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_role("button", name=f"Import {ITEMS} rows").click()
    expect(page.get_by_test_id("import-result")).to_contain_text(f"{ITEMS} items imported")
    expect(dialog).to_contain_text("A map with groups of similar items is being made")
    dialog.get_by_role("button", name="Done").click()
    expect(options_of(page).first.locator(".title")).to_be_visible()
    expect(page.get_by_test_id("count")).to_have_text(f"{ITEMS} items")


def look_around_without_tags(story):
    """List, search, map, groups and items to begin with, before any tag exists."""
    page = story.page
    page.get_by_role("searchbox", name="Search items").fill("chess")
    found = story.get("/api/list", text="chess")["rows"]
    expect(page.get_by_test_id("count")).to_have_text(f"{len(found)} item" + "s" * (len(found) != 1))
    page.get_by_role("searchbox", name="Search items").fill("")
    drawn = page.get_by_test_id("model-state")  # the map takes long where much else runs
    expect(drawn).to_have_attribute("data-phase", "untagged", timeout=120_000)
    expect(page.get_by_test_id("model-state")).to_contain_text("No tags yet")
    story.check()
    shot(page, "first-2-items")
    story.view("Map")
    groups = story.get("/api/groups")
    assert len(groups) >= len(SUBJECTS)
    listed = page.get_by_test_id("groups").get_by_role("button")
    expect(listed).to_have_count(len(groups))
    expect(page.get_by_role("heading", name="Groups found in the texts")).to_be_visible()
    for place, group in enumerate(groups):
        expect(listed.nth(place)).to_contain_text(group["name"])
        expect(listed.nth(place)).to_contain_text(f"{len(group['rows'])} items")
    labels = page.get_by_test_id("group-label")
    assert labels.count() >= min(5, len(groups))
    assert set(labels.all_inner_texts()) <= {group["name"] for group in groups}
    story.check()
    shot(page, "first-3-map")
    story.view("Tags")
    expect(page.get_by_text("There are no tags yet.")).to_be_visible()
    story.view("Progress")
    expect(page.get_by_test_id("progress-figures")).to_contain_text(f"0 of {ITEMS}")
    story.check()
    story.view("Items")
    page.get_by_role("button", name="Next item to label").click()
    proposed = page.get_by_test_id("reason")
    expect(proposed).to_contain_text("Proposed next: ")
    row = int(page.get_by_test_id("panel").get_attribute("data-row"))
    assert row in story.get("/api/list", filter="next")["rows"]
    expect(proposed).to_contain_text(story.get("/api/rows", rows=row)[0]["reason"])
    shot(page, "first-4-next")


def tag_one_item(story):
    """The first tag: nothing is called certain because of it."""
    page = story.page
    row = int(page.get_by_test_id("panel").get_attribute("data-row"))
    item = story.get(f"/api/items/{row}")["id"]
    subject = story.truth[item]
    with stored(page, "/api/annotations"):
        pick(page, "Add a tag", subject, new=True)
    expect(page.get_by_test_id("annotations")).to_contain_text(subject)
    story.accepted.append((item, subject))
    story.settle()
    state = story.check()
    assert state["annotations"] == {"is": 1, "isNot": 0, "tagged": 1}
    assert state["model"]["itemsUntilPercentages"] > 0, "one annotation is too little for percentages"
    shot(page, "first-5-one-tag")
    page.get_by_role("combobox", name="Filter").select_option("untagged")
    expect(page.get_by_test_id("count")).to_have_text(f"{ITEMS - 1} items")
    panel = page.get_by_test_id("panel")
    expect(panel).to_have_attribute("aria-busy", "false")
    expect(panel).to_contain_text("no percentage yet")
    story.check()
    story.view("Map")
    legend = page.get_by_test_id("map-legend")
    expect(legend).to_contain_text(subject)
    expect(legend).to_contain_text("not known yet")
    story.check()
    shot(page, "first-6-one-tag-map")


def tag_a_group(story):
    """A group becomes a tag: preview, leave one out, name, one action, one undo."""
    page = story.page
    before = story.get("/api/state")["annotations"]
    groups = story.get("/api/groups")
    ids = {row["row"]: row["id"] for page_ in range(0, ITEMS, 100) for row in story.get(
        "/api/rows", rows=",".join(map(str, range(page_, page_ + 100))))}  # fmt: skip
    place = max(range(len(groups)), key=lambda place: purity(groups[place], ids, story.truth))
    group = groups[place]
    subjects = [story.truth[ids[row]] for row in group["rows"]]
    subject = max(set(subjects), key=subjects.count)
    page.get_by_test_id("groups").get_by_role("button").nth(place).click()
    dialog = page.get_by_test_id("tag-many")
    expect(dialog).to_be_visible()
    name = dialog.get_by_label("Tag", exact=True)
    expect(name).to_have_value(group["name"])
    boxes = dialog.get_by_role("list", name="Items to tag").get_by_role("checkbox")
    expect(boxes).to_have_count(min(50, len(group["rows"])))
    shot(page, "first-7-group")
    boxes.nth(1).uncheck()
    name.fill(subject)
    with stored(page, "/api/tag-items"):
        dialog.get_by_role("button", name=f"Tag {len(group['rows']) - 1} items").click()
    expect(dialog).to_be_hidden()
    story.settle()
    after = story.check()["annotations"]
    tagged = {ids[row] for place, row in enumerate(group["rows"]) if place != 1}
    already = {item for item, tag in story.accepted if tag == subject}
    assert after["is"] == before["is"] + len(tagged - already)
    with stored(page, "/api/undo"):
        page.keyboard.press("u")
    assert story.get("/api/state")["annotations"] == before
    # the story goes on item by item: the group stays untagged
    story.settle()
    story.check()


def purity(group, ids, truth):
    """The share of its most frequent subject, in groups that are not small."""
    subjects = [truth[ids[row]] for row in group["rows"]]
    return max(map(subjects.count, subjects)) / len(subjects) if len(subjects) > 8 else 0.0


def accept_suggestions(story):
    """Through the proposals: accept the right tag where it is suggested, else add it."""
    page = story.page
    story.view("Items")
    helped = 0
    while len(story.accepted) < ACCEPTED:
        panel = page.get_by_test_id("panel")
        before = panel.get_attribute("data-row")
        page.keyboard.press("n")
        expect(panel).not_to_have_attribute("data-row", before)
        expect(panel).to_have_attribute("aria-busy", "false")
        row = int(panel.get_attribute("data-row"))
        detail = story.get(f"/api/items/{row}")
        subject = story.truth[detail["id"]]
        assert detail["annotations"] == [], "only untagged items are proposed"
        offered = panel.get_by_role("button", name=f"Accept {subject}", exact=True)
        with stored(page, "/api/annotations"):
            if offered.count():
                helped += 1
                offered.click()
            else:
                known = {tag["name"] for tag in story.get("/api/tags")}
                pick(page, "Add a tag", subject, new=subject not in known)
        expect(page.get_by_test_id("annotations")).to_contain_text(subject)
        story.accepted.append((detail["id"], subject))
        page.locator("body").click(position={"x": 600, "y": 790})
        state = story.settle()
        assert state["annotations"]["is"] == len(story.accepted)
        story.check()
        if len(story.accepted) == 10:
            shot(page, "first-8-ten-tags")
    assert helped >= 5, "suggestions must be of some use"
    assert {tag for _, tag in story.accepted} == set(SUBJECTS.values()), "proposals cover all subjects"


def predictions(story):
    """By item: strengths of its suggestions, and shares of its tags, as the page gets them."""
    names = [tag["name"] for tag in story.get("/api/tags")]
    found = {}
    for row in range(ITEMS):
        detail = story.get(f"/api/items/{row}")
        shares = dict(zip(detail["modelDetails"]["tags"], detail["modelDetails"]["shares"], strict=True))
        found[detail["id"]] = (
            {names[one["tag"]]: one["strength"] for one in detail["explained"]},
            {names[tag]: share for tag, share in shares.items()},
        )
    return found


def compare_with_the_command_line(tmp_path, content, annotations, studio_side):
    """The same tags, entered by commands into another folder, give the same assignments and scores."""
    (tmp_path / "packages.csv").write_text(content, encoding="utf-8")
    other = tmp_path / "other"
    columns = ("--id", "package", "--text", "summary", "--text", "description")
    run("init", other, "--items", tmp_path / "packages.csv", *columns)
    for (item, tag), value in sorted(annotations.items()):
        run("tag", other, item, f"{'+' if value > 0 else '-'}{tag}", "--new")
    run("fit", other)
    shown = json.loads(run("suggest", other, "--json").stdout)
    with Collection.open(other) as collection:
        assert {(one.item, one.tag): one.value for one in collection.annotations} == annotations
        model, matrix = load_model(collection)
        values, Z = scores(model), model.solution.Z
    columns = {name: column for column, name in enumerate(matrix.names)}
    for row, item in enumerate(matrix.ids):
        strengths, shares = studio_side[item]
        for tag, strength in strengths.items():
            assert abs(values[row, columns[tag]] - strength) < 0.005, (item, tag)
        for tag, share in shares.items():
            assert abs(Z[row, columns[tag]] - share) < 1e-4, (item, tag)
        assert np.isclose(sum(shares.values()), 1, atol=1e-3)
    first = {line["item"]: line["tag"] for line in shown if line["rank"] == 1}
    alike = [max(studio_side[item][0], key=studio_side[item][0].get) == tag for item, tag in first.items()]
    assert np.mean(alike) > 0.98
