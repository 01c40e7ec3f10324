"""Commands that read an input, made from proposals; refusals of a missing column end in them."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import TypeVar

from evalkit.arrays import InputError
from evalkit.parameters.kinds import written
from evalkit.parameters.reports import Parameters
from evalkit.reading.matching.proposal import Choice, Proposal, Way, ways
from evalkit.reading.matching.verdict_columns import layout_of
from evalkit.reading.tables import sources
from evalkit.reading.tables.columns import MissingColumn
from evalkit.reading.tables.parts import InputPart

Made = TypeVar("Made")


def command(report: str, files: Sequence[str], parameters: Mapping[str, str]) -> str:
    """A command as a shell takes it.

    >>> command("rating", ["a b.csv"], {"columns": "actual=y"})
    "evalkit report rating -p preds 'a b.csv' -p columns actual=y"
    """
    named = {"preds": files[0] if len(files) == 1 else written([*files]), **parameters}
    words = [word for name, value in named.items() for word in ("-p", name, value)]
    return shlex.join(["evalkit", "report", report, *words])


def call(report: str, parameters: Mapping[str, str]) -> str:
    """A call in Python that reads a table in memory.

    >>> call("rating", {"columns": "actual=y"})
    "evalkit.rating(preds=data, columns='actual=y')"
    """
    named = [f", {name}={value!r}" for name, value in parameters.items()]
    return f"evalkit.{report}(preds=data{''.join(named)})"


def advised_problem(part: InputPart, report: str, problem: str) -> str:
    """A problem of missing columns with the commands that read the part: by the report that was
    asked for if something is unclear, else by the closest one; "" if none reads it.
    """
    found = ways(part)
    unclear = [way for way in found if way.doubt and way.proposal.report == report]
    complete = [way for way in found if not way.doubt][:1]
    calls = " or ".join(invocation(part, way) for way in unclear or complete)
    if unclear:
        return f"{part.name}: {unclear[0].doubt}; {calls}"
    if not complete and layout_of(part):
        complete = [Way(Proposal("significance"), Choice(), "")]
        calls = invocation(part, complete[0])
    if complete:
        return f"{problem}; the {complete[0].proposal.report} report reads it: {calls}"
    return ""


def invocation(part: InputPart, way: Way) -> str:
    """The command, or for a table in memory the call."""
    parameters = way.choice.parameters
    if part.unnamed:
        return call(way.proposal.report, parameters)
    return command(way.proposal.report, [part.name], parameters)


def advising(make: Callable[..., Made]) -> Callable[..., Made]:
    """Decorate a function of parameters so that its InputErrors name files, and those of a missing
    column end with a command that works, if there is one.
    """

    @wraps(make)
    @sources.naming_files
    def with_advice(p: Parameters, *others: object) -> Made:
        try:
            return make(p, *others)
        except MissingColumn as error:
            for part in first_parts(p):
                if advised := advised_problem(part, p.report_name(), error.brief):
                    raise InputError(advised) from None
            raise

    return with_advice


def first_parts(p: Parameters) -> Iterator[InputPart]:
    """The first part of the input that was refused, if it can be opened again."""
    for table in p.tables[:1]:
        if not isinstance(table, Iterator):
            yield sources.parts(table)[0]
