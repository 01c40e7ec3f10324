"""The usual names of things in tables of users: which values of a metric are better, and others."""

import pkgutil
import re
import tomllib
from collections.abc import Iterable, Mapping

_TABLES = tomllib.loads((pkgutil.get_data("evalkit", "names.toml") or b"").decode())


def usual(meaning: str) -> Mapping[str, tuple[str, ...]]:
    """What a name can say, for one meaning of `names.toml`: from each thing to its names.

    >>> "rmsle" in usual("directions")["low"], "recall_rate" in usual("directions")["low"]
    (True, False)
    """
    return {thing: tuple(names.split()) for thing, names in _TABLES[meaning].items()}


def control_of(arms: Iterable[str]) -> str | None:
    """The arm with the plainest of the usual names of a control; None if no arm has one.

    >>> control_of(["B", "A"]), control_of(["old", "Control Group"]), control_of(["free", "paying"])
    ('A', 'Control Group', None)
    """
    named = {re.sub(r"[\W_]+", "_", arm.strip().lower()): arm for arm in arms}
    return next((named[name] for name in usual("arms")["control"] if name in named), None)
