"""What the judgements that are lacking could change: the limits of each metric, whatever the unjudged items are."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue.metric import Chosen
from evalkit.metrics.rankings import Lists, Rankings
from evalkit.reading.inputs.runs import Runs
from evalkit.studies.once import once
from evalkit.studies.ranking import Ranking

COLUMNS = ["metric", "system", "value", "low", "high", "n", "unjudged"]
MOST = 5_000_000  # rows that all arrangements of one system may have together


@once
def bounds(study: Ranking) -> pd.DataFrame:
    """The limits of the metrics of each system with unjudged items in its first `study.depth` ranks: `COLUMNS`.

    Each of these items may be relevant, with the highest grade of the judgements, or not relevant. unjudged: how many
    there are in all lists. value, low, high: means over the n queries on which the metric is defined now. Empty where
    all items are judged, and where the lists are not at hand or there are too many.
    """
    if not isinstance(study.runs, Runs):
        return pd.DataFrame(columns=COLUMNS)
    rows = [
        {"metric": chosen.label, "system": name} | limits
        for name in study.order
        for chosen, limits in _of_system(study, study.runs.rankings[name])
    ]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    place = {chosen.label: i for i, chosen in enumerate(study.settings.metrics)}
    return frame.sort_values("metric", key=lambda labels: labels.map(place), kind="stable", ignore_index=True)


def _of_system(study: Ranking, r: Rankings) -> Iterator[tuple[Chosen, dict[str, float]]]:
    """The limits of each metric that is a mean over queries; nothing for a system without an unjudged item."""
    unknown = Unknown.of(r, study.depth)
    if not unknown.most or unknown.most * 2 * len(r.retrieved.grade) > MOST:
        return
    worlds = [r, *unknown.worlds(max(study.relevance_level, study.runs.top_grade))]
    for chosen in study.settings.metrics:
        values = [chosen.sums(world, study.relevance_level) for world in worlds]
        if values[0].denominator is None and values[0].defined.any():
            yield (
                chosen,
                _limits(np.array([sums.numerator for sums in values])) | {"unjudged": int(unknown.count.sum())},
            )


def _limits(values: Floats) -> dict[str, float]:
    """The mean of the first row's values that exist, and those of the lowest and the highest of each column."""
    values = values[:, ~np.isnan(values[0])]
    means = (row.mean() for row in (values[0], np.nanmin(values, axis=0), np.nanmax(values, axis=0)))
    return dict(zip(("value", "low", "high"), map(float, means), strict=True)) | {"n": values.shape[1]}


@dataclass(frozen=True, eq=False)
class Unknown:
    """The unjudged rows among the first ranks of each list: row, list, number from the top. count: of each list."""

    r: Rankings
    row: Ints
    owner: Ints
    nth: Ints
    count: Ints

    @classmethod
    def of(cls, r: Rankings, depth: int) -> "Unknown":
        """Those of the first `depth` ranks."""
        lists = r.retrieved
        row = np.flatnonzero(np.isnan(lists.grade) & (lists.rank <= depth))
        owner = lists.owner[row]
        count = np.bincount(owner, minlength=len(lists))
        return cls(r, row, owner, np.arange(1, len(row) + 1) - (np.cumsum(count) - count)[owner], count)

    @property
    def most(self) -> int:
        """Of all lists the most."""
        return int(self.count.max(initial=0))

    def worlds(self, grade: float) -> Iterator[Rankings]:
        """The rankings if j of the unjudged items of each list are relevant, the first j or the last j, for each j.

        No metric rises where a relevant item of a list moves down: with j relevant ones these two are the extremes.
        """
        for j in range(self.most + 1):
            relevant = np.minimum(j, self.count)
            yield self._judged(self.nth <= relevant[self.owner], grade)
            yield self._judged(self.nth > (self.count - relevant)[self.owner], grade)

    def _judged(self, relevant: Bools, grade: float) -> Rankings:
        """The rankings if these of the unjudged items are relevant, with this grade, and the others are not."""
        grades, ideal = self.r.retrieved.grade.copy(), self.r.ideal
        grades[self.row] = np.where(relevant, grade, 0.0)
        every = np.concatenate([ideal.grade, grades[self.row]])
        owner = np.concatenate([ideal.owner, self.owner])
        order = np.lexsort((-every, owner))
        offset = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(ideal)))])
        best = Lists(every[order], np.zeros(len(every), bool), offset)
        return replace(self.r, retrieved=replace(self.r.retrieved, grade=grades), ideal=best)
