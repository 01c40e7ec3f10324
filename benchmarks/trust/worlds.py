"""The worlds in which every interval and every test is tried: what the data are like, and how many units a sample has.

A world draws the input of a report. Its two systems, "a" and "b", are exchangeable: whatever the metric, they are
equally good, so every difference is 0 and a test at 5 % should reject in 5 % of the samples.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

Generator = np.random.Generator
Inputs = Mapping[str, Any]


@dataclass(frozen=True)
class World:
    """One kind of data for one report.

    draw: (rng, n) -> the report's inputs for n units. n: units of a sample. parameters: of the report. many: units of
    one of the large samples from which the true values are taken.
    """

    name: str
    report: str
    n: int
    draw: Callable[[Generator, int], Inputs]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    many: int = 50_000


def _ids(n: int) -> np.ndarray:
    return np.arange(n).astype(str)


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


# Two classes --------------------------------------------------------------------------------------------------------

BINARY = "roc_auc,average_precision,ks,log_loss,brier,f1,precision,recall,specificity,accuracy,mcc"


def _two_classes(rng: Generator, n: int, base: float, shift: np.ndarray | float = 0.0) -> dict[str, np.ndarray]:
    """Labels and two calibrated-looking scores that see the truth through noise of their own."""
    centre = np.log(base / (1 - base)) * 1.25
    merit = rng.normal(0, 1.5, n) + shift + centre
    label = (rng.random(n) < _logistic(merit)).astype(int)
    scores = {f"score_{name}": _logistic(0.85 * (merit + rng.normal(0, 0.7, n))) for name in "ab"}
    return {"y_true": label} | scores


def binary(base: float, *, digits: int | None = None) -> Callable[[Generator, int], Inputs]:
    """Rows that are independent. digits: scores are rounded to so many."""

    def draw(rng: Generator, n: int) -> Inputs:
        columns = _two_classes(rng, n, base)
        if digits is not None:
            columns |= {name: columns[name].round(digits) for name in ("score_a", "score_b")}
        return {"preds": pd.DataFrame({"id": _ids(n)} | columns)}

    return draw


def _sizes(rng: Generator, n: int, spread: float) -> np.ndarray:
    """Rows of each unit: few have many."""
    return 1 + rng.poisson(rng.lognormal(1.5, spread, n))


def binary_by_user(base: float, spread: float = 1.0) -> Callable[[Generator, int], Inputs]:
    """Users with unlike numbers of rows, which resemble each other."""

    def draw(rng: Generator, n: int) -> Inputs:
        user = np.repeat(np.arange(n), _sizes(rng, n, spread))
        columns = _two_classes(rng, len(user), base, rng.normal(0, 0.7, n)[user])
        return {"preds": pd.DataFrame({"id": _ids(len(user)), "user": user.astype(str)} | columns)}

    return draw


def binary_weighted(base: float) -> Callable[[Generator, int], Inputs]:
    """Rows with lognormal weights."""

    def draw(rng: Generator, n: int) -> Inputs:
        columns = _two_classes(rng, n, base) | {"weight": rng.lognormal(0, 1, n)}
        return {"preds": pd.DataFrame({"id": _ids(n)} | columns)}

    return draw


# Several classes and several labels ---------------------------------------------------------------------------------

CLASSES = (
    "accuracy,macro_f1,macro_recall,macro_precision,balanced_accuracy,mcc,kappa,roc_auc_ovr,roc_auc_hand_till,"
    "map_classes,log_loss,brier"
)
SHARES = {"few": (0.45, 0.30, 0.15, 0.08, 0.02), "even": (0.4, 0.35, 0.25)}


def classes(shares: tuple[float, ...]) -> Callable[[Generator, int], Inputs]:
    """One true class a row, and two systems' probabilities of each, one table below the other."""

    def draw(rng: Generator, n: int) -> Inputs:
        k = len(shares)
        label = rng.choice(k, n, p=shares)
        merit = np.log(shares) + 1.6 * np.eye(k)[label] + rng.normal(0, 0.8, (n, k))
        tables = []
        for system in "ab":
            odds = np.exp(merit + rng.normal(0, 0.5, (n, k)))
            chance = odds / odds.sum(1, keepdims=True)
            columns = {f"p_c{i}": chance[:, i] for i in range(k)}
            names = np.char.add("c", label.astype(str))
            tables.append(pd.DataFrame({"id": _ids(n), "model": system, "label": names} | columns))
        return {"preds": pd.concat(tables, ignore_index=True)}

    return draw


LABELS = "micro_f1,macro_f1,map_classes,roc_auc_macro,exact_match,hamming_loss,ranking_loss"
TRUE = np.array([0.05, 0.1, 0.2, 0.3, 0.5])  # how often each label is true, about


