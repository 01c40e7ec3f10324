"""Parameters: ways to give a value, and each report's, which signature, cell, command line and docs
share.
"""

import inspect
import json
import math
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from nbformat.v4 import new_code_cell
from samples import examples

import evalkit as ek
from evalkit import __main__ as command, parameters, report, running
from evalkit.arrays import InputError, ParameterError
from evalkit.parameters import cells, kinds, reports
from evalkit.parameters.cells import declared, typed
from evalkit.parameters.kinds import (
    CUT,
    DATA,
    INTEGERS,
    SHARES,
    UNKNOWN,
    VALUE,
    WRITTEN,
    Parameter,
    refuse_unknown,
)
from evalkit.reading.inputs import folds
from evalkit.statistics.alternatives import Alternative
from evalkit.studies import (
    planning,
    ranking,
)

GAINS = ["linear", "binary"]


def test_a_parameters_cell_declares_names_defaults_and_comments():
    """The first cell of a notebook assigns a default to each of its parameters; a comment is the
    help. The kind of a parameter is text (WRITTEN) if its default or its annotation is text, and
    any VALUE otherwise. A default that is no literal, as of `limit`, is unknown, None.
    """
    known = declared("""
preds = "data/a=b#c.csv"  # files; name=value is fine
ks = [
    1,
    5,
]  # cut-offs
baseline: str = None  # a system
margin = None
limit = 3 * 4
""")
    assert list(known) == ["preds", "ks", "baseline", "margin", "limit"]
    assert known["preds"] == Parameter(
        "preds", default="data/a=b#c.csv", kind=WRITTEN, help="files; name=value is fine"
    )
    assert known["ks"] == Parameter("ks", default=[1, 5], kind=VALUE, help="cut-offs")
    assert known["baseline"] == Parameter("baseline", default=None, kind=WRITTEN, help="a system")
    assert known["margin"] == Parameter("margin", default=None, kind=VALUE, help="")
    assert known["limit"] == Parameter("limit", default=None, kind=VALUE, help="")


def test_refuses_unknown_names_and_lists_the_known():
    """A user gives the names pred, ks and zzz to a notebook with the parameters preds and ks. The
    names pred and zzz are unknown; pred is so like preds that this is suggested.
    """
    message = (
        r"unknown parameters 'pred' \(did you mean 'preds'\?\), 'zzz'; this notebook has: preds, ks"
    )
    with pytest.raises(ParameterError, match=message):
        refuse_unknown(["pred", "ks", "zzz"], ["preds", "ks"])
    with pytest.raises(ParameterError, match="this notebook has: no parameters"):
        refuse_unknown(["a"], [])


TEXTS = (
    "007",
    "00.5",
    "1_000",
    "12:30:00",
    "2026-11-20",
    "0x10",
    "no",
    "nan",
    "a,b",
    "a: b",
    "# x",
    "",
    "[1,",
    "[*a]",
)
TYPED = {
    "1e3": 1000.0,
    "-0.5": -0.5,
    ".5": 0.5,
    "7": 7,
    "-7": -7,
    "0": 0,
    "0.95": 0.95,
    "true": True,
    "False": False,
}
TYPED |= {
    "None": None,
    "null": None,
    "[1,5]": [1, 5],
    "{query: qid, item: doc}": {"query": "qid", "item": "doc"},
}
TYPED |= {"[1e3, 007, a, '8', no, 12:30]": [1000.0, "007", "a", "8", "no", "12:30"], "'7'": "7"}
TYPED |= {text: text for text in (*TEXTS, "['a'] b")}


@pytest.mark.parametrize("given, value", TYPED.items())
def test_types_the_text_of_a_command_line(given, value):
    got = typed(given, Parameter("x", None, VALUE))
    assert got == value
    assert type(got) is type(value)


