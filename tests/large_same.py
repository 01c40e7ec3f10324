"""Equal tables: what the tests of input that is read by blocks ask alike."""

import numpy as np


def same(a, b, rel):
    """Counts and words to the last bit, other numbers up to rounding."""
    assert list(a.columns) == list(b.columns)
    assert len(a) == len(b)
    for name in a.columns:
        if a[name].dtype.kind == "f":
            np.testing.assert_allclose(b[name], a[name], rtol=rel, atol=1e-13, err_msg=name)
        else:
            assert a[name].tolist() == b[name].tolist(), name
