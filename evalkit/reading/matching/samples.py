"""The first rows of a part, column by column: what a column may hold by its name and cells."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from evalkit.arrays import Floats
from evalkit.names import usual
from evalkit.reading.matching.column_names import (
    NAMES,
    PREDICTION_WORDS,
    is_bookkeeping,
    is_like,
    says_prediction,
    snake_case,
    uses_of,
)
from evalkit.reading.tables.columns import facts
from evalkit.reading.tables.frames import canonical_label
from evalkit.reading.tables.parts import STRETCHES, InputPart

MOST_CLASSES = 50
FEW = 6  # arms of a test, or rows that may be numbered by chance
TRUTH = {"true": 1.0, "false": 0.0}
NO_NUMBER = "nan"
READABLE = 0.9  # of the cells, from which on a column holds numbers, and the others are errors
AFFIRMATIVE = (("no", "yes"), ("n", "y"))
# pairs of labels of which everybody takes the second for the positive one
POSITIVE_OF = {
    frozenset(("0", "1")): "1",
    frozenset(("-1", "1")): "1",
    frozenset(("false", "true")): "true",
} | {
    frozenset((written_as(negative), written_as(positive))): written_as(positive)
    for negative, positive in AFFIRMATIVE
    for written_as in (str.lower, str.capitalize, str.upper)
}
ANSWER_WORDS = frozenset(("actual", "gold", "obs", "observed", "true", "truth"))
ANSWERS = frozenset(facts("roles")["label"]["usual"].split()) | {"y_true", "target", "label"}
# the words of predictions that columns of values per unit never have; these may have score
PREDICTED = frozenset(usual("predictions")["plain"])
FORECASTERS = frozenset(usual("systems")["forecasters"])
MODELS = FORECASTERS | set(usual("systems")["models"])
QUALITIES = frozenset(usual("systems")["qualities"])  # words beside those of models
PLAIN_ANSWERS = ANSWER_WORDS | {"label", "outcome", "target", "y"}
ACTUALS = frozenset(facts("roles")["actual"]["usual"].split())
P_VALUES = frozenset(usual("tests")["p_values"])
WORDS_OF_TESTS = frozenset(usual("tests")["words"])  # of what stands beside p-values
BEFORE = frozenset(usual("bookkeeping")["before"])  # words for values from before a test
NO_METRICS = {"id", "place", "time_or_weight", "draw", "split", "unit"}  # uses of columns


def _number(text: str) -> float:
    """The number that a cell holds, 1 and 0 for true and false; NaN for other texts."""
    try:
        return TRUTH[text] if text in TRUTH else float(text)
    except ValueError:
        return np.nan


@dataclass(frozen=True, eq=False)
class ColumnSample:
    """The first cells of a column, None where a cell is empty."""

    name: str
    cells: Sequence[str | None]

    @cached_property
    def snake_case_name(self) -> str:
        """The name in small letters, with underscores between its words."""
        return snake_case(self.name)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the name."""
        return frozenset(self.snake_case_name.split("_"))

    @cached_property
    def texts(self) -> list[str]:
        """The cells that are not empty."""
        return [cell for cell in self.cells if cell is not None]

    @cached_property
    def labels(self) -> frozenset[str]:
        """The distinct texts, with labels such as 1 and 1.0 as one."""
        return frozenset(map(canonical_label, set(self.texts)))

    @cached_property
    def numbers(self) -> Floats | None:
        """The cells as numbers, NaN where a cell is empty or holds none; None if too many hold
        none.
        """
        cells = [NO_NUMBER if cell is None else cell for cell in self.cells]
        try:
            numbers = np.array([float(cell) for cell in cells])
        except ValueError:
            numbers = np.array([_number(cell) for cell in cells])
        readable = np.isfinite(numbers).sum()
        if readable == 0 or readable < READABLE * len(self.texts):
            return None
        return numbers

    @cached_property
    def finite(self) -> Floats:
        """The numbers without NaN and infinities; empty if the column holds no numbers."""
        if self.numbers is None:
            return np.array([])
        finite: Floats = self.numbers[np.isfinite(self.numbers)]
        return finite

    @property
    def is_whole(self) -> bool:
        """True for whole numbers alone."""
        return bool(len(self.finite)) and bool((self.finite == np.rint(self.finite)).all())

    @property
    def is_fraction(self) -> bool:
        """True for numbers of which some are not whole."""
        return self.numbers is not None and not self.is_whole

    @property
    def is_flag(self) -> bool:
        """True if the cells say yes or no."""
        return any(self.labels <= pair for pair in POSITIVE_OF)

    @property
    def says_truth(self) -> bool:
        """True if the cells are true or false."""
        return self.labels <= set(TRUTH)

    @property
    def is_share(self) -> bool:
        """True for numbers of 0 to 1 that are not all 0 and 1."""
        inside = bool(len(self.finite)) and self.finite.min() >= 0 and self.finite.max() <= 1
        return inside and not self.is_whole

    @property
    def is_distinct(self) -> bool:
        """True if no cell is empty and all differ."""
        return len(set(self.texts)) == len(self.cells)

    @cached_property
    def is_bookkeeping(self) -> bool:
        """True for what describes rows or predictions: an id, a bound, a quantile, a date."""
        # p and lr also name bookkeeping
        may_predict = self.snake_case_name in PREDICTION_WORDS or (
            self.names_model and not self.is_setting
        )
        return self.numbers_rows or (not may_predict and is_bookkeeping(self.name))

    @property
    def is_setting(self) -> bool:
        """True for few different fractions, as learning rates are."""
        return self.is_fraction and len(self.labels) <= FEW

    @property
    def numbers_rows(self) -> bool:
        """True for whole numbers that all differ, as the numbers of rows do."""
        return self.is_whole and self.is_distinct and len(self.cells) > FEW

    @property
    def counts_rows(self) -> bool:
        """True for whole numbers that all differ, as a count of the rows: without a gap but those
        between the stretches of rows that are read.
        """
        gaps = np.diff(np.sort(self.finite)) != 1
        return self.numbers_rows and int(np.count_nonzero(gaps)) <= STRETCHES

    @property
    def says_prediction(self) -> bool:
        """True if a word of the name says that it holds predictions."""
        return says_prediction(self.snake_case_name)

    @property
    def names_forecaster(self) -> bool:
        """True if a word of the name is a model for time series, such as AR9."""
        return any(word.rstrip("0123456789") in FORECASTERS for word in self.words)

    @property
    def names_model(self) -> bool:
        """True if all words of the name are those of models, such as rf or random_forest_2;
        tree_cover is a feature.
        """
        words = {word.rstrip("0123456789") for word in self.words} - {""}
        return bool(words & MODELS) and words <= MODELS | QUALITIES

    @property
    def is_model(self) -> bool:
        """True if the name is that of a model, of time series or of other data."""
        return self.names_model or self.names_forecaster

    @property
    def is_of_predictions(self) -> bool:
        """True if the name plainly says that it holds answers or predictions."""
        is_answer = self.snake_case_name in ANSWERS | ACTUALS and bool(self.words & PLAIN_ANSWERS)
        return is_answer or bool(self.words & PREDICTED)

    @property
    def holds_labels(self) -> bool:
        """True for texts, or at most 50 whole numbers, of which each comes twice on average, unless
        there are only two.
        """
        classes = len(self.labels)
        is_repeated = classes <= 2 or 2 * classes <= len(self.cells)
        are_few = self.numbers is None or classes <= MOST_CLASSES
        return classes > 0 and are_few and is_repeated and not self.is_fraction

    def is_completed_by(self, prediction: "ColumnSample") -> bool:
        """True if the name of the other column is this one with a word of a prediction before or
        after it: churn_score completes is_churn.
        """
        # expected goals are a forecast, other expected things an answer
        if prediction.snake_case_name == f"expected_{self.snake_case_name}":
            return self.is_whole and prediction.is_fraction
        name = self.snake_case_name.removeprefix("is_").removeprefix("has_")
        completed = f"_{prediction.snake_case_name}_"
        added = completed.replace(f"_{name}_", "_", 1)
        return added != completed and not PREDICTION_WORDS.isdisjoint(added.split("_"))

    @property
    def measures_users(self) -> bool:
        """True if each user has a number, and these may be what users did in a test, not what they
        did before it, nor what was predicted of them.
        """
        if self.words & (BEFORE | PREDICTED) or uses_of(self.name) & NO_METRICS:
            return False
        is_complete = len(self.finite) == len(self.cells)
        is_constant = len(set(self.texts)) <= 1
        return is_complete and not is_constant and not self.numbers_rows

    def is_like(self, other: "ColumnSample") -> bool:
        """True if each value goes with one value of the other column, and conversely."""
        pairs = set(zip(self.cells, other.cells, strict=True))
        return len(pairs) == len(set(self.cells)) == len(set(other.cells))


