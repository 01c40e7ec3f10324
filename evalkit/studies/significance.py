"""The significance study: reads values of several systems on the same units, or successes and
trials.

Of evaluations with repeated draws, tasks and logs also what varies, and what the logs themselves
say.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, Ints, ParameterError, codes, ratio
from evalkit.caching import cached
from evalkit.catalogue import kinds, lookup
from evalkit.catalogue.lookup import MetricAtK
from evalkit.catalogue.metric import Metric
from evalkit.drawing.shown import ShownStudy
from evalkit.limits import USUAL_LIMITS, Limits
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
from evalkit.studies.study import EVERY, Row, Study, SystemPair, UnitSelection, as_data_frame

SHARE = "share of successes"
DRAWN = 2000  # more numbers of successes than a picture can show
LISTS = {name: ranking.SAMPLE[name] for name in ("preds", "qrels")}
SAMPLE: dict[str, object] = LISTS | {"metrics": "ndcg@10,map,mrr", "margin": 0.05}


@commands.advise_on_errors
def study_of(
    p: reports.SignificanceParameters, limits: Limits = USUAL_LIMITS
) -> "Significance | Shares":
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
        if unit_input.name == "ranking":  # ranked lists, whose values have to be computed
            data, metrics = values_of_lists(unit_input.table.parts, p)
        else:
            data, metrics = unit_input.values(limits.reading)
    if isinstance(data, Trials):  # all other inputs have values of units
        return Shares.from_trials(data, p)
    if data.labels:  # some values are a judge's, with an oracle's labels to correct them by
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


class ListValues(NamedTuple):
    """The values of some metrics on each query of ranked lists."""

    data: UnitValues
    metrics: tuple[MetricAtK, ...]


def values_of_lists(parts: Sequence[InputPart], p: reports.SignificanceParameters) -> ListValues:
    """The values per query of ranked lists, as the ranking report computes them. parts: the lists;
    their judgements are named by the parameter `qrels`. If the parameter `unit` names a column,
    such as the user, queries lie in clusters by its values.
    """
    parameters = {name: getattr(p, name) for name in LIST_PARAMETERS}  # those of both reports
    lists = ranking.read(list(parts), p.qrels, **parameters)
    runs = lists.runs
    data = UnitValues(
        runs.query,
        name=p.unit or runs.columns.get("query", "query"),
        values=lists.per_query,
        columns=runs.columns,
        sources=runs.sources,
        list_accounts=runs.list_accounts,  # of each system, how its ranked rows were used
    )
    if lists.unit is not None:  # the cluster of each query
        data = data.in_clusters(lists.unit)
    return ListValues(data, lists.settings.metrics)


# Successes of trials ------------------------------------------------------------------------------


@dataclass(frozen=True)
class NullShares:
    """The distribution of the number of successes k under the null share: the probability of each
    k, and whether p adds it up. observed: the observed k. step: from each k to the next.
    """

    k: Floats
    probability: Floats
    in_p: Bools
    observed: int
    step: int


class TrialCounts(NamedTuple):
    """The numbers of successes and of trials of a system."""

    successes: int
    trials: int


def _share_metric(column: str) -> Metric:
    """The share of successes. A name of their column that the catalogue knows, such as errors,
    tells which values are better; else high ones are.
    """
    return replace(
        lookup.named(SHARE, lookup.direction(column) or "high"),
        # a proportion that is never computed from rows: the input has the totals of each system
        kind=kinds.Proportion(lookup.not_computed),
        formula="successes / trials",
        undefined="there is no trial",
        equals="statsmodels proportion_confint",
    )


@dataclass(frozen=True, eq=False, repr=False)
class Shares(ShownStudy, Study):
    """The study of shares of successes. A null share is a further system, known exactly, and the
    baseline. null: this share; None without one.
    """

    report: ClassVar[str] = "significance"

    data: Trials
    null: float | None

    differences_are: ClassVar[str] = "Differences"
    value_is: ClassVar[str] = "Share"

    @classmethod
    def from_trials(cls, data: Trials, p: reports.SignificanceParameters) -> "Shares":
        """The study of a table of successes and trials. With a null share in `p`, this share is
        added as a system and is the baseline. Raises ParameterError for a null share together with
        a baseline, or an unknown metric.
        """
        if p.null is not None and p.baseline:
            rule = "with null every system is compared with the null share"
            raise ParameterError(f"baseline: {rule}; set only one of the two")
        # the metric is the share of successes; in `lower_is_better` the user may name the column
        metric_names = {"successes": SHARE}
        lower = tuple(metric_names.get(name, name) for name in p.lower_is_better)
        p = replace(p, lower_is_better=lower)
        metric = _share_metric(data.columns["successes"])
        systems = data.systems
        if p.null is not None:
            null_system = cls.label(p.null)  # its name among the systems
            systems += (null_system,)
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

    def counts(self, system: str) -> TrialCounts:
        """The successes and trials of a system that was observed."""
        row = self.data.systems.index(system)
        return TrialCounts(int(self.data.successes[row]), int(self.data.trials[row]))

    def measure(
        self, chosen: MetricAtK, system: str, member: UnitSelection = EVERY
    ) -> statistic.Statistic:
        """The share of successes, or the null share, which is known. member: unused, as totals have
        no slices.
        """
        if system in self.data.systems:
            successes, trials = self.counts(system)
            return statistic.SuccessShare(chosen, successes, trials)
        assert self.null is not None  # the only system that was not observed
        n = int(self.data.trials.max())  # it has no trials: the most that an observed system has
        share = intervals.Estimate(
            value=self.null,
            low=np.nan,
            high=np.nan,
            level=self.settings.level,
            n=n,
            method=methods.GIVEN,
        )
        return statistic.KnownValue(chosen, share)

    def units_held(self) -> units.Units:
        """The rows for the file of units: the successes and trials of each system, and the null
        share, as a value without trials. Single trials are not known.
        """
        blocks = []
        for name in self.data.systems:
            successes, trials = self.counts(name)
            blocks.append(
                units.block_of_total(name, self.primary_metric, float(successes), float(trials))
            )
        if self.null is not None:
            blocks.append(
                units.block_of_total(self.label(self.null), self.primary_metric, self.null)
            )
        return units.Units(size=1, blocks=blocks)  # one row of totals per system

    def comparison_extras(self, chosen: MetricAtK, pair: SystemPair) -> Row:
        """Fisher's exact p, beside the p of the comparison; no column with a null share, because
        Fisher's test is of two observed shares. chosen: unused, as there is one metric.
        """
        if self.null is not None:
            return {}
        first, second = (self.counts(name) for name in pair)
        fisher = proportions.fisher(first.successes, first.trials, second.successes, second.trials)
        level = self.settings.level
        return {"p_fisher": fisher.answering(self.settings.alternative, level=level).p_value}

    def null_shares(self) -> NullShares | None:
        """The binomial distribution of the number of successes under the null share, for a figure
        of the headline's first system; None for so many trials that p is from the score test, not
        from this distribution.

        The numbers of successes k are those whose probability is not negligible. If they are more
        than `DRAWN`, only every second, third or so is drawn, and always the observed number.
        """
        assert self.null is not None
        observed, n = self.counts(self.headline_systems[0])
        if n > proportions.MAX_EXACT_TRIALS:
            return None
        low, high = proportions.likely(n, self.null)  # the lowest and the highest of these numbers
        step = math.ceil((high - low + 1) / DRAWN)  # so that at most DRAWN numbers are left
        lowest = low + (observed - low) % step  # from where the steps meet the observed number
        k = np.union1d(np.arange(lowest, high + 1, step), [observed]).astype(float)
        probability = np.exp(proportions.log_binomial(k, n, self.null))
        if self.p.alternative == "greater":
            in_p = k >= observed
        elif self.p.alternative == "less":
            in_p = k <= observed
        else:
            # p adds up all numbers that are no more probable than the observed one; equal
            # probabilities of both tails may differ by rounding
            in_p = probability <= probability[k == observed] * (1 + 1e-7)
        # the usual distance of neighbours; the observed number lies further off if it is improbable
        drawn_step = 1
        if len(k) > 1:
            drawn_step = int(np.median(np.diff(k)))
        return NullShares(k, probability, np.asarray(in_p), observed, step=drawn_step)

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
        """The comparisons with so many trials that the score test replaces the exact one, each as
        "first − second".
        """
        # without the null share, which has no trials: 0 below
        trials = dict(zip(self.data.systems, self.data.trials.tolist(), strict=True))
        return [
            f"{first} − {second}"
            for first, second in self.pairs
            if trials.get(first, 0) + trials.get(second, 0) > proportions.MAX_EXACT_TRIALS
        ]


# Evaluations --------------------------------------------------------------------------------------


def question_noun(study: Significance) -> str:
    """The noun for what has a value of its own, such as question: the unit, or where that is a
    cluster what lies in it.
    """
    column = study.data.columns.get("unit", study.unit_name)
    return unit_noun(column.rpartition(" ")[2], "unit")


def metric_with_draws(study: Significance) -> str:
    """The name of the metric of which the input has several draws (repeated trials) of a unit: the
    primary metric, or the metric that the primary one, such as pass@2, is computed from. "" if no
    unit has several draws.
    """
    metric = study.primary_metric.label
    # `data.draws` has a metric for all systems or for none, so that any system can be asked
    if (metric, study.systems[0]) not in study.data.draws:
        metric = study.data.source  # computed from the draws of this metric; "" if from none
    for (label, _system), draws in study.data.draws.items():
        if label == metric and draws.has_several_draws:
            return metric
    return ""


@cached
@as_data_frame
def variation(study: Significance) -> Iterator[Row]:
    """How much of the standard error of each mean, and of the headline's difference, comes from the
    units and how much from repeated draws of a unit, and what more units or draws would gain. A row
    for each system and one for the difference; no row if no unit has several draws.

    Columns: what (the system or the difference), units (how many), draws (of each unit); between
    and within, the standard deviations between units and of the draws of a unit; error, the
    standard error of the mean; and the standard error that it would have with twice as many units
    (twice_units), with twice as many draws of each (twice_draws), and with endless draws
    (endless_draws).
    """
    metric = metric_with_draws(study)
    if not metric:
        return
    draws = {name: study.data.draws[metric, name] for name in study.order}
    for name, draws_of_system in draws.items():
        yield {"what": name} | _variation(study, draws_of_system.mean, [draws_of_system])
    if len(study.headline):
        first, second = (draws[name] for name in study.headline_systems)
        difference = first.mean - second.mean
        what = " − ".join(study.headline_systems)
        yield {"what": what} | _variation(study, difference, [first, second])


def _variation(study: Significance, values: Floats, draws: list[Draws]) -> Row:
    """The columns of `variation` without the first, which names the system or the difference.

    values: of each unit the mean of its draws of one system, or the difference of the means of two
    systems; NaN for a unit without draws. draws: of this system, or of the two. The column `draws`
    is the harmonic mean of the units' numbers of draws, averaged over the systems.
    """
    units = np.flatnonzero(~np.isnan(values))
    n = len(units)
    # the mean over units of the variance that a unit's value has because its draws vary; for a
    # difference the variances of two systems add up, as their draws are independent
    mean_noise = 0.0
    harmonic_counts = []  # of each system; harmonic, as a variance is divided by the count
    for draws_of_system in draws:
        mean_noise += float(draws_of_system.noise[units].mean())
        inverse_counts = 1 / draws_of_system.count[units]
        harmonic_counts.append(ratio(n, inverse_counts.sum()))
    variance = mean_by(values, cluster=study.unit).error ** 2  # of the mean over units
    by_draws = mean_noise / n  # the part of this variance that more draws reduce
    variance_between = np.nan
    if n > 1:  # the observed variance of values is that between units plus the noise of draws
        variance_between = np.maximum(values[units].var(ddof=1) - mean_noise, 0.0)
    variances = {
        "between": variance_between,
        # `pooled` is the variance of a draw around the mean of its unit
        "within": sum(draws_of_system.pooled for draws_of_system in draws),
        "error": variance,
        "twice_units": variance / 2,
        # twice the draws halve the part by draws; as this part is estimated, it may exceed the
        # whole variance, of which it can be all at most
        "twice_draws": max(variance - by_draws / 2, variance / 2),
        "endless_draws": max(variance - by_draws, 0.0),
    }
    deviations = {name: float(np.sqrt(value)) for name, value in variances.items()}
    return {"units": n, "draws": float(np.mean(harmonic_counts))} | deviations


# What a claim covers ------------------------------------------------------------------------------

POOLED = "pooled"
MACRO = "macro"


def coverage(study: Significance) -> dict[str, np.ndarray | None]:
    """What a mean can be claimed to hold for, in words -> the cluster of each question, as numbers
    or names, by which the error is computed; None without clusters. The widest claim is the last.

    The claims are: these questions, of which the draws alone vary (if there are several draws);
    such questions, of which these are a sample; such clusters of questions; such tasks. The latter
    two are there if the input has clusters, or tasks.
    """
    claims: dict[str, np.ndarray | None] = {}
    if metric_with_draws(study):
        claims[THESE] = None
    claims[SUCH] = None
    # `study.unit` is the cluster of each question; `by_task` is True if the tasks are the clusters
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
    """The mean of the values of units, pooled or as a macro mean (the mean of the means of tasks),
    with its standard error and t. Each array has one element per unit; a value of NaN is left out.

    noise: the variance of each value over repeated draws, if another sample would have the same
    units and new draws; else None. cluster: the cluster of each unit, if another sample would have
    other clusters; None if it would have other units. tasks: the task of each unit for the macro
    mean; None for the pooled one.

    The standard error is one of three. With noise: √Σ weight² noise. For a pooled mean, or clusters
    of whole tasks, so that other clusters bring other tasks: CR1, with t on the number of clusters
    less 1 (Liang, Zeger 1986, doi:10.1093/biomet/73.1.13). For a macro mean of the same tasks in
    each sample: stratified by task, see `_of_strata`.
    """
    is_defined = ~np.isnan(values)
    values = values[is_defined]
    n = values.size
    task = np.zeros(n, np.int64)  # one task for the pooled mean
    if tasks is not None:
        task, _ = codes(tasks[is_defined])
    units_of_task = np.bincount(task)
    # of each unit: 1 / (tasks · units of its task), 1 / n for the pooled mean
    weight = 1 / (len(units_of_task) * units_of_task[task])
    value = float(weight @ values)
    if noise is not None:  # only the draws vary, independently for each unit
        error = float(np.sqrt(weight**2 @ noise[is_defined]))
        return ClaimedMean(
            value, error, n, freedom=np.inf, method=inference.BY_DRAWS, uncorrected=error
        )
    group: Ints | None = None  # the number of each unit's cluster; None if units vary singly
    if cluster is not None:
        group, _ = codes(cluster[is_defined])
    # one sample of units, or of clusters, which bring their tasks with them
    is_one_sample = tasks is None or (group is not None and _each_in_one_cluster(task, group))
    if not is_one_sample:
        return _macro_mean_of_same_tasks(values, weight, task, group)
    influence = weight * (values - value)  # of each unit on the mean
    spread = Spread.from_influence(sum_by_unit(influence, group))
    clusters = int(spread.n)  # or units
    return ClaimedMean(
        value,
        spread.error,
        clusters,
        freedom=clusters - 1,
        method="cluster-robust",
        uncorrected=float(np.sqrt(spread.square)),
    )


def _macro_mean_of_same_tasks(
    values: Floats, weight: Floats, task: Ints, group: Ints | None
) -> ClaimedMean:
    """The macro mean of tasks that are the same in each sample, so that units (or clusters) vary
    around the mean of their task, not around that of all tasks.

    weight: of each unit in the mean. task: the number of each unit's task. group: that of its
    cluster; None if units vary singly.
    """
    value = float(weight @ values)
    units_of_task = np.bincount(task)
    task_mean = np.bincount(task, values) / units_of_task
    influence = weight * (values - task_mean[task])
    if group is None:  # each task is a stratum of units
        one_task_each = np.ones(len(units_of_task))
        return _of_strata(value, influence, stratum=task, tasks=one_task_each)
    # a cluster may have units of several tasks, which then lie in one stratum
    strata = _strata_of_shared_clusters(task, group)
    return _of_strata(
        value,
        sum_by_unit(influence, group),
        stratum=strata.of_cluster,
        tasks=np.bincount(strata.of_task),
    )


def _each_in_one_cluster(task: Ints, group: Ints) -> bool:
    """True if each task lies in one cluster: a sample of clusters then brings its own tasks. task,
    group: the task and the cluster of each unit.
    """
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
    """The macro mean of tasks that are the same in each sample, with its stratified standard error:
    the root of the sum of the variances of the strata, n / (n − 1) · Σ influence² over the n
    clusters of a stratum (Cochran 1977, Sampling Techniques, 5A.12).

    value: the mean. influence: of each cluster on the mean. stratum: the number of each cluster's
    stratum, from 0. tasks: the number of tasks in each stratum.

    A stratum of one cluster has no variance of its own; it is estimated from the strata of several
    clusters. If there are none of these, the error is NaN. t has Welch and Satterthwaite's degrees
    of freedom. `uncorrected` is without the factor n / (n − 1) and the strata of one cluster.
    """
    clusters = np.bincount(stratum)  # their number in each stratum
    square = np.bincount(stratum, influence**2)
    square_share = (tasks / tasks.sum()) ** 2  # the squared share of tasks of each stratum
    has_several = clusters > 1
    n = clusters[has_several]
    variance = square[has_several] * n / (n - 1)  # of each stratum of several clusters
    # With one cluster instead of n a stratum would have n times the variance. Per squared share of
    # the tasks this is n · variance / square_share; its mean over the strata of several clusters
    # estimates the same for those of one. Times their squared shares it is their variance. As this
    # is a sum over the former, each of them can take its part, as a factor of its variance, and the
    # degrees of freedom follow from the variances with these parts.
    lone_share = float(square_share[~has_several].sum())
    relative_part = lone_share * ratio(n / square_share[has_several], has_several.sum())
    variance_of_strata = variance * (1 + relative_part)
    error = uncorrected = np.nan
    if n.size:
        error = float(np.sqrt(variance_of_strata.sum()))
        uncorrected = float(np.sqrt(square.sum()))
    return ClaimedMean(
        value,
        error,
        n=int(clusters.sum()),
        freedom=satterthwaite_of_few(variance_of_strata, n - 1),
        method="stratified by task",
        uncorrected=uncorrected,
    )


def single_tasks(study: Significance) -> int:
    """The number of tasks in which the leader has one value alone, and so no variance."""
    if study.data.tasks is None:
        return 0
    is_defined = study.values(study.primary_metric, study.leader).defined
    _, n_values = np.unique(study.data.tasks[is_defined], return_counts=True)
    return int((n_values == 1).sum())


@dataclass(frozen=True, eq=False)
class EvaluationClaim:
    """What a mean covers, such as "these questions". cluster: of each question, what varies; None
    if the questions do. tasks: of each question, for the mean of the means of tasks; None for the
    pooled one.
    """

    covers: str
    cluster: np.ndarray | None
    tasks: np.ndarray | None

    @property
    def words(self) -> Row:
        """The claim as the first columns of a frame: mean, claim."""
        weighting = POOLED if self.tasks is None else MACRO
        return {"mean": weighting, "claim": self.covers}

    def made_by(self, study: Significance) -> bool:
        """True if the page's own intervals and tests are of this claim."""
        if self.tasks is not None:
            return False
        if study.p.claim == THESE:
            return self.covers == THESE
        return self.cluster is study.unit and self.covers != THESE

    def mean(self, study: Significance, system: str) -> ClaimedMean:
        """The primary metric of a system."""
        values = study.values(study.primary_metric, system).per_unit
        return self._mean_of(study, values, [system])

    def difference(self, study: Significance, pair: SystemPair) -> ClaimedMean:
        """The primary metric of the first of two systems less that of the second."""
        first, second = (study.values(study.primary_metric, name).per_unit for name in pair)
        return self._mean_of(study, first - second, pair)

    def _mean_of(self, study: Significance, values: Floats, systems: Sequence[str]) -> ClaimedMean:
        """The mean of values of questions with its error by what the claim covers: by the noise of
        these systems' draws if it covers the same questions, else by questions or clusters.
        """
        noise = None
        if self.covers == THESE:
            noise = np.sum(
                [study.data.noise(study.primary_metric, name) for name in systems], axis=0
            )
        return mean_by(values, noise, cluster=self.cluster, tasks=self.tasks)


