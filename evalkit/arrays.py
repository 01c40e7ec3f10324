"""Array types, errors, division and the input checks that every module uses."""

from collections.abc import Callable, Mapping, Sized
from math import fsum
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Record = Mapping[str, Any]  # a row of a frame, by column; or an object of JSON, by field
ROUNDING = 1e-12  # of two sums: a difference so small against them is none
# multiplications up to which BLAS stays on one thread; OpenBLAS starts another at twice as many
ALONE = 2**18
LARGEST = 1e75  # most of a measured value: its fourth power is still a finite double


class OneLineError(Exception):
    """An error whose message says all that a reader needs."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the line alone; when asked again, as by `%tb`, the traceback."""
        if hasattr(self, "_was_shown"):
            import traceback

            return traceback.format_exception(self)
        self._was_shown = True
        return [f"{type(self).__name__}: {self}"]


class InputError(OneLineError, ValueError):
    """The input is invalid. The message names the file, column, row and value, if there are any."""

    def located(
        self, names: str, locate: Callable[[int], tuple[str, int]], columns: Mapping[str, str]
    ) -> "InputError":
        """An error with the file, column and row of the input.

        locate: a row, counted from 0 -> its file and number there, 0 if it has none. columns: role
        -> column.
        """
        return InputError(f"{names}: {self}")


class ParameterError(InputError):
    """A parameter is unknown or has an invalid value."""


class ArgumentError(OneLineError, TypeError):
    """A call has an unknown argument, or too many by position."""


class RowError(InputError):
    """A row breaks a rule of its column. row: counted from 0. rows: the number of rows that break
    it, if known.

    >>> raise RowError("team", "must be one of a, b, got 'c'", 4, 2)
    Traceback (most recent call last):
    evalkit.arrays.RowError: team must be one of a, b, got 'c' (row 4; 2 rows)
    """

    def __init__(self, column: str, rule: str, row: int, rows: int | None = None) -> None:
        self.column = column
        self.rule = rule
        self.row = int(row)
        self.rows = rows
        super().__init__(self.text(column, self.row))

    def located(
        self, names: str, locate: Callable[[int], tuple[str, int]], columns: Mapping[str, str]
    ) -> "InputError":
        name, row = locate(self.row)
        column = columns.get(self.column, self.column)
        message = self.text(column, row) if row else f"{column} {self.rule}"
        return InputError(f"{name}: {message}")

    def text(self, column: str, row: int) -> str:
        """The message with other names for the column and the row."""
        count = f"; {self.rows} rows" if self.rows and self.rows > 1 else ""
        return f"{column} {self.rule} (row {row}{count})"


def minus(a: Floats, b: Floats | float) -> Floats:
    """a − b, exactly 0 if it is only rounding error, so that equal units do not seem to differ; NaN
    stays NaN.

    >>> minus(np.array([0.1 + 0.2, 2.0, np.nan]), np.array([0.3, 1.0, 1.0])).tolist()
    [0.0, 1.0, nan]
    """
    difference = np.asarray(a - b)
    size = np.abs(a) + np.abs(b)
    size *= ROUNDING
    difference[np.abs(difference) <= size] = 0.0
    return difference


def normal_density(z: Floats) -> Floats:
    """The density of the standard normal distribution at each z.

    >>> normal_density(np.array([0.0, 1.0])).round(4).tolist()
    [0.3989, 0.242]
    """
    density: Floats = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return density


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """Numerator / denominator, NaN if the denominator is 0: undefined, neither 0 nor infinite.

    >>> ratio([1, 0], [2, 0])
    array([0.5, nan])
    """
    top = np.asarray(numerator, float)
    bottom = np.asarray(denominator, float)
    if np.count_nonzero(bottom) == bottom.size:
        return np.asarray(top / bottom)
    ratios = np.full(np.broadcast(top, bottom).shape, np.nan)
    np.divide(top, bottom, out=ratios, where=bottom != 0)
    return ratios


def quotient(numerator: SupportsFloat, denominator: SupportsFloat) -> float:
    """The `ratio` of two numbers: NaN if the denominator is 0.

    >>> quotient(1, 2), quotient(1, 0)
    (0.5, nan)
    """
    divisor = float(denominator)
    return float(numerator) / divisor if divisor else np.nan


