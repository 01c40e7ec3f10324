"""The interleaving study and its page: the log, the A/B table, the planning, bad input, the files."""

import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from evalkit import __main__ as cli
from evalkit.arrays import InputError, ParameterError
from evalkit.metrics.rankings import Pooled
from evalkit.online import experiments
from evalkit.statistics.proportions import two_proportions
from evalkit.studies import (
    experiment_page,
    interleaving,
    interleaving_page,
    interleaving_plots,
    planning,
    planning_page,
)
from evalkit.studies.interleaving import Online

ROOT = Path(__file__).resolve().parents[1]
SMALL = {"world": "none"}


@pytest.fixture(scope="module")
def sample() -> Online:
    return interleaving.read(simulated_users=4000, rankers=4)


def log(**columns) -> pd.DataFrame:
    """Nine light users who take 3 of their 5 items from a, a tenth who takes 15 of 50; ten sessions of two items."""
    base = {
        "session": np.repeat([f"s{i}" for i in range(10)], 2),
        "position": [1, 2] * 10,
        "team": ["a", "b"] * 10,
        "outcome": [3, 2] * 9 + [15, 35],
        "user": np.repeat([f"u{i}" for i in range(10)], 2),
        "device": ["tv", "tv", "web", "web"] * 5,
    }
    return pd.DataFrame(base | columns)


def users(**columns) -> pd.DataFrame:
    """Eight users in two arms."""
    base = {
        "user": [f"u{i}" for i in range(8)],
        "arm": ["a", "b"] * 4,
        "orders": [1, 2, 0, 3, 1, 2, 2, 4],
        "visits": [2, 2, 1, 3, 4, 3, 2, 4],
        "bought": [1, 1, 0, 1, 1, 1, 1, 1],
        "past": [1, 1, 0, 2, 2, 1, 2, 4],
        "country": ["x", "x", "x", "y", "y", "y", "y", "x"],
    }
    return pd.DataFrame(base | columns)


# ---- the log --------------------------------------------------------------------------------------------------------


def test_two_estimands_give_two_answers():
    study = interleaving.read(log(), **SMALL).log
    found = study.estimates.set_index(["metric", "system"])["value"]
    assert found["user_share", "a"] == pytest.approx(0.57)
    assert found["credit_share", "a"] == pytest.approx(42 / 95)
    assert found["user_preference", "a"] == pytest.approx(0.9)
    row = study.comparisons.set_index("metric").loc["user_share"]
    assert (row["difference"], row["n"], row["unit"]) == (pytest.approx(0.14), 10, "user")
    warning = "a has 0.570 as the mean of each user's share, 0.442 of all credit"
    assert warning in interleaving_page.notes(study).text


def test_the_test_is_of_users_and_never_of_sessions():
    many = pd.concat([log(session=[f"{day} {one}" for one in log()["session"]]) for day in range(20)])
    once, often = (interleaving.read(frame, **SMALL).log for frame in (log(), many))
    assert often.comparisons["n"].tolist() == once.comparisons["n"].tolist()
    assert often.headline["p"].iloc[0] == pytest.approx(once.headline["p"].iloc[0])
    assert often.session_p < 1e-6 < once.session_p
    lonely = interleaving.read(many.drop(columns="user"), **SMALL).log
    assert lonely.unit_name == "session"
    assert "No user column: each session counts as a unit" in interleaving_page.notes(lonely).text


def test_neutral_items_give_credit_to_nobody_and_are_counted():
    team = ["both", "b"] + ["a", "b"] * 9
    study = interleaving.read(log(team=team), neutral="both", **SMALL).log
    checks = study.checks.set_index("check")["count"]
    assert checks["neutral items"] == 1
    assert checks["outcome on neutral items"] == 3
    assert study.users().set_index("unit").loc["u0", ["first", "second"]].tolist() == [0, 2]


def test_a_coin_that_is_none_is_a_warning():
    many = pd.concat([log(session=[f"{day} {one}" for one in log()["session"]]) for day in range(2)])
    study = interleaving.read(many, **SMALL).log
    assert study.balance["share"].tolist() == [1, 0]
    assert study.balance["adjusted"].max() < 0.001
    assert '<li class="warn">Fair coin: smallest adjusted p over the positions &lt;0.001' in (
        interleaving_page.notes(study).html
    )


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
    assert study.data.columns["outcome"] == "hours"