def _ranks(column: ColumnSample) -> bool:
    """True for whole numbers from 1 on."""
    return column.is_whole and bool(column.finite.min() >= 1)


def _repeats(column: ColumnSample) -> bool:
    """True if a text comes twice, or the rows are so few that all may differ."""
    return len(set(column.texts)) < len(column.cells) or len(column.cells) <= FEW


def _grades(column: ColumnSample) -> bool:
    """True for few different numbers; unjudged items have empty cells."""
    return column.numbers is not None and len(column.labels) <= MOST_CLASSES


# `fits` of a role in roles.toml -> what its cells must be
FITS: Mapping[str, Callable[[ColumnSample], bool]] = {
    "arms": lambda column: 2 <= len(column.labels) <= FEW,
    "few": lambda column: 2 <= len(column.labels) <= MOST_CLASSES,
    "grade": _grades,
    "labels": lambda column: column.holds_labels,
    "number": lambda column: column.numbers is not None,
    "rank": _ranks,
    "repeated": _repeats,
    "text": lambda column: bool(column.texts),
}


_samples: WeakKeyDictionary[InputPart, Sequence[ColumnSample]] = WeakKeyDictionary()


def samples_of(part: InputPart) -> Sequence[ColumnSample]:
    """The columns of a part with their first cells, which are read and parsed once per part."""
    if part not in _samples:
        _samples[part] = [ColumnSample(name, cells) for name, cells in part.head.items()]
    return _samples[part]


