"""Whether studies keep a policy: each statement of each rule with its limits at the level that all
rules share.
"""

from __future__ import annotations

import math
import warnings
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
from evalkit.statistics.spread import Interval
from evalkit.studies import catching, winners

if TYPE_CHECKING:
    from evalkit.studies.study import Study

Findings = Callable[[], Iterable[Mapping[str, Any]]]
# of the results of a rule's statements the first decides
ORDER = (FAIL, NOT_DECIDED, CANNOT_TELL, PASS)

ERRORS: dict[inference.Test, Callable[..., sensitivity.ErrorOf]] = {
    methods.flips: sensitivity.error_of_pairs,
    methods.mcnemar: sensitivity.error_of_decisions,
}
VERDICTS = ("better", "equivalent", "cannot tell", "worse")
RESULTS = {
    "better": dict(zip(VERDICTS, (PASS, FAIL, CANNOT_TELL, FAIL), strict=True)),
    "better or equivalent": dict(zip(VERDICTS, (PASS, PASS, CANNOT_TELL, FAIL), strict=True)),
    "not worse": dict(zip(VERDICTS, (PASS, PASS, PASS, FAIL), strict=True)),
}


@dataclass(frozen=True, eq=False)
class Statement:
    """What a rule claims of a system, or of a pair, on all units or in a slice. second: "" of a
    system alone.
    """

    claim: Any
    study: Study
    chosen: metric.MetricAtK
    system: str
    second: str
    part: Slice | None

    @property
    def _member(self) -> dict[str, Any]:
        """The argument that keeps a study to the slice."""
        return {"member": self.part.member} if self.part else {}

    @property
    def _column(self) -> str:
        """The column of the slice, or of all groups or slices; "" for neither."""
        if isinstance(self.claim, ColumnBound):
            return self.claim.column or ""
        return self.part.column if self.part else ""

    def rank(self) -> int:
        """The place of the system in its study's order, best first."""
        order = self.study.order
        return order.index(self.system) if self.system in order else 0

    def evidence(self, study: Study) -> significance.Comparison:
        """The comparison with the second system, not adjusted for others; of a system alone its
        number in its place.
        """
        nothing = inference.undefined(study.settings.level, study.unit_name)
        if study.obstacle(self.chosen, self.system, self.second):
            return nothing
        if isinstance(self.claim, GapBound):
            e = study.largest_gap(self.chosen, self.system, self.claim.column or "")
            return replace(nothing, difference=e)
        if isinstance(self.claim, PickedBound):
            place = self.claim.place
            e = winners.picked_estimate(study, self.claim.column or "", self.system, place)
            return replace(nothing, difference=e)
        if not self.second:
            e = study.deciding_estimate(self.chosen, self.system, **self._member)
            return replace(nothing, difference=e)
        try:
            return study.compare(self.chosen, (self.system, self.second), **self._member)
        except InputError:  # no unit of the slice has both values
            return nothing

    def obstacle(self, evidence: significance.Comparison) -> str:
        """Why no data can decide the statement: nothing was compared, or the comparison says
        nothing; "" if they can.
        """
        reason = self.study.obstacle(self.chosen, self.system, self.second)
        if reason or not self.second:
            return reason
        if self.chosen.metric.direction == 0:
            return obstacle("direction", metric=self.chosen.label)
        if math.isnan(evidence.difference.value):
            unit, metric = self.study.unit_name, self.chosen.label
            return obstacle(
                "no_common_unit", unit=unit, metric=metric, first=self.system, second=self.second
            )
        return ""

    def result(self, evidence: significance.Comparison) -> str:
        """By the limits of a number, and where the rule says how much worse is not worse; else by
        the verdict.
        """
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
        """What the rule catches of the system, or the pair.

        study: at the level that decides. tests: how many comparisons are adjusted together. units:
        planned; None for those that were measured. Without a value nothing is known.
        """
        metric = self.chosen.metric
        e = evidence.difference
        is_unknown = not e.n or math.isnan(e.value)  # no unit of a slice has a value
        if is_unknown or isinstance(self.claim, ColumnBound):
            return catching.Catch()
        level = e.level
        expected_estimate = e.value
        metric_value = e.value
        if self.second:  # the estimate is a difference
            level = study.test_level
            expected_estimate = 0.0
            _, second = self._compared(study)
            metric_value = second.unadjusted().value
        family_level = 1 - (1 - level) / tests
        alternative = study.settings.alternative if self.second else Alternative.TWO_SIDED
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
        """The statistics of both systems."""
        return study.compared(self.chosen, (self.system, self.second), **self._member)

    def _stretch(self, study: Study, n: int, level: float) -> float:
        """How many times further a limit at the margin lies from the estimate than a normal limit
        does: 1 without a margin, and for any test but McNemar's of two shares.
        """
        if not self.second:
            return 1.0
        first, second = self._compared(study)
        margin = self.claim.within or study.settings.margin
        if not margin or inference.method(first.unadjusted()).test is not methods.mcnemar:
            return 1.0
        return sensitivity.stretch_of_decisions(first, second, margin, n, level)

    def _error(
        self, evidence: significance.Comparison, study: Study, level: float, ends: Interval
    ) -> sensitivity.ErrorOf:
        """The standard error as a function of the true value of a system, or of the true difference
        of a pair.
        """
        if not self.second:
            return sensitivity.error_by_value(evidence.difference, ends)
        first, second = self._compared(study)
        error_of = ERRORS.get(inference.method(first.unadjusted()).test)
        if error_of and evidence.unit != "fold":
            return error_of(first, second, evidence, level)

        def detectable(level: float) -> float:
            """The difference that the test detects."""
            pair = (self.system, self.second)
            return study.detectable(self.chosen, pair, evidence, level, **self._member)

        return sensitivity.error_by_difference(detectable, level)

    def row(
        self, usual: significance.Comparison, decides: significance.Comparison, level: float
    ) -> dict[str, object]:
        """The statement with the limits that the report prints (`usual`) and those that decide,
        which must be of this level.
        """
        e = decides.difference
        printed = usual.difference
        why = self.obstacle(decides)
        result = NOT_DECIDED
        if not why:
            result = CANNOT_TELL
            why = self.study.doubt(self.chosen, self.system, self.second)
        if not why and self.claim.may_err and not math.isclose(e.level, level):
            why = f"only its {percent(e.level)} interval is known"
        if not why:
            result = self.result(decides)
        row: dict[str, object] = {
            "metric": self.chosen.label,
            "system": self.system,
            "against": self.second,
            "segment": self._column,
            "slice": self.part.label if self.part else "",
        }
        limits = {
            "value": e.value,
            "low": printed.low,
            "high": printed.high,
            "rule_low": e.low,
            "rule_high": e.high,
        }
        return row | limits | {"result": result, "why": why}


