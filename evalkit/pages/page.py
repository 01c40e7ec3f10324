"""Pieces that pages share: estimates, comparisons, slices, tiers, definitions, findings, the origin
of the page.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import Any

import pandas as pd

from evalkit import numbers
from evalkit.catalogue.metric import Metric, MetricAtK
from evalkit.drawing import figures, plots, shown, tables
from evalkit.drawing.figures import Figure
from evalkit.drawing.tables import (
    Cell,
    Html,
    count,
    number_cell,
    p_cell,
    text,
    value,
    with_interval,
)
from evalkit.numbers import (
    counted,
    estimate,
    number,
    of_frame,
    percent,
    plural,
    sample_sizes,
    signed,
    signed_percent,
)
from evalkit.pages import pieces, slice_comparison, texts
from evalkit.studies import diagnostics, provenance
from evalkit.studies.reliability import Reliability
from evalkit.studies.study import Study

DRAWN = 30  # more than a figure holds
SIDES = {
    "high": ("second better", "first better"),
    "low": ("first better", "second better"),
    "neither": None,
    "unknown": ("second higher", "first higher"),
}
METHODS_OF = 12  # metrics, or metrics of systems, that the line on interval methods names
IN_SIGHT = 12  # rows of a table that the page shows before the reader opens it
WIDEST = 8  # metrics of a table
CURVES = 8  # more systems than a figure of curves, or of slices, holds
Row = Sequence[Cell | str]


def places(study: Study, label: str) -> int:
    """The decimals of a metric: the same for every system."""
    return of_frame(study.estimates[study.estimates["metric"] == label], "value")


def difference_places(study: Study) -> int:
    """The decimals of differences in the metric that decides: the same for every pair."""
    rows = study.comparisons[study.comparisons["metric"] == study.primary.label]
    return of_frame(rows, "difference")


def estimates(
    study: Study,
    caption: str,
    note: str = "",
    *,
    metrics: Sequence[MetricAtK] | None = None,
    more: Sequence[Row] = (),
) -> Html:
    """Systems in rows, best first, metrics in columns; the best value bold. `more` rows stand below
    the systems. More metrics than a screen holds take several tables of like width.
    """
    columns = study.settings.metrics if metrics is None else metrics
    marks = beaten(study)
    order = _in_sight(study)
    if order != list(study.order):
        note = f"The baseline stands first. {note}"
    cells = [_cells(study, chosen.label) for chosen in columns]
    rows = [
        [
            Cell(name, mark=marks.letters.get(name, "")),
            *(
                replace(of[name], mark=marks.of(chosen.label, name))
                for of, chosen in zip(cells, columns, strict=True)
            ),
        ]
        for name in order
    ]
    heads = [metric_head(chosen) for chosen in columns]
    of_columns = study.estimates[
        study.estimates["metric"].isin([chosen.label for chosen in columns])
    ]
    best = ""
    if len(order) > 1 and any(chosen.metric.direction for chosen in columns):
        best = f"Bold: the best value{f' of the {plural(study.compares, 2)}' if more else ''}. "
    below = f"{best}↑ higher is better, ↓ lower is better. Intervals: {_ways(of_columns)}. {note}"
    return tables.split_table(
        caption,
        [study.compares, *heads],
        [*rows, *more],
        below.strip(),
        marks=marks.words,
        widest=WIDEST,
    )


def _in_sight(study: Study) -> list[str]:
    """The systems from the best on; the baseline first where it would be folded away."""
    order = list(study.order)
    baseline = study.settings.baseline
    if baseline not in order[IN_SIGHT:]:
        return order
    return [baseline, *(name for name in order if name != baseline)]


def _ways(estimates: pd.DataFrame) -> str:
    """The method of the intervals, or each method after the metrics that it is for, and the systems
    that differ.

    >>> rows = [("mrr", "a", "t"), ("mrr", "b", "t"), ("mrr", "c", "Wilson")]
    >>> _ways(pd.DataFrame(rows, columns=["metric", "system", "method"]))
    'mrr: t; mrr of c: Wilson'
    """
    names = estimates["metric"].where(
        diagnostics.usual(estimates),
        estimates["metric"] + " of " + estimates["system"].map(numbers.shortened),
    )
    whose = names.groupby(estimates["method"], sort=False).unique()
    if len(whose) < 2:
        return "".join(whose.index)
    return "; ".join(
        f"{numbers.listed(some, METHODS_OF)}: {method}" for method, some in whose.items()
    )


@dataclass(frozen=True)
class Marks:
    """Marks of significance for a printed table: each system's letter, and by metric and system
    whom it beats.
    """

    letters: Mapping[str, str]
    beats: Mapping[tuple[str, str], frozenset[str]]
    words: str

    def of(self, label: str, name: str) -> str:
        """The letters of the systems than which this one is significantly better."""
        return "".join(
            self.letters[other]
            for other in self.letters
            if other in self.beats.get((label, name), ())
        )


def beaten(study: Study) -> Marks:
    """The marks of the comparisons of a study; none of more systems than there are letters."""
    if not 1 < len(study.order) <= len(ascii_lowercase) or not len(study.comparisons):
        return Marks({}, {}, "")
    wins: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in study.comparisons.itertuples():
        sides = {"better": (row.first, row.second), "worse": (row.second, row.first)}
        if row.verdict in sides:
            winner, loser = sides[row.verdict]
            wins[row.metric, winner].add(loser)
    than = (
        f"A superscript letter marks a significant win over the {study.compares} with that letter"
    )
    words = f"{than} (adjusted p below {diagnostics.alpha(study):.2g})."
    letters = dict(zip(study.order, ascii_lowercase, strict=False))
    return Marks(letters, {key: frozenset(losers) for key, losers in wins.items()}, words)


def metric_link(chosen: MetricAtK) -> Cell:
    """A metric's name with a link to its definition."""
    return Cell(
        chosen.label, markup=numbers.link(chosen.label, numbers.definition(chosen.metric.name))
    )


