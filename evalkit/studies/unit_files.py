"""Files of units read again: any metric of a report on some of its units, the same in two reports,
a study of one.

What varies is the unit: the cluster where the report names one, else the row, query or user. Means
and ratios have their terms in the file; all other metrics are computed from the rows that it holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats, InputError, Ints, ParameterError, ratio
from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import ClassCoverage, Kind, Loss, PerUnit, Proportion, Ratio
from evalkit.catalogue.metric import MetricAtK
from evalkit.catalogue.score_kinds import Order
from evalkit.metrics.rows import Rows, Sums
from evalkit.names import control_of
from evalkit.numbers import estimate as printed, limits_from_json, unpacked
from evalkit.parameters import reports
from evalkit.parameters.kinds import SHARES, TEXTS
from evalkit.parameters.policy import obstacle
from evalkit.reading.tables.table import Slice
from evalkit.statistics import inference, intervals, methods, significance
from evalkit.statistics.alternatives import Alternative
from evalkit.statistics.spread import Spread, by_unit
from evalkit.statistics.statistic import (
    KnownValue,
    Layout,
    RepeatedUnitStatistic,
    RowStatistic,
    SuccessShare,
    UnitStatistic,
)
from evalkit.studies import diagnostics, groups, study, units
from evalkit.studies.randomisation import sample_ratio


@dataclass(frozen=True, eq=False)
class UnitFile:
    """The contents of a file of units. about: its metadata.

    words: the distinct values of each text column; code: the number of each row's value among them,
    -1 without one. unit, row: the numbers of each row's unit and id among those of all files that
    were read together.
    """

    path: Path
    table: pa.Table
    about: Mapping[str, Any]
    words: Mapping[str, list[str]]
    code: Mapping[str, Ints]
    unit: Ints
    row: Ints

    @cached_property
    def number(self) -> dict[str, Floats]:
        """The numeric columns, NaN if empty."""
        floating = [field.name for field in self.table.schema if pa.types.is_floating(field.type)]
        return {name: self.table[name].to_numpy() for name in floating}

    @cached_property
    def clustered(self) -> Bools:
        """A mask: the rows that have a cluster."""
        return pc.is_valid(self.table["cluster"]).to_numpy()

    @cached_property
    def metrics(self) -> dict[str, Mapping[str, Any]]:
        """The metadata of each metric, by label; of two tables the first that has it counts."""
        every: dict[str, Mapping[str, Any]] = {}
        for of in self.about["metrics"]:
            every.setdefault(of["metric"], of)
        return every

    @property
    def segments(self) -> dict[str, str]:
        """The segment columns, and their names in the file."""
        prefix = units.segment("")
        return {name.removeprefix(prefix): name for name in self.words if name.startswith(prefix)}

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of the report."""
        parameters: Mapping[str, Any] = self.about.get("parameters", {})
        return parameters

    def chosen(self, label: str) -> MetricAtK:
        """The metric of this label."""
        return chosen(self.metrics[label], self.parameters)

    def in_table_of(self, label: str) -> Bools:
        """A mask: the rows of the table that a metric is of."""
        return self.has("table", self.metrics[label]["table"] or None)

    def has_names(self, label: str) -> bool:
        """True if the units of a metric have names, by which they pair with those of another
        report.
        """
        named = self.about.get("named", {}).get(self.metrics[label]["table"], True)
        return bool(named or self.clustered.any())

    def systems_of(self, label: str) -> list[str]:
        """The systems of the table that a metric is of."""
        there = {*self.code["system"][self.in_table_of(label)].tolist()}
        return [name for number, name in enumerate(self.words["system"]) if number in there]

    def broken_design(self, label: str) -> str:
        """Why no result of the table of a metric counts; "" if results count."""
        metric = self.metrics[label]
        if metric["structure"] != "users":
            return ""
        sides = filter(None, [self.side(label, name) for name in self.systems_of(label)])
        sizes = {side.system: side.size for side in sides}
        shares = SHARES.read("shares", self.parameters.get("shares"))
        stated = self.about.get("broken_design", {}).get(metric["table"], "")
        return sample_ratio(sizes, shares).obstacle or stated

    def side(self, label: str, system: str) -> Side | None:
        """A metric of a system; None if the file does not have it."""
        own = self.in_table_of(label) & self.has("system", system)
        if (terms := np.flatnonzero(own & self.has("metric", label))).size:
            sums = _simple(self.number["numerator"][terms], self.number["denominator"][terms])
            return Side(self, system, terms, sums, self.chosen(label))
        return self.of_rows(label, system)

    def of_rows(self, label: str, system: str) -> Side | None:
        """A metric computed from the rows, which the file has if a metric needs them; None if it
        has none, or not what the metric is computed from.
        """
        metric = self.chosen(label)
        own = self.in_table_of(label) & self.has("system", system)
        rows = np.flatnonzero(own & self.has("metric", None) & ~np.isnan(self.number["actual"]))
        if not rows.size or metric.metric.structure not in lookup.TABLES:
            return None
        if metric.uses_decisions and np.isnan(self.number["predicted"][rows]).all():
            return None
        at, observed = self._observed(rows, self.metrics[label]["structure"])
        order = np.argsort(self.row[at], kind="stable")
        return Side(self, system, at[order], observed.take(order), metric)

    def has(self, column: str, word: str | None) -> Bools:
        """A mask: the rows with this value in a column; None: the rows that are empty there."""
        words = self.words[column]
        return self.code[column] == (
            words.index(word) if word in words else -1 if word is None else -2
        )

    def lists(self, system: str) -> dict[int, list[str]]:
        """The first items of each row's list, for a system; empty if the file has none."""
        if "items" not in self.table.column_names:
            return {}
        rows = np.flatnonzero(
            self.has("system", system) & pc.is_valid(self.table["items"]).to_numpy()
        )
        items = self.table["items"].take(pa.array(rows)).to_pylist()
        return {int(row): text.split("\n") for row, text in zip(self.row[rows], items, strict=True)}

    def _observed(self, rows: Ints, structure: str) -> tuple[Ints, Rows]:
        """The rows of a system as the catalogue takes them, and where in the file each begins."""
        label = self.code["class"][rows]
        known = {name: side[rows] for name, side in self.number.items()}
        given: dict[str, Any] = {
            name: side for name, side in known.items() if not np.isnan(side).all()
        }
        actual, score, said, weight = map(given.get, ("actual", "score", "predicted", "weight"))
        classes = len(np.unique(label)) if structure == "labels" else len(self.words["class"])
        pick: Callable[[Any], Any] = np.asarray
        if label[0] < 0:
            first = np.arange(rows.size)
            if structure != "forecasts":
                pick = partial(np.asarray, dtype=np.int64)
        elif score is None:  # the classes that are actual or predicted
            first = np.flatnonzero(actual == 1)
            actual = label[first]
            said = label[said == 1]
        else:
            first = np.arange(0, rows.size, classes)
            actual, score, said = (
                None if side is None else side.reshape(-1, classes)
                for side in (actual, score, said)
            )
            pick = partial(np.equal, 1) if structure == "labels" else partial(np.argmax, axis=1)
        at = rows[first]
        several = self.clustered[at].any() or np.unique(self.unit[at]).size < at.size
        return at, Rows(
            pick(actual),
            score,
            weight=None if weight is None else weight[first],
            unit=self.unit[at] if several else None,
            decision=None if said is None else pick(said),
            classes=max(classes, 2),
        )


