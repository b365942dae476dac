"""The parts of a report, each a heading and what it says."""

from __future__ import annotations

import io
from collections.abc import Sequence

from lass.report.facts import TOP, Facts
from lass.report.markup import Markup, join, table, tag
from lass.tagging import Suggestion
from lass.tagging.evaluation import Evaluation, picture
from lass.tagging.evaluation.metrics import METRICS
from lass.tagging.evaluation.result import OURS
from lass.tagging.evaluation.tables import COLUMNS, WORDS, summary

#: tags of a facet that are seen at once
FEW = 6


def overview(facts: Facts) -> Markup:
    """The counts, and whether anything is out of date."""
    said = facts.tags
    cards = [
        (f"{said.items:,}", "items"),
        (f"{said.tagged:,}", f"with tags ({said.tagged / max(said.items, 1):.0%})"),
        (f"{said.tags:,}", "different tags"),
        (f"{said.positive:,}", f"words, {said.positive / max(said.tagged, 1):.1f} a tagged item"),
        (f"{said.negative:,}", "words that say no"),
    ]
    numbers = tag("div", *(tag("div", tag("b", n), tag("span", what)) for n, what in cards), class_="cards")
    notes = [tag("p", f"Out of date: {name} ({why}).", class_="warning") for name, why in facts.stale.items()]
    return join([numbers, *notes])


def trust(facts: Facts) -> Markup:
    """The certificate and the graph in words."""
    graph = facts.graph
    proof = (
        f"What was completed is provably close to the best answer there is: at most {facts.relative_gap:.2%} "
        f"of what all words together are worth is missing. lam is {facts.lam:.3g}."
    )
    ties = (
        f"{graph.n_items:,} items are tied by {graph.n_edges:,} similarities; {graph.largest_component:.1%} "
        f"of them hang together, {graph.n_isolated:,} have no tie at all."
    )
    if graph.n_uninformed_items:
        ties += f" No word reaches {graph.n_uninformed_items:,} items: nothing can be suggested there."
    warnings = graph.warnings or ["Nothing to worry about."]
    kind = "warning" if graph.warnings else "good"
    rare = [
        tag("p", f"{len(names):,} tags have {what}: {', '.join(names[:8])}{' …' if len(names) > 8 else ''}")
        for names, what in ((facts.tags.unused, "no item"), (facts.tags.rare, "one or two items only"))
        if names
    ]
    notes = (tag("p", warning[:1].upper() + warning[1:], class_=kind) for warning in warnings)
    missing = [tag("p", facts.note)] if facts.note else []
    return join([tag("p", proof), *missing, tag("p", ties), *notes, *rare])


def hierarchy(facts: Facts) -> Markup:
    """Every tag under its facet, as long as it is frequent."""
    most = max((count for tags in facts.facets.values() for _, count in tags), default=1) or 1

    def line(name: str, facet: str, count: int) -> Markup:
        short = name.removeprefix(facet).lstrip(":/") or name
        bar = tag("i", style=f"width:{100 * count / most:.1f}%")
        return tag("li", tag("span", short), tag("em", f"{count:,}"), tag("u", bar))

    parts = []
    for facet, tags in facts.facets.items():
        lines = [line(name, facet, count) for name, count in tags]
        rest = tag("details", tag("summary", f"{len(lines) - FEW} more"), tag("ul", *lines[FEW:]))
        head = tag("h3", facet or "without a facet", tag("small", f" {sum(count for _, count in tags):,}"))
        parts.append(tag("div", head, tag("ul", *lines[:FEW]), *([rest] if len(lines) > FEW else [])))
    return tag("div", *parts, class_="facets")


def need(facts: Facts) -> Markup:
    """Tags and items where a word teaches most."""
    rows = [(row.tag, f"{row.said:,}", f"{row.suggested:,}") for row in facts.needs]
    said = tag(
        "p", f"Tags that come up among the first {TOP} suggestions of many items for each that has them. "
        "A word on these, yes or no, settles most.",
    )  # fmt: skip
    parts = [said, table(["tag", "items that have it", "items it is suggested to"], rows, 2)]
    if facts.questions:
        parts.append(tag("p", "Items without a word whose tags would teach most about others:"))
        parts.append(tag("ol", *(tag("li", _item(facts, name)) for name in facts.questions)))
    return join(parts)


def suggested(facts: Facts) -> Markup:
    """Some items with tags to add, and who speaks for them."""
    if not facts.suggestions:
        return tag("p", "There is nothing to suggest.")
    bar = "a tag's share of what similar items say" if facts.note else "how likely a tag is"
    lead = tag(
        "p", f"The surest suggestions, the items' own words on them left out. A bar is {bar}; "
        "behind it the neighbours that speak for it.",
    )  # fmt: skip
    cards = (
        tag("div", tag("h3", _item(facts, name)), tag("ul", *map(_line, rows)), class_="item")
        for name, rows in facts.suggestions.items()
    )
    return join([lead, tag("div", *cards, class_="items")])


def doubted(facts: Facts) -> Markup:
    """Stated tags that no neighbour speaks for."""
    if not facts.doubts:
        return tag("p", "No stated tag stands out.")
    rows = [(_item(facts, row.item), row.tag, f"{row.rank:,} of {facts.tags.tags:,}") for row in facts.doubts]
    lead = tag("p", "Stated tags that everybody else says least for. Many are right all the same.")
    return join([lead, table(["item", "stated tag", "its place by everybody else"], rows, 1)])


def evaluated(evaluation: Evaluation) -> Markup:
    """The saved evaluation: picture, tables and sentences."""
    drawing = io.StringIO()
    picture(evaluation, drawing)
    svg = Markup(drawing.getvalue()[drawing.getvalue().index("<svg") :])
    parts = [tag("div", svg, class_="picture", role="img", aria_label="F1 of all methods; LASS by lam")]
    heads = ["method", *(head.format(top=evaluation.top) for head in COLUMNS)]
    for name, outcome in evaluation.situations.items():
        rows: list[Sequence[str]] = []
        for method in outcome.ranked():
            figures = [outcome.methods[method][metric] for metric in COLUMNS.values()]
            cells = [str(figures[0]), *(f"{100 * figure.mean:.1f}" for figure in figures[1:])]
            rows.append([tag("b", method) if method == OURS else method, *cells])
        heading = WORDS.get(name, name)
        parts += [tag("h3", heading[:1].upper() + heading[1:]), table(heads, rows, len(COLUMNS))]
    meaning = (
        tag("li", tag("b", head), f": {METRICS[metric]}")
        for head, metric in zip(heads[1:], COLUMNS.values(), strict=True)
    )
    told = tag("ul", *(tag("li", line) for line in summary(evaluation)))
    return join([*parts, told, tag("details", tag("summary", "What the columns mean"), tag("ul", *meaning))])


def _item(facts: Facts, name: str) -> Markup:
    title = facts.titles.get(name, "")
    return join([name, tag("small", f" {title}")] if title and title != name else [name])


def _line(row: Suggestion) -> Markup:
    who = ", ".join(f"{one.item} {one.share:.0%}" for one in row.neighbours if one.share >= 0.01)
    bar = tag("u", tag("i", style=f"width:{100 * row.score:.1f}%"))
    return tag("li", tag("span", row.tag), tag("em", f"{row.score:.2f}"), bar, tag("small", who))
