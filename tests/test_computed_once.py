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
    (signflip, "null_mean_ranges"),
)
REPORTS = ("classification", "interleaving", "ranking", "rating", "significance", "validation")


@pytest.fixture
def number_of_calls_of_slow_functions(monkeypatch):
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
def studies_by_report():
    """The studies of the bundled samples that tests asked for."""
    return {}


def study_of_sample(report, studies_by_report):
    """The study of the bundled sample of a report, which is made once and kept for other tests."""
    if report not in studies_by_report:
        read = getattr(ek, report)
        studies_by_report[report] = read()
    return studies_by_report[report]


@pytest.mark.parametrize("report", REPORTS)
def test_a_summary_that_is_printed_again_computes_nothing_again(
    report, studies_by_report, number_of_calls_of_slow_functions
):
    """Functions that take long on many rows, such as those of intervals, count their calls. After a
    first summary of the study of a bundled sample, a second one calls none of them.
    """
    study = study_of_sample(report, studies_by_report)
    study.summary()
    number_of_calls_of_slow_functions.clear()
    study.summary()
    assert not number_of_calls_of_slow_functions


@pytest.mark.parametrize("report", REPORTS)
def test_a_figure_that_is_drawn_again_computes_nothing_again(
    report, studies_by_report, number_of_calls_of_slow_functions
):
    """Each figure of the study of a bundled sample is drawn twice. Functions that take long on many
    rows, such as those of intervals, count their calls: the second drawing calls none of them, as
    the study keeps their results.
    """
    study = study_of_sample(report, studies_by_report)
    computed_again = {}

    def draw_figure(name):
        getattr(study.plot, name)()

    for name in dir(study.plot):
        try:
            draw_figure(name)
        except ek.InputError:  # this study has no such figure
            continue
        number_of_calls_of_slow_functions.clear()
        draw_figure(name)
        if number_of_calls_of_slow_functions:
            computed_again[name] = dict(number_of_calls_of_slow_functions)
        plt.close("all")
    assert not computed_again


def test_both_pictures_of_a_curve_share_its_points(number_of_calls_of_slow_functions):
    """The figure has a ROC curve and a precision-recall curve of each system. When it is drawn
    again, their points are not computed again.
    """
    study = ek.classification(metrics="roc_auc")
    study.plot.roc()
    study.plot.roc()
    plt.close("all")
    assert number_of_calls_of_slow_functions["points"] == 2 * len(study.systems)


def test_a_constant_forecast_is_measured_once(monkeypatch):
    """A summary compares systems with the best constant forecast. By the metric
    median_absolute_error, `Median.estimate` measures it, which takes long on many rows. It is
    replaced by a function that records its calls: after a first summary a second one makes none.
    """
    rng = np.random.default_rng(1)
    actual = rng.gamma(2.0, 1.0, 300)
    table = pd.DataFrame({"actual": actual, "forecast": actual + rng.normal(0, 0.5, 300)})
    study = ek.rating(table, metrics="median_absolute_error")
    study.summary()
    calls = []

    def record_call(*arguments, **named_arguments):
        calls.append(arguments)

    monkeypatch.setattr(rating.score_kinds.Median, "estimate", record_call)
    study.summary()
    assert not calls
