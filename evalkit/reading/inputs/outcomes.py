"""Reads tables of predictions: binary, multi-class and multi-label outcomes, and forecasts; columns
decide the kind.

binary: a label and a score. multi-class: a label and `p_<class>` columns, or a predicted class.
multi-label: columns `y_<label>` of 0 and 1 and `p_<label>`. forecasts: an actual value and a
forecast. Systems in a column, in columns such as `score_<system>`, or in several files.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, InputError, Ints, ParameterError
from evalkit.metrics import counts, predictive
from evalkit.metrics.rows import ErrorKind, Misses
from evalkit.names import usual
from evalkit.numbers import exact
from evalkit.parameters.kinds import written
from evalkit.reading.inputs import aligned
from evalkit.reading.inputs.aligned import (
    Aligned,
    ColumnLayout,
    PredictionTable,
)
from evalkit.reading.matching.column_names import (
    columns_of_systems,
    comparable_name,
    says_prediction,
    snake_case,
)
from evalkit.reading.matching.proposal import (
    LEAST_CLASSES,
    Proposal,
    classification,
    probabilities_of_classes,
)
from evalkit.reading.matching.samples import (
    ANSWER_WORDS,
    FEW,
    POSITIVE_OF,
    SampledTable,
)
from evalkit.reading.tables import columns as column_roles, parts, rules
from evalkit.reading.tables.frames import canonical_label
from evalkit.reading.tables.rules import Field, Role, RoleColumn
from evalkit.reading.tables.table import EMPTY_ATTRIBUTE, Coded

ID = Role.declared("id")
SYSTEM = Role.declared("system")
WEIGHT = Role.declared("weight")
LABEL = Role.declared("label", required=True, normalise=canonical_label)
PREDICTED = Role.declared("predicted", normalise=canonical_label)
ROLES = (
    ID,
    SYSTEM,
    LABEL,
    Role.declared("score", per_system=True, required=True),
    PREDICTED,
    WEIGHT,
)
NAMES = tuple(role.name for role in ROLES)
WORDS_OF_DECISIONS = usual("decisions")["columns"]  # such as predicted
# the roles of two classes; their decisions are found beside the scores, if there are any
BINARY_ROLES = tuple(role for role in ROLES if role.name != "predicted")


# What rows are, and what systems say of them ------------------------------------------------------


def _rank(score: Floats) -> Floats:
    """For each score the share of scores that are lower, with half of those that are equal."""
    # with all rows as negatives, a threshold's false positives are the scores at or above it
    table = counts.count(score, np.zeros(len(score), dtype=np.int64))
    threshold = np.searchsorted(-table.threshold, -score)
    at_or_above = table.fp[threshold]
    equal = table.negative[threshold]
    return 1 - (at_or_above - equal / 2) / len(score)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Actual values and predictions.

    kind: "binary", "multi-class", "multi-label" or "forecasts". names: for two classes the negative
    one, "" if it never occurs, and the positive one; else all classes, or the labels. actual: 1 for
    the positive class and 0 for the other, numbers of classes, a column of True and False per
    label, or numbers. score: system -> scores or forecasts, one per row; of several classes or
    labels one column each; empty if only classes are predicted. weight: one per row; None without
    weights. predicted: system -> numbers of classes, for several classes. decision: system -> True
    for each row for which it decided for the positive class of two, if a column says so.
    unused_decisions: columns that are named as decisions, but could not be read as such.
    """

    rows: Aligned
    kind: str
    names: tuple[str, ...]
    actual: np.ndarray
    score: Mapping[str, Floats]
    weight: Floats | None
    predicted: Mapping[str, Ints] = field(default_factory=dict)
    decision: Mapping[str, Bools] = field(default_factory=dict)
    unused_decisions: tuple[str, ...] = ()

    @property
    def scores_are_probabilities(self) -> bool:
        """True if every score is a probability."""
        return all(map(are_probabilities, self.score.values()))

    @property
    def shares(self) -> Mapping[str, Floats]:
        """System -> its probabilities; for other scores the share of rows that score lower."""
        if self.scores_are_probabilities:
            return self.score
        return {name: np.apply_along_axis(_rank, 0, score) for name, score in self.score.items()}

    @property
    def outside(self) -> str:
        """The first score outside 0..1, as text; "" if there is none."""
        for system, score in self.score.items():
            if not are_probabilities(score):
                # of scores of shape (rows,), or (rows, classes)
                first = int(((score < 0) | (score > 1)).argmax())
                row, *number = map(int, np.unravel_index(first, score.shape))
                column = self._column_of_class(number[0]) if self.kind == "multi-class" else ""
                return outside(system, score[(row, *number)], self.rows.place(row, system), column)
        return ""

    def _column_of_class(self, number: int) -> str:
        """The column with the scores of a class, of several classes."""
        name = self.names[number]
        columns = [column for column in self.rows.layout.columns if column.role.startswith("p ")]
        return next(
            column.field.column for column in columns if canonical_label(column.role[2:]) == name
        )

    @property
    def row_errors(self) -> Misses:
        """The error of each system on each row."""
        return MISSES[self.kind](self)


