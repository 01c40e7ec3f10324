"""Whether studies keep a policy: each statement of each rule with its limits at the level that all
rules share.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from evalkit import numbers
from evalkit.arrays import InputError, ParameterError
from evalkit.catalogue import lookup, metric
from evalkit.numbers import count_with_noun, percent
from evalkit.parameters.kinds import choice
from evalkit.parameters.policy import (
    A_RULE,
    CANNOT_TELL,
    FAIL,
    NOT_DECIDED,
    PASS,
    Bound,
    Claim,
    ColumnBound,
    ComparisonClaim,
    GapBound,
    NoFinding,
    NoWeakSlice,
    NoWorseSlice,
    PickedBound,
    Policy,
    PolicyRule,
    Trusted,
    gate,
    obstacle,
)
from evalkit.reading.tables.table import Slice
from evalkit.statistics import inference, methods, sensitivity, significance
from evalkit.statistics.alternatives import Alternative
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.spread import Interval
from evalkit.studies import catching, winners

if TYPE_CHECKING:
    from evalkit.studies.study import Row, Study, UnitSelection

Findings = Callable[[], Iterable[Mapping[str, Any]]]  # returns those of a report, as in its JSON
# the results of the statements of a rule; the first of these that occurs is that of the rule
RESULTS_BY_PRIORITY = (FAIL, NOT_DECIDED, CANNOT_TELL, PASS)

# test -> a function that makes the standard error by the true difference, where the rows tell it
ERRORS: dict[inference.TestFunction, Callable[..., sensitivity.ErrorOf]] = {
    methods.sign_flip_test: sensitivity.error_of_pairs,
    methods.mcnemar: sensitivity.error_of_decisions,
}
VERDICTS = ("better", "equivalent", "cannot tell", "worse")
# the words of a rule -> verdict of a comparison -> result of the rule
RESULTS = {
    "better": dict(zip(VERDICTS, (PASS, FAIL, CANNOT_TELL, FAIL), strict=True)),
    "better or equivalent": dict(zip(VERDICTS, (PASS, PASS, CANNOT_TELL, FAIL), strict=True)),
    "not worse": dict(zip(VERDICTS, (PASS, PASS, PASS, FAIL), strict=True)),
}


@dataclass(frozen=True, eq=False)
class Statement:
    """What a rule claims of a system, or of a pair, on all units or in a slice.

    study: the one whose limits the report prints. chosen: the metric. second: the system that the
    first is compared with; "" for a claim about a system alone. slice: None for all units.
    """

    claim: Bound | ComparisonClaim
    study: Study
    chosen: metric.MetricAtK
    system: str
    second: str
    slice: Slice | None

    @property
    def _member(self) -> UnitSelection:
        """The units that the statement is about, as studies take them."""
        if self.slice is None:
            return self.study.all_units
        member: UnitSelection = self.slice.member
        return member

    @property
    def _column(self) -> str:
        """The column of the slice, or of all groups or slices; "" for neither."""
        if isinstance(self.claim, ColumnBound):
            return self.claim.column or ""
        return self.slice.column if self.slice else ""

    def rank(self) -> int:
        """The place of the system in its study's order, best first."""
        order = self.study.order
        return order.index(self.system) if self.system in order else 0

    def evidence(self, study: Study) -> significance.Comparison:
        """The comparison of the system with the second one, before the adjustment for other
        comparisons. A claim about a system alone gets a comparison, too, so that all statements are
        decided alike: its `difference` is the number that the claim bounds, with limits, and p is
        NaN. All numbers are NaN if they cannot be computed. study: of the statement, at any level.
        """
        undefined = inference.undefined(study.settings.level, study.unit_name)  # all NaN
        why_undecidable = study.obstacle(self.chosen, self.system, self.second)
        if why_undecidable:
            return undefined
        if not self.second:  # a system alone
            return replace(undefined, difference=self._number(study))
        try:
            return study.compare(self.chosen, (self.system, self.second), self._member)
        except InputError:  # no unit of the slice has both values
            return undefined

    def _number(self, study: Study) -> Estimate:
        """The number of a system alone that the claim bounds, with its limits: the metric, its
        largest gap between the groups of a column, or its highest or lowest value in the slices of
        a column.
        """
        if isinstance(self.claim, GapBound):
            return study.largest_gap(self.chosen, self.system, self._column)
        if isinstance(self.claim, PickedBound):
            return winners.picked_estimate(study, self._column, self.system, self.claim.place)
        return study.deciding_estimate(self.chosen, self.system, self._member)

    def obstacle(self, evidence: significance.Comparison) -> str:
        """Why the data cannot decide the statement, whatever its limits are: results of the study
        do not count or the pair was not compared, the metric has no known better direction, or no
        unit has both values; "" if the data can. evidence: as `evidence` returns it.
        """
        reason = self.study.obstacle(self.chosen, self.system, self.second)
        # a claim about a system alone states its own direction, and needs no common units
        if reason or not self.second:
            return reason
        if self.chosen.metric.direction == 0:
            return obstacle("direction", metric=self.chosen.label)
        if math.isnan(evidence.difference.value):
            return obstacle(
                "no_common_unit",
                unit=self.study.unit_name,
                metric=self.chosen.label,
                first=self.system,
                second=self.second,
            )
        return ""

    def result(self, evidence: significance.Comparison) -> str:
        """Pass, fail or cannot tell, from the comparison or number that `evidence` returns."""
        margin = self.study.settings.margin
        return decided(self.claim, evidence, self.chosen.metric.direction, margin)

    def catch(
        self,
        rule: PolicyRule,
        evidence: significance.Comparison,
        study: Study,
        tests: int,
        units: int | None,
    ) -> catching.Catch:
        """The power of the rule: how likely it fails in a new sample of `units` units (None: as
        many as here) if the system has become worse. All fields are NaN if that is not known.

        evidence: what `self.evidence(study)` gives, which may be adjusted. study: at the level that
        decides. tests: how many comparisons are adjusted together.
        """
        metric = self.chosen.metric
        e = evidence.difference  # the difference of a pair, or the number of a system alone
        has_no_value = not e.n or math.isnan(e.value)
        # no power is known of a number of a whole column, such as the largest gap between groups
        if has_no_value or isinstance(self.claim, ColumnBound):
            return catching.Catch()

        if self.second:
            # an unchanged system is taken to be as good as the second one
            expected_estimate = 0.0
            _, second = self._compared(study)
            # on the metric's own scale, whose ends bound a regression: without covariates
            metric_value = second.unadjusted().value
            level = study.test_level
            alternative = study.settings.alternative
        else:
            # an unchanged system is taken to keep the value of this sample
            expected_estimate = e.value
            metric_value = e.value
            level = e.level
            alternative = Alternative.TWO_SIDED
        # Holm's strictest step: a comparison that is significant here is so after Holm whatever the
        # other p-values are, so that the power is not overstated
        family_level = 1 - (1 - level) / tests

        ends = Interval(*metric.ends)
        tested_level = alternative.two_sided_level(family_level)
        n = units or e.n
        measured = catching.Evidence(
            expected_estimate=expected_estimate,
            metric_value=metric_value,
            n=e.n,
            direction=metric.direction,
            margin=study.settings.margin,
            level=level,
            family_level=family_level,
            ends=ends,
            error=self._error(evidence, study, tested_level, ends),
            alternative=alternative,
            limit_distance_factor=self._stretch(study, n, alternative.two_sided_level(level)),
        )
        # the standard errors are those of e.n units: `of_units` scales them to n
        return catching.catch(rule, measured.of_units(n), self.result)

    def _compared(self, study: Study) -> tuple[Any, Any]:
        """The metric of the system and of the second one, each a `Statistic`: the value with what
        its standard error and tests are computed from.
        """
        return study.compared(self.chosen, (self.system, self.second), self._member)

    def _stretch(self, study: Study, n: int, level: float) -> float:
        """The distance of the study's confidence limits from the estimate, as a multiple of that of
        normal limits, in a sample of n units. It is taken as 1 but for the difference of two shares
        by McNemar's test, whose limits are Tango's: these are wider. study: at the level that
        decides. level: of the two-sided limits.
        """
        if not isinstance(self.claim, ComparisonClaim):
            return 1.0
        margin = self.claim.within or study.settings.margin
        if not margin:  # the test decides, and not the limits
            return 1.0
        first, second = self._compared(study)
        test = inference.method(first.unadjusted()).test
        if test is not methods.mcnemar:
            return 1.0
        return sensitivity.stretch_of_decisions(first, second, margin, n, level)

    def _error(
        self, evidence: significance.Comparison, study: Study, level: float, ends: Interval
    ) -> sensitivity.ErrorOf:
        """A function from the true value of the system, or from the true difference of the pair, to
        the standard error of its estimate: for a share, for example, it depends on the value.

        evidence, study: as in `catch`. level: of the two-sided test, adjusted for the other
        comparisons. ends: the lowest and the highest value of the metric.
        """
        if not self.second:
            return sensitivity.error_by_value(evidence.difference, ends)
        first, second = self._compared(study)
        test = inference.method(first.unadjusted()).test
        # McNemar's test and the test of paired means have a formula for the error, with the spread
        # of the rows; a comparison by fold has not, as the error is that of the folds
        error_from_rows = ERRORS.get(test)
        if error_from_rows and evidence.unit != "fold":
            return error_from_rows(first, second, evidence, level)

        # for any other test the error follows from its power: the difference that it detects is a
        # known multiple of the standard error
        def detectable(level: float) -> float:
            """The smallest difference that the test at this level detects with 80% power."""
            pair = (self.system, self.second)
            return study.detectable(self.chosen, pair, evidence, level, self._member)

        return sensitivity.error_by_difference(detectable, level)

    def row(
        self, printed: significance.Comparison, deciding: significance.Comparison, level: float
    ) -> Row:
        """The statement as a row: metric, system, against, segment, slice; value; low and high, the
        limits that the report prints; rule_low and rule_high, those that decide; result; why, the
        reason for a result that the limits do not decide, else "".

        printed, deciding: `evidence` at the level of the report, and at `level`, which decides.
        """
        e = deciding.difference
        why = self.obstacle(deciding)  # the data cannot decide, whatever the limits are
        if why:
            result = NOT_DECIDED
        else:
            why = self._doubt(deciding, level)  # the limits at the deciding level are not known
            result = CANNOT_TELL if why else self.result(deciding)
        slice_label = "" if self.slice is None else self.slice.label
        return {
            "metric": self.chosen.label,
            "system": self.system,
            "against": self.second,
            "segment": self._column,
            "slice": slice_label,
            "value": e.value,
            "low": printed.difference.low,
            "high": printed.difference.high,
            "rule_low": e.low,
            "rule_high": e.high,
            "result": result,
            "why": why,
        }

    def _doubt(self, deciding: significance.Comparison, level: float) -> str:
        """Why the limits at the level that decides are not known; "" if they are. For a claim about
        a value itself their level does not matter. deciding, level: as in `row`.
        """
        doubt = self.study.doubt(self.chosen, self.system, self.second)
        known_level = deciding.difference.level
        if not doubt and self.claim.may_err and not math.isclose(known_level, level):
            return f"only its {percent(known_level)} interval is known"
        return doubt


