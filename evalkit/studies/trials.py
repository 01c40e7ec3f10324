"""Successes of trials: each system against a null share, or independent systems against each other."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import Floats, ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import PerUnit, Proportion
from evalkit.catalogue.lookup import Chosen, Metric
from evalkit.drawing.shown import Shown
from evalkit.numbers import plural
from evalkit.parameters import Significance
from evalkit.reading.inputs.units import Trials
from evalkit.reading.tables.parts import Source
from evalkit.statistics import proportions
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import Hits, Known, Statistic
from evalkit.studies import study, units
from evalkit.studies.study import EVERY, Member, Study
from evalkit.studies.units import Units

SHARE = "share of successes"
DRAWN = 2000  # more numbers of successes than a picture can show


@dataclass(frozen=True, eq=False, repr=False)
class Shares(Shown, Study):
    """The study of shares. With a null it is one more system, known exactly, against which all others stand."""

    report: ClassVar[str] = "significance"

    data: Trials
    null: float | None
    alternative: str

    differences_are: ClassVar[str] = "Differences"
    value_is: ClassVar[str] = "Share"

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.data.sources

    @classmethod
    def of(cls, data: Trials, p: Significance) -> "Shares":
        """The study of a table; raises ParameterError for parameters that do not go together, or an unknown metric."""
        null = p.null
        if null is None and p.alternative != "two-sided":
            raise ParameterError(f"alternative: {p.alternative!r} needs a null share, such as null=0.5")
        if null is not None and p.baseline:
            raise ParameterError(
                "baseline: with null every system is compared with the null share; set only one of the two"
            )
        if unknown := set(p.lower_is_better) - {SHARE, "successes"}:
            raise ParameterError(f"lower_is_better: there is no metric {min(unknown)!r}, the input has {SHARE!r}")
        metric = replace(
            named(SHARE, "low" if p.lower_is_better else lookup.direction(data.columns["successes"]) or "high"),
            kind=Proportion(absent),
            formula="successes / trials",
            undefined="there is no trial",
            equals="statsmodels proportion_confint",
        )
        systems = data.systems + ((cls.label(null),) if null is not None else ())
        p = replace(p, baseline=cls.label(null) if null else p.baseline)
        shared = study.settings(p, [Chosen(metric)])
        study.check_systems(shared, systems)
        return cls(shared, systems, {}, p.given, data, null, p.alternative)

    @staticmethod
    def label(null: float | None) -> str:
        """What the null share is called among the systems."""
        return f"null {null:g}"

    @property
    def unit_name(self) -> str:
        """One trial."""
        return "trial"

    @property
    def sided(self) -> str:
        """The side of the test."""
        return self.alternative

    @property
    def family(self) -> str:
        """The comparisons that were made, counted."""
        pairs = len(self.pairs)
        return f"{pairs} {plural('comparison', pairs)} on the {SHARE}; Holm"

    def counts(self, system: str) -> tuple[int, int]:
        """Successes and trials of a system."""
        i = self.data.systems.index(system)
        return int(self.data.successes[i]), int(self.data.trials[i])

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> Statistic:
        """The share of successes; the null share as it is known."""
        if system in self.data.systems:
            return Hits(chosen, *self.counts(system))
        assert self.null is not None
        return Known(
            chosen, Estimate(self.null, np.nan, np.nan, self.settings.level, int(self.data.trials.max()), "given")
        )

    def units_held(self) -> Units:
        """Successes and trials of each system; of the null share itself."""
        blocks = [units.known(name, self.primary, *map(float, self.counts(name))) for name in self.data.systems]
        if self.null is not None:
            blocks.append(units.known(self.label(self.null), self.primary, self.null))
        return Units(1, blocks)

    def inference_options(self, key: int) -> Options:
        """What intervals and tests depend on beside the data."""
        return replace(super().inference_options(key), alternative=self.alternative)

    def comparison_extras(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, Any]:
        """Fisher's exact p beside the score test."""
        if self.null is not None:
            return {}
        return {"p_fisher": proportions.fisher(*self.counts(pair[0]), *self.counts(pair[1])).p_value}

    def null_shares(self) -> tuple[Floats, Floats, int]:
        """Numbers of successes and their chances under the null, and the number seen, of the headline's first.

        All that count, or of more than `DRAWN` those in equal steps from the one seen.
        """
        assert self.null is not None
        seen, n = self.counts(self.opponents[0])
        low, high = proportions.likely(n, self.null)
        step = -(-(high - low + 1) // DRAWN)
        k = np.union1d(np.arange(low + (seen - low) % step, high + 1, step), [seen])
        return k.astype(float), np.exp(proportions.log_binomial(k, n, self.null)), seen

    @property
    def beyond_exact(self) -> list[str]:
        """The comparisons of so many trials that the exact two-sided test gives way to the score test."""
        many = {pair: sum(self.counts(name)[1] for name in pair if name in self.data.systems) for pair in self.pairs}
        return [" − ".join(pair) for pair, n in many.items() if n > proportions.EXACT]


def named(name: str, best: str | None = None) -> Metric:
    """A metric of which only the name and the values are known; without `best`, as the name says, else more is better.

    >>> named("log_loss").best, named("rmse").best, named("minutes").best, named("minutes").assumed
    ('low', 'low', 'high', True)
    """
    best = best or lookup.direction(name)
    formula, undefined = "the mean of the values in the input", "the input holds no value"
    about: dict[str, Any] = {"low": -np.inf, "high": np.inf, "best": best or "high", "unit": "", "assumed": not best}
    return Metric(name, "units", PerUnit(absent), formula, undefined, "the input", **about)


def absent(*_: Any) -> Any:
    """Raise: the input holds values, nothing computes them."""
    raise AssertionError("none, the values come from the input")
