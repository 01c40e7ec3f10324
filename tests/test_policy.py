"""Policies: the grammar, the level that all rules share, and `evalkit check`, which reads a report
again.
"""

import builtins
import json
import re
import shlex
from xml.etree import ElementTree

import numpy as np
import online_samples
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from made_once import ROOT

import evalkit as ek
from evalkit import __main__ as command
from evalkit.arrays import InputError, ParameterError
from evalkit.commands import gates, index
from evalkit.drawing.markdown import escape_markdown
from evalkit.drawing.shown import page
from evalkit.pages import first_screen
from evalkit.parameters import policy
from evalkit.parameters.policy import Bound, ComparisonClaim, NoFinding, WrongRule, claim
from evalkit.report import plain
from evalkit.studies.policy import judge

WORDS = """
    auc.low >= <= 0.5 1e999 better not worse or equivalent than to within of in every none severity
    severe code EK3* trusted ' __import__('os') ()
"""


def policy_file(folder, text):
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def policy_text(*claims, head="", **fields):
    """The text of a policy: these rules, each with these fields, below a head."""
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in fields.items())
    return head + "".join(f"[[rule]]\nthat = {json.dumps(that)}\n{lines}\n" for that in claims)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("'my auc'.high <= 2 of 'new m'", Bound("my auc", "high", "<=", 2.0, "new m")),
        ("not worse", ComparisonClaim(None, "not worse")),
        (
            "mrr better than a in every day",
            ComparisonClaim("mrr", "better", "a", None, None, "day"),
        ),
        (
            "better or equivalent to b within 0.1 of c",
            ComparisonClaim(None, "better or equivalent", "b", 0.1, "c"),
        ),
        ("none of severity warning", NoFinding("warning")),
        ("none of code EK3*", NoFinding(code="EK3*")),
    ],
)
def test_a_rule_is_read_as_it_is_written(text, expected):
    assert claim(text) == expected


WORD = st.sampled_from(["'my auc'.high", *WORDS.split()])