def decided(
    claim: Bound | ComparisonClaim,
    evidence: significance.Comparison,
    direction: int,
    margin: float | None,
) -> str:
    """The result of a claim, PASS, FAIL or CANNOT_TELL. evidence: its `difference` is that of a
    pair, first − second, or for a `Bound` the number of a system alone, with limits. direction: 1
    if higher values of the metric are better, −1 if lower ones are. margin: that of the report,
    which is used if the claim states none.
    """
    e = evidence.difference
    if isinstance(claim, Bound):
        return claim.result(e.value, e.low, e.high)
    if claim.words == "not worse" and claim.within is not None:
        # Non-inferiority is decided by the limits alone, without the test: those of how much better
        # the first system is. The sign turns both limits round if lower values are better.
        low, high = sorted((e.low * direction, e.high * direction))
        if low > -claim.within:
            return PASS
        if high < -claim.within:
            return FAIL
        return CANNOT_TELL
    margin = claim.within or margin
    # "better", "equivalent", "cannot tell" or "worse", by the test and the test of equivalence
    verdict = significance.verdict(evidence, margin=margin, direction=direction)
    result_of_verdict = RESULTS[claim.words]
    return result_of_verdict[verdict]


class JudgedRule(NamedTuple):
    """A rule with its result, and the rows of its statements; see `JudgedPolicy`."""

    rule: PolicyRule
    result: str
    statements: pd.DataFrame


