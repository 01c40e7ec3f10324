"""A line of progress for long work, where a person watches: on a terminal or in Jupyter, never in stored output."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

EVERY = 0.3  # least seconds between two lines
PATIENCE = 2.0  # seconds of work before the first line


@contextmanager
def progress(what: str, total: int, unit: str = "", patience: float = PATIENCE) -> Iterator[Callable[[int], None]]:
    """Yield a function that redraws the line `what [####....] done of total unit`; short work draws nothing.

    total: 0 if unknown; the line then has no bar. patience: seconds of work before the first line.

    >>> with progress("reading", 3, "rows") as draw:
    ...     draw(3)
    """
    show, erase = _display(what)
    start = last = time.monotonic()
    drawn = False

    def draw(done: int) -> None:
        nonlocal last, drawn
        now = time.monotonic()
        first = not drawn and now - start >= patience and (done < total or not total)
        if first or (drawn and (done == total or now - last > EVERY)):
            last, drawn = now, True
            show(_line(what, done, total, unit))

    try:
        yield draw
    finally:
        if drawn:
            erase()


def _line(what: str, done: int, total: int, unit: str) -> str:
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


def _display(what: str) -> tuple[Callable[[str], Any], Callable[[], Any]]:
    """The functions that show and erase a line here; they do nothing where nobody watches."""
    if sys.stderr.isatty():

        def write(text: str) -> None:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

        return write, lambda: write("")
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    # Where a person runs a cell it may ask for input; papermill, nbval and nbconvert store what a cell shows.
    if not getattr(getattr(shell, "kernel", None), "_allow_stdin", False):
        return lambda text: None, lambda: None
    return _in_jupyter(what)


def _in_jupyter(what: str) -> tuple[Callable[[str], Any], Callable[[], Any]]:
    from IPython.display import clear_output, display

    handle: Any = None

    def show(text: str) -> None:
        nonlocal handle
        if handle is None:
            handle = display({"text/plain": what}, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        handle.update({"text/plain": text}, raw=True)

    return show, clear_output
