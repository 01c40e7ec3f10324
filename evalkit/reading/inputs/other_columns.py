"""The columns of an input that a report does not need, of the few rows that a reader opens."""

from collections import defaultdict
from collections.abc import Sequence

from evalkit.reading.inputs.aligned import Aligned
from evalkit.reading.tables.dialects import DUCKDB
from evalkit.reading.tables.parts import Part

MOST = 8  # columns


def of_rows(rows: Aligned, wanted: Sequence[int]) -> list[dict[str, str]]:
    """The first columns that were not read, name to text, of some rows of the first system; empty cells are left out.

    Raises InputError where the file can no longer be read.
    """
    by_part = defaultdict[Part, list[int]](list)
    places = [rows.locate(row) for row in wanted]
    for part, number in places:
        by_part[part].append(number)
    cells = {part: _cells(part, rows.others[:MOST], numbers) for part, numbers in by_part.items()}
    return [cells[part].get(number, {}) for part, number in places]


def _cells(part: Part, others: Sequence[str], numbers: Sequence[int]) -> dict[int, dict[str, str]]:
    """The cells of rows of a part, by the number of the row."""
    there = [name for name in others if name in part.columns]
    if not there:
        return {}
    chosen = part.select({f"other {name}": name for name in there}, {})
    roles = ", ".join(DUCKDB.quote(f"other {name}") for name in there)
    found = chosen.where(f"n IN ({', '.join(map(str, numbers))})", roles, len(numbers))
    return {
        row["n"]: {name: str(row[f"other {name}"]) for name in there if row[f"other {name}"] is not None}
        for row in found
    }
