"""The words and tables that only the significance page has, each from the study's frames."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from evalkit.drawing import tables
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import (
    Cell,
    Column,
    Html,
    Results,
    count,
    each,
    number_cell,
    of_rows,
    p_column,
    pair,
    text,
    value,
    words,
)
from evalkit.numbers import interval, percent, plural, signed, signed_percent
from evalkit.pages import first_screen, page, pieces, record, shares_page, significance_findings
from evalkit.pages import significance_plots as pictures
from evalkit.pages.pieces import also
from evalkit.pages.shares_page import Either
from evalkit.studies import lessons, paired
from evalkit.studies.diagnostics import alpha, equivalence_level, most_units, rank_tiers
from evalkit.studies.paired import Significance
from evalkit.studies.significance import Shares

pieces.listed(__name__)

SENTENCES = {
    "t": ("t p", "paired t"),
    "bh": (
        "t p, BH",
        "Benjamini–Hochberg over the pairs of a metric: controls the false discovery rate, for exploration",
    ),
    "bootstrap": ("bootstrap p", "BCa bootstrap of units"),
    "tukey": ("Tukey p", "unit-blocked Tukey, already adjusted for all pairs of a metric"),
    "wilcoxon": ("Wilcoxon p", "tests a pseudo-median, not the mean"),
    "sign": ("sign test p", "tests which system wins more often, not the mean"),
}


TEST = (
    "two-sided sign-flip (Fisher randomisation) test of paired differences, exact where possible, small p-values "
    "by importance sampling; its inversion gives the interval. Ratios of sums with different denominators: "
    "jackknife t. Folds: Nadeau and Bengio's corrected t"
)
JOINT = "joint sign flips of the whole family"
NORMAL = "normal draws for the whole family, with the covariance of joint sign flips"


@also(Shares, shares_page.title)
def title(study: Significance) -> Html:
    """The title and what was asked."""
    n = most_units(study)
    many = len([name for name in study.systems if name != study.settings.baseline])
    who = f"{many} {plural('system', many)}" + (
        f" against {study.settings.baseline}" if study.settings.baseline else ""
    )
    asked = f"What can be claimed about {who} on {study.primary.label}, from {n:,} {plural(study.unit_name, n)}?"
    return first_screen.heading("Significance report", asked, study)


def findings(study: Either) -> Html:
    """The assumptions, measured."""
    return tables.findings(significance_findings.of(study))


def estimates(study: Either) -> Html:
    """Systems in rows, metrics in columns."""
    units = plural(study.unit_name, 2)
    over = f"rows, whole {units} as units," if study.settings.unit else units
    return page.estimates(
        study, f"{study.value_is} over {over} with its {percent(study.estimates['level'].iloc[0])} interval"
    )


@also(Shares, pieces.nothing)
def other_tests(study: Significance) -> Html:
    """The same pairs by every other test, folded."""
    if not len(study.headline) or not len(frame := paired.other_tests(study)):
        return Html("")
    columns: dict[str, Column] = {"first − second": pair, "metric": words("metric")}
    known = {test: words for test, words in SENTENCES.items() if frame[test].notna().any()}
    columns |= {head: p_column(test) for test, (head, _) in known.items()}
    note = "; ".join(f"{head}: {text}" for head, text in known.values())
    if study.settings.unit:
        units = plural(study.unit_name, 2)
        whole = " and ".join(test for test in ("t", "bootstrap") if test in known)
        verb = "take" if "bootstrap" in known else "takes"
        note += f"; {whole} {verb} whole {units}, the other tests the mean of each {study.unit_name}"
    caption = "Other tests of the same differences, unadjusted unless stated"
    return tables.folded("The same pairs by other tests", of_rows(caption, frame, columns, f"{note}."))


@also(Shares, pieces.nothing)
def effects(study: Significance) -> Html:
    """How large each difference is: the primary metric's pairs, the other metrics folded."""
    if not len(study.headline):
        return Html("")
    frame = paired.effects(study)
    deciding = frame["metric"] == study.primary.label
    note = (
        "Relative: as a share of the second's value. d_z: mean / standard deviation of the differences. P(first "
        "higher): the probability that the first is higher on a unit, ties counted half. These are effect sizes, not "
        "tests."
    )
    first = _effects(frame[deciding], f"Effect sizes: differences in {study.primary.label}", note)
    if deciding.all():
        return first
    rest = _effects(frame[~deciding], "Effect sizes: differences in the other metrics", "")
    return tables.stack([first, tables.folded("The other metrics", rest)])


