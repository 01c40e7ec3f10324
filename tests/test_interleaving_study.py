"""The interleaving report: estimands, units, neutral items, several rankers, bad logs, parts that were not given."""

import numpy as np
import pandas as pd
import pytest
from frozen import needs
from online_samples import SMALL, log, more_logs, users

from evalkit.pages import experiment_page, interleaving_page
from evalkit.statistics import significance
from evalkit.studies import interleaving, planning


def test_two_estimands_give_two_answers():
    study = interleaving.read(log(), **SMALL).log
    found = study.estimates.set_index(["metric", "system"])["value"]
    assert found["user_share", "a"] == pytest.approx(0.57)
    assert found["credit_share", "a"] == pytest.approx(42 / 95)
    assert found["user_preference", "a"] == pytest.approx(0.9)
    row = study.comparisons.set_index("metric").loc["user_share"]
    assert (row["difference"], row["n"], row["unit"]) == (pytest.approx(0.14), 10, "user")
    warning = "a has 0.570 as the mean of each user's share, 0.442 of all credit"
    assert warning in interleaving_page.findings(study).text


def test_users_won_tied_and_lost_are_those_of_the_sample_size():
    silent = log(outcome=[0, 0] + [3, 2] * 8 + [15, 35])
    study = interleaving.read(log=silent, preference="user_share,credit_share", **SMALL).log
    assert study.silent > 0
    assert study.comparisons[["wins", "ties", "losses"]].sum(axis=1).tolist() == study.comparisons["n"].tolist()


def test_the_test_is_of_users_and_never_of_sessions():
    many = more_logs(20)
    once, often = (interleaving.read(frame, **SMALL).log for frame in (log(), many))
    assert often.comparisons["n"].tolist() == once.comparisons["n"].tolist()
    assert often.headline["p"].iloc[0] == pytest.approx(once.headline["p"].iloc[0])
    assert often.session_p < 1e-6 < once.session_p
    lonely = interleaving.read(many.drop(columns="user"), **SMALL).log
    assert lonely.unit_name == "session"
    assert "No user column: each session counts as a unit" in interleaving_page.findings(lonely).text


def test_neutral_items_give_credit_to_nobody_and_are_counted():
    team = ["both", "b"] + ["a", "b"] * 9
    study = interleaving.read(log(team=team), neutral="both", **SMALL).log
    checks = study.checks.set_index("check")["count"]
    assert checks["neutral items"] == 1
    assert checks["outcome on neutral items"] == 3
    assert [side.credit[0] for side in study.sides()] == [0, 2]


def test_a_coin_that_is_none_is_a_warning():
    study = interleaving.read(more_logs(2), **SMALL).log
    assert study.coins["share"].tolist() == [1, 0]
    assert study.balance["adjusted"].max() < 0.001
    text = interleaving_page.findings(study).html
    assert '<li class="warn">A fair coin does not explain how the items were shared out (smallest adjusted p' in text


def test_segments_are_of_sessions_and_positions_of_items():
    study = interleaving.read(log(), segments="device", **SMALL).log
    assert study.by_segment.groupby("slice")["n"].first().to_dict() == {"tv": 5, "web": 5}
    rows = study.by_position.set_index(["position", "system"])
    assert rows.loc[(1, "a"), "value"] == pytest.approx(42 / 10)
    assert rows.loc[(1, "b"), "shown"] == 0
    assert np.isnan(rows.loc[(1, "b"), "value"])


def test_any_number_is_an_outcome():
    hours = log().rename(columns={"outcome": "hours"})
    study = interleaving.read(hours, columns="outcome=hours", preference="credit_share", **SMALL).log
    assert study.estimates["value"].max() == pytest.approx(53 / 95)
    assert study.table.columns["outcome"] == "hours"


# Several rankers


def test_several_rankers_are_compared_pair_by_pair_over_users():
    study = interleaving.read(needs.multileaved(), arms="c,a,b", **SMALL).log
    assert study.order == ["a", "b", "c"]
    value = study.estimates.set_index(["metric", "system"])["value"]
    for metric, even in {"user_share": 1, "credit_share": 1, "user_preference": 1.5, "session_wins": 1.5}.items():
        assert value[metric].sum() == pytest.approx(even)
    rows = study.comparisons[study.comparisons["metric"] == "user_share"]
    assert rows[["first", "second"]].to_numpy().tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert rows["adjusted"].tolist() == pytest.approx(significance.holm(rows["p"]).tolist())
    credit = pd.DataFrame(study.kept.credit, columns=study.kept.arms).groupby(study.kept.user).sum()
    share = credit.div(credit.sum(axis=1), axis=0).dropna()
    assert rows["difference"].iloc[0] == pytest.approx((share["a"] - share["b"]).mean())
    assert rows["wins"].iloc[0] == (share["a"] > share["b"]).sum()
    assert study.headline["verdict"].iloc[-1] == "better"


def test_the_page_of_several_rankers():
    table = needs.multileaved()
    team = np.array([*"abc"])[(table["session"] + table["position"]) % 3]
    study = interleaving.read(table.assign(team=team), arms="a,b,c", **SMALL)
    assert len(study.log.coins) == 18
    assert "a or b or c" in interleaving_page.title(study).text
    assert "a tie is a share of 1/3" in interleaving_page.estimates(study.log).text
    assert "minus 1/3, the share under a fair coin" in interleaving_page.balance(study.log).caption
    assert study.log.checks.set_index("check").at["sessions with uneven teams", "count"] == 0
    assert study.log.balance["adjusted"].min() > 0.001
    assert interleaving_page.results(study).results["log"]["delta_ab"] is None


# The report of a log, users and a plan


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


def test_curves_fall_from_half_to_five_percent_where_the_table_says():
    plan = planning.read("cascade", 4000, 4, seed=1)
    need = plan.needed.set_index("design")["agree_95"]
    for name, line in plan.curves.groupby("system"):
        assert (np.diff(line["error"]) <= 0).all()
        assert line["error"].iloc[0] <= 0.5
        assert np.interp(np.log(need[name]), np.log(line["users"]), line["error"]) == pytest.approx(0.05, abs=0.005)


def test_counted_experiments_agree_with_the_curve():
    plan = planning.read("cascade", 60_000, 4, seed=1)
    need = plan.needed.set_index("design")
    counted = plan.groups[plan.groups["system"] == "interleaving, win"].set_index("users")["error"]
    for n in (100, 300, 1000):
        told = planning.simulation.sign_error(*need.loc["interleaving, win", ["effect", "sd"]], n)
        assert counted[n] == pytest.approx(float(told), abs=4 * np.sqrt(told * (1 - told) / (60_000 // n)))


def test_the_seed_fixes_the_planning():
    one, two, other = (planning.read("positions", 2000, 3, seed=seed) for seed in (5, 5, 6))
    assert one.needed.equals(two.needed)
    assert one.stages.equals(two.stages)
    assert one.candidates.equals(two.candidates)
    assert not one.needed.equals(other.needed)
