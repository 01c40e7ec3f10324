"""The role of each column: by its exact name, by common synonyms, or as the parameter `columns`
says.

Also the names of summary rows, such as totals and means.
"""

import difflib
import itertools
import pkgutil
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from evalkit.arrays import InputError, ParameterError, Record
from evalkit.parameters.kinds import did_you_mean, written


@cache
def facts(name: str) -> Record:
    """The content of a TOML file in the folder of reading; `pkgutil` also finds it in the archive
    that Spark sends to its workers.
    """
    return tomllib.loads((pkgutil.get_data("evalkit.reading", f"{name}.toml") or b"").decode())


SYNONYMS = {
    role: tuple[str, ...](declaration["names"]) for role, declaration in facts("roles").items()
}

# roles whose column has no second role; a column of names, such as users, may have two
MEASURED = ("label", "score", "actual", "forecast", "predicted", "value", "rank")
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
    """A sentence of refusals.toml with its gaps filled in.

    why: the name of the sentence. named: name of a gap -> what stands there.
    """
    text: str = facts("refusals")[why]
    return text.format(**named)


def refused(where: str, why: str, **named: Any) -> InputError:
    """The error for a table, or a row of it, with a sentence of refusals.toml. where: the name of
    the table or row. why, named: as in `sentence`.
    """
    return InputError(f"{where}: {sentence(why, **named)}")


