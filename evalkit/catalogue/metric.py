"""A row of the table of metrics, and the row that a name such as `ndcg@10` chooses."""

from __future__ import annotations

import pkgutil
import tomllib
from dataclasses import dataclass
from typing import Any

from evalkit.catalogue.kinds import Effects, Kind, OfTable, Termed
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.metrics.sums import Sums


@dataclass(frozen=True)
class Metric:
    """One row of the table.

    kind: what inference needs of it. cut: "may", "must" or "never" carry @k; most: the greatest k.
    best: "high", "low" or "neither". equals: the public tool's name for the same number. tie_range: the best grade
    first among equal scores gives the metric's highest value. needs: "", "scores", "probabilities" or
    "scores of units". columns: further columns of the input that it is computed from. plain: what it measures in plain
    words, with {k} or {top} for the cut-off; empty where the formula says it. unit: of measurement: "1" for a pure
    number, "actual" for that of the actual values, "nats", a column; empty where it is not known. assumed: nothing says
    which values are better.
    """

    name: str
    structure: str
    kind: Kind
    formula: str
    undefined: str
    equals: str
    cut: str = "may"
    low: float = 0.0
    high: float = 1.0
    best: str = "high"
    reference: str = ""
    tie_range: bool = True
    most: int = 2**31 - 1
    needs: str = ""
    columns: tuple[str, ...] = ()
    plain: str = ""
    unit: str = "1"
    assumed: bool = False

    def __hash__(self) -> int:
        """That of its name: one results' key is made of it for each pair of systems."""
        return hash(self.name)

    @property
    def ends(self) -> tuple[float, float]:
        """Its smallest and its largest value."""
        return self.low, self.high

    @property
    def decided(self) -> bool:
        """True if a threshold decides the metric."""
        return self.kind.decided

    @property
    def tabled(self) -> bool:
        """True if the table of a score tells the metric, without the rows themselves."""
        return self.kind.summed and not self.columns


TEXTS = tomllib.loads((pkgutil.get_data(__package__, "metrics.toml") or b"").decode())  # in a Spark worker no file


def described(name: str, structure: str, kind: Kind, **rest: Any) -> Metric:
    """The row of a metric whose words stand in metrics.toml: what it is, when it is undefined, which tool it equals."""
    words = {"undefined": "", "equals": ""} | TEXTS[structure][name]
    return Metric(name, structure, kind, **words, **rest)


@dataclass(frozen=True)
class Chosen:
    """A metric at its cut-off, as `ndcg@10` names it; `label` is what is printed."""

    metric: Metric
    k: int | None = None

    @property
    def label(self) -> str:
        """The name that is printed and that finds this metric again."""
        return self.metric.name if self.k is None else f"{self.metric.name}@{self.k}"

    @property
    def plain(self) -> str:
        """What it measures, in plain words."""
        top = "all items" if self.k is None else "the first item" if self.k == 1 else f"the first {self.k} items"
        return self.metric.plain.replace("{top}", top).replace("{k}", str(self.k)) or self.metric.formula

    @property
    def decided(self) -> bool:
        """True if a threshold decides the metric."""
        return self.base.metric.decided

    @property
    def base(self) -> Chosen:
        """The metric itself, or the one that it transforms."""
        original = self.metric.kind.original
        return self if original is None else Chosen(original, self.k)

    def sums(self, structure: Any, level: float = 1) -> Sums:
        """One value a unit of rankings and other structures of units, or the terms of a ratio."""
        assert isinstance(self.metric.kind, Termed)
        return self.metric.kind.sums(structure, self.k, level)

    def value(self, rows: Rows) -> float:
        """The metric of rows."""
        return self.metric.kind.value(rows, self.k)

    def effects(self, rows: Rows) -> Effects:
        """The metric of rows, and how much each row moves it."""
        return self.metric.kind.effects(rows, self.k)

    def at(self, c: Counts, threshold: float = 0.5) -> float:
        """The metric of a table of labels 0 and 1, at the threshold where one decides."""
        assert isinstance(self.metric.kind, OfTable)
        return self.metric.kind.at(c, threshold)
