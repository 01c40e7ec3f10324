"""Tables and TREC files of runs, judgements and queries as checked columns, with the place of every row."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, InputError, ParameterError
from evalkit.parameters.reports import AS_GIVEN
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import folders, sources, trec
from evalkit.reading.tables.formats import FORMATS
from evalkit.reading.tables.parts import PACKED, Part, Source, at

EMPTY = "not be empty"
FINITE = "be a finite number"
RANK = "be a whole number of at least 1"
HIGHEST = 2**53  # above it a double does not hold every whole number
TOO_HIGH = f"be at most {HIGHEST}"
GRADE = "be a finite number or empty"
ROLES = ("system", "query", "item", "score", "rank", "grade")


@dataclass
class Rows:
    """Rows under way: Arrow text, doubles, and the part that each stretch of rows came from.

    score: a rank negated where rows have no score. ranked: whether that rank is the row's place in its list.
    """

    system: list = field(default_factory=list)
    query: list = field(default_factory=list)
    item: list = field(default_factory=list)
    score: list = field(default_factory=list)
    ranked: list = field(default_factory=list)
    grade: list = field(default_factory=list)
    attributes: list = field(default_factory=list)
    stretches: list[tuple[str, int]] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)

    def place(self, row: int) -> str:
        """The file and row, from 1, that a row of the whole came from."""
        for name, n in self.stretches:
            if row < n:
                return f"{name}, row {row + 1}"
            row -= n
        raise IndexError(row)


class Plan(NamedTuple):
    """Which columns of one part to read: text and numbers by role, and for each system the role of its score."""

    text: dict[str, str]
    numbers: dict[str, str]
    scores: dict[str | None, str]
    wide: bool


def add_run(
    rows: Rows,
    part: Part,
    given: dict[str, str],
    systems: list[str],
    extra: Sequence[str],
    *,
    name: str,
    graded: bool,
    ranks: str = AS_GIVEN,
) -> None:
    """Reads one part and appends its rows; `name` is its system where the part does not say."""
    plan = plan_run(part, given, systems, extra, graded=graded)
    text = plan.text | beside(extra)
    table = part.load(text, plan.numbers, coded=[role for role in text if role != "item"])
    n = len(table["query"])
    if n == 0:
        raise part.no_rows()
    _no_nulls(table, plan.text, part)
    rows.sources.append(part.fingerprint(n))
    rows.columns.update(printed(part, plan))
    grade = _grades(table["grade"], plan.numbers["grade"], part) if graded else np.broadcast_to(np.nan, n)
    for system, role in plan.scores.items():
        score = _finite(table[role], plan.numbers[role], part)
        rows.system.append((system, n) if system is not None else _systems(table, part) or (name, n))
        rows.query.append(table["query"])
        rows.item.append(table["item"])
        rows.score.append(-_ranks(score, plan.numbers[role], part) if role == "rank" else score)
        rows.ranked.append(np.broadcast_to(in_place(role, ranks), n))
        rows.grade.append(grade)
        rows.attributes.append({one: table[f"attribute {one}"] for one in extra})
        rows.stretches.append((part.name, n))


def in_place(role: str, ranks: str) -> bool:
    """Whether rows ordered by this role keep their ranks as places in the list."""
    return role == "rank" and ranks == AS_GIVEN


def plan_run(part: Part, given: dict[str, str], systems: list[str], extra: Sequence[str], *, graded: bool) -> Plan:
    """Decides the columns; raises InputError where a role has none."""
    if part.layout is trec.QRELS:
        raise InputError(f"{part.name}: these are judgements (query 0 item grade), not a run; give them as qrels")
    here = {role: name for role, name in _given_here(given, part).items() if graded or role != "grade"}
    taken = [name for name in extra if name not in ("query", "query_id", "qid")]  # these are the query whatever else
    roles = roles_of.resolve(part.columns, ROLES, here, part.name, taken)
    if "query" not in roles:  # a column may be the query and the unit or a segment at once
        roles |= roles_of.resolve(part.columns, ["query"], here, part.name)
    _no_role(part, roles, extra)
    wide = _wide(part, roles, systems)
    ordered = "score" if "score" in roles or "rank" not in roles else "rank"
    for role in ("query", "item", *(() if wide else (ordered,)), *(("grade",) if graded else ())):
        if role not in roles:
            raise _no_grade(part) if role == "grade" else roles_of.missing(role, part.columns, part.name)
    for name in extra:
        roles_of.require(part.columns, name, part.name, "segments or unit")
    kept = ("query", "item") if wide else ("system", "query", "item")
    text: dict[str, str] = {role: roles[role] for role in kept if role in roles}
    scores: dict[str | None, str] = {name: f"score {name}" for name in wide} or {None: ordered}
    numbers = {f"score {name}": column for name, column in wide.items()} or {ordered: roles[ordered]}
    return Plan(text, numbers | ({"grade": roles["grade"]} if graded else {}), scores, bool(wide))


def _no_role(part: Part, roles: dict[str, str], extra: Sequence[str]) -> None:
    """Refuses a segment or unit that is what the ranks are made of."""
    for name in extra:
        for role in ("system", "item", "score", "rank", "grade"):
            usual = (role,) if role == "system" else roles_of.SYNONYMS[role]
            if roles.get(role) == name or (role not in roles and name in usual and name in part.columns):
                raise ParameterError(f"segments or unit: {name!r} is the {role} column of {part.name}, one value a row")


def printed(part: Part, plan: Plan) -> dict[str, str]:
    """Role -> column as the page prints it; TREC files have no columns to choose from."""
    if part.layout is trec.RUN:
        return {}
    if part.layout:
        return {name: f"field {i}" for i, name in enumerate(part.columns, start=1)}
    score = {"score": ", ".join(plan.numbers[role] for role in plan.scores.values())} if plan.wide else {}
    if "score" in plan.numbers and "rank" in part.columns:
        score["not used"] = "rank"
    return plan.text | score | {role: name for role, name in plan.numbers.items() if not role.startswith("score ")}


def beside(attributes: Sequence[str]) -> dict[str, str]:
    """The columns with one value a query, by role."""
    return {f"attribute {name}": name for name in attributes}


def _given_here(given: dict[str, str], part: Part) -> dict[str, str]:
    return {} if part.layout else given


def _no_grade(part: Part) -> InputError:
    has = ", ".join(map(repr, part.columns))
    return InputError(
        f"{part.name}: no judgements: it has no column for the grade (it has {has}) and no qrels are given"
        f"{roles_of.no_header(part.columns, 'grade')}"
    )


def _wide(part: Part, roles: dict[str, str], systems: list[str]) -> dict[str, str]:
    """System -> score column, where each system has a column; empty for a long table."""
    if part.layout:
        return {}
    more = [name for name in part.columns if name.startswith("score_") and name != "score_"]
    if more and "score" in roles and not systems:
        raise InputError(
            f"{part.name}: it has a score column, {roles['score']!r}, and columns of systems, {more[0]!r}; "
            f"say which to use: systems='{roles['score']},{more[0]}'"
        )
    if more and "system" in roles:
        raise InputError(
            f"{part.name}: it has a system column, {roles['system']!r}, and a column of scores a system, {more[0]!r}; "
            "remove one of them"
        )
    if "score" in roles and ("system" in roles or not (systems and set(systems) <= set(part.columns))):
        return {}
    if systems and all(name in part.columns for name in systems):
        return {name: name for name in systems}
    found = {
        name.removeprefix("score_"): name for name in part.columns if name.startswith("score_") and name != "score_"
    }
    unknown = [name for name in systems if found and name not in found]
    if unknown:
        raise ParameterError(f"systems: {part.name} has no system {unknown[0]!r}, it has {', '.join(found)}")
    return {name: found[name] for name in systems} if systems and found else found


def _systems(table: dict[str, Any], part: Part) -> Any:
    """The column of systems where rows say theirs; the tag of a TREC run does only where a file holds several."""
    says = "system" in table and (not part.layout or len(table["system"].unique()) > 1)
    return table["system"] if says else None


def names(parts: Sequence[Part]) -> list[str]:
    """The system of each part that does not say: its file's name less the suffix, with folders where names agree."""
    tables = [Path() if part.unnamed else folders.table(part.path) for part in parts]
    paths = [path.parts[:-1] for path in tables]
    stems = ["system" if part.unnamed else _stem(path.name) for part, path in zip(parts, tables, strict=True)]
    for deep in range(max(map(len, paths), default=0) + 1):
        found = ["/".join([*above[len(above) - deep :], stem]) for above, stem in zip(paths, stems, strict=True)]
        if len(set(found)) == len(set(tables)):
            return found
    return stems


