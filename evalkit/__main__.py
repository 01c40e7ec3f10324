"""The command line: `evalkit report NOTEBOOK… -p NAME VALUE … -o FOLDER`, `evalkit inspect FILE…`
and others.

`evalkit notebook NOTEBOOK > mine.ipynb` copies one to adapt.

Exit status: 0 done, 1 the run failed, 2 bad input or parameter (one line says which, nothing is
written), 3 a gate failed (the report is written).
"""

import argparse
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

if __name__ == "__main__":
    checkout = str(Path(__file__).resolve().parents[1])
    if sys.path[0] == os.getcwd() != checkout:
        # `python -m evalkit` would import a file such as pandas.py from beside the data
        del sys.path[0]

try:
    # the other package has no __all__
    from evalkit import __all__ as _public, __version__  # noqa: F401
except ImportError as error:  # installed beside the other `evalkit`, or that one was uninstalled
    sys.exit(
        f"evalkit: its folder is damaged by the unrelated distribution 'evalkit' ({error}); run: "
        f"pip uninstall -y evalkit evalkit-reports, then install evalkit-reports again"
    )

from evalkit.commands import requests
from evalkit.commands.requests import DONE, FAILED, REFUSED, RequestRefused
from evalkit.machine import folders, kernels, processors, terminal
from evalkit.machine.bundled_files import bundled_notebooks

INTERRUPTED = 130  # what a shell reports for a command ended by Ctrl-C
TERMINATED = 143  # and by `kill`
CLOSED = 141  # and by a closed pipe
STATUS = "exit status: 0 done, 1 the run failed, 2 bad input or parameter, 3 a gate failed"
KEPT = "exit status: 0 every rule is kept, 2 bad input, 3 a rule is not kept"
# new objects before garbage is looked for: Python's 700 go through every import many times
COLLECTED = 50_000
AGAIN = 0.01  # seconds after which a stop that Python dropped is tried again
Command = Callable[[argparse.Namespace], int]


