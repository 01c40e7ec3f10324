"""`evalkit inspect FILE…`: what is in an input, and what each report would make of it; no kernel is started."""

from collections.abc import Mapping
from typing import Any

from evalkit.commands import requests
from evalkit.commands.requests import Refused
from evalkit.commands.runs import DONE, REFUSED


def main(options: Any) -> int:
    """Print what is in the files, and what each report makes of them; 2 where the report that was named refuses."""
    from evalkit.arrays import InputError
    from evalkit.parameters import REPORTS

    with requests.one_line():
        print(_table(options.files))
    names = [options.report] if options.report else list(REPORTS)
    if unknown := [name for name in names if name not in REPORTS]:
        raise Refused(f"--report must be one of {', '.join(REPORTS)}, got {unknown[0]!r}")
    refused = 0
    for name in names:
        try:
            print(f"{name}: {_fits(name, options)}")
        except InputError as error:
            refused += 1
            print(f"{name}: refused: {error}")
    return REFUSED if refused == len(names) else DONE


def _table(files: list[str]) -> str:
    """The parts of the input: rows and columns, with the types that a part states."""
    from evalkit.reading.tables import sources
    from evalkit.studies import inspection

    lines, parts = [], sources.parts(list(files))
    for part in parts:
        about = "" if part.counted is not None else "about "
        columns = (
            f"{name} ({part.stored[name].removeprefix('large_')})" if name in part.stored else name
            for name in part.columns
        )
        lines.append(f"{part.name}: {about}{part.rows:,} rows; columns {', '.join(columns)}")
    if not inspection.small(parts):
        lines.append(f"values: not read, as there are more than {inspection.SMALL:,} rows; the report checks them")
    return "\n".join(lines)


def _fits(name: str, options: Any) -> str:
    """What a report makes of the files, in one line."""
    from evalkit.parameters import REPORTS
    from evalkit.parameters.cells import Parameter
    from evalkit.reading.tables import sources
    from evalkit.studies import inspection

    report = REPORTS[name]
    known = {entry.name: Parameter(entry.name, entry.default, is_text=True) for entry in report.options().values()}
    values = requests.parameters(options.parameters, requests.settings(options.file), known)
    columns = sources.parts(list(options.files))[0].columns
    given = {inspection.parameter_of(report.of(values), columns): list(options.files), **values}
    of = inspection.inspect(report.of(given))
    others = of.others(columns) if of.columns else []
    parts = [f"{of.what}, {of.size or 'values not read'}"]
    parts += [f"columns {_pairs(of.columns)}"] if of.columns else []
    parts += [f"systems {', '.join(of.systems)}"] if of.systems else []
    parts += [f"for unit and segments {', '.join(others)}"] if others else []
    return "; ".join(parts)


def _pairs(columns: Mapping[str, str]) -> str:
    return ", ".join(role if role == column else f"{role} = {column}" for role, column in columns.items())
