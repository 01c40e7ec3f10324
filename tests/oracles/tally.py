"""What comparisons with public tools came to."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Tally:
    """Counts of one group of comparisons. explained: by the reason why a value differs, or is not
    compared.
    """

    equal: int = 0
    explained: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def check(
        self, where: str, ours: float, theirs: float | None, rule: str = "", within: float = 1e-9
    ) -> None:
        """One comparison; `rule` explains a difference."""
        theirs = float("nan") if theirs is None else float(theirs)
        if (np.isnan(ours) and np.isnan(theirs)) or abs(ours - theirs) <= within:
            self.equal += 1
        elif rule or (np.isnan(ours) and theirs == 0):
            self.explained[rule or "undefined here, 0 there"] += 1
        else:
            self.wrong.append(f"{where}: evalkit {ours!r}, expected {theirs!r}")

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.equal + other.equal, self.explained + other.explained, self.wrong + other.wrong
        )

    def __str__(self) -> str:
        known = "".join(f", {n} {name}" for name, n in sorted(self.explained.items()))
        return f"{self.equal} equal{known}, {len(self.wrong)} MISMATCHES"

    @property
    def comparisons(self) -> int:
        """All of them."""
        return self.equal + self.explained.total() + len(self.wrong)
