"""What pages answered in Chromium: numbers of cells, and the results that stand beside a page."""

import json
import math
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import more_pages
import pytest
from made_once import REPORTS, once, reports

CLASSIFIED = ("multiclass", "multilabel", "single", "pair", "classes")
RANKED = ("many", "lists", "travellers")
OTHERS = (*CLASSIFIED, *RANKED, "forecasts", "users")
PAGES = (*REPORTS, *OTHERS)
FURTHER = ("pair", "classes", "lists", "travellers", "forecasts")  # beside others of their kind


@cache
def path(name: str) -> Path:
    """The file of a page of a bundled sample or of another table."""
    folder = reports() if name in REPORTS else once("pages", more_pages.make)
    return folder / f"{name}.html"


def slow_if_further(names: Iterable[str]) -> list[Any]:
    """The names of pages as parameters of a test, of which some wait for the night."""
    return [
        pytest.param(name, marks=[pytest.mark.slow] if name in FURTHER else []) for name in names
    ]


def page(name: str) -> str:
    return path(name).read_text("utf-8")


def results(name: str) -> dict:
    return json.loads(path(name).with_suffix(".json").read_text("utf-8"))


def value(text):
    """The number that a cell begins with."""
    match = re.match(r"[+−]?[\d,.]+", text)
    return float(match[0].replace("−", "-").replace(",", "")) if match else math.nan


def quiet(told):
    assert told.console == []
    assert told.requests == 0
    assert not isinstance(told.answer, dict) or "error" not in told.answer
    return told.answer
