"""Large cases in both forms: rows held in memory, and tables that are read block by block.

    make large                                            # both forms against the stored numbers,
    and each other .venv/bin/python tests/frozen/large.py compare rating --explain    # one line a
    place .venv/bin/python tests/frozen/large.py write          # stores the numbers of today

`large.json.gz` has the numbers of the held form, and of the blocks what differs from it. Tables are
written once into the ignored folder `.large`. `--form blocks` runs that form alone; `--memory` and
`--threads` are its parameters, `--spark` hands the tables to Spark.

How far a number moved depends on its kind. value: relative to itself, or to half the width of its
interval where that is larger. limit: in standard errors, a quarter of the width. width: the ratio
less 1, so of detectable differences. p: the difference of log10. count: whole numbers, which must
be equal. word: methods, verdicts, records that are gone or new, undefined numbers.
"""

import argparse
import gzip
import json
import math
import re
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from evalkit.limits import Limits, ReadingLimits
from frozen import compare, freeze, large_cases, needs
from frozen.cases import Case

FOLDER = freeze.ROOT / ".large"
STORED = Path(__file__).parent / "large.json.gz"
MOST = 2**23
FORMS = {
    "held": Limits(reading=ReadingLimits(rows=MOST, lists=MOST, collected=MOST)),
    "blocks": Limits(
        reading=ReadingLimits(rows=1_000, lists=0, collected=1_000, shard=2**15, largest=2**16)
    ),
}
KINDS = VALUE, LIMIT, WIDTH, P, COUNT, WORD = ("value", "limit", "width", "p", "count", "word")
# What the held form must keep, and what the blocks should reach.
BOUNDS = {
    "held": {VALUE: 1e-12, LIMIT: 1e-9, WIDTH: 1e-9, P: 1e-9, COUNT: 0.0, WORD: 0.0},
    "blocks": {VALUE: 1e-12, LIMIT: 0.02, WIDTH: 0.01, P: 0.02, COUNT: 0.0, WORD: 0.0},
}
LONGEST = 60  # records that are kept of a longer list, or numbers
LEFT_OUT = ("parameters", "inputs", "message", "columns", "schema", "report", "lessons", "missed")
IS_P = re.compile(r"(p|adjusted|p_.*|.*_p)(\[.*\])?")
Flat = dict[str, Any]


# Numbers by their paths ---------------------------------------------------------------------------


def flat(tree: Any, path: str = "") -> Flat:
    """Every number and word of a tree by its path; of long lists the first, the last and some
    between them.
    """
    return dict(_leaves(compare.unpacked(tree), path))


