"""`make trust` and its worlds of every metric; levels and coverage in brief; the order of rows and
systems.
"""

import shutil
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from samples import rng
from scipy import stats

from evalkit.catalogue import lookup
from evalkit.catalogue.lookup import find_metric
from evalkit.limits import USUAL_LIMITS
from evalkit.metrics import diversity
from evalkit.metrics.rows import Rows
from evalkit.parameters.reports import REPORTS
from evalkit.statistics import (
    closed_forms,
    inference,
    intervals,
    multiplicity,
    proportions,
    significance as sig,
)
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import Layout, RowStatistic
from evalkit.studies import lessons, ranking

TRUST = Path(__file__).resolve().parents[1] / "benchmarks" / "trust"


@pytest.fixture(autouse=True)
def _modules_of_trust_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(TRUST))


class TriedKinds(NamedTuple):
    """The kinds of metrics that some world measures, with what they are measured on."""

    structure_and_kind: set
    layout_and_kind: set


def smallest_worlds():
    """The smallest world of each name."""
    from worlds import WORLDS

    return {world.name: world for world in sorted(WORLDS, key=lambda world: -world.n)}.values()


@cache
def tried_kinds():
    """Of the smallest world of each name, but for those of large tables, which try no other kind
    and take as long as all others.
    """
    import numbers_of

    by_structure = set()
    by_layout = set()
    for world in smallest_worlds():
        if world.limits is not USUAL_LIMITS:
            continue
        study = numbers_of.study(world, world.draw(np.random.default_rng(1), world.n))
        for chosen in study.settings.metrics:
            by_structure.add((chosen.metric.structure, type(chosen.metric.kind)))
            layout = study.measure(chosen, study.systems[0]).layout
            by_layout |= {(layout, type(one.metric.kind)) for one in (chosen, chosen.base)}
    return TriedKinds(by_structure, by_layout)


METRICS = [metric for table in lookup.TABLES.values() for metric in table.values()]


def test_every_metric_is_of_a_kind_that_a_world_tries():
    """A world simulates data with a known truth, and a kind is a way to compute metrics, such as a
    mean or a ratio. If this fails, add a metric of the new kind to benchmarks/trust/worlds.py.
    """
    untried = [
        metric
        for metric in METRICS
        if (metric.structure, type(metric.kind)) not in tried_kinds().structure_and_kind
    ]
    assert not [f"{metric.structure} {metric.name}" for metric in untried]


@pytest.mark.parametrize("layout", [Layout.PLAIN, Layout.CLUSTERED, Layout.WEIGHTED])
def test_every_kind_of_metric_of_rows_is_tried_plain_clustered_and_weighted(layout):
    """A kind is a way to compute metrics, such as a mean or a ratio. The layout of rows is plain,
    clustered by unit, or weighted. Some simulated world must measure each kind of metric of rows in
    the layout. Calibration alone may be untried, as it has no interval and no test over units or
    with weights.
    """
    kinds_of_rows = {
        type(metric.kind)
        for metric in METRICS
        if metric.structure in ("counts", "classes", "labels", "forecasts")
    }
    untried = {
        kind.__name__
        for kind in kinds_of_rows
        if (layout, kind) not in tried_kinds().layout_and_kind
    }
    assert untried <= {"Calibration"}


@pytest.mark.slow
def test_worlds_of_large_tables_have_studies_of_their_metrics():
    """A world simulates tables for a report. Some worlds have limits of their own, lower than the
    usual ones, so that their tables are read like large ones, in blocks. A table is drawn from each
    such world, and all metrics of the world must be computable from it: none raises an error.
    """
    import numbers_of

    for world in smallest_worlds():  # of worlds with one name, that of the fewest rows
        if world.limits is not USUAL_LIMITS:
            study = numbers_of.study(world, world.draw(np.random.default_rng(1), world.n))
            for chosen in study.settings.metrics:
                study.measure(chosen, study.systems[0])


