"""Tables of predictions: two classes, several classes, several labels, numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from world import Draw, Generator, Inputs, ids, logistic, sizes

# Two classes --------------------------------------------------------------------------------------

BINARY = (
    "roc_auc,gini,average_precision,log_loss,brier,brier_skill,f1,f2,precision,recall,specificity,accuracy,mcc,kappa,"
    "balanced_accuracy,youden,lift"
)


def _two_classes(
    rng: Generator, n: int, base: float, shift: np.ndarray | float = 0.0, noise: float = 0.7
) -> dict[str, np.ndarray]:
    """Labels and two calibrated-looking scores that see the truth through noise of their own.
    noise: of the second.
    """
    centre = np.log(base / (1 - base)) * 1.25
    merit = rng.normal(0, 1.5, n) + shift + centre
    label = (rng.random(n) < logistic(merit)).astype(int)
    seen = {"a": merit + rng.normal(0, 0.7, n), "b": merit + rng.normal(0, noise, n)}
    scores = {f"score_{name}": logistic(0.85 * side) for name, side in seen.items()}
    return {"y_true": label} | scores


def binary(base: float, *, digits: int | None = None) -> Draw:
    """Rows that are independent. digits: scores are rounded to so many."""

    def draw(rng: Generator, n: int) -> Inputs:
        columns = _two_classes(rng, n, base)
        if digits is not None:
            columns |= {name: columns[name].round(digits) for name in ("score_a", "score_b")}
        return {"preds": pd.DataFrame({"id": ids(n)} | columns)}

    return draw


def own_rounded(base: float, digits: int) -> Draw:
    """The second system has the scores of the first, rounded to so many digits."""

    def draw(rng: Generator, n: int) -> Inputs:
        columns = _two_classes(rng, n, base)
        rounded = columns["score_a"].round(digits)
        return {"preds": pd.DataFrame({"id": ids(n)} | columns).assign(score_b=rounded)}

    return draw


def twins(base: float) -> Draw:
    """Two systems that differ in little: what they see of the truth differs by a tenth of its
    spread.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        columns = _two_classes(rng, n, base)
        seen = np.log(columns["score_a"] / (1 - columns["score_a"]))
        scores = {f"score_{name}": logistic(seen + rng.normal(0, 0.15, n)) for name in "ab"}
        return {"preds": pd.DataFrame({"id": ids(n)} | columns | scores)}

    return draw


def sharper(base: float, noise: float) -> Draw:
    """Rows that the first of two systems sees more sharply: the second through so much noise."""

    def draw(rng: Generator, n: int) -> Inputs:
        return {"preds": pd.DataFrame({"id": ids(n)} | _two_classes(rng, n, base, noise=noise))}

    return draw


def calibrated(base: float) -> Draw:
    """One system, whose scores are the very chances of the rows."""

    def draw(rng: Generator, n: int) -> Inputs:
        chance = logistic(rng.normal(0, 1.5, n) + 1.25 * np.log(base / (1 - base)))
        label = (rng.random(n) < chance).astype(int)
        return {"preds": pd.DataFrame({"id": ids(n), "y_true": label, "score_a": chance})}

    return draw


