"""The study of interleaved sessions: how far users prefer each arm, and whether the draft was fair.

Where the users are its two subclasses know: `interleaving_rows` and `interleaving_sums`.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Ints
from evalkit.catalogue.lookup import Chosen
from evalkit.online.experiments import sample_ratio
from evalkit.reading.tables.parts import Source
from evalkit.statistics import intervals, multiplicity, power
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.methods import Options
from evalkit.studies.study import Study
from evalkit.studies.words import unit_noun

HEAVY = 10  # one in so many users is heavy


@dataclass(frozen=True, eq=False, repr=False)
class Interleaving(Study):
    """The study of interleaved sessions: arms as systems, users as units; slices are of sessions."""

    columns: Mapping[str, str]
    inputs: tuple[Source, ...]
    simulated: bool

    compares: ClassVar[str] = "arm"

    # What the sessions tell

    @property
    @abstractmethod
    def sessions(self) -> int:
        """How many sessions the log has."""

    @property
    @abstractmethod
    def users(self) -> int:
        """How many users the log has, or sessions where there is no such column."""

    @property
    @abstractmethod
    def silent(self) -> int:
        """Users without credit for any arm."""

    @property
    @abstractmethod
    def repeated(self) -> int | None:
        """Items shown twice in one session, None without an item column."""

    @property
    @abstractmethod
    def shown(self) -> Ints:
        """Items by position, from 0, and arm; the last column is of neutral items."""

    @property
    @abstractmethod
    def heavy(self) -> float:
        """Share of all credit that the tenth of the users with most credit gave."""

    @property
    @abstractmethod
    def heavy_bound(self) -> float:
        """How far `heavy` can lie from that share; 0 where all users are counted."""

    @property
    @abstractmethod
    def flips(self) -> bool:
        """Whether signs of users are flipped where they are few, which needs the value of each."""

    @property
    @abstractmethod
    def checks(self) -> pd.DataFrame:
        """`sessions.checks`, without the positions, which `balance` has."""

    @abstractmethod
    def undefined(self, chosen: Chosen, system: str) -> int:
        """Users for whom the metric is undefined."""

    @abstractmethod
    def wins(self, chosen: Chosen, pair: tuple[str, str]) -> tuple[int, int, int]:
        """Users for the first, for both alike, for the second; those whose credit counts nothing are left out."""

    @abstractmethod
    def spread(self, chosen: Chosen, pair: tuple[str, str]) -> tuple[float, int]:
        """The standard deviation of the differences over users that a t-test sees; their number."""

    @abstractmethod
    def session_wins(self, pair: tuple[str, str]) -> tuple[int, int]:
        """Sessions with more credit for the first, and for the second."""

    @abstractmethod
    def per_item(self, position: int, arm: int) -> Estimate:
        """Outcome per item shown at a position for an arm, users as units, by the jackknife."""

    # What the page asks

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.inputs

    @property
    def clustered(self) -> bool:
        """Whether a user column was there."""
        return "user" in self.columns

    @property
    def unit_name(self) -> str:
        """The user, or what the input calls it; the session where there is no such column."""
        return unit_noun(self.columns["user"], "user") if self.clustered else "session"

    @property
    def items(self) -> int:
        """How many items were shown."""
        return int(self.shown.sum())

    def inference_options(self, key: int) -> Options:
        """What intervals and tests depend on; both take the same signs of users, as one follows from the other."""
        return super().inference_options(2)

    def estimate_extras(self, chosen: Chosen, system: str, estimate: Estimate) -> dict[str, Any]:
        """Users without credit, for whom the metric is undefined."""
        return {"undefined": self.undefined(chosen, system)}

    def comparison_extras(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, Any]:
        """Users for the first, for both alike, for the second; the difference that would show."""
        wins, ties, losses = self.wins(chosen, pair)
        detectable = power.minimum_detectable(*self.spread(chosen, pair), level=self.family_level)
        return {"wins": wins, "ties": ties, "losses": losses, "detectable": detectable}

    # The log itself

    @cached_property
    def balance(self) -> pd.DataFrame:
        """Each arm's share of the items with a team at each position; p that a fair coin drew them, by Holm.

        Position 1 is the coin itself. Sessions are units here: each has its own coin.
        """
        owned, rows, p = self.shown[:, :-1], [], []
        for position in np.flatnonzero(owned.any(axis=1)):
            counts = owned[position]
            p.append(sample_ratio(counts))
            for system, count in zip(self.systems, counts.tolist(), strict=True):
                e = intervals.wilson(count, int(counts.sum()), level=self.settings.level)
                place = {"position": int(position), "system": system, "count": count, "n": e.n}
                rows.append(place | {"share": e.value, "low": e.low, "high": e.high})
        k = len(self.systems)
        return pd.DataFrame(rows).assign(p=np.repeat(p, k), adjusted=np.repeat(multiplicity.holm(p), k))

    @property
    def coins(self) -> pd.DataFrame:
        """The rows of `balance` to show: of two arms those of the first, whose share says it all."""
        return self.balance if len(self.systems) > 2 else self.balance[self.balance["system"] == self.systems[0]]

    @cached_property
    def by_position(self) -> pd.DataFrame:
        """Outcome per item shown at each position for each arm, users as units, by the jackknife."""
        rows = []
        for position in range(1, len(self.shown)):
            for arm, system in enumerate(self.systems):
                e = self.per_item(position, arm)
                place = {"system": system, "position": position, "shown": int(self.shown[position, arm])}
                rows.append(place | {"value": e.value, "low": e.low, "high": e.high, "n": e.n})
        return pd.DataFrame(rows)

    @cached_property
    def session_p(self) -> float:
        """p of the sign test of the first pair that takes sessions for units: shown to warn, never to decide."""
        from evalkit.statistics.signflip import fair_coin

        wins, losses = self.session_wins(self.opponents)
        return fair_coin(wins, wins + losses) if wins + losses else 1.0
