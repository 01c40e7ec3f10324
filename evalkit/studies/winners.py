"""The slices of a study that differ from the rest, and the highest and the lowest of them with the
value corrected for having been picked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from evalkit.arrays import ParameterError, codes
from evalkit.parameters.kinds import did_you_mean
from evalkit.statistics import inference, winners
from evalkit.statistics.intervals import Estimate, normal_quantile
from evalkit.statistics.significance import rejected
from evalkit.statistics.spread import Interval
from evalkit.statistics.statistic import Layout
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
    def estimated(self) -> pd.DataFrame:
        """The slices whose value and limits are known."""
        numbers = self.frame[["value", "low", "high"]].to_numpy(float)
        width = numbers[:, 2] - numbers[:, 1]
        return self.frame[np.isfinite(numbers).all(axis=1) & (width > 0)]

    def errors(self, level: float) -> np.ndarray:
        """The standard errors of the slices `estimated`, from the width of their intervals, which
        have this level.
        """
        width: np.ndarray = (self.estimated["high"] - self.estimated["low"]).to_numpy(float)
        return width / (2 * normal_quantile(level))


def obstacle(study: Study, column: str) -> str:
    """Why the slices of a column are not independent, so that they cannot be compared with each
    other; "" if they are. Slices are independent if no unit has rows in two of them.
    """
    if study.design.layout is Layout.SERIES:
        return "rows of a time series are correlated"
    # the member of a slice is a mask of rows if these are in memory; else it is the number of the
    # slice, and the table is read block by block
    members = [one_slice.member for one_slice in study.slices]
    is_read_in_blocks = any(not isinstance(member, np.ndarray) for member in members)
    if study.settings.unit and is_read_in_blocks:
        # no block knows in which slices the other blocks have rows of a unit
        return "units of blocks may have rows in several"
    if study.unit is None:  # each row is a unit, and lies in one slice of a column
        return ""
    unit_of_row, names = codes(study.unit)
    n_slices_of_unit = np.zeros(len(names), np.int64)
    for one_slice in study.slices:
        if one_slice.column == column:
            units_in_slice = np.unique(unit_of_row[one_slice.member])
            n_slices_of_unit[units_in_slice] += 1
    if (n_slices_of_unit > 1).any():
        return f"units have rows in several of them; study.gaps({column!r}) allows for that"
    return ""


def left_out_columns(study: Study) -> dict[str, str]:
    """The columns whose slices cannot be compared with each other, and why."""
    left_out = {}
    for column in dict.fromkeys(one_slice.column for one_slice in study.slices):
        if reason := study.slices_obstacle(column):
            left_out[column] = _not_compared(column, reason)
    return left_out


def families(study: Study) -> Iterator[SliceFamily]:
    """The families of slices that are compared: for each column one for each system, then one for
    the difference of the headline pair, if there is one. Columns whose slices are not independent
    are left out; raises ParameterError if no column remains.
    """
    # a row for each slice and system: its value, and the difference of the pair in the slice
    frame = study.by_segment
    if not len(frame):
        return
    left_out = left_out_columns(study)
    if len(left_out) == frame["segment"].nunique():
        raise ParameterError("; ".join(left_out.values()))
    for column, rows in frame.groupby("segment", sort=False):
        if column in left_out:
            continue
        for system, rows_of_system in rows.groupby("system", sort=False):
            frame_of_system = rows_of_system[["slice", "n", "value", "low", "high"]]
            yield SliceFamily(str(column), str(system), frame_of_system)
        if "difference" in rows:
            pair = " − ".join(study.headline_systems)
            # the difference is repeated in the rows of all systems: one row per slice is enough
            differences = rows.drop_duplicates("slice")[["slice", "n", *PAIR]]
            # from here on the difference is the value of the family
            yield SliceFamily(str(column), pair, differences.rename(columns=PAIR))


def against_rest(study: Study) -> Iterator[Row]:
    """A row for each slice: its value beside the weighted mean of the other slices of its column
    (rest). Columns with fewer than two slices whose value is known have no rows.

    Columns: segment (the column), slice, system, n, value, rest, difference with low and high,
    adjusted (p over the slices of the column), verdict (higher, lower or cannot tell).
    """
    level = study.settings.level
    for family in families(study):  # the slices of one column, for one system
        rows = family.estimated
        if len(rows) < 2:
            continue
        values = rows["value"].to_numpy(float)
        units = rows["n"].to_numpy(float)
        slice_by_label = {s.label: s for s in study.slices if s.column == family.column}
        weights = np.array(
            [
                study.weight_of_slice(slice_by_label[label], n)
                for label, n in zip(rows["slice"], units, strict=True)
            ]
        )
        # The standard errors are recovered from the width of intervals, as that of normal limits.
        # Wilson's interval for a share is narrower: at a share of one half by √(1 + z² / n), which
        # is made up for here. Other metrics get the factor too; it is near 1 unless units are few.
        square_quantile = normal_quantile(level) ** 2
        wilson_factor = np.sqrt(1 + square_quantile / units)
        errors = family.errors(level) * wilson_factor
        # each slice minus the mean of the others; 9: random numbers that no other result uses
        compared = winners.against_rest(values, errors, weights, rng=study.rng(9))
        half_width = normal_quantile(level) * compared.error
        for i, (name, n) in enumerate(zip(rows["slice"], rows["n"], strict=True)):
            difference = float(values[i] - compared.rest[i])
            verdict = CANNOT_TELL
            if rejected(float(compared.adjusted[i]), study.test_level):
                verdict = HIGHER if difference > 0 else LOWER
            row: Row = {"segment": family.column, "slice": name, "system": family.system, "n": n}
            row |= {"value": values[i], "rest": compared.rest[i], "difference": difference}
            row |= {"low": difference - half_width[i], "high": difference + half_width[i]}
            yield row | {"adjusted": compared.adjusted[i], "verdict": verdict}


def extreme_slices(study: Study) -> Iterator[Row]:
    """The highest and the lowest slice of each column and system, with its value corrected for
    having been picked: segment (the column), system, place (highest or lowest), slice, slices (how
    many it was picked from), value, corrected with low and high.
    """
    level = study.settings.level
    for family in families(study):
        rows = family.estimated
        if len(rows) < 2:
            continue
        values = rows["value"].to_numpy(float)
        errors = family.errors(level)
        units = rows["n"].to_numpy(float)
        # the highest value is too high on average, as it was picked; the lowest is corrected as the
        # highest of the negated values
        corrections = {
            "highest": winners.highest(values, errors, units, level=level),
            "lowest": _negated(winners.highest(-values, errors, units, level=level)),
        }
        positions = {"highest": int(values.argmax()), "lowest": int(values.argmin())}  # in `rows`
        # a corrected value or limit outside the range of the metric is set to its end; a family
        # that is not named after a system is of a difference, whose range is another
        ends = _range_of(study, is_difference=family.system not in study.order)
        for place, estimate in corrections.items():
            position = positions[place]
            row: Row = {"segment": family.column, "system": family.system, "place": place}
            row |= {"slice": rows["slice"].iloc[position], "slices": len(rows)}
            low, corrected, high = np.clip([estimate.low, estimate.value, estimate.high], *ends)
            row |= {"value": values[position], "corrected": corrected}
            yield row | {"low": low, "high": high}


def _range_of(study: Study, *, is_difference: bool) -> Interval:
    """The range of the first metric; of its differences, from lowest − highest to highest − lowest
    value.
    """
    metric = study.primary_metric.metric
    if not is_difference:
        return Interval(metric.low, metric.high)
    width = metric.high - metric.low
    return Interval(-width, width)


def _negated(estimate: Estimate) -> Estimate:
    """The estimate of a value with the other sign."""
    return replace(estimate, value=-estimate.value, low=-estimate.high, high=-estimate.low)


def picked_estimate(study: Study, column: str, system: str, place: str) -> Estimate:
    """The value of the highest or the lowest slice of a column, corrected for having been picked
    from all of them: the most extreme of several values exaggerates. All NaN if fewer than two
    slices have a value. system: a system, or "first − second" for the difference of two. place:
    "highest" or "lowest".
    """
    level = study.settings.level
    for row in study.picked_slices.to_dict("records"):  # at most one row is the one that is asked
        if (row["segment"], row["system"], row["place"]) == (column, system, place):
            return Estimate(
                value=row["corrected"],
                low=row["low"],
                high=row["high"],
                level=level,
                n=int(row["slices"]),
                method=winners.METHOD,
            )
    return inference.undefined(level, study.unit_name).difference


def worse(study: Study, column: str, systems: Sequence[str]) -> list[str]:
    """The slices of a column in which one of these systems is worse than in the others, as "system
    column slice". Raises ParameterError for a metric without a better direction.
    """
    direction = study.primary_metric.metric.direction
    if direction == 0:
        raise ParameterError(f"{study.primary_metric.label} has no better direction")
    verdict = LOWER if direction > 0 else HIGHER
    frame = study.slices_against_rest
    names = []
    for row in frame.to_dict("records"):
        is_asked = row["segment"] == column and row["system"] in systems
        if is_asked and row["verdict"] == verdict:
            names.append(f"{row['system']} {column} {row['slice']}")
    return names


def check_column(study: Study, column: str) -> None:
    """Raise ParameterError for a column without slices, or whose slices are not independent."""
    columns = list(dict.fromkeys(one_slice.column for one_slice in study.divisions()))
    if column not in columns:
        near = did_you_mean(column, columns)
        raise ParameterError(
            f"there are no slices of {column!r}{near}; columns of segments: "
            f"{', '.join(columns) or 'none'}"
        )
    if reason := study.slices_obstacle(column):
        raise ParameterError(_not_compared(column, reason))


def _not_compared(column: str, reason: str) -> str:
    """The sentence that the slices of a column are not compared, and why."""
    return f"the slices of {column!r} cannot be compared with each other: {reason}"
