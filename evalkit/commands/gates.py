"""`evalkit check REPORT POLICY`: whether a report that was made keeps a policy, for people and for
machines.
"""

import json
import shlex
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from evalkit import report
from evalkit.arrays import InputError, Record
from evalkit.commands import requests
from evalkit.drawing.markdown import markdown_line
from evalkit.machine import terminal
from evalkit.pages import first_screen
from evalkit.parameters import reports
from evalkit.parameters.policy import CANNOT_TELL, gate
from evalkit.reading.tables.parts import Source, stamp
from evalkit.studies import diff, planned_rules, policy, study, unit_files

A_FINDING = "none of severity severe"  # a rule that fits every report


def main(options: Namespace) -> int:
    """Judge the report, print the rules as Markdown, write the files that are asked for; return the
    exit status.
    """
    if options.plan is not None:
        return _plan(options)
    with requests.input_errors_refused():
        if options.report is None:
            raise InputError("no report: name one (NAME.json), or --plan POLICY.toml")
        stated_policy = gate("POLICY", options.policy)
        if stated_policy is None:
            command = shlex.join(["evalkit", "check", str(options.report), A_FINDING])
            raise InputError(f"no policy: name a policy file (.toml) or a rule: {command}")
        contents = read_report_contents(options.report)
        judged = policy.judge(stated_policy, contents.studies, lambda: contents.findings)
    terminal.show(markdown(judged, options.report))
    for warning in judged.warnings:
        requests.print_message(f"warning: {warning}", requests.DONE)
    if options.json is not None:
        _write(options.json, f"{report.lines(report.plain(judged.record()))}\n")
    if options.junit is not None:
        _write(options.junit, junit(judged, options.report))
    if judged.passed:
        return requests.DONE
    return requests.print_message(judged.message, requests.GATE)


def _plan(options: Namespace) -> int:
    """Print the smallest regression that each rule of a policy will catch: with the spread that a
    report has, if one is named, else with the spread that the policy's own plan states. Return the
    exit status.
    """
    with requests.input_errors_refused():
        policy_planned = gate("--plan", options.plan)
        assert policy_planned is not None  # `main` calls this only if --plan names one
        if options.report is None:
            statements = planned_rules.planned(policy_planned)
        else:
            contents = read_report_contents(options.report)
            plan = policy_planned.plan
            # None: as many units as the report has
            planned_units = plan.units if plan else None
            judged = policy.judge(
                policy_planned, contents.studies, lambda: contents.findings, planned_units
            )
            statements = judged.statements
            rule_texts = [policy_planned.rules[number].that for number in statements["rule"]]
            statements["that"] = rule_texts
    terminal.show(first_screen.planned(policy_planned, statements).to_markdown())
    return requests.DONE


class ReportContents(NamedTuple):
    """What rules are judged on: the studies of a report, one for each of its tables, and its
    findings, by field.
    """

    studies: list[study.Study]
    findings: list[dict[str, Any]]


def read_report_contents(path: Path) -> ReportContents:
    """The studies and the findings of a report, read from its JSON and its file of units. path: of
    any of its files, or of a folder with one report.

    Raises InputError if one of the two files is missing, or if they are of different inputs.
    """
    if path.is_dir():
        files = sorted(path.glob("*.json"))
    else:
        files = [path.with_name(f"{report.stem(path)}.json")]
    if len(files) != 1:
        got = ", ".join(file.name for file in files) or "no NAME.json"
        raise InputError(f"{path}: must hold the results of one report, got {got}; name one")
    file = files[0]
    try:
        results = json.loads(file.read_text(encoding="utf-8"))
        findings = results["findings"]
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, LookupError, TypeError):
        raise InputError(f"{file}: must be the results of a report (NAME.json)") from None
    if results["report"] == "diff":  # it has no units of its own
        return ReportContents([_study_of_diff(file, results)], findings)
    units_file = unit_files.read([diff.located(file)]).files[0]
    if units_file.file_metadata.get("inputs") != results["inputs"]:
        raise InputError(
            f"{units_file.path}: must be the units of {file.name}, got those of other inputs"
        )
    studies: list[study.Study] = []
    for table in units_file.file_metadata["unit"]:  # the noun of a unit, by the name of the table
        studies.append(unit_files.Recomputed.from_results(units_file, results, table))
    return ReportContents(studies, findings)


def _study_of_diff(file: Path, results: Record) -> diff.Diff:
    """The study of a diff, made again from the files of units of the two reports that it compared.
    file: the JSON of the diff. results: its contents.
    """
    parameters = dict(results["parameters"])
    # rules are judged by the caller, and the earlier reports do not change the comparison
    parameters.pop("gate", None)
    parameters.pop("earlier", None)
    *_earlier, old_source, new_source = results["inputs"]
    for name, source in (("old", old_source), ("new", new_source)):
        if name in parameters:
            parameters[name] = _compared_units(file, parameters[name], source)
    return diff.study_of(reports.DiffParameters.from_raw(parameters))


def _compared_units(file: Path, stated_path: str, source: Record) -> Path:
    """The file of units that a diff compared. Its stated path may start at the working directory or
    at any folder above the JSON of the diff, `file`. The SHA-256 in the record `source` tells the
    file from another one of this name. Raises InputError if there is none.
    """
    for folder in (Path(), *file.resolve().parents):
        with suppress(InputError):  # no file of units there
            units_path = diff.located(folder / Path(stated_path).expanduser())
            found = Source(stated_path, rows=0, path=units_path, size_and_time=stamp(units_path))
            if found.sha256 == source["sha256"]:
                return units_path
    raise InputError(
        f"{file}: the units of {stated_path}, which it compared, are missing or changed; make the "
        f"diff again"
    )


def _write(path: Path, text: str) -> None:
    """Write a text to a file. Raises RequestRefused if that is impossible."""
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise requests.RequestRefused(f"cannot write {path}: {error.strerror}") from None


def markdown(judged: policy.JudgedPolicy, report_path: Path) -> str:
    """The result and the statements of the rules, as a CI service shows them."""
    words = judged.message or f"{judged.words}: kept"
    heading = markdown_line(f"{report.name_with_folder(report_path)}: {words}")
    return f"## {heading}\n\n{first_screen.rules(judged).to_markdown()}"


def junit(judged: policy.JudgedPolicy, report_path: Path) -> str:
    """The rules as a test suite in JUnit's XML, a test case for each rule. A rule that does not
    count as kept is a failure; one that counts as kept although the data cannot tell, as its policy
    allows, is skipped. https://github.com/testmoapp/junitxml
    """
    suite = ElementTree.Element("testsuite", name=judged.policy.name)
    report_name = report.name_with_folder(report_path)
    for rule, result, rows in judged.rules:
        case = ElementTree.SubElement(suite, "testcase", classname=report_name, name=rule.that)
        if not rule.is_kept_by(result):
            outcome = ElementTree.SubElement(case, "failure", message=result)
        elif result == CANNOT_TELL:
            outcome = ElementTree.SubElement(case, "skipped", message=result)
        else:
            continue
        outcome.text = "\n".join(map(first_screen.statement_line, rows.to_dict("records")))
    suite.set("failures", str(len(suite.findall("*/failure"))))
    suite.set("skipped", str(len(suite.findall("*/skipped"))))
    suite.set("tests", str(len(suite)))
    suite.set("errors", "0")
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
