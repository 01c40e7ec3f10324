import numpy as np
import pytest

from evalkit.arrays import ParameterError
from evalkit.statistics import sequential as seq


def test_looks_cost_what_armitage_found():
    assert [seq.false_positive_rate(k) for k in (1, 2, 5, 10, 20)] == pytest.approx(
        [0.05, 0.083, 0.142, 0.193, 0.248], abs=5e-4
    )


def test_bounds_restore_the_level():
    assert seq.pocock(5) == pytest.approx(np.full(5, 2.413), abs=5e-4)
    assert seq.obrien_fleming(5)[-1] == pytest.approx(2.040, abs=5e-4)
    assert seq.obrien_fleming(5)[0] == pytest.approx(2.040 * 5**0.5, abs=2e-3)
    assert seq.pocock(1) == pytest.approx([1.959964], abs=1e-6)
    assert seq.pocock(4, level=0.99)[0] > seq.pocock(4)[0]


def test_bounds_hold_the_level_on_random_walks():
    z = np.random.default_rng(1).normal(size=(40_000, 4)).cumsum(axis=1) / np.sqrt([1, 2, 3, 4])
    for bounds in (seq.pocock(4), seq.obrien_fleming(4)):
        assert np.mean(np.any(np.abs(z) > bounds, axis=1)) == pytest.approx(0.05, abs=0.005)
    assert np.mean(np.any(np.abs(z) > 1.96, axis=1)) == pytest.approx(seq.false_positive_rate(4), abs=0.01)


def test_refusals():
    with pytest.raises(ParameterError, match="looks must be at least 1, got 0"):
        seq.pocock(0)
    with pytest.raises(ParameterError, match="level must lie between 0 and 1, got 5"):
        seq.obrien_fleming(3, level=5)
