"""Freeze the numbers of every report, and compare the package of today with what was frozen.

    .venv/bin/python tests/frozen/freeze.py compare            # after each step: nothing may differ
    .venv/bin/python tests/frozen/freeze.py compare --explain  # one line per place, for the commit
    message .venv/bin/python tests/frozen/freeze.py write              # in the commit that explains
    a changed number

Both take `--local`, for the sets beside the checkout that must not be committed: their results stay
in the ignored folder `local`; and names of cases, or parts of names. Cases that need Spark run
where pyspark is installed.

A case runs a notebook's own cells in this process: the parameters, the one that reads the study,
and the last one, which publishes every number of the page. So neither command knows how the package
is built, and the limits that some cases make small are the only thing that it takes from the inside
(`needs.py`). What depends on the machine is left out (`frozen_results`). Numbers agree to 1e-12
relative to max(1, |x|), integers and words exactly. Frozen and compared on one machine, they are
all reproducible; `compare.BY_PROCESSOR` says which few are not on another.
"""

import argparse
import contextlib
import gzip
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from frozen import compare, needs
from frozen.cases import CASES, Case

ROOT = Path(__file__).resolve().parents[2]
RESULTS = "application/vnd.evalkit+json"
FOLDERS = {False: Path(__file__).parent / "results", True: Path(__file__).parent / "local"}
MADE = "{made}"  # in a parameter: the folder of the tables that `needs.tables` writes


# Running a case -----------------------------------------------------------------------------------


def run(case: Case, made: Path) -> dict[str, Any]:
    """What the report of a case publishes, without what depends on the machine; an error is the one
    member "error".
    """
    values = {name: _placed(value, str(made)) for name, value in case.parameters.items()}
    with contextlib.chdir(ROOT), needs.met(case.needs), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return frozen_results(published(case.report, values), made)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}


