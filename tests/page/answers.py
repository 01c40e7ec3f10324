"""What pages answered in Chromium: numbers of cells, and the results that stand beside a page."""

import json
import math
import re

from conftest import ROOT

REPORTS = ROOT / "reports"


def page(name):
    return (REPORTS / f"{name}.html").read_text("utf-8")


def results(name):
    return json.loads((REPORTS / f"{name}.json").read_text("utf-8"))


def value(text):
    """The number that a cell begins with."""
    match = re.match(r"[+−]?[\d,.]+", text)
    return float(match[0].replace("−", "-").replace(",", "")) if match else math.nan


def quiet(told):
    assert told.console == []
    assert told.requests == 0
    assert not isinstance(told.answer, dict) or "error" not in told.answer
    return told.answer
