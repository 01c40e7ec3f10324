"""Inputs of the significance report: a wide table, a long one, counts of successes, or an earlier
report's JSON.

Wide: one row per unit and one column of numbers per system. Long: columns unit, system, value and
perhaps metric. Several rows of the same unit and system are draws: their mean is the value, and the
unit counts once. A missing value is undefined (NaN), never 0. One number per unit, system and
metric is kept, whatever the size of the table.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, ParameterError, codes
from evalkit.catalogue import lookup
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.findings import kinds
from evalkit.limits import Reading
from evalkit.metrics.draws import MID_P, Draws
from evalkit.metrics.kept import Block
from evalkit.metrics.rows import Rows, Sums
from evalkit.reading.inputs import aligned, lists, unit_columns, unit_roles
from evalkit.reading.inputs.unit_columns import Cells, Column
from evalkit.reading.inputs.unit_roles import CLUSTER, ID, METRIC, ROW, SYSTEM, Columns, Roles
from evalkit.reading.reductions import blocks
from evalkit.reading.tables import columns as roles_of, logs, rules, table as tables
from evalkit.reading.tables.columns import refused
from evalkit.reading.tables.parts import Part, Source, at
from evalkit.system import unpacked

NAMED = 8  # columns or measures that a note names
COUNTED = ("successes", "trials")
MOST = 2**53 - 1  # the largest whole number that a double holds apart from the next one
VALUE = "value"  # what the numbers of a wide table are called where nobody says


@dataclass(frozen=True, eq=False)
class UnitValues:
    """One value per unit for each (metric, system).

    id: the name of each unit, as text of numpy or Arrow; None if units are numbered. name: the noun
    for what varies in the input, "row" if it names none. cluster: the number of each unit's
    cluster, and the clusters' names in order; None if each has one unit, which then has the
    cluster's name. texts: further columns that may name clusters. findings: what was decided or
    left out. alone: rows whose id another system lacks. label: of each row, if the values are
    scores of rows. accounts: how each system's ranked rows were used. known: (metric, system) ->
    value, low, high, level, n of an earlier report, which has only differences, and directions:
    which of a metric's values are better in it, "high", "low" or "neither". draws: for each value
    of a table the draws that it is the mean of. source: the metric of these that others are
    computed from. tasks: the name of each unit's task, if there are several. by_task: True if tasks
    are the clusters. stated: the numbers of a log for a (system, task, metric). repeated: the
    (metric, system) whose values are of repeated draws of 0 or 1. logged: True if they are from
    evaluation logs, whose systems may share no question.
    """

    id: Any
    name: str
    metrics: tuple[str, ...]
    systems: tuple[str, ...]
    values: Mapping[tuple[str, str], Sums]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    cluster: tuple[Ints, Any] | None = None
    texts: Mapping[str, np.ndarray] = field(default_factory=dict)
    known: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    directions: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[kinds.Finding, ...] = ()
    alone: int = 0
    label: Ints | None = None
    accounts: Mapping[str, lists.Account] = field(default_factory=dict)
    draws: Mapping[tuple[str, str], Draws] = field(default_factory=dict)
    source: str = ""
    tasks: np.ndarray | None = None
    by_task: bool = False
    stated: Mapping[tuple[str, str, str], logs.Stated] = field(default_factory=dict)
    repeated: Collection[tuple[str, str]] = ()
    logged: bool = False

    @classmethod
    def of_table(cls, table: Any, keys: Iterable[tuple[str, str]], **about: Any) -> "UnitValues":
        """The values of an Arrow table from `Shaped`, for these metrics and systems."""
        id, of = (
            tables.whole(table[name]) if name in table.column_names else None
            for name in (ID, CLUSTER)
        )
        id, cluster = (id, None) if of is None else clustered(id, of)
        draws = {key: _draws(table, i) for i, key in enumerate(keys)}
        metrics, systems = (tuple(dict.fromkeys(names)) for names in zip(*draws, strict=True))
        values = {key: Sums(of.mean) for key, of in draws.items()}
        about |= {"draws": draws, "repeated": {key for key, of in draws.items() if of.repeated}}
        return cls(id=id, cluster=cluster, metrics=metrics, systems=systems, values=values, **about)

    def losses(self, metrics: Sequence[Metric]) -> "UnitValues":
        """The losses of rows, from their labels and scores."""
        assert self.label is not None
        rows = {name: Rows(self.label, side.numerator) for (_, name), side in self.values.items()}
        values = {
            (metric.name, name): Chosen(metric).sums(own)
            for metric in metrics
            for name, own in rows.items()
        }
        return replace(
            self, metrics=tuple(metric.name for metric in metrics), values=values, label=None
        )

    def of_draws(self, metrics: Sequence[Chosen]) -> "UnitValues":
        """The values of metrics, some of which are computed from the draws.

        Raises ParameterError if the input has several metrics, or no unit has enough draws.
        """
        drawn = [chosen for chosen in metrics if chosen.metric.structure == "draws"]
        if len(self.metrics) > 1:
            named = f"metrics='{self.metrics[0]},{drawn[0].label}'"
            got = f"the input has {', '.join(self.metrics)}"
            raise ParameterError(
                f"metrics: {drawn[0].label} needs one metric of 0 and 1, {got}; name it too: "
                f"{named}"
            )
        most = int(max(of.count.max(initial=0) for of in self.draws.values()))
        for chosen in drawn:
            if chosen.k > most:
                draws = f"{chosen.k} draws per {self.name}, the input has at most {most}"
                raise ParameterError(f"metrics: {chosen.label} needs {draws}")
        values = {
            (chosen.label, system): chosen.sums(of)
            for chosen in drawn
            for (_, system), of in self.draws.items()
        }
        labels = tuple(chosen.label for chosen in metrics)
        repeated = {
            (label, system) for label in labels for _, system in self.repeated
        }  # of one metric
        values = {**self.values, **values}
        return replace(
            self, metrics=labels, values=values, source=self.metrics[0], repeated=repeated
        )

    def noise(self, chosen: Chosen, system: str) -> Floats:
        """The variance of each value of a metric over its draws; NaN if unknown."""
        if (own := self.draws.get((chosen.label, system))) is not None:
            return own.noise
        source = self.draws.get((self.source, system))
        return (
            source.noise_of(lambda of: chosen.sums(of).numerator)
            if source
            else np.full(len(self), np.nan)
        )

    def freedom(self, system: str) -> float:
        """The degrees of freedom of the variance of a system's draws."""
        return float(
            max(
                np.maximum(of.count - 1, 0).sum()
                for (_, name), of in self.draws.items()
                if name == system
            )
        )

    def __len__(self) -> int:
        return len(next(iter(self.values.values())).numerator)

    @cached_property
    def ids(self) -> Any:
        """The name of each unit. Numbers are padded with zeros, so that their text has their
        order.
        """
        return numbered(np.arange(1, len(self) + 1), len(self)) if self.id is None else self.id

    @cached_property
    def of(self) -> np.ndarray | None:
        """The name of each unit's cluster."""
        return (
            None if self.cluster is None else np.asarray(self.cluster[1], object)[self.cluster[0]]
        )


