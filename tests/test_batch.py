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

import nbformat
import pandas as pd
import psutil
import pytest
from command_runs import CHECK, KERNEL, PUBLISH, ROOT, evalkit, importable, notebook  # noqa: F401
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
METRICS = '''import evalkit as ek

@ek.mean(best="low", low=0)
def overshoot(actual, forecast):
    """How far forecasts are too high."""
    return (forecast - actual).clip(0)
'''
LEFT = """
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
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("in")
    for name in ("april", "bad", "dies", "gate", "may"):
        (folder / f"{name}.csv").write_text("a\n1\n")
    return folder


@pytest.fixture(scope="module")
def several(tmp_path_factory, inputs):
    """One report for each of five files, from two kernels; one dies, and one that has run is as
    good as new.
    """
    home = tmp_path_factory.mktemp("batch")
    path = notebook(home / "n" / "n.ipynb", CHECK, LEFT, PUBLISH)
    settings = home / "p.toml"
    settings.write_text("ks = [1, 5]\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        each = ("--each", f"{inputs}/*.csv", "-f", settings)
        return path, settings, evalkit("report", path, *each, "-j", "2", folder=home / "out")


def test_each_file_has_its_report_and_the_table_says_how_it_ended(several):
    _, _, ended = several
    assert ended.status == 1
    good = ("april", "gate", "may")
    names = {path.name for path in ended.folder.iterdir()} - {
        "n-dies.failed.html",
        "n-dies.failed.ipynb",
    }
    names -= {"each.csv", "each.json"}
    assert names == {f"n-{name}.{end}" for name in good for end in ("html", "ipynb", "json")}
    assert sorted(ended.out.splitlines()) == [str(ended.folder / f"n-{name}.html") for name in good]
    assert "bad.csv: label must hold only 0 and 1, got 2.0 (row 17)" in ended.err
    assert "evalkit: n-gate: gate failed: good is true" in ended.err
    lines = [line.split("  ") for line in ended.err.splitlines()[-6:]]
    assert [line[0] for line in lines] == [
        "report",
        "n-april",
        "n-bad",
        "n-dies",
        "n-gate",
        "n-may",
    ]
    statuses = [next(word.strip() for word in line[1:] if word) for line in lines[1:]]
    assert statuses == ["done", "refused", "failed", "gate failed", "done"]
    written = pd.read_csv(ended.folder / "each.csv")
    assert written["status"].tolist() == statuses
    assert "label must hold only 0 and 1" in written["message"][1]
    assert [row["page"] for row in json.loads((ended.folder / "each.json").read_text("utf-8"))][
        1:
    ] == [
        *(None, "n-dies.failed.html", "n-gate.html", "n-may.html"),
    ]


def test_a_report_of_a_batch_has_the_bytes_of_one_made_alone(several, inputs, tmp_path):
    path, settings, ended = several
    given = ("-f", settings, "-p", "preds", inputs / "may.csv", "--name", "n-may")
    alone = evalkit("report", path, *given, folder=tmp_path)
    assert alone.status == 0
    for end in ("html", "ipynb", "json"):
        assert (tmp_path / f"n-may.{end}").read_bytes() == (
            ended.folder / f"n-may.{end}"
        ).read_bytes()


def test_the_worst_status_counts_and_verdicts_are_cut():
    assert [batch.status([Outcome(s) for s in some]) for some in ([0, 3], [3, 2], [2, 1], [0])] == [
        3,
        2,
        1,
        0,
    ]
    row = {
        "verdict": "better",
        "first": "a",
        "second": "b",
        "metric": "mae",
        "difference": -1.0,
        "low": -2,
        "high": 0,
    }
    results = [
        {"headline": [row]},
        {"log": {"headline": [row | {"low": None, "high": None}]}, "users": None},
        {"verdict": {"word": "pass", "because": "no problem found"}},
        {"headline": [], "estimates": [{"system": "a", "metric": "mae", "value": 1.23456}]},
    ]
    planned = [batch.Planned(str(i), None) for i in range(5)]
    outcomes = [
        *(Outcome(0, results=result) for result in results),
        Outcome(1, messages=("run failed: " + "x" * 99,)),
    ]
    said = [
        line.split("  ")[-1].strip() for line in batch.table(planned, outcomes).splitlines()[1:]
    ]
    assert said[0] == "better: a − b on mae −1.0 [−2.0, 0.0]"
    assert said[1] == "better: a − b on mae −1.000 no interval"
    assert said[2:4] == ["pass: no problem found", "a: mae 1.23"]
    assert said[4].endswith("x…")
    rows = batch.records(planned, outcomes)
    assert [len(rows), rows[0]["difference"], rows[1]["low"], rows[2]["verdict"]] == [
        5,
        -1.0,
        None,
        "pass",
    ]
    assert rows[3] == {
        "report": "3",
        "status": "done",
        "page": None,
        "system": "a",
        "metric": "mae",
        "value": 1.23456,
    }


def test_a_report_without_a_comparison_has_one_row_of_its_first_estimate():
    estimates = [
        {"system": "a", "metric": name, "value": 1.0, "low": 0.5, "high": 1.5}
        for name in ("mae", "rmse")
    ]
    outcome = Outcome(0, results={"headline": [], "estimates": estimates})
    (row,) = batch.records([batch.Planned("one", None)], [outcome])
    assert row["metric"] == "mae"


@pytest.mark.parametrize("value, said", [(0.0, "a: bias 0"), (None, "")])
def test_a_first_number_of_zero_is_said_and_none_is_not(value, said):
    results = {"headline": [], "estimates": [{"system": "a", "metric": "bias", "value": value}]}
    assert batch.verdict(results) == said


def test_a_terminated_batch_writes_nothing_more_and_leaves_no_process(tmp_path, inputs):
    source = "import os, time\nopen(f'started {os.getpid()}', 'w').close()\ntime.sleep(100)"
    path = notebook(tmp_path / "n.ipynb", source, PUBLISH)
    options = ["--each", f"{inputs}/*.csv", "-j", "2", "-o", "out"]
    command_line = [sys.executable, "-m", "evalkit", "report", path, *options]
    run = subprocess.Popen(command_line, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while len(list(tmp_path.glob("started *"))) < 2:
        assert run.poll() is None
        time.sleep(0.05)
    below = psutil.Process(run.pid).children(recursive=True)
    run.send_signal(signal.SIGTERM)  # a shell may have its children ignore an interrupt
    assert run.communicate(timeout=60)[1] == "evalkit: terminated, nothing written\n"
    assert run.returncode == 143
    assert not psutil.wait_procs(below, timeout=10)[1]
    assert not (tmp_path / "out").exists()


# A file of settings -------------------------------------------------------------------------------


# cells of the notebook that a short copy needs
KEPT = (
    "read",
    "definitions",
    "provenance",
    "results",
)


def own_notebook(path):
    """A copy of a notebook with a section of its own, and without most of the others."""
    book = nbformat.read(ROOT / "notebooks" / "rating.ipynb", 4)
    kept = [
        cell
        for cell in book.cells
        if cell.id in KEPT or "parameters" in cell.metadata.get("tags", [])
    ]
    section = [
        new_markdown_cell("## Worst people"),
        new_code_cell("study.extremes(most).assign(person=worst)"),
    ]
    kept[0].source += "\nmost = 2  # rows of the section\nworst: str = None  # a name"
    kept[1].source = kept[1].source.replace("values()", "values(own='most,worst')")
    book.cells = [*kept[:2], *section, *kept[2:]]
    nbformat.write(book, path)
    return path


def test_an_own_metric_and_an_own_section_with_parameters_from_a_file_of_settings(tmp_path):
    path, settings, metrics = (
        tmp_path / name for name in ("own.ipynb", "june.toml", "my_metrics.py")
    )
    metrics.write_text(METRICS, encoding="utf-8")
    settings.write_text(
        f'metrics = ["mae", "{metrics}:overshoot"]\nmost = 3\nworst = "somebody"\nlevel = 0.8\n'
    )
    ended = evalkit(
        "report", own_notebook(path), "-f", settings, "-p", "level", "0.9", folder=tmp_path / "out"
    )
    assert (ended.status, ended.err) == (0, "")
    page = (tmp_path / "out" / "own.html").read_text(encoding="utf-8")
    assert f"june.toml, SHA-256 {hashlib.sha256(settings.read_bytes()).hexdigest()}" in page
    assert f"my_metrics.py, SHA-256 {hashlib.sha256(metrics.read_bytes()).hexdigest()}" in page
    assert "How far forecasts are too high" in page
    assert page.count("somebody") >= 3
    results = json.loads((tmp_path / "out" / "own.json").read_text(encoding="utf-8"))
    assert {row["level"] for row in results["estimates"]} == {0.9}
    assert results["settings"].startswith("june.toml, SHA-256 ")


def test_settings_of_every_kind(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(
        'level = 0.9\ndata_date = 2026-10-01\ncolumns = {label = "y"}\nsegments = ["a", "b"]\n'
    )
    read = requests.settings(path)
    assert read.values == {
        "level": 0.9,
        "data_date": "2026-10-01",
        "columns": {"label": "y"},
        "segments": ["a", "b"],
    }
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
    (tmp_path / "p.toml").write_text(source)
    with pytest.raises(command.Refused, match=message):
        requests.parameters([], requests.settings(tmp_path / "p.toml"), {"level": None})


# Inspect and doctor -------------------------------------------------------------------------------


OWN = "import evalkit as ek\n\n@ek.mean(best='high')\ndef saved({}):\n    return 1\n"
SCORED = "id,y_true,y_score,amount\n1,1,.9,8\n2,0,.1,3\n"


@pytest.mark.parametrize("data, options, status, printed", COMMANDS["inspected"])
def test_inspect_says_what_a_report_makes_of_a_file(
    capsys, tmp_path, monkeypatch, data, options, status, printed
):
    monkeypatch.chdir(ROOT)
    if "\n" in data:
        (tmp_path / "x.csv").write_text(data)
        data = tmp_path / "x.csv"
    assert command.main(["inspect", *f"{data} {options}".split()]) == status
    captured = capsys.readouterr()
    assert re.search(printed, captured.out + captured.err)
    assert captured.err.count("\n") <= 1


def test_inspect_of_many_rows_says_what_it_did_not_read(capsys, tmp_path, monkeypatch):
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


@pytest.mark.parametrize("report, argument, text, message", COMMANDS["misspelt"])
def test_a_misspelt_argument_of_an_own_metric_is_told(
    tmp_path, monkeypatch, report, argument, text, message
):
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text(text)
    Path("own.py").write_text(OWN.format(argument))
    data = "users" if report == "interleaving" else "preds"
    with pytest.raises(ParameterError, match=message):
        getattr(ek, report)(**{data: "x.csv"}, metrics="own.py:saved")


def test_a_metric_of_scores_on_predicted_classes_is_told_how_scores_are_named(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("id,y_true,y_pred,odds\n1,b,b,6\n2,a,a,2\n3,b,a,3\n")
    with pytest.raises(
        ParameterError, match=r"the input is read as multi-class .*, columns='score=NAME'"
    ):
        ek.classification(path, metrics="roc_auc")
    study = ek.classification(path, metrics="roc_auc", columns="score=odds", positive="b")
    assert study.estimates["value"].tolist() == [1.0]


@pytest.mark.parametrize(
    "arguments", ["classification -p preds a.csv b.csv", "-p preds a.csv b.csv classification"]
)
def test_an_unquoted_pattern_is_told_to_be_quoted(capsys, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        Path(f"{name}.csv").write_text(SCORED)
    assert command.main(["report", *arguments.split()]) == 2
    assert "; put a pattern of files in quotes: -p preds '*.csv'" in capsys.readouterr().err


def test_doctor_finds_nothing_missing_here_and_says_what_is(capsys, monkeypatch):
    assert command.main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert {"ok       kernel python3", "ok       Python"} <= {
        line.split(":")[0] for line in printed.splitlines()
    }
    monkeypatch.setattr(checks, "DISTRIBUTION", "evalkit-of-nobody")
    assert command.main(["doctor"]) == 1
    assert "missing  evalkit-of-nobody: not installed" in capsys.readouterr().out


def test_doctor_has_a_purpose_for_each_extra():
    extras = metadata(checks.DISTRIBUTION).get_all("Provides-Extra")
    assert sorted(checks.EXTRAS) == sorted(extras)


def test_doctor_says_how_to_install_the_package_of_an_extra(capsys, monkeypatch):
    monkeypatch.setattr(checks, "requires", lambda name: ["nobody-has-it>=2; extra == 'excel'"])
    assert command.main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "optional nobody-has-it: not installed" in printed
    assert "pip install 'evalkit-reports[excel]'" in printed


@pytest.fixture
def shared_folder(tmp_path):
    """A folder that holds evalkit's first module, and a subpackage of the other `evalkit`."""
    package = tmp_path / "evalkit"
    (package / "geal").mkdir(parents=True)
    shutil.copy(Path(ek.__file__), package)
    shutil.copy(Path(command.__file__), package)
    return tmp_path


