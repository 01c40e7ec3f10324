"""Processors, of which some sort slowly with numpy's AVX-512 sort, and the remedy."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# numpy's variable: processor features that it is not to use
DISABLED_FEATURES_VARIABLE = "NPY_DISABLE_CPU_FEATURES"
# the feature of the processor with which numpy sorts numbers of 32 and 64 bits by AVX-512
SORT_SINCE_2_4 = "X86_V4"
SORT_BEFORE_2_4 = "AVX512_SKX"
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


def fast_sort_variables(environment: Mapping[str, str], cpuinfo: Path = CPUINFO) -> dict[str, str]:
    """Return the environment variable that makes numpy sort without AVX-512, to be added to the
    environment of a Python process; empty if the processor does not sort slowly with it, or if the
    user has set the variable, even to "".

    numpy, which is not imported here, reads the variable at its import.
    """
    if DISABLED_FEATURES_VARIABLE in environment or not sorts_slowly(cpu_description(cpuinfo)):
        return {}
    from importlib.metadata import version

    major, minor = version("numpy").split(".")[:2]
    is_before_2_4 = (int(major), int(minor)) < (2, 4)
    slow_feature = SORT_BEFORE_2_4 if is_before_2_4 else SORT_SINCE_2_4
    return {DISABLED_FEATURES_VARIABLE: slow_feature}


def avx512_sort_features() -> list[str]:
    """Return the processor features by which numpy chooses its AVX-512 sort in this process: those
    that it was built with and that are enabled. Empty if it sorts in another way.
    """
    numpy: Any = importlib.import_module("numpy._core._multiarray_umath")
    features = []
    for name in (SORT_SINCE_2_4, SORT_BEFORE_2_4):
        is_built_in = name in numpy.__cpu_dispatch__
        is_enabled = numpy.__cpu_features__.get(
            name
        )  # False if DISABLED_FEATURES_VARIABLE names it
        if is_built_in and is_enabled:
            features.append(name)
    return features


def sort_name() -> str:
    """Return the name of the sort in this process, for a benchmark or a report on the machine."""
    return "with AVX-512" if avx512_sort_features() else "without AVX-512"


def cpu_description(cpuinfo: Path = CPUINFO) -> str:
    """Return Linux's description of its processors; "" on other systems."""
    try:
        return cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return ""


def this_process_sorts_slowly() -> bool:
    """Return whether this process sorts slowly: on a Zen 4 with its AVX-512 sort enabled."""
    return sorts_slowly(cpu_description(CPUINFO)) and bool(avx512_sort_features())
