"""The classification study: reads the input and makes the study of its kind, binary, multi-class or multi-label.

Binary studies are made here, of rows in memory and of tables read in blocks; `classes` and `labels` have the others.
The last part computes what the findings of the report state.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, partial
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup, score_kinds, tables
from evalkit.catalogue.metric import Chosen
from evalkit.limits import USUAL, Limits
from evalkit.measured.classes import SummedRows
from evalkit.measured.readings import UNITS, ByMoves, ByScore, Mean, Place, outside, ranked, score_rows
from evalkit.measured.rows import HeldRows, Terms
from evalkit.metrics import calibration, counts, curves, grid
from evalkit.metrics.rows import Rows
from evalkit.parameters.kinds import BestF1, Costs, EqualCosts, Threshold
from evalkit.parameters.reports import Classification, attributes, reader
from evalkit.reading.engines import backends
from evalkit.reading.inputs.outcomes import Outcomes, Predicted
from evalkit.reading.reductions import scores
from evalkit.reading.tables import rules, sources
from evalkit.statistics import class_cells, methods, significance, statistic
from evalkit.statistics.bootstrap import redrawn
from evalkit.studies import classes, diagnostics, labels as labels_study, row_study, study
from evalkit.studies.binary import AT, ORDER, BinaryStudy, Rule, rule_of
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.study import Row, Settings, framed

OF_UNITS = "units to rank rows within; set unit='COLUMN', such as the user"
NOTHING = counts.count([], [])
WITHIN = [Chosen(metric) for metric in tables.COUNTS.values() if metric.needs == tables.OF_UNITS]


@dataclass(frozen=True, eq=False)
class Asked:
    """The parameters of a binary study, checked."""

    settings: Settings
    rule: Rule
    costs: Costs

    def redraw(self, rows: Rows) -> Callable[[], counts.Counts] | None:
        """A function to the counts on bootstrap samples, the same for all systems; None if the threshold is fixed."""
        drawn: Any = {"rng": study.random(self.settings.seed, 7), "samples": self.settings.limits.bands}
        return None if self.rule.fixed is not None else cache(partial(redrawn, rows, self.rule.choose, **drawn))


def asked(systems: tuple[str, ...], outside: str, p: Classification, limits: Limits) -> Asked:
    """The parameters, checked. outside: describes a score outside 0..1 and its place, "" if there is none."""
    lacks = {"probabilities": f"probabilities, {outside}"} if outside else {}
    lacks |= {} if p.unit else {"scores of units": OF_UNITS}
    chosen = lookup.possible(p.metrics, "counts", (*ORDER, *AT), lacks)
    settings = study.settings(p, chosen, unit=p.unit, segments=p.segments, limits=limits).checked(systems)
    usual: Threshold = BestF1() if outside else 0.5
    rule = rule_of(usual if p.threshold is None else p.threshold)
    return Asked(settings, rule, rule.costs or p.costs or EqualCosts())


# Rows at hand ---------------------------------------------------------------------------------------------------------


def binary_of_rows(data: Outcomes, p: Classification, limits: Limits = USUAL) -> BinaryStudy:
    """The study of rows in memory."""
    a = asked(data.rows.systems, data.outside, p, limits)
    fields, shared = row_study.of_rows(data, a.settings, p)
    precision = {name: own["score"] for name, own in data.rows.precision.items()}
    rows = {name: Rows(data.actual, score, **shared) for name, score in data.score.items()}
    thresholds = {name: a.rule.at(own.counts, precision[name]) for name, own in rows.items()}
    held = {name: own.at(thresholds[name], a.redraw(own)) for name, own in rows.items()}
    fields |= {"measured": HeldRows(held, lambda: data.rows.id), "precision": precision, "thresholds": thresholds}
    odd = [outside(score, data.actual == 1) for score in data.score.values()]
    return _study(fields, a, data.names, int(data.actual.sum()), odd)


def _study(
    fields: dict[str, Any], a: Asked, names: Sequence[str], positives: int, odd: Iterable[tuple[int, int]]
) -> BinaryStudy:
    """The study. odd: of each system the number of scores outside 0..1, and of 0 or 1 that are wrong."""
    beyond, wrong = (dict(zip(fields["thresholds"], side, strict=True)) for side in zip(*odd, strict=True))
    return BinaryStudy(
        **fields,
        positive=names[1],
        negative=names[0],
        positives=positives,
        rule=a.rule,
        costs=a.costs,
        outside=beyond,
        wrong=wrong,
    )


# Blocks ---------------------------------------------------------------------------------------------------------------


def binary_of_blocks(of: scores.Predictions, p: Classification, limits: Limits = USUAL) -> BinaryStudy:
    """The study of a table that is read twice: influence values depend on all scores."""
    t = of.table
    a = asked(t.systems, of.outside, p, limits)
    within = [chosen for chosen in a.settings.metrics if chosen in WITHIN]
    for chosen in a.settings.metrics:
        if not (chosen.base.metric.tabled or chosen in within):
            why = f"computed from the column {' and '.join(chosen.metric.columns)}, which needs all rows in memory"
            raise ParameterError(f"metrics: {chosen.label} is {why}, got {t.rows:,} rows")
    if within:  # the rows of a unit must meet
        t = replace(t, schema=replace(t.schema, parted=False))
    nameless, first = row_study.nameless(t), _first(of, a, within, limits)
    scored = row_study.counted(t, first)
    rows, positives, *odd = scored.facts.sums.tolist()
    if within and (n := scored.more["within", 0].n) > UNITS:
        of_each = f"the value of each {a.settings.unit}, of {UNITS:,} at most"
        raise ParameterError(f"metrics: {within[0].label} needs {of_each}, got {n:,}")
    design = statistic.layout_of(units=t.schema.unit, weights=of.scale is not None)
    precision = {name: of.precision(name)[0] for name in t.systems}
    measured = SummedRows(t.systems, first, scored, design, cut=lambda name, c: a.rule.at(c, precision[name]))
    measured.refuse_left_out()
    if not t.paired:
        nameless = replace(nameless, schema=replace(nameless.schema, id=None))
    if second := _second(of, a, measured, first.counting):
        measured = replace(measured, second=second, moved=nameless.total(second))
    fields = row_study.of_blocks(t, rows, a.settings, p, weighted=of.scale is not None)
    fields |= {"measured": measured, "precision": precision, "thresholds": measured.thresholds}
    return _study(fields, a, of.names, positives, zip(odd[::2], odd[1::2], strict=True))


def _first(of: scores.Predictions, a: Asked, within: Sequence[Chosen], limits: Limits) -> ByScore:
    systems, primary = of.table.systems, a.settings.metrics[0]
    few = row_study.few_units(of.table, limits)
    counting = class_cells.Counting(2, of.scale, of.squares, labels_study.FEW, few)
    asked = [c for c in a.settings.metrics if c not in within and not c.decided]
    losses = dict.fromkeys(c.base for c in asked if c.base.metric.kind.totalled)
    cuts = None if a.rule.fixed is None else [a.rule.at(NOTHING, of.precision(name)[0]) for name in systems]
    more: Any = {"limits": limits, "ids": of.table.ids_held, "exact": cuts, "within": within}
    more |= {"sliced": primary.base in losses, "within_slices": primary in within}
    return ByScore(counting=counting, terms=Terms.alone([*losses], len(systems), few, score_rows), **more)


def _second(of: scores.Predictions, a: Asked, measured: SummedRows, counting: class_cells.Counting) -> ByMoves | None:
    """The second reading; None if tables and losses suffice."""
    systems, means, decided = range(len(measured.systems)), dict[Place, Mean](), []
    if measured.plain and len(systems) == 1:
        return None
    for group in sorted(measured.groups):
        asked = a.settings.metrics[:1] if group else a.settings.metrics
        read = [c.base for c in asked if c.base.metric.tabled and (c.decided or not c.base.metric.kind.totalled)]
        decided += [group] if read else []
        for chosen in (chosen for chosen in read if not chosen.decided):
            each = [[ranked(chosen, measured.scores(group, i, 0))] for i in systems]
            means[group, chosen.label] = Mean(each, np.ones(1), strata=2)
    cuts, few = [*measured.thresholds.values()], row_study.few_units(of.table, a.settings.limits)
    more: Any = {"cuts": cuts, "decided": decided, "counting": counting}
    return ByMoves(measured.first.told, of.scale, measured.plain, few, means, **more) if decided else None


# Reading --------------------------------------------------------------------------------------------------------------

SAMPLE = {"preds": "data/german_credit/predictions.csv", "segments": ["age_band", "housing"]}


@dataclass(frozen=True)
class ByKind:
    """The studies of one kind of table. idle: parameters that do not apply to it -> the kinds that they apply to."""

    of_rows: Callable[[Any, Classification, Limits], row_study.RowStudy]
    of_blocks: Callable[[Any, Classification, Limits], row_study.RowStudy]
    idle: Mapping[str, str]


FOR_TWO, FOR_SEVERAL = dict.fromkeys(("costs", "prevalence"), "binary"), {"precision_target": "multi-class"}
KINDS = {
    "binary": ByKind(binary_of_rows, binary_of_blocks, FOR_SEVERAL),
    "multi-class": ByKind(classes.of_rows, classes.of_blocks, FOR_TWO | {"threshold": "binary or multi-label"}),
    "multi-label": ByKind(labels_study.of_rows, labels_study.of_blocks, FOR_TWO | FOR_SEVERAL),
}


@sources.naming_files
def study_of(p: Classification, limits: Limits = USUAL) -> row_study.RowStudy:
    """Read labels and scores, and measure, compare and plot how well the scores separate the classes.

    Without `preds` and arrays, the bundled sample is read. Raises ParameterError for an invalid parameter and
    InputError for invalid input.

    >>> import evalkit as ek
    >>> study = ek.classification(y_true=[0, 0, 1, 1, 0, 1], y_score={"a": [1, 2, 3, 4, 5, 6], "b": [1, 5, 2, 3, 4, 6]})
    >>> study.estimates["value"].round(3).tolist()[:2], study.order
    ([0.778, 0.556], ['a', 'b'])
    """
    p = p.filled(SAMPLE) if p.preds is None else p
    predicted = Predicted(
        sources.parts(p.preds, p.header, limits.reading),
        asked=p.kind,
        positive=p.positive,
        columns=p.columns,
        systems=p.systems,
        attributes=attributes(p.segments, p.unit),
        beside=lookup.columns(p.metrics),
        unit=p.unit,
    )
    kind = KINDS[predicted.kind]
    if idle := next((name for name in kind.idle if name in p.given), None):
        raise ParameterError(f"{idle}: only for a {kind.idle[idle]} table")
    reading = limits.reading
    with scores.opened(predicted, backends.budget(p.memory, p.threads, p.spill, reading), p.segments, p.unit) as table:
        if table is not None:
            return kind.of_blocks(table, p, limits)
    return kind.of_rows(predicted.read(), p, limits)


read = reader(Classification)(study_of)


# What findings are measured by ----------------------------------------------------------------------------------------

SOME = 30  # rows of a class below which the page warns
RARE, RARELY = 50, 0.005  # positive rows, and their share, below which average precision's interval is too narrow
DOMINANT = 0.9  # the share of the larger class from which accuracy says little
MOST = grid.MOST  # distinct scores that are counted apart

LOG_LOSS, AVERAGE_PRECISION = (lookup.find(name, "counts") for name in ("log_loss", "average_precision"))
TOGETHER = 40  # classes that a picture can show: its size grows with their square
NORMAL = 1e-3  # how far the probabilities of a row may be from adding up to 1


def rarely_positive(study: BinaryStudy) -> bool:
    """True if positive rows are so few and so rare that intervals of average precision are too narrow."""
    return study.positives < RARE and study.base_rate < RARELY and AVERAGE_PRECISION in study.settings.metrics


class Miscalibration(Enum):
    """A form of miscalibration: a coefficient of logistic recalibration, and the side on which it deviates."""

    OVERCONFIDENT = "slope", "below"
    UNDERCONFIDENT = "slope", "above"
    TOO_LOW = "intercept", "above"
    TOO_HIGH = "intercept", "below"


CALIBRATED = {"slope": 1.0, "intercept": 0.0}


def miscalibrated(study: BinaryStudy) -> tuple[dict[Miscalibration, list[str]], list[str]]:
    """The systems by form of miscalibration, and those whose intervals contain both values of perfect calibration."""
    rows = study.calibration[study.calibration["part"].isin(CALIBRATED)].dropna(subset=["low", "high"])
    wrong: dict[Miscalibration, list[str]] = {}
    for row in rows.itertuples():
        if row.high < CALIBRATED[row.part] or row.low > CALIBRATED[row.part]:
            side = "below" if row.high < CALIBRATED[row.part] else "above"
            wrong.setdefault(Miscalibration((row.part, side)), []).append(row.system)
    every = {name for names in wrong.values() for name in names}
    return wrong, [name for name in dict.fromkeys(rows["system"]) if name not in every]


def within_units(study: BinaryStudy) -> significance.Comparison | None:
    """The leader's AUC over all rows − its AUC within units (GAUC), clustered by unit.

    None if no unit is named, or the rows are not in memory.
    """
    if study.settings.unit is None or study.blocks is not None:
        return None
    pooled, within = (study.measure(Chosen(metric), study.leader) for metric in (tables.ROC_AUC, tables.GAUC))
    return methods.influence(pooled, within, study.inference_options(1))


def area_within_units(study: BinaryStudy) -> float:
    """The leader's GAUC."""
    within: Any = study.measure(Chosen(tables.GAUC), study.leader)
    return float(within.value)