@given(st.lists(WORD | st.text(max_size=4), max_size=9).map(" ".join), st.integers(0, 3))
def test_whatever_is_written_is_a_claim_or_refused_at_its_line_and_column(
    tmp_path_factory, text, rules_before
):
    """A policy is a TOML file of rules in a language of its own, such as "roc_auc.low >= 0.7", that
    `claim` reads. Here the last rule is a random text. Each of the `rules_before` it has three
    lines: [[rule]], that = "better" and an empty one. The text begins in column 9 of its line,
    after `that = "`. The policy is read, or refused at the line and column of the first letter of
    the text that `claim` cannot read; nothing is run as code.
    """
    # characters that a string of a TOML file must not have, or that begin a line for Python
    text = re.sub(r"[\x00-\x1f\x7f\\\"\ud800-\udfff]|\x85|\u2028|\u2029", "", text)
    path = tmp_path_factory.getbasetemp() / "fuzzed.toml"
    others = policy_text(*["better"] * rules_before)
    path.write_text(f'{others}[[rule]]\nthat = "{text}"\n', encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("eval", "exec", "compile"):
            patch.setattr(builtins, name, None)
        try:
            assert len(policy.read(path).rules) == rules_before + 1
            return
        except ParameterError as error:
            message = str(error)
    with pytest.raises(WrongRule) as wrong:
        claim(text)
    letter = wrong.value.letter  # the place of the first wrong letter, counted from 0
    assert 0 <= letter <= len(text)
    assert message.startswith(f"fuzzed.toml, line {3 * rules_before + 2}, column {9 + letter}: ")


@pytest.mark.parametrize(
    "text, says",
    [
        (
            '[[rule]]\nthat = "none of code EK999"\n',
            "column 22: expected the code of a finding, .* got 'EK999'",
        ),
        (
            '[[rule]]\nthat = "better"\n\n[[rule]]\nthat = "auc.low > 1"\n',
            "line 5, column 17: expected .low >= NUMBER",
        ),
        (
            '[[rule]]\nthat = "not worse within 0"\n',
            "line 2, column 26: expected a number above 0, got '0'",
        ),
        ("levl = 1\n", r"line 1, column 1: unknown 'levl' \(did you mean 'level'\?\)"),
        ("\nlevel = 0.3\n", "line 2, column 1: level must be a number between 0.5 and 1, got 0.3"),
        (
            '[[rule]]\nthat = "better"\non_cannot_tell = "no"\n',
            "line 3, column 1: on_cannot_tell must be one of pass, fail",
        ),
        ('rule = [{that = "better"},\n {that = "a b"}]\n', "line 2, column 13: expected"),
        ("[[rule]]\nthat = 3\n", "line 2, column 1: that must be a rule in quotes, got 3"),
        ('[[rule]]\non_cannot_tell = "pass"\n', "line 1, column 1: a rule must have that"),
        ("rule = 1\n", "line 1, column 1: rule must be written as tables"),
        ("", r"line 1, column 1: a policy must have at least one \[\[rule\]\]"),
        ("a b\n", r"is not a TOML file: .*line 1, column 3"),
    ],
)
def test_a_file_that_is_no_policy_is_refused_at_its_line_and_column(tmp_path, text, says):
    with pytest.raises(ParameterError, match=says):
        policy.read(policy_file(tmp_path, text))


@pytest.mark.parametrize(
    "rule, says",
    [
        ("mse.low >= 1", "policy.toml, rule 1: the metric must be one of mae, got 'mse'"),
        ("mae.low >= 1 of c", "the system must be one of a, b, got 'c'"),
        ("mae better", "needs a baseline"),
        ("mae better than c", "there is no system 'c', the input has a, b"),
        ("mae better or equivalent to b", "needs a margin"),
        (
            "mae.low >= 1 in every day",
            "the report has no segments 'day'; make it with segments=day",
        ),
        ("trusted", "trusted is a rule of the validation report"),
    ],
)
def test_a_rule_about_what_the_report_lacks_is_refused_before_anything_is_computed(
    tmp_path, rule, says
):
    path = policy_file(tmp_path, policy_text(rule))
    with pytest.raises(ParameterError, match=says):
        ek.rating(biased_forecasts(), metrics="mae", gate=str(path))


def biased_forecasts(n=200, a=0.0, b=0.0):
    """Forecasts of systems a and b that are this much too high, with noise of 1, in two parts."""
    rng = np.random.default_rng(5)
    actual = rng.normal(0, 1, n)
    frame = pd.DataFrame({"id": range(n), "actual": actual})
    for name, bias in (("a", a), ("b", b)):
        frame[f"forecast_{name}"] = actual + bias + rng.normal(0, 1, n)
    return frame.assign(part=np.where(frame["id"] % 4, "most", "few"))


# The three results, and the level -----------------------------------------------------------------


@pytest.mark.parametrize(
    "rule, result",
    [
        ("mae.high <= 5", "pass"),
        ("mae.high <= 0.1", "fail"),
        ("mae.high <= 0.85 of b", "cannot tell"),
        ("mae.value <= 0.1", "fail"),
        ("mae.low >= 0.1 in every part", "pass"),
        ("mae.low <= 2 of a", "pass"),
        ("mae not worse than b within 0.5", "fail"),
        ("mae not worse than b within 5", "pass"),
        ("mae not worse than b within 1.25", "cannot tell"),
        ("mae better than b", "fail"),
        ("mae not worse than b", "fail"),
        ("mae not worse than a", "pass"),
        ("mae better than a in every part", "pass"),
        ("mae better or equivalent to b within 9", "fail"),
        ("none of severity note", "fail"),
        ("none of severity severe", "pass"),
        ("none of code EK5*", "pass"),
    ],
)
@pytest.mark.parametrize("on_cannot_tell", ["pass", "fail"])
def test_a_rule_passes_fails_or_cannot_tell(tmp_path, rule, result, on_cannot_tell):
    """The result of a rule is "pass", "fail" or, if the data allow either, "cannot tell", where
    `on_cannot_tell` decides whether the gate passes. Forecasts have noise of 1, and those of a are
    2 too high, so that the mean absolute errors (mae) are 2.0 of a and √(2 / π) = 0.8 of b.
    """
    path = policy_file(tmp_path, policy_text(rule, on_cannot_tell=on_cannot_tell))
    table = biased_forecasts(a=2.0)
    gate = ek.rating(table, metrics="mae", segments="part", gate=str(path)).gate
    decision = on_cannot_tell if result == "cannot tell" else result
    (judged_rule,) = gate.rules
    assert judged_rule.result == result
    assert gate.passed is (decision == "pass")


@pytest.mark.parametrize(
    "rule, severity, kept",
    [
        ("none of severity warning", "severe", False),
        ("none of severity warning", "warning", False),
        ("none of severity warning", "note", True),
        ("none of severity note", "severe", False),
        ("none of severity severe", "warning", True),
        ("no severe finding", "severe", False),
        ("no severe finding", "warning", True),
    ],
)
def test_a_severity_bars_findings_of_it_and_of_worse_ones(rule, severity, kept):
    found = [{"code": "EK301", "severity": severity}]
    assert judge(policy.gate("gate", rule), [], lambda: found).passed is kept


def test_a_slice_that_fails_decides_before_one_that_cannot_tell(tmp_path):
    """The rule is that the mean absolute error is at most 6 in every slice. It is 10.25 in the
    slice "far", with the whole interval above 6. In the slice "unsure" it is 5, with an interval
    that contains 6; a rule that cannot be told passes here. The failing slice decides.
    """
    far = pd.DataFrame({"part": "far", "actual": 0.0, "forecast": [10.0, 10.5] * 20})
    unsure = pd.DataFrame({"part": "unsure", "actual": 0.0, "forecast": [0.0, 10.0] * 20})
    table = pd.concat([far, unsure]).assign(id=range(80))
    path = policy_file(tmp_path, policy_text("mae.high <= 6 in every part", on_cannot_tell="pass"))
    gate = ek.rating(table, metrics="mae", segments="part", gate=str(path)).gate
    by_slice = gate.statements.set_index("slice")["result"].to_dict()
    assert by_slice == {"far": "fail", "unsure": "cannot tell"}
    (judged_rule,) = gate.rules
    assert judged_rule.result == "fail"
    assert not gate.passed


def test_limits_of_another_level_than_the_rules_do_not_decide(tmp_path):
    """The rule is to hold at 99%. It is about the results file of an earlier report, which has
    intervals at 95% alone. The lower limit at 95% would keep the rule, but says nothing about 99%.
    """
    table = pd.DataFrame({"query": range(30), "a": np.arange(30) / 30, "b": 0.5})
    earlier, _ = saved_report("significance", tmp_path, ek.significance(table))
    path = policy_file(tmp_path, policy_text("value.low >= 0 of a", head="level = 0.99\n"))
    gate = ek.significance(str(earlier), gate=str(path)).gate
    (statement,) = gate.statements.to_dict("records")
    assert statement["low"] > 0
    assert statement["result"] == "cannot tell"
    assert statement["why"] == "only its 95% interval is known"


@pytest.mark.parametrize(
    "rule", ["m.value >= 0.5", "m.value <= 0.5", "m.low >= 0.5", "m.high <= 0.5"]
)
def test_a_number_at_its_bound_keeps_it(rule):
    assert claim(rule).result(value=0.5, low=0.5, high=0.5) == "pass"


@pytest.mark.parametrize(
    "rule, result", [("m.low >= 0.5", "cannot tell"), ("m.value >= 0.5", "pass")]
)
def test_a_number_with_an_undefined_limit_cannot_tell_of_the_other(rule, result):
    assert claim(rule).result(value=0.8, low=0.6, high=float("nan")) == result


def two_errors(difference):
    """Forecasts of two systems: the absolute errors of b are 2, those of a as much larger, each
    give or take 0.1.
    """
    give_or_take = np.tile([-0.1, 0.1, 0.1, -0.1], 20)
    frame = pd.DataFrame({"id": range(80), "actual": 0.0, "forecast_b": 2.0 + give_or_take})
    return frame.assign(forecast_a=2.0 + difference - give_or_take)


@pytest.mark.parametrize(
    "difference, result",
    [(0.2, "pass"), (0.5, "cannot tell"), (0.8, "fail"), (-0.8, "pass")],
)
def test_not_worse_within_is_decided_by_the_limit_on_the_worse_side(difference, result):
    rule = "mae not worse than b within 0.5 of a"
    gate = ek.rating(two_errors(difference), metrics="mae", gate=rule).gate
    assert gate.statements["result"].tolist() == [result]


def test_the_margin_of_a_rule_goes_before_that_of_the_report():
    """Limits of 0.05 on both sides of no difference."""
    rule = "mae better or equivalent to b within 0.2 of a"
    gate = ek.rating(two_errors(0.0), metrics="mae", margin=0.01, gate=rule).gate
    assert gate.passed


@pytest.mark.parametrize(
    "rule, result",
    [
        ("mae better than b of a", "cannot tell"),
        ("mae better or equivalent to b within 0.01 of a", "cannot tell"),
        ("mae not worse than b of a", "pass"),
    ],
)
def test_systems_that_do_not_differ_are_neither_better_nor_worse(rule, result):
    """Limits of 0.05 on both sides of no difference."""
    gate = ek.rating(two_errors(0.0), metrics="mae", gate=rule).gate
    assert gate.statements["result"].tolist() == [result]


def test_a_policy_passes_only_with_all_of_its_rules(tmp_path):
    path = policy_file(tmp_path, policy_text("mae.value <= 5", "mae.value <= 1"))
    gate = ek.rating(two_errors(0.0), metrics="mae", gate=str(path)).gate
    assert [judged_rule.result for judged_rule in gate.rules] == ["pass", "fail"]
    assert not gate.passed
    assert gate.failed == ["mae.value <= 1"]


@pytest.fixture(scope="module")
def gate_at_90_percent(tmp_path_factory):
    """A gate at 0.9 of rules about two systems' limits, one of them in two slices, about one
    difference, a value and findings.
    """
    several = [
        "mae.high <= 9",
        "rmse.high <= 9 in every part",
        "mae not worse than a within 1",
        "mae.value <= 9",
        "none of severity severe",
    ]
    path = policy_file(
        tmp_path_factory.mktemp("policy"), policy_text(*several, head="level = 0.9\n")
    )
    return read_in_parts(gate=str(path)).gate


def read_in_parts(**given):
    return ek.rating(biased_forecasts(), metrics="mae,rmse", segments="part", **given)


def test_the_level_of_each_statement_is_1_minus_alpha_over_their_number(gate_at_90_percent):
    """Statements without a limit, about a value or a finding, do not count."""
    assert gate_at_90_percent.tested == 2 + 2 * 2 + 1
    assert gate_at_90_percent.level == pytest.approx(1 - 0.1 / 7)


@pytest.mark.parametrize("limit", ["low", "high"])
def test_a_statement_has_the_limit_of_its_level_beside_that_of_the_report(
    gate_at_90_percent, limit
):
    """A gate has rules about a report on two systems, which are to hold together at 90%. A rule
    makes a statement about each system, at a higher level that allows for the number of statements,
    `gate_at_90_percent.level`. The limits `rule_low` and `rule_high` of a statement must be those
    of a report at this level; its `low` and `high` are those of the usual report, at 95%.
    `read_in_parts` makes a report on the same data without a gate. `limit` is "low" or "high".
    """
    about_mae = gate_at_90_percent.statements.query("rule == 0")  # the first rule, mae.high <= 9
    statements = about_mae.set_index("system")
    at_level_of_rules = read_in_parts(level=gate_at_90_percent.level).estimates
    at_level_of_report = read_in_parts().estimates
    expected_rule_limit = at_level_of_rules.query("metric == 'mae'").set_index("system")[limit]
    expected_limit = at_level_of_report.query("metric == 'mae'").set_index("system")[limit]
    assert statements[f"rule_{limit}"].to_dict() == expected_rule_limit.to_dict()
    assert statements[limit].to_dict() == expected_limit.to_dict()


def test_a_statement_about_a_difference_has_the_limits_of_its_level(gate_at_90_percent):
    """Its difference may be turned: with the other sign and limits exchanged."""
    (statement,) = (
        gate_at_90_percent.statements.query("rule == 2")[["rule_low", "rule_high"]].abs().to_numpy()
    )
    row = read_in_parts(level=gate_at_90_percent.level).comparisons.set_index("metric").loc["mae"]
    assert sorted(statement) == pytest.approx(sorted(row[["low", "high"]].abs()))


def test_ten_rules_that_hold_fail_together_in_at_most_alpha(tmp_path):
    """A release is a test of two arms with ten metrics, whose values are drawn from one
    distribution, and a gate by which neither arm may be worse in any metric. At most 5% of 40
    releases may fail, plus two standard errors of a share of 40. The gate allows for the number of
    its rules; without this 1 − 0.95¹⁰ = 40% would fail. About so many, and at least 25%, which is
    two standard errors less, have a difference with p < 0.05.
    """
    names = [f"m{i}" for i in range(10)]
    claims = [f"{name} not worse than {arms}" for name in names for arms in ("b of a", "a of b")]
    path = policy_file(tmp_path, policy_text(*claims, on_cannot_tell="pass"))
    releases = 40
    failed = 0
    with_a_difference = 0
    for seed in range(releases):
        values = np.random.default_rng(seed).normal(0, 1, (80, 10))
        table = pd.DataFrame(values, columns=names).assign(user=range(80), arm=["a", "b"] * 40)
        parameters = {
            "metrics": ",".join(names),
            "best": "high",
            "gate": str(path),
            "world": "none",  # no simulation of users
        }
        study = ek.interleaving(users=table, **parameters)
        failed += not study.gate.passed
        with_a_difference += bool((study.users.comparisons["p"] < 0.05).any())
    assert failed / releases <= 0.05 + 2 * (0.05 * 0.95 / releases) ** 0.5
    assert with_a_difference / releases > 0.25


# A report read again ------------------------------------------------------------------------------

RULES_BY_REPORT = {
    "classification": [
        "roc_auc.low >= 0.7 in every age_band",
        "brier not worse than logistic within 0.01",
        "f1.high <= 1",
    ],
    "ranking": ["ndcg@10.low >= 0.5", "map better than lda_cosine"],
    "rating": ["rmse.high <= 99", "mae not worse than mean"],
    "significance": ["none of severity severe"],
    "validation": ["accuracy.low >= 0.5", "trusted"],
    "interleaving": [
        "user_share.low >= 0.4",
        "visits_per_year.low >= 1",
        "visits/years better than paying",
    ],
    "diff": ["accuracy not worse within 0.05", "brier.high <= 0.3"],
}


PLANS = pd.read_parquet(ROOT / "data/interleaving/health_plans.parquet").rename(
    columns={"block": "user", "plan": "arm"}
)
BOTH = {
    "log": ROOT / "data/interleaving/sessions.parquet",
    "neutral": "both",
    "users": PLANS,
    "shares": "unknown",
}
READING_PARAMETERS_BY_REPORT = {
    "classification": {"segments": "age_band"},
    "interleaving": BOTH | {"metrics": "visits_per_year,visits/years"},
}


def saved_report(name, folder, study):
    """The path of the JSON of a report, beside which its units are, and its gate."""
    if name != "diff":
        study.save(folder / f"{name}.units.parquet")
    results = plain(page(study.report).results(study).results)
    (folder / f"{name}.json").write_text(json.dumps(results), encoding="utf-8")
    return folder / f"{name}.json", results["gate"]


RULES_ABOUT_SLICES = (
    "no weak slice",
    "no worse slice between shop",
    "lowest accuracy.low >= 0.6 between shop",
    "highest accuracy.value <= 0.9 between shop of y_score",
)


def decisions_in_shops(*, shared=False):
    """Decisions in three shops, in one of which most are wrong; shared: users of several shops."""
    rng = np.random.default_rng(8)
    shop = rng.choice([*"abc"], 900)
    label = rng.integers(0, 2, 900)
    is_wrong = rng.random(900) < np.where(shop == "c", 0.6, 0.2)
    score = np.where(is_wrong, 1 - label, label)
    user = np.arange(900) // 3 if shared else np.arange(900)
    return pd.DataFrame({"y_true": label, "y_score": score, "shop": shop, "user": user})


def check_of_report(file, rule, folder):
    """What `evalkit check` finds of a report, and its status."""
    path = folder / "checked.json"
    status = command.main(["check", str(file), str(rule), "--json", str(path)])
    return json.loads(path.read_text()), status


def test_check_judges_slices_as_the_report_does(tmp_path):
    """Most decisions in shop c are wrong, few in the other shops. So three rules fail: that no shop
    is weak, that none is worse than another, and that the lowest accuracy is at least 0.6. The last
    rule, that the highest accuracy is at most 0.9, is kept. `evalkit check` reads the stored
    report, and finds the same results and numbers as the gate of the report itself.
    """
    path = policy_file(tmp_path, policy_text(*RULES_ABOUT_SLICES))
    parameters = {"metrics": "accuracy", "segments": "shop", "slices": "shop", "gate": str(path)}
    study = ek.classification(decisions_in_shops(), **parameters)
    file, gate_of_report = saved_report("classification", tmp_path, study)
    results, status = check_of_report(file, path, tmp_path)
    assert status == 3  # a rule is not kept
    assert [rule["result"] for rule in results["rules"]] == ["fail", "fail", "fail", "pass"]
    for reported, checked in zip(gate_of_report["rules"], results["rules"], strict=True):
        assert checked["result"] == reported["result"]
        statements = zip(reported["statements"], checked["statements"], strict=True)
        for expected, found in statements:
            for name in ("value", "low", "high", "rule_low", "rule_high", "why"):
                assert found[name] == pytest.approx(expected[name], abs=1e-12)


@pytest.mark.parametrize("rule", RULES_ABOUT_SLICES[1:])
def test_check_refuses_slices_that_the_report_did_not_compare(rule, tmp_path, capsys):
    """Users have decisions in several shops, so that a report by user does not compare shops with
    each other. Each of the rules is about such a comparison. `evalkit check` cannot make up for it:
    it ends with 2, an error.
    """
    parameters = {"metrics": "accuracy", "segments": "shop", "unit": "user"}
    file, _ = saved_report(
        "classification", tmp_path, ek.classification(decisions_in_shops(shared=True), **parameters)
    )
    assert command.main(["check", str(file), rule]) == 2
    assert "the report that was stored did not compare them" in capsys.readouterr().err


def test_check_refuses_weak_slices_that_the_report_did_not_search(tmp_path, capsys):
    file, _ = saved_report(
        "classification", tmp_path, ek.classification(decisions_in_shops(), metrics="accuracy")
    )
    assert command.main(["check", str(file), "no weak slice"]) == 2
    assert "the report searched no slices" in capsys.readouterr().err


def test_no_weak_slice_is_not_decided_where_none_was_tested(tmp_path, capsys):
    """The rule "no weak slice" is about slices that were tested. Of 40 rows, each of three shops
    has about 13, too few for a test. So the gate of the report is not decided, nor is `evalkit
    check`, which ends with 3, because no rule is shown to be kept.
    """
    parameters = {"metrics": "accuracy", "slices": "shop", "gate": "no weak slice"}
    too_few_rows = decisions_in_shops().head(40)
    study = ek.classification(too_few_rows, **parameters)
    assert "no slice has enough rows" in study.gate.message
    file, _ = saved_report("classification", tmp_path, study)
    assert command.main(["check", str(file), "no weak slice"]) == 3
    assert "gate not decided" in capsys.readouterr().err


def test_a_diff_compares_no_slices_with_each_other(tmp_path):
    """A diff of the reports of an old and a new version compares the versions on each slice, but
    not the slices with each other. A check of the diff by a rule about shops, that none is worse
    than another, is therefore refused; the message says that the new report could have such a gate.
    """
    for name in ("old", "new"):
        version = ek.classification(decisions_in_shops(), metrics="accuracy", segments="shop")
        version.save(tmp_path / f"{name}.units.parquet")
    diff = ek.diff(tmp_path / "old.units.parquet", tmp_path / "new.units.parquet")
    with pytest.raises(ParameterError, match="set the rule as gate of the new report"):
        ek.check(diff, "no worse slice between shop")


# numbers that a simulation of the rule gives, by drawn signs
COLUMNS_FROM_SIMULATION = ["catches", "unchanged_fails", "margin", "power", "units_needed"]


def statements_of(rule):
    frame = pd.DataFrame(rule["statements"])
    return frame.sort_values(["system", "against", "slice"], ignore_index=True)


@pytest.mark.parametrize("name", RULES_BY_REPORT)
def test_check_of_a_stored_report_finds_what_its_own_gate_says(name, tmp_path, capsys):
    """A report of the sample data (`name` is its kind, such as "ranking") is made with a gate of
    the rules in `RULES_BY_REPORT`, and stored. `evalkit check` of these rules, which reads the
    stored report, must have the results and numbers of the gate. It ends with 0 if the gate passes
    and else with 3.

    A rule makes statements, one per system or slice, whose numbers are equal but for rounding. For
    the interleaving report, the gate and the check each draw random signs of sessions, so that
    numbers differ by up to 0.2%. Those in `COLUMNS_FROM_SIMULATION`, such as the power of a rule,
    depend on rare draws and differ by up to 5%.
    """
    rules = RULES_BY_REPORT[name]
    path = policy_file(tmp_path, policy_text(*rules, on_cannot_tell="pass"))
    report = getattr(ek, name)  # of the sample data
    study = report(gate=str(path), **READING_PARAMETERS_BY_REPORT.get(name, {}))
    file, gate_of_report = saved_report(name, tmp_path, study)
    results, status = check_of_report(file, path, tmp_path)
    assert status == (0 if gate_of_report["passed"] else 3)
    assert results["passed"] == gate_of_report["passed"]
    assert results["level_of_each"] == gate_of_report["level_of_each"]  # of each statement
    tolerance = tolerance_of_tails = {"rtol": 1e-5, "atol": 1e-8}
    if name == "interleaving":
        tolerance = {"rtol": 2e-3, "atol": 1e-4}
        tolerance_of_tails = {"rtol": 0.05, "atol": 1e-4}
    for reported, checked in zip(gate_of_report["rules"], results["rules"], strict=True):
        assert (checked["that"], checked["result"]) == (reported["that"], reported["result"])
        expected = statements_of(reported)
        found = statements_of(checked)
        pd.testing.assert_frame_equal(
            found.drop(columns=COLUMNS_FROM_SIMULATION),
            expected.drop(columns=COLUMNS_FROM_SIMULATION),
            **tolerance,
        )
        pd.testing.assert_frame_equal(
            found[COLUMNS_FROM_SIMULATION], expected[COLUMNS_FROM_SIMULATION], **tolerance_of_tails
        )
    first_word = escape_markdown(rules[0].split()[0])  # such as roc_auc.low
    assert f"| {first_word} " in capsys.readouterr().out


def test_check_compares_systems_on_the_units_that_have_both_values(tmp_path):
    """Only the queries q1 and q2 have a value of both systems: a has 1 and 2, b has 0 and 1. The
    mean difference is 1. With all values it would be 2 − 1/3.
    """
    nothing = float("nan")
    table = {"query": ["q0", "q1", "q2", "q3"], "a": [nothing, 1, 2, 3], "b": [0, 0, 1, nothing]}
    file, _ = saved_report("significance", tmp_path, ek.significance(pd.DataFrame(table)))
    results, _ = check_of_report(file, "value better than b", tmp_path)
    (rule,) = results["rules"]
    assert [statement["value"] for statement in rule["statements"]] == [1]


def test_check_cannot_tell_limits_that_allow_for_the_choice_of_a_threshold(tmp_path, capsys):
    """The threshold of best F1 was chosen on the same rows. Limits in the report allow for this
    choice, and limits that `evalkit check` recomputes from the units at this threshold do not. So
    rules about accuracy, which depends on the threshold, cannot be decided; the command ends with
    3.
    """
    study = ek.classification(metrics="f1,accuracy,roc_auc", threshold="best_f1")
    file, _ = saved_report("chosen", tmp_path, study)
    claims = ["accuracy.low >= 0.1", "roc_auc.low >= 0.1", "accuracy better than gbm"]
    path = policy_file(tmp_path, policy_text(*claims))
    assert command.main(["check", str(file), str(path)]) == 3
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith("| accuracy")]
    # the limits of forest, gbm and logistic; the differences of forest and logistic from gbm
    assert len(rows) == 3 + 2
    why = "cannot tell limits recomputed from the units|does not compare"
    assert all(re.search(why, row) for row in rows)