def labels(rng: Generator, n: int) -> Inputs:
    """Five labels a row, of which one is rare; those of a row go together, and so do the errors of a system."""
    merit = rng.normal(0, 1.2, (n, 5)) + rng.normal(0, 1.2, (n, 1)) + 1.4 * np.log(TRUE / (1 - TRUE))
    label = (rng.random((n, 5)) < _logistic(merit)).astype(int)
    tables = []
    for system in "ab":
        seen = merit + rng.normal(0, 0.35, (n, 1)) + rng.normal(0, 0.6, (n, 5))
        columns = {f"y_l{j}": label[:, j] for j in range(5)} | {
            f"p_l{j}": _logistic(0.85 * seen[:, j]) for j in range(5)
        }
        tables.append(pd.DataFrame({"id": _ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


# Numbers ------------------------------------------------------------------------------------------------------------

RATING = "mae,rmse,bias,median_absolute_error,r2"
Errors = Callable[[Generator, Any], np.ndarray]


def normal(rng: Generator, size: Any) -> np.ndarray:
    """Errors with short tails."""
    return rng.normal(0, 1, size)


def lognormal(rng: Generator, size: Any) -> np.ndarray:
    """Errors with a long tail to one side."""
    return rng.lognormal(0, 1, size) - np.exp(0.5)


def student(rng: Generator, size: Any) -> np.ndarray:
    """Errors with long tails on both sides: Student's t with three degrees of freedom."""
    return rng.standard_t(3, size)


def rating(errors: Errors, *, weighted: bool = False) -> Callable[[Generator, int], Inputs]:
    """Rows whose actual value two systems miss by errors that they share in part."""

    def draw(rng: Generator, n: int) -> Inputs:
        level, shared = rng.normal(0, 1.5, n), errors(rng, n)
        columns = {f"forecast_{name}": level + 0.3 * errors(rng, n) for name in "ab"}
        weight = {"weight": rng.lognormal(0, 1, n)} if weighted else {}
        return {"preds": pd.DataFrame({"id": _ids(n), "actual": level + shared} | columns | weight)}

    return draw


def rating_by_user(errors: Errors, spread: float = 1.0) -> Callable[[Generator, int], Inputs]:
    """The rows of a user resemble each other; few users have many."""

    def draw(rng: Generator, n: int) -> Inputs:
        user = np.repeat(np.arange(n), _sizes(rng, n, spread))
        m = len(user)
        level, shared = rng.normal(0, 1.5, m), errors(rng, m) + rng.normal(0, 0.7, n)[user]
        columns = {f"forecast_{name}": level + 0.3 * errors(rng, m) for name in "ab"}
        return {"preds": pd.DataFrame({"id": _ids(m), "user": user.astype(str), "actual": level + shared} | columns)}

    return draw


# Ranked lists -------------------------------------------------------------------------------------------------------

RANKING = "ndcg@10,average_precision,reciprocal_rank,precision@10,recall@10,hit_rate@5"
ITEMS = 20


def ranking(relevant: float, skill: float, spread: float | None = None) -> Callable[[Generator, int], Inputs]:
    """Queries with 20 candidate items, each relevant with a chance of its query's own. spread: of queries per user."""

    def draw(rng: Generator, n: int) -> Inputs:
        user = np.arange(n) if spread is None else np.repeat(np.arange(n), _sizes(rng, n, spread))
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


# Values per unit, users of an experiment, sessions ------------------------------------------------------------------


def paired(differences: Errors) -> Callable[[Generator, int], Inputs]:
    """A wide table of values, whose paired differences are symmetric: the systems are exchangeable."""

    def draw(rng: Generator, n: int) -> Inputs:
        level = rng.normal(5, 1, n)
        return {"preds": pd.DataFrame({"unit": _ids(n)} | {name: level + differences(rng, n) for name in "ab"})}

    return draw


def skewed(differences: Errors) -> Callable[[Generator, int], Inputs]:
    """Paired differences of mean 0 that are not symmetric: equal means, but no exchangeable systems."""

    def draw(rng: Generator, n: int) -> Inputs:
        level = rng.normal(5, 1, n)
        return {"preds": pd.DataFrame({"unit": _ids(n), "a": level + differences(rng, n), "b": level})}

    return draw


def exponential(rng: Generator, size: Any) -> np.ndarray:
    """Mean 0, skewness 2."""
    return rng.exponential(1, size) - 1


def right_or_wrong(share: float) -> Callable[[Generator, int], Inputs]:
    """A wide table of 0 and 1."""

    def draw(rng: Generator, n: int) -> Inputs:
        chance = rng.beta(4 * share, 4 * (1 - share), n)
        return {"preds": pd.DataFrame({"unit": _ids(n)} | {s: (rng.random(n) < chance) * 1.0 for s in "ab"})}

    return draw


def revenue(rng: Generator, n: int) -> np.ndarray:
    """One in ten users buys, for a lognormal amount."""
    return (rng.random(n) < 0.1) * rng.lognormal(0, 1.2, n)


def arms(share: float) -> Callable[[Generator, int], Inputs]:
    """Users of an A/B test, a share of whom sees "a"; nothing differs between the arms."""

    def draw(rng: Generator, n: int) -> Inputs:
        first = max(2, round(share * n))
        visits = 1 + rng.poisson(rng.lognormal(0.7, 0.8, n))
        table = {
            "user": _ids(n),
            "arm": np.where(np.arange(n) < first, "a", "b"),
            "revenue": revenue(rng, n),
            "bought": (rng.random(n) < 0.1).astype(int),
            "visits": visits,
            "clicks": rng.binomial(visits, rng.beta(2, 5, n)),
        }
        return {"users": pd.DataFrame(table)}

    return draw


def sessions(spread: float) -> Callable[[Generator, int], Inputs]:
    """Interleaved sessions of users, few of whom have many; each user prefers one team more or less, nobody in all."""

    def draw(rng: Generator, n: int) -> Inputs:
        user = np.repeat(np.arange(n), _sizes(rng, n, spread))
        taste = rng.beta(4, 4, n)[user]
        count, positions = len(user), 6
        coin = rng.random((count, positions // 2)) < 0.5
        first = np.stack([coin, ~coin], axis=2).reshape(count, positions)  # drafted two by two
        chance = 0.35 * np.where(first, 2 * taste[:, None], 2 * (1 - taste[:, None])) / (1 + np.arange(positions))
        table = {
            "session": np.repeat(_ids(count), positions),
            "user": np.repeat(user.astype(str), positions),
            "position": np.tile(np.arange(1, positions + 1), count),
            "team": np.where(first, "a", "b").ravel(),
            "outcome": (rng.random((count, positions)) < chance).astype(int).ravel(),
        }
        return {"log": pd.DataFrame(table)}

    return draw


def _worlds() -> list[World]:
    two, several, numbers, lists = ({"metrics": metrics} for metrics in (BINARY, CLASSES, RATING, RANKING))
    by_user = {"unit": "user"}
    rate, paid = {"prevalence": 0.05}, {"metrics": "revenue,bought,clicks/visits", "world": "none"}
    preferred = {"world": "none"}
    worlds = [World(f"two classes, {b:.0%} positive", "classification", n, binary(b), two | rate) for b, n in _BINARY]
    worlds += [
        World("two classes, scores of one digit", "classification", 200, binary(0.2, digits=1), two | rate),
        *(World("two classes by user", "classification", n, binary_by_user(0.3), two | by_user | rate) for n in _USERS),
        *(World("two classes, weights", "classification", n, binary_weighted(0.3), two | rate) for n in (200, 1000)),
        *(World("five classes, one rare", "classification", n, classes(SHARES["few"]), several) for n in (200, 1000)),
        *(World("five labels, one rare", "classification", n, labels, {"metrics": LABELS}) for n in (100, 200, 1000)),
        World("three classes", "classification", 200, classes(SHARES["even"]), several),
        *(World("normal errors", "rating", n, rating(normal), numbers) for n in (20, 50, 200)),
        *(World("lognormal errors", "rating", n, rating(lognormal), numbers) for n in (50, 200, 1000)),
        *(World("errors of Student's t", "rating", n, rating(student), numbers) for n in (50, 200)),
        World("normal errors, weights", "rating", 200, rating(normal, weighted=True), numbers),
        *(World("errors by user", "rating", n, rating_by_user(normal), numbers | by_user) for n in _USERS),
        *(World("queries, an easy task", "ranking", n, ranking(0.3, 2.0), lists) for n in (10, 25, 50, 200)),
        *(World("queries, a hard task", "ranking", n, ranking(0.05, 0.6), lists) for n in (10, 25, 50)),
        *(World("queries by user", "ranking", n, ranking(0.2, 1.0, 1.0), lists | by_user, 20_000) for n in _USERS),
        *(World("paired values", "significance", n, paired(normal)) for n in (10, 50)),
        *(World("paired values, long tails", "significance", n, paired(student)) for n in (10, 50)),
        *(World("skewed differences", "significance", n, skewed(exponential)) for n in (25, 50, 200)),
        *(World("right or wrong", "significance", n, right_or_wrong(0.7)) for n in (20, 100)),
        *(World("users, equal arms", "interleaving", n, arms(0.5), paid) for n in (100, 400, 2000)),
        *(World("users, arms 1 to 9", "interleaving", n, arms(0.1), paid) for n in (220, 1110)),
        *(World("sessions, heavy users", "interleaving", n, sessions(1.2), preferred, 20_000) for n in (10, 20, 50)),
    ]
    return worlds


_BINARY = ((0.5, 50), (0.1, 200), (0.3, 200), (0.02, 1000), (0.1, 1000))
_USERS = (10, 20, 50)
WORLDS = tuple(_worlds())
