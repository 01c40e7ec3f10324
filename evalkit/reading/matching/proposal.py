"""Proposals: how a report could read the columns of a part, from their names and first cells.

One proposal serves the reader of the report, `evalkit inspect` and the refusals. Names that a
report declares decide first, then usual names whose cells fit, then the only column that can have
a role by its cells. Columns that fit equally are `unclear`, and none of them is chosen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Bools, ParameterError, ratio
from evalkit.metrics.predictive import DEVIATION, MEAN, MEMBER, is_ensemble
from evalkit.names import control_of, usual
from evalkit.parameters.kinds import did_you_mean, written
from evalkit.reading.matching.column_names import (
    AMOUNTS,
    NAMES,
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
from evalkit.reading.matching.samples import (
    ANSWERS,
    FEW,
    NO_METRICS,
    POSITIVE_OF,
    WORDS,
    ColumnSample,
    SampledTable,
    differing,
)
from evalkit.reading.tables.columns import facts, is_number
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
TOTALS = 30  # from here on in all rows they are no numbers of single users
RATINGS = ("rating", "r_ui", "rui", "stars", "true_rating")  # what forecasts are of, not grades
MOST_GUESSES = 6
HALF = 0.5  # of the rows, in which forecasts lie within their distributions at least
UNREADABLE = 0.1  # of standard deviations, up to which negative ones are errors of their rows
MOST_GRADES = 4  # the highest of the grades that are recognised without a name
ONLY_SYSTEM = None  # the name of a system that is alone in a part: it is called after its column
Predictions = Mapping[str | None, Mapping[str, str]]  # system -> role -> its column


class Choice(NamedTuple):
    """What a command says of the columns. columns: role -> column."""

    columns: Mapping[str, str] = {}
    systems: Sequence[str] = ()

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters as the command line takes them."""
        named: dict[str, Mapping[str, str] | Sequence[str]] = {
            "columns": self.columns,
            "systems": self.systems,
        }
        return {name: written(value) for name, value in named.items() if value}


@dataclass(frozen=True)
class Proposal:
    """How a report could read a part.

    columns: role -> column. unclear: role -> the columns that fit equally well. lacking: the roles
    for which no column fits.
    kind: of the outcomes, for classes. positive: the class whose column is the score. metrics:
    columns of what users did, the deciding one first.
    """

    report: str
    columns: Mapping[str, str] = field(default_factory=dict)
    predictions: Predictions = field(default_factory=dict)
    unclear: Mapping[str, Sequence[str]] = field(default_factory=dict)
    lacking: Sequence[str] = ()
    kind: str = ""
    positive: str | None = None
    metrics: Sequence[str] = ()

    @property
    def is_complete(self) -> bool:
        """True if every role that the report needs has one column."""
        return not self.unclear and not self.lacking

    @property
    def answer(self) -> str:
        """The column of what is predicted; "" without one."""
        return self.columns.get("label") or self.columns.get("actual", "")

    @property
    def ambiguity(self) -> str:
        """Which columns could have the unclear roles, as a refusal says it; "" if all are clear."""
        sentences = []
        for role, columns in self.unclear.items():
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
        """What the commands that read the part must say: one choice per command, an empty one if
        every role is clear. There is no choice, and no command, if a role lacks a column.
        """
        if self.lacking:
            return []
        if not self.unclear:
            return [Choice()]
        if "systems" in self.unclear:  # a command for models alone, one for all possible columns
            possible = self.unclear["systems"]
            models = [name for name in possible if ColumnSample(name, ()).is_model]
            return [Choice(systems=names) for names in (models, possible) if names]
        # a command per column of the first unclear role; further roles get their first column
        first_columns = {role: columns[0] for role, columns in self.unclear.items()}
        role, columns = next(iter(self.unclear.items()))
        return [Choice({**first_columns, role: column}) for column in columns]


