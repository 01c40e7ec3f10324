"""The study of binary outcomes: two classes, and a score for each row by every system.

A table that fits into memory is held row by row. A larger one is read twice in blocks: first to
count the scores by class, then to add up the influence of the rows on the metrics.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, ParameterError
from evalkit.caching import cached
from evalkit.catalogue import lookup, score_kinds, tables
from evalkit.catalogue.kinds import TermsKind
from evalkit.catalogue.metric import Metric, MetricAtK
from evalkit.catalogue.tables import (
    BASE_RATE,
    CHANGED_BY_BASE_RATE,
    FALSE_POSITIVE_RATE,
    INTERCEPT,
    PRECISION,
    PREDICTED_RATE,
    RECALL,
    ROC_AUC,
    SLOPE,
    lift_at,
)
from evalkit.limits import USUAL_LIMITS, Limits
from evalkit.measured import classes, readings
from evalkit.measured.classes import SummedBinary
from evalkit.measured.readings import (
    UNITS,
    BinaryFirstReading,
    GroupMetric,
    MeanInfluence,
    OddScores,
    ScoreInfluence,
    SecondReading,
    odd_scores,
    score_rows,
)
from evalkit.measured.rows import RowsInMemory, TermAdder
from evalkit.metrics import calibration, counts, curves, influence
from evalkit.metrics.blocks import ALL_ROWS_GROUP, Block
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.parameters.kinds import (
    BestF1,
    Costs,
    EqualCosts,
    Reach,
    ReachPrecision,
    ReachRecall,
    ReachSpecificity,
    Threshold,
)
from evalkit.parameters.reports import ClassificationParameters
from evalkit.reading.inputs.outcomes import Outcomes, named_as_decisions
from evalkit.reading.reductions import scores
from evalkit.reading.reductions.blocks import Blocks
from evalkit.reading.tables import rules
from evalkit.reading.tables.table import Slice
from evalkit.statistics import (
    bootstrap,
    class_cells,
    consistency,
    inference,
    interval_methods,
    methods,
    statistic,
)
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.methods import RandomStream
from evalkit.statistics.statistic import KnownValue, Statistic
from evalkit.studies import labels as labels_study, row_study, score_curves, study
from evalkit.studies.reliability import FigureDetail, Reliability
from evalkit.studies.study import EVERY, Row, Settings, UnitSelection, frame, limits


@dataclass(frozen=True)
class ThresholdRule:
    """How the threshold is chosen.

    text: the rule in words. choose: returns the threshold for the counts by score of a system.
    fixed_threshold: the threshold if it does not depend on the rows, else None. costs: those that
    the rule minimises; None for any other rule.
    """

    text: str
    choose: Callable[[Counts], float]
    fixed_threshold: float | None = None
    costs: Costs | None = None

    def threshold_of(self, table: Counts, precision: rules.Precision) -> float:
        """The threshold that the rule chooses for a table of counts by score, rounded to the
        precision in which these scores are stored.
        """
        return rules.rounded(self.choose(table), precision)


def rule_of(threshold: Threshold) -> ThresholdRule:
    """Return the rule that a value of the parameter `threshold` stands for.

    >>> rule_of(ReachRecall(0.9)).text
    'recall ≥ 0.9'
    """
    match threshold:
        case BestF1():
            return ThresholdRule("best F1", curves.best_f)
        case Costs():
            return cheapest(threshold)
        case ReachPrecision():
            return _reaching(threshold, curves.for_precision)
        case ReachRecall():
            return _reaching(threshold, curves.for_recall)
        case ReachSpecificity():
            return _reaching(threshold, curves.for_specificity)
    return fixed(threshold)


def fixed(number: float) -> ThresholdRule:
    """The same threshold for every system."""
    return ThresholdRule(f"{number:.12g}", lambda c: number, number)


def cheapest(costs: Costs) -> ThresholdRule:
    """The threshold of least cost."""
    return ThresholdRule(
        f"least cost ({costs})", lambda c: curves.cheapest(c, costs.fp, costs.fn), costs=costs
    )


def _reaching(reach: Reach, choose: Callable[[Counts, float], float]) -> ThresholdRule:
    """The threshold at which a metric reaches its target. choose: counts by score and the target ->
    the threshold.
    """
    return ThresholdRule(f"{reach.metric} ≥ {reach.target:g}", lambda c: choose(c, reach.target))


# the metrics of a report that names none: of scores, and of decisions at the threshold
ORDER_METRICS = ("roc_auc", "average_precision", "ks", "log_loss", "brier")
THRESHOLD_METRICS = ("f1", "precision", "recall", "specificity", "accuracy", "mcc")
DEPTHS = (0.01, 0.05, 0.1, 0.2, 0.5)
LEAST_COST = "least cost"
BRIER, BIAS = (lookup.find_metric(name, "counts") for name in ("brier", "calibration_in_the_large"))
FITTED = {metric.name: metric for metric in (SLOPE, INTERCEPT)}
Errors = dict[str, Callable[[Counts], float]]  # of calibration, which are above 0 in every sample
GROUP_RATES = (BASE_RATE, PREDICTED_RATE, RECALL, FALSE_POSITIVE_RATE, PRECISION)
TIMES = 10  # negatives, in the figure of another base rate where none is named
BAND_SAMPLES = 3  # the key of the random numbers that draw the samples for bands, see `Study.rng`


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BinaryStudy(row_study.RowStudy):
    """The study of a table of labels and scores; the units are rows, or those that the parameter
    `unit` names.

    positive, negative: the classes. positives: the number of positive rows, unweighted. outside,
    wrong: per system, the number of scores outside 0..1, and of scores of 0 or 1 that are wrong.
    precision: the float type of each system's scores. thresholds: of each system, by the rule, in
    this type; NaN if no threshold satisfies the rule. decision_column: the column of the systems'
    own decisions, from which metrics of decisions are computed; "" if the threshold decides.
    unused_decisions: columns that are named as decisions and were not used.
    """

    rule: ThresholdRule
    costs: Costs
    positive: str
    negative: str
    positives: int
    outside: Mapping[str, int]
    wrong: Mapping[str, int]
    precision: Mapping[str, rules.Precision]
    thresholds: Mapping[str, float]
    decision_column: str = ""
    unused_decisions: tuple[str, ...] = ()

    report: ClassVar[str] = "classification"

    @property
    def listed_under(self) -> str:  # type: ignore[override]
        """The heading of the page's list of rows, empty if they are not in memory."""
        return "Row by row" if self.data else ""

    def measure(self, chosen: MetricAtK, system: str, member: UnitSelection = EVERY) -> Statistic:
        """The metric of a system on the rows `member`. A metric of decisions is NaN if a threshold
        decides and none satisfies the rule.
        """
        threshold_decides = chosen.uses_decisions and not self.decision_column
        if threshold_decides and np.isnan(self.thresholds[system]):
            level = self.settings.level
            return KnownValue(
                chosen,
                Estimate(np.nan, np.nan, np.nan, level, len(self.account), methods.UNDEFINED),
            )
        statistic: Statistic = self.measured.measure(chosen, system, member)
        return statistic

    @property
    def rechosen(self) -> bool:  # type: ignore[override]
        """True if a rule chooses the threshold; it is then chosen again on each bootstrap
        sample.
        """
        return self.rule.fixed_threshold is None and not self.decision_column

    @property
    def decided_by(self) -> str:
        """What decides, as text: the model itself, or the threshold."""
        if self.decision_column:
            return f"the model's own decisions ({self.decision_column})"
        return f"the threshold ({self.rule.text})"

    @cached_property
    def differing(self) -> dict[str, int]:
        """The number of rows on which a system's own decision differs from that of its threshold;
        empty if the systems have no decisions of their own.
        """
        if not self.decision_column:
            return {}
        differing = {}
        for name, decided_rows in self.rows_with_own_decisions.items():
            by_threshold = self._at_threshold(name).predicted
            differing[name] = int(np.count_nonzero(decided_rows.predicted != by_threshold))
        return differing

    @property
    def reversed_decisions(self) -> list[str]:
        """The systems whose own decisions contradict their scores: the rows that they decide to be
        positive have no higher mean score than the others. Empty if the systems have no decisions
        of their own.
        """
        if not self.decision_column:
            return []
        systems = []
        for name, rows in self.rows_with_own_decisions.items():
            is_positive = rows.predicted == 1
            if is_positive.all() or not is_positive.any():  # no two means to compare
                continue
            if rows.scores[is_positive].mean() <= rows.scores[~is_positive].mean():
                systems.append(name)
        return systems

    @property
    def rows_with_own_decisions(self) -> Mapping[str, Rows]:
        """The rows of each system with its own decisions, if it has any; only for rows that are in
        memory.
        """
        rows: Mapping[str, Rows] = self.measured.rows
        return rows

    def _at_threshold(self, system: str) -> Rows:
        """The rows of a system, decided by the threshold."""
        return replace(self.rows_with_own_decisions[system], decision=None)

    @frame
    def both_decisions(self) -> Iterator[Row]:
        """Yield each metric of decisions for the decisions that a column of the input gives, and
        for those that the threshold would make instead: system, metric, own, at_threshold.
        """
        for name in self.order:
            decided_rows = self.rows_with_own_decisions[name]
            rows_at_threshold = self._at_threshold(name)
            for chosen in self.settings.metrics:
                if chosen.uses_decisions:
                    row: Row = {"system": name, "metric": chosen.label}
                    row["own"] = chosen.value(decided_rows)
                    row["at_threshold"] = chosen.value(rows_at_threshold)
                    yield row

    def rows_in(self, block: Block, system: int) -> Rows:
        """The rows of a block with the scores and threshold of a system, by its number."""
        return block.rows(system).at_threshold(self.thresholds[self.systems[system]])

    def _tables(self, system: str, group: int = ALL_ROWS_GROUP) -> score_kinds.Tables:
        """What holds the counts by score of a system: its rows, or if these are not in memory the
        bins of its scores in a group (all rows, or a slice by number).
        """
        measured = self.measured
        if isinstance(measured, SummedBinary):
            return measured.scores(group, measured.systems.index(system), classes.ONLY_PROBLEM)
        rows: score_kinds.Tables = measured.rows[system]
        return rows

    def table(self, system: str) -> Counts:
        """The counts of a system by score, over all rows."""
        return self._tables(system).counts

    @property
    def base_rate(self) -> float:
        """The share of positive rows, by weight."""
        return float(counts.base_rate(self.table(self.systems[0])))

    @property
    def majority(self) -> float:
        """The accuracy of always predicting the larger class."""
        return float(counts.majority(self.table(self.systems[0])))

    @property
    def smaller_class(self) -> int:
        """The number of rows of the smaller class."""
        return min(self.positives, len(self.account) - self.positives)

    def probability_counts(self, system: str) -> Counts:
        """The counts of a system by score, for metrics of probabilities: where scores were pooled,
        each bin has a score from its middle in place of its lowest.
        """
        return self._tables(system).midpoint_counts

    @property
    def counts_by_system(self) -> dict[str, Counts]:
        """The counts of every system, best first."""
        return {name: self.table(name) for name in self.order}

    @cached_property
    def binned(self) -> Mapping[str, readings.Binned]:
        """The tables of the systems whose distinct scores were pooled in bins; empty if every
        score was counted exactly.
        """
        binned = {}
        for name in self.systems:
            tables = self._tables(name)
            # `pools_scores` is True for each bin of several distinct scores
            if isinstance(tables, readings.Binned) and tables.pools_scores.any():
                binned[name] = tables
        return binned

    @cached_property
    def repeated(self) -> int | None:
        """The number of rows with the same label and scores as another row; None if this is
        unknown.
        """
        # one system's counts by score tell the number, also in blocks, unless scores are pooled
        if len(self.systems) == 1 and not self.weighted and not self.binned:
            table = self.table(self.systems[0])
            # rows with the same label and score are counted at one place
            distinct = np.count_nonzero(table.positive) + np.count_nonzero(table.negative)
            return len(self.account) - int(distinct)
        if self.data is None:
            return None
        scores = list(self.data.score.values())
        rows = np.column_stack([self.data.actual, *scores])  # (rows, 1 + systems)
        ordered = rows[np.lexsort(rows.T)]  # equal rows are neighbours
        equals_previous = (ordered[1:] == ordered[:-1]).all(axis=1)
        return int(equals_previous.sum())

    def has_one_class(self, slice_: Slice) -> bool:
        """True if the rows of a slice are all positive or all negative."""
        if self.data:
            return len(np.unique(self.data.actual[slice_.member])) < 2
        table = self._tables(self.systems[0], slice_.member).counts
        return not (table.positives and table.negatives)

    @property
    def group_metrics(self) -> list[MetricAtK]:
        """The rates by which groups are compared, then the metrics of the report. Among the rates
        are the mean error of probabilities and AUC, unless all scores are 0 or 1: such scores are
        decisions, which have neither.
        """
        metrics = [MetricAtK(metric) for metric in GROUP_RATES]
        if not self.scores_are_decisions:
            if self.probabilities:
                metrics.append(BIAS)
            metrics.append(MetricAtK(ROC_AUC))
        metrics += self.settings.metrics
        return list(dict.fromkeys(metrics))

    @property
    def scores_are_decisions(self) -> bool:
        """True if all scores are 0 or 1: they are neither probabilities nor rank the rows."""
        if self.data is None:
            return False
        return all(np.isin(score, (0, 1)).all() for score in self.data.score.values())

    def resample(self, system: str) -> list[Counts]:
        """The counts by score of a system on each of some bootstrap samples. A sample draws rows,
        or whole units (single rows without units) if rows are clustered or weighted. The latter
        needs the rows in memory: in blocks the list is then empty.
        """
        rng = self.rng(BAND_SAMPLES)
        resamples = self.settings.limits.bands
        if self.plain:
            # samples of independent, unweighted rows can be drawn from the counts by score alone;
            # neighbouring scores are pooled first, so that fewer counts are drawn
            table = influence.pooled(self.probability_counts(system))
            return list(bootstrap.counts_of_resamples(table, rng=rng, resamples=resamples))
        if isinstance(self.measured, SummedBinary):  # the rows are not in memory
            return []
        rows = self.measured.rows[system]
        return list(bootstrap.resampled_units(rows, rng=rng, resamples=resamples))

    @property
    def has_bands(self) -> bool:
        """True if curves have confidence bands: from tables, only independent, unweighted rows can
        be resampled.
        """
        return self.plain or self.data is not None

    @property
    def band_methods_text(self) -> str:
        """How the bands of curves were computed, or why there are none, as a text of the page."""
        if self.has_bands:
            resamples = self.settings.limits.bands
            return (
                f"pointwise: quantiles of {resamples} resamples at each place; the whole curve may "
                f"leave them"
            )
        varied = (
            f"rows vary by {self.unit_name} or weight, and resampling them would take the rows "
            f"again and again"
        )
        return f"none, nor limits of calibration, gains and other base rates: {varied}"

    @property
    def probabilities(self) -> bool:
        """True if every score of every system lies in 0..1."""
        return not any(self.outside.values())

    # Decisions

    @frame
    def decisions(self) -> Iterator[Row]:
        """Yield what each system decides: system, threshold (NaN if the system decides itself), the
        four counts tp, fp, fn and tn, and the mean cost of a row.
        """
        for name in self.order:
            if self.decision_column:
                threshold = np.nan
                # counted as scores, the decisions are 0 and 1, and 1 is their threshold
                decided = counts.at(self.rows_with_own_decisions[name].decision_counts, 1.0)
            else:
                threshold = self.thresholds[name]
                decided = counts.at(self.table(name), threshold)
            yield {
                "system": name,
                "threshold": threshold,
                "tp": decided.tp.item(),
                "fp": decided.fp.item(),
                "fn": decided.fn.item(),
                "tn": decided.tn.item(),
                "cost": float(curves.cost(decided, self.costs.fp, self.costs.fn)),
            }

    @cached_property
    def sweep(self) -> pd.DataFrame:
        """What each system decides over the thresholds: system, threshold, and the columns of
        `_decision_metrics`.

        The thresholds are those that a figure needs, from none predicted positive to all, and among
        them the threshold in use, that of the best F1, and that of the least cost.
        """
        frames = []
        for name in self.order:
            # the counts by score, with a threshold of infinity, at which no row is positive
            table = curves.from_none(self.table(name))
            metrics = self._decision_metrics(table)
            frame = pd.DataFrame({"system": name, "threshold": table.threshold} | metrics)
            frames.append(frame[self._in_sweep(name, table.threshold, metrics)])
        return pd.concat(frames, ignore_index=True)

    def _in_sweep(self, name: str, threshold: Floats, metrics: Mapping[str, Floats]) -> Bools:
        """A mask of the thresholds of a system that the figures need: enough of them to draw the
        lines, and those that a rule chooses.

        threshold: all distinct ones, descending. metrics: the values of `_decision_metrics` at each
        threshold.
        """
        # One figure draws the cost over the share predicted positive, another one three metrics
        # over the threshold. `points_to_draw` leaves out points too near to others to be seen.
        is_needed = curves.points_to_draw(metrics["predicted"], metrics["cost"])
        for metric in ("precision", "recall", "f1"):
            is_needed |= curves.points_to_draw(threshold, metrics[metric])
        is_of_system = self.choices["system"] == name
        chosen = np.array([self.thresholds[name], *self.choices["threshold"][is_of_system]])
        chosen = chosen[~np.isnan(chosen)]  # a rule that no threshold satisfies chooses NaN
        # A chosen threshold need not be in the table. The lowest threshold of the table that is not
        # below it decides alike, as no score lies between the two. `searchsorted` needs ascending
        # numbers, hence the minus signs.
        index = np.searchsorted(-threshold, -chosen, side="right") - 1
        is_needed[index] = True
        return is_needed

    @frame
    def choices(self) -> Iterator[Row]:
        """Yield the threshold that each rule would choose for each system: system, rule, threshold,
        and the columns of `_decision_metrics`.
        """
        rules = [
            rule_of(BestF1()),
            replace(cheapest(self.costs), text=LEAST_COST),
            rule_of(ReachPrecision(0.9)),
            rule_of(ReachRecall(0.9)),
        ]
        for name in self.order:
            table = self.table(name)
            threshold_by_rule = {f"used: {self.rule.text}": self.thresholds[name]}
            threshold_by_rule |= {rule.text: rule.choose(table) for rule in rules}
            for rule, threshold in threshold_by_rule.items():
                metrics = self._decision_metrics(counts.at(table, threshold))
                numbers = {metric: float(value) for metric, value in metrics.items()}
                yield {"system": name, "rule": rule, "threshold": threshold} | numbers

    def _decision_metrics(self, table: Counts) -> dict[str, Floats]:
        """The share predicted positive, precision, recall, F1 and mean cost at each threshold of a
        table: predicted, precision, recall, f1, cost.
        """
        return {
            "predicted": counts.predicted_rate(table),
            "precision": counts.precision(table),
            "recall": counts.recall(table),
            "f1": counts.f_score(table),
            "cost": curves.cost(table, self.costs.fp, self.costs.fn),
        }

    # Curves

    @cached
    def _bands_of(self, name: str) -> dict[str, pd.DataFrame]:
        """The bands of the curves of one system by kind (roc, pr), with the columns of
        `score_curves.band`; empty if nothing was resampled. The samples themselves are not kept.
        """
        resamples = self.resample(name)
        if not resamples:
            return {}
        return {
            kind: score_curves.band(name, resamples, kind, level=self.settings.level)
            for kind in score_curves.HEIGHTS_ON_GRID
        }

    def metric_with_limits(self, metric: Metric, system: str) -> dict[str, float]:
        """A metric of a system that is not in the table of metrics: value, low, high. The limits
        are NaN for clustered or weighted rows that are read in blocks: their variance needs the
        influence of each row, which is added up only for the metrics of the report.
        """
        statistic = self.measure(MetricAtK(metric), system)
        if not (self.plain or self.data):
            return _without_limits(statistic.value)
        return limits(
            inference.estimate(statistic, self.inference_options(RandomStream.FURTHER_METRICS))
        )

    @property
    def both_classes(self) -> bool:
        """True if both classes occur, so that there are curves."""
        return 0 < self.positives < len(self.account)

    @cached
    def curve(self, kind: str) -> pd.DataFrame:
        """The points of one kind of curve for each system: x, y, threshold."""
        return score_curves.curve(self.counts_by_system, kind)

    def curve_points(self, kind: str) -> pd.DataFrame:
        """Points of a kind of curve for each system; all are exact, and neighbours differ by at
        most 1/40.
        """
        return score_curves.curve(self.counts_by_system, kind, score_curves.JSON_CELLS)

    def bands(self, kind: str, systems: Sequence[str] | None = None) -> pd.DataFrame | None:
        """Pointwise limits of a kind of curve on a grid, the rows of `score_curves.band` of each
        system; None if there was no resampling.

        systems: None for all, best first.
        """
        if systems is None:
            systems = self.order
        bands_of_systems = [self._bands_of(name) for name in systems]
        frames = [bands[kind] for bands in bands_of_systems if bands]
        return pd.concat(frames, ignore_index=True) if frames else None

    @cached_property
    def crossings(self) -> pd.DataFrame:
        """For each pair of the family the x at which its curves of a kind cross, or else which
        system is above.
        """
        return score_curves.crossings(self.counts_by_system, self.pairs)

    @property
    def other_base_rate(self) -> float:
        """The other base rate: `prevalence`, or the one with ten times as many negatives."""
        if self.p.prevalence:
            return float(self.p.prevalence)
        table = self.table(self.order[0])
        return float(table.positives / (table.positives + TIMES * table.negatives))

    @frame
    def metrics_by_base_rate(self) -> Iterator[Row]:
        """Yield average precision, and precision and F1 at the threshold, in the data and at the
        other base rate: system, base_rate, metric, value, low, high.
        """
        for name in self.order:
            # `at_rate` makes the metric that estimates the same metric at another base rate
            for metric, at_rate in CHANGED_BY_BASE_RATE:
                row = {"system": name, "base_rate": self.base_rate, "metric": metric.name}
                yield row | self.metric_with_limits(metric, name)
                row["base_rate"] = self.other_base_rate
                yield row | self.metric_with_limits(at_rate(self.other_base_rate), name)

    @frame
    def gains(self) -> Iterator[Row]:
        """Yield the lift, recall and precision among the rows with the highest scores of each
        system, at each of `DEPTHS`: system, depth (the share of the rows that are among them),
        value, low, high (of the lift), recall, precision. Rows tied at the cut-off count in
        proportion.
        """
        for name in self.order:
            table = self.table(name)
            for depth in DEPTHS:
                top = curves.at_depth(table, depth * table.total)  # the counts at this depth
                row = {"system": name, "depth": depth} | self.metric_with_limits(
                    lift_at(depth), name
                )
                row["recall"] = float(counts.recall(top))
                row["precision"] = float(counts.precision(top))
                yield row

    # Probabilities

    @cached_property
    def reliability(self) -> pd.DataFrame:
        """Share of positives and number of rows by tenths of the score, with Wilson limits if rows
        are plain.
        """
        return self.tenths_of(self._chances)

    @cached_property
    def isotonic(self) -> Reliability:
        """The reliability of each system by isotonic regression, without bins."""
        return self.isotonic_of(self._chances, 6, FigureDetail())

    @property
    def _chances(self) -> dict[str, Counts]:
        """The counts of each system for metrics of probabilities, best first; see
        `probability_counts`."""
        return {name: self.probability_counts(name) for name in self.order}

    @frame
    def calibration(self) -> Iterator[Row]:
        """Yield the calibration of each system: system, part, value, low, high, expected, p.

        part: the name of a number: brier = miscalibration − discrimination + uncertainty; ece_10;
        for independent, unweighted rows ece_10_debiased; bias (the mean error); slope and intercept
        of logistic recalibration.

        Miscalibration and ECE are above 0 in every sample, even under perfect calibration. In place
        of limits they have expected, the value under perfect calibration, and p, of a test of
        perfect calibration. Discrimination is too high in every sample as well; it has neither
        limits nor a test.
        """
        error_of: Errors = {
            "miscalibration": calibration.miscalibration,
            "ece_10": calibration.ece_10,
        }
        for name in self.order:
            table = self.probability_counts(name)  # its counts by score
            for part, number in self._calibration_numbers(name, table, error_of).items():
                perfect = consistency.UNKNOWN  # NaN: the other parts are not tested
                if part in error_of:
                    perfect = self.perfect(table, error_of[part])
                row = {"system": name, "part": part} | number
                yield row | {"expected": perfect.expected, "p": perfect.p}

    def _calibration_numbers(
        self, name: str, table: Counts, error_of: Errors
    ) -> dict[str, dict[str, float]]:
        """The numbers of `calibration` for one system, by name: value, low, high.

        name: of the system. table: its counts by score. error_of: the functions that compute the
        errors of calibration, by name.
        """
        parts = calibration.decompose(table)
        base_rate = self.metric_with_limits(BASE_RATE, name)
        uncertainty_limits = _limits_of_uncertainty(base_rate["low"], base_rate["high"])
        numbers = {
            "brier": self.loss(BRIER, name),
            "miscalibration": _without_limits(error_of["miscalibration"](table)),
            "discrimination": _without_limits(parts.discrimination),
            "uncertainty": {"value": parts.uncertainty} | uncertainty_limits,
            "ece_10": _without_limits(error_of["ece_10"](table)),
        }
        if self.plain:  # the debiased error assumes independent, unweighted rows
            debiased = calibration.ece_debiased(calibration.bins_uniform(table))
            numbers["ece_10_debiased"] = _without_limits(debiased)
        numbers["bias"] = self.loss(BIAS, name)
        for coefficient, metric in FITTED.items():
            numbers[coefficient] = self.metric_with_limits(metric, name)
        return numbers

    def loss(self, chosen: MetricAtK, name: str) -> dict[str, float]:
        """A metric that is the mean of a loss of each row: value, low, high. The limits are NaN if
        they are not known. name: of the system.
        """
        # with rows in memory, or if it was added up row by row as a metric of the report
        if self.data or chosen in self.settings.metrics:
            return limits(self.estimate(chosen, name))
        # In blocks, any other loss is computed from the counts by score. They determine its value,
        # but not its variance if rows are clustered or weighted.
        table = self.probability_counts(name)
        estimate = interval_methods.mean_of_table(chosen, table, level=self.settings.level)
        if not self.plain:
            return _without_limits(estimate.value)
        return limits(estimate)

    def constant(self, chosen: MetricAtK) -> float:
        """The metric of a system that knows nothing of the rows: a metric of decisions if the
        larger class is always predicted, any other metric if each row has the base rate as score.
        """
        table = self.table(self.systems[0])  # any system: labels are the same for all
        # at this threshold the larger class is always predicted: scores reach −∞, but not ∞
        threshold = -np.inf if table.positives > table.negatives else np.inf
        if not chosen.base.metric.needs_table_only:  # it needs more than counts by score
            return self._constant_of_rows(chosen, threshold)
        if chosen.uses_decisions:
            return chosen.value_at(table, threshold)
        # the counts by score of a system that gives each row the base rate: a single score, which
        # all positives and negatives reach
        counts_of_constant = Counts(
            threshold=np.array([self.base_rate]),
            tp=np.array([table.positives]),
            fp=np.array([table.negatives]),
            positives=table.positives,
            negatives=table.negatives,
        )
        return chosen.value_at(counts_of_constant)

    def _constant_of_rows(self, chosen: MetricAtK, threshold: float) -> float:
        """What `constant` returns, for a metric that counts by score do not determine, such as one
        within units. threshold: at which the larger class is always predicted.
        """
        first_system = self.systems[0]  # any system: labels are the same for all
        if self.data is None:
            # In blocks, only metrics of the order within units need rows. A constant score ties all
            # rows of a unit: each unit with both classes has the value ½. There is such a unit if
            # the metric of a system is defined.
            is_defined = np.isfinite(self.measure(chosen, first_system).value)
            return 0.5 if is_defined else np.nan
        rows = self.rows_with_own_decisions[first_system]
        if chosen.uses_decisions:
            # without decisions of their own (`decision`), rows are decided by the threshold
            return chosen.value(replace(rows, threshold=threshold, decision=None))
        constant_score = np.full(len(self.account), self.base_rate)
        return chosen.value(replace(rows, score=constant_score))


