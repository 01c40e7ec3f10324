"""The study of several labels per row, each true or false, with a score for each label by every
system.

A table that fits into memory is held row by row. A larger one is read twice in blocks: first to
count confusion cells and scores by label, then to add up the influence of the rows on means over
the labels, also along the threshold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from evalkit.arrays import Floats, ParameterError
from evalkit.catalogue import lookup, tables
from evalkit.catalogue.kinds import Share, TermsKind
from evalkit.catalogue.metric import MeanOverClasses, MetricAtK
from evalkit.limits import USUAL_LIMITS, Limits
from evalkit.measured.classes import SHARE
from evalkit.measured.labels import (
    STEPS,
    TOP,
    LabelsInMemory,
    SummedLabels,
    label_term_adder,
    second_reading,
    thresholds_of,
    top_hits,
)
from evalkit.measured.readings import HitsOfRows, LabelFirstReading, label_rows
from evalkit.metrics import counts, curves
from evalkit.metrics.blocks import Block
from evalkit.metrics.rows import Rows
from evalkit.parameters.reports import ClassificationParameters
from evalkit.reading.inputs.outcomes import Outcomes
from evalkit.reading.reductions.scores import Predictions
from evalkit.reading.tables import rules
from evalkit.statistics.class_cells import CellCounter
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.statistic import Statistic, layout_of
from evalkit.studies import row_study, study
from evalkit.studies.classes import MAX_UNIT_NUMBERS, ProblemStudy, RowMask, among
from evalkit.studies.study import EVERY, LowestRecall, Row, Settings, frame, limits, with_limits


class BestThreshold(NamedTuple):
    """A common threshold, and micro F1 there."""

    threshold: float
    micro_f1: float


METRICS = ("micro_f1", "macro_f1", "exact_match", "hamming_loss", "map_classes", "ranking_loss")
SWEPT = ("micro_f1", "micro_precision", "micro_recall", "macro_f1")
# numbers at a threshold beside those of labels: a weight, and both terms of three metrics of all
BESIDE_LABELS = 7
MAX_CELLS = 16  # cells of a label by what two systems predict


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LabelsStudy(ProblemStudy):
    """The study of a multi-label table; the units are rows, or those that the parameter `unit`
    names.

    names: the labels, in the order of their columns. threshold: from which on a label is predicted,
    the same for all labels. precision: system -> the float type of each label's scores.
    """

    noun: ClassVar[str] = "label"
    sides: ClassVar[tuple[str, str]] = ("label true", "label not true")

    threshold: float
    precision: Mapping[str, list[rules.Precision]]

    def rows_in(self, block: Block, system: int) -> Rows:
        """The rows of a block with the predictions of a system."""
        first_reading = self.measured.first
        problems = first_reading.as_problems(block)
        rows = label_rows(problems, system, first_reading.thresholds)
        return replace(rows, weight=block.weight)

    @property
    def shares(self) -> Floats:
        """The share of rows, by weight, on which each label is true."""
        shares: Floats = self.measured.shares
        return shares

    @property
    def loss_of_none(self) -> float:
        """The share of labels that are wrong if no row gets any label."""
        return float(self.shares.mean())

    def constant(self, chosen: MetricAtK) -> float:
        """The metric of scoring each label by its share of rows; NaN if it is not known how often
        each set of labels occurs, because there are too many.
        """
        if self.measured.label_sets_known:
            return chosen.value(self.measured.constant_rows(self.leader))
        return float("nan")

    @frame
    def by_label(self) -> Iterator[Row]:
        """Yield the numbers of each label by system: system, label, n (rows on which it is true),
        the four counts tp, fp, fn and tn, precision, recall, f1, auc and
        average_precision, each of these with limits as `_low` and `_high`.
        """
        for name in self.order:
            for number, label in enumerate(self.names):
                row = {"system": name, "label": label, "n": int(self.sizes[number])}
                row |= self.measured.outcomes(name, number)._asdict()
                yield row | with_limits(self._label_estimates(name, number))

    def _label_estimates(self, system: str, number: int) -> dict[str, Estimate]:
        """The metrics of a system on one label, given by its number, by their names in
        `by_label`.
        """
        # Precision is the share of true rows among the predicted ones, recall the share of
        # predicted rows among the true ones.
        precision = self._share_of(system, number, eligible=_predicted, hit=_true)
        recall = self._share_of(system, number, eligible=_true, hit=_predicted)
        estimates = {"precision": precision, "recall": recall}
        metrics = {
            "f1": tables.F1,
            "auc": tables.ROC_AUC,
            "average_precision": tables.AVERAGE_PRECISION,
        }
        for column, metric in metrics.items():
            statistic = self.measured.problem_metric(metric, system, number)
            estimates[column] = self.interval_estimate(statistic)
        return estimates

    def _share_of(self, system: str, number: int, eligible: RowMask, hit: RowMask) -> Estimate:
        """The share of hits among the eligible rows of a label, given by its number, with limits.
        eligible, hit: functions from the rows to a mask of them.
        """
        return self.interval_estimate(
            self.measured.statistic_after_change(SHARE, system, among(eligible, hit), number)
        )

    @property
    def weakest(self) -> LowestRecall | None:
        """The leader's label with the lowest recall."""
        return LowestRecall.from_frame(
            "label", self.by_label[self.by_label["system"] == self.leader]
        )

    # One threshold for all labels

    @cached_property
    def pooled(self) -> counts.Counts:
        """The leader's table of counts by score over all labels of all rows."""
        table: counts.Counts = self.measured.pooled(self.leader)
        return table

    @cached_property
    def thresholds(self) -> Floats:
        """Common thresholds for all labels: the leader's scores, or quantiles of them, and the one
        of best micro F1.
        """
        return thresholds_of(self.measured, self.leader)

    @frame
    def sweep(self) -> Iterator[Row]:
        """Yield the leader's micro and macro metrics by common threshold for all labels: the name
        of the metric as `system`, x (the threshold), y, low, high.
        """
        for number, threshold in enumerate(self.thresholds.tolist()):
            for name in SWEPT:
                metric = lookup.find_metric(name, "labels")
                estimate = self.interval_estimate(self.at_step(metric, number))
                yield {"system": name, "x": threshold} | limits(estimate, "y")

    def at_step(self, chosen: MetricAtK, number: int) -> Statistic:
        """A metric of the leader at one of the common thresholds, given by its number."""
        threshold = float(self.thresholds[number])
        statistic: Statistic = self.measured.at_common_threshold(
            chosen, self.leader, number, threshold
        )
        return statistic

    @cached_property
    def best(self) -> BestThreshold:
        """The common threshold, among all scores of the leader, with the highest micro F1, and that
        F1: NaN if the threshold is infinite, so that no label is predicted.
        """
        threshold = curves.best_f(self.pooled)
        if not np.isfinite(threshold):
            return BestThreshold(threshold, np.nan)
        micro_f1 = counts.f_score(counts.at(self.pooled, threshold))
        return BestThreshold(threshold, float(micro_f1))

    @frame
    def tops(self) -> Iterator[Row]:
        """Yield the share of rows whose highest-scored label is true: system, value, low, high."""
        for name in self.order:
            yield {"system": name} | limits(
                self.interval_estimate(self.measured.top_label_share(name))
            )

    @frame
    def mean_scores(self) -> Iterator[Row]:
        """Yield for each label how far the leader's scores are off on average: label, score (the
        mean), share (of the rows that have the label), difference of the two, low, high.
        """
        for j, label in enumerate(self.names):
            excess = self.interval_estimate(self.measured.score_excess(self.leader, j))
            share = self.shares[j]
            row = {"label": label, "score": float(excess.value + share), "share": share}
            yield row | limits(excess, "difference")


