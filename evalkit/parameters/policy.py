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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from evalkit.arrays import ParameterError, Record
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
PASS = "pass"
FAIL = "fail"
CANNOT_TELL = "cannot tell"
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
        if self.end == "value":
            bounded = opposite = value
        elif self.end == "low":
            bounded, opposite = low, high
        else:
            bounded, opposite = high, low
        if math.isnan(bounded) or math.isnan(opposite):
            return CANNOT_TELL
        if self._meets_bound(bounded):
            return PASS
        return CANNOT_TELL if self._meets_bound(opposite) else FAIL

    def _meets_bound(self, number: float) -> bool:
        """True if a number keeps the bound."""
        return number >= self.number if self.sign == ">=" else number <= self.number


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
class ComparisonClaim(Claim):
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

    def matches_finding(self, finding: Record) -> bool:
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

    def is_kept_by(self, result: str) -> bool:
        """True if a result keeps the rule: PASS, or CANNOT_TELL where that counts as one."""
        if result == CANNOT_TELL:
            return self.on_cannot_tell == PASS
        return result == PASS

    def fails(self, result: str) -> bool:
        """Whether a result was decided and does not keep the rule."""
        return result != NOT_DECIDED and not self.is_kept_by(result)


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

    def __init__(self, message: str, letter: int) -> None:
        super().__init__(message)
        self.letter = letter


class Word(NamedTuple):
    """A word of a rule, and the position of its first letter."""

    letter: int
    text: str


class Words:
    """The words of a rule that are not yet taken, from left to right; the end is an empty word."""

    def __init__(self, source: str) -> None:
        self.remaining = [Word(match.start(), match[0]) for match in TOKEN.finditer(source)]
        self.remaining.append(Word(len(source), ""))

    def take_if_next(self, words: str) -> bool:
        """Take these words if they are next; return whether they were."""
        texts = words.split()
        are_next = [word.text for word in self.remaining[: len(texts)]] == texts
        if are_next:
            del self.remaining[: len(texts)]
        return are_next

    def take_one_of(self, forms: Sequence[str]) -> str:
        """Take the first of these forms that is next, and return it; "" if none is."""
        return next(filter(self.take_if_next, forms), "")

    def take(self, expected: str, fits: Callable[[str], object]) -> str:
        """Take the next word. Raises WrongRule where it does not fit. expected: for the message."""
        word = self.remaining[0]
        if not fits(word.text):
            self.refuse(expected)
        del self.remaining[0]
        return word.text

    def refuse(self, expected: str) -> NoReturn:
        """Raise WrongRule at the next word."""
        word = self.remaining[0]
        found = repr(word.text) if word.text else "the end"
        raise WrongRule(f"expected {expected}, got {found}", word.letter)

    def name(self, expected: str) -> str:
        """Take a name, without its quotes."""
        return self.take(expected, lambda word: word.strip("'<>=")).strip("'")

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
    stated = _claim_of(words)
    words.take("nothing more", lambda word: not word)
    return stated


def _claim_of(words: Words) -> Claim:
    """The claim with which the words begin; those behind it stay."""
    if words.take_if_next("trusted"):
        return Trusted()
    if words.take_if_next("no severe finding"):
        return NoFinding(SEVERE)
    if words.take_if_next("no weak slice"):
        return NoWeakSlice()
    if words.take_if_next("no worse slice"):
        return NoWorseSlice(_column_between(words), _system_after_of(words))
    if words.take_if_next("none of severity"):
        expected = f"one of {', '.join(SEVERITIES)}"
        return NoFinding(words.take(expected, SEVERITIES.__contains__))
    if words.take_if_next("none of code"):
        near = did_you_mean(words.remaining[0].text, (kind.code for kind in all_kinds()))
        expected = f"the code of a finding, such as EK301 or EK3*{near}"
        return NoFinding(code=words.take(expected, _is_code))
    if words.take_if_next("gap"):
        bound = _bound(words)
        column = _column_between(words)
        system = _system_after_of(words)
        return GapBound(bound.metric, bound.end, bound.sign, bound.number, system, column)
    place = words.take_one_of(PLACES)
    if place:
        bound = _bound(words)
        column = _column_between(words)
        system = _system_after_of(words)
        return PickedBound(bound.metric, bound.end, bound.sign, bound.number, system, column, place)
    is_bound = len(words.remaining) > 1 and words.remaining[1].text in SIGNS
    if is_bound:
        bound = _bound(words)
        return replace(bound, system=_system_after_of(words), column=_column_in_every(words))
    return _against(words)


def _is_code(word: str) -> bool:
    """True for the code of a kind of finding, or the beginning of one and a star."""
    return bool(CODE.fullmatch(word)) and any(fnmatchcase(k.code, word) for k in all_kinds())


def _bound(words: Words) -> Bound:
    """METRIC.END SIGN NUMBER, of all systems."""
    text = words.take("a metric with .value, .low or .high", ENDS.fullmatch)
    metric, end = text.rsplit(".", 1)
    sign = words.take("a sign", bool)
    return Bound(metric.strip("'"), end, sign, words.number())


def _column_between(words: Words) -> str:
    """The column of groups or slices behind "between"."""
    if not words.take_if_next("between"):
        words.refuse("between")
    return words.name("a column of groups or segments")


def _column_in_every(words: Words) -> str | None:
    """The column of segments behind "in every"; None where a rule names none."""
    return words.name("a column of segments") if words.take_if_next("in every") else None


def _system_after_of(words: Words) -> str | None:
    """The system behind "of"; None where a rule names none."""
    return words.name("a system") if words.take_if_next("of") else None


