"""A figure that is asked for twice is drawn twice and computed once."""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit.metrics.distributions import Distribution
from evalkit.statistics import inference, signflip
from evalkit.studies import rating, score_curves

SLOW_FUNCTIONS = (
    (Distribution, "sizes"),
    (inference, "compare"),
    (inference, "estimate"),
    (score_curves, "band"),
    (score_curves, "points"),
    (signflip, "ranges"),
)
REPORTS = ("classification", "interleaving", "ranking", "rating", "significance", "validation")


@pytest.fixture
def calls_of_slow_functions(monkeypatch):
    """How often each function was called that takes long on many rows."""
    found = Counter()

    def counting(name, function):
        def counted(*args, **named):
            found[name] += 1
            return function(*args, **named)

        return counted

    for owner, name in SLOW_FUNCTIONS:
        monkeypatch.setattr(owner, name, counting(name, getattr(owner, name)))
    return found


@pytest.fixture(scope="module")
def studies():
    """The studies of the bundled samples that tests asked for."""
    return {}


@pytest.mark.parametrize("report", REPORTS)
def test_a_summary_that_is_printed_again_computes_nothing_again(
    report, studies, calls_of_slow_functions
):
    study = studies.setdefault(report, getattr(ek, report)())
    study.summary()
    calls_of_slow_functions.clear()
    study.summary()
    assert not calls_of_slow_functions


@pytest.mark.parametrize("report", REPORTS)
def test_a_figure_that_is_drawn_again_computes_nothing_again(
    report, studies, calls_of_slow_functions
):
    study = studies.setdefault(report, getattr(ek, report)())
    computed_again = {}
    for name in dir(study.plot):
        try:
            getattr(study.plot, name)()
        except ek.InputError:  # this study has no such figure
            continue
        calls_of_slow_functions.clear()
        getattr(study.plot, name)()
        if calls_of_slow_functions:
            computed_again[name] = dict(calls_of_slow_functions)
        plt.close("all")
    assert not computed_again


def test_both_pictures_of_a_curve_share_its_points(calls_of_slow_functions):
    """The figure has a ROC curve and a precision-recall curve of each system. When it is drawn
    again, their points are not computed again.
    """
    study = ek.classification(metrics="roc_auc")
    study.plot.roc()
    study.plot.roc()
    plt.close("all")
    assert calls_of_slow_functions["points"] == 2 * len(study.systems)


def test_a_constant_forecast_is_measured_once(monkeypatch):
    """A summary compares systems with the best constant forecast, here by a median."""
    rng = np.random.default_rng(1)
    actual = rng.gamma(2.0, 1.0, 300)
    table = pd.DataFrame({"actual": actual, "forecast": actual + rng.normal(0, 0.5, 300)})
    study = ek.rating(table, metrics="median_absolute_error")
    study.summary()
    calls = []
    # from here on a call is recorded and returns nothing
    monkeypatch.setattr(
        rating.score_kinds.Median, "estimate", lambda *args, **named: calls.append(args)
    )
    study.summary()
    assert not calls
