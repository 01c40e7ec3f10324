"""Proposals: how a report could read the columns of a part, from their names and first cells.

One proposal serves the reader of the report, `evalkit inspect` and the refusals. Names that a
report declares decide first, then usual names whose cells fit, then the only column that can have
a role by its cells. Columns that fit equally are `ambiguous_roles`, and none of them is chosen.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, InputError, ParameterError, ratio
from evalkit.limits import USUAL_LIMITS
from evalkit.metrics.predictive import DEVIATION, MEAN, MEMBER, is_ensemble
from evalkit.names import control_of
from evalkit.parameters.kinds import did_you_mean, written
from evalkit.reading.matching.column_names import (
    AMOUNTS,
    NAMES,
    PREDICTION_WORDS,
    is_like,
    names_with_system,
    snake_case,
    uses_of,
)
from evalkit.reading.matching.distribution_columns import (
    PROPHET,
    DistributionColumns,
    distributions,
    is_stated_by,
    leveled,
    numbered,
    system_key,
)
from evalkit.reading.matching.quantile_rows import (
    column_of_sides,
    levels_in_rows,
    with_row_per_forecast,
)
from evalkit.reading.matching.samples import (
    ANSWERS,
    FEW,
    NO_METRICS,
    PLAIN_ANSWERS,
    POSITIVE_OF,
    ColumnSample,
    SampledTable,
    distinct_name_parts,
    samples_of,
)
from evalkit.reading.tables.columns import facts
from evalkit.reading.tables.frames import canonical_label
from evalkit.reading.tables.parts import InputPart

POSITIVE = ("1", "true", "yes")  # of two classes with a column each
TOTAL = 0.02  # by how much the probabilities of all classes may miss 1
CORRELATED = 0.3  # from here on a column of numbers is a forecast of others
CHANCE = 2  # standard errors of a correlation, which it hardly exceeds by chance
LEVEL = 0.1  # standard deviations by which the mean of forecasts may miss that of actual values
RIVAL = 2  # times the squared error of a known model, below which a column may be another one
SEPARATED = 0.7  # of the pairs of rows: from here on a score tells two labels apart
SEVERAL = 10  # values, above which numbers of 0 to 1 are scores
TRIALS = frozenset(NAMES["uses"]["trials"])  # such as sessions: of a user, or totals
DATES = frozenset(("date", "day", "week", "hour", "month"))
TOTALS = 30  # numbers of trials, from which on rows are totals of groups, not single users
RATINGS = ("rating", "r_ui", "rui", "stars", "true_rating")  # what forecasts are of, not grades
MOST_GUESSES = 6
MANY = 8  # columns of one name with numbers, from which on they are hardly systems
HALF = 0.5  # of the rows, in which forecasts lie within their distributions at least
UNREADABLE = 0.1  # of standard deviations, up to which negative ones are errors of their rows
MOST_GRADES = 4  # the highest of the grades that are recognised without a name
ONLY_SYSTEM = None  # the name of a system that is alone in a part: it is called after its column
Predictions = Mapping[str | None, Mapping[str, str]]  # system -> role -> its column


class Choice(NamedTuple):
    """The parameters of a command that say which columns to read. columns: role -> column."""

    columns: Mapping[str, str] = {}
    systems: Sequence[str] = ()

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters as the command line takes them."""
        parameters = {}
        if self.columns:
            parameters["columns"] = written(self.columns)
        if self.systems:
            parameters["systems"] = written(self.systems)
        return parameters


@dataclass(frozen=True)
class Proposal:
    """How a report could read a part.

    columns: role -> column. predictions: the columns of each system. ambiguous_roles: role -> the
    columns that fit equally well. lacking_roles: the roles for which no column fits, or what else
    the report needs. kind: "binary" or "multi-class", for labels; "" otherwise. positive: the class
    whose column of probabilities is the score; None if no class has one. metrics: columns of what
    users did, the deciding one first.
    """

    report: str
    columns: Mapping[str, str] = field(default_factory=dict)
    predictions: Predictions = field(default_factory=dict)
    ambiguous_roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    lacking_roles: Sequence[str] = ()
    kind: str = ""
    positive: str | None = None
    metrics: Sequence[str] = ()

    @property
    def is_complete(self) -> bool:
        """True if every role that the report needs has one column."""
        return not self.ambiguous_roles and not self.lacking_roles

    @property
    def predicted_columns(self) -> list[str]:
        """The columns of all systems, in their order."""
        columns: list[str] = []
        for columns_of_system in self.predictions.values():
            columns += columns_of_system.values()
        return columns

    @property
    def answer(self) -> str:
        """The column of what is predicted; "" without one."""
        return self.columns.get("label") or self.columns.get("actual", "")

    @property
    def ambiguity(self) -> str:
        """Which columns could have the unclear roles, as a refusal says it; "" if all are clear."""
        sentences = []
        for role, columns in self.ambiguous_roles.items():
            names = " and ".join(map(repr, columns))
            if role == "systems":
                sentences.append(f"{names} could be the predictions, but no name says so")
            elif len(columns) == 1:
                sentences.append(f"{names} could be the {role}, but its name does not say so")
            else:
                sentences.append(f"columns {names} could {quantifier(columns)} be the {role}")
        return "; ".join(sentences)

    @property
    def choices(self) -> list[Choice]:
        """The choices that commands must make to read the part, one per command: an empty one if
        every role is clear, none if a role lacks a column, as no command reads the part then.
        """
        if self.lacking_roles:
            return []
        if not self.ambiguous_roles:
            return [Choice()]
        # a command for models alone, one for all possible columns
        if "systems" in self.ambiguous_roles:
            possible = self.ambiguous_roles["systems"]
            models = [name for name in possible if ColumnSample(name, ()).is_model]
            choices = [Choice(systems=possible)]
            return [Choice(systems=models), *choices] if models else choices
        # a command per column of the first unclear role; further roles get their first column
        first_columns = {role: columns[0] for role, columns in self.ambiguous_roles.items()}
        role, columns = next(iter(self.ambiguous_roles.items()))
        return [Choice({**first_columns, role: column}) for column in columns]


@dataclass
class Roles:
    """The roles of a report while they are found one after the other.

    table: the columns without a role so far. columns, unclear, lacking: as in `Proposal`.
    """

    report: str
    table: SampledTable
    columns: dict[str, str] = field(default_factory=dict)
    unclear: dict[str, Sequence[str]] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)

    def take(
        self,
        role: str,
        candidates: Sequence[ColumnSample],
        guesses: Sequence[ColumnSample] = (),
    ) -> ColumnSample | None:
        """Give a role to the only candidate and return it. If there are several, the role is noted
        as unclear, if there is none as lacking, and None comes back.

        guesses: columns between which the user may choose if there is no candidate.
        """
        if len(candidates) == 1:
            self.columns[role] = candidates[0].name
            self.table = self.table.without(candidates)
            return candidates[0]
        possible = candidates or guesses[:MOST_GUESSES]
        if possible:
            self.unclear[role] = [column.name for column in possible]
        else:
            self.lacking.append(role)
        return None

    def take_prediction(
        self,
        role: str,
        candidates: Sequence[ColumnSample],
        guesses: Sequence[ColumnSample] = (),
    ) -> Predictions:
        """Give a role to the column of the only system, as `take` does; empty if there is none."""
        column = self.take(role, candidates, guesses)
        return {} if column is None else {ONLY_SYSTEM: {role: column.name}}

    def take_if_any(self, role: str, candidates: Sequence[ColumnSample]) -> None:
        """Give a role that the report does not need to the only candidate; note that the role is
        unclear if there are several.
        """
        if candidates:
            self.take(role, candidates)

    def take_id_system_and_weight(self) -> None:
        """Find the columns that name rows and their systems, and weigh the rows."""
        self.take_if_any("system", self.table.named("system"))
        # an id comes once per system; else one that repeats is no id, unless the user says so
        may_repeat = "system" in self.columns or "id" in self.table.chosen
        ids = [column for column in self.table.exact("id") if column.is_distinct or may_repeat]
        self.take_if_any("id", ids)
        # Weight, with a capital, is rather what somebody weighs: the user must say that it is not
        weights = self.table.named("weight")
        named = self.table.chosen.values()
        self.take_if_any("weight", [w for w in weights if w.name.islower() or w.name in named])

    def proposal(self, predictions: Predictions, kind: str = "") -> Proposal:
        """The proposal with the roles found so far, and the predictions of the systems that the
        user names, of all systems if there are none. kind: as in `Proposal`.
        """
        of_systems = chosen_systems(predictions, self.table.systems, self.table.part.name)
        return Proposal(self.report, self.columns, of_systems, self.unclear, self.lacking, kind)


