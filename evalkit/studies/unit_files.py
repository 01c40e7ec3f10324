"""Files of units read again: any metric of a report on some of its units, the same in two reports,
a study of one.

What varies is the unit: the cluster where the report names one, else the row, query or user. Means
and ratios have their terms in the file; all other metrics are computed from the rows that it holds.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats, InputError, Ints, ParameterError, ratio
from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import ClassCoverage, Loss, MeanPerUnit, MetricKind, Proportion, Ratio
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
from evalkit.statistics.spread import Spread, sum_by_unit
from evalkit.statistics.statistic import (
    KnownValue,
    Layout,
    RepeatedUnitStatistic,
    RowStatistic,
    Statistic,
    SuccessShare,
    UnitStatistic,
)
from evalkit.studies import diagnostics, groups, study, units
from evalkit.studies.randomisation import sample_ratio

Metadata = Mapping[str, Any]  # what the file says of a metric, as JSON
Parameters = Mapping[str, Any]  # of a report
NO_NAME = -1  # the code of a row that is empty in a column of names


@dataclass(frozen=True, eq=False)
class UnitFile:
    """The contents of a file of units, which has rows of all systems and metrics of a report, or of
    several tables of one.

    file_metadata: its metadata, as JSON. words: text column -> its distinct values. code: text
    column -> for each row the number of its value among these, `NO_NAME` if it is empty. unit: the
    number of each row's unit (its cluster, else its id), and row: that of its id, among the names
    of all files that were read together.
    """

    path: Path
    table: pa.Table
    file_metadata: Mapping[str, Any]
    words: Mapping[str, list[str]]
    code: Mapping[str, Ints]
    unit: Ints
    row: Ints

    @cached_property
    def numeric(self) -> dict[str, Floats]:
        """The numeric columns, NaN if empty."""
        floating = [field.name for field in self.table.schema if pa.types.is_floating(field.type)]
        return {name: self.table[name].to_numpy() for name in floating}

    @cached_property
    def clustered(self) -> Bools:
        """A mask: the rows that have a cluster."""
        return np.asarray(pc.is_valid(self.table["cluster"]).to_numpy())

    @cached_property
    def metrics(self) -> dict[str, Metadata]:
        """The metadata of each metric, by label; of two tables the first that has it counts."""
        by_label: dict[str, Metadata] = {}
        for metadata in self.file_metadata["metrics"]:
            by_label.setdefault(metadata["metric"], metadata)
        return by_label

    @property
    def segments(self) -> dict[str, str]:
        """The segment columns, and their names in the file."""
        prefix = units.segment("")
        return {name.removeprefix(prefix): name for name in self.words if name.startswith(prefix)}

    @property
    def parameters(self) -> Parameters:
        """The parameters of the report."""
        parameters: Parameters = self.file_metadata.get("parameters", {})
        return parameters

    def metric_at_k(self, label: str) -> MetricAtK:
        """The metric of this label."""
        return described_metric(self.metrics[label], self.parameters)

    def in_table_of(self, label: str) -> Bools:
        """A mask: the rows of the file from the same table of the report as a metric. label: of the
        metric.
        """
        # the file leaves the name empty if the report has only one table
        return self.rows_with_text("table", self.metrics[label]["table"] or None)

    def has_names(self, label: str) -> bool:
        """True if the units of a metric have names, by which they pair with those of another
        report.
        """
        named = self.file_metadata.get("named", {}).get(self.metrics[label]["table"], True)
        return bool(named or self.clustered.any())

    def systems_of(self, label: str) -> list[str]:
        """The systems of the table that a metric is of."""
        numbers = set(self.code["system"][self.in_table_of(label)].tolist())
        return [name for number, name in enumerate(self.words["system"]) if number in numbers]

    def broken_design(self, label: str) -> str:
        """Why no result of the experiment that the metric `label` is of is valid: the sizes of its
        arms differ from the planned shares (sample ratio mismatch), or the reason that the file
        states. "" if results are valid, or the metric is of no experiment.
        """
        metadata = self.metrics[label]
        if metadata["structure"] != "users":  # no experiment
            return ""
        stored = [self.stored_metric(label, name) for name in self.systems_of(label)]
        sizes = {metric.system: metric.size for metric in stored if metric is not None}
        planned_shares = SHARES.read("shares", self.parameters.get("shares"))
        mismatch = sample_ratio(sizes, planned_shares).obstacle  # "" if the sizes fit
        stated_reason = self.file_metadata.get("broken_design", {}).get(metadata["table"], "")
        return mismatch or stated_reason

    def stored_metric(self, label: str, system: str) -> StoredMetric | None:
        """A metric of a system, from its terms (numerator and denominator of each unit) if the file
        has them, else from the rows with scores or predictions; None if it has neither. label: of
        the metric.
        """
        # several tables of a report may have the same system and metric
        of_system = self.in_table_of(label) & self.rows_with_text("system", system)
        # the lines of the file with terms of this metric; those of rows name no metric
        places = np.flatnonzero(of_system & self.rows_with_text("metric", label))
        if not places.size:
            return self.stored_rows(label, system)
        numerator = self.numeric["numerator"][places]
        denominator = self.numeric["denominator"][places]
        terms = _mean_if_denominators_are_1(numerator, denominator)  # else a ratio of sums
        return StoredTerms(self, system, places, self.metric_at_k(label), terms)

    def stored_rows(self, label: str, system: str) -> StoredRows | None:
        """A metric of a system, computed from its rows with actual values and predictions. label:
        of the metric.

        None if the file has no such rows, as no metric of the report needs them; if the rows lack
        decisions that the metric is computed from; or if the metric is not in the catalogue, so
        that its function is not known.
        """
        metric = self.metric_at_k(label)
        of_system = self.in_table_of(label) & self.rows_with_text("system", system)
        # rows with an actual value name no metric, as they serve all metrics of a system
        has_rows = self.rows_with_text("metric", None) & ~np.isnan(self.numeric["actual"])
        places = np.flatnonzero(of_system & has_rows)
        if not places.size or metric.metric.structure not in lookup.TABLES:
            return None
        if metric.uses_decisions and np.isnan(self.numeric["predicted"][places]).all():
            return None
        return self._stored_rows(metric, system, places, self.metrics[label]["structure"])

    def rows_else_terms(self, label: str, system: str) -> StoredMetric | None:
        """A metric of a system, from the rows if it can be computed from them, else its terms."""
        return self.stored_rows(label, system) or self.stored_metric(label, system)

    def rows_with_text(self, column: str, word: str | None) -> Bools:
        """A mask: the rows with this value in a column of text; for None, the rows that are empty
        there.
        """
        code = self.code[column]
        if word is None:
            return np.asarray(code == NO_NAME)
        if word not in self.words[column]:
            return np.zeros(code.size, bool)
        return np.asarray(code == self.words[column].index(word))

    def lists(self, system: str) -> dict[int, list[str]]:
        """The first items of each ranked list of a system, by the number of the list's id (see
        `UnitFile.row`); empty if the file has no lists.
        """
        if "items" not in self.table.column_names:
            return {}
        has_items = pc.is_valid(self.table["items"]).to_numpy()
        places = np.flatnonzero(self.rows_with_text("system", system) & has_items)
        items = self.table["items"].take(pa.array(places)).to_pylist()
        ids = self.row[places].tolist()
        return {id: text.split("\n") for id, text in zip(ids, items, strict=True)}

    def _stored_rows(
        self, metric: MetricAtK, system: str, places: Ints, structure: str
    ) -> StoredRows:
        """The rows of a system in the order of their ids, for a metric. structure: of the metric's
        table, such as "labels" or "forecasts".

        places: the lines of the file with rows of this system, as indices. A row has one line, or
        one for each of several classes or labels.
        """
        columns = {}  # those that the system has; of others all numbers are empty
        for name, column in self.numeric.items():
            column_of_system = column[places]
            if not np.isnan(column_of_system).all():
                columns[name] = column_of_system
        class_of_place = self.code["class"][places]
        classes = len(self.words["class"])
        if class_of_place[0] == NO_NAME:  # lines without a class: forecasts, or two classes
            outcomes = _single_outcomes(columns, structure)
        elif "score" not in columns:  # a line for the actual, and one for the predicted class
            outcomes = _predicted_classes(columns, class_of_place)
        elif structure == "labels":  # a line for each label, of which a row may have several
            classes = len(np.unique(class_of_place))  # other tables of the file have other labels
            outcomes = _scored_labels(columns, classes)
        else:  # a line for each class
            outcomes = _scored_classes(columns, classes)
        place_of_row = places[outcomes.first]  # one line per row
        unit = None  # each row is a unit
        is_repeated = np.unique(self.unit[place_of_row]).size < place_of_row.size
        if is_repeated or self.clustered[place_of_row].any():
            unit = self.unit[place_of_row]
        weight = columns.get("weight")
        if weight is not None:
            weight = weight[outcomes.first]
        rows = Rows(
            outcomes.actual,
            outcomes.score,
            weight=weight,
            unit=unit,
            decision=outcomes.predicted,
            classes=max(classes, 2),  # forecasts and scores of two classes have no named class
        )
        by_id = np.argsort(self.row[place_of_row], kind="stable")
        return StoredRows(self, system, place_of_row[by_id], metric, rows.take(by_id))


class StoredOutcomes(NamedTuple):
    """What is true of some rows, and what a system predicts, each as in `Rows`.

    first: the index of each row in the columns that they were read from, in which it may have a
    line per class; then of a line whose further columns (weight, unit) are read.
    """

    first: Ints
    actual: np.ndarray
    score: Floats | None
    predicted: np.ndarray | None


def _single_outcomes(columns: Mapping[str, Floats], structure: str) -> StoredOutcomes:
    """The outcomes of rows that the file has once each: numbers if the structure is "forecasts",
    else the classes 0 and 1. columns: by name (actual, perhaps score and predicted), one value per
    row of the file.
    """
    # the file has floats; `Rows` has classes as integers
    outcome_type = np.float64 if structure == "forecasts" else np.int64
    actual = columns["actual"].astype(outcome_type)
    predicted = columns.get("predicted")
    if predicted is not None:
        predicted = predicted.astype(outcome_type)
    first = np.arange(actual.size)  # each row of the file is another row
    return StoredOutcomes(first, actual, score=columns.get("score"), predicted=predicted)


def _predicted_classes(columns: Mapping[str, Floats], class_of_place: Ints) -> StoredOutcomes:
    """The outcomes of rows without scores. The file has a line for the actual class of a row, and
    another one for its predicted class if this differs. All lines of a row are neighbours.

    columns: by name, one value per line: actual (1 if the class of the line is the actual one, else
    0) and perhaps predicted (likewise). class_of_place: the number of the class of each line.
    """
    is_actual = columns["actual"] == 1
    # exactly one line per row has its actual class, and one its predicted class: the classes of
    # these lines are in the order of the rows
    actual = class_of_place[is_actual]
    predicted = None
    if "predicted" in columns:
        predicted = class_of_place[columns["predicted"] == 1]
    first = np.flatnonzero(is_actual)  # a line of each row, from which its further columns are read
    return StoredOutcomes(first, actual, score=None, predicted=predicted)


def _scored_classes(columns: Mapping[str, Floats], classes: int) -> StoredOutcomes:
    """The outcomes of rows that the file has once for each class, in the order of the classes.

    columns: by name (actual, score and perhaps predicted), one value per row of the file; actual
    and predicted are 1 for the actual or predicted class, else 0. classes: their number.
    """
    labels = _scored_labels(columns, classes)
    predicted = labels.predicted
    if predicted is not None:
        predicted = predicted.argmax(axis=1)
    return labels._replace(actual=labels.actual.argmax(axis=1), predicted=predicted)


def _scored_labels(columns: Mapping[str, Floats], labels: int) -> StoredOutcomes:
    """The outcomes of rows that the file has once for each label, in the order of the labels, as
    arrays of shape (rows, labels).

    columns: by name (actual, score and perhaps predicted), one value per row of the file; actual
    and predicted are 1 if the row has the label or gets it, else 0. labels: their number.
    """
    tables = {name: column.reshape(-1, labels) for name, column in columns.items()}
    predicted = None
    if "predicted" in tables:
        predicted = tables["predicted"] == 1
    first = np.arange(0, columns["actual"].size, labels)
    actual = tables["actual"] == 1
    return StoredOutcomes(first, actual, score=tables["score"], predicted=predicted)


def _mean_if_denominators_are_1(numerator: Floats, denominator: Floats) -> Sums:
    """The terms of rows or units: without denominators, as those of a mean, if the denominator of
    every defined numerator is 1; else as those of a ratio of sums.
    """
    if (denominator[~np.isnan(numerator)] == 1).all():
        return Sums(numerator, None)
    return Sums(numerator, denominator)


def described_metric(metadata: Metadata, parameters: Parameters) -> MetricAtK:
    """The metric that a file describes: one of the catalogue; or one that is known only by its
    name, its direction and its lowest and highest value, so that it cannot be computed from rows.

    metadata: what the file says of the metric. parameters: of the report that the file is of.
    """
    try:
        if metadata["structure"] in lookup.TABLES:  # else the catalogue has no such metrics
            return lookup.find_metric(metadata["metric"], metadata["structure"])
    except ParameterError:
        pass  # a metric of another version of evalkit, or the user's own
    best = lookup.recorded(metadata, metadata["metric"], parameters)
    low = _extreme(metadata, "low", -np.inf)
    high = _extreme(metadata, "high", np.inf)
    return MetricAtK(replace(lookup.named(metadata["metric"], best), low=low, high=high))


def _extreme(metadata: Metadata, name: str, infinite: float) -> float:
    """The lowest or highest value of a metric; the file has null for an infinite one."""
    value = metadata.get(name)
    return infinite if value is None else float(value)


class ReadUnits(NamedTuple):
    """Files of units that were read together, and the names of all their units by number."""

    files: list[UnitFile]
    names: pa.Array


def read(paths: Sequence[Path]) -> ReadUnits:
    """Read files of units together: the same name has the same number in all of them. Raises
    InputError for a file that is no file of units.
    """
    tables = [_table(path) for path in paths]
    # the names of each file: ids, and units (the cluster of a row if it has one, else its id)
    ids_by_file = [table["unit"] for table in tables]
    units_by_file = [pc.coalesce(table["cluster"], table["unit"]) for table in tables]
    # so that a name has one number, all columns are numbered together as one, which is split again
    columns = units_by_file + ids_by_file
    chunks = list(chain.from_iterable(column.chunks for column in columns))
    names = pa.chunked_array(chunks, pa.string()).combine_chunks().dictionary_encode()
    number_of_name = names.indices.fill_null(NO_NAME).to_numpy()
    column_ends = np.cumsum([len(column) for column in columns])
    numbers_by_column = np.split(number_of_name, column_ends[:-1])
    unit_numbers = numbers_by_column[: len(tables)]
    id_numbers = numbers_by_column[len(tables) :]
    files = list(map(_file, paths, tables, unit_numbers, id_numbers))
    return ReadUnits(files, names.dictionary)


def _table(path: Path) -> pa.Table:
    """The table of a file; raises InputError if the file does not hold units."""
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path}: cannot be read as Parquet: {reason}") from None
    # the metadata that evalkit writes into each file of units, as JSON
    about = json.loads((table.schema.metadata or {}).get(b"evalkit", b"{}"))
    if about.get("schema") != units.FORM:
        raise InputError(
            f"{path}: must be the units of a report (NAME.units.parquet), got another Parquet file"
        )
    # one chunk per column, in which equal words have equal numbers
    return table.unify_dictionaries().combine_chunks()


def _file(path: Path, table: pa.Table, unit: Ints, row: Ints) -> UnitFile:
    """The file of a table that was read, whose columns have one chunk each. unit, row: the number
    of each row's unit and id among the names of all files.
    """
    # columns of words, such as the systems; ids are stored as plain text
    texts = {
        name: table[name].chunk(0)
        for name in table.column_names
        if pa.types.is_dictionary(table[name].type)
    }
    about = json.loads(table.schema.metadata[b"evalkit"])
    words = {name: column.dictionary.to_pylist() for name, column in texts.items()}
    code = {name: column.indices.fill_null(NO_NAME).to_numpy() for name, column in texts.items()}
    return UnitFile(path, table, about, words, code, unit, row)


# A metric in one file -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FileRows(ABC):
    """Some rows of a file that hold a metric of a system. places: their indices in the file."""

    file: UnitFile
    system: str
    places: Ints
    metric_at_k: MetricAtK

    @abstractmethod
    def take(self, rows: Bools) -> Self:
        """The metric on the rows of a mask."""

    @cached_property
    def unit(self) -> Ints:
        """The number of each row's unit."""
        return self.file.unit[self.places]

    @property
    def row(self) -> Ints:
        """The number of each row's id."""
        return self.file.row[self.places]

    def on_units(self, numbers: Ints) -> Self:
        """The metric on the rows of these units."""
        return self.take(np.isin(self.unit, numbers))

    def in_slice(self, slice_: StoredSlice) -> Self:
        """The metric on the rows of a slice."""
        is_in_slice = self.file.rows_with_text(slice_.column, slice_.label)
        return self.take(is_in_slice[self.places])


