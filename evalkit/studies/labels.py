"""The study of several labels per row, each true or false, with a score for each label by every
system.

A table that fits into memory is held row by row. A larger one is read twice in blocks: first to
count confusion cells and scores by label, then to add up the influence of the rows on means over
the labels, also along the threshold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import Floats, ParameterError
from evalkit.catalogue import lookup, tables
from evalkit.catalogue.kinds import Share, TermsKind
from evalkit.catalogue.metric import Combined, MetricAtK
from evalkit.limits import USUAL, Limits
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
from evalkit.statistics.statistic import Statistic, layout_of
from evalkit.studies import row_study, study
from evalkit.studies.classes import BESIDE, EachStudy, among
from evalkit.studies.study import EVERY, Row, Settings, Weakest, frame, limits, with_limits

METRICS = ("micro_f1", "macro_f1", "exact_match", "hamming_loss", "map_classes", "ranking_loss")
SWEPT = ("micro_f1", "micro_precision", "micro_recall", "macro_f1")
BESIDE_LABELS = (
    7  # numbers at a threshold: a weight, and both terms of three metrics over all labels
)
FEW = 16  # cells of a label by what two systems predict


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LabelsStudy(EachStudy):
    """The study of a multi-label table; the units are rows, or those that the parameter `unit`
    names.

    names: the labels, in the order of their columns. precision: system -> the float type of each
    label's scores.
    """

    noun: ClassVar[str] = "label"
    sides: ClassVar[tuple[str, str]] = ("label true", "label not true")

    threshold: float
    precision: Mapping[str, list[rules.Precision]]

    def rows_in(self, block: Block, system: int) -> Rows:
        """The rows of a block with the predictions of a system."""
        first = self.measured.first
        rows = label_rows(first.as_problems(block), system, first.thresholds)
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
        """The metric of scoring each label by its share of rows; NaN if combinations of labels are
        unknown.
        """
        if self.measured.label_sets_known:
            return chosen.value(self.measured.constant_rows(self.leader))
        return float("nan")

    @frame
    def by_label(self) -> Iterator[Row]:
        """The four counts of each label and system; precision, recall, F1, AUC and average
        precision with limits.
        """
        shares = {"precision": among(_predicted, _true), "recall": among(_true, _predicted)}
        several = {
            "f1": tables.F1,
            "auc": tables.ROC_AUC,
            "average_precision": tables.AVERAGE_PRECISION,
        }
        for name, (j, label) in product(self.order, enumerate(self.names)):
            counted = self.measured.outcomes(name, j)._asdict()
            of = {
                metric: self.measured.derived(SHARE, name, change, j)
                for metric, change in shares.items()
            }
            of |= {
                metric: self.measured.problem_metric(one, name, j)
                for metric, one in several.items()
            }
            row = {"system": name, "label": label, "n": int(self.sizes[j])}
            yield (
                row
                | counted
                | with_limits({metric: self.estimated(one) for metric, one in of.items()})
            )

    @property
    def weakest(self) -> Weakest | None:
        """The leader's label with the lowest recall."""
        return Weakest.of("label", self.by_label[self.by_label["system"] == self.leader])

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
        """The leader's micro and macro metrics by common threshold for all labels, with limits."""
        for number, t in enumerate(self.thresholds.tolist()):
            for metric in SWEPT:
                e = self.estimated(self.at_step(lookup.find_metric(metric, "labels"), number))
                yield {"system": metric, "x": t} | limits(e, "y")

    def at_step(self, chosen: MetricAtK, number: int) -> Statistic:
        """A metric of the leader at one of the common thresholds."""
        of: Statistic = self.measured.at_common_threshold(
            chosen, self.leader, number, float(self.thresholds[number])
        )
        return of

    @cached_property
    def best(self) -> tuple[float, float]:
        """The leader's common threshold with the highest micro F1 among all its scores, and that
        F1.
        """
        at = curves.best_f(self.pooled)
        return at, float(counts.f_score(counts.at(self.pooled, at))) if np.isfinite(at) else np.nan

    @frame
    def tops(self) -> Iterator[Row]:
        """The share of rows whose highest-scored label is true, by system."""
        for name in self.order:
            yield {"system": name} | limits(self.estimated(self.measured.top_label_share(name)))

    @frame
    def mean_scores(self) -> Iterator[Row]:
        """For each label the leader's mean score, the share of rows that have it, and the
        difference with limits.
        """
        for j, label in enumerate(self.names):
            e = self.estimated(self.measured.score_excess(self.leader, j))
            score = float(e.value + self.shares[j])
            yield {"label": label, "score": score, "share": self.shares[j]} | limits(
                e, "difference"
            )


def _true(rows: Rows) -> np.ndarray:
    return rows.actual == 1


def _predicted(rows: Rows) -> np.ndarray:
    return rows.predicted == 1


def asked(p: ClassificationParameters, systems: tuple[str, ...], limits: Limits) -> Settings:
    """The parameters, checked."""
    chosen = lookup.find_metrics(p.metrics, "labels", METRICS)
    settings = study.settings(
        p,
        chosen,
        unit=p.unit,
        segments=p.segments,
        groups=p.group_question,
        slices=p.slices,
        limits=limits,
    )
    return settings.checked(systems)


def threshold_of(p: ClassificationParameters, *, probabilities: bool) -> float:
    """The common threshold of all labels. Raises ParameterError if it is not a number, or if there
    is no default.
    """
    if isinstance(p.threshold, float):
        return p.threshold
    if p.threshold is not None:
        raise ParameterError(f"threshold must be a number, got {p.given['threshold']!r}")
    if not probabilities:
        raise ParameterError(
            "threshold: scores outside 0 to 1 have no default threshold; set threshold to a number"
        )
    return 0.5