def _against(words: Words) -> ComparisonClaim:
    """METRIC VERDICT than SYSTEM within NUMBER, of which the verdict alone must be there."""
    metric = second = margin = None
    if words.remaining[0].text not in ("better", "not"):
        metric = words.name("a metric, better or not worse")
    verdict = words.take_one_of(VERDICTS)
    if not verdict:
        words.refuse(f".low >= NUMBER and its like behind the metric, or {', '.join(VERDICTS)}")
    if words.take_if_next("than") or words.take_if_next("to"):
        second = words.name("a system")
    if verdict != "better" and words.take_if_next("within"):
        margin = words.number(above=0)
    system = _system_after_of(words)
    return ComparisonClaim(metric, verdict, second, margin, system, _column_in_every(words))


# A policy, from a parameter or a file -------------------------------------------------------------


def gate(name: str, value: object) -> Policy | None:
    """Return the policy of a rule or of a file, None if none is given. Raises ParameterError for
    what is neither.

    >>> gate("gate", "mae.high <= 2").rules[0].claim.number
    2.0
    """
    stated = text(name, value)
    if stated is None:
        return None
    if stated.endswith(SUFFIX):
        return read(Path(stated))
    try:
        return Policy((PolicyRule(stated, claim(stated), name),), name)
    except WrongRule as error:
        raise ParameterError(
            f"{name} must be {A_RULE}, got {stated!r}: column {error.letter + 1}: {error}"
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
    head: Record = {"level": 0.95, "on_cannot_tell": FAIL, **file.values(tables, HEAD)}
    if not head.get("rule"):
        raise ParameterError(f"{file.location()}: a policy must have at least one [[rule]]")
    rules = []
    for i, table in enumerate(head["rule"]):
        values = file.values(table, OF_RULE, "rule", i)
        if "that" not in values:
            raise ParameterError(f'{file.location("rule", i)}: a rule must have that = "…"')
        rule = PolicyRule(
            table["that"],
            values["that"],
            place=f"{path.name}, rule {i + 1}",
            on_cannot_tell=values.get("on_cannot_tell", head["on_cannot_tell"]),
            catch=values.get("catch"),
        )
        rules.append(rule)
    plan = None
    if "plan" in head:
        plan_values = file.values(head["plan"], OF_PLAN, "plan")
        if "units" not in plan_values:
            raise ParameterError(f"{file.location('plan')}: [plan] must have units")
        plan = Plan(**plan_values)
    return Policy(tuple(rules), path.name, head["level"], plan, level_stated="level" in tables)


@dataclass(frozen=True)
class _PolicyFile:
    """A policy file: its name and its text."""

    name: str
    source: str

    def values(self, table: Record, kinds: Mapping[str, ParameterKind], *path: str | int) -> Record:
        """The values of a table, checked. kinds: of its keys. path: of the table in the file, keys
        and numbers of rules, such as "rule", 0. Raises ParameterError with the place of what is
        wrong.
        """
        values = {}
        for key, value in table.items():
            try:
                if key not in kinds:
                    raise ParameterError(
                        f"unknown {key!r}{did_you_mean(key, kinds)}; there are {', '.join(kinds)}"
                    )
                values[key] = kinds[key].read(key, value)
            except WrongRule as error:
                location = self.location(*path, key, letter=error.letter)
                raise ParameterError(f"{location}: {error}, in {value!r}") from None
            except ParameterError as error:
                raise ParameterError(f"{self.location(*path, key)}: {error}") from None
        return values

    def location(self, *path: str | int, letter: int | None = None) -> str:
        """File, line and column of the key of this path; with `letter` those of this letter of its
        text, counted from 0. Without a path the start of the file.
        """
        lines = self.source.splitlines(keepends=True) or [""]
        number = self._line_number(lines, path)
        line = lines[number - 1]
        key = None
        if path:
            # the key, its equals sign, and the quote before its text
            name = re.escape(str(path[-1]))
            key = re.search(rf"{name}[\"']?\s*=\s*(\"\"\"|'''|[\"'])?", line)
        column = 0
        if key is not None:
            column = key.start()
            # behind an escape letters of the file are no letters of the text
            if letter is not None and "\\" not in line:
                column = key.end() + letter
        return f"{self.name}, line {number}, column {column + 1}"

    def _line_number(self, lines: Sequence[str], path: Sequence[str | int]) -> int:
        """The number of the line that ends the shortest beginning of the file that has this path,
        from 1; of the last line if none has. It is sought from the header of the rule on.
        """
        headers = [i for i, line in enumerate(lines) if HEADER.match(line)]
        start = 0
        for entry in path:
            if isinstance(entry, int) and entry < len(headers):
                start = headers[entry]
        for number in range(start + 1, len(lines)):
            if _has_path("".join(lines[:number]), path):
                return number
        return len(lines)


def _has_path(source: str, path: Sequence[str | int]) -> bool:
    """True if a text is TOML that has something at this path."""
    try:
        value: Any = tomllib.loads(source)
        for entry in path:
            value = value[entry]
    except (tomllib.TOMLDecodeError, LookupError, TypeError):
        return False
    return True


def _parse_claim(name: str, value: object) -> Claim:
    """What a text claims. Raises ParameterError for what is no text, WrongRule for no rule."""
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be a rule in quotes, got {value!r}")
    return claim(value)


def _tables(name: str, value: object) -> list[Record]:
    """The tables [[rule]] of a file. Raises ParameterError for anything else."""
    if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
        raise ParameterError(f"{name} must be written as tables [[rule]], got {value!r}")
    return value


def _table(name: str, value: object) -> Record:
    """A table such as [plan]. Raises ParameterError for anything else."""
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
    "that": ParameterKind("", "", {}, _parse_claim),
    "on_cannot_tell": RESULT,
    "catch": a_number(above=0),
}
