"""What shards of rows add up to: sums and counted numbers by name, fit to be sent to other machines and merged."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.limits import USUAL
from evalkit.metrics import grid
from evalkit.metrics.grid import Grid
from evalkit.statistics import passes
from evalkit.statistics.of_sums import Moments
from evalkit.statistics.passes import Sums

WAITING = 4_096  # results that wait to be merged
SIDES = ("low", "high", "positive", "negative")


@dataclass(frozen=True, eq=False)
class Gathered:
    """sums: arrays that add up. grids: bins that are laid together. most: arrays of which the larger numbers stay."""

    sums: dict[str, Floats] = field(default_factory=dict)
    grids: dict[str, Grid] = field(default_factory=dict)
    most: dict[str, Floats] = field(default_factory=dict)

    @property
    def bins(self) -> int:
        """How many bins there are in all."""
        return sum(len(part.low) for part in self.grids.values())

    def table(self) -> Any:
        """The same as an Arrow table, one row a name."""
        import pyarrow as pa

        none, nothing = np.empty(0, np.int64), np.empty(0)
        names = [*self.grids, *self.sums, *self.most]
        grids = [*self.grids.values(), *(Grid(0, none, none, none, none) for _ in names[len(self.grids) :])]
        sums = [*(nothing for _ in self.grids), *self.sums.values(), *(nothing for _ in self.most)]
        most = [*(nothing for _ in [*self.grids, *self.sums]), *self.most.values()]
        columns = {side: passes.lists([getattr(part, side) for part in grids]) for side in SIDES}
        columns |= {"sums": passes.lists(sums), "most": passes.lists(most)}
        return pa.table({"name": names, "shift": pa.array([part.shift for part in grids], pa.int64()), **columns})


def parts(table: Any) -> list[Gathered]:
    """The rows of a table, each by itself."""
    columns = [passes.arrays(table[side]) for side in SIDES]
    numbers = passes.arrays(table["sums"]), passes.arrays(table["most"])
    every = []
    for i, (name, shift) in enumerate(zip(table["name"].to_pylist(), table["shift"].to_pylist(), strict=True)):
        low, high, positive, negative = (column[i] for column in columns)
        bins = {name: Grid(shift, low, high, positive, negative)} if len(low) else {}
        sums, most = ({name: column[i]} if len(column[i]) else {} for column in numbers)
        every.append(Gathered(sums, bins, most))
    return every


def waiting(table: Any, bins: int) -> bool:
    """Whether results are few and small, so that they may wait for more before they are merged; none is taken apart."""
    import pyarrow.compute as pc

    return len(table) < WAITING and (pc.sum(pc.list_value_length(table["low"])).as_py() or 0) < 2 * bins


def merged(every: Iterable[Gathered], room: Callable[[str], int]) -> Gathered:
    """All of them as one. room: the bins of a name."""
    sums: dict[str, Floats] = {}
    most: dict[str, Floats] = {}
    grids: dict[str, list[Grid]] = {}
    for part in every:
        for name, numbers in part.sums.items():
            sums[name] = sums[name] + numbers if name in sums else numbers
        for name, numbers in part.most.items():
            most[name] = np.maximum(most[name], numbers) if name in most else numbers
        for name, bins in part.grids.items():
            grids.setdefault(name, []).append(bins)
    laid = {name: one[0] if len(one) == 1 else grid.merge(one, room(name)) for name, one in grids.items()}
    return Gathered(sums, laid, most)


# Sums of columns, of their products and cubes, by row or by unit ----------------------------------------------------


class Blocks(Protocol):
    """Columns of rows, made block by block."""

    def __len__(self) -> int: ...

    def __call__(self, at: slice) -> Floats:
        """The columns of the rows at these places, one below the other."""


class Pass(ABC):
    """One reading of all shards, each by itself: the result of a shard is an Arrow table, and two make one."""

    @abstractmethod
    def __call__(self, shard: Any) -> Any:
        """The result of a shard."""

    def most(self, name: str) -> int:
        """The bins of a name."""
        return USUAL.bins

    def merge(self, table: Any) -> Any:
        """Two results as one."""
        return self.whole(table).table()

    def whole(self, table: Any) -> Gathered:
        """What came of it."""
        return merged(parts(table), self.most)


@dataclass(frozen=True, eq=False)
class Summing:
    """Columns of rows that are added up, block by block. apart: units are few, and stand side by side to the end."""

    unit: Ints | None
    units: int
    apart: bool

    def __call__(
        self, columns: Blocks, m: int, unit: Ints | None, also: Callable[[slice, Floats], None] | None = None
    ) -> Floats:
        """n, sums, products and cubes of m columns, flat; of units apart the sums of each. also: gets each block."""
        by_unit = np.zeros((self.units if unit is not None else 0, m))
        total = Sums(0, np.zeros(m), np.zeros(m * m), np.zeros(m))
        for start in range(0, len(columns), passes.BLOCK):
            at = slice(start, min(start + passes.BLOCK, len(columns)))
            x = columns(at)
            if also:
                also(at, x)
            if unit is None:
                total = total + Sums(x.shape[1], x.sum(axis=1), passes.products(x).ravel(), passes.cubed(x))
            else:
                passes.add(by_unit, unit[at], x)
        if unit is None:
            return _flat(total)
        return by_unit.ravel() if self.apart else _flat(passes.collapsed(by_unit))


def _flat(part: Sums) -> Floats:
    return np.concatenate([[part.n], part.total, part.gram, part.cubes])


def moments(flat: Floats, names: list[str], *, apart: bool) -> Moments:
    """What `Summing` gathered of columns of these names."""
    m = len(names)
    if apart:
        flat = _flat(passes.collapsed(flat.reshape(-1, m)))
    n, total, gram, cubes = np.split(flat, [1, 1 + m, 1 + m + m * m])
    return Moments(names, int(n[0]), total, gram.reshape(m, m), cubes)
