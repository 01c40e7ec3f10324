"""Resplits: the map of the folds, and how the estimate depends on the split and the number of
training rows.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, InputError, Ints, codes, ratio
from evalkit.catalogue.lookup import MetricAtK
from evalkit.metrics.rows import Rows
from evalkit.offline import fitting, splits
from evalkit.offline.fitting import Fit, Job, Learner
from evalkit.offline.splits import (
    ONE_HOLDOUT,
    OUT_OF_BAG as OUT_OF_BAG,
    Folds,
    Setting,
    SplitMethod,
    Unfitted as Unfitted,
)
from evalkit.statistics.bootstrap import defined
from evalkit.statistics.nested import NestedDraws, NestedFold
from evalkit.studies.study import Row, as_data_frame

SHARES = (0.1, 0.2, 0.4, 0.7)  # of the training rows, on the learning curve
APPARENT = "on its own rows"
CURVE = "learning curve"
ALL_TRAINING_ROWS = "1.0"  # the last point of the curve
NESTED = "nested cross-validation"
HALVES = "holdouts in halves"
IN_HALF = 15  # holdouts in each half, as many as Nadeau and Bengio draw
TESTED_SHARE = 0.3  # of all rows, by each holdout
TESTED = "on test rows"
TRAINED = "on its training rows"


class FoldRows(NamedTuple):
    """The rows of a fold, by number. name: of the fold."""

    name: str
    test: Ints
    train: Ints


# The map: where along time, groups or rows each fold tests and where it trains --------------------


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """The number of some rows in each bin, and their lowest and highest position; these are
    infinite in an empty bin.
    """

    count: Ints
    low: Floats
    high: Floats


def _binned(bin_of_row: Ints, place: Floats, bins: int) -> BinnedRows:
    """The bins of some rows. place: the position of each row. bins: their number."""
    low = np.full(bins, np.inf)
    high = np.full(bins, -np.inf)
    np.minimum.at(low, bin_of_row, place)
    np.maximum.at(high, bin_of_row, place)
    return BinnedRows(np.bincount(bin_of_row, minlength=bins), low, high)


def places(
    count: int, time: Floats | None, group: np.ndarray | None, tests: Sequence[Ints]
) -> Floats:
    """The position of each row on the axis of a figure that shows where folds test and train, shape
    (rows,): its time; without times the rank of its group; with neither its number in the table.

    Groups are ranked by the first fold that tests them, so that the groups of a fold lie together.
    count: of rows. time, group: of each row, or None. tests: the numbers of each fold's test rows.
    """
    if time is not None:
        return time
    if group is None:
        return np.arange(count, dtype=float)
    untested = len(tests)  # stands for a fold after all others: untested groups rank last
    first_fold_of_row = np.full(count, untested)
    for fold, test in reversed(list(enumerate(tests))):  # the first fold overwrites later ones
        first_fold_of_row[test] = fold
    group_of_row, names = codes(group)
    first_fold_of_group = np.full(names.size, untested)
    np.minimum.at(first_fold_of_group, group_of_row, first_fold_of_row)
    order = np.argsort(first_fold_of_group, kind="stable")
    rank_of_group = np.empty(names.size)
    rank_of_group[order] = np.arange(names.size)
    return rank_of_group[group_of_row]


def stretches(
    place: Floats, folds: Iterable[FoldRows], max_bins: int, *, axis: str
) -> pd.DataFrame:
    """The stretches of an axis on which each fold tests, trains or does both, to be drawn as bars:
    fold, kind ("test", "training" or "both"), start, width. The axis is cut into bins, and
    neighbouring bins of one kind are joined. Bins without rows are in no stretch.

    place: the position of each row on the axis. axis: what it is, "time", "group" or "row".
    """
    end = place.max()
    if axis != "time":
        end += 1  # ranks and row numbers are whole: the last one, too, is drawn 1 wide
    bins = min(max_bins, np.unique(place).size)
    edges = np.linspace(place.min(), end, bins + 1)
    # the last time lies on the last edge, and belongs to the last bin
    bin_of_row = np.clip(np.searchsorted(edges, place, side="right") - 1, 0, bins - 1)
    if axis == "row":
        # `_kinds` tells by the positions whether test and training rows of a bin are mixed or lie
        # side by side. The order of rows means nothing: with one position for all rows of a bin,
        # they always count as mixed.
        place = bin_of_row.astype(float)
    rows = []
    for fold in folds:
        test = _binned(bin_of_row[fold.test], place[fold.test], bins)
        train = _binned(bin_of_row[fold.train], place[fold.train], bins)
        kind = _kinds(test, train)
        # a stretch starts at the first bin, and wherever the kind changes
        starts = np.flatnonzero(np.append(True, kind[1:] != kind[:-1]))
        ends = np.append(starts[1:], bins)
        for start, stop in zip(starts.tolist(), ends.tolist(), strict=True):
            if kind[start]:  # else the bins have no rows
                width = edges[stop] - edges[start]
                rows.append((fold.name, kind[start], edges[start], width))
    return pd.DataFrame(rows, columns=["fold", "kind", "start", "width"])


def _kinds(test: BinnedRows, train: BinnedRows) -> np.ndarray:
    """What the rows of each bin are used for: "test", "training" or "both"; "" for a bin without
    rows. A bin in which all training rows lie before or after all test rows only straddles their
    border: it is not "both", but what most of its rows are, "test" if there are as many of each.
    """
    is_empty = (test.count == 0) & (train.count == 0)
    # the ranges of positions overlap; never where one of them has no rows, as low is then +∞
    are_mixed = (train.high >= test.low) & (test.high >= train.low)
    kind = np.where(test.count >= train.count, "test", "training")
    kind = np.where(are_mixed, "both", kind)
    return np.where(is_empty, "", kind)


# Other splits -------------------------------------------------------------------------------------


class HalfMeans(NamedTuple):
    """The mean of a metric over holdouts in the first and in the second half of the rows, for each
    split into halves.
    """

    first: Floats
    second: Floats


class SpreadRatios(NamedTuple):
    """How many times as much a single holdout varies as each k-fold: the ratio of the standard
    deviations of their estimates. single: the name of the holdout, "" without one. times: by name
    of the k-fold.
    """

    single: str
    times: dict[str, float]


@dataclass(frozen=True, eq=False)
class Resplits:
    """Results of fits on other splits than the chosen folds.

    points: each estimate, with its way of splitting. summary: a row for each way, see `_summary`.
    curve: the learning curve, see `_curve`.
    folds: the metric on each fold of the repeated k-fold. nested: the values around each fold of
    the draws whose models without two folds were fitted too; None unless they are of a mean over
    rows. holdouts: the metric on each random holdout of rows. halves: holdouts in halves of the
    rows. ignoring: out-of-fold rows of a split
    that ignores the group or the time. unfitted: what was skipped because of the time or the size.
    warned: an estimator's warning -> its fits.
    """

    points: pd.DataFrame
    summary: pd.DataFrame
    folds: Floats
    curve: pd.DataFrame
    ignoring: Rows | None
    bootstrap: fitting.Bootstrap | None
    nested: NestedDraws | None
    holdouts: Floats
    halves: HalfMeans
    unfitted: tuple[Unfitted, ...]
    warned: dict[str, int]

    @property
    def spread_ratios(self) -> SpreadRatios:
        """How many times as much the estimate by a single holdout varies as that by each k-fold:
        the standard deviation of the one over that of the other, both over repeated draws. Ways
        with an unknown sd or one of 0 are left out; without a holdout that varies there is none.
        """
        sd_of_way = self.summary.set_index("way")["sd"]
        varying = [name for name in sd_of_way.index if sd_of_way[name] > 0]  # False for NaN
        # `ONE_HOLDOUT` or "one holdout of 30% of groups": a table is split in one of these ways
        holdouts = [name for name in varying if name.startswith("one holdout")]
        if not holdouts:
            return SpreadRatios("", {})
        single = holdouts[0]
        # such as "10-fold", "10-fold of groups" and "mean of 10 × 10-fold"
        k_folds = [name for name in varying if "-fold" in name]
        times = {name: float(sd_of_way[single] / sd_of_way[name]) for name in k_folds}
        return SpreadRatios(single, times)


# Jobs


def jobs_of(folds: Folds, system: str, name: str) -> list[Job]:
    """One job per pair of training and test rows. name: of the way of splitting, for errors."""
    return [
        Job(system, train, test, f"{name} {i}") for i, (train, test) in enumerate(folds.pairs, 1)
    ]


def curve_jobs(setting: Setting, system: str) -> list[Job]:
    """The fits for the learning curve, sorted by share: on each of the `SHARES` of each fold's
    training rows, drawn so that smaller samples lie within larger ones; each is tested on these
    rows and on the fold's test rows. There is no job for a sample with only one class, from which
    nothing can be learnt, or one of all training rows, whose fit is already made.
    """
    jobs = []
    for i, (train, test) in enumerate(setting.folds.pairs):
        # 4 and the fold: random numbers of their own, apart from other uses of the seed
        order = np.random.default_rng([setting.seed, 4, i]).permutation(train)
        for share in SHARES:
            size = max(5, round(share * train.size))  # fewer than 5 rows say too little
            rows = np.sort(order[:size])
            if rows.size < train.size and setting.can_learn_from(rows):
                jobs.append(Job(system, rows, test, f"{CURVE} {share:g}", on_train=True))
    return sorted(jobs, key=lambda job: job.place)  # the place ends in the share


def nested_jobs(way: SplitMethod, system: str) -> list[Job]:
    """For every draw of k folds, and each two folds of it, a fit without both, tested on both, the
    first of them first. way: the way of splitting, by k folds.
    """
    jobs = list[Job]()
    for draw in _draws(way):
        for first, second in combinations(draw, 2):
            train = np.intersect1d(first.train, second.train, assume_unique=True)
            test = np.concatenate([first.test, second.test])
            jobs.append(Job(system, train, test, f"{NESTED} {len(jobs) + 1}"))
    return jobs


def half_jobs(setting: Setting, system: str) -> list[Job]:
    """The fits for the variance of a mean over holdouts, by Nadeau and Bengio's conservative z: the
    rows are split into halves several times, and `IN_HALF` holdouts are drawn in each half. Halves
    share no row, so that the difference of their means shows how much such a mean varies. Empty if
    a half is too small for a holdout.
    """
    n = len(setting.examples)
    label = setting.strata  # classes, to stratify by; None for a number
    seed = setting.seed
    repeats = setting.limits.repeats
    jobs = list[Job]()
    try:
        # a holdout of half of the rows has a half as its training rows and the other as test rows;
        # another seed than that of the holdouts, as they must not depend on each other
        halves = splits.holdout(n, seed=seed + 1, share=0.5, repeats=repeats, label=label)
        for pair in halves.pairs:
            for half in pair:
                label_of_half = None if label is None else label[half]
                # a half has half as many rows: with twice the share as many of them are tested as
                # by a holdout of all rows
                holdouts = splits.holdout(
                    half.size,
                    seed=seed,
                    share=2 * TESTED_SHARE,
                    repeats=IN_HALF,
                    label=label_of_half,
                )
                for train, test in holdouts.pairs:  # positions within the half
                    jobs.append(Job(system, half[train], half[test], HALVES))
    except InputError:  # a half is too small
        return []
    return jobs


class RowSplit(NamedTuple):
    """The training and the test rows of a fold, by number."""

    train: Ints
    test: Ints


def _draws(way: SplitMethod) -> list[list[RowSplit]]:
    """The folds of each draw. way: of splitting into k folds, drawn once or several times."""
    folds = [RowSplit(train, test) for train, test in way.folds.pairs]
    k = way.folds_per_value
    return [folds[start : start + k] for start in range(0, len(folds), k)]


# What came of them


class FitsOfPart(NamedTuple):
    """The jobs of a part of all fits, such as a way of splitting, and the fits that were made: of
    the first jobs, one each.
    """

    jobs: Sequence[Job]
    fits: Sequence[Fit]

    @property
    def tests(self) -> list[Rows]:
        """The predictions for the test rows of each fit."""
        return [fit.test for fit in self.fits]


NO_FITS = FitsOfPart((), ())
Fits = Mapping[str, FitsOfPart]  # by the name of the part


Element = TypeVar("Element")


def _in_runs(elements: Sequence[Element], size: int) -> list[Sequence[Element]]:
    """The elements in runs of this size; elements left over that do not fill a run are dropped.

    >>> _in_runs([1, 2, 3, 4, 5], 2)
    [[1, 2], [3, 4]]
    """
    return [elements[end - size : end] for end in range(size, len(elements) + 1, size)]


def _estimates(way: SplitMethod, metric: MetricAtK, fits: Fits) -> list[float]:
    """The estimates of a way of splitting for which all fits were made: a value of the metric is of
    the rows of `way.folds_per_value` folds together, an estimate is the mean of
    `way.values_per_estimate` values.
    """
    tests_of_values = _in_runs(fits[way.name].tests, way.folds_per_value)
    values = [metric.value(Rows.join(tests)) for tests in tests_of_values]
    return [float(np.mean(run)) for run in _in_runs(values, way.values_per_estimate)]


def _nested(way: SplitMethod, metric: MetricAtK, fits: Fits, n: int) -> NestedDraws | None:
    """What nested cross-validation needs: for each fold, the metric's values of its own rows by the
    fit without this fold (outer), and of the rows of each other fold by the fit without both folds
    (inner). The rows are split into k folds several times, each time a draw.

    n: rows of the table. None without a draw of which all fits were made in time, or if a fold has
    fewer than two rows with a value.
    """
    k = way.folds_per_value
    pairs = list(combinations(range(k), 2))
    # an array for each fit: the values of its test rows
    values_of_folds = [_row_values(metric, test) for test in fits[way.name].tests]
    values_of_pairs = [_row_values(metric, test) for test in fits[NESTED].tests]
    # a draw has a fit for each fold, and one for each pair of folds; incomplete draws are dropped
    folds_by_draw = _in_runs(values_of_folds, k)
    pairs_by_draw = _in_runs(values_of_pairs, len(pairs))
    folds = list[NestedFold]()
    # there may have been no time for the last draws, of folds or of pairs
    for outer, values_by_pair in zip(folds_by_draw, pairs_by_draw, strict=False):
        # inner[i]: for each other fold j the values of the rows of j, by the fit without i and j
        inner: list[list[Floats]] = [[] for _ in range(k)]
        for (first, second), values in zip(pairs, values_by_pair, strict=True):
            # the test rows of this fit are those of both folds, one after the other; for either
            # fold those of the other one are inner values
            of_first, of_second = np.split(values, [outer[first].size])
            inner[first].append(of_second)
            inner[second].append(of_first)
        for outer_values, inner_values in zip(outer, inner, strict=True):
            fold = NestedFold(defined(outer_values), defined(np.concatenate(inner_values)))
            folds.append(fold)
    if not folds or any(fold.outer.size < 2 for fold in folds):
        return None
    return NestedDraws(folds, k, n)


def _half_means(metric: MetricAtK, fits: Fits) -> HalfMeans:
    """The mean of the metric over the holdouts of each half, for each split into halves that was
    fitted in full and whose holdouts all define the metric.
    """
    values = np.array([metric.value(test) for test in fits.get(HALVES, NO_FITS).tests])
    complete = values.size // (2 * IN_HALF) * 2 * IN_HALF
    means = values[:complete].reshape(-1, 2, IN_HALF).mean(axis=2)  # (splits, halves)
    means = means[~np.isnan(means).any(axis=1)]
    return HalfMeans(first=means[:, 0], second=means[:, 1])


def _row_values(metric: MetricAtK, rows: Rows) -> Floats:
    """The value of each row, whose mean is the metric; NaN where a row does not count."""
    return metric.sums(rows).per_unit


@as_data_frame
def _summary(points: pd.DataFrame, ways: Sequence[SplitMethod], fits: Fits) -> Iterator[Row]:
    """How the estimates of each way of splitting vary: a row of way, fits and estimates (their
    numbers), mean, sd, lowest and highest. The last four are of the estimates that are defined: NaN
    without any, sd also for a single one. points: every estimate, see `Resplits`.
    """
    for way in ways:
        estimates = points[points["way"] == way.name]["value"]
        values = estimates.dropna().to_numpy(float)
        row = {"way": way.name, "fits": len(fits[way.name].fits), "estimates": values.size}
        row |= dict.fromkeys(["mean", "sd", "lowest", "highest"], np.nan)
        if values.size:
            row |= {"mean": float(values.sum() / values.size)}
            row |= {"lowest": values.min(), "highest": values.max()}
        if values.size > 1:
            row["sd"] = float(values.std(ddof=1))
        yield row


def _curve(
    setting: Setting, metric: MetricAtK, smaller: FitsOfPart, fold_fits: Sequence[Fit]
) -> pd.DataFrame:
    """The learning curve, sorted by system and rows: for each share of the training rows a point on
    test rows and one on training rows (the column `system`), with the mean number of training rows,
    and n, mean, lowest and highest of the folds' values, where they are defined.

    smaller: the fits on shares below 1. fold_fits: those on all training rows of each fold.
    """
    # share, as text -> a fit for each fold, and the number of its training rows
    fits_of_share: dict[str, list[Fit]] = {}
    rows_of_share: dict[str, list[int]] = {}
    # `job.place` names the share; there may have been no time for the fits of the last jobs
    for job, fit in zip(smaller.jobs, smaller.fits, strict=False):
        fits_of_share.setdefault(job.place, []).append(fit)
        rows_of_share.setdefault(job.place, []).append(job.train.size)
    fits_of_share[ALL_TRAINING_ROWS] = list(fold_fits)
    rows_of_share[ALL_TRAINING_ROWS] = [train.size for train, _ in setting.folds.pairs]
    curve = []
    for share, fits in fits_of_share.items():
        predictions = {  # `Rows`, the actual and the predicted values, of each fold
            TESTED: [fit.test for fit in fits],
            TRAINED: [fit.train for fit in fits if fit.train is not None],
        }
        for name, rows_by_fold in predictions.items():
            # a metric may be undefined (NaN) on a fold, such as one without positive rows
            values = defined(np.array([metric.value(rows) for rows in rows_by_fold]))
            if values.size:
                row: Row = {"system": name, "rows": round(np.mean(rows_of_share[share]))}
                row |= {"n": values.size, "value": values.mean()}
                curve.append(row | {"low": values.min(), "high": values.max()})
    return pd.DataFrame(curve).sort_values(["system", "rows"], kind="stable")


def _bootstrap(setting: Setting, fits: Fits) -> fitting.Bootstrap | None:
    """Error rates by the bootstrap, of decisions for a class. apparent: of the fit on all rows,
    tested on the same rows. out_of_bag: of fits on samples, each tested on the rows that it lacks;
    a row's error rate is its mean over the samples without it, and every row counts once.

    None if no sample was fitted in time, or the fit on all rows was not made.
    """
    samples = fits.get(OUT_OF_BAG, NO_FITS)
    tests_on_all_rows = fits[APPARENT].tests  # of one fit
    if not samples.fits or not tests_on_all_rows:
        return None
    all_rows = tests_on_all_rows[0]
    wrong = np.zeros(len(setting.examples))  # in how many samples each row was decided wrongly
    tested = np.zeros(len(setting.examples))  # in how many it was tested
    # there may have been no time for the last jobs
    for job, test in zip(samples.jobs, samples.tests, strict=False):
        wrong[job.test] += test.predicted != test.actual
        tested[job.test] += 1
    apparent = float((all_rows.predicted != all_rows.actual).mean())
    out_of_bag = float(np.nanmean(ratio(wrong, tested)))  # NaN for a row that is in every sample
    no_information = fitting.no_information(setting.examples.label, all_rows.predicted)
    return fitting.Bootstrap(
        apparent=apparent,
        out_of_bag=out_of_bag,
        no_information=no_information,
        error_632=fitting.error_632(apparent, out_of_bag),
        error_632_plus=fitting.error_632_plus(apparent, out_of_bag, no_information),
    )


def fit_folds(setting: Setting, learner: Learner, systems: Sequence[str]) -> dict[str, list[Fit]]:
    """The fits of every system on the chosen folds, a list per system with one fit per fold, tested
    on the fold's test rows and on its training rows. There is no time limit.
    """
    folds = setting.folds
    jobs = list[Job]()
    for system in systems:
        for name, (train, test) in zip(folds.labels, folds.pairs, strict=True):
            jobs.append(Job(system, train, test, f"fold {name}", on_train=True))
    fits = iter(_fit_all(setting, learner, jobs))
    return {system: list(islice(fits, len(folds.pairs))) for system in systems}


def _fit_all(setting: Setting, learner: Learner, jobs: Sequence[Job]) -> list[Fit]:
    """The fits of all jobs, in their order, however long they take."""
    return fitting.run(
        learner,
        jobs,
        required=len(jobs),  # all of them, whatever the time
        seconds=np.inf,
        second_process=setting.limits.second_process,
    )


def fit_others(
    setting: Setting,
    learner: Learner,
    metric: MetricAtK,
    system: str,
    fold_fits: list[Fit],
    seconds: float,
) -> Resplits:
    """Fit a system on other splits of the table than the chosen folds, within `seconds`, and
    measure how the estimate depends on the split. Ways of splitting with few fits come first; those
    without time are named in `unfitted`, and what rests on them is None or empty.

    system: a name among the learner's estimators. fold_fits: its fits on the chosen folds.
    """
    ways, impossible = setting.ways()  # some need more rows than the table has
    # the way, if any, whose folds can also be left out two at a time, for nested cross-validation
    nesting = next((way for way in ways if _can_nest(setting, way, metric)), None)
    jobs = _jobs_of_parts(setting, ways, nesting, system)
    # name of a way of splitting, or of another part such as the learning curve -> its fits
    fits = _fits_in_time(setting, learner, jobs, seconds)
    points = _points(ways, metric, fits)
    # the predictions for the test rows of each fit, the same in all `tests` below
    tests_of_folds = _repeated_folds(setting, ways, fits, fold_fits)
    tests_of_holdouts = fits.get(ONE_HOLDOUT, NO_FITS).tests
    # For a table with groups or times: the mistake of splitting by rows in spite of them. It is
    # measured on the k test sets together, so that all must have been fitted in time.
    ignoring = None
    tests_ignoring = fits.get(setting.blind, NO_FITS).tests
    if len(tests_ignoring) == setting.k:
        ignoring = Rows.join(tests_ignoring)
    bootstrap = None
    if setting.examples.classes:  # it estimates error rates, which a number does not have
        bootstrap = _bootstrap(setting, fits)
    nested = None
    if nesting is not None:
        nested = _nested(nesting, metric, fits, n=len(setting.examples))
    return Resplits(
        points=points,
        summary=_summary(points, ways, fits),
        folds=np.array([metric.value(test) for test in tests_of_folds]),
        curve=_curve(setting, metric, fits[CURVE], fold_fits),
        ignoring=ignoring,
        bootstrap=bootstrap,
        nested=nested,
        holdouts=np.array([metric.value(test) for test in tests_of_holdouts]),
        halves=_half_means(metric, fits),
        unfitted=(*impossible, *_unfinished(fits)),
        warned=_count_warnings(fold_fits, fits),
    )


def _points(ways: Sequence[SplitMethod], metric: MetricAtK, fits: Fits) -> pd.DataFrame:
    """Every estimate of every way of splitting: way, value."""
    points = []
    for way in ways:
        points += [(way.name, value) for value in _estimates(way, metric, fits)]
    return pd.DataFrame(points, columns=["way", "value"])


def _unfinished(fits: Fits) -> Iterator[Unfitted]:
    """The parts of which not all fits could be made."""
    for name, part in fits.items():
        if len(part.fits) < len(part.jobs):
            yield Unfitted(name, len(part.fits), len(part.jobs))


def _count_warnings(fold_fits: Sequence[Fit], fits: Fits) -> dict[str, int]:
    """Each warning of an estimator, and the number of fits that gave it, sorted by its text."""
    counts = Counter[str]()
    other_fits = chain.from_iterable(part.fits for part in fits.values())
    for fit in chain(fold_fits, other_fits):
        counts.update(set(fit.warned))
    return dict(sorted(counts.items()))


def _jobs_of_parts(
    setting: Setting, ways: Sequence[SplitMethod], nesting: SplitMethod | None, system: str
) -> dict[str, list[Job]]:
    """The fits to make, as jobs by the name of their part (a way of splitting, or a further
    analysis), in the order in which they are made. The time may not be enough for all: after the
    fit on all rows and the learning curve, which every page shows, parts with few fits come first.

    nesting: the way whose folds are left out two at a time, for nested cross-validation, or None.
    """
    jobs = {way.name: jobs_of(way.folds, system, way.name) for way in ways}
    if nesting is not None:
        jobs[NESTED] = nested_jobs(nesting, system)
    # holdouts in halves of the rows give the interval of the mean over holdouts of all rows
    in_halves = half_jobs(setting, system) if ONE_HOLDOUT in jobs else []
    if in_halves:  # else the table is too small for them
        jobs[HALVES] = in_halves
    all_rows = np.arange(len(setting.examples))
    first = {
        APPARENT: [Job(system, train=all_rows, test=all_rows, place=APPARENT)],
        CURVE: curve_jobs(setting, system),
    }
    fewest_first = sorted(jobs, key=lambda name: len(jobs[name]))
    return first | {name: jobs[name] for name in fewest_first}


def _fits_in_time(
    setting: Setting, learner: Learner, jobs: Mapping[str, Sequence[Job]], seconds: float
) -> dict[str, FitsOfPart]:
    """The fits that could be made within `seconds`, by part: the first parts have all of theirs,
    later ones may have none. jobs: of each part, in the order in which they are fitted.
    """
    all_fits = fitting.run(
        learner,
        list(chain.from_iterable(jobs.values())),
        required=0,
        seconds=seconds,
        second_process=setting.limits.second_process,
    )
    remaining = iter(all_fits)
    fits = {}
    for name, jobs_of_part in jobs.items():
        fits_of_part = list(islice(remaining, len(jobs_of_part)))
        fits[name] = FitsOfPart(jobs_of_part, fits_of_part)
    return fits


def _repeated_folds(
    setting: Setting, ways: Sequence[SplitMethod], fits: Fits, fold_fits: Sequence[Fit]
) -> list[Rows]:
    """The test rows of each fold with their predictions. The folds are the k folds that were drawn
    several times, by row or by group, since more folds say more. They are the chosen ones,
    `fold_fits`, if the user set the folds, or if no such draws were fitted.
    """
    chosen_tests = [fit.test for fit in fold_fits]
    if setting.examples.fold is not None:
        return chosen_tests
    n_folds = setting.limits.repeats * setting.k
    for way in ways:
        # Three ways of splitting have k folds per value. They are told apart by their number of
        # folds: the mean of several k-folds has more, and the k-fold that ignores groups or times
        # has fewer, as it is drawn once.
        is_k_fold = way.folds_per_value == setting.k
        if is_k_fold and len(way.folds.pairs) == n_folds:
            return fits[way.name].tests or chosen_tests
    return chosen_tests


def _can_nest(setting: Setting, way: SplitMethod, metric: MetricAtK) -> bool:
    """True if the folds of a way of splitting allow nested cross-validation, which compares fits
    without one fold with fits without two: it is for a mean over independent rows.
    """
    # the way has this name only if its rows are independent; without two of two folds no row is
    # left to train on
    is_k_fold_of_rows = way.name == f"{setting.k}-fold"
    if not is_k_fold_of_rows or way.folds_per_value < 3:
        return False
    if not metric.metric.kind.mean_over_rows:
        return False
    for draw in _draws(way):
        if min(fold.test.size for fold in draw) < 2:  # one value has no variance
            return False
        for first, second in combinations(draw, 2):
            train = np.intersect1d(first.train, second.train, assume_unique=True)
            if not setting.can_learn_from(train):  # all of one class
                return False
    return True


# A selection of columns, inside the folds and outside


class Reselected(NamedTuple):
    """The fits of the folds with columns selected from all rows (outside), and in each fold from
    its training rows (inside).
    """

    outside: list[Fit]
    inside: list[Fit]


def reselected(setting: Setting, learner: Learner, system: str) -> Reselected:
    """The fits of the folds with columns that are selected automatically, as many as the user
    selected: once from all rows, and once from the training rows of each fold. The difference is
    the bias of a selection that has seen the test rows.

    setting: its table has the user's columns as features. learner: its features are all columns to
    select from. system: a name among the learner's estimators. Both selections use
    `fitting.strongest`, so that they differ only in the rows that they see.
    """
    examples = setting.examples
    candidates = learner.features
    assert examples.features is not None
    size = examples.features.shape[1]  # the number of the user's columns
    outside = fitting.strongest(candidates, examples.label, size, examples.kind)
    jobs = list[Job]()
    for train, test in setting.folds.pairs:
        rows = np.unique(train)  # each row once, as on all rows
        inside = fitting.strongest(candidates.iloc[rows], examples.label[rows], size, examples.kind)
        name = "a fold with columns selected anew"
        jobs += [Job(system, train, test, name, columns=selected) for selected in (outside, inside)]
    fits = _fit_all(setting, learner, jobs)
    return Reselected(outside=fits[::2], inside=fits[1::2])  # the jobs alternate
