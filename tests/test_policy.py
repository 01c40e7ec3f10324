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
from evalkit.parameters.policy import Against, Bound, NoFinding, WrongRule, claim
from evalkit.report import plain
from evalkit.studies.policy import judge

WORDS = """
    auc.low >= <= 0.5 1e999 better not worse or equivalent than to within of in every none severity
    severe code EK3* trusted ' __import__('os') ()
"""


def written(folder, text):
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def rules(*claims, head="", **fields):
    """The text of a policy: these rules, each with these fields, below a head."""
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in fields.items())
    return head + "".join(f"[[rule]]\nthat = {json.dumps(that)}\n{lines}\n" for that in claims)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("'my auc'.high <= 2 of 'new m'", Bound("my auc", "high", "<=", 2.0, "new m")),
        ("not worse", Against(None, "not worse")),
        ("mrr better than a in every day", Against("mrr", "better", "a", None, None, "day")),
        (
            "better or equivalent to b within 0.1 of c",
            Against(None, "better or equivalent", "b", 0.1, "c"),
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
    """A rule has three lines, and its claim begins in column 9 of the second. Nothing is run as
    code.
    """
    text = re.sub(r"[\x00-\x1f\x7f\\\"\ud800-\udfff]|\x85|\u2028|\u2029", "", text)
    path = tmp_path_factory.getbasetemp() / "fuzzed.toml"
    others = rules(*["better"] * rules_before)
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
    letter = wrong.value.letter
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
        policy.read(written(tmp_path, text))


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
    path = written(tmp_path, rules(rule))
    with pytest.raises(ParameterError, match=says):
        ek.rating(forecasts(), metrics="mae", gate=str(path))


def forecasts(n=200, a=0.0, b=0.0):
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
    """The mean absolute errors are 2.0 of a and 0.8 of b."""
    gate = written(tmp_path, rules(rule, on_cannot_tell=on_cannot_tell))
    judged = ek.rating(forecasts(a=2.0), metrics="mae", segments="part", gate=str(gate)).gate
    decision = on_cannot_tell if result == "cannot tell" else result
    assert [found for _, found, _ in judged.rules] == [result]
    assert judged.passed is (decision == "pass")


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
    """The mean absolute error is 10.25 in one slice, and 5 with limits around 6 in the other."""
    frame = pd.DataFrame({"id": range(80), "actual": 0.0})
    frame["forecast"] = [10.0, 10.5] * 20 + [0.0, 10.0] * 20
    frame["part"] = ["far"] * 40 + ["unsure"] * 40
    path = written(tmp_path, rules("mae.high <= 6 in every part", on_cannot_tell="pass"))
    judged = ek.rating(frame, metrics="mae", segments="part", gate=str(path)).gate
    by_slice = judged.statements.set_index("slice")["result"].to_dict()
    assert by_slice == {"far": "fail", "unsure": "cannot tell"}
    assert [result for _, result, _ in judged.rules] == ["fail"]
    assert not judged.passed


def test_limits_of_another_level_than_the_rules_do_not_decide(tmp_path):
    table = pd.DataFrame({"query": range(30), "a": np.arange(30) / 30, "b": 0.5})
    earlier, _ = saved("significance", tmp_path, ek.significance(table))
    path = written(tmp_path, rules("value.low >= 0 of a", head="level = 0.99\n"))
    judged = ek.significance(str(earlier), gate=str(path)).gate
    (statement,) = judged.statements.to_dict("records")
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
    judged = ek.rating(two_errors(difference), metrics="mae", gate=rule).gate
    assert judged.statements["result"].tolist() == [result]


def test_the_margin_of_a_rule_goes_before_that_of_the_report():
    """Limits of 0.05 on both sides of no difference."""
    rule = "mae better or equivalent to b within 0.2 of a"
    judged = ek.rating(two_errors(0.0), metrics="mae", margin=0.01, gate=rule).gate
    assert judged.passed


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
    judged = ek.rating(two_errors(0.0), metrics="mae", gate=rule).gate
    assert judged.statements["result"].tolist() == [result]


def test_a_policy_passes_only_with_all_of_its_rules(tmp_path):
    path = written(tmp_path, rules("mae.value <= 5", "mae.value <= 1"))
    judged = ek.rating(two_errors(0.0), metrics="mae", gate=str(path)).gate
    assert [result for _, result, _ in judged.rules] == ["pass", "fail"]
    assert not judged.passed
    assert judged.failed == ["mae.value <= 1"]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
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
    path = written(tmp_path_factory.mktemp("policy"), rules(*several, head="level = 0.9\n"))
    return read_in_parts(gate=str(path)).gate


def read_in_parts(**given):
    return ek.rating(forecasts(), metrics="mae,rmse", segments="part", **given)


def test_the_level_of_each_statement_is_1_minus_alpha_over_their_number(judged):
    """Statements without a limit, about a value or a finding, do not count."""
    assert judged.tested == 2 + 2 * 2 + 1
    assert judged.level == pytest.approx(1 - 0.1 / 7)


@pytest.mark.parametrize("limit", ["low", "high"])
def test_a_statement_has_the_limit_of_its_level_beside_that_of_the_report(judged, limit):
    of_mae = judged.statements.query("rule == 0").set_index("system")
    for name, study in (
        (f"rule_{limit}", read_in_parts(level=judged.level)),
        (limit, read_in_parts()),
    ):
        expected = study.estimates.query("metric == 'mae'").set_index("system")[limit]
        assert of_mae[name].to_dict() == expected.to_dict()


def test_a_statement_about_a_difference_has_the_limits_of_its_level(judged):
    """Its difference may be turned: with the other sign and limits exchanged."""
    (statement,) = judged.statements.query("rule == 2")[["rule_low", "rule_high"]].abs().to_numpy()
    row = read_in_parts(level=judged.level).comparisons.set_index("metric").loc["mae"]
    assert sorted(statement) == pytest.approx(sorted(row[["low", "high"]].abs()))


def test_ten_rules_that_hold_fail_together_in_at_most_alpha(tmp_path):
    """Ten metrics of two equal arms, neither worse than the other, in 40 releases: at most 5 %
    fail, but for two standard errors. At 95% each, two of five would.
    """
    names = [f"m{i}" for i in range(10)]
    claims = [f"{name} not worse than {arms}" for name in names for arms in ("b of a", "a of b")]
    path = written(tmp_path, rules(*claims, on_cannot_tell="pass"))
    releases = 40
    failed = 0
    with_a_difference = 0
    for seed in range(releases):
        values = np.random.default_rng(seed).normal(0, 1, (80, 10))
        table = pd.DataFrame(values, columns=names).assign(user=range(80), arm=["a", "b"] * 40)
        asked = {"metrics": ",".join(names), "best": "high", "gate": str(path), "world": "none"}
        study = ek.interleaving(users=table, **asked)
        failed += not study.gate.passed
        with_a_difference += bool((study.users.comparisons["p"] < 0.05).any())
    assert failed / releases <= 0.05 + 2 * (0.05 * 0.95 / releases) ** 0.5
    assert with_a_difference / releases > 0.25


# A report read again ------------------------------------------------------------------------------

REPORTS = {
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
MORE = {
    "classification": {"segments": "age_band"},
    "interleaving": BOTH | {"metrics": "visits_per_year,visits/years"},
}


def saved(name, folder, study):
    """The path of the JSON of a report, beside which its units are, and its gate."""
    if name != "diff":
        study.save(folder / f"{name}.units.parquet")
    results = plain(page(study.report).results(study).results)
    (folder / f"{name}.json").write_text(json.dumps(results), encoding="utf-8")
    return folder / f"{name}.json", results["gate"]


ABOUT_SLICES = (
    "no weak slice",
    "no worse slice between shop",
    "lowest accuracy.low >= 0.6 between shop",
    "highest accuracy.value <= 0.9 between shop of y_score",
)


def shops(*, shared=False):
    """Decisions in three shops, in one of which most are wrong; shared: users of several shops."""
    rng = np.random.default_rng(8)
    shop = rng.choice([*"abc"], 900)
    label = rng.integers(0, 2, 900)
    is_wrong = rng.random(900) < np.where(shop == "c", 0.6, 0.2)
    score = np.where(is_wrong, 1 - label, label)
    user = np.arange(900) // 3 if shared else np.arange(900)
    return pd.DataFrame({"y_true": label, "y_score": score, "shop": shop, "user": user})


def checked(file, rule, folder):
    """What `evalkit check` finds of a report, and its status."""
    path = folder / "checked.json"
    status = command.main(["check", str(file), str(rule), "--json", str(path)])
    return json.loads(path.read_text()), status


def test_check_judges_slices_as_the_report_does(tmp_path):
    path = written(tmp_path, rules(*ABOUT_SLICES))
    asked = {"metrics": "accuracy", "segments": "shop", "slices": "shop", "gate": str(path)}
    file, gate = saved("classification", tmp_path, ek.classification(shops(), **asked))
    results, status = checked(file, path, tmp_path)
    assert status == 3
    assert [rule["result"] for rule in results["rules"]] == ["fail", "fail", "fail", "pass"]
    for rule, of_check in zip(gate["rules"], results["rules"], strict=True):
        assert of_check["result"] == rule["result"]
        for expected, found in zip(rule["statements"], of_check["statements"], strict=True):
            for name in ("value", "low", "high", "rule_low", "rule_high", "why"):
                assert found[name] == pytest.approx(expected[name], abs=1e-12)


@pytest.mark.parametrize("rule", ABOUT_SLICES[1:])
def test_check_refuses_slices_that_the_report_did_not_compare(rule, tmp_path, capsys):
    asked = {"metrics": "accuracy", "segments": "shop", "unit": "user"}
    file, _ = saved("classification", tmp_path, ek.classification(shops(shared=True), **asked))
    assert command.main(["check", str(file), rule]) == 2
    assert "the report that was stored did not compare them" in capsys.readouterr().err


def test_check_refuses_weak_slices_that_the_report_did_not_search(tmp_path, capsys):
    file, _ = saved("classification", tmp_path, ek.classification(shops(), metrics="accuracy"))
    assert command.main(["check", str(file), "no weak slice"]) == 2
    assert "the report searched no slices" in capsys.readouterr().err


def test_no_weak_slice_is_not_decided_where_none_was_tested(tmp_path, capsys):
    asked = {"metrics": "accuracy", "slices": "shop", "gate": "no weak slice"}
    study = ek.classification(shops().head(40), **asked)
    assert "no slice has enough rows" in study.gate.message
    file, _ = saved("classification", tmp_path, study)
    assert command.main(["check", str(file), "no weak slice"]) == 3
    assert "gate not decided" in capsys.readouterr().err


def test_a_diff_compares_no_slices_with_each_other(tmp_path):
    for name in ("old", "new"):
        study = ek.classification(shops(), metrics="accuracy", segments="shop")
        study.save(tmp_path / f"{name}.units.parquet")
    study = ek.diff(tmp_path / "old.units.parquet", tmp_path / "new.units.parquet")
    with pytest.raises(ParameterError, match="set the rule as gate of the new report"):
        ek.check(study, "no worse slice between shop")


# numbers that a simulation of the rule gives, by drawn signs
SIMULATED = ["catches", "unchanged_fails", "margin", "power", "units_needed"]


def statements_of(rule):
    frame = pd.DataFrame(rule["statements"])
    return frame.sort_values(["system", "against", "slice"], ignore_index=True)


@pytest.mark.parametrize("name", REPORTS)
def test_check_finds_what_the_page_says(name, tmp_path, capsys):
    path = written(tmp_path, rules(*REPORTS[name], on_cannot_tell="pass"))
    file, gate = saved(name, tmp_path, getattr(ek, name)(gate=str(path), **MORE.get(name, {})))
    results, status = checked(file, path, tmp_path)
    assert status == (0 if gate["passed"] else 3)
    for fact in ("passed", "level_of_each"):
        assert results[fact] == gate[fact]
    exact = {"rtol": 1e-5, "atol": 1e-8}
    drawn = {"rtol": 2e-3, "atol": 1e-4}  # other signs of sessions; tails differ most
    tolerance = drawn if name == "interleaving" else exact
    tolerance_of_tails = drawn | {"rtol": 0.05} if name == "interleaving" else exact
    for rule, of_check in zip(gate["rules"], results["rules"], strict=True):
        assert (rule["that"], rule["result"]) == (of_check["that"], of_check["result"])
        expected = statements_of(rule)
        found = statements_of(of_check)
        pd.testing.assert_frame_equal(
            expected.drop(columns=SIMULATED), found.drop(columns=SIMULATED), **tolerance
        )
        pd.testing.assert_frame_equal(expected[SIMULATED], found[SIMULATED], **tolerance_of_tails)
    number = escape_markdown(REPORTS[name][0].split()[0])
    assert f"| {number} " in capsys.readouterr().out


def test_check_compares_systems_on_the_units_that_have_both_values(tmp_path):
    """q1 and q2 have both, 1 and 2 against 0 and 1."""
    nothing = float("nan")
    table = {"query": ["q0", "q1", "q2", "q3"], "a": [nothing, 1, 2, 3], "b": [0, 0, 1, nothing]}
    file, _ = saved("significance", tmp_path, ek.significance(pd.DataFrame(table)))
    results, _ = checked(file, "value better than b", tmp_path)
    (rule,) = results["rules"]
    assert [statement["value"] for statement in rule["statements"]] == [1]


def test_check_cannot_tell_limits_that_allow_for_the_choice_of_a_threshold(tmp_path, capsys):
    """Of three systems: three limits of accuracy, and two differences from gbm."""
    study = ek.classification(metrics="f1,accuracy,roc_auc", threshold="best_f1")
    file, _ = saved("chosen", tmp_path, study)
    claims = ["accuracy.low >= 0.1", "roc_auc.low >= 0.1", "accuracy better than gbm"]
    path = written(tmp_path, rules(*claims))
    assert command.main(["check", str(file), str(path)]) == 3
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| accuracy")]
    assert len(rows) == 5
    why = "cannot tell limits recomputed from the units|does not compare"
    assert all(re.search(why, row) for row in rows)


@pytest.fixture
def biased(tmp_path):
    """The JSON of a report whose system a has a mean absolute error of 2.0, b of 0.8."""
    file, _ = saved("rating", tmp_path, ek.rating(forecasts(a=2.0), metrics="mae"))
    return file


def test_check_writes_a_case_of_junit_for_each_rule(biased, tmp_path):
    unsure = rules("mae.high <= 0.85 of b", on_cannot_tell="pass")
    path = written(tmp_path, rules("mae.low >= 0.1", "mae.high <= 1") + unsure)
    junit = tmp_path / "junit.xml"
    assert command.main(["check", str(biased), str(path), "--junit", str(junit)]) == 3
    suite = ElementTree.parse(junit).getroot()
    assert suite.tag == "testsuite"
    counts = [suite.get(name) for name in ("tests", "failures", "skipped")]
    assert counts == ["3", "1", "1"]
    assert {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")} == {
        "mae.low >= 0.1": [],
        "mae.high <= 1": ["failure"],
        "mae.high <= 0.85 of b": ["skipped"],
    }
    assert "a: 1.99 [1.82, 2.16]: fail" in suite.find(".//failure").text


def test_check_of_a_rule_that_is_kept_ends_with_0(biased):
    assert command.main(["check", str(biased), "mae.low >= 0.1"]) == 0


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
def test_check_of_what_is_wrong_ends_with_2(biased, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(biased.parent)
    written(biased.parent, rules("mae.low >= 0.1"))
    assert command.main(["check", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_check_refuses_units_of_other_inputs(biased):
    units = biased.with_suffix(".units.parquet")
    ek.rating(forecasts(100), metrics="mae").save(units)
    with pytest.raises(InputError, match="got those of other inputs"):
        gates.of_report(biased)


@pytest.mark.parametrize("on_cannot_tell, child", [("fail", "failure"), ("pass", "skipped")])
def test_a_rule_of_which_the_data_do_not_tell_fails_or_is_skipped(tmp_path, on_cannot_tell, child):
    file, _ = saved("rating", tmp_path, ek.rating(forecasts(), metrics="mae"))
    path = written(tmp_path, rules("mae.high <= 0.85 of b", on_cannot_tell=on_cannot_tell))
    command.main(["check", str(file), str(path), "--junit", str(tmp_path / "junit.xml")])
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [found.tag for case in suite for found in case] == [child]


@pytest.fixture
def diff_file(tmp_path, monkeypatch):
    """The JSON of the diff of the reports in old and new, in which a has another bias."""
    monkeypatch.chdir(tmp_path)
    for folder, bias in (("old", 0.0), ("new", 1.0)):
        (tmp_path / folder).mkdir()
        saved("rating", tmp_path / folder, ek.rating(forecasts(a=bias), metrics="mae"))
    (tmp_path / "diffs").mkdir()
    file, _ = saved("diff", tmp_path / "diffs", ek.diff("old", "new/rating.json"))
    return file


def test_a_diff_is_checked_on_the_units_that_it_compared(diff_file, tmp_path, monkeypatch):
    """Not on those of a report of this name in the working directory."""
    (tmp_path / "elsewhere" / "new").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    ek.rating(forecasts(), metrics="mae").save("new/rating.units.parquet")
    assert command.main(["check", str(diff_file), "mae.high <= 0.9 of 'new a'"]) == 3


def test_a_diff_whose_units_changed_is_refused(diff_file):
    ek.rating(forecasts(), metrics="mae").save("new/rating.units.parquet")
    message = "units of new/rating.json, which it compared, are missing or changed"
    with pytest.raises(InputError, match=message):
        gates.of_report(diff_file)


def test_a_diff_is_checked_by_the_name_of_its_folder(tmp_path, capsys):
    file, _ = saved("diff", tmp_path, ek.diff())
    assert command.main(["check", str(file.parent), "accuracy not worse within 0.5"]) == 0


def test_the_name_of_a_report_is_no_markdown_in_the_heading_of_a_check(tmp_path, capsys):
    file, _ = saved("*rating*", tmp_path, ek.rating(forecasts(), metrics="mae"))
    command.main(["check", str(file), "mae.low >= 0"])
    assert "/\\*rating\\*: " in capsys.readouterr().out.splitlines()[0]


def test_check_without_a_policy_names_a_command_that_works(tmp_path, capsys):
    file, _ = saved("rating", tmp_path, ek.rating(forecasts(), metrics="mae"))
    assert command.main(["check", str(file)]) == 2
    asked = capsys.readouterr().err.partition("evalkit check ")[2]
    assert command.main(["check", *shlex.split(asked)]) == 0


def test_a_policy_without_a_limit_or_a_test_has_no_level(tmp_path, capsys):
    file, _ = saved("rating", tmp_path, ek.rating(forecasts(), metrics="mae"))
    path = written(tmp_path, rules("mae.value <= 9", "none of severity severe"))
    assert command.main(["check", str(file), str(path)]) == 0
    assert "family-wise level" not in capsys.readouterr().out


def test_the_page_shows_each_rule_with_both_limits(tmp_path):
    path = written(tmp_path, rules("mae.high <= 1", "none of severity severe"))
    study = ek.rating(forecasts(a=2.0), metrics="mae", gate=str(path))
    said = first_screen.verdict(study).text
    assert said.startswith("fail: gate failed: policy.toml: 2 rules: not met by mae.high <= 1")
    assert "limits at 97.5%" in said


def test_a_gate_is_about_the_table_that_has_the_baseline():
    users = online_samples.users(arm=["free", "paying"] * 4)
    asked = {"metrics": "orders", "baseline": "paying", "gate": "better"}
    study = ek.interleaving(online_samples.log(), users, **asked)
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
    saved("rating", tmp_path, ek.rating(forecasts(), metrics="mae"))
    (tmp_path / "index.html").write_text("<h1>Mine</h1>")
    assert command.main(["index", str(tmp_path)]) == 2
    assert "index.html: is not a page of evalkit" in capsys.readouterr().err


@pytest.fixture(scope="module")
def three_days(tmp_path_factory):
    """A folder of the reports of three days, each in a folder of its own, the diff of the first
    two, which fails its gate, and JSON that is none of a report.
    """
    folder = tmp_path_factory.mktemp("days")
    for day, bias in (("01", 0.0), ("02", 0.5), ("03", 1.0)):
        (folder / day).mkdir()
        about = {"data_date": f"2026-01-{day}", "title": f"Day {day} & <more>"}
        saved("rating", folder / day, ek.rating(forecasts(a=bias), metrics="mae", **about))
    diff = ek.diff(folder / "01" / "rating.json", folder / "02" / "rating.json", gate="not worse")
    saved("diff", folder, diff)
    (folder / "other.json").write_text("[1]")
    (folder / "broken.json").write_text("{")
    (folder / "deep.json").write_text("[" * 100_000 + "]" * 100_000)
    (folder / "lacking.json").write_text('{"schema": "evalkit/2", "report": "x"}')
    return folder


def test_the_index_lists_all_reports_the_newest_first(three_days):
    assert command.main(["index", str(three_days)]) == 0
    text = (three_days / "index.html").read_text(encoding="utf-8")
    listing = text.split("All reports</caption>")[1].split("</table>")[0]
    third, diff, second, first = re.findall(
        r'<tr><th scope="row">.*?(?=<tr>|</tbody>)', listing, re.DOTALL
    )
    paths = {"03/rating": third, "diff": diff, "02/rating": second, "01/rating": first}
    for path, row in paths.items():
        assert f'href="{path}.html"' in row
    assert "Day 03 &amp; &lt;more&gt;" in third
    assert re.search('<a href="diff.html">[−+]', second)
    assert "failed" in diff
    assert "http" not in text
    assert "diff: mae" not in text


def test_the_index_of_200_reports_is_small(three_days, tmp_path):
    results = (three_days / "01" / "rating.json").read_text()
    for number in range(200):
        (tmp_path / f"{number}.json").write_text(results)
    assert command.main(["index", str(tmp_path)]) == 0
    assert (tmp_path / "index.html").stat().st_size < 400_000


@pytest.fixture(scope="module")
def odd_dates(tmp_path_factory):
    """Reports of these dates, the last two of which are not clear, as an index orders them."""
    folder = tmp_path_factory.mktemp("dates")
    dates = ["September 2026", "9 Oct 2026", "2026-11-9", "2026-11-16", "1/12/2026", "today"]
    for number, date in enumerate(dates):
        study = ek.rating(forecasts(), metrics="mae", data_date=date)
        saved(str(9 - number), folder, study)
    return index.ordered(index.read(folder))


def test_the_index_orders_reports_by_date_and_those_without_a_clear_one_first(odd_dates):
    assert odd_dates["date"].tolist() == [
        "today",
        "1/12/2026",
        "September 2026",
        "9 Oct 2026",
        "2026-11-9",
        "2026-11-16",
    ]
    assert "2 reports without a clear date" in index.over_time("mae", odd_dates).text


def test_the_index_shows_no_change_without_a_clear_date(odd_dates):
    """The newest first: three of four reports with one have a report before."""
    rows = index.listing(odd_dates).text.splitlines()[2:]  # below the heads
    assert ["]  0.00" in row for row in rows] == [True, True, True, False, False, False]


def series_of(folder, number):
    """The reports of so many days, as an index orders them."""
    path, _ = saved("rating", folder, ek.rating(forecasts(), metrics="mae"))
    results = json.loads(path.read_text())
    path.unlink()
    for day in range(number):
        date = pd.Timestamp("2026-01-01") + pd.Timedelta(day, "D")
        results["parameters"] = {"title": f"Day {day + 1}", "data_date": str(date)}
        (folder / f"{day}.json").write_text(json.dumps(results))
    return index.ordered(index.read(folder))


def test_a_picture_over_time_has_the_last_forty_reports(tmp_path):
    text = index.over_time("mae", series_of(tmp_path, 41)).text
    assert "the last 40 of 41 reports" in text
    assert "Day 41" in text
    assert not re.search(r"Day 1\b", text)


def test_the_change_in_the_index_is_from_the_report_before(tmp_path):
    for day, bias in (("01", 0.0), ("02", 1.0)):
        study = ek.rating(forecasts(a=bias, b=bias), metrics="mae", data_date=f"2026-01-{day}")
        saved(day, tmp_path, study)
    text = index.listing(index.ordered(index.read(tmp_path))).text
    second, first = text.splitlines()[2:]  # below the heads
    assert re.search(r"\]  \+0\.\d+", second)
    assert not re.search(r"\]  [+−]", first)


def test_diffs_are_no_series_of_an_index(tmp_path, capsys):
    paths = []
    for day in ("01", "02"):
        (tmp_path / day).mkdir()
        study = ek.rating(forecasts(), metrics="mae", data_date=f"2026-01-{day}")
        paths.append(saved("rating", tmp_path / day, study)[0])
    for name in ("first", "second"):
        results = page("diff").results(ek.diff(*paths)).results
        (tmp_path / f"{name}.json").write_text(json.dumps(plain(results)))
    assert command.main(["index", str(tmp_path)]) == 0
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "rating: mae" in text
    assert "diff: mae" not in text