def _simple(top: Floats, bottom: Floats) -> Sums:
    """The terms, without denominators where each that has a value counts once."""
    return Sums(top, None if (bottom[~np.isnan(top)] == 1).all() else bottom)


def chosen(of: Mapping[str, Any], parameters: Mapping[str, Any]) -> MetricAtK:
    """The metric that a file describes: one of the catalogue, or one known by name alone.

    parameters: those of its report.
    """
    try:
        if of["structure"] in lookup.TABLES:
            return lookup.find_metric(of["metric"], of["structure"])
    except ParameterError:  # of another version
        pass
    best = lookup.recorded(of, of["metric"], parameters)
    named = lookup.named(of["metric"], best)
    return MetricAtK(replace(named, low=_end(of, "low", -np.inf), high=_end(of, "high", np.inf)))


def _end(of: Mapping[str, Any], name: str, infinite: float) -> float:
    """The smallest or largest value of a metric; the file has null for an infinite one."""
    end = of.get(name)
    return infinite if end is None else float(end)


def read(paths: Sequence[Path]) -> tuple[list[UnitFile], pa.Array]:
    """The files, and the names of all units. Raises InputError for a file that is no file of
    units.
    """
    tables = [_table(path) for path in paths]
    owners = [pc.coalesce(table["cluster"], table["unit"]) for table in tables]
    columns = [*owners, *(table["unit"] for table in tables)]
    chunks = [chunk for column in columns for chunk in column.chunks]
    every = pa.chunked_array(chunks, pa.string()).combine_chunks().dictionary_encode()
    ends = np.cumsum([len(column) for column in columns])[:-1]
    numbers = np.split(every.indices.fill_null(-1).to_numpy(), ends)
    files = zip(paths, tables, numbers[: len(tables)], numbers[len(tables) :], strict=True)
    return [_file(*of) for of in files], every.dictionary


