"""The words and tables that only the significance page has, each from the study's frames."""

from typing import Any

import pandas as pd

from evalkit.drawing import tables
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import (
    Cell,
    CellOf,
    Html,
    Results,
    escape,
    interval,
    number,
    of_rows,
    p_value,
    pair,
    percent,
    signed,
    signed_percent,
    value,
    words,
)
from evalkit.pages import page, pieces, significance_findings
from evalkit.pages import significance_plots as pictures
from evalkit.studies import lessons
from evalkit.studies import significance_diagnostics as diagnostics
from evalkit.studies import significance_extras as extras
from evalkit.studies.diagnostics import alpha, equivalence_level, most_units
from evalkit.studies.significance import Significance
from evalkit.studies.trials import Shares
from evalkit.studies.words import counted, plural

pieces.listed(__name__)

Either = Significance | Shares
SENTENCES = {
    "t": ("t p", "paired t"),
    "bh": ("t p, BH", "Benjamini–Hochberg over the pairs of a metric: the share of false findings, for exploring"),
    "bootstrap": ("bootstrap p", "BCa bootstrap of units"),
    "tukey": ("Tukey p", "unit-blocked Tukey, already adjusted for all pairs of a metric"),
    "wilcoxon": ("Wilcoxon p", "of a pseudo-median, not of a mean"),
    "sign": ("sign test p", "of who wins more often, not of a mean"),
}


def title(study: Either) -> Html:
    """The title and what was asked."""
    if isinstance(study, Shares):
        n = diagnostics.trials(study)
        against = f" against a share of {study.null:g}" if study.null is not None else ""
        against = against or (" against each other" if len(study.systems) > 1 else "")
        asked = f"What can be claimed of {', '.join(study.data.systems)}{against}, from {counted(n, 'trial')}?"
        return tables.heading("Significance report", asked)
    n = most_units(study)
    many = len([name for name in study.systems if name != study.settings.baseline])
    who = f"{many} {plural('system', many)}" + (
        f" against {study.settings.baseline}" if study.settings.baseline else ""
    )
    asked = f"What can be claimed of {who} by {study.primary.label}, from {n:,} {plural(study.unit_name, n)}?"
    return tables.heading("Significance report", asked)


def findings(study: Either) -> Html:
    """The assumptions, measured."""
    return tables.findings(significance_findings.of(study))


def estimates(study: Either) -> Html:
    """Systems in rows, metrics in columns."""
    what, units = "Share" if isinstance(study, Shares) else "Mean", plural(study.unit_name, 2)
    over = f"rows, whole {units} as units," if study.settings.unit else units
    return page.estimates(study, f"{what} over {over} with its {percent(study.estimates['level'].iloc[0])} interval")


def other_tests(study: Either) -> Html:
    """The same pairs by every other test, folded."""
    frame = extras.other_tests(study) if isinstance(study, Significance) and len(study.headline) else pd.DataFrame()
    if not len(frame):
        return Html("")
    columns: dict[str, CellOf] = {"first − second": pair, "metric": words("metric")}
    columns |= {head: value(test, p_value) for test, (head, _) in SENTENCES.items()}
    note = "; ".join(f"{head}: {text}" for head, text in SENTENCES.values())
    if study.settings.unit:
        units = plural(study.unit_name, 2)
        note += f"; t and bootstrap take whole {units}, the other tests the mean of each {study.unit_name}"
    caption = "Other tests of the same differences, not adjusted where not said"
    return tables.folded("The same pairs by other tests", of_rows(caption, frame, columns, f"{note}."))


def effects(study: Either) -> Html:
    """How large each difference is: the primary metric's pairs, the other metrics folded."""
    if not len(study.headline):
        return Html("")
    if isinstance(study, Shares):
        return tables.paragraph("The size is the difference of the shares, in points of successes per trial.")
    frame = extras.effects(study)
    deciding = frame["metric"] == study.primary.label
    note = (
        "Relative: of the second's value. d_z: mean / standard deviation of the differences. P(first higher): the "
        "chance that the first is the higher on a unit, equal ones half. None of them is a test."
    )
    first = _effects(frame[deciding], f"Sizes of the differences in {study.primary.label}", note)
    if deciding.all():
        return first
    rest = _effects(frame[~deciding], "Sizes of the differences in the other metrics", "")
    return tables.stack([first, tables.folded("The other metrics", rest)])