def possible_claims(study: Significance) -> list[EvaluationClaim]:
    """The claims that the input allows: those of `coverage` about the pooled mean, then, if units
    have tasks, the same about the macro mean. Empty if `coverage` has a single claim, as there is
    nothing to compare it with, and for a ratio of sums, which is not a mean of values of units.
    """
    covered = coverage(study)
    if len(covered) < 2 or study.is_ratio(study.primary_metric):
        return []
    claims = [EvaluationClaim(covers, cluster, tasks=None) for covers, cluster in covered.items()]
    if study.data.tasks is not None:
        claims += [replace(claim, tasks=study.data.tasks) for claim in claims]
    return claims


@cached
@as_data_frame
def claim_means(study: Significance) -> Iterator[Row]:
    """The primary metric of every system by what is claimed, a row for each claim and system.

    Columns: mean (pooled over questions, or macro, the mean of the means of tasks), claim, made
    (True for that of the page), system, those of `_limits_and_errors` of value, units.
    """
    level = study.settings.level
    lowest, highest = study.primary_metric.metric.ends
    for claim in possible_claims(study):
        for name in study.order:
            mean = claim.mean(study, name)
            keys = claim.words | {"made": claim.made_by(study), "system": name}
            limits = _limits_and_errors("value", mean, mean.interval(level), lowest, highest)
            yield keys | limits | {"units": mean.n}


