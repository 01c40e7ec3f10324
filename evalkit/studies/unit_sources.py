"""Every input that holds one value a unit for several systems: tables, ranked lists, predicted chances, reports."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evalkit.arrays import InputError, ParameterError
from evalkit.definitions import catalogue
from evalkit.definitions.catalogue import Chosen, Metric
from evalkit.metrics import losses
from evalkit.reading import aligned, parameters, unit_values
from evalkit.reading import columns as roles_of
from evalkit.reading.sources import Part
from evalkit.reading.unit_values import UnitValues
from evalkit.studies import ranking

LOSSES = {"brier": losses.brier, "log_loss": losses.log}


def read(
    found: str,
    parts: Sequence[Part],
    qrels: Any,
    *,
    unit: str | None,
    columns: Mapping[str, str],
    systems: Sequence[str],
    metrics: Any,
) -> tuple[UnitValues, tuple[Chosen, ...]]:
    """The values and their metrics; `found` is the kind of input that `unit_values.kind` saw."""
    if found == "ranking":
        return _ranking(parts, qrels, unit, columns, systems, metrics)
    if qrels is not None:
        raise ParameterError("qrels: judgements belong to ranked lists, and preds holds none")
    names = parameters.texts("metrics", metrics)
    if found == "classification":
        data = _losses(parts, columns, names)
    elif found == "report":
        data = unit_values.read_report(parts)
    elif found == "long":
        data = unit_values.read_long(parts, columns, unit=unit, systems=systems, metrics=names)
    else:
        given = unit or columns.get("unit")
        data = unit_values.read_wide(parts, unit=given, systems=systems, metric=_one(names))
    return data, tuple(Chosen(named(name)) for name in data.metrics)


def named(name: str, best: str | None = None) -> Metric:
    """A metric of which only the name and the values are known; its direction from the catalogue, else more is better.

    >>> named("log_loss").best, named("minutes").best
    ('low', 'high')
    """
    base = name.split("@")[0].lower()
    base = catalogue.ALIASES.get(base, base)
    known = {one.best for one in catalogue.TABLE.values() if one.name == base}
    best = best or ("low" if known == {"low"} or base in LOSSES else "high")
    formula, undefined = "the mean of the values in the input", "the input holds no value"
    return Metric(name, "units", _absent, formula, undefined, "the input", low=-np.inf, high=np.inf, best=best)


def _absent(*_: Any) -> Any:
    raise AssertionError("values of the input are not computed")


def _one(names: Sequence[str]) -> str:
    if len(names) > 1:
        raise ParameterError(
            f"metrics: a wide table holds one metric, got {len(names)}; a long one has a column metric"
        )
    return names[0] if names else unit_values.VALUE


def _ranking(
    parts: Sequence[Part],
    qrels: Any,
    unit: str | None,
    columns: Mapping[str, str],
    systems: Sequence[str],
    metrics: Any,
) -> tuple[UnitValues, tuple[Chosen, ...]]:
    s = ranking.read(parts, qrels, columns=columns, systems=list(systems), metrics=metrics, unit=unit)
    data = UnitValues(
        unit=s.runs.query if s.unit is None else s.unit,
        name=unit or s.runs.columns.get("query", "query"),
        metrics=tuple(chosen.label for chosen in s.settings.metrics),
        systems=s.systems,
        values=s.per_query,
        columns=s.runs.columns,
        sources=s.runs.sources,
    )
    return data, s.settings.metrics


def _losses(parts: Sequence[Part], columns: Mapping[str, str], names: Sequence[str]) -> UnitValues:
    """The Brier score and log loss of each row, of systems joined on the id."""
    unknown = [name for name in names if name not in LOSSES]
    if unknown:
        has = ", ".join(LOSSES)
        raise ParameterError(f"metrics: of single rows there are {has}, got {unknown[0]!r}; see the other reports")
    rows = aligned.read(parts, lambda part: _layout(part, columns))
    label = rows.numbers["label"]
    for what, values in [("label", label), *((f"score of {name}", own["score"]) for name, own in rows.own.items())]:
        wrong = np.flatnonzero((values < 0) | (values > 1) | ((what == "label") & (values % 1 != 0)))
        if wrong.size:
            rule = "be 0 or 1" if what == "label" else "be a chance between 0 and 1"
            raise InputError(f"{rows.place(int(wrong[0]))}: {what} must {rule}, got {values[wrong[0]]:g}")
    metrics = tuple(names) or tuple(LOSSES)
    whole = label.astype(np.int64)
    found = {(m, name): LOSSES[m](whole, own["score"]) for m in metrics for name, own in rows.own.items()}
    return UnitValues(rows.id, "row", metrics, rows.systems, found, rows.columns, rows.sources)


def _layout(part: Part, given: Mapping[str, str]) -> aligned.Layout:
    roles = roles_of.resolve(part.columns, ("system", "id", "label", "score"), given, part.name)
    return aligned.Layout(
        text={},
        numbers={"label": roles["label"]},
        own={None: {"score": roles["score"]}},
        id=roles.get("id"),
        system=roles.get("system"),
    )