def in_regions(of: Draw, shares: tuple[float, ...] = (0.7, 0.3)) -> Draw:
    """The same with a column of regions, which have nothing to do with anything. The ids name what
    has one region.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        table = of(rng, n)["preds"]
        code, names = pd.factorize(table["query"] if "query" in table else table["id"])
        region = rng.choice(len(shares), len(names), p=shares)[code]
        return {"preds": table.assign(region=np.char.add("r", region.astype(str)))}

    return draw


def in_groups(of: Draw, groups: int = 2) -> Draw:
    """The same with a column of groups of equal size, which have nothing to do with anything."""

    def draw(rng: Generator, n: int) -> Inputs:
        table = of(rng, n)["preds"]
        group = np.char.add("g", (np.arange(len(table)) % groups).astype(str))
        return {"preds": table.assign(group=group)}

    return draw


def by_user(of: Draw, spread: float = 0.7) -> Draw:
    """The same with a column of users, who have several rows each: rows of n users."""

    def draw(rng: Generator, n: int) -> Inputs:
        user = np.repeat(ids(n), sizes(rng, n, spread))
        table = of(rng, len(user))["preds"]
        return {"preds": table.assign(user=np.tile(user, len(table) // len(user)))}

    return draw


def weighted(of: Draw) -> Draw:
    """The same with lognormal weights."""

    def draw(rng: Generator, n: int) -> Inputs:
        table = of(rng, n)["preds"]
        rows = table["id"].nunique()
        return {
            "preds": table.assign(weight=np.tile(rng.lognormal(0, 1, rows), len(table) // rows))
        }

    return draw


def binary_by_user(base: float, spread: float = 1.0) -> Draw:
    """Users with unlike numbers of rows, which resemble each other."""

    def draw(rng: Generator, n: int) -> Inputs:
        user = np.repeat(np.arange(n), sizes(rng, n, spread))
        columns = _two_classes(rng, len(user), base, rng.normal(0, 0.7, n)[user])
        return {"preds": pd.DataFrame({"id": ids(len(user)), "user": user.astype(str)} | columns)}

    return draw


# Several classes and several labels ---------------------------------------------------------------

CLASSES = (
    "accuracy,macro_f1,macro_recall,macro_precision,macro_f1_of_means,weighted_f1,balanced_accuracy,mcc,kappa,"
    "weighted_precision,roc_auc_ovr,roc_auc_ovr_weighted,roc_auc_ovo_weighted,roc_auc_hand_till,map_classes,log_loss,brier,"
    "coverage@0.6"
)
SHARES = {"few": (0.45, 0.30, 0.15, 0.08, 0.02), "even": (0.4, 0.35, 0.25)}


def classes(shares: tuple[float, ...]) -> Draw:
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
            tables.append(pd.DataFrame({"id": ids(n), "model": system, "label": names} | columns))
        return {"preds": pd.concat(tables, ignore_index=True)}

    return draw


LABELS = (
    "micro_f1,micro_precision,macro_f1,weighted_f1,weighted_precision,samples_f1,samples_jaccard,map_classes,"
    "roc_auc_macro,exact_match,hamming_loss,ranking_loss"
)
TRUE = np.array([0.05, 0.1, 0.2, 0.3, 0.5])  # how often each label is true, about


def labels(rng: Generator, n: int) -> Inputs:
    """Five labels a row, of which one is rare; those of a row go together, and so do the errors of
    a system.
    """
    merit = (
        rng.normal(0, 1.2, (n, 5)) + rng.normal(0, 1.2, (n, 1)) + 1.4 * np.log(TRUE / (1 - TRUE))
    )
    label = (rng.random((n, 5)) < logistic(merit)).astype(int)
    tables = []
    for system in "ab":
        seen = merit + rng.normal(0, 0.35, (n, 1)) + rng.normal(0, 0.6, (n, 5))
        columns = {f"y_l{j}": label[:, j] for j in range(5)} | {
            f"p_l{j}": logistic(0.85 * seen[:, j]) for j in range(5)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


# Numbers ------------------------------------------------------------------------------------------

RATING = "mae,rmse,bias,median_absolute_error,r2,r2_correlation,wape,smape,pinball@90"
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


def rating(errors: Errors) -> Draw:
    """Rows whose actual value two systems miss by errors that they share in part."""

    def draw(rng: Generator, n: int) -> Inputs:
        level = rng.normal(0, 1.5, n)
        shared = errors(rng, n)
        columns = {f"forecast_{name}": level + 0.3 * errors(rng, n) for name in "ab"}
        return {"preds": pd.DataFrame({"id": ids(n), "actual": level + shared} | columns)}

    return draw


def right_means(rng: Generator, n: int) -> Inputs:
    """One system, whose forecasts are the very means of the rows; the higher, the wider the
    errors.
    """
    mean = rng.normal(0, 1.5, n)
    actual = mean + np.exp(0.3 * mean) * rng.normal(0, 1, n)
    return {"preds": pd.DataFrame({"id": ids(n), "actual": actual, "forecast_a": mean})}


def series(errors: Errors) -> Draw:
    """Rows of series of unlike scale, each with the naive error of its series; errors in proportion
    to it.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        naive = rng.lognormal(0, 1, n)
        table = rating(errors)(rng, n)["preds"]
        numbers = table.select_dtypes("number").mul(naive, axis=0)
        return {"preds": pd.concat([table[["id"]], numbers], axis=1).assign(naive_mae=naive)}

    return draw


def rating_by_user(errors: Errors, spread: float = 1.0) -> Draw:
    """The rows of a user resemble each other; few users have many."""

    def draw(rng: Generator, n: int) -> Inputs:
        user = np.repeat(np.arange(n), sizes(rng, n, spread))
        m = len(user)
        level = rng.normal(0, 1.5, m)
        shared = errors(rng, m) + rng.normal(0, 0.7, n)[user]
        columns = {f"forecast_{name}": level + 0.3 * errors(rng, m) for name in "ab"}
        return {
            "preds": pd.DataFrame(
                {"id": ids(m), "user": user.astype(str), "actual": level + shared} | columns
            )
        }

    return draw