def test_keeps_text_where_the_default_is_text():
    """`declared` reads the source of a parameters cell, and `typed` the text of a value on the
    command line. Text stays text where the default or the annotation of the parameter is text;
    without either, "7" is the number 7.
    """
    assert typed("[1,5]", declared("x = 'a'")["x"]) == "[1,5]"
    assert typed("7", declared("x: str = None")["x"]) == "7"
    assert typed("7", declared("x: 'str | None' = None")["x"]) == "7"
    assert typed("7", declared("x: None | str = None")["x"]) == "7"
    assert typed("7", declared("x: Optional[str] = None")["x"]) == "7"
    assert typed("7", declared("x = None")["x"]) == 7


def test_a_default_that_is_no_literal_is_unknown():
    assert declared("x = {[1]: 2}")["x"].default is None


LISTS = (
    np.array(["f1", "brier"]),
    pd.Index(["f1", "brier"]),
    pd.Series(["f1", "brier"]),
    ("f1", "brier"),
)
READ = [  # the reader of a value, what is given, what is read
    *(
        (kinds.integers, ks, [1, 5, 10])
        for ks in ("1,5,10", "[1, 5, 10]", [1, 5, 10], (1, 5, 10), ["1", 5.0, "1e1"])
    ),
    *((kinds.integers, numbers, [3, 5]) for numbers in (np.array([3, 5]), range(3, 6, 2))),
    *((kinds.texts, names, ["f1", "brier"]) for names in LISTS),
    *((kinds.metrics, names, ("f1", "brier")) for names in LISTS),
    *(
        (read, None, empty)
        for read, empty in ((kinds.integers, []), (kinds.texts_by_name, {}), (kinds.number, None))
    ),
    *((read, None, None) for read in (kinds.integer, kinds.text)),
    (kinds.texts, "None", []),
    (kinds.texts, "007, 1e3 ,b", ["007", "1e3", "b"]),
    (kinds.texts, "[007, b]", ["007", "b"]),
    (kinds.texts, 7, ["7"]),
    (kinds.text, "user", "user"),
    *((kinds.number, value, 0.95) for value in ("0.950", 0.95, "95e-2")),
    (kinds.integer, "12", 12),
    (partial(kinds.choice, allowed=GAINS), "linear", "linear"),
    (partial(kinds.choice, allowed=GAINS), None, None),
    *(
        (kinds.texts_by_name, value, {"a": "b", "c": "d"})
        for value in ("a=b,c=d", "{a: b, c: d}", {"a": "b", "c": "d"})
    ),
    (INTEGERS.read, "10,1,10", (1, 10)),
    (SHARES.read, "a=1,b=2", {"a": 1.0, "b": 2.0}),
    (SHARES.read, UNKNOWN, UNKNOWN),
]


@pytest.mark.parametrize("read, value, wanted", READ)
def test_every_way_to_give_a_value(read, value, wanted):
    assert read("x", value) == wanted


SHARE = partial(kinds.number, above=0, below=1)
NO_INTEGERS = ("x", "1,x", 0, -1, 1.5, True, "nan", math.inf, [None], "1,,2", {"a": 1}, "0,1")
BAD = [
    *(
        (kinds.integers, value, "x must be whole numbers of at least 1, got ")
        for value in NO_INTEGERS
    ),
    (kinds.texts, "a,,b", "x must be texts separated by commas, got 'a,,b'"),
    (kinds.text, ["a"], "x must be one text, got ['a']"),
    *(
        (SHARE, value, "x must be a number between 0 and 1, got ")
        for value in (0, 1, "x", math.nan, "nan", True, [0.5])
    ),
    (partial(kinds.number, above=0), -1, "x must be a number above 0, got -1"),
    (partial(kinds.number, below=1), 2, "x must be a number below 1, got 2"),
    (kinds.number, math.inf, "x must be a number, got inf"),
    (partial(kinds.integer, least=0), -1, "x must be a whole number of at least 0, got -1"),
    (
        partial(kinds.choice, allowed=GAINS),
        "liner",
        "x must be one of linear, binary, got 'liner' (did you mean 'lin",
    ),
    *(
        (kinds.texts_by_name, value, "x must be pairs name=text,name=text")
        for value in ("query", "a=b,c", 5, ["a"], "[a]")
    ),
    (kinds.texts_by_name, "a=b,a=c", "x must name a once"),
    (kinds.texts_by_name, "{a: b, a: c}", "a mapping must have each name once, got 'a' twice"),
    (SHARES.read, "a=0,b=1", "x must be a number above 0, got '0'"),
    *(
        (CUT.read, cut, "x must")
        for cut in ("", "best", "precision>=2", "cost:fp=1", "f1>=0.5", ["0.5"], True)
    ),
]


