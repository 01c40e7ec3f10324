"""The distinct texts of columns: all of a column that has few, some of one that has many, and always the empty one."""

import numpy as np
import pyarrow as pa
import pytest

from evalkit.limits import Reading
from evalkit.reading.engines import backends
from evalkit.reading.engines.backends import opened
from evalkit.reading.engines.base import Query
from evalkit.reading.inputs.aligned import NONE
from evalkit.reading.reductions import blocks

ROWS = 5_000


def columns():
    """A column of three texts, and one of a text a row but for every hundredth, which is empty."""
    number = np.arange(ROWS)
    many = np.where(number % 100 == 99, NONE, np.char.add("user ", number.astype(str)))
    return pa.table({"few": np.array(["b", "c", "a"])[number % 3], "many": many})


@pytest.mark.parametrize("shard", [300, ROWS])
def test_columns_are_told_by_one_query(monkeypatch, shard):
    with opened(backends.budget(10**9, 1, reading=Reading(shard=shard, largest=shard))) as engine:
        asked, inner = [], engine.stream
        monkeypatch.setattr(type(engine), "stream", lambda _, query: asked.append(query) or inner(query))
        table = columns()
        found = blocks.distinct(engine, Query("SELECT * FROM rows", "rows", {"rows": table}), {"few": 10, "many": 40})
    assert len(asked) == 1
    assert dict(zip(found["few"].values, found["few"].rows, strict=True)) == {"a": 1_666, "b": 1_667, "c": 1_667}
    assert found["few"].values.tolist() == ["a", "b", "c"]
    assert 41 <= len(found["many"].values) <= 42
    assert (found["few"].empty, found["many"].empty) == (0, ROWS // 100)


def test_no_column_needs_no_query():
    assert blocks.distinct(None, Query("", ""), {}) == {}
