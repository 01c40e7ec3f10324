"""How often the claims about learners and judges hold: `python benchmarks/trust/covered.py`.

Each cell of `learners.py` and `judges.py` draws samples and says of each whether an interval
contained the truth or a test rejected. Batches are appended to .trust/covered.jsonl, so that a
stopped run goes on where it was; `--so-far` only prints the table, `--cell TEXT` takes the cells
whose name holds the text. A bound that is missed by less than three standard errors is decided by
four times as many samples.
"""

import argparse
import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import judges
import learners
import numpy as np
from samples import Cell

SEED = 20261130
BATCH = 50
FACTOR = 4  # as many samples as before decide about a bound that is narrowly missed
FILE = Path(__file__).resolve().parents[2] / ".trust" / "covered.jsonl"


@dataclass
class Mean:
    """The mean of a measure over samples, from the number of samples where it is defined, the sum
    and the sum of squares.
    """

    runs: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """Count one sample; nothing if the measure is undefined."""
        if np.isfinite(value):
            self.runs += 1
            self.total += float(value)
            self.squares += float(value) ** 2

    def merge(self, other: "Mean") -> None:
        """Add the samples of another batch."""
        self.runs += other.runs
        self.total += other.total
        self.squares += other.squares

    @property
    def value(self) -> float:
        """The mean; NaN without samples."""
        return self.total / self.runs if self.runs else np.nan

    @property
    def error(self) -> float:
        """Its standard error."""
        if self.runs < 2:
            return np.nan
        variance = max(self.squares / self.runs - self.value**2, 0.0)
        return float(np.sqrt(variance / (self.runs - 1)))


@dataclass
class Outcome:
    """The means of a cell's measures, and the samples they are from."""

    runs: int = 0
    means: dict[str, Mean] = field(default_factory=dict)

    def merge(self, batch: dict[str, Mean], runs: int) -> None:
        """Add a batch."""
        self.runs += runs
        for name, mean in batch.items():
            self.means.setdefault(name, Mean()).merge(mean)


def missed(cell: Cell, outcome: Outcome) -> dict[str, float]:
    """The measures outside their bounds -> by how many standard errors."""
    far = {}
    for name, (least, most) in cell.bounds.items():
        mean = outcome.means.get(name, Mean())
        beyond = max(least - mean.value, mean.value - most)
        if beyond > 0:
            far[name] = beyond / mean.error if mean.error else np.inf
    return far


def wanted(cell: Cell, outcome: Outcome) -> int:
    """The samples that a cell wants, as far as is known."""
    if outcome.runs < cell.runs:
        return cell.runs
    if outcome.runs > cell.runs:
        return FACTOR * cell.runs
    narrowly = any(errors < 3 for errors in missed(cell, outcome).values())
    return FACTOR * cell.runs if narrowly else cell.runs


def stored(cells: Sequence[Cell]) -> dict[str, Outcome]:
    """What the batches that are done have found."""
    outcomes = {cell.name: Outcome() for cell in cells}
    if FILE.exists():
        for line in FILE.read_text(encoding="utf-8").splitlines():
            batch = json.loads(line)
            if batch["cell"] in outcomes:
                means = {name: Mean(*parts) for name, parts in batch["means"].items()}
                outcomes[batch["cell"]].merge(means, BATCH)
    return outcomes


def batch(cell: Cell, first: int) -> dict[str, Mean]:
    """The means of the samples from number `first` on."""
    means: dict[str, Mean] = {}
    for number in range(first, first + BATCH):
        rng = np.random.default_rng([SEED, zlib.crc32(cell.name.encode()), number])
        for name, value in cell.sample(rng).items():
            means.setdefault(name, Mean()).add(value)
    return means


def run(cells: Sequence[Cell]) -> dict[str, Outcome]:
    """Draw what is missing, one batch of each cell in turn."""
    outcomes = stored(cells)
    FILE.parent.mkdir(exist_ok=True)
    while waiting := [c for c in cells if outcomes[c.name].runs < wanted(c, outcomes[c.name])]:
        for cell in waiting:
            outcome = outcomes[cell.name]
            means = batch(cell, outcome.runs)
            outcome.merge(means, BATCH)
            line = {
                "cell": cell.name,
                "means": {name: [*vars(m).values()] for name, m in means.items()},
            }
            with FILE.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
    return outcomes


def lines(cells: Sequence[Cell], outcomes: dict[str, Outcome]) -> Iterator[str]:
    """One line for each measure of each cell."""
    for cell in cells:
        outcome = outcomes[cell.name]
        far = missed(cell, outcome)
        for name, mean in outcome.means.items():
            word = ""
            if name in far:
                word = f"outside by {far[name]:.1f} standard errors"
            elif name in cell.bounds:
                word = "inside"
            share = f"{mean.value:.4f} ± {mean.error:.4f}"
            undefined = outcome.runs - mean.runs
            yield f"{cell.name} | {name} | {outcome.runs} | {undefined} | {share} | {word}"


def main() -> int:
    """Run and print; 1 where a measure is outside its bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--so-far", action="store_true", help="only print what is done")
    parser.add_argument("--cell", default="", help="only cells whose name holds this text")
    options = parser.parse_args()
    every = [*judges.cells(), *learners.cells()]
    chosen = [cell for cell in every if options.cell in cell.name]
    outcomes = stored(chosen) if options.so_far else run(chosen)
    print("\n".join(lines(chosen, outcomes)))
    return int(any(missed(cell, outcomes[cell.name]) for cell in chosen))


if __name__ == "__main__":
    sys.exit(main())