class StoredSlice(NamedTuple):
    """A slice by its column in the file of units, and the text in this column."""

    column: str
    label: str


@dataclass(frozen=True, eq=False)
class StoredTerms(FileRows):
    """A metric of a system with the terms of each row: numerator and denominator, of whose sums it
    is the ratio.
    """

    terms: Sums

    @cached_property
    def units(self) -> Ints:
        """The numbers of the units with a defined term, in order."""
        return np.unique(self.unit[self.terms.defined])

    @property
    def without_units(self) -> bool:
        """True if there are no units, only successes and trials: then rows have no id, and
        their unit has the number −1 (`NO_NAME`).
        """
        return bool((self.unit < 0).all())

    @property
    def size(self) -> int:
        """The number of units with a value, or of trials if there are no units."""
        return round(self.terms.size.sum()) if self.without_units else int(self.units.size)

    @cached_property
    def value(self) -> float:
        """The ratio of the sums of the terms."""
        return float(self.terms.value)

    def take(self, rows: Bools) -> Self:
        """The metric on the rows of a mask."""
        return replace(self, places=self.places[rows], terms=self.terms.take(rows))

    @cached_property
    def unit_terms(self) -> Sums:
        """The sums of the terms of each of `units`; without denominators if each unit has one row
        of weight 1.
        """
        sums = self.terms.summed_by_unit(self.terms.defined, self.unit)
        return _mean_if_denominators_are_1(sums.numerator, sums.size)

    @property
    def averaged(self) -> bool:
        """True if each unit has one row of weight 1: then it is the mean of their values."""
        return self.unit_terms.denominator is None

    def statistic(self, design: Layout = Layout.PLAIN, *, mean: bool) -> Statistic:
        """The metric as a statistic over units, with the intervals and tests of a mean or a ratio
        of sums; a share of successes if there are no units.

        design: the layout of the units, such as `Layout.INDEPENDENT` if the system to compare with
        has other units; a share of successes ignores it. mean: True for a mean of the units'
        values (only if `averaged`), False for a ratio of sums.
        """
        numerator = self.unit_terms.numerator
        if self.without_units:
            # the terms are totals, of successes and of trials, which are whole numbers
            metric = self._metric_of_kind(Proportion)
            successes = round(numerator.sum())
            trials = self.size
            return SuccessShare(metric, successes, trials)
        if not mean:
            metric = self._metric_of_kind(Ratio)
            denominator = self.unit_terms.size  # 1 for each unit if `unit_terms` has none
            return UnitStatistic(metric, Sums(numerator, denominator), design=design)
        metric = self._metric_of_kind(MeanPerUnit)
        values = Sums(numerator)  # in a mean each unit has the denominator 1
        # Each value is the mean of repeated draws of 0 or 1, and many are equal. The usual test is
        # then conservative, so that one with the mid-p is used; it assumes no clusters.
        is_repeated = self.file.metrics[self.metric_at_k.label].get("repeated", False)
        if is_repeated and not self.file.clustered[self.places].any():
            return RepeatedUnitStatistic(metric, values, design=design)
        return UnitStatistic(metric, values, design=design)

    def _metric_of_kind(self, kind: Callable[[Any], MetricKind]) -> MetricAtK:
        """The metric as one of another kind, which decides its intervals and tests. The function of
        the kind is never called, as the terms are known.
        """
        metric = replace(self.metric_at_k.metric, kind=kind(lookup.not_computed), kind_at=None)
        return MetricAtK(metric, self.metric_at_k.k)

    @cached_property
    def influence(self) -> Floats:
        """The influence of each of `units` on the ratio: (numerator − value × denominator) / Σ
        denominators.
        """
        residuals = self.unit_terms.numerator - self.value * self.unit_terms.size
        return ratio(residuals, self.unit_terms.size.sum())

    @cached_property
    def unit_values(self) -> Floats:
        """The ratio of the terms of each of `units`."""
        return self.unit_terms.per_unit