def _table(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            f"{path}: cannot be read as Parquet: {str(error).splitlines()[0]}"
        ) from None
    if json.loads((table.schema.metadata or {}).get(b"evalkit", b"{}")).get("schema") != units.FORM:
        raise InputError(
            f"{path}: must be the units of a report (NAME.units.parquet), got another Parquet file"
        )
    return table.unify_dictionaries().combine_chunks()


def _file(path: Path, table: pa.Table, unit: Ints, row: Ints) -> UnitFile:
    texts = {
        name: table[name].chunk(0)
        for name in table.column_names
        if pa.types.is_dictionary(table[name].type)
    }
    words = {name: column.dictionary.to_pylist() for name, column in texts.items()}
    code = {name: column.indices.fill_null(-1).to_numpy() for name, column in texts.items()}
    return UnitFile(
        path, table, json.loads(table.schema.metadata[b"evalkit"]), words, code, unit, row
    )


# A metric in one file, and in two -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Side:
    """A metric of a system in one file.

    at: the rows of the file; data: their terms, or actual values and predictions.
    """

    file: UnitFile
    system: str
    at: Ints
    data: Any  # Sums or Rows
    chosen: MetricAtK

    @property
    def termed(self) -> bool:
        """True if rows have terms, from whose sums the metric is computed."""
        return isinstance(self.data, Sums)

    @cached_property
    def unit(self) -> Ints:
        """The unit of each row."""
        return self.file.unit[self.at]

    @property
    def row(self) -> Ints:
        """The number of each row among those of all files."""
        return self.file.row[self.at]

    @cached_property
    def units(self) -> Ints:
        """The units that have a value, in order."""
        return np.unique(self.unit[self.data.defined] if self.termed else self.unit)

    @property
    def whole(self) -> bool:
        """True if there are no units, only successes and trials."""
        return bool((self.unit < 0).all())

    @property
    def size(self) -> int:
        """The number of units with a value, or of trials."""
        return round(self.data.size.sum()) if self.whole and self.termed else self.units.size

    @cached_property
    def value(self) -> float:
        """The value of the metric."""
        return float(self.data.value if self.termed else RowStatistic(self.chosen, self.data).value)

    def take(self, rows: Bools) -> Side:
        """The metric on these rows."""
        return replace(self, at=self.at[rows], data=self.data.take(rows))

    @cached_property
    def sums(self) -> Sums:
        """The terms of each unit with a value; a mean over units if each has one row of weight
        1.
        """
        terms = self.data.summed_by_unit(self.data.defined, self.unit)
        return _simple(terms.numerator, terms.size)

    @property
    def averaged(self) -> bool:
        """True if the metric is a mean of values of units."""
        return self.termed and self.sums.denominator is None

    def statistic(self, design: Layout = Layout.PLAIN, *, mean: bool) -> Any:
        """The statistic for intervals and tests. design: of terms. mean: True if the units' values
        are averaged.
        """
        if not self.termed:
            return RowStatistic(self.chosen, self.data)
        top, bottom = self.sums.numerator, self.sums.size
        kind: Kind = (Proportion if self.whole else PerUnit if mean else Ratio)(lookup.absent)
        of = MetricAtK(replace(self.chosen.metric, kind=kind, kind_at=None), self.chosen.k)
        if self.whole:
            return SuccessShare(of, round(top.sum()), self.size)
        repeated = self.file.metrics[self.chosen.label].get("repeated", False)
        alone = mean and not self.file.clustered[self.at].any()
        statistic = RepeatedUnitStatistic if repeated and alone else UnitStatistic
        return statistic(of, Sums(top, None if mean else bottom), design=design)

    @cached_property
    def moved(self) -> Floats:
        """The influence of each unit on the metric."""
        if self.termed:
            return ratio(self.sums.numerator - self.value * self.sums.size, self.sums.size.sum())
        return by_unit(self.chosen.effects(self.data).influence, self.unit)

    @cached_property
    def each(self) -> Floats:
        """The value of each unit, or the mean of its scores; NaN for several classes."""
        if self.termed:
            return self.sums.per_unit
        score = self.data.score
        one = score if score is not None and score.ndim == 1 else np.full(self.unit.size, np.nan)
        return by_unit(one, self.unit) / by_unit(np.ones(one.size), self.unit)


