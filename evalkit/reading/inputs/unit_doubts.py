"""Tables of unit values that could be meant in two ways, refused: other units under one id, means, pairs of systems.

Rows of one unit and system are draws. That they are cannot be taken for granted where a column such as the data set
tells them apart: question 3 of one data set is another question than question 3 of the next.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, codes
from evalkit.reading.inputs.unit_columns import Column, Use

SUMMARIES = ("all", "mean", "average", "avg", "overall", "total", "macro", "summary", "amean")
TOLERANCE = 1e-3  # of a mean that was rounded to a few digits
_SIDE = re.compile(rf"({'|'.join(Use.SYSTEM.value)})_?(a|b|1|2|left|right|first|second)")


def refuse_other_units(cell: Ints, cells: int, columns: Sequence[Column], unit: str, where: str) -> None:
    """Raises InputError where rows of one unit are told apart by columns of few texts, and none counts draws.

    cell: the unit, system and metric of each row, as a number. cells: how many systems and metrics there are. columns:
    those without another role.
    """
    rows = len(cell)
    if np.unique(cell).size == rows or any(column.draws for column in columns):
        return
    texts = [column for column in columns if column.kind == "text" and not column.no_value]
    parts = [(column, _numbers(column)) for column in texts]
    few = [(column, part) for column, part in parts if 2 * np.unique(part).size * cells <= rows]
    apart = [(column, part) for column, part in few if _pairs(cell, part).max() >= np.unique(cell).size]
    key = cell
    for _, part in apart:
        key = _pairs(key, part)
    if apart and np.unique(key).size == rows:
        names = " and ".join(repr(column.name) for column, _ in apart)
        raise InputError(
            f"{where}: rows of one {unit} differ in {names}: where they are draws of one {unit} set "
            f"columns='unit={unit}', where {names} names the metric columns='metric={apart[0][0].name}'; where they "
            "are other units, write both into one column"
        )


def _numbers(column: Column) -> Ints:
    return codes(np.array(["" if cell is None else str(cell) for cell in column.cells]))[0]


def _pairs(a: Ints, b: Ints) -> Ints:
    """A number for each pair of two numbers, from 0."""
    return np.unique(a * (int(b.max()) + 1) + b, return_inverse=True)[1].astype(np.int64)


def refuse_summaries(labels: Iterable[object], values: Mapping[tuple[str, str], Floats], unit: str, where: str) -> None:
    """Raises InputError for a unit called `all` or `mean` whose values are the means of the others."""
    for place, label in enumerate(labels := list(labels)):
        if str(label).strip().lower() in SUMMARIES and len(labels) > 2:
            others = [np.delete(column, place) for column in values.values()]
            means = np.array([np.nanmean(some) if (~np.isnan(some)).any() else np.nan for some in others])
            own = np.array([column[place] for column in values.values()])
            if np.allclose(own, means, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
                raise InputError(
                    f"{where}: {unit} {str(label)!r} holds the means of the others and would count as one of them; "
                    "remove its rows"
                )


def refuse_pairs(texts: Sequence[Column], where: str) -> None:
    """Raises InputError for a table each of whose rows names the two systems that it compares."""
    sides = [column.name for column in texts if _SIDE.fullmatch(column.key)]
    if len(sides) > 1:
        raise InputError(
            f"{where}: {sides[0]!r} and {sides[1]!r} name two systems in each row, and a table must have one column of "
            "systems, or one of values for each; count the wins of each system as successes and trials, or name the "
            "columns of values: systems='a,b'"
        )
