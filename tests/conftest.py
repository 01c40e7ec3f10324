"""hypothesis for every test: no time limit on a busy machine, and the same examples on every run. Shared fixtures."""

import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


@pytest.fixture
def small(monkeypatch):
    """Every table is large, and a shard has few rows."""
    from large_tables import shrink

    shrink(monkeypatch)
