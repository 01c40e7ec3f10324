"""Resplits: the map of the folds, and how the estimate depends on the split and the number of
training rows.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, InputError, Ints, codes, ratio
from evalkit.catalogue.lookup import MetricAtK
from evalkit.metrics.rows import Rows
from evalkit.offline import fitting, splits
from evalkit.offline.fitting import Fit, Job, Learner
from evalkit.offline.splits import ONE_HOLDOUT, OUT_OF_BAG, Folds, Setting, Unfitted, Way
from evalkit.statistics.bootstrap import defined
from evalkit.statistics.nested import NestedDraws, NestedFold
from evalkit.studies.study import Row, framed

SHARES = (0.1, 0.2, 0.4, 0.7)
APPARENT, CURVE = "on its own rows", "learning curve"
NESTED = "nested cross-validation"
HALVES = "holdouts in halves"
IN_HALF = 15  # holdouts in each half, as many as Nadeau and Bengio draw
TESTED_SHARE = 0.3  # of all rows, by each holdout
TESTED, TRAINED = "on test rows", "on its training rows"


Side = tuple[str, Ints, Ints]  # the name of a fold, its test rows and its training rows


# The map: where along time, groups or rows each fold tests and where it trains --------------------


@dataclass(frozen=True, eq=False)
class Bins:
    """The number of rows in each bin, and their lowest and highest position."""

    count: Ints
    low: Floats
    high: Floats


def of_places(part: Ints, place: Floats, bins: int) -> Bins:
    """The bins of rows. part: the bin of each row."""
    low = np.full(bins, np.inf)
    high = np.full(bins, -np.inf)
    np.minimum.at(low, part, place)
    np.maximum.at(high, part, place)
    return Bins(np.bincount(part, minlength=bins), low, high)


def places(
    rows: int, time: Floats | None, group: np.ndarray | None, tests: Sequence[Ints]
) -> Floats:
    """The place of each row: its time, the position of its group in the order of testing folds, or
    its number.
    """
    if time is not None:
        return time
    if group is None:
        return np.arange(rows, dtype=float)
    first = np.full(rows, len(tests))
    for i, test in reversed(list(enumerate(tests))):
        first[test] = i
    code, names = codes(group)
    tested = np.full(names.size, len(tests))
    np.minimum.at(tested, code, first)
    rank = np.empty(names.size)
    rank[np.lexsort((np.arange(names.size), tested))] = np.arange(names.size)
    return rank[code]


def stretches(place: Floats, sides: Iterable[Side], most: int, *, axis: str) -> pd.DataFrame:
    """Neighbouring bins of one kind, at most `most` and no more than places: fold, kind, start,
    width.
    """
    last = place.max() + (0 if axis == "time" else 1)
    edges = np.linspace(place.min(), last, min(most, np.unique(place).size) + 1)
    bins = len(edges) - 1
    part = np.clip(np.searchsorted(edges, place, side="right") - 1, 0, bins - 1)
    exact = place if axis != "row" else part.astype(float)  # rows of a table have no order to keep
    drawn = []
    for name, *rows in sides:
        kind = _kinds(*(of_places(part[side], exact[side], bins) for side in rows))
        cuts = np.flatnonzero(np.append(True, kind[1:] != kind[:-1]))
        ends = np.append(cuts[1:], bins)
        drawn += [
            (name, kind[a], edges[a], edges[b] - edges[a])
            for a, b in zip(cuts, ends, strict=True)
            if kind[a]
        ]
    return pd.DataFrame(drawn, columns=["fold", "kind", "start", "width"])


def _kinds(test: Bins, train: Bins) -> np.ndarray:
    """What each bin holds; both only where test and training rows lie between each other, else what
    it has more of.
    """
    # else the bin is only too wide to part them
    mixed = (train.high >= test.low) & (test.high >= train.low)
    tests = test.count > 0
    trains = train.count > 0
    more = np.where(test.count >= train.count, "test", "training")
    return np.where(
        tests & trains,
        np.where(mixed, "both", more),
        np.select([tests, trains], ["test", "training"], ""),
    )


# Other splits -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Resplits:
    """Results of fits on other splits than the chosen folds; frames have one row per point, way of
    splitting or size.

    folds: the metric on each fold of the repeated k-fold. nested: the values around each fold of
    the draws whose models without two folds were fitted too; None unless they are of a mean over
    rows. holdouts: the metric on each random holdout of rows. halves: the mean over holdouts in the
    first and in the second half, for each split into halves. ignoring: out-of-fold rows of a split
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
    halves: tuple[Floats, Floats]
    unfitted: tuple[Unfitted, ...]
    warned: dict[str, int]

    @property
    def spread_ratios(self) -> tuple[str, dict[str, float]]:
        """The name of a single holdout, "" without one, and how many times as much it varies as
        each k-fold.
        """
        spread = self.summary.set_index("way")["sd"]
        varying = [name for name in spread.index if spread[name] > 0]
        single = next((name for name in varying if name.startswith("one holdout")), "")
        return single, {
            name: float(spread[single] / spread[name])
            for name in varying
            if single and "-fold" in name
        }


