"""Parameters: what a notebook declares, what is refused, and what the readers make of papermill's text."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from evalkit.arrays import ParameterError
from evalkit.parameters import cells, kinds
from evalkit.parameters.cells import Parameter, declared, typed
from evalkit.parameters.kinds import refuse_unknown

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


@pytest.mark.parametrize(
    "given, value",
    [
        ("1e3", 1000.0),
        ("-0.5", -0.5),
        (".5", 0.5),
        ("7", 7),
        ("-7", -7),
        ("0", 0),
        ("0.95", 0.95),
        ("007", "007"),
        ("00.5", "00.5"),
        ("1_000", "1_000"),
        ("12:30:00", "12:30:00"),
        ("2026-11-20", "2026-11-20"),
        ("0x10", "0x10"),
        ("no", "no"),
        ("true", True),
        ("False", False),
        ("None", None),
        ("null", None),
        ("nan", "nan"),
        ("a,b", "a,b"),
        ("a: b", "a: b"),
        ("# x", "# x"),
        ("", ""),
        ("[1,5]", [1, 5]),
        ("[1e3, 007, a, '8', no, 12:30]", [1000.0, "007", "a", "8", "no", "12:30"]),
        ("{query: qid, item: doc}", {"query": "qid", "item": "doc"}),
        ("'7'", "7"),
        ("[1,", "[1,"),
        ("[*a]", "[*a]"),
        ("['a'] b", "['a'] b"),
    ],
)
def test_types_the_text_of_a_command_line(given, value):
    got = typed(given, Parameter("x"))
    assert got == value
    assert type(got) is type(value)


def test_keeps_text_where_the_default_is_text():
    assert typed("[1,5]", declared("x = 'a'")["x"]) == "[1,5]"
    assert typed("7", declared("x: str = None")["x"]) == "7"
    assert typed("7", declared("x: 'str | None' = None")["x"]) == "7"
    assert typed("7", declared("x = None")["x"]) == 7


@pytest.mark.parametrize("value", ["1,5,10", "[1, 5, 10]", [1, 5, 10], (1, 5, 10), ["1", 5.0, "1e1"]])
def test_integers_reads_every_way_in(value):
    assert kinds.integers("ks", value) == [1, 5, 10]


@pytest.mark.parametrize("value", ["x", "1,x", 0, -1, 1.5, True, "nan", math.inf, [None], "1,,2", {"a": 1}, "0"])
def test_integers_refuses_the_rest(value):
    with pytest.raises(ParameterError, match=r"^ks must be whole numbers of at least 1, got "):
        kinds.integers("ks", value)


def test_none_is_an_empty_list_or_none():
    assert kinds.integers("ks", None) == kinds.texts("metrics", "None") == []
    assert kinds.mapping("columns", None) == {}
    assert kinds.number("margin", None) is kinds.choice("gain", None, ["a"]) is None
    assert kinds.integer("seed", None) is kinds.text("unit", None) is None


def test_texts_keeps_ids_as_they_are_written():
    assert kinds.texts("systems", "007, 1e3 ,b") == ["007", "1e3", "b"]
    assert kinds.texts("systems", "[007, b]") == ["007", "b"]
    assert kinds.texts("systems", 7) == ["7"]
    assert kinds.texts("systems", "1e3") == ["1e3"]
    with pytest.raises(ParameterError, match="metrics must be texts separated by commas, got 'a,,b'"):
        kinds.texts("metrics", "a,,b")


def test_one_text():
    assert kinds.text("unit", "user") == "user"
    with pytest.raises(ParameterError, match=r"unit must be one text, got \['a'\]"):
        kinds.text("unit", ["a"])


@pytest.mark.parametrize("value", ["0.95", 0.95, "95e-2"])
def test_number_reads(value):
    assert kinds.number("level", value, above=0, below=1) == 0.95


@pytest.mark.parametrize("value", [0, 1, "x", math.nan, "nan", True, [0.5], "0.5,0.6"])
def test_number_refuses(value):
    with pytest.raises(ParameterError, match="level must be a number between 0 and 1, got "):
        kinds.number("level", value, above=0, below=1)


def test_number_says_its_one_bound():
    with pytest.raises(ParameterError, match="margin must be a number above 0, got -1"):
        kinds.number("margin", -1, above=0)
    with pytest.raises(ParameterError, match="x must be a number below 1, got 2"):
        kinds.number("x", 2, below=1)
    with pytest.raises(ParameterError, match="x must be a number, got inf"):
        kinds.number("x", math.inf)


def test_integer():
    assert kinds.integer("seed", "12") == 12
    with pytest.raises(ParameterError, match="seed must be a whole number of at least 0, got -1"):
        kinds.integer("seed", -1, least=0)


def test_choice_suggests():
    assert kinds.choice("gain", "linear", ["linear", "binary"]) == "linear"
    with pytest.raises(ParameterError, match=r"must be one of linear, binary, got 'liner' \(did you mean 'linear'\?\)"):
        kinds.choice("gain", "liner", ["linear", "binary"])


@pytest.mark.parametrize("value", ["query=qid,item=doc", "{query: qid, item: doc}", {"query": "qid", "item": "doc"}])
def test_mapping_reads(value):
    assert kinds.mapping("columns", value) == {"query": "qid", "item": "doc"}


@pytest.mark.parametrize("value", ["query", "a=b,c", 5, ["a"], "[a]"])
def test_mapping_refuses(value):
    with pytest.raises(ParameterError, match="columns must be pairs such as query=qid,item=doc, got "):
        kinds.mapping("columns", value)


def _kernel_that_ran(monkeypatch, *cells):
    shell = SimpleNamespace(user_ns={"In": ["", *cells]})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def test_check_refuses_an_unknown_injected_name(monkeypatch):
    _kernel_that_ran(monkeypatch, "preds = 'a'\nks = [1]", "# Parameters\npred = 'b'\n", "check()")
    with pytest.raises(ParameterError, match=r"'pred' \(did you mean 'preds'\?\); this notebook has: preds, ks"):
        cells.check()


def test_check_accepts_known_names_and_runs_without_injection(monkeypatch):
    _kernel_that_ran(monkeypatch, "preds = 'a'", "# Parameters\npreds = 'b'\n", "check()")
    cells.check()
    _kernel_that_ran(monkeypatch, "preds = 'a'", "check()")
    cells.check()


def test_check_accepts_an_injected_cell_that_is_run_again_after_other_cells(monkeypatch):
    again = ["preds = 'a'", "# Parameters\npreds = 'b'\n", "study = 1", "x = = 2", "(", "# Parameters\npreds = 'b'\n"]
    _kernel_that_ran(monkeypatch, *again)
    cells.check()
    _kernel_that_ran(monkeypatch, *again, "# Parameters\npred = 'c'\n")
    with pytest.raises(ParameterError, match=r"unknown parameter 'pred' \(did you mean 'preds'\?\)"):
        cells.check()


def test_check_does_nothing_outside_a_kernel(monkeypatch):
    cells.check()
    monkeypatch.setitem(sys.modules, "IPython", None)
    cells.check()


def test_lists_of_numpy_and_pandas_are_lists():
    for names in (np.array(["f1", "brier"]), pd.Index(["f1", "brier"]), pd.Series(["f1", "brier"]), ("f1", "brier")):
        assert kinds.metrics("metrics", names) == ("f1", "brier")
        assert kinds.texts("segments", names) == ["f1", "brier"]
    for numbers in (np.array([3, 5]), range(3, 6, 2), [3, 5]):
        assert kinds.integers("ks", numbers, least=1) == [3, 5]