def test_the_real_rankings_with_simulated_clicks():
    folder = ROOT.parent / "shared" / "data" / "interleaving_semi"
    if not folder.exists():
        pytest.skip("interleaving_semi is not here")
    rows = pd.read_csv(folder / "sessions.csv")
    for name, want in json.loads((folder / "expected" / "interleaving.json").read_text()).items():
        study = interleaving.read(rows[rows["experiment"] == name], **SMALL).log
        value = study.estimates.set_index(["metric", "system"])["value"]
        assert study.data.columns["user"] == "query_id"
        assert value["session_wins", "A"] - 0.5 == pytest.approx(want["delta_AB_chapelle"], rel=1e-9)
        clicks = want["clicks_A"] / (want["clicks_A"] + want["clicks_B"])
        assert value["credit_share", "A"] == pytest.approx(clicks, rel=1e-9)
        assert study.session_p == pytest.approx(want["sign_test_p"], rel=1e-9)
        assert (study.unit_name, study.comparisons["n"].max()) == ("query", 30)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"team": ["a", None, *["a", "b"] * 9]}, r"team must be given on every row, got nothing \(row 2; 1 rows\)"),
        ({"position": [1, 3] * 10}, r"position must run 1, 2, 3, … in each session, got 3 instead of 2 \(session s0\)"),
        ({"position": [1, np.nan] * 10}, r"position must be a finite number, got (nothing|nan) \(row 2\)"),
        ({"team": ["a"] * 20}, "team must hold two arms, got a$"),
        ({"team": ["a", "b", "c", "b"] * 5}, "team must hold two arms, got a, b, c; name the two arms"),
        ({"outcome": [np.inf] + [0] * 19}, r"outcome must be a finite number, got inf \(row 1\)"),
        ({"user": ["u", "v"] * 10}, "session must belong to one unit, got two for session s0"),
        ({"device": ["tv", "web"] * 10}, "device must have one value a session, got two for session s0"),
        ({"user": ["u", None] * 10}, "user must be given on every row"),
    ],
)
def test_bad_logs_are_refused(change, message):
    with pytest.raises(InputError, match=message) as error:
        interleaving.read(log(**change), segments="device", **SMALL)
    assert "\n" not in str(error.value)


def test_named_arms_are_held_to():
    with pytest.raises(InputError, match=r"data frame: team must be one of a, c, got 'b' \(row 2; 10 rows\)"):
        interleaving.read(log(), arms="a,c", **SMALL)
    with pytest.raises(InputError, match="team must hold both arms, got no row of c"):
        interleaving.read(log(team=["a"] * 20), arms="a,c", **SMALL)
    with pytest.raises(InputError, match="no column for the team"):
        interleaving.read(log().drop(columns="team"), **SMALL)


def test_a_bad_file_is_named(tmp_path):
    path = tmp_path / "day.csv"
    log(position=[1, 3] * 10).to_csv(path, index=False)
    with pytest.raises(InputError, match=r"day\.csv: position must run 1, 2, 3"):
        interleaving.read(str(path), **SMALL)


def test_no_click_at_all_is_refused():
    study = interleaving.read(log(outcome=[0] * 20), **SMALL).log
    with pytest.raises(InputError, match="user_share: no user has an outcome on an item of either arm"):
        _ = study.comparisons


# ---- the A/B table --------------------------------------------------------------------------------------------------


def test_rand_by_rows_equals_scipy_and_statsmodels():
    # the values of scipy ttest_ind(equal_var=False) and statsmodels on the 20,190 rows as if independent
    rows = pd.read_parquet(ROOT / "data" / "rand_hie" / "visits.parquet")
    arm = np.where(rows["lncoins"] == 0, "free", "paying")
    table = rows.assign(arm=arm, any=(rows["mdvis"] > 0).astype(int))[["id", "arm", "mdvis", "any"]]
    study = interleaving.read(users=table, columns="user=id", metrics="mdvis,any", baseline="paying", **SMALL).users
    visits, share = study.comparisons.to_dict("records")
    assert [visits[name] for name in ("difference", "low", "high")] == pytest.approx(
        [0.577946611449, 0.454605388909, 0.70128783399], rel=1e-9
    )
    assert visits["p"] == pytest.approx(4.52726883329e-20, rel=1e-9)
    assert [share[name] for name in ("difference", "low", "high", "lift")] == pytest.approx(
        [0.0734568977165, 0.0605852159968, 0.0863215741769, 0.113436798372], rel=1e-9
    )
    assert share["p"] == pytest.approx(3.44654390248e-29, rel=1e-9)


