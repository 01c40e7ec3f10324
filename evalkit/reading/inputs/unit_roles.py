"""Which column of a table of unit values plays which role: what tells the units apart, the systems, values, metric.

What the user says decides first, then the usual names, then the cells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Generic, TypeVar

import numpy as np

from evalkit.arrays import InputError, Ints, codes
from evalkit.reading.inputs import unit_columns
from evalkit.reading.inputs.unit_columns import Column, HeldColumn, Use
from evalkit.reading.tables import bookkeeping
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables.parts import Part, Source

ROW = "row"  # what the unit is called where no column names it
Of = TypeVar("Of", bound=Column)


@dataclass(frozen=True, eq=False)
class Columns(Generic[Of]):
    """Columns of a table, in its order; what has a role is taken `without`, and the others are asked for the next.

    counts: rows of each part.
    """

    parts: Sequence[Part]
    counts: Sequence[int]
    every: tuple[Of, ...]

    @property
    def where(self) -> str:
        """The table as errors name it."""
        return self.parts[0].name

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.every]

    @property
    def rows(self) -> int:
        """The rows of all parts."""
        return sum(self.counts)

    @property
    def numbers(self) -> list[Of]:
        """The columns of numbers."""
        return [column for column in self.every if column.kind == "numbers"]

    @property
    def texts(self) -> list[Of]:
        """The columns of text."""
        return [column for column in self.every if column.kind == "text"]

    def sources(self) -> tuple[Source, ...]:
        """The parts with their rows; raises InputError where a file changed since reading began."""
        return tuple(part.fingerprint(rows) for part, rows in zip(self.parts, self.counts, strict=True))

    def without(self, *taken: Of | None) -> "Columns[Of]":
        """The others."""
        return replace(self, every=tuple(column for column in self.every if column not in taken))

    def named(self, name: str, parameter: str) -> Of:
        """The column of that name; raises ParameterError where there is none."""
        roles_of.require(self.names, name, self.where, parameter)
        return next(column for column in self.every if column.name == name)

    def usual(self, use: Use) -> list[Of]:
        """The columns that can be this by their names, the surest first."""
        return [column for name in use.value for column in self.every if column.key == name]

    def system(self) -> Of | None:
        """The column that names the systems; None where there is none.

        A column `run` of numbers counts repetitions, unless the table also has a column `value` and no other system.
        Raises InputError where two columns could be meant.
        """
        matches = self.usual(Use.SYSTEM)
        named = [column for column in matches if not (column.key == "run" and column.kind == "numbers")]
        matches = named or (matches if any(column.key == "value" for column in self.every) else [])
        exact = [column for column in matches if column.name == "system"] or matches
        if len(exact) > 1:
            both = " and ".join(repr(column.name) for column in exact)
            raise InputError(
                f"{self.where}: columns {both} could both be the system; say which: columns='system={exact[0].name}'"
            )
        return exact[0] if exact else None

    def metric(self) -> Of | None:
        """The column of text that names the metrics; None where there is none."""
        usual = self.usual(Use.METRIC)[:1]
        return usual[0] if usual and usual[0].kind == "text" else None

    def value(self) -> tuple[Of, str]:
        """The column of the values of a long table, and a sentence where nothing but its cells say that it is.

        A usual name decides, then a single column of numbers that is no id, repetition, rank or position. Raises
        InputError, which names the candidates, where none or several remain.
        """
        usual = [column for column in self.usual(Use.VALUE) if column.kind == "numbers"]
        if usual and (len(usual) == 1 or usual[0].name == "value"):
            return usual[0], ""
        candidates = usual or [column for column in self.numbers if not column.no_value]
        if len(candidates) == 1:
            name = candidates[0].name
            text = f"The values are those of {name}, the only numeric column but ids, repetitions, ranks and positions"
            return candidates[0], f"{text}; set columns='value=NAME' to use another."
        table = f"{self.where}: a table with a column of systems must have"
        if not candidates:
            has = ", ".join(map(repr, self.names))
            raise InputError(
                f"{table} a numeric column of values; the other columns are {has}; set columns='value=NAME'"
            )
        names = roles_of.listed([repr(column.name) for column in candidates])
        raise InputError(
            f"{table} one column of values, got the candidates {names}; say which: columns='value={candidates[0].name}'"
        )

    def units_of_cells(self) -> list[Of]:
        """The columns that tell the units of a long table apart: one, or fold and repetition; none where nothing does.

        A usual name decides, then an id, then a single column of text, then a single repetition. Raises InputError,
        which names the candidates, where several columns of text remain.
        """
        if usual := self._usual_unit():
            return usual
        ids = [column for column in self.every if column.identifies]
        texts = [column for column in self.texts if not column.no_value]
        chosen = ids or texts or [column for column in self.every if column.draws]
        if len(chosen) > 1 and not ids:
            names = ", ".join(repr(column.name) for column in chosen)
            raise InputError(
                f"{self.where}: one column must name the unit, got the candidates {names}; "
                f"say which: columns='unit={chosen[0].name}'"
            )
        return chosen[:1]

    def units_of_rows(self) -> list[Of]:
        """The columns that tell the units of a wide table apart; none where each row is a unit.

        A usual name decides, then an id, then text whose cells all differ, or the only text beside repetitions.
        """
        if usual := self._usual_unit():
            return usual
        ids = [column for column in self.every if column.identifies and column.kind != "empty"]
        named = [column for column in ids if not column.key.startswith(("unnamed", "level", "column"))]
        distinct = [column for column in self.texts if column.distinct]
        repeated = self.texts if len(self.texts) == 1 and any(column.draws for column in self.every) else []
        return (named or distinct or repeated)[:1]

    def _usual_unit(self) -> list[Of]:
        """The column with the usual name; with a fold its repetition, for fold 1 of another one is another fold."""
        unit = self.usual(Use.UNIT)[:1]
        repeats = [column for column in self.usual(Use.REPEAT) if column not in unit]
        return [*repeats[:1], *unit] if unit and Use.FOLD in unit[0].uses else unit


def held(parts: Sequence[Part]) -> Columns[HeldColumn]:
    """Every column of all parts; raises InputError where a part has no row or other columns than the first."""
    refuse_unlike(parts)
    names = parts[0].columns
    tables = [part.load({f"text {name}": name for name in names}, {}) for part in parts]
    columns = tuple(HeldColumn(name, parts, tuple(table[f"text {name}"] for table in tables)) for name in names)
    counts = [len(array) for array in columns[0].arrays]
    for part, rows in zip(parts, counts, strict=True):
        if not rows:
            raise part.no_rows()
    return Columns(parts, counts, columns)


def refuse_unlike(parts: Sequence[Part]) -> None:
    """Raises InputError where a part has other columns than the first."""
    names = parts[0].columns
    for part in parts:
        if set(part.columns) != set(names):
            raise InputError(f"{part.name}: must have the columns of {parts[0].name}, {', '.join(names)}")


@dataclass(frozen=True, eq=False)
class Units(Generic[Of]):
    """What tells units apart: the columns of their ids, none where each row is one; the cluster where another names it.

    rows: of the table.
    """

    ids: Sequence[Of]
    cluster: Of | None
    rows: int

    @property
    def name(self) -> str:
        """What a value of the input is about."""
        return self.ids[-1].name if self.ids else self.cluster.name if self.cluster else ROW

    @property
    def varying(self) -> str:
        """What varies: the cluster, where there is one."""
        return self.cluster.name if self.cluster else self.name

    @property
    def printed(self) -> dict[str, str]:
        """The columns as the page lists them."""
        own = {"unit": " and ".join(column.name for column in self.ids)} if self.ids else {}
        return own | ({"cluster" if self.ids else "unit": self.cluster.name} if self.cluster else {})


def coded(units: Units[HeldColumn]) -> tuple[Ints, np.ndarray, np.ndarray]:
    """Each row's unit by number, the units' texts, and what varies, one text a unit; a unit is one in its cluster.

    Rows that are units have numbers padded with zeros, so that their text has their order.
    """
    texts = [column.texts() for column in units.ids] or [
        np.char.zfill(np.arange(1, units.rows + 1).astype(str), len(str(units.rows)))
    ]
    number, names = codes(reduce(lambda a, b: np.char.add(np.char.add(a, " "), b), texts))
    if units.cluster is None:
        return number, names.astype(object), names.astype(object)
    group, groups = codes(units.cluster.texts())
    pair, code = np.unique(group * len(names) + number, return_inverse=True)
    return code.astype(np.int64), names[pair % len(names)].astype(object), groups[pair // len(names)].astype(object)


@dataclass(frozen=True, eq=False)
class Long(Generic[Of]):
    """The columns of a long table by role. guess: a sentence where the cells alone say what the value is.

    rest: columns without a role.
    """

    units: Units[Of]
    system: Of
    metric: Of | None
    value: Of
    guess: str
    rest: Columns[Of]

    @classmethod
    def of(cls, columns: Columns[Of], chosen: Mapping[str, str], unit: str | None) -> "Long[Of]":
        """The roles; raises InputError where a column for one is lacking or several could be meant."""
        named = {role: columns.named(name, f"columns: {role}") for role, name in chosen.items()}
        system = named.get("system") or columns.system()
        if system is None:
            raise roles_of.unresolved(["system"], columns.names, columns.where)
        cluster = columns.named(unit, "unit") if unit else None
        metric = named.get("metric") or columns.metric()
        free = columns.without(system, cluster, metric, *named.values())
        if "value" not in named and system.distinct:
            unit_columns.refuse_counts(free.numbers, system.name, columns.where)
        value, guess = (named["value"], "") if "value" in named else free.value()
        free = free.without(value)
        ids = [named["unit"]] if "unit" in named else free.units_of_cells()
        if cluster and all(column.draws and Use.UNIT not in ids[0].uses for column in ids):
            ids, cluster = [cluster], None
        if not ids:
            raise roles_of.unresolved(["unit"], columns.names, columns.where)
        unit_columns.refuse_totals(ids)
        units = Units(ids, None if cluster in ids else cluster, columns.rows)
        return cls(units, system, metric, value, guess, free.without(*ids))

    @property
    def printed(self) -> dict[str, str]:
        """The columns as the page lists them."""
        own = self.units.printed | {"system": self.system.name, "value": self.value.name}
        return own | ({"metric": self.metric.name} if self.metric else {})


@dataclass(frozen=True, eq=False)
class Wide(Generic[Of]):
    """The columns of a wide table: what tells its units apart, one column of values a system, and the rest."""

    units: Units[Of]
    systems: Sequence[Of]
    rest: Columns[Of]

    @classmethod
    def of(
        cls, columns: Columns[Of], chosen: Mapping[str, str], unit: str | None, systems: Sequence[str]
    ) -> "Wide[Of]":
        """The roles; every column of numbers that can be one is a system, or those that `systems` names."""
        named = [columns.named(name, "systems or unit") for name in dict.fromkeys(systems)]
        cluster = columns.named(unit, "systems or unit") if unit else None
        free = columns.without(cluster, *named)
        if not named:
            unit_columns.refuse_pairs(columns.texts, columns.where)
        ids = [columns.named(chosen["unit"], "columns: unit")] if "unit" in chosen else free.units_of_rows()
        if cluster and not ids and any(column.draws for column in free.every):
            ids = [cluster]
        free = free.without(*ids)
        values = [c for c in free.numbers if not c.no_value and Use.TRUTH not in c.uses]
        measured = named or [c for c in values if not bookkeeping.aside(c.name)]
        if not measured:
            has = ", ".join(columns.names)
            raise InputError(
                f"{columns.where}: no column holds numbers, one for each system; it has {has}; if some of these are "
                "systems, name them: systems='a,b'"
            )
        unit_columns.refuse_totals(ids)
        if not named:
            for label in [column.name for column in columns.texts if column.distinct][:1]:
                unit_columns.refuse_counts(free.numbers, label, columns.where)
            unit_columns.refuse_bookkeeping(measured, columns.where)
        units = Units(ids, None if cluster in ids else cluster, columns.rows)
        return cls(units, measured, free.without(*measured))