def quantifier(columns: Sequence[str]) -> str:
    """The word for all of several columns: "both" for two, else "each"."""
    return "both" if len(columns) == 2 else "each"


def chosen_systems(predictions: Predictions, systems: Sequence[str], where: str) -> Predictions:
    """The predictions of the systems that the user names; all of them if there are no names.

    systems: the names. where: the name of the table, for errors. Raises ParameterError for a system
    without predictions.
    """
    if not systems or ONLY_SYSTEM in predictions or not predictions:
        return predictions  # a single system has no name to choose it by
    unknown = [name for name in systems if name not in predictions]
    if unknown:
        names = written(list(map(str, predictions)))
        hint = did_you_mean(unknown[0], map(str, predictions))
        raise ParameterError(f"systems: {where} has no system {unknown[0]!r}{hint}, it has {names}")
    return {name: predictions[name] for name in systems}


# Answers ------------------------------------------------------------------------------------------


def completed(table: SampledTable) -> list[ColumnSample]:
    """The columns whose name another one completes to that of a prediction, such as churn beside
    churn_probability.
    """
    return [
        column
        for column in table.columns
        if not column.says_prediction and any(map(column.is_completed_by, table.columns))
    ]


@dataclass(frozen=True, eq=False)
class LabelSearch:
    """The columns of a table that may hold labels, one list for each kind of evidence.

    A list is empty if its evidence speaks for no column.
    """

    table: SampledTable

    @cached_property
    def candidates(self) -> list[ColumnSample]:
        """The columns that hold labels by their cells, and are no bookkeeping by their names."""
        columns = [column for column in self.table.columns if column.holds_labels]
        return [column for column in columns if not column.is_bookkeeping]

    @property
    def named_labels(self) -> list[ColumnSample]:
        """The columns that are called labels, unless the predictions cannot be theirs."""
        return [column for column in self.table.named("label") if is_predicted(self.table, column)]

    @property
    def by_completed_name(self) -> list[ColumnSample]:
        """The columns whose name that of a prediction completes."""
        return [column for column in completed(self.table) if column in self.candidates]

    @property
    def by_decisions(self) -> list[ColumnSample]:
        """The columns with the classes of the only column of decisions; if there is none, the texts
        with these classes and others.
        """
        decisions = self.table.named("predicted")
        if len(decisions) != 1:
            return []
        decision = decisions[0]
        rest = [column for column in self.candidates if column is not decision]
        same_classes = [column for column in rest if column.labels == decision.labels]
        return same_classes or [column for column in rest if has_more_classes(column, decision)]

    @property
    def by_decisions_of_models(self) -> list[ColumnSample]:
        """The columns with the classes that columns named after models hold as texts; whole numbers
        under such names may be anything else.
        """
        decisions = [column for column in decided_classes(self.table) if column.numbers is None]
        return [column for column in self.candidates if is_decided(column, decisions)]

    @property
    def by_class_columns(self) -> list[ColumnSample]:
        """The columns for each of whose classes there is a column of probabilities."""
        return [column for column in self.candidates if class_columns(self.table, column)]

    @cached_property
    def scores(self) -> list[ColumnSample]:
        """The columns of probabilities, by their cells and names."""
        named = [column for column in self.table.numeric_columns if column.says_prediction]
        return [column for column in named if column.is_share]

    @cached_property
    def of_two_labels(self) -> list[ColumnSample]:
        """The columns with two labels, of one of which a score may be the probability."""
        return [column for column in self.candidates if len(column.labels) == 2]

    @property
    def by_class_of_score(self) -> list[ColumnSample]:
        """The columns of two labels, one of which the name of a score ends with."""
        return [column for column in self.of_two_labels if names_class(self.scores, column)]

    @property
    def by_closeness_to_score(self) -> list[ColumnSample]:
        """The flags, and the texts of two labels that are closer to the first score than any flag,
        as they may name anything; the likeliest first. A single column must show some skill of a
        score, as nothing else but its two labels speaks for it.
        """
        if not self.scores:
            return []
        score = self.scores[0]
        flags = [column for column in self.of_two_labels if column.is_flag]
        texts = [column for column in self.of_two_labels if not column.is_flag]
        closest_flag = max((closeness(flag, score) for flag in flags), default=-np.inf)
        closer = [column for column in texts if closeness(column, score) > closest_flag]
        labels = flags + closer or self.of_two_labels
        if len(labels) == 1 and not any(has_skill(score, labels[0]) for score in self.scores):
            return []
        return sorted(labels, key=lambda label: likelihood_order(label, score), reverse=True)


def label_candidates(table: SampledTable) -> list[ColumnSample]:
    """The columns that may hold labels, by the surest evidence that speaks for any."""
    search = LabelSearch(table)
    return (
        search.named_labels
        or search.by_completed_name
        or search.by_decisions
        or search.by_decisions_of_models
        or search.by_class_columns
        or search.by_class_of_score
        or search.by_closeness_to_score
    )


def has_more_classes(label: ColumnSample, decision: ColumnSample) -> bool:
    """True for texts among which all decided classes are, and others, which were never decided
    for.
    """
    is_text = label.numbers is None
    return is_text and len(decision.labels) > 1 and decision.labels < label.labels


def names_class(scores: Sequence[ColumnSample], label: ColumnSample) -> bool:
    """True if the name of a score ends with one of the labels, such as p_yes, unless it is a 0 or a
    1, as of a number.
    """
    ends = {column.snake_case_name.rpartition("_")[2] for column in scores}
    return bool(ends & {text.lower() for text in label.labels if not text.isdecimal()})


def has_skill(score: ColumnSample, label: ColumnSample) -> bool:
    """True if a score has skill as the probability of a label, or tells two labels apart."""
    return skill_of_score(label, score) > 0 or separation(score, label) >= SEPARATED


def likelihood_order(label: ColumnSample, score: ColumnSample) -> tuple[bool, float]:
    """The key by which labels that a score may be of are sorted, the likeliest last: the mean of
    fitted probabilities is about the share of the positive label; then the closeness.
    """
    return has_level_of(label, score), closeness(label, score)


def has_level_of(label: ColumnSample, score: ColumnSample) -> bool:
    """True if the mean of probabilities, which are higher for the positive label, differs from its
    share by hardly more than chance.
    """
    if score.numbers is None or not score.is_share or not label.is_flag:
        return False
    if directed_separation(score, label) <= 0.5:  # so too where a label is missing
        return False
    outcomes = ~rows_of_first_label(label)
    gap = abs(float(np.nanmean(score.numbers)) - outcomes.mean())
    return bool(gap <= CHANCE * outcomes.std() / np.sqrt(len(outcomes)))


def closeness(label: ColumnSample, score: ColumnSample) -> float:
    """How well a score fits a label; higher is better, and only comparable for the same score.

    Of a probability it is the skill. Of other scores it is how well they tell two labels apart; if
    it is known which label is positive, higher scores must go with it.
    """
    if score.is_share:
        return skill_of_score(label, score)
    if label.is_flag:
        return directed_separation(score, label)
    return separation(score, label)


