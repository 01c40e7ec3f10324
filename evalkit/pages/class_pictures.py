"""The pictures of classes one by one, each against the rest, and of labels: scores, calibration, net benefit."""

from typing import Any

import pandas as pd

from evalkit.drawing import curve_plots, plots, score_plots
from evalkit.drawing.curve_plots import Panel
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html
from evalkit.numbers import counted, decimals, listed, number, plural
from evalkit.pages.net_benefits import THRESHOLD
from evalkit.studies import decision_curve, one_by_one, score_spread
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.labels import LabelsStudy

Either = ClassesStudy | LabelsStudy

UNFOLDED = 4  # squares that a page shows at once
HEIGHT = 2.5  # inches of a square


def score_plot(study: Either) -> Picture | Html:
    """The histogram of the scores of each class: of its rows, and of the others."""
    if not study.one_by_one:
        return Html("")
    edges = score_spread.edges(study, study.one_by_one, one_by_one.BINS)
    frame, distances = score_spread.histogram(study.one_by_one, edges), _distances(study)
    bins = f"{one_by_one.BINS} equal bins of the score"
    caption = f"{_of_each(study)}: {_pair(study)}, the share of each in {bins}. {distances}"
    labels: dict[str, Any] = {"xlabel": f"score of the {study.noun}", "ylabel": "share of rows", "sides": study.sides}
    figure = plots.row(score_plots.histograms, frame, caption=caption, **_size(study), **labels)
    return _folded(study, figure, "Scores")


def ks_plot(study: Either) -> Picture | Html:
    """The distribution functions of the scores of each class, with their largest distance."""
    if not study.one_by_one:
        return Html("")
    tables = study.one_by_one
    frame = pd.concat([score_spread.distribution(name, c, one_by_one.SMALL.curve) for name, c in tables.items()])
    caption = (
        f"{_of_each(study)}: {_pair(study)}, the share of each at or below a score; the upright line marks the largest "
        f"distance (Kolmogorov–Smirnov)."
    )
    labels: dict[str, Any] = {"xlabel": f"score of the {study.noun}", "ylabel": "share at or below"}
    data, alt = (frame, score_spread.distances(tables)), f"{caption} {_distances(study)}"
    more = _size(study) | labels | {"sides": study.sides}
    figure = plots.row(score_plots.distributions, *data, caption=caption, alt=alt, **more)
    return figure.folded(f"Distribution functions of the scores (KS), {study.noun} by {study.noun}")


def class_calibration_plot(study: Either) -> Picture | Html:
    """The reliability diagram of each class against the rest."""
    if not (study.probabilities and study.one_by_one):
        return Html("")
    drawn, words = study.each_reliability, _corners(study.one_by_one)
    grey = f"Grey: at each probability, {study.settings.level:.0%} of such curves if the probabilities are right. "
    caption = (
        f"{_of_each(study)}: reliability diagram without bins (CORP) of the probability of each. Above the dotted line "
        f"probabilities are too low. {'' if drawn.bands is None else grey}Below: histogram of the probabilities. MCB: "
        f"miscalibration, DSC: discrimination, parts of the Brier score of each. Slope: below 1 over-confident, above "
        f"1 under-confident; if probabilities are exactly 0 or 1, it depends on how they are clipped."
    )
    values = "; ".join(f"{name}: {', '.join(lines)}" for name, lines in words.items())
    more = _size(study) | {"ylabel": f"share of the {study.noun}", "words": words, "height": 2.9}
    data, alt = (drawn.curve, drawn.bands, drawn.spread), f"{caption} {values}."
    figure = plots.row(score_plots.reliability, *data, caption=caption, alt=alt, **more)
    return _folded(study, figure, "Reliability diagrams")


def decision_curve_plot(study: Either) -> Picture | Html:
    """The net benefit of acting on each class by its probability."""
    if not (study.probabilities and study.one_by_one):
        return Html("")
    panels = [_benefit(study.leader, name, c) for name, c in study.one_by_one.items()]
    caption = (
        f"{_of_each(study)}: decision curve of acting on the probability of each. Net benefit: true positives per row "
        f"less false positives per row times t / (1 − t), where t is the probability from which a case is acted on. "
        f"Dotted: no case is acted on."
    )
    figure = plots.row(curve_plots.panels, panels, caption=caption, **_size(study))
    return figure.folded(f"Net benefit, {study.noun} by {study.noun}")


def _benefit(leader: str, name: str, c: Any) -> Panel:
    frame = decision_curve.drawn({leader: c}, one_by_one.SMALL.curve)
    return Panel(frame, THRESHOLD, "net benefit per row", name, reference=((0, 1), (0, 0)))


def _corners(tables: Any) -> dict[str, list[str]]:
    parts = one_by_one.parts(tables)
    places = decimals([size for d, _ in parts.values() for size in (d.miscalibration, d.discrimination)])
    return {
        name: [
            f"MCB {number(d.miscalibration, places)}",
            f"DSC {number(d.discrimination, places)}",
            f"slope {number(slope, 2)}",
        ]
        for name, (d, slope) in parts.items()
    }


def _of_each(study: Either) -> str:
    """Whose classes are drawn, and which of them are not."""
    drawn, left = list(study.one_by_one), [name for name in study.names if name not in study.one_by_one]
    rows = f"{study.leader} ({counted(study.account.used, 'row')})"
    if not left:
        return f"{rows}, each {study.noun}"
    some = f"the {len(drawn)} of {len(study.names)} {plural(study.noun, 2)} with the {study.chosen_by.words}"
    return f"{rows}, {some} (not drawn: {listed(left, 6)})"


def _pair(study: Either) -> str:
    first, second = study.sides
    return f"{first} and {second}"


def _distances(study: Either) -> str:
    rows = score_spread.distances(study.one_by_one)
    places = decimals(rows["value"])
    return f"KS: {listed(f'{row.system} {number(row.value, places)}' for row in rows.itertuples())}."


def _size(study: Either) -> dict[str, Any]:
    return {"panels": len(study.one_by_one), "height": HEIGHT}


def _folded(study: Either, figure: Picture, summary: str) -> Picture:
    """The figure, folded if it has many squares."""
    many = len(study.one_by_one) > UNFOLDED
    return figure.folded(f"{summary}, {study.noun} by {study.noun}") if many else figure


def recorded(study: Either) -> dict[str, Any]:
    """What these pictures draw, by class as `system`."""
    tables = study.one_by_one
    if not tables:
        return {}
    edges = score_spread.edges(study, tables, one_by_one.BINS)
    numbers: dict[str, Any] = {
        "scores": {
            "histogram": score_spread.histogram(tables, edges).to_dict("list"),
            "distances": score_spread.distances(tables).to_dict("records"),
        }
    }
    if study.probabilities:
        numbers["isotonic"] = study.each_reliability.recorded()
        benefit = [decision_curve.benefits({name: c}, decision_curve.COARSE) for name, c in tables.items()]
        named = [frame[frame["system"] != decision_curve.ALL] for frame in benefit]
        numbers["net_benefit"] = pd.concat(named).to_dict("list")
    return {"one_by_one": numbers}
