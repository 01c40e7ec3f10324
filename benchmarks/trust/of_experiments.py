"""Worlds of experiments: users whose past tells what they do, heavy users, data that are tested as
they grow, and what would show of revenue, ranked lists and answers.
"""

from functools import partial

import numpy as np
import pandas as pd
from world import Draw, Generator, Inputs, World, ids, logistic

from evalkit.limits import Limits, ReadingLimits

ITEMS = 20


def _arms(rng: Generator, n: int, systems: str) -> np.ndarray:
    """Arms of equal size."""
    return rng.permutation(np.resize(list(systems), n))


def known_before(systems: str = "ab", gain: float = 0.0, share: float = -1.0) -> Draw:
    """Users whose earlier use tells what they buy and how much; the last arm gains in both.

    share: log odds of those who buy.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        arm = _arms(rng, n, systems)
        use = rng.normal(0, 1, n)
        better = np.where(arm == systems[-1], gain, 0.0)
        table = {
            "user": ids(n),
            "arm": arm,
            "bought": (rng.random(n) < logistic(share + 2.5 * use + better)).astype(int),
            "orders": rng.poisson(np.exp(0.7 * use + better)),
            "use": use + rng.normal(0, 0.2, n),
        }
        return {"users": pd.DataFrame(table)}

    return draw


def heavy_users(rng: Generator, n: int) -> Inputs:
    """Users of whom few make most visits, and who click more than the others."""
    heavy = rng.normal(0, 1, n)
    visits = 1 + rng.poisson(np.exp(0.7 + 1.2 * heavy))
    chance = logistic(-1.5 + 0.5 * heavy + rng.normal(0, 0.7, n))
    table = {
        "user": ids(n),
        "arm": _arms(rng, n, "ab"),
        "visits": visits,
        "clicks": rng.binomial(visits, chance),
        "revenue": visits * rng.lognormal(0, 0.8, n),
    }
    return {"users": pd.DataFrame(table)}


def spending(lift: float) -> Draw:
    """Users of three arms who spend lognormal amounts; the last spends more."""

    def draw(rng: Generator, n: int) -> Inputs:
        arm = _arms(rng, n, "abc")
        spent = rng.lognormal(0, 1, n) * np.where(arm == "c", 1 + lift, 1.0)
        return {"users": pd.DataFrame({"user": ids(n), "arm": arm, "revenue": spent})}

    return draw


def buyers(lift: float, arms: str = "abc") -> Draw:
    """Users of three arms of whom one in ten buys, for lognormal amounts; the last for more.

    arms: an arm as often as it has its share of the users.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        arm = _arms(rng, n, arms)
        spent = (rng.random(n) < 0.1) * rng.lognormal(0, 1.2, n)
        spent *= np.where(arm == "c", 1 + lift, 1.0)
        return {"users": pd.DataFrame({"user": ids(n), "arm": arm, "revenue": spent})}

    return draw


def growing(rng: Generator, n: int) -> Inputs:
    """Values of ten pairs of equally good systems."""
    level = rng.normal(5, 1, (n, 10)).repeat(2, axis=1)
    values = level + rng.normal(0, 1, level.shape)
    table = pd.DataFrame(values, columns=[f"{side}{pair}" for pair in range(10) for side in "ab"])
    table.insert(0, "unit", ids(n))
    return {"preds": table}


def better_lists(rng: Generator, n: int, gain: float) -> Inputs:
    """Lists of three systems, which see the same queries alike; the last finds more."""
    chance = rng.beta(0.4, 1.6, (n, 1))
    grade = (rng.random((n, ITEMS)) < chance).astype(int)
    grade[:, 0] = 1  # every query has an answer
    shared = rng.normal(0, 0.8, grade.shape)
    frames = []
    for system in "abc":
        skill = 1.2 + (gain if system == "c" else 0.0)
        score = skill * grade + shared + rng.normal(0, 0.6, grade.shape)
        columns = {
            "system": system,
            "query": np.repeat(np.char.add("q", ids(n)), ITEMS),
            "item": np.tile(np.char.add("i", ids(ITEMS)), n),
            "score": score.ravel(),
            "grade": grade.ravel(),
        }
        frames.append(pd.DataFrame(columns))
    return {"preds": pd.concat(frames, ignore_index=True)}


