"""One self-contained HTML page: no scripts, and a policy that forbids the browser to fetch anything."""

from __future__ import annotations

from importlib.resources import files

from lass.collection import CollectionStore
from lass.report import sections
from lass.report.facts import Facts, gather
from lass.report.markup import Markup, join, tag

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def write_report(collection: CollectionStore) -> str:
    """A page on a fitted collection, for a curator, as HTML.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from lass.collection import CollectionStore, Item, Settings
    >>> from lass.tagging import fit
    >>> from lass.report import write_report
    >>> texts = ["reads mail", "mail and news", "news reader", "a chess game", "a card game", "chess cards"]
    >>> items = [Item(str(n), text=text) for n, text in enumerate(texts)]
    >>> known = [("0", "mail", 1), ("3", "game", 1)]
    >>> with TemporaryDirectory() as folder, CollectionStore.create(
    ...     f"{folder}/programs", items, annotations=known, settings=Settings(n_neighbors=2)
    ... ) as programs:
    ...     result = fit(programs)
    ...     page = write_report(programs)
    >>> page[:15], "programs" in page
    ('<!DOCTYPE html>', True)
    """
    return render(gather(collection))


def render(facts: Facts) -> str:
    """The page with these facts."""
    parts = {
        "What is in it": sections.overview(facts),
        "How far to trust it": sections.trust(facts),
        "Tags to add": sections.suggested(facts),
        "Tags to check": sections.doubtful(facts),
        "Where annotations help most": sections.demand(facts),
    }
    if facts.evaluation is not None:
        parts["How good suggestions are"] = sections.evaluated(facts.evaluation)
    parts["The tags"] = sections.hierarchy(facts)
    links = (tag("a", title, href=f"#{_anchor(title)}") for title in parts)
    body = join(
        [
            tag("header", tag("h1", facts.name), tag("p", f"A collection since {facts.created[:10]}")),
            tag("nav", *links),
            *(tag("section", tag("h2", title), inside, id=_anchor(title)) for title, inside in parts.items()),
            tag("footer", "Made by lass report. Nothing on this page comes from elsewhere."),
        ]
    )
    return document(f"{facts.name}: tags", body)


def document(title: str, body: Markup, more_style: str = "") -> str:
    """A whole page with the style of reports; nothing in it is loaded from elsewhere."""
    style = files("lass.report").joinpath("page.css").read_text(encoding="utf-8") + more_style
    head = join(
        [
            Markup('<meta charset="utf-8">'),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            tag("title", title),
            tag("style", Markup(style)),
        ]
    )
    whole = tag("html", tag("head", head), tag("body", tag("main", body)), lang="en")
    return f"<!DOCTYPE html>\n{whole}\n"


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")
