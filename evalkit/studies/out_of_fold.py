"""The validation study: out-of-fold metrics with intervals, the folds, checks for leakage, and the
verdict.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, groupby
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, Ints, ratio
from evalkit.catalogue.kinds import Loss
from evalkit.catalogue.lookup import MetricAtK
from evalkit.drawing.shown import Shown
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, SEVERE, WARNING, Finding, Kind, ordered
from evalkit.metrics.rows import Rows
from evalkit.numbers import plural
from evalkit.offline import leakage
from evalkit.offline.splits import ONE_OUT, Folds
from evalkit.reading.inputs.folds import Examples
from evalkit.reading.tables.table import Slice
from evalkit.statistics import inference, statistic
from evalkit.statistics.intervals import Estimate, mean_t, mover
from evalkit.statistics.methods import detectable_by_width
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
from evalkit.studies.study import EVERY, Member, Row, Study, SystemPair, frame, limits, with_limits
from evalkit.studies.units import UnitNames, Units
from evalkit.system import progress

FEW = 50  # rows tested, below which no interval is worth much
UNLIKE = 0.001  # folds differ by more than this chance
# rows tested, below which what is pooled depends on the folds' models more than its test knows
FEW_POOLED = 1000
# what is claimed: of the fitted models, on other rows; of models fitted to other rows
MODELS = "this model"
LEARNER = "such a learner"
POOLED = "pooled out of fold"
HELD_OUT = "on the test rows"
REPEATED = "pooled out of fold, ids with all their repeats"
CORRECTED = "mean of folds, Nadeau–Bengio"
HALVED = "mean of holdouts, Nadeau–Bengio conservative"
NAIVE = "mean of folds, t as if folds were a sample"
BY_ROW = "pooled, as if rows of a group were a sample"
BY_REPEAT = "pooled, as if each repeat of an id were another row"
OUTSIDE = "selected anew, on all rows"
INSIDE = "selected anew, in each fold"


TOO_COARSE = "features too coarse"
UNSELECTED = "selected not set"
# of the examples, which may be there
SIDES = (
    "id",
    "group",
    "time",
    "fold",
    "features",
    "candidates",
)


@dataclass(frozen=True)
class Check:
    """A check of the audit: the kind of its findings. lacks: what was missing to run it, empty if
    it was run.
    """

    kind: Kind
    lacks: str = ""


OF_FEATURES = (
    kinds.NEAR_DUPLICATES,
    kinds.DRIFT,
    kinds.UNSEEN_CATEGORY,
    kinds.ID_LIKE,
    kinds.SINGLE_FEATURE,
)


@dataclass(frozen=True, eq=False, repr=False)
class Validation(Shown, Study):
    """The study of out-of-fold predictions, or of estimators that evalkit fits.

    described: the estimators that are fitted, empty for predictions. threshold: the score from
    which a row of the input is predicted as class 1. split: the folds. scored: system -> its
    out-of-fold rows, aligned with `rows`. trained: system -> its predictions on the training rows
    of each fold, if there are any. refit: makes the fits on other splits. If features were
    selected, scored also has the system with a new selection on all rows (OUTSIDE) and in each fold
    (INSIDE).
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
    def fitted(self) -> bool:
        """True if estimators are fitted here."""
        return bool(self.described)

    @cached_property
    def other(self) -> resplits.Resplits | None:
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
        one_column = not (self.fitted or self.holdout or self.examples.ids_again)
        return self.split.in_time(time) if one_column and time is not None else self.split

    @property
    def known(self) -> frozenset[str]:
        """Which of id, group, time, fold, features and candidates (columns to select from) the
        input has.
        """
        return frozenset(name for name in SIDES if getattr(self.examples, name) is not None)

    @property
    def folds_per_repeat(self) -> int | None:
        """How many folds each repeat has; None if repeats have unlike numbers of folds."""
        folds, rest = divmod(len(self.tests), self.examples.repeats)
        return None if rest else folds

    @cached_property
    def distinct(self) -> int:
        """The number of rows that a fold tests; each id counts once, however often the folds were
        drawn.
        """
        e = self.examples
        if not e.ids_again or e.id is None:
            return self.rows.size
        return len(np.unique(e.id.code[self.rows]))

    def corrected(self, values: Floats, level: float) -> Comparison:
        """The mean of one value per fold by Nadeau and Bengio's t, with the mean numbers of
        training and test rows.
        """
        train, test = (float(side.mean()) for side in self.folds.sizes)
        return nadeau_bengio(values, train=train, test=test, level=level)

    @cached_property
    def _pairs(self) -> list[int | None]:
        """Which pair of `folds` has each of the test sides; None of the first of blocks in time,
        which none trains.
        """
        by_first = {int(test[0]): pair for pair, test in enumerate(self.folds.tests)}
        return [by_first.get(int(test[0])) for test in self.split.tests]

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
        return HELD_OUT if self.holdout else REPEATED if self.examples.ids_again else POOLED

    @property
    def row_name(self) -> str:
        """The noun for what `distinct` counts: ids if rows are repeated, else rows."""
        return "id" if self.examples.ids_again else "row"

    @property
    def baseline(self) -> str:
        """The system that uses no feature."""
        return self.systems[-1]

    @property
    def subject(self) -> str:
        """The estimator that is evaluated; with predictions the best system by the primary
        metric.
        """
        if self.fitted:
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
        self, chosen: MetricAtK, system: str, member: Member | Ints = EVERY
    ) -> statistic.RowStatistic:
        """The metric of a system's out-of-fold rows."""
        rows = self.pooled[system]
        return statistic.RowStatistic(chosen, rows if member is EVERY else rows.take(member))  # type: ignore[arg-type]

    def deciding_estimate(self, chosen: MetricAtK, system: str, member: Member = EVERY) -> Estimate:
        """The metric with the interval that decides: of the mean of the folds if few rows are
        pooled, else of the pooled rows.

        It is of the pooled rows too if fewer than two folds define the metric. Its limits are NaN
        if all folds have one value, as no t exists then.
        """
        pooled = self.estimate(chosen, system, member)
        if not self.few_pooled or member is not EVERY:
            return pooled
        values = self.fold_values(system, chosen)
        known = values[~np.isnan(values)]
        if known.size < 2:
            return pooled
        e = self.corrected(known, self.interval_level).difference
        return inference.within(e, *chosen.metric.ends) if np.isfinite(e.low) else e

    def interval(self, chosen: MetricAtK, rows: Rows) -> Estimate:
        """The metric of these rows with its interval, clustered by unit if they have units."""
        return inference.estimate(statistic.RowStatistic(chosen, rows), self.inference_options(1))

    @property
    def rows_without_value(self) -> dict[MetricAtK, dict[str, int]]:
        """The number of rows that each metric leaves out of each system's mean; only metrics that
        leave any out.
        """
        every = {
            chosen: {
                name: chosen.metric.kind.rows_without_value(self.scored[name], chosen.k)
                for name in self.systems
            }
            for chosen in self.settings.metrics
            if isinstance(chosen.metric.kind, Loss)
        }
        return {chosen: by_system for chosen, by_system in every.items() if any(by_system.values())}

    def units_held(self) -> Units:
        """The tested rows, by id or else by number, each with its fold."""
        e = self.examples
        listed = UnitNames.with_slices(
            e.named(self.rows), None if e.unit is None else e.units_named(self.rows), self.tests
        )
        labels = e.classes if len(e.classes) > 2 else ()
        rows = {name: self.scored[name] for name in self.systems}
        blocks = units.of_rows(rows, self.settings.metrics, listed, labels)
        return Units(self.rows.size, blocks, ("fold",), labels, e.id is not None)

    # Fold by fold

    @frame
    def by_fold(self) -> Iterator[Row]:
        """One row per system and fold: training and test rows, the label's mean or share of class
        1, every metric.
        """
        train = self.folds.sizes[0]
        done = count()
        with progress("scores by fold", len(self.systems) * len(self.tests), "folds") as draw:
            for name in self.systems:
                for i, fold in enumerate(self.tests):
                    draw(next(done))
                    own = self.scored[name].take(fold.member)
                    trained = 0 if (pair := self._pairs[i]) is None else int(train[pair])
                    row: Row = {
                        "system": name,
                        "fold": fold.label,
                        "train": trained,
                        "test": len(own),
                    }
                    row["label"] = (
                        float(own.actual.mean()) if len(self.examples.classes) <= 2 else np.nan
                    )
                    row |= {chosen.label: chosen.value(own) for chosen in self.settings.metrics}
                    sides = self.trained.get(name)
                    yield row | ({"on_train": self.primary.value(sides[i])} if sides else {})

    @cached_property
    def gap(self) -> Floats | None:
        """By how much the subject's primary metric is better on each fold's training rows; None
        without fits.
        """
        rows = self.by_fold[self.by_fold["system"] == self.subject]
        if "on_train" not in rows:
            return None
        return self.primary.metric.sign * (rows["on_train"] - rows[self.primary.label]).to_numpy(
            float
        )

    @cached_property
    def training_gap(self) -> Estimate | None:
        """The subject's primary metric on the training rows of a holdout minus on its test rows;
        None for folds.

        The interval joins those of the two values, whose rows are independent (MOVER).
        """
        if not (self.holdout and self.trained):
            return None
        side = self.trained[self.subject][0]
        group = self.examples.group_number
        unit = None if group is None else group[self.folds.pairs[0][0]]
        return mover(
            self.interval(self.primary, replace(side, unit=unit)),
            self.estimate(self.primary, self.subject),
        )

    def fold_values(self, system: str, chosen: MetricAtK | None = None) -> Floats:
        """A metric on each fold; by default the primary one."""
        return self.by_fold[self.by_fold["system"] == system][
            (chosen or self.primary).label
        ].to_numpy(float)

    def fold_range(self, system: str) -> tuple[float, float]:
        """The lowest and the highest value of the primary metric on a fold."""
        values = self.fold_values(system)
        return float(np.nanmin(values)), float(np.nanmax(values))

    def optimism(self, blind: Estimate) -> float:
        """By how much a split that ignores the groups overestimates the subject."""
        return blind.value - self.estimate(self.primary, self.subject).value

    @cached_property
    def unlike(self) -> dict[str, float]:
        """Cochran's Q of the subject's primary metric between the folds: Q, degrees of freedom, p.

        If the folds are repeated, only the first repeat counts, because the others hold the same
        ids. The variance of a fold is pooled over all folds and scaled by its size: a fold's own
        variance is correlated with its value, which would make Q too large. If the variances are
        not those of a mean over rows, p is that of Welch's F, which allows for their uncertainty;
        doi:10.1093/biomet/38.3-4.330.
        """
        of = self.primary.base  # a transformed metric has the test of its original
        means = self.settings.unit is None and of.metric.kind.mean_over_rows
        values, moved = [], []  # by fold; moved: of each by group, of a mean of rows all as one
        for fold in self.folds_of_first_repeat:
            part = self.measure(of, self.subject, fold.member)
            if np.isfinite(part.value):
                values.append(part.value)
                moved.append(
                    [part.sums.take(part.sums.size > 0).per_unit]
                    if means
                    else part.influence_by_group()
                )
        value = np.array(values)
        units = np.inf
        if not values:
            precise = value
        elif means:
            precise = ratio(
                [rows.size for (rows,) in moved],
                np.concatenate([rows for (rows,) in moved]).var(ddof=1),
            )
        else:
            variance, units = statistic.pooled_variances(moved)
            precise = ratio(1.0, variance)
        known = np.isfinite(precise)
        return cochran(value[known], precise[known], np.full(int(known.sum()), units))

    @property
    def folds_differ(self) -> bool:
        """True if the folds differ by clearly more than chance."""
        return self.unlike["p"] < UNLIKE

    @frame
    def intervals(self) -> Iterator[Row]:
        """The subject's primary metric with honest and naive intervals: what, honest, unit and an
        `Estimate`.
        """
        values = self.fold_values(self.subject) if self.other is None else self.other.folds
        values = values[~np.isnan(values)]
        yield self.of_rows
        if values.size > 1:
            by_fold = self.corrected(values, self.interval_level).difference
            yield self._row(CORRECTED, by_fold, "fold", honest=True)
        if self.other is not None and self.other.nested is not None:
            nested = self.other.nested.estimate(self.interval_level)
            yield self._row(resplits.NESTED, nested, "row", honest=True)
        if self.other is not None and self.other.halves[0].size:
            holdouts = self.other.holdouts[~np.isnan(self.other.holdouts)]
            z = conservative_z(
                holdouts, *self.other.halves, n=len(self.examples), level=self.interval_level
            )
            yield self._row(HALVED, z, "row", honest=True)
        if values.size > 1:
            yield self._row(NAIVE, mean_t(values, level=self.settings.level), "fold", honest=False)
        if self.settings.unit:
            what = BY_ROW if self.settings.unit == "group" else BY_REPEAT
            yield self._row(
                what, self.interval(self.primary, self.scored[self.subject]), "row", honest=False
            )

    @cached_property
    def of_rows(self) -> dict[str, Any]:
        """The first of `intervals` over rows or units, which needs no other splits.

        If folds are of different kinds, or a fold's model scores few rows, the variation between
        folds counts, not that of the rows within them.
        """
        pooled = self.estimate(self.primary, self.subject)
        by_fold = self.folds_differ or self.few_pooled
        return self._row(self.measured_on, pooled, self.unit_name, honest=not by_fold)

    @property
    def few_pooled(self) -> bool:
        """True if so few rows are pooled over several models that the interval must be over folds,
        not over rows.
        """
        return not self.holdout and self.distinct < FEW_POOLED

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
        of_row = repeat.code[self.rows]
        return [fold for fold in self.tests if of_row[fold.member[0]] == 0]

    @property
    def label_range(self) -> tuple[float, float, float]:
        """The lowest and the highest label, and the mean, if labels are numbers."""
        label = self.examples.label
        return float(label.min()), float(label.max()), float(label.mean())

    @property
    def class_counts(self) -> list[int]:
        """The number of rows of each class."""
        return [*map(int, np.bincount(self.examples.label))]

    @property
    def times_of_ids(self) -> tuple[int, int]:
        """The smallest and the largest number of rows of an id."""
        e = self.examples
        times = np.ones(1, np.int64) if e.id is None else np.bincount(e.id.code)
        return int(times.min()), int(times.max())

    @property
    def pooled_of_folds(self) -> bool:
        """True if rows are pooled over several models and too few for tests on pooled rows to be
        valid anyway.
        """
        return not self.holdout and self.distinct < 10 * FEW_POOLED

    def _row(self, what: str, e: Estimate, unit: str, *, honest: bool) -> dict[str, Any]:
        low, high = self.primary.metric.low, self.primary.metric.high
        cut = inference.within(e, low, high) if np.isfinite(e.low) else e
        claim = LEARNER if what in (CORRECTED, resplits.NESTED, HALVED, NAIVE) else MODELS
        return {"what": what, "claim": claim, "unit": unit, "honest": honest} | vars(cut)

    @property
    def answer(self) -> Mapping[str, Any]:
        """The first honest interval of `intervals`."""
        if self.of_rows["honest"]:
            return self.of_rows
        honest = self.intervals[self.intervals["honest"]]
        return (honest if len(honest) else self.intervals).iloc[0].to_dict()

    def decides(self, system: str) -> str:
        """What a system's interval that decides is of, as text."""
        if system == self.subject:
            return str(self.answer["what"])
        e = self.deciding_estimate(self.primary, system)
        return CORRECTED if e.method == CORRECTED_T else self.measured_on

    def compare(self, chosen: MetricAtK, pair: SystemPair, member: Member = EVERY) -> Comparison:
        """first − second on the pooled rows, or by fold if there are few."""
        by_fold = self.few_pooled and member is EVERY
        if by_fold:
            return self.compare_folds(chosen, pair)
        return super().compare(chosen, pair, member)

    def detectable(
        self,
        chosen: MetricAtK,
        pair: SystemPair,
        comparison: Comparison,
        level: float,
        member: Member = EVERY,
    ) -> float:
        """The smallest true difference that the test detects; by fold from the limits alone."""
        if comparison.unit == "fold":
            return detectable_by_width(*self.compared(chosen, pair), comparison, level)
        return super().detectable(chosen, pair, comparison, level, member)

    def compare_pooled(self, chosen: MetricAtK, pair: SystemPair) -> Comparison:
        """first − second on the pooled rows, which takes the folds' models as fixed."""
        return super().compare(chosen, pair)

    def compare_folds(self, chosen: MetricAtK, pair: SystemPair) -> Comparison:
        """The mean of first − second over the folds where both are defined, by Nadeau and Bengio's
        corrected t.
        """
        first, second = (self.fold_values(name, chosen) for name in pair)
        apart = (first - second)[~np.isnan(first - second)]
        if not apart.size:
            return inference.undefined(self.settings.level, "fold")
        widest = chosen.metric.high - chosen.metric.low

        def by_fold(level: float) -> Comparison:
            """The test by fold, its limits within the possible differences."""
            return inference.within_range(self.corrected(apart, level), widest)

        return self.asked_comparison(by_fold)

    @frame
    def paired(self) -> Iterator[Row]:
        """The subject against each other system on the same folds: by fold, corrected and naive,
        and pooled.

        Only the comparison with the baseline can be one-sided: its value chooses the subject among
        the others.
        adjusted, verdict, method, n, unit: those of the deciding comparison, which is by fold if
        few rows are pooled.
        """
        apart = {
            name: self.fold_values(self.subject) - self.fold_values(name) for name in self.systems
        }
        apart = {name: d[~np.isnan(d)] for name, d in apart.items() if name != self.subject}
        others = [name for name, d in apart.items() if d.size]
        two_sided = self.two_sided
        questions = [self if name == self.baseline else two_sided for name in others]
        pooled = []
        by_fold = []
        for name, study in zip(others, questions, strict=True):
            pair = (self.subject, name)
            pooled.append(study.compare_pooled(self.primary, pair))
            by_fold.append(study.compare_folds(self.primary, pair))
        deciding = adjust(by_fold if self.few_pooled else pooled, holm)
        for name, nb, c, decides in zip(others, by_fold, pooled, deciding, strict=True):
            d = apart[name]
            row: Row = {"first": self.subject, "second": name, "folds": d.size} | limits(
                nb.difference, "by_fold"
            )
            naive = paired_t(d).answering(nb.alternative, level=self.settings.level)
            row |= {"p": nb.p_value, "p_naive": naive.p_value if d.size > 1 else np.nan}
            row |= with_limits({"pooled": c.difference})
            word = verdict(decides, margin=self.settings.margin, direction=self.primary.metric.sign)
            row |= {
                "p_pooled": np.nan if self.few_pooled else c.p_value,
                "adjusted": decides.adjusted,
                "verdict": word,
            }
            yield row | {"method": decides.method, "n": decides.difference.n, "unit": decides.unit}

    @property
    def mean_of_folds(self) -> dict[str, float]:
        """The mean over the folds of each metric of the subject, and on_train and gap where models
        were fitted.
        """
        own = self.by_fold[self.by_fold["system"] == self.subject]
        own = own if self.gap is None else own.assign(gap=self.gap)
        return {str(name): float(own[name].mean()) for name in own.select_dtypes("number")}

    @property
    def reversed_by_one_out(self) -> float | None:
        """The share of correct rows in leave-one-out, if it is far below that of the larger
        class.
        """
        kind, metric = self.primary.metric.kind, self.primary.metric
        if self.other is None or not (
            kind.mean_over_rows and kind.uses_decisions and metric.best == "high"
        ):
            return None
        if self.measure(self.primary, self.baseline).hits()[1] != self.rows.size:
            return None
        value = float(self.other.summary.set_index("way")["mean"].get(ONE_OUT, np.nan))
        return value if value <= self.estimate(self.primary, self.baseline).value / 2 else None

    # The map

    @property
    def axis(self) -> str:
        """The axis of the map of folds: time, group or row."""
        return (
            "time"
            if self.examples.time is not None
            else "row"
            if self.examples.group is None
            else "group"
        )

    @property
    def rows_of_first_repeat(self) -> Ints:
        """The indices of the rows of the first repeat; of all rows if folds are not repeated."""
        repeat = self.examples.repeat
        return np.arange(len(self.examples)) if repeat is None else np.flatnonzero(repeat.code == 0)

    def stretches(self, bins: int) -> pd.DataFrame:
        """Neighbouring parts of the axis with the same role in a fold, at most `bins`: fold, kind,
        start, width. Of repeated folds those of the first repeat, along its rows.
        """
        e, split = self.examples, self.split
        place = resplits.places(len(e), e.time, e.group_number, split.tests)
        drawn = self.rows_of_first_repeat
        sides = []
        for label, test, pair in zip(split.labels, split.tests, self._pairs, strict=True):
            train = self.rows[:0] if pair is None else self.folds.pairs[pair][0]
            tested = np.searchsorted(drawn, np.intersect1d(test, drawn))
            trained = np.searchsorted(drawn, np.intersect1d(train, drawn))
            if tested.size:
                sides.append(resplits.FoldRows(label, tested, trained))
        return resplits.stretches(place[drawn], sides, bins, axis=self.axis)

    # What leaks

    @property
    def selected(self) -> tuple[int, int]:
        """The selected columns, and the number of columns to select from."""
        assert self.examples.features is not None
        assert self.examples.candidates is not None
        return self.examples.features.shape[1], self.examples.candidates.shape[1]

    def examples_of(self, finding: Finding, most: int) -> list[str]:
        """The first rows of a finding, by id or number."""
        names = self.examples.named(np.array(finding.rows[:most], np.int64)).tolist()
        return [f"row {name}" if self.examples.id is None else str(name) for name in names]

    @frame
    def selection(self) -> Iterator[Row]:
        """The subject with its given columns, and with as many columns selected anew on all rows
        and in each fold.

        Each `Estimate` comes with its excess over INSIDE, p adjusted by Holm and the verdict. Empty
        without a selection.
        """
        if INSIDE not in self.scored:
            return
        names = [self.subject, OUTSIDE]
        adjusted = adjust(
            [self.two_sided.compare_pooled(self.primary, (name, INSIDE)) for name in names], holm
        )
        for name, c in zip([*names, INSIDE], [*adjusted, None], strict=True):
            row = {"columns": name} | vars(self.estimate(self.primary, name))
            if c is not None:
                row |= with_limits({"difference": c.difference}) | {
                    "adjusted": c.adjusted,
                    "test": c.method,
                }
                row |= {"verdict": verdict(c, direction=self.primary.metric.sign)}
            yield row

    def _of_selection(self) -> list[Finding]:
        """Severe where the columns as given, and those selected on all rows, do clearly better than
        selected inside.
        """
        if not len(self.selection):
            return []
        as_read, _, inside = self.selection["value"]
        kept, of = self.selected
        clear = (self.selection["verdict"][:2] == "better").all()
        return [
            kinds.SELECTED_OUTSIDE.rated(
                SEVERE if clear else NOTE,
                self.rows.size,
                kept=kept,
                of=of,
                metric=self.primary.label,
                given=as_read,
                inside=inside,
            )
        ]

    @cached_property
    def audited(self) -> tuple[Finding, ...]:
        """All findings of the audit and of the folds' scores, severe ones first."""
        e = self.examples
        # two classes or a number, which need no names
        target = e.label if e.features is None else e.names
        ids = None if e.id is None else e.id.code
        columns = {
            "features": e.features,
            "label": target,
            "group": e.group_number,
            "time": e.time,
            "ids": ids,
        }
        listed = list(leakage.audit(self.folds, rng=self.rng(5), **columns))  # type: ignore[arg-type]
        of_scores = [
            finding
            for name in self.systems
            if name != self.baseline
            for finding in self._of_scores(name)
        ]
        every, metric = self._of_selection(), self.primary.label  # of all rows that were tested
        if self.folds_differ:
            every.append(
                kinds.UNLIKE_FOLDS.warning(
                    self.rows.size, metric=metric, subject=self.subject, **self.unlike
                )
            )
        if (n := self.distinct) < FEW:
            every.append(
                kinds.FEW_TESTED.warning(self.rows.size, rows=f"{n} {plural(self.row_name, n)}")
            )
        return ordered(
            [*listed, *of_scores, *(replace(finding, of=self.rows.size) for finding in every)]
        )

    def _of_scores(self, name: str) -> list[Finding]:
        p = self.pooled[name]
        if p.score is None or len(self.examples.classes) != 2:
            return []
        scale = leakage.score_scale([fold.member for fold in self.tests], p.score)
        if scale and name != self.subject and self.few_pooled:
            scale = replace(scale, severity=NOTE)  # the mean of folds is compared, which it spares
        listed = [scale]
        if not self.fitted:
            listed.append(leakage.gives_away(p.counts))
        rows = [tuple(self.rows[list(finding.rows)].tolist()) for finding in listed if finding]
        found = zip(filter(None, listed), rows, strict=True)
        return [
            replace(finding, message=f"{name}: {finding.message}", rows=own)
            for finding, own in found
        ]

    # The verdict

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """Every check that applies to this kind of label and folds, with what is missing if it
        could not be run.

        The check for copies does not count if features are so coarse that equal rows are common by
        coincidence.
        """
        classes = self.examples.classes
        lacks = {name: "" if name in self.known else f"no {name}" for name in SIDES}
        coarse = TOO_COARSE if any(finding.kind is kinds.COARSE for finding in self.audited) else ""
        unselected = "" if "candidates" in self.known else UNSELECTED
        rows = [
            (kinds.TESTED_AGAIN, True, ""),
            (kinds.FOLD_SIZES, True, ""),
            (kinds.FEW_TESTED, True, ""),
            (kinds.UNLIKE_FOLDS, not self.holdout, ""),
            (kinds.BASE_RATE, bool(classes), ""),
            (kinds.SCORE_SCALE, len(classes) == 2 and not self.holdout, ""),
            (kinds.SCORE_IS_LABEL, len(classes) == 2 and not self.fitted, ""),
            (kinds.ID_BOTH, True, lacks["id"]),
            (kinds.GROUP_BOTH, True, lacks["group"]),
            (kinds.TIME_TRAVEL, True, lacks["time"]),
            (kinds.DUPLICATES, True, lacks["features"] or coarse),
            *((kind, True, lacks["features"]) for kind in OF_FEATURES),
            (kinds.CONFLICTING_LABELS, bool(classes), lacks["features"]),
            (kinds.SELECTED_OUTSIDE, True, lacks["features"] or unselected),
        ]
        return tuple(Check(kind, lacking) for kind, has_meaning, lacking in rows if has_meaning)

    @property
    def checks_run(self) -> list[Check]:
        """The checks that could be run."""
        return [check for check in self.checks if not check.lacks]

    @property
    def missing_checks(self) -> list[str]:
        """The checks that could not be run, grouped by what is missing."""
        skipped = groupby(
            (check for check in self.checks if check.lacks), key=lambda check: check.lacks
        )
        return [
            f"{', '.join(check.kind.name for check in some)} ({lacks})" for lacks, some in skipped
        ]

    @property
    def unseen(self) -> list[str]:
        """The usual leaks that could not be checked: groups, time, and copies (which need ids or
        features).
        """
        lacks = {check.kind: check.lacks for check in self.checks}
        copies = lacks[kinds.DUPLICATES]
        unseen = {kind: lacks[kind] for kind in (kinds.GROUP_BOTH, kinds.TIME_TRAVEL)}
        unseen[kinds.DUPLICATES] = copies if lacks[kinds.ID_BOTH] or copies == TOO_COARSE else ""
        return [kind.name for kind, reason in unseen.items() if reason]

    @property
    def word(self) -> str:
        """The verdict: fail if a finding is severe; pass if no finding warns and groups, time and
        copies were checked.

        Otherwise cannot tell, because problems may exist in what was not checked.
        """
        severities = {finding.severity for finding in self.audited}
        if SEVERE in severities:
            return "fail"
        return "cannot tell" if WARNING in severities or self.unseen else "pass"
