"""`make trust` and its worlds of every metric; levels and coverage in brief; the order of rows and
systems.
"""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from samples import rng
from scipy import stats

from evalkit.catalogue import lookup
from evalkit.catalogue.lookup import find_metric
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

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "trust"


@pytest.fixture(autouse=True)
def _beside(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


@cache
def tried():
    """(structure, kind) and (layout, kind) of every metric that a world measures."""
    import numbers_of
    from worlds import WORLDS

    smallest = {world.name: world for world in sorted(WORLDS, key=lambda world: -world.n)}
    by_structure = set()
    by_layout = set()
    for world in smallest.values():
        study = numbers_of.study(world, world.draw(np.random.default_rng(1), world.n))
        for chosen in study.settings.metrics:
            by_structure.add((chosen.metric.structure, type(chosen.metric.kind)))
            layout = study.measure(chosen, study.systems[0]).layout
            by_layout |= {(layout, type(one.metric.kind)) for one in (chosen, chosen.base)}
    return by_structure, by_layout


METRICS = [metric for table in lookup.TABLES.values() for metric in table.values()]


def test_every_metric_is_of_a_kind_that_a_world_tries():
    """Add a metric of a new kind to a world of benchmarks/trust/worlds.py."""
    untried = [
        metric for metric in METRICS if (metric.structure, type(metric.kind)) not in tried()[0]
    ]
    assert not [f"{metric.structure} {metric.name}" for metric in untried]


@pytest.mark.parametrize("layout", [Layout.PLAIN, Layout.CLUSTERED, Layout.WEIGHTED])
def test_every_kind_of_rows_is_tried_by_unit_and_with_weights_too(layout):
    rows = {
        type(metric.kind)
        for metric in METRICS
        if metric.structure in ("counts", "classes", "labels", "forecasts")
    }
    missing = {kind.__name__ for kind in rows if (layout, kind) not in tried()[1]}
    assert missing <= {"Calibration"}, missing  # has no interval and no test there


def test_a_sample_of_every_frame_has_numbers():
    """Each frame is read by a world."""
    import numbers_of
    from worlds import WORLDS

    read = {frame for world in WORLDS for frame in world.frames}
    assert read == set(numbers_of.VALUES | numbers_of.TESTS)


# What a cell counts -------------------------------------------------------------------------------


def world(name="a world"):
    from world import World

    return World(name, "rating", 50, lambda rng, n: {})


def cell(kind, share, runs=1000, **options):
    import cells

    return cells.Cell(world(), "value: mae", getattr(cells, kind), share, runs, **options)


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
    """Bounds 93%, 6%, 75 to 85%, and two standard errors of 1,000 samples beyond."""
    assert cell(kind, share).state == state


def test_an_exception_covers_what_is_no_worse_than_it_says():
    from declared import Declared

    declared = (Declared("a world", "mae", "few rows", "The page says so.", least=0.85, most=0.1),)
    assert [cell("INTERVAL", share, exceptions=declared).state for share in (0.86, 0.84)] == [
        "declared",
        "outside",
    ]
    assert [cell("TEST", share, exceptions=declared).state for share in (0.09, 0.11)] == [
        "declared",
        "outside",
    ]


def test_a_tally_counts_each_side_and_the_power_at_what_would_show():
    import cells
    import run
    from numbers_of import Number

    tally = run.Tally()
    for low, high in ((0.0, 2.0), (1.5, 2.0), (-1.0, 0.5)):
        tally.add(Number("value", "mae", 1.0, low, high), 1.0)
    assert (tally.runs, tally.below, tally.above, tally.undefined) == (3, 1, 1, 0)
    tally.add(Number("value", "mae", 1.0, np.nan, np.nan), 1.0)
    assert (tally.runs, tally.undefined) == (3, 1)
    planned = run.Tally()
    for p in [0.01] * 4 + [0.2]:
        planned.add(Number("power", "mae", 0.5, 0.0, 1.0, p, 0.0, shows=0.5), 0.0)
    (only,) = cells.cells({"w": world()}, {"w": {"power: mae": planned}})
    assert only.kind is cells.POWER
    assert only.share == pytest.approx(0.8)


def test_every_exception_says_why_and_what_the_page_says():
    from declared import CAUSES, DECLARED

    for exception in DECLARED:
        assert exception.reason
        assert exception.told
        assert 0 < exception.least <= 0.93 or 0.06 <= exception.most < 1
    assert all(cause.reason for cause in CAUSES)


@pytest.mark.parametrize("report", REPORTS)
def test_random_inputs_do_not_contradict_themselves(report):
    """`benchmarks/trust/consistent.py` with few inputs: limits in range, p below α where the
    interval excludes 0.
    """
    import consistent

    tally, larger = consistent.of_report(report, 3)
    assert not larger.too_many or larger.every < 10
    assert not [text for text, times in tally.items() if times]


def test_contradictions_are_seen():
    from types import SimpleNamespace

    import consistent

    row = SimpleNamespace(metric="mae", low=0.1, high=0.4, level=0.95, p=0.2, method="t")
    (text,) = consistent._of_difference(row, 0.0, 1.0)
    assert "p 0.2000 beside 0.1 to 0.4" in text
    row = SimpleNamespace(metric="mae", low=-1.5, high=0.4, level=0.95, p=0.2, method="t")
    assert len(list(consistent._of_difference(row, 0.0, 1.0))) == 1


# A whole run --------------------------------------------------------------------------------------


def test_a_run_that_was_stopped_goes_on(tmp_path, monkeypatch):
    """Batches that are there are not drawn again; the page names world, number and share."""
    import cells
    import run
    import trust_page

    name = next(
        name for name, world in run.BY_NAME.items() if world.name == "shares" and world.n == 40
    )
    folder = run.Folder(tmp_path)
    true = run.kept_truth(name, folder)
    first = [run.kept_batch(name, number, true, folder, 4) for number in range(2)]
    monkeypatch.setattr(run, "batch", None)
    assert [run.kept_batch(name, number, true, folder, 4) for number in range(2)] == first
    every = cells.cells({name: run.BY_NAME[name]}, {name: first[0]})
    assert {(c.kind.name, c.number) for c in every} == {
        ("interval", "value: share of successes"),
        ("interval", "difference: share of successes"),
        ("test", "difference: share of successes"),
    }
    text = trust_page.text(every, seed=1)
    assert "4 samples of each world" in text
    assert "shares, n = 40" in trust_page.tables(every)
    assert "1 of 1 5% tests reject" in text
    assert run.so_far([name], folder)[name]["value: share of successes"].runs == 8
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(
        "Before\n" + "old".join(trust_page.BOUNDS) + "\nafter", encoding="utf-8"
    )
    trust_page.write(tmp_path, every, seed=1)
    assert (tmp_path / "docs" / "trust.md").read_text(encoding="utf-8") == text
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("Before\n")
    assert readme.endswith("\nafter")
    assert "| 95% intervals | 2 |" in readme
    assert "| 5% tests | 1 |" in readme
    assert "old" not in readme
    assert "| significance | 3 |" in text
    assert str(tmp_path) not in text
    assert sys.prefix not in text


def test_batches_of_an_earlier_state_are_taken_where_the_first_come_out_the_same(
    tmp_path, monkeypatch
):
    import run

    monkeypatch.setattr(run.batch, "__defaults__", (4,))
    name = next(
        name for name, world in run.BY_NAME.items() if world.name == "shares" and world.n == 40
    )
    earlier, folder, other = (
        run.Folder(tmp_path / part) for part in ("earlier", "same", "changed")
    )
    true = run.kept_truth(name, earlier)
    for number in range(3):
        run.kept_batch(name, number, true, earlier, 4)
    run.take_over(name, folder, earlier)
    assert folder.read(f"{name} 2") == earlier.read(f"{name} 2") is not None
    earlier.write(f"{name} 1", earlier.read(f"{name} 0"))
    run.take_over(name, other, earlier)
    assert other.read(f"{name} 2") is None


TRUST = Path(__file__).resolve().parents[1] / "benchmarks" / "trust"


def lists(rng):
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


def check(first, second):
    """Fails where a number or a word of the two studies differs."""
    expected = numbers(first)
    found = numbers(second)
    assert list(expected) == list(found)
    for key, (values, words) in expected.items():
        np.testing.assert_allclose(found[key][0], values, rtol=1e-12, atol=1e-12, err_msg=str(key))
        assert found[key][1] == words


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("report", REPORTS)
def test_the_order_of_rows_and_columns_changes_no_number(report, seed, monkeypatch):
    monkeypatch.syspath_prepend(str(TRUST))
    from numbers_of import study
    from worlds import WORLDS

    rng = np.random.default_rng(seed)
    worlds = [world for world in WORLDS if world.report == report and "differences" in world.frames]
    world = worlds[rng.integers(len(worlds))]
    tables = world.draw(rng, min(world.n, 200))
    check(
        study(world, tables),
        study(world, {name: reordered(table, rng) for name, table in tables.items()}),
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_lists_with_ties_and_of_judgements_changes_no_number(seed):
    rng = np.random.default_rng(seed)
    table = lists(rng)
    grades = table[["query", "item", "grade"]].drop_duplicates()
    whole, again = (
        ranking.read(one, metrics="ndcg@3,map") for one in (table, reordered(table, rng))
    )
    run = reordered(table.drop(columns="grade"), rng)
    check(whole, again)
    check(whole, ranking.read(run, reordered(grades, rng), metrics="ndcg@3,map"))


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
    g = rng(1)
    p = np.array([SIMULATED[name](g) for _ in range(RUNS)])
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
def test_the_truth_is_held_as_often_as_is_said(name):
    g, (draw, truth) = rng(2), HELD[name]
    held = [e.low <= truth <= e.high for e in (draw(g) for _ in range(2 * RUNS))]
    assert np.mean(held) >= 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / (2 * RUNS))


GATES = ("a mean", "a share", "an AUC", "an nDCG", "a ratio with clusters", "ten rules")


@pytest.mark.parametrize("name", GATES)
def test_a_regression_far_beyond_the_stated_one_fails_the_gate(name, monkeypatch):
    import gates

    monkeypatch.setattr(gates, "BATCH", 1)
    world = gates.BY_NAME[name]
    (unchanged,) = gates.batch(name, 0.0, world.n, 0, 2, 0.0)
    (planted,) = gates.batch(name, 3 * unchanged.catches, world.n, 0, 3, 0.0)
    assert unchanged.catches > 0
    assert planted.failed
