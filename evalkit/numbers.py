"""How numbers are written, with the digits that their intervals leave room for; columns in JSON;
ids and links.
"""

from __future__ import annotations

import base64
import math
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from string import Formatter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from evalkit.arrays import Floats

LARGE = 1e15  # from here on a double has no digit behind the point
MOST_DECIMALS = 9  # decimals; of more a number is written with an exponent
DIGITS = 3  # digits of a number without an interval
Show = Callable[..., str]  # (value, decimals) -> text


def decimals(values: Iterable[float], low: Iterable[float] = (), high: Iterable[float] = ()) -> int:
    """The number of decimals for all numbers of a column.

    Two significant digits of the narrowest interval; one or two more if a limit would otherwise
    look like 0. The width of intervals with one limit is twice its distance from the value. Without
    intervals, three digits of the largest number.

    >>> (
    ...     decimals([0.7865], [0.754], [0.8061]),
    ...     decimals([0.786, 0.001]),
    ...     decimals([1_234_567.0], [1.1e6], [1.3e6]),
    ... )
    (3, 3, 0)
    >>> decimals([0.02], [0.0004], [0.045])  # not 0.000
    4
    >>> decimals([12.345], [12.211], [math.inf])
    2
    """
    estimates = np.asarray(list(values), float)
    lows = np.asarray(list(low), float)
    highs = np.asarray(list(high), float)
    numbers = np.concatenate([estimates, lows, highs])
    largest = np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0)
    widths = _widths_above_rounding(highs - lows, largest)
    if not widths.size and estimates.size == lows.size:  # all intervals may have one limit only
        only_limit = np.where(np.isinf(highs), lows, highs)
        widths = _widths_above_rounding(2 * np.abs(estimates - only_limit), largest)
    if not widths.size:
        return _decimals_of_largest(largest)
    # the narrowest interval gets two digits of its width
    places = max(0, 1 - math.floor(math.log10(widths.min())))
    limits = np.abs(np.concatenate([lows, highs]))
    nearest_to_0 = limits[np.isfinite(limits) & (limits != 0)].min(initial=np.inf)
    for _ in range(2):  # one or two more, if this limit would be printed as 0
        looks_like_0 = nearest_to_0 < 0.5 * 10.0**-places
        if looks_like_0:
            places += 1
    return places


def _widths_above_rounding(widths: Floats, largest: float) -> Floats:
    """The finite widths of intervals that are not 0 up to rounding error, which grows with the
    largest number.
    """
    kept: Floats = widths[np.isfinite(widths) & (widths > 1e-12 * largest)]
    return kept


def _decimals_of_largest(largest: float) -> int:
    """The decimals that give the largest number three digits; of one up to 1 at least three."""
    if not largest:
        return 0
    least = DIGITS if largest <= 1 else 0
    return max(least, DIGITS - 1 - math.floor(math.log10(largest)))


def rounded(value: float, places: int) -> float | str:
    """A number with three decimals more than are printed, for a script that subtracts it; "–" for
    NaN.

    >>> rounded(0.123456, 2), rounded(math.nan, 2)
    (0.12346, '–')
    """
    return "–" if math.isnan(value) else round(value, places + 3)


def of_frame(frame: pd.DataFrame, value: str, low: str = "low", high: str = "high") -> int:
    """The number of decimals for a column of a data frame with its limits."""
    return decimals(frame[value], frame[low], frame[high])


