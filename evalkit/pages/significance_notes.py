"""What to know before believing the numbers: size, clusters, ties, skew, tests that disagree, looks; each measured."""

import numpy as np

from evalkit.arrays import Floats
from evalkit.drawing.tables import FEW, interval, number, p_value, signed
from evalkit.metrics.rankings import Pooled
from evalkit.pages.ranking_page import given_ranks, unshared
from evalkit.statistics import intervals, perunit, proportions, sequential
from evalkit.statistics.flip_tail import TAIL
from evalkit.statistics.intervals import standard_error
from evalkit.studies import significance_extras as extras
from evalkit.studies.significance import FOLDS, Significance
from evalkit.studies.trials import Shares
from evalkit.studies.words import counted, plural

TIED = 0.5  # share of equal units from which few of them decide
COCHRAN = 25  # n should be above 25 skewness² for a normal mean (Cochran 1977, section 2.15)
WIDER = 1.2  # a standard error this much larger by cluster changes answers
CLOSE = 1e-9  # of the values: further apart, two means are not of the same numbers
RANKED = {"wilcoxon": "Wilcoxon", "sign": "the sign test"}
Note = tuple[str, bool]


def notes(s: Significance | Shares) -> list[Note]:
    """(text, whether it could change the answer)."""
    if isinstance(s, Shares):
        return _shares(s)
    found = [*_data(s), *_undefined(s), *_folds(s)]
    if not len(s.headline):
        return found
    return found + _clusters(s) + _few(s) + _ties(s) + _skew(s) + _tail(s) + _disagree(s) + _metrics(s) + _looked(s)


def _shares(s: Shares) -> list[Note]:
    columns = ", ".join(f"{role} = {name}" for role, name in s.data.columns.items())
    found = [(f"{counted(int(s.data.trials.sum()), 'trial')}. Columns: {columns}.", False)]
    small = [name for name, n in zip(s.data.systems, s.data.trials, strict=True) if n < FEW]
    if small:
        found.append((f"Fewer than {FEW} trials: {', '.join(small)}: only large effects can show.", True))
    if s.beyond_exact and s.alternative == "two-sided":
        exact = "Fisher's test" if s.null is None else "the exact binomial test"
        text = f"Above {proportions.EXACT:,} trials the score test replaces {exact}, from which it differs"
        found.append((f"{text} by less than 0.1 %: {', '.join(s.beyond_exact)}.", False))
    found += _two_methods(s)
    text = "Each trial must be independent of the others: where one user makes several, give per-user values instead"
    return [*found, (f"{text}. The number of trials must have been fixed before, not stopped when convinced.", False)]


def _two_methods(s: Shares) -> list[Note]:
    """Pairs whose test and whose interval, each the better one for itself, answer differently."""
    if not len(s.comparisons):
        return []
    outside = (s.comparisons["low"] > 0) | (s.comparisons["high"] < 0)
    apart = s.comparisons[(s.comparisons["p"] < round(1 - s.settings.level, 12)) != outside].to_dict("records")
    told = [
        f"{r['first']} − {r['second']} (p {p_value(r['p'])}, {interval(r['low'], r['high'], signed)})" for r in apart
    ]
    text = f"Test and interval are of two methods and disagree on {', '.join(told[:3])}: read as borderline."
    return [(text, True)] if told else []


def _data(s: Significance) -> list[Note]:
    columns = ", ".join(f"{role} = {name}" for role, name in s.data.columns.items())
    rows, units = len(s.data.unit), len(np.unique(s.data.unit.astype(str)))
    what = plural(s.unit_name, units)
    many = f"{units:,} {what}" if rows == units else f"{counted(rows, 'row')} of {units:,} {what}, which are the units"
    systems, metrics = len(s.systems), len(s.settings.metrics)
    text = f"{many}, {systems} {plural('system', systems)}, {metrics} {plural('metric', metrics)}"
    found = [(f"{text}.{f' Columns: {columns}.' if columns else ''}", False)]
    found += [(text, True) for text in s.data.remarks]
    if s.alone:
        found.append((f"{counted(s.alone, 'row')} left out: another system lacks their id.", True))
    return found + unshared(s.accounts) + given_ranks(s.accounts) + _known(s)


