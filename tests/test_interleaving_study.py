"""The interleaving report: logs of several rankers, users of A/B tests, plans, parts that were not
given.
"""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from frozen import needs
from online_samples import SMALL, log, more_logs, users
from scipy.stats import norm, t, ttest_ind

from evalkit.arrays import InputError, ParameterError
from evalkit.limits import Limits
from evalkit.metrics.rows import Sums
from evalkit.online import experiments
from evalkit.pages import experiment_page, first_screen, interleaving_page, page
from evalkit.parameters.reports import InterleavingParameters
from evalkit.statistics import independent, power, significance
from evalkit.statistics.independent import mean_of, ratio_of
from evalkit.statistics.proportions import two_proportions
from evalkit.studies import diagnostics, experiment, interleaving, planning


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
    assert (
        study.comparisons[["wins", "ties", "losses"]].sum(axis=1).tolist()
        == study.comparisons["n"].tolist()
    )


def test_the_test_is_of_users_and_never_of_sessions():
    many = more_logs(20)
    once, often = (interleaving.read(frame, **SMALL).log for frame in (log(), many))
    assert often.comparisons["n"].tolist() == once.comparisons["n"].tolist()
    assert often.headline["p"].iloc[0] == pytest.approx(once.headline["p"].iloc[0])
    assert often.session_p < 1e-6 < once.session_p
    lonely = interleaving.read(many.drop(columns="user"), **SMALL).log
    assert lonely.unit_name == "session"
    assert (
        "No user column: each session counts as a unit" in interleaving_page.findings(lonely).text
    )


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
    assert (
        'class="warn">A fair coin does not explain how the items were shared out (smallest '
        "adjusted p" in text
    )


def test_segments_are_of_sessions_and_positions_of_items():
    study = interleaving.read(log(), segments="device", **SMALL).log
    assert study.by_segment.groupby("slice")["n"].first().to_dict() == {"tv": 5, "web": 5}
    rows = study.by_position.set_index(["position", "system"])
    assert rows.loc[(1, "a"), "value"] == pytest.approx(42 / 10)
    assert rows.loc[(1, "b"), "shown"] == 0
    assert np.isnan(rows.loc[(1, "b"), "value"])


@pytest.mark.parametrize("most, read", [(10, True), (9, False)])
def test_the_limit_of_a_log_is_one_of_sessions_not_of_rows(most, read):
    """Ten sessions of two rows."""
    given = InterleavingParameters.from_raw({"log": log()} | SMALL)
    if read:
        assert len(interleaving.study_of(given, Limits(held=most)).log.kept.names) == 10
        return
    with pytest.raises(InputError, match="up to 9 sessions are held"):
        interleaving.study_of(given, Limits(held=most))


def test_any_number_is_an_outcome():
    hours = log().rename(columns={"outcome": "hours"})
    study = interleaving.read(
        hours, columns="outcome=hours", preference="credit_share", **SMALL
    ).log
    assert study.estimates["value"].max() == pytest.approx(53 / 95)
    assert study.table.columns["outcome"] == "hours"


# Several rankers


def test_several_rankers_are_compared_pair_by_pair_over_users():
    study = interleaving.read(needs.multileaved(), arms="c,a,b", **SMALL).log
    assert study.order == ["a", "b", "c"]
    value = study.estimates.set_index(["metric", "system"])["value"]
    for metric, even in {
        "user_share": 1,
        "credit_share": 1,
        "user_preference": 1.5,
        "session_wins": 1.5,
    }.items():
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
    asked = interleaving.read(
        users=users(), metrics="orders", world="positions", simulated_users=1000, rankers=3
    )
    assert asked.planning.name == "positions"


def test_one_gate_for_log_and_table():
    asked = {"baseline": "a", "gate": "not worse"} | SMALL
    both = interleaving.read(log=log(), users=users(), metrics="orders", **asked)
    assert both.gate.words.count("not worse against a") == 2
    alone = [
        interleaving.read(log(), **asked),
        interleaving.read(users=users(), metrics="orders", **asked),
    ]
    assert both.gate.passed == all(one.gate.passed for one in alone)


