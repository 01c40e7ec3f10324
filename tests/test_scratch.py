"""Temporary folders: those of dead processes go, and a run that is stopped leaves nothing."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalkit.machine import folders

TOP = Path(__file__).resolve().parents[1]


def test_folders_of_dead_processes_go_and_others_stay(tmp_path):
    """Folders for temporary files are called evalkit-NUMBER-…, with the number of the process that
    made them. Making a new one removes those of processes that have ended, and no other folder.
    """
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    of_dead_process = f"evalkit-{dead.pid}-x"
    of_this_process = f"evalkit-{os.getpid()}-x"
    of_process_1 = "evalkit-1-x"  # which always runs
    without_number = "evalkit-mine"
    for name in (of_dead_process, of_this_process, of_process_1, without_number, "other"):
        (tmp_path / name).mkdir()
    new = folders.new_scratch_folder(tmp_path)
    left = {folder.name for folder in tmp_path.iterdir()}
    assert left == {of_this_process, of_process_1, without_number, "other", new.name}


@pytest.mark.skipif(os.name != "posix", reason="signals are sent to it")
def test_a_run_that_is_terminated_leaves_nothing(tmp_path):
    """The command evalkit report is terminated while its notebook runs. It exits with 128 + the
    number of the signal, and leaves neither temporary files nor a report.
    """
    temporary = tmp_path / "t"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(TOP)}
    command = [sys.executable, "-m", "evalkit", "report", "ranking", "-o", str(tmp_path / "out")]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as run:
        # a folder ipython among the temporary files shows that the notebook is run
        while not list(temporary.glob("*/ipython")) and run.poll() is None:
            time.sleep(0.02)
        run.send_signal(signal.SIGTERM)
        _, errors = run.communicate()
    assert run.returncode == 128 + signal.SIGTERM
    assert errors == "evalkit: terminated, nothing written\n"
    assert not list(temporary.iterdir())
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals are sent to it")
def test_a_signal_whose_exception_python_drops_ends_the_run_all_the_same():
    """Python drops an exception that is raised while it destroys an object. A signal that arrives
    then still ends the command.
    """
    program = """
import signal, sys, time
from evalkit import __main__ as command

class Destroyed:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)

def work(arguments):
    Destroyed()
    time.sleep(60)

command._refuse_bytes = work
sys.exit(command.main(["report"]))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 128 + signal.SIGTERM
    assert ended.stderr == "evalkit: terminated, nothing written\n"


@pytest.mark.skipif(os.name != "posix", reason="umask")
def test_a_umask_that_closes_files_to_their_owner_is_told_in_one_line(tmp_path):
    """With the umask 777 a process cannot read the files that it writes. The command exits with 1
    and one line that says so.
    """
    command = [sys.executable, "-m", "evalkit", "report", "ranking", "-o", str(tmp_path / "out")]
    ended = subprocess.run(command, cwd=TOP, umask=0o777, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert "umask must let you read what you write; set umask 022" in ended.stderr
    assert not (tmp_path / "out").exists()
