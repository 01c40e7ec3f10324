"""The command line and the run: exit statuses and messages, the three files, atomicity, identical
bytes, the engine.
"""

import json
import os
import subprocess
import sys
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
def two_runs(tmp_path_factory):
    """How two runs of one notebook ended, with preds 1e3 and ks [1,5], which it publishes. Its name
    and its folders have blanks, braces and letters beyond ASCII.
    """
    home = tmp_path_factory.mktemp("home")
    path = notebook(home / "dör {x} y" / "näme {run}.ipynb", CHECK, PUBLISH)
    arguments = ("report", path, "-p", "preds", "1e3", "-p", "ks", "[1,5]")
    return [evalkit(*arguments, folder=home / folder) for folder in ("new/ü {1}", "second")]


def test_a_good_run_writes_three_files_and_prints_the_path_of_the_page(two_runs):
    run = two_runs[0]
    assert (run.status, run.err) == (0, "")
    assert run.out == f"{run.folder / 'näme {run}.html'}\n"
    assert sorted(path.suffix for path in run.folder.iterdir()) == [".html", ".ipynb", ".json"]


def test_the_results_hold_what_the_notebook_published(two_runs):
    """Values are stored with all their digits and text as it is, one entry a line."""
    text = (two_runs[0].folder / "näme {run}.json").read_text(encoding="utf-8")
    results = json.loads(text)
    assert results["ks"] == [1, 5]
    assert results["preds"] == "1e3"  # a text by default, and so not read as 1000.0
    assert '\n "é": 0.30000000000000004,\n' in text  # the notebook publishes 0.1 + 0.2


def test_two_runs_give_identical_bytes(two_runs):
    first, second = two_runs
    for path in first.folder.iterdir():
        assert path.read_bytes() == (second.folder / path.name).read_bytes(), path.name


def test_the_stored_notebook_tells_no_times_and_no_output_paths(two_runs):
    """A notebook "näme {run}" was run by papermill. It has a title, a cell of defaults and two
    cells of code, code-0 and code-1; papermill adds a cell with the parameters of the run. The copy
    that is stored in the folder of the output has these five cells, and must not depend on when and
    where it was run.
    """
    folder = two_runs[0].folder
    text = (folder / "näme {run}.ipynb").read_text(encoding="utf-8")
    assert "papermill" not in text  # its metadata would have the times of each cell
    assert "start_time" not in text
    assert str(folder.parent) not in text
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
NO_RESULTS = (
    "evalkit: run failed: ResultsError: the notebook published no results "
    "(application/vnd.evalkit+json); see "
)


@pytest.mark.parametrize(
    ("source", "status", "message", "number_of_files"),
    [
        (
            PUBLISH.replace("passed': good", "passed': False"),
            3,
            "evalkit: gate failed: good is true\n",
            3,
        ),
        (REFUSED, 2, "evalkit: a.csv: score must be finite, got nan (row 7)\n", 0),
        ("1", 1, NO_RESULTS, 2),
        ("import os\nos._exit(1)", 1, "evalkit: run failed: DeadKernelError: Kernel died; see ", 2),
    ],
    ids=["gate failed", "input refused", "no results", "kernel died"],
)
def test_how_a_run_ends(tmp_path, source, status, message, number_of_files):
    ended = evalkit("report", notebook(tmp_path / "n.ipynb", source), folder=tmp_path / "out")
    assert (ended.status, ended.err.count("\n")) == (status, 1)
    assert ended.err.startswith(message)
    assert len(list(tmp_path.glob("out/*"))) == number_of_files


def test_a_failed_run_ends_with_1_and_leaves_the_old_report(tmp_path):
    """The folder has the three files of an earlier report. A notebook is run whose first cell
    raises KeyError; a second one would publish results. The command ends with status 1 and names
    the page of the failed run, which is written beside the old files, as n.failed.html and
    n.failed.ipynb. The old files stay.
    """
    folder = tmp_path / "out"
    old = {ending: f"old {ending}" for ending in (".html", ".ipynb", ".json")}
    report.write(folder, "n", old)
    path = notebook(tmp_path / "n.ipynb", "{}['x']", PUBLISH)
    ended = evalkit("report", path, folder=folder)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == f"evalkit: run failed: KeyError: 'x'; see {folder / 'n.failed.html'}\n"
    assert {ending: (folder / f"n{ending}").read_text() for ending in old} == old
    page = (folder / "n.failed.html").read_text(encoding="utf-8")
    assert "RUN FAILED" in page
    assert "<strong>KeyError:</strong> &#x27;x&#x27;" in page
    new = {"n.failed.html", "n.failed.ipynb"}
    assert {path.name for path in folder.iterdir()} == {f"n{ending}" for ending in old} | new


