"""The distinct texts of some columns and the rows of each, by one query whatever the number of columns.

A table on a cluster may take long to be made: it is not made again for each column.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Ints
from evalkit.reading.engines.base import Engine
from evalkit.reading.inputs.aligned import NONE


@dataclass(frozen=True, eq=False)
class DistinctTexts:
    """The distinct texts of a column in order, and the rows of each.

    Of a column that has more than were asked for they are some, the empty text, where there is one, among them.
    """

    values: np.ndarray
    rows: Ints

    @property
    def empty(self) -> int:
        """The rows without a text."""
        return int(self.rows[self.values == NONE].sum())


@dataclass(frozen=True)
class Some:
    """The groups of each column that are kept: one more than `most` of it, and any of empty rows."""

    most: tuple[int, ...]

    def __call__(self, groups: Any) -> Any:
        """The groups that are kept of an Arrow table of column, value and n."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kept = pc.equal(groups["value"], NONE).to_numpy()
        column = groups["column"].to_numpy()
        for i, most in enumerate(self.most):
            kept[np.flatnonzero(column == i)[: most + 1]] = True
        return groups if kept.all() else groups.filter(pa.array(kept))


def texts(
    engine: Engine, query: str, name: str, most: Mapping[str, int], frames: Mapping[str, Any]
) -> dict[str, DistinctTexts]:
    """The texts of some columns of a query's answer.

    most: of each column how many are wanted; of one that has more, at least one more is given. name: the input in an
    error.
    """
    if not most:
        return {}
    case = " ".join(f"WHEN GROUPING({column}) = 0 THEN {i}" for i, column in enumerate(most))
    value = " ".join(f"WHEN GROUPING({column}) = 0 THEN {column}" for column in most)
    sets = ", ".join(f"({column})" for column in most)
    groups = (
        f"SELECT CAST(CASE {case} END AS BIGINT) AS column, CASE {value} END AS value, count(*) AS n "
        f"FROM ({query}) AS s GROUP BY GROUPING SETS ({sets})"
    )
    some = Some(tuple(most.values()))
    table = engine.reduce(groups, None, some, name, some, **frames)
    column = table["column"].to_numpy()
    values, rows = np.array(table["value"].to_pylist(), dtype=object), table["n"].to_numpy()
    return {name: _ordered(values[column == i].astype(str), rows[column == i]) for i, name in enumerate(most)}


def _ordered(values: np.ndarray, rows: Ints) -> DistinctTexts:
    order = np.argsort(values)
    return DistinctTexts(values[order], rows[order])