def cuts_of(threshold: float, stored: Sequence[rules.Precision]) -> Floats:
    """The threshold of each label, rounded to the precision of its scores."""
    return np.array([rules.rounded(threshold, to) for to in stored])


# Rows at hand -------------------------------------------------------------------------------------


def of_rows(data: Outcomes, p: ClassificationParameters, limits: Limits = USUAL) -> LabelsStudy:
    """The study of rows in memory."""
    rows = data.rows
    settings = asked(p, data.rows.systems, limits)
    sure = data.sure
    stored = {
        name: [rows.precision[name][f"p {label}"] for label in data.names] for name in rows.systems
    }
    threshold = threshold_of(p, probabilities=sure)
    cuts = {name: cuts_of(threshold, own) for name, own in stored.items()}
    fields, shared = row_study.of_rows(data, settings, p)
    fields |= {
        "names": data.names,
        "probabilities": sure,
        "threshold": threshold,
        "precision": stored,
    }
    held = {
        name: Rows(data.actual, score, cuts[name], **shared) for name, score in data.score.items()
    }
    return LabelsStudy(**fields, measured=LabelsInMemory(held, lambda: rows.id))


# Blocks -------------------------------------------------------------------------------------------


def of_blocks(of: Predictions, p: ClassificationParameters, limits: Limits = USUAL) -> LabelsStudy:
    """The study of a table that is read twice. Raises ParameterError if a metric needs the rows in
    memory.
    """
    t = of.table
    settings = asked(p, t.systems, limits)
    for chosen in settings.metrics:
        if not _summed(chosen):
            raise ParameterError(
                f"metrics: {chosen.label} needs all rows in memory, got {t.rows:,} rows"
            )
    sure = not of.outside
    threshold = threshold_of(p, probabilities=sure)
    each = len(of.names) * (8 * len(t.systems) + 1) + (STEPS + 1) * (len(of.names) + BESIDE_LABELS)
    if t.schema.units * each > BESIDE:  # too many numbers to keep those of each unit side by side
        t = replace(t, schema=replace(t.schema, units_split=False))
    first = _first(of, settings, threshold)
    design = layout_of(units=t.schema.unit, weights=of.scale is not None)
    counted = row_study.counted(t, first)
    rows = counted.rows
    measured = SummedLabels(t.systems, first, counted, design)
    metrics = settings.metrics
    primary = settings.metrics[0]
    every: dict[str, Any] = {name: measured.measure(primary, name, EVERY) for name in t.systems}
    leader = study.leading(
        study.ranked({name: one.value for name, one in every.items()}, primary), settings.baseline
    )
    asked_again = second_reading(measured, metrics, leader, probabilities=sure)
    measured = replace(
        measured, second=asked_again, second_summary=row_study.nameless(t).total(asked_again)
    )
    stored = {name: of.precision(name) for name in t.systems}
    fields = row_study.of_blocks(t, rows, settings, p, weighted=of.scale is not None)
    fields |= {
        "names": of.names,
        "probabilities": sure,
        "threshold": threshold,
        "precision": stored,
    }
    return LabelsStudy(**fields, measured=measured)


def _summed(chosen: MetricAtK) -> bool:
    """True if a metric can be computed from sums over rows."""
    metric = chosen.base.metric
    known = isinstance(metric.kind, (TermsKind, Combined, Share))
    return (
        known
        and not metric.columns
        and not (isinstance(metric.kind, Share) and metric.kind.selects_rows)
    )


def _first(of: Predictions, settings: Settings, threshold: float) -> LabelFirstReading:
    k = len(of.names)
    s = len(of.table.systems)
    limits = settings.limits
    primary = settings.metrics[0].base
    cuts = [cuts_of(threshold, of.precision(name)) for name in of.table.systems]
    few = row_study.few_units(of.table, limits)
    losses = tuple(
        dict.fromkeys(c.base for c in settings.metrics if isinstance(c.base.metric.kind, TermsKind))
    )
    kinds: dict[str, Any] = {chosen.label: chosen.metric.kind for chosen in settings.metrics}
    hits: dict[str, HitsOfRows] = {
        name: kind.hits for name, kind in kinds.items() if isinstance(kind, Share)
    }
    kind = primary.metric.kind
    return LabelFirstReading(
        thresholds=cuts,
        counting=CellCounter(
            classes=2, scale=of.scale, square_scale=of.squares, max_cells=FEW, max_units=few
        ),
        loss_adder=label_term_adder(losses, s, few, cuts),
        hits=hits | {TOP: top_hits},
        slice_hits={name: own for name, own in hits.items() if name == primary.label},
        slices_losses=isinstance(kind, TermsKind),
        slices_cells=isinstance(kind, Combined),
        slices_scores=isinstance(kind, Combined) and not kind.uses_decisions,
        limits=limits,
        problems=k,
        max_ids=of.table.ids_held,
    )


# What the findings are measured by ----------------------------------------------------------------


def stored(study: LabelsStudy) -> dict[str, rules.Precision]:
    """The precision of each system's scores; of each of its labels if these differ."""
    named: dict[str, rules.Precision] = {}
    for name, some in study.precision.items():
        several = [f"{name}: {label}" for label in study.names] if len(set(some)) > 1 else [name]
        named |= dict(zip(several, some, strict=False))
    return named
