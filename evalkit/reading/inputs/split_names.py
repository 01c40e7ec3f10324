"""Names of folds that also name the repeat in which the fold was drawn, such as Fold1.Rep1."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Ints
from evalkit.reading.tables.table import Coded

_TWO_NUMBERS = re.compile(r"(\D*)(\d+)(\D+)(\d+)(\D*)")
_REPEAT = re.compile(r"(?i)\W*(r|rep|repeat|repetition|run|seed)[\W_]*")
MISTAKEN = 0.02  # of the ids of a repeat: as many may be tested twice by mistake
_FOLD = re.compile(r"(?i)[\W_]*(f|fold|split|k)[\W_]*")


class NamedSplit(NamedTuple):
    """The two numbers of the name of a fold, each with the words before it."""

    first: str
    second: str


class RepeatedSplits(NamedTuple):
    """The fold and the repeat of each row."""

    fold: Coded
    repeat: Coded


def split_names(names: Sequence[str]) -> list[NamedSplit]:
    """The two parts of each name; empty unless all names differ in two numbers alone.

    >>> split_names(["Fold1.Rep1", "Fold2.Rep1"])[1]
    NamedSplit(first='Fold2', second='Rep1')
    >>> split_names(["Fold1.Rep1", "Fold2"]), split_names(["2024-01-03", "2024-01-04"])
    ([], [])
    """
    matches = [_TWO_NUMBERS.fullmatch(name) for name in names]
    parts = [match.groups() for match in matches if match]
    if len(parts) < len(names) or len({part[::2] for part in parts}) > 1:
        return []
    return [
        NamedSplit(f"{before}{first}", f"{between}{second}{after}".lstrip("._-/ "))
        for before, first, between, second, after in parts
    ]


def repeat_in_words(names: Sequence[NamedSplit]) -> str:
    """Which part of these names is the repeat, as their words say: "first", "second", or "" if they
    do not.

    >>> repeat_in_words([NamedSplit("Fold1", "Rep1")]), repeat_in_words([NamedSplit("1", "2")])
    ('second', '')
    """
    if not names:
        return ""
    first, second = (re.sub(r"\d+.*", "", part) for part in names[0])
    if _FOLD.fullmatch(first) and _REPEAT.fullmatch(second):
        return "second"
    return "first" if _REPEAT.fullmatch(first) and _FOLD.fullmatch(second) else ""


def named_repeats(fold: Coded, id: Ints) -> RepeatedSplits | None:
    """The folds and the repeats that the names of folds tell apart; None if they do not.

    Of two numbers, the words say which counts the repeats; else it is the one within whose values
    fewer ids are tested twice, and hardly any. There are several repeats of several folds, and ids
    that several of them test.
    """
    names = split_names(fold.names)
    if not names:
        return None
    first = Coded.from_texts([name.first for name in names], fold.code)
    second = Coded.from_texts([name.second for name in names], fold.code)
    either = {"first": RepeatedSplits(second, first), "second": RepeatedSplits(first, second)}
    in_words = repeat_in_words(names)
    if in_words:
        return either[in_words] if _tested_twice(either[in_words], id) < 1 else None
    twice = {part: _tested_twice(split, id) for part, split in either.items()}
    part = min(twice, key=lambda part: twice[part])
    return either[part] if twice[part] <= MISTAKEN else None


def _tested_twice(split: RepeatedSplits, id: Ints) -> float:
    """The share of the ids of a repeat that it tests more than once; 1 if these are not repeats of
    several folds that test the same ids.
    """
    repeats = len(split.repeat.names)
    folds = np.unique(np.column_stack([split.repeat.code, split.fold.code]), axis=0)
    tested, times = np.unique(id * repeats + split.repeat.code, return_counts=True)
    again = len(np.unique(tested // repeats)) < len(tested)
    if repeats < 2 or np.bincount(folds[:, 0]).min() < 2 or not again:
        return 1.0
    return float((times > 1).mean())


def folds_of_each_repeat(names: Sequence[str]) -> int:
    """The number of folds in each repeat that these names number in full, as Fold1.Rep1 to
    Fold10.Rep5 do; 0 if they do not.

    >>> folds_of_each_repeat(["Fold1.Rep1", "Fold2.Rep1", "Fold1.Rep2", "Fold2.Rep2"])
    2
    >>> folds_of_each_repeat(["Fold1.Rep1", "Fold2.Rep1", "Fold1.Rep2"])
    0
    """
    parts = split_names(names)
    if not repeat_in_words(parts) or len({*parts}) < len(parts):
        return 0
    first = len({part.first for part in parts})
    second = len({part.second for part in parts})
    folds = first if repeat_in_words(parts) == "second" else second
    return folds if first * second == len(parts) and folds > 1 else 0
