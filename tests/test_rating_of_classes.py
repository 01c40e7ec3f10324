"""Probabilities as forecasts of 0 and 1: the rating report names the command that reads them."""

import re

import numpy as np
import pandas as pd
import pytest

from evalkit.__main__ import main
from evalkit.arrays import InputError
from evalkit.limits import USUAL_LIMITS, Limits, ReadingLimits
from evalkit.parameters.reports import RatingParameters
from evalkit.studies import rating

IN_BLOCKS = Limits(reading=ReadingLimits(rows=50, shard=50, largest=50))  # of 50 rows


def probabilities_of_events(rows: int = 120) -> pd.DataFrame:
    """Forecasts that are probabilities, and actual values of 0 and 1."""
    rng = np.random.default_rng(3)
    forecast = rng.random(rows).round(3)
    return pd.DataFrame({"actual": (rng.random(rows) < forecast) * 1, "forecast": forecast})


def read_as_rating(frame: pd.DataFrame, limits: Limits = USUAL_LIMITS):
    return rating.study_of(RatingParameters.from_raw({"preds": frame}), limits)


@pytest.mark.parametrize("limits", [USUAL_LIMITS, IN_BLOCKS], ids=["memory", "blocks"])
def test_probabilities_of_0_and_1_are_refused_with_the_call_that_reads_them(limits):
    """The actual values are 0 and 1, and the forecasts lie between: they are probabilities, which
    the classification report reads. So the rating report refuses them, in memory and in blocks.
    """
    call = r"evalkit.classification\(data, columns='label=actual,score=forecast'\)"
    with pytest.raises(InputError, match=f"must hold numbers to forecast, .*: {call}"):
        read_as_rating(probabilities_of_events(), limits)


@pytest.mark.usefixtures("undrawn")
def test_the_command_that_the_refusal_names_works(tmp_path, capsys):
    """The rating report refuses probabilities with exit status 2, and names the command with which
    the classification report reads them.
    """
    path = str(tmp_path / "p.csv")
    probabilities_of_events().to_csv(path, index=False)
    assert main(["report", "rating", "-p", "preds", path, "-o", str(tmp_path)]) == 2
    refusal = capsys.readouterr().err
    named_command = f"evalkit report classification -p preds {re.escape(path)} -p columns '([^']*)'"
    columns = re.search(named_command, refusal)[1]
    parameters = ["-p", "preds", path, "-p", "columns", columns]
    assert main(["report", "classification", *parameters, "-o", str(tmp_path)]) == 0


def test_columns_of_several_systems_are_called_scores():
    """The forecasts of two systems are probabilities of 0 and 1. The refusal names the columns that
    the classification report reads.
    """
    frame = probabilities_of_events().rename(columns={"forecast": "forecast_a"})
    with pytest.raises(InputError, match="with columns called 'score_a', 'score_b'"):
        read_as_rating(frame.assign(forecast_b=frame["forecast_a"] / 2))


@pytest.mark.parametrize(
    "change",
    [
        {"actual": lambda d: d["actual"] * 2},
        {"actual": 0},
        {"forecast": lambda d: d["forecast"] * 3},
        {"forecast": lambda d: (d["forecast"] > 0.5) * 1.0},
    ],
    ids=["numbers", "no event", "counts", "decisions"],
)
def test_forecasts_that_are_not_probabilities_of_0_and_1_are_read(change):
    """120 probabilities of 0 and 1 would be refused. A change of the actual values or of the
    forecasts makes numbers of them that are no such probabilities; then all rows are read.
    """
    assert len(read_as_rating(probabilities_of_events().assign(**change)).account) == 120
