"""What a small frame passes until a report has read it: functions, modules, moves between modules.

    python benchmarks/reading_trace.py              a table with a line for each report
    python benchmarks/reading_trace.py ranking      the functions of a report, with their tokens
    python benchmarks/reading_trace.py --cpu        the CPU time of 1,000 rows as well

It counts the functions of evalkit from the call of a report (`ek.classification(frame)`) to the end
of its reading, and how often columns are matched against roles.
"""

import argparse
import ast
import io
import sys
import time
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from types import CodeType, FrameType
from typing import NamedTuple

import numpy as np
import pandas as pd
from syntax import NO_CODE

import evalkit as ek
from evalkit.online import logs
from evalkit.reading.inputs import folds, outcomes
from evalkit.reading.reductions import sharded, unit_kinds

HOME = Path(ek.__file__).parent
ROWS, TIMED = 400, 1_000  # of the frame that is traced, and of the one whose reading is timed
REPEATS = 25
MATCHING = ("reading/tables/columns.py:match",)


class Function(NamedTuple):
    """A function of the package: its module and the line that it begins in."""

    module: str
    line: int
    name: str


class Ended(Exception):
    """Raised when the reading of a report is done."""


@dataclass(frozen=True)
class Report:
    """A call of a report, its frame, and the function whose return ends its reading."""

    call: Callable[[pd.DataFrame], object]
    frame: Callable[[int], pd.DataFrame]
    owner: object
    last: str

    def read(self, frame: pd.DataFrame) -> None:
        """Call the report up to the end of its reading."""
        with suppress(Ended), _ending(self.owner, self.last):
            self.call(frame)


@contextmanager
def _ending(owner: object, name: str) -> Iterator[None]:
    """A context in which the return of a function raises Ended."""
    read = getattr(owner, name)

    def ended(*arguments: object, **named: object) -> None:
        read(*arguments, **named)
        sys.setprofile(None)
        raise Ended

    setattr(owner, name, ended)
    try:
        yield
    finally:
        setattr(owner, name, read)


@dataclass
class Trace:
    """The calls of each function, and the moves from one module to another."""

    functions: Counter[Function] = field(default_factory=Counter)
    moves: int = 0
    module: str = ""

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Take note of a call of the package."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(HOME)):
            return
        function = named(code)
        if function.name.startswith("<") and function.name != "<lambda>":
            return  # a comprehension, or the body of a module
        self.functions[function] += 1
        if function.module != self.module:
            self.moves += 1
            self.module = function.module

    @property
    def modules(self) -> set[str]:
        """The modules that the functions stand in."""
        return {function.module for function in self.functions}

    @property
    def matchings(self) -> int:
        """How often columns were matched against roles."""
        return sum(
            calls
            for function, calls in self.functions.items()
            if f"{function.module}:{function.name}" in MATCHING
        )

    @property
    def longest(self) -> int:
        """The tokens of the longest function."""
        return max(map(tokens_of, self.functions))


def named(code: CodeType) -> Function:
    """The function of a code object."""
    module = Path(code.co_filename).relative_to(HOME).as_posix()
    return Function(module, code.co_firstlineno, code.co_name)


def tokens_of(function: Function) -> int:
    """The tokens of a function; 0 for one that a decorator made."""
    return sizes(function.module).get(function.line, 0)


@cache
def sizes(module: str) -> dict[int, int]:
    """The tokens of each function of a module, by its first line."""
    source = (HOME / module).read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    tokens = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
            tokens[first] = counted("".join(lines[first - 1 : node.end_lineno]))
            tokens[first] -= ast.get_docstring(node) is not None
    return tokens


def counted(text: str) -> int:
    """The number of tokens of a function's text."""
    depth = len(text) - len(text.lstrip(" "))
    plain = "".join(line[depth:] for line in text.splitlines(keepends=True))
    read = tokenize.generate_tokens(io.StringIO(plain).readline)
    return sum(token.type not in NO_CODE for token in read)


# The reports --------------------------------------------------------------------------------------


def two_classes(rows: int) -> pd.DataFrame:
    """Labels and the scores of two systems."""
    rng = np.random.default_rng(1)
    scores = {f"score_{name}": rng.random(rows) for name in "ab"}
    return pd.DataFrame({"id": np.arange(rows), "label": rng.integers(0, 2, rows), **scores})