def _effects(frame: pd.DataFrame, caption: str, note: str) -> Html:
    columns: dict[str, Column] = {
        "first − second": pair,
        **({"metric": words("metric")} if frame["metric"].nunique() > 1 else {}),
        "difference": value("difference", signed),
        "relative": value("relative", signed_percent),
        "d_z": value("standardised", signed),
        "P(first higher)": value("superiority"),
        "higher / equal / lower": each(lambda row: f"{row['wins']:,} / {row['ties']:,} / {row['losses']:,}"),
    }
    return of_rows(caption, frame, columns, note)


def equivalence(study: Either) -> Html:
    """TOST and non-inferiority against the margin; without one nothing."""
    if not len(study.headline):
        return Html("")
    return _equivalence(study) if study.settings.margin is not None else Html("")


@also(Shares, shares_page.equivalence)
def _equivalence(study: Significance) -> Html:
    """The table of the pairs, with their intervals."""
    margin = study.settings.margin
    inside = percent(equivalence_level(study))

    def within(row: Mapping[str, Any], side: int) -> Cell:
        return Cell("yes" if paired.within_margin(study, row)[side] else "not established", kind="text")

    columns: dict[str, Column] = {
        "first − second": pair,
        f"{inside} interval": each(lambda row: interval(row["equivalence_low"], row["equivalence_high"], signed)),
        f"within ±{margin:g}": each(lambda row: within(row, 0)),
        f"not worse by {margin:g}": each(lambda row: within(row, 1)),
    }
    note = (
        f"This {inside} interval is equivalent to two one-sided tests (TOST) at {alpha(study):.2g}, without adjustment."
    )
    caption = f"Equivalence and non-inferiority in {study.primary.label}, margin {margin:g}"
    return of_rows(caption, study.comparisons[study.comparisons["metric"] == study.primary.label], columns, note)


@also(Shares, pieces.nothing)
def needed(study: Significance) -> Html:
    """How many units would show which difference."""
    if not len(study.headline) or not len(frame := paired.needed(study)):
        return Html("")
    units = plural(study.unit_name, 2)
    columns: dict[str, Column] = {
        "true difference": value("difference"),
        "which is": words("which"),
        f"{units} for 80%": count("n_80", _count),
        f"{units} for 90%": count("n_90", _count),
    }
    caption = f"Units needed for {' − '.join(study.opponents)} in {study.primary.label}, at α = "
    caption += f"{1 - study.family_level:.2g} (Holm's first step over all comparisons)"
    note = "Plan for a difference that would matter: the observed one is as uncertain as the verdict."
    return of_rows(caption, frame, columns, note)


def _count(n: float) -> str:
    return f"{math.ceil(round(n, 6)):,}"


# The teaching half ------------------------------------------------------------------------------------------------


def teaching(study: Either) -> Html:
    """Why the answers above are made as they are: folded, computed live."""
    parts = [
        tables.folded("Is the coin fair? 8 heads in 10 flips are not enough evidence, 9 are", _coin()),
        tables.folded("What 95% confidence means: a hundred intervals, some of which miss", _hundred()),
        tables.folded("A test and its interval say the same (duality)", _duality(study)),
        tables.folded("Common mistakes and their error rates", _wrong()),
        tables.folded("Repeated analyses of growing data (sequential testing)", _looks()),
    ]
    return tables.stack([part for part in parts if part.html])


def _picture(piece: Picture | Html) -> Html:
    bundle = piece._repr_mimebundle_()
    return Html(bundle["text/html"], bundle["text/plain"])


def _coin() -> Html:
    frame = lessons.coin()
    rows: list[page.Row] = [
        [
            number_cell(r["heads"], 0),
            number_cell(r["one_sided"], 4),
            Cell("rejected" if r["one_sided"] < 0.05 else "not rejected", kind="text"),
            number_cell(r["two_sided"], 4),
            Cell("rejected" if r["two_sided"] < 0.05 else "not rejected", kind="text"),
        ]
        for r in frame[frame["heads"] >= 7].to_dict("records")
    ]
    heads = ["heads", "p, more heads", "at 0.05", "p, not fair", "at 0.05"]
    text = (
        "p is the probability that a fair coin gives this many heads or more (one-sided), or any result as unlikely "
        "(two-sided, for the question 'is it fair?'). It is not the probability that the coin is fair. A coin that is "
        "not rejected has not been proved fair. Choosing the side after seeing the heads halves p without "
        "justification. Flipping until the result is convincing means testing many times: see the last lesson."
    )
    return tables.stack(
        [
            tables.table("Ten flips of a fair coin, exactly", heads, rows),
            _picture(pictures.coin()),
            tables.paragraph(text),
        ]
    )


