"""Kernels: where one runs, what surrounds it, and one that stays warm for several notebooks."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from evalkit import bundled, processor, scratch

SOCKET_PATH = 100  # bytes a Unix socket's path may have: 103 on macOS, 107 on Linux
SOCKET_NAME = len("/kernel-ipc-1") + 1
HOME_FOLDERS = (("XDG_CONFIG_HOME", ".config"), ("XDG_CACHE_HOME", ".cache"))
STARTING = Lock()  # the environment of this process is that of the kernel while one starts
UNITS = "EVALKIT_UNITS"  # where a kernel leaves the file of the units
REPORTING = "EVALKIT_REPORTING"  # set in a kernel that makes reports, in which nobody looks anything up
SETTINGS = """
import sys

c = get_config()
c.InteractiveShellApp.ignore_cwd = True
c.HistoryManager.enabled = False
c.InteractiveShellApp.exec_lines = [{first!r}]
sys.modules["debugpy"] = None  # nobody debugs here, and it takes a sixth of the start
import ipykernel.debugger
del sys.modules["debugpy"]
"""
AHEAD = "__import__('evalkit.kernels').kernels.ahead({imports!r})"  # no name stays
FORGET = "from evalkit import kernels; kernels.forget()"
SECONDS = 60  # for a warm kernel to answer


@contextmanager
def quiet(units: Path | None = None, imports: str = "") -> Iterator[dict[str, Any]]:
    """Yield options for nbclient: stop the kernel at once, no times in the notebook, no kernel log on the terminal.

    The connection file, the sockets and the folder of IPython are in a temporary folder of this run, which is removed
    at the end. Otherwise jupyter_client would make them in the working directory, where two runs would answer each
    other's kernels, and IPython would write into the home folder. The environment is that of `surroundings`.
    units: where the kernel leaves the file of the units; None: nowhere. imports: what it imports as it starts.
    """
    with scratch.folder() as folder, surroundings(folder, units, imports):
        yield _options(folder)


def _options(folder: Path) -> dict[str, Any]:
    """The options for nbclient of a kernel whose files are in a folder."""
    from traitlets.config import Config

    # A kernel on TCP warns on every run that it is not encrypted; on a Unix socket it does not.
    fits = len(os.fsencode(folder)) + SOCKET_NAME <= SOCKET_PATH and os.name == "posix"
    manager = {"transport": "ipc"} if fits else {"transport": "tcp", "transport_encryption": "auto"}
    manager["connection_file"] = str(folder / "kernel.json")
    return {"config": Config({"KernelManager": manager}), "shutdown_kernel": "immediate", "record_timing": False}


# A kernel for several notebooks -------------------------------------------------------------------------------


@dataclass(eq=False)
class Warm:
    """A kernel that runs one notebook after another: imports stay, variables and history do not.

    units: where it leaves the file of the units of each; None: nowhere.
    """

    folder: Path
    units: Path | None = None
    manager: Any = None
    clients: list[Any] = field(default_factory=list)

    def options(self, imports: str = "") -> dict[str, Any]:
        """Options for nbclient, with the kernel started, or as good as new. imports: what a new one starts with."""
        options = _options(self.folder)
        if self.manager is None:
            self.manager = self._started(options["config"], imports)
        else:
            self._ask(FORGET)
        return options | {"km": self.manager}

    def _started(self, config: Any, imports: str) -> Any:
        from jupyter_client.manager import AsyncKernelManager
        from nbclient.util import run_sync

        clients = self.clients

        class Manager(AsyncKernelManager):
            """A manager that closes the client of the notebook before: nbclient closes only those of its own."""

            def client(self, **options: Any) -> Any:
                while clients:
                    clients.pop().stop_channels()
                clients.append(super().client(**options))
                return clients[-1]

        manager = Manager(config=config, kernel_name="python3")
        with STARTING, surroundings(self.folder, self.units, imports):
            run_sync(manager.start_kernel)()
        return manager

    def _ask(self, code: str) -> None:
        """Run code in the kernel that leaves no trace in the history."""
        from jupyter_client.blocking.client import BlockingKernelClient

        client = BlockingKernelClient(connection_file=self.manager.connection_file)
        client.load_connection_file()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=SECONDS)
            client.execute_interactive(code, silent=True, store_history=False, timeout=SECONDS)
        finally:
            client.stop_channels()

    def stop(self) -> None:
        """Stop the kernel; the next notebook has a new one."""
        from nbclient.util import run_sync

        while self.clients:
            self.clients.pop().stop_channels()
        if self.manager is not None:
            run_sync(self.manager.shutdown_kernel)(now=True)
            self.manager = None


@contextmanager
def loop_of_thread() -> Iterator[None]:
    """Close the event loop that jupyter opens for this thread."""
    from jupyter_core.utils import ensure_event_loop

    try:
        yield
    finally:
        ensure_event_loop().close()


@contextmanager
def warm(units: Path | None = None) -> Iterator[Warm]:
    """Yield a kernel for several notebooks, which is stopped at the end. units: where it leaves those of each."""
    with scratch.folder() as folder:
        kernel = Warm(folder, units)
        try:
            yield kernel
        finally:
            kernel.stop()


def ahead(imports: str) -> None:
    """Inside a kernel that has just started: import what its notebook will, without the garbage collector.

    The collector would scan every import repeatedly, a tenth of a report's time; these objects are then never scanned.
    An import that fails is left to the cell that has it.
    """
    import gc
    from contextlib import suppress

    gc.disable()
    try:
        if imports:
            import_scipy()
        for statement in imports.splitlines():
            with suppress(Exception):
                exec(statement, {})
    finally:
        gc.freeze()
        gc.enable()


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


def forget() -> None:
    """Inside a kernel: drop the variables, the history and the figures of the notebook before."""
    import gc
    import sys

    from IPython import get_ipython  # type: ignore[attr-defined]

    get_ipython().reset(new_session=True)  # type: ignore[no-untyped-call]
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    gc.unfreeze()  # what caches of the notebook before held until now
    gc.collect()
    gc.freeze()


# What surrounds a kernel --------------------------------------------------------------------------------------


@contextmanager
def surroundings(folder: Path, units: Path | None = None, imports: str = "") -> Iterator[None]:
    """Set the environment of a kernel that imports nothing from the working directory and writes only into `folder`.

    Otherwise a file such as pandas.py beside the data would be imported instead of the package. units: where it leaves
    the file of the units. imports: the statements that it runs as it starts; see `ahead`.
    """
    profile = folder / "ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    settings = SETTINGS.format(first=AHEAD.format(imports=imports))
    (profile / "ipython_kernel_config.py").write_text(settings, encoding="utf-8")
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


def _is_kernel(process: Any) -> bool:
    """True if the process is a Jupyter kernel; other child processes are left alone."""
    import psutil

    try:
        return "ipykernel_launcher" in process.cmdline()
    except psutil.Error:  # it has just ended
        return False
