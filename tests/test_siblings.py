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


def cases_that_must_be(expectation):
    """Those of the tables of examples/siblings.py of which this is expected, in each of their
    formats.
    """
    return pytest.mark.parametrize(
        ("sibling", "suffix"),
        [
            pytest.param(sibling, suffix, id=f"{sibling.fact} ({suffix})")
            for sibling in SIBLINGS
            if isinstance(sibling.must, expectation)
            for suffix in sibling.formats
        ],
    )


def write_table(columns, path):
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


def write_tables(tables, folder: Path, suffix):
    """Parameter -> the files with its tables."""
    paths = {}
    for parameter, columns in tables.items():
        first = next(iter(columns.values()))
        if isinstance(first, dict):
            paths[parameter] = [
                write_table(of_file, folder / f"{name}{suffix}")
                for name, of_file in columns.items()
            ]
        else:
            paths[parameter] = write_table(columns, folder / f"{parameter}{suffix}")
    return paths


def study_of(sibling, suffix, folder):
    """The study of the files of its tables, with its further parameters."""
    read = getattr(ek, sibling.report)
    return read(**write_tables(sibling.tables, folder, suffix), **sibling.given)


@cases_that_must_be(Refused)
def test_a_table_that_would_be_misread_is_refused(sibling, suffix, tmp_path):
    """`sibling` has tables that a report would misread, and in `must` the words of the message that
    refuses them.
    """
    with pytest.raises(ek.InputError, match=sibling.must.words):
        study_of(sibling, suffix, tmp_path)


@cases_that_must_be(Declared)
def test_what_is_odd_about_a_table_is_a_finding(sibling, suffix, tmp_path):
    """`sibling` has tables that a report reads, with a finding about what is odd; `must` holds the
    code of the finding.
    """
    study = study_of(sibling, suffix, tmp_path)
    assert sibling.must.code in set(study.findings["code"])


@cases_that_must_be(Read)
def test_a_table_is_read_as_it_is_meant(sibling, suffix, tmp_path):
    """`sibling` has tables, and in `must` what a report must read from them: the names of the
    systems, where they matter, and the expected value of each metric of the one system whose name
    contains a given part.
    """
    study = study_of(sibling, suffix, tmp_path)
    if sibling.must.systems:
        assert study.systems == sibling.must.systems
    for (metric, part_of_system), expected in sibling.must.values.items():
        is_metric = study.estimates["metric"] == metric
        is_system = study.estimates["system"].str.contains(part_of_system, regex=False)
        (value,) = study.estimates.loc[is_metric & is_system, "value"]
        assert value == pytest.approx(expected)


# What is no table


GRADES = {f"q{i}": {"a": 1, "b": 0} for i in range(6)}
SCORES = {f"q{i}": {"a": 0.5, "b": 0.9 if i % 2 else 0.1} for i in range(6)}
SCORES_OF_A_KIND = {
    "numpy numbers": {q: {d: np.float64(s) for d, s in docs.items()} for q, docs in SCORES.items()},
    "whole numbers": {q: {d: int(10 * s) for d, s in docs.items()} for q, docs in SCORES.items()},
    "numbers as ids": dict(enumerate(SCORES.values())),
}


each_kind_of_scores = pytest.mark.parametrize(
    "run", SCORES_OF_A_KIND.values(), ids=SCORES_OF_A_KIND.keys()
)


@each_kind_of_scores
def test_dicts_of_scores_by_query_and_item_are_lists(run):
    """The relevant item a is first in half of the six queries, and second in the other half."""
    qrels = dict(zip(run, GRADES.values(), strict=True))
    study = ek.ranking({"m": run}, qrels, metrics="reciprocal_rank")
    assert study.estimates["value"].tolist() == [(1 + 1 / 2) / 2]


@each_kind_of_scores
def test_json_of_scores_by_query_and_item_is_lists(run, tmp_path):
    """The relevant item a is first in half of the six queries, and second in the other half."""
    qrels = dict(zip(run, GRADES.values(), strict=True))
    (tmp_path / "run.json").write_text(json.dumps(run, default=float))
    (tmp_path / "qrels.json").write_text(json.dumps(qrels))
    study = ek.ranking(tmp_path / "run.json", tmp_path / "qrels.json", metrics="reciprocal_rank")
    assert study.estimates["value"].tolist() == [(1 + 1 / 2) / 2]


def results_of_two_prompts(passed, **more):
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


RESULTS_OF_PROMPTFOO = {
    "without test cases": results_of_two_prompts(lambda prompt, test: (prompt + test) % 3 != 0),
    "with texts of providers": results_of_two_prompts(
        lambda prompt, test: test > prompt, provider="openai:m"
    ),
    "with named scores": results_of_two_prompts(
        lambda prompt, test: test > 2, namedScores={"tone": 0.5}
    ),
}


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
@pytest.mark.parametrize("results", RESULTS_OF_PROMPTFOO.values(), ids=RESULTS_OF_PROMPTFOO.keys())
def test_prompts_of_promptfoo_are_systems(results, suffix, tmp_path):
    """`results` are the eight tests of each of two prompts, as promptfoo writes them, in one JSON
    document or one per line. The prompts become the systems "prompt 0" and "prompt 1", whose
    success is the share of their tests that passed.
    """
    path = tmp_path / f"out{suffix}"
    if suffix == ".json":
        path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": results}}))
    else:
        path.write_text("".join(f"{json.dumps(result)}\n" for result in results))
    estimates = ek.significance(path, metrics="success").estimates
    success_rate = estimates.set_index("system")["value"]
    for prompt in (0, 1):
        expected = np.mean([test["success"] for test in results if test["promptIdx"] == prompt])
        assert success_rate[f"prompt {prompt}"] == pytest.approx(expected)


LABELS_AND_SCORES = {"label": [0, 1] * 20, "score": np.linspace(0, 1, 40)}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("folder", ["", "é", "dossier été"])
def test_names_of_files_that_are_not_in_utf_8_are_refused(folder, suffix, tmp_path, capsys):
    """The name café in Latin-1 has the byte E9, which is not UTF-8, and is refused. The same name
    in UTF-8 is read. So it is in a folder with é in its own name.
    """
    within = tmp_path / folder
    within.mkdir(exist_ok=True)
    write_table(LABELS_AND_SCORES, within / f"caf\xe9{suffix}")
    latin = os.fsdecode(os.fsencode(within) + b"/caf\xe9" + suffix.encode())
    assert main(["inspect", latin]) == 2
    assert "must be UTF-8" in capsys.readouterr().err
    assert main(["inspect", str(within / f"caf\xe9{suffix}")]) == 0


NAMES = ["score_\x1b[31mred", "score_\x1b]0;title\x07", "score_\x9b2J\r"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("name", NAMES, ids=["colour", "title", "clear"])
def test_controls_in_names_of_systems_do_not_reach_a_terminal(name, suffix, tmp_path, capsys):
    """The name of a column of scores, and so of a system, holds control characters that would
    colour a terminal, set its title or clear it. Whether the table is read (0) or refused (2),
    `inspect` prints none of these characters.
    """
    table = {
        "label": LABELS_AND_SCORES["label"],
        name: LABELS_AND_SCORES["score"],
        "score_b": LABELS_AND_SCORES["score"],
    }
    assert main(["inspect", str(write_table(table, tmp_path / f"t{suffix}"))]) in (0, 2)
    printed = "".join(capsys.readouterr())  # output and errors
    assert printed
    assert not {"\x1b", "\x07", "\x9b", "\r"} & set(printed)


NO_REPORTS = {
    "a table": lambda path: write_table(LABELS_AND_SCORES, path),
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
