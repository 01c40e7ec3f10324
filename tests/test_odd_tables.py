"""Tables of other kinds than one prediction, or one unit, per row: summaries, counts, totals, rows
in place of columns. Each is refused with its reason, and a table of predictions beside features of
such names is read.
"""

import io

import numpy as np
import pandas as pd
import pytest
from test_features_beside_predictions import commands

import evalkit as ek
from evalkit.arrays import InputError

RNG = np.random.default_rng(65)
ROWS = 60
ACTUAL = RNG.normal(100, 20, ROWS).round(2)
NEAR = (ACTUAL + RNG.normal(0, 5, ROWS)).round(2)
FAR = (ACTUAL + RNG.normal(0, 9, ROWS)).round(2)
LABEL = np.arange(ROWS) % 2
SCORE = (0.5 * LABEL + 0.5 * RNG.random(ROWS)).round(3)
SHARE = RNG.random(ROWS).round(3)
QUERY = [f"q{i}" for i in range(ROWS)]


def as_read(table, suffix):
    """A table as a file of this format would hold it."""
    if suffix == ".csv":
        return pd.read_csv(io.StringIO(table.to_csv(index=False)), dtype=str)
    return table


# Rows that count equal ones


@pytest.mark.parametrize("name", ["count", "n", "Freq", "num_rows"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("report", "columns"),
    [
        (ek.classification, {"label": LABEL, "predicted": np.where(SHARE < 0.8, LABEL, 1)}),
        (ek.classification, {"label": LABEL, "score": SCORE.round(1)}),
        (ek.rating, {"actual": ACTUAL.round(-1), "forecast": NEAR.round(-1)}),
    ],
)
def test_rows_that_count_equal_ones_are_no_predictions(report, columns, suffix, name):
    table = pd.DataFrame(columns).value_counts().reset_index(name=name)
    with pytest.raises(InputError, match=f"but '{name}' seems to count equal ones"):
        report(as_read(table, suffix))


def test_counts_are_weights_where_the_user_says_so():
    table = pd.DataFrame({"label": LABEL, "score": SCORE.round(1)})
    counted = table.value_counts().reset_index(name="n")
    weighted = ek.classification(counted, columns="weight=n", metrics="roc_auc").estimates
    plain = ek.classification(table, metrics="roc_auc").estimates
    assert weighted["value"][0] == pytest.approx(plain["value"][0])


@pytest.mark.parametrize(
    "columns",
    [
        {"id": np.arange(ROWS), "label": LABEL, "score": SCORE, "n": np.arange(ROWS) % 7},
        {"label": LABEL, "score": SCORE.round(1), "n": np.arange(ROWS) % 7 + 0.5},
        {"label": LABEL, "score": LABEL / 2, "n": np.arange(ROWS) % 7},
    ],
)
def test_other_numbers_called_n_are_unused(columns):
    assert ek.classification(pd.DataFrame(columns)).systems == ("score",)


# Rows of totals, and rows in place of columns


@pytest.mark.parametrize("columns", [{"forecast": NEAR}, {"forecast_a": NEAR, "forecast_b": FAR}])
@pytest.mark.parametrize("place", [0, ROWS])
def test_a_row_of_sums_without_a_name_is_no_prediction(columns, place):
    table = pd.DataFrame({"actual": ACTUAL, **columns})
    rows = np.insert(table.to_numpy(), place, table.sum(), axis=0)
    with pytest.raises(InputError, match=f"the sums of all others in row {place + 1}"):
        ek.rating(pd.DataFrame(rows, columns=table.columns))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("columns", [{"forecast_a": NEAR}, {"y_pred": NEAR, "y_prob": FAR}])
def test_a_transposed_table_holds_no_units(columns, suffix):
    table = pd.DataFrame({"actual": ACTUAL, **columns}).T
    table.columns = [f"r{i}" for i in range(ROWS)]
    with pytest.raises(InputError, match="the table is transposed"):
        ek.significance(as_read(table.rename_axis("name").reset_index(), suffix))


# What is no number to forecast


@pytest.mark.parametrize(
    ("name", "mark"), [("label", -1), ("label", 2), ("y_true", -1), ("actual", 9)]
)
def test_a_mark_of_a_missing_label_is_no_number_to_forecast(name, mark):
    labels = np.where(np.arange(ROWS) % 9 == 0, mark, LABEL)
    with pytest.raises(InputError, match=f"got only 0, 1 and {mark} beside probabilities"):
        ek.rating(pd.DataFrame({name: labels, "forecast": SCORE}))


def test_counts_of_rare_events_are_forecast():
    events = np.where(np.arange(ROWS) % 9 == 0, 2, LABEL)
    assert ek.rating(pd.DataFrame({"actual": events, "forecast": SCORE})).systems == ("forecast",)


# What is no unit, and no system


@pytest.mark.parametrize("name", ["feature", "term", "Variable"])
def test_terms_of_a_model_are_no_units(name):
    table = pd.DataFrame({name: QUERY, "importance": SHARE, "std": SHARE / 9})
    with pytest.raises(InputError, match=f"each row is another {name} of a model"):
        ek.significance(table)


def test_draws_of_systems_are_no_systems():
    names = ["bm25_seed1", "bm25_seed2", "dense_seed1", "dense_seed2"]
    table = pd.DataFrame({"query": QUERY, **{name: RNG.random(ROWS) for name in names}})
    with pytest.raises(InputError, match="look like repeated draws of systems"):
        ek.significance(table)
    assert ek.significance(table, systems=",".join(names)).systems == (*names,)


def test_ranks_beside_systems_are_left_out_by_the_command(tmp_path):
    columns = {"query": QUERY, "bm25": SHARE, "dense": SCORE}
    columns |= {"bm25_rank": LABEL + 1, "dense_rank": 2 - LABEL}
    assert commands(tmp_path, columns) == ["significance -p systems 'bm25, dense'"]


@pytest.mark.parametrize("name", ["winner", "best"])
def test_the_name_of_the_better_system_is_no_value(name):
    better = np.where(SHARE > SCORE, "bm25", "dense")
    table = pd.DataFrame({"query": QUERY, "bm25": SHARE, "dense": SCORE, name: better})
    assert ek.significance(table).systems == ("bm25", "dense")


@pytest.mark.parametrize("name", ["loss", "margin"])
def test_a_number_beside_a_label_is_no_value_per_unit(name):
    columns = {"id": np.arange(ROWS), "label": LABEL, name: np.log(SCORE + 0.01)}
    with pytest.raises(InputError):
        ek.significance(pd.DataFrame(columns))


def test_features_of_other_ranges_are_not_named_as_systems(tmp_path):
    columns = {"mpg": ACTUAL, "height": FAR + 900, "ratio": SHARE}
    assert commands(tmp_path, columns) == []


# Columns whose names or cells look like answers


def test_coordinates_are_no_answers_beside_models_of_another_size(tmp_path):
    columns = {"price": ACTUAL * 50, "x": FAR / 20, "y": NEAR / 20, "z": SHARE}
    first = commands(tmp_path, {**columns, "linear": NEAR * 50, "boosted": FAR * 50})[0]
    assert first == "rating -p columns actual=price"


def test_indicators_of_a_feature_are_no_probabilities(tmp_path):
    kind = np.arange(ROWS) % 3 + 1
    columns = {"los": ACTUAL, "type": kind}
    columns |= {f"type{i}": (kind == i).astype(int) for i in (1, 2, 3)}
    first = commands(tmp_path, {**columns, "poisson": NEAR, "nb": FAR})[0]
    assert first == "rating -p columns actual=los"


def test_probabilities_of_0_and_1_are_read_beside_their_label():
    kind = np.array(["a", "b", "c"])[np.arange(ROWS) % 3]
    guess = np.where(SHARE < 0.7, kind, "a")
    columns = {f"prob_{name}": (guess == name).astype(float) for name in "abc"}
    found = ek.classification(pd.DataFrame({"label": kind, **columns}), metrics="accuracy")
    assert found.estimates["value"][0] == pytest.approx(np.mean(guess == kind))


def test_the_number_nearest_to_the_forecasts_is_first_the_actual_one(tmp_path):
    like = ACTUAL * 3 - 200  # correlated, and within the same range
    columns = {"like": like, "visits": ACTUAL, "ols_pred": NEAR, "rf_pred": FAR}
    first = commands(tmp_path, {**columns, "age": LABEL + 20})[0]
    assert first == "rating -p columns actual=visits"


@pytest.mark.parametrize("name", ["count", "bike_count", "num_sales", "sessions"])
def test_numbers_of_events_are_what_forecasts_are_of(name):
    columns = {name: ACTUAL.round(), "height": FAR + 70, "y_hat": NEAR}
    assert ek.rating(pd.DataFrame(columns), columns=f"actual={name}").systems == ("y_hat",)
    found = ek.rating(pd.DataFrame({name: ACTUAL.round(), "y_hat": NEAR}), metrics="mae")
    assert found.estimates["value"][0] == pytest.approx(np.mean(np.abs(ACTUAL.round() - NEAR)))


@pytest.mark.parametrize("name", ["fit", "predicted_value"])
def test_the_fit_of_r_is_a_forecast(name, tmp_path):
    columns = {"mpg": ACTUAL, "wt": SHARE, name: NEAR}
    assert commands(tmp_path, columns)[0] in ("rating", "rating -p columns actual=mpg")


@pytest.mark.parametrize("other", ["forecast_lower", "forecast_p10"])
def test_a_system_is_called_alike_beside_any_bookkeeping(other):
    table = pd.DataFrame({"actual": ACTUAL, "forecast_a": NEAR, other: NEAR - 9})
    assert ek.rating(table).systems == ("a",)


# Interactions


# The lists of users 1 (a, b, c) and 2 (a, b), and what they chose: user 1 a twice and c, user 2 b.
LISTS = pd.DataFrame({"user": [1, 1, 1, 2, 2], "item": [*"abcab"], "rank": [1, 2, 3, 1, 2]})
CHOICES = pd.DataFrame({"user": [1, 1, 1, 2], "item": [*"aacb"]})


def test_an_item_that_a_user_chose_twice_is_relevant_once():
    """All chosen items are among the first three, so that recall@3 is 1."""
    (recall,) = ek.ranking(LISTS, qrels=CHOICES, metrics="recall@3").estimates["value"]
    assert recall == 1


def test_an_item_with_two_grades_of_one_user_is_refused():
    with pytest.raises(InputError, match="must appear once, got them again"):
        ek.ranking(LISTS, qrels=CHOICES.assign(grade=1))


def test_a_largest_value_that_is_the_sum_of_the_others_beside_zeros_is_read():
    frame = pd.DataFrame({"actual": [0, 0, 0, 0, 0, 0, 1, 2, 7, 10], "forecast": 0.0})
    assert ek.rating(frame, metrics="mae").estimates["value"].iloc[0] == 2


# Kinds of tables that were read as another one

SEVENTY = [f"intent_{i % 70}" for i in range(280)]
TARGETS = np.linspace(0, 1, ROWS).round(2)
PASSED = [str(i % 3 > 0) for i in range(ROWS)]
FAILED = [str(i % 4 > 0) for i in range(ROWS)]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("read", "columns", "message"),
    [
        (
            ek.classification,
            {"target": TARGETS, "prediction": (TARGETS * 0.9 + 0.03).round(4)},
            "prediction must hold classes of the label, got '0.*'; the rating report",
        ),
        (
            ek.classification,
            {"label": ['["a", "b"]', '["a"]'] * (ROWS // 2), "predicted": ['["a"]'] * ROWS},
            "label must hold one class per row, got .* for each label",
        ),
        (
            ek.rating,
            {"x": SHARE, "y": SHARE[::-1], "w": SHARE / 2, "h": SHARE / 3, "score": SHARE},
            "no column for the actual",
        ),
        (
            ek.significance,
            {
                "label": ["ant", "bee"] * (ROWS // 2),
                "ant %": 100 * SHARE,
                "bee %": 100 - 100 * SHARE,
            },
            "'label' looks like an answer or a prediction",
        ),
        (
            ek.significance,
            {"day": [f"d{i}" for i in range(ROWS)], "Qobs": SHARE, "Qsim": SHARE + 0.01},
            "'Qobs' looks like an answer and 'Qsim' like predictions of it",
        ),
        (
            ek.significance,
            {
                "user_id": range(ROWS),
                "treatment": [0, 1] * (ROWS // 2),
                "clicked": [0, 1, 1, 1] * (ROWS // 4),
            },
            "'treatment' looks like the arm of an A/B test: evalkit",
        ),
        (
            ek.significance,
            {
                "visitor": QUERY,
                "group": ["A", "B"] * (ROWS // 2),
                "bought": [0, 1, 1, 1] * (ROWS // 4),
            },
            "'group' looks like the arm of an A/B test: evalkit",
        ),
        (
            ek.significance,
            {"dataset": QUERY, "a": [rf"\textbf{{{x}}}" for x in SHARE], "b": SHARE},
            r"a must hold numbers, got '\\\\textbf",
        ),
        (
            ek.significance,
            {"dataset": QUERY, "a": [f"**{x}**" for x in SHARE], "b": SHARE},
            r"a must hold numbers, got '\*\*0",
        ),
    ],
)
def test_what_would_be_another_table_is_refused(read, columns, message, suffix):
    with pytest.raises(InputError, match=message):
        read(as_read(pd.DataFrame(columns), suffix))


@pytest.mark.parametrize(
    ("read", "columns", "systems"),
    [
        (ek.classification, {"intent": SEVENTY, "predicted_intent": SEVENTY}, ["predicted_intent"]),
        (
            ek.significance,
            {"task_id": range(ROWS), "codex": PASSED, "gpt4": FAILED},
            ["codex", "gpt4"],
        ),
        (
            ek.significance,
            {"segment": range(ROWS), "transformer": SHARE, "rnn": SHARE[::-1], "google": SHARE / 2},
            ["google", "rnn", "transformer"],
        ),
        (
            ek.significance,
            {
                "env": np.repeat(["ant", "bee", "cow", "dog", "emu"], 2 * ROWS // 5),
                "seed": [*range(ROWS // 5)] * 10,
                "algo": np.tile(np.repeat(["ppo", "sac"], ROWS // 5), 5),
                "return": RNG.random(2 * ROWS),
            },
            ["ppo", "sac"],
        ),
        (
            ek.ranking,
            {
                "request_id": np.repeat(range(ROWS // 4), 4),
                "ad_id": [f"a{i}" for i in range(ROWS)],
                "pctr": SHARE,
                "click": [0, 1, 0, 0] * (ROWS // 4),
            },
            None,
        ),
    ],
)
def test_names_of_further_fields_are_read(read, columns, systems):
    study = read(pd.DataFrame(columns))
    assert systems is None or sorted(study.systems) == systems


def test_many_numbered_columns_may_be_members_of_an_ensemble():
    members = {f"m{i}": (ACTUAL + RNG.normal(0, 5, ROWS)).round(2) for i in range(1, 11)}
    with pytest.raises(InputError, match="'m10' could be the predictions, but no name says so"):
        ek.rating(pd.DataFrame({"obs": ACTUAL, **members}))
    few = {name: members[name] for name in ("m1", "m2")}
    assert ek.rating(pd.DataFrame({"obs": ACTUAL, **few})).systems == ("m1", "m2")


def test_the_confidence_beside_decisions_for_several_classes_is_no_score():
    frame = pd.DataFrame({"intent": SEVENTY, "predicted_intent": SEVENTY})
    frame["confidence"] = RNG.random(len(frame)).round(3)
    assert ek.classification(frame).systems == ("predicted_intent",)


def test_a_dict_of_columns_of_predictions_is_no_dict_of_arms():
    with pytest.raises(InputError, match="no column for the arm"):
        ek.interleaving({"label": [0, 1] * 20, "score": [*SHARE[:40]]})


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_of_fractions_named_like_models_beside_a_count_are_forecasts_of_it(suffix):
    """Not values per unit: the significance report refuses them."""
    visits = RNG.poisson(4, ROWS)
    forecasts = {name: (visits + RNG.normal(0, 1, ROWS)).round(3) for name in ("poisson", "ols")}
    table = pd.DataFrame({"person": QUERY, "mdvis": visits, **forecasts})
    with pytest.raises(InputError, match=r"'mdvis' looks like .* columns='actual=mdvis'"):
        ek.significance(as_read(table, suffix))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_of_whole_numbers_beside_a_count_are_values_of_three_systems(suffix):
    visits = RNG.poisson(4, ROWS)
    columns = {"person": QUERY, "mdvis": visits, "poisson": visits + 1, "ols": visits}
    study = ek.significance(as_read(pd.DataFrame(columns), suffix))
    assert study.systems == ("mdvis", "poisson", "ols")
