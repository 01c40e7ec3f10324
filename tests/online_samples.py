"""The small log and the small table of users that the tests of the interleaving report change and
read.
"""

import numpy as np
import pandas as pd

SMALL = {"world": "none"}


def log(**columns) -> pd.DataFrame:
    """Nine light users who take 3 of their 5 items from a, a tenth who takes 15 of 50; ten sessions
    of two items.
    """
    base = {
        "session": np.repeat([f"s{i}" for i in range(10)], 2),
        "position": [1, 2] * 10,
        "team": ["a", "b"] * 10,
        "outcome": [3, 2] * 9 + [15, 35],
        "user": np.repeat([f"u{i}" for i in range(10)], 2),
        "device": ["tv", "tv", "web", "web"] * 5,
    }
    return pd.DataFrame(base | columns)


def users(**columns) -> pd.DataFrame:
    """Eight users in two arms."""
    base = {
        "user": [f"u{i}" for i in range(8)],
        "arm": ["a", "b"] * 4,
        "orders": [1, 2, 0, 3, 1, 2, 2, 4],
        "visits": [2, 2, 1, 3, 4, 3, 2, 4],
        "bought": [1, 1, 0, 1, 1, 1, 1, 1],
        "past": [1, 1, 0, 2, 2, 1, 2, 4],
        "country": ["x", "x", "x", "y", "y", "y", "y", "x"],
    }
    return pd.DataFrame(base | columns)


def more_logs(days: int) -> pd.DataFrame:
    """The same log on several days."""
    return pd.concat(
        [log(session=[f"{day} {one}" for one in log()["session"]]) for day in range(days)]
    )
