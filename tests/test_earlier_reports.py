"""Reports made by an earlier version (commit 3f0dfb26), kept in tests/earlier_reports: they are
diffed, checked and indexed.
"""

import shutil
from pathlib import Path

import pandas as pd
import pytest

import evalkit as ek
from evalkit import __main__ as command
from evalkit.commands import index

KEPT = Path(__file__).resolve().parent / "earlier_reports"
RULES = {
    "classification": "roc_auc not worse than base",
    "ranking": "ndcg@3 not worse than base",
    "rating": "mae.low >= 0",
    "significance": "minutes.low >= 1",
    "validation": "accuracy.low >= 0.1",
    "interleaving": "orders not worse",
    "alone": "mae.low >= 0",
}


@pytest.fixture
def kept(tmp_path):
    """A copy of the reports, which a command may write beside."""
    return Path(shutil.copytree(KEPT, tmp_path / "reports"))


def diff(kind, **parameters):
    old, new = (KEPT / day / f"{kind}.units.parquet" for day in ("day1", "day2"))
    return ek.diff(old, new, **parameters)


@pytest.mark.parametrize("kind", RULES)
def test_an_earlier_report_is_diffed(kind):
    account = diff(kind).account
    terms = account[["changed", "left", "came"]].sum(axis=1)
    assert terms.to_numpy() == pytest.approx(account["change"].to_numpy(), abs=1e-12)


@pytest.mark.parametrize("kind", RULES)
def test_an_earlier_report_is_checked(kind, capsys):
    assert command.main(["check", str(KEPT / "day1" / f"{kind}.json"), RULES[kind]]) == 0
    assert ": kept" in capsys.readouterr().out


def test_an_earlier_diff_is_checked(capsys):
    file = KEPT / "day2" / "diff.json"
    assert command.main(["check", str(file), "roc_auc not worse"]) == 0
    assert ": kept" in capsys.readouterr().out


def test_earlier_reports_are_indexed(kept):
    frame = index.read(kept)
    assert {*frame["report"]} == {*RULES} - {"alone"} | {"diff"}
    assert command.main(["index", str(kept)]) == 0


@pytest.mark.parametrize(
    ("kind", "metric"), [("significance", "minutes"), ("interleaving", "widgets")]
)
def test_a_direction_that_was_assumed_is_not_known(kind, metric):
    study = diff(kind, metrics=metric, gate="not worse")
    assert study.primary_metric.metric.best == "unknown"
    assert study.gate.message.startswith("gate not decided")


@pytest.mark.parametrize("kind", ["significance", "interleaving"])
def test_a_check_of_such_a_direction_is_not_decided(kind, capsys):
    rule = {"significance": "minutes better than base", "interleaving": "widgets better"}[kind]
    assert command.main(["check", str(KEPT / "day1" / f"{kind}.json"), rule]) == 3
    assert "gate not decided" in capsys.readouterr().err


def test_a_system_without_a_name_is_the_partner_of_one_with_a_name(tmp_path):
    table = pd.DataFrame({"id": range(40), "actual": 1.0, "forecast_forest": 2.0})
    ek.rating(table, metrics="mae").save(tmp_path / "rating.units.parquet")
    study = ek.diff(KEPT / "day1" / "alone.units.parquet", tmp_path / "rating.units.parquet")
    assert study.old_name_by_new == {"forest": "system"}
