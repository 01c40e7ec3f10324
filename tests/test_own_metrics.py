"""Own metrics: they equal the catalogue's with the same definition, in every report; bad ones are
refused by name.
"""

import hashlib
import json
import re
from functools import partial
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from engine_samples import SMALL as LIMITS_BELOW_3000_ROWS, binary, classified
from online_samples import SMALL as WITHOUT_SIMULATION, log, users
from own_metric_samples import (
    CHANCES,
    forecasts,
    own_brier,
    own_errors,
    own_hits,
    own_mcc,
    own_precision,
    own_recall,
    own_recall_at,
    own_wape,
    saved,
)
from significance_tables import wide

import evalkit as ek
from evalkit.arrays import InputError, ParameterError
from evalkit.catalogue.lookup import find_metric
from evalkit.catalogue.own import names_of
from evalkit.metrics.rankings import from_grades
from evalkit.metrics.rows import Rows
from evalkit.pages import binary_page, classification_page, ranking_page, rating_page
from evalkit.studies import classification, interleaving, ranking, rating, significance, validation

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = json.loads((ROOT / "evalkit" / "schema.json").read_text(encoding="utf-8"))
NUMBERS = ["value", "low", "high"]
TESTS = ["difference", "low", "high", "p", "verdict"]


def rows_of_metric(frame, metric, columns):
    return frame.loc[frame["metric"] == metric, columns].reset_index(drop=True)


def assert_equal_estimates(study, own, known, columns=NUMBERS):
    """That an own metric has the values and limits of one of the catalogue."""
    pd.testing.assert_frame_equal(
        rows_of_metric(study.estimates, own, columns),
        rows_of_metric(study.estimates, known, columns),
        rtol=1e-12,
    )


def assert_equal_tests(study, own, known):
    """That an own metric has the differences, p and verdicts of one of the catalogue."""
    pd.testing.assert_frame_equal(
        rows_of_metric(study.comparisons, own, TESTS),
        rows_of_metric(study.comparisons, known, TESTS),
        rtol=1e-12,
    )


# Beside the catalogue's metric of the same definition ---------------------------------------------


LAYOUTS = {
    "plain": {},
    "weights": {"columns": "{weight: exact}"},
    "units": {"unit": "user_id"},
    "weighted units": {"unit": "user_id", "columns": "{weight: exact}"},
}


SAME_IN_CATALOGUE = {
    "brier": own_brier,
    "recall": own_recall,
    "precision": own_precision,
    "mcc": own_mcc,
}


@pytest.fixture(scope="module", params=LAYOUTS)
def study_of_labels(request):
    metrics = [*SAME_IN_CATALOGUE, *SAME_IN_CATALOGUE.values()]
    return classification.read(binary(400, units=60), metrics=metrics, **LAYOUTS[request.param])


@pytest.mark.parametrize("known", SAME_IN_CATALOGUE)
def test_an_own_metric_of_labels_has_the_interval_of_its_kind(study_of_labels, known):
    assert_equal_estimates(study_of_labels, SAME_IN_CATALOGUE[known].name, known)


@pytest.mark.parametrize("known", SAME_IN_CATALOGUE)
def test_an_own_metric_of_labels_has_the_test_of_its_kind(study_of_labels, known):
    assert_equal_tests(study_of_labels, SAME_IN_CATALOGUE[known].name, known)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_own_ratio_of_forecasts_equals_wape(layout):
    study = rating.read(forecasts(), metrics=[own_wape, "wape"], **LAYOUTS[layout])
    assert_equal_estimates(study, "own_wape", "wape")
    assert_equal_tests(study, "own_wape", "wape")


@pytest.fixture(scope="module")
def study_of_lists():
    """Ranked lists with an own metric at a cut-off and one of sums, by digit."""
    metrics = [own_recall_at.at(10), "recall@10", own_hits, "hit_ratio"]
    return ranking.read(metrics=metrics, unit="digit")


