"""Tables of further tools, written to find what is read wrongly: those that a report reads as they
are, and those that no report can read.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from examples.first_try import (
    ROWS,
    Draw,
    Example,
    accuracy,
    mae,
    means,
    ndcg10,
    roc_auc,
)


def confidence(d: Draw) -> np.ndarray:
    """The probability of the predicted class."""
    return np.where(d.first >= 0.5, d.first, 1 - d.first).round(4)


def of_two_classes() -> Iterator[tuple[str, str, Draw, dict[str, object]]]:
    """Name, tool, data and columns of tables of two classes, with the score `d.first`."""
    d = Draw("azureml")
    yield (
        "azureml",
        "AzureML",
        d,
        {"income": d.label, "Scored Labels": d.hard} | {"Scored Probabilities": d.first},
    )
    d = Draw("spss_logistic")
    yield (
        "spss_logistic",
        "SPSS",
        d,
        {"default": d.label, "income": d.level}
        | {
            "PRE_1": d.first,
            "PGR_1": d.hard,
        },
    )
    d = Draw("dataiku")
    yield (
        "dataiku",
        "Dataiku",
        d,
        {"target": d.label, "prediction": d.hard}
        | {
            "proba_0": (1 - d.first).round(4),
            "proba_1": d.first,
        },
    )
    d = Draw("datarobot")
    yield (
        "datarobot",
        "DataRobot",
        d,
        {"churn": d.words("yes", "no")}
        | {
            "churn_yes_PREDICTION": d.first,
            "churn_no_PREDICTION": (1 - d.first).round(4),
            "churn_PREDICTION": d.hard_words("yes", "no"),
        },
    )
    d = Draw("linear_predictor")
    yield (
        "linear_predictor",
        "R",
        d,
        {"outcome": d.label} | {"linear_predictor": np.log(d.first / (1 - d.first))},
    )
    d = Draw("nannyml")
    yield (
        "nannyml",
        "NannyML",
        d,
        {"period": ["analysis"] * ROWS, "y_pred_proba": d.first}
        | {
            "y_pred": d.hard,
            "repaid": d.label,
        },
    )
    d = Draw("broom")
    yield (
        "broom",
        "broom",
        d,
        {"am": d.label, "wt": d.level, ".fitted": d.first}
        | {
            ".resid": d.rng.normal(0, 1, ROWS),
            ".cooksd": d.rng.random(ROWS) / 9,
        },
    )
    d = Draw("titanic")
    yield (
        "titanic",
        "pydataset",
        d,
        {"class": d.rng.choice(["1st", "2nd", "3rd"], ROWS)}
        | {
            "sex": d.rng.choice(["man", "women"], ROWS),
            "survived": d.words("yes", "no"),
            "prob": d.first,
        },
    )


def of_decisions() -> Iterator[tuple[str, str, Draw, dict[str, object]]]:
    """Tables of decisions, and at most the confidence in them."""
    d = Draw("autopilot")
    yield (
        "autopilot",
        "SageMaker Autopilot",
        d,
        {"y": d.words("yes", "no")}
        | {
            "predicted_label": d.hard_words("yes", "no"),
            "probability": confidence(d),
        },
    )
    d = Draw("fastai")
    yield (
        "fastai",
        "fastai",
        d,
        {"target": d.words("cat", "dog")}
        | {
            "pred": d.hard_words("cat", "dog"),
            "loss": d.rng.random(ROWS),
            "prob": confidence(d),
        },
    )


def of_forecasts() -> Iterator[tuple[str, str, Draw, dict[str, object]]]:
    """Tables with actual values `d.level` and forecasts `d.near`."""
    d = Draw("stata_regress")
    yield (
        "stata_regress",
        "Stata",
        d,
        {"price": d.level, "mpg": d.folds, "yhat": d.near} | {"resid": (d.level - d.near).round(2)},
    )
    d = Draw("azureml_regression")
    yield "azureml_regression", "AzureML", d, {"price": d.level, "Scored Labels": d.near}
    d = Draw("sas_reg")
    yield (
        "sas_reg",
        "SAS",
        d,
        {"Sales": d.level, "P_Sales": d.near} | {"R_Sales": (d.level - d.near).round(2)},
    )
    d = Draw("augment")
    yield (
        "augment",
        "tidymodels",
        d,
        {".pred": d.near, "Sale_Price": d.level} | {"Gr_Liv_Area": d.level * 12 + d.far},
    )
    d = Draw("neuralprophet")
    yield (
        "neuralprophet",
        "NeuralProphet",
        d,
        {"ds": d.dates, "y": d.level, "yhat1": d.near} | {"trend": d.level.mean() + d.ids / 100},
    )
    d = Draw("point_forecast")
    yield (
        "point_forecast",
        "R forecast",
        d,
        {"actual": d.level, "Point.Forecast": d.near}
        | {
            "Lo.80": d.near - 5,
            "Hi.80": d.near + 5,
        },
    )
    d = Draw("excel_errors")
    yield (
        "excel_errors",
        "Excel",
        d,
        {"Actual": d.level, "Forecast": d.near}
        | {
            "Error": d.level - d.near,
            "APE": abs(d.level - d.near) / d.level,
        },
    )


def attacked() -> Iterator[Example]:
    """The tables that a report reads as they are."""
    for name, tool, d, columns in of_two_classes():
        values = {("roc_auc", ""): roc_auc(d.label, d.first)}
        yield Example(name, tool, "classification", pd.DataFrame(columns), values)
    for name, tool, d, columns in of_decisions():
        values = {("accuracy", ""): accuracy(d.label, d.hard)}
        yield Example(name, tool, "classification", pd.DataFrame(columns), values)
    for name, tool, d, columns in of_forecasts():
        values = {("mae", ""): mae(d.level, d.near)}
        yield Example(name, tool, "rating", pd.DataFrame(columns), values)
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
        "quantiles alone": {"target_value": d.level, "p10": d.near - 8, "p50": d.near},
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
