"""The role of each column in a table of values per unit: unit id, systems, values, metric.

What the user says decides first, then the usual names, then the cells.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import Floats, InputError
from evalkit.parameters.kinds import written
from evalkit.reading.inputs.unit_columns import TOTALS, USES, Cells, Column, refuse_bookkeeping
from evalkit.reading.tables import columns as roles_of, formats
from evalkit.reading.tables.columns import refused, sentence
from evalkit.reading.tables.parts import Part, Source, at

ROW = "row"  # what the unit is called where no column names it
ID, CLUSTER, SYSTEM, METRIC = "id", "cluster", "system", "metric"  # what a column of text is


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table without a role so far, in their order; `without` removes those that
    get one.
    """

    cells: Cells
    every: tuple[Column, ...]

    @classmethod
    def of(cls, cells: Cells) -> "Columns":
        """All columns. Raises InputError if a part has others than the first."""
        cells.refuse_unlike()
        return cls(cells, tuple(cells.columns))

    @property
    def where(self) -> str:
        """The table as errors name it."""
        return self.cells.parts[0].name

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.every]

    @property
    def numbers(self) -> list[Column]:
        """The columns of numbers."""
        return [column for column in self.every if column.kind == "numbers"]

    @property
    def texts(self) -> list[Column]:
        """The columns of text."""
        return [column for column in self.every if column.kind == "text"]

    def sources(self) -> tuple[Source, ...]:
        """The parts with their rows. Raises InputError if a file has changed since reading
        began.
        """
        return tuple(
            part.fingerprint(rows)
            for part, rows in zip(self.cells.parts, self.cells.counts, strict=True)
        )

    def without(self, *taken: Column | None) -> "Columns":
        """The columns except these."""
        return replace(self, every=tuple(column for column in self.every if column not in taken))

    def named(self, name: str) -> Column:
        """The column of that name."""
        return next(column for column in self.every if column.name == name)

    def usual(self, use: str) -> list[Column]:
        """The columns whose names suggest this use, the clearest first."""
        return [column for name in USES[use] for column in self.every if column.key == name]

    def system(self) -> Column | None:
        """The column that names the systems; None if there is none.

        A numeric column `run` counts repetitions, unless the table also has a column `value` and no
        other system. Raises InputError if several columns are possible.
        """
        matches = self.usual("system")
        named = [
            column for column in matches if not (column.key == "run" and column.kind == "numbers")
        ]
        matches = named or (matches if any(column.key == "value" for column in self.every) else [])
        exact = [column for column in matches if column.name == "system"] or matches
        if len(exact) > 1:
            both = " and ".join(repr(column.name) for column in exact)
            raise refused(
                self.where, "two_systems", columns=both, first=written({"system": exact[0].name})
            )
        return exact[0] if exact else None

    def metric(self) -> Column | None:
        """The text column that names the metrics; None if there is none."""
        usual = self.usual("metric")[:1]
        return usual[0] if usual and usual[0].kind == "text" else None

    def value(self) -> tuple[Column, str]:
        """The column of the values of a long table, and a sentence if only its cells suggest it.

        A usual name decides, then a single numeric column that is no id, repetition, rank or
        position. Raises InputError with the candidates if none or several remain.
        """
        usual = [column for column in self.usual("value") if column.kind == "numbers"]
        if usual and (len(usual) == 1 or usual[0].name == "value"):
            return usual[0], ""
        candidates = usual or [column for column in self.numbers if not column.no_value]
        if len(candidates) == 1:
            name = candidates[0].name
            text = (
                f"The values are those of {name}, the only numeric column but ids, repetitions, "
                f"ranks and positions"
            )
            return candidates[0], f"{text}; set columns='value=NAME' to use another."
        if not candidates:
            raise refused(self.where, "no_value", columns=", ".join(map(repr, self.names)))
        names = roles_of.listed([repr(column.name) for column in candidates])
        raise refused(
            self.where, "values", columns=names, first=written({"value": candidates[0].name})
        )

    def units_of_cells(self) -> list[Column]:
        """The columns that identify the units of a long table: one, or fold and repetition; empty
        if there is none.

        A usual name decides, then an id, then a single text column, then a single repetition.
        Raises InputError with the candidates if several text columns remain.
        """
        if usual := self._usual_unit():
            return usual
        ids = [column for column in self.every if column.identifies]
        texts = [column for column in self.texts if not column.no_value]
        chosen = ids or texts or [column for column in self.every if column.draws]
        if len(chosen) > 1 and not ids:
            names = ", ".join(repr(column.name) for column in chosen)
            raise refused(
                self.where, "units", columns=names, first=written({"unit": chosen[0].name})
            )
        return chosen[:1]

    def units_within(self, cluster: Column, beside: Sequence[Column]) -> list[Column]:
        """The column that identifies the units of each cluster of a long table, by its cells; empty
        if there is none, if a name says which column identifies units, or if clusters are units.

        Within a cluster each of its values comes once for every combination of `beside` (system,
        metric) and draw, or at least for more than half of them.
        """
        if self._usual_unit() or any(column.identifies for column in self.every):
            return []
        cells, draws = self.cells, [column for column in self.every if column.draws]
        repeated = [*beside, *draws]
        if cells.distinct([cluster, *repeated]) == cells.rows:
            return []
        each, units = cells.distinct(repeated), dict[Column, int]()
        for column in self.every:
            if column.draws or column.kind == "empty" or "value" in column.uses:
                continue
            alone = cells.distinct([cluster, column, *repeated]) == cells.rows
            if alone and (number := cells.distinct([cluster, column])) * each < 2 * cells.rows:
                units[column] = number
        return sorted(units, key=units.__getitem__)[:1]

    def units_of_rows(self) -> list[Column]:
        """The columns that identify the units of a wide table; empty if each row is a unit.

        A usual name decides, then an id, then a text column with distinct cells, or the only text
        beside repetitions, then the number of a split.
        """
        if usual := self._usual_unit():
            return usual
        ids = [column for column in self.every if column.identifies and column.kind != "empty"]
        named = [
            column for column in ids if not column.key.startswith(("unnamed", "level", "column"))
        ]
        distinct = [column for column in self.texts if column.distinct]
        repeated = (
            self.texts
            if len(self.texts) == 1 and any(column.draws for column in self.every)
            else []
        )
        splits = [column for column in self.every if column.splits and column.distinct]
        return (named or distinct or repeated or splits)[:1]

    def _usual_unit(self) -> list[Column]:
        """The column with the usual name; with a fold its repetition, for fold 1 of another one is
        another fold.
        """
        unit = self.usual("unit")[:1]
        repeats = [column for column in self.usual("repeat") if column not in unit]
        return [*repeats[:1], *unit] if unit and "fold" in unit[0].uses else unit


