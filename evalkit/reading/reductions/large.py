"""Tables of labels and scores that are reduced shard by shard: what an engine is asked, and every check before that.

One query for each part counts its rows by system and label, and with them whatever cannot be meant; the errors are
those of tables in memory.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evalkit.metrics.rows import Shard
from evalkit.reading.engines.base import Budget, Engine
from evalkit.reading.inputs.outcomes import Predicted
from evalkit.reading.reductions import tabled
from evalkit.reading.reductions.profiles import Profiles
from evalkit.reading.reductions.straight import Straight, straight
from evalkit.reading.reductions.tabled import Tabled
from evalkit.reading.tables.precision import Precision


@dataclass(frozen=True, eq=False)
class Large(Tabled):
    """A table of binary outcomes that an engine holds.

    outside, certain: of each system the rows whose score is no probability, and those that are certain of the other
    class. straight: the file, where its rows are read without the engine. precision: what each system's scores were
    stored in.
    """

    positive: str
    negative: str
    outside: Mapping[str, int]
    certain: Mapping[str, int]
    straight: Straight | None
    precision: Mapping[str, Precision]

    def reduce(self, function: Callable[[Shard], Any], merge: Callable[[Any], Any], *, by_unit: bool) -> Any:
        if self.straight:
            return self.straight.reduce(function, merge, self.plan)
        return super().reduce(function, merge, by_unit=by_unit)


@contextmanager
def opened(predicted: Predicted, budget: Budget, segments: Sequence[str], unit: str | None) -> Iterator[Large | None]:
    """The table in an engine where it is binary and has more rows than are kept; None where it is to be kept."""
    if predicted.few(budget.reading.rows) or predicted.kind != "binary":
        yield None
        return
    with tabled.engine_for(predicted.parts, budget) as engine:
        yield read(engine, predicted, list(dict.fromkeys(segments)), unit) if engine else None


def read(engine: Engine, predicted: Predicted, segments: Sequence[str] = (), unit: str | None = None) -> Large:
    """The table checked as `Predicted.read` checks it; raises what it raises."""
    pieces = tabled.pieces_of(engine, predicted.parts, predicted.layouts)
    direct = straight(pieces[0], engine) if len(pieces) == 1 else None
    direct_profile = direct.profile() if direct else None
    counted = Profiles.of(engine, pieces, [direct_profile] if direct_profile else None, predicted.systems)
    chosen, other = counted.labels(predicted.positive)
    plan = counted.plan(chosen)
    outside, certain = (counted.by_system(plan.hits, *ends) for ends in (("outside", "outside"), ("low", "high")))
    cells = [_hit(engine, plan.hits), *tabled.scores(engine, counted.layout)]
    table = Large(
        engine=engine,
        pieces=pieces,
        query=tabled.union(engine, pieces, counted.systems, cells, segments, unit),
        plan=plan,
        positive=chosen,
        negative=other,
        counts=[sum(row["n"] for row in rows) for rows in counted.rows],
        rows=sum(row["n"] for row in counted.kept),
        outside=outside,
        certain=certain,
        slices={},
        straight=direct if direct_profile and not plan.paired else None,
        precision={name: counted.precision(name) for name in counted.systems},
    )
    if pieces[0].layout.id and not plan.paired:
        tabled.refuse_id_twice(table)
    return tabled.grouped(table, segments, unit)


def _hit(engine: Engine, hits: Sequence[str]) -> str:
    """The cell that says whether a row is positive."""
    label = engine.dialect.quote("text label")
    return f"{label} IN ({', '.join(map(engine.dialect.literal, hits))}) AS hit" if hits else "false AS hit"


def first_outside(t: Large, name: str) -> tuple[str, float]:
    """Place and value of a system's first score that is no probability."""
    role = t.engine.dialect.quote(f"own {name if t.wide else None}\nscore")
    _, place, value = tabled.where(t, f"({role} < 0 OR {role} > 1)", role, 1, None if t.wide else name)[0]
    return place, value
