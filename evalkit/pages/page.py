"""Pieces that pages share: estimates, comparisons, slices, tiers, definitions, findings, the origin
of the page.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import Any, NamedTuple

import pandas as pd

from evalkit import numbers
from evalkit.arrays import Record
from evalkit.catalogue.metric import Metric, MetricAtK
from evalkit.drawing import figures, paragraphs, plots, shown, tables
from evalkit.drawing.cells import (
    Cell,
    Head,
    interval_cell,
    link,
    metric_head as head_with_title,
    minus,
    number_cell,
    p_cell,
    slice_cell,
)
from evalkit.drawing.columns import count, text, value
from evalkit.drawing.figures import Figure
from evalkit.drawing.paragraphs import muted_paragraph
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.numbers import (
    count_with_noun,
    estimate,
    number,
    of_frame,
    percent,
    plural,
    sample_sizes,
    signed_number,
    signed_percent,
)
from evalkit.pages import pieces, slice_comparison, texts
from evalkit.studies import diagnostics, provenance
from evalkit.studies.reliability import Reliability
from evalkit.studies.study import Study

PAIRS_DRAWN = 30  # more than a figure holds
SIDES = {
    "high": ("second better", "first better"),
    "low": ("first better", "second better"),
    "neither": None,
    "unknown": ("second higher", "first higher"),
}
NAMES_PER_METHOD = 12  # metrics, or metrics of systems, that the line on interval methods names
ROWS_IN_SIGHT = 12  # rows of a table that the page shows before the reader opens it
WIDEST = 8  # metrics of a table
CURVES = 8  # more systems than a figure of curves, or of slices, holds
Row = Sequence[Cell | str]
WINS_HEAD = "{units} won / tied / lost"  # the head of a column


def places(study: Study, label: str) -> int:
    """The decimals of a metric: the same for every system."""
    return of_frame(study.estimates[study.estimates["metric"] == label], "value")


def difference_places(study: Study) -> int:
    """The decimals of differences in the metric that decides: the same for every pair."""
    rows = study.comparisons[study.comparisons["metric"] == study.primary_metric.label]
    return of_frame(rows, "difference")


def estimates(
    study: Study,
    caption: str,
    note: str = "",
    *,
    metrics: Sequence[MetricAtK] | None = None,
    references: Sequence[Row] = (),
) -> Html:
    """The table of estimates: systems in rows, best first, metrics in columns, the best value of
    each bold. If there are more metrics than a screen holds, several tables share them.

    metrics: None for all of the report. references: rows below the systems for comparison, such as
    that of a constant prediction.
    """
    columns = study.settings.metrics if metrics is None else metrics
    labels = [chosen.label for chosen in columns]
    marks = significance_marks(study)
    order = _order_in_table(study)
    if order != list(study.order):
        note = f"The baseline stands first. {note}"
    cells_by_metric = {label: _cells_by_system(study, label) for label in labels}
    rows: list[Row] = []
    for name in order:
        # a letter stands for each system; behind a value are those of the systems that it beats
        row = [Cell(name, differs_from=marks.letters.get(name, ""))]
        for label, cells in cells_by_metric.items():
            row.append(replace(cells[name], differs_from=marks.letters_of_beaten(label, name)))
        rows.append(row)
    bold = ""
    if len(order) > 1 and any(chosen.metric.direction for chosen in columns):
        bold = "Bold: the best value. "
        if references:
            bold = f"Bold: the best value of the {plural(study.compared_noun, 2)}. "
    methods_text = _interval_methods(study.estimates[study.estimates["metric"].isin(labels)])
    below = f"{bold}↑ higher is better, ↓ lower is better. Intervals: {methods_text}. {note}"
    heads: list[Head] = [study.compared_noun]
    heads += [metric_head(chosen) for chosen in columns]
    rows += references
    return tables.split_table(caption, heads, rows, below.strip(), marks=marks.words, widest=WIDEST)


def _order_in_table(study: Study) -> list[str]:
    """The systems, best first. A baseline that would be among the folded rows of a long table comes
    first instead, so that the reader sees it.
    """
    order = list(study.order)
    baseline = study.settings.baseline
    folded_systems = order[ROWS_IN_SIGHT:]
    if baseline not in folded_systems:
        return order
    order.remove(baseline)
    return [baseline, *order]


def _interval_methods(estimates: pd.DataFrame) -> str:
    """The methods of the intervals: only the name if all have the same method; else each method
    behind the metrics that use it. If the systems of a metric differ, the metric stands for the
    method of most of them, and "metric of system" for each exception.

    >>> rows = [("mrr", "a", "t"), ("mrr", "b", "t"), ("mrr", "c", "Wilson")]
    >>> _interval_methods(pd.DataFrame(rows, columns=["metric", "system", "method"]))
    'mrr: t; mrr of c: Wilson'
    """
    metrics = estimates["metric"]
    exceptions = metrics + " of " + estimates["system"].map(numbers.shortened_name)
    has_usual_method = diagnostics.usual(estimates)
    names = metrics.where(has_usual_method, exceptions)
    names_by_method = names.groupby(estimates["method"], sort=False).unique()
    if len(names_by_method) < 2:
        return "".join(names_by_method.index)  # "" without estimates
    texts = []
    for method, method_names in names_by_method.items():
        texts.append(f"{numbers.listed(method_names, NAMES_PER_METHOD)}: {method}")
    return "; ".join(texts)


@dataclass(frozen=True)
class Marks:
    """Marks of significance for a printed table.

    letters: of each system; empty if none is marked. beats: by metric and system the systems than
    which this one is significantly better. words: what a letter means.
    """

    letters: Mapping[str, str]
    beats: Mapping[tuple[str, str], frozenset[str]]
    words: str

    def letters_of_beaten(self, label: str, name: str) -> str:
        """The letters of the systems than which this one is significantly better by a metric."""
        beaten = self.beats.get((label, name), frozenset())
        return "".join(letter for system, letter in self.letters.items() if system in beaten)


def significance_marks(study: Study) -> Marks:
    """The superscript letters of significant wins for the table of estimates: a letter for each
    system, and by metric and system the systems that it beats. No marks without comparisons, or if
    there are more systems than letters.
    """
    has_letter_for_each = 1 < len(study.order) <= len(ascii_lowercase)
    if study.comparisons.empty or not has_letter_for_each:
        return Marks({}, {}, "")
    wins: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in study.comparisons.itertuples():
        if row.verdict == "better":
            wins[row.metric, row.first].add(row.second)
        elif row.verdict == "worse":
            wins[row.metric, row.second].add(row.first)
    words = (
        f"A superscript letter marks a significant win over the {study.compared_noun} with that "
        f"letter (adjusted p below {diagnostics.alpha(study):.2g})."
    )
    letters = dict(zip(study.order, ascii_lowercase, strict=False))
    return Marks(letters, {key: frozenset(losers) for key, losers in wins.items()}, words)


def metric_link(chosen: MetricAtK) -> Cell:
    """A metric's name with a link to its definition."""
    return Cell(
        chosen.label, markup=link(chosen.label, numbers.definition_anchor(chosen.metric.name))
    )