@dataclass(frozen=True, eq=False)
class StoredRows(FileRows):
    """A metric of a system with the actual value and prediction of each row."""

    rows: Rows

    @cached_property
    def units(self) -> Ints:
        """The numbers of the units that have rows, in order."""
        return np.unique(self.unit)

    @property
    def size(self) -> int:
        """The number of units."""
        return int(self.units.size)

    @property
    def averaged(self) -> bool:
        """False: the metric of rows is not known to be a mean of values of units."""
        return False

    @cached_property
    def value(self) -> float:
        """The metric of the rows."""
        return RowStatistic(self.metric_at_k, self.rows).value

    def take(self, rows: Bools) -> Self:
        """The metric on the rows of a mask."""
        return replace(self, places=self.places[rows], rows=self.rows.take(rows))

    def statistic(self, design: Layout = Layout.PLAIN, *, mean: bool) -> RowStatistic:
        """The metric as a statistic of rows. design, mean: not used, as the layout and the kind of
        the metric follow from the rows; `StoredTerms.statistic` needs them.
        """
        return RowStatistic(self.metric_at_k, self.rows)

    @cached_property
    def influence(self) -> Floats:
        """The influence of each of `units` on the metric: the sum of that of its rows."""
        return sum_by_unit(self.metric_at_k.effects(self.rows).influence, self.unit)

    @cached_property
    def unit_values(self) -> Floats:
        """The mean score of each of `units`; NaN without scores or for several classes."""
        score = self.rows.score
        if score is None or score.ndim > 1:
            return np.full(self.units.size, np.nan)
        return sum_by_unit(score, self.unit) / sum_by_unit(np.ones(score.size), self.unit)


