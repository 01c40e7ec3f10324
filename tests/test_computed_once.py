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

COMPUTED = (
    (Distribution, "sizes"),
    (inference, "compare"),
    (inference, "estimate"),
    (score_curves, "band"),
    (score_curves, "points"),
    (signflip, "ranges"),
)
REPORTS = ("classification", "interleaving", "ranking", "rating", "significance", "validation")


@pytest.fixture
def calls(monkeypatch):
    """How often each function was called that takes long on many rows."""
    found = Counter()

    def counting(name, function):
        def counted(*args, **named):
            found[name] += 1
            return function(*args, **named)

        return counted

    for owner, name in COMPUTED:
        monkeypatch.setattr(owner, name, counting(name, getattr(owner, name)))
    return found


@pytest.fixture(scope="module")
def studies():
    """The studies of the bundled samples that tests asked for."""
    return {}


@pytest.mark.parametrize("report", REPORTS)
def test_a_summary(report, studies, calls):
    study = studies.setdefault(report, getattr(ek, report)())
    study.summary()
    calls.clear()
    study.summary()
    assert not calls


@pytest.mark.parametrize("report", REPORTS)
def test_figures(report, studies, calls):
    study = studies.setdefault(report, getattr(ek, report)())
    again = {}
    for name in dir(study.plot):
        try:
            getattr(study.plot, name)()
        except ek.InputError:  # this study has no such figure
            continue
        calls.clear()
        getattr(study.plot, name)()
        again |= {name: dict(calls)} if calls else {}
        plt.close("all")
    assert not again


def test_both_pictures_of_a_curve_share_its_points(calls):
    study = ek.classification(metrics="roc_auc")
    study.plot.roc()
    study.plot.roc()
    plt.close("all")
    kinds = ("roc", "pr")
    assert calls["points"] == len(kinds) * len(study.systems)


def test_a_constant_forecast_is_measured_once(monkeypatch):
    g = np.random.default_rng(1)
    actual = g.gamma(2.0, 1.0, 300)
    preds = pd.DataFrame({"actual": actual, "forecast": actual + g.normal(0, 0.5, 300)})
    study = ek.rating(preds, metrics="median_absolute_error")
    study.summary()
    measured = []
    monkeypatch.setattr(rating.score_kinds.Median, "estimate", lambda *a, **k: measured.append(a))
    study.summary()
    assert not measured