class Terminated(BaseException):
    """This process was stopped with `kill`."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise Refused with the message of argparse and a reference to the help."""
        extra = message.removeprefix("unrecognized arguments: ").split(" ")[0]
        raise RequestRefused(f"{message}{requests.advice_to_quote(extra)} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None, notebooks: Path | None = None) -> int:
    """Run the command line and return its exit status. notebooks: the folder of notebooks that are
    called by name.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)
        if os.name == "posix":  # elsewhere a process cannot send itself a signal
            sys.unraisablehook = _stop_again
    try:
        if arguments is None:
            arguments = sys.argv[1:]
        _refuse_bytes(arguments)
        options = _parser(notebooks or bundled_notebooks()).parse_args(arguments)
        return int(options.run(options))
    except RequestRefused as error:
        return requests.print_message(str(error), REFUSED)
    except BrokenPipeError:  # whoever reads the output has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED
    except OSError as error:  # a temporary folder that cannot be made
        return requests.print_message(
            f"run failed: {error.filename or 'output'}: {error.strerror}", FAILED
        )
    except KeyboardInterrupt:
        return requests.print_message("interrupted, nothing written", INTERRUPTED)
    except Terminated:
        return requests.print_message("terminated, nothing written", TERMINATED)


def _refuse_bytes(arguments: Sequence[str]) -> None:
    """Raise Refused for an argument, such as the name of a file, that is not in UTF-8."""
    for text in arguments:
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise RequestRefused(
                f"arguments and names of files must be UTF-8, got {text!r}; rename it"
            )


def run() -> NoReturn:
    """The command as started by the shell: run the command line and end the process.

    A stopped run ends at once, because its kernel's client could wait for ever on sockets while
    Python closes. By then its kernel is stopped, and its temporary folder removed.
    """
    gc.set_threshold(COLLECTED)
    os.environ.update(processors.fast_sort_variables(os.environ))
    # one report makes thousands of products so small that threads of BLAS only wait for each other
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    status = main()
    if status in (INTERRUPTED, TERMINATED):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _terminate(*_: object) -> NoReturn:
    """End this process as on `kill`: the handler of that signal."""
    raise Terminated


def _stop_again(dropped: "sys.UnraisableHookArgs") -> None:
    """Hook for an exception that Python drops, because a function raised it that Python itself
    calls, such as when an import frees its lock: a signal may arrive there. The process is then
    stopped a moment later; other exceptions are shown as usual.
    """
    signals = {Terminated: signal.SIGTERM, KeyboardInterrupt: signal.SIGINT}
    if dropped.exc_type in signals:
        arguments = [os.getpid(), signals[dropped.exc_type]]
        threading.Timer(AGAIN, os.kill, arguments).start()
    else:
        sys.__unraisablehook__(dropped)


def _parser(notebooks: Path) -> argparse.ArgumentParser:
    """The parser of all commands. notebooks: the folder of those that are called by name."""
    parser = Parser(prog="evalkit", description="Reports on predictions: one command, one page.")
    version = f"evalkit {__version__}"
    parser.add_argument(
        "--version", action="version", version=version, help="print the version and exit"
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)

    def command(name: str, run: Command, meaning: str, **options: Any) -> argparse.ArgumentParser:
        """Add a command, and return its parser. options: of argparse."""
        added = commands.add_parser(name, help=meaning, **options)
        added.set_defaults(run=run, folder_of_notebooks=notebooks)
        return added

    meaning = "run a notebook and write its page, executed notebook and results"
    _add_report(command("report", _report, meaning, epilog=STATUS, add_help=False))
    meaning = "compare two reports, or those of two folders by name, unit by unit"
    _add_diff(command("diff", _command_of("batch", "diff"), meaning, epilog=STATUS))
    meaning = "say whether a report keeps the rules of a policy"
    _add_check(command("check", _command_of("gates", "main"), meaning, epilog=KEPT))
    meaning = "print the first screen of a report as Markdown, or write it as a mail"
    _add_summary(command("summary", _command_of("summary", "main"), meaning))
    meaning = "write one page, index.html, of all reports in a folder"
    index = command("index", _command_of("index", "main"), meaning)
    meaning = "a folder of reports; its subfolders are read too"
    index.add_argument("folder", type=Path, metavar="FOLDER", help=meaning)
    meaning = "print a notebook's parameters, their defaults and meaning"
    listing = command("parameters", _parameters, meaning)
    listing.add_argument("notebook", metavar="NOTEBOOK", help=NAMED)
    listing.add_argument("--json", action="store_true", help="as a JSON schema")
    meaning = "say what is in files of predictions and what a report refuses"
    _add_inspect(command("inspect", _command_of("checks", "inspect"), meaning))
    meaning = "say by which convention another tool's value of a metric differs"
    _add_explain(command("explain", _command_of("explain", "main"), meaning))
    meaning = "print a notebook to adapt: evalkit notebook ranking > mine.ipynb"
    notebook = command("notebook", _notebook, meaning)
    notebook.add_argument("notebook", metavar="NOTEBOOK", help=NAMED)
    meaning = "check this installation: versions, kernel, folders, Spark"
    command("doctor", _command_of("checks", "doctor"), meaning)
    return parser


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `evalkit inspect`."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="files, folders or patterns, read as one input each",
    )
    meaning = "the report that they are for; default: every one that fits"
    parser.add_argument("--report", metavar="NOTEBOOK", help=meaning)
    meaning = "say what the files hold, and why the other reports refuse them"
    parser.add_argument("--why", action="store_true", help=meaning)
    _add_parameters(parser)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `evalkit explain`."""
    parser.add_argument("metric", metavar="METRIC", help="a metric, such as roc_auc or ndcg@10")
    meaning = "the value that the other tool gives, with all digits that it prints"
    parser.add_argument("--theirs", required=True, metavar="NUMBER", help=meaning)
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="files, folders or patterns, read as one input"
    )
    _add_parameters(parser)