@dataclass(frozen=True, eq=False)
class Joined:
    """A metric of a system in two reports. named: True if units of both pair, by their names or
    because the files are identical. rows: the same metric computed from the rows, if both files
    have them and it has terms.
    """

    old: Side
    new: Side
    named: bool
    rows: Joined | None = None

    @classmethod
    def of(cls, files: Sequence[UnitFile], label: str, systems: Sequence[str]) -> Joined | None:
        """A metric of a system in each of two files; None if one does not have it, or in another
        form.
        """
        old, new = (file.side(label, system) for file, system in zip(files, systems, strict=True))
        if old is None or new is None or old.termed != new.termed:
            return None
        named = all(file.has_names(label) for file in files)
        # identical files have the same units, also without names
        named = named or files[0].table.equals(files[1].table)
        rows = None
        if old.termed:
            old_rows, new_rows = (side.file.of_rows(label, side.system) for side in (old, new))
            rows = cls(old_rows, new_rows, named) if old_rows and new_rows else None
        return cls(old, new, named, rows)

    @cached_property
    def common(self) -> Ints:
        """The units that have a value in both."""
        both = np.intersect1d(self.old.units, self.new.units)
        return both[both >= 0] if self.named else both[:0]

    @property
    def sizes(self) -> dict[str, int]:
        """The number of common units, and of units that only one report has."""
        n = self.common.size
        return {"common": n, "only_old": self.old.size - n, "only_new": self.new.size - n}

    @cached_property
    def paired(self) -> Joined:
        """Both sides on the common units."""
        old, new = (side.take(np.isin(side.unit, self.common)) for side in (self.old, self.new))
        rows = None if self.rows is None else self.rows.paired
        return Joined(old, new, self.named, rows)

    def within(self, column: str, label: str) -> Joined:
        """Both sides on the rows of a slice."""
        old, new = (
            side.take(side.file.has(column, label)[side.at]) for side in (self.old, self.new)
        )
        rows = None if self.rows is None else self.rows.within(column, label)
        return Joined(old, new, self.named, rows)

    @cached_property
    def statistics(self) -> tuple[Any, Any]:
        """The statistics of new and old on the common units, or of each alone if there are none.

        Of the same rows they are those that one report on both systems would compare.
        """
        of, design = (self.paired, Layout.PLAIN) if self.common.size else (self, Layout.INDEPENDENT)
        if self.same_rows and of.rows is not None:
            of = of.rows
        first, second = (side.statistic(design, mean=self.averaged) for side in (of.new, of.old))
        return first, second

    @property
    def averaged(self) -> bool:
        """True if both are means of values of units."""
        return self.old.averaged and self.new.averaged

    def comparison(self, o: methods.Options) -> significance.Comparison:
        """New − old, with interval and test: paired by unit, or independent if no unit is common.

        Without p if no unit differs: p could not be anything but 1, and Holm need not count it
        (Tarone 1990).
        """
        c = self._compared(o)
        e = c.difference
        return replace(c, p_value=np.nan, adjusted=np.nan) if e.value == e.low == e.high == 0 else c

    def _compared(self, o: methods.Options) -> significance.Comparison:
        first, second = self.statistics
        if np.isnan(first.value - second.value):
            return inference.undefined(o.level, o.unit)
        if self.old.termed or self.same_rows:
            many = self.common.size > o.limits.flipped
            return inference.compare(first, second, replace(o, many=many))
        if inference.method(first).test is methods.no_test:
            return methods.no_test(first, second, o)
        metric = first.metric
        if isinstance(metric.kind, ClassCoverage):
            return inference.compare_by_mover(first, second, o, n=first.n)
        plain = Layout.PLAIN in (first.layout, second.layout)
        biased = isinstance(metric.kind, Order) and metric.kind.biased
        if biased and plain and not self.common.size:
            return inference.compare_independent_orders(first, second, o)
        of = self._by_influence(first, second).comparison(level=o.level, unit=o.unit)
        return inference.within_range(of, metric.high - metric.low)

    def _by_influence(self, first: Any, second: Any) -> significance.DifferenceByT:
        """The difference of metrics of rows that are not the same on both sides, to first order."""
        value = first.value - second.value
        freedoms = [max(side.freedom, 1.0) for side in (first, second)]
        if not self.common.size:
            errors = np.array([side.spread.error for side in (first, second)])
            return significance.welch_t(
                value, errors**2, np.array(freedoms) + 1, "influence of units, Welch t"
            )
        spread = Spread.from_influence(self.paired.new.moved - self.paired.old.moved)
        scale = min(1.0, max(abs(first.value), abs(second.value)))
        freedom = min(spread.kurtosis_freedom(spread.n - 1), *freedoms)
        return significance.DifferenceByT(
            value, spread.error, self.common.size, freedom, "influence of units, t", scale
        )

    @cached_property
    def same_rows(self) -> bool:
        """True if the common units have the same rows, with the same actual values and weights, in
        both reports.
        """
        if not self.common.size:
            return False
        of = self.paired
        if self.old.termed:
            return of.rows is not None and of.rows.alike
        return of.alike

    @cached_property
    def alike(self) -> bool:
        """True if both sides have the same rows, with the same actual values and weights."""
        sides = [(side.row, side.data.actual, side.data.weights) for side in (self.old, self.new)]
        same = all(np.array_equal(a, b) for a, b in zip(*sides, strict=True))
        return same and self.old.data.classes == self.new.data.classes

    @cached_property
    def relabelled(self) -> int:
        """The number of common rows with different actual values; 0 if the files have no rows."""
        rows = self.rows if self.old.termed else self
        if rows is None:
            return 0
        old, new = rows.paired.old, rows.paired.new
        _, a, b = np.intersect1d(old.row, new.row, return_indices=True)
        differ = old.data.actual[a] != new.data.actual[b]
        return int(np.sum(differ if differ.ndim == 1 else differ.any(axis=1)))