def _without_limits(value: float) -> dict[str, float]:
    """The columns of a number whose limits are not known."""
    return {"value": value, "low": np.nan, "high": np.nan}


def _limits_of_uncertainty(low: float, high: float) -> dict[str, float]:
    """The limits of the uncertainty r (1 − r), which is largest at r = ½, from those of the base
    rate r.
    """
    at_low = low * (1 - low)
    at_high = high * (1 - high)
    largest = 0.25 if low < 0.5 < high else max(at_low, at_high)
    return {"low": min(at_low, at_high), "high": largest}


# From rows at hand, and from blocks ---------------------------------------------------------------

# what an error says of a metric within units if no unit is named
UNITS_NEEDED = "units to rank rows within; set unit='COLUMN', such as the user"
# those that rank the rows within each unit
UNIT_METRICS = [
    MetricAtK(metric) for metric in tables.COUNTS.values() if metric.needs == tables.OF_UNITS
]


@dataclass(frozen=True, eq=False)
class CheckedParameters:
    """The parameters of a binary study, checked.

    rule: how a threshold is chosen. costs: those of both errors. is_single: True if there is one
    system.
    """

    settings: Settings
    rule: ThresholdRule
    costs: Costs
    is_single: bool

    @property
    def choice(self) -> bootstrap.ThresholdChoice | None:
        """How thresholds are chosen again on samples, the same for all systems; None if the
        threshold is fixed.
        """
        if self.rule.fixed_threshold is not None:
            return None
        new_rng = partial(study.random, self.settings.seed, 7)
        return bootstrap.ThresholdChoice(self.rule.choose, self.settings.limits.bands, new_rng)

    def redraw(self, rows: Rows) -> Callable[[], counts.RechosenCounts] | None:
        """A function that returns the counts of the decisions on bootstrap samples of these rows,
        at the threshold that is chosen anew on each, and draws them once; None if the threshold is
        fixed.
        """
        if self.choice is None:
            return None
        if self.is_single and rows.plain:  # the counts by score tell all
            return cache(partial(self.choice.from_table, rows.counts))
        return cache(partial(self.choice.from_rows, rows))