def _warning(rule: PolicyRule, statements: pd.DataFrame) -> str:
    """Why a rule can hardly fail, as a sentence; "" if it can, or if that is not known (NaN).

    statements: a row for each statement of the rule, with the fields of `catching.Catch`: `power`
    is the probability to fail at a regression of the size `margin`, `catches` the regression that
    fails with 80% probability.
    """
    # Without a regression to catch, the margin of a bound is the distance of the value from the
    # bound. A model worse by this distance lies on the bound, where the power says nothing of the
    # data: it is the same whatever they are.
    power = statements["power"]
    if rule.catch is None and isinstance(rule.claim, Bound):
        power = pd.Series(math.nan, index=power.index)
    # no regression fails with 80% probability, and an unchanged model hardly ever does
    rarely_fails = statements["unchanged_fails"] < sensitivity.BLUNT
    catches_nothing = statements["catches"].isna() & rarely_fails
    if (catches_nothing & power.isna()).all():
        return obstacle("no_regression_fails", rule=rule.that)
    if not (power < sensitivity.BLUNT).any():
        return ""
    weakest = statements.loc[power.idxmin()]
    # the sentence names the regression that is caught, if any is
    kind = "never_fails" if math.isnan(weakest["catches"]) else "hardly_fails"
    facts = {
        "margin": numbers.number(weakest["margin"]),
        "power": numbers.share(weakest["power"]),
        "caught": numbers.number(weakest["catches"]),
    }
    return obstacle(kind, rule=rule.that, **facts)


