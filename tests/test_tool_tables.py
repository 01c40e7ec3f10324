"""Tables as tools and people write them: each is the right page or one line, and `evalkit inspect` says the same."""

from dataclasses import fields

import pandas as pd
import pytest
import tool_tables

from evalkit import parameters
from evalkit.arrays import InputError
from evalkit.pages import significance_page
from evalkit.studies import classification, inspection, interleaving, ranking, rating, significance, validation
from evalkit.studies.paired import Significance

MODULES = (classification, interleaving, ranking, rating, significance, validation)
READ = {module.__name__.rpartition(".")[2]: module.read for module in MODULES}


def written(case, folder):
    """The parameters of a case, with its files in a folder."""
    files = case.content if isinstance(case.content, dict) else {case.file: case.content}
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pd.DataFrame) and path.suffix == ".parquet":
            content.to_parquet(path)
        elif isinstance(content, pd.DataFrame):
            path.write_text(content.to_json(orient="records", lines=True))
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    tops = [str(folder / top) for top in dict.fromkeys(name.split("/")[0] for name in files) if top != "qrels.txt"]
    usual = {"interleaving": "log"}.get(case.report, "preds")
    given = {"users" if case.file == "users.csv" else usual: tops[0] if len(tops) == 1 else tops}
    return given | dict(case.given or {}) | ({"qrels": str(folder / "qrels.txt")} if "qrels.txt" in files else {})


def refusal(act):
    """The one line of a refusal, None where there is none."""
    try:
        act()
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("case", tool_tables.CASES, ids=lambda case: f"{case.report}: {case.name}")
def test_a_table_is_the_right_page_or_one_line_and_inspect_says_the_same(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given, studies = written(case, tmp_path), []
    refused = refusal(lambda: studies.append(READ[case.report](**given)))
    wanted, _, words = case.wants.partition(": ")
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
        if case.report == "significance" and isinstance(study, Significance):
            told = {finding.kind.code for finding in significance_page.every_finding(study)}
            assert ("EK117" in told, codes <= told) == ("EK117" in codes, True)
    report = parameters.REPORTS[case.report]
    known = {name: value for name, value in given.items() if name in {field.name for field in fields(report)}}
    assert refusal(lambda: inspection.inspect(report.of(known))) == refused
