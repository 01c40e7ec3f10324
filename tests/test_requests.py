"""What the command line refuses before a notebook runs, and the commands that only print."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from command_runs import KERNEL, ROOT, evalkit, notebook
from nbformat.v4 import new_code_cell, new_notebook

from evalkit import __main__ as command
from evalkit import report, running

# Refused before anything runs ---------------------------------------------------------------------------------

FAULTY = nbformat.writes(
    new_notebook(cells=[new_code_cell("ks = = 1", metadata={"tags": ["parameters"]})], metadata=KERNEL)
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
LONG, DEEP = "o" * 300, "[" * 5000 + "]" * 5000
REFUSED = [  # arguments, what is said
    ("n.ipynb -p pred x", "unknown parameter 'pred' (did you mean 'preds'?); this notebook has: preds, ks, good\n"),
    ("n.ipynb -p ks 1 -p ks 2", "parameter 'ks' is given twice\n"),
    ("n.ipynb -p ks", "argument -p: expected 2 arguments (see evalkit report --help)\n"),
    ("n.ipynb --foo", "unrecognized arguments: --foo (see evalkit --help)\n"),
    ("none.ipynb", "cannot read none.ipynb: No such file or directory\n"),
    *((f"{name}.ipynb", f"{name}.ipynb is not a Jupyter notebook\n") for name in ("text", "list", "dict", "latin")),
    ("bad.ipynb", "bad.ipynb: the parameters cell is not Python: invalid syntax (line 1)\n"),
    ("n.ipynb -o .", "the report would overwrite the notebook"),
    ("n.ipynb -o n.ipynb/out", "n.ipynb is not a folder"),
    (f"n.ipynb -o {LONG}", "File name too long"),
    *((f"n.ipynb -p ks {text}", "a list must ") for text in ("[&a\xa0[*a]]", "[&a\xa0[1],*a]", DEEP)),
    *((f"n.ipynb --name {name}", "--name must be ") for name in ("a/b", ".hidden", LONG, "é" * 120)),
    ("n.ipynb --each nothing/*.csv", "--each: no file matches 'nothing/*.csv'"),
    ("n.ipynb --each ma*.csv --name x", "--name names one report, got 2"),
    ("n.ipynb --each prds=may.csv", "n-may: unknown parameter 'prds' (did you mean 'preds'?)"),
    ("n.ipynb n.ipynb", "two reports would have the name 'n'"),
    ("n.ipynb -f none.toml", "-f: cannot read none.toml: No such file or directory"),
    ("n.ipynb -f may.csv", "-f: may.csv is not a TOML file"),
    ("n.ipynb -j 0", "argument -j: must be a whole number of at least 1, got '0'"),
    ("rankin", "no notebook named 'rankin' (did you mean 'ranking'?); there are: ranking\n"),
    ("ranking -p x 1", "unknown parameter 'x'; this notebook has: preds, ks, good\n"),
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
    message = "evalkit is installed without its notebooks, so 'ranking' must be the path of a notebook (.ipynb)"
    assert evalkit("report", "ranking", folder=tmp_path, notebooks=tmp_path / "no").err == f"evalkit: {message}\n"


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
