"""The classification study: reads the input, finds its kind, and hands over to the study of that kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evalkit import parameters
from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup
from evalkit.limits import USUAL, Limits
from evalkit.parameters import Classification
from evalkit.reading.engines import base
from evalkit.reading.inputs.outcomes import Binary, MultiClass, MultiLabel, Predicted
from evalkit.reading.reductions import scores
from evalkit.reading.tables import sources
from evalkit.studies import binary_studies, classes
from evalkit.studies import labels as labels_study
from evalkit.studies.row_study import RowStudy
from evalkit.studies.study import check_columns

SAMPLE = {"preds": "data/german_credit/predictions.csv", "segments": ["age_band", "housing"]}


@dataclass(frozen=True)
class ByKind:
    """What is made of one kind of table. idle: parameters without a meaning for it -> the kinds that they are for."""

    study: Callable[[Any, Classification, Limits], RowStudy]
    idle: Mapping[str, str]


FOR_TWO, FOR_SEVERAL = dict.fromkeys(("costs", "prevalence"), "binary"), {"precision_target": "multi-class"}
KINDS: Mapping[type, ByKind] = {
    Binary: ByKind(binary_studies.of_rows, FOR_SEVERAL),
    MultiClass: ByKind(classes.of_rows, FOR_TWO | {"threshold": "binary or multi-label"}),
    MultiLabel: ByKind(labels_study.of_rows, FOR_TWO | FOR_SEVERAL),
}

LARGE: Mapping[type, tuple[type, Callable[[Any, Classification, Limits], RowStudy]]] = {
    scores.Scores: (Binary, binary_studies.of_blocks),
    scores.Classes: (MultiClass, classes.of_blocks),
    scores.Labels: (MultiLabel, labels_study.of_blocks),
}


@parameters.reader(parameters.Classification)
def read(p: parameters.Classification) -> RowStudy:
    """Read labels and scores, and measure, compare and plot how well the scores separate the classes.

    Without `preds` and arrays it is the bundled sample. Raises ParameterError for a parameter, InputError for
    the input.

    >>> import evalkit as ek
    >>> study = ek.classification(y_true=[0, 0, 1, 1, 0, 1], y_score={"a": [1, 2, 3, 4, 5, 6], "b": [1, 5, 2, 3, 4, 6]})
    >>> study.estimates["value"].round(3).tolist()[:2], study.order
    ([0.778, 0.556], ['a', 'b'])
    """
    return study_of(p)


@sources.naming_files
def study_of(p: Classification, limits: Limits = USUAL) -> RowStudy:
    """The study that the parameters of `read` ask for, within these limits."""
    p = p.filled(SAMPLE) if p.preds is None else p
    parts = sources.parts(p.preds, p.header, limits.reading)
    check_columns(p.metrics, parts)
    budget = base.budget(p.memory, p.threads, p.spill, limits.reading)
    attributes = list(dict.fromkeys([*p.segments, *([p.unit] if p.unit else []), *lookup.columns(p.metrics)]))
    predicted = Predicted.of(
        parts, kind=p.kind, positive=p.positive, columns=p.columns, systems=p.systems, attributes=attributes
    )
    with scores.opened(predicted, budget, p.segments, p.unit) as table:
        if table is not None:
            kind_of, of_blocks = LARGE[type(table)]
            _refuse_idle(p, KINDS[kind_of].idle)
            return of_blocks(table, p, limits)
    data = predicted.read()
    kind = KINDS[type(data)]
    _refuse_idle(p, kind.idle)
    return kind.study(data, p, limits)


def _refuse_idle(p: Classification, idle: Mapping[str, str]) -> None:
    """Raises ParameterError for a parameter that has no meaning for this kind of table."""
    for name, kind in idle.items():
        if name in p.given:
            raise ParameterError(f"{name}: only for a {kind} table")
