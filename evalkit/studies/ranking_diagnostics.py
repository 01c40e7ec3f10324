"""What the findings of the ranking report are measured by: populations, judgements, ties."""

from collections.abc import Mapping

import pandas as pd

from evalkit.reading.inputs.runs import NONE, Account
from evalkit.studies.asks import Depth
from evalkit.studies.diagnostics import VISIBLE
from evalkit.studies.ranking import Ranking

UNEVEN = 0.05  # a difference between shares of unjudged items that can turn an order
MOST = 0.8  # a share of unjudged items from which values say little


def total(accounts: Mapping[str, Account], name: str) -> int:
    """A count of all systems together.

    >>> total({"a": Account(9, 8, 1, 0, 0, 0, 0), "b": Account(5, 5, 0, 0, 0, 0, 0)}, "rows")
    14
    """
    return sum(getattr(account, name) for account in accounts.values())


def by_system(accounts: Mapping[str, Account], name: str) -> dict[str, int]:
    """A count of each system, without zeros."""
    several = {system: getattr(account, name) for system, account in accounts.items()}
    return {system: n for system, n in several.items() if n}


def undefined(study: Ranking) -> list[tuple[str, dict[str, int], bool]]:
    """The metrics without a value on some queries: on how many by system, and True if the systems agree in number."""
    metrics = []
    for label, rows in study.estimates.groupby("metric", sort=False):
        some = rows[rows["undefined"] > 0]
        if len(some):
            counts = dict(zip(some["system"], some["undefined"].astype(int), strict=True))
            metrics.append((str(label), counts, rows["undefined"].nunique() == 1))
    return metrics


def without_segment(study: Ranking) -> dict[str, int]:
    """Queries without a value in each segment column, without zeros."""
    several = {name: int((study.runs.attributes[name] == NONE).sum()) for name in study.settings.segments}
    return {name: n for name, n in several.items() if n}


def unjudged(study: Ranking) -> tuple[int, dict[str, float], bool]:
    """k, the share of items without a judgement among the first k by system, and True if it may mislead.

    It does if the systems differ in it, or if hardly any item is judged.
    """
    shares = {name: study.unjudged(name)[1] for name in study.order}
    return study.unjudged(study.order[0])[0], shares, max(shares.values()) > min(MOST, min(shares.values()) + UNEVEN)


def beyond(study: Ranking) -> tuple[int, list[str]]:
    """The last rank that any list reaches, and the metrics whose cut-off lies beyond it."""
    last = max(int(study.runs.measure(name, Depth()).per_unit.max(initial=0)) for name in study.systems)
    return last, [chosen.label for chosen in study.settings.metrics if (chosen.k or 0) > last]


def ties(study: Ranking) -> tuple[pd.DataFrame, bool]:
    """The estimates that the order of tied items moves visibly; True if one by over half its interval's width."""
    rows = study.estimates[study.estimates["metric"] == study.primary.label]
    moved = rows[rows["best_ties"] - rows["worst_ties"] > VISIBLE]
    matters = (moved["best_ties"] - moved["worst_ties"] > (moved["high"] - moved["low"]) / 2).any()
    return moved, bool(matters)