def checked_parameters(
    systems: tuple[str, ...], outside: str, p: ClassificationParameters, limits: Limits
) -> CheckedParameters:
    """Check the parameters of the report against the table. Raises ParameterError for a metric that
    cannot be computed from this table.

    systems: those of the table. p: the parameters as the user gave them. outside: describes a score
    outside 0..1 and its place, "" if all scores may be probabilities. limits: of time and memory.
    """
    lacks = {}  # what a metric may need and this table lacks -> the need in the words of the error
    if outside:
        lacks["probabilities"] = f"probabilities, {outside}"
    if not p.unit:
        lacks[tables.OF_UNITS] = UNITS_NEEDED
    # those of `p.metrics`, or by default the usual ones that this table allows
    usual = ORDER_METRICS + THRESHOLD_METRICS
    chosen = lookup.find_computable(p.metrics, "counts", usual, lacks)
    settings = row_study.classification_settings(p, chosen, systems, limits)
    threshold = p.threshold
    if threshold is None:  # ½ is a threshold for probabilities alone
        threshold = BestF1() if outside else 0.5
    rule = rule_of(threshold)
    # the costs that the threshold minimises, if it does, are also those that the page reports
    costs = rule.costs or p.costs or EqualCosts()
    return CheckedParameters(settings, rule, costs, is_single=len(systems) == 1)


