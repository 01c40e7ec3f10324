"""The cells that leave their bounds, each with its reason and the sentence by which the page tells it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Named:
    """Cells: world, number are text that their names hold, empty for any."""

    world: str
    number: str
    reason: str

    def names(self, where: str, number: str) -> bool:
        """Whether a cell is one of these."""
        return self.world in where and self.number in number


@dataclass(frozen=True)
class Declared(Named):
    """An exception. least: coverage, most: rejections that are expected. told: by what sentence of the page."""

    told: str
    least: float = 0.93
    most: float = 0.06


FEW_ROWS = "a few rows hold most of the squares, and how many there are no sample of this size shows"
TOLD = "1 % of the rows account for 39 % of the squared error: RMSE is driven by a few rows."
DECLARED: tuple[Declared, ...] = (
    Declared("lognormal errors", "rmse", FEW_ROWS, TOLD, least=0.82),
    Declared("lognormal errors", "r2", FEW_ROWS, TOLD, least=0.77),
    Declared(
        "skewed differences",
        "difference",
        "sign flips take differences to be symmetric, and no closed form keeps the level of skewed ones",
        "In simulations of such differences a 5 % test rejected 6 to 13 % of true nulls.",
        least=0.9,
        most=0.1,
    ),
)

CAUSES: tuple[Named, ...] = ()
