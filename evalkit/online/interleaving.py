"""Interleaving: one list drafted from several rankers, and the credit that each ranker earns from
its items.

A stack of rankings is an integer array (rankers, users, items): best item first, −1 after the end
of a short list. The lists of all users are drafted at once.
"""

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.arrays import Floats, InputError, Ints, ParameterError

NO_TEAM = -1
LONGEST = 64  # positions in a list: the free ranks of a user are the bits of one word
MOST = 7  # rankers in a draft
BLOCK = 2**14  # users drafted at once: their lists stay in the cache


@dataclass(frozen=True)
class Draft:
    """The lists shown: `item` and `team`, both (users, positions); −1 means no item or no team."""

    item: Ints
    team: Ints


def team_draft(rankings: Ints, k: int, *, rng: np.random.Generator) -> Draft:
    """Draft by teams: in each round the rankers, in a new random order, pick their best item not
    yet in the list.

    With three or more rankers this is team-draft multileaving.
    Radlinski, Kurup, Joachims 2008, doi:10.1145/1458082.1458092; Schuth et al. 2014,
    doi:10.1145/2661829.2661952.

    >>> a, b = [1, 2, 3], [2, 3, 1]
    >>> drafted = team_draft(np.array([[a], [b]]), 3, rng=np.random.default_rng(1))
    >>> drafted.item, drafted.team
    (array([[1, 2, 3]]), array([[0, 1, 1]]))
    """
    teams, users, _ = _stack(rankings, k)
    orders = np.array(list(permutations(range(teams))))
    rounds = rng.integers(len(orders), size=(users, -(-k // teams)))
    return draft(rankings, orders[rounds].reshape(users, -1)[:, :k])


def alternate(rankings: Ints, k: int, *, rng: np.random.Generator) -> Draft:
    """Draft in turns.

    One coin toss decides the first pick, and items already in the list are skipped (Netflix 2017).
    """
    teams, users, _ = _stack(rankings, k)
    return draft(rankings, (rng.integers(teams, size=(users, 1)) + np.arange(k)) % teams)


def probabilistic(rankings: Ints, k: int, *, rng: np.random.Generator, tau: float = 3.0) -> Draft:
    """Draft by a coin toss per position: the winner draws an item not yet in the list with
    probability ∝ rank^−tau.

    Drawing without replacement equals a race of exponential clocks, so each ranking is shuffled
    only once. Hofmann, Whiteson, de Rijke 2011, doi:10.1145/2063576.2063618.
    """
    teams, users, depth = _stack(rankings, k)
    clock = rng.exponential(size=rankings.shape) * np.arange(1, depth + 1) ** tau
    order = np.argsort(np.where(rankings < 0, np.inf, clock), axis=2)
    return draft(np.take_along_axis(rankings, order, axis=2), rng.integers(teams, size=(users, k)))


def draft(rankings: Ints, turns: Ints) -> Draft:
    """Draft the lists in the order `turns`, (users, positions); a team without items passes its
    turn on.

    >>> draft(np.array([[[1, 2, 3]], [[2, 3, 1]]]), np.array([[1, 0, 0]])).item
    array([[2, 1, 3]])
    """
    _, users, _ = _stack(rankings, turns.shape[1])
    item = np.empty(turns.shape, dtype=np.int64)
    team = np.empty(turns.shape, dtype=np.int64)
    for start in range(0, users, BLOCK):
        part = slice(start, start + BLOCK)
        _draft_block(rankings[:, part], turns[part].T, item[part].T, team[part].T)
    return Draft(item, team)


def _draft_block(rankings: Ints, turns: Ints, item: Ints, team: Ints) -> None:
    """Fill item and team, (positions, users). Each free rank is a bit: the lowest set bit is the
    next pick.
    """
    teams = len(rankings)
    k, users = turns.shape
    lists = np.full((teams, k + 1, users), -1)  # row k is the end of a list
    lists[:, : min(k, rankings.shape[2])] = rankings[:, :, :k].transpose(0, 2, 1)
    bit = (1 << np.arange(k, dtype=np.uint64)).astype(np.min_scalar_type(2**k - 1))
    same = _same_item(lists, bit)
    free = np.bitwise_or.reduce((lists[:, :k] >= 0) * bit[:, None], axis=1)
    same = same.reshape(teams, -1)
    items = lists.ravel()
    user = np.arange(users)
    for place in range(k):
        picker = turns[place].copy()
        left = free.ravel().take(picker * users + user)
        for _ in range(teams - 1):
            if left.all():
                break
            picker = np.where(left == 0, (picker + 1) % teams, picker)
            left = free.ravel().take(picker * users + user)
        rank = np.minimum(np.bitwise_count((left & -left) - bit[0]), k)
        pick = (picker * (k + 1) + rank) * users + user
        item[place] = items.take(pick)
        team[place] = np.where(left == 0, NO_TEAM, picker)
        free &= ~same.take(pick, axis=1)


def _same_item(lists: Ints, bit: NDArray) -> NDArray:
    """[a, b, i]: the bit of the rank that item i of list b has in list a, 0 if a does not have
    it.
    """
    teams, ends, users = lists.shape
    same = np.zeros((teams, teams, ends, users), dtype=bit.dtype)
    for b in range(teams):
        same[b, b, :-1] = bit[:, None]
        for a, i in product(range(b), range(bit.size)):
            hit = (lists[a, :-1] == lists[b, i]).astype(bit.dtype)
            same[b, a, :-1] |= hit * bit[i]
            same[a, b, i] = np.bitwise_or.reduce(hit * bit[:, None], axis=0)
    return same


def without_shared_start(drafted: Draft, rankings: Ints) -> Draft:
    """Return the draft without a team for the first items on which all rankers agree: there the
    coin is irrelevant.

    If two rankings are equal, no item has a team, so that their preference is exactly 0, not only
    on average.

    >>> twice = np.array([[[1, 2, 3]], [[1, 3, 2]]])
    >>> without_shared_start(draft(twice, np.array([[0, 1, 0]])), twice).team
    array([[-1,  1,  0]])
    """
    same = (rankings == rankings[:1]).all(axis=0)[:, : drafted.item.shape[1]]
    shared = np.zeros(drafted.item.shape, dtype=np.bool_)
    shared[:, : same.shape[1]] = np.logical_and.accumulate(same, axis=1)
    return Draft(drafted.item, np.where(shared, NO_TEAM, drafted.team))


def credit(drafted: Draft, outcome: ArrayLike, *, teams: int = 2) -> Floats:
    """The outcome by list and team, (users, teams). outcome: clicks or hours, shape (users,
    positions).

    >>> credit(Draft(np.array([[1, 2, 3]]), np.array([[0, 1, -1]])), [[1, 0.5, 9]])
    array([[1. , 0.5]])
    """
    amount = np.asarray(outcome, dtype=np.float64)
    return np.stack(
        [np.where(drafted.team == t, amount, 0.0).sum(axis=1) for t in range(teams)], axis=1
    )


def _stack(rankings: Ints, k: int) -> tuple[int, int, int]:
    """Return the shape of a stack of rankings; raise InputError or ParameterError if it is
    invalid.
    """
    if rankings.ndim != 3 or not np.issubdtype(rankings.dtype, np.integer):
        raise InputError(
            f"rankings must be integers (rankers, users, items), got {rankings.dtype} "
            f"{rankings.shape}"
        )
    if not 2 <= rankings.shape[0] <= MOST:
        raise InputError(f"rankings must come from 2 to {MOST} rankers, got {rankings.shape[0]}")
    if not 1 <= k <= LONGEST:
        raise ParameterError(f"k must be 1 to {LONGEST}, got {k}")
    return rankings.shape