def of_rows(
    data: Outcomes, p: ClassificationParameters, limits: Limits = USUAL_LIMITS
) -> BinaryStudy:
    """The study of rows in memory.

    If the input has a column of decisions, metrics of decisions are computed from it; but if the
    user sets a threshold, this decides, and the column is unused.
    """
    checked = checked_parameters(data.rows.systems, data.outside, p, limits)
    arguments = row_study.arguments_from_rows(data, checked.settings, p)
    # the float type in which each system's scores are stored, to which its threshold is rounded
    score_types = {name: by_column["score"] for name, by_column in data.rows.precision.items()}
    decisions = data.decision  # of all systems, or empty if the input has no column of decisions
    if p.threshold is not None:  # the threshold takes their place
        decisions = {}
    thresholds = {}
    rows_at_threshold = {}
    for name, score in data.score.items():
        rows = Rows(data.actual, score, decision=decisions.get(name), **arguments.rows)
        thresholds[name] = checked.rule.threshold_of(rows.counts, score_types[name])
        redraw = None  # decisions of a column are the same on every sample
        if not decisions:
            # chooses the threshold again on bootstrap samples of the rows; None if it is fixed
            redraw = checked.redraw(rows)
        rows_at_threshold[name] = rows.at_threshold(thresholds[name], redraw)
    decision_column = data.rows.columns["predicted"] if decisions else ""
    unused = data.unused_decisions  # columns that are named as decisions and were not read
    was_replaced = data.decision and not decisions  # by the threshold of the user
    if was_replaced and not unused:
        unused = (data.rows.columns["predicted"],)
    fields = arguments.study | {
        "decision_column": decision_column,
        "unused_decisions": unused,
        "measured": RowsInMemory(rows_at_threshold, lambda: data.rows.id),
        "precision": score_types,
        "thresholds": thresholds,
    }
    is_positive = data.actual == 1
    odd = {name: odd_scores(score, is_positive) for name, score in data.score.items()}
    return _study(fields, checked, data.names, int(data.actual.sum()), odd)


