"""Out-of-fold predictions from Spark: collected up to the limit, with the numbers of a frame, and refused beyond it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading
from evalkit.parameters import Validation
from evalkit.studies import validation

ROWS = 2_000
FEW = Limits(reading=Reading(rows=100, collected=100))  # of other reports; validation has its own limit


def scored():
    """Two systems on the same rows, long; each group lies in one fold."""
    rng = np.random.default_rng(1)
    label, group = (rng.random(ROWS) < 0.3).astype(int), rng.integers(0, ROWS // 10, ROWS)
    shared = {"id": [f"row {i}" for i in range(ROWS)], "label": label, "fold": group % 5}
    shared["group"] = [f"g{one}" for one in group]
    said = {name: np.round(label + rng.normal(0, far, ROWS), 2) for name, far in (("near", 0.7), ("far", 1.3))}
    return pd.concat([pd.DataFrame(shared | {"system": name, "score": score}) for name, score in said.items()])


def alone(table):
    """One system without ids."""
    return table[table["system"] == "near"].drop(columns=["id", "system"])


SHAPES = {
    "groups": lambda t: t,
    "a number": lambda t: t.assign(label=t["label"] * 7 + t["fold"] / 10),
    "holdout": lambda t: t.assign(fold=t["fold"].map({0: "test", 1: "valid"}).fillna("train")),
    "alone": alone,
    "repeated": lambda t: pd.concat([t[t["system"] == "near"].assign(repeat=i) for i in range(3)]),
    "lacking": lambda t: t[(t["system"] == "near") | (t["id"] != "row 17")],
}


def read(session, table, limits=FEW):
    """The study of a table in three partitions."""
    frame = session.createDataFrame(pa.Table.from_pandas(table, preserve_index=False)).repartition(3)
    return validation.study_of(Validation.of({"preds": frame}), limits)


@pytest.mark.parametrize("shape", SHAPES)
def test_numbers_are_those_of_the_frame(session, shape):
    table = SHAPES[shape](scored())
    cluster, memory = read(session, table), validation.read(table)
    for frame in ("estimates", "by_fold", "paired", "intervals"):
        pd.testing.assert_frame_equal(getattr(cluster, frame), getattr(memory, frame), rtol=1e-9, atol=1e-12)
    assert {(one.message, one.count) for one in cluster.findings} == {(o.message, o.count) for o in memory.findings}


def test_more_rows_than_are_held_are_refused_before_they_are_collected(session):
    with pytest.raises(InputError, match=f"Spark data frame: {2 * ROWS:,} rows are more than the 3,999 that"):
        read(session, scored(), Limits(reading=replace(FEW.reading, held=2 * ROWS - 1)))


def test_bad_input_is_refused_as_in_memory(session):
    table = scored().reset_index(drop=True)
    changed = table.assign(label=np.where(table.index == 3, 1 - table["label"], table["label"]))
    with pytest.raises(InputError, match="label must have one value for id 'row 3', got"):
        read(session, changed)
