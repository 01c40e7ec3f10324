"""What the findings of a validation report are measured by, and the numbers that its tables set beside each other."""

from dataclasses import dataclass

import numpy as np

from evalkit.reading.tables import precision
from evalkit.studies.diagnostics import Ends, ends
from evalkit.studies.resplits import ONE_OUT
from evalkit.studies.validity import Validation


@dataclass(frozen=True)
class Label:
    """Rows of every class; of a number its lowest, highest and mean value."""

    classes: dict[str, int]
    low: float
    high: float
    mean: float


def label(s: Validation) -> Label:
    """The labels of the rows."""
    e = s.examples
    rows = np.bincount(e.label.astype(np.int64)).tolist() if e.classes else []
    classes = dict(zip(e.classes, rows, strict=True))
    return Label(classes, float(e.label.min()), float(e.label.max()), float(e.label.mean()))


def cuts(s: Validation, threshold: float) -> dict[str, float]:
    """The threshold of each system in the precision of its scores."""
    return {name: precision.rounded(threshold, s.examples.precision[name]) for name in s.examples.score}


def score_ends(s: Validation) -> dict[str, Ends]:
    """The lowest and the highest score of each system."""
    return ends(s.examples.score)


def rows_per_id(s: Validation) -> tuple[int, int]:
    """The least and the most rows of an id."""
    assert s.examples.id is not None
    times = np.unique(s.examples.id, return_counts=True)[1]
    return int(times.min()), int(times.max())


def untested(s: Validation) -> int:
    """The rows that no fold tests."""
    return len(s.examples) - s.rows.size


def text_features(s: Validation) -> list[str]:
    """The features that are text."""
    return [] if s.examples.features is None else list(s.examples.features.select_dtypes(exclude="number"))


def constant_features(s: Validation) -> list[str]:
    """The features with one value on every row, or none."""
    table = s.examples.features
    return [] if table is None else [name for name in table if table[name].nunique(dropna=False) < 2]


# Other splits


def spread_ratios(s: Validation) -> tuple[str, dict[str, float]]:
    """A single holdout, and how many times as much it varies as each k-fold; an empty name where there is none."""
    if s.other is None:
        return "", {}
    spread = s.other.summary.set_index("way")["sd"]
    varying = [name for name in spread.index if spread[name] > 0]
    single = next((name for name in varying if name.startswith("one holdout")), "")
    return single, {name: float(spread[single] / spread[name]) for name in varying if single and "-fold" in name}


def reversed_by_one_out(s: Validation) -> float:
    """The accuracy when one row is left out, where it is far below that of the larger class; else NaN."""
    if s.other is None or s.primary.metric.name != "accuracy":
        return np.nan
    by_way = s.other.summary.set_index("way")["mean"]
    value = float(by_way.get(ONE_OUT, np.nan))
    return value if value <= s.estimate(s.primary, s.baseline).value / 2 else np.nan
