"""Compares every value of the ranking metrics with the public tools' on the data sets, and counts.

    PYTHONPATH=. python tests/oracles/ranking.py

prints for each data set: values that are equal, values that evalkit leaves undefined where the tool
says 0, values explained by a known defect of the tool (`ranking_peers`), and mismatches; any
mismatch makes the exit status 1. The data sets stand beside the project; `against_bundled` compares
the bundled one with values that are committed.
"""

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from ranking_peers import KNOWN, Subject, measure, tolerance
from tally import Tally

from evalkit.catalogue import lookup
from evalkit.metrics import rankings
from evalkit.metrics.rankings import Rankings
from evalkit.reading.inputs import runs
from evalkit.reading.tables import trec

HERE = Path(__file__).resolve().parent
SHARED, BUNDLED = HERE.parents[2] / "shared" / "data", HERE.parents[1] / "data" / "digits_retrieval"
UNDEFINED = "undefined here, 0 there"


# ---- comparisons ---------------------------------------------------------------------------------


def near(low: np.ndarray, high: np.ndarray, theirs: np.ndarray, tol: float) -> np.ndarray:
    """Where the tool's value lies between the two, up to the tolerance; NaN only equals NaN."""
    slack = tol * np.maximum(1, np.abs(np.nan_to_num(theirs)))
    with np.errstate(invalid="ignore"):
        return ((theirs >= low - slack) & (theirs <= high + slack)) | (
            np.isnan(theirs) & np.isnan(low)
        )


def values(peer: str, name: str, expected: Mapping[str, Any], s: Subject, level: float) -> Tally:
    """One measure on every query for which the tool has a value."""
    compute = measure(peer, name)
    there = np.array([str(q) in expected for q in s.r.query], bool)
    if compute is None or not there.any():
        return Tally()
    theirs = np.array([expected.get(str(q)) for q in s.r.query], float)
    ours, tol = compute(s.r, level), tolerance(peer, name)
    undefined = there & np.isnan(ours) & (np.isnan(theirs) | (theirs == 0))
    equal = there & ~undefined & near(ours, ours, theirs, tol)
    rest, tally = (
        there & ~undefined & ~equal,
        Tally(int(equal.sum()), Counter({UNDEFINED: int(undefined.sum())})),
    )
    for defect in KNOWN:
        if rest.any() and defect.of(peer, name):
            found = rest & near(*defect.bounds(s, compute, level, name), theirs, tol)
            tally.explained[defect.name] += int(found.sum())
            rest &= ~found
    tally.explained = +tally.explained
    for i in np.flatnonzero(rest):
        where = f"{s.name} {peer} {name} query {s.r.query[i]}"
        tally.wrong.append(f"{where}: evalkit {ours[i]!r}, expected {theirs[i]!r}")
    return tally


def per_query(
    peer: str, expected: Mapping[str, Mapping[str, Any]], s: Subject, level: float
) -> Tally:
    """Every measure that both have; queries that the tool leaves out must be ones that the run
    misses.
    """
    tally = Tally()
    for name in sorted({name for row in expected.values() for name in row}):
        column = {
            query: row[name]
            for query, row in expected.items()
            if name in row and row[name] != "nan"
        }
        tally += values(peer, name, column, s, level)
    for query, length in zip(s.r.query, s.r.retrieved.length, strict=True):
        if str(query) not in expected and length:
            tally.wrong.append(f"{s.name} {peer}: query {query} is not in its output")
        elif str(query) not in expected:
            tally.explained["query missing from the run dropped"] += 1
    return tally


def means(
    peer: str, expected: Mapping[str, float], s: Subject, level: float, *, complete: bool = True
) -> Tally:
    """Means over queries, undefined as 0 as the tools count it; `complete` also over those that the
    run misses.
    """
    whole = np.ones(len(s.r), bool) if complete else s.r.retrieved.length > 0
    tally = Tally()
    for name, theirs in expected.items():
        if (compute := measure(peer, name)) is None:
            continue
        total: Callable = (
            np.nansum if name.startswith("num_") else lambda x: np.nan_to_num(x).mean()
        )
        ours = compute(s.r, level)
        bounds = [("", (ours, ours))] + [
            (d.name, d.bounds(s, compute, level, name)) for d in KNOWN if d.of(peer, name)
        ]
        wanted, tol = np.array([theirs], float), tolerance(peer, name)
        good = [
            why
            for why, (low, high) in bounds
            if near(total(low[whole]), total(high[whole]), wanted, tol).all()
        ]
        if not good:
            tally.wrong.append(
                f"{s.name} {peer} mean {name}: evalkit {total(ours[whole])!r}, expected {theirs!r}"
            )
        elif good[0]:
            tally.explained[good[0]] += 1
        else:
            tally.equal += 1
    return tally


