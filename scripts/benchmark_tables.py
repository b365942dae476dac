"""Tables and sentences made from ``benchmarks/results``, one function a block of the pages."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any, NamedTuple

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"

Row = Any
#: what makes the text of a block, by its name
BLOCKS: dict[str, Callable[[], str]] = {}


def block(function: Callable[[], str]) -> Callable[[], str]:
    BLOCKS[function.__name__] = function
    return function


# Reading and writing numbers


@cache
def load(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def part(name: str, *keys: str) -> Any:
    """A part of a result file."""
    found = load(name)
    for key in keys:
        found = found[key]
    return found


def either(row: Row, *names: str) -> Any:
    """A value under its name of today or an earlier one."""
    return next(row[name] for name in names if name in row)


def number(value: float, digits: int = 2) -> str:
    """Round to some significant digits, but keep all digits before the point.

    >>> [number(x) for x in (0.01234, 1.96, 118.7, 1234567.0, 1.8e-5)]
    ['0.012', '2.0', '119', '1,234,567', '1.8e-05']
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    size = math.floor(math.log10(abs(value)))
    return f"{value:.{digits - 1}e}" if size < -3 else f"{value:,.{max(0, digits - 1 - size)}f}"


def times(ratio: float, bound: bool = False) -> str:
    return f"{'> ' if bound else ''}{number(ratio)}x"


def seconds(value: float) -> str:
    return f"{number(1e3 * value)} ms" if value < 0.0995 else f"{number(value)} s"


def shape(row: Row, items: str = "items", columns: str = "categories") -> str:
    return f"{row[items]:,} x {row[columns]:,}"