def decided(
    claim: Any, evidence: significance.Comparison, direction: int, margin: float | None
) -> str:
    """The result of a claim about a metric that is better in a direction. margin: of the report."""
    e = evidence.difference
    if isinstance(claim, Bound):
        return claim.result(e.value, e.low, e.high)
    if claim.words == "not worse" and claim.within is not None:
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
    """A rule with its result, and its statements in rows."""

    rule: PolicyRule
    result: str
    statements: pd.DataFrame


@dataclass(frozen=True, eq=False)
class Judged:
    """A policy and its statements, in rows. words: what was asked. tested: how many statements may
    err.

    level: of each of these; None: that of the report.
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
            results = {*rows["result"]}
            result = next(word for word in ORDER if word in results)
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
        """The reasons why rules are not decided, of several rules after the text of each."""
        reasons = []
        for rule, _, rows in self.rules:
            about = "" if self.policy.level is None else f"{rule.that}: "
            undecided = rows["why"][rows["result"] == NOT_DECIDED]
            reasons += [f"{about}{reason}" for reason in undecided]
        return [*dict.fromkeys(reasons)]

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
        if self.failed:
            unmet = f"not met by {', '.join(self.failed)}"
            details = f"{unmet}; not decided: {details}" if details else unmet
        return ": ".join(filter(None, [words, self.words, details]))

    @property
    def sensitive(self) -> bool:
        """Whether it is known what any of the rules catches."""
        return bool(self.statements["unchanged_fails"].notna().any())

    @property
    def warnings(self) -> list[str]:
        """The rules that no regression fails, and those that can hardly fail at their own margin,
        each with its smallest power.

        The distance from a bound is no such margin: what fails there does not depend on the data.
        """
        sentences = []
        for rule, _, rows in self.rules:
            is_bound = rule.catch is None and isinstance(rule.claim, Bound)
            has_power = rows["power"].notna() & (not is_bound)
            never_fails = rows["catches"].isna() & (rows["unchanged_fails"] < sensitivity.BLUNT)
            if (never_fails & ~has_power).all():
                sentences.append(obstacle("no_regression_fails", rule=rule.that))
                continue
            if is_bound:
                continue
            blunt = rows[rows["power"] < sensitivity.BLUNT]  # not those of unknown power
            if blunt.empty:
                continue
            row = blunt.loc[blunt["power"].idxmin()]
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
            evidence = "; ".join(map(_stated, deciding))
            line = f"{rule.that}: {result}: {evidence}"
            yield " ".join(line.split())  # a rule or a name may have line ends

    def record(self) -> dict[str, object]:
        """The result as a report's JSON has it."""
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
    """Judge the rules of a policy, each statement at 1 − α/m, where m is the number of those that
    may err.

    studies: of a report; a rule is about those that have its metric. findings: returns those of the
    report. Bonferroni: whatever depends on what, the probability that a rule that holds fails is at
    most α. units: for which it is said what the rules catch; None for those of the data. Raises
    ParameterError for a rule that names what the report does not have.
    """
    alpha = next((study.settings.alpha for study in studies), None)
    if alpha is not None and not policy.level_stated:
        policy = replace(policy, level=1 - alpha)
    by_rule = asked(policy, studies)
    tested = 0
    for statements in by_rule:
        statements.sort(key=Statement.rank)
        tested += sum(statement.claim.may_err for statement in statements)
    level = None if policy.level is None else 1 - (1 - policy.level) / max(tested, 1)
    if level is None and (alpha is None or isinstance(policy.alone, Bound)):
        deciding = {study: study for study in studies}  # the limits that are printed decide
    else:
        deciding = {study: study.at_level(level or study.settings.test_level) for study in studies}
    rows = []
    for number, (rule, statements) in enumerate(zip(policy.rules, by_rule, strict=True)):
        judged = list(_rows(rule, statements, deciding, level, units))
        if not statements:
            judged = [_of_report(rule, studies, findings)]
        rows += [{"rule": number} | row for row in judged]
    words = f"{policy.name}: {len(policy.rules)} rules"
    if level is None:
        words = _words(policy.rules[0], by_rule[0])
    return Judged(policy, words, pd.DataFrame(rows), level, tested)


