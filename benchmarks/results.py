"""What a benchmark found, held against its bound; the machine it ran on; both as Markdown."""

import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from evalkit import system

PACKAGES = ("numpy", "pandas", "pyarrow", "duckdb", "scipy", "scikit-learn")
START, END = "<!-- claims -->\n", "<!-- end of claims -->\n"


@dataclass(frozen=True)
class Claim:
    """A ratio of one run; bound: what it must be, ">= 15" or "<= 3"."""

    what: str
    figure: float
    bound: str

    @property
    def kept(self) -> bool:
        """Whether the figure is within the bound."""
        sign, limit = self.bound.split()
        return self.figure >= float(limit) if sign == ">=" else self.figure <= float(limit)


def seconds(work: Callable[[], object], runs: int = 3) -> float:
    """The least processor time of `runs` runs."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def number(value: float) -> str:
    """Three figures, thousands parted.

    >>> number(13039.4), number(7.04), number(0.834)
    ('13,000', '7.0', '0.83')
    """
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def table(claims: Iterable[Claim]) -> str:
    """The claims, one a line."""
    rows = ["| ratio | measured | bound |", "|---|---|---|"]
    for one in claims:
        sign, limit = one.bound.split()
        words = f"{'at least' if sign == '>=' else 'at most'} {float(limit):,g}"
        rows.append(
            f"| {one.what} | {number(one.figure)} | {words}{'' if one.kept else ', missed'} |"
        )
    return "\n".join(rows) + "\n"


def machine() -> str:
    """Processor, cores, memory and versions in one sentence."""
    lines = (
        Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if Path("/proc/cpuinfo").exists()
        else []
    )
    model = next(
        (line.split(": ", 1)[1] for line in lines if line.startswith("model name")),
        platform.processor(),
    )
    cores = sum(line.startswith("processor") for line in lines) or "?"
    memory = Path("/proc/meminfo")
    size = (
        int(memory.read_text(encoding="utf-8").split()[1]) / 2**20
        if memory.exists()
        else float("nan")
    )
    found = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{model}, {cores} cores, {size:.0f} GiB, sorts {system.sort_is()}; "
        f"Python {platform.python_version()}, {found}."
    )