def _misses_of_two(o: Outcomes) -> Misses:
    """The errors of probabilities of the positive class, or else of shares of rows that score
    lower: |1 − p| for positive rows, |p| for negative ones.
    """
    negative, positive = o.names
    names = np.array([negative or f"not {positive}", positive], dtype=object)
    errors = {system: np.abs(o.actual - share) for system, share in o.shares.items()}
    measure = ErrorKind.PROBABILITY if o.scores_are_probabilities else ErrorKind.RANK
    return Misses(names[o.actual], "label", o.score, errors, measure)


def _misses_of_classes(o: Outcomes) -> Misses:
    """The errors of probabilities of the actual class, 1 − p, or else of predicted classes, 0 or
    1.
    """
    classes = np.array(o.names, dtype=object)
    answers = {system: classes[predicted] for system, predicted in o.predicted.items()}
    if o.score and o.scores_are_probabilities:
        measure = ErrorKind.CLASS
        rows = np.arange(len(o.actual))
        errors = {system: 1 - score[rows, o.actual] for system, score in o.score.items()}
    else:
        measure = ErrorKind.DECISION
        errors = {
            system: (predicted != o.actual).astype(float)
            for system, predicted in o.predicted.items()
        }
    return Misses(classes[o.actual], "class", answers, errors, measure)


def _misses_of_labels(o: Outcomes) -> Misses:
    """The mean error over the labels of a row; the answer is the label with the largest one."""
    names = np.array(o.names, dtype=object)
    truth = np.array([", ".join(names[labels]) or "–" for labels in o.actual], dtype=object)
    gaps = {system: np.abs(o.actual - share) for system, share in o.shares.items()}
    errors = {system: gap.mean(axis=1) for system, gap in gaps.items()}
    worst = {system: names[gap.argmax(axis=1)] for system, gap in gaps.items()}
    answers = {system: np.where(errors[system] > 0, worst[system], "–") for system in worst}
    return Misses(truth, "labels", answers, errors, ErrorKind.LABELS)


def _misses_of_forecasts(o: Outcomes) -> Misses:
    """The absolute errors of forecasts."""
    errors = {name: np.abs(forecast - o.actual) for name, forecast in o.score.items()}
    return Misses(o.actual, "actual", o.score, errors, ErrorKind.ERROR)


MISSES: Mapping[str, Callable[[Outcomes], Misses]] = {
    "binary": _misses_of_two,
    "multi-class": _misses_of_classes,
    "multi-label": _misses_of_labels,
    "forecasts": _misses_of_forecasts,
}


