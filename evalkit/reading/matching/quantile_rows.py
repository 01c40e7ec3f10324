"""Tables with a row per quantile, draw or interval of a forecast, as forecast hubs and scoringutils
write them: read as a row per forecast, with a column for each of these.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Floats, InputError, Ints
from evalkit.limits import ReadingLimits
from evalkit.names import usual
from evalkit.reading.matching.distribution_columns import FORECASTS, distribution_mark
from evalkit.reading.matching.samples import ColumnSample, SampledTable
from evalkit.reading.tables.columns import is_number, listed, refused
from evalkit.reading.tables.frames import Frame
from evalkit.reading.tables.parts import InputPart, Source

if TYPE_CHECKING:
    import pandas as pd

Texts = NDArray[np.object_]
QUANTILE, POINT, DRAW = "quantile", "forecast", "sample"
# what a row says that it states -> its column in a table with a row per forecast
STATED = {QUANTILE: QUANTILE, DRAW: DRAW, "median": "median", "mean": "mean", "point": POINT}
SURE = ("quantile_level", "output_type_id")  # names that hold levels, whatever else they hold
OF_SCORES = ("prob", "probs")  # names whose numbers are rather scores
SIDES = ({"lower", "upper"}, {"low", "high"})
OF_PERCENTAGES = ("percentile", *SURE)  # names whose numbers above 1 are levels
LEVEL = re.compile(r"\s*[pqPQ]?(?P<number>\d+\.?\d*|\.\d+)\s*%?\s*")
FEWEST = 2  # quantiles of a forecast
FEWEST_DRAWS = 5
LEAST_LEVEL = 0.2  # of intervals in rows; lower numbers may count anything
VALUES = ("value", "predicted", *FORECASTS)  # the usual names of the column of quantiles
JOINED = " · "  # between the cells of an id
DECIMALS = 6  # of a level


@dataclass(frozen=True, eq=False, kw_only=True)
class ForecastFrame(Frame):
    """The forecasts of a table with a row per quantile, each in one row.

    original_part: the table. first_rows: the number there, from 1, of the first row of each
    forecast. quantile_rows: how many rows it has.
    """

    original_part: InputPart
    first_rows: Ints
    quantile_rows: int

    def fingerprint(self, rows: int) -> Source:
        """What the report states of the table, with the number of its forecasts."""
        joined = self.quantile_rows if self.quantile_rows > rows else 0
        return replace(self.original_part.fingerprint(rows), quantile_rows=joined)

    def place(self, row: int) -> str:
        """The table and the first row there of a forecast, from 1."""
        return self.original_part.place(int(self.first_rows[row - 1]))


class QuantileRoles(NamedTuple):
    """The columns of a table with a row per quantile; "" for one that it lacks.

    level: the level, or the number of the draw. kind: whether a row states a quantile, a draw or a
    point forecast. usual_kind: what it states without such a column. row_columns: all that name a
    forecast or describe it, the actual value and the system among them.
    """

    level: str
    value: str
    kind: str
    actual: str
    system: str
    row_columns: Sequence[str]
    usual_kind: str = QUANTILE


def with_row_per_forecast(
    parts: Sequence[InputPart], chosen: Mapping[str, str], reading: ReadingLimits
) -> list[InputPart]:
    """The parts, with a row per forecast in place of a row per quantile.

    chosen: role -> column, as the user names them. Raises InputError for a table with a row per
    quantile that does not fit into memory or has no column of a usual name for the quantiles, for a
    row that states neither a quantile nor a point forecast, and for a forecast with several actual
    values or without a quantile that others have.
    """
    return [_with_row_per_forecast(part, chosen, reading) for part in parts]


def _with_row_per_forecast(
    part: InputPart, chosen: Mapping[str, str], reading: ReadingLimits
) -> InputPart:
    """The part with a row per forecast; other parts as they are.

    Draws and intervals in rows are only read if their rows can be joined, since their columns may
    be something else.
    """
    table = SampledTable.from_part(part, chosen)
    if level := levels_in_rows(table):
        roles = _roles(table, level)
        if not roles.value or part.most_rows > reading.rows:
            raise refused(part.name, "levels_in_rows", column=level)
        return QuantileRows.from_part(part, roles).forecasts(chosen)
    try:
        for rows in (_draws_in_rows(table), _intervals_in_rows(table)):
            if rows is not None and part.most_rows <= reading.rows:
                return rows.forecasts(chosen)
    except InputError:
        pass
    if side := column_of_sides(table):
        raise refused(part.name, "sides_in_rows", column=side)
    return part


def levels_in_rows(table: SampledTable) -> str:
    """The column with the level of the quantile that each row holds, in tables with a row per
    quantile; "" without one, or if the user gives it a role.
    """
    for column in _named(table, "levels"):
        name = column.snake_case_name
        texts = _texts(table.part, column)
        levels = _levels({text for text in texts if text is not None})
        known = {text for text, level in levels.items() if 0 < level < 1}
        if len(known) < FEWEST:
            continue
        repeats = len(known) == len(levels) and 2 * len(levels) <= len(texts)
        if name in OF_SCORES and (
            len(set(Counter(texts).values())) > 1 or not _roles(table, column.name).value
        ):
            continue
        # quantile and tau may count anything
        are_levels = all(not is_number(text) or float(text) < 1 for text in known)
        if name in SURE or (repeats and (are_levels or name in OF_PERCENTAGES)):
            return column.name
    return ""


def column_of_sides(table: SampledTable) -> str:
    """The column that says which bound of an interval each row holds; "" without one."""
    found = (column.name for column in _named(table, "sides") if column.labels in SIDES)
    return next(found, "")


def _named(table: SampledTable, use: str) -> Iterable[ColumnSample]:
    """The columns with the names of a use, unless the user gives them a role."""
    names = usual("distributions")[use]
    chosen = set(table.chosen.values())
    for column in table.columns:
        if column.snake_case_name in names and column.name not in chosen:
            yield column


def _levels(texts: Iterable[str]) -> dict[str, float]:
    """The levels that texts state, such as 0.1, 10, 10% and p10; NaN for other texts. Numbers are
    percentages if one of them is above 1.
    """
    matches = {text: LEVEL.fullmatch(text) for text in texts}
    numbers = {text: float(match["number"]) if match else np.nan for text, match in matches.items()}
    if any("%" in text for text in numbers) or any(number > 1 for number in numbers.values()):
        numbers = {text: number / 100 for text, number in numbers.items()}
    return numbers


def _draws_in_rows(table: SampledTable) -> "QuantileRows | None":
    """The rows of a table with a row per draw; None for other tables."""
    for column in _named(table, "draws"):
        texts = _texts(table.part, column)
        counts = Counter(texts)
        are_numbers = all(text is not None and text.isdecimal() for text in counts)
        if not are_numbers or len(counts) < FEWEST_DRAWS or len(set(counts.values())) > 1:
            continue
        roles = _roles(table, column.name)._replace(usual_kind=DRAW)
        if roles.value and 2 * len(counts) <= len(texts):
            return QuantileRows.from_part(table.part, roles)
    return None


def _intervals_in_rows(table: SampledTable) -> "QuantileRows | None":
    """The rows of a table with a row per interval and both of its bounds, or with a row per bound;
    None for other tables.
    """
    for column in _named(table, "interval_levels"):
        texts = _texts(table.part, column)
        levels = _levels({text for text in texts if text is not None})
        marks = {name: distribution_mark(name) for name in table.part.columns}
        bounds = [
            [name for name, mark in marks.items() if mark and (mark.use, mark.number) == (use, "")]
            for use in ("low", "high")
        ]
        if not levels or min(levels.values()) < LEAST_LEVEL or None in texts:
            continue
        if all(len(names) == 1 for names in bounds) and 2 * len(levels) <= len(texts):
            sides = [(bounds[0][0], -1), (bounds[1][0], 1)]
            return QuantileRows.of_bounds(table, column.name, sides, levels)
    return None


def _texts(part: InputPart, column: ColumnSample) -> Sequence[str | None]:
    """The cells of a column: all of them, as the first rows may be those of one quantile; of a
    table that only a cluster reads the first ones.
    """
    if part.cluster_session is not None:
        return column.cells
    cells: list[str | None] = part.load({"level": column.name}, {})["level"].to_pylist()
    return cells


def _roles(table: SampledTable, level: str) -> QuantileRoles:
    """The roles of the columns, by their names."""
    by_name = {column.snake_case_name: column.name for column in table.columns}
    usual_columns = [by_name[name] for name in VALUES if name in by_name]
    value = table.chosen.get("forecast") or next(iter(usual_columns), "")
    free = [column for column in table.columns if column.name not in (level, value)]
    kind = next((column.name for column in free if {QUANTILE, DRAW} & column.labels), "")
    row_columns = [column for column in free if column.name != kind]
    rest = SampledTable(table.part, row_columns, table.chosen)
    return QuantileRoles(
        level,
        value,
        kind,
        actual=next((column.name for column in rest.named("actual")), ""),
        system=next((column.name for column in rest.named("system")), ""),
        row_columns=[column.name for column in row_columns],
    )


@dataclass(frozen=True, eq=False)
class QuantileRows:
    """The rows of a table with a row per quantile.

    values: the quantile or point forecast of each row. stated: which it is, such as q0.05. cells:
    the texts of the other columns. row: the number in the table, from 0.
    """

    part: InputPart
    roles: QuantileRoles
    values: Floats
    stated: Texts
    cells: "pd.DataFrame"
    row: Ints

    @classmethod
    def from_part(cls, part: InputPart, roles: QuantileRoles) -> "QuantileRows":
        """The rows of a part. Raises InputError for a value that is no number, and for a row that
        states neither a quantile nor a point forecast.
        """
        import pandas as pd

        names = [name for name in part.columns if name != roles.value]
        loaded = part.load({f"column {name}": name for name in names}, {"value": roles.value})
        cells = pd.DataFrame({name: loaded[f"column {name}"].to_pandas() for name in names})
        values = loaded["value"].to_numpy(zero_copy_only=False)
        stated = _stated(part, cells, roles)
        row = np.arange(len(values))
        return cls(part, roles, values, stated, cells[list(roles.row_columns)], row)

    @classmethod
    def of_bounds(
        cls,
        table: SampledTable,
        level: str,
        sides: Sequence[tuple[str, int]],
        levels: Mapping[str, float],
    ) -> "QuantileRows":
        """The bounds of a table with a row per interval, the lower ones first.

        level: the column of levels. sides: the columns of the lower and of the upper bounds, with
        -1 and 1. levels: the levels by their texts.
        """
        import pandas as pd

        part = table.part
        bounds = [name for name, _ in sides]
        names = [name for name in part.columns if name not in bounds]
        numbers = {f"bound {name}": name for name in bounds}
        loaded = part.load({f"column {name}": name for name in names}, numbers)
        cells = pd.DataFrame({name: loaded[f"column {name}"].to_pandas() for name in names})
        half = cells[level].map(levels) / 2
        values = [loaded[name].to_numpy(zero_copy_only=False) for name in numbers]
        stated = [_quantile_names(0.5 + sign * half) for _, sign in sides]
        free = [column for column in table.columns if column.name not in (level, *bounds)]
        rest = SampledTable(part, free, table.chosen)
        roles = QuantileRoles(
            level,
            "",
            "",
            actual=next((column.name for column in rest.named("actual")), ""),
            system=next((column.name for column in rest.named("system")), ""),
            row_columns=[column.name for column in free],
        )
        both = pd.concat([cells[list(roles.row_columns)]] * 2, ignore_index=True)
        row = np.tile(np.arange(len(cells)), 2)
        return cls(part, roles, np.concatenate(values), np.concatenate(stated), both, row)

    @cached_property
    def codes(self) -> "pd.DataFrame":
        """A number for each text of `cells`."""
        return self.cells.apply(lambda column: column.factorize()[0])

    @cached_property
    def forecast_keys(self) -> list[str]:
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
        columns = [self.codes[name] for name in self.forecast_keys]
        by_forecast = self.cells.groupby(
            [*columns, self._occurrences(self.forecast_keys)], sort=False
        )
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
        if np.array_equal(columns.get("median", 0), columns.get("q0.5", 1)):
            del columns["median"]
        median = columns.get(POINT, columns.get("q0.5"))
        if self.roles.value == chosen.get("forecast") and median is not None:
            columns[self.roles.value] = median
        if "id" not in chosen:
            columns["id"] = self._ids()
        table = pa.table(columns)
        path = Path(self.part.name) if self.part.unnamed else self.part.path
        return ForecastFrame(
            name=self.part.name,
            path=path,
            columns=tuple(table.column_names),
            table=table,
            original_part=self.part,
            first_rows=self.row[self.first_rows] + 1,
            quantile_rows=int(self.row.max()) + 1,
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
                    self.part.place(int(self.row[row]) + 1),
                    "several_actual",
                    column=name,
                    first=first,
                    second=texts.iloc[row],
                    keys=listed(self.forecast_keys) or "no column",
                )
        return shared

    def _described(self, name: str) -> Any:
        """A column of `cells` by forecast, as an Arrow array."""
        import pyarrow as pa

        return pa.array(self.cells[name].iloc[self.first_rows], pa.string(), from_pandas=True)

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
                    self.part.place(int(self.row[row]) + 1),
                    "lacks_quantile",
                    quantile=stated,
                    count=lacking.size,
                    total=len(self.first_rows),
                    keys=listed(self.forecast_keys) or "no column",
                )
            columns[stated] = np.empty(len(self.first_rows))
            columns[stated][self.forecast[has]] = self.values[has]
        return columns

    def _ids(self) -> Sequence[str]:
        """What each forecast is of, whichever system made it: the texts of its keys, and which of
        several with these it is.
        """
        keys = self.cells[[key for key in self.forecast_keys if key != self.roles.system]].fillna(
            ""
        )
        occurrences = self._occurrences(self.forecast_keys)
        if occurrences.any():
            keys["occurrence"] = (occurrences + 1).astype(str)
        ids: list[str] = keys.iloc[self.first_rows].agg(JOINED.join, axis=1).tolist()
        return ids


def _stated(part: InputPart, cells: "pd.DataFrame", roles: QuantileRoles) -> Texts:
    """What each row states, as its column is called in a table with a row per forecast. Raises
    InputError for a row that states neither a quantile nor a point forecast.

    A row without a level states a point forecast, if no column says what it states.
    """
    import pandas as pd

    texts = cells[roles.level]
    kinds = pd.Series(np.where(texts.isna() | (texts == "NA"), POINT, roles.usual_kind))
    if roles.kind:
        kinds = cells[roles.kind].map(STATED)
    is_quantile = kinds == QUANTILE
    levels = texts.map(_levels(texts[is_quantile].dropna().unique()))
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
    numbers = pd.Series(texts.factorize()[0]).astype(str)
    names = kinds.where(kinds != DRAW, f"{DRAW}_" + numbers)
    return np.where(is_quantile, _quantile_names(levels), names).astype(object)


def _quantile_names(levels: "pd.Series[float]") -> Texts:
    """The columns of quantiles by their levels, such as q0.05."""
    names = levels.map(lambda level: f"q{level:.{DECIMALS}f}".rstrip("0"))
    texts: Texts = names.to_numpy(dtype=object)
    return texts
