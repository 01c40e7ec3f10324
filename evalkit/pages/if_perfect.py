"""Words for calibration errors, which no interval holds: what perfect calibration would show."""

import math

from evalkit.numbers import number, p_value

NO_LIMITS = (
    "Estimates of miscalibration, discrimination and ECE are biased upwards, so they have no valid interval. "
    "If perfect: the mean of the metric if labels are drawn from the scores; p: how often it is then at least as large."
)


def if_perfect(expected: float, p: float, places: int) -> tuple[str, ...]:
    """What the metric would be on average if every score were right, with so many decimals, and the p of that.

    Empty where it is unknown.
    """
    if math.isnan(expected):
        return ()
    return (f"if perfect {number(expected, places)},\np {p_value(p)}",)
