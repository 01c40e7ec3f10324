"""hypothesis for every test: no time limit on a busy machine, and the same examples on every run. Shared fixtures."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


@pytest.fixture
def small(monkeypatch):
    """Every table is large, and a shard has few rows."""
    from large_tables import shrink

    shrink(monkeypatch)


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items):
    """The cells of a notebook run one after the other in one process; everything else runs anywhere."""
    for item in items:
        if Path(item.path).suffix == ".ipynb":
            item.add_marker(pytest.mark.xdist_group(item.path.name))
