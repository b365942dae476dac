"""One self-contained HTML page: no scripts, and a policy that forbids the browser to fetch anything."""

from __future__ import annotations

import io
from importlib.resources import files

from lass.collection import CollectionStore
from lass.report.facts import TOP, Facts, gather
from lass.report.markup import Markup, join, table, tag
from lass.tagging import Suggestion
from lass.tagging.evaluation import Evaluation, plot_evaluation
from lass.tagging.evaluation.metrics import METRICS
from lass.tagging.evaluation.result import COLUMNS, OURS, SITUATION_TITLES, headlines, summary

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
#: tags of a facet that are shown unfolded
FEW = 6


def write_report(collection: CollectionStore) -> str:
    """A page on a fitted collection, for a curator, as HTML.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import lass
    >>> from lass.report import write_report
    >>> texts = ["reads mail", "mail and news", "news reader", "a chess game", "a card game", "chess cards"]
    >>> known = [("0", "mail"), ("3", "game")]
    >>> with TemporaryDirectory() as folder, lass.create(f"{folder}/programs", texts, tags=known) as programs:
    ...     result = programs.fit()
    ...     page = write_report(programs)
    >>> page[:15], "programs" in page
    ('<!DOCTYPE html>', True)
    """
    facts = gather(collection)
    parts = {
        "What is in it": _overview(facts),
        "How far to trust it": _trust(facts),
        "Tags to add": _suggested(facts),
        "Tags to check": _doubtful(facts),
        "Where annotations help most": _demand(facts),
    }
    if facts.evaluation is not None:
        parts["How good suggestions are"] = _evaluated(facts.evaluation)
    parts["The tags"] = _hierarchy(facts)
    anchors = {title: title.lower().replace(" ", "-") for title in parts}
    body = [
        tag("header", tag("h1", facts.name), tag("p", f"A collection since {facts.created[:10]}")),
        tag("nav", *(tag("a", title, href=f"#{anchor}") for title, anchor in anchors.items())),
        *(tag("section", tag("h2", title), inside, id=anchors[title]) for title, inside in parts.items()),
        tag("footer", "Made by lass report. Nothing on this page comes from elsewhere."),
    ]
    return document(f"{facts.name}: tags", join(body))


def document(title: str, body: Markup, more_style: str = "") -> str:
    """A whole page with the style of reports; nothing in it is loaded from elsewhere."""
    style = files("lass.report").joinpath("page.css").read_text(encoding="utf-8") + more_style
    head = [
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("title", title),
        tag("style", Markup(style)),
    ]
    whole = tag("html", tag("head", *head), tag("body", tag("main", body)), lang="en")
    return f"<!DOCTYPE html>\n{whole}\n"


def _overview(facts: Facts) -> Markup:
    """The counts, and what suggestions do not include."""
    counts = facts.tags
    cards = [
        (f"{counts.items:,}", "items"),
        (f"{counts.tagged:,}", f"with tags ({counts.tagged / max(counts.items, 1):.0%})"),
        (f"{counts.tags:,}", "different tags"),
        (f"{counts.positive:,}", f"annotations, {counts.positive / max(counts.tagged, 1):.1f} a tagged item"),
        (f"{counts.negative:,}", "negative annotations"),
    ]
    numbers = tag("div", *(tag("div", tag("b", n), tag("span", what)) for n, what in cards), class_="cards")
    note = f"Suggestions are older than {facts.newer}; lass fit includes them."
    return join([numbers, *([tag("p", note, class_="warning")] if facts.newer else [])])


def _trust(facts: Facts) -> Markup:
    """The certificate and the graph."""
    graph = facts.graph
    proof = (
        f"The assignments are certified optimal to within {facts.relative_gap:.2%} (relative gap), at lam = "
        f"{facts.lam:.3g}."
    )
    edges = (
        f"{graph.n_items:,} items are connected by {graph.n_edges:,} edges; {graph.largest_component:.1%} "
        f"of them are in one component, {graph.n_isolated:,} have no edges."
    )
    if graph.n_unlabelled_items:
        edges += (
            f" {graph.n_unlabelled_items:,} items are not connected to any annotated item: nothing can be "
            "suggested for them."
        )
    warnings = graph.warnings or ["Items are connected well enough for tags to spread among them."]
    kind = "warning" if graph.warnings else "good"
    rare = [
        tag("p", f"{len(names):,} tags have {what}: {', '.join(names[:8])}{' …' if len(names) > 8 else ''}")
        for names, what in ((facts.tags.unused, "no item"), (facts.tags.rare, "one or two items only"))
        if names
    ]
    notes = (tag("p", warning[:1].upper() + warning[1:], class_=kind) for warning in warnings)
    details = tag("details", tag("summary", "Model details"), tag("p", proof), tag("p", edges))
    return join([*notes, *rare, details])