def clipped(study: BinaryStudy) -> dict[str, int]:
    """By system the number of rows, if any, whose probability log loss clips; empty if log loss is not asked for."""
    if LOG_LOSS not in study.settings.metrics:
        return {}
    return {name: n for name in study.order if (n := int(calibration.clipped(study.chances(name))))}


def unforeseen(study: BinaryStudy) -> dict[str, float]:
    """By system the share of log loss from rows with an outcome that it gave almost no probability, if it is large."""
    if LOG_LOSS not in study.settings.metrics:
        return {}
    shares = {name: calibration.unforeseen(study.chances(name), HARDLY) for name in study.order}
    return {name: part for name, part in shares.items() if part > MUCH}


HARDLY, MUCH = 0.001, 0.1  # a probability; a share of the log loss


TIED = 3  # rows of one score: of more, ties are likely
MANY = 0.2  # the share of repeated rows above which they are warned of, unless ties are likely


def repeated(study: BinaryStudy) -> tuple[int, int, bool]:
    """Rows with the same label and scores as another row (0 if at most 1 %); distinct scores if few.

    Last, True if they may be duplicates: there are many, and the number of distinct scores is not small.
    """
    rows, n = len(study.account), study.repeated or 0
    values = [distinct_scores(study, name) for name in study.order]
    few = max((value or rows for value in values), default=rows)
    few = few if few * TIED < rows else 0
    return (n if n > 0.01 * rows else 0), few, n > MANY * rows and not few


