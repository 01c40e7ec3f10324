"""Commands that read an input, made from proposals; refusals of a missing column end in them."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import TypeVar

from evalkit.arrays import InputError, ParameterError
from evalkit.parameters.kinds import written
from evalkit.parameters.reports import Parameters
from evalkit.reading.matching.proposal import Choice, Proposal, ReadingWay, reading_ways
from evalkit.reading.matching.verdict_columns import layout_of
from evalkit.reading.tables import sources
from evalkit.reading.tables.columns import MissingColumn
from evalkit.reading.tables.parts import InputPart

Result = TypeVar("Result")


def command(report: str, files: Sequence[str], parameters: Mapping[str, str]) -> str:
    """The command that makes a report, quoted for a shell.

    parameters: those besides `preds`, name -> value.

    >>> command("rating", ["a b.csv"], {"columns": "actual=y"})
    "evalkit report rating -p preds 'a b.csv' -p columns actual=y"
    """
    preds = files[0] if len(files) == 1 else written(list(files))
    words = ["evalkit", "report", report]
    for name, value in {"preds": preds, **parameters}.items():
        words += ["-p", name, value]
    return shlex.join(words)


def python_call(report: str, parameters: Mapping[str, str]) -> str:
    """The call in Python that makes a report of a table in memory.

    >>> python_call("rating", {"columns": "actual=y"})
    "evalkit.rating(preds=data, columns='actual=y')"
    """
    arguments = ["preds=data", *(f"{name}={value!r}" for name, value in parameters.items())]
    return f"evalkit.{report}({', '.join(arguments)})"


def listing(problem: str, entries: Sequence[str]) -> str:
    """A problem, and in a line of its own each of several commands or reasons.

    >>> listing("x.csv can be read in several ways", ["a", "b"]).splitlines()
    ['x.csv can be read in several ways:', '  a', '  b']
    """
    return f"{problem}:" + "".join(f"\n  {entry}" for entry in entries)


def advised_problem(part: InputPart, report: str, problem: str, *, is_only_part: bool) -> str:
    """A problem of missing columns with the commands that read the part; "" if none does.

    report: the one that was asked for. If it could read the part in several ways, there is a
    command for each of them; else one of the closest report that reads the part without a choice.
    is_only_part: if not, the problem may be that of another part.
    """
    possible = reading_ways(part)
    ambiguous = [way for way in possible if way.needs_choice and way.proposal.report == report]
    if ambiguous:
        calls = " or ".join(command_or_call(part, way) for way in ambiguous)
        return f"{part.name}: {ambiguous[0].ambiguity}; {calls}"
    clear = [way for way in possible if not way.needs_choice]
    # a table of pairwise verdicts, of which `reading_ways` has none
    if not clear and layout_of(part):
        clear = [ReadingWay(Proposal("significance"), Choice(), "")]
    if not clear:
        return ""
    closest = clear[0]
    reader = f"the {closest.proposal.report} report"
    if closest.proposal.report == report:
        if not is_only_part:  # nothing is wrong with this part
            return ""
        # it reads the part by default, so the user's parameters were in the way
        reader = f"without the other parameters {reader}"
    return f"{problem}; {reader} reads it: {command_or_call(part, closest)}"


def command_or_call(part: InputPart, way: ReadingWay) -> str:
    """The command that reads a part in one way, or for a table in memory the call."""
    parameters = way.choice.parameters
    if part.unnamed:
        return python_call(way.proposal.report, parameters)
    return command(way.proposal.report, [part.name], parameters)


def advise_on_errors(make: Callable[..., Result]) -> Callable[..., Result]:
    """Decorate a function, the first argument of which are the parameters of a report, so that the
    error for a missing column ends with a command that works, if there is one, and each InputError
    names the files that it is about.
    """

    @wraps(make)
    def make_or_advise(p: Parameters, *arguments: object) -> Result:
        """The result of `make(p, *arguments)`, which reads the input of a report and makes its
        study. p: the parameters of the report.

        If it raises InputError, the error gets the names of the files, and for a missing column the
        command of a report that can read them, if there is one.
        """
        try:
            return make(p, *arguments)
        except ParameterError:  # a subclass of InputError, but about a parameter, not a file
            raise
        except InputError as error:
            advised_error = error
            if isinstance(error, MissingColumn):
                advised_error = _with_command(error, p)
            raise sources.with_files(advised_error, p.tables) from None

    return make_or_advise


def _with_command(error: MissingColumn, p: Parameters) -> InputError:
    """The error for a missing column, with a command that reads the first table of the input; the
    error as it is if there is no such command.
    """
    if not p.tables or isinstance(p.tables[0], Iterator):  # an iterator of batches is used up
        return error
    parts = sources.parts(p.tables[0])
    is_only_part = len(p.tables) == len(parts) == 1
    problem = advised_problem(parts[0], p.report_name(), error.brief, is_only_part=is_only_part)
    return InputError(problem) if problem else error
