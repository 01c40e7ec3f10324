"""Ranked lists, values per unit, users of experiments, interleaved sessions."""

from typing import Any

import numpy as np
import pandas as pd
from of_rows import Errors
from world import Draw, Generator, Inputs, ids, logistic, sizes

# Ranked lists -------------------------------------------------------------------------------------

RANKING = (
    "ndcg@10,average_precision,reciprocal_rank,precision@10,recall@10,hit_rate@5,hit_ratio@5,gauc"
)
ITEMS = 20


def ranking(relevant: float, skill: float, spread: float | None = None) -> Draw:
    """Queries with 20 candidate items, each relevant with a chance of its query's own. spread: of
    queries per user.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        user = np.arange(n) if spread is None else np.repeat(np.arange(n), sizes(rng, n, spread))
        queries = len(user)
        chance = rng.beta(2 * relevant, 2 * (1 - relevant), (n, 1))[user]
        grade = (rng.random((queries, ITEMS)) < chance).astype(int)
        grade[:, 0] = 1  # every query has an answer
        frames = []
        for system in "ab":
            columns = {
                "system": system,
                "query": np.repeat(np.char.add("q", np.arange(queries).astype(str)), ITEMS),
                "item": np.tile(np.char.add("i", np.arange(ITEMS).astype(str)), queries),
                "score": (skill * grade + rng.normal(0, 1, grade.shape)).ravel(),
                "grade": grade.ravel(),
            }
            by_user = {} if spread is None else {"user": np.repeat(user.astype(str), ITEMS)}
            frames.append(pd.DataFrame(columns | by_user))
        return {"preds": pd.concat(frames, ignore_index=True)}

    return draw


def listed(users: float | None = None) -> Draw:
    """The lists of one system, and a table of 300 items of six categories, few of which are
    popular.
    """
    many = 300
    share = 1 / np.arange(1, many + 1)
    category = np.arange(many) % 6
    features = np.random.default_rng(1).normal(0, 1, (many, 3))
    items = pd.DataFrame(
        {"item": np.char.add("i", np.arange(many).astype(str)), "category": category.astype(str)}
    )
    items = items.assign(
        popularity=np.ceil(5_000 * share), **{f"feature_{j}": features[:, j] for j in range(3)}
    )

    def draw(rng: Generator, n: int) -> Inputs:
        user = np.arange(n) if users is None else np.repeat(np.arange(n), sizes(rng, n, users))
        queries = len(user)
        taste = rng.integers(0, 6, n)[user]
        merit = (
            np.log(share) + 1.5 * (category == taste[:, None]) + rng.gumbel(0, 1, (queries, many))
        )
        top = np.argsort(-merit, axis=1)[:, :10]
        table = {
            "query": np.repeat(np.char.add("q", np.arange(queries).astype(str)), 10),
            "user": np.repeat(user.astype(str), 10),
            "item": np.char.add("i", top.ravel().astype(str)),
            "score": np.tile(-np.arange(10.0), queries),
            "grade": (rng.random(10 * queries) < 0.3).astype(int),
        }
        return {"preds": pd.DataFrame(table).assign(system="a"), "items": items}

    return draw


# Values per unit, users of an experiment, sessions ------------------------------------------------


def paired(differences: Errors) -> Draw:
    """A wide table of values, whose paired differences are symmetric: the systems are
    exchangeable.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        level = rng.normal(5, 1, n)
        return {
            "preds": pd.DataFrame(
                {"unit": ids(n)} | {name: level + differences(rng, n) for name in "ab"}
            )
        }

    return draw


def skewed(differences: Errors) -> Draw:
    """Paired differences of mean 0 that are not symmetric: equal means, but no exchangeable
    systems.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        level = rng.normal(5, 1, n)
        return {
            "preds": pd.DataFrame({"unit": ids(n), "a": level + differences(rng, n), "b": level})
        }

    return draw


def exponential(rng: Generator, size: Any) -> np.ndarray:
    """Mean 0, skewness 2."""
    return rng.exponential(1, size) - 1


TAILS = {
    "exponential": exponential,
    "lognormal": lambda rng, size: rng.lognormal(0, 1, size) - np.exp(0.5),
}


def at_margin(tail: str) -> Draw:
    """Skewed differences whose mean is 1, with the tail beyond it: few are large, so most means are
    too small.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        level = rng.normal(5, 1, n)
        return {
            "preds": pd.DataFrame(
                {"unit": ids(n), "a": level + 1 + TAILS[tail](rng, n), "b": level}
            )
        }

    return draw


def several(count: int, differences: Errors) -> Draw:
    """A wide table of so many systems that are equally good."""

    def draw(rng: Generator, n: int) -> Inputs:
        level = rng.normal(5, 1, n)
        return {
            "preds": pd.DataFrame(
                {"unit": ids(n)} | {s: level + differences(rng, n) for s in "abcdefghi"[:count]}
            )
        }

    return draw


def better(by: float) -> Draw:
    """Two systems, the first of which is better by so many standard deviations of a value."""

    def draw(rng: Generator, n: int) -> Inputs:
        level = rng.normal(5, 1, n)
        return {
            "preds": pd.DataFrame(
                {
                    "unit": ids(n),
                    "a": level + rng.normal(by, 1, n),
                    "b": level + rng.normal(0, 1, n),
                }
            )
        }

    return draw


def clustered(rng: Generator, n: int) -> Inputs:
    """Values of rows that lie in n units of unlike size."""
    unit = np.repeat(np.arange(n), sizes(rng, n, 0.7))
    level = rng.normal(5, 1, len(unit))
    lean = rng.normal(0, 0.5, (2, n))[:, unit]
    values = {
        name: level + side + rng.normal(0, 1, len(unit))
        for name, side in zip("ab", lean, strict=True)
    }
    return {"preds": pd.DataFrame({"user": unit.astype(str)} | values)}


