"""How wide the intervals are beside others that hold: AUC, average precision, F1 and means.

`python benchmarks/trust/widths.py [samples]`: for each world the coverage and the mean width of
evalkit's interval and of each competitor. A competitor holds if it covers 94% or more; the best is
the narrowest of these.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from of_rows import binary, lognormal, normal
from scipy.special import expit, logit, ndtri
from scipy.stats import t as student

from evalkit.catalogue import lookup
from evalkit.metrics.rows import Rows
from evalkit.statistics import inference, intervals, spread
from evalkit.statistics.closed_forms import auc_interval
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import RowStatistic

SAMPLES, SEED, LARGE = 10_000, 20261124, 400_000
LEAST = 0.94
Z = float(ndtri(0.975))
Limits = tuple[float, float]
Competitors = Mapping[str, Callable[[float, float, int], Limits]]


def wald(value: float, error: float, n: int) -> Limits:
    """value ± 1.96 error."""
    return value - Z * error, value + Z * error


def by_t(value: float, error: float, n: int) -> Limits:
    """value ± t error on n − 1 degrees of freedom."""
    half = float(student.ppf(0.975, n - 1)) * error
    return value - half, value + half


def on_logits(value: float, error: float, n: int) -> Limits:
    """value ± 1.96 error on the logit scale."""
    if not 0 < value < 1:
        return value, value
    low, high = expit(logit(value) + np.array([-Z, Z]) * error / (value * (1 - value)))
    return float(low), float(high)


def bootstrap_t(value: float, error: float, drawn: np.ndarray) -> Limits:
    """value − t* error with the quantiles of t of samples drawn from the sample. Efron 1981,
    doi:10.2307/3314608.
    """
    errors = drawn.std(axis=1, ddof=1) / np.sqrt(drawn.shape[1])
    below, above = np.quantile(
        (drawn.mean(axis=1) - value)[errors > 0] / errors[errors > 0], [0.025, 0.975]
    )
    return float(value - above * error), float(value - below * error)


SHARES: Competitors = {"Wald": wald, "logit": on_logits}
MEANS: Competitors = {"Student's t": by_t, "normal": wald}


@dataclass
class Tally:
    """Samples, how many held the truth, and the sum of the widths."""

    samples: int = 0
    held: int = 0
    width: float = 0.0

    def add(self, limits: Limits, truth: float) -> None:
        """Counts one interval."""
        low, high = limits
        if np.isfinite(low + high):
            self.samples += 1
            self.held += low <= truth <= high
            self.width += high - low

    @property
    def coverage(self) -> float:
        """The share of samples that held the truth."""
        return self.held / self.samples

    @property
    def valid(self) -> bool:
        """Whether it covers often enough."""
        return self.coverage >= LEAST

    @property
    def mean_width(self) -> float:
        """The mean width."""
        return self.width / self.samples


Tallies = dict[str, Tally]
OURS = "evalkit"


def of_scores(name: str, base: float, n: int, samples: int) -> Tallies:
    """A metric of two classes, from binary worlds."""
    chosen = lookup.find_metric(name, "counts")
    draw = binary(base)

    def rows(rng: np.random.Generator, size: int) -> Rows:
        table = draw(rng, size)["preds"]
        return Rows(table["y_true"].to_numpy(), table["score_a"].to_numpy())

    truth = chosen.value(rows(np.random.default_rng([SEED, 1]), LARGE))
    tallies = dict[str, Tally]()
    for number in range(samples):
        sample = RowStatistic(chosen, rows(np.random.default_rng([SEED, 2, number]), n))
        e = inference.estimate(sample, Options(0.95, np.random.default_rng(1)))
        tallies.setdefault(OURS, Tally()).add((e.low, e.high), truth)
        for competitor, of in SHARES.items():
            tallies.setdefault(competitor, Tally()).add(
                of(sample.value, sample.spread.error, n), truth
            )
        if name == "roc_auc":
            c = sample.rows.counts
            e = auc_interval(
                sample.value, sample.spread.error, c.positives, c.negatives, level=0.95
            )
            tallies.setdefault("logit DeLong or Newcombe", Tally()).add((e.low, e.high), truth)
    return tallies


def of_means(
    draw: Callable[[np.random.Generator, int], np.ndarray], n: int, samples: int
) -> Tallies:
    """The mean of values that are drawn."""
    truth = float(draw(np.random.default_rng([SEED, 3]), 20 * LARGE).mean())
    tallies = dict[str, Tally]()
    for number in range(samples):
        rng = np.random.default_rng([SEED, 4, number])
        values = draw(rng, n)
        value = float(values.mean())
        error = spread.standard_error(values - values.mean())
        e = intervals.mean(values)
        tallies.setdefault(OURS, Tally()).add((e.low, e.high), truth)
        for competitor, of in MEANS.items():
            tallies.setdefault(competitor, Tally()).add(of(value, error, n), truth)
        drawn = rng.choice(values, (500, n))
        low, high = np.quantile(drawn.mean(axis=1), [0.025, 0.975])
        tallies.setdefault("percentile bootstrap", Tally()).add((float(low), float(high)), truth)
        tallies.setdefault("bootstrap-t", Tally()).add(bootstrap_t(value, error, drawn), truth)
    return tallies


def main() -> int:
    """Prints one line a world; 1 where evalkit's interval is more than 1.05 times as wide as the
    best that holds.
    """
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    scores = [
        (name, base, n) for name in ("roc_auc", "average_precision", "f1") for base, n in BINARY
    ]
    worlds = {
        f"{name}, {base:.0%} of {n}": of_scores(name, base, n, samples) for name, base, n in scores
    }
    for kind, draw in VALUES.items():
        worlds |= {f"mean of {kind} values, {n}": of_means(draw, n, samples) for n in (20, 200)}
    return int(max(_line(world, tallies) for world, tallies in worlds.items()) > 1.05)


BINARY = ((0.3, 200), (0.1, 1000))
VALUES: Mapping[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": normal,
    "exponential": lambda rng, n: rng.exponential(1, n),
    "lognormal": lognormal,
}


def _line(world: str, tallies: Tallies) -> float:
    """Prints a world; how wide evalkit's interval is beside the best valid competitor, 0 where none
    is valid.
    """
    each = "; ".join(
        f"{name} {tally.coverage:.3f} {tally.mean_width:.4g}" for name, tally in tallies.items()
    )
    valid = [tally.mean_width for name, tally in tallies.items() if name != OURS and tally.valid]
    wider = tallies[OURS].mean_width / min(valid) if valid else 0.0
    print(
        f"{world}: {each}; {f'{wider:.3f} times the best' if valid else 'no other holds'}",
        flush=True,
    )
    return wider


if __name__ == "__main__":
    sys.exit(main())