# Parts --------------------------------------------------------------------------------------------


def test_all_files_are_replaced_or_none(tmp_path):
    """Files n.a and n.b are written, and twice written anew, together with a second file that
    cannot be written: None is no text, and n.json is a folder. The file n.a must stay as it was,
    though its new text is valid, and no draft may be left.
    """
    report.write(tmp_path, "n", {".a": "old", ".b": "old"})
    (tmp_path / "n.json").mkdir()
    with pytest.raises(TypeError):
        report.write(tmp_path, "n", {".a": "new", ".b": None})
    with pytest.raises(IsADirectoryError):
        report.write(tmp_path, "n", {".a": "new", ".json": "c"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n.a", "n.b", "n.json"]
    assert (tmp_path / "n.a").read_text() == "old"


def test_a_good_run_removes_what_a_failed_one_left(tmp_path):
    """`finish` writes the files of a run and returns how the command ends. A failed run of the
    notebook n has status 1 and leaves a page and a notebook named n.failed, which the next good run
    replaces by its three files.
    """
    cells = new_notebook(cells=[new_markdown_cell("# A", id="a")])
    failure = report.Failure("KeyError", "x", 0)
    failed_run = report.Run(cells, results=None, failure=failure)
    assert requests.finish(failed_run, tmp_path, "n").status == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n.failed.html", "n.failed.ipynb"]
    good_run = report.Run(cells, results={"a": 1}, failure=None)
    assert requests.finish(good_run, tmp_path, "n").status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n.html", "n.ipynb", "n.json"]


def test_old_notebooks_get_ids_by_position(tmp_path):
    cells = [{"cell_type": "markdown", "metadata": {}, "source": text} for text in "ab"]
    old = {"nbformat": 4, "nbformat_minor": 4, "metadata": KERNEL, "cells": cells}
    (tmp_path / "old.ipynb").write_text(json.dumps(old), encoding="utf-8")
    assert [cell.id for cell in report.read(tmp_path / "old.ipynb").cells] == ["cell-0", "cell-1"]


def manager_of(options):
    """The settings of the kernel manager in the options of a run: its connection file, and how it
    is talked to (transport).
    """
    return options["config"].KernelManager


def test_each_run_has_a_folder_of_sockets_of_its_own_that_is_removed_with_it(monkeypatch, tmp_path):
    """A run talks to its kernel by Unix sockets ("ipc"), whose files lie beside the connection
    file, in a temporary folder for as long as its options are in use (`kernel_options`). Two runs
    at once must not share it, and afterwards it is removed.
    """
    monkeypatch.chdir(tmp_path)
    with kernels.kernel_options() as first, kernels.kernel_options() as second:
        folder = Path(manager_of(first).connection_file).parent
        assert folder != Path(manager_of(second).connection_file).parent
        assert folder.is_dir()
        assert manager_of(first).transport == "ipc"
    assert not folder.exists()
    assert not list(tmp_path.iterdir())  # nothing is left in the working directory


def test_a_run_below_a_path_too_long_for_sockets_uses_tcp(monkeypatch, tmp_path):
    """The path of a Unix socket may have about 100 bytes: 103 on macOS, 107 on Linux."""
    long_path = tmp_path / ("d" * 120)
    long_path.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long_path))
    with kernels.kernel_options() as options:
        assert manager_of(options).transport == "tcp"


# papermill's own command --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def evalkit_as_engine():
    """The arguments by which papermill runs a notebook with the engine of evalkit."""
    papermill_engines.register("evalkit", report.EvalkitEngine)
    return {"engine_name": "evalkit", "progress_bar": False}


def test_a_bundled_notebook_has_the_same_bytes_in_this_process_as_in_a_kernel(monkeypatch):
    """Six cells of the notebook of the report `rating` are run in this process and in a Jupyter
    kernel of its own: both have the same results, which name the settings file as the origin of the
    parameters. All cells are run in test_notebooks.py, which is slow.
    """
    # On some processors a kernel is started with this variable, by which numpy uses other
    # instructions that round sums otherwise. A value that is set before is kept for both.
    monkeypatch.setenv(
        processors.DISABLED_FEATURES_VARIABLE,
        os.environ.get(processors.DISABLED_FEATURES_VARIABLE, ""),
    )
    notebook = report.read(ROOT / "notebooks" / "rating.ipynb")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    few = {"parameters", "read", "verdict", "actual-plot", "comparisons", "results"}
    notebook.cells = [cell for cell in code if cell.id in few]
    options = {"parameters": {"metrics": ["mae"], "level": 0.9}, "origin": "june.toml, SHA-256 0"}
    here = running.execute(notebook, **options, in_process=True)
    in_kernel = running.execute(notebook, **options, in_process=False)
    assert here == in_kernel
    assert here.failure is None
    assert here.results["settings"] == "june.toml, SHA-256 0"


