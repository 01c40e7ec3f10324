"""What a command takes, with all processes that it waits for: CPU seconds, and the memory of the
largest of them.

A command starts as a copy of the process that starts it, whose memory would count as its own. So a
process of its own starts it: `python usage.py COMMAND ...` prints both numbers as JSON.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

FORBIDS = "PYTHONDONTWRITEBYTECODE"


@dataclass(frozen=True)
class Usage:
    """CPU seconds, user and system, and peak memory in GB."""

    cpu: float
    gigabytes: float


def usage(command: Sequence[str], folder: str) -> Usage:
    """Run a command in a folder. Python may store its byte code there, as an installed package has
    it.
    """
    environment = {name: value for name, value in os.environ.items() if name != FORBIDS}
    starter = [sys.executable, os.path.abspath(__file__), *command]
    done = subprocess.run(
        starter, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return Usage(**json.loads(done.stdout))


def main() -> None:
    """Run the command of the arguments, whose output is not shown."""
    subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "gigabytes": used.ru_maxrss / 2**20}))


if __name__ == "__main__":
    main()