def every(peer: str, expected: Mapping[str, Any], s: Subject, level: float) -> Tally:
    """A tool's values for one run: each query, and trec_eval's own means with and without the
    missing queries.
    """
    if "error" in expected:
        return Tally(explained=Counter({"the tool refused the files": 1}))
    tally = per_query(peer, expected["per_query"], s, level)
    if peer.startswith("trec_eval"):
        tally += means(peer, expected["mean"], s, level, complete=False)
        tally += means(peer, expected["mean_complete_c"], s, level)
    return tally


# ---- data sets -----------------------------------------------------------------------------------


def read(paths: list[Path], qrels: Path) -> dict[str, Subject]:
    """The systems of some TREC runs, by the file's name without its suffixes."""
    grades = trec.read(qrels, trec.QRELS)
    clipped = pa.table(grades | {"grade": pc.max_element_wise(grades["grade"], 0.0)})
    found = {}
    for path in paths:
        columns = trec.read(path, trec.RUN)
        table = pa.table({name: columns[name] for name in ("query", "item", "score")})
        found[path.name.removesuffix(".run")] = subject(path.name, table, pa.table(grades), clipped)
    return found


def subject(name: str, table: pa.Table, grades: Any = None, clipped: Any = None) -> Subject:
    """A table of query, item and score in the orders that the tools use; the judgements apart or in
    the table.
    """

    def ordered(score: Any, judged: Any) -> Rankings:
        at = table.column_names.index("score")
        return runs.read(table.set_column(at, "score", score), judged).rankings["score"]

    score = table["score"].to_numpy()
    place = np.empty(len(score))
    place[np.argsort(-score, kind="stable")] = -np.arange(len(score))
    rounded = score.astype(np.float32).astype(float)
    exact, low, listed = (ordered(pa.array(one), grades) for one in (score, rounded, place))
    return Subject(name, exact, low, listed, ordered(pa.array(score), clipped))


def unpacked(path: Path) -> Any:
    """A JSON file, compressed or not."""
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


def against_expected(folder: str) -> Iterator[tuple[str, Tally]]:
    """A folder of runs and of expected values by system and relevance level: every tool, every
    query.
    """
    subjects = read(sorted((SHARED / folder / "runs").glob("*.run")), SHARED / folder / "qrels.txt")
    tallies: dict[str, Tally] = {}
    for file in sorted((SHARED / folder / "expected").glob("*.l?.json.gz")):
        system, level = file.name.removesuffix(".json.gz").rsplit(".l", 1)
        for peer, expected in unpacked(file).items():
            found = every(peer, expected, subjects[system], float(level))
            tallies[peer] = tallies.get(peer, Tally()) + found
    yield from ((f"{folder}, {peer}", tally) for peer, tally in sorted(tallies.items()))


def against_bundled() -> Iterator[tuple[str, Tally]]:
    """The bundled runs and the tools' values of some of their queries, which are committed."""
    subjects = read(sorted((BUNDLED / "runs").glob("*.run")), BUNDLED / "qrels.txt")
    for system, peers in unpacked(HERE / "digits_retrieval.json.gz")["tools"].items():
        for peer, expected in peers.items():
            of = subjects[system].each(
                lambda r, there=expected: part(r, np.isin(r.query, list(there))), system
            )
            yield f"{system}, {peer}", per_query(peer, expected, of, 1)


def against_one(
    folder: str, expected: Mapping[str, Any], run: str, qrels: str, level: float, title: str
) -> Iterator:
    """One run and the tools' values for it."""
    s = next(iter(read([SHARED / folder / run], SHARED / folder / qrels).values()))
    for peer, values_of in sorted(expected.items()):
        yield f"{folder} {title}, {peer}", every(peer, values_of, s, level)


def against_peers() -> Iterator[tuple[str, Tally]]:
    """Every tool on trec_eval's test files and on ir_measures' own."""
    test = unpacked(SHARED / "trec_eval_test/expected/peers.json.gz")
    cases = {
        "plain": ("results.test", "qrels.test", 1),
        "q302": ("results-302.test", "qrels-302.test", 1),
        "rel_level_l1": ("results.test", "qrels.rel_level", 1),
        "rel_level_l2": ("results.test", "qrels.rel_level", 2),
        "trunc": ("results.trunc", "qrels.test", 1),
    }
    for name, (run, qrels, level) in cases.items():
        yield from against_one("trec_eval_test", test[name], run, qrels, level, name)
    compat = unpacked(SHARED / "ir_measures_compat/expected/peers.json.gz")
    yield from against_one("ir_measures_compat", compat, "compat.run", "compat.qrels", 1, "compat")


