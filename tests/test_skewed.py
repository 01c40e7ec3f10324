"""The finding about skewed differences stands on every page that flips signs, with the level that was measured."""

import numpy as np
import pandas as pd
import pytest

from evalkit.pages import binary_page, rating_page, significance_page
from evalkit.studies import classification, diagnostics, rating, significance

N = 60


def rare(n=N):
    """Differences most of which are small losses, few of them large gains."""
    return np.where(np.arange(n) % 20 == 0, 5.0, -0.2) + np.linspace(0, 0.01, n)


def by_rating():
    actual = np.linspace(0, 9, N)
    table = {
        "id": np.arange(N).astype(str),
        "actual": actual,
        "forecast_a": actual + 6 - rare(),
        "forecast_b": actual + 6,
    }
    return rating.read(pd.DataFrame(table), metrics="mae,rmse"), rating_page.every_finding


def by_values():
    return significance.read(
        pd.DataFrame({"unit": np.arange(N).astype(str), "a": 6 + rare(), "b": 6.0})
    ), significance_page.every_finding


def by_loss():
    b = np.linspace(0.3, 0.7, N)
    table = {"id": np.arange(N).astype(str), "y_true": np.arange(N) % 2, "score_a": b, "score_b": b}
    table["score_a"] = np.where(np.arange(N) == 0, 0.999, b + 0.01 * (np.arange(N) % 2))
    return classification.read(pd.DataFrame(table), metrics="log_loss"), binary_page.every_finding


@pytest.mark.parametrize("read", [by_rating, by_values, by_loss])
def test_skewed_differences_are_told_on_every_page_that_flips_signs(read):
    study, findings = read()
    skew = diagnostics.skew(study)
    assert skew.units == N < skew.wanted
    (text,) = [finding.message for finding in findings(study) if finding.kind.code == "EK402"]
    assert "a 5% test rejected" in text
    assert skew.metric in text


def test_symmetric_differences_and_other_tests_are_not_told():
    units = np.arange(N).astype(str)
    even = significance.read(pd.DataFrame({"unit": units, "a": np.linspace(0, 2, N), "b": 1.0}))
    assert diagnostics.skew(even) is None
    label = np.arange(N) % 2
    table = pd.DataFrame({"id": units, "y_true": label, "score_a": label * 0.3 + 0.3, "score_b": 0.5 + 0.001 * label})
    assert diagnostics.skew(classification.read(table, metrics="roc_auc,accuracy")) is None
