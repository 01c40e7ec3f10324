"""The study of an A/B table: every arm's metrics, the lift, and what CUPED, strata, caps and heavy users do.

Where the users are its two subclasses know: `experiment_rows` and `experiment_sums`.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit import parameters
from evalkit.catalogue.kinds import PerUnit, Proportion
from evalkit.catalogue.lookup import Chosen
from evalkit.online import experiments
from evalkit.parameters.fields import UNKNOWN
from evalkit.reading.tables.parts import Source
from evalkit.statistics import inference, multiplicity, power
from evalkit.statistics.significance import Comparison
from evalkit.studies.study import Study
from evalkit.studies.words import unit_noun

CAPS = (0.999, 0.99, 0.95, 0.9)
LIFTS = (0.01, 0.02, 0.05, 0.1, 0.2)
TOPS = (0.01, 0.1)


@dataclass(frozen=True)
class Control:
    """The second arm of the headline: mean and standard deviation of the plain metric, and its correlation with the
    column from before, 0 where there is none.
    """

    mean: float
    deviation: float
    correlation: float


@dataclass(frozen=True, eq=False, repr=False)
class Experiment(Study):
    """The study of an A/B table: the systems are the arms, every user is in one of them."""

    options: parameters.Interleaving
    columns: Mapping[str, str]
    inputs: tuple[Source, ...]
    sample: bool

    differences_are: ClassVar[str] = "Differences of arms"
    compares: ClassVar[str] = "arm"

    # What the users tell

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Users by arm."""

    @property
    @abstractmethod
    def crossed(self) -> int:
        """Users seen in several arms, who are left out."""

    @abstractmethod
    def cap(self, share: float) -> float:
        """The quantile of the plain metric's values over the users of all arms."""

    @abstractmethod
    def means(self, share: float | None) -> Comparison:
        """The headline pair's difference of means, of values capped at a quantile, or as they are."""

    @abstractmethod
    def cuped(self, share: float | None) -> Comparison:
        """The same adjusted for the column from before."""

    @abstractmethod
    def stratified(self) -> Comparison:
        """The same within the strata."""

    @abstractmethod
    def tops(self) -> dict[float, float]:
        """The share of the whole that the users with most of it have, for each of `TOPS`; none of values below 0."""

    @property
    @abstractmethod
    def others(self) -> dict[str, int]:
        """By arm the users without the value that more than half have; nothing where there is no such value."""

    @property
    @abstractmethod
    def control(self) -> Control | None:
        """The second arm of the headline; None where it does not vary."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """How far quantiles, and shares of heavy users, can lie from those of the users; 0 where all are counted."""

    @property
    @abstractmethod
    def permutes(self) -> bool:
        """Whether skewed arms of unequal size have the studentised permutation test, which needs the users."""

    # What the page asks

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.inputs

    @property
    def unit_name(self) -> str:
        """The user, or what the input calls it; the row where there is no such column."""
        return unit_noun(self.columns["user"], "user") if "user" in self.columns else "row"

    def comparison_extras(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, Any]:
        """The lift, first over second − 1, with its interval, and the difference that would show."""
        first, second = (self.measure(chosen, name) for name in pair)
        c = inference.lift(first, second, self.inference_options(2))
        lift = {"lift": c.difference.value, "lift_low": c.difference.low, "lift_high": c.difference.high}
        return lift | {"detectable": self.would_show(chosen, pair)}

    # What variance reduction and heavy users do to the answer

    @cached_property
    def plain(self) -> Chosen | None:
        """The first metric that is a mean and no proportion: what can be capped, stratified and adjusted."""
        return plain_of(self.settings.metrics)

    @cached_property
    def adjustments(self) -> pd.DataFrame:
        """The headline pair's difference as it is, with CUPED, stratified and capped; one row a way to measure it.

        Columns: way, estimand, difference, low, high, p, n, users (the share of users that would give an interval as
        narrow).
        """
        if self.plain is None:
            return pd.DataFrame()
        o, same = self.options, "the same"
        other = f"mean of min(value, {self.cap(o.cap):.3g})"
        ways = [("as it is", same, self.compare(self.plain, self.opponents))]
        if o.before:
            ways.append((f"CUPED with {o.before}", same, self.cuped(None)))
        if o.strata:
            ways.append((f"stratified by {o.strata}", same, self.stratified()))
        ways.append((f"capped at {o.cap:.1%}", other, self.means(o.cap)))
        if o.before:
            ways.append((f"capped at {o.cap:.1%}, CUPED", other, self.cuped(o.cap)))
        wide = ways[0][2].difference
        return pd.DataFrame([self._way(*way, wide=wide.high - wide.low) for way in ways])

    def _way(self, name: str, estimand: str, c: Comparison, *, wide: float) -> dict[str, Any]:
        e = c.difference
        row = {"way": name, "estimand": estimand, "difference": e.value, "low": e.low, "high": e.high, "p": c.p_value}
        return row | {"n": e.n, "users": ((e.high - e.low) / wide) ** 2 if 0 < wide < np.inf else float("nan")}

    @cached_property
    def caps(self) -> pd.DataFrame:
        """The headline pair's difference with values above each quantile set to it: name, value, low, high."""
        if self.plain is None:
            return pd.DataFrame()
        rows = []
        for share in (None, *CAPS):
            e = self.means(share).difference
            name = "not capped" if share is None else f"capped at the {share:.1%} quantile, {self.cap(share):.3g}"
            rows.append({"name": name, "value": e.value, "low": e.low, "high": e.high, "n": e.n})
        return pd.DataFrame(rows)

    @cached_property
    def concentration(self) -> dict[float, float]:
        """Share of the whole that the users with most of it have, for each of `TOPS`."""
        return self.tops() if self.plain else {}

    # The design

    @cached_property
    def sample_ratio(self) -> float | None:
        """p that the users fell into the arms as planned; None where the plan is unknown."""
        if self.options.shares == UNKNOWN:
            return None
        shares = self.options.shares
        planned = [shares[name] for name in self.systems] if isinstance(shares, Mapping) else None
        return experiments.sample_ratio(list(self.sizes.values()), planned)

    @cached_property
    def users_for(self) -> pd.DataFrame:
        """Users an arm for a lift over the headline's second arm at 80% power: lift, difference, raw, cuped."""
        control = self.control if self.plain else None
        if control is None or control.mean == 0:
            return pd.DataFrame()
        sd, left, rows = control.deviation, float(np.sqrt(1 - control.correlation**2)), []
        for lift in LIFTS:
            difference = lift * control.mean
            raw, cuped = (
                power.required_n_independent(difference, x, level=self.settings.level) for x in (sd, sd * left)
            )
            rows.append({"lift": lift, "difference": difference, "raw": raw, "cuped": cuped})
        return pd.DataFrame(rows)

    @cached_property
    def looks(self) -> dict[str, float] | None:
        """What several looks cost: the chance of a false positive, and the p that the last look must pass."""
        n, level = self.options.looks, self.settings.level
        if n == 1:
            return None
        from scipy.special import ndtr

        bounds = {
            "pocock": multiplicity.pocock(n, level=level),
            "obrien_fleming": multiplicity.obrien_fleming(n, level=level),
        }
        last = {name: float(2 * ndtr(-bound[-1])) for name, bound in bounds.items()}
        return {"looks": n, "false_positive_rate": multiplicity.false_positive_rate(n, level=level)} | last


def plain_of(metrics: tuple[Chosen, ...]) -> Chosen | None:
    """The first metric that is a mean and no proportion, or else the first proportion; None of ratios alone."""
    means = [chosen for chosen in metrics if isinstance(chosen.metric.kind, PerUnit)]
    return next((mean for mean in means if not isinstance(mean.metric.kind, Proportion)), next(iter(means), None))
