"""Gates that wait: sides that were not compared, directions that nothing tells, broken
assignments.
"""

import json
import os
import re
from collections.abc import Callable
from typing import NamedTuple
from xml.etree import ElementTree

import nbformat
import numpy as np
import pandas as pd
import papermill
import pytest
from made_once import ROOT
from nbformat.v4 import new_code_cell, new_notebook
from papermill.exceptions import PapermillExecutionError
from scipy.stats import f_oneway

import evalkit as ek
from evalkit import __main__ as command, report
from evalkit.arrays import InputError, ParameterError
from evalkit.catalogue import lookup
from evalkit.drawing.shown import page
from evalkit.machine.bundled_files import bundled_notebooks
from evalkit.pages import experiment_page
from evalkit.parameters.reports import PARAMETERS_BY_NOTEBOOK
from evalkit.report import plain
from evalkit.studies import randomisation
from evalkit.studies.diff import partners

POLICY_OF_NOT_WORSE = 'on_cannot_tell = "pass"\n[[rule]]\nthat = "not worse"\n'


def forecasts(*systems, rows=30):
    """Rows with an actual value and a forecast of each system, all equally good."""
    rng = np.random.default_rng(3)
    actual = rng.normal(0, 1, rows)
    columns = {f"forecast_{name}": actual + rng.normal(0, 1, rows) for name in systems}
    return pd.DataFrame({"id": range(rows), "actual": actual, **columns})


def save_report(study, folder, name):
    """Write the JSON of a report into a folder, and its file of units beside it. The path of the
    JSON.
    """
    folder.mkdir(exist_ok=True)
    if name != "diff":
        study.save(folder / f"{name}.units.parquet")
    results = plain(page(study.report).results(study).results)
    (folder / f"{name}.json").write_text(json.dumps(results), encoding="utf-8")
    return folder / f"{name}.json"


@pytest.fixture
def renamed(tmp_path):
    """A folder with an old and a new report, in the folders `old` and `new`. Both compare `base`
    with a candidate: m-0806 in the old report, m-1120 in the new one. `guard.toml` is a policy with
    the rule "not worse", by which "cannot tell" passes.
    """
    for day, name in (("old", "m-0806"), ("new", "m-1120")):
        save_report(ek.rating(forecasts(name, "base"), metrics="mae"), tmp_path / day, "rating")
    (tmp_path / "guard.toml").write_text(POLICY_OF_NOT_WORSE, encoding="utf-8")
    return tmp_path


def diff_of_reports(folder, **parameters):
    """The diff of the reports in the folders `old` and `new`."""
    return ek.diff(folder / "old", folder / "new", **parameters)


# A diff whose systems have no partner -------------------------------------------------------------


def test_a_gate_on_a_renamed_candidate_is_not_decided(renamed):
    """The candidate is m-0806 in the old report and m-1120 in the new one, so that neither is
    compared. The gate says so, and does not pass.
    """
    gate = diff_of_reports(renamed, gate="not worse").gate
    assert not gate.passed
    assert gate.message == (
        "gate not decided: mae: every system not worse against the old report: "
        "m-1120 is not compared: the old report has no system of this name, and pairs names none; "
        "m-0806 is not compared: the new report has no system of this name, and pairs names none"
    )


def test_a_policy_that_lets_cannot_tell_pass_does_not_let_it_pass(renamed):
    """The candidate has another name in the new report, so that it is not compared. The policy
    guard.toml has the rule "not worse", which "cannot tell" passes. But "not compared" is not
    "cannot tell": the rule is not decided.
    """
    gate = diff_of_reports(renamed, gate=str(renamed / "guard.toml")).gate
    assert [result for _, result, _ in gate.rules] == ["not decided"]
    assert not gate.passed


def test_a_bound_of_every_system_is_not_decided_without_the_candidate(renamed):
    """The candidate has another name in the new report, so that it is not compared. A bound that
    any system would keep is undecided all the same.
    """
    assert diff_of_reports(renamed, gate="mae.high <= 99").gate.message.startswith(
        "gate not decided"
    )


def test_a_rule_about_a_system_that_was_compared_is_decided(renamed):
    """The candidate has another name in the new report and is not compared; base is in both
    reports, and the rule is about base alone.
    """
    assert diff_of_reports(renamed, gate="mae not worse of 'new base'").gate.passed


def test_a_gate_is_decided_when_the_partner_is_named(renamed):
    """The candidate is m-0806 in the old report and m-1120 in the new one; `pairs` says so. All
    systems are equally good.
    """
    study = diff_of_reports(renamed, gate="not worse", pairs="m-1120=m-0806")
    assert study.gate.passed
    assert [*study.account["system"]] == ["m-1120", "base"]