@dataclass
class Roles:
    """The roles of a report while they are found one after the other. table: the columns without
    a role so far.
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
        """Give a role to the only candidate; note where there is none, or are several. guesses:
        columns that the user may have meant if there is no candidate.
        """
        if len(candidates) == 1:
            self.columns[role] = candidates[0].name
            self.table = self.table.without(candidates)
            return candidates[0]
        if possible := [*candidates] or [*guesses][:MOST_GUESSES]:
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
        """The predictions of a system without a name, as `take` finds their column."""
        column = self.take(role, candidates, guesses)
        return {} if column is None else {ONLY_SYSTEM: {role: column.name}}

    def take_if_any(self, role: str, candidates: Sequence[ColumnSample]) -> None:
        """Give a role that no report needs to the only candidate, or note that several fit."""
        if candidates:
            self.take(role, candidates)

    def take_id_system_and_weight(self) -> None:
        """The columns that name rows and their systems, and weigh the rows."""
        self.take_if_any("system", self.table.named("system"))
        names_systems = "system" in self.columns or "id" in self.table.chosen
        self.take_if_any(
            "id",
            [column for column in self.table.exact("id") if column.is_distinct or names_systems],
        )
        self.take_if_any("weight", self.table.named("weight"))

    def proposal(self, predictions: Predictions, kind: str = "") -> Proposal:
        """The roles as a proposal."""
        chosen = chosen_systems(predictions, self.table.systems, self.table.part.name)
        return Proposal(self.report, self.columns, chosen, self.unclear, self.lacking, kind)


def quantifier(columns: Sequence[str]) -> str:
    """The word for all of several columns: "both" for two, else "each"."""
    return "both" if len(columns) == 2 else "each"


def chosen_systems(predictions: Predictions, systems: Sequence[str], where: str) -> Predictions:
    """The predictions of the systems that the user names; ParameterError if there is none of a
    name.
    """
    if not systems or ONLY_SYSTEM in predictions or not predictions:
        return predictions  # a single system has no name to choose it by
    unknown = [name for name in systems if name not in predictions]
    if unknown:
        names = written([*map(str, predictions)])
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


def label_candidates(table: SampledTable) -> list[ColumnSample]:
    """The columns that may hold labels: by name, else by what others predict."""
    candidates = [
        column for column in table.columns if column.holds_labels and not column.is_bookkeeping
    ]
    if by_name := [column for column in table.named("label") if is_predicted(table, column)]:
        return by_name
    if by_completion := [column for column in completed(table) if column in candidates]:
        return by_completion
    if len(decisions := table.named("predicted")) == 1:
        others = [column for column in candidates if column is not decisions[0]]
        same = [column for column in others if column.labels == decisions[0].labels]
        if same:
            return same
    texts = [column for column in decided_by_models(table) if column.numbers is None]
    if same := [column for column in candidates if is_decided(column, texts)]:
        return same
    if scored := [column for column in candidates if class_columns(table, column)]:
        return scored
    if any(column.says_prediction and column.is_share for column in table.numeric):
        two = [column for column in candidates if len(column.labels) == 2]
        labels = [column for column in two if column.is_flag] or two
        scores = [column for column in table.numeric if column.says_prediction and column.is_share]
        if len(labels) == 1 and not any(is_told_by(labels[0], score) for score in scores):
            return []  # a flag beside a share is a guess
        return sorted(labels, key=lambda label: -closeness(label, scores[0]))
    return []


def is_told_by(label: ColumnSample, score: ColumnSample) -> bool:
    """True if a score has skill as the probability of a label, or tells two labels apart."""
    return skill_of_score(label, score) > 0 or separation(score, label) >= SEPARATED


def closeness(label: ColumnSample, score: ColumnSample) -> float:
    """How well a score fits a label: its skill as a probability, of other scores how well they tell
    two labels apart; of 0 and 1 or the like, by how much the rows with 1 score higher.
    """
    if score.is_share:
        return skill_of_score(label, score)
    return directed_separation(score, label) if label.is_flag else separation(score, label)


def decided_by_models(table: SampledTable) -> list[ColumnSample]:
    """The columns that are called after models and hold classes."""
    return [column for column in table.columns if column.names_model and column.holds_labels]


def is_decided(label: ColumnSample, decisions: Sequence[ColumnSample]) -> bool:
    """True if labels are those of the classes that models decided for, and not one of these
    columns.
    """
    classes = frozenset[str]().union(*(column.labels for column in decisions))
    return bool(decisions) and label not in decisions and label.labels == classes


def is_predicted(table: SampledTable, label: ColumnSample) -> bool:
    """True unless labels of more than two classes stand beside one score, which is of two."""
    rest = table.without([label])
    if len(label.labels) <= 2 or class_columns(table, label) or decision_candidates(rest, label):
        return True
    return not any(column.is_share for column in table.numeric if column.says_prediction)


def label_guesses(table: SampledTable) -> list[ColumnSample]:
    """The columns that could be the label, if no name says which column is: of classes that models
    decided for those with the same classes, of scores flags, and texts of two values that every
    score tells apart. The closest to the predictions come first.
    """
    columns = [column for column in table.columns if not column.is_bookkeeping]
    decisions = decided_by_models(table)
    if decided := [column for column in columns if is_decided(column, decisions)]:
        return sorted(decided, key=lambda column: -agreement(column, decisions[0]))
    flags = [column for column in columns if column.is_flag and len(column.labels) == 2]
    if scores := table.named("score"):
        return sorted(flags, key=lambda flag: -closeness(flag, scores[0]))
    shares = [column for column in columns if column.is_share and len({*column.finite}) > SEVERAL]
    named = [column for column in shares if tells_of_prediction(column)]
    scores = named or shares
    if not scores:
        return []
    texts = [column for column in columns if column.numbers is None and len(column.labels) == 2]
    known = flags if named else []
    told = [
        column
        for column in [*flags, *texts]
        if all(separation(score, column) >= SEPARATED for score in scores)
    ]
    labels = dict.fromkeys([*known, *told])
    return sorted(labels, key=lambda label: -closeness(label, scores[0]))


def agreement(first: ColumnSample, second: ColumnSample) -> float:
    """The share of rows in which two columns hold the same class."""
    pairs = zip(first.cells, second.cells, strict=True)
    return float(np.mean([cell == other for cell, other in pairs]))


def separation(score: ColumnSample, label: ColumnSample) -> float:
    """How well scores tell two labels apart: their AUC in the direction in which it is higher, 0.5
    if cells are empty or no two labels.
    """
    auc = directed_separation(score, label)
    return max(auc, 1 - auc)


def directed_separation(score: ColumnSample, label: ColumnSample) -> float:
    """The AUC of scores for the last of two labels in their order, such as 1 of 0 and 1; 0.5 if
    cells are empty or no two labels.
    """
    if score.numbers is None or None in label.cells or len(label.labels) != 2:
        return 0.5
    is_first = of_first_label(label)
    first = np.sort(score.numbers[is_first])
    last = score.numbers[~is_first]
    return float(np.searchsorted(first, last).mean() / len(first))


def likeliest_first(part: InputPart, choice: Mapping[str, str], labels: Sequence[str]) -> list[str]:
    """Two labels, first the one whose rows have the higher scores. choice: the parameters of the
    command by which the labels are read.
    """
    columns = {column.name: column for column in SampledTable.of(part, {}).columns}
    for way in ways(part):
        if way.choice.parameters != choice or way.proposal.kind != "binary":
            continue
        label = columns[way.proposal.columns["label"]]
        scores = [columns[own["score"]].numbers for own in way.proposal.predictions.values()]
        texts = np.array([canonical_label(cell or "") for cell in label.cells])
        if scores[0] is not None:
            texts = texts[np.isfinite(scores[0])]
            finite = scores[0][np.isfinite(scores[0])]
            sums = {text: finite[texts == text].sum() for text in labels}
            means = {text: ratio(sums[text], np.sum(texts == text)) for text in labels}
            return sorted(labels, key=means.__getitem__, reverse=True)
    return [*labels]


def of_first_label(label: ColumnSample) -> Bools:
    """The rows with the first of the labels in their order."""
    labels = np.array([canonical_label(cell) for cell in label.texts])
    is_first: Bools = labels == min(label.labels)
    return is_first


def actual_candidates(table: SampledTable) -> list[ColumnSample]:
    """The columns that may hold actual values: by name, else by the only forecast."""
    by_name = table.named("actual")
    if by_name and (not is_usual_name(table, by_name[0]) or are_predicted(table, by_name)):
        return by_name
    if by_forecasts := candidates_by_forecasts(table):
        return by_forecasts
    return [] if actual_guesses(table) else by_name


def is_usual_name(table: SampledTable, actual: ColumnSample) -> bool:
    """True if the name of actual values is neither the role's own, nor named by the user, so that
    it may be something else: y beside x and z is a coordinate.
    """
    declared = ("actual", *facts("roles")["actual"]["names"])
    return "actual" not in table.chosen and actual.snake_case_name not in declared


def are_predicted(table: SampledTable, candidates: Sequence[ColumnSample]) -> bool:
    """True unless no column that is named as predictions, or after a model, is near one of these,
    although such columns exist.
    """
    named = [column for column in table.numeric if column.is_model or column.says_prediction]
    predictions = [column for column in named if column not in candidates]
    near = (is_near(column, other) for column in candidates for other in predictions)
    return not predictions or any(near)


def candidates_by_forecasts(table: SampledTable) -> list[ColumnSample]:
    """The columns that may hold actual values, because forecasts complete their names or are near
    to them; the closest to the forecasts first.
    """
    if by_completion := [column for column in completed(table) if column.numbers is not None]:
        return by_completion
    forecasts = table.named("forecast") or [
        column for column in table.numeric if column.says_prediction and not column.is_share
    ]
    amounts = [
        column
        for column in table.columns
        if is_like(column.snake_case_name, AMOUNTS)
        and forecasts
        and is_forecast(column, forecasts[0])
    ]
    others = [column for column in [*table.numeric, *amounts] if column not in forecasts]
    near = [column for column in others if forecasts and is_near_all(column, forecasts)]
    if len(near) == 1:
        return [column for column in near if is_forecast(column, forecasts[0])]
    near.sort(key=lambda column: skill(column, forecasts[0]), reverse=True)
    return near[:MOST_GUESSES]


def actual_guesses(table: SampledTable) -> list[ColumnSample]:
    """The columns that all columns named after a model, such as ols, naive and AR9, could forecast,
    the one that they are nearest to first.

    They are guesses because the columns of models could also hold values per unit.
    """
    forecasts = [column for column in table.columns if column.numbers is not None]
    forecasts = [column for column in forecasts if column.names_forecaster or column.names_model]
    if not forecasts:
        return []
    others = [column for column in table.columns if column not in forecasts and is_measured(column)]
    possible = [column for column in others if all(may_forecast(column, one) for one in forecasts)]
    return sorted(possible, key=lambda column: -max(skill(column, one) for one in forecasts))


def is_measured(column: ColumnSample) -> bool:
    """True for numbers whose name does not say that they are an id, a time, a split or the like."""
    return column.numbers is not None and not uses_of(column.name) & NO_METRICS


def may_forecast(actual: ColumnSample, column: ColumnSample) -> bool:
    """True for forecasts that are correlated with the actual values, have skill, or at least their
    mean and more than a correlation by chance.
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
    """Class -> its column of probabilities, which share a beginning and an end and sum to 1; empty
    without them. Columns of 0 and 1 that repeat the label are no probabilities.
    """
    others = {column.name.lower(): column for column in table.columns if column is not label}
    classes = sorted(label.labels)
    for name in others if len(classes) > 1 else ():
        start, first, end = name.partition(classes[0].lower())
        names = [f"{start}{text.lower()}{end}" for text in classes]
        columns = [others[name] for name in names if name in others]
        if len(columns) < len(classes) or are_indicators(columns, label, classes):
            continue
        if first and sum_to_one(columns):
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
    """The only column of predictions, if its name ends with the negative class: prob_0."""
    negative = label.labels - {POSITIVE_OF.get(label.labels)}
    worded = [column for column in table.numeric if column.says_prediction]
    ends = [column for column in worded if column.snake_case_name.rpartition("_")[2] in negative]
    return ends if len(worded) == len(negative) == 1 else []


