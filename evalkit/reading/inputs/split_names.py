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
    """The two parts of each name of a fold, which end in its two numbers. words: what stands before
    each number.
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
    cut = [_NUMBERS.split(name) for name in names]
    if len({len(pieces) for pieces in cut}) != 1:
        return NamedSplits()
    varying = {place for place, pieces in enumerate(zip(*cut, strict=True)) if len({*pieces}) > 1}
    if len(cut[0]) == 5:  # of two numbers one may be the same in all names
        varying |= {1, 3}
    if len(varying) != 2 or not all(place % 2 for place in varying):
        return NamedSplits()
    before_first, before_second = (place - 1 for place in sorted(varying))
    return NamedSplits(
        ["".join(pieces[:before_second]) for pieces in cut],
        ["".join(pieces[before_second:]).lstrip(_SEPARATORS) for pieces in cut],
        (_last_word(cut[0][before_first]), _last_word(cut[0][before_second])),
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
    """True if the words of these names tell several repeats.

    >>> name_repeats(["Fold1.Rep1", "Fold1.Rep2"]), name_repeats(["Fold1.Rep1", "Fold2.Rep1"])
    (True, False)
    """
    parts = split_names(names)
    in_words = repeat_in_words(parts)
    repeats = parts.first if in_words == "first" else parts.second
    return bool(in_words) and len({*repeats}) > 1


def named_repeats(fold: Coded, id: Ints) -> RepeatedSplits | None:
    """The folds and the repeats that the names of folds tell apart; None if they do not.

    Of two numbers, the words say which counts the repeats; else it is the one within whose values
    fewer ids are tested twice, and hardly any. There are several repeats of several folds, and ids
    that several of them test.
    """
    names = split_names(fold.names)
    if not names.first:
        return None
    first = Coded.from_texts(names.first, fold.code)
    second = Coded.from_texts(names.second, fold.code)
    either = {"first": RepeatedSplits(second, first), "second": RepeatedSplits(first, second)}
    in_words = repeat_in_words(names)
    if in_words:
        return either[in_words] if _tested_twice(either[in_words], id) < 1 else None
    twice = {part: _tested_twice(split, id) for part, split in either.items()}
    part = min(twice, key=lambda part: twice[part])
    return either[part] if twice[part] <= MISTAKEN else None


def named_holdouts(fold: Coded) -> RepeatedSplits | None:
    """The sets of rows and the repeats that names tell apart, such as rep1_train and rep1_test;
    None if they do not.

    Every name has one word for a set, training rows are among them, and there are several repeats.
    """
    words, rest = [], []
    for name in fold.names:
        sets = [word for word in _WORDS.findall(name) if word.lower() in column_names.SETS]
        if len(sets) != 1:
            return None
        words.append(sets[0])
        rest.append(name.replace(sets[0], "", 1).strip(_SEPARATORS))
    meanings = {column_names.SETS[word.lower()] for word in words}
    if "training" not in meanings or len(meanings) < 2 or "" in rest or len({*rest}) < 2:
        return None
    return RepeatedSplits(Coded.from_texts(words, fold.code), Coded.from_texts(rest, fold.code))


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
    if not in_words or len({*names}) < len(names):
        return None
    repeats, folds = parts.first, parts.second
    if in_words == "second":
        repeats, folds = folds, repeats
    size = len({*folds})
    of_repeat = Counter(repeats)
    lacks_several = min(of_repeat.values()) < size - 1
    if size < 2 or lacks_several:
        return None
    return SplitNumbers(size, len(of_repeat))