def ranked_lists(rows: int) -> pd.DataFrame:
    """Lists of ten items of two systems with their grades."""
    rng = np.random.default_rng(2)
    number = np.arange(rows)
    columns = {
        "system": np.where(number < rows // 2, "a", "b"),
        "query": [f"q{i}" for i in number % (rows // 2) // 10],
        "item": [f"d{i}" for i in number % 10],
        "score": rng.random(rows),
        "grade": number % 10 % 3,
    }
    return pd.DataFrame(columns)


def forecasts(rows: int) -> pd.DataFrame:
    """Actual values and the forecasts of two systems."""
    rng = np.random.default_rng(3)
    said = {f"forecast_{name}": rng.random(rows) for name in "ab"}
    return pd.DataFrame({"id": np.arange(rows), "actual": rng.random(rows), **said})


def out_of_fold(rows: int) -> pd.DataFrame:
    """Labels and scores of one system in five folds."""
    rng = np.random.default_rng(4)
    columns = {"id": np.arange(rows), "label": rng.integers(0, 2, rows), "score": rng.random(rows)}
    return pd.DataFrame({**columns, "fold": np.arange(rows) % 5})


def values(rows: int) -> pd.DataFrame:
    """One value a unit of three systems."""
    rng = np.random.default_rng(5)
    said = {name: rng.random(rows) for name in ("new", "old", "other")}
    return pd.DataFrame({"unit": [f"u{i}" for i in range(rows)], **said})


def users(rows: int) -> pd.DataFrame:
    """Users of two arms with the number of their orders."""
    rng = np.random.default_rng(6)
    arm = np.where(np.arange(rows) % 2 == 0, "control", "treatment")
    name = [f"u{i}" for i in range(rows)]
    return pd.DataFrame({"user": name, "arm": arm, "orders": rng.integers(0, 5, rows)})


REPORTS = {
    "classification": Report(ek.classification, two_classes, outcomes.OutcomeTable, "read"),
    "ranking": Report(ek.ranking, ranked_lists, sharded, "read"),
    "rating": Report(ek.rating, forecasts, outcomes, "forecasts_of"),
    "validation": Report(ek.validation, out_of_fold, folds, "predictions"),
    "significance": Report(ek.significance, values, unit_kinds.UnitInput, "values"),
    "interleaving": Report(
        lambda frame: ek.interleaving(users=frame, metrics="orders", world="none"),
        users,
        logs,
        "read_users",
    ),
}


def traced(report: Report) -> Trace:
    """What runs in the reading of a report's frame; the second time, without imports."""
    frame = report.frame(ROWS)
    report.read(frame)
    trace = Trace()
    sys.setprofile(trace)
    report.read(frame)
    return trace


def milliseconds(report: Report) -> float:
    """The CPU time of reading 1,000 rows: the median of several."""
    frame = report.frame(TIMED)
    report.read(frame)
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        report.read(frame)
        times.append(1_000 * (time.process_time() - started))
    return median(times)


def print_table(*, timed: bool) -> None:
    """Print a line for each report."""
    print("report          functions  modules  moves  longest  matchings" + "    ms CPU" * timed)
    for name, report in REPORTS.items():
        trace = traced(report)
        figures = (len(trace.functions), len(trace.modules), trace.moves, trace.longest)
        cells = [f"{figure:9,}" for figure in (*figures, trace.matchings)]
        if timed:
            cells.append(f"{milliseconds(report):9.1f}")
        print(f"{name:15}", *cells)


def print_functions(name: str) -> None:
    """Print the functions of a report's reading, in the order in which they were first called."""
    for function, calls in traced(REPORTS[name]).functions.items():
        place = f"{function.module}:{function.line}"
        print(f"{tokens_of(function):5} {calls:4} x  {place:45} {function.name}")


def main() -> None:
    """Print a table, or the functions of a report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("report", nargs="?", choices=REPORTS)
    parser.add_argument("--cpu", action="store_true", help="time the reading too")
    chosen = parser.parse_args()
    if chosen.report is None:
        print_table(timed=chosen.cpu)
    else:
        print_functions(chosen.report)


if __name__ == "__main__":
    main()
