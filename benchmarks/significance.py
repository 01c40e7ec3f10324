"""Tests and intervals: CPU of 100,000 sign flips, of max-T and of the paired bootstrap, against
peers in one run.

scipy and ranx draw fewer sign vectors here and are scaled to 100,000. ranx is run by
`.bench/bin/python`, which `make bench` sets up, or by this Python where it is installed; without
either it is left out, and said so.
"""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from results import STATISTICS, Claim, seconds
from scipy import stats

from evalkit.statistics.bootstrap import resampled_sums
from evalkit.statistics.multiplicity import max_t
from evalkit.statistics.signflip import null_mean_ranges
from evalkit.statistics.significance import paired_bootstrap, paired_t, sign_flip

COVERS = STATISTICS
PEERS = Path(__file__).resolve().parent.parent / ".bench" / "bin" / "python"
N, DRAWS, FEWER = 10_000, 100_000, 400
RESAMPLES, METRICS, LOOPED = 10_000, 8, 500
RANX = """
import json, sys, time
import numpy as np
from ranx.statistical_tests.fisher_randomization_test import fisher_randomization_test as test
a, b = np.random.default_rng(0).random((2, int(sys.argv[1])))
test(a, b, 10)
start = time.process_time()
test(a, b, int(sys.argv[2]))
print(json.dumps(time.process_time() - start))
"""


def ranx(draws: int) -> float | None:
    """Seconds of ranx's test, compiled beforehand; None where ranx is not there."""
    python = str(PEERS) if PEERS.exists() else sys.executable
    if not PEERS.exists() and find_spec("ranx") is None:
        return None
    done = subprocess.run([python, "-c", RANX, str(N), str(draws)], capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def flips(d: np.ndarray) -> list[Claim]:
    """Sign flips: p alone against p alone, and p with the interval that inverts it."""
    count = np.ones(d.size)
    alone = seconds(
        lambda: null_mean_ranges(d, count, rng=np.random.default_rng(1), draws=DRAWS).share()
    )
    full = seconds(lambda: sign_flip(d, rng=np.random.default_rng(1), draws=DRAWS))
    print(
        f"sign flips, n = {N:,}, {DRAWS:,} draws: p {1000 * alone:.1f} ms, p and its interval "
        f"{1000 * full:.1f} ms"
    )
    claims = []
    bounds = {"scipy.stats.permutation_test": ">= 21700", "ranx Fisher": ">= 12600"}
    peers = {
        "scipy.stats.permutation_test": seconds(lambda: _permutations(d), runs=1),
        "ranx Fisher": ranx(FEWER),
    }
    for name, one in peers.items():
        if one is None:
            print(f"  {name}: not installed, not compared")
            continue
        scaled = one * DRAWS / FEWER
        ratios = f"{scaled / alone:,.0f}, with our interval {scaled / full:,.0f}"
        title = f"{name} / sign flips, p alone, n = {N:,}"
        claims.append(Claim(title, scaled / alone, bounds[name]))
        print(f"  {name}, p alone: {scaled:.0f} s; ratio {ratios}")
    print(f"  paired t: {1000 * seconds(lambda: paired_t(d)):.2f} ms")
    return claims


def _permutations(d: np.ndarray) -> object:
    how = {
        "permutation_type": "samples",
        "n_resamples": FEWER,
        "vectorized": True,
        "batch": FEWER,
        "rng": 1,
    }
    return stats.permutation_test((d,), np.mean, **how)


def family(rng: np.random.Generator) -> None:
    """Max-T of 10 systems on 4 metrics, all pairs, in one pass over joint draws."""
    values = rng.normal(size=(N, 4, 10)) + rng.normal(size=(N, 4, 1))
    first, second = np.triu_indices(10, 1)
    d = (values[:, :, first] - values[:, :, second]).reshape(N, -1)
    found: list[np.ndarray] = []
    ours = seconds(
        lambda: found.append(max_t(d, rng=np.random.default_rng(1), draws=10_000)), runs=1
    )
    print(
        f"max-T, n = {N:,}, {found[0].size} comparisons, 10,000 joint draws, one pass: {ours:.2f} s"
    )


def bootstrap(rng: np.random.Generator) -> list[Claim]:
    """The paired bootstrap of several metrics at once against a loop over resamples."""
    d = rng.normal(size=(N, METRICS))
    ours = seconds(
        lambda: resampled_sums(d, rng=np.random.default_rng(1), resamples=RESAMPLES), runs=3
    )
    loop = seconds(lambda: _loop(d), runs=2) * RESAMPLES / LOOPED
    print(f"paired bootstrap, n = {N:,}, {METRICS} metrics, {RESAMPLES:,} resamples: {ours:.2f} s")
    print(f"  numpy loop of fancy indexing: {loop:.2f} s; ratio {loop / ours:.1f}")
    bca = seconds(lambda: paired_bootstrap(d[:, 0], rng=np.random.default_rng(1)), runs=2)
    print(f"  BCa interval of one of them: {bca:.2f} s")
    return [
        Claim(f"numpy loop / paired bootstrap of {METRICS} metrics, n = {N:,}", loop / ours, ">= 5")
    ]


def _loop(d: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    for _ in range(LOOPED):
        d[rng.integers(0, N, N)].mean(axis=0)


def main() -> list[Claim]:
    """All three."""
    rng = np.random.default_rng(0)
    claims = flips(rng.normal(0.02, 1, N))
    family(rng)
    return claims + bootstrap(rng)


if __name__ == "__main__":
    main()
