"""The precision that a column's numbers are stored in, and thresholds rounded to it.

The 0.7 of a float32 column is 0.699999988, below the 0.7 of double precision: compared with that, scores that numpy and
pandas count as `>= 0.7` are not. All scores are read as doubles, which is exact; so the threshold is rounded instead.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables.parts import Part

Precision = np.dtype[np.floating[Any]]
HALF, SINGLE, DOUBLE = (np.dtype(f"float{bits}") for bits in (16, 32, 64))
WORDS = {HALF: "half precision (float16)", SINGLE: "single precision (float32)", DOUBLE: "double precision (float64)"}
STORED = {"halffloat": HALF, "float": SINGLE}  # Arrow's names; float is Spark's name too


def of(part: Part, column: str) -> Precision:
    """The precision of a column's numbers: float16, float32, or float64, which whole numbers and text have as well."""
    return STORED.get(part.stored.get(column, ""), DOUBLE)


def widest(several: Iterable[Precision]) -> Precision:
    """The precision that holds the values of all: what pandas gives columns that are laid end to end.

    >>> widest([HALF, SINGLE])
    dtype('float32')
    """
    return max(several, key=lambda precision: precision.itemsize, default=DOUBLE)


def of_role(parts: Iterable[Part], role: str, chosen: Mapping[str, str]) -> Precision:
    """The widest precision of the columns that play a role in the parts; a part without one does not count."""
    columns = (
        (part, roles_of.match(part.columns, [role], _here(part, chosen), part.name).resolved().get(role))
        for part in parts
    )
    return widest(of(part, column) for part, column in columns if column)


def _here(part: Part, chosen: Mapping[str, str]) -> dict[str, str]:
    return {role: column for role, column in chosen.items() if column in part.columns}


def rounded(threshold: float, to: Precision) -> float:
    """The threshold as a column of this precision holds it: score >= threshold is then what numpy finds in the column.

    >>> rounded(0.7, SINGLE), rounded(0.7, DOUBLE)
    (0.699999988079071, 0.7)
    """
    with np.errstate(over="ignore"):
        return float(to.type(threshold))