def published(report: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The results that a notebook publishes: its parameters, its cell that reads and the one that
    publishes, run here.
    """
    cells = json.loads((ROOT / "notebooks" / f"{report}.ipynb").read_text(encoding="utf-8"))[
        "cells"
    ]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    source = {i: "".join(cell["source"]) for i, cell in enumerate(code)}
    first = next(
        i for i, cell in enumerate(code) if "parameters" in cell["metadata"].get("tags", ())
    )
    names: dict[str, Any] = {}
    exec(source[first], names)
    if unknown := set(values) - set(names):
        raise SystemExit(f"notebooks/{report}.ipynb has no parameter {', '.join(sorted(unknown))}")
    names |= values
    publishing = next(i for i, cell in enumerate(code) if cell["id"] == "results")
    for i in range(first + 1, publishing):
        if "study =" in source[i]:
            exec(source[i], names)
    *imports, last = source[publishing].strip().splitlines()
    exec("\n".join(imports), names)
    return eval(last, names)._repr_mimebundle_()[RESULTS]


def frozen_results(results: Mapping[str, Any], made: Path) -> dict[str, Any]:
    """The results without versions, hashes of inputs and sentences, and with a fixed word for the
    folder of made tables.
    """
    kept = {name: value for name, value in results.items() if name not in ("versions", "answer")}
    for part in ("log", "users"):
        if kept.get(part):
            kept[part] = {name: value for name, value in kept[part].items() if name != "answer"}
    kept["inputs"] = [
        {name: value for name, value in one.items() if name != "sha256"} for one in kept["inputs"]
    ]
    return json.loads(json.dumps(_replaced(kept, str(made), MADE)))


def _placed(value: Any, made: str) -> Any:
    return _replaced(value, MADE, made)


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, Mapping):
        return {name: _replaced(one, old, new) for name, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, old, new) for one in value]
    return value.replace(old, new) if isinstance(value, str) else value


# The fixture --------------------------------------------------------------------------------------


def load(folder: Path) -> dict[str, dict[str, Any]]:
    """The frozen results of a folder by case."""
    files = sorted(folder.glob("*.json.gz"))
    return {
        case: tree
        for file in files
        for case, tree in json.loads(gzip.decompress(file.read_bytes())).items()
    }


def save(results: Mapping[str, Mapping[str, Any]], cases: Iterable[Case], folder: Path) -> None:
    """Write one file a report; the same results give the same bytes. Results of other cases are
    dropped.
    """
    folder.mkdir(exist_ok=True)
    by_report: dict[str, dict[str, Any]] = {}
    for case in cases:
        if case.name in results:
            by_report.setdefault(case.report, {})[case.name] = results[case.name]
    for report, trees in by_report.items():
        text = json.dumps(dict(sorted(trees.items())), ensure_ascii=False, separators=(",", ":"))
        (folder / f"{report}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


# The commands -------------------------------------------------------------------------------------


def write(chosen: list[Case], cases: list[Case], folder: Path) -> int:
    """Run the chosen ones of all cases and write the fixture; the others, those that fail and those
    that cannot be run here keep what was frozen, and the last are named.
    """
    results = load(folder)
    failed = 0
    for case, tree in ran(chosen):
        if "error" in tree:
            failed += 1
        else:
            results[case.name] = tree
    save(results, cases, folder)
    kept = [results[case.name] for case in cases if case.name in results]
    size = sum(file.stat().st_size for file in folder.glob("*.json.gz"))
    print(
        f"{len(kept)} cases, {sum(map(compare.numbers, kept)):,} numbers, {size:,} bytes; {failed} "
        f"cases failed"
    )
    if old := [case for case in chosen if needs.absent(case.needs)]:
        print(f"{len(old)} cases could not be run here and are as they were frozen before:")
        for case in old:
            print(f"  {case.name}{'' if case.name in results else ' (never frozen)'}")
    return int(failed > 0)


def check(cases: list[Case], folder: Path, *, explain: bool) -> int:
    """Run the cases, print each difference from the fixture, and return 1 if there is any."""
    frozen = load(folder)
    found = {}
    total = 0
    for case, tree in ran(cases):
        old = frozen.get(case.name, compare.ABSENT)
        found[case.name] = list(compare.differences(old, tree))
        total += compare.numbers(old)
        for change in [] if explain else found[case.name]:
            note = " (another processor moves it too)" if change.by_processor else ""
            print(f"  {change.kind}: {case.name}: {change}{note}")
    for line in compare.summary(found) if explain else []:
        print(line)
    changes = [change for case in found.values() for change in case]
    kinds = {kind: sum(one.kind == kind for one in changes) for kind in compare.KINDS}
    print(f"{len(found)} cases, {total:,} numbers compared; differences: {kinds}")
    return int(bool(changes))


def ran(cases: Iterable[Case]) -> Iterator[tuple[Case, dict[str, Any]]]:
    """Each case that can run here and its results, a line of progress before it."""
    with tempfile.TemporaryDirectory() as made:
        needs.tables(Path(made))
        for case in runnable(cases):
            start = time.process_time()
            tree = run(case, Path(made))
            print(
                f"{case.name}: {compare.numbers(tree):,} numbers, "
                f"{time.process_time() - start:.1f} s",
                flush=True,
            )
            if "error" in tree:
                print(f"  {tree['error']}")
            yield case, tree


def runnable(cases: Iterable[Case]) -> Iterator[Case]:
    """The cases whose needs are met here; the others are named."""
    for case in cases:
        if absent := needs.absent(case.needs):
            print(f"{case.name}: not run, needs {', '.join(absent)}")
        else:
            yield case


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description="Freeze the numbers of every report, or compare with the frozen ones."
    )
    parser.add_argument("command", choices=("write", "compare"))
    parser.add_argument("case", nargs="*", help="names of cases, or parts of names")
    parser.add_argument(
        "--local", action="store_true", help="the cases on data that must not be committed"
    )
    parser.add_argument("--explain", action="store_true", help="one line a place that changed")
    asked = parser.parse_intermixed_args(arguments)
    cases = [case for case in CASES if case.local == asked.local]
    chosen = [
        case for case in cases if not asked.case or any(name in case.name for name in asked.case)
    ]
    if not chosen:
        parser.error(f"no case has {' or '.join(map(repr, asked.case))} in its name")
    if asked.command == "write":
        return write(chosen, cases, FOLDERS[asked.local])
    return check(chosen, FOLDERS[asked.local], explain=asked.explain)


if __name__ == "__main__":
    sys.exit(main())