def _effects(frame: pd.DataFrame, caption: str, note: str) -> Html:
    columns: dict[str, CellOf] = {
        "first − second": pair,
        "metric": words("metric"),
        "difference": value("difference", signed),
        "relative": value("relative", signed_percent),
        "d_z": lambda row: signed(row["standardised"], 2),
        "P(first higher)": lambda row: number(row["superiority"], 2),
        "higher / equal / lower": lambda row: f"{row['wins']:,} / {row['ties']:,} / {row['losses']:,}",
    }
    return of_rows(caption, frame, columns, note)


def equivalence(study: Either) -> Html:
    """TOST and non-inferiority against the margin; without one, what is missing."""
    if not len(study.headline):
        return Html("")
    margin = study.settings.margin
    if margin is None:
        text = "No margin was set. 'Cannot tell' is not 'equal': set margin to the largest difference that does not "
        return tables.paragraph(f"{text}matter, and pairs inside it are called equivalent.")
    if isinstance(study, Shares):
        return tables.paragraph(
            f"Equivalent: the {percent(equivalence_level(study))} interval lies within ±{margin:g}."
        )
    inside = percent(equivalence_level(study))

    def within(row: dict[str, Any], side: int) -> Cell:
        return Cell("yes" if diagnostics.within_margin(study, row)[side] else "not shown", "text")

    columns: dict[str, CellOf] = {
        "first − second": pair,
        f"{inside} interval": lambda row: interval(row["equivalence_low"], row["equivalence_high"], signed),
        f"within ±{margin:g}": lambda row: within(row, 0),
        f"not worse by {margin:g}": lambda row: within(row, 1),
    }
    note = f"Two one-sided tests at {alpha(study):.2g} (TOST) are this {inside} interval; not adjusted for the pairs."
    caption = f"Equivalence and non-inferiority in {study.primary.label}, margin {margin:g}"
    return of_rows(caption, study.comparisons[study.comparisons["metric"] == study.primary.label], columns, note)


def needed(study: Either) -> Html:
    """How many units would show which difference."""
    frame = extras.needed(study) if isinstance(study, Significance) and len(study.headline) else pd.DataFrame()
    if not len(frame):
        return Html("")
    units = plural(study.unit_name, 2)
    columns: dict[str, CellOf] = {
        "true difference": lambda row: number(row["difference"], 4),
        "is": words("which"),
        f"{units} for 80 %": value("n_80", _count),
        f"{units} for 90 %": value("n_90", _count),
    }
    caption = f"Units needed for {' − '.join(study.opponents)} in {study.primary.label}, one comparison alone"
    note = "Plan with a difference that would matter: the observed one is as uncertain as the verdict."
    return of_rows(caption, frame, columns, note)


def _count(n: float) -> str:
    return f"{diagnostics.whole(n):,}"


# The teaching half ------------------------------------------------------------------------------------------------


def teaching(study: Either) -> Html:
    """Why the answers above are made as they are: folded, computed live."""
    parts = [
        tables.folded("Is the coin fair? 8 heads of 10 are not enough, 9 are", _coin()),
        tables.folded("What 95 % means: a hundred intervals, some of which miss", _hundred()),
        tables.folded("Test and interval are one thing", _duality(study)),
        tables.folded("Wrong methods, and how wrong they are", _wrong()),
        tables.folded("Looking again and again", _looks()),
    ]
    return tables.stack([part for part in parts if part.html])


def _picture(piece: Picture | Html) -> Html:
    return piece if isinstance(piece, Html) else Html(piece._repr_mimebundle_()["text/html"], piece.alt)


def _coin() -> Html:
    frame = lessons.coin()
    rows: list[page.Row] = [
        [
            f"{int(r['heads'])}",
            number(r["one_sided"], 4),
            Cell("rejected" if r["one_sided"] < 0.05 else "not rejected", "text"),
            number(r["two_sided"], 4),
            Cell("rejected" if r["two_sided"] < 0.05 else "not rejected", "text"),
        ]
        for r in frame[frame["heads"] >= 7].to_dict("records")
    ]
    heads = ["heads", "p, more heads", "at 0.05", "p, not fair", "at 0.05"]
    text = (
        "p is the chance that a fair coin gives this many heads or more (one-sided), or anything as unlikely "
        "(two-sided, the question 'is it fair?'). It is not the chance that the coin is fair; not rejected is not "
        "proved fair; and choosing the side after seeing the heads halves p without a reason. A coin flipped until one "
        "is convinced was looked at many times: see the last lesson."
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
        "A point estimate alone does not say how far off it may be. The interval's 95 % belong to the procedure: of "
        "many intervals 95 in 100 hold the fixed, unknown mean; this one either does or not. With σ known, M ± 1.96 "
        f"σ/√n does it exactly. With s in its place z holds the mean too rarely ({listed}); Student's t repairs that. "
        f"The mean of a new sample falls into an earlier interval in {lessons.replicate():.1%} of the cases, not 95 %."
    )
    return tables.stack([_picture(pictures.hundred()), tables.paragraph(text)])


