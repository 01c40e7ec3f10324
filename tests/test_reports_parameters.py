"""Each report's parameters are written once: signature, parameters cell, command line and docs say the same."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

import evalkit as ek
from evalkit import __main__ as command
from evalkit import parameters, report, running
from evalkit.arrays import InputError, ParameterError
from evalkit.parameters import REPORTS, cells
from evalkit.parameters.kinds import DATA
from evalkit.parameters.reports import option_of
from evalkit.reading.inputs import folds
from evalkit.statistics import methods
from evalkit.studies import (
    planning,
    ranking,
)

ROOT = Path(__file__).resolve().parents[1]
READ = {name: getattr(ek, name) for name in REPORTS}
each = pytest.mark.parametrize("name", sorted(REPORTS))


def options(name):
    return {entry.name: (option_of(entry), entry.default) for entry in REPORTS[name].options().values()}


def source_of(name):
    notebook = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    tagged = [cell for cell in notebook["cells"] if "parameters" in cell["metadata"].get("tags", [])]
    return "".join(tagged[0]["source"])


def cell_of(name):
    return cells.declared(source_of(name))


# Written once -------------------------------------------------------------------------------------------------


@each
def test_signature_and_parameters_cell_are_those_of_the_class(name):
    assert source_of(name) == cells.source(REPORTS[name]), "run make outputs"
    wanted = {key: (option.help, default) for key, (option, default) in options(name).items()}
    assert {key: (p.help, p.default) for key, p in cell_of(name).items()} == wanted
    arguments = inspect.signature(READ[name]).parameters
    assert list(arguments) == [*wanted, *REPORTS[name].arguments()]
    for key, (option, default) in options(name).items():
        assert arguments[key].default == default
        assert arguments[key].annotation == option.kind.accepts + (" | None" if default is None else "")


@each
def test_defaults_are_read_and_nothing_counts_as_given(name):
    read = REPORTS[name].of({key: default for key, (_, default) in options(name).items()})
    assert read.given == {}
    for key, (option, default) in options(name).items():
        assert default is None or getattr(read, key) == default
        assert cell_of(name)[key].is_text == option.kind.is_text, key


@each
def test_the_schema_holds_every_parameter(name, capsys):
    assert command.main(["parameters", name, "--json"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert list(schema["properties"]) == list(options(name))
    for key, (option, default) in options(name).items():
        entry = schema["properties"][key]
        assert (entry["description"], entry["default"]) == (option.help, default)
        assert (default is None) == ("anyOf" in entry)
    bounds = {"type": "number", "exclusiveMinimum": 0.5, "exclusiveMaximum": 1, "default": 0.95}
    assert bounds.items() <= schema["properties"]["level"].items()


def test_choices_are_those_that_the_studies_know():
    def allowed(report, name):
        return tuple(option_of(report.options()[name]).kind.schema["enum"])

    assert allowed(parameters.Significance, "alternative") == tuple(methods.AGAINST_KNOWN)
    assert allowed(parameters.Interleaving, "world") == (*planning.WORLDS, planning.NONE)
    assert allowed(parameters.Validation, "task") == (folds.CLASSES, folds.NUMBER)
    least = option_of(parameters.Interleaving.options()["simulated_users"]).kind.schema["minimum"]
    assert least == planning.LEAST_USERS


# The command line ---------------------------------------------------------------------------------------------


@each
def test_help_and_parameters_are_made_from_the_class_without_reading_the_notebook(name, capsys, monkeypatch):
    monkeypatch.setattr(report, "read", lambda *_: pytest.fail("the notebook was read"))
    assert command.main(["parameters", name]) == 0
    assert capsys.readouterr().out == cells.Listing(name, cells.of_report(REPORTS[name])).lines() + "\n"
    with pytest.raises(SystemExit, match="0"):
        command.main(["report", name, "--help"])
    out = capsys.readouterr().out
    for key, (option, default) in options(name).items():
        assert f"  {key} = {default!r}  ({option.kind.words})\n      {option.help}\n" in out


@pytest.mark.parametrize("arguments", [["parameters", "ranking"], ["report", "ranking", "--help"]])
def test_help_starts_nothing_heavy(arguments):
    code = f"import sys; from evalkit.__main__ import main\ntry: main({arguments!r})\nexcept SystemExit: pass\n"
    code += "heavy = {'papermill', 'nbformat', 'pandas', 'duckdb', 'scipy', 'pyarrow', 'matplotlib', 'sklearn'}\n"
    code += "print(sorted(heavy & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["-p", "level", "95"], "level must be a number between 0.5 and 1, got 95"),
        (["-p", "gate", "bettr"], "gate must be one of better, not worse, better or equivalent, got 'bettr' (did you"),
        (["-p", "ks", "1,x", "-p", "seed", "a"], "ks must be whole numbers of at least 1, got '1,x'; seed must be a "),
        (["-p", "memory", "1MB"], "memory must be a size of at least 200MB, such as 1GB, got '1MB'"),
        (["-p", "spill", "no/such"], "spill must be a folder that exists, got 'no/such'"),
        (["-p", "columns", "query"], "columns must be pairs such as query=qid,item=doc, got 'query'"),
    ],
)
def test_a_bad_value_is_refused_before_a_kernel_starts(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.setattr(running, "execute", lambda *_: pytest.fail("the notebook was run"))
    assert command.main(["report", "ranking", *arguments, "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith(f"evalkit: {message}")
    given = dict(zip(arguments[1::3], arguments[2::3], strict=True))
    with pytest.raises(ParameterError) as error:
        ranking.read(**{name: cells.typed(value, cell_of("ranking")[name]) for name, value in given.items()})
    assert str(error.value).startswith(message)


def test_a_notebook_of_ones_own_that_is_called_ranking_keeps_its_own_parameters(tmp_path, capsys):
    cell = new_code_cell("level = 95  # of water", metadata={"tags": ["parameters"]})
    path = tmp_path / "ranking.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    assert command.main(["parameters", str(path)]) == 0
    assert capsys.readouterr().out == "level = 95  of water\n"
    assert command.main(["parameters", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["properties"] == {"level": {"description": "of water", "default": 95}}


# The parameters cell in a notebook ----------------------------------------------------------------------------


def run_cells(name, *sources):
    notebook = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    variables: dict = {}
    for source in (code[0], *sources, "from evalkit import parameters\nread = parameters.values()"):
        exec(source, variables)
    return variables["read"]


@each
@pytest.mark.parametrize("source", ["", "study, level = 2, 0.9", "del seed, level\ncity = 'Ghent'"])
def test_values_are_those_of_the_cell_whatever_else_is_called(name, source):
    wanted = {key: default for key, (_, default) in options(name).items()}
    others = [key for other in REPORTS for key in options(other) if key not in wanted][:4]
    wanted |= {"level": 0.9} if "0.9" in source else {}
    wanted = {key: value for key, value in wanted.items() if "del" not in source or key not in ("seed", "level")}
    assert run_cells(name, "\n".join(f"{key} = 1" for key in others), source) == wanted


# Values -------------------------------------------------------------------------------------------------------


def data_options():
    return [(name, key) for name in REPORTS for key, (o, _) in options(name).items() if o.kind is DATA]


@pytest.mark.parametrize("name, key", data_options())
@pytest.mark.parametrize("value", ["no1.csv,no2.csv", "[no1.csv, no2.csv]", ["no1.csv", "no2.csv"]])
def test_a_list_of_files_means_the_same_in_every_report(name, key, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert getattr(REPORTS[name].of({key: value}), key) == ["no1.csv", "no2.csv"]
    more = {"preds": str(ROOT / "data/digits_retrieval/runs")} if key in ("qrels", "queries") else {}
    with pytest.raises(InputError, match=r"no1\.csv") as error:
        READ[name](**more | {key: value})
    assert "no2.csv" not in str(error.value)


@pytest.mark.parametrize("name, key", data_options())
@pytest.mark.parametrize("value", ["a,b.csv", "[a, b].csv", "a,*.csv"])
def test_an_existing_path_with_a_comma_is_one_path(name, key, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in ("a,b.csv", "[a, b].csv"):
        (tmp_path / file).write_text("x\n1\n", encoding="utf-8")
    assert getattr(REPORTS[name].of({key: value}), key) == value


def test_given_are_the_values_that_differ_from_their_default_as_they_were_given():
    p = parameters.Ranking.of({"level": 0.95, "seed": 0, "ks": "1,5", "segments": [], "header": None})
    assert p.given == {"ks": "1,5", "segments": []}
    assert (p.ks, p.segments, p.level) == ((1, 5), (), 0.95)


def test_filled_gives_a_value_only_where_none_was_given():
    p = parameters.Ranking.of({"segments": [], "ks": "7"}).filled({"segments": ["digit"], "ks": "1", "qrels": "q.txt"})
    assert (p.segments, p.ks, p.qrels) == ((), (7,), "q.txt")
    assert "qrels" not in p.given


def test_all_bad_values_are_told_at_once():
    with pytest.raises(ParameterError) as error:
        parameters.Ranking.of({"level": 3, "margin": -1, "seed": None})
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
        ("classification", {"prevalence": 1.5}, "prevalence must be a number between 0 and 1, got 1.5"),
    ],
)
def test_bounds_are_refused(report, given, message):
    with pytest.raises(ParameterError, match=message):
        REPORTS[report].of(given)