def test_a_gate_on_a_candidate_that_the_new_report_lacks_is_not_decided(tmp_path):
    """The old report has forecasts by the systems m and base, the new one by base alone. The diff
    of both cannot compare m, so that the rule "not worse", of every system, is not decided.
    """
    old_study = ek.rating(forecasts("m", "base"), metrics="mae")
    new_study = ek.rating(forecasts("base"), metrics="mae")
    save_report(old_study, tmp_path / "old", "rating")
    save_report(new_study, tmp_path / "new", "rating")
    gate = diff_of_reports(tmp_path, gate="not worse").gate
    assert gate.undecided_reasons == [
        "m is not compared: the new report has no system of this name, and pairs names none"
    ]


def test_check_of_a_diff_with_a_renamed_candidate_ends_with_3_and_says_why_everywhere(
    renamed, capsys
):
    """The command `check` applies the policy guard.toml to a diff in which the candidate m-1120 has
    no partner. 3 is its exit code for a gate that is not passed. The reason stands in what it
    prints and in the files for JUnit and JSON.
    """
    diff = save_report(diff_of_reports(renamed), renamed, "diff")
    policy = renamed / "guard.toml"
    junit = renamed / "junit.xml"
    results = renamed / "out.json"
    options = ["--junit", str(junit), "--json", str(results)]
    assert command.main(["check", str(diff), str(policy), *options]) == 3
    reason = "m-1120 is not compared"
    printed = capsys.readouterr()
    assert reason in printed.err
    assert reason in printed.out
    reasons_in_json = json.loads(results.read_text())["undecided"]
    assert any(reason in line for line in reasons_in_json)
    failure = ElementTree.parse(junit).getroot().find(".//failure")
    assert failure.get("message") == "not decided"
    assert reason in failure.text


def test_the_page_names_systems_without_a_partner_and_the_parameter(renamed):
    """The candidate is m-0806 in the old report and m-1120 in the new one. The finding EK807 lists
    both, and says how to pair them.
    """
    finding = diff_of_reports(renamed).findings.set_index("code").loc["EK807"]
    assert "m-1120 (new report), m-0806 (old report)" in finding["message"]
    assert "set pairs='m-1120=m-0806'" in finding["message"]


def test_pairs_that_the_reports_do_not_have_are_refused(renamed):
    """The old report has the systems m-0806 and base, the new one m-1120 and base. A pair with an
    unknown name is refused, and so are two pairs with one old system.
    """
    with pytest.raises(ParameterError, match="pairs: the old report has no system 'm-08'"):
        diff_of_reports(renamed, pairs="m-1120=m-08")
    with pytest.raises(ParameterError, match="old system once, got base for m-1120 and base"):
        diff_of_reports(renamed, pairs="m-1120=base,base=base")


def test_pairs_that_cannot_be_read_are_refused_with_their_own_form(renamed):
    with pytest.raises(ParameterError, match="pairs must be pairs new=old,new=old, got 'm-1120'"):
        diff_of_reports(renamed, pairs="m-1120")


@pytest.fixture
def diff_of_crossed_pair(tmp_path):
    """Two reports of `a` and `b`; the new `b` is what was `a`, so that two sides are left over."""
    for day in ("old", "new"):
        save_report(ek.rating(forecasts("a", "b"), metrics="mae"), tmp_path / day, "rating")
    return ek.diff(tmp_path / "old", tmp_path / "new", pairs="b=a", gate="not worse")


def test_a_system_whose_partner_is_taken_says_by_which(diff_of_crossed_pair):
    """Both reports have the systems a and b; `pairs` compares the new b with the old a. The new a
    and the old b are left over.
    """
    assert diff_of_crossed_pair.gate.undecided_reasons == [
        "a is not compared: pairs compares a of the old report with b",
        "b is not compared: pairs compares b of the new report with a",
    ]


def test_a_system_whose_partner_is_taken_stands_among_those_not_compared(diff_of_crossed_pair):
    """Both reports have the systems a and b; `pairs` compares the new b with the old a. The finding
    EK807 lists the new a and the old b, and suggests to compare them as well.
    """
    message = diff_of_crossed_pair.findings.set_index("code").loc["EK807", "message"]
    assert "a (new report), b (old report)" in message
    assert "set pairs='b=a,a=b'" in message


def test_a_rule_on_the_system_that_took_the_partner_is_decided(tmp_path, diff_of_crossed_pair):
    study = ek.diff(
        tmp_path / "old", tmp_path / "new", pairs="b=a", gate="mae.value >= 0 of 'new b'"
    )
    assert study.gate.passed


