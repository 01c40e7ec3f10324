"""The pages of the bundled samples in headless Chromium, with axe-core beside them; `make test-page` brings both."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / ".page" / "node_modules" / "axe-core" / "axe.min.js"
MORE = ROOT / ".page" / "pages"
SAMPLES = sorted(ROOT.glob("reports/*.html"))
OTHERS = [MORE / f"{name}.html" for name in ("multiclass", "multilabel", "many", "users")]
PAGES = [*SAMPLES, *OTHERS]
INSTALLED = AXE.exists() and shutil.which("chromium") is not None
collect_ignore_glob = [] if INSTALLED else ["test_*.py"]


def pytest_terminal_summary(terminalreporter):
    """One line where the tests of this folder cannot run."""
    if not INSTALLED:
        terminalreporter.write_line("Pages are not tested in a browser: make test-page installs what that needs")
