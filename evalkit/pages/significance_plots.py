"""The pictures of the significance page, each from the study's frames."""

from typing import Any

from evalkit.drawing import claim_plots, plots
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html
from evalkit.numbers import interval, number, p_value, percent, plural, signed
from evalkit.pages import page, pieces, shares_page
from evalkit.pages.pieces import also
from evalkit.pages.shares_page import WIDE, Either
from evalkit.studies import lessons, paired
from evalkit.studies.diagnostics import alpha
from evalkit.studies.paired import Significance
from evalkit.studies.significance import Shares

pieces.listed(__name__)


def _pair(study: Either) -> str:
    return " − ".join(study.opponents)


def _p(study: Significance) -> str:
    """The p-value of the headline, which is not a share of the draws if it is corrected for several analyses."""
    paid = f", corrected for {study.looks} analyses" if study.looks > 1 else ""
    return f"p {p_value(study.headline.iloc[0]['p'])}{paid}"


def differences(study: Either) -> Picture | Html:
    """The primary differences of all pairs with their intervals, around 0, and the margin."""
    if not len(study.headline):
        return Html("")
    band = f"; band: the margin ±{study.settings.margin:g}" if study.settings.margin else ""
    caption = (
        f"{study.differences_are} in {study.primary.label}, {percent(study.settings.level)} intervals, unadjusted; "
        f"{page.colours_of(study)}, after Holm's correction{band}."
    )
    return page.forest(study, claim_plots.forest, caption, margin=study.settings.margin)


@also(Shares, pieces.nothing)
def distribution(study: Significance) -> Picture | Html:
    """The differences of single units of the headline pair."""
    if not len(study.headline):
        return Html("")
    sizes = study.effect(study.primary, study.opponents)[0]
    n = sizes.wins + sizes.ties + sizes.losses
    caption = (
        f"{_pair(study)}: difference in {study.primary.label} of each {study.unit_name}, n = {n:,}: "
        f"{sizes.wins:,} above 0, "
        f"{sizes.ties:,} equal, {sizes.losses:,} below. Green: better, orange: worse. A mean far from the "
        f"median shows that a few {plural(study.unit_name, 2)} dominate."
    )
    xlabel = f"difference in {study.primary.label}"
    drawn: dict[str, Any] = {"xlabel": xlabel, "ylabel": plural(study.unit_name, 2)}
    drawn["less_is_better"] = study.primary.metric.best == "low"
    return plots.picture(claim_plots.histogram, study.distribution(), caption=caption, size=WIDE, **drawn)


@also(Shares, shares_page.null_distribution)
def null_distribution(study: Significance) -> Picture | Html:
    """What chance alone would have given, and where the observed difference stands."""
    if not len(study.headline):
        return Html("")
    if not study.flips:
        return Html("")
    row, draws = study.headline.iloc[0], study.null_draws()
    how = "all sign vectors" if row["n"] <= 20 else f"{draws.size:,} random sign vectors"
    how = f"{draws.size:,} draws from the normal distribution of such means" if study.many else how
    far = "Red: at least" if claim_plots.far(draws, row["difference"]).any() else "None is"
    caption = (
        f"{_pair(study)}: the mean difference in {study.primary.label} if every {study.unit_name} had been won or "
        "lost by a fair "
        f"coin ({how}, n = {row['n']:,}). {far} as far from 0 as observed, {signed(row['difference'])}; "
        f"{_p(study)}."
    )
    drawn: dict[str, Any] = {
        "observed": float(row["difference"]),
        "xlabel": f"mean difference in {study.primary.label} under the null",
        "ylabel": f"share of {'draws' if study.many else 'sign vectors'}",
    }
    return plots.picture(claim_plots.null_distribution, draws, caption=caption, size=WIDE, **drawn)