def test_a_cell_that_fails_in_this_process_has_the_outputs_it_has_in_a_kernel():
    """A notebook is run in this process and in a Jupyter kernel of its own. Cell 0 prints and has a
    value, cell 1 fails with a division by zero, cell 2 is not run. Both ways have the same failure
    and the same outputs of cell 0; the traceback of cell 1 has the line of the cell and ends with
    the error.
    """
    sources = ["import sys\nprint('a')\nsys.stderr.write('b')\n1", "1 / 0", "2"]
    book = new_notebook(
        cells=[new_code_cell(source, id=f"c{i}") for i, source in enumerate(sources)]
    )
    here = running.execute(book, {}, in_process=True)
    in_kernel = running.execute(book, {}, in_process=False)
    failure_of_cell_1 = report.Failure("ZeroDivisionError", "division by zero", 1)
    assert here.failure == in_kernel.failure == failure_of_cell_1
    assert here.notebook.cells[0] == in_kernel.notebook.cells[0]
    assert [cell.get("execution_count") for cell in here.notebook.cells] == [1, 2, None]
    lines = here.notebook.cells[1].outputs[0].traceback
    assert lines[1:3] == ['  File "<cell 2>", line 1, in <module>', "    1 / 0"]
    assert lines[-1] == "ZeroDivisionError: division by zero"


def test_the_engine_writes_the_page_beside_the_notebook(tmp_path, evalkit_as_engine):
    """papermill runs a notebook with the engine of evalkit, and the value [7, 8] for its parameter
    ks. The first cell checks the parameters, the last shows ks. The engine writes the page,
    out.html, beside the notebook out.ipynb that papermill writes: it has the title and the output.
    """
    source = notebook(tmp_path / "n.ipynb", CHECK, "ks")
    papermill.execute_notebook(
        source, tmp_path / "out.ipynb", parameters={"ks": [7, 8]}, **evalkit_as_engine
    )
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "<title>A report</title>" in page
    assert "<pre>[7, 8]</pre>" in page


def test_the_engine_writes_a_page_of_a_run_that_failed(tmp_path, evalkit_as_engine):
    """papermill runs a notebook with the engine of evalkit. The notebook has the parameters preds,
    ks and good, and its first cell (CHECK) refuses any other, such as "pred", so that the run
    fails. The engine writes a page nevertheless, out.html, which says why.
    """
    source = notebook(tmp_path / "n.ipynb", CHECK, "ks")
    with pytest.raises(papermill.PapermillExecutionError):
        papermill.execute_notebook(
            source, tmp_path / "out.ipynb", parameters={"pred": "x"}, **evalkit_as_engine
        )
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "RUN FAILED" in page
    assert "(did you mean &#x27;preds&#x27;?); this notebook has: preds, ks, good" in page


# Where a run works --------------------------------------------------------------------------------


def run_evalkit(*arguments, cwd, **environment):
    """Run the command in a process of its own and return how it ended."""
    command_line = [sys.executable, "-m", "evalkit", *map(str, arguments)]
    surroundings = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    return subprocess.run(
        command_line, cwd=cwd, env=surroundings, capture_output=True, text=True, timeout=200
    )


def stderr_of(run, status):
    """What a run has written to stderr: nothing if it ended well, one line if not."""
    assert run.returncode == status, run.stderr
    assert run.stderr.count("\n") == (status > 0), run.stderr
    return run.stderr


def test_a_file_named_like_a_package_beside_the_data_is_not_imported(tmp_path):
    """The working directory has a.csv with the text "7", and files such as pandas.py that would end
    the process if they were imported. The notebook imports pandas and numpy, reads a.csv as preds,
    and publishes preds in its results (PUBLISH): the command succeeds, with the text of a.csv.
    """
    for name in ("pandas", "numpy", "papermill", "IPython"):
        (tmp_path / f"{name}.py").write_text(
            "raise SystemExit('imported from the working directory')"
        )
    (tmp_path / "a.csv").write_text("7")
    source = "import pandas, numpy\nfrom pathlib import Path\npreds = Path('a.csv').read_text()"
    path = notebook(tmp_path / "n.ipynb", source, PUBLISH)
    run = run_evalkit("report", path, "-o", "out", cwd=tmp_path, PYTHONPATH=ROOT)
    assert stderr_of(run, 0) == ""
    assert json.loads((tmp_path / "out" / "n.json").read_text(encoding="utf-8"))["preds"] == "7"


