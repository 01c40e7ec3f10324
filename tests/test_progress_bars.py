"""The line of progress, for those who watch it."""

import io
import sys

import jupyter_client
import pytest

from evalkit.machine.progress_bars import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal_as_error_stream(monkeypatch) -> Terminal:
    """A terminal in place of the error stream; not in a fixture, after which pytest sets the stream
    anew.
    """
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_a_terminal_sees_a_bar_that_goes(monkeypatch):
    """The work is 1,000 rows, of which 250 and then all are done. With a patience of 0 seconds the
    bar is drawn at once. It has 20 places: 250 of 1,000 rows are 5 of them. Each new state
    overwrites the line, and at the end the line is erased.
    """
    terminal = terminal_as_error_stream(monkeypatch)
    with progress("reading", 1_000, "rows", patience=0) as draw:
        draw(250)
        draw(1_000)
    erase_line = "\r\x1b[K"
    assert terminal.getvalue() == (
        f"{erase_line}reading [{'#' * 5}{'.' * 15}] 250 of 1,000 rows"
        f"{erase_line}reading [{'#' * 20}] 1,000 of 1,000 rows"
        f"{erase_line}"
    )


@pytest.mark.parametrize(
    ("total", "done", "patience", "drawn"),
    [(0, 5, 0, "\r\x1b[Kreading 5 rows\r\x1b[K"), (1, 1, 0, ""), (10, 10, 1, "")],
    ids=["an unknown total", "done at its first line", "short work"],
)
def test_what_a_terminal_sees(monkeypatch, total, done, patience, drawn):
    terminal = terminal_as_error_stream(monkeypatch)
    with progress("reading", total, "rows", patience=patience) as draw:
        draw(done)
    assert terminal.getvalue() == drawn


def test_no_terminal_sees_nothing(capsys):
    with progress("reading", 10, patience=0) as draw:
        draw(10)
    assert capsys.readouterr() == ("", "")


CODE_WITH_PROGRESS = (
    "from evalkit.machine.progress_bars import progress\n"
    "with progress('reading', 9, patience=0) as draw:\n    draw(3)"
)


@pytest.mark.parametrize("allows_input", [True, False])
def test_a_notebook_draws_only_for_a_person(allows_input):
    """A person who runs a cell can be asked for input; papermill, nbconvert and nbval, which store
    outputs, cannot. The cell shows progress by a bar. A kernel that may ask for input draws it, as
    a displayed output; one that may not draws none.
    """
    types_of_messages: set[str] = set()
    with jupyter_client.run_kernel(kernel_name="python3") as kernel:
        kernel.execute_interactive(
            CODE_WITH_PROGRESS,
            allow_stdin=allows_input,
            output_hook=lambda message: types_of_messages.add(message["msg_type"]),
            timeout=60,
        )
    is_drawn = not types_of_messages.isdisjoint({"display_data", "update_display_data"})
    assert is_drawn is allows_input
    assert "error" not in types_of_messages
