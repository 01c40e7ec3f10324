import numpy as np
import pytest

from evalkit.arrays import InputError
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
    assert np.isnan([closed_forms.auc_logit(1.0, 0.0, n=9).low, closed_forms.auc_newcombe(0.5, 0, 9).low]).all()


def test_method_by_class_size():
    assert closed_forms.auc_interval(0.8, 0.02, 49, 900).method == "Newcombe 5"
    assert closed_forms.auc_interval(0.8, 0.02, 50, 900).method == "logit DeLong"
    with pytest.raises(InputError, match="area must lie between 0 and 1, got 1"):
        closed_forms.auc_newcombe(1.2, 5, 5)
