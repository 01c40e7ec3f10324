"""Slices of a column beside the others: which differ from them, and the highest and the lowest
corrected for having been picked.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from evalkit.arrays import ParameterError
from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, p_cell, with_interval
from evalkit.numbers import decimals, number, percent, signed
from evalkit.pages import texts
from evalkit.studies.groups import CANNOT_TELL
from evalkit.studies.study import Study

COLUMNS = ["slice", "n", "value", "rest", "slice − rest", "adjusted p", "verdict"]


def against_rest(study: Study) -> Iterator[Html]:
    """For the leader and the difference of the headline pair: the slices of each column beside the
    others; or why they are not compared.
    """
    try:
        frame = study.slices_against_rest
        picked = study.picked_slices
    except ParameterError as error:
        yield tables.paragraph(texts.said("slices.not_compared", reason=str(error)))
        return
    if not len(frame):
        return
    systems = [study.leader]
    if len(study.headline):
        systems.append(" − ".join(study.opponents))
    for column, rows in frame.groupby("segment", sort=False):
        for system in systems:
            compared = rows[rows["system"] == system]
            if len(compared):
                places = picked[(picked["segment"] == column) & (picked["system"] == system)]
                yield _table(study, str(column), system, compared, places)


def _table(
    study: Study, column: str, system: str, frame: pd.DataFrame, picked: pd.DataFrame
) -> Html:
    """The slices of a column, and below them the sentences about the highest and the lowest."""
    caption = f"{study.primary.label} of {system}: each slice of {column} beside the others"
    level = percent(study.settings.level)
    sentences = [*_picked(picked), texts.said("slices.rest_note", level=level)]
    return tables.table(caption, COLUMNS, [*_rows(frame)], " ".join(sentences))


def _picked(frame: pd.DataFrame) -> Iterator[str]:
    """The highest and the lowest slice, in a sentence each."""
    places = decimals(frame["value"], frame["low"], frame["high"])
    for row in frame.to_dict("records"):
        corrected = with_interval(row["corrected"], row["low"], row["high"], places=places)
        yield texts.said(
            "slices.picked",
            place=row["place"],
            slices=row["slices"],
            slice=row["slice"],
            value=number(row["value"], places),
            corrected=corrected.full_text,
        )


def _rows(frame: pd.DataFrame) -> Iterator[list[Cell]]:
    """A row of cells for each slice."""
    places = decimals(frame["difference"], frame["low"], frame["high"])
    for row in frame.to_dict("records"):
        yield [
            Cell(row["slice"]),
            Cell(f"{row['n']:,}", numbers=(row["n"],)),
            Cell(number(row["value"], places), numbers=(row["value"],)),
            Cell(number(row["rest"], places), numbers=(row["rest"],)),
            with_interval(row["difference"], row["low"], row["high"], signed, places),
            p_cell(row["adjusted"]),
            Cell(row["verdict"].replace(CANNOT_TELL, "")),
        ]
