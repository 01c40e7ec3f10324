"""Files to five ranking metrics, evalkit against peers: CPU, wall and memory, each run in a process
of its own.

1M rows (10,000 queries of 100), once shuffled and once grouped and sorted. All tools must agree on
the five means. Peers are run by `.bench/bin/python`, which `make bench` sets up; without it only
DuckDB is compared.

Where the CPU time of the shuffled million goes, in ms (sorted: where it differs), on a Zen 4 with
numpy's AVX2 sort: Arrow's decoding of both files 50, of which 33 the run's items; order of ranks 18
(5); duplicates 9; judged rows 9; codes of queries 7; hashes of items 6; metrics 11; grades in order
and best grades 8. A page that is touched for the first time costs about 4 µs here, so that a
temporary array of 4 MB costs as much as a pass over the rows: what can be done block by block is.

Tried, and what it gave:
- items read as Arrow dictionaries (`read_dictionary`): 250 ms instead of 33, for Arrow hashes
  each text as soon as the file's own dictionary is full; read as views (`binary_type`), by a memory
  map, by other buffers, in batches: 32 to 35;
- the columns of a file without Arrow's threads: 5 ms CPU less, but one core alone decodes; not
  done;
- Arrow's memory from malloc: 20 ms more, of fresh pages;
- duplicates by a sort of 32 mixed bits in place of 64 with the row's number: 5.4 ms instead of
  11.8, and no second array of 8 MB; by a sort of each list alone: 1.4 ms, but only where lists are
  equally long, and after a gather of 3;
- judged rows by a table instead of a search among all sorted rows: 9 ms instead of 12 and the
  sort; with the row's number and tag in one entry of 4 bytes 13, probably as the larger table
  leaves the second cache;
- texts of equal hashes compared as Arrow's views, in the order of the run, not word by word in
  that of the keys: 2 ms instead of 17;
- `take` instead of an index: up to 4 times faster for pairs of words, a third for others;
- malloc told to keep its memory (`MALLOC_TRIM_THRESHOLD_`): 20 ms less before these changes; not
  done, as it is a setting of the user's.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from results import READING, Claim

COVERS = READING
HERE = Path(__file__).resolve().parent
PEERS = HERE.parent / ".bench" / "bin" / "python"
OWN = ("evalkit", "duckdb_by_hand")
FOREIGN = ("pandas_merges", "pytrec_eval", "ir_measures", "ranx")
ROUNDS = 3
SHUFFLED = {
    "duckdb_by_hand": "<= 0.4",
    "pandas_merges": ">= 25",
    "pytrec_eval": ">= 10",
    "ir_measures": ">= 10",
}
SHUFFLED |= {"ranx": ">= 25"}
SORTED = {
    "duckdb_by_hand": "<= 0.7",
    "pandas_merges": ">= 15",
    "pytrec_eval": ">= 5",
    "ir_measures": ">= 6",
}
SORTED |= {"ranx": ">= 15"}


def write_files(folder: Path, queries: int, length: int, *, shuffled: bool) -> tuple[str, str]:
    """A run and its judgements (one row in ten) as Parquet; the same numbers every time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    query = np.repeat(np.arange(queries), length)
    item = np.concatenate([rng.choice(200_000, length, replace=False) for _ in range(queries)])
    score = np.round(rng.normal(size=len(query)), 6)
    order = rng.permutation(len(query)) if shuffled else np.lexsort((-score, query))
    texts = {
        "query": np.char.add("q", query[order].astype(str)),
        "item": np.char.add("doc", item[order].astype(str)),
    }
    judged = rng.random(len(query)) < 0.1
    run = folder / "run.parquet"
    qrels = folder / "qrels.parquet"
    pq.write_table(pa.table({**texts, "score": score[order]}), run)
    grades = {"grade": rng.integers(0, 4, judged.sum())}
    pq.write_table(
        pa.table({name: column[judged] for name, column in texts.items()} | grades), qrels
    )
    return str(run), str(qrels)


def run_one(tool: str, files: tuple[str, str]) -> dict:
    """One tool in a fresh process."""
    python = sys.executable if tool in OWN else str(PEERS)
    command = [python, str(HERE / "contenders.py"), tool, *files]
    return json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    )


def compare(title: str, files: tuple[str, str], bounds: Mapping[str, str]) -> list[Claim]:
    """Medians of interleaved rounds, as ratios to evalkit. bounds: of each tool."""
    tools = OWN + (FOREIGN if PEERS.exists() else ())
    rounds = [{tool: run_one(tool, files) for tool in tools} for _ in range(ROUNDS)]
    for tool in tools:
        np.testing.assert_allclose(
            rounds[0][tool]["means"], rounds[0]["evalkit"]["means"], rtol=1e-6
        )
    print(f"\n{title}: all {len(tools)} agree on the five means\n")
    print("| tool | CPU s | CPU ratio | wall s | wall ratio | peak MB |\n|---|---|---|---|---|---|")
    middle = {
        tool: {
            key: statistics.median(x for one in rounds for x in one[tool][key])
            for key in ("cpu", "wall")
        }
        | {"peak_mb": max(one[tool]["peak_mb"] for one in rounds)}
        for tool in tools
    }
    own = middle["evalkit"]
    for tool, one in middle.items():
        cpu = one["cpu"] / own["cpu"]
        wall = one["wall"] / own["wall"]
        print(
            f"| {tool} | {one['cpu']:.2f} | {cpu:.1f} | {one['wall']:.2f} | {wall:.1f} | "
            f"{one['peak_mb']:.0f} |"
        )
    ratio = {tool: middle[tool]["cpu"] / own["cpu"] for tool in tools if tool != "evalkit"}
    waits = own["wall"] / middle["duckdb_by_hand"]["wall"]
    return [
        *(
            Claim(f"evalkit / DuckDB by hand, {title}", 1 / one, bounds[tool])
            if tool == "duckdb_by_hand"
            else Claim(f"{tool} / evalkit, {title}", one, bounds[tool])
            for tool, one in ratio.items()
        ),
        Claim(f"evalkit / DuckDB by hand on all cores, wall time, {title}", waits, "<= 1"),
    ]


def main() -> list[Claim]:
    """Both files."""
    claims = []
    for shuffled in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            files = write_files(Path(folder), 10_000, 100, shuffled=shuffled)
            title, bounds = ("shuffled", SHUFFLED) if shuffled else ("sorted", SORTED)
            claims += compare(f"1M ranked rows, {title}", files, bounds)
    return claims


if __name__ == "__main__":
    main()
