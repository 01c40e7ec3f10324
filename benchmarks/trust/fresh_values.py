"""Worlds of values per unit that no method was chosen by: `FRESH_VALUES`, by round."""

from functools import partial

import numpy as np
import pandas as pd
from world import Generator, Inputs, fresh_world, ids, logistic

SYSTEMS = ("a", "b")


def outliers(rng: Generator, n: int) -> Inputs:
    """Paired values of which one in ten lies five times as far out."""
    values = {s: 3 + rng.normal(0, 1, n) * np.where(rng.random(n) < 0.1, 5, 1) for s in "ab"}
    return {"preds": pd.DataFrame({"unit": ids(n)} | values)}


def small_integers(rng: Generator, n: int) -> Inputs:
    """Paired ratings of 1 to 5, most of which are equal."""
    taste = rng.integers(2, 5, n)
    values = {s: np.clip(taste + rng.choice([-1, 0, 0, 0, 1], n), 1, 5) for s in "ab"}
    return {"preds": pd.DataFrame({"unit": ids(n)} | values)}


def halves(rng: Generator, n: int) -> Inputs:
    """Values of 0, one half and 1, many of them tied between the systems."""
    ease = rng.beta(3, 2, n)
    draws = {s: rng.binomial(2, ease) / 2 for s in SYSTEMS}
    same = rng.random(n) < 0.4
    return {
        "preds": pd.DataFrame(
            {"unit": ids(n), "a": draws["a"], "b": np.where(same, draws["a"], draws["b"])}
        )
    }


def shares_of_tests(rng: Generator, n: int) -> Inputs:
    """Shares of eight tests passed, most of them all or none."""
    ease = rng.beta(0.5, 0.4, n)
    values = {s: rng.binomial(8, ease) / 8 for s in SYSTEMS}
    return {"preds": pd.DataFrame({"unit": ids(n)} | values)}


def judgements(rng: Generator, n: int, kind: str) -> Inputs:
    """Values of three systems on n units: stars, shares with many zeros, or latencies."""
    ease = rng.normal(0, 1, n)
    draws = {
        "stars": lambda: np.clip(np.round(3.4 + 0.8 * ease + rng.normal(0, 0.9, n)), 1, 5),
        "zeros": lambda: (rng.random(n) < logistic(ease - 0.4)) * rng.beta(2, 2, n),
        "latency": lambda: np.exp(4 + 0.4 * ease + rng.normal(0, 0.6, n)),
    }
    return {"preds": pd.DataFrame({"unit": ids(n)} | {s: draws[kind]() for s in ("a", "b", "c")})}


def graded_answers(rng: Generator, n: int, kind: str) -> Inputs:
    """Answers of three models on n questions: right or wrong, the mean of five tries, or a grade of
    0 to 10.
    """
    ease = rng.normal(0.3, 1.6, n)
    draws = {
        "right": lambda: (rng.random(n) < logistic(ease + rng.normal(0, 0.8, n))).astype(float),
        "tries": lambda: rng.binomial(5, logistic(ease + rng.normal(0, 0.8, n))) / 5,
        "grade": lambda: np.clip(np.round(6.5 + 1.5 * ease + rng.normal(0, 1.5, n)), 0, 10),
    }
    return {"preds": pd.DataFrame({"unit": ids(n)} | {s: draws[kind]() for s in ("a", "b", "c")})}


def values(rng: Generator, n: int, kind: str) -> Inputs:
    """Values of three systems on n units: BLEU-like scores, rare failures, or sums of clicks."""
    ease = rng.normal(0, 1, n)
    draws = {
        "overlap": lambda: 100 * logistic(0.9 * ease - 0.8 + rng.normal(0, 0.5, n)),
        "failures": lambda: (rng.random(n) < logistic(1.5 * ease - 3)).astype(float),
        "clicks": lambda: rng.poisson(np.exp(0.5 + 0.6 * ease)).astype(float),
    }
    return {"preds": pd.DataFrame({"unit": ids(n)} | {s: draws[kind]() for s in ("a", "b", "c")})}


fresh = partial(fresh_world, "significance")
FRESH_VALUES = (
    fresh(2, "outliers", 30, outliers),
    fresh(3, "small integers", 40, small_integers),
    fresh(4, "halves", 35, halves),
    fresh(5, "shares of tests", 42, shares_of_tests),
    fresh(6, "stars of 30", 30, partial(judgements, kind="stars")),
    fresh(6, "values with zeros", 50, partial(judgements, kind="zeros")),
    fresh(6, "latencies", 80, partial(judgements, kind="latency")),
    fresh(7, "answers right or wrong", 60, partial(graded_answers, kind="right")),
    fresh(7, "means of five tries", 35, partial(graded_answers, kind="tries")),
    fresh(7, "grades of 0 to 10", 120, partial(graded_answers, kind="grade")),
    fresh(7, "latencies of 40", 40, partial(judgements, kind="latency")),
    fresh(8, "scores of overlap", 45, partial(values, kind="overlap")),
    fresh(8, "rare failures", 150, partial(values, kind="failures")),
    fresh(8, "sums of clicks", 70, partial(values, kind="clicks")),
    fresh(8, "right or wrong, 100 questions", 100, partial(graded_answers, kind="right")),
    fresh(8, "stars of 60", 60, partial(judgements, kind="stars")),
)
