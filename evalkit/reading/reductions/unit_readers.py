"""Values per unit that other things than tables of values hold: labels and probabilities, the
output of trec_eval, an earlier report's JSON, and counts of successes.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, codes
from evalkit.catalogue import lookup
from evalkit.catalogue.metric import Metric, MetricAtK
from evalkit.findings import kinds
from evalkit.limits import ReadingLimits
from evalkit.machine.compressed_files import unpacked
from evalkit.metrics.blocks import Block
from evalkit.metrics.draws import MID_P
from evalkit.metrics.rows import Rows, Sums
from evalkit.numbers import count_with_noun
from evalkit.reading.inputs import aligned
from evalkit.reading.inputs.aligned import ColumnLayout
from evalkit.reading.inputs.unit_columns import UnitTable
from evalkit.reading.inputs.unit_roles import CLUSTER, ID, ROW
from evalkit.reading.reductions import blocks
from evalkit.reading.reductions.units import (
    Key,
    RowCounts,
    UnitBlocks,
    UnitValues,
    refuse_too_many,
    unused,
    wanted,
)
from evalkit.reading.tables import columns as column_roles, rules, table as tables
from evalkit.reading.tables.columns import refused
from evalkit.reading.tables.parts import InputPart, Source
from evalkit.reading.tables.rules import RoleColumn, row_suffix
from evalkit.reading.tables.table import EMPTY_ATTRIBUTE

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# Rows of labels and probabilities -----------------------------------------------------------------

SCORE = "score"
ID_ROLE = rules.Role.declared("id")
SYSTEM = rules.Role.declared("system")
LABEL = rules.Role("label", rules.FLAGS)


def read_losses(
    table: UnitTable,
    named: Mapping[str, str],
    unit: str | None,
    losses: Sequence[Metric],
    reading: ReadingLimits,
) -> UnitValues:
    """The losses of each row, such as log loss, from labels and probabilities of systems, whose
    rows are joined on the id.

    named: role -> column, as the user names them. unit: the column of clusters; None without one.
    """
    predictions = _predictions(table, named, unit)
    rows = _scored_rows(predictions, unit, reading)
    keys = [(SCORE, system) for system in predictions.systems]
    scores = UnitValues.of_table(rows, keys, unit or ROW)
    label = rows["label"].to_numpy()
    rows_of_system = {
        system: Rows(label, scores.values[SCORE, system].numerator) for _, system in keys
    }
    columns = dict(predictions.columns)
    if unit:
        columns["unit"] = unit
    return replace(
        scores,
        values={
            (metric.name, system): MetricAtK(metric).sums(rows_of_system[system])
            for metric, system in product(losses, rows_of_system)
        },
        draws={},
        columns=columns,
        sources=predictions.sources(),
        alone=predictions.rows - len(rows) * len(keys),
    )


def _predictions(table: UnitTable, named: Mapping[str, str], unit: str | None) -> blocks.Blocks:
    """The rows of the systems, to be read in blocks."""
    layouts = [_layout(part, named, unit) for part in table.parts]
    tables.refuse_missing_columns(table.parts, [layout.fields for layout in layouts])
    pieces = blocks.pieces_of(table.engine, table.parts, layouts)
    return blocks.blocks_of(table.engine, pieces, unit=unit)


def _scored_rows(
    predictions: blocks.Blocks, unit: str | None, reading: ReadingLimits
) -> "pa.Table":
    """The rows that every system has. Raises InputError if there are too many, or one has no
    unit.
    """
    import pyarrow.compute as pc

    systems = len(predictions.systems)
    has_ids = predictions.schema.id is not None
    refuse_too_many(predictions.name, predictions.rows // systems, systems + 1, reading.max_values)
    rows = predictions.total(ScoredRows(has_ids)).concatenated([ID], reading.max_listed)
    repeated_ids = None if has_ids else 0
    predictions.check(len(rows), repeated_ids)
    if unit:
        without_unit = rows.filter(pc.equal(rows[CLUSTER], EMPTY_ATTRIBUTE))
        if len(without_unit):
            first = pc.min(without_unit[ID]).as_py() if has_ids else None
            raise predictions.no_unit_error(unit, len(without_unit), first)
    return rows if has_ids else _numbered(rows)


def _numbered(rows: "pa.Table") -> "pa.Table":
    """The rows with their numbers as ids."""
    import pyarrow as pa

    numbers = pa.array(np.arange(1, len(rows) + 1)).cast(pa.string())
    columns = [name for name in rows.column_names if name != ID]
    return rows.select(columns).append_column(ID, numbers)


def _layout(part: InputPart, named: Mapping[str, str], unit: str | None) -> ColumnLayout:
    """The columns of a part; the unit may be the id."""
    units = {unit: aligned.ATTRIBUTE} if unit else {}
    roles = ("system", "id", "label", SCORE)
    mapping = column_roles.match(part.columns, roles, named, part.name, required_columns=units)
    columns = mapping.resolve(["label", SCORE])
    shared = aligned.shared_columns([ID_ROLE, SYSTEM, LABEL], columns, units)
    score = RoleColumn(SCORE, rules.Field(columns[SCORE], rules.PROBABILITIES), 0)
    return ColumnLayout((*shared, score))


@dataclass(frozen=True)
class ScoredRows:
    """A function of a block that makes a table of its rows with their labels and the scores of
    systems, v0, v1, …. It can be pickled.

    identified: True if rows have ids.
    """

    identified: bool

    def __call__(self, block: Block) -> UnitBlocks:
        """The rows of a block, with their ids and units, if they have these."""
        import pyarrow as pa

        columns = {f"v{i}": score for i, score in enumerate(block.predictions)}
        columns["label"] = block.truth.astype(np.int64)
        if self.identified:
            columns[ID] = block.texts
        if block.units is not None:
            columns[CLUSTER] = block.units
        return UnitBlocks((pa.table(columns),), RowCounts(1, 1, len(block)))


# The output of trec_eval --------------------------------------------------------------------------

COUNTS = ("num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
TEXTS = ("runid", "relstring")  # measures whose value is text
ALL = "all"


@dataclass(frozen=True)
class RunOutput:
    """What trec_eval says of a run.

    values: (measure, query) -> value. summaries: the number of lines of the query `all`.
    """

    run: str
    values: Mapping[tuple[str, str], float]
    summaries: int
    source: Source

    @classmethod
    def from_part(cls, part: InputPart) -> "RunOutput":
        """The lines of a file.

        Raises InputError for a line without three fields, for a value that is no number or comes
        again, and for a file with nothing but summaries.
        """
        run = part.path.name.removesuffix(".gz").rsplit(".", 1)[0]
        summaries = 0
        values: dict[tuple[str, str], float] = {}
        for line in output_lines(part):
            if line.measure == "runid":
                run = line.value
            elif line.query == ALL:
                summaries += 1
            elif (line.measure, line.query) in values:
                raise InputError(
                    f"run {run!r}: {line.measure} of query {line.query!r} must come once, got it "
                    f"again"
                )
            elif line.measure not in TEXTS:
                values[line.measure, line.query] = line.number(part)
        if not values:
            raise refused(part.name, "only_summary")
        return cls(run, values, summaries, part.fingerprint(len(values)))


class OutputLine(NamedTuple):
    """A line of the output of trec_eval, and its number in the file, from 1 (place)."""

    place: int
    measure: str
    query: str
    value: str

    def number(self, part: InputPart) -> float:
        """The value. Raises InputError if it is no number."""
        try:
            return float(self.value)
        except ValueError:
            got = f"got {self.value!r} (line {self.place})"
            raise InputError(f"{part.name}: the value must be a number, {got}") from None


def output_lines(part: InputPart) -> Iterator[OutputLine]:
    """The lines that are not blank. Raises InputError for a line without three fields."""
    with unpacked(part.path) as stream:
        text = stream.read().decode("utf-8", errors="replace")
    for place, line in enumerate(text.splitlines(), start=1):
        fields = line.strip().split(None, 2)
        if len(fields) == 3:
            yield OutputLine(place, *fields)
        elif fields:
            got = f"got {line.strip()[:80]!r}"
            raise InputError(f"{part.name}: line {place} must be 'measure query value', {got}")


def read_output(
    parts: Sequence[InputPart], systems: Sequence[str], metrics: Sequence[str]
) -> UnitValues:
    """One value per query of each run, one file per run; lines of `all` are left out and counted.

    metrics: the requested measures; if empty average precision (map), or the first measure. Raises
    InputError if two files have the same run or a value occurs twice.
    """
    runs = _runs(parts)
    measures = list(dict.fromkeys(name for run in runs.values() for name, _ in run.values))
    no_counts = [measure for measure in measures if measure not in COUNTS] or measures
    if not metrics:
        metrics = ["map"] if "map" in no_counts else no_counts[:1]
    chosen = wanted(measures, metrics, "metrics")
    keys = list(product(chosen, wanted(list(runs), systems, "systems")))
    not_compared = [name for name in no_counts if name not in chosen]
    return replace(
        UnitValues.of_frame(_by_query(runs)[keys], "query"),
        columns={"systems": "one file each"},
        directions=dict.fromkeys(chosen, "high"),
        sources=tuple(run.source for run in runs.values()),
        findings=tuple(_output_findings(runs, not_compared)),
    )


def _output_findings(
    runs: Mapping[str, RunOutput], measures: Sequence[str]
) -> Iterator[kinds.Finding]:
    """What was left out. measures: those that are not compared."""
    summaries = sum(run.summaries for run in runs.values())
    yield kinds.SUMMARY_LINES.note(summaries, lines=count_with_noun(summaries, "summary line"))
    yield from unused("Measures that were not compared", measures)


def _by_query(runs: Mapping[str, RunOutput]) -> "pd.DataFrame":
    """A row per query, a column per (measure, run)."""
    import pandas as pd

    table = pd.DataFrame({name: pd.Series(run.values) for name, run in runs.items()})
    return table.unstack(level=0).swaplevel(axis=1)


def _runs(parts: Sequence[InputPart]) -> dict[str, RunOutput]:
    """Name of a run -> the run. Raises InputError if two files have the same run."""
    runs: dict[str, RunOutput] = {}
    for part in parts:
        output = RunOutput.from_part(part)
        if output.run in runs:
            raise InputError(
                f"{part.name}: two files hold the run {output.run!r}; give each run its own runid "
                f"or file name"
            )
        runs[output.run] = output
    return runs


# An earlier report --------------------------------------------------------------------------------


def read_report(parts: Sequence[InputPart]) -> UnitValues:
    """The differences of the headline pair, unit by unit, from a report that evalkit wrote."""
    part = parts[0]
    if len(parts) > 1:
        raise InputError(f"{part.name}: one report at a time, got {len(parts)} files")
    report: Mapping[str, Any] = json.loads(part.path.read_text(encoding="utf-8"))
    differences = _differences(part, report)
    estimates = _headline_estimates(report)
    row = report["headline"][0]
    count = len(differences)
    _refuse_rows(part, estimates, row["unit"], count)
    # of the first system the differences, of the second zeros: their difference is what is known
    terms = [Sums(differences.to_numpy()), Sums(np.zeros(count))]
    values = dict(zip(estimates, terms, strict=True))
    repeated = estimates if MID_P in row.get("method", "") else ()
    return replace(
        UnitValues(differences.index.to_numpy(object), row["unit"], values),
        columns={"differences": f"{row['first']} − {row['second']}"},
        sources=(part.fingerprint(count),),
        reported_estimates=estimates,
        repeated=repeated,
        directions=_directions(report),
    )


def _refuse_rows(
    part: InputPart, estimates: Mapping[Key, Mapping[str, Any]], unit: str, count: int
) -> None:
    """Raise InputError if the report has several differences of a unit. count: of all
    differences.
    """
    units = min(int(estimate["n"]) for estimate in estimates.values())
    if count > units:
        raise refused(part.name, "differences", units=units, name=unit, values=count)


def _headline_estimates(report: Mapping[str, Any]) -> dict[Key, Mapping[str, Any]]:
    """(Metric, system) -> estimate, of the headline's first and second system on the primary
    metric.
    """
    row = report["headline"][0]
    metric = report["primary"]
    estimates = {
        (estimate["metric"], estimate["system"]): estimate for estimate in report["estimates"]
    }
    keys = [(metric, row["first"]), (metric, row["second"])]
    return {key: estimates[key] for key in keys}


def _directions(report: Mapping[str, Any]) -> dict[str, str]:
    """Metric -> which of its values are better."""
    metrics = {metric["name"]: metric for metric in report.get("metrics", [])}
    parameters = report["parameters"]
    return {name: lookup.recorded(metric, name, parameters) for name, metric in metrics.items()}


def _differences(part: InputPart, report: Mapping[str, Any]) -> "pd.Series[float]":
    """The differences by unit. Raises InputError if the report has none."""
    import pandas as pd

    columns = dict(report.get("differences") or {})
    values = columns.pop("values", None) or []
    ids: Sequence[object] = next(iter(columns.values()), [])
    if not values or len(ids) != len(values) or not report.get("headline"):
        raise InputError(
            f"{part.name}: a report of {report['report']!r} without differences of each unit"
        )
    return pd.Series(values, pd.Index(ids, dtype=object), float)


# Successes of trials ------------------------------------------------------------------------------

COUNTED = ("successes", "trials")
MOST = 2**53 - 1  # the largest whole number that a double holds apart from the next one


@dataclass(frozen=True, eq=False)
class Trials:
    """Successes and trials of each system; the systems are independent samples."""

    systems: tuple[str, ...]
    successes: Ints
    trials: Ints
    columns: Mapping[str, str]
    sources: tuple[Source, ...]


def read_trials(table: UnitTable, chosen: Mapping[str, str]) -> Trials:
    """Columns successes and trials; the first column of text names the system of each row.

    Raises InputError for counts that are not whole, for more successes than trials, and for no
    trial at all.
    """
    table.refuse_unlike()
    columns = {role: chosen.get(role, role) for role in COUNTED}
    fields = {role: rules.Field(name, rules.MEASURED) for role, name in columns.items()}
    texts = [column.name for column in table.columns if not column.holds_only_numbers]
    possible = [name for name in texts if name not in columns.values()]
    system = chosen.get("system")
    if not system and possible:
        system = possible[0]
    if system:
        columns["system"] = system
        fields["system"] = rules.Field(system, rules.NAME)
    rows = tables.CheckedTable([tables.read_part(part, fields) for part in table.parts])
    successes = rows.numbers("successes")
    trials = rows.numbers("trials")
    _refuse_uncountable(rows, successes, trials)
    return Trials(
        _trial_names(rows, system),
        successes.astype(np.int64),
        trials.astype(np.int64),
        columns,
        rows.sources,
    )


def _refuse_uncountable(rows: tables.CheckedTable, successes: Floats, trials: Floats) -> None:
    """Raise InputError for counts that are not whole, more successes than trials, no trial, or too
    many to count.
    """
    are_whole = (successes == np.rint(successes)) & (trials == np.rint(trials))
    are_possible = (successes >= 0) & (successes <= trials) & (trials >= 1) & (trials <= MOST)
    wrong = np.flatnonzero(~(are_whole & are_possible))
    if wrong.size:
        first = int(wrong[0])
        part, row = rows.locate(first)
        raise refused(
            part.name, "uncountable", row=row, successes=successes[first], trials=trials[first]
        )


def _trial_names(rows: tables.CheckedTable, column: str | None) -> tuple[str, ...]:
    """The system of each row. column: the one that names it; None without one. Raises InputError if
    it names a system twice.
    """
    if column is None:
        if len(rows) == 1:
            return ("the sample",)
        return tuple(f"row {number}" for number in range(1, len(rows) + 1))
    systems = rows.texts("system")
    code = codes(systems)[0]
    repeated = tables.pair_rows(code, np.zeros_like(code), 1).repeated_row
    if repeated is not None:
        part, row = rows.locate(repeated)
        got = f"got {systems[repeated]!r} again{row_suffix(row)}"
        raise InputError(f"{part.name}: {column} must name each row once, {got}")
    return tuple(map(str, systems))
