"""A study whose systems speak of the same rows; the units are rows, or the unit that was named."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats
from evalkit.catalogue.kinds import Kind, Loss, Share
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.metrics.rows import Rows
from evalkit.statistics import inference
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.sample import Sample
from evalkit.statistics.statistic import Layout, OfRows, Statistic
from evalkit.studies.study import EVERY, Member, Study
from evalkit.studies.words import plural, unit_noun


@dataclass(frozen=True, eq=False, repr=False)
class RowStudy(Study):
    """Estimates and comparisons of a sample."""

    @property
    @abstractmethod
    def sample(self) -> Sample:
        """All systems on the same rows."""

    @property
    def layout(self) -> Layout:
        """Whether rows are independent and unweighted, and whether they are at hand."""
        return self.sample.layout

    @property
    def plain(self) -> bool:
        """True if rows are independent and unweighted."""
        return self.layout in (Layout.PLAIN, Layout.SUMMED)

    @property
    def unit_name(self) -> str:
        """The row, or the unit that the user named."""
        return unit_noun(self.settings.unit, "unit") if self.settings.unit else "row"

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> Statistic:
        """The metric of a system on the rows that are members."""
        return self.sample.measure(chosen, system, member)

    def comparison_extras(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, Any]:
        """The difference that so many rows would show."""
        return {"detectable": inference.detectable(self.compare(chosen, pair))}

    @property
    def intervals_are(self) -> str:
        """Where intervals come from, in words."""
        return inference.words(self.settings.metrics, self.layout, lambda method: method.interval_is) + self._over

    @property
    def tests_are(self) -> str:
        """Where tests come from, in words."""
        tests = inference.words(self.directed, self.layout, lambda method: method.test_is)
        return f"on the same rows, two-sided: {tests}{self._over}; Holm over the pairs of one metric"

    @property
    def _over(self) -> str:
        return "" if self.plain else f"; over {plural(self.unit_name, 2)}"

    # Numbers of the page that are no metric of the table

    def number(self, kind: Kind, rows: Rows, low: float = 0.0, high: float = 1.0) -> Estimate:
        """A number of rows with its interval."""
        metric = Metric("number", "rows", kind, "", "", "", low=low, high=high)
        return inference.estimate(OfRows(Chosen(metric), rows), self.inference_options(1))

    def mean(self, values: Floats, weight: Floats | None, member: Bools | slice = EVERY) -> Estimate:
        """The weighted mean over members with its interval."""
        rows = Rows(values, weight=weight, unit=self.unit).take(member)
        return self.number(Loss(lambda rows, k: rows.actual), rows, -np.inf, np.inf)

    def share(self, member: Bools, hit: Bools, weight: Floats | None) -> Estimate:
        """Hits among the member rows with its interval."""
        rows = Rows(member, decision=hit, weight=weight, unit=self.unit)
        return self.number(Share(lambda member, hit: (member, hit)), rows)