def binned(study: BinaryStudy) -> dict[str, dict[str, float]]:
    """For systems with scores in bins, the most that this changes each metric; NaN if no bound is known.

    Metrics at a threshold and means of losses are exact and left out.
    """
    kinds = {chosen: chosen.base.metric.kind for chosen in study.settings.metrics}
    moved = [chosen for chosen, kind in kinds.items() if isinstance(kind, score_kinds.Curve) and not kind.decided]
    return {name: {c.label: power_of_ten(tables.changed(c)) for c in moved} for name, tables in study.binned.items()}


def power_of_ten(value: float) -> float:
    """The smallest power of ten that is not below the value; 1e-16 for 0.

    >>> power_of_ten(0.002)
    0.01
    """
    if np.isnan(value):
        return value
    return float(f"1e{int(np.ceil(np.log10(value)))}") if value > 0 else 1e-16


def distinct_scores(study: BinaryStudy, name: str) -> int | None:
    """The number of distinct scores of a system, None if they were pooled in bins."""
    return None if name in study.binned else len(study.table(name).threshold)


def score_ends(study: BinaryStudy) -> dict[str, diagnostics.Ends]:
    """The lowest and the highest score of each system."""
    return {name: (float(c.threshold[-1]), float(c.threshold[0])) for name, c in study.counts_by_system.items()}