@dataclass(frozen=True, eq=False)
class SampledTable:
    """The columns of a part that have no role or other use so far, with their first cells.

    chosen: role -> column, as the user names them. systems: those that the user names.
    """

    part: InputPart
    columns: Sequence[ColumnSample]
    chosen: Mapping[str, str]
    systems: Sequence[str] = ()

    @classmethod
    def from_part(
        cls,
        part: InputPart,
        chosen: Mapping[str, str],
        systems: Sequence[str] = (),
        columns_in_use: Collection[str] = (),
    ) -> "SampledTable":
        """The columns of a part without those with another use, and without results of tests and
        settings of a search that the user does not name. columns_in_use: those with another use.
        """
        columns = [column for column in samples_of(part) if column.name not in columns_in_use]
        named = set(chosen.values()).union(systems)
        aside = [*results_of_tests(columns), *settings_of_searches(columns)]
        unnamed = [column for column in aside if column.name not in named]
        return cls(part, columns, chosen, systems).without(unnamed)

    def without(self, columns: Sequence[ColumnSample]) -> "SampledTable":
        """The table without some columns."""
        return replace(self, columns=[column for column in self.columns if column not in columns])

    def exact(self, role: str) -> list[ColumnSample]:
        """The column that the user names for a role, else the one with the role's name; at most
        one.
        """
        name = self.chosen.get(role, role)
        return [column for column in self.columns if column.name == name]

    def named(self, role: str) -> list[ColumnSample]:
        """The columns whose cells fit a role and whose names are the surest for it: the role's own
        name, else one that a report declares for it, else a usual one, else for what is predicted a
        word such as true. If there are several, they fit equally.
        """
        if role in self.chosen:
            return self.exact(role)
        declaration = facts("roles")[role]
        chosen_columns = set(self.chosen.values())
        free = [column for column in self.columns if column.name not in chosen_columns]
        fits = FITS[declaration.get("fits", "text")]
        if by_role := _fitting(free, [role], fits):
            return without_copies(by_role)
        if by_declared := _fitting(free, declaration["names"], fits):
            return by_declared
        if by_usual := _fitting(free, declaration.get("usual", "").split(), fits):
            return without_copies(by_usual)
        if role in ("label", "actual"):
            return [column for column in free if column.words & ANSWER_WORDS and fits(column)]
        return []

    @property
    def texts(self) -> list[ColumnSample]:
        """The columns of texts of which each comes several times."""
        return [column for column in self.columns if column.numbers is None and column.holds_labels]

    @property
    def numeric_columns(self) -> list[ColumnSample]:
        """The columns of numbers that may be predictions: no bookkeeping, and not chosen for a
        role.
        """
        numbers = [column for column in self.columns if column.numbers is not None]
        chosen_columns = set(self.chosen.values())
        return [
            column
            for column in numbers
            if not column.is_bookkeeping and column.name not in chosen_columns
        ]