def test_reports_without_a_system_in_common_say_how_to_pair_them(tmp_path):
    """The old report has the systems a and b, the new one c and d."""
    save_report(ek.rating(forecasts("a", "b"), metrics="mae"), tmp_path / "old", "rating")
    save_report(ek.rating(forecasts("c", "d"), metrics="mae"), tmp_path / "new", "rating")
    with pytest.raises(InputError, match="such as pairs='c=a'"):
        diff_of_reports(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        (["v1"], ["v2"], {"v2": "v1"}),
        (["system"], ["forest"], {"forest": "system"}),
        (["system", "majority"], ["forest", "majority"], {"forest": "system"}),
        (["ridge", "median"], ["forest", "median"], {"forest": "ridge"}),
        (["system", "base"], ["forest", "base"], {"forest": "system"}),
        (["a", "base"], ["b", "base"], {}),
        (["a", "b"], ["c", "d"], {}),
    ],
)
def test_a_system_that_stands_alone_in_both_reports_is_a_pair(old, new, pairs):
    named = {name: name for name in new if name in old}
    assert partners(old, new) == named | pairs


# A direction that nothing tells -------------------------------------------------------------------


def study_of_values(name, **parameters):
    """The study of two systems, `new` far above `base`, by values of this name."""
    rng = np.random.default_rng(2)
    base = rng.normal(5, 1, 25)
    columns = {"question": range(25), "base": base, "new": base + rng.normal(2, 0.3, 25)}
    table = pd.DataFrame(columns)
    return ek.significance(table, metrics=name, baseline="base", **parameters)


def ab_test_of_column(name, **parameters):
    """The A/B test of a column of this name, of which B has more than A."""
    rng = np.random.default_rng(3)
    arm = np.array(["A", "B"] * 60)
    column = rng.normal(10, 2, 120) + 3 * (arm == "B")
    table = pd.DataFrame({"user": range(120), "arm": arm, name: column})
    return ek.interleaving(users=table, metrics=name, baseline="A", world="none", **parameters)


@pytest.mark.parametrize("rule", ["better", "not worse", "better or equivalent"])
@pytest.mark.parametrize("make_study", [study_of_values, ab_test_of_column])
def test_a_rule_on_a_direction_that_nothing_tells_is_not_decided(make_study, rule):
    gate = make_study("widgets", gate=rule, margin=0.1).gate
    assert gate.message.endswith(
        "nothing says whether higher or lower widgets is better: set lower_is_better=widgets, or "
        "lower_is_better=none if higher is"
    )


def test_a_policy_on_such_a_direction_is_not_decided(tmp_path):
    """Nothing says whether more "widgets" are better. The policy has the rule "not worse", which
    "cannot tell" passes; it is undecided all the same.
    """
    (tmp_path / "guard.toml").write_text(POLICY_OF_NOT_WORSE, encoding="utf-8")
    gate = study_of_values("widgets", gate=str(tmp_path / "guard.toml")).gate
    assert [result for _, result, _ in gate.rules] == ["not decided"]


@pytest.mark.parametrize(("lower", "passed"), [("widgets", False), ("none", True)])
@pytest.mark.parametrize("make_study", [study_of_values, ab_test_of_column])
def test_lower_is_better_decides_it(make_study, lower, passed):
    """System new, or arm B, has clearly more "widgets", a metric whose name does not tell a
    direction. The rule "better" passes if higher is better, `lower_is_better="none"`.
    """
    assert make_study("widgets", gate="better", lower_is_better=lower).gate.passed is passed


@pytest.mark.parametrize("make_study", [study_of_values, ab_test_of_column])
def test_none_among_names_of_metrics_is_refused(make_study):
    with pytest.raises(ParameterError, match="none alone, got 'none,widgets'"):
        make_study("widgets", lower_is_better="none,widgets")


@pytest.mark.parametrize(("best", "passed"), [("low", False), ("high", True)])
def test_best_of_an_ab_test_says_the_same(best, passed):
    """Arm B has clearly more "widgets", a metric whose name does not tell a direction. The
    parameter `best` of an A/B test says whether the highest or the lowest is best.
    """
    assert ab_test_of_column("widgets", gate="better", best=best).gate.passed is passed


def test_best_and_lower_is_better_are_not_given_together():
    with pytest.raises(ParameterError, match="best and lower_is_better: give one"):
        ab_test_of_column("widgets", best="low", lower_is_better="widgets")


def test_a_rule_on_a_value_needs_no_direction():
    """The name "widgets" does not tell a direction, but the rule is a bound of the lower limit,
    which needs none.
    """
    assert study_of_values("widgets", gate="widgets.low >= 1").gate.passed


@pytest.mark.parametrize("make_study", [study_of_values, ab_test_of_column])
def test_a_page_says_higher_and_not_better(make_study):
    """System new, or arm B, has clearly more "widgets", a metric whose name does not tell a
    direction.
    """
    study = make_study("widgets")
    text = str(study)
    assert "has higher widgets than" in text
    assert not re.search(r"\b(better|worse) than\b", text)