def number(value: float | None, places: int | None = None) -> str:
    """A number with this many decimals, else with three digits; with an exponent if it is very
    small or large.

    A dash if it is undefined (None or NaN). A number that rounds to 0 has no minus sign.

    >>> (
    ...     number(0.78649),
    ...     number(-0.0001, 3),
    ...     number(-0.0, 3),
    ...     number(float("nan")),
    ...     number(-2.5e300),
    ...     number(3.2e-11),
    ... )
    ('0.786', '0.000', '0.000', '–', '−2.5e+300', '3.2e-11')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if places is None:
        places = decimals([value])
    sign = "−" if value < 0 else ""
    size = abs(value)
    if size and (size >= LARGE or places > MOST_DECIMALS):
        return f"{sign}{size:.{DIGITS}g}"
    text = f"{size:,.{min(places, MOST_DECIMALS)}f}"
    looks_like_0 = not any(digit in text for digit in "123456789")
    return text if looks_like_0 else f"{sign}{text}"


def exact(value: float) -> str:
    """The shortest text that is this double and no other.

    >>> exact(22298006.0), exact(0.1), exact(1e16)
    ('22298006', '0.1', '1e+16')
    """
    return repr(float(value)).removesuffix(".0")


def printed(value: float, places: int) -> float:
    """The number that `number` writes.

    >>> printed(0.78649, 2), printed(-2.54e-300, 300)
    (0.79, -2.54e-300)
    """
    has_exponent = (
        math.isfinite(value) and value and (abs(value) >= LARGE or places > MOST_DECIMALS)
    )
    if has_exponent:
        return float(f"{value:.{DIGITS}g}")
    return round(float(value), min(places, MOST_DECIMALS))


def thousands(n: float) -> str:
    """A count with its thousands grouped."""
    return f"{n:,}"


def signed_number(value: float, places: int | None = None) -> str:
    """A difference, with its sign.

    >>> signed_number(0.0539), signed_number(-0.02, 3)
    ('+0.0539', '−0.020')
    """
    text = number(value, places)
    looks_like_0 = not any(digit in text for digit in "123456789∞")
    return f"+{text}" if value > 0 and not looks_like_0 else text


def signed_percent(value: float, places: int | None = None) -> str:
    """A relative difference as a percentage with its sign. places: of the difference itself, two
    more than printed.

    >>> signed_percent(0.0312), signed_percent(0.0312, 5), signed_percent(float("nan"))
    ('+3.1%', '+3.120%', '–')
    """
    if not math.isfinite(value):
        return "–"
    percent_places = 1 if places is None else max(0, places - 2)
    return f"{signed_number(100 * value, percent_places)}%"


def interval(low: float, high: float, show: Show = number, places: int | None = None) -> str:
    """[low, high], to two digits of its width; nothing if both are undefined.

    >>> interval(0.7539, 0.8061), interval(-0.0213, 0.0004)
    ('[0.754, 0.806]', '[−0.0213, 0.0004]')
    """
    if math.isnan(low) and math.isnan(high):
        return ""
    if places is None:
        places = decimals([], [low], [high])
    return f"[{show(low, places)}, {show(high, places)}]"


def limits_from_json(low: float | None, high: float | None) -> tuple[float, float]:
    """The limits of an interval as read from a report's JSON, which cannot hold infinity or NaN and
    has null for both: if one limit is null, the interval is one-sided and the limit infinite; if
    both are, they are undefined (NaN).

    >>> limits_from_json(0.2, None), limits_from_json(None, None)
    ((0.2, inf), (nan, nan))
    """
    if low is None and high is None:
        return math.nan, math.nan
    if low is None:
        low = -math.inf
    if high is None:
        high = math.inf
    return low, high


def estimate(
    value: float, low: float, high: float, show: Show = number, places: int | None = None
) -> str:
    """A number and its interval, to two digits of the interval's width.

    >>> estimate(0.78649, 0.7539, 0.8061)
    '0.786 [0.754, 0.806]'
    """
    if places is None:
        places = decimals([value], [low], [high])
    return f"{show(value, places)} {interval(low, high, show, places)}".strip()


def points(columns: Mapping[str, ArrayLike], max_rows: int = 10) -> str:
    """An HTML table of columns of numbers, for the display of a curve in a notebook: all rows, or,
    of more than `max_rows`, so many at even distances with the first and the last. Integers have no
    decimals, other numbers three digits.

    columns: by their heads, arrays with an entry per row.

    >>> points({"x": [0.0, 1.0], "y": [1, 2]})[-49:]
    '<tr><td>1.000</td><td>2</td></tr></tbody></table>'
    """
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    size = min(map(len, arrays.values()))
    last = max(size - 1, 0)
    evenly = np.linspace(0, last, min(size, max_rows))
    rows = np.unique(evenly.round().astype(int))
    heads = ""
    cells_by_row = [""] * len(rows)
    for name, values in arrays.items():
        heads += f"<th>{name}</th>"
        places = 0 if np.issubdtype(values.dtype, np.integer) else None  # None: three digits
        for i, row in enumerate(rows):
            cells_by_row[i] += f"<td>{number(values[row], places)}</td>"
    body = "".join(f"<tr>{cells}</tr>" for cells in cells_by_row)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def p_value(p: float) -> str:
    """A p-value: two significant digits from 0.001 up, else the bound.

    >>> p_value(0.1234), p_value(0.0004), p_value(1.0)
    ('0.12', '<0.001', '1')
    >>> p_value(0.2), p_value(0.0505)
    ('0.20', '0.051')
    """
    if math.isnan(p):
        return "–"
    if p < 0.001:
        return "<0.001"
    return f"{p:#.2g}" if p < 0.995 else "1"


def percent(level: float) -> str:
    """A level as a percentage with the digits that it has.

    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * level:.6g}%"