@dataclass(frozen=True, eq=False)
class JudgedPolicy:
    """A policy, and what became of its rules.

    words: what was asked. statements: the rows of `Statement.row`, each with the number of its rule
    and the fields of `catching.Catch`. tested: how many statements may err. level: that at which
    each of these is decided; None for a single rule, which is decided at the level of the report.
    """

    policy: Policy
    words: str
    statements: pd.DataFrame
    level: float | None
    tested: int

    def __repr__(self) -> str:
        return f"<gate {self.words}: {self.message or 'passed'}>"

    @property
    def rules(self) -> Iterator[JudgedRule]:
        """Each rule with its result and its statements."""
        for number, rule in enumerate(self.policy.rules):
            rows = self.statements[self.statements["rule"] == number]
            results = set(rows["result"])
            result = next(result for result in RESULTS_BY_PRIORITY if result in results)
            yield JudgedRule(rule, result, rows)

    @property
    def failed(self) -> list[str]:
        """The rules that fail; of a single rule the systems that fail it."""
        rows = self.statements
        if self.policy.level is None:
            names = rows["system"][rows["result"].map(self.policy.rules[0].fails)]
            return [name for name in names if name]
        return [rule.that for rule, result, _ in self.rules if rule.fails(result)]

    @property
    def passed(self) -> bool:
        """Whether all rules are kept."""
        return all(rule.is_kept_by(result) for rule, result, _ in self.rules)

    @property
    def undecided_reasons(self) -> list[str]:
        """The reasons why rules are not decided, without duplicates. In a policy file the text of
        the rule stands before each reason.
        """
        reasons = []
        for rule, _, rows in self.rules:
            # without a level it is a single rule, whose text `message` states anyway
            prefix = "" if self.policy.level is None else f"{rule.that}: "
            undecided = rows["why"][rows["result"] == NOT_DECIDED]
            reasons += [f"{prefix}{reason}" for reason in undecided]
        return list(dict.fromkeys(reasons))

    @property
    def message(self) -> str:
        """The result in a line, with what fails and what is not decided; "" if all rules are
        kept.
        """
        if self.passed:
            return ""
        only_undecided = bool(self.undecided_reasons) and not self.failed
        words = "gate not decided" if only_undecided else "gate failed"
        details = "; ".join(self.undecided_reasons)
        if self.failed:  # rules of a policy, or systems that fail a single rule
            unmet = f"not met by {', '.join(self.failed)}"
            details = f"{unmet}; not decided: {details}" if details else unmet
        return ": ".join(filter(None, [words, self.words, details]))

    @property
    def has_sensitivity(self) -> bool:
        """Whether it is known what any of the rules catches."""
        return bool(self.statements["unchanged_fails"].notna().any())

    @property
    def warnings(self) -> list[str]:
        """A sentence for each rule that can hardly fail, at most one per rule: that no regression
        fails it, or how small its power is at a regression of the size that it should catch.
        """
        sentences = [_warning(rule, rows) for rule, _, rows in self.rules]
        return [sentence for sentence in sentences if sentence]

    @property
    def unkept(self) -> Iterator[str]:
        """The rules that are not kept, each in a line with the statements that decide."""
        for rule, result, rows in self.rules:
            if rule.is_kept_by(result):
                continue
            deciding = rows[rows["result"] == result].to_dict("records")
            evidence = "; ".join(map(_statement_words, deciding))
            line = f"{rule.that}: {result}: {evidence}"
            yield " ".join(line.split())  # a rule or a name may have line ends

    def record(self) -> dict[str, object]:
        """The gate as the JSON of a report has it: its rules with their statements, and the names,
        reasons and warnings that the properties of this class return.
        """
        rules = []
        for rule, result, rows in self.rules:
            record: dict[str, object] = {"that": rule.that, "result": result}
            record |= {"on_cannot_tell": rule.on_cannot_tell, "kept": rule.is_kept_by(result)}
            record["statements"] = rows.drop(columns="rule").to_dict("records")
            rules.append(record)
        return {
            "rule": self.words,
            "passed": self.passed,
            "failed": self.failed,
            "undecided": self.undecided_reasons,
            "message": self.message,
            "warnings": self.warnings,
            "level": self.policy.level,
            "level_of_each": self.level,
            "rules": rules,
        }


