"""Tables as people and tools have them: each is the right page or one line, and `evalkit inspect`
says the same.

`shapes/REPORT.toml` has the tables with what an expert colleague would want of them, written before
any was run. A line `[from:to] {Q},{A}` stands for one line per row, with that row's values of
columns of `shape_columns.py`. A table is refused by a line that holds the pattern `refused`, or it
has a page with these systems, this unit, the number n of units behind the primary metric, its
value, and findings that hold the texts `told`. Where a table `may_refuse`, a refusal will do as
well. Read block by block it is the same, but for the words of a refusal where it `names_no_row`;
where a table is `uninspected`, inspect does not see what the report refuses.
"""

import gzip
import io
import math
import re
import tomllib
from dataclasses import fields, replace
from decimal import Decimal
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest
import shape_columns
from frozen.needs import SMALL
from whole_pages import told

from evalkit.arrays import InputError, ParameterError
from evalkit.limits import USUAL_LIMITS
from evalkit.parameters.reports import REPORTS
from evalkit.studies import inspection
from evalkit.studies.paired import Significance

BLOCKS = replace(SMALL, reading=replace(SMALL.reading, rows=5, shard=25))
FILES = {
    path.stem: tomllib.loads(path.read_text("utf-8"))
    for path in (Path(__file__).parent / "shapes").iterdir()
}
COLUMNS = {report: shape_columns.columns(report) for report in FILES}
COLUMN = re.compile(r"\{([A-Z]\w*(?:\.\w+)?)\}")
ROWS = re.compile(r"\[(\d*):(\d*)\] (.*\n?)")


def text(table, columns):
    """A table as it is in a file."""
    lines = []
    for line in table.splitlines(keepends=True):
        if not (template := ROWS.fullmatch(line)):
            lines.append(line)
            continue
        start, stop, row = template.groups()
        values = [columns[name] for name in COLUMN.findall(row)] or [[""] * int(stop)]
        for cells in list(zip(*values, strict=False))[
            int(start or 0) : int(stop) if stop else None
        ]:
            each = iter(cells)
            lines.append(COLUMN.sub(lambda _, each=each: next(each), row))
    return "".join(lines)


def write(path, content, case):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        frame = pd.read_csv(io.StringIO(content))
        for name, kind in case.get("types", {}).items():
            frame[name] = (
                frame[name].map(str).map(Decimal) if kind == "decimal" else frame[name].astype(kind)
            )
        frame.to_parquet(path, index=False)
    else:
        written = content.replace("\n", case.get("newline", "\n")).encode(
            case.get("encoding", "utf-8")
        )
        path.write_bytes(gzip.compress(written) if path.suffix == ".gz" else written)


def write_files_and_name_parameters(report, case, folder):
    """The parameters of a case, whose files are written into a folder."""
    files = case.get("files") or {"a.csv": case["table"]}
    for name, table in files.items():
        write(folder / name, text(table, COLUMNS[report]), case)
    beside = {
        name.split(".")[0]: str(folder / name)
        for name in files
        if name.startswith(("qrels", "queries"))
    }
    tops = list(
        dict.fromkeys(
            str(folder / name.split("/")[0]) for name in files if name.split(".")[0] not in beside
        )
    )
    into = case.get("into", "log" if report == "interleaving" else "preds")
    return {into: tops if len(tops) > 1 else tops[0]} | beside | case.get("given", {})


def result_or_refusal(act, *arguments):
    """What an act returns, or the one line of its refusal, and None for the other."""
    try:
        return act(*arguments), None
    except (InputError, ParameterError) as error:
        return None, str(error)


def read(report, parameters, limits):
    """The study of a report within limits; of the interleaving report the one that it holds."""
    study = import_module(f"evalkit.studies.{report}").study_of(
        REPORTS[report].from_raw(parameters), limits
    )
    study = (study.log or study.users) if report == "interleaving" else study
    _ = study.estimates
    return study


def assert_numbers_and_findings_are_expected(study, case):
    """Fails where systems, unit, n, or a value of the metric that decides is another."""
    primary = study.estimates[study.estimates["metric"] == study.primary_metric.label].set_index(
        "system"
    )
    assert set(study.systems) == set(case.get("systems", study.systems))
    assert study.unit_name == case.get("unit", study.unit_name)
    assert primary["n"].max() == case["n"]
    for system, value in case.get("value", {}).items():
        assert math.isclose(primary["value"][system], value, abs_tol=2e-12)
    if isinstance(study, Significance) or "told" in case:
        findings = told(study)
        assert ("EK117" in findings) == case.get("unlike", False)
        assert [text for text in case.get("told", ()) if text not in findings] == []


IN_MEMORY = {"in memory": USUAL_LIMITS}
IN_BOTH = IN_MEMORY | {"in blocks": BLOCKS}


def cases():
    """All tables. What is refused by blocks, and a further table of the same kind, wait for the
    night: test_bad_inputs.py and test_large_refusals.py refuse by blocks by day.
    """
    for report, tables in FILES.items():
        for case in tables["case"]:
            name = f"{report}: {case['name']}"
            is_further_table = re.search(r", [2-9]$", name)
            if "refused" in case and not is_further_table:
                yield pytest.param(report, case, IN_MEMORY, id=f"{name} (in memory)")
            is_slow = is_further_table or "refused" in case
            marks = [pytest.mark.slow] if is_slow else []
            yield pytest.param(report, case, IN_BOTH, id=name, marks=marks)


@pytest.mark.parametrize("report, case, limits_by_name", [*cases()])
def test_a_table_is_the_right_page_or_one_line_and_inspect_says_the_same(
    report, case, limits_by_name, tmp_path, monkeypatch
):
    """A case of the TOML files is a table with what is expected of it. It must be refused in one
    line (`refused`: a pattern of the message), or read with the numbers that the case states; with
    `may_refuse` any refusal will do as well. This holds within each of the limits: in memory, and
    for most cases also in blocks of few rows. All refusals must have the same words, as must that
    of `inspect`, which reads only the beginning of a table.
    """
    monkeypatch.chdir(tmp_path)
    parameters = write_files_and_name_parameters(report, case, tmp_path)
    refusals = {}  # by limits, the message, or None if the table was read
    for name, limits in limits_by_name.items():
        study, refusal = result_or_refusal(read, report, parameters, limits)
        refusals[name] = refusal
        must_refuse = "refused" in case
        if must_refuse or (refusal and case.get("may_refuse")):
            assert refusal is not None, study
            assert "\n" not in refusal
            assert re.search(case.get("refused", ""), refusal), refusal
        else:
            assert refusal is None, refusal
            assert_numbers_and_findings_are_expected(study, case)
    # where the case says so, the message in memory names a row that blocks do not know
    assert len(set(refusals.values())) == 1 or case.get("names_no_row")
    known = {field.name for field in fields(REPORTS[report])}
    known_parameters = {name: value for name, value in parameters.items() if name in known}
    inspected = REPORTS[report].from_raw(known_parameters)
    _, refusal_of_inspect = result_or_refusal(inspection.inspect, inspected)
    # where the case says so, the refusal needs all rows, which inspect does not read
    expected = None if case.get("uninspected") else refusals["in memory"]
    assert refusal_of_inspect == expected
