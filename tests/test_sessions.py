from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evalkit.arrays import codes
from evalkit.catalogue import unit_metrics
from evalkit.metrics.rows import Sums
from evalkit.online import sessions
from evalkit.reading.tables.table import Coded
from evalkit.statistics import independent, interval_methods

LOG = {
    "session": ["s", "s", "t", "t"],
    "position": [1, 2, 2, 1],
    "team": ["a", "b", "-", "a"],
    "outcome": [1, 0, 3, 2.5],
    "unit": ["u", "u", "v", "v"],
}


def read(session, position, team, outcome, unit, arms=("a", "b"), neutral=None):
    """What is kept of the rows of a log."""
    texts = np.where(pd.isna(team), "", np.asarray(team, dtype=object)).astype(str).tolist()
    numbers = (np.asarray(column, float) for column in (position, outcome))
    log = sessions.Log(*codes(session), *codes(unit), Coded.of(texts, np.arange(len(texts))), *numbers, arms, neutral)
    log.check()
    return sessions.Sessions.of(log)


def log_with(**change):
    return read(**{"neutral": "-"} | LOG | change)


def test_a_log_gives_credit_and_checks():
    kept = log_with()
    assert kept.credit.tolist() == [[1, 0], [2.5, 0]]
    assert kept.owners.tolist() == ["u", "v"]
    assert kept.shown.tolist() == [[0, 0, 0], [2, 0, 0], [0, 1, 1]]
    checks = dict(zip(sessions.COUNTED, kept.counted.tolist(), strict=True))
    assert checks["neutral items"] == [1, 4]
    assert checks["outcome on neutral items"] == [3, 6.5]
    assert checks["sessions with uneven teams"] == [0, 2]
    assert log_with(team=["a", "b", "a", "a"]).counted[0].tolist() == [1, 2]


@pytest.mark.parametrize("users", [1, 2, 3, 200])
@pytest.mark.parametrize("outcome", [lambda rng, n: rng.gamma(0.3, 50, n), lambda rng, n: 0.3 * np.ones(n)])
def test_the_outcome_per_item_is_the_jackknife_of_the_users_ratios(users, outcome):
    rng = np.random.default_rng(users)
    user, place = rng.integers(0, users, 60 * users), rng.integers(2, 4, 60 * users)
    top = outcome(rng, user.size)
    halves = [user < users / 2, user >= users / 2]
    parts = [sessions.Outcomes.of(place[of], user[of], top[of], users) for of in halves if of.any()]
    for at in (2, 3, 4):
        here = place == at
        items, total = (np.bincount(user[here], x, users) for x in (np.ones(here.sum()), top[here]))
        wanted = interval_methods.arm_within(
            independent.ratio_of(Sums(total[items > 0], items[items > 0])), 0.0, np.inf, level=0.95
        )
        e = sessions.Outcomes.joined(parts).per_item(at, np.inf, 0.95)
        assert [e.value, e.low, e.high, e.n] == pytest.approx(
            [wanted.value, wanted.low, wanted.high, wanted.n], rel=1e-9, nan_ok=True
        )


def test_a_unit_without_credit_has_no_share():
    (side, _) = sessions.sides(["u", "v"], np.array([[0.0, 0], [1, 0]]))
    assert unit_metrics.user_share(side).tolist() == pytest.approx([np.nan, 1], nan_ok=True)


def test_the_real_rankings_with_simulated_clicks():
    folder = Path(__file__).resolve().parents[2] / "shared" / "data" / "interleaving_semi"
    if not folder.exists():
        pytest.skip("interleaving_semi must not be committed, and is not beside the checkout")
    import json

    from scipy.stats import binomtest

    rows = pd.read_csv(folder / "sessions.csv")
    for name, want in json.loads((folder / "expected" / "interleaving.json").read_text()).items():
        part = rows[rows["experiment"] == name]
        columns = (part[name].to_numpy() for name in ("session_id", "position", "team", "click", "query_id"))
        kept = read(*columns, arms=("A", "B"))
        first, second = kept.credit.T
        wins, losses, ties = (int(flags.sum()) for flags in (first > second, first < second, first == second))
        silent = int((kept.credit.sum(axis=1) == 0).sum())
        got = {
            "clicks_A": first.sum(),
            "clicks_B": second.sum(),
            "delta_AB_chapelle": unit_metrics.session_wins(kept.sides[0]).value - 0.5,
            "outcome_wins_over_wins_plus_losses": wins / (wins + losses),
            "sessions": len(first),
            "sessions_with_click": len(first) - silent,
            "sign_test_p": binomtest(wins, wins + losses).pvalue,
            "ties": ties,
            "ties_with_clicks": ties - silent,
            "wins_A": wins,
            "wins_B": losses,
        }
        assert got == pytest.approx(want, rel=1e-9)
        assert len(kept.users) == 30
