"""The study of an A/B table from two readings of users that need not fit into memory."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evalkit import parameters
from evalkit.arrays import ParameterError, ratio
from evalkit.catalogue.lookup import Chosen
from evalkit.metrics.distribution import Counted
from evalkit.online import large_users, logs
from evalkit.online.large_users import LargeUsers
from evalkit.reading.reductions.rereading import Rereading
from evalkit.reading.tables.slices import Slice, of_groups
from evalkit.statistics import arm_passes
from evalkit.statistics.arm_passes import BEFORE, OTHERS, STRATA, Arms, Asked, First, Known, Second
from evalkit.statistics.independent import Arm, t_of_arms
from evalkit.statistics.of_arms import OfArm
from evalkit.statistics.significance import Comparison
from evalkit.studies import units
from evalkit.studies.experiment_study import CAPS, TOPS, Control, Experiment, plain_of
from evalkit.studies.study import EVERY, Member, Settings
from evalkit.studies.units import Block, Listed, Units


@dataclass(frozen=True, eq=False, repr=False)
class SumsStudy(Experiment):
    """The study of users who were read twice. users: by arm. arms: what both readings tell."""

    users: Sequence[int]
    left_out: int
    arms: Arms
    groups: Mapping[str, Sequence[str]]
    rereading: Rereading

    def units_held(self) -> Units:
        """One value a user, in the rows of the user's arm; one shard of users is in memory at once."""
        return Units(self.rereading.rows, self._blocks(), self.settings.segments)

    def _blocks(self) -> Iterator[Block]:
        for named in self.rereading.shards():
            sums = [(chosen, chosen.sums(named.shard.beside)) for chosen in self.settings.metrics]
            slices = {column: named.slices[column] for column in self.settings.segments}
            yield from units.of_arms(self.systems, named.shard.label, sums, Listed(named.id, None, slices))

    @property
    def sizes(self) -> dict[str, int]:
        """Users by arm."""
        return dict(zip(self.systems, self.users, strict=True))

    @property
    def crossed(self) -> int:
        """Users seen in several arms, who are left out."""
        return self.left_out

    @property
    def _known(self) -> Known:
        return self.arms.known

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> OfArm:
        """The metric of an arm in a slice; a slice of Python is all users."""
        group = 0 if isinstance(member, slice) else int(member)  # type: ignore[arg-type]
        return self.arms.measure(chosen, group, self.systems.index(system))

    @cached_property
    def slices(self) -> list[Slice]:
        """The groups of users that share a value of a segment column, by their numbers."""
        return of_groups({column: self.groups[column] for column in self.settings.segments})

    @property
    def _counted(self) -> Counted:
        counted = self._known.counted
        assert counted is not None
        return counted

    @property
    def _pair(self) -> list[int]:
        return [self.systems.index(name) for name in self.opponents]

    def _arm(self, share: float | None, arm: int) -> Arm:
        """The mean of an arm's values, capped at a quantile."""
        assert self.plain is not None
        if share is None:
            return self.arms.means(self.plain.label, arm)
        return self.arms.capped(_shares(self.options).index(share), arm)

    def _column(self, share: float | None) -> str:
        """The name of these values among those of the second reading."""
        assert self.plain is not None
        return self.plain.label if share is None else arm_passes.capped(_shares(self.options).index(share))

    def _compared(self, value: float, arms: Sequence[Arm], unit: str, method: str) -> Comparison:
        return t_of_arms(value, arms, self.settings.level, unit, method)

    def cap(self, share: float) -> float:
        """The quantile of the plain metric's values over the users of all arms."""
        return float(self._counted.quantiles([share])[0])

    def means(self, share: float | None) -> Comparison:
        """The headline pair's difference of means, of values capped at a quantile, or as they are, by Welch's t."""
        first, second = (self._arm(share, arm) for arm in self._pair)
        return self._compared(first.value - second.value, [first, second], self.unit_name, "Welch t")

    def cuped(self, share: float | None) -> Comparison:
        """CUPED by t."""
        column, pair, a = self._column(share), self._pair, self.arms
        product, squares = (sum(a.covariance(arm, side, BEFORE) for arm in pair) for side in (column, BEFORE))
        slope = float(np.nan_to_num(ratio(product, squares)))
        after, before = [self._arm(share, arm) for arm in pair], [a.means(BEFORE, arm) for arm in pair]
        value = after[0].value - after[1].value - slope * (before[0].value - before[1].value)
        form = {column: 1.0, BEFORE: -slope}
        left = [arm_passes.of_moments(a.moments(0, arm), form, value, a.moments(0, arm).n) for arm in pair]
        return self._compared(value, left, "user", "CUPED")

    def stratified(self) -> Comparison:
        """Post-stratified t."""
        pair = self._pair
        users, total = (self._known.strata(at)[:, pair] for at in (0, 1))
        squares = self.arms.g.sums[STRATA].reshape(-1, len(self.systems))[:, pair]
        share, n = users.sum(axis=1) / users.sum(), users.sum(axis=0)
        means = share @ (total / users)
        variance = ((share[:, None] * n / users) ** 2 * squares).sum(axis=0) / (n - 1) / n
        sides = zip(means.tolist(), n.astype(int).tolist(), variance.tolist(), strict=True)
        arms = [Arm(mean, users_of, spread, max(users_of - 1, 1)) for mean, users_of, spread in sides]
        return self._compared(arms[0].value - arms[1].value, arms, "user", "post-stratified t")

    def tops(self) -> dict[float, float]:
        """The share of the whole that the users with most of it have, for each of `TOPS`; none of values below 0."""
        counted = self._counted
        whole = float(counted.values @ counted.rows)
        if counted.low < 0 or whole == 0:
            return {}
        return {top: float(counted.values @ counted.largest(top)) / whole for top in TOPS}

    @cached_property
    def others(self) -> dict[str, int]:
        """By arm the users without the value that more than half have; nothing where there is no such value."""
        if np.isnan(self._known.usual()):
            return {}
        return dict(zip(self.systems, self.arms.g.sums[OTHERS].astype(int).tolist(), strict=True))

    @cached_property
    def control(self) -> Control | None:
        """The second arm of the headline; None where it does not vary."""
        assert self.plain is not None
        name, arm = self.plain.label, self._pair[1]
        amounts, correlation = self.arms.measure(self.plain, 0, arm).amounts, 0.0
        if amounts.n < 2 or amounts.low == amounts.high:
            return None
        if self.options.before:
            both, own, before = (
                self.arms.covariance(arm, *columns) for columns in ((name, BEFORE), (name, name), (BEFORE, BEFORE))
            )
            spread = np.sqrt(own) * np.sqrt(before)
            correlation = float(both / spread) if spread > 0 else 0.0
        return Control(self._arm(None, arm).value, amounts.deviation, correlation)

    @property
    def bounds(self) -> tuple[float, float]:
        """How far quantiles, and shares of heavy users, can lie from those of the users; 0 where all are counted."""
        if self.plain is None:
            return 0.0, 0.0
        c, shares = self._counted, self.concentration
        whole, off = float(c.values @ c.rows), float(c.half @ c.rows)
        each = (float(ratio(c.half @ c.largest(top) + share * off, whole - off)) for top, share in shares.items())
        return c.bound(_shares(self.options)), max(each, default=0.0)

    @property
    def permutes(self) -> bool:
        """False: sums do not tell how users would have been dealt."""
        return False


