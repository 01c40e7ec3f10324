"""`make bench-guard`: what it calls slower. Nothing is timed here."""

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def loaded(name):
    """A module of benchmarks, with its neighbours: two oracles have the names of some of them."""
    names = {path.stem for path in BENCHMARKS.glob("*.py")}
    others = {name: sys.modules.pop(name) for name in names & {*sys.modules}}
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(BENCHMARKS))
        for neighbour in names & {*sys.modules}:
            del sys.modules[neighbour]
        sys.modules.update(others)


guard = loaded("guard")

STORED = guard.Ratio(2.0, "abc12345", "2026-11-28", "a processor")


def work():
    """What takes the seconds that a test says."""


def peer():
    """What takes one second."""


@pytest.fixture
def takes(monkeypatch):
    """Makes the only workload take these seconds, turn by turn, of which the last stays."""

    def seconds(*turns):
        left = list(turns)
        clock = {work: lambda: left.pop(0) if len(left) > 1 else left[0], peer: lambda: 1.0}
        monkeypatch.setattr(guard, "cpu", lambda one: clock[one]())

    monkeypatch.setattr(guard, "WORKLOADS", {"reading": lambda folder: guard.Workload(work, peer)})
    monkeypatch.setattr(guard, "load", lambda: {"reading": STORED})
    return seconds


def test_a_fifth_more_passes(takes):
    takes(2.4)
    assert guard.slower(["reading"]) == []


def test_what_is_worse_is_named_with_both_ratios(takes):
    takes(2.42)
    (sentence,) = guard.slower(["reading"])
    assert sentence.startswith("reading: 2.42 times the peer, stored 2 (abc12345, 2026-11-28")


def test_the_least_of_the_turns_counts(takes):
    takes(9.0, 2.0, 9.0)
    assert guard.slower(["reading"]) == []


def test_what_looks_worse_is_measured_again(takes):
    takes(*[9.0] * (guard.TURNS * guard.AGAIN), 2.0)
    assert guard.slower(["reading"]) == []


def test_a_workload_without_a_stored_ratio_fails(takes, monkeypatch):
    takes(2.0)
    monkeypatch.setattr(guard, "load", dict)
    assert guard.slower(["reading"]) == ["reading: no ratio is stored; make bench-guard WRITE=1"]


def test_each_workload_has_a_stored_ratio():
    assert guard.load().keys() == guard.WORKLOADS.keys()


@pytest.mark.parametrize("name", guard.PLANTED)
def test_a_planted_slow_down_finds_the_code_that_it_slows(name):
    assert name in guard.WORKLOADS
    with guard.PLANTED[name]():
        pass


def test_what_is_written_is_what_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(guard, "STORED", tmp_path / "guard.toml")
    guard.STORED.write_text(guard.HEAD + STORED.line("A/B test"), encoding="utf-8")
    assert guard.load() == {"A/B test": STORED}
