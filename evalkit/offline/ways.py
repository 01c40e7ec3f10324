"""Ways to split a table: the folds that its columns call for, and other splits to compare them with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import InputError, Ints
from evalkit.limits import USUAL, Limits
from evalkit.offline import splits
from evalkit.offline.splits import Folds
from evalkit.reading.inputs.folds import Examples

LEAST_LEFT_OUT = 200  # rows up to which leaving each one out is affordable
OUT_OF_BAG, ONE_OUT = "bootstrap, out of bag", "leave one out"


@dataclass(frozen=True, eq=False)
class Way:
    """One way of splitting. together: pairs whose test rows give one value.

    averaged: values whose mean is one estimate.
    """

    name: str
    folds: Folds
    together: int = 1
    averaged: int = 1


@dataclass(frozen=True)
class Unfitted:
    """A way of splitting that was not fitted in full: fits made, fits wanted, or why there are none."""

    way: str
    made: int = 0
    wanted: int = 0
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Setting:
    """What every way of splitting needs, and the folds of each."""

    examples: Examples
    k: int
    gap: float
    seed: int
    limits: Limits = USUAL

    @property
    def ignores(self) -> str | None:
        """The column that a split by rows would ignore."""
        return "time" if self.examples.time is not None else "group" if self.examples.group is not None else None

    @property
    def blind(self) -> str:
        """The way of splitting that ignores it."""
        return f"{self.k}-fold of rows, ignores the {self.ignores}"

    @cached_property
    def folds(self) -> Folds:
        """The folds that suit the columns; `rule` says which and why."""
        e = self.examples
        if e.fold is not None:
            return splits.read(e.fold)
        if e.time is not None:
            folds = splits.forward(e.time, k=self.k, gap=self.gap, group=e.group_number)
            why = "rows are dated, so the past predicts the future"
        elif e.group is not None:
            folds, why = self.by_group(self.seed), "rows of a group are correlated"
        else:
            folds, why = self.by_row(self.seed), "no group, time or fold column was named"
        return replace(folds, rule=f"{folds.rule}: {why}")

    @property
    def strata(self) -> np.ndarray | None:
        """The classes by which folds are stratified; None for a number."""
        return self.examples.names if self.examples.classes else None

    def by_row(self, seed: int, repeats: int = 1) -> Folds:
        """k folds of rows, stratified by class."""
        return splits.k_fold(len(self.examples), seed=seed, k=self.k, repeats=repeats, label=self.strata)

    def by_group(self, seed: int) -> Folds:
        """k folds of whole groups, with classes as balanced as the groups allow."""
        assert self.examples.group is not None
        return splits.group_k_fold(self.examples.group.code, seed=seed, k=self.k, label=self.strata)

    def ways(self) -> tuple[list[Way], list[Unfitted]]:
        """The ways that suit the columns, and those left out, with the reason."""
        chosen, missing = [], []
        for name, (make, *sizes) in self._makers().items():
            try:
                chosen.append(Way(name, make(), *sizes))
            except InputError as error:  # the folds chosen may be possible where others are not
                missing.append(Unfitted(name, reason=str(error)))
        return chosen, missing

    def _makers(self) -> dict[str, tuple[Any, ...]]:
        """By the name of each way, in the order of the page, what makes its folds, then `together` and `averaged`."""
        e, k, seed, limits, folds = self.examples, self.k, self.seed, self.limits, f"{self.k}-fold"
        chosen, time, group = (lambda: self.folds, len(self.folds.pairs)), e.time, e.group_number
        own: dict[str, tuple[Any, ...]] = {} if e.fold is None else {"the folds given": chosen}
        blind = {self.blind: (lambda: self.by_row(seed), k)}
        if time is not None:
            moment = {"one split at a moment": (lambda: splits.global_temporal(time, share=0.3, gap=self.gap),)}
            return moment | (own or {"blocks forward in time": chosen}) | blind
        if group is not None:
            whole = (lambda: splits.group_holdout(group, seed=seed, repeats=limits.holdouts),)
            grouped = {"one holdout of 30% of groups": whole, f"{folds} of groups": (self._group_folds, k)}
            return own | grouped | blind
        several = limits.repeats * limits.averaged
        return own | {
            "one holdout of 30%": (self._holdouts,),
            folds: (lambda: self.by_row(seed, limits.repeats), k),
            f"mean of {limits.averaged} × {folds}": (lambda: self.by_row(seed + 1, several), k, limits.averaged),
            OUT_OF_BAG: (self._samples,),
            ONE_OUT: (self._one_out, len(e)),
        }

    def _holdouts(self) -> Folds:
        rows, repeats = len(self.examples), self.limits.holdouts
        return splits.holdout(rows, seed=self.seed, repeats=repeats, label=self.strata)

    def _one_out(self) -> Folds:
        if (rows := len(self.examples)) > LEAST_LEFT_OUT:
            raise InputError(f"{rows:,} fits; they are only made for up to {LEAST_LEFT_OUT} rows")
        return splits.leave_out(rows)

    def _group_folds(self) -> Folds:
        drawn = [self.by_group(self.seed + i) for i in range(self.limits.repeats)]
        return Folds(len(self.examples), tuple(pair for folds in drawn for pair in folds.pairs), drawn[0].rule)

    def _samples(self) -> Folds:
        rng = np.random.default_rng([self.seed, 3])
        drawn = splits.out_of_bag(len(self.examples), rng=rng, repeats=self.limits.samples)
        return replace(drawn, pairs=tuple(pair for pair in drawn.pairs if self.varied(pair[0])))

    def varied(self, rows: Ints) -> bool:
        """True if the rows suffice for learning: more than one class, if the label is a class."""
        return not self.examples.classes or np.unique(self.examples.label[rows]).size > 1