@also(Shares, pieces.nothing)
def ranks(study: Significance) -> Picture | Html:
    """The critical-difference diagram of three systems or more, with the limits of its approximations."""
    summary = paired.mean_ranks(study)
    if summary is None:
        return Html("")
    k, n = len(summary["mean_ranks"]), summary["units"]
    every = summary["mean_ranks"]
    means = every if k <= page.DRAWN else dict(sorted(every.items(), key=lambda item: item[1])[: page.DRAWN])
    listed = ", ".join(f"{name} {rank:.2f}" for name, rank in means.items())
    more = f" The figure shows the {page.DRAWN} best." if len(means) < k else ""
    rough = (
        f" With k · n below {paired.LITTLE} both p-values are rough approximations." if k * n < paired.LITTLE else ""
    )
    caption = (
        f"Mean ranks by {study.primary.label} of k = {k} systems over n = {n:,} {plural(study.unit_name, n)} (Friedman "
        f"p {p_value(summary['friedman'])}, Iman–Davenport p {p_value(summary['iman_davenport'])}); bars join systems "
        f"within Nemenyi's critical difference, {summary['critical_difference']:.2f}.{rough} Ranks ignore the sizes "
        f"of differences and depend on which systems are compared: the paired differences above decide.{more}"
    )
    size = plots.WIDTH, plots.tall(plots.grid(len(means), across=2)[0], head=1.9, each=0.34)
    drawn: dict[str, Any] = {"distance": summary["critical_difference"], "label": "mean rank, best left"}
    return plots.picture(
        claim_plots.critical_difference, means, alt=f"{caption} {listed}", caption=caption, size=size, **drawn
    )


@also(Shares, pieces.nothing)
def power(study: Significance) -> Picture | Html:
    """What true difference so many units show, and what a quarter or four times as many would."""
    if not len(study.headline) or not len(frame := paired.power_curve(study)):
        return Html("")
    of = study.paired(study.primary, study.opponents)
    caption = (
        f"{_pair(study)}: power, the probability of detecting a true difference in {study.primary.label} at α = "
        f"{1 - study.family_level:.2g} (Holm's first step), from the spread of these differences (standard "
        f"deviation {number(of.spread)}); "
        f"n = {of.n:,} {plural(study.unit_name, of.n)} as here, a quarter, four times as many. Horizontal: 80%."
    )
    drawn: dict[str, Any] = {
        "observed": float(study.headline.iloc[0]["difference"]),
        "margin": study.settings.margin,
        "xlabel": f"true difference in {study.primary.label}",
    }
    return plots.picture(claim_plots.power, frame, caption=caption, size=WIDE, **drawn)


# The teaching half ------------------------------------------------------------------------------------------------


@also(Shares, pieces.nothing)
def duality(study: Significance) -> Picture | Html:
    """The headline's test and interval as one picture: p of every mean, and α cuts out the interval."""
    if not len(study.headline) or not study.flips:
        return Html("")
    row, each = study.headline.iloc[0], 1 - study.test_level
    test = "t" if study.many else "sign flips"
    zero = "outside" if float(row["p"]) < alpha(study) else "inside"
    caption = (
        f"{_pair(study)}: p of every hypothesised mean difference, by {test}. The values with p ≥ {each:.4g} "
        f"form the "
        f"{percent(study.settings.level)} interval {interval(row['low'], row['high'], signed)}; 0 lies {zero}, "
        f"{_p(study)}."
    )
    drawn: dict[str, Any] = {
        "observed": float(row["difference"]),
        "alpha": each,
        "limits": tuple(limit for limit in (row["low"], row["high"]) if abs(limit) < float("inf")),
        "label": f"mean difference in {study.primary.label} under the null",
    }
    return plots.picture(claim_plots.duality, study.p_curve(), caption=caption, size=WIDE, **drawn)


def hundred() -> Picture:
    """A hundred simulated intervals by t and by z with s."""
    frame = lessons.hundred()
    missed = frame[~frame["covers"]].groupby("method", sort=False).size()
    caption = (
        f"95% intervals of the mean of {lessons.FEW} heights from N({lessons.MEAN:g}, {lessons.SIGMA:g}²), "
        f"{lessons.SAMPLES} samples; red: the {missed['t']} (t) and {missed['z with s']} (z with s) that miss the mean."
    )
    drawn: dict[str, Any] = {"truth": lessons.MEAN, "label": "height (cm)"}
    return plots.row(claim_plots.hundred, frame, caption=caption, height=WIDE[1], panels=2, **drawn)


def coin() -> Picture:
    """Heads of ten flips of a fair coin."""
    frame, flips = lessons.coin(), lessons.FLIPS
    caption = f"Heads of {flips} flips of a fair coin. Red: 8 heads or more, {number(0.0546875, 4)} together."
    k, chance = frame["heads"].to_numpy(float), frame["chance"].to_numpy(float)
    drawn: dict[str, Any] = {"seen": 8, "counted": k >= 8, "xlabel": f"heads of {flips} flips"}
    return plots.picture(claim_plots.null_shares, k, chance, caption=caption, size=(plots.WIDTH, 2.4), **drawn)