def better_answers(rng: Generator, n: int, gain: float, ease: float = 0.3) -> Inputs:
    """Five answers of three systems to each question; the last is right more often."""
    better = np.array([0.0, 0.0, gain])[:, None]
    merit = rng.normal(ease, 1.5, n) + better + rng.normal(0, 0.7, (3, n))
    right = rng.random((5, 3, n)) < logistic(merit)
    trial, system, task = (place.ravel() for place in np.indices(right.shape))
    table = {"task_id": task, "system": np.array(list("abc"))[system], "trial": trial}
    return {"preds": pd.DataFrame(table | {"reward": right.ravel().astype(int)})}


BY_T = Limits(reading=ReadingLimits(max_listed=10))  # as of many units: no signs are drawn
OF_CUPED = ("values", "differences", "lifts", "adjustments")
CUPED = {"world": "none", "before": "use"}
RATIOS = {"world": "none", "metrics": "clicks/visits,revenue/visits"}
REVENUE = {"world": "none", "metrics": "revenue"}


def _users(name: str, n: int, draw: Draw, parameters: dict, *frames: str, many: int) -> World:
    return World(name, "interleaving", n, draw, parameters, frames, many=many)


EXPERIMENTS = (
    *(
        _users(
            f"CUPED of {metric}",
            n,
            known_before(),
            CUPED | {"metrics": metric},
            *OF_CUPED,
            many=200_000,
        )
        for metric in ("bought", "orders")
        for n in (200, 4000)
    ),
    *(
        _users(
            f"CUPED of {metric}, gain",
            n,
            known_before("ba", 0.2),
            CUPED | {"metrics": metric},
            "apart",
            many=1_000_000,
        )
        for metric, n in (("bought", 1000), ("orders", 1000))
    ),
    *(
        _users("heavy users, ratios", n, heavy_users, RATIOS, "values", "differences", many=400_000)
        for n in (300, 2000)
    ),
    *(
        World(
            f"tested at {count} looks",
            "significance",
            40 * count,
            growing,
            {"looks": count},
            ("looks",),
            limits=BY_T,
        )
        for count in (2, 5, 10)
    ),
    _users("power, spending", 600, spending(0.53), REVENUE, "planned", many=20_000),
    _users("power, revenue of three arms", 6000, buyers(0.95), REVENUE, "planned", many=20_000),
    _users("power, few buyers", 600, buyers(3.6), REVENUE, "planned", many=20_000),
    _users(
        "power, few buyers, arms 8 to 1",
        2000,
        buyers(3.0, "aaaaaaaabc"),
        REVENUE,
        "planned",
        many=20_000,
    ),
    _users(
        "power, CUPED of bought",
        1500,
        known_before("abc", 0.55),
        CUPED | {"metrics": "bought"},
        "planned",
        many=20_000,
    ),
    _users(
        "power, CUPED of orders",
        1500,
        known_before("abc", 0.185),
        CUPED | {"metrics": "orders"},
        "planned",
        many=20_000,
    ),
    *(
        World(
            "power, nDCG@5",
            "ranking",
            n,
            partial(better_lists, gain=gain),
            {"metrics": "ndcg@5"},
            ("planned",),
        )
        for n, gain in ((50, 0.48), (200, 0.24))
    ),
    *(
        World(
            "power, pass@1",
            "significance",
            n,
            partial(better_answers, gain=gain),
            {"metrics": "pass@1"},
            ("planned",),
        )
        for n, gain in ((50, 0.9), (200, 0.44))
    ),
    World(
        "power, pass@1 of hard questions",
        "significance",
        100,
        partial(better_answers, gain=0.7, ease=-2.5),
        {"metrics": "pass@1"},
        ("planned",),
    ),
)
