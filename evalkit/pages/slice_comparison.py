"""Slices of a column beside the others: which differ from them, and the highest and the lowest
corrected for having been picked.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from evalkit.drawing import tables
from evalkit.drawing.cells import Cell, interval_cell, p_cell, slice_cell
from evalkit.drawing.paragraphs import muted_paragraph
from evalkit.drawing.pieces import Html
from evalkit.numbers import decimals, number, percent, signed_number
from evalkit.pages import texts
from evalkit.studies import winners
from evalkit.studies.groups import CANNOT_TELL
from evalkit.studies.study import Study

COLUMNS = ["slice", "n", "value", "rest", "slice − rest", "adjusted p", "verdict"]


def against_rest(study: Study) -> Iterator[Html]:
    """For the leader and the difference of the headline pair: the slices of each column beside the
    others; or why those of a column are not compared.
    """
    reason_by_column = winners.left_out_columns(study)
    for reason in reason_by_column.values():
        yield muted_paragraph(texts.sentence("slices.not_compared", reason=reason))
    if len(reason_by_column) == study.by_segment["segment"].nunique():  # no column is left
        return
    comparisons = study.slices_against_rest  # a row for each system, column and slice
    if not len(comparisons):  # no column has two slices with a value
        return
    systems = [study.leader]
    if len(study.headline):
        systems.append(" − ".join(study.headline_systems))  # the name of the pair's difference
    for system in systems:
        yield _table(study, system, comparisons[comparisons["system"] == system])
    picked = study.picked_slices
    sentences = list(_picked(picked[picked["system"].isin(systems)]))
    sentences.append(texts.sentence("slices.rest_note", level=percent(study.settings.level)))
    yield muted_paragraph(" ".join(sentences))


def _table(study: Study, system: str, frame: pd.DataFrame) -> Html:
    """A table of the slices of all columns: the primary metric in each slice, the mean of the other
    slices of its column (rest), and their difference with its test.

    frame: of `study.slices_against_rest`, of one system or of the difference of a pair.
    """
    caption = (
        f"{study.primary_metric.label} of {system}: each slice beside the others of its column"
    )
    places = decimals(frame["difference"], frame["low"], frame["high"])
    rows = []
    for row in frame.to_dict("records"):
        # an empty cell in place of "cannot tell", which most slices would have
        verdict = "" if row["verdict"] == CANNOT_TELL else row["verdict"]
        rows.append(
            [
                slice_cell(row["segment"], row["slice"]),
                Cell(f"{row['n']:,}", numbers=(row["n"],)),
                Cell(number(row["value"], places), numbers=(row["value"],)),
                Cell(number(row["rest"], places), numbers=(row["rest"],)),
                interval_cell(row["difference"], row["low"], row["high"], signed_number, places),
                p_cell(row["adjusted"]),
                Cell(verdict),
            ]
        )
    return tables.table(caption, COLUMNS, rows)


def _picked(frame: pd.DataFrame) -> Iterator[str]:
    """The highest and the lowest slice of each column, in a sentence for each system and column:
    the value of each, and the value corrected for the gain of being picked as an extreme one.

    frame: of `study.picked_slices`, two rows for each system and column.
    """
    for (system, column), rows in frame.groupby(["system", "segment"], sort=False):
        places = decimals(rows["value"], rows["low"], rows["high"])
        slices_in_words = {}  # of the "highest" and of the "lowest" slice
        for row in rows.to_dict("records"):
            corrected = interval_cell(row["corrected"], row["low"], row["high"], places=places)
            slices_in_words[row["place"]] = texts.sentence(
                "slices.picked",
                slice=row["slice"],
                value=number(row["value"], places),
                corrected=corrected.full_text,
            )
        yield texts.sentence(
            "slices.picked_both",
            column=column,
            system=system,
            slices=rows["slices"].iloc[0],
            highest=slices_in_words["highest"],
            lowest=slices_in_words["lowest"],
        )