def sum_to_one(columns: Sequence[ColumnSample]) -> bool:
    """True if numbers of 0 to 1 sum to 1 in almost every row."""
    numbers = [column.numbers for column in columns if column.numbers is not None]
    if len(numbers) < len(columns) or any(column.finite.min() < 0 for column in columns):
        return False
    return bool(np.mean(np.abs(np.sum(numbers, axis=0) - 1) <= TOTAL) >= 0.95)


def complements(shares: Sequence[ColumnSample], table: SampledTable) -> list[ColumnSample]:
    """The columns that are the probability of the other class of one of these, although their names
    say that they hold something else: pos beside neg.
    """
    others = [column for column in table.columns if column not in table.numeric and column.is_share]
    return [one for one in others if any(sum_to_one([one, share]) for share in shares)]


def are_distinct(*columns: ColumnSample) -> bool:
    """True if no two rows have the same cells in all of these columns."""
    rows = [*zip(*(column.cells for column in columns), strict=True)]
    return len({*rows}) == len(rows)


def is_crossed(first: ColumnSample, second: ColumnSample) -> bool:
    """True if each value of a column comes once with each of the other."""
    pairs = len(first.labels) * len(second.labels)
    return pairs == len(first.cells) > FEW and are_distinct(first, second)


def is_near(actual: ColumnSample, column: ColumnSample) -> bool:
    """True if the middle of a column of numbers lies within the range of the actual ones."""
    if not (len(actual.finite) and len(column.finite)):
        return False
    return bool(actual.finite.min() <= np.median(column.finite) <= actual.finite.max())


