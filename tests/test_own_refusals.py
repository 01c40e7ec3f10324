"""Own metrics that are wrong are refused with their name and the reason."""

import numpy as np
import pytest
from engine_samples import binary
from own_metric_samples import (
    CHANCES,
    forecasts,
    own_brier,
    own_mcc,
    own_recall_at,
    own_wape,
)
from significance_tables import wide

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.catalogue.lookup import find
from evalkit.metrics.rankings import from_grades
from evalkit.metrics.rows import Rows
from evalkit.studies import classification, rating, significance


def fails(label, score):
    raise KeyError("amount")


ROWS = Rows(np.array([1, 0, 1]), np.array([0.9, 0.4, 0.2]))
BAD = {
    "wrong length": (ek.mean(name="bad"), lambda label: label[:2], r"must return one number per row \(3\), got 2"),
    "one number": (ek.mean(name="bad"), lambda label: label.mean(), r"must return one number per row \(3\), got one"),
    "nan": (ek.mean(name="bad"), lambda label: label / label, r"must be a number, got nan \(row 2\); say where"),
    "infinite": (ek.mean(name="bad"), lambda label: 1 / label, r"must be finite, got inf \(row 2\)"),
    "text": (ek.mean(name="bad"), lambda label: ["x", "y", "z"], "must return numbers, got list"),
    "nothing": (ek.mean(name="bad"), lambda label: None, "must return numbers, got NoneType None"),
    "numbers as text": (ek.mean(name="bad"), lambda label: label.astype(str), "must return numbers, got ndarray"),
    "objects": (ek.mean(name="bad"), lambda label: np.array(["1", 2, 3], dtype=object), "must return numbers, got"),
    "complex": (ek.mean(name="bad"), lambda label: label + 1j, "must return numbers, got ndarray"),
    "times": (ek.mean(name="bad"), lambda label: label.astype("m8[D]"), "must return numbers, got ndarray"),
    "masked": (ek.mean(name="bad"), lambda label: np.ma.masked_equal(label, 0), r"must be a number, got nan \(row 2\)"),
    "exception": (ek.mean(name="bad"), fails, "raised KeyError: 'amount'"),
    "changes its input": (ek.mean(name="bad"), lambda score: score.sort(), "raised ValueError: .*read-only"),
    "out of range": (
        ek.mean(name="bad", low=0, high=1),
        lambda score: score + 1,
        r"must be within 0 and 1, .* got 1.9",
    ),
    "no pair": (ek.ratio(name="bad"), lambda label: label, r"must return a pair \(numerator, denominator\)"),
    "pair of numbers": (ek.ratio(name="bad"), lambda label: (1, 2), "must return a pair .* per row .3., got one"),
    "no rate": (ek.of_counts(name="bad"), lambda tp, fp, fn, tn: fp, "must be a rate.*got 0 and 0|must be a rate"),
    "counts nan": (ek.of_counts(name="bad"), lambda fp, tn: fp / (fp * 0), "must be a number, got nan"),
    "no number": (ek.of_counts(name="bad"), lambda tp: "x", "must return one number, got str 'x'"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_result_is_refused_with_name_and_reason(case):
    declare, function, message = BAD[case]
    rows = Rows(np.array([1, 0, 1]), np.array([0.9, 0.8, 0.2])) if case == "no rate" else ROWS
    with pytest.raises(ParameterError, match=f"^metrics: bad ({message})"):
        find(declare(function), "counts").value(rows)


DECLARED = {
    "unknown argument": (ek.of_counts(), lambda tp, positives: 1, "name must be a word"),
    "counts": (ek.of_counts(name="bad"), lambda tp, positives: 1, "must be of: tp, fp, fn, tn; got positives"),
    "star": (ek.mean(name="bad"), lambda *columns: 1, r"must be of: columns of numbers; got \*columns"),
    "nothing at all": (ek.mean(name="bad"), lambda: 1, "must be of: columns of numbers; got none"),
    "range": (ek.mean(name="bad", low=1, high=0), lambda label: 1, "low must be below high, got 1 and 0"),
    "share of numbers": (ek.share(name="bad"), lambda label, predicted: (label, 0.5 * label), "pair of booleans"),
    "not a function": (ek.mean(name="bad"), 7, "must be a function, got int 7"),
}


@pytest.mark.parametrize("case", DECLARED)
def test_what_cannot_be_declared(case):
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
def test_what_declares_nothing(declare, message):
    with pytest.raises(ParameterError, match=message):
        declare()


def test_what_cannot_join_a_report():
    with pytest.raises(
        ParameterError,
        match=r"own_recall_at takes grades, ideal, level, which are not the arguments of .* Rating",
    ):
        rating.read(forecasts(), metrics=[own_recall_at])
    with pytest.raises(ParameterError, match=r"must be names, or functions declared by ek.mean.* got 'fails'"):
        rating.read(forecasts(), metrics=["mae", fails])
    with pytest.raises(ParameterError, match="brier is a metric of the catalogue; give yours another name"):
        find(ek.mean(name="brier")(lambda label, score: score), "counts")
    twin = [ek.mean(name="twice")(lambda label, score, c=c: c * score) for c in (1, 2)]
    with pytest.raises(ParameterError, match="two metrics are called twice"):
        classification.read(binary(100), metrics=twin)
    with pytest.raises(ParameterError, match="own_brier has no cut-off"):
        find(own_brier.at(3), "counts")
    with pytest.raises(ParameterError, match=r"own_wape.* has nothing to be computed from, preds holds a wide table"):
        significance.read(wide(), metrics=[own_wape])
    with pytest.raises(ParameterError, match="for single rows there are"):
        significance.read(CHANCES, metrics=[own_mcc])


def test_lists_are_refused_by_query():
    lists = from_grades([[1, 0], [0, 1], [1, 1]])
    bad = ek.mean(name="bad")(lambda grades, ideal: 1 / grades[0])
    with pytest.raises(ParameterError, match=r"metrics: bad must be finite, got inf \(query 2\)"):
        find(bad, "rankings").sums(lists)
    pair = ek.ratio(name="bad")(lambda grades: 1)
    with pytest.raises(
        ParameterError, match=r"must return a pair \(numerator, denominator\) for each query, got int 1"
    ):
        find(pair, "rankings").sums(lists)
