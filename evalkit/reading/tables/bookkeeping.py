"""Names that tell bookkeeping from measured values: columns of trackers and of statistics, rows of totals and means."""

import re
from collections.abc import Sequence
from fnmatch import fnmatch

import numpy as np

from evalkit.arrays import Floats, InputError, Ints

SAMPLE = 10_000  # rows whose values say what a column is
ENOUGH = 8  # values that are not equally spaced by chance

TRACKED = (  # columns that trackers and searches write: their rows are steps or settings, and no units
    *("step", "*_step", "relative_time*", "*_time", "runtime", "*_runtime", "*__min", "*__max", "*_per_second"),
    *("param_*", "params_*", "rank_test_*", "mean_test_*", "std_test_*", "split[0-9]*_test_*", "datetime_*"),
    *(
        "learning_rate",
        "lr",
        "grad_norm",
        "*_ms",
        "*_seconds",
        "*_latency",
        "*_cost",
        "*_rank",
        "temperature",
        "top_[kp]",
    ),
    *("*_std", "*_sd", "*_sem", "*_se", "*_stderr", "*_ci", "*_ci_*", "*_lower", "*_upper"),
    *("users", "visitors", "visits", "sessions", "impressions", "exposures", "participants"),
)
MISSING = (-99.0, -999.0, -9999.0, -99999.0)  # numbers that tools write where there is none
STATISTICS = (*("mean", "std", "sd", "min", "max", "median", "var", "variance"), *("sum", "count", "average", "avg"))
ASIDE = (  # what describes a unit, or is computed from the values of the others
    *(
        "length",
        "*_length",
        "len",
        "*_len",
        "size",
        "tokens",
        "*_tokens",
        "count",
        "*_count",
        "n",
        "num_*",
        "n_tokens",
        "n_words",
        "horizon",
        "version",
        "n_shot",
    ),
    *("zip", "zip_code", "zipcode", "postal_code", "postcode", "plz", "latitude", "longitude", "lat", "lon", "age"),
    *("date", "day", "weekday", "week", "month", "quarter", "hour", "time", "*_at", "batch_size"),
    *("diff", "difference", "delta", "best", "winner", "sum", "total", "avg", "average"),
    *("improvement", "*_improvement", "lift", "*_lift", "*δ*", "group", "cluster", "batch", "segment", "category"),
    *("p", "p_val*", "pval*", "t", "t_stat*", "z", "df", "dof", "se", "stderr", "std_err", "ci_*"),
)
_SUCCESSES = (
    *("conversions", "converted", "orders", "purchases", "clicks", "signups", "sign_ups", "successes", "hits", "wins"),
    *("correct", "passed", "opens"),
)
_TRIALS = (
    *("users", "visitors", "visits", "sessions", "impressions", "views", "participants", "exposures", "trials", "n"),
    *("total", "samples", "requests", "sent", "subjects"),
)
COUNTED = (_SUCCESSES, _TRIALS)  # counts, as tables of totals call them
_WORD = (
    r"totals?|sum|summe|gesamt|insgesamt|somme|mean|average|avg|mittelwert|durchschnitt|moyenne|promedio|median|std|"
    r"stdev|stddev|std ?dev|standard deviation|variance|count|25%|50%|75%"
)
SUMMARY = rf"^((grand|sub|column|row|overall|macro|micro|weighted|samples)[ _-]*)?({_WORD})[.]?( rank)?[ .:]*$"


def _is(name: str, patterns: Sequence[str]) -> bool:
    plain = name.strip().lower()
    return any(fnmatch(form, pattern) for form in (plain, re.sub(r"[ _./-]+", "_", plain)) for pattern in patterns)


def aside(name: str) -> bool:
    """Whether a name says that a column describes the unit or is computed from the others.

    >>> aside("Num_Rel"), aside("zip code"), aside("p"), aside("bm25")
    (True, True, True, False)
    """
    return _is(name, ASIDE)


def tracked(names: Sequence[str]) -> list[str]:
    """The columns of a tracker or a search; none where all names follow one pattern, as old_time and new_time do.

    >>> tracked(["Step", "a", "a__MIN"]), tracked(["old_time", "new_time"])
    (['Step', 'a__MIN'], [])
    """
    several = [pattern for pattern in TRACKED if not all(_is(name, [pattern]) for name in names)]
    return [name for name in names if _is(name, several)]


def statistics(names: Sequence[str], every: Sequence[str]) -> list[str]:
    """The columns that sum up others, if there are several; one may be a constant prediction. every: of numbers.

    >>> statistics(["bm25", "mean"], ["bm25", "mean", "count"]), statistics(["mean", "poisson"], ["mean", "poisson"])
    (['mean'], [])
    """
    several = sum(_is(name, STATISTICS) for name in every) > 1
    return [name for name in names if several and _is(name, STATISTICS)]


def refuse_missing(values: Floats, rows: Ints | None, column: str, where: str) -> None:
    """Raise InputError for numbers such as -999 that stand for missing: several, and far below all others.

    rows: of each value, 1 where it is None.
    """
    low = float(values.min(initial=0.0))
    if low in MISSING:
        at = values == low
        count, others = int(np.count_nonzero(at) if rows is None else rows[at].sum()), values[~at]
        if count > 1 and others.size and others.min() > low / 10:
            raise InputError(
                f"{where}: {column} must hold values alone, got {low:g} in {count:,} rows, far below all others, as it "
                "stands for missing ones; remove these rows"
            )


def counted(values: Floats) -> str:
    """What whole numbers count that are no values: "dates" as 20240131, "a running number"; else nothing.

    >>> counted(np.arange(20240101.0, 20240110.0)), counted(np.arange(0.0, 100.0, 10.0)), counted(np.ones(9))
    ('dates', 'a running number', '')
    """
    numbers = np.sort(values[np.isfinite(values)])
    if len(numbers) < ENOUGH or (numbers != np.rint(numbers)).any():
        return ""
    year, month, day = numbers // 10_000, numbers // 100 % 100, numbers % 100
    if ((year >= 1900) & (year <= 2100) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all():
        return "dates"
    steps = np.diff(numbers)
    return "a running number" if steps[0] and (steps == steps[0]).all() else ""