def _stem(name: str) -> str:
    known = {*FORMATS, *PACKED, ".run", ".trec", ".txt", ".res", ".results"}
    while (suffix := "." + name.rsplit(".", 1)[-1]) in known and len(suffix) < len(name):
        name = name.removesuffix(suffix)
    return name


def wrong_value(part: Part, column: str, rule: str, got: Any, row: int) -> InputError:
    """The error for one value of a column; None is an empty one, and row 0 one without a number."""
    shown = "nothing" if got is None else f"{got:g}" if rule in (RANK, TOO_HIGH) else got
    return InputError(f"{part.name}: {column} must {rule}, got {shown}{at(row)}")


def _no_nulls(table: dict[str, Any], text: dict[str, str], part: Part) -> None:
    for role, column in text.items():
        if table[role].null_count:
            row = int(np.flatnonzero(table[role].is_null().to_numpy(zero_copy_only=False))[0]) + 1
            raise wrong_value(part, column, EMPTY, None, row)


def _doubles(column: Any) -> tuple[Floats, Bools]:
    """An Arrow column of doubles as numpy, and where it is empty."""
    import pyarrow.compute as pc

    if not column.null_count:
        return np.asarray(column), np.broadcast_to(np.False_, len(column))
    empty = column.is_null().to_numpy(zero_copy_only=False)
    return pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False), empty


