"""Chromium, and axe-core beside it; `make test-page` brings both."""

import shutil

from made_once import ROOT

INSTALLED = (ROOT / ".page" / "node_modules").exists() and shutil.which("chromium") is not None
collect_ignore_glob = [] if INSTALLED else ["test_*.py"]


def pytest_terminal_summary(terminalreporter):
    """One line where the tests of this folder cannot run."""
    if not INSTALLED:
        terminalreporter.write_line(
            "Pages are not tested in a browser: make test-page installs what that needs"
        )
