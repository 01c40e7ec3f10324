"""Worlds of users of experiments that no method was chosen by: `FRESH_EXPERIMENTS`, by round."""

from functools import partial

import numpy as np
import pandas as pd
from world import Draw, Generator, Inputs, fresh_world, ids


def visits(share: float) -> Draw:
    """Users of whom an arm has a share: counts of visits that vary more than Poisson's, and what
    comes of them.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        count = rng.negative_binomial(1.5, 0.3, n) + 1
        table = {
            "user": ids(n),
            "arm": np.where(np.arange(n) < round(share * n), "a", "b"),
            "orders": rng.binomial(count, rng.beta(1, 6, n)),
            "visits": count,
            "came_back": (rng.random(n) < 0.35).astype(int),
        }
        return {"users": pd.DataFrame(table)}

    return draw


def spenders(rng: Generator, n: int) -> Inputs:
    """Users of two equal arms, six in ten of whom spend an amount with a moderate tail."""
    spent = (rng.random(n) < 0.6) * rng.gamma(1.2, 20, n)
    arm = np.where(np.arange(n) % 2 == 0, "a", "b")
    return {
        "users": pd.DataFrame(
            {"user": ids(n), "arm": arm, "spent": spent, "items": rng.poisson(2, n)}
        )
    }


def one_to_four(rng: Generator, n: int) -> Inputs:
    """Users of whom one in five is treated; half of them buy, for amounts with a moderate tail."""
    spent = (rng.random(n) < 0.5) * rng.gamma(0.9, 30, n)
    pages = 1 + rng.poisson(4, n)
    arm = np.where(np.arange(n) < n // 5, "a", "b")
    table = {
        "user": ids(n),
        "arm": arm,
        "spent": spent,
        "pages": pages,
        "hits": rng.binomial(pages, 0.3),
    }
    return {"users": pd.DataFrame(table)}


def one_to_two(rng: Generator, n: int) -> Inputs:
    """A third of the users is treated; three in ten buy, for lognormal amounts."""
    spent = (rng.random(n) < 0.3) * rng.lognormal(3, 0.8, n)
    seen = 1 + rng.negative_binomial(2, 0.3, n)
    table = {
        "user": ids(n),
        "arm": np.where(np.arange(n) < n // 3, "a", "b"),
        "spent": spent,
        "seen": seen,
    }
    return {"users": pd.DataFrame(table | {"clicked": rng.binomial(seen, rng.beta(1, 6, n))})}


def two_to_three(rng: Generator, n: int) -> Inputs:
    """Two fifths of the users are treated; half of them buy, for gamma amounts."""
    spent = (rng.random(n) < 0.5) * rng.gamma(1.5, 20, n)
    seen = 1 + rng.poisson(6, n)
    table = {
        "user": ids(n),
        "arm": np.where(np.arange(n) < 2 * n // 5, "a", "b"),
        "spent": spent,
        "seen": seen,
    }
    return {"users": pd.DataFrame(table | {"clicked": rng.binomial(seen, rng.beta(2, 8, n))})}


def shoppers(rng: Generator, n: int, buyers: float, sigma: float, share: float) -> Inputs:
    """Users of whom few buy, for lognormal amounts; share: of the users in the first arm."""
    spent = (rng.random(n) < buyers) * rng.lognormal(3, sigma, n)
    visits = rng.zipf(2.2, n).clip(max=60)
    arm = np.where(rng.random(n) < share, "a", "b")
    table = {
        "user": ids(n),
        "arm": arm,
        "spent": spent,
        "visits": visits,
        "orders": rng.binomial(visits, 0.12),
    }
    return {"users": pd.DataFrame(table)}


CLICKS = {"metrics": "spent,clicked/seen,clicked", "world": "none"}
ORDERS = {"metrics": "spent,orders/visits,orders", "world": "none"}
fresh = partial(fresh_world, "interleaving")
FRESH_EXPERIMENTS = (
    fresh(
        1,
        "visits, arms 1 to 3",
        160,
        visits(0.25),
        {"metrics": "orders,came_back,orders/visits", "world": "none"},
    ),
    fresh(2, "spenders", 120, spenders, {"metrics": "spent,items,spent/items", "world": "none"}),
    fresh(
        3, "arms 1 to 4", 250, one_to_four, {"metrics": "spent,hits,hits/pages", "world": "none"}
    ),
    fresh(4, "arms 1 to 2", 180, one_to_two, CLICKS),
    fresh(5, "arms 2 to 3", 260, two_to_three, CLICKS),
    fresh(6, "shoppers", 900, partial(shoppers, buyers=0.2, sigma=1.0, share=0.5), ORDERS),
    fresh(
        6,
        "one shopper in ten treated",
        1500,
        partial(shoppers, buyers=0.3, sigma=0.8, share=0.1),
        ORDERS,
    ),
    fresh(
        7,
        "one shopper in three buys",
        400,
        partial(shoppers, buyers=0.35, sigma=0.9, share=0.5),
        ORDERS,
    ),
    fresh(
        7,
        "a fifth of the shoppers treated",
        1000,
        partial(shoppers, buyers=0.25, sigma=1.0, share=0.2),
        ORDERS,
    ),
    fresh(
        8,
        "one shopper in four buys",
        600,
        partial(shoppers, buyers=0.25, sigma=0.7, share=0.5),
        ORDERS,
    ),
)