@pytest.fixture
def report_of_biased_a(tmp_path):
    """The JSON of a report whose system a has a mean absolute error of 2.0, b of 0.8."""
    file, _ = saved_report("rating", tmp_path, ek.rating(biased_forecasts(a=2.0), metrics="mae"))
    return file


def test_check_writes_a_case_of_junit_for_each_rule(report_of_biased_a, tmp_path):
    """The mean absolute error (mae) is 2.0 of system a and 0.8 of b. The first rule is kept by both
    systems, and a breaks the second one. The third cannot be told, and may then pass. In the JUnit
    file these are a passed, a failed and a skipped test. The command ends with 3, because a rule is
    broken.
    """
    kept_and_broken = policy_text("mae.low >= 0.1", "mae.high <= 1")
    unsure = policy_text("mae.high <= 0.85 of b", on_cannot_tell="pass")
    path = policy_file(tmp_path, kept_and_broken + unsure)
    junit = tmp_path / "junit.xml"
    assert command.main(["check", str(report_of_biased_a), str(path), "--junit", str(junit)]) == 3
    suite = ElementTree.parse(junit).getroot()
    assert suite.tag == "testsuite"
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    children = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert children == {
        "mae.low >= 0.1": [],
        "mae.high <= 1": ["failure"],
        "mae.high <= 0.85 of b": ["skipped"],
    }
    assert "a: 1.99 [1.82, 2.16]: fail" in suite.find(".//failure").text