def _finite(column: Any, name: str, part: Part) -> Floats:
    values, empty = _doubles(column)
    wrong = np.flatnonzero(empty | ~np.isfinite(values))
    if wrong.size:
        got = None if empty[wrong[0]] else values[wrong[0]]
        raise wrong_value(part, name, FINITE, got, wrong[0] + 1)
    return values if values.all() else values + 0.0  # −0.0 and 0.0 are one score


def _ranks(values: Floats, name: str, part: Part) -> Floats:
    wrong = np.flatnonzero((values < 1) | (values != np.floor(values)))
    if wrong.size:
        raise wrong_value(part, name, RANK, values[wrong[0]], wrong[0] + 1)
    high = np.flatnonzero(values > HIGHEST)
    if high.size:
        raise wrong_value(part, name, TOO_HIGH, values[high[0]], high[0] + 1)
    return values


def _grades(column: Any, name: str, part: Part) -> Floats:
    """Grades as doubles, NaN where there is no judgement."""
    values, empty = _doubles(column)
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        raise wrong_value(part, name, GRADE, values[wrong[0]], wrong[0] + 1)
    return np.where(empty, np.nan, values)


def plan_judgements(part: Part, given: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The columns of text and of numbers of a part of judgements; raises InputError where it is none."""
    if part.layout and part.layout is not trec.QRELS:
        raise InputError(f"{part.name}: this is a run (query Q0 item rank score tag), not judgements; give it as preds")
    wanted = ("query", "item", "grade")
    here = {
        role: name
        for role, name in _given_here(given, part).items()
        if role == "grade" or (role in wanted and name in part.columns)
    }
    roles = roles_of.resolve(part.columns, wanted, here, part.name)
    for role in wanted:
        if role not in roles:
            raise roles_of.missing(role, part.columns, part.name)
    return {role: roles[role] for role in ("query", "item")}, {"grade": roles["grade"]}


def judgements(qrels: Any, given: dict[str, str]) -> Rows:
    rows = Rows()
    for part in sources.parts(qrels):
        text, numbers = plan_judgements(part, given)
        table = part.load(text, numbers, coded=["query"])
        if len(table["query"]) == 0:
            raise part.no_rows()
        _no_nulls(table, text, part)
        rows.sources.append(part.fingerprint(len(table["query"])))
        rows.query.append(table["query"])
        rows.item.append(table["item"])
        rows.grade.append(_grades(table["grade"], numbers["grade"], part))
        rows.stretches.append((part.name, len(table["query"])))
    return rows


def plan_queries(part: Part, attributes: Sequence[str], given: dict[str, str]) -> dict[str, str]:
    """The column of the query in a part of the table with one row a query; raises InputError where it has none."""
    here = {"query": given["query"]} if given.get("query") in part.columns else {}
    roles = roles_of.resolve(part.columns, ("query",), here, part.name, attributes)
    if "query" not in roles:
        raise roles_of.missing("query", part.columns, part.name)
    for name in attributes:
        roles_of.require(part.columns, name, part.name, "segments or unit")
    return roles


def query_table(queries: Any, attributes: Sequence[str], given: dict[str, str]) -> Rows:
    """The table with one row a query, its columns named by `attributes`."""
    rows = Rows()
    for part in sources.parts(queries):
        roles = plan_queries(part, attributes, given)
        table = part.load(roles | beside(attributes), {})
        if len(table["query"]) == 0:
            raise part.no_rows()
        _no_nulls(table, roles, part)
        rows.sources.append(part.fingerprint(len(table["query"])))
        rows.query.append(table["query"])
        rows.attributes.append({name: table[f"attribute {name}"] for name in attributes})
        rows.stretches.append((part.name, len(table["query"])))
    return rows


# What is said of an input as a whole --------------------------------------------------------------------------------


def no_judgement(where: str) -> InputError:
    """The grade column is empty throughout."""
    return InputError(f"{where}: the grade column holds no judgement")


def nothing_in_common(system: str, has: str, judged: str) -> InputError:
    """A system without a judged query."""
    return InputError(
        f"system {system!r} and the judgements must share queries, got none: the run has {has!r}, "
        f"the judgements {judged!r}"
    )


def no_shared_table(where: str, has: str, judged: str) -> InputError:
    """A table of queries without a judged one."""
    return InputError(f"{where}: must share queries with the judgements, got {has!r}, they have {judged!r}")
