"""The readers of the six reports: each a good table, which of its columns plays which role, and how
two files share it.

Every good table is accepted by its reader (`test_bad_inputs.py` holds that), so whatever is refused
is the fault's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from bad_inputs.cases import EVERY
from evalkit.studies import classification, interleaving, ranking, rating, significance, validation

UNITS = 40  # queries, ids, sessions or users of a file


@dataclass(frozen=True, eq=False)
class Reader:
    """One kind of input of one report.

    study: the module of the report. parameter: the argument of its `read` that takes the table;
    others: arguments that go with it, data frames among them. first, second: the tables of two
    files that the reader takes together. roles: role -> column of the second table. needed: the
    columns without which the report cannot be read. large: whether it is also read out of core.
    """

    name: str
    study: ModuleType
    parameter: str
    first: pd.DataFrame
    second: pd.DataFrame
    roles: Mapping[str, str]
    needed: tuple[str, ...]
    others: Mapping[str, Any] = field(default_factory=dict)
    formats: tuple[str, ...] = EVERY
    large: bool = False

    @property
    def unnamed_systems(self) -> bool:
        """True if the two files are two systems on the same rows, and no column names them."""
        keys = [table.iloc[:, 0] for table in (self.first, self.second)]
        return "system" not in self.first and keys[0].equals(keys[1])

    def columns(self, role: str) -> tuple[str, ...]:
        """The columns of a role, none where no column plays it."""
        if role in ("needed", "two needed"):
            return (
                self.needed[-1:] if role == "needed" else self.needed[-2:] * (len(self.needed) > 1)
            )
        return (self.roles[role],) if role in self.roles else ()


def halves(table: pd.DataFrame, key: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of half of the keys and those of the others: two files of one table."""
    rest = table[key].isin(table[key].unique()[UNITS:])
    return table[~rest].reset_index(drop=True), table[rest].reset_index(drop=True)


