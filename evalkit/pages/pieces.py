"""What makes a function a piece of a page: what it is empty for, whose it is, and what its module
offers.
"""

import inspect
import sys
from collections.abc import Callable
from functools import singledispatch, wraps
from types import ModuleType
from typing import Any, NoReturn, TypeVar

from evalkit.drawing.pieces import Html

Study = TypeVar("Study")  # a study, or a part of one
OtherStudy = TypeVar("OtherStudy")
Piece = TypeVar("Piece")
OtherPiece = TypeVar("OtherPiece")


def names(module: ModuleType) -> list[str]:
    """The pieces that a module of pages offers: those of its PIECES, and its own public
    functions.
    """
    pieces = list(vars(module).get("PIECES", ()))
    for function in vars(module).values():
        is_own = inspect.isfunction(function) and function.__module__ == module.__name__
        if is_own and not function.__name__.startswith("_"):
            pieces.append(function)
    return list(dict.fromkeys(piece.__name__ for piece in pieces))


def offered(module_name: str) -> None:
    """Make the module list its pieces alone, and answer an unknown name with this list; called by
    the module itself.
    """
    module = sys.modules[module_name]

    def refuse(name: str) -> NoReturn:
        message = f"module {module_name!r} has no attribute {name!r}"
        if not name.startswith("_"):
            message = f"{message}; its pieces are {', '.join(names(module))}"
        raise AttributeError(message)

    setattr(module, "__dir__", lambda: names(module))  # noqa: B010
    setattr(module, "__getattr__", refuse)  # noqa: B010 - set so that type checkers still know every name


def also(
    kind: type[OtherStudy], make: Callable[[OtherStudy], OtherPiece]
) -> Callable[[Callable[[Study], Piece]], Callable[[Study | OtherStudy], Piece | OtherPiece]]:
    """A decorator of a piece: studies of this kind get the piece that `make` returns."""

    def decorate(
        piece: Callable[[Study], Piece],
    ) -> Callable[[Study | OtherStudy], Piece | OtherPiece]:
        function: Callable[..., Any] = piece
        dispatched = singledispatch(function)
        dispatched.register(kind, make)
        return dispatched

    return decorate


def nothing(study: object) -> Html:
    """A place of the page that stays empty."""
    return Html("")


def where(
    holds: Callable[[Any], object],
) -> Callable[[Callable[[Study], Piece]], Callable[[Study], Piece | Html]]:
    """A decorator of a piece: it stays empty for a study, or a part of one, for which `holds`
    returns False, None, 0 or something empty.
    """

    def decorate(piece: Callable[[Study], Piece]) -> Callable[[Study], Piece | Html]:
        @wraps(piece)
        def piece_or_nothing(study: Study) -> Piece | Html:
            return piece(study) if holds(study) else Html("")

        return piece_or_nothing

    return decorate


where_it_exists = where(lambda study: study is not None)  # of a part that a study may lack
