"""What makes a function a piece of a page: what it is empty for, whose it is, and what its module
offers.
"""

import inspect
import sys
from collections.abc import Callable
from functools import singledispatch, wraps
from types import ModuleType
from typing import Any, NoReturn, TypeVar

from evalkit.drawing.tables import Html

Part = TypeVar("Part")
Piece = TypeVar("Piece")
Usual = TypeVar("Usual")
Other = TypeVar("Other")
OfOther = TypeVar("OfOther")


def names(module: ModuleType) -> list[str]:
    """The pieces that a module of pages offers: its own public functions."""
    functions = [f for f in vars(module).values() if inspect.isfunction(f)]
    own = [f for f in functions if f.__module__ == module.__name__ and f.__name__[0] != "_"]
    return list(dict.fromkeys(f.__name__ for f in [*vars(module).get("PIECES", ()), *own]))


def offered(module_name: str) -> None:
    """Make the module list its pieces alone, and answer an unknown name with this list; called by
    the module itself.
    """
    module = sys.modules[module_name]

    def refuse(name: str) -> NoReturn:
        text = f"module {module_name!r} has no attribute {name!r}"
        raise AttributeError(
            text if name.startswith("_") else f"{text}; its pieces are {', '.join(names(module))}"
        )

    setattr(module, "__dir__", lambda: names(module))  # noqa: B010
    setattr(module, "__getattr__", refuse)  # noqa: B010 - set so that type checkers still know every name


def also(
    kind: type[Other], piece: Callable[[Other], OfOther]
) -> Callable[[Callable[[Usual], Piece]], Callable[[Usual | Other], Piece | OfOther]]:
    """Let another kind of study have the piece too, made by another function."""

    def of_both(usual: Callable[[Usual], Piece]) -> Callable[[Usual | Other], Piece | OfOther]:
        every: Callable[..., Any] = usual
        dispatched = singledispatch(every)
        dispatched.register(kind, piece)
        return dispatched

    return of_both


def nothing(study: object) -> Html:
    """A place of the page that stays empty."""
    return Html("")


def where(
    holds: Callable[[Any], object],
) -> Callable[[Callable[[Part], Piece]], Callable[[Part], Piece | Html]]:
    """Make a piece empty of a study, or a part of one, of which something does not hold."""

    def of_some(piece: Callable[[Part], Piece]) -> Callable[[Part], Piece | Html]:
        @wraps(piece)
        def of_what_is_there(part: Part) -> Piece | Html:
            return piece(part) if holds(part) else Html("")

        return of_what_is_there

    return of_some


of_a_part = where(lambda part: part is not None)
