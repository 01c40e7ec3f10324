"""The first rows of a part, column by column: what a name and the cells say that a column is."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from evalkit.arrays import Floats
from evalkit.names import usual
from evalkit.reading.matching.column_names import METRICS, is_bookkeeping, snake_case, uses_of
from evalkit.reading.tables.columns import facts
from evalkit.reading.tables.frames import canonical_label
from evalkit.reading.tables.parts import InputPart

MOST_CLASSES = 50
FEW = 6  # arms of a test, or rows that may be numbered by chance
TRUTH = {"true": 1.0, "false": 0.0}
NO_NUMBER = "nan"
READABLE = 0.9  # of the cells, from which on a column holds numbers, and the others are errors
WORDS = frozenset(usual("predictions")["words"])
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
ANSWER_WORDS = frozenset(("actual", "gold", "observed", "true", "truth"))
ANSWERS = frozenset(facts("roles")["label"]["usual"].split()) | {"y_true", "target", "label"}
# words that values per unit have no use for
PREDICTED = frozenset(usual("predictions")["plain"])
FORECASTERS = frozenset(usual("systems")["forecasters"])
MODELS = FORECASTERS | {*usual("systems")["models"]}
QUALITIES = frozenset(usual("systems")["qualities"])  # words beside those of models
PLAIN_ANSWERS = ANSWER_WORDS | {"label", "outcome", "target", "y"}
ACTUALS = frozenset(facts("roles")["actual"]["usual"].split())
BEFORE = frozenset(usual("bookkeeping")["before"])
NO_METRICS = {"id", "place", "time_or_weight", "draw", "split", "unit"}


def _number(text: str) -> float:
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
        """The name as usual names are compared."""
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
        """The distinct texts, each in one form."""
        return frozenset(map(canonical_label, {*self.texts}))

    @cached_property
    def numbers(self) -> Floats | None:
        """The cells as numbers, NaN where a cell is empty; None if they are no numbers."""
        cells = [NO_NUMBER if cell is None else cell for cell in self.cells]
        try:
            numbers = np.array([float(cell) for cell in cells])
        except ValueError:
            numbers = np.array([_number(cell) for cell in cells])
        read = np.isfinite(numbers).sum()
        return numbers if read and read >= READABLE * len(self.texts) else None

    @cached_property
    def finite(self) -> Floats:
        """The numbers without the empty cells."""
        numbers = np.array([]) if self.numbers is None else self.numbers
        finite: Floats = numbers[np.isfinite(numbers)]
        return finite

    @property
    def is_whole(self) -> bool:
        """True for whole numbers alone."""
        return bool(len(self.finite)) and bool((self.finite == np.rint(self.finite)).all())

    @property
    def is_flag(self) -> bool:
        """True if the cells say yes or no."""
        return any(self.labels <= pair for pair in POSITIVE_OF)

    @property
    def is_share(self) -> bool:
        """True for numbers of 0 to 1 that are not all 0 and 1."""
        inside = bool(len(self.finite)) and self.finite.min() >= 0 and self.finite.max() <= 1
        return inside and not self.is_whole

    @property
    def is_distinct(self) -> bool:
        """True if no cell is empty and all differ."""
        return len({*self.texts}) == len(self.cells)

    @cached_property
    def is_bookkeeping(self) -> bool:
        """True for what describes rows or predictions: an id, a bound, a quantile, a date."""
        running = self.is_whole and self.is_distinct and len(self.cells) > FEW
        return running or (self.snake_case_name not in WORDS and is_bookkeeping(self.name))

    @property
    def says_prediction(self) -> bool:
        """True if a word of the name says that it holds predictions; f1_score is a metric."""
        is_metric = self.snake_case_name in METRICS - WORDS
        return bool(self.words & WORDS) and not is_metric

    @property
    def names_forecaster(self) -> bool:
        """True if a word of the name is a model that forecasts a series, such as AR9."""
        return any(word.rstrip("0123456789") in FORECASTERS for word in self.words)

    @property
    def names_model(self) -> bool:
        """True if all words of the name are those of models, such as rf or random_forest_2; a tree
        cover is a feature.
        """
        words = {word.rstrip("0123456789") for word in self.words} - {""}
        return bool(words & MODELS) and words <= MODELS | QUALITIES

    @property
    def is_model(self) -> bool:
        """True if the name is that of a model, also of one that forecasts a series."""
        return self.names_model or self.names_forecaster

    @property
    def is_of_predictions(self) -> bool:
        """True if the name plainly says that it holds answers or predictions."""
        is_answer = self.snake_case_name in ANSWERS | ACTUALS and bool(self.words & PLAIN_ANSWERS)
        return is_answer or bool(self.words & PREDICTED)

    @property
    def holds_labels(self) -> bool:
        """True for texts or whole numbers of which each comes several times."""
        classes = len(self.labels)
        is_repeated = classes <= 2 or 2 * classes <= len(self.cells)
        is_fraction = self.numbers is not None and not self.is_whole
        return 0 < classes <= MOST_CLASSES and is_repeated and not is_fraction

    def is_completed_by(self, other: "ColumnSample") -> bool:
        """True if another name is this one with a word of a prediction before or after it."""
        name = self.snake_case_name.removeprefix("is_").removeprefix("has_")
        rest = f"_{other.snake_case_name}_".replace(f"_{name}_", "_", 1)
        return rest != f"_{other.snake_case_name}_" and bool(WORDS & {*rest.split("_")})

    @property
    def measures_users(self) -> bool:
        """True for numbers of every user that may be what the users did in a test, and are nothing
        of before it.
        """
        if self.words & BEFORE or uses_of(self.name) & NO_METRICS:
            return False
        complete = len(self.finite) == len(self.cells) and len({*self.texts}) > 1
        running = self.is_whole and self.is_distinct and len(self.cells) > FEW
        return complete and not running

    def is_like(self, other: "ColumnSample") -> bool:
        """True if each value goes with one value of the other column, and conversely."""
        pairs = {*zip(self.cells, other.cells, strict=True)}
        return len(pairs) == len({*self.cells}) == len({*other.cells})


def _ranks(column: ColumnSample) -> bool:
    return column.is_whole and bool(column.finite.min() >= 1)


def _repeats(column: ColumnSample) -> bool:
    """A few rows may all differ."""
    return len({*column.texts}) < len(column.cells) or len(column.cells) <= FEW


def _grades(column: ColumnSample) -> bool:
    """Grades may be empty, which are unjudged items."""
    return column.numbers is not None and len(column.labels) <= MOST_CLASSES


# What the cells of a role must be
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
    """The columns of a part that have no use so far, with their first cells.

    chosen: role -> column, as the user names them. systems: those that the user names.
    """

    part: InputPart
    columns: Sequence[ColumnSample]
    chosen: Mapping[str, str]
    systems: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        part: InputPart,
        chosen: Mapping[str, str],
        systems: Sequence[str] = (),
        used: Collection[str] = (),
    ) -> "SampledTable":
        """The columns of a part but those with another use."""
        columns = [column for column in samples_of(part) if column.name not in used]
        return cls(part, columns, chosen, systems)

    def without(self, columns: Sequence[ColumnSample]) -> "SampledTable":
        """The table without some columns."""
        return replace(self, columns=[column for column in self.columns if column not in columns])

    def exact(self, role: str) -> list[ColumnSample]:
        """The column that the user names for a role, else the one of its name."""
        name = self.chosen.get(role, role)
        return [column for column in self.columns if column.name == name]

    def named(self, role: str) -> list[ColumnSample]:
        """The columns whose cells fit a role and whose names are the surest for it: the role's own
        name, else those that a report declares for it, else a usual one, else for what is
        predicted a word such as true. Several of them fit equally.
        """
        if role in self.chosen:
            return self.exact(role)
        about = facts("roles")[role]
        others = {*self.chosen.values()}
        free = [column for column in self.columns if column.name not in others]
        fits = FITS[about.get("fits", "text")]

        def fitting(names: Collection[str]) -> list[ColumnSample]:
            """The columns of these names whose cells fit."""
            return [column for column in free if column.snake_case_name in names and fits(column)]

        if by_role := fitting([role]):
            return without_copies(by_role)
        if by_declared := fitting(about["names"]):
            return by_declared
        if by_usual := fitting(about.get("usual", "").split()):
            return without_copies(by_usual)
        if role in ("label", "actual"):
            return [column for column in free if column.words & ANSWER_WORDS and fits(column)]
        return []

    @property
    def texts(self) -> list[ColumnSample]:
        """The columns of texts of which each comes several times."""
        return [column for column in self.columns if column.numbers is None and column.holds_labels]

    @property
    def numeric(self) -> list[ColumnSample]:
        """The columns of numbers that may be predictions."""
        numbers = [column for column in self.columns if column.numbers is not None]
        others = {*self.chosen.values()}
        return [
            column for column in numbers if not column.is_bookkeeping and column.name not in others
        ]


def without_copies(columns: Sequence[ColumnSample]) -> list[ColumnSample]:
    """The columns without those that say the same as the first one, such as ids beside texts."""
    first, *rest = columns
    return [first, *(column for column in rest if not column.is_like(first))]


SEPARATOR = re.compile(r"([_\-. :/]+)")


def differing(names: Sequence[str]) -> list[str]:
    """The names without the words that all begin or end with.

    >>> differing(["prob_logit", "prob_forest"]), differing(["lgb_pred", "xgb_pred"])
    (['logit', 'forest'], ['lgb', 'xgb'])
    """
    if len(names) < 2:
        return [*names]
    words = [SEPARATOR.split(name) for name in names]
    shortest = min(map(len, words)) - 1
    start = stop = 0
    while start < shortest and len({name[start] for name in words}) == 1:
        start += 1
    while stop < shortest - start and len({name[-1 - stop] for name in words}) == 1:
        stop += 1
    start -= start % 2
    stop -= stop % 2
    return ["".join(name[start : len(name) - stop]) for name in words]
