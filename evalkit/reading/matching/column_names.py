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
USES: Mapping[str, Sequence[str]] = NAMES["uses"] | {"split": usual("folds")["columns"]}
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


def comparable(name: str) -> str:
    """A name in the form in which names of systems and metrics are compared: in small letters, with
    underscores between words.

    Capitals do not separate words, as names such as AutoETS have them within a word; only Id at the
    end does. `snake_case` separates more.

    >>> comparable(" Question ID"), comparable("questionId")
    ('question_id', 'question_id')
    """
    lower = re.sub(r"(?<=[a-z])(?=I[dD]$)", "_", name.strip()).lower()
    if lower.startswith(("unnamed", "column")):  # names that tools give to columns without one
        return lower
    return re.sub(r"[ _-]+", "_", lower)


def uses_of(name: str) -> frozenset[str]:
    """All uses that the name of a column suggests, by the names in unit_names.toml.

    Among them are "system" and "value". "unit" is a name of what rows may be about, such as
    question. "id" is a name that ends as ids do, or that a tool gives to a column without a name;
    question_id has both uses. "aside" is a column that describes a unit, or is computed from the
    values of the others.

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


@lru_cache(maxsize=1024)
def _expression(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One regular expression for all of the patterns: names are compared often."""
    return re.compile("|".join(map(translate, patterns)))


def snake_case(name: str) -> str:
    """A name in the form in which usual names of columns are compared: in small letters, with
    underscores between words, which capitals separate too, without the type that some tools write
    behind a colon.

    >>> [snake_case(name) for name in ("userId", "GoldLabel", ".pred_class", "item_id:token")]
    ['user_id', 'gold_label', 'pred_class', 'item_id']
    """
    untyped = re.sub(r":(token|float)(_seq)?$", "", name)
    split = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", untyped)
    # a letter for what is measured, and whether it was: Qobs, ysim
    split = re.sub(r"(?i)^([a-z])(obs|sim|pred|true)$", r"\1_\2", split)
    return re.sub(r"\W+", "_", comparable(split)).strip("_")


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
    """System -> its column of a role, in a wide table: the columns that the user names as systems,
    else those that are called ROLE_SYSTEM and are no bookkeeping, such as score_lower. Empty for a
    table without such columns.

    names: the columns of the table. role: such as "score". systems: those that the user names, by
    whole names of columns or without "score_"; empty for all. where: the name of the table, for
    errors. Raises ParameterError for a system that does not exist, InputError for a column score_,
    which names no system.

    >>> columns_of_systems(["id", "score_id", "score_a", "score_b"], "score", [], "x.csv")
    {'a': 'score_a', 'b': 'score_b'}
    """
    if systems and set(systems) <= set(names):  # whole names of columns
        return {name: name for name in systems}
    prefix = f"{role}_"
    columns = {name.removeprefix(prefix): name for name in names_with_system(names, role)}
    if systems and columns:  # the user may name one that looks like bookkeeping
        unknown = [name for name in systems if name not in columns]
        if unknown:
            has = written(list(columns))
            hint = did_you_mean(unknown[0], columns)
            raise ParameterError(
                f"systems: {where} has no system {unknown[0]!r}{hint}, it has {has}"
            )
        return {name: columns[name] for name in systems}
    of_predictions = {system: name for system, name in columns.items() if not is_bookkeeping(name)}
    if prefix in names and of_predictions:
        raise refused(where, "no_name", prefix=prefix, others=written(list(of_predictions)))
    return of_predictions


def names_with_system(names: Iterable[str], role: str) -> list[str]:
    """The names ROLE_SYSTEM among those of columns: not score_, which names no system, nor
    score_id, the id of a score.
    """
    prefix = f"{role}_"
    no_systems = {f"{prefix}{end}" for end in ("", "id", "ids", "idx", "index")}
    return [name for name in names if name.startswith(prefix) and name not in no_systems]