StoredMetric = StoredTerms | StoredRows


# A metric in two files ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MatchedRows:
    """The rows from which two reports compute a metric of a system. named: True if units of both
    pair, as in `MatchedMetric`.
    """

    old: StoredRows
    new: StoredRows
    named: bool

    @cached_property
    def on_common_units(self) -> MatchedRows:
        """The rows of the units that both have."""
        common = _common_units(self.old, self.new, named=self.named)
        return MatchedRows(self.old.on_units(common), self.new.on_units(common), self.named)

    def in_slice(self, slice_: StoredSlice) -> MatchedRows:
        """The rows of a slice."""
        return MatchedRows(self.old.in_slice(slice_), self.new.in_slice(slice_), self.named)

    @cached_property
    def are_same(self) -> bool:
        """True if both reports have the same rows, with the same actual values and weights."""
        old = self.old.rows
        new = self.new.rows
        return (
            np.array_equal(self.old.row, self.new.row)
            and np.array_equal(old.actual, new.actual)
            and np.array_equal(old.weights, new.weights)
            and old.classes == new.classes
        )

    @cached_property
    def n_relabelled(self) -> int:
        """The number of rows that both reports have, but with different actual values."""
        _, in_old, in_new = np.intersect1d(self.old.row, self.new.row, return_indices=True)
        differ = self.old.rows.actual[in_old] != self.new.rows.actual[in_new]
        if differ.ndim > 1:  # one column per label
            differ = differ.any(axis=1)
        return int(differ.sum())


