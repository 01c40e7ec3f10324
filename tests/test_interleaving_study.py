"""The interleaving report: logs of several rankers, users of A/B tests, plans, parts that were not
given.
"""

import re
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from frozen import needs
from online_samples import log as small_log, more_logs as small_log_on_days, users as eight_users
from scipy.stats import chisquare, norm, t, ttest_ind

from evalkit.arrays import InputError, ParameterError
from evalkit.limits import Limits
from evalkit.metrics.rows import Sums
from evalkit.online import experiments
from evalkit.pages import experiment_page, first_screen, interleaving_page, page
from evalkit.parameters.reports import InterleavingParameters
from evalkit.statistics import independent, power, significance
from evalkit.statistics.independent import arm_of_mean, arm_of_ratio
from evalkit.statistics.proportions import two_proportions
from evalkit.studies import diagnostics, experiment, interleaving, planning

NO_SIMULATION = {"world": "none"}  # only data are evaluated, no experiment is simulated


@pytest.fixture(scope="module")
def study_of_small_log():
    """Ten users with one session of two items each: a's at position 1, b's at position 2. Nine have
    an outcome of 3 on a's item and 2 on b's, the tenth 15 and 35.
    """
    return interleaving.read(small_log(), **NO_SIMULATION).log


def test_users_and_credit_give_two_answers(study_of_small_log):
    """Each of nine users has an outcome of 3 on a's item and 2 on b's, the tenth user 15 and 35.
    The mean share of a over users is (9 · 3/5 + 15/50) / 10 = 0.57; the share of a in all credit is
    (9 · 3 + 15) / (9 · 5 + 50) = 42/95 = 0.442. Nine of ten users prefer a.
    """
    value = study_of_small_log.estimates.set_index(["metric", "system"])["value"]
    assert value["user_share", "a"] == pytest.approx(0.57)
    assert value["credit_share", "a"] == pytest.approx(42 / 95)
    assert value["user_preference", "a"] == pytest.approx(0.9)
    warning = "a has 0.570 as the mean of each user's share, 0.442 of all credit"
    assert warning in interleaving_page.findings(study_of_small_log).text


def test_the_difference_of_shares_is_tested_over_users(study_of_small_log):
    row = study_of_small_log.comparisons.set_index("metric").loc["user_share"]
    assert row["difference"] == pytest.approx(0.57 - 0.43)
    assert (row["n"], row["unit"]) == (10, "user")


def test_users_won_tied_and_lost_are_those_of_the_sample_size():
    """One of ten users has no outcome."""
    log = small_log(outcome=[0, 0] + [3, 2] * 8 + [15, 35])
    study = interleaving.read(log=log, preference="user_share,credit_share", **NO_SIMULATION).log
    assert study.silent_users > 0  # users without an outcome
    users = study.comparisons[["wins", "ties", "losses"]].sum(axis=1)
    assert users.tolist() == study.comparisons["n"].tolist()


def test_more_sessions_of_the_same_users_are_no_more_evidence(study_of_small_log):
    """The same log on 20 days has 20 sessions per user: the test over users has the same p, one
    over sessions would have a much smaller one.
    """
    of_20_days = interleaving.read(small_log_on_days(20), **NO_SIMULATION).log
    assert of_20_days.comparisons["n"].tolist() == study_of_small_log.comparisons["n"].tolist()
    p_of_one_day = study_of_small_log.headline["p"].tolist()
    assert of_20_days.headline["p"].tolist() == pytest.approx(p_of_one_day)
    assert of_20_days.session_p < 1e-6 < study_of_small_log.session_p


def test_without_users_sessions_are_the_units():
    """Evidence is counted in units, usually users. A log of ten sessions on each of 20 days has no
    column of users: each session must then be a unit, and a finding must say so.
    """
    without_users = interleaving.read(
        small_log_on_days(20).drop(columns="user"), **NO_SIMULATION
    ).log
    assert without_users.unit_name == "session"
    sentence = "No user column: each session counts as a unit"
    assert sentence in interleaving_page.findings(without_users).text


def test_neutral_items_give_credit_to_nobody_and_are_counted():
    """In the session of the first user, the first item has both teams, which is neutral, and an
    outcome of 3; the second is of b with an outcome of 2. The 3 are counted as neutral and credited
    to neither arm.
    """
    team = ["both", "b"] + ["a", "b"] * 9
    study = interleaving.read(small_log(team=team), neutral="both", **NO_SIMULATION).log
    checks = study.checks.set_index("check")["count"]
    assert checks["neutral items"] == 1
    assert checks["outcome on neutral items"] == 3
    arm_a, arm_b = study.arms_by_user()
    first_user = 0
    assert (arm_a.credit[first_user], arm_b.credit[first_user]) == (0, 2)


def test_a_team_that_is_always_first_is_not_a_fair_coin():
    """The small log on two days has 20 sessions, with an item of a at position 1 and one of b at
    position 2. Under a fair coin the p-value of this is 2 · 0.5 ** 20 = 2e-6, far below 0.001 even
    when adjusted for multiple tests.
    """
    study = interleaving.read(small_log_on_days(2), **NO_SIMULATION).log
    share_of_a = study.shown_balance.set_index("position")["share"]
    assert share_of_a.to_dict() == {1: 1, 2: 0}
    assert study.balance["adjusted"].max() < 0.001
    warning = (
        'class="warn">A fair coin does not explain how the items were shared out (smallest '
        "adjusted p"
    )
    assert warning in interleaving_page.findings(study).html


def test_segments_are_of_sessions():
    study = interleaving.read(small_log(), segments="device", **NO_SIMULATION).log
    assert study.by_segment.groupby("slice")["n"].first().to_dict() == {"tv": 5, "web": 5}


def test_positions_are_of_items(study_of_small_log):
    """a has all ten items at position 1, with an outcome of 9 · 3 + 15."""
    rows = study_of_small_log.by_position.set_index(["position", "system"])
    assert rows.loc[(1, "a"), "value"] == pytest.approx(42 / 10)
    assert rows.loc[(1, "b"), "shown"] == 0
    assert np.isnan(rows.loc[(1, "b"), "value"])


TEN_SESSIONS = InterleavingParameters.from_raw({"log": small_log()} | NO_SIMULATION)  # of two rows


