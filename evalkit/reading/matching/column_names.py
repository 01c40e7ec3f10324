"""What the name of a column suggests: an id, a unit, a system, a value, a draw, bookkeeping, …"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import translate
from functools import lru_cache

from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup
from evalkit.names import usual
from evalkit.parameters.kinds import did_you_mean, written
from evalkit.reading.tables.columns import facts, refused

NAMES = facts("unit_names")
# the usual names for each use of a column, the least ambiguous first
NAMES_BY_USE: Mapping[str, Sequence[str]] = NAMES["uses"] | {"split": usual("folds")["columns"]}
# the name of a set of rows, such as valid or dev -> its split
SETS = dict[str, str]()
for _split, _names in NAMES["folds"].items():
    SETS |= dict.fromkeys(_names, _split)
METRICS = set(lookup.ALIASES).union(NAMES["metrics"], *lookup.TABLES.values())
PATTERNS: Mapping[str, Sequence[str]] = NAMES["patterns"]
AMOUNTS = usual("bookkeeping")["amounts"]
PREDICTION_WORDS = frozenset(usual("predictions")["words"])  # such as score and forecast
BOOKKEEPING = (*usual("bookkeeping")["columns"], *AMOUNTS, *NAMES["tracked"])
# the uses of columns that hold neither answers nor predictions
USES_OF_BOOKKEEPING = frozenset(
    ("id", "place", "time_or_weight", "draw", "split", "unit", "aside", "task")
)
# names that end like an id, are one, or are given by a tool to a column without a name
_ID = re.compile(
    r"(.*_)?(id|ids|no|nr|number|idx|index)|qid|uid|docno|unnamed: ?\d+|level_\d+|column \d+"
)


def comparable_name(name: str) -> str:
    """A name in the form in which names of systems and metrics are compared: in small letters, with
    underscores in place of blanks and hyphens.

    A capital does not begin a word, as it would break names such as AutoETS; only Id at the end is
    a word of its own.

    >>> comparable_name(" Question ID"), comparable_name("questionId")
    ('question_id', 'question_id')
    """
    with_id_apart = re.sub(r"(?<=[a-z])(?=I[dD]$)", "_", name.strip())  # questionId -> question_Id
    lower = with_id_apart.lower()
    # "unnamed: 0" and "column 1", as tools call columns without a name, are known with their blank
    if lower.startswith(("unnamed", "column")):
        return lower
    return re.sub(r"[ _-]+", "_", lower)


def uses_of(name: str) -> frozenset[str]:
    """All uses of a column that its name suggests, by the usual names in unit_names.toml; none for
    a name such as bm25.

    Such are "system"; "value"; "unit", for names of what rows are about, such as question; "id",
    for names that end as ids do, or that tools give to a column without one, such as pandas' index;
    "aside", for columns that describe a unit or are computed from others, such as counts and p.

    >>> [sorted(uses_of(name)) for name in ("question_id", "Unnamed: 0", "Num_Rel", "p", "bm25")]
    [['id', 'unit'], ['id'], ['aside'], ['aside'], []]
    """
    compared = comparable_name(name)
    uses = {use for use, names in NAMES_BY_USE.items() if compared in names}
    uses |= {use for use, patterns in PATTERNS.items() if is_like(name, patterns)}
    if _ID.fullmatch(compared):
        uses.add("id")
    return frozenset(uses)


def is_like(name: str, patterns: Sequence[str]) -> bool:
    """True if a name fits one of the patterns, in which a * stands for any text. Both are in small
    letters.

    The name is compared as it is, and with an underscore for each blank, hyphen, dot or slash.

    >>> is_like("zip code", ["zip_*"]), is_like("grid", ["*_id"])
    (True, False)
    """
    lower = name.strip().lower()
    joined = re.sub(r"[ _./-]+", "_", lower)
    any_pattern = _expression(tuple(patterns))  # one regular expression for all of them
    return bool(any_pattern.match(lower) or any_pattern.match(joined))


@lru_cache(maxsize=1024)
def _expression(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One regular expression for all of the patterns: names are compared often."""
    return re.compile("|".join(map(translate, patterns)))


