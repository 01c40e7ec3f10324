"""Names of systems, classes, groups and columns that no page can repeat are refused, with the row."""

import numpy as np
import pandas as pd
import pytest

from evalkit.arrays import InputError
from evalkit.studies import classification, ranking, validation

LONG = "n" * 3000
N = 60


def rows(**columns):
    rng = np.random.default_rng(1)
    usual = {"id": np.arange(N) // 2, "label": np.arange(N) // 2 % 2, "score": rng.uniform(size=N)}
    usual |= {"actual": np.arange(N) // 2 * 1.0, "forecast": rng.uniform(size=N), "value": rng.normal(size=N)}
    usual |= {"query": np.arange(N) // 12, "item": np.arange(N) % 6, "grade": np.arange(N) % 2}
    return pd.DataFrame(usual | columns)


def last(name="a"):
    """A column of two names, the last of which is too long."""
    return [*([name, "b"] * N)[: N - 1], LONG]


def of(*names, **more):
    return rows(**more)[[*names, *more]]


@pytest.mark.parametrize(  # names of systems, arms and units are refused by `bad_inputs`
    "data, more",
    [
        (of("label", "score", place=last()), {"segments": "place"}),
        (of(label=last(), predicted=last()), {}),
    ],
)
def test_a_name_that_no_page_can_repeat_is_refused_with_its_row(data, more):
    message = r"must have at most 1,000 bytes, got 3,000, beginning with 'nnn.*\(row 60\)"
    with pytest.raises(InputError, match=message) as error:
        classification.read(preds=data, **more)
    assert len(str(error.value)) < 300


def test_a_column_with_a_long_name_is_refused(tmp_path):
    data = of("id", "label").assign(**{f"score_{'n' * 2000}": 0.5})
    with pytest.raises(InputError, match="a column's name must have at most 1,000 bytes, got 2,006"):
        classification.read(preds=data)


def test_long_texts_that_are_features_or_ids_are_read():
    text = np.where(np.arange(N) % 3, "m" * 2000, "o" * 2000)
    assert validation.read(features=of("label", "score", remark=text), k=5, seconds=0.1).systems
    queries = np.char.add("q" * 1500, (np.arange(N) // 6).astype(str))
    assert ranking.read(preds=of("item", "score", "grade", query=queries)).order
