"""Runs that do not fit into memory: an engine sorts the rows, numpy measures whole queries, one value a query stays.

The rows of runs, judgements and query table are laid end to end and sorted by query, so that each shard is a small
input of its own: it goes through the code that reads an input from memory, and gives the same values to the last bit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from evalkit.arrays import ParameterError
from evalkit.metrics.rankings import Pooled
from evalkit.reading import columns as roles_of
from evalkit.reading import rows as reading
from evalkit.reading import runs as whole
from evalkit.reading import sources
from evalkit.reading.engine import Engine, Limits, opened
from evalkit.reading.rows import Rows
from evalkit.reading.runs import Account, Ask, Build, Runs, Values
from evalkit.reading.sources import Part, Selection, Source

FINITE = "abs({0}) <= 1.7976931348623157e308"  # false of NaN, which SQL holds to be larger than any number
IN_MEMORY = 300  # bytes that a row needs while it is read into memory whole
WHOLE = 2_000_000  # rows up to which that is faster, where there is memory for them
ACCOUNT = tuple(Account.__dataclass_fields__)
RUN, JUDGED, BESIDE = "run", "judged", "beside"


@dataclass(frozen=True, eq=False)
class Measured:
    """What `Runs` tells of an input, without its lists: of each system the values that were asked for."""

    systems: tuple[str, ...]
    accounts: Mapping[str, Account]
    attributes: Mapping[str, np.ndarray]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    pooled_ideal: bool
    negative: int
    query: np.ndarray
    top_grade: float
    found: Mapping[tuple[str, Ask], Values]

    def measure(self, system: str, ask: Ask) -> Values:
        """One value a query of a system; one of those that were asked for."""
        return self.found[system, ask]


class _Piece(NamedTuple):
    """A part as rows of the sorted whole: what it is, its columns, and of a run its systems and their scores.

    names: whether its rows say their system. name: the system of a part that does not say.
    """

    role: str
    chosen: Selection
    text: Mapping[str, str]
    numbers: Mapping[str, str]
    scores: Mapping[str | None, str]
    name: str = ""
    names: bool = False


@dataclass(frozen=True)
class _Task:
    """What is done with each shard; fit to be sent to another machine."""

    systems: tuple[str, ...]
    asks: tuple[Ask, ...]
    attributes: tuple[str, ...]
    roles: tuple[str, ...]
    names: tuple[str, ...]
    beside: bool
    top: float


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
) -> Runs | Measured:
    """The input as `runs.read` reads it where its rows fit into memory, or else the values of `asks`."""
    given = {"columns": columns, "systems": systems, "attributes": attributes, "queries": queries}
    rows = sum(sources.rows_of(part) for some in (preds, qrels) if some is not None for part in sources.parts(some))
    if rows <= WHOLE and rows * IN_MEMORY <= limits.memory:
        return whole.read(preds, qrels, **given)
    with opened(limits) as engine:
        return measured(engine, preds, qrels, asks=asks, **given)


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
) -> Measured:
    """The values of `asks` for every system, from the input that `runs.read` takes, rows sorted by the engine.

    asks: hashable, picklable functions of rankings. Raises InputError as `runs.read` does; where two rows contradict
    each other it names the query and the item, not the row.
    """
    given = dict(columns or {})
    roles_of.check_roles(given, reading.ROLES)
    pieces, printed = _pieces(preds, qrels, queries, given, list(systems), list(attributes))
    frames = {name: frame for piece in pieces for name, frame in piece.chosen.frames.items()}
    profiles = [_profile(engine, piece) for piece in pieces]
    names = _systems(engine, pieces, frames, systems)
    top = max((p["top"] for p in profiles), default=0.0)
    roles = tuple(piece.role for piece in pieces)
    task = _Task(
        names,
        tuple(asks),
        tuple(attributes),
        roles,
        tuple(piece.chosen.part.name for piece in pieces),
        queries is not None,
        top,
    )
    union = " UNION ALL ".join(_rows(engine, i, piece, attributes) for i, piece in enumerate(pieces))
    shown = ", ".join(dict.fromkeys(piece.chosen.part.name for piece in pieces[:3]))
    total = sum(p["n"] * len(piece.scores or [None]) for piece, p in zip(pieces, profiles, strict=True))
    found = engine.reduce(union, "query", partial(measure, task=task), shown, total=total, **frames)
    made = [sources.fingerprint(piece.chosen.part, p["n"]) for piece, p in zip(pieces, profiles, strict=True)]
    return _gathered(found, task, printed, tuple(made))


# The rows -----------------------------------------------------------------------------------------------------------


def _pieces(
    preds: Any, qrels: Any, queries: Any, given: dict[str, str], systems: list[str], attributes: list[str]
) -> tuple[list[_Piece], dict[str, str]]:
    """Every part with its columns, and the columns as the page prints them."""
    pieces: list[_Piece] = []
    printed: dict[str, str] = {}

    def select(part: Part, text: Mapping[str, str], numbers: Mapping[str, str]) -> Selection:
        return sources.select(part, text, numbers, frame=f"frame{len(pieces)}")

    parts, here = sources.parts(preds), [] if queries is not None else attributes
    for part, name in zip(parts, reading.names(parts), strict=True):
        plan = reading.plan_run(part, given, systems, here, graded=qrels is None)
        text = plan.text | reading.beside(here)
        chosen = select(part, text, plan.numbers)
        pieces.append(_Piece(RUN, chosen, text, plan.numbers, plan.scores, name, _names(chosen, text)))
        printed |= reading.printed(part, plan)
    for part in sources.parts(qrels) if qrels is not None else ():
        text, numbers = reading.plan_judgements(part, given)
        pieces.append(_Piece(JUDGED, select(part, text, numbers), text, numbers, {}))
    for part in sources.parts(queries) if queries is not None else ():
        text = reading.plan_queries(part, attributes, given) | reading.beside(attributes)
        pieces.append(_Piece(BESIDE, select(part, text, {}), text, {}, {}))
    return pieces, printed


def _names(chosen: Selection, text: Mapping[str, str]) -> bool:
    """Whether rows say their system; the tag of a TREC run does only where a file holds several."""
    held = next(iter(chosen.frames.values())) if chosen.part.kind == "trec" else None
    return "system" in text and (held is None or len(held["system"].unique()) > 1)


def _profile(engine: Engine, piece: _Piece) -> dict[str, Any]:
    """Rows and the highest grade of a part; raises InputError for the first value that cannot be meant."""
    rules = _rules(engine, piece)
    counts = [f"count(*) FILTER (WHERE {wrong}) AS wrong{i}" for i, (_, _, wrong) in enumerate(rules)]
    top = [f"max({engine.quote('grade')}) AS top"] if "grade" in piece.numbers else []
    part = piece.chosen.part
    with sources.explained(piece.chosen):
        query = f"SELECT count(*) AS n, {', '.join([*top, *counts])} FROM ({piece.chosen.query}) AS s"
        found = engine.table(query, part.name, **piece.chosen.frames).to_pylist()[0]
    if not found["n"]:
        raise reading.no_rows(part)
    for i, (role, rule, wrong) in enumerate(rules):
        if found[f"wrong{i}"]:
            row, value = sources.first_row(piece.chosen, wrong, engine.quote(role))
            raise reading.wrong_value(part, {**piece.text, **piece.numbers}[role], rule, value, row)
    return {"n": found["n"], "top": max(found.get("top") or 0.0, 0.0)}


def _rules(engine: Engine, piece: _Piece) -> list[tuple[str, str, str]]:
    """Role, rule and the SQL of what breaks it."""
    ids = [role for role in piece.text if not role.startswith("attribute ")]
    rules = [(role, reading.EMPTY, f"{engine.quote(role)} IS NULL") for role in ids]
    for role in piece.numbers:
        at = engine.quote(role)
        finite = FINITE.format(at)
        if role == "grade":
            rules.append((role, reading.GRADE, f"NOT ({finite})"))
        else:
            rules.append((role, reading.FINITE, f"{at} IS NULL OR NOT ({finite})"))
        if role == "rank":
            rules.append((role, reading.RANK, f"{at} < 1 OR {at} <> floor({at})"))
    return rules


def _rows(engine: Engine, index: int, piece: _Piece, attributes: Sequence[str]) -> str:
    """The SQL of a part's rows with the columns that all parts have: part, system, query, item, score, grade, ..."""
    nothing = {"text": "NULLIF('', '')", "number": "CAST(NULL AS DOUBLE)"}
    here = engine.quote
    item = here("item") if piece.role != BESIDE else nothing["text"]
    grade = here("grade") if "grade" in piece.numbers else nothing["number"]
    held = set(piece.text)
    own = [here(f"attribute {name}") if f"attribute {name}" in held else nothing["text"] for name in attributes]
    selects = []
    for system, role in (piece.scores or {None: ""}).items():
        score = nothing["number"] if not role else f"-{here(role)}" if role == "rank" else f"{here(role)} + 0.0"
        named = here("system") if piece.names else _literal(system or piece.name)
        cells = [f"{index} AS part", f"{named} AS system", here("query"), f"{item} AS item", f"{score} AS score"]
        cells += [
            f"{grade} AS grade",
            *(f"{one} AS {here(f'attribute {n}')}" for one, n in zip(own, attributes, strict=True)),
        ]
        selects.append(f"SELECT {', '.join(cells)} FROM ({piece.chosen.query}) AS s{index}")
    return " UNION ALL ".join(selects)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _systems(
    engine: Engine, pieces: Sequence[_Piece], frames: Mapping[str, Any], wanted: Sequence[str]
) -> tuple[str, ...]:
    """The systems in the order of their names' bytes; raises ParameterError for a wanted one that is not there."""
    found: set[str] = set()
    for piece in pieces:
        if piece.names:
            query = f"SELECT DISTINCT {engine.quote('system')} AS system FROM ({piece.chosen.query}) AS s"
            found |= set(engine.table(query, piece.chosen.part.name, **frames)["system"].to_pylist())
        elif piece.role == RUN:
            found |= {piece.name if name is None else name for name in piece.scores}
    names = sorted(found, key=lambda name: name.encode())
    unknown = [name for name in wanted if name not in found]
    if unknown:
        raise ParameterError(f"systems: there is no system {unknown[0]!r}, the input has {', '.join(names)}")
    return tuple(name for name in names if not wanted or name in wanted)


