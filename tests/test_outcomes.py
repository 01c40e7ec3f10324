"""Tables of labels, scores, classes and forecasts: kinds, layouts, joins, and bad input refused by
one line.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engine_samples import classified
from samples import read_forecasts

import evalkit as ek
from evalkit.arrays import InputError, ParameterError
from evalkit.limits import USUAL_LIMITS, Limits, ReadingLimits
from evalkit.reading.inputs import outcomes
from evalkit.reading.reductions.schema import Schema
from evalkit.reading.tables import rules
from evalkit.reading.tables.rules import Field, RoleColumn
from evalkit.studies import rating

LONG = pd.DataFrame(
    {
        "id": ["b", "a", "c", "a", "b", "c"],
        "model": ["x", "x", "x", "y", "y", "y"],
        "y_true": [1, 0, 0, 0, 1, 0],
        "y_score": [0.9, 0.2, 0.4, 0.3, 0.8, 0.1],
        "team": ["r", "s", None, "s", "r", None],
    }
)


# ---- kinds and layouts ---------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [USUAL_LIMITS, Limits(reading=ReadingLimits(rows=5))])
def test_the_label_of_a_third_system_is_compared_too(limits):
    third = LONG[:3].assign(model="z", y_true=[1, 0, 1])
    with pytest.raises(
        InputError, match="row 9: y_true must have one value for id 'c', got '0' and '1'"
    ):
        classified(pd.concat([LONG, third]), limits)


def test_of_three_labels_the_rarest_is_named_by_its_row():
    table = pd.DataFrame({"label": ["a", "b", "x", "a", "b"], "score": [0.1, 0.9, 0.5, 0.2, 0.8]})
    with pytest.raises(InputError, match="row 3: label must hold two labels"):
        ek.classification(table)


def test_long_tables_are_joined_on_the_id():
    """A long table has a row for each system and id, in any order. What is read has an element for
    each id: its label once, and the score of each system. The column `team` is empty for id c.
    """
    table = pd.DataFrame(
        {
            "id": ["b", "a", "c", "a", "b", "c"],
            "model": ["x", "x", "x", "y", "y", "y"],
            "y_true": [1, 0, 0, 0, 1, 0],
            "y_score": [0.9, 0.2, 0.4, 0.3, 0.8, 0.1],
            "team": ["r", "s", None, "s", "r", None],
        }
    )
    data = outcomes.read(table, attributes=["team"])
    assert data.kind == "binary"
    assert data.rows.systems == ("x", "y")
    assert data.rows.id.tolist() == ["a", "b", "c"]
    assert data.actual.tolist() == [0, 1, 0]
    assert data.score["x"].tolist() == [0.2, 0.9, 0.4]
    assert data.score["y"].tolist() == [0.3, 0.8, 0.1]
    assert data.rows.shared_values["attribute team"].texts.tolist() == ["s", "r", "(none)"]
    assert data.rows.read == 6
    assert data.rows.alone == 0  # ids that only some systems have
    column_of_role = {"id": "id", "system": "model", "label": "y_true", "score": "y_score"}
    assert data.rows.columns == column_of_role


def test_rows_without_a_partner_are_left_out_and_counted():
    data = outcomes.read(LONG.iloc[:5])
    assert data.rows.id.tolist() == ["a", "b"]
    assert (data.rows.read, data.rows.alone) == (5, 1)
    assert outcomes.read(LONG.iloc[:5], systems=["x"]).rows.id.tolist() == ["a", "b", "c"]


def test_order_of_rows_does_not_matter():
    shuffled = outcomes.read(LONG.sample(frac=1, random_state=3))
    plain = outcomes.read(LONG)
    for name in plain.score:
        np.testing.assert_array_equal(plain.score[name], shuffled.score[name])


def test_wide_tables_name_systems_in_columns():
    wide = pd.DataFrame({"label": [1, 0], "score_a": [0.9, 0.1], "score_b": [0.4, 0.6]})
    assert outcomes.read(wide).rows.systems == ("a", "b")
    assert outcomes.read(wide, systems=["b"]).rows.systems == ("b",)
    named = wide.rename(columns={"score_a": "a", "score_b": "b"})
    assert outcomes.read(named, systems=["a", "b"]).score["b"].tolist() == [0.4, 0.6]


def test_files_are_systems_where_no_column_is(tmp_path):
    for name, scores in (("one", [0.9, 0.1]), ("two", [0.4, 0.6])):
        pd.DataFrame({"id": ["p", "q"], "label": [1, 0], "score": scores}).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    assert outcomes.read(tmp_path).rows.systems == ("one", "two")


@pytest.mark.parametrize(
    "labels, positive",
    [
        ([0, 1], "1"),
        ([-1, 1], "1"),
        ([0.0, 1.0], "1"),
        ([False, True], "true"),
        (["FALSE", "TRUE"], "true"),
    ],
)
def test_usual_labels_need_no_word(labels, positive):
    data = outcomes.read(pd.DataFrame({"label": labels, "score": [0.1, 0.9]}))
    assert data.names[1] == positive
    assert data.actual.tolist() == [0, 1]


LABELS_OF_TEXT = pd.DataFrame({"label": ["ok", "fraud"], "score": [0.1, 0.9]})


def test_labels_other_than_0_and_1_are_read_if_positive_names_one():
    data = outcomes.read(LABELS_OF_TEXT, positive="fraud")
    assert data.actual.tolist() == [0, 1]


def test_labels_other_than_0_and_1_are_refused_if_none_is_named_positive():
    message = r"label holds 'fraud' and 'ok'; say which is positive: positive='ok'"
    with pytest.raises(ParameterError, match=message):
        outcomes.read(LABELS_OF_TEXT)


def test_a_positive_label_that_the_table_lacks_is_refused():
    message = r"positive: label has no label 'bad', it has 'fraud', 'ok'"
    with pytest.raises(ParameterError, match=message):
        outcomes.read(LABELS_OF_TEXT, positive="bad")


def test_one_class_is_read():
    data = outcomes.read(pd.DataFrame({"label": [0, 0], "score": [0.1, 0.9]}))
    assert data.actual.tolist() == [0, 0]


def test_classes_from_columns_of_probabilities():
    """`p_a` and `p_b` are the probabilities of the classes a and b. They are of one system, which
    is called "p". Classes are numbered in the order of their names, a is 0 and b is 1. The
    predicted class is the one with the higher probability.
    """
    table = pd.DataFrame({"label": ["b", "a"], "p_a": [0.2, 0.7], "p_b": [0.8, 0.3]})
    data = outcomes.read(table)
    assert data.kind == "multi-class"
    assert data.names == ("a", "b")
    assert data.predicted["p"].tolist() == [1, 0]
    assert data.actual.tolist() == [1, 0]


def test_classes_from_predicted_labels_in_their_order():
    frame = pd.DataFrame({"label": [10, 2, 2], "predicted": [2.0, 2.0, 10.0]})
    data = outcomes.read(frame)
    assert data.names == ("2", "10")
    assert data.predicted["predicted"].tolist() == [0, 0, 1]
    assert not data.score


in_memory_and_in_blocks = pytest.mark.parametrize(
    "limits", [USUAL_LIMITS, Limits(reading=ReadingLimits(rows=2))], ids=["in memory", "in blocks"]
)


@in_memory_and_in_blocks
@pytest.mark.parametrize(
    "classes",
    [
        [2**53, 2**53 + 1, 2**53 + 3],  # 2⁵³ and 2⁵³ + 1 are the same float
        ["01", "1", "7"],  # "01" and "1" are the same number
    ],
    ids=["equal as floats", "equal as numbers"],
)
def test_labels_of_different_digits_are_different_classes(limits, classes):
    predicted = [*classes[::-1], *classes]
    table = pd.DataFrame({"label": classes * 20, "predicted": predicted * 10})
    assert classified(table, limits).names == tuple(map(str, classes))


@in_memory_and_in_blocks
def test_two_columns_of_probabilities_of_one_class_are_refused(limits):
    """The labels are the numbers 1 and 2. A column such as p_2 has the probabilities of the class
    in its name, so that p_1 and p_1.0 are both of class 1. The table is refused alike whether the
    `limits` let it be read at once or only in blocks of two rows.
    """
    table = pd.DataFrame(
        {
            "label": [1, 2] * 20,
            "p_1": [0.5, 0.2] * 20,
            "p_2": [0.3, 0.7] * 20,
            "p_1.0": [0.2, 0.1] * 20,
        }
    )
    message = r"frame: p_1 and p_1.0 must be of two classes, both are of '1'; drop or rename"
    with pytest.raises(InputError, match=message):
        classified(table, limits)


def test_several_labels_a_row():
    frame = pd.DataFrame({"y_a": [1, 0], "y_b": [1, 1], "p_a": [0.9, 0.2], "p_b": [0.5, 0.6]})
    data = outcomes.read(frame)
    assert data.kind == "multi-label"
    assert data.names == ("a", "b")
    assert data.actual.tolist() == [[True, True], [False, True]]


def test_columns_of_labels_and_of_probabilities_without_a_partner_are_refused():
    """With several labels per row, y_a says whether a row has the label a, and p_a is its
    probability. Here y_b and y_c have no probability, and p_d has no truth.
    """
    table = pd.DataFrame(
        {"y_a": [1, 0], "p_a": [0.9, 0.2], "y_b": [1, 1], "y_c": [0, 1], "p_d": [0.1, 0.2]}
    )
    message = "got no y_d beside 'p_d', p_b beside 'y_b', p_c beside 'y_c'; add or remove"
    with pytest.raises(InputError, match=message):
        outcomes.read(table)


def test_a_table_without_columns_of_labels_is_not_read_as_one_of_several_labels():
    table = pd.DataFrame({"a": [1], "b": [0]})
    with pytest.raises(InputError, match=r"got none \(it has 'a', 'b'\)"):
        outcomes.read(table, requested_kind="multi-label")


LABELS_A_AND_B = pd.DataFrame({"y_a": [1, 0], "p_a": [0.9, 0.2], "y_b": [1, 1], "p_b": [0.5, 0.6]})


def test_a_column_for_segments_is_no_label_whatever_its_name():
    """y_a and y_b say whether a row has the labels a and b. y_shop is a column for segments."""
    table = LABELS_A_AND_B.assign(y_shop=["n", "s"])
    data = outcomes.read(table, attributes=["y_shop"])
    assert data.kind == "multi-label"
    assert data.names == ("a", "b")


def test_a_column_of_weights_is_no_label_whatever_its_name():
    table = LABELS_A_AND_B.assign(y_shop=[2, 3])
    data = outcomes.read(table, columns={"weight": "y_shop"})
    assert data.names == ("a", "b")


def test_the_kind_can_be_named():
    frame = pd.DataFrame({"label": [1, 0], "score": [0.9, 0.1], "predicted": [1, 0]})
    assert outcomes.read(frame).kind == "binary"
    assert outcomes.read(frame, requested_kind="multi-class").kind == "multi-class"


def test_each_column_of_forecasts_is_a_system():
    table = pd.DataFrame({"actual": [1.0, 2.0], "forecast_a": [1.5, 2.5], "forecast_b": [0, 1]})
    data = read_forecasts(table)
    assert data.rows.systems == ("a", "b")
    assert data.score["a"].tolist() == [1.5, 2.5]


def test_the_names_y_true_and_y_pred_are_known_for_forecasts():
    table = pd.DataFrame({"y_true": [1.0, 2.0], "y_pred": [1.5, 2.5]})
    column_of_role = {"actual": "y_true", "forecast": "y_pred"}
    assert read_forecasts(table).rows.columns == column_of_role


def test_weights():
    frame = pd.DataFrame({"label": [1, 0], "score": [0.9, 0.1], "sample_weight": [2, 0.5]})
    assert outcomes.read(frame).weight.tolist() == [2.0, 0.5]


# ---- bad input -----------------------------------------------------------------------------------


ROWS_WITHOUT_USER = pd.DataFrame(
    {
        "label": np.arange(60) % 2,
        "score": np.random.default_rng(0).random(60),
        "user": [None, "a", "b"] * 20,
    }
)


@in_memory_and_in_blocks
def test_rows_without_a_unit_are_refused(limits):
    """20 of 60 rows have no user. If users are the units, these rows would count as one user."""
    message = r"user must not be empty where it is the unit, got nothing \(20 rows\)"
    with pytest.raises(InputError, match=message):
        classified(ROWS_WITHOUT_USER, limits, unit="user")


@in_memory_and_in_blocks
def test_rows_without_a_value_for_segments_are_read(limits):
    assert classified(ROWS_WITHOUT_USER, limits, segments="user").slices


def test_forecasts_without_a_unit_are_refused():
    table = ROWS_WITHOUT_USER.rename(columns={"label": "actual", "score": "forecast"})
    message = r"data frame, row 1: user must not be empty .* \(20 rows\)"
    with pytest.raises(InputError, match=message):
        rating.read(table, unit="user")


@pytest.mark.parametrize("highest, are_probabilities", [(1.0, True), (1.5, False)])
def test_scores_are_taken_for_probabilities_if_none_is_above_1(highest, are_probabilities):
    """Columns p_a, p_b and p_c have a score of each class. All are 0 or 1, but for `highest`, the
    score of the class a in its own rows. A score of 1.5 can be no probability.
    """
    table = pd.DataFrame(
        {
            "y_true": list("abc") * 4,
            "p_a": [highest, 0, 0] * 4,
            "p_b": [0, 1, 0] * 4,
            "p_c": [0, 0, 1] * 4,
        }
    )
    assert ek.classification(table).probabilities is are_probabilities


# ---- further columns -----------------------------------------------------------------------------


def block_with_further_roles():
    """A block of labels and scores with two more roles: a number and a name for each row."""
    shared = {
        "hit": Field("label", rules.NUMBER),
        "age": Field("age", rules.NUMBER),
        "rater": Field("rater", rules.NAME),
    }
    score = RoleColumn("score", Field("score", rules.NUMBER), 0)
    schema = Schema(("a",), shared, {"score": [score]}, ("score",), paired=False, id=None)
    columns = {"hit": [0.0, 1.0], "age": [30.0, 40.0], "rater": ["x", "y"], "score 0": [0.2, 0.7]}
    return schema.block(pa.table(columns))


def test_a_further_role_is_no_actual_value_of_a_block():
    assert block_with_further_roles().truth.tolist() == [0, 1]


def test_a_block_has_the_numbers_of_a_further_role():
    further = block_with_further_roles().shared_columns
    assert {name: column.tolist() for name, column in further.items()} == {"age": [30, 40]}