def test_as_many_sessions_as_the_limit_are_held():
    assert len(interleaving.study_of(TEN_SESSIONS, Limits(held=10)).log.session_table.names) == 10


def test_more_sessions_than_the_limit_are_refused():
    with pytest.raises(InputError, match="up to 9 sessions are held"):
        interleaving.study_of(TEN_SESSIONS, Limits(held=9))


def test_any_number_is_an_outcome():
    hours = small_log().rename(columns={"outcome": "hours"})
    options = {"columns": "outcome=hours", "preference": "credit_share"} | NO_SIMULATION
    study = interleaving.read(hours, **options).log
    assert study.estimates["value"].max() == pytest.approx(53 / 95)  # of b
    assert study.table.columns["outcome"] == "hours"


# Several rankers


@pytest.fixture(scope="module")
def study_of_three_rankers():
    """The study of rankers a, b and c: 400 sessions of 80 users, each with two items of each ranker
    in random order; items of a are clicked most, those of c least.
    """
    return interleaving.read(needs.multileaved(), arms="c,a,b", **NO_SIMULATION).log


@pytest.mark.parametrize(
    ("metric", "total"),
    [("user_share", 1), ("credit_share", 1), ("user_preference", 1.5), ("session_wins", 1.5)],
)
def test_values_of_three_rankers_add_up_to_1_for_shares_and_1_5_for_wins(
    study_of_three_rankers, metric, total
):
    """A win is an average over opponents, and the wins of the two rankers of a pair add up to 1:
    three pairs give 3, over 2 opponents each 1.5.
    """
    value = study_of_three_rankers.estimates.set_index(["metric", "system"])["value"]
    assert study_of_three_rankers.order == ["a", "b", "c"]
    assert value[metric].sum() == pytest.approx(total)


def test_three_rankers_are_compared_pair_by_pair(study_of_three_rankers):
    rows = study_of_three_rankers.comparisons.query("metric == 'user_share'")
    assert rows[["first", "second"]].to_numpy().tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert rows["adjusted"].tolist() == pytest.approx(significance.holm(rows["p"]).tolist())
    assert study_of_three_rankers.headline["verdict"].iloc[-1] == "better"


def test_a_pair_of_three_rankers_is_compared_by_the_shares_of_users(study_of_three_rankers):
    """Rankers a, b and c share the credit of 80 users over several sessions. The expected
    difference of a and b is computed here from the credit of each session: added up per user, made
    a share of the user's credit, and averaged. A user without any credit has no share and is left
    out.
    """
    sessions = study_of_three_rankers.session_table
    credit_of_session = pd.DataFrame(sessions.credit, columns=sessions.arms)
    credit = credit_of_session.groupby(sessions.user).sum()
    share = credit.div(credit.sum(axis=1), axis=0).dropna()
    rows = study_of_three_rankers.comparisons.query("metric == 'user_share'")
    a_b = rows.set_index(["first", "second"]).loc[("a", "b")]
    assert a_b["difference"] == pytest.approx((share["a"] - share["b"]).mean())
    assert a_b["wins"] == (share["a"] > share["b"]).sum()


@pytest.fixture(scope="module")
def study_of_three_rankers_in_turns():
    """The study of three rankers whose items change places from session to session: b, c, a, b, c,
    a in the first one, c, a, b, c, a, b in the next, and so on.
    """
    table = needs.multileaved()
    team = np.array([*"abc"])[(table["session"] + table["position"]) % 3]
    return interleaving.read(table.assign(team=team), arms="a,b,c", **NO_SIMULATION)


def test_the_page_says_that_a_tie_of_three_is_a_third(study_of_three_rankers_in_turns):
    """Sessions show items of the rankers a, b and c. With three rankers a user who prefers none
    gives each a share of 1/3, and so does a fair coin that decides whose item is shown; of two
    rankers it would be 1/2. The title, the estimates and the caption of the balance must say so.
    """
    study = study_of_three_rankers_in_turns
    assert "a or b or c" in interleaving_page.title(study).text
    assert "a tie is a share of 1/3" in interleaving_page.estimates(study.log).text
    caption = interleaving_page.balance(study.log).caption
    assert "minus 1/3, the share under a fair coin" in caption


def test_three_rankers_in_turns_are_balanced(study_of_three_rankers_in_turns):
    assert (
        len(study_of_three_rankers_in_turns.log.shown_balance) == 18
    )  # of three rankers at six positions
    checks = study_of_three_rankers_in_turns.log.checks.set_index("check")["count"]
    assert checks["sessions with uneven teams"] == 0
    assert study_of_three_rankers_in_turns.log.balance["adjusted"].min() > 0.001


def test_three_rankers_have_no_delta_of_two(study_of_three_rankers_in_turns):
    assert (
        interleaving_page.results(study_of_three_rankers_in_turns).results["log"]["delta_ab"]
        is None
    )


# The report of a log, users and a plan


@pytest.fixture(scope="module")
def report_of_log_alone():
    """The report of the small log, without a table of users."""
    return interleaving.read(small_log(), **NO_SIMULATION)


def test_a_report_of_a_log_alone_has_no_users_and_no_plan(report_of_log_alone):
    assert report_of_log_alone.users is None
    assert report_of_log_alone.planning is None
    assert "A/B" not in interleaving_page.verdict(report_of_log_alone).text
    assert interleaving_page.results(report_of_log_alone).results["users"] is None


@pytest.mark.parametrize(
    "piece",
    [
        experiment_page.findings,
        interleaving_page.answer,
        interleaving_page.errors,
        interleaving_page.findings,
    ],
)
def test_a_part_that_was_not_given_is_not_shown(piece):
    assert piece(None).html == ""


def test_a_report_of_users_alone_has_no_log():
    assert interleaving.read(users=eight_users(), metrics="orders", **NO_SIMULATION).log is None


def test_nothing_is_simulated_beside_data():
    assert interleaving.read(users=eight_users(), metrics="orders").planning is None


def test_a_world_that_is_asked_for_is_simulated_beside_data():
    options = {"world": "positions", "simulated_users": 1000, "rankers": 3}
    study = interleaving.read(users=eight_users(), metrics="orders", **options)
    assert study.planning.name == "positions"


