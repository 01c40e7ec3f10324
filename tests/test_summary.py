"""`evalkit summary`: the first screen as a comment and as a mail, and the recipes that use it."""

import html
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl
import mistune
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
    known["inputs"] = [{"name": "week/scores.csv"}]
    return known | {"primary": "auc", "estimates": estimates or [row()]} | more


def comparison(second, verdict="better"):
    limits = {"difference": 0.1, "low": 0.05, "high": 0.15}
    return {"metric": "auc", "first": "m", "second": second, "verdict": verdict} | limits


def rule(that="auc.low >= 0.9", result="pass", catches=(0.05,)):
    """A rule of a gate, with a statement for each regression that it catches."""
    statement = {"system": "m", "slice": "", "why": "", "result": result}
    statements = [statement | {"catches": size} for size in catches]
    return {"that": that, "result": result, "kept": result == "pass", "statements": statements}


def gate(*rules):
    return {"rule": "p", "passed": True, "message": "", "rules": list(rules), "warnings": []}


def finding(severity, message):
    return {"severity": severity, "message": message}


def cells_of_axis(**values):
    """Width and colour of each cell of the axis of a system in a mail."""
    strip = re.search(
        r'<table role="presentation".*?</table>', summary.mail(results([row(**values)]), "r")
    )
    return re.findall(r'<td width="(\d+)".*?background-color:([^;]+)', strip[0])


@pytest.fixture
def printed(tmp_path, capsys):
    """What the command prints for the contents of NAME.json, after checking its status."""

    def run_command(contents, *options, status=0):
        (tmp_path / "r.json").write_text(json.dumps(contents))
        assert command.main(["summary", str(tmp_path / "r.json"), *options]) == status
        captured = capsys.readouterr()
        return captured.err if status else captured.out

    return run_command


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
    findings = [finding("warning", "m" * 500)] * 100
    many = results([row(f"system {i}") for i in range(500)], findings=findings)
    assert len(summary.mail(many, "r").encode()) <= 100_000


def test_an_interval_is_drawn_in_cells_as_wide_as_the_axis():
    page = summary.mail(results([row("a"), row("b", 0.6, 0.5, 0.65)]), "r")
    for axis in re.findall(r'<table role="presentation".*?</table>', page):
        assert sum(map(int, re.findall(r'<td width="(\d+)"', axis))) == summary.WIDTH


def test_an_undefined_value_is_a_dash():
    assert "–" in summary.mail(results([row(value=None, low=None, high=None)]), "r")


def test_an_undefined_value_is_not_drawn():
    cells = cells_of_axis(value=None, low=None, high=None)
    assert cells == [(str(summary.WIDTH), "transparent")]


def test_limits_without_a_value_are_not_drawn():
    assert cells_of_axis(value=None) == [(str(summary.WIDTH), "transparent")]


def test_a_value_without_limits_is_a_dot_without_a_whisker():
    coloured = [cell for cell in cells_of_axis(low=None, high=None) if cell[1] != "transparent"]
    assert [width for width, _ in coloured] == [str(summary.DOT)]


def test_an_interval_narrower_than_its_dot_is_as_wide_as_the_axis():
    page = summary.mail(results([row("a", 0.8, 0.7999, 0.8001), row("b")]), "r")
    axis = re.search(r'<table role="presentation".*?</table>', page)[0]
    assert sum(map(int, re.findall(r'<td width="(\d+)"', axis))) == summary.WIDTH


def test_names_are_escaped():
    assert "<b>x" not in summary.mail(results([row("<b>x")]), "r")
    assert "**x" not in summary.comment(results([row()], parameters={"title": "**x"}), "r")


@pytest.mark.parametrize(
    "name, shown",
    [
        ("![x](http://example.org/p.png)", "!\\[x\\](http:&#8203;//example.org/p.png)"),
        ("a\n# Passed", "a \\# Passed"),
        ("\\*x\\*", "\\\\\\*x\\\\\\*"),
        ("~~x~~", "\\~\\~x\\~\\~"),
        ("<img src=x>", "&lt;img src=x>"),
    ],
)
def test_a_name_is_no_markdown(name, shown):
    assert f"**{shown}: auc 0.8**" in summary.comment(results([row(name)]), "r").splitlines()


