"""Pages in headless Chromium: what axe finds, how wide and how high they are, what they ask for."""

import html
import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from made_once import ROOT

AXE = ROOT / ".page" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (
    *(
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--hide-scrollbars",
    ),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--enable-logging=stderr",
    ),
    *(
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--virtual-time-budget=60000",
        "--window-size=1280,900",
        "--dump-dom",
    ),
)
DARK = {
    "light": "--blink-settings=preferredColorScheme=1",
    "dark": "--blink-settings=preferredColorScheme=0",
}
# The look at a page ends in the dark: its rules for dark screens then hold for all, and axe
# measures contrasts again.
PROBE = """
<script>%s</script>
<script>
function all(selector) { return [].slice.call(document.querySelectorAll(selector)); }
function faults(only) {
  if (!window.axe) return Promise.resolve([]);
  return axe.run(document, Object.assign({resultTypes: ["violations"]}, only)).then(function (found) {
    return found.violations.map(function (v) {
      return v.id + " (" + v.impact + "): " + v.nodes.map(function (n) { return n.html.slice(0, 120); }).join("; ");
    });
  });
}
function background() { return getComputedStyle(document.body).backgroundColor; }
function darken() {
  [].slice.call(document.styleSheets).forEach(function (sheet) {
    [].slice.call(sheet.cssRules).forEach(function (rule) {
      if (rule.media && /prefers-color-scheme: dark/.test(rule.media.mediaText)) rule.media.mediaText = "screen";
    });
  });
}
faults().then(function (violations) {
  var root = document.documentElement;
  var seen = {
    frame: window.name,
    violations: violations,
    sideways: root.scrollWidth - window.innerWidth,
    width: window.innerWidth,
    height: document.body.scrollHeight,
    first: all(".strip, figure").length ? all(".strip, figure")[0].getBoundingClientRect().top + scrollY : -1,
    curve: Math.min.apply(null, all("figure").filter(function (figure) {
      return figure.offsetParent;
    }).map(function (figure) { return figure.getBoundingClientRect().top + scrollY; })),
    above: all(".notes .warn").filter(function (note) {
      return all(".strip, .metrics").length && note.compareDocumentPosition(all(".strip, .metrics")[0]) & 4;
    }).length,
    requests: performance.getEntriesByType("resource").map(function (e) { return e.name; }),
    idle: all('.scroll[tabindex="0"]').filter(function (box) { return box.scrollWidth <= box.clientWidth; }).length,
    cut: all("table").filter(function (table) {
      return !table.closest(".scroll") && table.scrollWidth > table.parentNode.clientWidth;
    }).length,
    clipped: all("figure svg text").filter(function (text) {
      var inner = text.getBoundingClientRect(), outer = text.closest("svg").getBoundingClientRect();
      return inner.left < outer.left - 2 || inner.right > outer.right + 2 || inner.top < outer.top - 2 ||
        inner.bottom > outer.bottom + 2;
    }).map(function (text) { return text.textContent; }),
    astray: all('a[href^="#"]').map(function (a) { return a.hash.slice(1); }).filter(function (id) {
      return !document.getElementById(id);
    }),
    grounds: [background()]
  };
  darken();
  seen.grounds.push(background());
  faults({runOnly: ["color-contrast"]}).then(function (violations) {
    seen.in_the_dark = violations;
    var term = document.querySelector("a.term");
    if (term) location.hash = term.hash;
    setTimeout(function () {
      seen.folded = Boolean(term) && !document.getElementById(term.hash.slice(1)).closest("details").open;
      parent.postMessage(JSON.stringify(seen), "*");
    }, 50);
  });
});
</script>
"""
# Headless Chromium has no window below 500 pixels: each view of the page is a frame of the width
# that is wanted.
LISTENER = """<!doctype html><meta charset="utf-8"><title>frames</title><body style="margin:0">
<script>
addEventListener("message", function (event) {
  var told = document.createElement("pre");
  told.className = "probe"; told.textContent = event.data; document.body.appendChild(told);
});
</script>"""
FRAME = '<iframe name="%d" style="border:0;width:%dpx;height:900px" srcdoc="%s"></iframe>'
SCRIPT = re.compile(r"<script>.*?</script>", re.S)


