"""The pieces of a page that cells name: a name that does not exist fails, and the error lists those that do."""

import inspect
import sys
from types import ModuleType
from typing import NoReturn


def names(module: ModuleType) -> list[str]:
    """The pieces that a module of pages offers: its own public functions."""
    functions = inspect.getmembers(module, inspect.isfunction)
    return [name for name, f in functions if f.__module__ == module.__name__ and not name.startswith("_")]


def listed(module_name: str) -> None:
    """Make the module answer an unknown name with the list of its pieces; called by the module itself."""
    module = sys.modules[module_name]

    def refuse(name: str) -> NoReturn:
        text = f"module {module_name!r} has no attribute {name!r}"
        raise AttributeError(text if name.startswith("_") else f"{text}; its pieces are {', '.join(names(module))}")

    setattr(module, "__getattr__", refuse)  # noqa: B010 - set so that type checkers still know every name