def table(rows: Iterable[Row], columns: dict[str, Callable[[Row], str]]) -> str:
    """Make a table with a function a column."""
    lines = [
        list(columns),
        ["---"] * len(columns),
        *([cell(row) for cell in columns.values()] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def listed(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Make a table of cells that are there already."""
    return table([list(row) for row in rows], {name: lambda row, i=i: row[i] for i, name in enumerate(head)})


def machine(facts: Row) -> str:
    name = re.sub(r"\(R\)| Processor", "", facts["processor"])
    cores = f"{facts['cores']} core{'s' * (facts['cores'] > 1)}"
    return f"{name}, {cores}" + (f", {facts['device']}" if "device" in facts else "")


def origin(*keys: str) -> str:
    """The line under a table: where and when its numbers were taken."""
    facts = part(*keys)["machine"]
    file = f"benchmarks/results/{keys[0]}.json"
    return f"*{machine(facts)}; {facts['date']}, commit {facts['commit']}; `{file}`.*"


def page(*parts: str) -> str:
    return "\n\n".join(parts)


def slope(points: list[tuple[float, float]]) -> float:
    """Of the least-squares line through some points."""
    middle = mean(x for x, _ in points)
    return sum((x - middle) * y for x, y in points) / sum((x - middle) ** 2 for x, _ in points)


# Solvers

OURS = "auto"
#: problems on which the best generic solver is the peer that counts
SMALL = ("mnist-2k", "mnist-5k")
PROBLEMS = {
    "moons": "two moons, 2 labels", "newsgroups": "20 newsgroups", "tags": "Debian tags",
    "pixels": "256 x 256 pixels",
}  # fmt: skip
GENERIC = {
    "osqp": "OSQP", "osqp-cg": "OSQP (MKL CG)", "scs": "SCS", "scs-cg": "SCS (CG)", "clarabel": "Clarabel",
    "proxqp": "ProxQP", "piqp": "PIQP",
}  # fmt: skip


def problem(name: str) -> str:
    return PROBLEMS.get(name, name.split(" lam")[0].replace("mnist", "MNIST"))


class Ratio(NamedTuple):
    """How many times as long as ours; a lower bound where the peer hit its limit."""

    value: float
    bound: bool


def ratio(cell: Row | None, ours: Row) -> Ratio | None:
    if cell is None or cell["status"] not in ("solved", "timeout"):
        return None
    late = cell["status"] == "timeout"
    return Ratio(cell["limit" if late else "seconds"] / ours["seconds"], late)


def beside(cell: Row | None, ours: Row) -> str:
    found = ratio(cell, ours)
    if cell is None or found is None:
        return ""
    return f"{'> ' if found.bound else ''}{number(found.value * ours['seconds'])} ({times(*found)})"


def best_generic(cells: Row) -> tuple[str, Row] | None:
    solved = {GENERIC[name]: cells[name] for name in GENERIC if cells.get(name, {}).get("status") == "solved"}
    return min(solved.items(), key=lambda one: one[1]["seconds"]) if solved else None


def generic_text(cells: Row) -> str:
    if best := best_generic(cells):
        return f"{best[0]} {beside(best[1], cells[OURS])}"
    return f"none within {max(cells[name]['limit'] for name in GENERIC if name in cells):g}"


def geometric_mean(rival: str) -> tuple[Ratio, int]:
    """Of the ratios on all sets but the small ones, and how many those are."""
    cells = [cells for name, cells in part("solvers", "cells").items() if name not in SMALL]
    found = [one for row in cells if (one := ratio(row.get(rival), row[OURS]))]
    return Ratio(math.exp(mean(math.log(one.value) for one in found)), any(one.bound for one in found)), len(
        found
    )


@block
def solvers() -> str:
    results = load("solvers")
    star, count = geometric_mean("admm-star")
    grid, _ = geometric_mean("admm-grid")
    return page(
        f"Seconds to a certified relative gap of {results['tolerance']:g}; `>` means not within the limit.",
        table(
            [(name, results["sets"][name], cells) for name, cells in results["cells"].items()],
            {
                "problem": lambda row: f"{problem(row[0])}, lam = {row[1]['lam']:g}",
                "items x categories": lambda row: shape(row[1], "N", "K"),
                "LASS": lambda row: f"**{number(row[2][OURS]['seconds'])}**",
                "ADMM, rho*": lambda row: beside(row[2].get("admm-star"), row[2][OURS]),
                "ADMM, best rho of a grid": lambda row: beside(row[2].get("admm-grid"), row[2][OURS]),
                "best generic QP solver": lambda row: generic_text(row[2]),
            },
        ),
        f"Geometric mean over the {count} problems other than {' and '.join(SMALL)}: ADMM at rho* takes "
        f"{times(*star)} as long as LASS, ADMM at the best rho of a grid {times(*grid)} (lower bounds: "
        "a run that hit its limit counts as the limit).",
        origin("solvers"),
    )


@block
def pipeline() -> str:
    rows = [{"name": name} | row for name, row in load("pipeline")["sets"].items()]
    text = [
        table(
            rows,
            {
                "collection": lambda row: row["name"],
                "items x tags": lambda row: f"{row['items']:,} x {row['tags']:,}",
                "fit, seconds": lambda row: number(row["fit"]["seconds"]),
                "processor seconds": lambda row: number(row["fit"]["processor_seconds"]),
                "GiB": lambda row: number(row["fit"]["peak_gib"]),
                "SVM, processor seconds": lambda row: (
                    number(row["svm"]["processor"]) if "svm" in row else "-"
                ),
                "after 100 annotations, seconds": lambda row: number(row["second_fit"]["seconds"]),
                "with --update": lambda row: number(row["update"]["seconds"]),
                "map, seconds": lambda row: number(row["map"]),
                "suggest, seconds": lambda row: number(row["suggest"]["seconds"]),
            },
        )
    ]
    for row in rows:
        if "before" in row:
            old = row["before"]
            text.append(
                f"{row['name']} before only candidates were scored (commit {old['commit']}, same machine), "
                f"the map included: {number(old['seconds'])} seconds, {number(old['processor_seconds'])} of "
                f"the processors, {number(old['peak_gib'])} GiB."
            )
    return page(*text, origin("pipeline"))


@block
def growth_pipeline() -> str:
    results = load("growth_pipeline")
    rows = sorted(results["rows"].values(), key=lambda row: row["N"])
    work = [(math.log(row["annotations"] + row["edges"]), math.log(row["processor_seconds"])) for row in rows]
    return page(
        table(
            rows,
            {
                "items": lambda row: f"{row['N']:,}",
                "annotations": lambda row: f"{row['annotations']:,}",
                "edges": lambda row: f"{row['edges']:,}",
                "fit, seconds": lambda row: number(row["seconds"]),
                "processor seconds": lambda row: number(row["processor_seconds"]),
                "GiB": lambda row: number(row["peak_gib"]),
                "opening the model, seconds": lambda row: number(row["live"]["open"]),
                "one annotation learnt, seconds (95 %)": lambda row: number(row["live"]["update_95"]),
            },
        ),
        f"Processor seconds grow as (annotations + edges)^{slope(work):.2f}.",
        origin("growth_pipeline"),
    )


@block
def growth() -> str:
    results = load("growth")
    rows = results["rows"]
    sizes = [(math.log(row["N"]), math.log(row["seconds"])) for row in rows.values() if row["N"] < 500_000]
    return page(
        f"{results['K']} categories, lam = {results['lam']:g}, relative gap {results['tolerance']:g}.",
        table(
            rows.values(),
            {
                "items": lambda row: f"{row['N']:,}",
                "seconds": lambda row: number(row["seconds"]),
                "microseconds an item": lambda row: number(1e6 * row["seconds"] / row["N"]),
                "iterations": lambda row: str(row["iterations"]),
                "memory added, in arrays of N x K": lambda row: number(row["added_arrays"]),
                "MiB": lambda row: number(row["added_bytes"] / 2**20),
            },
        ),
        f"Below a million items seconds grow as N^{slope(sizes):.2f}.",
        origin("growth"),
    )


@block
def update() -> str:
    columns = {
        "problem": lambda row: problem(row["name"]),
        "lam": lambda row: f"{row['lam']:g}",
        "solving anew": lambda row: seconds(row["cold"]),
        "update": lambda row: seconds(row["warm"]),
        "ratio (median)": lambda row: times(row["ratio"]),
        "of the first labels": lambda row: times(row["first_ratio"]),
        "of the later half": lambda row: times(row["later_ratio"]),
        "least": lambda row: times(row["least_ratio"]),
    }
    return page(table(load("update")["rows"], columns), origin("update"))


@block
def tensor() -> str:
    columns = {
        "items x periods x categories": lambda row: (
            f"{row['items']:,} x {row['periods']} x {row['categories']}, lams {row['lams'][0]:g}, "
            f"{row['lams'][1]:g}"
        ),
        "edges of the product": lambda row: f"{row['edges']:,}",
        "tensor, processor seconds": lambda row: number(row["tensor_processor"]),
        "iterations": lambda row: f"{row['tensor_iterations']:,}",
        "matrix, processor seconds": lambda row: number(row["matrix_processor"]),
        "iterations of it": lambda row: f"{row['matrix_iterations']:,}",
        "ratio": lambda row: times(row["tensor_processor"] / row["matrix_processor"]),
        "relative gap": lambda row: number(row["tensor_gap"]),
    }
    found = load("tensor")
    grows = (
        f"The time of an iteration grows with the cells to the power {found['exponent']:.2f}; how many "
        "it takes depends on the graph."
    )
    return page(table(found["rows"], columns), grows, origin("tensor"))


@block
def facets_suggestions() -> str:
    rows = load("facets")["suggestions"]
    situations = {"a": "half of the tags of each item hidden", "b": "all tags of a fifth of the items hidden"}

    def cell(situation: str, way: str, key: str) -> str:
        values = [100.0 * row[key] for row in rows if (row["situation"], row["way"]) == (situation, way)]
        return f"{mean(values):.1f} ± {standard_error(values):.1f}"

    def gain(situation: str, key: str) -> str:
        ways = [[r[key] for r in rows if (r["situation"], r["way"]) == (situation, way)]
                for way in ("one distribution", "facets")]  # fmt: skip
        differences = [100.0 * (b - a) for a, b in zip(*ways, strict=True)]
        return f"{mean(differences):+.2f} ± {standard_error(differences):.2f}"

    columns = {
        "hidden": lambda row: situations[row[0]],
        "figure": lambda row: {"map": "MAP", "f1": "F1@5", "calibration": "calibration error"}[row[1]],
        "one distribution": lambda row: cell(row[0], "one distribution", row[1]),
        "one in each facet": lambda row: cell(row[0], "facets", row[1]),
        "difference": lambda row: gain(*row),
    }
    cells = [(situation, key) for situation in situations for key in ("map", "f1", "calibration")]
    return page(table(cells, columns), origin("facets"))


@block
def facets_costs() -> str:
    columns = {
        "lam x median degree": lambda row: f"{row['lam']:g}",
        "problem": lambda row: f"{row['items']:,} x {row['tags']}, {row['facets']} facets",
        "all facets in one pass, processor seconds": lambda row: number(row["one_pass"]),
        "the same gradient facet by facet": lambda row: number(row["apart"]),
        "iterations of the pass": lambda row: f"{row['one_pass_iterations']:,}",
        "of the facets (median, most)": lambda row: (
            f"{median(row['apart_iterations']):g}, {max(row['apart_iterations'])}"
        ),
        "`lass.solve(facets=)`": lambda row: number(row["solve"]),
    }
    return page(table(load("facets")["costs"], columns), origin("facets"))


SEARCH: dict[str, Callable[[Row], str]] = {
    "search": lambda row: row["method"],
    "seconds": lambda row: number(row["seconds"]),
    "processor seconds": lambda row: number(row["processor"]),
    "recall": lambda row: f"{row['recall']:.4f}",
    "MiB beside the data": lambda row: number(row["memory"]),
}


@block
def graphs() -> str:
    columns = {"set": lambda row: row["set"], **SEARCH}
    text = f"{load('graphs')['neighbours']} nearest neighbours of every item."
    return page(text, table(load("graphs")["rows"], columns), origin("graphs"))


#: why there are no numbers
NOT_FOUND = {
    "timeout": lambda row: f"not within {number(row['limit'])} s",
    "memory": lambda row: "too little memory",
    "not run": lambda row: (
        f"not run: about {number(row['expected'])} s expected" if "expected" in row else "not run"
    ),
    "stopped": lambda row: "stopped from outside, not measured",
    "not installed": lambda row: "not installed",
    "failed": lambda row: "failed",
}


@block
def neighbours() -> str:
    results = load("neighbours")

    def of(key: str, shown: Callable[[float], str]) -> Callable[[Row], str]:
        return lambda row: shown(row[key]) if row["status"] == "found" else ""

    rows = [
        {"rows": name, "search": method, **row}
        for name, cells in sorted(results["cells"].items(), key=lambda one: cell_order(one[0]))
        for method in sorted({*cells, *peers(name)})
        if (row := cells.get(method, {"status": "not run"}))
    ]
    columns: dict[str, Callable[[Row], str]] = {
        "rows x columns": lambda row: row["rows"],
        "search": lambda row: row["search"],
        "machine": lambda row: row.get("machine", ""),
        "seconds": lambda row: (
            number(row["seconds"]) if row["status"] == "found" else NOT_FOUND[row["status"]](row)
        ),
        "processor seconds": of("processor", number),
        "recall": of("recall", lambda value: f"{value:.3f}"),
        "MiB beside the rows": of("memory", number),
    }
    return page(
        f"{results['neighbours']} nearest neighbours of every row; recall on {results['sample']:,} rows. The "
        "machine had other work at the same time, which lengthens seconds and, less, processor seconds. Some "
        "rows are the faster of two runs, others of one; commits differ (see the file).",
        table(rows, columns),
        origin("neighbours"),
    )


def peers(name: str) -> set[str]:
    """What a search of such rows is compared with; ten million rows are searched by ours alone."""
    if name.startswith("10,000,000"):
        return set()
    return {"scikit-learn, all pairs"} | ({"ours, exact"} if "texts" in name else {"usearch, expansion 64"})


def cell_order(name: str) -> tuple[bool, int, str]:
    """Dense rows before texts, few rows before many."""
    size, kind = name.split(" ", 1)
    return "texts" in name, int(size.replace(",", "")), kind.rjust(9)


@block
def mapping() -> str:
    results = load("mapping")
    names = {"assign, no words": "assign, no affinities"}
    return page(
        table(
            results["map"]["rows"],
            {
                "map": lambda row: names.get(row["name"], row["name"]),
                "items": lambda row: f"{row['items']:,}",
                "seconds": lambda row: number(row["seconds"]),
                "items a second": lambda row: f"{row['items_per_second']:,.0f}",
            },
        ),
        table(
            results["paths"],
            {
                "categories": lambda row: f"{row['categories']:,}",
                "breakpoints": lambda row: f"{row['breakpoints']:,}",
                "milliseconds for the exact path over lam": lambda row: number(1e3 * row["seconds"]),
            },
        ),
        origin("mapping"),
    )


# Few labels


class Method(NamedTuple):
    """A method, or the best of a family at each count: mean errors, standard errors, seconds."""

    name: str
    errors: list[float]
    spreads: list[float]
    seconds: float
    draws: int

    @property
    def ours(self) -> bool:
        return self.name.startswith("LASS")

    @property
    def knows_sizes(self) -> bool:
        return "sizes" in self.name or "MBO" in self.name


def standard_error(values: list[float]) -> float:
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def methods(name: str) -> list[Method]:
    """Every method by its mean error; of a family (alpha=, C=) the best at each count, in hindsight."""
    families: dict[str, list[Row]] = {}
    for method, counts in part(name, "results").items():
        families.setdefault(re.sub(r" (alpha|C)=.*", r", best \1", method), []).append(counts)
    found = []
    for family, members in families.items():
        draws = [
            [list(one[count].values()) for one in members if count in one] for count in label_counts(name)
        ]
        if not all(draws):
            continue
        cells = [min(some, key=lambda cell: mean(error for error, _ in cell)) for some in draws]
        errors = [[error for error, _ in cell] for cell in cells]
        spent = median(second for cell in cells for _, second in cell)
        fewest = min(map(len, cells))
        found.append(
            Method(
                family, [mean(one) for one in errors], [standard_error(one) for one in errors], spent, fewest
            )
        )
    return sorted(found, key=lambda one: mean(math.log(error) for error in one.errors))


def label_counts(name: str) -> list[str]:
    return list(next(iter(part(name, "results").values())))


def error_text(one: Method, place: int) -> str:
    spread = one.spreads[place]
    return f"{one.errors[place]:.1f}" + (f" ± {spread:.1f}" if math.isfinite(spread) else "")


def few_labels_page(name: str) -> str:
    columns: dict[str, Callable[[Row], str]] = {
        "labels a class": lambda one: f"**{one.name}**" if one.ours else one.name
    }
    for place, count in enumerate(label_counts(name)):
        columns[count] = lambda one, place=place: error_text(one, place)
    columns |= {"seconds": lambda one: number(one.seconds), "draws": lambda one: str(one.draws)}
    groups = {"Given the labels alone:": False, "Given the class sizes as well:": True}
    parts = []
    for title, sizes in groups.items():
        if members := [one for one in methods(name) if one.knows_sizes == sizes]:
            parts += [title, table(members, columns)]
    return page(*parts, origin(name))


@block
def few_labels() -> str:
    return few_labels_page("few_labels_10000")


@block
def few_labels_all() -> str:
    return few_labels_page("few_labels_70000")


@block
def few_labels_contrast() -> str:
    return few_labels_page("few_labels_10000_contrast2")


@block
def few_labels_sets() -> str:
    """Of each set ours and the best other of the same draws in hindsight, and cells ahead, level, behind."""
    parts = []
    for title, sets in part("few_labels_sets", "compared").items():
        columns: dict[str, Callable[[Row], str]] = {"labels a class": lambda one: one[0]}
        for count in next(iter(sets.values())):
            columns[count] = lambda one, count=count: (
                f"{one[1][count]['ours']:.1f} / {one[1][count]['best']:.1f}" if count in one[1] else ""
            )
        standings = [cell["standing"] for cells in sets.values() for cell in cells.values()]
        kinds = ("ahead", "level", "behind", "far behind")
        summary = ", ".join(f"{standings.count(kind)} {kind}" for kind in kinds)
        parts += [f"{title.capitalize()}, error of ours / of the best other (cells: {summary}):"]
        parts += [table(sets.items(), columns)]
    return page(*parts, origin("few_labels_sets"))


# The estimator

FITTED: dict[str, Callable[[Row], str]] = {
    "": lambda row: row["name"],
    "seconds": lambda row: number(row["seconds"]),
    "processor seconds": lambda row: number(row["processor"]),
    "MiB beside the data": lambda row: number(row["memory"]),
    "error %": lambda row: f"{row['error']:.1f}",
}


@block
def estimator_digits() -> str:
    found = part("estimator", "fit70k")
    return page(table(found["rows"], FITTED), found["note"], origin("estimator", "fit70k"))


@block
def estimator_text() -> str:
    return page(table(part("estimator", "newsgroups", "rows"), FITTED), origin("estimator", "newsgroups"))


@block
def estimator_update() -> str:
    columns = {
        "": lambda row: row["name"],
        "update, processor seconds": lambda row: number(row["update_processor"]),
        "fitting anew": lambda row: number(row["fresh_processor"]),
        "error %": lambda row: f"{row['error']:.2f}",
        "error % anew": lambda row: f"{row['fresh_error']:.2f}",
    }
    return page(table(part("estimator", "update", "rows"), columns), origin("estimator", "update"))


@block
def estimator_lam() -> str:
    columns = {
        "": lambda row: row["name"],
        'error %, `lam="auto"`': lambda row: f"{row['auto']:.2f}",
        "best of the grid in hindsight": lambda row: f"{row['best']:.2f}",
        "difference": lambda row: f"{row['difference']:.2f}",
    }
    return page(table(part("estimator", "lam", "rows"), columns), origin("estimator", "lam"))


@block
def active() -> str:
    rows = []
    for name, found in load("active")["results"].items():
        counts = range(found["classes"], found["end"] + found["batch"], found["batch"])
        labels = [*(str(min(count, found["end"])) for count in counts), "more"]
        curves = {
            by: [mean(column) for column in zip(*runs.values(), strict=True)]
            for by, runs in found["errors"].items()
        }
        for by, errors in curves.items():
            above = [place for place, error in enumerate(errors) if error > curves["random"][-1]]
            enough = labels[above[-1] + 1 if above else 0]
            spent = number(found["seconds"][by])
            rows.append([f"{name}, {found['items']:,} items", by, f"{errors[-1]:.1f}", enough, spent])
    head = ("set", "asked by", "error % at the end", "labels until as good as random at the end", "seconds")
    return page(listed(head, rows), origin("active"))


@block
def active_sets() -> str:
    """The mean error over the curve of each set, and how many draws there are."""
    rows = []
    for name, found in load("active_sets")["results"].items():
        areas = {by: mean(map(mean, runs.values())) for by, runs in found["errors"].items()}
        draws = min(len(runs) for runs in found["errors"].values())
        best = min(areas.values())
        cells = [f"**{area:.1f}**" if area == best else f"{area:.1f}" for area in areas.values()]
        rows.append([name, *cells, str(draws)])
        head = ("mean error over the curve, %", *areas, "draws")
    return page(listed(head, rows), origin("active_sets"))


# Suggestions

HIDDEN = {
    "a": "half of every item's tags",
    "d": "all but one tag of an item",
    "b": "all tags of a fifth of the items",
    "c5": "all but 5 % of the items",
    "c2": "all but 2 % of the items",
}
FIGURES = {
    "map": "mean average precision", "f1": "F1 of the first five", "precision": "precision of the first",
    "recall": "recall of the first ten",
}  # fmt: skip


class Comparison(NamedTuple):
    """Ours, the best baseline chosen in hindsight, and the difference over common draws with its error."""

    ours: float
    best: float
    name: str
    difference: float
    error: float


@cache
def compare(name: str, situation: str, figure: str) -> Comparison:
    methods = part("suggestions", "results", name, situation)
    seeds = sorted(set.intersection(*(set(found) for found in methods.values())))
    values = {method: [100 * found[seed][figure] for seed in seeds] for method, found in methods.items()}
    ours = values.pop("LASS")
    best = max(values, key=lambda method: mean(values[method]))
    apart = [one - other for one, other in zip(ours, values[best], strict=True)]
    return Comparison(mean(ours), mean(values[best]), best, mean(apart), standard_error(apart))


@block
def suggestions() -> str:
    names = part("suggestions", "results")
    cells = {case: [compare(name, case, "map") for name in names] for case in HIDDEN}
    counts = []
    for figure, title in FIGURES.items():
        found = [compare(name, case, figure) for name in names for case in HIDDEN]
        ahead = sum(one.difference >= 0 for one in found)
        level = sum(-one.error < one.difference < 0 for one in found)
        counts.append([title, *map(str, (len(found), ahead, level, len(found) - ahead - level))])
    return page(
        "Mean average precision in %: LASS / the best baseline of each cell, chosen in hindsight.",
        listed(
            ("hidden", *names),
            [
                [HIDDEN[case], *(f"**{one.ours:.1f}** / {one.best:.1f} ({one.name})" for one in row)]
                for case, row in cells.items()
            ],
        ),
        listed(("figure", "cells", "ahead or equal", "less than a standard error behind", "behind"), counts),
        origin("suggestions"),
    )


# First tags: what is judged there is in benchmarks/first_tags_report.py, and stands in the file


def first_tags_cell(methods: Row) -> tuple[float, float, str]:
    """Mean average precision in %, ours and that of the best baseline, and its name."""
    found = {name: 100 * mean(one["map"] for one in draws.values()) for name, draws in methods.items()}
    others = {name: value for name, value in found.items() if not name.startswith("LASS")}
    best = max(others, key=lambda name: others[name])
    return found["LASS"], others[best], best.split(":")[0]


def first_tags_errors() -> tuple[str, str]:
    """Calibration errors, of each set and as a sentence."""
    found = dict(part("first_tags", "summary", "LASS", "calibration"))
    mean_error, pooled = found.pop("mean"), found.pop("pooled")
    rows = [["one draw at a time", *(f"{error:.3f}" for error in found.values()), f"{mean_error:.3f}"]]
    rows.append(
        ["draws together", *(f"{pooled[name]:.3f}" for name in found), f"{mean(pooled.values()):.3f}"]
    )
    worst = max(found, key=lambda name: found[name])
    return (
        listed(("calibration error at 3 to 20 tagged items", *found, "mean"), rows),
        f"Calibration error of the five first suggestions at 3 to 20 tagged items: {mean_error:.3f} in one "
        f"draw of tagged items, at most {found[worst]:.3f} ({worst}); {mean(pooled.values()):.3f} over all "
        "draws of a collection together.",
    )


def first_tags_counts() -> str:
    """How many cells are level or ahead."""
    found = part("first_tags", "summary", "LASS")
    rows = []
    for key, title in (("map", "mean average precision"), ("precision", "precision of the first suggestion")):
        one = found[key]
        far = ", ".join(one["far_behind"]) or "none"
        share = f"{one['level_or_ahead']} of {one['cells']}"
        rows.append([title, share, far, f"{100 * one['mean_lead']:+.1f}"])
    head = (
        "figure",
        "cells at most a standard error behind",
        "two and a point behind",
        "mean difference, points",
    )
    return listed(head, rows)


@block
def first_tags_short() -> str:
    return page(first_tags_counts(), first_tags_errors()[1], origin("first_tags"))


@block
def first_tags() -> str:
    results = part("first_tags", "results")
    cells = list(dict.fromkeys(cell for found in results.values() for cell in found))

    def cell(methods: Row | None) -> str:
        if methods is None:
            return ""
        ours, other, name = first_tags_cell(methods)
        return f"**{ours:.1f}** / {other:.1f} ({name})"

    rows = [[tagged, *(cell(found.get(tagged)) for found in results.values())] for tagged in cells]
    firsts = part("first_tags", "first_items")
    chosen = [
        [name, f"{100 * one['all']['proposed']:.1f}",
         f"{100 * one['all']['random']:.1f} ± {100 * one['all']['error']:.1f}"]
        for name, one in firsts.items()
    ]  # fmt: skip
    ahead = sum(one["all"]["ahead"] for one in firsts.values())
    example = part("first_tags", "two_annotations")
    update = part("first_tags", "one_update")
    return page(
        "Mean average precision in %: LASS / the best baseline of each cell.",
        listed(("tagged items", *results), rows),
        first_tags_counts(),
        first_tags_errors()[0],
        "What to tag first: mean average precision in % over all tags, after 5, 10 and 20 items chosen as by "
        f"`lass next` and at random; {ahead} of {len(firsts)} collections are ahead by a standard error.",
        listed(("collection", "proposed", "at random"), chosen),
        "Two annotations for two tags in three groups of items, one after the other with a fit between, and "
        "at once: the largest difference of a score is "
        + "; ".join(f"{name} {number(one['largest_difference'])}" for name, one in example.items())
        + ".",
        "One update of the model in the Studio, bundled packages: median "
        + "; ".join(f"{name} {seconds(one['median'])}" for name, one in update.items())
        + ".",
        origin("first_tags"),
    )


# Kinds of collections


def mean_and_error(values: list[float]) -> str:
    error = f" ± {standard_error(values):.1f}" if len(values) > 1 else ""
    return f"{mean(values):.1f}{error}"


@block
def kinds_embeddings() -> str:
    found = {name: one for name, one in load("kinds_embeddings").items() if name != "machine"}
    rows, costs = [], []
    for name, one in found.items():
        plain, both, alone = [way for way in one["costs"] if way not in ("embedding", "model", "choice")]
        draws = max(len(cell["LASS"]) for cell in one["draws"].values())
        for share, cell in one["draws"].items():
            cells = [mean_and_error(cell[way]) for way in (plain, both, alone, "LASS")]
            often = f"{sum(way == both for way in cell['chosen'])} of {len(cell['chosen'])}"
            rows.append([f"{name}, {one['items']:,} items", f"{float(share):.0%}", *cells, often])
        each = one["costs"]
        costs.append([
            name, f"{each['embedding']['seconds']:.0f}",
            *(f"{each[way]['seconds']:.1f}" for way in (plain, both)), f"{each['model']['megabytes']:.0f}",
            *(f"{each[way]['megabytes']:.1f}" for way in (plain, both)),
        ])  # fmt: skip
    head = [
        "",
        "tagged",
        "plain",
        "with the model",
        "the model alone",
        "as `lass fit` chooses",
        "chosen: with it",
    ]
    paid = [
        "", "embedding, s", "fit, plain, s", "fit, with it, s", "model, MB",
        "features, plain, MB", "features, with it, MB",
    ]  # fmt: skip
    means = f"Means of {draws} draws and their standard errors" if draws > 1 else "One draw"
    taken = {one["costs"]["embedding"].get("taken", "") for one in found.values()} - {""}
    apart = f" Those of the embedding were taken {' and '.join(sorted(taken))}." if taken else ""
    note = (
        f"{means}. Plain: terms of texts, colours. `lass fit`: as it chooses by itself. Processor seconds, "
        f"the least of all draws.{apart}"
    )
    return page(listed(head, rows), listed(paid, costs), note, origin("kinds_embeddings"))


@block
def kinds_edges() -> str:
    found = {name: one for name, one in load("kinds_edges").items() if name != "machine"}
    methods = ["LASS", "NetMF", "DeepWalk", "spectral", "votes"]
    rows = []
    for name, one in found.items():
        for share, cell in one["draws"].items():
            figures = [
                [mean(draw[one] for draw in cell[method]) for one in ("micro", "macro")] for method in methods
            ]
            rows.append(
                [name, f"{float(share):.0%}", *(f"{micro:.1f} / {macro:.1f}" for micro, macro in figures)]
            )
    return page(listed(["", "labelled", *methods], rows), origin("kinds_edges"))


@block
def kinds_numbers() -> str:
    return against_the_best("kinds_numbers")


@block
def kinds_one_tag() -> str:
    return against_the_best("kinds_one_tag")


def against_the_best(file: str) -> str:
    """Ours and the best of the other methods in each situation of each set, by paired differences."""
    rows, counts = [], set()
    for name, situations in load(file).items():
        if name == "machine":
            continue
        for situation, cell in situations.items():
            draws = sorted(set.intersection(*({*values} for values in cell.values())))
            counts.add(len(draws))
            values = {method: [found[one]["map"] for one in draws] for method, found in cell.items()}
            best = max((method for method in values if method != "LASS"), key=lambda one: mean(values[one]))
            lead = [ours - other for ours, other in zip(values["LASS"], values[best], strict=True)]
            ours = cell["LASS"]
            rows.append([
                name, situation, mean_and_error(values["LASS"]), best, mean_and_error(values[best]),
                mean_and_error(lead), f"{mean([ours[one]['calibration'] for one in draws]):.3f}",
                f"{mean([ours[one]['seconds'] for one in draws]):.1f}",
                f"{max(ours[one]['memory'] for one in draws):,}", str(len(draws)),
            ])  # fmt: skip
    head = ["", "hidden", "LASS", "best other", "its MAP", "lead", "calibration", "s", "MiB", "draws"]
    note = (
        "Mean average precision of the hidden tags, in per cent, with standard errors; the lead is that of "
        "paired draws over the method that is best in hindsight. Processor seconds of a fit, and memory that "
        "it adds at its peak."
    )
    return page(listed(head, rows), note, origin(file))


@block
def calibration() -> str:
    results = part("suggestions", "results")

    def figure(name: str, case: str, key: str) -> float:
        return mean(one[key] for one in results[name][case]["LASS"].values())

    errors = [
        [hidden, *(f"{figure(name, case, 'calibration'):.3f}" for name in results)]
        for case, hidden in HIDDEN.items()
    ]
    doubts = [f"{100 * figure(name, 'doubts', 'doubts_by_score'):.0f} %" for name in results]
    return page(
        "Calibration error of the five tags shown (how far scores are from the share that is right):",
        listed(("hidden", *results), errors),
        "Wrong tags planted, and the share of them among the tenth of the annotations doubted most:",
        listed(("", *results), [["found", *doubts]]),
        origin("suggestions"),
    )


@block
def command_line() -> str:
    rows = []
    for name in ("debian", "debian-all", "lastfm", "corel5k", "delicious"):
        found = load(f"evaluate-{name}")
        facts = found["machine"]
        taken = f"{machine(facts)}; {facts['date']}, {facts['commit']}"
        size = shape(found["evaluation"], "items", "tags")
        for command, spent in found["commands"].items():
            costs = [number(spent[key]) for key in ("seconds", "processor_seconds", "peak_gib")]
            rows.append([f"{name}, {size}", f"`lass {command}`", *costs, taken])
    return listed(("collection", "command", "seconds", "processor seconds", "GiB", "taken on"), rows)


# Scale


@block
def sparse() -> str:
    def dense(case: Row, key: str) -> str:
        return f"{number(case['dense'][key])} ({times(case['ratios'][key])})" if "dense" in case else ""

    columns = {
        "items x categories": lambda case: shape(case["sparse"]),
        "lam": lambda case: f"{case['sparse']['lam']:g}",
        "relative gap": lambda case: number(case["sparse"]["relative_gap"]),
        "seconds": lambda case: number(case["sparse"]["seconds"]),
        "GiB of the solve": lambda case: number(case["sparse"]["solve_gib"]),
        "dense: seconds": lambda case: dense(case, "seconds"),
        "dense: GiB": lambda case: dense(case, "solve_gib"),
    }
    return page(table(load("sparse_assignments")["cases"].values(), columns), origin("sparse_assignments"))


@block
def gpu() -> str:
    results = load("gpu")
    large = {
        "items x categories": lambda row: shape(row, "N", "K"),
        "on the device": lambda row: seconds(row["device_seconds"]),
        "whole call": lambda row: seconds(row["whole_call_seconds"]),
        "relative gap": lambda row: number(row["relative_gap"]),
        "processors beside it": lambda row: (
            f"{seconds(row['cpu_seconds'])} ({row['cpu_cores']} cores)" if "cpu_seconds" in row else ""
        ),
        "ratio": lambda row: times(row["cpu_over_whole_call"]) if "cpu_seconds" in row else "",
        "iteration / cuSPARSE's product": lambda row: f"{row['as_given']['ratio']:.2f}",
    }
    widths = results["widths"]
    together = results["together"]
    workers = {key: row for key, row in results["partitions"].items() if isinstance(row, dict)}
    fits = results["fit"]
    places = {"device_small": "GPU", "processors_small": f"{fits['cpu_cores']} cores", "device_large": "GPU"}
    stages = list(fits["device_large"]["stages"])
    return page(
        table([results["million"], results["ten_million"]], large),
        f"Whole fits of collections, `lass fit --device cuda` (seconds; commit {fits['commit']}):",
        listed(
            (
                "items x tags",
                "on",
                "lam found",
                "whole fit",
                *stages,
                "GiB of this machine",
                "GiB of the GPU",
            ),
            [
                [
                    shape(fits[name], "N", "K"),
                    where,
                    number(fits[name]["lam"]),
                    seconds(fits[name]["fit_seconds"]),
                    *(number(fits[name]["stages"].get(stage, 0.0)) for stage in stages),
                    number(fits[name]["host_gib"]),
                    number(fits[name].get("device_gib", 0.0)),
                ]
                for name, where in places.items()
            ],
        ),
        *(f"{shape(row, 'N', 'K')}: {row['note']}." for row in map(fits.get, places) if "note" in row),
        f"An iteration against cuSPARSE's product alone, {widths['N']:,} items:",
        listed(
            ("categories", "rows of Z together", "columns of Z together"),
            [
                [f"{int(count):,}", *(f"{row[order]['ratio']:.2f}" for order in ("as_given", "by_category"))]
                for count, row in widths["categories"].items()
            ],
        ),
        f"{together['problems']} problems on one graph side by side against one after the other:",
        listed(
            ("items", "problems differ in", "faster by"),
            [
                [f"{int(size):,}", kind, times(row["ratio"])]
                for size, found in together.items()
                if isinstance(found, dict)
                for kind, row in found.items()
            ],
        ),
        f"Ray workers that share the device, {shape(results['partitions'], 'N', 'K')}:",
        listed(
            ("", "an iteration"),
            [[name.replace("_", " "), seconds(row["iteration_seconds"])] for name, row in workers.items()],
        ),
        origin("gpu"),
    )


@block
def distributed() -> str:
    results = load("distributed")
    one = results["runs"]["one"]

    def apart(run: Row) -> str:
        return number(abs(run["objective"] / one["objective"] - 1), 1)

    rows = []
    for count, spent in results["iterations"].items():
        alone = count == "one"
        extra = "" if alone else f"{100 * (spent['worker_processor'] / spent['kernel_processor'] - 1):.0f} %"
        killed = "" if alone else apart(results["killed"][count])
        clock = [seconds(spent["iteration_s"]), seconds(spent["median_s"])]
        name = "one process" if alone else f"{count} workers"
        rows.append([name, *clock, extra, "" if alone else apart(results["runs"][count]), killed])
    head = (
        "", "an iteration, least", "median", "processor time beside the kernels",
        "objective differs by", "and after two workers were killed",
    )  # fmt: skip
    return page(
        f"{shape(results)}, lam = {results['lam']:g}, {one['iterations']} iterations to a relative gap of "
        f"{results['tol']:g}.",
        listed(head, rows),
        origin("distributed"),
    )


class Constants(NamedTuple):
    """Processor seconds an edge and a row for each category, and a byte of halo; clock of a worker."""

    edge: float
    row: float
    byte: float
    worker: float


def constants() -> Constants:
    """Fitted to the kernels of two workers on two graphs, and to rounds with nothing to compute."""
    results = load("distributed")
    K, rows, edges = results["categories"], results["items"], either(results["runs"]["one"], "edges", "ties")
    clouds, path = results["iterations"]["2"], results["carried"]
    # a path of 200,000 items, each edge counted at both ends
    path_rows, path_edges = 200_000, 400_000
    a, b = clouds["kernel_processor"] / K, path["kernel_processor"] / K
    determinant = edges * path_rows - rows * path_edges
    edge, row = (a * path_rows - b * rows) / determinant, (b * edges - a * path_edges) / determinant
    idle = results["rounds"]["2"]["worker_processor"]
    byte = (path["worker_processor"] - path["kernel_processor"] - idle) / (8 * K * path_rows)
    rounds = [(float(count), found["iteration_s"]) for count, found in results["rounds"].items()]
    return Constants(edge, row, byte, slope(rounds))


@block
def scale_constants() -> str:
    known = constants()
    rows = [
        ["edge", f"{1e9 * known.edge:.2f} ns an edge and category", "kernels of two workers on two graphs"],
        ["row", f"{1e9 * known.row:.1f} ns a row and category", "the same two runs"],
        ["byte", f"{1e9 * known.byte:.2f} ns a byte of halo, all copies", "a path of border rows only"],
        ["worker", f"{1e3 * known.worker:.2f} ms a worker and round, on the clock", "nothing to compute"],
    ]
    return page(listed(("constant", "value", "from"), rows), origin("distributed"))


class Cluster(NamedTuple):
    """What the estimate for a billion items assumes."""

    items: float = 1e9
    nodes: int = 128
    cores: int = 64
    bytes_a_second: float = 12.5e9
    edges_an_item: float = 21.0
    entries: int = 50
    bytes_an_entry: int = 12
    slower_entries: float = 4.0
    halo_per_row: float = 2.0
    copy_threads: int = 8


@block
def scale_estimate() -> str:
    known, given = constants(), Cluster()
    rows = given.items / given.nodes
    edges, halo = rows * given.edges_an_item, rows * given.halo_per_row
    numbers = given.slower_entries * given.entries
    compute = numbers * (known.edge * edges + known.row * rows) / given.cores
    sent = halo * given.entries * given.bytes_an_entry
    network, copies = sent / given.bytes_a_second, sent * known.byte / given.copy_threads
    driver = known.worker * given.nodes
    lines = [
        ["compute", seconds(compute), "the constants, and cores that scale perfectly"],
        ["halo", f"{number(halo / 1e6)} million rows, {number(sent / 1e9)} GB", "halo rows as assumed"],
        ["network", seconds(network), "full bandwidth, not hidden behind the arithmetic"],
        ["copies", seconds(copies), f"{given.copy_threads} effective threads"],
        ["driver", seconds(driver), "linear in the workers"],
        ["**together**", f"**{seconds(compute + network + copies + driver)}**", ""],
    ]
    return page(
        f"Assumed: {given.items:,.0f} items; {given.nodes} nodes with {given.cores} cores and "
        f"{given.bytes_a_second / 1e9:g} GB/s each; {given.edges_an_item:g} edges an item; {given.entries} "
        f"entries a row, {given.bytes_an_entry} bytes each, {given.slower_entries:g} times the time of a "
        f"number in a dense row; {given.halo_per_row:g} halo rows for each own row.",
        listed(("a node, an iteration", "estimate", "rests on"), lines),
    )


@block
def distributed_pipeline() -> str:
    results = part("distributed", "pipeline")
    one = results["one"]
    rows = []
    for count in ("one", "2", "4"):
        run = results[count]
        alone = count == "one"
        differ = run.get("difference", {})
        rows.append([
            "one process" if alone else f"{count} workers",
            seconds(run["seconds"]),
            f"{run['memory']:.0f} MiB" if alone else f"{run['largest_mib']:.0f} MiB",
            "" if alone else f"{1024 * run['limit_gib']:.0f} MiB",
            "" if alone else str(run["parts"]),
            "" if alone else number(differ["assignments"], 1),
            "" if alone else number(differ["scores"], 1),
        ])  # fmt: skip
    head = (
        "", "seconds", "memory of the work, largest", "limit a worker", "parts", "assignments differ by",
        "scores differ by",
    )  # fmt: skip
    return page(
        f"{one['items']:,} items x {one['tags']:,} tags, lam = {one['lam']:.3g}.",
        listed(head, rows),
        origin("distributed", "pipeline"),
    )


class LargeFit(NamedTuple):
    """What the plan for a hundred million items assumes."""

    items: float = 1e8
    tags: int = 100_000
    nodes: int = 128
    cores: int = 64
    memory_gib: float = 4.0
    bytes_a_second: float = 2e9
    feature_bytes: float = 400.0


@block
def scale_plan() -> str:
    from lass.learning.predictors.linear import MODELLED
    from lass.tagging.distributed.sizes import Shape, cut

    run, given = part("distributed", "pipeline")["2"], LargeFit()
    workers = given.nodes * given.cores
    times = given.items / run["items"]
    models = min(given.tags, MODELLED) / min(run["tags"], MODELLED)
    planned = cut(
        Shape(int(given.items), given.tags, 10, given.feature_bytes), workers, None, given.memory_gib
    )
    rows, hours = [], 0.0
    for name, stage in run["stages"].items():
        factor = times**2 if name == "neighbours" else times * (models if name == "linear models" else 1.0)
        core_seconds = stage["seconds"] * factor
        moved = (stage["read"] + stage["written"]) * times
        clock = core_seconds / workers + moved / (given.nodes * given.bytes_a_second)
        hours += clock / 3600
        rounds = max(1, round(stage["tasks"] / run["parts"]))
        rows.append([
            name, f"{rounds}", f"{number(core_seconds / 3600)}", f"{number(moved / 1e12)}",
            f"{number(clock / 60)}",
        ])  # fmt: skip
    rows.append(["**together**", "", "", "", f"**{number(60 * hours)}** ({number(hours)} hours)"])
    head = ("stage", "rounds", "core hours", "TB read and written", "minutes")
    return page(
        f"Assumed: {given.items:,.0f} items x {given.tags:,} tags; {given.nodes} nodes with {given.cores} "
        f"cores, one worker a core with {given.memory_gib:g} GiB; {given.bytes_a_second / 1e9:g} GB/s a node "
        f"to the shared tables; {given.feature_bytes:g} bytes of features an item. That makes "
        f"{planned.parts:,} parts of {given.items / planned.parts:,.0f} rows. Of the neighbours seconds grow "
        "with the square of the items.",
        listed(head, rows),
    )


# Clusters, segments, Studio


@block
def clustering() -> str:
    sets = part("clustering", "sets")
    modes = "Laplacian K-modes"

    def cell(found: Row, method: str) -> str:
        value = f"{found[method]['ami']:.3f}"
        return f"**{value}**" if value == f"{max(one['ami'] for one in found.values()):.3f}" else value

    rows = [
        [method, *(cell(found, method) for found in sets.values())] for method in next(iter(sets.values()))
    ]
    rows.append([f"{modes} takes", *(seconds(found[modes]["seconds"]) for found in sets.values())])
    return page(listed(("adjusted mutual information", *sets), rows), origin("clustering"))


@block
def segmentation() -> str:
    results = load("segmentation")
    columns = {
        "512 x 512 pixels, three labels": lambda row: f"`{row['name']}`",
        "seconds": lambda row: number(row["seconds"]),
        "labels agree": lambda row: f"{100 * row['agreement']:.2f} %",
        "largest error": lambda row: number(row["largest_error"], 1),
        "rows miss one by": lambda row: number(row["row_sums_off"], 1),
    }
    other = [[name, seconds(spent)] for name, spent in results["seconds"].items() if "share" not in name]
    return page(
        table(results["rows"], columns), listed(("`lass.segment`", "takes"), other), origin("segmentation")
    )


@block
def studio() -> str:
    results = part("studio", "results")

    def changed(found: Row, *names: str) -> Row:
        return either(either(found, "annotations", "words"), *names)

    def trained(found: Row) -> str:
        spent = changed(found, "trained", "learnt")
        return f"{seconds(spent['median_ms'] / 1e3)} ({seconds(spent['p95_ms'] / 1e3)})"

    def used(found: Row) -> str:
        if "memory" not in found:
            return f"{found['memory_mb']:,.0f} MB"
        opened, ended = (found[when]["resident_mb"] for when in ("opened_memory", "memory"))
        return f"{opened:,.0f}, {ended:,.0f} MB"

    columns: dict[str, Callable[[Row], str]] = {
        "items x tags": lambda found: shape(found, "items", "tags"),
        "first view": lambda found: f"{min(found['first_view']):.1f} to {max(found['first_view']):.1f} s",
        "key to next question (95 %)": lambda found: seconds(found["review"]["p95_ms"] / 1e3),
        "annotation stored": lambda found: f"{changed(found, 'stored')['median_ms']:.0f} ms",
        "model updated (95 %)": trained,
        "slider": lambda found: f"{1e3 / found['slider']['median_ms']:.0f} frames a second",
        "memory after opening, and at the end": used,
    }
    clients = either(results["bundled"], "clients_at_once", "crowd")
    slowest = max(value["p95_ms"] for value in clients.values() if isinstance(value, dict))
    lost = clients["lost"] + clients["failed"] + len(clients["errors"])
    return page(
        table(results.values(), columns),
        f"{clients['clients']} clients reading and tagging for {clients['seconds']:.0f} s: {lost} errors or "
        f"lost annotations, 95 % of all answers within {slowest:.0f} ms.",
        origin("studio"),
    )


# Our own beside the library


@block
def why_neighbours() -> str:
    wanted = {
        "approximate": "ours, approximate",
        "exact": "ours, exact",
        "usearch float16, all columns": "usearch, float16",
        "usearch float32, all columns": "usearch, float32",
        "scikit-learn": "scikit-learn, exact",
    }
    rows = {row["method"]: row for row in load("graphs")["rows"] if row["set"] == "mnist-70k"}
    return page(
        f"{load('graphs')['neighbours']} nearest neighbours of 70,000 digits with 784 columns.",
        table([{**rows[name], "method": shown} for name, shown in wanted.items()], SEARCH),
        origin("graphs"),
    )


def why(name: str) -> Callable[[], str]:
    def made() -> str:
        found = part("why_our_own", "parts", name)
        rows = [
            [row, *(cell if isinstance(cell, str) else number(cell) for cell in cells)]
            for row, cells in found["rows"].items()
        ]
        return page(found["what"], listed(("", *found["columns"]), rows), origin("why_our_own"))

    return made


BLOCKS |= {f"why_{name}": why(name) for name in ("coarsening", "threads", "tfidf")}


# The summary, short in the README and with its origins at the head of the page


class Summary(NamedTuple):
    """What was measured, ours, the peer's, how many times faster or better, and where the result is."""

    what: str
    ours: str
    peer: str
    ratio: str
    origin: tuple[str, ...]


def _slashes(values: Iterable[float]) -> str:
    return " / ".join(f"{value:.1f}" for value in values)


def quality_rows() -> list[Summary]:
    sets = part("suggestions", "results")
    half = [compare(name, "a", "map") for name in sets]
    digits = "few_labels_10000"
    found = {one.name: one for one in methods(digits)}
    peers = [one for one in found.values() if not one.ours and not one.knows_sizes]
    sized = [one for one in found.values() if not one.ours and one.knows_sizes]
    best, best_sized = (
        [min(one.errors[place] for one in some) for place in range(len(label_counts(digits)))]
        for some in (peers, sized)
    )

    def errors(values: list[float]) -> str:
        return " / ".join(f"{values[label_counts(digits).index(count)]:.1f}" for count in ("1", "10")) + " %"

    firsts = part("first_tags", "results")
    tagged = [
        [first_tags_cell(found[count]) for found in firsts.values()] for count in ("3", "8", "20", "40")
    ]
    ours, others = ([mean(one[place] for one in row) for row in tagged] for place in (0, 1))
    fitted = {row["name"]: row for row in part("estimator", "fit70k", "rows")}
    own, other = fitted["LASS"], fitted["LabelSpreading, knn"]
    return [
        Summary(
            f"half of all tags hidden and found again, mean average precision over {len(sets)} collections",
            f"{mean(one.ours for one in half):.1f} %",
            f"{mean(one.best for one in half):.1f} %, the best baseline of each collection",
            f"+{mean(one.difference for one in half):.1f} points", ("suggestions",),
        ),
        Summary(
            f"3 / 8 / 20 / 40 items tagged, mean average precision over {len(firsts)} collections",
            f"{_slashes(ours)} %", f"{_slashes(others)} %, the best baseline of each cell", "",
            ("first_tags",),
        ),
        Summary(
            "error on 10,000 digits, 1 / 10 labels a class", errors(found["LASS"].errors),
            f"{errors(best)}, best of {len(peers)} learners", "", (digits,),
        ),
        Summary(
            "the same, class sizes given", errors(found["LASS, sizes, sharpened"].errors),
            f"{errors(best_sized)}, best of {len(sized)} learners", "", (digits,),
        ),
        Summary(
            "70,000 digits, from pixels to classes",
            f"{number(own['seconds'])} s, {own['error']:.1f} % error",
            f"{number(other['seconds'])} s, {other['error']:.1f} %, scikit-learn's LabelSpreading",
            times(other["seconds"] / own["seconds"]), ("estimator", "fit70k"),
        ),
    ]  # fmt: skip


def speed_rows() -> list[Summary]:
    star, count = geometric_mean("admm-star")
    cells = part("solvers", "cells")
    ours = [row[OURS]["seconds"] for row in cells.values()]
    small = cells[SMALL[1]]
    name, generic = best_generic(small) or ("", {})
    warm, faster = ([row[key] for row in load("update")["rows"]] for key in ("warm", "ratio"))
    search = {row["method"]: row for row in load("graphs")["rows"] if row["set"] == "mnist-70k"}
    near, usearch = search["approximate"], search["usearch float16, all columns"]
    million, large = load("gpu")["million"], load("sparse_assignments")["cases"]["large"]["sparse"]
    return [
        Summary(
            f"certified solution of {count} problems", f"{seconds(min(ours))} to {seconds(max(ours))}",
            "the paper's ADMM", times(*star), ("solvers",),
        ),
        Summary(
            f"certified solution, {shape(part('solvers', 'sets', SMALL[1]), 'N', 'K')}",
            seconds(small[OURS]["seconds"]),
            f"{seconds(generic['seconds'])}, {name}, the best generic solver",
            times(generic["seconds"] / small[OURS]["seconds"]), ("solvers",),
        ),
        Summary(
            "one more label, medians of several problems",
            f"{seconds(min(warm))} to {seconds(max(warm))}", "solving anew",
            f"{number(min(faster))} to {times(max(faster))}", ("update",),
        ),
        Summary(
            "ten nearest neighbours of 70,000 digits",
            f"{seconds(near['seconds'])}, recall {near['recall']:.3f}",
            f"{seconds(usearch['seconds'])}, recall {usearch['recall']:.3f}, usearch",
            times(usearch["seconds"] / near["seconds"]), ("graphs",),
        ),
        Summary(
            f"{shape(million, 'N', 'K')} on a GPU", seconds(million["whole_call_seconds"]),
            f"{seconds(million['cpu_seconds'])} on {million['cpu_cores']} cores beside it",
            times(million["cpu_over_whole_call"]), ("gpu",),
        ),
        Summary(
            f"{shape(large)}, sparse, relative gap {number(large['relative_gap'])}",
            f"{seconds(large['seconds'])}, {number(large['peak_gib'])} GiB",
            "does not fit densely", "", ("sparse_assignments",),
        ),
    ]  # fmt: skip


SHORT: dict[str, Callable[[Row], str]] = {
    "measured": lambda row: row.what,
    "LASS": lambda row: f"**{row.ours}**",
    "compared with": lambda row: row.peer,
    "": lambda row: row.ratio,
}


@block
def summary_short() -> str:
    return table([*quality_rows(), *speed_rows()], SHORT)


@block
def summary() -> str:
    columns = SHORT | {
        "machine": lambda row: machine(part(*row.origin)["machine"]),
        "date": lambda row: part(*row.origin)["machine"]["date"],
        "commit": lambda row: part(*row.origin)["machine"]["commit"],
    }
    return table([*quality_rows(), *speed_rows()], columns)


# Attacks


@block
def soak() -> str:
    """What ``make soak`` found, a row a part that was run."""
    results = part("soak", "results")
    kinds: dict[str, tuple[str, Callable[[Row], str]]] = {
        "kills": (
            "writers and fits killed at random times",
            lambda found: f"{found['killed']:,} killed, {found['acknowledged']:,} annotations acknowledged",
        ),
        "writers": (
            "programs annotating and fitting at once",
            lambda found: (
                f"{found['writers']} writers beside {count(found['fits'], 'fit')}, "
                f"{found['acknowledged']:,} annotations acknowledged"
            ),
        ),
        "disk": (
            "a disk that is full",
            lambda found: (
                f"filled {found['turns']:,} times, {found.get('acknowledged', 0):,} annotations "
                f"acknowledged, {found['read']:,} commands that read"
            ),
        ),
        "histories": (
            "random histories against a model in plain Python",
            lambda found: f"{found['histories']:,} histories of up to 40 steps",
        ),
        "clients": (
            "people at once in the Studio, on the same cores",
            lambda found: (
                f"{found['clients']} clients on {found['items']:,} items, "
                f"{found['annotations']:,} annotations, 95 % stored within "
                f"{seconds(1e-3 * found['annotate']['p95_ms'])}"
            ),
        ),
        "problems": (
            "random problems judged in rational arithmetic",
            lambda found: f"{found['problems']:,} problems with weights over {found['decades']:.0f} decades",
        ),
        "ordinary": (
            "the same at ordinary scales",
            lambda found: f"{found['problems']:,} problems with weights over at most one decade",
        ),
        "studio": (
            "the Studio killed at random times while four people annotate",
            lambda found: f"{found['killed']} killed, {found['acknowledged']:,} annotations acknowledged",
        ),
        "forms": (
            "updates, stopped solves, fixed rows, facets, tensors and category totals, likewise",
            lambda found: f"{found['problems']:,} problems with weights over {found['decades']:.0f} decades",
        ),
    }
    rows = [(kinds[name], found) for name, found in results.items() if "skipped" not in found]
    columns: dict[str, Callable[[Row], str]] = {
        "attack": lambda row: row[0][0],
        "how much": lambda row: row[0][1](row[1]),
        "lost or wrong": lambda row: f"{row[1]['lost']:,}",
        "took": lambda row: f"{row[1]['seconds']:,.0f} s",
    }
    if any("measured_at" in found for _, found in rows):
        columns["of another commit"] = lambda row: row[1].get("measured_at", "")
    return page(table(rows, columns), origin("soak"))


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
