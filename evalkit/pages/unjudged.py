"""The table of what the judgements that are lacking could change."""

import pandas as pd

from evalkit.drawing.tables import Column, Html, Rows, folded, of_rows, text
from evalkit.numbers import decimals, number
from evalkit.pages import pieces
from evalkit.studies import beyond_relevance
from evalkit.studies.ranking import Ranking

pieces.listed(__name__)

PLACES = 3  # decimals of a limit at most


def bounds(study: Ranking) -> Html:
    """The lowest and the highest value of each metric, whatever the unjudged items of each system are."""
    frame = beyond_relevance.bounds(study)
    if not len(frame):
        return Html("")
    labels = dict.fromkeys(frame["metric"])
    wide = frame.pivot(index="system", columns="metric").loc[list(dict.fromkeys(frame["system"]))]
    counts = wide["unjudged"].max(axis=1).astype(int).map("{:,}".format)
    rows = pd.DataFrame({"system": wide.index, "unjudged": counts.to_numpy()})
    columns: dict[str, Column] = {"system": text("system"), f"unjudged in the first {study.depth}": text("unjudged")}
    for label in labels:
        rows[f"{label} low"], rows[f"{label} high"] = wide["low", label].to_numpy(), wide["high", label].to_numpy()
        columns[label] = _range(f"{label} low", f"{label} high")
    note = (
        f"From the lowest to the highest mean if each unjudged item in a system's own first {study.depth} were judged: "
        "not relevant, or relevant with the highest grade. These are not confidence intervals: they leave out the "
        "sampling error of the queries."
    )
    table = of_rows("From the lowest to the highest value", rows, columns, note)
    return folded("What the unjudged items could change", table)


def _range(low: str, high: str) -> Column:
    """A column of ranges, all with the same decimals."""

    def cells(rows: Rows) -> list[str]:
        places = min(decimals(*([row[key] for row in rows] for key in (low, low, high))), PLACES)
        return [f"{number(row[low], places)} to {number(row[high], places)}" for row in rows]

    return cells