def _known(s: Significance) -> list[Note]:
    """An earlier report, whose values and whose differences may be means over different things."""
    if not s.data.known:
        return []
    found = [("An earlier report: its differences are tested anew, its systems' values are as it says.", False)]
    mean, values = s.differences().mean(), [s.estimate(s.primary, name).value for name in s.opponents]
    apart = values[0] - values[1]
    if abs(mean - apart) > CLOSE * max(map(abs, values)):
        text = f"The mean of these differences is {number(mean, 4)}, the values differ by {number(apart, 4)}: "
        found.append((f"{text}those are over rows, ratios of sums, or over units that only one of them has.", True))
    return found


def _undefined(s: Significance) -> list[Note]:
    gone = {}
    for chosen in s.settings.metrics:
        for name in s.order:
            if missing := int((~perunit.defined(s.values(chosen, name))).sum()):
                gone[f"{name} {chosen.label}"] = missing
    if not gone:
        return []
    told = ", ".join(f"{name} {n:,}" for name, n in list(gone.items())[:8])
    more = f" and {len(gone) - 8} more" if len(gone) > 8 else ""
    return [(f"Without a value, left out of the mean and of every pair with them: {told}{more}.", True)]


def _folds(s: Significance) -> list[Note]:
    if s.test_to_train:
        return [("Folds share training rows: Nadeau and Bengio's corrected t, no sign flips.", False)]
    if s.unit_name.lower() in FOLDS:
        text = f"Units are called {s.unit_name!r}. Folds that share training rows are no sample: set test_to_train"
        return [(f"{text} (test rows for each training row, 1/9 of ten folds), or test single rows.", True)]
    return []


def _clusters(s: Significance) -> list[Note]:
    """Columns whose values repeat, by which the standard error of the headline would be larger."""
    first, second = s.sides(s.primary, s.opponents)
    if isinstance(first, Pooled) or isinstance(second, Pooled) or s.test_to_train:
        return []
    keep = perunit.both(first, second)
    d, found = (first - second)[keep], []
    now = standard_error(d - d.mean()) if s.unit is None else _error(d, s.unit[keep])
    for name, column in s.data.texts.items():
        values = np.unique(column[keep].astype(str)).size
        if not 1 < values < d.size:
            continue
        wider = _error(d, column[keep].astype(str)) / now if now > 0 else 1.0
        if wider > WIDER:
            text = f"{name} repeats ({values:,} values): with whole {name} as units the standard error of "
            found.append((f"{text}{' − '.join(s.opponents)} is {wider:.1f} times as large; set unit={name!r}.", True))
    return found


def _error(d: Floats, unit: np.ndarray) -> float:
    """The standard error of the mean of d where whole units vary."""
    sums, counts = intervals.by_unit(d, unit)
    return standard_error((sums - d.mean() * counts) * sums.size / counts.sum())


def _few(s: Significance) -> list[Note]:
    n = int(s.comparisons["n"].min())
    if n >= FEW:
        return []
    floor = f" No exact p below {p_value(2.0 ** (1 - n))} is possible." if s.flips else ""
    return [(f"Only {n} {plural(s.unit_name, n)}: intervals and t lean on the shape of their spread.{floor}", True)]


def _ties(s: Significance) -> list[Note]:
    found = extras.effects(s)
    found = found[found["metric"] == s.primary.label]
    total = found["wins"] + found["ties"] + found["losses"]
    many = found[(found["ties"] > TIED * total) & (total > 0)]
    if not len(many):
        return []
    of = [f" of {n:,}" for n in total[many.index]]
    last, each = (of[0], [""] * len(of)) if total.nunique() == 1 else ("", of)
    rows = zip(many.head(3).to_dict("records"), each, strict=False)
    told = [f"{r['first']} and {r['second']} on {r['ties']:,}{end}" for r, end in rows]
    text = f"Equal on {s.primary.label}: {', '.join(told)}{last} {plural(s.unit_name, 2)}"
    more = f" ({len(many)} such pairs)" if len(many) > 3 else ""
    return [(f"{text}{more}. The others decide; equal ones change no sign-flip p.", False)]


