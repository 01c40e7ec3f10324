"""What a page and its JSON both need of a study, computed once."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

S = TypeVar("S")
R = TypeVar("R")


def once(of: Callable[[S], R]) -> Callable[[S], R]:
    """A function of a study whose result is kept with the study, as a `cached_property` is.

    >>> class Study: ...
    >>> calls = []
    >>> count = once(lambda study: calls.append(study))
    >>> study = Study()
    >>> count(study), count(study), len(calls)
    (None, None, 1)
    """
    name = f"{of.__module__}.{of.__qualname__}"

    @wraps(of)
    def kept(study: S) -> R:
        results = vars(study)
        if name not in results:
            results[name] = of(study)
        return results[name]  # type: ignore[no-any-return]

    return kept
