"""The study of a log of interleaved sessions: estimands, units, neutral items, several rankers, bad logs."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from online_samples import SMALL, log

from evalkit.arrays import InputError, ParameterError
from evalkit.online import interleaving as drafts
from evalkit.online import simulation
from evalkit.pages import interleaving_page
from evalkit.statistics import significance
from evalkit.studies import interleaving

ROOT = Path(__file__).resolve().parents[1]


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


def test_the_test_is_of_users_and_never_of_sessions():
    many = pd.concat([log(session=[f"{day} {one}" for one in log()["session"]]) for day in range(20)])
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
    many = pd.concat([log(session=[f"{day} {one}" for one in log()["session"]]) for day in range(2)])
    study = interleaving.read(many, **SMALL).log
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
    assert study.columns["outcome"] == "hours"


def test_the_real_rankings_with_simulated_clicks():
    folder = ROOT.parent / "shared" / "data" / "interleaving_semi"
    if not folder.exists():
        pytest.skip("interleaving_semi must not be committed, and is not beside the checkout")
    rows = pd.read_csv(folder / "sessions.csv")
    for name, want in json.loads((folder / "expected" / "interleaving.json").read_text()).items():
        study = interleaving.read(rows[rows["experiment"] == name], **SMALL).log
        value = study.estimates.set_index(["metric", "system"])["value"]
        assert study.columns["user"] == "query_id"
        assert value["session_wins", "A"] - 0.5 == pytest.approx(want["delta_AB_chapelle"], rel=1e-9)
        clicks = want["clicks_A"] / (want["clicks_A"] + want["clicks_B"])
        assert value["credit_share", "A"] == pytest.approx(clicks, rel=1e-9)
        assert study.session_p == pytest.approx(want["sign_test_p"], rel=1e-9)
        assert (study.unit_name, study.comparisons["n"].max()) == ("query", 30)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"team": ["a", None, *["a", "b"] * 9]}, r"team must not be empty, got nothing \(row 2\)"),
        (
            {"position": [1, 3] * 10},
            r"position must run 1, 2, 3, … in each session, got 3 instead of 2 in session s0 \(row 2\)",
        ),
        ({"position": [1, np.nan] * 10}, r"position must be a finite number, got (nothing|nan) \(row 2\)"),
        ({"team": ["a"] * 20}, "team must hold two arms, got a$"),
        (
            {"team": ["a", "b", "c", "b"] * 5},
            "got a, b, c; name the rankers, arms='a,b,c', or what stands for no team, neutral='c'",
        ),
        ({"outcome": [np.inf] + [0] * 19}, r"outcome must be a finite number, got inf \(row 1\)"),
        ({"user": ["u", "v"] * 10}, r"user must have one value per session, got v after u in session s0 \(row 2\)"),
        (
            {"device": ["tv", "web"] * 10},
            r"device must have one value per session, got web after tv in session s0 \(row 2\)",
        ),
        ({"user": ["u", None] * 10}, "user must not be empty"),
    ],
)
def test_bad_logs_are_refused(change, message):
    with pytest.raises(InputError, match=message) as error:
        interleaving.read(log(**change), segments="device", **SMALL)
    assert "\n" not in str(error.value)


def test_named_arms_are_held_to():
    with pytest.raises(InputError, match=r"data frame: team must be one of a, c, got 'b' \(row 2; 10 rows\)"):
        interleaving.read(log(), arms="a,c", **SMALL)
    with pytest.raises(InputError, match="team must hold every arm, got no row of c"):
        interleaving.read(log(team=["a"] * 20), arms="a,c", **SMALL)
    with pytest.raises(InputError, match="no column for the team"):
        interleaving.read(log().drop(columns="team"), **SMALL)


def test_a_bad_file_is_named(tmp_path):
    path = tmp_path / "day.csv"
    log(position=[1, 3] * 10).to_csv(path, index=False)
    with pytest.raises(InputError, match=r"day\.csv: position must run 1, 2, 3"):
        interleaving.read(str(path), **SMALL)


def test_no_click_at_all_is_refused():
    rule = "outcome must be above 0 on at least one item of an arm, got 0 on all"
    with pytest.raises(InputError, match=rule):
        interleaving.read(log(outcome=[0] * 20), **SMALL)


def test_an_error_names_the_row_of_its_own_file(tmp_path):
    more = log(session=np.repeat([f"t{i}" for i in range(10)], 2)).rename(columns={"outcome": "hours"})
    more.assign(hours=[1] * 4 + [-2.5] + [1] * 15).to_csv(tmp_path / "b.csv", index=False)
    log().rename(columns={"outcome": "hours"}).to_csv(tmp_path / "a.csv", index=False)
    both = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    with pytest.raises(InputError, match=r"b\.csv: hours must be at least 0, got -2\.5 \(row 5\)$"):
        interleaving.read(both, columns="outcome=hours", **SMALL)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"arms": "a,a"}, "arms must differ, got a, a"),
        ({"arms": "a,b", "neutral": "a"}, "neutral must not be one of the arms, got 'a'"),
        ({"metrics": "orders"}, "metrics: applies to users, which was not given; set users=FILE"),
        ({"columns": "sesion=session"}, "columns: unknown role 'sesion', must be one of session"),
        ({"columns": "arm=team"}, "columns: unknown role 'arm'"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        interleaving.read(log(), **options, **SMALL)


# Several rankers


def multileaved(seed, noises, users=300, sessions_each=3):
    """Sessions of team-draft multileaving of rankers with these noises, clicks of the cascade model."""
    rng, k = np.random.default_rng(seed), 6
    world = simulation.World(k=k)
    who = simulation.people(world, users, rng=rng)
    lists = np.stack([simulation.ranking(world, who, noise, rng=rng) for noise in noises])
    rows = []
    for day in range(sessions_each):
        shown = drafts.team_draft(lists, k, rng=rng)
        clicks = simulation.watched(world, np.take_along_axis(who.chance, shown.item, axis=1), rng=rng)
        user = np.repeat(np.arange(users), k)
        made = {"user": user, "session": user * sessions_each + day, "position": np.tile(np.arange(k) + 1, users)}
        team = np.array([f"r{i}" for i in range(len(noises))])[shown.team.ravel()]
        rows.append(pd.DataFrame(made | {"team": team, "click": clicks.ravel()}))
    return pd.concat(rows, ignore_index=True)


def test_several_rankers_are_compared_pair_by_pair_over_users():
    noises = [4.0, 0.2, 1.6]
    study = interleaving.read(multileaved(1, noises), arms="r0,r1,r2", **SMALL).log
    assert study.order == ["r1", "r2", "r0"]
    value = study.estimates.set_index(["metric", "system"])["value"]
    for metric, even in {"user_share": 1, "credit_share": 1, "user_preference": 1.5, "session_wins": 1.5}.items():
        assert value[metric].sum() == pytest.approx(even)
    rows = study.comparisons[study.comparisons["metric"] == "user_share"]
    assert rows[["first", "second"]].to_numpy().tolist() == [["r1", "r2"], ["r1", "r0"], ["r2", "r0"]]
    assert rows["adjusted"].tolist() == pytest.approx(significance.holm(rows["p"]).tolist())
    credit = pd.DataFrame(study.kept.credit, columns=study.kept.arms).groupby(study.kept.user).sum()
    share = credit.div(credit.sum(axis=1), axis=0).dropna()
    assert rows["difference"].iloc[0] == pytest.approx((share["r1"] - share["r2"]).mean())
    assert rows["wins"].iloc[0] == (share["r1"] > share["r2"]).sum()
    assert study.headline["verdict"].iloc[-1] == "better"


def test_the_page_of_several_rankers():
    study = interleaving.read(multileaved(2, [1.6] * 3), arms="r0,r1,r2", **SMALL)
    assert len(study.log.coins) == 18
    assert "r0 or r1 or r2" in interleaving_page.title(study).text
    assert "a tie is a share of 1/3" in interleaving_page.estimates(study.log).text
    assert "minus 1/3, the share under a fair coin" in interleaving_page.balance(study.log).caption
    assert study.log.checks.set_index("check").at["sessions with uneven teams", "count"] == 0
    assert study.log.balance["adjusted"].min() > 0.001
    assert interleaving_page.results(study).results["log"]["delta_ab"] is None


def test_equal_rankers_keep_the_level_of_the_family():
    wrong = [
        interleaving.read(multileaved(seed, [1.6] * 3, users=80, sessions_each=1), arms="r0,r1,r2", **SMALL)
        .log.comparisons.query("metric == 'user_share'")["adjusted"]
        .min()
        < 0.05
        for seed in range(60)
    ]
    assert np.mean(wrong) < 0.15
