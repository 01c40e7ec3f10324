"""The command line and the run: exit statuses and messages, the three files, atomicity, identical
bytes, the engine.
"""

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import nbformat
import papermill
import pytest
from command_runs import CHECK, KERNEL, PUBLISH, evalkit, importable, notebook  # noqa: F401
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from papermill.engines import papermill_engines

from evalkit import report, running
from evalkit.commands import requests
from evalkit.machine import kernels, processors

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """One notebook run twice with the same arguments, at a path with a blank, braces and letters
    beyond ASCII.
    """
    home = tmp_path_factory.mktemp("home")
    path = notebook(home / "dör {x} y" / "näme {run}.ipynb", CHECK, PUBLISH)
    arguments = ("report", path, "-p", "preds", "1e3", "-p", "ks", "[1,5]")
    return [evalkit(*arguments, folder=home / folder) for folder in ("new/ü {1}", "second")]


def test_done_writes_three_files(good):
    first = good[0]
    assert (first.status, first.err) == (0, "")
    assert first.out == f"{first.folder / 'näme {run}.html'}\n"
    assert sorted(path.suffix for path in first.folder.iterdir()) == [".html", ".ipynb", ".json"]
    text = (first.folder / "näme {run}.json").read_text(encoding="utf-8")
    assert (json.loads(text)["ks"], json.loads(text)["preds"]) == ([1, 5], "1e3")
    assert '\n "é": 0.30000000000000004,\n' in text


def test_two_runs_give_identical_bytes(good):
    for path in good[0].folder.iterdir():
        assert path.read_bytes() == (good[1].folder / path.name).read_bytes(), path.name


def test_the_stored_notebook_tells_no_times_and_no_output_paths(good):
    text = (good[0].folder / "näme {run}.ipynb").read_text(encoding="utf-8")
    assert "papermill" not in text
    assert "start_time" not in text
    assert str(good[0].folder.parent) not in text
    stored = nbformat.reads(text, as_version=4)
    nbformat.validate(stored)
    assert [c.id for c in stored.cells] == [
        "title",
        "defaults",
        "injected-parameters",
        "code-0",
        "code-1",
    ]


REFUSED = (
    "from evalkit.arrays import InputError\nraise InputError('a.csv: score must be finite,\\n got "
    "nan (row 7)')"
)
LIKE = (
    "evalkit: run failed: ResultsError: the notebook published no results "
    "(application/vnd.evalkit+json); see "
)


@pytest.mark.parametrize(
    "source, status, said, files",
    [
        (
            PUBLISH.replace("passed': good", "passed': False"),
            3,
            "evalkit: gate failed: good is true\n",
            3,
        ),
        (REFUSED, 2, "evalkit: a.csv: score must be finite, got nan (row 7)\n", 0),
        ("1", 1, LIKE, 2),
        ("import os\nos._exit(1)", 1, "evalkit: run failed: DeadKernelError: Kernel died; see ", 2),
    ],
)
def test_how_a_run_ends(tmp_path, source, status, said, files):
    ended = evalkit("report", notebook(tmp_path / "n.ipynb", source), folder=tmp_path / "out")
    assert (ended.status, ended.err.count("\n")) == (status, 1)
    assert ended.err.startswith(said)
    assert len(list(tmp_path.glob("out/*"))) == files


def test_a_failed_run_ends_with_1_and_leaves_the_old_report(tmp_path):
    folder = tmp_path / "out"
    old = {ending: f"old {ending}" for ending in (".html", ".ipynb", ".json")}
    report.write(folder, "n", old)
    ended = evalkit("report", notebook(tmp_path / "n.ipynb", "{}['x']", PUBLISH), folder=folder)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == f"evalkit: run failed: KeyError: 'x'; see {folder / 'n.failed.html'}\n"
    assert {ending: (folder / f"n{ending}").read_text() for ending in old} == old
    page = (folder / "n.failed.html").read_text(encoding="utf-8")
    assert "RUN FAILED" in page
    assert "<strong>KeyError:</strong> &#x27;x&#x27;" in page
    assert len(list(folder.iterdir())) == 5


# Parts --------------------------------------------------------------------------------------------


