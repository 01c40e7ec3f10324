"""Gates that wait: sides that were not compared, directions that nothing tells, broken
assignments.
"""

import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit import __main__ as command
from evalkit.arrays import InputError, ParameterError
from evalkit.drawing.shown import page
from evalkit.report import plain
from evalkit.studies.diff import partners

GUARD = 'on_cannot_tell = "pass"\n[[rule]]\nthat = "not worse"\n'


def forecasts(*systems, rows=30):
    """Rows with an actual value and a forecast of each system, all equally good."""
    rng = np.random.default_rng(3)
    actual = rng.normal(0, 1, rows)
    columns = {f"forecast_{name}": actual + rng.normal(0, 1, rows) for name in systems}
    return pd.DataFrame({"id": range(rows), "actual": actual, **columns})


def saved(study, folder, name):
    """The JSON of a report in a folder, with its file of units beside it."""
    folder.mkdir(exist_ok=True)
    if name != "diff":
        study.save(folder / f"{name}.units.parquet")
    results = plain(page(study.report).results(study).results)
    (folder / f"{name}.json").write_text(json.dumps(results), encoding="utf-8")
    return folder / f"{name}.json"


@pytest.fixture
def renamed(tmp_path):
    """Two reports of `base` and a candidate that has another name in each."""
    for day, name in (("old", "m-0806"), ("new", "m-1120")):
        saved(ek.rating(forecasts(name, "base"), metrics="mae"), tmp_path / day, "rating")
    (tmp_path / "guard.toml").write_text(GUARD, encoding="utf-8")
    return tmp_path


def compared(folder, **parameters):
    return ek.diff(folder / "old", folder / "new", **parameters)


# A diff whose systems have no partner -------------------------------------------------------------


def test_a_gate_on_a_renamed_candidate_is_not_decided(renamed):
    gate = compared(renamed, gate="not worse").gate
    assert not gate.passed
    assert gate.message == (
        "gate not decided: mae: every system not worse against the old report: "
        "m-1120 is not compared: the old report has no system of this name, and pairs names none; "
        "m-0806 is not compared: the new report has no system of this name, and pairs names none"
    )


def test_a_policy_that_lets_cannot_tell_pass_does_not_let_it_pass(renamed):
    gate = compared(renamed, gate=str(renamed / "guard.toml")).gate
    assert [result for _, result, _ in gate.rules] == ["not decided"]
    assert not gate.passed


def test_a_bound_of_every_system_is_not_decided_without_the_candidate(renamed):
    assert compared(renamed, gate="mae.high <= 99").gate.message.startswith("gate not decided")


def test_a_rule_about_a_system_that_was_compared_is_decided(renamed):
    assert compared(renamed, gate="mae not worse of 'new base'").gate.passed


def test_a_gate_is_decided_when_the_partner_is_named(renamed):
    study = compared(renamed, gate="not worse", pairs="m-1120=m-0806")
    assert study.gate.passed
    assert [*study.account["system"]] == ["m-1120", "base"]


def test_a_missing_candidate_is_not_decided(tmp_path):
    saved(ek.rating(forecasts("m", "base"), metrics="mae"), tmp_path / "old", "rating")
    saved(ek.rating(forecasts("base"), metrics="mae"), tmp_path / "new", "rating")
    gate = compared(tmp_path, gate="not worse").gate
    assert gate.undecided == [
        "m is not compared: the new report has no system of this name, and pairs names none"
    ]


def test_check_of_such_a_diff_ends_with_3_and_says_why_everywhere(renamed, capsys):
    file = saved(compared(renamed), renamed, "diff")
    junit, results = renamed / "junit.xml", renamed / "out.json"
    written = ["--junit", str(junit), "--json", str(results)]
    assert command.main(["check", str(file), str(renamed / "guard.toml"), *written]) == 3
    reason = "m-1120 is not compared"
    said = capsys.readouterr()
    assert reason in said.err
    assert reason in said.out
    assert any(reason in line for line in json.loads(results.read_text())["undecided"])
    failure = ElementTree.parse(junit).getroot().find(".//failure")
    assert failure.get("message") == "not decided"
    assert reason in failure.text


def test_the_page_names_systems_without_a_partner_and_the_parameter(renamed):
    finding = compared(renamed).findings.set_index("code").loc["EK807"]
    assert "m-1120 (new report), m-0806 (old report)" in finding["message"]
    assert "set pairs='m-1120=m-0806'" in finding["message"]


def test_pairs_that_the_reports_do_not_have_are_refused(renamed):
    with pytest.raises(ParameterError, match="pairs: the old report has no system 'm-08'"):
        compared(renamed, pairs="m-1120=m-08")
    with pytest.raises(ParameterError, match="pairs: must name each old system once"):
        compared(renamed, pairs="m-1120=base,base=base")


def test_reports_without_a_system_in_common_say_how_to_pair_them(tmp_path):
    saved(ek.rating(forecasts("a", "b"), metrics="mae"), tmp_path / "old", "rating")
    saved(ek.rating(forecasts("c", "d"), metrics="mae"), tmp_path / "new", "rating")
    with pytest.raises(InputError, match="such as pairs='c=a'"):
        compared(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        (["v1"], ["v2"], {"v2": "v1"}),
        (["system"], ["forest"], {"forest": "system"}),
        (["system", "majority"], ["forest", "majority"], {"forest": "system"}),
        (["ridge", "median"], ["forest", "median"], {"forest": "ridge"}),
        (["system", "base"], ["forest", "base"], {"forest": "system"}),
        (["a", "base"], ["b", "base"], {}),
        (["a", "b"], ["c", "d"], {}),
    ],
)
def test_a_system_that_stands_alone_in_both_reports_is_a_pair(old, new, pairs):
    named = {name: name for name in new if name in old}
    assert partners(old, new) == named | pairs
