"""Reads what the significance study is about: values of several systems on the same units, or trials."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from evalkit import parameters
from evalkit.arrays import ParameterError
from evalkit.catalogue.lookup import Chosen
from evalkit.limits import USUAL, Limits
from evalkit.parameters import Metrics, Named, Names, Tables, documented
from evalkit.reading.engines import base
from evalkit.reading.engines.base import Budget, Engine
from evalkit.reading.inputs import trec_eval, unit_kinds, units
from evalkit.reading.inputs.unit_cells import Asked, Held
from evalkit.reading.reductions import tabled
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import Part
from evalkit.studies import study, unit_sources
from evalkit.studies.significance_study import SEVERAL, Significance
from evalkit.studies.trials import Shares
from evalkit.studies.unit_sources import Input

SAMPLE: dict[str, Any] = {
    "preds": "data/digits_retrieval/runs",
    "qrels": "data/digits_retrieval/qrels.txt",
    "metrics": "ndcg@10,map,mrr",
    "margin": 0.05,
}


@documented(parameters.Significance)
def read(
    preds: Tables | None = None,
    qrels: Tables | None = None,
    *,
    unit: str | None = None,
    columns: Named | None = None,
    systems: Names | None = None,
    metrics: Metrics | None = None,
    lower_is_better: Names | None = None,
    ranks: str = "as given",
    null: float | None = None,
    alternative: str = "two-sided",
    test_to_train: float | None = None,
    looks: int = 1,
    baseline: str | None = None,
    gate: str | None = None,
    title: str | None = None,
    note: str | None = None,
    data_date: str | None = None,
    margin: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    header: str | None = None,
    units: str | bool | None = None,
    memory: str | None = None,
    threads: int | None = None,
    spill: str | None = None,
) -> Significance | Shares:
    """Read values of several systems on the same units, and test which differences are statistically significant.

    Without `preds` it is the bundled sample. Raises ParameterError for a parameter, InputError for the input.

    >>> import evalkit as ek
    >>> values = {"new": [0.8, 0.6, 0.9, 0.7, 0.8, 0.9], "old": [0.7, 0.5, 0.7, 0.6, 0.6, 0.8]}
    >>> study = ek.significance(values, baseline="old")
    >>> study.comparisons[["first", "p", "verdict"]].to_dict("list")
    {'first': ['new'], 'p': [0.03125], 'verdict': ['better']}
    """
    return study_of(parameters.Significance.of(locals()))


@sources.naming_files
def study_of(p: parameters.Significance, limits: Limits = USUAL) -> Significance | Shares:
    """The study that the parameters of `read` ask for, within these limits."""
    p = p.filled(SAMPLE) if p.preds is None else p
    parts = sources.parts(p.preds, p.header, limits.reading)
    budget = base.budget(p.memory, p.threads, p.spill, limits.reading)
    with _engine_for(parts, budget) as engine:
        cells = Asked(parts, engine) if engine else Held(parts)
        kind = unit_kinds.kind(parts, p.columns, p.systems, cells)
        _check(kind, parts, p)
        if kind == "trials":
            return Shares.of(units.read_trials(parts, p.columns), p)
        qrels = study.inputs(p.qrels, p.header, limits.reading)
        return _study(unit_sources.read(kind, cells, qrels, p, limits.reading), p, limits)


def _engine_for(parts: Sequence[Part], budget: Budget) -> AbstractContextManager[Engine | None]:
    """The engine of tables of more rows than are kept; none for what is no table of values by its header."""
    first = unit_kinds.Header(parts[0], {}, ())
    listed = parts[0].layout is not None or first.is_report or trec_eval.is_output(parts[0])
    return nullcontext() if listed else tabled.engine_for(parts, budget)


def _check(kind: str, parts: Sequence[Part], p: parameters.Significance) -> None:
    """Raises for what cannot be meant of this kind of input."""
    if kind == "wide" and p.header is None:
        for part in parts:
            roles_of.refuse_data(part.columns, part.name)
    unit_sources.check_meant(kind, p.given, p.columns)
    if kind != "ranking":
        unit_kinds.check_named(parts, p.columns, p.unit)


def _directed(chosen: tuple[Chosen, ...], p: parameters.Significance) -> tuple[Chosen, ...]:
    """The metrics with those of which less is better turned around; where such are named, more of the others is."""
    labels = [metric.label for metric in chosen]
    for name in p.lower_is_better:
        if name not in labels:
            raise ParameterError(f"lower_is_better: there is no metric {name!r}, the input has {', '.join(labels)}")
    if "lower_is_better" not in p.given:
        return chosen
    best = {c.label: "low" if c.label in p.lower_is_better else c.metric.best for c in chosen}
    return tuple(Chosen(replace(c.metric, best=best[c.label], assumed=False), c.k) for c in chosen)


def _study(values: Input, p: parameters.Significance, limits: Limits) -> Significance:
    data = values.values
    unit = None if data.cluster is None else data.name
    shared = study.settings(p, _directed(values.metrics, p), unit=unit, limits=limits)
    study.check_systems(shared, data.systems)
    if p.test_to_train and unit:
        raise ParameterError(SEVERAL)
    return Significance(
        shared, data.systems, {}, p.given, data, p.test_to_train, p.looks, values.accounts, values.alone
    )
