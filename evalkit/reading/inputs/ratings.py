"""Tables of actual values and forecasts in: long with a system column, or one `forecast_<system>` column a system."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalkit.arrays import Floats
from evalkit.reading.inputs import aligned
from evalkit.reading.inputs.aligned import Aligned
from evalkit.reading.inputs.outcomes import weight_of
from evalkit.reading.tables import bookkeeping, rules
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


def of(rows: Aligned) -> Ratings:
    """The ratings of rows at hand; raises InputError where all weights are 0."""
    bookkeeping.refuse_missing(rows.numbers["actual"], None, rows.columns["actual"], rows.sources[0].name)
    forecast = {name: own["forecast"] for name, own in rows.own.items()}
    return Ratings(rows, rows.numbers["actual"], forecast, weight_of(rows))


def read(data: Any, **chosen: Any) -> Ratings:
    """The ratings of a file, folder, glob pattern, frame or list of these; `chosen` as `aligned.given` takes it."""
    return of(aligned.given(data, ROLES, **chosen).read())
