"""The study of interleaved sessions whose log is in memory."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import pandas as pd

from evalkit.arrays import Ints, codes
from evalkit.catalogue.lookup import Chosen
from evalkit.catalogue.preferences import Side
from evalkit.metrics import sums
from evalkit.online import sessions
from evalkit.online.sessions import Log
from evalkit.statistics import inference, interval_methods
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.statistic import Layout, OfUnits
from evalkit.studies import units
from evalkit.studies.interleaving_study import HEAVY, Interleaving
from evalkit.studies.study import EVERY, Member
from evalkit.studies.units import Listed, Units


@dataclass(frozen=True, eq=False, repr=False)
class RowsStudy(Interleaving):
    """The study of a log at hand. again: items shown twice in one session, None without an item column."""

    log: Log
    again: int | None

    @property
    def sessions(self) -> int:
        """How many sessions the log has."""
        return self.log.unit.size

    @property
    def repeated(self) -> int | None:
        """Items shown twice in one session, None without an item column."""
        return self.again

    @cached_property
    def credit(self) -> np.ndarray:
        """Credit by session and arm."""
        return sessions.credit(self.log)

    @cached_property
    def _sides(self) -> tuple[Side, ...]:
        return sessions.sides(self.log.unit, self.credit)

    def sides(self, member: Member = EVERY) -> tuple[Side, ...]:
        """Each arm with one row a user, from the sessions that are members."""
        if isinstance(member, slice):
            return self._sides
        return sessions.sides(self.log.unit[member], self.credit[member])

    @property
    def users(self) -> int:
        """How many users the log has, or sessions where there is no such column."""
        return int(self._sides[0].whole.size)

    @property
    def silent(self) -> int:
        """Users without credit for any arm."""
        return int((self._sides[0].whole == 0).sum())

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> OfUnits:
        """One value a user."""
        design = Layout.DIVIDED if len(self.systems) == 2 else Layout.PLAIN
        return OfUnits(chosen, chosen.sums(self.sides(member)[self.systems.index(system)]), design=design)

    def units_held(self) -> Units:
        """One value a user, and the sessions with the credit of each arm, which tell the slices."""
        users, listed = Listed(np.unique(self.log.unit)), Listed.of(self.log.names, self.log.unit, self.slices)
        blocks = chain(units.of_credit(self.systems, self.credit, listed), units.of_each(self, users).blocks)
        return Units(self.sessions, blocks, self.settings.segments)

    def undefined(self, chosen: Chosen, system: str) -> int:
        """Users for whom the metric is undefined."""
        return int((~self.measure(chosen, system).sums.defined).sum())

    def wins(self, chosen: Chosen, pair: tuple[str, str]) -> tuple[int, int, int]:
        """Users for the first, for both alike, for the second."""
        first, second = (self.measure(chosen, name) for name in pair)
        counted = first.sums.size > 0  # where users weigh by their credit, those without any do not count
        return sums.wins(first.sums.take(counted), second.sums.take(counted))

    def spread(self, chosen: Chosen, pair: tuple[str, str]) -> tuple[float, int]:
        """The standard deviation of the differences over users that a t-test sees; their number."""
        first, second = (self.measure(chosen, name) for name in pair)
        return inference.spread(first, second)

    def session_wins(self, pair: tuple[str, str]) -> tuple[int, int]:
        """Sessions with more credit for the first, and for the second."""
        first, second = (self.credit[:, self.systems.index(name)] for name in pair)
        return int((first > second).sum()), int((first < second).sum())

    # The log itself

    @cached_property
    def checks(self) -> pd.DataFrame:
        """`sessions.checks`, without the positions, which `balance` has."""
        checks = sessions.checks(self.log)
        return checks[checks["expected"].isna()].drop(columns="expected").reset_index(drop=True)

    @cached_property
    def shown(self) -> Ints:
        """Items by position, from 0, and arm; the last column is of neutral items."""
        return sessions.shown(self.log)

    @cached_property
    def _user(self) -> tuple[Ints, int]:
        """The number of the user of each session; how many users there are."""
        number, names = codes(self.log.unit)
        return number, names.size

    def per_item(self, position: int, arm: int) -> Estimate:
        """Outcome per item shown at a position for an arm, users as units, by the jackknife."""
        log, (user, users) = self.log, self._user
        ends = (0.0 if log.outcome.min() >= 0 else -np.inf, 1.0 if log.outcome.max() <= 1 else np.inf)
        here = (log.position == position) & (log.team == arm)
        unit = user[log.session[here]]
        top = np.bincount(unit, log.outcome[here], users)
        items = np.bincount(unit, minlength=users)
        of = sums.Sums(top[items > 0].astype(float), items[items > 0].astype(float))
        return interval_methods.ratio_within(of, *ends, level=self.settings.level)

    @cached_property
    def heavy(self) -> float:
        """Share of all credit that the tenth of the users with most credit gave."""
        credit = np.sort(self._sides[0].whole)[::-1]
        return float(credit[: -(-credit.size // HEAVY)].sum() / credit.sum()) if credit.sum() else float("nan")

    @property
    def heavy_bound(self) -> float:
        """0: every user is counted."""
        return 0.0

    @property
    def flips(self) -> bool:
        """True: the users are at hand."""
        return True
