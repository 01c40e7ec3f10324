"""Closed forms for metrics of scores: by hand, by published examples, in range, and as often right as they say."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import ANY_TIME, compare, estimate

from evalkit.catalogue import lookup, row_metrics
from evalkit.catalogue.metric import Chosen
from evalkit.catalogue.score_kinds import Calibration, Depth, Gap
from evalkit.metrics.rows import Rows
from evalkit.statistics import closed_forms
from evalkit.statistics.closed_forms import Part, lift, lift_of_few, mover_mean, overlap, ranged_t
from evalkit.statistics.intervals import hall, newcombe, wilson
from evalkit.studies.binary import DEPTHS

TABLE = lookup.TABLES["counts"]


# By hand and by published examples ----------------------------------------------------------------------------------


def test_mover_is_newcombes_interval_of_a_difference():
    """Newcombe 1998's example (a): 56/70 − 48/80 is 0.2000 [0.0524, 0.3339]."""
    parts = [Part(1.0, wilson(56, 70), np.zeros(1)), Part(1.0, _turned(wilson(48, 80)), np.zeros(1))]
    e = mover_mean(parts, n=150, level=0.95)
    assert (e.value, e.low, e.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert (e.low, e.high) == pytest.approx((newcombe(56, 70, 48, 80).low, newcombe(56, 70, 48, 80).high))


def _turned(e):
    return type(e)(-e.value, -e.high, -e.low, e.level, e.n, e.method)


def test_mover_with_correlation_is_newcombes_interval_of_paired_shares():
    """Newcombe 1998's method 8 of 20, 12, 2 and 16 pairs, as R's ratesci has it: 0.20 [0.0618, 0.3242]."""
    first, second = np.repeat([1.0, 1, 0, 0], [20, 12, 2, 16]), np.repeat([1.0, 0, 1, 0], [20, 12, 2, 16])
    sides = [(32, first - 0.64), (28, 0.44 - second)]
    parts = [closed_forms.Part(1.0, wilson(hits, 50), moved) for hits, moved in sides]
    e = closed_forms.mover_mean(parts, n=50, level=0.95)
    assert (e.value - 1, e.low - 1, e.high - 1) == pytest.approx((0.2, 0.0618, 0.3242), abs=5e-5)


def test_mover_follows_the_correlation():
    """Two equal parts are one, two opposite ones nothing."""
    moved = np.array([1.0, -2.0, 1.0])
    e = wilson(6, 10)
    same = mover_mean([Part(0.5, e, moved), Part(0.5, e, 3 * moved)], n=10, level=0.95)
    assert (same.low, same.high) == pytest.approx((e.low, e.high))
    even = ranged_t(0.5, 0.1, freedom=20.0, n=10, level=0.95)
    none = mover_mean([Part(0.5, even, moved), Part(0.5, even, -moved)], n=10, level=0.95)
    assert (none.low, none.high) == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize("weight, times", [(1, 2), (4, 5), (0.25, 1.25), (1, 1)])
def test_overlap_is_the_metric_and_keeps_its_end(weight, times):
    for hits, missed, false in ((8, 1, 1), (0, 3, 2), (5, 0, 0), (5, 0, 3), (5, 3, 0), (1, 0, 0)):
        e = overlap(hits, missed, false, weight=weight, times=times, level=0.95)
        assert e.value == pytest.approx(times * hits / (times * hits + weight * missed + false))
        assert 0 <= e.low <= e.value <= e.high <= 1
        assert e.high - e.low > 0.05
    assert np.isnan(overlap(0, 0, 0, weight=weight, times=times, level=0.95).low)


def test_f1_is_wilsons_interval_of_the_jaccard_index_mapped():
    e, j = overlap(30, 10, 5, weight=1, times=2, level=0.9), wilson(30, 45, level=0.9)
    assert (e.value, e.low, e.high) == pytest.approx(tuple(2 * x / (1 + x) for x in (j.value, j.low, j.high)))


def test_hall_undoes_its_own_transformation():
    """The limit T solves T + a T² + a² T³ / 3 + s / 6 = t with a = s / 3 (Hall 1992)."""
    from scipy.special import stdtrit

    for skewness in (-0.3, 0.1, 0.35):  # beyond it the root goes on as a line
        e = hall(0.0, 1.0, skewness * np.sqrt(30), n=30, level=0.95)
        a, t = skewness / 3, stdtrit(min(29, 2 / skewness**2), 0.975)  # 2 n / γ² degrees of freedom at most
        for limit, sign in ((-e.low, 1), (-e.high, -1)):
            assert limit + a * limit**2 + a**2 * limit**3 / 3 + skewness / 6 == pytest.approx(sign * t)
    assert hall(0.0, 1.0, 0.0, n=30, level=0.95).high == pytest.approx(stdtrit(29, 0.975))


def test_lift_by_precision_and_by_recall_meet():
    """Where the rows picked are as many as the positives, precision and recall are shares of as many."""
    a = lift(60, 100, 100, 1000, 0.3, level=0.95)
    b = lift_of_few(60, 100, 0.1, 0.3, n=1000, level=0.95)
    assert a.value == b.value
    assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=0.05)


