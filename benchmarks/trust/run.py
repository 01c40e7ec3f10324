"""`make trust`: simulates intervals and tests of the reports, and says which hold.

Each sample of each world (`worlds.py`) is read by the report's own `read`, and its numbers are
taken from the frames that the page prints (`numbers_of.py`). An interval should hold the true value
in 95% of the samples, a test at 5% should reject a difference that is not there in 5% of them, and
what "would show with 80% power" should show in 80%. Writes docs/trust.md, of forecasts of series
and of distributions docs/trust_series.md, which `--series` makes alone, and exits 1 where a cell
leaves its bounds and is not declared with its reason in `declared.py`. Batches that are done stay
in .trust/, so that a run which was stopped goes on where it was; a change of what computes, or of a
world, begins anew. `--earlier FOLDER` takes the batches of an earlier state for those worlds whose
first two batches come out the same but for rounding.
"""

import argparse
import gc
import glob
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import cells
import numpy as np
import pyarrow as pa
import trust_page
from numbers_of import Number, numbers, study, values
from of_distributions import DISTRIBUTIONS
from of_series import SERIES
from own_worlds import FILE as OWN_METRICS, OWN_WORLDS
from world import World
from worlds import FRESH, WORLDS

from evalkit.reading.tables import duck

ROOT = Path(__file__).resolve().parents[2]
BATCH = 25  # samples of one task
TASKS = 200  # of a process, which after some hundred takes several times as long for each
SEED = 20261122
RUNS = {"full": 1000, "quick": 50}
OF_FORECASTS = (*DISTRIBUTIONS, *SERIES)  # the worlds with a page of their own