def test_check_of_a_rule_that_is_kept_ends_with_0(report_of_biased_a):
    assert command.main(["check", str(report_of_biased_a), "mae.low >= 0.1"]) == 0


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["no.json", "mae.low >= 0.1"], "cannot be read"),
        (["policy.toml", "better"], "policy.toml.json: cannot be read"),
        (["rating.json", "mae ="], "column 5"),
        (["rating.json", "bias.low >= 1"], "the metric must be one of mae, got 'bias'"),
        (["rating.json", "mae.low >= 0.1", "--junit", "no/x.xml"], "cannot write"),
    ],
)
def test_check_of_what_is_wrong_ends_with_2(
    report_of_biased_a, monkeypatch, capsys, arguments, says
):
    monkeypatch.chdir(report_of_biased_a.parent)
    policy_file(report_of_biased_a.parent, policy_text("mae.low >= 0.1"))
    assert command.main(["check", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_check_refuses_units_of_other_inputs(report_of_biased_a):
    units = report_of_biased_a.with_suffix(".units.parquet")
    ek.rating(biased_forecasts(100), metrics="mae").save(units)
    with pytest.raises(InputError, match="got those of other inputs"):
        gates.read_report_contents(report_of_biased_a)


@pytest.mark.parametrize("on_cannot_tell, child", [("fail", "failure"), ("pass", "skipped")])
def test_a_rule_of_which_the_data_do_not_tell_fails_or_is_skipped(tmp_path, on_cannot_tell, child):
    """The mean absolute error (mae) of system b is 0.8, with an interval that contains 0.85, so
    that the data do not tell whether the rule "mae.high <= 0.85 of b" is kept. In the JUnit file
    its test has a child: "failure" if a rule that cannot be told fails, and "skipped" if it passes.
    """
    file, _ = saved_report("rating", tmp_path, ek.rating(biased_forecasts(), metrics="mae"))
    path = policy_file(
        tmp_path, policy_text("mae.high <= 0.85 of b", on_cannot_tell=on_cannot_tell)
    )
    command.main(["check", str(file), str(path), "--junit", str(tmp_path / "junit.xml")])
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [found.tag for case in suite for found in case] == [child]


@pytest.fixture
def diff_file(tmp_path, monkeypatch):
    """The JSON of the diff of the reports in old and new, in which a has another bias."""
    monkeypatch.chdir(tmp_path)
    for folder, bias in (("old", 0.0), ("new", 1.0)):
        (tmp_path / folder).mkdir()
        saved_report(
            "rating", tmp_path / folder, ek.rating(biased_forecasts(a=bias), metrics="mae")
        )
    (tmp_path / "diffs").mkdir()
    file, _ = saved_report("diff", tmp_path / "diffs", ek.diff("old", "new/rating.json"))
    return file


def test_a_diff_is_checked_on_the_units_that_it_compared(diff_file, tmp_path, monkeypatch):
    """Not on those of a report of this name in the working directory."""
    (tmp_path / "elsewhere" / "new").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    ek.rating(biased_forecasts(), metrics="mae").save("new/rating.units.parquet")
    assert command.main(["check", str(diff_file), "mae.high <= 0.9 of 'new a'"]) == 3


def test_a_diff_whose_units_changed_is_refused(diff_file):
    ek.rating(biased_forecasts(), metrics="mae").save("new/rating.units.parquet")
    message = "units of new/rating.json, which it compared, are missing or changed"
    with pytest.raises(InputError, match=message):
        gates.read_report_contents(diff_file)


def test_a_diff_is_checked_by_the_name_of_its_folder(tmp_path, capsys):
    file, _ = saved_report("diff", tmp_path, ek.diff())
    assert command.main(["check", str(file.parent), "accuracy not worse within 0.5"]) == 0


def test_the_name_of_a_report_is_no_markdown_in_the_heading_of_a_check(tmp_path, capsys):
    file, _ = saved_report("*rating*", tmp_path, ek.rating(biased_forecasts(), metrics="mae"))
    command.main(["check", str(file), "mae.low >= 0"])
    assert "/\\*rating\\*: " in capsys.readouterr().out.splitlines()[0]


def test_check_without_a_policy_names_a_command_that_works(tmp_path, capsys):
    file, _ = saved_report("rating", tmp_path, ek.rating(biased_forecasts(), metrics="mae"))
    assert command.main(["check", str(file)]) == 2
    arguments = capsys.readouterr().err.partition("evalkit check ")[2]
    assert command.main(["check", *shlex.split(arguments)]) == 0


def test_a_policy_without_a_limit_or_a_test_has_no_level(tmp_path, capsys):
    file, _ = saved_report("rating", tmp_path, ek.rating(biased_forecasts(), metrics="mae"))
    path = policy_file(tmp_path, policy_text("mae.value <= 9", "none of severity severe"))
    assert command.main(["check", str(file), str(path)]) == 0
    assert "family-wise level" not in capsys.readouterr().out


def test_the_page_shows_each_rule_with_both_limits(tmp_path):
    path = policy_file(tmp_path, policy_text("mae.high <= 1", "none of severity severe"))
    study = ek.rating(biased_forecasts(a=2.0), metrics="mae", gate=str(path))
    said = first_screen.verdict(study).text
    assert said.startswith("fail: gate failed: policy.toml: 2 rules: not met by mae.high <= 1")
    assert "limits at 97.5%" in said


def test_a_gate_is_about_the_table_that_has_the_baseline():
    users = online_samples.users(arm=["free", "paying"] * 4)
    parameters = {"metrics": "orders", "baseline": "paying", "gate": "better"}
    study = ek.interleaving(online_samples.log(), users, **parameters)
    assert study.gate.words == "orders: every system better against paying"
    assert study.gate.failed == ["free"]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            "not worse within 0.1 in every part",
            "every system not worse against b within 0.1 in every part",
        ),
        ("mae better of a", "a better against b"),
    ],
)
def test_the_words_of_a_gate_have_its_margin_system_and_slices(rule, words):
    table = pd.DataFrame({"id": range(20), "actual": 1.0, "part": ["x", "y"] * 10})
    table = table.assign(forecast_a=range(20), forecast_b=5.0)
    study = ek.rating(table, metrics="mae", baseline="b", segments="part", gate=rule)
    assert study.gate.words == f"mae: {words}"