def test_a_gate_of_a_log_and_users_passes_if_that_of_each_alone_passes():
    """The rule "not worse" than the baseline a is checked in the log and in the table of users. A
    report of both passes if the reports of each alone do, and its gate states the rule twice, for
    the log and for the users.
    """
    gated = partial(interleaving.read, baseline="a", gate="not worse", **NO_SIMULATION)
    of_both = gated(log=small_log(), users=eight_users(), metrics="orders")
    of_log = gated(log=small_log())
    of_users = gated(users=eight_users(), metrics="orders")
    assert of_both.gate.words.count("not worse against a") == 2
    assert of_both.gate.passed == (of_log.gate.passed and of_users.gate.passed)


@pytest.fixture(scope="module")
def plan():
    """The plan of interleaving and of A/B tests from 60,000 simulated users of four rankers."""
    return planning.read("cascade", 60_000, 4, seed=1)


def test_the_share_of_wrong_winners_falls_to_5_percent_at_the_users_that_the_plan_states(plan):
    """For each design, the plan has a curve of the share of experiments with the wrong winner by
    the number of users, and states the users at which 95 % of experiments agree with the truth. The
    curve starts at no more than 0.5, a guess, never rises, and is at 0.05 at the stated users. Its
    points are joined here by straight lines over the logarithm of the users, which is off by up to
    0.005.
    """
    users_for_5_percent = plan.needed.set_index("design")["agree_95"]
    for design, curve in plan.curves.groupby("system"):
        assert curve["error"].max() <= 0.5
        assert (np.diff(curve["error"]) <= 0).all()
        log_users = np.log(users_for_5_percent[design])
        error = np.interp(log_users, np.log(curve["users"]), curve["error"])
        assert error == pytest.approx(0.05, abs=0.005)