# One shard ----------------------------------------------------------------------------------------------------------


class _Shard(Rows):
    """Rows of a shard, which know the part they came from, not their row in it."""

    parts: np.ndarray
    names: Sequence[str]

    def place(self, row: int) -> str:
        """The part that a row came from."""
        return self.names[self.parts[row]]


def measure(table: Any, *, task: _Task) -> Any:
    """Whole queries measured: a table of one row, whose cells are lists with one value a judged query."""
    import pyarrow as pa

    role = np.array(task.roles, dtype=object)[table["part"].to_numpy()]
    run = _shard(table, role == RUN, task)
    judged = _shard(table, role == JUDGED, task) if JUDGED in task.roles else run
    beside = _shard(table, role == BESIDE, task) if task.beside else run
    build = Build(run, judged, beside, ())
    cells: dict[str, Any] = {
        "query": pa.array(build.population, pa.large_string()),
        "first": _first(run),
        "beside": _first(beside),
    }
    cells |= {f"attribute {name}": pa.array(build.attribute(name), pa.large_string()) for name in task.attributes}
    cells |= {"negative": pa.array([build.negative]), "shared": pa.array([int(build.shared)])}
    for i, (rankings, account) in enumerate(build.built(task.systems, task.top).values()):
        cells[f"account {i}"] = pa.array([getattr(account, name) for name in ACCOUNT], pa.int64())
        for j, ask in enumerate(task.asks):
            cells |= {f"{k} {i} {j}": pa.array(v) for k, v in _columns(ask(rankings)).items()}
    return pa.table({name: pa.LargeListArray.from_arrays([0, len(cell)], cell) for name, cell in cells.items()})