def decided_by_models(table: SampledTable) -> list[ColumnSample]:
    """The columns that are called after models and hold classes."""
    return [column for column in table.columns if column.names_model and column.holds_labels]


def decided_classes(table: SampledTable) -> list[ColumnSample]:
    """The columns that are called after models and hold classes other than true and false, which
    may say whether each model passed.
    """
    return [column for column in decided_by_models(table) if not column.says_truth]


def is_decided(label: ColumnSample, decisions: Sequence[ColumnSample]) -> bool:
    """True if the labels are exactly the classes that models decided for, and the column is not one
    of the decisions.
    """
    if not decisions or label in decisions:
        return False
    classes = set[str]()
    for column in decisions:
        classes |= column.labels
    return label.labels == classes


def is_predicted(table: SampledTable, label: ColumnSample) -> bool:
    """False if labels have more than two classes, and the only predictions are scores, which two
    classes alone can have.
    """
    rest = table.without([label])
    if len(label.labels) <= 2 or class_columns(table, label) or decision_candidates(rest, label):
        return True
    scores = [column for column in table.numeric_columns if column.says_prediction]
    if label.name in facts("roles")["label"]["names"]:  # whose third label may be an error
        return not any(column.is_share for column in scores)
    return not scores


def label_guesses(table: SampledTable) -> list[ColumnSample]:
    """The columns that could be the label if no name says which column is; the closest to the
    predictions first.

    If models decided for classes, these are the columns with the same classes. If there are scores,
    they are flags, and texts of two values that every score tells apart.
    """
    columns = [column for column in table.columns if not column.is_bookkeeping]
    decisions = decided_classes(table)
    if decided := [column for column in columns if is_decided(column, decisions)]:
        return sorted(decided, key=lambda column: agreement(column, decisions[0]), reverse=True)
    of_two_labels = [column for column in columns if len(column.labels) == 2]
    flags = [column for column in of_two_labels if column.is_flag]
    texts = [c for c in of_two_labels if c.numbers is None and not c.is_flag]
    if scores := table.named("score"):
        possible = flags or texts
        return sorted(possible, key=lambda label: likelihood_order(label, scores[0]), reverse=True)
    shares = [column for column in columns if column.is_share and len(set(column.finite)) > SEVERAL]
    named_shares = [column for column in shares if tells_of_prediction(column)]
    scores = named_shares or shares
    if not scores:
        return []
    separated = [
        column
        for column in flags + texts
        if all(separation(score, column) >= SEPARATED for score in scores)
    ]
    # a name that says prediction makes flags possible even if the scores do not tell them apart
    labels = dict.fromkeys(flags + separated) if named_shares else separated
    return sorted(labels, key=lambda label: likelihood_order(label, scores[0]), reverse=True)


def agreement(first: ColumnSample, second: ColumnSample) -> float:
    """The share of rows in which two columns hold the same class."""
    pairs = zip(first.cells, second.cells, strict=True)
    return float(np.mean([cell == second_cell for cell, second_cell in pairs]))


def separation(score: ColumnSample, label: ColumnSample) -> float:
    """How well scores tell two labels apart: their ROC AUC for the label for which it is higher;
    0.5 if a cell is empty or there are not two labels.
    """
    auc = directed_separation(score, label)
    return max(auc, 1 - auc)


def directed_separation(score: ColumnSample, label: ColumnSample) -> float:
    """The ROC AUC of scores for the last of two labels in the order of texts, such as 1 of 0 and 1;
    0.5 if a cell is empty or there are not two labels. Of tied scores that of the first label is
    taken for the higher one.
    """
    if score.numbers is None or None in label.cells or len(label.labels) != 2:
        return 0.5
    is_first = rows_of_first_label(label)
    scores_of_first = np.sort(score.numbers[is_first])
    scores_of_last = score.numbers[~is_first]
    lower = np.searchsorted(scores_of_first, scores_of_last)  # scores of the first label below each
    return float(lower.mean() / len(scores_of_first))


def likeliest_first(part: InputPart, choice: Mapping[str, str], labels: Sequence[str]) -> list[str]:
    """Two labels, first the one whose rows have the higher mean score of the first system; in their
    order if no scores are read.

    choice: the parameters of the command that reads the labels.
    """
    columns = {column.name: column for column in samples_of(part)}
    for way in reading_ways(part):
        if way.choice.parameters != choice or way.proposal.kind != "binary":
            continue
        first_system = next(iter(way.proposal.predictions.values()))
        scores = columns[first_system["score"]].numbers
        if scores is None:
            continue
        label = columns[way.proposal.columns["label"]]
        texts = np.array([canonical_label(cell or "") for cell in label.cells])
        is_finite = np.isfinite(scores)
        means = {}
        for text in labels:
            rows = is_finite & (texts == text)
            means[text] = ratio(scores[rows].sum(), np.sum(rows))
        return sorted(labels, key=means.__getitem__, reverse=True)
    return list(labels)


def rows_of_first_label(label: ColumnSample) -> Bools:
    """True for each row with the first of the labels in the order of texts. No cell is empty."""
    labels = np.array([canonical_label(cell) for cell in label.texts])
    is_first: Bools = labels == min(label.labels)
    return is_first


def actual_candidates(table: SampledTable) -> list[ColumnSample]:
    """The columns that may hold actual values: by name, else by what the forecasts are near to."""
    by_name = table.named("actual")
    if by_name and (not is_usual_name(table, by_name[0]) or are_predicted(table, by_name)):
        return [*closer_to_forecasts(table, by_name), *by_name]
    if are_on_one_scale(table):
        return by_name
    if by_forecasts := candidates_by_forecasts(table):
        return by_forecasts
    # a usual name that nothing predicts counts less than what models could forecast, and beside x
    # y is a coordinate
    return [] if actual_guesses(table) or has_axis(table) else by_name


def are_on_one_scale(table: SampledTable) -> bool:
    """True for many columns of numbers with the same largest number, such as the 1 of shares: they
    are rather values of systems per unit than one of them what others forecast.
    """
    numbers = [column.finite for column in table.columns if is_measured(column)]
    largest = [values.max() for values in numbers if len(values)]
    return len(largest) >= MANY and len(set(largest)) == 1


def has_axis(table: SampledTable) -> bool:
    """True if a column is called x, beside which y may be a coordinate."""
    return any(column.snake_case_name == "x" for column in table.columns)


def is_usual_name(table: SampledTable, actual: ColumnSample) -> bool:
    """True if neither the user nor a name that the report declares says that a column holds actual
    values, so that it may hold something else: y beside x and z is a coordinate.
    """
    declared = ("actual", *facts("roles")["actual"]["names"])
    return "actual" not in table.chosen and actual.snake_case_name not in declared


def are_predicted(table: SampledTable, candidates: Sequence[ColumnSample]) -> bool:
    """True if a column that is named as a prediction, or after a model, is near one of the
    candidates, or beside a column x, with which y may be a coordinate, also correlated with it;
    also if there is no such column.
    """
    named = [
        column for column in table.numeric_columns if column.is_model or column.says_prediction
    ]
    predictions = [column for column in named if column not in candidates]
    if not predictions:
        return True
    fits_actual = is_forecast if has_axis(table) else is_near
    pairs = product(candidates, predictions)
    return any(fits_actual(actual, prediction) for actual, prediction in pairs)