def snake_case(name: str) -> str:
    """A name in the form in which usual names of columns are compared: in small letters, with
    underscores between words, of which a capital begins one too. A type behind a colon, as in files
    of RecBole, is dropped.

    >>> [snake_case(name) for name in ("userId", "GoldLabel", ".pred_class", "item_id:token")]
    ['user_id', 'gold_label', 'pred_class', 'item_id']
    """
    untyped = re.sub(r":(token|float)(_seq)?$", "", name)
    with_words = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", untyped)
    # names of a quantity of one letter, observed or simulated: Qobs becomes Q_obs, ysim y_sim
    with_words = re.sub(r"(?i)^([a-z])(obs|sim|pred|true)$", r"\1_\2", with_words)
    return re.sub(r"\W+", "_", comparable_name(with_words)).strip("_")


def is_bookkeeping(name: str) -> bool:
    """True if the name of a column says that it holds neither answers nor predictions, but ids,
    bounds, quantiles, dates or the like.

    >>> [is_bookkeeping(name) for name in ("AutoETS-lo-90", "p10", "user_id", "horizon", "forest")]
    [True, True, True, True, False]
    """
    return bool(uses_of(name) & USES_OF_BOOKKEEPING) or is_like(snake_case(name), BOOKKEEPING)


def says_prediction(snake_case_name: str) -> bool:
    """True if a word of a column's name says that it holds predictions, unless the name is that of
    a metric. snake_case_name: the name as `snake_case` returns it.

    >>> says_prediction("rf_score"), says_prediction("age"), says_prediction("f1_score")
    (True, False, False)
    """
    is_metric = snake_case_name in METRICS - PREDICTION_WORDS
    return not is_metric and not PREDICTION_WORDS.isdisjoint(snake_case_name.split("_"))


# Wide tables --------------------------------------------------------------------------------------


def columns_of_systems(
    names: Sequence[str], role: str, systems: Sequence[str], where: str
) -> dict[str, str]:
    """System -> its column of a role, in a table with such a column per system: those called
    <role>_<system>, such as score_a, but for names such as score_lower, which are the bound of an
    interval; or those that the user names as systems. Empty if there are none.

    names: the columns of the table. systems: what the user names, whole columns or parts behind
    "score_"; empty for all. where: the name of the table, for errors. Raises ParameterError for a
    system that does not exist, InputError for a column score_, which names no system.

    >>> columns_of_systems(["id", "score_id", "score_a", "score_b"], "score", [], "x.csv")
    {'a': 'score_a', 'b': 'score_b'}
    """
    if systems and set(systems) <= set(names):  # whole names of columns
        return {name: name for name in systems}
    prefix = f"{role}_"
    columns = {name.removeprefix(prefix): name for name in names_with_system(names, role)}
    if systems and columns:  # what the user names is a system even if it is called "lower"
        unknown = [name for name in systems if name not in columns]
        if unknown:
            has = written(list(columns))
            hint = did_you_mean(unknown[0], columns)
            raise ParameterError(
                f"systems: {where} has no system {unknown[0]!r}{hint}, it has {has}"
            )
        return {name: columns[name] for name in systems}
    column_of_system = {
        system: name for system, name in columns.items() if not is_bookkeeping(name)
    }
    if prefix in names and column_of_system:
        raise refused(where, "no_name", prefix=prefix, others=written(list(column_of_system)))
    return column_of_system


def names_with_system(names: Iterable[str], role: str) -> list[str]:
    """Those names of columns that are <role>_<system>, such as score_a for the role score. Names
    such as score_ and score_id, the number of a score, have no system behind the prefix.
    """
    prefix = f"{role}_"
    without_system = {f"{prefix}{ending}" for ending in ("", "id", "ids", "idx", "index")}
    return [name for name in names if name.startswith(prefix) and name not in without_system]
