"""`alpha`, the level of tests and verdicts, apart from `level`, that of intervals."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import evalkit as ek
from evalkit import __main__ as command
from evalkit.pages import first_screen
from evalkit.statistics import multiplicity

LIMITS = ["difference", "low", "high", "level", "p", "adjusted"]
DIRECTED = {"lower_is_better": "none"}


def values_of_a_and_b(difference, n=60):
    """Two systems whose paired t is difference · √n."""
    noise = np.linspace(-1, 1, n)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    columns = {"a": 5 + noise + difference, "b": np.full(n, 5.0)}
    return pd.DataFrame({"unit": [f"u{i}" for i in range(n)]} | columns)


def a_above_b(alpha=None, difference=0.2, **parameters):
    """The study of the systems a and b, where a is higher. At a difference of 0.2 the p of a − b is
    about 0.13, between the usual α of 0.05 and an α of 0.2; at 0.3 it is 0.02.
    """
    return ek.significance(values_of_a_and_b(difference), alpha=alpha, **DIRECTED, **parameters)


def test_the_verdict_follows_alpha():
    verdicts = [a_above_b(alpha).comparisons["verdict"].item() for alpha in (None, 0.2)]
    assert verdicts == ["cannot tell", "better"]


def test_a_smaller_alpha_than_that_of_the_interval_tells_less():
    verdicts = [a_above_b(a, difference=0.3).comparisons["verdict"].item() for a in (None, 0.001)]
    assert verdicts == ["better", "cannot tell"]


def test_alpha_changes_no_interval_and_no_p():
    usual, wide = (a_above_b(alpha).comparisons[LIMITS] for alpha in (None, 0.2))
    pd.testing.assert_frame_equal(usual, wide)


def test_alpha_changes_no_estimate():
    usual, wide = (a_above_b(alpha).estimates for alpha in (None, 0.2))
    pd.testing.assert_frame_equal(usual, wide)


def test_an_alpha_of_1_minus_the_level_changes_nothing():
    """`a_above_b` compares the values of the systems a and b on 60 units, with a gate that is to
    show that a is not worse than b. The level of intervals is 0.95 by default, and the α of tests
    is then 0.05. To set α to 0.05 must change no comparison and no statement of the gate.
    """
    without_alpha, with_alpha = (
        a_above_b(alpha, margin=0.5, gate="not worse within 0.1", baseline="b")
        for alpha in (None, 0.05)
    )
    pd.testing.assert_frame_equal(without_alpha.comparisons, with_alpha.comparisons)
    pd.testing.assert_frame_equal(without_alpha.gate.statements, with_alpha.gate.statements)


def test_the_detectable_difference_is_that_of_a_test_at_alpha():
    """The difference that a test detects with 80 % power is z(1 − α/2) + z(0.8) standard errors.
    The report on two systems of the sample data, gbm and forest, is made at the usual α of 0.05 and
    at 0.2. The standard errors are the same, so that the differences have the ratio of these sums.
    """
    at_5_percent, at_20_percent = (
        ek.classification(metrics="roc_auc", systems="gbm,forest", alpha=alpha)
        .comparisons["detectable"]
        .item()
        for alpha in (None, 0.2)
    )
    ratio = (norm.ppf(0.9) + norm.ppf(0.8)) / (norm.ppf(0.975) + norm.ppf(0.8))
    assert at_20_percent == pytest.approx(ratio * at_5_percent)


def test_equivalence_is_shown_at_alpha():
    """Equivalence is shown if the interval at the level 1 − 2α lies within the margin of 0.2. That
    of a difference of 0.05 reaches to 0.27 at the usual α of 0.05 (90 %), and to 0.16 at 0.2 (60
    %).
    """
    verdicts = [
        a_above_b(alpha, difference=0.05, margin=0.2).comparisons["verdict"].item()
        for alpha in (None, 0.2)
    ]
    assert verdicts == ["cannot tell", "equivalent"]


def test_all_looks_together_err_at_alpha():
    read = a_above_b(0.2, looks=3)
    assert read.test_level == pytest.approx(
        1 - 2 * norm.sf(multiplicity.pocock(3, level=0.8)[0]), abs=1e-9
    )


def test_a_diff_decides_at_alpha(tmp_path):
    """The saved scores of an old and a new model are compared; the new ones have less noise. The p
    of the difference is computed first. At an α 1 % below p nothing can be told; at an α 1 % above
    it the new model is better.
    """
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 400)
    paths = []
    for name, noise in (("old", 1.0), ("new", 0.85)):
        score = label + rng.normal(0, noise, 400)
        frame = pd.DataFrame({"id": np.arange(400).astype(str), "label": label, "score": score})
        paths.append(tmp_path / f"{name}.units.parquet")
        ek.classification(frame, metrics="roc_auc").save(paths[-1])
    p = ek.diff(*paths).comparisons["p"].item()
    below_p = ek.diff(*paths, alpha=0.99 * p)
    above_p = ek.diff(*paths, alpha=1.01 * p)
    assert below_p.comparisons["verdict"].item() == "cannot tell"
    assert above_p.comparisons["verdict"].item() == "better"


def test_folds_are_compared_at_alpha():
    usual, wide = (ek.validation(alpha=alpha).comparisons for alpha in (None, 0.45))
    pd.testing.assert_frame_equal(usual[LIMITS], wide[LIMITS])
    assert (wide["verdict"] != "cannot tell").sum() >= (wide["adjusted"] < 0.45).sum() > 0


# Gates --------------------------------------------------------------------------------------------


def policy(folder, level=""):
    path = folder / "policy.toml"
    path.write_text(f'{level}[[rule]]\nthat = "value.low >= 1 of a"\n', encoding="utf-8")
    return str(path)


def test_a_policy_without_a_level_has_that_of_alpha(tmp_path):
    assert a_above_b(0.2, gate=policy(tmp_path)).gate.record()["level"] == pytest.approx(0.8)


def test_the_level_of_a_policy_goes_before_alpha(tmp_path):
    assert a_above_b(0.2, gate=policy(tmp_path, "level = 0.9\n")).gate.record()["level"] == 0.9


def test_a_margin_of_a_single_gate_is_decided_at_alpha():
    row = a_above_b(0.2, gate="not worse within 0.1", baseline="b").gate.statements.iloc[0]
    assert row["rule_low"] - row["value"] == pytest.approx(-norm.ppf(0.9) / 60**0.5, rel=0.03)


def test_a_bound_of_a_single_gate_is_decided_by_the_printed_limit():
    row = a_above_b(0.2, gate="value.low >= 1 of a").gate.statements.iloc[0]
    assert row["rule_low"] == row["low"]


def test_what_a_rule_catches_follows_alpha():
    usual, wide = (
        a_above_b(alpha, gate="not worse", baseline="b").gate.statements["unchanged_fails"].item()
        for alpha in (None, 0.2)
    )
    assert (usual, wide) == pytest.approx((0.025, 0.1))


def test_the_page_says_that_alpha_is_not_the_level_of_intervals():
    words = str(first_screen.verdict(a_above_b(0.2)))
    assert "use this α = 0.2, not that of the 95% intervals" in words


def test_the_page_says_nothing_of_an_alpha_that_is_not_set():
    assert "use this α" not in str(first_screen.verdict(a_above_b()))


@pytest.mark.usefixtures("undrawn")
def test_check_decides_at_the_alpha_of_the_report(tmp_path):
    """Two systems, a and b, have values of 60 units, whose difference is 0.2 on average with a
    standard deviation of 1: t is 0.2 · √60 = 1.55 and p about 0.13. The command `report` is run
    with an α of 0.2, the command `check` on its results with the rule "better than b of a". The
    rule must pass, as it does at the report's α and would not at the usual 0.05.
    """
    path = tmp_path / "values.csv"
    values_of_a_and_b(difference=0.2).to_csv(path, index=False)
    parameters = ["-p", "preds", str(path), "-p", "alpha", "0.2", "-p", "lower_is_better", "none"]
    assert command.main(["report", "significance", *parameters, "-o", str(tmp_path)]) == 0
    report = str(tmp_path / "significance.json")
    out = tmp_path / "out.json"
    assert command.main(["check", report, "better than b of a", "--json", str(out)]) == 0
    (rule,) = json.loads(out.read_text())["rules"]
    (statement,) = rule["statements"]
    assert statement["result"] == "pass"
