"""`make trust`: every kind of metric has a world, what a cell counts, what is declared, and that a run goes on."""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from evalkit.catalogue import lookup
from evalkit.parameters import REPORTS
from evalkit.statistics.statistic import Layout

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
    by_structure, by_layout = set(), set()
    for world in smallest.values():
        study = numbers_of.study(world, world.draw(np.random.default_rng(1), world.n))
        for chosen in study.settings.metrics:
            by_structure.add((chosen.metric.structure, type(chosen.metric.kind)))
            layout = study.measure(chosen, study.systems[0]).layout
            by_layout |= {(layout, type(one.metric.kind)) for one in (chosen, chosen.base)}
    return by_structure, by_layout


METRICS = [metric for table in lookup.TABLES.values() for metric in table.values()]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: f"{metric.structure} {metric.name}")
def test_every_metric_is_of_a_kind_that_a_world_tries(metric):
    """Add a metric of a new kind to a world of benchmarks/trust/worlds.py."""
    assert (metric.structure, type(metric.kind)) in tried()[0]


@pytest.mark.parametrize("layout", [Layout.PLAIN, Layout.CLUSTERED, Layout.WEIGHTED])
def test_every_kind_of_rows_is_tried_by_unit_and_with_weights_too(layout):
    rows = {type(metric.kind) for metric in METRICS if metric.structure in ("counts", "classes", "labels", "forecasts")}
    missing = {kind.__name__ for kind in rows if (layout, kind) not in tried()[1]}
    assert missing <= {"Calibration"}, missing  # has no interval and no test there


def test_a_sample_of_every_frame_has_numbers():
    """Each frame is read by a world."""
    import numbers_of
    from worlds import WORLDS

    read = {frame for world in WORLDS for frame in world.frames}
    assert read == set(numbers_of.VALUES | numbers_of.TESTS)


# What a cell counts ---------------------------------------------------------------------------------------------------


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
    assert [cell("INTERVAL", share, exceptions=declared).state for share in (0.86, 0.84)] == ["declared", "outside"]
    assert [cell("TEST", share, exceptions=declared).state for share in (0.09, 0.11)] == ["declared", "outside"]


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
    """`benchmarks/trust/consistent.py` with few inputs: limits in range, p below α where the interval excludes 0."""
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


# A whole run ----------------------------------------------------------------------------------------------------------


def test_a_run_that_was_stopped_goes_on(tmp_path, monkeypatch):
    """Batches that are there are not drawn again; the page names world, number and share."""
    import cells
    import page
    import run

    name = next(name for name, world in run.BY_NAME.items() if world.name == "shares" and world.n == 40)
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
    text = page.text(every, seed=1)
    assert "4 samples of each world" in text
    assert "shares, n = 40" in page.tables(every)
    assert "1 of 1 5% tests reject" in text
    assert run.so_far([name], folder)[name]["value: share of successes"].runs == 8
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("Before\n" + "old".join(page.BOUNDS) + "\nafter", encoding="utf-8")
    page.write(tmp_path, every, seed=1)
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


def test_batches_of_an_earlier_state_are_taken_where_the_first_come_out_the_same(tmp_path):
    import run

    name = next(name for name, world in run.BY_NAME.items() if world.name == "shares" and world.n == 40)
    earlier, folder, other = (run.Folder(tmp_path / part) for part in ("earlier", "same", "changed"))
    true = run.kept_truth(name, earlier)
    for number in range(3):
        run.kept_batch(name, number, true, earlier)
    run.take_over(name, folder, earlier)
    assert folder.read(f"{name} 2") == earlier.read(f"{name} 2") is not None
    earlier.write(f"{name} 1", earlier.read(f"{name} 0"))
    run.take_over(name, other, earlier)
    assert other.read(f"{name} 2") is None