@pytest.mark.parametrize("users", [100, 300, 1000])
def test_counted_experiments_agree_with_the_curve(plan, users):
    """To four standard errors of a share of 60,000 / users experiments."""
    design = "interleaving, win"
    row = plan.needed.set_index("design").loc[design]
    counted = plan.groups.set_index(["system", "users"]).loc[(design, users), "error"]
    p = planning.simulation.sign_error(row["effect"], row["sd"], users)
    assert counted == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / (60_000 // users)))


@pytest.mark.parametrize("frame", ["needed", "stages", "candidates"])
def test_the_seed_fixes_the_planning(frame):
    once, again = (planning.read("positions", 2000, 3, seed=5) for _ in range(2))
    assert getattr(once, frame).equals(getattr(again, frame))


def test_another_seed_gives_another_planning():
    five, six = (planning.read("positions", 2000, 3, seed=seed) for seed in (5, 6))
    assert not five.needed.equals(six.needed)


@pytest.fixture(scope="module")
def b_against_a_by_metric():
    """The comparison of arm b with a, each with four users, by a mean, a share and a ratio."""
    metrics = "orders,bought,orders/visits"
    study = interleaving.read(users=eight_users(), metrics=metrics, baseline="a", **NO_SIMULATION)
    return study.users.comparisons.set_index("metric")


def test_a_mean_of_few_users_is_tested_by_permutations(b_against_a_by_metric):
    """3 of the C(8, 4) = 70 permutations of eight users have as large a t on each side."""
    row = b_against_a_by_metric.loc["orders"]
    assert row["method"] == "studentised permutation"
    assert row["p"] == pytest.approx(6 / 70)


def test_a_share_is_tested_by_the_score_test(b_against_a_by_metric):
    """All four users of b bought, and three of the four of a."""
    row = b_against_a_by_metric.loc["bought"]
    assert row["method"] == "score"
    assert row["p"] == pytest.approx(two_proportions(4, 4, 3, 4).p_value)


def test_a_ratio_is_tested_by_the_jackknife(b_against_a_by_metric):
    """The arms a and b have four users each. Those of b made 11 orders in 12 visits, those of a 4
    in 9; their ratios are compared by a t test with jackknife errors.
    """
    users_of_a = eight_users().query("arm == 'a'")
    users_of_b = eight_users().query("arm == 'b'")
    ratio_a = arm_of_ratio(Sums(users_of_a["orders"], users_of_a["visits"]))
    ratio_b = arm_of_ratio(Sums(users_of_b["orders"], users_of_b["visits"]))
    row = b_against_a_by_metric.loc["orders/visits"]
    assert row["method"] == "jackknife t"
    assert row["p"] == pytest.approx(independent.difference(ratio_b, ratio_a).p_value)
    assert row["difference"] == pytest.approx(11 / 12 - 4 / 9)


def cuped_of_orders(table):
    """The comparison of the orders of b with those of a, adjusted for the past (CUPED)."""
    a = table.query("arm == 'a'")
    b = table.query("arm == 'b'")
    return experiments.cuped(b["orders"], a["orders"], b["past"], a["past"])


@pytest.fixture(scope="module")
def orders_adjusted_by_cuped_strata_and_cap():
    """The study of the orders of eight users, adjusted by CUPED, which decides, and beside it by
    strata and by a cap.
    """
    options = {"before": "past", "strata": "country", "cap": 0.8, "baseline": "a"}
    return interleaving.read(
        users=eight_users(), metrics="orders", **options, **NO_SIMULATION
    ).users


def test_cuped_strata_and_cap_stand_beside_the_plain_result(
    orders_adjusted_by_cuped_strata_and_cap,
):
    """The 80th percentile of the orders is 2.6."""
    rows = orders_adjusted_by_cuped_strata_and_cap.adjustments.set_index("way")
    assert rows.loc["CUPED with past", "p"] == pytest.approx(cuped_of_orders(eight_users()).p_value)
    assert rows.loc["CUPED with past", "users"] < rows.loc["as it is", "users"] == 1
    assert "stratified by country" in rows.index
    assert rows.loc["capped at 80.0%", "estimand"] == "mean of min(value, 2.6)"


def test_the_headline_is_the_comparison_adjusted_by_cuped(orders_adjusted_by_cuped_strata_and_cap):
    """The orders of eight users are adjusted by CUPED with their past, by strata, and by a cap. The
    headline and the first screen have the comparison adjusted by CUPED, not one of the others.
    `cuped_of_orders` makes this comparison of the two arms directly.
    """
    (row,) = orders_adjusted_by_cuped_strata_and_cap.headline.to_dict("records")
    cuped = cuped_of_orders(eight_users())
    assert row["difference"] == pytest.approx(cuped.difference.value)
    assert row["p"] == pytest.approx(cuped.p_value)
    assert row["method"] == "Welch t after CUPED with past"
    assert "adjusted for past" in first_screen.verdict(orders_adjusted_by_cuped_strata_and_cap).text


def users_whose_past_predicts_orders(arms="ab", users_per_arm=2000):
    """Users whose `past` is correlated with what they bought and ordered; `bought` is 1 with a
    probability that is higher by 0.02 in arm a.
    """
    rng = np.random.default_rng(8)
    n = users_per_arm * len(arms)
    past = rng.normal(size=n)
    arm = np.resize(list(arms), n)
    p = 1 / (1 + np.exp(1 - 3 * past)) + 0.02 * (arm == "a")
    return pd.DataFrame(
        {
            "user": np.arange(n).astype(str),
            "arm": arm,
            "past": past,
            "bought": (rng.random(n) < p).astype(int),
            "orders": rng.poisson(np.exp(0.8 * past)),
            "visits": 1 + rng.poisson(2, n),
        }
    )


def welch_after_regression(table, metric):
    """Difference, limits and p of a − b by SciPy's Welch test of the residuals of a regression of
    the metric on the past with one slope within arms.
    """
    y = table[metric]
    x = table["past"]
    y_within_arm = y - y.groupby(table["arm"]).transform("mean")
    x_within_arm = x - x.groupby(table["arm"]).transform("mean")
    slope = (x_within_arm @ y_within_arm) / (x_within_arm @ x_within_arm)
    residual = y - slope * x
    residual_a = residual[table["arm"] == "a"]
    residual_b = residual[table["arm"] == "b"]
    test = ttest_ind(residual_a, residual_b, equal_var=False)
    limits = test.confidence_interval()
    return {
        "difference": residual_a.mean() - residual_b.mean(),
        "low": limits.low,
        "high": limits.high,
        "p": test.pvalue,
    }


@pytest.mark.parametrize("metric", ["bought", "orders"])
def test_cuped_of_shares_and_counts_is_welchs_test_after_a_regression(metric):
    """`bought` is 0 or 1, `orders` a count; both are correlated with the user's past. CUPED must
    give the same as SciPy's Welch test of the residuals of a regression on the past: in the
    headline, in the table of all comparisons and in that of adjustments, with a row per way.
    """
    table = users_whose_past_predicts_orders()
    options = {"metrics": metric, "before": "past", "baseline": "b"} | NO_SIMULATION
    study = interleaving.read(users=table, **options).users
    expected = welch_after_regression(table, metric)
    (headline,) = study.headline.to_dict("records")
    (comparison,) = study.comparisons.to_dict("records")
    adjustment = study.adjustments.set_index("way").loc["CUPED with past"]
    for row in (headline, comparison, adjustment):
        assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert comparison["method"] == "Welch t after CUPED with past"


def test_cuped_of_a_share_narrows_its_interval_by_the_correlation_with_the_past():
    """4,000 users bought or not, in correlation ρ with their past. CUPED leaves the share 1 − ρ² of
    the variance, so that the interval and the detectable difference must shrink by √(1 − ρ²). They
    do so up to 2 % and 5 %, because a share without CUPED has a score interval and not a t
    interval. Only the narrower interval excludes 0, so that the verdict becomes "better".
    """
    table = users_whose_past_predicts_orders()
    read = partial(interleaving.read, users=table, metrics="bought", baseline="b", **NO_SIMULATION)
    (raw,) = read().users.headline.to_dict("records")
    (adjusted,) = read(before="past").users.headline.to_dict("records")
    narrowing = (adjusted["high"] - adjusted["low"]) / (raw["high"] - raw["low"])
    correlation = np.corrcoef(table["bought"], table["past"])[0, 1]
    assert narrowing == pytest.approx(np.sqrt(1 - correlation**2), rel=0.02)
    assert adjusted["detectable"] == pytest.approx(raw["detectable"] * narrowing, rel=0.05)
    assert (raw["verdict"], adjusted["verdict"]) == ("cannot tell", "better")


def test_the_test_of_an_adjusted_share_is_called_welchs_t():
    table = users_whose_past_predicts_orders()
    study = interleaving.read(users=table, metrics="bought", before="past", **NO_SIMULATION)
    assert "bought: Welch's t" in study.users.tests_text


@pytest.mark.parametrize("arms", ["ab", "abc"])
def test_adjusted_means_differ_by_the_adjusted_difference(arms):
    """Of several metrics, CUPED adjusts the first one that is a mean of amounts or counts: here
    `visits`, and not the share `bought`, which has no adjusted means. Users are in two or three
    arms, with one or three comparisons.
    """
    options = {"metrics": "bought,visits", "before": "past"} | NO_SIMULATION
    rows = interleaving.read(
        users=users_whose_past_predicts_orders(arms), **options
    ).users.comparisons
    visits = rows.query("metric == 'visits'")
    difference = visits["adjusted_first"] - visits["adjusted_second"]
    assert difference.tolist() == pytest.approx(visits["difference"].tolist(), abs=1e-12)
    assert rows.query("metric == 'bought'")["adjusted_first"].isna().all()


@pytest.mark.parametrize(("decimals", "printed"), [(2, ["0.34", "0.32"]), (3, ["0.342", "0.319"])])
def test_adjusted_means_are_rounded_so_that_they_differ_by_the_difference(decimals, printed):
    """0.3425 would be printed as 0.343, 0.024 above 0.319."""
    row = {"adjusted_first": 0.3425, "adjusted_second": 0.3194, "difference": 0.0231}
    assert page.adjusted_means(row, decimals) == printed


@pytest.fixture(scope="module")
def adjusted_share():
    """The study of a share that is adjusted for the past."""
    options = {"metrics": "bought", "before": "past", "baseline": "b"} | NO_SIMULATION
    return interleaving.read(users=users_whose_past_predicts_orders(), **options).users


def test_printed_adjusted_means_differ_by_the_printed_difference(adjusted_share):
    text = first_screen.verdict(adjusted_share).text
    (means,) = re.findall(r"Adjusted means: a (\S+) and b (\S+)\. ", text)
    a, b = map(float, means)
    (difference,) = adjusted_share.headline["difference"]
    assert round(a - b, 3) == round(difference, 3)


def test_the_interval_of_a_ratio_is_on_the_log_scale_and_wider_if_one_user_dominates():
    """Both arms have the same six users, of whom one has 60 of the 79 visits and 300 of the revenue
    of 336. The limits of revenue per visit are value · exp(± t · error / value): t limits of its
    logarithm. As one user dominates, t has fewer degrees of freedom than the 6 − 1 = 5 of six equal
    users.
    """
    visits = np.array([1.0, 2, 3, 5, 8, 60])
    revenue = np.array([4.0, 1, 0, 22, 9, 300])
    table = pd.DataFrame({"user": range(12), "arm": ["a", "b"] * 6})  # six users in each arm
    table = table.assign(visits=np.repeat(visits, 2), revenue=np.repeat(revenue, 2))
    study = interleaving.read(users=table, metrics="revenue/visits", **NO_SIMULATION).users
    arm = arm_of_ratio(Sums(revenue, visits))
    # from the kurtosis of the users' influence on the ratio: fewer if one of them dominates
    freedom = arm.spread.kurtosis_freedom(arm.freedom)
    distance = t.ppf(0.975, freedom) * arm.spread.error / arm.value
    value = 336 / 79
    assert freedom < 6 - 1
    assert study.estimates.iloc[0][["value", "low", "high"]].tolist() == pytest.approx(
        [value, value * np.exp(-distance), value * np.exp(distance)]
    )


def test_a_share_of_visits_stays_below_1():
    table = pd.DataFrame({"user": range(40), "arm": ["a", "b"] * 20, "visits": [3, 40] * 20})
    table["clicks"] = table["visits"] - (table["user"] % 7 == 0)
    study = interleaving.read(users=table, metrics="clicks/visits", **NO_SIMULATION).users
    assert (study.estimates["high"] < 1).all()


@pytest.mark.parametrize("arms", [["a", "b"], ["b", "a"]])
def test_the_detectable_difference_of_amounts_is_symmetric_in_the_arms(arms):
    """400 users with log-normal amounts are in two arms by turns; to swap `arms` swaps the amounts
    of the arms. With a level of 5 % and a power of 80 % the detectable difference is mean · (exp(z
    · se) − 1), where z = 1.96 + 0.84 and se² = c²/200 + c²/200. The mean is that of all users, and
    c² is the squared coefficient of variation, averaged over the arms: both arms count alike.
    """
    spent = np.random.default_rng(4).lognormal(0, 1, 400)
    table = pd.DataFrame({"user": range(400), "arm": arms * 200, "spent": spent})
    study = interleaving.read(users=table, metrics="spent", baseline="b", **NO_SIMULATION).users
    in_arms = (spent[::2], spent[1::2])
    c_squared = np.mean([values.var(ddof=1) / values.mean() ** 2 for values in in_arms])
    z = norm.ppf(0.975) + norm.ppf(0.8)
    expected = spent.mean() * np.expm1(z * np.sqrt(c_squared / 200 + c_squared / 200))
    assert study.comparisons["detectable"].tolist() == pytest.approx([expected])


def test_what_a_metric_measures_is_not_from_before_the_experiment():
    with pytest.raises(ParameterError, match="before: 'orders' is what metrics measure"):
        interleaving.read(users=eight_users(), metrics="orders,past", before="orders")


def table_of_240_users():
    """The eight users thirty times, each with a number of Poisson(4) added to the past."""
    table = pd.concat([eight_users(user=[f"{i} {j}" for j in range(8)]) for i in range(30)])
    table["past"] += np.random.default_rng(3).poisson(4, len(table))
    return table


@pytest.fixture(scope="module")
def read_240_users():
    """The function that reads 240 users and compares b with a by orders and bought."""
    options = {"metrics": "orders,bought", "segments": "country", "baseline": "a"} | NO_SIMULATION
    return partial(interleaving.read, users=table_of_240_users(), **options)


def test_the_lift_of_an_adjusted_mean_is_relative_to_the_control(read_240_users):
    """With CUPED the lift is the adjusted difference over the adjusted mean of the control a. The
    test knows only the mean of a without adjustment, which is within 20 %. The interval of the lift
    excludes 0 exactly if p < 0.05.
    """
    table = table_of_240_users()
    row = read_240_users(before="past").users.comparisons.set_index("metric").loc["orders"]
    mean_of_a = table.loc[table["arm"] == "a", "orders"].mean()
    assert row["lift"] == pytest.approx(row["difference"] / mean_of_a, rel=0.2)
    assert row["lift_low"] < row["lift"] < row["lift_high"]
    excludes_0 = row["lift_low"] > 0 or row["lift_high"] < 0
    assert (row["p"] < 0.05) == excludes_0


def test_a_share_beside_an_adjusted_mean_is_not_adjusted(read_240_users):
    plain = read_240_users().users.comparisons.set_index("metric")
    adjusted = read_240_users(before="past").users.comparisons.set_index("metric")[plain.columns]
    assert adjusted.loc["orders", "difference"] != plain.loc["orders", "difference"]
    assert adjusted.loc["bought"].equals(plain.loc["bought"])


@pytest.mark.parametrize("country", ["x", "y"])
def test_cuped_decides_in_slices(read_240_users, country):
    by_segment = read_240_users(before="past").users.by_segment
    (shown,) = by_segment.query("slice == @country")["difference"].dropna().unique()
    cuped = cuped_of_orders(table_of_240_users().query("country == @country"))
    assert shown == pytest.approx(cuped.difference.value)


def findings_with_shares(shares):
    """Those of twice as many users of a as of b."""
    table = table_of_240_users()
    table = table[(table["arm"] == "a") | (np.arange(len(table)) % 4 == 1)]
    study = interleaving.read(users=table, metrics="orders", shares=shares, **NO_SIMULATION).users
    return experiment_page.findings(study)


def test_unequal_arms_without_planned_shares_stand_beside_the_verdict():
    html = findings_with_shares(None).html
    beside_verdict = re.search("<!--at verdict-->(.*?)<!--/at-->", html, re.DOTALL)[1]
    assert "state the planned share of each by shares" in beside_verdict


@pytest.mark.parametrize(
    ("shares", "says"),
    [
        ("a=2,b=1", "Sample ratio against the planned shares a=2,b=1: p 1"),
        ("unknown", "Sample ratio: not tested"),
    ],
)
def test_the_sample_ratio_is_against_what_was_planned(shares, says):
    assert says in findings_with_shares(shares).text


def test_planned_shares_are_those_of_their_arms_in_whatever_order():
    table = pd.DataFrame({"user": range(90), "arm": ["a", "a", "b"] * 30, "orders": range(90)})
    study = interleaving.read(
        users=table, metrics="orders", shares="b=1,a=2", **NO_SIMULATION
    ).users
    assert study.sample_ratio.p == 1


def test_an_adjustment_saves_users_by_the_square_of_the_width():
    options = {"metrics": "orders", "before": "past", "baseline": "a"} | NO_SIMULATION
    rows = interleaving.read(users=eight_users(), **options).users.adjustments.set_index("way")
    width = rows["high"] - rows["low"]
    saved = (width["CUPED with past"] / width["as it is"]) ** 2
    assert rows.loc["CUPED with past", "users"] == pytest.approx(saved)


def test_users_for_a_lift_are_those_of_the_control_and_fewer_by_cuped():
    """The four users of the control a made 1, 0, 1, 2 orders: a mean of 1, of which a lift of 1 %
    is 0.01. They made 1, 0, 2, 2 before, a squared correlation of 8/11. CUPED leaves 1 − 8/11 of
    the variance, and so of the users needed; to 1e-3, as the numbers are those of a t test.
    """
    options = {"metrics": "orders", "before": "past", "baseline": "a"} | NO_SIMULATION
    study = interleaving.read(users=eight_users(), **options).users
    row = study.users_for.set_index("lift").loc[0.01]
    assert row["difference"] == pytest.approx(0.01)
    assert row["cuped"] / row["raw"] == pytest.approx(1 - 8 / 11, rel=1e-3)


def test_the_top_users_are_at_least_one():
    """1 % of eight users is the one who made 4 of 15 orders."""
    study = interleaving.read(users=eight_users(), metrics="orders", **NO_SIMULATION).users
    assert study.concentration[0.01] == pytest.approx(4 / 15)


@pytest.mark.parametrize("in_each_arm, few", [(9, {"a": 9, "b": 9}), (10, {})])
def test_users_with_another_value_are_few_below_ten_an_arm(in_each_arm, few):
    table = pd.DataFrame({"user": range(100), "arm": ["a", "b"] * 50, "orders": 0})
    table.loc[: 2 * in_each_arm - 1, "orders"] = 3
    study = interleaving.read(users=table, metrics="orders", **NO_SIMULATION).users
    assert experiment.few_others(study) == few


def test_a_metric_of_zeros_ones_and_twos_is_a_mean_and_no_share():
    study = interleaving.read(
        users=eight_users(orders=[0, 1, 0, 2, 1, 1, 0, 2]), metrics="orders", **NO_SIMULATION
    ).users
    assert study.headline["method"].tolist() == ["studentised permutation"]


@pytest.mark.parametrize("n_crossed, css_class", [(1, ""), (2, ' class="warn"')])
def test_crossed_users_are_a_warning_above_one_in_a_hundred(n_crossed, css_class):
    """Of 102 users the first one or two are crossed: they have a second row, in the other arm. One
    is 0.98 % of the users, which is only noted; two are 1.96 %, which is a warning.
    """
    table = pd.DataFrame({"user": range(102), "arm": ["a", "b"] * 51, "orders": range(102)})
    in_other_arm = table[:n_crossed].assign(arm=["b", "a"][:n_crossed])
    study = interleaving.read(
        users=pd.concat([table, in_other_arm]), metrics="orders", **NO_SIMULATION
    ).users
    html = experiment_page.findings(study).html
    assert f'<li id="users-EK710"{css_class}>{n_crossed} user' in html


def test_more_is_worse_where_less_is_better():
    table = eight_users(orders=[1, 9, 0, 9, 1, 8, 2, 9])
    study = interleaving.read(users=table, metrics="orders", best="low", **NO_SIMULATION).users
    assert study.headline[["first", "verdict"]].to_numpy().tolist() == [["b", "worse"]]


def test_three_arms_without_a_control_are_compared_in_three_pairs():
    """Arms x and y have four users each, arm z eight. None has a name that controls usually have,
    such as "control", so that none is the baseline: all three pairs must be compared. Each p is
    adjusted for three comparisons, so that it can only grow.
    """
    arms_x_and_y = eight_users(arm=["x", "y"] * 4, orders=[1, 9, 0, 9, 1, 8, 2, 9])
    arm_z = eight_users(user=[f"v{i}" for i in range(8)], arm="z")
    table = pd.concat([arms_x_and_y, arm_z])
    comparisons = interleaving.read(
        users=table, metrics="orders", **NO_SIMULATION
    ).users.comparisons
    assert len(comparisons) == 3
    assert (comparisons["adjusted"] >= comparisons["p"]).all()


def test_a_table_of_users_without_numbers_needs_metrics():
    with pytest.raises(ParameterError, match="metrics: name the columns of users to compare"):
        interleaving.read(users=eight_users()[["user", "arm"]], **NO_SIMULATION)


def test_without_metrics_flags_come_before_amounts_and_earlier_columns_are_left_out():
    """No metrics are named, so that columns are chosen: `bought`, a flag of 0 and 1, and then
    `spent`, an amount. By their names `pre_spent` and `age` are from before the experiment, and are
    left out. A finding, EK722, says that the metrics were chosen.
    """
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {
            "user": range(200),
            "arm": ["a", "b"] * 100,
            "spent": rng.gamma(2, 5, 200),
            "bought": rng.integers(0, 2, 200),
            "age": rng.integers(20, 60, 200),
            "pre_spent": rng.gamma(2, 5, 200),
        }
    )
    study = interleaving.read(users=table, **NO_SIMULATION).users
    assert [chosen.label for chosen in study.settings.metrics] == ["bought", "spent"]
    codes = [finding.kind.code for finding in experiment_page.findings_of_users(study)]
    assert "EK722" in codes


