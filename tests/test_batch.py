"""The command line: several reports at once, settings from a file, what is refused, what `inspect`
and `doctor` say.
"""

import hashlib
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import metadata
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import pandas as pd
import psutil
import pytest
from command_runs import (  # noqa: F401
    CHECK,
    KERNEL,
    PUBLISH,
    ROOT,
    evalkit as run_evalkit,
    importable,
    notebook as write_notebook,
)
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from samples import examples

import evalkit as ek
from evalkit import __main__ as command, report, running
from evalkit.arrays import ParameterError
from evalkit.commands import batch, checks, requests
from evalkit.commands.requests import Outcome
from evalkit.parameters import cells
from evalkit.reading.tables.parts import InputPart

COMMANDS = examples("commands")
OWN_METRIC = '''import evalkit as ek

@ek.mean(best="low", low=0)
def overshoot(actual, forecast):
    """How far forecasts are too high."""
    return (forecast - actual).clip(0)
'''
# The notebook of a batch. For the file dies.csv its kernel ends, for bad.csv it refuses the input,
# for gate.csv the gate `good` fails. It shows whether names and numbers of cells are left from a
# report that the same kernel has run before.
SOURCE_OF_BATCH = """
import os
from evalkit.arrays import InputError
if "dies" in preds:
    os._exit(1)
if "bad" in preds:
    raise InputError(f"{preds}: label must hold only 0 and 1, got 2.0 (row 17)")
seen = ["left" in dir(), len(In), len(Out)]
left, good = 1, "gate" not in preds
seen"""


@pytest.fixture(scope="module")
def folder_of_five_files(tmp_path_factory):
    """A folder with april.csv, bad.csv, dies.csv, gate.csv and may.csv."""
    folder = tmp_path_factory.mktemp("in")
    for name in ("april", "bad", "dies", "gate", "may"):
        (folder / f"{name}.csv").write_text("a\n1\n")
    return folder


class BatchRun(NamedTuple):
    """A notebook that was run for each of five files, the file of its settings, and how the
    command ended: its exit status, what it printed, and the folder of its reports.
    """

    notebook: Path
    settings: Path
    ended: Any