def is_near_all(actual: ColumnSample, columns: Sequence[ColumnSample]) -> bool:
    """True if columns of numbers lie within the range of the actual ones."""
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
    """True if numbers near the actual ones are correlated with them."""
    return is_near(actual, column) and correlation(actual, column) >= CORRELATED


def skill(actual: ColumnSample, column: ColumnSample) -> float:
    """By which share the squared error of forecasts is lower than that of the mean of the actual
    values; below 0 if it is higher, negative infinity without two different actual values.
    """
    if actual.numbers is None or column.numbers is None:
        return -np.inf
    pairs = np.isfinite(actual.numbers) & np.isfinite(column.numbers)
    values = actual.numbers[pairs]
    if len({*values}) < 2:
        return -np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        errors = values - column.numbers[pairs]
        share = 1 - np.mean(errors**2) / values.var()
    return float(share) if np.isfinite(share) else -np.inf


def skill_of_score(label: ColumnSample, score: ColumnSample) -> float:
    """The skill of scores as the probability of one of two labels, of the two the higher one;
    negative infinity if cells are empty or no two labels.
    """
    if score.numbers is None or None in label.cells or len(label.labels) != 2:
        return -np.inf
    is_first = of_first_label(label)
    with np.errstate(over="ignore"):
        errors = [np.nanmean((score.numbers - flags) ** 2) for flags in (is_first, ~is_first)]
    return float(1 - min(errors) / is_first.var())


def predictions_by_system(role: str, columns: Sequence[str]) -> Predictions:
    """The column of each system, which is called by what differs between their names."""
    systems = zip(differing(columns), columns, strict=True)
    return {system: {role: column} for system, column in systems}


def by_affix(role: str, columns: Sequence[ColumnSample]) -> Predictions:
    """The systems of columns whose names begin, or end, with the same word of a prediction; empty
    unless there are two.
    """
    for place in (0, -1):
        groups: dict[str, list[str]] = {}
        for column in columns:
            words = column.snake_case_name.split("_")
            if len(words) > 1 and words[place] in WORDS:
                groups.setdefault(words[place], []).append(column.name)
        for names in groups.values():
            systems = predictions_by_system(role, names)
            if len(systems) == len(names) > 1:
                return systems
    return {}