# Two readings ---------------------------------------------------------------------------------------------------------


def _shares(o: parameters.Interleaving) -> list[float]:
    """The quantiles at which values are capped."""
    return list(dict.fromkeys([o.cap, *CAPS]))


def study_of(t: LargeUsers, settings: Settings, o: parameters.Interleaving, *, sample: bool) -> SumsStudy:
    """The study of a table that is read twice. Raises ParameterError for a metric that some users have no value of."""
    plain = plain_of(settings.metrics)
    asked = Asked(len(t.arms), settings.metrics, settings.metrics[:1], plain, o.before, bool(o.strata))
    first = First(asked, settings.limits.bins)
    known = first.whole(t.reduce(first, first.merge, by_unit=False))
    for label in known.missing:
        raise ParameterError(f"metrics: {label} leaves users out, which needs all rows in memory, got {t.rows:,} rows")
    if o.strata and plain:
        logs.check_strata(o.strata, large_users.strata_of(t), t.arms, known.strata(0).astype(np.int64))
    second = _second(known, o)
    g = second.whole(t.reduce(second, second.merge, by_unit=False))
    fields: dict[str, Any] = {"users": t.sizes, "left_out": t.crossed, "arms": Arms(second, g), "groups": t.slices}
    fields["rereading"] = Rereading(t, sum(t.sizes))
    return SumsStudy(settings, t.arms, {}, {}, o, t.columns, t.sources(), sample, **fields)


def _second(known: Known, o: parameters.Interleaving) -> Second:
    """What the second reading needs to know of the first."""
    counted = known.counted
    if counted is None:
        return Second(known, [], [])
    caps = counted.quantiles(_shares(o)).tolist()
    centres = [float(np.minimum(counted.values, cap) @ counted.rows / counted.rows.sum()) for cap in caps]
    return Second(known, caps, centres)