def test_some_world_takes_numbers_from_each_frame():
    """Frames are the tables of a page whose intervals and tests are simulated."""
    import numbers_of
    from worlds import WORLDS

    frames_of_worlds = {frame for world in WORLDS for frame in world.frames}
    assert frames_of_worlds == set(numbers_of.VALUES | numbers_of.TESTS)


@pytest.mark.slow
def test_each_frame_of_the_worlds_has_numbers_in_one_sample():
    """A frame is a table of a page whose numbers are simulated. One sample of a world with the
    frame, that of the fewest rows, must give at least one number from it.
    """
    import numbers_of
    from worlds import WORLDS

    for frame in numbers_of.VALUES | numbers_of.TESTS:
        with_frame = [world for world in WORLDS if frame in world.frames]
        world = min(with_frame, key=lambda world: world.n)
        study = numbers_of.study(world, world.draw(np.random.default_rng(1), world.n))
        assert list(numbers_of.numbers(study, (frame,))), frame


# What a cell counts -------------------------------------------------------------------------------


def rating_world_without_rows():
    """A world of the rating report that draws no rows; its name is "a world"."""
    from world import World

    return World("a world", "rating", 50, lambda rng, n: {})


def cell_of_mae(kind, share, runs=1000, **options):
    """The cell of the MAE in `rating_world_without_rows`; share: of the samples whose interval
    holds the truth (kind "INTERVAL"), whose test rejects a true null ("TEST") or whose difference
    shows ("POWER").
    """
    import cells

    return cells.Cell(
        rating_world_without_rows(), "value: mae", getattr(cells, kind), share, runs, **options
    )


@pytest.mark.parametrize(
    "kind, share, state",
    [
        ("INTERVAL", 0.95, "inside"),
        ("INTERVAL", 0.917, "inside"),
        ("INTERVAL", 0.915, "outside"),
        ("INTERVAL", 0.99, "conservative"),
        ("TEST", 0.05, "inside"),
        ("TEST", 0.073, "inside"),
        ("TEST", 0.075, "outside"),
        ("TEST", 0.02, "conservative"),
        ("POWER", 0.8, "inside"),
        ("POWER", 0.7, "outside"),
        ("POWER", 0.9, "outside"),
    ],
)
def test_states_of_a_cell(kind, share, state):
    """Of 1,000 samples, with two standard errors of the nominal share beyond each bound:

    intervals: at least 0.93 − 2 √(0.95 · 0.05 / 1000) = 0.916, conservative above 0.97 + 0.014;
    tests: at most 0.06 + 0.014 = 0.074, conservative below 0.04 − 0.014;
    power: from 0.75 − 2 √(0.8 · 0.2 / 1000) = 0.725 to 0.85 + 0.025 = 0.875.
    """
    assert cell_of_mae(kind, share).state == state


@pytest.mark.parametrize(
    "kind, share, state",
    [
        ("INTERVAL", 0.86, "declared"),
        ("INTERVAL", 0.84, "outside"),
        ("TEST", 0.09, "declared"),
        ("TEST", 0.11, "outside"),
    ],
)
def test_a_declared_exception_covers_what_is_no_worse_than_it_says(kind, share, state):
    """The exception says: an interval holds the truth in at least 85% of the samples, a test
    rejects in at most 10%.
    """
    from declared import Declared

    exception = Declared("a world", "mae", "few rows", "The page says so.", least=0.85, most=0.1)
    assert cell_of_mae(kind, share, exceptions=(exception,)).state == state


def test_a_tally_counts_the_intervals_below_and_above_the_truth():
    """The truth is 1. The first interval holds it, the second lies above, and the third below. The
    fourth is undefined and does not count as a run.
    """
    import run
    from numbers_of import Number

    tally = run.Tally()
    for low, high in ((0.0, 2.0), (1.5, 2.0), (-1.0, 0.5), (np.nan, np.nan)):
        number = Number(table="value", name="mae", value=1.0, low=low, high=high)
        tally.add(number, truth=1.0)
    assert (tally.runs, tally.below, tally.above, tally.undefined) == (3, 1, 1, 1)


