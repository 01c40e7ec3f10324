"""What simulations measured is told where the data are of that kind: a picked leader, few rows, units or queries."""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evalkit.findings.kinds import measured
from evalkit.pages import classes_page, experiment_page, ranking_page, rating_page, significance_page, validation_page
from evalkit.statistics.significance import holm
from evalkit.studies import classification, interleaving, ranking, rating, significance, validation

TRUST = Path(__file__).resolve().parents[1] / "benchmarks" / "trust"


def messages(findings, code):
    return [finding.message for finding in findings if finding.kind.code == code]


def values(systems):
    rng = np.random.default_rng(1)
    return pd.DataFrame({"unit": np.arange(30).astype(str)} | {name: rng.normal(0, 1, 30) for name in systems})


def test_a_leader_of_several_is_told_to_be_picked():
    (text,) = messages(significance_page.every_finding(significance.read(values("abcd"))), "EK414")
    assert "best of 4 systems" in text
    assert measured.LEADER in text
    (text,) = messages(significance_page.every_finding(significance.read(values("abcd"), baseline="b")), "EK414")
    assert "best of 3 candidates" in text
    assert measured.BEST in text


def test_one_of_two_is_not_picked():
    assert not messages(significance_page.every_finding(significance.read(values("ab"))), "EK414")


def test_classes_of_few_rows_are_named():
    label = np.array(["a"] * 30 + ["b"] * 25 + ["c"] * 4)
    table = pd.DataFrame({"id": np.arange(59).astype(str), "label": label, "predicted": np.roll(label, 3)})
    (text,) = messages(classes_page.every_finding(classification.read(table)), "EK123")
    assert "c 4" in text
    assert "b 25" not in text
    assert measured.SMALL_CLASS in text
    many = table[table["label"] != "c"]
    assert not messages(classes_page.every_finding(classification.read(many)), "EK123")


def test_rows_of_few_users_are_told():
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"id": np.arange(90).astype(str), "actual": rng.normal(0, 1, 90), "forecast": 0.0})
    table["user"] = (np.arange(90) % 9).astype(str)
    (text,) = messages(rating_page.every_finding(rating.read(table, unit="user")), "EK201")
    assert text.startswith("Only 9 users")
    assert not messages(rating_page.every_finding(rating.read(table)), "EK201")


def test_few_queries_are_told():
    rng = np.random.default_rng(3)
    rows = [(f"q{q}", f"i{i}", rng.normal(), int(i % 4 == 0)) for q in range(10) for i in range(8)]
    study = ranking.read(pd.DataFrame(rows, columns=["query", "item", "score", "grade"]))
    (text,) = messages(ranking_page.every_finding(study), "EK201")
    assert text.startswith("Only 10 queries")


def test_few_rows_of_several_folds_are_told():
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"label": rng.integers(0, 2, 60), "score": rng.random(60), "fold": np.arange(60) % 5})
    (text,) = messages(validation_page.every_finding(validation.read(table)), "EK520")
    assert text.startswith("60 rows pooled from 5 folds.")
    assert measured.POOLED in text
    assert not messages(
        validation_page.every_finding(validation.read(pd.concat([table] * 170, ignore_index=True))), "EK520"
    )


def test_what_is_declared_is_a_sentence_of_the_pages(monkeypatch):
    monkeypatch.syspath_prepend(str(TRUST))
    import declared

    sentences = {text for text in vars(measured).values() if isinstance(text, str)}
    assert {exception.told for exception in declared.DECLARED} <= sentences
    assert sys.modules["declared"].__file__ == str(TRUST / "declared.py")


@pytest.mark.parametrize(
    "name", ["SMALL_CLASS", "RARE", "HEAVY", "SPARSE", "WHOLE", "ZIPF", "SHOWN", "UNEQUAL", "LEADER", "BEST", "POOLED"]
)
def test_a_sentence_ends_and_has_a_figure(name):
    text = getattr(measured, name)
    assert text.endswith(".")
    assert re.search(r"\d% ", text)


def test_ten_rows_and_a_median_are_told():
    few, many = (rating_page.every_finding(rating.read(forecasts(n))) for n in (10, 30))
    assert messages(few, "EK201") == [
        f"Only 10 rows: intervals and tests depend strongly on the shape of their distribution. {measured.MEDIAN}"
    ]
    assert not messages(many, "EK201")


def forecasts(n):
    rng = np.random.default_rng(1)
    actual = rng.normal(0, 1, n)
    columns = {f"forecast_{name}": actual + rng.normal(0, 1, n) for name in "ab"}
    return pd.DataFrame({"id": np.arange(n).astype(str), "actual": actual} | columns)


def test_medians_of_whole_errors_are_told():
    whole = forecasts(60).round(0)
    (text,) = messages(rating_page.every_finding(rating.read(whole, metrics="mae,median_absolute_error")), "EK416")
    assert "nearly every median_absolute_error" in text
    assert measured.WHOLE in text
    for table, metrics in ((whole, "mae"), (forecasts(60), "median_absolute_error")):
        assert not messages(rating_page.every_finding(rating.read(table, metrics=metrics)), "EK416")


def test_heavy_users_are_told_what_they_do_to_a_mean():
    rng = np.random.default_rng(6)
    for visits, heavy in ((rng.zipf(1.8, 400).clip(max=500), True), (rng.poisson(5, 400), False)):
        users = pd.DataFrame({"user": np.arange(400).astype(str), "arm": np.tile(["a", "b"], 200), "visits": visits})
        (text,) = messages(
            experiment_page.of_users(interleaving.read(users=users, metrics="visits", world="none").users), "EK704"
        )
        assert (measured.ZIPF in text) is heavy


@pytest.mark.parametrize(("rows", "decides", "honest"), [(200, "p", False), (1000, "p_pooled", True)])
def test_the_folds_decide_where_few_rows_are_pooled(rows, decides, honest):
    rng = np.random.default_rng(5)
    label = np.tile(rng.integers(0, 2, rows), 2)
    table = {"label": label, "score": label + rng.normal(0, 1, 2 * rows), "fold": np.tile(np.arange(rows) % 5, 2)}
    table |= {"id": np.tile(np.arange(rows), 2), "model": np.repeat(["a", "b"], rows)}
    study = validation.read(pd.DataFrame(table), metrics="roc_auc")
    assert study.paired["adjusted"].tolist() == pytest.approx(np.clip(holm(study.paired[decides]), 0, 1))
    assert study.paired["p_pooled"].notna().all() == honest
    assert set(study.paired[decides]) <= set(study.comparisons["p"])
    assert study.answer["what"].startswith("pooled") is honest
    first, second = validation_page.paired(study).html.split("<table")[1:]
    assert ("adjusted p" in first, "adjusted p" in second) == (honest, not honest)
