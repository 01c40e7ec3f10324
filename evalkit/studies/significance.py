"""The significance study: values of several systems on the same units, and what may be claimed of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit import parameters
from evalkit.arrays import Floats, ParameterError
from evalkit.catalogue.lookup import Chosen
from evalkit.drawing.shown import Shown
from evalkit.metrics.sums import Sums, both
from evalkit.parameters import Metrics, Named, Names, Tables, documented
from evalkit.reading.inputs import unit_tables, unit_values
from evalkit.reading.inputs.runs import Account
from evalkit.reading.inputs.unit_values import UnitValues
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import Source
from evalkit.statistics import inference, intervals, multiplicity, signflip, significance
from evalkit.statistics.flip_ranges import ranges
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.methods import Options
from evalkit.statistics.significance import Comparison
from evalkit.statistics.statistic import Layout, OfUnits
from evalkit.studies import study, unit_sources, units
from evalkit.studies.study import EVERY, Member, Study
from evalkit.studies.trials import Shares
from evalkit.studies.unit_sources import Input
from evalkit.studies.units import Units
from evalkit.studies.words import plural, unit_noun

SAMPLE: dict[str, Any] = {
    "preds": "data/digits_retrieval/runs",
    "qrels": "data/digits_retrieval/qrels.txt",
    "metrics": "ndcg@10,map,mrr",
    "margin": 0.05,
}
DRAWN = 16_384  # sign vectors of the pictures; p-values come from 100,000
FOLDS = ("fold", "split", "repeat", "seed", "run")


@documented(parameters.Significance)
def read(
    preds: Tables | None = None,
    qrels: Tables | None = None,
    *,
    unit: str | None = None,
    columns: Named | None = None,
    systems: Names | None = None,
    metrics: Metrics | None = None,
    lower_is_better: Names | None = None,
    ranks: str = "as given",
    null: float | None = None,
    alternative: str = "two-sided",
    test_to_train: float | None = None,
    looks: int = 1,
    baseline: str | None = None,
    gate: str | None = None,
    title: str | None = None,
    note: str | None = None,
    data_date: str | None = None,
    margin: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    header: str | None = None,
    units: str | bool | None = None,
) -> "Significance | Shares":
    """Read values of several systems on the same units, and test which differences are statistically significant.

    Without `preds` it is the bundled sample. Raises ParameterError for a parameter, InputError for the input.

    >>> import evalkit as ek
    >>> values = {"new": [0.8, 0.6, 0.9, 0.7, 0.8, 0.9], "old": [0.7, 0.5, 0.7, 0.6, 0.6, 0.8]}
    >>> study = ek.significance(values, baseline="old")
    >>> study.comparisons[["first", "p", "verdict"]].to_dict("list")
    {'first': ['new'], 'p': [0.03125], 'verdict': ['better']}
    """
    p = parameters.Significance.of(locals())
    p = p.filled(SAMPLE) if p.preds is None else p
    parts = sources.parts(p.preds, p.header)
    kind = unit_tables.kind(parts, p.columns, p.systems)
    if kind == "wide" and p.header is None:
        for part in parts:
            roles_of.refuse_data(part.columns, part.name)
    unit_sources.check_meant(kind, p.given, p.columns)
    if kind != "ranking":
        unit_tables.check_named(parts, p.columns, p.unit)
    if kind == "trials":
        return Shares.of(unit_values.read_trials(parts, p.columns), p)
    return _study(unit_sources.read(kind, parts, study.inputs(p.qrels, p.header), p), p)


def _directed(chosen: tuple[Chosen, ...], least: tuple[str, ...]) -> tuple[Chosen, ...]:
    """The metrics with those of which less is better turned around."""
    labels = [metric.label for metric in chosen]
    for name in least:
        if name not in labels:
            raise ParameterError(f"lower_is_better: there is no metric {name!r}, the input has {', '.join(labels)}")
    return tuple(Chosen(replace(c.metric, best="low"), c.k) if c.label in least else c for c in chosen)


def _study(values: Input, p: parameters.Significance) -> "Significance":
    data = values.values
    clustered = len(np.unique(data.unit.astype(str))) < len(data.unit)
    metrics = _directed(values.metrics, p.lower_is_better)
    shared = study.settings(p, metrics, unit=data.name if clustered else None)
    study.check_systems(shared, data.systems)
    if p.test_to_train and clustered:
        raise ParameterError("test_to_train: needs one row per fold, the input has several")
    attributes = {data.name: data.unit.astype(str)} if clustered else {}
    return Significance(
        shared, data.systems, attributes, p.given, data, p.test_to_train, p.looks, values.accounts, values.alone
    )


@dataclass(frozen=True, eq=False, repr=False)
class Significance(Shown, Study):
    """The study of paired values. The family is every pair on every metric; its p-values pay for the looks first.

    test_to_train: the units are folds over the same rows, this many test rows for each training row. accounts, alone:
    what was left out, see `unit_sources.Input`.
    """

    report: ClassVar[str] = "significance"

    data: UnitValues
    test_to_train: float | None
    looks: int
    accounts: Mapping[str, Account]
    alone: int

    value_is: ClassVar[str] = "Mean"

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.data.sources

    @property
    def unit_name(self) -> str:
        """What the input calls the unit."""
        name = "fold" if self.test_to_train else self.data.name
        return "row" if name == "id" else unit_noun(name, "unit")

    @property
    def adjusted_over(self) -> str:
        """All of the family."""
        return "all pairs and metrics"

    @property
    def family(self) -> str:
        """The comparisons that were made, counted."""
        metrics, pairs = len(self.directed), len(self.pairs)
        what = plural("candidate" if self.settings.baseline else "pair", pairs)
        many = f"{metrics} {plural('metric', metrics)} × {pairs} {what}"
        return f"{metrics * pairs} {plural('comparison', metrics * pairs)}: {many}; Holm"

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> OfUnits:
        """One value a row."""
        clusters = None if self.unit is None else self.unit[member]  # type: ignore[index]
        design = Layout.FOLDS if self.test_to_train else Layout.PLAIN
        return OfUnits(chosen, self.data.values[chosen.label, system].take(member), clusters, design)  # type: ignore[arg-type]

    def units_held(self) -> Units:
        """One value a row; of an earlier report, which has differences only, the value of each system."""
        if self.data.known:
            every = [(system, chosen) for system in self.systems for chosen in self.settings.metrics]
            of = {(system, chosen.label): self.estimate(chosen, system).value for system, chosen in every}
            return Units(1, [units.known(system, chosen, of[system, chosen.label]) for system, chosen in every])
        id = self.data.unit if self.unit is None else np.arange(1, len(self.data.unit) + 1)
        return units.of_each(self, self.listed(id))

    def values(self, chosen: Chosen, system: str) -> Sums:
        """One value a row."""
        return self.data.values[chosen.label, system]

    def sides(self, chosen: Chosen, pair: tuple[str, str]) -> tuple[Sums, Sums]:
        """The values of both systems."""
        return self.values(chosen, pair[0]), self.values(chosen, pair[1])

    def is_ratio(self, chosen: Chosen) -> bool:
        """Whether the metric is a ratio of sums."""
        return any(self.values(chosen, name).denominator is not None for name in self.systems)

    @property
    def test_level(self) -> float:
        """The level of each look at which all of them together keep the level asked for (Pocock)."""
        if self.looks == 1:
            return self.settings.level
        from scipy.special import ndtr

        return float(1 - 2 * ndtr(-multiplicity.pocock(self.looks, level=self.settings.level)[0]))

    def over_looks(self, p: Floats) -> Floats:
        """The chance that one of the looks finds a p this small under the null."""
        return np.array([_over_looks(float(value), self.looks) for value in p])

    def inference_options(self, key: int) -> Options:
        """What intervals and tests depend on beside the data."""
        return replace(super().inference_options(key), test_to_train=self.test_to_train or 0.0)

    def _estimate(self, chosen: Chosen, system: str, member: Member) -> Estimate:
        """Of an earlier report what it says."""
        if known := self.data.known.get((chosen.label, system)):
            return Estimate(*(known[name] for name in ("value", "low", "high", "level", "n", "method")))
        return super()._estimate(chosen, system, member)

    def _compare(self, chosen: Chosen, pair: tuple[str, str], member: Member) -> Comparison:
        """The comparison, as it is after all looks."""
        c = super()._compare(chosen, pair, member)
        return c if self.looks == 1 else self._repeated(c)

    def _repeated(self, c: Comparison) -> Comparison:
        """The comparison after several looks: its interval held the difference at all of them at the level asked for.

        Jennison and Turnbull's repeated confidence interval, JRSS B 1989, doi:10.1111/j.2517-6161.1989.tb01432.x.
        """
        p, level = _over_looks(c.p_value, self.looks), self.settings.level
        difference = replace(c.difference, level=level)
        inside = replace(c.equivalence, level=round(2 * level - 1, 12))
        method = f"{c.method}, at one of {self.looks} looks"
        return replace(c, difference=difference, p_value=p, adjusted=p, method=method, equivalence=inside)

    def comparison_extras(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, Any]:
        """The smallest true difference that as many units would show."""
        if self.test_to_train:
            return {}
        first, second = (self.measure(chosen, name) for name in pair)
        return {"detectable": inference.detectable_by_t(first, second, self.family_level)}

    @property
    def family_size(self) -> int:
        """The pairs on every metric are one family."""
        return len(self.directed) * len(self.pairs)

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """Every pair on every metric, adjusted over all of them by Holm, and where units are shared by max-T."""
        every = [(chosen, pair) for chosen in self.directed for pair in self.pairs]
        if not every:
            return pd.DataFrame()
        adjusted = significance.adjust([self.compare(chosen, pair) for chosen, pair in every], significance.holm)
        rows = [self.row(chosen, pair, c) for (chosen, pair), c in zip(every, adjusted, strict=True)]
        frame = pd.DataFrame(rows)
        frame["equivalence_low"] = [c.equivalence.low for c in adjusted]
        frame["equivalence_high"] = [c.equivalence.high for c in adjusted]
        if (joint := self._joint(every)) is not None:
            at = list(frame.columns).index("adjusted") + 1
            frame.insert(at, "max_t", np.maximum(self.over_looks(joint), frame["p"]))
        return frame

    def _joint(self, every: list[tuple[Chosen, tuple[str, str]]]) -> Floats | None:
        """Max-T over the family, where all of it is defined on the same units; else None."""
        sides = [self.sides(chosen, pair) for chosen, pair in every]
        keep = both(*sides[0])
        same = all(np.array_equal(keep, both(*two)) for two in sides)
        if len(every) < 2 or self.test_to_train or not same or any(self.is_ratio(chosen) for chosen, _ in every):
            return None
        d = np.column_stack([(a.per_unit - b.per_unit)[keep] for a, b in sides])
        if self.unit is not None:
            d = np.column_stack([intervals.by_unit(column, self.unit[keep])[0] for column in d.T])
        return multiplicity.max_t(d, rng=self.rng(3))

    # One pair closely: the first of the headline

    def differences(self, pair: tuple[str, str] | None = None, chosen: Chosen | None = None) -> pd.Series:
        """A metric of the first less that of the second, one a unit (the mean of its rows), smallest first."""
        chosen, pair = chosen or self.primary, pair or self.opponents
        total, count = self.summed(pair, chosen)
        ids = self.data.unit[both(*self.sides(chosen, pair))].astype(str)
        index = pd.Index(ids if self.unit is None else np.unique(ids), name=self.unit_name)
        return pd.Series(total / count, index=index).sort_values(kind="stable")

    @property
    def flips(self) -> bool:
        """Whether the headline was tested by sign flips: neither a ratio of sums nor folds."""
        return not (self.is_ratio(self.primary) or self.test_to_train)

    def summed(self, pair: tuple[str, str], chosen: Chosen) -> tuple[Floats, Floats]:
        """Sum and number of the differences of each unit's rows."""
        first, second = self.sides(chosen, pair)
        keep = both(first, second)
        d = (first.per_unit - second.per_unit)[keep]
        return (d, np.ones(d.size)) if self.unit is None else intervals.by_unit(d, self.unit[keep])

    def null_draws(self) -> Floats:
        """The mean difference of the headline under random signs of its units."""
        total, count = self.summed(self.opponents, self.primary)
        if total.size <= signflip.ENUMERATED:
            drawn = signflip.enumerated(total)
            return np.concatenate([drawn, -drawn]) / count.sum()
        return signflip.joint_draws(total[:, None], rng=self.rng(4), draws=DRAWN)[0] / count.sum()

    def p_curve(self, points: int = 241) -> pd.DataFrame:
        """The p-value of every mean difference around the headline's: those with p ≥ α make the interval."""
        drawn = ranges(*self.summed(self.opponents, self.primary), rng=self.rng(2), draws=DRAWN)
        row = self.headline.iloc[0]
        ends = [row[name] if np.isfinite(row[name]) else row["difference"] for name in ("low", "high")]
        reach = max(1.6 * max(row["difference"] - ends[0], ends[1] - row["difference"]), 1.2 * abs(row["difference"]))
        theta = row["difference"] + np.linspace(-reach or -1.0, reach or 1.0, points)
        return pd.DataFrame({"mean": theta, "p": [drawn.share(float(null)) for null in theta]})


def _over_looks(p: float, looks: int) -> float:
    if np.isnan(p):
        return p
    if looks == 1 or not 1e-5 < p < 1:
        return min(1.0, p * looks) if looks > 1 else p  # Bonferroni, where the integral has too few digits
    return float(min(1.0, p * looks, max(p, multiplicity.false_positive_rate(looks, level=1 - p))))
