"""Tables of actual values and forecasts in: long with a system column, or one `forecast_<system>` column a system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from evalkit.arrays import Floats
from evalkit.reading.inputs import aligned
from evalkit.reading.inputs.aligned import Aligned
from evalkit.reading.inputs.outcomes import weight_of
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import rules, sources
from evalkit.reading.tables.rules import Role

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
    chosen = dict(columns or {})
    roles_of.check_roles(chosen, [role.name for role in ROLES])
    layout = partial(aligned.layout_of, roles=ROLES, chosen=chosen, systems=systems, attributes=attributes)
    parts = sources.parts(data)
    rows = aligned.read(parts, aligned.layouts(parts, layout), systems)
    forecast = {name: own["forecast"] for name, own in rows.own.items()}
    return Ratings(rows, rows.numbers["actual"], forecast, weight_of(rows))
