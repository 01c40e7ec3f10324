import numpy as np
import pytest

from evalkit.arrays import InputError
from evalkit.statistics.effects import effect


def test_swapping_mirrors_the_effect():
    a, b = np.random.default_rng(1).uniform(size=(2, 30)).round(1)
    there, back = effect(a, b), effect(b, a)
    assert back.difference == pytest.approx(-there.difference)
    assert back.standardised == pytest.approx(-there.standardised)
    assert back.superiority == pytest.approx(1 - there.superiority)
    assert (back.wins, back.ties, back.losses) == (there.losses, there.ties, there.wins)
    assert there.wins + there.ties + there.losses == 30


def test_undefined():
    nothing, one, same = effect([], []), effect([1], [0]), effect([1, 1], [0, 0])
    assert np.isnan([nothing.difference, nothing.relative, nothing.superiority]).all()
    assert (one.difference, one.superiority) == (1, 1)
    assert np.isnan([one.relative, one.standardised, same.standardised]).all()
    assert effect([1, 2], [-2, -2]).relative == pytest.approx(1.75)
    with pytest.raises(InputError, match="one length"):
        effect([1], [1, 2])
