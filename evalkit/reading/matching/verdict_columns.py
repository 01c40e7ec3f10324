"""The columns of tables of pairwise verdicts, A, B or tie in each row."""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from evalkit.names import usual
from evalkit.reading.matching.column_names import NAMES_BY_USE, comparable_name
from evalkit.reading.matching.samples import ColumnSample, SampledTable
from evalkit.reading.tables.parts import InputPart

_WORDS = usual("verdicts")
WINNERS, TIES, FIRST, SECOND, OF_ONE = (
    frozenset(_WORDS[name]) for name in ("winners", "ties", "first", "second", "of_one")
)
VERDICTS = WINNERS.union(_WORDS["columns"])  # names of the column of verdicts
PLAIN = frozenset(("a", "b"))  # names of sides that could also name something else
_MODELS = rf"({'|'.join(NAMES_BY_USE['system'])})_?"
FIRST_NAMES = re.compile(_MODELS + "(a|1|left|first)")
SECOND_NAMES = re.compile(_MODELS + "(b|2|right|second)")
# winner_model_a, win_b and winner_tie: columns of 0 and 1, one for each side
FLAG_OF_SIDE = re.compile(rf"({'|'.join(WINNERS | {'win', 'wins', 'won'})})_(?P<side>\w+)")


def plain(text: str) -> str:
    """A verdict in the form in which verdicts are compared: in small letters, with underscores
    between words, without brackets.
    """
    return re.sub(r"\W+", "_", text.lower()).strip("_")


class VerdictLayout(NamedTuple):
    """The columns of a table of verdicts: the one of verdicts, or columns of 0 and 1 that say
    whether the first side won, the second, and perhaps whether they tied; and those that name the
    two models of a row, if there are any.
    """

    verdicts: Sequence[str]
    models: Sequence[str]

    @property
    def has_flags(self) -> bool:
        """True if columns of 0 and 1 hold the verdicts."""
        return len(self.verdicts) > 1


def layout_of(part: InputPart) -> VerdictLayout | None:
    """The columns of a table of verdicts by their names and first cells; None for another table, if
    two columns could hold the verdicts, or if other columns hold values, unless columns name the
    models.
    """
    # TREC text has other columns; the first cells of a table on a Spark cluster are not at hand
    if part.trec_layout is not None or part.cluster_session is not None:
        return None
    table = SampledTable.from_part(part, {})
    models = model_columns(part)
    verdicts = _flags_of_sides(table)
    if not verdicts:
        verdicts = verdicts_beside(table, models)
        if len(verdicts) != 1:
            return None
    values = [column for column in table.numeric_columns if column.name not in verdicts + models]
    if values and not models:
        return None
    return VerdictLayout(verdicts, models)


def verdicts_beside(table: SampledTable, models: Sequence[str]) -> list[str]:
    """The columns that may hold verdicts. models: the columns that name the models of a row."""
    names = set[str]()
    for column in table.columns:
        if column.name in models:
            names |= {plain(text) for text in column.texts}
    return [
        column.name
        for column in table.columns
        if column.name not in models and _holds_verdicts(column, names)
    ]


def _flags_of_sides(table: SampledTable) -> list[str]:
    """The columns of 0 and 1 that say which side won: of the first, of the second, and perhaps of a
    tie; empty without both sides.
    """
    by_side: dict[str, str] = {}
    for column in table.columns:
        match = FLAG_OF_SIDE.fullmatch(column.snake_case_name)
        if match and column.is_flag:
            by_side[match["side"]] = column.name
    first = [name for side, name in by_side.items() if side in FIRST]
    second = [name for side, name in by_side.items() if side in SECOND]
    tie = [name for side, name in by_side.items() if side in TIES]
    if len(first) == len(second) == 1 and len(tie) < 2:
        return [*first, *second, *tie]
    return []


def _holds_verdicts(column: ColumnSample, models: Collection[str]) -> bool:
    """True if cells name the better of two systems, by its side or by its name. models: the names
    in the columns of the two systems of a row, if there are such columns.
    """
    if column.numbers is not None:
        return False
    texts = {plain(text) for text in column.texts}
    winners = texts - TIES
    name = column.snake_case_name
    judges_one_system = bool(winners & OF_ONE)  # such as passed and failed
    if not winners or judges_one_system:
        return False
    if winners <= FIRST | SECOND:
        # a and b alone may be the arms of a test: then ties or the column's name must tell
        return name in VERDICTS or bool(texts & TIES or winners - PLAIN)
    if models:
        return name in WINNERS or (name in VERDICTS and winners <= set(models))
    return name in WINNERS and len(winners) <= 2


def model_columns(part: InputPart) -> list[str]:
    """The columns that name the first and the second model of each row; empty without both."""
    first = [name for name in part.columns if FIRST_NAMES.fullmatch(comparable_name(name))]
    second = [name for name in part.columns if SECOND_NAMES.fullmatch(comparable_name(name))]
    return [first[0], second[0]] if first and second else []
