"""The planning part of the interleaving study: simulated users of two rankers in each experimental
design.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from evalkit.arrays import ratio
from evalkit.online import simulation
from evalkit.studies.study import Row, frame

WORLDS = {
    "cascade": simulation.World(),
    "cascade, even users": simulation.World(spread=0.0),
    "positions": simulation.World(leave=0.0),
    "positions, even users": simulation.World(leave=0.0, spread=0.0),
}
# where the families of rankers meet, what one play says differs from what a list is worth
BAIT, KINDS = (
    0.5,
    4,
)
NONE = "none"
PRODUCTION, CANDIDATE = 1.6, 1.45
BEST, WORST = 1.2, 2.0
GRID = np.logspace(1.5, 7.5, 61)
OF_ARMS = ("any_play", "plays", "plays, CUPED", "streaming")
DRAWN = ("interleaving, win", "interleaving, share", *(f"A/B, {metric}" for metric in OF_ARMS))
GROUPS = (30, 100, 300, 1000, 3000, 10_000)
FEWEST_GROUPS = 30
LEAST_USERS = 1000


def read(world: str, users: int, rankers: int, *, seed: int) -> "Planning | None":
    """The planning study of a named world; None if none is asked for."""
    return None if world == NONE else Planning(world, users, rankers, seed)


@dataclass(frozen=True, eq=False)
class Planning:
    """Simulated experiments in one world (a set of assumptions about users), reproducible by the
    seed.
    """

    name: str
    users: int
    rankers: int
    seed: int

    @property
    def world(self) -> simulation.World:
        """The assumptions about users, as columns."""
        return WORLDS[self.name]

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *key])

    def _duel(self, world: simulation.World) -> pd.DataFrame:
        return simulation.duel(world, self.users, rng=self._rng(1), noise=(PRODUCTION, CANDIDATE))

    @cached_property
    def outcome(self) -> pd.DataFrame:
        """The results of all simulated users in each design."""
        return self._duel(self.world)

    @cached_property
    def needed(self) -> pd.DataFrame:
        """The users that each design needs, their simulation error, and their ratio to those of the
        first design.

        error: the relative standard error of the numbers of users, twice that of the simulated
        effect.
        """
        designs = simulation.users_needed(self.outcome)
        columns = [_effect_column(design) for design in designs["design"]]
        spread = self.outcome[columns].std().to_numpy() / np.sqrt(self.users)
        error = ratio(2 * spread, designs["effect"].abs())
        return designs.assign(error=error, times=designs["agree_95"] / designs["agree_95"].iloc[0])

    @cached_property
    def curves(self) -> pd.DataFrame:
        """Probability that an experiment prefers the worse ranker, by design and number of
        users.
        """
        rows = self.needed.set_index("design")
        errors = {
            name: simulation.sign_error(rows.at[name, "effect"], rows.at[name, "sd"], GRID)
            for name in DRAWN
        }
        frames = [
            pd.DataFrame({"system": name, "users": GRID, "error": error})
            for name, error in errors.items()
        ]
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def groups(self) -> pd.DataFrame:
        """The same probability by counting: users are split into experiments of n; a tie counts
        half an error.
        """
        o = self.outcome
        rows = []
        for n in (n for n in GROUPS if self.users // n >= FEWEST_GROUPS):
            for name in ("win", "share"):
                rows.append(
                    (f"interleaving, {name}", n, _wrong(_means(o[name], n)[0], o[name].mean()))
                )
            for metric in ("any_play", "plays", "streaming"):
                a, b = (_means(o[f"{metric}_{arm}"], n, arms=2)[i] for i, arm in enumerate("ab"))
                rows.append((f"A/B, {metric}", n, _wrong(b - a, o[f"{metric}_effect"].mean())))
        return pd.DataFrame(rows, columns=["system", "users", "error"])

    @frame
    def worlds(self) -> Iterator[Row]:
        """Users for 95% agreement in each set of assumptions, and their ratios to interleaving by
        the user's win.
        """
        for name, world in WORLDS.items():
            designs = (
                self.needed if name == self.name else simulation.users_needed(self._duel(world))
            )
            need = designs.set_index("design")["agree_95"]
            ab = need[need.index.str.startswith("A/B")]
            raw = ab[~ab.index.str.endswith("CUPED")]
            win = need["interleaving, win"]
            best = raw.min()
            cuped = ab.min()
            row = {
                "world": name,
                "interleaving": win,
                "raw": best,
                "raw_metric": raw.idxmin().removeprefix("A/B, "),
                "cuped": cuped,
                "cuped_metric": ab.idxmin().removeprefix("A/B, "),
            }
            yield row | {"raw_times": best / win, "cuped_times": cuped / win}

    @cached_property
    def candidates(self) -> pd.DataFrame:
        """Many rankers against production; see `simulation.tournament`."""
        noises = np.linspace(BEST, WORST, self.rankers)
        return simulation.tournament(
            self.world, noises, self.each, rng=self._rng(2), production=PRODUCTION
        )

    @property
    def each(self) -> int:
        """The users that each ranker's interleaving and A/B test need."""
        return max(self.users // 4, LEAST_USERS)

    def correlation(self, how: str) -> float:
        """Pearson's r of the interleaving preference with the lift in plays: true, measured or
        cuped.
        """
        return float(self.candidates["share"].corr(self.candidates[f"plays_{how}"]))

    @cached_property
    def families(self) -> pd.DataFrame:
        """Rankers by affinity, click-bait and diversity in this world, with wrapped items of
        several kinds.
        """
        world = replace(self.world, bait=BAIT, kinds=KINDS)
        return simulation.families(world, self.each, rng=self._rng(4), noise=PRODUCTION)

    @cached_property
    def stages(self) -> pd.DataFrame:
        """The two-stage design by number of survivors, with the users that the two rankers above
        need.
        """
        need = self.needed.set_index("design")
        first = _rounded(need.at["interleaving, share", "agree_95"])
        arm = _rounded(need.at["A/B, plays, CUPED", "power_80"] / 2)
        keep = sorted({kept for kept in (1, 2, 3, 5, self.rankers) if kept <= self.rankers})
        users = {"users_interleaved": first, "users_arm": arm}
        return simulation.two_stage(self.candidates, keep=keep, rng=self._rng(3), **users).assign(
            **users
        )


def _effect_column(design: str) -> str:
    """The column of a duel whose mean is the design's effect."""
    parts = design.split(", ")
    return parts[1] if parts[0] == "interleaving" else f"{parts[1]}_effect"


def as_record(w: simulation.World) -> dict[str, float]:
    """The world's numbers by name."""
    return {name: float(value) for name, value in vars(w).items()}


def _rounded(users: float) -> int:
    """Up to two leading digits."""
    step = 10 ** max(int(np.floor(np.log10(users))) - 1, 0)
    return int(np.ceil(users / step) * step)


def _means(values: pd.Series, n: int, arms: int = 1) -> np.ndarray:
    """(arms, experiments): the means of the equal parts, one for each arm, of each group of n
    users.
    """
    return values.to_numpy()[: values.size // n * n].reshape(-1, arms, n // arms).mean(axis=2).T


def _wrong(estimates: np.ndarray, truth: float) -> float:
    """Share of experiments with the wrong sign; 0 is half wrong."""
    sign = np.sign(estimates) * np.sign(truth)
    return float(((sign < 0) + (sign == 0) / 2).mean())
