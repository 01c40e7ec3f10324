"""A page in headless Chromium: what axe finds, how wide it is, what it asks for."""

import html
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=30000", "--dump-dom"),
)
DARK = {"light": "--blink-settings=preferredColorScheme=1", "dark": "--blink-settings=preferredColorScheme=0"}
PROBE = """
<script>%s</script>
<script>
axe.run(document, {resultTypes: ["violations"]}).then(function (found) {
  parent.postMessage(JSON.stringify({
    violations: found.violations.map(function (v) {
      return v.id + " (" + v.impact + "): " + v.nodes.map(function (n) { return n.html.slice(0, 120); }).join("; ");
    }),
    sideways: document.documentElement.scrollWidth - window.innerWidth,
    width: window.innerWidth,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    requests: performance.getEntriesByType("resource").map(function (e) { return e.name; }),
    idle: [].filter.call(document.querySelectorAll('.scroll[tabindex="0"]'), function (box) {
      return box.scrollWidth <= box.clientWidth;
    }).length
  }), "*");
});
</script>
"""
# Headless Chromium has no window below 500 pixels: the page stands in a frame of the width that is wanted.
FRAME = """<!doctype html><title>frame</title><body style="margin:0">
<script>
addEventListener("message", function (event) {
  var told = document.createElement("pre");
  told.id = "probe"; told.textContent = event.data; document.body.appendChild(told);
});
</script>
<iframe style="border:0;width:%dpx;height:900px" srcdoc="%s"></iframe>"""


@dataclass(frozen=True)
class Seen:
    """What the browser tells of a page: `PROBE`, and the lines of its console."""

    told: dict[str, Any]
    console: list[str]


def look(page: str, axe: str, folder: Path, *, theme: str, width: int) -> Seen:
    """A page at a width in a theme."""
    probe = PROBE % axe.replace("</script>", "<\\/script>")
    framed = folder / "framed.html"
    framed.write_text(FRAME % (width, html.escape(page + probe)), encoding="utf-8")
    own = (DARK[theme], f"--window-size={max(width, 500)},900", f"--user-data-dir={folder / 'profile'}")
    ran = subprocess.run(["chromium", *FLAGS, *own, framed.as_uri()], capture_output=True, text=True, timeout=300)
    told = re.search(r'<pre id="probe">(.*?)</pre>', ran.stdout, re.S)
    assert told, ran.stderr[-2000:]
    return Seen(json.loads(html.unescape(told[1])), [line for line in ran.stderr.splitlines() if ":CONSOLE" in line])