@dataclass(frozen=True, eq=False)
class Roles:
    """The columns of a table by role, and the columns without a role.

    ids: the columns that identify units, empty if each row is one. cluster: the column of clusters,
    if units are not independent. values: for a wide table one column per system; for a long one a
    single column, whose rows name their `system` and perhaps `metric`. stated: True if the user
    names the unit. guess: a sentence if only the cells suggest the value column.
    """

    ids: Sequence[Column]
    cluster: Column | None
    values: Sequence[Column]
    rest: Columns
    stated: bool
    system: Column | None = None
    metric: Column | None = None
    guess: str = ""

    @classmethod
    def of_long(cls, columns: Columns, chosen: Mapping[str, str], unit: str | None) -> "Roles":
        """The roles of a long table. Raises InputError if a column for one is missing or several
        are possible.
        """
        named = {role: columns.named(name) for role, name in chosen.items()}
        system = named.get("system") or columns.system()
        if system is None:
            raise roles_of.unresolved(["system"], columns.names, columns.where)
        cluster = columns.named(unit) if unit else None
        metric = named.get("metric") or columns.metric()
        free = columns.without(system, cluster, metric, *named.values())
        if "value" not in named and system.distinct:
            refuse_counts(free.numbers, system.name, columns.where)
            if columns.cells.rows > 2:
                raise refused(columns.where, "leaderboard", column=system.name)
        within = []
        if cluster and "unit" not in named:
            within = free.units_within(cluster, [system, *([metric] if metric else [])])
        value, guess = named.get("value"), ""
        if value is None:
            value, guess = free.without(*within).value()
        free = free.without(value)
        ids = [named["unit"]] if "unit" in named else within or free.units_of_cells()
        if cluster and all(column.draws and "unit" not in ids[0].uses for column in ids):
            ids, cluster = [cluster], None
        if not ids:
            raise roles_of.unresolved(["unit"], columns.names, columns.where)
        refuse_totals(ids)
        cluster = None if cluster in ids else cluster
        return cls(
            ids, cluster, [value], free.without(*ids), "unit" in chosen, system, metric, guess
        )

    @classmethod
    def of_wide(
        cls, columns: Columns, chosen: Mapping[str, str], unit: str | None, systems: Sequence[str]
    ) -> "Roles":
        """The roles of a wide table: each numeric column that may be a system is one, or those that
        `systems` names.
        """
        named = [columns.named(name) for name in dict.fromkeys(systems)]
        cluster = columns.named(unit) if unit else None
        free = columns.without(cluster, *named)
        if not named:
            refuse_pairs(columns.texts, columns.where)
        ids = [columns.named(chosen["unit"])] if "unit" in chosen else free.units_of_rows()
        if cluster and not ids:
            drawn = any(column.draws for column in free.every)
            counters = (c for c in free.numbers if free.cells.numbers_rows(c, cluster))
            ids = [cluster] if drawn else [*counters][:1]
        free = free.without(*ids)
        values = [c for c in free.numbers if not c.no_value and "truth" not in c.uses]
        measured = named or [c for c in values if not c.aside]
        if not measured:
            raise refused(columns.where, "no_system", columns=", ".join(columns.names))
        refuse_totals(ids)
        rest = free.without(*measured)
        if not named:
            for label in [column.name for column in columns.texts if column.distinct][:1]:
                refuse_counts(free.numbers, label, columns.where)
            for column in ids if "unit" not in chosen else []:
                refuse_other_rows(column, measured, columns.where)
            refuse_bookkeeping(measured, free.numbers, columns.where)
        cluster = None if cluster in ids else cluster
        return cls(ids, cluster, measured, rest, "unit" in chosen)

    @property
    def texts(self) -> dict[str, Sequence[Column]]:
        """The text columns by meaning: those that identify the unit, the system and the metric of a
        value.
        """
        one = {CLUSTER: self.cluster, SYSTEM: self.system, METRIC: self.metric}
        return ({ID: self.ids} if self.ids else {}) | {
            role: [column] for role, column in one.items() if column
        }

    @property
    def keys(self) -> list[Column]:
        """The columns that distinguish the rows of different units."""
        return [*self.ids, *([self.cluster] if self.cluster else [])]

    @property
    def cell(self) -> list[Column]:
        """The columns that distinguish the rows of different values."""
        return [column for columns in self.texts.values() for column in columns]

    @property
    def name(self) -> str:
        """The noun for what a value of the input describes."""
        return self.ids[-1].name if self.ids else self.varying

    @property
    def varying(self) -> str:
        """The noun for what varies: the cluster if there is one."""
        return self.cluster.name if self.cluster else self.ids[-1].name if self.ids else ROW

    @property
    def printed(self) -> dict[str, str]:
        """The columns as the page lists them."""
        own = {"unit": " and ".join(column.name for column in self.ids)} if self.ids else {}
        own |= {"cluster" if self.ids else "unit": self.cluster.name} if self.cluster else {}
        if self.system is None:
            return own | {"systems": ", ".join(column.name for column in self.values)}
        own |= {"system": self.system.name, "value": self.values[0].name}
        return own | ({"metric": self.metric.name} if self.metric else {})


