"""The planning study: curves, counted experiments, the order of the published result."""

import numpy as np
import pytest

from evalkit.studies import planning


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
