"""The study of binary outcomes whose rows are in memory."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evalkit.limits import USUAL, Limits
from evalkit.metrics import calibration, cells
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.parameters import Classification
from evalkit.parameters.decisions import BestF1, Costs, Threshold
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.aligned import attributes_of
from evalkit.reading.inputs.outcomes import Binary
from evalkit.reading.tables.slices import Slice
from evalkit.statistics import count_bootstrap
from evalkit.statistics.sample import HeldRows
from evalkit.studies import study, thresholds
from evalkit.studies.binary import AT, ORDER, Account, BinaryStudy, Facts
from evalkit.studies.study import Settings
from evalkit.studies.thresholds import Rule


@dataclass(frozen=True, eq=False, repr=False)
class RowsStudy(BinaryStudy):
    """Intervals and tests from the rows themselves."""

    data: Binary

    @cached_property
    def facts(self) -> Facts:
        """What the page says of the rows."""
        d, rows = self.data, self.data.rows
        return Facts(
            account=Account(rows.systems, rows.columns, rows.sources, rows.read, len(rows), rows.alone),
            positive=d.positive,
            negative=d.negative,
            positives=int(d.label.sum()),
            weighted=d.weight is not None,
            outside={name: int(((score < 0) | (score > 1)).sum()) for name, score in d.score.items()},
            wrong={name: _certain_and_wrong(d, name) for name in d.score},
            repeated=_repeated(d),
            binned={},
            precision={name: own["score"] for name, own in rows.precision.items()},
        )

    @cached_property
    def sample(self) -> HeldRows:
        """Every system's scores with its threshold."""
        return HeldRows({name: rows.at(self.thresholds[name]) for name, rows in self._rows.items()})

    @cached_property
    def _rows(self) -> dict[str, Rows]:
        d = self.data
        return {name: Rows(d.label, score, weight=d.weight, unit=self.unit) for name, score in d.score.items()}

    def table(self, system: str) -> Counts:
        """The counts of a system."""
        return self._rows[system].counts

    def one_class(self, part: Slice) -> bool:
        """Whether the rows of a slice are all positive or all negative."""
        return len(np.unique(self.data.label[part.member])) < 2

    def resample(self, system: str) -> list[Counts]:
        """A system's table in cells, and those of bootstrap samples of its rows or units."""
        rows = self.sample.rows[system]
        table = cells.pooled(rows.counts)
        if rows.plain:
            return [table, *count_bootstrap.resampled(table, rng=self.rng(3), resamples=self.settings.limits.bands)]
        drawn = count_bootstrap.resampled_units(rows, rng=self.rng(3), resamples=self.settings.limits.bands)
        return [table, *drawn]


def _certain_and_wrong(d: Binary, name: str) -> int:
    low, high = d.score[name] < calibration.EPSILON, d.score[name] > 1 - calibration.EPSILON
    return int((low & (d.label == 1)).sum() + (high & (d.label == 0)).sum())


def _repeated(d: Binary) -> int:
    columns = np.column_stack([d.label, *d.score.values()])
    order = np.lexsort(columns.T)
    return int((columns[order][1:] == columns[order][:-1]).all(axis=1).sum())


# The parameters ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Asked:
    """What the parameters ask of a binary study."""

    settings: Settings
    rule: Rule
    costs: Costs
    prevalence: float | None


def asked(systems: tuple[str, ...], outside: str, p: Classification, limits: Limits) -> Asked:
    """The parameters, checked. outside: says of a score that is no probability what and where it is, else ""."""
    known = ["scores"] if outside else ["scores", "probabilities"]
    chosen = study.possible(p.metrics, "counts", (*ORDER, *AT), known, f"probabilities, {outside}")
    settings = study.settings(p, chosen, unit=p.unit, segments=p.segments, limits=limits)
    study.check_systems(settings, systems)
    usual: Threshold = BestF1() if outside else 0.5
    cut = usual if p.threshold is None else p.threshold
    costs = cut if isinstance(cut, Costs) else p.costs or Costs()
    return Asked(settings, thresholds.rule(cut), costs, p.prevalence)


def make(data: Binary, p: Classification, limits: Limits = USUAL) -> RowsStudy:
    """The study of rows in memory."""
    a = asked(data.rows.systems, _outside(data), p, limits)
    attributes = attributes_of(data.rows, a.settings.attributes, a.settings.unit)
    return RowsStudy(a.settings, data.rows.systems, attributes, p.given, a.rule, a.costs, a.prevalence, data)


def _outside(data: Binary) -> str:
    """The first score that is no probability."""
    for name, score in data.score.items():
        if not outcomes.are_probabilities(score):
            row = int(np.flatnonzero((score < 0) | (score > 1))[0])
            return f"got the score {score[row]:g} of {name} ({data.rows.place(row)})"
    return ""
