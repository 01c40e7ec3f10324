"""Tables of further tools, written to find what is read wrongly: those that a report reads as they
are, and those that no report can read.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pandas as pd
from examples.first_try import (
    ROWS,
    Draw,
    Example,
    Values,
    accuracy,
    mae,
    means,
    ndcg10,
    roc_auc,
)

# name -> tool, and its columns
Makers = Mapping[str, tuple[str, Callable[[Draw], dict[str, object]]]]


def confidence(d: Draw) -> np.ndarray:
    """The probability of the predicted class."""
    return np.where(d.first >= 0.5, d.first, 1 - d.first).round(4)


# tables of two classes, with the score `d.first`
OF_TWO_CLASSES: Makers = {
    "azureml": (
        "AzureML",
        lambda d: {"income": d.label, "Scored Labels": d.hard, "Scored Probabilities": d.first},
    ),
    "spss_logistic": (
        "SPSS",
        lambda d: {"default": d.label, "income": d.level, "PRE_1": d.first, "PGR_1": d.hard},
    ),
    "dataiku": (
        "Dataiku",
        lambda d: {
            "target": d.label,
            "prediction": d.hard,
            "proba_0": (1 - d.first).round(4),
            "proba_1": d.first,
        },
    ),
    "datarobot": (
        "DataRobot",
        lambda d: {
            "churn": d.words("yes", "no"),
            "churn_yes_PREDICTION": d.first,
            "churn_no_PREDICTION": (1 - d.first).round(4),
            "churn_PREDICTION": d.hard_words("yes", "no"),
        },
    ),
    "linear_predictor": (
        "R",
        lambda d: {"outcome": d.label, "linear_predictor": np.log(d.first / (1 - d.first))},
    ),
    "nannyml": (
        "NannyML",
        lambda d: {
            "period": ["analysis"] * ROWS,
            "y_pred_proba": d.first,
            "y_pred": d.hard,
            "repaid": d.label,
        },
    ),
    "broom": (
        "broom",
        lambda d: {
            "am": d.label,
            "wt": d.level,
            ".fitted": d.first,
            ".resid": d.rng.normal(0, 1, ROWS),
            ".cooksd": d.rng.random(ROWS) / 9,
        },
    ),
    "titanic": (
        "pydataset",
        lambda d: {
            "class": d.rng.choice(["1st", "2nd", "3rd"], ROWS),
            "sex": d.rng.choice(["man", "women"], ROWS),
            "survived": d.words("yes", "no"),
            "prob": d.first,
        },
    ),
}


# tables of decisions, and at most the confidence in them
OF_DECISIONS: Makers = {
    "autopilot": (
        "SageMaker Autopilot",
        lambda d: {
            "y": d.words("yes", "no"),
            "predicted_label": d.hard_words("yes", "no"),
            "probability": confidence(d),
        },
    ),
    "fastai": (
        "fastai",
        lambda d: {
            "target": d.words("cat", "dog"),
            "pred": d.hard_words("cat", "dog"),
            "loss": d.rng.random(ROWS),
            "prob": confidence(d),
        },
    ),
}


# tables of actual values `d.level` and forecasts `d.near`
OF_FORECASTS: Makers = {
    "stata_regress": (
        "Stata",
        lambda d: {
            "price": d.level,
            "mpg": d.folds,
            "yhat": d.near,
            "resid": (d.level - d.near).round(2),
        },
    ),
    "azureml_regression": ("AzureML", lambda d: {"price": d.level, "Scored Labels": d.near}),
    "sas_reg": (
        "SAS",
        lambda d: {"Sales": d.level, "P_Sales": d.near, "R_Sales": (d.level - d.near).round(2)},
    ),
    "augment": (
        "tidymodels",
        lambda d: {".pred": d.near, "Sale_Price": d.level, "Gr_Liv_Area": d.level * 12 + d.far},
    ),
    "neuralprophet": (
        "NeuralProphet",
        lambda d: {
            "ds": d.dates,
            "y": d.level,
            "yhat1": d.near,
            "trend": d.level.mean() + d.ids / 100,
        },
    ),
    "point_forecast": (
        "R forecast",
        lambda d: {
            "actual": d.level,
            "Point.Forecast": d.near,
            "Lo.80": d.near - 5,
            "Hi.80": d.near + 5,
        },
    ),
    "excel_errors": (
        "Excel",
        lambda d: {
            "Actual": d.level,
            "Forecast": d.near,
            "Error": d.level - d.near,
            "APE": abs(d.level - d.near) / d.level,
        },
    ),
}


def attacked() -> Iterator[Example]:
    """The tables that a report reads as they are."""
    values_of: list[tuple[str, Makers, Callable[[Draw], Values]]] = [
        ("classification", OF_TWO_CLASSES, lambda d: {("roc_auc", ""): roc_auc(d.label, d.first)}),
        ("classification", OF_DECISIONS, lambda d: {("accuracy", ""): accuracy(d.label, d.hard)}),
        ("rating", OF_FORECASTS, lambda d: {("mae", ""): mae(d.level, d.near)}),
    ]
    for report, makers, values_in in values_of:
        for name, (tool, columns_in) in makers.items():
            d = Draw(name)
            yield Example(name, tool, report, pd.DataFrame(columns_in(d)), values_in(d))
    d = Draw("several_forecasts")
    columns = {"mass": d.level, "year": d.ids + 1700, "pred_lm": d.near, "pred_rf": d.far}
    values = {("mae", "lm"): mae(d.level, d.near), ("mae", "rf"): mae(d.level, d.far)}
    yield Example("several_forecasts", "by hand", "rating", pd.DataFrame(columns), values)
    lists = Draw("lgbm_rank").lists()
    columns = {"query_group": lists["u"], "doc": lists["i"], "relevance_label": lists["grade"]}
    columns |= {"lgbm_score": lists["a"], "bm25": lists["b"]}
    values = {("ndcg@10", ""): ndcg10(lists, "u", "a", "grade")}
    yield Example("lgbm_rank", "LightGBM", "ranking", pd.DataFrame(columns), values)
    users = Draw("ga4").arms("control", "variant_b")
    columns = {"user_pseudo_id": users["u"], "experiment_variant": users["arm"]}
    columns |= {"purchase_revenue": users["spent"]}
    values = means(users.rename(columns={"spent": "purchase_revenue"}), "arm", "purchase_revenue")
    yield Example("ga4", "Google Analytics", "interleaving", pd.DataFrame(columns), values)


def refused() -> dict[str, dict[str, object]]:
    """The columns of tables that no report can read without more being said."""
    d = Draw("refused")
    lists = d.lists()
    share = d.rng.random(20)
    return {
        "answers of another model as labels": {
            "gold": d.words("POSITIVE", "NEGATIVE"),
            "label": d.hard_words("POSITIVE", "NEGATIVE"),
            "score": confidence(d),
        },
        "the probability of the negative class": {"label": d.label, "prob_0": 1 - d.first},
        "codes before the name": {
            "churn": d.words("T", "F"),
            "$R-churn": d.hard_words("T", "F"),
            "$RC-churn": confidence(d),
            "$RP-churn": d.first,
        },
        "predictions without answers": {"userId": lists["u"], "itemId": lists["i"]}
        | {"predicted": lists["a"]},
        "quantiles alone": {"target_value": d.level, "p10": d.near - 8, "p90": d.near},
        "logits of classes": {"label_ids": d.folds, "logits_0": d.near, "logits_1": d.far},
        "totals by day": {
            "date": [*d.dates[:30]] * 2,
            "group": ["A", "B"] * 30,
            "visitors": d.rng.integers(900, 1100, 60),
            "conversions": d.rng.integers(80, 120, 60),
        },
        "a confusion matrix": {"actual class": ["cat", "dog"], "cat": [30, 2], "dog": [4, 40]},
        "battles of models": {
            "question_id": d.ids,
            "model_a": d.rng.choice(["x", "y"], ROWS),
            "model_b": d.rng.choice(["v", "w"], ROWS),
            "winner": d.rng.choice(["model_a", "model_b", "tie"], ROWS),
        },
        "a leaderboard": {"model": [f"m{i}" for i in range(20)], "score_val": share}
        | {"fit_time": share * 9, "stack_level": [1, 2] * 10},
        "results of a search": {"params": [f"C={i}" for i in range(20)]}
        | {"split0_test_score": share, "split1_test_score": share[::-1]}
        | {"mean_test_score": share, "rank_test_score": range(1, 21)},
        "a submission": {"id": d.ids, "prediction": d.first},
        "names in another language": {"Kunde": d.ids, "gekauft": d.label}
        | {"Wahrscheinlichkeit": d.first},
    }