# Jobs


def jobs_of(folds: Folds, system: str, name: str) -> list[Job]:
    """One job per pair of training and test rows."""
    return [
        Job(system, train, test, f"{name} {i}") for i, (train, test) in enumerate(folds.pairs, 1)
    ]


def curve_jobs(setting: Setting, system: str) -> list[Job]:
    """Parts of each fold's training rows, the smaller within the larger, tested on the fold's test
    rows.
    """
    jobs = []
    for i, (train, test) in enumerate(setting.folds.pairs):
        order = np.random.default_rng([setting.seed, 4, i]).permutation(train)
        for share in SHARES:
            rows = order[: max(5, round(share * train.size))]
            if rows.size < train.size and setting.can_learn_from(rows):
                jobs.append(Job(system, np.sort(rows), test, f"{CURVE} {share:g}", on_train=True))
    return sorted(jobs, key=lambda job: job.place)


def nested_jobs(setting: Setting, way: Way, system: str) -> list[Job]:
    """A fit without each two folds of a draw, for every draw of a way of k folds, tested on both
    folds.
    """
    jobs = list[Job]()
    for draw in _draws(way):
        for (first, one), (second, other) in combinations(draw, 2):
            both = np.intersect1d(first, second, assume_unique=True)
            tested = np.concatenate([one, other])
            jobs.append(Job(system, both, tested, f"{NESTED} {len(jobs) + 1}"))
    return jobs


def half_jobs(setting: Setting, system: str) -> list[Job]:
    """Holdouts in both halves of the rows, for several splits into halves: with as many test rows
    as the holdouts of all rows have. Empty where a half is too small.
    """
    n = len(setting.examples)
    label = setting.strata
    jobs = list[Job]()
    try:
        halves = splits.holdout(
            n, seed=setting.seed + 1, share=0.5, repeats=setting.limits.repeats, label=label
        )
        for pair in halves.pairs:
            for half in pair:
                drawn = splits.holdout(
                    half.size,
                    seed=setting.seed,
                    share=2 * TESTED_SHARE,
                    repeats=IN_HALF,
                    label=None if label is None else label[half],
                )
                jobs += [
                    Job(system, half[train], half[test], HALVES) for train, test in drawn.pairs
                ]
    except InputError:
        return []
    return jobs


def _draws(way: Way) -> list[Sequence[tuple[Ints, Ints]]]:
    """The pairs of training and test rows of each draw of a way of k folds."""
    pairs = list(way.folds.pairs)
    return [pairs[i : i + way.folds_per_value] for i in range(0, len(pairs), way.folds_per_value)]


# What came of them


Fits = Mapping[str, list[tuple[Job, Fit]]]  # by the name of their part, as far as there are any


def _points(way: Way, metric: MetricAtK, fits: Fits) -> list[tuple[str, float]]:
    """One estimate for as many complete groups of fits as were made."""
    tests = [fit.test for _, fit in fits[way.name]]
    whole = [
        tests[i : i + way.folds_per_value]
        for i in range(0, len(tests) - way.folds_per_value + 1, way.folds_per_value)
    ]
    values = np.array([metric.value(Rows.join(some)) for some in whole])
    estimates = values.size // way.values_per_estimate
    complete = values[: estimates * way.values_per_estimate].reshape(-1, way.values_per_estimate)
    return [(way.name, float(value)) for value in complete.mean(axis=1)]


