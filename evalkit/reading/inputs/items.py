"""The items of runs and of their judgements, as numbers and as texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Ints
from evalkit.reading.inputs.rows import Rows
from evalkit.reading.tables import ids
from evalkit.reading.tables.text_hashes import HashedTexts


class Collision(Exception):
    """Two different items of one query have the same hash."""


@dataclass(frozen=True, eq=False)
class Items:
    """The items of the rows of runs and of their judgements. exact: told apart by their texts, not by hashes."""

    run: Rows
    judged: Rows
    exact: bool

    @cached_property
    def numbers(self) -> list[NDArray[np.uint64]]:
        """A number for the item of each row of the run and of the judgements: a hash of its text, or its exact code."""
        if self.exact:
            return [code.astype(np.uint64) << np.uint64(32) for code in ids.coded(self.run.item, self.judged.item)[1]]
        run, judged = (
            ids.joined([self._hashed[id(block)].hashes for block in rows.item]) for rows in (self.run, self.judged)
        )
        return [run, run if self.judged is self.run else judged]

    @cached_property
    def _hashed(self) -> dict[int, HashedTexts]:
        """The items of each block of rows; systems side by side share theirs."""
        blocks = {id(block): block for rows in (self.run, self.judged) for block in rows.item}
        return {key: HashedTexts.of(block) for key, block in blocks.items()}

    def places(self, at: Ints) -> Ints:
        """The places of the items of some rows of the run among themselves, in the order of their bytes."""
        coded = texts(self.run.item, at).dictionary_encode()
        return ids.places(coded.dictionary)[coded.indices.to_numpy()]

    def same(self, rows: Rows, at: Ints, others: Rows, there: Ints) -> None:
        """Raise `Collision` where rows that have the same hash have other items."""
        if rows is others:
            at, there = at[at != there], there[at != there]
        if not len(at) or self.exact:
            return
        (one, at), (other, there) = self._stored(rows, at), self._stored(others, there)
        if not one.same(at, other, there):
            raise Collision

    def _stored(self, rows: Rows, at: Ints) -> tuple[HashedTexts, Ints]:
        """Texts, and where the items of some rows stand among them."""
        if len(rows.item) == 1:
            return self._hashed[id(rows.item[0])], at
        return HashedTexts.of(texts(rows.item, at)), np.arange(len(at))


def texts(blocks: Sequence[Any], at: Ints) -> Any:
    """The items of some rows, of blocks laid end to end, as Arrow text."""
    import pyarrow as pa

    if len(blocks) == 1:
        return blocks[0].take(pa.array(at))
    if len({block.type for block in blocks}) > 1:
        blocks = [block.cast(pa.large_string()) for block in blocks]
    return pa.chunked_array(blocks).take(pa.array(at)).combine_chunks()
