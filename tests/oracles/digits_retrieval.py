"""Writes digits_retrieval.json.gz: what public tools compute of the bundled runs, from the files
beside the project.

    python tests/oracles/digits_retrieval.py

`tools`: of the first queries, each tool's value by system, query and measure. `values`, `pairs`,
`omnibus`: of all queries, the values of the measures whose comparisons scipy and statsmodels
computed, and those comparisons. The runs and the judgements are those of data/digits_retrieval,
made from scikit-learn's digits (BSD-3-Clause).
"""

import gzip
import json
from pathlib import Path

QUERIES = 20
HERE = Path(__file__).parent
EXPECTED = HERE.parents[2] / "shared" / "data" / "digits_retrieval" / "expected"


def main() -> None:
    """Write the file."""
    compared = json.loads((EXPECTED / "compare.json").read_text())
    tools, values = {}, {}
    for file in sorted(EXPECTED.glob("*.l1.json.gz")):
        system, whole = (
            file.name.removesuffix(".l1.json.gz"),
            json.loads(gzip.decompress(file.read_bytes())),
        )
        rows = whole["reference"]["per_query"]
        values[system] = {
            query: {name: rows[query][name] for name in compared["pairs"]} for query in sorted(rows)
        }
        first = sorted(rows)[:QUERIES]
        tools[system] = {
            peer: {query: found["per_query"][query] for query in first}
            for peer, found in whole.items()
        }
    content = {
        "tools": tools,
        "values": values,
        "pairs": compared["pairs"],
        "omnibus": compared["omnibus"],
    }
    text = json.dumps(content, separators=(",", ":"))
    (HERE / "digits_retrieval.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
