"""Rules that a report must keep: `gate` states one, a policy file (TOML) several. They are parsed,
never evaluated.

    rule       = value | gap | picked | difference | "none of severity" SEVERITY
               | "none of code" CODE | "no severe finding" | "no weak slice"
               | "no worse slice between" COLUMN, then "of" SYSTEM | "trusted"
    value      = METRIC "." ("value" | "low" | "high") (">=" | "<=") NUMBER,
                 then "of" SYSTEM and "in every" COLUMN
    gap        = "gap" value "between" COLUMN, then "of" SYSTEM: of the largest gap of its groups
    picked     = ("highest" | "lowest") value "between" COLUMN, then "of" SYSTEM: of this slice of a
                 column of segments, corrected for having been picked
    difference = METRIC ("better" | "not worse" | "better or equivalent"),
                 then "than" SYSTEM, "within" NUMBER, "of" SYSTEM and "in every" COLUMN

What stands behind "then" may be left out, and METRIC of a difference, which is then the first. A
name with spaces stands in single quotes.
"""

import math
import pkgutil
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NoReturn

from evalkit.arrays import ParameterError
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, SEVERE, Severity, all_kinds
from evalkit.parameters.kinds import (
    NUMBER,
    ParameterKind,
    a_number,
    a_whole_number,
    did_you_mean,
    number_words,
    one_of,
    text,
)

TOKEN = re.compile(r"'[^']*'(?:\.[a-z]+)?|>=|<=|[^\s'<>=]+|\S")
ENDS = re.compile(r"(.+)\.(value|low|high)")
CODE = re.compile(r"EK[0-9]{0,3}\*?")
HEADER = re.compile(r"\s*\[\[\s*rule\s*\]\]")
SIGNS = (">=", "<=")
VERDICTS = ("better or equivalent", "better", "not worse")
PLACES = ("highest", "lowest")
SEVERITIES = [*Severity]  # each with those before it
PASS, FAIL, CANNOT_TELL = "pass", "fail", "cannot tell"
NOT_DECIDED = "not decided"  # never kept, whatever `on_cannot_tell` says
SUFFIX = ".toml"
OBSTACLES = tomllib.loads((pkgutil.get_data(__package__, "obstacles.toml") or b"").decode())
A_RULE = 'a rule such as "roc_auc.low >= 0.75" or "not worse", or a policy file (.toml)'


def obstacle(reason: str, **facts: object) -> str:
    """Why a rule is not decided, in words.

    >>> obstacle("no_common_unit", unit="query", metric="map", first="a", second="b")
    'no query has a value of map for both a and b'
    """
    return str(OBSTACLES[reason].format_map(facts))


class Claim:
    """What a rule says. may_err: whether a limit or a test decides, which errs as often as its
    level allows.
    """

    @property
    def may_err(self) -> bool:
        """False of a number itself, and of a report as a whole."""
        return False


@dataclass(frozen=True)
class Bound(Claim):
    """What a number of every system, or of one, must be: `roc_auc.low >= 0.75`. end: value, low or
    high.
    """

    metric: str
    end: str
    sign: str
    number: float
    system: str | None = None
    column: str | None = None

    @property
    def may_err(self) -> bool:
        """Whether a limit decides."""
        return self.end != "value"

    def result(self, value: float, low: float, high: float) -> str:
        """Pass where the end keeps the bound, cannot tell where only the other end does or a limit
        is undefined.

        >>> [Bound("auc", "low", ">=", 0.7).result(0.8, low, 0.9) for low in (0.75, 0.6)]
        ['pass', 'cannot tell']
        """
        ends = {"value": (value, value), "low": (low, high), "high": (high, low)}
        stated, other = ends[self.end]
        if math.isnan(stated) or math.isnan(other):
            return CANNOT_TELL
        if self._keeps(stated):
            return PASS
        return CANNOT_TELL if self._keeps(other) else FAIL

    def _keeps(self, end: float) -> bool:
        """Whether a number keeps the bound."""
        return end >= self.number if self.sign == ">=" else end <= self.number


@dataclass(frozen=True)
class ColumnBound(Bound):
    """What a number of all groups or slices of a column together must be."""


@dataclass(frozen=True)
class GapBound(ColumnBound):
    """What the largest gap between the groups of a column must be: `gap recall.high <= 0.05 between
    sex`.
    """


