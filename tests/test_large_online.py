"""Users and sessions that are read block by block: the page of memory, to the last word, and the same refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from large_online import FRAMES, GIVEN, SHARDS, log, study, users
from large_same import same

import evalkit as ek
from evalkit.arrays import InputError, ParameterError
from evalkit.limits import Limits, Reading
from evalkit.pages import interleaving_page
from evalkit.parameters import Interleaving
from evalkit.studies import interleaving

BLOCKS = Limits(reading=SHARDS)
PLAIN = {
    "users": ("crossed", "sizes", "systems", "opponents", "order", "others", "sample_ratio"),
    "log": ("users", "silent", "items", "sessions", "session_p", "order", "opponents", "systems", "unit_name"),
}


def same_studies(kind, held, blocks, rel=1e-12):
    for name in FRAMES[kind]:
        same(getattr(held, name), getattr(blocks, name), rel)
    for name in PLAIN[kind]:
        assert getattr(held, name) == getattr(blocks, name), name


def two_arms():
    table = users().assign(age_group=lambda rows: (rows["age"] // 40).astype(str))
    several = table.groupby("user")["arm"].nunique() > 1
    alone = table[~table["user"].map(several) & (table["arm"] != "c")]
    return alone.drop(columns="user")


def skewed():
    rng = np.random.default_rng(2)
    spent = np.where(rng.random(600) < 0.1, rng.lognormal(3, 1.5, 600), 0)
    return pd.DataFrame({"arm": ["a"] * 500 + ["b"] * 100, "spent": spent})


def clicks():
    return log().assign(click=(log()["click"] > 0).astype(int))


def once():
    """Without neutral items, each item shown once."""
    team = log()["team"].where(log()["team"] != "both", "a")
    return log().assign(team=team, item=np.arange(len(log())).astype(str))


ALONE = {"before": None, "strata": None, "segments": None, "shares": "unknown"}
CASES = {
    "users": ("users", users, {}),
    "users, baseline and low": ("users", users, {"baseline": "b", "best": "low"}),
    "users, two arms": ("users", two_arms, {"metrics": "spent", "strata": "age_group", "shares": "unknown"}),
    "users, a share first": ("users", users, {"metrics": "bought,orders", "cap": 0.8}),
    "users, a ratio alone": ("users", users, {"metrics": "spent/visits"}),
    "users, skewed": ("users", skewed, {"metrics": "spent", **ALONE}),
    "log": ("log", log, {}),
    "log, a baseline": ("log", log, {"preference": "session_wins", "baseline": "b", "margin": 0.05}),
    "log, another level": ("log", log, {"preference": "user_preference,credit_share", "level": 0.9}),
    "log, no segments": ("log", once, {"segments": None, "neutral": None, "arms": None}),
    "log, three arms": ("log", lambda: log(arms=3), {"arms": "a,b,c"}),
    "log, sessions alone": ("log", lambda: log().drop(columns=["user", "item"]), {}),
    "log, clicks": ("log", clicks, {"preference": "session_wins,credit_share"}),
}


@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_memory(case):
    kind, table, given = CASES[case]
    same_studies(kind, study(kind, table(), **given), study(kind, table(), BLOCKS, **given))


@pytest.mark.parametrize(
    ("kind", "table"), [("users", lambda: users(20_000, crossed=600)), ("log", lambda: log(2_400))]
)
def test_many_rows_at_any_memory(kind, table, tmp_path):
    table, files = table(), [str(tmp_path / name) for name in ("one.parquet", "two.csv")]
    held = study(kind, table)
    table[:12_000].to_parquet(files[0], index=False)
    table[12_000:].to_csv(files[1], index=False)
    reading = Reading(rows=1_000, shard=2_400, row=20_000)
    for memory, data in (("1GB", table), ("250MB", files)):
        blocks = study(kind, data, Limits(reading=reading), memory=memory, threads=2)
        same_studies(kind, held, blocks)
        for name in ("heavy",) if kind == "log" else ():
            assert getattr(held, name) == getattr(blocks, name)


@pytest.mark.parametrize("kind", GIVEN)
def test_the_page_says_the_same_and_how_many_are_held(kind):
    table = {"users": users, "log": log}[kind]()
    online = [
        interleaving.study_of(Interleaving.of({kind: table, **GIVEN[kind]}), limits) for limits in (Limits(), BLOCKS)
    ]
    held, blocks = (interleaving_page.results(some).results for some in online)
    said = [finding for finding in blocks["findings"] if finding["code"] == "EK712"]
    assert [finding for finding in blocks["findings"] if finding not in said] == held["findings"]
    assert "this report holds up to 16,777,216" in said[0]["message"]
    for name in ("columns", "population"):
        assert json.dumps(blocks[kind][name]) == json.dumps(held[kind][name])


@pytest.mark.parametrize(
    ("kind", "says"), [("users", "up to 700 rows are held"), ("log", "up to 300 sessions are held")]
)
def test_more_than_are_held_are_refused_by_name_and_size(kind, says, tmp_path):
    path = tmp_path / "many.parquet"
    {"users": users, "log": log}[kind]().to_parquet(path)
    with pytest.raises(InputError, match=f"many.parquet: {says}, one row of each, and there are more"):
        study(kind, str(path), Limits(held=700 if kind == "users" else 300, reading=SHARDS))


def test_own_metrics_are_those_of_memory_and_refused_where_they_leave_users_out():
    @ek.mean(undefined="no order")
    def each(spent, orders):
        """Spent per order of a user."""
        return np.where(orders > 0, spent / np.maximum(orders, 1), np.nan)

    @ek.ratio(best="high")
    def per_visit(orders, visits):
        """Orders per visit."""
        return 2 * orders, visits

    same_studies("users", *(study("users", users(), limits, metrics=[per_visit]) for limits in (Limits(), BLOCKS)))
    for limits in (Limits(), BLOCKS):
        with pytest.raises(ParameterError, match=r"metrics: each has no value for \d+ users; an A/B test"):
            study("users", users(), limits, metrics=[each])
