"""The pictures of scores taken as probabilities: the reliability diagram of each system."""

from collections.abc import Mapping

from evalkit.drawing import plots, score_plots
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html
from evalkit.numbers import decimals, number
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.classes import ClassesStudy

DRAWN = 4  # systems with a square of their own
CORNER = {"miscalibration": "MCB", "discrimination": "DSC", "uncertainty": "UNC", "slope": "slope"}


def calibration_plot(study: BinaryStudy) -> Picture | Html:
    """The reliability diagram of each system, with what the calibration table says of it."""
    if not study.probabilities:
        return Html("")
    words: dict[str, list[str]] = {name: [] for name in study.order[:DRAWN]}
    for part, rows in study.calibration.groupby("part", sort=False):
        places = decimals(*(rows[column] for column in ("value", "low", "high")))
        for row in rows[rows["system"].isin(list(words))].itertuples():
            words[row.system] += [f"{CORNER[part]} {number(row.value, places)}"] if part in CORNER else []
    how = "On the dotted line probabilities are calibrated; above it they are too low, below it too high."
    how += " MCB, DSC, UNC: miscalibration, discrimination and uncertainty; Brier = MCB − DSC + UNC."
    return reliability(study, "share of positives", how, words, study.facts.rows)


def reliability(
    study: BinaryStudy | ClassesStudy, what: str, how: str, words: Mapping[str, list[str]], rows: int
) -> Picture:
    """The isotonic curves of systems, one square each. what: the share; words: of each system, in its corner."""
    level, drawn = study.settings.level, study.isotonic.only(list(words))
    band = f"Grey: at each probability, {level:.0%} of such curves if the probabilities are right."
    band = "No bands, as rows are clustered or weighted." if drawn.bands is None else band
    caption = (
        f"Reliability diagram without bins (CORP, isotonic regression, n = {rows:,}). {how} {band} Below: histogram of "
        f"the probabilities."
    )
    values = "; ".join(f"{name}: {', '.join(lines)}" for name, lines in words.items())
    data = (drawn.curve, drawn.bands, drawn.spread)
    alt, more = f"{caption} {values}.", {"ylabel": what, "words": words}
    return plots.row(score_plots.reliability, *data, caption=caption, alt=alt, panels=len(words), height=3.4, **more)
