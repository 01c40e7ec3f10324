"""Probabilities as forecasts of 0 and 1: the rating report names the command that reads them."""

import numpy as np
import pandas as pd
import pytest

from evalkit.__main__ import main
from evalkit.arrays import InputError
from evalkit.limits import USUAL, Limits, Reading
from evalkit.parameters.reports import RatingParameters
from evalkit.studies import rating

BLOCKS = Limits(reading=Reading(rows=50, shard=50, largest=50))


def probabilities(rows: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    forecast = rng.random(rows).round(3)
    return pd.DataFrame({"actual": (rng.random(rows) < forecast) * 1, "forecast": forecast})


def read(frame: pd.DataFrame, limits: Limits = USUAL):
    return rating.study_of(RatingParameters.from_raw({"preds": frame}), limits)


@pytest.mark.parametrize("limits", [USUAL, BLOCKS], ids=["memory", "blocks"])
def test_probabilities_of_0_and_1_are_refused_with_the_way(limits):
    way = r"evalkit.classification\(data, columns='label=actual,score=forecast'\)"
    with pytest.raises(InputError, match=f"must hold numbers to forecast, .*: {way}"):
        read(probabilities(), limits)


def test_the_command_that_is_named_works(tmp_path, capsys):
    table = tmp_path / "p.csv"
    probabilities().to_csv(table, index=False)
    assert main(["report", "rating", "-p", "preds", str(table), "-o", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"evalkit report classification -p preds {table} -p columns '" in said
    columns = said.split("-p columns '")[1].split("'")[0]
    preds = ["-p", "preds", str(table), "-p", "columns", columns]
    assert main(["report", "classification", *preds, "-o", str(tmp_path)]) == 0


def test_columns_of_several_systems_are_called_scores():
    frame = probabilities().rename(columns={"forecast": "forecast_a"})
    with pytest.raises(InputError, match="with columns called 'score_a', 'score_b'"):
        read(frame.assign(forecast_b=frame["forecast_a"] / 2))


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
def test_other_forecasts_are_read(change):
    assert len(read(probabilities().assign(**change)).account) == 120
