"""Arguments of `read` that only Python has: labels and predictions in memory instead of a table."""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field
from typing import Any

from evalkit.arrays import ParameterError


@dataclass(frozen=True)
class InPython:
    """An argument of one value per row: the column that it is in a table, one line of help, whether systems differ."""

    column: str
    help: str
    own: bool


def array(column: str, text: str) -> Any:
    """Return a field for a column that all systems share."""
    return field(default=None, metadata={InPython: InPython(column, text, own=False)})


def array_of_each(column: str, text: str) -> Any:
    """Return a field for a column that each system has: an array, or a dict of arrays by system."""
    return field(default=None, metadata={InPython: InPython(column, text, own=True)})


def argument_of(entry: Field[Any]) -> InPython:
    """The column and the help of a field."""
    return entry.metadata[InPython]  # type: ignore[no-any-return,call-overload]


@dataclass(frozen=True, eq=False)
class Arrays:
    """Labels and predictions in memory.

    shared: column -> values that all systems share. own: column -> system -> values; a single system has no name.
    positive: the label whose column counts in a matrix of two classes, None for the second.
    """

    shared: Mapping[str, Any]
    own: Mapping[str, Mapping[str | None, Any]]
    positive: str | None = None

    @classmethod
    def of(
        cls,
        arguments: Mapping[str, Field[Any]],
        given: Mapping[str, Any],
        beside: Mapping[str, Any],
        positive: str | None = None,
    ) -> "Arrays":
        """From the arguments that were given. Raises ParameterError where the labels or all predictions lack.

        beside: further columns that all systems share.
        """
        about = {name: argument_of(entry) for name, entry in arguments.items()}
        shared = {about[name].column: values for name, values in given.items() if not about[name].own}
        own = {about[name].column: _by_system(name, values) for name, values in given.items() if about[name].own}
        first = next(iter(about))
        if first not in given or not own:
            others = " or ".join(name for name, argument in about.items() if argument.own)
            raise ParameterError(f"{first} and {others}: both must be given, got {', '.join(given)}")
        return cls(shared | dict(beside), own, positive)


def _by_system(name: str, values: Any) -> Mapping[str | None, Any]:
    return dict(named(name, values).items()) if isinstance(values, Mapping) else {None: values}


def named(where: str, values: Mapping[Any, Any]) -> dict[str, Any]:
    """The values of a dict by its keys as text.

    Raises ParameterError for a key without text, and for two keys of one text.
    """
    texts: dict[str, Any] = {}
    for key, value in values.items():
        if not (name := str(key)).strip() or "\0" in name:
            raise ParameterError(f"{where}: a name of the dict must not be blank, got {key!r}")
        if name in texts:
            raise ParameterError(f"{where}: names of the dict must be distinct as text, got {name!r} twice")
        texts[name] = value
    return texts
