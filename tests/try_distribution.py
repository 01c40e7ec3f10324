"""Build the wheel and the sdist into dist and check them: `make distribution`.

python tests/try_distribution.py            names placeholders of pyproject.toml
python tests/try_distribution.py --publish  ends with an error if there are any
"""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
DESCRIBING = ("pyproject.toml", "CITATION.cff")
PLACEHOLDER = re.compile(r"^([\w-]+) ?[=:] .*(?:/OWNER/|\.example\b)", re.MULTILINE)


def main(arguments: Sequence[str]) -> None:
    """Build and check; an error ends the program."""
    shutil.rmtree(DIST, ignore_errors=True)
    build(DIST)
    time.sleep(2)  # the time of an archive has a resolution of two seconds
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        refuse_difference(digests(DIST), digests(Path(folder)))
    run("-m", "twine", "check", "--strict", *(str(path) for path in DIST.iterdir()))
    print(run("-m", "pyroma", "--min", "10", str(ROOT)).splitlines()[-2])
    for name, digest in digests(DIST).items():
        print(f"{digest}  {name}")
    unfilled = [name for name in DESCRIBING if PLACEHOLDER.search(text(name))]
    for name in unfilled:
        fields = ", ".join(PLACEHOLDER.findall(text(name)))
        print(f"{name} has placeholders to fill in: {fields}")
    if unfilled and "--publish" in arguments:
        sys.exit("not ready to be published")


def text(name: str) -> str:
    """The text of a file of this checkout."""
    return (ROOT / name).read_text(encoding="utf-8")


def build(folder: Path) -> None:
    """Build the sdist, and from it the wheel."""
    run("-m", "build", "--outdir", str(folder), str(ROOT))


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file, by its name."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


def refuse_difference(first: dict[str, str], second: dict[str, str]) -> None:
    """End the program if two builds differ."""
    if first != second:
        sys.exit(f"two builds of the same files differ:\n{first}\n{second}")


def run(*arguments: str) -> str:
    """The output of Python with these arguments; one that fails ends this program with it."""
    ended = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        sys.exit(f"python {' '.join(arguments)}:\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
    return ended.stdout


if __name__ == "__main__":
    main(sys.argv[1:])