def _hundred() -> Html:
    listed = ", ".join(f"{r.z_with_s:.1%} at n = {r.n}" for r in lessons.coverage().itertuples())
    text = (
        "A point estimate alone does not say how far off it may be. The 95% describes the procedure: 95 of 100 such "
        "intervals contain the fixed, unknown mean; a single interval either does or does not. With σ known, M ± 1.96 "
        f"σ/√n has exactly this coverage. With s in place of σ the z interval covers too rarely ({listed}); Student's "
        "t corrects that. The mean of a new sample falls into an earlier interval in "
        f"{lessons.replicate():.1%} of cases, not in 95%."
    )
    return tables.stack([_picture(pictures.hundred()), tables.paragraph(text)])


def _duality(study: Either) -> Html:
    text = (
        "The 95% interval contains exactly the differences that the same two-sided test would not reject at 0.05: p "
        "is below 0.05 if and only if 0 lies outside the interval. This does not hold if test and interval come from "
        "different methods, such as a pooled z-test with an unpooled interval. If p is exact and the limits are "
        "simulated, p decides on which side of the limit 0 lies."
    )
    return tables.stack([piece for piece in (_picture(pictures.duality(study)), tables.paragraph(text)) if piece.html])


def _wrong() -> Html:
    rows: list[page.Row] = [
        [
            r["setting"],
            Cell(r["wrong"], kind="text"),
            f"{r['wrong_rate']:.0%}",
            Cell(r["right"], kind="text"),
            f"{r['right_rate']:.0%}",
        ]
        for r in lessons.wrong().to_dict("records")
    ]
    heads = ["situation (nominal error rate 5%)", "wrong method", "error rate", "better method", "error rate"]
    near = f"rates are accurate to about {lessons.noise():.0f} percentage points"
    note = f"Simulated with a fixed seed, {lessons.RUNS} runs (Wilcoxon {lessons.FEWER_RUNS}): {near}."
    return tables.table("Error rates of common mistakes", heads, rows, note)


def _looks() -> Html:
    columns: dict[str, Column] = {
        "analyses": count("looks", str),
        "false positives at 0.05 each": text("rate", "{:.1%}".format),
        "Pocock: p at each analysis": each(lambda row: number_cell(row["pocock"], 4)),
        "O'Brien–Fleming: p at the last": each(lambda row: number_cell(row["obrien_fleming"], 4)),
    }
    note = (
        "Set the parameter looks to the number of times the data were tested as they grew. Equally spaced analyses are "
        "assumed."
    )
    return of_rows(
        "False positives from repeated analyses, and the bounds that correct for them", lessons.looks(), columns, note
    )


# The end of the page ----------------------------------------------------------------------------------------------


@also(Shares, shares_page.definitions)
def definitions(study: Significance) -> Html:
    """The methods behind the numbers shown."""
    items = page.metric_definitions(study)
    items += [
        ("difference", "first − second on the same units; units that lack one of the two values are left out"),
        ("test", TEST),
        ("adjusted p", "Holm over the family: the probability of any false positive in it is at most 1 − level"),
        (
            "max-T p",
            f"adjusted by {NORMAL if study.many else JOINT}, which accounts for the correlation of the comparisons",
        ),
        ("equivalent", "the interval at 1 − 2α lies inside the margin: two one-sided tests (TOST)"),
        ("power", "power of a paired t-test with the observed standard deviation of the differences"),
    ]
    return tables.definitions(items)


def origin(study: Either) -> Html:
    """Inputs, parameters, versions, the command."""
    return record.origin(study, "significance")


@also(Shares, shares_page.results)
def results(study: Significance) -> Results:
    """Every number of the page, unrounded."""
    more: dict[str, Any] = {"differences": {"units": [], "values": []}}
    if len(study.headline):
        more = {
            "looks": {"looks": study.looks, "level_of_each": study.test_level},
            "effects": paired.effects(study).to_dict("records"),
            "other_tests": paired.other_tests(study).to_dict("records"),
            "ranks": paired.mean_ranks(study),
            "tiers": rank_tiers(study).to_dict("records"),
            "needed": paired.needed(study).to_dict("records"),
            "power": paired.power_curve(study).to_dict("list"),
            "null_distribution": paired.null_histogram(study),
            "p_curve": study.p_curve().to_dict("list"),
            "differences": study.each_difference(),
        }
    return shares_page.published(study, significance_findings.of(study), more)