@dataclass(frozen=True, eq=False)
class OutcomeTable(PredictionTable):
    """A table of predictions before it is read, with the parameters about its columns.

    requested_kind: the kind of outcomes that the user asks for; None for any. positive: the label
    that counts as 1, if labels are not 0 and 1, -1 and 1, or false and true.
    """

    roles: Sequence[Role] = ROLES
    requested_kind: str | None = None
    positive: str | None = None

    @cached_property
    def kind(self) -> str:
        """The kind of outcomes: "binary", "multi-class" or "multi-label". The user's choice comes
        first; then what the values in the first rows suggest, if names of columns do not suffice;
        then what the names say. Raises InputError if several columns could have a role.
        """
        if self.requested_kind is not None:
            return self.requested_kind
        if self.proposal is not None:  # None if the names suffice
            return self.proposal.kind
        part = self.parts[0]  # the others have the same columns
        roles = self.role_mappings[part].resolve()  # role -> column
        # Columns y_<label> and p_<label> make a table of several labels per row. But y_true is no
        # label called "true" if it is the column of the labels.
        if label_columns(part) - set(roles.values()):
            return "multi-label"
        if "score" in roles or columns_of_systems(part.columns, "score", self.systems, part.name):
            return "binary"
        if "predicted" in roles or len(class_score_columns(part)) > 1:
            return "multi-class"
        return "binary"  # the error for missing columns is that of a binary table

    @property
    def names_suffice(self) -> bool:
        """True if no value need be looked at to find the columns: their names say which hold the
        predictions and the labels, or a column that the user names is missing, which is an error.
        """
        part = self.parts[0]
        mapping = self.role_mappings[part]
        # several labels per row: the columns y_<label> and p_<label> are known by their names
        if self.requested_kind == "multi-label" or label_columns(part):
            return True
        may_have_more_classes = self.requested_kind != "binary"
        if may_have_more_classes and len(class_score_columns(part)) > 1:
            # the columns p_<class> hold the predictions
            return bool(mapping.missing_columns) or "label" in mapping.columns
        # columns that the user names as systems count as scores, unless their values are classes
        if self.systems and may_have_more_classes and self._systems_are_classes:
            return False
        # if the user names the column of predicted classes, no scores are needed
        return super().names_suffice or "predicted" in self.columns

    @property
    def _systems_are_classes(self) -> bool:
        """True if the columns of the systems that the user names hold labels of several classes."""
        named = [column for column in self.sample.columns if column.name in self.systems]
        return bool(named) and all(
            column.holds_labels and len(column.labels) > 2 for column in named
        )

    def propose_columns(self, table: SampledTable) -> Proposal:
        """The labels and the predictions; lacking the kind if the user asks for another one."""
        proposal = classification(table, self.requested_kind)
        if self.requested_kind in (None, proposal.kind):
            return proposal
        return replace(proposal, lacking_roles=[*proposal.lacking_roles, "kind"])

    @property
    def positive_label(self) -> str | None:
        """The label that counts as 1: the one that the user names; else the one that a proposal
        finds in the first rows, as the class whose probabilities the scores are; None if neither
        says it.
        """
        if self.positive is None and self.proposal is not None:
            return self.proposal.positive
        return self.positive

    @property
    def scores_are_decisions(self) -> bool:
        """True if the scores of a binary table are decisions, as those in the first rows are all 0
        or 1. It is False if names of columns say that they are scores: then there is no proposal.
        """
        if self.proposal is None or self.kind != "binary":
            return False
        samples = {column.name: column for column in self.sample.columns}
        score_columns = [roles["score"] for roles in self.proposal.predictions.values()]
        return all(samples[name].labels <= {"0", "1"} for name in score_columns)

    def layout(self, part: parts.InputPart) -> ColumnLayout:
        """The columns of a file or table that are read, which depend on the kind of outcomes."""
        if self.kind == "binary":
            # columns of several classes with unusual names are taken for those of systems
            self._refuse_unnamed_classes(part)
            return self.layout_per_system(part, BINARY_ROLES)
        if self.kind == "multi-label":
            return self._label_layout(part)
        return self._class_layout(part)

    def _refuse_unnamed_classes(self, part: parts.InputPart) -> None:
        """Raise InputError for columns of probabilities of classes, which sum to 1 in each row, but
        are not called p_<class>: each would be taken for the scores of a system.

        part: a table without columns p_<class>.
        """
        predictions = [name for name in part.columns if says_prediction(snake_case(name))]
        if len(predictions) < LEAST_CLASSES:  # so few may as well be the scores of two systems
            return
        first_rows = self.sample_of(part)
        probabilities = probabilities_of_classes(first_rows)  # the columns that sum to 1
        labels = first_rows.named("label")
        if not probabilities or len(labels) != 1:  # the error names one column of labels
            return
        names = [column.name for column in probabilities]
        classes = _in_order(set(labels[0].labels))
        raise column_roles.refused(
            part.name,
            "unnamed_classes",
            columns=column_roles.listed(map(repr, names)),
            label=labels[0].name,
            classes=column_roles.listed(map(repr, classes)),
            names=column_roles.listed([f"p_{name}" for name in classes]),
        )

    def _class_layout(self, part: parts.InputPart) -> ColumnLayout:
        """The columns of several classes: the label, a score of each class, the predicted one."""
        scores = class_score_columns(part)
        needed = ["label"] if scores else ["label", "predicted"]
        roles = self.role_mappings[part].resolve(needed)
        columns = aligned.shared_columns(
            (ID, SYSTEM, LABEL, WEIGHT), roles, self.attributes, self.metric_columns
        )
        if "predicted" in roles:
            columns.append(PREDICTED.column(roles["predicted"], 0))
        columns += [RoleColumn(f"p {name[2:]}", Field(name, rules.NUMBER), 0) for name in scores]
        return ColumnLayout(tuple(columns))

    def _label_layout(self, part: parts.InputPart) -> ColumnLayout:
        """The columns of several labels: for each whether it holds, and its score."""
        scores = class_score_columns(part)
        roles = self.role_mappings[part].resolve()
        _both_columns(part, scores, set(roles.values()).union(self.attributes, self.metric_columns))
        columns = aligned.shared_columns(
            (ID, SYSTEM, WEIGHT), roles, self.attributes, self.metric_columns
        )
        labels = [name[2:] for name in scores]
        columns += [
            RoleColumn(f"true {label}", Field(f"y_{label}", rules.FLAGS)) for label in labels
        ]
        columns += [
            RoleColumn(f"p {label}", Field(f"p_{label}", rules.NUMBER), 0) for label in labels
        ]
        return ColumnLayout(tuple(columns))

    def _with_decisions(self, part: parts.InputPart, layout: ColumnLayout) -> ColumnLayout:
        """The columns of a binary table, with those of the decisions that systems made: the column
        that the user names, else one per system that is called so, such as predicted_a. Without
        exactly one for every system the layout stays as it is, as decisions are optional.
        """
        chosen = self.columns.get("predicted")
        # decisions that the user did not ask for are ignored if a cell is empty, not refused
        content = rules.NAME if chosen else rules.NAME_OR_EMPTY
        # a long table has one column for all of its systems, which has no system in its name
        systems = layout.systems or ("",)
        decisions = []
        for number, system in enumerate(systems):
            candidates = [chosen] if chosen else decision_columns(part.columns, layout, system)
            if len(candidates) != 1:
                return layout
            column = Field(candidates[0], content, canonical_label)
            decisions.append(RoleColumn("predicted", column, system=number))
        return replace(layout, columns=layout.columns + tuple(decisions))

    def read(self) -> Outcomes:
        """Read the outcomes of all rows. Raises InputError with file, column, row and value for
        invalid values, ParameterError if `positive` is set for more than two classes.
        """
        if self.positive is not None:
            check_positive(self.kind)
        first = self.parts[0]
        if self.kind == "multi-class":
            return _multi_class(self.rows(), first)
        if self.kind == "multi-label":
            return _multi_label(self.rows())
        # a binary table may hold decisions of the systems beside their scores
        layouts = [
            self._with_decisions(part, layout)
            for part, layout in zip(self.parts, self.layouts, strict=True)
        ]
        rows = aligned.read(self.parts, layouts, self.systems, self.unit, self.optional)
        self.refuse_both_classes(rows.predictions_of("score"))
        return _binary(rows, self.positive_label, first, self.columns.get("predicted"))

    def refuse_both_classes(self, scores: Mapping[str, Floats]) -> None:
        """Raise InputError if the scores of two systems sum to 1 in every row, unless the user
        names them as `systems`: they are rather one system's probabilities of the two classes.

        scores: system -> its scores, of all rows or of the first ones.
        """
        if self.systems or len(scores) != 2 or not sum_to_one(*scores.values()):
            return
        columns = self.layouts[0].columns
        score_columns = [column.field.column for column in columns if column.role == "score"]
        is_wide = len(score_columns) == 2  # a column of scores per system
        is_long = any(column.role == SYSTEM.name for column in columns)  # a column of systems
        values = next(iter(scores.values()))
        has_fractions = bool((values % 1).any())  # 0 and 1 alone are decisions, no probabilities
        # `remedies` are the values of a parameter that the message advises
        if is_wide and has_fractions:
            message = "both_classes"
            names = score_columns
            remedies = [written({"score": name}) for name in names]
        elif is_long and np.ptp(values) > 0:  # the scores are not all the same
            message = "systems_of_both_classes"
            names = list(scores)
            remedies = [written([name]) for name in names]
        else:
            return
        first, second = names
        raise column_roles.refused(
            self.parts[0].name,
            message,
            first=first,
            second=second,
            systems=written(names),
            ways=remedies,
        )

    def first_scores(self) -> dict[str, Floats]:
        """The scores of the first rows, by the columns of a wide table that hold numbers."""
        names = [column.field.column for column in self.layouts[0].predictions.get("score", ())]
        samples = SampledTable.from_part(self.parts[0], {}).columns
        return {
            column.name: column.numbers
            for column in samples
            if column.name in names and column.numbers is not None
        }