def test_power_is_the_share_of_samples_whose_test_rejects():
    """A benchmark simulates samples and tallies, for each number of a page, how its tests did. Here
    the number is a difference in MAE and the five samples are made up: only their p-values differ,
    of which four are below 0.05. `shows` is the difference that a planned test should detect with a
    power of 80%. Each sample has just this difference (`value`), so that no correction is needed
    and the power of the tally is the share of rejections, 4 of 5.

    `cells` turns the tallies of each world, here one that only lends its name, into a list of
    results; the one result is of the kind POWER.
    """
    import cells
    import run
    from numbers_of import Number

    tally = run.Tally()
    for p in [0.01, 0.01, 0.01, 0.01, 0.2]:
        number = Number(
            table="power", name="mae", value=0.5, low=0.0, high=1.0, p=p, truth=0.0, shows=0.5
        )
        # truth: what an interval should hold; power is of tests and does not depend on it
        tally.add(number, truth=0.0)
    tally_by_number = {"power: mae": tally}  # by table and name of the number
    (power,) = cells.cells({"w": rating_world_without_rows()}, {"w": tally_by_number})
    assert power.kind is cells.POWER
    assert power.share == pytest.approx(4 / 5)


def test_every_declared_exception_has_a_reason_and_a_sentence_for_the_page():
    """A declared exception is an interval or a test that is known to be worse than its nominal
    level; `told` is the sentence of the page about this. Its `least` share of intervals that hold
    the truth must be at most 93%, or its `most` share of tests that reject must be at least 6%,
    because within these bounds no exception is needed.
    """
    from declared import CAUSES, DECLARED

    for exception in DECLARED:
        assert exception.reason
        assert exception.told
        lowers_coverage = 0 < exception.least <= 0.93
        raises_level = 0.06 <= exception.most < 1
        assert lowers_coverage or raises_level
    assert all(cause.reason for cause in CAUSES)


@pytest.mark.parametrize("report", REPORTS)
def test_random_inputs_do_not_contradict_themselves(report):
    """`benchmarks/trust/consistent.py` with few inputs: limits in range, p below α where the
    interval excludes 0.
    """
    import consistent

    n_inputs = 3
    contradictions, larger = consistent.of_report(report, n_inputs)
    assert not [text for text, times in contradictions.items() if times]
    # with few differences above the detectable one, "cannot tell" may by chance be too frequent
    assert not larger.too_many or larger.every < 10


def test_a_p_value_above_alpha_beside_an_interval_without_0_is_a_contradiction():
    from types import SimpleNamespace

    import consistent

    row = SimpleNamespace(metric="mae", low=0.1, high=0.4, level=0.95, p=0.2, method="t")
    (text,) = consistent._of_difference(row, low=0.0, high=1.0)
    assert "p 0.2000 beside 0.1 to 0.4" in text


def test_a_limit_beyond_the_range_of_a_difference_is_a_contradiction():
    """Values from 0 to 1 differ by at most 1, not by −1.5."""
    from types import SimpleNamespace

    import consistent

    row = SimpleNamespace(metric="mae", low=-1.5, high=0.4, level=0.95, p=0.2, method="t")
    (text,) = consistent._of_difference(row, low=0.0, high=1.0)
    assert "a difference of -1.5 to 0.4 in a range of 0.0 to 1.0" in text


# A whole run --------------------------------------------------------------------------------------


def name_of_small_world():
    """The name of the world of two equal shares of successes, with 40 trials per sample."""
    import run

    return next(
        name for name, world in run.BY_NAME.items() if world.name == "shares" and world.n == 40
    )


@dataclass(frozen=True)
class TwoBatches:
    """Two batches, of 4 samples each, of the world `name_of_small_world`, kept in a folder.

    tallies: of each batch. true_values: by the name of the number. cells: of the first batch.
    """

    folder: Any
    true_values: dict
    tallies: list
    cells: list


