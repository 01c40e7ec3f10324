"""The significance study: reads values of several systems on the same units, or successes and
trials.

Of evaluations with repeated draws, tasks and logs also what varies, and what the logs themselves
say.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, Ints, ParameterError, codes, ratio
from evalkit.catalogue import kinds, lookup
from evalkit.catalogue.lookup import MetricAtK
from evalkit.drawing.shown import Shown
from evalkit.limits import USUAL, Limits
from evalkit.metrics.draws import Draws
from evalkit.numbers import plural, unit_noun
from evalkit.parameters import reports
from evalkit.parameters.reports import SUCH, TASKS, THESE
from evalkit.reading.matching import commands
from evalkit.reading.reductions import unit_kinds
from evalkit.reading.reductions.unit_readers import Trials
from evalkit.reading.reductions.units import UnitValues
from evalkit.reading.tables import logs
from evalkit.reading.tables.parts import InputPart
from evalkit.statistics import (
    inference,
    intervals,
    methods,
    proportions,
    significance,
    statistic,
)
from evalkit.statistics.spread import Spread, by_unit, satterthwaite_of_few, standard_error
from evalkit.studies import diagnostics, judges, ranking, study, units
from evalkit.studies.paired import Significance
from evalkit.studies.study import EVERY, Member, Row, Study, SystemPair, framed
from evalkit.system import cached

SHARE = "share of successes"
DRAWN = 2000  # more numbers of successes than a picture can show
LISTS = {name: ranking.SAMPLE[name] for name in ("preds", "qrels")}
SAMPLE: dict[str, Any] = LISTS | {"metrics": "ndcg@10,map,mrr", "margin": 0.05}


@commands.advising
def study_of(p: reports.SignificanceParameters, limits: Limits = USUAL) -> "Significance | Shares":
    """Read values of several systems on the same units, and test which differences are
    statistically significant.

    Without `preds`, the bundled sample is read. Raises ParameterError for an invalid parameter and
    InputError for invalid input.

    >>> import evalkit as ek
    >>> values = {"new": [0.8, 0.6, 0.9, 0.7, 0.8, 0.9], "old": [0.7, 0.5, 0.7, 0.6, 0.6, 0.8]}
    >>> study = ek.significance(values, metrics="accuracy", baseline="old")
    >>> study.comparisons[["first", "p", "verdict"]].to_dict("list")
    {'first': ['new'], 'p': [0.03125], 'verdict': ['better']}
    """
    p = p.with_defaults(SAMPLE) if p.preds is None else p
    with unit_kinds.opened(p, limits.reading) as given:
        data, metrics = (
            of_lists(given.table.parts, p)
            if given.name == "ranking"
            else given.values(limits.reading)
        )
    if isinstance(data, Trials):
        return Shares.of(data, p)
    kind = judges.JudgedOutputs if data.labels else Significance
    return kind.of(data, metrics, p, limits)


read = reports.reader(reports.SignificanceParameters)(study_of)


# Kinds of input -----------------------------------------------------------------------------------


def of_lists(
    parts: Sequence[InputPart], p: reports.SignificanceParameters
) -> tuple[UnitValues, tuple[MetricAtK, ...]]:
    """The values per query of ranked lists, and their metrics."""
    asked = (
        "columns",
        "systems",
        "metrics",
        "unit",
        "ranks",
        "header",
        "memory",
        "threads",
        "spill",
    )
    lists = ranking.read(list(parts), p.qrels, **{name: getattr(p, name) for name in asked})
    runs, metrics = lists.runs, lists.settings.metrics
    data = UnitValues(
        runs.query,
        name=p.unit or runs.columns.get("query", "query"),
        values=lists.per_query,
        columns=runs.columns,
        sources=runs.sources,
        accounts=runs.accounts,
    )
    return data if lists.unit is None else data.in_clusters(lists.unit), metrics


# Successes of trials ------------------------------------------------------------------------------


@dataclass(frozen=True)
class NullShares:
    """The null distribution of successes: k, its probability, whether p includes it; the observed
    k; the step of k.
    """

    k: Floats
    probability: Floats
    added: Bools
    seen: int
    step: int


@dataclass(frozen=True, eq=False, repr=False)
class Shares(Shown, Study):
    """The study of shares of successes. A null share is a further system, known exactly, and the
    baseline.
    """

    report: ClassVar[str] = "significance"

    data: Trials
    null: float | None

    differences_are: ClassVar[str] = "Differences"
    value_is: ClassVar[str] = "Share"

    @classmethod
    def of(cls, data: Trials, p: reports.SignificanceParameters) -> "Shares":
        """The study of a table. Raises ParameterError for parameters that do not go together, or an
        unknown metric.
        """
        null = p.null
        if null is not None and p.baseline:
            every = "with null every system is compared with the null share"
            raise ParameterError(f"baseline: {every}; set only one of the two")
        lower = [SHARE if name == "successes" else name for name in p.lower_is_better]
        p = replace(p, lower_is_better=tuple(lower))
        metric = replace(
            lookup.named(SHARE, lookup.direction(data.columns["successes"]) or "high"),
            kind=kinds.Proportion(lookup.absent),
            formula="successes / trials",
            undefined="there is no trial",
            equals="statsmodels proportion_confint",
        )
        systems = data.systems + ((cls.label(null),) if null is not None else ())
        p = replace(p, baseline=cls.label(null) if null else p.baseline)
        return cls(
            study.settings(p, [MetricAtK(metric)]).checked(systems),
            systems,
            {},
            p,
            data.sources,
            data,
            null,
        )

    @staticmethod
    def label(null: float | None) -> str:
        """The name of the null share among the systems."""
        return f"null {null:g}"

    @property
    def unit_name(self) -> str:
        """The noun for one trial."""
        return "trial"

    @property
    def family(self) -> str:
        """The comparisons that were made, as text."""
        pairs = len(self.pairs)
        return f"{pairs} {plural('comparison', pairs)} on the {SHARE}; Holm"

    def counts(self, system: str) -> tuple[int, int]:
        """Successes and trials of a system."""
        i = self.data.systems.index(system)
        return int(self.data.successes[i]), int(self.data.trials[i])

    def measure(
        self, chosen: MetricAtK, system: str, member: Member = EVERY
    ) -> statistic.Statistic:
        """The share of successes, or the null share, which is known."""
        if system in self.data.systems:
            return statistic.SuccessShare(chosen, *self.counts(system))
        assert self.null is not None
        most = int(self.data.trials.max())
        level = self.settings.level
        return statistic.KnownValue(
            chosen, intervals.Estimate(self.null, np.nan, np.nan, level, most, methods.GIVEN)
        )

    def units_held(self) -> units.Units:
        """Successes and trials of each system; for the null share its value."""
        blocks = [
            units.known(name, self.primary, *map(float, self.counts(name)))
            for name in self.data.systems
        ]
        if self.null is not None:
            blocks.append(units.known(self.label(self.null), self.primary, self.null))
        return units.Units(1, blocks)

    def comparison_extras(self, chosen: MetricAtK, pair: SystemPair) -> Row:
        """Fisher's exact p in addition to the score test."""
        if self.null is not None:
            return {}
        fisher = proportions.fisher(*self.counts(pair[0]), *self.counts(pair[1]))
        level = self.settings.level
        return {"p_fisher": fisher.answering(self.settings.alternative, level=level).p_value}

    def null_shares(self) -> NullShares | None:
        """The null distribution around the observed number; None for so many trials that p is from
        the score test.

        All numbers of successes with a probability that counts, or if there are more than `DRAWN`,
        some in equal steps from the observed one.
        """
        assert self.null is not None
        seen, n = self.counts(self.opponents[0])
        if n > proportions.MAX_EXACT_TRIALS:
            return None
        low, high = proportions.likely(n, self.null)
        step = -(-(high - low + 1) // DRAWN)
        k = np.union1d(np.arange(low + (seen - low) % step, high + 1, step), [seen]).astype(float)
        probability = np.exp(proportions.log_binomial(k, n, self.null))
        either = probability <= probability[k == seen] * (1 + 1e-7)
        added = {"greater": k >= seen, "less": k <= seen}.get(self.p.alternative, either)
        return NullShares(
            k, probability, np.asarray(added), seen, int(np.median(np.diff(k))) if len(k) > 1 else 1
        )

    @property
    def trials(self) -> int:
        """The number of all trials."""
        return int(self.data.trials.sum())

    @property
    def small(self) -> list[str]:
        """The systems with few trials."""
        return [
            name
            for name, n in zip(self.data.systems, self.data.trials, strict=True)
            if n < diagnostics.FEW
        ]

    @property
    def two_answers(self) -> pd.DataFrame:
        """The comparisons whose test and interval disagree on significance; each uses the method
        that suits it best.
        """
        if not len(self.comparisons):
            return self.comparisons
        outside = (self.comparisons["low"] > 0) | (self.comparisons["high"] < 0)
        return self.comparisons[(self.comparisons["p"] < diagnostics.alpha(self)) != outside]

    @property
    def most_exact(self) -> int:
        """The largest number of trials for which tests are exact."""
        return proportions.MAX_EXACT_TRIALS

    @property
    def beyond_exact(self) -> list[str]:
        """The comparisons with so many trials that the score test replaces the exact one."""
        many = {
            pair: sum(self.counts(name)[1] for name in pair if name in self.data.systems)
            for pair in self.pairs
        }
        return [" − ".join(pair) for pair, n in many.items() if n > proportions.MAX_EXACT_TRIALS]


# Evaluations --------------------------------------------------------------------------------------


def question(study: Significance) -> str:
    """What has a value of its own, as a noun: the unit, or what lies in it where that is a
    cluster.
    """
    return unit_noun(study.data.columns.get("unit", study.unit_name).rpartition(" ")[2], "unit")


def drawn(study: Significance) -> str:
    """The name of the metric whose draws (repeated trials) the input holds; "" if there is none.

    It is the primary metric, or the one that the primary metric is computed from.
    """
    metric = study.primary.label
    metric = metric if (metric, study.systems[0]) in study.data.draws else study.data.source
    several = any(of.several for (name, _), of in study.data.draws.items() if name == metric)
    return metric if several else ""


@cached
@framed
def variation(study: Significance) -> Iterator[Row]:
    """How each system varies between units and within, and the headline's difference; what more of
    both would buy.

    `error` is the standard error of the mean; then that of twice as many units (or clusters), of
    twice as many draws of each, and of endless draws.
    """
    if not (metric := drawn(study)):
        return
    every = {name: study.data.draws[metric, name] for name in study.order}
    for name, of in every.items():
        yield {"what": name} | _variation(study, of.mean, [of])
    if len(study.headline):
        first, second = (every[name] for name in study.opponents)
        yield {"what": " − ".join(study.opponents)} | _variation(
            study, first.mean - second.mean, [first, second]
        )


def _variation(study: Significance, values: Floats, draws: list[Draws]) -> dict[str, Any]:
    """The row of values of units; what they vary by within a unit is that of the draws of all of
    these.
    """
    keep = np.flatnonzero(~np.isnan(values))
    by_draws = float(sum(of.noise[keep].mean() for of in draws))
    square = mean_by(values, cluster=study.unit).error ** 2
    rest = by_draws / len(keep)
    between = values[keep].var(ddof=1) - by_draws if len(keep) > 1 else np.nan
    squares = {
        "between": np.maximum(between, 0.0),
        "within": sum(of.pooled for of in draws),
        "error": square,
        "twice_units": square / 2,
        "twice_draws": max(square - rest / 2, square / 2),
        "endless_draws": max(square - rest, 0.0),
    }
    row = {
        "units": len(keep),
        "draws": float(np.mean([ratio(keep.size, (1 / of.count[keep]).sum()) for of in draws])),
    }
    return row | {name: float(np.sqrt(value)) for name, value in squares.items()}


# What a claim covers ------------------------------------------------------------------------------

POOLED, MACRO = "pooled", "macro"


def coverage(study: Significance) -> dict[str, np.ndarray | None]:
    """The claims that the input allows, the widest last, with the clusters that vary; one alone is
    no choice.
    """
    claims: dict[str, np.ndarray | None] = dict.fromkeys([THESE, SUCH] if drawn(study) else [SUCH])
    if study.unit is not None and not study.data.by_task:
        claims[f"such {plural(study.unit_name, 2)}"] = study.unit
    tasks = study.unit if study.data.by_task else study.data.tasks
    return claims if tasks is None else claims | {TASKS: tasks}


@dataclass(frozen=True)
class ClaimedMean(significance.DifferenceByT):
    """A mean with its standard error. uncorrected: that error without the factors
    clusters / (clusters − 1), known as CR0.
    """

    uncorrected: float = np.nan


def mean_by(
    values: Floats,
    noise: Floats | None = None,
    *,
    cluster: np.ndarray | None = None,
    tasks: np.ndarray | None = None,
) -> ClaimedMean:
    """The mean of values of units with its standard error and t.

    noise: the variance of each by its draws, where these alone vary. cluster: what varies, None for
    the units themselves. tasks: of the macro mean the task of each unit, None for the pooled one.
    The error is CR1 with t on the number of clusters less 1 (Liang, Zeger 1986,
    doi:10.1093/biomet/73.1.13), or stratified by task where the tasks do not vary: see
    `_of_strata`.
    """
    known = ~np.isnan(values)
    values = values[known]
    n = values.size
    task = np.zeros(n, np.int64)
    if tasks is not None:
        task, _ = codes(tasks[known])
    units_of_task = np.bincount(task)
    weight = 1 / (len(units_of_task) * units_of_task[task])  # each task weighs the same
    value = float(weight @ values)
    if noise is not None:
        error = float(np.sqrt(weight**2 @ noise[known]))
        return ClaimedMean(value, error, n, np.inf, inference.BY_DRAWS, uncorrected=error)
    group: Ints | None = None
    if cluster is not None:
        group, _ = codes(cluster[known])
    if tasks is None or (group is not None and _lie_in_one(task, group)):
        spread = Spread.from_influence(by_unit(weight * (values - value), group))
        clusters = int(spread.n)
        error = spread.error
        uncorrected = float(np.sqrt(spread.square))
        return ClaimedMean(
            value, error, clusters, clusters - 1, "cluster-robust", uncorrected=uncorrected
        )
    task_mean = np.bincount(task, values) / units_of_task
    influence = weight * (values - task_mean[task])
    if group is None:
        one_task_each = np.ones(len(units_of_task))
        return _of_strata(value, influence, stratum=task, tasks=one_task_each)
    strata = _strata_of_shared_clusters(task, group)
    return _of_strata(
        value,
        by_unit(influence, group),
        stratum=strata.of_cluster,
        tasks=np.bincount(strata.of_task),
    )


def _lie_in_one(task: Ints, group: Ints) -> bool:
    """True if each task lies in one cluster: a sample of clusters brings its own tasks."""
    pairs = np.unique(np.column_stack([task, group]), axis=0)
    return len(pairs) == len(np.unique(task))


class Strata(NamedTuple):
    """The number of the stratum of each task, and of each cluster."""

    of_task: Ints
    of_cluster: Ints


def _strata_of_shared_clusters(task: Ints, group: Ints) -> Strata:
    """Strata such that tasks that share a cluster lie in one: the connected components of the
    graph that links the task and the cluster (group) of each unit.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    tasks = int(task.max()) + 1
    nodes = tasks + int(group.max()) + 1  # the tasks, then the clusters
    links = coo_array((np.ones(len(task)), (task, tasks + group)), shape=(nodes, nodes))
    _, component = connected_components(links, directed=False)
    stratum = component.astype(np.int64)
    return Strata(of_task=stratum[:tasks], of_cluster=stratum[tasks:])


def _of_strata(
    value: float, influence: Floats, *, stratum: Ints, tasks: Floats | Ints
) -> ClaimedMean:
    """The macro mean of tasks that do not vary: Σ over strata of the variance of their clusters.

    influence: of each cluster on the mean. stratum: of each cluster. tasks: the number of each
    stratum's tasks, 1 where units are the clusters. The variance s² of a stratum of n clusters
    divides by n − 1. A stratum of one cluster has none: it takes the mean of the others; if all
    have one, the error is NaN. t has Welch and Satterthwaite's degrees of freedom. Cochran 1977,
    Sampling Techniques, 5A.12.
    """
    clusters = np.bincount(stratum)
    square = np.bincount(stratum, influence**2)
    share = tasks / tasks.sum()
    has_several = clusters > 1
    n = clusters[has_several]
    variance = square[has_several] * n / (n - 1)
    # the variance that strata of one cluster take from the others, as a factor of theirs: scaled by
    # the number of clusters and by the share of tasks
    lone_share = float((share[~has_several] ** 2).sum())
    factor = lone_share * ratio(n / share[has_several] ** 2, has_several.sum())
    parts = variance * (1 + factor)
    error = uncorrected = np.nan
    if n.size:
        error = float(np.sqrt(parts.sum()))
        uncorrected = float(np.sqrt(square.sum()))
    return ClaimedMean(
        value,
        error,
        int(clusters.sum()),
        satterthwaite_of_few(parts, n - 1),
        "stratified by task",
        uncorrected=uncorrected,
    )


def single_tasks(study: Significance) -> int:
    """The number of tasks in which the leader has one value alone, and so no variance."""
    if study.data.tasks is None:
        return 0
    known = study.values(study.primary, study.leader).defined
    return int((np.unique(study.data.tasks[known], return_counts=True)[1] == 1).sum())


@dataclass(frozen=True, eq=False)
class EvaluationClaim:
    """What a mean covers. cluster: what varies, None for the questions. tasks: of each question,
    for the mean of the means of tasks; None for the pooled one.
    """

    covers: str
    cluster: np.ndarray | None
    tasks: np.ndarray | None

    @property
    def words(self) -> Row:
        """The claim as the first columns of a frame."""
        return {"mean": POOLED if self.tasks is None else MACRO, "claim": self.covers}

    def made_by(self, study: Significance) -> bool:
        """True if the page's own intervals and tests are of this claim."""
        if self.tasks is not None:
            return False
        these = self.covers == THESE
        if study.p.claim == THESE:
            return these
        return self.cluster is study.unit and not these

    def mean(self, study: Significance, system: str, *less: str) -> ClaimedMean:
        """The primary metric of a system, or of its difference from another one."""
        names = (system, *less)
        values = study.values(study.primary, system).per_unit
        for name in less:
            values = values - study.values(study.primary, name).per_unit
        noise = None
        if self.covers == THESE:
            noise = np.sum([study.data.noise(study.primary, name) for name in names], axis=0)
        return mean_by(values, noise, cluster=self.cluster, tasks=self.tasks)


def possible_claims(study: Significance) -> list[EvaluationClaim]:
    """The claims that the input allows, pooled and then macro; none if there is only one, or for a
    ratio of sums.
    """
    covered = coverage(study)
    if len(covered) < 2 or study.is_ratio(study.primary):
        return []
    weightings = [None] if study.data.tasks is None else [None, study.data.tasks]
    return [
        EvaluationClaim(covers, cluster, tasks)
        for tasks in weightings
        for covers, cluster in covered.items()
    ]


@cached
@framed
def claim_means(study: Significance) -> Iterator[Row]:
    """The primary metric of every system by what is claimed: pooled over questions, and macro, the
    mean of the means of tasks.
    """
    level, ends = study.settings.level, study.primary.metric.ends
    for claim in possible_claims(study):
        for name in study.order:
            mean = claim.mean(study, name)
            row = claim.words | {"made": claim.made_by(study), "system": name}
            yield row | _told("value", mean, mean.interval(level), ends) | {"units": mean.n}


@cached
@framed
def claims(study: Significance) -> Iterator[Row]:
    """The primary metric of the leader and the headline's difference by what is claimed; pairs that
    z finds different.

    pooled: the mean over questions; macro: that of the means of tasks. `unpaired` takes the systems
    for ones with questions of their own, as a z-test of two means and their errors does.
    """
    for claim in possible_claims(study):
        yield _claim(study, claim)


def _claim(study: Significance, claim: EvaluationClaim) -> Row:
    level, ends = study.settings.level, study.primary.metric.ends
    alternative = study.settings.alternative
    z = intervals.normal_quantile(alternative.two_sided_level(study.settings.test_level))
    apart = 0
    unpaired = 0
    alone = {name: claim.mean(study, name) for name in study.order}
    for a, b in study.pairs:
        d = claim.mean(study, a, b)
        apart += bool(alternative.evidence(d.value) > z * d.error)
        unpaired += bool(
            alternative.evidence(alone[a].value - alone[b].value)
            > z * float(np.hypot(alone[a].error, alone[b].error))
        )
    row = claim.words | {"made": claim.made_by(study), "system": study.leader}
    leader = alone[study.leader]
    row |= _told("value", leader, leader.interval(level), ends) | {"units": leader.n}
    d = ClaimedMean(np.nan, np.nan, 0, np.inf, claim.covers)
    if len(study.headline):
        d = claim.mean(study, *study.opponents)
    widest = ends[1] - ends[0]
    c = d.comparison(level=alternative.two_sided_level(level), unit=study.unit_name)
    c = c.answering(alternative, level=level)
    row |= _told("difference", d, c.difference, (-widest, widest)) | {"p": c.p_value}
    return row | {"apart": apart, "unpaired": unpaired, "pairs": len(study.pairs)}


def _told(name: str, mean: ClaimedMean, e: intervals.Estimate, ends: tuple[float, float]) -> Row:
    """A mean by this name with its limits `e`, within ends, and its standard errors, as columns of
    a frame.
    """
    told = {
        "low": np.maximum(e.low, ends[0]),
        "high": np.minimum(e.high, ends[1]),
        "error": mean.error,
        "cr0": mean.uncorrected,
    }
    return {name: e.value} | {f"{name}_{side}": float(limit) for side, limit in told.items()}


# What logs state ----------------------------------------------------------------------------------

EQUAL = 1e-6  # of two numbers, one of which may have been printed


@cached
@framed
def logged(study: Significance) -> Iterator[Row]:
    """The means and standard errors that logs state, beside those of their rows, and why they
    differ.
    """
    for (system, task, metric), stated in study.data.stated.items():
        if (draws := study.data.draws.get((metric, system))) is not None:
            member = slice(None) if study.data.tasks is None else study.data.tasks == task
            means = row_means(draws, member)
            row = {
                "system": system,
                "task": task,
                "metric": metric,
                "stated": stated.mean,
                "mean": means.mean,
                "stated_error": stated.error,
                "error": means.error,
                "questions": int((draws.count[member] > 0).sum()),
            }
            why = _why(stated, row, means.error_of_draws)
            yield row | {"stated_questions": stated.questions, "why": why}


class RowMeans(NamedTuple):
    """The mean over questions and its standard error; error_of_draws: the standard error if each
    draw were a question.
    """

    mean: float
    error: float
    error_of_draws: float


def row_means(draws: Draws, member: Any) -> RowMeans:
    """What the rows of a log say of its mean. member: which questions count."""
    count = draws.count[member]
    mean = draws.mean[member]
    keep = count > 0
    count = count[keep]
    mean = mean[keep]
    within = np.nan_to_num(draws.variance[member][keep])
    total = count.sum()
    squares = (count - 1) @ within + count @ (mean - ratio(count @ mean, total)) ** 2
    error_of_draws = float(np.sqrt(ratio(squares, (total - 1) * total)))
    return RowMeans(float(mean.mean()), standard_error(mean - mean.mean()), error_of_draws)


def _why(stated: logs.Stated, row: Row, error_of_draws: float) -> str:
    """Why a log's mean or standard error is not that of its rows; "" if they are.

    error_of_draws: the standard error if each draw were a question.
    """
    held = row["questions"]
    error = row["error"]
    same = abs(stated.mean - row["mean"]) <= EQUAL
    reasons = (
        (stated.questions > held, f"the rows are of {held:,} of {stated.questions:,} questions"),
        (same and not abs(stated.error - error) > EQUAL, ""),  # so too where either is not known
        (stated.reducer != "mean", f"the log takes the {stated.reducer}, not the mean"),
        (not same, "the log's mean differs from that of its scores"),
        (
            abs(stated.error - error_of_draws) <= EQUAL,
            "its standard error counts each draw as a question",
        ),
        (
            abs(stated.error - error * np.sqrt(1 - 1 / held)) <= EQUAL,
            "its standard error divides by n, not by n − 1",
        ),
    )
    other = "its standard error is another one, of clusters or a bootstrap"
    return next((text for holds, text in reasons if holds), other)
