"""The panel of an item: its numbers, the slider over the exact path, what-if, neighbours, explanations."""

import math
import re
import statistics

import pytest
from playwright.sync_api import expect

from browser import FIXTURES, MINUS, open_item, options_of, stored
from lass import Collection

chrome, served, open_page, _ = FIXTURES

#: all scores are computed again soon after the start
SCORE = 1e-3
#: styles are written with six digits
STYLE = 2e-6
WHAT_IF = re.compile(r"/what-if$")


#: as a drag of the slider does
MOVE = "(slider, to) => { slider.value = to; slider.dispatchEvent(new Event('input', { bubbles: true })) }"
#: people who want the model details have them open
OPEN_DETAILS = "if (location.host) localStorage.setItem('lass-model-details', 'open')"


@pytest.fixture
def page(open_page, served):
    return open_page(served.studio, script=OPEN_DETAILS)


def percent(share):
    hundred = share * 100
    return "<1 %" if 0 < hundred < 1 else f"{math.floor(hundred + 0.5)} %"


def number(text):
    return float(text.replace(MINUS, "-").replace("+", ""))


def shares(panel):
    """Length and text of the bars."""
    return {
        tag: (length, text)
        for tag, length, text in panel.get_by_test_id("shares")
        .locator("li")
        .evaluate_all(
            """rows => rows.map(row => [
                row.dataset.tag,
                Number(row.querySelector(".bar").style.transform.match(/scaleX\\((.*)\\)/)[1]),
                row.querySelector(".number").textContent,
            ])"""
        )
    }


def annotated_item(served):
    """An item with annotations that differ from the crowd."""
    for row in range(200):
        item = served.get(f"/api/items/{row}")
        a = item["modelDetails"]
        far = max(abs(first - last) for first, last in zip(a["path"][0], a["path"][-1], strict=True))
        if item["annotations"] and far > 0.1 and len(a["tags"]) > 3 and max(a["expert"]) > 0:
            return item
    raise AssertionError("no such item")


@pytest.fixture(scope="module")
def annotated(served):
    served.settle()
    return annotated_item(served)


def names(served):
    return [tag["name"] for tag in served.get("/api/tags")]


def test_everything_about_an_item_is_shown(page, served, annotated):
    panel = open_item(page, annotated["row"])
    expect(panel.get_by_role("heading", level=2)).to_have_text(annotated["title"] or annotated["id"])
    expect(panel.locator(".text")).to_have_text(annotated["text"], use_inner_text=False)
    tags = names(served)
    for annotation in annotated["annotations"]:
        chip = panel.get_by_test_id("annotations").locator(f"[data-tag='{tags[annotation['tag']]}']")
        expect(chip).to_contain_text("+" if annotation["value"] > 0 else MINUS)
    suggested = panel.get_by_test_id("suggestions").locator("li[data-tag]")
    expect(suggested).to_have_count(min(9, len(annotated["explained"])))
    for place, one in enumerate(annotated["explained"][:9]):
        row = suggested.nth(place)
        expect(row).to_have_attribute("data-tag", tags[one["tag"]])
        near = {percent(one["score"] + by) for by in (-SCORE, 0, SCORE)}
        expect(row).to_contain_text(re.compile("|".join(near)))
        length = row.locator(".bar").evaluate("bar => Number(bar.style.transform.match(/\\((.*)\\)/)[1])")
        assert length == pytest.approx(one["score"], abs=SCORE)


