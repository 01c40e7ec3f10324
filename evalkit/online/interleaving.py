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
Bits = NDArray[np.unsignedinteger]  # each bit of a whole number is one rank, bit 0 the best
LONGEST = 64  # positions in a list: the free ranks of a user are the bits of one word
MOST = 7  # rankers in a draft
BLOCK = 2**14  # users drafted at once: their lists stay in the cache


@dataclass(frozen=True)
class Draft:
    """The lists shown to users. item, team: shape (users, positions); the team is the index of the
    ranker that gave the item. −1 is no item, or no team.
    """

    item: Ints
    team: Ints


def team_draft(rankings: ArrayLike, k: int, *, rng: np.random.Generator) -> Draft:
    """Draft by teams: in each round the rankers, in a new random order, pick their best item not
    yet in the list.

    rankings: shape (rankers, users, items), as in `draft`. k: the number of positions. With three
    or more rankers this is team-draft multileaving.
    Radlinski, Kurup, Joachims 2008, doi:10.1145/1458082.1458092; Schuth et al. 2014,
    doi:10.1145/2661829.2661952.

    >>> a, b = [1, 2, 3], [2, 3, 1]
    >>> drafted = team_draft([[a], [b]], 3, rng=np.random.default_rng(1))
    >>> drafted.item, drafted.team
    (array([[1, 2, 3]]), array([[0, 1, 1]]))
    """
    stack = _checked_stack(rankings, k)
    teams, users, _ = stack.shape
    orders = np.array(list(permutations(range(teams))))
    rounds = -(-k // teams)  # rounded up
    order_of_round = rng.integers(len(orders), size=(users, rounds))
    # a row of turns per user: the orders of its rounds, one after the other
    turns = orders[order_of_round].reshape(users, -1)[:, :k]
    return draft(stack, turns)


def alternate(rankings: ArrayLike, k: int, *, rng: np.random.Generator) -> Draft:
    """Draft in turns: the rankers pick in a fixed order, and a coin toss decides who is first.

    Items already in the list are skipped (Netflix 2017). rankings, k: as in `team_draft`.
    """
    stack = _checked_stack(rankings, k)
    teams, users, _ = stack.shape
    first = rng.integers(teams, size=(users, 1))
    return draft(stack, (first + np.arange(k)) % teams)


def probabilistic(
    rankings: ArrayLike, k: int, *, rng: np.random.Generator, tau: float = 3.0
) -> Draft:
    """Draft by a coin toss per position: the winner draws an item not yet in the list with
    probability ∝ rank^−tau.

    rankings, k: as in `team_draft`. Hofmann, Whiteson, de Rijke 2011, doi:10.1145/2063576.2063618.
    """
    stack = _checked_stack(rankings, k)
    teams, users, depth = stack.shape
    # Draws without replacement with probabilities ∝ rank^−tau are in the order of exponential times
    # with these rates. So each ranking is shuffled once, and the draft takes its first free items.
    rank = np.arange(1, depth + 1)
    time = rng.exponential(size=stack.shape) * rank**tau
    is_item = stack >= 0
    order = np.argsort(np.where(is_item, time, np.inf), axis=2)  # ends of lists come last
    shuffled = np.take_along_axis(stack, order, axis=2)
    winners = rng.integers(teams, size=(users, k))
    return draft(shuffled, winners)


def draft(rankings: ArrayLike, turns: ArrayLike) -> Draft:
    """Draft the lists: at each position the ranker whose turn it is picks its best item not yet in
    the list; one without such an item passes its turn to the next. If no ranker has one, item and
    team are −1.

    rankings: shape (rankers, users, items), best first, −1 after the end of a short list. turns:
    the index of a ranker, shape (users, positions).

    >>> draft([[[1, 2, 3]], [[2, 3, 1]]], [[1, 0, 0]]).item
    array([[2, 1, 3]])
    """
    rankers = np.asarray(turns)  # of each user and position
    users, positions = rankers.shape
    stack = _checked_stack(rankings, positions)
    item = np.empty(rankers.shape, dtype=np.int64)
    team = np.empty(rankers.shape, dtype=np.int64)  # the ranker that picked the item
    for start in range(0, users, BLOCK):  # users are independent: blocks of them stay in the cache
        block = slice(start, start + BLOCK)
        # Views that are filled in place. They are transposed, as the draft goes by position.
        _draft_block(stack[:, block], rankers[block].T, item[block].T, team[block].T)
    return Draft(item, team)


def _draft_block(rankings: Ints, turns: Ints, item: Ints, team: Ints) -> None:
    """Fill `item` and `team` with the draft of some users. rankings: shape (rankers, users, items).
    turns, item, team: shape (positions, users).

    For each ranker and user one whole number holds the free ranks, those of items that are not yet
    in the list: bit i is set if rank i is free. The best rank is bit 0, so that the lowest set bit
    is the next pick.
    """
    rankers = len(rankings)
    k, users = turns.shape
    # rank k, the last, is no item: what a ranker without free items picks
    lists = np.full((rankers, k + 1, users), -1)
    lists[:, : min(k, rankings.shape[2])] = rankings[:, :, :k].transpose(0, 2, 1)
    # the number 2^rank by rank, in the smallest type that holds k bits
    bit = (1 << np.arange(k, dtype=np.uint64)).astype(np.min_scalar_type(2**k - 1))
    is_item = lists[:, :k] >= 0
    free = np.bitwise_or.reduce(is_item * bit[:, None], axis=1)  # shape (rankers, users)
    bits_of_item = _bits_of_item(lists, bit)
    # From here on arrays are flat: `take` with one index is faster than an index for each axis. The
    # index of (ranker, rank, user) in `lists` is (ranker · (k + 1) + rank) · users + user.
    items = lists.ravel()
    bits_of_item = bits_of_item.reshape(rankers, -1)
    user = np.arange(users)
    for position in range(k):
        picker = turns[position].copy()  # of each user
        free_ranks = free.ravel().take(picker * users + user)
        for _ in range(rankers - 1):  # a ranker without free items passes its turn to the next
            if free_ranks.all():
                break
            picker = np.where(free_ranks == 0, (picker + 1) % rankers, picker)
            free_ranks = free.ravel().take(picker * users + user)
        rank = np.minimum(_lowest_bit_index(free_ranks), k)  # k, which is no item, if none is free
        pick = (picker * (k + 1) + rank) * users + user
        item[position] = items.take(pick)
        team[position] = np.where(free_ranks == 0, NO_TEAM, picker)
        free &= ~bits_of_item.take(pick, axis=1)  # no ranker may pick the item again


def _lowest_bit_index(numbers: Bits) -> NDArray[np.integer]:
    """The index of the lowest bit that is set in each number, from 0; for 0 the number of all bits
    of the type.

    >>> _lowest_bit_index(np.array([1, 6, 8, 0], dtype=np.uint8)).tolist()
    [0, 1, 3, 8]
    """
    lowest_bit = numbers & -numbers  # 2^index
    one = numbers.dtype.type(1)  # of the same type: no conversion
    lower_bits = lowest_bit - one  # 2^index − 1 has `index` bits set; 0 − 1 has all
    index: NDArray[np.integer] = np.bitwise_count(lower_bits)
    return index


def _bits_of_item(lists: Ints, bit: Bits) -> Bits:
    """For each item of one ranker's list, the bit of the rank that the item has in another list; 0
    if that list does not have it. Once a ranker picks an item, these are the bits to clear among
    the free ranks of all rankers.

    lists: shape (rankers, ranks + 1, users); the last rank is no item. bit: 2^rank by rank. Returns
    shape (rankers, rankers, ranks + 1, users): [a, b, i] is the bit in list a of item i of list b.
    """
    rankers, ends, users = lists.shape
    bits_of_item = np.zeros((rankers, rankers, ends, users), dtype=bit.dtype)
    for b in range(rankers):
        bits_of_item[b, b, :-1] = bit[:, None]  # in its own list an item has its own rank
        for a, i in product(range(b), range(bit.size)):
            # where list a has item i of list b: shape (ranks, users), 1 at no more than one rank
            is_same = (lists[a, :-1] == lists[b, i]).astype(bit.dtype)
            # the bit in list a of item i of list b: `or` over ranks picks the one that is not 0
            bits_of_item[a, b, i] = np.bitwise_or.reduce(is_same * bit[:, None], axis=0)
            # the other way round: the item of list a at that rank has rank i in list b
            bits_of_item[b, a, :-1] |= is_same * bit[i]
    return bits_of_item


def without_shared_start(drafted: Draft, rankings: ArrayLike) -> Draft:
    """The draft without a team for the items at its start on which all rankers agree: whoever
    picks there, the list is the same. rankings: those that the lists are drafted from.

    If two rankings are equal, no item has a team, so that the preference between them is exactly 0,
    not only on average.

    >>> twice = [[[1, 2, 3]], [[1, 3, 2]]]
    >>> without_shared_start(draft(twice, [[0, 1, 0]]), twice).team
    array([[-1,  1,  0]])
    """
    positions = drafted.item.shape[1]
    stack = np.asarray(rankings)
    is_same = (stack == stack[:1]).all(axis=0)[:, :positions]  # by user and rank
    # rankings may be shorter than the lists
    is_shared = np.zeros(drafted.item.shape, dtype=np.bool_)
    is_shared[:, : is_same.shape[1]] = np.logical_and.accumulate(is_same, axis=1)
    return Draft(drafted.item, np.where(is_shared, NO_TEAM, drafted.team))


def credit(drafted: Draft, outcome: ArrayLike, *, teams: int = 2) -> Floats:
    """The outcome of the items of each team, shape (users, teams). outcome: such as clicks or
    hours, shape (users, positions). teams: their number.

    >>> credit(Draft(np.array([[1, 2, 3]]), np.array([[0, 1, -1]])), [[1, 0.5, 9]])
    array([[1. , 0.5]])
    """
    amount = np.asarray(outcome, dtype=np.float64)
    columns = [np.where(drafted.team == team, amount, 0.0).sum(axis=1) for team in range(teams)]
    return np.stack(columns, axis=1)


def _checked_stack(rankings: ArrayLike, k: int) -> Ints:
    """A stack of rankings, shape (rankers, users, items), as an array of integers. k: the number
    of positions. Raises InputError for another shape or type, or too few or too many rankers;
    ParameterError for a list that is too long or empty.
    """
    try:
        stack = np.asarray(rankings)
    except ValueError:
        raise InputError("rankings must be of one length: fill short ones with −1") from None
    if stack.ndim != 3 or not np.issubdtype(stack.dtype, np.integer):
        raise InputError(
            f"rankings must be integers (rankers, users, items), got {stack.dtype} {stack.shape}"
        )
    if not 2 <= len(stack) <= MOST:
        raise InputError(f"rankings must come from 2 to {MOST} rankers, got {len(stack)}")
    if not 1 <= k <= LONGEST:
        raise ParameterError(f"k must be 1 to {LONGEST}, got {k}")
    return stack
