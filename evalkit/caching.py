"""Results of functions that are cached with the object that they are about."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def cached(function: Function) -> Function:
    """A function of an object and further arguments whose results are cached with the object, as
    `cached_property` does.

    >>> class Study: ...
    >>> calls = []
    >>> count = cached(lambda study, by: calls.append(by))
    >>> study = Study()
    >>> count(study, 1), count(study, 1), count(study, 2), calls
    (None, None, None, [1, 2])
    """
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def with_cache(self: Any, *args: Any) -> Any:
        results = vars(self).setdefault(name, {})
        if args not in results:
            results[args] = function(self, *args)
        return results[args]

    return with_cache  # type: ignore[return-value]  # of the same signature