def _columns(values: Values) -> dict[str, np.ndarray]:
    if isinstance(values, Pooled):
        return {"top": values.numerator, "bottom": values.denominator}
    return {"value": values}


def _first(rows: Rows) -> Any:
    """One query of the rows, for the error of rows that share none."""
    return rows.query[0].slice(0, 1).cast("large_string")


def _shard(table: Any, member: np.ndarray, task: _Task) -> _Shard:
    import pyarrow as pa
    import pyarrow.compute as pc

    some = table.filter(pa.array(member)).combine_chunks()

    def column(name: str) -> Any:
        blocks = some[name].chunks
        return pa.concat_arrays(blocks) if blocks else pa.array([], some[name].type)

    rows = _Shard(
        system=[column("system")],
        query=[column("query")],
        item=[column("item")],
        score=[column("score").to_numpy(zero_copy_only=False)],
        grade=[pc.fill_null(column("grade"), np.nan).to_numpy(zero_copy_only=False)],
        attributes=[{name: column(f"attribute {name}") for name in task.attributes}],
    )
    rows.parts, rows.names = column("part").to_numpy(zero_copy_only=False), task.names
    return rows


# All shards ---------------------------------------------------------------------------------------------------------


def _gathered(found: Any, task: _Task, columns: Mapping[str, str], made: tuple[Source, ...]) -> Measured:
    """The shards' lists end to end, in the order of the queries' ids; raises what concerns the input as a whole."""
    import pyarrow.compute as pc

    def flat(name: str) -> Any:
        return pc.list_flatten(found[name].combine_chunks())

    order = pc.sort_indices(flat("query")).to_numpy()
    if not len(order):
        raise whole.no_judgement(made[0].name)
    query = _objects(flat("query").take(order))
    accounts = {name: _account(flat(f"account {i}").to_numpy()) for i, name in enumerate(task.systems)}
    _check(accounts, flat, query, task)
    values: dict[tuple[str, Ask], Values] = {}
    for i, name in enumerate(task.systems):
        for j, ask in enumerate(task.asks):
            kinds = ("value",) if f"value {i} {j}" in found.column_names else ("top", "bottom")
            columns_of = [flat(f"{kind} {i} {j}").to_numpy()[order] for kind in kinds]
            values[name, ask] = Pooled(*columns_of) if len(columns_of) > 1 else columns_of[0]
    return Measured(
        systems=task.systems,
        accounts=accounts,
        attributes={name: _objects(flat(f"attribute {name}").take(order)) for name in task.attributes},
        columns=columns,
        sources=made,
        pooled_ideal=JUDGED not in task.roles,
        negative=int(flat("negative").to_numpy().sum()),
        query=query,
        top_grade=task.top,
        found=values,
    )


def _check(accounts: Mapping[str, Account], flat: Callable[[str], Any], query: np.ndarray, task: _Task) -> None:
    """Raises InputError for a system or a table of queries that shares no query with the judgements."""
    for name, account in accounts.items():
        if not account.used:
            raise whole.nothing_in_common(name, flat("first")[0].as_py(), query[0])
    if task.beside and not flat("shared").to_numpy().any():
        raise whole.no_shared_table(task.names[task.roles.index(BESIDE)], flat("beside")[0].as_py(), query[0])


def _objects(texts: Any) -> np.ndarray:
    return np.array(texts.to_pylist(), dtype=object)


def _account(fields: np.ndarray) -> Account:
    return Account(*map(int, fields.reshape(-1, len(ACCOUNT)).sum(axis=0)))
