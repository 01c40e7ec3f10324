"""Tables as tools and people write them: each is the right page or one line, and `evalkit inspect` says the same."""

from dataclasses import fields

import pytest
import tool_tables
from tool_tables import Page

from evalkit import parameters
from evalkit.arrays import InputError
from evalkit.studies import classification, inspection, interleaving, ranking, rating, significance, validation

MODULES = (classification, interleaving, ranking, rating, significance, validation)
READ = {module.__name__.rpartition(".")[2]: module.read for module in MODULES}


def written(case, folder):
    """The parameters of a case, with its files in a folder."""
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    names = [name for name in case.files if name != "qrels.txt"]
    tops = sorted({name.split("/")[0] for name in names}, key=names[0].split("/")[0].__ne__)
    given = {name: value for name, value in case.given.items() if name != "as"}
    given[case.given.get("as", "preds")] = str(folder / tops[0]) if len(tops) == 1 else [str(folder / t) for t in tops]
    return given | ({"qrels": str(folder / "qrels.txt")} if "qrels.txt" in case.files else {})


def refusal(act):
    """The one line of a refusal, None where there is none."""
    try:
        act()
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("case", tool_tables.CASES, ids=lambda case: f"{case.report}: {case.name}")
def test_a_table_is_the_right_page_or_one_line(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given, studies = written(case, tmp_path), []
    refused = refusal(lambda: studies.append(READ[case.report](**given)))
    if isinstance(case.wants, Page):
        if refused:
            assert not case.wants.must, refused
        else:
            study, wanted = next(iter(getattr(studies[0], "studies", studies))), case.wants
            assert not wanted.systems or set(study.systems) == set(wanted.systems)
            assert wanted.n is None or study.estimates["n"].iloc[0] == wanted.n
    else:
        assert refused is not None, studies[0]
        assert "\n" not in refused
        assert not case.wants.words or any(word in refused for word in case.wants.words), refused


@pytest.mark.parametrize("case", tool_tables.CASES, ids=lambda case: f"{case.report}: {case.name}")
def test_inspect_refuses_what_the_report_refuses_in_the_same_words(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = written(case, tmp_path)
    report = next(kind for name, kind in parameters.REPORTS.items() if name == case.report)
    known = {field.name for field in fields(report)}
    refused = refusal(lambda: READ[case.report](**given))
    assert refusal(lambda: inspection.inspect(report.of({k: v for k, v in given.items() if k in known}))) == refused
