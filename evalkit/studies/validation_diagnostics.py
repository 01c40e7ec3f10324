"""What the findings of a validation report are measured by, and the numbers that its tables set beside each other."""

from typing import Any

import numpy as np

from evalkit.offline.optimism import Bootstrap
from evalkit.reading.tables import precision
from evalkit.statistics.intervals import Estimate
from evalkit.studies.resplits import ONE_OUT
from evalkit.studies.validity import Validation

BINS = 120  # of the map of the folds


def cuts(study: Validation, threshold: float) -> dict[str, float]:
    """The threshold of each system in the precision of its scores."""
    return {name: precision.rounded(threshold, study.facts.precision[name]) for name in study.facts.ends}


def untested(study: Validation) -> int:
    """The rows that no fold tests."""
    return len(study.facts) - study.split.tested


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
    statistic: Any = s.measure(s.primary, s.baseline)
    kind = s.primary.metric.kind
    shares = kind.of_rows and kind.decided and s.primary.metric.best == "high"
    return shares and statistic.hits()[1] == s.split.tested


def accuracies(b: Bootstrap) -> dict[str, float]:
    """The accuracy of each estimate of the bootstrap, by the name of its error."""
    return {name: 1 - error for name, error in vars(b).items()}


def promised(honest: Estimate, blind: Estimate) -> float:
    """What a split that ignores the group or the time promises beyond what holds."""
    return blind.value - honest.value


# The folds


def folds_of_a_repeat(study: Validation) -> float:
    """The folds of each draw."""
    return len(study.split.names) / study.facts.repeats


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