def judge(
    policy: Policy, studies: Sequence[Study], findings: Findings, units: int | None = None
) -> JudgedPolicy:
    """Judge the rules of a policy on the studies of a report.

    Each statement of a policy file is decided at the level 1 − α/m, where m is the number of
    statements that may err (Bonferroni): however they depend on each other, the probability that
    any rule that holds fails is at most α = 1 − the level of the policy. A single rule is decided
    at the level of the report.

    studies: a rule is about those that have its metric. findings: a function that returns the
    findings of the report, called only if a rule needs them. units: the planned number of units,
    for which the power of the rules is computed; None for that of the data. Raises ParameterError
    for a rule that names what the report does not have.
    """
    alpha = next((study.settings.alpha for study in studies), None)  # the same for all
    if alpha is not None and not policy.level_stated:
        # a policy file without a level has that of the report's tests
        policy = replace(policy, level=1 - alpha)
    statements_by_rule = statements_of_rules(policy.rules, studies)
    # statements that limits or a test decide, which err at a known rate; a bound on the value does
    # not, as it is about the sample itself
    n_may_err = 0
    for statements in statements_by_rule:
        statements.sort(key=Statement.rank)  # by system, the best first
        n_may_err += sum(statement.claim.may_err for statement in statements)
    level = None  # at which each statement is decided; None for a single rule (no policy file)
    if policy.level is not None:
        level = 1 - (1 - policy.level) / max(n_may_err, 1)  # Bonferroni
    # each study -> the same study with limits and tests at the level that decides
    if level is not None:
        deciding = {study: study.at_level(level) for study in studies}
    elif alpha is None or isinstance(policy.alone, Bound):
        deciding = {study: study for study in studies}  # the limits that the report prints
    else:
        # a single rule of comparison, for which the user chose the level of tests, 1 − alpha
        deciding = {study: study.at_level(study.settings.test_level) for study in studies}
    rows = []
    for number, rule in enumerate(policy.rules):
        statements = statements_by_rule[number]
        judged = list(_statement_rows(rule, statements, deciding, level, units))
        if not statements:  # a rule about the report as a whole
            judged = [_report_row(rule, studies, findings)]
        rows += [{"rule": number} | row for row in judged]
    words = f"{policy.name}: {len(policy.rules)} rules"
    if level is None:
        words = _rule_words(policy.rules[0], statements_by_rule[0])
    return JudgedPolicy(policy, words, pd.DataFrame(rows), level, n_may_err)


def _statement_rows(
    rule: PolicyRule,
    statements: Sequence[Statement],
    deciding: Mapping[Study, Study],
    level: float | None,
    units: int | None,
) -> Iterator[Row]:
    """Yield a row for each statement of a rule: its values, limits and result (`Statement.row`) and
    its power (`catching.Catch`, NaN if the limits do not decide the statement).

    deciding: each study -> the same study at the level that decides. level: that of a statement of
    a policy file; None for a single rule. units: planned, None for as many as the data have.
    """
    # the report prints limits at its own level, which may differ from the one that decides
    printed_evidence = [statement.evidence(statement.study) for statement in statements]
    evidence = [statement.evidence(deciding[statement.study]) for statement in statements]
    # `level` of a policy file allows for the number of its statements (Bonferroni); the comparisons
    # of a single rule are adjusted by Holm within each study instead
    n_adjusted: Counter[Study] = Counter()
    if level is None:
        evidence = _adjusted(statements, evidence)
        n_adjusted.update(statement.study for statement in statements)
    for statement, printed, decisive in zip(statements, printed_evidence, evidence, strict=True):
        study = deciding[statement.study]
        row = statement.row(printed, decisive, study.settings.level)
        power = catching.Catch()  # all NaN
        if not row["why"]:  # the limits decide
            tests = max(n_adjusted[statement.study], 1)
            power = statement.catch(rule, decisive, study, tests, units)
        yield row | power._asdict()


def _statement_words(row: Row) -> str:
    """A row of `JudgedPolicy.statements` in words: the system or pair, the slice, the number with
    the limits that decide, and why it is not decided. Texts that are "" are left out.
    """
    system = " − ".join(filter(None, [row["system"], row["against"]]))
    slice_words = " ".join(filter(None, [row["segment"], row["slice"]]))
    number = ""
    if row["metric"]:  # "" for a rule about the report as a whole, which has no number
        number = numbers.estimate(row["value"], row["rule_low"], row["rule_high"])
    return " ".join(filter(None, [system, slice_words, number, row["why"]]))


