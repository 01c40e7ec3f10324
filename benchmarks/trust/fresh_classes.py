"""Worlds of several classes or labels that no method was chosen by: `FRESH_CLASSES`, by round."""

from functools import partial

import numpy as np
import pandas as pd
from of_rows import classes
from world import Generator, Inputs, fresh_world, ids, logistic

SYSTEMS = ("a", "b")


def twelve_labels(rng: Generator, n: int) -> Inputs:
    """Twelve labels that are true in a tenth of the rows each."""
    merit = rng.normal(-3, 1.5, (n, 12))
    label = (rng.random((n, 12)) < logistic(merit)).astype(int)
    tables = []
    for system in "ab":
        chance = logistic(0.9 * (merit + rng.normal(0, 0.8, (n, 12))) + 0.3)
        columns = {f"y_l{j}": label[:, j] for j in range(12)} | {
            f"p_l{j}": chance[:, j] for j in range(12)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


def one_of_many_topics(rng: Generator, n: int) -> Inputs:
    """Eight labels, each true in some rows of one topic in four."""
    topic = rng.integers(0, 4, n)
    merit = np.where(topic[:, None] == np.arange(8) // 2, 0.5, -4.0) + rng.normal(0, 1, (n, 8))
    label = (rng.random((n, 8)) < logistic(merit)).astype(int)
    tables = []
    for system in "ab":
        chance = logistic(merit + rng.normal(0, 1.2, (n, 8)))
        columns = {f"y_l{j}": label[:, j] for j in range(8)} | {
            f"p_l{j}": chance[:, j] for j in range(8)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


def ordered(rng: Generator, n: int) -> Inputs:
    """Four classes in order, which are taken for their neighbours."""
    label = rng.integers(0, 4, n)
    tables = []
    for system in "ab":
        seen = label + rng.normal(0, 0.7, n)
        odds = np.exp(-((seen[:, None] - np.arange(4)) ** 2))
        columns = {f"p_c{i}": odds[:, i] / odds.sum(axis=1) for i in range(4)}
        names = np.char.add("c", label.astype(str))
        tables.append(pd.DataFrame({"id": ids(n), "model": system, "label": names} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


def hardly_two(rng: Generator, n: int) -> Inputs:
    """Six labels, of which a row has one and seldom another."""
    label = (rng.random((n, 6)) < 0.03).astype(int)
    label[np.arange(n), rng.integers(0, 6, n)] = 1
    tables = []
    for system in "ab":
        chance = logistic(3 * label - 2.2 + rng.normal(0, 1.1, (n, 6)))
        columns = {f"y_l{j}": label[:, j] for j in range(6)} | {
            f"p_l{j}": chance[:, j] for j in range(6)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


def one_large_class(rng: Generator, n: int) -> Inputs:
    """Four classes, of which one has 70% of the rows; probabilities are sharpened."""
    shares = np.array([0.7, 0.15, 0.1, 0.05])
    label = rng.choice(4, n, p=shares)
    merit = np.log(shares) + 1.8 * np.eye(4)[label] + rng.normal(0, 1.0, (n, 4))
    tables = []
    for system in SYSTEMS:
        odds = np.exp(1.3 * (merit + rng.normal(0, 0.6, (n, 4))))
        chance = odds / odds.sum(axis=1, keepdims=True)
        names = {"id": ids(n), "model": system, "label": np.char.add("k", label.astype(str))}
        tables.append(pd.DataFrame(names | {f"p_k{i}": chance[:, i] for i in range(4)}))
    return {"preds": pd.concat(tables, ignore_index=True)}


def two_of_seven(rng: Generator, n: int) -> Inputs:
    """Exactly two of seven labels are true in each row."""
    taste = rng.normal(0, 1, (n, 7)) + np.linspace(-0.8, 0.8, 7)
    label = (np.argsort(np.argsort(taste, axis=1), axis=1) >= 5).astype(int)
    tables = []
    for system in SYSTEMS:
        seen = logistic(1.5 * (taste - 0.9) + rng.normal(0, 1, (n, 7)))
        columns = {f"y_l{j}": label[:, j] for j in range(7)} | {
            f"p_l{j}": seen[:, j] for j in range(7)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


def neighbours(rng: Generator, n: int) -> Inputs:
    """Five classes in a row, confused with the next ones only."""
    label = rng.integers(0, 5, n)
    tables = []
    for system in SYSTEMS:
        place = label + rng.normal(0, 0.8, n)
        odds = np.exp(-((place[:, None] - np.arange(5)) ** 2))
        names = {"id": ids(n), "model": system, "label": np.char.add("k", label.astype(str))}
        chance = odds / odds.sum(axis=1, keepdims=True)
        tables.append(pd.DataFrame(names | {f"p_k{i}": chance[:, i] for i in range(5)}))
    return {"preds": pd.concat(tables, ignore_index=True)}


def four_topics(rng: Generator, n: int) -> Inputs:
    """Four labels of 50 to 15% that share a cause."""
    cause = rng.normal(0, 1, n)[:, None]
    merit = cause + rng.normal(0, 1, (n, 4)) + np.array([0.0, -0.6, -1.2, -1.8])
    label = (merit > 0).astype(int)
    tables = []
    for system in SYSTEMS:
        seen = logistic(1.2 * merit + rng.normal(0, 1.2, (n, 4)))
        columns = {f"y_l{j}": label[:, j] for j in range(4)} | {
            f"p_l{j}": seen[:, j] for j in range(4)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


def triage(rng: Generator, n: int, classes: tuple[float, ...]) -> Inputs:
    """Classes of these shares, the rarest the hardest."""
    label = rng.choice(len(classes), n, p=np.array(classes) / sum(classes))
    tables = []
    for system in SYSTEMS:
        odds = np.exp(
            rng.normal(0, 1, (n, len(classes))) + 1.8 * (label[:, None] == np.arange(len(classes)))
        )
        chance = odds / odds.sum(axis=1, keepdims=True)
        names = {"id": ids(n), "model": system, "label": np.char.add("k", label.astype(str))}
        tables.append(pd.DataFrame(names | {f"p_k{i}": chance[:, i] for i in range(len(classes))}))
    return {"preds": pd.concat(tables, ignore_index=True)}


def tagged(rng: Generator, n: int, tags: int, common: float) -> Inputs:
    """Tags of 4 to 45% with a common cause; common: its part."""
    cause = rng.normal(0, 1, n)[:, None]
    merit = (
        common * cause
        + rng.normal(0, 1, (n, tags))
        - np.linspace(0.2, 1.8, tags) * np.hypot(1, common)
    )
    label = (merit > 0).astype(int)
    tables = []
    for system in SYSTEMS:
        seen = logistic(1.1 * merit + rng.normal(0, 1.0, (n, tags)))
        columns = {f"y_t{j}": label[:, j] for j in range(tags)} | {
            f"p_t{j}": seen[:, j] for j in range(tags)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


EIGHT_SHARES = (0.34, 0.2, 0.14, 0.1, 0.08, 0.06, 0.05, 0.03)
CLASSES_WITH_MCC = {"metrics": "accuracy,macro_f1,weighted_f1,kappa,mcc,roc_auc_ovr,log_loss,brier"}
LABELS_WITH_JACCARD = {
    "metrics": "micro_f1,macro_f1,samples_f1,samples_jaccard,map_classes,roc_auc_macro,hamming_loss"
}
CLASSES = {"metrics": "accuracy,macro_f1,weighted_f1,kappa,log_loss,roc_auc_ovr"}
LABELS = {"metrics": "micro_f1,macro_f1,samples_f1,map_classes,roc_auc_macro,hamming_loss"}
fresh = partial(fresh_world, "classification")
FRESH_CLASSES = (
    fresh(
        1,
        "eight classes",
        400,
        classes(EIGHT_SHARES),
        {"metrics": "accuracy,macro_f1,balanced_accuracy,roc_auc_ovr,kappa,log_loss"},
    ),
    fresh(
        1,
        "twelve labels",
        150,
        twelve_labels,
        {"metrics": "micro_f1,macro_f1,samples_f1,map_classes,roc_auc_macro,hamming_loss"},
    ),
    fresh(
        2,
        "labels by topic",
        120,
        one_of_many_topics,
        {"metrics": "micro_f1,macro_f1,samples_jaccard,map_classes,roc_auc_macro,exact_match"},
    ),
    fresh(
        3,
        "classes in order",
        150,
        ordered,
        {"metrics": "accuracy,macro_f1,macro_precision,kappa,roc_auc_hand_till,log_loss"},
    ),
    fresh(
        3,
        "hardly two labels",
        200,
        hardly_two,
        {"metrics": "micro_f1,macro_f1,samples_f1,map_classes,roc_auc_macro,exact_match"},
    ),
    fresh(4, "one large class", 300, one_large_class, CLASSES_WITH_MCC),
    fresh(4, "two of seven labels", 120, two_of_seven, LABELS_WITH_JACCARD),
    fresh(5, "neighbours", 220, neighbours, CLASSES_WITH_MCC),
    fresh(5, "four topics", 160, four_topics, LABELS_WITH_JACCARD),
    fresh(6, "four classes", 260, partial(triage, classes=(55, 25, 15, 5)), CLASSES),
    fresh(6, "six classes", 420, partial(triage, classes=(30, 25, 20, 15, 7, 3)), CLASSES),
    fresh(6, "six tags", 220, partial(tagged, tags=6, common=0.8), LABELS),
    fresh(6, "twelve tags", 300, partial(tagged, tags=12, common=1.5), LABELS),
    fresh(7, "three classes", 150, partial(triage, classes=(60, 30, 10)), CLASSES),
    fresh(
        7,
        "eight unequal classes",
        800,
        partial(triage, classes=(25, 20, 15, 12, 10, 8, 6, 4)),
        CLASSES,
    ),
    fresh(7, "five tags", 350, partial(tagged, tags=5, common=0.3), LABELS),
    fresh(7, "nine tags with one cause", 250, partial(tagged, tags=9, common=2.0), LABELS),
    fresh(8, "three unequal classes", 240, partial(triage, classes=(70, 22, 8)), CLASSES),
    fresh(8, "five classes", 350, partial(triage, classes=(30, 25, 20, 15, 10)), CLASSES),
    fresh(8, "four tags", 200, partial(tagged, tags=4, common=0.5), LABELS),
    fresh(8, "eight tags with one cause", 350, partial(tagged, tags=8, common=1.2), LABELS),
)