def test_the_detectable_difference_of_shares_is_that_of_the_score_test():
    """A third of the 300 users of a and of the 500 users of b bought. The normal approximation,
    with a level of 5 % and a power of 80 % (z = 1.96 + 0.84 = 2.8), gives 2.8 · √(1/3 · 2/3 ·
    (1/300 + 1/500)) = 0.096; the score test gives a number of about this size.
    """
    bought = (np.arange(800) % 3 == 0).astype(int)
    table = pd.DataFrame({"user": range(800), "arm": ["a"] * 300 + ["b"] * 500, "bought": bought})
    study = interleaving.read(users=table, metrics="bought", baseline="a", **NO_SIMULATION).users
    (row,) = study.comparisons.to_dict("records")
    share_of_a = bought[:300].mean()
    expected = power.detectable_share(share_of_a, 500, 300, level=study.family_level)  # 5 %
    assert (row["first"], row["second"]) == ("b", "a")
    assert row["detectable"] == pytest.approx(expected)
    assert 0.05 < expected < 0.15


def test_what_a_table_of_users_compares_is_called_an_arm():
    """The pages of other reports compare systems. The table of estimates from a table of 60 users
    in the arms a, b and c calls them arms, and has the word system nowhere.
    """
    plays = np.arange(60) % 7
    table = pd.DataFrame({"user": range(60), "arm": ["a", "b", "c"] * 20, "plays": plays})
    study = interleaving.read(users=table, metrics="plays").users
    html = experiment_page.estimates(study).html
    assert '<th scope="col">arm</th>' in html
    assert "system" not in html


