"""The role of each column: by its exact name, by common synonyms, or as the parameter `columns`
says.

Also the names of summary rows, such as totals and means.
"""

import difflib
import itertools
import pkgutil
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from evalkit.arrays import InputError, ParameterError
from evalkit.parameters.kinds import written


@cache
def facts(name: str) -> dict[str, Any]:
    """The content of a table beside the modules of reading; in a Spark worker it is no file."""
    return tomllib.loads((pkgutil.get_data("evalkit.reading", f"{name}.toml") or b"").decode())


SYNONYMS = {role: tuple[str, ...](names) for role, names in facts("roles").items()}

NO_HEADER = "there seems to be no header; set header=none and name columns by position"
KNOWN = {name for role, names in SYNONYMS.items() for name in (role, *names)} | {
    "unit",
    "value",
    "metric",
    "fold",
}

_WORD = (
    r"totals?|sum|summe|gesamt|insgesamt|somme|mean|average|avg|mittelwert|durchschnitt|moyenne|promedio|median|std|"
    r"stdev|stddev|std ?dev|standard deviation|variance|count|25%|50%|75%"
)
SUMMARY = (
    r"^((grand|sub|column|row|overall|macro|micro|weighted|samples)[ _-]*)?"
    rf"({_WORD})[.]?( rank)?[ .:]*$"
)


def sentence(why: str, **named: Any) -> str:
    """A sentence of refusals.toml with its facts filled in."""
    text: str = facts("refusals")[why]
    return text.format(**named)


def refused(where: str, why: str, **named: Any) -> InputError:
    """The error of a table, or of a row of it, with the sentence that says why."""
    return InputError(f"{where}: {sentence(why, **named)}")


