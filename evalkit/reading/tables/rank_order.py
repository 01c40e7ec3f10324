"""The order of rows that a ranking has."""

from collections.abc import Callable

import numpy as np

from evalkit.arrays import Bools, Floats, Ints
from evalkit.metrics import keys
from evalkit.reading.tables.row_keys import blocks, numbered, runs


def by_rank(of: Ints, score: Floats, item: Callable[[Ints], Ints]) -> tuple[Ints, Bools]:
    """The order of rows by list, then score descending, then item descending; `item` ranks the items of some rows.

    Second, which rows of that order have the list and the score of the one before. Lists that come in one piece, best
    score first, are only put in order; else a sort of a packed key, the list above the leading bits of the score, puts
    all rows in place but those whose keys are equal: these few are sorted exactly.

    >>> order, tied = by_rank(np.array([0, 0, 0]), np.array([0.5, 0.9, 0.5]), lambda rows: rows)
    >>> order.tolist(), tied.tolist()
    ([1, 2, 0], [False, False, True])
    """
    order, same = _pieces(of, score) or _by_score(of, score)
    rows = np.flatnonzero(runs(same))
    if len(rows):
        some = order[rows]
        order[rows] = some[np.lexsort((-item(some), -score[some], of[some]))]
    return order, same


def _by_score(of: Ints, score: Floats) -> tuple[Ints, Bools]:
    """What `by_rank` gives, ties unordered."""
    order, same = numbered(keys.packed(of, score))
    rows = np.flatnonzero(runs(same))
    if len(rows):
        some = order[rows]
        order[rows] = some = some[np.lexsort((-score[some], of[some]))]
        same[rows[1:]] = (of[some[1:]] == of[some[:-1]]) & (score[some[1:]] == score[some[:-1]])
    return order, same


def _pieces(of: Ints, score: Floats) -> tuple[Ints, Bools] | None:
    """What `by_rank` gives, ties unordered, where each list is one piece whose scores never rise; else None."""
    fresh = np.empty(max(len(of) - 1, 0), bool)
    for at in blocks(len(fresh)):  # the first block tells of most others
        np.not_equal(of[1:][at], of[:-1][at], out=fresh[at])
        if not (fresh[at] | (score[1:][at] <= score[:-1][at])).all():
            return None
    start = np.concatenate([[0], np.flatnonzero(fresh) + 1])[: len(of)]
    code = of[start]
    turn = np.argsort(code)
    if (code[turn[1:]] == code[turn[:-1]]).any():
        return None
    size = np.diff(start, append=len(of))[turn]
    begins = np.cumsum(size) - size
    order = np.repeat(start[turn] - begins, size)
    order += np.arange(len(of))
    ranked, same = score[order], np.zeros(len(of), bool)
    np.equal(ranked[1:], ranked[:-1], out=same[1:])
    same[begins] = False
    return order, same
