"""The significance study: values of several systems on the same units, and what may be claimed of them.

Where the values are its two subclasses know: `significance_rows` and `significance_sums`.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.catalogue.lookup import Chosen
from evalkit.drawing.shown import Shown
from evalkit.metrics.distribution import Distribution
from evalkit.progress import progress
from evalkit.reading.inputs.runs import Account
from evalkit.reading.inputs.unit_values import Described
from evalkit.reading.tables.parts import Source
from evalkit.statistics import multiplicity, significance
from evalkit.statistics.methods import Options, Paired
from evalkit.statistics.power import Effect
from evalkit.statistics.ranks import Ranked
from evalkit.statistics.significance import Comparison
from evalkit.studies.study import Member, Study
from evalkit.studies.words import plural, unit_noun

FOLDS = ("fold", "split", "repeat", "seed", "run")
SEVERAL = "test_to_train: needs one row per fold, the input has several"


@dataclass(frozen=True, eq=False, repr=False)
class Significance(Shown, Study):
    """The study of paired values. The family is every pair on every metric; its p-values pay for the looks first.

    test_to_train: the units are folds over the same rows, this many test rows for each training row. accounts, alone:
    what was left out, see `unit_sources.Input`.
    """

    report: ClassVar[str] = "significance"

    data: Described
    test_to_train: float | None
    looks: int
    accounts: Mapping[str, Account]
    alone: int

    value_is: ClassVar[str] = "Mean"
    added_up: ClassVar[bool] = False  # whether single values are not kept: t takes the place of what needs them

    # What the values tell

    @property
    @abstractmethod
    def units(self) -> int:
        """How many different units there are."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many values a system can have."""

    @abstractmethod
    def undefined(self, chosen: Chosen, system: str) -> int:
        """How many of them it lacks."""

    @abstractmethod
    def is_ratio(self, chosen: Chosen) -> bool:
        """Whether the metric is a ratio of sums."""

    @abstractmethod
    def paired(self, chosen: Chosen, pair: tuple[str, str]) -> Paired:
        """The difference of a pair with its standard error over units."""

    @abstractmethod
    def effect(self, chosen: Chosen, pair: tuple[str, str]) -> tuple[Effect, float]:
        """The sizes of the differences of units; the mean difference of the metric."""

    @abstractmethod
    def joint(self, every: list[tuple[Chosen, tuple[str, str]]]) -> Floats | None:
        """Max-T over the family, where all of it is defined on the same units; else None."""

    @abstractmethod
    def other_tests(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, float]:
        """The p-values of a pair by other tests but the bootstrap, by their names."""

    def bootstraps(self, chosen: Chosen) -> dict[tuple[str, str], float]:
        """The p-value of each pair by a bootstrap; none where single values are not kept."""
        return {}

    @abstractmethod
    def tukey(self, chosen: Chosen) -> Floats | None:
        """Tukey's p-values of all pairs, systems in order, by the units that all systems have; None below two."""

    @abstractmethod
    def ranked(self) -> Ranked | None:
        """How the systems rank by the primary metric on the units that all have; None below two of these."""

    @abstractmethod
    def each_difference(self) -> dict[str, list[Any]]:
        """Units, and values: the headline's difference of each, smallest first; nothing where they are not kept."""

    @abstractmethod
    def distribution(self) -> Distribution:
        """How the headline's differences of units are distributed."""

    @property
    def bounds(self) -> tuple[float, float]:
        """How far the median of the headline's differences, and Wilcoxon's z, can lie from those of the units."""
        return 0.0, 0.0

    @abstractmethod
    def null_draws(self) -> Floats:
        """The mean difference of the headline under the null, drawn."""

    @abstractmethod
    def p_of(self, means: Floats) -> Floats:
        """The p-value of each mean difference of the headline."""

    @abstractmethod
    def clusters(self) -> list[tuple[str, int, float]]:
        """Columns that could name clusters: each with its values, and how many times the standard error grows."""

    # What the page asks

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
        return {"detectable": self.paired(chosen, pair).detectable(self.family_level)}

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
        adjusted = significance.adjust(self._tested(every), significance.holm)
        rows = [self.row(chosen, pair, c) for (chosen, pair), c in zip(every, adjusted, strict=True)]
        frame = pd.DataFrame(rows)
        frame["equivalence_low"] = [c.equivalence.low for c in adjusted]
        frame["equivalence_high"] = [c.equivalence.high for c in adjusted]
        if (joint := self.joint(every)) is not None:
            at = list(frame.columns).index("adjusted") + 1
            frame.insert(at, "max_t", np.maximum(self.over_looks(joint), frame["p"]))
        return frame

    def _tested(self, every: Sequence[tuple[Chosen, tuple[str, str]]]) -> list[Comparison]:
        """The comparisons of a family, one by one; long work shows how many are done."""
        tests = list[Comparison]()
        with progress("comparing", len(every), "pairs") as draw:
            for chosen, pair in every:
                draw(len(tests))
                tests.append(self.compare(chosen, pair))
        return tests

    # One pair closely: the first of the headline

    @property
    def flips(self) -> bool:
        """Whether the headline was tested by sign flips: neither a ratio of sums nor folds, and its values are kept."""
        return not (self.is_ratio(self.primary) or self.test_to_train or self.added_up)

    @property
    def drawn(self) -> bool:
        """Whether the distribution of the headline under the null is known."""
        return self.flips or (self.added_up and not self.test_to_train)

    def p_curve(self, points: int = 241) -> pd.DataFrame:
        """The p-value of every mean difference around the headline's: those with p ≥ α make the interval."""
        row = self.headline.iloc[0]
        ends = [row[name] if np.isfinite(row[name]) else row["difference"] for name in ("low", "high")]
        reach = max(1.6 * max(row["difference"] - ends[0], ends[1] - row["difference"]), 1.2 * abs(row["difference"]))
        theta = row["difference"] + np.linspace(-reach or -1.0, reach or 1.0, points)
        return pd.DataFrame({"mean": theta, "p": self.p_of(theta)})


def _over_looks(p: float, looks: int) -> float:
    if np.isnan(p):
        return p
    if looks == 1 or not 1e-5 < p < 1:
        return min(1.0, p * looks) if looks > 1 else p  # Bonferroni, where the integral has too few digits
    return float(min(1.0, p * looks, max(p, multiplicity.false_positive_rate(looks, level=1 - p))))