def _rows(
    rule: PolicyRule,
    statements: Sequence[Statement],
    deciding: Mapping[Study, Study],
    level: float | None,
    units: int | None,
) -> Iterator[dict[str, Any]]:
    """The row of each statement of a rule, with what the rule catches there.

    deciding: each study at the level that decides. level: of each statement of a policy; None of a
    single rule, whose comparisons are adjusted for each other.
    """
    usual = [statement.evidence(statement.study) for statement in statements]
    decides = [statement.evidence(deciding[statement.study]) for statement in statements]
    if level is None:
        decides = _adjusted(statements, decides)
    for statement, printed, evidence in zip(statements, usual, decides, strict=True):
        study = deciding[statement.study]
        row = statement.row(printed, evidence, study.settings.level)
        tests = 1
        if level is None:
            tests = sum(other.study is statement.study for other in statements)
        caught = catching.Catch()
        if not row["why"]:
            caught = statement.catch(rule, evidence, study, tests, units)
        yield row | caught._asdict()


def _stated(row: Mapping[str, Any]) -> str:
    """A statement in words: of what, the number with the limits that decide, why."""
    system = " − ".join(filter(None, [row["system"], row["against"]]))
    part = " ".join(filter(None, [row["segment"], row["slice"]]))
    number = ""
    if row["metric"]:
        number = numbers.estimate(row["value"], row["rule_low"], row["rule_high"])
    return " ".join(filter(None, [system, part, number, row["why"]]))


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
    if policy is None:
        raise ParameterError(f"rules must be {A_RULE}, got {rules!r}")
    judged = judge(policy, study.studies, lambda: study.findings.to_dict("records"))
    for warning in judged.warnings:
        warnings.warn(warning, stacklevel=2)
    unkept = list(judged.unkept)
    if unkept:
        count = len(policy.rules)
        head = f"{counted(len(unkept), 'rule')} of {count} not kept"
        raise AssertionError("\n".join([head, *unkept]))