@pytest.fixture
def reports_of_widgets(tmp_path):
    """A folder with an old and a new report of the systems new and base, by the metric "widgets",
    whose name does not say whether more is better. In both reports the system `new` has more. The
    systems stand in another order in the new report.
    """
    save_report(study_of_values("widgets"), tmp_path / "old", "significance")
    save_report(study_of_values("widgets", systems="new,base"), tmp_path / "new", "significance")
    return tmp_path


def test_the_json_of_a_metric_without_a_direction_says_higher(reports_of_widgets):
    """The report compares the systems new and base by the metric "widgets", whose name does not say
    whether more is better; new has more. Its JSON must not call new better, but higher, and the
    direction unknown. A study that reads the JSON must not know a direction either.
    """
    path = reports_of_widgets / "old" / "significance.json"
    results = json.loads(path.read_text())
    assert results["headline"][0]["verdict"] == "higher"
    assert results["metrics"][0]["best"] == "unknown"
    study = ek.significance(str(path))
    assert study.primary_metric.metric.best == "unknown"


def test_a_diff_by_a_metric_without_a_direction_is_decided_only_if_it_is_given(reports_of_widgets):
    """Two reports, old and new, have the same values of the metric "widgets", whose name does not
    say whether more is better. The rule "not worse" is undecided, until `lower_is_better` gives the
    direction; then it passes, as nothing has changed.
    """
    without_direction = diff_of_reports(reports_of_widgets, gate="not worse")
    assert without_direction.gate.undecided_reasons
    with_direction = diff_of_reports(
        reports_of_widgets, gate="not worse", lower_is_better="widgets"
    )
    assert with_direction.gate.passed


def test_a_direction_by_definition_is_not_turned():
    with pytest.raises(ParameterError, match="roc_auc has its direction by definition, high"):
        ek.classification(metrics="roc_auc", lower_is_better="roc_auc")


LESS = """refunds unsubscribes complaints chargebacks churned downtime tickets returns cancellations
errors bounce_rate latency_ms churn crashes cost opt_outs timeouts incidents failures no_shows
uninstalls disputes defects delay wait_time escalations outages rage_clicks page_load_time"""
MORE = "orders revenue conversion clicks retention nps signups uptime ticket_sales watch_time"
NEITHER = "value minutes sessions amount alerts steps tokens tickets_resolved returning_users"


@pytest.mark.parametrize(
    ("name", "best"),
    [
        *((name, "low") for name in LESS.split()),
        *((name, "high") for name in MORE.split()),
        *((name, None) for name in NEITHER.split()),
    ],
)
def test_usual_names_tell_their_direction(name, best):
    """The name of a metric tells that the lowest value is best ("low"), that the highest is
    ("high"), or nothing (None).
    """
    assert lookup.direction(name) == best


# An assignment that is broken ---------------------------------------------------------------------


def ab_test_with_users_in_arms(first, second, **parameters):
    """The A/B test of a treatment that is far better, with so many users in each arm."""
    rng = np.random.default_rng(4)
    arm = np.array(["control"] * first + ["treatment"] * second)
    orders = rng.poisson(3 + 3 * (arm == "treatment"))
    table = pd.DataFrame({"user": range(len(arm)), "arm": arm, "orders": orders})
    return ek.interleaving(users=table, metrics="orders", world="none", **parameters)


def finding_on_numbers_of_users(study):
    return study.findings.set_index("code").loc["EK711"]


VERDICT_OF_BROKEN_ASSIGNMENT = (
    "No verdict: the assignment is broken: control 300 and treatment 100 do not fit equal arms"
)


def test_a_broken_assignment_has_no_verdict():
    """No plan is stated, so that equal arms are expected; 300 and 100 users cannot be chance. The
    treatment is far better, but the page must not say so.
    """
    study = ab_test_with_users_in_arms(300, 100)
    assert VERDICT_OF_BROKEN_ASSIGNMENT in str(study)
    assert {*study.comparisons["verdict"]} == {"cannot tell"}
    assert not re.search(r"is (better|worse) than|of this pair alone", str(study))


def test_a_broken_assignment_is_severe_and_names_the_parameter():
    """300 and 100 users do not fit equal arms, the default plan. The finding says how to state
    another plan.
    """
    finding = finding_on_numbers_of_users(ab_test_with_users_in_arms(300, 100))
    assert finding["severity"] == "severe"
    assert "state the planned share of each by shares" in finding["message"]