def _true(rows: Rows) -> np.ndarray:
    """A mask: the rows on which the label is true. rows: of a single label."""
    return np.asarray(rows.actual == 1)


def _predicted(rows: Rows) -> np.ndarray:
    """A mask: the rows on which the label is predicted. rows: of a single label."""
    return np.asarray(rows.predicted == 1)


def checked_settings(
    p: ClassificationParameters, systems: tuple[str, ...], limits: Limits
) -> Settings:
    """The parameters, checked; by default with `METRICS`."""
    chosen = lookup.find_metrics(p.metrics, "labels", METRICS)
    return row_study.classification_settings(p, chosen, systems, limits)


def threshold_of(p: ClassificationParameters, *, probabilities: bool) -> float:
    """The common threshold of all labels: that of the user, else 0.5 for probabilities. Raises
    ParameterError if the user's threshold is not a number, and without one if some score is no
    probability. probabilities: True if all scores lie in 0..1.
    """
    if isinstance(p.threshold, float):
        return p.threshold
    if p.threshold is not None:  # a rule that chooses the threshold of a binary table, as best_f1
        raise ParameterError(f"threshold must be a number, got {p.given_values['threshold']!r}")
    if not probabilities:
        raise ParameterError(
            "threshold: scores outside 0 to 1 have no default threshold; set threshold to a number"
        )
    return 0.5


