"""What the name of a column says: an id, a unit, a system, a value, a draw, or something aside."""

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
    """A name in the form in which names are compared.

    >>> comparable(" Question ID"), comparable("questionId")
    ('question_id', 'question_id')
    """
    lower = re.sub(r"(?<=[a-z])(?=I[dD]$)", "_", name.strip()).lower()
    return lower if lower.startswith(("unnamed", "column")) else re.sub(r"[ _-]+", "_", lower)


def uses_of(name: str) -> frozenset[str]:
    """All uses that a name suggests: the unit or its `id`, a system, a value, something aside.

    >>> [sorted(uses_of(name)) for name in ("question_id", "Unnamed: 0", "Num_Rel", "p", "bm25")]
    [['id', 'unit'], ['id'], ['aside'], ['aside'], []]
    """
    plain = comparable(name)
    uses = {use for use, names in USES.items() if plain in names}
    uses |= {use for use, patterns in PATTERNS.items() if is_like(name, patterns)}
    if _ID.fullmatch(plain):
        uses.add("id")
    return frozenset(uses)


def is_like(name: str, patterns: Sequence[str]) -> bool:
    """True if a name fits a pattern, in which a * stands for any text.

    >>> is_like("zip code", ["zip_*"]), is_like("grid", ["*_id"])
    (True, False)
    """
    plain = name.strip().lower()
    fits = _expression(tuple(patterns)).match
    return bool(fits(plain) or fits(re.sub(r"[ _./-]+", "_", plain)))


@lru_cache(maxsize=64)
def _expression(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One regular expression for all of the patterns: names are compared often."""
    return re.compile("|".join(map(translate, patterns)))