# The index ----------------------------------------------------------------------------------------


def test_an_index_of_no_reports_is_refused(tmp_path, capsys):
    assert command.main(["index", str(tmp_path)]) == 2
    assert "must have the results of reports" in capsys.readouterr().err


def test_an_index_replaces_no_page_of_another_tool(tmp_path, capsys):
    saved_report("rating", tmp_path, ek.rating(biased_forecasts(), metrics="mae"))
    (tmp_path / "index.html").write_text("<h1>Mine</h1>")
    assert command.main(["index", str(tmp_path)]) == 2
    assert "index.html: is not a page of evalkit" in capsys.readouterr().err


@pytest.fixture(scope="module")
def folder_of_three_days(tmp_path_factory):
    """A folder with the report of each of three days in 01, 02 and 03, the diff of the first two,
    which fails its gate, and four JSON files that are no reports. The error of a rises by the day.
    """
    folder = tmp_path_factory.mktemp("days")
    for day, bias in (("01", 0.0), ("02", 0.5), ("03", 1.0)):
        (folder / day).mkdir()
        about = {"data_date": f"2026-01-{day}", "title": f"Day {day} & <more>"}
        saved_report(
            "rating", folder / day, ek.rating(biased_forecasts(a=bias), metrics="mae", **about)
        )
    diff = ek.diff(folder / "01" / "rating.json", folder / "02" / "rating.json", gate="not worse")
    saved_report("diff", folder, diff)
    (folder / "other.json").write_text("[1]")
    (folder / "broken.json").write_text("{")
    (folder / "deep.json").write_text("[" * 100_000 + "]" * 100_000)
    (folder / "lacking.json").write_text('{"schema": "evalkit/2", "report": "x"}')
    return folder