def test_the_observed_shares_are_not_suggested_as_the_plan():
    """300 and 100 users do not fit equal arms, the default plan. Suggesting the observed 75 % and
    25 % as the plan would make any mismatch disappear.
    """
    message = finding_on_numbers_of_users(ab_test_with_users_in_arms(300, 100))["message"]
    assert "against equal arms, as shares states no plan" in message
    assert "75" not in message


def test_the_planned_shares_are_named_as_they_were_stated():
    """An A/B test has 240 users in the arm control and 160 in treatment, which do not fit the
    planned shares, 2 to 2. The user has stated these as "control=2,treatment=2". The finding on the
    numbers of users and the reason why there is no verdict repeat the plan in these words.
    """
    study = ab_test_with_users_in_arms(240, 160, shares="control=2,treatment=2")
    message = finding_on_numbers_of_users(study)["message"]
    assert "against the planned shares control=2,treatment=2: p" in message
    assert "do not fit the planned shares control=2,treatment=2" in study.users.broken_design


def test_a_smaller_mismatch_without_a_plan_is_a_warning_beside_a_verdict():
    """240 and 160 users are unlikely with equal arms, but no plan is stated, and other shares may
    have been planned: a warning.
    """
    study = ab_test_with_users_in_arms(240, 160)
    finding = finding_on_numbers_of_users(study)
    assert finding["severity"] == "warning"
    assert "broken" not in finding["message"]
    assert study.users.headline["verdict"].tolist() == ["better"]


def test_the_same_mismatch_with_a_plan_is_severe():
    """240 and 160 users do not fit the stated plan of equal arms: the gate is not decided."""
    study = ab_test_with_users_in_arms(240, 160, shares="control=50,treatment=50", gate="better")
    assert finding_on_numbers_of_users(study)["severity"] == "severe"
    assert study.gate.undecided_reasons


def test_shares_that_were_planned_are_no_mismatch():
    study = ab_test_with_users_in_arms(300, 100, shares="control=75,treatment=25", gate="better")
    assert finding_on_numbers_of_users(study)["severity"] == "note"
    assert study.gate.passed


@pytest.mark.parametrize(
    "rule", ["better", "not worse", "orders.low >= 0", "none of code EK3*", "orders.value >= 0"]
)
def test_every_gate_waits_for_the_assignment(rule):
    """300 and 100 users do not fit equal arms, the default plan. No rule is decided, whatever it is
    about.
    """
    gate = ab_test_with_users_in_arms(300, 100, gate=rule).gate
    assert gate.message.startswith("gate not decided")
    assert "the assignment is broken" in gate.message


def test_a_severe_finding_fails_the_gate_on_findings():
    """300 and 100 users do not fit equal arms, which is a severe finding. The rule that forbids
    such findings is the exception: it is not undecided, but fails.
    """
    assert ab_test_with_users_in_arms(
        300, 100, gate="none of severity severe"
    ).gate.message.startswith("gate failed")


def test_check_does_not_decide_a_gate_if_the_assignment_is_broken(tmp_path, capsys):
    """The arms have 300 and 100 users, where equal arms are expected. 3 is the exit code of a gate
    that is not passed.
    """
    file = save_report(ab_test_with_users_in_arms(300, 100), tmp_path, "interleaving")
    assert command.main(["check", str(file), "not worse"]) == 3
    assert "the assignment is broken" in capsys.readouterr().err


def test_a_diff_does_not_decide_a_gate_if_the_assignment_is_broken(tmp_path):
    """In both reports the arms have 300 and 100 users, where equal arms are expected."""
    for report_folder in ("old", "new"):
        save_report(ab_test_with_users_in_arms(300, 100), tmp_path / report_folder, "interleaving")
    diff = diff_of_reports(tmp_path, gate="not worse")
    assert "the assignment is broken" in diff.gate.message


# A covariate that differs between the arms --------------------------------------------------------


def ab_test_with_covariate(shift, before="past", **parameters):
    """The A/B test of a treatment that lowers orders a little, adjusted by a column that is higher
    by `shift` in its arm, as orders are.
    """
    rng = np.random.default_rng(5)
    arm = np.array(["control", "treatment"] * 400)
    past = rng.normal(10, 2, 800) + shift * (arm == "treatment")
    orders = past + rng.normal(0, 1, 800) - 0.3 * (arm == "treatment")
    table = pd.DataFrame({"user": range(800), "arm": arm, "past": past, "orders": orders})
    return ek.interleaving(users=table, metrics="orders", before=before, world="none", **parameters)


def finding_on_covariate(study):
    return study.findings.set_index("code").loc["EK717"]


