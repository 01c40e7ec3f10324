"""The study of interleaved sessions from two readings of a log that need not fit into memory."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from evalkit.arrays import Ints, ratio
from evalkit.catalogue import lookup
from evalkit.catalogue.lookup import Chosen
from evalkit.online import large_log, logs, sessions
from evalkit.online.large_log import LargeLog
from evalkit.online.log_passes import Asked, First, Known, Second, Users
from evalkit.reading.tables.slices import Slice, of_groups
from evalkit.statistics import interval_methods
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.of_moved import OfMoved
from evalkit.studies import units
from evalkit.studies.interleaving_study import HEAVY, Interleaving
from evalkit.studies.study import EVERY, Member, Settings
from evalkit.studies.units import Block, Listed, Units

METRICS = ("user_share", "session_wins", "credit_share")  # that the findings need, whatever is asked for


@dataclass(frozen=True, eq=False, repr=False)
class SumsStudy(Interleaving):
    """The study of a log that was read twice. summed: what both readings tell. count: sessions. most: outcome."""

    summed: Users
    count: int
    most: float
    groups: Mapping[str, Sequence[str]]
    log: LargeLog

    def units_held(self) -> Units:
        """One value a user, and the sessions with the credit of each arm; some users are in memory at once."""
        return Units(self.sessions, self._blocks(), self.settings.segments)

    def _blocks(self) -> Iterator[Block]:
        for users, shard in self.log.shards():
            parts = zip(self.groups.items(), shard.slice, strict=True)
            slices = {column: (labels, code) for (column, labels), code in parts if column in self.settings.segments}
            listed = Listed(shard.names, users.take(shard.log.unit), slices)
            yield from units.of_credit(self.systems, shard.credit, listed)
            sides = dict(zip(self.systems, sessions.sides(shard.log.unit, shard.credit), strict=True))
            every = [(name, chosen) for name in self.systems for chosen in self.settings.metrics]
            terms = [(name, chosen, chosen.sums(sides[name])) for name, chosen in every]
            yield from units.of_terms(terms, Listed(users))

    @property
    def _known(self) -> Known:
        return self.summed.known

    @property
    def sessions(self) -> int:
        """How many sessions the log has."""
        return self.count

    @property
    def users(self) -> int:
        """How many users the log has, or sessions where there is no such column."""
        return self._known.users

    @property
    def silent(self) -> int:
        """Users without credit for any arm."""
        return self._known.silent

    @property
    def repeated(self) -> int | None:
        """Items shown twice in one session, None without an item column."""
        return self._known.repeated if "item" in self.columns else None

    @property
    def shown(self) -> Ints:
        """Items by position, from 0, and arm; the last column is of neutral items."""
        return self._known.shown

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> OfMoved:
        """The metric of an arm in a slice; a slice of Python is all sessions."""
        group = 0 if isinstance(member, slice) else int(member)  # type: ignore[arg-type]
        return self.summed.measure(chosen, group, self.systems.index(system))

    @cached_property
    def slices(self) -> list[Slice]:
        """The groups of sessions that share a value of a segment column, by their numbers."""
        return of_groups({column: self.groups[column] for column in self.settings.segments})

    def _pair(self, pair: tuple[str, str]) -> list[int]:
        return [self.systems.index(name) for name in pair]

    def undefined(self, chosen: Chosen, system: str) -> int:
        """Users for whom the metric is undefined."""
        return self.users - self.measure(chosen, system).n

    def wins(self, chosen: Chosen, pair: tuple[str, str]) -> tuple[int, int, int]:
        """Users for the first, for both alike, for the second."""
        return self._known.wins(chosen, *self._pair(pair))

    def spread(self, chosen: Chosen, pair: tuple[str, str]) -> tuple[float, int]:
        """The standard deviation of the differences over users that a t-test sees; their number."""
        first, second = (self.measure(chosen, name) for name in pair)
        d = first.paired(second)
        return d.spread, d.n

    def session_wins(self, pair: tuple[str, str]) -> tuple[int, int]:
        """Sessions with more credit for the first, and for the second."""
        return self._known.session_wins(*self._pair(pair))

    @cached_property
    def checks(self) -> pd.DataFrame:
        """`sessions.checks`, without the positions, which `balance` has."""
        count, of = self._known.checks.T
        return pd.DataFrame({"check": sessions.COUNTED, "count": count, "of": of, "share": ratio(count, of)})

    def per_item(self, position: int, arm: int) -> Estimate:
        """Outcome per item shown at a position for an arm, users as units, by the jackknife."""
        ends = 0.0, 1.0 if self.most <= 1 else float("inf")
        return interval_methods.arm_within(*self.summed.per_item(position, arm), *ends, level=self.settings.level)

    @property
    def _heaviest(self) -> Ints:
        """How many users of each credit are among the tenth with most of it."""
        return self._known.whole.top(-(-self.users // HEAVY))

    @cached_property
    def heavy(self) -> float:
        """Share of all credit that the tenth of the users with most credit gave."""
        whole = self._known.whole
        return float(whole.values @ self._heaviest) / float(whole.values @ whole.rows)

    @property
    def heavy_bound(self) -> float:
        """How far `heavy` can lie from that share: users are counted in bins of credit."""
        whole = self._known.whole
        credit, off = float(whole.values @ whole.rows), float(whole.half @ whole.rows)
        return float(ratio(whole.half @ self._heaviest + self.heavy * off, credit - off))

    @property
    def flips(self) -> bool:
        """False: sums do not tell what other signs of users would give."""
        return False


def study_of(t: LargeLog, settings: Settings, *, simulated: bool) -> SumsStudy:
    """The study of a log that is read twice. Raises InputError for a session that contradicts itself."""
    needed = (lookup.find(name, "interleaving") for name in METRICS)
    metrics = list(dict.fromkeys([*settings.metrics, *needed]))
    asked = Asked(len(t.arms), metrics, settings.metrics[:1], t.longest)
    known: Known = t.by_user(First(asked, settings.limits.bins))
    if known.broken:
        raise large_log.refusal(t)
    if not known.credit:
        raise logs.no_credit(t.columns["outcome"])
    summed: Users = t.by_user(Second(known))
    more = (summed, t.sessions, t.most, t.slices, t)
    return SumsStudy(settings, t.arms, {}, {}, t.columns, t.sources(), simulated, *more)
