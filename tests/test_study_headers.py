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

READERS_OF_CSV = [reader for reader in READERS if "csv" in reader.formats]
MISSING_COLUMNS = next(case for case in CASES if case.name == "two columns missing")
UNCLEAR_COLUMNS = next(case for case in CASES if case.name == "two columns of one role")
# of these inputs the cells, not the headers, tell what is missing or unclear
TOLD_BY_CELLS = ("wide values", "independent values", "long values", "trials", "features")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)


def parameters_of_two_files(reader: Reader, second: pd.DataFrame) -> dict:
    """Write the first table of a reader and a second one as CSV files, and one more for each table
    that goes with them, and return the parameters of the report on these files.
    """
    tables = {
        name: table for name, table in reader.others.items() if isinstance(table, pd.DataFrame)
    }
    for name, table in ({"first": reader.first, "second": second} | tables).items():
        table.to_csv(f"{name}.csv", index=False)
    named = {name: f"{name}.csv" for name in tables}
    return {**reader.others, **named, reader.parameter: ["first.csv", "second.csv"]}


def check_headers(reader: Reader, parameters: dict) -> None:
    """Check the headers alone, as the command does before it starts a kernel."""
    report = reader.study.__name__.split(".")[-1]
    inspection.check_headers(REPORTS[report].from_raw(parameters))


def refusal_of_headers(reader: Reader, parameters: dict) -> str:
    with pytest.raises(InputError) as error:
        check_headers(reader, parameters)
    return str(error.value)


def refusal_of_study(reader: Reader, parameters: dict) -> str:
    with pytest.raises(InputError) as error:
        reader.study.read(**parameters)
    return str(error.value)


def test_every_report_has_its_inputs_checked():
    assert set(inspection.KINDS) == set(REPORTS.values())


@pytest.mark.parametrize("reader", READERS_OF_CSV, ids=lambda reader: reader.name)
def test_good_headers_are_not_refused(reader):
    check_headers(reader, parameters_of_two_files(reader, reader.second))


@pytest.mark.parametrize(
    "reader",
    [
        reader
        for reader in READERS_OF_CSV
        if reader.columns(MISSING_COLUMNS.role) and reader.name not in TOLD_BY_CELLS
    ],
    ids=lambda reader: reader.name,
)
def test_missing_columns_are_refused_in_the_words_of_the_study(reader):
    """A `reader` is one kind of input of one report, with two good tables, here in two files. Two
    of the columns that the report needs are missing from the second. The check of the headers
    alone, which the command makes first, must refuse them with the same message as the study that
    reads the files; it names the columns and the file.
    """
    missing = reader.columns(MISSING_COLUMNS.role)  # the names of two columns of this report
    second = MISSING_COLUMNS.change(reader.second, *missing)  # the table without them
    parameters = parameters_of_two_files(reader, second)
    message = refusal_of_headers(reader, parameters)
    assert message == refusal_of_study(reader, parameters)
    assert all(name in message for name in (*missing, "second.csv"))


@pytest.mark.parametrize(
    "reader",
    [
        reader
        for reader in READERS_OF_CSV
        if reader.columns(UNCLEAR_COLUMNS.role) and reader.name not in TOLD_BY_CELLS
    ],
    ids=lambda reader: reader.name,
)
def test_unclear_columns_are_refused_in_the_words_of_the_study(reader):
    """Two columns of the second of two files could both have one role. The check of the headers
    alone must refuse them with the same message as the study that reads the files.
    """
    second = UNCLEAR_COLUMNS.change(reader.second, *reader.columns(UNCLEAR_COLUMNS.role))
    parameters = parameters_of_two_files(reader, second)
    message = refusal_of_headers(reader, parameters)
    assert message == refusal_of_study(reader, parameters)
    assert "both" in message


@pytest.mark.parametrize(
    "report, parameters, message",
    [
        (
            "significance",
            "-p preds t.csv -p columns value=x,unit=y",
            "t.csv has no columns 'x' and 'y', it has a, b",
        ),
        (
            "validation",
            "-p features t.csv -p target z -p categorical q",
            "t.csv has no columns 'q' and 'z'",
        ),
        (
            "interleaving",
            "-p users t.csv -p metrics x/y",
            "no column 'x' (metrics or before); no column 'y'",
        ),
        (
            "ranking",
            "-p preds t.csv -p unit u",
            "no column 'u' (segments or unit); no column for the query",
        ),
    ],
    ids=["significance", "validation", "interleaving", "ranking"],
)
def test_columns_that_are_not_there_are_refused_before_the_notebook_is_run(
    report, parameters, message, capsys, monkeypatch
):
    """The file has the columns a and b."""
    monkeypatch.setattr(running, "execute", lambda *_: pytest.fail("the notebook was run"))
    Path("t.csv").write_text("a,b\n1,2\n2,3\n", encoding="utf-8")
    assert command.main(["report", report, *parameters.split(), "-o", "out"]) == 2
    assert message in capsys.readouterr().err
    assert not Path("out").exists()


def test_the_refusal_of_columns_imports_nothing_heavy():
    """To name a command that works, the first rows are read too, by DuckDB alone. The script prints
    the exit status, 2, and the heavy modules that were imported, none.
    """
    Path("t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    code = (
        "import sys\n"
        "from evalkit.__main__ import main\n"
        "status = main(['report', 'classification', '-p', 'preds', 't.csv', '-o', 'out'])\n"
        "heavy = {'papermill', 'jupyter_client', 'pandas', 'scipy', 'matplotlib', 'sklearn'}\n"
        "print(status, sorted(heavy & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "2 []\n"
    assert "no column for the label (label, y_true, target) and for the score" in ended.stderr


def test_rows_that_say_their_columns_are_left_to_the_report():
    Path("t.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    inspection.check_headers(REPORTS["classification"].from_raw({"preds": "t.jsonl"}))
