"""One table of bad inputs over every reader, format and engine: each refusal names the file,
column, row and value.
"""

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bad_inputs.cases import CASES, ROW, Case, fits
from bad_inputs.readers import READERS, Reader
from frozen.needs import SMALL, read_within

from evalkit.arrays import InputError, ParameterError

# JSON and frames come to DuckDB the same way whatever their size
OUT_OF_CORE = (
    "csv",
    "parquet",
    "trec",
)
ALONE = ("csv", "trec")
GOOD = Case("nothing is wrong", "any", ())
LONGEST = 400  # characters of a refusal
ENGINES = ("memory", "large")
OFTEN = 1  # cases of a role that each reader is tried with at least
Way = tuple[str, str, tuple[str, ...]]  # a format, the number of files, and how they are read
# the tables here have 40 rows or more
LARGE = replace(SMALL, reading=replace(SMALL.reading, rows=10, shard=25))
# Read block by block: lists, which have a form of their own, name no row; a count stands for the
# row, or all labels.
LISTS = ("ranked lists", "ranks", "judgements", "queries")
COUNTED = {(role, "binary") for role in ("binary", "unit")} | {("class", "classes")}
COUNTED |= {(role, "forecasts") for role in ("number", "unit")}
# bytes are read for all readers in one place
BYTES = (
    "binary",
    "sessions",
    "ranked lists",
    "judgements",
    "run",
)


# Writing ------------------------------------------------------------------------------------------


def write(table: pd.DataFrame, path: Path) -> None:
    """The table as a file of the kind that its name says."""
    if path.suffix == ".parquet":
        typed(table).to_parquet(path, index=False)
    elif path.suffix == ".jsonl":
        rows = table.astype(object).to_dict("records")
        path.write_text(
            "".join(json.dumps(row, default=np.generic.item) + "\n" for row in rows),
            encoding="utf-8",
        )
    elif path.suffix == ".trec":
        path.write_text(trec(table), encoding="utf-8")
    else:
        table.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


def typed(table: pd.DataFrame) -> pd.DataFrame:
    """The table with one type a column, which is what Parquet can hold: text where any cell is
    text.
    """
    texts = [name for name in table if table[name].map(lambda value: isinstance(value, str)).any()]
    mixed = [name for name in table if table[name].dtype == object and table[name].notna().any()]
    columns = {
        name: table[name].map(lambda value: value if value is None else str(value))
        for name in texts
    }
    return table.assign(
        **columns | {name: pd.to_numeric(table[name]) for name in mixed if name not in texts}
    )


def framed(table: pd.DataFrame) -> pd.DataFrame:
    """The table as a user's frame: numbers are numbers, and a text among them makes objects."""
    whole = {name: table[name].infer_objects() for name in table if table[name].dtype == object}
    return table.assign(**whole)


def trec(table: pd.DataFrame) -> str:
    """Ranked lists, or judgements where there is a grade."""
    rows = table.itertuples(index=False)
    if "grade" in table:
        return "".join(f"{row.query} 0 {row.item} {row.grade}\n" for row in rows)
    return "".join(
        f"{row.query} Q0 {row.item} {i % 4 + 1} {row.score} tag\n" for i, row in enumerate(rows)
    )


# Reading ------------------------------------------------------------------------------------------


def ways(case: Case, reader: Reader) -> Iterator[Way]:
    """Two files everywhere, the second bad; a bad cell of many formats also alone."""
    for kind in reader.formats:
        if kind in case.formats:
            large = reader.large and reader.name not in case.unseen
            by_blocks = large and kind in OUT_OF_CORE and len(case.formats) > 1
            yield kind, "two", ENGINES if by_blocks else ENGINES[:1]
            if case.names_row and kind in ALONE and len(case.formats) > 1:
                yield kind, "one", ENGINES[:1]


def readers_of(case: Case) -> list[Reader]:
    """The readers that a case is tried with."""
    return [
        one for one in READERS if fits(case, one) and (case.damage is None or one.name in BYTES)
    ]


def shared_out() -> Iterator[tuple[Case, Reader, list[Way]]]:
    """Each case in each of its ways by one reader, and of each reader and role some cases, also by
    blocks.

    At night each case is tried in all its ways by all its readers.
    """
    taken = Counter[tuple[str, ...]]()
    for case in CASES:
        readers = readers_of(case)
        of = {reader: list(ways(case, reader)) for reader in readers}
        for way in dict.fromkeys(way for own in of.values() for way in own):
            able = [reader for reader in readers if way in of[reader]]
            one = min(able, key=lambda reader: taken[reader.name, case.role])
            taken.update(
                [(one.name, case.role), (one.name, case.role, way[2]), (case.name, one.name, way)]
            )
        for reader in readers:
            for engines in (ENGINES[:1], ENGINES):
                same = [way for way in of[reader] if way[2] == engines]
                if same and taken[reader.name, case.role, engines] < OFTEN:
                    way = min(same, key=lambda way: taken[reader.name, way])
                    taken.update(
                        [
                            (reader.name, way),
                            (reader.name, case.role, engines),
                            (case.name, reader.name, way),
                        ]
                    )
            if own := [way for way in of[reader] if taken[case.name, reader.name, way]]:
                yield case, reader, own