def share(value: float) -> str:
    """A share as a percentage, with more digits if it would otherwise look like none or all.

    >>> share(0.246), share(299 / 300), share(0.0)
    ('25%', '99.7%', '0%')
    """
    distance = min(value, 1 - value)  # from none or all, whichever is nearer
    places = 0
    if distance > 0:
        places = max(0, -2 - math.floor(math.log10(distance)))
    return f"{value:.{places}%}"


class _Typeset(Formatter):
    """The format of sentences, whose negative numbers have a minus sign."""

    def format_field(self, value: object, format_spec: str) -> str:
        text = str(super().format_field(value, format_spec))
        return text.replace("-", "−", 1) if isinstance(value, Real) and value < 0 else text


def fill_sentence(sentence: str, facts: Mapping[str, object]) -> str:
    """A sentence with these facts in its braces.

    >>> fill_sentence("from {low:g} to {high:g}", {"low": -8.79, "high": 14.5})
    'from −8.79 to 14.5'
    """
    return _Typeset().vformat(sentence, (), facts)


# Counts and names in sentences --------------------------------------------------------------------

NAMED = 12  # more names than a line holds
LONG = 60  # more characters than a name has in a sentence
EXACT = 1e15  # sums of weights above it are not known to one
HISSING = ("s", "x", "z", "ch", "sh")


def plural(word: str, n: float) -> str:
    """The plural of a noun, or the singular if n is 1. Nouns are names of columns too, which may be
    plurals.

    >>> plural("query", 2), plural("user", 1), plural("day", 3), plural("class", 2)
    ('queries', 'user', 'days', 'classes')
    >>> plural("params", 3), plural("status", 2)
    ('params', 'statuses')
    """
    if n == 1 or (word.endswith("s") and not word.endswith(("ss", "us", "is"))):
        return word
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(HISSING) else f"{word}s"


def listed(texts: Iterable[str], max_texts: int = NAMED, joint: str = ", ") -> str:
    """Some texts in one line; if there are more than `max_texts`, the first ones and the number of
    the others.

    >>> listed(["a", "b"]), listed("abcdef", 3)
    ('a, b', 'a, b, c and 3 more')
    """
    all_texts = list(texts)
    line = joint.join(all_texts[:max_texts])
    if len(all_texts) > max_texts:
        line += f" and {len(all_texts) - max_texts:,} more"
    return line


def enumerated(texts: Iterable[str], last: str = "and") -> str:
    """Some texts as part of a sentence, as many as fit into a line.

    >>> enumerated("a"), enumerated("ab"), enumerated("abc", "or")
    ('a', 'a and b', 'a, b or c')
    """
    all_texts = list(texts)
    if not 1 < len(all_texts) <= NAMED:
        return listed(all_texts)
    return f"{', '.join(all_texts[:-1])} {last} {all_texts[-1]}"


def shortened_name(name: str) -> str:
    """A name for a sentence; of a long one only its beginning and its end.

    >>> shortened_name("bm25"), shortened_name("a" * 50 + "b" * 50)
    ('bm25', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbbb')
    """
    return name if len(name) <= LONG else f"{name[:40]}…{name[-19:]}"


def cut(text: str, max_letters: int = 80) -> str:
    """The text, or its beginning of so many letters and an ellipsis.

    >>> cut("interval", 5), cut("p", 5)
    ('inter…', 'p')
    """
    return text if len(text) <= max_letters else f"{text[:max_letters]}…"


def unit_noun(column: str, role: str) -> str:
    """The noun for a unit: its column without _id; for a column known by its position, the noun of
    its role.

    >>> (
    ...     unit_noun("user_id", "user"),
    ...     unit_noun("qid", "query"),
    ...     unit_noun("2", "user"),
    ...     unit_noun("field 1", "query"),
    ... )
    ('user', 'query', 'user', 'query')
    """
    if column.removeprefix("field ").isdecimal():
        return role
    return "query" if column == "qid" else column.removesuffix("_id")


