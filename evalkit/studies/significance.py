"""The significance study: reads values of several systems on the same units, or successes and trials."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import Proportion
from evalkit.catalogue.lookup import Chosen
from evalkit.drawing.shown import Shown
from evalkit.limits import USUAL, Limits
from evalkit.numbers import plural
from evalkit.parameters import reports
from evalkit.reading.reductions import unit_kinds, units as reading_units
from evalkit.reading.reductions.units import Trials, UnitValues
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import Part
from evalkit.statistics import proportions
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import Hits, Known, Statistic
from evalkit.studies import ranking, study, units
from evalkit.studies.diagnostics import FEW, alpha
from evalkit.studies.paired import Significance
from evalkit.studies.study import EVERY, Member, Study
from evalkit.studies.units import Units

SHARE = "share of successes"
DRAWN = 2000  # more numbers of successes than a picture can show
SAMPLE: dict[str, Any] = {
    "preds": "data/digits_retrieval/runs",
    "qrels": "data/digits_retrieval/qrels.txt",
    "metrics": "ndcg@10,map,mrr",
    "margin": 0.05,
}


@sources.naming_files
def study_of(p: reports.Significance, limits: Limits = USUAL) -> "Significance | Shares":
    """Read values of several systems on the same units, and test which differences are statistically significant.

    Without `preds`, the bundled sample is read. Raises ParameterError for an invalid parameter and InputError for
    invalid input.

    >>> import evalkit as ek
    >>> values = {"new": [0.8, 0.6, 0.9, 0.7, 0.8, 0.9], "old": [0.7, 0.5, 0.7, 0.6, 0.6, 0.8]}
    >>> study = ek.significance(values, baseline="old")
    >>> study.comparisons[["first", "p", "verdict"]].to_dict("list")
    {'first': ['new'], 'p': [0.03125], 'verdict': ['better']}
    """
    p = p.filled(SAMPLE) if p.preds is None else p
    with unit_kinds.opened(p, limits.reading) as given:
        ranked = given.name == "ranking"
        data, metrics = of_lists(given.cells.parts, p) if ranked else given.values(p, limits.reading)
    return Shares.of(data, p) if isinstance(data, Trials) else Significance.of(data, metrics, p, limits)


read = reports.reader(reports.Significance)(study_of)


# Kinds of input -------------------------------------------------------------------------------------------------------


def of_lists(parts: Sequence[Part], p: reports.Significance) -> tuple[UnitValues, tuple[Chosen, ...]]:
    """The values per query of ranked lists, and their metrics."""
    asked = ("columns", "systems", "metrics", "unit", "ranks", "header", "memory", "threads", "spill")
    lists = ranking.read(list(parts), p.qrels, **{name: getattr(p, name) for name in asked})
    id, cluster = (
        (lists.runs.query, None) if lists.unit is None else reading_units.clustered(lists.runs.query, lists.unit)
    )
    data = UnitValues(
        id=id,
        cluster=cluster,
        name=p.unit or lists.runs.columns.get("query", "query"),
        metrics=tuple(chosen.label for chosen in lists.settings.metrics),
        systems=lists.systems,
        values=lists.per_query,
        columns=lists.runs.columns,
        sources=lists.runs.sources,
        accounts=lists.runs.accounts,
    )
    return data, lists.settings.metrics


# Successes of trials --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NullShares:
    """The null distribution of successes: k, its probability, whether p includes it; the observed k; the step of k."""

    k: Floats
    probability: Floats
    added: Bools
    seen: int
    step: int


@dataclass(frozen=True, eq=False, repr=False)
class Shares(Shown, Study):
    """The study of shares of successes. A null share is a further system, known exactly, and the baseline."""

    report: ClassVar[str] = "significance"

    data: Trials
    null: float | None

    differences_are: ClassVar[str] = "Differences"
    value_is: ClassVar[str] = "Share"

    @classmethod
    def of(cls, data: Trials, p: reports.Significance) -> "Shares":
        """The study of a table. Raises ParameterError for parameters that do not go together, or an unknown metric."""
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
            lookup.named(SHARE, "low" if p.lower_is_better else lookup.direction(data.columns["successes"]) or "high"),
            kind=Proportion(lookup.absent),
            formula="successes / trials",
            undefined="there is no trial",
            equals="statsmodels proportion_confint",
        )
        systems = data.systems + ((cls.label(null),) if null is not None else ())
        p = replace(p, baseline=cls.label(null) if null else p.baseline)
        shared = study.settings(p, [Chosen(metric)])
        study.check_systems(shared, systems)
        return cls(shared, systems, {}, p, data.sources, data, null)

    @staticmethod
    def label(null: float | None) -> str:
        """The name of the null share among the systems."""
        return f"null {null:g}"

    @property
    def unit_name(self) -> str:
        """The noun for one trial."""
        return "trial"

    @property
    def sided(self) -> str:  # type: ignore[override]
        """The side of the test."""
        return str(self.p.alternative)

    @property
    def family(self) -> str:
        """The comparisons that were made, as text."""
        pairs = len(self.pairs)
        return f"{pairs} {plural('comparison', pairs)} on the {SHARE}; Holm"

    def counts(self, system: str) -> tuple[int, int]:
        """Successes and trials of a system."""
        i = self.data.systems.index(system)
        return int(self.data.successes[i]), int(self.data.trials[i])

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> Statistic:
        """The share of successes, or the null share, which is known."""
        if system in self.data.systems:
            return Hits(chosen, *self.counts(system))
        assert self.null is not None
        return Known(
            chosen, Estimate(self.null, np.nan, np.nan, self.settings.level, int(self.data.trials.max()), "given")
        )

    def units_held(self) -> Units:
        """Successes and trials of each system; for the null share its value."""
        blocks = [units.known(name, self.primary, *map(float, self.counts(name))) for name in self.data.systems]
        if self.null is not None:
            blocks.append(units.known(self.label(self.null), self.primary, self.null))
        return Units(1, blocks)

    def inference_options(self, key: int) -> Options:
        """The options of intervals and tests."""
        return replace(super().inference_options(key), alternative=self.p.alternative)

    def comparison_extras(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, Any]:
        """Fisher's exact p in addition to the score test."""
        if self.null is not None:
            return {}
        return {"p_fisher": proportions.fisher(*self.counts(pair[0]), *self.counts(pair[1])).p_value}

    def null_shares(self) -> NullShares | None:
        """The null distribution around the observed number; None for so many trials that p is from the score test.

        All numbers of successes with a probability that counts, or if there are more than `DRAWN`, some in equal steps
        from the observed one.
        """
        assert self.null is not None
        seen, n = self.counts(self.opponents[0])
        if n > proportions.EXACT:
            return None
        low, high = proportions.likely(n, self.null)
        step = -(-(high - low + 1) // DRAWN)
        k = np.union1d(np.arange(low + (seen - low) % step, high + 1, step), [seen]).astype(float)
        probability = np.exp(proportions.log_binomial(k, n, self.null))
        either = probability <= probability[k == seen] * (1 + 1e-7)
        added = {"greater": k >= seen, "less": k <= seen}.get(self.p.alternative, either)
        return NullShares(k, probability, np.asarray(added), seen, int(np.median(np.diff(k))) if len(k) > 1 else 1)

    @property
    def trials(self) -> int:
        """The number of all trials."""
        return int(self.data.trials.sum())

    @property
    def small(self) -> list[str]:
        """The systems with few trials."""
        return [name for name, n in zip(self.data.systems, self.data.trials, strict=True) if n < FEW]

    @property
    def two_answers(self) -> pd.DataFrame:
        """The comparisons whose test and interval disagree on significance; each uses the method that suits it best."""
        if not len(self.comparisons):
            return self.comparisons
        outside = (self.comparisons["low"] > 0) | (self.comparisons["high"] < 0)
        return self.comparisons[(self.comparisons["p"] < alpha(self)) != outside]

    @property
    def most_exact(self) -> int:
        """The largest number of trials for which tests are exact."""
        return proportions.EXACT

    @property
    def beyond_exact(self) -> list[str]:
        """The comparisons with so many trials that the score test replaces the exact two-sided test."""
        many = {pair: sum(self.counts(name)[1] for name in pair if name in self.data.systems) for pair in self.pairs}
        return [" − ".join(pair) for pair, n in many.items() if n > proportions.EXACT]