def test_the_slider_reads_the_exact_path(page, served, annotated):
    panel = open_item(page, annotated["row"])
    a, tags = annotated["modelDetails"], names(served)
    slider = panel.get_by_role("slider", name="Balance from expert to crowd")

    def expect_shares(wanted):
        found = shares(panel)
        assert set(found) == {tags[tag] for tag in a["tags"]}
        for tag, share in zip(a["tags"], wanted, strict=True):
            length, text = found[tags[tag]]
            assert length == pytest.approx(share, abs=STYLE)
            assert text == percent(share)

    expect_shares(a["shares"])
    slider.focus()
    page.keyboard.press("End")
    expect_shares(a["path"][0])
    expect_shares([max(0, share) for share in a["crowd"]])
    expect(slider).to_have_attribute("aria-valuetext", re.compile("the crowd alone"))
    for _ in range(11):
        page.keyboard.press("PageDown")
    expect_shares(a["path"][-1])
    expect(slider).to_have_attribute("aria-valuetext", re.compile("the expert alone"))
    page.keyboard.press("Home")
    expect_shares(a["shares"])
    ticks = panel.locator(".chart .tick")
    expect(ticks).to_have_count(sum(gamma > 0 for gamma in a["gammas"]))


def test_ten_tenths_lead_from_one_end_to_the_other(page, annotated):
    panel = open_item(page, annotated["row"])
    slider = panel.get_by_test_id("lam-slider")
    slider.focus()
    page.keyboard.press("End")
    for _ in range(10):
        page.keyboard.press("PageDown")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("the expert alone"), timeout=3000)


def test_dragging_moves_bars_and_asks_for_nothing(page, annotated, record_property):
    panel = open_item(page, annotated["row"])
    page.wait_for_load_state("networkidle")
    slider = panel.get_by_test_id("lam-slider")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    before = shares(panel)
    page.evaluate(
        """() => {
            window.frames_seen = [];
            let last = performance.now();
            const step = (now) => {
                window.frames_seen.push(now - last);
                last = now;
                requestAnimationFrame(step);
            };
            requestAnimationFrame(step);
        }"""
    )
    page.monitor.requests.clear()
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    seen = set()
    for move in range(60):
        part = 0.5 + 0.45 * math.sin(move / 60 * 2 * math.pi)
        page.mouse.move(box["x"] + part * box["width"], middle)
        if move % 5 == 0:
            seen.add(tuple(length for length, _ in shares(panel).values()))
    page.mouse.up()
    assert page.monitor.requests == []
    assert len(seen) > 2
    frames = page.evaluate("window.frames_seen")
    record_property("median frame while dragging, ms", statistics.median(frames))
    print(f"median frame while dragging: {statistics.median(frames):.1f} ms")
    slider.dblclick()
    assert shares(panel) == before


def test_what_if_moves_bars_and_is_kept_only_when_wanted(page, served):
    served.settle()
    row = served.get("/api/list", filter="untagged")["rows"][3]
    item, tags = served.get(f"/api/items/{row}"), names(served)
    panel = open_item(page, row)
    tag = tags[item["modelDetails"]["tags"][1]]
    line = panel.get_by_test_id("shares").locator(f"li[data-tag='{tag}']")
    yes = line.get_by_role("button", name=f"What if it is {tag}", exact=True)
    no = line.get_by_role("button", name=f"What if it is not {tag}", exact=True)
    start = shares(panel)[tag][0]

    def tried(button):
        with page.expect_response(WHAT_IF) as answer:
            button.click()
        details = answer.value.json()["details"]
        wanted = dict(zip(details["tags"], details["shares"], strict=True)).get(tags.index(tag), 0.0)
        expect(line.locator(".number")).to_have_text(percent(wanted))
        return shares(panel)[tag][0]

    assert tried(yes) > start
    expect(yes).to_have_attribute("aria-pressed", "true")
    assert tried(no) <= start
    expect(no).to_have_attribute("aria-pressed", "true")
    no.click()
    expect(line.locator(".number")).to_have_text(percent(start))
    keep = panel.get_by_role("button", name="Keep")
    expect(keep).to_be_disabled()
    tried(yes)
    panel.get_by_role("button", name="Discard").click()
    expect(line.locator(".number")).to_have_text(percent(start))
    assert served.annotations(item["id"]) == {}
    assert tried(yes) > start
    with stored(page):
        keep.click()
    assert served.annotations(item["id"]) == {tag: 1}
    expect(panel.get_by_test_id("annotations").locator(f"[data-tag='{tag}']")).to_be_visible()
    expect(keep).to_be_disabled()
    # a press on the chip withdraws the annotation
    with stored(page):
        panel.get_by_role("button", name=f"Withdraw is {tag}").click()
    assert served.annotations(item["id"]) == {}