def metric_head(chosen: MetricAtK) -> Cell:
    """The head of a column of a metric: the name that people say with a link to its definition,
    which of its values are better, and below it the name in the catalogue.
    """
    title = chosen.metric.title or chosen.label
    place = numbers.definition(chosen.metric.name)
    return tables.metric_head(title, chosen.label, _ARROWS[chosen.metric.best], place)


def evidence(study: Study) -> str:
    """The id of the table of comparisons that the first screen speaks of."""
    return f"table-{numbers.anchor(study.differences_are)}"


def reference(
    study: Study, name: str, of: Callable[[MetricAtK], float], metrics: Sequence[MetricAtK]
) -> list[Cell]:
    """A row below the systems: what needs no model, with the decimals of each metric."""
    cells = [number_cell(of(chosen), places(study, chosen.label)) for chosen in metrics]
    return [replace(cell, kind="muted") for cell in (Cell(name), *cells)]


def sample(study: Study, rows: int) -> str:
    """What the estimates are over, for a caption: rows, or the units that were named and their
    rows.
    """
    if not study.settings.unit:
        return f"n = {counted(rows, 'row')}"
    return (
        f"{sample_sizes([diagnostics.most_units(study)], study.unit_name)} with "
        f"{counted(rows, 'row')}"
    )


_ARROWS = {
    "high": "\u00a0↑",
    "low": "\u00a0↓",
    "neither": "",
    "unknown": "",
}  # behind a metric: which of its values are better


def _cells(study: Study, label: str) -> dict[str, Cell]:
    """The estimate of a metric of each system, the best in bold, with its n where that is not the
    one of all.
    """
    rows = study.estimates[study.estimates["metric"] == label]
    same = places(study, label)
    best = diagnostics.best_value(study, label)
    lead = number(best, same) if len(rows) > 1 and best == best else None
    usual = diagnostics.most_units(study) if rows["n"].nunique() == 1 else None
    return {row["system"]: _estimate(row, same, usual, lead) for row in rows.to_dict("records")}


def _estimate(row: Mapping[Any, Any], same: int, usual: int | None, lead: str | None) -> Cell:
    """One estimate. same: its decimals. usual: the n that is not printed. lead: the best value as
    it is printed.
    """
    cell = with_interval(row["value"], row["low"], row["high"], places=same)
    below = []
    if diagnostics.moved_by_ties(row):
        below.append(
            f"ties {' to '.join(number(row[end], same) for end in ('worst_ties', 'best_ties'))}"
        )
    if row["n"] != usual:
        below.append(f"n = {row['n']:,}")
    return replace(cell, below=tuple(below), kind="lead" if cell.text == lead else "")


