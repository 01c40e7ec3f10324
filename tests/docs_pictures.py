"""The pictures of the documentation, drawn from the bundled data.

`make outputs` writes the small ones, which README shows, to docs/pictures; `make docs` those of the
tour to docs/_pictures, by the argument `tour`.
"""

import sys
from pathlib import Path

from matplotlib import pyplot
from PIL import Image

import evalkit as ek
from evalkit.studies.study import Study

TOP = Path(__file__).resolve().parents[1]
DOCS = TOP / "docs"
DATA = TOP / "data"
SMALL = (3.0, 2.3)  # inches
LARGE = (7.2, 4.0)
COLOURS = 48
SMALL_PICTURES = {
    "classification": "roc",
    "ranking": "curves",
    "rating": "reliability",
    "significance": "ranks",
    "validation": "folds",
    "ab_test": "effects",
    "diff": "differences",
}
SYSTEMS = {"classification": {"systems": "forest,gbm"}, "rating": {"systems": "poisson"}}
TOUR_PICTURES = ["curve", "calibration", "segment"]


def studies() -> dict[str, Study]:
    """One study for each report, of the bundled data, as in the guides."""
    health_plans = DATA / "interleaving" / "health_plans.parquet"
    runs = DATA / "digits_retrieval" / "runs"
    judgements = DATA / "digits_retrieval" / "qrels.txt"
    return {
        "classification": ek.classification(
            DATA / "german_credit" / "predictions.csv", segments="housing"
        ),
        "ranking": ek.ranking(runs, judgements, metrics="ndcg@10", baseline="pca8_euclid"),
        "rating": ek.rating(DATA / "visit_forecasts" / "predictions.csv", unit="person"),
        "significance": ek.significance(runs, judgements, metrics="ndcg@10"),
        "validation": ek.validation(DATA / "german_credit" / "predictions.csv"),
        "ab_test": ek.ab(
            users=health_plans,
            columns="user=block,arm=plan",
            metrics="visits_per_year,visits/years,any_visit",
            before="chronic",
            shares="unknown",
            baseline="paying",
        ),
        "diff": ek.diff(DATA / "two_days" / "old", DATA / "two_days" / "new"),
    }


def small_pictures() -> None:
    """Write one picture for each report to docs/pictures, in few colours to keep them small."""
    folder = DOCS / "pictures"
    drawn = studies()
    for name, plot in SMALL_PICTURES.items():
        path = folder / f"{name}.png"
        getattr(drawn[name].plot, plot).save(path, size=SMALL, **SYSTEMS.get(name, {}))
        Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)


def tour_pictures() -> None:
    """Write the pictures of the tour to docs/_pictures."""
    drawn = studies()["classification"]
    for plot in TOUR_PICTURES:
        getattr(drawn.plot, plot).save(DOCS / "_pictures" / f"{plot}.png", size=LARGE)


if __name__ == "__main__":
    pyplot.switch_backend("agg")
    if sys.argv[1:] == ["tour"]:
        tour_pictures()
    else:
        small_pictures()