def test_reasons_are_a_sentence_and_its_numbers_add_up_to_the_score(page, served, annotated):
    served.settle()
    panel = open_item(page, annotated["row"])
    first = annotated["explained"][0]
    line = panel.get_by_test_id("suggestions").locator("li").first
    line.get_by_role("button", name=re.compile("^Why ")).click()
    sentence = line.get_by_test_id("evidence")
    assert sentence.inner_text() == "".join(part["text"] for part in first["parts"])
    assert "Because " in sentence.inner_text()
    line.get_by_text("Numbers", exact=True).click()
    lines = line.get_by_test_id("why").locator("tr")
    *parts, total = lines.locator(".number").all_inner_texts()
    assert len(parts) > 1
    assert sum(map(number, parts)) == pytest.approx(number(total.removesuffix(" %")), abs=1e-9)
    assert round(number(total.removesuffix(" %"))) == round(100 * first["score"])
    assert total == line.locator(".row .number").inner_text() or first["score"] > 0.99
    near = next(part for part in first["parts"] if part["kind"] == "item")
    sentence.get_by_role("button", name=near["text"]).click()
    expect(panel).to_have_attribute("data-row", str(near["place"]))


def test_one_percentage_until_the_model_details_are_opened(open_page, served, annotated):
    page = open_page(served.studio)
    panel = open_item(page, annotated["row"])
    details = panel.get_by_test_id("model-details")
    assert details.get_attribute("open") is None
    text = panel.inner_text()
    for word in ("lam", "λ", "gap", "affinity", "assignment", "crowd", "expert", "share"):
        assert not re.search(rf"\b{word}", text, re.IGNORECASE), word
    shown = re.findall(r"\d+ %", text)
    assert len(shown) == len(re.findall(r"\d+ %", panel.get_by_test_id("suggestions").inner_text()))
    details.get_by_text("Model details").click()
    expect(panel.get_by_test_id("lam-slider")).to_be_visible()
    page.reload()
    expect(panel.get_by_test_id("lam-slider")).to_be_visible()


def test_shares_and_sums_add_up(page, served, annotated):
    panel = open_item(page, annotated["row"])
    a = annotated["modelDetails"]
    sums = panel.get_by_test_id("sums").locator("tbody tr")
    expect(sums).to_have_count(min(6, len(a["tags"])))
    for place in range(min(6, len(a["tags"]))):
        crowd, expert, threshold, share = sums.nth(place).locator("td").all_inner_texts()
        total = number(crowd) + number(expert) + number(threshold)
        shown = number(share.split()[-1])
        assert max(0.0, total) == pytest.approx(shown, abs=0.0021)
        assert shown == pytest.approx(a["shares"][place], abs=6e-4)


def test_nothing_overflows_at_the_ends_of_the_slider(page, annotated):
    panel = open_item(page, annotated["row"])
    slider = panel.get_by_test_id("lam-slider")
    for position in (0.001, 0.002, 0.01, 0.5, 0.99, 0.999, 0.0, 1.0):
        slider.evaluate(MOVE, position)
        cells = panel.get_by_test_id("sums").locator("td")
        wrong = cells.evaluate_all("all => all.filter(td => td.scrollWidth > td.clientWidth + 1).length")
        assert not wrong, position
        assert all(len(text) <= 16 for text in cells.all_inner_texts())


