"""What a study of values per unit asks of a table that is read shard by shard, whatever the table holds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

from evalkit.metrics.sums import UnitShard
from evalkit.reading.inputs.unit_values import Described
from evalkit.statistics.unit_passes import Known


@dataclass(frozen=True, eq=False)
class NamedUnits:
    """The units of a shard and their names, Arrow arrays. cluster: of each, None where none are named."""

    id: Any
    cluster: Any
    values: UnitShard


class InShards(Described, Protocol):
    """Values per unit in an engine; a unit has one value a metric and system."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The labels of the metrics, in the order of the rows of a shard."""

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems, in the order of the rows of a shard."""

    @property
    def clustered(self) -> bool:
        """Whether a cluster has several units, which then all stand in one shard."""

    @property
    def alone(self) -> int:
        """Rows that were left out, as another system lacks their id."""

    def reduce(self, function: Callable[[UnitShard], Any], merge: Callable[[Any], Any]) -> Any:
        """All shards reduced, each to an Arrow table."""

    def shards(self) -> Iterator[NamedUnits]:
        """The units, read once more and one shard in memory at once; raises InputError if the input has changed."""

    def refuse(self, known: Known) -> None:
        """Raises InputError for what the first reading shows to be wrong."""

    def read(self, known: Known) -> Self:
        """The same after it was read; raises InputError if a file has changed meanwhile."""
