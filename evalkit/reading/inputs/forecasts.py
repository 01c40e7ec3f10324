"""Tables of forecasts, with the columns of quantiles, intervals, draws and moments beside them."""

from dataclasses import dataclass
from functools import cached_property

from evalkit.metrics.predictive import DEVIATION, is_role
from evalkit.names import usual
from evalkit.reading.inputs.aligned import ColumnLayout, PredictionTable
from evalkit.reading.matching import proposal
from evalkit.reading.matching.column_names import comparable
from evalkit.reading.matching.distribution_columns import distributions
from evalkit.reading.matching.samples import SampledTable
from evalkit.reading.tables import columns as roles_of, parts, rules


@dataclass(frozen=True, eq=False)
class ForecastTable(PredictionTable):
    """A table of forecasts before it is read.

    interval_level: the share of actual values that bounds are to hold whose name states none; None
    if the user states none.
    """

    interval_level: float | None = None

    @property
    def names_suffice(self) -> bool:
        """True if names of columns alone say which are forecasts and actual values, and none states
        a distribution, or if a column that the user names is missing.
        """
        part = self.parts[0]
        if self.mappings[part].missing_columns:
            return True
        return super().names_suffice and not distributions(part.columns, self.interval_level)

    def propose(self, table: SampledTable) -> proposal.Proposal:
        """The actual values, the forecasts and their distributions."""
        return proposal.rating(table, self.interval_level)

    def rules_of(self, role: str) -> rules.Rules:
        """The rules of a column of a distribution: no standard deviation is negative."""
        return (*rules.MEASURED, rules.NOT_NEGATIVE) if role == DEVIATION else rules.MEASURED

    def layout(self, part: parts.InputPart) -> ColumnLayout:
        """The columns of a part by role. Raises InputError for distributions without a point
        forecast.
        """
        found = distributions(part.columns, self.interval_level)
        if not found:
            return super().layout(part)
        proposed = self.propose(self.sample)
        if {*proposed.lacking, *proposed.unclear} == {"forecast"}:
            columns = [*next(iter(found.values())).columns]
            listed = roles_of.listed(map(repr, sorted(columns)))
            raise roles_of.refused(part.name, "no_point", columns=listed)
        return super().layout(part)

    @property
    def horizon(self) -> str | None:
        """The column that says how far ahead each forecast looks, by its name."""
        names = usual("distributions")["horizon"]
        return next((name for name in self.parts[0].columns if comparable(name) in names), None)

    @cached_property
    def distribution_roles(self) -> list[str]:
        """The roles of the columns that state distributions, which every system has."""
        return [role for role in self.layouts[0].predictions if is_role(role)]
