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
from evalkit.reading.engines.duckdb import opened
from evalkit.reading.inputs import rows as reading
from evalkit.reading.inputs import runs as whole
from evalkit.reading.inputs.runs import Ask, Runs
from evalkit.reading.reductions.measured import BESIDE, JUDGED, RUN, Measured, Read, Task, gathered, measure
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import Part, Selection, explained

NO_TEXT, NO_NUMBER = "NULLIF('', '')", "CAST(NULL AS DOUBLE)"
IN_MEMORY = 300  # bytes that a row needs while it is read into memory whole
WHOLE = 2_000_000  # rows up to which that is faster, where there is memory for them


class _Piece(NamedTuple):
    """A part as rows of the sorted whole: what it is, its columns, and of a run its systems and their scores.

    says: whether its rows say their system. name: the system of a part that does not say.
    """

    role: str
    chosen: Selection
    text: Mapping[str, str]
    numbers: Mapping[str, str]
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
    roles_of.check_roles(given, reading.ROLES)
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

    def select(part: Part, text: Mapping[str, str], numbers: Mapping[str, str]) -> Selection:
        return part.select(text, numbers, engine.dialect, frame=f"frame{len(pieces)}")

    parts, here = sources.parts(preds), [] if queries is not None else attributes
    for part, name in zip(parts, reading.names(parts), strict=True):
        plan = reading.plan_run(part, given, systems, here, graded=qrels is None)
        text = plan.text | reading.beside(here)
        chosen = select(part, text, plan.numbers)
        pieces.append(_Piece(RUN, chosen, text, plan.numbers, plan.scores, name, _says(chosen, text)))
        printed |= reading.printed(part, plan)
    for part in sources.parts(qrels) if qrels is not None else ():
        text, numbers = reading.plan_judgements(part, given)
        pieces.append(_Piece(JUDGED, select(part, text, numbers), text, numbers, {}))
    for part in sources.parts(queries) if queries is not None else ():
        text = reading.plan_queries(part, attributes, given) | reading.beside(attributes)
        pieces.append(_Piece(BESIDE, select(part, text, {}), text, {}, {}))
    return pieces, printed


def _says(chosen: Selection, text: Mapping[str, str]) -> bool:
    """Whether rows say their system; the tag of a TREC run does only where a file holds several."""
    held = next(iter(chosen.frames.values())) if chosen.part.layout else None
    return "system" in text and (held is None or len(held["system"].unique()) > 1)


def _profile(engine: Engine, piece: _Piece) -> dict[str, Any]:
    """Rows and the highest grade of a part; raises InputError for the first value that cannot be meant."""
    rules = _rules(engine, piece)
    counts = [f"count(*) FILTER (WHERE {wrong}) AS wrong{i}" for i, (_, _, wrong) in enumerate(rules)]
    top = [f"max({engine.dialect.quote('grade')}) AS top"] if "grade" in piece.numbers else []
    part = piece.chosen.part
    with explained(piece.chosen):
        query = f"SELECT count(*) AS n, {', '.join([*top, *counts])} FROM ({piece.chosen.query}) AS s"
        found = engine.table(query, part.name, **piece.chosen.frames).to_pylist()[0]
    if not found["n"]:
        raise part.no_rows()
    for i, (role, rule, wrong) in enumerate(rules):
        if found[f"wrong{i}"]:
            row, value = engine.first(piece.chosen, wrong, role)
            raise reading.wrong_value(part, {**piece.text, **piece.numbers}[role], rule, value, row)
    return {"n": found["n"], "top": max(found.get("top") or 0.0, 0.0)}


def _rules(engine: Engine, piece: _Piece) -> list[tuple[str, str, str]]:
    """Role, rule and the SQL of what breaks it."""
    ids = [role for role in piece.text if not role.startswith("attribute ")]
    rules = [(role, reading.EMPTY, f"{engine.dialect.quote(role)} IS NULL") for role in ids]
    for role in piece.numbers:
        at = engine.dialect.quote(role)
        finite = engine.dialect.finite(role)
        if role == "grade":
            rules.append((role, reading.GRADE, f"NOT ({finite})"))
        else:
            rules.append((role, reading.FINITE, f"{at} IS NULL OR NOT ({finite})"))
        if role == "rank":
            rules.append((role, reading.RANK, f"{at} < 1 OR {at} <> floor({at})"))
            rules.append((role, reading.TOO_HIGH, f"{at} > {reading.HIGHEST}"))
    return rules


def _reads(piece: _Piece, ranks: str) -> list[Read]:
    """How a part is read: once, or a wide table once for each of its systems."""
    where, scores = piece.chosen.part.name, piece.scores or {None: ""}
    return [
        Read(piece.role, where, None if piece.says else system or piece.name, reading.in_place(role, ranks))
        for system, role in scores.items()
    ]


def _rows(engine: Engine, piece: _Piece, attributes: Sequence[str], *, says: bool) -> list[str]:
    """The SQL of each read of a part, with the columns that all have: query, item, score, grade, attributes."""
    here, held = engine.dialect.quote, {*piece.text, *piece.numbers}

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
