"""Tables as tools and people write them: each is the right page or one line, and `evalkit inspect` says the same."""

import io
import re
import tomllib
from dataclasses import fields
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from evalkit import parameters
from evalkit.arrays import InputError
from evalkit.pages import significance_page
from evalkit.studies import classification, inspection, interleaving, ranking, rating, significance, validation
from evalkit.studies.paired import Significance

MODULES = (classification, interleaving, ranking, rating, significance, validation)
READ = {module.__name__.rpartition(".")[2]: module.read for module in MODULES}
TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
COLUMNS = {name: values.split(" ") for name, values in TABLES.pop("columns").items()}
COLUMN, ROWS = re.compile(r"\{([A-Z]\w*)\}"), re.compile(r"\[(\d*):(\d*)\] (.*\n?)")


def text(table):
    """A table as it is in a file: `[from:to] {Q},{A}` stands for these rows, with the values of their columns."""
    lines = []
    for line in table.splitlines(keepends=True):
        if not (template := ROWS.fullmatch(line)):
            lines.append(line)
            continue
        start, stop, row = template.groups()
        columns = [COLUMNS[name] for name in COLUMN.findall(row)] or [[""] * int(stop)]
        for values in list(zip(*columns, strict=False))[int(start or 0) : int(stop) if stop else None]:
            each = iter(values)
            lines.append(COLUMN.sub(lambda _, each=each: next(each), row))
    return "".join(lines)


def write(path, table, case):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        frame = pd.read_csv(io.StringIO(text(table)))
        for name, kind in case.get("types", {}).items():
            frame[name] = frame[name].map(str).map(Decimal) if kind == "decimal" else frame[name].astype(kind)
        frame.to_parquet(path)
    else:
        content = text(table).replace("\n", case.get("newline", "\n"))
        path.write_bytes(content.encode(case.get("encoding", "utf-8")))


def written(report, case, folder):
    """The parameters of a case, with its files in a folder."""
    file = case.get("file", "preds.csv")
    files = case.get("files") or {file: case["table"]}
    for name, table in files.items():
        write(folder / name, table, case)
    tops = [str(folder / top) for top in dict.fromkeys(name.split("/")[0] for name in files) if top != "qrels.txt"]
    usual = {"interleaving": "log"}.get(report, "preds")
    given = {"users" if file == "users.csv" else usual: tops[0] if len(tops) == 1 else tops}
    return given | case.get("given", {}) | ({"qrels": str(folder / "qrels.txt")} if "qrels.txt" in files else {})


def refusal(act):
    """The one line of a refusal, None where there is none."""
    try:
        act()
    except InputError as error:
        return str(error)
    return None


CASES = [pytest.param(report, case, id=f"{report}: {case['name']}") for report in TABLES for case in TABLES[report]]


@pytest.mark.parametrize("report, case", CASES)
def test_a_table_is_the_right_page_or_one_line_and_inspect_says_the_same(report, case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given, studies = written(report, case, tmp_path), []
    refused = refusal(lambda: studies.append(READ[report](**given)))
    wanted, _, words = case["wants"].partition(": ")
    if wanted == "no":
        assert refused is not None, studies[0]
        assert "\n" not in refused
        assert any(word in refused for word in words.split("|")), refused
    elif refused:
        assert not wanted.endswith("!"), refused
    else:
        study = next(iter(getattr(studies[0], "studies", studies)))
        codes = {word for word in wanted.split(" ") if word.startswith("EK")}
        *systems, n = (word for word in wanted.rstrip("!").split(" ") if word not in codes)
        assert not systems or set(study.systems) == set(systems)
        assert study.estimates["n"].iloc[0] == int(n)
        if report == "significance" and isinstance(study, Significance):
            told = {finding.kind.code for finding in significance_page.every_finding(study)}
            assert ("EK117" in told, codes <= told) == ("EK117" in codes, True)
    of_report = parameters.REPORTS[report]
    known = {name: value for name, value in given.items() if name in {field.name for field in fields(of_report)}}
    assert refusal(lambda: inspection.inspect(of_report.of(known))) == refused