def test_means_shares_and_ratios_have_their_own_test():
    table = users()
    study = interleaving.read(users=table, metrics="orders,bought,orders/visits", baseline="a", **SMALL).users
    rows = study.comparisons.set_index("metric")
    a, b = (table[table["arm"] == arm] for arm in "ab")
    assert rows.loc["orders", "p"] == pytest.approx(experiments.difference(b["orders"], a["orders"]).p_value)
    assert rows.loc["bought", "p"] == pytest.approx(two_proportions(4, 4, 3, 4).p_value)
    ratio = experiments.ratio_difference(*(Pooled(arm["orders"], arm["visits"]) for arm in (b, a)))
    assert rows.loc["orders/visits", "p"] == pytest.approx(ratio.p_value)
    assert rows.loc["orders/visits", "difference"] == pytest.approx(11 / 12 - 4 / 9)
    assert rows["method"].tolist() == ["Welch t", "score", "jackknife t"]


def test_cuped_strata_and_cap_stand_beside_the_plain_result():
    options = {"metrics": "orders", "before": "past", "strata": "country", "cap": 0.8, "baseline": "a"}
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
    assert study.headline["difference"].iloc[0] == rows.loc["as it is", "difference"]


def test_users_in_both_arms_are_left_out_and_counted():
    table = pd.concat([users(), users()[:1].assign(arm="b")])
    study = interleaving.read(users=table, metrics="orders", **SMALL).users
    assert study.assigned.crossed == 1
    assert study.sizes == {"a": 3, "b": 4}
    assert "1 user seen in several arms: left out of all." in experiment_page.notes(study).text


def test_the_sample_ratio_is_against_what_was_planned():
    table = pd.concat([users(user=[f"{i} {j}" for j in range(8)]) for i in range(30)])
    table = table[(table["arm"] == "a") | (np.arange(len(table)) % 4 == 1)]
    notes = {
        shares: experiment_page.notes(interleaving.read(users=table, metrics="orders", shares=shares, **SMALL).users)
        for shares in (None, "a=2,b=1", "unknown")
    }
    assert "the assignment is broken" in notes[None].text
    broken = interleaving.read(users=table, metrics="orders", **SMALL)
    assert "the assignment is broken" in interleaving_page.verdict(broken).text
    assert "Sample ratio against the planned shares: p 1" in notes["a=2,b=1"].text
    assert "Sample ratio: not tested" in notes["unknown"].text


def test_three_arms_are_one_family():
    table = pd.concat([users(), users(user=[f"v{i}" for i in range(8)], arm=["c"] * 8)])
    study = interleaving.read(users=table, metrics="orders", **SMALL).users
    assert len(study.comparisons) == 3
    assert (study.comparisons["adjusted"] >= study.comparisons["p"]).all()


def test_several_looks_have_a_price():
    study = interleaving.read(users=users(), metrics="orders", looks=5, **SMALL).users
    assert study.looks["false_positive_rate"] == pytest.approx(0.142, abs=5e-4)
    assert study.looks["pocock"] == pytest.approx(0.0158, abs=1e-4)
    assert "5 looks at 0.05 each" in experiment_page.notes(study).text


def test_less_can_be_better():
    table = users(orders=[1, 9, 0, 9, 1, 8, 2, 9])
    study = interleaving.read(users=table, metrics="orders", best="low", **SMALL).users
    assert study.headline[["first", "verdict"]].iloc[0].tolist() == ["a", "better"]


@pytest.mark.parametrize(
    "change, options, message",
    [
        ({"arm": ["a"] * 8}, {}, "arm must hold two arms or more, got only a"),
        ({"arm": ["a", None] * 4}, {}, r"arm must be given on every row, got nothing \(row 2; 4 rows\)"),
        ({}, {"arms": "a,c"}, r"data frame: arm must be one of a, c, got 'b' \(row 2; 4 rows\)"),
        ({}, {"arms": "a,b,c"}, "every arm must have a user of its own, got none in c"),
        (
            {"user": ["u"] * 8, "arm": ["a"] * 8},
            {"arms": "a,b"},
            r"unit must have one row, got several for u \(1 units",
        ),
        ({"orders": [np.nan] * 8}, {}, r"orders must be a finite number, got (nothing|nan) \(row 1\)"),
        ({}, {"metrics": None}, "metrics: name the columns of users to compare"),
        ({}, {"metrics": "order"}, "has no column 'order'.*did you mean 'orders'"),
        ({}, {"metrics": "a/b/c"}, "must be a column or a ratio of two"),
        ({}, {"shares": "a=1,c=1"}, "shares: must name the arms a, b, got a, c"),
        ({}, {"cap": 1}, "cap must be a number between 0 and 1, got 1"),
        ({}, {"before": "age"}, "has no column 'age'"),
        ({}, {"segments": "town"}, "segments: no input has a column 'town'"),
        ({}, {"baseline": "z"}, "there is no system 'z', the input has a, b"),
        ({}, {"gate": "better"}, "gate: needs a baseline"),
        ({}, {"best": "more"}, "best must be one of high, low, got 'more'"),
        ({}, {"world": "cascades"}, "world must be one of cascade"),
        ({}, {"simulated_users": 10}, "simulated_users must be a whole number of at least 1000"),
    ],
)
def test_bad_tables_and_parameters_are_refused(change, options, message):
    with pytest.raises((InputError, ParameterError), match=message):
        interleaving.read(users=users(**change), **SMALL | {"metrics": "orders"} | options)


