"""Each report's parameters are written once: signature, parameters cell, command line and docs say the same."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell

import evalkit as ek
from evalkit import __main__ as command
from evalkit import parameters, report, running
from evalkit.arrays import InputError, ParameterError
from evalkit.parameters import REPORTS, cells
from evalkit.parameters.kinds import CUT, DATA, INTEGERS, SHARES, UNKNOWN
from evalkit.parameters.reports import option_of
from evalkit.reading.inputs import folds
from evalkit.statistics import methods
from evalkit.studies import (
    experiment,
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


def test_there_is_a_class_for_each_notebook():
    assert sorted(REPORTS) == sorted(READ) == sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


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
def test_a_text_parameter_stays_text_on_the_command_line(name):
    for key, parameter in cell_of(name).items():
        assert parameter.is_text == options(name)[key][0].kind.is_text, key


@each
def test_defaults_are_read_and_nothing_counts_as_given(name):
    read = REPORTS[name].of({key: default for key, (_, default) in options(name).items()})
    assert read.given == {}
    assert all(getattr(read, key) == default for key, (_, default) in options(name).items() if default is not None)


@each
def test_the_schema_holds_every_parameter(name, capsys):
    assert command.main(["parameters", name, "--json"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert list(schema["properties"]) == list(options(name))
    for key, (option, default) in options(name).items():
        entry = schema["properties"][key]
        assert (entry["description"], entry["default"]) == (option.help, default)
        assert (default is None) == ("anyOf" in entry)
    assert schema["properties"]["level"] | {"description": ""} == {
        "type": "number",
        "exclusiveMinimum": 0.5,
        "exclusiveMaximum": 1,
        "default": 0.95,
        "description": "",
    }


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
def test_values_are_those_of_the_cell(name):
    assert run_cells(name) == {key: default for key, (_, default) in options(name).items()}


@each
def test_values_ignore_other_variables_whatever_they_are_called(name):
    others = dict.fromkeys(key for other in REPORTS for key in options(other))
    noise = [key for key in others if key not in options(name)][:4]
    source = "\n".join([*(f"{key} = 1" for key in noise), "study = 2", "level = 0.9"])
    assert run_cells(name, source) == {key: d for key, (_, d) in options(name).items()} | {"level": 0.9}


@each
def test_a_copied_notebook_may_lack_a_parameter_and_have_one_of_its_own(name):
    source = "del seed, level\ncity = 'Ghent'"
    wanted = {key: d for key, (_, d) in options(name).items() if key not in ("seed", "level")}
    assert run_cells(name, source) == wanted


def test_values_refuse_an_unknown_injected_name(monkeypatch):
    monkeypatch.setattr(cells, "_history", lambda: ["preds = 'a'\nks = [1]", "# Parameters\npred = 'b'\n"])
    with pytest.raises(ParameterError, match=r"unknown parameter 'pred' \(did you mean 'preds'\?\)"):
        parameters.values()


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


HALVED = {  # the parameter that gets two files, the table that is cut in two, what else is given
    "classification": ("preds", "data/german_credit/predictions.csv", {"metrics": "brier"}),
    "interleaving": ("users", "data/interleaving/health_plans.parquet", {"world": "none"}),
    "ranking": ("preds", "data/modechoice/scores_wide.csv", {"metrics": "mrr", "systems": "gbm,logistic", "ks": "1"}),
    "rating": ("preds", "data/visit_forecasts/predictions.csv", {"metrics": "mae"}),
    "significance": ("preds", "data/visit_forecasts/predictions.csv", {"systems": "forecast_mean,forecast_poisson"}),
    "validation": ("preds", "data/german_credit/predictions.csv", {"metrics": "accuracy"}),
}
MORE = {
    "interleaving": {"metrics": "visits_per_year", "columns": "user=block,arm=plan"},
    "significance": {"columns": "unit=id"},
}


@each
def test_two_files_in_one_text_are_read_as_a_list_of_them(name, tmp_path, monkeypatch):
    key, path, others = HALVED[name]
    path = ROOT / path
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    middle = len(frame) // 2
    monkeypatch.chdir(tmp_path)
    frame[:middle].to_csv("first.csv", index=False)
    frame[middle:].to_csv("second.csv", index=False)
    others = others | MORE.get(name, {})
    ways = ["first.csv,second.csv", "[first.csv, second.csv]", ["first.csv", "second.csv"]]
    read = [READ[name](**{key: way}, **others) for way in ways]
    tables = [(one.users if name == "interleaving" else one).estimates for one in read]
    assert (tables[0]["n"] > 0).all()
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert [one.given[key] for one in read] == ways


def test_all_bad_values_are_told_at_once():
    with pytest.raises(ParameterError) as error:
        parameters.Ranking.of({"level": 3, "margin": -1, "seed": None})
    assert str(error.value).split("; ") == [
        "margin must be a number above 0, got -1",
        "level must be a number between 0.5 and 1, got 3",
        "seed must have a value, got None",
    ]


def test_given_are_the_values_that_differ_from_their_default_as_they_were_given():
    p = parameters.Ranking.of({"level": 0.95, "seed": 0, "ks": "1,5", "segments": [], "header": None})
    assert p.given == {"ks": "1,5", "segments": []}
    assert (p.ks, p.segments, p.level) == ((1, 5), (), 0.95)


def test_filled_gives_a_value_only_where_none_was_given():
    p = parameters.Ranking.of({"segments": [], "ks": "7"}).filled({"segments": ["digit"], "ks": "1", "qrels": "q.txt"})
    assert (p.segments, p.ks, p.qrels) == ((), (7,), "q.txt")
    assert "qrels" not in p.given


def test_whole_numbers_are_sorted_and_each_once():
    assert INTEGERS.read("ks", "10,1,10") == (1, 10)


def test_shares():
    assert SHARES.read("shares", "a=1,b=2") == {"a": 1.0, "b": 2.0}
    assert SHARES.read("shares", UNKNOWN) == experiment.UNKNOWN
    with pytest.raises(ParameterError, match="shares must be a number above 0, got '0'"):
        SHARES.read("shares", "a=0,b=1")


@pytest.mark.parametrize("value", ["", "best", "precision>=2", "cost:fp=1", "f1>=0.5", ["0.5"], True])
def test_a_threshold_that_cannot_be_meant_is_refused(value):
    with pytest.raises(ParameterError, match=r"^threshold must"):
        CUT.read("threshold", value)


def test_bounds_are_refused():
    with pytest.raises(ParameterError, match="gap must be a number of at least 0, got -1"):
        parameters.Validation.of({"gap": -1})
    with pytest.raises(ParameterError, match="looks must be at most 100, got 101"):
        parameters.Significance.of({"looks": 101})
    with pytest.raises(ParameterError, match="rankers must be a whole number of at least 3, got 2"):
        parameters.Interleaving.of({"rankers": 2})