def test_an_own_metric_of_ranked_lists_is_labelled_with_its_cut_off(study_of_lists):
    labels = [metric.label for metric in study_of_lists.settings.metrics]
    assert labels == ["own_recall_at@10", "recall@10", "own_hits", "hit_ratio"]


@pytest.mark.parametrize(
    "own, known", [("own_recall_at@10", "recall@10"), ("own_hits", "hit_ratio")]
)
def test_an_own_metric_of_ranked_lists_equals_the_catalogues(study_of_lists, own, known):
    assert_equal_estimates(study_of_lists, own, known)
    assert_equal_tests(study_of_lists, own, known)


def test_an_own_preference_of_users_equals_user_share():
    @ek.mean(undefined="no credit")
    def own_share(credit, whole):
        return credit / whole

    study = interleaving.read(log(), preference=[own_share, "user_share"], **WITHOUT_SIMULATION)
    assert_equal_estimates(study.log, "own_share", "user_share")
    assert_equal_tests(study.log, "own_share", "user_share")


def test_an_own_ratio_of_users_equals_the_ratio_of_two_columns():
    per_visit = ek.ratio(name="per_visit")(lambda orders, visits: (orders, visits))
    metrics = [per_visit, "orders/visits"]
    study = interleaving.read(users=users(), metrics=metrics, **WITHOUT_SIMULATION)
    assert_equal_estimates(study.users, "per_visit", "orders/visits")
    assert_equal_tests(study.users, "per_visit", "orders/visits")


def test_an_own_loss_of_single_rows_equals_the_catalogues():
    study = significance.read(CHANCES, metrics=[own_brier, "brier"])
    assert_equal_estimates(study, "own_brier", "brier")
    assert_equal_tests(study, "own_brier", "brier")


@ek.mean()
def all_right(actual, predicted):
    """1 for each row whose class, or whose labels all, are predicted."""
    return (actual == predicted).reshape(len(actual), -1).all(axis=1)


def test_an_own_metric_of_several_classes_equals_accuracy():
    study = classification.read("data/penguins/predictions.csv", metrics=[all_right, "accuracy"])
    assert_equal_estimates(study, "all_right", "accuracy")


def test_an_own_metric_of_several_labels_has_the_value_of_exact_match():
    study = classification.read(
        "data/digit_traits/predictions.csv", metrics=[all_right, "exact_match"]
    )
    assert_equal_estimates(study, "all_right", "exact_match", columns=["value"])


def test_an_own_metric_over_folds_equals_the_catalogues():
    study = validation.read(metrics=[own_brier, "brier"])
    assert_equal_estimates(study, "own_brier", "brier")


# A metric of which less is better -----------------------------------------------------------------

FOUND = ek.mean(name="found", low=0, high=1)(lambda grades, ideal, level: np.mean(grades >= level))
MISSED = ek.mean(name="missed", best="low", low=0, high=1)(
    lambda grades, ideal, level: 1 - np.mean(grades >= level)
)


@pytest.fixture(scope="module")
def studies_of_found_and_missed():
    """The bundled lists by `found@10`, the share of relevant items (higher is better), and by
    `missed@10` = 1 − found@10 (lower is better): all results are the same.
    """
    return ranking.read(metrics=[FOUND.at(10)]), ranking.read(metrics=[MISSED.at(10)])


def test_queries_are_better_or_worse_in_the_direction_of_the_metric(studies_of_found_and_missed):
    """Two studies compare the same ranked lists of two systems: one by found@10 (more is better),
    one by missed@10 = 1 − found@10 (less is better). A query on which the first system finds more
    is a query on which it misses less, so that both studies count the same queries as better. The
    picture of the queries has these counts in its alternative text: "16 queries better (green), 75
    equal, 9 worse (orange)", which are the 100 queries of the sample data.
    """
    counts = re.compile(r"(\d+) queries better .green., (\d+) equal, (\d+) worse .orange.")
    study_of_found, study_of_missed = studies_of_found_and_missed
    text_of_found = ranking_page.queries(study_of_found).alt
    text_of_missed = ranking_page.queries(study_of_missed).alt
    better_equal_worse = ("16", "75", "9")
    assert counts.search(text_of_found).groups() == better_equal_worse
    assert counts.search(text_of_missed).groups() == better_equal_worse


