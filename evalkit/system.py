"""The machine and the process: processors, threads, folders, progress, packed files, files that
come with evalkit.
"""

from __future__ import annotations

import copy
import errno
import importlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager
from contextvars import copy_context
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from psutil import Process

SWITCH = "NPY_DISABLE_CPU_FEATURES"
# what dispatches numpy's AVX-512 sort of 32 and 64 bits: from 2.4 on, and before
SORTS = ("X86_V4", "AVX512_SKX")
ZEN_4 = ((0x10, 0x1F), (0x60, 0x7F), (0xA0, 0xAF))  # models of family 25
CPUINFO = Path("/proc/cpuinfo")
PACKED = {".gz", ".zst", ".bz2", ".lz4"}


Function = TypeVar("Function", bound=Callable[..., Any])


def cached(function: Function) -> Function:
    """A function of an object and further arguments whose results are cached with the object, as
    `cached_property` does.

    >>> class Study: ...
    >>> calls = []
    >>> count = cached(lambda study, by: calls.append(by))
    >>> study = Study()
    >>> count(study, 1), count(study, 1), count(study, 2), calls
    (None, None, None, [1, 2])
    """
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def with_cache(self: Any, *args: Any) -> Any:
        results = vars(self).setdefault(name, {})
        if args not in results:
            results[args] = function(self, *args)
        return results[args]

    return with_cache  # type: ignore[return-value]  # of the same signature


def sorts_slowly(cpuinfo: str) -> bool:
    """Return whether the first processor that Linux describes is an AMD Zen 4.

    It executes the compress-store instruction of numpy's AVX-512 sort in microcode, and sorts about
    seven times more slowly than with AVX2 (github.com/numpy/x86-simd-sort/issues/6).

    >>> sorts_slowly("vendor_id\\t: AuthenticAMD\\ncpu family\\t: 25\\nmodel\\t\\t: 17\\n")
    True
    >>> sorts_slowly("vendor_id\\t: AuthenticAMD\\ncpu family\\t: 26\\nmodel\\t\\t: 2\\n")  # Zen 5
    False
    """
    facts: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    if facts.get("vendor_id") != "AuthenticAMD" or facts.get("cpu family") != "25":
        return False
    model = facts.get("model", "")
    return model.isdigit() and any(low <= int(model) <= high for low, high in ZEN_4)


def remedy(environment: Mapping[str, str], cpuinfo: Path = CPUINFO) -> dict[str, str]:
    """Return what to add to the environment of a Python process that sorts; empty unless it would
    sort slowly.

    A value that the user has set, even an empty one, is kept. numpy, which is not imported here,
    reads it at its import.
    """
    if SWITCH in environment or not sorts_slowly(described(cpuinfo)):
        return {}
    from importlib.metadata import version

    since_2_4, before_2_4 = SORTS
    major_and_minor = tuple(map(int, version("numpy").split(".")[:2]))
    feature = before_2_4 if major_and_minor < (2, 4) else since_2_4
    return {SWITCH: feature}


def dispatched() -> list[str]:
    """Return the features by which this numpy chooses its AVX-512 sort and that are enabled in this
    process.
    """
    numpy: Any = importlib.import_module("numpy._core._multiarray_umath")
    return [
        name
        for name in SORTS
        if name in numpy.__cpu_dispatch__ and numpy.__cpu_features__.get(name)
    ]


def sort_is() -> str:
    """Return the name of the sort in this process, for a benchmark or a report on the machine."""
    return "with AVX-512" if dispatched() else "without AVX-512"


def described(cpuinfo: Path = CPUINFO) -> str:
    """Return Linux's description of its processors; "" on other systems."""
    try:
        return cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return ""


def this_one_sorts_slowly() -> bool:
    """Return whether this process sorts slowly: on a Zen 4 with its AVX-512 sort enabled."""
    return sorts_slowly(described(CPUINFO)) and bool(dispatched())


Item = TypeVar("Item")
Made = TypeVar("Made")


def ordered(
    function: Callable[[Item], Made], items: Iterable[Item], threads: int
) -> Iterator[Made]:
    """Yield the result of `function` for each item, in the order of the items.

    At most threads + 1 items are taken before the first of their results is used. With one thread,
    the caller's is used. An error is raised in place of its item, after the work that has begun;
    nothing else is started then.

    >>> list(ordered(abs, [-3, 2, -1], 2))
    [3, 2, 1]
    """
    if threads == 1:
        yield from map(function, items)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Made]] = deque()
        try:
            for item in items:
                # with numpy's errstate of the caller
                waiting.append(pool.submit(copy_context().run, function, item))
                del item  # its result alone is kept: the rows of a shard are large
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


OWN = 0o700  # what the owner of a folder may do
SCRATCH = re.compile(r"evalkit-(\d+)-.*")


def new_scratch_folder(parent: Path | None = None) -> Path:
    """Make a folder in `parent` or the system's temporary folder; the caller removes it. Raises
    OSError.
    """
    parent = parent or Path(tempfile.gettempdir())
    sweep(parent)
    path = Path(tempfile.mkdtemp(prefix=f"evalkit-{os.getpid()}-", dir=parent))
    if path.stat().st_mode & OWN != OWN:
        path.rmdir()
        raise PermissionError(
            errno.EACCES, "umask must let you read what you write; set umask 022", str(parent)
        )
    return path


