"""The study of several classes: one actual class per row, and predicted classes or scores by every
system.

A table that fits into memory is held row by row. A larger one is read twice in blocks: first to
count confusion cells and the scores of each class, then to add up the influence of the rows on
metrics such as AUC.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nlargest
from itertools import compress
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, Ints, ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import TermsKind
from evalkit.catalogue.metric import MeanOverClasses, MetricAtK
from evalkit.catalogue.tables import AVERAGE_PRECISION, F1, ROC_AUC, against_rest
from evalkit.limits import USUAL_LIMITS, Limits
from evalkit.measured.classes import SHARE, ClassesInMemory, SummedClasses
from evalkit.measured.readings import (
    ClassFirstReading,
    GroupMetric,
    MeanInfluence,
    RowSums,
    ScoreInfluence,
    SecondReading,
    class_rows,
)
from evalkit.measured.rows import TermAdder
from evalkit.metrics import calibration, counts, influence, labels
from evalkit.metrics.blocks import ALL_ROWS_GROUP, Block
from evalkit.metrics.rows import Rows
from evalkit.parameters.reports import ClassificationParameters
from evalkit.reading.inputs.outcomes import Outcomes, is_number
from evalkit.reading.reductions.scores import Predictions
from evalkit.statistics import bootstrap, class_cells, inference, intervals
from evalkit.statistics.methods import RandomStream
from evalkit.statistics.statistic import Statistic, layout_of
from evalkit.studies import row_study, score_curves
from evalkit.studies.reliability import FigureDetail, Reliability
from evalkit.studies.study import LowestRecall, Row, Settings, frame, limits, with_limits

MAX_SQUARES = 6  # classes that have a square each, or all a curve with a colour and a name
COLOURS_OF_MANY = 4  # curves with a colour where more classes are drawn; the others are grey
MAX_CURVES = 30  # curves that one picture can hold
SQUARE = FigureDetail(curve=300, band=60, pooled=512)  # of a square
HISTOGRAM_BINS = 20


@dataclass(frozen=True)
class ClassChoice:
    """The rule by which classes are chosen for a figure.

    words: how a caption names it. priority: a number of the table of a class against the rest;
    those with the largest are drawn.
    """

    words: str
    priority: Callable[[counts.Counts], float]


CALIBRATION = ClassChoice("largest miscalibration", calibration.miscalibration)
SIZE = ClassChoice("most rows", lambda table: float(table.positives))
WORST = ClassChoice("lowest average precision", lambda table: -counts.average_precision(table))


class NumberedTable(NamedTuple):
    """The table of a class or label against the rest, with its number and name."""

    number: int
    name: str
    counts: counts.Counts


def chosen_tables(
    names: Iterable[str],
    tables: Iterable[counts.Counts],
    choice: ClassChoice,
    max_tables: int = MAX_SQUARES,
) -> dict[str, counts.Counts]:
    """Class -> table of counts by score, for the `max_tables` classes with the highest priority by
    the rule `choice`, in the order of the names. A class that all rows have, or no row, is never
    chosen.

    names: all classes. tables: the table of each class against the rest, in the same order. As no
    more than `max_tables` tables are held, an iterator may make them one by one.
    """

    def candidates() -> Iterator[NumberedTable]:
        """The tables with both positive and negative rows; others have no curve."""
        for number, (name, table) in enumerate(zip(names, tables, strict=True)):
            if 0 < table.positives < table.total:
                yield NumberedTable(number, name, table)

    def priority(candidate: NumberedTable) -> float:
        """The priority of a table by the rule."""
        return choice.priority(candidate.counts)

    chosen = nlargest(max_tables, candidates(), key=priority)
    chosen.sort(key=lambda candidate: candidate.number)
    return {candidate.name: candidate.counts for candidate in chosen}


class CalibrationSummary(NamedTuple):
    """The decomposition of a Brier score, and the calibration slope."""

    decomposition: calibration.Decomposition
    slope: float


def calibration_summaries(tables: Mapping[str, counts.Counts]) -> dict[str, CalibrationSummary]:
    """How well the scores of each table are calibrated, by the table's name."""
    return {
        name: CalibrationSummary(calibration.decompose(table), calibration.slope(table))
        for name, table in tables.items()
    }


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ProblemStudy(row_study.RowStudy):
    """A study of several classes or labels, each of which may have scores of its own. A class or
    label against all others is a problem, by number in the order of `names`.

    noun: class or label. sides: how rows of a class are called, and all other rows. probabilities:
    True if all scores of every system lie in 0..1.
    """

    report: ClassVar[str] = "classification"
    listed_under: ClassVar[str] = "Row by row"
    noun: ClassVar[str]
    sides: ClassVar[tuple[str, str]]

    probabilities: bool

    @cached_property
    def sizes(self) -> Ints:
        """The number of rows of each class, or on which each label is true; shape (names,)."""
        sizes: Ints = self.measured.sizes()
        return sizes

    @property
    def rows_by_name(self) -> dict[str, int]:
        """The number of rows by the name of the class or label."""
        return dict(zip(self.names, self.sizes.tolist(), strict=True))

    # Tables of scores

    def problem_tables(self, system: str) -> Iterator[counts.Counts]:
        """The table of a system for each class or label against the rest, in the order of names."""
        for number in range(len(self.names)):
            yield self.measured.table(system, number)

    @cached_property
    def curve_tables(self) -> dict[str, counts.Counts]:
        """The leader's table of each class or label whose curve is drawn, by name."""
        return chosen_tables(self.names, self.problem_tables(self.leader), WORST, MAX_CURVES)

    @cached_property
    def coloured_classes(self) -> Sequence[str]:
        """The classes or labels whose curves have a colour and a name: all, or of many those that
        the leader separates worst.
        """
        tables = self.curve_tables
        max_coloured = MAX_SQUARES
        if len(tables) > MAX_SQUARES:
            max_coloured = COLOURS_OF_MANY
        return list(chosen_tables(tables.keys(), tables.values(), WORST, max_coloured))

    @property
    def uncoloured(self) -> int:
        """The number of classes or labels whose curves are drawn without a colour."""
        return len(self.curve_tables) - len(self.coloured_classes)

    @cached_property
    def class_tables(self) -> dict[str, counts.Counts]:
        """The leader's table of each class or label that has a square, by name."""
        return chosen_tables(self.names, self.problem_tables(self.leader), self.square_choice)

    def curve(self, kind: str, system: str) -> pd.DataFrame:
        """A system's curves of the classes or labels that are drawn, those with colours first: x,
        y, threshold, and the class or label as `system`.
        """
        tables = dict(zip(self.names, self.problem_tables(system), strict=True))
        coloured_first = list(self.coloured_classes) + list(self.curve_tables)
        drawn_tables = {name: tables[name] for name in dict.fromkeys(coloured_first)}
        return score_curves.curve(drawn_tables, kind, SQUARE.curve)

    @property
    def square_choice(self) -> ClassChoice:
        """The rule that chooses the classes with a square."""
        return CALIBRATION if self.probabilities else SIZE

    @cached_property
    def class_reliability(self) -> Reliability:
        """The reliability of each class that has a square, by isotonic regression, without bins."""
        return self.isotonic_of(self.class_tables, 7, SQUARE)

    def interval_estimate(self, statistic: Statistic) -> intervals.Estimate:
        """A number of the page that is not in the table of metrics, with its limits."""
        return inference.estimate(statistic, self.inference_options(RandomStream.ESTIMATES))


