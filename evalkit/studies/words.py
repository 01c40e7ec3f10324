"""Words that every page needs."""


def plural(word: str, n: int) -> str:
    """The noun for n of them.

    >>> plural("query", 2), plural("user", 1)
    ('queries', 'user')
    """
    if n == 1:
        return word
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