def trials(first: float, second: float, share: float = 0.5) -> Draw:
    """Counts of successes of two systems; the first has a share of the n trials."""

    def draw(rng: Generator, n: int) -> Inputs:
        sizes = np.array([round(share * n), n - round(share * n)])
        table = {
            "system": ["a", "b"],
            "successes": rng.binomial(sizes, [first, second]),
            "trials": sizes,
        }
        return {"preds": pd.DataFrame(table)}

    return draw


def right_or_wrong(share: float) -> Draw:
    """A wide table of 0 and 1."""

    def draw(rng: Generator, n: int) -> Inputs:
        chance = rng.beta(4 * share, 4 * (1 - share), n)
        return {
            "preds": pd.DataFrame(
                {"unit": ids(n)} | {s: (rng.random(n) < chance) * 1.0 for s in "ab"}
            )
        }

    return draw


def answers(draws: int) -> Draw:
    """So many answers of two systems to each question, whose chance to be right is the question's
    own and its own.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        return _answered(rng, logistic(rng.normal(0.3, 1.5, n) + rng.normal(0, 0.7, (2, n))), draws)

    return draw


def drawn_again(draws: int) -> Draw:
    """Such answers to questions that are the same in every sample, to which both systems are
    equally likely right.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        chance = logistic(np.random.default_rng(2).normal(0.3, 1.5, 30))
        return _answered(rng, np.resize(chance, (2, n)), draws)

    return draw


def _answered(rng: Generator, chance: np.ndarray, draws: int) -> Inputs:
    """A table of answers, with the chance of each system and question to be right."""
    passed = rng.random((draws, *chance.shape)) < chance
    trial, system, task = (place.ravel() for place in np.indices(passed.shape))
    table = {
        "task_id": task,
        "system": np.array(["a", "b"])[system],
        "trial": trial,
        "reward": passed.ravel() * 1,
    }
    return {"preds": pd.DataFrame(table)}


def tasks(rng: Generator, n: int) -> Inputs:
    """Questions right or wrong in n tasks of unlike size; systems differ by task, and by no more
    over all.
    """
    task = np.repeat(np.arange(n), sizes(rng, n, 0.7) * 10)
    level = rng.normal(0.3, 1, n)[task] + rng.normal(0, 1, len(task))
    lean = rng.normal(0, 0.5, (2, n))[:, task]
    right = {
        s: (rng.random(len(task)) < logistic(level + side)) * 1
        for s, side in zip("ab", lean, strict=True)
    }
    return {"preds": pd.DataFrame({"question": ids(len(task)), "task": task.astype(str)} | right)}


TASKS = 20  # the same in every sample


def same_tasks(rng: Generator, n: int) -> Inputs:
    """n questions, right or wrong, of each of 20 tasks, which are the same in every sample and
    unlike; both systems are equally good at each.
    """
    task = np.repeat(np.arange(TASKS), n)
    level = np.random.default_rng(3).normal(0.3, 1, TASKS)[task] + rng.normal(0, 1, len(task))
    right = {system: (rng.random(len(task)) < logistic(level)) * 1 for system in "ab"}
    names = {"question": ids(len(task)), "task": np.char.add("t", task.astype(str))}
    return {"preds": pd.DataFrame(names | right)}


def revenue(rng: Generator, n: int) -> np.ndarray:
    """One in ten users buys, for a lognormal amount."""
    return (rng.random(n) < 0.1) * rng.lognormal(0, 1.2, n)


def arms(share: float, lift: float = 0.0) -> Draw:
    """Users of an A/B test, a share of whom sees "a", which gets `lift` more of everything."""

    def draw(rng: Generator, n: int) -> Inputs:
        first = max(2, round(share * n))
        arm = np.where(np.arange(n) < first, "a", "b")
        more = np.where(arm == "a", 1 + lift, 1.0)
        visits = 1 + rng.poisson(rng.lognormal(0.7, 0.8, n))
        spent = revenue(rng, n)
        table = {
            "user": ids(n),
            "arm": arm,
            "revenue": spent * more,
            "bought": (rng.random(n) < 0.1 * more).astype(int),
            "visits": visits,
            "clicks": rng.binomial(visits, rng.beta(2, 5, n)),
            "before": spent * rng.lognormal(0, 0.5, n) + revenue(rng, n),
            "country": rng.choice(["x", "y"], n, p=(0.7, 0.3)),
        }
        return {"users": pd.DataFrame(table)}

    return draw


def sessions(spread: float) -> Draw:
    """Interleaved sessions of users, few of whom have many; each user prefers one team more or
    less, nobody in all.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        user = np.repeat(np.arange(n), sizes(rng, n, spread))
        taste = rng.beta(4, 4, n)[user]
        count = len(user)
        positions = 6
        coin = rng.random((count, positions // 2)) < 0.5
        first = np.stack([coin, ~coin], axis=2).reshape(count, positions)  # drafted two by two
        chance = (
            0.35
            * np.where(first, 2 * taste[:, None], 2 * (1 - taste[:, None]))
            / (1 + np.arange(positions))
        )
        table = {
            "session": np.repeat(ids(count), positions),
            "user": np.repeat(user.astype(str), positions),
            "position": np.tile(np.arange(1, positions + 1), count),
            "team": np.where(first, "a", "b").ravel(),
            "outcome": (rng.random((count, positions)) < chance).astype(int).ravel(),
        }
        return {"log": pd.DataFrame(table)}

    return draw
