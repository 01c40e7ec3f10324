"""A study whose systems speak of the same rows; the units are rows, or the unit that was named.

With it the numbers and curves of one class against the rest, or of one label, that several kinds of rows have.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.arrays import Floats
from evalkit.catalogue.metric import Chosen
from evalkit.drawing.shown import Shown
from evalkit.numbers import unit_noun
from evalkit.reading.inputs.aligned import Aligned, number_of
from evalkit.statistics import inference
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.statistic import Layout, Sample, Statistic
from evalkit.studies import units
from evalkit.studies.study import EVERY, Member, Study
from evalkit.studies.units import Units

DRAWN = 8  # curves that one picture can hold


@dataclass(frozen=True, eq=False, repr=False)
class RowStudy(Shown, Study):
    """Estimates and comparisons of a sample."""

    @property
    @abstractmethod
    def sample(self) -> Sample:
        """All systems on the same rows."""

    @property
    def names(self) -> Sequence[str]:
        """All classes or labels of which each row has scores or decisions of its own; none where it has one."""
        return ()

    def units_held(self) -> Units:
        """The rows at hand."""
        sample: Any = self.sample
        id = sample.ids()
        blocks = units.of_rows(sample.rows, self.settings.metrics, self.listed(id), self.names)
        return Units(len(id), blocks, self.settings.segments, self.names)

    def beside(self, rows: Aligned) -> dict[str, Floats]:
        """The further columns that the metrics are computed from."""
        return {name: number_of(rows, name) for name in self.settings.columns}

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
        return {"detectable": self.would_show(chosen, pair)}

    @property
    def over(self) -> str:
        """What varies where it is not the plain row."""
        return "" if self.plain else super().over

    @property
    def intervals_are(self) -> str:
        """Where intervals come from, in words."""
        words = inference.words(
            self.settings.metrics, self.layout, lambda method: method.interval_is, rechosen=self.rechosen
        )
        return words + self.over


def with_limits(estimates: Mapping[str, Estimate]) -> dict[str, float]:
    """Each estimate as itself, `_low` and `_high`."""
    sides = {"": "value", "_low": "low", "_high": "high"}
    return {f"{metric}{end}": getattr(e, side) for metric, e in estimates.items() for end, side in sides.items()}
