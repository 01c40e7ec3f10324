"""Values at hand: what pairs of systems share is computed once, and each pair has the numbers it has alone."""

import numpy as np
import pandas as pd
import pytest
from significance_tables import rng

from evalkit.statistics import significance as tests
from evalkit.studies import paired, significance
from evalkit.studies.paired import RESAMPLES

UNITS = 1_200  # above those whose bootstrap draws Poisson counts first


@pytest.fixture(scope="module")
def table():
    values = pd.DataFrame(rng(4).normal(size=(UNITS, 5)), columns=list("abcde"))
    values["d"] = (values["a"] > 0) * 1.0
    values["e"] = (values["b"] > 0.5) * 1.0  # d − e has three values
    values.loc[:9, "c"] = np.nan  # pairs with c have other units
    return values.assign(id=range(UNITS), user=np.arange(UNITS) // 3)


@pytest.mark.parametrize("unit", [None, "user"])
def test_pairs_that_share_bootstrap_samples_have_the_p_of_each_alone(table, unit, monkeypatch):
    monkeypatch.setattr("evalkit.studies.paired.DIFFERENCES", 4 * UNITS)  # some pairs at a time
    study = significance.read(table, unit=unit, columns={"unit": "id"}, systems="a,b,c,d,e")
    other = paired.other_tests(study).set_index(["first", "second"])["bootstrap"]
    assert len(other) == 10
    for pair in study.pairs:
        total, count = study.summed(pair, study.primary)
        options = {"rng": study.rng(5), "resamples": RESAMPLES}
        if unit is None:
            alone = tests.paired_bootstrap(total, **options)
        else:
            alone = tests.paired_ratio_bootstrap(total, count, np.zeros(total.size), count, **options)
        assert other[pair] == alone.p_value
