"""What each column of a table of unit values is: a system, the value, what the unit is called, a draw, or none of them.

Names decide first (a column `seed` is no system), then the cells: a column that mostly holds numbers is one of numbers,
and a cell of text in it is an error and never a reason to drop the column.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Literal

import numpy as np

from evalkit.arrays import Floats, InputError, Ints
from evalkit.catalogue import lookup
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import formats
from evalkit.reading.tables.parts import Part, at

_NOUNS = ("query", "question", "prompt", "example", "instance", "task", "problem", "item", "doc", "document", "topic")
_PEOPLE = ("user", "subject", "patient", "participant")
_SYSTEMS = roles_of.SYNONYMS["system"]
_FOLDS, _REPEATS = ("fold", "split"), ("repeat", "repetition", "rep", "seed", "run", "trial", "iteration")
MISSING = ("n/a", "na", "#n/a", "nan", "null", "none", "-", "--", "–", ".", "?", "missing", "inf", "-inf")
TRUTH = {"true": 1.0, "false": 0.0}
MAKERS = ("team", "submission", "competitor", "contestant")  # who has one value in a table of results
SHOWN = 3  # wrong cells that a message lists
_DIGIT = "[0-9٠-٩۰-۹०-९０-９]"
_ONE = rf"[-+−]?({_DIGIT}({_DIGIT}|[ '])*([.,٫٬]{_DIGIT}*)*|[.,]{_DIGIT}+)(e[-+]?{_DIGIT}+)?"
LOOKS = rf"^[<>~≈=$€£*]* *{_ONE} *(%|ms|s|sec|min|€|[$]|£)? *([*†‡§↑↓]+|(±|[+]/?-) *{_ONE} *%?|[(\[][^()]*[)\]])* *$"
_ID = re.compile(r"(.*_)?(id|ids|no|nr|number|idx|index)|qid|uid|docno|unnamed: ?\d+|level_\d+|column \d+")


class Use(Enum):
    """What a column can be by its name: the usual names as `key` gives them, the surest first."""

    UNIT = ("unit", *(name for noun in (*_NOUNS, *_PEOPLE) for name in (noun, f"{noun}_id")), "qid", "id", "fold")
    SYSTEM = (
        *_SYSTEMS,
        *(f"{name}_{what}" for name in _SYSTEMS for what in ("id", "name")),
        *("method", "algorithm", "variant", "arm"),
    )
    METRIC = ("metric", "measure", "metric_name")
    VALUE = (
        *("value", "score", "correct", "is_correct", "accuracy", "metric_value", "exact_match", "f1", "reward"),
        "result",
    )
    FOLD = _FOLDS
    REPEAT = _REPEATS
    DRAW = (*_FOLDS, *_REPEATS, "sample", "draw", "attempt", "replicate", "epoch")
    DRAWN_AGAIN = (
        *("seed", "trial", "iteration", "iter", "replicate", "draw", "random_state", "repeat_id", "cv", "cv_run"),
    )
    PLACE = ("rank", "position", "pos", "index", "idx", "row", "row_number", "number", "num", "no", "id")
    TRUTH = ("label", "y_true", "target", "gold", "ground_truth")
    TIME_OR_WEIGHT = ("timestamp", "year", *roles_of.SYNONYMS["weight"])


_NO_VALUE = {Use.DRAW, Use.PLACE, Use.TIME_OR_WEIGHT, Use.UNIT}


Kind = Literal["numbers", "text", "empty"]


@dataclass(frozen=True, eq=False)
class Column(ABC):
    """One column of all parts: what its name says, and what its cells hold. of: the `Cells` of all columns."""

    name: str
    of: Any

    @property
    def parts(self) -> Sequence[Part]:
        """The parts of the table."""
        return self.of.parts

    @property
    def key(self) -> str:
        """The name as it is compared: lower case, words joined by underscores."""
        return key(self.name)

    @cached_property
    def uses(self) -> frozenset[Use]:
        """All that it can be by its name."""
        return frozenset(use for use in Use if self.key in use.value)

    @property
    @abstractmethod
    def clean(self) -> bool:
        """Whether every cell that is not empty is a number."""

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """What the cells hold. Numbers with a few cells of text, which are faults, are numbers."""

    @cached_property
    def distinct(self) -> bool:
        """Whether all cells differ."""
        return bool(self.of.distinct([self]) == self.of.rows)

    @abstractmethod
    def first(self, pattern: str) -> tuple[Part, int, str] | None:
        """Part, row and cell of the first cell that matches, in lower case and without spaces around it."""

    @abstractmethod
    def sample(self) -> Floats:
        """Numbers of its first rows; none where cells are text."""

    @property
    def identifies(self) -> bool:
        """Whether its name is that of an id or a running number."""
        return identifies(self.name)

    @property
    def draws(self) -> bool:
        """Whether its name says that it counts repetitions."""
        return Use.DRAW in self.uses

    @property
    def no_value(self) -> bool:
        """Whether its name says that it is an id, a repetition, a rank, a position, a time or a weight."""
        return bool(self.uses & _NO_VALUE) or self.identifies

    @property
    def groups(self) -> bool:
        """Whether its values can be groups within which units are numbered anew: text, or ids of something else."""
        named = Use.UNIT in self.uses or self.identifies
        return self.kind != "empty" and not self.draws and (named or (self.kind == "text" and not self.no_value))


def kind_of(present: int, numbers: int, marks: int, *, clean: bool) -> Kind:
    """What cells hold. present: those that are not empty. numbers: meant as such. marks: of missing values."""
    if clean:
        return "numbers"
    if not present:
        return "empty"
    return "numbers" if numbers and 2 * numbers + marks >= present else "text"


def no_numbers(column: str, wrong: Sequence[tuple[Part, int, str]], several: int) -> InputError:
    """The error for cells of text in a column of numbers. wrong: part, row and text of the first; several: of all.

    Those of another file than the first are counted.
    """
    first = wrong[0][0]
    same = [f"{cell!r}{f' (row {row:,})' if row else ''}" for part, row, cell in wrong if part is first]
    more = f" and {several - len(same):,} more" if several > len(same) else ""
    return InputError(
        f"{first.name}: {column} must hold numbers, got {', '.join(same)}{more}; leave a cell empty where there is no "
        "value and write a decimal point and no marks, or name the columns to compare: systems='a,b'"
    )


def key(name: str) -> str:
    """A name as it is compared.

    >>> key(" Question ID"), key("questionId")
    ('question_id', 'question_id')
    """
    apart = re.sub(r"(?<=[a-z])(?=I[dD]$)", "_", name.strip()).lower()
    return apart if apart.startswith(("unnamed", "column")) else re.sub(r"[ _-]+", "_", apart)


def identifies(name: str) -> bool:
    """Whether a name is that of an id or a running number.

    >>> identifies("question_id"), identifies("Unnamed: 0"), identifies("grid")
    (True, True, False)
    """
    return bool(_ID.fullmatch(key(name)))


def looks_like_number(cell: str) -> bool:
    """Whether a cell is meant as a number, be it one that cannot be read.

    >>> [looks_like_number(cell) for cell in ("0.5", "0,5", "85 %", "1e-3", "true", "q1", "n/a")]
    [True, True, True, True, True, False, False]
    >>> [looks_like_number(cell) for cell in ("0.77**", "0.81±0.02", "0.81 (0.02)", "12 ms", "0.7 [0.6, 0.8]", "3b")]
    [True, True, True, True, True, False]
    """
    plain = cell.strip().lower()
    return bool(re.search(LOOKS, plain)) or plain in TRUTH


def means(cell: Ints, values: Floats, cells: int) -> tuple[Floats, Ints]:
    """The mean of the values of each cell that are not NaN, and how many rows each has; in no order of the rows.

    >>> means(np.array([0, 2, 0]), np.array([1.0, 5.0, 2.0]), 3)
    (array([1.5, nan, 5. ]), array([2, 0, 1]))
    """
    rows = np.bincount(cell, minlength=cells).astype(np.int64)
    keep = np.flatnonzero(~np.isnan(values))
    order = keep[np.lexsort([values[keep], cell[keep]])]
    sums = np.bincount(cell[order], weights=values[order], minlength=cells)
    counts = np.bincount(cell[order], minlength=cells)
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, sums / counts, np.nan), rows


# Tables that could be meant in two ways, refused ----------------------------------------------------------------------

SUMMARIES = ("all", "overall", "macro", "summary", "amean")
TOLERANCE = 1e-3  # of a mean that was rounded to a few digits
_METRICS = {
    *(
        *lookup.ALIASES,
        "acc",
        "loss",
        "score",
        "f1_score",
        "support",
        "bleu",
        "rouge",
        "rouge1",
        "rouge2",
        "rougel",
        "chrf",
    ),
    *("meteor", "wer", "cer", "perplexity", "bertscore", "faithfulness", "relevancy", "correctness", "toxicity"),
}
_SIDE = re.compile(rf"({'|'.join(Use.SYSTEM.value)})_?(a|b|1|2|left|right|first|second)")


def refuse_other_units(
    rest: Sequence[Column], cell: Sequence[Column], cells: int, unit: str, alone: int | None = None
) -> None:
    """Raises InputError where rows of one unit are told apart by columns of few texts, and none counts draws.

    Question 3 of one data set is another question than question 3 of the next, and no draw of it.
    rest: columns without another role. cell: those that tell unit, system and metric. cells: how many systems and
    metrics there are. alone: how many differ in these, where it is known.
    """
    of: Any = cell[0].of
    if any(column.draws for column in rest) or not (groups := [column for column in rest if column.groups]):
        return
    alone = of.distinct(cell) if alone is None else alone
    if alone == of.rows:
        return
    few = [column for column in groups if 2 * of.distinct([column]) * cells <= of.rows]
    apart = [column for column in few if of.distinct([*cell, column]) > alone]
    if apart and of.distinct([*cell, *apart]) == of.rows:
        raise other_units([column.name for column in apart], unit, of.parts[0].name)


def other_units(columns: Sequence[str], unit: str, where: str) -> InputError:
    """The error for rows of one unit that columns of few texts tell apart."""
    names = " and ".join(map(repr, columns))
    return InputError(
        f"{where}: rows of one {unit} differ in {names}: if they are draws of one {unit}, set "
        f"columns='unit={unit}'; if {names} names the metric, set columns='metric={columns[0]}'; if each {unit} is "
        f"another one there, set unit={columns[0]} to compare by these, or write both into one column"
    )


def refuse_totals(units: Sequence[Column]) -> None:
    """Raise InputError for a row whose unit is called as a statistic of the others: Total, Durchschnitt, std, 25%."""
    for column in units:
        if total := column.first(roles_of.SUMMARY):
            part, row, cell = total
            raise InputError(
                f"{part.name}: {column.name} must name a unit in each row, got {cell!r}{at(row)}, which summarises the "
                "others; remove such rows, or rename the unit"
            )


def leaderboard(column: str, where: str) -> InputError:
    """The error for a table with one row a system."""
    return InputError(
        f"{where}: each row is another {column}, so that no two have a value of one unit; a test needs a value for "
        "each unit and system, not one for each system; name the columns to compare: systems='a,b'"
    )


def refuse_other_rows(column: Column, measured: Sequence[Column], where: str) -> None:
    """Raise InputError where what tells rows apart is no unit by its name: a metric, or who made the one value."""
    if Use.METRIC in column.uses:
        raise InputError(
            f"{where}: each row is another {column.name}, and metrics are no units; a test needs a row for each unit"
        )
    if len(measured) == 1 and column.key.startswith(MAKERS):
        raise leaderboard(column.name, where)


def refuse_files(parts: Sequence[Part], most: int, columns: Sequence[Column], unit: str) -> None:
    """Raise InputError where files have the same units, which could be draws or values of systems. most: rows of one.

    columns: those without another role; one of them may count draws.
    """
    files = dict.fromkeys(part.name if part.unnamed else formats.table(part.path).name for part in parts)
    if 1 < most <= len(files) and not any(column.draws for column in columns):
        raise InputError(
            f"{roles_of.listed(files, 3)} have rows of the same {unit}: if each file holds a system, write a column "
            f"'system' into each; if they hold draws, set columns='unit={unit}'"
        )


def refuse_bookkeeping(columns: Sequence[Column], every: Sequence[Column], where: str) -> None:
    """Raise InputError for columns that are plainly no systems, by their names or by what they count.

    every: those included that describe the units or are computed from other columns.
    """
    names_of = [column.name for column in columns]
    measured = {name: measure for name in names_of if (measure := measure_of(name))}
    whole = len(columns) > 1 and any(_without_stage(name) == measure for name, measure in measured.items())
    kinds = [
        ("metrics", [*measured] if whole or len({*measured.values()}) > 1 else []),
        ("columns of a tracker", roles_of.tracked(names_of)),
        ("statistics of others", roles_of.statistics(names_of, [column.name for column in every])),
        *((kind, [column.name]) for column in columns if (kind := roles_of.counted(column.sample()))),
    ]
    for kind, names in kinds:
        if names:
            raise InputError(
                f"{where}: every column of numbers must be a system, got {kind}: {roles_of.listed(names, 5)}; name the "
                "columns to compare: systems='a,b'"
            )


def refuse_counts(columns: Sequence[Column], label: str, where: str) -> None:
    """Raise InputError for columns that are totals of each row by their names: conversions of users."""
    names = {column.key: column.name for column in columns}
    sides = [next((names[key] for key in keys if key in names), "") for keys in roles_of.COUNTED]
    if all(sides):
        successes, trials = sides
        raise InputError(
            f"{where}: {successes!r} and {trials!r} look like totals of each {label}; for shares set "
            f"columns='system={label},successes={successes},trials={trials}', else name the columns to compare: "
            "systems='a,b'"
        )


def measure_of(name: str) -> str:
    """The usual metric that a name has before or after others, the longest; "" if it has none.

    >>> measure_of("test_ndcg@10"), measure_of("bm25_log_loss"), measure_of("acc_norm"), measure_of("bm25")
    ('ndcg', 'log_loss', 'acc', '')
    """
    words = re.sub(r"@.*", "", key(name)).split("_")
    ends = ("_".join(part) for n in range(len(words), 0, -1) for part in (words[:n], words[-n:]))
    return next((part for part in ends if _is_metric(part)), "")


def _without_stage(name: str) -> str:
    return re.sub(r"^(train|test|val|valid|validation|eval)_|@.*", "", key(name))


def _is_metric(name: str) -> bool:
    return len(name) > 1 and (name in _METRICS or any(name in table for table in lookup.TABLES.values()))


def refuse_summaries(ids: Any, columns: Sequence[Floats], unit: str, where: str) -> None:
    """Raises InputError for a unit called `all` or `macro` whose values are the means of the others. ids: of Arrow."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.utf8_lower(pc.utf8_trim_whitespace(ids))
    named = pc.is_in(plain, value_set=pa.array(SUMMARIES, plain.type)).to_numpy(zero_copy_only=False)
    for place in np.flatnonzero(named) if len(ids) > 2 else ():
        others = [np.delete(column, place) for column in columns]
        means = np.array([np.nanmean(some) if (~np.isnan(some)).any() else np.nan for some in others])
        own = np.array([column[place] for column in columns])
        if np.allclose(own, means, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            raise InputError(
                f"{where}: {unit} {ids[int(place)].as_py()!r} holds the means of the others and would count as a unit; "
                "remove its rows"
            )


def refuse_pairs(texts: Sequence[Column], where: str) -> None:
    """Raises InputError for a table each of whose rows names the two systems that it compares."""
    sides = [column.name for column in texts if _SIDE.fullmatch(column.key)]
    if len(sides) > 1:
        raise InputError(
            f"{where}: {sides[0]!r} and {sides[1]!r} name two systems in each row, but a table must have one column of "
            "systems, or one column of values per system; count the wins of each system as successes and trials, or "
            "name the "
            "columns of values: systems='a,b'"
        )
