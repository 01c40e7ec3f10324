"""One Parquet file of labels and scores read by Arrow: no query, and one reading where its rows fit into one shard.

For files whose columns are what is wanted already: labels that are whole numbers or true and false, scores side by
side, no text but an id. Everything else is asked of an engine; so is a file that holds a value that cannot be meant,
for the error that says which.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats
from evalkit.metrics import calibration, grid
from evalkit.metrics.rows import Shard
from evalkit.progress import progress
from evalkit.reading.engines.base import Engine
from evalkit.reading.reductions.shards import Plan
from evalkit.reading.reductions.tabled import Piece
from evalkit.reading.tables import duck, parquet
from evalkit.reading.tables.rules import split

ROW = 200  # bytes that a row of numbers needs while its shard is reduced


@dataclass(frozen=True, eq=False)
class Rows:
    """Labels, as numbers, and the columns of numbers in the order of `Straight.numbers`."""

    label: np.ndarray
    numbers: list[Floats]


@dataclass(frozen=True, eq=False)
class Straight:
    """A file that can be read so. label: its column; numbers: the columns by role.

    size: rows of a shard; batch: rows that are decoded at once.
    """

    piece: Piece
    label: str
    numbers: dict[str, str]
    rows: int
    size: int
    batch: int
    _held: list[Rows] = field(default_factory=list)

    def blocks(self) -> Iterator[Rows]:
        """The rows, `size` at a time; kept for the next reading where they are all there."""
        if self._held:
            yield self._held[0]
            return
        whole = None
        for whole in self._read():
            yield whole
        if whole is not None and len(whole.label) == self.rows:
            self._held.append(whole)

    def _read(self) -> Iterator[Rows]:
        names, left, filled = list(self.numbers.values()), self.rows, 0
        rows = self._room(left)
        for batch in parquet.batches(self.piece.part.path, dict.fromkeys([self.label, *names]), self.batch):
            begin = 0
            while begin < len(batch):
                n = min(len(batch) - begin, len(rows.label) - filled)
                part = batch.slice(begin, n)
                rows.label[filled : filled + n] = part[self.label].to_numpy(zero_copy_only=False)
                for into, name in zip(rows.numbers, names, strict=True):
                    into[filled : filled + n] = part[name].to_numpy(zero_copy_only=False)
                begin, filled = begin + n, filled + n
                if filled == len(rows.label):
                    yield rows
                    left -= filled
                    rows, filled = self._room(left), 0
                    if not left:
                        return
        raise duck.no_parquet(self.piece.part.name)  # fewer rows than the file says that it has

    def _room(self, left: int) -> Rows:
        n = min(left, self.size)
        kind = next(field.type for field in parquet.types(self.piece.part.path) if field.name == self.label)
        return Rows(np.empty(n, kind.to_pandas_dtype()), [np.empty(n) for _ in self.numbers])

    # What is told of them

    def profile(self) -> list[dict[str, Any]] | None:
        """As `profiles.profile`: rows by label and what is told of them; None where not all is as it should be."""
        by_label: dict[Any, dict[str, Any]] = {}
        for rows in self.blocks():
            ends = [(some.min(), some.max()) for some in rows.numbers]
            if not np.isfinite(ends).all():
                return None  # a NaN is both the smallest and the largest
            low, high = rows.label.min(), rows.label.max()
            of_high: Bools = rows.label == high
            if low != high and np.count_nonzero(of_high) + np.count_nonzero(rows.label == low) < len(of_high):
                return None
            for label, member in ((low, ~of_high), (high, of_high)):
                if member.any():
                    own = self._counted(rows, ends, member)
                    before = by_label.get(label.item())
                    by_label[label.item()] = _together(before, own) if before else own
        return [{"system": self.piece.system, "label": _text(label)} | own for label, own in sorted(by_label.items())]

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
            yield Shard(label, [by_role[role] for role in by_role], weight, [], [], None, 0, 0, 0)

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
    size = max(1, min(engine.rows_at_once(ROW * max(len(numbers), 1)), engine.reading.straight))
    return Straight(piece, label, numbers, rows, size, engine.reading.batch) if rows else None


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
