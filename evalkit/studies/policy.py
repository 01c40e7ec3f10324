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
from evalkit.numbers import counted, percent
from evalkit.parameters.kinds import choice
from evalkit.parameters.policy import (
    A_RULE,
    CANNOT_TELL,
    FAIL,
    NOT_DECIDED,
    PASS,
    Against,
    Bound,
    Claim,
    ColumnBound,
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
    from evalkit.studies.study import Member, Row, Study

Findings = Callable[[], Iterable[Mapping[str, Any]]]  # returns those of a report, as in its JSON
# the results of the statements of a rule; the first of these that occurs is that of the rule
RESULTS_BY_PRIORITY = (FAIL, NOT_DECIDED, CANNOT_TELL, PASS)

# test -> a function that makes the standard error by the true difference, where the rows tell it
ERRORS: dict[inference.TestFunction, Callable[..., sensitivity.ErrorOf]] = {
    methods.flips: sensitivity.error_of_pairs,
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

    claim: Bound | Against
    study: Study
    chosen: metric.MetricAtK
    system: str
    second: str
    slice: Slice | None

    @property
    def _member(self) -> Member:
        """The units that the statement is about, as studies take them."""
        if self.slice is None:
            return self.study.all_units
        member: Member = self.slice.member
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
        """The comparison of the system with the second one, not adjusted for other comparisons;
        undefined if it cannot be computed.

        All statements have evidence of one type. A claim about a system alone has no comparison: it
        has an undefined one, in which only `difference` is set, to the number that the claim is
        about, with its limits.

        study: that of the statement, or the same at another level.
        """
        undefined = inference.undefined(study.settings.level, study.unit_name)
        if study.obstacle(self.chosen, self.system, self.second):  # the reason, "" if there is none
            return undefined
        if not self.second:
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
        """How likely the rule fails if the system gets worse, as columns of the statement: the
        power of the rule in samples like this one. All are NaN if the evidence has no value, or if
        the claim is about a whole column, such as the largest gap, whose power is not known.

        rule: that of the statement. evidence: as `evidence` returns it. study: that of the
        statement at the level that decides, from which the evidence is. tests: how many comparisons
        are adjusted together. units: the planned number of units; None for that of the evidence.
        """
        metric = self.chosen.metric
        e = evidence.difference  # the difference of a pair, or the number of a system alone
        is_unknown = not e.n or math.isnan(e.value)  # no unit of a slice has a value
        if is_unknown or isinstance(self.claim, ColumnBound):
            return catching.Catch()

        # what is expected of an unchanged model, and the level of its limits
        if self.second:
            level = study.test_level
            expected_estimate = 0.0  # it does not differ from the second system
            _, second = self._compared(study)
            metric_value = second.unadjusted().value  # the raw value, without adjustment
            alternative = study.settings.alternative
        else:
            level = e.level
            expected_estimate = e.value
            metric_value = e.value
            alternative = Alternative.TWO_SIDED
        # Holm's first step: at this level a comparison is significant whatever the others are
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
            stretch=self._stretch(study, n, alternative.two_sided_level(level)),
        )
        return catching.catch(rule, measured.of_units(n), self.result)

    def _compared(self, study: Study) -> tuple[Any, Any]:
        """The statistics of the metric of the system and of the second one."""
        return study.compared(self.chosen, (self.system, self.second), self._member)

    def _stretch(self, study: Study, n: int, level: float) -> float:
        """How many times further a limit at the margin lies from the estimate than a normal limit
        does, in a sample of n units; 1 if normal limits are good enough.

        They are not for the difference of two shares that McNemar's test compares. Its limits are
        Tango's, which lie further away, and matter where a margin decides.

        study: that of the statement at the level that decides. level: of the two-sided limits.
        """
        if not isinstance(self.claim, Against):
            return 1.0
        first, second = self._compared(study)
        margin = self.claim.within or study.settings.margin
        test = inference.method(first.unadjusted()).test
        if not margin or test is not methods.mcnemar:
            return 1.0
        return sensitivity.stretch_of_decisions(first, second, margin, n, level)

    def _error(
        self, evidence: significance.Comparison, study: Study, level: float, ends: Interval
    ) -> sensitivity.ErrorOf:
        """The standard error as a function of the true value of a system, or of the true difference
        of a pair.

        evidence: as `evidence` returns it. study: that of the statement at the level that decides.
        level: of the two-sided test, adjusted for the other comparisons. ends: the lowest and the
        highest value of the metric.
        """
        if not self.second:
            return sensitivity.error_by_value(evidence.difference, ends)
        first, second = self._compared(study)
        test = inference.method(first.unadjusted()).test
        error_from_rows = ERRORS.get(test)  # None if the rows or units do not tell the error
        # nor do they for a comparison by fold, whose error is that of the folds
        if error_from_rows and evidence.unit != "fold":
            return error_from_rows(first, second, evidence, level)

        # the error is recovered from the differences that the test detects
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
        reason for a result that does not follow from the limits, else "".

        The result is NOT_DECIDED if the data cannot decide, and CANNOT_TELL if the limits at the
        level that decides are not known. Otherwise it follows from the deciding limits.

        printed, deciding: what `evidence` returns at the level of the report, and at the level that
        decides. level: the latter.
        """
        e = deciding.difference
        why = self.obstacle(deciding)
        if why:
            result = NOT_DECIDED
        else:
            why = self._doubt(deciding, level)
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
    claim: Bound | Against,
    evidence: significance.Comparison,
    direction: int,
    margin: float | None,
) -> str:
    """The result of a claim: pass, fail or cannot tell.

    A bound is decided by a number and its limits, "not worse within a margin" by the limits of the
    difference, and any other comparison by its verdict. evidence: as `Statement.evidence` returns
    it. direction: 1 if higher values of the metric are better, −1 if lower ones are. margin: that
    of the report, which is used if the claim states none.
    """
    e = evidence.difference
    if isinstance(claim, Bound):
        return claim.result(e.value, e.low, e.high)
    if claim.words == "not worse" and claim.within is not None:
        # limits of how much better the first system is, whichever direction is better
        low, high = sorted((e.low * direction, e.high * direction))
        if low > -claim.within:
            return PASS
        if high < -claim.within:
            return FAIL
        return CANNOT_TELL
    margin = claim.within or margin
    verdict = significance.verdict(evidence, margin=margin, direction=direction)
    return RESULTS[claim.words][verdict]


class JudgedRule(NamedTuple):
    """A rule with its result, and the rows of its statements; see `Judged`."""

    rule: PolicyRule
    result: str
    statements: pd.DataFrame


@dataclass(frozen=True, eq=False)
class Judged:
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
    def undecided(self) -> list[str]:
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
        only_undecided = bool(self.undecided) and not self.failed
        words = "gate not decided" if only_undecided else "gate failed"
        details = "; ".join(self.undecided)
        if self.failed:  # rules of a policy, or systems that fail a single rule
            unmet = f"not met by {', '.join(self.failed)}"
            details = f"{unmet}; not decided: {details}" if details else unmet
        return ": ".join(filter(None, [words, self.words, details]))

    @property
    def sensitive(self) -> bool:
        """Whether it is known what any of the rules catches."""
        return bool(self.statements["unchanged_fails"].notna().any())

    @property
    def warnings(self) -> list[str]:
        """A sentence for each rule that can hardly fail: that no regression fails it, or how small
        its smallest power is at a regression of its margin.

        The power at the margin says nothing of a bound whose rule states no regression to catch:
        the margin is then the distance of the bound from the value, and a model that is worse by
        this distance lies on the bound, where the probability to fail is the same whatever the data
        are.
        """
        sentences = []
        for rule, _, rows in self.rules:
            is_bound_without_margin = rule.catch is None and isinstance(rule.claim, Bound)
            # statements whose power at the margin is known (not NaN), and says something
            has_power = rows["power"].notna() & (not is_bound_without_margin)
            # Statements that no regression fails with 80% probability, and that an unchanged model
            # is known to fail with a small one: unknown, it is NaN, which is not below.
            catches_nothing = rows["catches"].isna() & (rows["unchanged_fails"] < sensitivity.BLUNT)
            # first kind of sentence, without numbers: no statement has a power to name
            if (catches_nothing & ~has_power).all():
                sentences.append(obstacle("no_regression_fails", rule=rule.that))
                continue
            # second kind: with the smallest power of a statement, if it is too small
            if is_bound_without_margin:
                continue
            blunt = rows[rows["power"] < sensitivity.BLUNT]  # unknown power, NaN, is not below
            if blunt.empty:
                continue
            row = blunt.loc[blunt["power"].idxmin()]
            # the sentence names `catches`, unless it is NaN: nothing is caught with 80% probability
            kind = "never_fails" if math.isnan(row["catches"]) else "hardly_fails"
            facts = {
                "margin": numbers.number(row["margin"]),
                "power": numbers.share(row["power"]),
                "caught": numbers.number(row["catches"]),
            }
            sentences.append(obstacle(kind, rule=rule.that, **facts))
        return sentences

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
            "undecided": self.undecided,
            "message": self.message,
            "warnings": self.warnings,
            "level": self.policy.level,
            "level_of_each": self.level,
            "rules": rules,
        }


def judge(
    policy: Policy, studies: Sequence[Study], findings: Findings, units: int | None = None
) -> Judged:
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
    n_may_err = 0
    for statements in statements_by_rule:
        statements.sort(key=Statement.rank)
        n_may_err += sum(statement.claim.may_err for statement in statements)
    # of each statement; None for a single rule, which has no level of its own
    level = None if policy.level is None else 1 - (1 - policy.level) / max(n_may_err, 1)
    # `deciding`: each study -> the same at the level that decides
    if level is None and (alpha is None or isinstance(policy.alone, Bound)):
        # the limits that the report prints decide
        deciding = {study: study for study in studies}
    else:
        # a single rule of comparison is decided at the level of tests, 1 − alpha
        deciding = {study: study.at_level(level or study.settings.test_level) for study in studies}
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
    return Judged(policy, words, pd.DataFrame(rows), level, n_may_err)


def _statement_rows(
    rule: PolicyRule,
    statements: Sequence[Statement],
    deciding: Mapping[Study, Study],
    level: float | None,
    units: int | None,
) -> Iterator[Row]:
    """Yield the row of each statement of a rule: the columns of `Statement.row`, and the fields of
    `catching.Catch`, NaN where the statement is not decided.

    deciding: each study -> the same at the level that decides. level: of each statement of a policy
    file, already adjusted for their number; None for a single rule, whose comparisons are adjusted
    for each other here. units: as in `judge`.
    """
    # the report prints its own limits; others may decide
    all_printed = [statement.evidence(statement.study) for statement in statements]
    all_deciding = [statement.evidence(deciding[statement.study]) for statement in statements]
    if level is None:
        all_deciding = _adjusted(statements, all_deciding)
    statements_of_study = Counter(statement.study for statement in statements)
    for statement, printed, evidence in zip(statements, all_printed, all_deciding, strict=True):
        study = deciding[statement.study]
        row = statement.row(printed, evidence, study.settings.level)
        # how many comparisons are adjusted together: none beside this one in a policy file
        tests = 1 if level is not None else statements_of_study[statement.study]
        caught = catching.Catch()
        if not row["why"]:  # the limits decide
            caught = statement.catch(rule, evidence, study, tests, units)
        yield row | caught._asdict()


def _statement_words(row: Row) -> str:
    """A row of `Judged.statements` in words: the system or pair, the slice, the number with the
    limits that decide, and why it is not decided. Texts that are "" are left out.
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
        head = f"{counted(len(unkept), 'rule')} of {count} not kept"
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
    if not isinstance(claim, Against):
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
    no slice is worse than the others, or that the evaluation can be trusted.

    findings: returns the findings of the report. `why` of the result has the codes of findings or
    the worse slices of a claim that fails, and the reason for a claim that is not decided.
    """
    if isinstance(claim, NoFinding):
        codes = sorted({finding["code"] for finding in findings() if claim.bars(finding)})
        if codes:
            return ReportResult(FAIL, ", ".join(codes))
        # the absence of findings means something only if results count, and slices were tested
        for study in studies:
            if study.broken_design:
                return ReportResult(NOT_DECIDED, study.broken_design)
        if isinstance(claim, NoWeakSlice) and not any(map(_tests_slices, studies)):
            return ReportResult(NOT_DECIDED, obstacle("no_slice_tested"))
        return ReportResult(PASS, "")
    if isinstance(claim, NoWorseSlice):
        worse = _worse_slices(claim, studies)
        result = FAIL if worse else PASS
        return ReportResult(result, ", ".join(worse))
    # `Trusted`: the validation report's verdict on the evaluation is the result
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
    if not isinstance(claim, Bound | Against):  # about the report as a whole
        return
    if isinstance(claim, GapBound):
        yield from _gap_statements(claim, studies)
        return
    if isinstance(claim, PickedBound):
        yield from _picked_statements(claim, studies)
        return
    if isinstance(claim, Against):
        # of several studies, those that have the second system, or the baseline if the claim names
        # none
        with_second = [
            study for study in studies if (claim.second or study.settings.baseline) in study.systems
        ]
        # If no study has it, `_second_of_system` raises ParameterError below. Only a diff does not:
        # it pairs its systems without it.
        studies = with_second or studies
    for study, chosen in _study_metrics(claim.metric, studies):
        if isinstance(claim, Against):
            second_of_system = _second_of_system(claim, study, chosen)
        else:
            second_of_system = dict.fromkeys(study.subjects(chosen), "")  # compared with none
        slices = _slices(claim.column, study)
        for name in _systems(claim, list(second_of_system)):
            for slice_or_all in slices:
                second = second_of_system[name]
                yield Statement(claim, study, chosen, name, second, slice_or_all)


def _systems(claim: Bound | Against, systems: Sequence[str]) -> Sequence[str]:
    """The systems that a rule is about: the one that it names, or all of these. Raises
    ParameterError for a name that is not among them.
    """
    system = choice("the system", claim.system, systems)
    return systems if system is None else [system]


def _gap_statements(claim: GapBound, studies: Sequence[Study]) -> Iterator[Statement]:
    """The statements of a rule about the largest gap between the groups of a column: one for each
    study and system. Raises ParameterError for groups or a metric that the report does not have.
    """
    for study in studies:
        # the rule names a column, as every `ColumnBound` does; this raises if it has no groups
        study.group_parts(claim.column or "")
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
        lookup.label_of("the metric of slices", claim.metric, [study.primary])  # raises for another
        for name in _systems(claim, study.systems):
            yield Statement(claim, study, study.primary, name, second="", slice=None)


def _second_of_system(claim: Against, study: Study, chosen: metric.MetricAtK) -> dict[str, str]:
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
    data are, because the study asks a one-sided question: it can find out only that the first
    system is better, or only that it is worse, and the rule is about the other direction.
    """
    claim = rule.claim
    study = statement.study
    metric = statement.chosen.metric
    alternative = study.settings.alternative
    if not (isinstance(claim, Against) and alternative.one_sided and metric.direction):
        return
    # True if the question is whether the first system is better, False if it is worse
    asks_for_better = alternative.counts(metric.direction)
    # all results that data can lead to, as in `decided`
    if claim.words == "not worse" and claim.within is not None:
        # Decided by the limits of how much better the first system is. A one-sided question has one
        # of them: the lower one, by which the rule passes, or the upper one, by which it fails.
        decided_result = PASS if asks_for_better else FAIL
        results = [decided_result, CANNOT_TELL]
    else:
        # decided by the verdict
        decided_verdict = "better" if asks_for_better else "worse"
        verdicts = [decided_verdict, "cannot tell"]
        if claim.within or study.settings.margin:
            verdicts.append("equivalent")
        results = [RESULTS[claim.words][verdict] for verdict in verdicts]
    is_kept = [rule.is_kept_by(result) for result in results]
    if any(is_kept) and not all(is_kept):  # the data decide
        return
    problem = "one_sided_never_kept"
    if all(is_kept) and CANNOT_TELL in results:  # as the rule is kept on "cannot tell"
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
        return [StudyMetric(study, study.primary) for study in studies]
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