# ---- planning -------------------------------------------------------------------------------------------------------


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


@pytest.mark.slow
def test_the_order_of_the_published_result():
    plan = planning.read("cascade", 400_000, 20, seed=0)
    rows = plan.worlds.set_index("world")
    print(rows[["interleaving", "raw_times", "cuped_times"]].round(1))
    print({how: round(plan.correlation(how), 3) for how in ("true", "measured", "cuped")})
    assert 70 < rows.loc["cascade", "raw_times"] < 170
    assert 5 < rows.loc["cascade", "cuped_times"] < 15
    assert rows.loc["cascade, even users", "raw_times"] < 15
    assert plan.correlation("true") > 0.97
    assert plan.correlation("measured") < plan.correlation("cuped") < plan.correlation("true")
    stages = plan.stages.set_index(["design", "keep"])
    parallel = stages.loc[("A/B in parallel", 20)]
    assert stages.loc[("two stages", 5), "users"] < parallel["users"] * 0.6
    print(plan.stages)
    assert stages.loc[("two stages", 5), "best_wins"] > parallel["best_wins"] - 0.05


# ---- the page -------------------------------------------------------------------------------------------------------


def test_the_sample_says_that_it_is_simulated(sample):
    assert sample.log.simulated
    assert "its users and clicks are simulated" in interleaving_page.verdict(sample).text
    assert interleaving.read("data/interleaving/sessions.parquet", neutral="both", **SMALL).log.simulated
    assert not interleaving.read(log(), **SMALL).log.simulated
    assert "simulated" in interleaving_page.notes(sample.log).text
    assert "simulated clicks" in interleaving_plots.by_position(sample.log).caption
    pieces = [interleaving_plots.errors(sample.planning).caption, interleaving_plots.agreement(sample.planning).caption]
    assert all(caption.startswith("Simulated, not observed") for caption in pieces)
    assert "sigma 1.5" in planning_page.answer(sample.planning).text
    assert sample.log.headline[["first", "verdict"]].iloc[0].tolist() == ["candidate", "better"]


def test_the_rand_sample_owns_up_to_its_units(sample):
    text = experiment_page.notes(sample.users).text
    assert "names no person" in text
    assert "intervals are still somewhat narrow" in text
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
    assert experiment_page.notes(only.users).text.startswith("No A/B table of users was given")
    assert planning_page.answer(only.planning).text.startswith("No world was simulated")
    assert interleaving_plots.errors(only.planning).html == ""
    assert "A/B" not in interleaving_page.verdict(only).text
    assert interleaving_page.results(only).results["users"] is None
    other = interleaving.read(users=users(), metrics="orders", **SMALL)
    assert other.log is None
    assert interleaving_page.notes(other.log).text.startswith("No log of interleaved sessions was given")


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
        make(study.log) for make in (interleaving_page.notes, interleaving_page.checks, interleaving_page.segments)
    ]
    pieces += [make(study.log) for make in (interleaving_plots.balance, interleaving_plots.by_position)]
    pieces += [make(study.users) for make in (experiment_page.notes, experiment_page.comparisons)]
    pieces += [make(study.users) for make in (experiment_page.adjustments, experiment_page.segments)]
    pieces += [interleaving_plots.heavy_users(study.users), experiment_page.users_for(study.users)]
    for piece in pieces:
        assert "<img" not in piece._repr_mimebundle_()["text/html"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    small = ["-p", "simulated_users", "2000", "-p", "rankers", "3"]
    assert cli.main(["report", "interleaving", *small, "-o", str(folder)]) == 0
    return folder


def test_the_page_is_small_and_loads_nothing(report):
    text = (report / "interleaving.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 300_000
    assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?\s*(https?:)?//""", text)
    assert str(ROOT) not in text


def test_the_json_is_what_the_schema_says(report):
    results = json.loads((report / "interleaving.json").read_text(encoding="utf-8"))
    schema = json.loads((ROOT / "evalkit" / "schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(results)
    assert results["log"]["simulated"]
    assert results["planning"]["simulated"]
    assert results["users"]["population"]["sizes"] == {"free": 2888, "paying": 2315}
    broken = results | {"log": {**results["log"], "balance": [{}]}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(broken)
