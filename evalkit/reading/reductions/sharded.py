"""Runs that do not fit into memory: an engine sorts the rows, numpy measures whole queries, one value a query stays.

The rows of runs, judgements and query table are laid end to end and sorted by query, so that each shard is a small
input of its own: it goes through the code that reads an input from memory, and gives the same values to the last bit.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

from evalkit.arrays import ParameterError
from evalkit.reading.engines import spark
from evalkit.reading.engines.base import Budget, Engine, checked_groups
from evalkit.reading.engines.duckdb import opened
from evalkit.reading.inputs import rows, runs
from evalkit.reading.inputs.rows import Ranked
from evalkit.reading.inputs.runs import Ask, Runs
from evalkit.reading.reductions.measured import BESIDE, JUDGED, RUN, Measured, Read, Task, gathered, measure
from evalkit.reading.tables.parts import Part, Selection
from evalkit.reading.tables.rules import Fields, split

NO_TEXT, NO_NUMBER = "NULLIF('', '')", "CAST(NULL AS DOUBLE)"
IN_MEMORY = 300  # bytes that a row needs while it is read into memory whole


class _Piece(NamedTuple):
    """A part as rows of the sorted whole: what it is, its columns, and of a run its systems and their scores.

    says: whether its rows say their system. name: the system of a part that does not say.
    """

    role: str
    chosen: Selection
    fields: Fields
    scores: Mapping[str | None, str]
    name: str = ""
    says: bool = False


def read(ranked: Ranked, asks: Sequence[Ask], budget: Budget) -> Runs | Measured:
    """The input as `runs.read` reads it where its rows fit into memory, or else the values of `asks`."""
    lists = [*ranked.run, *(ranked.judged or ())]
    cluster = spark.engine_for([*lists, *(ranked.queries or ())], budget.reading)
    if not cluster and _fits(sum(part.rows for part in lists), budget):
        return runs.of(ranked)
    with nullcontext(cluster) if cluster else opened(budget) as engine:
        return measured(engine, ranked, asks)


def _fits(count: int, budget: Budget) -> bool:
    """Whether so many rows are read into memory whole."""
    return count <= budget.reading.lists and count * IN_MEMORY <= budget.memory


def measured(engine: Engine, ranked: Ranked, asks: Sequence[Ask]) -> Measured:
    """The values of `asks` for every system, from the input that `runs.read` takes, rows sorted by the engine.

    asks: hashable, picklable functions of rankings. Raises InputError as `runs.read` does; where two rows contradict
    each other it names the query and the item, not the row.
    """
    pieces, printed = _pieces(engine, ranked)
    frames = {name: frame for piece in pieces for name, frame in piece.chosen.frames.items()}
    profiles = [_profile(engine, piece) for piece in pieces]
    says = any(piece.says for piece in pieces)
    task = Task(
        systems=_systems(pieces, profiles, ranked.systems),
        asks=tuple(asks),
        attributes=tuple(ranked.attributes),
        reads=tuple(read for piece in pieces for read in _reads(piece, ranked)),
        says=says,
        beside=ranked.queries is not None,
        top=max(p["top"] for p in profiles),
    )
    selects = [select for piece in pieces for select in _rows(engine, piece, ranked.attributes, says=says)]
    union = " UNION ALL ".join(f"SELECT {i} AS part, {select}" for i, select in enumerate(selects))
    names = ", ".join(dict.fromkeys(piece.chosen.part.name for piece in pieces[:3]))
    total = sum(p["n"] * max(len(piece.scores), 1) for piece, p in zip(pieces, profiles, strict=True))
    lists = engine.reduce(union, "query", partial(measure, task=task), names, total=total, **frames)
    sources = tuple(piece.chosen.part.fingerprint(p["n"]) for piece, p in zip(pieces, profiles, strict=True))
    cells = {name: lists[name] for name in lists.column_names}
    del lists
    return gathered(cells, task, printed, sources)


# The rows -----------------------------------------------------------------------------------------------------------


def _pieces(engine: Engine, ranked: Ranked) -> tuple[list[_Piece], dict[str, str]]:
    """Every part with its columns, and the columns as the page prints them."""
    pieces: list[_Piece] = []
    printed: dict[str, str] = {}

    def select(part: Part, fields: Fields) -> Selection:
        return part.select(*split(fields), engine.dialect, frame=f"frame{len(pieces)}")

    for part, name in zip(ranked.run, rows.names(ranked.run), strict=True):
        plan = ranked.plan_run(part)
        fields = ranked.fields_of(plan)
        chosen = select(part, fields)
        system = next(iter(chosen.frames.values())) if part.layout and "system" in fields else fields
        says = rows.says(part, system["system"] if "system" in fields else None) is not None
        pieces.append(_Piece(RUN, chosen, fields, plan.scores, name, says))
        printed |= rows.printed(part, plan)
    for role, parts, plan_of in (
        (JUDGED, ranked.judged, ranked.plan_judgements),
        (BESIDE, ranked.queries, ranked.plan_queries),
    ):
        for part in parts or ():
            fields = plan_of(part)
            pieces.append(_Piece(role, select(part, fields), fields, {}))
    return pieces, printed


def _profile(engine: Engine, piece: _Piece) -> dict[str, Any]:
    """Rows, the highest grade and the systems that rows name; raises InputError for the first value that breaks a rule.

    By one query: a table on a cluster may take long to be made.
    """
    cells = [f"max({engine.dialect.quote('grade')}) AS top"] if "grade" in piece.fields else []
    system = engine.dialect.quote("system") if piece.says else None
    cells += [f"{system} AS system"] if system else []
    rows = checked_groups(engine, piece.chosen, piece.fields, cells, system)
    return {
        "n": sum(row["n"] for row in rows),
        "top": max(0.0, *(row.get("top") or 0.0 for row in rows)),
        "systems": {row["system"] for row in rows} if system else set(),
    }


def _reads(piece: _Piece, ranked: Ranked) -> list[Read]:
    """How a part is read: once, or a wide table once for each of its systems."""
    where, scores = piece.chosen.part.name, piece.scores or {None: ""}
    return [
        Read(piece.role, where, None if piece.says else system or piece.name, ranked.in_place(role))
        for system, role in scores.items()
    ]


def _rows(engine: Engine, piece: _Piece, attributes: Sequence[str], *, says: bool) -> list[str]:
    """The SQL of each read of a part, with the columns that all have: query, item, score, grade, attributes."""
    here = engine.dialect.quote

    def cell(role: str, nothing: str) -> str:
        return f"{here(role) if role in piece.fields else nothing} AS {here(role)}"

    text = [f"attribute {name}" for name in attributes] + (["system"] if says else [])
    shared = [here("query"), cell("item", NO_TEXT), cell("grade", NO_NUMBER), *(cell(role, NO_TEXT) for role in text)]
    source = f"FROM ({piece.chosen.query}) AS s"
    return [
        f"{_score(role, here)} AS score, {', '.join(shared)} {source}" for role in (piece.scores or {None: ""}).values()
    ]


def _score(role: str, here: Callable[[str], str]) -> str:
    """What ranks the rows, the highest first; −0.0 and 0.0 are one score."""
    if not role:
        return NO_NUMBER
    return f"-{here(role)}" if role == "rank" else f"{here(role)} + 0.0"


def _systems(pieces: Sequence[_Piece], profiles: Sequence[Mapping[str, Any]], wanted: Sequence[str]) -> tuple[str, ...]:
    """The systems in the order of their names' bytes; raises ParameterError for a wanted one that is not there."""
    present: set[str] = set()
    for piece, profile in zip(pieces, profiles, strict=True):
        present |= profile["systems"]
        if piece.role == RUN and not piece.says:
            present |= {piece.name if name is None else name for name in piece.scores}
    names = sorted(present, key=lambda name: name.encode())
    unknown = [name for name in wanted if name not in present]
    if unknown:
        raise ParameterError(f"systems: there is no system {unknown[0]!r}, the input has {', '.join(names)}")
    return tuple(name for name in names if not wanted or name in wanted)
