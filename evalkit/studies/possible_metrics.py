"""The metrics that a label and its scores allow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.metric import Metric

UNDEFINED_FOR = {"probabilities": "scores outside 0 to 1", "scores of units": "folds, which name no units"}
METRICS = {
    "counts": ("accuracy", "roc_auc", "log_loss", "brier"),
    "classes": ("accuracy", "log_loss", "brier"),
    "forecasts": ("mae", "rmse"),
}


@dataclass(frozen=True)
class Possible:
    """What the rows are to the catalogue. classes: none of a number. inside: whether all scores lie in 0 to 1."""

    classes: tuple[str, ...]
    inside: bool

    @property
    def structure(self) -> str:
        """The structure that the metrics are of."""
        return "forecasts" if not self.classes else "counts" if len(self.classes) == 2 else "classes"

    def usual(self, asked: Iterable[Any]) -> list[str]:
        """The metrics that label and scores allow; raises ParameterError for one that was asked for in vain."""
        needs = ("", "scores", "probabilities") if self.inside else ("", "scores")
        table = lookup.TABLES[self.structure]
        possible = [name for name, metric in table.items() if metric.needs in needs and not metric.columns]
        why = f"{len(self.classes)} classes" if self.classes else "a numeric target"
        for name in filter(lookup.of_catalogue, asked):
            base = name.split("@")[0].strip().lower()
            known = lookup.ALIASES.get(base, base)
            if known not in possible and any(known in other for other in lookup.TABLES.values()):
                why = _why(table[known]) if known in table else why
                raise ParameterError(f"metrics: {name!r} is undefined for {why}; choose from {', '.join(possible)}")
        return [name for name in METRICS[self.structure] if name in possible]


def _why(metric: Metric) -> str:
    """What a metric of this structure is undefined for."""
    if metric.columns:
        return f"this report, which reads no column {' or '.join(metric.columns)}"
    return UNDEFINED_FOR[metric.needs]