def label_thresholds(threshold: float, precisions: Sequence[rules.Precision]) -> Floats:
    """The threshold of each label, rounded to the precision of its scores."""
    return np.array([rules.rounded(threshold, precision) for precision in precisions])


# Rows at hand -------------------------------------------------------------------------------------


def of_rows(
    data: Outcomes, p: ClassificationParameters, limits: Limits = USUAL_LIMITS
) -> LabelsStudy:
    """The study of rows in memory, with a score for each label. The threshold is rounded to the
    precision in which the scores of each label are stored.
    """
    table = data.rows
    are_probabilities = data.scores_are_probabilities  # True if all scores lie in 0..1
    settings = checked_settings(p, table.systems, limits)
    threshold = threshold_of(p, probabilities=are_probabilities)
    # the keyword arguments of any study of rows (`study`), and of the `Rows` of any system (`rows`)
    arguments = row_study.arguments_from_rows(data, settings, p)
    precision = {}
    rows = {}
    for name, score in data.score.items():
        # the scores of a label have the role "p LABEL" in the table
        precision[name] = [table.precision[name][f"p {label}"] for label in data.names]
        thresholds = label_thresholds(threshold, precision[name])
        rows[name] = Rows(data.actual, score, thresholds, **arguments.rows)
    fields = arguments.study | {
        "names": data.names,
        "probabilities": are_probabilities,
        "threshold": threshold,
        "precision": precision,
    }
    return LabelsStudy(**fields, measured=LabelsInMemory(rows, lambda: table.id))


# Blocks -------------------------------------------------------------------------------------------


def of_blocks(
    data: Predictions, p: ClassificationParameters, limits: Limits = USUAL_LIMITS
) -> LabelsStudy:
    """The study of a table that is read twice in blocks: first to count the scores and decisions of
    each system, then to add up the influence of each row on means over labels. The second reading
    also does this for the leader at other thresholds, as the page draws its metrics over them.
    Raises ParameterError if a metric needs the rows in memory.
    """
    table = data.table
    systems = table.systems
    settings = checked_settings(p, systems, limits)
    for chosen in settings.metrics:
        if not _is_of_sums(chosen):
            raise ParameterError(
                f"metrics: {chosen.label} needs all rows in memory, got {table.rows:,} rows"
            )
    has_probabilities = not data.outside
    threshold = threshold_of(p, probabilities=has_probabilities)
    numbers_per_unit = _numbers_of_unit(labels=len(data.names), systems=len(systems))
    if table.schema.units * numbers_per_unit > MAX_UNIT_NUMBERS:
        # too many to be held until each unit is complete, if its rows are in several blocks
        table = table.with_whole_units
    first = _first_reading(data, settings, threshold)
    has_weights = data.scale is not None
    layout = layout_of(units=table.schema.unit, weights=has_weights)
    summary = row_study.first_summary(table, first).binned  # the table is read here
    measured = SummedLabels(systems, first, summary, layout)
    # the leader, the system that is best by the primary metric, must be known before the second
    # reading
    primary = settings.metrics[0]
    values = {name: measured.measure(primary, name, EVERY).value for name in systems}
    best_first = study.ranked(values, primary)
    leader = study.best_non_baseline(best_first, settings.baseline)
    second = second_reading(measured, settings.metrics, leader, probabilities=has_probabilities)
    # read for sums alone, without the names of rows
    second_summary = row_study.without_row_names(table).total(second)
    measured = replace(measured, second=second, second_summary=second_summary)
    # the keyword arguments of any study of blocks, then those of one of labels alone
    fields = row_study.arguments_from_blocks(table, summary.rows, settings, p, weighted=has_weights)
    fields |= {
        "names": data.names,
        "probabilities": has_probabilities,
        "threshold": threshold,
        "precision": {name: data.precision(name) for name in systems},
    }
    return LabelsStudy(**fields, measured=measured)