def working_directory() -> Path | None:
    """The working directory; None if it was removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


@contextmanager
def working_in(folder: Path | None) -> Iterator[None]:
    """A context in which relative paths are those of this folder, if it is known."""
    if folder in (None, working_directory()):
        yield
        return
    with chdir(folder):
        yield


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a temporary folder, which is removed at the end. Raises OSError."""
    path = new_scratch_folder()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def sweep(parent: Path | None = None) -> None:
    """Remove the folders of processes that have ended."""
    for folder in (parent or Path(tempfile.gettempdir())).glob("evalkit-*"):
        name = SCRATCH.fullmatch(folder.name)
        if name and os.name == "posix" and not alive(int(name[1])):
            shutil.rmtree(folder, ignore_errors=True)


def alive(process: int) -> bool:
    """True if a process with this number runs, of any user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


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


# of terminals: what moves the cursor, sets colours and titles, or turns the direction of text
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """A text without control characters, which names in an input may contain; these are escaped.

    >>> printable("a\x1b[31m")
    'a\\\\x1b[31m'
    """
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def show(text: object, stream: TextIO | None = None) -> None:
    """Print a text, by default on stdout; what the terminal cannot show is escaped."""
    stream = stream or sys.stdout
    encoding = stream.encoding or "utf-8"
    encodable = printable(str(text)).encode(encoding, "backslashreplace").decode(encoding)
    print(encodable, file=stream, flush=True)


def show_line(text: object, stream: TextIO | None = None) -> None:
    """Print a text in one line, as `show` does; line breaks in it are escaped."""
    show(str(text).replace("\n", "\\n"), stream)


def _display(what: str) -> tuple[Callable[[str], object], Callable[[], object]]:
    """The functions that show and erase a line here; they do nothing if nobody watches."""
    if sys.stderr.isatty():

        def write(text: str) -> None:
            sys.stderr.write(f"\r\x1b[K{printable(text)}")
            sys.stderr.flush()

        return write, lambda: write("")
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    # Where a person runs a cell it may ask for input; papermill, nbval and nbconvert store what a
    # cell shows.
    if not getattr(getattr(shell, "kernel", None), "_allow_stdin", False):
        return lambda text: None, lambda: None
    return _in_jupyter(what)


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


def unpacked(path: Path) -> Any:
    """Open a file as a stream of bytes, decompressed if its suffix names a compression."""
    import pyarrow as pa

    return pa.input_stream(str(path), compression="detect")


def plain(path: Path) -> Path:
    """The path without suffixes of compression.

    >>> plain(Path("runs/samples_gsm8k.jsonl.gz")).name, plain(Path("bm25.run")).name
    ('samples_gsm8k.jsonl', 'bm25.run')
    """
    while path.suffix.lower() in PACKED:
        path = path.with_suffix("")
    return path


@cache
def package_folder() -> Path:
    """The folder of the package, determined when called, because workers of a cluster have modules
    without files.
    """
    from importlib.resources import files

    return Path(os.fspath(files("evalkit"))).resolve()  # type: ignore[call-overload]


@cache
def bundled_root() -> Path:
    """The folder with notebooks/ and data/.

    It is a path, not a stream, because papermill, Jupyter and DuckDB open files themselves.
    """
    if (package_folder() / "notebooks").is_dir():
        return package_folder()
    return package_folder().parent


def bundled_notebooks() -> Path:
    """The folder of the notebooks that can be called by name."""
    return bundled_root() / "notebooks"


def blank(notebook: NotebookNode) -> str:
    """The text of a notebook without outputs."""
    import nbformat

    blanked = copy.deepcopy(notebook)
    for cell in blanked.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
    return str(nbformat.writes(blanked))


# Kernels ------------------------------------------------------------------------------------------

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


def import_scipy() -> None:
    """Import scipy's functions without numpy's tools for Fortran, which take as long to import as
    scipy itself.

    scipy asks numpy for every name that it lists, and numpy imports these tools on request. Later
    requests get them.
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


# What surrounds a kernel --------------------------------------------------------------------------


@contextmanager
def surroundings(folder: Path, units: Path | None = None) -> Iterator[None]:
    """Set the environment of a report, whose kernel imports nothing from the working directory.

    It writes only into `folder`. Otherwise a file such as pandas.py beside the data would be
    imported instead of the package. units: where it leaves the file of the units.
    """
    profile = folder / "ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(SETTINGS, encoding="utf-8")
    # notebooks/ beside the package
    checkout = bundled_root() != package_folder() and bundled_notebooks().is_dir()
    # ipykernel removes the first path if it is the working directory, which may be the checkout
    paths = [str(profile), str(bundled_root())] if checkout else []
    paths += [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    variables = {
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(paths),
        REPORTING: "1",
    }
    if "MPLCONFIGDIR" not in os.environ and not all(map(_writable, _home_folders())):
        # where matplotlib could not store its list of fonts in its default folder
        variables["MPLCONFIGDIR"] = str(folder)
    if units is not None:
        variables[UNITS] = str(units)
    variables |= remedy(os.environ)
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
    sweep()
    if spill and Path(spill).expanduser().is_dir():
        sweep(Path(spill).expanduser())


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