def as_a_forge_shows_it(markdown):
    """The HTML of Markdown with bare URLs as links, without references to characters."""
    return html.unescape(
        str(mistune.create_markdown(escape=False, plugins=["table", "url"])(markdown))
    )


@pytest.mark.parametrize(
    "name",
    [
        "see https://example.org/a_b",
        "FTP://example.org",
        "www.example.org",
        "ann@example.org",
        "@ann",
        "(@ann/team)",
        "fixes #12",
        "group/kit!12",
    ],
)
def test_a_name_is_no_link_and_no_mention(name):
    page = as_a_forge_shows_it(summary.comment(results([row(name)]), "r"))
    linked = r"<a |://|www\.|(?<![A-Za-z0-9])@\w|\w@[\w-]+\.\w|[#!]\d"
    assert not re.search(linked, page)
    assert f"<td>{name}</td>" in re.sub(' style="[^"]*"', "", page).replace("\u200b", "")


def test_a_metric_with_its_cut_off_stays_as_it_is():
    assert "| ndcg@10 |" in summary.comment(results([row("ndcg@10")]), "r")


@pytest.mark.parametrize("message", ["# x", "> x", "1. x", "- x", "---"])
def test_a_message_at_the_start_of_a_line_is_no_markdown(message):
    lines = summary.comment(results(gate=gate() | {"message": message}), "r").splitlines()
    assert message not in lines


def test_a_report_without_a_name_of_its_own_is_called_after_its_input():
    assert "### Classification: week/scores.csv\n" in summary.comment(results(), "classification")
    assert "### Classification: may\n" in summary.comment(results(), "may")


def test_a_report_of_several_files_is_called_after_their_folder():
    inputs = [{"name": "data/runs/a.run"}, {"name": "data/qrels.txt"}]
    assert summary.title(results(inputs=inputs), "classification") == "Classification: data"


def test_a_diff_is_called_after_both_reports():
    inputs = [{"name": "old/a"}, {"name": "new/a"}]
    diff = results(report="diff", inputs=inputs)
    assert summary.title(diff, "diff") == "Diff: new/a against old/a"


def test_the_answer_is_that_of_the_first_screen():
    sentences = ["m is better than n: AUC is 0.8 instead of 0.7.", "But by F1 m is worse."]
    lines = summary.comment(results(answer=sentences), "r").splitlines()
    assert f"**{sentences[0]}**" in lines
    assert sentences[1] in lines
    assert all(sentence in summary.mail(results(answer=sentences), "r") for sentence in sentences)


def test_an_earlier_report_without_an_answer_has_its_verdict_in_a_line():
    words = summary.comment(results(headline=[comparison("n")]), "r")
    assert "**better: m − n on auc +0.10 [+0.05, +0.15]**" in words


def test_a_verdict_has_the_minus_of_the_page():
    lower = comparison("n") | {"difference": -0.1, "low": -0.15, "high": -0.05}
    assert "−0.10" in summary.comment(results(headline=[lower]), "r")
    assert "-0." not in summary.comment(results(headline=[lower]), "r")


def test_a_metric_of_the_catalogue_has_the_name_that_people_say():
    assert "| system | ROC AUC |" in summary.comment(results([row() | {"metric": "roc_auc"}]), "r")


def test_columns_of_words_stand_left():
    words = summary.comment(results(headline=[comparison("n")]), "r")
    assert "| :-- | --: | --: | :-- |" in words


@pytest.mark.parametrize("kept, shown", [(True, "kept"), (False, "not kept")])
def test_a_rule_that_the_data_do_not_tell_says_whether_it_is_kept(kept, shown):
    undecided = rule(result="cannot tell") | {"kept": kept}
    words = summary.comment(results(gate=gate(undecided)), "r")
    assert f"| cannot tell: {shown} | m |" in words


def test_an_ab_test_alone_is_called_so():
    part = {"primary": "auc", "estimates": [row()], "headline": []}
    test = {"report": "interleaving", "log": part | {"estimates": []}, "users": part}
    assert summary.title(results(**test), "interleaving") == "A/B test: week/scores.csv"