@pytest.mark.parametrize("read, value, message", BAD)
def test_values_that_cannot_be_meant(read, value, message):
    with pytest.raises(ParameterError) as error:
        read("x", value)
    assert str(error.value).startswith(message)


INJECTED = "# Parameters\npreds = 'b'\n"  # a cell as papermill adds it
# the sources of cells that ran, two of which are no Python
RAN_WITH_BROKEN_CELLS = ["preds = 'a'\nks = [1]", INJECTED, "study = 1", "x = = 2", "(", INJECTED]


def pretend_that_cells_ran(monkeypatch, sources):
    """Have IPython report these sources of cells, as a shell keeps them: In[1] is the first."""
    shell = SimpleNamespace(user_ns={"In": ["", *sources]})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def test_no_parameter_is_refused_without_ipython(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", None)
    cells.check()


@pytest.mark.parametrize(
    "sources",
    [["preds = 'a'", "check()"], ["preds = 'a'", INJECTED, "check()"], RAN_WITH_BROKEN_CELLS],
    ids=["nothing injected", "injected", "broken cells between"],
)
def test_an_injected_name_of_the_parameters_cell_is_accepted(monkeypatch, sources):
    pretend_that_cells_ran(monkeypatch, sources)
    cells.check()


@pytest.mark.parametrize(
    "cells_before",
    [["preds = 'a'\nks = [1]"], RAN_WITH_BROKEN_CELLS],
    ids=["the parameters cell alone", "broken cells before"],
)
def test_an_unknown_name_that_was_injected_is_refused(monkeypatch, cells_before):
    """The first cell that ran is the parameters cell, with preds and ks. papermill injects a cell
    with the values of the user, here with the unknown name "pred". Both functions that a notebook
    may call to check its parameters compare that cell with those before.
    """
    injected = "# Parameters\npred = 'b'\n"
    pretend_that_cells_ran(monkeypatch, [*cells_before, injected, "check()"])
    message = r"'pred' \(did you mean 'preds'\?\); this notebook has: preds, ks"
    for check in (cells.check, parameters.values):
        with pytest.raises(ParameterError, match=message):
            check()


ROOT = Path(__file__).resolve().parents[1]
FUNCTION_OF_REPORT = {name: getattr(ek, name) for name in reports.REPORTS}
each = pytest.mark.parametrize("name", sorted(reports.REPORTS))


def options(name):
    """Each parameter of a report: its name, and its option with .kind, .help and .default."""
    return {option.name: option for option in reports.REPORTS[name].options().values()}


def source_of_parameters_cell(name):
    """The source of the parameters cell of the bundled notebook of a report."""
    notebook = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    tagged = [
        cell for cell in notebook["cells"] if "parameters" in cell["metadata"].get("tags", [])
    ]
    return "".join(tagged[0]["source"])


def declared_in_notebook(name):
    """The parameters that the bundled notebook of a report declares: {name: Parameter}."""
    return cells.declared(source_of_parameters_cell(name))


# Written once -------------------------------------------------------------------------------------


@each
def test_the_parameters_cell_of_a_notebook_is_that_of_the_class(name):
    """The class is where the parameters of a report are written; `make outputs` writes the cell."""
    source = source_of_parameters_cell(name)
    assert source == cells.source(reports.REPORTS[name]), "run make outputs"
    in_cell = {key: (entry.help, entry.default) for key, entry in cells.declared(source).items()}
    in_class = {key: (option.help, option.default) for key, option in options(name).items()}
    assert in_cell == in_class


@each
def test_the_signature_of_a_report_is_that_of_the_class(name):
    """A report such as "ranking" has a class that declares its parameters, and a Python function.
    The function has the same parameters, then those that only Python has, such as y_true for
    arrays. An annotation allows None if None is the default.
    """
    arguments = inspect.signature(FUNCTION_OF_REPORT[name]).parameters
    parameters_class = reports.REPORTS[name]
    assert list(arguments) == [*options(name), *parameters_class.array_parameters()]
    for key, option in options(name).items():
        or_none = " | None" if option.default is None else ""
        assert arguments[key].default == option.default
        assert arguments[key].annotation == option.kind.argument_type + or_none


@each
def test_defaults_are_read_and_nothing_counts_as_given(name):
    defaults = {key: option.default for key, option in options(name).items()}
    read = reports.REPORTS[name].from_raw(defaults)
    assert read.given_values == {}
    for key, default in defaults.items():  # None is read as an empty list, say
        assert default is None or getattr(read, key) == default


@each
def test_a_parameter_that_is_text_is_text_in_the_notebook_too(name):
    in_notebook = declared_in_notebook(name)
    for key, option in options(name).items():
        assert in_notebook[key].kind.is_text == option.kind.is_text, key


@each
def test_the_schema_holds_every_parameter(name, capsys):
    """The command prints the JSON schema of the parameters of a report, with the help and default
    of each, as the class of the report declares them in its `options`. A parameter may be null
    ("anyOf") exactly if None is its default. As an example of bounds, the level of confidence lies
    between 0.5 and 1.
    """
    assert command.main(["parameters", name, "--json"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert list(schema["properties"]) == list(options(name))
    for key, option in options(name).items():
        entry = schema["properties"][key]
        assert (entry["description"], entry["default"]) == (option.help, option.default)
        is_nullable = "anyOf" in entry
        assert is_nullable == (option.default is None)
    bounds = {"type": "number", "exclusiveMinimum": 0.5, "exclusiveMaximum": 1, "default": 0.95}
    assert bounds.items() <= schema["properties"]["level"].items()


def test_choices_are_those_that_the_studies_know():
    """The class of a report lists the allowed values of a parameter. They must be those that the
    module with the computation knows: alternatives of a test, worlds of simulated users or none,
    tasks of classes or of numbers; also the least number of simulated users.
    """

    def allowed(parameters_class, name):
        return tuple(parameters_class.options()[name].kind.schema["enum"])

    assert allowed(reports.SignificanceParameters, "alternative") == tuple(Alternative)
    assert allowed(reports.InterleavingParameters, "world") == (*planning.WORLDS, planning.NONE)
    assert allowed(reports.ValidationParameters, "task") == (folds.CLASSES, folds.NUMBER)
    simulated_users = reports.InterleavingParameters.options()["simulated_users"]
    assert simulated_users.kind.schema["minimum"] == planning.LEAST_USERS


# The command line ---------------------------------------------------------------------------------


@each
def test_help_and_parameters_are_made_from_the_class_without_reading_the_notebook(
    name, capsys, monkeypatch
):
    """The commands "parameters" and "report … --help" list name, default and help of each parameter
    of a report, as the class of the report declares them in its `options`. `report.read`, which
    reads a notebook, would fail the test.
    """
    monkeypatch.setattr(report, "read", lambda *_: pytest.fail("the notebook was read"))
    assert command.main(["parameters", name]) == 0
    listing = cells.Listing(name, options(name).values())
    assert capsys.readouterr().out == f"{listing.lines()}\n"
    with pytest.raises(SystemExit, match="0"):
        command.main(["report", name, "--help"])
    out = capsys.readouterr().out
    for key, option in options(name).items():
        assert f"  {key} = {option.default!r}  ({option.kind.words})\n      {option.help}\n" in out


@pytest.mark.parametrize("arguments", [["parameters", "ranking"], ["report", "ranking", "--help"]])
def test_help_imports_no_large_library(arguments):
    """Large libraries would make help slow. A new Python process shows the help and then prints
    which of them it has imported: none.
    """
    code = f"""
import sys
from evalkit.__main__ import main
try:
    main({arguments!r})
except SystemExit:
    pass
large = {{"papermill", "nbformat", "pandas", "duckdb", "scipy", "pyarrow", "matplotlib", "sklearn"}}
print(sorted(large & set(sys.modules)))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("line, message", examples("commands")["refused_values"])
def test_a_bad_value_is_refused_before_a_kernel_starts(
    tmp_path, capsys, monkeypatch, line, message
):
    """A line such as "-p level 95 -p seed a" names parameters and bad values. The command refuses
    them before a kernel runs the notebook. `ranking.read` refuses the same values, read from their
    text as the command reads it, with the same message.
    """
    arguments = line.split(" ")
    monkeypatch.setattr(running, "execute", lambda *_: pytest.fail("the notebook was run"))
    assert command.main(["report", "ranking", *arguments, "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith(f"evalkit: {message}")
    names, texts = arguments[1::3], arguments[2::3]  # of -p NAME VALUE
    in_notebook = declared_in_notebook("ranking")
    values = {name: typed(text, in_notebook[name]) for name, text in zip(names, texts, strict=True)}
    with pytest.raises(ParameterError) as error:
        ranking.read(**values)
    assert str(error.value).startswith(message)


def test_a_notebook_of_ones_own_that_is_called_ranking_keeps_its_own_parameters(tmp_path, capsys):
    """The file has the name of a bundled notebook, which has a parameter "level" of another
    meaning. The command shows the parameter of the file that it is given.
    """
    cell = new_code_cell("level = 95  # of water", metadata={"tags": ["parameters"]})
    path = tmp_path / "ranking.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    assert command.main(["parameters", str(path)]) == 0
    assert capsys.readouterr().out == "level = 95  of water\n"
    assert command.main(["parameters", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["properties"] == {
        "level": {"description": "of water", "default": 95}
    }


# The parameters cell in a notebook ----------------------------------------------------------------


def run_cells(*sources, read="parameters.values()"):
    """What `values` returns after these cells ran in a notebook."""
    variables: dict = {}
    with cells.history() as ran:
        for source in (*sources, f"from evalkit import parameters\nread = {read}"):
            ran.append(source)
            exec(source, variables)
    return variables["read"]


def defaults(name):
    """The parameters of a report at their defaults, without inputs."""
    return {
        key: option.default
        for key, option in options(name).items()
        if option.kind is not kinds.DATA
    }


MARK = "# Parameters of the rating report"
LATER = [
    "level = 0.8",
    "systems, level = ['a', 'b'], 0.8",
    "for level in (0.9, 0.99): pass",
    "with open('/dev/null') as seed: pass",
    "del level, seed",
    "level: float = 0.8",
    "(level := 0.8)",
    "import json as level",
]


@each
@pytest.mark.parametrize("later", LATER)
def test_no_other_cell_changes_a_parameter(name, later):
    """The cell `later` assigns, deletes or imports variables with names of parameters. What counts
    is the parameters cell, so that all values stay at their defaults.
    """
    assert run_cells(source_of_parameters_cell(name), later) == defaults(name)


@each
def test_parameters_of_other_reports_elsewhere_are_not_read(name):
    """Another cell assigns 1 to each name that is a parameter of another report alone."""
    others = [key for other in reports.REPORTS for key in options(other)]
    elsewhere = "\n".join(f"{key} = 1" for key in others if key not in options(name))
    assert run_cells(source_of_parameters_cell(name), elsewhere) == defaults(name)


MISTYPED = {
    "baselin = 'a'": "'baselin' .did you mean 'baseline'",
    "metric: str = 'mae'": "'metric' .did you mean 'metrics'",
    "levl, seed = 0.9, 1": "'levl' .did you mean 'level'",
    "threshold = 0.3": "'threshold'",
}


@pytest.mark.parametrize("line, message", MISTYPED.items())
def test_a_mistyped_name_in_the_parameters_cell_is_refused(line, message):
    with pytest.raises(ParameterError, match=f"unknown parameter {message}"):
        run_cells(f"{source_of_parameters_cell('rating')}\n{line}")


def test_a_mistyped_name_that_papermill_injects_is_refused():
    with pytest.raises(ParameterError, match=r"'baselin' .did you mean 'baseline'"):
        run_cells(source_of_parameters_cell("rating"), "# Parameters\nbaselin = 'a'\n")


def test_an_annotated_assignment_counts_like_others():
    """`level: float` without a value assigns nothing and is accepted."""
    cell = f"{source_of_parameters_cell('rating')}\nmetrics: str = 'rmse'\nlevel: float"
    assert run_cells(cell)["metrics"] == "rmse"


def test_the_last_run_of_the_parameters_cell_counts():
    """The parameters cell is run, changed to the level 0.9 and run again. The other cells, which
    assign 0.8 and 0.7, do not count.
    """
    cell = source_of_parameters_cell("rating")
    changed = cell.replace("level = 0.95", "level = 0.9")
    assert run_cells(cell, "level = 0.8", changed, "level = 0.7")["level"] == 0.9


def test_a_shortened_parameters_cell_still_counts():
    cell = source_of_parameters_cell("rating")
    short = f"{cell.splitlines()[0]}\nmetrics = 'rmse'"
    assert run_cells(cell, "level, seed, title = 0.8, 1, 'x'", short) == {"metrics": "rmse"}


def test_an_injected_cell_overrides_the_parameters_cell():
    """papermill injects a cell that begins with "# Parameters". The last cell, which is neither,
    does not count.
    """
    read = run_cells(
        source_of_parameters_cell("rating"), "# Parameters\nlevel = 0.9\n", "level = 0.8"
    )
    assert read == defaults("rating") | {"level": 0.9}


def test_a_computed_parameter_is_the_variable():
    """The seed is no literal in the parameters cell, so that its value is that of the variable: the
    four letters of "four", and one.
    """
    cell = f"{source_of_parameters_cell('rating')}\nseed = len('four') + 1"
    assert run_cells(cell, "a = 1")["seed"] == 5


def test_a_computed_parameter_that_another_cell_replaced_is_refused():
    """The seed is computed in the parameters cell, and its value is lost once another cell assigns
    to the variable.
    """
    cell = f"{source_of_parameters_cell('rating')}\nseed = len('four')"
    with pytest.raises(
        ParameterError, match=r"seed: its value is no longer .* run that cell again"
    ):
        run_cells(cell, "seed = 9")


CHANGES = ["metrics.append('rmse')", "metrics += ['rmse']", "same.append('rmse')"]


@pytest.mark.parametrize("change", CHANGES)
def test_a_list_that_its_own_cell_changes_is_the_variable(change):
    """The parameters cell makes a list of one metric, also called `same`, and appends a second."""
    cell = f"{MARK}\nmetrics = same = ['mae']\n{change}\ndel same"
    assert run_cells(cell, read="parameters.values(own='same')")["metrics"] == ["mae", "rmse"]


def test_a_list_that_another_cell_changes_is_the_one_that_the_parameters_cell_writes():
    """MARK is the first line of a parameters cell. Another cell appends to its list, which does not
    count.
    """
    assert run_cells(f"{MARK}\nmetrics = ['mae']", "metrics.append('rmse')") == {"metrics": ["mae"]}


SINCE = ["metrics.append('mse')", "metrics[0] = 'mse'", "del metrics[0]", "def metrics(): pass"]


@pytest.mark.parametrize("later", SINCE)
def test_a_computed_list_that_another_cell_changes_is_refused(later):
    with pytest.raises(ParameterError, match="metrics: its value is no longer"):
        run_cells(f"{MARK}\nmetrics = list(('mae', 'rmse'))", later)


INNER = [
    "def double(x):\n    y = 2 * x\n    return y",
    "class City:\n    name = 'Ghent'",
    "if seed:\n    [n for n in (1, 2)]",
    "print((lambda: (n := 1))())",
]


@pytest.mark.parametrize("inner", INNER)
def test_a_name_inside_a_function_or_a_comprehension_is_no_parameter(inner):
    assert run_cells(f"{MARK}\nseed = 3\n{inner}") == {"seed": 3}


def test_a_name_that_a_condition_in_a_comprehension_assigns_is_a_parameter():
    cell = f"{MARK}\nif True:\n    [n for n in (1, 2) if (city := n)]"
    with pytest.raises(ParameterError, match="unknown parameter 'city'"):
        run_cells(cell)


def test_a_variable_of_ones_own_in_the_parameters_cell_must_be_named():
    """A parameters cell may hold a variable that is no parameter, here `city`, if
    `parameters.values` is called with its name as `own`; otherwise it is refused, in case it is a
    mistyped parameter. `_rows`, which begins with _, and n within the comprehension need not be
    named. `run_cells` runs the cell and then the call `read`, if given, or parameters.values();
    the result has the parameters alone, at their defaults.
    """
    cell = f"{source_of_parameters_cell('rating')}\ncity = 'Ghent'\n_rows = [n for n in (1, 2)]"
    values = run_cells(cell, read="parameters.values(own='city')")
    assert values == defaults("rating")
    advice = r"if city is your own variable, call parameters.values.own='city'"
    with pytest.raises(ParameterError, match=advice):
        run_cells(cell)


def test_a_parameters_cell_of_an_earlier_copy_counts():
    """Earlier copies of the notebook lack the first line, which marks the cell."""
    cell = "\n".join(source_of_parameters_cell("rating").splitlines()[1:]).replace("0.95", "0.9")
    assert run_cells(cell, "systems, level = 'a,b', 0.8")["level"] == 0.9


def test_a_script_without_cells_reads_its_variables():
    variables: dict = {}
    source = f"{source_of_parameters_cell('rating')}\nfrom evalkit import parameters"
    exec(f"{source}\nread = parameters.values()", variables)
    assert variables["read"] == defaults("rating")


def test_a_study_is_read_again_with_other_parameters():
    study = ek.rating(metrics="rmse")
    again = study.reread(level=0.9, metrics=None)
    assert set(again.estimates["level"]) == {0.9}
    assert "mae" in set(again.estimates["metric"])
    assert set(study.estimates["level"]) == {0.95}


def test_a_slice_that_is_read_again_stays_the_slice():
    study = ek.rating()
    name = study.slices[0].name
    part = study.segment(name).reread(level=0.9)
    assert part.p.segment == name
    assert part.estimates["n"][0] == study.segment(name).estimates["n"][0]


# Values -------------------------------------------------------------------------------------------


def parameters_of_files():
    """The report and the name of each parameter that takes files, as ("ranking", "qrels")."""
    return [
        (name, key)
        for name in reports.REPORTS
        for key, option in options(name).items()
        if option.kind is DATA
    ]


@pytest.mark.parametrize("name, key", parameters_of_files())
@pytest.mark.parametrize("value", ["no1.csv,no2.csv", "[no1.csv, no2.csv]", ["no1.csv", "no2.csv"]])
def test_a_list_of_files_means_the_same_in_every_report(name, key, value, tmp_path, monkeypatch):
    """The parameter `key` of the report `name` takes files. Two files may be given as a Python list
    or as a text, "no1.csv,no2.csv", with or without brackets (`value`). Neither file exists, so
    that the report, called as a function such as ek.ranking, names the first.
    """
    monkeypatch.chdir(tmp_path)
    p = reports.REPORTS[name].from_raw({key: value})
    assert getattr(p, key) == ["no1.csv", "no2.csv"]
    given = {key: value}
    if key in ("qrels", "queries"):  # these are read after preds, which must exist
        given["preds"] = str(ROOT / "data/digits_retrieval/runs")
    with pytest.raises(InputError, match=r"no1\.csv") as error:
        FUNCTION_OF_REPORT[name](**given)
    # read as two files: the first one that is missing is named, and not a path "no1.csv,no2.csv"
    assert "no2.csv" not in str(error.value)


@pytest.mark.parametrize("name, key", parameters_of_files())
@pytest.mark.parametrize("value", ["a,b.csv", "[a, b].csv", "a,*.csv"])
def test_an_existing_path_with_a_comma_is_one_path(name, key, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in ("a,b.csv", "[a, b].csv"):
        (tmp_path / file).write_text("x\n1\n", encoding="utf-8")
    assert getattr(reports.REPORTS[name].from_raw({key: value}), key) == value


def test_given_are_the_values_that_differ_from_their_default_as_they_were_given():
    p = reports.RankingParameters.from_raw(
        {"level": 0.95, "seed": 0, "ks": "1,5", "segments": [], "header": None}
    )
    assert p.given_values == {"ks": "1,5", "segments": []}
    assert (p.ks, p.segments, p.level) == ((1, 5), (), 0.95)


def test_filled_gives_a_value_only_where_none_was_given():
    p = reports.RankingParameters.from_raw({"segments": [], "ks": "7"}).with_defaults(
        {"segments": ["digit"], "ks": "1", "qrels": "q.txt"}
    )
    assert (p.segments, p.ks, p.qrels) == ((), (7,), "q.txt")
    assert "qrels" not in p.given_values


def test_all_bad_values_are_named_in_one_message():
    with pytest.raises(ParameterError) as error:
        reports.RankingParameters.from_raw({"level": 3, "margin": -1, "seed": None})
    assert str(error.value) == (
        "margin must be a number above 0, got -1; level must be a number between 0.5 and 1, got 3; "
        "seed must have a value, got None"
    )


@pytest.mark.parametrize(
    "report, given, message",
    [
        ("validation", {"gap": -1}, "gap must be a number of at least 0, got -1"),
        ("significance", {"looks": 101}, "looks must be at most 100, got 101"),
        ("interleaving", {"rankers": 2}, "rankers must be a whole number of at least 3, got 2"),
        ("interleaving", {"best": "more"}, "best must be one of high, low, got 'more'"),
        ("interleaving", {"cap": 1}, "cap must be a number between 0 and 1, got 1"),
        ("classification", {"costs": "fp=1"}, "costs must name fp and fn"),
        (
            "classification",
            {"prevalence": 1.5},
            "prevalence must be a number between 0 and 1, got 1.5",
        ),
    ],
)
def test_bounds_are_refused(report, given, message):
    with pytest.raises(ParameterError, match=message):
        reports.REPORTS[report].from_raw(given)


NAMES = st.text(st.sampled_from("ab1 ,=:'\"[]{}#&"), min_size=1).filter(str.strip)


@given(st.lists(NAMES, min_size=1, unique=True))
def test_names_are_read_as_they_are_written(names):
    assert kinds.texts("systems", kinds.written(names)) == names
    roles = {f"role{i}": name for i, name in enumerate(names)}
    assert kinds.texts_by_name("columns", kinds.written(roles)) == roles


def test_what_an_error_advises_is_accepted():
    """Names of columns and systems with commas and = in them are advised in a form that is read
    as one name.
    """
    table = pd.DataFrame(
        {
            "system": ["a,b", "c"] * 9,
            "id": np.repeat(range(9), 2),
            "f 1, x": range(18),  # either of two columns may be the value
            "acc=2": 1.5,
        }
    )
    columns = "{value: 'f 1, x'}"
    with pytest.raises(InputError, match=re.escape(f'columns="{columns}"')):
        ek.significance(table)
    systems = "['a,b', 'c']"
    with pytest.raises(ParameterError, match=re.escape(f"it has {systems}")):
        ek.significance(table, columns=columns, systems="a,b")
    study = ek.significance(table, columns=columns, systems=systems)
    assert sorted(study.systems) == ["a,b", "c"]


def test_the_label_none_is_written_in_quotes():
    """The text None would mean that no value is given, so that the label "None" is advised, and
    accepted, in quotes. The scores do not depend on the label.
    """
    score = np.linspace(0, 1, 40) % 0.3
    table = pd.DataFrame({"id": range(40), "label": ["Disease", "None"] * 20, "score": score})
    advice = re.escape("say which is positive: positive=\"'None'\"")
    with pytest.raises(ParameterError, match=advice):
        ek.classification(table)
    auc_of_none, auc_of_disease = (
        ek.classification(table, positive=label, metrics="roc_auc").estimates["value"].item()
        for label in ("'None'", "Disease")
    )
    # with the labels exchanged, each pair of rows that was in order no longer is
    assert auc_of_none + auc_of_disease == pytest.approx(1)