def drawn(study: Study, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the systems that a figure has room for."""
    return frame[frame["system"].isin(systems_of_figure(study))]


def systems_of_figure(study: Study) -> list[str]:
    """The systems that a figure has room for: the best ones, and the baseline."""
    return study.figure_systems(CURVES).names


def few(study: Study) -> str:
    """That a figure has the best systems only, where there are more."""
    chosen = study.figure_systems(CURVES)
    if len(chosen.names) == len(study.order):
        return ""
    every = counted(len(study.order), study.compares)
    beside = " and the baseline" if chosen.with_baseline else ""
    return f" The best {chosen.n_best} of {every}{beside}."


def methods(comparisons: pd.DataFrame) -> str:
    """How comparisons were tested, each way once."""
    return "; or ".join(dict.fromkeys(comparisons["method"]))


def comparisons(study: Study) -> Html:
    """Every pair: first on the metric that decides, then folded on the others."""
    if not len(study.comparisons):
        return _nothing(study)
    deciding = study.comparisons["metric"] == study.primary.label
    unfolded = study.comparisons[deciding] if deciding.any() else study.comparisons
    note = (
        f"p by {methods(unfolded)}; adjusted by Holm over "
        f"{study.adjusted_over}.{_equivalence(study, unfolded)}"
    )
    if not deciding.any():
        return tables.stack(
            [
                _nothing(study),
                _comparison_table(study, unfolded, "the other metrics", note, many=True),
            ]
        )
    if "lift" in study.comparisons:
        every = f"{note} {texts.said('page.arms_note')}"
        return _comparison_table(
            study, study.comparisons, "all metrics", every, evidence(study), many=True
        )
    first = _comparison_table(study, unfolded, study.primary.label, note, evidence(study))
    rest = _comparison_table(
        study, study.comparisons[~deciding], "the other metrics", "", many=True
    )
    return tables.stack([first, tables.folded("The other metrics", rest), _best_two(study)])


def _equivalence(study: Study, frame: pd.DataFrame) -> str:
    """Which interval shows equivalence, where a pair is equivalent."""
    if "equivalent" not in set(frame["verdict"]):
        return ""
    inside = percent(diagnostics.equivalence_level(study))
    usual = percent(study.settings.level)
    margin = f"±{study.settings.margin:g}"
    return (
        f" Equivalent: the {inside} interval lies within {margin}; the {usual} interval printed "
        f"may reach beyond it."
    )


def _best_two(study: Study) -> Html:
    """The comparison of the two best candidates, which is no part of the family."""
    note = (
        "Adjusted p: p times the number of pairs of candidates, as the pair was picked by its "
        "values."
    )
    what = f"{study.primary.label} of the two {diagnostics.words(study).best} candidates"
    return _comparison_table(
        study, diagnostics.best_two(study), what, note, f"{evidence(study)}-best-two"
    )


def _nothing(study: Study) -> Html:
    """Why there is no comparison by the metric that decides; of one system the first screen says
    it.
    """
    several = plural(study.compares, 2)
    if len(study.order) > 1:
        return tables.paragraph(texts.said("page.nothing", study, several=several))
    return Html("")


_EXTRAS = {
    "max_t": "max-T p",
    "p_t": "t-test p",
    "p_fisher": "Fisher p",
    "wins": "{units} won / tied / lost",
}
_OF_ARMS = {"lift": "lift", "detectable": "detectable difference"}
_ADJUSTED = {"adjusted_first": "adjusted means"}


def _comparison_table(
    study: Study,
    frame: pd.DataFrame,
    metrics: str,
    note: str,
    place: str = "",
    *,
    many: bool = False,
) -> Html:
    """metrics: what the caption says they are of. many: whether each row names its own. Empty
    without rows.
    """
    if not len(frame):
        return Html("")
    of = sample_sizes(frame["n"], study.unit_name)
    caption = (
        f"{study.differences_are} in {metrics} with {percent(study.settings.level)} interval, {of}"
    )
    same = {metric: of_frame(part, "difference") for metric, part in frame.groupby("metric")}
    few = frame["n"] if frame["n"].nunique() > 1 else float("nan")
    arrows = {chosen.label: _ARROWS[chosen.metric.best] for chosen in study.settings.metrics}
    frame = frame.assign(
        few=few, places=frame["metric"].map(same), arrow=frame["metric"].map(arrows)
    )
    extras = _EXTRAS | (_OF_ARMS if "lift" in frame else {}) | _ADJUSTED
    extra = [
        name.format(units=plural(study.unit_name, 2))
        for column, name in extras.items()
        if column in frame
    ]
    columns = [
        "first − second",
        *(["metric"] if many else []),
        "difference",
        "p",
        "adjusted p",
        *extra,
        "verdict",
    ]
    rows = [_comparison_row(row, many=many) for row in frame.head(tables.LISTED).to_dict("records")]
    marks = f"*: statistically significant, adjusted p below {diagnostics.alpha(study):.2g}."
    return tables.table(
        caption, columns, rows, tables.note_of_first(len(frame), note), place, marks=marks
    )


def adjusted_means(row: Mapping[str, Any], places: int) -> list[str]:
    """The means of both arms after CUPED as they are printed: they differ by the printed
    difference. Empty if they are undefined.
    """
    if math.isnan(row["adjusted_first"]):
        return []
    second = numbers.printed(row["adjusted_second"], places)
    first = second + numbers.printed(row["difference"], places)
    return [number(first, places), number(second, places)]


def _percent_or_infinite(value: float, places: int | None = None) -> str:
    """A relative difference, or the limit that a one-sided interval does not have."""
    return signed(value) if math.isinf(value) else signed_percent(value, places)


def _comparison_row(row: dict[str, Any], *, many: bool) -> list[Cell]:
    cells = [tables.minus(row["first"], row["second"])]
    cells += [Cell(f"{row['metric']}{row['arrow']}", kind="text")] if many else []
    few = f"n = {row['n']:,}" if row["few"] == row["few"] else ""
    difference = with_interval(row["difference"], row["low"], row["high"], signed, row["places"])
    mark = "*" if row["verdict"] in diagnostics.TURNED else ""
    cells.append(replace(difference, beside=few, mark=mark, kind="one"))
    cells += [
        p_cell(row[name]) for name in ("p", "adjusted", "max_t", "p_t", "p_fisher") if name in row
    ]
    if "wins" in row:
        units = [row[name] for name in ("wins", "ties", "losses")]
        counted = not math.isnan(row["wins"])
        cells.append(Cell(" / ".join(f"{count:,.0f}" for count in units) if counted else "–"))
    if "lift" in row:
        one_sided = math.isinf(row["low"]) or math.isinf(row["high"])
        show = _percent_or_infinite if one_sided else signed_percent
        cells.append(with_interval(row["lift"], row["lift_low"], row["lift_high"], show))
        cells.append(number_cell(row["detectable"], row["places"], signed))
    if "adjusted_first" in row:
        means = adjusted_means(row, row["places"])
        cells.append(Cell(" and ".join(means) if means else "–"))
    return [*cells, Cell(diagnostics.verdict_of(row), kind="text one")]


@pieces.where(lambda study: len(study.headline))
def differences(study: Study) -> Figure | Html:
    """The primary differences of all pairs with their intervals, around 0."""
    every = study.comparisons[study.comparisons["metric"] == study.primary.label]
    alone, adjusted = (" of each pair alone", ", after adjustment") if len(every) > 1 else ("", "")
    caption = (
        f"{study.differences_are} in {study.primary.label}, {percent(study.settings.level)} "
        f"intervals{alone}"
    )
    more = f" The first {DRAWN} of {len(every):,} pairs." if len(every) > DRAWN else ""
    return forest(
        study, plots.intervals, f"{caption}; {colours_of(study)}{adjusted}.{more}", zero=True
    )


COLOURED = {
    "better": ("green", plots.COLOURS[2]),
    "worse": ("orange", plots.COLOURS[1]),
    "higher": ("light blue", plots.COLOURS[4]),
    "lower": ("purple", plots.COLOURS[3]),
    "equivalent": ("blue", plots.COLOURS[0]),
    "cannot tell": ("grey", plots.GREY),
}


def colours_of(study: Study) -> str:
    """What the colours of `forest` mean, in words."""
    found = set(_first_pairs(study)["verdict"])
    return ", ".join(
        f"{colour}: {verdict}" for verdict, (colour, _) in COLOURED.items() if verdict in found
    )


def _first_pairs(study: Study) -> pd.DataFrame:
    return study.comparisons[study.comparisons["metric"] == study.primary.label].head(DRAWN)


def forest(study: Study, draw: Any, caption: str, **options: Any) -> Figure:
    """The primary differences of the first pairs with their intervals, in the colours of their
    verdicts.
    """
    pairs = _first_pairs(study)
    frame = pd.DataFrame({"name": pair_names(pairs), "value": pairs["difference"]})
    frame["low"], frame["high"] = pairs["low"], pairs["high"]
    frame["colour"] = [COLOURED[verdict][1] for verdict in pairs["verdict"]]
    label = f"difference in {study.primary.label} ({sample_sizes(pairs['n'], study.unit_name)})"
    options |= {"label": label, "sides": sides_of(study)}
    return figures.picture(
        draw, frame, caption=caption, says=listed(frame), height=figures.tall(len(frame)), **options
    )


def sides_of(study: Study) -> plots.Sides | None:
    """What a difference below 0 and one above 0 mean, "" for one that cannot be shown; None if
    there is no better direction.
    """
    named = SIDES[study.primary.metric.best]
    if named is None:
        return None
    alternative = study.settings.alternative
    below, above = named
    return below if alternative.counts(-1) else "", above if alternative.counts(1) else ""


def listed(frame: pd.DataFrame) -> str:
    """Differences and their intervals in words."""
    rows = frame.itertuples(index=False)
    same = of_frame(frame, "value")
    return "; ".join(
        f"{row.name}: {estimate(row.value, row.low, row.high, signed, same)}" for row in rows
    )


def pair_names(comparisons: pd.DataFrame) -> list[str]:
    """The names of comparisons, each with its n where they differ in it."""
    names = (comparisons["first"] + " − " + comparisons["second"]).tolist()
    if comparisons["n"].nunique() == 1:
        return names
    return [f"{name} (n = {n:,})" for name, n in zip(names, comparisons["n"], strict=True)]


@pieces.where(lambda study: len(study.by_segment))
def segments(study: Study) -> Html:
    """The primary metric by slice, and the headline pair's difference in each; then the slices of a
    column beside each other.
    """
    beside_others = tables.stack([*slice_comparison.against_rest(study)])
    folded = tables.folded("Which slices differ from the others", beside_others)
    return tables.stack([_by_segment(study), folded])


def _by_segment(study: Study) -> Html:
    """The primary metric by slice, and the headline pair's difference in each."""
    tested = "difference" in study.by_segment
    frame = drawn(study, study.by_segment)
    systems = systems_of_figure(study)
    columns = [
        "slice",
        "n",
        *systems,
        *([" − ".join(study.opponents), "adjusted p"] if tested else []),
    ]
    parts = [part for _, part in frame.groupby(["segment", "slice"], sort=False)]
    note = (
        f"p is Holm-adjusted over {_tests(frame, len(parts))}; the intervals are not adjusted."
        if tested
        else ""
    )
    same = of_frame(frame, "value")
    differ = of_frame(frame, "difference", "difference_low", "difference_high") if tested else None
    rows = [_slice_row(study, part, same, differ) for part in parts]
    caption = f"{study.primary.label} by segment with {percent(study.settings.level)} interval"
    return tables.table(caption, columns, rows, f"{note}{_inside(study)}{few(study)}".strip())


def _tests(frame: pd.DataFrame, every: int) -> str:
    """The slices that were tested, of all where some have too few units for it."""
    tested = diagnostics.tested(frame)
    return f"the {tested} slices with a test" if tested < every else f"the {every} slices"


def _inside(study: Study) -> str:
    """Where a page lists what is in a slice."""
    if study.listed_under:
        return f" A slice opens its part of the list under “{study.listed_under}”."
    return ""


def _slice_row(study: Study, part: pd.DataFrame, places: int, differ: int | None) -> list[Cell]:
    first = part.iloc[0]
    n = max(part["n"])
    link = numbers.LISTED if study.listed_under else ""
    cells = [
        tables.slice_cell(first["segment"], first["slice"], link),
        Cell(f"{n:,}", numbers=(n,)),
    ]
    cells += [
        with_interval(r["value"], r["low"], r["high"], places=places) for _, r in part.iterrows()
    ]
    if differ is not None:
        limits = with_interval(
            first["difference"], first["difference_low"], first["difference_high"], signed, differ
        )
        cells += [limits, p_cell(first["adjusted"])]
    return cells


@pieces.where(lambda study: len(study.by_segment))
def segment_plot(study: Study) -> Figure | Html:
    """Small multiples of the slices, same axes."""
    frame = drawn(study, study.by_segment)
    frame = frame.assign(slice=frame["segment"] + " " + frame["slice"])
    label = study.primary.label
    level = percent(study.settings.level)
    panels = frame["slice"].nunique()
    caption = f"{label} by segment, {level} intervals; same axes, n in each title.{few(study)}"
    height = figures.tall(frame["system"].nunique(), head=1.0, each=0.17)
    return figures.row(
        plots.multiples, frame, caption=caption, height=height, panels=panels, label=label
    )


def metric_definitions(study: Study) -> list[tuple[str, str]]:
    """Exactly the metrics shown, from the catalogue."""
    return [
        (metric.name, _definition(metric))
        for metric in dict.fromkeys(c.metric for c in study.settings.metrics)
    ]


def test_definitions(study: Study) -> list[tuple[str, str]]:
    """How systems are compared; empty for a single system."""
    return [("tests", study.tests_are)] if len(study.order) > 1 else []


def _definition(metric: Metric) -> str:
    undefined = [f"Undefined where {metric.undefined}"] if metric.undefined else []
    equals = [f"Equals: {metric.equals}"] if metric.equals else []
    reference = [metric.reference] if metric.reference else []
    return " ".join(f"{part}." for part in [metric.formula, *undefined, *equals, *reference])


def tiers(study: Study) -> Html:
    """The rank interval and the tier of each of three systems or more."""
    if not len(frame := diagnostics.rank_tiers(study)):
        return Html("")
    level = percent(study.settings.level)
    several = frame["tier"].max()
    ranks = frame["rank_low"].astype(str) + "–" + frame["rank_high"].astype(str)
    frame = frame.assign(
        rank=ranks.where(frame["rank_low"] != frame["rank_high"], frame["rank_low"].astype(str))
    )
    columns = {"system": text("system"), study.primary.label: value("value"), "rank": text("rank")}
    apart = f"{plural(study.unit_name, 2)} to tell it from the next"
    columns |= {"tier": count("tier", str), apart: count("needed", _two_digits)}
    note = texts.said("page.tiers_note", level=level)
    if study.settings.baseline:
        note += (
            " All pairs are more tests than the comparisons with the baseline, so ranks separate "
            "fewer systems."
        )
    caption = (
        f"Ranks by {study.primary.label}: {len(frame)} systems in {several} "
        f"tier{'s' if several > 1 else ''}"
    )
    return tables.of_rows(caption, frame, columns, note)


MANY_UNITS = 10_000  # more than a study that is planned would have


def _two_digits(units: float) -> str:
    """A number of units to two digits, of many that they are; a dash for none.

    >>> _two_digits(337_153.0), _two_digits(2_249.0)
    ('> 10,000', '2,200')
    """
    if units > MANY_UNITS:
        return f"> {MANY_UNITS:,}"
    return "–" if math.isnan(units) else f"{float(f'{units:.2g}'):,.0f}"


def findings(study: shown.Shown) -> Html:
    """What to know of the data before the numbers."""
    return shown.findings(shown.page(study.report).every_finding(study))


def diagrams(
    draw: Any, drawn: Reliability, words: Mapping[str, Sequence[str]], caption: str, **options: Any
) -> Figure:
    """Reliability diagrams side by side, each with words of its own."""
    data = (drawn.curve, drawn.bands, drawn.spread)
    said = (f"{name}: {', '.join(of)}" for name, of in words.items())
    return figures.row(
        draw, *data, caption=caption, says=f"{'; '.join(said)}.", words=words, **options
    )


def origin(study: Any) -> Html:
    """The command that makes the page again, the inputs, the parameters, the versions."""
    return tables.provenance(provenance.table(study, study.settings.metrics))


pieces.offered(__name__)
