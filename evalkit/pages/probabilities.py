"""Scores taken as probabilities: the reliability diagram of each system, and the tables of calibration."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from evalkit.drawing import plots, score_plots, tables
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Cell, Html, by_system, limits
from evalkit.numbers import decimals, listed, number
from evalkit.pages.if_perfect import NO_LIMITS, if_perfect
from evalkit.studies.binary import FITTED, BinaryStudy
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.classification_diagnostics import Miscalibration, miscalibrated

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


# Tables


def calibrated(study: BinaryStudy) -> Html:
    """The Brier score taken apart, ECE, and the mean error; then slope and intercept."""
    if not study.probabilities:
        return Html("")
    note = (
        "Brier = miscalibration (MCB) − discrimination (DSC) + uncertainty (UNC): CORP, no bins. Recalibration removes "
        "the miscalibration; only a better ranking adds discrimination. ece_10_debiased: ECE less what chance adds to "
        "it on average. bias: mean probability − base rate. " + NO_LIMITS
    )
    if len(study.order) > DRAWN:
        note += f" The figure shows the first {DRAWN}."
    fitted = study.calibration["part"].isin(FITTED)
    parts = by_system("Calibration", study.calibration[~fitted], "part", _part, note)
    return tables.stack([*_miscalibrated(study), parts, _logistic(study, study.calibration[fitted])])


MISCALIBRATED = {
    Miscalibration.OVERCONFIDENT: "Over-confident, with probabilities too close to 0 and 1 (slope below 1)",
    Miscalibration.UNDERCONFIDENT: "Under-confident, with probabilities too far from 0 and 1 (slope above 1)",
    Miscalibration.TOO_LOW: "Too low on the whole (intercept above 0)",
    Miscalibration.TOO_HIGH: "Too high on the whole (intercept below 0)",
}


def _miscalibrated(study: BinaryStudy) -> list[Html]:
    """How the probabilities are wrong, a sentence for each way; and whose may be right; nothing without intervals."""
    wrong, right = miscalibrated(study)
    sentences = [f"{text}: {listed(wrong[way])}." for way, text in MISCALIBRATED.items() if way in wrong]
    if right:
        sentences.append(f"Neither slope nor intercept shows miscalibration: {listed(right)}.")
    return [tables.paragraph(" ".join(sentences))] if sentences else []


def _logistic(study: BinaryStudy, rows: pd.DataFrame) -> Html:
    caption = f"Logistic recalibration, with {study.settings.level:.0%} intervals"
    note = (
        "slope: of the logit of the probability in a logistic regression; 1 if calibrated, below 1: "
        "too extreme. intercept: with the slope fixed at 1; 0 if calibrated, above 0 if they are too low."
    )
    if certain := [name for name in study.order if study.facts.wrong.get(name)]:
        note += f" Of {listed(certain)} some rows are certain and wrong: the slope depends on how such are clipped."
    return by_system(caption, rows, "part", limits("value"), note)


def _part(rows: tables.Rows) -> list[Cell]:
    """The values with their limits, or beside what perfect calibration would show."""
    places = decimals(*([row[key] for row in rows] for key in ("value", "low", "high")))
    cells = zip(limits("value")(rows), rows, strict=True)
    return [replace(cell, below=if_perfect(row["expected"], row["p"], places)) for cell, row in cells]