def closer_to_forecasts(
    table: SampledTable, candidates: Sequence[ColumnSample]
) -> list[ColumnSample]:
    """The column that all predictions are closer to than to the only candidate, whose name, such as
    rating, may be that of a feature; empty if there is none. It is much closer, or predictions
    have skill for it and none for the candidate.
    """
    forecasts = [column for column in table.numeric_columns if tells_of_prediction(column)]
    if len(candidates) != 1 or not forecasts or not is_usual_name(table, candidates[0]):
        return []
    if candidates[0].words & PLAIN_ANSWERS:
        return []

    def skills(column: ColumnSample) -> Floats:
        return np.array([skill(column, forecast) for forecast in forecasts])

    of_candidate = skills(candidates[0])

    def is_closer(column: ColumnSample) -> bool:
        of_column = skills(column)
        is_much_closer = (RIVAL * (1 - of_column) < 1 - of_candidate).all() and of_column.min() > 0
        has_only_skill = (of_column > of_candidate).all() and of_column.max() > 0
        return bool(is_much_closer or (has_only_skill and of_candidate.max() <= 0))

    rest = [column for column in table.numeric_columns if column not in (*candidates, *forecasts)]
    closer = [column for column in rest if is_closer(column)]
    closer.sort(key=lambda column: skills(column).min(), reverse=True)
    return closer[:1]


def candidates_by_forecasts(table: SampledTable) -> list[ColumnSample]:
    """The columns that may hold actual values, because forecasts complete their names or are near
    to them; the closest to the forecasts first.
    """
    if by_completion := [column for column in completed(table) if column.numbers is not None]:
        return by_completion
    forecasts = table.named("forecast") or [
        column for column in table.numeric_columns if column.says_prediction and not column.is_share
    ]
    if not forecasts:
        return []
    # counts and other amounts are bookkeeping, unless they are what is forecast
    amounts = [column for column in table.columns if is_like(column.snake_case_name, AMOUNTS)]
    forecast_amounts = [column for column in amounts if is_forecast(column, forecasts[0])]
    possible = [
        column for column in table.numeric_columns + forecast_amounts if column not in forecasts
    ]
    near = [column for column in possible if is_near_all(column, forecasts)]
    if len(near) == 1:
        return [column for column in near if is_forecast(column, forecasts[0])]
    near.sort(key=lambda column: skill(column, forecasts[0]), reverse=True)
    return near[:MOST_GUESSES]


def actual_guesses(table: SampledTable) -> list[ColumnSample]:
    """The columns that all columns named after a model, such as ols, naive and AR9, could forecast,
    the one with the best forecast first.

    They are guesses because the columns of models could also hold values per unit.
    """
    numbers = [column for column in table.columns if column.numbers is not None]
    forecasts = [column for column in numbers if column.is_model]
    if not forecasts or are_on_one_scale(table):
        return []
    measured = [column for column in numbers if column not in forecasts and is_measured(column)]
    possible = []
    for actual in measured:
        if all(may_forecast(actual, forecast) for forecast in forecasts):
            possible.append(actual)

    def best_skill(actual: ColumnSample) -> float:
        return max(skill(actual, forecast) for forecast in forecasts)

    return sorted(possible, key=best_skill, reverse=True)


def is_measured(column: ColumnSample) -> bool:
    """True for numbers whose name does not say that they are an id, a time, a split or the like,
    and that do not count the rows.
    """
    is_no_measure = bool(uses_of(column.name) & NO_METRICS) or column.counts_rows
    return column.numbers is not None and not is_no_measure


def may_forecast(actual: ColumnSample, column: ColumnSample) -> bool:
    """True for forecasts that are correlated with the actual values, or have skill, or have about
    their mean and a correlation that is hardly one by chance.
    """
    if is_forecast(actual, column) or skill(actual, column) > 0:
        return True
    if not is_near(actual, column):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        distance = abs(actual.finite.mean() - column.finite.mean())
        has_level = distance <= LEVEL * actual.finite.std()
    return bool(has_level and correlation(actual, column) > CHANCE / np.sqrt(len(column.cells)))


# Predictions --------------------------------------------------------------------------------------


def class_columns(table: SampledTable, label: ColumnSample) -> dict[str, str]:
    """Class -> its column of probabilities; empty without such columns.

    Their names differ only in the class, and they sum to 1. Columns of 0 and 1 that repeat the
    label are no probabilities.
    """
    classes = sorted(label.labels)
    if len(classes) < 2:
        return {}
    columns_by_name = {
        column.name.lower(): column for column in table.columns if column is not label
    }
    for name in columns_by_name:
        # the column of the first class shows how the names of the other classes must look
        start, first_class, end = name.partition(classes[0].lower())
        if not first_class:
            continue
        names = [f"{start}{text.lower()}{end}" for text in classes]
        columns = [columns_by_name[name] for name in names if name in columns_by_name]
        if len(columns) < len(classes) or are_indicators(columns, label, classes):
            continue
        if sum_to_one(columns):
            return {text: column.name for text, column in zip(classes, columns, strict=True)}
    return {}


def are_indicators(
    columns: Sequence[ColumnSample], label: ColumnSample, classes: Sequence[str]
) -> bool:
    """True if each column is 1 where the label is its class, and 0 elsewhere, as the indicators of
    a feature are, and no name says that the columns hold predictions.
    """
    if any(column.says_prediction for column in columns):
        return False
    texts = np.array([canonical_label(cell or "") for cell in label.cells])
    pairs = zip(columns, classes, strict=True)
    return all(
        column.numbers is not None and np.array_equal(column.numbers, texts == name)
        for column, name in pairs
    )


def score_of_negative_class(table: SampledTable, label: ColumnSample) -> list[ColumnSample]:
    """The only column of predictions, if its name ends with the negative class, such as prob_0:
    read as the score of the positive class, it would be upside down. Empty otherwise.
    """
    negative = label.labels - {POSITIVE_OF.get(label.labels)}
    named = [column for column in table.numeric_columns if column.says_prediction]
    if len(named) != 1 or len(negative) != 1:  # two classes remain if none is known as positive
        return []
    return [column for column in named if column.snake_case_name.rpartition("_")[2] in negative]


def sum_to_one(columns: Sequence[ColumnSample]) -> bool:
    """True if numbers from 0 on sum to 1 in at least 95 % of the rows."""
    numbers = [column.numbers for column in columns if column.numbers is not None]
    if len(numbers) < len(columns) or any(column.finite.min() < 0 for column in columns):
        return False
    sums = np.sum(numbers, axis=0)
    return bool(np.mean(np.abs(sums - 1) <= TOTAL) >= 0.95)


LEAST_CLASSES = 3  # with a column of probabilities each; two could be those of two systems


def probabilities_of_classes(table: SampledTable) -> list[ColumnSample]:
    """The columns of three shares or more, called predictions, that sum to 1 in nearly every row,
    as the probabilities of classes do; empty without such columns.
    """
    # classes may be called low and high, which elsewhere are bounds
    shares = [column for column in table.columns if column.is_share and column.says_prediction]
    return shares if len(shares) >= LEAST_CLASSES and sum_to_one(shares) else []


def complements(shares: Sequence[ColumnSample], table: SampledTable) -> list[ColumnSample]:
    """The columns that hold 1 minus one of the shares, although their names are those of
    bookkeeping: pos beside neg is not a position.
    """
    bookkeeping_shares = [
        column
        for column in table.columns
        if column not in table.numeric_columns and column.is_share
    ]
    return [
        column
        for column in bookkeeping_shares
        if any(sum_to_one([column, share]) for share in shares)
    ]


def are_distinct(columns: Iterable[ColumnSample]) -> bool:
    """True if no two rows have the same cells in all of these columns."""
    rows = list(zip(*(column.cells for column in columns), strict=True))
    return len(set(rows)) == len(rows)


def is_crossed(first: ColumnSample, second: ColumnSample) -> bool:
    """True if each value of a column comes once with each of the other, as each day does with each
    arm in a table of daily totals.
    """
    combinations = len(first.labels) * len(second.labels)
    return combinations == len(first.cells) > FEW and are_distinct([first, second])


def is_near(actual: ColumnSample, column: ColumnSample) -> bool:
    """True if the median of a column of numbers lies within the range of the actual values."""
    if not (len(actual.finite) and len(column.finite)):
        return False
    return bool(actual.finite.min() <= np.median(column.finite) <= actual.finite.max())


