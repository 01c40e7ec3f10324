"""Jupyter kernels of reports: their options, what surrounds them, and the end of those that are
left behind.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from evalkit.machine import processors
from evalkit.machine.bundled_files import bundled_notebooks, bundled_root, package_folder
from evalkit.machine.folders import is_writable, remove_leftovers, scratch_folder

if TYPE_CHECKING:
    from psutil import Process

SOCKET_PATH = 100  # bytes a Unix socket's path may have: 103 on macOS, 107 on Linux
SOCKET_NAME = len("/kernel-ipc-1") + 1
HOME_FOLDERS = (("XDG_CONFIG_HOME", ".config"), ("XDG_CACHE_HOME", ".cache"))
UNITS = "EVALKIT_UNITS"  # where a report leaves the file of the units
REPORTING_VARIABLE = "EVALKIT_REPORTING"  # set where reports are made, and nobody looks anything up
KERNEL_CONFIG = """
import sys

c = get_config()
c.InteractiveShellApp.ignore_cwd = True
c.HistoryManager.enabled = False
sys.modules["debugpy"] = None  # nobody debugs here, and it takes a sixth of the start
import ipykernel.debugger
del sys.modules["debugpy"]
"""


@contextmanager
def kernel_options(units: Path | None = None) -> Iterator[dict[str, object]]:
    """Yield options for nbclient: stop the kernel at once, no times in the notebook, no kernel log
    on the terminal.

    The connection file, the sockets and the folder of IPython are in a temporary folder of this
    run, which is removed at the end. Otherwise jupyter_client would make them in the working
    directory, where two runs would answer each other's kernels, and IPython would write into the
    home folder. The environment is that of `surroundings`. units: where the kernel leaves the file
    of the units; None: nowhere.
    """
    from traitlets.config import Config

    with scratch_folder() as folder, surroundings(folder, units):
        # A kernel on TCP warns on every run that it is not encrypted; on a Unix socket it does not.
        socket_fits = len(os.fsencode(folder)) + SOCKET_NAME <= SOCKET_PATH
        manager = {"transport": "tcp", "transport_encryption": "auto"}
        if socket_fits and os.name == "posix":
            manager = {"transport": "ipc"}
        manager["connection_file"] = str(folder / "kernel.json")
        yield {
            "config": Config({"KernelManager": manager}),
            "shutdown_kernel": "immediate",
            "record_timing": False,
        }


@contextmanager
def surroundings(folder: Path, units: Path | None = None) -> Iterator[None]:
    """Set the environment variables of a report's kernel while the context lasts, and write its
    IPython profile into `folder`. units: where the kernel leaves the file of the units; None:
    nowhere.
    """
    profile = folder / "ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(KERNEL_CONFIG, encoding="utf-8")
    variables = {
        "IPYTHONDIR": str(folder / "ipython"),
        # Python does not import from the working directory, where a file such as pandas.py beside
        # the data would be imported in place of the package
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(_import_paths(profile)),
        REPORTING_VARIABLE: "1",
    }
    if "MPLCONFIGDIR" not in os.environ and not all(map(is_writable, _home_folders())):
        # where matplotlib could not store its list of fonts in its default folder
        variables["MPLCONFIGDIR"] = str(folder)
    if units is not None:
        variables[UNITS] = str(units)
    # what makes numpy's sort fast, where it is slow
    variables |= processors.fast_sort_variables(os.environ)
    with _environment(variables):
        yield


def _import_paths(profile: Path) -> list[str]:
    """The folders from which a kernel imports beside the installed packages: those of the user's
    PYTHONPATH, and before them, where evalkit runs from a checkout, the checkout. profile: the
    folder of the kernel's IPython profile, from which nothing is imported.
    """
    paths = []
    is_checkout = bundled_root() != package_folder() and bundled_notebooks().is_dir()
    if is_checkout:  # notebooks/ is beside the package
        # ipykernel removes the first path if it is the working directory, which may be the
        # checkout: the profile comes first so that the checkout stays
        paths = [str(profile), str(bundled_root())]
    paths += [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return paths


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables while the context lasts; then restore those that had a value, and
    remove the others.
    """
    values_before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in values_before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _home_folders() -> list[Path]:
    """The user's folders of settings and caches, in which matplotlib stores its list of fonts."""
    folders = []
    for variable, default in HOME_FOLDERS:
        folders.append(Path(os.environ.get(variable) or os.path.expanduser(f"~/{default}")))
    return folders


def clean(spill: str | None) -> None:
    """Stop the kernels that an interrupted run left behind, and remove its temporary folders.

    spill: the folder for temporary files of large inputs that the user set; None without one.
    """
    import psutil

    kernels = [process for process in psutil.Process().children() if _is_kernel(process)]
    for kernel in kernels:
        kernel.kill()
    psutil.wait_procs(kernels, timeout=5)
    remove_leftovers()
    if spill and Path(spill).expanduser().is_dir():
        remove_leftovers(Path(spill).expanduser())


def end_processes() -> None:
    """End the processes that make reports beside this one, and the kernels of these."""
    import multiprocessing

    import psutil

    for process in multiprocessing.active_children():
        descendants = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        for descendant in descendants:
            descendant.kill()


def _is_kernel(process: Process) -> bool:
    """True if the process is a Jupyter kernel; other child processes are left alone."""
    import psutil

    try:
        return "ipykernel_launcher" in process.cmdline()
    except psutil.Error:  # it has just ended
        return False
