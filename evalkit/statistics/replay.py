"""Random numbers that are drawn once for all generators in one state, such as those of every pair of systems."""

import pickle
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import Any, TypeVar

import numpy as np

Drawn = TypeVar("Drawn")


def replayed(kept: int) -> Callable[[Callable[..., Drawn]], Callable[..., Drawn]]:
    """Cache what a function draws from a random generator, by the generator's state and the sizes that were asked for.

    Where the result is known, the generator is advanced as if it had drawn. kept: number of results.

    >>> times = []
    >>> @replayed(2)
    ... def draw(rng, size):
    ...     times.append(size)
    ...     return rng.random(size).tolist()
    >>> first, second = np.random.default_rng(1), np.random.default_rng(1)
    >>> draw(first, 2) == draw(second, 2), times, first.random() == second.random()
    (True, [2], True)
    """

    def decorate(draw: Callable[..., Drawn]) -> Callable[..., Drawn]:
        @lru_cache(kept)
        def after(kind: type[np.random.BitGenerator], state: bytes, *sizes: int) -> tuple[Drawn, Mapping[str, Any]]:
            bits = kind()
            bits.state = pickle.loads(state)
            return draw(np.random.Generator(bits), *sizes), bits.state

        @wraps(draw)
        def drawn(rng: np.random.Generator, *sizes: int) -> Drawn:
            bits = rng.bit_generator
            numbers, bits.state = after(type(bits), pickle.dumps(bits.state), *sizes)
            return numbers

        return drawn

    return decorate