def is_near_all(actual: ColumnSample, columns: Sequence[ColumnSample]) -> bool:
    """True if the median of each column lies within the range of the actual values."""
    return all(is_near(actual, column) for column in columns)


def correlation(first: ColumnSample, second: ColumnSample) -> float:
    """The correlation of two columns of numbers; NaN if one is constant."""
    if first.numbers is None or second.numbers is None:
        return np.nan
    pairs = np.isfinite(first.numbers) & np.isfinite(second.numbers)
    numbers = np.array([first.numbers[pairs], second.numbers[pairs]])
    if numbers.shape[1] < 2 or not numbers.std(axis=1).all():
        return np.nan
    return float(np.corrcoef(numbers)[0, 1])


def is_forecast(actual: ColumnSample, column: ColumnSample) -> bool:
    """True if the numbers are near the actual values and correlated with them."""
    return is_near(actual, column) and correlation(actual, column) >= CORRELATED


def skill(actual: ColumnSample, column: ColumnSample) -> float:
    """The R² of a column as forecasts: 1 − mean squared error / variance of the actual values;
    below 0 if their mean is a better forecast, negative infinity if it is undefined.
    """
    if actual.numbers is None or column.numbers is None:
        return -np.inf
    pairs = np.isfinite(actual.numbers) & np.isfinite(column.numbers)
    values = actual.numbers[pairs]
    if len(set(values)) < 2:
        return -np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        errors = values - column.numbers[pairs]
        r_squared = 1 - np.mean(errors**2) / values.var()
    return float(r_squared) if np.isfinite(r_squared) else -np.inf


def skill_of_score(label: ColumnSample, score: ColumnSample) -> float:
    """The Brier skill score of scores as the probability of one of two labels, of the one for which
    it is higher; negative infinity if a cell is empty or there are not two labels.
    """
    if score.numbers is None or None in label.cells or len(label.labels) != 2:
        return -np.inf
    is_first = rows_of_first_label(label)
    is_last = ~is_first
    with np.errstate(over="ignore"):
        errors = [np.nanmean((score.numbers - outcome) ** 2) for outcome in (is_first, is_last)]
    return float(1 - min(errors) / is_first.var())


def predictions_by_system(role: str, columns: Sequence[str]) -> Predictions:
    """System -> its column. A system is called by what differs between the names of the columns.

    role: that of the columns, such as "score".
    """
    systems = zip(distinct_name_parts(columns), columns, strict=True)
    return {system: {role: column} for system, column in systems}


def by_affix(role: str, columns: Sequence[ColumnSample]) -> Predictions:
    """System -> its column, if the names of columns begin, or else end, with the same word of a
    prediction, such as pred_lgb and pred_xgb; empty unless there are two.
    """
    for position in (0, -1):
        groups: dict[str, list[str]] = {}  # word -> columns
        for column in columns:
            words = column.snake_case_name.split("_")
            if len(words) > 1 and words[position] in PREDICTION_WORDS:
                groups.setdefault(words[position], []).append(column.name)
        for names in groups.values():
            systems = predictions_by_system(role, names)
            if len(systems) == len(names) > 1:  # each has a name of its own
                return systems
    return {}


def predictions_of(
    roles: Roles, role: str, fitting: Sequence[ColumnSample], *, any_name: bool
) -> Predictions:
    """The column of predictions of each system, if names tell systems apart; else the only one, or
    a note in `roles` that the role is unclear or lacking.

    fitting: the columns that may be predictions by their cells. any_name: True if they are
    predictions whatever their names, unless the names of other columns say so.
    """
    table = roles.table
    if role in table.chosen:
        return {ONLY_SYSTEM: {role: table.chosen[role]}}
    if table.systems and set(table.systems) <= {column.name for column in table.columns}:
        return {name: {role: name} for name in table.systems}
    named_by_role = [
        column for column in table.named(role) if column in fitting or not column.is_bookkeeping
    ]
    named = [column for column in table.numeric_columns if column.says_prediction]
    is_wide = "system" not in roles.columns
    if is_wide and (systems := by_affix(role, named)):
        return systems
    with_system = names_with_system([column.name for column in named], role)
    if is_wide and len(with_system) == 1 and not named_by_role:
        return {with_system[0].removeprefix(f"{role}_"): {role: with_system[0]}}
    candidates = named_by_role or named
    models = [column for column in fitting if column.names_model and column not in candidates]
    column_per_system: Sequence[ColumnSample] = ()
    if len(candidates) == 1 and models:
        column_per_system = candidates + models  # such as rf beside proba
    elif not candidates and any_name:
        candidates = list(fitting)
        column_per_system = candidates
    if is_wide and len(column_per_system) > 1:
        return predictions_by_system(role, [column.name for column in column_per_system])
    return roles.take_prediction(role, candidates, fitting)


# Reports ------------------------------------------------------------------------------------------


def classification(table: SampledTable, kind: str | None = None) -> Proposal:
    """The labels, and scores, probabilities of classes, or predicted classes.

    kind: "binary" or "multi-class", if the user says so.
    """
    roles = Roles("classification", table)
    roles.take_id_system_and_weight()
    label_is_named = bool(roles.table.named("label"))  # while the label is still in the table
    label = roles.take("label", label_candidates(roles.table), label_guesses(roles.table))
    if label is None:
        return roles.proposal({})
    decisions = decision_candidates(roles.table, label)
    if class_to_column := class_columns(roles.table, label):
        return with_class_columns(roles, class_to_column, decisions, kind)
    reversed_score = score_of_negative_class(roles.table, label)
    roles.table = roles.table.without(decisions + reversed_score)
    shares = [column for column in roles.table.numeric_columns if column.is_share]
    shares += complements(shares, roles.table)
    features = [column for column in roles.table.numeric_columns if column not in shares]
    # beside decisions numbers of 0.5 to 1 are the confidence in these, no probability of a class
    probabilities = [column for column in shares if not decisions or column.finite.min() < 0.5]
    scores = roles.table.named("score")
    named = [column for column in shares if column in scores or tells_of_prediction(column)]
    if features or decisions:  # beside features a share may be one of them
        skilled = [column for column in probabilities if skill_of_score(label, column) > 0]
        probabilities = [column for column in probabilities if column in named + skilled]
        if named:
            probabilities = rivals_of(named, probabilities, partial(skill_of_score, label))
    # a score tells two classes apart; beside decisions for more it is the confidence in these
    if decisions and (not probabilities or len(label.labels) > 2):
        return decided(roles, label, decisions)
    predictions = predictions_of(roles, "score", probabilities, any_name=label_is_named)
    if features and any(column not in named for column in probabilities):
        note_guesses(roles, predictions, probabilities)
    return roles.proposal(predictions, "binary")


def tells_of_prediction(column: ColumnSample) -> bool:
    """True if the name of a column says that it holds predictions, or is that of a model."""
    return column.says_prediction or column.names_model


def note_guesses(roles: Roles, predictions: Predictions, fitting: Sequence[ColumnSample]) -> None:
    """Note that the systems are unclear if they were chosen by their cells alone: they are all
    columns that fit, and the user names none.
    """
    names = [column.name for column in fitting]
    predicting = set[str]().union(*(columns.values() for columns in predictions.values()))
    if names and set(names) == predicting and not roles.table.systems:
        roles.unclear["systems"] = names


def with_class_columns(
    roles: Roles,
    class_to_column: Mapping[str, str],
    decisions: Sequence[ColumnSample],
    kind: str | None,
) -> Proposal:
    """The proposal for a column of probabilities per class. Of two classes, one of which is called
    1, true or yes, the column of this one is the score.

    kind: as in `classification`.
    """
    positive = [name for name in class_to_column if name.lower() in POSITIVE]
    if len(class_to_column) == 2 and positive and kind != "multi-class":
        score: Predictions = {ONLY_SYSTEM: {"score": class_to_column[positive[0]]}}
        return replace(roles.proposal(score, "binary"), positive=positive[0])
    columns = {f"p {name}": column for name, column in class_to_column.items()}
    if len(decisions) == 1:
        columns = {"predicted": decisions[0].name, **columns}
    return roles.proposal({ONLY_SYSTEM: columns}, "multi-class")


