"""Tables as people and tools have them: each is the right page or one line, and `evalkit inspect` says the same.

`shapes/REPORT.toml` has the tables with what an expert colleague would want of them, written before any was run. A line
`[from:to] {Q},{A}` stands for one line per row, with that row's values of the columns Q and A. A table is refused by a
line that holds the pattern `refused`, or it has a page with these systems, this unit, the number n of units behind the
primary metric, and its value, computed by other means. Where a table `may_refuse`, a refusal will do as well.
"""

import gzip
import io
import math
import re
import tomllib
from dataclasses import fields
from decimal import Decimal
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

from evalkit.arrays import InputError, ParameterError
from evalkit.pages import significance_page
from evalkit.parameters import REPORTS
from evalkit.studies import inspection
from evalkit.studies.paired import Significance

FILES = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in (Path(__file__).parent / "shapes").iterdir()}
COLUMN, ROWS = re.compile(r"\{([A-Z]\w*)\}"), re.compile(r"\[(\d*):(\d*)\] (.*\n?)")


def text(table, columns):
    """A table as it is in a file."""
    lines = []
    for line in table.splitlines(keepends=True):
        if not (template := ROWS.fullmatch(line)):
            lines.append(line)
            continue
        start, stop, row = template.groups()
        values = [columns[name].split(" ") for name in COLUMN.findall(row)] or [[""] * int(stop)]
        for cells in list(zip(*values, strict=False))[int(start or 0) : int(stop) if stop else None]:
            each = iter(cells)
            lines.append(COLUMN.sub(lambda _, each=each: next(each), row))
    return "".join(lines)


def write(path, content, case):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        frame = pd.read_csv(io.StringIO(content))
        for name, kind in case.get("types", {}).items():
            frame[name] = frame[name].map(str).map(Decimal) if kind == "decimal" else frame[name].astype(kind)
        frame.to_parquet(path, index=False)
    else:
        written = content.replace("\n", case.get("newline", "\n")).encode(case.get("encoding", "utf-8"))
        path.write_bytes(gzip.compress(written) if path.suffix == ".gz" else written)


def given(report, case, folder):
    """The parameters of a case, whose files are written into a folder."""
    files = case.get("files") or {"a.csv": case["table"]}
    for name, table in files.items():
        write(folder / name, text(table, FILES[report]["columns"]), case)
    tops = dict.fromkeys(str(folder / name.split("/")[0]) for name in files if not name.startswith("qrels"))
    into = case.get("into", "log" if report == "interleaving" else "preds")
    judged = [("qrels", str(folder / name)) for name in files if name.startswith("qrels")]
    return {into: list(tops) if len(tops) > 1 else next(iter(tops))} | dict(judged) | case.get("given", {})


def refusal(act):
    """The one line of a refusal, None where there is none."""
    try:
        act()
    except (InputError, ParameterError) as error:
        return str(error)
    return None


def read(report, parameters):
    """The study of a report; of the interleaving report the one that it holds."""
    study = import_module(f"evalkit.studies.{report}").read(**parameters)
    study = (study.log or study.users) if report == "interleaving" else study
    _ = study.estimates
    return study


def check(study, case):
    """Fails where systems, unit, n, or a value of the metric that decides is another."""
    primary = study.estimates[study.estimates["metric"] == study.primary.label].set_index("system")
    assert set(study.systems) == set(case.get("systems", study.systems))
    assert study.unit_name == case.get("unit", study.unit_name)
    assert primary["n"].max() == case["n"]
    for system, value in case.get("value", {}).items():
        assert math.isclose(primary["value"][system], value, abs_tol=2e-12)
    if isinstance(study, Significance):
        codes = {finding.kind.code for finding in significance_page.every_finding(study)}
        assert set(case.get("findings", ())) == codes & {"EK117"}


CASES = [pytest.param(name, case, id=f"{name}: {case['name']}") for name in FILES for case in FILES[name]["case"]]


@pytest.mark.parametrize("report, case", CASES)
def test_a_table_is_the_right_page_or_one_line_and_inspect_says_the_same(report, case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parameters, studies = given(report, case, tmp_path), []
    refused = refusal(lambda: studies.append(read(report, parameters)))
    if "refused" in case or (refused and case.get("may_refuse")):
        assert refused is not None, studies[0]
        assert "\n" not in refused
        assert re.search(case.get("refused", ""), refused), refused
    else:
        assert refused is None, refused
        check(studies[0], case)
    known = {field.name for field in fields(REPORTS[report])}
    asked = REPORTS[report].of({name: value for name, value in parameters.items() if name in known})
    assert refusal(lambda: inspection.inspect(asked)) == refused