@dataclass(frozen=True)
class PickedBound(ColumnBound):
    """What the highest or the lowest of the slices of a column must be, corrected for having been
    picked: `lowest accuracy.low >= 0.7 between shop`. place: highest or lowest.
    """

    place: str = ""


@dataclass(frozen=True)
class Against(Claim):
    """What systems must be against another one: better, not worse, better or equivalent.

    metric, second: None for the first metric and for the baseline. within: the margin that the rule
    states.
    """

    metric: str | None
    words: str
    second: str | None = None
    within: float | None = None
    system: str | None = None
    column: str | None = None

    @property
    def may_err(self) -> bool:
        """True: a test or a limit decides."""
        return True


@dataclass(frozen=True)
class NoFinding(Claim):
    """That a report has no finding of a severity or a worse one, or of a code; `EK3*` is every code
    that begins so.
    """

    severity: str = NOTE
    code: str = "*"

    def bars(self, finding: Mapping[str, Any]) -> bool:
        """Whether a finding, as JSON has it, is one of these."""
        severe = SEVERITIES.index(finding["severity"]) <= SEVERITIES.index(self.severity)
        return severe and fnmatchcase(finding["code"], self.code)


@dataclass(frozen=True)
class NoWeakSlice(NoFinding):
    """That no weak slice was found among those of the parameter `slices`."""

    code: str = kinds.WEAK_SLICES.code


@dataclass(frozen=True)
class NoWorseSlice(Claim):
    """That no slice of a column is worse than the others of the column, of every system or one."""

    column: str
    system: str | None = None


@dataclass(frozen=True)
class Trusted(Claim):
    """That the validation report says pass."""


@dataclass(frozen=True)
class PolicyRule:
    """A rule. that: its text. place: where it is written. on_cannot_tell: what it is where the data
    do not tell. catch: the regression that it should catch.
    """

    that: str
    claim: Claim
    place: str
    on_cannot_tell: str = FAIL
    catch: float | None = None

    def kept(self, result: str) -> bool:
        """Whether a result keeps the rule."""
        return (self.on_cannot_tell if result == CANNOT_TELL else result) == PASS

    def fails(self, result: str) -> bool:
        """Whether a result was decided and does not keep the rule."""
        return result != NOT_DECIDED and not self.kept(result)


@dataclass(frozen=True)
class Plan:
    """The data that are planned: units, the expected share or mean, the standard deviation of a
    unit's value, and the correlation of two systems over units.
    """

    units: int
    share: float | None = None
    mean: float | None = None
    sd: float | None = None
    correlation: float = 0.0


@dataclass(frozen=True)
class Policy:
    """Rules that a report must keep. name: of the file, or of the parameter.

    level: the family-wise level of all; None: of a single rule, which is decided by the limits that
    the report prints. plan: the data for which the rules are planned. level_stated: False if the
    file does not state the level, so that the alpha of a report goes before it.
    """

    rules: tuple[PolicyRule, ...]
    name: str
    level: float | None = None
    plan: Plan | None = None
    level_stated: bool = True

    @property
    def alone(self) -> Claim | None:
        """The claim of a single rule, None of a file."""
        return self.rules[0].claim if self.level is None else None


# A rule -------------------------------------------------------------------------------------------


