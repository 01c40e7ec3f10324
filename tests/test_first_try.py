"""Tables with the names that people and tools give their columns: each is the right page at the
first try and by the command that `evalkit inspect` prints first, and none is a wrong one.
"""

import json
import shlex

import pandas as pd
import pytest
from command_runs import evalkit
from examples import attacked, first_try

import evalkit as ek

EXAMPLES = {
    example.name: example for group in first_try.MAKERS for example in first_try.made(group)
} | {example.name: example for example in attacked.attacked()}
REFUSED = {name: pd.DataFrame(columns) for name, columns in attacked.refused().items()}
REPORTS = ["ab", "classification", "ranking", "rating", "significance", "validation"]
# by the command on every change: two of each report
BY_DAY = [
    "churn",
    "prob_of_classes",
    "user_item_clicked",
    "quepid",
    "prophet",
    "statsforecast_intervals",
    "datasets_wide",
    "promptfoo",
    "ab_group",
    "folds",
]
REFERENCES = {"majority", "median"}  # systems that a report adds itself


def mismatch(estimates, example):
    """How the estimates, by metric and system, differ from those that the example must show; "" if
    they do not.
    """
    wanted = {system for _, system in example.values}
    systems = {system for _, system in estimates} - (REFERENCES - wanted)
    if len(systems) != len(wanted):
        return f"the systems are {sorted(systems)}"
    for (metric, system), value in example.values.items():
        values = [
            number
            for (name, name_of_system), number in estimates.items()
            if name == metric
            and system.lower() in name_of_system.lower()
            and name_of_system in systems
        ]
        if not any(abs(number - value) < 1e-6 for number in values if number is not None):
            return f"{metric} of {system or 'the system'} is {values}, not {value}"
    return ""


def study_of(example):
    study = getattr(ek, example.report)(**{example.parameter: example.frame})
    return study.users if example.report == "interleaving" else study


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_frame_with_usual_column_names_is_read_without_parameters(name):
    """An example is a frame with the names that people or a tool give its columns, the report that
    it is for, and the values that this must show.
    """
    example = EXAMPLES[name]
    estimates = study_of(example).estimates.set_index(["metric", "system"])["value"]
    assert mismatch(estimates.to_dict(), example) == ""


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("name", REFUSED)
def test_what_no_report_reads_is_refused_by_each(name, report):
    with pytest.raises(ek.InputError):
        getattr(ek, report)(REFUSED[name])


def stored_estimates(folder):
    """The estimates in the only file of results in a folder, by metric and system."""
    (file,) = folder.glob("*.json")
    results = json.loads(file.read_text())
    results = results if "estimates" in results else results["users"]
    return {(row["metric"], row["system"]): row["value"] for row in results["estimates"]}


def slow_unless_by_day(names):
    return [
        pytest.param(name, marks=[] if name in BY_DAY else [pytest.mark.slow]) for name in names
    ]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", slow_unless_by_day(EXAMPLES))
def test_a_file_is_read_by_its_report_and_by_the_command_that_inspect_prints_first(name, tmp_path):
    """An example is a frame with the column names of some tool, the report that it is for, and
    values that this must show. Its file is read by this report, and by the command that `evalkit
    inspect` prints first, in lines such as "evalkit report rating -p preds x.csv  # why". Both must
    make a report with the values.
    """
    example = EXAMPLES[name]
    path = tmp_path / f"{name}.csv"
    example.frame.to_csv(path, index=False)
    commands = [["report", example.report, "-p", "preds", str(path)]]
    first_printed, _, _ = evalkit("inspect", path, folder=None).out.partition("  # ")
    _, *printed = shlex.split(first_printed)
    if printed not in commands:
        commands.append(printed)
    for place, command in enumerate(commands):
        folder = tmp_path / str(place)
        ended = evalkit(*command, folder=folder)
        assert ended.status == 0, ended.err
        assert mismatch(stored_estimates(folder), example) == ""