def _draws(table: Any, i: int) -> Draws:
    """The draws of a value of each unit; a unit of a block that has none has one, if any."""
    mean = table[f"v{i}"].to_numpy()
    # of tables without draws, which may be large, a byte
    count: Any = (~np.isnan(mean)).astype(np.int8)
    if f"c{i}" not in table.column_names:
        return Draws(count, mean, np.broadcast_to(np.nan, len(mean)))
    stated = table[f"c{i}"].to_numpy()
    return Draws(np.where(np.isnan(stated), count, stated), mean, table[f"d{i}"].to_numpy())


def numbered(rows: Ints, most: int) -> Any:
    """The numbers of rows as texts of equal length."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.utf8_lpad(pa.array(rows).cast(pa.string()), len(str(most)), "0")


def clustered(id: Any, of: Any) -> tuple[Any, tuple[Ints, Any] | None]:
    """The ids, and the clusters with these names; if each has one unit, the unit has the cluster's
    name.
    """
    code, names = tables.ordered(of)
    return (of, None) if len(names) == len(code) else (id, (code, names))


@dataclass(frozen=True, eq=False)
class Trials:
    """Successes and trials of each system; the systems are independent samples."""

    systems: tuple[str, ...]
    successes: Ints
    trials: Ints
    columns: Mapping[str, str]
    sources: tuple[Source, ...]


# Rows to units ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shaped:
    """Units of some blocks as Arrow tables of id, cluster, values v0, v1, … and texts t0, t1, ….

    If units have several draws, also their numbers c0, c1, … and variances d0, d1, …. rows: the
    smallest and the largest number of rows of a unit (or of a unit, system and metric that has
    any), all, and their empty values.
    """

    tables: tuple[Any, ...]
    rows: tuple[int, int, int, int]

    def __add__(self, other: "Shaped") -> "Shaped":
        (least, most, every, empty), (low, high, more, void) = self.rows, other.rows
        return Shaped(
            self.tables + other.tables,
            (min(least, low), max(most, high), every + more, empty + void),
        )

    def whole(self, order: Sequence[str], most: int) -> Any:
        """All units, in the order of these columns if there are at most `most`, otherwise in any
        order.

        Units of a cluster without names of their own are numbered.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        table = pa.concat_tables(self.tables, promote_options="default")
        if CLUSTER in table.column_names and ID not in table.column_names:
            table = table.append_column(ID, numbered(np.arange(1, len(table) + 1), len(table)))
        keys = [(name, "ascending") for name in order if name in table.column_names]
        return (
            table.take(pc.sort_indices(table, sort_keys=keys))
            if keys and len(table) <= most
            else table
        )