def decision_candidates(table: SampledTable, label: ColumnSample) -> list[ColumnSample]:
    """The columns that hold predicted classes: they hold classes of the label, under the name of a
    prediction, of a model or of a system that the user names.
    """
    named = [*table.named("predicted"), *decided_by_models(table)]
    named += [column for column in table.columns if column.name in table.systems]
    candidates = [column for column in table.columns if column in named or column.says_prediction]
    return [column for column in candidates if column.labels and column.labels <= label.labels]


def decided(roles: Roles, label: ColumnSample, decisions: Sequence[ColumnSample]) -> Proposal:
    """The proposal for predicted classes; 0 and 1 are scores, decisions for the positive class."""
    role = "predicted"
    kind = "multi-class"
    if label.labels <= {"0", "1"}:
        role = "score"
        kind = "binary"
    unnamed = [column for column in decisions if not column.names_model]
    if roles.table.systems and set(roles.table.systems) <= {column.name for column in decisions}:
        predictions: Predictions = {name: {role: name} for name in roles.table.systems}
    elif systems := by_affix(role, decisions):
        predictions = systems
    elif len(decisions) > 1 and len(unnamed) <= 1:  # models, and perhaps one column for another
        predictions = predictions_by_system(role, [column.name for column in decisions])
    else:
        predictions = roles.take_prediction(role, decisions)
    return roles.proposal(predictions, kind)


def rating(table: SampledTable, interval_level: float | None = None) -> Proposal:
    """The actual values and the forecasts, with the distributions that all systems state.

    The point forecasts are columns that state no distribution, such as A beside A-lo-90. Only if
    there is none are they the means or medians of distributions. interval_level: as in
    `distributions`.
    """
    if levels_in_rows(table) or column_of_sides(table):
        return Proposal("rating", lacking_roles=["one column per quantile"])
    stated = distributions([column.name for column in table.columns], interval_level)
    stated |= draws_around_their_centre(table)
    points = without_distributions(table, stated)
    proposal = point_rating(points)
    if not stated:
        return proposal
    # columns whose names are those of systems with a distribution
    owners = [column.name for column in points.numeric_columns if system_key(column.name) in stated]
    if names_forecasts(points) or (owners and proposal.is_complete):
        return with_distributions(table, proposal, stated)
    if owners and not table.systems:
        unclear = {name for names in proposal.ambiguous_roles.values() for name in names}
        if unclear <= set(owners):  # else columns that fit as well may be further systems
            proposal = point_rating(replace(points, systems=owners))
        return with_distributions(table, proposal, stated)
    point_of_system = {
        distribution.system: distribution.point
        for distribution in stated.values()
        if distribution.point
    }
    systems = [name for name in table.systems or point_of_system if name in point_of_system]
    are_all_named = bool(table.systems) and len(systems) == len(table.systems)
    if "" in stated and not are_all_named:
        return of_only_system(table, stated)
    if not systems or len(systems) < len(table.systems):
        return with_distributions(table, proposal, stated)
    stated_points = [point_of_system[name] for name in systems]
    if proposal.is_complete and not table.systems:
        # two readings: the points of distributions, or columns without one
        possible = stated_points + proposal.predicted_columns
        return replace(proposal, predictions={}, ambiguous_roles={"systems": possible})
    with_points = without_distributions(table, stated, stated_points)
    proposal = point_rating(replace(with_points, systems=stated_points))
    predictions: Predictions = {
        name: proposal.predictions[point]
        for name, point in zip(systems, stated_points, strict=True)
        if point in proposal.predictions
    }
    return with_distributions(table, replace(proposal, predictions=predictions), stated)


def draws_around_their_centre(table: SampledTable) -> dict[str, DistributionColumns]:
    """The key of a system -> its draws, by their cells: numbered columns such as A_0, A_1 and A_2
    beside a column A that is their mean or median in every row. Others may be systems as well.
    """
    by_name = {column.name: column for column in table.columns if column.numbers is not None}
    found = dict[str, DistributionColumns]()
    for stem, names in numbered(by_name).items():
        if stem not in by_name:
            continue
        centre, *draws = np.array([by_name[name].numbers for name in (stem, *names)], float)
        with np.errstate(over="ignore", invalid="ignore"):
            centres = (np.mean(draws, axis=0), np.median(draws, axis=0))
            if any(np.allclose(centre, of_draws, rtol=1e-6) for of_draws in centres):
                roles = {f"{MEMBER}{i}": name for i, name in enumerate(names)}
                found[system_key(stem)] = DistributionColumns(stem, roles, stem)
    return found


def names_forecasts(points: SampledTable) -> bool:
    """True if a column is a point forecast by its name, or because the user says so; the name of a
    model is enough. points: the columns that state no distribution.
    """
    if "forecast" in points.chosen or points.named("forecast"):
        return True
    names = {column.name for column in points.columns}
    if points.systems:
        return set(points.systems) <= names
    return any(column.says_prediction or column.is_model for column in points.numeric_columns)


def without_distributions(
    table: SampledTable, stated: Mapping[str, DistributionColumns], points: Sequence[str] = ()
) -> SampledTable:
    """The table without the columns that state distributions, or a level of one; those that the
    user names and those in `points`, the point forecasts, stay.

    stated: what `distributions` returns for the table.
    """
    stating = {name for distribution in stated.values() for name in distribution.columns}
    names = [column.name for column in table.columns]
    stating |= leveled(names)
    # a system's own column that its draws lie around is its point forecast
    stating -= {columns.point for columns in stated.values() if columns.point == columns.system}
    # bounds without a level are no forecasts either: with any level they are found as bounds
    for distribution in distributions(names, interval_level=PROPHET).values():
        stating |= distribution.columns - {distribution.point}
    stating -= set(table.chosen.values()).union(table.systems, points)
    return table.without([column for column in table.columns if column.name in stating])


def of_only_system(table: SampledTable, stated: Mapping[str, DistributionColumns]) -> Proposal:
    """The proposal for a distribution whose columns name no system, without a point forecast beside
    it: its mean or median is the forecast. The median of draws is computed once they are read.

    stated: as in `without_distributions`; it has the key "".
    """
    distribution = stated[""]
    point = distribution.point
    if not point and is_ensemble(distribution.roles):
        point = next(iter(distribution.roles.values()))  # a draw, in place of their median
    if not point:
        proposal = point_rating(without_distributions(table, stated))
        return with_distributions(table, proposal, stated)
    chosen = {**table.chosen, "forecast": point}
    with_point = without_distributions(table, stated, [point])
    proposal = point_rating(replace(with_point, chosen=chosen))
    proposal = with_distributions(table, proposal, stated)
    if not distribution.point and proposal.predictions:
        # the draw only found the actual values
        return replace(proposal, predictions={ONLY_SYSTEM: distribution.roles})
    return proposal


def with_distributions(
    table: SampledTable, proposal: Proposal, stated: Mapping[str, DistributionColumns]
) -> Proposal:
    """The proposal with the columns of distributions, by their roles, if the systems share enough
    roles: two quantiles or draws, or the standard deviation. They must fit the forecasts.

    stated: as in `without_distributions`.
    """
    by_name = {column.name: column for column in table.columns}
    is_alone = len(proposal.predictions) == 1
    by_system: dict[str | None, Mapping[str, str]] = {}  # system -> role -> column
    for system, columns in proposal.predictions.items():
        by_system[system] = {}
        possible = distributions_of(system, columns["forecast"], stated, is_alone=is_alone)
        forecast = by_name.get(columns["forecast"])
        if possible and forecast is not None and fits(possible[0], by_name, forecast):
            by_system[system] = possible[0].roles
    if not by_system:
        return proposal
    first, *others = by_system.values()
    shared = [role for role in first if all(role in roles for roles in others)]
    if not is_stated_by(shared):
        return proposal
    predictions = {}
    for system, columns in proposal.predictions.items():
        shared_columns = {role: by_system[system][role] for role in shared}
        predictions[system] = {**columns, **shared_columns}
    return replace(proposal, predictions=predictions)


