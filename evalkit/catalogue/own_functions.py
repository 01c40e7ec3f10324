"""Functions of a user, called by the names of their arguments, and the checks of what they return.

The names of the arguments say what a function is computed from: `Input` lists them. Arrays are read-only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Floats, ParameterError

SIDES = {1: "one number", 2: "a pair (numerator, denominator)"}


@dataclass(frozen=True)
class Function:
    """A function with its name, the names of its arguments, the range of its values, and where it is undefined.

    columns: those of the arguments that are further columns of the input.
    """

    name: str
    call: Callable[..., Any]
    arguments: tuple[str, ...]
    columns: tuple[str, ...]
    low: float
    high: float
    undefined: str

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """What the function returns for these arguments. Raises ParameterError where it raises."""
        try:
            with np.errstate(all="ignore"):
                return self.call(**{name: _read_only(values[name]) for name in self.arguments})
        except Exception as error:
            raise self.refused(f"raised {type(error).__name__}: {error}") from error

    def arrays(self, values: Mapping[str, Any], n: int, sides: int, per: str) -> list[Floats]:
        """One array of n numbers, or a pair of them."""
        result = self(values)
        arrays = [result] if sides == 1 else self._pair(result, per)
        return [self._numbers(array, n, per, sides) for array in arrays]

    def rows(self, calls: Iterator[Mapping[str, Any]], n: int, sides: int, per: str) -> list[Floats]:
        """The same from n calls of one number, or of one pair, each."""
        table = np.empty((sides, n))
        for i, values in enumerate(calls):
            result = self(values)
            for side, number in enumerate([result] if sides == 1 else self._pair(result, per)):
                table[side, i] = self.number(number, f"{per} {i + 1}")
        return [self._numbers(column, n, per, sides) for column in table]

    def number(self, result: Any, where: str) -> float:
        """One number. Raises ParameterError for anything else."""
        try:
            return float(_floats(result))
        except (TypeError, ValueError):
            raise self.refused(f"must return one number, got {_short(result)} ({where})") from None

    def checked(self, number: float, where: str) -> float:
        """The number, if it is in range, or undefined as declared."""
        self._numbers(np.array([number]), 1, where, 1)
        return number

    def _pair(self, result: Any, per: str) -> list[Any]:
        if isinstance(result, tuple) and len(result) == 2:
            return list(result)
        raise self.refused(f"must return {SIDES[2]} for each {per}, got {_short(result)}")

    def _numbers(self, result: Any, n: int, per: str, sides: int) -> Floats:
        try:
            numbers = _floats(result)
        except (TypeError, ValueError):
            raise self.refused(f"must return numbers, got {_short(result)}") from None
        if numbers.shape != (n,):
            shape = "x".join(map(str, numbers.shape)) or "one number"
            raise self.refused(f"must return {SIDES[sides]} per {per} ({n:,}), got {shape}")
        wrong = np.isinf(numbers) if self.undefined else ~np.isfinite(numbers)
        low, high = (self.low, self.high) if sides == 1 else (-np.inf, np.inf)
        outside = wrong | (numbers < low) | (numbers > high)
        if outside.any():
            raise self.refused(self._rule(numbers, int(np.flatnonzero(outside)[0]), low, high, per))
        return numbers

    def _rule(self, numbers: Floats, at: int, low: float, high: float, per: str) -> str:
        """What the number at this place breaks."""
        value = float(numbers[at])
        where = f"{per} {at + 1}" if len(numbers) > 1 else per
        if np.isnan(value):
            return f"must be a number, got nan ({where}); say where it is undefined: undefined='...'"
        if np.isinf(value):
            return f"must be finite, got {value} ({where})"
        return f"must be within {low:g} and {high:g}, as declared, got {value:g} ({where})"

    def refused(self, reason: str) -> ParameterError:
        """The error of this metric."""
        return ParameterError(f"metrics: {self.name} {reason}")


def _floats(result: Any) -> Floats:
    """Numbers and booleans as they are; what is masked is NaN. Raises TypeError for text, times and complex numbers."""
    array = np.ma.asarray(result) if isinstance(result, np.ma.MaskedArray) else np.asarray(result)
    texts = array.dtype.kind == "O" and any(isinstance(value, str) for value in array.flat)
    if array.dtype.kind not in "biufO" or result is None or texts:
        raise TypeError(array.dtype)
    return np.ma.filled(array.astype(np.float64, copy=False), np.nan)


def _read_only(value: Any) -> Any:
    """The value, which a function cannot change."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _short(value: Any) -> str:
    text = repr(value).replace("\n", " ")
    return f"{type(value).__name__} {text[:60]}{'…' if len(text) > 60 else ''}"


def names_of(call: Callable[..., Any]) -> dict[str, bool]:
    """The names of a function's arguments, and whether each must have a value."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        raise ParameterError(f"metrics: an own metric must be a function, got {_short(call)}") from None
    return {str(p) if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) else p.name: p.default is p.empty for p in parameters}


def arguments_of(
    name: str, call: Callable[..., Any], known: Collection[str], others: Callable[[str], bool]
) -> tuple[str, ...]:
    """The arguments that a function takes of `known`, and those without a default that `others` allows.

    Raises ParameterError for any other argument without a default, and for a function that takes none of `known` where
    there are any.
    """
    names = names_of(call)
    taken = tuple(argument for argument, needed in names.items() if needed or argument in known)
    wrong = [argument for argument in taken if argument not in known and not others(argument)]
    if wrong or not ({*taken} & {*known} if known else taken):
        rule, got = ", ".join(known) or "columns of numbers", ", ".join(wrong or names) or "none"
        raise ParameterError(f"metrics: the arguments of {name} must be of: {rule}; got {got}")
    return taken