@pytest.fixture(scope="module")
def two_kept_batches(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TRUST))
        import cells
        import run
    name = name_of_small_world()
    folder = run.Folder(tmp_path_factory.mktemp("batches"))
    true_values = run.kept_truth(name, folder)
    tallies = [run.kept_batch(name, number, true_values, folder, size=4) for number in range(2)]
    cells_of_first = cells.cells({name: run.BY_NAME[name]}, {name: tallies[0]})
    return TwoBatches(folder, true_values, tallies, cells_of_first)


def test_a_run_that_was_stopped_does_not_draw_its_batches_again(two_kept_batches, monkeypatch):
    """A world simulates data with a known truth, and a batch is 4 samples of it. `two_kept_batches`
    were drawn from one world and kept in a folder, and `tallies` are their results. Asked for
    again, they come from the folder: the function that draws is taken away.
    """
    import run

    monkeypatch.setattr(run, "batch", None)  # so that drawing would raise a TypeError
    again = [
        run.kept_batch(
            name_of_small_world(),
            number,
            two_kept_batches.true_values,
            two_kept_batches.folder,
            size=4,
        )
        for number in range(2)
    ]
    assert again == two_kept_batches.tallies


def test_the_batches_done_so_far_are_added_up(two_kept_batches):
    """Two batches of 4 samples each are kept in a folder."""
    import run

    name = name_of_small_world()
    tally = run.so_far([name], two_kept_batches.folder)[name]["value: share of successes"]
    assert tally.runs == 2 * 4


def test_shares_have_intervals_of_values_and_differences_and_a_test(two_kept_batches):
    assert {(cell.kind.name, cell.number) for cell in two_kept_batches.cells} == {
        ("interval", "value: share of successes"),
        ("interval", "difference: share of successes"),
        ("test", "difference: share of successes"),
    }


def test_the_trust_page_counts_samples_and_cells_and_names_the_world(two_kept_batches):
    """A world simulates data with a known truth for a report: "shares" two systems of 40 trials
    each for the significance report. From a batch of 4 samples come three cells, each the result of
    one kind of interval or test: the intervals of a value and of a difference, and a 5% test of the
    difference. The page names and counts these; it must not show paths of this machine.
    """
    import trust_page

    text = trust_page.text(two_kept_batches.cells, seed=1)
    assert "4 samples of each world" in text
    assert "1 of 1 5% tests reject" in text
    assert "| significance | 3 |" in text
    assert "shares, n = 40" in trust_page.tables(two_kept_batches.cells)
    assert str(two_kept_batches.folder.path) not in text
    assert sys.prefix not in text


def test_the_trust_page_is_written_and_its_summary_put_between_marks_of_the_readme(
    two_kept_batches, tmp_path
):
    """A world simulates data with a known truth, and a cell is the result of one kind of interval
    or test in a world: here two cells of 95% intervals and one of a 5% test. They are written into
    docs/trust.md, and their numbers between the two marks of the README, where "old" stood. The
    rest of the README is kept.
    """
    import trust_page

    (tmp_path / "docs").mkdir()
    readme = tmp_path / "README.md"
    begin, end = trust_page.BOUNDS
    readme.write_text(f"Before\n{begin}old{end}\nafter", encoding="utf-8")
    trust_page.write(tmp_path, two_kept_batches.cells, seed=1)
    page = (tmp_path / "docs" / "trust.md").read_text(encoding="utf-8")
    assert page == trust_page.text(two_kept_batches.cells, seed=1)
    assert str(tmp_path) not in page
    written = readme.read_text(encoding="utf-8")
    assert written.startswith("Before\n")
    assert written.endswith("\nafter")
    assert "old" not in written
    assert "| 95% intervals | 2 |" in written
    assert "| 5% tests | 1 |" in written


@pytest.fixture
def folder_of_three_batches(two_kept_batches, tmp_path, monkeypatch):
    """The folder of an earlier state of the code, with three batches, numbers 0 to 2, of 4 samples
    of the small world; batches that are drawn for comparison have 4 samples too.
    """
    import run

    (default_size,) = run.batch.__defaults__
    assert default_size == run.BATCH
    monkeypatch.setattr(run.batch, "__defaults__", (4,))
    folder = run.Folder(tmp_path / "earlier")
    shutil.copytree(two_kept_batches.folder.path, folder.path)
    run.kept_batch(name_of_small_world(), 2, two_kept_batches.true_values, folder, size=4)
    return folder


