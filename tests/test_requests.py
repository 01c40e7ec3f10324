"""What the command line refuses before a notebook runs, and the commands that only print."""

import subprocess
import sys

import nbformat
import pytest
from command_runs import KERNEL, ROOT, evalkit, notebook
from nbformat.v4 import new_code_cell, new_notebook

from evalkit import __main__ as command
from evalkit import report, running

# Refused before anything runs ---------------------------------------------------------------------------------


@pytest.fixture
def never_run(monkeypatch):
    monkeypatch.setattr(running, "execute", lambda *_: pytest.fail("the notebook was run"))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["-p", "pred", "x"], "unknown parameter 'pred' (did you mean 'preds'?); this notebook has: preds, ks, good"),
        (["-p", "ks", "1", "-p", "ks", "2"], "parameter 'ks' is given twice"),
        (["-p", "ks"], "argument -p: expected 2 arguments (see evalkit report --help)"),
        (["--foo"], "unrecognized arguments: --foo (see evalkit --help)"),
    ],
)
@pytest.mark.usefixtures("never_run")
def test_wrong_arguments(tmp_path, arguments, message):
    ended = evalkit("report", notebook(tmp_path / "n.ipynb"), *arguments, folder=tmp_path / "out")
    assert (ended.status, ended.err) == (2, f"evalkit: {message}\n")
    assert not ended.folder.exists()


@pytest.mark.usefixtures("never_run")
def test_wrong_notebooks(tmp_path, monkeypatch):
    def refusal(name, text=None):
        if text is not None:
            (tmp_path / name).write_text(text, encoding="utf-8")
        ended = evalkit("report", tmp_path / name, folder=tmp_path / "out")
        assert ended.status == 2
        return ended.err.removeprefix("evalkit: ").replace(str(tmp_path), "")

    assert refusal("none.ipynb") == "cannot read /none.ipynb: No such file or directory\n"
    assert refusal("text.ipynb", "no JSON") == "/text.ipynb is not a Jupyter notebook\n"
    assert refusal("list.ipynb", "[1]") == "/list.ipynb is not a Jupyter notebook\n"
    assert refusal("dict.ipynb", "{}") == "/dict.ipynb is not a Jupyter notebook\n"
    (tmp_path / "latin.ipynb").write_bytes(b'{"a": "\xe9"}')
    assert refusal("latin.ipynb") == "/latin.ipynb is not a Jupyter notebook\n"
    cell = new_code_cell("ks = = 1", metadata={"tags": ["parameters"]})
    source = nbformat.writes(new_notebook(cells=[cell], metadata=KERNEL))
    assert refusal("bad.ipynb", source) == "/bad.ipynb: the parameters cell is not Python: invalid syntax (line 1)\n"


@pytest.mark.usefixtures("never_run")
def test_notebooks_by_name(tmp_path):
    given = {"folder": tmp_path, "notebooks": tmp_path / "notebooks"}
    message = "evalkit is installed without its notebooks, so 'ranking' must be the path of a notebook (.ipynb)"
    assert evalkit("report", "ranking", **given).err == f"evalkit: {message}\n"
    notebook(tmp_path / "notebooks" / "ranking.ipynb")
    message = "no notebook named 'rankin' (did you mean 'ranking'?); there are: ranking"
    assert evalkit("report", "rankin", **given).err == f"evalkit: {message}\n"
    message = "unknown parameter 'x'; this notebook has: preds, ks, good"
    assert evalkit("report", "ranking", "-p", "x", "1", **given).err == f"evalkit: {message}\n"


@pytest.mark.usefixtures("never_run")
def test_folders_that_cannot_be_written(tmp_path):
    path = notebook(tmp_path / "n.ipynb")
    before = path.read_bytes()
    ended = evalkit("report", path, folder=tmp_path)
    assert (ended.status, path.read_bytes()) == (2, before)
    assert "the report would overwrite the notebook" in ended.err
    ended = evalkit("report", path, folder=path / "out")
    assert (ended.status, ended.err) == (2, f"evalkit: -o {path / 'out'}: {path} is not a folder\n")


@pytest.mark.usefixtures("never_run")
@pytest.mark.parametrize("value", ["[&a [*a]]", "[&a [1], *a]", "{a: &b {c: *b}}", "[" * 5000 + "]" * 5000])
def test_a_list_that_holds_itself_or_has_no_end_is_refused_in_one_line(tmp_path, value):
    ended = evalkit("report", notebook(tmp_path / "n.ipynb"), "-p", "ks", value, folder=tmp_path / "out")
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith("evalkit: a list must ")
    assert len(ended.err) < 300


@pytest.mark.usefixtures("never_run")
@pytest.mark.parametrize("name", ["", "a/b", ".hidden", "n" * 300, "é" * 120])
def test_a_name_that_no_file_can_have_is_refused(tmp_path, name):
    ended = evalkit("report", notebook(tmp_path / "n.ipynb"), "--name", name, folder=tmp_path / "out")
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith("evalkit: --name must be ")


@pytest.mark.usefixtures("never_run")
def test_a_folder_whose_name_is_too_long_is_refused(tmp_path):
    ended = evalkit("report", notebook(tmp_path / "n.ipynb"), folder=tmp_path / ("o" * 300))
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert "File name too long" in ended.err


# Commands that print -----------------------------------------------------------------------------------------


def test_parameters_command(tmp_path, capsys):
    assert command.main(["parameters", str(notebook(tmp_path / "n.ipynb"))]) == 0
    assert (
        capsys.readouterr().out
        == "preds = 'a.csv'  a file\nks = [1]         cut-offs\ngood = True      passes the gate\n"
    )


def test_version_and_wrong_arguments_import_nothing_slow():
    code = "import sys; sys.argv[1:] = ['{}']\ntry: import runpy; runpy.run_module('evalkit', run_name='__main__')\n"
    code += (
        "except SystemExit: pass\nprint(sorted({{'papermill', 'nbconvert', 'numpy', 'nbformat'}} & set(sys.modules)))"
    )
    for argument in ("--version", "nonsense"):
        ended = subprocess.run([sys.executable, "-c", code.format(argument)], cwd=ROOT, capture_output=True, text=True)
        assert ended.stdout.splitlines()[-1] == "[]", ended.stderr


def test_notebook_prints_a_copy_without_outputs(capsys):
    assert command.main(["notebook", "ranking"]) == 0
    copied = nbformat.reads(capsys.readouterr().out, as_version=4)
    own = report.read(ROOT / "notebooks" / "ranking.ipynb")
    assert [cell.source for cell in copied.cells] == [cell.source for cell in own.cells]
    assert [cell.outputs for cell in copied.cells if cell.cell_type == "code" and cell.outputs] == []