# Always in range, and consistent ------------------------------------------------------------------------------------

rows = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 1)), min_size=4, max_size=40)


@settings(ANY_TIME, max_examples=25)
@given(rows, st.integers(0, 9))
def test_limits_lie_in_the_range_and_hold_the_value(data, threshold):
    a, b, label = (np.array(column) for column in zip(*data, strict=True))
    first, second = (Rows(label.astype(np.int64), score / 8, threshold / 8) for score in (a, b))
    for name, metric in TABLE.items():
        e = estimate(Chosen(metric), first)
        if np.isfinite(e.low):
            assert metric.low <= e.low <= e.value + 1e-9, name
            assert e.value - 1e-9 <= e.high <= metric.high, name
        c = compare(Chosen(metric), first, second)
        d = c.difference
        if np.isfinite(c.p_value) and np.isfinite(d.low) and "McNemar" not in c.method:
            assert (c.p_value < 0.05) == (not d.low <= 0 <= d.high), (name, c)


@settings(ANY_TIME, max_examples=25)
@given(rows)
def test_further_numbers_of_the_page_lie_in_their_range(data):
    a, _, label = (np.array(column) for column in zip(*data, strict=True))
    plain = Rows(label.astype(np.int64), a / 8, 0.5)
    weights = 1.0 + np.arange(len(label)) % 7
    metrics = [row_metrics.lift_at(depth) for depth in DEPTHS]
    metrics += [of(rate) for _, of in row_metrics.MOVED for rate in (0.05, 0.5)]
    for metric, sample in product(metrics, (plain, replace(plain, weight=weights))):
        e = estimate(Chosen(metric), sample)
        if np.isfinite(e.low + e.value):
            assert metric.low <= e.low <= e.value + 1e-9, metric
            assert e.value - 1e-9 <= e.high <= metric.high, metric


def test_no_lift_by_user_is_above_that_of_positive_rows_alone():
    """Of three users the logarithm of the lift has one or two degrees of freedom, and t's limit alone is far out."""
    rng = np.random.default_rng(8)
    label, score, user = rng.integers(0, 2, 30), rng.random(30), np.repeat(["a", "b", "c"], 10)
    e = estimate(lookup.find("lift", "counts"), Rows(label, score, 0.5, unit=user))
    fewest = wilson(label.mean() * 3, 3).low
    assert e.value < e.high <= 1 / fewest


def test_the_effects_of_a_depth_are_those_of_a_weight():
    """The border's share is smoothed, so only what does not depend on it is exact: the sum, and rows at one border."""
    rng = np.random.default_rng(5)
    label = (rng.random(400) < 0.3).astype(np.int64)
    sample = Rows(label, np.round(rng.normal(0, 1, 400) + label, 1), 0.5)
    for depth in DEPTHS:
        moved = Depth(row_metrics.lift_at(depth).kind.of, depth=depth).effects(sample, None).rows
        assert moved.sum() == pytest.approx(0, abs=1e-9)


def test_a_gap_is_not_certain_where_few_rows_agree():
    label = np.array([1, 1, 1] + [0] * 60)
    a, b = (np.concatenate([[70.0, 71.0, 72.0], np.roll(np.arange(60.0), turn)]) for turn in (0, 7))
    c = compare(Chosen(TABLE["ks"]), Rows(label, a, 0.5), Rows(label, b, 0.5))
    assert isinstance(TABLE["ks"].kind, Gap)
    assert c.p_value > 0.2


def test_calibration_has_no_interval_and_no_test():
    rng = np.random.default_rng(1)
    score = rng.random(300)
    a = Rows((rng.random(300) < score).astype(np.int64), score, 0.5)
    for name, metric in TABLE.items():
        if isinstance(metric.kind, Calibration):
            e, c = estimate(Chosen(metric), a), compare(Chosen(metric), a, a)
            assert np.isnan([e.low, e.high, c.p_value, c.difference.low]).all(), name
            assert e.value == metric.kind.value(a, None)
            assert "biased" in e.method


# As often right as they say -----------------------------------------------------------------------------------------


# Half a row in each cell ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mcc", "kappa"])
def test_no_predicted_row_claims_no_certainty(name):
    """Nothing, or next to nothing, is predicted: the influence values are all 0, and the value tells little."""
    label = np.arange(100) < 4
    score = np.where(np.arange(100) < (1 if name == "mcc" else 0), 0.9, 0.1)
    e = estimate(lookup.find(name, "counts"), Rows(label.astype(int), score))
    assert -1 <= e.low <= e.value <= e.high <= 1
    assert e.high - e.low > 0.4


def test_one_class_for_all_rows_has_a_kappa_without_limits():
    """No row moves it, which is no certainty that it is 0."""
    label = np.arange(60) % 3
    rows = Rows(label, decision=np.zeros(60, dtype=int), classes=3)
    e = estimate(lookup.find("kappa", "classes"), rows)
    assert e.value == 0
    assert np.isnan([e.low, e.high]).all()
    perfect = estimate(lookup.find("kappa", "classes"), Rows(label, decision=label, classes=3))
    assert perfect.high == 1 > perfect.low > 0.8
