"""Tables of actual values and forecasts in: long with a system column, or one `forecast_<system>` column a system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from evalkit.arrays import Floats, measurable
from evalkit.reading.inputs import aligned
from evalkit.reading.inputs.aligned import Aligned, Layout
from evalkit.reading.inputs.outcomes import weight_of
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables.parts import Part

ROLES = ("id", "system", "actual", "forecast", "weight")


@dataclass(frozen=True, eq=False)
class Ratings:
    """Rows with an actual value and a forecast by every system."""

    rows: Aligned
    actual: Floats
    forecast: Mapping[str, Floats]
    weight: Floats | None


def read(
    data: Any,
    *,
    columns: Mapping[str, str] | None = None,
    systems: Sequence[str] = (),
    attributes: Sequence[str] = (),
) -> Ratings:
    """The ratings of a file, folder, glob pattern, frame or list of these.

    Raises InputError with file, column, row and value for what cannot be meant.
    """
    given = dict(columns or {})
    roles_of.check_roles(given, ROLES)
    rows = aligned.read(data, partial(_layout, given=given, systems=systems, attributes=attributes), systems)
    forecast = {name: own["forecast"] for name, own in rows.own.items()}
    measurable(rows.columns["actual"], rows.numbers["actual"], rows.place)
    for name, values in forecast.items():
        measurable(f"the forecast by {name!r}", values, aligned.own_place(rows))
    return Ratings(rows, rows.numbers["actual"], forecast, weight_of(rows))


def _layout(part: Part, *, given: Mapping[str, str], systems: Sequence[str], attributes: Sequence[str]) -> Layout:
    roles = roles_of.resolve(part.columns, ROLES, given, part.name, attributes)
    if "actual" not in roles:
        raise roles_of.missing("actual", part.columns, part.name)
    numbers: dict[str, str] = {role: roles[role] for role in ("actual", "weight") if role in roles}
    free = [name for name in part.columns if name not in attributes]
    roles_of.one_way("forecast", free, roles, given, part.name)
    own: dict[str | None, dict[str, str]] = {None: {"forecast": roles["forecast"]}} if "forecast" in roles else {}
    wide = {} if own else aligned.wide_columns(part.columns, "forecast_", systems, part.name)
    own |= {name: {"forecast": column} for name, column in wide.items()}
    if not own:
        raise roles_of.missing("forecast", part.columns, part.name)
    system = None if wide else roles.get("system")
    return Layout(aligned.attributes(part, attributes), numbers, own, id=roles.get("id"), system=system)