class WrongRule(ParameterError):
    """A text that is no rule: what is wrong, and at which of its letters, counted from 0."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


class Words:
    """The words of a rule, which are taken from left to right."""

    def __init__(self, source: str) -> None:
        words = [(match.start(), match[0]) for match in TOKEN.finditer(source)]
        self.rest = [*words, (len(source), "")]  # the end is an empty word

    def follow(self, words: str) -> bool:
        """Take these words if they are next."""
        wanted = words.split()
        are_next = [word for _, word in self.rest[: len(wanted)]] == wanted
        if are_next:
            del self.rest[: len(wanted)]
        return are_next

    def take(self, expected: str, fits: Callable[[str], object]) -> str:
        """Take the next word. Raises WrongRule where it does not fit."""
        _, word = self.rest[0]
        if not fits(word):
            self.refuse(expected)
        del self.rest[0]
        return word

    def refuse(self, expected: str) -> NoReturn:
        """Raise WrongRule at the next word."""
        at, word = self.rest[0]
        raise WrongRule(f"expected {expected}, got {repr(word) if word else 'the end'}", at)

    def name(self, of: str) -> str:
        """Take a name, without its quotes."""
        return self.take(of, lambda word: word.strip("'<>=")).strip("'")

    def number(self, above: float = -math.inf) -> float:
        """Take a finite number above a bound."""

        def fits(word: str) -> bool:
            return bool(NUMBER.fullmatch(word)) and above < float(word) < math.inf

        return float(self.take(number_words(above, math.inf), fits))


def claim(source: str) -> Claim:
    """Return what a text claims. Raises WrongRule with the place of the first word that does not
    fit.

    >>> claim("ndcg@10.low >= 0.4 in every country")
    Bound(metric='ndcg@10', end='low', sign='>=', number=0.4, system=None, column='country')
    """
    words = Words(source)
    if words.follow("trusted"):
        stated: Claim = Trusted()
    elif words.follow("no severe finding"):
        stated = NoFinding(SEVERE)
    elif words.follow("no weak slice"):
        stated = NoWeakSlice()
    elif words.follow("no worse slice"):
        stated = NoWorseSlice(*_between(words))
    elif words.follow("none of severity"):
        stated = NoFinding(words.take(f"one of {', '.join(SEVERITIES)}", SEVERITIES.__contains__))
    elif words.follow("none of code"):
        near = did_you_mean(words.rest[0][1], (kind.code for kind in all_kinds()))
        stated = NoFinding(
            code=words.take(f"the code of a finding, such as EK301 or EK3*{near}", _is_code)
        )
    elif words.follow("gap"):
        bound = _bound(words)
        column, system = _between(words)
        stated = GapBound(bound.metric, bound.end, bound.sign, bound.number, system, column)
    elif place := next(filter(words.follow, PLACES), ""):
        bound = _bound(words)
        column, system = _between(words)
        numbers = (bound.metric, bound.end, bound.sign, bound.number)
        stated = PickedBound(*numbers, system, column, place)
    elif words.rest[1:] and words.rest[1][1] in SIGNS:
        stated = _bound(words)
    else:
        stated = _against(words)
    words.take("nothing more", lambda word: not word)
    return stated


def _is_code(word: str) -> bool:
    return bool(CODE.fullmatch(word)) and any(fnmatchcase(kind.code, word) for kind in all_kinds())


def _bound(words: Words) -> Bound:
    number = words.take("a metric with .value, .low or .high", ENDS.fullmatch)
    metric, end = number.rsplit(".", 1)
    return Bound(metric.strip("'"), end, words.take("a sign", bool), words.number(), *_where(words))


def _between(words: Words) -> tuple[str, str | None]:
    """The column of groups or slices, and the system, None where a rule names none."""
    if not words.follow("between"):
        words.refuse("between")
    column = words.name("a column of groups or segments")
    system = words.name("a system") if words.follow("of") else None
    return column, system


def _against(words: Words) -> Against:
    metric = second = within = None
    if words.rest[0][1] not in ("better", "not"):
        metric = words.name("a metric, better or not worse")
    verdict = next(filter(words.follow, VERDICTS), "")
    if not verdict:
        words.refuse(f".low >= NUMBER and its like behind the metric, or {', '.join(VERDICTS)}")
    if words.follow("than") or words.follow("to"):
        second = words.name("a system")
    if verdict != "better" and words.follow("within"):
        within = words.number(above=0)
    return Against(metric, verdict, second, within, *_where(words))


def _where(words: Words) -> tuple[str | None, str | None]:
    """The system and the column of segments, None where a rule names none."""
    system = column = None
    if words.follow("of"):
        system = words.name("a system")
    if words.follow("in every"):
        column = words.name("a column of segments")
    return system, column


# A policy, from a parameter or a file -------------------------------------------------------------


def gate(name: str, value: Any) -> Policy | None:
    """Return the policy of a rule or of a file, None if none is given. Raises ParameterError for
    what is neither.

    >>> gate("gate", "mae.high <= 2").rules[0].claim.number
    2.0
    """
    stated = text(name, value)
    if stated is None or stated.endswith(SUFFIX):
        return stated if stated is None else read(Path(stated))
    try:
        return Policy((PolicyRule(stated, claim(stated), name),), name)
    except WrongRule as error:
        raise ParameterError(
            f"{name} must be {A_RULE}, got {stated!r}: column {error.at + 1}: {error}"
        ) from None


def read(path: Path) -> Policy:
    """Read a policy file. Raises ParameterError, with file, line and column, for what is no
    policy.
    """
    try:
        source = path.read_text(encoding="utf-8").removeprefix("\ufeff")  # byte order mark
        file = _PolicyFile(path.name, source)
        tables = tomllib.loads(file.source)
    except OSError as error:
        raise ParameterError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ParameterError(f"{path} is not a TOML file: {error}") from None
    head: dict[str, Any] = {"level": 0.95, "on_cannot_tell": FAIL} | file.values(tables, HEAD)
    if not head.get("rule"):
        raise ParameterError(f"{file.place()}: a policy must have at least one [[rule]]")
    rules = []
    for i, table in enumerate(head["rule"]):
        values = {"on_cannot_tell": head["on_cannot_tell"]} | file.values(table, OF_RULE, "rule", i)
        if "that" not in values:
            raise ParameterError(f'{file.place("rule", i)}: a rule must have that = "…"')
        place = f"{path.name}, rule {i + 1}"
        rules.append(PolicyRule(table["that"], values.pop("that"), place, **values))
    plan = None
    if "plan" in head:
        planned = file.values(head["plan"], OF_PLAN, "plan")
        if "units" not in planned:
            raise ParameterError(f"{file.place('plan')}: [plan] must have units")
        plan = Plan(**planned)
    return Policy(tuple(rules), path.name, head["level"], plan, "level" in tables)


@dataclass(frozen=True)
class _PolicyFile:
    """A policy file: its name and its text."""

    name: str
    source: str

    def values(
        self, table: Mapping[str, Any], kinds: Mapping[str, ParameterKind], *path: str | int
    ) -> dict[str, Any]:
        """The values of a table, checked. path: of the table in the file."""
        values = {}
        for key, value in table.items():
            try:
                if key not in kinds:
                    raise ParameterError(
                        f"unknown {key!r}{did_you_mean(key, kinds)}; there are {', '.join(kinds)}"
                    )
                values[key] = kinds[key].read(key, value)
            except WrongRule as error:
                raise ParameterError(
                    f"{self.place(*path, key, at=error.at)}: {error}, in {value!r}"
                ) from None
            except ParameterError as error:
                raise ParameterError(f"{self.place(*path, key)}: {error}") from None
        return values

    def place(self, *path: str | int, at: int | None = None) -> str:
        """Line and column of the key of this path, or of a letter of its text."""
        lines = self.source.splitlines(keepends=True) or [""]
        headers = [n for n, line in enumerate(lines) if HEADER.match(line)]
        start = next((headers[i] for i in path if isinstance(i, int) and i < len(headers)), 0)
        end = next(
            (n for n in range(start + 1, len(lines)) if _has("".join(lines[:n]), path)), len(lines)
        )
        line = lines[end - 1]
        key = (
            re.search(rf"{re.escape(str(path[-1]))}[\"']?\s*=\s*(\"\"\"|'''|[\"'])?", line)
            if path
            else None
        )
        column = 0 if key is None else key.start() if at is None or "\\" in line else key.end() + at
        return f"{self.name}, line {end}, column {column + 1}"


def _has(source: str, path: tuple[str | int, ...]) -> bool:
    """Whether a text is TOML that has something of this path."""
    try:
        of: Any = tomllib.loads(source)
        for key in path:
            of = of[key]
    except (tomllib.TOMLDecodeError, LookupError, TypeError):
        return False
    return True


def _claim(name: str, value: Any) -> Claim:
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be a rule in quotes, got {value!r}")
    return claim(value)


def _tables(name: str, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
        raise ParameterError(f"{name} must be written as tables [[rule]], got {value!r}")
    return value


def _table(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ParameterError(f"{name} must be written as a table [{name}], got {value!r}")
    return value


GATE = ParameterKind(A_RULE, "str", {"type": "string"}, gate)
RESULT = one_of(PASS, FAIL)
HEAD = {
    "level": a_number(above=0.5, below=1),
    "on_cannot_tell": RESULT,
    "rule": ParameterKind("", "", {}, _tables),
    "plan": ParameterKind("", "", {}, _table),
}
OF_PLAN = {
    "units": a_whole_number(least=2),
    "share": a_number(above=0, below=1),
    "mean": a_number(),
    "sd": a_number(above=0),
    "correlation": a_number(above=-1, below=1),
}
OF_RULE = {
    "that": ParameterKind("", "", {}, _claim),
    "on_cannot_tell": RESULT,
    "catch": a_number(above=0),
}