def sum_to_one(first: Floats, second: Floats) -> bool:
    """True if two columns hold probabilities that sum to 1 in every row, up to rounding; False for
    a few rows, in which this may happen by chance.
    """
    if len(first) <= FEW:
        return False
    if not (are_probabilities(first) and are_probabilities(second)):
        return False
    return bool(np.allclose(first + second, 1, rtol=0, atol=ROUNDED))


ROUNDED = 1e-3  # by how much the sum of two rounded probabilities may miss 1


def decision_columns(columns: Sequence[str], layout: ColumnLayout, system: str) -> list[str]:
    """The columns whose names say that they hold the decisions of a system, such as predicted_a, or
    for a single system predicted, and that are not used otherwise.

    columns: all columns of the table. layout: those that are used.
    """
    usual_names = {f"{word}_{comparable_name(system)}" for word in WORDS_OF_DECISIONS}
    if len(layout.systems) < 2:
        usual_names |= set(WORDS_OF_DECISIONS)
    used = {field.column for field in layout.fields.values()}
    return [name for name in columns if name not in used and comparable_name(name) in usual_names]


def named_as_decisions(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns whose name says that they hold decisions, such as `predicted`."""
    return tuple(name for name in columns if comparable_name(name) in WORDS_OF_DECISIONS)


def check_positive(kind: str) -> None:
    """Raise ParameterError for a kind of outcomes without a positive label."""
    if kind != "binary":
        raise ParameterError(
            f"positive: only a binary table has a positive label, this one is {kind}"
        )


def read(data: object, **chosen: Any) -> Outcomes:
    """The outcomes of a file, folder, glob pattern, frame or list of these.

    chosen: fields of `OutcomeTable`.
    """
    return OutcomeTable.from_data(data, **chosen).read()


# Which columns ------------------------------------------------------------------------------------


def class_score_columns(part: parts.InputPart) -> list[str]:
    """The names of the columns p_<class> or p_<label>, which hold scores of a class or label."""
    return [name for name in part.columns if name.startswith("p_") and name != "p_"]


def label_columns(part: parts.InputPart) -> set[str]:
    """The names of the columns y_<label> of labels that have a column p_<label> of scores too."""
    return {f"y_{name[2:]}" for name in class_score_columns(part)} & set(part.columns)


def _both_columns(
    part: parts.InputPart, scores: Sequence[str], columns_in_use: Collection[str]
) -> None:
    """Raise InputError unless each label has both columns, y_ and p_, and there is a label.

    scores: the columns p_. columns_in_use: columns with another role.
    """
    labels = [
        name
        for name in part.columns
        if name.startswith("y_") and name != "y_" and name not in columns_in_use
    ]
    lacking = [
        f"y_{name[2:]} beside {name!r}" for name in scores if f"y_{name[2:]}" not in part.columns
    ]
    lacking += [f"p_{name[2:]} beside {name!r}" for name in labels if f"p_{name[2:]}" not in scores]
    if lacking:
        raise column_roles.refused(part.name, "unpaired", got=f"no {column_roles.listed(lacking)}")
    if not scores:
        inventory = column_roles.listed(map(repr, part.columns))
        raise column_roles.refused(part.name, "unpaired", got=f"none (it has {inventory})")


# What the columns hold ----------------------------------------------------------------------------


def weight_of(rows: Aligned) -> Floats | None:
    """The weight of each row; None without a column of weights. Raises InputError if all are 0."""
    weight = rows.shared_values.get("weight")
    if weight is not None and not weight.any():
        raise zero_weights_error(rows.sources[0].name, rows.columns["weight"])
    return weight


def zero_weights_error(where: str, column: str) -> InputError:
    """The error for weights that are all 0."""
    return InputError(f"{where}: {column} must hold a weight above 0, got none")


def _binary(
    rows: Aligned,
    positive: str | None,
    part: parts.InputPart,
    decision_column: str | None = None,
) -> Outcomes:
    """The labels as 0 and 1, the scores of each system, and its decisions if all can be read.

    rows: as read. positive: the label that becomes 1; None if it is to be told by usual labels,
    such as 1 or yes. part: the first file, for errors. decision_column: the column of decisions
    that the user names. Raises InputError for a third label, for scores that are confidences, and
    for decisions that are no label; ParameterError if it is unclear which label is positive.
    """
    labels = rows.shared_values["label"]
    pair = two_labels(label_texts(rows, "label", [labels]), positive, part.name)
    is_positive = np.array(labels.names) == pair.positive  # for each distinct label
    actual = is_positive[labels.code].astype(np.int64)  # for each row
    score = rows.predictions_of("score")  # system -> its scores
    predicted_column = rows.columns.get("predicted", "")
    for system, values in score.items():
        # Scores from 0.5 to 1 may be the confidence in the predicted class, whichever this is: so
        # they are if there is a column of predicted classes.
        if values.min() >= 0.5 and values.max() <= 1:
            names = [*rows.unused_columns, predicted_column]
            refuse_column_of_predicted_classes(names, system, part.name)
    classes = (pair.negative, pair.positive)
    outcomes = Outcomes(rows, "binary", classes, actual, score, weight_of(rows))
    if "predicted" not in rows.columns:
        return replace(outcomes, unused_decisions=named_as_decisions(rows.unused_columns))
    if decision_column:  # what the user names must be readable, and is not left out in silence
        _refuse_decisions_for_no_label(outcomes, decision_column)
    return _with_decisions_if_readable(outcomes)


class LabelCell(NamedTuple):
    """A cell of a column of labels: the file and row that it stands in, and its text."""

    place: str
    text: str


@dataclass(frozen=True)
class LabelTexts:
    """The distinct texts of a column of labels or of predicted classes, in memory or in an engine.

    column: its name. counts: text -> the number of rows that hold it, ordered by the texts.
    first_cell: finds the first cell that holds one of some texts.
    """

    column: str
    counts: Mapping[str, int]
    first_cell: Callable[[Sequence[str]], LabelCell]


def label_texts(rows: Aligned, role: str, columns: Sequence[Coded]) -> LabelTexts:
    """The distinct labels in the columns of a role, each with its number of cells, and a function
    that finds the first cell with some label, for errors.

    rows: the table. columns: the column of the role, as codes; one per system if they differ.
    """
    counts = Counter[str]()
    for column in columns:
        cells_per_label = np.bincount(column.code).tolist()
        counts.update(dict(zip(column.names, cells_per_label, strict=True)))

    def first_cell(texts: Sequence[str]) -> LabelCell:
        """The first cell that holds one of the texts, in the first column that has one."""
        column = next(column for column in columns if set(texts) & set(column.names))
        row = column.first(set(texts).intersection(column.names))
        return LabelCell(rows.place(row), column.names[column.code[row]])

    column_name = rows.columns.get(role, "")
    return LabelTexts(column_name, counts=dict(sorted(counts.items())), first_cell=first_cell)


def _refuse_decisions_for_no_label(outcomes: Outcomes, column: str) -> None:
    """Raise InputError for the first decision that is neither of the two labels. column: the one
    that the user names for decisions.
    """
    rows, labels = outcomes.rows, outcomes.names
    for name, decisions in rows.predictions_of("predicted").items():
        unknown = [text for text in decisions.names if text not in labels]
        if unknown and _is_decided_positive(decisions, labels) is None:
            row = decisions.first(unknown)
            got = decisions.names[decisions.code[row]]
            must = f"must be {labels[0]!r} or {labels[1]!r}, got {got!r}"
            raise InputError(f"{rows.place(row, name)}: {column} {must}")


def _with_decisions_if_readable(outcomes: Outcomes) -> Outcomes:
    """The outcomes with the decisions that the table holds beside the scores, if those of every
    system can be read; else without them, and with the names of the columns that hold them.
    """
    rows = outcomes.rows
    columns = rows.predictions_of("predicted")
    decision = {}
    for name, column in columns.items():
        is_positive = _is_decided_positive(column, outcomes.names)
        if is_positive is not None:
            decision[name] = is_positive
    if len(decision) == len(columns):
        return replace(outcomes, decision=decision)
    unused = named_as_decisions(rows.unused_columns)  # one column for all systems, or none
    if any(len(set(column.names) - {EMPTY_ATTRIBUTE}) <= 2 for column in columns.values()):
        unused = (*unused, rows.columns["predicted"])
    return replace(outcomes, rows=rows.without("predicted"), unused_decisions=unused)


def _is_decided_positive(decisions: Coded, labels: tuple[str, ...]) -> Bools | None:
    """A mask of the rows with a decision for the positive one of two labels; None if the texts are
    no such decisions.

    labels: the negative and the positive one. Decisions may also be 0 and 1, or false and true.
    """
    texts = set(decisions.names)
    positive_of_pair = {frozenset(labels): labels[1], **POSITIVE_OF}
    for pair, positive in positive_of_pair.items():
        if texts <= pair:
            is_positive = np.array(decisions.names) == positive  # for each distinct text
            return np.asarray(is_positive[decisions.code])
    return None


def refuse_column_of_predicted_classes(columns: Sequence[str], system: str, where: str) -> None:
    """Raise InputError if one of these columns holds predicted classes, by its name: scores that
    all lie between 0.5 and 1 are then the confidence in these classes, not in the positive one.

    columns: their names. system: whose scores these are. where: the table, for the error.
    """
    decisions = named_as_decisions(columns)
    if decisions:
        raise column_roles.refused(where, "confidence", system=system, column=decisions[0])
    answers = [name for name in columns if ANSWER_WORDS & set(snake_case(name).split("_"))]
    if answers:
        way = written({"label": answers[0]})
        raise column_roles.refused(where, "answer", system=system, column=answers[0], way=way)


class UnclearPositive(ParameterError):
    """Two labels, either of which could be the positive one."""

    def __init__(self, problem: str, labels: Sequence[str]) -> None:
        super().__init__(problem)
        self.labels = labels


class LabelPair(NamedTuple):
    """The two labels of a binary table. negative: "" if no row has it and nothing says what it
    would be.
    """

    positive: str
    negative: str


def two_labels(labels: LabelTexts, positive: str | None, where: str) -> LabelPair:
    """Which of the labels of a column is positive, and which is negative.

    labels: the distinct labels with their numbers of cells. positive: the positive label, if the
    user names it. where: the file or table, for errors. Raises InputError for a third label, with
    the row of the rarest, and ParameterError if it is not clear which label is positive.
    """
    names = list(labels.counts)
    if len(names) > 2:
        # the rarest label is most likely the invalid one; of equally rare ones the last, as 0 and 1
        # come first in the order of texts
        rarest = min(reversed(names), key=lambda name: labels.counts[name])
        cell = labels.first_cell([rarest])
        got = ", ".join(map(repr, names[:3]))
        raise InputError(
            f"{cell.place}: {labels.column} must hold two labels, got {got}; more classes need "
            "p_<class> columns, or a predicted class and kind=multi-class"
        )
    chosen = _positive_label(names, positive, where, labels.column)
    # if every row is positive, the negative label is the usual one beside the positive one; beside
    # a label that the user names as positive it is unknown
    negative_if_absent = ""
    if positive is None:
        negative_if_absent = "false" if chosen == "true" else "0"
    negative = next((name for name in names if name != chosen), negative_if_absent)
    return LabelPair(chosen, negative)


def _positive_label(names: Sequence[str], requested: str | None, where: str, column: str) -> str:
    """The positive one of at most two labels: the one that the user requests; else the usual one,
    of 0 and 1, -1 and 1, false and true, or no and yes.

    names: the labels in the table. where, column: the file or table and the column, for errors.
    Raises ParameterError if neither of two labels is the requested one, UnclearPositive if none is
    requested and they are no usual pair.
    """
    if requested is not None:
        label = canonical_label(requested)
        # if there is only one label, it may be the negative one: then no row is positive
        if label not in names and len(names) == 2:
            has = ", ".join(map(repr, names))
            message = f"positive: {column} has no label {requested!r}, it has {has}"
            # the option -p of papermill turns the label 007 into the number 7
            if label in [name.lstrip("0") for name in names]:
                message += "; papermill keeps the zeros of a text given by -r"
            raise ParameterError(message)
        return label
    for pair, positive in POSITIVE_OF.items():
        if set(names) <= pair:  # a table with one label of the pair will do
            return positive
    labels = " and ".join(map(repr, names))
    raise UnclearPositive(
        f"{where}: {column} holds {labels}; say which is positive: positive={written(names[-1])!r}",
        names,
    )


def _multi_class(rows: Aligned, part: parts.InputPart) -> Outcomes:
    """The outcomes of several classes: scores of each class, predicted classes, or both."""
    labels = rows.shared_values["label"]
    first = rows.predictions[rows.systems[0]]
    roles = score_roles([role for role in first if role.startswith("p ")], part.name)
    decisions = rows.predictions_of("predicted")
    actual_texts = label_texts(rows, "label", [labels])
    predicted_texts = label_texts(rows, "predicted", list(decisions.values()))
    classes = classes_of(actual_texts, predicted_texts, roles, part.name)
    score = {}
    predicted = {}
    if roles:
        for name, columns in rows.predictions.items():
            score[name] = np.column_stack([columns[roles[label]] for label in classes])
            predicted[name] = score[name].argmax(axis=1).astype(np.int64)
    for name, decision in decisions.items():
        predicted[name] = decision.among(classes)
    actual = labels.among(classes)
    return Outcomes(rows, "multi-class", classes, actual, score, weight_of(rows), predicted)


def score_roles(roles: Sequence[str], where: str) -> dict[str, str]:
    """Class -> the role of its column of scores. Raises InputError if two are of one class, such as
    p_1 and p_1.0.
    """
    role_of_class = {canonical_label(role[2:]): role for role in roles}
    for role in roles:
        name = canonical_label(role[2:])
        earlier_role = role_of_class[name]
        if earlier_role != role:
            columns = f"p_{role[2:]} and p_{earlier_role[2:]}"
            problem = f"{columns} must be of two classes, both are of {name!r}"
            raise InputError(f"{where}: {problem}; drop or rename one of them")
    return role_of_class


def classes_of(
    labels: LabelTexts, predicted: LabelTexts, scores: Mapping[str, str], where: str
) -> tuple[str, ...]:
    """The classes in order: those with a column of scores, or else all labels and predicted
    classes.

    scores: class -> the role of its column. Raises InputError for a label, or a predicted class,
    that has no column of scores, for a single class, and if no predicted class is a label.
    """
    if not scores and not labels.counts.keys() & predicted.counts.keys():
        label_texts = column_roles.listed(map(repr, _in_order(set(labels.counts))), 5)
        predicted_texts = column_roles.listed(map(repr, _in_order(set(predicted.counts))), 5)
        raise InputError(
            f"{where}: {predicted.column} must use the names of the labels, {label_texts}, got "
            f"{predicted_texts}; write both in the same way"
        )
    classes = _in_order(set(scores) or set(labels.counts).union(predicted.counts))
    if not scores:
        _refuse_values_as_classes(labels, predicted)
    unknown = [name for name in labels.counts if name not in classes]
    if unknown:
        place, name = labels.first_cell(unknown)
        columns = ", ".join(f"p_{canonical_label(role[2:])}" for role in list(scores.values())[:5])
        raise InputError(
            f"{place}: {labels.column} has no column p_{name}, it is {name!r} ({columns})"
        )
    if len(classes) < 2:
        raise one_class_error(where, labels.column, classes[0])
    unknown = [name for name in predicted.counts if name not in classes]
    if unknown:
        place, name = predicted.first_cell(unknown)
        raise InputError(f"{place}: {predicted.column} must be one of the classes, got {name!r}")
    return tuple(classes)


def _refuse_values_as_classes(labels: LabelTexts, predicted: LabelTexts) -> None:
    """Raise InputError for lists of labels in a cell, and for predictions that are fractions beside
    labels that are numbers: these are forecasts.
    """
    lists = [name for name in labels.counts if name.startswith("[") and name.endswith("]")]
    if lists:
        place, name = labels.first_cell(lists)
        raise column_roles.refused(place, "list_of_labels", column=labels.column, cell=name)
    names = [*labels.counts, *predicted.counts]
    if not all(map(is_number, names)):
        return
    unknown = predicted.counts.keys() - labels.counts.keys()
    fractions = [name for name in unknown if not float(name).is_integer()]
    if fractions:
        place, name = predicted.first_cell(fractions)
        raise column_roles.refused(
            place, "forecasts_as_classes", column=predicted.column, cell=name
        )


def one_class_error(where: str, column: str, name: str) -> InputError:
    """The error for labels that are all the same."""
    return InputError(f"{where}: {column} must hold at least two classes, got {name!r} only")


def _in_order(names: set[str]) -> list[str]:
    """The names in order: numbers by size, then texts."""
    return sorted(names, key=_order_of_class)


def _order_of_class(name: str) -> tuple[int, float, str]:
    """What a class is sorted by."""
    return (0, float(name), name) if is_number(name) else (1, 0.0, name)


def is_number(name: str) -> bool:
    """True if a class is named by a number.

    >>> is_number("-1.5"), is_number("good")
    (True, False)
    """
    try:
        float(name)
    except ValueError:
        return False
    return True


def _multi_label(rows: Aligned) -> Outcomes:
    """The outcomes of several labels: a column of labels and one of scores for each."""
    labels = tuple(
        role.removeprefix("true ") for role in rows.shared_values if role.startswith("true ")
    )
    actual = np.column_stack([rows.shared_values[f"true {label}"] for label in labels])
    score = {}  # system -> its scores, one column per label
    for name, columns in rows.predictions.items():
        score[name] = np.column_stack([columns[f"p {label}"] for label in labels])
    return Outcomes(rows, "multi-label", labels, actual == 1, score, weight_of(rows))


def are_probabilities(score: Floats) -> bool:
    """True if all scores lie in 0..1."""
    return bool(score.size and score.min() >= 0 and score.max() <= 1)


def outside(name: str, score: float, place: str, column: str = "") -> str:
    """A score outside 0..1, as text. name: the system. column: that of its class; "" if a system
    has a single column.
    """
    where = f" in {column}" if column else ""
    return f"got the score {exact(score)} of {name}{where} ({place})"


# Actual values and forecasts ----------------------------------------------------------------------


MARK = 9  # the least number that may mark missing labels beside 0 and 1, as no count of them does
MISSING = (99.0, 999.0, 9999.0, 99999.0)  # which tools write, or their negatives, for no number
ACTUAL = Role.declared("actual", required=True)
FORECASTS = (ID, SYSTEM, ACTUAL, Role.declared("forecast", per_system=True, required=True), WEIGHT)


def forecasts_of(rows: Aligned) -> Outcomes:
    """The forecasts of rows in memory; raises InputError if all weights are 0."""
    actual = rows.shared_values["actual"]
    forecast = rows.predictions_of("forecast")
    if not forecast:  # each system has draws alone
        forecast = {
            name: predictive.Ensemble(np.array(list(members.values()))).quantile(0.5)
            for name, members in rows.predictions.items()
        }
    weight = weight_of(rows)
    where = rows.sources[0].name
    for name, values in {rows.columns["actual"]: actual, **forecast}.items():
        refuse_missing_markers(values, None, name, where)
    refuse_row_of_totals(rows, [actual, *forecast.values()])
    return Outcomes(rows, "forecasts", (), actual, forecast, weight)


def refuse_row_of_totals(rows: Aligned, columns: Sequence[Floats]) -> None:
    """Raise InputError for a row that holds the sum of all other rows in each of the columns.

    In a single column, or beside zeros alone, that may be so by chance.
    """
    nonzero_columns = [values for values in columns if values.any()]
    if len(rows) < FEW or len(nonzero_columns) < 2:
        return
    is_total = np.ones(len(rows), np.bool_)
    with np.errstate(over="ignore", invalid="ignore"):
        for values in nonzero_columns:
            sum_of_others = values.sum() - values
            is_total &= np.isclose(values, sum_of_others, rtol=1e-6, atol=0) & (values != 0)
    totals = np.flatnonzero(is_total)
    if totals.size:
        part, row = rows.locate(int(totals[0]))
        raise column_roles.refused(part.name, "row_of_totals", row=row)


def refuse_missing_markers(values: Floats, rows: Ints | None, column: str, where: str) -> None:
    """Raise InputError for numbers such as -999 that mean missing: several equal ones, far from
    all others, or -1 beside shares.

    values: NaN if empty. rows: how many rows have each value; None if each value is one row.
    """
    for mark in {float(np.nanmin(values, initial=0.0)), float(np.nanmax(values, initial=0.0))}:
        if abs(mark) not in MISSING and mark != -1:
            continue
        is_mark = values == mark
        marked_rows = np.count_nonzero(is_mark) if rows is None else rows[is_mark].sum()
        count = int(marked_rows)
        unmarked = values[~is_mark & ~np.isnan(values)]
        if count < 2 or not unmarked.size:
            continue
        is_far = abs(mark) in MISSING and (unmarked / mark).max() < 0.1
        if is_far or (mark == -1 and are_probabilities(unmarked) and (unmarked % 1).any()):
            raise column_roles.refused(where, "missing", column=column, mark=mark, rows=count)


def refuse_two_classes(
    actual: Floats, forecasts: Collection[Floats], columns: Mapping[str, str], part: parts.InputPart
) -> None:
    """Raise InputError for probabilities as forecasts of 0 and 1, with the command that reads them;
    also if one more number marks missing actual values.

    actual, forecasts: the values, each once or as often as they occur. columns: role -> column.
    """
    if not all(are_probabilities(values) for values in forecasts):
        return
    if all(np.isin(values, (0, 1)).all() for values in forecasts):
        return
    distinct = np.unique(actual)
    marks = np.setdiff1d(distinct, (0, 1))
    if len(distinct) - len(marks) < 2:  # 0 or 1 does not occur
        return
    label = columns["actual"]
    forecast = columns["forecast"]
    way = _as_two_classes(label, forecast.split(", "), part)
    facts = {"column": label, "forecasts": forecast, "way": way}
    if not marks.size:
        raise column_roles.refused(part.name, "two_classes", **facts)
    names_class = bool(set(snake_case(label).split("_")) & {"label", "labels", "class"})
    if len(marks) == 1 and (names_class or marks[0] < 0 or marks[0] >= MARK):
        raise column_roles.refused(part.name, "marked_classes", mark=marks[0], **facts)


def _as_two_classes(label: str, forecasts: Sequence[str], part: parts.InputPart) -> str:
    """The command that reads the probabilities of two classes, or for a table in memory the
    call.
    """
    roles = {"label": label}
    if len(forecasts) == 1:
        roles["score"] = forecasts[0]
    way = f"evalkit report classification -p preds {part.name} -p columns {written(roles)!r}"
    if part.unnamed:
        way = f"evalkit.classification(data, columns={written(roles)!r})"
    if len(forecasts) == 1:
        return way
    scores = [repr(name.replace("forecast_", "score_", 1)) for name in forecasts]
    return f"{way}, with columns called {column_roles.listed(scores)}"
