"""The frozen results: the committed cases give their numbers, and the comparison finds what it
must.
"""

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import units_again
from frozen import compare, freeze, needs
from frozen.cases import CASES

from evalkit import numbers
from evalkit.machine import kernels
from evalkit.pages import as_json

RESULTS = {
    "primary": "f1",
    "estimates": [
        {"system": "a", "metric": "f1", "value": 0.5, "n": 10, "method": "Wilson", "low": None},
        {"system": "a", "metric": "mcc", "value": 0.25, "n": 10, "method": "BCa", "low": None},
        {"system": "b", "metric": "f1", "value": 250.0, "n": 10, "method": "Wilson", "low": 0.125},
    ],
    "differences": {"queries": ["q1", "q2"], "values": [0.5, -0.5]},
    "confusion": {"a": [[3, 1], [0, 4]]},
}
# more than 2 s of CPU each, for the tool alone: other cases of the suite go the same ways
SLOW_CASES = {
    "classification: credit, every score metric",
    "classification: credit by segment",
    "classification: credit, baseline and margin",
    "classification: credit, every decision metric",
    "classification: credit, costs and base rate",
    "classification: credit weighted",
    "classification: credit out of core",
    "classification: breast cancer",
    "classification: made long out of core",
    "classification: digits",
    "ranking: digits out of core",
    "significance: sample",
}
QUICK_CASES = [
    case
    for case in CASES
    if not case.local and needs.SPARK not in case.needs and case.name not in SLOW_CASES
]


def changes(change) -> list[compare.Difference]:
    """The differences that the comparison finds between RESULTS and a copy after `change` of it."""
    new = copy.deepcopy(RESULTS)
    change(new)
    return list(compare.differences(RESULTS, new))


def set_in_estimate(row: int, **values):
    """A change of values in a row of the estimates of RESULTS."""
    return lambda results: results["estimates"][row].update(values)


