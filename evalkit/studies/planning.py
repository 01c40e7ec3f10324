"""The planning part of the interleaving study: simulated users of two rankers in each experimental
design.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, ratio
from evalkit.online import simulation
from evalkit.studies.study import Row, frame

WORLDS = {
    "cascade": simulation.World(),
    "cascade, even users": simulation.World(spread=0.0),
    "positions": simulation.World(leave=0.0),
    "positions, even users": simulation.World(leave=0.0, spread=0.0),
}
# of the world where the families of rankers meet: there what one play says differs from what a list
# is worth
BAIT = 0.5  # the standard deviation of how items are wrapped
KINDS = 4  # of items
NONE = "none"  # the parameter `world` of a report without planning
# the noise of rankers: less is better
PRODUCTION_NOISE = 1.6
CANDIDATE_NOISE = 1.45
BEST = 1.2  # of many rankers
WORST = 2.0
GRID = np.logspace(1.5, 7.5, 61)  # numbers of users
ARM_METRICS = ("any_play", "plays", "plays, CUPED", "streaming")  # of an A/B test
DRAWN = ("interleaving, win", "interleaving, share", *(f"A/B, {metric}" for metric in ARM_METRICS))
GROUP_SIZES = (30, 100, 300, 1000, 3000, 10_000)  # users of experiments that are counted
FEWEST_GROUPS = 30  # experiments of which an error rate is told
LEAST_USERS = 1000


def read(world: str, users: int, rankers: int, *, seed: int) -> "Planning | None":
    """The planning study of a named world; None if none is asked for. users: how many are
    simulated. rankers: how many candidates the two-stage design has.
    """
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

    def _rng(self, key: int) -> np.random.Generator:
        """The random numbers of one of the simulations. key: its number."""
        return np.random.default_rng([self.seed, key])

    def _duel(self, world: simulation.World) -> pd.DataFrame:
        """Production and a candidate in each design; one row for each simulated user of a world."""
        return simulation.simulate_designs(
            world, self.users, rng=self._rng(1), noise=(PRODUCTION_NOISE, CANDIDATE_NOISE)
        )

    @cached_property
    def outcome(self) -> pd.DataFrame:
        """The results of all simulated users in each design."""
        return self._duel(self.world)

    @cached_property
    def needed(self) -> pd.DataFrame:
        """The users that each design needs, as `simulation.users_needed`, with the columns error
        and times.

        error: the relative standard error of the numbers of users, twice that of the simulated
        effect. times: their ratio to those of the first design.
        """
        designs = simulation.users_needed(self.outcome)
        columns = [_effect_column(design) for design in designs["design"]]
        spread = self.outcome[columns].std().to_numpy() / np.sqrt(self.users)
        error = ratio(2 * spread, designs["effect"].abs())
        return designs.assign(error=error, times=designs["agree_95"] / designs["agree_95"].iloc[0])

    @cached_property
    def curves(self) -> pd.DataFrame:
        """The probability that an experiment prefers the worse ranker, by design and number of
        users, from the normal approximation. Columns: system (the design), users, error.
        """
        needed = self.needed.set_index("design")
        frames = []
        for design in DRAWN:
            effect = needed.at[design, "effect"]
            error = simulation.sign_error(effect, needed.at[design, "sd"], GRID)
            frames.append(pd.DataFrame({"system": design, "users": GRID, "error": error}))
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def groups(self) -> pd.DataFrame:
        """A check of `curves` without its approximation: the simulated users are split into
        experiments of n users, and those with the wrong sign are counted, a tie as half. Columns:
        system (the design), users (n), error (their share).
        """
        outcome = self.outcome
        rows = []
        for n in GROUP_SIZES:
            if self.users // n < FEWEST_GROUPS:  # too few experiments for a rate
                continue
            for name in ("win", "share"):
                # interleaving has one arm, as every user sees both rankers
                (effects,) = _means(outcome[name], n, arms=1)  # one per experiment
                error = _wrong_share(effects, outcome[name].mean())
                rows.append({"system": f"interleaving, {name}", "users": n, "error": error})
            for metric in ("any_play", "plays", "streaming"):
                # Each user was simulated in both arms, but takes part in one: the first half of
                # the users of an experiment in arm a, the second half in arm b.
                mean_a, _ = _means(outcome[f"{metric}_a"], n, arms=2)
                _, mean_b = _means(outcome[f"{metric}_b"], n, arms=2)
                error = _wrong_share(mean_b - mean_a, outcome[f"{metric}_effect"].mean())
                rows.append({"system": f"A/B, {metric}", "users": n, "error": error})
        return pd.DataFrame(rows, columns=["system", "users", "error"])

    @frame
    def worlds(self) -> Iterator[Row]:
        """The number of users that an experiment needs so that 95% of experiments have the correct
        sign, a row for each world (set of assumptions about users).

        Columns: world; interleaving, the users that interleaving needs if each user is one win for
        the ranker with more credit; raw and raw_metric, the users of the A/B test without CUPED
        that needs the fewest, and its metric; cuped and cuped_metric, the same of all A/B tests,
        with and without CUPED; raw_times and cuped_times, the ratios of raw and cuped to
        interleaving.
        """
        for name, world in WORLDS.items():
            if name == self.name:
                designs = self.needed  # the world of this study has been simulated already
            else:
                simulated_users = self._duel(world)  # production against a candidate
                designs = simulation.users_needed(simulated_users)
            users = designs.set_index("design")["agree_95"]
            # names of designs are such as "interleaving, win" and "A/B, plays, CUPED"
            ab = users[users.index.str.startswith("A/B")]
            raw = ab[~ab.index.str.endswith("CUPED")]
            interleaving = users["interleaving, win"]
            yield {
                "world": name,
                "interleaving": interleaving,
                "raw": raw.min(),
                "raw_metric": raw.idxmin().removeprefix("A/B, "),
                "cuped": ab.min(),
                "cuped_metric": ab.idxmin().removeprefix("A/B, "),
                "raw_times": raw.min() / interleaving,
                "cuped_times": ab.min() / interleaving,
            }

    @cached_property
    def candidates(self) -> pd.DataFrame:
        """Many rankers against production; see `simulation.tournament`."""
        noises = np.linspace(BEST, WORST, self.rankers)
        return simulation.tournament(
            self.world, noises, self.users_per_ranker, rng=self._rng(2), production=PRODUCTION_NOISE
        )

    @property
    def users_per_ranker(self) -> int:
        """The simulated users of each ranker's interleaving and A/B test."""
        return max(self.users // 4, LEAST_USERS)

    def correlation(self, how: str) -> float:
        """Pearson's r over the candidates of the interleaving preference with the lift in plays.
        how: which lift, "true", "measured" or "cuped", as in `simulation.tournament`.
        """
        return float(self.candidates["share"].corr(self.candidates[f"plays_{how}"]))

    @cached_property
    def families(self) -> pd.DataFrame:
        """Rankers by affinity, click-bait and diversity in this world, with wrapped items of
        several kinds.
        """
        world = replace(self.world, bait=BAIT, kinds=KINDS)
        rng = self._rng(4)
        return simulation.families(world, self.users_per_ranker, rng=rng, noise=PRODUCTION_NOISE)

    @cached_property
    def stages(self) -> pd.DataFrame:
        """The design with two stages: interleave each of many candidates with production, then
        compare the best n of them with production in an A/B test. A row for each n, with the
        columns of `simulation.two_stage`, users_interleaved (per candidate) and users_arm.
        """
        # both stages have the users that detect the candidate of `needed`: interleaving with the
        # correct sign in 95% of experiments, the A/B test with a power of 80% on plays with CUPED
        needed = self.needed.set_index("design")
        users_of_both_arms = needed.at["A/B, plays, CUPED", "power_80"]
        users = {
            "users_interleaved": _rounded_up(needed.at["interleaving, share", "agree_95"]),
            "users_arm": _rounded_up(users_of_both_arms / 2),
        }
        numbers_kept = sorted({n for n in (1, 2, 3, 5, self.rankers) if n <= self.rankers})
        stages = simulation.two_stage(self.candidates, keep=numbers_kept, rng=self._rng(3), **users)
        return stages.assign(**users)


def _effect_column(design: str) -> str:
    """The column of a duel whose mean is the design's effect."""
    words = design.split(", ")  # experiment, metric, perhaps CUPED
    metric = words[1]
    return metric if words[0] == "interleaving" else f"{metric}_effect"


def as_record(world: simulation.World) -> dict[str, float]:
    """The assumptions of a world by name, as numbers."""
    return {name: float(value) for name, value in vars(world).items()}


def _rounded_up(users: float) -> int:
    """The smallest number with two leading digits that is not below a number of users."""
    digits = int(np.floor(np.log10(users)))  # after the first
    step = 10 ** max(digits - 1, 0)
    return int(np.ceil(users / step) * step)


def _means(values: pd.Series, n: int, *, arms: int) -> Floats:
    """The mean of a value of users in each arm of each experiment, shape (arms, experiments). Each
    n users in order are an experiment, and equal parts of them its arms. Users left over are in
    none.
    """
    experiments = values.size // n
    by_experiment = values.to_numpy()[: experiments * n].reshape(experiments, arms, n // arms)
    means: Floats = by_experiment.mean(axis=2)
    return means.T


def _wrong_share(effects: Floats, true_effect: float) -> float:
    """The share of experiments whose effect has the wrong sign; an effect of 0 is half wrong."""
    agreement = np.sign(effects) * np.sign(true_effect)
    is_wrong = agreement < 0
    is_tie = agreement == 0
    return float((is_wrong + is_tie / 2).mean())
