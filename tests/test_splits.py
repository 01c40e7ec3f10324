"""Splits into folds by row, group and time, errors from them, and estimators of the user."""

import contextlib
import sys
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from evalkit.arrays import InputError
from evalkit.offline import fitting, splits
from evalkit.reading.tables.table import Coded


class Columns(NamedTuple):
    """The columns of a table that a split may use."""

    time: np.ndarray
    group: np.ndarray
    label: np.ndarray


@st.composite
def tables(draw):
    """Columns of 20 to 60 rows; times are one of 12, and often equal, or one of 200."""
    rows = draw(st.integers(20, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    times = draw(st.sampled_from([12, 200]))
    return Columns(
        time=rng.integers(0, times, rows),
        group=rng.integers(0, 6, rows),
        label=rng.integers(0, 2, rows),
    )


def is_partition(folds):
    """True if each row is tested once, and never by a model that was trained on it."""
    tested = np.concatenate([test for _, test in folds.pairs])
    trains_on_no_test = all(not np.intersect1d(train, test).size for train, test in folds.pairs)
    return trains_on_no_test and np.array_equal(np.sort(tested), np.arange(folds.rows))


def keep_groups_whole(folds, group):
    return all(not np.intersect1d(group[train], group[test]).size for train, test in folds.pairs)


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(2, 4), st.integers(0, 5))
def test_folds_of_rows_partition_them(table, k, seed):
    assume(np.bincount(table.label, minlength=2).min() >= k)
    assert is_partition(splits.k_fold(table.label.size, seed=seed, k=k, label=table.label))
    assert is_partition(splits.k_fold(table.label.size, seed=seed, k=k))


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(2, 4), st.integers(0, 5))
def test_folds_of_groups_partition_rows_and_keep_each_group_whole(table, k, seed):
    assume(np.unique(table.group).size >= k)
    assert is_partition(splits.by_column(table.group))
    folds = splits.group_k_fold(table.group, seed=seed, k=k)
    assert is_partition(folds)
    assert keep_groups_whole(folds, table.group)


def test_the_seed_fixes_the_folds_of_groups():
    """60 rows belong to seven groups, which are put into three folds at random, twice with the same
    seed.
    """
    group = np.arange(60) % 7
    once, again = (splits.group_k_fold(group, seed=3, k=3) for _ in range(2))
    assert [test.tolist() for test in once.tests] == [test.tolist() for test in again.tests]


@settings(max_examples=100, deadline=None)
@given(tables(), st.integers(2, 4), st.integers(0, 3))
def test_forward_folds_train_on_rows_older_than_their_test_by_more_than_the_gap(table, k, gap):
    """A split forward in time cuts random rows (`table`) into k + 1 blocks. Each block but the
    first is tested, by a model of the rows older than it by more than the gap; so no row is tested
    twice, and the latest rows are tested. With whole groups, no group has rows both to train on and
    to test. A split may be refused by an InputError, which is then ignored: where a gap, or groups
    that lie entirely in the past, leave a block nothing to train on or to test.
    """
    time = table.time
    # too few for k + 1 blocks with gaps between them: most splits might be refused
    has_few_times = np.unique(time).size < 6 * (k + 1)
    if has_few_times:
        time = np.arange(time.size) // 2
    with contextlib.suppress(InputError):
        assert_tests_follow_training(splits.forward(time, k=k, gap=gap), time, gap)
    with contextlib.suppress(InputError):
        folds = splits.forward(time, k=k, gap=gap, group=table.group)
        assert_tests_follow_training(folds, time, gap)
        assert keep_groups_whole(folds, table.group)


def assert_tests_follow_training(folds, time, gap):
    """Check that in each split all rows that are trained on are older, by more than the gap, than
    those that are tested; that no row is tested twice; and that the latest rows are tested.
    """
    for train, test in folds.pairs:
        assert time[test].min() > time[train].max() + gap
    assert np.unique(folds.tested).size == folds.tested.size
    assert time[folds.tested].max() == time.max()


def test_forward_refuses_groups_of_another_length():
    with pytest.raises(InputError, match="columns must have one length, got time 3, group 4"):
        splits.forward([1, 2, 3], k=2, group=["a", "b", "c", "d"])


EIGHT_TIMES = [1, 1, 2, 3, 3, 4, 5, 6]  # three blocks: to 2, to 4, to 6; the first is not tested


def test_training_rows_are_older_than_the_block_by_more_than_the_gap():
    first, second = splits.forward(EIGHT_TIMES, k=2, gap=1).pairs
    assert [rows.tolist() for rows in first] == [[0, 1], [3, 4, 5]]  # times below 3 − 1
    assert [rows.tolist() for rows in second] == [[0, 1, 2, 3, 4], [6, 7]]  # below 5 − 1


def test_training_rows_are_no_older_than_the_window():
    folds = splits.forward(EIGHT_TIMES, k=2, window=2)
    times = [[EIGHT_TIMES[row] for row in train] for train, _ in folds.pairs]
    assert times == [[1, 1, 2], [3, 3, 4]]  # at most 2 before 3, and before 5


