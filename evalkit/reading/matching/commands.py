"""Commands that read an input, made from proposals; refusals of a missing column end in them."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import NamedTuple, TypeVar

from evalkit.arrays import InputError
from evalkit.parameters.kinds import written
from evalkit.parameters.reports import Parameters
from evalkit.reading.matching.proposal import REPORTS, Choice, Proposal, proposals
from evalkit.reading.matching.samples import SampledTable
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


def reads(part: InputPart, proposal: Proposal, choice: Choice) -> bool:
    """True if the report reads the part with the choice."""
    table = SampledTable.of(part, choice.columns, choice.systems)
    return REPORTS[proposal.report](table).is_complete


class Advice(NamedTuple):
    """Commands that read a part, and which of its columns fit equally well, "" if none do."""

    commands: Sequence[str] = ()
    doubt: str = ""


def advice(part: InputPart, report: str) -> Advice:
    """How a part is read: by the report that was asked for if something is unclear, else by the
    closest one.
    """
    found = proposals(part)
    meant = [
        proposal for proposal in found if proposal.report == report and not proposal.is_complete
    ] or found[:1]
    for proposal in meant:
        ways = [
            of_part(part, proposal.report, choice.parameters)
            for choice in proposal.choices
            if reads(part, proposal, choice)
        ]
        return Advice(ways, proposal.doubt if proposal.report == report else "")
    return Advice()


def of_part(part: InputPart, report: str, parameters: Mapping[str, str]) -> str:
    """The command, or for a table in memory the call."""
    if part.unnamed:
        return call(report, parameters)
    return command(report, [part.name], parameters)


def advising(make: Callable[..., Made]) -> Callable[..., Made]:
    """Decorate a function of parameters so that its InputErrors name files, and those of a missing
    column end with a command that works, if there is one.
    """

    @wraps(make)
    @sources.naming_files
    def advised(p: Parameters, *others: object) -> Made:
        try:
            return make(p, *others)
        except MissingColumn as error:
            for part in first_parts(p):
                found = advice(part, p.report_name())
                if found.commands:
                    problem = f"{part.name}: {found.doubt}" if found.doubt else error.problem
                    raise InputError(f"{problem}; {' or '.join(found.commands)}") from None
            raise

    return advised


def first_parts(p: Parameters) -> Iterator[InputPart]:
    """The first part of the input that was refused, if it can be opened again."""
    for table in p.tables[:1]:
        if not isinstance(table, Iterator):
            yield sources.parts(table)[0]