def _duality(study: Either) -> Html:
    text = (
        "The 95 % interval holds exactly those differences that the same two-sided test would not reject at 0.05: p is "
        "below 0.05 when, and only when, 0 lies outside. This fails for mismatched pairs, such as a pooled z-test "
        "beside an unpooled interval. Where p is exact and the limits are drawn, p decides on which side 0 lies."
    )
    return tables.stack([piece for piece in (_picture(pictures.duality(study)), tables.paragraph(text)) if piece.html])


def _wrong() -> Html:
    rows: list[page.Row] = [
        [
            Cell(escape(r["setting"])),
            Cell(escape(r["wrong"]), "text"),
            f"{r['wrong_rate']:.0%}",
            Cell(escape(r["right"]), "text"),
            f"{r['right_rate']:.0%}",
        ]
        for r in lessons.wrong().to_dict("records")
    ]
    heads = ["where no more than 5 % should err", "wrong", "errs", "better", "errs"]
    near = f"within {lessons.noise():.0f} points"
    note = f"Simulated with a fixed seed, {lessons.RUNS} runs (Wilcoxon {lessons.FEWER_RUNS}): {near}."
    return tables.table("Errors of common mistakes", heads, rows, note)


def _looks() -> Html:
    columns: dict[str, CellOf] = {
        "looks": value("looks", str),
        "false positives at 0.05 each": value("rate", "{:.1%}".format),
        "Pocock: p at each look": lambda row: number(row["pocock"], 4),
        "O'Brien–Fleming: p at the last": lambda row: number(row["obrien_fleming"], 4),
    }
    note = "Set looks to the number of times the data were tested as they grew; equally spaced looks are assumed."
    return of_rows("What looking costs, and the bounds that pay for it", lessons.looks(), columns, note)


# The end of the page ----------------------------------------------------------------------------------------------


def definitions(study: Either) -> Html:
    """The methods behind the numbers shown."""
    items = page.metric_definitions(study)
    if isinstance(study, Shares):
        items += [
            (
                "interval of a share",
                "Wilson's; of a difference Mee's score interval; against a null Clopper and Pearson's",
            ),
            ("test", "exact binomial against the null; between systems the score test, Fisher's exact p beside it"),
        ]
        return tables.definitions([*items, ("adjusted p", "Holm over the family")])
    test = (
        "two-sided sign-flip (Fisher randomisation) test of paired differences, exact where possible, small p-values "
        "by importance sampling; its inversion gives the interval; ratios of sums by the delta method; folds by Nadeau "
        "and Bengio's corrected t"
    )
    items += [
        ("difference", "first − second on the same units; units without one of the two values are left out"),
        ("test", test),
        ("adjusted p", "Holm over the family: the chance of any false finding in it stays below 1 − level"),
        ("max-T p", "adjusted by joint sign flips of the whole family, which sees that the comparisons are correlated"),
        ("equivalent", "the interval at 1 − 2α lies inside the margin: two one-sided tests (TOST)"),
        ("power", "of a paired t-test with the observed standard deviation of the differences"),
    ]
    return tables.definitions(items)


def origin(study: Either) -> Html:
    """Inputs, parameters, versions, the command."""
    return page.origin(study, study.data.sources, "significance")


def results(study: Either) -> Results:
    """Every number of the page, unrounded."""
    more: dict[str, Any] = {
        "columns": dict(study.data.columns),
        "family": study.family,
        "wrong_methods": lessons.wrong().to_dict("records"),
    }
    if isinstance(study, Shares) or not len(study.headline):
        more["differences"] = {"units": [], "values": []}
        return page.results(study, "significance", study.data.sources, significance_findings.of(study), more)
    differences = study.differences()
    more |= {
        "looks": {"looks": study.looks, "level_of_each": study.test_level},
        "effects": extras.effects(study).to_dict("records"),
        "other_tests": extras.other_tests(study).to_dict("records"),
        "ranks": extras.mean_ranks(study),
        "needed": extras.needed(study).to_dict("records"),
        "differences": {"units": list(differences.index), "values": list(differences)},
    }
    return page.results(study, "significance", study.data.sources, significance_findings.of(study), more)
