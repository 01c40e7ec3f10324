"""The pictures of the scores of the two classes: histograms, distribution functions (KS), and decisions."""

from typing import Any

from evalkit.drawing import curve_plots, plots, score_plots
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html
from evalkit.numbers import counted, decimals, listed, number
from evalkit.pages.probabilities import DRAWN
from evalkit.studies import score_spread
from evalkit.studies.binary import BinaryStudy


def score_plot(study: BinaryStudy) -> Picture | Html:
    """The histogram of the scores of each class, one square a system."""
    if not study.both_classes:
        return Html("")
    names, c = study.order[:DRAWN], study.table(study.order[0])
    tables = study.counts_by_system
    frame = score_spread.histogram({name: tables[name] for name in names}, score_spread.edges(study, tables))
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
    frame, widest = score_spread.distribution(name, study.table(name)), score_spread.distances(study.counts_by_system)
    caption = (
        f"{name}: share of each class at or below a score; the upright line marks the largest distance "
        f"(Kolmogorov–Smirnov). {_distances(study)}"
    )
    labels: dict[str, Any] = {"xlabel": "score", "ylabel": "share at or below"}
    figure = plots.row(score_plots.distributions, frame, widest, caption=caption, panels=1, **labels)
    return figure.folded("Distribution functions of the scores (KS)")


def confusion_plot(study: BinaryStudy) -> Picture | Html:
    """The confusion table of each system at its threshold, with shares of the actual class."""
    decided = study.decisions.dropna(subset=["threshold"])
    tables = {row.system: [[row.tp, row.fn], [row.fp, row.tn]] for row in decided.itertuples()}
    names = list(tables)[:DRAWN]
    if not names:
        return Html("")
    what = "weight of the rows" if study.facts.weighted else "rows"
    caption = (
        f"Confusion matrix at the threshold ({study.rule.text}): {what} by actual and predicted class. The shares, and "
        f"the shades, are of the actual class."
    )
    words = [_said(name, tables[name]) for name in names]
    classes = [study.facts.positive, study.facts.negative or "the rest"]
    labels: dict[str, Any] = {"classes": classes, "xlabel": "predicted", "ylabel": "actual"}
    drawn, alt = {name: tables[name] for name in names}, f"{caption} {'; '.join(words)}."
    return plots.row(curve_plots.matrices, drawn, caption=caption, alt=alt, panels=len(names), height=2.5, **labels)


def _said(name: str, table: list[list[float]]) -> str:
    (tp, fn), (fp, tn) = table
    return f"{name}: {tp:,g} true positives, {fn:,g} false negatives, {fp:,g} false positives, {tn:,g} true negatives"


def _distances(study: BinaryStudy) -> str:
    rows = score_spread.distances(study.counts_by_system).head(DRAWN)
    places = decimals(rows["value"])
    words = (f"{row.system} {number(row.value, places)} just below {number(row.x)}" for row in rows.itertuples())
    return f"KS: {listed(words)}."
