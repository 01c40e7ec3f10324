"""Work on several threads, with its results in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def ordered(
    function: Callable[[Item], Made], items: Iterable[Item], threads: int
) -> Iterator[Made]:
    """Yield the result of `function` for each item, in the order of the items.

    At most threads + 1 items are taken before the first of their results is used. With one thread,
    the caller's is used. An error is raised in place of its item, after the work that has begun;
    nothing else is started then.

    >>> list(ordered(abs, [-3, 2, -1], 2))
    [3, 2, 1]
    """
    if threads == 1:
        yield from map(function, items)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Made]] = deque()
        try:
            for item in items:
                # with numpy's errstate of the caller
                waiting.append(pool.submit(copy_context().run, function, item))
                del item  # its result alone is kept: the rows of a shard are large
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
