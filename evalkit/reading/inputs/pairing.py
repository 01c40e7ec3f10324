"""Rows of several systems paired by their ids, and the errors for ids and values that do not fit together."""

from collections.abc import Callable, Sequence

import numpy as np

from evalkit.arrays import InputError, Ints, codes


def nothing_shared(names: Sequence[str]) -> InputError:
    """The error for systems without a row in common."""
    return InputError(f"systems {', '.join(map(repr, names))} must share ids, got none in common")


def twice(place: str, id: str, system: str | None = None) -> InputError:
    """The error for an id that a system, or a wide table, has more than once."""
    return InputError(f"{place}: id {id!r} must appear once{f' in system {system!r}' if system else ''}, got it again")


def not_one(place: str, column: str, id: str, a: object, b: object) -> InputError:
    """The error for a value that systems share and do not agree on."""
    return InputError(f"{place}: {column} must have one value for id {id!r}, got {str(a)!r} and {str(b)!r}")


def other_folds(place: str, id: str, folds: Sequence[str], name: str, other: str) -> InputError:
    """The error for an id that two systems have in different parts, such as folds."""
    return InputError(
        f"{place}: id {id!r} must be in the same folds in every system, got fold {', '.join(map(repr, folds))} only "
        f"in system {name!r} and other folds in system {other!r}"
    )


def joined(
    rows: list[Ints], id: np.ndarray, parts: list[np.ndarray], names: list[str], place: Callable[[int], str]
) -> list[Ints]:
    """For each system its rows of the ids that all have, in the order of the ids, then of the parts they stand in."""
    of_id = codes(id)[0]
    code = of_id
    for part in parts:
        number, distinct = codes(part)
        code = np.unique(code * distinct.size + number, return_inverse=True)[1]
    for name, at in zip(names, rows, strict=True):
        if (row := repeated(code, at)) is not None:
            raise twice(place(row), id[row], name)
    pairs = paired(code, rows)
    if parts:
        _same_parts(rows, pairs, of_id, parts, id, names, place)
    return pairs


def _same_parts(
    rows: list[Ints],
    pairs: list[Ints],
    of_id: Ints,
    parts: list[np.ndarray],
    id: np.ndarray,
    names: list[str],
    place: Callable[[int], str],
) -> None:
    """Raise InputError if systems share an id and hold it in different parts, such as folds."""
    for name, at, kept in zip(names, rows, pairs, strict=True):
        alone = np.setdiff1d(at, kept)
        for other, theirs in zip(names, rows, strict=True):
            odd = alone[np.isin(of_id[alone], of_id[theirs])] if other != name else alone[:0]
            if odd.size:
                row = int(odd[0])
                raise other_folds(place(row), id[row], [str(part[row]) for part in parts], name, other)


def repeated(code: Ints, at: Ints) -> int | None:
    """Of the rows `at`, the first in the order of their codes whose code an earlier row has; None where there is none.

    >>> repeated(np.array([7, 3, 7]), np.arange(3))
    2
    """
    order = at[np.argsort(code[at], kind="stable")]
    again = np.flatnonzero(code[order][1:] == code[order][:-1])
    return int(order[again[0] + 1]) if again.size else None


def paired(code: Ints, rows: Sequence[Ints]) -> list[Ints]:
    """For each system its rows of the codes that all have, in the order of the codes; no system has a code twice.

    >>> paired(np.array([5, 7, 7, 6]), [np.array([0, 1]), np.array([2, 3])])
    [array([1]), array([2])]
    """
    count = np.bincount(np.concatenate([code[at] for at in rows]), minlength=1)
    ordered = (at[np.argsort(code[at], kind="stable")] for at in rows)
    return [at[count[code[at]] == len(rows)] for at in ordered]


def differing(values: np.ndarray, rows: Sequence[Ints]) -> tuple[int, int] | None:
    """A row of the first system and one of another, paired, whose values differ; None where all agree."""
    for at in rows[1:]:
        differs = np.flatnonzero(values[at] != values[rows[0]])
        if differs.size:
            return int(rows[0][differs[0]]), int(at[differs[0]])
    return None


def agree(column: str, values: np.ndarray, rows: list[Ints], id: np.ndarray, place: Callable[[int], str]) -> None:
    """Raise InputError if two systems give one row different values of what they share."""
    if pair := differing(values, rows):
        raise not_one(place(pair[1]), column, id[pair[1]], values[pair[0]], values[pair[1]])