def limits_of_difference(comparison):
    return [comparison.difference.low, comparison.difference.high]


def gamma_samples_of_40_and_15():
    rng = np.random.default_rng(0)
    return rng.gamma(2, 3, 40), rng.gamma(2, 2, 15)


def test_welch_equals_scipy():
    """Means of two samples with different sizes and variances are compared by Welch's t test, here
    with a 90 % interval; SciPy has the same test as ttest_ind with equal_var=False.
    """
    a, b = gamma_samples_of_40_and_15()
    comparison = independent.difference(arm_of_mean(a), arm_of_mean(b), level=0.9)
    expected = ttest_ind(a, b, equal_var=False)
    assert comparison.p_value == pytest.approx(expected.pvalue)
    assert limits_of_difference(comparison) == pytest.approx(
        list(expected.confidence_interval(0.9))
    )


def test_swapped_arms_have_the_mirrored_difference():
    a, b = (arm_of_mean(sample) for sample in gamma_samples_of_40_and_15())
    of_a_and_b = independent.difference(a, b)
    of_b_and_a = independent.difference(b, a)
    assert of_b_and_a.p_value == pytest.approx(of_a_and_b.p_value)
    assert of_b_and_a.difference.value == pytest.approx(-of_a_and_b.difference.value)


# Ratios of sums and lifts