def is_number(text: str) -> bool:
    """True if the text is a finite number as tables write it."""
    return bool(re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", text, re.ASCII))


def like_data(names: Iterable[str]) -> bool:
    """True if a first line looks like a row of data, not like a header: it holds numbers, unless
    they are several whole numbers 1 apart, as years are.

    >>> (
    ...     like_data(["q1", "0.5", "0.3"]),
    ...     like_data(["item", "2019", "2020"]),
    ...     like_data(["query", "score"]),
    ... )
    (True, False, False)
    """
    numbers = [name for name in names if is_number(name)]
    if not all(name.isdecimal() for name in numbers):
        return True
    steps = [int(after) - int(before) for before, after in itertools.pairwise(numbers)]
    return len(numbers) == 1 or any(step != 1 for step in steps)


def no_header(names: Iterable[str], role: str = "ROLE", column: int = 1) -> str:
    """The addition to an error about columns if the first line looks like a row of data; else "".

    names: the first line. role, column: which role to name, by which position, in the example.
    """
    return f"; {NO_HEADER}: columns='{role}={column}'" if like_data(names) else ""


def refuse_data(names: Iterable[str], where: str) -> None:
    """Raise InputError if the first line looks like a row of data and holds no usual column
    name.
    """
    names = list(names)
    plain = [name.strip().lower() for name in names]
    has_usual_name = any(name in KNOWN or name.endswith("id") for name in plain)
    if like_data(names) and not has_usual_name:
        raise refused(where, "data_first", no_header=NO_HEADER, names=listed(map(repr, names)))


class MissingColumn(InputError):
    """A role without a column, or with several possible ones.

    where: the name of the table. reasons: which roles these are, with their usual names. brief:
    where, and the reasons without usual names. advice: the end of the error.
    """

    def __init__(self, where: str, reasons: str, brief: str, advice: str) -> None:
        super().__init__(f"{where}: {reasons}{advice}")
        self.reasons = reasons
        self.brief = f"{where}: {brief}"


@dataclass(frozen=True)
class RoleMapping:
    """The columns of a table by role.

    columns: role -> its column. ambiguous_columns: role -> the columns that could all have it, as
    each has a usual name of the role and none has the role's own name. missing_columns: columns
    that a parameter names and the table lacks -> the parameter. all_columns: those of the table.
    where: the name of the table, for errors. other_uses: columns with another use, and so without a
    role -> the parameter that uses each.
    """

    columns: Mapping[str, str]
    ambiguous_columns: Mapping[str, Sequence[str]]
    missing_columns: Mapping[str, str]
    all_columns: Sequence[str]
    where: str
    other_uses: Mapping[str, str] = field(default_factory=dict)

    def missing_roles(self, needed: Iterable[str | tuple[str, ...]]) -> list[tuple[str, ...]]:
        """The needed roles that no column could have, each as a tuple: (role,), or the roles of
        which none has a column.

        needed: roles; a tuple such as ("score", "rank") stands for roles of which one will do.
        """
        # a role that several columns could have is ambiguous, but not missing
        roles_with_columns = set(self.columns).union(self.ambiguous_columns)
        alternatives = [(role,) if isinstance(role, str) else role for role in needed]
        return [roles for roles in alternatives if roles_with_columns.isdisjoint(roles)]

    def resolve(
        self,
        needed: Iterable[str | tuple[str, ...]] = (),
        roles: Iterable[str] | None = None,
        per_system_role: str = "",
    ) -> dict[str, str]:
        """Role -> column, if every needed role has a column and no role could have several.

        needed: roles that must have a column; a tuple stands for roles of which one must. roles:
        those that must not be ambiguous; None for all. per_system_role: a role that may have one
        column per system, as the error then says. Raises InputError for all such faults at once;
        ParameterError if a parameter names the column of a needed role as a segment or the like, or
        names a column that the table lacks.
        """
        missing = self.missing_roles(needed)  # each as a tuple
        ambiguous = self.ambiguous_columns
        if roles is not None:
            ambiguous = {role: columns for role, columns in ambiguous.items() if role in roles}
        for role in itertools.chain.from_iterable(missing):
            used_otherwise = columns_called(role, self.other_uses)
            if used_otherwise:  # such as a column label that the user names as a segment
                column = used_otherwise[0]
                parameter = self.other_uses[column]
                raise ParameterError(
                    f"{parameter}: {column!r} is the {role} of {self.where}, name another column"
                )
        if missing or ambiguous:
            raise self._error(missing, ambiguous, per_system_role)
        if self.missing_columns:
            raise _missing_columns_error(self.missing_columns, self.all_columns, self.where)
        return dict(self.columns)

    def _error(
        self,
        lacking: Sequence[tuple[str, ...]],
        unclear: Mapping[str, Sequence[str]],
        per_system_role: str = "",
    ) -> InputError:
        """The error for roles without a column, and for those with several possible ones.

        lacking: the former, each as a tuple of alternatives. unclear: role -> its possible columns.
        per_system_role: as in `resolve`.
        """
        reasons = [
            f"columns {' and '.join(map(repr, columns))} could both be the {role}"
            for role, columns in unclear.items()
        ]
        reasons += [
            f"no column {name!r} ({parameter})" for name, parameter in self.missing_columns.items()
        ]
        first_columns = {role: columns[0] for role, columns in unclear.items()}
        if not lacking:
            advice = f"; say which: columns={written(first_columns)!r}"
            unclear_roles = "; ".join(reasons)
            return MissingColumn(self.where, unclear_roles, unclear_roles, advice)
        roles = ", the ".join(" or ".join(choice) for choice in lacking)
        brief = "; ".join([*reasons, f"no column for the {roles}"])
        usual = " and for ".join(" or ".join(map(_usual, choice)) for choice in lacking)
        in_full = "; ".join([*reasons, f"no column for {usual}"])
        near = {role: _near(role, self.all_columns) for role, *_ in lacking}
        hint = no_header(self.all_columns, lacking[0][0])
        if not hint and all(near.values()):
            hint = f"; set columns={written({**first_columns, **near})!r}"
        elif not hint:
            hint = f"; {_other_names(per_system_role, lacking)}"
        inventory = f"; it has {listed(map(repr, self.all_columns))}"
        return MissingColumn(self.where, in_full, brief, inventory + hint)


def _other_names(per_system_role: str, lacking: Sequence[tuple[str, ...]]) -> str:
    """The advice to name columns with other names than usual ones."""
    advice = "if other columns are meant, name them with columns"
    if (per_system_role,) in lacking:
        return f"{advice}, or with systems where each system has one"
    return advice


def match(
    names: Sequence[str],
    roles: Collection[str],
    chosen: Mapping[str, str],
    where: str,
    other_uses: Collection[str] = (),
    required_columns: Mapping[str, str] | None = None,
) -> RoleMapping:
    """Find the column of each role: the one that the user names for it, else the one whose name is
    that of the role, else the one with a usual name of the role; if several have usual names, the
    role is ambiguous. A role without any such column is left out.

    names: the columns of the table. chosen: role -> the column that the user names for it. where:
    the name of the table, for errors. other_uses: columns that must exist and have no role, such as
    segments, unless they are chosen. required_columns: column that must exist -> the parameter that
    names it, for errors; that of other uses, if it is not stated, is segments or unit.

    >>> match(
    ...     ["qid", "doc_id", "score"], ["query", "item", "score"], {"item": "doc_id"}, "run.csv"
    ... ).columns
    {'query': 'qid', 'item': 'doc_id', 'score': 'score'}
    """
    # column that must exist -> the parameter that names it
    parameter_of_column = dict.fromkeys(other_uses, "segments or unit")
    parameter_of_column |= required_columns or {}
    # a column that the user names for a role can have no other role, whatever its name
    not_chosen = [name for name in names if name not in chosen.values()]
    free = [name for name in not_chosen if name not in other_uses]
    columns = {}
    ambiguous_columns = {}
    for role in roles:
        if role in chosen:
            candidates = [chosen[role]]
            parameter_of_column.setdefault(chosen[role], f"columns: {role}")
        else:
            candidates = columns_called(role, free)
        if len(candidates) == 1:
            columns[role] = candidates[0]
        elif candidates:
            ambiguous_columns[role] = candidates
    missing = {
        name: parameter for name, parameter in parameter_of_column.items() if name not in names
    }
    used_otherwise = {name: parameter_of_column[name] for name in not_chosen if name in other_uses}
    return RoleMapping(
        columns,
        ambiguous_columns,
        missing_columns=missing,
        all_columns=names,
        where=where,
        other_uses=used_otherwise,
    )


def columns_called(role: str, names: Collection[str]) -> list[str]:
    """The columns that may have a role by their names: the one that is called as the role, such as
    query; only without one all with a usual name of it, such as qid and query_id. names: columns.
    """
    if role in names:
        return [role]
    return [name for name in SYNONYMS.get(role, ()) if name in names]


def require_column(names: Iterable[str], wanted: str, where: str, parameter: str) -> str:
    """The requested column. Raises ParameterError with the nearest name if it does not exist."""
    names = list(names)
    if wanted in names:
        return wanted
    raise _missing_columns_error({wanted: parameter}, names, where)


def _missing_columns_error(
    absent: Mapping[str, str], names: Sequence[str], where: str
) -> ParameterError:
    """The error for columns that parameters name and the table lacks, with the nearest names.

    absent: column -> the parameter that names it. names: the columns of the table.
    """
    near: list[str] = []
    for name in absent:
        near += difflib.get_close_matches(name, names, n=1)
    hint = no_header(names)
    if near and not hint:
        hint = f"; did you mean {' and '.join(map(repr, near))}?"
    column = "column" if len(absent) == 1 else "columns"
    parameters = ", ".join(dict.fromkeys(absent.values()))
    lacks = " and ".join(map(repr, absent))
    return ParameterError(
        f"{parameters}: {where} has no {column} {lacks}, it has {listed(names, join=written)}{hint}"
    )


def names_matching_patterns(
    names: Iterable[str], wanted: Iterable[str], where: str, parameter: str
) -> list[str]:
    """The names that match one of the patterns `wanted`, in which a * stands for any text; in the
    order of the names. Raises ParameterError for a pattern that matches none.

    where: the name of the table. parameter: the one that holds the patterns.

    >>> names_matching_patterns(["x1", "x2", "y"], ["x*"], "t.csv", "ignore")
    ['x1', 'x2']
    """
    names = list(names)
    matches = set[str]()
    for glob in wanted:
        pattern = re.compile(".*".join(map(re.escape, glob.split("*"))), re.DOTALL)
        matching_names = {name for name in names if pattern.fullmatch(name)}
        if not matching_names:
            raise _missing_columns_error({glob: parameter}, names, where)
        matches |= matching_names
    return [name for name in names if name in matches]


def differing_columns_error(where: str, first: str, lacking: Sequence[str]) -> InputError:
    """The error for a part, `where`, that lacks columns of the part `first`."""
    names = listed(map(repr, lacking))
    return InputError(f"{where}: must have the columns of {first}, it lacks {names}")


def unresolved(lacking: Sequence[str], names: Sequence[str], where: str) -> InputError:
    """The error for roles without a column.

    >>> unresolved(["label", "fold"], ["y", "split"], "a.csv")  # doctest: +ELLIPSIS
    MissingColumn("a.csv: no column for the label (...) and for the fold (fold); it has ...")
    """
    return RoleMapping({}, {}, {}, names, where)._error([(role,) for role in lacking], {})


def _usual(role: str) -> str:
    """A role with the usual names of its column, for errors."""
    return f"the {role} ({', '.join(SYNONYMS.get(role, (role,)))})"


def _near(role: str, names: Iterable[str]) -> str:
    """The name that looks like the role, for a hint; "" if none does."""
    lowered = {name.strip().lower(): name for name in names}
    near = difflib.get_close_matches(role, lowered, n=1, cutoff=0.7)
    return lowered[near[0]] if near else ""


def listed(
    names: Iterable[str], max_names: int = 20, join: Callable[[list[str]], str] = ", ".join
) -> str:
    """The names separated by commas: at most the first `max_names`, and how many more there are.

    join: makes one text of the names, in place of commas.
    """
    names = list(names)
    if len(names) <= max_names:
        return join(names)
    return f"{join(names[:max_names])} and {len(names) - max_names} more"


def requested_systems(names: Sequence[str], requested: Sequence[str]) -> list[str]:
    """The systems that the user requests, in the order of `names`; all if none is requested. Raises
    ParameterError for one that the input does not have.

    names: the systems of the input.
    """
    unknown = [name for name in requested if name not in names]
    if unknown:
        raise ParameterError(
            f"systems: there is no system {unknown[0]!r}{did_you_mean(unknown[0], names)}, the "
            f"input has {written(names)}"
        )
    return [name for name in names if not requested or name in requested]


NO_NAMES = ("nan", "null", "n/a", "#n/a", "<na>", "nat", "undefined", "(not set)", "(none)")


def refuse_names(names: Iterable[str], column: str, parameter: str) -> None:
    """Raise InputError for names in a column of systems that mean a missing value, such as "n/a",
    or that differ only in case or blanks, as misspelled names of one system do.

    column: the file and its column, for the message. parameter: that by which the user can say
    which names are systems, for the message.
    """
    first_spelling = dict[str, str]()  # name in small letters -> its first spelling
    for name in names:
        normalised = " ".join(name.split()).casefold()
        if normalised in NO_NAMES:
            raise InputError(sentence("nameless", column=column, name=name, named=parameter))
        other_spelling = first_spelling.setdefault(normalised, name)
        if other_spelling != name:
            raise InputError(
                sentence("alike", column=column, other=other_spelling, name=name, named=parameter)
            )


def check_roles(chosen: Mapping[str, str], roles: Iterable[str]) -> None:
    """Raise ParameterError if the user names a column for a role that does not exist, or names one
    column for two roles of which one is of measured values, such as the score.

    chosen: role -> the column that the user names for it. roles: those that exist.
    """
    roles = list(roles)
    for role in chosen:
        if role not in roles:
            raise ParameterError(
                f"columns: unknown role {role!r}, must be one of {', '.join(roles)}"
            )
    measured_columns = [name for role, name in chosen.items() if role in MEASURED]
    for name in measured_columns:
        # the grade may stand in another file, that of judgements, in a column of the same name
        roles_of_column = [
            role for role, column in chosen.items() if column == name and role != "grade"
        ]
        if len(roles_of_column) > 1:
            raise ParameterError(
                f"columns: {name!r} can have one role, got {' and '.join(roles_of_column)}"
            )