@pytest.mark.parametrize(("shift", "severity"), [(0, "note"), (0.5, "warning"), (1.5, "severe")])
def test_a_covariate_that_differs_is_a_finding(shift, severity):
    """Orders are adjusted by the column `past`, whose mean is higher by `shift` in the treatment
    arm of 400 users, at a standard deviation of 2. The larger the shift, the more severe the
    finding.
    """
    assert finding_on_covariate(ab_test_with_covariate(shift))["severity"] == severity


def test_the_finding_of_a_covariate_names_both_means_p_and_what_to_do():
    message = finding_on_covariate(ab_test_with_covariate(0.5))["message"]
    assert "its mean is 10.009 in control and 10.451 in treatment; p 0.0016" in message
    assert "name an earlier column, or leave before out" in message


def test_a_covariate_that_clearly_differs_has_no_verdict():
    """Orders are adjusted by the column `past`, which must be measured before the test. Its mean is
    1.5 higher in the treatment, so that it was not.
    """
    study = ab_test_with_covariate(1.5)
    assert study.users.comparisons["verdict"].tolist() == ["cannot tell"]
    assert "No verdict: the arms differ in past, named by before" in str(study)


@pytest.mark.parametrize("rule", ["better", "not worse", "orders.value >= 0"])
def test_every_gate_waits_for_the_covariate(rule):
    """Orders are adjusted by the column `past`, which must be measured before the test. Its mean is
    1.5 higher in the treatment, so that it was not. No rule is decided, whatever it is about.
    """
    gate = ab_test_with_covariate(1.5, gate=rule).gate
    assert gate.message.startswith("gate not decided")
    assert "past was measured after the start" in gate.message


def test_without_the_covariate_the_raw_values_decide():
    """The column `past` differs between the arms, but `before=None` does not adjust by it."""
    assert ab_test_with_covariate(1.5, before=None).users.headline["verdict"].tolist() == ["better"]


def test_check_does_not_decide_a_gate_if_the_covariate_differs(tmp_path, capsys):
    """Orders are adjusted by the column `past`, which must be measured before the test. Its mean is
    1.5 higher in the treatment, so that it was not. 3 is the exit code if a gate is not passed.
    """
    file = save_report(ab_test_with_covariate(shift=1.5), tmp_path, "interleaving")
    assert command.main(["check", str(file), "orders.value >= 0"]) == 3
    assert "past was measured after the start" in capsys.readouterr().err


def test_a_diff_does_not_decide_a_gate_if_the_covariate_differs(tmp_path):
    """In both reports the covariate `past` has a mean that is 1.5 higher in the treatment."""
    for report_folder in ("old", "new"):
        save_report(ab_test_with_covariate(shift=1.5), tmp_path / report_folder, "interleaving")
    diff = diff_of_reports(tmp_path, gate="not worse")
    assert "past was measured after the start" in diff.gate.message


def test_the_p_of_a_covariate_is_that_of_an_analysis_of_variance():
    """The values of a covariate in three arms have log-normal distributions, with 30, 50 and 20
    users. The p of their balance is that of scipy's one-way analysis of variance.
    """
    rng = np.random.default_rng(6)
    values = {arm: rng.lognormal(size=size) for arm, size in (("a", 30), ("b", 50), ("c", 20))}
    assert randomisation.balance("past", values).p == pytest.approx(
        f_oneway(*values.values()).pvalue
    )


@pytest.mark.parametrize(("values", "p"), [([1.0, 1, 2, 2], 0.0), ([3.0, 3, 3, 3], np.nan)])
def test_the_p_of_a_covariate_without_spread_in_the_arms(values, p):
    """Two arms have two users each, with equal values of the covariate. If the arms differ (1 and
    2), p is 0, an obstacle to any verdict; if they do not (all 3), p is undefined.
    """
    found = randomisation.balance("past", {"a": np.array(values[:2]), "b": np.array(values[2:])})
    assert found.p == pytest.approx(p, nan_ok=True)
    assert bool(found.obstacle) is (p == 0)


# The control of an A/B test -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "arms, control",
    [
        (("B", "A"), "A"),
        (("new", "holdout"), "holdout"),
        (("on", "off"), "off"),
        (("drug", "placebo"), "placebo"),
        (("new", "old"), "old"),
        (("1", "0"), "0"),
        (("Variant", "Control Group"), "Control Group"),
        (("a", "control"), "control"),
    ],
)
def test_the_usual_name_of_a_control_is_the_baseline(arms, control):
    """An A/B test of eight users in two arms, by turns. No baseline is named; the arm whose name is
    usual for a control is taken, and the page says so.
    """
    orders = [1, 9, 0, 9, 1, 8, 2, 9]  # any
    table = pd.DataFrame({"user": range(8), "arm": [*arms] * 4, "orders": orders})
    study = ek.interleaving(users=table, metrics="orders", world="none").users
    assert study.settings.baseline == control
    messages = [finding.message for finding in experiment_page.findings_of_users(study)]
    assert f" Its name makes {control} the baseline" in " ".join(messages)