def test_batches_of_an_earlier_state_are_taken_over_if_the_first_two_are_drawn_alike(
    folder_of_three_batches, tmp_path
):
    """A world simulates data with a known truth, and a batch is the result of some samples of it.
    An earlier state of the code has kept the batches 0, 1 and 2. `take_over` draws batches 0 and 1
    with the code of today. They come out the same, so that the kept batches, number 2 too, are
    copied to the new folder in place of being drawn.
    """
    import run

    name = name_of_small_world()
    folder = run.Folder(tmp_path / "new")
    run.take_over(name, folder, folder_of_three_batches)
    third = f"{name} 2"  # the name of batch 2
    assert folder_of_three_batches.read(third) is not None
    assert folder.read(third) == folder_of_three_batches.read(third)


def test_batches_of_an_earlier_state_are_left_if_the_first_two_are_drawn_otherwise(
    folder_of_three_batches, tmp_path
):
    """A world simulates data with a known truth, and a batch is the result of some samples of it.
    An earlier state of the code has kept the batches 0, 1 and 2, where batch 1 is overwritten here
    with batch 0. `take_over` draws batches 0 and 1 with the code of today. Batch 1 comes out
    otherwise than kept, so that no batch is copied to the new folder.
    """
    import run

    world = name_of_small_world()
    batch_0 = folder_of_three_batches.read(f"{world} 0")
    folder_of_three_batches.write(f"{world} 1", batch_0)
    folder = run.Folder(tmp_path / "new")
    run.take_over(world, folder, folder_of_three_batches)
    assert folder.read(f"{world} 2") is None


# The order of rows --------------------------------------------------------------------------------


def ranked_lists(rng):
    """Ranked lists of graded items, with ties of scores, by systems whose names do not sort as they
    are made.
    """
    systems = rng.permutation(["zeta", "beta", "mu", "alpha"])[: rng.integers(2, 5)]
    queries = int(rng.integers(6, 25))
    depth = int(rng.integers(3, 9))
    grades = rng.integers(0, 3, (queries, depth))
    rows = [
        (
            system,
            f"q{q}",
            f"d{i}",
            round(float(rng.normal() + skill * grades[q, i]), 1),
            int(grades[q, i]),
        )
        for skill, system in enumerate(systems)
        for q in range(queries)
        for i in range(depth)
    ]
    return pd.DataFrame(rows, columns=["system", "query", "item", "score", "grade"])


def reordered(table, rng):
    """The same rows and columns in another order."""
    return table.iloc[rng.permutation(len(table))][
        list(rng.permutation(table.columns))
    ].reset_index(drop=True)


def numbers(study):
    """Every number of estimates and comparisons, and the words beside them, by what they are
    about.
    """
    kept = {}
    for frame, keys in (
        (study.estimates, ["metric", "system"]),
        (study.comparisons, ["metric", "first", "second"]),
    ):
        for row in frame.to_dict("records"):
            values = [v for v in row.values() if isinstance(v, int | float | np.number)]
            texts = [str(v) for name, v in row.items() if isinstance(v, str) and name not in keys]
            kept[tuple(row[name] for name in keys)] = (np.array(values, float), " ".join(texts))
    return kept