@dataclass
class Tally:
    """What became of one number over samples: how often its interval lay above, below or around the
    truth.
    """

    runs: int = 0
    below: int = 0  # the whole interval lies below the truth
    above: int = 0
    tests: int = 0
    rejected: int = 0
    width: float = 0.0
    undefined: int = 0
    shows: float = 0.0
    differences: float = 0.0

    def add(self, number: Number, truth: float) -> None:
        """Counts one sample."""
        if np.isfinite(number.low) and np.isfinite(number.high) and np.isfinite(truth):
            self.runs += 1
            self.below += int(number.high < truth - SLACK)
            self.above += int(number.low > truth + SLACK)
            self.width += float(number.high - number.low)
        else:
            self.undefined += 1
        if np.isfinite(number.p):
            self.tests += 1
            self.rejected += int(number.p < 0.05)
        if np.isfinite(number.shows):
            self.shows += float(number.shows)
            self.differences += float(number.value)

    def merge(self, other: "Tally") -> None:
        """Adds the samples of another batch."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


SLACK = 1e-9  # a limit at the truth holds it
Tallies = dict[str, Tally]


@dataclass(frozen=True)
class Folder:
    """Where batches that are done are kept: one folder for each state of the package and of the
    worlds.
    """

    path: Path = field(default_factory=lambda: ROOT / ".trust" / _state())

    def read(self, name: str) -> dict | None:
        """What was kept under a name."""
        file = self.path / f"{name}.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None

    def write(self, name: str, content: dict) -> None:
        """Keeps it, whole or not at all."""
        self.path.mkdir(parents=True, exist_ok=True)
        part = self.path / f"{name}.{os.getpid()}.part"
        part.write_text(json.dumps(content), encoding="utf-8")
        part.replace(self.path / f"{name}.json")


COMPUTING = (
    "arrays.py",
    "limits.py",
    "metrics",
    "catalogue",
    "statistics",
    "measured",
    "reading",
    "offline",
    "online",
    "studies",
)


def _state() -> str:
    """A name for the code that the numbers depend on: no words, pages or drawings."""
    digest = hashlib.sha256()
    here = Path(__file__).parent
    package = ROOT / "evalkit"
    own = [
        path
        for path in here.glob("*.py")
        if path.stem in ("run", "world", "worlds") or "_" in path.stem
    ]
    # a further round changes none of the others
    own = [path for path in own if not path.stem.startswith("fresh")]
    places = [package / name for name in COMPUTING]
    modules = [
        module
        for place in places
        for module in ([place] if place.is_file() else place.rglob("*.py"))
    ]
    for path in sorted([*modules, *own, OWN_METRICS]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _file(words: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in words)


BY_NAME = {
    _file(f"{world.report} {world.name} {world.n}"): world
    for world in (*WORLDS, *OWN_WORLDS, *FRESH)
}


def truth(world: World) -> dict[str, float]:
    """The true value of each number: its mean over large samples."""
    large: dict[str, list[float]] = {}
    for i in range(world.large):
        inputs = world.draw(np.random.default_rng([SEED, 1, i]), world.many)
        for number in values(study(world, inputs), world.frames):
            large.setdefault(number.key, []).append(number.value)
    return {key: float(np.mean(some)) for key, some in large.items()}


def batch(world: World, place: int, true: dict[str, float], size: int = BATCH) -> Tallies:
    """The tallies of so many samples."""
    tallies: Tallies = {}
    for i in range(place * size, (place + 1) * size):
        inputs = world.draw(np.random.default_rng([SEED, 2, i]), world.n)
        for number in numbers(study(world, inputs), world.frames):
            true_value = true.get(number.key, np.nan) if np.isnan(number.truth) else number.truth
            tallies.setdefault(number.key, Tally()).add(number, true_value)
    return tallies


def kept_truth(world: str, folder: Folder) -> dict[str, float]:
    """The true values, drawn once for all sizes of a sample."""
    name = f"truth {_file(BY_NAME[world].kind)}"
    if (known := folder.read(name)) is None:
        known = truth(BY_NAME[world])
        folder.write(name, known)
    return known


def kept_batch(
    world: str, number: int, true: dict[str, float], folder: Folder, size: int = BATCH
) -> Tallies:
    """The tallies of a batch, drawn once."""
    name = f"{world} {number}"
    if (known := folder.read(name)) is None:
        known = {
            key: vars(tally) for key, tally in batch(BY_NAME[world], number, true, size).items()
        }
        folder.write(name, known)
    return {key: Tally(**counts) for key, counts in known.items()}


def take_over(world: str, folder: Folder, earlier: Folder) -> None:
    """Takes what an earlier state has of a world, if its first two batches come out the same but
    for rounding.
    """
    names = [f"truth {_file(BY_NAME[world].kind)}", f"{world} 0", f"{world} 1"]
    if not all((earlier.path / f"{name}.json").exists() for name in names):
        return
    true, *known = (earlier.read(name) or {} for name in names)
    drawn = [
        {key: vars(t) for key, t in batch(BY_NAME[world], number, true).items()}
        for number in range(2)
    ]
    if all(map(_same, drawn, known)):
        folder.write(names[0], true)
        for path in earlier.path.glob(f"{glob.escape(world)} *.json"):
            shutil.copy(path, folder.path)


def _same(drawn: dict, known: dict) -> bool:
    """Whether two batches have the same counts, and the same sums but for rounding."""
    if drawn.keys() != known.keys():
        return False
    pairs = [(list(drawn[key].values()), list(known[key].values())) for key in drawn]
    return all(np.allclose(*pair, rtol=1e-9, atol=0, equal_nan=True) for pair in pairs)


# The whole run ------------------------------------------------------------------------------------


def _prepare() -> None:
    """One thread a process, and no search of what is loaded for garbage: an eighth of the time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    pa.set_cpu_count(1)
    duck.sql("SET threads = 1", "DuckDB")