def test_arms_without_such_a_name_have_no_baseline():
    """Neither "free" nor "paid" is a usual name of a control."""
    table = pd.DataFrame({"user": range(4), "arm": ["free", "paid"] * 2, "orders": [1, 2, 3, 5]})
    assert (
        ek.interleaving(users=table, metrics="orders", world="none").users.settings.baseline is None
    )


def test_a_check_finds_the_same_control(tmp_path, capsys):
    """The arms are control and treatment, which is far better; no baseline is stated. The command
    `check` must take control for the baseline as well, so that "better" is kept: exit code 0.
    """
    file = save_report(ab_test_with_users_in_arms(200, 200), tmp_path, "interleaving")
    assert command.main(["check", str(file), "better"]) == 0


# Each state, by Python and by `evalkit check` -----------------------------------------------------


def not_compared(folder, gate):
    for day, name in (("old", "m-0806"), ("new", "m-1120")):
        save_report(ek.rating(forecasts(name, "base"), metrics="mae"), folder / day, "rating")
    return diff_of_reports(folder, gate=gate)


def beside_the_baseline(folder, gate):
    """A report that compares `a` and `b` with `base` alone."""
    table = forecasts("base", "a", "b")
    return ek.rating(table, metrics="mae,rmse", baseline="base", gate=gate)


class State(NamedTuple):
    """A rule, and how it ends in a study."""

    make_study: Callable  # (folder, gate) -> the study, with the rule as its gate
    rule: str
    failure: str  # the beginning of the gate's message, empty if it passes


def ab_test(metric):
    """A function that makes the A/B test of a metric, of which the treatment has more."""
    return lambda folder, gate: ab_test_of_column(metric, gate=gate)


def uneven_arms(folder, gate):
    return ab_test_with_users_in_arms(300, 100, gate=gate)


STATES = {
    "kept": State(ab_test("orders"), "better", failure=""),
    "failed": State(ab_test("refunds"), "not worse", failure="gate failed"),
    "cannot tell": State(ab_test("orders"), "orders.low >= 10", failure="gate failed"),
    "not compared": State(not_compared, "not worse", failure="gate not decided"),
    "not asked": State(
        beside_the_baseline, "mae not worse than b within 9 of a", failure="gate not decided"
    ),
    "not asked of any": State(
        beside_the_baseline, "rmse not worse than b", failure="gate not decided"
    ),
    "asked": State(beside_the_baseline, "rmse not worse than base within 9 of a", failure=""),
    "direction": State(ab_test("widgets"), "better", failure="gate not decided"),
    "assignment": State(uneven_arms, "better", failure="gate not decided"),
}


@pytest.mark.parametrize("as_policy", [False, True], ids=["rule", "file with the rule"])
@pytest.mark.parametrize("state", STATES)
def test_a_gate_and_a_check_end_alike_in_each_state(tmp_path, capsys, state, as_policy):
    """STATES has, by name, a study, a rule, and how the gate's message begins if the rule is failed
    or not decided. The rule is applied twice: as the gate of a study (as text, or in a file if
    `as_policy`), and by the command `check` to the study's report. If it is kept, the gate passes
    and the command ends with 0. Otherwise the command says the same as the gate's message and ends
    with 3.
    """
    make_study, rule, beginning_of_failure = STATES[state]
    if as_policy:
        path = tmp_path / "policy.toml"
        path.write_text(f'[[rule]]\nthat = "{rule}"\n', encoding="utf-8")
        rule = str(path)
    study = make_study(tmp_path, rule)
    file = save_report(study, tmp_path, study.report)
    exit_code = command.main(["check", str(file), rule])
    printed = capsys.readouterr().err
    if beginning_of_failure:
        assert not study.gate.passed
        assert study.gate.message.startswith(beginning_of_failure)
        assert beginning_of_failure in printed
        assert exit_code == 3
    else:
        assert study.gate.passed
        assert exit_code == 0


@pytest.mark.parametrize(
    "rule",
    [
        "mae not worse than c",
        "mae not worse of c",
        "mae.high <= 9 of c",
        "map.low >= 0",
        "mae not worse in every region",
    ],
)
def test_a_rule_on_what_a_report_does_not_have_is_refused_at_each_door(tmp_path, capsys, rule):
    """The report compares the systems a and b with base alone, by MAE and RMSE; it has no system c,
    no metric map and no regions. A rule on these is an error in Python, and the command `check`
    ends with 2.
    """
    with pytest.raises(ParameterError):
        beside_the_baseline(tmp_path, rule)
    file = save_report(beside_the_baseline(tmp_path, None), tmp_path, "rating")
    assert command.main(["check", str(file), rule]) == 2
    assert "evalkit: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "claim", ["not worse than b", "better than b", "better or equivalent than b within 9"]
)
def test_a_pair_beside_the_baseline_is_not_compared(tmp_path, claim):
    """The report compares the systems a and b with base alone, so that a rule on a and b is
    undecided.
    """
    gate = beside_the_baseline(tmp_path, f"mae {claim} of a").gate
    assert gate.undecided_reasons == ["the report does not compare a with b on mae"]


