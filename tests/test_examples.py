"""What functions return and refuse, and which inputs reports refuse, as data: the files of the
folder `examples`.
"""

from operator import attrgetter
from typing import NamedTuple

import pytest
from samples import examples
from stated import call, study_of, table_of

from evalkit.arrays import InputError


class WorkedExample(NamedTuple):
    """A call of a function, and what it returns.

    function: its name, such as counts.precision. arguments: by position. named: a list of at most
    one dict, the arguments by name. expected: the result, or a dict of its attributes, of which
    "a.b" is one of an attribute. within: the absolute tolerance.
    """

    function: str
    arguments: list
    named: list
    expected: object
    within: float


WORKED = []
for function, table in examples("worked").items():
    for arguments, *named, expected in table["cases"]:
        within = table.get("within", 1e-12)
        WORKED.append(WorkedExample(function, arguments, named, expected, within))


@pytest.mark.parametrize("example", WORKED, ids=lambda example: example.function)
def test_functions_return_what_the_worked_examples_say(example):
    """An example is a call of a function, with `arguments` by position and, if any, `named` ones,
    and what it is expected to return: one value, or a dict with the expected value of each
    attribute of the result. Numbers may differ by `within`.
    """
    result = call(example.function, example.arguments, *example.named)
    if isinstance(example.expected, dict):
        expected = example.expected
        found = {name: attrgetter(name)(result) for name in expected}
    else:
        expected = {"result": example.expected}
        found = {"result": result}
    for name, value in expected.items():
        if not isinstance(value, str):
            value = pytest.approx(value, abs=example.within, rel=1e-9, nan_ok=True)
        assert found[name] == value, name


REFUSED = [(of, *case) for of, cases in examples("refusals")["arguments"].items() for case in cases]


@pytest.mark.parametrize("of, args, more", [(of, args, more) for of, args, *more in REFUSED])
def test_arguments_that_cannot_be_meant_are_refused_by_one_line(of, args, more):
    *given, message = more
    with pytest.raises(InputError, match=message) as error:
        call(of, args, *given)
    assert "\n" not in str(error.value)


INPUTS = [(report, case) for report, cases in examples("refused_inputs").items() for case in cases]


@pytest.mark.parametrize(
    "report, case", INPUTS, ids=[f"{report}: {case['says']}" for report, case in INPUTS]
)
def test_inputs_that_cannot_be_meant_are_refused_by_one_line(report, case):
    table = table_of(case, report)
    with pytest.raises(InputError, match=case["says"]) as error:
        _ = study_of(report, table, case.get("asked", {})).comparisons
    assert "\n" not in str(error.value)