def distributions_of(
    system: str | None,
    forecast: str,
    stated: Mapping[str, DistributionColumns],
    *,
    is_alone: bool,
) -> list[DistributionColumns]:
    """The distributions that may be those of a system, the likeliest first: by its name, by that of
    the column of its forecasts, or without an owner.

    is_alone: True if there is no other system, to which columns without an owner could belong.
    """
    keys = [system_key(system or ""), system_key(forecast), ""]
    return [stated[key] for key in keys if key in stated and (key or is_alone)]


def fits(
    distribution: DistributionColumns, by_name: Mapping[str, ColumnSample], forecast: ColumnSample
) -> bool:
    """True if columns state the distribution of forecasts by their cells.

    In at least half of the rows the forecast lies within them, widened by their width at either
    end, or within one standard deviation of the mean; and their centre is correlated with the
    forecasts. At most 10 % of the standard deviations are negative, and columns with the same role
    hold the same.
    """
    for rivals in distribution.rivals.values():
        if any(by_name[name].cells != by_name[rivals[0]].cells for name in rivals):
            return False
    by_role = {role: by_name[name] for role, name in distribution.roles.items()}
    if forecast.numbers is None or any(column.numbers is None for column in by_role.values()):
        return True  # reading refuses the cells that are no numbers
    if DEVIATION in by_role:
        deviations = by_role[DEVIATION].finite
        if (deviations < 0).sum() > UNREADABLE * len(deviations):
            return False
    cells = np.array([forecast.numbers, *(column.numbers for column in by_role.values())], float)
    forecasts, *parts = cells[:, np.isfinite(cells).all(axis=0)]  # rows without an empty cell
    numbers = dict(zip(by_role, parts, strict=True))
    with np.errstate(over="ignore", invalid="ignore"):
        if DEVIATION in numbers:
            centre = numbers.get(MEAN, forecasts)
            width = np.abs(numbers[DEVIATION])
            low = centre - width
            high = centre + width
        else:
            centre = np.mean(parts, axis=0)
            least = np.min(parts, axis=0)
            largest = np.max(parts, axis=0)
            width = largest - least
            low = least - width
            high = largest + width
        is_inside = (low <= forecasts) & (forecasts <= high)
        if is_inside.sum() < HALF * len(forecasts):
            return False
        if len(forecasts) <= FEW or centre.std() == 0 or forecasts.std() == 0:
            return True  # without a correlation
        return not np.corrcoef(centre, forecasts)[0, 1] < CORRELATED  # True for NaN


def point_rating(table: SampledTable) -> Proposal:
    """The actual values and the point forecasts, without distributions."""
    roles = Roles("rating", table)
    roles.take_id_system_and_weight()
    actual_is_named = bool(roles.table.named("actual"))  # while it is still in the table
    actual = roles.take("actual", actual_candidates(roles.table), actual_guesses(roles.table))
    if actual is None:
        return roles.proposal({})
    if actual.labels <= {"0", "1"}:
        roles.lacking.append("actual")  # two classes are no numbers to forecast
    near = [column for column in roles.table.numeric_columns if is_near(actual, column)]
    models = [column for column in near if column.is_model]
    fitting = [column for column in near if column in models or is_forecast(actual, column)]
    if probabilities_of_classes(roles.table):
        roles.lacking.append("forecast")
    says_prediction = bool(roles.table.named("forecast")) or any(
        column.says_prediction for column in fitting
    )
    rivals = rivals_of(models, fitting, partial(skill, actual)) if models else fitting
    has_features = len(roles.table.numeric_columns) > len(fitting)
    if has_features:  # which may be correlated with the actual values too
        fitting = rivals
    predictions = predictions_of(roles, "forecast", fitting, any_name=actual_is_named)
    if models:
        # others may be features: if there are some, or if models are much nearer
        has_others = any(column not in models for column in fitting)
        is_unclear = has_others and (has_features or len(rivals) < len(fitting))
    else:
        is_unclear = len(near) > len(fitting)
    if (is_unclear and not says_prediction) or are_numbered(fitting):
        note_guesses(roles, predictions, fitting)
    return roles.proposal(predictions)


def are_numbered(columns: Sequence[ColumnSample]) -> bool:
    """True for many columns that differ in a number alone and not by the name of a model, such as
    m1 to m20: they may be the members of one ensemble.
    """
    stems = {column.snake_case_name.rstrip("0123456789_") for column in columns}
    named = any(tells_of_prediction(column) for column in columns)
    return len(columns) >= MANY and len(stems) == 1 and not named


def rivals_of(
    models: Sequence[ColumnSample],
    fitting: Sequence[ColumnSample],
    skill_of: Callable[[ColumnSample], float],
) -> list[ColumnSample]:
    """The columns of models, and of the other fitting ones those with less than twice the squared
    error of the worst model: a feature may be correlated with what is predicted, but is hardly as
    near.

    models: at least one. skill_of: the skill of a column, 1 − squared error / variance.
    """
    worst_skill = min(map(skill_of, models))
    least_skill = max(0, 1 - RIVAL * (1 - worst_skill))
    return [column for column in fitting if column in models or skill_of(column) > least_skill]


def validation(table: SampledTable) -> Proposal:
    """The label or the actual values, the scores and the folds."""
    roles = Roles("validation", table)
    # the exact name first, whatever its cells: there may be hundreds of holdouts
    roles.take("fold", roles.table.exact("fold") or roles.table.named("fold"))
    for role in ("group", "time", "repeat"):
        roles.take_if_any(role, roles.table.exact(role))
    roles.take_if_any("id", roles.table.named("id"))  # it may repeat, if several folds test a row
    chosen = dict(table.chosen)
    if "label" in chosen:
        chosen["actual"] = chosen["label"]  # as the rating report calls what is predicted
    table_of_outcomes = replace(roles.table, chosen=chosen)
    outcomes = classification(table_of_outcomes)
    predictions = outcomes.predictions
    if not (outcomes.is_complete and outcomes.kind == "binary"):
        of_numbers = point_rating(table_of_outcomes)
        # of columns that are all unclear, those of two classes go with shares
        is_of_classes = bool(outcomes.ambiguous_roles) and not outcomes.lacking_roles
        if of_numbers.is_complete or not (is_of_classes and predicts_shares(roles.table)):
            outcomes = of_numbers
        forecasts = of_numbers.predictions.items()
        predictions = {system: {"score": columns["forecast"]} for system, columns in forecasts}
    columns = {**roles.columns, **outcomes.columns}
    if "actual" in columns:
        columns["label"] = columns.pop("actual")
    columns.pop("weight", None)  # this report has no weights
    columns.pop("forecast", None)  # it is the score of `predictions`
    return Proposal(
        "validation",
        columns,
        predictions,
        ambiguous_roles={**roles.unclear, **outcomes.ambiguous_roles},
        lacking_roles=[*roles.lacking, *outcomes.lacking_roles],
    )


def predicts_shares(table: SampledTable) -> bool:
    """True if all numbers that are predictions by their names lie within 0 and 1."""
    predictions = [column for column in table.numeric_columns if tells_of_prediction(column)]
    return bool(predictions) and all(column.is_share for column in predictions)