class ArmOfUsers(NamedTuple):
    """The clicks and impressions of each user of an arm, and the clicks before the experiment."""

    clicks: np.ndarray
    impressions: np.ndarray
    clicks_before: np.ndarray

    @property
    def sums(self):
        return Sums(self.clicks, self.impressions)

    @classmethod
    def random(cls, rng, n, lift=1.0):
        """Users who differ in their numbers of impressions and in their rates of clicks, which
        `lift` multiplies in the experiment.
        """
        impressions = 1 + rng.poisson(10 * np.exp(rng.normal(-1.125, 1.5, n)))
        rate = rng.beta(2, 18, n)
        clicks = rng.binomial(impressions, np.minimum(1, rate * lift)).astype(float)
        return cls(clicks, impressions, rng.binomial(impressions, rate).astype(float))


def random_ratio_of_few_users(rng):
    """The ratio of 2 to 24 users. It may be 0 or negative; with such a control the limits of a lift
    can be infinite.
    """
    denominator = rng.poisson(3, rng.integers(2, 25)) + 1.0
    ratio_of_users = rng.normal(rng.normal(0.2, 0.6), 1, denominator.size)
    return arm_of_ratio(Sums(ratio_of_users * denominator, denominator))


def test_the_lift_of_ratios_excludes_0_exactly_where_p_is_below_5_percent():
    """Arm and control are ratios of sums over a few random users. The control's ratio may be near
    0, so that an interval of the lift, which divides by it, may be infinite. Of 800 intervals more
    than 100 are infinite and more than 100 are not, so that both kinds are tested.
    """
    rng = np.random.default_rng(11)
    unbounded = 0
    for _ in range(800):
        arm = random_ratio_of_few_users(rng)
        control = random_ratio_of_few_users(rng)
        lift = independent.lift(arm, control)
        low, high = limits_of_difference(lift)
        unbounded += np.isinf([low, high]).any()
        assert low <= lift.difference.value <= high
        excludes_0 = not low <= 0 <= high
        assert (lift.p_value < 0.05) == excludes_0
        assert lift.p_value == independent.difference(arm, control).p_value
    assert 100 < unbounded < 700


def test_the_limits_of_a_lift_are_fiellers():
    """The lift is mean of a / mean of b − 1. Fieller's interval has all ratios r with (a − r b)² ≤
    t² (variance of a + r² variance of b), where a and b are means, the variances are theirs, and t
    has Satterthwaite's degrees of freedom. Here r is searched on a grid with steps of 1e-5, so that
    its ends are off by less than 2e-5.
    """
    rng = np.random.default_rng(12)
    a = rng.gamma(2, 3, 20)
    b = rng.gamma(2, 2, 9)
    variance_a = a.var(ddof=1) / 20
    variance_b = b.var(ddof=1) / 9
    freedom = (variance_a + variance_b) ** 2 / (variance_a**2 / 19 + variance_b**2 / 8)
    r = np.linspace(0, 7, 700_001)
    distance = (a.mean() - r * b.mean()) ** 2
    inside = r[distance <= t.ppf(0.975, freedom) ** 2 * (variance_a + r**2 * variance_b)]
    lift = independent.lift(arm_of_mean(a), arm_of_mean(b))
    assert limits_of_difference(lift) == pytest.approx(
        [inside.min() - 1, inside.max() - 1], abs=2e-5
    )