def _study(
    fields: row_study.Arguments,
    checked: CheckedParameters,
    names: Sequence[str],
    positives: int,
    odd: Mapping[str, OddScores],
) -> BinaryStudy:
    """The study, from what is the same for rows in memory and for blocks, and the other `fields`.

    fields: name -> value of the fields of `BinaryStudy` that differ between rows in memory and
    blocks. names: of the negative and of the positive class, in this order. positives: the number
    of positive rows. odd: for each system the number of scores outside 0..1, and the number of
    scores of 0 or 1 whose row is of the other class.
    """
    return BinaryStudy(
        **fields,
        positive=names[1],
        negative=names[0],
        positives=positives,
        rule=checked.rule,
        costs=checked.costs,
        outside={name: scores.outside for name, scores in odd.items()},
        wrong={name: scores.certain_errors for name, scores in odd.items()},
    )


def of_blocks(
    data: scores.Predictions, p: ClassificationParameters, limits: Limits = USUAL_LIMITS
) -> BinaryStudy:
    """The study of a table that is read in blocks: once to count the scores, and again where
    numbers need the influence of rows, which depends on all scores.

    Raises ParameterError for a metric that needs all rows in memory, for a metric within units if
    there are more than `UNITS` units, and for a loss that is not finite on some rows.
    """
    table = data.table
    checked = checked_parameters(table.systems, data.outside, p, limits)
    settings = checked.settings
    # the metrics of the report that rank the rows within each unit, such as GAUC
    unit_metrics = [chosen for chosen in settings.metrics if chosen in UNIT_METRICS]
    _refuse_metrics_of_all_rows(settings.metrics, table.rows)
    if unit_metrics:  # the rows of a unit can only be ranked if all of them are in one block
        table = table.with_whole_units
    first = _first_reading(data, checked, unit_metrics, limits)
    summary = row_study.first_summary(table, first).binned  # the table is read here
    if unit_metrics:
        units = summary.kind_sums.unit_terms[ALL_ROWS_GROUP].n
        if units > UNITS:
            raise ParameterError(
                f"metrics: {unit_metrics[0].label} needs the value of each {settings.unit}, of "
                f"{UNITS:,} at most, got {units:,}"
            )
    # The float type of each system's scores, to which its threshold is rounded. `precision` has a
    # type per column of predictions; with two classes there is one column, the score.
    score_types = {name: data.precision(name)[0] for name in table.systems}
    has_weights = data.scale is not None
    measured = SummedBinary(
        systems=table.systems,
        first=first,
        summary=summary,
        layout=statistic.layout_of(units=table.schema.unit, weights=has_weights),
        threshold_of=lambda name, counts: checked.rule.threshold_of(counts, score_types[name]),
        choice=checked.choice,
    )
    measured.refuse_partial_losses()
    second = _second_reading(data, checked, measured)
    if second:  # None if the first reading is enough
        second_summary = _table_of_second_reading(table, second).total(second)
        measured = replace(measured, second=second, second_summary=second_summary)
    # the keyword arguments of any study of blocks, then those of a binary one alone
    fields = row_study.arguments_from_blocks(table, summary.rows, settings, p, weighted=has_weights)
    fields |= {
        "measured": measured,
        "precision": score_types,
        "thresholds": measured.thresholds,
        "unused_decisions": named_as_decisions(table.unused_columns),
    }
    # per system the number of scores outside 0..1, and of scores of 0 or 1 that are wrong
    outside = summary.kind_sums.outside.sums.tolist()
    certain_errors = summary.kind_sums.certain_errors.sums.tolist()
    odd = dict(zip(table.systems, map(OddScores, outside, certain_errors), strict=True))
    return _study(fields, checked, data.names, summary.kind_sums.positives, odd)