def data(case: Case, reader: Reader, kind: str, files: str) -> Any:
    """The bad input: its one or two files in the working directory, or frames."""
    tables = [reader.first, reader.second]
    if case.change:
        tables[1] = case.change(reader.second, *reader.columns(case.role))
    if kind == "frame":
        tables = [framed(table) for table in tables]
        if reader.unnamed_systems:
            tables = [
                table.assign(system=name)
                for table, name in zip(tables, ("first", "second"), strict=True)
            ]
        return tables if files == "two" else tables[1]
    paths = [Path(f"first.{kind}"), Path(f"second.{kind}")]
    for table, path in zip(tables, paths, strict=True):
        write(table, path)
    if case.damage:
        paths[1].write_bytes(case.damage(paths[1].read_bytes()))
    return [str(path) for path in paths] if files == "two" else str(paths[1])


def refusal(reader: Reader, source: Any) -> str:
    """The message of the refusal, or what happened in its place, in capitals."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            study = reader.study.read(**{reader.parameter: source}, **reader.others)
            _ = (getattr(study, "log", None) or getattr(study, "users", None) or study).estimates
    except (InputError, ParameterError) as error:
        return str(error)
    except Exception as error:
        return f"NO REFUSAL BUT {type(error).__name__}: {error}"
    return "NOT REFUSED"


def faults(case: Case, reader: Reader, kind: str, message: str) -> list[str]:
    """What is wrong with a refusal."""
    if message.startswith("NO"):
        return [message[:100]]
    name = (
        "data frame"
        if kind == "frame"
        else rf"{'(first|second)' if case.either else 'second'}\.{kind}"
    )
    wanted = {"file": rf"(^|\W){name}"} | {
        f"word {i + 1}": says for i, says in enumerate(case.says)
    }
    if case.names_column:
        wanted |= {f"column {name}": rf"\b{name}\b" for name in reader.columns(case.role)}
    if case.names_row:
        wanted["row"] = (
            rf"\b(row {ROW}|line {ROW + (kind != 'trec')})\b"  # a line of a table counts its header
        )
    missing = [what for what, pattern in wanted.items() if not re.search(pattern, message)]
    return missing + ["length"] * (len(message) > LONGEST) + ["lines"] * ("\n" in message)


# The table ----------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)


def wrong(case: Case, reader: Reader, tried: Iterable[Way]) -> dict[tuple[str, ...], str]:
    """What is wrong with the refusals, by the way in which the input was read."""
    found = {}
    said = {}
    for kind, files, engines in tried:
        for engine in engines:
            with pytest.MonkeyPatch.context() as patch:
                if engine == "large":
                    read_within(LARGE, patch)
                message = refusal(reader, data(case, reader, kind, files))
            if missing := faults(case, reader, kind, message):
                found[kind, engine, files] = f"lacks {', '.join(missing)}: {message}"
            alike = reader.name not in LISTS and (case.role, reader.name) not in COUNTED
            if said.setdefault((kind, files), message) != message and alike:
                found[kind, engine, files] = f"other words: {message}"
    return found


CASES_SHARED_OUT = list(shared_out())


@pytest.mark.parametrize(
    "case, reader, some",
    CASES_SHARED_OUT,
    ids=[f"{case.name} | {reader.name}" for case, reader, _ in CASES_SHARED_OUT],
)
def test_a_bad_input_is_refused_by_file_column_row_and_value(case, reader, some):
    assert wrong(case, reader, some) == {}


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_bad_input_is_refused_in_every_way(reader):
    tried = {
        case.name: wrong(case, reader, ways(case, reader)) for case in CASES if fits(case, reader)
    }
    assert {name: found for name, found in tried.items() if found} == {}


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_the_good_tables_are_read(reader):
    for kind in reader.formats:
        source = data(GOOD, reader, kind, "two")
        assert refusal(reader, source) == "NOT REFUSED"


def combinations_of(case: Case, ways_of_case: Iterable[Way]) -> set[tuple[str, ...]]:
    """Each combination of the name of a case, a format, one or two files, and an engine."""
    return {
        (case.name, kind, files, engine)
        for kind, files, engines in ways_of_case
        for engine in engines
    }


def test_cases_have_names_of_their_own_and_there_are_many():
    assert len({case.name for case in CASES}) == len(CASES)
    assert len(CASES) >= 60


def test_each_case_is_tried_in_each_format_with_each_number_of_files_and_by_each_engine():
    """A case is a kind of bad input, such as a missing column. It is given to a reader, i.e. a kind
    of input of a report, in a format, in one file or two, and by an engine: in memory or block by
    block. To save time the tests try only CASES_SHARED_OUT: each case with some readers, in some of
    these ways. Each combination of case, format, files and engine that is possible with any reader
    must be tried with some reader, and each case at all.
    """
    tried: set[tuple[str, ...]] = set()
    for case, _, ways_of_case in CASES_SHARED_OUT:
        tried |= combinations_of(case, ways_of_case)
    possible: set[tuple[str, ...]] = set()
    for case in CASES:
        for reader in readers_of(case):
            possible |= combinations_of(case, ways(case, reader))
    assert tried == possible
    names_of_cases_tried = {name for name, *_ in tried}
    assert names_of_cases_tried == {case.name for case in CASES}
