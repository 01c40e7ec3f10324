"""The line of progress: drawn for those who watch, silent otherwise, gone afterwards."""

import io
import sys

import jupyter_client
import pytest

from evalkit import system


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(monkeypatch) -> Terminal:
    """A terminal in place of the error stream; not in a fixture, after which pytest sets the stream anew."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_a_terminal_sees_a_bar_that_goes(monkeypatch):
    terminal = watched(monkeypatch)
    with system.progress("reading", 1_000, "rows", patience=0) as draw:
        draw(250)
        draw(1_000)
    lines = terminal.getvalue().split("\r\x1b[K")
    assert lines == [
        "",
        f"reading [{'#' * 5}{'.' * 15}] 250 of 1,000 rows",
        f"reading [{'#' * 20}] 1,000 of 1,000 rows",
        "",
    ]


def test_an_unknown_total_shows_what_is_done(monkeypatch):
    terminal = watched(monkeypatch)
    with system.progress("reading", 0, "rows", patience=0) as draw:
        draw(5)
    assert "reading 5 rows" in terminal.getvalue()


def test_work_that_is_done_at_its_first_line_shows_nothing(monkeypatch):
    terminal = watched(monkeypatch)
    with system.progress("comparing", 1, "pairs", patience=0) as draw:
        draw(1)
    assert terminal.getvalue() == ""


def test_short_work_and_no_terminal_show_nothing(monkeypatch, capsys):
    terminal = watched(monkeypatch)
    with system.progress("reading", 10) as draw:
        draw(10)
    assert terminal.getvalue() == ""
    monkeypatch.undo()
    with system.progress("reading", 10, patience=0) as draw:
        draw(10)
    assert capsys.readouterr() == ("", "")


DRAWN = "from evalkit.system import progress\nwith progress('reading', 9, patience=0) as draw:\n    draw(3)"


@pytest.mark.parametrize("watched", [True, False])
def test_a_notebook_draws_only_for_a_person(watched):
    """Who runs a cell by hand can be asked for input; papermill, nbconvert and nbval, which store outputs, cannot."""
    with jupyter_client.run_kernel(kernel_name="python3") as kernel:
        shown: list[str] = []
        kernel.execute_interactive(
            DRAWN, allow_stdin=watched, output_hook=lambda message: shown.append(message["msg_type"]), timeout=60
        )
    assert bool(set(shown) & {"display_data", "update_display_data"}) is watched
    assert "error" not in shown
