"""Keys of rows, 64 bits each: their order, those that several rows have, and the rows that have some."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Bools, Ints

BLOCK = 2**15  # rows whose words stay in the cache
MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: an odd number without a pattern in its bits
ROOM = 3  # a table has at least 2 ** ROOM places per key
FEW = 6  # 2 ** FEW flags per key, so that few other rows hit one
HALF = np.uint64(32)
SEVERAL, TAG = np.uint8(1), np.uint8(128)  # of a table's places
Keys = NDArray[np.uint64]


def pair(group: Ints, groups: int, number: Keys) -> Keys:
    """A key for each (group, number): the group above the leading bits of the number; equal pairs have equal keys.

    >>> pair(np.array([1, 1]), 2, np.array([2**63, 1], np.uint64)).tolist() == [3 * 2**62, 2**63]
    True
    """
    bits = np.uint64(max(groups - 1, 0).bit_length())
    if not bits:
        return number
    key = np.empty(len(number), np.uint64)
    for at in blocks(len(key)):
        np.left_shift(group[at].astype(np.uint64), np.uint64(64) - bits, out=key[at])
        key[at] |= number[at] >> bits
    return key


@dataclass(frozen=True)
class Sorted:
    """The order of rows by a key, ascending: `order` names the rows, `same` says which of them equal the one before."""

    order: Ints
    same: Bools

    @classmethod
    def of(cls, key: Keys) -> "Sorted":
        """The order of the keys' rows; rows with one key stay in any order.

        >>> found = Sorted.of(np.array([7, 5, 7], np.uint64))
        >>> found.order.tolist(), found.same.tolist()
        ([1, 0, 2], [False, False, True])
        """
        order, same = numbered(key.copy())
        rows = np.flatnonzero(runs(same))
        if len(rows):
            some = order[rows]
            order[rows] = some = some[np.argsort(key[some])]
            same[rows[1:]] = key[some[1:]] == key[some[:-1]]
        return cls(order, same)


def numbered(key: Keys) -> tuple[Ints, Bools]:
    """The rows in the order of the leading bits of their keys, and which agree in them with the row before.

    One plain sort of keys whose last bits give way to the row's number is several times faster than a sort that moves
    row numbers beside the keys. The keys are overwritten.

    >>> order, same = numbered(np.array([2**63, 4, 2**63 + 1], np.uint64))
    >>> order.tolist(), same.tolist()
    ([1, 0, 2], [False, False, True])
    """
    spare = _below(np.uint64(max(len(key) - 1, 0).bit_length()))
    number = np.arange(min(BLOCK, len(key)), dtype=np.uint64)
    for at in blocks(len(key)):
        some = key[at]
        some &= ~spare
        some |= number[: len(some)]
        some |= np.uint64(at.start)
    key.sort()
    same = np.zeros(len(key), bool)
    for at in blocks(len(key) - 1):
        np.less_equal(key[1:][at] ^ key[:-1][at], spare, out=same[1:][at])
    key &= spare
    return key.view(np.int64), same


def repeated(key: Keys) -> Ints:
    """The rows whose keys other rows have as well, ascending.

    A sort of half the bits, mixed, names the few keys that can be there twice: about n² / 2³³ of n rows by chance.

    >>> repeated(np.array([7, 5, 7, 6], np.uint64)).tolist()
    [0, 2]
    """
    half = np.empty(len(key), np.uint32)
    for at in blocks(len(key)):
        half[at] = _half(key[at])
    half.sort()
    again = [half[1:][at][half[1:][at] == half[:-1][at]] for at in blocks(len(key) - 1)]
    flags = np.zeros(1 << max(16, min(sum(map(len, again)).bit_length() + FEW, 32)), bool)
    last = np.uint64(len(flags) - 1)
    for some in again:
        flags[some & last] = True
    flagged = [at.start + np.flatnonzero(flags.take((_half(key[at]) & last).view(np.int64))) for at in blocks(len(key))]
    rows = np.concatenate([np.zeros(0, np.int64), *flagged])
    found = Sorted.of(key[rows])
    return np.sort(rows[found.order[runs(found.same)]])


def _half(key: Keys) -> Keys:
    """The leading half of the bits of mixed keys."""
    mixed = key * MIX
    mixed >>= HALF
    return mixed


@dataclass(frozen=True, eq=False)
class Table:
    """Rows by their keys, no two of which are equal: a table of the leading bits of the mixed keys says where to look.

    tag: for these bits TAG with the next ones of the row's mixed key; 0 where no row has them, SEVERAL where more than
    one has. row: the row. shared: the rows that share these bits, in the order of their keys.
    """

    key: Keys
    shift: np.uint64
    tag: NDArray[np.uint8]
    row: NDArray[np.int32]
    shared: Ints

    @classmethod
    def of(cls, key: Keys) -> "Table":
        """Of fewer than 2 ** 31 keys."""
        bits = min(len(key).bit_length() + ROOM, 32)
        shift, number = np.uint64(64 - bits), np.arange(len(key), dtype=np.int32)
        place, own = _places(key, shift)
        tag, row = np.zeros(1 << bits, np.uint8), np.empty(1 << bits, np.int32)
        row[place] = number
        tag[place] = own
        tag[place[row[place] != number]] = SEVERAL
        shared = np.flatnonzero(tag[place] == SEVERAL)
        return cls(key, shift, tag, row, shared[np.argsort(key[shared])])

    def find(self, wanted: Keys) -> tuple[Ints, Ints]:
        """The numbers of the wanted keys that a row has, and these rows.

        >>> Table.of(np.array([7, 5], np.uint64)).find(np.array([5, 6, 7], np.uint64))
        (array([0, 2]), array([1, 0]))
        """
        none = np.zeros(0, np.int64)
        if not len(self.key):
            return none, none
        among = self.key[self.shared]
        found = [self._found(wanted[at], among, at.start) for at in blocks(len(wanted))]
        number, row = (np.concatenate([none, *(some[i] for some in found)]) for i in (0, 1))
        return number, row

    def _found(self, wanted: Keys, among: Keys, start: int) -> tuple[Ints, Ints]:
        """As `find`, of keys numbered from `start`; among: the keys of the rows that share their places."""
        place, own = _places(wanted, self.shift)
        tag = self.tag.take(place)
        number = np.flatnonzero((tag == own) | (tag == SEVERAL))
        key, row = wanted.take(number), self.row.take(place.take(number)).astype(np.int64)
        shares = np.flatnonzero(tag.take(number) == SEVERAL)
        if shares.size:
            at = np.searchsorted(among, key[shares])
            row[shares] = self.shared[np.minimum(at, len(among) - 1)]
        same = self.key.take(row) == key
        return number[same] + start, row[same]


def _places(key: Keys, shift: np.uint64) -> tuple[Ints, NDArray[np.uint8]]:
    """The leading bits of mixed keys, and TAG with the bits that follow."""
    mixed = key * MIX
    own = (mixed >> (shift - np.uint64(7))).astype(np.uint8)
    own |= TAG
    mixed >>= shift
    return mixed.view(np.int64), own


def blocks(rows: int) -> list[slice]:
    """So many rows in slices that stay in the cache."""
    return [slice(start, min(start + BLOCK, rows)) for start in range(0, rows, BLOCK)]


def runs(same: Bools) -> Bools:
    """Which rows equal the row before or after them, from which ones equal the one before."""
    return same | np.concatenate([same[1:], [False]])


def _below(bits: np.uint64) -> np.uint64:
    """The largest number of so many bits."""
    return (np.uint64(1) << bits) - np.uint64(1)
