"""Columns of quantiles, intervals, draws and moments, which state the distribution behind a
forecast: found by their names.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evalkit.metrics.predictive import (
    DEVIATION,
    EXACT,
    MEAN,
    MEMBER,
    QUANTILE,
    level_of,
)
from evalkit.names import usual
from evalkit.reading.matching.column_names import comparable
from evalkit.reading.tables.columns import facts

BESIDE = ("prophet", "horizon")  # what names say beside the parts of a distribution
WORDS = {
    word: use
    for use, words in usual("distributions").items()
    for word in words
    if use not in BESIDE
}
FORECASTS = ["forecast", *facts("roles")["forecast"]["usual"].split()]
FORECASTS += facts("roles")["forecast"]["names"]
PROPHET = 0.8  # the share of actual values that the bounds of its forecasts are to hold by default
MEDIAN = f"{QUANTILE}0.5"
_SEPARATOR = r"[ ._:/-]"
_NAME = re.compile(
    rf"((?P<owner>.+?){_SEPARATOR}+)??(?P<word>{'|'.join(sorted(WORDS, key=len, reverse=True))})"
    rf"({_SEPARATOR}*(?P<number>\d+|\d*\.\d+))?",
    re.IGNORECASE,
)
_SHARE = re.compile(r"0?\.\d+")  # a level alone


class Marked(NamedTuple):
    """A name that states a part of a distribution: whose it is, the use of the word, the number."""

    owner: str
    use: str
    number: str


def marked(name: str) -> Marked | None:
    """What the name of a column says of a distribution; None if it says nothing of one.

    >>> marked("AutoARIMA-lo-80"), marked("plow_90")
    (Marked(owner='AutoARIMA', use='low', number='80'), None)
    """
    if _SHARE.fullmatch(name):
        return Marked("", "quantile", name)
    match = _NAME.fullmatch(name.strip())
    if match is None:
        return None
    return Marked(match["owner"] or "", WORDS[match["word"].lower()], match["number"] or "")


def percent_of(number: str) -> float | None:
    """The percentage that a number in a name stands for; None for none, and for one digit, which
    may count anything.

    >>> percent_of("0.05"), percent_of("05"), percent_of("97.5"), percent_of("1")
    (5.0, 5.0, 97.5, None)
    """
    if len(number) < 2:
        return None
    value = float(number)
    percent = round(100 * value, EXACT) if "." in number and value < 1 else value
    return percent if 0 < percent < 100 else None


def system_key(name: str) -> str:
    """A name of a system, or of the column of its forecasts, without the word forecast and its
    like; empty if nothing else is left.

    >>> system_key("forecast_A"), system_key("yhat"), system_key("AutoARIMA")
    ('a', '', 'autoarima')
    """
    key = comparable(name)
    if key in FORECASTS:
        return ""
    for word in FORECASTS:
        key = key.removeprefix(f"{word}_").removesuffix(f"_{word}")
    return key


@dataclass
class DistributionColumns:
    """The columns of a distribution. system: whose it is, as its name stands in theirs. roles: role
    -> column. point: the column that is its point forecast, the mean or else the median; "" without
    one.
    """

    system: str
    roles: Mapping[str, str]
    point: str = ""

    @property
    def columns(self) -> set[str]:
        """All of its columns."""
        return {*self.roles.values(), *([self.point] if self.point else [])}


def distributions(
    names: Iterable[str], interval_level: float | None = None
) -> dict[str, DistributionColumns]:
    """The key of each system, as `system_key` makes it, -> the columns of its distribution: draws,
    else at least two quantiles, else the standard deviation.

    names: those of columns. interval_level: the share of actual values that bounds are to hold
    whose name states none; None: no such bounds are read, but Prophet's, which are of 80%. A lower
    bound counts as a quantile, and only beside its upper one.

    >>> distributions(["y", "a-lo-80", "a-hi-80", "a_p50", "b_lower"])["a"].roles
    {'quantile 0.1': 'a-lo-80', 'quantile 0.9': 'a-hi-80', 'quantile 0.5': 'a_p50'}
    """
    found = defaultdict[str, dict[str, str]](dict)
    systems = dict[str, str]()
    for name in names:
        mark = marked(name)
        if mark is not None and (role := _role(mark, interval_level)):
            key = system_key(mark.owner)
            found[key].setdefault(role, name)
            systems[key] = mark.owner if comparable(mark.owner) == key else key
    made = {key: _complete(systems[key], roles) for key, roles in found.items()}
    return {key: columns for key, columns in made.items() if columns.roles}


def _role(mark: Marked, interval_level: float | None) -> str:
    """The role of a column; "" if its name does not state all that it needs."""
    percent = percent_of(mark.number)
    match mark.use:
        case "quantile":
            return f"{QUANTILE}{level_of(percent)}" if percent else ""
        case "low" | "high":
            level = level_of(percent) if percent else None
            if not mark.number:
                is_prophet = mark.owner.lower() in usual("distributions")["prophet"]
                level = interval_level or (PROPHET if is_prophet else None)
            return f"{mark.use} {level}" if level else ""
        case "member":
            return f"{MEMBER}{int(mark.number)}" if mark.number.isdecimal() else ""
        case use:
            return "" if mark.number else use


def _complete(system: str, roles: Mapping[str, str]) -> DistributionColumns:
    """What the columns of a system state: draws, else quantiles, else a normal distribution."""
    point = roles.get("mean") or roles.get(MEDIAN) or roles.get("median", "")
    members = {role: name for role, name in roles.items() if role.startswith(MEMBER)}
    if len(members) > 1:
        return DistributionColumns(system, members, point)
    quantiles = dict(_quantiles(roles))
    if len(quantiles) > 1:
        return DistributionColumns(system, quantiles, point)
    if "deviation" not in roles:
        return DistributionColumns(system, {})
    mean = {MEAN: roles["mean"]} if "mean" in roles else {}
    return DistributionColumns(system, {**mean, DEVIATION: roles["deviation"]}, point)


def _quantiles(roles: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The roles of quantiles with their columns, those of bounds among them."""
    for role, name in roles.items():
        use, _, number = role.partition(" ")
        if f"{use} " == QUANTILE:
            yield role, name
        elif use == "median":
            yield MEDIAN, name
        elif use == "low" and f"high {number}" in roles:
            outside = (1 - float(number)) / 2
            yield f"{QUANTILE}{round(outside, EXACT)}", name
            yield f"{QUANTILE}{round(1 - outside, EXACT)}", roles[f"high {number}"]


def states_no_level(name: str) -> bool:
    """True for the bound of an interval without a level, such as yhat_lower."""
    mark = marked(name)
    return mark is not None and mark.use in ("low", "high") and not mark.number


def unread(names: Sequence[str], systems: Iterable[str]) -> list[str]:
    """Of columns that were not read those that state quantiles, bounds or draws of a system, or of
    the only one.
    """
    keys = {"", *map(system_key, systems)}
    # any level will do: it is only asked whether the names state distributions
    found = distributions(names, interval_level=PROPHET)
    columns = {
        name
        for key in found.keys() & keys
        for role, name in found[key].roles.items()
        if role.startswith((QUANTILE, MEMBER))  # any number may be called std
    }
    return [name for name in names if name in columns]