# What the figures mark


def areas(study: BinaryStudy) -> dict[str, tuple[float, float]]:
    """The areas under the two curves of each system: AUC and average precision."""
    return {name: (counts.auc(c), counts.average_precision(c)) for name, c in study.counts_by_system.items()}


@framed
def operating_points(study: BinaryStudy, kind: str) -> Iterator[Row]:
    """The point of each system's threshold on its curve: system, x, y; kind: roc or pr."""
    for name, c in study.counts_by_system.items():
        d = counts.at(c, study.thresholds[name])
        x, y = (counts.false_positive_rate, counts.recall) if kind == "roc" else (counts.recall, counts.precision)
        yield {"system": name, "x": float(x(d)), "y": float(y(d))}


@framed
def break_even(study: BinaryStudy) -> Iterator[Row]:
    """The point on each system's curve where precision equals recall: system, x, y."""
    for name, c in study.counts_by_system.items():
        value = float(curves.break_even(c))
        yield {"system": name, "x": value, "y": value}


def at_other_rate(study: BinaryStudy, kind: str) -> pd.DataFrame:
    """The curves at the other base rate."""
    return study.curve(kind, lambda c: curves.at_base_rate(c, study.other_rate))


def used_costs(study: BinaryStudy) -> pd.DataFrame:
    """The share predicted positive and the mean cost of each system at its threshold: system, x, y."""
    d = study.decisions
    predicted = (d["tp"] + d["fp"]) / (d["tp"] + d["fp"] + d["fn"] + d["tn"])
    return pd.DataFrame({"system": d["system"], "x": predicted, "y": d["cost"]})


