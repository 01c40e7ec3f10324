"""Parameters: what a notebook declares, what is refused, and what the readers make of papermill's text."""

import math
import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from evalkit import parameters
from evalkit.arrays import ParameterError
from evalkit.parameters import cells, kinds
from evalkit.parameters.cells import Parameter, declared, typed
from evalkit.parameters.kinds import CUT, INTEGERS, SHARES, UNKNOWN, refuse_unknown

GAINS = ["linear", "binary"]
CELL = """
preds = "data/a=b#c.csv"  # files; name=value is fine
ks = [
    1,
    5,
]  # cut-offs
baseline: str = None  # a system
margin = None
limit = 3 * 4
"""


def test_declares_names_defaults_and_comments():
    known = declared(CELL)
    assert list(known) == ["preds", "ks", "baseline", "margin", "limit"]
    assert known["preds"] == Parameter("preds", "data/a=b#c.csv", is_text=True, help="files; name=value is fine")
    assert known["ks"] == Parameter("ks", [1, 5], help="cut-offs")
    assert known["baseline"] == Parameter("baseline", is_text=True, help="a system")
    assert known["margin"] == Parameter("margin")


def test_refuses_unknown_names_and_lists_the_known():
    message = r"unknown parameters 'pred' \(did you mean 'preds'\?\), 'zzz'; this notebook has: preds, ks"
    with pytest.raises(ParameterError, match=message):
        refuse_unknown(["pred", "ks", "zzz"], ["preds", "ks"])
    with pytest.raises(ParameterError, match="this notebook has: no parameters"):
        refuse_unknown(["a"], [])


TEXTS = ("007", "00.5", "1_000", "12:30:00", "2026-11-20", "0x10", "no", "nan", "a,b", "a: b", "# x", "", "[1,", "[*a]")
TYPED = {"1e3": 1000.0, "-0.5": -0.5, ".5": 0.5, "7": 7, "-7": -7, "0": 0, "0.95": 0.95, "true": True, "False": False}
TYPED |= {"None": None, "null": None, "[1,5]": [1, 5], "{query: qid, item: doc}": {"query": "qid", "item": "doc"}}
TYPED |= {"[1e3, 007, a, '8', no, 12:30]": [1000.0, "007", "a", "8", "no", "12:30"], "'7'": "7"}
TYPED |= {text: text for text in (*TEXTS, "['a'] b")}


@pytest.mark.parametrize("given, value", TYPED.items())
def test_types_the_text_of_a_command_line(given, value):
    got = typed(given, Parameter("x"))
    assert got == value
    assert type(got) is type(value)


def test_keeps_text_where_the_default_is_text():
    assert typed("[1,5]", declared("x = 'a'")["x"]) == "[1,5]"
    assert typed("7", declared("x: str = None")["x"]) == "7"
    assert typed("7", declared("x: 'str | None' = None")["x"]) == "7"
    assert typed("7", declared("x = None")["x"]) == 7


LISTS = (np.array(["f1", "brier"]), pd.Index(["f1", "brier"]), pd.Series(["f1", "brier"]), ("f1", "brier"))
READ = [  # the reader of a value, what is given, what is read
    *((kinds.integers, ks, [1, 5, 10]) for ks in ("1,5,10", "[1, 5, 10]", [1, 5, 10], (1, 5, 10), ["1", 5.0, "1e1"])),
    *((kinds.integers, numbers, [3, 5]) for numbers in (np.array([3, 5]), range(3, 6, 2))),
    *((kinds.texts, names, ["f1", "brier"]) for names in LISTS),
    *((kinds.metrics, names, ("f1", "brier")) for names in LISTS),
    *((read, None, empty) for read, empty in ((kinds.integers, []), (kinds.mapping, {}), (kinds.number, None))),
    *((read, None, None) for read in (kinds.integer, kinds.text)),
    (kinds.texts, "None", []),
    (kinds.texts, "007, 1e3 ,b", ["007", "1e3", "b"]),
    (kinds.texts, "[007, b]", ["007", "b"]),
    (kinds.texts, 7, ["7"]),
    (kinds.text, "user", "user"),
    *((kinds.number, value, 0.95) for value in ("0.95", 0.95, "95e-2")),
    (kinds.integer, "12", 12),
    (partial(kinds.choice, allowed=GAINS), "linear", "linear"),
    (partial(kinds.choice, allowed=GAINS), None, None),
    *((kinds.mapping, value, {"a": "b", "c": "d"}) for value in ("a=b,c=d", "{a: b, c: d}", {"a": "b", "c": "d"})),
    (INTEGERS.read, "10,1,10", (1, 10)),
    (SHARES.read, "a=1,b=2", {"a": 1.0, "b": 2.0}),
    (SHARES.read, UNKNOWN, UNKNOWN),
]


