"""Interleaving: lists drafted per second for all users at once against the plain loop over users,
in one run.

python benchmarks/interleaving.py [users]
"""

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from results import Claim

from evalkit.online import interleaving

COVERS = ("evalkit/arrays.py", "evalkit/online/*.py")
K, CANDIDATES, LOOPED = 10, 40, 4000


def plain_team_draft(
    a: list[int], b: list[int], k: int, rng: np.random.Generator
) -> tuple[list[int], list[int]]:
    """Team draft as its paper writes it, one list."""
    lists = (a, b)
    count = [0, 0]
    item: list[int] = []
    team: list[int] = []
    seen: set[int] = set()
    while len(item) < k:
        turn = int(count[0] > count[1]) if count[0] != count[1] else int(rng.random() < 0.5)
        pick = next((one for one in lists[turn] if one not in seen), None)
        if pick is None:
            break
        item.append(pick)
        team.append(turn)
        seen.add(pick)
        count[turn] += 1
    return item, team


def rankings(users: int) -> np.ndarray:
    """Two rankings of 10 of 40 items for each user, made from one taste with noise."""
    rng = np.random.default_rng(3)
    taste = rng.normal(size=(users, CANDIDATES))
    order = [np.argsort(-(taste + rng.normal(size=taste.shape)), axis=1)[:, :K] for _ in range(2)]
    return np.stack(order)


def per_second(work: Callable[[], object], lists: int, runs: int = 3) -> float:
    """Lists per second of processor time, the best of some runs."""
    best = np.inf
    for _ in range(runs):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return lists / best


def main(users: int = 200_000) -> list[Claim]:
    """Prints lists per second of every method."""
    lists = rankings(users)
    rng = np.random.default_rng(4)
    pairs = [(a.tolist(), b.tolist()) for a, b in zip(*lists[:, :LOOPED], strict=True)]
    loop = per_second(lambda: [plain_team_draft(a, b, K, rng) for a, b in pairs], len(pairs))
    print(f"{'method':<28} {'lists/s':>12}  times the loop   ({users:,} users, lists of {K})")
    print(f"{'team draft, plain loop':<28} {loop:>12,.0f}  {1.0:>6.1f}")
    found = {}
    for draw in (interleaving.team_draft, interleaving.alternate, interleaving.probabilistic):
        found[draw.__name__] = per_second(partial(draw, lists, K, rng=rng), users)
        print(
            f"{draw.__name__:<28} {found[draw.__name__]:>12,.0f}  "
            f"{found[draw.__name__] / loop:>6.1f}"
        )
    return [
        Claim(
            "lists drafted a second, team draft / plain loop", found["team_draft"] / loop, ">= 10"
        )
    ]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
