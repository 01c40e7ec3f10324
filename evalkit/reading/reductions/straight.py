"""One Parquet file of labels and scores read by Arrow: no query, and one reading where its rows fit into one shard.

For files whose columns are what is wanted already: labels that are whole numbers or true and false, scores side by
side, no text but an id. Everything else is asked of an engine; so is a file that holds a value that cannot be meant,
for the error that says which.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalkit import side_by_side
from evalkit.arrays import Bools, Floats, InputError
from evalkit.metrics import calibration, grid
from evalkit.metrics.rows import Shard
from evalkit.progress import progress
from evalkit.reading.engines import stretches
from evalkit.reading.engines.base import Engine
from evalkit.reading.reductions.shards import Plan
from evalkit.reading.reductions.tabled import Piece
from evalkit.reading.tables import duck, parquet
from evalkit.reading.tables.rules import split

ROW_BYTES = 200  # bytes that a row of numbers needs while its shard is reduced
STEP = 2**17  # rows that are looked at at once: they stay in the cache


@dataclass(frozen=True, eq=False)
class Rows:
    """Labels, as numbers, and the columns of numbers in the order of `Straight.numbers`."""

    label: np.ndarray
    numbers: list[Floats]

    def at(self, rows: slice) -> "Rows":
        """Some of the rows."""
        return Rows(self.label[rows], [some[rows] for some in self.numbers])


@dataclass(frozen=True, eq=False)
class Straight:
    """A file that can be read so. label: its column; numbers: the columns by role.

    size: rows of a shard, if no group of rows of the file has more; batch: rows that are decoded at once. threads: how
    many read and reduce.
    """

    piece: Piece
    label: str
    numbers: dict[str, str]
    rows: int
    size: int
    batch: int
    threads: int
    _held: list[Rows] = field(default_factory=list)

    def blocks(self) -> Iterator[Rows]:
        """The rows, at most `size` at a time; kept for the next reading where they are all there."""
        if self._held:
            yield self._held[0]
            return
        whole = None
        for whole in self._read():
            yield whole
        if whole is not None and len(whole.label) == self.rows:
            self._held.append(whole)

    def _read(self) -> Iterator[Rows]:
        for groups in self._together():
            if sum(groups.values()) <= self.size:
                yield self._filled(groups)
            else:
                yield from self._in_turn(*next(iter(groups.items())))

    def _together(self) -> Iterator[dict[int, int]]:
        """The numbers of neighbouring groups of rows that fit into a shard, and their rows; or of one that does not."""
        waiting: dict[int, int] = {}
        for group, rows in enumerate(parquet.groups(self.piece.part.path)):
            if waiting and sum(waiting.values()) + rows > self.size:
                yield waiting
                waiting = {}
            waiting[group] = rows
        yield waiting

    def _filled(self, groups: Mapping[int, int]) -> Rows:
        """The rows of these groups, each column of a group by itself."""
        rows = self._room(sum(groups.values()))
        columns = {self.label: rows.label} | dict(zip(self.numbers.values(), rows.numbers, strict=True))
        starts = dict(zip(groups, np.cumsum([0, *groups.values()]).tolist(), strict=False))

        def fill(work: tuple[int, str]) -> None:
            group, name = work
            into = columns[name][starts[group] : starts[group] + groups[group]]
            filled = 0
            for batch in self._batches(group, [name]):
                into[filled : filled + len(batch)] = batch[name].to_numpy(zero_copy_only=False)
                filled += len(batch)
            if filled < len(into):
                raise self._short()

        side_by_side.every(fill, [(group, name) for group in groups for name in columns], self.threads)
        return rows

    def _in_turn(self, group: int, left: int) -> Iterator[Rows]:
        """The rows of one group, a shard at a time."""
        for table in stretches.tables(self._batches(group, [self.label, *self.numbers.values()]), self.size):
            rows = self._room(len(table))
            for into, name in zip([rows.label, *rows.numbers], table.column_names, strict=True):
                into[:] = table[name].to_numpy()
            left -= len(table)
            yield rows
        if left:
            raise self._short()

    def _batches(self, group: int, names: Sequence[str]) -> Iterator[Any]:
        return parquet.batches(self.piece.part.path, dict.fromkeys(names), self.batch, group)

    def _short(self) -> InputError:
        """The error for fewer rows than the file says that it has."""
        return duck.no_parquet(self.piece.part.name)

    def _room(self, n: int) -> Rows:
        kind = next(field.type for field in parquet.types(self.piece.part.path) if field.name == self.label)
        return Rows(np.empty(n, kind.to_pandas_dtype()), [np.empty(n) for _ in self.numbers])

    # What is told of them

    def profile(self) -> list[dict[str, Any]] | None:
        """As `profiles.profile`: rows by label and what is told of them; None where not all is as it should be."""
        by_label: dict[Any, dict[str, Any]] = {}
        for rows in self.blocks():
            parts = [rows.at(slice(start, start + STEP)) for start in range(0, len(rows.label), STEP)]
            for own in side_by_side.ordered(self._profiled, parts, self.threads):
                if own is None:
                    return None
                for label, counts in own.items():
                    by_label[label] = _together(by_label[label], counts) if label in by_label else counts
        if len(by_label) > 2:
            return None
        return [{"system": self.piece.system, "label": _text(label)} | own for label, own in sorted(by_label.items())]

    def _profiled(self, rows: Rows) -> dict[Any, dict[str, Any]] | None:
        """What is told of some rows, by label."""
        ends = [(some.min(), some.max()) for some in rows.numbers]
        if not np.isfinite(ends).all():
            return None  # a NaN is both the smallest and the largest
        low, high = rows.label.min(), rows.label.max()
        of_high: Bools = rows.label == high
        if low != high and np.count_nonzero(of_high) + np.count_nonzero(rows.label == low) < len(of_high):
            return None
        parts = ((low, ~of_high), (high, of_high))
        return {label.item(): self._counted(rows, ends, member) for label, member in parts if member.any()}

    def _counted(self, rows: Rows, ends: list[tuple[float, float]], member: Bools) -> dict[str, Any]:
        """Of the rows of one label. ends: the smallest and the largest of each column."""
        counts: dict[str, Any] = {"n": int(np.count_nonzero(member))}
        low, high = calibration.EPSILON, 1 - calibration.EPSILON
        score = 0
        for role, some, (least, most) in zip(self.numbers, rows.numbers, ends, strict=True):
            if role == "number weight":
                own = some[member]
                counts |= {"least": own.min(), "most": own.max(), "parted": int(np.count_nonzero(own % 1))}
                continue
            own = some[:0] if low <= least and most <= high else some[member]
            rules = {"outside": (own < 0) | (own > 1), "low": own < low, "high": own > high}
            counts |= {f"{name}{score}": int(np.count_nonzero(rule)) for name, rule in rules.items()}
            score += 1
        return counts

    # The rows

    def shards(self, plan: Plan) -> Iterator[Shard]:
        """The rows as `shards.shard` gives them."""
        hits = [_value(text) for text in plan.hits]
        for rows in self.blocks():
            label = np.isin(rows.label, hits) if len(hits) != 1 else rows.label == hits[0]
            by_role = dict(zip(self.numbers, rows.numbers, strict=True))
            weight = None if plan.scale is None else grid.whole(by_role.pop("number weight"), plan.scale)
            yield Shard(label, [by_role[role] for role in by_role], weight, [], [], None, 0, 0, 0, threads=self.threads)

    def reduce(self, function: Callable[[Shard], Any], merge: Callable[[Any], Any], plan: Plan) -> Any:
        """What `function` makes of every shard, merged."""
        import pyarrow as pa

        done, whole = 0, None
        with progress("reading", self.rows, "rows") as draw:
            for shard in self.shards(plan):
                result = function(shard)
                whole = result if whole is None else merge(pa.concat_tables([whole, result]))
                done += len(shard.label)
                draw(done)
        return whole


def straight(piece: Piece, engine: Engine) -> Straight | None:
    """The piece to be read so; None where it needs an engine."""
    part, layout = piece.part, piece.layout
    text, numbers = split(layout.fields)
    if set(text) - {"text label", "id"}:
        return None
    label = layout.shared["label"].column
    if not part.is_plain(label, list(numbers.values()), list(text.values())):
        return None
    rows = parquet.rows(part.path)
    size = max(1, min(engine.rows_at_once(ROW_BYTES * max(len(numbers), 1)), engine.reading.straight))
    return Straight(piece, label, numbers, rows, size, engine.reading.batch, engine.threads) if rows else None


def _together(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """What is told of the rows of both."""
    join: dict[str, Callable[[Any, Any], Any]] = {"least": min, "most": max}
    return {name: join[name](a[name], b[name]) if name in join else a[name] + b[name] for name in a}


def _text(label: Any) -> str:
    """A label as the engines write it."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def _value(text: str) -> bool | int:
    """The label that is written so."""
    return {"true": True, "false": False}[text] if text in ("true", "false") else int(text)
