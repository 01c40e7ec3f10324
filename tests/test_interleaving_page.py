"""The interleaving page: what it says of its samples, what it leaves out, hostile text, the files."""

import json
from pathlib import Path

import pandas as pd
import pytest
from online_samples import SMALL, log, users

from evalkit.pages import experiment_page, interleaving_page
from evalkit.studies import interleaving
from evalkit.studies.interleaving import Online

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def sample() -> Online:
    return interleaving.read(simulated_users=4000, rankers=4)


def test_the_sample_says_that_it_is_simulated(sample):
    assert sample.log.simulated
    assert "its users and clicks are simulated" in interleaving_page.verdict(sample).text
    assert interleaving.read("data/interleaving/sessions.parquet", neutral="both", **SMALL).log.simulated
    assert not interleaving.read(log(), **SMALL).log.simulated
    assert "simulated" in interleaving_page.findings(sample.log).text
    assert "simulated clicks" in interleaving_page.by_position(sample.log).caption
    pieces = [interleaving_page.errors(sample.planning).caption, interleaving_page.agreement(sample.planning).caption]
    assert all(caption.startswith("Simulated, not observed") for caption in pieces)
    assert "sigma 1.5" in interleaving_page.answer(sample.planning).text
    assert sample.log.headline[["first", "verdict"]].iloc[0].tolist() == ["candidate", "better"]


def test_users_won_tied_and_lost_are_those_of_the_sample_size():
    study = interleaving.read(
        log=log(outcome=[0, 0] + [3, 2] * 8 + [15, 35]), preference="user_share,credit_share", world="none"
    ).log
    wins = study.comparisons[["wins", "ties", "losses"]].sum(axis=1)
    assert study.silent > 0
    assert wins.tolist() == study.comparisons["n"].tolist()


def test_the_rand_sample_owns_up_to_its_units(sample):
    text = experiment_page.findings(sample.users).text
    assert "has no person id" in text
    assert "intervals are somewhat too narrow" in text
    assert sample.users.headline["n"].iloc[0] == 5203


def test_the_bundled_table_is_made_from_rand_hie():
    table = pd.read_parquet(ROOT / "data" / "interleaving" / "health_plans.parquet")
    rows = pd.read_parquet(ROOT / "data" / "rand_hie" / "visits.parquet")
    assert table["years"].sum() == len(rows)
    assert table["visits"].sum() == rows["mdvis"].sum()
    assert table.loc[table["plan"] == "free", "years"].sum() == (rows["lncoins"] == 0).sum()


def test_a_part_that_was_not_given_is_not_shown():
    only = interleaving.read(log(), **SMALL)
    assert only.users is None
    assert only.planning is None
    assert experiment_page.findings(only.users).html == ""
    assert interleaving_page.answer(only.planning).html == ""
    assert interleaving_page.errors(only.planning).html == ""
    assert "A/B" not in interleaving_page.verdict(only).text
    assert interleaving_page.results(only).results["users"] is None
    other = interleaving.read(users=users(), metrics="orders", **SMALL)
    assert other.log is None
    assert interleaving_page.findings(other.log).html == ""


def test_nothing_is_simulated_beside_data_unless_it_is_asked_for():
    assert interleaving.read(users=users(), metrics="orders").planning is None
    asked = interleaving.read(users=users(), metrics="orders", world="positions", simulated_users=1000, rankers=3)
    assert asked.planning.name == "positions"


def test_one_gate_for_log_and_table():
    both = interleaving.read(log(), users(), metrics="orders", baseline="a", gate="not worse", **SMALL)
    assert both.gate["rule"].count("not worse against a") == 2
    assert both.gate["passed"] == all(one.gate["passed"] for one in both.studies)


def test_hostile_text_stays_text():
    bad = '<img src=x onerror="alert(1)">'
    table = users(arm=[bad, "b"] * 4, country=[bad, "y"] * 4)
    study = interleaving.read(
        log(team=[bad, "b"] * 10, device=[bad] * 20), table, metrics="orders", segments="device,country", **SMALL
    )
    pieces = [interleaving_page.verdict(study), interleaving_page.title(study), interleaving_page.definitions(study)]
    pieces += [
        make(study.log) for make in (interleaving_page.findings, interleaving_page.checks, interleaving_page.segments)
    ]
    pieces += [make(study.log) for make in (interleaving_page.balance, interleaving_page.by_position)]
    pieces += [make(study.users) for make in (experiment_page.findings, experiment_page.comparisons)]
    pieces += [make(study.users) for make in (experiment_page.adjustments, experiment_page.segments)]
    pieces += [experiment_page.heavy_users(study.users), experiment_page.users_for(study.users)]
    for piece in pieces:
        assert "<img" not in piece._repr_mimebundle_()["text/html"]


def test_the_sample_has_a_log_a_plan_and_users(sample_reports):
    results = json.loads((sample_reports / "interleaving.json").read_text(encoding="utf-8"))
    assert results["log"]["simulated"]
    assert results["planning"]["simulated"]
    assert results["users"]["population"]["sizes"] == {"free": 2888, "paying": 2315}