def test_a_query_is_won_in_the_direction_of_the_metric(studies_of_found_and_missed):
    """The table of differences counts the queries that the first system of a pair won, tied and
    lost. It wins a query by missing less, as it wins it by finding more.
    """
    columns = ["first", "second", "wins", "ties", "losses"]
    by_found, by_missed = (study.comparisons[columns] for study in studies_of_found_and_missed)
    pd.testing.assert_frame_equal(by_found, by_missed)


def test_systems_are_ranked_in_the_direction_of_the_metric(studies_of_found_and_missed):
    by_found, by_missed = studies_of_found_and_missed
    assert by_found.headline_systems == by_missed.headline_systems


@pytest.fixture(scope="module")
def studies_of_one_system(studies_of_found_and_missed):
    leader = studies_of_found_and_missed[0].leader
    return [ranking.read(metrics=[m.at(10)], systems=[leader]) for m in (FOUND, MISSED)]


def test_the_worst_queries_are_those_in_the_direction_of_the_metric(studies_of_one_system):
    by_found, by_missed = (study.extremes()["query"].tolist() for study in studies_of_one_system)
    assert by_found == by_missed


def test_the_page_says_which_end_is_worst(studies_of_one_system):
    by_found, by_missed = (ranking_page.extremes(study).text for study in studies_of_one_system)
    assert "lowest found" in by_found.splitlines()[0]
    assert "highest missed" in by_missed.splitlines()[0]


# Rows and columns that a metric takes -------------------------------------------------------------


def test_an_own_metric_takes_columns_of_users():
    rich = ek.mean(name="rich")(lambda orders, visits: orders * (visits > 1))
    study = interleaving.read(users=users(), metrics=[rich], **WITHOUT_SIMULATION).users
    assert study.estimate(study.settings.metrics[0], "a").value == 1.0


@pytest.fixture(scope="module")
def table_with_amount():
    return binary(200).assign(amount=np.linspace(0, 5, 200))


def test_an_own_metric_takes_further_columns_of_the_input(table_with_amount):
    """`saved` is the mean over 200 rows of amount · label · predicted − predicted. A row is
    predicted positive if its score is at least 0.5.
    """
    study = classification.read(table_with_amount, metrics=[saved])
    predicted = table_with_amount["score_good"] >= 0.5
    saved_by_row = table_with_amount["amount"] * table_with_amount["label"] * predicted - predicted
    found = study.estimate(study.primary_metric, "good").value
    assert found == pytest.approx(saved_by_row.mean(), rel=1e-12)


def test_an_own_metric_of_further_columns_has_values_by_slice(table_with_amount):
    study = classification.read(table_with_amount, metrics=[saved], segments="country")
    assert study.by_segment["value"].notna().all()


def test_a_further_column_of_text_is_refused_by_its_value():
    of_text = ek.mean(name="of_text")(lambda label, country: country)
    with pytest.raises(InputError, match=r"country must be a number, got '(de|fr|it)'"):
        classification.read(binary(200), metrics=[of_text])


def test_a_further_column_that_the_input_lacks_is_refused_by_name():
    with pytest.raises(ParameterError, match="has no column 'amount'"):
        classification.read(binary(200), metrics=[saved])


def test_a_further_column_is_refused_by_a_report_that_reads_none():
    message = "saved needs the column 'amount', which this report does not read"
    with pytest.raises(ParameterError, match=message):
        validation.read(metrics=[saved])


def test_a_metric_of_further_columns_is_refused_for_a_table_read_in_blocks():
    """The own metric `saved` takes the label, the prediction and the further column `amount`. The
    limits let the table of 3,000 rows be read only in blocks. A report of blocks computes metrics
    from the counts by score, which have no amounts.
    """
    table = binary(3_000).assign(amount=1.0)
    message = (
        "metrics: saved is computed from the column amount, which needs all rows in memory, got "
        "3,000 rows"
    )
    with pytest.raises(ParameterError, match=message):
        classified(table, LIMITS_BELOW_3000_ROWS, metrics=[saved])


