"""The JSON of a report: every number of its page, unrounded, and what made it."""

from collections.abc import Iterable, Mapping
from typing import Any

from evalkit.drawing import tables
from evalkit.drawing.tables import Html, Results
from evalkit.findings.finding import Finding
from evalkit.parameters import cells
from evalkit.reading.inputs.aligned import Aligned
from evalkit.reading.tables.parts import Source
from evalkit.studies import diagnostics, provenance
from evalkit.studies.account import Account
from evalkit.studies.study import Study


def origin(study: Study, notebook: str) -> Html:
    """The command that makes the page again, the inputs, the parameters, the versions."""
    settings = study.settings
    return tables.provenance(provenance.table(study.sources, study.given, notebook, settings.seed, settings.metrics))


def population(rows: Aligned | Account) -> dict[str, Any]:
    """The columns and the rows of a table of predictions, as a report's JSON has them."""
    counted = {"rows": len(rows), "read": rows.read, "alone": rows.alone}
    return {"columns": dict(rows.columns), "population": counted}


def results(study: Study, notebook: str, findings: Iterable[Finding], more: Mapping[str, Any]) -> Results:
    """Every number of the page, unrounded, as `evalkit/schema.json` describes it."""
    return Results(about(notebook, study.given, study.sources, study.gate, findings) | answers(study) | dict(more))


def about(
    notebook: str,
    parameters: Mapping[str, Any],
    sources: tuple[Source, ...],
    gate: Mapping[str, Any] | None,
    findings: Iterable[Finding],
) -> dict[str, Any]:
    """What every report's JSON begins with."""
    return {
        "schema": "evalkit/1",
        "report": notebook,
        "parameters": provenance.printable(parameters),
        **({"settings": origin} if (origin := cells.settings()) else {}),
        "inputs": provenance.inputs(sources),
        "versions": provenance.versions(),
        "gate": gate,
        "findings": [finding.record() for finding in findings],
    }


def answers(study: Study) -> dict[str, Any]:
    """The frames of a study that every report's JSON has."""
    best_two = diagnostics.best_two(study).to_dict("records")
    return ({"best_two": best_two} if best_two else {}) | {
        "primary": study.primary.label,
        "metrics": [provenance.metric(chosen) for chosen in study.settings.metrics],
        "order": study.order,
        "headline": study.headline.to_dict("records"),
        "estimates": study.estimates.to_dict("records"),
        "comparisons": study.comparisons.to_dict("records"),
        "segments": study.by_segment.to_dict("records"),
    }
