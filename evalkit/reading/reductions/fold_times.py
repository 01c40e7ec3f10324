"""The times of out-of-fold predictions that an engine holds: their ends by fold, late rows, where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Floats, InputError, Ints
from evalkit.metrics.bins import Bins, bin_of
from evalkit.reading.inputs import moments
from evalkit.reading.reductions import shards, tabled
from evalkit.reading.reductions.fold_ids import CELL, MOMENT
from evalkit.reading.reductions.folds import LargeFolds
from evalkit.statistics import gathered
from evalkit.statistics.gathered import Gathered

ENDS, ODD = "ends", "odd"


@dataclass(frozen=True, eq=False)
class Times:
    """The lowest and the highest time of each cell; dated: in days since 1970."""

    low: Floats
    high: Floats
    dated: bool


@dataclass(frozen=True, eq=False)
class _Read:
    """The rows of a shard: the cell of each, and the place of its time among the distinct texts."""

    cell: Ints
    place: Ints
    texts: np.ndarray

    @classmethod
    def of(cls, table: Any, cells: Sequence[str]) -> _Read:
        whole = shards.encoded(table[MOMENT])
        texts = whole.dictionary.to_numpy(zero_copy_only=False)
        return cls(shards.places_of(table[CELL], cells), whole.indices.to_numpy(zero_copy_only=False), texts)


def _merged(table: Any) -> Any:
    """Two results as one."""
    return _whole(table).table()


def _whole(table: Any) -> Gathered:
    return gathered.merged(gathered.parts(table), lambda name: 0)


@dataclass(frozen=True, eq=False)
class Ends:
    """The ends of the times of each cell, as numbers and as dates, and how many are no number and no date."""

    cells: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        """The result of a shard."""
        rows, ends, odd = _Read.of(table, self.cells), list[Floats](), list[int]()
        for dated in (False, True):
            values = _values(rows.texts, dated=dated)
            known = np.isfinite(values)
            odd.append(int(np.count_nonzero(~known)))
            for sign in (-1.0, 1.0):
                most = np.full(len(self.cells), -np.inf)
                np.maximum.at(most, rows.cell, np.where(known, sign * values, -np.inf)[rows.place])
                ends.append(most)
        return Gathered({ODD: np.array(odd, float)}, {}, {ENDS: np.concatenate(ends)}).table()


@dataclass(frozen=True, eq=False)
class Wrong:
    """The first text of a shard that is no date, and whether it is one that stands for none."""

    def __call__(self, table: Any) -> Any:
        """The result of a shard."""
        import pyarrow as pa

        texts = np.unique(table[MOMENT].to_numpy())
        dates = moments.dates_of(texts)
        wrong = [] if dates.wrong is None else [texts[dates.wrong]]
        return pa.table({"text": pa.array(wrong, pa.string())})


def read(t: LargeFolds) -> Times:
    """The times by cell; raises InputError for one that is none."""
    g = _whole(_reduce(t, Ends(t.cells.text)))
    no_number, no_date = g.sums[ODD]
    first, last, since, until = np.split(g.most[ENDS], 4)
    if not no_number:
        return Times(-first, last, dated=False)
    if no_date:
        raise _refusal(t)
    return Times(-since, until, dated=True)


def _reduce(t: LargeFolds, function: Any) -> Any:
    query = f"SELECT {CELL}, {MOMENT} FROM ({t.query}) AS m WHERE {t.one_system}"
    return t.engine.reduce(query, None, function, t.name, _merged, total=t.rows // t.copies, **t.frames)


def _refusal(t: LargeFolds) -> InputError:
    query = f"SELECT {MOMENT} FROM ({t.query}) AS m"
    texts = t.engine.reduce(query, None, Wrong(), t.name, None, total=t.rows, **t.frames)["text"].to_pylist()
    role, column = t.engine.dialect.quote("text time"), t.layout.shared["time"].column
    among = ", ".join(map(t.engine.dialect.literal, sorted(set(texts))))
    for piece in t.pieces:
        for row in t.engine.where(piece.chosen, f"{role} IN ({among})", f"{role} AS value", 1):
            rule = moments.dates_of(np.array([row["value"]], dtype=object)).rule
            return rule.error(piece.part, column, repr(row["value"]), row["n"])
    return tabled.changed(t.name)


def distinct(t: LargeFolds, times: Times, most: int) -> int:
    """The distinct times, as far as there are not more than `most`."""
    if t.ask(f"approx_count_distinct({MOMENT}) AS n", f"WHERE {t.one_system}")["n"][0].as_py() > 2 * most:
        return most
    texts = t.ask(MOMENT, f"WHERE {t.one_system} GROUP BY {MOMENT}")[MOMENT].to_numpy()
    return len(np.unique(_values(texts, dated=times.dated)))


def _values(texts: np.ndarray, *, dated: bool) -> Floats:
    return moments.dates_of(texts).days if dated else moments.numbers(texts)


@dataclass(frozen=True, eq=False)
class Placed:
    """The rows of each cell in each bin, and the ends of their times; and those that are not newer than `after`."""

    cells: tuple[str, ...]
    edges: Floats
    after: Floats
    dated: bool

    def __call__(self, table: Any) -> Any:
        """The result of a shard."""
        rows, bins = _Read.of(table, self.cells), len(self.edges) - 1
        times = _values(rows.texts, dated=self.dated)[rows.place]
        at = rows.cell * bins + bin_of(times, self.edges)
        size = len(self.cells) * bins
        low, high = np.full(size, -np.inf), np.full(size, -np.inf)
        np.maximum.at(low, at, -times)
        np.maximum.at(high, at, times)
        late = np.bincount(rows.cell[times <= self.after[rows.cell]], minlength=len(self.cells))
        sums = {"rows": np.bincount(at, minlength=size).astype(float), "late": late.astype(float)}
        return Gathered(sums, {}, {"low": low, "high": high}).table()


def placed(t: LargeFolds, times: Times, edges: Floats, after: Floats) -> tuple[list[Bins], Ints]:
    """The bins of each cell, and its rows that are no newer than its `after`."""
    g = _whole(_reduce(t, Placed(t.cells.text, edges, after, times.dated)))
    shape = (len(t.cells.text), len(edges) - 1)
    rows, low, high = (side.reshape(shape) for side in (g.sums["rows"], -g.most["low"], g.most["high"]))
    bins = [Bins(rows[i].astype(np.int64), low[i], high[i]) for i in range(len(rows))]
    return bins, g.sums["late"].astype(np.int64)