SCORE_OF_POSITIVES = {  # NaN leaves the negative rows out
    "mean": ek.mean(name="part", undefined="negative")(
        lambda label, score: np.where(label, score, np.nan)
    ),
    "ratio": ek.ratio(name="part", undefined="negative")(
        lambda label, score: (np.where(label, score, np.nan), np.where(label, 1.0, np.nan))
    ),
}


@pytest.mark.parametrize("kind", SCORE_OF_POSITIVES)
def test_a_metric_that_leaves_rows_out_is_refused_for_a_table_read_in_blocks(kind):
    message = "metrics: part leaves rows out, which needs all rows in memory"
    with pytest.raises(ParameterError, match=message):
        classified(binary(), LIMITS_BELOW_3000_ROWS, metrics=[SCORE_OF_POSITIVES[kind]])


@pytest.fixture(scope="module")
def study_without_common_rows():
    """Of two systems, each with a value only on the rows where the other has none."""

    @ek.mean(best="low", undefined="the score is above a half")
    def error_of_low_scores(label, score):
        return np.where(score > 0.5, np.nan, np.abs(label - score))

    a = np.linspace(0.1, 0.9, 8)
    scores = {"a": a, "b": (1 - a) ** 1.1}
    return ek.classification(y_true=[0, 1] * 4, y_score=scores, metrics=[error_of_low_scores])


def test_systems_without_common_rows_cannot_be_compared(study_without_common_rows):
    with pytest.raises(InputError, match="at least one unit"):
        _ = study_without_common_rows.comparisons


def test_slices_are_no_obstacle_for_systems_without_common_rows(study_without_common_rows):
    """Without segments there is none, and nothing is compared."""
    assert study_without_common_rows.by_segment.empty


# From a file --------------------------------------------------------------------------------------


SOURCE = '''import evalkit as ek

@ek.mean(best="low", low=0)
def overshoot(actual, forecast):
    """Mean of forecast − actual where that is above 0."""
    return (forecast - actual).clip(0)
'''


@pytest.fixture
def own_file(tmp_path):
    path = tmp_path / "my_metrics.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


@pytest.fixture
def study_of_file(own_file):
    return rating.read(forecasts(), metrics=f"mae,{own_file}:overshoot")


def test_a_file_of_metrics_and_its_digest_stand_in_the_provenance(study_of_file, own_file):
    digest = hashlib.sha256(own_file.read_bytes()).hexdigest()
    origin = rating_page.origin(study_of_file).text
    assert f"own metric overshoot: my_metrics.py, SHA-256 {digest}" in origin


def test_the_page_defines_a_metric_of_a_file_by_its_docstring(study_of_file):
    assert (
        "Mean of forecast − actual where that is above 0. Equals: none, an own metric of "
        "my_metrics.py."
    ) in rating_page.definitions(study_of_file).text


def test_the_stored_results_have_the_digest_of_a_file_of_metrics(study_of_file, own_file):
    bundle = rating_page.results(study_of_file)._repr_mimebundle_()
    results = json.loads(json.dumps(bundle["application/vnd.evalkit+json"]))
    jsonschema.validate(results, SCHEMA)
    digest = hashlib.sha256(own_file.read_bytes()).hexdigest()
    assert results["metrics"][1]["sha256"] == digest


def test_a_file_of_metrics_that_is_read_again_gives_an_equal_metric(study_of_file, own_file):
    _, overshoot = study_of_file.settings.metrics
    assert rating.read(forecasts(), metrics=f"{own_file}:overshoot").primary_metric == overshoot


# On the page --------------------------------------------------------------------------------------


def test_the_docstring_of_a_metric_is_shown_as_plain_text(table_with_amount):
    study = classification.read(table_with_amount, metrics=["roc_auc", saved])
    assert "Money saved per case &lt;b&gt;: the amount" in binary_page.definitions(study).html


