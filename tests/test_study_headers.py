"""Columns that are missing or unclear are told before a kernel starts, all in one message, by the
headers alone.
"""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from bad_inputs.cases import CASES
from bad_inputs.readers import READERS, Reader

from evalkit import __main__ as command, running
from evalkit.arrays import InputError
from evalkit.parameters.reports import REPORTS
from evalkit.studies import inspection

TABLES = [reader for reader in READERS if "csv" in reader.formats]
WITHOUT = next(case for case in CASES if case.name == "two columns missing")
TWINS = next(case for case in CASES if case.name == "two columns of one role")
# what lacks there, or is unclear, the cells say
BY_CELLS = ("wide values", "independent values", "long values", "trials", "features")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)


def values(reader: Reader, second: pd.DataFrame) -> dict:
    """The parameters of a report on two files, and on one more for each table that goes with
    them.
    """
    tables = {
        name: table for name, table in reader.others.items() if isinstance(table, pd.DataFrame)
    }
    for name, table in ({"first": reader.first, "second": second} | tables).items():
        table.to_csv(f"{name}.csv", index=False)
    named = {name: f"{name}.csv" for name in tables}
    return {**reader.others, **named, reader.parameter: ["first.csv", "second.csv"]}


def refusal(reader: Reader, given: dict) -> tuple[str, str]:
    """What the headers alone are refused for, and what the study is."""
    with pytest.raises(InputError) as before:
        inspection.check_headers(REPORTS[reader.study.__name__.split(".")[-1]].from_raw(given))
    with pytest.raises(InputError) as read:
        reader.study.read(**given)
    return str(before.value), str(read.value)


def test_every_report_has_its_inputs_checked():
    assert set(inspection.KINDS) == set(REPORTS.values())


@pytest.mark.parametrize("reader", TABLES, ids=lambda reader: reader.name)
def test_good_headers_are_not_refused(reader):
    inspection.check_headers(
        REPORTS[reader.study.__name__.split(".")[-1]].from_raw(values(reader, reader.second))
    )


@pytest.mark.parametrize(
    "reader",
    [r for r in TABLES if r.columns(WITHOUT.role) and r.name not in BY_CELLS],
    ids=lambda reader: reader.name,
)
def test_missing_columns_are_refused_in_the_words_of_the_study(reader):
    lacking = reader.columns(WITHOUT.role)
    before, read = refusal(reader, values(reader, WITHOUT.change(reader.second, *lacking)))
    assert before == read
    assert all(name in before for name in (*lacking, "second.csv"))


@pytest.mark.parametrize(
    "reader",
    [r for r in TABLES if r.columns(TWINS.role) and r.name not in BY_CELLS],
    ids=lambda reader: reader.name,
)
def test_unclear_columns_are_refused_in_the_words_of_the_study(reader):
    before, read = refusal(
        reader, values(reader, TWINS.change(reader.second, *reader.columns(TWINS.role)))
    )
    assert before == read
    assert "both" in before


NAMED = {
    "significance": (
        {"preds": "t.csv", "columns": "value=x,unit=y"},
        "t.csv has no columns 'x' and 'y', it has a, b",
    ),
    "validation": (
        {"features": "t.csv", "target": "z", "categorical": "q"},
        "t.csv has no columns 'q' and 'z'",
    ),
    "interleaving": (
        {"users": "t.csv", "metrics": "x/y"},
        "no column 'x' (metrics or before); no column 'y'",
    ),
    "ranking": (
        {"preds": "t.csv", "unit": "u"},
        "no column 'u' (segments or unit); no column for the query",
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_the_command_refuses_before_the_notebook_is_run(name, capsys, monkeypatch):
    monkeypatch.setattr(running, "execute", lambda *_: pytest.fail("the notebook was run"))
    Path("t.csv").write_text("a,b\n1,2\n2,3\n", encoding="utf-8")
    parameters, message = NAMED[name]
    arguments = [word for pair in parameters.items() for word in ("-p", *pair)]
    assert command.main(["report", name, *arguments, "-o", "out"]) == 2
    assert message in capsys.readouterr().err
    assert not Path("out").exists()


def test_the_refusal_starts_nothing_heavy():
    Path("t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    code = "import sys; from evalkit.__main__ import main\n"
    code += "status = main(['report', 'classification', '-p', 'preds', 't.csv', '-o', 'out'])\n"
    code += (  # the first cells are read, for the command that works, by DuckDB alone
        "heavy = {'papermill', 'jupyter_client', 'pandas', 'scipy', 'matplotlib', 'sklearn'}\n"
    )
    code += "print(status, sorted(heavy & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "2 []\n"
    assert "no column for the label (label, y_true, target) and for the score" in ended.stderr


def test_rows_that_say_their_columns_are_left_to_the_report():
    Path("t.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    inspection.check_headers(REPORTS["classification"].from_raw({"preds": "t.jsonl"}))
