"""What functions return and refuse, and which inputs reports refuse, as data: the files of the folder `examples`."""

import inspect
import pkgutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from online_samples import log, users
from samples import examples, forecasts, rng, scores
from significance_tables import long, wide
from test_sentences import study_of
from validation_tables import FAST, estimators, noise

from evalkit.arrays import InputError
from evalkit.studies import validation


def call(of: str, args=(), given=None):
    """The result of a function named below evalkit, or in numpy."""
    function = pkgutil.resolve_name(of if of.startswith("numpy.") else f"evalkit.{of}")
    arguments = [call(**value) if isinstance(value, dict) and "of" in value else value for value in args]
    drawn = {} if of.startswith("numpy.") or "rng" not in inspect.signature(function).parameters else {"rng": rng()}
    return function(*arguments, **drawn | (given or {}))


WORKED = [
    (of, *case, table.get("within", 1e-12)) for of, table in examples("worked").items() for case in table["cases"]
]


@pytest.mark.parametrize("of, args, more, within", [(of, a, more, w) for of, a, *more, w in WORKED])
def test_worked_examples(of, args, more, within):
    *given, expected = more
    result = call(of, args, *given)
    for name, value in (expected if isinstance(expected, dict) else {"": expected}).items():
        found = result
        for attribute in filter(None, name.split(".")):
            found = getattr(found, attribute)
        assert found == (value if isinstance(value, str) else pytest.approx(value, abs=within, rel=1e-9, nan_ok=True))


REFUSED = [(of, *case) for of, cases in examples("refusals")["arguments"].items() for case in cases]


@pytest.mark.parametrize("of, args, more", [(of, args, more) for of, args, *more in REFUSED])
def test_arguments_that_cannot_be_meant_are_refused_by_one_line(of, args, more):
    *given, message = more
    with pytest.raises(InputError, match=message) as error:
        call(of, args, *given)
    assert "\n" not in str(error.value)


DATA = Path(__file__).resolve().parents[1] / "data"
TABLES = {
    "significance": wide,
    "users": users,
    "interleaving": log,
    "classification": scores,
    "rating": forecasts,
    "ranking": lambda: pd.DataFrame({"query": "q", "item": ["a", "b"], "score": [2.0, 1.0], "grade": [1, 0]}),
    "validation": lambda: pd.DataFrame({"label": [0, 1] * 30, "score": np.arange(60) / 59, "fold": np.arange(60) % 3}),
    "fitted": lambda: noise(60),
    "wide": wide,
    "long": lambda: long(wide(), "m"),
    "chances": lambda: pd.DataFrame({"id": ["x", "y"], "y_true": [1, 0], "y_score": [0.7, 0.2]}),
    "penguins": lambda: pd.read_csv(DATA / "penguins" / "predictions.csv"),
    "digit_traits": lambda: pd.read_csv(DATA / "digit_traits" / "predictions.csv"),
}
INPUTS = [(report, case) for report, cases in examples("refused_inputs").items() for case in cases]


def read(report: str, table: pd.DataFrame, asked: dict):
    if report != "fitted":
        return study_of(report, table, asked)
    estimators()
    return validation.read(features=table, **{"k": 5} | FAST | asked)


@pytest.mark.parametrize("report, case", INPUTS, ids=[f"{report}: {case['says']}" for report, case in INPUTS])
def test_inputs_that_cannot_be_meant_are_refused_by_one_line(report, case):
    named = case.get("table", report)
    table = pd.DataFrame(named) if isinstance(named, dict) else TABLES[named]()
    change = {name: call(**one) if isinstance(one, dict) else one for name, one in case.get("change", {}).items()}
    change = {name: np.resize(values, len(table)) for name, values in change.items()}
    table = table.drop(columns=case.get("without", [])).assign(**change)
    with pytest.raises(InputError, match=case["says"]) as error:
        _ = read(report, table, case.get("asked", {})).comparisons
    assert "\n" not in str(error.value)