@pytest.fixture(scope="module")
def batch_of_five_reports(tmp_path_factory, folder_of_five_files):
    """Five reports from two kernels: april, may and gate are written, bad is refused, dies ends."""
    home = tmp_path_factory.mktemp("batch")
    path = write_notebook(home / "n" / "n.ipynb", CHECK, SOURCE_OF_BATCH, PUBLISH)
    settings = home / "p.toml"
    settings.write_text("ks = [1, 5]\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        each = ("--each", f"{folder_of_five_files}/*.csv", "-f", settings)
        ended = run_evalkit("report", path, *each, "-j", "2", folder=home / "out")
    return BatchRun(path, settings, ended)


def test_a_batch_writes_the_report_of_each_file_and_a_table_of_all(batch_of_five_reports):
    """The notebook n.ipynb was run for the files april, may, gate, bad and dies. The reports of
    april, may and gate are complete, although that of gate does not fulfil its gate; the paths of
    their pages are printed. The input bad was refused, which leaves no file. The kernel of dies
    ended, which leaves a page and a notebook named failed. each.csv and each.json are tables of all
    five.
    """
    folder = batch_of_five_reports.ended.folder
    complete = ("april", "gate", "may")
    expected = {f"n-{name}.{suffix}" for name in complete for suffix in ("html", "ipynb", "json")}
    expected |= {"n-dies.failed.html", "n-dies.failed.ipynb", "each.csv", "each.json"}
    assert {path.name for path in folder.iterdir()} == expected
    pages = [str(folder / f"n-{name}.html") for name in complete]
    assert sorted(batch_of_five_reports.ended.out.splitlines()) == pages


def test_a_batch_ends_with_the_status_of_a_failure_and_says_why(batch_of_five_reports):
    """Of five reports one failed, one was refused and one did not fulfil its gate. The command
    exits with 1, the status of a failure, and prints why reports were refused and which gate
    failed.
    """
    assert batch_of_five_reports.ended.status == 1
    assert (
        "bad.csv: label must hold only 0 and 1, got 2.0 (row 17)" in batch_of_five_reports.ended.err
    )
    assert "evalkit: n-gate: gate failed: good is true" in batch_of_five_reports.ended.err


def test_a_batch_prints_how_each_report_ended(batch_of_five_reports):
    """A notebook n.ipynb was run for five files. At the end a table is printed, with a head and a
    row for each report, which begins with its name and how it ended: the input of n-bad was
    refused, the kernel of n-dies ended and n-gate does not fulfil its gate. Columns are separated
    by at least two spaces.
    """
    head, *rows = batch_of_five_reports.ended.err.splitlines()[-6:]
    assert head.startswith("report  ")
    how_reports_ended = {}
    for row in rows:
        name, how_it_ended, *_ = re.split(r"\s{2,}", row)
        how_reports_ended[name] = how_it_ended
    assert list(how_reports_ended.items()) == [
        ("n-april", "done"),
        ("n-bad", "refused"),
        ("n-dies", "failed"),
        ("n-gate", "gate failed"),
        ("n-may", "done"),
    ]


def test_the_tables_of_a_batch_have_status_message_and_page_of_each_report(batch_of_five_reports):
    """A notebook n.ipynb was run for five files. The tables each.csv and each.json have a row for
    each report. The input of n-bad was refused, with a message and without a page; the kernel of
    n-dies ended, whose page is named failed; n-gate is complete but does not fulfil its gate.
    """
    csv = pd.read_csv(batch_of_five_reports.ended.folder / "each.csv").set_index("report")
    assert csv["status"].to_dict() == {
        "n-april": "done",
        "n-bad": "refused",
        "n-dies": "failed",
        "n-gate": "gate failed",
        "n-may": "done",
    }
    assert "label must hold only 0 and 1" in csv["message"]["n-bad"]
    records = json.loads((batch_of_five_reports.ended.folder / "each.json").read_text("utf-8"))
    assert {record["report"]: record["page"] for record in records} == {
        "n-april": "n-april.html",
        "n-bad": None,
        "n-dies": "n-dies.failed.html",
        "n-gate": "n-gate.html",
        "n-may": "n-may.html",
    }


def test_a_report_of_a_batch_has_the_bytes_of_one_made_alone(
    batch_of_five_reports, folder_of_five_files, tmp_path
):
    """The five reports of a batch were made by two kernels, each of which ran several. The report
    of may.csv is made again alone, by a new kernel, with the same settings and name: its files are
    the same, so that nothing of an earlier report was left in a kernel.
    """
    input_and_name = ("-p", "preds", folder_of_five_files / "may.csv", "--name", "n-may")
    alone = run_evalkit(
        "report",
        batch_of_five_reports.notebook,
        "-f",
        batch_of_five_reports.settings,
        *input_and_name,
        folder=tmp_path,
    )
    assert alone.status == 0
    for suffix in ("html", "ipynb", "json"):
        file_of_batch = batch_of_five_reports.ended.folder / f"n-may.{suffix}"
        file_made_alone = tmp_path / f"n-may.{suffix}"
        assert file_made_alone.read_bytes() == file_of_batch.read_bytes()


@pytest.mark.parametrize(
    "statuses, status_of_batch",
    [([0], 0), ([0, 3], 3), ([3, 2], 2), ([2, 1], 1)],
    ids=["all done", "a gate failed", "and an input refused", "and a run failed"],
)
def test_a_batch_has_the_worst_status_of_its_reports(statuses, status_of_batch):
    """The statuses from the worst on are 1 (failed), 2 (refused), 3 (gate failed) and 0 (done)."""
    assert batch.status([Outcome(status) for status in statuses]) == status_of_batch


ROW_OF_HEADLINE = {
    "verdict": "better",
    "first": "a",
    "second": "b",
    "metric": "mae",
    "difference": -1.0,
    "low": -2,
    "high": 0,
}


@pytest.mark.parametrize(
    "results, words",
    [
        ({"headline": [ROW_OF_HEADLINE]}, "better: a − b on mae −1.0 [−2.0, 0.0]"),
        (
            {"log": {"headline": [ROW_OF_HEADLINE | {"low": None, "high": None}]}, "users": None},
            "better: a − b on mae −1.000 no interval",
        ),
        ({"verdict": {"word": "pass", "because": "no problem found"}}, "pass: no problem found"),
        (
            {"headline": [], "estimates": [{"system": "a", "metric": "mae", "value": 1.23456}]},
            "a: mae 1.23",
        ),
    ],
    ids=["a comparison", "one without an interval", "a verdict in words", "an estimate"],
)
def test_the_last_column_of_the_printed_table_has_the_result(results, words):
    """The table of a batch has a row for each report. Its last column says in words what the
    results of this report are, a comparison, a verdict or an estimate.
    """
    table = batch.table([batch.Planned("one", None)], [Outcome(0, results=results)])
    _, row = table.splitlines()
    assert re.split(r"\s{2,}", row.rstrip())[-1] == words


def test_a_long_message_is_cut_in_the_printed_table():
    """A report failed with a message of more than 100 characters."""
    outcome = Outcome(1, messages=("run failed: " + "x" * 99,))
    table = batch.table([batch.Planned("one", None)], [outcome])
    assert table.rstrip().endswith("x…")


def test_a_batch_has_a_record_of_each_report_with_its_comparison_or_its_verdict():
    """Four reports have ended: one with a comparison of two systems as its headline, whose
    difference is −1.0, one with a comparison that has no interval (below the key of its part
    "log"), one with a verdict in words, and one that failed, which has no results. Each has a
    record in the table of the batch.
    """
    with_interval = ROW_OF_HEADLINE
    without_interval = ROW_OF_HEADLINE | {"low": None, "high": None}
    verdict_in_words = {"word": "pass", "because": "no problem found"}
    outcome_by_report = {
        "interval": Outcome(0, results={"headline": [with_interval]}),
        "no interval": Outcome(0, results={"log": {"headline": [without_interval]}, "users": None}),
        "verdict": Outcome(0, results={"verdict": verdict_in_words}),
        "failed": Outcome(1, messages=("run failed",)),
    }
    planned = [batch.Planned(name, job=None) for name in outcome_by_report]
    records = batch.records(planned, list(outcome_by_report.values()))
    record_by_report = {record["report"]: record for record in records}
    assert list(record_by_report) == list(outcome_by_report)
    assert record_by_report["interval"]["difference"] == -1.0
    assert record_by_report["no interval"]["low"] is None
    assert record_by_report["verdict"]["verdict"] == "pass"
    assert record_by_report["failed"]["status"] == "failed"


def test_a_record_of_an_estimate_has_its_value_unrounded():
    """A report on one system has no comparison as its headline, and one estimate. The record of the
    report for each.csv and each.json has the columns of the estimate, with all digits.
    """
    estimate = {"system": "a", "metric": "mae", "value": 1.23456}
    outcome = Outcome(0, results={"headline": [], "estimates": [estimate]})
    (record,) = batch.records([batch.Planned("one", None)], [outcome])
    assert record == {"report": "one", "status": "done", "page": None} | estimate


def test_a_report_without_a_comparison_has_one_row_of_its_first_estimate():
    """A batch of one report was planned, and the report has ended with the status 0, success. It is
    on one system, so that its results have no headline, which would compare systems, but estimates
    by two metrics. The table of a batch has one row per report: that of the first estimate, by MAE.
    """
    mae = {"system": "a", "metric": "mae", "value": 1.0, "low": 0.5, "high": 1.5}
    rmse = {"system": "a", "metric": "rmse", "value": 1.0, "low": 0.5, "high": 1.5}
    planned = batch.Planned("name of the report", job=None)
    outcome = Outcome(status=0, results={"headline": [], "estimates": [mae, rmse]})
    (row,) = batch.records([planned], [outcome])
    assert row["metric"] == "mae"


@pytest.mark.parametrize("value, said", [(0.0, "a: bias 0"), (None, "")])
def test_a_first_number_of_zero_is_said_and_none_is_not(value, said):
    """A report without a comparison is summed up by its first estimate, if that has a value."""
    results = {"headline": [], "estimates": [{"system": "a", "metric": "bias", "value": value}]}
    assert batch.verdict(results) == said


def test_a_terminated_batch_writes_nothing_more_and_leaves_no_process(
    tmp_path, folder_of_five_files
):
    """A notebook that takes 100 seconds is run for five files by two kernels (-j 2). Each kernel
    writes a file "started …" first. When there are two of them, the command is terminated: it exits
    with 128 + 15, the number of SIGTERM, its processes end, and no report is written.
    """
    source = "import os, time\nopen(f'started {os.getpid()}', 'w').close()\ntime.sleep(100)"
    path = write_notebook(tmp_path / "n.ipynb", source, PUBLISH)
    options = ["--each", f"{folder_of_five_files}/*.csv", "-j", "2", "-o", "out"]
    command_line = [sys.executable, "-m", "evalkit", "report", path, *options]
    run = subprocess.Popen(command_line, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while len(list(tmp_path.glob("started *"))) < 2:
        assert run.poll() is None  # the command has not ended
        time.sleep(0.05)
    kernels = psutil.Process(run.pid).children(recursive=True)
    # not SIGINT, which a process started in the background of a shell may ignore
    run.send_signal(signal.SIGTERM)
    _, errors = run.communicate(timeout=60)
    assert errors == "evalkit: terminated, nothing written\n"
    assert run.returncode == 128 + signal.SIGTERM
    _, still_running = psutil.wait_procs(kernels, timeout=10)
    assert not still_running
    assert not (tmp_path / "out").exists()


# A file of settings -------------------------------------------------------------------------------


def write_notebook_with_own_section(path):
    """Write a copy of the rating notebook with the section "Worst people", which has the parameters
    `most`, a number of rows, and `worst`, a name, and without most of the other sections.
    """
    book = nbformat.read(ROOT / "notebooks" / "rating.ipynb", 4)
    needed = ("read", "definitions", "provenance", "results")
    parameters, reading, *others = (
        cell
        for cell in book.cells
        if cell.id in needed or "parameters" in cell.metadata.get("tags", [])
    )
    section = [
        new_markdown_cell("## Worst people"),
        new_code_cell("study.extremes(most).assign(person=worst)"),
    ]
    parameters.source += "\nmost = 2  # rows of the section\nworst: str = None  # a name"
    reading.source = reading.source.replace("values()", "values(own='most,worst')")
    book.cells = [parameters, reading, *section, *others]
    nbformat.write(book, path)


class OwnReport(NamedTuple):
    """The page and the results of a report with a metric and a section of one's own, and the files
    of its settings and of its metric.
    """

    page: str
    results: dict
    settings: Path
    metric: Path


@pytest.fixture(scope="module")
def own_report(tmp_path_factory):
    """The settings name the metrics MAE and `overshoot` and the level 0.8; the command line sets
    the level to 0.9.
    """
    folder = tmp_path_factory.mktemp("own")
    write_notebook_with_own_section(folder / "own.ipynb")
    metric = folder / "my_metrics.py"
    metric.write_text(OWN_METRIC, encoding="utf-8")
    settings = folder / "june.toml"
    settings.write_text(
        f'metrics = ["mae", "{metric}:overshoot"]\nmost = 3\nworst = "somebody"\nlevel = 0.8\n'
    )
    out = folder / "out"
    ended = run_evalkit(
        "report", folder / "own.ipynb", "-f", settings, "-p", "level", "0.9", folder=out
    )
    assert (ended.status, ended.err) == (0, "")
    page = (out / "own.html").read_text(encoding="utf-8")
    results = json.loads((out / "own.json").read_text(encoding="utf-8"))
    return OwnReport(page, results, settings, metric)


def test_a_page_names_the_files_of_settings_and_metrics_with_their_hashes(own_report):
    """A report was made with the settings of june.toml and with a metric of one's own from
    my_metrics.py.
    """
    hash_of_settings = hashlib.sha256(own_report.settings.read_bytes()).hexdigest()
    hash_of_metric = hashlib.sha256(own_report.metric.read_bytes()).hexdigest()
    assert f"june.toml, SHA-256 {hash_of_settings}" in own_report.page
    assert f"my_metrics.py, SHA-256 {hash_of_metric}" in own_report.page
    assert own_report.results["settings"].startswith("june.toml, SHA-256 ")


def test_a_page_has_the_definition_of_an_own_metric(own_report):
    """The definition is the docstring of the function `overshoot`, a metric of one's own."""
    assert "How far forecasts are too high" in own_report.page


def test_a_section_of_ones_own_has_parameters_from_a_file_of_settings(own_report):
    """A section that was added to the notebook has the parameters `most` and `worst`: a number of
    rows and a name on each. The settings set them to 3 and "somebody".
    """
    assert own_report.page.count("somebody") >= 3


def test_a_parameter_of_the_command_line_comes_before_the_file_of_settings(own_report):
    """The settings have the level 0.8, the command line has the level 0.9."""
    assert {row["level"] for row in own_report.results["estimates"]} == {0.9}


def test_settings_are_numbers_dates_tables_and_lists(tmp_path):
    """The values of a TOML file keep their types, but a date becomes a text."""
    path = tmp_path / "p.toml"
    path.write_text(
        'level = 0.9\ndata_date = 2026-10-01\ncolumns = {label = "y"}\nsegments = ["a", "b"]\n'
    )
    assert requests.settings(path).values == {
        "level": 0.9,
        "data_date": "2026-10-01",
        "columns": {"label": "y"},
        "segments": ["a", "b"],
    }


def test_outside_of_a_report_there_is_no_file_of_settings_to_name():
    """`cells.settings` names the file of settings on the page of a report."""
    assert cells.settings() == ""


@pytest.mark.parametrize(
    "source, message",
    [
        ("levle = 1", "unknown parameter 'levle'"),
        (
            "\n".join(f"k{i} = 1" for i in range(100)),
            "'k0', .*'k9' and 90 more; this notebook has: level",
        ),
        ("a = " + "[" * 5000, "is nested too deep"),
        ("#" * 10**6 + "#", "must have at most 1,000,000"),
    ],
)
def test_settings_that_are_refused(tmp_path, source, message):
    """The file p.toml has settings with unknown parameters, too deep nesting or too many
    characters, for a notebook whose only parameter is the level.
    """
    (tmp_path / "p.toml").write_text(source)
    with pytest.raises(command.RequestRefused, match=message):
        requests.parameters([], requests.settings(tmp_path / "p.toml"), {"level": None})


# Inspect and doctor -------------------------------------------------------------------------------


SCORED = "id,y_true,y_score,amount\n1,1,.9,8\n2,0,.1,3\n"


# Cases of tests/examples/commands.toml, such as ["label,score\n0,.1\n1,.2\n2,.3\n",
# "--report classification", 2, "classification: refused: "].
@pytest.mark.parametrize("path_or_text, options, status, pattern", COMMANDS["inspected"])
def test_inspect_says_what_a_report_makes_of_a_file(
    capsys, tmp_path, monkeypatch, path_or_text, options, status, pattern
):
    """`evalkit inspect` is run on an input with some options. The input is the path of a file or
    the text of a CSV file to be written, which has several lines. The command must exit with this
    status and print a text that matches the pattern, and at most one line to stderr.
    """
    monkeypatch.chdir(ROOT)
    path = path_or_text
    is_text = "\n" in path_or_text
    if is_text:
        path = tmp_path / "x.csv"
        path.write_text(path_or_text)
    assert command.main(["inspect", *f"{path} {options}".split()]) == status
    printed = capsys.readouterr()
    assert re.search(pattern, printed.out + printed.err)
    assert printed.err.count("\n") <= 1


def test_inspect_of_many_rows_says_what_it_did_not_read(capsys, tmp_path, monkeypatch):
    """`inspect` reads the values of at most 300,000 rows. This file has three more, so that only
    its columns are looked at: the label 2, which is not binary, is not found. The test fails if
    rows are read. With --why each report says whether it can read the file.
    """
    path = tmp_path / "x.parquet"
    pd.DataFrame({"label": [0, 1, 2] * 100_001, "score": 0.5}).to_parquet(path)
    monkeypatch.setattr(InputPart, "load", lambda *_: pytest.fail("rows were read"))
    assert command.main(["inspect", "--why", str(path)]) == 0
    printed = capsys.readouterr().out
    assert (
        "values: not read, as there are more than 300,000 rows; the report checks them" in printed
    )
    assert "classification: binary outcomes, values not read; columns label, score" in printed
    assert "significance: a table of results or of predictions, values not" in printed
    assert f"ranking: refused: {path}: no column for the query" in printed


# Cases of tests/examples/commands.toml, such as ["rating", "forecast, lable",
# "actual,forecast,label\n1,2,3\n", "metrics: saved: x.csv has no column 'lable'"].
@pytest.mark.parametrize("report, arguments, csv_text, message", COMMANDS["misspelt"])
def test_a_misspelt_argument_of_an_own_metric_is_refused(
    tmp_path, monkeypatch, report, arguments, csv_text, message
):
    """A metric of one's own, `saved`, is a function in the file own.py. Its arguments are names of
    columns of the input, one of them misspelt, such as "lable" for "label". The report, such as
    `ek.rating`, refuses the metric with the name that is unknown.
    """
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text(csv_text)
    Path("own.py").write_text(
        f"import evalkit as ek\n\n@ek.mean(best='high')\ndef saved({arguments}):\n    return 1\n"
    )
    make_study = getattr(ek, report)
    name_of_input = "users" if report == "interleaving" else "preds"
    with pytest.raises(ParameterError, match=message):
        make_study(**{name_of_input: "x.csv"}, metrics="own.py:saved")


def test_a_metric_of_scores_on_predicted_classes_is_refused_and_says_how_to_name_the_scores(
    tmp_path,
):
    """The file has actual and predicted classes, a and b, and odds of b in a column whose name is
    not recognised. AUC needs scores: the refusal says how to name the column of scores. With this
    column named, AUC is 1, as both rows of b, with odds of 6 and 3, are above that of a, with 2.
    """
    path = tmp_path / "x.csv"
    path.write_text("id,y_true,y_pred,odds\n1,b,b,6\n2,a,a,2\n3,b,a,3\n")
    with pytest.raises(
        ParameterError, match=r"the input is read as multi-class .*, columns='score=NAME'"
    ):
        ek.classification(path, metrics="roc_auc")
    study = ek.classification(path, metrics="roc_auc", columns="score=odds", positive="b")
    (auc,) = study.estimates["value"]
    assert auc == 1


@pytest.mark.parametrize(
    "arguments", ["classification -p preds a.csv b.csv", "-p preds a.csv b.csv classification"]
)
def test_an_unquoted_pattern_is_told_to_be_quoted(capsys, tmp_path, monkeypatch, arguments):
    """Without quotes a shell replaces the pattern *.csv by the names of the files, and the second
    file is no value of -p preds.
    """
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        Path(f"{name}.csv").write_text(SCORED)
    assert command.main(["report", *arguments.split()]) == 2
    assert "; put a pattern of files in quotes: -p preds '*.csv'" in capsys.readouterr().err


def test_doctor_finds_python_and_its_kernel(capsys):
    """`evalkit doctor` checks the installation and prints a line for each part, with ok or missing
    before it.
    """
    assert command.main(["doctor"]) == 0
    heads = {line.split(":")[0] for line in capsys.readouterr().out.splitlines()}
    assert {"ok       kernel python3", "ok       Python"} <= heads


def test_doctor_says_that_the_distribution_is_not_installed(capsys, monkeypatch):
    """The distribution is sought under a name that nobody has installed."""
    monkeypatch.setattr(checks, "DISTRIBUTION", "evalkit-of-nobody")
    assert command.main(["doctor"]) == 1
    assert "missing  evalkit-of-nobody: not installed" in capsys.readouterr().out


def test_doctor_has_a_purpose_for_each_extra():
    """Extras are optional sets of packages of the distribution, such as evalkit-reports[excel];
    `checks.EXTRAS` says what each is for.
    """
    extras = metadata(checks.DISTRIBUTION).get_all("Provides-Extra")
    assert sorted(checks.EXTRAS) == sorted(extras)


def test_doctor_says_how_to_install_the_package_of_an_extra(capsys, monkeypatch):
    """The extra excel requires a package that nobody has. An optional package that is missing is no
    failure.
    """
    monkeypatch.setattr(checks, "requires", lambda name: ["nobody-has-it>=2; extra == 'excel'"])
    assert command.main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "optional nobody-has-it: not installed" in printed
    assert "pip install 'evalkit-reports[excel]'" in printed


@pytest.fixture
def folder_of_two_distributions(tmp_path):
    """A folder whose package evalkit has two modules of ours and a subpackage, geal, of the
    unrelated distribution `evalkit`, as if both were installed into one folder.
    """
    package = tmp_path / "evalkit"
    (package / "geal").mkdir(parents=True)
    shutil.copy(Path(ek.__file__), package)
    shutil.copy(Path(command.__file__), package)
    return tmp_path


def test_a_folder_shared_with_the_other_evalkit_is_refused(folder_of_two_distributions):
    """Our distribution evalkit-reports and the unrelated distribution evalkit both have a package
    evalkit. Here both are in one folder, so that our package has the subpackage geal of the other
    one beside its own modules. It cannot be relied on, and its import ends with this error.
    """
    ended = subprocess.run(
        [sys.executable, "-c", "import evalkit"],
        cwd=folder_of_two_distributions,
        capture_output=True,
        text=True,
    )
    assert "also holds geal of the unrelated distribution" in ended.stderr


def test_the_command_says_how_to_repair_a_package_without_its_first_module(
    folder_of_two_distributions, monkeypatch
):
    """Our distribution evalkit-reports and the unrelated distribution evalkit both have a package
    evalkit. If they were installed into one folder and the other one is uninstalled, __init__.py
    may be gone, while __main__.py is left: `python -m evalkit` then says how to repair it. Option
    -S hides the installed packages, so that Python finds the package in this folder.
    """
    (folder_of_two_distributions / "evalkit" / "__init__.py").unlink()
    monkeypatch.delenv("PYTHONPATH")
    ended = subprocess.run(
        [sys.executable, "-S", "-m", "evalkit"],
        cwd=folder_of_two_distributions,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert "pip uninstall -y evalkit evalkit-reports" in ended.stderr


# Refused before anything runs ---------------------------------------------------------------------

NOTEBOOK_WITH_A_SYNTAX_ERROR = nbformat.writes(
    new_notebook(
        cells=[new_code_cell("ks = = 1", metadata={"tags": ["parameters"]})], metadata=KERNEL
    )
)
FILES_NAMED_IN_COMMAND_LINES = {
    "text.ipynb": b"no JSON",
    "list.ipynb": b"[1]",
    "dict.ipynb": b"{}",
    "latin.ipynb": b'{"a": "\xe9"}',
    "bad.ipynb": NOTEBOOK_WITH_A_SYNTAX_ERROR.encode(),
    "may.csv": b"a\n1\n",
    "mars.csv": b"a\n1\n",
}
LONG = "o" * 300
DEEP = "[" * 5000 + "]" * 5000
REFUSED = [
    *COMMANDS["refused"],
    (f"n.ipynb -o {LONG}", "File name too long"),
    (f"n.ipynb -p ks {DEEP}", "a list must "),
    *((f"n.ipynb --name {name}", "--name must be ") for name in (LONG, "é" * 120)),
]


# Cases of tests/examples/commands.toml, such as ["none.ipynb", "cannot read none.ipynb: No such
# file or directory\n"]; a message that ends with a new line is all that is printed.
@pytest.mark.parametrize("arguments, message", REFUSED)
def test_a_command_line_is_refused_before_a_kernel_starts(
    tmp_path, monkeypatch, arguments, message
):
    """The folder has two notebooks, and files that are no good notebooks or settings. The command
    line `evalkit report` with these arguments, one of which is wrong, exits with status 2 and this
    message before the notebook is run. It writes nothing, and the message stays below 700
    characters even if an argument has thousands.
    """
    monkeypatch.setattr(running, "execute", lambda *_, **__: pytest.fail("the notebook was run"))
    monkeypatch.chdir(tmp_path)
    write_notebook(Path("n.ipynb"))
    write_notebook(Path("notebooks/ranking.ipynb"))
    for name, content in FILES_NAMED_IN_COMMAND_LINES.items():
        Path(name).write_bytes(content)
    files_before = sorted(tmp_path.rglob("*"))
    # a no-break space stands for a space within a word
    words = [word.replace("\xa0", " ") for word in arguments.split(" ")]
    ended = run_evalkit("report", *words, folder=None, notebooks=Path("notebooks"))
    assert ended.status == 2
    assert message in ended.err
    is_whole_message = message.endswith("\n")
    if is_whole_message:
        assert ended.err == f"evalkit: {message}"
    assert sorted(tmp_path.rglob("*")) == files_before
    assert len(ended.err) < 700


def test_without_its_notebooks_the_path_of_one_is_asked_for(tmp_path):
    """The name of a report, ranking, stands for a notebook of evalkit. If the folder of its
    notebooks does not exist, the path of a notebook must be given in its place.
    """
    ended = run_evalkit("report", "ranking", folder=tmp_path, notebooks=tmp_path / "missing")
    message = (
        "evalkit is installed without its notebooks, so 'ranking' must be the path of a notebook "
        "(.ipynb)"
    )
    assert ended.err == f"evalkit: {message}\n"


# Commands that print ------------------------------------------------------------------------------


def test_parameters_command(tmp_path, capsys):
    """`evalkit parameters` prints the parameters of a notebook with their values and comments."""
    assert command.main(["parameters", str(write_notebook(tmp_path / "n.ipynb"))]) == 0
    assert (
        capsys.readouterr().out
        == "preds = 'a.csv'  a file\nks = [1]         cut-offs\ngood = True      passes the gate\n"
    )


def test_version_and_wrong_arguments_import_nothing_slow():
    """A new process runs the command, `evalkit --version` or `evalkit nonsense`, which ends with
    SystemExit. It then prints which of four packages that take long to import it has imported:
    none, as neither the version nor the refusal of a wrong argument needs one.
    """
    for argument in ("--version", "nonsense"):
        code = (
            "import runpy, sys\n"
            f"sys.argv[1:] = ['{argument}']\n"
            "try: runpy.run_module('evalkit', run_name='__main__')\n"
            "except SystemExit: pass\n"
            "slow = {'papermill', 'nbconvert', 'numpy', 'nbformat'}\n"
            "print(sorted(slow & set(sys.modules)))"
        )
        ended = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
        )
        assert ended.stdout.splitlines()[-1] == "[]", ended.stderr


def test_notebook_prints_a_copy_without_outputs(capsys):
    """`evalkit notebook ranking` prints the notebook of the ranking report."""
    assert command.main(["notebook", "ranking"]) == 0
    copied = nbformat.reads(capsys.readouterr().out, as_version=4)
    own = report.read(ROOT / "notebooks" / "ranking.ipynb")
    assert [cell.source for cell in copied.cells] == [cell.source for cell in own.cells]
    assert not any(cell.outputs for cell in copied.cells if cell.cell_type == "code")
