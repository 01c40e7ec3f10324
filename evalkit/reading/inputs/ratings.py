"""Tables of actual values and forecasts in: long with a system column, or one `forecast_<system>` column a system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from evalkit.arrays import Floats
from evalkit.reading.inputs import aligned
from evalkit.reading.inputs.aligned import Aligned, Layout
from evalkit.reading.inputs.outcomes import weight_of
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import rules, sources
from evalkit.reading.tables.parts import Part
from evalkit.reading.tables.rules import Field, Role

ROLES = (
    Role("id"),
    Role("system"),
    Role("actual", rules.MEASURED, required=True),
    Role("forecast", rules.MEASURED, own=True, required=True),
    Role("weight", rules.WEIGHTS),
)


@dataclass(frozen=True, eq=False)
class Ratings:
    """Rows with an actual value and a forecast by every system."""

    rows: Aligned
    actual: Floats
    forecast: Mapping[str, Floats]
    weight: Floats | None


@dataclass(frozen=True, eq=False)
class Forecast:
    """Actual values and forecasts as they come, with what the parameters say of their columns.

    columns: role -> column. systems: those wanted. attributes: columns for segments and unit. beside: columns of
    numbers that metrics are computed from.
    """

    parts: Sequence[Part]
    columns: Mapping[str, str]
    systems: Sequence[str]
    attributes: Sequence[str]
    beside: Sequence[str]

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        columns: Mapping[str, str] | None = None,
        systems: Sequence[str] = (),
        attributes: Sequence[str] = (),
        beside: Sequence[str] = (),
    ) -> "Forecast":
        """From a file, folder, glob pattern, frame or list of these; ParameterError for an unknown role."""
        roles_of.check_roles(columns or {}, [role.name for role in ROLES])
        return cls(sources.parts(data), columns or {}, systems, attributes, beside)

    @cached_property
    def layouts(self) -> list[Layout]:
        """The columns of each part by role; raises InputError for all that are missing or unclear at once."""
        return aligned.layouts(self.parts, lambda part: self._layout(part, [*self.attributes, *self.beside]))

    @cached_property
    def numbered(self) -> list[Layout]:
        """The same with the columns beside as numbers."""
        beside = {f"beside {name}": Field(name, rules.NUMBER) for name in self.beside}
        known = [self._layout(part, self.attributes) for part, _ in zip(self.parts, self.layouts, strict=True)]
        return [replace(layout, shared={**layout.shared, **beside}) for layout in known]

    def _layout(self, part: Part, attributes: Sequence[str]) -> Layout:
        return aligned.layout_of(part, ROLES, self.columns, self.systems, list(dict.fromkeys(attributes)))

    def read(self) -> Ratings:
        """Every row; raises InputError with file, column, row and value for what cannot be meant."""
        rows = aligned.read(self.parts, self.layouts, self.systems)
        forecast = {name: own["forecast"] for name, own in rows.own.items()}
        return Ratings(rows, rows.numbers["actual"], forecast, weight_of(rows))


def read(data: Any, **chosen: Any) -> Ratings:
    """The ratings of a file, folder, glob pattern, frame or list of these; `chosen` as `Forecast.of` takes it."""
    return Forecast.of(data, **chosen).read()
