"""What many tests look at, made once for all processes and all runs, until a source changes:
reports of the samples.
"""

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MADE = ROOT / ".samples"
REPORTS = sorted(path.stem for path in ROOT.glob("notebooks/*.ipynb"))


def state() -> str:
    """A hash of all that the reports of the samples are made from."""
    paths = [
        path
        for folder in ("evalkit", "notebooks", "data")
        for path in sorted((ROOT / folder).rglob("*.*"))
    ]
    digest = hashlib.sha256()
    for path in paths:
        if path.is_file() and path.suffix != ".pyc":
            digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def once(name: str, make: Callable[[Path], None]) -> Path:
    """The folder that `make` fills: once for all processes and all runs, until a source changes."""
    MADE.mkdir(exist_ok=True)
    with (MADE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        now = MADE / state()
        for folder in MADE.iterdir():
            if folder.is_dir() and folder != now:
                shutil.rmtree(folder)
        if not (now / name).exists():
            draft = now / f"{name}.part"
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
            make(draft)
            draft.rename(now / name)
    return now / name


def report(*arguments: str) -> None:
    """Run `evalkit report` as a user does."""
    subprocess.run(
        [sys.executable, "-m", "evalkit", "report", *arguments],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )


REPORT_EACH = """
import json, sys
from evalkit.__main__ import main
sys.exit(max(main(["report", *arguments]) for arguments in json.loads(sys.argv[1])))
"""


def report_each(commands: Sequence[Sequence[str]]) -> None:
    """Run `evalkit report` with each of these arguments in one process, which imports the package
    once.
    """
    subprocess.run(
        [sys.executable, "-c", REPORT_EACH, json.dumps(commands)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )


def reports() -> Path:
    """The folder of the reports of all bundled samples, made by one command."""
    return once("reports", lambda folder: report(*REPORTS, "-j", "2", "-o", str(folder)))
