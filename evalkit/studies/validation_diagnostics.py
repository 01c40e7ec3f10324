"""What the findings of a validation report are measured by, and the numbers that its tables set beside each other."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, Ints
from evalkit.offline.optimism import Bootstrap
from evalkit.reading.tables import precision
from evalkit.statistics.intervals import Estimate
from evalkit.studies.resplits import ONE_OUT
from evalkit.studies.validity import Validation

BINS = 120  # of the map of the folds
POOLED_ROWS = 300  # below which what is pooled depends on the models of the folds more than its interval knows


@dataclass(frozen=True)
class Label:
    """Rows of every class; of a number its lowest, highest and mean value."""

    classes: dict[str, int]
    low: float
    high: float
    mean: float


def label(study: Validation) -> Label:
    """The labels of the rows."""
    e = study.examples
    rows = np.bincount(e.label.astype(np.int64)).tolist() if e.classes else []
    classes = dict(zip(e.classes, rows, strict=True))
    return Label(classes, float(e.label.min()), float(e.label.max()), float(e.label.mean()))


def cuts(study: Validation, threshold: float) -> dict[str, float]:
    """The threshold of each system in the precision of its scores."""
    return {name: precision.rounded(threshold, study.examples.precision[name]) for name in study.examples.score}


def rows_per_id(study: Validation) -> tuple[int, int]:
    """The least and the most rows of an id."""
    assert study.examples.id is not None
    times = np.unique(study.examples.id, return_counts=True)[1]
    return int(times.min()), int(times.max())


def untested(study: Validation) -> int:
    """The rows that no fold tests."""
    return len(study.examples) - study.rows.size


# Other splits


def spread_ratios(study: Validation) -> tuple[str, dict[str, float]]:
    """A single holdout, and how many times as much it varies as each k-fold; an empty name where there is none."""
    if study.other is None:
        return "", {}
    spread = study.other.summary.set_index("way")["sd"]
    varying = [name for name in spread.index if spread[name] > 0]
    single = next((name for name in varying if name.startswith("one holdout")), "")
    return single, {name: float(spread[single] / spread[name]) for name in varying if single and "-fold" in name}


def reversed_by_one_out(study: Validation) -> float | None:
    """The accuracy when one row is left out, if it is far below that of the larger class."""
    if study.other is None or not _counts_right_rows(study):
        return None
    by_way = study.other.summary.set_index("way")["mean"]
    value = float(by_way.get(ONE_OUT, np.nan))
    return value if value <= study.estimate(study.primary, study.baseline).value / 2 else None


def _counts_right_rows(s: Validation) -> bool:
    """True if the first metric is the share of all rows that are right."""
    kind, statistic = s.primary.metric.kind, s.measure(s.primary, s.baseline)
    shares = kind.of_rows and kind.decided and s.primary.metric.best == "high"
    return shares and statistic.hits()[1] == len(statistic.rows)


def accuracies(b: Bootstrap) -> dict[str, float]:
    """The accuracy of each estimate of the bootstrap, by the name of its error."""
    return {name: 1 - error for name, error in vars(b).items()}


def promised(honest: Estimate, blind: Estimate) -> float:
    """What a split that ignores the group or the time promises beyond what holds."""
    return blind.value - honest.value


# The folds


def folds_of_a_repeat(study: Validation) -> float:
    """The folds of each draw."""
    return len(study.tests) / study.examples.repeats


def comparable_folds(study: Validation) -> bool:
    """True if there are folds enough to ask whether they differ."""
    return not np.isnan(study.unlike["p"])


def mean_of_folds(study: Validation) -> dict[str, float]:
    """The mean over the folds of each metric of the subject, and on_train where models were fitted."""
    own = study.by_fold[study.by_fold["system"] == study.subject]
    return {str(name): float(own[name].mean()) for name in own.select_dtypes("number")}


def mean_gap(study: Validation) -> float:
    """The mean over the folds of what the training rows promise beyond the test rows."""
    return float(np.mean(study.gap)) if study.gap is not None else np.nan


def fold_ends(study: Validation) -> tuple[float, float]:
    """The lowest and the highest value of the subject over the folds."""
    values = study.fold_values(study.subject)
    return float(np.nanmin(values)), float(np.nanmax(values))


# The map of the folds


def fold_map_axis(study: Validation) -> str:
    """What the folds are laid along: time, group or row."""
    return "time" if study.examples.time is not None else "row" if study.examples.group is None else "group"


def _places(study: Validation) -> np.ndarray:
    """The place of each row along it."""
    e = study.examples
    if e.time is not None:
        return e.time
    if e.group is None:
        return np.arange(len(e), dtype=float)
    first = np.full(len(e), len(study.tests))
    for i, (_, at) in reversed(list(enumerate(study.tests))):
        first[study.rows[at]] = i
    names, code = np.unique(e.group, return_inverse=True)
    tested = np.full(names.size, len(study.tests))
    np.minimum.at(tested, code, first)
    rank = np.empty(names.size)
    rank[np.lexsort((np.arange(names.size), tested))] = np.arange(names.size)
    return rank[code]


def stretches(study: Validation) -> pd.DataFrame:
    """Neighbouring parts of the axis of one kind, fold by fold: fold, kind, start, width."""
    place = _places(study)
    last = place.max() + (0 if study.examples.time is not None else 1)
    bins = min(BINS, np.unique(place).size)
    edges = np.linspace(place.min(), last, bins + 1)
    part = np.clip(np.searchsorted(edges, place, side="right") - 1, 0, bins - 1)
    ordered = study.examples.time is not None or study.examples.group is not None
    exact = place if ordered else part.astype(float)  # rows of a table have no order to keep
    rows = []
    for (name, at), train in zip(study.tests, study.training, strict=True):
        kind = _kinds(part, exact, study.rows[at], train, bins)
        cuts = np.flatnonzero(np.append(True, kind[1:] != kind[:-1]))
        ends = np.append(cuts[1:], bins)
        rows += [(name, kind[a], edges[a], edges[b] - edges[a]) for a, b in zip(cuts, ends, strict=True) if kind[a]]
    return pd.DataFrame(rows, columns=["fold", "kind", "start", "width"])


def _kinds(part: Ints, place: Floats, test: Ints, train: Ints, bins: int) -> np.ndarray:
    """What each bin holds; both only where test and training rows lie between each other, else what it has more of."""
    count, low, high = [], [], []
    for side in (test, train):
        count.append(np.bincount(part[side], minlength=bins))
        low.append(np.full(bins, np.inf))
        high.append(np.full(bins, -np.inf))
        np.minimum.at(low[-1], part[side], place[side])
        np.maximum.at(high[-1], part[side], place[side])
    mixed = (high[1] >= low[0]) & (high[0] >= low[1])  # else the bin is only too wide to part them
    tests, trains = count[0] > 0, count[1] > 0
    more = np.where(count[0] >= count[1], "test", "training")
    return np.where(tests & trains, np.where(mixed, "both", more), np.select([tests, trains], ["test", "training"], ""))


def few_pooled(study: Validation) -> bool:
    """Whether the scores of several folds' models are measured together, on few rows."""
    scored = any(not chosen.decided for chosen in study.settings.metrics)
    return scored and not study.holdout and study.distinct < POOLED_ROWS