def ranking(table: SampledTable, *, graded: bool = True) -> Proposal:
    """Queries and their items, ordered by the scores of systems or by a rank, with grades.

    graded: False if the grades are in another table.
    """
    roles = Roles("ranking", table)
    systems = roles.table.named("system")
    query = roles.take("query", roles.table.named("query"))
    item = roles.take("item", roles.table.named("item"))
    if query is None or item is None:
        return roles.proposal({})
    if not systems and not are_distinct([query, item]):  # several systems retrieved an item
        systems = [column for column in roles.table.texts if are_distinct([column, query, item])]
    roles.take_if_any("system", systems)
    rank = roles.table.named("rank")
    if graded:
        numbers = [column for column in roles.table.numeric_columns if column not in rank]
        like_grades = [
            column
            for column in numbers
            if column.is_whole and 0 <= column.finite.min() <= column.finite.max() <= MOST_GRADES
        ]
        roles.take("grade", roles.table.named("grade") or like_grades)
    roles.table = roles.table.without(rank)
    # one number for all items of a query orders none of them: it describes the query
    roles.table = roles.table.without(
        [
            column
            for column in roles.table.numeric_columns
            if is_constant_within(query, column) and not tells_of_prediction(column)
        ]
    )
    scores = [] if rank else roles.table.numeric_columns
    # the query and the item say that this is a ranked list, so that scores need no name
    predictions = predictions_of(roles, "score", scores, any_name=True)
    if "score" in roles.lacking and len(rank) == 1:
        roles.lacking.remove("score")  # the rank alone orders the items
        predictions = {ONLY_SYSTEM: {"rank": rank[0].name}}
    return roles.proposal(predictions)


def is_constant_within(query: ColumnSample, column: ColumnSample) -> bool:
    """True if all items of each query share a value, which differs between queries."""
    values_of_queries = set(zip(query.cells, column.cells, strict=True))
    queries = len(query.labels)
    return len(values_of_queries) == queries < len(query.cells) and len(column.labels) > 1


def judgements(table: SampledTable) -> Proposal:
    """The judged items of queries with their grades; without grades if no column could hold them,
    as all held-out items are relevant.
    """
    roles = Roles("ranking", table)
    query = roles.take("query", roles.table.named("query"))
    item = roles.take("item", roles.table.named("item"))
    if query is None or item is None:
        return roles.proposal({})
    roles.take_if_any("grade", roles.table.named("grade") or judging(roles.table))
    return roles.proposal({})


def judging(table: SampledTable) -> list[ColumnSample]:
    """The columns that may judge rows, whatever they are called: numbers, texts that repeat, and
    columns of several splits, of which only one was held out.
    """
    free = [column for column in table.columns if not column.is_bookkeeping]
    may_judge = [column for column in free if column.numbers is not None or column in table.texts]
    splits = [column for column in table.columns if "split" in uses_of(column.name)]
    may_judge += [column for column in splits if len(column.labels) > 1 and column not in free]
    return may_judge


def interleaving(table: SampledTable) -> Proposal:
    """The interleaved sessions, one row per item shown, or else the users of an A/B test."""
    roles = Roles("interleaving", table)
    for role in ("session", "position", "team", "outcome"):
        roles.take(
            role, [column for column in roles.table.columns if column.name in names_of(role)]
        )
    sessions = roles.proposal({})
    return sessions if sessions.is_complete else users(table)


def names_of(role: str) -> Sequence[str]:
    """The names of columns that a report declares for a role."""
    return (role, *facts("roles")[role]["names"])


def users(table: SampledTable) -> Proposal:
    """The users of an A/B test, their arms, and the columns of what they did.

    Tables of totals, and of answers to predictions, lack users.
    """
    roles = Roles("interleaving", table)
    arm = roles.take("arm", roles.table.named("arm"))
    roles.take_if_any("user", roles.table.named("user"))
    columns = roles.table.columns
    trials = [column.finite for column in columns if column.snake_case_name in TRIALS]
    holds_totals = any(len(numbers) and numbers.min() >= TOTALS for numbers in trials)
    if arm is not None:
        dates = [column for column in columns if column.words & DATES]
        holds_totals |= any(is_crossed(date, arm) for date in dates)
    if holds_totals and "user" not in roles.columns:
        roles.lacking.append("users behind totals")
    # an arm alone is that of a test only if its values name a control
    is_test = arm is not None and ("user" in roles.columns or control_of(arm.labels) is not None)
    answers = [column for column in columns if column.snake_case_name in ANSWERS]
    predicting = [
        column
        for column in columns
        if column not in answers
        and (column in roles.table.numeric_columns or column.says_prediction)
    ]
    if not is_test or (answers and predicting):
        roles.lacking.append("users")
    measures = [column for column in columns if column.measures_users]
    flags = [column.name for column in measures if column.labels <= {"0", "1", "false", "true"}]
    names = [*flags[:1], *(column.name for column in measures)]  # a conversion decides
    return replace(roles.proposal({}), metrics=tuple(dict.fromkeys(names)))


# The closest report first: where people, items or folds are named, the outcomes are theirs.
REPORTS: Mapping[str, Callable[[SampledTable], Proposal]] = {
    "interleaving": interleaving,
    "ranking": ranking,
    "validation": validation,
    "classification": classification,
    "rating": rating,
}


class ReadingWay(NamedTuple):
    """A way to read a part: a complete proposal, and the choice that a command must make for it.

    ambiguity: why it must choose, as a refusal says it; "" if the choice is empty.
    """

    proposal: Proposal
    choice: Choice
    ambiguity: str

    @property
    def needs_choice(self) -> bool:
        """True if the part is read in this way only by a command that says which columns."""
        return bool(self.ambiguity)

    @property
    def forecasts_ratings(self) -> bool:
        """True if the actual values are ratings, by their name, and their forecasts are clear."""
        actual = self.proposal.columns.get("actual", "")
        return not self.needs_choice and snake_case(actual) in RATINGS


def _with_row_per_forecast(part: InputPart) -> InputPart:
    """A table with a row per quantile as its forecasts; other parts, and those that are refused, as
    they are.
    """
    try:
        return with_row_per_forecast([part], {}, USUAL_LIMITS.reading)[0]
    except InputError:
        return part


def reading_ways(part: InputPart) -> list[ReadingWay]:
    """The ways to read a part: the closest report first, and those that need a choice last."""
    possible = []
    for report, propose in REPORTS.items():
        shown = _with_row_per_forecast(part) if report == "rating" else part
        first = propose(SampledTable.from_part(shown, {}))
        for choice in first.choices:
            # once the columns are chosen, the systems may still be unclear
            second = propose(SampledTable.from_part(shown, choice.columns, choice.systems))
            for second_choice in second.choices:
                both = Choice(choice.columns, second_choice.systems or choice.systems)
                proposal = propose(SampledTable.from_part(shown, both.columns, both.systems))
                if proposal.is_complete:
                    possible.append(ReadingWay(proposal, both, first.ambiguity))
    # ratings that have forecasts are no grades of a ranked list, unless the table has ranks
    has_ranks = bool(SampledTable.from_part(part, {}).named("rank"))
    if any(way.forecasts_ratings for way in possible) and not has_ranks:
        possible.sort(key=lambda way: way.proposal.report == "ranking")
    # scores outside 0 to 1 are rather forecasts of a number near them than scores of a flag
    has_forecasts = any(way.proposal.report == "rating" for way in possible)
    return sorted(
        possible,
        key=lambda way: (way.needs_choice, has_forecasts and is_of_other_scores(part, way)),
    )


def is_of_other_scores(part: InputPart, way: ReadingWay) -> bool:
    """True for two classes that a choice reads, with scores that are no probabilities."""
    if not way.needs_choice or way.proposal.kind != "binary":
        return False
    columns = {column.name: column for column in samples_of(part)}
    scores = [columns[roles["score"]] for roles in way.proposal.predictions.values()]
    return not any(score.is_share for score in scores)