def assert_same_results(first, second):
    """Fail where a number or a word of the two studies differs."""
    expected = numbers(first)
    found = numbers(second)
    assert list(expected) == list(found)
    for key, (values, words) in expected.items():
        np.testing.assert_allclose(found[key][0], values, rtol=1e-12, atol=1e-12, err_msg=str(key))
        assert found[key][1] == words


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("report", REPORTS)
def test_the_order_of_rows_and_columns_changes_no_number(report, seed):
    """A world simulates tables for one report. One of the worlds of the report whose page compares
    systems is chosen at random, and its tables, of at most 200 rows, are read in their own and in
    another order of rows and columns. All estimates and comparisons are the same.
    """
    from numbers_of import study
    from worlds import WORLDS

    rng = np.random.default_rng(seed)
    worlds = [world for world in WORLDS if world.report == report and "differences" in world.frames]
    world = worlds[rng.integers(len(worlds))]
    tables = world.draw(rng, min(world.n, 200))
    reordered_tables = {name: reordered(table, rng) for name, table in tables.items()}
    assert_same_results(study(world, tables), study(world, reordered_tables))


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_lists_with_ties_and_of_judgements_changes_no_number(seed):
    """Ranked lists with tied scores and with grades, the judgements of their items, are read as
    drawn, then with rows and columns in another order, and then with the grades in a table of their
    own. All estimates and comparisons are the same.
    """
    rng = np.random.default_rng(seed)
    graded_lists = ranked_lists(rng)
    grades = graded_lists[["query", "item", "grade"]].drop_duplicates()
    study = ranking.read(graded_lists, metrics="ndcg@3,map")
    study_of_reordered_lists = ranking.read(reordered(graded_lists, rng), metrics="ndcg@3,map")
    study_of_two_tables = ranking.read(
        reordered(graded_lists.drop(columns="grade"), rng),
        reordered(grades, rng),
        metrics="ndcg@3,map",
    )
    assert_same_results(study, study_of_reordered_lists)
    assert_same_results(study, study_of_two_tables)


ALPHA = 0.05


def skewless(g, n):
    return g.laplace(size=n)


def ranked(g, test, n=20, k=4):
    return test(g.normal(size=(n, 1)) + g.normal(size=(n, k)))


def cross_validated(g, n=200):
    """Differences over ten times ten folds."""
    label = g.integers(0, 2, n)
    fold = np.argsort(g.random((10, n)), axis=1) % 10
    first, second = (lessons.fold_accuracies(g.normal(label, 1.0), label, fold) for _ in range(2))
    return first - second


def corrected_for_looks(g, looks=5, step=40):
    """The smallest p of five looks at growing data, as the significance report corrects it."""
    d = g.normal(size=looks * step)
    p = min(sig.paired_t(d[: step * (i + 1)]).p_value for i in range(looks))
    return multiplicity.false_positive_rate(looks, level=1 - p) if p > 1e-6 else looks * p


def users(g):
    """Differences and rows of 100 users, most rows of a few."""
    rows = np.ceil(g.lognormal(1, 0.8, 100)).astype(int)
    rate = g.beta(2, 18, 100)
    return g.binomial(rows, rate) - g.binomial(rows, rate), rows


def of_two_models(g, name):
    """The p of a metric of two equally good models of the same rows."""
    label = (g.random(200) < 0.4).astype(np.int64)
    base = g.normal(size=200) + label
    first, second = (
        RowStatistic(find_metric(name, "counts"), Rows(label, base + g.normal(0, 0.7, 200), 0.5))
        for _ in range(2)
    )
    return inference.compare(first, second, Options(0.95, g)).p_value


SIMULATED = {
    "paired t": lambda g: sig.paired_t(g.normal(size=200)).p_value,
    "sign flip": lambda g: sig.sign_flip(g.standard_t(4, 200), rng=g, draws=1000).p_value,
    "Wilcoxon, symmetric": lambda g: multiplicity.wilcoxon(skewless(g, 40)),
    "two-sided sign test": lambda g: proportions.sign_test(skewless(g, 200)).p_value,
    "Friedman": lambda g: ranked(g, lambda values: multiplicity.ranked(values).friedman),
    "Iman–Davenport": lambda g: ranked(
        g, lambda values: multiplicity.ranked(values).iman_davenport
    ),
    "Nadeau–Bengio": lambda g: sig.nadeau_bengio(cross_validated(g), train=9, test=1).p_value,
    "five looks, corrected": corrected_for_looks,
    "any of five columns": lambda g: multiplicity.max_t(
        g.normal(size=(12, 5)), rng=g, draws=1
    ).min(),
    "flips of whole users": lambda g: sig.sign_flip(*users(g), rng=g, draws=1000).p_value,
    "DeLong": lambda g: of_two_models(g, "roc_auc"),
    "influence of rows": lambda g: of_two_models(g, "f1"),
}
RUNS = 150