def test_the_index_lists_all_reports_the_newest_first(folder_of_three_days):
    """The folder has the reports of three days, and a diff of the first two days whose gate fails.
    The listing of index.html has a row for each of the four, with a link to its page.
    """
    assert command.main(["index", str(folder_of_three_days)]) == 0
    text = (folder_of_three_days / "index.html").read_text(encoding="utf-8")
    listing = text.split("All reports</caption>")[1].split("</table>")[0]
    rows = re.findall(r'<tr><th scope="row">.*?(?=<tr>|</tbody>)', listing, re.DOTALL)
    third, diff, second, first = rows
    assert 'href="03/rating.html"' in third
    assert 'href="diff.html"' in diff
    assert 'href="02/rating.html"' in second
    assert 'href="01/rating.html"' in first
    assert "Day 03 &amp; &lt;more&gt;" in third  # the title "Day 03 & <more>", escaped
    assert re.search('<a href="diff.html">[−+]', second)  # the change leads to the diff that has it
    assert "failed" in diff
    assert "http" not in text  # nothing is loaded from elsewhere
    assert "diff: mae" not in text  # no picture over time of a diff


def test_the_index_of_200_reports_is_small(folder_of_three_days, tmp_path):
    results = (folder_of_three_days / "01" / "rating.json").read_text()
    for number in range(200):
        (tmp_path / f"{number}.json").write_text(results)
    assert command.main(["index", str(tmp_path)]) == 0
    assert (tmp_path / "index.html").stat().st_size < 400_000


