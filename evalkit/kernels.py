"""Kernels: where one runs, and what surrounds it."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit import bundled, processor, scratch

SOCKET_PATH = 100  # bytes a Unix socket's path may have: 103 on macOS, 107 on Linux
SOCKET_NAME = len("/kernel-ipc-1") + 1
HOME_FOLDERS = (("XDG_CONFIG_HOME", ".config"), ("XDG_CACHE_HOME", ".cache"))
UNITS = "EVALKIT_UNITS"  # where a report leaves the file of the units
REPORTING = "EVALKIT_REPORTING"  # set where reports are made, and nobody looks anything up
SETTINGS = """
import sys

c = get_config()
c.InteractiveShellApp.ignore_cwd = True
c.HistoryManager.enabled = False
sys.modules["debugpy"] = None  # nobody debugs here, and it takes a sixth of the start
import ipykernel.debugger
del sys.modules["debugpy"]
"""


@contextmanager
def quiet(units: Path | None = None) -> Iterator[dict[str, Any]]:
    """Yield options for nbclient: stop the kernel at once, no times in the notebook, no kernel log on the terminal.

    The connection file, the sockets and the folder of IPython are in a temporary folder of this run, which is removed
    at the end. Otherwise jupyter_client would make them in the working directory, where two runs would answer each
    other's kernels, and IPython would write into the home folder. The environment is that of `surroundings`.
    units: where the kernel leaves the file of the units; None: nowhere.
    """
    from traitlets.config import Config

    with scratch.folder() as folder, surroundings(folder, units):
        # A kernel on TCP warns on every run that it is not encrypted; on a Unix socket it does not.
        fits = len(os.fsencode(folder)) + SOCKET_NAME <= SOCKET_PATH and os.name == "posix"
        manager = {"transport": "ipc"} if fits else {"transport": "tcp", "transport_encryption": "auto"}
        manager["connection_file"] = str(folder / "kernel.json")
        yield {"config": Config({"KernelManager": manager}), "shutdown_kernel": "immediate", "record_timing": False}


def import_scipy() -> None:
    """Import scipy's functions without numpy's tools for Fortran, which take as long as scipy itself.

    scipy asks numpy for each name that it lists, and numpy imports those tools where one asks for them. Whoever does so
    later has them.
    """
    import numpy

    if "f2py" in vars(numpy):
        return
    vars(numpy)["f2py"] = None
    try:
        import scipy.special  # noqa: F401
    finally:
        if vars(numpy)["f2py"] is None:
            del vars(numpy)["f2py"]


# What surrounds a kernel --------------------------------------------------------------------------------------


@contextmanager
def surroundings(folder: Path, units: Path | None = None) -> Iterator[None]:
    """Set the environment of a report, whose kernel imports nothing from the working directory.

    It writes only into `folder`. Otherwise a file such as pandas.py beside the data would be imported instead of the
    package. units: where it leaves the file of the units.
    """
    profile = folder / "ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(SETTINGS, encoding="utf-8")
    paths = [str(bundled.root())] if bundled.is_checkout() else []
    paths += [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    ours = {"IPYTHONDIR": str(folder / "ipython"), "PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(paths)}
    ours[REPORTING] = "1"
    if "MPLCONFIGDIR" not in os.environ and not _home_is_writable():
        ours["MPLCONFIGDIR"] = str(folder)
    ours |= {UNITS: str(units)} if units is not None else {}
    ours |= processor.remedy(os.environ)
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({name: value} if value is not None else {})


def _home_is_writable() -> bool:
    """True if matplotlib can store its list of fonts in its default folder."""
    places = [os.environ.get(name) or os.path.expanduser(f"~/{usual}") for name, usual in HOME_FOLDERS]
    return all(_writable(Path(place)) for place in places)


def _writable(folder: Path) -> bool:
    """True if the folder is writable, or can be made in its nearest parent that exists."""
    try:
        with tempfile.TemporaryFile(dir=nearest(folder)):
            return True
    except OSError:
        return False


def nearest(folder: Path) -> Path:
    """The folder itself if it exists, else its nearest parent that does."""
    return next(place for place in (folder, *folder.absolute().parents) if place.exists())


def clean(spill: str | None) -> None:
    """Stop the kernels that an interrupted run left behind, and remove their temporary folders."""
    import psutil

    kernels = [process for process in psutil.Process().children() if _is_kernel(process)]
    for kernel in kernels:
        kernel.kill()
    psutil.wait_procs(kernels, timeout=5)
    scratch.sweep()
    if spill and Path(spill).expanduser().is_dir():
        scratch.sweep(Path(spill).expanduser())


def end_processes() -> None:
    """End the processes that make reports beside this one, and the kernels of these."""
    import multiprocessing

    import psutil

    for process in multiprocessing.active_children():
        below = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        for child in below:
            child.kill()


def _is_kernel(process: Any) -> bool:
    """True if the process is a Jupyter kernel; other child processes are left alone."""
    import psutil

    try:
        return "ipykernel_launcher" in process.cmdline()
    except psutil.Error:  # it has just ended
        return False
