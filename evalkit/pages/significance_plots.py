"""The pictures of the significance page, each from the study's frames."""

from typing import Any

import pandas as pd

from evalkit.drawing import claim_plots, plots, tables
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html, interval, number, p_value, percent, signed
from evalkit.pages import page, pieces
from evalkit.studies import lessons
from evalkit.studies import significance_diagnostics as diagnostics
from evalkit.studies import significance_extras as extras
from evalkit.studies.diagnostics import sides
from evalkit.studies.significance import Significance
from evalkit.studies.trials import Shares
from evalkit.studies.words import counted, plural, sample_sizes

pieces.listed(__name__)

Either = Significance | Shares
WIDE = (7.6, 2.9)


def _pair(s: Either) -> str:
    return " − ".join(s.opponents)


def _p(s: Significance) -> str:
    """The p-value of the headline, which is no share of the draws where it pays for several looks."""
    paid = f", paying for {s.looks} looks" if s.looks > 1 else ""
    return f"p {p_value(s.headline.iloc[0]['p'])}{paid}"


def differences(s: Either) -> Picture | Html:
    """The primary differences of all pairs with their intervals, around 0, and the margin."""
    if not len(s.headline):
        return Html("")
    found = s.comparisons[s.comparisons["metric"] == s.primary.label].head(page.DRAWN)
    frame = pd.DataFrame({"name": page.pair_names(found), "value": found["difference"]})
    frame["low"], frame["high"] = found["low"], found["high"]
    colours = {"better": plots.COLOURS[0], "worse": plots.COLOURS[1], "equivalent": plots.COLOURS[2]}
    frame["colour"] = [colours.get(word, plots.GREY) for word in found["verdict"]]
    label = f"difference in {s.primary.label} ({sample_sizes(found['n'], s.unit_name)})"
    band = f"; band: the margin ±{s.settings.margin:g}" if s.settings.margin else ""
    caption = (
        f"{s.differences_are} in {s.primary.label}, {percent(s.settings.level)} interval of each alone. Blue: better, "
        f"orange: worse, green: equivalent, grey: cannot tell, after Holm's correction{band}."
    )
    rows = zip(frame["name"], frame["value"], frame["low"], frame["high"], strict=True)
    told = "; ".join(f"{name}: {signed(d)} {interval(low, high, signed)}" for name, d, low, high in rows)
    size, margin = plots.tall(len(frame)), s.settings.margin
    drawn: dict[str, Any] = {"label": label, "margin": margin}
    return plots.picture(claim_plots.forest, frame, alt=f"{caption} {told}", caption=caption, size=size, **drawn)


def distribution(s: Either) -> Picture | Html:
    """The differences of single units of the headline pair."""
    if not len(s.headline):
        return Html("")
    if isinstance(s, Shares):
        return tables.paragraph("Counts of successes: single trials are not paired, so there is nothing to subtract.")
    found = s.differences().to_numpy()
    above, equal, below = sides(found)
    caption = (
        f"{_pair(s)}: {s.primary.label} of each {s.unit_name}, n = {found.size:,}: {above:,} above 0, "
        f"{equal:,} equal, {below:,} below. Blue: better, orange: worse. A mean far from the "
        f"median is a few {plural(s.unit_name, 2)} speaking loudly."
    )
    xlabel = f"difference in {s.primary.label}"
    drawn: dict[str, Any] = {"xlabel": xlabel, "ylabel": plural(s.unit_name, 2)}
    drawn["less_is_better"] = s.primary.metric.best == "low"
    return plots.picture(claim_plots.histogram, found, alt=caption, caption=caption, size=WIDE, **drawn)


def null_distribution(s: Either) -> Picture | Html:
    """What chance alone would have given, and where the observed difference stands."""
    if not len(s.headline):
        return Html("")
    return _null_shares(s) if isinstance(s, Shares) else _null_means(s)


def _null_means(s: Significance) -> Picture | Html:
    if not s.flips:
        return tables.paragraph("The p-value comes from a t distribution here: there are no sign flips to draw.")
    row, draws = s.headline.iloc[0], s.null_draws()
    how = "all sign vectors" if row["n"] <= 20 else f"{draws.size:,} random sign vectors"
    caption = (
        f"{_pair(s)}: the mean difference in {s.primary.label} if every {s.unit_name} had been won or lost by a fair "
        f"coin ({how}, n = {row['n']:,}). Red: as far from 0 as observed, {signed(row['difference'])}; {_p(s)}."
    )
    drawn: dict[str, Any] = {
        "observed": float(row["difference"]),
        "xlabel": f"mean difference in {s.primary.label} under the null",
        "ylabel": "share of sign vectors",
    }
    return plots.picture(claim_plots.null_distribution, draws, alt=caption, caption=caption, size=WIDE, **drawn)


def _null_shares(s: Shares) -> Picture | Html:
    if s.null is None:
        return tables.paragraph("Two independent groups: p comes from the score test of a common share.")
    n, shares = s.counts(s.opponents[0])[1], diagnostics.null_shares(s)
    if shares is None:
        return tables.paragraph(
            f"{n:,} trials: p is from the score test; the probabilities of single outcomes are not drawn."
        )
    few = f" One number in {shares.step:,} is drawn." if shares.step > 1 else ""
    p, trials = float(s.headline.iloc[0]["p"]), counted(n, "trial")
    caption = (
        f"{s.opponents[0]}: {shares.seen:,} of {trials}. Bars: the probability of each number of successes if the "
        f"share were {s.null:g}; red: those that p adds up ({s.alternative}), {p_value(p)}.{few}"
    )
    drawn: dict[str, Any] = {
        "seen": shares.seen,
        "counted": shares.added,
        "xlabel": f"successes of {trials}",
    }
    return plots.picture(
        claim_plots.null_shares, shares.k, shares.probability, alt=caption, caption=caption, size=WIDE, **drawn
    )


