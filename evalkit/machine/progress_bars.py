"""The line of progress, with a bar, for those who watch a terminal or a notebook."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from evalkit.machine.terminal import printable

EVERY = 0.3  # least seconds between two lines
PATIENCE = 2.0  # seconds of work before the first line


@contextmanager
def progress(
    what: str, total: int, unit: str = "", patience: float = PATIENCE
) -> Iterator[Callable[[int], None]]:
    """Yield a function of the amount that is done, which redraws the line `what [####....] done of
    total unit`; short work draws nothing.

    total: 0 if unknown; the line then has no bar. patience: seconds of work before the first line.

    >>> with progress("reading", 3, "rows") as draw:
    ...     draw(3)
    """
    show, erase = _display(what)
    start = time.monotonic()
    last_shown: float | None = None

    def draw(done: int) -> None:
        nonlocal last_shown
        now = time.monotonic()
        if last_shown is None:
            is_time = now - start >= patience and (done < total or not total)
        else:
            is_time = done == total or now - last_shown > EVERY
        if is_time:
            last_shown = now
            show(_progress_line(what, done, total, unit))

    try:
        yield draw
    finally:
        if last_shown is not None:
            erase()


def _progress_line(what: str, done: int, total: int, unit: str) -> str:
    """The line with its bar, or without if the total is unknown."""
    if not total:
        return f"{what} {done:,} {unit}".rstrip()
    return f"{what} {bar(done, total)} {done:,} of {total:,} {unit}".rstrip()


def bar(done: int, total: int) -> str:
    """A bar of 20 characters.

    >>> bar(1, 4)
    '[#####...............]'
    """
    filled = round(20 * min(done / total, 1.0))
    return f"[{'#' * filled}{'.' * (20 - filled)}]"


def _display(what: str) -> tuple[Callable[[str], object], Callable[[], object]]:
    """The functions that show and erase a line here; they do nothing if nobody watches."""
    if sys.stderr.isatty():

        def write(text: str) -> None:
            sys.stderr.write(f"\r\x1b[K{printable(text)}")
            sys.stderr.flush()

        return write, lambda: write("")
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    # Where a person runs a cell it may ask for input; papermill, nbval and nbconvert store what a
    # cell shows.
    is_watched = getattr(getattr(shell, "kernel", None), "_allow_stdin", False)
    if is_watched:
        return _in_jupyter(what)
    return lambda text: None, lambda: None


def _in_jupyter(what: str) -> tuple[Callable[[str], object], Callable[[], object]]:
    """The functions that show and erase a line below a cell. what: of the line, before it has an
    amount.
    """
    from IPython.display import clear_output, display

    handle: Any = None

    def show(text: str) -> None:
        nonlocal handle
        if handle is None:
            handle = display({"text/plain": what}, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        handle.update({"text/plain": text}, raw=True)

    return show, clear_output