def predictions_of(
    roles: Roles, role: str, fitting: Sequence[ColumnSample], *, any_name: bool
) -> Predictions:
    """The column of predictions of each system, where names tell systems apart; else the only one.

    fitting: the columns that may be predictions by their cells. any_name: they are, whatever their
    names, if no name of a column says that it holds predictions.
    """
    table = roles.table
    if role in table.chosen:
        return {ONLY_SYSTEM: {role: table.chosen[role]}}
    if table.systems and {*table.systems} <= {column.name for column in table.columns}:
        return {name: {role: name} for name in table.systems}
    named = [
        column for column in table.named(role) if column in fitting or not column.is_bookkeeping
    ]
    worded = [column for column in table.numeric if column.says_prediction]
    is_wide = "system" not in roles.columns
    by_role = names_with_system([column.name for column in worded], role)
    if is_wide and (systems := by_affix(role, worded)):
        return systems
    if is_wide and len(by_role) == 1 and not named:
        return {by_role[0].removeprefix(f"{role}_"): {role: by_role[0]}}
    candidates = named or worded
    models = [column for column in fitting if column.names_model and column not in candidates]
    systems_as_columns: Sequence[ColumnSample] = ()
    if len(candidates) == 1 and models:
        systems_as_columns = [*candidates, *models]  # such as rf beside proba
    elif not candidates and any_name:
        candidates = [*fitting]
        systems_as_columns = candidates
    if is_wide and len(systems_as_columns) > 1:
        return predictions_by_system(role, [column.name for column in systems_as_columns])
    return roles.take_prediction(role, candidates, fitting)


# Reports ------------------------------------------------------------------------------------------


def classification(table: SampledTable, kind: str | None = None) -> Proposal:
    """The labels, and scores, probabilities of classes, or predicted classes. kind: as the user
    wants it.
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
    unfit = score_of_negative_class(roles.table, label)
    roles.table = roles.table.without([*decisions, *unfit])
    shares = [column for column in roles.table.numeric if column.is_share]
    shares += complements(shares, roles.table)
    features = [column for column in roles.table.numeric if column not in shares]
    # beside decisions numbers of 0.5 to 1 are the confidence in these, no probability of a class
    probabilities = [column for column in shares if not decisions or column.finite.min() < 0.5]
    scores = roles.table.named("score")
    named = [column for column in shares if column in scores or tells_of_prediction(column)]
    if features or decisions:  # of which shares may be features too
        skilled = [column for column in probabilities if skill_of_score(label, column) > 0]
        probabilities = [column for column in probabilities if column in (*named, *skilled)]
        if named:
            probabilities = rivals_of(named, probabilities, partial(skill_of_score, label))
    if decisions and not probabilities:
        return decided(roles, label, decisions)
    predictions = predictions_of(roles, "score", probabilities, any_name=label_is_named)
    if features and any(column not in named for column in probabilities):
        note_guesses(roles, predictions, probabilities)
    return roles.proposal(predictions, "binary")


def tells_of_prediction(column: ColumnSample) -> bool:
    """True if the name of a column says that it holds predictions, or is that of a model."""
    return column.says_prediction or column.names_model


def note_guesses(roles: Roles, predictions: Predictions, fitting: Sequence[ColumnSample]) -> None:
    """Note that systems are unclear if they are all columns that fit, and the user names none."""
    columns = {column for own in predictions.values() for column in own.values()}
    if fitting and {column.name for column in fitting} == columns and not roles.table.systems:
        roles.unclear["systems"] = [column.name for column in fitting]


def with_class_columns(
    roles: Roles,
    class_to_column: Mapping[str, str],
    decisions: Sequence[ColumnSample],
    kind: str | None,
) -> Proposal:
    """The proposal for a column of probabilities per class: of two classes one of which is named as
    positive, its column is the score. kind: of the outcomes, as the user wants it.
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
    """The columns that hold predicted classes: labels, under the name of a prediction, of a model
    or of a system that the user names.
    """
    named = [*table.named("predicted"), *decided_by_models(table)]
    named += [column for column in table.columns if column.name in table.systems]
    candidates = [column for column in table.columns if column in named or column.says_prediction]
    return [column for column in candidates if column.labels and column.labels <= label.labels]


def decided(roles: Roles, label: ColumnSample, decisions: Sequence[ColumnSample]) -> Proposal:
    """The proposal for predicted classes; 0 and 1 are decisions for the positive of two classes."""
    is_flag = label.labels <= {"0", "1"}
    role, kind = ("score", "binary") if is_flag else ("predicted", "multi-class")
    if roles.table.systems and {*roles.table.systems} <= {column.name for column in decisions}:
        predictions: Predictions = {name: {role: name} for name in roles.table.systems}
    elif by_word := by_affix(role, decisions):
        predictions = by_word
    elif len(decisions) > 1 and sum(not column.names_model for column in decisions) < 2:
        predictions = predictions_by_system(role, [column.name for column in decisions])
    else:
        predictions = roles.take_prediction(role, decisions)
    return roles.proposal(predictions, kind)