def exact_sum(numbers: Floats) -> float:
    """The sum of the numbers, rounded only once: their order does not change its last digit.

    >>> exact_sum(np.array([1e17, 1.0, -1e17]))
    1.0
    """
    return fsum(numbers.tolist())  # of an array itself it takes a third longer


def are_whole(numbers: Floats) -> bool:
    """True if all numbers are whole; NaN is not."""
    return bool(np.all(numbers == np.rint(numbers)))


def product(rows: Floats, matrix: Floats) -> Floats:
    """rows @ matrix in slices so small that BLAS does not start further threads, which would only
    wait for each other.

    >>> product(np.ones((3, 2)), np.array([[1.0], [2.0]])).ravel()
    array([3., 3., 3.])
    """
    step = max(1, ALONE // matrix.size)
    out = np.empty((len(rows), matrix.shape[1]))
    for start in range(0, len(rows), step):
        np.matmul(rows[start : start + step], matrix, out=out[start : start + step])
    return out


def finite(name: str, values: ArrayLike) -> Floats:
    """`values` as doubles in one dimension. Raises InputError if one is NaN, infinite or not a
    number.

    >>> finite("score", [1, float("nan")])
    Traceback (most recent call last):
    evalkit.arrays.InputError: score must hold only finite numbers, got nan (row 1)
    """
    array = numbers(name, values)
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        raise InputError(
            f"{name} must hold only finite numbers, got {array[wrong[0]]} (row {wrong[0]})"
        )
    return array


def numbers(name: str, values: ArrayLike) -> Floats:
    """`values` as doubles in one dimension, NaN allowed. Raises InputError for text or two
    dimensions.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold numbers, got {np.asarray(values).dtype}") from None
    if array.ndim != 1:
        raise InputError(f"{name} must have one dimension, got shape {array.shape}")
    return array


def same_length(**columns: Sized) -> int:
    """The common length of the named columns. Raises InputError if they differ.

    >>> same_length(label=[1, 0], score=[0.3, 0.2])
    2
    """
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise InputError(f"columns must have one length, got {got}")
    return next(iter(lengths.values()))


def codes(keys: ArrayLike) -> tuple[Ints, NDArray[Any]]:
    """The place of each key in the sorted array of distinct keys, and that array; as `np.unique`
    with its inverse, but faster for small whole numbers and for Python objects.

    >>> codes(["b", "a", "b"])
    (array([1, 0, 1]), array(['a', 'b'], dtype='<U1'))
    """
    array = np.asarray(keys)
    if array.dtype.kind in "iu" and array.size:  # whole numbers, signed or unsigned
        is_small = array.min() >= 0 and array.max() < SPARSE * array.size
        if is_small:  # at most a few times as many possible numbers as keys
            return _codes_by_counting(array)
    if array.dtype == object:
        objects = array.tolist()
        distinct_objects = sorted(set(objects))
        place = {key: i for i, key in enumerate(distinct_objects)}
        code = np.fromiter(map(place.__getitem__, objects), np.int64, array.size)
        return code, np.array(distinct_objects, dtype=object)
    distinct, code = np.unique(array, return_inverse=True)
    return code.astype(np.int64), distinct


def _codes_by_counting(numbers: NDArray[Any]) -> tuple[Ints, NDArray[Any]]:
    """The result of `codes` for small whole numbers from 0 on: counting which numbers occur is
    faster than sorting them.

    >>> _codes_by_counting(np.array([5, 2, 5]))
    (array([1, 0, 1]), array([2, 5]))
    """
    index = numbers.astype(np.int64, copy=False)  # NumPy 2.0 counts no unsigned 64 bits
    occurs = np.bincount(index) > 0  # for each number from 0 to the largest
    distinct = np.flatnonzero(occurs).astype(numbers.dtype)
    if occurs.all():  # each number is its own place
        return index, distinct
    place = np.cumsum(occurs) - 1  # of each number: how many smaller ones occur
    return place[index], distinct


SPARSE = 4  # whole numbers below so many times the number of keys are counted, not sorted
