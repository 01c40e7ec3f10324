"""`evalkit check REPORT POLICY`: whether a report that was made keeps a policy, for people and for machines."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from evalkit import report
from evalkit.commands import requests
from evalkit.commands.requests import DONE, GATE, Refused
from evalkit.drawing.exports import plain
from evalkit.pages import first_screen
from evalkit.parameters.kinds import required
from evalkit.parameters.policy import CANNOT_TELL, gate
from evalkit.studies import policy, recomputed
from evalkit.studies.policy import Judged


def main(options: Any) -> int:
    """Judge the report, print the rules as Markdown, write the files that are asked for; return the exit status."""
    with requests.one_line():
        asked = required("POLICY", gate("POLICY", options.policy))
        studies, findings = recomputed.of_report(options.report)
        judged = policy.judge(asked, studies, lambda: findings)
    print(markdown(judged, options.report))
    for path, text in (
        (options.json, f"{report.lines(plain(judged.record()))}\n"),
        (options.junit, junit(judged, options.report)),
    ):
        if path is not None:
            _write(path, text)
    return DONE if judged.passed else GATE


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise Refused(f"cannot write {path}: {error.strerror}") from None


def markdown(judged: Judged, of: Path) -> str:
    """The result and the statements of the rules, as a CI service shows them."""
    words = "kept" if judged.passed else f"not kept: {', '.join(judged.failed)}"
    return f"## {report.shown(of)}: {judged.words}: {words}\n\n{first_screen.rules(judged).to_markdown()}"


def junit(judged: Judged, of: Path) -> str:
    """The rules as a test suite: a rule that is not kept is a failure, one that the data do not tell is skipped.

    https://github.com/testmoapp/junitxml
    """
    suite = ElementTree.Element("testsuite", name=judged.policy.name)
    kinds = []
    for rule, result, rows in judged.rules:
        case = ElementTree.SubElement(suite, "testcase", classname=report.shown(of), name=rule.that)
        kinds.append("failures" if not rule.kept(result) else "skipped" if result == CANNOT_TELL else "")
        if kinds[-1]:
            said = ElementTree.SubElement(case, kinds[-1].removesuffix("s"), message=result)
            said.text = "\n".join(map(first_screen.statement, rows.to_dict("records")))
    counts = {name: kinds.count(name) for name in ("failures", "skipped")} | {"tests": len(kinds), "errors": 0}
    suite.attrib |= {name: str(count) for name, count in counts.items()}
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
