"""The distinct texts of columns: all of a column that has few, some of one that has many, and always the empty one."""

import numpy as np
import pyarrow as pa

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


def test_texts_of_a_column():
    with opened(backends.budget(10**9, 1)) as engine:
        query = Query("SELECT * FROM rows", "rows", {"rows": columns()})
        few, many = (blocks.distinct(engine, query, name, most) for name, most in (("few", 10), ("many", 40)))
    assert dict(zip(few.values, few.rows, strict=True)) == {"a": 1_666, "b": 1_667, "c": 1_667}
    assert few.values.tolist() == ["a", "b", "c"]
    assert len(many.values) == 41
    assert (few.empty, many.empty) == (0, ROWS // 100)