def _nested(way: Way, metric: MetricAtK, fits: Fits, n: int) -> NestedDraws | None:
    """The values around each fold of those draws of n rows whose fits were all made."""
    k = way.folds_per_value
    of_folds = [_values(metric, fit.test) for _, fit in fits[way.name]]
    of_pairs = [_values(metric, fit.test) for _, fit in fits[NESTED]]
    pairs = list(combinations(range(k), 2))
    folds = []
    for draw in range(min(len(of_folds) // k, len(of_pairs) // len(pairs))):
        outer = of_folds[draw * k : (draw + 1) * k]
        inner: list[list[Floats]] = [[] for _ in range(k)]
        for number, (one, other) in enumerate(pairs, draw * len(pairs)):
            first, second = np.split(of_pairs[number], [outer[one].size])
            inner[one].append(second)
            inner[other].append(first)
        folds += [
            NestedFold(defined(values), defined(np.concatenate(rest)))
            for values, rest in zip(outer, inner, strict=True)
        ]
    few = any(fold.outer.size < 2 for fold in folds)
    return NestedDraws(folds, k, n) if folds and not few else None


def _halves(metric: MetricAtK, fits: Fits) -> tuple[Floats, Floats]:
    """The mean over the holdouts of each half, for each split into halves that was fitted in
    full.
    """
    values = np.array([metric.value(fit.test) for _, fit in fits.get(HALVES, ())])
    complete = values[: values.size // (2 * IN_HALF) * 2 * IN_HALF].reshape(-1, 2, IN_HALF)
    means = complete.mean(axis=2)
    means = means[~np.isnan(means).any(axis=1)]
    return means[:, 0], means[:, 1]


def _values(metric: MetricAtK, rows: Rows) -> Floats:
    """The value of each row, whose mean is the metric; NaN where a row does not count."""
    return metric.sums(rows).per_unit


@framed
def _summary(points: pd.DataFrame, chosen: list[Way], fits: Fits) -> Iterator[Row]:
    for way in chosen:
        values = points[points["way"] == way.name]["value"].dropna().to_numpy(float)
        spread = float(values.std(ddof=1)) if values.size > 1 else np.nan
        lowest, highest = (values.min(), values.max()) if values.size else (np.nan, np.nan)
        size = {
            "mean": float(ratio(values.sum(), values.size)),
            "sd": spread,
            "lowest": lowest,
            "highest": highest,
        }
        yield {"way": way.name, "fits": len(fits[way.name]), "estimates": values.size} | size


def _curve(
    setting: Setting, metric: MetricAtK, pairs: list[tuple[Job, Fit]], own: list[Fit]
) -> pd.DataFrame:
    """Mean over the folds by the number of training rows, from the lowest to the highest fold as
    band.
    """
    full = [
        (str(1.0), train.size, fit)
        for (train, _), fit in zip(setting.folds.pairs, own, strict=True)
    ]
    every = [(job.place, job.train.size, fit) for job, fit in pairs] + full
    rows = []
    for place in dict.fromkeys(place for place, _, _ in every):
        some = [(size, fit) for name, size, fit in every if name == place]
        for name in (TESTED, TRAINED):
            sides = [fit.test if name == TESTED else fit.train for _, fit in some]
            values = np.array([metric.value(side) for side in sides if side is not None])
            values = values[~np.isnan(values)]
            if values.size:
                size = {"rows": round(np.mean([size for size, _ in some])), "n": values.size}
                band = {"value": values.mean(), "low": values.min(), "high": values.max()}
                rows.append({"system": name} | size | band)
    return pd.DataFrame(rows).sort_values(["system", "rows"], kind="stable")


def _bootstrap(setting: Setting, fits: Fits) -> fitting.Bootstrap | None:
    """Error rates by the bootstrap: out of bag the mean over rows of each row's mean over the
    samples without it.
    """
    samples = fits.get(OUT_OF_BAG)
    on_its_own = fits[APPARENT]
    if not samples or not on_its_own:
        return None
    wrong = np.zeros(len(setting.examples))
    tested = np.zeros(len(setting.examples))
    for job, fit in samples:
        wrong[job.test] += fit.test.predicted != fit.test.actual
        tested[job.test] += 1
    all_rows = on_its_own[0][1].test
    apparent = float((all_rows.predicted != all_rows.actual).mean())
    oob = float(np.nanmean(ratio(wrong, tested)))
    gamma = fitting.no_information(setting.examples.label, all_rows.predicted)
    plus = fitting.error_632_plus(apparent, oob, gamma)
    return fitting.Bootstrap(apparent, oob, gamma, fitting.error_632(apparent, oob), plus)


def fit_folds(setting: Setting, learner: Learner, systems: Sequence[str]) -> dict[str, list[Fit]]:
    """Every system on the chosen folds, without a time limit."""
    folds = list(zip(setting.folds.labels, setting.folds.pairs, strict=True))
    jobs = [
        Job(system, train, test, f"fold {name}", on_train=True)
        for system in systems
        for name, (train, test) in folds
    ]
    done = fitting.run(
        learner,
        jobs,
        required=len(jobs),
        seconds=np.inf,
        second_process=setting.limits.second_process,
    )
    count = len(folds)
    return {name: done[i * count : (i + 1) * count] for i, name in enumerate(systems)}


def fit_others(
    setting: Setting,
    learner: Learner,
    metric: MetricAtK,
    system: str,
    own: list[Fit],
    seconds: float,
) -> Resplits:
    """A system on all other splits, within `seconds`; the ways of splitting with the fewest fits
    come first.

    own: its fits of the chosen folds.
    """
    chosen, missing = setting.ways()
    every = np.arange(len(setting.examples))
    parts = {APPARENT: [Job(system, every, every, APPARENT)], CURVE: curve_jobs(setting, system)}
    of_ways = {way.name: jobs_of(way.folds, system, way.name) for way in chosen}
    nesting = next((way for way in chosen if _can_nest(setting, way, metric)), None)
    if nesting is not None:
        of_ways[NESTED] = nested_jobs(setting, nesting, system)
    single = next((way for way in chosen if way.name == ONE_HOLDOUT), None)
    if single is not None and (in_halves := half_jobs(setting, system)):
        of_ways[HALVES] = in_halves
    parts |= {name: of_ways[name] for name in sorted(of_ways, key=lambda name: len(of_ways[name]))}
    jobs = [job for some in parts.values() for job in some]
    done = iter(
        fitting.run(
            learner, jobs, required=0, seconds=seconds, second_process=setting.limits.second_process
        )
    )
    fits = {
        name: list(zip(some, islice(done, len(some)), strict=False)) for name, some in parts.items()
    }
    cut = ((name, len(fits[name]), len(some)) for name, some in parts.items())
    unfitted = [Unfitted(name, made, wanted) for name, made, wanted in cut if made < wanted]
    points = pd.DataFrame(
        [row for way in chosen for row in _points(way, metric, fits)], columns=["way", "value"]
    )
    repeated = setting.limits.repeats * setting.k if setting.examples.fold is None else 0
    folded = next((way.name for way in chosen if len(way.folds.pairs) == repeated), "")
    folds = [fit for _, fit in fits.get(folded, ())] or own
    nested = None if nesting is None else _nested(nesting, metric, fits, len(every))
    ignoring = [fit.test for _, fit in fits.get(setting.blind, ())]
    every_fit = [*own, *(fit for some in fits.values() for _, fit in some)]
    warned = Counter(text for fit in every_fit for text in set(fit.warned))
    return Resplits(
        points=points,
        summary=_summary(points, chosen, fits),
        folds=np.array([metric.value(fit.test) for fit in folds]),
        curve=_curve(setting, metric, fits[CURVE], own),
        ignoring=Rows.join(ignoring) if len(ignoring) == setting.k else None,
        bootstrap=_bootstrap(setting, fits) if setting.examples.classes else None,
        nested=nested,
        holdouts=np.array([metric.value(fit.test) for _, fit in fits.get(ONE_HOLDOUT, ())]),
        halves=_halves(metric, fits),
        unfitted=(*missing, *unfitted),
        warned=dict(sorted(warned.items())),
    )


def _can_nest(setting: Setting, way: Way, metric: MetricAtK) -> bool:
    """True for k folds of independent rows, three or more of at least two rows each, and a mean
    over rows, where models without two folds can be fitted.
    """
    if (
        way.name != f"{setting.k}-fold"
        or way.folds_per_value < 3
        or not metric.metric.kind.mean_over_rows
    ):
        return False
    draws = _draws(way)
    least = min(test.size for _, test in way.folds.pairs)
    sides = (
        np.intersect1d(one[0], other[0], assume_unique=True)
        for draw in draws
        for one, other in combinations(draw, 2)
    )
    return least > 1 and all(map(setting.can_learn_from, sides))


# A selection of columns, inside the folds and outside


def reselected(setting: Setting, learner: Learner, system: str) -> tuple[list[Fit], list[Fit]]:
    """The fits of the folds with as many columns selected anew: from all rows, and in each fold
    from its training rows.

    The learner's features are the candidates. Both selections use `optimism.strongest`, so that
    they differ only in the rows that they see.
    """
    e, table = setting.examples, learner.features
    assert e.features is not None
    size = e.features.shape[1]
    jobs = list[Job]()
    outside = fitting.strongest(table, e.label, size, e.kind)
    for train, test in setting.folds.pairs:
        rows = np.unique(train)
        inside = fitting.strongest(table.iloc[rows], e.label[rows], size, e.kind)
        name = "a fold with columns selected anew"
        jobs += [Job(system, train, test, name, columns=selected) for selected in (outside, inside)]
    fits = fitting.run(
        learner,
        jobs,
        required=len(jobs),
        seconds=np.inf,
        second_process=setting.limits.second_process,
    )
    return fits[::2], fits[1::2]
