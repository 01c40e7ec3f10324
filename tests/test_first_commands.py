"""Columns as data sets have them: the first command that `evalkit inspect` prints for a table."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from test_features_beside_predictions import commands

import evalkit as ek
from evalkit.arrays import InputError
from evalkit.reading.tables import sources

RNG = np.random.default_rng(65)
ROWS = 60
LABEL = np.arange(ROWS) % 2
SCORE = (0.5 * LABEL + 0.5 * RNG.random(ROWS)).round(3)
SHARE = RNG.random(ROWS).round(3)
ACTUAL = RNG.normal(100, 20, ROWS).round(1)
NEAR = (ACTUAL + RNG.normal(0, 5, ROWS)).round(1)
GOALS = RNG.poisson(1.5, ROWS)
KIND = np.array(["van", "suv", "mini"])[np.arange(ROWS) % 3]
BOUGHT = np.where(LABEL, "MM", "CH")
STORE = np.where(SHARE < 0.5, "Yes", "No")
SESSIONS = {
    "session_id": np.repeat(range(ROWS // 4), 4),
    "query_id": np.repeat(np.arange(ROWS // 4) % 5, 4),
    "position": [1, 2, 3, 4] * (ROWS // 4),
    "doc_id": [f"d{i}" for i in range(ROWS)],
    "click": LABEL,
}

FIRST_COMMANDS = [
    (
        "a capital Weight weighs no rows",
        {"Weight": ACTUAL, "Sales": NEAR, "yhat": NEAR + 1},
        "rating -p columns actual=Sales",
    ),
    (
        "a column that forecasts are near to comes before a feature called rating",
        {"Balance": ACTUAL, "Rating": 2 * ACTUAL - 60 + 40 * SHARE, "est": NEAR},
        "rating -p columns actual=Balance",
    ),
    (
        "forecasts of a number are no scores of a flag",
        {"Sales": ACTUAL / 10, "Price": ACTUAL - 30 * SHARE, "US": STORE, "yhat": NEAR / 10},
        "rating",
    ),
    (
        "a kind of several classes beside forecasts is no label",
        {"hwy": ACTUAL, "class": KIND, "displ": SHARE, "fitted": NEAR},
        "rating",
    ),
    (
        "a score called after a class is of this class",
        {"Purchase": BOUGHT, "Store7": STORE, "LoyalCH": SHARE, "p_MM": SCORE},
        "classification -p positive MM",
    ),
    (
        "two texts may be the label of a score without skill",
        {"Lag1": ACTUAL / 9, "Direction": BOUGHT, "score": SHARE},
        "classification -p columns label=Direction -p positive ",
    ),
    (
        "expected goals forecast goals",
        {"goals": GOALS, "expected_goals": (GOALS / 2 + SHARE).round(2)},
        "rating -p columns forecast=expected_goals",
    ),
    (
        "PD is the probability of default",
        {"loan_id": range(ROWS), "default_flag": LABEL, "PD": SCORE, "LGD": SHARE},
        "classification",
    ),
    (
        "sessions with teams are interleaved",
        {**SESSIONS, "team": ["a", "b", "b", "a"] * (ROWS // 4)},
        "interleaving",
    ),
    (
        "a word for items of both teams is neutral",
        {**SESSIONS, "team": ["new", "old", "both", "new"] * (ROWS // 4)},
        "interleaving -p neutral both",
    ),
    (
        "y beside a treatment is what users did",
        {"y": LABEL, "treatment": STORE == "Yes"},
        "interleaving",
    ),
]


@pytest.mark.parametrize(
    ("columns", "first"),
    [pytest.param(columns, first, id=fact) for fact, columns, first in FIRST_COMMANDS],
)
def test_the_first_command_reads_the_table_as_meant(columns, first, tmp_path):
    found = commands(tmp_path, columns)[0]
    assert found.startswith(first) if first.endswith(" ") else found == first


# Rows of the whole table


LONG = 6_000


def sorted_rows():
    """Predictions of two classes: the first 3,000 rows are negative, the others positive."""
    label = (np.arange(LONG) >= LONG // 2).astype(int)
    return pd.DataFrame({"bought": label, "age": 40, "prob": (label + RNG.random(LONG)) / 2})


@pytest.mark.parametrize("suffix", ["", ".csv", ".parquet"], ids=["data frame", "csv", "parquet"])
def test_sorted_rows_show_both_classes(suffix, tmp_path):
    """6,000 rows, sorted by class: the first 3,000 are negative, the others positive. What the
    columns mean is guessed from some rows, among which both classes must be, so that `bought` is
    read as the label. Each positive has a higher score than each negative, and the AUC is 1.
    """
    table = sorted_rows()
    path = tmp_path / f"t{suffix}"
    if suffix == ".csv":
        table.to_csv(path, index=False)
    if suffix == ".parquet":
        table.to_parquet(path)
    study = ek.classification(path if suffix else table, metrics="roc_auc")
    [auc] = study.estimates["value"]
    assert auc == 1


def test_the_first_rows_and_some_of_every_twentieth_part_are_known():
    numbers = [int(cell) for cell in sources.parts(pd.DataFrame({"n": range(LONG)}))[0].head["n"]]
    assert numbers[:1000] == list(range(1000))
    assert {number // 300 for number in numbers} == set(range(20))
    assert len(numbers) <= 2_000


# What would be another table


@pytest.mark.parametrize(
    ("read", "columns", "words"),
    [
        (
            ek.rating,
            {
                "true_value": np.repeat(ACTUAL[:30], 2),
                "range": [50] * ROWS,
                "boundary": ["lower", "upper"] * (ROWS // 2),
                "prediction": NEAR,
            },
            "'boundary' says which bound of an interval each row holds",
        ),
        (
            ek.significance,
            {
                "id": [*range(20)] * 3,
                "y_true": [*KIND[:20]] * 3,
                "model": ["x"] * 20 + ["y"] * 20 + ["z"] * 20,
                "output": SHARE,
            },
            "'y_true' looks like an answer and 'output' like predictions of it",
        ),
        (
            ek.ranking,
            {
                "session": SESSIONS["session_id"],
                "query": SESSIONS["query_id"],
                "item": SESSIONS["doc_id"],
                "rank": SESSIONS["position"],
                "clicked": LABEL,
            },
            "'query' and 'session' differ, and both could be the query",
        ),
    ],
)
def test_what_would_be_another_table_is_refused(read, columns, words):
    with pytest.raises(InputError, match=words):
        read(pd.DataFrame(columns))


def test_a_level_called_prob_is_that_of_a_quantile():
    levels = [0.05, 0.5, 0.95]
    rows = {"day": np.repeat(range(20), 3), "actual": np.repeat(ACTUAL[:20], 3)}
    rows |= {"prob": levels * 20, "prediction": rows["actual"] + np.tile([-9, 0, 9], 20)}
    estimates = ek.rating(pd.DataFrame(rows), metrics="mae,coverage@90").estimates
    assert [*estimates["value"]] == [0, 1]


def test_bounds_of_mapie_are_those_of_a_level():
    bounds = {"y_pis_lower": ACTUAL - 9, "y_pis_upper": ACTUAL + 9}
    table = pd.DataFrame({"y_test": ACTUAL, "y_pred": NEAR, **bounds})
    study = ek.rating(table, interval_level=0.9, metrics="interval_width@90")
    assert study.estimates["value"].iloc[0] == pytest.approx(18)


def test_what_was_predicted_of_users_is_no_metric():
    users = {"user": range(ROWS), "arm": ["A", "B"] * (ROWS // 2), "bought": GOALS > 1}
    study = ek.interleaving(users=pd.DataFrame({**users, "uplift": SHARE})).users
    assert {*study.estimates["metric"]} == {"bought"}


def test_a_closed_pipe_ends_a_command_quietly():
    command = [sys.executable, "-m", "evalkit", "parameters", "rating"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