@cached
@as_data_frame
def claims(study: Significance) -> Iterator[Row]:
    """The primary metric of the leader and the headline's difference by what is claimed, a row for
    each claim; and how many pairs of systems a z-test finds different.

    Columns: mean, claim, made, system, value … as in `claim_means`; those of `_limits_and_errors`
    of difference, p; apart and unpaired: of pairs, how many differ by z. `unpaired` takes the
    systems for ones with questions of their own, as a z-test of two means and their errors does.
    """
    for claim in possible_claims(study):
        yield _claim(study, claim)


def _claim(study: Significance, claim: EvaluationClaim) -> Row:
    """The row of a claim in `claims`, whose docstring names the columns: the words of the claim,
    then what it says about the leader, about the headline's difference, and about all pairs.
    """
    level = study.settings.level
    lowest, highest = study.primary_metric.metric.ends
    leader = claim.mean(study, study.leader)
    # made: whether it is the claim of the page's own intervals
    of_leader: Row = {"made": claim.made_by(study), "system": study.leader}
    of_leader |= _limits_and_errors("value", leader, leader.interval(level), lowest, highest)
    of_leader["units"] = leader.n
    # undefined without a pair to compare
    difference = ClaimedMean(np.nan, np.nan, n=0, freedom=np.inf, method=claim.covers)
    if len(study.headline):
        difference = claim.difference(study, study.headline_systems)
    # a one-sided question is answered by one limit of a two-sided interval at a lower level
    alternative = study.settings.alternative
    two_sided = difference.comparison(
        level=alternative.two_sided_level(level), unit=study.unit_name
    )
    comparison = two_sided.answering(alternative, level=level)
    widest = highest - lowest  # the largest possible difference
    of_difference = _limits_and_errors(
        "difference", difference, comparison.difference, -widest, widest
    )
    of_difference["p"] = comparison.p_value
    return claim.words | of_leader | of_difference | _different_pairs(study, claim)