def nist(file: str) -> dict[str, dict[str, float]]:
    """One of trec_eval's own output files: query (or all) -> measure -> value, 4 decimals."""
    out: dict[str, dict[str, float]] = {}
    for line in (SHARED / "trec_eval_test" / file).read_text().splitlines():
        parts = line.split()
        if len(parts) == 3 and parts[0] != "runid" and re.fullmatch(r"-?[\d.]+", parts[2]):
            out.setdefault(parts[1], {})[parts[0]] = float(parts[2])
    return out


def first(r: Rankings, n: int) -> Rankings:
    """The rankings cut to their first n ranks, as trec_eval -M does."""
    keep = r.retrieved.rank <= n
    size = np.minimum(r.retrieved.length, n)
    short = rankings.Lists(
        r.retrieved.grade[keep], r.retrieved.tied[keep], np.concatenate([[0], np.cumsum(size)])
    )
    return replace(r, retrieved=short)


def against_nist() -> Iterator[tuple[str, Tally]]:
    """NIST's files: per topic and all topics; complete (c), first 100 (M), level 2 (l), own
    cut-offs, comments.
    """
    cases = [
        ("out.test", "results.test", "qrels.test", 1, False),
        ("out.test.a", "results.test", "qrels.test", 1, False),
        ("out.test.aq", "results.test", "qrels.test", 1, False),
        ("out.test.aqc", "results.trunc", "qrels.test", 1, True),
        ("out.test.aqcM", "results.trunc", "qrels.test", 1, True),
        ("out.test.aql", "results.test", "qrels.rel_level", 2, False),
        ("out.test.meas_params", "results.test", "qrels.test", 1, False),
        ("out.comment.test", "results.comment.test.gz", "qrels.comment.test", 1, False),
    ]
    for file, run, qrels, level, complete in cases:
        s = next(
            iter(
                read([SHARED / "trec_eval_test" / run], SHARED / "trec_eval_test" / qrels).values()
            )
        )
        s = s.each(lambda r: first(r, 100), file) if file.endswith("M") else replace(s, name=file)
        expected = nist(file)
        total = means("NIST", expected.pop("all"), s, level, complete=complete)
        yield (
            f"trec_eval_test {file}",
            total + (per_query("NIST", expected, s, level) if expected else Tally()),
        )


GAUC = {
    "gauc_unweighted": "gauc_uniform",
    "gauc_weighted_by_impressions": "gauc",
    "gauc_weighted_by_positives": "gauc_positives",
}


def gauc(r: Rankings, expected: Mapping[str, Any], where: str) -> Tally:
    """The three weightings of the AUC per user."""
    tally = Tally()
    for theirs, name in GAUC.items():
        tally.check(
            f"{where} {theirs}",
            lookup.find_metric(name, "rankings").sums(r).value,
            expected[theirs],
        )
    return tally


def part(r: Rankings, keep: np.ndarray) -> Rankings:
    """The rankings of some of the queries."""

    def some(lists: rankings.Lists) -> rankings.Lists:
        rows = keep[lists.owner]
        offset = np.concatenate([[0], np.cumsum(lists.length[keep])])
        return rankings.Lists(lists.grade[rows], lists.tied[rows], offset)

    return replace(r, query=r.query[keep], retrieved=some(r.retrieved), ideal=some(r.ideal))


def against_metrics(folder: str, file: str, segment: str | None) -> Iterator[tuple[str, Tally]]:
    """Means and GAUC of wide tables of users, also by segment."""
    expected = unpacked(SHARED / folder / "expected/metrics.json")
    table = pq.ParquetFile(SHARED / folder / file).read()
    for system in expected["gauc"]:
        one = table.append_column("score", table[system].cast(pa.float64()))
        s = subject(f"{folder} {system}", one)
        tally = gauc(s.r, expected["gauc"][system], s.name)
        for peer in ("pytrec_eval", "ranx"):
            tally += means(peer, expected["ranking"][system][peer], s, 1)
        beside = runs.read(one, segments=[segment]).attributes[segment] if segment else None
        for value, wanted in expected.get("segments", {}).get(system, {}).items():
            tally += gauc(part(s.r, beside == value), wanted, f"{s.name} {segment} {value}")
        yield f"{folder} {system}", tally


def groups() -> Iterator[tuple[str, Tally]]:
    """Every group of comparisons with its counts."""
    for folder in ("trec_covid_demo", "lgb_lambdarank", "digits_retrieval"):
        yield from against_expected(folder)
    yield from against_peers()
    yield from against_nist()
    yield from against_metrics("modechoice", "scores_wide.parquet", None)
    yield from against_metrics("msweb_clicks", "impressions.parquet", "activity")


def main() -> int:
    """Runs every comparison and prints the counts; 1 where any value differs without a known
    reason.
    """
    total = Tally()
    for title, tally in groups():
        print(f"{title}: {tally}")
        total += tally
    print(f"total of {total.comparisons} comparisons: {total}")
    for line in total.wrong[:40]:
        print(" ", line)
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
