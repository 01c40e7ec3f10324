"""The rating study: actual values and forecasts, errors with intervals, bias along the forecast, paired comparisons."""

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit import parameters
from evalkit.arrays import ratio
from evalkit.catalogue import lookup
from evalkit.catalogue.metric import Chosen
from evalkit.metrics import sums
from evalkit.metrics.rows import Rows
from evalkit.metrics.sums import Sums
from evalkit.parameters import Columns, ColumnsOfEach, Metrics, Named, Names, Tables, documented
from evalkit.reading.inputs import ratings
from evalkit.reading.inputs.aligned import attributes_of
from evalkit.reading.inputs.ratings import Ratings
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import Source
from evalkit.statistics.sample import HeldRows
from evalkit.studies import mean_reliability, study
from evalkit.studies.mean_reliability import MeanReliability
from evalkit.studies.row_study import RowStudy

SAMPLE = {"preds": "data/visit_forecasts/predictions.csv", "unit": "person", "segments": ["plan", "health"]}
METRICS = ("mae", "rmse", "bias", "median_absolute_error", "r2")
TENTHS = 10
EXAMPLES = 5
ROUNDING = 1e-12  # of sums of shares


@documented(parameters.Rating)
def read(
    preds: Tables | None = None,
    *,
    columns: Named | None = None,
    systems: Names | None = None,
    metrics: Metrics | None = None,
    unit: str | None = None,
    segments: Names | None = None,
    baseline: str | None = None,
    gate: str | None = None,
    title: str | None = None,
    note: str | None = None,
    data_date: str | None = None,
    margin: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    header: str | None = None,
    y_true: Columns | None = None,
    y_pred: ColumnsOfEach | None = None,
    sample_weight: Columns | None = None,
) -> "Rating":
    """Read actual values and forecasts, and measure and compare how far they are apart.

    Without `preds` and arrays it is the bundled sample. Raises ParameterError for a parameter, InputError for
    the input.

    >>> import evalkit as ek
    >>> ek.rating(y_true=[3, 5, 4, 8], y_pred=[2, 5, 6, 7], metrics="mae").estimates["value"].tolist()
    [1.0]
    """
    p = parameters.Rating.of(locals())
    p = p.filled(SAMPLE) if p.preds is None else p
    settings = study.settings(p, lookup.chosen(p.metrics, "forecasts", METRICS), unit=p.unit, segments=p.segments)
    parts = sources.parts(p.preds, p.header)
    data = ratings.read(parts, columns=p.columns, systems=p.systems, attributes=settings.beside)
    study.check_systems(settings, data.rows.systems)
    attributes = attributes_of(data.rows, settings.attributes, settings.unit)
    return Rating(settings, data.rows.systems, attributes, p.given, data)


