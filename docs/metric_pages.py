"""The page of each metric: what the catalogue and the simulations say of it.

`docs/metrics` holds the pages with a text written by hand, to which the build adds the facts; the
pages of all other metrics are made by the build, in `docs/metrics/others`.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

from evalkit import page
from evalkit.catalogue.lookup import TABLES, TITLE_OF_STRUCTURE
from evalkit.catalogue.metric import Metric, MetricAtK
from evalkit.statistics import inference
from evalkit.statistics.statistic import Layout

DOCS = Path(__file__).resolve().parent
WRITTEN, OTHERS = DOCS / "metrics", DOCS / "metrics" / "others"
PAGE_NAMES = {"pass": "pass_at_k", "pass^": "pass_hat_k"}
BEST = {"high": "higher is better", "low": "lower is better", "neither": "neither end is better"}
REPORTS = {
    "rankings": "ranking",
    "counts": "classification",
    "classes": "classification",
    "labels": "classification",
    "forecasts": "rating",
    "draws": "significance",
    "interleaving": "interleaving",
}
FIRST_CELL = re.compile(r"^\| (?P<code>`(?P<name>\w+\^?)[^`]*`) \|", re.MULTILINE)
INTERVALS, TESTS = "Intervals: coverage in percent", "Tests: rejected in percent"
EVERY_FIGURE = "[Every figure](/trust_tables.md)"
SIMULATED = "[The tables of all simulations](/trust_tables.md) show which metrics were."


class Term(NamedTuple):
    """A term of the glossary: its name in English and in Chinese, what it means, and the page that
    says more, from the folder of docs without its suffix; empty if there is none.
    """

    name: str
    chinese: str
    meaning: str
    page: str


@cache
def terms() -> list[Term]:
    """The terms of docs/terms.toml, in its order; those of the pages of reports have their meaning
    there.
    """
    of_reports = {term.name: term.meaning for term in page.TERMS}
    table = tomllib.loads((DOCS / "terms.toml").read_text(encoding="utf-8"))
    return [
        Term(name, term["chinese"], term.get("meaning") or of_reports[name], term.get("page", ""))
        for name, term in table.items()
    ]


def title_of(name: str) -> str:
    """The title of a page of docs. name: from that folder, without its suffix."""
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("# ")


def glossary_entries() -> Iterator[str]:
    """The terms as paragraphs of docs/glossary.md."""
    for term in terms():
        link = f" See [{title_of(term.page)}]({term.page}.md)." if term.page else ""
        yield f"**{term.name}** ({term.chinese}): {term.meaning}{link}"


def page_name(metric: str) -> str:
    """The name of the page of a metric, without a folder.

    >>> page_name("pass^"), page_name("roc_auc")
    ('pass_hat_k', 'roc_auc')
    """
    return PAGE_NAMES.get(metric, metric)


@cache
def metrics_by_page() -> dict[str, list[Metric]]:
    """The metrics of each page: one name may stand in several tables of the catalogue."""
    pages: dict[str, list[Metric]] = {}
    for table in TABLES.values():
        for metric in table.values():
            pages.setdefault(page_name(metric.name), []).append(metric)
    return pages


def is_written(name: str) -> bool:
    """True if the page has a text written by hand."""
    return (WRITTEN / f"{name}.md").exists()


def link_written(table: str) -> str:
    """The tables of the catalogue, each name linked to its page if that is written by hand."""
    return _linked(table, lambda name: f"metrics/{name}.md" if is_written(name) else None)


def link_others(table: str) -> str:
    """The tables of the catalogue, each name that has no link yet linked to its page."""
    return _linked(table, lambda name: f"metrics/others/{name}.md")


def _linked(table: str, address: Callable[[str], str | None]) -> str:
    """The tables, the name in each first cell linked to the address of its page, if it has one."""

    def link(match: re.Match[str]) -> str:
        target = address(page_name(match["name"]))
        return f"| [{match['code']}]({target}) |" if target else match[0]

    return FIRST_CELL.sub(link, table)


def write_others() -> None:
    """Write the pages of the metrics that have no text, and remove those of earlier builds."""
    OTHERS.mkdir(parents=True, exist_ok=True)
    pages = {name: metrics for name, metrics in metrics_by_page().items() if not is_written(name)}
    for path in OTHERS.glob("*.md"):
        if path.stem not in pages:
            path.unlink()
    for name, metrics in pages.items():
        heading = "" if len(metrics) == 1 else "## Definitions\n\n"
        text = f"# {metrics[0].title}\n\n{heading}{facts(metrics)}\n"
        path = OTHERS / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def with_facts(page_of_metric: str, text: str) -> str:
    """The text of a page, with the facts as its last section."""
    metrics = metrics_by_page()[page_of_metric]
    chinese = "; ".join(
        f"{term.name} ({term.chinese})"
        for term in terms()
        if term.page == f"metrics/{page_of_metric}"
    )
    last = f"\nIn Chinese: {chinese}.\n" if chinese else ""
    heading = "Definition" if len(metrics) == 1 else "Definitions"
    return f"{text}\n## {heading}\n\n{facts(metrics, plain=len(metrics) > 1)}\n{last}"


def facts(metrics: list[Metric], *, plain: bool = True) -> str:
    """The rows of the catalogue in Markdown, a section each where there are several. plain: with a
    description in plain words.
    """
    items = ["\n".join(_items(metric, plain=plain)) for metric in metrics]
    if len(metrics) == 1:
        return items[0]
    return "\n\n".join(
        f"### {TITLE_OF_STRUCTURE[metric.structure]}: `{_label(metric)}`\n\n{of_metric}"
        for metric, of_metric in zip(metrics, items, strict=True)
    )


def _label(metric: Metric) -> str:
    """The name with @k where the metric takes a cut-off."""
    if metric.cut == "never":
        return metric.name
    return f"{metric.before_cut}k" if metric.cut == "must" else f"{metric.name}[@k]"


def _items(metric: Metric, *, plain: bool) -> Iterator[str]:
    """The facts of a metric, a list item each."""
    if plain and metric.plain:
        words = metric.plain.replace("k = {k}", "k").format(k="k", top="the first k")
        yield f"- **In plain words**: {words}"
    yield f"- **Name**: `{_label(metric)}`{_other_names(metric)}"
    yield f"- **Formula**: {metric.formula.replace('|', chr(92) + '|')}"
    yield f"- **Range**: {_end(metric.low)} to {_end(metric.high)}; {BEST[metric.best]}"
    if metric.undefined:
        yield f"- **Undefined where**: {metric.undefined}"
    if metric.equals:
        yield f"- **Equals**: {metric.equals}"
    sample = _sample(metric)
    interval = _method(metric, sample.layout, lambda method: method.interval_is)
    test = _method(metric, sample.layout, lambda method: method.test_is)
    yield f"- **Interval** ({sample.words}): {interval}"
    yield f"- **Test of a difference** ({sample.words}): {test}"
    yield f"- **Measured**: {_measured(metric)}"


def _other_names(metric: Metric) -> str:
    names = ", ".join(f"`{alias.replace('@', '@k')}`" for alias in metric.aliases)
    return f"; also {names}" if names else ""


def _end(value: float) -> str:
    return f"{value:g}".replace("inf", "∞").replace("-", "−")


class Sample(NamedTuple):
    """The usual sample of a metric: its layout, and what it is in words."""

    layout: Layout
    words: str


def _sample(metric: Metric) -> Sample:
    """The sample for which the page names the interval and the test."""
    if metric.structure == "interleaving":
        return Sample(Layout.DIVIDED, "two rankers that share the credit")
    if metric.needs == "scores of units":
        return Sample(Layout.CLUSTERED, "independent units")
    independent = {"rankings": "independent queries", "draws": "independent units"}
    return Sample(
        Layout.PLAIN, independent.get(metric.structure, "independent rows without weights")
    )


def _method(metric: Metric, layout: Layout, name_of: inference.NameOf) -> str:
    """The method as the catalogue of methods calls it."""
    number = 1 if metric.cut == "must" else None
    return inference.method_names([MetricAtK(metric, number)], layout, name_of).partition(": ")[2]


class Figure(NamedTuple):
    """A percentage of the simulations: in which table, of which number of which metric, and in
    which simulated population.
    """

    table: str
    structure: str
    number: str
    label: str
    world: str
    percent: float


def _structure(report: str, world: str) -> str:
    """The table of the catalogue to which the metrics of a world belong."""
    if report != "classification":
        return next(name for name, of_table in REPORTS.items() if of_table == report)
    if "label" in world:
        return "labels"
    return "classes" if "class" in world and not world.startswith("two classes") else "counts"


@cache
def figures() -> list[Figure]:
    """The figures of docs/trust_tables.md."""
    text = (DOCS / "trust_tables.md").read_text(encoding="utf-8")
    found: list[Figure] = []
    report = table = ""
    worlds: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip(" *") for cell in line.strip("| ").split(" | ")]
        if line.startswith("## "):
            report = line[3:]
        elif line.startswith("**"):
            table = line.strip("*")
        elif line.startswith("| | "):
            worlds = cells
        elif line.startswith("| ") and report in REPORTS.values():
            number, _, label = cells[0].partition(": ")
            found += [
                Figure(table, _structure(report, world), number, label, world, float(percent))
                for world, percent in zip(worlds, cells[1:], strict=True)
            ]
    return found


def _measured(metric: Metric) -> str:
    """What the simulations found of the intervals and the test of a metric."""
    number = {"never": "", "may": r"(@[\d.]+)?", "must": r"[\d.]+"}[metric.cut]
    start = metric.before_cut if metric.cut == "must" else metric.name
    label = re.compile(re.escape(start) + number)
    of_metric = [
        figure
        for figure in figures()
        if figure.structure == metric.structure and label.fullmatch(figure.label)
    ]
    coverage = [f for f in of_metric if (f.table, f.number) == (INTERVALS, "value")]
    level = [f for f in of_metric if (f.table, f.number) == (TESTS, "difference")]
    if not coverage or not level:
        return f"this metric was not simulated under this name. {SIMULATED}"
    lowest = min(coverage, key=lambda figure: figure.percent)
    highest = max(level, key=lambda figure: figure.percent)
    return (
        f"in simulated populations the 95% interval contained the true value in "
        f"{_range(coverage)}; lowest: {lowest.world}), and the 5% test rejected a true null "
        f"hypothesis in {_range(level)}; highest: {highest.world}). {EVERY_FIGURE}"
    )


def _range(some: list[Figure]) -> str:
    """The lowest and the highest percentage, and in brackets, left open, of how many."""
    percent = [figure.percent for figure in some]
    if len(percent) == 1:
        return f"{percent[0]}% of the samples (one population"
    middle = f"{len(percent)} populations, median {median(percent):.1f}%"
    return f"{min(percent)} to {max(percent)}% of the samples ({middle}"
