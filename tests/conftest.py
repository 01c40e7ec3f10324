"""hypothesis without a time limit and with the same examples on every run, more at night; sample
reports, made once; pages of one day, also where a run passes midnight.
"""

import os

import made_once
import pytest
from hypothesis import settings
from undrawn import without_pictures

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("night", deadline=None, max_examples=1000)
settings.load_profile("steady")
os.environ.setdefault("SOURCE_DATE_EPOCH", "1764547200")


@pytest.fixture(scope="session")
def sample_reports():
    """The folder of the reports of all bundled samples."""
    return made_once.reports()


@pytest.fixture
def undrawn():
    """Pages have empty pictures, for tests of what is read, decided or stored."""
    with without_pictures():
        yield
