"""The study of binary outcomes whose rows are in memory."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evalkit.arrays import ParameterError
from evalkit.definitions.metric import Chosen
from evalkit.definitions.outcome_metrics import PROBABILITIES
from evalkit.metrics import calibration
from evalkit.metrics.counts import Counts
from evalkit.parameters import Classification
from evalkit.parameters.decisions import BestF1, Costs, Threshold
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.aligned import attributes_of
from evalkit.reading.inputs.outcomes import Binary
from evalkit.reading.tables.slices import Slice
from evalkit.statistics import count_bootstrap, scored
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.scored import Scored
from evalkit.statistics.significance import Comparison
from evalkit.studies import study, thresholds
from evalkit.studies.binary import AT, ORDER, RESAMPLES, Account, BinaryStudy, Facts
from evalkit.studies.study import EVERY, Member, Settings
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
            outside={name: int(((one < 0) | (one > 1)).sum()) for name, one in d.score.items()},
            wrong={name: _certain_and_wrong(d, name) for name in d.score},
            repeated=_repeated(d),
            binned={},
            precision={name: own["score"] for name, own in rows.precision.items()},
        )

    @property
    def intervals_are(self) -> str:
        """Where intervals come from, in words."""
        if not self.plain:
            return f"the influence of each row, added up by {self.unit_name} (delta method)"
        return (
            "shares of rows: Wilson; means of a loss: t; AUC: DeLong's variance on the logit scale, Newcombe's method "
            "5 where a class has fewer than 50 rows; the rest: BCa from 1,000 resamples of counts"
        )

    @property
    def tests_are(self) -> str:
        """Where tests come from, in words."""
        return (
            "on the same rows, two-sided: DeLong for AUC, McNemar mid-p with Tango's interval for shares of rows, sign "
            "flips for means of a loss, Welch's t on the influence of each row for average precision and the other "
            "metrics of a threshold, a paired bootstrap of counts (normal) for the rest; Holm over the pairs"
        )

    @cached_property
    def scored(self) -> dict[str, Scored]:
        """Every system's scores with its threshold."""
        return {
            name: Scored(self.data.label, score, self.thresholds[name], self.data.weight, self.unit)
            for name, score in self.data.score.items()
        }

    @cached_property
    def _tables(self) -> dict[str, Counts]:
        d = self.data
        return {name: Scored(d.label, score, 0.5, d.weight).counts for name, score in d.score.items()}

    def table(self, system: str) -> Counts:
        """The counts of a system."""
        return self._tables[system]

    def _some(self, system: str, member: Member) -> Scored:
        return self.scored[system] if isinstance(member, slice) else self.scored[system].take(member)

    def estimate(self, chosen: Chosen, system: str, member: Member = EVERY) -> Estimate:
        """The metric with its interval."""
        return scored.estimate(chosen, self._some(system, member), level=self.settings.level, rng=self.rng(1))

    def compare(self, chosen: Chosen, pair: tuple[str, str], member: Member = EVERY) -> Comparison:
        """first − second on the same rows."""
        if isinstance(member, slice) and (chosen.label, pair) in self._made:
            return self._made[chosen.label, pair]
        first, second = (self._some(name, member) for name in pair)
        level = self.settings.level
        found = scored.compare(chosen, first, second, level=level, rng=self.rng(2), unit=self.unit_name)
        if isinstance(member, slice):
            self._made[chosen.label, pair] = found
        return found

    @cached_property
    def _made(self) -> dict[tuple[str, tuple[str, str]], Comparison]:
        """The comparisons made so far: a bootstrap is not run twice."""
        return {}

    def one_class(self, part: Slice) -> bool:
        """Whether the rows of a slice are all positive or all negative."""
        return len(np.unique(self.data.label[part.member])) < 2

    def resample(self, system: str) -> list[Counts]:
        """A system's table in cells, and those of bootstrap samples of its rows or units."""
        s = self.scored[system]
        table = count_bootstrap.pool(s.counts, count_bootstrap.cells(s.counts))
        if s.plain:
            return [table, *count_bootstrap.resampled(table, rng=self.rng(3), resamples=RESAMPLES)]
        drawn = count_bootstrap.resampled_units(
            s.counts, s.label, s.place, unit=s.units, weight=s.weight, rng=self.rng(3), resamples=RESAMPLES
        )
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
    omitted: tuple[str, ...]


def asked(systems: tuple[str, ...], outside: str, p: Classification) -> Asked:
    """The parameters, checked. outside: says of a score that is no probability what and where it is, else ""."""
    omitted = PROBABILITIES if outside else ()
    chosen = study.chosen(p.metrics, "counts", [name for name in (*ORDER, *AT) if name not in omitted])
    refused = [one.label for one in chosen if one.label in omitted]
    if refused:
        raise ParameterError(f"metrics: {refused[0]} needs probabilities, {outside}")
    s = study.settings(p, chosen, unit=p.unit, segments=p.segments)
    study.check_systems(s, systems)
    usual: Threshold = BestF1() if outside else 0.5
    cut = usual if p.threshold is None else p.threshold
    costs = cut if isinstance(cut, Costs) else p.costs or Costs()
    return Asked(s, thresholds.rule(cut), costs, p.prevalence, omitted)


def make(data: Binary, p: Classification) -> RowsStudy:
    """The study of rows in memory."""
    a = asked(data.rows.systems, _outside(data), p)
    attributes = attributes_of(data.rows, a.settings.attributes, a.settings.unit)
    return RowsStudy(a.settings, data.rows.systems, attributes, p.given, a.rule, a.costs, a.prevalence, a.omitted, data)


def _outside(data: Binary) -> str:
    """The first score that is no probability."""
    for name, score in data.score.items():
        if not outcomes.are_probabilities(score):
            row = int(np.flatnonzero((score < 0) | (score > 1))[0])
            return f"got the score {score[row]:g} of {name} ({data.rows.place(row)})"
    return ""