# A report read again from its JSON and its units: the same study, whose limits can be had at any le

DRAWS = 0.02  # of the width of an interval: by how much random draws may move its limits
# kinds whose intervals and tests need no more than the terms
OF_TERMS = (
    PerUnit,
    Ratio,
    Proportion,
    Loss,
)
# parameters of a report that its intervals and tests depend on
USED = (
    "level",
    "alpha",
    "alternative",
    "margin",
    "baseline",
    "seed",
)
DESIGNS = {
    "users": Layout.INDEPENDENT,
    "interleaving": Layout.DIVIDED,
}  # by structure, else rows that count alike


@dataclass(frozen=True, eq=False, repr=False)
class Recomputed(study.Study):
    """The study of a table of a report. file: its units. results: its part of the JSON; table: its
    name, or empty.
    """

    directed_pairs: ClassVar[bool] = True  # those that the report has

    file: UnitFile
    results: Mapping[str, Any]
    table: str

    @classmethod
    def of(cls, file: UnitFile, results: Mapping[str, Any], table: str) -> Recomputed:
        """The study of a table."""
        given = {name: value for name, value in results["parameters"].items() if name in USED}
        own = [of for of in file.about["metrics"] if of["table"] == table]
        part = results[table] if table else results
        systems = tuple(dict.fromkeys(row["system"] for row in part["estimates"]))
        if given.get("baseline") not in systems:
            given["baseline"] = control_of(systems) if "sample_ratio" in part else None
        question = Alternative(given.get("alternative") or Alternative.TWO_SIDED)
        against_one = question.one_sided or results["parameters"].get("null") is not None
        if given.get("baseline") is None and against_one:
            given["baseline"] = _common_second(part["comparisons"])
        p = reports.Compared.from_raw(given)
        searched = TEXTS.read("slices", results["parameters"].get("slices"))
        metrics = [chosen(of, file.parameters) for of in own]
        settings = study.settings(p, metrics, slices=searched)
        return cls(
            settings, systems, {}, p, (), file, {"word": results.get("verdict", {}), **part}, table
        )

    @property
    def unit_name(self) -> str:
        """What the report calls its unit."""
        return str(self.file.about["unit"][self.table])

    @cached_property
    def broken_design(self) -> str:  # type: ignore[override]
        """Why no result counts, as the file of units says."""
        return self.file.broken_design(self.primary.label)

    @property
    def word(self) -> str | None:
        """The verdict of a validation report."""
        return self.results["word"].get("word")

    def measure(self, chosen: MetricAtK, system: str, member: study.Member = study.EVERY) -> Any:
        """A metric of a system, with the intervals and tests of its kind."""
        if (chosen.label, system) in self._known:
            return self._known[chosen.label, system]
        side = self.file.of_rows(chosen.label, system) or self.file.side(chosen.label, system)
        assert side is not None
        side = side if member is study.EVERY else side.take(side.file.has(*member)[side.at])  # type: ignore[misc]
        if not side.termed:
            return RowStatistic(chosen, side.data)
        design = DESIGNS.get(self.file.metrics[chosen.label]["structure"], Layout.PLAIN)
        ratio = isinstance(chosen.metric.kind, PerUnit) and side.data.denominator is not None
        if side.whole or ratio or not isinstance(chosen.metric.kind, OF_TERMS):
            return side.statistic(design, mean=side.averaged)
        return UnitStatistic(
            chosen, side.data, side.unit if self.file.clustered[side.at].any() else None, design
        )

    @cached_property
    def _known(self) -> dict[tuple[str, str], KnownValue]:
        """The values that the report was given, by metric and system, as a null share."""
        of = {chosen.label: chosen for chosen in self.settings.metrics}
        known = {}
        for row in self.results["estimates"]:
            if row["method"] == methods.GIVEN and row["metric"] in of:
                estimate = intervals.Estimate(
                    row["value"], np.nan, np.nan, row["level"], row["n"], methods.GIVEN
                )
                chosen = of[row["metric"]]
                known[row["metric"], row["system"]] = KnownValue(chosen, estimate)
        return known

    @property
    def slices(self) -> list[Slice]:  # type: ignore[override]
        """The slices of the columns of segments."""
        columns = self.file.segments.items()
        return [
            Slice(name, label, (column, label))
            for name, column in columns
            for label in self.file.words[column]
        ]

    def slices_obstacle(self, column: str) -> str:
        """Why the slices of a column cannot be compared with each other: the report did not."""
        compared = {row["segment"] for row in self.results.get("slices_against_rest", [])}
        return "" if column in compared else "the report that was stored did not compare them"

    @property
    def slices_against_rest(self) -> pd.DataFrame:  # type: ignore[override]
        """The comparisons of slices that the report has, at its level."""
        return pd.DataFrame(self.results["slices_against_rest"])

    def detectable_slices(self) -> pd.DataFrame:
        """The effects in slices that the report would have found."""
        return pd.DataFrame(self.results["detectable_slices"])

    def group_parts(self, column: str) -> list[Slice]:
        """Raise ParameterError: groups are not in the file of units."""
        raise groups.not_stored(column)

    def obstacle(self, chosen: MetricAtK, system: str, second: str) -> str:
        """Why no result counts, or that the report does not compare the two; "" otherwise."""
        if self.broken_design:
            return self.broken_design
        if (chosen.label, system, second) in self._reported:
            return ""
        return obstacle("not_reported", first=system, second=second, metric=chosen.label)

    def doubt(self, chosen: MetricAtK, system: str, second: str) -> str:
        """Why the limits cannot be had: the mean of the folds decides, which the units do not tell,
        or at its own level they are not those that the report has.
        """
        if not second and self.results.get("split", {}).get("decided_by_fold", False):
            return "the report decides by fold; make this rule its gate"
        reported = self._reported[chosen.label, system, second]
        if second:
            recomputed = self.compare(chosen, (system, second)).difference
        else:
            recomputed = self.estimate(chosen, system)
        # random draws may move a limit by this share of its distance from the value
        tolerance = DRAWS * float(np.nansum(_finite(reported.reach)))
        if np.allclose(
            _value_and_limits(recomputed),
            _value_and_limits(reported),
            rtol=1e-9,
            atol=tolerance,
            equal_nan=True,
        ):
            return ""
        ours = printed(recomputed.value, recomputed.low, recomputed.high)
        theirs = printed(reported.value, reported.low, reported.high)
        return f"limits recomputed from the units: {ours}, those of the report: {theirs}"

    @cached_property
    def _reported(self) -> dict[tuple[str, str, str], intervals.Estimate]:
        """The limits that the report has, of systems and, in both directions, of pairs."""
        of = {
            (row["metric"], row["system"], ""): _estimate(row, "value")
            for row in self.results["estimates"]
        }
        columns = {name: unpacked(column) for name, column in self.results["comparisons"].items()}
        for row in pd.DataFrame(columns).fillna(np.nan).to_dict("records"):
            for each in (row, diagnostics.turned(row)):
                of[each["metric"], each["first"], each["second"]] = _estimate(each, "difference")
        return of

    def units_held(self) -> units.Units:
        """None: they are a file."""
        return units.Units(0, ())


def _common_second(comparisons: Mapping[str, Any]) -> str | None:
    """The system with which the comparisons of a report compare every other; None if there are
    several.
    """
    seconds = dict.fromkeys(unpacked(comparisons["second"]))
    return next(iter(seconds)) if len(seconds) == 1 else None


def _value_and_limits(e: intervals.Estimate) -> Floats:
    """Value and limits; NaN for an infinite limit, which is null in the JSON, as an undefined one
    is.
    """
    return _finite([e.value, e.low, e.high])


def _finite(values: ArrayLike) -> Floats:
    """The values; NaN for infinite ones."""
    numbers = np.asarray(values, float)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _estimate(row: Mapping[Any, Any], name: str) -> intervals.Estimate:
    """A number of the JSON with its limits."""
    value = np.nan if row[name] is None else row[name]
    low, high = limits_from_json(
        *(None if pd.isna(row[end]) else row[end] for end in ("low", "high"))
    )
    return intervals.Estimate(value, low, high, row.get("level", np.nan), row["n"], row["method"])
