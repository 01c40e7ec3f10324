"""The decision curve: net benefit over the threshold probability, and the differences of two systems in it."""

import pandas as pd

from evalkit.drawing import curve_plots, plots
from evalkit.drawing.curve_plots import Panel
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html
from evalkit.numbers import listed, number
from evalkit.pages import page
from evalkit.studies import decision_curve
from evalkit.studies.binary import BinaryStudy

THRESHOLD = "threshold probability"


def decision_curve_plot(study: BinaryStudy) -> Picture | Html:
    """Net benefit of the systems, of predicting all rows positive and of predicting none."""
    if not (study.probabilities and study.both_classes):
        return Html("")
    frame = decision_curve.drawn({name: study.table(name) for name in study.order[: page.CURVES]})
    at = decision_curve.at_costs(study)
    values = listed((f"{row.system} {number(row.value)}" for row in at.itertuples()), page.CURVES + 1)
    chance = number(at["threshold"].iloc[0], 2)
    caption = (
        f"Decision curve (n = {study.facts.rows:,}). Net benefit: true positives per row less false positives per row "
        f"times t / (1 − t), where t is the probability from which a case is acted on; higher is better. Dotted line "
        f"at 0: no case is acted on. At t = {chance}, which the costs imply ({study.costs}): {values}."
        f"{LOW if frame['y'].isna().any() else ''}{page.few(study)}"
    )
    panel = Panel(frame, THRESHOLD, "net benefit per row", reference=((0, 1), (0, 0)))
    return plots.row(curve_plots.panels, [panel], caption=caption, panels=1, height=3.3)


def decision_difference_plot(study: BinaryStudy) -> Picture | Html:
    """Differences in net benefit of the pairs of the first screen, with intervals."""
    if not (study.probabilities and study.both_classes) or not len(frame := decision_curve.apart(study)):
        return Html("")
    frame = frame.assign(system=frame["first"] + " − " + frame["second"], y=frame["value"])
    banded = bool(frame["low"].notna().any())
    bands = f"Bands: pointwise {study.settings.level:.0%} intervals from the paired rows. {_ends(frame)}"
    caption = f"Differences in net benefit by threshold probability. {bands if banded else NO_LIMITS}"
    panel = Panel(frame, THRESHOLD, "difference per row", "", frame if banded else None, None, ((0, 1), (0, 0)))
    picture = plots.row(curve_plots.panels, [panel], caption=caption, panels=1, height=3.3)
    return picture.folded("Differences in net benefit")


LOW = f" Values below −{-decision_curve.LOWEST:g} times the base rate are not drawn."
NO_LIMITS = "Without intervals, as the rows are not in memory."


def _ends(frame: pd.DataFrame) -> str:
    """How many thresholds each pair's interval excludes 0 at."""
    ends = decision_curve.excluding(frame).itertuples()
    words = (f"{row.first} − {row.second} above at {row.above} and below at {row.below} of {row.of}" for row in ends)
    return f"Thresholds whose interval excludes 0: {listed(words, joint='; ')}."
