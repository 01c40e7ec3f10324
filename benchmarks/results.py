"""What the benchmarks found, as stored in `found`: its claims against their bounds, the code it was
measured at, and all of it as RESULTS.md.

A stored result names the commit, the files that it covers and a digest of them. Where the digest
of today's code is another, its rows are marked as older than the code; comments and docstrings,
which take no time, do not count. `tests/readme_table.py` writes RESULTS.md and the table in
docs/performance.md again.
"""

import hashlib
import json
import platform
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from syntax import Module

from evalkit.machine import processors

ROOT = Path(__file__).resolve().parents[1]
FOUND = Path(__file__).resolve().parent / "found"
PACKAGES = ("numpy", "pandas", "pyarrow", "duckdb", "scipy", "scikit-learn")
HEAD = """# What the benchmarks measured

Made by `make bench` and `make outputs` from the stored results in `benchmarks/found`. Every ratio
is of one run on one machine, processor time unless it says otherwise; a machine that does other
work at the same time shows other ratios. The last column names the commit that was measured. A row
is *older than the code* if the code that it covers has changed since then.

"""
GROWTH = "![Time and memory against rows](growth.svg)\n"

# What a benchmark covers, as patterns of files
METRICS = ("evalkit/arrays.py", "evalkit/metrics/*.py")
STATISTICS = (*METRICS, "evalkit/catalogue/*.py", "evalkit/statistics/*.py")
READING = (*STATISTICS, "evalkit/limits.py", "evalkit/machine/*.py", "evalkit/reading/**/*.py")
STUDIES = (*READING, "evalkit/measured/*.py", "evalkit/studies/*.py")
REPORTS = ("evalkit/**/*.py",)


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

    def cells(self) -> str:
        """The ratio, its figure and its bound, as cells of a table."""
        sign, limit = self.bound.split()
        words = f"{'at least' if sign == '>=' else 'at most'} {float(limit):,g}"
        return f"| {self.what} | {number(self.figure)} | {words}{'' if self.kept else ', missed'} |"


@dataclass(frozen=True)
class Found:
    """What one benchmark claimed and printed, and when, where and of which code.

    covers: patterns of the files that it measures, itself among them; digest: of their contents.
    """

    claims: Sequence[Claim]
    printed: str
    day: str
    machine: str
    commit: str
    covers: Sequence[str]
    digest: str

    def save(self, name: str) -> None:
        """Store it."""
        FOUND.mkdir(exist_ok=True)
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        (FOUND / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Found":
        """What `save` wrote."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        return cls(**stored | {"claims": [Claim(**claim) for claim in stored["claims"]]})

    @property
    def state(self) -> str:
        """The commit, and whether the code is newer."""
        newer = digest(self.covers) != self.digest
        return f"`{self.commit}`{', older than the code' if newer else ''}"

    def rows(self) -> list[str]:
        """A row of the table for each claim."""
        state = self.state
        return [f"{claim.cells()} {state} |" for claim in self.claims]

    def section(self, name: str, usual: str) -> str:
        """Its part of RESULTS.md; usual: the machine that needs no mention."""
        where = "" if self.machine == usual else f" on {self.machine}"
        files = ", ".join(f"`{pattern}`" for pattern in self.covers)
        measured = f"Measured {self.day} at {self.state}{where}\n\nCovers {files}"
        return f"## {name}\n\n{measured}\n\n```text\n{self.printed}\n```\n"


def digest(covers: Sequence[str]) -> str:
    """Twelve digits that change with the code and the names of the files of these patterns."""
    files = {path for pattern in covers for path in ROOT.glob(pattern)}
    contents = hashlib.sha256()
    for path in sorted(files):
        contents.update(f"{path.relative_to(ROOT).as_posix()}\n".encode())
        contents.update(_code(path).encode())
    return contents.hexdigest()[:12]


def _code(path: Path) -> str:
    """The lines of a file that hold code, without comments of their own, docstrings and blanks."""
    module = Module(path, path.read_text(encoding="utf-8"))
    lines = module.text.splitlines()
    return "\n".join(lines[number - 1] for number in sorted(module.code))


def stored() -> dict[str, Found]:
    """The stored results, by benchmark."""
    return {path.stem: Found.load(path) for path in sorted(FOUND.glob("*.json"))}


def table(found: dict[str, Found]) -> str:
    """All claims, one a line."""
    head = ["| ratio | measured | bound | commit |", "|---|---|---|---|"]
    return "\n".join([*head, *(row for one in found.values() for row in one.rows())]) + "\n"


def text() -> str:
    """RESULTS.md."""
    found = stored()
    ((usual, _),) = Counter(one.machine for one in found.values()).most_common(1)
    sections = [one.section(name, usual) for name, one in found.items()]
    return f"{HEAD}{usual}\n\n{table(found)}\n{GROWTH}\n" + "\n".join(sections)


# Measuring ----------------------------------------------------------------------------------------


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


def processor() -> str:
    """The processor's name."""
    lines = processors.cpu_description().splitlines()
    models = (line.split(": ", 1)[1] for line in lines if line.startswith("model name"))
    return next(models, platform.processor())


def machine() -> str:
    """Processor, cores, memory and versions in one sentence."""
    lines = processors.cpu_description().splitlines()
    cores = sum(line.startswith("processor") for line in lines) or "?"
    memory = Path("/proc/meminfo")
    size = (
        int(memory.read_text(encoding="utf-8").split()[1]) / 2**20
        if memory.exists()
        else float("nan")
    )
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{processor()}, {cores} cores, {size:.0f} GiB, sorts {processors.sort_name()}; "
        f"Python {platform.python_version()}, {packages}."
    )


def revision() -> str:
    """The commit of the code that runs, and whether it was changed since; "unknown" without git."""
    try:
        commit = git("rev-parse", "--short=8", "HEAD")
        changed = git("status", "--porcelain", "--", "evalkit", "benchmarks/*.py")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit} and changes" if changed else commit


def git(*arguments: str) -> str:
    """What git prints of this checkout."""
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()
