"""What rules catch: the smallest regression, how often an unchanged model fails, units needed."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multinomial, norm

import evalkit as ek
from evalkit import __main__ as command
from evalkit.arrays import ParameterError
from evalkit.parameters import policy
from evalkit.statistics import intervals, power, sensitivity
from evalkit.studies.planned_rules import planned

PASS_IF_IT_CANNOT_TELL = 'on_cannot_tell = "pass"\n'
HIGHER_IS_BETTER = {"lower_is_better": "none"}


def policy_file(folder, *rules, head="", catch=None):
    """The path of a policy, a TOML file with a table [[rule]] for each rule, below the text `head`.
    catch: the regression that each rule is to catch.
    """
    path = folder / "policy.toml"
    stated = "" if catch is None else f"catch = {catch}\n"
    text = "".join(f"[[rule]]\nthat = {json.dumps(rule)}\n{stated}" for rule in rules)
    path.write_text(head + text, encoding="utf-8")
    return str(path)


def values_of_two_systems(n=200, seed=1):
    """Values of a and b per unit, both around 5, with a correlation of 0.8."""
    rng = np.random.default_rng(seed)
    level = rng.normal(5, 1, n)
    units = [f"u{i}" for i in range(n)]
    columns = {"a": level + rng.normal(0, 0.5, n), "b": level + rng.normal(0, 0.5, n)}
    return pd.DataFrame({"unit": units} | columns)


def first_statement(gate, preds=None):
    """The first statement of a gate."""
    study = ek.significance(
        values_of_two_systems() if preds is None else preds, gate=gate, **HIGHER_IS_BETTER
    )
    return study.gate.statements.iloc[0]


def test_not_worse_catches_what_the_page_says_is_detectable(tmp_path):
    """The smallest regression that a rule "not worse" fails with 80% probability is the smallest
    difference that the page states as detectable.
    """
    path = policy_file(tmp_path, "value not worse than b", head=PASS_IF_IT_CANNOT_TELL)
    study = ek.significance(values_of_two_systems(), gate=path, **HIGHER_IS_BETTER)
    caught = study.gate.statements["catches"].iloc[0]
    assert caught == pytest.approx(study.comparisons["detectable"].iloc[0], rel=1e-5)


def test_an_unchanged_model_fails_not_worse_in_half_of_alpha(tmp_path):
    """An unchanged model fails the rule only if the two-sided test at 5% finds it worse, which has
    a probability of 2.5%.
    """
    path = policy_file(tmp_path, "value not worse than b", head=PASS_IF_IT_CANNOT_TELL)
    assert first_statement(path)["unchanged_fails"] == pytest.approx(0.025)


def test_rules_share_the_level_with_which_an_unchanged_model_fails_them(tmp_path):
    """Five rules share the level of 5%, so that an unchanged model fails each with 0.05 / 5 / 2 =
    0.5% probability.
    """
    path = policy_file(tmp_path, *["value not worse than b"] * 5, head=PASS_IF_IT_CANNOT_TELL)
    assert first_statement(path)["unchanged_fails"] == pytest.approx(0.005)


def test_a_margin_that_must_be_shown_fails_an_unchanged_model_of_few_units(tmp_path):
    """The rule fails unless the lower limit of the difference is above −0.1. The difference of an
    unchanged model is 0 with a normal error, so that it fails with the probability of being more
    than 0.1 less 1.96 errors below 0. The study uses t, hence the tolerance.
    """
    path = policy_file(tmp_path, "value not worse than b within 0.1")
    row = first_statement(path)
    error = (row["rule_high"] - row["rule_low"]) / 2 / norm.ppf(0.975)  # of the difference
    expected = norm.cdf(norm.ppf(0.975) - 0.1 / error)
    assert row["unchanged_fails"] == pytest.approx(expected, rel=0.1)


def test_the_units_needed_are_those_of_the_power_of_a_test(tmp_path):
    """The rule is to catch a regression of 0.05 with 80% probability. It needs as many units as a
    paired test with the standard deviation of these differences.
    """
    path = policy_file(tmp_path, "value not worse than b", head=PASS_IF_IT_CANNOT_TELL, catch=0.05)
    table = values_of_two_systems()
    needed = power.required_n(0.05, float((table["a"] - table["b"]).std()))
    assert first_statement(path, table)["units_needed"] == pytest.approx(needed, rel=0.02)


def test_no_number_of_units_makes_better_pass_an_unchanged_model(tmp_path):
    """An unchanged model is not better, however many units there are, so that the number needed is
    undefined.
    """
    assert np.isnan(
        first_statement(policy_file(tmp_path, "value better than b", catch=0.1))["units_needed"]
    )


def test_the_margin_of_a_bound_is_the_distance_from_it(tmp_path):
    """The rule bounds the lower limit of a by 4.5. Its margin is the distance of the value of a
    from the bound.
    """
    row = first_statement(policy_file(tmp_path, "value.low >= 4.5 of a"))
    assert row["margin"] == pytest.approx(row["value"] - 4.5)


def test_the_estimate_alone_fails_at_its_bound_half_of_the_time(tmp_path):
    """The rule bounds the estimate, not its interval. A model whose true value lies on the bound
    has an estimate below it half of the time.
    """
    assert first_statement(policy_file(tmp_path, "value.value >= 4.5 of a"))[
        "power"
    ] == pytest.approx(0.5)


def test_a_regression_that_fails_an_unchanged_model_too_is_0(tmp_path):
    """The values are around 5, so that the rule of 6 fails the model as it is, without any
    regression.
    """
    assert first_statement(policy_file(tmp_path, "value.low >= 6 of a"))["catches"] == 0


def test_a_share_cannot_fall_by_more_than_it_is(tmp_path):
    """All 20 predictions are wrong. An accuracy of 0 cannot fall, so that there is no regression
    that the rule catches.
    """
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 20)
    path = policy_file(tmp_path, "accuracy.high >= 0.01", head=PASS_IF_IT_CANNOT_TELL)
    study = ek.classification(y_true=label, y_pred=1 - label, metrics="accuracy", gate=path)
    assert np.isnan(study.gate.statements["catches"].iloc[0])


def gate_of_accuracy(folder, rule, rows, *, wrong, wrong_of_b=0, catch=None):
    """The gate of two systems, each of which is wrong on its first rows."""
    label = np.arange(rows) % 2
    number = np.arange(rows)
    predicted = {
        "a": np.where(number < wrong, 1 - label, label),
        "b": np.where(number < wrong_of_b, 1 - label, label),
    }
    path = policy_file(folder, rule, head=PASS_IF_IT_CANNOT_TELL, catch=catch)
    return ek.classification(y_true=label, y_pred=predicted, metrics="accuracy", gate=path).gate


def test_a_share_cannot_fall_by_more_than_that_of_the_second_system(tmp_path):
    """Of 20 rows a is wrong on 17 and b on 18. A model that is worse than b is so by at most b's
    accuracy of 2 / 20, which 20 rows cannot show.
    """
    judged = gate_of_accuracy(tmp_path, "accuracy not worse than b", 20, wrong=17, wrong_of_b=18)
    assert np.isnan(judged.statements["catches"].iloc[0])


def test_a_regression_that_the_metric_does_not_allow_has_no_power(tmp_path):
    """a is wrong on 10 of 20 rows. The rule is to catch a regression of 0.6, but an accuracy of 0.5
    cannot fall by so much.
    """
    judged = gate_of_accuracy(tmp_path, "accuracy.low >= 0.1 of a", 20, wrong=10, catch=0.6)
    assert np.isnan(judged.statements["power"].iloc[0])


def test_a_slice_without_a_value_says_nothing_about_what_is_caught(tmp_path):
    """A rule demands an nDCG of at least 0.4 in every country. The 20 of 40 queries of the country
    "without" have no relevant document, so that nDCG is undefined there. The rule cannot tell, and
    `catches`, the smallest fall of nDCG that it would fail, is undefined (NaN).
    """
    query = np.repeat(np.arange(40), 5)
    document = np.tile(np.arange(5), 40)
    has_relevant = query < 20
    is_relevant = has_relevant & (document == query % 4)  # one of the five documents of a query
    grade = np.where(is_relevant, 1, 0)
    country = np.where(has_relevant, "with", "without")
    score = np.random.default_rng(1).random(200)
    table = pd.DataFrame(
        {"query": query, "doc": document, "grade": grade, "a": score, "country": country}
    )
    path = policy_file(tmp_path, "ndcg@10.low >= 0.4 in every country")
    statements = ek.ranking(table, segments="country", gate=path).gate.statements
    row = statements.set_index("slice").loc["without"]
    assert row["result"] == "cannot tell"
    assert np.isnan(row["catches"])


def test_systems_that_are_a_constant_apart_catch_the_margin(tmp_path):
    """Values of a are those of b plus 1, so that differences have no spread, and any regression
    beyond the margin of 0.1 fails the rule.
    """
    table = values_of_two_systems()
    table["a"] = table["b"] + 1  # but for rounding errors
    row = first_statement(policy_file(tmp_path, "value not worse than b within 0.1"), table)
    assert row["catches"] == pytest.approx(0.1)


def test_an_interval_without_limits_says_nothing_about_what_is_caught(tmp_path):
    """With four rows, the smallest p under sign flips is 2 / 16, so that the interval at 95% has no
    finite limits. What the rule catches is undefined.
    """
    path = policy_file(tmp_path, "mae not worse than b within 0.1")
    predicted = {"a": [1, 2, 3, 4], "b": [1, 2, 3, 5]}
    judged = ek.rating(y_true=[1, 2, 3, 4], y_pred=predicted, metrics="mae", gate=path).gate
    assert np.isnan(judged.statements["catches"].iloc[0])


def test_the_power_with_few_units_is_that_of_a_t_test(tmp_path):
    """The policy passes what it cannot tell, so that only a significant regression fails the rule.
    With six units, its power against a regression of 0.1 is that of a paired t test, which the
    study computes by an approximation.
    """
    table = values_of_two_systems(6)
    path = policy_file(tmp_path, "value not worse than b", head=PASS_IF_IT_CANNOT_TELL, catch=0.1)
    row = first_statement(path, table)
    sd = float((table["a"] - table["b"]).std())
    assert row["power"] == pytest.approx(power.paired_power(0.1, sd, 6), abs=0.02)


def test_an_unchanged_model_fails_a_rule_on_systems_that_hardly_differ(tmp_path):
    """a is wrong on 1 of 20 rows and b on none. An unchanged model fails the rule with 2.5%
    probability, as with any other data.
    """
    judged = gate_of_accuracy(tmp_path, "accuracy not worse than b", 20, wrong=1)
    assert judged.statements["unchanged_fails"].iloc[0] == pytest.approx(0.025)


def test_a_single_row_that_differs_is_no_difference_of_the_systems(tmp_path):
    """With 1 of 20 rows differing, s² = 0.05 without a true difference."""
    judged = gate_of_accuracy(tmp_path, "accuracy not worse than b", 20, wrong=1)
    detectable = power.minimum_detectable(0.05**0.5, 20, grows=0.95)
    assert judged.statements["catches"].iloc[0] == pytest.approx(detectable, rel=1e-5)


def error_of_decisions(first_only, second_only, rows=200):
    """The standard error by the true difference, of systems right alone on so many rows."""
    label = np.arange(rows) % 2
    number = np.arange(rows)
    wrong = {"b": number < first_only, "a": number >= rows - second_only}
    predicted = {name: np.where(wrong[name], 1 - label, label) for name in "ab"}
    study = ek.classification(y_true=label, y_pred=predicted, metrics="accuracy")
    comparison = study.compare(study.primary_metric, ("a", "b"))
    compared = study.compared(study.primary_metric, ("a", "b"))
    return sensitivity.error_of_decisions(*compared, comparison, 0.95)


def test_a_difference_that_is_not_shown_leaves_the_error_of_an_unchanged_model():
    """Of 200 rows only a is right on 13 and only b on 7, or each on 10. The difference of 13 and 7
    is not significant, so that the standard error without a true difference is the same: 20 rows
    differ.
    """
    assert error_of_decisions(13, 7)(0.0) == pytest.approx(error_of_decisions(10, 10)(0.0))


def test_rows_that_differ_by_a_shown_difference_leave_the_error_of_an_unchanged_model():
    """Of 30 rows 28 − 2 show a difference of 0.13: s² = 0.15 − 0.85 · 0.13 without one."""
    by_t = power.minimum_detectable(200**0.5, 200) / sensitivity.detectable_by_normal(0.95)
    expected = by_t * ((0.15 - 0.85 * 0.13) / 200) ** 0.5
    assert error_of_decisions(28, 2)(0.0) == pytest.approx(expected)


def test_an_unchanged_model_fails_a_margin_as_often_as_samples_of_its_rows(tmp_path):
    """Two systems have equal accuracy: on 9 of 150 rows only a is right, on 9 only b. The rule
    demands that a is at most 0.05 worse than b; the study states how often an unchanged model would
    fail it. Expected is the probability, over multinomial samples of 150 such rows, that the lower
    limit of Tango's interval of the difference is at most −0.05.
    """
    row = np.arange(150)
    label = row % 2
    a = np.where(row < 9, 1 - label, label)  # wrong on the first 9
    b = np.where(row >= 141, 1 - label, label)  # wrong on the last 9
    path = policy_file(tmp_path, "accuracy not worse than b within 0.05 of a")
    predicted = {"a": a, "b": b}
    study = ek.classification(y_true=label, y_pred=predicted, metrics="accuracy", gate=path)
    stated = study.gate.statements["unchanged_fails"].iloc[0]

    sample = multinomial(150, [9 / 150, 9 / 150, 132 / 150])
    expected = 0.0
    for only_a in range(31):  # more than 30, with a mean of 9, hardly ever occur
        for only_b in range(31):
            if intervals.tango(only_a, only_b, 150).low <= -0.05:
                expected += sample.pmf([only_a, only_b, 150 - only_a - only_b])
    assert stated == pytest.approx(expected, abs=0.02)  # the study uses an approximation


def near_the_top(queries=60):
    """The study of two rankings whose nDCG is near 1."""
    rng = np.random.default_rng(1)
    query = np.repeat(np.arange(queries), 6)
    grade = np.tile([1, 0, 0, 0, 0, 0], queries)
    scores = {name: 2.5 * grade + rng.normal(0, 1, len(query)) for name in "ab"}
    table = pd.DataFrame({"query": query, "item": np.tile(range(6), queries), "grade": grade})
    return ek.ranking(table.assign(**scores), metrics="ndcg@10")


def error_of_pairs(study, pair):
    comparison = study.compare(study.primary_metric, pair)
    compared = study.compared(study.primary_metric, pair)
    return sensitivity.error_of_pairs(*compared, comparison, 0.95)


def test_a_regression_from_near_the_best_value_varies_more_than_an_improvement():
    """The nDCG of most queries is near 1. If a is worse than b, some queries must be far below 1,
    and differences vary more than if a is better. The standard error is a function of the true
    difference.
    """
    error = error_of_pairs(near_the_top(), ("a", "b"))
    assert error(-0.05) > error(0.0) > error(0.05)


def test_the_error_of_an_unchanged_model_is_that_of_the_units():
    """Without a true difference, the standard error is that of the mean difference of 60 queries,
    times a factor (`by_t`): by how much less a t test of 60 units detects than a normal one.
    """
    study = near_the_top()
    first, second = (study.measure(study.primary_metric, name).sums.numerator for name in "ab")
    by_t = power.minimum_detectable(60**0.5, 60) / sensitivity.detectable_by_normal(0.95)
    expected = by_t * (first - second).std(ddof=1) / 60**0.5
    assert error_of_pairs(study, ("a", "b"))(0.0) == pytest.approx(expected)


def test_a_rule_on_systems_that_hardly_differ_can_hardly_fail(tmp_path):
    """a is wrong on 1 of 8 rows and b on none. With so few rows, no regression of an accuracy fails
    the rule with 80% probability.
    """
    judged = gate_of_accuracy(tmp_path, "accuracy not worse than b", 8, wrong=1, catch=0.1)
    (warning,) = judged.warnings
    assert warning.endswith("; no regression fails it with 80% probability")


def test_a_warning_says_which_regression_fails_the_rule(tmp_path):
    """The rule is to catch a regression of 0.01, less than 200 units can show. As the policy passes
    what it cannot tell, the rule can hardly fail. The study therefore warns, and the warning ends
    with the smallest regression that 200 units show with 80% probability: the number in `catches`.
    """
    path = policy_file(tmp_path, "value not worse than b", head=PASS_IF_IT_CANNOT_TELL, catch=0.01)
    study = ek.significance(values_of_two_systems(), gate=path, **HIGHER_IS_BETTER)
    (warning,) = study.gate.warnings
    caught = study.gate.statements["catches"].iloc[0]
    assert warning.endswith(
        f"only a regression of {caught:.3f} or more fails it with 80% probability"
    )


def test_a_rule_that_can_hardly_fail_is_a_warning(tmp_path):
    """The rule is to catch a regression of 0.01. As the policy passes what it cannot tell, only a
    significant regression fails the rule. The difference of a and b on 200 units has a standard
    error of about 0.05, so that the power is about Φ(0.01 / 0.05 − 1.96) = 4%.
    """
    path = policy_file(tmp_path, "value not worse than b", head=PASS_IF_IT_CANNOT_TELL, catch=0.01)
    study = ek.significance(values_of_two_systems(), gate=path, **HIGHER_IS_BETTER)
    (warning,) = study.gate.record()["warnings"]  # as the JSON of a report has them
    words = "this rule can hardly fail: a regression of 0.0100 fails it with 4% probability"
    assert words in warning


def test_a_margin_that_may_be_reached_is_a_warning(tmp_path):
    """A model that is worse by the whole margin of 0.1 is still allowed, so that it fails with the
    2.5% of a test, which is printed as 3%.
    """
    path = policy_file(tmp_path, "value not worse than b within 0.1", head=PASS_IF_IT_CANNOT_TELL)
    study = ek.significance(values_of_two_systems(), gate=path, **HIGHER_IS_BETTER)
    (warning,) = study.gate.warnings
    assert "a regression of 0.100 fails it with 3% probability" in warning


def test_a_margin_beyond_the_range_of_the_metric_is_a_warning(tmp_path):
    """Accuracies differ by at most 1, so that no model is worse by the margin of 1.5."""
    judged = gate_of_accuracy(tmp_path, "accuracy not worse than b within 1.5", 20, wrong=10)
    (warning,) = judged.warnings
    assert warning.endswith(
        "this rule can hardly fail: no regression fails it with 80% probability"
    )


def test_a_bound_that_every_value_keeps_is_a_warning(tmp_path):
    """No accuracy is below the bound of 0."""
    judged = gate_of_accuracy(tmp_path, "accuracy.low >= 0", 20, wrong=10)
    (warning,) = judged.warnings
    assert warning.endswith(
        "this rule can hardly fail: no regression fails it with 80% probability"
    )


def test_a_bound_that_may_be_reached_is_no_warning(tmp_path):
    """The mean of a is 4.88 with an interval of ±0.15. A model that is worse may fall below the
    bound of 4.5.
    """
    path = policy_file(tmp_path, "value.low >= 4.5 of a", head=PASS_IF_IT_CANNOT_TELL)
    assert (
        ek.significance(values_of_two_systems(), gate=path, **HIGHER_IS_BETTER).gate.warnings == []
    )


def test_a_rule_with_power_is_no_warning(tmp_path):
    """The rule is to catch a regression of 0.5, ten times the standard error of the difference."""
    path = policy_file(tmp_path, "value not worse than b", head=PASS_IF_IT_CANNOT_TELL, catch=0.5)
    assert (
        ek.significance(values_of_two_systems(), gate=path, **HIGHER_IS_BETTER).gate.warnings == []
    )


def test_a_single_rule_is_caught_at_the_level_of_all_its_comparisons():
    """The rule "not worse" compares a and c with the baseline b. The two comparisons share the
    level of 5%: 0.05 / 2 / 2 = 1.25% for each, one-sided.
    """
    table = values_of_two_systems().assign(c=lambda frame: frame["a"] + 0.01 * frame["b"])
    study = ek.significance(table, gate="not worse", baseline="b", **HIGHER_IS_BETTER)
    assert study.gate.statements["unchanged_fails"].tolist() == pytest.approx([0.0125, 0.0125])


def test_a_rule_about_findings_catches_nothing(tmp_path):
    assert np.isnan(
        first_statement(policy_file(tmp_path, "none of severity severe"))["unchanged_fails"]
    )


# As an assertion ----------------------------------------------------------------------------------


def test_check_raises_with_the_rules_that_are_not_kept_one_a_line(tmp_path):
    """The means of both systems, a and b, are near 5 with an interval of about ±0.15. So the rule
    that the lower limit of a is at least 6 and the rule that the upper limit of b is at most 1
    fail, and the rule that the lower limit of a is at least 1 is kept. `check` raises an
    AssertionError whose text has a head and a line for each rule that failed.
    """
    rules = ("value.low >= 6 of a", "value.low >= 1 of a", "value.high <= 1 of b")
    values = values_of_two_systems()
    study = ek.significance(values, **HIGHER_IS_BETTER)
    with pytest.raises(AssertionError) as failed:
        ek.check(study, policy_file(tmp_path, *rules))
    head, first_rule, last_rule = str(failed.value).splitlines()
    assert head == "2 rules of 3 not kept"
    # each line has the rule, its result, the system, its mean and its interval
    mean_of_a = values["a"].mean()
    mean_of_b = values["b"].mean()
    assert first_rule.startswith(f"value.low >= 6 of a: fail: a {mean_of_a:.2f} [")
    assert last_rule.startswith(f"value.high <= 1 of b: fail: b {mean_of_b:.2f} [")


def test_check_is_silent_where_every_rule_is_kept(tmp_path):
    assert (
        ek.check(ek.significance(values_of_two_systems(), **HIGHER_IS_BETTER), "value.low >= 1")
        is None
    )


def test_check_takes_a_path(tmp_path):
    path = Path(policy_file(tmp_path, "value.low >= 1"))
    assert ek.significance(values_of_two_systems(), **HIGHER_IS_BETTER).check(path) is None


def test_check_refuses_no_rules():
    study = ek.rating(y_true=[1, 2, 3, 5], y_pred=[1, 2, 3, 4])
    with pytest.raises(ParameterError, match=r"rules must be a rule such as .*, got None"):
        ek.check(study, None)


def test_a_policy_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text('[[rule]]\nthat = "mae.value <= 1"\n', encoding="utf-8-sig")
    ek.check(ek.rating(y_true=[1, 2, 3, 5], y_pred=[1, 2, 3, 4]), path)


def test_a_rule_that_is_not_kept_is_one_line_if_it_is_written_in_two(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text('[[rule]]\nthat = """mae.value\n<= 0.2"""\n', encoding="utf-8")
    with pytest.raises(AssertionError, match=r"\nmae.value <= 0.2: fail: [^\n]*$"):
        ek.check(ek.rating(y_true=[1, 2, 3, 5], y_pred=[1, 2, 3, 4]), path)


def test_check_says_why_a_rule_is_not_decided():
    with pytest.raises(AssertionError, match=r"not decided: a − b .* nothing says whether higher"):
        ek.check(ek.significance(values_of_two_systems()), "value better than b")


def test_check_of_a_study_warns_of_a_rule_that_can_hardly_fail(tmp_path):
    """The rule is to catch a regression of 0.01, less than 200 units can show, and the policy
    passes what it cannot tell.
    """
    path = policy_file(tmp_path, "value not worse than b", head=PASS_IF_IT_CANNOT_TELL, catch=0.01)
    with pytest.warns(UserWarning, match="this rule can hardly fail"):
        ek.significance(values_of_two_systems(), **HIGHER_IS_BETTER).check(path)


def test_a_diff_is_checked(tmp_path):
    """A diff compares an old report with a new one, by the values of their units in two files. All
    values of system a are 0 in the new report, far below those of the old one. The rule that the
    new report's system a ("new a") is not worse than the old one's therefore fails.
    """
    old = values_of_two_systems()
    new = old.assign(a=0.0)
    ek.significance(old, **HIGHER_IS_BETTER).save(tmp_path / "old.units.parquet")
    ek.significance(new, **HIGHER_IS_BETTER).save(tmp_path / "new.units.parquet")
    diff = ek.diff(
        tmp_path / "old.units.parquet", tmp_path / "new.units.parquet", **HIGHER_IS_BETTER
    )
    message = r"^1 rule of 1 not kept\nvalue not worse of 'new a': fail"
    with pytest.raises(AssertionError, match=message):
        diff.check("value not worse of 'new a'")


def test_an_experiment_is_checked():
    rng = np.random.default_rng(1)
    arm = ["new", "old"] * 50
    users = pd.DataFrame({"user": range(100), "arm": arm, "orders": rng.normal(5, 1, 100)})
    with pytest.raises(AssertionError, match=r"orders\.low >= 6: fail: new 4.* old "):
        ek.ab(users, metrics="orders").check("orders.low >= 6")


# Planned ------------------------------------------------------------------------------------------

PLAN_OF_SHARES = "[plan]\nunits = 500\nshare = 0.85\ncorrelation = 0.5\n"


def planned_statement(folder, rule, head, catch=None):
    path = policy_file(folder, rule, head=head, catch=catch)
    return planned(policy.gate("--plan", path)).iloc[0]


def test_a_plan_catches_what_a_sample_of_such_rows_does(tmp_path):
    """A rule "not worse" catches a regression if it fails with 80% probability; `catches` is the
    smallest one. For a plan (PLAN_OF_SHARES) it is computed without data, from 500 units, a share
    of 0.85 and a correlation of 0.5. The sample has two systems that are right on 85% of 500 rows.
    On half of the rows both are right or wrong together, on the others independently, which is a
    correlation of 0.5. Both catch nearly the same.
    """
    rng = np.random.default_rng(3)
    together = rng.random(500) < 0.5
    both_right = rng.random(500) < 0.85
    new_right = np.where(together, both_right, rng.random(500) < 0.85)
    old_right = np.where(together, both_right, rng.random(500) < 0.85)
    label = rng.integers(0, 2, 500)
    predicted = {
        "new": np.where(new_right, label, 1 - label),
        "old": np.where(old_right, label, 1 - label),
    }
    rule = "accuracy not worse than old of new"
    path = policy_file(tmp_path, rule, head=PASS_IF_IT_CANNOT_TELL)
    study = ek.classification(y_true=label, y_pred=predicted, metrics="accuracy", gate=path)
    of_plan = planned_statement(tmp_path, rule, PASS_IF_IT_CANNOT_TELL + PLAN_OF_SHARES)
    of_sample = study.gate.statements.iloc[0]
    # 10%: the sample has not exactly these shares
    assert of_plan["catches"] == pytest.approx(of_sample["catches"], rel=0.1)


def test_a_plan_of_means_needs_the_units_of_a_paired_test(tmp_path):
    """The plan has a standard deviation of 2 and a correlation of 0.875. Differences have a
    variance of 2 · 2² · (1 − 0.875) = 1, so that the units needed are those of a paired test with a
    standard deviation of 1.
    """
    head = f"{PASS_IF_IT_CANNOT_TELL}[plan]\nunits = 50\nmean = 3\nsd = 2\ncorrelation = 0.875\n"
    row = planned_statement(tmp_path, "mae not worse than old", head, catch=0.1)
    assert row["units_needed"] == pytest.approx(power.required_n(0.1, 1.0), rel=0.01)


def test_a_bound_is_caught_near_the_end_of_the_range(tmp_path):
    """The true share x fails x̂ − 1.96 s ≥ 0.2 with 80% probability."""
    row = planned_statement(tmp_path, "accuracy.low >= 0.2", "[plan]\nunits = 100\nshare = 0.95\n")
    share = 0.95 - row["catches"]
    error = (share * (1 - share) / 100) ** 0.5
    assert (share - 0.2) / error == pytest.approx(norm.ppf(0.975) - norm.ppf(0.8), rel=1e-4)


def test_a_planned_share_cannot_fall_by_more_than_it_is(tmp_path):
    """The plan has a share of 0.1 of 20 units. It can fall by at most 0.1, which 20 units cannot
    show.
    """
    head = f"{PASS_IF_IT_CANNOT_TELL}[plan]\nunits = 20\nshare = 0.1\n"
    assert np.isnan(planned_statement(tmp_path, "accuracy not worse than old", head)["catches"])


def test_a_planned_margin_beyond_the_range_has_no_power(tmp_path):
    """Accuracies differ by at most 1, so that no model is worse by the margin of 3."""
    path = policy_file(
        tmp_path, "accuracy not worse within 3", head="[plan]\nunits = 100\nshare = 0.5\n"
    )
    assert np.isnan(planned(policy.gate("rules", path))["power"].iloc[0])


def test_the_variance_of_a_difference_of_planned_shares_is_without_its_square(tmp_path):
    """10% of the units differ, and 0.1 + 0.9 · 0.3 at a difference of 0.3."""
    head = f"{PASS_IF_IT_CANNOT_TELL}[plan]\nunits = 20\nshare = 0.5\ncorrelation = 0.8\n"
    row = planned_statement(tmp_path, "accuracy not worse than old", head, catch=0.3)
    error = ((0.37 - 0.3**2) / 20) ** 0.5
    assert row["power"] == pytest.approx(norm.cdf(0.3 / error - norm.ppf(0.975)))


def test_no_number_of_units_catches_a_regression_within_the_margin(tmp_path):
    """The rule allows a model to be worse by 0.01, and is to catch a regression of 0.008."""
    head = "[plan]\nunits = 500\nmean = 1\nsd = 0.1\ncorrelation = 0.5\n"
    row = planned_statement(tmp_path, "mae not worse than old within 0.01", head, catch=0.008)
    assert np.isnan(row["units_needed"])


@pytest.mark.parametrize("rule", ["mae not worse than old", "mae.high <= 0.5", "own.low >= 2"])
def test_a_share_is_no_plan_for_other_metrics(tmp_path, rule):
    """The plan has a share, between 0 and 1, but mae is not a share, and the rule of `own` has a
    bound of 2.
    """
    with pytest.raises(ParameterError, match=rf"policy.toml, rule 1: the share .* fit '{rule}'"):
        planned_statement(tmp_path, rule, PLAN_OF_SHARES)


def test_a_share_may_be_the_plan_for_a_metric_of_ones_own(tmp_path):
    assert planned_statement(tmp_path, "conversion.low >= 0.8", PLAN_OF_SHARES)["catches"] > 0


def test_rules_without_data_need_a_plan(tmp_path):
    with pytest.raises(ParameterError, match=r"the policy needs a \[plan\] table: units and share"):
        planned_statement(tmp_path, "better", "")


def test_a_plan_without_units_is_refused_at_its_place(tmp_path):
    with pytest.raises(ParameterError, match=r"policy.toml, line 1.*: \[plan\] must have units"):
        planned_statement(tmp_path, "better", "[plan]\nshare = 0.5\n")


def test_check_prints_a_plan_without_a_report(tmp_path, capsys):
    """The policy has a table [plan] of 500 units with a share of 0.85 and a correlation of 0.5
    (PLAN_OF_SHARES), from which it can be computed what its rule would catch. `check --plan`
    therefore needs no report: it prints the computed table, under a heading, and ends with status
    0.
    """
    path = policy_file(
        tmp_path,
        "accuracy not worse than old",
        head=PASS_IF_IT_CANNOT_TELL + PLAN_OF_SHARES,
        catch=0.03,
    )
    assert command.main(["check", "--plan", path]) == 0
    assert "**What policy.toml catches, 500 units**" in capsys.readouterr().out


def json_of_a_rating_report(folder):
    """The path of the results of a report on the bundled sample of forecasts, by MAE."""
    assert command.main(["report", "rating", "-o", str(folder), "-p", "metrics", "mae"]) == 0
    return folder / "rating.json"


@pytest.mark.usefixtures("undrawn")
def test_check_of_a_report_warns_of_a_rule_that_can_hardly_fail(tmp_path, capsys):
    """The rule is to catch an MAE that is larger by 1e-6, which the 700 units of the sample cannot
    show, and the policy passes what it cannot tell. The command prints what the rule catches and
    warns of it, but ends with 0, as the rule is kept.
    """
    file = json_of_a_rating_report(tmp_path)
    rule = "mae not worse than mean"
    path = policy_file(tmp_path, rule, head=PASS_IF_IT_CANNOT_TELL, catch=1e-6)
    assert command.main(["check", str(file), path]) == 0
    printed = capsys.readouterr()
    assert "regression caught" in printed.out
    assert f"warning: {rule}: this rule can hardly fail" in printed.err


@pytest.mark.usefixtures("undrawn")
def test_check_plans_other_units_by_the_spread_of_a_report(tmp_path, capsys):
    """The policy has a table [plan] with a number of units alone. The spread of the values is taken
    from the report.
    """
    file = json_of_a_rating_report(tmp_path)
    head = f"{PASS_IF_IT_CANNOT_TELL}[plan]\nunits = 4\n"
    path = policy_file(tmp_path, "mae not worse than mean", head=head)
    assert command.main(["check", str(file), "--plan", path]) == 0
    assert "catches, 4 units" in capsys.readouterr().out


def test_check_without_a_report_and_a_plan_says_what_is_lacking(capsys):
    assert command.main(["check"]) == 2
    assert "no report: name one" in capsys.readouterr().err