def test_quotes_are_printed_as_they_are():
    assert '### it\'s "new"' in summary.comment(results(parameters={"title": 'it\'s "new"'}), "r")


def test_the_name_of_a_report_does_not_end_the_mark():
    assert summary.comment(results(), "a--><b>").splitlines()[0].count("-->") == 1


def test_the_name_of_a_report_does_not_end_the_text_of_jq():
    mark = summary.comment(results(), 'a"\\(env)').splitlines()[0]
    assert not set(mark) & set('"\\(')


def test_a_gate_and_what_it_catches_are_said():
    """The results of a report have a gate that failed, as its only rule, on system m, was not kept.
    The smallest regression that the rule would catch is 0.05. The comment of `evalkit summary`
    has the message, the warning and a table of rules with this regression.
    """
    failed_rule = rule("auc.low >= 0.9", result="fail", catches=[0.05])
    failed_gate = gate(failed_rule)
    failed_gate |= {
        "passed": False,
        "message": "gate failed: p",
        "warnings": ["x: can hardly fail"],
    }
    comment = summary.comment(results(gate=failed_gate), "r")
    assert "**Gate failed: p**" in comment
    assert "| auc.low >= 0.9 | fail | m | 0.0500 |" in comment
    assert "- Warning: x: can hardly fail" in comment
    assert "<details open>" in comment  # the table of rules is unfolded where one failed


def test_a_gate_that_passed_names_its_rule():
    one = gate() | {"rule": "not worse within 0.01"}
    assert (
        "\nGate passed: not worse within 0.01\n" in summary.comment(results(gate=one), "r") + "\n"
    )


def test_rules_that_are_not_kept_are_listed_first():
    rules = [rule(f"passed {i}") for i in range(20)]
    words = summary.comment(results(gate=gate(*rules, rule("broken", "fail"))), "r")
    assert words.index("| broken | fail |") < words.index("| passed 0 |")


def test_rules_that_are_not_listed_are_counted():
    rules = [rule(f"passed {i}") for i in range(summary.LISTED + 3)]
    assert "And 3 more rules." in summary.comment(results(gate=gate(*rules)), "r")


def test_systems_that_are_not_listed_are_counted():
    systems = [row(f"system {i}") for i in range(summary.LISTED + 1)]
    assert "And 1 more system." in summary.mail(results(systems), "r")


def test_warnings_that_are_not_listed_are_counted():
    findings = [finding("warning", "w")] * (summary.LISTED + 2)
    assert "- And 2 more warnings." in summary.comment(results(findings=findings), "r")


def test_severe_findings_are_listed_first():
    findings = [finding("warning", "w")] * summary.LISTED + [finding("severe", "leak")]
    assert summary.warned(results(findings=findings))[0] == "Severe: leak"


def test_a_statement_that_no_regression_fails_has_the_rule_catch_none():
    words = summary.comment(results(gate=gate(rule(catches=(0.05, None)))), "r")
    assert "| auc.low >= 0.9 | pass | m | – |" in words


def judged(*probabilities):
    """A comment on a rule whose statements an unchanged model fails with these probabilities."""
    failing = rule(catches=(0.05,) * len(probabilities))
    for statement, share in zip(failing["statements"], probabilities, strict=True):
        statement["unchanged_fails"] = share
    return summary.comment(results(gate=gate(failing)), "r")


def test_a_rule_says_how_probably_an_unchanged_model_fails_it():
    assert "| pass | m | 0.0500; unchanged 25% |" in judged(0.25)


def test_an_unchanged_model_fails_a_rule_as_probably_as_its_weakest_statement_at_least():
    assert "| pass | m | 0.0500; unchanged ≥ 75% |" in judged(0.02, 0.75)


def test_an_unchanged_model_that_hardly_ever_fails_a_statement_has_no_least_probability():
    assert "| pass | m | 0.0500; unchanged &lt;0.1% |" in judged(0.0002, 0.0001)


def test_the_table_of_a_comment_says_the_level_of_its_intervals():
    assert "**auc with its 90% interval**" in summary.comment(
        results([row() | {"level": 0.9}]), "r"
    )


