"""What each column of a table of unit values is: a system, the value, what the unit is called, a draw, or none of them.

Names decide first (a column `seed` is no system), then the cells: a column that mostly holds numbers is one of numbers,
and a cell of text in it is an error and never a reason to drop the column.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Floats, InputError, Ints
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables.parts import Part

NOUNS = ("query", "question", "prompt", "example", "instance", "task", "problem", "item", "doc", "document", "topic")
PEOPLE = ("user", "subject", "patient", "participant")
UNITS = ("unit", *(name for noun in (*NOUNS, *PEOPLE) for name in (noun, f"{noun}_id")), "qid", "id", "fold")
SYSTEM = roles_of.SYNONYMS["system"]
NAMED = tuple(f"{name}_{what}" for name in SYSTEM for what in ("id", "name"))
SYSTEMS = (*SYSTEM, *NAMED, "method", "algorithm", "variant", "arm")
VALUES = (
    "value",
    "score",
    "correct",
    "is_correct",
    "accuracy",
    "metric_value",
    "exact_match",
    "f1",
    "reward",
    "result",
)
METRICS = ("metric", "measure", "metric_name")
FOLDS, REPEATS = ("fold", "split"), ("repeat", "repetition", "rep", "seed", "run", "trial", "iteration")
DRAWN_AGAIN = ("seed", "trial", "iteration", "iter", "replicate", "draw", "random_state", "repeat_id", "cv", "cv_run")
DRAWS = (*FOLDS, *REPEATS, "sample", "draw", "attempt", "replicate", "epoch")
PLACES = ("rank", "position", "pos", "index", "idx", "row", "row_number", "number", "num", "no", "id")
TRUTHS = ("label", "y_true", "target", "gold", "ground_truth")
TIMES = ("timestamp", "year", "weight", "sample_weight")
MISSING = ("n/a", "na", "#n/a", "nan", "null", "none", "-", "--", "–", ".", "?", "missing", "inf", "-inf")
TRUTH = {"true": 1.0, "false": 0.0}
SHOWN = 3  # wrong cells that a message lists
_NUMBER = re.compile(r"[+-]?(\d[\d ']*([.,]\d*)*|[.,]\d+)([eE][+-]?\d+)?\s*%?")
_ID = re.compile(r"(.*_)?(id|ids|no|nr|number|idx|index)|qid|uid|docno|unnamed: ?\d+|level_\d+|column \d+|")


@dataclass(frozen=True, eq=False)
class Column:
    """One column of all parts as Arrow text."""

    name: str
    arrays: tuple[Any, ...]

    @cached_property
    def cells(self) -> np.ndarray:
        """Its text, None where a cell is empty."""
        return np.concatenate([np.array(array.to_pylist(), dtype=object) for array in self.arrays])

    @property
    def key(self) -> str:
        """The name as it is compared: lower case, words joined by underscores."""
        return key(self.name)

    @cached_property
    def clean(self) -> bool:
        """Whether every cell that is not empty is a number."""
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            return sum(pc.count(pc.cast(array, pa.float64())).as_py() for array in self.arrays) > 0
        except pa.ArrowInvalid:
            return False

    @cached_property
    def kind(self) -> str:
        """ "numbers", "text" or "empty". Numbers with a few cells of text, which are faults, are numbers."""
        if self.clean:
            return "numbers"
        present = [str(cell).strip() for cell in self.cells if cell is not None]
        numbers = sum(looks_like_number(cell) for cell in present)
        marks = sum(cell.lower() in MISSING for cell in present)
        if not present:
            return "empty"
        return "numbers" if numbers and 2 * numbers + marks >= len(present) else "text"

    @property
    def draws(self) -> bool:
        """Whether its name says that it counts repetitions."""
        return self.key in DRAWS

    @property
    def truth(self) -> bool:
        """Whether its name says that it is what systems are measured against."""
        return self.key in TRUTHS

    @property
    def no_value(self) -> bool:
        """Whether its name says that it is an id, a repetition, a rank, a position, a time or a weight."""
        return self.draws or self.key in (*PLACES, *TIMES, *UNITS) or identifies(self.name)


def key(name: str) -> str:
    """A name as it is compared.

    >>> key(" Question ID"), key("questionId")
    ('question_id', 'question_id')
    """
    apart = re.sub(r"(?<=[a-z])(?=I[dD]$)", "_", name.strip())
    return (
        re.sub(r"[ _-]+", "_", apart.lower()) if not apart.lower().startswith(("unnamed", "column")) else apart.lower()
    )


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
    """
    return bool(_NUMBER.fullmatch(cell.strip())) or cell.strip().lower() in TRUTH


def by_key(columns: Sequence[Column], keys: Iterable[str]) -> list[Column]:
    """The columns with one of these names, in the order of the names."""
    return [column for wanted in keys for column in columns if column.key == wanted]


def system(columns: Sequence[Column], given: str | None, where: str) -> Column | None:
    """The column that names the systems; None where there is none.

    A column `run` of numbers counts repetitions, unless the table also has a column `value` and no other system.
    Raises InputError where two columns could be meant.
    """
    if given:
        return by_name(columns, given, where, "columns: system")
    matches = by_key(columns, SYSTEMS)
    named = [column for column in matches if not (column.key == "run" and column.kind == "numbers")]
    matches = named or (matches if by_key(columns, ["value"]) else [])
    exact = [column for column in matches if column.name == "system"] or matches
    if len(exact) > 1:
        both = " and ".join(repr(column.name) for column in exact)
        raise InputError(
            f"{where}: columns {both} could both be the system; say which: columns='system={exact[0].name}'"
        )
    return exact[0] if exact else None