def jackknife_variance(clicks, impressions):
    """(n − 1) / n · Σ (ratio of sums without a user − the mean of these ratios)²."""
    n = clicks.size
    without = np.array(
        [np.delete(clicks, i).sum() / np.delete(impressions, i).sum() for i in range(n)]
    )
    return (n - 1) / n * ((without - without.mean()) ** 2).sum()


def kish_number(weight):
    """The effective number of users, (Σ w)² / Σ w²."""
    return weight.sum() ** 2 / (weight**2).sum()


def test_ratios_of_clicks_to_impressions_are_compared_by_the_jackknife_over_users():
    """The arms have 30 and 40 random users. The difference of their ratios, over its jackknife
    error, is compared with a t distribution with Satterthwaite's degrees of freedom. As users with
    many impressions weigh more, Kish's effective number of users takes the place of their number.
    """
    rng = np.random.default_rng(13)
    a = ArmOfUsers.random(rng, n=30)
    b = ArmOfUsers.random(rng, n=40)
    variance_a = jackknife_variance(a.clicks, a.impressions)
    variance_b = jackknife_variance(b.clicks, b.impressions)
    freedom_a = kish_number(a.impressions) - 1
    freedom_b = kish_number(b.impressions) - 1
    freedom = (variance_a + variance_b) ** 2 / (
        variance_a**2 / freedom_a + variance_b**2 / freedom_b
    )
    comparison = independent.difference(arm_of_ratio(a.sums), arm_of_ratio(b.sums))
    statistic = abs(comparison.difference.value) / np.sqrt(variance_a + variance_b)
    assert comparison.p_value == pytest.approx(2 * t.sf(statistic, freedom))


@pytest.fixture(scope="module")
def clicks():
    """Two arms of 4,000 users, the first with a lift of 20 %; and their difference as it is."""
    rng = np.random.default_rng(5)
    a, b = ArmOfUsers.random(rng, 4000, 1.2), ArmOfUsers.random(rng, 4000)
    return a, b, independent.difference(arm_of_mean(a.clicks), arm_of_mean(b.clicks))


def test_cuped_narrows_the_interval_by_the_correlation(clicks):
    """To √(1 − ρ²), within 5 %, as ρ is that of one arm."""
    a, b, plain = clicks
    adjusted = experiments.cuped(a.clicks, b.clicks, a.clicks_before, b.clicks_before)
    rho = np.corrcoef(b.clicks, b.clicks_before)[0, 1]
    narrowing = np.ptp(limits_of_difference(adjusted)) / np.ptp(limits_of_difference(plain))
    assert narrowing == pytest.approx(np.sqrt(1 - rho**2), rel=0.05)


def test_cuped_by_a_constant_changes_nothing(clicks):
    a, b, plain = clicks
    constant = np.ones(4000)
    useless = experiments.cuped(a.clicks, b.clicks, constant, constant)
    assert useless.p_value == pytest.approx(plain.p_value)
    assert useless.difference.value == pytest.approx(plain.difference.value)


def test_one_stratum_is_none():
    rng = np.random.default_rng(6)
    values = {"treatment": rng.normal(1, 1, 50), "control": rng.normal(0, 1, 60)}
    one = experiments.stratified(values, {"treatment": ["s"] * 50, "control": ["s"] * 60})
    plain = independent.difference(arm_of_mean(values["treatment"]), arm_of_mean(values["control"]))
    assert one.p_value == pytest.approx(plain.p_value)


@pytest.mark.parametrize(
    ("users", "shares", "expected"),
    [([510, 490], None, [500, 500]), ([90, 210, 300], [1, 2, 3], [100, 200, 300])],
)
def test_sample_ratio_equals_scipys_chi_square_test(users, shares, expected):
    p = experiments.sample_ratio(users, shares)
    assert p == pytest.approx(chisquare(users, expected).pvalue)


def test_cuped_by_a_copy_of_the_metric_is_refused():
    table = users_whose_past_predicts_orders().assign(copy=lambda rows: 2 * rows["orders"] + 1)
    with pytest.raises(InputError, match="a column that determines the metric"):
        interleaving.read(users=table, metrics="orders", before="copy", **NO_SIMULATION)


def test_cuped_by_a_copy_of_the_capped_metric_is_refused():
    """CUPED adjusts by a column that was measured before the experiment. `copy` is the number of
    orders, but at most 3. The metric is capped too, at a quantile of the orders, `cap`: just above
    the share of users with fewer than 3 orders the quantile is 3. So `copy` is the capped metric,
    which cannot be from before the experiment, and must be refused.
    """
    table = users_whose_past_predicts_orders().assign(
        copy=lambda rows: rows["orders"].clip(upper=3)
    )
    level_of_quantile_3 = (table["orders"] < 3).mean() + 0.001
    with pytest.raises(InputError, match="a column that determines the metric"):
        interleaving.read(
            users=table, metrics="orders", before="copy", cap=level_of_quantile_3, **NO_SIMULATION
        )


def test_the_sentence_of_an_adjusted_pair_has_its_adjusted_means(adjusted_share):
    text = first_screen.verdict(adjusted_share).text
    sentence = r"bought adjusted for past is (\S+) \(\S+ more\) instead of (\S+)\."
    (printed,) = re.findall(sentence, text)
    means = adjusted_share.headline.iloc[0][["adjusted_first", "adjusted_second"]]
    assert [float(mean) for mean in printed] == pytest.approx(means.tolist(), abs=1e-3)


def test_the_means_of_an_adjusted_pair_turn_with_its_names():
    table = users_whose_past_predicts_orders().replace({"arm": {"a": "x", "b": "y"}})
    study = interleaving.read(users=table, metrics="bought", before="past", **NO_SIMULATION).users
    row = study.headline.iloc[0]
    turned = diagnostics.swap_systems(row)
    assert (turned["first"], turned["adjusted_first"]) == (row["second"], row["adjusted_second"])
