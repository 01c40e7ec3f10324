"""The classification study: reads the input and makes the study of its kind, binary, multi-class or
multi-label.

`binary`, `classes` and `labels` make them, from rows in memory or from a table that is read in
blocks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup
from evalkit.limits import USUAL_LIMITS, Limits
from evalkit.parameters.reports import ClassificationParameters, attributes, reader
from evalkit.reading.engines import backends
from evalkit.reading.inputs.outcomes import Outcomes, OutcomeTable
from evalkit.reading.matching import commands
from evalkit.reading.reductions import scores
from evalkit.reading.tables import sources
from evalkit.studies import binary, classes, labels, row_study

SAMPLE = {"preds": "data/german_credit/predictions.csv", "segments": ["age_band", "housing"]}


@dataclass(frozen=True)
class ByKind:
    """The studies of one kind of table: those of rows in memory and those of rows in blocks.
    inapplicable: parameters that do not apply to the kind -> the kinds that they apply to.
    """

    of_rows: Callable[[Outcomes, ClassificationParameters, Limits], row_study.RowStudy]
    of_blocks: Callable[[scores.Predictions, ClassificationParameters, Limits], row_study.RowStudy]
    inapplicable: Mapping[str, str]


FOR_TWO = dict.fromkeys(("costs", "prevalence"), "binary")
FOR_SEVERAL = {"precision_target": "multi-class"}
KINDS = {
    "binary": ByKind(binary.of_rows, binary.of_blocks, FOR_SEVERAL),
    "multi-class": ByKind(
        classes.of_rows, classes.of_blocks, FOR_TWO | {"threshold": "binary or multi-label"}
    ),
    "multi-label": ByKind(labels.of_rows, labels.of_blocks, FOR_TWO | FOR_SEVERAL),
}


@commands.advise_on_errors
def study_of(p: ClassificationParameters, limits: Limits = USUAL_LIMITS) -> row_study.RowStudy:
    """Read labels and scores, and measure, compare and plot how well the scores separate the
    classes.

    Without `preds` and arrays, the bundled sample is read. Raises ParameterError for an invalid
    parameter and InputError for invalid input.

    >>> import evalkit as ek
    >>> study = ek.classification(
    ...     y_true=[0, 0, 1, 1, 0, 1], y_score={"a": [1, 2, 3, 4, 5, 6], "b": [1, 5, 2, 3, 4, 6]}
    ... )
    >>> study.estimates["value"].round(3).tolist()[:2], study.order
    ([0.778, 0.556], ['a', 'b'])
    """
    if p.preds is None:
        p = p.with_defaults(SAMPLE)
    predicted = _outcome_table(p, limits)
    if p.slices:
        columns = predicted.slice_columns(p.slices)
        predicted = predicted.with_slices(columns, p.slices)
        p = replace(p, slices=columns)
    kind = KINDS[predicted.kind]  # binary, multi-class or multi-label
    # if all scores are 0 or 1 they are decisions: metrics of the order of scores, which the default
    # includes, would mean nothing
    if predicted.scores_are_decisions and not p.metrics:
        p = replace(p, metrics=binary.THRESHOLD_METRICS)
    # parameters that do not apply to this kind of table, and the kinds that they do apply to
    for name, applicable_kinds in kind.inapplicable.items():
        if name in p.given_values:
            raise ParameterError(f"{name}: only for a {applicable_kinds} table")
    # `fits_in_memory` goes by an upper bound on the number of rows. `_study_of_blocks` counts the
    # rows, and returns None if they do fit into memory.
    if not predicted.fits_in_memory(limits.reading):
        study = _study_of_blocks(kind, predicted, p, limits)
        if study is not None:
            return study
    return kind.of_rows(predicted.read(), p, limits)


def _study_of_blocks(
    kind: ByKind, predicted: OutcomeTable, p: ClassificationParameters, limits: Limits
) -> row_study.RowStudy | None:
    """The study of a table that is read block by block; None if its rows, which are counted only
    now, fit into memory. Raises ParameterError for groups and slices, which need all rows.
    """
    budget = backends.budget_of(p, limits.reading)  # of memory and threads for reading
    with scores.opened(predicted, budget, p.segments, p.unit) as predictions:
        if predictions is None:  # the rows fit into memory
            return None
        if p.groups or p.slices:
            name = "groups" if p.groups else "slices"
            raise ParameterError(
                f"{name}: need all rows in memory, at most {limits.reading.rows:,}, got "
                f"{predictions.table.rows:,}; give a random sample of the rows"
            )
        return kind.of_blocks(predictions, p, limits)


def _outcome_table(p: ClassificationParameters, limits: Limits) -> OutcomeTable:
    """The files or tables of the input, of which no row is read yet, with the parameters that say
    which column is what; slices are added later, as their names may depend on the columns.

    limits: how much of a table on a cluster may be read.
    """
    return OutcomeTable(
        sources.parts(p.preds, p.header, limits.reading),
        requested_kind=p.kind,
        positive=p.positive,
        columns=p.columns,
        systems=p.systems,
        attributes=attributes((*p.segments, *p.groups), p.unit),
        groups=p.groups,
        metric_columns=lookup.columns_needed_by(p.metrics),
        unit=p.unit,
    )


read = reader(ClassificationParameters)(study_of)
