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


def offer_pieces(module_name: str) -> None:
    """Help readers who look for a piece in a module of pages: `dir(module)` gives its pieces
    without all that it imports, and the error for an unknown name lists them. The module calls this
    with its own name.
    """
    module = sys.modules[module_name]

    def refuse(name: str) -> NoReturn:
        """Raise AttributeError; Python calls this for a name that the module does not have."""
        message = f"module {module_name!r} has no attribute {name!r}"
        if not name.startswith("_"):
            message = f"{message}; its pieces are {', '.join(names(module))}"
        raise AttributeError(message)

    setattr(module, "__dir__", lambda: names(module))  # noqa: B010
    setattr(module, "__getattr__", refuse)  # noqa: B010 - set so that type checkers still know every name


def also(
    kind: type[OtherStudy], make: Callable[[OtherStudy], OtherPiece]
) -> Callable[[Callable[[Study], Piece]], Callable[[Study | OtherStudy], Piece | OtherPiece]]:
    """A decorator of a function that makes a piece of the page from a study: for a study of class
    `kind` it calls `make` instead, so that one name serves several kinds of studies.
    """

    def decorate(
        piece: Callable[[Study], Piece],
    ) -> Callable[[Study | OtherStudy], Piece | OtherPiece]:
        """The function that calls `make` or `piece` by the class of its argument."""
        function: Callable[..., Any] = piece  # `singledispatch` has too narrow a type for it
        dispatched = singledispatch(function)
        dispatched.register(kind, make)
        return dispatched

    return decorate


def empty_piece(study: object) -> Html:
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