def _hierarchy(facts: Facts) -> Markup:
    """Every tag under its facet, with a bar for the number of items."""
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


def _demand(facts: Facts) -> Markup:
    """Tags and items for which an annotation helps most."""
    rows = [(row.tag, f"{row.stated:,}", f"{row.suggested:,}") for row in facts.demand]
    lead = tag(
        "p", f"Tags among the first {TOP} suggestions of many items for each item that has them. "
        "Accepting or rejecting these helps most.",
    )  # fmt: skip
    parts = [lead, table(["tag", "items that have it", "items it is suggested to"], rows, 2)]
    if facts.next_items:
        parts.append(tag("p", "Items without annotations whose tags would change most for others:"))
        parts.append(tag("ol", *(tag("li", _item(facts, name)) for name in facts.next_items)))
    return join(parts)


def _suggested(facts: Facts) -> Markup:
    """Some items with tags to add, and their supporting neighbours."""
    if not facts.suggestions:
        return tag("p", "There is nothing to suggest.")
    bar = "the probability of the tag"
    lead = tag(
        "p", f"The suggestions with the highest scores. A score is {bar}; below it are the reasons.",
    )  # fmt: skip
    cards = (
        tag("div", tag("h3", _item(facts, name)), tag("ul", *map(_line, rows)), class_="item")
        for name, rows in facts.suggestions.items()
    )
    return join([lead, tag("div", *cards, class_="items")])


def _doubtful(facts: Facts) -> Markup:
    """Stated tags with low scores."""
    if not facts.doubtful:
        return tag("p", "No stated tag has a low score.")
    total = facts.tags.tags
    rows = [(_item(facts, row.item), row.tag, f"{row.rank:,} of {total:,}") for row in facts.doubtful]
    lead = tag("p", "Stated tags with the lowest scores. Many of them are right all the same.")
    return join([lead, table(["item", "stated tag", "rank by score"], rows, 1)])


def _evaluated(evaluation: Evaluation) -> Markup:
    """The saved evaluation: figure, tables and sentences."""
    drawing = io.StringIO()
    plot_evaluation(evaluation, drawing)
    svg = Markup(drawing.getvalue()[drawing.getvalue().index("<svg") :])
    parts = [tag("p", tag("strong", line)) for line in headlines(evaluation)]
    parts += [tag("div", svg, class_="picture", role="img", aria_label="F1 of all methods; LASS by lam")]
    heads = ["method", *(head.format(top=evaluation.top) for head in COLUMNS)]
    for name, result in evaluation.situations.items():
        rows = []
        for method in result.ranked():
            f1, *others = (result.methods[method][metric] for metric in COLUMNS.values())
            means = (f"{100 * one.mean:.1f}" for one in others)
            rows.append([tag("b", method) if method == OURS else method, str(f1), *means])
        heading = SITUATION_TITLES.get(name, name)
        parts += [tag("h3", heading[:1].upper() + heading[1:]), table(heads, rows, len(COLUMNS))]
    meaning = (
        tag("li", tag("b", head), f": {METRICS[metric]}")
        for head, metric in zip(heads[1:], COLUMNS.values(), strict=True)
    )
    lines = tag("ul", *(tag("li", line) for line in summary(evaluation)))
    return join([*parts, lines, tag("details", tag("summary", "What the columns mean"), tag("ul", *meaning))])


def _item(facts: Facts, name: str) -> Markup:
    title = facts.titles.get(name, "")
    return join([name, tag("small", f" {title}")] if title and title != name else [name])


def _line(row: Suggestion) -> Markup:
    bar = tag("u", tag("i", style=f"width:{100 * row.strength:.1f}%"))
    number = "" if row.score is None else f"{row.score:.2f}"
    return tag("li", tag("span", row.tag), tag("em", number), bar, tag("small", row.why))
