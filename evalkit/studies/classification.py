"""The classification study: reads the input, finds its kind, and hands over to the study of that kind."""

from typing import Any

from evalkit.reading import outcomes, parameters
from evalkit.reading.outcomes import Binary, MultiClass
from evalkit.studies import binary_rows, classes, multilabel, provenance
from evalkit.studies.study import Study

SAMPLE = "data/german_credit/predictions.csv"
SEGMENTS = ["age_band", "housing"]


def read(
    preds: Any = None,
    *,
    kind: Any = None,
    positive: Any = None,
    columns: Any = None,
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
) -> Study:
    """Reads the input and the parameters of `notebooks/classification.ipynb`, whose comments say what each is.

    Without `preds` it is the bundled sample. Raises ParameterError for a parameter, InputError for the input.
    """
    given = provenance.changed(locals(), read)
    if preds is None:
        preds, segments = SAMPLE, SEGMENTS if segments is None else segments
    names = parameters.texts("segments", segments)
    cluster = parameters.text("unit", unit)
    data = outcomes.read(
        parameters.texts("preds", preds) if isinstance(preds, str) and preds.startswith("[") else preds,
        kind=parameters.choice("kind", kind, outcomes.KINDS),
        positive=parameters.text("positive", positive),
        columns=parameters.mapping("columns", columns),
        systems=parameters.texts("systems", systems),
        attributes=list(dict.fromkeys([*names, *([cluster] if cluster else [])])),
    )
    shared = {
        "baseline": baseline,
        "unit": unit,
        "segments": segments,
        "level": level,
        "margin": margin,
        "gate": gate,
        "seed": seed,
    }
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


def _unused(name: str, value: Any, kind: str) -> None:
    """Raises ParameterError for a parameter that has no meaning for this kind of table."""
    if value is not None:
        raise parameters.ParameterError(f"{name}: only for a {kind} table")
