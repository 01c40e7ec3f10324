"""The table of items in: one row per item of the catalogue, with its category, its features and how popular it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Floats, InputError, Ints
from evalkit.metrics.diversity import Items
from evalkit.reading.inputs.retrieved import Retrieved
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import rules, table
from evalkit.reading.tables.parts import Part, Source
from evalkit.reading.tables.rules import Field, Role
from evalkit.reading.tables.table import Table

ROLES = (
    Role("item", required=True),
    Role("category", (rules.SHORT,)),
    Role("popularity", (rules.FINITE_OR_EMPTY, rules.NOT_NEGATIVE)),
    Role("user_share", (rules.FINITE_OR_EMPTY, rules.PROBABILITY)),
)
OWN = ("category", "popularity", "user_share")  # roles that only this table has
FEATURE = "feature_"
FEATURES = (rules.FINITE_OR_EMPTY, rules.MEASURABLE)


@dataclass(frozen=True, eq=False)
class Stock:
    """The catalogue. item: ids as text. category: a code per item, -1 for none. features: (items, d), NaN where empty.

    popularity: interactions per item; user_share: share of users that had it; NaN where empty. Each is None where no
    column has it.
    """

    item: np.ndarray
    category: Ints | None
    features: Floats | None
    popularity: Floats | None
    user_share: Floats | None
    sources: tuple[Source, ...]

    def __len__(self) -> int:
        return len(self.item)

    def listed(self, retrieved: Retrieved) -> dict[str, Items]:
        """The lists of each system by the rows of this table, -1 for an item that it lacks."""
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = retrieved.texts.cast(pa.large_string())
        place = pc.index_in(texts, value_set=pa.array(self.item, pa.large_string()))
        row = pc.fill_null(place, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        if not (row >= 0).any():
            raise InputError(
                f"{self.sources[0].name}: must share items with the ranked lists, got {self.item[0]!r}, "
                f"the lists have {texts[0].as_py()!r}"
            )
        return {name: Items(row[lists.item], lists.offset, len(self)) for name, lists in retrieved.lists.items()}


def others(columns: Mapping[str, str]) -> dict[str, str]:
    """The columns by role that are not of this table alone.

    >>> others({"query": "topic", "category": "genre"})
    {'query': 'topic'}
    """
    return {role: name for role, name in columns.items() if role not in OWN}


def plan(part: Part, columns: Mapping[str, str]) -> dict[str, Field]:
    """The columns of a part by role; a feature's role is its name. Raises InputError where it has no item."""
    names = [role.name for role in ROLES]
    chosen = {role: columns[role] for role in OWN if role in columns}
    if columns.get("item") in part.columns:
        chosen["item"] = columns["item"]
    features = [name for name in part.columns if name.startswith(FEATURE)]
    roles = roles_of.match(part.columns, names, chosen, part.name, features).resolved(["item"])
    fields = {role.name: Field(roles[role.name], role.rules) for role in ROLES if role.name in roles}
    return fields | {name: Field(name, FEATURES) for name in features}


def read(parts: Sequence[Part], columns: Mapping[str, str]) -> Stock:
    """The items of a table; raises InputError with file, column, row and value for what cannot be meant."""
    fields = [plan(part, columns) for part in parts]
    table.same_columns(parts, fields)
    rows = table.read(parts, fields)
    item = rows.texts("item")
    _once(item, rows)
    features = [rows.numbers(role) for role in fields[0] if role.startswith(FEATURE)]
    numbers = {role: rows.numbers(role) if role in fields[0] else None for role in ("popularity", "user_share")}
    category = _codes(rows.texts("category")) if "category" in fields[0] else None
    return Stock(item, category, np.column_stack(features) if features else None, **numbers, sources=rows.sources)


def _once(item: np.ndarray, rows: Table) -> None:
    """Raise InputError for the first item that a row names again."""
    _, first = np.unique(item.astype(str), return_index=True)
    if len(first) < len(item):
        row = int(np.setdiff1d(np.arange(len(item)), first)[0])
        raise InputError(f"{rows.place(row)}: item must appear once, got {item[row]!r} again")


def _codes(names: np.ndarray) -> Ints:
    """A number for each text, -1 for an empty one."""
    numbers: dict[Any, int] = {None: -1}
    return np.array([numbers.setdefault(name, len(numbers) - 1) for name in names], np.int64)
