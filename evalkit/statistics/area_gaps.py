"""Gaps of the area under the ROC curve between groups with few positive or negative rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.statistics.closed_forms import FEW_ROWS, hanley_mcneil_factor
from evalkit.statistics.groups import GroupEstimates
from evalkit.statistics.intervals import normal_quantile
from evalkit.statistics.spread import LimitArrays

# added to the positives and to the negatives of a group, half of it as pairs in the wrong order, so
# that an area of 1 lies within the range; by simulation, limits are then too narrow on neither side
ADDED_ROWS = 0.3
ANGLES = np.linspace(0, 2 * np.pi, 361)
ROOT_ANGLES = np.linspace(0, np.pi / 2, 1001)  # of the areas of a scale, which are their sin²


class AreaScale:
    """The scale g on which an observed area A of a group has a standard error of 1, whatever the
    true area: g(A) = ∫ dA / σ(A) from 0 to A, with σ by Hanley and McNeil. So g(A) − g(true area)
    is about standard normal.
    """

    def __init__(self, positives: int, negatives: int) -> None:
        # with A = sin² u, dA = 2 sin u cos u du and σ = sin u cos u √factor
        factor = hanley_mcneil_factor(np.sin(ROOT_ANGLES) ** 2, positives, negatives)
        slope = 2 / np.sqrt(factor)  # dg / du
        mean_slope = (slope[1:] + slope[:-1]) / 2  # by the trapezoidal rule
        steps = mean_slope * np.diff(ROOT_ANGLES)
        self.scaled = np.append(0.0, steps).cumsum()  # g at each of ROOT_ANGLES

    def from_area(self, area: float) -> float:
        """g of an area."""
        angle = np.arcsin(np.sqrt(area))
        return float(np.interp(angle, ROOT_ANGLES, self.scaled))

    def to_area(self, scaled: Floats) -> Floats:
        """The areas of these values of g; 0 or 1 beyond its range."""
        root = np.sin(np.interp(scaled, self.scaled, ROOT_ANGLES))
        return np.square(root)


@dataclass(frozen=True, eq=False)
class GroupAreas(GroupEstimates):
    """The area under the ROC curve, or a linear function of it, in each group of independent,
    unweighted rows.

    Where two groups both have fewer than `FEW_ROWS` positive or negative rows, the limits of their
    difference are the ends of all differences θ₁ − θ₂ with (g₁(A₁) − g₁(θ₁))² + (g₂(A₂) − g₂(θ₂))²
    ≤ z², A being the observed areas and g the scale of each group. Limits by MOVER would be too
    wide: they add the limit of a group that lies farthest from its area, where its variance is
    largest. All other pairs of groups have limits by MOVER.

    areas, positives, negatives: (groups,). slope: of the linear function, 2 for Gini.
    """

    areas: Sequence[float]
    positives: Sequence[int]
    negatives: Sequence[int]
    slope: float = 1.0

    @cached_property
    def errors_if_equal(self) -> Floats:
        """The standard errors if all true areas are equal, (groups,): for a small group that of
        Hanley and McNeil at the mean of the observed areas, for another group its own.

        The own error of a small group is smallest where its area happens to be highest. By their
        own errors equal groups would thus hardly ever be found to differ, far less often than the
        level allows.
        """
        known_groups = [number for number, area in enumerate(self.areas) if not np.isnan(area)]
        known_areas = [self.areas[group] for group in known_groups]
        effective_rows = [self._rows_of_a_class(group) for group in known_groups]
        mean_area = float(np.average(known_areas, weights=effective_rows))
        errors = self.errors.copy()
        for group in self._small_groups:
            factor = hanley_mcneil_factor(mean_area, self.positives[group], self.negatives[group])
            variance = mean_area * (1 - mean_area) * factor
            errors[group] = self.slope * np.sqrt(variance)
        return errors

    @property
    def _small_groups(self) -> Ints:
        """The numbers of the groups with rows of both classes, of one fewer than `FEW_ROWS`."""
        rarer_class = np.minimum(self.positives, self.negatives)
        is_small = (rarer_class > 0) & (rarer_class < FEW_ROWS)
        return np.flatnonzero(is_small)

    def _rows_of_a_class(self, group: int) -> float:
        """The rows of each class in a group with equal classes that has about the same error."""
        positives = self.positives[group]
        negatives = self.negatives[group]
        return 2 * positives * negatives / (positives + negatives)

    def differences(self, level: float) -> LimitArrays:
        """The limits of the difference of each two groups, the area of the row's group less that of
        the column's: (groups, groups) each. Pairs of two small groups have limits from the scales
        of both, as the class explains; other pairs have limits by MOVER.

        >>> from evalkit.statistics.closed_forms import auc_newcombe
        >>> areas = (0.98, 0.80)
        >>> groups = GroupAreas(
        ...     lambda group, level: auc_newcombe(areas[group], 15, 15, level=level),
        ...     np.eye(2),
        ...     areas,
        ...     positives=(15, 15),
        ...     negatives=(15, 15),
        ... )
        >>> limits = groups.differences(0.95)
        >>> print(f"[{limits.low[0, 1]:.4f}, {limits.high[0, 1]:.4f}]")
        [0.0135, 0.3704]
        """
        by_mover = GroupEstimates.differences(self, level)
        small_groups = self._small_groups
        z = normal_quantile(level)
        # On the scales of both groups, the pairs of true areas that are not rejected are a disc of
        # radius z around the observed pair. Areas rise with the scale, so that their difference is
        # largest and smallest on the circle around the disc. Areas on it: (small groups, angles).
        row_areas = self._areas_at(small_groups, z * np.cos(ANGLES))
        column_areas = self._areas_at(small_groups, z * np.sin(ANGLES))
        differences = self.slope * (row_areas[:, None] - column_areas)  # (row, column, angles)
        low = by_mover.low.copy()
        high = by_mover.high.copy()
        small_pairs = np.ix_(small_groups, small_groups)
        low[small_pairs] = differences.min(axis=2)
        high[small_pairs] = differences.max(axis=2)
        return LimitArrays(low, high)

    def _areas_at(self, groups: Ints, distances: Floats) -> Floats:
        """The areas of some groups at distances from the observed areas, in standard errors, that
        is on each group's `AreaScale`: (groups, distances).

        groups: their numbers. distances: the same for all groups, below 0 for smaller areas. An
        observed area is first shrunk towards ½, as if `ADDED_ROWS` rows of each class were added
        whose area is ½. Otherwise an observed area of 1 would be at the end of the scale.
        """
        areas = np.empty((len(groups), len(distances)))
        for place, group in enumerate(groups):
            scale = AreaScale(self.positives[group], self.negatives[group])
            effective_rows = self._rows_of_a_class(group)
            weighted_area = self.areas[group] * effective_rows + 0.5 * ADDED_ROWS
            shrunk_area = weighted_area / (effective_rows + ADDED_ROWS)
            observed = scale.from_area(shrunk_area)
            areas[place] = scale.to_area(observed + distances)
        return areas