def asked(policy: Policy | None, studies: Sequence[Study]) -> list[list[Statement]]:
    """The statements of each rule. Raises ParameterError for a rule that names what the report does
    not have.
    """
    by_rule = []
    for rule in policy.rules if policy else ():
        try:
            by_rule.append(list(statements(rule.claim, studies)))
            for statement in by_rule[-1]:
                _check_decidable(rule, statement)
            if isinstance(rule.claim, Trusted) and all(study.word is None for study in studies):
                raise ParameterError("trusted is a rule of the validation report")
            is_about_slices = isinstance(rule.claim, NoWeakSlice)
            if is_about_slices and not any(study.settings.slices for study in studies):
                raise ParameterError(
                    'the report searched no slices; make it with slices="auto" or columns'
                )
            if isinstance(rule.claim, NoWorseSlice):
                _worse_slices(rule.claim, studies)
        except ParameterError as error:
            raise ParameterError(f"{rule.place}: {error}") from None
    return by_rule


def _adjusted(
    statements: Sequence[Statement], evidence: Sequence[significance.Comparison]
) -> list[significance.Comparison]:
    """The comparisons of a single rule, adjusted by Holm within each study, as the report adjusts
    them.
    """
    adjusted = list(evidence)
    for study in {statement.study for statement in statements if statement.second}:
        places = [i for i, statement in enumerate(statements) if statement.study is study]
        comparisons = significance.adjust([evidence[i] for i in places])
        for i, comparison in zip(places, comparisons, strict=True):
            adjusted[i] = comparison
    return adjusted


def _words(rule: PolicyRule, statements: Sequence[Statement]) -> str:
    """A single rule in words."""
    claim = rule.claim
    if not isinstance(claim, Against):
        return rule.that
    question = f"{claim.system or 'every system'} {claim.words} against"
    within = "" if claim.within is None else f" within {claim.within:g}"
    slices = f" in every {claim.column}" if claim.column else ""
    sentences = []
    for statement in statements:
        second = claim.second or statement.study.settings.baseline
        sentences.append(f"{statement.chosen.label}: {question} {second}{within}{slices}")
    return "; ".join(dict.fromkeys(sentences))


def _of_report(rule: PolicyRule, studies: Sequence[Study], findings: Findings) -> dict[str, Any]:
    """The row of a rule about the report as a whole."""
    row: dict[str, Any] = {"metric": "", "system": "", "against": "", "segment": "", "slice": ""}
    row |= dict.fromkeys(("value", "low", "high", "rule_low", "rule_high"), math.nan)
    row |= catching.Catch()._asdict()
    if isinstance(rule.claim, NoFinding):
        codes = sorted({finding["code"] for finding in findings() if rule.claim.bars(finding)})
        if codes:
            return row | {"result": FAIL, "why": ", ".join(codes)}
        for study in studies:
            if study.broken_design:
                return row | {"result": NOT_DECIDED, "why": study.broken_design}
        is_about_slices = isinstance(rule.claim, NoWeakSlice)
        if is_about_slices and not any(map(_tests_slices, studies)):
            return row | {"result": NOT_DECIDED, "why": obstacle("no_slice_tested")}
        return row | {"result": PASS, "why": ""}
    if isinstance(rule.claim, NoWorseSlice):
        worse = _worse_slices(rule.claim, studies)
        if worse:
            return row | {"result": FAIL, "why": ", ".join(worse)}
        return row | {"result": PASS, "why": ""}
    return row | {"result": studies[0].word, "why": ""}


def _tests_slices(study: Study) -> bool:
    """Whether any slice of the study was tested for being weak."""
    return bool(study.settings.slices) and bool(study.detectable_slices()["candidates"].any())


def _worse_slices(claim: NoWorseSlice, studies: Sequence[Study]) -> list[str]:
    """The slices that are worse than the others of their column. Raises ParameterError for an
    unknown column or system.
    """
    worse = []
    for study in studies:
        winners.check_column(study, claim.column)
        system = choice("the system", claim.system, study.systems)
        systems = study.systems if system is None else [system]
        worse += winners.worse(study, claim.column, systems)
    return worse


# The statements of a rule -------------------------------------------------------------------------


def statements(claim: Claim, studies: Sequence[Study]) -> Iterator[Statement]:
    """The statements of a rule about systems or pairs, of the studies that have its metric; none of
    another rule.
    """
    if not isinstance(claim, Bound | Against):
        return
    if isinstance(claim, GapBound):
        yield from _gap_statements(claim, studies)
        return
    if isinstance(claim, PickedBound):
        yield from _picked_statements(claim, studies)
        return
    if isinstance(claim, Against):
        with_second = [
            study for study in studies if (claim.second or study.settings.baseline) in study.systems
        ]
        studies = with_second or studies  # where none has it, each says so
    for study, chosen in _measured(claim.metric, studies):
        if isinstance(claim, Against):
            second_of_system = _pairs(claim, study, chosen)
        else:
            second_of_system = dict.fromkeys(study.subjects(chosen), "")
        slices = _slices(claim.column, study)
        for name in _systems(claim, [*second_of_system]):
            for part in slices:
                yield Statement(claim, study, chosen, name, second_of_system[name], part)


