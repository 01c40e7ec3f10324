"""Tables with a row per quantile, as forecast hubs and scoringutils write them: read as a row per
forecast, with a column per quantile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Floats, Ints
from evalkit.limits import Reading
from evalkit.names import usual
from evalkit.reading.matching.distribution_columns import FORECASTS
from evalkit.reading.matching.samples import ColumnSample, SampledTable
from evalkit.reading.tables.columns import is_number, listed, refused
from evalkit.reading.tables.frames import Frame
from evalkit.reading.tables.parts import InputPart, Source

if TYPE_CHECKING:
    import pandas as pd

Texts = NDArray[np.object_]
QUANTILE, POINT = "quantile", "forecast"
# what a row says that it states -> its column in a table with a row per forecast
STATED = {QUANTILE: QUANTILE, "median": "median", "mean": "mean", "point": POINT}
VALUES = ("value", "predicted", *FORECASTS)  # the usual names of the column of quantiles
JOINED = " · "  # between the cells of an id
DECIMALS = 6  # of a level


@dataclass(frozen=True, eq=False, kw_only=True)
class ForecastFrame(Frame):
    """The forecasts of a table with a row per quantile, each in one row.

    original: the table. first_rows: the number there, from 1, of the first row of each forecast.
    """

    original: InputPart
    first_rows: Ints

    def fingerprint(self, rows: int) -> Source:
        """What the report states of the table, with the number of its forecasts."""
        return self.original.fingerprint(rows)

    def place(self, row: int) -> str:
        """The table and the first row there of a forecast, from 1."""
        return self.original.place(int(self.first_rows[row - 1]))


class Roles(NamedTuple):
    """The columns of a table with a row per quantile; "" for one that it lacks.

    kind: whether a row states a quantile or a point forecast. others: all that name a forecast or
    describe it, the actual value and the system among them.
    """

    level: str
    value: str
    kind: str
    actual: str
    system: str
    others: Sequence[str]


def with_row_per_forecast(
    parts: Sequence[InputPart], chosen: Mapping[str, str], reading: Reading
) -> list[InputPart]:
    """The parts, with a row per forecast in place of a row per quantile.

    chosen: role -> column, as the user names them. Raises InputError for a table with a row per
    quantile that does not fit into memory or has no column of a usual name for the quantiles, for a
    row that states neither a quantile nor a point forecast, and for a forecast with several actual
    values or without a quantile that others have.
    """
    return [_with_row_per_forecast(part, chosen, reading) for part in parts]


def _with_row_per_forecast(
    part: InputPart, chosen: Mapping[str, str], reading: Reading
) -> InputPart:
    """The part with a row per forecast; other parts as they are."""
    table = SampledTable.of(part, chosen)
    level = levels_in_rows(table)
    if not level:
        return part
    roles = _roles(table, level)
    if not roles.value or part.most_rows > reading.rows:
        raise refused(part.name, "levels_in_rows", column=level)
    return QuantileRows.of(part, roles).forecasts(chosen)


def levels_in_rows(table: SampledTable) -> str:
    """The column with the level of the quantile that each row holds, in tables with a row per
    quantile; "" without one, or if the user gives it a role.
    """
    for column in table.columns:
        name = column.snake_case_name
        if name not in usual("distributions")["levels"] or column.name in table.chosen.values():
            continue
        texts = _texts(table.part, column)
        numbers = {float(text) for text in {*texts} if text is not None and is_number(text)}
        if name in ("quantile_level", "output_type_id"):
            levels = {number for number in numbers if 0 < number < 100}
            holds_levels = True
        else:  # quantile and tau may be any numbers: all must be levels that repeat
            levels = {number for number in numbers if 0 < number < 1}
            holds_levels = levels == numbers and 2 * len(levels) <= len(texts)
        if holds_levels and len(levels) > 1:
            return column.name
    return ""


def _texts(part: InputPart, column: ColumnSample) -> Sequence[str | None]:
    """The cells of a column: all of them, as the first rows may be those of one quantile; of a
    table that only a cluster reads the first ones.
    """
    if part.cluster_session is not None:
        return column.cells
    cells: list[str | None] = part.load({"level": column.name}, {})["level"].to_pylist()
    return cells


def _roles(table: SampledTable, level: str) -> Roles:
    """The roles of the columns, by their names."""
    by_name = {column.snake_case_name: column.name for column in table.columns}
    usual_columns = [by_name[name] for name in VALUES if name in by_name]
    value = table.chosen.get("forecast") or next(iter(usual_columns), "")
    free = [column for column in table.columns if column.name not in (level, value)]
    kind = next((column.name for column in free if QUANTILE in column.labels), "")
    others = [column for column in free if column.name != kind]
    rest = SampledTable(table.part, others, table.chosen)
    return Roles(
        level,
        value,
        kind,
        actual=next((column.name for column in rest.named("actual")), ""),
        system=next((column.name for column in rest.named("system")), ""),
        others=[column.name for column in others],
    )


@dataclass(frozen=True, eq=False)
class QuantileRows:
    """The rows of a table with a row per quantile.

    values: the quantile or point forecast of each row. stated: which it is, such as q0.05. cells:
    the texts of the other columns.
    """

    part: InputPart
    roles: Roles
    values: Floats
    stated: Texts
    cells: "pd.DataFrame"

    @classmethod
    def of(cls, part: InputPart, roles: Roles) -> "QuantileRows":
        """The rows of a part. Raises InputError for a value that is no number, and for a row that
        states neither a quantile nor a point forecast.
        """
        import pandas as pd

        names = [name for name in part.columns if name != roles.value]
        loaded = part.load({f"column {name}": name for name in names}, {"value": roles.value})
        cells = pd.DataFrame({name: loaded[f"column {name}"].to_pandas() for name in names})
        values = loaded["value"].to_numpy(zero_copy_only=False)
        stated = _stated(part, cells, roles)
        return cls(part, roles, values, stated, cells[[*roles.others]])

    @cached_property
    def codes(self) -> "pd.DataFrame":
        """A number for each text of `cells`."""
        return self.cells.apply(lambda column: column.factorize()[0])

    @cached_property
    def keys(self) -> list[str]:
        """The columns that name a forecast: as few as are needed for it to state each quantile
        once, those with the fewest values. If even all do not suffice, all but the actual value and
        what numbers rows.
        """
        sizes = self.codes.nunique()
        keys = [name for name in self.cells if sizes[name] < len(self.cells)]
        keys = [name for name in keys if name != self.roles.actual]
        for name in sorted(keys, key=sizes.__getitem__, reverse=True):
            fewer = [key for key in keys if key != name]
            if not self._occurrences(fewer).any():
                keys = fewer
        return keys

    def _occurrences(self, keys: Sequence[str]) -> "pd.Series[int]":
        """How many rows before each one have the same keys and state the same quantile."""
        columns = [self.codes[name] for name in keys]
        return self.cells.groupby([*columns, self.stated]).cumcount()

    @cached_property
    def forecast(self) -> Ints:
        """The number of each row's forecast, from 0. The first rows of each quantile with the same
        keys are one forecast, the second ones another.
        """
        columns = [self.codes[name] for name in self.keys]
        by_forecast = self.cells.groupby([*columns, self._occurrences(self.keys)], sort=False)
        numbers: Ints = by_forecast.ngroup().to_numpy()
        return numbers

    @cached_property
    def first_rows(self) -> Ints:
        """The first row of each forecast, from 0."""
        _, rows = np.unique(self.forecast, return_index=True)
        return rows

    def forecasts(self, chosen: Mapping[str, str]) -> ForecastFrame:
        """The forecasts, with their quantiles, what describes all rows of one, and an id.

        chosen: role -> column, as the user names them.
        """
        import pyarrow as pa

        columns: dict[str, Any] = {name: self._described(name) for name in self._shared}
        columns |= self._quantiles()
        median = columns.get(POINT, columns.get("q0.5"))
        if self.roles.value == chosen.get("forecast") and median is not None:
            columns[self.roles.value] = median
        if "id" not in chosen:
            columns["id"] = self._ids()
        table = pa.table(columns)
        return ForecastFrame(
            name=self.part.name,
            path=Path(self.part.name) if self.part.unnamed else self.part.path,
            columns=tuple(table.column_names),
            table=table,
            original=self.part,
            first_rows=self.first_rows + 1,
        )

    @property
    def _shared(self) -> list[str]:
        """The columns with one value in all rows of a forecast. Raises InputError if that of the
        actual value has several.
        """
        shared = []
        for name in self.cells:
            codes = self.codes[name].to_numpy()
            differs = np.flatnonzero(codes != codes[self.first_rows][self.forecast])
            if not differs.size:
                shared.append(name)
            elif name == self.roles.actual:
                row = int(differs[0])
                texts = self.cells[name]
                first = texts.iloc[self.first_rows[self.forecast[row]]]
                raise refused(
                    self.part.place(row + 1),
                    "several_actual",
                    column=name,
                    first=first,
                    second=texts.iloc[row],
                    keys=listed(self.keys) or "no column",
                )
        return shared

    def _described(self, name: str) -> Any:
        """A column of `cells` by forecast."""
        return self.cells[name].iloc[self.first_rows].to_numpy()

    def _quantiles(self) -> dict[str, Floats]:
        """The quantiles and the point forecasts. Raises InputError for a forecast without one that
        others have.
        """
        columns = dict[str, Floats]()
        for stated in np.unique(self.stated):
            has = self.stated == stated
            lacking = np.setdiff1d(self.forecast, self.forecast[has])
            if lacking.size:
                row = int(self.first_rows[lacking[0]])
                raise refused(
                    self.part.place(row + 1),
                    "lacks_quantile",
                    quantile=stated,
                    count=lacking.size,
                    total=len(self.first_rows),
                    keys=listed(self.keys) or "no column",
                )
            columns[stated] = np.empty(len(self.first_rows))
            columns[stated][self.forecast[has]] = self.values[has]
        return columns

    def _ids(self) -> Sequence[str]:
        """What each forecast is of, whichever system made it: the texts of its keys, and which of
        several with these it is.
        """
        keys = self.cells[[key for key in self.keys if key != self.roles.system]].fillna("")
        occurrences = self._occurrences(self.keys)
        if occurrences.any():
            keys["occurrence"] = (occurrences + 1).astype(str)
        ids: list[str] = keys.iloc[self.first_rows].agg(JOINED.join, axis=1).tolist()
        return ids


def _stated(part: InputPart, cells: "pd.DataFrame", roles: Roles) -> Texts:
    """What each row states, as its column is called in a table with a row per forecast. Raises
    InputError for a row that states neither a quantile nor a point forecast.

    A row without a level states a point forecast, if no column says what it states.
    """
    import pandas as pd

    levels = pd.to_numeric(cells[roles.level], errors="coerce")
    kinds = pd.Series(np.where(levels.isna(), POINT, QUANTILE))
    if roles.kind:
        kinds = cells[roles.kind].map(STATED)
    is_quantile = kinds == QUANTILE
    if (levels[is_quantile] > 1).any():  # percentages
        levels = levels / 100
    is_level = (levels > 0) & (levels < 1)
    if (wrong := np.flatnonzero(kinds.isna())).size:
        column = roles.kind
    else:
        column = roles.level
        wrong = np.flatnonzero(is_quantile & ~is_level)
    if wrong.size:
        row = int(wrong[0])
        cell = cells[column].iloc[row]
        raise refused(part.place(row + 1), "no_level", column=column, cell=cell)
    names = levels.map(lambda level: f"q{level:.{DECIMALS}f}".rstrip("0"))
    return names.where(is_quantile, kinds).to_numpy(dtype=object)
