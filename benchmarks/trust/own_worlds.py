"""The worlds in which own metrics are tried: means, ratios, shares, functions of counts, weighted
and by unit.
"""

from pathlib import Path

from of_rows import binary, binary_by_user, normal, rating, rating_by_user, weighted
from of_units import ranking
from world import World

FILE = Path(__file__).with_name("own_metrics.py")


def _own(*names: str) -> dict[str, str]:
    """The parameter `metrics` as a notebook's user writes it."""
    return {"metrics": ",".join(f"{FILE}:{name}" for name in names)}


_ROWS = _own("saved", "misses_per_hit", "in_vain", "cost")
_LISTS = _own("relevant_of_five", "relevant_per_place")
_FORECASTS = _own("overshoot", "overshoot_share")
_BY_USER = {"unit": "user"}
OWN_WORLDS = (
    World("own metrics", "classification", 200, binary(0.3), _ROWS),
    World("own metrics, weights", "classification", 1000, weighted(binary(0.3)), _ROWS),
    World("own metrics by user", "classification", 100, binary_by_user(0.3), _ROWS | _BY_USER),
    World("own metrics", "rating", 200, rating(normal), _FORECASTS),
    World("own metrics, weights", "rating", 1000, weighted(rating(normal)), _FORECASTS),
    World("own metrics by user", "rating", 100, rating_by_user(normal), _FORECASTS | _BY_USER),
    World("own metrics", "ranking", 50, ranking(0.3, 2.0), _LISTS, many=5_000),
    World(
        "own metrics by user",
        "ranking",
        50,
        ranking(0.2, 1.0, 1.0),
        _LISTS | _BY_USER,
        many=500,
        large=12,
    ),
)
