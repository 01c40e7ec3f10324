"""Bad inputs as Spark tables too large to collect: table, column and value are named; there is no
row to name.
"""

import re

import pyarrow as pa
import pytest
from bad_inputs.cases import CASES, Case, fits
from bad_inputs.readers import READERS, Reader
from frozen.needs import SMALL_SPARK, read_within
from test_bad_inputs import LONGEST, framed, refusal, typed

# what is tried of each reader: a case costs seconds, and the rest is the same by way of other
# columns
ROLES = {
    "ranked lists": ("id", "group id", "grade", "unit", "segment", "shared", "two needed"),
    "ranks": ("rank",),
    "users": ("id", "number", "name"),
    "sessions": ("group id", "position", "name", "segment"),
    "folds": ("fold", "time", "shared"),
    "binary": ("number", "probability", "binary", "weight", "unit", "needed", "twin"),
    "labels": ("number", "mark", "shared"),
}
TYPED = [
    case
    for case in CASES
    if case.change and "parquet" in case.formats and not case.name.startswith("number: 1")
]
# The first case of each role of a reader: what else is wrong with a cell is found by the same
# query.
FIRST = {
    (c.role, r.name): (c, r)
    for c in TYPED[::-1]
    for r in READERS
    if fits(c, r) and c.role in ROLES.get(r.name, ())
}
TRIED = [FIRST[key] for key in sorted(FIRST)]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Every table is too large to be collected."""
    read_within(SMALL_SPARK, monkeypatch)


def tables(session, case: Case, reader: Reader) -> list[str]:
    """The good first and the bad second table, as views."""
    both = {
        "first_table": reader.first,
        "second_table": case.change(reader.second, *reader.columns(case.role)),
    }
    for name, table in both.items():
        rows = pa.Table.from_pandas(framed(typed(table)), preserve_index=False)
        session.createDataFrame(rows).createOrReplaceTempView(name)
    return [f"spark:{name}" for name in both]


@pytest.mark.parametrize(
    "case, reader", TRIED, ids=[f"{case.name} | {reader.name}" for case, reader in TRIED]
)
def test_a_bad_spark_table_is_refused_in_one_line_with_what_is_wrong(session, case, reader):
    """A case spoils the second of two tables, by a wrong value in a column of some role: the reader
    says which column of its tables has that role. The reader's report must refuse the tables. Its
    message has one line of limited length, with the patterns that the case lists (`says`), the name
    of the bad table, or of either if the case lets two tables contradict each other, and the name
    of the column if the case has one.
    """
    patterns = [*case.says]
    patterns.append("(first|second)_table" if case.either else "second_table")
    if case.names_column:
        patterns += [rf"\b{column}\b" for column in reader.columns(case.role)]
    message = refusal(reader, tables(session, case, reader))
    # if the tables are read, or the error is not one of evalkit's, `refusal` returns "NOT REFUSED"
    # or "NO REFUSAL BUT" with the error
    assert not message.startswith("NO"), message
    missing = [pattern for pattern in patterns if not re.search(pattern, message)]
    assert missing == [], message
    assert "\n" not in message
    assert len(message) <= LONGEST, message