def metric_head(chosen: MetricAtK) -> Cell:
    """The head of a column of a metric: the name that people say with a link to its definition,
    which of its values are better, and below it the name in the catalogue.
    """
    title = chosen.metric.title or chosen.label
    place = numbers.definition_anchor(chosen.metric.name)
    return head_with_title(title, chosen.label, _ARROWS[chosen.metric.best], place)


def evidence(study: Study) -> str:
    """The id of the table of comparisons that the first screen speaks of."""
    return f"table-{numbers.anchor(study.differences_are)}"


def reference_row(
    study: Study, name: str, value_of: Callable[[MetricAtK], float], metrics: Sequence[MetricAtK]
) -> list[Cell]:
    """A row below the systems: what needs no model, with the decimals of each metric.

    name: the head of the row. value_of: returns its value of a metric.
    """
    row = [Cell(name, kind="muted")]
    for chosen in metrics:
        cell = number_cell(value_of(chosen), places(study, chosen.label))
        row.append(replace(cell, kind="muted"))
    return row


def sample(study: Study, rows: int) -> str:
    """The sample size for a caption: "n = 400 rows", or, if the parameter unit names a column of
    units, "n = 80 users with 400 rows".
    """
    if not study.settings.unit:
        return f"n = {count_with_noun(rows, 'row')}"
    units = sample_sizes([diagnostics.most_units(study)], study.unit_name)
    return f"{units} with {count_with_noun(rows, 'row')}"


# behind a metric: which of its values are better
_ARROWS = {"high": "\u00a0↑", "low": "\u00a0↓", "neither": "", "unknown": ""}


