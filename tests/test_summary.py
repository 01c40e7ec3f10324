"""`evalkit summary`: the first screen as a comment and as a mail, and the recipes that use it."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from evalkit import __main__ as command
from evalkit.commands import summary

ROOT = Path(__file__).resolve().parents[1]
EARLIER = sorted((ROOT / "tests/earlier_reports/day1").glob("*.json"))
PIPELINE = (ROOT / "docs/pipeline.md").read_text(encoding="utf-8")
RULES = 'on_cannot_tell = "pass"\n[[rule]]\nthat = "roc_auc.low >= 0.9"\n'
KEPT = {"style", "width", "cellspacing", "cellpadding", "role", "lang", "charset"}


def row(system="m", value=0.8, low=0.7, high=0.9):
    return {"metric": "auc", "system": system, "value": value, "low": low, "high": high}


def results(estimates=None, **more):
    """The results of a small report."""
    known = {"report": "classification", "parameters": {}, "gate": None, "findings": []}
    return known | {"primary": "auc", "estimates": estimates or [row()]} | more


class Tags(HTMLParser):
    """The tags of a page, and their attributes."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize("path", EARLIER, ids=lambda path: path.stem)
def test_a_stored_report_has_a_comment(path, capsys):
    assert command.main(["summary", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"<!-- evalkit {path.stem} -->\n### ")


def test_a_mail_has_no_script_no_style_sheet_and_no_picture_of_its_own():
    tags = Tags(summary.mail(results(), "r"))
    assert not tags.tags & {"script", "style", "link", "svg", "img"}
    assert tags.attributes <= KEPT


def test_a_mail_of_many_systems_and_findings_is_at_most_100_kb():
    finding = {"severity": "warning", "message": "m" * 500, "code": "EK101"}
    many = results([row(f"system {i}") for i in range(500)], findings=[finding] * 100)
    assert len(summary.mail(many, "r").encode()) <= 100_000


def test_an_interval_is_drawn_in_cells_as_wide_as_the_axis():
    page = summary.mail(results([row("a"), row("b", 0.6, 0.5, 0.65)]), "r")
    for axis in re.findall(r'<table role="presentation".*?</table>', page):
        assert sum(map(int, re.findall(r'<td width="(\d+)"', axis))) == summary.WIDTH


def test_an_undefined_value_is_drawn_too():
    assert "–" in summary.mail(results([row(value=None, low=None, high=None)]), "r")


def test_names_are_escaped():
    assert "<b>x" not in summary.mail(results([row("<b>x")]), "r")
    assert "**x" not in summary.comment(results([row()], parameters={"title": "**x"}), "r")


def test_a_gate_and_what_it_catches_are_said():
    statement = {"system": "m", "slice": "", "why": "", "result": "fail", "catches": 0.05}
    rule = {"that": "auc.low >= 0.9", "result": "fail", "statements": [statement]}
    gate = {"rule": "p", "passed": False, "message": "gate failed: p", "rules": [rule]}
    words = summary.comment(results(gate=gate | {"warnings": ["x: can hardly fail"]}), "r")
    assert "gate failed: p" in words
    assert "| auc.low >= 0.9 | fail | m | 0.0500 |" in words
    assert "- warning: x: can hardly fail" in words


def test_what_is_no_report_is_refused(tmp_path, capsys):
    (tmp_path / "x.json").write_text("[]")
    assert command.main(["summary", str(tmp_path / "x.json")]) == 2
    assert "must be the results of a report" in capsys.readouterr().err


# The recipes --------------------------------------------------------------------------------------


def recipe(language, words):
    """The example of the docs that has these words."""
    examples = re.findall(rf"```{language}\n(.*?)```", PIPELINE, re.DOTALL)
    (found,) = [example for example in examples if words in example]
    return found


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with scores, a policy and a report, and commands that write down their arguments."""
    folder = tmp_path_factory.mktemp("desk")
    scores = (ROOT / "data/german_credit/predictions.csv").read_bytes()
    (folder / "scores.csv").write_bytes(scores)
    (folder / "policy.toml").write_text(RULES)
    (folder / "bin").mkdir()
    known = {
        "gh": 'case "$*" in *--jq*) cat known;; esac',
        "mail": "cat > sent.html",
        "evalkit": "",
    }
    for name, act in known.items():
        line = f'echo "{name} $*" >> calls\n{act}\n'
        if name == "evalkit":
            line = f'exec {sys.executable} -m evalkit "$@"\n'
        (folder / "bin" / name).write_text(f"#!/bin/bash\n{line}")
        (folder / "bin" / name).chmod(0o755)
    sent = run(folder, recipe("bash", "weekly.sh"))
    assert "-s Evaluation: exit status 3 team@example.org" in sent
    return folder


def run(folder, script, status=0):
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    facts = {"PATH": path, "PR": "7", "GITHUB_REPOSITORY": "o/r", "PYTHONPATH": str(ROOT)}
    (folder / "calls").write_text("")
    ended = subprocess.run(
        ["bash", "-euc", script], cwd=folder, env={**os.environ, **facts}, timeout=300
    )
    assert ended.returncode == status
    return (folder / "calls").read_text()


def test_the_weekly_mail_has_the_exit_status_and_the_body(desk):
    body = (desk / "sent.html").read_text()
    assert body == (desk / "reports/classification.mail.html").read_text()
    assert (desk / "reports/classification.1.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "known, asked",
    [("", "--method POST repos/o/r/issues/7/"), ("12\n", "PATCH repos/o/r/issues/comments/12")],
)
def test_a_comment_is_made_once_and_then_updated(desk, known, asked):
    (desk / "known").write_text(known)
    calls = run(desk, recipe("bash", "comment.sh"))
    assert asked in calls
    assert 'startswith("<!-- evalkit classification -->")' in calls


def test_the_job_of_gitlab_runs(desk):
    job = yaml.safe_load(recipe("yaml", "evaluate:\n  script"))["evaluate"]
    run(desk, "\n".join(job["script"][1:]), status=3)  # the gate fails
    assert (desk / job["artifacts"]["reports"]["junit"]).exists()


def test_mlflow_gets_each_value_with_its_limits_and_the_page(desk):
    (desk / "mlflow.py").write_text(
        "import contextlib\n"
        "def start_run(run_name): return contextlib.nullcontext()\n"
        "def log_metrics(values): print(sorted(values))\n"
        "def log_artifact(path): print(open(path).name)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", recipe("py", "log_report.py")],
        cwd=desk,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "['roc_auc/gbm', 'roc_auc/gbm/high', 'roc_auc/gbm/low']" in ended.stdout
    assert "reports/classification.html" in ended.stdout


def test_the_task_of_airflow_is_a_command_that_is_parsed():
    source = recipe("py", "evaluation_dag.py")
    compile(source, "evaluation_dag.py", "exec")
    arguments = re.search(r'return "evalkit (.*)"', source)[1].split()
    options = command._parser(ROOT / "notebooks").parse_args(arguments)
    assert dict(options.parameters) == {"preds": "scores.csv", "gate": "policy.toml"}
