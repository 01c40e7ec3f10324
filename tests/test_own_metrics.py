"""Own metrics: they equal the catalogue's where they say the same, join every report; bad ones are
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
from engine_samples import SMALL as TWICE, binary, classified
from online_samples import SMALL, log, users
from own_metric_samples import (
    CHANCES,
    forecasts,
    own_alarms,
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
from evalkit.pages import binary_page, classification_page, ranking_page
from evalkit.studies import classification, interleaving, ranking, rating, significance, validation

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = json.loads((ROOT / "evalkit" / "schema.json").read_text(encoding="utf-8"))
NUMBERS = ["value", "low", "high"]
TESTS = ["difference", "low", "high", "p", "verdict"]


def pairs(study, own, known, columns, frame="estimates"):
    """Two metrics' rows of a frame, side by side."""
    rows = getattr(study, frame)
    return rows.loc[rows["metric"] == own, columns], rows.loc[rows["metric"] == known, columns]


def same(study, own, known):
    """The same value, interval and test, to the last bit."""
    for columns, table in ((NUMBERS, "estimates"), (TESTS, "comparisons")):
        first, second = pairs(study, own, known, columns, table)
        pd.testing.assert_frame_equal(
            first.reset_index(drop=True), second.reset_index(drop=True), rtol=1e-12
        )


