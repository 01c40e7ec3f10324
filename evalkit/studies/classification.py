"""The classification study: reads the input, finds its kind, and hands over to the study of that kind."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from evalkit.reading import engine, large, outcomes, parameters, sources, spark
from evalkit.reading.engine import Limits
from evalkit.reading.large import Large
from evalkit.reading.outcomes import Binary, MultiClass
from evalkit.reading.sources import Part
from evalkit.studies import binary_rows, binary_sums, classes, multilabel, provenance, study
from evalkit.studies.study import Study

SAMPLE = "data/german_credit/predictions.csv"
SEGMENTS = ["age_band", "housing"]


def read(
    preds: Any = None,
    *,
    kind: Any = None,
    positive: Any = None,
    columns: Any = None,
    header: Any = None,
    systems: Any = None,
    baseline: Any = None,
    metrics: Any = None,
    threshold: Any = None,
    costs: Any = None,
    prevalence: Any = None,
    precision_target: Any = None,
    unit: Any = None,
    segments: Any = None,
    level: Any = 0.95,
    margin: Any = None,
    gate: Any = None,
    seed: Any = 0,
    memory: Any = None,
    threads: Any = None,
    spill: Any = None,
) -> Study:
    """Reads the input and the parameters of `notebooks/classification.ipynb`, whose comments say what each is.

    Without `preds` it is the bundled sample. Raises ParameterError for a parameter, InputError for the input.
    """
    given = provenance.changed(locals(), read)
    if preds is None:
        preds, segments = SAMPLE, SEGMENTS if segments is None else segments
    names = parameters.texts("segments", segments)
    cluster = parameters.text("unit", unit)
    asked: dict[str, Any] = {
        "positive": parameters.text("positive", positive),
        "columns": parameters.mapping("columns", columns),
        "systems": parameters.texts("systems", systems),
    }
    limits = engine.limits(
        parameters.text("memory", memory), parameters.integer("threads", threads), parameters.text("spill", spill)
    )
    kind = parameters.choice("kind", kind, outcomes.KINDS)
    listed = isinstance(preds, str) and preds.startswith("[")
    parts = sources.parts(parameters.texts("preds", preds) if listed else preds, study.headers(header))
    shared = {
        "baseline": baseline,
        "unit": unit,
        "segments": segments,
        "level": level,
        "margin": margin,
        "gate": gate,
        "seed": seed,
    }
    with _large(parts, kind, asked, names, cluster, limits) as table:
        if table is not None:
            _unused("precision_target", precision_target, "multi-class")
            return binary_sums.make(table, metrics, threshold, costs, prevalence, given, shared)
    data = outcomes.read(
        parts, kind=kind, attributes=list(dict.fromkeys([*names, *([cluster] if cluster else [])])), **asked
    )
    if not isinstance(data, Binary):
        _unused("costs", costs, "binary")
        _unused("prevalence", prevalence, "binary")
    if isinstance(data, Binary):
        _unused("precision_target", precision_target, "multi-class")
        return binary_rows.make(data, metrics, threshold, costs, prevalence, given, shared)
    if isinstance(data, MultiClass):
        _unused("threshold", threshold, "binary or multi-label")
        return classes.make(data, metrics, precision_target, given, shared)
    _unused("precision_target", precision_target, "multi-class")
    return multilabel.make(data, metrics, threshold, given, shared)


@contextmanager
def _large(
    parts: list[Part],
    kind: str | None,
    asked: Mapping[str, Any],
    segments: Sequence[str],
    unit: str | None,
    limits: Limits,
) -> Iterator[Large | None]:
    """The table in an engine where it is binary and has more rows than are kept; None where it is to be kept."""
    given = asked["columns"] or {}
    if large.few(parts, large.ROWS) or (kind or outcomes.kind_of(parts[0], given, asked["systems"])) != "binary":
        yield None
        return
    told = {"segments": list(dict.fromkeys(segments)), "unit": unit, **asked}
    if cluster := spark.engine_for(parts):
        yield large.read(cluster, parts, **told)
        return
    with engine.opened(limits) as opened:
        yield large.read(opened, parts, **told) if large.count(opened, parts) > large.ROWS else None


def _unused(name: str, value: Any, kind: str) -> None:
    """Raises ParameterError for a parameter that has no meaning for this kind of table."""
    if value is not None:
        raise parameters.ParameterError(f"{name}: only for a {kind} table")
