"""The site of the documentation in Chromium, wide and narrow: run after `make docs`."""

import html
import json
import re
import shutil
import subprocess

import pytest
from browser import AXE, FLAGS, LISTENER as SCRIPT_THAT_WRITES_REPORTS
from made_once import ROOT

SITE = ROOT / "docs" / "_site"
# a report, which has tests of its own; a page whose heading is written by a search
OTHERS = ("sample.html", "search.html")
PAGES = sorted(
    path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if path.name not in OTHERS
)
WIDTHS = (1280, 400)
# put at the end of a page: reports what axe finds, and by how many pixels the page is wider than its
# window
SCRIPT_THAT_REPORTS_FAULTS = """
<script>%s</script>
<script>
addEventListener("load", function () {
  axe.run().then(function (found) {
    parent.postMessage(JSON.stringify({
      sideways: document.documentElement.scrollWidth - innerWidth,
      violations: found.violations.map(function (v) { return v.id + ": " + v.nodes[0].html; })
    }), "*");
  });
});
</script>
"""
FRAME = '<iframe style="border:0;width:%dpx;height:900px" src="%s"></iframe>'


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A copy of the site, whose pages may be probed."""
    return shutil.copytree(SITE, tmp_path_factory.mktemp("site") / "site")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_pages_are_accessible_and_need_no_scrolling_sideways(page, site, tmp_path):
    """A page of the documentation is shown in frames of 1,280 and 400 pixels. A script put at its
    end reports what axe, which looks for faults of accessibility, finds, and by how many pixels the
    page is wider than its frame ("sideways").
    """
    axe = AXE.read_text("utf-8").replace("</script>", "<\\/script>")
    path = site / page
    path.write_text(path.read_text("utf-8") + SCRIPT_THAT_REPORTS_FAULTS % axe, "utf-8")
    frames = "".join(FRAME % (width, path.as_uri()) for width in WIDTHS)
    framed = site / "framed.html"
    # writes what the script in a frame reports into <pre>
    framed.write_text(SCRIPT_THAT_WRITES_REPORTS + frames, "utf-8")
    profile = f"--user-data-dir={tmp_path}"
    ran = subprocess.run(
        ["chromium", *FLAGS, profile, framed.as_uri()], capture_output=True, text=True, timeout=300
    )
    reports = re.findall(r'<pre class="probe">(.*?)</pre>', ran.stdout, re.DOTALL)
    report_by_width = [json.loads(html.unescape(report)) for report in reports]
    assert len(report_by_width) == len(WIDTHS), ran.stderr[-2000:]
    assert [report["violations"] for report in report_by_width] == [[], []]
    assert max(report["sideways"] for report in report_by_width) <= 0
