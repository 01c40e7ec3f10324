"""Scores as whole numbers of 63 bits, of which one plain sort orders the rows, and the bins of sorted codes.

Codes that differ only in their last `shift` bits share a bin. A cut is a code at which a bin begins in any case.
"""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.arrays import Bools, Floats, InputError, Ints

STEP = 2**15  # rows processed at once: they stay in the cache
BELOW = 2.0  # the bits of doubles below it in size have one to spare


def exponent(score: Floats) -> int:
    """The power of two that scales finite scores below 2 in absolute value; 0 if they are already."""
    size = max(score.max(initial=0), -score.min(initial=0))
    return max(0, int(np.frexp(size)[1]) - 1)


def with_label(score: Floats, label: np.ndarray, exponent: int = 0) -> Ints | None:
    """Whole numbers in the order of finite scores (-0.0 is 0.0), with the label as last bit: one sort orders both.

    exponent: scores are first divided by this power of two. None if a score is then not below 2 in absolute value, or
    if the division cannot be undone exactly.

    >>> with_label(np.array([0.5, 0.5, -0.0]), np.array([1, 0, 1], np.int8)).argsort()
    array([2, 1, 0])
    """
    key = np.empty(len(score), np.int64)
    for start in range(0, len(key), STEP):
        block = slice(start, start + STEP)
        here = score[block] * 2.0**-exponent if exponent else score[block]
        low = here.min()
        if not (low > -BELOW and here.max() < BELOW) or (exponent and np.any(here * 2.0**exponent != score[block])):
            return None
        bits = here.view(np.int64) if low > 0 else ordered((here + 0.0).view(np.int64))  # above 0 they are in order
        np.left_shift(bits, 1, out=key[block])
        np.bitwise_or(key[block], label[block], out=key[block])
    return key


def packed(group: Ints, score: Floats) -> NDArray[np.uint64]:
    """Keys in the order of the group, then of the leading bits of the score, descending.

    Equal keys may stand for different scores, because the group takes the place of the last bits of the score.

    >>> packed(np.array([1, 0, 0]), np.array([9.0, -1.0, 2.5])).argsort()
    array([2, 1, 0])
    """
    bits = int(group.max(initial=0)).bit_length()
    key = np.empty(len(score), np.uint64)
    for start in range(0, len(key), STEP):
        block = slice(start, start + STEP)
        code = (score[block] + 0.0).view(np.uint64)
        positive = (~code).view(np.int64) >> 63  # all bits of scores of at least 0: these but the sign are inverted
        code ^= positive.view(np.uint64) >> np.uint64(1)
        np.right_shift(code, np.uint64(bits), out=key[block])
        if bits:
            key[block] |= group[block].astype(np.uint64) << np.uint64(64 - bits)
    return key


def run_ends(values: NDArray) -> Ints:
    """The last index of each run of equal values.

    >>> run_ends(np.array([7, 7, 5]))
    array([1, 2])
    """
    end = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=end[:-1])
    return np.flatnonzero(end)


def zero_one(name: str, label: ArrayLike) -> NDArray[np.int8]:
    """Labels as int8. Raises InputError for a label that is neither 0 nor 1.

    >>> zero_one("label", [1, 2])
    Traceback (most recent call last):
    evalkit.arrays.InputError: label must hold only 0 and 1, got 2 (row 1)
    """
    label = np.asarray(label)
    if label.ndim != 1:
        raise InputError(f"{name} must have one dimension, got shape {label.shape}")
    wrong = np.empty(0) if label.dtype == bool else np.flatnonzero((label != 0) & (label != 1))
    if wrong.size:
        raise InputError(f"{name} must hold only 0 and 1, got {label[wrong[0]]} (row {wrong[0]})")
    return label.astype(np.int8)


def ordered(bits: Ints) -> Ints:
    """The bits of doubles, inverted for negative ones, in the order of the doubles; its own inverse."""
    return bits ^ ((bits >> 63) & np.iinfo(np.int64).max) if bits.min(initial=0) < 0 else bits


# Bins of sorted codes -------------------------------------------------------------------------------------------------

STRETCHES, LENGTH = 64, 1024  # number and length of the runs of sorted codes from which the shift is guessed


def shift(low: Ints, least: int, most: int, cut: int | None) -> int:
    """The smallest shift, not below `least`, that leaves at most `most` bins of sorted codes.

    It is estimated from a sample of the codes and then corrected step by step, because counting bins reads all codes.

    >>> shift(np.array([0, 1, 2, 3, 8, 9]), 0, 3, None)
    1
    """
    room = _room(most, cut)
    if len(low) <= room:
        return least
    guess = _guess(low, least, room)
    while _bins(low, guess) > room:
        guess += 1
    while guess > least and _bins(low, guess - 1) <= room:
        guess -= 1
    return guess


