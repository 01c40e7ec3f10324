"""Scores as whole numbers of 63 bits: with the label in the last bit, one plain sort orders the rows."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.arrays import Floats, InputError, Ints

STEP = 2**15  # rows processed at once: they stay in the cache


def exponent(score: Floats) -> int:
    """The power of two that scales finite scores below 2 in size; 0 if they are already."""
    size = max(score.max(initial=0), -score.min(initial=0))
    return max(0, int(np.frexp(size)[1]) - 1)


def encode(score: Floats, exponent: int) -> Ints:
    """Whole numbers of 63 bits in the reverse order of finite scores; -0.0 equals 0.0.

    >>> encode(np.array([-0.0, 0.0, 0.5]), 0).argsort(kind="stable")
    array([2, 0, 1])
    """
    scaled = score + 0.0  # -0.0 becomes 0.0, which has other bits
    scaled *= 2.0**-exponent
    code = ordered(scaled.view(np.int64))
    return np.invert(code, out=code)


def with_label(score: Floats, label: NDArray[np.int8], exponent: int) -> Ints | None:
    """The codes of `encode` with the label as a last bit more; None where the scaling would not give a score back.

    >>> with_label(np.array([0.5, 0.5]), np.array([1, 0], np.int8), 0).argsort()
    array([1, 0])
    """
    key = np.empty(len(score), np.int64)
    for start in range(0, len(key), STEP):
        block = slice(start, start + STEP)
        code = encode(score[block], exponent)
        if exponent and np.any(decode(code, exponent) != score[block]):
            return None  # largest and smallest too far apart for one scale
        code <<= 1
        np.bitwise_or(code, label[block], out=key[block])
    return key


def decode(code: Ints, exponent: int, out: Ints | None = None) -> Floats:
    """The scores of whole numbers from `encode`. out: whose memory holds them then, such as the codes'.

    Inexact if the scaling made a score subnormal: compare with the scores if the exponent is not 0.

    >>> decode(encode(np.array([-3.5, 7.0]), 2), 2)
    array([-3.5,  7. ])
    """
    bits = np.empty_like(code) if out is None else out
    for start in range(0, len(code), STEP):
        block = slice(start, start + STEP)
        bits[block] = ordered(~code[block])
    score = bits.view(np.float64)
    if exponent:
        score *= 2.0**exponent
    return score


def packed(group: Ints, score: Floats) -> NDArray[np.uint64]:
    """Keys in the order of the group, then of the leading bits of the score, descending.

    Equal keys may stand for different scores: the group replaces as many of the last bits of the score as it needs.

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
    """The last place of each run of equal values.

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
