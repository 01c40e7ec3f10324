"""Processors, of which some sort slowly with numpy's AVX-512 sort, and the remedy."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SWITCH = "NPY_DISABLE_CPU_FEATURES"
# what dispatches numpy's AVX-512 sort of 32 and 64 bits: from 2.4 on, and before
SORTS = ("X86_V4", "AVX512_SKX")
ZEN_4 = ((0x10, 0x1F), (0x60, 0x7F), (0xA0, 0xAF))  # models of family 25
CPUINFO = Path("/proc/cpuinfo")


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
    if not model.isdigit():
        return False
    return any(low <= int(model) <= high for low, high in ZEN_4)


def remedy(environment: Mapping[str, str], cpuinfo: Path = CPUINFO) -> dict[str, str]:
    """Return what to add to the environment of a Python process that sorts; empty unless it would
    sort slowly.

    A value that the user has set, even an empty one, is kept. numpy, which is not imported here,
    reads it at its import.
    """
    if SWITCH in environment or not sorts_slowly(cpu_description(cpuinfo)):
        return {}
    from importlib.metadata import version

    since_2_4, before_2_4 = SORTS
    major, minor = version("numpy").split(".")[:2]
    is_before_2_4 = (int(major), int(minor)) < (2, 4)
    quicker_sort = before_2_4 if is_before_2_4 else since_2_4
    return {SWITCH: quicker_sort}


def dispatched() -> list[str]:
    """Return the processor features with which this numpy sorts by AVX-512, as far as they are
    enabled in this process; empty if it sorts in another way.
    """
    numpy: Any = importlib.import_module("numpy._core._multiarray_umath")
    return [
        name
        for name in SORTS
        if name in numpy.__cpu_dispatch__ and numpy.__cpu_features__.get(name)
    ]


def sort_name() -> str:
    """Return the name of the sort in this process, for a benchmark or a report on the machine."""
    return "with AVX-512" if dispatched() else "without AVX-512"


def cpu_description(cpuinfo: Path = CPUINFO) -> str:
    """Return Linux's description of its processors; "" on other systems."""
    try:
        return cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return ""


def this_process_sorts_slowly() -> bool:
    """Return whether this process sorts slowly: on a Zen 4 with its AVX-512 sort enabled."""
    return sorts_slowly(cpu_description(CPUINFO)) and bool(dispatched())
