"""The uses of a column that its name suggests: an id, a unit, a system, a value, a draw, …"""

import re
from collections.abc import Mapping, Sequence
from fnmatch import translate
from functools import lru_cache

from evalkit.catalogue import lookup
from evalkit.names import usual
from evalkit.reading.tables.columns import facts

NAMES = facts("unit_names")
# the usual names for each use of a column, the least ambiguous first
USES: Mapping[str, Sequence[str]] = NAMES["uses"] | {"split": usual("folds")["columns"]}
SETS: Mapping[str, str] = {name: split for split, names in NAMES["folds"].items() for name in names}
METRICS = {*lookup.ALIASES, *NAMES["metrics"]}.union(*lookup.TABLES.values())
PATTERNS: Mapping[str, Sequence[str]] = NAMES["patterns"]
_ID = re.compile(
    r"(.*_)?(id|ids|no|nr|number|idx|index)|qid|uid|docno|unnamed: ?\d+|level_\d+|column \d+"
)


def comparable(name: str) -> str:
    """A name in the form in which names are compared: in small letters, with words joined by
    underscores. Of joined words, only an Id at the end is split off, as other names of systems and
    metrics may have capitals.

    >>> comparable(" Question ID"), comparable("questionId")
    ('question_id', 'question_id')
    """
    lower = re.sub(r"(?<=[a-z])(?=I[dD]$)", "_", name.strip()).lower()
    if lower.startswith(("unnamed", "column")):  # names that tools give to columns without one
        return lower
    return re.sub(r"[ _-]+", "_", lower)


def uses_of(name: str) -> frozenset[str]:
    """All uses that the name of a column suggests, by the names in unit_names.toml.

    Among them are "unit", "id", "system" and "value"; "aside" is a column that describes a unit, or
    is computed from the values of the others.

    >>> [sorted(uses_of(name)) for name in ("question_id", "Unnamed: 0", "Num_Rel", "p", "bm25")]
    [['id', 'unit'], ['id'], ['aside'], ['aside'], []]
    """
    compared = comparable(name)
    uses = {use for use, names in USES.items() if compared in names}
    uses |= {use for use, patterns in PATTERNS.items() if is_like(name, patterns)}
    if _ID.fullmatch(compared):
        uses.add("id")
    return frozenset(uses)


def is_like(name: str, patterns: Sequence[str]) -> bool:
    """True if a name fits one of the patterns, in which a * stands for any text.

    The name is compared in small letters, as it is and with words joined by underscores.

    >>> is_like("zip code", ["zip_*"]), is_like("grid", ["*_id"])
    (True, False)
    """
    lower = name.strip().lower()
    joined = re.sub(r"[ _./-]+", "_", lower)
    match = _expression(tuple(patterns)).match
    return bool(match(lower) or match(joined))


@lru_cache(maxsize=64)
def _expression(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One regular expression for all of the patterns: names are compared often."""
    return re.compile("|".join(map(translate, patterns)))
