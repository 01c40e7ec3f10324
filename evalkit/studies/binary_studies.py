"""Binary studies: what the parameters ask, of rows at hand, and of tables that are read block by block."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup, row_metrics
from evalkit.catalogue.metric import Chosen
from evalkit.limits import USUAL, Limits
from evalkit.metrics import calibration, counts, grid
from evalkit.metrics.rows import Rows
from evalkit.parameters import Classification
from evalkit.parameters.kinds import BestF1, Costs, EqualCosts, Threshold
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.aligned import attributes_of, number_of
from evalkit.reading.inputs.outcomes import Binary
from evalkit.reading.reductions.scores import Scores
from evalkit.statistics.statistic import HeldRows, Layout
from evalkit.statistics.two_classes import BinnedScore, ByColumns, ByScore, Columns, Scored, SummedRows, columns
from evalkit.studies import study, thresholds
from evalkit.studies.binary import AT, ORDER, BinaryStudy, Facts
from evalkit.studies.row_study import Account
from evalkit.studies.study import Settings
from evalkit.studies.thresholds import Rule

OF_UNITS = "units to rank rows within; set unit='COLUMN', such as the user"
NOTHING = counts.count([], [])
UNITS = 2**23  # whose values are kept side by side, of a metric within units
WITHIN = [Chosen(metric) for metric in row_metrics.COUNTS.values() if metric.needs == row_metrics.OF_UNITS]


@dataclass(frozen=True, eq=False)
class Asked:
    """What the parameters ask of a binary study."""

    settings: Settings
    rule: Rule
    costs: Costs
    prevalence: float | None


def asked(systems: tuple[str, ...], outside: str, p: Classification, limits: Limits) -> Asked:
    """The parameters, checked. outside: says of a score that is no probability what and where it is, else ""."""
    lacks = {"probabilities": f"probabilities, {outside}"} if outside else {}
    lacks |= {} if p.unit else {"scores of units": OF_UNITS}
    chosen = lookup.possible(p.metrics, "counts", (*ORDER, *AT), lacks)
    settings = study.settings(p, chosen, unit=p.unit, segments=p.segments, limits=limits)
    study.check_systems(settings, systems)
    usual: Threshold = BestF1() if outside else 0.5
    rule = thresholds.rule(usual if p.threshold is None else p.threshold)
    return Asked(settings, rule, rule.costs or p.costs or EqualCosts(), p.prevalence)


# Rows at hand ---------------------------------------------------------------------------------------------------------


def of_rows(data: Binary, p: Classification, limits: Limits = USUAL) -> BinaryStudy:
    """The study of rows in memory."""
    systems = data.rows.systems
    a = asked(systems, _outside(data), p, limits)
    attributes = attributes_of(data.rows, a.settings.attributes, a.settings.unit)
    beside = {name: number_of(data.rows, name) for name in a.settings.columns}
    unit = attributes[a.settings.unit] if a.settings.unit else None
    shared: dict[str, Any] = {"weight": data.weight, "unit": unit, "beside": beside}
    held = HeldRows(
        {name: Rows(data.label, score, **shared) for name, score in data.score.items()}, lambda: data.rows.id
    )
    facts = Facts(
        account=Account.of_rows(data.rows),
        positive=data.positive,
        negative=data.negative,
        positives=int(data.label.sum()),
        weighted=data.weight is not None,
        outside={name: int(((score < 0) | (score > 1)).sum()) for name, score in data.score.items()},
        wrong={name: _wrong(data, name) for name in systems},
        precision={name: own["score"] for name, own in data.rows.precision.items()},
    )
    return BinaryStudy(a.settings, systems, attributes, p.given, a.rule, a.costs, a.prevalence, facts, held, data)


def _outside(data: Binary) -> str:
    """The first score that is no probability."""
    for name, score in data.score.items():
        if not outcomes.are_probabilities(score):
            row = int(np.flatnonzero((score < 0) | (score > 1))[0])
            return f"got the score {score[row]:g} of {name} ({data.rows.place(row, name)})"
    return ""


def _wrong(d: Binary, name: str) -> int:
    """Rows of a system that are certain of the other class."""
    low, high = d.score[name] < calibration.EPSILON, d.score[name] > 1 - calibration.EPSILON
    return int((low & (d.label == 1)).sum() + (high & (d.label == 0)).sum())


# Blocks ---------------------------------------------------------------------------------------------------------------


def of_blocks(of: Scores, p: Classification, limits: Limits = USUAL) -> BinaryStudy:
    """The study of a table that is read twice: what moves a metric depends on all scores."""
    t = of.table
    a = asked(t.systems, of.outside, p, limits)
    within = [chosen for chosen in a.settings.metrics if chosen in WITHIN]
    for chosen in a.settings.metrics:
        if not (chosen.base.metric.tabled or chosen in within):
            why = f"computed from the column {' and '.join(chosen.metric.columns)}"
            raise ParameterError(
                f"metrics: {chosen.label} is {why}, which needs all rows in memory, got {t.rows:,} rows"
            )
    if within:  # the rows of a unit must meet
        t = replace(t, schema=replace(t.schema, parted=False))
    cuts = None if a.rule.fixed is None else [a.rule.at(NOTHING, of.precision[name]) for name in t.systems]
    nameless = replace(t, schema=replace(t.schema, names=None, numbered=False, drawn=False))
    scored = nameless.total(ByScore(of.scale, cuts, limits, t.ids_held, within, a.settings.metrics[0] in within))
    rows, positives, *odd = scored.facts.sums.tolist()
    t.check(rows, scored.ids.repeated if t.schema.id else 0)
    if within and (n := scored.values[0].n) > UNITS:
        of_each = f"the value of each {a.settings.unit}, of {UNITS:,} at most"
        raise ParameterError(f"metrics: {within[0].label} needs {of_each}, got {n:,}")
    tables, plain = _tables(of, a, scored), a.settings.unit is None and of.scale is None
    second = ByColumns(of.scale, _models(a, tables, alone=plain and len(t.systems) == 1))
    if not t.paired:
        nameless = replace(nameless, schema=replace(nameless.schema, id=None))
    moments = second.moments(nameless.total(second)) if second.models else {}
    facts = Facts(
        account=Account.of_table(t, rows),
        positive=of.positive,
        negative=of.negative,
        positives=positives,
        weighted=of.scale is not None,
        outside=dict(zip(t.systems, odd[::2], strict=True)),
        wrong=dict(zip(t.systems, odd[1::2], strict=True)),
        precision=of.precision,
    )
    measured = SummedRows(tables, moments, Layout.SUMMED if plain else Layout.SUMMED_VARIED, within, scored.values)
    return BinaryStudy(a.settings, t.systems, {}, p.given, a.rule, a.costs, a.prevalence, facts, measured, blocks=t)


def _tables(of: Scores, a: Asked, scored: Scored) -> dict[int, dict[str, BinnedScore]]:
    """The table of every system in every group."""
    groups: dict[int, dict[str, BinnedScore]] = {}
    scale = of.scale or 1.0
    for (group, i), tally in sorted(scored.tallies.items()):
        name, known = of.table.systems[i], None
        if group:
            cut = groups[0][name].threshold
        else:
            known = grid.counts(tally.whole, scale)
            cut = a.rule.at(known, of.precision[name])
        groups.setdefault(group, {})[name] = BinnedScore(name, tally.whole, scale, cut, known)
    return groups


def _models(a: Asked, tables: Mapping[int, Mapping[str, BinnedScore]], *, alone: bool) -> dict[int, list[Columns]]:
    """The columns of the second reading by group; none where the tables tell everything."""
    models = {}
    for group, of in tables.items():
        metrics = a.settings.metrics[:1] if group else a.settings.metrics
        if alone:
            metrics = tuple(chosen for chosen in metrics if chosen.base.metric.kind.centred)
        metrics = tuple(chosen for chosen in metrics if chosen.base.metric.tabled)
        if metrics:
            models[group] = [columns(table, metrics) for table in of.values()]
    return models
