"""What the tests of input that is read twice ask alike: equal tables, and equal refusals of two files."""

import numpy as np
import pytest

from evalkit.arrays import InputError, ParameterError


def same(a, b, rel):
    """Counts and words to the last bit, other numbers up to rounding."""
    assert list(a.columns) == list(b.columns)
    assert len(a) == len(b)
    for name in a.columns:
        if a[name].dtype.kind == "f":
            np.testing.assert_allclose(b[name], a[name], rtol=rel, atol=1e-13, err_msg=name)
        else:
            assert a[name].tolist() == b[name].tolist(), name


def same_refusals(table, cut, folder, *readings):
    """The rows up to `cut` in one file and the others in a second are refused by each reading with the same words."""
    files = [str(folder / name) for name in ("first.csv", "second.csv")]
    for path, rows in zip(files, (table[:cut], table[cut:]), strict=True):
        rows.to_csv(path, index=False)
    said = []
    for read in readings:
        with pytest.raises((InputError, ParameterError)) as refusal:
            read(files)
        said.append((type(refusal.value).__name__, str(refusal.value)))
    assert len(set(said)) == 1, said