@dataclass(frozen=True)
class View:
    """A width at which to look at a page, and what of it runs: its own script and axe, or
    neither.
    """

    width: int
    scripts: bool = True


@dataclass(frozen=True)
class Seen:
    """What the browser tells of each view: `PROBE`, and the lines of its console."""

    views: list[dict[str, Any]]
    console: list[str]


def look(page: str, folder: Path, views: Sequence[View]) -> Seen:
    """A page in several views, all in one browser."""
    frames = [
        FRAME % (i, view.width, html.escape(_probed(page, view))) for i, view in enumerate(views)
    ]
    framed = folder / "framed.html"
    framed.write_text(LISTENER + "".join(frames), encoding="utf-8")
    command = [
        "chromium",
        *FLAGS,
        DARK["light"],
        f"--user-data-dir={folder / 'profile'}",
        framed.as_uri(),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    told = [
        json.loads(html.unescape(text))
        for text in re.findall(r'<pre class="probe">(.*?)</pre>', ran.stdout, re.S)
    ]
    assert len(told) == len(views), ran.stderr[-2000:]
    console = [line for line in ran.stderr.splitlines() if ":CONSOLE" in line]
    return Seen(sorted(told, key=lambda seen: seen["frame"]), console)


def _probed(page: str, view: View) -> str:
    """The page with the probe behind it; without scripts its own are left out."""
    if view.scripts:
        axe = AXE.read_text("utf-8").replace("</script>", "<\\/script>")
        return page + PROBE % axe
    return SCRIPT.sub("", page) + PROBE % ""


ANSWERS = (Path(__file__).parent / "answers.js").read_text("utf-8")
ASK = """
<script>
addEventListener("load", async () => {
  const wait = () => new Promise(done => setTimeout(done, 100));
  let answer;
  try { answer = await (async () => { %s })(); } catch (error) { answer = {error: error.stack}; }
  const told = document.createElement("pre");
  told.className = "answer-of-test"; told.textContent = JSON.stringify({
    answer, requests: performance.getEntriesByType("resource").length, address: location.hash
  });
  document.body.appendChild(told);
});
</script>
"""


@dataclass(frozen=True)
class Answer:
    """What a script in a page returned, what the page asked for, its address, and the lines of its
    console.
    """

    answer: Any
    requests: int
    address: str
    console: list[str]


def ask(
    page: str, script: str, folder: Path, address: str = "", head: str = "", theme: str = "light"
) -> Answer:
    """Run a script, which may call the functions of answers.js, in a page opened from a file at an
    address.

    head: what is put into the head of the page, such as a policy.
    """
    file = _asking(page, script, folder, head)
    command = [
        "chromium",
        *FLAGS,
        DARK[theme],
        f"--user-data-dir={folder / 'profile'}",
        file.as_uri() + address,
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    (told,) = re.findall(r'<pre class="answer-of-test">(.*?)</pre>', ran.stdout, re.S)
    found = json.loads(html.unescape(told))
    console = [line for line in ran.stderr.splitlines() if ":CONSOLE" in line]
    return Answer(found["answer"], found["requests"], found["address"], console)


def printed(page: str, script: str, folder: Path) -> bytes:
    """The PDF of a page in which a script ran."""
    file = _asking(page, script, folder)
    pdf = folder / "page.pdf"
    flags = [flag for flag in FLAGS if flag != "--dump-dom"]
    command = [
        "chromium",
        *flags,
        f"--print-to-pdf={pdf}",
        f"--user-data-dir={folder / 'profile'}",
        file.as_uri(),
    ]
    subprocess.run(command, capture_output=True, timeout=300, check=True)
    return pdf.read_bytes()


def _asking(page: str, script: str, folder: Path, head: str = "") -> Path:
    """The file of a page with a script behind it."""
    file = folder / "page.html"
    asked = (
        page.replace("<head>", f"<head>{head}", 1) + f"<script>{ANSWERS}</script>" + ASK % script
    )
    file.write_text(asked, encoding="utf-8")
    return file