@dataclass(frozen=True, eq=False, repr=False)
class Rating(RowStudy):
    """The study of forecasts of numbers; the units are rows, or the unit that was named."""

    report: ClassVar[str] = "rating"
    listed_under: ClassVar[str] = "Errors"

    data: Ratings

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.data.rows.sources

    @cached_property
    def sample(self) -> HeldRows:
        """Every system's forecasts beside the actual values."""
        d = self.data
        shared: dict[str, Any] = {"weight": d.weight, "unit": self.unit, "beside": self.beside(d.rows)}
        return HeldRows({name: Rows(d.actual, f, **shared) for name, f in d.forecast.items()})

    def comparison_extras(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, Any]:
        """Units on which the first has the smaller absolute error, and the difference that so many would show."""
        weight = 1.0 if self.unit is None or self.data.weight is None else self.data.weight
        first, second = (Sums(-weight * np.abs(self.data.forecast[name] - self.data.actual)) for name in pair)
        wins, ties, losses = sums.wins(first, second, self.unit)
        return {"wins": wins, "ties": ties, "losses": losses} | super().comparison_extras(chosen, pair)

    def constant(self, chosen: Chosen) -> float:
        """The metric of forecasting the mean of the actual values for every row."""
        rows = self.sample.rows[self.leader]
        return self._of_constant(chosen, float(np.dot(rows.shares, rows.actual)))

    def constant_median(self, chosen: Chosen) -> float:
        """The metric of forecasting the median of the actual values for every row, which has the least MAE of all."""
        rows = self.sample.rows[self.leader]
        order = np.argsort(rows.actual, kind="stable")
        half = int(np.searchsorted(np.cumsum(rows.shares[order]), 0.5 - ROUNDING))
        return self._of_constant(chosen, float(rows.actual[order[half]]))

    def _of_constant(self, chosen: Chosen, value: float) -> float:
        rows = self.sample.rows[self.leader]
        return chosen.value(replace(rows, score=np.full(len(rows), value)))

    @cached_property
    def tenths(self) -> pd.DataFrame:
        """By tenths of each system's forecast: mean forecast, mean actual and bias with intervals, rows."""
        rows = []
        for name in self.order:
            forecast = self.data.forecast[name]
            edges = np.unique(np.quantile(forecast, np.linspace(0, 1, TENTHS + 1)[1:-1]))
            part = np.searchsorted(edges, forecast, side="right")
            for i in np.unique(part):
                member = part == i
                bias = self.mean(forecast - self.data.actual, self.data.weight, member)
                means = {
                    "forecast": self.mean(forecast, self.data.weight, member).value,
                    "actual": self.mean(self.data.actual, self.data.weight, member).value,
                }
                interval = {"bias": bias.value, "low": bias.low, "high": bias.high, "n": int(member.sum())}
                rows.append({"system": name, "tenth": int(i) + 1} | means | interval)
        return pd.DataFrame(rows)

    @cached_property
    def means(self) -> dict[str, MeanReliability]:
        """The mean of the actual values along the forecast of every system, best first."""
        draws, level = self.settings.limits.bands, self.settings.level
        rows = {name: self.sample.rows[name] for name in self.order}
        return {name: mean_reliability.of_rows(r, self.rng(5), draws=draws, level=level) for name, r in rows.items()}

    @cached_property
    def parts(self) -> pd.DataFrame:
        """The squared error of every system by CORP: mse, miscalibration, discrimination, uncertainty, skill.

        skill: (discrimination − miscalibration) / uncertainty, the R² against the mean of the actual values.
        """
        rows = []
        for name, of_system in self.means.items():
            d = of_system.parts
            gained = d.discrimination - d.miscalibration
            skill = float(ratio(gained, d.uncertainty))
            rows.append({"system": name, "mse": d.uncertainty - gained} | asdict(d) | {"skill": skill})
        return pd.DataFrame(rows)

    @cached_property
    def spread(self) -> pd.DataFrame:
        """Quantiles of the error forecast − actual of every system."""
        shares = (0.05, 0.25, 0.5, 0.75, 0.95)
        errors = {name: np.quantile(f - self.data.actual, shares) for name, f in self.data.forecast.items()}
        return pd.DataFrame(
            [
                {"system": name} | {f"{q:.0%}": v for q, v in zip(shares, errors[name], strict=True)}
                for name in self.order
            ]
        )

    def extremes(self, n: int = EXAMPLES) -> pd.DataFrame:
        """The rows that the leader misses by most."""
        actual, forecast = self.data.actual, self.data.forecast[self.leader]
        worst = np.argsort(-np.abs(forecast - actual), kind="stable")[:n]
        columns = {"id": self.data.rows.id[worst], "actual": actual[worst], "forecast": forecast[worst]}
        return pd.DataFrame(columns).assign(error=forecast[worst] - actual[worst])

    @property
    def heavy(self) -> float:
        """The share of the leader's squared error that the worst hundredth of the rows holds."""
        squared = np.sort((self.data.forecast[self.leader] - self.data.actual) ** 2)[::-1]
        return float(squared[: max(1, len(squared) // 100)].sum() / squared.sum()) if squared.sum() else 0.0