@pytest.mark.parametrize("read, value, wanted", READ)
def test_every_way_to_give_a_value(read, value, wanted):
    assert read("x", value) == wanted


SHARE = partial(kinds.number, above=0, below=1)
NO_INTEGERS = ("x", "1,x", 0, -1, 1.5, True, "nan", math.inf, [None], "1,,2", {"a": 1}, "0")
BAD = [
    *((kinds.integers, value, "x must be whole numbers of at least 1, got ") for value in NO_INTEGERS),
    (kinds.texts, "a,,b", "x must be texts separated by commas, got 'a,,b'"),
    (kinds.text, ["a"], "x must be one text, got ['a']"),
    *(
        (SHARE, value, "x must be a number between 0 and 1, got ")
        for value in (0, 1, "x", math.nan, "nan", True, [0.5])
    ),
    (partial(kinds.number, above=0), -1, "x must be a number above 0, got -1"),
    (partial(kinds.number, below=1), 2, "x must be a number below 1, got 2"),
    (kinds.number, math.inf, "x must be a number, got inf"),
    (partial(kinds.integer, least=0), -1, "x must be a whole number of at least 0, got -1"),
    (partial(kinds.choice, allowed=GAINS), "liner", "x must be one of linear, binary, got 'liner' (did you mean 'lin"),
    *((kinds.mapping, value, "x must be pairs such as ") for value in ("query", "a=b,c", 5, ["a"], "[a]")),
    (SHARES.read, "a=0,b=1", "x must be a number above 0, got '0'"),
    *((CUT.read, cut, "x must") for cut in ("", "best", "precision>=2", "cost:fp=1", "f1>=0.5", ["0.5"], True)),
]


@pytest.mark.parametrize("read, value, message", BAD)
def test_values_that_cannot_be_meant(read, value, message):
    with pytest.raises(ParameterError) as error:
        read("x", value)
    assert str(error.value).startswith(message)


INJECTED = "# Parameters\npreds = 'b'\n"
AGAIN = ["preds = 'a'\nks = [1]", INJECTED, "study = 1", "x = = 2", "(", INJECTED]


@pytest.mark.parametrize("ran", [None, ["preds = 'a'", "check()"], ["preds = 'a'", INJECTED, "check()"], AGAIN])
def test_cells_that_ran_and_are_good(monkeypatch, ran):
    shell = None if ran is None else SimpleNamespace(get_ipython=lambda: SimpleNamespace(user_ns={"In": ["", *ran]}))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    cells.check()


@pytest.mark.parametrize("ran", [[AGAIN[0]], AGAIN])
def test_an_unknown_name_that_was_injected_is_refused(monkeypatch, ran):
    shell = SimpleNamespace(user_ns={"In": ["", *ran, "# Parameters\npred = 'b'\n", "check()"]})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    for read in (cells.check, parameters.values):
        with pytest.raises(ParameterError, match=r"'pred' \(did you mean 'preds'\?\); this notebook has: preds, ks"):
            read()
