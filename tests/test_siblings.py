"""Tables of the kinds that were once misread, three or more of a kind, in two formats each."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from examples.siblings import SIBLINGS, Declared, Read, Refused

import evalkit as ek
from evalkit.__main__ import main
from evalkit.commands import requests

CASES = [
    pytest.param(sibling, suffix, id=f"{sibling.fact} ({suffix})")
    for sibling in SIBLINGS
    for suffix in sibling.formats
]


def saved(columns, path):
    """The path of a file with these columns, in the format of its name."""
    table = pd.DataFrame(columns)
    if path.suffix == ".parquet":
        table.to_parquet(path)
    elif path.suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        separator = "\t" if path.suffix == ".tsv" else ","
        if path.name.endswith("semicolons.csv"):
            separator = ";"
        table.to_csv(path, index=False, sep=separator)
    return path


def files(tables, folder: Path, suffix):
    """Parameter -> the files with its tables."""
    paths = {}
    for parameter, columns in tables.items():
        first = next(iter(columns.values()))
        if isinstance(first, dict):
            paths[parameter] = [
                saved(of_file, folder / f"{name}{suffix}") for name, of_file in columns.items()
            ]
        else:
            paths[parameter] = saved(columns, folder / f"{parameter}{suffix}")
    return paths


@pytest.mark.parametrize(("sibling", "suffix"), CASES)
def test_a_sibling_is_not_misread(sibling, suffix, tmp_path):
    read = getattr(ek, sibling.report)
    given = {**files(sibling.tables, tmp_path, suffix), **sibling.given}
    if isinstance(sibling.must, Refused):
        with pytest.raises(ek.InputError, match=sibling.must.words):
            read(**given)
        return
    study = read(**given)
    if isinstance(sibling.must, Declared):
        assert sibling.must.code in set(study.findings["code"])
        return
    assert isinstance(sibling.must, Read)
    if sibling.must.systems:
        assert study.systems == sibling.must.systems
    if sibling.must.values:
        estimates = study.estimates
        found = {(row.metric, row.system): row.value for row in estimates.itertuples()}
        for (metric, system), value in sibling.must.values.items():
            values = [v for (m, s), v in found.items() if m == metric and system in s]
            assert values == [pytest.approx(value)], found


# What is no table


QRELS = {f"q{i}": {"a": 1, "b": 0} for i in range(6)}
RUN = {f"q{i}": {"a": 0.5, "b": 0.9 if i % 2 else 0.1} for i in range(6)}
DICTS = {
    "numpy numbers": {q: {d: np.float64(s) for d, s in docs.items()} for q, docs in RUN.items()},
    "whole numbers": {q: {d: int(10 * s) for d, s in docs.items()} for q, docs in RUN.items()},
    "numbers as ids": dict(enumerate(RUN.values())),
}


@pytest.mark.parametrize("suffix", ["", ".json"])
@pytest.mark.parametrize("name", DICTS)
def test_scores_by_query_and_item_are_lists(name, suffix, tmp_path):
    run = DICTS[name]
    qrels = dict(zip(run, QRELS.values(), strict=True))
    if suffix:
        files = tmp_path / "run.json", tmp_path / "qrels.json"
        for path, content in zip(files, (run, qrels), strict=True):
            path.write_text(json.dumps(content, default=float))
        study = ek.ranking(*files, metrics="reciprocal_rank")
    else:
        study = ek.ranking({"m": run}, qrels, metrics="reciprocal_rank")
    assert [*study.estimates["value"]] == [0.75]


def prompts(passed, **more):
    """Results of promptfoo of two prompts, eight tests each. passed: (prompt, test) -> bool."""
    return [
        {
            "promptIdx": prompt,
            "testIdx": test,
            "provider": {"id": "openai:m"},
            "prompt": {"raw": f"prompt {prompt}", "label": f"prompt {prompt}"},
            "vars": {"q": test},
            "success": passed(prompt, test),
            "score": float(passed(prompt, test)),
            **more,
        }
        for prompt in range(2)
        for test in range(8)
    ]


PROMPTS = {
    "without test cases": prompts(lambda prompt, test: (prompt + test) % 3 != 0),
    "with texts of providers": prompts(lambda prompt, test: test > prompt, provider="openai:m"),
    "with named scores": prompts(lambda prompt, test: test > 2, namedScores={"tone": 0.5}),
}


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
@pytest.mark.parametrize("name", PROMPTS)
def test_prompts_of_promptfoo_are_systems(name, suffix, tmp_path):
    results = PROMPTS[name]
    path = tmp_path / f"out{suffix}"
    if suffix == ".json":
        path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": results}}))
    else:
        path.write_text("".join(f"{json.dumps(result)}\n" for result in results))
    estimates = ek.significance(path, metrics="success").estimates
    for prompt in range(2):
        rate = np.mean([one["success"] for one in results if one["promptIdx"] == prompt])
        found = estimates.loc[estimates["system"] == f"prompt {prompt}", "value"]
        assert [*found] == [pytest.approx(rate)]


TABLE = {"label": [0, 1] * 20, "score": np.linspace(0, 1, 40)}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("folder", ["", "é", "dossier été"])
def test_names_that_are_not_in_utf_8_are_refused(folder, suffix, tmp_path, capsys):
    within = tmp_path / folder
    within.mkdir(exist_ok=True)
    saved(TABLE, within / f"caf\xe9{suffix}")
    latin = os.fsdecode(os.fsencode(within) + b"/caf\xe9" + suffix.encode())
    assert main(["inspect", latin]) == 2
    assert "must be UTF-8" in capsys.readouterr().err
    assert main(["inspect", str(within / f"caf\xe9{suffix}")]) == 0


NAMES = ["score_\x1b[31mred", "score_\x1b]0;title\x07", "score_\x9b2J\r"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("name", NAMES)
def test_controls_in_names_of_systems_do_not_reach_a_terminal(name, suffix, tmp_path, capsys):
    table = {"label": TABLE["label"], name: TABLE["score"], "score_b": TABLE["score"]}
    assert main(["inspect", str(saved(table, tmp_path / f"t{suffix}"))]) in (0, 2)
    shown = "".join(capsys.readouterr())
    assert shown
    assert not {"\x1b", "\x07", "\x9b", "\r"} & {*shown}


NO_REPORTS = {
    "a table": lambda path: saved(TABLE, path),
    "a number": lambda path: path.write_text("5"),
    "another document": lambda path: path.write_text('{"accuracy": 0.9}'),
}


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("kind", NO_REPORTS)
def test_the_diff_of_no_report_does_not_advise_to_make_it_again(kind, suffix, tmp_path, capsys):
    path = tmp_path / f"t{suffix}"
    NO_REPORTS[kind](path)
    assert main(["diff", str(path), str(tmp_path / "nosuch.json")]) == 2
    assert "must be a report" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".toml", ".yaml"])
@pytest.mark.parametrize("title", ["2026-11-16", "1e3", "007"])
def test_values_of_parameter_files_stay_texts(title, suffix, tmp_path):
    quoted = json.dumps(title)
    line = f"title = {quoted}" if suffix == ".toml" else f"title: {quoted}"
    path = tmp_path / f"p{suffix}"
    path.write_text(f"{line}\n")
    assert requests.settings(path).values == {"title": title}
