"""Tables of the kinds that were once misread, in other columns, reports and values, and what must
happen to each: it is refused in words that help, read as meant, or a finding declares what is odd.

The data are drawn from a seed; right values are computed here by definition.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from examples.first_try import accuracy, mae, roc_auc

RNG = np.random.default_rng(66)
ROWS = 40
FIRST = RNG.random(ROWS).round(3)
SECOND = np.clip(FIRST + RNG.normal(0.05, 0.1, ROWS), 0.01, 1).round(3)
LABEL = (RNG.random(ROWS) < FIRST).astype(int)
ACTUAL = RNG.normal(100, 20, ROWS).round(2)
NEAR = (ACTUAL + RNG.normal(0, 5, ROWS)).round(2)
QUERY = [f"q{i}" for i in range(ROWS)]
ARM = ["A", "B"] * (ROWS // 2)
COMMAS = (".csv", ".parquet")
TEXTS = (".csv", ".jsonl")
SEMICOLONS = ("semicolons.csv", ".tsv")  # cells may hold commas and points
Columns = Mapping[str, Sequence[object]]


@dataclass(frozen=True)
class Refused:
    """The input is refused. words: a pattern in the message."""

    words: str


@dataclass(frozen=True)
class Read:
    """The input is read as meant. values: (metric, system) -> value; systems: the names, empty
    where any will do.
    """

    values: Mapping[tuple[str, str], float]
    systems: Sequence[str] = ()


@dataclass(frozen=True)
class Declared:
    """The input is read, and a finding says what is odd. code: that of the finding."""

    code: str


@dataclass(frozen=True)
class Sibling:
    """Tables, and what must happen to them in each of some formats.

    fact: what is tested. tables: parameter -> columns, or several tables by the names of their
    files. given: further parameters.
    """

    fact: str
    report: str
    tables: Mapping[str, Columns | Mapping[str, Columns]]
    must: Refused | Read | Declared
    formats: Sequence[str] = COMMAS
    given: Mapping[str, object] = field(default_factory=dict)


def sibling(
    fact: str,
    report: str,
    table: Columns,
    must: Refused | Read | Declared,
    formats: Sequence[str] = COMMAS,
    **given: object,
) -> Sibling:
    """A sibling with one table, which is that of the users of an A/B test in an interleaving
    report."""
    parameter = "users" if report == "interleaving" else "preds"
    return Sibling(fact, report, {parameter: table}, must, formats, given)


def long(name: str, *columns: Sequence[object]) -> dict[str, list[object]]:
    """The columns of systems x and y below each other, beside the system."""
    cells = [cell for column in columns for cell in column]
    systems = [system for system in "xy" for _ in range(ROWS)]
    return {"system": systems, name: cells}


# Points between thousands, in files where a point may also be a decimal point

LARGE = (FIRST * 9000 + 100).round()
LARGER = (SECOND * 9000 + 100).round()


def german(values: np.ndarray) -> list[str]:
    """Whole numbers with points between groups of three digits, as German tables have them."""
    return [f"{int(value):,}".replace(",", ".") for value in values]


def points_of_thousands() -> Iterator[Sibling]:
    tables: Sequence[tuple[str, str, Columns]] = (
        (
            "long",
            "significance",
            {"query": QUERY * 2, **long("value", german(LARGE), german(LARGER))},
        ),
        (
            "millions",
            "significance",
            {"id": QUERY, "a": german(LARGE * 999), "b": german(LARGER * 999)},
        ),
        ("revenue", "interleaving", {"user": QUERY, "arm": ARM, "revenue": german(LARGE)}),
        ("usual names", "rating", {"y_true": german(LARGE), "y_pred": german(LARGER)}),
        (
            "two models",
            "rating",
            {"actual": german(LARGE), "ols": german(LARGER), "rf": german(LARGE)},
        ),
        ("negative", "rating", {"actual": german(-LARGE), "forecast": german(-LARGER)}),
    )
    for fact, report, columns in tables:
        must = Refused("group thousands by points|got '.*' .*and no marks")
        yield sibling(f"points of thousands, {fact}", report, columns, must, SEMICOLONS)


# Cells that are no numbers, with which a system would vanish

NO_NUMBERS = Refused("must (hold numbers|be a number|be a finite number)")


def cells_without_a_number() -> Iterator[Sibling]:
    forms = ("[{}]", "{}*", "{} ± 0.02", "{}ms", "${}", "{}M", "{}/1", "tensor({})")
    for form in forms:
        cells = [form.format(value) for value in SECOND]
        columns = {"query": QUERY, "a": FIRST, "b": cells}
        yield sibling(f"values such as {form}", "significance", columns, NO_NUMBERS)
    for words in (("yes", "no"), ("ok", "error"), ("✓", "✗"), ("Passed", "Failed")):
        columns = {"query": QUERY, "a": FIRST, "b": np.where(SECOND > 0.5, *words)}
        yield sibling(f"{words[0]} beside numbers", "significance", columns, NO_NUMBERS)
    for form in ("({})", "{}k"):
        cells = [form.format(value) for value in SECOND]
        scores = {"label": LABEL, "score_a": FIRST, "score_b": cells}
        yield sibling(f"scores such as {form}", "classification", scores, NO_NUMBERS)
        forecasts = {"actual": ACTUAL, "forecast_a": NEAR, "forecast_b": cells}
        yield sibling(f"forecasts such as {form}", "rating", forecasts, NO_NUMBERS)
        users = {"user": QUERY, "arm": ARM, "revenue": cells}
        yield sibling(f"revenue such as {form}", "interleaving", users, NO_NUMBERS)


# Ranked lists

LIST = [*np.repeat(range(ROWS // 4), 4)]
TEXT = [*np.repeat([*"xyxzywxzxy"], 4)]  # ten queries of four texts
ITEM = [f"d{i}" for i in range(ROWS)]
SCORE = RNG.random(ROWS).round(4)
GRADE = [0, 1, 0, 1] * (ROWS // 4)
PLACE = pd.Series(-SCORE).groupby(LIST).rank().astype(int)
LISTED = {"item": ITEM, "score": SCORE, "grade": GRADE}
FIRST_RELEVANT = PLACE[np.array(GRADE) == 1].groupby(np.repeat(range(ROWS // 4), 2)).min()
RANKED = Read({("reciprocal_rank", ""): float(np.mean(1 / FIRST_RELEVANT))})


def texts_of_queries_beside_ids() -> Iterator[Sibling]:
    two = Refused("both be the query|say which: columns='query=")
    for text, name in (("query", "search_id"), ("query", "topic_id"), ("query_text", "topic")):
        columns = {text: TEXT, name: LIST, **LISTED}
        yield sibling(f"{text} beside {name}", "ranking", columns, two)
        way = {"columns": f"query={name}", "metrics": "reciprocal_rank"}
        yield sibling(f"{name} chosen, not {text}", "ranking", columns, RANKED, **way)


def distances() -> Iterator[Sibling]:
    rises = Refused("it rises from rank to rank; negate it")
    farther = pd.Series(SCORE).groupby(LIST).rank().astype(int)
    lists = {"query": LIST, **LISTED}
    yield sibling("a score that rises with the rank", "ranking", {**lists, "rank": farther}, rises)
    names = {"qid": LIST, "doc_id": ITEM, "position": farther, "rel": GRADE, "cosine": SCORE}
    way = {"columns": "score=cosine"}
    yield sibling("a cosine that rises with the position", "ranking", names, rises, **way)
    both = {name: [*cells, *cells] for name, cells in {**lists, "rank": farther}.items()}
    both |= {"system": ["x"] * ROWS + ["y"] * ROWS}
    yield sibling("scores of two systems that rise", "ranking", both, rises)
    for name in ("cosine_distance", "euclidean"):
        columns = {"query": LIST, "item": ITEM, name: SCORE, "grade": GRADE}
        yield sibling(
            f"the only number is {name}", "ranking", columns, Refused("called a distance")
        )


def items_that_come_twice() -> Iterator[Sibling]:
    lists = {"query": LIST, **LISTED}
    twice = {name: [*cells, cells[0]] for name, cells in lists.items()}
    way = Refused("chunks of one item, keep the row with its best score")
    yield sibling("an item twice in a list", "ranking", twice, way)
    ranks = {"user_id": LIST + LIST[:1], "item_id": ITEM + ITEM[:1], "rank": [*PLACE, 9]}
    liked = {"user_id": LIST, "item_id": ITEM, "liked": GRADE}
    tables = {"preds": ranks, "qrels": liked}
    yield Sibling(
        "an item at two ranks", "ranking", tables, Refused("item.* again|must appear once")
    )
    shown = {"user_id": [1, 1, 1, 2, 2], "item_id": [*"abcab"], "rank": [1, 2, 3, 1, 2]}
    bought = {"user_id": [1, 1, 1, 2], "item_id": [*"aacb"]}
    tables = {"preds": shown, "qrels": bought}
    found = Read({("recall@3", ""): 1.0})
    given = {"metrics": "recall@3"}
    yield Sibling("an item bought twice", "ranking", tables, found, given=given)


def lists_in_cells() -> Iterator[Sibling]:
    rows = Refused("list|one row per item|explode")
    for user, listed, relevant in (
        ("user_id", "recommended", "relevant"),
        ("query", "retrieved", "expected"),
        ("qid", "items", "ground_truth"),
    ):
        users = [f"u{i}" for i in range(8)]
        columns = {user: users, listed: [["a", "b", "c"]] * 8, relevant: [["b"], ["a", "z"]] * 4}
        formats = (".jsonl", ".parquet")
        yield sibling(f"lists in cells of {listed}", "ranking", columns, rows, formats)


# Columns beside predictions that are no systems


def columns_that_are_no_systems() -> Iterator[Sibling]:
    ranks = np.argsort(np.argsort(-FIRST)) + 1
    of_scores = {"lower": FIRST / 2, "q10": FIRST / 2, "rank": ranks, "epoch": [3] * ROWS}
    for name, cells in of_scores.items():
        columns = {"id": QUERY, "label": LABEL, "score_a": FIRST, f"score_{name}": cells}
        found = Read({("roc_auc", "a"): roc_auc(LABEL, FIRST)}, ("a",))
        fact = f"score_{name} is no system"
        yield sibling(fact, "classification", columns, found, metrics="roc_auc")
    of_forecasts = {
        "hi": NEAR + 8,
        "upper_95": NEAR + 8,
        "q90": NEAR + 8,
        "p05": NEAR - 8,
        "horizon": [1, 2] * (ROWS // 2),
        "timestamp": 1_700_000_000 + np.arange(ROWS),
    }
    for name, cells in of_forecasts.items():
        columns = {"id": QUERY, "actual": ACTUAL, "pred_a": NEAR, f"pred_{name}": cells}
        found = Read({("mae", "a"): mae(ACTUAL, NEAR)}, ("pred_a",))
        yield sibling(f"pred_{name} is no system", "rating", columns, found, metrics="mae")


# Names that differ in case alone


def names_in_two_cases() -> Iterator[Sibling]:
    alike = Refused("must write each name in one way")
    for first, second in (("b", "B"), ("Team A", "team a"), ("new", "new ")):
        team = [first, second, "other", "other"] * 10
        columns = {"session": LIST, "position": [1, 2, 3, 4] * 10, "team": team, "click": GRADE}
        fact = f"teams {first!r} and {second!r}"
        parameters = {"log": columns}
        yield Sibling(fact, "interleaving", parameters, alike, (".csv", ".parquet"))
    users = {"user": QUERY, "arm": ["A", "B", "a", "B"] * 10, "bought": LABEL}
    yield sibling("arms 'A' and 'a'", "interleaving", users, alike)


# Totals, and rows that are no units

DAYS = ROWS // 2


def totals_of_arms() -> Iterator[Sibling]:
    orders = (LARGE / 100).round()
    totals = Refused("one row per user|totals")
    for name in ("week", "hour", "date"):
        days = [f"{name} {i}" for i in range(DAYS)] * 2
        columns = {name: days, "variant": ["A"] * DAYS + ["B"] * DAYS, "orders": orders}
        yield sibling(f"totals per {name}", "interleaving", columns, totals, metrics="orders")
    countries = {
        "country": [f"c{i}" for i in range(DAYS)] * 2,
        "group": ["control"] * DAYS + ["treatment"] * DAYS,
        "sessions": LARGE,
        "orders": orders,
    }
    ratio = {"metrics": "orders/sessions"}
    yield sibling("totals per country", "interleaving", countries, totals, **ratio)


def marks_of_missing_values() -> Iterator[Sibling]:
    for mark in (-999, -1, 99):
        marked = np.where(np.arange(ROWS) % 8 == 0, mark, SECOND)
        must = Refused(rf"must not mark missing values by numbers, got {mark} in 5 rows")
        values = {"query": QUERY * 2, **long("value", FIRST, marked)}
        yield sibling(f"{mark} among values in a long table", "significance", values, must)
        rows = {"id": QUERY * 2, "actual": [*FIRST] * 2, **long("forecast", SECOND, marked)}
        yield sibling(f"{mark} among forecasts in a long table", "rating", rows, must)
        scored = {"label": LABEL, "score": marked}
        declared = Declared("EK312")  # scores outside 0 to 1
        yield sibling(f"{mark} among scores", "classification", scored, declared)
    users = {"user": QUERY, "arm": ARM, "revenue": np.where(LABEL == 0, -999, LARGE)}
    must = Refused("must not mark missing values by numbers, got -999")
    yield sibling("-999 among what users spent", "interleaving", users, must)


def metrics_of_one_system() -> Iterator[Sibling]:
    must = Refused("must be a system, got metrics")
    names = (
        ("faithfulness", "answer_relevancy", "context_recall"),
        ("rouge1", "rougeL", "bleu"),
        ("evaluators.correctness", "evaluators.toxicity", "execution_time"),
    )
    for metrics in names:
        cells = (FIRST, SECOND, SCORE)
        columns = {"id": QUERY, **dict(zip(metrics, cells, strict=True))}
        yield sibling(f"{metrics[0]} of one system", "significance", columns, must)


def steps_of_a_training() -> Iterator[Sibling]:
    must = Refused(
        "of a training run, not a unit|columns of a tracker|must be a system, got metrics"
    )
    tables = (
        {"step": range(ROWS), "train_loss": FIRST, "val_loss": SECOND},
        {"global_step": range(ROWS), "loss": FIRST, "eval_accuracy": SECOND, "lr": SCORE},
        {"boosting_round": range(ROWS), "train-auc-mean": FIRST, "test-auc-mean": SECOND},
        {
            "iteration": range(ROWS),
            "training.binary_logloss": FIRST,
            "valid.binary_logloss": SECOND,
        },
    )
    for columns in tables:
        fact = f"each row is one {next(iter(columns))}"
        yield sibling(fact, "significance", columns, must)


# Columns with another use


def columns_that_are_used_twice() -> Iterator[Sibling]:
    scored = {"id": QUERY, "label": LABEL, "score": FIRST}
    forecast = {"id": QUERY, "actual": ACTUAL, "forecast": NEAR}
    ranked = {"query": LIST, **LISTED}
    for report, columns, role in (
        ("classification", scored, "score"),
        ("rating", forecast, "actual"),
        ("ranking", ranked, "grade"),
    ):
        must = Refused(f"'{role}' is the {role} of .*, name another column")
        fact = f"the unit is the {role}"
        yield sibling(fact, report, columns, must, unit=role)


# Several classes


def decisions_with_confidence() -> Iterator[Sibling]:
    kind = np.array(["ant", "bee", "cow", "dog"])[np.arange(ROWS) % 4]
    guess = np.where(FIRST < 0.7, kind, "ant")
    confidence = (0.5 + FIRST / 2).round(3)
    for names in (
        ("y_true", "y_pred", "probability"),
        ("class", ".pred_class", ".pred_prob"),
        ("gold", "predicted_label", "softmax_score"),
    ):
        columns = dict(zip(names, (kind, guess, confidence), strict=True))
        found = Read({("accuracy", ""): accuracy(kind, guess)})
        fact = f"{names[1]} beside {names[2]}"
        yield sibling(fact, "classification", columns, found, metrics="accuracy")


def probabilities_of_classes_beside_numbers() -> Iterator[Sibling]:
    number = np.arange(ROWS) % 3
    parts = RNG.dirichlet([1, 1, 1], ROWS).round(6)
    parts[:, 2] = 1 - parts[:, 0] - parts[:, 1]
    decided = parts.argmax(1)
    for words, label in ((("low", "mid", "high"), number), (("NEG", "NEU", "POS"), number + 1)):
        columns = {"label": label, **{f"prob_{word}": parts[:, i] for i, word in enumerate(words)}}
        must = Refused("p_|predicted|class")
        yield sibling(f"prob_{words[0]} beside {label.min()}", "classification", columns, must)
        columns = {**columns, "predicted": decided + label.min()}
        found = Read({("accuracy", ""): float(np.mean(decided == number))})
        fact = f"prob_{words[0]} beside {label.min()} and decisions"
        yield sibling(fact, "classification", columns, found, metrics="accuracy")
    columns = {"label": LABEL, "prob_ham": 1 - FIRST, "prob_spam": FIRST}
    must = Refused("sum to 1 in every row")
    yield sibling("prob_spam beside 0 and 1", "classification", columns, must)


# Files of runs


def a_file_per_run() -> Iterator[Sibling]:
    def run(unit: str, value: str, cells: Sequence[object]) -> Columns:
        return {unit: QUERY, "answer": "x y", value: cells, "answer_relevancy": SCORE}

    gaps = np.where(np.arange(ROWS) % 9 == 0, np.nan, SECOND)
    for unit, value, cells in (
        ("user_input", "faithfulness", SECOND),
        ("question", "context_recall", gaps),
        ("id", "answer_correctness", SECOND),
    ):
        runs = {"run_a": run(unit, value, FIRST), "run_b": run(unit, value, cells)}
        means = {(value, "run_b"): float(np.nanmean(cells))}
        given = {"columns": f"unit={unit},value={value}"}
        yield Sibling(
            f"{value} of two runs", "significance", {"preds": runs}, Read(means), given=given
        )


# Folds


def repeated_holdouts() -> Iterator[Sibling]:
    ids = np.concatenate([RNG.choice(ROWS, 8, replace=False) for _ in range(10)])
    draw = np.repeat(range(10), 8)
    rows = {"id": ids, "label": LABEL[ids], "score": FIRST[ids]}
    read = Read({})
    yield sibling(
        "holdouts by repeat", "validation", {**rows, "fold": ["test"] * 80, "repeat": draw}, read
    )
    yield sibling(
        "holdouts by names of splits",
        "validation",
        {**rows, "fold": [f"split{i}" for i in draw]},
        read,
    )
    yield sibling(
        "holdouts of rsample",
        "validation",
        {**rows, "resample": [f"Resample{i + 1:02}" for i in draw]},
        read,
    )


# Parameters


def parameters_of_another_type() -> Iterator[Sibling]:
    for labels, positive in ((("01", "02"), 2), (("007", "008"), 8), (("1e0", "2e0"), 2.0)):
        columns = {"label": np.where(LABEL == 1, labels[1], labels[0]), "score": FIRST}
        must = Refused("-r positive|positive")
        fact = f"{positive!r} for the label {labels[1]}"
        yield sibling(fact, "classification", columns, must, positive=positive)


def recalls_at_a_rate() -> Iterator[Sibling]:
    def recall(rate: float) -> float:
        rates = {t: float(np.mean(FIRST[LABEL == 0] >= t)) for t in {*FIRST}}
        threshold = min(t for t, of_negatives in rates.items() if of_negatives <= rate)
        return float(np.mean(FIRST[LABEL == 1] >= threshold))

    columns = {"label": LABEL, "score": FIRST}
    for name, rate in (
        ("recall@fpr0.1", 0.1),
        ("tpr@fpr0.2", 0.2),
        ("sensitivity_at_fpr0.05", 0.05),
    ):
        found = Read({(f"recall@fpr{rate}", ""): recall(rate)})
        yield sibling(f"the metric {name}", "classification", columns, found, metrics=name)
    for rate, rule in ((0.1, "specificity>=0.9"), (0.2, "specificity >= 0.8")):
        found = Read({("recall", ""): recall(rate)})
        given = {"threshold": rule, "metrics": "recall"}
        yield sibling(f"the threshold {rule}", "classification", columns, found, **given)


# Verdicts


def verdicts() -> Iterator[Sibling]:
    wins = ["A"] * 20 + ["B"] * 12 + ["tie"] * 8
    tables: Sequence[tuple[str, Columns, str]] = (
        (
            "winner of model_1 and model_2",
            {
                "model_1": ["new"] * 40,
                "model_2": ["old"] * 40,
                "winner": [{"A": "model_1", "B": "model_2"}.get(w, w) for w in wins],
            },
            "new",
        ),
        (
            "preference",
            {
                "question_id": QUERY,
                "preference": [{"A": "left", "B": "right"}.get(w, w) for w in wins],
            },
            "left",
        ),
        (
            "verdict of systems",
            {
                "id": QUERY,
                "system_a": ["new"] * 40,
                "system_b": ["old"] * 40,
                "verdict": [{"A": "new", "B": "old", "tie": "Tie"}[w] for w in wins],
            },
            "new",
        ),
    )
    for fact, columns, system in tables:
        found = Read({("win_rate", system): 0.6})
        yield sibling(fact, "significance", columns, found)


KINDS = (
    points_of_thousands,
    cells_without_a_number,
    texts_of_queries_beside_ids,
    distances,
    items_that_come_twice,
    lists_in_cells,
    columns_that_are_no_systems,
    names_in_two_cases,
    totals_of_arms,
    marks_of_missing_values,
    metrics_of_one_system,
    steps_of_a_training,
    columns_that_are_used_twice,
    decisions_with_confidence,
    probabilities_of_classes_beside_numbers,
    a_file_per_run,
    repeated_holdouts,
    parameters_of_another_type,
    recalls_at_a_rate,
    verdicts,
)
SIBLINGS = [one for kind in KINDS for one in kind()]