def test_curves_fall_from_half_to_five_percent_where_the_table_says():
    plan = planning.read("cascade", 4000, 4, seed=1)
    need = plan.needed.set_index("design")["agree_95"]
    for name, line in plan.curves.groupby("system"):
        assert (np.diff(line["error"]) <= 0).all()
        assert line["error"].iloc[0] <= 0.5
        assert np.interp(np.log(need[name]), np.log(line["users"]), line["error"]) == pytest.approx(
            0.05, abs=0.005
        )


def test_counted_experiments_agree_with_the_curve():
    plan = planning.read("cascade", 60_000, 4, seed=1)
    need = plan.needed.set_index("design")
    counted = plan.groups[plan.groups["system"] == "interleaving, win"].set_index("users")["error"]
    for n in (100, 300, 1000):
        told = planning.simulation.sign_error(*need.loc["interleaving, win", ["effect", "sd"]], n)
        assert counted[n] == pytest.approx(
            float(told), abs=4 * np.sqrt(told * (1 - told) / (60_000 // n))
        )


def test_the_seed_fixes_the_planning():
    one, two, other = (planning.read("positions", 2000, 3, seed=seed) for seed in (5, 5, 6))
    assert one.needed.equals(two.needed)
    assert one.stages.equals(two.stages)
    assert one.candidates.equals(two.candidates)
    assert not one.needed.equals(other.needed)


def test_means_shares_and_ratios_have_their_own_test():
    table = users()
    study = interleaving.read(
        users=table, metrics="orders,bought,orders/visits", baseline="a", **SMALL
    ).users
    rows = study.comparisons.set_index("metric")
    a, b = (table[table["arm"] == arm] for arm in "ab")
    # 3 of the 70 permutations of 8 users have as large a t
    assert rows.loc["orders", "p"] == pytest.approx(6 / 70)
    assert rows.loc["bought", "p"] == pytest.approx(two_proportions(4, 4, 3, 4).p_value)
    ratio = independent.difference(
        *(ratio_of(Sums(arm["orders"], arm["visits"])) for arm in (b, a))
    )
    assert rows.loc["orders/visits", "p"] == pytest.approx(ratio.p_value)
    assert rows.loc["orders/visits", "difference"] == pytest.approx(11 / 12 - 4 / 9)
    assert rows["method"].tolist() == ["studentised permutation", "score", "jackknife t"]


def test_cuped_strata_and_cap_stand_beside_the_plain_result():
    options = {
        "metrics": "orders",
        "before": "past",
        "strata": "country",
        "cap": 0.8,
        "baseline": "a",
    }
    study = interleaving.read(users=users(), **options, **SMALL).users
    rows = study.adjustments.set_index("way")
    table = users()
    a, b = (table[table["arm"] == arm] for arm in "ab")
    cuped = experiments.cuped(b["orders"], a["orders"], b["past"], a["past"])
    assert rows.loc["CUPED with past", "p"] == pytest.approx(cuped.p_value)
    assert rows.loc["CUPED with past", "users"] < 1
    assert rows.loc["as it is", "users"] == 1
    assert "stratified by country" in rows.index
    assert rows.loc["capped at 80.0%", "estimand"] == "mean of min(value, 2.6)"
    decides = study.headline.iloc[0]
    assert decides[["difference", "p"]].tolist() == pytest.approx(
        [cuped.difference.value, cuped.p_value]
    )
    assert decides["method"] == "Welch t after CUPED with past"
    assert "adjusted for past" in first_screen.verdict(study).text


def known_before(arms="ab", users=2000):
    """Users of arms, whose past tells what they buy; a buys a little more."""
    rng = np.random.default_rng(8)
    n = users * len(arms)
    past = rng.normal(size=n)
    arm = np.resize(list(arms), n)
    chance = 1 / (1 + np.exp(1 - 3 * past)) + 0.02 * (arm == "a")
    table = {"user": np.arange(n).astype(str), "arm": arm, "past": past}
    table |= {"bought": (rng.random(n) < chance).astype(int)}
    table |= {"orders": rng.poisson(np.exp(0.8 * past)), "visits": 1 + rng.poisson(2, n)}
    return pd.DataFrame(table)


def by_regression(table, metric):
    """The adjusted difference a − b with its limits and p, from residuals within arms."""
    y = table[metric].to_numpy(float)
    x = table["past"].to_numpy()
    first = table["arm"] == "a"
    inner_y, inner_x = (v - np.where(first, v[first].mean(), v[~first].mean()) for v in (y, x))
    rest = y - (inner_x @ inner_y) / (inner_x @ inner_x) * x
    test = ttest_ind(rest[first], rest[~first], equal_var=False)
    inside = test.confidence_interval()
    return [rest[first].mean() - rest[~first].mean(), inside.low, inside.high, test.pvalue]


@pytest.mark.parametrize("metric", ["bought", "orders"])
def test_cuped_of_shares_and_counts_decides_by_the_adjusted_means(metric):
    table = known_before()
    study = interleaving.read(users=table, metrics=metric, before="past", baseline="b", **SMALL)
    numbers = ["difference", "low", "high", "p"]
    right = by_regression(table, metric)
    headline, row = (frame.iloc[0] for frame in (study.users.headline, study.users.comparisons))
    beside = study.users.adjustments.set_index("way").loc["CUPED with past"]
    for shown in (headline, row, beside):
        assert shown[numbers].tolist() == pytest.approx(right)
    assert row["method"] == "Welch t after CUPED with past"


def test_cuped_of_a_share_is_as_narrow_as_the_past_allows():
    table = known_before()
    read = partial(interleaving.read, users=table, metrics="bought", baseline="b", **SMALL)
    raw = read().users.headline.iloc[0]
    adjusted = read(before="past").users.headline.iloc[0]
    left = (adjusted["high"] - adjusted["low"]) / (raw["high"] - raw["low"])
    correlation = np.corrcoef(table["bought"], table["past"])[0, 1]
    assert left == pytest.approx(np.sqrt(1 - correlation**2), rel=0.02)
    assert raw["verdict"] == "cannot tell"
    assert adjusted["verdict"] == "better"
    assert adjusted["detectable"] == pytest.approx(raw["detectable"] * left, rel=0.05)


def test_the_test_of_an_adjusted_share_is_named_as_it_is():
    study = interleaving.read(users=known_before(), metrics="bought", before="past", **SMALL)
    assert "bought: Welch's t" in study.users.tests_are


@pytest.mark.parametrize("arms", ["ab", "abc"])
def test_adjusted_means_differ_by_the_adjusted_difference(arms):
    table = known_before(arms)
    study = interleaving.read(users=table, metrics="bought,visits", before="past", **SMALL).users
    rows = study.comparisons
    adjusted = rows[rows["metric"] == "visits"]  # the first mean of amounts or counts
    assert (adjusted["adjusted_first"] - adjusted["adjusted_second"]).to_numpy() == pytest.approx(
        adjusted["difference"].to_numpy(), abs=1e-12
    )
    assert rows.loc[rows["metric"] == "bought", "adjusted_first"].isna().all()


def test_printed_adjusted_means_differ_by_the_printed_difference():
    row = {"adjusted_first": 0.3425, "adjusted_second": 0.3194, "difference": 0.0231}
    assert page.adjusted_means(row, 2) == ["0.34", "0.32"]
    assert page.adjusted_means(row, 3) == ["0.342", "0.319"]
    study = interleaving.read(
        users=known_before(), metrics="bought", before="past", baseline="b", **SMALL
    ).users
    (pair,) = re.findall(
        r"Adjusted means: a (\S+) and b (\S+)\. ", first_screen.verdict(study).text
    )
    difference = round(float(pair[0]) - float(pair[1]), 3)
    assert difference == round(study.headline.iloc[0]["difference"], 3)


def test_an_arm_s_ratio_has_its_limits_on_the_log_scale_with_the_freedom_of_heavy_users():
    table = pd.DataFrame({"user": range(12), "arm": ["a", "b"] * 6})
    visits = [1, 2, 3, 5, 8, 60]
    revenue = [4, 1, 0, 22, 9, 300]
    table["visits"], table["revenue"] = np.repeat(visits, 2), np.repeat(revenue, 2)
    study = interleaving.read(users=table, metrics="revenue/visits", **SMALL).users
    arm = ratio_of(Sums(np.array(revenue, float), np.array(visits, float)))
    freedom = arm.spread.kurtosis_freedom(arm.freedom)
    far = t.ppf(0.975, freedom) * arm.spread.error / arm.value
    row = study.estimates.iloc[0]
    assert freedom < 5
    assert row[["value", "low", "high"]].tolist() == pytest.approx(
        [336 / 79, 336 / 79 * np.exp(-far), 336 / 79 * np.exp(far)]
    )


def test_a_share_of_visits_stays_below_1():
    table = pd.DataFrame({"user": range(40), "arm": ["a", "b"] * 20, "visits": [3, 40] * 20})
    table["clicks"] = table["visits"] - (table["user"] % 7 == 0)
    study = interleaving.read(users=table, metrics="clicks/visits", **SMALL).users
    assert (study.estimates["high"] < 1).all()


def test_what_shows_of_amounts_is_the_same_whichever_arm_is_named_first():
    rng = np.random.default_rng(4)
    spent = rng.lognormal(0, 1, 400)
    table = pd.DataFrame({"user": range(400), "arm": ["a", "b"] * 200, "spent": spent})
    other = table.assign(arm=["b", "a"] * 200)
    shows = [
        interleaving.read(
            users=users, metrics="spent", baseline="b", **SMALL
        ).users.comparisons.iloc[0]["detectable"]
        for users in (table, other)
    ]
    variation = np.mean([spent[i::2].var(ddof=1) / spent[i::2].mean() ** 2 for i in (0, 1)])
    z = norm.ppf(0.975) + norm.ppf(0.8)
    assert shows == pytest.approx([spent.mean() * np.expm1(z * np.sqrt(variation / 100))] * 2)


def test_what_a_metric_measures_is_not_from_before_the_experiment():
    with pytest.raises(ParameterError, match="before: 'orders' is what metrics measure"):
        interleaving.read(users=users(), metrics="orders,past", before="orders")


def test_cuped_decides_in_slices_and_keeps_the_level_of_the_lift():
    table = pd.concat([users(user=[f"{i} {j}" for j in range(8)]) for i in range(30)])
    table["past"] += np.random.default_rng(3).poisson(4, len(table))
    read = partial(
        interleaving.read,
        users=table,
        metrics="orders,bought",
        segments="country",
        baseline="a",
        **SMALL,
    )
    adjusted, plain = read(before="past").users, read().users
    row = adjusted.comparisons.iloc[0]
    raw = plain.comparisons.iloc[0]
    control = table.loc[table["arm"] == "a", "orders"].mean()
    assert row["lift"] == pytest.approx(row["difference"] / control, rel=0.2)
    assert row["lift_low"] < row["lift"] < row["lift_high"]
    assert (row["p"] < 0.05) == (row["lift_low"] > 0 or row["lift_high"] < 0)
    assert row["difference"] != raw["difference"]
    share = adjusted.comparisons.iloc[1]
    assert share[plain.comparisons.columns].equals(plain.comparisons.iloc[1])  # is not adjusted
    for part in ("x", "y"):
        own = table[table["country"] == part]
        a, b = (own[own["arm"] == arm] for arm in "ab")
        cuped = experiments.cuped(b["orders"], a["orders"], b["past"], a["past"])
        shown = adjusted.by_segment.query("slice == @part").iloc[0]
        assert shown["difference"] == pytest.approx(cuped.difference.value)


def test_the_sample_ratio_is_against_what_was_planned():
    table = pd.concat([users(user=[f"{i} {j}" for j in range(8)]) for i in range(30)])
    table = table[(table["arm"] == "a") | (np.arange(len(table)) % 4 == 1)]
    notes = {
        shares: experiment_page.findings(
            interleaving.read(users=table, metrics="orders", shares=shares, **SMALL).users
        )
        for shares in (None, "a=2,b=1", "unknown")
    }
    beside_verdict = notes[None].html.split("<!--at verdict-->")[1].split("<!--/at-->")[0]
    assert "state the planned share of each by shares" in beside_verdict
    assert "Sample ratio against the planned shares a=2,b=1: p 1" in notes["a=2,b=1"].text
    assert "Sample ratio: not tested" in notes["unknown"].text


def test_planned_shares_are_those_of_their_arms_in_whatever_order():
    table = pd.DataFrame({"user": range(90), "arm": ["a", "a", "b"] * 30, "orders": range(90)})
    study = interleaving.read(users=table, metrics="orders", shares="b=1,a=2", **SMALL).users
    assert study.sample_ratio.p == 1


def test_an_adjustment_saves_users_by_the_square_of_the_width():
    study = interleaving.read(
        users=users(), metrics="orders", before="past", baseline="a", **SMALL
    ).users
    rows = study.adjustments.set_index("way")
    width = rows["high"] - rows["low"]
    saved = (width["CUPED with past"] / width["as it is"]) ** 2
    assert rows.loc["CUPED with past", "users"] == pytest.approx(saved)


def test_users_for_a_lift_are_those_of_the_control_and_fewer_by_cuped():
    """Orders of a: 1, 0, 1, 2 with 1, 0, 2, 2 before: mean 1, squared correlation 8/11."""
    study = interleaving.read(
        users=users(), metrics="orders", before="past", baseline="a", **SMALL
    ).users
    row = study.users_for.set_index("lift").loc[0.01]
    assert row["difference"] == pytest.approx(0.01)
    assert row["cuped"] / row["raw"] == pytest.approx(1 - 8 / 11, rel=1e-3)


def test_the_top_users_are_at_least_one():
    study = interleaving.read(users=users(), metrics="orders", **SMALL).users
    assert study.concentration[0.01] == pytest.approx(4 / 15)


@pytest.mark.parametrize("others, few", [(9, {"a": 9, "b": 9}), (10, {})])
def test_users_with_another_value_are_few_below_ten_an_arm(others, few):
    table = pd.DataFrame({"user": range(100), "arm": ["a", "b"] * 50, "orders": 0})
    table.loc[: 2 * others - 1, "orders"] = 3
    study = interleaving.read(users=table, metrics="orders", **SMALL).users
    assert experiment.few_others(study) == few


def test_a_metric_of_zeros_ones_and_twos_is_a_mean_and_no_share():
    study = interleaving.read(
        users=users(orders=[0, 1, 0, 2, 1, 1, 0, 2]), metrics="orders", **SMALL
    ).users
    assert study.headline["method"].tolist() == ["studentised permutation"]


@pytest.mark.parametrize("crossed, mark", [(1, ""), (2, ' class="warn"')])
def test_crossed_users_are_a_warning_above_one_in_a_hundred(crossed, mark):
    table = pd.DataFrame({"user": range(102), "arm": ["a", "b"] * 51, "orders": range(102)})
    again = table[:crossed].assign(arm=["b", "a"][:crossed])
    study = interleaving.read(users=pd.concat([table, again]), metrics="orders", **SMALL).users
    text = experiment_page.findings(study).html
    assert f'<li id="users-EK710"{mark}>{crossed} user' in text


def test_less_can_be_better_and_three_arms_are_one_family():
    table = users(orders=[1, 9, 0, 9, 1, 8, 2, 9])
    study = interleaving.read(users=table, metrics="orders", best="low", **SMALL).users
    assert study.headline[["first", "verdict"]].iloc[0].tolist() == ["b", "worse"]
    named = {"a": "x", "b": "y"}
    table = table.assign(arm=table["arm"].map(named))
    more = pd.concat([table, users(user=[f"v{i}" for i in range(8)], arm=["z"] * 8)])
    comparisons = interleaving.read(users=more, metrics="orders", **SMALL).users.comparisons
    assert len(comparisons) == 3
    assert (comparisons["adjusted"] >= comparisons["p"]).all()


def test_a_table_of_users_without_numbers_needs_metrics():
    with pytest.raises(ParameterError, match="metrics: name the columns of users to compare"):
        interleaving.read(users=users()[["user", "arm"]], **SMALL)


def test_the_first_flag_decides_and_what_was_before_is_no_metric_where_none_is_named():
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
    study = interleaving.read(users=table, **SMALL).users
    assert [chosen.label for chosen in study.settings.metrics] == ["bought", "spent"]
    assert "EK722" in [finding.kind.code for finding in experiment_page.findings_of_users(study)]


def test_the_difference_of_shares_that_would_show_is_that_of_their_test():
    table = pd.DataFrame(
        {"user": range(800), "arm": ["a"] * 300 + ["b"] * 500, "bought": np.arange(800) % 3 == 0}
    )
    study = interleaving.read(
        users=table.astype({"bought": int}), metrics="bought", baseline="a", **SMALL
    ).users
    row = study.comparisons.iloc[0]
    share = study.estimates.set_index("system")
    sizes = [share.loc[row[side], "n"] for side in ("first", "second")]
    by_test = power.detectable_share(
        share.loc[row["second"], "value"], *sizes, level=study.family_level
    )
    assert row["detectable"] == pytest.approx(by_test)
    assert 0.05 < by_test < 0.15


def test_what_a_table_of_users_compares_is_called_an_arm():
    table = pd.DataFrame(
        {"user": np.arange(60).astype(str), "arm": ["a", "b", "c"] * 20, "plays": np.arange(60) % 7}
    )
    page_text = experiment_page.estimates(
        interleaving.read(users=table, metrics="plays").users
    ).html
    assert '<th scope="col">arm</th>' in page_text
    assert "system" not in page_text


def limits(comparison):
    return [comparison.difference.low, comparison.difference.high]


def test_welch_equals_scipy():
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(0)
    a = rng.gamma(2, 3, 40)
    b = rng.gamma(2, 2, 15)
    got = independent.difference(mean_of(a), mean_of(b), level=0.9)
    want = ttest_ind(a, b, equal_var=False)
    assert got.p_value == pytest.approx(want.pvalue)
    assert limits(got) == pytest.approx(list(want.confidence_interval(0.9)))
    back = independent.difference(mean_of(b), mean_of(a), level=0.9)
    assert (back.p_value, back.difference.value) == pytest.approx(
        (got.p_value, -got.difference.value)
    )


# Ratios of sums and lifts


def people(rng, n, lift=1.0):
    """Clicks and impressions of users who differ in use and taste, and clicks before."""
    seen = 1 + rng.poisson(10 * np.exp(rng.normal(-1.125, 1.5, n)))
    taste = rng.beta(2, 18, n)
    return (
        rng.binomial(seen, np.minimum(1, taste * lift)).astype(float),
        seen,
        rng.binomial(seen, taste).astype(float),
    )


def small_arms(repeats, seed):
    """Ratios of few users of any sign: where the control may be 0 and intervals run to infinity."""
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        arms = []
        for _ in range(2):
            bottom = rng.poisson(3, rng.integers(2, 25)) + 1.0
            arms.append(Sums(rng.normal(rng.normal(0.2, 0.6), 1, bottom.size) * bottom, bottom))
        yield arms


def test_zero_lies_outside_the_lift_exactly_where_p_rejects():
    infinite = 0
    for one, two in small_arms(800, seed=11):
        got = independent.lift(ratio_of(one), ratio_of(two))
        low, high = limits(got)
        infinite += np.isinf([low, high]).any()
        assert low <= got.difference.value <= high
        assert (got.p_value < 0.05) == (not low <= 0 <= high)
        assert got.p_value == independent.difference(ratio_of(one), ratio_of(two)).p_value
    assert 100 < infinite < 700


def test_fieller_by_brute_force():
    rng = np.random.default_rng(12)
    a = rng.gamma(2, 3, 20)
    b = rng.gamma(2, 2, 9)
    errors = [one.var(ddof=1) / one.size for one in (a, b)]
    from scipy.stats import t

    freedom = sum(errors) ** 2 / (errors[0] ** 2 / 19 + errors[1] ** 2 / 8)
    grid = np.linspace(0, 7, 700_001)
    inside = (a.mean() - grid * b.mean()) ** 2 <= t.ppf(0.975, freedom) ** 2 * (
        errors[0] + grid**2 * errors[1]
    )
    want = [grid[inside].min() - 1, grid[inside].max() - 1]
    assert limits(independent.lift(mean_of(a), mean_of(b))) == pytest.approx(want, abs=2e-5)


def test_the_jackknife_leaves_out_each_user():
    rng = np.random.default_rng(13)
    (a, n, _), (b, m, _) = people(rng, 30), people(rng, 40)
    error = []
    for top, bottom in ((a, n), (b, m)):
        without = np.array(
            [np.delete(top, i).sum() / np.delete(bottom, i).sum() for i in range(top.size)]
        )
        error.append((top.size - 1) / top.size * ((without - without.mean()) ** 2).sum())
    kish = [bottom.sum() ** 2 / (bottom**2).sum() for bottom in (n, m)]
    freedom = sum(error) ** 2 / (error[0] ** 2 / (kish[0] - 1) + error[1] ** 2 / (kish[1] - 1))
    from scipy.stats import t

    got = independent.difference(ratio_of(Sums(a, n)), ratio_of(Sums(b, m)))
    assert got.p_value == pytest.approx(
        2 * t.sf(abs(got.difference.value) / np.sqrt(sum(error)), freedom)
    )


def test_cuped_narrows_the_interval_by_the_correlation():
    rng = np.random.default_rng(5)
    (a, _, a0), (b, _, b0) = people(rng, 4000, 1.2), people(rng, 4000)
    plain = independent.difference(mean_of(a), mean_of(b))
    adjusted = experiments.cuped(a, b, a0, b0)
    width = [one.difference.high - one.difference.low for one in (adjusted, plain)]
    assert width[0] / width[1] == pytest.approx(
        np.sqrt(1 - np.corrcoef(b, b0)[0, 1] ** 2), rel=0.05
    )
    useless = experiments.cuped(a, b, np.ones(4000), np.ones(4000))
    assert useless.p_value == pytest.approx(plain.p_value)
    assert useless.difference.value == pytest.approx(plain.difference.value)


def test_one_stratum_is_none():
    rng = np.random.default_rng(6)
    a = rng.normal(1, 1, 50)
    b = rng.normal(0, 1, 60)
    one = experiments.stratified(
        {"treatment": a, "control": b}, {"treatment": ["s"] * 50, "control": ["s"] * 60}
    )
    assert one.p_value == pytest.approx(independent.difference(mean_of(a), mean_of(b)).p_value)


def test_sample_ratio_equals_scipy():
    from scipy.stats import chisquare

    assert experiments.sample_ratio([510, 490]) == pytest.approx(chisquare([510, 490]).pvalue)
    got = experiments.sample_ratio([90, 210, 300], [1, 2, 3])
    assert got == pytest.approx(chisquare([90, 210, 300], [100, 200, 300]).pvalue)


def test_cuped_by_a_copy_of_the_metric_is_refused():
    table = known_before().assign(copy=lambda rows: 2 * rows["orders"] + 1)
    with pytest.raises(InputError, match="a column that determines the metric"):
        interleaving.read(users=table, metrics="orders", before="copy", **SMALL)


def test_cuped_by_a_copy_of_the_capped_metric_is_refused():
    table = known_before().assign(copy=lambda rows: rows["orders"].clip(upper=3))
    share = (table["orders"] < 3).mean() + 0.001
    with pytest.raises(InputError, match="a column that determines the metric"):
        interleaving.read(users=table, metrics="orders", before="copy", cap=share, **SMALL)


def test_the_sentence_of_an_adjusted_pair_has_its_adjusted_means():
    study = interleaving.read(
        users=known_before(), metrics="bought", before="past", baseline="b", **SMALL
    ).users
    row = study.headline.iloc[0]
    (pair,) = re.findall(
        r"bought adjusted for past is (\S+) \(\S+ more\) instead of (\S+)\.",
        first_screen.verdict(study).text,
    )
    means = row[["adjusted_first", "adjusted_second"]].tolist()
    assert [float(mean) for mean in pair] == pytest.approx(means, abs=1e-3)


def test_the_means_of_an_adjusted_pair_turn_with_its_names():
    table = known_before().replace({"arm": {"a": "x", "b": "y"}})
    study = interleaving.read(users=table, metrics="bought", before="past", **SMALL).users
    row = study.headline.iloc[0]
    turned = diagnostics.turned(row)
    assert (turned["first"], turned["adjusted_first"]) == (row["second"], row["adjusted_second"])
