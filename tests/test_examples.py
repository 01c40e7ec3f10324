"""What functions return and refuse, and which inputs reports refuse, as data: the files of the
folder `examples`.
"""

import pytest
from samples import examples
from stated import call, study_of, table_of

from evalkit.arrays import InputError

WORKED = [
    (of, *case, table.get("within", 1e-12))
    for of, table in examples("worked").items()
    for case in table["cases"]
]


@pytest.mark.parametrize("of, args, more, within", [(of, a, more, w) for of, a, *more, w in WORKED])
def test_worked_examples(of, args, more, within):
    *given, expected = more
    result = call(of, args, *given)
    for name, value in (expected if isinstance(expected, dict) else {"": expected}).items():
        found = result
        for attribute in filter(None, name.split(".")):
            found = getattr(found, attribute)
        assert found == (
            value
            if isinstance(value, str)
            else pytest.approx(value, abs=within, rel=1e-9, nan_ok=True)
        )


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