@dataclass(frozen=True)
class Shape:
    """How the rows of a block, which has all rows of each of its units, become values; picklable.

    values: the number of values in a row, v0, v1, …; texts: of further texts, t0, t1, …. names: for
    each column that names a row's value, all its texts. kept: the index of each value of a unit
    among these. drawn: True if a unit may have several rows.
    """

    values: int
    texts: int = 0
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    kept: Sequence[tuple[int, ...]] = ((),)
    drawn: bool = True

    @property
    def width(self) -> int:
        """The number of values per unit."""
        return self.values * len(self.kept)

    def __call__(self, block: Any, before: int = 0) -> Shaped:
        """The units in the order of their first rows; in clusters by cluster."""
        import pyarrow as pa

        keys = {name: block[name] for name in (ID, CLUSTER) if name in block.column_names}
        texts = {f"t{i}": block[f"t{i}"].fill_null(aligned.NONE) for i in range(self.texts)}
        if not self.drawn:
            columns = {f"v{i}": block[f"v{i}"].to_numpy() + 0.0 for i in range(self.values)}
            return Shaped((pa.table(keys | columns | texts),), (1, 1, len(block), 0))
        number = {name: tables.indexed(column) for name, column in keys.items()}
        unit, names = number[ID]
        pair = np.arange(len(names))
        if CLUSTER in number:
            pair, unit = np.unique(number[CLUSTER][0] * len(names) + unit, return_inverse=True)
            keys[CLUSTER] = number[CLUSTER][1].take(pa.array(pair // max(len(names), 1)))
        keys[ID] = names.take(pa.array(pair % max(len(names), 1)))
        draws, rows = self.draws(block, unit, len(pair))
        some = rows[rows > 0]
        empty = sum(int(np.isnan(block[f"v{i}"].to_numpy()).sum()) for i in range(self.values))
        spread = (
            int(some.min(initial=np.iinfo(np.int64).max)),
            int(rows.max(initial=0)),
            len(block),
            empty,
        )
        columns = {f"v{i}": of.mean for i, of in enumerate(draws)}
        if spread[1] > 1:
            columns |= {f"c{i}": of.count for i, of in enumerate(draws)}
            columns |= {f"d{i}": of.variance for i, of in enumerate(draws)}
        return Shaped((pa.table(keys | columns | _of_units(texts, unit, len(pair))),), spread)

    def draws(self, block: Any, unit: Ints, units: int) -> tuple[Sequence[Draws], Ints]:
        """The draws of each value of each unit, and the number of rows per unit and value."""
        places = [
            tables.places_of(block[name], texts).astype(np.int64)
            for name, texts in self.names.items()
        ]
        shape = (*map(len, self.names.values()), units)
        cell, cells = (
            np.asarray(np.ravel_multi_index((*places, unit), shape), np.int64),
            int(np.prod(shape)),
        )
        every = [drawn_of(cell, block[f"v{i}"].to_numpy(), cells) for i in range(self.values)]
        sides = [[side.reshape(shape) for side in (of.count, of.mean, of.variance)] for of in every]
        kept = [Draws(*(side[place] for side in of)) for place in self.kept for of in sides]
        return kept, np.bincount(cell, minlength=cells).astype(np.int64)


def _of_units(texts: Mapping[str, Any], unit: Ints, units: int) -> dict[str, np.ndarray]:
    """The columns of texts that are the same on all rows of a unit, one text per unit."""
    same = {}
    for name, column in texts.items():
        own, text = column.to_numpy(), np.empty(units, dtype=object)
        text[unit] = own
        if (text[unit] == own).all():
            same[name] = text
    return same


def drawn_of(cell: Ints, values: Floats, cells: int) -> Draws:
    """The draws of each cell: its values that are not NaN. The order of the rows does not matter.

    >>> drawn_of(np.array([0, 2, 0]), np.array([1.0, 5.0, 2.0]), 3)
    Draws(count=array([2., 0., 1.]), mean=array([1.5, nan, 5. ]), variance=array([0.5, nan, nan]))
    """
    keep = np.flatnonzero(~np.isnan(values))
    order = keep[np.lexsort([values[keep], cell[keep]])]
    cell, values = cell[order], values[order]
    count = np.bincount(cell, minlength=cells).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(count > 0, np.bincount(cell, values, cells) / count, np.nan)
        squares = np.bincount(cell, (values - mean[cell]) ** 2, cells)
        return Draws(count, mean, np.where(count > 1, squares / (count - 1), np.nan))


# Tables -------------------------------------------------------------------------------------------


def read_table(
    roles: Roles,
    systems: Sequence[str],
    metrics: Sequence[str],
    reading: Reading,
    rule: rules.Rules = rules.VALUES,
) -> UnitValues:
    """The values of a wide table, one row per unit, or of a long one, one row per unit, system and
    perhaps metric.

    Rows with the same unit, system and metric are draws, whose mean is the value. Raises InputError
    if a cell of values is text or infinite, or if rows may belong to different units;
    ParameterError if a requested system or metric does not exist.
    """
    cells, long = roles.rest.cells, roles.system is not None
    logged = isinstance(cells.parts[0], logs.Log)
    cells.check(roles.cell, roles.values, rule)
    there = {
        name: cells.names(roles.texts[name][0]) for name in (METRIC, SYSTEM) if name in roles.texts
    }
    alone = None if long else cells.distinct(roles.keys) if roles.ids else cells.rows
    if not roles.stated:
        unit_roles.refuse_other_units(roles, int(np.prod([*map(len, there.values())])), alone)
    if roles.system and not systems:
        roles_of.refuse_names(there[SYSTEM], f"{roles.rest.where}: {roles.system.name}", "systems")
    own = [column.name for column in roles.values]
    asked = {
        METRIC: wanted(there.get(METRIC, own if long else metrics or [VALUE]), metrics, "metrics"),
        SYSTEM: wanted(there.get(SYSTEM, own), systems, "systems"),
    }
    kept = product(*([texts.index(name) for name in asked[role]] for role, texts in there.items()))
    task = [column for column in roles.rest.every if column.key in unit_columns.TASKS][:1]
    possible = [column for column in roles.rest.every if column.kind == "text" or column.identifies]
    clusters = task if long and not logged else possible
    # logs are held whatever their size
    looked_at = clusters if cells.engine.at_hand or logged else task
    shape = Shape(len(own), len(looked_at), there, tuple(kept), drawn=alone != cells.rows)
    shaped = _shaped(roles, looked_at, shape, reading.kept)
    if not (roles.stated or long):
        unit_roles.refuse_files(cells.parts, shaped.rows[1], roles.rest.every, roles.name)
    table = shaped.whole((CLUSTER, ID), reading.listed)
    texts = {
        c.name: table[f"t{i}"].to_numpy()
        for i, c in enumerate(looked_at)
        if f"t{i}" in table.column_names
    }
    unseen = (
        []
        if long or cells.engine.at_hand
        else [column for column in clusters if column not in task]
    )
    findings = _findings(roles, shaped.rows, unseen)
    about: dict[str, Any] = {
        "columns": roles.printed,
        "sources": roles.rest.sources(),
        "texts": texts,
    }
    about["tasks"] = next(
        (texts[c.name] for c in task if c.name in texts and len({*texts[c.name]}) > 1), None
    )
    keys = product(asked[METRIC], asked[SYSTEM])
    values = UnitValues.of_table(table, keys, name=roles.varying, findings=findings, **about)
    if roles.cluster and roles.cluster.key in unit_columns.TASKS and values.cluster is not None:
        values = replace(values, tasks=values.of, by_task=True)
    if roles.ids:
        unit_roles.refuse_summaries(
            tables.whole(table[ID]), [side.numerator for side in values.values.values()], roles
        )
    return values


def _shaped(roles: Roles, others: Sequence[Column], shape: Shape, most: int) -> Shaped:
    """The units of a table; raises InputError if there are more values than are kept. others:
    further texts.
    """
    cells = roles.rest.cells
    if cells.rows * shape.width > most:
        n = cells.distinct(roles.keys) if shape.drawn else cells.rows
        if n * shape.width > most:
            raise refused(roles.rest.where, "too_many", units=n, each=shape.width, most=most)
    texts = roles.texts | {f"t{i}": [column] for i, column in enumerate(others)}
    numbers = {f"v{i}": column for i, column in enumerate(roles.values)}
    shaped: Shaped = cells.engine.total(
        cells.query(texts, numbers, ID if shape.drawn else None), shape
    )
    return shaped


def _findings(
    roles: Roles, rows: tuple[int, int, int, int], unseen: Sequence[Column]
) -> tuple[kinds.Finding, ...]:
    """What was decided or left out. rows: as of `Shaped`. unseen: columns that may name clusters,
    not looked at.
    """
    least, most, total, without = rows
    findings = []
    if most > 1:
        number = f"{most:,}" if least == most and not without else f"up to {most:,}"
        left = f" Empty values among them: {without:,}; they are left out." if without else ""
        each = f"{roles.name} and system" if roles.system or len(roles.values) == 1 else roles.name
        rated = (
            kinds.DRAWS.note
            if any(column.draws for column in roles.rest.every)
            else kinds.DRAWS.warning
        )
        findings.append(rated(total, total=total, number=number, each=each, left=left))
    if roles.guess:
        findings.append(kinds.GUESSED_VALUES.warning(guess=roles.guess))
    numbers = [column for column in roles.rest.numbers if not (roles.system and column.draws)]
    empty = (
        [] if roles.system else [column for column in roles.rest.every if column.kind == "empty"]
    )
    for what, columns in (
        ("Numeric columns that were not compared", numbers),
        ("Columns without any value", empty),
        ("Columns that may name clusters, not looked at in so long a table", unseen),
    ):
        findings += unused(what, [column.name for column in columns])
    return tuple(findings)


# Rows of labels and probabilities -----------------------------------------------------------------


LABEL = rules.Role("label", rules.FLAGS)


def read_scores(
    cells: Cells, named: Mapping[str, str], unit: str | None, reading: Reading
) -> UnitValues:
    """The labels and probabilities of systems whose rows are joined on the id."""
    import pyarrow as pa
    import pyarrow.compute as pc

    layouts = [_layout(part, named, unit) for part in cells.parts]
    tables.same_columns(cells.parts, [layout.fields for layout in layouts])
    t = blocks.laid(cells.engine, blocks.pieces_of(cells.engine, cells.parts, layouts), unit=unit)
    n, width, ids = t.rows // len(t.systems), len(t.systems) + 1, t.schema.id is not None
    if n * width > reading.kept:
        raise refused(t.name, "too_many", units=n, each=width, most=reading.kept)
    table = t.total(Said(ids)).whole([ID], reading.listed)
    t.check(len(table), None if ids else 0)
    lacking = pc.equal(table[CLUSTER], aligned.NONE) if unit else pa.array([False])
    if unit and (rows := pc.sum(lacking).as_py()):
        raise t.no_unit(unit, rows, pc.min(table[ID].filter(lacking)).as_py() if ids else None)
    if not ids:
        numbers = pa.array(np.arange(1, len(table) + 1)).cast(pa.string())
        table = pa.table(dict(zip(table.column_names, table.columns, strict=True)) | {ID: numbers})
    about: dict[str, Any] = {
        "columns": {**t.columns} | ({"unit": unit} if unit else {}),
        "sources": t.sources(),
    }
    about |= {"alone": t.rows - len(table) * len(t.systems), "label": table["label"].to_numpy()}
    return UnitValues.of_table(
        table, [("score", system) for system in t.systems], name=unit or ROW, **about
    )


def _layout(part: Part, named: Mapping[str, str], unit: str | None) -> aligned.Layout:
    """The columns of a part; the unit may be the id."""
    names, beside = ("system", "id", "label", "score"), {unit: aligned.ATTRIBUTE} if unit else {}
    columns = roles_of.match(part.columns, names, named, part.name, named=beside).resolved(
        names[2:]
    )
    return aligned.Layout(
        {f"attribute {name}": rules.Field(name, rules.ANY) for name in beside}
        | aligned.shared_of([LABEL], columns),
        {None: {"score": rules.Field(columns["score"], rules.PROBABILITIES)}},
        id=columns.get("id"),
        system=columns.get("system"),
    )


@dataclass(frozen=True)
class Said:
    """The label and the scores, v0, v1, …, of the rows of a block that every system has."""

    ids: bool

    def __call__(self, block: Block) -> Shaped:
        """A row each, with its id and its unit where these are named."""
        import pyarrow as pa

        names = {ID: block.texts if self.ids else None, CLUSTER: block.units}
        columns = {name: texts for name, texts in names.items() if texts is not None}
        columns |= {"label": block.truth.astype(np.int64)} | {
            f"v{i}": score for i, score in enumerate(block.said)
        }
        return Shaped((pa.table(columns),), (1, 1, len(block), 0))


# What other programs and earlier reports say ------------------------------------------------------


LISTS = ("num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
NAMES = ("runid", "relstring")  # measures whose value is text
ALL = "all"


def read_output(
    parts: Sequence[Part], systems: Sequence[str], metrics: Sequence[str]
) -> UnitValues:
    """One value per query of each run, one file per run; the row `all` is left out and counted.

    Without `metrics` it is average precision (map), or the first measure of the first file. Raises
    InputError if two files have the same run or a value occurs twice.
    """
    runs, left = dict[str, Mapping[tuple[str, str], float]](), 0
    for part in parts:
        name, of_run, summaries = _lines(part)
        if name in runs:
            raise InputError(
                f"{part.name}: two files hold the run {name!r}; give each run its own runid or "
                f"file name"
            )
        runs[name], left = of_run, left + summaries
    measures = list(dict.fromkeys(measure for of_run in runs.values() for measure, _ in of_run))
    usual = [measure for measure in measures if measure not in LISTS]
    chosen = (
        wanted(measures, metrics, "metrics")
        if metrics
        else tuple(sorted(usual, key=lambda m: m != "map")[:1])
    )
    names = wanted(runs, systems, "systems")
    queries = sorted({query for of_run in runs.values() for _, query in of_run})
    each = {
        (m, name): np.array([runs[name].get((m, q), np.nan) for q in queries])
        for m in chosen
        for name in names
    }
    others = [measure for measure in usual if measure not in chosen]
    lines = f"{left:,} summary {'line' if left == 1 else 'lines'}"
    return UnitValues(
        id=np.array(queries, dtype=object),
        name="query",
        metrics=chosen,
        systems=names,
        values={key: Sums(values) for key, values in each.items()},
        columns={"systems": "one file each"},
        directions=dict.fromkeys(chosen, "high"),
        sources=tuple(
            part.fingerprint(len(of_run)) for part, of_run in zip(parts, runs.values(), strict=True)
        ),
        findings=(
            kinds.SUMMARY_LINES.note(left, lines=lines),
            *unused("Measures that were not compared", others),
        ),
    )


def _lines(part: Part) -> tuple[str, dict[tuple[str, str], float], int]:
    """The run's name, its value of each measure and query, and how many lines of `all` were left
    out.

    Raises InputError with the line if one has not three fields, its value is no number, or comes
    again.
    """
    with unpacked(part.path) as stream:
        text = stream.read().decode("utf-8", errors="replace")
    name, left = part.path.name.removesuffix(".gz").rsplit(".", 1)[0], 0
    values = dict[tuple[str, str], float]()
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.split(None, 2)
        if not fields:
            continue
        if len(fields) != 3:
            raise InputError(
                f"{part.name}: line {number} must be 'measure query value', got "
                f"{line.strip()[:80]!r}"
            )
        measure, query, value = fields
        if measure == "runid":
            name = value.strip()
        elif query == ALL:
            left += 1
        elif (measure, query) in values:
            raise InputError(
                f"run {name!r}: {measure} of query {query!r} must come once, got it again"
            )
        elif measure not in NAMES:
            try:
                values[measure, query] = float(value)
            except ValueError:
                got = f"got {value.strip()!r} (line {number})"
                raise InputError(f"{part.name}: the value must be a number, {got}") from None
    if not values:
        raise refused(part.name, "only_summary")
    return name, values, left


def read_trials(cells: Cells, chosen: Mapping[str, str]) -> Trials:
    """Columns successes and trials; the first column of text names the system of each row.

    Raises InputError for counts that are not whole, for more successes than trials, and for no
    trial at all.
    """
    columns = {role: chosen.get(role, role) for role in COUNTED}
    text = [column.name for column in Columns.of(cells).every if not column.clean]
    label = chosen.get("system") or next(
        (name for name in text if name not in columns.values()), None
    )
    fields = {role: rules.Field(name, rules.MEASURED) for role, name in columns.items()}
    fields |= {"system": rules.Field(label)} if label else {}
    rows = tables.Table([tables.block(part, fields) for part in cells.parts])
    successes, trials = (rows.numbers(role) for role in COUNTED)
    _refuse_uncountable(rows, successes, trials)
    systems = _trial_names(rows, label)
    printed = columns | ({"system": label} if label else {})
    return Trials(
        systems, successes.astype(np.int64), trials.astype(np.int64), printed, rows.sources
    )


def _refuse_uncountable(rows: tables.Table, successes: Floats, trials: Floats) -> None:
    """Raise InputError for counts that are not whole, more successes than trials, no trial, or too
    many to count.
    """
    whole = (successes == np.rint(successes)) & (trials == np.rint(trials))
    wrong = np.flatnonzero(
        ~(whole & (successes >= 0) & (successes <= trials) & (trials >= 1) & (trials <= MOST))
    )
    if wrong.size:
        part, row = rows.locate(int(wrong[0]))
        raise refused(
            part.name,
            "uncountable",
            successes=successes[wrong[0]],
            trials=trials[wrong[0]],
            row=row,
        )


def _trial_names(rows: tables.Table, label: str | None) -> tuple[str, ...]:
    """The system of each row; raises InputError if a column names one twice."""
    if label is None:
        return (
            tuple(f"row {i}" for i in range(1, len(rows) + 1)) if len(rows) > 1 else ("the sample",)
        )
    systems = rows.texts("system")
    if (again := aligned.repeated(codes(systems)[0], np.arange(len(systems)))) is not None:
        part, row = rows.locate(again)
        raise InputError(
            f"{part.name}: {label} must name each row once, got {systems[again]!r} again{at(row)}"
        )
    return tuple(map(str, systems))


def read_report(parts: Sequence[Part]) -> UnitValues:
    """The differences of the headline pair, unit by unit, from a report that evalkit wrote."""
    part = parts[0]
    if len(parts) > 1:
        raise InputError(f"{part.name}: one report at a time, got {len(parts)} files")
    report = json.loads(part.path.read_text(encoding="utf-8"))
    differences = report.get("differences") or {}
    values = differences.get("values") or []
    ids: list[Any] = next((column for name, column in differences.items() if name != "values"), [])
    if not values or len(ids) != len(values) or not report.get("headline"):
        raise InputError(
            f"{part.name}: a report of {report['report']!r} without differences of each unit"
        )
    row = report["headline"][0]
    pair, metric = (row["first"], row["second"]), report["primary"]
    estimates = {
        (estimate["metric"], estimate["system"]): estimate for estimate in report["estimates"]
    }
    sides = (np.array(values, float), np.zeros(len(values)))
    known = {(metric, name): estimates[metric, name] for name in pair}
    if len(values) > (several := min(int(estimate["n"]) for estimate in known.values())):
        raise refused(part.name, "differences", units=several, name=row["unit"], values=len(values))
    return UnitValues(
        id=np.array(ids, dtype=object),
        name=row["unit"],
        metrics=(metric,),
        systems=pair,
        values={(metric, name): Sums(side) for name, side in zip(pair, sides, strict=True)},
        columns={"differences": f"{pair[0]} − {pair[1]}"},
        sources=(part.fingerprint(len(values)),),
        known=known,
        repeated=known if MID_P in row.get("method", "") else (),
        directions={
            row["name"]: lookup.recorded(row, row["name"], report["parameters"])
            for row in report.get("metrics", [])
        },
    )


# What readers of values share ---------------------------------------------------------------------


def wanted(names: Iterable[object], asked: Sequence[str], parameter: str) -> tuple[str, ...]:
    """The requested names, or all. Raises ParameterError for one that does not exist."""
    there = list(map(str, names))
    return tuple(
        roles_of.require(there, name, "the input", parameter) for name in dict.fromkeys(asked)
    ) or tuple(there)


def unused(what: str, names: Sequence[str]) -> tuple[kinds.Finding, ...]:
    """A finding on columns or measures that are not used, if there are any."""
    some = roles_of.listed(names, NAMED)
    return (
        (kinds.UNUSED_COLUMNS.warning(len(names), "read", what=what, names=some),) if names else ()
    )