def check(study: Any, rules: str | Path) -> None:
    """Assert that a study, or a diff, keeps a policy: a file (.toml) or a rule.

    Raises AssertionError with the rules that are not kept, one a line, and ParameterError for what
    is no rule. Warns of a rule that can hardly fail.

    >>> import evalkit as ek
    >>> ek.check(ek.rating(y_true=[1, 2, 3, 5], y_pred=[1, 2, 3, 4]), "mae.value <= 0.2")
    Traceback (most recent call last):
    AssertionError: 1 rule of 1 not kept
    mae.value <= 0.2: fail: forecast 0.25 [0.05, 0.70]
    """
    policy = gate("rules", str(rules))
    if policy is None:  # an empty text
        raise ParameterError(f"rules must be {A_RULE}, got {rules!r}")
    # any study that has a page has findings, a diff too
    judged = judge(policy, study.studies, lambda: study.findings.to_dict("records"))
    for warning in judged.warnings:
        warnings.warn(warning, stacklevel=2)
    unkept = list(judged.unkept)
    if unkept:
        count = len(policy.rules)
        head = f"{count_with_noun(len(unkept), 'rule')} of {count} not kept"
        raise AssertionError(f"{head}\n" + "\n".join(unkept))


def check_rules(policy: Policy | None, studies: Sequence[Study]) -> None:
    """Raise ParameterError for a rule that names what the studies of a report do not have."""
    if policy is not None:
        statements_of_rules(policy.rules, studies)


def statements_of_rules(
    rules: Iterable[PolicyRule], studies: Sequence[Study]
) -> list[list[Statement]]:
    """The statements of each rule, in the order of the rules; none of a rule about the report as a
    whole. Raises ParameterError for a rule that names what the report does not have, or that no
    data could decide.
    """
    statements_by_rule = []
    for rule in rules:
        try:
            of_rule = list(statements(rule.claim, studies))
            for statement in of_rule:
                _check_decidable(rule, statement)
            _check_report(rule.claim, studies)
        except ParameterError as error:
            raise ParameterError(f"{rule.place}: {error}") from None
        statements_by_rule.append(of_rule)
    return statements_by_rule


def _check_report(claim: Claim, studies: Sequence[Study]) -> None:
    """Raise ParameterError for a claim about a report as a whole that the report of these studies
    cannot answer; do nothing for any other claim.
    """
    # only the validation report has a verdict on the evaluation itself, `word`
    if isinstance(claim, Trusted) and all(study.word is None for study in studies):
        raise ParameterError("trusted is a rule of the validation report")
    if isinstance(claim, NoWeakSlice) and not any(study.settings.slices for study in studies):
        raise ParameterError('the report searched no slices; make it with slices="auto" or columns')
    if isinstance(claim, NoWorseSlice):
        _worse_slices(claim, studies)  # which raises for an unknown column or system


def _adjusted(
    statements: Sequence[Statement], evidence: Sequence[significance.Comparison]
) -> list[significance.Comparison]:
    """The evidence of a single rule, with the p-values of its comparisons adjusted by Holm within
    each study, as the report adjusts them; the evidence of systems alone stays as it is.

    evidence: that of each statement, in the same order. All statements of a rule are comparisons,
    or all are about systems alone.
    """
    adjusted = list(evidence)
    # a statement with a second system is a comparison
    for study in {statement.study for statement in statements if statement.second}:
        places = [i for i, statement in enumerate(statements) if statement.study is study]
        comparisons = significance.adjust([evidence[i] for i in places])
        for i, comparison in zip(places, comparisons, strict=True):
            adjusted[i] = comparison
    return adjusted


def _rule_words(rule: PolicyRule, statements: Sequence[Statement]) -> str:
    """A single rule in words: its text; for a rule of comparison a sentence for each metric, which
    names the second system, or the baseline if the rule names none.
    """
    claim = rule.claim
    if not isinstance(claim, ComparisonClaim):
        return rule.that
    question = f"{claim.system or 'every system'} {claim.words} against"
    margin = "" if claim.within is None else f" within {claim.within:g}"
    slices = f" in every {claim.column}" if claim.column else ""
    sentences = []
    for statement in statements:
        second = claim.second or statement.study.settings.baseline
        sentences.append(f"{statement.chosen.label}: {question} {second}{margin}{slices}")
    return "; ".join(dict.fromkeys(sentences))


def _report_row(rule: PolicyRule, studies: Sequence[Study], findings: Findings) -> Row:
    """The row of a rule about the report as a whole, with the columns of `_statement_rows`: its
    texts are empty and its numbers NaN, but for the result and why.
    """
    row: Row = {"metric": "", "system": "", "against": "", "segment": "", "slice": ""}
    row |= dict.fromkeys(("value", "low", "high", "rule_low", "rule_high"), math.nan)
    row |= catching.Catch()._asdict()
    return row | _report_result(rule.claim, studies, findings)._asdict()


