"""Bootstrap of counts: cells that lose nothing, standard errors of the row bootstrap, paired draws, coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import ANY_TIME

from evalkit.arrays import ParameterError
from evalkit.metrics import cells, curves
from evalkit.metrics.counts import auc, average_precision, count, f_score, ks
from evalkit.metrics.influence import average_precision_bins, of_rows, place
from evalkit.metrics.rows import Rows
from evalkit.statistics import count_bootstrap as cb
from evalkit.statistics.intervals import wilson


def sample(rows, share, shift=1.2, seed=0):
    rng = np.random.default_rng(seed)
    label = (rng.random(rows) < share).astype(np.int64)
    return label, rng.standard_normal(rows) + shift * label


def by_rows(metric, label, score, resamples, seed=1):
    """The slow truth: resample rows, sort them again."""
    rng, n = np.random.default_rng(seed), len(label)
    drawn = (rng.integers(0, n, n) for _ in range(resamples))
    return np.array([metric(count(score[one], label[one])) for one in drawn])


rows = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 1)), min_size=2, max_size=60).filter(
    lambda data: 0 < sum(label for _, label in data) < len(data)
)


@ANY_TIME
@given(rows)
def test_runs_keep_what_the_metrics_know(data):
    score, label = (np.array(column) for column in zip(*data, strict=True))
    c = count(score, label)
    kept = cells.pool(c, cells.runs(c))
    for metric in (auc, average_precision, ks, lambda c: f_score(c).max()):
        assert metric(kept) == pytest.approx(metric(c), abs=1e-12)


def test_few_positives_make_exact_runs():
    label, score = sample(20_000, 0.005)
    c = count(score, label)
    cell = cells.cells(c)
    assert cell[-1] + 1 <= 2 * label.sum() + 1
    runs = cells.pool(c, cell)
    for metric in (auc, average_precision, ks, lambda c: f_score(c).max()):
        assert metric(runs) == pytest.approx(metric(c), abs=1e-12)


@pytest.mark.parametrize("share", [0.3, 0.02])
def test_standard_errors_are_those_of_rows(share):
    label, score = sample(3_000, share)
    c = count(score, label)
    for metric in (average_precision, ks):
        ours = cb.replicates(c, metric, rng=np.random.default_rng(2), resamples=1_000)
        truth = by_rows(metric, label, score, 400)
        assert ours.std() == pytest.approx(truth.std(), rel=0.12)
        assert ours.mean() == pytest.approx(truth.mean(), abs=4 * truth.std() / 20)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 0.01, 0.001])
def test_standard_error_of_average_precision_at_100_000_rows(share):
    label, score = sample(100_000, share)
    c = count(score, label)
    ours = cb.replicates(c, average_precision, rng=np.random.default_rng(2), resamples=10_000).std()
    order = np.argsort(-score)
    ranked, rng, truth = label[order], np.random.default_rng(3), []
    for _ in range(4_000):
        times = np.bincount(rng.integers(0, len(label), len(label)), minlength=len(label))
        hits, seen = np.cumsum(times * ranked), np.cumsum(times)
        some = np.flatnonzero(times * ranked)
        truth.append(((times * ranked)[some] * hits[some] / seen[some]).sum() / hits[-1])
    print(f"share {share}: {ours:.6f} against {np.std(truth):.6f}")
    assert ours == pytest.approx(np.std(truth), rel=0.07)


def test_a_decision_table_is_exact():
    label, score = sample(2_000, 0.3)
    c = count(score, label)
    d = cells.decision(c, 0.7)
    assert (d.tp[0], d.fp[0]) == ((score[label == 1] >= 0.7).sum(), (score[label == 0] >= 0.7).sum())
    recalls = cb.replicates(d, lambda c: c.tp[0] / c.positives, rng=np.random.default_rng(1), resamples=4_000)
    e = wilson(d.tp[0], d.positives)
    assert np.quantile(recalls, 0.025) == pytest.approx(e.low, abs=0.01)
    assert np.quantile(recalls, 0.975) == pytest.approx(e.high, abs=0.01)


def test_paired_draws_share_their_rows():
    label, score = sample(1_500, 0.3)
    other = score + np.random.default_rng(9).normal(0, 0.3, len(score))
    models = [(c, place(c, one)) for one in (score, other) for c in [count(one, label)]]
    drawn = cb.paired(label, models, average_precision, rng=np.random.default_rng(1), resamples=600)
    tables = [count(one, label) for one in (score, other)]
    effect = [of_rows(average_precision_bins(c), c, label, s) for c, s in zip(tables, (score, other), strict=True)]
    assert (drawn[0] - drawn[1]).std() == pytest.approx(np.sqrt(((effect[0] - effect[1]) ** 2).sum()), rel=0.15)
    assert np.corrcoef(drawn)[0, 1] > 0.8


def test_many_rows_cross_in_a_bounded_number_of_cells():
    label, score = sample(60_000, 0.2)
    other = score + np.random.default_rng(9).normal(0, 0.5, len(score))
    models = [(c, place(c, one)) for one in (score, other) for c in [count(one, label)]]
    drawn = cb.paired(label, models, average_precision, rng=np.random.default_rng(1), resamples=200)
    tables = [count(one, label) for one in (score, other)]
    effect = [of_rows(average_precision_bins(c), c, label, s) for c, s in zip(tables, (score, other), strict=True)]
    assert (drawn[0] - drawn[1]).std() == pytest.approx(np.sqrt(((effect[0] - effect[1]) ** 2).sum()), rel=0.2)


def test_the_same_table_and_seed_give_the_same_interval():
    c = count(*reversed(sample(500, 0.3)))
    a, b = (cb.interval(c, average_precision, rng=np.random.default_rng(5)) for _ in range(2))
    assert a == b
    assert a.low <= a.value <= a.high


def test_units_come_and_go_together():
    label, score = sample(400, 0.4)
    unit = np.repeat(np.arange(100), 4)
    kwargs = {"rng": np.random.default_rng(1), "resamples": 300}
    tables = cb.resampled_units(Rows(label, score, unit=unit), **kwargs)
    alone = cb.resampled_units(Rows(label, score), **kwargs)
    assert {one.total for one in alone} == {400}
    assert all(one.total == 400 for one in tables)
    copies = cb.resampled_units(
        Rows(np.repeat(label, 4), np.repeat(score, 4), unit=np.repeat(np.arange(400), 4)),
        rng=np.random.default_rng(1),
        resamples=300,
    )
    assert np.std([auc(one) for one in copies]) == pytest.approx(np.std([auc(one) for one in alone]), rel=0.15)


def test_bands_hold_the_curve():
    label, score = sample(800, 0.3)
    c = count(score, label)
    grid = np.linspace(0.05, 0.95, 10)

    def read(one):
        roc = curves.roc_curve(one)
        return np.interp(grid, roc.x, roc.y)

    low, high = cb.band(cb.resampled(c, rng=np.random.default_rng(1), resamples=300), read)
    assert np.all(low <= read(c))
    assert np.all(read(c) <= high)
    assert np.all(high - low < 0.2)


def test_refuses_fractions_and_no_resamples():
    c = count([1.0, 2.0], [0.5, 1], [1, 1])
    with pytest.raises(ParameterError, match="weights that are whole numbers, got fractions"):
        cb.resampled(c, rng=np.random.default_rng(1))
    with pytest.raises(ParameterError, match="resamples must be at least 1, got 0"):
        cb.resampled(count([1, 2], [0, 1]), rng=np.random.default_rng(1), resamples=0)


def covered(shift, positives, negatives, metric, truth, runs, seed=0):
    """The share of nominal 95 % intervals that hold the truth."""
    rng, share, hits = np.random.default_rng(seed), positives / (positives + negatives), 0
    for _ in range(runs):
        label = (rng.random(positives + negatives) < share).astype(np.int64)
        label[:2] = 1, 0
        score = rng.standard_normal(len(label)) + shift * label
        e = cb.interval(count(score, label), metric, rng=rng, resamples=400)
        hits += e.low <= truth <= e.high
    return hits / runs


def population(shift, share, metric, rows=1_000_000):
    rng = np.random.default_rng(99)
    label = np.arange(rows) < rows * share
    return metric(count(rng.standard_normal(rows) + shift * label, label))


def f1_at_1(c):
    above = np.searchsorted(-c.threshold, -1.0, side="right")
    return float(f_score(c)[above - 1]) if above else 0.0


def test_average_precision_is_covered():
    truth = population(1.81, 0.2, average_precision, 400_000)
    assert covered(1.81, 60, 240, average_precision, truth, 60) >= 0.85


@pytest.mark.slow
@pytest.mark.parametrize("metric", [average_precision, f1_at_1], ids=["average precision", "F1"])
@pytest.mark.parametrize(
    "shift, positives, negatives", [(0.95, 50, 200), (1.81, 20, 80), (1.81, 50, 200), (1.81, 200, 800)]
)
def test_coverage(metric, shift, positives, negatives):
    truth = population(shift, positives / (positives + negatives), metric)
    found = covered(shift, positives, negatives, metric, truth, 1_000)
    print(f"{metric.__name__} shift {shift}, {positives} + {negatives}: {found:.3f}")
    assert found >= 0.90
