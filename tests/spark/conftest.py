"""One Spark session for all tests that need one: starting it costs more than all of them
together.
"""

import os
from importlib.util import find_spec

import local
import pytest

INSTALLED = find_spec("pyspark") is not None
collect_ignore_glob = [] if INSTALLED else ["test_*.py"]


def pytest_terminal_summary(terminalreporter):
    """One line where the tests of this folder cannot run."""
    if not INSTALLED:
        terminalreporter.write_line(
            "Spark is not tested: pyspark is not installed; make test-spark installs it"
        )


@pytest.fixture(scope="session")
def session(tmp_path_factory):
    """Spark on two threads of this machine, its folders in a temporary one."""
    folder = tmp_path_factory.mktemp("spark")
    os.environ |= local.environment(folder)
    made = local.started(folder)
    yield made
    made.stop()