class ReportResult(NamedTuple):
    """The result of a rule about the report as a whole, and the reason why it is not kept."""

    result: str | None
    why: str


def _report_result(claim: Claim, studies: Sequence[Study], findings: Findings) -> ReportResult:
    """The result of a claim about the report as a whole: that it has no finding of some kind, that
    no slice is worse than the others, or that the evaluation can be trusted. `why` names what fails
    it (codes of findings, or worse slices), or says why it is not decided; "" if it passes.

    findings: a function that returns the findings of the report, slow to compute.
    """
    if isinstance(claim, NoFinding):
        codes = sorted(
            {finding["code"] for finding in findings() if claim.matches_finding(finding)}
        )
        if codes:
            return ReportResult(FAIL, ", ".join(codes))
        # That nothing was found means something only if it could have been found. A broken design,
        # such as a faulty assignment of users, makes every result of a study void.
        for study in studies:
            why_void = study.broken_design
            if why_void:
                return ReportResult(NOT_DECIDED, why_void)
        if isinstance(claim, NoWeakSlice) and not any(map(_tests_slices, studies)):
            return ReportResult(NOT_DECIDED, obstacle("no_slice_tested"))
        return ReportResult(PASS, "")
    if isinstance(claim, NoWorseSlice):
        worse = _worse_slices(claim, studies)
        result = FAIL if worse else PASS
        return ReportResult(result, ", ".join(worse))
    # The claim is `Trusted`. The validation report is its only study, and its verdict on the
    # evaluation, such as PASS, is the result.
    return ReportResult(studies[0].word, "")


def _tests_slices(study: Study) -> bool:
    """True if any slice of the study was tested for being weak."""
    if not study.settings.slices:
        return False
    return bool(study.detectable_slices()["candidates"].any())


def _worse_slices(claim: NoWorseSlice, studies: Sequence[Study]) -> list[str]:
    """The slices, in words, that are worse than the others of the claim's column, for the system
    that the claim names, or for all systems. Raises ParameterError for an unknown column or system.
    """
    worse = list[str]()
    for study in studies:
        winners.check_column(study, claim.column)
        system = choice("the system", claim.system, study.systems)  # None if the claim names none
        systems = study.systems if system is None else [system]
        worse += winners.worse(study, claim.column, systems)
    return worse


# The statements of a rule -------------------------------------------------------------------------


def statements(claim: Claim, studies: Sequence[Study]) -> Iterator[Statement]:
    """The statements of a claim: one for each study that has the metric of the claim, each system
    that the claim is about, and each slice of its column. A claim about the report as a whole has
    no statements.
    """
    if not isinstance(claim, Bound | ComparisonClaim):  # about the report as a whole
        return
    if isinstance(claim, GapBound):
        yield from _gap_statements(claim, studies)
        return
    if isinstance(claim, PickedBound):
        yield from _picked_statements(claim, studies)
        return
    if isinstance(claim, ComparisonClaim):
        # a study without the second system (the baseline, if the claim names none) cannot answer
        with_second = [
            study for study in studies if (claim.second or study.settings.baseline) in study.systems
        ]
        # If no study has it, all are kept: a diff compares each system with its old report and
        # needs no second one, and for any other study `_second_of_system` raises ParameterError.
        studies = with_second or studies
    for study, chosen in _study_metrics(claim.metric, studies):
        if isinstance(claim, ComparisonClaim):
            second_of_system = _second_of_system(claim, study, chosen)
        else:
            # a system alone is compared with none: ""
            second_of_system = dict.fromkeys(study.subjects(chosen), "")
        slices = _slices(claim.column, study)  # None alone, for all units, without a column
        for name in _systems(claim, list(second_of_system)):
            second = second_of_system[name]
            for slice_or_all in slices:
                yield Statement(claim, study, chosen, name, second, slice_or_all)


def _systems(claim: Bound | ComparisonClaim, systems: Sequence[str]) -> Sequence[str]:
    """The systems that a rule is about: the one that it names, or all of these. Raises
    ParameterError for a name that is not among them.
    """
    system = choice("the system", claim.system, systems)
    return systems if system is None else [system]


def _gap_statements(claim: GapBound, studies: Sequence[Study]) -> Iterator[Statement]:
    """The statements of a rule about the largest gap between the groups of a column: one for each
    study and each system that the rule is about. A gap is one number of all groups, so that no
    statement has a slice or a second system. Raises ParameterError for groups or a metric that the
    report does not have.
    """
    column = claim.column or ""  # never None here: a rule about gaps cannot be written without one
    for study in studies:
        study.group_parts(column)  # called only to raise for a column without groups
        metrics = {chosen.label: chosen for chosen in study.group_metrics}
        label = lookup.label_of("the metric", claim.metric, metrics.values())
        for name in _systems(claim, study.systems):
            yield Statement(claim, study, metrics[label], name, second="", slice=None)