def test_the_provenance_says_that_a_metric_was_declared_in_python(table_with_amount):
    study = classification.read(table_with_amount, metrics=["roc_auc", saved])
    assert "own metric saved: declared in Python, no file" in classification_page.origin(study).text


def test_the_definition_says_where_a_metric_is_undefined():
    study = ranking.read(metrics=[own_recall_at.at(5)])
    assert "Undefined where nothing is relevant" in ranking_page.definitions(study).text


@pytest.fixture(scope="module")
def cells_of_constant_prediction():
    """The texts of the last row of the table of metrics, by metric, in a study of 211 rows. The
    first cell, with the key "name", is the name of the row.
    """
    metrics = [own_brier, "brier", own_errors, "error_rate"]
    study = classification.read(binary(211), metrics=metrics)
    (table,) = classification_page.estimates(study).tables
    keys = ["name", "own_brier", "brier", "own_errors", "error_rate"]
    return {key: cell.text for key, cell in zip(keys, table.rows[-1], strict=True)}


def test_the_last_row_of_the_table_of_metrics_is_a_constant(cells_of_constant_prediction):
    assert cells_of_constant_prediction["name"] == "(a constant)"


@pytest.mark.parametrize("own, known", [("own_brier", "brier"), ("own_errors", "error_rate")])
def test_a_constant_prediction_has_the_catalogues_value_of_an_own_metric(
    cells_of_constant_prediction, own, known
):
    """Each own metric has the definition of the catalogue's metric beside it: own_brier is (score −
    label)² per row, own_errors is 1 for each row whose prediction is not its label.
    """
    assert cells_of_constant_prediction[own] == cells_of_constant_prediction[known]


# Files that hold no such metric, and other callables ----------------------------------------------


@pytest.mark.parametrize(
    "source, name, message",
    [
        (None, "overshoot", "cannot read .*: No such file"),
        ("import nothing_of_this_name", "overshoot", "raised ModuleNotFoundError: No module named"),
        (
            "overshoot = 1",
            "overshoot",
            "has no metric 'overshoot'; it has none",
        ),
        (SOURCE, "undershoot", "has no metric 'undershoot'; it has overshoot"),
        (
            "import evalkit as ek\n@ek.mean(best='up')\ndef f(actual): ...",
            "f",
            "best must be high, low or neither",
        ),
        ("def f(:", "f", "raised SyntaxError"),
        ("import sys; sys.exit(3)", "f", "raised SystemExit: 3"),
        (SOURCE, "", "own.py:' names a file; name one of its metrics, such as .*own.py:NAME"),
    ],
)
def test_a_file_that_holds_no_such_metric_is_refused(tmp_path, source, name, message):
    path = tmp_path / "own.py"
    if source:
        path.write_text(source, encoding="utf-8")
    with pytest.raises(ParameterError, match=f"metrics: .*{message}"):
        find_metric(f"{path}:{name}", "forecasts")


CALLED = {
    "a partial function": "partial(at_least, 2.0)",
    "a lambda": "lambda y_true, y_pred: at_least(2.0, y_true, y_pred)",
    "an object": "type('At', (), {'__call__': lambda self, y_true, y_pred: 0.5})()",
}
AT_LEAST = """from functools import partial

def at_least(least, y_true, y_pred):
    return (abs(y_true - y_pred) >= least).mean()

large = """


@pytest.mark.parametrize("called", CALLED.values(), ids=CALLED)
def test_what_can_be_called_in_a_file_is_a_metric_with_the_name_of_its_variable(tmp_path, called):
    """The file assigns the callable to the variable `large`. Two of the callables are the share of
    rows whose forecast is off by at least 2: one row of two. The third returns 0.5.
    """
    path = tmp_path / "own.py"
    path.write_text(AT_LEAST + called, encoding="utf-8")
    chosen = find_metric(f"{path}:large", "forecasts")
    rows = Rows(actual=np.array([1.0, 2.0]), score=np.array([1.0, 5.0]))
    assert (chosen.label, chosen.value(rows)) == ("large", 0.5)