def _systems(claim: Bound | Against, systems: Sequence[str]) -> Sequence[str]:
    """The systems that a rule is about: the one that it names, or all of these. Raises
    ParameterError for a name that is not among them.
    """
    system = choice("the system", claim.system, systems)
    return systems if system is None else [system]


def _gap_statements(claim: GapBound, studies: Sequence[Study]) -> Iterator[Statement]:
    """The statements of a rule about the largest gap between groups."""
    for study in studies:
        study.group_parts(claim.column or "")  # raises where there are no such groups
        metrics = {chosen.label: chosen for chosen in study.group_metrics}
        metric = lookup.label_of("the metric", claim.metric, metrics.values())
        for name in _systems(claim, study.systems):
            yield Statement(claim, study, metrics[metric], name, "", None)


def _picked_statements(claim: PickedBound, studies: Sequence[Study]) -> Iterator[Statement]:
    """The statements of a rule about the highest or the lowest slice. Raises ParameterError for a
    metric that slices do not have.
    """
    for study in studies:
        winners.check_column(study, claim.column or "")
        lookup.label_of("the metric of slices", claim.metric, [study.primary])
        for name in _systems(claim, study.systems):
            yield Statement(claim, study, study.primary, name, "", None)


def _pairs(claim: Against, study: Study, chosen: metric.MetricAtK) -> dict[str, str]:
    """Each system, and the one that it is compared with."""
    if chosen.metric.best == "neither":
        raise ParameterError(f"{chosen.label} has no better direction")
    if claim.words == "better or equivalent" and not (claim.within or study.settings.margin):
        raise ParameterError("'better or equivalent' needs a margin, such as margin=0.01")
    return dict(study.against(chosen, claim.second))


def _check_decidable(rule: PolicyRule, statement: Statement) -> None:
    """Raise ParameterError for a rule that a one-sided question always keeps, or never."""
    claim = rule.claim
    study = statement.study
    metric = statement.chosen.metric
    alternative = study.settings.alternative
    if not (isinstance(claim, Against) and alternative.one_sided and metric.direction):
        return
    improves = alternative.counts(metric.direction)
    if claim.words == "not worse" and claim.within is not None:
        results = [PASS if improves else FAIL, CANNOT_TELL]
    else:
        verdicts = ["better" if improves else "worse", "cannot tell"]
        if claim.within or study.settings.margin:
            verdicts.append("equivalent")
        results = [RESULTS[claim.words][verdict] for verdict in verdicts]
    is_kept = [rule.is_kept_by(result) for result in results]
    if any(is_kept) and not all(is_kept):
        return
    problem = "one_sided_never_kept"
    if all(is_kept) and CANNOT_TELL in results:
        problem = "one_sided_always_kept"
    elif all(is_kept):
        problem = "one_sided_never_fails"
    facts = {"rule": claim.words, "alternative": alternative, "metric": statement.chosen.label}
    better = "higher" if metric.direction > 0 else "lower"
    raise ParameterError(obstacle(problem, better=better, **facts))


def _measured(label: str | None, studies: Sequence[Study]) -> list[tuple[Study, metric.MetricAtK]]:
    """The studies that have a metric, and the metric; None: the one that decides."""
    if label is None:
        return [(study, study.primary) for study in studies]
    measured = []
    for study in studies:
        measured += [(study, chosen) for chosen in study.settings.metrics]
    metrics = dict.fromkeys(chosen for _, chosen in measured)
    asked = lookup.label_of("the metric", label, metrics)
    return [(study, chosen) for study, chosen in measured if chosen.label == asked]


def _slices(column: str | None, study: Study) -> Sequence[Slice | None]:
    """The slices of a column; None, for all units, without a column."""
    if column is None:
        return [None]
    slices = [part for part in study.divisions() if part.column == column]
    if not slices:
        raise ParameterError(
            f"the report has no segments {column!r}; make it with segments={column}"
        )
    return slices