def rating(table: SampledTable, interval_level: float | None = None) -> Proposal:
    """The actual values and the forecasts, with the distributions that all systems state. Owners of
    distributions are the systems only if nothing else is a forecast.

    interval_level: as in `distributions`.
    """
    if levels_in_rows(table):
        return Proposal("rating", lacking=["one column per quantile"])
    found = distributions([column.name for column in table.columns], interval_level)
    found |= draws_around_their_centre(table)
    points = without_distributions(table, found)
    proposal = point_rating(points)
    if not found:
        return proposal
    owners = [column.name for column in points.numeric if system_key(column.name) in found]
    if names_forecasts(points) or (owners and proposal.is_complete):
        return with_distributions(table, proposal, found)
    if owners and not table.systems:
        # columns that fit as well as an owner may be further systems
        if {name for names in proposal.unclear.values() for name in names} <= {*owners}:
            proposal = point_rating(replace(points, systems=owners))
        return with_distributions(table, proposal, found)
    by_system = {columns.system: columns.point for columns in found.values() if columns.point}
    named = [name for name in table.systems or by_system if name in by_system]
    if "" in found and not (table.systems and len(named) == len(table.systems)):
        return of_only_system(table, found)
    if len(named) < len(table.systems) or not named:
        return with_distributions(table, proposal, found)
    medians = [by_system[name] for name in named]
    if proposal.is_complete and not table.systems:
        others = [
            column for columns in proposal.predictions.values() for column in columns.values()
        ]
        return replace(proposal, predictions={}, unclear={"systems": [*medians, *others]})
    shown = without_distributions(table, found, medians)
    proposal = point_rating(replace(shown, systems=medians))
    predictions: Predictions = {
        name: proposal.predictions[median]
        for name, median in zip(named, medians, strict=True)
        if median in proposal.predictions
    }
    return with_distributions(table, replace(proposal, predictions=predictions), found)


def levels_in_rows(table: SampledTable) -> str:
    """The column that says of each row which quantile it holds; "" without one, or if the user says
    what it is.
    """
    for column in table.columns:
        name = column.snake_case_name
        is_chosen = column.name in table.chosen.values()
        if is_chosen or name not in usual("distributions")["levels"]:
            continue
        says_level = name in ("quantile_level", "output_type_id")  # others may be any number
        numbers = {float(text) for text in {*column.texts} if is_number(text)}
        levels = {number for number in numbers if 0 < number < (100 if says_level else 1)}
        repeats = says_level or 2 * len(levels) <= len(column.cells)
        if len(levels) > 1 and repeats and (says_level or levels == numbers):
            return column.name
    return ""


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
    """True if the name of a column says that it is a point forecast, or the user does; that of a
    model says so too. points: the columns that state no distribution.
    """
    if "forecast" in points.chosen or points.named("forecast"):
        return True
    names = {column.name for column in points.columns}
    if points.systems:
        return {*points.systems} <= names
    return any(column.says_prediction or column.is_model for column in points.numeric)


def without_distributions(
    table: SampledTable, found: Mapping[str, DistributionColumns], points: Sequence[str] = ()
) -> SampledTable:
    """The table without the columns that state distributions, or a level of one, but those that the
    user names or that are point forecasts. points: the latter.
    """
    stated = {name for columns in found.values() for name in columns.columns}
    names = [column.name for column in table.columns]
    stated |= leveled(names)
    stated -= {columns.point for columns in found.values() if is_ensemble(columns.roles)}
    # bounds are no forecasts either where their level is not stated: any will do here
    for columns in distributions(names, interval_level=PROPHET).values():
        stated |= columns.columns - {columns.point}
    stated -= {*table.chosen.values(), *table.systems, *points}
    return table.without([column for column in table.columns if column.name in stated])


def of_only_system(table: SampledTable, found: Mapping[str, DistributionColumns]) -> Proposal:
    """The proposal for a distribution whose columns name no system, and that no point forecast
    stands beside: that is its mean or median; draws have theirs once they are read.
    """
    columns = found[""]
    point = columns.point
    if not point and is_ensemble(columns.roles):
        point = next(iter(columns.roles.values()))  # stands for their median, which is no column
    if not point:
        return with_distributions(table, point_rating(without_distributions(table, found)), found)
    chosen = {**table.chosen, "forecast": point}
    shown = without_distributions(table, found, [point])
    proposal = point_rating(replace(shown, chosen=chosen))
    proposal = with_distributions(table, proposal, found)
    if not columns.point and proposal.predictions:
        return replace(proposal, predictions={ONLY_SYSTEM: columns.roles})
    return proposal


def with_distributions(
    table: SampledTable, proposal: Proposal, found: Mapping[str, DistributionColumns]
) -> Proposal:
    """The proposal with the columns of distributions that every system has, by their roles: at
    least two quantiles or draws, or a standard deviation, which fit the forecasts.
    """
    by_name = {column.name: column for column in table.columns}
    is_alone = len(proposal.predictions) == 1
    by_system: dict[str | None, Mapping[str, str]] = {}
    for system, columns in proposal.predictions.items():
        possible = distributions_of(system, columns["forecast"], found, is_alone=is_alone)
        forecast = by_name.get(columns["forecast"])
        fits = bool(possible) and forecast is not None
        by_system[system] = {}
        if fits and forecast is not None and states(possible[0], by_name, forecast):
            by_system[system] = possible[0].roles
    every = [*by_system.values()]
    shared = [role for role in every[0] if all(role in roles for roles in every)] if every else []
    if not is_stated_by(shared):
        return proposal
    predictions = {
        system: {**columns, **{role: by_system[system][role] for role in shared}}
        for system, columns in proposal.predictions.items()
    }
    return replace(proposal, predictions=predictions)