def starts(low: Ints, shift: int, cut: int | None) -> Ints:
    """The indices at which the bins of sorted codes begin.

    >>> starts(np.array([0, 1, 2, 3, 8, 9]), 1, cut=3)
    array([0, 2, 3, 4])
    """
    begins = _apart(low, shift)
    if cut is not None and (at_cut := int(np.searchsorted(low, cut))) < len(low):
        begins[at_cut] = True
    return np.flatnonzero(begins)


def _room(most: int, cut: int | None) -> int:
    """How many bins may begin after the first, without the one that begins at the cut."""
    return most - 1 - (cut is not None)


def _guess(low: Ints, least: int, room: int) -> int:
    """The smallest shift, not below `least`, that leaves about `room` bins in a sample of sorted codes."""
    if len(low) <= room:
        return least
    sample = low
    if len(low) > 2 * STRETCHES * LENGTH:
        sample = np.concatenate([low[i : i + LENGTH] for i in range(0, len(low), len(low) // STRETCHES)])
    share = room * len(sample) / len(low)
    return least + bisect_left(range(least, 63), x=True, key=lambda shift: _bins(sample, shift) <= share)


def _bins(low: Ints, shift: int) -> int:
    """Number of bins that begin after the first."""
    return int(np.count_nonzero(_apart(low, shift)[1:]))


def _apart(low: Ints, shift: int) -> Bools:
    """True for the first code and for each that differs from the one before in more than its last bits."""
    bits = low.view(np.uint64)
    begins = np.ones(len(bits), bool)
    apart = begins[1:]
    for start in range(0, len(apart), STEP):
        end = min(start + STEP, len(apart))
        np.greater_equal(bits[start + 1 : end + 1] ^ bits[start:end], np.uint64(1 << shift), out=apart[start:end])
    return begins


# All of the bins in one pass ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of sorted codes. start: the index at which each bin begins, and the number of codes at the end.

    ones: the number of set flags (last bits) before each of these indices. first, last: the first and the last code of
    each bin.
    """

    start: Ints
    ones: Ints
    first: Ints
    last: Ints


def with_ones(codes: Ints, least: int, most: int, cut: int | None) -> tuple[int, Bins]:
    """The shift that `shift` gives, and the bins of sorted codes whose last bit is a flag.

    Computed block by block in the cache, because reading the codes takes longer than the arithmetic.

    >>> found, bins = with_ones(np.array([2, 3, 5, 16, 17]), 1, 3, None)
    >>> found, bins.start, bins.ones, bins.first, bins.last
    (1, array([0, 2, 3, 5]), array([0, 1, 2, 3]), array([ 2,  5, 16]), array([ 3,  5, 17]))
    """
    room = _room(most, cut)
    at_cut = 0 if cut is None else int(np.searchsorted(codes, cut))  # at 0 a bin begins in any case
    shift = _guess(codes, least, room)
    while True:
        bins, coarse, fine = _at_shift(codes, shift, at_cut, room)
        if coarse > room:
            shift += 1
        elif shift > least and fine <= room:
            shift -= 1
        else:
            return shift, bins


def _at_shift(codes: Ints, shift: int, at_cut: int, room: int) -> tuple[Bins, int, int]:
    """The bins at a shift; only some of them if there are too many.

    The two numbers are how many bins begin after the first, at this shift and at the next smaller one, without the
    cut's.
    """
    columns = np.empty((4, min(len(codes), room + 2) + 1), np.int64)  # of which only the first `size` are touched
    size = ones = coarse = fine = 0
    for start in range(0, len(codes), STEP):
        stop = min(start + STEP, len(codes))
        here = codes[start:stop]
        before = codes[start - 1 : stop - 1] if start else np.append(here[:1], here[:-1])
        changed = (here ^ before).view(np.uint64)
        begins = changed >= np.uint64(1 << shift)
        coarse += int(np.count_nonzero(begins))
        fine += int(np.count_nonzero(changed >= np.uint64(1 << shift >> 1)))
        if coarse > room:
            break
        begins[[at - start for at in (0, at_cut) if start <= at < stop]] = True
        place = np.flatnonzero(begins)
        into = columns[:, size : size + len(place)]
        bits = here & 1
        up_to = np.cumsum(bits)
        np.add(place, start, out=into[0])
        np.subtract(up_to[place], bits[place] - ones, out=into[1])
        here.take(place, out=into[2], mode="clip")  # the default mode would copy the result
        before.take(place, out=into[3], mode="clip")
        size, ones = size + len(place), ones + int(up_to[-1])
    columns[:, size] = len(codes), ones, 0, codes[-1] if len(codes) else 0
    bins = Bins(columns[0, : size + 1], columns[1, : size + 1], columns[2, :size], columns[3, 1 : size + 1])
    return bins, coarse, fine