def _leaves(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    if columns := compare.is_columns(tree):
        tree = {name: compare.plain(column) for name, column in tree.items()}
        long = max(len(column) for column in tree.values() if isinstance(column, list))
        tree = {
            name: some(column) if isinstance(column, list) else column
            for name, column in tree.items()
        }
    if columns or isinstance(tree, list):
        yield f"{path}.length", long if columns else len(tree)
        rows = compare.records(tree) if columns else some(tree)
        named = (
            compare.named(rows, compare.naming(rows))
            if compare.is_records(rows)
            else dict(enumerate(rows))
        )
        for name, row in named.items():
            yield from _leaves(row, f"{path}[{name}]")
    elif isinstance(tree, Mapping):
        for name, value in tree.items():
            if name not in LEFT_OUT:
                yield from _leaves(value, f"{path}.{name}" if path else name)
    else:
        yield path, float(f"{tree:.15g}") if isinstance(tree, float) else tree


def some(rows: list) -> list:
    """The rows, of a long list the first, the last and some between them."""
    return (
        [rows[i * (len(rows) - 1) // (LONGEST - 1)] for i in range(LONGEST)]
        if len(rows) > LONGEST
        else rows
    )


def kind(path: str, value: Any) -> str:
    """What a number is, from its name."""
    name = path.rpartition(".")[2]
    if not compare.is_number(value):
        return WORD
    if re.fullmatch(r"low|high|.*_(low|high)", name):
        return LIMIT
    if name == "detectable":
        return WIDTH
    return P if IS_P.fullmatch(name) else COUNT if isinstance(value, int) else VALUE


def half(numbers: Flat, path: str) -> float:
    """Half the width of the interval of which this number is a limit or the centre; NaN where there
    is none.
    """
    stem = re.sub(r"(low|high)$", "", path)
    stem = (
        stem
        if stem != path
        else path.rpartition(".")[0] + "."
        if f"{path}_low" not in numbers
        else f"{path}_"
    )
    low = numbers.get(f"{stem}low")
    high = numbers.get(f"{stem}high")
    return (high - low) / 2 if compare.is_number(low) and compare.is_number(high) else math.nan


def moved(old: Flat, new: Flat) -> Iterator[tuple[str, str, float]]:
    """Each number that is not the same to the last bit: its kind, its path, and how far it
    moved.
    """
    for path in [*old, *(path for path in new if path not in old)]:
        a = old.get(path, compare.ABSENT)
        b = new.get(path, compare.ABSENT)
        if a == b and compare.is_number(a) == compare.is_number(b):
            continue
        of = kind(path, a)
        if WORD in (of, kind(path, b)):
            yield WORD, path, 1.0
            continue
        width = half(old, path)
        if of == LIMIT:
            yield LIMIT, path, abs(b - a) / (width / 2) if width > 0 else abs(b - a)
            if width > 0:
                yield WIDTH, path, abs(half(new, path) / width - 1)
        elif of == WIDTH:
            yield WIDTH, path, abs(b / a - 1) if a else abs(b)
        elif of == P:
            yield P, path, abs(math.log10(max(b, 1e-300)) - math.log10(max(a, 1e-300)))
        elif abs(b - a) > 1e-15:
            size = max(abs(a), width if width == width else 0.0)
            yield of, path, abs(b - a) / (size or 1.0)


# Running ------------------------------------------------------------------------------------------


def run(case: Case, form: str, more: Mapping[str, Any], *, spark: bool = False) -> Flat:
    """The numbers of a case in one form."""
    for table in case.needs:
        large_cases.made(FOLDER, table)
    parameters = dict(case.parameters) | (more if form == "blocks" else {})
    if spark:
        parameters = {
            k: f"spark:parquet.`{v}`" if "{made}" in str(v) else v for k, v in parameters.items()
        }
    with needs.pytest.MonkeyPatch.context() as patch:
        if spark:
            needs.start_spark()
        needs.read_within(FORMS[form], patch)
        return flat(freeze.run(replace(case, parameters=parameters, needs=()), FOLDER))


def read(path: Path) -> Any:
    """What `written` wrote."""
    return json.loads(gzip.decompress(path.read_bytes()))


def load() -> dict[str, dict[str, Flat]]:
    """The stored numbers: case -> form -> path -> number."""
    stored = read(STORED) if STORED.exists() else {}
    return {
        name: {"held": held, "blocks": patched(held, changed)}
        for name, (held, changed) in stored.items()
    }


def patched(held: Flat, changed: Flat) -> Flat:
    """The numbers of the blocks: those of the held form, but for what differs."""
    return {path: value for path, value in (held | changed).items() if value != compare.ABSENT}


def save(results: Mapping[str, Mapping[str, Flat]]) -> None:
    """Write the held form of each case, and of the blocks what differs."""
    kept = {case.name: results[case.name] for case in large_cases.LARGE if case.name in results}
    each = {
        name: (forms["held"], forms.get("blocks", forms["held"])) for name, forms in kept.items()
    }
    written({name: (held, change(held, blocks)) for name, (held, blocks) in each.items()}, STORED)


def change(held: Flat, blocks: Flat) -> Flat:
    """Of the blocks what is not the same to 1e-12 of the held form."""
    places = {path for _, path, far in moved(held, blocks) if far > compare.TOLERANCE}
    return {path: blocks.get(path, compare.ABSENT) for path in sorted(places)}


def written(stored: Any, path: Path) -> None:
    """Write numbers, the same bytes each time."""
    text = json.dumps(stored, ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


# Tiny blocks of the frozen cases ------------------------------------------------------------------


# Comparing ----------------------------------------------------------------------------------------


def compared(
    title: str, old: Flat, new: Flat, bounds: Mapping[str, float], *, explain: bool
) -> int:
    """Print a line for each kind that moved, with `explain` for each place too; how many are beyond
    the bounds.
    """
    found: dict[str, dict[str, list[tuple[float, str]]]] = {}
    for of, path, far in moved(old, new):
        place = re.sub(r"\[.*?\](?=[.\[]|$)", "[]", path)
        found.setdefault(of, {}).setdefault(place, []).append((far, path))
    outside = 0
    for of in (of for of in KINDS if of in found):
        everywhere = [entry for entries in found[of].values() for entry in entries]
        beyond = sum(far > bounds[of] for far, _ in everywhere)
        outside += beyond
        far, path = max(everywhere)
        print(
            f"  {title}: {of}: {len(everywhere)} moved, {beyond} beyond {bounds[of]:g}, most "
            f"{far:.2g} at {path}"
        )
        for place, entries in sorted(found[of].items()) if explain else ():
            far, path = max(entries)
            if far > bounds[of]:
                print(
                    f"    {place}: {len(entries)}, most {far:.2g}: {path}: {old.get(path)} -> "
                    f"{new.get(path)}"
                )
    return outside


def check(case: Case, now: Mapping[str, Flat], stored: Mapping[str, Flat], *, explain: bool) -> int:
    """Compare a case with what is stored; 1 if a held number moved, or the blocks are worse than
    those stored.
    """
    held = stored.get("held", now.get("held", {}))
    failed = 0
    if "held" in now and "held" in stored:
        failed = compared(
            "held now : held stored", held, now["held"], BOUNDS["held"], explain=explain
        )
    if "blocks" in now:
        today = sum(
            far > BOUNDS["blocks"][of]
            for of, _, far in moved(held, stored.get("blocks", now["blocks"]))
        )
        beyond = compared(
            "blocks now : held stored", held, now["blocks"], BOUNDS["blocks"], explain=explain
        )
        if "blocks" in stored:
            compared(
                "blocks now : blocks stored",
                stored["blocks"],
                now["blocks"],
                BOUNDS["blocks"],
                explain=False,
            )
        print(f"  {beyond} of the blocks' numbers are beyond the bounds, {today} of those stored")
        failed += beyond > today
    return int(failed > 0)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description="Store the numbers of large cases, or compare with those stored."
    )
    parser.add_argument("command", choices=("write", "compare"))
    parser.add_argument("case", nargs="*", help="names of cases, or parts of names")
    parser.add_argument(
        "--explain", action="store_true", help="one line a place that is beyond the bounds"
    )
    parser.add_argument("--form", choices=FORMS, help="this form alone")
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--spark", action="store_true", help="blocks by Spark")
    asked = parser.parse_intermixed_args()
    results = load()
    failed = 0
    for case in large_cases.LARGE:
        if asked.case and not any(part in case.name for part in asked.case):
            continue
        now: dict[str, Flat] = {}
        forms = (
            ["held"]
            if case.report in large_cases.ONE_FORM
            else [asked.form]
            if asked.form
            else list(FORMS)
        )
        for form in forms:
            start = time.process_time()
            more = {"memory": asked.memory, "threads": asked.threads}
            now[form] = run(case, form, more, spark=asked.spark and form == "blocks")
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            seconds = time.process_time() - start
            print(
                f"{case.name}: {form}: {len(now[form]):,} numbers, {seconds:.1f} s, peak "
                f"{peak:.1f} GB",
                flush=True,
            )
            if "error" in now[form]:
                print(f"  {now[form]['error']}")
                failed = 1
        failed |= check(case, now, results.get(case.name, {}), explain=asked.explain)
        if (
            asked.command == "write"
            and not asked.form
            and not any("error" in form for form in now.values())
        ):
            results = load() | {case.name: now}
            save(results)
    if asked.command == "write":
        print(f"{len(results)} cases, {STORED.stat().st_size:,} bytes")
        return 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