def _picked_statements(claim: PickedBound, studies: Sequence[Study]) -> Iterator[Statement]:
    """The statements of a rule about the highest or the lowest slice of a column: one for each
    study and system. Raises ParameterError for a column without slices, and for any metric but the
    primary one, which alone is computed in slices.
    """
    for study in studies:
        winners.check_column(study, claim.column or "")
        # raises for another metric
        lookup.label_of("the metric of slices", claim.metric, [study.primary_metric])
        for name in _systems(claim, study.systems):
            yield Statement(claim, study, study.primary_metric, name, second="", slice=None)


def _second_of_system(
    claim: ComparisonClaim, study: Study, chosen: metric.MetricAtK
) -> dict[str, str]:
    """Each system of a study that a claim may be about -> the one that it is compared with. Raises
    ParameterError for a metric without a better direction, or a claim that needs a margin.
    """
    if chosen.metric.best == "neither":
        raise ParameterError(f"{chosen.label} has no better direction")
    if claim.words == "better or equivalent" and not (claim.within or study.settings.margin):
        raise ParameterError("'better or equivalent' needs a margin, such as margin=0.01")
    return dict(study.against(chosen, claim.second))


def _check_decidable(rule: PolicyRule, statement: Statement) -> None:
    """Raise ParameterError for a rule of comparison that is always kept, or never, whatever the
    data are. That happens if the study asks a one-sided question, which can find a system only
    better or only worse, and the rule is about the other direction.
    """
    claim = rule.claim
    study = statement.study
    metric = statement.chosen.metric
    alternative = study.settings.alternative
    if not (isinstance(claim, ComparisonClaim) and alternative.one_sided and metric.direction):
        return
    # a better system differs in the direction of the metric: 1 if high values are better, else −1
    asks_for_better = alternative.counts(sign=metric.direction)
    # all results that the claim can have, by the rules of `decided`
    if claim.words == "not worse" and claim.within is not None:
        # Limits decide. A one-sided interval of how much better the system is has one finite limit:
        # a lower one can show that the rule passes, an upper one that it fails.
        decided_result = PASS if asks_for_better else FAIL
        results = [decided_result, CANNOT_TELL]
    else:
        # the verdict decides; "equivalent" needs a margin
        decided_verdict = "better" if asks_for_better else "worse"
        verdicts = [decided_verdict, "cannot tell"]
        if claim.within or study.settings.margin:
            verdicts.append("equivalent")
        result_of_verdict = RESULTS[claim.words]
        results = [result_of_verdict[verdict] for verdict in verdicts]
    is_kept = [rule.is_kept_by(result) for result in results]
    if any(is_kept) and not all(is_kept):  # the data decide
        return
    # the errors that are raised: the rule is never kept, is kept by every result although one of
    # them is "cannot tell", or has only results that pass
    problem = "one_sided_never_kept"
    if all(is_kept) and CANNOT_TELL in results:
        problem = "one_sided_always_kept"
    elif all(is_kept):
        problem = "one_sided_never_fails"
    facts = {"rule": claim.words, "alternative": alternative, "metric": statement.chosen.label}
    better = "higher" if metric.direction > 0 else "lower"
    raise ParameterError(obstacle(problem, better=better, **facts))


class StudyMetric(NamedTuple):
    """A study, and one of its metrics."""

    study: Study
    chosen: metric.MetricAtK


def _study_metrics(label: str | None, studies: Sequence[Study]) -> list[StudyMetric]:
    """The studies that have the metric of this label, each with the metric; without a label all
    studies, each with its primary metric. Raises ParameterError for an unknown label.
    """
    if label is None:
        return [StudyMetric(study, study.primary_metric) for study in studies]
    study_metrics = []
    for study in studies:
        study_metrics += [StudyMetric(study, chosen) for chosen in study.settings.metrics]
    metrics = dict.fromkeys(chosen for _, chosen in study_metrics)
    full_label = lookup.label_of("the metric", label, metrics)
    return [pair for pair in study_metrics if pair.chosen.label == full_label]


def _slices(column: str | None, study: Study) -> Sequence[Slice | None]:
    """The slices of a column; without a column None alone, which stands for all units. Raises
    ParameterError for a column that divides no units of the study.
    """
    if column is None:
        return [None]
    slices = [division for division in study.divisions() if division.column == column]
    if not slices:
        raise ParameterError(
            f"the report has no segments {column!r}; make it with segments={column}"
        )
    return slices