@pytest.fixture(scope="module")
def reports_with_odd_dates(tmp_path_factory):
    """Reports of these dates, as an index orders them. 1/12/2026 may be in January or December, and
    today may be any day.
    """
    folder = tmp_path_factory.mktemp("dates")
    dates = ["September 2026", "9 Oct 2026", "2026-11-9", "2026-11-16", "1/12/2026", "today"]
    for number, date in enumerate(dates):
        study = ek.rating(biased_forecasts(), metrics="mae", data_date=date)
        saved_report(str(9 - number), folder, study)
    return index.ordered_by_date(index.read(folder))


def test_the_index_orders_reports_by_date_and_those_without_a_clear_one_first(
    reports_with_odd_dates,
):
    """The six reports have dates in different forms. "1/12/2026" may be in January or December, and
    "today" may be any day, so that both come first. The other dates follow from the oldest to the
    newest, however they are written.
    """
    assert reports_with_odd_dates["date"].tolist() == [
        "today",
        "1/12/2026",
        "September 2026",
        "9 Oct 2026",
        "2026-11-9",
        "2026-11-16",
    ]
    assert "2 reports without a clear date" in index.over_time("mae", reports_with_odd_dates).text


def test_the_index_shows_no_change_without_a_clear_date(reports_with_odd_dates):
    """Six reports of one system have the same value, and two of them, listed last, have no clear
    date. The listing, the newest first, has a change, 0.00, after the interval of a value. Three of
    the four reports with a clear date have one before them; the oldest of the four and the other
    two have none.
    """
    rows = index.listing(reports_with_odd_dates).text.splitlines()[2:]  # below the heads
    assert ["]  0.00" in row for row in rows] == [True, True, True, False, False, False]