def _add_report(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `evalkit report`."""
    meaning = "show this message, after NOTEBOOK also its parameters, and exit"
    parser.add_argument("-h", "--help", action=_Help, nargs=0, help=meaning)
    parser.add_argument(
        "notebook",
        nargs="*",
        metavar="NOTEBOOK",
        help=f"{NAMED}; several make one report each, none the one that reads preds best",
    )
    _add_parameters(parser)
    _add_written(parser, "the notebook's name")
    meaning = (
        'one report for each file that matches, such as "data/*.csv", as preds; "log=…" for '
        "another parameter"
    )
    parser.add_argument("--each", metavar="PATTERN", help=meaning)
    meaning = (
        "skip a report whose inputs, parameters and versions have not changed; reports with a "
        "notebook, metrics or a policy file of your own are always made"
    )
    parser.add_argument("--if-changed", action="store_true", help=meaning)


def _add_diff(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `evalkit diff`."""
    forms = "NAME.units.parquet, NAME.json or NAME.html, or a folder of reports"
    order = "the old report and the new one; earlier ones, for the series, stand before them"
    parser.add_argument("reports", nargs="+", metavar="REPORT", help=f"{order}: {forms}")
    _add_parameters(parser)
    _add_written(parser, "diff, of folders diff-NAME")


def _add_check(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `evalkit check`."""
    parser.add_argument(
        "report",
        nargs="?",
        type=Path,
        metavar="REPORT",
        help="NAME.json, with NAME.units.parquet beside it, or its folder",
    )
    parser.add_argument(
        "policy", nargs="?", metavar="POLICY", help="a policy file (.toml), or a rule in quotes"
    )
    meaning = "say what the rules of a policy will catch, by its [plan] or by the spread of REPORT"
    parser.add_argument("--plan", metavar="POLICY", help=meaning)
    parser.add_argument(
        "--junit", type=Path, metavar="FILE", help="write the rules as JUnit XML too"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the rules and their statements as JSON too"
    )


def _add_summary(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `evalkit summary`."""
    parser.add_argument("report", type=Path, metavar="REPORT", help="NAME.json or NAME.html")
    form = parser.add_mutually_exclusive_group()
    meaning = "print Markdown for the comment of a pull request; the default"
    form.add_argument("--markdown", action="store_true", help=meaning)
    meaning = "write NAME.mail.html, a mail body with inline styles, and its strip as NAME.1.png"
    form.add_argument("--html", action="store_true", help=meaning)


def _add_written(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the options on the files that are written. name: their name by default, in words."""
    folder = Path("reports")
    workers = "reports made at once, of several; default: 1"
    names = f"name of the files, so that one folder can hold several reports; default: {name}"
    parser.add_argument(
        "-o", dest="folder", type=Path, default=folder, metavar="FOLDER", help="default: reports"
    )
    parser.add_argument("--name", metavar="NAME", help=names)
    parser.add_argument("-j", dest="workers", type=_positive, default=1, metavar="N", help=workers)


NAMED = "a name such as ranking, or the path of a notebook"


def _add_parameters(parser: argparse.ArgumentParser) -> None:
    """Add the options that set parameters of a report."""
    meaning = "set a parameter; a list is written [1,5] or 1,5"
    pair = ("NAME", "VALUE")
    parser.add_argument(
        "-p", dest="parameters", nargs=2, action="append", default=[], metavar=pair, help=meaning
    )
    meaning = "set parameters from a TOML or YAML file with the same names; -p wins"
    parser.add_argument("-f", dest="file", type=Path, metavar="FILE", help=meaning)


def _positive(text: str) -> int:
    """The whole number of at least 1 that an argument states; argparse prints the error."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


class _Help(argparse.Action):
    def __call__(
        self, parser: argparse.ArgumentParser, options: argparse.Namespace, *_: object
    ) -> NoReturn:
        """Print the help of the command, and that of the parameters if a notebook was named
        before.
        """
        parser.print_help()
        for notebook in options.notebook or ():
            terminal.show(f"\nparameters of {notebook}, each set by -p NAME VALUE:")
            path = requests.find(notebook, options.folder_of_notebooks)
            terminal.show(requests.listing(path).help())
        raise SystemExit(DONE)


# The commands -------------------------------------------------------------------------------------


def _command_of(module: str, name: str) -> Command:
    """The command `name` of a module of `evalkit.commands`, which is imported when the command is
    run.
    """

    def run_command(options: argparse.Namespace) -> int:
        """Run the command and return its exit status."""
        function: Command = getattr(import_module(f"evalkit.commands.{module}"), name)
        return int(function(options))

    return run_command


def _report(options: argparse.Namespace) -> int:
    """Make one report, or several by `batch`; return the exit status."""
    requests.silence_loggers()
    if not options.notebook:
        options.notebook = [requests.closest(options)]
    if options.each is not None or len(options.notebook) > 1:
        from evalkit.commands import batch

        return batch.main(options)
    path = requests.find(options.notebook[0], options.folder_of_notebooks)
    job = requests.checked_report_job(path, options, requests.settings(options.file), options.name)
    with folders.scratch_folder() as desk:
        try:
            outcome = requests.make(job, desk, bar=sys.stderr.isatty())
        finally:
            kernels.clean(job.parameters.get("spill"))
    if outcome.status != FAILED:
        terminal.show(outcome.page)
    for message in outcome.messages:
        requests.print_message(message, outcome.status)
    return outcome.status


def _parameters(options: argparse.Namespace) -> int:
    """Print the parameters of a notebook."""
    listing = requests.listing(requests.find(options.notebook, options.folder_of_notebooks))
    lines = listing.schema() if options.json else listing.lines()
    terminal.show(lines)
    return DONE


def _notebook(options: argparse.Namespace) -> int:
    """Print a notebook without its outputs."""
    path = requests.find(options.notebook, options.folder_of_notebooks)
    terminal.show(requests.blank(requests.load(path)))
    return DONE


if __name__ == "__main__":
    run()
