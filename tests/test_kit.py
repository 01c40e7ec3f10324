"""`import evalkit as ek`: the most likely tasks, each in at most three lines, and data from
anywhere alike.
"""

import inspect
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import readme_table

import evalkit as ek
from evalkit.arrays import InputError

REPORTS = ("classification", "interleaving", "ranking", "rating", "significance", "validation")
RNG = np.random.default_rng(7)
N = 80
LABEL = RNG.integers(0, 2, N)  # labels 0 and 1
SCORE_BY_SYSTEM = {
    "new": np.round(LABEL + RNG.normal(size=N), 3),
    "old": np.round(RNG.normal(size=N), 3),
}
CLASSES = RNG.integers(0, 3, N)  # classes 0, 1 and 2
CLASS_PROBABILITIES = RNG.dirichlet([1, 1, 1], N)  # their probabilities, a column each
RANKED_LISTS = pd.DataFrame(
    {"query": np.repeat(np.arange(12), 6), "item": np.tile(np.arange(6), 12)}
)
RANKED_LISTS = RANKED_LISTS.assign(score=RNG.normal(size=72).round(3), grade=RNG.integers(0, 2, 72))
RANKED_LISTS_OF_ANOTHER_SYSTEM = RANKED_LISTS.assign(score=RNG.normal(size=72).round(3))


# Data from anywhere -------------------------------------------------------------------------------

TABLE = pd.DataFrame(
    {"y_true": LABEL, "score_new": SCORE_BY_SYSTEM["new"], "score_old": SCORE_BY_SYSTEM["old"]}
)


def assert_same_numbers(first, *others):
    """The estimates and comparisons of studies are equal to the last bit."""
    for other in others:
        pd.testing.assert_frame_equal(first.estimates, other.estimates, check_exact=True)
        pd.testing.assert_frame_equal(first.comparisons, other.comparisons, check_exact=True)


def test_arrays_frames_and_files_give_the_same_numbers(tmp_path):
    """The labels and the scores of the systems new and old are columns of a table. They are passed
    as arrays, lists, columns and tables of pandas and Arrow, a dict of columns, and two files.
    """
    TABLE.to_csv(tmp_path / "wide.csv", index=False)
    TABLE.to_parquet(tmp_path / "wide.parquet")
    columns = {name: TABLE[name].to_numpy() for name in TABLE}
    lists = {name: score.tolist() for name, score in SCORE_BY_SYSTEM.items()}
    series = {"new": TABLE["score_new"], "old": pa.array(TABLE["score_old"])}
    assert_same_numbers(
        ek.classification(y_true=LABEL, y_score=SCORE_BY_SYSTEM),
        ek.classification(y_true=LABEL.tolist(), y_score=lists),
        ek.classification(y_true=TABLE["y_true"], y_score=series),
        ek.classification(TABLE),
        ek.classification(pa.Table.from_pandas(TABLE)),
        ek.classification(columns),
        ek.classification(tmp_path / "wide.csv"),
        ek.classification(str(tmp_path / "wide.parquet")),
    )


class ArrowStream:
    """A column or a table that offers the PyCapsule interface of Arrow and nothing else. It stands
    for those of polars; `tests/try_wheel.py` reads polars itself.
    """

    def __init__(self, data):
        self.data = data

    def __len__(self):
        return len(self.data)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.data.__arrow_c_stream__(requested_schema)


def test_frames_and_columns_that_offer_arrow_streams_give_the_same_numbers():
    """The labels and the scores of the systems new and old are columns of a table. A table or a
    column of a library such as polars is known by nothing but its method __arrow_c_stream__.
    """
    parts = [pa.Table.from_pandas(part, preserve_index=False) for part in (TABLE[:30], TABLE[30:])]
    table = pa.concat_tables(parts)  # in two chunks, as frames of polars may be
    column = {name: ArrowStream(table[name]) for name in table.column_names}
    scores = {"new": column["score_new"], "old": column["score_old"]}
    assert_same_numbers(
        ek.classification(TABLE),
        ek.classification(ArrowStream(table)),
        ek.classification(column),
        ek.classification(y_true=column["y_true"], y_score=scores),
    )


def test_a_dict_of_systems_is_a_column_of_systems(tmp_path):
    """The systems new and old rank the same six items for each of twelve queries; a table of ranked
    lists has the columns query, item, score and grade. The numbers of a report must be the same for
    one table with a column of systems, a dict of a table per system, and a dict of files.
    """
    long = pd.concat(
        [RANKED_LISTS.assign(system="new"), RANKED_LISTS_OF_ANOTHER_SYSTEM.assign(system="old")]
    )
    files = {"new": tmp_path / "a.csv", "old": tmp_path / "b.csv"}  # which do not name the system
    RANKED_LISTS.to_csv(files["new"], index=False)
    RANKED_LISTS_OF_ANOTHER_SYSTEM.to_csv(files["old"], index=False)
    assert_same_numbers(
        ek.ranking(long),
        ek.ranking({"new": RANKED_LISTS, "old": RANKED_LISTS_OF_ANOTHER_SYSTEM}),
        ek.ranking(files),
    )