def test_what_if_shows_suggestions_before_and_after(page, served):
    served.settle()
    row = served.get("/api/list", filter="untagged")["rows"][5]
    item, tags = served.get(f"/api/items/{row}"), names(served)
    first, others = item["explained"][0], item["explained"][1:]
    panel = open_item(page, row)
    with page.expect_response(WHAT_IF) as answer:
        panel.get_by_role("button", name=f"What if it is {tags[first['tag']]}", exact=True).click()
    after = {one["tag"]: one["score"] for one in answer.value.json()["suggestions"]}
    assert first["tag"] not in after
    assert any(abs(after.get(one["tag"], 0) - one["score"]) > 0.01 for one in others)
    table = panel.get_by_test_id("what-if-suggestions")
    line = table.locator(f"tr[data-tag='{tags[first['tag']]}']")
    expect(line).to_contain_text("decided")
    for one in others[:3]:
        line = table.locator(f"tr[data-tag='{tags[one['tag']]}']")
        expect(line).to_contain_text(percent(one["score"]))
        if one["tag"] in after:
            expect(line).to_contain_text(percent(after[one["tag"]]))
    assert served.annotations(item["id"]) == {}


def test_neighbours_open_and_back_returns(page, served, annotated):
    served.settle()
    panel = open_item(page, annotated["row"])
    neighbours = panel.get_by_test_id("neighbours").locator("li")
    near = annotated["modelDetails"]["neighbours"]
    expect(neighbours).to_have_count(min(6, len(near)))
    expect(neighbours.first).to_contain_text(percent(near[0]["weight"]))
    neighbours.first.get_by_role("button").click()
    expect(panel).to_have_attribute("data-row", str(near[0]["row"]))
    expect(panel.get_by_role("heading", level=2)).to_have_text(near[0]["title"] or near[0]["id"])
    page.go_back()
    expect(panel).to_have_attribute("data-row", str(annotated["row"]))


def test_what_would_change_the_first_tag_is_true(page, served):
    served.settle()
    tags = names(served)
    for row in served.get("/api/list", filter="untagged")["rows"]:
        flip = served.get(f"/api/items/{row}")["modelDetails"]["flip"]
        if flip and flip["possible"] and 0 < flip["change"] < 0.9:
            break
    panel = open_item(page, row)
    sentence = panel.get_by_test_id("flip")
    expect(sentence).to_contain_text(tags[flip["top"]])
    expect(sentence).to_contain_text(f"Adding “{tags[flip['runnerUp']]}”")
    # and so it is
    other = tags[flip["runnerUp"]]
    with page.expect_response(WHAT_IF):
        panel.get_by_role("button", name=f"What if it is {other}", exact=True).click()
    expect(sentence).not_to_contain_text(f"Adding “{other}”")
    found = shares(panel)
    assert found[other][0] >= found[tags[flip["top"]]][0]


def test_moving_on_at_once_never_shows_numbers_of_another_item(page, served):
    served.settle()
    rows = served.get("/api/list")["rows"]
    expect(options_of(page).first).to_be_visible()
    for _ in range(12):
        page.keyboard.press("j")
    panel = page.get_by_test_id("panel")
    expect(panel).to_have_attribute("data-row", str(rows[12]))
    expect(panel).to_have_attribute("aria-busy", "false")
    item = served.get(f"/api/items/{rows[12]}")
    tags = names(served)
    found = shares(panel)
    for tag, share in zip(item["modelDetails"]["tags"], item["modelDetails"]["shares"], strict=True):
        assert found[tags[tag]][0] == pytest.approx(share, abs=STYLE)


def test_a_doubted_tag_is_explained(page, served):
    rows = served.get("/api/list", filter="doubtful")["rows"]
    item = served.get(f"/api/items/{rows[0]}")
    with Collection.open(served.folder) as collection:
        tag = collection.names()[item["doubted"][0]]
    panel = open_item(page, rows[0])
    expect(panel.get_by_role("button", name=f"Withdraw is {tag}, doubted")).to_be_visible()
    scored = next(one for one in item["annotationScores"] if one["tag"] == item["doubted"][0])
    expect(panel.get_by_text(f"“{tag}” is doubted")).to_contain_text(percent(scored["score"]))
