"""What the first measurement of all intervals and tests came to, and the cells that show the same today.

`before`: coverage of intervals at 95%, or rejections of true nulls at 5%, in percent, as the first round had them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cells import Cell


@dataclass(frozen=True)
class First:
    """A finding. shown: text that the names of worlds and of numbers hold, of the cells that show it."""

    what: str
    before: str
    shown: Sequence[tuple[str, str]]

    def cells(self, every: Sequence[Cell]) -> list[Cell]:
        """The cells that show it today."""
        return [cell for cell in every if any(w in cell.where and n in cell.number for w, n in self.shown)]


FINDINGS = (
    First("miscalibration and ECE: an interval", "0, of a calibrated model", (("calibrated", "calibration:"),)),
    First("KS: interval", "36 to 91", (("largest distance", "value: ks"),)),
    First("KS: test", "6 to 9", (("largest distance", "difference: ks"),)),
    First("average precision at another base rate", "83 to 90", (("two classes", "elsewhere: base_rate"),)),
    First("AUC, F1 and average precision of a rare class", "61 to 88", (("one rare", "of c4"),)),
    First(
        "macro F1, macro precision and recall, balanced accuracy",
        "69 to 93",
        (("one rare", "value: macro"), ("one rare", "value: balanced")),
    ),
    First("RMSE, R² and MAE with lognormal errors", "64 to 91", (("lognormal errors", "value:"),)),
    First(
        "log loss and Brier with few positives", "87 to 94", (("positive", "value: log_loss"), ("positive", "brier"))
    ),
    First("lift at depths", "78 to 88", (("two classes", "lift: depth"),)),
    First("interleaving: wins and credit", "85 to 94", (("sessions", "value:"),)),
    First("interleaving: their tests", "6 to 16", (("sessions", "difference:"),)),
    First("ratios of sums by user", "85 to 92", (("queries by user", "value:"), ("errors by user", "value:"))),
    First("binary metrics by user", "89 to 93", (("two classes by user", "value:"),)),
    First("binary metrics with weights", "80 to 93", (("two classes, weights", "value:"),)),
    First("skewed revenue in unequal arms: test", "8 to 24", (("arms 1 to 9", "difference: revenue"),)),
    First("an arm's mean", "75 to 91", (("users,", "value: revenue"),)),
    First("what A/B tests would show: power", "6 to 72", (("power, revenue", ""), ("power, buyers", ""))),
    First("ranking metrics of few queries", "84 to 93", (("a hard task", "value:"),)),
    First("sign flips on skewed differences", "7 to 36", (("skewed differences", "difference"),)),
    First("Cochran's Q of AUC over folds", "7 to 14", (("five folds, roc_auc", "Cochran"),)),
    First("what a binary page says would show: power", "73 to 98", (("power, 30%", ""), ("power, 10%", ""))),
    First("the leader of five, and its lead over the last", "92 and 74", (("five systems", "picked"),)),
    First("McNemar's test beside Tango's interval", "2 to 6", (("right or wrong", "difference"),)),
    First("the draft of an interleaving, any position", "2 to 3", (("sessions", "any position"),)),
)


def table(every: Sequence[Cell]) -> str:
    """The findings with the figures of then and of today, where any cell shows them."""
    rows = [row for first in FINDINGS for row in _rows(first, first.cells(every))]
    return "\n".join(
        ["## The first findings, then and now", "", "| finding | then, % | now, % |", "|---|---|---|", *rows]
    )


def _rows(first: First, some: Sequence[Cell]) -> list[str]:
    sides = []
    for kind in dict.fromkeys(cell.kind for cell in some):
        shares = [100 * cell.share for cell in some if cell.kind is kind]
        declared = sum(cell.state == "declared" for cell in some if cell.kind is kind)
        told = f", {declared} declared" if declared else ""
        sides.append(f"{kind.verb} {min(shares):.1f} to {max(shares):.1f} in {len(shares)} cells{told}")
    return [f"| {first.what} | {first.before} | {'; '.join(sides)} |"] if sides else []