def test_a_run_of_trec_is_called_what_the_dict_says(tmp_path):
    """The files new.run and old.run both name their system tag. In the study the systems are NEW
    and OLD, the keys of the dict of files, and have the values of the frames behind the files.
    """
    frames = {"NEW": RANKED_LISTS, "OLD": RANKED_LISTS_OF_ANOTHER_SYSTEM}
    for name, frame in frames.items():
        lines = [f"{r.query} Q0 {r.item} 1 {r.score} tag" for r in frame.itertuples()]
        (tmp_path / f"{name.lower()}.run").write_text("\n".join(lines))
    runs = {name: tmp_path / f"{name.lower()}.run" for name in frames}
    study = ek.ranking(runs, RANKED_LISTS[["query", "item", "grade"]])
    assert sorted(study.systems) == ["NEW", "OLD"]
    assert study.estimates["value"].tolist() == ek.ranking(frames).estimates["value"].tolist()


def test_a_matrix_of_scores_has_a_column_of_each_class():
    classes = np.array(["x", "y", "z"])[CLASSES]
    frame = pd.DataFrame(CLASS_PROBABILITIES, columns=["p_x", "p_y", "p_z"]).assign(label=classes)
    assert_same_numbers(
        ek.classification(frame), ek.classification(y_true=classes, y_score=CLASS_PROBABILITIES)
    )


def test_matrices_of_labels_and_scores_have_a_column_of_each_label():
    """Each of N rows has three labels, any of which may be 1, and a score of each. In a table,
    label i is the column y_i and its score the column p_i. Two matrices with a column of each
    label, for labels and for scores, must give the same numbers.
    """
    labels = np.random.default_rng(8).integers(0, 2, (N, 3))
    columns = {f"y_{i}": labels[:, i] for i in range(3)} | {
        f"p_{i}": CLASS_PROBABILITIES[:, i] for i in range(3)
    }
    assert_same_numbers(
        ek.classification(columns), ek.classification(y_true=labels, y_score=CLASS_PROBABILITIES)
    )


def test_two_columns_of_labels_are_labels_and_no_classes():
    """Each row has one of the two, and yet the first metric is one of several labels."""
    one_hot = np.eye(2)[LABEL]
    study = ek.classification(y_true=one_hot, y_score=CLASS_PROBABILITIES[:, :2])
    assert study.estimates["metric"][0] == "micro_f1"


def test_the_score_of_the_labels_0_and_1_is_the_second_of_two_columns():
    both = np.column_stack([1 - CLASS_PROBABILITIES[:, 0], CLASS_PROBABILITIES[:, 0]])
    assert_same_numbers(
        ek.classification(y_true=LABEL, y_score=CLASS_PROBABILITIES[:, 0]),
        ek.classification(y_true=LABEL, y_score=both),
    )


@pytest.mark.parametrize("positive", ["yes", "no"])
def test_the_score_of_two_classes_is_the_column_of_the_positive_one(positive):
    """The positive class is yes, then no. Its column of scores gives the same numbers alone, in an
    array with the columns in the order of the classes, no and yes, and in a frame with named
    columns in another order.
    """
    labels = np.array(["no", "yes"])[LABEL]
    probability = CLASS_PROBABILITIES[:, 0]
    frame = pd.DataFrame({"yes": probability, "no": 1 - probability})
    array_of_no_and_yes = frame[["no", "yes"]].to_numpy()
    column_of_positive = frame[positive].to_numpy()
    assert_same_numbers(
        ek.classification(y_true=labels, y_score=column_of_positive, positive=positive),
        ek.classification(y_true=labels, y_score=array_of_no_and_yes, positive=positive),
        ek.classification(y_true=labels, y_score=frame, positive=positive),
    )


def test_a_number_of_numpy_names_the_positive_label():
    plain = ek.classification(y_true=LABEL + 1, y_score=SCORE_BY_SYSTEM["new"], positive=2)
    assert_same_numbers(
        plain,
        ek.classification(y_true=LABEL + 1, y_score=SCORE_BY_SYSTEM["new"], positive=np.int64(2)),
    )


def test_several_systems_of_classes_are_paired_by_row():
    """Rows have one of three classes, and system a a probability of each class. Those of system b
    are the same with the columns exchanged, so that b predicts other classes. The accuracy of each
    must be its share of rows where the probability of the row's class is the largest.
    """
    scores_by_system = {"a": CLASS_PROBABILITIES, "b": CLASS_PROBABILITIES[:, [1, 2, 0]]}
    study = ek.classification(y_true=CLASSES, y_score=scores_by_system, metrics="accuracy")
    accuracies = dict(zip(study.estimates["system"], study.estimates["value"], strict=True))
    assert accuracies == {
        name: (scores.argmax(axis=1) == CLASSES).mean() for name, scores in scores_by_system.items()
    }