def test_all_files_are_replaced_or_none(tmp_path):
    report.write(tmp_path, "n", {".a": "old", ".b": "old"})
    (tmp_path / "n.json").mkdir()
    for error, texts in (
        (TypeError, {".a": "new", ".b": None}),
        (IsADirectoryError, {".a": "new", ".json": "c"}),
    ):
        with pytest.raises(error):
            report.write(tmp_path, "n", texts)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n.a", "n.b", "n.json"]
    assert (tmp_path / "n.a").read_text() == "old"


def test_a_good_run_removes_what_a_failed_one_left(tmp_path):
    cells = new_notebook(cells=[new_markdown_cell("# A", id="a")])
    assert (
        requests.finish(
            report.Run(cells, None, report.Failure("KeyError", "x", 0)), tmp_path, "n"
        ).status
        == 1
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n.failed.html", "n.failed.ipynb"]
    assert requests.finish(report.Run(cells, {"a": 1}, None), tmp_path, "n").status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n.html", "n.ipynb", "n.json"]


def test_old_notebooks_get_ids_by_position(tmp_path):
    cells = [{"cell_type": "markdown", "metadata": {}, "source": text} for text in "ab"]
    old = {"nbformat": 4, "nbformat_minor": 4, "metadata": KERNEL, "cells": cells}
    (tmp_path / "old.ipynb").write_text(json.dumps(old), encoding="utf-8")
    assert [cell.id for cell in report.read(tmp_path / "old.ipynb").cells] == ["cell-0", "cell-1"]


def test_each_run_has_sockets_of_its_own_that_go_with_it(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with kernels.kernel_options() as first, kernels.kernel_options() as second:
        files = [Path(one["config"].KernelManager.connection_file) for one in (first, second)]
        assert files[0].parent != files[1].parent
        assert files[0].parent.is_dir()
        assert first["config"].KernelManager.transport == "ipc"
    assert not files[0].parent.exists()
    assert not list(tmp_path.iterdir())
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with kernels.kernel_options() as calm:
        assert calm["config"].KernelManager.transport == "tcp"


# papermill's own command --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine():
    papermill_engines.register("evalkit", report.EvalkitEngine)
    return {"engine_name": "evalkit", "progress_bar": False}


def test_a_bundled_notebook_has_the_same_bytes_in_this_process_as_in_a_kernel(monkeypatch):
    monkeypatch.setenv(processors.SWITCH, os.environ.get(processors.SWITCH, ""))
    notebook = report.read(ROOT / "notebooks" / "rating.ipynb")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    notebook.cells = [
        *code[:4],
        code[7],
        code[-2],
    ]  # tables, a figure, the results; all cells: test_notebooks.py
    given = {"parameters": {"metrics": ["mae"], "level": 0.9}, "origin": "june.toml, SHA-256 0"}
    here, kernel = (
        running.execute(notebook, **given, in_process=in_process) for in_process in (True, False)
    )
    assert here == kernel
    assert here.failure is None
    assert here.results["settings"] == "june.toml, SHA-256 0"


def test_a_cell_that_fails_in_this_process_says_what_a_kernel_would():
    sources = ["import sys\nprint('a')\nsys.stderr.write('b')\n1", "1 / 0", "2"]
    book = new_notebook(
        cells=[new_code_cell(source, id=f"c{i}") for i, source in enumerate(sources)]
    )
    here, kernel = (
        running.execute(book, {}, in_process=in_process) for in_process in (True, False)
    )
    assert (
        here.failure == kernel.failure == report.Failure("ZeroDivisionError", "division by zero", 1)
    )
    assert here.notebook.cells[0] == kernel.notebook.cells[0]
    assert [cell.get("execution_count") for cell in here.notebook.cells] == [1, 2, None]
    lines = here.notebook.cells[1].outputs[0].traceback
    assert lines[1:3] == ['  File "<cell 2>", line 1, in <module>', "    1 / 0"]
    assert lines[-1] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    "given, there",
    [
        ({"ks": [7, 8]}, ["<title>A report</title>", "<pre>[7, 8]</pre>"]),
        (
            {"pred": "x"},
            ["RUN FAILED", "(did you mean &#x27;preds&#x27;?); this notebook has: preds, ks, good"],
        ),
    ],
)
def test_the_engine_writes_the_page_beside(tmp_path, engine, given, there):
    source = notebook(tmp_path / "n.ipynb", CHECK, "ks")
    expected = (
        pytest.raises(papermill.PapermillExecutionError) if "pred" in given else nullcontext()
    )
    with expected:
        papermill.execute_notebook(source, tmp_path / "out.ipynb", parameters=given, **engine)
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert [text for text in there if text not in page] == []


# Where a run works --------------------------------------------------------------------------------


def ended(*arguments, cwd, **environment):
    """How the command ends in a process of its own."""
    command_line = [sys.executable, "-m", "evalkit", *map(str, arguments)]
    surroundings = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    return subprocess.run(
        command_line, cwd=cwd, env=surroundings, capture_output=True, text=True, timeout=200
    )


def one_line(run, status):
    assert run.returncode == status, run.stderr
    assert run.stderr.count("\n") == (status > 0), run.stderr
    return run.stderr


def test_a_file_named_like_a_package_beside_the_data_is_not_imported(tmp_path):
    for name in ("pandas", "numpy", "papermill", "IPython"):
        (tmp_path / f"{name}.py").write_text(
            "raise SystemExit('imported from the working directory')"
        )
    (tmp_path / "a.csv").write_text("7")
    source = "import pandas, numpy\nfrom pathlib import Path\npreds = Path('a.csv').read_text()"
    path = notebook(tmp_path / "n.ipynb", source, PUBLISH)
    run = ended("report", path, "-o", "out", cwd=tmp_path, PYTHONPATH=ROOT)
    assert one_line(run, 0) == ""
    assert json.loads((tmp_path / "out" / "n.json").read_text(encoding="utf-8"))["preds"] == "7"


def test_folders_of_ipython_and_a_home_that_cannot_be_written_are_not_needed(tmp_path):
    """A file in the place of a folder cannot be written, not even by root."""
    (tmp_path / "file").write_text("")
    path = notebook(tmp_path / "n.ipynb", "import matplotlib.pyplot", PUBLISH)
    nowhere = tmp_path / "file"
    for i, places in enumerate(
        ({"IPYTHONDIR": nowhere}, {"HOME": nowhere, "XDG_CONFIG_HOME": nowhere / "x"})
    ):
        run = ended("report", path, "-o", f"out {i}", cwd=tmp_path, **places)
        assert one_line(run, 0) == ""
    page = (tmp_path / "out 1" / "n.html").read_text(encoding="utf-8")
    assert "writable" not in page
    assert "stderr" not in (tmp_path / "out 1" / "n.ipynb").read_text(encoding="utf-8")


def test_a_run_leaves_the_environment_as_it_was():
    before = dict(os.environ)
    with kernels.kernel_options():
        assert os.environ["PYTHONSAFEPATH"] == "1"
    assert dict(os.environ) == before


def test_drafts_of_a_killed_run_are_removed_by_the_next(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    left = tmp_path / f".other {{x}}.html.{process.pid}.part"
    ours = tmp_path / f".other.html.{os.getppid()}.part"
    for draft in (left, ours, tmp_path / "mine.part"):
        draft.write_text("half")
    report.write(tmp_path, "n", {".html": "a"})
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [ours.name, "mine.part", "n.html"]
    )


def finished(folder, name, *inputs):
    """What is said at the end of a good run of the inputs."""
    cells = new_notebook(cells=[new_markdown_cell("# A", id="a")])
    outcome = requests.finish(report.Run(cells, {"inputs": list(inputs)}, None), folder, name)
    assert outcome.status == 0
    return "".join(outcome.messages)


def test_a_report_of_other_data_is_not_replaced_without_a_word(tmp_path):
    first, second = ({"name": "a.csv", "rows": 3, "sha256": sha} for sha in ("1", "2"))
    assert finished(tmp_path, "n", first) == ""
    assert finished(tmp_path, "n", first) == ""
    note = "note: this replaced a report of other data (a.csv); --name NAME keeps both"
    assert finished(tmp_path, "n", second) == note
    assert finished(tmp_path, "other", first) == ""
    (tmp_path / "n.json").write_text("no JSON")
    assert "(inputs unknown)" in finished(tmp_path, "n", second)


def test_two_reports_in_one_folder_have_names(tmp_path):
    path = notebook(tmp_path / "n.ipynb", PUBLISH)
    for name in ("may", "june {1}"):
        ended = evalkit("report", path, "--name", name, folder=tmp_path / "out")
        assert (ended.status, ended.err, ended.out) == (0, "", f"{tmp_path / 'out' / name}.html\n")
    assert len(list((tmp_path / "out").iterdir())) == 6
