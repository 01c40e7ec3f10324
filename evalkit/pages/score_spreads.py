"""The pictures of the scores of the two classes: histograms, and distribution functions with their distance (KS)."""

from typing import Any

from evalkit.drawing import plots, score_plots
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html
from evalkit.numbers import decimals, number
from evalkit.pages.probabilities import DRAWN
from evalkit.studies import score_spread
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.words import counted, listed


def score_plot(study: BinaryStudy) -> Picture | Html:
    """The histogram of the scores of each class, one square a system."""
    if not study.both_classes:
        return Html("")
    names, c = study.order[:DRAWN], study.table(study.order[0])
    frame = score_spread.histogram(study)
    frame = frame[frame["system"].isin(names)]
    caption = (
        f"Scores by class ({counted(c.positives, 'positive')}, {counted(c.negatives, 'negative')}): the share of each "
        f"class in {score_spread.BINS} equal bins. The less the two overlap, the better a threshold can separate them."
    )
    labels = {"xlabel": "score", "ylabel": "share of the class"}
    alt = f"{caption} {_distances(study)}"
    return plots.row(score_plots.histograms, frame, caption=caption, alt=alt, panels=len(names), height=2.6, **labels)


def ks_plot(study: BinaryStudy) -> Picture | Html:
    """The distribution function of the leader's scores of each class, with the largest distance marked."""
    if not study.both_classes:
        return Html("")
    name = study.leader
    frame, widest = score_spread.distribution(name, study.table(name)), score_spread.distances(study)
    caption = (
        f"{name}: share of each class at or below a score; the upright line marks the largest distance "
        f"(Kolmogorov–Smirnov). {_distances(study)}"
    )
    labels: dict[str, Any] = {"xlabel": "score", "ylabel": "share at or below"}
    figure = plots.row(score_plots.distributions, frame, widest, caption=caption, panels=1, **labels)
    return figure.folded("Distribution functions of the scores (KS)")


def _distances(study: BinaryStudy) -> str:
    rows = score_spread.distances(study).head(DRAWN)
    places = decimals(rows["value"])
    words = (f"{row.system} {number(row.value, places)} at {number(row.x)}" for row in rows.itertuples())
    return f"KS: {listed(words)}."
