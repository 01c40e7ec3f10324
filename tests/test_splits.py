"""Splits into folds by row, group and time, errors from them, and estimators of the user."""

import contextlib
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from evalkit.arrays import InputError
from evalkit.offline import fitting, splits
from evalkit.reading.tables.table import Coded


@st.composite
def dated(draw):
    rows = draw(st.integers(20, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return (
        rng.integers(0, draw(st.sampled_from([12, 200])), rows),
        rng.integers(0, 6, rows),
        rng.integers(0, 2, rows),
    )


def partition(folds):
    tested = np.concatenate([test for _, test in folds.pairs])
    apart = all(not np.intersect1d(train, test).size for train, test in folds.pairs)
    return apart and np.array_equal(np.sort(tested), np.arange(folds.rows))


@settings(max_examples=60, deadline=None)
@given(dated(), st.integers(2, 4), st.integers(0, 5))
def test_folds_partition_rows_and_keep_groups_whole(data, k, seed):
    _, group, label = data
    if min(np.bincount(label, minlength=2)) < k or np.unique(group).size < k:
        return
    assert partition(splits.k_fold(label.size, seed=seed, k=k, label=label))
    assert partition(splits.k_fold(label.size, seed=seed, k=k))
    assert partition(splits.by_column(group))
    grouped = splits.group_k_fold(group, seed=seed, k=k)
    assert partition(grouped)
    for train, test in grouped.pairs:
        assert not np.intersect1d(group[train], group[test]).size
    again = splits.group_k_fold(group, seed=seed, k=k)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(grouped.pairs, again.pairs, strict=True))


@settings(max_examples=100, deadline=None)
@given(dated(), st.integers(2, 4), st.integers(0, 3))
def test_time_never_runs_backwards(data, k, gap):
    time, group, _ = data
    if np.unique(time).size < 6 * (k + 1):
        time = np.arange(time.size) // 2
    for groups in (None, group):
        with contextlib.suppress(InputError):  # groups that fill the past leave nothing to train on
            check_forward(time, groups, gap, splits.forward(time, k=k, gap=gap, group=groups))


def check_forward(time, groups, gap, folds):
    for train, test in folds.pairs:
        assert time[test].min() > time[train].max() + gap
        if groups is not None:
            assert not np.intersect1d(groups[train], groups[test]).size
    tested = np.concatenate([test for _, test in folds.pairs])
    assert np.unique(tested).size == tested.size
    assert time[tested].max() == time.max()


def test_forward_refuses_groups_of_another_length():
    with pytest.raises(InputError, match="columns must have one length, got time 3, group 4"):
        splits.forward([1, 2, 3], k=2, group=["a", "b", "c", "d"])


def test_forward_by_hand():
    folds = splits.forward([1, 1, 2, 3, 3, 4, 5, 6], k=2, gap=1)
    assert [(a.tolist(), b.tolist()) for a, b in folds.pairs] == [
        ([0, 1], [3, 4, 5]),
        ([0, 1, 2, 3, 4], [6, 7]),
    ]
    short = splits.forward([1, 1, 2, 3, 3, 4, 5, 6], k=2, window=2)
    assert [a.tolist() for a, _ in short.pairs] == [[0, 1, 2], [3, 4, 5]]


def test_blocks_stay_even_under_heavy_ties():
    time = np.repeat([1, 2, 3, 4], [97, 1, 1, 1])
    folds = splits.forward(time, k=3)
    assert [test.size for _, test in folds.pairs] == [1, 1, 1]


def test_the_newest_rows_by_hand():
    time = [1, 1, 2, 5, 3, 9]
    train, test = splits.global_temporal(time, share=0.3).pairs[0]
    assert (train.tolist(), test.tolist()) == ([0, 1, 2, 4], [3, 5])
    assert splits.global_temporal(time, share=0.3, gap=2).pairs[0][0].tolist() == [0, 1, 2]


def test_pairs_of_a_table_in_parts_are_those_of_its_rows():
    fold = np.random.default_rng(1).integers(0, 3, 40)
    draw = np.arange(40) % 2
    folds = splits.read(*(Coded(tuple(map(str, np.unique(part))), part) for part in (fold, draw)))
    assert folds.names == tuple(f"{i}/{k}" for i in (0, 1) for k in (0, 1, 2))
    for (train, test), name, own, sizes in zip(
        folds.pairs, folds.names, folds.tests, np.transpose(folds.sizes), strict=True
    ):
        i, k = map(int, name.split("/"))
        assert np.array_equal(test, np.flatnonzero((draw == i) & (fold == k)))
        assert np.array_equal(train, np.flatnonzero((draw == i) & (fold != k)))
        assert np.array_equal(own, test)
        assert sizes.tolist() == [train.size, test.size]


@pytest.mark.parametrize("rows, share", [(10, 0.34868), (100, 0.36603), (3000, 0.36782)])
def test_out_of_bag_share(rows, share):
    folds = splits.out_of_bag(rows, rng=np.random.default_rng(0), repeats=400)
    sizes = [test.size / rows for _, test in folds.pairs]
    assert (1 - 1 / rows) ** rows == pytest.approx(share, abs=5e-6)
    assert np.mean(sizes) == pytest.approx(share, abs=0.02)
    for train, test in folds.pairs[:5]:
        assert np.array_equal(np.union1d(train, test), np.arange(rows))
        assert train.size == rows


def test_632_plus_lies_between_out_of_bag_and_632():
    assert fitting.error_632(0.05, 0.2) < fitting.error_632_plus(0.05, 0.2, 0.5) < 0.2


def test_a_module_in_the_working_directory_is_found_and_hides_nothing(tmp_path, monkeypatch):
    source = "from sklearn.dummy import DummyClassifier\n\nclass Own(DummyClassifier):\n    pass\n"
    (tmp_path / "evalkit_own_models.py").write_text(source)
    (tmp_path / "sklearn.py").write_text("raise SystemExit('imported from the working directory')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    assert type(fitting.load("evalkit_own_models.Own", "estimator", "classes")).__name__ == "Own"
    assert fitting.load("sklearn.dummy.DummyClassifier", "estimator", "classes")
    assert sys.path[-1] == str(tmp_path)