def series_of(folder, number):
    """The reports of so many days, as an index orders them."""
    path, _ = saved_report("rating", folder, ek.rating(biased_forecasts(), metrics="mae"))
    results = json.loads(path.read_text())
    path.unlink()
    for day in range(number):
        date = pd.Timestamp("2026-01-01") + pd.Timedelta(day, "D")
        results["parameters"] = {"title": f"Day {day + 1}", "data_date": str(date)}
        (folder / f"{day}.json").write_text(json.dumps(results))
    return index.ordered_by_date(index.read(folder))


def test_a_picture_over_time_has_the_last_forty_reports(tmp_path):
    text = index.over_time("mae", series_of(tmp_path, 41)).text
    assert "the last 40 of 41 reports" in text
    assert "Day 41" in text
    assert not re.search(r"Day 1\b", text)


def test_the_change_in_the_index_is_from_the_report_before(tmp_path):
    """Reports of two days, where forecasts of the second day are too high by 1, so that its error
    is larger. The listing has a row per report, the newest first, with the value, its interval in
    brackets, and then the change from the report before. The first day has none before.
    """
    for day, bias in (("01", 0.0), ("02", 1.0)):
        table = biased_forecasts(a=bias, b=bias)
        saved_report(day, tmp_path, ek.rating(table, metrics="mae", data_date=f"2026-01-{day}"))
    text = index.listing(index.ordered_by_date(index.read(tmp_path))).text
    _, _, second, first = text.splitlines()  # two lines of heads, then the newest first
    assert re.search(r"\]  \+0\.\d+", second)
    assert not re.search(r"\]  [+−]", first)


def test_diffs_are_no_series_of_an_index(tmp_path, capsys):
    """The folder has two reports of different days, which are a series over time: the index draws
    its metric as "rating: mae". Two diffs of these reports lie beside them. A diff is a comparison
    and not a state of its day, so that the index draws no series "diff: mae".
    """
    paths = []
    for day in ("01", "02"):
        (tmp_path / day).mkdir()
        study = ek.rating(biased_forecasts(), metrics="mae", data_date=f"2026-01-{day}")
        paths.append(saved_report("rating", tmp_path / day, study)[0])
    for name in ("first", "second"):
        results = page("diff").results(ek.diff(*paths)).results
        (tmp_path / f"{name}.json").write_text(json.dumps(plain(results)))
    assert command.main(["index", str(tmp_path)]) == 0
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "rating: mae" in text
    assert "diff: mae" not in text