def test_a_metric_stays_as_declared_if_its_file_overwrites_its_name(tmp_path):
    """The file declares the metric `overshoot`, and a metric `f`, which assigns 1 to the global
    name `overshoot` when its value is computed. Afterwards `overshoot` of the file is still found,
    under its name.
    """
    overwriting_f = (
        "\ndef f(y_true, y_pred):\n    global overshoot\n    overshoot = 1\n    return 0"
    )
    path = tmp_path / "own.py"
    path.write_text(SOURCE + overwriting_f, encoding="utf-8")
    f = find_metric(f"{path}:f", "forecasts")
    one_row = Rows(np.array([1.0]), np.array([1.0]))
    f.value(one_row)
    assert find_metric(f"{path}:overshoot", "forecasts").label == "overshoot"


def test_two_partial_functions_of_other_positions_have_two_names():
    def quantile(q, y_true, y_pred):
        return np.quantile(np.abs(y_true - y_pred), q)

    names = [find_metric(partial(quantile, q), "forecasts").label for q in (0.5, 0.9)]
    assert names == ["quantile_0_5", "quantile_0_9"]


def test_the_refusal_of_two_lambdas_says_how_to_name_them():
    lambdas = [lambda y_true, y_pred: 0.5, lambda y_true, y_pred: 0.6]
    with pytest.raises(ParameterError, match=r"two metrics are called.*ek\.bootstrap\(name="):
        rating.read(forecasts(), metrics=lambdas)


