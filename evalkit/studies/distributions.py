"""The distributions that forecasts state: the metrics that they allow, and how often actual values
lie in their intervals.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.metric import TEXTS, MetricAtK
from evalkit.metrics.predictive import (
    EXACT,
    MissingLevel,
    Quantiles,
    is_ensemble,
    level_of,
    level_of_role,
    of_roles,
)
from evalkit.metrics.rows import Rows
from evalkit.numbers import listed
from evalkit.studies.study import Row

OF_POINTS = ("mae", "rmse", "bias", "median_absolute_error", "r2")
SCORES = ("wis", "crps")  # of whole distributions, which have a metric of skill
USUAL = (50.0, 90.0)  # percent of the intervals whose coverage is shown first
NESTED = 4  # intervals of a row that are drawn
DRAWN_LEVELS = (10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0)  # of draws and moments


class ExampleForecasts(NamedTuple):
    """Rows with their intervals (nominal, row, low, high) and points (row, forecast, actual)."""

    intervals: pd.DataFrame
    points: pd.DataFrame


@dataclass(frozen=True)
class StatedDistributions:
    """The distributions that the forecasts of a table state.

    roles: those of the columns that state them, such as a quantile or a draw, which every system
    has; empty without distributions.
    """

    roles: Sequence[str] = ()

    @cached_property
    def _no_rows(self) -> Rows:
        """A table of 0 rows with distributions of this kind, which tells what the table of the user
        can compute: which quantiles there are depends on the roles alone.
        """
        none = np.empty(0)
        return Rows(none, none, predictive=of_roles(dict.fromkeys(self.roles, none), none))

    @property
    def is_of_quantiles(self) -> bool:
        """True for quantiles, which are known at their levels alone."""
        return isinstance(self._no_rows.predictive, Quantiles)

    def _has_quantile(self, percent: float) -> bool:
        """True if the distributions have the quantile at this level. A table of quantiles has its
        own levels alone; n draws have none below 1 / (n + 1) or above n / (n + 1).
        """
        # which quantiles there are depends on the columns alone: a table of 0 rows tells it
        distributions_of_no_rows = self._no_rows.predictive
        assert distributions_of_no_rows is not None
        try:
            distributions_of_no_rows.quantile(level_of(percent))
        except MissingLevel:
            return False
        return True

    @property
    def shown_percents(self) -> list[float]:
        """The levels of the quantiles that are shown, in percent and ascending: all levels of a
        table of quantiles; the deciles of draws and moments, without those beyond the lowest or the
        highest draw. Empty without distributions.
        """
        if not self.roles:
            return []
        if not self.is_of_quantiles:
            return [percent for percent in DRAWN_LEVELS if self._has_quantile(percent)]
        levels = [level_of_role(role) for role in self.roles]
        # rounded, so that the two quantiles of an interval add up to 100 percent exactly
        return sorted(round(100 * level, EXACT) for level in levels)

    @property
    def intervals(self) -> list[float]:
        """The levels of the central intervals that are shown, in percent and ascending: of each two
        quantiles of a table that lie symmetrically; of draws and moments 10, 20 … 90 percent, as
        far as the draws have the bounds. Empty without distributions.
        """
        if not self.roles:
            return []
        if not self.is_of_quantiles:
            return [p for p in DRAWN_LEVELS if self._has_quantile((100 - p) / 2)]
        # the quantiles of p and 100 − p percent are the bounds of the central 100 − 2p percent
        percents = set(self.shown_percents)
        intervals = []
        for percent in percents:
            opposite = round(100 - percent, EXACT)
            if percent < 50 and opposite in percents:
                intervals.append(round(100 - 2 * percent, EXACT))
        return sorted(intervals)

    @property
    def lacks(self) -> dict[str, str]:
        """What metrics may need and the table does not have -> the columns that it would need, as a
        text for errors. The keys are the needs that metrics of the catalogue name.
        """
        met_needs = set[str]()
        if self.roles:  # the forecasts are distributions, not points alone
            form = "quantiles" if self.is_of_quantiles else "draws or moments"
            met_needs |= {"distributions", form}
        if is_ensemble(self.roles):
            met_needs.add("draws")
        # quantiles come in pairs if each, but for the median, is a bound of a central interval
        bounds = [percent for percent in self.shown_percents if percent != 50]
        if self.is_of_quantiles and len(bounds) == 2 * len(self.intervals):
            met_needs.add("pairs of quantiles")
        return {need: text for need, text in TEXTS["needs"].items() if need not in met_needs}

    def usual_metrics(self, *, with_skill: bool) -> list[str]:
        """The metrics that are shown if the user names none. with_skill: True if there is a
        reference forecast.
        """
        if not with_skill:
            return self._shown_metrics
        has_skill = bool(self.roles) and self._score in SCORES
        skill = f"{self._score}_skill" if has_skill else "mae_skill"
        return [*self._shown_metrics, skill]

    @property
    def _shown_metrics(self) -> list[str]:
        """The metrics that are shown without a reference forecast."""
        if not self.roles:
            return list(OF_POINTS)
        coverage = [f"coverage@{p:.{EXACT}g}" for p in self.shown_intervals]
        width = [f"interval_width@{p:.{EXACT}g}" for p in self.shown_intervals[-1:]]
        return [self._score, "mae", "bias", *coverage, *width]

    @property
    def shown_intervals(self) -> list[float]:
        """The intervals of 50% and 90%, or without the latter the widest, in percent."""
        intervals = [percent for percent in USUAL if percent in self.intervals]
        if USUAL[-1] not in intervals:
            intervals += self.intervals[-1:]  # the widest, if there is one
        return list(dict.fromkeys(intervals))

    @property
    def _score(self) -> str:
        """The metric of whole distributions; of a single interval its score."""
        if not self.is_of_quantiles:
            return "crps"
        if len(self.shown_percents) == 2 and self.intervals:
            return f"interval_score@{self.intervals[0]:.{EXACT}g}"
        return "wis"

    @property
    def drawn_metrics(self) -> list[MetricAtK]:
        """The metrics behind the figures: the coverage of each interval and of each quantile."""
        names = [f"coverage@{p:.{EXACT}g}" for p in self.intervals]
        names += [f"quantile_coverage@{p:.{EXACT}g}" for p in self.shown_percents]
        return [lookup.find_metric(name, "forecasts") for name in names]

    def examples(self, rows: Rows) -> ExampleForecasts:
        """The forecasts of these rows for a figure, with at most `NESTED` intervals of each row, of
        evenly spaced levels, the widest first. Rows are numbered from 1.
        """
        assert rows.predictive is not None
        number = np.arange(1, len(rows) + 1)
        step = max(1, math.ceil(len(self.intervals) / NESTED))  # 2: every other interval is drawn
        nested = self.intervals[::-step]  # backwards, as `intervals` begins with the narrowest
        frames = []
        for percent in nested:
            bounds = rows.predictive.interval(percent)._asdict()
            frames.append(pd.DataFrame({"nominal": percent / 100, "row": number} | bounds))
        points = {"row": number, "forecast": rows.scores, "actual": rows.actual}
        return ExampleForecasts(pd.concat(frames, ignore_index=True), pd.DataFrame(points))

    def missed_share(self, chosen: MetricAtK) -> float:
        """The share of the rows that make up most of a metric, if the stated distributions are
        right: the rows outside an interval, beyond a quantile, or on one side of the forecast.
        Infinite for a metric to which all rows contribute much, as it never rests on few rows.
        """
        metric = chosen.metric
        if not self.roles:  # forecasts of points do not say which rows would miss
            return np.inf
        # the parts of the weighted interval score: rows on one side of the forecast
        if metric.needs == "pairs of quantiles":
            return 0.5
        # Of the metrics at a level of k percent, those that are best if low are losses of the rows
        # that miss. The others, coverage and the width of intervals, are made up by all rows.
        if chosen.k is None or metric.best != "low":
            return np.inf
        share_up_to_quantile = float(chosen.k / 100)
        share_beyond = float((100 - chosen.k) / 100)  # or outside an interval of k percent
        is_pinball_loss = metric.needs == ""  # of one quantile: the others need intervals
        if is_pinball_loss:  # it weighs most the rows on the rarer side of the quantile
            return min(share_up_to_quantile, share_beyond)
        return share_beyond

    def refuse_levels(self, metrics: Iterable[MetricAtK]) -> None:
        """Raise ParameterError for a metric of a quantile that the table does not state. Each
        metric is computed on a table of 0 rows with the same quantiles, which refuses the same.
        """
        for chosen in metrics:
            if chosen.k is None:  # a metric without a level takes whatever quantiles there are
                continue
            try:
                chosen.value(self._no_rows)
            except MissingLevel as missing:
                has = listed(f"{p:.{EXACT}g}%" for p in self.shown_percents)
                needed = f"{100 * missing.level:.{EXACT}g}%"
                raise ParameterError(
                    f"metrics: {chosen.label} needs the {needed} quantile, the table has {has}"
                ) from None


def bins(percents: Sequence[float], coverage: Sequence[float]) -> Iterator[Row]:
    """Yield the histogram of the probability integral transform: low, high, share, and density,
    which is 1 where quantiles are right.

    percents: the levels of the quantiles. coverage: the share of actual values that do not exceed
    each of them.

    >>> [row["density"] for row in bins([25.0, 75.0], [0.25, 1.0])]
    [1.0, 1.5, 0.0]
    """
    ends = [0.0, *(percent / 100 for percent in percents), 1.0]
    shares = np.diff(coverage, prepend=0.0, append=1.0).tolist()
    for low, high, share in zip(ends[:-1], ends[1:], shares, strict=True):
        yield {"low": low, "high": high, "share": share, "density": share / (high - low)}
