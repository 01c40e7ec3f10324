"""Columns of numbers in the JSON of a report: lists, or packed where they are long."""

import base64
import zlib
from typing import Any

import numpy as np

LONG = 1_000  # numbers up to which each is written as text, which takes about 20 bytes


def numbers(values: np.ndarray) -> Any:
    """A list, null where undefined; of more than `LONG` numbers `packed`."""
    return packed(values) if values.size > LONG and values.dtype.kind in "biuf" else values.tolist()


def packed(values: np.ndarray) -> dict[str, str]:
    """Numbers as they lie in memory, little-endian, compressed by zlib, in base64: every bit of finite ones is kept.

    type: numpy's name of the numbers, the shortest in which whole numbers fit. NaN where undefined or infinite, as a
    list has null.

    >>> column = packed(np.array([1, 2, 200]))
    >>> column["type"], np.frombuffer(zlib.decompress(base64.b64decode(column["zlib"])), column["type"]).tolist()
    ('|u1', [1, 2, 200])
    """
    if values.dtype.kind == "f":
        values = np.where(np.isfinite(values), values, np.nan).astype("<f8")
    else:
        low, high = int(values.min()), int(values.max())
        kind = np.min_scalar_type(high if low >= 0 else min(low, -1 - high))
        values = values.astype(kind.newbyteorder("<"))
    return {"type": values.dtype.str, "zlib": base64.b64encode(zlib.compress(values.tobytes())).decode()}