def test_equal_times_share_a_block_and_the_others_still_have_one_each():
    """97 of 100 rows have the same time, and cannot be divided. The three folds test the other
    three times, with one row each.
    """
    time = np.repeat([1, 2, 3, 4], [97, 1, 1, 1])
    folds = splits.forward(time, k=3)
    assert [test.size for test in folds.tests] == [1, 1, 1]


@pytest.mark.parametrize("gap, trained", [(0, [0, 1, 2, 4]), (2, [0, 1, 2])])
def test_the_newest_30_percent_of_six_rows_are_two(gap, trained):
    """Those of the times 5 and 9. Training rows are older than 5 by more than the gap."""
    ((train, test),) = splits.global_temporal([1, 1, 2, 5, 3, 9], share=0.3, gap=gap).pairs
    assert (train.tolist(), test.tolist()) == (trained, [3, 5])


def column_of_texts(numbers):
    """A column with the texts "0", "1", … in place of the numbers 0, 1, …"""
    return Coded(tuple(map(str, np.unique(numbers))), numbers)


def test_repeated_folds_test_a_fold_of_a_repeat_and_train_on_its_other_folds():
    """40 rows belong to two repeats (0 and 1, by turns), each cut at random into the folds 0 to 2.
    The six splits are named repeat/fold: such as "1/2", which tests fold 2 of repeat 1 and trains
    on folds 0 and 1 of repeat 1.
    """
    fold = np.random.default_rng(1).integers(0, 3, 40)
    repeat = np.arange(40) % 2
    folds = splits.read(column_of_texts(fold), column_of_texts(repeat))
    assert folds.names == ("0/0", "0/1", "0/2", "1/0", "1/1", "1/2")
    for name, (train, test) in zip(folds.names, folds.pairs, strict=True):
        of_repeat, of_fold = map(int, name.split("/"))
        assert np.array_equal(test, np.flatnonzero((repeat == of_repeat) & (fold == of_fold)))
        assert np.array_equal(train, np.flatnonzero((repeat == of_repeat) & (fold != of_fold)))


def test_tests_and_sizes_of_repeated_folds_are_those_of_their_pairs():
    """40 rows belong to two repeats, each cut at random into three folds. `pairs` makes the rows to
    train on and to test of each split one by one; `sizes` and `tests` know their numbers and the
    test rows without making the pairs, and must agree.
    """
    fold = np.random.default_rng(1).integers(0, 3, 40)
    repeat = np.arange(40) % 2
    folds = splits.read(column_of_texts(fold), column_of_texts(repeat))
    pairs = list(folds.pairs)
    assert [train.size for train, _ in pairs] == list(folds.sizes.train)
    assert [test.size for _, test in pairs] == list(folds.sizes.test)
    for (_, test), test_of_fold in zip(pairs, folds.tests, strict=True):
        assert np.array_equal(test_of_fold, test)


@pytest.mark.parametrize("rows", [10, 100, 3000])
def test_a_bootstrap_sample_leaves_each_row_out_with_probability_1_minus_1_in_n_to_the_n(rows):
    """0.349, 0.366 and 0.368; the mean of 400 samples has a standard error of at most 0.005, for
    ten rows.
    """
    folds = splits.out_of_bag(rows, rng=np.random.default_rng(0), repeats=400)
    assert folds.sizes.test.mean() / rows == pytest.approx((1 - 1 / rows) ** rows, abs=0.02)


def test_a_bootstrap_sample_and_the_rows_out_of_bag_are_all_rows():
    """A bootstrap sample draws 50 of 50 rows with replacement; the rows that it did not draw are
    left out.
    """
    for sample, left_out in splits.out_of_bag(50, rng=np.random.default_rng(0), repeats=5).pairs:
        assert sample.size == 50
        assert np.array_equal(np.union1d(sample, left_out), np.arange(50))


def test_632_plus_lies_between_632_and_the_error_out_of_bag():
    rates = {"apparent": 0.05, "out_of_bag": 0.2}
    estimate = fitting.error_632_plus(**rates, no_information=0.5)
    assert fitting.error_632(**rates) < estimate < rates["out_of_bag"]


@pytest.fixture
def own_models(tmp_path, monkeypatch):
    """A working directory with a module of estimators, and one that is called as scikit-learn."""
    source = "from sklearn.dummy import DummyClassifier\n\nclass Own(DummyClassifier):\n    pass\n"
    (tmp_path / "evalkit_own_models.py").write_text(source)
    (tmp_path / "sklearn.py").write_text("raise SystemExit('imported from the working directory')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    return tmp_path


def test_an_estimator_of_a_module_in_the_working_directory_is_found(own_models):
    estimator = fitting.load("evalkit_own_models.Own", "estimator", "classes")
    assert type(estimator).__name__ == "Own"


def test_a_module_in_the_working_directory_hides_no_installed_one(own_models):
    assert fitting.load("sklearn.dummy.DummyClassifier", "estimator", "classes")
    assert sys.path[-1] == str(own_models)