def _cells_by_system(study: Study, label: str) -> dict[str, Cell]:
    """By system the cell of its estimate of a metric. Of several systems, those whose value prints
    like the best one are bold; the n is added if systems differ in it, or if it is not the
    largest n of the report.
    """
    rows = study.estimates[study.estimates["metric"] == label]
    decimals = places(study, label)
    best_value = diagnostics.best_value(study, label)
    best_text = None
    if len(rows) > 1 and not math.isnan(best_value):
        best_text = number(best_value, decimals)
    usual_n = None  # each n is added
    if rows["n"].nunique() == 1:
        usual_n = diagnostics.most_units(study)
    cells = {}
    for row in rows.to_dict("records"):
        cell = _estimate_cell(row, decimals, usual_n)
        if cell.text == best_text:
            cell = replace(cell, kind="lead")
        cells[row["system"]] = cell
    return cells


def _estimate_cell(row: Record, decimals: int, usual_n: int | None) -> Cell:
    """The cell of an estimate with its interval; below it the range of values that other orders of
    tied items would give, if they matter, and its n.

    row: of `study.estimates`. usual_n: an n that need not be printed; None to print any.
    """
    cell = interval_cell(row["value"], row["low"], row["high"], places=decimals)
    below = []
    if diagnostics.depends_on_tied_order(row):
        worst = number(row["worst_ties"], decimals)
        best = number(row["best_ties"], decimals)
        below.append(f"ties {worst} to {best}")
    if row["n"] != usual_n:
        below.append(f"n = {row['n']:,}")
    return replace(cell, below=tuple(below))


