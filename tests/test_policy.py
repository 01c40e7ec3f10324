"""Policies: the grammar, the level that all rules share, and `evalkit check`, which reads a report
again.
"""

import builtins
import json
import re
import shlex
from pathlib import Path
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

WORDS = [
    "auc.low",
    "'my auc'.high",
    ">=",
    "<=",
    "0.5",
    "1e999",
    "better",
    "not",
    "worse",
    "or",
    "equivalent",
    "than",
    "to",
]
WORDS += [
    "within",
    "of",
    "in",
    "every",
    "none",
    "severity",
    "severe",
    "code",
    "EK3*",
    "trusted",
    "'",
    "__import__('os')",
    "()",
]


def written(folder, text):
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def rules(*claims, head="", **more):
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in more.items())
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


@given(
    st.lists(st.sampled_from(WORDS) | st.text(max_size=4), max_size=9).map(" ".join),
    st.integers(0, 3),
)
def test_whatever_is_written_is_a_claim_or_refused_at_its_line_and_column(
    tmp_path_factory, text, before
):
    text = re.sub(r"[\x00-\x1f\x7f\\\"\ud800-\udfff]|\x85|\u2028|\u2029", "", text)
    refuse = dict.fromkeys(("eval", "exec", "compile"), None)
    path = tmp_path_factory.getbasetemp() / "fuzzed.toml"
    path.write_text(rules(*["better"] * before) + f'[[rule]]\nthat = "{text}"\n', encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name in refuse:
            patch.setattr(builtins, name, None)
        try:
            assert len(policy.read(path).rules) == before + 1
            return
        except ParameterError as error:
            said = str(error)
    with pytest.raises(WrongRule) as wrong:
        claim(text)
    assert 0 <= wrong.value.letter <= len(text)
    assert said.startswith(f"fuzzed.toml, line {3 * before + 2}, column {9 + wrong.value.letter}: ")


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


def forecasts(n=200, **moved):
    rng = np.random.default_rng(5)
    actual = rng.normal(0, 1, n)
    sides = {name: actual + moved.get(name, 0.0) + rng.normal(0, 1, n) for name in ("a", "b")}
    frame = pd.DataFrame(
        {
            "id": range(n),
            "actual": actual,
            **{f"forecast_{name}": side for name, side in sides.items()},
        }
    )
    return frame.assign(part=np.where(frame["id"] % 4, "most", "few"))


# The three results, and the level -----------------------------------------------------------------


@pytest.mark.parametrize(
    "rule, result",
    [
        *[
            ("mae.high <= 5", "pass"),
            ("mae.high <= 0.1", "fail"),
            ("mae.high <= 0.85 of b", "cannot tell"),
        ],
        *[
            ("mae.value <= 0.1", "fail"),
            ("mae.low >= 0.1 in every part", "pass"),
            ("mae.low <= 2 of a", "pass"),
        ],
        *[("mae not worse than b within 0.5", "fail"), ("mae not worse than b within 5", "pass")],
        *[("mae not worse than b within 1.25", "cannot tell"), ("mae better than b", "fail")],
        *[("mae not worse than b", "fail"), ("mae not worse than a", "pass")],
        *[
            ("mae better than a in every part", "pass"),
            ("mae better or equivalent to b within 9", "fail"),
        ],
        *[
            ("none of severity note", "fail"),
            ("none of severity severe", "pass"),
            ("none of code EK5*", "pass"),
        ],
    ],
)
@pytest.mark.parametrize("on_cannot_tell", ["pass", "fail"])
def test_a_rule_passes_fails_or_cannot_tell(tmp_path, rule, result, on_cannot_tell):
    gate = written(tmp_path, rules(rule, on_cannot_tell=on_cannot_tell))
    judged = ek.rating(forecasts(a=2.0), metrics="mae", segments="part", gate=str(gate)).gate
    assert [word for _, word, _ in judged.rules] == [result]
    assert judged.passed is ((on_cannot_tell if result == "cannot tell" else result) == "pass")


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
    ek.significance(table).save(tmp_path / "earlier.json")
    path = written(tmp_path, rules("value.low >= 0 of a", head="level = 0.99\n"))
    judged = ek.significance(str(tmp_path / "earlier.json"), gate=str(path)).gate
    (statement,) = judged.statements.to_dict("records")
    assert statement["low"] > 0
    assert statement["result"] == "cannot tell"
    assert statement["why"] == "only its 95% interval is known"


def test_a_number_at_its_bound_keeps_it():
    at_bound = {"value": 0.5, "low": 0.5, "high": 0.5}
    for rule in ("m.value >= 0.5", "m.value <= 0.5", "m.low >= 0.5", "m.high <= 0.5"):
        assert claim(rule).result(**at_bound) == "pass", rule


def test_a_number_with_an_undefined_limit_cannot_tell_of_the_other():
    alone = {"value": 0.8, "low": 0.6, "high": float("nan")}
    assert claim("m.low >= 0.5").result(**alone) == "cannot tell"
    assert claim("m.value >= 0.5").result(**alone) == "pass"


def errors_of_two(difference):
    """Forecasts of two systems whose absolute errors are 2 and as much more, give or take 0.1."""
    give_or_take = np.tile([-0.1, 0.1, 0.1, -0.1], 20)
    frame = pd.DataFrame({"id": range(80), "actual": 0.0, "forecast_b": 2.0 + give_or_take})
    return frame.assign(forecast_a=2.0 + difference - give_or_take)


@pytest.mark.parametrize(
    "difference, result",
    [(0.2, "pass"), (0.5, "cannot tell"), (0.8, "fail"), (-0.8, "pass")],
)
def test_not_worse_within_is_decided_by_the_limit_on_the_worse_side(difference, result):
    rule = "mae not worse than b within 0.5 of a"
    judged = ek.rating(errors_of_two(difference), metrics="mae", gate=rule).gate
    assert judged.statements["result"].tolist() == [result]


def test_the_margin_of_a_rule_goes_before_that_of_the_report():
    """Limits of 0.05 on both sides of no difference."""
    rule = "mae better or equivalent to b within 0.2 of a"
    judged = ek.rating(errors_of_two(0.0), metrics="mae", margin=0.01, gate=rule).gate
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
    judged = ek.rating(errors_of_two(0.0), metrics="mae", gate=rule).gate
    assert judged.statements["result"].tolist() == [result]


def test_a_policy_passes_only_with_all_of_its_rules(tmp_path):
    path = written(tmp_path, rules("mae.value <= 5", "mae.value <= 1"))
    judged = ek.rating(errors_of_two(0.0), metrics="mae", gate=str(path)).gate
    assert [result for _, result, _ in judged.rules] == ["pass", "fail"]
    assert not judged.passed
    assert judged.failed == ["mae.value <= 1"]


def test_each_statement_has_the_limits_of_alpha_over_their_number(tmp_path):
    several = [
        "mae.high <= 9",
        "rmse.high <= 9 in every part",
        "mae not worse than a within 1",
        "mae.value <= 9",
    ]
    path = written(tmp_path, rules(*several, "none of severity severe", head="level = 0.9\n"))
    judged = ek.rating(forecasts(), metrics="mae,rmse", segments="part", gate=str(path)).gate
    assert judged.tested == 2 + 2 * 2 + 1
    assert judged.level == pytest.approx(1 - 0.1 / 7)
    strict, usual = (
        ek.rating(forecasts(), metrics="mae,rmse", segments="part", level=at)
        for at in (judged.level, 0.95)
    )
    for study, ends in ((strict, ["rule_low", "rule_high"]), (usual, ["low", "high"])):
        expected = study.estimates[study.estimates["metric"] == "mae"].set_index("system")[
            ["low", "high"]
        ]
        there = judged.statements[judged.statements["rule"] == 0].set_index("system")[ends]
        assert np.array_equal(there, expected.loc[there.index])
    row = judged.statements[judged.statements["rule"] == 2].iloc[0]
    other = strict.comparisons.iloc[0]
    assert sorted(abs(row[["rule_low", "rule_high"]])) == pytest.approx(
        sorted(abs(other[["low", "high"]]))
    )


def test_ten_rules_that_hold_fail_together_in_at_most_alpha(tmp_path):
    """Ten metrics of two equal arms, neither worse than the other: at 95% each, two of five
    releases would fail.
    """
    names = [f"m{i}" for i in range(10)]
    both = [f"{name} not worse than {other}" for name in names for other in ("b of a", "a of b")]
    path = written(tmp_path, rules(*both, on_cannot_tell="pass"))
    naive, failed, releases = 0, 0, 40
    for seed in range(releases):
        values = np.random.default_rng(seed).normal(0, 1, (80, 10))
        table = pd.DataFrame(values, columns=names).assign(user=range(80), arm=["a", "b"] * 40)
        study = ek.interleaving(
            users=table, metrics=",".join(names), best="high", gate=str(path), world="none"
        )
        failed += not study.gate.passed
        naive += bool((study.users.comparisons["p"] < 0.05).any())
    assert failed <= (0.05 + 2 * (0.05 * 0.95 / releases) ** 0.5) * releases
    assert naive > 0.25 * releases


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
    study.save(folder / f"{name}.units.parquet") if name != "diff" else None
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
    wrong = rng.random(900) < np.where(shop == "c", 0.6, 0.2)
    score = np.where(wrong, 1 - label, label)
    user = np.arange(900) // 3 if shared else np.arange(900)
    return pd.DataFrame({"y_true": label, "y_score": score, "shop": shop, "user": user})


def test_check_judges_slices_as_the_report_does(tmp_path):
    path = written(tmp_path, rules(*ABOUT_SLICES))
    asked = {"metrics": "accuracy", "segments": "shop", "slices": "shop", "gate": str(path)}
    file, gate = saved("classification", tmp_path, ek.classification(shops(), **asked))
    assert command.main(["check", str(file), str(path), "--json", str(tmp_path / "out.json")]) == 3
    checked = json.loads((tmp_path / "out.json").read_text())
    assert [rule["result"] for rule in checked["rules"]] == ["fail", "fail", "fail", "pass"]
    for rule, ours in zip(gate["rules"], checked["rules"], strict=True):
        assert ours["result"] == rule["result"]
        for statement, our_statement in zip(rule["statements"], ours["statements"], strict=True):
            for name in ("value", "low", "high", "rule_low", "rule_high", "why"):
                assert our_statement[name] == pytest.approx(statement[name], abs=1e-12)


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


@pytest.mark.parametrize("name", REPORTS)
def test_check_finds_what_the_page_says(name, tmp_path, capsys):
    path = written(tmp_path, rules(*REPORTS[name], on_cannot_tell="pass"))
    file, gate = saved(name, tmp_path, getattr(ek, name)(gate=str(path), **MORE.get(name, {})))
    status = command.main(["check", str(file), str(path), "--json", str(tmp_path / "out.json")])
    assert status == (0 if gate["passed"] else 3)
    checked = json.loads((tmp_path / "out.json").read_text())
    assert (checked["passed"], checked["level_of_each"]) == (gate["passed"], gate["level_of_each"])
    for rule, ours in zip(gate["rules"], checked["rules"], strict=True):
        assert (rule["that"], rule["result"]) == (ours["that"], ours["result"])
        key = ["system", "against", "slice"]
        both = [
            pd.DataFrame(of["statements"]).sort_values(key, ignore_index=True)
            for of in (rule, ours)
        ]
        # its signs are drawn, which tells most in the tails
        tails = ["catches", "unchanged_fails", "margin", "power", "units_needed"]
        loose = name == "interleaving"
        for columns, rtol in ((both[0].columns.difference(tails), 2e-3), (tails, 0.05)):
            chosen = [frame[columns] for frame in both]
            rtol, atol = (rtol, 1e-4) if loose else (1e-5, 1e-8)
            pd.testing.assert_frame_equal(*chosen, rtol=rtol, atol=atol)
    number = escape_markdown(REPORTS[name][0].split()[0])
    assert f"| {number} " in capsys.readouterr().out


def test_check_compares_systems_on_the_units_that_have_both_values(tmp_path, capsys):
    """q1 and q2 have both, 1 and 2 against 0 and 1."""
    nothing = float("nan")
    table = {"query": ["q0", "q1", "q2", "q3"], "a": [nothing, 1, 2, 3], "b": [0, 0, 1, nothing]}
    file, _ = saved("significance", tmp_path, ek.significance(pd.DataFrame(table)))
    command.main(["check", str(file), "value better than b", "--json", str(tmp_path / "out.json")])
    (rule,) = json.loads((tmp_path / "out.json").read_text())["rules"]
    assert [statement["value"] for statement in rule["statements"]] == [1]


def test_a_limit_that_the_units_do_not_tell_is_none(tmp_path, capsys):
    study = ek.classification(metrics="f1,accuracy,roc_auc", threshold="best_f1")
    file, _ = saved("chosen", tmp_path, study)
    path = written(
        tmp_path, rules("accuracy.low >= 0.1", "roc_auc.low >= 0.1", "accuracy better than gbm")
    )
    assert command.main(["check", str(file), str(path)]) == 3
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| accuracy")]
    assert len(rows) == 5
    assert all(
        "cannot tell limits recomputed from the units" in row or "does not compare" in row
        for row in rows
    )


def test_check_writes_junit_and_ends_with_its_status(tmp_path, capsys):
    file, _ = saved("rating", tmp_path, ek.rating(forecasts(a=2.0), metrics="mae"))
    claims = ["mae.low >= 0.1", "mae.high <= 1", "mae.high <= 0.85 of b"]
    lines = rules(*claims[:2]) + rules(claims[2], on_cannot_tell="pass")
    path = written(tmp_path, lines)
    junit = tmp_path / "junit.xml"
    assert command.main(["check", str(file), str(path), "--junit", str(junit)]) == 3
    suite = ElementTree.parse(junit).getroot()
    assert (suite.tag, suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (
        "testsuite",
        "3",
        "1",
        "1",
    )
    cases = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert cases == dict(zip(claims, ([], ["failure"], ["skipped"]), strict=True))
    assert "a: 1.99 [1.82, 2.16]: fail" in suite.find(".//failure").text
    assert command.main(["check", str(file), claims[0]]) == 0
    for wrong, says in (
        ([str(tmp_path / "no.json"), claims[0]], "cannot be read"),
        ([str(path), "better"], "policy.toml.json: cannot be read"),
        ([str(file), "mae ="], "column 5"),
        ([str(file), "bias.low >= 1"], "the metric must be one of mae, got 'bias'"),
        ([str(file), claims[0], "--junit", str(tmp_path / "no" / "x.xml")], "cannot write"),
    ):
        assert command.main(["check", *wrong]) == 2
        assert says in capsys.readouterr().err
    ek.rating(forecasts(100), metrics="mae").save(tmp_path / "other.units.parquet")
    (tmp_path / "rating.units.parquet").write_bytes((tmp_path / "other.units.parquet").read_bytes())
    with pytest.raises(InputError, match="got those of other inputs"):
        gates.of_report(file)


@pytest.mark.parametrize("on_cannot_tell, child", [("fail", "failure"), ("pass", "skipped")])
def test_a_rule_of_which_the_data_do_not_tell_fails_or_is_skipped(tmp_path, on_cannot_tell, child):
    file, _ = saved("rating", tmp_path, ek.rating(forecasts(), metrics="mae"))
    path = written(tmp_path, rules("mae.high <= 0.85 of b", on_cannot_tell=on_cannot_tell))
    command.main(["check", str(file), str(path), "--junit", str(tmp_path / "junit.xml")])
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [found.tag for case in suite for found in case] == [child]


def test_a_diff_is_checked_on_the_units_that_it_compared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for day, moved in (("old", 0.0), ("new", 1.0)):
        (tmp_path / day).mkdir()
        saved("rating", tmp_path / day, ek.rating(forecasts(a=moved), metrics="mae"))
    (tmp_path / "diffs").mkdir()
    file, _ = saved("diff", tmp_path / "diffs", ek.diff("old", "new/rating.json"))
    (tmp_path / "elsewhere" / "new").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    ek.rating(forecasts(), metrics="mae").save("new/rating.units.parquet")
    assert command.main(["check", str(file), "mae.high <= 0.9 of 'new a'"]) == 3
    (tmp_path / "new" / "rating.units.parquet").write_bytes(
        Path("new/rating.units.parquet").read_bytes()
    )
    with pytest.raises(
        InputError, match=r"units of new/rating.json, which it compared, are missing or changed"
    ):
        gates.of_report(file)


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
    study = ek.interleaving(
        online_samples.log(), users, metrics="orders", baseline="paying", gate="better"
    )
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


def test_the_index_is_one_small_page_of_all_reports(tmp_path, capsys):
    assert command.main(["index", str(tmp_path)]) == 2
    assert "must have the results of reports" in capsys.readouterr().err
    paths = []
    for day, moved in (("01", 0.0), ("02", 0.5), ("03", 1.0)):
        (tmp_path / day).mkdir()
        study = ek.rating(
            forecasts(a=moved),
            metrics="mae",
            data_date=f"2026-01-{day}",
            title=f"Day {day} & <more>",
        )
        paths.append(saved("rating", tmp_path / day, study)[0])
    study = ek.diff(*paths[:2], gate="not worse")
    (tmp_path / "diff.json").write_text(json.dumps(plain(page("diff").results(study).results)))
    (tmp_path / "other.json").write_text("[1]")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "deep.json").write_text("[" * 100_000 + "]" * 100_000)
    (tmp_path / "lacking.json").write_text('{"schema": "evalkit/2", "report": "x"}')
    (tmp_path / "index.html").write_text("<h1>Mine</h1>")
    assert command.main(["index", str(tmp_path)]) == 2
    assert "index.html: is not a page of evalkit" in capsys.readouterr().err
    (tmp_path / "index.html").unlink()
    assert command.main(["index", str(tmp_path)]) == 0
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    rows = re.findall(
        r'<tr><th scope="row">.*?(?=<tr>|</tbody>)',
        text.split("All reports</caption>")[1].split("</table>")[0],
    )
    assert [re.search(r'href="(.*?)\.html"', row)[1] for row in rows] == [
        "03/rating",
        "diff",
        "02/rating",
        "01/rating",
    ]
    assert "Day 03 &amp; &lt;more&gt;" in rows[0]
    assert '<a href="diff.html">−' in rows[2] or '<a href="diff.html">+' in rows[2]
    assert ("failed" in rows[1], "http" in text, "diff: mae" in text) == (True, False, False)
    results = json.loads(paths[0].read_text())
    for n in range(200):
        (tmp_path / f"{n}.json").write_text(json.dumps(results))
    assert command.main(["index", str(tmp_path)]) == 0
    assert (tmp_path / "index.html").stat().st_size < 400_000


def test_the_index_orders_reports_by_date_and_shows_no_change_without_one(tmp_path):
    dates = ["September 2026", "9 Oct 2026", "2026-11-9", "2026-11-16", "1/12/2026", "today"]
    for n, date in enumerate(dates):
        saved(str(9 - n), tmp_path, ek.rating(forecasts(), metrics="mae", data_date=date))
    frame = index.ordered(index.read(tmp_path))
    assert frame["date"].tolist() == ["today", "1/12/2026", *dates[:4]]
    assert "2 reports without a clear date" in index.over_time("mae", frame).text
    rows = index.listing(frame).text.splitlines()[2:]
    assert ["]  0.00" in row for row in rows] == [True, True, True, False, False, False]


def series_of(folder, number):
    """The reports of so many days, as an index orders them."""
    path, _ = saved("rating", folder, ek.rating(forecasts(), metrics="mae"))
    results = json.loads(path.read_text())
    path.unlink()
    for day in range(number):
        about = results | {"parameters": {"title": f"Day {day + 1}"}}
        about["parameters"]["data_date"] = str(pd.Timestamp("2026-01-01") + pd.Timedelta(day, "D"))
        (folder / f"{day}.json").write_text(json.dumps(about))
    return index.ordered(index.read(folder))


def test_a_picture_over_time_has_the_last_forty_reports(tmp_path):
    text = index.over_time("mae", series_of(tmp_path, 41)).text
    assert "the last 40 of 41 reports" in text
    assert "Day 41" in text
    assert not re.search(r"Day 1\b", text)


def test_the_change_in_the_index_is_from_the_report_before(tmp_path):
    for day, moved in (("01", 0.0), ("02", 1.0)):
        study = ek.rating(forecasts(a=moved, b=moved), metrics="mae", data_date=f"2026-01-{day}")
        saved(day, tmp_path, study)
    second, first = index.listing(index.ordered(index.read(tmp_path))).text.splitlines()[2:]
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
