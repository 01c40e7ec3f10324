"""Weak slices, as every page shows them: what was found, the effects on rows that were not
searched, and what would have been found.
"""

from collections.abc import Iterator

import pandas as pd

from evalkit.drawing import figures, plots, tables
from evalkit.drawing.cells import Cell, interval_cell, p_cell
from evalkit.drawing.figures import Figure
from evalkit.drawing.paragraphs import muted_paragraph
from evalkit.drawing.pieces import Html, stack
from evalkit.numbers import (
    count_with_noun,
    decimals,
    enumerated,
    listed,
    number,
    percent,
    plural,
    share,
    signed_number,
)
from evalkit.pages import page, pieces, texts
from evalkit.studies.study import Study
from evalkit.studies.weak_slices import FINDING_SHARE

ROW_HEIGHT = 0.42  # inches, for a name of three lines
MAX_ROWS = 30  # of the table and the figure; the JSON has all
COLUMNS = ["slice", "share of rows", "n", "slice value", "rest", "difference", "adjusted p"]


def _is_searched(study: Study) -> bool:
    """True if the parameter `slices` names columns to search."""
    return bool(study.settings.slices)


def _has_weak_slices(study: Study) -> bool:
    """True if the search found a slice."""
    return _is_searched(study) and len(study.weak_slices()) > 0


@pieces.where(_has_weak_slices)
def weak_slice_plot(study: Study) -> Figure:
    """The effect of each weak slice with its interval, around 0."""
    frame = study.weak_slices().head(MAX_ROWS)
    metric = frame["metric"].iloc[0]
    names = frame["slice"]
    if frame["system"].nunique() > 1:
        names = frame["system"] + ": " + frame["slice"]
    effects = pd.DataFrame({"name": names, "value": frame["difference"]})
    effects["low"] = frame["low"]
    effects["high"] = frame["high"]
    effects["colour"] = [page.VERDICT_COLOURS[verdict].code for verdict in frame["verdict"]]
    level = percent(study.settings.level)
    systems = listed(dict.fromkeys(frame["system"]))
    caption = (
        f"{metric} of {systems}: slice − other rows, {level} intervals, on rows that were not "
        f"searched"
    )
    return figures.figure_drawn_by(
        plots.intervals,
        effects,
        caption=caption,
        says=page.differences_in_words(effects),
        height=figures.figure_height(len(effects), each=ROW_HEIGHT),
        label=f"difference in {metric}, slice − rest",
        zero=True,
    )


@pieces.where(_is_searched)
def weak_slices(study: Study) -> Html:
    """How many slices were tested and which effects would have been found, in sentences; then the
    weak slices in tables: those in which the leader is worse than on the other rows, and those in
    which the headline pair's difference is another one.
    """
    frame = study.weak_slices()  # a row for each slice and system, or pair
    searched = f"{_search_in_words(study)} {_power_in_words(study)}".strip()
    if not len(frame):
        return muted_paragraph(f"No weak slice was found. {searched}")
    metric = frame["metric"].iloc[0]
    level = percent(study.settings.level)
    # slices were searched on this share of the rows; the others give the effects and intervals
    note = texts.sentence("slices.note", level=level, found=percent(FINDING_SHARE))
    parts = [muted_paragraph(searched)]
    for system, slices in frame.groupby("system", sort=False):
        caption = f"{metric} of {system}: slices that differ from the other rows"
        if len(slices) > MAX_ROWS:
            caption += f", the first {MAX_ROWS} of {len(slices)}"
        rows = list(_rows(slices.head(MAX_ROWS)))
        parts.append(tables.table(caption, COLUMNS, rows, note))
    return stack(parts)


def _search_in_words(study: Study) -> str:
    """How many slices were tested, of which columns, by which metric and for which systems, in a
    sentence; or that none has enough units.
    """
    power = study.detectable_slices()
    tests = int(power["candidates"].iloc[0])  # the same in every row
    columns = listed(name for name in study.settings.slices if name in study.attributes)
    units = plural(study.unit_name, 2)
    if not tests:
        return f"No slice of {columns} has enough {units}, in it and in the rest, to be tested."
    systems = enumerated(dict.fromkeys(power["system"]))
    metric = power["metric"].iloc[0]
    return (
        f"{count_with_noun(tests, 'slice')} of one or two conditions on {columns} were tested on "
        f"{percent(FINDING_SHARE)} of the {units}, for {metric} of {systems}; p is adjusted for "
        f"all of them."
    )


def _power_in_words(study: Study) -> str:
    """The smallest effects that would have been found with 80% power, by the size of the slice, in
    a sentence for the leader and one for the headline pair; "" if no slice was tested.
    """
    frame = study.detectable_slices()  # a row for each system, or pair, and share of the rows
    if not frame["candidates"].any():
        return ""
    sentences = []
    for system, rows in frame.groupby("system", sort=False):
        detectable = rows[rows["effect"].notna()]  # NaN: no effect is large enough
        effects = []
        for row in detectable.itertuples():
            effects.append(f"{number(row.effect)} in a slice of {share(row.share)}")
        sentence = f"For {system} the rows are too few to find a slice of 20%."
        if effects:
            sentence = (
                f"With 80% power the smallest effect that would have been found for {system} is "
                f"{listed(effects)}."
            )
        sentences.append(sentence)
    return " ".join(sentences)


def _rows(slices: pd.DataFrame) -> Iterator[list[Cell]]:
    """The cells of each weak slice, in the order of `COLUMNS`.

    slices: of `study.weak_slices`: share (of the rows), n, value (the metric in the slice), rest
    (on the other rows), difference with its limits, merged (the number of other slices whose effect
    it explains, which are left out), adjusted (the p-value).
    """
    places = decimals(pd.concat([slices["value"], slices["rest"]]))
    difference_places = decimals(slices["difference"], slices["low"], slices["high"])
    for row in slices.to_dict("records"):
        lines_below: tuple[str, ...] = ()
        if row["merged"]:
            lines_below = (f"stands for {count_with_noun(row['merged'], 'more slice')}",)
        yield [
            Cell(row["slice"], below=lines_below),
            Cell(share(row["share"]), numbers=(row["share"],)),
            Cell(f"{row['n']:,}", numbers=(row["n"],)),
            Cell(number(row["value"], places), numbers=(row["value"],)),
            Cell(number(row["rest"], places), numbers=(row["rest"],)),
            interval_cell(
                row["difference"], row["low"], row["high"], signed_number, difference_places
            ),
            p_cell(row["adjusted"]),
        ]
