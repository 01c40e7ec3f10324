"""Tables of forecasts, with the columns of quantiles, intervals, draws and moments beside them."""

from dataclasses import dataclass
from functools import cached_property

from evalkit.metrics.predictive import DEVIATION, MEAN, is_role
from evalkit.names import usual
from evalkit.reading.inputs.aligned import ColumnLayout, PredictionTable
from evalkit.reading.inputs.time_columns import TimeColumns, time_columns
from evalkit.reading.matching import proposal
from evalkit.reading.matching.column_names import comparable_name
from evalkit.reading.matching.distribution_columns import distributions, leveled, numbered
from evalkit.reading.matching.samples import ColumnSample, SampledTable, samples_of
from evalkit.reading.tables import columns as column_roles, parts, rules


@dataclass(frozen=True, eq=False)
class ForecastTable(PredictionTable):
    """A table of forecasts before it is read.

    interval_level: the share of actual values that lie within bounds whose names state no level;
    None if the user states none.
    """

    interval_level: float | None = None

    @property
    def names_suffice(self) -> bool:
        """True if the names of the columns alone say which hold the forecasts and the actual
        values, and none states a distribution or a level or may be a draw; also if a column that
        the user names is missing, which reading refuses.
        """
        part = self.parts[0]
        if self.role_mappings[part].missing_columns:
            return True
        if leveled(part.columns) or distributions(part.columns, self.interval_level):
            return False
        if numbered(part.columns).keys() & set(part.columns):  # cells say whether they are draws
            return False
        return super().names_suffice

    @cached_property
    def layouts(self) -> list[ColumnLayout]:
        """The columns of each part that are read. Raises InputError for columns that could have the
        same role in the distribution of a system.
        """
        layouts = super().layouts
        if self.proposal is not None:
            self._refuse_rivals(self.proposal)
        return layouts

    def _refuse_rivals(self, proposed: proposal.Proposal) -> None:
        """Raise InputError for different columns with one role in the distribution of a system,
        unless they may be something else: any number may be called a mean or a standard deviation.
        """
        part = self.parts[0]
        stated = distributions(part.columns, self.interval_level)
        cells = {column.name: column.cells for column in self.sample.columns}
        is_alone = len(proposed.predictions) == 1
        for system, columns in proposed.predictions.items():
            forecast = columns.get("forecast", "")
            possible = proposal.distributions_of(system, forecast, stated, is_alone=is_alone)
            if not possible:
                continue
            for role, names in possible[0].rivals.items():
                differ = any(cells.get(name) != cells.get(names[0]) for name in names)
                if differ and role not in (MEAN, DEVIATION):
                    listed = column_roles.listed(map(repr, names))
                    raise column_roles.refused(
                        part.name, "rival_columns", columns=listed, role=role
                    )

    def propose_columns(self, table: SampledTable) -> proposal.Proposal:
        """The actual values, the forecasts and their distributions."""
        return proposal.rating(table, self.interval_level)

    def rules_of(self, role: str) -> rules.Rules:
        """The rules of a column of a distribution: no standard deviation is negative."""
        return (*rules.MEASURED, rules.NOT_NEGATIVE) if role == DEVIATION else rules.MEASURED

    def layout(self, part: parts.InputPart) -> ColumnLayout:
        """The columns of a part by role. Raises InputError for distributions without a point
        forecast.
        """
        stated = distributions(part.columns, self.interval_level)
        if not stated:
            return super().layout(part)
        proposed = self.propose_columns(self.sample)
        if set(proposed.lacking_roles).union(proposed.ambiguous_roles) == {"forecast"}:
            first = next(iter(stated.values()))
            listed = column_roles.listed(map(repr, sorted(first.columns)))
            raise column_roles.refused(part.name, "no_point", columns=listed)
        return super().layout(part)

    @cached_property
    def _other_columns(self) -> list[ColumnSample]:
        """The columns without a role; units and segments are among them."""
        used = {
            column.field.column
            for column in self.layouts[0].columns
            if not column.role.startswith("attribute ")
        }
        samples = [ColumnSample(name, cells) for name, cells in self.parts[0].head.items()]
        return [column for column in samples if column.name not in used]

    @property
    def _named_as_horizon(self) -> list[ColumnSample]:
        """The columns without a role that have a usual name of a horizon."""
        names = usual("distributions")["horizon"]
        return [column for column in self._other_columns if comparable_name(column.name) in names]

    @property
    def horizon(self) -> str | None:
        """The column that says how far ahead each forecast looks, by its name, with a few whole
        numbers; None without one.
        """
        for column in self._named_as_horizon:
            if column.is_whole and column.holds_labels:
                return column.name
        return None

    @cached_property
    def time_columns(self) -> TimeColumns | None:
        """The columns of time; None without one."""
        systems = {
            column.field.column for column in self.layouts[0].columns if column.role == "system"
        }
        system = next(
            (column for column in samples_of(self.parts[0]) if column.name in systems), None
        )
        return time_columns(self._other_columns, self.horizon or self._unread_horizon, system)

    @property
    def _unread_horizon(self) -> str | None:
        """The column with the name of a horizon that holds no whole numbers; None without one. It
        is one of time, so that the order in time is refused for it.
        """
        for column in self._named_as_horizon:
            if not column.is_whole:
                return column.name
        return None

    @cached_property
    def distribution_roles(self) -> list[str]:
        """The roles of the columns that state distributions, which every system has."""
        return [role for role in self.layouts[0].predictions if is_role(role)]
