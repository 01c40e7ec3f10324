"""The significance study: reads values of several systems on the same units, or successes and
trials.

Of evaluations with repeated draws, tasks and logs also what varies, and what the logs themselves
say.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, Ints, ParameterError, codes, ratio
from evalkit.caching import cached
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
from evalkit.statistics.spread import Spread, satterthwaite_of_few, standard_error, sum_by_unit
from evalkit.studies import diagnostics, judges, ranking, study, units
from evalkit.studies.paired import Significance
from evalkit.studies.study import EVERY, Member, Row, Study, SystemPair, framed

SHARE = "share of successes"
DRAWN = 2000  # more numbers of successes than a picture can show
LISTS = {name: ranking.SAMPLE[name] for name in ("preds", "qrels")}
SAMPLE: dict[str, object] = LISTS | {"metrics": "ndcg@10,map,mrr", "margin": 0.05}


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
    if p.preds is None:
        p = p.with_defaults(SAMPLE)
    data: UnitValues | Trials
    with unit_kinds.opened(p, limits.reading) as unit_input:
        if unit_input.name == "ranking":
            data, metrics = of_lists(unit_input.table.parts, p)
        else:
            data, metrics = unit_input.values(limits.reading)
    if isinstance(data, Trials):
        return Shares.of(data, p)
    if data.labels:
        return judges.JudgedOutputs.from_values(data, metrics, p, limits)
    return Significance.from_values(data, metrics, p, limits)


read = reports.reader(reports.SignificanceParameters)(study_of)


# Kinds of input -----------------------------------------------------------------------------------


LIST_PARAMETERS = (
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


def of_lists(
    parts: Sequence[InputPart], p: reports.SignificanceParameters
) -> tuple[UnitValues, tuple[MetricAtK, ...]]:
    """The values per query of ranked lists, and their metrics."""
    parameters = {name: getattr(p, name) for name in LIST_PARAMETERS}
    lists = ranking.read(list(parts), p.qrels, **parameters)
    runs = lists.runs
    data = UnitValues(
        runs.query,
        name=p.unit or runs.columns.get("query", "query"),
        values=lists.per_query,
        columns=runs.columns,
        sources=runs.sources,
        accounts=runs.accounts,
    )
    if lists.unit is not None:
        data = data.in_clusters(lists.unit)
    return data, lists.settings.metrics


# Successes of trials ------------------------------------------------------------------------------


@dataclass(frozen=True)
class NullShares:
    """The null distribution of numbers of successes k: the probability of each, and whether p is
    the sum of it with others. observed: the observed k. step: from each k to the next.
    """

    k: Floats
    probability: Floats
    in_p: Bools
    observed: int
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
        if p.null is not None and p.baseline:
            rule = "with null every system is compared with the null share"
            raise ParameterError(f"baseline: {rule}; set only one of the two")
        # the user may name the metric, which is SHARE, by its column
        lower = [SHARE if name == "successes" else name for name in p.lower_is_better]
        p = replace(p, lower_is_better=tuple(lower))
        best = lookup.direction(data.columns["successes"]) or "high"
        metric = replace(
            lookup.named(SHARE, best),
            kind=kinds.Proportion(lookup.not_computed),
            formula="successes / trials",
            undefined="there is no trial",
            equals="statsmodels proportion_confint",
        )
        systems = data.systems
        if p.null is not None:
            null_system = cls.label(p.null)
            systems = (*systems, null_system)
            p = replace(p, baseline=null_system)
        return cls(
            settings=study.settings(p, [MetricAtK(metric)]).checked(systems),
            systems=systems,
            attributes={},
            p=p,
            sources=data.sources,
            data=data,
            null=p.null,
        )

    @staticmethod
    def label(null: float) -> str:
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
        row = self.data.systems.index(system)
        return int(self.data.successes[row]), int(self.data.trials[row])

    def measure(
        self, chosen: MetricAtK, system: str, member: Member = EVERY
    ) -> statistic.Statistic:
        """The share of successes, or the null share, which is known."""
        if system in self.data.systems:
            return statistic.SuccessShare(chosen, *self.counts(system))
        assert self.null is not None
        n = int(self.data.trials.max())
        share = intervals.Estimate(self.null, np.nan, np.nan, self.settings.level, n, methods.GIVEN)
        return statistic.KnownValue(chosen, share)

    def units_held(self) -> units.Units:
        """Successes and trials of each system; for the null share its value."""
        blocks = []
        for name in self.data.systems:
            successes, trials = self.counts(name)
            blocks.append(units.known(name, self.primary, float(successes), float(trials)))
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
        observed, n = self.counts(self.opponents[0])
        if n > proportions.MAX_EXACT_TRIALS:
            return None
        low, high = proportions.likely(n, self.null)
        step = -(-(high - low + 1) // DRAWN)  # rounded up
        first = low + (observed - low) % step
        k = np.union1d(np.arange(first, high + 1, step), [observed]).astype(float)
        probability = np.exp(proportions.log_binomial(k, n, self.null))
        if self.p.alternative == "greater":
            in_p = k >= observed
        elif self.p.alternative == "less":
            in_p = k <= observed
        else:
            # equal probabilities of both tails may differ by rounding
            in_p = probability <= probability[k == observed] * (1 + 1e-7)
        drawn_step = 1
        if len(k) > 1:
            drawn_step = int(np.median(np.diff(k)))
        return NullShares(k, probability, np.asarray(in_p), observed, drawn_step)

    @property
    def trials(self) -> int:
        """The number of all trials."""
        return int(self.data.trials.sum())

    @property
    def small(self) -> list[str]:
        """The systems with few trials."""
        trials = zip(self.data.systems, self.data.trials, strict=True)
        return [name for name, n in trials if n < diagnostics.FEW]

    @property
    def two_answers(self) -> pd.DataFrame:
        """The comparisons whose test and interval disagree on significance; each uses the method
        that suits it best.
        """
        comparisons = self.comparisons
        if not len(comparisons):
            return comparisons
        excludes_0 = (comparisons["low"] > 0) | (comparisons["high"] < 0)
        return comparisons[(comparisons["p"] < diagnostics.alpha(self)) != excludes_0]

    @property
    def most_exact(self) -> int:
        """The largest number of trials for which tests are exact."""
        return proportions.MAX_EXACT_TRIALS

    @property
    def beyond_exact(self) -> list[str]:
        """The comparisons with so many trials that the score test replaces the exact one."""
        trials = dict(zip(self.data.systems, self.data.trials.tolist(), strict=True))
        return [
            f"{first} − {second}"
            for first, second in self.pairs
            if trials.get(first, 0) + trials.get(second, 0) > proportions.MAX_EXACT_TRIALS
        ]


# Evaluations --------------------------------------------------------------------------------------


def question(study: Significance) -> str:
    """What has a value of its own, as a noun: the unit, or what lies in it where that is a
    cluster.
    """
    column = study.data.columns.get("unit", study.unit_name)
    return unit_noun(column.rpartition(" ")[2], "unit")


def drawn(study: Significance) -> str:
    """The name of the metric whose draws (repeated trials) the input holds; "" if there is none.

    It is the primary metric, or the one that the primary metric is computed from.
    """
    metric = study.primary.label
    if (metric, study.systems[0]) not in study.data.draws:
        metric = study.data.source
    for (label, _), draws in study.data.draws.items():
        if label == metric and draws.has_several_draws:
            return metric
    return ""


@cached
@framed
def variation(study: Significance) -> Iterator[Row]:
    """How each system varies between units and within, and the headline's difference; what more of
    both would buy.

    `error` is the standard error of the mean; then that of twice as many units (or clusters), of
    twice as many draws of each, and of endless draws.
    """
    metric = drawn(study)
    if not metric:
        return
    draws = {name: study.data.draws[metric, name] for name in study.order}
    for name, of_system in draws.items():
        yield {"what": name} | _variation(study, of_system.mean, [of_system])
    if len(study.headline):
        first, second = (draws[name] for name in study.opponents)
        difference = first.mean - second.mean
        what = " − ".join(study.opponents)
        yield {"what": what} | _variation(study, difference, [first, second])


def _variation(study: Significance, values: Floats, draws: list[Draws]) -> Row:
    """The row of values of units, which are means of the draws of a system, or differences of those
    of two systems.
    """
    known = np.flatnonzero(~np.isnan(values))
    n = len(known)
    mean_noise = float(sum(of_system.noise[known].mean() for of_system in draws))
    variance = mean_by(values, cluster=study.unit).error ** 2
    by_draws = mean_noise / n  # the part of this variance that more draws reduce
    between = np.nan
    if n > 1:
        between = np.maximum(values[known].var(ddof=1) - mean_noise, 0.0)
    variances = {
        "between": between,
        "within": sum(of_system.pooled for of_system in draws),
        "error": variance,
        "twice_units": variance / 2,
        "twice_draws": max(variance - by_draws / 2, variance / 2),
        "endless_draws": max(variance - by_draws, 0.0),
    }
    # the harmonic mean, as a variance is divided by the number of draws
    draws_per_unit = [ratio(n, (1 / of_system.count[known]).sum()) for of_system in draws]
    deviations = {name: float(np.sqrt(value)) for name, value in variances.items()}
    return {"units": n, "draws": float(np.mean(draws_per_unit))} | deviations


# What a claim covers ------------------------------------------------------------------------------

POOLED = "pooled"
MACRO = "macro"


def coverage(study: Significance) -> dict[str, np.ndarray | None]:
    """The claims that the input allows, the widest last, with the clusters that vary; one alone is
    no choice.
    """
    claims: dict[str, np.ndarray | None] = {}
    if drawn(study):
        claims[THESE] = None
    claims[SUCH] = None
    if study.unit is not None and not study.data.by_task:
        claims[f"such {plural(study.unit_name, 2)}"] = study.unit
    tasks = study.unit if study.data.by_task else study.data.tasks
    if tasks is not None:
        claims[TASKS] = tasks
    return claims


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
        spread = Spread.from_influence(sum_by_unit(weight * (values - value), group))
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
        sum_by_unit(influence, group),
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
    _, n_values = np.unique(study.data.tasks[known], return_counts=True)
    return int((n_values == 1).sum())


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
        if study.p.claim == THESE:
            return self.covers == THESE
        return self.cluster is study.unit and self.covers != THESE

    def mean(self, study: Significance, system: str) -> ClaimedMean:
        """The primary metric of a system."""
        values = study.values(study.primary, system).per_unit
        return self._mean_of(study, values, [system])

    def difference(self, study: Significance, pair: SystemPair) -> ClaimedMean:
        """The primary metric of the first of two systems less that of the second."""
        first, second = (study.values(study.primary, name).per_unit for name in pair)
        return self._mean_of(study, first - second, pair)

    def _mean_of(self, study: Significance, values: Floats, systems: Sequence[str]) -> ClaimedMean:
        """The mean of values of questions, which the draws of these systems make noisy."""
        noise = None
        if self.covers == THESE:
            noise = np.sum([study.data.noise(study.primary, name) for name in systems], axis=0)
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
    level = study.settings.level
    ends = study.primary.metric.ends
    for claim in possible_claims(study):
        for name in study.order:
            mean = claim.mean(study, name)
            place = claim.words | {"made": claim.made_by(study), "system": name}
            limits = _limits_and_errors("value", mean, mean.interval(level), *ends)
            yield place | limits | {"units": mean.n}


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
    """The row of a claim in `claims`."""
    level = study.settings.level
    ends = study.primary.metric.ends  # the lowest and the highest possible value
    alternative = study.settings.alternative
    z = intervals.normal_quantile(alternative.two_sided_level(study.settings.test_level))
    means = {name: claim.mean(study, name) for name in study.order}
    n_different = 0
    n_different_unpaired = 0
    for pair in study.pairs:
        first, second = (means[name] for name in pair)
        paired = claim.difference(study, pair)
        unpaired_error = float(np.hypot(first.error, second.error))
        unpaired_evidence = alternative.evidence(first.value - second.value)
        n_different += bool(alternative.evidence(paired.value) > z * paired.error)
        n_different_unpaired += bool(unpaired_evidence > z * unpaired_error)
    row = claim.words | {"made": claim.made_by(study), "system": study.leader}
    leader = means[study.leader]
    row |= _limits_and_errors("value", leader, leader.interval(level), *ends)
    row["units"] = leader.n
    difference = ClaimedMean(np.nan, np.nan, 0, np.inf, claim.covers)
    if len(study.headline):
        difference = claim.difference(study, study.opponents)
    two_sided = difference.comparison(
        level=alternative.two_sided_level(level), unit=study.unit_name
    )
    comparison = two_sided.answering(alternative, level=level)
    widest = ends[1] - ends[0]
    row |= _limits_and_errors("difference", difference, comparison.difference, -widest, widest)
    counts = {"apart": n_different, "unpaired": n_different_unpaired, "pairs": len(study.pairs)}
    return row | {"p": comparison.p_value} | counts


def _limits_and_errors(
    name: str, mean: ClaimedMean, interval: intervals.Estimate, lowest: float, highest: float
) -> Row:
    """The columns of a mean: its value by this name, its limits cut to the lowest and the highest
    possible value, and its standard error with and without the correction for few clusters.
    """
    return {
        name: interval.value,
        f"{name}_low": float(np.maximum(interval.low, lowest)),
        f"{name}_high": float(np.minimum(interval.high, highest)),
        f"{name}_error": float(mean.error),
        f"{name}_cr0": float(mean.uncorrected),
    }


# What logs state ----------------------------------------------------------------------------------

EQUAL = 1e-6  # by how much two equal numbers differ, one of which may have been printed


@cached
@framed
def logged(study: Significance) -> Iterator[Row]:
    """The means and standard errors that logs state, beside those of their rows, and why they
    differ.
    """
    for (system, task, metric), stated in study.data.stated.items():
        draws = study.data.draws.get((metric, system))
        if draws is None:
            continue
        in_task = np.ones(len(draws), bool)
        if study.data.tasks is not None:
            in_task = study.data.tasks == task
        means = row_means(draws, in_task)
        yield {
            "system": system,
            "task": task,
            "metric": metric,
            "stated": stated.mean,
            "mean": means.mean,
            "stated_error": stated.error,
            "error": means.error,
            "questions": means.questions,
            "stated_questions": stated.questions,
            "why": _why(stated, means),
        }


class RowMeans(NamedTuple):
    """The number of questions with a draw, the mean over them and its standard error;
    error_of_draws: the standard error if each draw were a question.
    """

    questions: int
    mean: float
    error: float
    error_of_draws: float


def row_means(draws: Draws, member: Bools) -> RowMeans:
    """What the rows of a log say of its mean. member: which questions count."""
    keep = member & (draws.count > 0)
    count = draws.count[keep]
    mean = draws.mean[keep]
    within = np.nan_to_num(draws.variance[keep])
    n_draws = count.sum()
    mean_of_draws = ratio(count @ mean, n_draws)
    squares = (count - 1) @ within + count @ (mean - mean_of_draws) ** 2
    return RowMeans(
        questions=len(mean),
        mean=float(mean.mean()),
        error=standard_error(mean - mean.mean()),
        error_of_draws=float(np.sqrt(ratio(squares, (n_draws - 1) * n_draws))),
    )


def _why(stated: logs.Stated, rows: RowMeans) -> str:
    """Why a log's mean or standard error is not that of its rows; "" if they are, also where either
    error is not known.
    """
    n = rows.questions
    has_same_mean = abs(stated.mean - rows.mean) <= EQUAL
    if stated.questions > n:
        return f"the rows are of {n:,} of {stated.questions:,} questions"
    if has_same_mean and not abs(stated.error - rows.error) > EQUAL:
        return ""
    if stated.reducer != "mean":
        return f"the log takes the {stated.reducer}, not the mean"
    if not has_same_mean:
        return "the log's mean differs from that of its scores"
    if abs(stated.error - rows.error_of_draws) <= EQUAL:
        return "its standard error counts each draw as a question"
    if abs(stated.error - rows.error * np.sqrt(1 - 1 / n)) <= EQUAL:
        return "its standard error divides by n, not by n − 1"
    return "its standard error is another one, of clusters or a bootstrap"
