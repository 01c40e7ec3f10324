"""The parameters of a notebook written out: as lines, as the command line's help, as a JSON schema, as a table."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from evalkit.parameters.cells import Parameter
from evalkit.parameters.fields import Parameters, Schema, option_of

SHORT = 40  # characters of a default that the column of defaults makes room for


@dataclass(frozen=True)
class Row:
    """One parameter: its name, default, line of help, what a value is in words (else "") and its JSON schema."""

    name: str
    default: Any
    help: str
    words: str
    schema: Schema


@dataclass(frozen=True)
class Listing:
    """The parameters of a notebook, in order."""

    title: str
    rows: tuple[Row, ...]

    def lines(self) -> str:
        """One line for each parameter: name = default, and the help."""
        width = max((len(_assigned(row)) for row in self.rows if len(repr(row.default)) < SHORT), default=0)
        return "\n".join(f"{_assigned(row):<{width}}  {row.help}".rstrip() for row in self.rows)

    def help(self) -> str:
        """Two lines for each parameter: name, default and what a value is, then the help."""
        return "\n".join(f"  {_assigned(row)}{_stated(row)}\n      {row.help}".rstrip() for row in self.rows)

    def schema(self) -> str:
        """The JSON schema of an object that holds the parameters."""
        properties = {row.name: _property(row) for row in self.rows}
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": self.title, "type": "object"}
        whole = head | {"properties": properties, "additionalProperties": False}
        return json.dumps(whole, indent=2, ensure_ascii=False)

    def markdown(self) -> str:
        """A table in Markdown."""
        head = "| parameter | what a value is | default | meaning |\n|---|---|---|---|\n"
        cells = ((f"`{row.name}`", row.words, _default(row), row.help) for row in self.rows)
        return head + "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |\n" for row in cells)


def of_report(name: str, report: type[Parameters]) -> Listing:
    """Return the parameters of a report."""
    options = [(entry, option_of(entry)) for entry in report.options().values()]
    return Listing(
        name, tuple(Row(entry.name, entry.default, o.help, o.kind.words, o.kind.schema) for entry, o in options)
    )


def of_cell(name: str, parameters: Iterable[Parameter]) -> Listing:
    """Return the parameters that a parameters cell declares."""
    return Listing(name, tuple(Row(p.name, p.default, p.comment, "", _schema(p)) for p in parameters))


def _assigned(row: Row) -> str:
    return f"{row.name} = {row.default!r}"


def _stated(row: Row) -> str:
    return f"  ({row.words})" if row.words else ""


def _default(row: Row) -> str:
    return "" if row.default is None else f"`{row.default}`"


def _property(row: Row) -> Schema:
    """The schema of a parameter; where the default is None, None is a value too."""
    about = {"description": row.help, "default": row.default}
    if row.default is None and row.schema:
        return {"anyOf": [row.schema, {"type": "null"}], **about}
    return {**row.schema, **about}


def _schema(parameter: Parameter) -> Schema:
    return {"type": "string"} if parameter.is_text else {}
