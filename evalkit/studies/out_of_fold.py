"""The validation study: out-of-fold metrics with intervals, the folds, checks for leakage, and the
verdict.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, groupby
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, Ints, ratio
from evalkit.catalogue.kinds import Loss
from evalkit.catalogue.lookup import MetricAtK
from evalkit.drawing.shown import ShownStudy
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, SEVERE, WARNING, Finding, FindingKind, ordered
from evalkit.machine.progress_bars import progress
from evalkit.metrics.rows import Rows
from evalkit.numbers import plural
from evalkit.offline import leakage
from evalkit.offline.splits import ONE_OUT as ONE_OUT, Folds
from evalkit.reading.inputs.folds import Examples
from evalkit.reading.tables.table import Slice
from evalkit.statistics import inference, statistic
from evalkit.statistics.intervals import Estimate, mean_t, mover
from evalkit.statistics.methods import RandomStream, detectable_by_width
from evalkit.statistics.nested import conservative_z
from evalkit.statistics.significance import (
    CORRECTED_T,
    Comparison,
    adjust,
    cochran,
    holm,
    nadeau_bengio,
    paired_t,
    verdict,
)
from evalkit.studies import resplits, units
from evalkit.studies.study import (
    EVERY,
    Row,
    Study,
    SystemPair,
    UnitSelection,
    frame,
    limits,
    with_limits,
)
from evalkit.studies.units import UnitNames, Units

FEW = 50  # rows tested, below which no interval is worth much
UNLIKE = 0.001  # p of the test for equal folds, below which they differ by more than chance
# rows tested, below which what is pooled depends on the folds' models more than its test knows
FEW_POOLED_ROWS = 1000
# what is claimed: of the fitted models, on other rows; of models fitted to other rows
MODELS = "this model"
LEARNER_CLAIM = "such a learner"
POOLED = "pooled out of fold"
HELD_OUT = "on the test rows"
REPEATED = "pooled out of fold, ids with all their repeats"
CORRECTED_FOLD_MEAN = "mean of folds, Nadeau–Bengio"
HALVED = "mean of holdouts, Nadeau–Bengio conservative"
NAIVE = "mean of folds, t as if folds were a sample"
BY_ROW = "pooled, as if rows of a group were a sample"
BY_REPEAT = "pooled, as if each repeat of an id were another row"
SELECTED_ON_ALL_ROWS = "selected anew, on all rows"
SELECTED_IN_FOLDS = "selected anew, in each fold"


TOO_COARSE = "features too coarse"
UNSELECTED = "selected not set"
# the columns that an input may have, by their field of Examples
OPTIONAL_COLUMNS = (
    "id",
    "group",
    "time",
    "fold",
    "features",
    "candidates",
)


class LabelRange(NamedTuple):
    """The lowest and the highest label, and the mean."""

    low: float
    high: float
    mean: float


class RowsPerId(NamedTuple):
    """The smallest and the largest number of rows of an id."""

    low: int
    high: int


class FoldRange(NamedTuple):
    """The lowest and the highest value of a metric on a fold."""

    low: float
    high: float


class SelectionSizes(NamedTuple):
    """The number of selected columns, and of those to select from."""

    selected: int
    candidates: int


@dataclass(frozen=True)
class AuditCheck:
    """A check of the audit: the kind of its findings. lacks: what was missing to run it, empty if
    it was run.
    """

    kind: FindingKind
    lacks: str = ""


class FoldEvidence(NamedTuple):
    """The values of a metric on some folds, for a test that they are equal.

    precision: 1 / variance of each value. units: the number of units that the variances were
    estimated from; infinite if they count as known, as those of a mean over rows do.
    """

    values: Floats
    precision: Floats
    units: float


AUDIT_DRAWS = 5  # the number of the audit's sequence of random numbers, see `Study.rng`
FEATURE_KINDS = (  # of the findings about features alone
    kinds.NEAR_DUPLICATES,
    kinds.DRIFT,
    kinds.UNSEEN_CATEGORY,
    kinds.ID_LIKE,
    kinds.SINGLE_FEATURE,
)


class SubjectComparison(NamedTuple):
    """The subject against another system. differences: of the primary metric on each fold."""

    second: str
    differences: Floats
    by_fold: Comparison
    pooled: Comparison


@dataclass(frozen=True, eq=False, repr=False)
class Validation(ShownStudy, Study):
    """The study of out-of-fold predictions, or of estimators that evalkit fits.

    described: the estimators that are fitted, empty for predictions. threshold: the score from
    which a row of the input is predicted as class 1. examples: the table that was read. split: its
    folds. scored: system -> its out-of-fold rows, aligned with `rows`. trained: system -> its
    predictions on the training rows of each fold, if there are any. refit: makes the fits on other
    splits. If features were selected, scored also has the system with a new selection on all rows
    (SELECTED_ON_ALL_ROWS) and in each fold (SELECTED_IN_FOLDS).
    """

    report: ClassVar[str] = "validation"

    described: tuple[str, ...]
    threshold: float | None
    examples: Examples
    split: Folds
    scored: Mapping[str, Rows]
    trained: Mapping[str, Sequence[Rows]] = field(default_factory=dict)
    refit: Callable[[], resplits.Resplits] | None = None

    # What was read

    @property
    def fits_estimators(self) -> bool:
        """True if estimators are fitted here."""
        return bool(self.described)

    @cached_property
    def other_splits(self) -> resplits.Resplits | None:
        """The fits on other splits, made when first needed; None for predictions."""
        return None if self.refit is None else self.refit()

    @property
    def rows(self) -> Ints:
        """The indices of the rows that were tested, in order."""
        return self.split.tested

    @cached_property
    def tests(self) -> list[Slice]:
        """The folds, each as a slice of these rows."""
        return self.split.slices()

    @cached_property
    def folds(self) -> Folds:
        """The folds with the rows that trained each.

        If the folds of predictions are blocks of time, each is trained on the earlier ones, and the
        first is left out.
        """
        time = self.examples.time
        has_other_training_rows = (
            self.fits_estimators or self.holdout or self.examples.has_repeated_ids
        )
        if time is None or has_other_training_rows:
            return self.split
        return self.split.in_time(time)

    @property
    def known_columns(self) -> frozenset[str]:
        """Which of id, group, time, fold, features and candidates (columns to select from) the
        input has.
        """
        return frozenset(
            name for name in OPTIONAL_COLUMNS if getattr(self.examples, name) is not None
        )

    @property
    def folds_per_repeat(self) -> int | None:
        """How many folds each repeat has; None if repeats have unlike numbers of folds."""
        folds, remainder = divmod(len(self.tests), self.examples.repeats)
        if remainder:
            return None
        return folds

    @cached_property
    def distinct(self) -> int:
        """The number of rows that a fold tests; each id counts once, however often the folds were
        drawn.
        """
        e = self.examples
        if not e.has_repeated_ids or e.id is None:
            return self.rows.size
        return len(np.unique(e.id.code[self.rows]))

    def corrected_fold_mean(self, values: Floats, level: float) -> Comparison:
        """The mean of `values`, one per fold, with the interval and test by Nadeau and Bengio's
        corrected t. The correction is by the mean numbers of training and test rows of the folds.
        """
        train, test = self.folds.sizes
        return nadeau_bengio(
            values, train=float(train.mean()), test=float(test.mean()), level=level
        )

    @cached_property
    def _fold_numbers(self) -> list[int | None]:
        """For each fold of `split` its place in `folds`, from 0; None for the first block of time,
        which `folds` leaves out, as no rows train it.
        """
        number_of_first_row = {int(test[0]): i for i, test in enumerate(self.folds.tests)}
        return [number_of_first_row.get(int(test[0])) for test in self.split.tests]

    @property
    def unit_name(self) -> str:
        """The noun for the unit that varies: the group if there is one, the id if ids repeat, else
        the row.
        """
        return self.settings.unit or "row"

    @property
    def holdout(self) -> bool:
        """True if there is a single test set, so that nothing is pooled out of fold."""
        return self.split.holdout

    @property
    def measured_on(self) -> str:
        """The rows of the estimates as text: the test rows of a holdout, or all rows pooled out of
        fold.
        """
        if self.holdout:
            return HELD_OUT
        return REPEATED if self.examples.has_repeated_ids else POOLED

    @property
    def row_name(self) -> str:
        """The noun for what `distinct` counts: ids if rows are repeated, else rows."""
        return "id" if self.examples.has_repeated_ids else "row"

    @property
    def baseline(self) -> str:
        """The system that uses no feature."""
        return self.systems[-1]

    @property
    def evaluated_system(self) -> str:
        """The estimator that is evaluated; with predictions the best system by the primary
        metric.
        """
        if self.fits_estimators:
            return self.systems[0]
        return next(name for name in self.order if name != self.baseline)

    # The metrics

    @cached_property
    def unit(self) -> Ints | None:
        """The number of each tested row's group, or of its id if ids repeat."""
        return self.examples.unit_of(self.rows)

    @cached_property
    def pooled(self) -> dict[str, Rows]:
        """The rows of each system with their units; the table of a score is counted once."""
        return {name: replace(rows, unit=self.unit) for name, rows in self.scored.items()}

    def measure(
        self, chosen: MetricAtK, system: str, member: UnitSelection | Ints = EVERY
    ) -> statistic.RowStatistic:
        """The metric of a system's out-of-fold rows; of some of them by a mask or their places
        among the tested rows.
        """
        rows = self.pooled[system]
        if member is not EVERY:
            rows = rows.take(member)  # type: ignore[arg-type]  # here never the number of a slice
        return statistic.RowStatistic(chosen, rows)

    def deciding_estimate(
        self, chosen: MetricAtK, system: str, member: UnitSelection = EVERY
    ) -> Estimate:
        """The metric with the interval on which the verdict rests: the metric of the pooled rows;
        if these are too few for its interval to be valid (`pools_few_rows`), the mean over folds
        with Nadeau and Bengio's t interval, where at least two folds define the metric.

        The limits are NaN if all folds have the same value, as t is undefined then. member: the
        rows of a slice, which are pooled in any case.
        """
        pooled = self.estimate(chosen, system, member)
        if not self.pools_few_rows or member is not EVERY:
            return pooled
        values = self.fold_values(system, chosen)
        defined = values[~np.isnan(values)]
        if defined.size < 2:  # t needs a variance between folds
            return pooled
        # `corrected_fold_mean` compares means with 0, so that its difference is the mean
        mean_of_folds = self.corrected_fold_mean(defined, self.interval_level).difference
        return _within_range(mean_of_folds, chosen)

    def interval(self, chosen: MetricAtK, rows: Rows) -> Estimate:
        """The metric of these rows with its interval, clustered by unit if they have units."""
        return inference.estimate(
            statistic.RowStatistic(chosen, rows), self.inference_options(RandomStream.ESTIMATES)
        )

    @property
    def rows_without_value(self) -> dict[MetricAtK, dict[str, int]]:
        """Metric -> system -> the number of rows that the metric leaves out of its mean; only
        metrics that leave any out.
        """
        by_metric = {}
        for chosen in self.settings.metrics:
            kind = chosen.metric.kind
            if not isinstance(kind, Loss):  # only a loss may be undefined on single rows
                continue
            rows = {
                name: kind.rows_without_value(self.scored[name], chosen.k) for name in self.systems
            }
            if any(rows.values()):
                by_metric[chosen] = rows
        return by_metric

    def units_held(self) -> Units:
        """The content of the file of units: the tested rows, each with its id (or number), its
        fold, and the group or id by which rows are clustered, if they are.
        """
        examples = self.examples
        row_names = examples.named(self.rows)
        cluster_names = None
        if examples.unit is not None:
            cluster_names = examples.units_named(self.rows)
        # folds are slices of the column "fold"
        names = UnitNames.with_slices(row_names, cluster_names, self.tests)
        # the names of more than two classes; with two, rows have 0 and 1
        labels = examples.classes if len(examples.classes) > 2 else ()
        rows = {name: self.scored[name] for name in self.systems}
        blocks = units.blocks_of_rows(rows, self.settings.metrics, names, labels)
        has_ids = examples.id is not None
        return Units(self.rows.size, blocks, segments=("fold",), labels=labels, named=has_ids)

    # Fold by fold

    @frame
    def by_fold(self) -> Iterator[Row]:
        """As a frame, one row per system and fold. Columns: system, fold, train and test (numbers
        of rows), label (mean of the label, or share of class 1, of the test rows; NaN for several
        classes), every metric on the test rows, and on_train, the primary metric on the training
        rows, if models were fitted.

        If predictions were read with times, a fold is trained on earlier rows. The first fold then
        has no training rows.
        """
        training_sizes, _ = self.folds.sizes
        has_mean_label = len(self.examples.classes) <= 2  # more than two classes have no mean
        done = count()  # numbers the folds of all systems, for the progress bar
        with progress("scores by fold", len(self.systems) * len(self.tests), "folds") as draw:
            for name in self.systems:
                training_rows = self.trained.get(name)
                for i, fold in enumerate(self.tests):
                    draw(next(done))
                    tested = self.scored[name].take(fold.member)
                    row: Row = {"system": name, "fold": fold.label, "train": 0, "test": len(tested)}
                    # the fold's place in `folds`; None for the first block of time, which no rows
                    # train
                    number = self._fold_numbers[i]
                    if number is not None:
                        row["train"] = int(training_sizes[number])
                    row["label"] = float(tested.actual.mean()) if has_mean_label else np.nan
                    row |= {chosen.label: chosen.value(tested) for chosen in self.settings.metrics}
                    if training_rows:
                        row["on_train"] = self.primary_metric.value(training_rows[i])
                    yield row

    @cached_property
    def gap(self) -> Floats | None:
        """By how much the subject's primary metric is better on each fold's training rows; None
        without fits.
        """
        rows = self.by_fold[self.by_fold["system"] == self.evaluated_system]
        if "on_train" not in rows:
            return None
        excess: Floats = (rows["on_train"] - rows[self.primary_metric.label]).to_numpy(float)
        return self.primary_metric.metric.sign * excess

    @cached_property
    def training_gap(self) -> Estimate | None:
        """The subject's primary metric on the training rows of a holdout, less that on its test
        rows; None for folds, and without predictions on training rows.

        The interval is by MOVER from the intervals of both values, which are independent.
        """
        if not (self.holdout and self.trained):
            return None
        # a holdout is a single fold, of which `trained` has the predictions on the training rows,
        # and `pairs` the numbers of training and test rows in the table
        (training_rows,) = self.trained[self.evaluated_system]
        ((training_numbers, _),) = self.folds.pairs
        group = self.examples.group_number
        if group is not None:  # the interval is by groups, as that on the test rows
            group = group[training_numbers]
        on_train = self.interval(self.primary_metric, replace(training_rows, unit=group))
        return mover(on_train, self.estimate(self.primary_metric, self.evaluated_system))

    def fold_values(self, system: str, chosen: MetricAtK | None = None) -> Floats:
        """A metric of a system on each fold, NaN where undefined; by default the primary one."""
        label = (chosen or self.primary_metric).label
        rows = self.by_fold[self.by_fold["system"] == system]
        values: Floats = rows[label].to_numpy(float)
        return values

    def fold_range(self, system: str) -> FoldRange:
        """The range of the primary metric over the folds that define it."""
        values = self.fold_values(system)
        return FoldRange(float(np.nanmin(values)), float(np.nanmax(values)))

    def optimism(self, blind: Estimate) -> float:
        """By how much a split that ignores the groups or the time is above the estimate of the
        subject's primary metric. blind: the metric by this split.
        """
        return blind.value - self.estimate(self.primary_metric, self.evaluated_system).value

    @cached_property
    def heterogeneity(self) -> dict[str, float]:
        """Cochran's Q of the subject's primary metric between the folds, as `cochran` returns it:
        q, freedom (degrees of it) and p.

        If the folds are repeated, only the first repeat counts, because the others hold the same
        ids. If the variances are not those of a mean over rows, p is that of Welch's F, which
        allows for their uncertainty; doi:10.1093/biomet/38.3-4.330.
        """
        evidence = self._fold_evidence()
        is_tested = np.isfinite(evidence.precision)
        units = np.full(int(is_tested.sum()), evidence.units)
        return cochran(evidence.values[is_tested], evidence.precision[is_tested], units)

    def _fold_evidence(self) -> FoldEvidence:
        """The subject's primary metric on each fold of the first repeat, with its precision
        (1 / variance), for Cochran's test that all folds have the same value:
        Q = Σ precision (value − weighted mean)². Folds on which it is undefined are left out.

        The variance of a row or unit is estimated from all folds together, and divided by their
        number in a fold: one estimated from a fold alone is correlated with its value.
        """
        # a transformed metric, such as RMSE, has the test of its base
        chosen = self.primary_metric.base
        folds = [
            self.measure(chosen, self.evaluated_system, fold.member)
            for fold in self.folds_of_first_repeat
        ]
        folds = [fold for fold in folds if np.isfinite(fold.value)]
        values: Floats = np.array([fold.value for fold in folds])
        if not folds:
            return FoldEvidence(values, precision=values, units=np.inf)  # `values` is empty
        # A mean over independent rows has the variance of a row / the number of rows. That of a row
        # counts as known (units=inf).
        if self.settings.unit is None and chosen.metric.kind.mean_over_rows:
            # only rows of size above 0 have a value
            row_values = [fold.sums.take(fold.sums.size > 0).per_unit for fold in folds]
            variance_of_row = np.concatenate(row_values).var(ddof=1)
            n_rows = [values_of_fold.size for values_of_fold in row_values]
            return FoldEvidence(values, ratio(n_rows, variance_of_row), units=np.inf)
        # any other metric has the variance Σ influence² of its units, pooled over the folds
        influence_of_folds = [fold.influence_by_group() for fold in folds]
        variances, units = statistic.pooled_variances(influence_of_folds)
        return FoldEvidence(values, ratio(1.0, variances), units)

    @property
    def folds_differ(self) -> bool:
        """True if the folds differ by clearly more than chance."""
        return self.heterogeneity["p"] < UNLIKE

    @frame
    def intervals(self) -> Iterator[Row]:
        """The subject's primary metric by each method that gives an interval, as a frame: over the
        pooled rows; Nadeau and Bengio's t over folds; nested cross-validation and the conservative
        z, if the fits on other splits were made; then naive methods, which wrongly take dependent
        values for independent ones.

        Columns: what (the method), claim (what the interval is about, MODELS or LEARNER_CLAIM),
        unit, honest (False if the interval is too narrow for its level), and the fields of its
        `Estimate`.
        """
        level = self.interval_level
        other_splits = self.other_splits  # None for predictions, which are not fitted again
        fold_values = self.fold_values(self.evaluated_system)
        if other_splits is not None:  # more folds: those of the repeated k-fold
            fold_values = other_splits.folds
        values = fold_values[~np.isnan(fold_values)]
        yield self.interval_over_rows
        if values.size > 1:
            by_fold = self.corrected_fold_mean(values, level).difference
            yield self._interval_row(CORRECTED_FOLD_MEAN, by_fold, "fold", honest=True)
        if other_splits is not None and other_splits.nested is not None:
            nested = other_splits.nested.estimate(level)
            yield self._interval_row(resplits.NESTED, nested, "row", honest=True)
        if other_splits is not None and other_splits.halves.first.size:
            # the variance of the mean of holdouts is estimated from pairs of disjoint halves of the
            # rows, whose holdouts are independent
            holdouts = other_splits.holdouts[~np.isnan(other_splits.holdouts)]
            first, second = other_splits.halves
            z = conservative_z(holdouts, first, second, n=len(self.examples), level=level)
            yield self._interval_row(HALVED, z, "row", honest=True)
        if values.size > 1:
            naive = mean_t(values, level=self.settings.level)
            yield self._interval_row(NAIVE, naive, "fold", honest=False)
        if self.settings.unit:  # rows are in groups, or have repeated ids
            what = BY_ROW if self.settings.unit == "group" else BY_REPEAT
            # `scored` has the rows without their units, as if rows were independent
            over_rows = self.interval(self.primary_metric, self.scored[self.evaluated_system])
            yield self._interval_row(what, over_rows, "row", honest=False)

    @cached_property
    def interval_over_rows(self) -> Row:
        """The first row of `intervals`, of the pooled rows or their units, which needs no fits on
        other splits.

        The interval is honest unless the folds differ or few rows are pooled: then the variation
        between folds counts, which the rows within them do not show.
        """
        pooled = self.estimate(self.primary_metric, self.evaluated_system)
        by_fold = self.folds_differ or self.pools_few_rows
        return self._interval_row(self.measured_on, pooled, self.unit_name, honest=not by_fold)

    @property
    def pools_few_rows(self) -> bool:
        """True if so few rows are pooled over several models that the interval must be over folds,
        not over rows.
        """
        return not self.holdout and self.distinct < FEW_POOLED_ROWS

    @property
    def untested(self) -> int:
        """The number of rows that no fold tests."""
        return len(self.examples) - self.rows.size

    @property
    def folds_of_first_repeat(self) -> list[Slice]:
        """The folds of the first repeat; all of them if they are not repeated."""
        repeat = self.examples.repeat
        if repeat is None:
            return self.tests
        repeat_of_row = repeat.code[self.rows]
        return [fold for fold in self.tests if repeat_of_row[fold.member[0]] == 0]

    @property
    def label_range(self) -> LabelRange:
        """The range and the mean of labels that are numbers."""
        label = self.examples.label
        return LabelRange(float(label.min()), float(label.max()), float(label.mean()))

    @property
    def class_counts(self) -> list[int]:
        """The number of rows of each class."""
        counts: list[int] = np.bincount(self.examples.label).tolist()
        return counts

    @property
    def times_of_ids(self) -> RowsPerId:
        """How many rows the ids have; 1 without ids."""
        ids = self.examples.id
        if ids is None:
            return RowsPerId(1, 1)
        rows = np.bincount(ids.code)
        return RowsPerId(int(rows.min()), int(rows.max()))

    @property
    def pooled_of_folds(self) -> bool:
        """True if rows are pooled over several models and too few for tests on pooled rows to be
        valid anyway.
        """
        return not self.holdout and self.distinct < 10 * FEW_POOLED_ROWS

    def _interval_row(self, what: str, e: Estimate, unit: str, *, honest: bool) -> Row:
        """A row of `intervals`, whose docstring says what the columns mean: e has the value and the
        limits, which are cut to the range of the metric.
        """
        claim = (
            LEARNER_CLAIM
            if what in (CORRECTED_FOLD_MEAN, resplits.NESTED, HALVED, NAIVE)
            else MODELS
        )
        row = {"what": what, "claim": claim, "unit": unit, "honest": honest}
        return row | vars(_within_range(e, self.primary_metric))

    @property
    def answer(self) -> Row:
        """The row of `intervals` that decides: the first honest one; the first row if no row is
        honest. A row is honest if its interval is wide enough for its level.
        """
        if self.interval_over_rows["honest"]:  # without `intervals`, which may need many fits
            return self.interval_over_rows
        intervals = self.intervals
        if intervals["honest"].any():
            intervals = intervals[intervals["honest"]]
        answer: Row = intervals.iloc[0].to_dict()
        return answer

    def interval_method(self, system: str) -> str:
        """How the interval of a system is made on which the verdict rests, as text: a method of
        `intervals`.
        """
        if system == self.evaluated_system:
            return str(self.answer["what"])
        estimate = self.deciding_estimate(self.primary_metric, system)
        return CORRECTED_FOLD_MEAN if estimate.method == CORRECTED_T else self.measured_on

    def compare(
        self, chosen: MetricAtK, pair: SystemPair, member: UnitSelection = EVERY
    ) -> Comparison:
        """first − second on the pooled rows; by fold if few rows are pooled and all are compared.
        member: the rows of a slice, which are pooled in any case.
        """
        by_fold = self.pools_few_rows and member is EVERY
        if by_fold:
            return self.compare_folds(chosen, pair)
        return super().compare(chosen, pair, member)

    def detectable(
        self,
        chosen: MetricAtK,
        pair: SystemPair,
        comparison: Comparison,
        level: float,
        member: UnitSelection = EVERY,
    ) -> float:
        """The smallest true difference that the test of a comparison detects. Of a comparison by
        fold it follows from the limits alone.
        """
        if comparison.unit == "fold":
            first, second = self.compared(chosen, pair)
            return detectable_by_width(first, second, comparison, level)
        return super().detectable(chosen, pair, comparison, level, member)

    def compare_pooled(self, chosen: MetricAtK, pair: SystemPair) -> Comparison:
        """first − second on the pooled rows, which takes the folds' models as fixed."""
        return super().compare(chosen, pair)

    def compare_folds(self, chosen: MetricAtK, pair: SystemPair) -> Comparison:
        """The mean of first − second over the folds where both are defined, by Nadeau and Bengio's
        corrected t; undefined without such a fold.
        """
        differences = self._fold_differences(chosen, pair)
        if not differences.size:
            return inference.undefined(self.settings.level, "fold")
        largest_difference = chosen.metric.high - chosen.metric.low

        def by_fold(level: float) -> Comparison:
            """The two-sided test by fold, its limits within the possible differences."""
            return inference.within_range(
                self.corrected_fold_mean(differences, level), largest_difference
            )

        return self.comparison_of_question(by_fold)

    def _fold_differences(self, chosen: MetricAtK, pair: SystemPair) -> Floats:
        """first − second of a metric on each fold where both are defined."""
        first, second = pair
        differences = self.fold_values(first, chosen) - self.fold_values(second, chosen)
        return differences[~np.isnan(differences)]

    @frame
    def paired(self) -> Iterator[Row]:
        """The subject against each other system, as a frame with a row for each.

        Columns: first (the subject), second, folds (on how many both have a value); by_fold with
        _low and _high, p (by Nadeau and Bengio's t), p_naive (by the usual t over folds); pooled
        with _low and _high, p_pooled; adjusted, verdict, method, n and unit are those of the
        comparison that decides: by fold if few rows are pooled, else pooled.

        Only the comparison with the baseline can be one-sided. The subject of read predictions was
        picked as the best system, so that no direction of another comparison was set in advance.
        """
        two_sided = self.two_sided  # this study with two-sided questions
        comparisons = []
        for name in self.systems:
            pair = (self.evaluated_system, name)
            differences = self._fold_differences(self.primary_metric, pair)
            if name == self.evaluated_system or not differences.size:
                continue
            study = self if name == self.baseline else two_sided
            by_fold = study.compare_folds(self.primary_metric, pair)
            pooled = study.compare_pooled(self.primary_metric, pair)
            comparisons.append(SubjectComparison(name, differences, by_fold, pooled))
        deciding_tests = [comparison.pooled for comparison in comparisons]
        if self.pools_few_rows:
            deciding_tests = [comparison.by_fold for comparison in comparisons]
        adjusted_tests = adjust(deciding_tests, holm)
        for comparison, deciding in zip(comparisons, adjusted_tests, strict=True):
            yield self._paired_row(comparison, deciding)

    def _paired_row(self, comparison: SubjectComparison, deciding: Comparison) -> Row:
        """A row of `paired`. deciding: the comparison by fold or the pooled one, whichever decides,
        with its p-value adjusted for all comparisons.
        """
        level = self.settings.level
        by_fold = comparison.by_fold
        differences = comparison.differences
        row: Row = {
            "first": self.evaluated_system,
            "second": comparison.second,
            "folds": differences.size,
        }
        row |= limits(by_fold.difference, "by_fold") | {"p": by_fold.p_value, "p_naive": np.nan}
        if differences.size > 1:
            # the t-test that takes folds as independent, one- or two-sided as the corrected one is
            naive = paired_t(differences).answering(by_fold.alternative, level=level)
            row["p_naive"] = naive.p_value
        row |= with_limits({"pooled": comparison.pooled.difference})
        # of few rows the pooled test is not valid, see FEW_POOLED_ROWS
        row["p_pooled"] = np.nan if self.pools_few_rows else comparison.pooled.p_value
        row["adjusted"] = deciding.adjusted
        direction = self.primary_metric.metric.sign
        row["verdict"] = verdict(deciding, margin=self.settings.margin, direction=direction)
        return row | {"method": deciding.method, "n": deciding.difference.n, "unit": deciding.unit}

    @property
    def mean_of_folds(self) -> dict[str, float]:
        """The mean over the folds of each metric of the subject, and on_train and gap where models
        were fitted.
        """
        folds = self.by_fold[self.by_fold["system"] == self.evaluated_system]
        if self.gap is not None:
            folds = folds.assign(gap=self.gap)
        return {str(name): float(folds[name].mean()) for name in folds.select_dtypes("number")}

    @property
    def value_reversed_by_one_out(self) -> float | None:
        """The share of rows that leave-one-out predicts correctly, if it is so low that an artefact
        explains it: at most half of the baseline's. None if it is larger, or was not computed.

        With balanced classes, the row that is left out makes its class the smaller one in the
        training rows. Without information in the features, a model predicts the larger class, and
        so is wrong on every row.
        """
        metric = self.primary_metric.metric
        is_share_of_right_decisions = (
            metric.kind.mean_over_rows and metric.kind.uses_decisions and metric.best == "high"
        )
        if self.other_splits is None or not is_share_of_right_decisions:
            return None
        right_decisions = self.measure(
            self.primary_metric, self.baseline
        ).hits()  # and their trials, n
        if right_decisions.n != self.rows.size:  # a share of some rows only, such as sensitivity
            return None
        # the mean value by way of splitting the rows; leave-one-out is one of the ways
        mean_by_way = self.other_splits.summary.set_index("way")["mean"]
        value = float(mean_by_way.get(ONE_OUT, np.nan))  # NaN: not computed; it fails the test
        if value <= self.estimate(self.primary_metric, self.baseline).value / 2:
            return value
        return None

    # The map

    @property
    def axis(self) -> str:
        """The axis of the map of folds: time, group or row."""
        if self.examples.time is not None:
            return "time"
        return "row" if self.examples.group is None else "group"

    @property
    def rows_of_first_repeat(self) -> Ints:
        """The indices of the rows of the first repeat; of all rows if folds are not repeated."""
        repeat = self.examples.repeat
        return np.arange(len(self.examples)) if repeat is None else np.flatnonzero(repeat.code == 0)

    def stretches(self, bins: int) -> pd.DataFrame:
        """The map of folds along time, groups or rows (`axis`): where each fold trains and where it
        tests, as rows of fold, kind (training, test or both), start, width. If folds are repeated,
        the map has the folds and the rows of the first repeat only.

        bins: the largest number of parts of the axis.
        """
        examples = self.examples
        split = self.split
        # the position of each row of the table on the axis
        place = resplits.places(len(examples), examples.time, examples.group_number, split.tests)
        map_rows = self.rows_of_first_repeat  # by their numbers in the table, ascending

        def among_map_rows(rows: Ints) -> Ints:
            """The numbers among the rows of the map of those given by their numbers in the table;
            rows that the map does not have are left out.
            """
            return np.searchsorted(map_rows, np.intersect1d(rows, map_rows))

        folds = []
        for label, test, number in zip(split.labels, split.tests, self._fold_numbers, strict=True):
            train = self.rows[:0]  # none for the first block of time, whose number is None
            if number is not None:
                train, _ = self.folds.pairs[number]
            tested = among_map_rows(test)
            if tested.size:  # a fold of another repeat tests no row of the map
                folds.append(resplits.FoldRows(label, tested, among_map_rows(train)))
        return resplits.stretches(place[map_rows], folds, bins, axis=self.axis)

    # What leaks

    @property
    def selection_sizes(self) -> SelectionSizes:
        """How many columns were selected, and from how many."""
        assert self.examples.features is not None
        assert self.examples.candidates is not None
        return SelectionSizes(self.examples.features.shape[1], self.examples.candidates.shape[1])

    def examples_of(self, finding: Finding, max_rows: int) -> list[str]:
        """The first `max_rows` rows of a finding, by id; by number, as "row 3", if rows have no
        ids.
        """
        rows = np.array(finding.rows[:max_rows], np.int64)
        names = self.examples.named(rows).tolist()
        if self.examples.id is None:
            return [f"row {name}" for name in names]
        return [str(name) for name in names]

    @frame
    def selection(self) -> Iterator[Row]:
        """Whether selecting columns on all rows, test rows included, makes the primary metric look
        better: the subject with three selections of equally many columns, as a frame with a row for
        each. These are the user's selection, a new one on all rows (SELECTED_ON_ALL_ROWS), and a
        new one on the training rows of each fold (SELECTED_IN_FOLDS). No rows if the user selected
        no columns.

        Columns: columns (the selection; the subject's name for the user's) and the fields of the
        `Estimate`. The first two rows are also compared with the third: difference (row −
        SELECTED_IN_FOLDS) with _low and _high, adjusted (p, by Holm), test, verdict.
        """
        if SELECTED_IN_FOLDS not in self.scored:
            return
        # the subject has the columns that the user selected
        names = [
            self.evaluated_system,
            SELECTED_ON_ALL_ROWS,
        ]
        tests = [
            self.two_sided.compare_pooled(self.primary_metric, (name, SELECTED_IN_FOLDS))
            for name in names
        ]
        for name, test in zip(names, adjust(tests, holm), strict=True):
            row = {"columns": name} | vars(self.estimate(self.primary_metric, name))
            row |= with_limits({"difference": test.difference})
            row |= {"adjusted": test.adjusted, "test": test.method}
            yield row | {"verdict": verdict(test, direction=self.primary_metric.metric.sign)}
        yield {"columns": SELECTED_IN_FOLDS} | vars(
            self.estimate(self.primary_metric, SELECTED_IN_FOLDS)
        )

    def _selection_findings(self) -> list[Finding]:
        """The finding that columns were selected outside the folds; none if the user selected no
        columns. It is severe if both selections outside the folds, the user's and the one on all
        rows, are significantly better than the selection in each fold.
        """
        if not len(self.selection):
            return []
        by_user, on_all_rows, inside = self.selection.to_dict("records")
        severity = NOTE
        # both verdicts compare with the selection in each fold
        if by_user["verdict"] == on_all_rows["verdict"] == "better":
            severity = SEVERE
        sizes = self.selection_sizes
        finding = kinds.SELECTED_OUTSIDE.finding_with_severity(
            severity,
            self.rows.size,
            kept=sizes.selected,
            of=sizes.candidates,
            metric=self.primary_metric.label,
            given=by_user["value"],
            inside=inside["value"],
        )
        return [finding]

    @cached_property
    def audit_findings(self) -> tuple[Finding, ...]:
        """All findings, severe ones first: of the audit of folds and columns for leaks, about the
        scores of each system, about the selection of columns, and about the folds as a whole.
        """
        examples = self.examples
        label = examples.names  # classes as the input names them
        if examples.features is None:  # without features the input has classes 0 and 1, or numbers
            label = examples.label
        ids = None
        if examples.id is not None:
            ids = examples.id.code
        audit = leakage.audit(
            self.folds,
            label=label,
            features=examples.features,
            group=examples.group_number,
            time=examples.time,
            ids=ids,
            rng=self.rng(AUDIT_DRAWS),
        )
        findings = list(audit)
        for name in self.systems:
            if name != self.baseline:
                findings += self._score_findings(name)
        about_all_rows = self._selection_findings()
        n = self.rows.size
        if self.folds_differ:
            metric = self.primary_metric.label
            about_all_rows.append(
                kinds.UNLIKE_FOLDS.warning(
                    n, metric=metric, subject=self.evaluated_system, **self.heterogeneity
                )
            )
        n_distinct = self.distinct  # tested rows, of which each id counts once
        if n_distinct < FEW:
            rows = f"{n_distinct} {plural(self.row_name, n_distinct)}"
            about_all_rows.append(kinds.FEW_TESTED.warning(n, rows=rows))
        # `of`: the number of rows that were checked, here all tested ones
        findings += [replace(finding, of=n) for finding in about_all_rows]
        return ordered(findings)

    def _score_findings(self, system: str) -> list[Finding]:
        """Findings about the scores of a system for two classes: different scales in the folds, or
        scores that give the label away. Each message begins with the system. Empty for several
        classes, and without scores.
        """
        pooled = self.pooled[system]
        if pooled.score is None or len(self.examples.classes) != 2:
            return []
        # each check gives a finding, or None if there is nothing to report
        scale = leakage.score_scale([fold.member for fold in self.tests], pooled.score)
        if scale is not None and system != self.evaluated_system and self.pools_few_rows:
            # Few pooled rows: systems are compared with the subject by the mean of folds, which
            # different scales do not affect.
            scale = replace(scale, severity=NOTE)
        findings = [scale]
        if not self.fits_estimators:  # scores that were read may be a copy of the label
            findings.append(leakage.gives_away(pooled.counts))
        findings_of_system = []
        for finding in findings:
            if finding is not None:
                # from the places of the rows among the tested ones to their numbers in the table
                rows = tuple(self.rows[list(finding.rows)].tolist())
                message = f"{system}: {finding.message}"
                findings_of_system.append(replace(finding, message=message, rows=rows))
        return findings_of_system

    # The verdict

    @cached_property
    def checks(self) -> tuple[AuditCheck, ...]:
        """Every check that applies to this kind of label and folds, with what is missing if it
        could not be run.

        The check for copies does not count if features are so coarse that equal rows are common by
        coincidence.
        """
        classes = self.examples.classes
        # what a check that needs this column lacks, "" if the input has the column
        lacks = {column: f"no {column}" for column in OPTIONAL_COLUMNS}
        lacks |= dict.fromkeys(self.known_columns, "")
        coarse = ""
        if any(finding.kind is kinds.COARSE for finding in self.audit_findings):
            coarse = TOO_COARSE
        unselected = UNSELECTED if lacks["candidates"] else ""
        checks = [
            AuditCheck(kinds.TESTED_AGAIN),
            AuditCheck(kinds.FOLD_SIZES),
            AuditCheck(kinds.FEW_TESTED),
        ]
        if not self.holdout:
            checks.append(AuditCheck(kinds.UNLIKE_FOLDS))
        if classes:
            checks.append(AuditCheck(kinds.BASE_RATE))
        if len(classes) == 2 and not self.holdout:
            checks.append(AuditCheck(kinds.SCORE_SCALE))
        if len(classes) == 2 and not self.fits_estimators:
            checks.append(AuditCheck(kinds.SCORE_IS_LABEL))
        checks += [
            AuditCheck(kinds.ID_BOTH, lacks["id"]),
            AuditCheck(kinds.GROUP_BOTH, lacks["group"]),
            AuditCheck(kinds.TIME_TRAVEL, lacks["time"]),
            AuditCheck(kinds.DUPLICATES, lacks["features"] or coarse),
        ]
        checks += [AuditCheck(kind, lacks["features"]) for kind in FEATURE_KINDS]
        if classes:
            checks.append(AuditCheck(kinds.CONFLICTING_LABELS, lacks["features"]))
        checks.append(AuditCheck(kinds.SELECTED_OUTSIDE, lacks["features"] or unselected))
        return tuple(checks)

    @property
    def checks_run(self) -> list[AuditCheck]:
        """The checks that could be run."""
        return [check for check in self.checks if not check.lacks]

    @property
    def missing_checks(self) -> list[str]:
        """The checks that could not be run, as texts with the reason, such as "CHECK, CHECK (no
        features)". Successive checks with the same reason share a text.
        """
        skipped = [check for check in self.checks if check.lacks]
        texts = []
        for lacks, checks in groupby(skipped, key=lambda check: check.lacks):
            names = ", ".join(check.kind.name for check in checks)
            texts.append(f"{names} ({lacks})")
        return texts

    @property
    def unchecked_leaks(self) -> list[str]:
        """The names of the checks for the usual leaks (groups, time and copies of rows) that could
        not be run.

        Copies can be found by ids or by equal features; either is enough. But if features are so
        coarse that rows are equal by coincidence, copies count as unchecked even with ids.
        """
        lacks = {check.kind: check.lacks for check in self.checks}
        unchecked = [kind for kind in (kinds.GROUP_BOTH, kinds.TIME_TRAVEL) if lacks[kind]]
        lacks_for_features = lacks[kinds.DUPLICATES]
        lacks_for_ids = lacks[kinds.ID_BOTH]
        is_too_coarse = lacks_for_features == TOO_COARSE
        if is_too_coarse or (lacks_for_features and lacks_for_ids):
            unchecked.append(kinds.DUPLICATES)
        return [kind.name for kind in unchecked]

    @property
    def word(self) -> str:
        """The verdict: fail if a finding is severe; pass if no finding warns and groups, time and
        copies were checked.

        Otherwise cannot tell, because problems may exist in what was not checked.
        """
        severities = {finding.severity for finding in self.audit_findings}
        if SEVERE in severities:
            return "fail"
        if WARNING in severities or self.unchecked_leaks:
            return "cannot tell"
        return "pass"


def _within_range(estimate: Estimate, chosen: MetricAtK) -> Estimate:
    """The estimate with its limits cut to the values that a metric can have."""
    if not np.isfinite(estimate.low):
        return estimate
    lowest, highest = chosen.metric.ends
    return inference.cut_to_range(estimate, lowest, highest)
