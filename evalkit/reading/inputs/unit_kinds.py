"""Which kind of values a table holds, by its header, by what the user says, and where these do not tell, its cells."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from evalkit.reading.inputs import trec_eval
from evalkit.reading.inputs.unit_cells import Cells, Held
from evalkit.reading.inputs.unit_roles import Columns
from evalkit.reading.inputs.units import COUNTED, VALUE
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables.parts import Part

OF_VALUES = ("unit", "value", "metric", "successes", "trials")  # roles that tables of predictions do not have
OF_PREDICTIONS = ("query", "item", "score", "rank", "label")


@dataclass(frozen=True)
class Header:
    """What tells kinds of input apart: the first part and its columns, and what the user says of them.

    cells: what the columns hold, read only where that matters.
    """

    part: Part
    chosen: Mapping[str, str]
    systems: Sequence[str]
    cells: Cells | None = None

    def has(self, *names: str) -> bool:
        """True if the part has all of these columns."""
        return {*names} <= {*self.part.columns}

    @cached_property
    def roles(self) -> Mapping[str, str]:
        """The roles of predictions that columns play."""
        chosen = {role: name for role, name in self.chosen.items() if role not in OF_VALUES}
        return roles_of.match(self.part.columns, OF_PREDICTIONS, chosen, "").resolved()

    @cached_property
    def system(self) -> bool:
        """True if a column names the system."""
        return bool(self.chosen.get("system") or Columns.of(self.cells or Held([self.part])).system())

    @property
    def is_report(self) -> bool:
        """True of the JSON of an earlier report."""
        return self.part.nested and self.has("schema", "report", "versions")

    @property
    def is_ranking(self) -> bool:
        """True if rows are ranked items of a query."""
        ranked = {"query", "item"} <= {*self.roles} and {"score", "rank"} & {*self.roles}
        return bool(ranked) and not self.chosen.get("value")


KINDS: tuple[tuple[str, Callable[[Header], bool]], ...] = (  # the first that recognises the header
    ("trec_eval", lambda h: trec_eval.is_output(h.part)),
    ("ranking", lambda h: h.part.layout is not None),
    ("report", lambda h: h.is_report),
    ("trials", lambda h: h.has(*(h.chosen.get(role, role) for role in COUNTED))),
    ("ranking", lambda h: h.is_ranking),
    ("wide", lambda h: bool(h.systems) and h.has(*h.systems)),
    ("long", lambda h: h.has(h.chosen.get("value", VALUE)) and h.system),
    ("classification", lambda h: {"label", "score"} <= {*h.roles} and not h.systems),
    ("long", lambda h: h.system or bool(h.chosen.get("value"))),
)


def kind(
    parts: Sequence[Part],
    chosen: Mapping[str, str],
    systems: Sequence[str] = (),
    cells: Cells | None = None,
) -> str:
    """What the columns are: "report", "trec_eval", "ranking", "trials", "long", "classification" or "wide".

    A table with a column of systems is long, unless `systems` names columns of it.
    """
    header = Header(parts[0], chosen, systems, cells)
    return next((name for name, recognises in KINDS if recognises(header)), "wide")


def check_named(parts: Sequence[Part], chosen: Mapping[str, str], unit: str | None) -> None:
    """Raise ParameterError for all columns that the parameters name and a part lacks."""
    named = {name: f"columns: {role}" for role, name in chosen.items()} | ({unit: "unit"} if unit else {})
    for part in parts:
        roles_of.match(part.columns, (), {}, part.name, named=named).resolved()
