"""The line of progress, with a bar, for those who watch a terminal or a notebook."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from evalkit.machine.terminal import printable

INTERVAL = 0.3  # least seconds from one line to the next
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
        """Show the line for the amount done, if it is time for it: first after `patience` seconds,
        unless the work is done by then; later every `INTERVAL` seconds, and at the end.
        """
        nonlocal last_shown
        now = time.monotonic()
        if last_shown is None:
            is_unfinished = done < total or not total  # a total of 0 is unknown
            is_time = is_unfinished and now - start >= patience
        else:
            is_time = done == total or now - last_shown > INTERVAL
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
    return f"{what} {progress_bar_text(done, total)} {done:,} of {total:,} {unit}".rstrip()


def progress_bar_text(done: int, total: int) -> str:
    """A bar of 20 characters.

    >>> progress_bar_text(1, 4)
    '[#####...............]'
    """
    filled = round(20 * min(done / total, 1.0))
    return f"[{'#' * filled}{'.' * (20 - filled)}]"


def _display(what: str) -> tuple[Callable[[str], object], Callable[[], object]]:
    """Two functions, one that shows a line of text and one that erases it, in a terminal or in a
    Jupyter notebook; both do nothing if nobody watches, as in a script.
    """
    if sys.stderr.isatty():

        def write(text: str) -> None:
            sys.stderr.write(f"\r\x1b[K{printable(text)}")
            sys.stderr.flush()

        return write, lambda: write("")
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    # A kernel allows cells to ask for input if a person runs them. papermill, nbval and nbconvert
    # do not, and would store the line as an output.
    is_watched = getattr(getattr(shell, "kernel", None), "_allow_stdin", False)
    if is_watched:
        return _in_jupyter(what)
    return lambda text: None, lambda: None


def _in_jupyter(what: str) -> tuple[Callable[[str], object], Callable[[], object]]:
    """Two functions: one shows a line of text below the cell of a Jupyter notebook, in place of the
    line before; the other erases it. what: the text before the first line.
    """
    from IPython.display import clear_output, display

    handle: Any = None  # of the output that is updated

    def show(text: str) -> None:
        nonlocal handle
        if handle is None:  # the first line: make the output
            handle = display({"text/plain": what}, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        handle.update({"text/plain": text}, raw=True)

    return show, clear_output