def test_a_folder_of_ipython_that_cannot_be_written_is_not_needed(tmp_path):
    nowhere = tmp_path / "file"  # a file in the place of a folder: not even root can write there
    nowhere.write_text("")
    path = notebook(tmp_path / "n.ipynb", "import matplotlib.pyplot", PUBLISH)
    run = run_evalkit("report", path, "-o", "out", cwd=tmp_path, IPYTHONDIR=nowhere)
    assert stderr_of(run, 0) == ""


def test_a_home_that_cannot_be_written_is_not_needed(tmp_path):
    """The home folder and that of settings cannot be written. The notebook imports matplotlib,
    which would warn of it in an output, and publishes a result; the report must have no such
    warning, and no output to stderr at all.
    """
    nowhere = tmp_path / "file"  # a file in the place of a folder: not even root can write there
    nowhere.write_text("")
    path = notebook(tmp_path / "n.ipynb", "import matplotlib.pyplot", PUBLISH)
    home = {"HOME": nowhere, "XDG_CONFIG_HOME": nowhere / "x"}
    run = run_evalkit("report", path, "-o", "out", cwd=tmp_path, **home)
    assert stderr_of(run, 0) == ""
    assert "writable" not in (tmp_path / "out" / "n.html").read_text(encoding="utf-8")
    assert "stderr" not in (tmp_path / "out" / "n.ipynb").read_text(encoding="utf-8")


def test_a_run_leaves_the_environment_as_it_was():
    before = dict(os.environ)
    with kernels.kernel_options():
        assert os.environ["PYTHONSAFEPATH"] == "1"
    assert dict(os.environ) == before


def test_drafts_of_a_killed_run_are_removed_by_the_next(tmp_path):
    """A report is written as a draft, named .NAME.html.ID.part by the id of its process, and then
    renamed. The folder has a draft of a process that has ended, which is left for good, a draft of
    one that still runs, and a file with another name. Writing a report removes the first alone.
    """
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    of_ended_process = tmp_path / f".other {{x}}.html.{process.pid}.part"
    of_running_process = tmp_path / f".other.html.{os.getppid()}.part"
    no_draft = tmp_path / "mine.part"
    for path in (of_ended_process, of_running_process, no_draft):
        path.write_text("half")
    report.write(tmp_path, "n", {".html": "a"})
    assert {*tmp_path.iterdir()} == {of_running_process, no_draft, tmp_path / "n.html"}


def messages_when_written(folder, name, input_file):
    """What the command prints once a good report on the file is written as folder/name.html."""
    cells = new_notebook(cells=[new_markdown_cell("# A", id="a")])
    outcome = requests.finish(report.Run(cells, {"inputs": [input_file]}, None), folder, name)
    assert outcome.status == 0
    return "".join(outcome.messages)


def test_a_report_of_other_data_is_not_replaced_without_a_word(tmp_path):
    """Reports on two versions of a.csv, with different SHA-256 sums, are written to one folder,
    under the names "n" and "other". The message of each writing is "", but for a note where a
    report replaces one on other data, and where it replaces one whose data cannot be read.
    """
    version_1 = {"name": "a.csv", "rows": 3, "sha256": "1"}
    version_2 = {"name": "a.csv", "rows": 3, "sha256": "2"}
    assert messages_when_written(tmp_path, "n", version_1) == ""
    assert messages_when_written(tmp_path, "n", version_1) == ""
    note = "note: this replaced a report of other data (a.csv); --name NAME keeps both"
    assert messages_when_written(tmp_path, "n", version_2) == note
    assert messages_when_written(tmp_path, "other", version_1) == ""
    (tmp_path / "n.json").write_text("no JSON")
    assert "(inputs unknown)" in messages_when_written(tmp_path, "n", version_2)


def test_two_reports_in_one_folder_have_names(tmp_path):
    path = notebook(tmp_path / "n.ipynb", PUBLISH)
    for name in ("may", "june {1}"):
        ended = evalkit("report", path, "--name", name, folder=tmp_path / "out")
        assert (ended.status, ended.err, ended.out) == (0, "", f"{tmp_path / 'out' / name}.html\n")
    assert len(list((tmp_path / "out").iterdir())) == 6
