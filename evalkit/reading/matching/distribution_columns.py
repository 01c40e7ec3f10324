"""Columns of quantiles, intervals, draws and moments, which state the distribution behind a
forecast: found by their names.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from evalkit.metrics.predictive import (
    DEVIATION,
    EXACT,
    MEAN,
    MEMBER,
    QUANTILE,
    is_ensemble,
    level_of,
    level_of_role,
)
from evalkit.names import usual
from evalkit.numbers import listed
from evalkit.reading.matching.column_names import comparable_name
from evalkit.reading.tables.columns import facts

# uses of words that name no part of a distribution
OTHER_USES = ("prophet", "horizon", "levels", "draws", "interval_levels")
# a word, such as lo or pct -> its use: quantile, low, high, member, mean, median or deviation
WORDS = dict[str, str]()
for _use, _words in usual("distributions").items():
    if _use not in OTHER_USES:
        WORDS |= dict.fromkeys(_words, _use)
FORECASTS = ["forecast", *facts("roles")["forecast"]["usual"].split()]
FORECASTS += facts("roles")["forecast"]["names"]
PROPHET = 0.8  # the share of actual values that the bounds of its forecasts are to hold by default
MEDIAN = f"{QUANTILE}0.5"
FEWEST = 2  # quantiles or draws, which a distribution has at least
COUNTED = 3  # numbers 1 apart, such as q1, q2, q3, from here on count something
PLACES = 4  # decimals of a percentage, as coverage@68.2689 has them
# Patterns of names: the word, or the level, comes last (A-lo-90, A_p10) or first (p10_A).
_SEPARATOR = r"[ ._:/-]"
_JOINED = [word.replace("_", _SEPARATOR) for word in sorted(WORDS, key=len, reverse=True)]
_WORD = rf"(?P<word>{'|'.join(_JOINED)})"
_NUMBER = rf"(?P<number>\d+_\d+|\d*\.\d+|\d+)(th)?(?P<percent> ?%|{_SEPARATOR}?(pct|percent))?"
_LAST = re.compile(
    rf"((?P<owner>.+?){_SEPARATOR}+)??{_WORD}({_SEPARATOR}*{_NUMBER})?", re.IGNORECASE
)
_FIRST = re.compile(
    rf"{_WORD}({_SEPARATOR}*{_NUMBER})?{_SEPARATOR}+(?P<owner>.*[^\W_].*)", re.IGNORECASE
)
# levels without a word; R writes 2.5% as X2.5.
_PERCENT_NUMBER = r"(\d+|\d*\.\d+) ?%"
_PERCENT = r"(?P<number>\d+|\d*\.\d+) ?%"
_PERCENT_LAST = re.compile(rf"((?P<owner>.+?){_SEPARATOR}+)??{_PERCENT}")
_PERCENT_FIRST = re.compile(rf"{_PERCENT}{_SEPARATOR}+(?P<owner>.+)")
_SHARE_LAST = re.compile(rf"((?P<owner>.+?){_SEPARATOR}+)??(?P<number>0?\.\d+)")
_SHARE_FIRST = re.compile(rf"(?P<number>0?\.\d+){_SEPARATOR}+(?P<owner>.+)")
_NUMBERED = re.compile(rf"(?P<stem>.*[^\W\d_]){_SEPARATOR}(?P<number>\d{{1,4}})")
_R_PERCENT = re.compile(r"X(\d+(\.\d+)?)\.")
# the level before the word, as in "95% lower"; without a % only where no owner stands before it
_LEVEL_BEFORE = re.compile(
    rf"((?P<owner>.+?){_SEPARATOR}+)??(?P<number>{_PERCENT_NUMBER}|(?<![\s\S])\d\d){_SEPARATOR}+{_WORD}",
    re.IGNORECASE,
)


class DistributionMark(NamedTuple):
    """What the name of a column states about a distribution, such as AutoARIMA-lo-80.

    owner: the system, AutoARIMA; "" if the name has none. use: of the word, a value of `WORDS`:
    low. word: lo; "" for a level without a word. number: 80, as the name has it, with a % if there
    is one; "" if the name has none.
    """

    owner: str
    use: str
    word: str
    number: str

    @property
    def states_level(self) -> bool:
        """True for the level of a quantile or a bound with more than one digit; one digit may count
        anything.
        """
        return self.use in ("quantile", "low", "high") and len(self.number) > 1


def distribution_mark(name: str, names: Collection[str] = ()) -> DistributionMark | None:
    """What the name of a column states about a distribution; None if it states nothing about one.

    names: those of all columns. A word that comes first needs a number, or an owner that is the
    name of a column: mean_A may be the mean of a feature A.

    >>> (
    ...     distribution_mark("AutoARIMA-lo-80").owner,
    ...     distribution_mark("p10_A").owner,
    ...     distribution_mark("yhat1 5.0%").number,
    ... )
    ('AutoARIMA', 'A', '5.0%')
    >>> distribution_mark("95% lower").number, distribution_mark("model_12_lower").owner
    ('95%', 'model_12')
    >>> (
    ...     distribution_mark("plow_90"),
    ...     distribution_mark("mean_A"),
    ...     distribution_mark("mean_A", ["A"]).use,
    ... )
    (None, None, 'mean')
    """
    name = _R_PERCENT.sub(r"\1%", name.strip())
    if (match := _LEVEL_BEFORE.fullmatch(name)) and _use_of(match["word"]) in ("low", "high"):
        number = match["number"].replace(" ", "")
        return DistributionMark(
            match["owner"] or "", _use_of(match["word"]), _joined(match["word"]), number
        )
    match = _LAST.fullmatch(name)
    if match is None:
        match = _FIRST.fullmatch(name)
        if match is not None and not (match["number"] or match["owner"] in names):
            match = None
    if match is None:
        return _marked_by_level(name, names)
    number = match["number"] or ""
    if match["percent"]:
        number += "%"
    word = match["word"]
    return DistributionMark(match["owner"] or "", _use_of(word), _joined(word), number)


def _joined(word: str) -> str:
    """A word of a distribution as the names list it: in small letters, joined by underscores."""
    return re.sub(_SEPARATOR, "_", word.lower())


def _use_of(word: str) -> str:
    """The use of a word of a distribution, such as low."""
    return WORDS[_joined(word)]


def _marked_by_level(name: str, names: Collection[str]) -> DistributionMark | None:
    """The level of a quantile that stands in a name without a word, such as A_97.5% or A-0.9, as
    `distribution_mark` returns it.

    The owner of a share must be a column, because any number may be a version of a system.
    """
    if match := _PERCENT_LAST.fullmatch(name) or _PERCENT_FIRST.fullmatch(name):
        return DistributionMark(match["owner"] or "", "quantile", "", f"{match['number']}%")
    for match in (_SHARE_LAST.fullmatch(name), _SHARE_FIRST.fullmatch(name)):
        if match and (match["owner"] or "") in ("", *names):
            return DistributionMark(match["owner"] or "", "quantile", "", match["number"])
    return None


def percents_of(numbers: Iterable[str]) -> dict[str, float]:
    """The numbers that stand beside one word -> the percentages that they mean, without those that
    may mean something else.

    A number with a % is a percentage. Numbers below 1 are shares, unless higher ones stand beside
    them. Three digits are tenths of a percentage if one of the numbers begins with 0 and the other
    end of the interval, 975 for 025, is there too. The other end is also needed by one digit, by a
    number below 1 beside higher ones, and by an underscore for a point; if it is missing for one of
    them, only percentages with a % and tenths remain. Percentages have 4 decimals.

    >>> percents_of(["0.05", "0.5"]), percents_of(["025", "50", "975"])
    ({'0.05': 5.0, '0.5': 50.0}, {'025': 2.5, '50': 50.0, '975': 97.5})
    >>> percents_of(["5", "50", "95"]), percents_of(["1", "50"]), percents_of(["2_5", "97_5"])
    ({'5': 5.0, '50': 50.0, '95': 95.0}, {}, {'2_5': 2.5, '97_5': 97.5})
    """
    distinct = dict.fromkeys(numbers)
    percents = {number: float(number[:-1]) for number in distinct if number.endswith("%")}
    three_digits = [number for number in distinct if len(number) == 3 and number.isdecimal()]
    are_tenths = any(number.startswith("0") for number in three_digits)
    for number in three_digits:
        if are_tenths and (number == "500" or f"{1000 - int(number):03}" in three_digits):
            percents[number] = int(number) / 10
    values = {
        number: float(number.replace("_", "."))
        for number in distinct
        if number not in three_digits and not number.endswith("%")
    }
    percents |= _percents_of_values(values, beside_percentages=bool(percents))
    rounded = {number: _rounded(percent) for number, percent in percents.items()}
    return {number: rounded[number] for number in distinct if 0 < rounded.get(number, 0) < 100}


def _rounded(percent: float) -> float:
    """A percentage with as many decimals as the names of metrics have.

    The tail is rounded, so that both ends of an interval remain equally far from 0 and 100.
    """
    tail = round(min(percent, 100 - percent), PLACES)
    return tail if percent < 50 else round(100 - tail, PLACES)


def _percents_of_values(
    values: Mapping[str, float], *, beside_percentages: bool
) -> dict[str, float]:
    """Numbers as texts -> the percentages that they mean; empty if one of them may be no level.

    values: the numbers without those with a % or of three digits. beside_percentages: True if there
    are such numbers, so that these are percentages too.
    """
    are_percentages = beside_percentages or any(value >= 1 for value in values.values())
    factor = 1 if are_percentages else 100
    percents = {
        number: round(factor * value, EXACT)
        for number, value in values.items()
        if value > 0  # 0 is the minimum
    }
    levels = {50.0, *percents.values()}
    without_other_end = [
        number
        for number, percent in percents.items()
        if percent != 50 and round(100 - percent, EXACT) not in levels
    ]
    ascending = sorted(percents.values())
    steps = {high - low for low, high in pairwise(ascending)}
    if without_other_end and are_percentages and len(ascending) >= COUNTED and steps == {1}:
        return {}  # such as q1, q2, q3
    for number in without_other_end:
        is_small = are_percentages and values[number] < 1
        if len(number) == 1 or "_" in number or is_small:
            return {}
    return percents


def system_key(name: str) -> str:
    """A name of a system, or of the column of its forecasts, without the word forecast and its
    like; empty if nothing else is left.

    >>> system_key("forecast_A"), system_key("yhat"), system_key("AutoARIMA")
    ('a', '', 'autoarima')
    """
    key = comparable_name(name)
    if key in FORECASTS:
        return ""
    for word in FORECASTS:
        key = key.removeprefix(f"{word}_").removesuffix(f"_{word}")
    return key


@dataclass
class DistributionColumns:
    """The columns of the distribution of one system's forecasts.

    system: its name, as the names of the columns have it. roles: role -> column. point: the column
    of the point forecast, the mean or else the median; "" without one. rivals: role -> the columns
    that could all have it, of which the first is in `roles`; only for roles with several.
    """

    system: str
    roles: Mapping[str, str]
    point: str = ""
    rivals: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def columns(self) -> set[str]:
        """The names of all columns that state the distribution, its point forecast among them."""
        names = set(self.roles.values())
        for rivals in self.rivals.values():
            names.update(rivals)
        if self.point:
            names.add(self.point)
        return names


class _RoleColumn(NamedTuple):
    """A column that has a role in a distribution. owner: as its name says it."""

    role: str
    owner: str
    name: str


def distributions(
    names: Collection[str], interval_level: float | None = None
) -> dict[str, DistributionColumns]:
    """The key of each system, as `system_key` makes it, -> the columns of its distribution: at
    least two draws, else at least two quantiles, else the standard deviation.

    names: those of all columns. interval_level: the share of actual values that lie within bounds
    whose names state no level, such as b_lower; None: no such bounds are read, except Prophet's,
    which are of 80%. Bounds count as quantiles, if both the lower and the upper one are there.
    Columns that name their owner come before those that name none.

    >>> distributions(["y", "a-lo-80", "a-hi-80", "a_p50", "b_lower"])["a"].roles
    {'quantile 0.5': 'a_p50', 'quantile 0.1': 'a-lo-80', 'quantile 0.9': 'a-hi-80'}
    """
    by_owner = defaultdict[str, dict[str, DistributionMark]](dict)
    for name in names:
        if mark := distribution_mark(name, names):
            by_owner[comparable_name(mark.owner)][name] = mark
    by_key = defaultdict[str, list[_RoleColumn]](list)
    for marks in by_owner.values():
        for column in _role_columns(marks, interval_level):
            by_key[system_key(column.owner)].append(column)
    by_system = {key: _complete(key, columns) for key, columns in by_key.items()}
    return {key: columns for key, columns in by_system.items() if columns.roles}


def _role_columns(
    marks: Mapping[str, DistributionMark], interval_level: float | None
) -> Iterator[_RoleColumn]:
    """The columns of one owner with their roles, without those whose names do not state what their
    role needs: a level for a quantile, a number for a draw, no number for a moment.

    marks: name of a column -> what it states. interval_level: as in `distributions`.
    """
    # what a number means is decided for all numbers beside the same word: 1 is 1% beside 99
    numbers_by_word = defaultdict[str, list[str]](list)
    for mark in marks.values():
        numbers_by_word[mark.word].append(mark.number)
    percents = {
        word: percents_of(filter(None, numbers)) for word, numbers in numbers_by_word.items()
    }
    for name, mark in marks.items():
        percent = percents[mark.word].get(mark.number)
        if mark.use == "quantile" and percent is not None:
            yield _RoleColumn(f"{QUANTILE}{level_of(percent)}", mark.owner, name)
        elif mark.use == "median" and not mark.number:
            yield _RoleColumn(MEDIAN, mark.owner, name)
        elif mark.use == "member" and mark.number.isdecimal():
            yield _RoleColumn(f"{MEMBER}{int(mark.number)}", mark.owner, name)
        elif mark.use in ("mean", "deviation") and not mark.number:
            yield _RoleColumn(mark.use, mark.owner, name)
    yield from _bounds(marks, interval_level)


def _bounds(
    marks: Mapping[str, DistributionMark], interval_level: float | None
) -> Iterator[_RoleColumn]:
    """The bounds of one owner as quantiles.

    A lower and an upper bound with the same number belong to one interval, whose level it is:
    lower_90 is the quantile 0.05. Without its counterpart a number is the level of the quantile
    itself, as in lower_5 and upper_95. interval_level: as in `distributions`.
    """
    low = {name: mark for name, mark in marks.items() if mark.use == "low"}
    high = {name: mark for name, mark in marks.items() if mark.use == "high"}
    low_numbers = {mark.number for mark in low.values()}
    high_numbers = {mark.number for mark in high.values()}
    shared_numbers = low_numbers & high_numbers
    interval_levels = _levels(shared_numbers)
    quantile_levels = _levels(low_numbers ^ high_numbers)
    low_levels = {quantile_levels.get(number) for number in low_numbers}
    high_levels = {quantile_levels.get(number) for number in high_numbers}
    for name, mark in (low | high).items():
        is_low = mark.use == "low"
        level = interval_levels.get(mark.number)
        if not mark.number and "" in shared_numbers:
            level = _unstated_level(mark.owner, interval_level)
        quantile = None
        if level is not None:
            tail = (1 - level) / 2
            unrounded = tail if is_low else 1 - tail
            quantile = round(unrounded, EXACT)
        elif mark.number in quantile_levels:
            stated = quantile_levels[mark.number]
            is_outer = stated < 0.5 if is_low else stated > 0.5
            opposite_levels = high_levels if is_low else low_levels
            if is_outer and round(1 - stated, EXACT) in opposite_levels:
                quantile = stated
        if quantile is not None:
            yield _RoleColumn(f"{QUANTILE}{quantile}", mark.owner, name)


def _levels(numbers: Collection[str]) -> dict[str, float]:
    """Numbers -> the shares that they mean, without those that may mean something else."""
    percents = percents_of(filter(None, numbers))
    return {number: level_of(percent) for number, percent in percents.items()}


def _unstated_level(owner: str, interval_level: float | None) -> float | None:
    """The level of an interval whose bounds state none: `interval_level`, which the user sets, or
    Prophet's default; None for other owners.
    """
    if not interval_level and owner.lower() in usual("distributions")["prophet"]:
        interval_level = PROPHET
    return level_of(_rounded(100 * interval_level)) if interval_level else None


def _complete(key: str, columns: Sequence[_RoleColumn]) -> DistributionColumns:
    """The distribution that the columns of a system state: draws, else quantiles, else a normal
    distribution; without roles if they state none.

    key: of the system. Of columns with one role those that name their owner come first.
    """
    owned = defaultdict[str, list[str]](list)
    candidates = defaultdict[str, list[str]](list)
    for column in columns:
        candidates[column.role].append(column.name)
        if column.owner:
            owned[column.role].append(column.name)
    possible = candidates | owned  # role -> columns
    members = [role for role in possible if role.startswith(MEMBER)]
    quantiles = [role for role in possible if role.startswith(QUANTILE)]
    roles: Sequence[str] = ()
    if len(members) >= FEWEST:
        roles = members
    elif len(quantiles) >= FEWEST:
        roles = quantiles
    elif DEVIATION in possible:
        roles = [role for role in (MEAN, DEVIATION) if role in possible]
    owner = columns[-1].owner
    points = [possible[role][0] for role in (MEAN, MEDIAN) if role in possible]
    point = points[0] if roles and points else ""
    system = owner if comparable_name(owner) == key else key
    return DistributionColumns(
        system=system,
        roles={role: possible[role][0] for role in roles},
        point=point,
        rivals={role: possible[role] for role in roles if len(possible[role]) > 1},
    )


def numbered(names: Collection[str]) -> dict[str, list[str]]:
    """What stands before a number, such as A -> its columns in their order, such as A_0 and A_1:
    at least three, numbered without gaps from 0 or 1.

    >>> numbered(["A", "A_1", "A_3", "A_2", "B_1", "C2"])
    {'A': ['A_1', 'A_2', 'A_3']}
    """
    by_stem = defaultdict[str, dict[int, str]](dict)
    for name in names:
        if match := _NUMBERED.fullmatch(name):
            by_stem[match["stem"]][int(match["number"])] = name
    found = dict[str, list[str]]()
    for stem, by_number in by_stem.items():
        numbers = sorted(by_number)
        in_a_row = list(range(numbers[0], numbers[0] + len(numbers)))
        if len(numbers) >= COUNTED and numbers[0] in (0, 1) and numbers == in_a_row:
            found[stem] = [by_number[number] for number in numbers]
    return found


def leveled(names: Collection[str]) -> set[str]:
    """The columns whose names state the level of a quantile or a bound, even if it is not clear
    which. Numbers of one digit, which may count anything, are levels if columns of the same owner
    and word have longer ones.

    >>> sorted(leveled(["p5", "p50", "q1", "A", "low_9"]))
    ['p5', 'p50']
    """
    marks = {
        name: mark for name in names if (mark := distribution_mark(name, names)) and mark.number
    }
    words = {(mark.owner, mark.word) for mark in marks.values() if mark.states_level}
    return {name for name, mark in marks.items() if (mark.owner, mark.word) in words}


def states_no_level(name: str) -> bool:
    """True for the bound of an interval without a level, such as yhat_lower."""
    mark = distribution_mark(name)
    return mark is not None and mark.use in ("low", "high") and not mark.number


def is_stated_by(roles: Collection[str]) -> bool:
    """True if columns in these roles state a distribution: a standard deviation, or at least two
    quantiles or draws.
    """
    return DEVIATION in roles or len(roles) >= FEWEST


def described(roles: Collection[str]) -> str:
    """What columns in these roles state, in words.

    >>> described(["quantile 0.1", "quantile 0.9"]), described(["member 0", "member 1"])
    ('quantiles of 10%, 90%', '2 draws')
    """
    if is_ensemble(roles):
        return f"{len(roles)} draws"
    if DEVIATION in roles:
        return "a standard deviation"
    levels = sorted(level_of_role(role) for role in roles)
    return f"quantiles of {listed(f'{100 * level:.{EXACT}g}%' for level in levels)}"


def unread(names: Sequence[str], systems: Sequence[str]) -> list[str]:
    """The columns among `names`, none of which was read, that state a part of the distribution of
    one of the systems: quantiles, bounds, draws, and moments if it is clear whose they are. Columns
    that name no owner are among them.

    >>> unread(["p10", "A_mean", "q1", "std"], ["A", "B"])
    ['p10', 'A_mean']
    """
    keys = {"", *map(system_key, systems)}
    by_key = defaultdict[str, dict[str, DistributionMark]](dict)
    for name in names:
        if mark := distribution_mark(name, (*names, *systems)):
            by_key[system_key(mark.owner)][name] = mark
    stating = set[str]()
    for key in by_key.keys() & keys:
        stating |= _stating(by_key[key], names_owner=bool(key), is_alone=len(systems) == 1)
    return [name for name in names if name in stating]


def _stating(
    marks: Mapping[str, DistributionMark], *, names_owner: bool, is_alone: bool
) -> set[str]:
    """The columns of one owner that plainly state a part of a distribution.

    marks: name of a column -> what it states. names_owner: False if the names have no owner.
    is_alone: True if there is only one system.
    """
    uses = {mark.use for mark in marks.values()}
    words_with_levels = {mark.word for mark in marks.values() if mark.states_level}
    draws = [name for name, mark in marks.items() if mark.use == "member" and mark.number]
    stating = set(draws) if len(draws) >= FEWEST else set()
    for name, mark in marks.items():
        if mark.number:
            states_part = mark.word in words_with_levels
        elif mark.use in ("low", "high"):
            states_part = {"low", "high"} <= uses
        elif mark.use in ("mean", "deviation"):
            # any column may be called mean or std: they need an owner, or the only system both
            states_part = names_owner or (is_alone and "deviation" in uses)
        else:
            states_part = False
        if states_part:
            stating.add(name)
    return stating