def test_each_comparison_of_a_system_has_a_row():
    headline = [comparison("a"), comparison("b", "cannot tell")]
    words = summary.comment(results(headline=headline), "r")
    assert "|  |  | +0.10 from b | cannot tell |" in words


def test_a_system_whose_verdicts_differ_is_drawn_in_neither_colour():
    headline = [comparison("a"), comparison("b", "worse")]
    axis = summary.mail(results(headline=headline), "r").split("</table>")[0]
    assert summary.TONES["better"] not in axis


def test_comparisons_that_are_not_listed_are_counted():
    headline = [comparison(f"system {i}") for i in range(summary.LISTED + 2)]
    assert "And 2 more comparisons." in summary.comment(results(headline=headline), "r")


# The picture --------------------------------------------------------------------------------------


def picture(folder, name="m", **values):
    (strip,) = summary.strips(results([row(name, **values)]))
    summary.picture(strip, folder / "p.png")
    return (folder / "p.png").read_bytes()


def test_dollars_in_a_name_are_no_formula(tmp_path):
    assert picture(tmp_path, "cost_$5_vs_$10").startswith(b"\x89PNG")


def test_a_picture_has_the_style_of_the_page_whatever_matplotlibrc_says(tmp_path):
    plain = picture(tmp_path)
    with mpl.rc_context({"text.color": "red", "xtick.color": "red", "font.size": 20}):
        assert picture(tmp_path) == plain


def test_a_mail_and_its_picture_have_a_name_that_is_no_unicode(printed):
    assert printed(results([row("a\udc80")]), "--html").split()[1].endswith("r.1.png")


def test_an_undefined_value_has_a_picture(tmp_path):
    assert picture(tmp_path, value=None, low=None, high=None).startswith(b"\x89PNG")


def test_the_pictures_of_two_parts_with_one_metric_are_both_printed(printed):
    part = {"estimates": [row()]}
    both = {"report": "interleaving", "log": part, "users": part}
    names = [Path(line).name for line in printed(both, "--html").split()]
    assert names == ["r.mail.html", "r.1.png", "r.2.png"]


# What a notebook of one's own publishes -----------------------------------------------------------


def test_results_with_nothing_but_a_report_have_a_summary(printed):
    assert "### Mine: r" in printed({"report": "mine"})


@pytest.mark.parametrize(
    "part",
    [
        {"gate": {}},
        {"gate": {"rules": [{"that": "x", "result": "pass"}]}},
        {"gate": {"passed": [], "rules": 3, "warnings": 3}},
        {"estimates": {"auc": 0.8}},
        {"estimates": [{"metric": "auc"}]},
        {"estimates": [row(value="high")]},
        {"primary": "value", "estimates": [row()]},
        {"headline": "we won"},
        {"verdict": "trusted"},
        {"findings": ["a leak"]},
        {"parameters": None},
        {"log": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize("form", ["--markdown", "--html"])
def test_a_part_of_another_form_is_left_out(printed, part, form):
    assert printed({"report": "mine"} | part, form)


def test_a_gate_without_a_message_is_said_to_have_failed(printed):
    assert "Gate failed: no rule given" in printed({"report": "mine", "gate": {"passed": False}})


@pytest.mark.parametrize("contents", [{"report": 3}, {"report": None}, 3, [], {}], ids=str)
def test_what_is_no_report_is_refused_in_a_line(printed, contents):
    assert printed(contents, status=2).count("\n") == 1


def test_a_folder_is_refused_in_a_line(capsys):
    assert command.main(["summary", "."]) == 2
    assert capsys.readouterr().err == "evalkit: .: must be a file of a report, got a folder\n"


def test_a_mail_that_cannot_be_written_is_refused_in_a_line(printed, tmp_path):
    (tmp_path / "r.mail.html").mkdir()
    assert "cannot write to" in printed(results(), "--html", status=2)


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
            line = f'exec "{sys.executable}" "{ROOT}/tests/undrawn.py" "$@"\n'
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
    """The folder `desk` has the report of the weekly job. The documented script log_report.py,
    which logs it to MLflow, runs there with a module in place of MLflow that prints what it is
    given.
    """
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