LAYOUTS = {
    "plain": {},
    "weights": {"columns": "{weight: exact}"},
    "units": {"unit": "user_id"},
    "weighted units": {"unit": "user_id", "columns": "{weight: exact}"},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_own_metric_has_interval_and_test_of_its_kind(layout):
    known = {"brier": own_brier, "recall": own_recall, "precision": own_precision, "mcc": own_mcc}
    study = classification.read(
        binary(400, units=60), metrics=[*known, *known.values()], **LAYOUTS[layout]
    )
    for name, own in known.items():
        same(study, own.name, name)
    same(
        rating.read(forecasts(), metrics=[own_wape, "wape"], **LAYOUTS[layout]), "own_wape", "wape"
    )


def test_what_needs_rows_in_memory_is_refused_of_a_large_table():
    why = (
        "metrics: saved is computed from the column amount, which needs all rows in memory, got "
        "3,000 rows"
    )
    with pytest.raises(ParameterError, match=why):
        classified(binary().assign(amount=1.0), TWICE, metrics=[saved])
    for declare, side in (
        (ek.mean, lambda values: values),
        (ek.ratio, lambda values: (values, values)),
    ):
        part = declare(name="part", undefined="negative")(
            lambda label, score, s=side: s(np.where(label, score, np.nan))
        )
        with pytest.raises(
            ParameterError, match="metrics: part leaves rows out, which needs all rows in memory"
        ):
            classified(binary(), TWICE, metrics=[part])


def test_without_segments_no_pair_is_compared_by_slice():
    @ek.mean(best="low", undefined="the score is above a half")
    def part(label, score):
        return np.where(score > 0.5, np.nan, np.abs(label - score))

    a = np.linspace(0.1, 0.9, 8)
    scores = {"a": a, "b": (1 - a) ** 1.1}
    study = ek.classification(y_true=[0, 1] * 4, y_score=scores, metrics=[part])
    assert not len(study.by_segment)  # the two systems have no row in common
    with pytest.raises(InputError, match="at least one unit"):
        _ = study.comparisons


def test_of_ranked_lists_it_takes_a_cut_off_and_units():
    names = ["own_recall_at@10", "recall@10", "own_hits", "hit_ratio"]
    study = ranking.read(
        metrics=[own_recall_at.at(10), "recall@10", own_hits, "hit_ratio"], unit="digit"
    )
    assert [chosen.label for chosen in study.settings.metrics] == names
    same(study, *names[:2])
    same(study, *names[2:])


def test_of_ranked_lists_less_may_be_better_query_by_query_too():
    found = ek.mean(name="found", low=0, high=1)(
        lambda grades, ideal, level: np.mean(grades >= level)
    )
    missed = ek.mean(name="missed", best="low", low=0, high=1)(
        lambda grades, ideal, level: np.mean(~(grades >= level))
    )
    more, less = (ranking.read(metrics=[metric]) for metric in (found.at(10), missed.at(10)))
    captions = [ranking_page.queries(study).alt for study in (more, less)]
    sides = re.compile(r"sorted. (.* better) .green., (.* equal), (.* worse) .orange.")
    told = [sides.search(caption).groups() for caption in captions]
    assert told[0] == told[1]
    assert more.opponents == less.opponents
    one = [
        ranking.read(metrics=[metric], systems=[more.leader])
        for metric in (found.at(10), missed.at(10))
    ]
    assert one[0].extremes()["query"].tolist() == one[1].extremes()["query"].tolist()
    assert one[0].most_different(9)["query"].tolist() == one[1].most_different(9)["query"].tolist()
    ends = [ranking_page.extremes(study).text.splitlines()[0] for study in one]
    assert ["lowest found" in ends[0], "highest missed" in ends[1]] == [True, True]


def test_of_interleaved_users_and_of_single_rows():
    @ek.mean(undefined="no credit")
    def own_share(credit, whole):
        return credit / whole

    online = interleaving.read(log(), preference=[own_share, "user_share"], **SMALL)
    same(online.log, "own_share", "user_share")
    rich = ek.mean(name="rich")(lambda orders, visits: orders * (visits > 1))
    per_visit = ek.ratio(name="per_visit")(lambda orders, visits: (orders, visits))
    both = interleaving.read(
        users=users(), metrics=[per_visit, "orders/visits", rich], **SMALL
    ).users
    same(both, "per_visit", "orders/visits")
    assert both.estimate(both.settings.metrics[2], "a").value == 1.0
    study = significance.read(CHANCES, metrics=[own_brier, "brier"])
    same(study, "own_brier", "brier")


def test_several_classes_several_labels_and_folds():
    @ek.mean()
    def right(actual, predicted):
        return (actual == predicted).reshape(len(actual), -1).all(axis=1)

    classes = classification.read("data/penguins/predictions.csv", metrics=[right, "accuracy"])
    first, second = pairs(classes, "right", "accuracy", NUMBERS)
    assert np.allclose(first, second)
    several = classification.read(
        "data/digit_traits/predictions.csv", metrics=[right, "exact_match"]
    )
    first, second = pairs(several, "right", "exact_match", ["value"])
    assert first["value"].tolist() == pytest.approx(second["value"].tolist())
    study = validation.read(metrics=[own_brier, "brier"])
    assert np.array_equal(*pairs(study, "own_brier", "brier", NUMBERS))


def test_further_columns_are_numbers_of_the_input():
    table = binary(200).assign(amount=np.linspace(0, 5, 200))
    study = classification.read(table, metrics=[saved, "accuracy"], segments="country")
    predicted = table["score_good"] >= 0.5
    by_hand = (table["amount"] * table["label"] * predicted - predicted).mean()
    assert study.estimate(study.primary, "good").value == pytest.approx(by_hand, rel=1e-12)
    assert study.by_segment["value"].notna().all()
    table.loc[6, "country"] = "much"
    of_text = ek.mean(name="of_text")(lambda label, country: country)
    with pytest.raises(InputError, match="country must be a number, got '"):
        classification.read(table, metrics=[of_text])
    with pytest.raises(ParameterError, match="has no column 'amount'"):
        classification.read(binary(200), metrics=[saved])
    with pytest.raises(
        ParameterError, match="saved needs the column 'amount', which this report does not read"
    ):
        validation.read(metrics=[saved])


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


def test_a_file_of_metrics_is_named_in_the_parameters_and_stands_in_the_provenance(own_file):
    from evalkit.pages import rating_page

    study = rating.read(forecasts(), metrics=f"mae,{own_file}:overshoot")
    digest = hashlib.sha256(own_file.read_bytes()).hexdigest()
    assert (
        f"own metric overshoot: my_metrics.py, SHA-256 {digest}" in rating_page.origin(study).text
    )
    assert (
        "Mean of forecast − actual where that is above 0. Equals: none, an own metric of "
        "my_metrics.py." in (rating_page.definitions(study).text)
    )
    results = json.loads(
        json.dumps(rating_page.results(study)._repr_mimebundle_()["application/vnd.evalkit+json"])
    )
    jsonschema.validate(results, SCHEMA)
    assert results["metrics"][1]["sha256"] == digest
    assert (
        rating.read(forecasts(), metrics=f"{own_file}:overshoot").primary
        == study.settings.metrics[1]
    )


def test_a_metric_declared_in_python_is_on_the_page_as_plain_text():
    study = classification.read(
        binary(200).assign(amount=1.0), metrics=["roc_auc", saved], segments="country"
    )
    assert "Money saved per case &lt;b&gt;: the amount" in binary_page.definitions(study).html
    assert "own metric saved: declared in Python, no file" in classification_page.origin(study).text
    metrics = [own_brier, "brier", saved, own_errors, "error_rate", own_alarms]
    several = classification.read(binary(211).assign(amount=2.0), metrics=metrics)
    (table,) = classification_page.estimates(several).tables
    heads = [head.text.rstrip("\u00a0↑↓") for head in table.columns[1:]]
    assert heads == ["own_brier", "brier", "saved", "own_errors", "error_rate", "own_alarms"]
    assert table.rows[-1][0].text == "(a constant)"
    constant = dict(zip(heads, [cell.text for cell in table.rows[-1][1:]], strict=True))
    assert constant["own_brier"] == constant["brier"]
    assert constant["own_errors"] == constant["error_rate"]
    lists = ranking.read(metrics=[own_recall_at.at(5)])
    assert "Undefined where nothing is relevant" in ranking_page.definitions(lists).text


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
    path = tmp_path / "own.py"
    path.write_text(AT_LEAST + called, encoding="utf-8")
    chosen = find_metric(f"{path}:large", "forecasts")
    rows = Rows(np.array([1.0, 2.0]), np.array([1.0, 5.0]))
    assert (chosen.label, chosen.value(rows)) == ("large", 0.5)


def test_a_function_that_assigns_to_a_global_of_its_file_leaves_its_metrics(tmp_path):
    source = (
        f"{SOURCE}\ndef f(y_true, y_pred):\n    global overshoot\n    overshoot = 1\n    return 0"
    )
    path = tmp_path / "own.py"
    path.write_text(source, encoding="utf-8")
    find_metric(f"{path}:f", "forecasts").value(Rows(np.array([1.0]), np.array([1.0])))
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


def test_the_examples_of_the_docs_are_metrics():
    text = (ROOT / "docs" / "own_metrics.md").read_text(encoding="utf-8")
    code = [block.split("```")[0] for block in text.split("```python\n")[1:]]
    variables: dict = {"np": np}
    for block in code:
        if "@ek" in block:
            exec(block, variables)
    rows = Rows(
        np.array([1, 0, 1, 0]),
        np.array([0.9, 0.8, 0.2, 0.1]),
        columns={"amount": np.array([50.0, 1, 1, 1])},
    )
    names = ("money_saved", "cost_per_alarm", "alarms_in_vain", "cost")
    assert [find_metric(variables[name], "counts").value(rows) for name in names] == [
        7.5,
        2.5,
        0.5,
        1.5,
    ]
    lists = from_grades([[1, 0], [0, 1]])
    assert find_metric(variables["found_early"].at(1), "rankings").sums(lists).value == 0.5


# Coverage -----------------------------------------------------------------------------------------


def fails(label, score):
    raise KeyError("amount")


ROWS = Rows(np.array([1, 0, 1]), np.array([0.9, 0.4, 0.2]))
BAD = {
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


@pytest.mark.parametrize("case", BAD)
def test_a_bad_result_is_refused_with_name_and_reason(case):
    declare, function, message = BAD[case]
    rows = Rows(np.array([1, 0, 1]), np.array([0.9, 0.8, 0.2])) if case == "no rate" else ROWS
    with pytest.raises(ParameterError, match=f"^metrics: bad ({message})"):
        find_metric(declare(function), "counts").value(rows)


DECLARED = {
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


@pytest.mark.parametrize("case", DECLARED)
def test_a_metric_that_cannot_be_declared_is_refused_by_reason(case):
    declare, function, message = DECLARED[case]
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


def test_a_metric_of_many_rows_has_no_values_of_single_rows():
    with pytest.raises(ParameterError, match="for single rows there are"):
        significance.read(CHANCES, metrics=[own_mcc])


def test_lists_are_refused_by_query():
    lists = from_grades([[1, 0], [0, 1], [1, 1]])
    bad = ek.mean(name="bad")(lambda grades, ideal: 1 / grades[0])
    with pytest.raises(ParameterError, match=r"metrics: bad must be finite, got inf \(query 2\)"):
        find_metric(bad, "rankings").sums(lists)
    pair = ek.ratio(name="bad")(lambda grades: 1)
    with pytest.raises(
        ParameterError,
        match=r"must return a pair \(numerator, denominator\) for each query, got int 1",
    ):
        find_metric(pair, "rankings").sums(lists)


def test_starred_arguments_are_named_by_their_stars_without_annotations():
    def metric(label, *args: int, **options: str) -> None: ...

    assert [*names_of(metric)] == ["label", "*args", "**options"]
