"""Processors whose AVX-512 sort is slow."""

import os
import subprocess
import sys

import numpy
import pytest

from evalkit.machine import kernels, processors

ZEN_4 = (
    "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: {model}\nmodel "
    "name\t: AMD EPYC\n"
)
FEATURES = processors.avx512_sort_features()


SLOW = {1: False, 15: False, 16: True, 31: True, 33: False, 97: True, 160: True}
OTHERS = ("", "vendor_id : GenuineIntel\ncpu family : 25\nmodel : 17\n", "CPU part : 0xd40\n")


def test_zen_4_is_told_from_zen_3_and_other_processors():
    assert {model: processors.sorts_slowly(ZEN_4.format(model=model)) for model in SLOW} == SLOW
    assert not any(map(processors.sorts_slowly, OTHERS))


@pytest.fixture
def cpuinfo_of_zen_4(tmp_path):
    """The file in which Linux describes a processor whose AVX-512 sort is slow."""
    path = tmp_path / "cpuinfo"
    path.write_text(ZEN_4.format(model=17))
    return path


def test_the_remedy_is_to_switch_avx_512_off_by_the_name_that_numpy_has_for_it(cpuinfo_of_zen_4):
    """The remedy is environment variables; numpy 2.4 renamed the features."""
    major, minor, *_ = numpy.__version__.split(".")
    name = "AVX512_SKX" if (int(major), int(minor)) < (2, 4) else "X86_V4"
    assert processors.fast_sort_variables({}, cpuinfo_of_zen_4) == {
        processors.DISABLED_FEATURES_VARIABLE: name
    }


def test_what_the_user_set_stands(cpuinfo_of_zen_4):
    environment_of_the_user = {processors.DISABLED_FEATURES_VARIABLE: ""}
    assert processors.fast_sort_variables(environment_of_the_user, cpuinfo_of_zen_4) == {}


def test_a_processor_that_nothing_describes_needs_no_remedy(tmp_path):
    assert processors.fast_sort_variables({}, tmp_path / "none") == {}


def test_numpy_is_not_imported_to_find_its_name():
    """On the processor that is described here numpy's sort is slow; the remedy is an environment
    variable (DISABLED_FEATURES_VARIABLE) that switches features of numpy off. numpy reads it when
    it is imported, so that the remedy must be found before. The child process prints the remedy, a
    dict, and False, as numpy was not imported.
    """
    zen_4 = "vendor_id: AuthenticAMD\ncpu family: 25\nmodel: 17"
    code = (
        "import sys\n"
        "from evalkit.machine import processors\n"
        f"processors.cpu_description = lambda *_: {zen_4!r}\n"
        "print(processors.fast_sort_variables({}), 'numpy' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.endswith("} False\n")
    assert processors.DISABLED_FEATURES_VARIABLE in run.stdout


def test_a_kernel_gets_it_and_this_process_does_not_keep_it(tmp_path, monkeypatch):
    monkeypatch.delenv(processors.DISABLED_FEATURES_VARIABLE, raising=False)
    monkeypatch.setattr(
        processors,
        "fast_sort_variables",
        lambda environment: {processors.DISABLED_FEATURES_VARIABLE: "X86_V4"},
    )
    with kernels.surroundings(tmp_path):
        assert os.environ[processors.DISABLED_FEATURES_VARIABLE] == "X86_V4"
    assert processors.DISABLED_FEATURES_VARIABLE not in os.environ


@pytest.mark.skipif(
    not FEATURES, reason="this processor has no AVX-512, or numpy was told not to use it"
)
def test_numpy_takes_the_remedy_without_a_warning():
    """numpy has features that it uses if the processor has them (FEATURES, such as AVX-512), and an
    environment variable (DISABLED_FEATURES_VARIABLE) by which some are switched off where they are
    slow. A child process in which all of them are switched off has none left, as it prints, and no
    warning, although warnings are errors.
    """
    code = "from evalkit.machine import processors; print(processors.avx512_sort_features())"
    environment = os.environ | {processors.DISABLED_FEATURES_VARIABLE: " ".join(FEATURES)}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True
    )
    assert run.stdout == "[]\n"
    assert run.stderr == ""
