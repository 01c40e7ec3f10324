"""What functions return and refuse, as data: `examples/worked.toml` and `examples/refusals.toml`."""

import inspect
import pkgutil

import pytest
from samples import examples, rng

from evalkit.arrays import InputError


def call(of: str, args=(), given=None):
    """The result of a function named below evalkit, or in numpy."""
    function = pkgutil.resolve_name(of if of.startswith("numpy.") else f"evalkit.{of}")
    arguments = [call(**value) if isinstance(value, dict) and "of" in value else value for value in args]
    drawn = {} if of.startswith("numpy.") or "rng" not in inspect.signature(function).parameters else {"rng": rng()}
    return function(*arguments, **drawn | (given or {}))


WORKED = [
    (of, *case, table.get("within", 1e-12)) for of, table in examples("worked").items() for case in table["cases"]
]


@pytest.mark.parametrize("of, args, more, within", [(of, a, more, w) for of, a, *more, w in WORKED])
def test_worked_examples(of, args, more, within):
    *given, expected = more
    result = call(of, args, *given)
    for name, value in (expected if isinstance(expected, dict) else {"": expected}).items():
        found = result
        for attribute in filter(None, name.split(".")):
            found = getattr(found, attribute)
        assert found == (value if isinstance(value, str) else pytest.approx(value, abs=within, rel=1e-9, nan_ok=True))


REFUSED = [(of, *case) for of, cases in examples("refusals")["arguments"].items() for case in cases]


@pytest.mark.parametrize("of, args, more", [(of, args, more) for of, args, *more in REFUSED])
def test_arguments_that_cannot_be_meant_are_refused_by_one_line(of, args, more):
    *given, message = more
    with pytest.raises(InputError, match=message) as error:
        call(of, args, *given)
    assert "\n" not in str(error.value)