@pytest.mark.parametrize("name", SIMULATED)
def test_a_true_null_is_rejected_as_rarely_as_is_said(name):
    """In 5% of 150 samples, and 3.5 standard errors of a share of 150 beyond."""
    generator = rng(1)
    p = np.array([SIMULATED[name](generator) for _ in range(RUNS)])
    assert np.mean(p < ALPHA) <= ALPHA + 3.5 * np.sqrt(ALPHA * (1 - ALPHA) / RUNS)


def area(g):
    """AUC of 20 and 80 normal scores, 0.95 in truth."""
    positive = g.normal(np.sqrt(2) * stats.norm.ppf(0.95), 1, 20)
    negative = g.normal(0, 1, 80)
    wins = np.greater.outer(positive, negative)
    error = np.hypot(*(wins.mean(axis=i).std(ddof=1) / np.sqrt(wins.shape[1 - i]) for i in (0, 1)))
    return closed_forms.auc_interval(float(wins.mean()), float(error), 20, 80)


def coverage_of_items(g):
    """The share of 300 items that 100 lists of 8 show; a popularity that falls as 1 / rank."""
    item = np.argsort(np.log(np.arange(1, 301)) - g.gumbel(size=(100, 300)), axis=1)[:, :8]
    by_list = diversity.catalogue_coverage_by_list(
        diversity.Items(item.ravel(), np.arange(101) * 8, 300)
    )
    return intervals.mean_t(by_list)


HELD = {  # a sample's interval, and the truth
    "Hall, lognormal": (lambda g: intervals.mean(g.lognormal(0, 1, 50)), np.exp(0.5)),
    "bounded mean": (lambda g: intervals.mean(g.beta(0.3, 3, 10), ends=(0, 1)), 0.3 / 3.3),
    "BCa": (
        lambda g: sig.paired_bootstrap(g.gamma(2, 1, 60), rng=g, resamples=1000).difference,
        2.0,
    ),
    "sign flip": (lambda g: sig.sign_flip(g.normal(0.7, 1, 30), rng=g, draws=500).difference, 0.7),
    "users": (lambda g: intervals.ratio_delta(*users(g)), 0.0),
    "AUC": (area, 0.95),
    "coverage of items": (coverage_of_items, 0.6679),
}


@pytest.mark.parametrize("name", HELD)
def test_the_interval_holds_the_truth_as_often_as_is_said(name):
    """In 95% of 300 samples, less 3.5 standard errors of a share of 300."""
    generator = rng(2)
    draw_interval, truth = HELD[name]
    intervals_of_samples = [draw_interval(generator) for _ in range(2 * RUNS)]
    held = [estimate.low <= truth <= estimate.high for estimate in intervals_of_samples]
    assert np.mean(held) >= 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / (2 * RUNS))


GATES = ("a mean", "a share", "an AUC", "an nDCG", "a ratio with clusters", "ten rules")


@pytest.mark.parametrize("name", GATES)
def test_a_regression_three_times_the_stated_one_fails_the_gate(name, monkeypatch):
    """A gate is a rule that a new version must keep. From a sample without a regression, the gate
    states in `catches` the regression that makes it fail with 80% probability. A sample with a
    regression three times as large fails the gate almost surely. The samples are drawn with
    different seeds (`key`) in batches of one, of which the first is taken (`place` 0).
    """
    import gates

    monkeypatch.setattr(gates, "BATCH", 1)  # samples per batch
    options = {
        "n": gates.BY_NAME[name].n,
        "place": 0,
        "catch": 0.0,  # no regression is stated that the gate should catch
    }
    (unchanged,) = gates.batch(name, regression=0.0, key=2, **options)
    assert unchanged.catches > 0
    (worse,) = gates.batch(name, regression=3 * unchanged.catches, key=3, **options)
    assert worse.failed
