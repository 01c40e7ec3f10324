import pytest

from evalkit.statistics import closed_forms


def test_newcombe_limits_solve_their_equation():
    e = closed_forms.auc_newcombe(0.85, 20, 80)
    for truth in (e.low, e.high):
        spread = 1 + 49 * ((1 - truth) / (2 - truth) + truth / (1 + truth))
        assert (0.85 - truth) ** 2 == pytest.approx(1.959964**2 * truth * (1 - truth) * spread / 1600, rel=1e-6)
    mirrored = closed_forms.auc_newcombe(0.15, 20, 80)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - e.high, 1 - e.low))


def test_limits_stay_inside_and_have_width_at_the_ends():
    top, bottom = closed_forms.auc_newcombe(1.0, 5, 9), closed_forms.auc_newcombe(0.0, 5, 9)
    assert (top.high, bottom.low) == (1, 0)
    assert top.low < 0.9
    assert bottom.high > 0.1