def distributions_of(
    system: str | None,
    forecast: str,
    found: Mapping[str, DistributionColumns],
    *,
    is_alone: bool,
) -> list[DistributionColumns]:
    """The distributions that may be those of a system, the likeliest first. forecast: its column.
    is_alone: True if there is no other system, so that columns need not name it.
    """
    keys = [system_key(system or ""), system_key(forecast), ""]
    return [found[key] for key in keys if key in found and (key or is_alone)]


def states(
    distribution: DistributionColumns, by_name: Mapping[str, ColumnSample], forecast: ColumnSample
) -> bool:
    """True if columns state the distribution of forecasts by their cells: of at least half of the
    rows the forecast lies within them, widened by their width at either end, or within one standard
    deviation of the mean, and the centre rises and falls with the forecasts. Standard deviations
    are hardly negative, and of two columns with one role both say the same.
    """
    for names in distribution.rivals.values():
        if any(by_name[name].cells != by_name[names[0]].cells for name in names):
            return False
    by_role = {role: by_name[name] for role, name in distribution.roles.items()}
    if forecast.numbers is None or any(column.numbers is None for column in by_role.values()):
        return True  # reading refuses the cells that are no numbers
    deviations = by_role[DEVIATION].finite if DEVIATION in by_role else np.zeros(1)
    if (deviations < 0).sum() > UNREADABLE * len(deviations):
        return False
    cells = np.array([forecast.numbers, *(column.numbers for column in by_role.values())], float)
    forecasts, *stated = cells[:, np.isfinite(cells).all(axis=0)]
    numbers = dict(zip(by_role, stated, strict=True))
    with np.errstate(over="ignore", invalid="ignore"):
        if DEVIATION in numbers:
            centre = numbers.get(MEAN, forecasts)
            low, high = centre, centre
            width = np.abs(numbers[DEVIATION])
        else:
            low, high = np.min(stated, axis=0), np.max(stated, axis=0)
            centre, width = np.mean(stated, axis=0), high - low
        is_inside = (low - width <= forecasts) & (forecasts <= high + width)
        if is_inside.sum() < HALF * len(forecasts):
            return False
        if len(forecasts) <= FEW or centre.std() == 0 or forecasts.std() == 0:
            return True
        return not np.corrcoef(centre, forecasts)[0, 1] < CORRELATED


def point_rating(table: SampledTable) -> Proposal:
    """The actual values and the forecasts, without distributions."""
    roles = Roles("rating", table)
    roles.take_id_system_and_weight()
    actual_is_named = bool(roles.table.named("actual"))  # while it is still in the table
    actual = roles.take("actual", actual_candidates(roles.table), actual_guesses(roles.table))
    if actual is None:
        return roles.proposal({})
    if actual.labels <= {"0", "1"}:
        roles.lacking.append("actual")  # two classes are no numbers to forecast
    near = [column for column in roles.table.numeric if is_near(actual, column)]
    models = [column for column in near if column.is_model]
    fitting = [column for column in near if column in models or is_forecast(actual, column)]
    says_prediction = bool(roles.table.named("forecast")) or any(
        column.says_prediction for column in fitting
    )
    rivals = rivals_of(models, fitting, partial(skill, actual)) if models else fitting
    has_features = len(roles.table.numeric) > len(fitting)
    if has_features:
        fitting = rivals
    predictions = predictions_of(roles, "forecast", fitting, any_name=actual_is_named)
    others = [column for column in fitting if column not in models]
    is_unclear = len(near) > len(fitting)
    if models:
        is_unclear = bool(others) and (has_features or len(rivals) < len(fitting))
    if is_unclear and not says_prediction:
        note_guesses(roles, predictions, fitting)
    return roles.proposal(predictions)


def rivals_of(
    models: Sequence[ColumnSample],
    fitting: Sequence[ColumnSample],
    skill_of: Callable[[ColumnSample], float],
) -> list[ColumnSample]:
    """The columns of models, and of others those about as near to what is predicted as the worst of
    these: a feature may be correlated with it, but is hardly as near.
    """
    worst = min(map(skill_of, models))
    least = max(0, 1 - RIVAL * (1 - worst))
    return [column for column in fitting if column in models or skill_of(column) > least]