def _common_units(old: StoredMetric, new: StoredMetric, *, named: bool) -> Ints:
    """The numbers of the units that have a value in both reports. Units without a name (−1) never
    pair; named: False if no units do.
    """
    common = np.intersect1d(old.units, new.units)
    return common[common >= 0] if named else common[:0]


@dataclass(frozen=True, eq=False)
class MatchedMetric:
    """A metric of a system in two reports.

    named: True if units of both pair, by their names or because the files are identical. rows: the
    rows from which both reports compute it, or can also compute it if they have terms; None if a
    file has none.
    """

    old: StoredMetric
    new: StoredMetric
    named: bool
    rows: MatchedRows | None

    @classmethod
    def in_files(cls, old: StoredMetric, new: StoredMetric) -> MatchedMetric:
        """A metric that both files store in the same form: as terms, or as rows."""
        label = new.metric_at_k.label
        have_names = old.file.has_names(label) and new.file.has_names(label)
        # units pair by their names; identical files have the same units, also without names
        units_pair = have_names or old.file.table.equals(new.file.table)
        # if the metric is stored as terms, both files may also have the rows to compute it from
        old_rows = _rows_of(old)
        new_rows = _rows_of(new)
        rows = None
        if old_rows is not None and new_rows is not None:
            rows = MatchedRows(old_rows, new_rows, units_pair)
        return cls(old, new, units_pair, rows)

    @property
    def has_terms(self) -> bool:
        """True if the metric is computed from sums of terms."""
        return isinstance(self.old, StoredTerms)

    @cached_property
    def common_units(self) -> Ints:
        """The numbers of the units that have a value in both."""
        return _common_units(self.old, self.new, named=self.named)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of common units, and of units that only one report has."""
        n = self.common_units.size
        return {"common": n, "only_old": self.old.size - n, "only_new": self.new.size - n}

    @cached_property
    def on_common_units(self) -> MatchedMetric:
        """The metric on the common units."""
        rows = None if self.rows is None else self.rows.on_common_units
        old = self.old.on_units(self.common_units)
        new = self.new.on_units(self.common_units)
        return MatchedMetric(old, new, self.named, rows)

    def in_slice(self, slice_: StoredSlice) -> MatchedMetric:
        """The metric on the rows of a slice."""
        rows = None if self.rows is None else self.rows.in_slice(slice_)
        old = self.old.in_slice(slice_)
        new = self.new.in_slice(slice_)
        return MatchedMetric(old, new, self.named, rows)

    @cached_property
    def statistics(self) -> NewAndOld:
        """The metric in both reports, on the units that both have. If no unit is common, on all
        units of each report, as two independent samples.
        """
        is_mean = self.averaged  # else a ratio of sums; the statistics of both must be of one kind
        if not self.common_units.size:
            return NewAndOld(
                new=self.new.statistic(Layout.INDEPENDENT, mean=is_mean),
                old=self.old.statistic(Layout.INDEPENDENT, mean=is_mean),
            )
        on_common_units = self.on_common_units
        compared: MatchedMetric | MatchedRows = on_common_units
        # From its terms a metric is only known to be a mean or a ratio. From the rows, if they are
        # the same in both reports, it keeps its own kind, which has a more suitable test.
        if self.has_terms and self.same_rows and on_common_units.rows is not None:
            compared = on_common_units.rows
        return NewAndOld(
            new=compared.new.statistic(Layout.PLAIN, mean=is_mean),
            old=compared.old.statistic(Layout.PLAIN, mean=is_mean),
        )

    @property
    def averaged(self) -> bool:
        """True if both are means of values of units."""
        return self.old.averaged and self.new.averaged

    def comparison(self, options: methods.Options) -> significance.Comparison:
        """New − old, with interval and test: paired by unit, or independent if no unit is common.

        Without p if no unit differs: p could not be anything but 1, and Holm need not count it
        (Tarone 1990).
        """
        comparison = self._compared(options)
        difference = comparison.difference
        if difference.value == difference.low == difference.high == 0:
            return replace(comparison, p_value=np.nan, adjusted=np.nan)
        return comparison

    def _compared(self, options: methods.Options) -> significance.Comparison:
        """New − old with interval and test, also if no unit differs; NaN if a value is undefined.

        Terms, or rows that are the same in both reports, are compared as those of two systems of
        one report. Else the rows of a common unit differ between the reports, and the standard
        error comes from the influence of whole units on both values; a few metrics, for which this
        would be wrong, have another test or none.
        """
        new, old = self.statistics
        if np.isnan(new.value - old.value):
            return inference.undefined(options.level, options.unit)
        if self.has_terms or self.same_rows:  # as two systems of one report
            # then t takes the place of sign flips of the units' differences: as good and faster
            has_many_units = self.common_units.size > options.limits.flipped
            return inference.compare(new, old, replace(options, many_units=has_many_units))
        if inference.method(new).test is methods.no_test:  # nor has the metric one within a report
            return methods.no_test(new, old, options)
        assert isinstance(new, RowStatistic)  # without terms both are of rows
        assert isinstance(old, RowStatistic)
        metric = new.metric
        if isinstance(metric.kind, ClassCoverage):
            # The classes that it counts vary with the rows, but influence values take them as
            # fixed. The interval of the difference is made of both intervals instead (MOVER).
            return inference.compare_by_mover(new, old, options, n=new.n)
        # Few positives skew metrics such as average precision, so that t would reject too often.
        # The test without this fault is of two independent samples, which have no common unit. It
        # takes rows as independent and unweighted, as those of at least one report must be.
        is_biased = isinstance(metric.kind, Order) and metric.kind.biased
        is_either_plain = Layout.PLAIN in (new.layout, old.layout)
        are_independent = not self.common_units.size
        if is_biased and is_either_plain and are_independent:
            return inference.compare_independent_orders(new, old, options)
        # for all other metrics and designs
        difference = self._difference_by_influence(new, old)
        comparison = difference.comparison(level=options.level, unit=options.unit)
        return inference.within_range(comparison, metric.high - metric.low)

    def _difference_by_influence(
        self, new: RowStatistic, old: RowStatistic
    ) -> significance.DifferenceByT:
        """The difference new − old with its standard error to first order: the influence of a
        common unit on the difference is that on the new value minus that on the old one. If no unit
        is common, both values are independent (Welch's t).

        new, old: the statistics on the common units, or on all units if none is common.
        """
        value = new.value - old.value
        # t has at least 1 degree of freedom
        new_freedom = max(new.freedom, 1.0)
        old_freedom = max(old.freedom, 1.0)
        if not self.common_units.size:
            variances = np.array([new.spread.error, old.spread.error]) ** 2
            # `welch_t` takes sample sizes n, of n − 1 degrees of freedom
            sizes = np.array([new_freedom, old_freedom]) + 1
            return significance.welch_t(value, variances, sizes, "influence of units, Welch t")
        matched = self.on_common_units
        spread = Spread.from_influence(matched.new.influence - matched.old.influence)
        # The heavier the tails of the influence values, the fewer degrees of freedom their variance
        # has: at most n − 1, and not more than either value has.
        freedom = min(spread.kurtosis_freedom(spread.n - 1), new_freedom, old_freedom)
        return significance.DifferenceByT(
            value,
            spread.error,
            self.common_units.size,
            freedom,
            "influence of units, t",
            # A standard error far below this scale is taken as rounding error, thus as 0. The scale
            # is the size of the metric, of which a small value has a small error.
            scale=min(1.0, max(abs(new.value), abs(old.value))),
        )

    @cached_property
    def same_rows(self) -> bool:
        """True if the common units have the same rows, with the same actual values and weights, in
        both reports.
        """
        rows = self.on_common_units.rows
        return bool(self.common_units.size) and rows is not None and rows.are_same

    @cached_property
    def relabelled(self) -> int:
        """The number of common rows with different actual values; 0 if the files have no rows."""
        return 0 if self.rows is None else self.rows.on_common_units.n_relabelled


def _rows_of(stored: StoredMetric) -> StoredRows | None:
    """The rows from which the metric can be computed; None if the file has none."""
    if isinstance(stored, StoredRows):
        return stored
    return stored.file.stored_rows(stored.metric_at_k.label, stored.system)


class NewAndOld(NamedTuple):
    """The statistics of a metric in the new and in the old report."""

    new: Statistic
    old: Statistic


# A report read again from its JSON and its units -------------------------------------------------

# By which share of the width of an interval random draws may move its limits.
DRAWS = 0.02
# kinds whose intervals and tests need no more than the terms
KINDS_OF_TERMS = (
    MeanPerUnit,
    Ratio,
    Proportion,
    Loss,
)
# parameters of a report that its intervals and tests depend on
INFERENCE_PARAMETERS = (
    "level",
    "alpha",
    "alternative",
    "margin",
    "baseline",
    "seed",
)
# by the structure of a metric; all others have rows that count alike
DESIGNS = {
    "users": Layout.INDEPENDENT,
    "interleaving": Layout.DIVIDED,
}
Results = Mapping[str, Any]  # the JSON of a report, or a part of it


class StoredSubject(NamedTuple):
    """What a rule is about: a metric of a system, or of its difference from a second one. second:
    "" for the system alone.
    """

    metric: str
    system: str
    second: str


@dataclass(frozen=True, eq=False, repr=False)
class Recomputed(study.Study):
    """The study of a table of a stored report, made again from its JSON and its file of units, so
    that rules are decided at any level.

    file: the file of units. results: the part of the JSON about the table. verdict: that of a
    validation report, else None. table: the name of the table, "" if the report has only one.
    """

    directed_pairs: ClassVar[bool] = True  # those that the report has

    file: UnitFile
    results: Results
    verdict: str | None
    table: str

    @classmethod
    def from_results(cls, file: UnitFile, results: Results, table: str) -> Recomputed:
        """The study of one table of a report, with the metrics of this table.

        file: the units of the report; it also describes the metrics. results: the whole JSON of the
        report. table: the name of the table, "" if the report has only one.
        """
        of_table = results[table] if table else results
        metrics = [
            described_metric(metadata, file.parameters)
            for metadata in file.file_metadata["metrics"]
            if metadata["table"] == table
        ]
        systems = tuple(dict.fromkeys(row["system"] for row in of_table["estimates"]))
        stored = results["parameters"]
        # of all parameters only those on which intervals and tests depend
        parameters = {name: stored[name] for name in INFERENCE_PARAMETERS if name in stored}
        # the report may have chosen it without the parameter, such as the control arm
        parameters["baseline"] = _baseline(of_table, systems, stored)
        p = reports.ComparisonParameters.from_raw(parameters)
        settings = study.settings(p, metrics, slices=TEXTS.read("slices", stored.get("slices")))
        verdict = results.get("verdict", {}).get("word")  # only a validation report has one
        return cls(
            settings,
            systems,
            attributes={},
            p=p,
            sources=(),
            file=file,
            results=of_table,
            verdict=verdict,
            table=table,
        )

    @property
    def unit_name(self) -> str:
        """What the report calls its unit."""
        return str(self.file.file_metadata["unit"][self.table])

    @cached_property
    def broken_design(self) -> str:
        """Why no result counts, as the file of units says."""
        return self.file.broken_design(self.primary_metric.label)

    @property
    def word(self) -> str | None:
        """The verdict of a validation report."""
        return self.verdict

    def measure(
        self,
        chosen: MetricAtK,
        system: str,
        member: study.UnitSelection | StoredSlice = study.EVERY,
    ) -> Statistic:
        """A metric of a system on all units or those of a slice, as the statistic that it had in
        the report: a known value if the report did not compute it; else from the rows if the file
        has them; else from the terms (numerator and denominator of each unit).
        """
        if (chosen.label, system) in self._given_values:
            return self._given_values[chosen.label, system]
        stored = self.file.rows_else_terms(chosen.label, system)
        assert stored is not None
        if isinstance(member, StoredSlice):
            stored = stored.in_slice(member)
        if isinstance(stored, StoredRows):
            return RowStatistic(chosen, stored.rows)
        design = DESIGNS.get(self.file.metrics[chosen.label]["structure"], Layout.PLAIN)
        is_mean = isinstance(chosen.metric.kind, MeanPerUnit)
        # a weighted mean: units have denominators other than 1, so that it is a ratio of sums
        is_ratio = is_mean and stored.terms.denominator is not None
        needs_rows = not isinstance(chosen.metric.kind, KINDS_OF_TERMS)
        # Without units, for a weighted mean, or without the rows that its kind needs, the metric
        # has the interval and test of what its terms are: a share, a ratio or a mean.
        if stored.without_units or is_ratio or needs_rows:
            return stored.statistic(design, mean=stored.averaged)
        cluster = None
        if self.file.clustered[stored.places].any():
            cluster = stored.unit
        return UnitStatistic(chosen, stored.terms, cluster, design)

    @cached_property
    def _given_values(self) -> dict[tuple[str, str], KnownValue]:
        """The values that the report did not compute but got as a parameter, such as the share
        `null` to compare with; by the label of the metric and the system. They have no limits.
        """
        metrics = {chosen.label: chosen for chosen in self.settings.metrics}
        values = {}
        for row in self.results["estimates"]:
            label = row["metric"]
            if row["method"] == methods.GIVEN and label in metrics:
                estimate = intervals.Estimate(
                    row["value"], np.nan, np.nan, row["level"], row["n"], methods.GIVEN
                )
                values[label, row["system"]] = KnownValue(metrics[label], estimate)
        return values

    @property
    def slices(self) -> list[Slice]:
        """The slices of the columns of segments."""
        slices = []
        for name, column in self.file.segments.items():
            for label in self.file.words[column]:
                slices.append(Slice(name, label, StoredSlice(column, label)))
        return slices

    def slices_obstacle(self, column: str) -> str:
        """Why the slices of a column cannot be compared with each other: the report did not."""
        compared = {row["segment"] for row in self.results.get("slices_against_rest", [])}
        return "" if column in compared else "the report that was stored did not compare them"

    @property
    def slices_against_rest(self) -> pd.DataFrame:
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
        if StoredSubject(chosen.label, system, second) in self._reported:
            return ""
        return obstacle("not_reported", first=system, second=second, metric=chosen.label)

    def doubt(self, chosen: MetricAtK, system: str, second: str) -> str:
        """Why a rule cannot be decided by limits recomputed from the units; "" if it can.
        Recomputation is checked at the level of the report, whose limits it must reproduce.

        second: the system that is compared with, "" for a rule about one system.
        """
        decides_by_fold = self.results.get("split", {}).get("decided_by_fold", False)
        if decides_by_fold and not second:  # by the mean over folds, which the units do not have
            return "the report decides by fold; make this rule its gate"
        reported = self._reported[StoredSubject(chosen.label, system, second)]
        if second:
            recomputed = self.compare(chosen, (system, second)).difference
        else:
            recomputed = self.estimate(chosen, system)
        # Random draws may move a limit by the share `DRAWS` of the width of the interval, the sum
        # of the distances of both limits from the value; an infinite one is left out.
        finite_distances = _finite(reported.reach)  # NaN in place of infinity
        tolerance = DRAWS * float(np.nansum(finite_distances))
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
    def _reported(self) -> dict[StoredSubject, intervals.Estimate]:
        """The numbers of the report with their limits: of each metric and system, and of each pair
        in both directions, as a rule may name the systems in either order.
        """
        reported = {}
        for row in self.results["estimates"]:
            subject = StoredSubject(row["metric"], row["system"], second="")
            reported[subject] = _estimate_from_json(row, "value")
        columns = {name: unpacked(column) for name, column in self.results["comparisons"].items()}
        # null in the JSON becomes NaN, which `swap_systems` can negate, unlike None
        for row in pd.DataFrame(columns).fillna(np.nan).to_dict("records"):
            for comparison in (row, diagnostics.swap_systems(row)):
                subject = StoredSubject(
                    comparison["metric"], comparison["first"], comparison["second"]
                )
                reported[subject] = _estimate_from_json(comparison, "difference")
        return reported

    def units_held(self) -> units.Units:
        """None: they are a file."""
        return units.Units(0, ())


def _baseline(results: Results, systems: Sequence[str], parameters: Parameters) -> str | None:
    """The system with which a report compares the others: the parameter `baseline`, or the control
    arm of an experiment. If there is neither, but a one-sided question or a share `null` says which
    system of a pair is compared with which, the second system of all comparisons. Else None: the
    report compares all pairs.

    results: the part of the JSON about the table. parameters: of the report.
    """
    baseline: str | None = parameters.get("baseline")
    is_experiment = "sample_ratio" in results
    if baseline not in systems:  # None, or a system of another table
        baseline = control_of(systems) if is_experiment else None
    if baseline is not None:
        return baseline
    question = Alternative(parameters.get("alternative") or Alternative.TWO_SIDED)
    has_second = question.one_sided or parameters.get("null") is not None
    return _common_second(results["comparisons"]) if has_second else None


def _common_second(comparisons: Results) -> str | None:
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


def _estimate_from_json(row: Results, name: str) -> intervals.Estimate:
    """A number of the JSON with its limits. row: an estimate or a comparison. name: of the field
    with the number.
    """
    value = np.nan if row[name] is None else row[name]
    stored_low = None if pd.isna(row["low"]) else row["low"]
    stored_high = None if pd.isna(row["high"]) else row["high"]
    low, high = limits_from_json(stored_low, stored_high)
    return intervals.Estimate(value, low, high, row.get("level", np.nan), row["n"], row["method"])
