"""The usual names of things in tables of users: which values of a metric are better, and others."""

import pkgutil
import tomllib
from collections.abc import Mapping

_TABLES = tomllib.loads((pkgutil.get_data("evalkit", "names.toml") or b"").decode())


def usual(meaning: str) -> Mapping[str, tuple[str, ...]]:
    """What a name can say, for one meaning of `names.toml`: from each thing to its names.

    >>> "rmsle" in usual("directions")["low"], "recall_rate" in usual("directions")["low"]
    (True, False)
    """
    return {thing: tuple(names.split()) for thing, names in _TABLES[meaning].items()}