def count_with_noun(n: float, word: str) -> str:
    """A number of things, or a weight of them.

    >>> count_with_noun(1, "query"), count_with_noun(1200, "row"), count_with_noun(2.5, "positive")
    ('1 query', '1,200 rows', '2.5 positives')
    """
    if abs(n) >= EXACT:
        return f"{n:.3g} {plural(word, n)}"
    return f"{n:,.0f} {plural(word, n)}" if float(n).is_integer() else f"{n:,.1f} {plural(word, n)}"


def sample_sizes(sizes: Iterable[int], word: str) -> str:
    """The n of several results: one number if it is the same, else the smallest and the largest.

    >>> sample_sizes([4, 4], "trial"), sample_sizes([2, 10, 4], "trial")
    ('n = 4 trials', 'n = 2 to 10 trials')
    """
    ascending = sorted(sizes)
    smallest = ascending[0]
    largest = ascending[-1]
    if smallest == largest:
        return f"n = {count_with_noun(largest, word)}"
    return f"n = {smallest:,} to {count_with_noun(largest, word)}"


LISTED_UP_TO = 1_000  # numbers up to which each is written as text, which takes about 20 bytes


def column(values: np.ndarray) -> Any:
    """A list, null if undefined; by `pack_numbers` if it has more than `LISTED_UP_TO` numbers."""
    if values.size > LISTED_UP_TO and values.dtype.kind in "biuf":
        return pack_numbers(values)
    return values.tolist()


def pack_numbers(values: np.ndarray) -> dict[str, str]:
    """Numbers as their bytes in memory, little-endian, compressed by zlib, in base64; finite
    numbers keep every bit.

    type: numpy's name of their type, the shortest that holds them if they are whole numbers. NaN if
    undefined or infinite, for which a list has null.

    >>> column = pack_numbers(np.array([1, 2, 200]))
    >>> (
    ...     column["type"],
    ...     np.frombuffer(
    ...         zlib.decompress(base64.b64decode(column["zlib"])), column["type"]
    ...     ).tolist(),
    ... )
    ('|u1', [1, 2, 200])
    """
    if values.dtype.kind == "f":
        values = np.where(np.isfinite(values), values, np.nan).astype("<f8")
    else:
        low = int(values.min())
        high = int(values.max())
        # an integer type with a sign reaches one farther below 0 than above it
        farthest = high if low >= 0 else min(low, -1 - high)
        kind = np.min_scalar_type(farthest)
        values = values.astype(kind.newbyteorder("<"))
    return {
        "type": values.dtype.str,
        "zlib": base64.b64encode(zlib.compress(values.tobytes())).decode(),
    }


def unpacked(column: object) -> Any:
    """A column of a report's JSON, as `column` writes it, as a list. A column is stored as a list;
    or packed, as the compressed bytes of its numbers; or as its distinct words and, of each row,
    the index of its word. A value that all rows share is stored once and returned as it is.

    >>> (
    ...     unpacked({"words": ["a", "b"], "at": column(np.arange(1_500) % 2)})[-2:],
    ...     unpacked([0.5, None]),
    ... )
    (['a', 'b'], [0.5, None])
    """
    if not isinstance(column, dict):
        return column
    if "words" in column:
        index_of_word = unpacked(column["at"])
        return np.take(column["words"], index_of_word).tolist()
    content = zlib.decompress(base64.b64decode(column["zlib"]))
    return np.frombuffer(content, column["type"]).tolist()


# ids on the page: of the thresholds that move, and of the fold that lists single rows or queries
SLIDER = "_slider"
LISTED = "_listed"

END = " "  # of a slice where it is listed and in its link: 'x 1' is not 'x 10'


def anchor(name: str) -> str:
    """A name as an id on the page.

    >>> anchor("Paired differences"), anchor("ndcg@10")
    ('paired-differences', 'ndcg-10')
    """
    return re.sub(r"\W+", "-", name.lower().replace("^", " hat")).strip("-")


def definition_anchor(name: str) -> str:
    """The id of a name's definition."""
    return f"def-{anchor(name)}"


def whole_units(units: float) -> int:
    """The number of units rounded up, but not because of rounding error.

    >>> whole_units(20.3), whole_units(20.0000000001)
    (21, 20)
    """
    return math.ceil(round(units, 6))