# papermill ----------------------------------------------------------------------------------------


def gated_notebook(path, rule):
    """A notebook that reads a study with a gate, publishes it and checks the gate."""
    forecasts("a", "b").to_csv(path.with_name("rows.csv"), index=False)
    read = f"study = ek.rating({str(path.with_name('rows.csv'))!r}, metrics='mae', gate={rule!r})"
    sources = [
        f"import evalkit as ek\nfrom evalkit.pages import rating_page\n{read}",
        "rating_page.title(study)",
        "rating_page.results(study)",
        "study.check_gate()",
    ]
    cells = [new_code_cell(source, id=f"code-{i}") for i, source in enumerate(sources)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    return path


@pytest.mark.parametrize("name", PARAMETERS_BY_NOTEBOOK)
def test_each_bundled_notebook_checks_its_gate_last(name):
    """The results are published before, since a gate that fails ends the notebook with an error."""
    notebook = report.read(bundled_notebooks() / f"{name}.ipynb")
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    *_, last_but_one, last = code
    assert last_but_one == f"{name}_page.results(study)"
    assert last == "study.check_gate()"


def executed_with_failing_gate(folder, engine):
    """The path of an executed notebook: it reads forecasts whose mean absolute error is far above
    0.1, publishes its results and checks the gate "mae.high <= 0.1". papermill runs it, with its
    own engine (None) or evalkit's, and must end with the error of the gate.
    """
    path = gated_notebook(folder / "mine.ipynb", rule="mae.high <= 0.1")
    out = folder / "out.ipynb"
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        with pytest.raises(PapermillExecutionError, match=r"GateFailed: gate failed: mae\.high"):
            papermill.execute_notebook(path, out, engine_name=engine, progress_bar=False)
    return out


@pytest.fixture(scope="module")
def executed_by_evalkits_engine(tmp_path_factory):
    return executed_with_failing_gate(tmp_path_factory.mktemp("gate"), "evalkit")


def test_papermills_engine_keeps_the_results_where_the_gate_fails(tmp_path):
    """papermill ends with the error of the gate; the results are in the notebook nevertheless."""
    executed = executed_with_failing_gate(tmp_path, engine=None)
    assert report.published(report.read(executed))["gate"]["passed"] is False


def test_evalkits_engine_keeps_the_results_where_the_gate_fails(executed_by_evalkits_engine):
    """papermill ends with the error of the gate; the results are in the notebook nevertheless."""
    results = report.published(report.read(executed_by_evalkits_engine))
    assert results["gate"]["passed"] is False


def test_the_page_of_the_engine_evalkit_does_not_show_the_error(executed_by_evalkits_engine):
    """evalkit's engine also writes a page, where the gate fails too: the report, without the
    traceback of the last cell.
    """
    page_of_report = executed_by_evalkits_engine.with_suffix(".html").read_text(encoding="utf-8")
    assert "Rating" in page_of_report
    assert "GateFailed" not in page_of_report


@pytest.mark.usefixtures("undrawn")
def test_the_command_writes_the_report_of_a_failed_gate(tmp_path):
    """The mean absolute error of the forecasts is far above 0.1, so that the gate fails: exit code
    3. The page is written all the same, without an error.
    """
    forecasts("a", "b").to_csv(tmp_path / "rows.csv", index=False)
    given = ["-p", "preds", str(tmp_path / "rows.csv"), "-p", "gate", "mae.high <= 0.1"]
    assert command.main(["report", "rating", *given, "-o", str(tmp_path / "out")]) == 3
    assert "GateFailed" not in (tmp_path / "out" / "rating.html").read_text(encoding="utf-8")
    assert not (tmp_path / "out" / "rating.failed.html").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_study_whose_gate_fails_is_saved(tmp_path):
    """The mean absolute error of the forecasts is far above 0.1, so that the gate fails. Only
    `check_gate` raises an error; the study is saved, with its gate.
    """
    study = ek.rating(forecasts("a", "b"), metrics="mae", gate="mae.high <= 0.1")
    study.save(tmp_path / "rating.json")
    assert json.loads((tmp_path / "rating.json").read_text())["gate"]["passed"] is False
    with pytest.raises(report.GateFailed, match="not met by"):
        study.check_gate()