RowMask = Callable[[Rows], Bools]  # rows -> a mask of some of them


def among(eligible: RowMask, hit: RowMask) -> Callable[[Rows], Rows]:
    """A function that turns rows with predictions into rows whose metric `SHARE` is the share of
    hits among the eligible ones: being eligible becomes their actual value, a hit their decision.
    """
    return lambda rows: Rows(eligible(rows), decision=hit(rows), weight=rows.weight, unit=rows.unit)


METRICS = ("accuracy", "macro_f1", "mcc", "roc_auc_ovr", "log_loss", "brier")
TARGET = 0.9  # the precision from which on a class counts as covered, where none is asked for
TOPS = (1, 2, 3, 5)  # so many highest scores may hold the actual class
# confusion cells of all systems up to which the products of every two are summed over units
MAX_CELLS_OF_UNITS = 2**11
CLASS_METRICS = (MetricAtK(ROC_AUC), MetricAtK(AVERAGE_PRECISION))
MAX_UNIT_NUMBERS = 2**22  # numbers of all units that are held until each unit is complete
MAX_MISTAKES = 10  # rows of the table of mistakes
MISTAKE_COLUMNS = ["actual", "predicted", "n", "share", "low", "high", "of_errors"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClassesStudy(ProblemStudy):
    """The study of a multi-class table; the units are rows, or those that the parameter `unit`
    names.

    target: the precision from which on a class counts as covered. scored: True if there are scores
    for the classes.
    """

    noun: ClassVar[str] = "class"
    sides: ClassVar[tuple[str, str]] = ("rows of the class", "other rows")

    target: float
    scored: bool

    def rows_in(self, block: Block, system: int) -> Rows:
        """The rows of a block with the predictions of a system, given by its number."""
        first_reading = self.measured.first
        predicted = first_reading.with_predictions(first_reading.as_problems(block))
        return replace(class_rows(predicted, system), weight=block.weight)

    # Tables of scores

    @cached_property
    def class_tables(self) -> dict[str, counts.Counts]:
        """The leader's table of each class that has a square, by name; empty without scores."""
        return super().class_tables if self.scored else {}

    @cached_property
    def top_score_tables(self) -> dict[str, counts.Counts]:
        """For each system, best first, the table of right (positive) and wrong predictions by the
        score of the predicted class.
        """
        return {name: self.measured.top_scores(name) for name in self.order}

    def constant(self, chosen: MetricAtK) -> float:
        """The metric of predicting the largest class for every row, with the shares of the classes
        as probabilities.
        """
        return chosen.value(self.measured.constant_rows(self.shares))

    # Numbers of classes

    @property
    def shares(self) -> Floats:
        """The share of each class in the rows, by weight."""
        weight = self.measured.weights
        return np.asarray(weight / weight.sum())

    def estimate_share(self, system: str, eligible: RowMask, hit: RowMask) -> intervals.Estimate:
        """The share of hits among the eligible rows of a system, with limits."""
        return self.interval_estimate(
            self.measured.statistic_after_change(SHARE, system, among(eligible, hit))
        )

    @frame
    def by_class(self) -> Iterator[Row]:
        """Yield the numbers of each class by system: system, class, n (its rows), predicted (rows
        predicted as it), precision, recall, f1, with scores also auc and average_precision, each of
        these with limits as `_low` and `_high`.
        """
        for name in self.order:
            predicted_sizes = self.measured.predicted_sizes(name).tolist()
            for c, label in enumerate(self.names):
                row = {"system": name, "class": label, "n": int(self.sizes[c])}
                row["predicted"] = predicted_sizes[c]
                yield row | with_limits(self._class_estimates(name, c))

    def _class_estimates(self, system: str, c: int) -> dict[str, intervals.Estimate]:
        """The metrics of class number c against the rest, by their names in `by_class`."""
        is_actual = _actual_is(c)
        is_predicted = _predicted_is(c)
        # F1 of the rows after both actual and predicted class are replaced by "is class c"
        f1 = self.measured.statistic_after_change(F1, system, lambda rows: against_rest(rows, c))
        estimates = {
            "precision": self.estimate_share(system, eligible=is_predicted, hit=is_actual),
            "recall": self.estimate_share(system, eligible=is_actual, hit=is_predicted),
            "f1": self.interval_estimate(f1),
        }
        if self.scored:
            # metrics of the score of class c, with the rows of class c as positives
            auc = self.measured.problem_metric(ROC_AUC, system, c)
            average_precision = self.measured.problem_metric(AVERAGE_PRECISION, system, c)
            estimates["auc"] = self.interval_estimate(auc)
            estimates["average_precision"] = self.interval_estimate(average_precision)
        return estimates

    @property
    def weakest(self) -> LowestRecall | None:
        """The leader's class with the lowest recall, and the other class that its rows are most
        often predicted as, with their share of the rows of the class; None if every recall is 1.
        """
        classes_of_leader = self.by_class[self.by_class["system"] == self.leader]
        weakest = LowestRecall.from_frame("class", classes_of_leader)  # the lowest recall below 1
        if weakest is None:
            return None
        actual = self.names.index(weakest.name)
        confusion = self.measured.confusion(self.leader).table  # actual by predicted class
        # of the rows of the weakest class, the weight predicted as each class
        predicted_weight = np.array(confusion[actual], float)
        shares = predicted_weight / predicted_weight.sum()
        mistakes = predicted_weight.copy()
        mistakes[actual] = 0
        instead = int(mistakes.argmax())
        return replace(weakest, instead=self.names[instead], share=float(shares[instead]))

    # Pictures' data

    def bands(self, kind: str) -> pd.DataFrame | None:
        """Pointwise limits of the leader's curves that are drawn with a colour, by resampling rows,
        with the columns of `score_curves.band`, whose `system` is the class here. None if there is
        no curve, or if rows are clustered or weighted, as then single rows cannot be resampled.

        kind: of the curves, roc or pr.
        """
        if not self.plain or not self.curve_tables:
            return None
        frames = []
        for name in self.coloured_classes:
            # neighbouring thresholds are pooled, as many points would take long to resample
            table = influence.pooled(self.curve_tables[name])
            resamples = bootstrap.counts_of_resamples(
                table, rng=self.rng(3), resamples=self.settings.limits.bands
            )
            frames.append(score_curves.band(name, resamples, kind, level=self.settings.level))
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def confused(self) -> pd.DataFrame:
        """The leader's most frequent mistakes: actual, predicted, n (rows), share (of the rows of
        the actual class) with low and high, of_errors (share of all mistakes).
        """
        mistakes = _mistakes(self, self.leader)  # actual by predicted class, 0 on the diagonal
        n_mistakes = mistakes.sum()
        rows = []
        # positions in the flattened table
        most_frequent = np.argsort(-mistakes, axis=None, kind="stable")[:MAX_MISTAKES]
        for position in most_frequent.tolist():
            actual, predicted = divmod(position, len(mistakes))
            n = mistakes[actual, predicted].item()
            if n > 0:  # there may be fewer mistakes than the table has room for
                share = self.estimate_share(
                    self.leader, _actual_is(actual), _predicted_is(predicted)
                )
                row = {"actual": self.names[actual], "predicted": self.names[predicted], "n": n}
                row |= limits(share, "share")
                rows.append(row | {"of_errors": float(n / n_mistakes)})
        return pd.DataFrame(rows, columns=MISTAKE_COLUMNS)

    @frame
    def covered(self) -> Iterator[Row]:
        """Yield how many rows each system predicts as classes whose precision reaches the target,
        the covered rows: system, coverage (their share of all rows) with low and high, classes (the
        names of these classes), right (the share of covered rows with a right prediction) with
        right_low and right_high.
        """
        coverage = lookup.find_metric(f"coverage@{self.target!r}", "classes")
        for name in self.order:
            table = self.measured.confusion(name)
            # for each class the share of all rows that are covered by it; 0 below the target
            shares = labels.coverage_by_class(table, self.target)
            reaches_target = shares > 0
            is_covered = _predicted_in(reaches_target)
            right = self.estimate_share(name, eligible=is_covered, hit=_is_right)
            classes = ", ".join(compress(self.names, reaches_target))
            row = {"system": name} | limits(self.estimate(coverage, name), "coverage")
            yield row | {"classes": classes} | with_limits({"right": right})

    @frame
    def tops(self) -> Iterator[Row]:
        """Yield the share of rows whose actual class is among the k highest scores: system, k,
        value, low, high.
        """
        for name in self.order:
            for metric in _top_metrics(len(self.names)):
                yield {"system": name, "k": metric.k} | limits(self.estimate(metric, name))

    @cached_property
    def reliability(self) -> pd.DataFrame:
        """Share of right predictions by tenths of the score of the predicted class, with Wilson
        limits if rows are plain; the columns of `reliability.by_tenths`.
        """
        return self.tenths_of(self.top_score_tables)

    @cached_property
    def isotonic(self) -> Reliability:
        """The reliability of the score of the predicted class by isotonic regression, for each
        system.
        """
        return self.isotonic_of(self.top_score_tables, 6, FigureDetail())

    @frame
    def calibration(self) -> Iterator[Row]:
        """Yield how well the score of the predicted class is calibrated: system, confidence (its
        mean), right (the accuracy) with right_low and right_high, ece_10 (the top-label expected
        calibration error in ten bins), ece_10_expected (its mean under perfect calibration) and
        ece_10_p (the p-value of a test of perfect calibration).
        """
        accuracy = lookup.find_metric("accuracy", "classes")
        for name in self.order:
            table = self.top_score_tables[name]
            row = {"system": name, "confidence": calibration.mean_score(table)}
            row |= with_limits({"right": self.estimate(accuracy, name)})
            perfect = self.perfect(table, calibration.ece_10)
            row["ece_10"] = calibration.ece_10(table)
            yield row | {"ece_10_expected": perfect.expected, "ece_10_p": perfect.p}


def _top_metrics(n_classes: int) -> list[MetricAtK]:
    """For each k of the page the share of rows whose actual class is among the k highest scores."""
    return [lookup.find_metric(f"top@{k}", "classes") for k in TOPS if k <= n_classes]


def _predicted_in(classes: Bools) -> RowMask:
    """Selects the rows whose predicted class, by number, is True in `classes`."""
    return lambda rows: classes[rows.predicted]


def _is_right(rows: Rows) -> Bools:
    """True for each row whose class is predicted."""
    return np.asarray(rows.actual == rows.predicted)


def _actual_is(c: int) -> RowMask:
    """Selects the rows of class number c."""
    return lambda rows: rows.actual == c


def _predicted_is(c: int) -> RowMask:
    """Selects the rows that are predicted as class number c."""
    return lambda rows: rows.predicted == c


def checked_settings(
    p: ClassificationParameters,
    systems: tuple[str, ...],
    limits: Limits,
    *,
    scored: bool,
    outside: str,
) -> Settings:
    """The parameters, checked. scored: True if the table has scores for the classes. outside:
    describes a score outside 0..1 and its place, "" if there is none.
    """
    lacks = {}  # what metrics may need and the table lacks -> how an error describes it
    if not scored:
        missing = "p_<class> columns, the table has none"
        lacks = {"scores": missing, "probabilities": missing}
    elif outside:
        lacks = {"probabilities": f"probabilities, {outside}"}
    chosen = lookup.find_computable(p.metrics, "classes", METRICS, lacks)
    return row_study.classification_settings(p, chosen, systems, limits)


# Rows at hand -------------------------------------------------------------------------------------


def of_rows(
    data: Outcomes, p: ClassificationParameters, limits: Limits = USUAL_LIMITS
) -> ClassesStudy:
    """The study of rows in memory. Each system predicts a class for each row, with a score for each
    class if the table has any.
    """
    table = data.rows
    scored = bool(data.score)
    settings = checked_settings(p, table.systems, limits, scored=scored, outside=data.outside)
    # the keyword arguments of any study of rows (`study`), and of the `Rows` of any system (`rows`)
    arguments = row_study.arguments_from_rows(data, settings, p)
    rows = {}
    for name in table.systems:
        rows[name] = Rows(
            data.actual,
            data.score.get(name),
            decision=data.predicted[name],
            classes=len(data.names),
            **arguments.rows,
        )
    fields = arguments.study | _class_fields(data, p, scored=scored)
    return ClassesStudy(**fields, measured=ClassesInMemory(rows, lambda: table.id))


def _class_fields(
    data: Outcomes | Predictions, p: ClassificationParameters, *, scored: bool
) -> dict[str, object]:
    """The keyword arguments of a ClassesStudy that studies of other tables do not have. scored:
    True if there are scores for the classes.
    """
    return {
        "names": data.names,
        # `outside` describes a score outside 0..1; "" if there is none
        "probabilities": scored and not data.outside,
        "target": p.precision_target or TARGET,
        "scored": scored,
    }


# Blocks -------------------------------------------------------------------------------------------


def of_blocks(
    data: Predictions, p: ClassificationParameters, limits: Limits = USUAL_LIMITS
) -> ClassesStudy:
    """The study of a table that is read in blocks: once to count, and a second time if there are
    means over classes of metrics of scores, such as macro AUC. Raises ParameterError if a metric
    needs the rows in memory.
    """
    systems = data.table.systems
    settings = checked_settings(p, systems, limits, scored=data.scored, outside=data.outside)
    for chosen in settings.metrics:
        if not chosen.base.metric.needs_table_only:
            raise ParameterError(
                f"metrics: {chosen.label} needs all rows in memory, got {data.table.rows:,} rows"
            )
    data = _with_units_in_memory_bound(data)
    measured = _first_reading(data, settings)
    if not data.scored:
        # Without columns of scores the classes are all labels that occur in the input. Some may
        # only occur in rows whose id another system lacks, which the report leaves out: then the
        # first reading is made again without these classes.
        occurring = _occurring_classes(measured)
        if len(occurring) < len(data.names):
            data = data.only(occurring)
            measured = _first_reading(data, settings)
    second = _second_reading(data, measured, settings)
    if second:  # None if the first reading is enough
        # read for sums alone, without the names of rows
        second_summary = row_study.without_row_names(data.table).total(second)
        measured = replace(measured, second=second, second_summary=second_summary)
    rows = measured.summary.rows  # the number of rows that all systems predict
    fields = row_study.arguments_from_blocks(
        data.table, rows, settings, p, weighted=data.scale is not None
    )
    fields |= _class_fields(data, p, scored=data.scored)
    return ClassesStudy(**fields, measured=measured)


def _occurring_classes(measured: SummedClasses) -> list[int]:
    """The numbers of the classes that any row has, or any system predicts."""
    rows = measured.sizes()
    for name in measured.systems:
        rows = rows + measured.predicted_sizes(name)
    occurring: list[int] = np.flatnonzero(rows).tolist()
    return occurring


def _with_units_in_memory_bound(data: Predictions) -> Predictions:
    """The data; with whole units in each block if the confusion cells of all units are too many to
    be held until each unit is complete. Raises ParameterError if those of a single unit are too
    many.
    """
    table = data.table
    systems = len(table.systems)
    classes = len(data.names)
    cells = systems * classes**2  # confusion cells per unit
    # their covariances over units are a table of cells by cells
    if table.schema.unit and cells > MAX_CELLS_OF_UNITS:
        got = f"{systems} systems and {classes} classes have {cells:,} cells"
        raise ParameterError(
            f"unit: {got}, of more than {MAX_CELLS_OF_UNITS:,} the units need all rows in memory; "
            f"choose systems"
        )
    numbers_held = table.schema.units * (cells + 1)  # for each unit its cells and its key
    if numbers_held > MAX_UNIT_NUMBERS:
        return replace(data, table=table.with_whole_units)
    return data


def _first_reading(data: Predictions, settings: Settings) -> SummedClasses:
    """Read the table for the first time: confusion cells, scores by class and sums of losses.

    Raises InputError for ids that do not pair. Raises ParameterError if the actual class and the
    classes that two systems predict come in too many combinations, or if a loss is undefined or
    infinite on some row.
    """
    table = data.table
    reading = _class_first_reading(data, settings)
    summary = row_study.first_summary(table, reading).binned
    for cells_of_group in summary.cells.values():
        # A tally counts the rows of each combination of classes. One with too many combinations has
        # pooled neighbouring ones, which its shift above 0 shows: they are different classes.
        is_pooled = [tally.merged.shift > 0 for tally in cells_of_group.cells.values()]
        if any(is_pooled):
            ways = f"in more than {reading.cell_counter.max_cells:,} ways"
            needs = "which needs all rows in memory; choose one system"
            raise ParameterError(
                f"systems: actual and predicted classes of two systems come {ways}, {needs}"
            )
    layout = layout_of(units=table.schema.unit, weights=data.scale is not None)
    measured = SummedClasses(table.systems, reading, summary, layout)
    measured.refuse_partial_losses()
    return measured


def _class_first_reading(data: Predictions, settings: Settings) -> ClassFirstReading:
    """What the first reading of a table counts and adds up: always the confusion cells, and the
    scores of each class if there are any. For metrics that are ratios of sums of terms of rows,
    such as log loss, here called losses, it adds up these terms.
    """
    table = data.table
    n_classes = len(data.names)
    limits = settings.limits
    # up to so many units the sums of each unit are kept
    max_units = row_study.max_single_units(table, limits)
    primary = settings.metrics[0].base
    metrics = [chosen.base for chosen in settings.metrics]
    losses = [chosen for chosen in metrics if isinstance(chosen.metric.kind, TermsKind)]
    if data.scored:  # the page shows top-k accuracy even if the user does not choose it
        losses += _top_metrics(n_classes)
    unique_losses = tuple({chosen.label: chosen for chosen in losses}.values())
    return ClassFirstReading(
        scored=data.scored,
        cell_counter=class_cells.CellCounter(
            classes=n_classes,
            scale=data.scale,
            square_scale=data.squares,
            max_cells=limits.bins,
            max_units=max_units,
        ),
        loss_adder=TermAdder.uncentred_term_adder(
            unique_losses, len(table.systems), max_units, class_rows
        ),
        # In slices only the primary metric is computed: from its terms if it is a loss, from the
        # scores by class if it is a mean over classes of a metric such as AUC; all other metrics
        # follow from the confusion cells, which are always counted.
        slices_losses=isinstance(primary.metric.kind, TermsKind),
        slices_scores=_averaged_metric(primary) is not None,
        limits=limits,
        problems=n_classes,
        max_ids=table.ids_held,
    )


def _second_reading(
    data: Predictions, measured: SummedClasses, settings: Settings
) -> SecondReading | None:
    """What a second reading of the table adds up: the influence of each row on macro metrics of
    scores, such as macro AUC, which depends on all scores. None if there is no such metric: all
    others follow from the first reading.

    measured: the results of the first reading.
    """
    influences = {}
    for group in measured.groups:  # the number of all rows, and of each slice
        if group == ALL_ROWS_GROUP:
            metrics = _score_metrics(settings.metrics)
            # The page also shows AUC and average precision of each class. Their limits follow from
            # the counts of scores if rows are independent and unweighted, else from the influence
            # of the rows, which is added up with that on their macro means.
            if data.scored and not measured.plain:
                metrics = {metric.label: metric for metric in CLASS_METRICS} | metrics
        else:  # in slices only the primary metric is computed
            metrics = _score_metrics(settings.metrics[:1])
        for label, metric in metrics.items():
            influences[GroupMetric(group, label)] = _influence(metric, group, measured)
    if not influences:
        return None
    return SecondReading(first=measured.first, plain=measured.plain, means=influences)


def _influence(metric: MetricAtK, group: int, measured: SummedClasses) -> MeanInfluence:
    """The influence of the rows of a group on the macro mean of a metric of scores, such as AUC,
    for each system: a function of the score for each class. metric: of a class against the rest.
    group: the number of all rows or of a slice.
    """
    tables = []  # for each system a list with the influence by score of each class
    for system in range(len(measured.systems)):
        counts_by_class = [measured.scores(group, system, c) for c in measured.problems]
        tables.append([ScoreInfluence.from_table(metric, table) for table in counts_by_class])
    n_classes = len(measured.problems)
    return MeanInfluence(
        tables=tables,
        shares=np.full(n_classes, 1 / n_classes),  # in a macro mean each class counts the same
        n_strata=n_classes,  # the influence has a variance of its own in the rows of each class
    )


def _score_metrics(metrics: Sequence[MetricAtK]) -> dict[str, MetricAtK]:
    """By label the metrics of a class against the rest whose means over the classes are among
    `metrics`.
    """
    averaged = map(_averaged_metric, metrics)
    return {metric.label: metric for metric in averaged if metric is not None}


def _averaged_metric(chosen: MetricAtK) -> MetricAtK | None:
    """The metric of a class against the rest of which this one is the mean over the classes, such
    as roc_auc; None if it does not follow from the order of the scores.
    """
    kind = chosen.base.metric.kind
    if isinstance(kind, MeanOverClasses) and not kind.uses_decisions:
        return MetricAtK(kind.metric)
    return None


# What the findings are measured by ----------------------------------------------------------------

# classes of a confusion matrix that is drawn: its size grows with their square
MAX_DRAWN_CLASSES = 40


class ClassConfusion(NamedTuple):
    """Actual class, predicted class, and the weight of the rows of this mistake."""

    actual: str
    predicted: str
    weight: float


class DrawnConfusion(NamedTuple):
    """The table of a confusion matrix as it is drawn, actual classes by predicted ones, and the
    names of its rows and columns.
    """

    table: np.ndarray
    names: tuple[str, ...]


def never_predicted(study: ClassesStudy) -> dict[str, list[str]]:
    """By system the classes that occur but are never predicted; without systems that predict
    all.
    """
    classes = {}
    for name in study.systems:
        is_missed = (study.sizes > 0) & (study.measured.predicted_sizes(name) == 0)
        if is_missed.any():
            classes[name] = list(compress(study.names, is_missed))
    return classes


def ordered_alphabetically(study: ClassesStudy) -> list[str]:
    """The metrics that depend on the order of more than two classes, where the names of some of
    these are no numbers and so stand in alphabetical order.
    """
    if len(study.names) < 3 or all(map(is_number, study.names)):
        return []
    return [chosen.label for chosen in study.settings.metrics if chosen.metric.orders_classes]


def not_highest(study: ClassesStudy) -> dict[str, int]:
    """By system the number of rows, if any, whose predicted class (from a column) does not have the
    highest score.
    """
    if not study.scored:
        return {}
    rows = {name: study.measured.not_highest(name) for name in study.systems}
    return {name: number for name, number in rows.items() if number}


def row_sums(study: ClassesStudy) -> dict[str, RowSums]:
    """The sums of the rows' probabilities by system; empty if there are no probabilities."""
    if not (study.scored and study.probabilities):
        return {}
    return {name: study.measured.row_sums(name) for name in study.systems}


def incomplete_slices(study: ClassesStudy) -> list[str]:
    """The slices, as "column label", in which some class of the study has no row."""
    n_classes = np.count_nonzero(study.sizes)
    incomplete = []
    for slice_ in study.slices:
        sizes = study.measured.sizes(slice_.member)
        if np.count_nonzero(sizes) < n_classes:
            incomplete.append(f"{slice_.column} {slice_.label}")
    return incomplete


def _mistakes(study: ClassesStudy, system: str) -> np.ndarray:
    """The confusion table of a system with 0 on the diagonal: rows by actual and predicted class,
    or their weight, shape (classes, classes).
    """
    mistakes = np.array(study.measured.confusion(system).table)
    np.fill_diagonal(mistakes, 0)
    return mistakes


def worst_mistake(study: ClassesStudy) -> ClassConfusion | None:
    """The most frequent mistake of the leader; None if it makes none."""
    mistakes = _mistakes(study, study.leader)
    actual, predicted = np.unravel_index(int(mistakes.argmax()), mistakes.shape)
    weight = float(mistakes[actual, predicted])
    if weight > 0:
        return ClassConfusion(study.names[actual], study.names[predicted], weight)
    return None


def drawn_together(table: np.ndarray, classes: tuple[str, ...]) -> DrawnConfusion:
    """A confusion table with at most `MAX_DRAWN_CLASSES` rows and columns: of more classes the
    rarest are added up in the last.

    table: actual classes by predicted ones, in the order of `classes`.
    """
    if len(classes) <= MAX_DRAWN_CLASSES:
        return DrawnConfusion(table, classes)
    last = MAX_DRAWN_CLASSES - 1  # the row and column of all rare classes
    rows_of_class = table.sum(axis=1)
    most_frequent = np.argsort(-rows_of_class, kind="stable")[:last]
    frequent = np.sort(most_frequent)
    position = np.full(len(classes), last)
    position[frequent] = np.arange(last)
    together = np.zeros((MAX_DRAWN_CLASSES, MAX_DRAWN_CLASSES), dtype=table.dtype)
    # cells of the same new row and column are added up
    np.add.at(together, np.ix_(position, position), table)
    names = [classes[i] for i in frequent]
    names.append(f"({len(classes) - last} others)")
    return DrawnConfusion(together, tuple(names))