@pytest.fixture(scope="module")
def metrics_of_docs():
    """The metrics that the examples of docs/own_metrics.md declare, by name."""
    text = (ROOT / "docs" / "own_metrics.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in text.split("```python\n")[1:]]
    variables: dict = {"np": np}
    for block in blocks:
        if "@ek" in block:
            exec(block, variables)
    return variables


@pytest.mark.parametrize(
    "name, value_by_hand",
    [
        ("money_saved", (50 - 10 - 10) / 4),
        ("cost_per_alarm", 5 / 2),
        ("alarms_in_vain", 1 / 2),
        ("cost", (1 + 5) / 4),
    ],
)
def test_the_examples_of_the_docs_have_the_values_worked_by_hand(
    metrics_of_docs, name, value_by_hand
):
    """docs/own_metrics.md declares four metrics of fraud detection as examples, in Python code that
    is run here. The label 1 is fraud. A case with a score of at least 0.5 raises an alarm.

        case   label   score   amount
        1      1       0.9     50       fraud that is stopped
        2      0       0.8     1        false alarm
        3      1       0.2     1        missed fraud
        4      0       0.1     1        no fraud, no alarm

    money_saved: mean per case of the amount of each fraud that is stopped (case 1), less 10 for
    each alarm (cases 1 and 2), as it is reviewed: (50 − 10 − 10) / 4.
    cost_per_alarm: 5 for each false alarm (case 2), divided by the number of alarms: 5 / 2.
    alarms_in_vain: false alarms, divided by the number of alarms: 1 / 2.
    cost: mean per case of 1 for each false alarm and 5 for each missed fraud: (1 + 5) / 4.
    """
    cases = Rows(
        actual=np.array([1, 0, 1, 0]),
        score=np.array([0.9, 0.8, 0.2, 0.1]),
        columns={"amount": np.array([50.0, 1, 1, 1])},
    )
    metric = find_metric(metrics_of_docs[name], "counts")
    assert metric.value(cases) == value_by_hand


def test_the_example_of_the_docs_has_a_value_of_ranked_lists(metrics_of_docs):
    """found_early@1 of docs/own_metrics.md is the number of relevant items (grade 1) at rank 1,
    divided by that of all relevant items. It is 1/1 for the first query and 0/1 for the second.
    """
    lists = from_grades([[1, 0], [0, 1]])
    found_early = find_metric(metrics_of_docs["found_early"].at(1), "rankings")
    assert found_early.sums(lists).value == (1 + 0) / 2


# What a metric must not return --------------------------------------------------------------------


def fails(label, score):
    raise KeyError("amount")


ROWS = Rows(np.array([1, 0, 1]), np.array([0.9, 0.4, 0.2]))
BAD_RESULTS = {  # a declaration, the function declared, and the message after "metrics: bad"
    "wrong length": (
        ek.mean(name="bad"),
        lambda label: label[:2],
        r"must return one number per row \(3\), got 2",
    ),
    "one number": (
        ek.mean(name="bad"),
        lambda label: label.mean(),
        r"must return one number per row \(3\), got one",
    ),
    "nan": (
        ek.mean(name="bad"),
        lambda label: label / label,
        r"must be a number, got nan \(row 2\); say where",
    ),
    "infinite": (
        ek.mean(name="bad"),
        lambda label: 1 / label,
        r"must be finite, got inf \(row 2\)",
    ),
    "text": (ek.mean(name="bad"), lambda label: ["x", "y", "z"], "must return numbers, got list"),
    "nothing": (ek.mean(name="bad"), lambda label: None, "must return numbers, got NoneType None"),
    "numbers as text": (
        ek.mean(name="bad"),
        lambda label: label.astype(str),
        "must return numbers, got ndarray",
    ),
    "objects": (
        ek.mean(name="bad"),
        lambda label: np.array(["1", 2, 3], dtype=object),
        "must return numbers, got",
    ),
    "complex": (ek.mean(name="bad"), lambda label: label + 1j, "must return numbers, got ndarray"),
    "times": (
        ek.mean(name="bad"),
        lambda label: label.astype("m8[D]"),
        "must return numbers, got ndarray",
    ),
    "masked": (
        ek.mean(name="bad"),
        lambda label: np.ma.masked_equal(label, 0),
        r"must be a number, got nan \(row 2\)",
    ),
    "exception": (ek.mean(name="bad"), fails, "raised KeyError: 'amount'"),
    "changes its input": (
        ek.mean(name="bad"),
        lambda score: score.sort(),
        "raised ValueError: .*read-only",
    ),
    "out of range": (
        ek.mean(name="bad", low=0, high=1),
        lambda score: score + 1,
        r"must be within 0 and 1, .* got 1.9",
    ),
    "no pair": (
        ek.ratio(name="bad"),
        lambda label: label,
        r"must return a pair \(numerator, denominator\)",
    ),
    "pair of numbers": (
        ek.ratio(name="bad"),
        lambda label: (1, 2),
        "must return a pair .* per row .3., got one",
    ),
    "no rate": (
        ek.of_counts(name="bad"),
        lambda tp, fp, fn, tn: fp,
        "must be a rate.*got 0 and 0|must be a rate",
    ),
    "counts nan": (
        ek.of_counts(name="bad"),
        lambda fp, tn: fp / (fp * 0),
        "must be a number, got nan",
    ),
    "no number": (ek.of_counts(name="bad"), lambda tp: "x", "must return one number, got str 'x'"),
}


@pytest.mark.parametrize("case", BAD_RESULTS)
def test_a_bad_result_is_refused_with_name_and_reason(case):
    declare, function, message = BAD_RESULTS[case]
    rows = Rows(np.array([1, 0, 1]), np.array([0.9, 0.8, 0.2])) if case == "no rate" else ROWS
    with pytest.raises(ParameterError, match=f"^metrics: bad ({message})"):
        find_metric(declare(function), "counts").value(rows)


BAD_DECLARATIONS = {  # a declaration, the function to declare, and the message
    "unknown argument": (ek.of_counts(), lambda tp, positives: 1, "name must be a word"),
    "counts": (
        ek.of_counts(name="bad"),
        lambda tp, positives: 1,
        "must be of: tp, fp, fn, tn; got positives",
    ),
    "star": (
        ek.mean(name="bad"),
        lambda *columns: 1,
        r"must be of: columns of numbers; got \*columns",
    ),
    "nothing at all": (ek.mean(name="bad"), lambda: 1, "must be of: columns of numbers; got none"),
    "range": (
        ek.mean(name="bad", low=1, high=0),
        lambda label: 1,
        "low must be below high, got 1 and 0",
    ),
    "share of numbers": (
        ek.share(name="bad"),
        lambda label, predicted: (label, 0.5 * label),
        "pair of booleans",
    ),
    "not a function": (ek.mean(name="bad"), 7, "must be a function, got int 7"),
}


@pytest.mark.parametrize("case", BAD_DECLARATIONS)
def test_a_metric_that_cannot_be_declared_is_refused_by_reason(case):
    declare, function, message = BAD_DECLARATIONS[case]
    with pytest.raises(ParameterError, match=message):
        declare(function)


@pytest.mark.parametrize(
    "declare, message",
    [
        (lambda: ek.mean(fails), r"declare a function by @ek.mean\(\), with parentheses"),
        (lambda: ek.ratio(bset="low"), "ek.ratio has no argument 'bset', it has name, best, low"),
        (lambda: ek.mean(low="0"), "low of ek.mean must be a number, got '0'"),
        (lambda: ek.share(undefined=True), "undefined of ek.share must be text, got True"),
        (lambda: own_recall_at.at(-1), "must be a whole number of at least 1, got -1"),
        (lambda: own_recall_at.at(2.5), "must be a whole number of at least 1, got 2.5"),
        (lambda: own_recall_at.at("3"), "must be a whole number of at least 1, got '3'"),
    ],
)
def test_wrong_arguments_of_a_declaration_are_refused(declare, message):
    with pytest.raises(ParameterError, match=message):
        declare()


def test_a_metric_of_ranked_lists_is_refused_in_a_rating_report():
    message = r"own_recall_at takes grades, ideal, level, which are not the arguments of .* Rating"
    with pytest.raises(ParameterError, match=message):
        rating.read(forecasts(), metrics=[own_recall_at])


def test_an_object_that_is_no_function_is_refused_as_a_metric():
    message = r"must be names or functions, such as those declared by ek.mean"
    with pytest.raises(ParameterError, match=message):
        rating.read(forecasts(), metrics=["mae", object()])


def test_an_own_metric_with_a_name_of_the_catalogue_is_refused():
    message = "brier is a metric of the catalogue; give yours another name"
    with pytest.raises(ParameterError, match=message):
        find_metric(ek.mean(name="brier")(lambda label, score: score), "counts")


def test_two_own_metrics_of_one_name_are_refused():
    twins = [ek.mean(name="twice")(lambda label, score, c=c: c * score) for c in (1, 2)]
    with pytest.raises(ParameterError, match="two metrics are called twice"):
        classification.read(binary(100), metrics=twins)


def test_a_cut_off_of_a_metric_without_one_is_refused():
    with pytest.raises(ParameterError, match="own_brier has no cut-off"):
        find_metric(own_brier.at(3), "counts")


def test_an_own_metric_of_a_table_of_values_is_refused():
    message = r"own_wape.* has nothing to be computed from, preds holds a wide table"
    with pytest.raises(ParameterError, match=message):
        significance.read(wide(), metrics=[own_wape])


def test_a_metric_of_counts_is_refused_where_each_row_needs_a_value():
    with pytest.raises(ParameterError, match="for single rows there are"):
        significance.read(CHANCES, metrics=[own_mcc])


LISTS = from_grades([[1, 0], [0, 1], [1, 1]])


def test_a_bad_value_of_a_ranked_list_is_refused_with_its_query():
    bad = ek.mean(name="bad")(lambda grades, ideal: 1 / grades[0])
    with pytest.raises(ParameterError, match=r"metrics: bad must be finite, got inf \(query 2\)"):
        find_metric(bad, "rankings").sums(LISTS)


def test_a_ratio_of_ranked_lists_that_returns_no_pair_is_refused():
    one_number = ek.ratio(name="bad")(lambda grades: 1)
    message = r"must return a pair \(numerator, denominator\) for each query, got int 1"
    with pytest.raises(ParameterError, match=message):
        find_metric(one_number, "rankings").sums(LISTS)


def test_starred_arguments_are_named_by_their_stars_without_annotations():
    def metric(label, *args: int, **options: str) -> None: ...

    assert [*names_of(metric)] == ["label", "*args", "**options"]
