"""Build the wheel, install it as a user does, and use it from an empty folder: `make test-wheel`,
`make release`.

python tests/try_wheel.py            one report and one run of papermill, with the dependencies of
this
                                     environment
python tests/try_wheel.py --release  all reports, with dependencies of their own, on each Python
                                     from 3.11 that is there, and with the oldest versions that
                                     pyproject.toml allows
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPORTS = tuple(sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb")))
QUICKEST = ("validation",)
PYTHONS = tuple(f"3.{minor}" for minor in range(11, 20))
LARGEST = 2_200_000  # bytes of the wheel
OWN = "id,model,y_true,y_score\n" + "".join(
    f"{i},{model},{i % 2},{(i * step) % 97 / 97}\n"
    for i in range(60)
    for model, step in (("a", 53), ("b", 31))
)
BESIDE = ("polars",)  # whose frames are read too
USED = (
    *(
        "numpy",
        "pandas",
        "scipy",
        "matplotlib",
        "duckdb",
        "pyarrow",
        "scikit-learn",
        "papermill",
        "nbconvert",
    ),
    *("nbclient", "ipykernel", "jupyter_client", "psutil", "pyyaml"),
)
IN_PYTHON = """
import sys
from pathlib import Path
import evalkit as ek
import polars
assert (Path(ek.__file__).parent / "py.typed").is_file()
assert Path(sys.prefix) in Path(ek.__file__).parents
label, a, b = [0, 1] * 20, [i / 39 for i in range(40)], [0.5, 0.6, 0.7, 0.1] * 10
study = ek.classification(y_true=label, y_score={"a": a, "b": b})
print(study)
study.save("mine.html")
frame = polars.DataFrame({"label": label, "score_a": a, "score_b": b})
frame.write_parquet("polars.parquet")
columns = {"y_true": frame["label"], "y_score": {"a": frame["score_a"], "b": frame["score_b"]}}
others = ek.classification(frame), ek.classification("polars.parquet"), ek.classification(**columns)
for other in others:
    assert other.estimates.equals(study.estimates)
    assert other.comparisons.equals(study.comparisons)
"""


def main(arguments: Sequence[str]) -> None:
    """Try the wheel; an error ends the program."""
    release = "--release" in arguments
    with tempfile.TemporaryDirectory(prefix="wheel-") as place:
        wheel = build(Path(place))
        if not release:
            borrow(Path(place), wheel)
            return
        pythons = found_pythons()
        for version, python in pythons.items():
            attempt(Path(place), wheel, f"Python {version}", python)
        oldest = Path(place) / "oldest.txt"
        oldest.write_text("\n".join(lowest()) + "\n")
        version, python = next(iter(pythons.items()))
        attempt(Path(place), wheel, f"oldest dependencies, Python {version}", python, oldest)


def build(place: Path) -> Path:
    """The wheel of the files as they are; folders of an earlier build would bring files that are
    gone.
    """
    for leftover in ("build", "evalkit_reports.egg-info"):
        shutil.rmtree(ROOT / leftover, ignore_errors=True)
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(place), str(ROOT)])
    (wheel,) = place.glob("*.whl")
    assert wheel.stat().st_size < LARGEST, f"{wheel.name} has {wheel.stat().st_size:,} bytes"
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes")
    return wheel


def borrow(place: Path, wheel: Path) -> None:
    """Use the wheel in a new environment that sees the packages of this one, but not its
    evalkit.
    """
    environment = place / "venv"
    folder = place / "work"
    run([sys.executable, "-m", "venv", str(environment)])
    python = str(environment / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "install", "-q", "--no-deps", str(wheel)])
    run([*pip, "install", "-q", "--only-binary", ":all:", *BESIDE])
    library = run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()
    (Path(library) / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    # templates of nbconvert, kernels
    os.environ["JUPYTER_PATH"] = str(Path(sys.prefix) / "share" / "jupyter")
    run([*pip, "check"])
    folder.mkdir()
    use(environment / "bin", folder, QUICKEST)


def attempt(
    place: Path, wheel: Path, name: str, python: str, constraints: Path | None = None
) -> None:
    """Install the wheel and what it needs into a new environment, then use it in an empty
    folder.
    """
    start = time.perf_counter()
    environment = place / f"venv {name}"
    folder = place / f"work {name}"
    run([python, "-m", "venv", str(environment)])
    options = ["-c", str(constraints)] if constraints else []
    pip = [str(environment / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "install", "-q", "--only-binary", ":all:", *options, str(wheel), *BESIDE])
    installed = time.perf_counter()
    folder.mkdir()
    use(environment / "bin", folder, REPORTS)
    print(
        f"{name}: installed in {installed - start:.0f} s, tried in "
        f"{time.perf_counter() - installed:.0f} s"
    )
    listed = run([*pip, "freeze"]).lower()
    print(
        "  "
        + ", ".join(line for line in listed.splitlines() if line.split("==")[0] in (*USED, *BESIDE))
    )
    shutil.rmtree(environment)


def use(programs: Path, folder: Path, reports: Sequence[str]) -> None:
    """The reports on the samples, papermill on a copied notebook and data of the user's own, and
    Python.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
    (folder / "own.csv").write_text(OWN)

    def try_it(*command: str) -> str:
        return run([str(programs / command[0]), *command[1:]], folder, environment)

    try_it("evalkit", "report", *reports)
    made = {path.stem for path in (folder / "reports").glob("*.html")}
    assert made == set(reports), made
    (folder / "mine.ipynb").write_text(
        try_it("evalkit", "notebook", "classification"), encoding="utf-8"
    )
    try_it(
        "python",
        "-m",
        "papermill",
        "--engine",
        "evalkit",
        "mine.ipynb",
        "out.ipynb",
        "-p",
        "preds",
        "own.csv",
    )
    assert (folder / "out.html").is_file()
    try_it("python", "-c", IN_PYTHON)
    assert (folder / "mine.html").is_file()


def found_pythons() -> Mapping[str, str]:
    """Each Python from 3.11 of this machine: on the path, or under pyenv."""
    return {version: path for version in PYTHONS for path in _pythons(version)}


def _pythons(version: str) -> Iterator[str]:
    """The newest Python of a version, if there is one."""
    under_pyenv = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
    paths = [str(path) for path in under_pyenv[-1:]] or [shutil.which(f"python{version}")]
    yield from (path for path in paths if path)


def lowest() -> list[str]:
    """The lower bound of each dependency as a constraint."""
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "dependencies"
    ]
    bounds = [re.fullmatch(r"([\w-]+)>=([\w.]+)", dependency) for dependency in dependencies]
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound]


def run(
    command: Sequence[str], folder: Path = ROOT, environment: Mapping[str, str] | None = None
) -> str:
    """The output of a program; one that fails ends this one with what it printed."""
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        sys.exit(
            f"{' '.join(command)}\nended with "
            f"{ended.returncode}\n{ended.stdout[-2000:]}{ended.stderr[-4000:]}"
        )
    return ended.stdout


if __name__ == "__main__":
    main(sys.argv[1:])
