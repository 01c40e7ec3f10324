"""The JSON of a report: every number of its page, unrounded, and what made it."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from evalkit import numbers
from evalkit.drawing import tables
from evalkit.drawing.tables import Html, Results
from evalkit.findings.kinds import Finding
from evalkit.parameters import cells
from evalkit.reading.inputs.aligned import Aligned
from evalkit.reading.tables.parts import Source
from evalkit.studies import diagnostics, provenance, units
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
    """Every number of the page, unrounded, as `evalkit/schema.json` describes it; beside it the file of the units."""
    units.leave(notebook, {"": study})
    return Results(about(notebook, study.given, study.sources, study.gate, findings) | answers(study) | dict(more))


SHARED = ("level", "unit")  # of a comparison: all those of a study have the same


def columns(frame: pd.DataFrame) -> dict[str, Any]:
    """A frame of comparisons by column: a list, a value that all rows share, or words and the place of each row's.

    Long lists of numbers are packed, as `numbers.column` says.

    >>> columns(pd.DataFrame({"first": ["b", "b"], "p": [0.25, 1.0], "unit": ["query", "query"]}))
    {'first': {'words': ['b'], 'at': [0, 0]}, 'p': [0.25, 1.0], 'unit': 'query'}
    """
    return {name: _column(name, frame[name]) for name in frame}


def _column(name: str, values: pd.Series) -> Any:
    if name in SHARED:
        return values.iloc[0]
    if not isinstance(values.iloc[0], str):
        return numbers.column(values.to_numpy())
    at, words = pd.factorize(values)
    return {"words": words.tolist(), "at": numbers.column(at)}


def about(
    notebook: str,
    parameters: Mapping[str, Any],
    sources: tuple[Source, ...],
    gate: Mapping[str, Any] | None,
    findings: Iterable[Finding],
) -> dict[str, Any]:
    """What every report's JSON begins with."""
    return {
        "schema": "evalkit/2",
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
        "comparisons": columns(study.comparisons),
        "segments": study.by_segment.to_dict("records"),
    }