def is_number(text: str) -> bool:
    """True if the text is a finite number as tables write it."""
    return bool(re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", text, re.ASCII))


def like_data(names: Iterable[str]) -> bool:
    """True if a first line looks like a row of data: it holds numbers other than 1, 2, 3, … in a
    row.

    >>> (
    ...     like_data(["q1", "0.5", "0.3"]),
    ...     like_data(["item", "2019", "2020"]),
    ...     like_data(["query", "score"]),
    ... )
    (True, False, False)
    """
    numbers = [name for name in names if is_number(name)]
    if not numbers or not all(name.isdecimal() for name in numbers):
        return bool(numbers)
    return any(int(b) - int(a) != 1 for a, b in itertools.pairwise(numbers)) or len(numbers) == 1


def no_header(names: Iterable[str], role: str = "ROLE", column: int = 1) -> str:
    """The addition to an error about columns if the first line looks like a row of data; else
    "".
    """
    return f"; {NO_HEADER}: columns='{role}={column}'" if like_data(names) else ""


def refuse_data(names: Iterable[str], where: str) -> None:
    """Raise InputError if the first line looks like a row of data and holds no usual column
    name.
    """
    names = list(names)
    usual = any(
        name.strip().lower() in KNOWN or name.strip().lower().endswith("id") for name in names
    )
    if like_data(names) and not usual:
        raise refused(where, "data_first", no_header=NO_HEADER, names=listed(map(repr, names)))


@dataclass(frozen=True)
class Matches:
    """The columns of a table by role. columns: role -> column. unclear: role -> columns that are
    all possible.

    absent: columns that a parameter names and the table lacks -> the parameter. names: every
    column. where: the table, for errors.
    """

    columns: dict[str, str]
    unclear: dict[str, list[str]]
    absent: dict[str, str]
    names: Sequence[str]
    where: str

    def has(self, *roles: str) -> bool:
        """True if a column has, or several could have, one of the roles."""
        return bool({*self.columns, *self.unclear} & {*roles})

    def lacking(self, needed: Iterable[str | tuple[str, ...]]) -> list[tuple[str, ...]]:
        """The needed roles without a possible column, each with its alternatives."""
        choices = [(role,) if isinstance(role, str) else role for role in needed]
        return [choice for choice in choices if not self.has(*choice)]

    def resolved(
        self, needed: Iterable[str | tuple[str, ...]] = (), otherwise: str = ""
    ) -> dict[str, str]:
        """Role -> column; needed: roles that must exist; of a tuple of roles one.

        otherwise: what else the user can do if a column is missing.

        Raises one error for all of them: InputError if two synonyms match one role or a needed role
        has no column, ParameterError if only columns that a parameter names do not exist.
        """
        lacking = self.lacking(needed)
        if lacking or self.unclear:
            raise self.error(lacking, otherwise if lacking else "")
        if self.absent:
            raise _absent(self.absent, self.names, self.where)
        return self.columns

    def error(self, lacking: Sequence[tuple[str, ...]], otherwise: str = "") -> InputError:
        """The error for roles without a column (of a tuple: none has one), and for what is
        ambiguous or absent.
        """
        said = [
            f"columns {' and '.join(map(repr, some))} could both be the {role}"
            for role, some in self.unclear.items()
        ]
        said += [f"no column {name!r} ({parameter})" for name, parameter in self.absent.items()]
        chosen, hint, do = {role: some[0] for role, some in self.unclear.items()}, "", "say which:"
        if lacking:
            usual = " and for ".join(" or ".join(map(_usual, some)) for some in lacking)
            said.append(f"no column for {usual}; it has {listed(map(repr, self.names))}")
            chosen |= {role: _near(role, self.names) for role, *_ in lacking}
            hint, do = no_header(self.names, lacking[0][0]), "set"
        hint = hint or f"; {do} columns={written(chosen)!r}"
        return InputError(f"{self.where}: {'; '.join(said)}{hint}{otherwise}")

    def each_system(self, role: str, needed: Iterable[str | tuple[str, ...]]) -> str:
        """The advice to name a column per system, if this role is missing and two more columns have
        no role.
        """
        lacking = [some[0] for some in self.lacking(needed)]
        others = written({other: _near(other, self.names) for other in lacking if other != role})
        free = [name for name in self.names if name not in self.columns.values()][len(lacking) :]
        with_them = f"columns={others!r} and " if others else ""
        how = (
            f", or for one column per system {with_them}systems='NAME,NAME', "
            f"or call them {role}_NAME"
        )
        return how if role in lacking and free else ""


def match(
    names: Sequence[str],
    roles: Iterable[str],
    chosen: Mapping[str, str],
    where: str,
    taken: Iterable[str] = (),
    named: Mapping[str, str] | None = None,
) -> Matches:
    """The columns by role; `chosen` decides first, then the exact name, then a synonym.

    taken: names with another use. named: further columns that must exist, each with the parameter
    that names it.

    >>> match(
    ...     ["qid", "doc_id", "score"], ["query", "item", "score"], {"item": "doc_id"}, "run.csv"
    ... ).columns
    {'query': 'qid', 'item': 'doc_id', 'score': 'score'}
    """
    taken = {*taken, *chosen.values()}
    absent = {name: parameter for name, parameter in (named or {}).items() if name not in names}
    matches = Matches({}, {}, absent, names, where)
    for role in roles:
        if role in chosen:
            matches.columns[role] = chosen[role]
            if chosen[role] not in names:
                absent.setdefault(chosen[role], f"columns: {role}")
            continue
        usual = [
            name for name in (role, *SYNONYMS.get(role, ())) if name in names and name not in taken
        ]
        if usual[:1] == [role] or len(usual) == 1:
            matches.columns[role] = usual[0]
        elif usual:
            matches.unclear[role] = usual
    return matches


def require(names: Iterable[str], wanted: str, where: str, parameter: str) -> str:
    """The requested column. Raises ParameterError with the nearest name if it does not exist."""
    names = list(names)
    if wanted in names:
        return wanted
    raise _absent({wanted: parameter}, names, where)


def _absent(absent: Mapping[str, str], names: Sequence[str], where: str) -> ParameterError:
    """The error for columns that parameters name and the table lacks, with the nearest names."""
    near = [match for name in absent for match in difflib.get_close_matches(name, names, n=1)]
    hint = no_header(names) or (f"; did you mean {' and '.join(map(repr, near))}?" if near else "")
    column = "column" if len(absent) == 1 else "columns"
    parameters = ", ".join(dict.fromkeys(absent.values()))
    lacks = " and ".join(map(repr, absent))
    return ParameterError(
        f"{parameters}: {where} has no {column} {lacks}, it has {listed(names, join=written)}{hint}"
    )


def matching(names: Iterable[str], wanted: Iterable[str], where: str, parameter: str) -> list[str]:
    """The names that match, in their order; a * stands for any text. Raises ParameterError for one
    without a match.

    >>> matching(["x1", "x2", "y"], ["x*"], "t.csv", "ignore")
    ['x1', 'x2']
    """
    names, matches = list(names), set[str]()
    for glob in wanted:
        pattern = re.compile(".*".join(map(re.escape, glob.split("*"))), re.DOTALL)
        matches |= {name for name in names if pattern.fullmatch(name)} or {
            require(names, glob, where, parameter)
        }
    return [name for name in names if name in matches]


def wide(names: Iterable[str], prefix: str, systems: Sequence[str], where: str) -> dict[str, str]:
    """System -> column of a wide table: those that `systems` names, else those that begin with
    `prefix`, without ids.

    >>> wide(["id", "score_id", "score_a", "score_b"], "score_", [], "x.csv")
    {'a': 'score_a', 'b': 'score_b'}
    """
    names = list(names)
    if systems and all(name in names for name in systems):
        return {name: name for name in systems}
    columns = {name.removeprefix(prefix): name for name in names if _of_system(name, prefix)}
    unknown = [name for name in systems if columns and name not in columns]
    if unknown:
        raise ParameterError(
            f"systems: {where} has no system {unknown[0]!r}, it has {written([*columns])}"
        )
    if prefix in names and columns and not systems:
        raise refused(where, "no_name", prefix=prefix, others=written([*columns]))
    return {name: columns[name] for name in systems} if systems and columns else columns


def _of_system(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and name.removeprefix(prefix) not in (
        "",
        "id",
        "ids",
        "idx",
        "index",
    )


def one_way(
    role: str, names: Iterable[str], roles: Mapping[str, str], chosen: Mapping[str, str], where: str
) -> None:
    """Raise InputError if one column has the role, and others have it for one system each: score_a
    beside score.

    The column that `chosen` names has it in any case.
    """
    more = [name for name in names if _of_system(name, f"{role}_") and name not in roles.values()]
    if role in roles and role not in chosen and more:
        first, others = written({role: roles[role]}), listed(map(repr, more))
        raise refused(where, "two_ways", role=role, column=roles[role], others=others, first=first)


def unresolved(lacking: Sequence[str], names: Sequence[str], where: str) -> InputError:
    """The error for roles without a column.

    >>> unresolved(["label", "fold"], ["y", "split"], "a.csv")  # doctest: +ELLIPSIS
    InputError("a.csv: no column for the label (...) and for the fold (fold); ...,fold=NAME'")
    """
    return Matches({}, {}, {}, names, where).error([(role,) for role in lacking])


def _usual(role: str) -> str:
    return f"the {role} ({', '.join(SYNONYMS.get(role, (role,)))})"


def _near(role: str, names: Iterable[str]) -> str:
    """The name that looks like the role, for a hint."""
    lowered = {name.strip().lower(): name for name in names}
    near = difflib.get_close_matches(role, lowered, n=1, cutoff=0.7)
    return lowered[near[0]] if near else "NAME"


def listed(
    names: Iterable[str], most: int = 20, join: Callable[[list[str]], str] = ", ".join
) -> str:
    """The names separated by commas, at most the first `most`."""
    names = list(names)
    return join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def kept_systems(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The requested systems among these, all if none is. Raises ParameterError for one that does
    not exist.
    """
    if unknown := [name for name in wanted if name not in names]:
        raise ParameterError(
            f"systems: there is no system {unknown[0]!r}, the input has {written(names)}"
        )
    return [name for name in names if not wanted or name in wanted]


NO_NAMES = ("nan", "null", "n/a", "#n/a", "<na>", "nat", "undefined", "(not set)", "(none)")


def refuse_names(names: Iterable[str], column: str, named: str) -> None:
    """Raise InputError for names of systems that mean "no name", or that differ only in case or
    blanks.

    named: the parameter by which the user can name the systems instead, for the message.
    """
    first = dict[str, str]()
    for name in names:
        plain = " ".join(name.split()).casefold()
        if plain in NO_NAMES:
            raise InputError(sentence("nameless", column=column, name=name, named=named))
        if (other := first.setdefault(plain, name)) != name:
            raise InputError(sentence("alike", column=column, other=other, name=name, named=named))


def check_roles(chosen: Mapping[str, str], roles: Iterable[str]) -> None:
    """Raise ParameterError for a role that does not exist."""
    roles = list(roles)
    for role in chosen:
        if role not in roles:
            raise ParameterError(
                f"columns: unknown role {role!r}, must be one of {', '.join(roles)}"
            )
