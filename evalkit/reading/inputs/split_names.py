"""Names of folds that also name the repeat in which the fold was drawn, such as Fold1.Rep1."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Ints
from evalkit.names import usual
from evalkit.reading.matching import column_names
from evalkit.reading.tables.table import Coded

MISTAKEN = 0.02  # of the ids of a repeat: as many may be tested twice by mistake
_NUMBERS = re.compile(r"(\d+)")
_SEPARATORS = " .,;:_/|=()[]-"
_WORDS = re.compile(r"[^\W\d_]+")


class NamedSplits(NamedTuple):
    """The names of folds, each in two parts with a number in each: Fold1 and Rep1.

    first, second: the parts of each name; empty if the names have no such parts. words: those that
    stand before the two numbers, in small letters; "" for none.
    """

    first: Sequence[str] = ()
    second: Sequence[str] = ()
    words: tuple[str, str] = ("", "")


class RepeatedSplits(NamedTuple):
    """The fold and the repeat of each row."""

    fold: Coded
    repeat: Coded


def split_names(names: Sequence[str]) -> NamedSplits:
    """The two parts of each name; empty unless all names are alike but for two numbers.

    >>> splits = split_names(["Fold1.Rep1", "Fold2.Rep2"])
    >>> splits.first, splits.second, splits.words
    (['Fold1', 'Fold2'], ['Rep1', 'Rep2'], ('fold', 'rep'))
    >>> split_names(["Fold1.Rep1", "Fold2"]) == split_names(["2024-01-03", "2024-01-04"])
    True
    """
    pieces_of_names = [_NUMBERS.split(name) for name in names]  # every second piece is a number
    if len({len(pieces) for pieces in pieces_of_names}) != 1:
        return NamedSplits()
    varying = {
        index
        for index, pieces in enumerate(zip(*pieces_of_names, strict=True))
        if len(set(pieces)) > 1
    }
    first_name = pieces_of_names[0]
    if len(first_name) == 5:  # of two numbers one may be the same in all names
        varying |= {1, 3}
    if len(varying) != 2 or not all(index % 2 for index in varying):
        return NamedSplits()
    first_number, second_number = sorted(varying)
    cut = second_number - 1  # the second part begins with the text before its number
    return NamedSplits(
        ["".join(pieces[:cut]) for pieces in pieces_of_names],
        ["".join(pieces[cut:]).lstrip(_SEPARATORS) for pieces in pieces_of_names],
        (_last_word(first_name[first_number - 1]), _last_word(first_name[cut])),
    )


def _last_word(text: str) -> str:
    """The last word of a text in small letters, "" without one."""
    words = _WORDS.findall(text.lower())
    return words[-1] if words else ""


def repeat_in_words(names: NamedSplits) -> str:
    """Which part of these names is the repeat, as their words say: "first", "second", or "" if they
    do not.

    >>> repeat_in_words(split_names(["Fold1.Rep1", "Fold2.Rep2"]))
    'second'
    >>> repeat_in_words(split_names(["1-1", "2-2"]))
    ''
    """
    words = usual("folds")
    first, second = names.words
    if first in words["of_repeat"] and second in words["repeats"]:
        return "second"
    return "first" if first in words["repeats"] and second in words["of_repeat"] else ""


def name_repeats(names: Sequence[str]) -> bool:
    """True if these names tell several repeats in words.

    >>> name_repeats(["Fold1.Rep1", "Fold1.Rep2"]), name_repeats(["Fold1.Rep1", "Fold2.Rep1"])
    (True, False)
    """
    parts = split_names(names)
    in_words = repeat_in_words(parts)
    repeats = parts.first if in_words == "first" else parts.second
    return bool(in_words) and len(set(repeats)) > 1


def named_repeats(fold: Coded, id: Ints) -> RepeatedSplits | None:
    """The folds and the repeats that the names of folds tell apart; None if they do not.

    id: of each row, as a number. Of two numbers in a name, the words say which is the repeat; else
    it is the one within which fewer ids are tested twice, and hardly any. There must be several
    repeats of several folds, and ids that several repeats test.
    """
    names = split_names(fold.names)
    if not names.first:
        return None
    first = Coded.from_texts(names.first, fold.code)
    second = Coded.from_texts(names.second, fold.code)
    # the part that is the repeat -> the splits
    readings = {
        "first": RepeatedSplits(fold=second, repeat=first),
        "second": RepeatedSplits(fold=first, repeat=second),
    }
    in_words = repeat_in_words(names)
    if in_words:
        splits = readings[in_words]
        return splits if _tested_twice(splits, id) < 1 else None
    tested_twice = {part: _tested_twice(splits, id) for part, splits in readings.items()}
    best = min(tested_twice, key=lambda part: tested_twice[part])
    return readings[best] if tested_twice[best] <= MISTAKEN else None


def named_holdouts(fold: Coded) -> RepeatedSplits | None:
    """The sets of rows, as folds, and the repeats that names tell apart, such as rep1_train and
    rep1_test; None if they do not.

    Each name must have one word for a set and something else for the repeat. There must be training
    rows, another set, and several repeats.
    """
    sets = []
    repeats = []
    for name in fold.names:
        words = [word for word in _WORDS.findall(name) if word.lower() in column_names.SETS]
        if len(words) != 1:
            return None
        sets.append(words[0])
        repeats.append(name.replace(words[0], "", 1).strip(_SEPARATORS))
    meanings = {column_names.SETS[word.lower()] for word in sets}
    if "training" not in meanings or len(meanings) < 2:
        return None
    if "" in repeats or len(set(repeats)) < 2:
        return None
    return RepeatedSplits(
        fold=Coded.from_texts(sets, fold.code), repeat=Coded.from_texts(repeats, fold.code)
    )


def _tested_twice(split: RepeatedSplits, id: Ints) -> float:
    """The share of the ids of a repeat that it tests more than once; 1 if these are not several
    repeats of several folds that test the same ids.
    """
    repeats = len(split.repeat.names)
    folds = np.unique(np.column_stack([split.repeat.code, split.fold.code]), axis=0)
    folds_per_repeat = np.bincount(folds[:, 0])
    # one number per pair of an id and a repeat that tests it
    tested, times = np.unique(id * repeats + split.repeat.code, return_counts=True)
    share_ids = len(np.unique(tested // repeats)) < len(tested)
    if repeats < 2 or folds_per_repeat.min() < 2 or not share_ids:
        return 1.0
    return float((times > 1).mean())


class SplitNumbers(NamedTuple):
    """How many folds a repeat has, and how many repeats there are."""

    folds: int
    repeats: int


def named_in_full(names: Sequence[str]) -> SplitNumbers | None:
    """The numbers of folds and repeats that these names tell, as Fold1.Rep1 to Fold10.Rep5 do; None
    if they do not.

    A repeat may lack one fold, as its model is trained on it all the same.

    >>> named_in_full(["Fold1.Rep1", "Fold2.Rep1", "Fold1.Rep2"])
    SplitNumbers(folds=2, repeats=2)
    >>> named_in_full(["Fold1.Rep1", "Fold2.Rep1", "Fold3.Rep1", "Fold1.Rep2"]) is None
    True
    """
    parts = split_names(names)
    in_words = repeat_in_words(parts)
    if not in_words or len(set(names)) < len(names):
        return None
    folds, repeats = parts.first, parts.second
    if in_words == "first":
        folds, repeats = parts.second, parts.first
    number_of_folds = len(set(folds))
    folds_per_repeat = Counter(repeats)
    lacks_several = min(folds_per_repeat.values()) < number_of_folds - 1
    if number_of_folds < 2 or lacks_several:
        return None
    return SplitNumbers(number_of_folds, len(folds_per_repeat))