def validation(table: SampledTable) -> Proposal:
    """The label or the actual values, the scores and the folds."""
    roles = Roles("validation", table)
    # there may be hundreds of holdouts
    roles.take("fold", roles.table.exact("fold") or roles.table.named("fold"))
    for role in ("group", "time", "repeat"):
        roles.take_if_any(role, roles.table.exact(role))
    roles.take_if_any("id", roles.table.named("id"))  # several folds may test it
    chosen = dict(table.chosen)
    if "label" in chosen:
        chosen["actual"] = chosen["label"]  # as the rating report calls what is predicted
    rest = replace(roles.table, chosen=chosen)
    outcomes = classification(rest)
    predictions = outcomes.predictions
    if not (outcomes.is_complete and outcomes.kind == "binary"):
        outcomes = point_rating(rest)
        forecasts = outcomes.predictions.items()
        predictions = {name: {"score": columns["forecast"]} for name, columns in forecasts}
    columns = {**roles.columns, **outcomes.columns}
    if "actual" in columns:
        columns["label"] = columns.pop("actual")
    columns.pop("weight", None)  # which this report does not take
    columns.pop("forecast", None)  # which it takes as the score
    return Proposal(
        "validation",
        columns,
        predictions,
        {**roles.unclear, **outcomes.unclear},
        [*roles.lacking, *outcomes.lacking],
    )


def ranking(table: SampledTable, *, graded: bool = True) -> Proposal:
    """Queries and their items with grades, ordered by the scores of systems or by a rank. graded:
    the table holds the judgements too.
    """
    roles = Roles("ranking", table)
    systems = roles.table.named("system")
    query = roles.take("query", roles.table.named("query"))
    item = roles.take("item", roles.table.named("item"))
    if query is None or item is None:
        return roles.proposal({})
    if not are_distinct(query, item):
        systems = systems or [
            column for column in roles.table.texts if are_distinct(column, query, item)
        ]
    roles.take_if_any("system", systems)
    rank = roles.table.named("rank")
    if graded:
        grades = roles.table.named("grade")
        rest = [column for column in roles.table.numeric if column not in rank]
        low = [column for column in rest if column.is_whole and column.finite.min() >= 0]
        roles.take(
            "grade", grades or [column for column in low if column.finite.max() <= MOST_GRADES]
        )
    roles.table = roles.table.without(rank)
    scores = [] if rank else roles.table.numeric
    # the query and the item say that this is a ranked list, so that scores need no name
    predictions = predictions_of(roles, "score", scores, any_name=True)
    if "score" in roles.lacking and len(rank) == 1:
        roles.lacking.remove("score")  # the rank alone orders the items
        predictions = {ONLY_SYSTEM: {"rank": rank[0].name}}
    return roles.proposal(predictions)


def judgements(table: SampledTable) -> Proposal:
    """The relevant items of queries: with grades, or, if no other column could hold them, without,
    as held-out items are.
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
    splits, of which only one was held out.
    """
    free = [column for column in table.columns if not column.is_bookkeeping]
    splits = [column for column in table.columns if "split" in uses_of(column.name)]
    several = [column for column in splits if len(column.labels) > 1 and column not in free]
    numbers = [column for column in free if column.numbers is not None or column in table.texts]
    return numbers + several


def users(table: SampledTable) -> Proposal:
    """The users of an A/B test and their arms; what they did is no answer to a prediction."""
    roles = Roles("interleaving", table)
    arm = roles.take("arm", roles.table.named("arm"))
    roles.take_if_any("user", roles.table.named("user"))
    counts = [column.finite for column in roles.table.columns if column.snake_case_name in TRIALS]
    is_of_totals = any(len(numbers) and numbers.min() >= TOTALS for numbers in counts)
    is_of_totals |= arm is not None and any(
        is_crossed(column, arm) for column in roles.table.columns if column.words & DATES
    )
    if is_of_totals and "user" not in roles.columns:
        roles.lacking.append("users behind totals")
    is_test = arm is not None and ("user" in roles.columns or control_of(arm.labels) is not None)
    if not is_test or any(column.snake_case_name in ANSWERS for column in table.columns):
        roles.lacking.append("users")
    numbers = [column for column in roles.table.columns if column.measures_users]
    flags = [column.name for column in numbers if column.labels <= {"0", "1", "false", "true"}]
    names = [*flags[:1], *(column.name for column in numbers)]
    return replace(roles.proposal({}), metrics=tuple(dict.fromkeys(names)))


# The closest report first: where people, items or folds are named, the outcomes are theirs.
REPORTS: Mapping[str, Callable[[SampledTable], Proposal]] = {
    "interleaving": users,
    "ranking": ranking,
    "validation": validation,
    "classification": classification,
    "rating": rating,
}


class Way(NamedTuple):
    """A way to read a part: a complete proposal, and what a command must say for it.

    ambiguity: why it must say so, as a refusal says it; "" if nothing must be said.
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


def ways(part: InputPart) -> list[Way]:
    """The ways to read a part: the closest report first, and those that need a choice last."""
    table = SampledTable.of(part, {})
    found = []
    for propose in REPORTS.values():
        first = propose(table)
        for choice in first.choices:
            chosen = propose(SampledTable.of(part, choice.columns, choice.systems))
            for systems in chosen.choices:
                both = Choice(choice.columns, systems.systems or choice.systems)
                complete = propose(SampledTable.of(part, both.columns, both.systems))
                if complete.is_complete:
                    found.append(Way(complete, both, first.ambiguity))
    # ratings that have forecasts are no grades of a ranked list, unless the table has ranks
    if any(way.forecasts_ratings for way in found) and not table.named("rank"):
        found.sort(key=lambda way: way.proposal.report == "ranking")
    return sorted(found, key=lambda way: way.needs_choice)
