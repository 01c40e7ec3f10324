"""Weak slices, as every page shows them: what was found, the effects on rows that were not
searched, and what would have been found.
"""

from collections.abc import Iterator

import pandas as pd

from evalkit.drawing import figures, plots, tables
from evalkit.drawing.cells import Cell, p_cell, with_interval
from evalkit.drawing.figures import Figure
from evalkit.drawing.paragraphs import paragraph
from evalkit.drawing.pieces import Html, stack
from evalkit.numbers import (
    counted,
    decimals,
    enumerated,
    listed,
    number,
    percent,
    plural,
    share,
    signed,
)
from evalkit.pages import page, pieces, texts
from evalkit.studies.study import Study
from evalkit.studies.weak_slices import FINDING_SHARE

ROW_HEIGHT = 0.42  # inches, for a name of three lines
MAX_ROWS = 30  # of the table and the figure; the JSON has all


def _is_searched(study: Study) -> bool:
    return bool(study.settings.slices)


def _has_finds(study: Study) -> bool:
    return _is_searched(study) and len(study.weak_slices()) > 0


@pieces.where(_has_finds)
def weak_slice_plot(study: Study) -> Figure:
    """The effect of each weak slice with its interval, around 0."""
    frame = study.weak_slices().head(MAX_ROWS)
    metric = frame["metric"].iloc[0]
    names = frame["slice"].tolist()
    if frame["system"].nunique() > 1:
        names = [*map(_name, frame["system"], frame["slice"])]
    drawn = pd.DataFrame({"name": names})
    drawn["value"] = frame["difference"]
    drawn["low"] = frame["low"]
    drawn["high"] = frame["high"]
    drawn["colour"] = [page.COLOURED[verdict][1] for verdict in frame["verdict"]]
    level = percent(study.settings.level)
    systems = listed(dict.fromkeys(frame["system"]))
    caption = (
        f"{metric} of {systems}: slice − other rows, {level} intervals, on rows that were not "
        f"searched"
    )
    label = f"difference in {metric}, slice − rest"
    height = figures.tall(len(drawn), each=ROW_HEIGHT)
    says = page.listed(drawn)
    return figures.picture(
        plots.intervals, drawn, caption=caption, says=says, height=height, label=label, zero=True
    )


def _name(system: str, slice_name: str) -> str:
    """A find as the figure names it."""
    return f"{system}: {slice_name}"


@pieces.where(_is_searched)
def weak_slices(study: Study) -> Html:
    """What was searched, the weak slices, and the effects that would have been found."""
    frame = study.weak_slices()
    sentences = [_searched(study), _power(study)]
    if not len(frame):
        return paragraph(" ".join(["No weak slice was found.", *filter(None, sentences)]))
    columns = ["slice", "share of rows", "n", "slice value", "rest", "difference", "adjusted p"]
    metric = frame["metric"].iloc[0]
    parts = [paragraph(" ".join(sentences))]
    for system, rows in frame.groupby("system", sort=False):
        several = f", the first {MAX_ROWS} of {len(rows)}" if len(rows) > MAX_ROWS else ""
        caption = f"{metric} of {system}: slices that differ from the other rows{several}"
        cells = [*_rows(rows.head(MAX_ROWS))]
        level = percent(study.settings.level)
        note = texts.sentence("slices.note", level=level, found=percent(FINDING_SHARE))
        parts.append(tables.table(caption, columns, cells, note))
    return stack(parts)


def _searched(study: Study) -> str:
    """What was tested, in a sentence."""
    power = study.detectable_slices()
    tests = int(power["candidates"].iloc[0])
    columns = listed(name for name in study.settings.slices if name in study.attributes)
    systems = enumerated(dict.fromkeys(power["system"]))
    units = plural(study.unit_name, 2)
    if not tests:
        return f"No slice of {columns} has enough {units}, in it and in the rest, to be tested."
    metric = power["metric"].iloc[0]
    return (
        f"{counted(tests, 'slice')} of one or two conditions on {columns} were tested on "
        f"{percent(FINDING_SHARE)} of the {units}, for {metric} of {systems}; p is adjusted for "
        f"all of them."
    )


def _power(study: Study) -> str:
    """The effects that would have been found with 80 % power, in a sentence for each subject."""
    sentences = []
    frame = study.detectable_slices()
    if not frame["candidates"].any():
        return ""
    for system, rows in frame.groupby("system", sort=False):
        known = rows[rows["effect"].notna()]
        if not len(known):
            sentences.append(f"For {system} the rows are too few to find a slice of 20%.")
            continue
        effects = [
            f"{number(effect)} in a slice of {share(size)}"
            for size, effect in zip(known["share"], known["effect"], strict=True)
        ]
        sentences.append(
            f"With 80% power the smallest effect that would have been found for {system} is "
            f"{listed(effects)}."
        )
    return " ".join(sentences)


def _rows(frame: pd.DataFrame) -> Iterator[list[Cell]]:
    """A row of cells for each find."""
    places = decimals([*frame["value"], *frame["rest"]])
    gap_places = decimals(frame["difference"], frame["low"], frame["high"])
    for row in frame.to_dict("records"):
        merged: tuple[str, ...] = ()
        if row["merged"]:
            merged = (f"stands for {counted(row['merged'], 'more slice')}",)
        yield [
            Cell(row["slice"], below=merged),
            Cell(share(row["share"]), numbers=(row["share"],)),
            Cell(f"{row['n']:,}", numbers=(row["n"],)),
            Cell(number(row["value"], places), numbers=(row["value"],)),
            Cell(number(row["rest"], places), numbers=(row["rest"],)),
            with_interval(row["difference"], row["low"], row["high"], signed, gap_places),
            p_cell(row["adjusted"]),
        ]