# Tables that could be meant in two ways, refused --------------------------------------------------

# who has one value in a table of results
MAKERS = (
    "team",
    "submission",
    "competitor",
    "contestant",
)
SUMMARIES = ("all", "overall", "macro", "summary", "amean")
TOLERANCE = 1e-3  # of a mean that was rounded to a few digits
_SIDE = re.compile(rf"({'|'.join(USES['system'])})_?(a|b|1|2|left|right|first|second)")


def refuse_other_units(roles: Roles, cells: int, alone: int | None = None) -> None:
    """Raise InputError if a unit's rows differ in columns with few texts, and no column counts
    draws.

    Question 3 of one data set is not the same question as question 3 of the next, and not a draw of
    it.

    cells: the number of systems and metrics. alone: the number of rows that differ in the columns
    of unit, system and metric, if it is known.
    """
    of, rest = roles.rest.cells, roles.rest.every
    if any(column.draws for column in rest) or not (
        groups := [column for column in rest if column.groups]
    ):
        return
    alone = of.distinct(roles.cell) if alone is None else alone
    if alone == of.rows:
        return
    few = [column for column in groups if 2 * of.distinct([column]) * cells <= of.rows]
    apart = [column for column in few if of.distinct([*roles.cell, column]) > alone]
    if apart and of.distinct([*roles.cell, *apart]) == of.rows:
        names = [column.name for column in apart]
        both = " and ".join(map(repr, names))
        ways = {"draws": written({"unit": roles.name}), "metric": written({"metric": names[0]})}
        raise refused(
            roles.rest.where, "other_units", unit=roles.name, columns=both, first=names[0], **ways
        )


