"""Processors whose AVX-512 sort is slow; the line of progress, for those who watch it."""

import io
import os
import subprocess
import sys

import jupyter_client
import numpy
import pytest

from evalkit import system

ZEN_4 = (
    "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: {model}\nmodel "
    "name\t: AMD EPYC\n"
)
FEATURES = system.dispatched()


SLOW = {1: False, 15: False, 16: True, 31: True, 33: False, 97: True, 160: True}
OTHERS = ("", "vendor_id : GenuineIntel\ncpu family : 25\nmodel : 17\n", "CPU part : 0xd40\n")


def test_zen_4_is_told_from_zen_3_and_other_processors():
    assert {model: system.sorts_slowly(ZEN_4.format(model=model)) for model in SLOW} == SLOW
    assert not any(map(system.sorts_slowly, OTHERS))


def test_what_the_user_set_stands(tmp_path):
    described = tmp_path / "cpuinfo"
    described.write_text(ZEN_4.format(model=17))
    assert system.remedy({system.SWITCH: ""}, described) == {}
    assert system.remedy({}, tmp_path / "none") == {}
    early = tuple(map(int, numpy.__version__.split(".")[:2])) < (2, 4)
    assert system.remedy({}, described) == {system.SWITCH: "AVX512_SKX" if early else "X86_V4"}


def test_numpy_is_not_imported_to_find_its_name():
    """numpy reads the variable when it is imported: afterwards it is too late."""
    code = "import sys; from evalkit import system\n"
    code += "system.described = lambda *_: 'vendor_id: AuthenticAMD\\ncpu family: 25\\nmodel: 17'\n"
    code += "print(system.remedy({}), 'numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.endswith("} False\n")
    assert system.SWITCH in run.stdout


def test_a_kernel_gets_it_and_this_process_does_not_keep_it(tmp_path, monkeypatch):
    monkeypatch.delenv(system.SWITCH, raising=False)
    monkeypatch.setattr(system, "remedy", lambda environment: {system.SWITCH: "X86_V4"})
    with system.surroundings(tmp_path):
        assert os.environ[system.SWITCH] == "X86_V4"
    assert system.SWITCH not in os.environ


@pytest.mark.skipif(
    not FEATURES, reason="this processor has no AVX-512, or numpy was told not to use it"
)
def test_numpy_takes_the_remedy_without_a_warning():
    code = "from evalkit import system; print(system.dispatched())"
    environment = os.environ | {system.SWITCH: " ".join(FEATURES)}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True
    )
    assert (run.stdout, run.stderr) == ("[]\n", "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(monkeypatch) -> Terminal:
    """A terminal in place of the error stream; not in a fixture, after which pytest sets the stream
    anew.
    """
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


@pytest.mark.parametrize(
    ("total", "done", "patience", "drawn"),
    [(0, 5, 0, "\r\x1b[Kreading 5 rows\r\x1b[K"), (1, 1, 0, ""), (10, 10, 1, "")],
    ids=["an unknown total", "done at its first line", "short work"],
)
def test_what_a_terminal_sees(monkeypatch, total, done, patience, drawn):
    terminal = watched(monkeypatch)
    with system.progress("reading", total, "rows", patience=patience) as draw:
        draw(done)
    assert terminal.getvalue() == drawn


def test_no_terminal_sees_nothing(capsys):
    with system.progress("reading", 10, patience=0) as draw:
        draw(10)
    assert capsys.readouterr() == ("", "")


DRAWN = (
    "from evalkit.system import progress\nwith progress('reading', 9, patience=0) as draw:\n    "
    "draw(3)"
)


@pytest.mark.parametrize("watched", [True, False])
def test_a_notebook_draws_only_for_a_person(watched):
    """Who runs a cell by hand can be asked for input; papermill, nbconvert and nbval, which store
    outputs, cannot.
    """
    with jupyter_client.run_kernel(kernel_name="python3") as kernel:
        shown: list[str] = []
        kernel.execute_interactive(
            DRAWN,
            allow_stdin=watched,
            output_hook=lambda message: shown.append(message["msg_type"]),
            timeout=60,
        )
    assert bool(set(shown) & {"display_data", "update_display_data"}) is watched
    assert "error" not in shown
