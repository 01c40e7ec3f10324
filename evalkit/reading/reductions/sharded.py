"""Runs that do not fit into memory: an engine sorts the rows, numpy measures whole queries, one value a query stays.

The rows of runs, judgements and query table are laid end to end and sorted by query, so that each shard is a small
input of its own: it goes through the code that reads an input from memory, and gives the same values to the last bit.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from evalkit.arrays import ParameterError
from evalkit.reading.engines import spark
from evalkit.reading.engines.base import Engine, Limits
from evalkit.reading.engines.checks import checked
from evalkit.reading.engines.duckdb import opened
from evalkit.reading.inputs import rows as reading
from evalkit.reading.inputs import runs as whole
from evalkit.reading.inputs.runs import Ask, Runs
from evalkit.reading.reductions.measured import BESIDE, JUDGED, RUN, Measured, Read, Task, gathered, measure
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import Part, Selection
from evalkit.reading.tables.rules import Fields, split

NO_TEXT, NO_NUMBER = "NULLIF('', '')", "CAST(NULL AS DOUBLE)"
IN_MEMORY = 300  # bytes that a row needs while it is read into memory whole
WHOLE = 2_000_000  # rows up to which that is faster, where there is memory for them


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


def read(
    preds: Any,
    qrels: Any = None,
    *,
    asks: Sequence[Ask],
    limits: Limits,
    columns: Mapping[str, str] | None = None,
    systems: Sequence[str] = (),
    attributes: Sequence[str] = (),
    queries: Any = None,
    ranks: str = reading.AS_GIVEN,
) -> Runs | Measured:
    """The input as `runs.read` reads it where its rows fit into memory, or else the values of `asks`."""
    run = sources.parts(preds)
    judged, beside = (None if some is None else sources.parts(some) for some in (qrels, queries))
    given: dict[str, Any] = {
        "columns": columns,
        "systems": systems,
        "attributes": attributes,
        "queries": beside,
        "ranks": ranks,
    }
    if cluster := spark.engine_for([*run, *(judged or []), *(beside or [])]):
        return measured(cluster, run, judged, asks=asks, **given)
    rows = sum(part.rows for part in [*run, *(judged or [])])
    if rows <= WHOLE and rows * IN_MEMORY <= limits.memory:
        return whole.read(run, judged, **given)
    with opened(limits) as engine:
        return measured(engine, run, judged, asks=asks, **given)


def measured(
    engine: Engine,
    preds: Any,
    qrels: Any = None,
    *,
    asks: Sequence[Ask],
    columns: Mapping[str, str] | None = None,
    systems: Sequence[str] = (),
    attributes: Sequence[str] = (),
    queries: Any = None,
    ranks: str = reading.AS_GIVEN,
) -> Measured:
    """The values of `asks` for every system, from the input that `runs.read` takes, rows sorted by the engine.

    asks: hashable, picklable functions of rankings. Raises InputError as `runs.read` does; where two rows contradict
    each other it names the query and the item, not the row.
    """
    given = dict(columns or {})
    roles_of.check_roles(given, reading.RULES)
    pieces, printed = _pieces(engine, preds, qrels, queries, given, list(systems), list(attributes))
    frames = {name: frame for piece in pieces for name, frame in piece.chosen.frames.items()}
    profiles = [_profile(engine, piece) for piece in pieces]
    says = any(piece.says for piece in pieces)
    reads = [read for piece in pieces for read in _reads(piece, ranks)]
    task = Task(
        systems=_systems(engine, pieces, frames, systems),
        asks=tuple(asks),
        attributes=tuple(attributes),
        reads=tuple(reads),
        says=says,
        beside=queries is not None,
        top=max(p["top"] for p in profiles),
    )
    selects = [one for piece in pieces for one in _rows(engine, piece, attributes, says=says)]
    union = " UNION ALL ".join(f"SELECT {i} AS part, {one}" for i, one in enumerate(selects))
    shown = ", ".join(dict.fromkeys(piece.chosen.part.name for piece in pieces[:3]))
    total = sum(p["n"] * max(len(piece.scores), 1) for piece, p in zip(pieces, profiles, strict=True))
    found = engine.reduce(union, "query", partial(measure, task=task), shown, total=total, **frames)
    made = [piece.chosen.part.fingerprint(p["n"]) for piece, p in zip(pieces, profiles, strict=True)]
    cells = {name: found[name] for name in found.column_names}
    del found
    return gathered(cells, task, printed, tuple(made))


# The rows -----------------------------------------------------------------------------------------------------------


def _pieces(
    engine: Engine,
    preds: Any,
    qrels: Any,
    queries: Any,
    given: dict[str, str],
    systems: list[str],
    attributes: list[str],
) -> tuple[list[_Piece], dict[str, str]]:
    """Every part with its columns, and the columns as the page prints them."""
    pieces: list[_Piece] = []
    printed: dict[str, str] = {}

    def select(part: Part, fields: Fields) -> Selection:
        return part.select(*split(fields), engine.dialect, frame=f"frame{len(pieces)}")

    parts, here = sources.parts(preds), [] if queries is not None else attributes
    for part, name in zip(parts, reading.names(parts), strict=True):
        plan = reading.plan_run(part, given, systems, here, graded=qrels is None)
        fields = plan.fields | reading.beside(here)
        chosen = select(part, fields)
        system = next(iter(chosen.frames.values())) if part.layout and "system" in fields else fields
        says = reading.says(part, system["system"] if "system" in fields else None) is not None
        pieces.append(_Piece(RUN, chosen, fields, plan.scores, name, says))
        printed |= reading.printed(part, plan)
    for part in sources.parts(qrels) if qrels is not None else ():
        fields = reading.plan_judgements(part, given)
        pieces.append(_Piece(JUDGED, select(part, fields), fields, {}))
    for part in sources.parts(queries) if queries is not None else ():
        fields = reading.plan_queries(part, attributes, given)
        pieces.append(_Piece(BESIDE, select(part, fields), fields, {}))
    return pieces, printed


def _profile(engine: Engine, piece: _Piece) -> dict[str, Any]:
    """Rows and the highest grade of a part; raises InputError for the first value that breaks a rule."""
    top = [f"max({engine.dialect.quote('grade')}) AS top"] if "grade" in piece.fields else []
    found = checked(engine, piece.chosen, piece.fields, top)
    return {"n": found["n"], "top": max(found.get("top") or 0.0, 0.0)}


def _reads(piece: _Piece, ranks: str) -> list[Read]:
    """How a part is read: once, or a wide table once for each of its systems."""
    where, scores = piece.chosen.part.name, piece.scores or {None: ""}
    return [
        Read(piece.role, where, None if piece.says else system or piece.name, reading.in_place(role, ranks))
        for system, role in scores.items()
    ]


def _rows(engine: Engine, piece: _Piece, attributes: Sequence[str], *, says: bool) -> list[str]:
    """The SQL of each read of a part, with the columns that all have: query, item, score, grade, attributes."""
    here, held = engine.dialect.quote, {*piece.fields}

    def cell(role: str, nothing: str) -> str:
        return f"{here(role) if role in held else nothing} AS {here(role)}"

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


def _systems(
    engine: Engine, pieces: Sequence[_Piece], frames: Mapping[str, Any], wanted: Sequence[str]
) -> tuple[str, ...]:
    """The systems in the order of their names' bytes; raises ParameterError for a wanted one that is not there."""
    found: set[str] = set()
    for piece in pieces:
        if piece.says:
            query = f"SELECT DISTINCT {engine.dialect.quote('system')} AS system FROM ({piece.chosen.query}) AS s"
            found |= set(engine.table(query, piece.chosen.part.name, **frames)["system"].to_pylist())
        elif piece.role == RUN:
            found |= {piece.name if name is None else name for name in piece.scores}
    names = sorted(found, key=lambda name: name.encode())
    unknown = [name for name in wanted if name not in found]
    if unknown:
        raise ParameterError(f"systems: there is no system {unknown[0]!r}, the input has {', '.join(names)}")
    return tuple(name for name in names if not wanted or name in wanted)