def _numbers_of_unit(labels: int, systems: int) -> int:
    """How many numbers both readings add up for a unit: those of each label and system, and at each
    step of the common threshold those of each label and of all labels together.
    """
    return labels * (8 * systems + 1) + (STEPS + 1) * (labels + BESIDE_LABELS)


def _is_of_sums(chosen: MetricAtK) -> bool:
    """True if a metric can be computed from the sums that the readings in blocks add up."""
    metric = chosen.base.metric
    if metric.columns:  # further columns, such as an amount, of which there are no sums
        return False
    if isinstance(metric.kind, Share):
        # the rows among which hits are counted are the same for all systems: a share among rows
        # that a system's predictions select, as precision is, cannot be computed
        return not metric.kind.selects_rows
    return isinstance(metric.kind, (TermsKind, MeanOverClasses))


def _first_reading(data: Predictions, settings: Settings, threshold: float) -> LabelFirstReading:
    """What the first reading of a table counts and adds up. threshold: common to all labels.

    Metrics are of three kinds: losses are ratios of sums of terms of rows, which are added up; of
    shares of rows the hits are counted; metrics combined from those of each label follow from its
    confusion cells, or from its scores if they do not depend on decisions, as macro AUC.
    """
    systems = data.table.systems
    thresholds = [label_thresholds(threshold, data.precision(name)) for name in systems]
    # up to so many units the sums of each unit are kept
    max_units = row_study.max_single_units(data.table, settings.limits)
    metrics = [chosen.base for chosen in settings.metrics]
    losses = dict.fromkeys(  # a metric may be chosen several times
        chosen for chosen in metrics if isinstance(chosen.metric.kind, TermsKind)
    )
    hits: dict[str, HitsOfRows] = {}  # label of a share -> function that finds its hits
    for chosen in settings.metrics:
        if isinstance(chosen.metric.kind, Share):
            hits[chosen.label] = chosen.metric.kind.hits
    primary = settings.metrics[0].base
    kind = primary.metric.kind
    return LabelFirstReading(
        thresholds=thresholds,
        cell_counter=CellCounter(
            classes=2,
            scale=data.scale,
            square_scale=data.squares,
            max_cells=MAX_CELLS,
            max_units=max_units,
        ),
        loss_adder=label_term_adder(tuple(losses), len(systems), max_units, thresholds),
        hits=hits | {TOP: top_hits},  # the page also shows how often the top label is true
        # in slices only the primary metric is computed: what its kind needs
        slice_hits={label: hit for label, hit in hits.items() if label == primary.label},
        slices_losses=isinstance(kind, TermsKind),
        slices_cells=isinstance(kind, MeanOverClasses),
        slices_scores=isinstance(kind, MeanOverClasses) and not kind.uses_decisions,
        limits=settings.limits,
        problems=len(data.names),
        max_ids=data.table.ids_held,
    )


# What the findings are measured by ----------------------------------------------------------------


def stored(study: LabelsStudy) -> dict[str, rules.Precision]:
    """The float type of each system's scores, by "system"; by "system: label" if those of its
    labels differ.
    """
    by_name: dict[str, rules.Precision] = {}
    for system, precisions in study.precision.items():
        if len(set(precisions)) == 1:
            by_name[system] = precisions[0]
            continue
        for label, precision in zip(study.names, precisions, strict=True):
            by_name[f"{system}: {label}"] = precision
    return by_name
