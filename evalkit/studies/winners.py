"""The slices of a study that differ from the rest, and the highest and the lowest of them with the
value corrected for having been picked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from evalkit.arrays import ParameterError, codes
from evalkit.statistics import winners
from evalkit.statistics.intervals import Estimate, normal_quantile
from evalkit.statistics.significance import rejected
from evalkit.studies.groups import CANNOT_TELL, HIGHER, LOWER

if TYPE_CHECKING:
    from evalkit.studies.study import Row, Study

PAIR = {"difference": "value", "difference_low": "low", "difference_high": "high"}


@dataclass(frozen=True, eq=False)
class SliceFamily:
    """The slices of a column, which are compared with each other.

    system: whose metric it is, or "first − second" of a difference. frame: slice, n, value, low and
    high of each slice.
    """

    column: str
    system: str
    frame: pd.DataFrame

    @property
    def known(self) -> pd.DataFrame:
        """The slices whose value and limits are known."""
        numbers = self.frame[["value", "low", "high"]].to_numpy(float)
        width = numbers[:, 2] - numbers[:, 1]
        return self.frame[np.isfinite(numbers).all(axis=1) & (width > 0)]

    def errors(self, level: float) -> np.ndarray:
        """The standard errors of the known slices, from the width of their intervals."""
        width: np.ndarray = (self.known["high"] - self.known["low"]).to_numpy(float)
        return width / (2 * normal_quantile(level))


def _refuse_shared_units(study: Study) -> None:
    """Raise ParameterError if a unit has rows in several slices of a column: their values are then
    correlated, and the comparison of slices takes them as independent.
    """
    if study.unit is None:
        return
    number, _ = codes(study.unit)
    for column in study.settings.segments:
        slice_number, _ = codes(study.attributes[column])
        pairs = np.unique(np.stack([number, slice_number]), axis=1)
        if pairs.shape[1] > len(np.unique(number)):
            raise ParameterError(
                f"the slices of {column!r} cannot be compared with each other: units have rows in "
                f"several of them; study.gaps({column!r}) allows for that"
            )


def families(study: Study) -> Iterator[SliceFamily]:
    """The slices of each column: of each system, then of the headline pair's difference. Raises
    ParameterError if units have rows in several slices.
    """
    _refuse_shared_units(study)
    frame = study.by_segment
    if not len(frame):
        return
    for column, rows in frame.groupby("segment", sort=False):
        for system, own in rows.groupby("system", sort=False):
            yield SliceFamily(str(column), str(system), own[["slice", "n", "value", "low", "high"]])
        if "difference" in rows:
            pair = " − ".join(study.opponents)
            differences = rows.drop_duplicates("slice")[["slice", "n", *PAIR]]
            yield SliceFamily(str(column), pair, differences.rename(columns=PAIR))


def against_rest(study: Study) -> Iterator[Row]:
    """A row for each slice: its value beside the mean of the others of its column."""
    level = study.settings.level
    for family in families(study):
        known = family.known
        if len(known) < 2:
            continue
        values = known["value"].to_numpy(float)
        weights = known["n"].to_numpy(float)
        errors = family.errors(level)
        compared = winners.against_rest(values, errors, weights, rng=study.rng(9))
        reach = normal_quantile(level) * compared.error
        for i, (name, n) in enumerate(zip(known["slice"], known["n"], strict=True)):
            difference = float(values[i] - compared.rest[i])
            verdict = CANNOT_TELL
            if rejected(float(compared.adjusted[i]), study.test_level):
                verdict = HIGHER if difference > 0 else LOWER
            row: Row = {"segment": family.column, "slice": name, "system": family.system, "n": n}
            row |= {"value": values[i], "rest": compared.rest[i], "difference": difference}
            row |= {"low": difference - reach[i], "high": difference + reach[i]}
            yield row | {"adjusted": compared.adjusted[i], "verdict": verdict}


def picked(study: Study) -> Iterator[Row]:
    """The highest and the lowest slice of each column, with its value corrected for having been
    picked.
    """
    level = study.settings.level
    for family in families(study):
        known = family.known
        if len(known) < 2:
            continue
        values = known["value"].to_numpy(float)
        errors = family.errors(level)
        high = winners.highest(values, errors, level=level)
        low = winners.highest(-values, errors, level=level)
        low = Estimate(-low.value, -low.high, -low.low, level, low.n, low.method)
        highest = int(values.argmax())
        lowest = int(values.argmin())
        for place, number, e in (("highest", highest, high), ("lowest", lowest, low)):
            row: Row = {"segment": family.column, "system": family.system, "place": place}
            row |= {"slice": known["slice"].iloc[number], "slices": e.n, "value": values[number]}
            yield row | {"corrected": e.value, "low": e.low, "high": e.high}
