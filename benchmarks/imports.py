"""What it costs to begin: `import evalkit` and three of its names against `import numpy`, each in a
new process.
"""

import resource
import statistics
import subprocess
import sys

from results import STATISTICS, Claim

COVERS = (*STATISTICS, "evalkit/__init__.py")
ROUNDS = 15
NUMPY = "import numpy"
OURS = "import evalkit as ek; ek.count; ek.ndcg; ek.Estimate"


def spent(code: str) -> float:
    """Seconds of CPU, the interpreter's own start with them."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> list[Claim]:
    """Medians of rounds in turn."""
    rounds = [(spent(NUMPY), spent(OURS)) for _ in range(ROUNDS)]
    numpy, ours = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(
        f"{NUMPY}: {numpy * 1000:.0f} ms CPU\n{OURS}: {ours * 1000:.0f} ms CPU\nratio "
        f"{ours / numpy:.2f}"
    )
    return [Claim("import of evalkit and three names / import numpy", ours / numpy, "<= 1.3")]


if __name__ == "__main__":
    main()