def never_predicted(study: ClassesStudy) -> dict[str, list[str]]:
    """By system the classes that occur but are never predicted."""
    never = {name: (study.sizes > 0) & (study.measured.said(name) == 0) for name in study.systems}
    return {name: list(compress(study.names, lacks)) for name, lacks in never.items() if lacks.any()}


def not_highest(study: ClassesStudy) -> dict[str, int]:
    """By system the number of rows, if any, whose predicted class (from a column) does not have the highest score."""
    return {name: rows for name in study.systems if study.scored and (rows := study.measured.lower(name))}


def unnormalised(study: ClassesStudy) -> dict[str, float]:
    """The systems whose probabilities do not add up to 1, and the largest deviation."""
    return {name: off for name in study.systems if (off := study.measured.off(name)) > NORMAL}


def incomplete_slices(study: ClassesStudy) -> list[str]:
    """The slices without any row of some class."""
    several = np.count_nonzero(study.sizes)
    return [f"{p.column} {p.label}" for p in study.slices if np.count_nonzero(study.measured.sizes(p.member)) < several]


def worst_mistake(study: ClassesStudy) -> tuple[str, str, float] | None:
    """The most frequent mistake of the leader: actual class, predicted class, and the weight of these rows."""
    table = study.measured.confusion(study.leader).table
    wrong = np.where(np.eye(len(table), dtype=bool), -1, table)
    i, j = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return (study.names[i], study.names[j], float(wrong[i, j])) if wrong[i, j] > 0 else None


def drawn_together(table: np.ndarray, classes: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """The table of at most `TOGETHER` classes, the rarest summed into one, and the names of the classes."""
    if len(classes) <= TOGETHER:
        return table, classes
    kept = np.sort(np.argsort(-table.sum(axis=1), kind="stable")[: TOGETHER - 1])
    place = np.full(len(classes), TOGETHER - 1)
    place[kept] = np.arange(TOGETHER - 1)
    together = np.zeros((TOGETHER, TOGETHER), dtype=table.dtype)
    np.add.at(together, (place[:, None], place[None, :]), table)
    return together, (*(classes[i] for i in kept), f"({len(classes) - TOGETHER + 1} others)")


def stored(study: labels_study.LabelsStudy) -> dict[str, rules.Precision]:
    """The precision of each system's scores; of each of its labels if these differ."""
    named: dict[str, rules.Precision] = {}
    for name, some in study.precision.items():
        several = [f"{name}: {label}" for label in study.names] if len(set(some)) > 1 else [name]
        named |= dict(zip(several, some, strict=False))
    return named
