"""Work done side by side in threads: numpy's sorts and Arrow let other threads run meanwhile.

Results come in the order of the work, whichever is done first, so that what is made of them does not depend on the
number of threads.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def ordered(function: Callable[[Item], Made], items: Iterable[Item], threads: int) -> Iterator[Made]:
    """Yield what `function` makes of each item, in the order of the items.

    At most threads + 1 items are taken before the first of their results is: one waits until a thread is free. With one
    thread there is no other than the caller's. An error of an item is raised in its place, after the work that has
    begun; nothing else begins then.

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
                waiting.append(pool.submit(copy_context().run, function, item))  # with numpy's errstate of the caller
                del item  # its result alone is kept: the rows of a shard are large
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