def run(
    worlds: Sequence[str], runs: int, workers: int, folder: Folder, earlier: Folder | None = None
) -> dict[str, Tallies]:
    """The tallies of every world, each from so many samples."""
    with _pool(workers) as pool:
        if earlier:
            list(pool.map(take_over, worlds, [folder] * len(worlds), [earlier] * len(worlds)))
        alike = list({BY_NAME[world].kind: world for world in worlds}.values())
        known = dict(zip(alike, pool.map(kept_truth, alike, [folder] * len(alike)), strict=True))
        by_kind = {BY_NAME[world].kind: true for world, true in known.items()}
    truths = {world: by_kind[BY_NAME[world].kind] for world in worlds}
    every = [(world, number) for number in range(runs // BATCH) for world in worlds]
    tallies: dict[str, Tallies] = {world: {} for world in worlds}
    for first in range(
        0, len(every), workers * TASKS
    ):  # new processes, as Python's own replacement of them can hang
        with _pool(workers) as pool:
            some = every[first : first + workers * TASKS]
            tasks = {
                pool.submit(kept_batch, world, number, truths[world], folder): world
                for world, number in some
            }
            for done, task in enumerate(as_completed(tasks), start=first + 1):
                if task.exception():
                    # at once, and not after an hour of the other batches
                    pool.shutdown(cancel_futures=True)
                for key, tally in task.result().items():
                    tallies[tasks[task]].setdefault(key, Tally()).merge(tally)
                _progress(done, len(every))
    return tallies


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=get_context("forkserver"), initializer=_prepare)


def so_far(worlds: Sequence[str], folder: Folder) -> dict[str, Tallies]:
    """The tallies of the batches that are done."""
    tallies: dict[str, Tallies] = {world: {} for world in worlds}
    for world in worlds:
        for path in folder.path.glob(f"{glob.escape(world)} *.json"):
            for key, counts in json.loads(path.read_text(encoding="utf-8")).items():
                tallies[world].setdefault(key, Tally()).merge(Tally(**counts))
    return tallies


def _progress(done: int, tasks: int) -> None:
    if sys.stderr.isatty():
        print(
            f"\r{done:,} of {tasks:,} batches",
            end="" if done < tasks else "\n",
            file=sys.stderr,
            flush=True,
        )


def main() -> int:
    """Runs the worlds that are asked for and writes the page; 1 where a cell that is not declared
    is out of bounds.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--size", choices=RUNS, default="full", help="full: 1,000 samples a world; quick: 50"
    )
    parser.add_argument(
        "--world",
        default="",
        help="only worlds whose report or name holds this text; writes no page",
    )
    parser.add_argument(
        "--series",
        action="store_true",
        help="only the worlds of forecasts of series and of distributions; writes their page",
    )
    parser.add_argument(
        "--runs", type=int, help="another number of samples a world; writes no page"
    )
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--fresh",
        type=int,
        choices=sorted({world.round for world in FRESH}),
        help="a round of worlds that no method was chosen by",
    )
    parser.add_argument(
        "--so-far", type=Path, help="a folder of .trust/: only the batches that are done there"
    )
    parser.add_argument(
        "--earlier", type=Path, help="a folder of .trust/: batches of an earlier state"
    )
    options = parser.parse_args()
    asked = (*WORLDS, *OWN_WORLDS)
    if options.fresh:
        asked = tuple(world for world in FRESH if world.round == options.fresh)
    if options.series:
        asked = OF_FORECASTS
    names = {name: world for name, world in BY_NAME.items() if world in asked}
    worlds = {
        name: world
        for name, world in names.items()
        if options.world in f"{world.report} {world.name}"
    }
    begin = time.monotonic()
    if options.so_far:
        tallies = so_far(list(worlds), Folder(options.so_far))
    else:
        earlier = Folder(options.earlier) if options.earlier else None
        tallies = run(
            list(worlds), options.runs or RUNS[options.size], options.j, Folder(), earlier
        )
    every = cells.cells(worlds, tallies)
    print(cells.summary(every, time.monotonic() - begin))
    if options.size == "full" and not (options.world or options.runs or options.fresh):
        if not options.series:
            trust_page.write(ROOT, every, seed=SEED)
        of_forecasts = [cell for cell in every if cell.world in OF_FORECASTS]
        trust_page.write_series(ROOT, of_forecasts, seed=SEED)
    return int(any(cell.state == "outside" for cell in every))


if __name__ == "__main__":
    sys.exit(main())
