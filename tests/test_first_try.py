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


def differences(found, example):
    """How estimates, (metric, system) -> value, differ from what the example must show."""
    wanted = {system for _, system in example.values}
    systems = {system for _, system in found} - (REFERENCES - wanted)
    if len(systems) != len(wanted):
        return f"the systems are {sorted(systems)}"
    for (metric, system), value in example.values.items():
        values = [
            number
            for (name, of), number in found.items()
            if name == metric and system.lower() in of.lower() and of in systems
        ]
        if not any(abs(number - value) < 1e-6 for number in values if number is not None):
            return f"{metric} of {system or 'the system'} is {values}, not {value}"
    return ""


def study_of(example):
    study = getattr(ek, example.report)(**{example.parameter: example.frame})
    return study.users if example.report == "interleaving" else study


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_frame_is_read_as_it_is(name):
    example = EXAMPLES[name]
    estimates = study_of(example).estimates
    found = dict(
        zip(
            zip(estimates["metric"], estimates["system"], strict=True),
            estimates["value"],
            strict=True,
        )
    )
    assert differences(found, example) == ""


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("name", REFUSED)
def test_what_no_report_reads_is_refused_by_each(name, report):
    with pytest.raises(ek.InputError):
        getattr(ek, report)(REFUSED[name])


def stored(folder):
    """The estimates in the only file of results in a folder."""
    (file,) = folder.glob("*.json")
    results = json.loads(file.read_text())
    results = results if "estimates" in results else results["users"]
    return {(row["metric"], row["system"]): row["value"] for row in results["estimates"]}


def by_night(names):
    return [
        pytest.param(name, marks=[] if name in BY_DAY else [pytest.mark.slow]) for name in names
    ]


@pytest.mark.parametrize("name", by_night(EXAMPLES))
def test_a_file_is_read_by_the_report_and_by_what_inspect_prints_first(name, tmp_path):
    example = EXAMPLES[name]
    path = tmp_path / f"{name}.csv"
    example.frame.to_csv(path, index=False)
    direct = ["report", example.report, "-p", "preds", str(path)]
    printed = shlex.split(evalkit("inspect", path, folder=None).out.partition("  # ")[0])[1:]
    for place, command in enumerate([direct] if printed == direct else [direct, printed]):
        ended = evalkit(*command, folder=tmp_path / str(place))
        assert ended.status == 0, ended.err
        assert differences(stored(tmp_path / str(place)), example) == ""
