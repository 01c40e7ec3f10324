"""Tables with the names that people and tools give their columns, and the values that a page of
each must show.

The data are drawn from a seed. FIRST are names of tables by hand and of some common tools; FURTHER
are the names that thirty tools document for their output, written down before any of them was
tried.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

ROWS = 300
Values = Mapping[tuple[str, str], float]  # metric and a part of the system's name -> value


@dataclass(frozen=True)
class Example:
    """A table, the report that it is for, and what this must show. tool: whose names these are."""

    name: str
    tool: str
    report: str
    frame: pd.DataFrame
    values: Values

    @property
    def parameter(self) -> str:
        """The parameter of the report that takes the table."""
        return "users" if self.report == "interleaving" else "preds"


# Values by definition -----------------------------------------------------------------------------


def roc_auc(label: Sequence[int], score: Sequence[float]) -> float:
    """The share of pairs of a positive and a negative row in which the positive one scores
    higher."""
    positive = np.asarray(label, bool)
    scores = np.asarray(score, float)
    pairs = scores[positive][:, None] - scores[~positive]
    return float(np.mean((pairs > 0) + 0.5 * (pairs == 0)))


def mae(actual: Sequence[float], forecast: Sequence[float]) -> float:
    """The mean absolute error."""
    return float(np.mean(np.abs(np.asarray(actual, float) - np.asarray(forecast, float))))


def accuracy(label: Sequence[str], predicted: Sequence[str]) -> float:
    """The share of rows whose predicted class is the label."""
    return float(np.mean(np.asarray(label) == np.asarray(predicted)))


def ndcg10(frame: pd.DataFrame, query: str, score: str, grade: str) -> float:
    """The mean nDCG of the first ten items, of queries with a relevant item."""
    values = []
    discount = 1 / np.log2(np.arange(2, 12))
    for _, rows in frame.groupby(query):
        if rows[grade].max() > 0:
            best = np.sort(rows[grade])[::-1][:10]
            order = rows.sort_values(score, ascending=False)[grade].to_numpy()[:10]
            gains = (order * discount[: len(order)]).sum()
            values.append(gains / (best * discount[: len(best)]).sum())
    return float(np.mean(values))


# Data by seed -------------------------------------------------------------------------------------


class Draw:
    """The data of one example, drawn from its name."""

    def __init__(self, name: str) -> None:
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.label = self.rng.integers(0, 2, ROWS)
        self.first = self._score(0.16, 0.17)
        self.second = self._score(0.10, 0.20)
        self.level = self.rng.gamma(9, 12, ROWS).round(2)
        self.near = (self.level + self.rng.normal(0, 5, ROWS)).round(2)
        self.far = (self.level + self.rng.normal(2, 9, ROWS)).round(2)
        self.ids = np.arange(1, ROWS + 1)
        self.folds = np.arange(ROWS) % 5
        self.dates = pd.date_range("2024-01-01", periods=ROWS).strftime("%Y-%m-%d")

    def _score(self, gap: float, spread: float) -> np.ndarray:
        scores = self.rng.normal(0.42 + gap * self.label, spread)
        return np.clip(scores, 0.001, 0.999).round(4)

    @property
    def hard(self) -> np.ndarray:
        """The decisions at one half."""
        return (self.first >= 0.5).astype(int)

    def words(self, positive: str, negative: str) -> np.ndarray:
        """The labels as words."""
        return np.where(self.label == 1, positive, negative)

    def hard_words(self, positive: str, negative: str) -> np.ndarray:
        """The decisions as words."""
        return np.where(self.first >= 0.5, positive, negative)

    def classes(self, *names: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Labels of these classes, a column of probabilities for each, and the likeliest class."""
        label = self.rng.choice(names, ROWS)
        raw = self.rng.random((ROWS, len(names))) + 0.8 * (label[:, None] == np.array(names))
        share = (raw / raw.sum(axis=1, keepdims=True)).round(6)
        share[:, -1] = (1 - share[:, :-1].sum(axis=1)).round(6)
        return label, share, np.array(names)[share.argmax(axis=1)]

    def lists(self, users: int = 40, items: int = 12) -> pd.DataFrame:
        """Ranked lists in random order: u, i, clicked, grade (0 to 3), scores a and b, rank by
        a."""
        pairs = [(f"u{u}", f"i{u}_{i}") for u in range(users) for i in range(items)]
        frame = pd.DataFrame(pairs, columns=["u", "i"])
        frame["clicked"] = (self.rng.random(len(frame)) < 0.2).astype(int)
        frame["grade"] = frame["clicked"] * self.rng.integers(1, 4, len(frame))
        frame["a"] = (self.rng.random(len(frame)) + 0.5 * frame["clicked"]).round(5)
        frame["b"] = (self.rng.random(len(frame)) + 0.3 * frame["clicked"]).round(5)
        frame = frame.sort_values(["u", "a"], ascending=[True, False], ignore_index=True)
        frame["rank"] = frame.groupby("u").cumcount() + 1
        return frame

    def series(self, *names: str) -> np.ndarray:
        """The names of series, each over an equal number of rows."""
        return np.repeat(names, ROWS // len(names))

    def unit_values(self, units: int = 25) -> tuple[np.ndarray, np.ndarray]:
        """Values of two systems on the same units."""
        first = self.rng.normal(0.80, 0.05, units).round(4)
        second = self.rng.normal(0.82, 0.05, units).round(4)
        return first, second

    def passes(self, units: int = 80) -> tuple[np.ndarray, np.ndarray]:
        """Passes of two systems on the same questions, 0 or 1."""
        return self.rng.integers(0, 2, units), self.rng.integers(0, 2, units)

    def arms(self, control: object, treatment: object, users: int = 1000) -> pd.DataFrame:
        """Users u with an arm, what they did (bought, 0 or 1) and spent."""
        arm = self.rng.integers(0, 2, users)
        frame = pd.DataFrame({"u": [f"u{i}" for i in range(users)]})
        frame["arm"] = [treatment if one else control for one in arm]
        frame["bought"] = self.rng.integers(0, 2, users)
        frame["spent"] = self.rng.gamma(1, 20, users).round(2)
        return frame


def means(frame: pd.DataFrame, arm: str, metric: str) -> Values:
    """The mean of a metric in each arm."""
    found = frame.groupby(arm)[metric].mean()
    return {(metric, str(name)): float(value) for name, value in found.items()}


def named(frame: pd.DataFrame, **names: str) -> pd.DataFrame:
    """These columns of a frame, in this order, under other names: new="old"."""
    return pd.DataFrame({new: frame[old] for new, old in names.items()})


Maker = Callable[[Draw], tuple[dict[str, object] | pd.DataFrame, Values]]
MAKERS: dict[str, list[tuple[str, str, str, Maker]]] = {"first": [], "further": []}


def example(name: str, tool: str, report: str, *, further: bool = True) -> Callable[[Maker], Maker]:
    """Add an example to those that are tried."""

    def add(maker: Maker) -> Maker:
        MAKERS["further" if further else "first"].append((name, tool, report, maker))
        return maker

    return add


def made(group: str) -> Iterator[Example]:
    """The examples of a group, "first" or "further"."""
    for name, tool, report, maker in MAKERS[group]:
        columns, values = maker(Draw(name))
        yield Example(name, tool, report, pd.DataFrame(columns), values)


# Names by hand and of common tools ----------------------------------------------------------------


@example("sklearn_names", "scikit-learn", "classification", further=False)
def _sklearn_names(d: Draw):
    columns = {"y_true": d.label, "y_prob": d.first}
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("actual_prob_two", "by hand", "classification", further=False)
def _actual_prob_two(d: Draw):
    columns = {"actual": d.label, "prob_logit": d.first, "prob_forest": d.second}
    return columns, {
        ("roc_auc", "logit"): roc_auc(d.label, d.first),
        ("roc_auc", "forest"): roc_auc(d.label, d.second),
    }


@example("target_prediction", "MLflow", "classification", further=False)
def _target_prediction(d: Draw):
    columns = {"target": d.label, "prediction": d.first}
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("pred_proba", "by hand", "classification", further=False)
def _pred_proba(d: Draw):
    columns = {"label": d.label, "pred_proba": d.first}
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("pandas_index", "pandas", "classification", further=False)
def _pandas_index(d: Draw):
    columns = {
        "Unnamed: 0": d.ids - 1,
        "y": d.label,
        "y_prob": d.first,
        "race": d.rng.choice(["a", "b"], ROWS),
    }
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("churn", "by hand", "classification", further=False)
def _churn(d: Draw):
    columns = {"customer_id": d.ids, "churn": d.label, "churn_probability": d.first}
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("fraud", "by hand", "classification", further=False)
def _fraud(d: Draw):
    columns = {"is_fraud": d.label, "fraud_score": d.first, "amount": d.level}
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("kaggle", "Kaggle", "classification", further=False)
def _kaggle(d: Draw):
    columns = {"PassengerId": d.ids, "Survived": d.label, "Prob": d.first}
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("yardstick", "yardstick", "classification", further=False)
def _yardstick(d: Draw):
    columns = {
        "truth": d.words("yes", "no"),
        ".pred_class": d.hard_words("yes", "no"),
        ".pred_yes": d.first,
        ".pred_no": (1 - d.first).round(4),
    }
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("model_columns", "by hand", "classification", further=False)
def _model_columns(d: Draw):
    columns = {"y_true": d.label, "model_a": d.first, "model_b": d.second}
    return columns, {
        ("roc_auc", "a"): roc_auc(d.label, d.first),
        ("roc_auc", "b"): roc_auc(d.label, d.second),
    }


@example("attributes_beside", "by hand", "classification", further=False)
def _attributes_beside(d: Draw):
    columns = {
        "y_true": d.label,
        "score_logit": d.first,
        "score_forest": d.second,
        "kids": d.rng.integers(0, 4, ROWS),
        "educ": d.rng.integers(8, 18, ROWS),
    }
    return columns, {
        ("roc_auc", "logit"): roc_auc(d.label, d.first),
        ("roc_auc", "forest"): roc_auc(d.label, d.second),
    }


@example("predicted_labels_two", "by hand", "classification", further=False)
def _predicted_labels_two(d: Draw):
    label, _, best = d.classes("ant", "bee", "fly")
    other = d.rng.choice(["ant", "bee", "fly"], ROWS)
    columns = {"true": label, "pred_knn": best, "pred_lr": other}
    return columns, {
        ("accuracy", "knn"): accuracy(label, best),
        ("accuracy", "lr"): accuracy(label, other),
    }


@example("hard_predictions", "by hand", "classification", further=False)
def _hard_predictions(d: Draw):
    columns = {"label": d.label, "predicted": d.hard}
    return columns, {
        ("accuracy", ""): accuracy(d.label, d.hard),
        ("precision", ""): float(d.label[d.hard == 1].mean()),
    }


@example("gold_pred_texts", "by hand", "classification", further=False)
def _gold_pred_texts(d: Draw):
    label = d.words("spam", "ham")
    guess = d.hard_words("spam", "ham")
    columns = {"text_id": d.ids, "gold": label, "pred": guess}
    return columns, {("accuracy", ""): accuracy(label, guess)}


@example("prob_of_classes", "by hand", "classification", further=False)
def _prob_of_classes(d: Draw):
    label, share, best = d.classes("cat", "dog", "fox")
    columns = {
        "class": label,
        "prob_cat": share[:, 0],
        "prob_dog": share[:, 1],
        "prob_fox": share[:, 2],
    }
    return columns, {("accuracy", ""): accuracy(label, best)}


@example("columns_named_as_classes", "by hand", "classification", further=False)
def _columns_named_as_classes(d: Draw):
    label, share, best = d.classes("cat", "dog", "fox")
    columns = {"label": label, "cat": share[:, 0], "dog": share[:, 1], "fox": share[:, 2]}
    return columns, {("accuracy", ""): accuracy(label, best)}


@example("user_item_clicked", "by hand", "ranking", further=False)
def _user_item_clicked(d: Draw):
    lists = d.lists()
    columns = named(lists, user="u", item="i", score="a", clicked="clicked")
    return columns, {("ndcg@10", ""): ndcg10(lists, "u", "a", "clicked")}


@example("pyterrier_names", "PyTerrier", "ranking", further=False)
def _pyterrier_names(d: Draw):
    lists = d.lists()
    columns = named(lists, qid="u", docno="i", score="a", label="clicked")
    return columns, {("ndcg@10", ""): ndcg10(lists, "u", "a", "clicked")}


@example("query_doc_rank", "by hand", "ranking", further=False)
def _query_doc_rank(d: Draw):
    lists = d.lists()
    columns = named(lists, query="u", doc="i", rank="rank", relevance="clicked")
    return columns, {("ndcg@10", ""): ndcg10(lists, "u", "a", "clicked")}


@example("two_models_of_users", "by hand", "ranking", further=False)
def _two_models_of_users(d: Draw):
    lists = d.lists()
    columns = named(lists, user_id="u", item_id="i", label="clicked", model_a="a", model_b="b")
    return columns, {
        ("ndcg@10", "a"): ndcg10(lists, "u", "a", "clicked"),
        ("ndcg@10", "b"): ndcg10(lists, "u", "b", "clicked"),
    }


@example("surprise", "Surprise", "rating", further=False)
def _surprise(d: Draw):
    columns = {
        "uid": d.ids % 30,
        "iid": d.ids,
        "r_ui": d.rng.integers(1, 6, ROWS).astype(float),
        "est": d.rng.normal(3.4, 0.8, ROWS).round(2),
    }
    return columns, {("mae", ""): mae(columns["r_ui"], columns["est"])}


@example("prophet", "Prophet", "rating", further=False)
def _prophet(d: Draw):
    columns = {"ds": d.dates, "y": d.level, "yhat": d.near}
    return columns, {("mae", ""): mae(d.level, d.near)}


@example("actual_predicted", "by hand", "rating", further=False)
def _actual_predicted(d: Draw):
    columns = {"actual": d.level, "predicted": d.near}
    return columns, {("mae", ""): mae(d.level, d.near)}


@example("y_true_y_pred", "scikit-learn", "rating", further=False)
def _y_true_y_pred(d: Draw):
    columns = {"y_true": d.level, "y_pred": d.near}
    return columns, {("mae", ""): mae(d.level, d.near)}


@example("nixtla", "Nixtla", "rating", further=False)
def _nixtla(d: Draw):
    columns = {
        "unique_id": d.series("x", "y", "z"),
        "ds": [*d.dates[:100]] * 3,
        "y": d.level,
        "AutoARIMA": d.near,
        "SeasonalNaive": d.far,
    }
    return columns, {
        ("mae", "AutoARIMA"): mae(d.level, d.near),
        ("mae", "SeasonalNaive"): mae(d.level, d.far),
    }


@example("observed_models", "by hand", "rating", further=False)
def _observed_models(d: Draw):
    columns = {"observed": d.level, "ar4": d.near, "naive": d.far}
    return columns, {("mae", "ar4"): mae(d.level, d.near), ("mae", "naive"): mae(d.level, d.far)}


@example("datasets_long", "by hand", "significance", further=False)
def _datasets_long(d: Draw):
    first, second = d.unit_values()
    sets = [f"set{i}" for i in range(25)]
    columns = {
        "dataset": sets * 2,
        "method": ["svm"] * 25 + ["rf"] * 25,
        "accuracy": [*first, *second],
    }
    return columns, {
        ("accuracy", "svm"): float(first.mean()),
        ("accuracy", "rf"): float(second.mean()),
    }


@example("datasets_wide", "by hand", "significance", further=False)
def _datasets_wide(d: Draw):
    first, second = d.unit_values()
    sets = [f"set{i}" for i in range(25)]
    columns = {"dataset": sets, "svm": first, "rf": second}
    return columns, {("value", "svm"): float(first.mean()), ("value", "rf"): float(second.mean())}


@example("questions", "by hand", "significance", further=False)
def _questions(d: Draw):
    first, second = d.passes()
    questions = [f"q{i}" for i in range(80)]
    columns = {
        "question_id": questions * 2,
        "model": ["base"] * 80 + ["tuned"] * 80,
        "correct": [*first, *second],
    }
    return columns, {
        ("correct", "base"): float(first.mean()),
        ("correct", "tuned"): float(second.mean()),
    }


@example("ab_group", "by hand", "interleaving", further=False)
def _ab_group(d: Draw):
    users = d.arms("control", "treatment")
    columns = named(users, user="u", group="arm", converted="bought")
    return columns, means(columns, "group", "converted")


@example("ab_variation", "by hand", "interleaving", further=False)
def _ab_variation(d: Draw):
    users = d.arms("A", "B")
    columns = named(users, user_id="u", variation="arm", revenue="spent")
    return columns, means(columns, "variation", "revenue")


@example("folds", "scikit-learn", "validation", further=False)
def _folds(d: Draw):
    columns = {"id": d.ids, "fold": d.folds, "y_true": d.label, "y_pred_proba": d.first}
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("holdout", "by hand", "validation", further=False)
def _holdout(d: Draw):
    columns = {
        "id": d.ids,
        "split": np.where(d.ids <= 200, "train", "test"),
        "label": d.label,
        "score": d.first,
    }
    return columns, {("roc_auc", ""): roc_auc(d.label[200:], d.first[200:])}


# Names that tools document ------------------------------------------------------------------------


@example("cross_val_predict", "scikit-learn", "classification")
def _cross_val_predict(d: Draw):
    columns = {
        "y_true": d.label,
        "y_pred": d.hard,
        "proba_0": (1 - d.first).round(4),
        "proba_1": d.first,
    }
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("calibrated_classifier", "scikit-learn", "classification")
def _calibrated_classifier(d: Draw):
    columns = {"y_test": d.label, "prob_pos": d.first}
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("decision_function", "scikit-learn", "classification")
def _decision_function(d: Draw):
    columns = {
        "index": d.ids - 1,
        "y_test": d.label,
        "decision_function": (10 * d.first - 5).round(3),
    }
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("iris_proba", "scikit-learn", "classification")
def _iris_proba(d: Draw):
    label, share, best = d.classes("setosa", "versicolor", "virginica")
    columns = {
        "target": label,
        "proba_setosa": share[:, 0],
        "proba_versicolor": share[:, 1],
        "proba_virginica": share[:, 2],
    }
    return columns, {("accuracy", ""): accuracy(label, best)}


@example("digits_proba", "scikit-learn", "classification")
def _digits_proba(d: Draw):
    label, share, best = d.classes("0", "1", "2")
    columns = {
        "y_true": label.astype(int),
        "y_pred": best.astype(int),
        "proba_0": share[:, 0],
        "proba_1": share[:, 1],
        "proba_2": share[:, 2],
    }
    return columns, {("accuracy", ""): accuracy(label, best)}


@example("two_class_example", "yardstick", "classification")
def _two_class_example(d: Draw):
    columns = {
        "truth": d.words("Class1", "Class2"),
        "Class1": d.first,
        "Class2": (1 - d.first).round(4),
        "predicted": d.hard_words("Class1", "Class2"),
    }
    return columns, {("accuracy", ""): accuracy(d.label, d.hard)}


@example("hpc_cv", "yardstick", "classification")
def _hpc_cv(d: Draw):
    label, share, best = d.classes("VF", "F", "M", "L")
    columns = {
        "obs": label,
        "pred": best,
        "VF": share[:, 0],
        "F": share[:, 1],
        "M": share[:, 2],
        "L": share[:, 3],
        "Resample": [f"Fold{fold:02}" for fold in d.folds],
    }
    return columns, {("accuracy", ""): accuracy(label, best)}


@example("caret_classes", "caret", "classification")
def _caret_classes(d: Draw):
    columns = {
        "pred": d.hard_words("Yes", "No"),
        "obs": d.words("Yes", "No"),
        "No": (1 - d.first).round(4),
        "Yes": d.first,
        "rowIndex": d.ids,
        "mtry": 2,
    }
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("caret_numbers", "caret", "rating")
def _caret_numbers(d: Draw):
    columns = {
        "pred": d.near,
        "obs": d.level,
        "rowIndex": d.ids,
        "intercept": True,
        "Resample": [f"Fold{fold}" for fold in d.folds],
    }
    return columns, {("mae", ""): mae(d.level, d.near)}


@example("collect_predictions", "tidymodels", "rating")
def _collect_predictions(d: Draw):
    columns = {
        "id": [f"Fold{fold}" for fold in d.folds],
        ".pred": d.near,
        ".row": d.ids,
        "ridership": d.level,
        ".config": "Preprocessor1_Model1",
    }
    return columns, {("mae", ""): mae(d.level, d.near)}


@example("collect_classes", "tidymodels", "classification")
def _collect_classes(d: Draw):
    columns = {
        "id": "train/test split",
        ".pred_class": d.hard_words("good", "bad"),
        ".row": d.ids,
        ".pred_bad": (1 - d.first).round(4),
        ".pred_good": d.first,
        "Status": d.words("good", "bad"),
        ".config": "Preprocessor1_Model1",
    }
    return columns, {("accuracy", ""): accuracy(d.label, d.hard)}


@example("prophet_cross_validation", "Prophet", "rating")
def _prophet_cross_validation(d: Draw):
    columns = {
        "ds": d.dates,
        "yhat": d.near,
        "yhat_lower": d.near - 9,
        "yhat_upper": d.near + 9,
        "y": d.level,
        "cutoff": "2023-12-31",
    }
    return columns, {("mae", ""): mae(d.level, d.near)}


@example("statsforecast_intervals", "Nixtla", "rating")
def _statsforecast_intervals(d: Draw):
    columns = {
        "unique_id": d.series("x", "y", "z"),
        "ds": [*d.dates[:100]] * 3,
        "cutoff": "2023-12-31",
        "y": d.level,
        "AutoETS": d.near,
        "AutoETS-lo-90": d.near - 9,
        "AutoETS-hi-90": d.near + 9,
        "Theta": d.far,
        "Theta-lo-90": d.far - 9,
        "Theta-hi-90": d.far + 9,
    }
    return columns, {
        ("mae", "AutoETS"): mae(d.level, d.near),
        ("mae", "Theta"): mae(d.level, d.far),
    }


@example("neuralforecast", "Nixtla", "rating")
def _neuralforecast(d: Draw):
    columns = {
        "unique_id": d.series("x", "y", "z"),
        "ds": [*d.dates[:100]] * 3,
        "cutoff": "2023-12-31",
        "NHITS": d.near,
        "NBEATS": d.far,
        "y": d.level,
    }
    return columns, {("mae", "NHITS"): mae(d.level, d.near), ("mae", "NBEATS"): mae(d.level, d.far)}


@example("utilsforecast_losses", "Nixtla", "significance")
def _utilsforecast_losses(d: Draw):
    first, second = d.unit_values()
    sets = [f"set{i}" for i in range(25)]
    columns = {"unique_id": sets, "AutoETS": first, "Theta": second}
    return columns, {
        ("value", "AutoETS"): float(first.mean()),
        ("value", "Theta"): float(second.mean()),
    }


@example("darts", "Darts", "rating")
def _darts(d: Draw):
    columns = {"time": d.dates, "actual": d.level, "ExponentialSmoothing": d.near, "Theta": d.far}
    return columns, {
        ("mae", "ExponentialSmoothing"): mae(d.level, d.near),
        ("mae", "Theta"): mae(d.level, d.far),
    }


@example("gluonts_quantiles", "GluonTS", "rating")
def _gluonts_quantiles(d: Draw):
    columns = {
        "item_id": d.series("x", "y", "z"),
        "timestamp": [*d.dates[:100]] * 3,
        "target": d.level,
        "mean": d.near,
        "p10": d.near - 8,
        "p50": d.far,
        "p90": d.near + 8,
    }
    return columns, {("mae", "mean"): mae(d.level, d.near)}


@example("sktime", "sktime", "rating")
def _sktime(d: Draw):
    columns = {"Period": d.dates, "y_test": d.level, "y_pred": d.near}
    return columns, {("mae", ""): mae(d.level, d.near)}


@example("surprise_frame", "Surprise", "rating")
def _surprise_frame(d: Draw):
    columns = {
        "uid": d.ids % 30,
        "iid": d.ids,
        "rui": d.rng.integers(1, 6, ROWS).astype(float),
        "est": d.rng.normal(3.4, 0.8, ROWS).round(2),
        "details": "{'was_impossible': False}",
    }
    return columns, {("mae", ""): mae(columns["rui"], columns["est"])}


@example("implicit", "implicit", "ranking")
def _implicit(d: Draw):
    lists = d.lists()
    columns = named(lists, user_id="u", item_id="i", score="a", purchased="clicked")
    return columns, {("ndcg@10", ""): ndcg10(lists, "u", "a", "clicked")}


@example("lenskit_lists", "LensKit", "ranking")
def _lenskit_lists(d: Draw):
    lists = d.lists()
    columns = named(lists, user="u", item="i", score="a", rank="rank", rating="grade")
    return columns, {("ndcg@10", ""): ndcg10(lists, "u", "a", "grade")}


@example("lenskit_predictions", "LensKit", "rating")
def _lenskit_predictions(d: Draw):
    columns = {
        "user": d.ids % 30,
        "item": d.ids,
        "rating": d.rng.integers(1, 6, ROWS),
        "prediction": d.rng.normal(3.4, 0.8, ROWS).round(2),
    }
    return columns, {("mae", ""): mae(columns["rating"], columns["prediction"])}


@example("recbole", "RecBole", "ranking")
def _recbole(d: Draw):
    lists = d.lists()
    columns = lists[["u", "i", "a", "clicked"]].set_axis(
        ["user_id:token", "item_id:token", "score:float", "label:float"], axis=1
    )
    return columns, {("ndcg@10", ""): ndcg10(lists, "u", "a", "clicked")}


@example("pyterrier_frame", "PyTerrier", "ranking")
def _pyterrier_frame(d: Draw):
    lists = d.lists()
    columns = named(
        lists.assign(text="words of " + lists["u"], number=range(len(lists))),
        qid="u",
        docid="number",
        docno="i",
        rank="rank",
        score="a",
        query="text",
        label="grade",
    )
    return columns, {("ndcg@10", ""): ndcg10(lists, "u", "a", "grade")}


@example("ranx", "ranx", "ranking")
def _ranx(d: Draw):
    lists = d.lists()
    columns = named(lists, q_id="u", doc_id="i", score="a", rel="grade")
    return columns, {("ndcg@10", ""): ndcg10(lists, "u", "a", "grade")}


@example("beir", "BEIR", "ranking")
def _beir(d: Draw):
    lists = d.lists()
    columns = lists[["u", "i", "a", "grade"]].set_axis(
        ["query-id", "corpus-id", "score", "relevance"], axis=1
    )
    return columns, {("ndcg@10", ""): ndcg10(lists, "u", "a", "grade")}


@example("ms_marco_run", "MS MARCO", "ranking")
def _ms_marco_run(d: Draw):
    lists = d.lists()
    columns = named(lists, qid="u", pid="i", rank="rank", label="clicked")
    return columns, {("ndcg@10", ""): ndcg10(lists, "u", "a", "clicked")}


@example("passages_two", "by hand", "ranking")
def _passages_two(d: Draw):
    lists = d.lists()
    columns = named(
        lists, query_id="u", passage_id="i", relevance="grade", bm25_score="a", colbert_score="b"
    )
    return columns, {
        ("ndcg@10", "bm25"): ndcg10(lists, "u", "a", "grade"),
        ("ndcg@10", "colbert"): ndcg10(lists, "u", "b", "grade"),
    }


@example("quepid", "Quepid", "ranking")
def _quepid(d: Draw):
    lists = d.lists()
    columns = lists[["u", "i", "rank", "grade"]].set_axis(
        ["Query Text", "Doc ID", "Doc Position", "Rating"], axis=1
    )
    return columns, {("ndcg@10", ""): ndcg10(lists, "u", "a", "grade")}


@example("lightfm", "LightFM", "ranking")
def _lightfm(d: Draw):
    lists = d.lists()
    columns = named(lists, userId="u", movieId="i", prediction="a", watched="clicked")
    return columns, {("ndcg@10", ""): ndcg10(lists, "u", "a", "clicked")}


@example("house_prices", "Kaggle", "rating")
def _house_prices(d: Draw):
    columns = {"Id": d.ids, "SalePrice": d.level, "SalePrice_pred": d.near}
    return columns, {("mae", ""): mae(d.level, d.near)}


@example("lightgbm_xgboost", "LightGBM and XGBoost", "classification")
def _lightgbm_xgboost(d: Draw):
    columns = {"label": d.label, "lgb_pred": d.first, "xgb_pred": d.second}
    return columns, {
        ("roc_auc", "lgb"): roc_auc(d.label, d.first),
        ("roc_auc", "xgb"): roc_auc(d.label, d.second),
    }


@example("catboost", "CatBoost", "classification")
def _catboost(d: Draw):
    columns = {"SampleId": d.ids, "Probability": d.first, "Class": d.hard, "Label": d.label}
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("spark_ml", "Spark ML", "classification")
def _spark_ml(d: Draw):
    columns = {
        "label": d.label.astype(float),
        "probability": d.first,
        "prediction": d.hard.astype(float),
    }
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("spark_regression", "Spark ML", "rating")
def _spark_regression(d: Draw):
    columns = {"label": d.level, "prediction": d.near}
    return columns, {("mae", ""): mae(d.level, d.near)}


@example("spark_als", "Spark ML", "rating")
def _spark_als(d: Draw):
    columns = {
        "userId": d.ids % 30,
        "movieId": d.ids,
        "rating": d.rng.integers(1, 6, ROWS).astype(float),
        "timestamp": 1_700_000_000 + d.ids * 977,
        "prediction": d.rng.normal(3.4, 0.8, ROWS).round(2),
    }
    return columns, {("mae", ""): mae(columns["rating"], columns["prediction"])}


@example("mlflow_regressor", "MLflow", "rating")
def _mlflow_regressor(d: Draw):
    columns = {"target": d.level, "prediction": d.near}
    return columns, {("mae", ""): mae(d.level, d.near)}


@example("bigquery_classes", "BigQuery ML", "classification")
def _bigquery_classes(d: Draw):
    columns = {"predicted_churned": d.hard, "predicted_churned_prob": d.first, "churned": d.label}
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("bigquery_numbers", "BigQuery ML", "rating")
def _bigquery_numbers(d: Draw):
    columns = {"predicted_fare": d.near, "fare": d.level, "trip_id": d.ids}
    return columns, {("mae", ""): mae(d.level, d.near)}


@example("bigquery_forecast", "BigQuery ML", "rating")
def _bigquery_forecast(d: Draw):
    columns = {
        "forecast_timestamp": d.dates,
        "forecast_value": d.near,
        "standard_error": d.rng.gamma(9, 0.4, ROWS).round(3),
        "prediction_interval_lower_bound": d.near - 9,
        "prediction_interval_upper_bound": d.near + 9,
        "actual": d.level,
    }
    return columns, {("mae", ""): mae(d.level, d.near)}


@example("sagemaker_linear", "SageMaker", "classification")
def _sagemaker_linear(d: Draw):
    columns = {"label": d.label, "predicted_label": d.hard, "score": d.first}
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("vertex_scores", "Vertex AI", "classification")
def _vertex_scores(d: Draw):
    columns = {
        "churn": d.label,
        "churn_0_scores": (1 - d.first).round(4),
        "churn_1_scores": d.first,
    }
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("h2o_binomial", "H2O", "classification")
def _h2o_binomial(d: Draw):
    columns = {"CAPSULE": d.label, "predict": d.hard, "p0": (1 - d.first).round(4), "p1": d.first}
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("h2o_multinomial", "H2O", "classification")
def _h2o_multinomial(d: Draw):
    label, share, best = d.classes("setosa", "versicolor", "virginica")
    columns = {
        "class": label,
        "predict": best,
        "setosa": share[:, 0],
        "versicolor": share[:, 1],
        "virginica": share[:, 2],
    }
    return columns, {("accuracy", ""): accuracy(label, best)}


@example("autogluon_proba", "AutoGluon", "classification")
def _autogluon_proba(d: Draw):
    columns = {"class": d.words(">50K", "<=50K"), "<=50K": (1 - d.first).round(4), ">50K": d.first}
    return columns, {("accuracy", ""): accuracy(d.label, d.first > 0.5)}


@example("autogluon_series", "AutoGluon", "rating")
def _autogluon_series(d: Draw):
    columns = {
        "item_id": d.series("x", "y", "z"),
        "timestamp": [*d.dates[:100]] * 3,
        "target": d.level,
        "mean": d.near,
        "0.1": d.near - 8,
        "0.5": d.far,
        "0.9": d.near + 8,
    }
    return columns, {("mae", "mean"): mae(d.level, d.near)}


@example("pycaret", "PyCaret", "classification")
def _pycaret(d: Draw):
    columns = {
        "StoreID": d.folds,
        "Purchase": d.words("CH", "MM"),
        "prediction_label": d.hard_words("CH", "MM"),
        "prediction_score": np.maximum(d.first, 1 - d.first).round(4),
    }
    return columns, {("accuracy", ""): accuracy(d.label, d.hard)}


@example("weka", "Weka", "classification")
def _weka(d: Draw):
    columns = {
        "inst#": d.ids,
        "actual": d.words("1:yes", "2:no"),
        "predicted": d.hard_words("1:yes", "2:no"),
        "error": np.where(d.label == d.hard, "", "+"),
        "prediction": np.maximum(d.first, 1 - d.first).round(4),
    }
    return columns, {("accuracy", ""): accuracy(d.label, d.hard)}


@example("rapidminer", "RapidMiner", "classification")
def _rapidminer(d: Draw):
    columns = {
        "Survived": d.words("Yes", "No"),
        "prediction(Survived)": d.hard_words("Yes", "No"),
        "confidence(Yes)": d.first,
        "confidence(No)": (1 - d.first).round(4),
    }
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("knime", "KNIME", "classification")
def _knime(d: Draw):
    columns = {
        "income": d.words(">50K", "<=50K"),
        "P (income=<=50K)": (1 - d.first).round(4),
        "P (income=>50K)": d.first,
        "Prediction (income)": d.hard_words(">50K", "<=50K"),
    }
    return columns, {("accuracy", ""): accuracy(d.label, d.hard)}


@example("keras_sigmoid", "Keras", "classification")
def _keras_sigmoid(d: Draw):
    columns = {"y_true": d.label, "y_pred": d.first}
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("huggingface", "Hugging Face evaluate", "classification")
def _huggingface(d: Draw):
    label, _, best = d.classes("joy", "anger", "fear")
    columns = {"text": [f"text {i}" for i in d.ids], "references": label, "predictions": best}
    return columns, {("accuracy", ""): accuracy(label, best)}


@example("lm_eval_samples", "lm-eval", "significance")
def _lm_eval_samples(d: Draw):
    first, second = d.passes()
    columns = {
        "doc_id": [*range(80)] * 2,
        "model": ["base"] * 80 + ["tuned"] * 80,
        "acc": [*first, *second],
    }
    return columns, {("acc", "base"): float(first.mean()), ("acc", "tuned"): float(second.mean())}


@example("promptfoo", "promptfoo", "significance")
def _promptfoo(d: Draw):
    first, second = d.passes()
    questions = [f"q{i}" for i in range(80)]
    columns = {
        "test": questions * 2,
        "provider": ["openai:small"] * 80 + ["openai:large"] * 80,
        "score": [*first, *second],
    }
    return columns, {
        ("score", "small"): float(first.mean()),
        ("score", "large"): float(second.mean()),
    }


@example("deepeval", "DeepEval", "significance")
def _deepeval(d: Draw):
    first, second = d.unit_values()
    sets = [f"set{i}" for i in range(25)]
    columns = {
        "test_case": sets * 2,
        "model": ["base"] * 25 + ["tuned"] * 25,
        "answer_relevancy": [*first, *second],
    }
    return columns, {
        ("answer_relevancy", "base"): float(first.mean()),
        ("answer_relevancy", "tuned"): float(second.mean()),
    }


@example("openml_predictions", "OpenML", "classification")
def _openml_predictions(d: Draw):
    columns = {
        "row_id": d.ids,
        "prediction": d.hard_words("yes", "no"),
        "truth": d.words("yes", "no"),
        "confidence.no": (1 - d.first).round(4),
        "confidence.yes": d.first,
    }
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("mlr3_classes", "mlr3", "classification")
def _mlr3_classes(d: Draw):
    columns = {
        "row_ids": d.ids,
        "truth": d.words("M", "R"),
        "response": d.hard_words("M", "R"),
        "prob.M": d.first,
        "prob.R": (1 - d.first).round(4),
    }
    return columns, {("accuracy", ""): accuracy(d.label, d.hard)}


@example("mlr3_numbers", "mlr3", "rating")
def _mlr3_numbers(d: Draw):
    columns = {"row_ids": d.ids, "truth": d.level, "response": d.near}
    return columns, {("mae", ""): mae(d.level, d.near)}


@example("statsmodels", "statsmodels", "rating")
def _statsmodels(d: Draw):
    columns = {"observed": d.level, "fittedvalues": d.near}
    return columns, {("mae", ""): mae(d.level, d.near)}


@example("kaggle_oof", "Kaggle", "validation")
def _kaggle_oof(d: Draw):
    columns = {"id": d.ids, "kfold": d.folds, "target": d.label, "oof_preds": d.first}
    return columns, {("roc_auc", ""): roc_auc(d.label, d.first)}


@example("growthbook", "GrowthBook", "interleaving")
def _growthbook(d: Draw):
    users = d.arms(0, 1)
    columns = named(users, user_id="u", variation_id="arm", purchased="bought")
    return columns, means(columns, "variation_id", "purchased")


@example("optimizely", "Optimizely", "interleaving")
def _optimizely(d: Draw):
    users = d.arms("Original", "Variation #1")
    columns = named(
        users.assign(experiment="checkout"),
        visitor_id="u",
        experiment_id="experiment",
        variation_name="arm",
        revenue="spent",
    )
    return columns, means(columns, "variation_name", "revenue")


@example("statsig", "Statsig", "interleaving")
def _statsig(d: Draw):
    users = d.arms("Control", "Test")
    columns = named(
        users.assign(time="2026-01-05"),
        unit_id="u",
        group_name="arm",
        first_exposure="time",
        purchase="bought",
    )
    return columns, means(columns, "group_name", "purchase")


@example("eppo", "Eppo", "interleaving")
def _eppo(d: Draw):
    users = d.arms("control", "treatment")
    columns = named(users, subject_id="u", variant="arm", converted="bought", pre_revenue="spent")
    return columns, means(columns, "variant", "converted")