def test_forecasts_in_arrays_have_the_weighted_mean_of_their_errors():
    """Actual values, forecasts and weights of 1 to 3 of N rows are passed as arrays. The MAE must
    be the weighted mean of the absolute errors, up to rounding.
    """
    weight = np.random.default_rng(8).integers(1, 4, N)
    error = np.abs(LABEL - SCORE_BY_SYSTEM["new"])
    study = ek.rating(
        y_true=LABEL, y_pred=SCORE_BY_SYSTEM["new"], sample_weight=weight, metrics="mae"
    )
    weighted_mean = (weight * error).sum() / weight.sum()
    assert study.estimates["value"].item() == pytest.approx(weighted_mean, rel=1e-12)


MASKED = np.ma.masked_array(CLASS_PROBABILITIES[:, 0], np.arange(N) == 5)
NAMED = pd.DataFrame(CLASS_PROBABILITIES[:, :2], columns=["a", "b"])
BOTH = "y_true and y_score or y_pred: both must be given, got "


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"y_true": LABEL}, BOTH + "y_true"),
        ({"y_score": LABEL}, BOTH + "y_score"),
        (
            {"preds": "a.csv", "y_true": LABEL, "y_score": LABEL},
            "preds and y_true: give one, a table or arrays",
        ),
        (
            {"y_true": LABEL, "y_score": LABEL[:5]},
            "score must have as many values as y_true, 80, got 5",
        ),
        (
            {"y_true": LABEL, "y_score": {"a": LABEL, "b": LABEL[:5]}},
            "score_b must have as many values as y_true, 80, got 5",
        ),
        (
            {"y_true": CLASSES, "y_score": CLASS_PROBABILITIES[:, :2]},
            "score must have one column per class or label, 3, got 2",
        ),
        (
            {"y_true": LABEL, "y_score": [object()] * N},
            "score must be values of one type, one per row: ",
        ),
        (
            {"y_true": LABEL, "y_score": {"a": LABEL}, "y_pred": {"b": LABEL}},
            "score and predicted must name the same systems",
        ),
        (
            {"y_true": LABEL, "y_score": {"": LABEL, "b": LABEL}},
            "y_score: a name of the dict must not be blank, got ''",
        ),
        (
            {"y_true": LABEL, "y_score": {1: LABEL, "1": LABEL}},
            "y_score: names of the dict must be distinct as text, got '1' tw",
        ),
        (
            {"y_true": LABEL, "y_score": {}},
            "score must name at least one system, got an empty dict",
        ),
        (
            {"y_true": LABEL, "y_score": (v for v in LABEL)},
            "score must have one value per row, got generator",
        ),
        (
            {"y_true": LABEL, "y_score": LABEL + 1j},
            "score must be values of one type, one per row: got complex128",
        ),
        ({"y_true": LABEL, "y_score": MASKED}, "data frame: score must be a finite"),
        (
            {"y_true": [[0, 1], [1]], "y_score": LABEL[:2]},
            "y_true must have as many values in each row, got rows of sev",
        ),
        (
            {"y_true": [None, *LABEL[1:]], "y_score": CLASS_PROBABILITIES[:, :2]},
            "data frame: y_true must not be empty, got nothing (row 1)",
        ),
        (
            {
                "y_true": CLASSES,
                "y_score": {"a": CLASS_PROBABILITIES, "b": CLASS_PROBABILITIES[:, 0]},
            },
            "every system must have the same columns, got p_0, ",
        ),
        (
            {"y_true": pd.Series(LABEL), "y_score": pd.Series(LABEL)[::-1]},
            "score: its index has the rows of y_true in anoth",
        ),
    ],
)
def test_refuses_arrays(arguments, message):
    with pytest.raises(InputError) as refused:
        ek.classification(**arguments)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: ek.ranking(metric="map"),
            r"ranking\(\) got an unexpected .* 'metric' \(did you mean 'metrics'\?\)$",
        ),
        (lambda: ek.rating(foo=1), r"rating\(\) got an unexpected keyword argument 'foo'$"),
        (
            lambda: ek.ranking(threshold=0.3),
            r"ranking\(\) got .* 'threshold' \(an argument of classification, validation\)$",
        ),
        (
            lambda: ek.rating(1, 2, 3),
            r"rating\(\) takes from 0 to 1 positional arguments but 3 were given",
        ),
    ],
)
def test_an_error_of_python_names_the_report(call, message):
    with pytest.raises(TypeError, match=message):
        call()


# What is there ------------------------------------------------------------------------------------


def test_type_checkers_and_editors_see_what_is_there_at_run_time():
    assert readme_table.STUBS.read_text(encoding="utf-8") == readme_table.stub(), "run make outputs"
    assert "    metrics: Metrics | None = None," in readme_table.stub()
    assert dir(ek) == ek.__all__ == sorted([*ek.PUBLIC, "__version__"])


@pytest.mark.parametrize("name", REPORTS)
def test_each_argument_has_a_line_and_each_report_an_example(name):
    """The docstring of a report, such as ek.rating, has an example of its call, and a line for each
    argument, in the order of the signature.
    """
    report = getattr(ek, name)
    assert re.search(rf">>> .*ek\.{name}\(", report.__doc__)
    lines = report.__doc__.partition("Arguments:")[2].split("\n")
    assert [line.partition(":")[0] for line in lines if line] == list(
        inspect.signature(report).parameters
    )
