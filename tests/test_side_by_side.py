"""Threads: the same numbers to the last bit whatever their number, the same errors, and nothing
that waits for ever.
"""

import threading
import time
from itertools import product

import engine_samples as of
import numpy as np
import pandas as pd
import pytest
from test_engines_agree import CASES, read

from evalkit.arrays import InputError
from evalkit.limits import Limits, ReadingLimits
from evalkit.machine.threads import ordered
from evalkit.reading.engines import backends

READING = ReadingLimits(rows=100, lists=100, shard=1_500, largest=1_500, units=50)
IN_SHARDS_OF_1500_ROWS = Limits(reading=READING)


def lists(rows=20_000):
    """Ranked lists of two systems in no order, with ties, unjudged rows and a segment."""
    rng = np.random.default_rng(6)
    query = rng.integers(0, rows // 40, rows)
    data = {
        "query": query.astype(str),
        "item": rng.integers(0, 10**9, rows).astype(str),
        "tier": (query % 3).astype(str),
    }
    grade = np.where(rng.random(rows) < 0.5, np.nan, rng.integers(0, 3, rows))
    return pd.DataFrame(
        data
        | {"score_a": rng.normal(size=rows).round(2), "score_b": rng.random(rows), "grade": grade}
    )


KINDS = (
    "two classes, real weights",
    "two classes, users",
    "two classes, long",
    "several classes, users",
)


@pytest.fixture
def none_left():
    """No thread outlives the test; those that others left before it are not its own."""
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)


def ranked(threads):
    lists().to_parquet("rows.parquet", row_group_size=900, index=False)
    return of.study_of(
        "ranking", "rows.parquet", IN_SHARDS_OF_1500_ROWS, segments="tier", threads=threads
    )


def of_case(name):
    """The study of a case by the number of its threads."""
    case = CASES[name]
    case.table().to_parquet("rows.parquet", row_group_size=300, index=False)
    reading = ReadingLimits(rows=100, shard=200, largest=200, units=50)

    def study_of(threads):
        study = read(case, "rows.parquet", reading, threads=threads)
        return getattr(study, case.parameter, study)

    return study_of


@pytest.mark.parametrize("name", ["ranked lists", *KINDS, "forecasts, users", "users"])
def test_the_bits_are_those_of_one_thread(folder, name):
    """A table is read by one, two and three threads. Estimates and comparisons are the same to the
    last bit.
    """
    study_of = ranked if name == "ranked lists" else of_case(name)
    one, *others = (study_of(threads) for threads in (1, 2, 3))
    for frame, study in product(("estimates", "comparisons"), others):
        assert len(getattr(one, frame))
        pd.testing.assert_frame_equal(getattr(study, frame), getattr(one, frame), check_exact=True)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_error_of_a_thread_is_the_same_line(folder, none_left, threads):
    """20,000 rows of ranked lists are read in shards of 1,500 rows, by one or more threads. The
    last row has the query and the item of the first one, which must not occur twice. Whichever
    thread finds it, the message is the same, in one line. The fixture `none_left` checks that no
    thread is left.
    """
    table = lists()
    first_row = table.loc[0, ["query", "item", "tier"]]  # the tier is that of the query
    table.loc[len(table) - 1, ["query", "item", "tier"]] = first_row
    table.to_parquet("rows.parquet", row_group_size=900, index=False)
    message = r"^rows.parquet: query '.*' and item '.*' must appear once"
    with pytest.raises(InputError, match=message) as error:
        of.study_of(
            "ranking", "rows.parquet", IN_SHARDS_OF_1500_ROWS, segments="tier", threads=threads
        )
    assert "\n" not in str(error.value)


def test_results_come_in_the_order_of_the_work():
    """Every third item takes longer than the others, so that three threads finish them in another
    order.
    """

    def slow_first(i):
        time.sleep(0.02 * (i % 3 == 0))
        return i

    assert list(ordered(slow_first, range(20), 3)) == list(range(20))


def test_little_is_taken_before_it_is_needed():
    """Three threads take at most four items before the first result is used, so that little waits
    in memory.
    """
    taken = []
    results = ordered(abs, (taken.append(i) or i for i in range(20)), 3)
    next(results)
    assert len(taken) <= 4
    results.close()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_an_error_ends_the_work(none_left, threads):
    """`ordered` calls a function on each of 1,000 items, by some threads. The third call fails. By
    then, besides the three items up to it, each thread has been given one further item; the bound
    allows two. The fixture `none_left` checks that no thread is left.
    """
    begun = []

    def fail_on_2(item):
        begun.append(item)
        if item == 2:
            raise InputError("file.csv: no")
        return item

    with pytest.raises(InputError, match=r"^file.csv: no$"):
        list(ordered(fail_on_2, range(1_000), threads))
    assert len(begun) <= 3 + 2 * threads


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_of_the_items_ends_the_work(threads):
    """The items themselves fail after the first one."""

    def items():
        yield 1
        raise InputError("file.csv: broken")

    with pytest.raises(InputError, match="broken"):
        list(ordered(abs, items(), threads))


def test_threads_follow_the_settings_of_their_caller():
    """The caller lets numpy divide by zero without a warning. So do its threads, where a warning
    would be an error.
    """
    with np.errstate(divide="ignore"):
        assert list(ordered(lambda x: np.float64(1) / x, [np.float64(0)] * 3, 2)) == [np.inf] * 3


@pytest.mark.parametrize(
    ("memory", "threads", "shard", "workers"),
    [
        (1_000, 1, 250_000, 1),
        (1_000, 8, 250_000, 2),
        (250, 2, 100_000, 1),
        (12_000, 2, 2**19, 2),
        (12_000, 64, 2**19, 11),
    ],
)
def test_shards_in_flight_fit_into_half_of_the_memory(memory, threads, shard, workers):
    budget = backends.budget(memory * 10**6, threads)
    assert (budget.shard, budget.workers) == (shard, workers)
    assert workers == 1 or workers * shard * budget.reading.row <= budget.memory // 2