def _skew(s: Significance) -> list[Note]:
    worst, skew, n = ("", ""), 0.0, 1
    for pair in s.pairs:
        d = s.differences(pair).to_numpy()
        spread = d - d.mean()
        size = float(np.sqrt(np.mean(spread**2)))
        one = float(np.mean(spread**3) / size**3) if size > 0 else 0.0
        if one**2 / d.size > skew**2 / n:
            worst, skew, n = pair, one, d.size
    if n >= COCHRAN * skew**2:
        return []
    text = f"Skewed differences of {' − '.join(worst)} (skewness {skew:+.1f}): for a mean this wants about "
    return [
        (f"{text}{int(COCHRAN * skew**2):,} {plural(s.unit_name, 2)}, there are {n:,}; 5 % may be 8 % or more.", True)
    ]


def _tail(s: Significance) -> list[Note]:
    """How many p-values importance sampling decides."""
    tail = int(s.comparisons["method"].str.contains(TAIL, regex=False).sum())
    if not tail:
        return []
    text = f"{tail:,} of {len(s.comparisons):,} p-values are too small for plain random draws and were estimated"
    return [(f"{text} by importance sampling, with a relative error of a few percent.", False)]


def _disagree(s: Significance) -> list[Note]:
    tests = extras.other_tests(s)
    if not len(tests):
        return []
    alpha = round(1 - s.settings.level, 12)
    both = s.comparisons.merge(tests, on=["metric", "first", "second"])
    both = both.assign(**{name: s.over_looks(both[name].to_numpy(float)) for name in ("t", *RANKED)})
    known = both.dropna(subset=["p", "t"])
    how = "the one comparison" if len(known) == 1 else f"all {len(known)} comparisons"
    apart = known[(known["p"] < alpha) != (known["t"] < alpha)]
    found: list[Note] = []
    if len(apart):
        rows = apart.head(3).to_dict("records")
        told = [f"{r['first']} − {r['second']} {r['metric']} (p {p_value(r['p'])}, t {p_value(r['t'])})" for r in rows]
        found.append((f"Sign flips and t fall on two sides of {alpha:g}: {'; '.join(told)}. Read as borderline.", True))
    elif len(known):
        found.append((f"Sign flips and t agree on {how} at {alpha:g}, before Holm's correction.", False))
    other = {name: int(((both[key] < alpha) != (both["p"] < alpha)).sum()) for key, name in RANKED.items()}
    told = [f"{name} on {n}" for name, n in other.items() if n]
    if told:
        found.append((f"Tests that are not of a mean would answer otherwise: {', '.join(told)} of {len(both)}.", False))
    return found


def _metrics(s: Significance) -> list[Note]:
    """Other metrics by which another system leads."""
    found = []
    for chosen in s.directed[1:]:
        rows = s.estimates[s.estimates["metric"] == chosen.label].dropna(subset=["value"])
        if not len(rows):
            continue
        best = rows["value"].idxmax() if chosen.metric.best == "high" else rows["value"].idxmin()
        if (name := rows.loc[best, "system"]) != s.order[0]:
            found.append(f"{name} by {chosen.label} ({number(rows.loc[best, 'value'])})")
    if not found:
        return []
    return [(f"{s.order[0]} leads by {s.primary.label}, but {', '.join(found)}: choose the metric first.", True)]


def _looked(s: Significance) -> list[Note]:
    if s.looks == 1:
        return []
    level = s.settings.level
    cost = sequential.false_positive_rate(s.looks, level=level)
    text = (
        f"You looked {s.looks} times: at {1 - level:.2g} each, chance alone finds something in {cost:.1%} of the cases"
    )
    return [(f"{text}. Here every p and interval is corrected; each look counts as at {1 - s.look_level:.2g}.", True)]