def _refuse_metrics_of_all_rows(metrics: Sequence[MetricAtK], rows: int) -> None:
    """Raise ParameterError for a metric that cannot be computed in blocks: neither from the counts
    by score, nor from the rows of each unit. Such a metric needs a further column, such as an
    amount. rows: their number, for the error.
    """
    for chosen in metrics:
        if not (chosen.base.metric.needs_table_only or chosen in UNIT_METRICS):
            columns = " and ".join(chosen.metric.columns)
            raise ParameterError(
                f"metrics: {chosen.label} is computed from the column {columns}, which needs all "
                f"rows in memory, got {rows:,} rows"
            )


def _table_of_second_reading(table: Blocks, second: SecondReading) -> Blocks:
    """The table with as few columns as the second reading needs: without the names of rows, and
    without ids unless the rows of the systems are joined by them. If the threshold is chosen again
    on bootstrap samples, which draw random parts of the rows, each row has a key for its part.
    """
    table = row_study.without_row_names(table)
    if table.paired:  # each row is of one system: every reading joins them by id, which is a key
        return table
    schema = replace(table.schema, id=None)  # ids were checked for duplicates in the first reading
    chooses_again = len(second.candidates) > 0
    if chooses_again:
        # the key is the number of the row, or its hash (`drawn`) if the engine numbers no rows
        can_number = table.engine.dialect.row_number is not None
        schema = replace(schema, numbered=can_number, drawn=not can_number)
    return replace(table, schema=schema)


