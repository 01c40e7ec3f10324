"""Score intervals of two independent proportions: the differences and the ratios that the score test does not reject.

At a difference of 0, and at a ratio of 1, the statistic is that of the pooled score test (Pearson's χ²), so that test
and interval cannot disagree.
"""

import numpy as np

from evalkit.arrays import ratio
from evalkit.statistics.intervals import Estimate, check_proportion, normal_quantile
from evalkit.statistics.spread import bisect

FARTHEST_RATIO = 1e9  # a ratio of proportions beyond which there is no limit


def difference_score(
    successes_a: float, n_a: float, successes_b: float, n_b: float, *, level: float = 0.95
) -> Estimate:
    """The difference a − b of two independent proportions with Mee's score interval.

    Its variance is that at the likeliest proportions that differ by so much, as Miettinen and Nurminen's without their
    factor N / (N − 1). NaN where n_a or n_b is 0. Mee 1984, Biometrics 40:1175; Newcombe 1998 (his method 5),
    doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.

    >>> e = difference_score(56, 70, 48, 80)
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.2, 0.0533, 0.3377)
    """
    check_proportion(successes_a, n_a)
    check_proportion(successes_b, n_b)
    a, b = float(ratio(successes_a, n_a)), float(ratio(successes_b, n_b))
    if not n_a or not n_b:
        return Estimate(a - b, np.nan, np.nan, level, int(n_a + n_b), "score")
    z = normal_quantile(level)

    def score(difference: float) -> float:
        p = _likeliest(a, n_a, b, n_b, difference)
        q = p - difference
        return _standardised(a - b - difference, p * (1 - p) / n_a + q * (1 - q) / n_b)

    low = bisect(lambda d: score(d) > z, -1.0, a - b)[0]
    high = bisect(lambda d: score(d) > -z, a - b, 1.0)[0]
    return Estimate(a - b, low, high, level, int(n_a + n_b), "score")


def ratio_score(successes_a: float, n_a: float, successes_b: float, n_b: float, *, level: float = 0.95) -> Estimate:
    """The ratio a / b of two independent proportions with Koopman's score interval.

    The upper limit is infinite where successes_b is 0, and all is NaN where both are. Koopman 1984,
    doi:10.2307/2531405.

    >>> e = ratio_score(36, 40, 16, 80)
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (4.5, 2.9396, 7.1522)
    """
    check_proportion(successes_a, n_a)
    check_proportion(successes_b, n_b)
    a, b = float(ratio(successes_a, n_a)), float(ratio(successes_b, n_b))
    value = float(ratio(a, b)) if successes_b else np.inf * a if successes_a else np.nan
    if np.isnan(value) or not n_a or not n_b:
        return Estimate(value, np.nan, np.nan, level, int(n_a + n_b), "score")
    z = normal_quantile(level)

    def score(log: float) -> float:
        times = float(np.exp(log))
        whole, lead = n_a + n_b, (n_a + n_b) * times
        middle = n_a * times + successes_a + n_b + successes_b * times
        root = np.sqrt(max(middle**2 - 4 * lead * (successes_a + successes_b), 0.0))
        q = (middle - root) / (2 * lead) if whole else 0.0
        p = min(times * q, 1.0)
        return _standardised(a - times * b, p * (1 - p) / n_a + times**2 * q * (1 - q) / n_b)

    far, at = np.log(FARTHEST_RATIO), float(np.log(value)) if 0 < value < np.inf else 0.0
    low = np.exp(bisect(lambda x: score(x) > z, -far, at if value < np.inf else far)[0]) if successes_a else 0.0
    high = np.exp(bisect(lambda x: score(x) > -z, at if value > 0 else -far, far)[0]) if successes_b else np.inf
    return Estimate(value, float(low), float(high), level, int(n_a + n_b), "score")


def _standardised(distance: float, variance: float) -> float:
    if variance > 0:
        return float(distance / np.sqrt(variance))
    return float(np.sign(distance)) * np.inf if distance else 0.0


def _likeliest(a: float, n_a: float, b: float, n_b: float, difference: float) -> float:
    """The likeliest first proportion where the second is `difference` smaller: a root of a cubic, in closed form.

    Farrington and Manning 1990, doi:10.1002/sim.4780091208, appendix 1.
    """
    t, d = n_b / n_a, difference
    lead, square = 1 + t, -(1 + t + a + t * b + d * (t + 2))
    linear, last = d**2 + d * (2 * a + t + 1) + a + t * b, -a * d * (1 + d)
    shift = square / (3 * lead)
    v = shift**3 - square * linear / (6 * lead**2) + last / (2 * lead)
    u = np.copysign(np.sqrt(max(shift**2 - linear / (3 * lead), 0.0)), v)
    angle = (np.pi + np.arccos(np.clip(v / u**3, -1.0, 1.0) if u else 0.0)) / 3
    return float(np.clip(2 * u * np.cos(angle) - shift, max(0.0, d), min(1.0, 1.0 + d)))
