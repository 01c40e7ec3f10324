"""The significance study: the claims, the family, the notes, looks, margins and gates."""

import numpy as np
import pandas as pd
import pytest
from significance_tables import rng, told, wide

from evalkit.pages import first_screen, page, significance_page
from evalkit.statistics import multiplicity
from evalkit.statistics import significance as tests
from evalkit.studies import paired, ranking, significance
from evalkit.studies.paired import RESAMPLES


@pytest.fixture(scope="module")
def sample():
    return significance.read()


def test_the_family_is_counted_and_adjusted_as_one(sample):
    assert sample.family == "30 comparisons: 3 metrics × 10 pairs; Holm"
    assert "Family: 30 comparisons: 3 metrics × 10 pairs; Holm." in first_screen.verdict(sample).text
    rows = sample.comparisons
    assert len(rows) == 30
    assert rows["adjusted"].to_numpy() == pytest.approx(multiplicity.holm(rows["p"]))
    assert (rows["max_t"] >= rows["p"]).all()
    assert significance.read(baseline="lda_cosine").family == "12 comparisons: 3 metrics × 4 candidates; Holm"


def test_the_sample_has_the_answers_of_the_ranking_report(sample):
    """The same runs, the same test: only the family is larger."""
    alone = ranking.read(metrics="ndcg@10,map,mrr").comparisons
    both = sample.comparisons.merge(alone, on=["metric", "first", "second"], suffixes=("", "_ranking"))
    assert len(both) == 30
    for column in ("difference", "p", "low", "high", "n"):
        assert both[column].to_numpy() == pytest.approx(both[f"{column}_ranking"].to_numpy())
    assert (both["adjusted"] >= both["adjusted_ranking"]).all()


def test_every_way_to_test_is_named():
    study = significance.read(metrics="mrr", baseline="pixel_cosine")
    how = "sign flip, exact enumeration; or sign flip, importance sampling with 8,192 draws"
    assert f"p by {how}; adjusted" in page.comparisons(study).html
    assert f"two-sided; {how}. Better" in first_screen.verdict(study).html


# Looks, margins, and what a p is


def test_looks_cost_what_they_cost_and_stay_dual():
    for seed in range(8):
        d = rng(seed).normal(0.25, 1, 60)
        table = pd.DataFrame({"query": [f"q{i}" for i in range(60)], "a": d, "b": 0.0})
        once, often = (significance.read(table, looks=k, baseline="b").comparisons.iloc[0] for k in (1, 5))
        assert often["p"] >= once["p"]
        assert often["p"] <= 5 * once["p"] + 1e-12
        assert often["low"] <= once["low"]
        assert (often["p"] < 0.05) == (not often["low"] <= 0 <= often["high"])
    study = significance.read(table, looks=5)
    assert study.test_level == pytest.approx(1 - 0.0158, abs=1e-4)
    assert "5 analyses of growing data: at 0.05 each, 14.2% of experiments without a difference" in told(study)


def test_a_p_that_is_undefined_stays_so_over_looks():
    table = pd.DataFrame({"fold": range(5), "a": 0.2, "b": 0.1})
    for looks in (1, 3):
        row = significance.read(table, test_to_train=0.25, looks=looks).comparisons.iloc[0]
        assert np.isnan(row["p"])
        assert np.isnan(row["adjusted"])
    study = significance.read(wide(gain=0.1), looks=5)
    assert significance_page.null_distribution(study).caption.endswith("p 0.10, corrected for 5 analyses.")
    assert significance_page.duality(study).caption.endswith("p 0.10, corrected for 5 analyses.")


def test_equivalence_and_non_inferiority_by_the_margin(sample):
    text = significance_page.equivalence(sample).text
    first = next(line for line in text.splitlines() if line.startswith("pixel_cosine − lda_cosine"))
    assert first.split()[-3:] == ["not", "established", "yes"]  # up to .054: few queries are in the tail
    without = significance.read(wide())
    assert significance_page.equivalence(without).html == ""
    assert "No margin was set" in first_screen.verdict(without).text


UNITS = 1_200  # above those whose bootstrap draws Poisson counts first


@pytest.fixture(scope="module")
def normal():
    values = pd.DataFrame(rng(4).normal(size=(UNITS, 5)), columns=list("abcde"))
    values["d"] = (values["a"] > 0) * 1.0
    values["e"] = (values["b"] > 0.5) * 1.0  # d − e has three values
    values.loc[:9, "c"] = np.nan  # pairs with c have other units
    return values.assign(id=range(UNITS), user=np.arange(UNITS) // 3)


@pytest.mark.parametrize("unit", [None, "user"])
def test_pairs_that_share_bootstrap_samples_have_the_p_of_each_alone(normal, unit, monkeypatch):
    monkeypatch.setattr("evalkit.studies.paired.DIFFERENCES", 4 * UNITS)  # some pairs at a time
    study = significance.read(normal, unit=unit, columns={"unit": "id"}, systems="a,b,c,d,e")
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
