"""What a validation page says of the rows that were read, and of the folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalkit.reading.inputs.examples import CLASSES, NUMBER, LeftOut
from evalkit.reading.tables.parts import Source
from evalkit.reading.tables.precision import Precision

if TYPE_CHECKING:
    from evalkit.studies.diagnostics import Ends


@dataclass(frozen=True)
class Label:
    """Rows of every class; of a number its lowest, highest and mean value."""

    classes: Mapping[str, int]
    low: float
    high: float
    mean: float


@dataclass(frozen=True, eq=False)
class Facts:
    """What the page says of the rows. columns: role -> column. read, rows: rows read, and those of each system.

    known: which of id, group, time, fold, features and candidates (columns to select from) there are. classes: of the
    label, none of a number. left_out: rows and columns that were read and not used. repeats: how often the folds were
    drawn. per_id: the least and the most rows of an id. ends: the lowest and the highest score of each system.
    """

    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    read: int
    rows: int
    known: frozenset[str]
    classes: tuple[str, ...]
    label: Label
    left_out: tuple[LeftOut, ...]
    repeats: int
    dated: bool
    precision: Mapping[str, Precision]
    ends: Mapping[str, Ends]
    per_id: tuple[int, int] = (1, 1)

    def __len__(self) -> int:
        return self.rows

    @property
    def kind(self) -> str:
        """Whether the label is a class or a number."""
        return CLASSES if self.classes else NUMBER


@dataclass(frozen=True)
class Features:
    """The columns that estimators are fitted on: how many, those of text, those without two values."""

    count: int
    text: Sequence[str]
    constant: Sequence[str]


@dataclass(frozen=True)
class Split:
    """The folds. names: of their test sides. train, test: the rows of both sides of each, none where none is known.

    sides: the mean rows of training and of test sides over the folds that have both. tested: rows that a fold tests.
    distinct: the same, each id counted once however often the folds were drawn.
    """

    rule: str
    names: Sequence[str]
    train: Sequence[int]
    test: Sequence[int]
    sides: tuple[float, float]
    tested: int
    distinct: int