def two_systems(table: pd.DataFrame, *columns: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same rows twice, in the second with other scores: two files, each one system."""
    return table, table.assign(**{column: table[column].to_numpy()[::-1] for column in columns})


def _numbers(n: int, seed: int) -> np.ndarray:
    return np.round(np.random.default_rng(seed).uniform(0.05, 0.95, n), 3)


def _ids(prefix: str, n: int, each: int = 1) -> np.ndarray:
    return np.repeat([f"{prefix}{i}" for i in range(1, n + 1)], each)


def _ranked(queries: int = UNITS) -> pd.DataFrame:
    """Four items a query, with the query's user and country."""
    n = 4 * queries
    query = _ids("q", queries, 4)
    return pd.DataFrame(
        {
            "query": query,
            "item": np.tile(_ids("d", 4), queries),
            "score": _numbers(n, 1),
            "grade": np.arange(n) % 3,
            "user": np.repeat([f"u{i // 2}" for i in range(queries)], 4),
            "country": np.repeat(["de", "fr"] * (queries // 2), 4),
        }
    )


def _rows(n: int = UNITS) -> pd.DataFrame:
    """What tables of one row an id share."""
    return pd.DataFrame(
        {
            "id": _ids("r", n),
            "label": np.arange(n) % 2,
            "weight": 1.0 + np.arange(n) % 3 / 2,
            "user": [f"u{i // 2}" for i in range(n)],
            "country": ["de", "de", "fr", "fr"] * (n // 4),
        }
    )


def _binary() -> pd.DataFrame:
    return _rows().assign(score=_numbers(UNITS, 2))


def _classes() -> pd.DataFrame:
    first = _numbers(UNITS, 3) / 2
    second = _numbers(UNITS, 4) / 2
    probabilities = {"p_x": first, "p_y": second, "p_z": 1 - first - second}
    return pd.DataFrame(
        {"id": _ids("r", UNITS), "label": (["x", "y", "z", "x"] * UNITS)[:UNITS]} | probabilities
    )


def _labels() -> pd.DataFrame:
    marks = {"y_a": np.arange(UNITS) % 2, "y_b": np.arange(UNITS) // 2 % 2}
    return pd.DataFrame(
        {"id": _ids("r", UNITS)} | marks | {"p_a": _numbers(UNITS, 5), "p_b": _numbers(UNITS, 6)}
    )


def _forecasts() -> pd.DataFrame:
    return (
        _rows().drop(columns="label").assign(actual=_numbers(UNITS, 7), forecast=_numbers(UNITS, 8))
    )


def _values(n: int = 2 * UNITS) -> pd.DataFrame:
    users = [f"u{i // 2}" for i in range(n)]
    return pd.DataFrame(
        {"query": _ids("q", n), "user": users, "a": _numbers(n, 9), "b": _numbers(n, 10)}
    )


def _long_values() -> pd.DataFrame:
    return (
        _values().drop(columns="user").melt(id_vars="query", var_name="system", value_name="value")
    )


def _trials() -> pd.DataFrame:
    return pd.DataFrame(
        {"page": _ids("p", 2 * UNITS), "successes": np.arange(2 * UNITS) % 9 + 1, "trials": 20}
    )


def _folds() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two systems by name: files of folds without a column of systems are not paired."""
    days = pd.date_range("2024-01-01", periods=UNITS).strftime("%Y-%m-%d")
    columns = {"id": _ids("r", UNITS), "label": np.arange(UNITS) % 2, "score": _numbers(UNITS, 11)}
    table = pd.DataFrame(columns | {"fold": np.arange(UNITS) // 2 % 4, "time": days})
    first, second = two_systems(table, "score")
    return first.assign(system="a"), second.assign(system="b")


def _features() -> pd.DataFrame:
    n = 2 * UNITS
    days = pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d")
    numbers = {"x1": _numbers(n, 12), "x2": _numbers(n, 13)}
    return pd.DataFrame(
        {"id": _ids("r", n), "label": np.arange(n) // 2 % 2, "time": days} | numbers
    )


def _sessions() -> pd.DataFrame:
    n = 2 * UNITS
    return pd.DataFrame(
        {
            "session": _ids("s", n, 4),
            "user": np.repeat([f"u{i // 2}" for i in range(n)], 4),
            "position": np.tile([1, 2, 3, 4], n),
            "team": ["a", "b", "b", "a"] * n,
            "click": np.arange(4 * n) % 5 % 2,
            "country": np.repeat(["de", "fr"] * UNITS, 4),
        }
    )


def _users() -> pd.DataFrame:
    n = 2 * UNITS
    arms = ["a", "b"] * UNITS
    numbers = {"orders": np.arange(n) % 5, "before": np.arange(n) % 7}
    countries = ["de", "de", "fr", "fr"] * (n // 4)
    return pd.DataFrame({"user": _ids("u", n), "arm": arms} | numbers | {"country": countries})


RANKED = _ranked()[["query", "item", "score"]]
JUDGED = _ranked(2 * UNITS)[["query", "item", "grade"]]
QUERIES = _ranked(2 * UNITS)[["query", "user", "country"]].drop_duplicates(
    "query", ignore_index=True
)
ALL_RANKED = _ranked(2 * UNITS)[["query", "item", "score"]]
BY_RANK = _ranked().assign(rank=np.tile([1, 2, 3, 4], UNITS))[["query", "item", "rank", "grade"]]
ITEMS = pd.DataFrame(
    {
        "item": _ids("d", 2 * UNITS),
        "category": ["x", "y"] * UNITS,
        "popularity": np.arange(2 * UNITS) % 9,
        "user_share": _numbers(2 * UNITS, 14),
        "feature_a": _numbers(2 * UNITS, 15),
    }
)
BY_UNIT = {"unit": "user", "segments": "country"}

READERS = (
    Reader(
        "ranked lists",
        ranking,
        "preds",
        *two_systems(_ranked(), "score"),
        {
            "id": "item",
            "group id": "query",
            "number": "score",
            "grade": "grade",
            "unit": "user",
            "segment": "country",
            "shared": "grade",
            "twin": "item",
        },
        ("query", "item", "score"),
        BY_UNIT,
        large=True,
    ),
    Reader(
        "ranks",
        ranking,
        "preds",
        *two_systems(BY_RANK),
        {"id": "item", "group id": "query", "rank": "rank"},
        ("query", "item", "rank"),
        large=True,
    ),
    Reader(
        "run",
        ranking,
        "preds",
        *two_systems(RANKED, "score"),
        {"id": "item", "number": "score"},
        (),
        {"qrels": _ranked()[["query", "item", "grade"]]},
        formats=("trec",),
        large=True,
    ),
    Reader(
        "judgements",
        ranking,
        "qrels",
        *halves(JUDGED, "query"),
        {"id": "item", "group id": "query", "grade": "grade", "twin": "query"},
        ("query", "item", "grade"),
        {"preds": ALL_RANKED},
        formats=(*EVERY, "trec"),
        large=True,
    ),
    Reader(
        "queries",
        ranking,
        "queries",
        *halves(QUERIES, "query"),
        {"id": "query", "unit": "user", "segment": "country"},
        ("query", "user", "country"),
        {"preds": ALL_RANKED, "qrels": JUDGED} | BY_UNIT,
        large=True,
    ),
    Reader(
        "items",
        ranking,
        "items",
        *halves(ITEMS, "item"),
        {
            "id": "item",
            "amount": "popularity",
            "probability": "user_share",
            "feature": "feature_a",
            "twin": "item",
        },
        ("item",),
        {"preds": _ranked()},
    ),
    Reader(
        "binary",
        classification,
        "preds",
        *two_systems(_binary(), "score"),
        {
            "id": "id",
            "number": "score",
            "probability": "score",
            "binary": "label",
            "weight": "weight",
            "unit": "user",
            "segment": "country",
            "shared": "label",
            "twin": "label",
        },
        ("label", "score"),
        {"columns": {"weight": "weight", "id": "id"}, "metrics": "roc_auc,brier"} | BY_UNIT,
        large=True,
    ),
    Reader(
        "classes",
        classification,
        "preds",
        *two_systems(_classes(), "p_x", "p_y", "p_z"),
        {
            "id": "id",
            "number": "p_y",
            "probability": "p_y",
            "class": "label",
            "shared": "label",
            "twin": "label",
        },
        ("label",),
        {"metrics": "log_loss,accuracy"},
        large=True,
    ),
    Reader(
        "labels",
        classification,
        "preds",
        *two_systems(_labels(), "p_a", "p_b"),
        {"id": "id", "number": "p_b", "mark": "y_b", "shared": "y_b"},
        ("y_b", "p_b"),
        large=True,
    ),
    Reader(
        "forecasts",
        rating,
        "preds",
        *two_systems(_forecasts(), "forecast"),
        {
            "id": "id",
            "number": "forecast",
            "weight": "weight",
            "unit": "user",
            "segment": "country",
            "shared": "actual",
            "twin": "actual",
        },
        ("actual", "forecast"),
        {"columns": {"weight": "weight", "id": "id"}} | BY_UNIT,
        large=True,
    ),
    Reader(
        "wide values",
        significance,
        "preds",
        *halves(_values(), "query"),
        {"id": "query", "value": "b", "unit": "user"},
        ("a", "b"),
        {"unit": "user", "systems": "a,b"},
    ),
    Reader(
        "independent values",
        significance,
        "preds",
        *halves(_values(), "query"),
        {"id": "query", "value": "b"},
        ("a", "b"),
        {"systems": "a,b"},
        large=True,
    ),
    Reader(
        "long values",
        significance,
        "preds",
        *halves(_long_values(), "query"),
        {"id": "query", "value": "value", "name": "system"},
        ("query", "system", "value"),
        large=True,
    ),
    Reader(
        "losses",
        significance,
        "preds",
        *two_systems(_binary(), "score"),
        {
            "id": "id",
            "number": "score",
            "probability": "score",
            "binary": "label",
            "unit": "user",
            "shared": "label",
        },
        (),
        {"unit": "user"},
        large=True,
    ),
    Reader(
        "trials",
        significance,
        "preds",
        *halves(_trials(), "page"),
        {"id": "page", "number": "successes", "count": "successes"},
        ("successes", "trials"),
    ),
    Reader(
        "folds",
        validation,
        "preds",
        *_folds(),
        {
            "id": "id",
            "number": "score",
            "binary": "label",
            "shared": "label",
            "fold": "fold",
            "time": "time",
            "twin": "label",
        },
        ("label", "score", "fold"),
        {"columns": {"id": "id", "time": "time"}},
    ),
    Reader(
        "features",
        validation,
        "features",
        *halves(_features(), "id"),
        {"id": "id", "target": "label", "time": "time"},
        ("label",),
        {"columns": {"id": "id", "time": "time"}, "seconds": 0.01, "k": 2},
    ),
    Reader(
        "sessions",
        interleaving,
        "log",
        *halves(_sessions(), "session"),
        {
            "group id": "session",
            "number": "click",
            "position": "position",
            "name": "team",
            "unit": "user",
            "segment": "country",
        },
        ("session", "position", "team", "click"),
        {"world": "none", "segments": "country"},
        large=True,
    ),
    Reader(
        "users",
        interleaving,
        "users",
        *halves(_users(), "user"),
        {"id": "user", "number": "orders", "name": "arm"},
        ("arm", "orders"),
        {"world": "none", "metrics": "orders", "before": "before", "segments": "country"},
        large=True,
    ),
)