def by_name(columns: Sequence[Column], name: str, where: str, parameter: str) -> Column:
    """The column of that name; raises ParameterError where there is none."""
    roles_of.require([column.name for column in columns], name, where, parameter)
    return next(column for column in columns if column.name == name)


def value(columns: Sequence[Column], given: str | None, where: str) -> tuple[Column, str]:
    """The column of the values of a long table, and a sentence where nothing but its cells say that it is.

    columns: those without another role. A usual name decides, then a single column of numbers that is no id,
    repetition, rank or position. Raises InputError, which names the candidates, where none or several remain.
    """
    if given:
        return by_name(columns, given, where, "columns: value"), ""
    numbers = [column for column in columns if column.kind == "numbers"]
    usual = by_key(numbers, VALUES)
    if usual and (len(usual) == 1 or usual[0].name == "value"):
        return usual[0], ""
    candidates = usual or [column for column in numbers if not column.no_value]
    if len(candidates) == 1:
        name = candidates[0].name
        text = f"The values are those of {name}, the only numeric column but ids, repetitions, ranks and positions"
        return candidates[0], f"{text}; set columns='value=NAME' to use another."
    if not candidates:
        has = ", ".join(repr(column.name) for column in columns)
        raise InputError(
            f"{where}: a table with a column of systems must have a numeric column of values; "
            f"the other columns are {has}; set columns='value=NAME'"
        )
    names = roles_of.listed([repr(column.name) for column in candidates])
    raise InputError(
        f"{where}: a table with a column of systems must have one column of values, got the candidates {names}; "
        f"say which: columns='value={candidates[0].name}'"
    )


def question(columns: Sequence[Column], where: str) -> list[Column]:
    """The columns that tell the units of a long table apart: one, or fold and repetition; none where nothing does.

    columns: those without another role. A usual name decides, then an id, then a single column of text, then a single
    repetition. Raises InputError, which names the candidates, where several columns of text remain.
    """
    if usual := by_key(columns, UNITS):
        return with_repeat(usual[0], columns)
    texts = [column for column in columns if column.kind == "text" and not column.no_value]
    ids = [column for column in columns if identifies(column.name)]
    chosen = ids or texts or [column for column in columns if column.draws]
    if len(chosen) > 1 and not ids:
        names = ", ".join(repr(column.name) for column in chosen)
        raise InputError(
            f"{where}: one column must name the unit, got the candidates {names}; "
            f"say which: columns='unit={chosen[0].name}'"
        )
    return chosen[:1]


def with_repeat(unit: Column, columns: Sequence[Column]) -> list[Column]:
    """The column of the unit; with a fold its repetition, for fold 1 of another repetition is another fold."""
    repeats = [column for column in by_key(columns, REPEATS) if column is not unit] if unit.key in FOLDS else []
    return [*repeats[:1], unit]


def question_of_rows(columns: Sequence[Column]) -> list[Column]:
    """The columns that tell the units of a wide table apart; none where each row is a unit.

    A usual name decides, then an id, then a column of text whose cells all differ, or the only one beside repetitions.
    """
    if usual := by_key(columns, UNITS):
        return with_repeat(usual[0], columns)
    ids = [column for column in columns if identifies(column.name) and column.kind != "empty"]
    texts = [column for column in columns if column.kind == "text"]
    distinct = [column for column in texts if len(set(column.cells)) == len(column.cells)]
    repeated = texts if len(texts) == 1 and any(column.draws for column in columns) else []
    named = [column for column in ids if not key(column.name).startswith(("unnamed", "level", "column"))]
    return (named or distinct or repeated)[:1]


def doubles(column: Column, place: Callable[[int], tuple[Part, int]]) -> Floats:
    """The numbers of a column, NaN where a cell is empty; true and false are 1 and 0.

    place: the file and the row, from 1, of a cell. Raises InputError with the first wrong cells.
    """
    numbers = [np.nan if cell is None else _number(str(cell)) for cell in column.cells]
    wrong = [i for i, number in enumerate(numbers) if number is None]
    if wrong:
        raise InputError(
            f"{place(wrong[0])[0].name}: {column.name} must hold numbers, got {_cells(column, wrong, place)}; leave a "
            "cell empty where there is no value and write a decimal point, or name the columns to compare: "
            "systems='a,b'"
        )
    return np.array(numbers, float)


def _cells(column: Column, wrong: Sequence[int], place: Callable[[int], tuple[Part, int]]) -> str:
    """The first wrong cells with their rows; those of another file than the first are counted."""
    file = place(wrong[0])[0]
    same = [i for i in wrong[:SHOWN] if place(i)[0] is file]
    more = f" and {len(wrong) - len(same):,} more" if len(wrong) > len(same) else ""
    return ", ".join(f"{column.cells[i]!r} (row {place(i)[1]:,})" for i in same) + more


def _number(cell: str) -> float | None:
    text = cell.strip().lower()
    try:
        return TRUTH[text] if text in TRUTH else None if "_" in text else float(text)
    except ValueError:
        return None


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