@pytest.fixture(scope="module")
def frozen():
    """The committed results of each case, by its name."""
    return freeze.load(freeze.FOLDERS[False])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the generated tables that some cases read."""
    folder = tmp_path_factory.mktemp("made")
    needs.tables(folder)
    return folder


@pytest.mark.parametrize("case", QUICK_CASES, ids=[case.name for case in QUICK_CASES])
def test_every_number_is_the_frozen_one_and_follows_from_the_file_of_units(
    case, frozen, made, tmp_path, monkeypatch
):
    """A case is a report on committed data, or on generated tables in the folder `made`; its
    results are frozen, i.e. committed. It is run again, and all numbers must be the frozen ones,
    except for the few that depend on the processor (`by_processor`). If the run also writes a file
    of values per unit, its estimates are computed again from this file alone.
    """
    monkeypatch.setenv(kernels.UNITS, str(tmp_path / "units"))
    results = freeze.run(case, made)
    differences = compare.differences(frozen[case.name], results)
    unexplained = [str(one) for one in differences if not one.by_processor]
    assert unexplained == []
    file_of_units = tmp_path / "units"
    if not file_of_units.exists():
        # Two kinds of cases write none: those that ask for limits so small that tables are read by
        # blocks, and a diff, which only reads the files of other reports.
        asks_for_small_limits = needs.LIMITS in case.needs
        assert asks_for_small_limits or case.report == "diff"
        return
    # The interleaving report has results of the table "log", of the table "users" or of both. Other
    # reports have one table, which the file of units calls "".
    results_of_tables = {name: results[name] for name in ("log", "users") if results.get(name)}
    if not results_of_tables:
        results_of_tables = {"": results}
    for table, results_of_table in results_of_tables.items():
        units_again.assert_results_follow_from_units(file_of_units, results_of_table, table)


def test_the_same_tree_has_no_difference():
    """Results are compared with a copy of themselves."""
    assert changes(lambda results: None) == []


@pytest.mark.parametrize("row, value", [(0, 0.5), (2, 250.0)])
def test_a_number_may_move_by_1e_13_and_not_by_1e_11(row, value):
    """The tolerance is relative to max(1, the number). In RESULTS, row 0 of the estimates holds
    0.5, and row 2 holds 250.
    """
    assert changes(set_in_estimate(row, value=value + 1e-13 * max(1, value))) == []
    (change,) = changes(set_in_estimate(row, value=value + 1e-11 * max(1, value)))
    assert (change.kind, change.old) == ("number", value)


def test_a_changed_number_is_named_by_its_record():
    assert [str(one) for one in changes(set_in_estimate(1, value=0.3))] == [
        "estimates[a, mcc].value: 0.25 -> 0.3"
    ]


@pytest.mark.parametrize(
    ("path", "by_processor"),
    [
        ("calibration[a, uncertainty].low", True),
        ("calibration[a, ece_10].low", False),
        ("estimates[a].low", False),
    ],
)
def test_a_number_that_another_processor_may_change_is_known_by_its_path(path, by_processor):
    """The bootstrap limits of the uncertainty of calibration are such numbers, and few others."""
    difference = compare.Difference(path, "number", old=1.0, new=2.0)
    assert difference.by_processor == by_processor


@pytest.mark.parametrize("values", [{"n": 11}, {"n": 10.0000001}, {"low": 0.0}, {"value": None}])
def test_whole_and_undefined_numbers_are_exact(values):
    """Row 0 of the estimates in RESULTS has n = 10, value = 0.5 and an undefined low. Any change of
    n, of low to a number or of value to undefined is a difference.
    """
    assert [one.kind for one in changes(set_in_estimate(0, **values))] == ["number"]


def test_words_are_told_apart_from_numbers():
    (change,) = changes(set_in_estimate(0, method="Newcombe"))
    assert (change.kind, str(change)) == (
        "words",
        "estimates[a, f1].method: 'Wilson' -> 'Newcombe'",
    )


def test_a_missing_record_is_named_by_its_system_and_metric():
    (change,) = changes(lambda results: results["estimates"].pop(1))
    assert (change.kind, change.path, change.new) == ("record", "estimates[a, mcc]", compare.ABSENT)


def test_an_added_record_is_named_by_its_system_and_metric():
    record = {"system": "c", "metric": "f1", "value": 1.0}
    (change,) = changes(lambda results: results["estimates"].append(record))
    assert (change.kind, change.path, change.old) == ("record", "estimates[c, f1]", compare.ABSENT)


def test_a_missing_and_an_added_member_are_found():
    assert [one.path for one in changes(lambda results: results.pop("confusion"))] == ["confusion"]
    assert [one.path for one in changes(lambda results: results.update(more=1))] == ["more"]
    assert [
        one.path for one in changes(lambda results: results["confusion"]["a"].append([1, 1]))
    ] == ["confusion.a[2]"]


def test_another_order_is_one_difference():
    (change,) = changes(lambda results: results["estimates"].reverse())
    assert (change.kind, change.path) == ("order", "estimates")


def test_columns_are_read_as_records():
    """`differences` in RESULTS has the columns queries (q1, q2) and values (0.5, −0.5). Queries
    name the records: in another order they are the same records, and a changed value is named by
    its query.
    """
    turned = {"queries": ["q2", "q1"], "values": [-0.5, 0.5]}
    (change,) = changes(lambda results: results.update(differences=turned))
    assert change.kind == "order"
    (change,) = changes(lambda results: results["differences"]["values"].__setitem__(1, -0.25))
    assert str(change) == "differences[q2].values: -0.5 -> -0.25"


def frame_of_1200_rows():
    """More rows than the 1,000 up to which columns are written as lists in JSON."""
    number = np.arange(1200)
    value = np.where(number % 7, number / 8, np.nan)
    names = [f"q{i:04d}" for i in number]
    return pd.DataFrame({"first": names, "value": value, "n": number, "unit": "row"})


def test_packed_columns_equal_the_same_columns_as_lists(monkeypatch):
    """JSON holds a column of more than 1,000 numbers packed as bytes, and a shorter one as a list;
    a long column of texts has its distinct texts, and packed codes that point to them (`at`). The
    same table of 1,200 rows is written in both forms, the second by a higher limit. Comparison
    finds no difference, and counts the same numbers.
    """
    packed = as_json.columns(frame_of_1200_rows())
    assert compare.is_packed(packed["value"])
    assert compare.is_packed(packed["first"]["at"])
    monkeypatch.setattr(numbers, "LISTED_UP_TO", 10_000)  # in place of 1,000
    listed = as_json.columns(frame_of_1200_rows())
    assert isinstance(listed["value"], list)
    listed["value"] = [None if np.isnan(value) else value for value in listed["value"]]  # null
    # 1,200 of the columns value and n each, and 1,200 codes of the texts of the column first
    assert compare.numbers(packed) == compare.numbers(listed) == 3 * 1200
    assert list(compare.differences(packed, listed)) == []
    assert list(compare.differences(listed, packed)) == []


def test_a_changed_number_in_a_packed_column_is_named_by_its_row():
    frame = frame_of_1200_rows()
    old = as_json.columns(frame)
    frame.loc[9, "value"] += 1e-11 * frame.loc[9, "value"]  # beyond the tolerance of 1e-12
    (change,) = compare.differences(old, as_json.columns(frame))
    assert (change.path, change.kind, change.old) == ("[q0009].value", "number", 9 / 8)


def test_the_summary_has_one_line_for_a_column():
    """In the results of a case, the value of each of the three estimates is changed by 1. The
    summary has a single line for the column estimates[].value: that 3 numbers in 1 case have
    changed, by 1 at most, and the first of them, F1 of system a, which was 0.5.
    """
    both = changes(
        lambda results: [row.update(value=row["value"] + 1) for row in results["estimates"]]
    )
    (line,) = compare.summary({"case": both})
    assert line.startswith(
        "estimates[].value: 3 number in 1 cases, largest 1; case: estimates[a, f1].value: 0.5 ->"
    )


def test_slow_cases_are_cases():
    assert {case.name for case in CASES} >= SLOW_CASES


def test_cases_have_their_own_names_and_no_results_of_local_data_are_committed(frozen):
    assert len({case.name for case in CASES}) == len(CASES)
    assert set(frozen) == {case.name for case in CASES if not case.local}


def test_cases_that_cannot_be_run_are_named_and_stay_as_they_were_frozen(tmp_path, capsys):
    """Freezing runs cases and stores their results. Here the cases "old", of which the results
    RESULTS were stored before, and "new" need a folder that does not exist. They are named, the
    stored results of "old" stay, and the command ends with 0.
    """
    cases = [
        replace(QUICK_CASES[0], name=name, needs=("no/such/folder",)) for name in ("old", "new")
    ]
    freeze.save({"old": RESULTS}, cases, tmp_path)
    assert freeze.write(cases, cases, tmp_path) == 0
    printed = capsys.readouterr().out
    assert "old: not run, needs no/such/folder" in printed
    assert (
        "2 cases could not be run here and are as they were frozen before:\n  old\n  new (never "
        "frozen)" in printed
    )
    assert freeze.load(tmp_path) == {"old": RESULTS}


def test_the_fixture_has_the_same_bytes_each_time(tmp_path):
    """The same results (RESULTS) of a case are frozen, i.e. stored, in two folders. The files have
    the same bytes, so that a commit holds no changes but those of numbers, and loading gives the
    results back.
    """
    case = QUICK_CASES[0]
    for name in ("first", "second"):
        freeze.save({case.name: RESULTS}, QUICK_CASES, tmp_path / name)
    (first,), (second,) = ((tmp_path / name).glob("*") for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    assert freeze.load(tmp_path / "first") == {case.name: RESULTS}