def test_a_folder_shared_with_the_other_evalkit_is_refused(shared_folder):
    ended = subprocess.run(
        [sys.executable, "-c", "import evalkit"], cwd=shared_folder, capture_output=True, text=True
    )
    assert "also holds geal of the unrelated distribution" in ended.stderr


def test_the_command_says_how_to_repair_a_package_without_its_first_module(
    shared_folder, monkeypatch
):
    (shared_folder / "evalkit" / "__init__.py").unlink()
    monkeypatch.delenv("PYTHONPATH")
    ended = subprocess.run(
        [sys.executable, "-S", "-m", "evalkit"], cwd=shared_folder, capture_output=True, text=True
    )
    assert ended.returncode == 1
    assert "pip uninstall -y evalkit evalkit-reports" in ended.stderr


# Refused before anything runs ---------------------------------------------------------------------

FAULTY = nbformat.writes(
    new_notebook(
        cells=[new_code_cell("ks = = 1", metadata={"tags": ["parameters"]})], metadata=KERNEL
    )
)
TEXTS = {
    "text.ipynb": b"no JSON",
    "list.ipynb": b"[1]",
    "dict.ipynb": b"{}",
    "latin.ipynb": b'{"a": "\xe9"}',
    "bad.ipynb": FAULTY.encode(),
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


@pytest.mark.parametrize("arguments, message", REFUSED)
def test_what_is_refused_before_a_kernel_starts(tmp_path, monkeypatch, arguments, message):
    monkeypatch.setattr(running, "execute", lambda *_, **__: pytest.fail("the notebook was run"))
    monkeypatch.chdir(tmp_path)
    notebook(Path("n.ipynb"))
    notebook(Path("notebooks/ranking.ipynb"))
    for name, content in TEXTS.items():
        Path(name).write_bytes(content)
    before = sorted(tmp_path.rglob("*"))
    given = [text.replace("\xa0", " ") for text in arguments.split(" ")]
    ended = evalkit("report", *given, folder=None, notebooks=Path("notebooks"))
    assert ended.status == 2
    assert message in ended.err
    assert not message.endswith("\n") or ended.err == f"evalkit: {message}"
    assert sorted(tmp_path.rglob("*")) == before
    assert len(ended.err) < 700


def test_without_its_notebooks_the_path_of_one_is_asked_for(tmp_path):
    message = (
        "evalkit is installed without its notebooks, so 'ranking' must be the path of a notebook "
        "(.ipynb)"
    )
    assert (
        evalkit("report", "ranking", folder=tmp_path, notebooks=tmp_path / "no").err
        == f"evalkit: {message}\n"
    )


# Commands that print ------------------------------------------------------------------------------


def test_parameters_command(tmp_path, capsys):
    assert command.main(["parameters", str(notebook(tmp_path / "n.ipynb"))]) == 0
    assert (
        capsys.readouterr().out
        == "preds = 'a.csv'  a file\nks = [1]         cut-offs\ngood = True      passes the gate\n"
    )


def test_version_and_wrong_arguments_import_nothing_slow():
    code = (
        "import sys; sys.argv[1:] = ['{}']\ntry: import runpy; runpy.run_module('evalkit', "
        "run_name='__main__')\n"
    )
    code += (
        "except SystemExit: pass\nprint(sorted({{'papermill', 'nbconvert', 'numpy', 'nbformat'}} & "
        "set(sys.modules)))"
    )
    for argument in ("--version", "nonsense"):
        ended = subprocess.run(
            [sys.executable, "-c", code.format(argument)], cwd=ROOT, capture_output=True, text=True
        )
        assert ended.stdout.splitlines()[-1] == "[]", ended.stderr


def test_notebook_prints_a_copy_without_outputs(capsys):
    assert command.main(["notebook", "ranking"]) == 0
    copied = nbformat.reads(capsys.readouterr().out, as_version=4)
    own = report.read(ROOT / "notebooks" / "ranking.ipynb")
    assert [cell.source for cell in copied.cells] == [cell.source for cell in own.cells]
    assert [
        cell.outputs for cell in copied.cells if cell.cell_type == "code" and cell.outputs
    ] == []
