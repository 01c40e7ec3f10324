"""Which tests a change of a module should run first."""

from functools import cache

import pytest
from of_module import ROOT, module_path, paths_to_test


@cache
def names_of_tests(module):
    return [path.name for path in paths_to_test(module_path(module))]


@pytest.mark.parametrize(
    "name", ["metrics.counts", "evalkit.metrics.counts", "evalkit/metrics/counts.py"]
)
def test_a_module_is_found_by_name_and_by_path(name):
    assert module_path(name) == ROOT / "evalkit" / "metrics" / "counts.py"


def test_a_folder_is_its_init_module():
    assert module_path("statistics") == ROOT / "evalkit" / "statistics" / "__init__.py"


def test_an_unknown_module_is_refused_with_its_path():
    with pytest.raises(SystemExit, match=r"expected evalkit/metrics/count\.py"):
        module_path("metrics.count")


def test_the_doctests_of_the_module_and_the_file_named_after_it_come_first():
    assert names_of_tests("metrics.counts")[:2] == ["counts.py", "test_counts.py"]


def test_at_most_six_files_are_run_beside_the_doctests():
    assert len(names_of_tests("metrics.counts")) == 7


def test_files_that_import_a_module_are_run():
    assert "test_catching.py" in names_of_tests("statistics.power")


def test_a_page_is_tested_by_the_file_of_its_subject():
    assert names_of_tests("pages.groups_page")[1:] == ["test_groups.py"]