def ranks(s: Either) -> Picture | Html:
    """The critical-difference diagram of three systems or more, with the limits of its approximations."""
    found = extras.mean_ranks(s) if isinstance(s, Significance) else None
    if found is None:
        return tables.paragraph(_unranked(s))
    k, n = len(found["mean_ranks"]), found["units"]
    told = ", ".join(f"{name} {rank:.2f}" for name, rank in found["mean_ranks"].items())
    rough = f" With k · n below {diagnostics.LITTLE} both are rough." if diagnostics.ranked_roughly(k, n) else ""
    caption = (
        f"Mean ranks by {s.primary.label} of k = {k} systems over n = {n:,} {plural(s.unit_name, n)} "
        f"(Friedman p {p_value(found['friedman'])}, Iman–Davenport p {p_value(found['iman_davenport'])}); bars join "
        f"systems within Nemenyi's critical difference, {found['critical_difference']:.2f}.{rough} Ranks ignore sizes, "
        "and depend on which systems are in the pool: the paired differences above decide."
    )
    size = plots.tall(plots.grid(k, across=2)[0], head=1.7, each=0.24)
    drawn: dict[str, Any] = {"distance": found["critical_difference"], "label": "mean rank, best left"}
    means = found["mean_ranks"]
    return plots.picture(
        claim_plots.critical_difference, means, alt=f"{caption} {told}", caption=caption, size=size, **drawn
    )


def _unranked(s: Either) -> str:
    if isinstance(s, Shares):
        return "Ranks need units that every system has a value of; trials of different systems are not the same."
    if len(s.order) < 3:
        return "Ranks say something of three paired systems or more; here there are fewer."
    return "Ranks need two units or more that are independent, which folds are not, and a metric with a direction."


def power(s: Either) -> Picture | Html:
    """What true difference so many units show, and what a quarter or four times as many would."""
    frame = extras.power_curve(s) if isinstance(s, Significance) and len(s.headline) else pd.DataFrame()
    if not len(frame):
        return tables.paragraph("Power needs paired differences that vary over independent units.")
    assert isinstance(s, Significance)
    sd, n = extras.spread(s)
    caption = (
        f"{_pair(s)}: the chance to show a true difference in {s.primary.label} at α = "
        f"{diagnostics.look_alpha(s):.4g}, from the spread of these differences (standard deviation {number(sd)}); "
        f"n = {n:,} {plural(s.unit_name, n)} as here, a quarter, four times as many. Horizontal: 80 %. One comparison "
        "alone."
    )
    drawn: dict[str, Any] = {
        "observed": float(s.headline.iloc[0]["difference"]),
        "margin": s.settings.margin,
        "xlabel": f"true difference in {s.primary.label}",
    }
    return plots.picture(claim_plots.power, frame, alt=caption, caption=caption, size=WIDE, **drawn)


# The teaching half ------------------------------------------------------------------------------------------------


def duality(s: Either) -> Picture | Html:
    """The headline's test and interval as one picture: p of every mean, and α cuts out the interval."""
    if not len(s.headline) or isinstance(s, Shares) or not s.flips:
        return Html("")
    row, alpha = s.headline.iloc[0], diagnostics.look_alpha(s)
    zero = "outside" if diagnostics.rejected(s) else "inside"
    caption = (
        f"{_pair(s)}: p of every mean difference under the null, by sign flips. Where p ≥ {alpha:.4g} is the "
        f"{percent(s.settings.level)} interval {interval(row['low'], row['high'], signed)}; 0 lies {zero}, {_p(s)}."
    )
    drawn: dict[str, Any] = {
        "observed": float(row["difference"]),
        "alpha": alpha,
        "limits": tuple(limit for limit in (row["low"], row["high"]) if abs(limit) < float("inf")),
        "label": f"mean difference in {s.primary.label} under the null",
    }
    return plots.picture(claim_plots.duality, s.p_curve(), alt=caption, caption=caption, size=WIDE, **drawn)


def hundred() -> Picture:
    """A hundred simulated intervals by t and by z with s."""
    frame = lessons.hundred()
    missed = frame[~frame["covers"]].groupby("method", sort=False).size()
    caption = (
        f"95 % intervals of the mean of {lessons.FEW} heights from N({lessons.MEAN:g}, {lessons.SIGMA:g}²), "
        f"{lessons.SAMPLES} samples; red: the {missed['t']} (t) and {missed['z with s']} (z with s) that miss the mean."
    )
    drawn: dict[str, Any] = {"truth": lessons.MEAN, "label": "height (cm)"}
    return plots.picture(claim_plots.hundred, frame, alt=caption, caption=caption, size=WIDE, panels=(1, 2), **drawn)


def coin() -> Picture:
    """Heads of ten flips of a fair coin."""
    frame, flips = lessons.coin(), lessons.FLIPS
    caption = f"Heads of {flips} flips of a fair coin. Red: 8 heads or more, {number(0.0546875, 4)} together."
    k, chance = frame["heads"].to_numpy(float), frame["chance"].to_numpy(float)
    drawn: dict[str, Any] = {"seen": 8, "counted": k >= 8, "xlabel": f"heads of {flips} flips"}
    return plots.picture(claim_plots.null_shares, k, chance, alt=caption, caption=caption, size=(7.6, 2.4), **drawn)
