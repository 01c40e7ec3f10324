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


def values(difference, n=60):
    """Two systems whose paired t is difference · √n."""
    noise = np.linspace(-1, 1, n)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    columns = {"a": 5 + noise + difference, "b": np.full(n, 5.0)}
    return pd.DataFrame({"unit": [f"u{i}" for i in range(n)]} | columns)


def study(alpha=None, difference=0.2, **parameters):
    """p is about 0.12."""
    return ek.significance(values(difference), alpha=alpha, **DIRECTED, **parameters)


def test_the_verdict_follows_alpha():
    verdicts = [study(alpha).comparisons["verdict"].item() for alpha in (None, 0.2)]
    assert verdicts == ["cannot tell", "better"]


def test_a_smaller_alpha_than_that_of_the_interval_tells_less():
    verdicts = [study(a, difference=0.3).comparisons["verdict"].item() for a in (None, 0.001)]
    assert verdicts == ["better", "cannot tell"]


def test_intervals_and_p_stand():
    usual, wide = (study(alpha).comparisons[LIMITS] for alpha in (None, 0.2))
    pd.testing.assert_frame_equal(usual, wide)


def test_estimates_stand():
    usual, wide = (study(alpha).estimates for alpha in (None, 0.2))
    pd.testing.assert_frame_equal(usual, wide)


def test_an_alpha_of_1_less_the_level_changes_nothing():
    usual, same = (
        study(alpha, margin=0.5, gate="not worse within 0.1", baseline="b")
        for alpha in (None, 0.05)
    )
    pd.testing.assert_frame_equal(usual.comparisons, same.comparisons)
    pd.testing.assert_frame_equal(usual.gate.statements, same.gate.statements)


def test_detectable_differences_follow():
    usual, wide = (
        ek.classification(metrics="roc_auc", systems="gbm,forest", alpha=alpha).comparisons
        for alpha in (None, 0.2)
    )
    ratio = (norm.ppf(0.9) + norm.ppf(0.8)) / (norm.ppf(0.975) + norm.ppf(0.8))
    assert wide["detectable"].item() == pytest.approx(ratio * usual["detectable"].item())


def test_equivalence_is_shown_at_alpha():
    """The 90% interval of a difference of 0.05 reaches 0.27, the 60% interval 0.16."""
    verdicts = [
        study(alpha, difference=0.05, margin=0.2).comparisons["verdict"].item()
        for alpha in (None, 0.2)
    ]
    assert verdicts == ["cannot tell", "equivalent"]


def test_all_looks_together_err_at_alpha():
    read = study(0.2, looks=3)
    assert read.test_level == pytest.approx(
        1 - 2 * norm.sf(multiplicity.pocock(3, level=0.8)[0]), abs=1e-9
    )


def test_a_diff_decides_at_alpha(tmp_path):
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 400)
    paths = {}
    for name in ("old", "new"):
        paths[name] = tmp_path / f"{name}.units.parquet"
        score = label + rng.normal(0, 1.0 if name == "old" else 0.85, 400)
        frame = pd.DataFrame({"id": np.arange(400).astype(str), "label": label, "score": score})
        ek.classification(frame, metrics="roc_auc").save(paths[name])
    p = ek.diff(paths["old"], paths["new"]).comparisons["p"].item()
    words = [
        ek.diff(paths["old"], paths["new"], alpha=alpha).comparisons["verdict"].item()
        for alpha in (p * 0.99, p * 1.01)
    ]
    assert words[0] == "cannot tell" != words[1]


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
    assert study(0.2, gate=policy(tmp_path)).gate.record()["level"] == pytest.approx(0.8)


def test_the_level_of_a_policy_goes_before_alpha(tmp_path):
    assert study(0.2, gate=policy(tmp_path, "level = 0.9\n")).gate.record()["level"] == 0.9


def test_a_margin_of_a_single_gate_is_decided_at_alpha():
    row = study(0.2, gate="not worse within 0.1", baseline="b").gate.statements.iloc[0]
    assert row["rule_low"] - row["value"] == pytest.approx(-norm.ppf(0.9) / 60**0.5, rel=0.03)


def test_a_bound_of_a_single_gate_is_decided_by_the_printed_limit():
    row = study(0.2, gate="value.low >= 1 of a").gate.statements.iloc[0]
    assert row["rule_low"] == row["low"]


def test_what_a_rule_catches_follows_alpha():
    usual, wide = (
        study(alpha, gate="not worse", baseline="b").gate.statements["unchanged_fails"].item()
        for alpha in (None, 0.2)
    )
    assert (usual, wide) == pytest.approx((0.025, 0.1))


def test_the_page_says_both():
    words = str(first_screen.verdict(study(0.2)))
    assert "use this α = 0.2, not that of the 95% intervals" in words


def test_the_page_says_nothing_of_an_alpha_that_is_not_set():
    assert "use this α" not in str(first_screen.verdict(study()))


def test_check_decides_at_the_alpha_of_the_report(tmp_path, capsys):
    path = tmp_path / "values.csv"
    values(0.2).to_csv(path, index=False)
    asked = ["-p", "preds", str(path), "-p", "alpha", "0.2", "-p", "lower_is_better", "none"]
    assert command.main(["report", "significance", *asked, "-o", str(tmp_path)]) == 0
    file = str(tmp_path / "significance.json")
    out = str(tmp_path / "out.json")
    assert command.main(["check", file, "better than b of a", "--json", out]) == 0
    statement = json.loads((tmp_path / "out.json").read_text())["rules"][0]["statements"][0]
    assert statement["result"] == "pass"
