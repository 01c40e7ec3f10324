"""The numbers of a page as `evalkit/schema.json` describes them."""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol

import pandas as pd

from evalkit import numbers, report
from evalkit.arrays import ParameterError, Record
from evalkit.findings.kinds import Finding
from evalkit.pages import first_screen
from evalkit.parameters import cells
from evalkit.parameters.reports import SharedParameters
from evalkit.reading.inputs.aligned import Aligned
from evalkit.reading.tables.parts import Source
from evalkit.studies import diagnostics, provenance, row_study, units
from evalkit.studies.policy import JudgedPolicy
from evalkit.studies.study import Study

SCHEMA = "evalkit/2"


class Published(Protocol):
    """A study, or two of an interleaving report, with what every report's JSON says of it."""

    @property
    def report(self) -> str: ...
    @property
    def p(self) -> SharedParameters: ...
    @property
    def sources(self) -> Sequence[Source]: ...
    @property
    def gate(self) -> JudgedPolicy | None: ...


def population_fields(rows: Aligned | row_study.ReadingAccount) -> dict[str, dict[str, object]]:
    """The columns and the rows of a table of predictions, as a report's JSON has them."""
    counts: dict[str, object] = {"rows": len(rows), "read": rows.read, "alone": rows.alone}
    return {"columns": dict(rows.columns), "population": counts}


def frames_as_records(**frames: pd.DataFrame) -> dict[str, object]:
    """Frames by name, each as a list of its rows."""
    return {name: frame.to_dict("records") for name, frame in frames.items()}


def results(study: Any, findings: Iterable[Finding], fields: Record) -> report.Results:
    """Every number of the page, unrounded, as `evalkit/schema.json` describes it; beside it the
    file of the units.

    study: a `Study` that is `Published`. fields: further ones that this report alone has, by name.
    """
    units.write_if_asked(study.report, {"": study})
    return report.Results(header(study, findings) | answers(study) | dict(fields))


SHARED = ("level", "unit")  # columns of comparisons: all those of a study have the same value


def columns(frame: pd.DataFrame) -> dict[str, object]:
    """A frame of comparisons by column: a list, a value that all rows share, or words and the place
    of each row's.

    Long lists of numbers are packed, as `numbers.column` says.

    >>> columns(pd.DataFrame({"first": ["b", "b"], "p": [0.25, 1.0], "unit": ["query", "query"]}))
    {'first': {'words': ['b'], 'at': [0, 0]}, 'p': [0.25, 1.0], 'unit': 'query'}
    """
    return {name: _column(name, frame[name]) for name in frame}


def _column(name: str, values: pd.Series) -> object:
    """One column of comparisons for the JSON, made small, as there may be many comparisons: the
    value that all share; a list of numbers; or the different words, and for each row the place of
    its word among them. values: at least one.
    """
    if name in SHARED:
        return values.iloc[0]
    if not isinstance(values.iloc[0], str):
        return numbers.column(values.to_numpy())
    places, words = pd.factorize(values)
    return {"words": words.tolist(), "at": numbers.column(places)}


def header(study: Published, findings: Iterable[Finding]) -> dict[str, object]:
    """What every report's JSON begins with: where its numbers are from, the gate, the findings."""
    fields: dict[str, object] = {
        "schema": SCHEMA,
        "report": study.report,
        "parameters": provenance.printable(study.p.given_values),
    }
    settings = cells.settings()  # the settings file of a notebook, with its hash; "" for none
    if settings:
        fields["settings"] = settings
    gate = None if study.gate is None else study.gate.record()
    return fields | {
        "inputs": provenance.inputs(study.sources),
        "versions": provenance.versions(),
        "gate": gate,
        "findings": [finding.record() for finding in findings],
    }


def answers(study: Study) -> dict[str, object]:
    """What the JSON of every study has: the answer, estimates and comparisons, and, where there are
    any, groups, weak slices and slices beside the others.
    """
    fields: dict[str, object] = {}
    best_two = diagnostics.best_two_comparison(study)
    if len(best_two):
        fields |= frames_as_records(best_two=best_two)
    # what a constant prediction reaches in the primary metric; NaN if nothing is predicted
    constant = diagnostics.constant(study, study.primary_metric)
    if math.isfinite(constant):
        fields["constant"] = constant
    if study.settings.groups.columns:
        group_columns = study.settings.groups.columns
        gaps = pd.concat([study.gaps(column) for column in group_columns])
        largest_gaps = pd.concat([study.largest_gaps(column) for column in group_columns])
        fields |= frames_as_records(gaps=gaps, largest_gaps=largest_gaps)
    if study.settings.slices:
        weak = study.weak_slices()
        detectable = study.detectable_slices()
        fields |= frames_as_records(weak_slices=weak, detectable_slices=detectable)
    if len(study.by_segment):
        with suppress(ParameterError):  # slices that are not independent
            rest = study.slices_against_rest
            fields |= frames_as_records(slices_against_rest=rest, picked_slices=study.picked_slices)
    if study.weakest:  # the weakest slice
        fields["weakest"] = vars(study.weakest)
    return fields | {
        "answer": first_screen.answer(study),
        "primary": study.primary_metric.label,
        "metrics": [provenance.metric(chosen) for chosen in study.settings.metrics],
        "order": study.order,
        "comparisons": columns(study.comparisons),
        **frames_as_records(
            headline=study.headline, estimates=study.estimates, segments=study.by_segment
        ),
    }
