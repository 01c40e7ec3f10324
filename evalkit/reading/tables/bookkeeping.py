"""Names that tell bookkeeping from measured values: columns of trackers and of statistics, rows of totals and means."""

import re
from collections.abc import Sequence
from fnmatch import fnmatch

import numpy as np

from evalkit.arrays import Floats

SAMPLE = 10_000  # rows whose values say what a column is
ENOUGH = 8  # values that are not equally spaced by chance

TRACKED = (  # columns that trackers and searches write: their rows are steps or settings, and no units
    *("step", "*_step", "relative_time*", "*_time", "runtime", "*_runtime", "*__min", "*__max", "*_per_second"),
    *("param_*", "params_*", "rank_test_*", "mean_test_*", "std_test_*", "split[0-9]*_test_*", "datetime_*"),
    *("learning_rate", "lr", "grad_norm"),
)
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
SUMMARY = rf"^((grand|sub|column|row|overall|macro|micro|weighted|samples)[ _-]*)?({_WORD})[ .:]*$"


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
