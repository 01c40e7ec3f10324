"""The errors of out-of-fold predictions, the same of rows in memory and of tables that an engine holds."""

from evalkit.arrays import InputError, Ints
from evalkit.reading.inputs import unit_columns
from evalkit.reading.tables.parts import Part, at


def rarest(rows: Ints) -> int:
    """The number of the class with the fewest rows, of several the last."""
    return len(rows) - 1 - int(rows[::-1].argmin())


def several_classes(where: str, column: str, name: str, of: int, row: int) -> InputError:
    """The error for a label of more than two classes."""
    return InputError(
        f"{where}: {column} must hold two classes, or numbers that the score forecasts, got {name!r} as one of {of}"
        f"{at(row)}; set task='number' for a forecast"
    )


def again_in_fold(place: str, id: str) -> InputError:
    """The error for an id that stands twice in one fold of one repeat."""
    return InputError(f"{place}: id {id!r} must occur once per repeat and fold, got it again")


def draws(part: Part) -> list[str]:
    """The columns whose names say that they may number draws of the folds."""
    return [name for name in part.columns if unit_columns.key(name) in unit_columns.Use.DRAWN_AGAIN.value]


def unnamed_repeat(part: Part, name: str) -> InputError:
    """The error for rows that seem to be drawn again, as a column says that nothing names."""
    return InputError(
        f"{part.name}: every id has several rows, and {name} may number repeated draws of the folds; set "
        f"columns='repeat={name}', or remove the column if these rows are copies"
    )


def one_value(value: float) -> InputError:
    """The error for a number that does not vary."""
    return InputError(f"label must have 2 or more values, got only {value:g}")


def one_class(name: str) -> InputError:
    """The error for a label of one class alone."""
    return InputError(f"label must have 2 or more classes, got only {name!r}")