def refuse_totals(units: Sequence[Column]) -> None:
    """Raise InputError for a row whose unit is named like a statistic of the others: Total,
    Durchschnitt, std, 25%.
    """
    for column in units:
        if total := column.first(roles_of.SUMMARY):
            part, row, cell = total
            raise refused(part.name, "totals", column=column.name, cell=cell, at=at(row))


def refuse_other_rows(column: Column, measured: Sequence[Column], where: str) -> None:
    """Raise InputError if rows are identified by something that is no unit, by its name: a metric,
    or a system.
    """
    if "metric" in column.uses:
        raise refused(where, "metrics", column=column.name)
    if len(measured) == 1 and column.key.startswith(MAKERS):
        raise refused(where, "leaderboard", column=column.name)


def refuse_files(parts: Sequence[Part], most: int, columns: Sequence[Column], unit: str) -> None:
    """Raise InputError if files have the same units, which could be draws or values of systems.
    most: rows per unit.

    columns: those without another role; one of them may count draws.
    """
    files = dict.fromkeys(
        part.name if part.unnamed else formats.table(part.path).name for part in parts
    )
    if 1 < most <= len(files) and not any(column.draws for column in columns):
        draws = written({"unit": unit})
        raise InputError(
            sentence("same_units", files=roles_of.listed(files, 3), unit=unit, draws=draws)
        )


def refuse_counts(columns: Sequence[Column], label: str, where: str) -> None:
    """Raise InputError for columns whose names mean totals per row, such as conversions of
    users.
    """
    names = {column.key: column.name for column in columns}
    sides = [next((names[key] for key in keys if key in names), "") for keys in TOTALS]
    if all(sides):
        successes, trials = sides
        pairs = written({"system": label, "successes": successes, "trials": trials})
        raise refused(where, "counts", label=label, successes=successes, trials=trials, pairs=pairs)


def refuse_summaries(ids: Any, columns: Sequence[Floats], roles: Roles) -> None:
    """Raise InputError for a unit called `all` or `macro` with the means of the others as values.
    ids: Arrow text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.utf8_lower(pc.utf8_trim_whitespace(ids))
    named = pc.is_in(plain, value_set=pa.array(SUMMARIES, plain.type)).to_numpy(
        zero_copy_only=False
    )
    for place in np.flatnonzero(named) if len(ids) > 2 else ():
        others = [np.delete(column, place) for column in columns]
        means = np.array(
            [np.nanmean(some) if (~np.isnan(some)).any() else np.nan for some in others]
        )
        own = np.array([column[place] for column in columns])
        if np.allclose(own, means, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            raise refused(roles.rest.where, "means", unit=roles.name, name=ids[int(place)].as_py())


def refuse_pairs(texts: Sequence[Column], where: str) -> None:
    """Raise InputError for a table whose rows each name two systems that they compare."""
    sides = [column.name for column in texts if _SIDE.fullmatch(column.key)]
    if len(sides) > 1:
        raise refused(where, "pairs", first=sides[0], second=sides[1])