def rows_of_figure(study: Study, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the systems that a figure has room for."""
    return frame[frame["system"].isin(systems_of_figure(study))]


def systems_of_figure(study: Study) -> list[str]:
    """The systems that a figure has room for: the best ones, and the baseline."""
    return study.figure_systems(CURVES).names


def omission_sentence(study: Study) -> str:
    """A sentence for a caption that a figure, which has room for `CURVES` systems, shows the best
    ones only, and the baseline; "" if it shows all.
    """
    chosen = study.figure_systems(CURVES)
    if len(chosen.names) == len(study.order):
        return ""
    all_systems = count_with_noun(len(study.order), study.compared_noun)
    baseline = " and the baseline" if chosen.with_baseline else ""
    return f" The best {chosen.n_best} of {all_systems}{baseline}."


def test_methods_in_words(comparisons: pd.DataFrame) -> str:
    """How comparisons were tested, each way once."""
    return "; or ".join(dict.fromkeys(comparisons["method"]))


def comparisons(study: Study) -> Html:
    """The tables of the comparisons of all pairs: by the metric that decides, then, folded, by the
    others, and that of the two best candidates. The arms of an A/B test have one table for all
    metrics. If there are no comparisons by the metric that decides, the reason stands in place.
    """
    if study.comparisons.empty:
        return _why_not_compared(study)
    is_deciding = study.comparisons["metric"] == study.primary_metric.label
    deciding = study.comparisons[is_deciding]
    unfolded = deciding if len(deciding) else study.comparisons
    note = (
        f"p by {test_methods_in_words(unfolded)}; adjusted by Holm over "
        f"{study.adjusted_over}.{_equivalence(study, unfolded)}"
    )
    if deciding.empty:
        other_metrics = _comparison_table(
            study, unfolded, "the other metrics", note, names_metrics=True
        )
        return stack([_why_not_compared(study), other_metrics])
    if "lift" in study.comparisons:  # arms of an A/B test
        note = f"{note} {texts.sentence('page.arms_note')}"
        return _comparison_table(
            study, study.comparisons, "all metrics", note, evidence(study), names_metrics=True
        )
    first = _comparison_table(study, deciding, study.primary_metric.label, note, evidence(study))
    further = study.comparisons[~is_deciding]
    further_table = _comparison_table(study, further, "the other metrics", names_metrics=True)
    fold = folded("The other metrics", further_table)
    return stack([first, fold, _comparison_of_best_two(study)])


def _equivalence(study: Study, frame: pd.DataFrame) -> str:
    """A sentence, for tables with an equivalent pair, on the interval that shows equivalence: two
    one-sided tests at α use the interval of level 1 − 2α, which is not the printed one.
    """
    if "equivalent" not in set(frame["verdict"]):
        return ""
    deciding_level = percent(diagnostics.equivalence_level(study))
    printed_level = percent(study.settings.level)
    margin = f"±{study.settings.margin:g}"
    return (
        f" Equivalent: the {deciding_level} interval lies within {margin}; the {printed_level} "
        f"interval printed may reach beyond it."
    )


def _comparison_of_best_two(study: Study) -> Html:
    """The table that compares the two best candidates, systems other than the baseline; empty if
    there are no two. The family of tests, which is with the baseline, does not contain this pair.
    """
    note = (
        "Adjusted p: p times the number of pairs of candidates, as the pair was picked by its "
        "values."
    )
    what = f"{study.primary_metric.label} of the two {diagnostics.words(study).best} candidates"
    return _comparison_table(
        study, diagnostics.best_two_comparison(study), what, note, f"{evidence(study)}-best-two"
    )


def _why_not_compared(study: Study) -> Html:
    """Why there is no comparison by the metric that decides; empty for one system, of which the
    first screen says it.
    """
    if len(study.order) == 1:
        return Html("")
    return muted_paragraph(
        texts.sentence("page.nothing", study, several=plural(study.compared_noun, 2))
    )


# the heads of p-values of comparisons that some reports have, by their names in the frame
_P_VALUE_HEADS = {
    "max_t": "max-T p",
    "p_t": "t-test p",
    "p_fisher": "Fisher p",
}


def _comparison_table(
    study: Study,
    frame: pd.DataFrame,
    metrics: str,
    note: str = "",
    place: str = "",
    *,
    names_metrics: bool = False,
) -> Html:
    """The table of some comparisons of a study; empty without any.

    frame: rows of `study.comparisons`. metrics: what the caption calls their metrics. place: the id
    of the table. names_metrics: True if each row names its metric.
    """
    if not len(frame):
        return Html("")
    n = sample_sizes(frame["n"], study.unit_name)
    caption = (
        f"{study.differences_are} in {metrics} with {percent(study.settings.level)} interval, {n}"
    )
    places_by_metric = {}
    for metric, comparisons in frame.groupby("metric"):
        places_by_metric[metric] = of_frame(comparisons, "difference")
    arrows = {chosen.label: _ARROWS[chosen.metric.best] for chosen in study.settings.metrics}
    printed_n = frame["n"] if frame["n"].nunique() > 1 else math.nan
    frame = frame.assign(
        printed_n=printed_n,
        places=frame["metric"].map(places_by_metric),
        arrow=frame["metric"].map(arrows),
    )
    heads = _comparison_heads(study, frame)
    if not names_metrics:
        heads.remove("metric")
    rows = []
    for row in frame.head(tables.LISTED).to_dict("records"):
        cells = _comparison_cells(row)
        rows.append([cells[head] for head in heads])
    marks = f"*: statistically significant, adjusted p below {diagnostics.alpha(study):.2g}."
    note = tables.truncation_note(len(frame), note)
    head_texts = [head.format(units=plural(study.unit_name, 2)) for head in heads]
    return tables.table(caption, head_texts, rows, note, place, marks=marks)


def _comparison_heads(study: Study, frame: pd.DataFrame) -> list[str]:
    """The heads of a table of comparisons. Some columns are only there if the frame, rows of
    `study.comparisons`, has their numbers: further p-values, wins, and those of A/B tests.
    """
    heads = ["first − second", "metric", "difference", "p", "adjusted p"]
    heads += [head for column, head in _P_VALUE_HEADS.items() if column in frame]
    if "wins" in frame:
        heads.append(WINS_HEAD)
    if "lift" in frame:
        heads += ["lift", "detectable difference"]
    if "adjusted_first" in frame:
        heads.append("adjusted means")
    return [*heads, "verdict"]


def adjusted_means(row: Record, places: int) -> list[str]:
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
    return signed_number(value) if math.isinf(value) else signed_percent(value, places)


def _comparison_cells(row: Record) -> dict[str, Cell]:
    """The cells of a comparison, by the head of their column.

    row: of `study.comparisons`, with three more fields: printed_n, the n that stands beside the
    difference (NaN for none); places, the decimals; arrow, the mark of the metric's direction.
    """
    difference = interval_cell(
        row["difference"], row["low"], row["high"], signed_number, row["places"]
    )
    n_text = "" if math.isnan(row["printed_n"]) else f"n = {row['n']:,}"
    # better, worse, higher or lower
    is_significant = row["verdict"] in diagnostics.OPPOSITE_VERDICT
    mark = "*" if is_significant else ""
    cells = {
        "first − second": minus(row["first"], row["second"]),
        "metric": Cell(f"{row['metric']}{row['arrow']}", kind="text"),
        "difference": replace(difference, beside=n_text, differs_from=mark, kind="one"),
        "p": p_cell(row["p"]),
        "adjusted p": p_cell(row["adjusted"]),
        "verdict": Cell(diagnostics.verdict_of(row), kind="text one"),
    }
    for column, head in _P_VALUE_HEADS.items():
        if column in row:
            cells[head] = p_cell(row[column])
    if "wins" in row:
        cells[WINS_HEAD] = _wins_cell(row)
    if "lift" in row:
        is_one_sided = math.isinf(row["low"]) or math.isinf(row["high"])
        show = _percent_or_infinite if is_one_sided else signed_percent
        cells["lift"] = interval_cell(row["lift"], row["lift_low"], row["lift_high"], show)
        cells["detectable difference"] = number_cell(
            row["detectable"], row["places"], signed_number
        )
    if "adjusted_first" in row:
        means = adjusted_means(row, row["places"])
        cells["adjusted means"] = Cell(" and ".join(means) or "–")
    return cells


def _wins_cell(row: Record) -> Cell:
    """How many units the first system won, tied and lost; – where they are not counted."""
    if math.isnan(row["wins"]):
        return Cell("–")
    return Cell(f"{row['wins']:,.0f} / {row['ties']:,.0f} / {row['losses']:,.0f}")


@pieces.where(lambda study: len(study.headline))
def differences(study: Study) -> Figure | Html:
    """The figure of the differences of all pairs by the primary metric, a row per pair with its
    interval, and a line at 0; of very many pairs the first.
    """
    pairs = len(study.comparisons[study.comparisons["metric"] == study.primary_metric.label])
    which_intervals = " of each pair alone" if pairs > 1 else ""
    which_verdicts = ", after adjustment" if pairs > 1 else ""
    caption = (
        f"{study.differences_are} in {study.primary_metric.label}, {percent(study.settings.level)} "
        f"intervals{which_intervals}; {colours_of(study)}{which_verdicts}."
    )
    if pairs > PAIRS_DRAWN:
        caption += f" The first {PAIRS_DRAWN} of {pairs:,} pairs."
    return forest(study, plots.intervals, caption, zero=True)


class Colour(NamedTuple):
    """A colour: its name for readers, and its code."""

    name: str
    code: str


VERDICT_COLOURS = {
    "better": Colour("green", plots.COLOURS[2]),
    "worse": Colour("orange", plots.COLOURS[1]),
    "higher": Colour("light blue", plots.COLOURS[4]),
    "lower": Colour("purple", plots.COLOURS[3]),
    "equivalent": Colour("blue", plots.COLOURS[0]),
    "cannot tell": Colour("grey", plots.GREY),
}


def colours_of(study: Study) -> str:
    """What the colours of `draw_equivalence_forest` mean, in words."""
    verdicts = set(_first_pairs(study)["verdict"])
    return ", ".join(
        f"{colour.name}: {verdict}"
        for verdict, colour in VERDICT_COLOURS.items()
        if verdict in verdicts
    )


def _first_pairs(study: Study) -> pd.DataFrame:
    """The comparisons by the metric that decides of as many pairs as a figure holds."""
    return study.comparisons[study.comparisons["metric"] == study.primary_metric.label].head(
        PAIRS_DRAWN
    )


def forest(study: Study, draw: figures.Draw, caption: str, **options: Any) -> Figure:
    """A figure of the first pairs' differences by the primary metric: a row per pair with its
    interval, in the colour of its verdict.

    draw: `plots.intervals` or `plots.draw_equivalence_forest`, called with a frame of the rows and
    `options`.
    """
    pairs = _first_pairs(study)
    frame = pd.DataFrame({"name": pair_names(pairs), "value": pairs["difference"]})
    frame["low"] = pairs["low"]
    frame["high"] = pairs["high"]
    frame["colour"] = [VERDICT_COLOURS[verdict].code for verdict in pairs["verdict"]]
    label = (
        f"difference in {study.primary_metric.label} ({sample_sizes(pairs['n'], study.unit_name)})"
    )
    options |= {"label": label, "sides": sides_of(study)}
    return figures.figure_drawn_by(
        draw,
        frame,
        caption=caption,
        says=differences_in_words(frame),  # for readers who cannot see the figure
        height=figures.figure_height(len(frame)),
        **options,
    )


def sides_of(study: Study) -> plots.SideMeanings | None:
    """The words at the two sides of 0 on an axis of differences, first − second: such as "second
    better" below 0 and "first better" above. A one-sided question has "" on the side that its test
    cannot show. None if neither high nor low values are better.
    """
    sides = SIDES[study.primary_metric.metric.best]
    if sides is None:
        return None
    below, above = sides
    alternative = study.settings.alternative
    can_show_decrease = alternative.counts(-1)
    can_show_increase = alternative.counts(1)
    if not can_show_decrease:
        below = ""
    if not can_show_increase:
        above = ""
    return below, above


def differences_in_words(frame: pd.DataFrame) -> str:
    """Differences with their intervals, as "a − b: +0.02 [+0.01, +0.03]; …". frame: `name`,
    `value`, `low`, `high`.
    """
    decimals = of_frame(frame, "value")
    texts = []
    for row in frame.itertuples(index=False):
        text = estimate(row.value, row.low, row.high, signed_number, decimals)
        texts.append(f"{row.name}: {text}")
    return "; ".join(texts)


def pair_names(comparisons: pd.DataFrame) -> list[str]:
    """The names of comparisons, each with its n where they differ in it."""
    names: list[str] = (comparisons["first"] + " − " + comparisons["second"]).tolist()
    if comparisons["n"].nunique() == 1:
        return names
    return [f"{name} (n = {n:,})" for name, n in zip(names, comparisons["n"], strict=True)]


@pieces.where(lambda study: len(study.by_segment))
def segments(study: Study) -> Html:
    """The primary metric by slice, and the headline pair's difference in each; then the slices of a
    column beside each other.
    """
    beside_others = stack(slice_comparison.against_rest(study))
    comparison = folded("Which slices differ from the others", beside_others)
    return stack([_by_segment(study), comparison])


def _by_segment(study: Study) -> Html:
    """The table of slices, a row for each: its n, each system's estimate of the primary metric, and
    the difference of the headline's pair, if there is one, with its adjusted p.
    """
    frame = rows_of_figure(study, study.by_segment)
    # of each slice the rows of its systems
    slices = [rows for _, rows in frame.groupby(["segment", "slice"], sort=False)]
    heads = ["slice", "n", *systems_of_figure(study)]
    note = ""
    value_places = of_frame(frame, "value")
    difference_places = None
    if "difference" in frame:
        heads += [" − ".join(study.headline_systems), "adjusted p"]
        tested = _tested_slices(frame, len(slices))
        note = f"p is Holm-adjusted over {tested}; the intervals are not adjusted."
        difference_places = of_frame(frame, "difference", "difference_low", "difference_high")
    table_rows = [_slice_cells(study, rows, value_places, difference_places) for rows in slices]
    caption = (
        f"{study.primary_metric.label} by segment with {percent(study.settings.level)} interval"
    )
    note = f"{note}{_where_listed(study)}{omission_sentence(study)}".strip()
    return tables.table(caption, heads, table_rows, note)


def _tested_slices(frame: pd.DataFrame, slices: int) -> str:
    """The slices that were tested, in words; all, unless some have too few units for it."""
    tested = diagnostics.tested(frame)
    return f"the {tested} slices with a test" if tested < slices else f"the {slices} slices"


def _where_listed(study: Study) -> str:
    """Where the page lists what is in a slice; "" if it does not."""
    if study.listed_under:
        return f" A slice opens its part of the list under “{study.listed_under}”."
    return ""


def _slice_cells(
    study: Study, rows: pd.DataFrame, value_places: int, difference_places: int | None
) -> list[Cell]:
    """The cells of one slice: its name, n, each system's estimate, and the tested difference.

    rows: of `study.by_segment`, one per system, each with the difference of the same pair.
    difference_places: its decimals; None without a difference.
    """
    first = rows.iloc[0]
    n = max(rows["n"])
    # the list on the page that the name of the slice leads to
    listing = numbers.LISTED if study.listed_under else ""
    cells = [
        slice_cell(first["segment"], first["slice"], listing),
        Cell(f"{n:,}", numbers=(n,)),
    ]
    for _, row in rows.iterrows():
        cells.append(interval_cell(row["value"], row["low"], row["high"], places=value_places))
    if difference_places is not None:
        difference = interval_cell(
            first["difference"],
            first["difference_low"],
            first["difference_high"],
            signed_number,
            difference_places,
        )
        cells += [difference, p_cell(first["adjusted"])]
    return cells


@pieces.where(lambda study: len(study.by_segment))
def segment_plot(study: Study) -> Figure | Html:
    """The figure of the slices: a panel for each, all with the same axes, with the value and
    interval of each system by the primary metric.
    """
    frame = rows_of_figure(study, study.by_segment)
    frame = frame.assign(slice=frame["segment"] + " " + frame["slice"])
    label = study.primary_metric.label
    level = percent(study.settings.level)
    panels = frame["slice"].nunique()
    caption = f"{label} by segment, {level} intervals; same axes, n in each title."
    caption += omission_sentence(study)
    height = figures.figure_height(frame["system"].nunique(), head=1.0, each=0.17)
    return figures.row(
        plots.draw_small_multiples,
        frame,
        caption=caption,
        height=height,
        panels=panels,
        label=label,
    )


def metric_definitions(study: Study) -> list[tuple[str, str]]:
    """The name and the definition of each metric that is shown, from the catalogue."""
    metrics = dict.fromkeys(chosen.metric for chosen in study.settings.metrics)
    return [(metric.name, _definition(metric)) for metric in metrics]


def test_definitions(study: Study) -> list[tuple[str, str]]:
    """How systems are compared; empty for a single system."""
    return [("tests", study.tests_text)] if len(study.order) > 1 else []


def _definition(metric: Metric) -> str:
    """The definition of a metric: its formula, where it is undefined, what it equals, and its
    reference, as far as the catalogue has them.
    """
    statements = [metric.formula]
    if metric.undefined:
        statements.append(f"Undefined where {metric.undefined}")
    if metric.equals:
        statements.append(f"Equals: {metric.equals}")
    if metric.reference:
        statements.append(metric.reference)
    return " ".join(f"{statement}." for statement in statements)


def tiers(study: Study) -> Html:
    """The table of ranks: of each of three systems or more the ranks that the data do not rule out,
    its tier, and how many units would separate it from the next system. Empty if there are fewer
    systems, or if they cannot be ranked.
    """
    frame = diagnostics.rank_tiers(study)
    if frame.empty:
        return Html("")
    lowest = frame["rank_low"].astype(str)
    highest = frame["rank_high"].astype(str)
    ranks = (lowest + "–" + highest).where(lowest != highest, lowest)  # "2–4", or "2"
    frame = frame.assign(rank=ranks)
    columns = {
        "system": text("system"),
        study.primary_metric.label: value("value"),
        "rank": text("rank"),
        "tier": count("tier", str),
        f"{plural(study.unit_name, 2)} to tell it from the next": count("needed", _two_digits),
    }
    note = texts.sentence("page.tiers_note", level=percent(study.settings.level))
    if study.settings.baseline:
        note += (
            " All pairs are more tests than the comparisons with the baseline, so ranks separate "
            "fewer systems."
        )
    in_tiers = f"{len(frame)} systems in {count_with_noun(int(frame['tier'].max()), 'tier')}"
    caption = f"Ranks by {study.primary_metric.label}: {in_tiers}"
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


def findings(study: shown.ShownStudy) -> Html:
    """What to know of the data before the numbers."""
    return shown.findings(shown.page(study.report).every_finding(study))


def reliability_diagrams(
    draw: figures.Draw,
    reliability: Reliability,
    words: Mapping[str, Sequence[str]],
    caption: str,
    **options: Any,
) -> Figure:
    """A figure of reliability diagrams side by side, one per name in `words`.

    draw: `curve_plots.reliability` or `curve_plots.means`. reliability: the curves, their bands and
    the distribution of the predictions. words: by name, the lines of text in the diagram's corner.
    options: further arguments of `draw`.
    """
    # the text of the figure for readers who cannot see it
    sentences = [f"{name}: {', '.join(lines)}" for name, lines in words.items()]
    return figures.row(
        draw,
        reliability.curve,
        reliability.bands,
        reliability.spread,
        caption=caption,
        says=f"{'; '.join(sentences)}.",
        words=words,
        **options,
    )


def origin(study: Study) -> Html:
    """The command that makes the page again, the inputs, the parameters, the versions."""
    return paragraphs.provenance(provenance.table(study, study.settings.metrics))


pieces.offer_pieces(__name__)
