"""Tables that the tests of the significance study share."""

import numpy as np
import pandas as pd

from evalkit.pages import significance_page


def rng(seed=0):
    return np.random.default_rng(seed)


def wide(n=60, gain=0.5, **columns) -> pd.DataFrame:
    """Values of n queries in a column per system: a lies `gain` above b on average."""
    base = rng(1).normal(size=n)
    noise = rng(2).normal(size=n)
    return pd.DataFrame(
        {"query": [f"q{i}" for i in range(n)], "a": base + gain + 0.5 * noise, "b": base} | columns
    )


def long(values: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The same values with one row per query and system, all of this metric."""
    return values.melt(id_vars="query", var_name="system", value_name="value").assign(metric=metric)


def told(study) -> str:
    """The messages of the findings with their codes, one a line."""
    return "\n".join(
        f"{finding.message} [{finding.kind.code}]"
        for finding in significance_page.every_finding(study)
    )
