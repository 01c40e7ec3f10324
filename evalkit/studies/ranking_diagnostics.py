"""What the findings of the ranking report are measured by: populations, judgements, ties."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from evalkit.reading.inputs.runs import NONE, Account
from evalkit.studies.diagnostics import VISIBLE
from evalkit.studies.ranking import Ranking

UNEVEN = 0.05  # a difference between shares of unjudged items that can turn an order


@dataclass(frozen=True)
class Undefined:
    """A metric without a value on some queries. by_system: how many. shared: True if the systems agree in number."""

    label: str
    by_system: Mapping[str, int]
    shared: bool


@dataclass(frozen=True)
class Unjudged:
    """The share of items without a judgement among the first k, by system. uneven: True if the systems differ."""

    k: int
    shares: Mapping[str, float]
    uneven: bool


@dataclass(frozen=True)
class Ties:
    """Rows tied with the row before, by system, and the estimates that their order moves visibly.

    matters: True if it moves one of them by more than half the width of its interval.
    """

    rows: Mapping[str, int]
    moved: pd.DataFrame
    matters: bool


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


def undefined(study: Ranking) -> list[Undefined]:
    """The metrics without a value on some queries."""
    metrics = []
    for label, rows in study.estimates.groupby("metric", sort=False):
        some = rows[rows["undefined"] > 0]
        if len(some):
            counts = dict(zip(some["system"], some["undefined"].astype(int), strict=True))
            metrics.append(Undefined(str(label), counts, rows["undefined"].nunique() == 1))
    return metrics


def without_segment(study: Ranking) -> dict[str, int]:
    """Queries without a value in each segment column, without zeros."""
    several = {name: int((study.runs.attributes[name] == NONE).sum()) for name in study.settings.segments}
    return {name: n for name, n in several.items() if n}


def unjudged(study: Ranking) -> Unjudged:
    """Returned items without a judgement."""
    shares = {name: study.unjudged(name)[1] for name in study.order}
    return Unjudged(study.unjudged(study.order[0])[0], shares, max(shares.values()) - min(shares.values()) > UNEVEN)


def ties(study: Ranking) -> Ties:
    """Rows tied with the row before, and what their order moves."""
    rows = study.estimates[study.estimates["metric"] == study.primary.label]
    moved = rows[rows["best_ties"] - rows["worst_ties"] > VISIBLE]
    matters = (moved["best_ties"] - moved["worst_ties"] > (moved["high"] - moved["low"]) / 2).any()
    return Ties(by_system(study.runs.accounts, "tied"), moved, bool(matters))
