"""Binary tables that are read twice and never kept: the numbers of memory."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from large_tables import CASES, LESS, METRICS, SMALL, classified, frame, limited, long, text

from evalkit.arrays import ParameterError
from evalkit.catalogue import row_metrics
from evalkit.limits import Limits, Reading
from evalkit.metrics import influence
from evalkit.studies import classification
from evalkit.studies.classification import binned

LAYOUTS = {"wide": frame, "long": lambda: long(frame())}


T = replace(LESS, flipped=1)  # the methods of many rows or units: t in place of sign flips, delta of the jackknife


def both(data, limits=T, **given):
    """The study in memory and the one from sums, with the methods of many units."""
    kept = classification.read(data, **given)
    reduced = classified(data, SMALL, **given)
    assert kept.data is not None
    assert reduced.data is None
    return limited(kept, limits), limited(reduced, limits)


def same_estimates(kept, reduced):
    """Values to rounding, limits too but those that allow for the choice of a threshold, which sums do not."""
    a, b = kept.estimates, reduced.estimates
    assert a[["metric", "system"]].equals(b[["metric", "system"]])
    np.testing.assert_allclose(b["value"], a["value"], rtol=1e-10, atol=1e-12)
    chosen = [metric.label for metric in kept.decision_metrics if kept.rechosen]
    a, b = (frame[~frame["metric"].isin(chosen)] for frame in (a, b))
    assert a["n"].equals(b["n"])
    for one, other in zip(a.to_dict("records"), b.to_dict("records"), strict=True):
        assert [other["low"], other["high"]] == pytest.approx(
            [one["low"], one["high"]], rel=1e-8, abs=1e-9, nan_ok=True
        ), one


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_estimates_are_those_of_memory(case, layout):
    kept, reduced = both(LAYOUTS[layout](), metrics=METRICS, threshold=0.4, **CASES[case])
    same_estimates(kept, reduced)
    for name in kept.order:
        a, b = kept.table(name), reduced.table(name)
        assert np.array_equal(a.threshold, b.threshold)
        if "exact" not in str(CASES[case]):
            assert np.array_equal(a.tp, b.tp)
            assert np.array_equal(a.fp, b.fp)


@cache
def compared_in_memory(layout, case):
    """The comparisons of memory, for both ways to know the units."""
    study = classification.read(LAYOUTS[layout](), metrics=METRICS, threshold=0.4, **CASES[case])
    return limited(study, Limits(flipped=1)).comparisons


@pytest.mark.parametrize("case", [name for name in CASES if name != "one system"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("known", [0, 2**14], ids=["units sorted", "units known"])
def test_comparisons_are_those_of_memory(case, layout, known):
    kept = compared_in_memory(layout, case)
    limits = Limits(reading=replace(SMALL.reading, units=known))
    reduced = classified(LAYOUTS[layout](), limits, metrics=METRICS, threshold=0.4, **CASES[case])
    assert reduced.data is None
    plain = case == "plain"
    for one, other in zip(kept.to_dict("records"), reduced.comparisons.to_dict("records"), strict=True):
        assert other["difference"] == pytest.approx(one["difference"], rel=1e-8, abs=1e-12)
        resampled = plain and "bootstrap" in one["method"]
        assert [other["low"], other["high"]] == pytest.approx(
            [one["low"], one["high"]], abs=0.1 * (one["high"] - one["low"]) if resampled else 1e-9
        ), one
        assert other["n"] == one["n"]


@pytest.mark.parametrize("case", CASES)
def test_segments_are_those_of_memory(case):
    for metric in ("roc_auc", "brier", "accuracy"):
        given = CASES[case] | {"segments": "country,age", "metrics": metric}
        kept, reduced = both(frame(), T, **given)
        a, b = kept.by_segment, reduced.by_segment
        assert a[["segment", "slice", "system", "n"]].equals(b[["segment", "slice", "system", "n"]])
        numbers = [name for name in a.columns if a[name].dtype == float]
        np.testing.assert_allclose(b[numbers], a[numbers], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_estimates_are_the_same_bits_whatever_the_number_of_threads(case):
    alone, together = (
        classified(frame(), SMALL, metrics=METRICS, threshold="best_f1", threads=threads, **CASES[case]).estimates
        for threads in (1, 4)
    )
    pd.testing.assert_frame_equal(alone, together, check_exact=True)


@pytest.mark.parametrize("threshold", ["best_f1", "cost:fp=1,fn=5", "recall>=0.9", "0.3333"])
def test_thresholds_and_decisions_are_those_of_memory(threshold):
    kept, reduced = both(frame(), threshold=threshold)
    pd.testing.assert_frame_equal(kept.decisions, reduced.decisions)
    pd.testing.assert_frame_equal(kept.choices, reduced.choices)
    pd.testing.assert_frame_equal(kept.calibration, reduced.calibration)
    pd.testing.assert_frame_equal(kept.gains, reduced.gains)
    assert kept.wrong == reduced.wrong


@pytest.mark.parametrize("given", [{}, {"columns": "{weight: exact}"}, {"segments": "country"}], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_metrics_within_units_are_those_of_memory(layout, given):
    kept, reduced = (
        study_of(LAYOUTS[layout](), metrics="gauc,gauc_positives,roc_auc", unit="user_id", **given)
        for study_of in (classification.read, lambda data, **more: classified(data, SMALL, **more))
    )
    same_estimates(kept, reduced)
    for a, b in ((kept.comparisons, reduced.comparisons), (kept.by_segment, reduced.by_segment)):
        within = a["metric"] != "roc_auc" if "metric" in a else np.full(len(a), fill_value=True)
        numbers = [name for name in a.columns if a[name].dtype == float]
        np.testing.assert_allclose(b.loc[within, numbers], a.loc[within, numbers], rtol=1e-9, atol=1e-12)
    assert kept.constant(kept.primary) == reduced.constant(reduced.primary)


def test_too_many_units_to_rank_rows_within_are_refused(monkeypatch):
    monkeypatch.setattr(classification, "UNITS", 200)
    with pytest.raises(ParameterError, match="gauc needs the value of each user_id, of 200 at most, got 300"):
        classified(frame(), SMALL, metrics="gauc", unit="user_id")


EDGES = {
    "one class": (lambda d: d.assign(label=1), {}),
    "one class by unit": (lambda d: d.assign(label=0), {"unit": "user_id"}),
    "constant score": (lambda d: d.assign(score_good=0.5), {"unit": "user_id"}),
    "equal systems": (lambda d: d.assign(score_weak=d["score_good"]), {}),
    "no threshold": (lambda d: d, {"threshold": "precision>=0.99999"}),
    "one unit": (lambda d: d.assign(user_id="u"), {"unit": "user_id"}),
    "booleans": (lambda d: d.assign(label=d["label"].astype(bool)), {}),
    "texts": (lambda d: d.assign(label=d["label"].map({0: "it's", 1: "not"})), {"positive": "it's"}),
    "logits": (lambda d: d.assign(score_good=np.log(d["score_good"] + 0.01)), {}),
}


@pytest.mark.parametrize("case", EDGES)
def test_edges_are_those_of_memory(case):
    change, given = EDGES[case]
    kept, reduced = both(change(frame(1500)), T, metrics="roc_auc,average_precision,f1,recall,accuracy", **given)
    same_estimates(kept, reduced)
    a, b = kept.comparisons, reduced.comparisons
    np.testing.assert_allclose(b["difference"], a["difference"], atol=1e-12)
    if not kept.rechosen:
        assert a["verdict"].tolist() == b["verdict"].tolist()
    assert text(kept).splitlines()[:4] == text(reduced).splitlines()[:4]


def test_rows_that_another_system_lacks():
    data = long(frame()).iloc[:-40]
    kept, reduced = both(data, metrics="roc_auc,f1")
    same_estimates(kept, reduced)
    assert vars(kept.account) == vars(reduced.account)
    assert kept.positives == reduced.positives


UNBOUNDED = {"pr_auc_trapezoid", "ece_10", "miscalibration"}


def test_binned_scores_stay_within_their_bound_and_near_the_intervals_of_memory():
    data = frame(20_000, ties=12)
    metrics = ",".join(name for name in row_metrics.COUNTS if not name.startswith("gauc"))
    kept = limited(classification.read(data, metrics=metrics, threshold=0.4))
    reduced = classified(data, replace(LESS, bins=2_000, reading=Reading(rows=100)), metrics=metrics, threshold=0.4)
    a, b = (one.estimates.set_index(["system", "metric"])["value"] for one in (kept, reduced))
    for name, changes in binned(reduced).items():
        assert influence.auc_variance(reduced.table(name)) == pytest.approx(
            influence.auc_variance(kept.table(name)), rel=1e-3
        )
        moved = (a[name] - b[name]).abs()
        assert moved.drop(list(changes)).max() < 1e-12
        assert {metric for metric, change in changes.items() if np.isnan(change)} == UNBOUNDED
        assert all(0 < moved[metric] <= change <= 0.01 for metric, change in changes.items() if metric not in UNBOUNDED)
    pd.testing.assert_frame_equal(kept.decisions, reduced.decisions)
    parts = (kept.calibration["value"] - reduced.calibration["value"]).abs()
    assert parts.max() < 1e-3


CLOSED = (
    "average_precision",
    "ks",
    "f1",
    "f2",
    "mcc",
    "balanced_accuracy",
    "lift",
    "partial_auc_mcclish_10",
    "brier_skill",
)


@pytest.fixture(scope="module")
def methods():
    """The same metrics of rows in memory, and of rows that are read twice."""
    data = frame(3_000, seed=21, ties=2).drop(columns="score_weak")
    return [study.estimates.set_index("metric") for study in both(data, metrics=",".join(CLOSED))]


@pytest.mark.parametrize("metric", CLOSED)
def test_the_interval_does_not_depend_on_how_the_rows_are_read(methods, metric):
    kept, reduced = (one.loc[metric] for one in methods)
    assert reduced["method"] == kept["method"]
    assert [reduced["low"], reduced["high"]] == pytest.approx([kept["low"], kept["high"]], abs=1e-9)
    assert kept["low"] < kept["value"] < kept["high"]