def _first_reading(
    data: scores.Predictions,
    checked: CheckedParameters,
    unit_metrics: Sequence[MetricAtK],
    limits: Limits,
) -> BinaryFirstReading:
    """What the first reading of the table computes: it counts the rows by class and score, adds up
    the losses that are metrics of the report, and ranks the rows within units for `unit_metrics`.

    checked: the parameters of the report. limits: of time and memory.
    """
    systems = data.table.systems
    metrics = checked.settings.metrics
    primary = metrics[0]
    # up to so many units the sums of each unit are kept
    max_units = row_study.max_single_units(data.table, limits)
    losses = []  # the metrics that are means of a loss of each score, such as the Brier score
    for chosen in metrics:
        is_mean_loss = isinstance(chosen.base.metric.kind, TermsKind)
        # a metric of decisions follows from their counts, without a sum of losses
        if is_mean_loss and chosen not in unit_metrics and not chosen.uses_decisions:
            losses.append(chosen.base)
    unique_losses = list(dict.fromkeys(losses))  # a metric may be chosen several times
    return BinaryFirstReading(
        cell_counter=class_cells.CellCounter(
            classes=2,
            scale=data.scale,
            square_scale=data.squares,
            max_cells=labels_study.MAX_CELLS,
            max_units=max_units,
        ),
        loss_adder=TermAdder.uncentred_term_adder(
            unique_losses, len(systems), max_units, score_rows
        ),
        limits=limits,
        max_ids=data.table.ids_held,
        exact_thresholds=_exact_thresholds(data, checked.rule),
        unit_metrics=unit_metrics,
        # slices have the primary metric alone
        slices_losses=primary.base in unique_losses,
        unit_metrics_in_slices=primary in unit_metrics,
    )