def _fitting(
    columns: Sequence[ColumnSample], names: Collection[str], fits: Callable[[ColumnSample], bool]
) -> list[ColumnSample]:
    """The columns with one of these names whose cells fit."""
    return [column for column in columns if column.snake_case_name in names and fits(column)]


def without_copies(columns: Sequence[ColumnSample]) -> list[ColumnSample]:
    """The columns without those whose values go with those of the first one, such as texts beside
    their ids. columns: at least one.
    """
    first, *rest = columns
    return [first, *(column for column in rest if not column.is_like(first))]


def results_of_tests(columns: Sequence[ColumnSample]) -> list[ColumnSample]:
    """The columns of p-values, and the estimates and bounds beside them; empty without p-values."""
    p_values = [column for column in columns if column.snake_case_name in P_VALUES]
    if not p_values:
        return []
    return p_values + [column for column in columns if column.words & WORDS_OF_TESTS]


def settings_of_searches(columns: Sequence[ColumnSample]) -> list[ColumnSample]:
    """The columns of parameters of a search, and of the learning rate beside them, which has the
    name of a model, lr.
    """
    parameters = [c for c in columns if is_like(c.snake_case_name, NAMES["parameters"])]
    if not parameters:
        return []
    return parameters + [column for column in columns if column.snake_case_name == "lr"]


SEPARATOR = re.compile(r"([_\-. :/]+)")


def distinct_name_parts(names: Sequence[str]) -> list[str]:
    """The names without the words at the beginning and at the end that all of them share; of a
    single name all of it.

    >>> (
    ...     distinct_name_parts(["prob_logit", "prob_forest"]),
    ...     distinct_name_parts(["lgb_pred", "xgb_pred"]),
    ... )
    (['logit', 'forest'], ['lgb', 'xgb'])
    """
    if len(names) < 2:
        return list(names)
    split_names = [SEPARATOR.split(name) for name in names]  # every second piece is a separator
    removable = min(map(len, split_names)) - 1  # pieces that may be left out, as one must stay
    start = 0
    while start < removable and len({pieces[start] for pieces in split_names}) == 1:
        start += 1
    end = 0
    while end < removable - start and len({pieces[-1 - end] for pieces in split_names}) == 1:
        end += 1
    # a separator is left out only with its word
    start -= start % 2
    end -= end % 2
    return ["".join(pieces[start : len(pieces) - end]) for pieces in split_names]
