"""Pages of docs that are executed from top to bottom: examples of Python, commands, files.

A fence ``pycon`` is a doctest, ``bash`` a script, and ``text`` right after a script what it
prints. A fence whose first line is a comment with the name of a file, such as ``# policy.toml``,
is that file.
"""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (\w+\.\w+)\n")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NEEDS_COMMAND = re.compile(r"^(evalkit|papermill|python) ", re.MULTILINE)


class PlainSpaces(doctest.OutputChecker):
    """Tables keep some words together by a space that a page writes as any other."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(
            want.replace("\xa0", " "), got.replace("\xa0", " "), optionflags
        )


class Fence(NamedTuple):
    """A block of a page. printed: what a script prints, None if the page does not say."""

    language: str
    source: str
    printed: str | None
    line: int


def fences(page: Path) -> list[Fence]:
    """The blocks of a page, in order."""
    text = page.read_text("utf-8")
    return [
        Fence(match[1], match[2], match[3], text[: match.start()].count("\n") + 1)
        for match in FENCE.finditer(text)
    ]


def execute(page: Path, *, commands: bool) -> None:
    """Run a page in the working directory, which gets the folder `data`.

    commands: also scripts that start evalkit; without them only scripts that write files run.
    """
    Path("data").symlink_to(ROOT / "data")
    variables: dict[str, object] = {}
    for fence in fences(page):
        name = FILE.match(fence.source)
        if fence.language == "pycon":
            run_examples(page, fence, variables)
        elif fence.language == "bash" and (commands or not NEEDS_COMMAND.search(fence.source)):
            run_script(page, fence)
        elif name:
            Path(name[1]).write_text(fence.source, encoding="utf-8")


def run_examples(page: Path, fence: Fence, variables: dict[str, object]) -> None:
    """Run a block of examples as a doctest; the variables are those of the whole page."""
    test = doctest.DocTestParser().get_doctest(
        fence.source, variables, page.name, str(page), fence.line
    )
    assert test.examples, f"{page.name}:{fence.line}: no example"
    told: list[str] = []
    runner = doctest.DocTestRunner(PlainSpaces(), verbose=False, optionflags=OPTIONS)
    runner.run(test, out=told.append, clear_globs=False)
    variables.update(test.globs)
    assert not told, "".join(told)


def run_script(page: Path, fence: Fence) -> None:
    """Run a script with evalkit on the path, and compare what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-ec", fence.source],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    place = f"{page.name}:{fence.line}"
    assert ended.returncode == 0, f"{place}: {ended.stderr[-2000:]}"
    if fence.printed is not None:
        same = PlainSpaces().check_output(fence.printed, ended.stdout, OPTIONS)
        assert same, f"{place}: prints\n{ended.stdout}"