def _exact_thresholds(data: scores.Predictions, rule: ThresholdRule) -> list[float] | None:
    """The threshold of each system, rounded as its scores are, if it is known before the reading;
    else None. The reading may pool scores in bins. It begins a bin at these thresholds, so that the
    decisions at them are counted exactly.
    """
    if rule.fixed_threshold is None:
        return None
    thresholds = []
    for name in data.table.systems:
        score_type = data.precision(name)[0]  # of the only column of predictions
        thresholds.append(rules.rounded(rule.fixed_threshold, score_type))
    return thresholds


def _second_reading(
    data: scores.Predictions, checked: CheckedParameters, measured: SummedBinary
) -> SecondReading | None:
    """What a second reading of the table adds up; None if the first reading, whose results are
    `measured`, is enough. A second one adds up the influence of each row on a metric of the order
    of scores, which depends on all scores, and counts decisions at thresholds that were chosen from
    all scores.
    """
    # The variance of one system's metrics on independent, unweighted rows follows from its counts
    # by score. That of a difference does not: they do not tell which scores two systems give a row.
    if measured.plain and checked.is_single:
        return None
    choice = checked.choice  # how samples choose the threshold again; None if it is fixed
    metrics_by_group = {}  # number of all rows or of a slice -> metrics that the second reading has
    for group in sorted(measured.groups):
        metrics = checked.settings.metrics
        if group != ALL_ROWS_GROUP:  # slices have the primary metric alone
            metrics = metrics[:1]
        needing_second = [chosen.base for chosen in metrics if _needs_second_reading(chosen)]
        # without such a metric, all rows are still read again if samples choose the threshold
        if needing_second or (choice is not None and group == ALL_ROWS_GROUP):
            metrics_by_group[group] = needing_second
    if not metrics_by_group:
        return None
    influences = dict[GroupMetric, MeanInfluence]()
    for group, needing_second in metrics_by_group.items():
        for chosen in needing_second:
            if not chosen.uses_decisions:  # one of decisions follows from the counts of decisions
                influences[GroupMetric(group, chosen.label)] = _influence(chosen, group, measured)
    second = SecondReading(
        first=measured.first,
        plain=measured.plain,
        means=influences,
        # one array per system, of one threshold, as two classes are one problem
        thresholds=[np.array([threshold]) for threshold in measured.thresholds.values()],
        decision_groups=list(metrics_by_group),
    )
    if choice is None:
        return second
    # Bootstrap samples choose the threshold among these candidates. To draw samples without the
    # rows, the reading puts the rows into random parts, of which each sample draws whole ones.
    candidates = _candidates(choice, data, measured)
    return replace(second, candidates=candidates, parts=bootstrap.MAX_PARTS)


def _influence(chosen: MetricAtK, group: int, measured: SummedBinary) -> MeanInfluence:
    """The influence of the rows of a group on a metric of the scores of each system: as on a mean
    over problems of which there is only one, with a variance for each of the two classes.
    """
    tables = []
    for i in range(len(measured.systems)):
        scores_of_system = measured.scores(group, i, classes.ONLY_PROBLEM)
        tables.append([ScoreInfluence.from_table(chosen, scores_of_system)])
    return MeanInfluence(tables=tables, shares=np.ones(1), n_strata=2)


def _candidates(
    choice: bootstrap.ThresholdChoice, data: scores.Predictions, measured: SummedBinary
) -> list[Floats]:
    """For each system the thresholds among which a rule chooses on bootstrap samples, highest
    first. They are a few of its distinct scores, as the second reading adds up the rows at every
    candidate.

    choice: the rule. data: the table. measured: the counts by score, from the first reading.
    """
    # How far choices spread depends on the number of independent units: rows if there are none.
    # With more units than can be held their number is unknown (0), and that of rows stands for it.
    units = data.table.schema.units or measured.summary.rows
    candidates = []
    for i in range(len(measured.systems)):
        table = measured.scores(ALL_ROWS_GROUP, i, classes.ONLY_PROBLEM).counts
        candidates.append(choice.candidates(table, units=units))
    return candidates


def _needs_second_reading(chosen: MetricAtK) -> bool:
    """True for a metric of decisions, and for one of the order of scores, such as AUC. A mean loss
    was added up in the first reading, as was a metric within units.
    """
    metric = chosen.base.metric
    is_mean_loss = isinstance(metric.kind, TermsKind)
    return metric.needs_table_only and (chosen.base.uses_decisions or not is_mean_loss)
