"""Words that every page needs."""

from collections.abc import Iterable

NAMED = 12  # more names than a line holds
LONG = 60  # more characters than a name has in a sentence
EXACT = 1e15  # sums of weights above it are not known to one
HISSING = ("s", "x", "z", "ch", "sh")


def plural(word: str, n: float) -> str:
    """The noun for n of them.

    >>> plural("query", 2), plural("user", 1), plural("day", 3), plural("class", 2)
    ('queries', 'user', 'days', 'classes')
    """
    if n == 1:
        return word
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(HISSING) else f"{word}s"


def listed(texts: Iterable[str], most: int = NAMED, joint: str = ", ") -> str:
    """Some texts in one line; of more than `most` the first ones, and how many more there are.

    >>> listed(["a", "b"]), listed("abcdef", 3)
    ('a, b', 'a, b, c and 3 more')
    """
    several = list(texts)
    more = f" and {len(several) - most:,} more" if len(several) > most else ""
    return joint.join(several[:most]) + more


def enumerated(texts: Iterable[str], last: str = "and") -> str:
    """Some texts in a sentence, all of them up to as many as a line holds.

    >>> enumerated("a"), enumerated("ab"), enumerated("abc", "or")
    ('a', 'a and b', 'a, b or c')
    """
    several = list(texts)
    if not 1 < len(several) <= NAMED:
        return listed(several)
    return f"{', '.join(several[:-1])} {last} {several[-1]}"


def shortened(name: str) -> str:
    """A name in a sentence: of a long one its beginning and its end.

    >>> shortened("bm25"), shortened("a" * 50 + "b" * 50)
    ('bm25', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbbb')
    """
    return name if len(name) <= LONG else f"{name[:40]}…{name[-19:]}"


def unit_noun(column: str, role: str) -> str:
    """What a unit is called: its column without _id; a column known by its place alone is called what its role is.

    >>> unit_noun("user_id", "user"), unit_noun("qid", "query"), unit_noun("2", "user"), unit_noun("field 1", "query")
    ('user', 'query', 'user', 'query')
    """
    if column.removeprefix("field ").isdecimal():
        return role
    return "query" if column == "qid" else column.removesuffix("_id")


def counted(n: float, word: str) -> str:
    """A number of things, or a weight of them.

    >>> counted(1, "query"), counted(1200, "row"), counted(2.5, "positive")
    ('1 query', '1,200 rows', '2.5 positives')
    """
    if abs(n) >= EXACT:
        return f"{n:.3g} {plural(word, n)}"
    return f"{n:,.0f} {plural(word, n)}" if float(n).is_integer() else f"{n:,.1f} {plural(word, n)}"


def sample_sizes(several: Iterable[int], word: str) -> str:
    """The n of several results: one number if they share it, else the least and the greatest.

    >>> sample_sizes([4, 4], "trial"), sample_sizes([2, 10, 4], "trial")
    ('n = 4 trials', 'n = 2 to 10 trials')
    """
    least, *_, most = sorted([*several] * 2)
    return f"n = {counted(most, word)}" if least == most else f"n = {least:,} to {counted(most, word)}"
