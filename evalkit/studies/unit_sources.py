"""Inputs with one value per unit of several systems: tables, ranked lists, predicted probabilities, reports."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evalkit.arrays import InputError, ParameterError
from evalkit.catalogue import directions, lookup
from evalkit.catalogue.kinds import (
    PerUnit,
)
from evalkit.catalogue.lookup import Chosen, Metric
from evalkit.limits import Reading
from evalkit.parameters import Significance
from evalkit.reading.inputs import aligned, trec_eval, units
from evalkit.reading.inputs.aligned import Layout
from evalkit.reading.inputs.runs import Account
from evalkit.reading.inputs.unit_cells import Cells
from evalkit.reading.inputs.units import UnitValues
from evalkit.reading.reductions import losses
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import rules
from evalkit.reading.tables.parts import Part
from evalkit.reading.tables.rules import Field, Role
from evalkit.studies import ranking

LOSSES = ("brier", "log_loss")
LABEL = Role("label", rules.FLAGS)
KINDS = {
    "ranking": "ranked lists",
    "trials": "successes and trials",
    "long": "a long table of values",
    "wide": "a wide table of values",
    "classification": "predicted probabilities",
    "report": "an earlier report",
    "trec_eval": "the output of trec_eval -q",
}
OWN = {  # parameters that only some kinds of input can follow
    "qrels": ("ranking",),
    "unit": ("ranking", "long", "wide", "classification"),
    "systems": ("ranking", "long", "wide", "trec_eval"),
    "metrics": ("ranking", "long", "wide", "classification", "trec_eval"),
    "ranks": ("ranking",),
    "null": ("trials",),
    "alternative": ("trials",),
    "test_to_train": ("long", "wide", "report"),
    "looks": ("ranking", "long", "wide", "classification", "report", "trec_eval"),
}
ROLES = {  # what `columns` can name; ranked lists check their own
    "trials": ("system", "successes", "trials"),
    "long": ("unit", "system", "value", "metric"),
    "wide": ("unit",),
    "classification": ("system", "id", "label", "score"),
    "report": (),
    "trec_eval": (),
}


@dataclass(frozen=True, eq=False)
class Input:
    """The values, their metrics, and what was left out on the way.

    accounts: what became of each system's ranked rows. alone: rows of chances whose id another system lacks.
    """

    values: UnitValues
    metrics: tuple[Chosen, ...]
    accounts: Mapping[str, Account] = field(default_factory=dict)
    alone: int = 0


def check_meant(content: str, names: Iterable[str], columns: Mapping[str, str]) -> None:
    """Raises ParameterError for a parameter, or a role of a column, that means nothing for this kind of input."""
    for name in names:
        if content not in OWN.get(name, (content,)):
            known = ", ".join(KINDS[kind] for kind in OWN[name])
            raise ParameterError(f"{name}: only for {known}; preds holds {KINDS[content]}")
    if columns and content in ("report", "trec_eval"):
        raise ParameterError(f"columns: {KINDS[content]} has no columns to name")
    if content in ROLES:
        roles_of.check_roles(columns, ROLES[content])


def read(kind: str, cells: Cells, qrels: list[Part] | None, p: Significance, reading: Reading) -> Input:
    """The values and their metrics; `kind` is the kind of input that `unit_kinds.kind` saw."""
    parts, named = cells.parts, p.columns
    if kind == "ranking":
        return _ranking(parts, qrels, p)
    if kind == "classification":
        return _losses(cells, p, reading)
    _refuse_own(kind, p.metrics)
    if kind == "report":
        data = _report(parts)
    elif kind == "trec_eval":
        data = trec_eval.read(parts, systems=p.systems, metrics=p.metrics)
    elif kind == "long":
        asked = {"systems": p.systems, "metrics": p.metrics}
        data = units.read_long(cells, named, unit=p.unit, reading=reading, **asked)
    else:
        metric = _one(p.metrics)
        data = units.read_wide(cells, named, unit=p.unit, systems=p.systems, metric=metric, reading=reading)
    usual = dict.fromkeys(data.metrics, "high") if kind == "trec_eval" else {}
    return Input(data, _named(data.metrics, parts, {**usual, **data.directions}))


def _named(names: Iterable[str], parts: Sequence[Part], known: Mapping[str, str]) -> tuple[Chosen, ...]:
    """The metrics of these names, with the directions that are known or that a file states."""
    stated = {name: best for part in parts for name, best in part.directions.items()} | {**known}
    return tuple(Chosen(named(name, stated.get(name))) for name in names)


def named(name: str, best: str | None = None) -> Metric:
    """A metric of which only the name and the values are known; without `best`, as the name says, else more is better.

    >>> named("log_loss").best, named("rmse").best, named("minutes").best, named("minutes").assumed
    ('low', 'low', 'high', True)
    """
    best = best or directions.of(name)
    formula, undefined = "the mean of the values in the input", "the input holds no value"
    about: dict[str, Any] = {"low": -np.inf, "high": np.inf, "best": best or "high", "unit": "", "assumed": not best}
    return Metric(name, "units", PerUnit(absent), formula, undefined, "the input", **about)


def absent(*_: Any) -> Any:
    """Raise: the input holds values, nothing computes them."""
    raise AssertionError("none, the values come from the input")


def _one(names: Sequence[str]) -> str:
    if len(names) > 1:
        raise ParameterError(
            f"metrics: a wide table holds one metric, got {len(names)}; a long table has a metric column"
        )
    return names[0] if names else units.VALUE


def _ranking(parts: Sequence[Part], qrels: list[Part] | None, p: Significance) -> Input:
    asked = {name: getattr(p, name) for name in ("columns", "systems", "metrics", "unit", "ranks")}
    within = {name: getattr(p, name) for name in ("memory", "threads", "spill")}
    lists = ranking.read(list(parts), qrels, **asked, **within)
    id, cluster = (lists.runs.query, None) if lists.unit is None else units.clustered(lists.runs.query, lists.unit)
    data = UnitValues(
        id=id,
        cluster=cluster,
        name=p.unit or lists.runs.columns.get("query", "query"),
        metrics=tuple(chosen.label for chosen in lists.settings.metrics),
        systems=lists.systems,
        values=lists.per_query,
        columns=lists.runs.columns,
        sources=lists.runs.sources,
    )
    return Input(data, lists.settings.metrics, lists.runs.accounts)


def _report(parts: Sequence[Part]) -> UnitValues:
    """The differences of an earlier report; raises InputError where they are of rows, and its units held several."""
    data = units.read_report(parts)
    several = min(int(estimate["n"]) for estimate in data.known.values())
    if len(data) > several:
        raise InputError(
            f"{parts[0].name}: a report on {several:,} units ({data.name}) must hold one difference per unit, got "
            f"{len(data):,}; use its original input, with unit"
        )
    return data


def _losses(cells: Cells, p: Significance, reading: Reading) -> Input:
    """The Brier score and log loss of each row, of systems joined on the id."""
    metrics, layouts = _of_rows(p.metrics), _layouts(cells.parts, p.columns, p.unit)
    data, alone = losses.read(cells, layouts, metrics, p.unit, reading)
    return Input(data, _computed(metrics), alone=alone)


def _computed(metrics: Sequence[Metric]) -> tuple[Chosen, ...]:
    """The metrics, whose values per row are known."""
    return tuple(Chosen(replace(metric, kind=PerUnit(absent))) for metric in metrics)


def _layouts(parts: Sequence[Part], named: Mapping[str, str], unit: str | None) -> list[Layout]:
    """The columns of each part."""
    return aligned.layouts(parts, lambda part: _layout(part, named, [unit] if unit else []))


def _layout(part: Part, named: Mapping[str, str], attributes: Sequence[str]) -> Layout:
    """The columns of a part; the unit may be the id."""
    names = ("system", "id", "label", "score")
    beside = dict.fromkeys(attributes, aligned.ATTRIBUTE)
    columns = roles_of.match(part.columns, names, named, part.name, named=beside).resolved(names[2:])
    return Layout(
        aligned.attributes_by_role(attributes) | aligned.shared_of([LABEL], columns),
        {None: {"score": Field(columns["score"], rules.PROBABILITIES)}},
        id=columns.get("id"),
        system=columns.get("system"),
    )


def _of_rows(names: Sequence[Any]) -> list[Metric]:
    """The losses of these names, or the usual ones; raises ParameterError where one is not a mean over rows."""
    possible = {name: metric for name, metric in lookup.TABLES["counts"].items() if _is_loss(metric)}
    for name in names:
        own = None if lookup.of_catalogue(name) else lookup.find(name, "counts").metric
        if own is not None and _is_loss(own):
            possible[name] = own
        if name not in possible:
            has = ", ".join(sorted(map(str, possible)))
            raise ParameterError(
                f"metrics: for single rows there are {has}, got {str(name)!r}; the other reports have more"
            )
    return [possible[name] for name in names or LOSSES]


def _is_loss(metric: Metric) -> bool:
    """True for a mean over rows with a better direction."""
    return metric.kind.centred and metric.kind.of_rows and metric.best != "neither"


def _refuse_own(content: str, names: Iterable[Any]) -> None:
    """Raises ParameterError for an own metric where the input holds its values already."""
    if own := [name for name in names if not lookup.of_catalogue(name)]:
        raise ParameterError(
            f"metrics: {own[0]} has nothing to be computed from, preds holds {KINDS[content]}; "
            "name the metric of these values"
        )
