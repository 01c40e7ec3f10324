from pathlib import Path

import numpy as np
import pytest

from evalkit.arrays import InputError
from evalkit.online import sessions

LOG = {
    "session": ["s", "s", "t", "t"],
    "position": [1, 2, 2, 1],
    "team": ["a", "b", "-", "a"],
    "outcome": [1, 0, 3, 2.5],
    "unit": ["u", "u", "v", "v"],
}


def log_with(**change):
    return sessions.read_log(**{"arms": ("a", "b"), "neutral": "-"} | LOG | change)


def test_a_log_gives_credit_and_checks():
    log = log_with()
    assert sessions.credit(log).tolist() == [[1, 0], [2.5, 0]]
    assert log.unit.tolist() == ["u", "v"]
    table = sessions.checks(log).set_index("check")
    assert table.at["first arm at position 1", "share"] == 1
    assert table.at["neutral items", "count"] == 1
    assert table.at["outcome on neutral items", "share"] == pytest.approx(3 / 6.5)
    assert table.at["sessions with uneven teams", "count"] == 0
    uneven = log_with(team=["a", "b", "a", "a"])
    assert sessions.checks(uneven).set_index("check").at["sessions with uneven teams", "count"] == 1


@pytest.mark.parametrize(
    "change, message",
    [
        ({"team": ["a", None, "b", "a"]}, r"team must be given on every row, got none \(row 1; 1 rows\)"),
        ({"team": ["a", "b", "c", "a"]}, r"team must be one of a, b, -, got c \(row 2\)"),
        ({"team": ["a", "a", "-", "a"]}, "team must hold both arms, got no row of b"),
        ({"position": [1, 3, 2, 1]}, r"got 3 instead of 2 \(session s\)"),
        ({"position": [1, 2, 1, 1]}, r"got 1 instead of 2 \(session t\)"),
        ({"unit": ["u", "v", "v", "v"]}, "got two for session s"),
        ({"outcome": [1, 0, float("nan"), 1]}, "outcome must hold only finite numbers"),
        ({"unit": ["u"]}, "columns must have one length"),
    ],
)
def test_bad_logs_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        log_with(**change)


def test_two_estimands_two_answers():
    # nine users take 3 of their 5 items from A, a tenth 15 of 50
    units = sessions.by_unit(np.arange(10), [3] * 9 + [15], [2] * 9 + [35])
    assert sessions.mean_share(units) == pytest.approx(0.57)
    assert sessions.total_share(units) == pytest.approx(42 / 95)


def test_a_unit_without_credit_has_no_share():
    units = sessions.by_unit(["u", "v"], [0, 1], [0, 0])
    assert np.isnan(units["share"][0])
    assert sessions.mean_share(units) == 1
    assert units["silent"].tolist() == [1, 0]


def test_the_real_rankings_with_simulated_clicks():
    folder = Path(__file__).resolve().parents[2] / "shared" / "data" / "interleaving_semi"
    if not folder.exists():
        pytest.skip("interleaving_semi is not here")
    import json

    import pandas as pd
    from scipy.stats import binomtest

    rows = pd.read_csv(folder / "sessions.csv")
    for name, want in json.loads((folder / "expected" / "interleaving.json").read_text()).items():
        part = rows[rows["experiment"] == name]
        log = sessions.read_log(
            part["session_id"], part["position"], part["team"], part["click"], unit=part["query_id"], arms=("A", "B")
        )
        first, second = sessions.credit(log).T
        units = sessions.by_unit(log.unit, first, second)
        total = units.drop(columns="unit").sum()
        got = {
            "clicks_A": total["first"],
            "clicks_B": total["second"],
            "delta_AB_chapelle": sessions.delta_ab(units),
            "outcome_wins_over_wins_plus_losses": total["wins"] / (total["wins"] + total["losses"]),
            "sessions": total["sessions"],
            "sessions_with_click": total["sessions"] - total["silent"],
            "sign_test_p": binomtest(int(total["wins"]), int(total["wins"] + total["losses"])).pvalue,
            "ties": total["ties"],
            "ties_with_clicks": total["ties"] - total["silent"],
            "wins_A": total["wins"],
            "wins_B": total["losses"],
        }
        assert got == pytest.approx(want, rel=1e-9)
        assert len(units) == 30


def null_rejections(repeats, seed, users=2000):
    """Share of p < 0.05 by session and by user where users differ in taste, use and nothing else."""
    from scipy.stats import binomtest, ttest_1samp

    rng = np.random.default_rng(seed)
    found = []
    for _ in range(repeats):
        plays = 1 + rng.poisson(8 * np.exp(rng.normal(-1.125, 1.5, users)))
        first = rng.binomial(plays, rng.beta(4, 4, users))
        session = binomtest(int(first.sum()), int(plays.sum())).pvalue
        units = sessions.by_unit(np.arange(users), first, plays - first)
        wins, losses = int((first * 2 > plays).sum()), int((first * 2 < plays).sum())
        sign = binomtest(wins, wins + losses).pvalue
        found.append([session, ttest_1samp(units["share"], 0.5).pvalue, sign])
    return (np.array(found) < 0.05).mean(axis=0)


def test_sessions_are_no_units_under_the_null():
    session, share, sign = null_rejections(120, seed=1)
    assert session > 0.3
    assert max(share, sign) < 0.12


@pytest.mark.slow
def test_users_hold_the_level_under_the_null():
    session, share, sign = null_rejections(3000, seed=2)
    print(f"false positives at 0.05: sessions {session:.3f}, user share t {share:.3f}, user sign {sign:.3f}")
    assert session > 0.4
    assert 0.04 <= share <= 0.06
    assert 0.035 <= sign <= 0.06
