"""Every report on Spark tables too large to collect: all it publishes is what DuckDB gives of the
same files, block by block or in memory; so is the file of units; and no table is read again for
each question.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import engine_samples as of
import pandas as pd
import pytest
import test_sharded
from frozen import compare
from test_engines_agree import same_rows

from evalkit.limits import Limits, ReadingLimits
from evalkit.reading.engines import backends
from evalkit.studies import units

ROWS, FILES = 4_000, 10
# Without sign flips, whose draws depend on the order of units.
BLOCKS = Limits(flipped=1, reading=ReadingLimits(rows=100, shard=900, row=10**9, units=100))
CLUSTER = Limits(flipped=1, reading=ReadingLimits(rows=100, collected=100, worker=900, units=100))
ROUNDED = 1e-9  # of a difference relative to max(1, |number|): Spark adds up in any order
ELSEWHERE = {
    "inputs",
    "parameters",
    "versions",
    "answer",  # has rounded numbers
    "columns",
}  # of the published: where the numbers come from
LIKENESS = ("unjudged", "likeness")  # of ranked lists: they need the lists themselves


@dataclass(frozen=True)
class Case:
    """A report of a table.

    queries: how often Spark reads the table for the study: to check it, for groups, and for each
    pass over its rows. parameter: the one that takes the table. unlike: parts of the results that
    are not compared.
    """

    report: str
    table: Callable[[], pd.DataFrame]
    queries: int
    given: dict[str, str] = field(default_factory=dict)
    parameter: str = "preds"
    unlike: tuple[str, ...] = ()


UNITS = {"segments": "country", "unit": "user_id"}
CASES = {
    "two classes": Case("classification", lambda: of.binary(ROWS), 6, {"segments": "country,age"}),
    "two classes, long": Case(
        "classification",
        lambda: of.long(of.binary(ROWS // 2)),
        5,
        UNITS | {"columns": "{weight: exact}", "metrics": "roc_auc,average_precision,brier,f1"},
    ),
    "several classes": Case("classification", lambda: of.classes(ROWS // 2), 5, UNITS),
    "decided classes": Case("classification", lambda: of.decided(ROWS // 2), 3),
    "several labels": Case("classification", lambda: of.labels(ROWS // 2), 5, UNITS),
    "forecasts": Case("rating", lambda: of.forecasts(ROWS), 6, UNITS),
    "forecasts, long": Case("rating", lambda: of.long(of.forecasts(ROWS // 2), "forecast"), 3),
    "ranked lists": Case(
        "ranking",
        lambda: test_sharded.ranked_lists(8 * ROWS),
        2,
        {"segments": "language", "baseline": "été"},
        unlike=LIKENESS,
    ),
    "values": Case("significance", lambda: of.values(ROWS), 6),
    "values of users": Case(
        "significance", lambda: of.of_users(of.draws(ROWS), 401), 6, {"unit": "user"}
    ),
    "values, long": Case("significance", lambda: of.long_values(ROWS), 7),
    "losses": Case("significance", lambda: of.losses(ROWS // 3), 2, {"unit": "user_id"}),
    "users": Case("interleaving", lambda: of.users(ROWS), 1, of.OF_USERS, "users"),
    "sessions": Case("interleaving", lambda: of.log(ROWS // 10), 2, of.OF_LOG, "log"),
    "folds": Case("validation", lambda: of.folds(ROWS // 2), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_a_report_is_that_of_duckdb(session, monkeypatch, name, tmp_path):
    """A case is a report with a table and settings. Spark reads the table from ten files of a
    folder, within the limits CLUSTER, DuckDB from a frame, within BLOCKS: by these limits a table
    of more than 100 rows is not collected into memory. The published numbers must agree within
    1e-9 (ROUNDED), since Spark adds up in any order. The files of values per unit that both studies
    write must have the same rows. Spark must query the table as often as the case says: to check
    it, for its groups and for each pass over its rows, but not for each number that is asked for.
    """
    case = CASES[name]
    queries_of_spark = count_queries_of_spark(monkeypatch)
    rows = case.table().reset_index(drop=True)
    folder = tmp_path / "rows"
    folder.mkdir()
    for i in range(FILES):
        rows[i::FILES].to_parquet(folder / f"part{i}.parquet", index=False)
    by_spark = study(case, f"spark:parquet.`{folder}`", CLUSTER)
    assert len(queries_of_spark) == case.queries
    by_duckdb = study(case, rows, BLOCKS)
    differences = compare.differences(published(case, by_duckdb), published(case, by_spark))
    # the size of a difference in words is NaN: it is never within the rounding
    assert [str(one) for one in differences if not one.size <= ROUNDED] == []
    for path, one in (("duckdb", by_duckdb), ("spark", by_spark)):
        # the interleaving report has a study of users or of a log; others are the study
        study_of_table = getattr(one, case.parameter, one)
        units.write(tmp_path / path, "made", {"": study_of_table})
    assert len(same_rows(tmp_path / "duckdb", tmp_path / "spark")) > 0


def count_queries_of_spark(monkeypatch) -> list[Any]:
    """A list to which each query that Spark runs from now on is added."""
    queries = []
    run = backends.Spark._result_of

    def run_and_note(*arguments):
        queries.append(arguments)
        return run(*arguments)

    monkeypatch.setattr(backends.Spark, "_result_of", run_and_note)
    return queries


def study(case: Case, table: Any, limits: Limits) -> Any:
    return of.study_of(case.report, table, limits, case.parameter, **case.given)


def published(case: Case, study: Any) -> dict[str, Any]:
    results = import_module(f"evalkit.pages.{case.report}_page").results(study)
    tree = results._repr_mimebundle_()["application/vnd.evalkit+json"]
    return {name: part for name, part in tree.items() if name not in ELSEWHERE | {*case.unlike}}