def _different_pairs(study: Significance, claim: EvaluationClaim) -> Row:
    """The columns of `claims` about all pairs, without adjustment for their number: apart, in how
    many the difference exceeds z times its standard error; unpaired, in how many it would, if each
    system had been tested on other questions; pairs, how many there are.
    """
    alternative = study.settings.alternative
    z = intervals.normal_quantile(alternative.two_sided_level(study.settings.test_level))
    means = {name: claim.mean(study, name) for name in study.order}
    n_different = 0
    n_different_unpaired = 0
    for pair in study.pairs:
        first, second = (means[name] for name in pair)
        paired = claim.difference(study, pair)
        # independent means: the variance of the difference is the sum of their variances
        unpaired_error = float(np.hypot(first.error, second.error))
        # `evidence` is the size of a difference in the direction that the question is about
        unpaired_evidence = alternative.evidence(first.value - second.value)
        n_different += bool(alternative.evidence(paired.value) > z * paired.error)
        n_different_unpaired += bool(unpaired_evidence > z * unpaired_error)
    return {"apart": n_different, "unpaired": n_different_unpaired, "pairs": len(study.pairs)}


def _limits_and_errors(
    name: str, mean: ClaimedMean, interval: intervals.Estimate, lowest: float, highest: float
) -> Row:
    """The columns of a mean: its value by this name, its limits cut to the lowest and the highest
    possible value, its standard error (_error), and the standard error without the correction for
    few clusters (_cr0, see `ClaimedMean`). interval: of the mean.
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
@as_data_frame
def logged(study: Significance) -> Iterator[Row]:
    """The means and standard errors that logs state, beside those of their rows, a row for each
    system, task and metric: stated, mean, stated_error, error, questions, stated_questions, and why
    they differ, "" if they do not.
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
    """The mean of the rows of a log, with its standard error by questions and by draws. member: a
    mask of the questions that count.
    """
    keep = member & (draws.count > 0)
    count = draws.count[keep]  # of draws, of each question
    mean = draws.mean[keep]
    variance_within = np.nan_to_num(draws.variance[keep])  # a single draw adds 0 below
    n_draws = count.sum()
    mean_of_draws = ratio(count @ mean, n_draws)
    # Σ (draw − mean of all draws)², from the part within questions and the part between them
    squares = (count - 1) @ variance_within + count @ (mean - mean_of_draws) ** 2
    square_error = ratio(squares, (n_draws - 1) * n_draws)
    return RowMeans(
        questions=len(mean),
        mean=float(mean.mean()),
        error=standard_error(mean - mean.mean()),
        error_of_draws=float(np.sqrt(square_error)),
    )


def _why(stated: logs.Stated, rows: RowMeans) -> str:
    """Why the mean or the standard error that a log states differs from that of its rows; "" if
    neither does. An error that is NaN, in the log or of the rows, does not count as different.

    stated: what the log says. rows: what its rows say.
    """
    n = rows.questions
    has_same_mean = abs(stated.mean - rows.mean) <= EQUAL
    if stated.questions > n:  # said first, as numbers of other questions may agree by chance
        return f"the rows are of {n:,} of {stated.questions:,} questions"
    if has_same_mean and not abs(stated.error - rows.error) > EQUAL:  # False for NaN
        return ""
    if stated.reducer != "mean":  # how the log sums up the draws of a question, such as their mode
        return f"the log takes the {stated.reducer}, not the mean"
    if not has_same_mean:
        return "the log's mean differs from that of its scores"
    if abs(stated.error - rows.error_of_draws) <= EQUAL:
        return "its standard error counts each draw as a question"
    if abs(stated.error - rows.error * np.sqrt(1 - 1 / n)) <= EQUAL:
        return "its standard error divides by n, not by n − 1"
    return "its standard error is another one, of clusters or a bootstrap"
