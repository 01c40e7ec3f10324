"""What the significance page says and shows of successes and trials, from the study's frames."""

from typing import Any

from evalkit.drawing import claim_plots, plots, tables
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html, Results
from evalkit.findings import kinds
from evalkit.findings.kinds import Finding
from evalkit.numbers import counted, interval, listed, p_value, percent, signed
from evalkit.pages import first_screen, page, record
from evalkit.pages.shared_findings import columns_read
from evalkit.statistics import proportions
from evalkit.studies import lessons
from evalkit.studies.diagnostics import FEW, equivalence_level
from evalkit.studies.paired import Significance
from evalkit.studies.significance import Shares

Either = Significance | Shares
PAIRS = 3  # pairs that a line names
WIDE = (plots.WIDTH, 2.9)


def title(study: Shares) -> Html:
    """The title and what was asked."""
    n = study.trials
    against = f" against a share of {study.null:g}" if study.null is not None else ""
    against = against or (" against each other" if len(study.systems) > 1 else "")
    asked = f"What can be claimed about {listed(study.data.systems)}{against}, from {counted(n, 'trial')}?"
    return first_screen.heading("Significance report", asked, study)


def equivalence(study: Shares) -> Html:
    """How equivalence is shown."""
    inside, margin = percent(equivalence_level(study)), study.settings.margin
    return tables.paragraph(f"Equivalent: the {inside} interval lies within ±{margin:g}.")


def definitions(study: Shares) -> Html:
    """The methods behind the numbers shown."""
    items = page.metric_definitions(study)
    items += [
        (
            "interval of a share",
            "Wilson; for a difference Mee's score interval; for a difference from a null share Clopper–Pearson",
        ),
        (
            "test",
            "against a null share the exact binomial test; between systems the score test, with Fisher's exact "
            "p beside it",
        ),
    ]
    return tables.definitions([*items, ("adjusted p", "Holm over the family")])


# Pictures


def null_distribution(study: Shares) -> Picture | Html:
    """What chance alone would have given, and where the observed share stands."""
    if not len(study.headline):
        return Html("")
    if study.null is None:
        return Html("")
    n, shares = study.counts(study.opponents[0])[1], study.null_shares()
    if shares is None:
        return tables.paragraph(
            f"{n:,} trials: p is from the score test; the probabilities of single outcomes are not drawn."
        )
    few = f" One outcome in {shares.step:,} is drawn." if shares.step > 1 else ""
    p, trials = float(study.headline.iloc[0]["p"]), counted(n, "trial")
    caption = (
        f"{study.opponents[0]}: {shares.seen:,} of {trials}. Bars: the probability of each number of successes if the "
        f"share were {study.null:g}; red: the outcomes that p sums ({study.alternative}), p {p_value(p)}.{few}"
    )
    drawn: dict[str, Any] = {
        "seen": shares.seen,
        "counted": shares.added,
        "xlabel": f"successes of {trials}",
    }
    return plots.picture(claim_plots.null_shares, shares.k, shares.probability, caption=caption, size=WIDE, **drawn)


# Findings


def findings(study: Shares) -> list[Finding]:
    """Every finding of trials."""
    return [*_trials(study), *_score_test(study), *_two_methods(study), _independent()]


def _trials(study: Shares) -> list[Finding]:
    n, small = study.trials, study.small
    findings = [kinds.ROWS_READ.note(f"{counted(n, 'trial')}. Columns: {columns_read(study.data.columns)}.", n)]
    text = f"Fewer than {FEW} trials: {listed(small)}."
    return findings + ([kinds.FEW_UNITS.warning(text, len(small))] if small else [])


def _score_test(study: Shares) -> list[Finding]:
    pairs = study.beyond_exact if study.alternative == "two-sided" else []
    exact = "Fisher's test" if study.null is None else "the exact binomial test"
    text = f"Above {proportions.EXACT:,} trials the score test replaces {exact}, from which it differs"
    return [kinds.SCORE_TEST.note(f"{text} by less than 0.1%: {listed(pairs)}.", len(pairs))] if pairs else []


def _two_methods(study: Shares) -> list[Finding]:
    rows = study.two_answers.to_dict("records")
    claims = [
        f"{r['first']} − {r['second']} (p {p_value(r['p'])}, {interval(r['low'], r['high'], signed)})" for r in rows
    ]
    text = f"The test and the interval use different methods and disagree on {listed(claims, PAIRS)}."
    return [kinds.TEST_AND_INTERVAL.warning(text, len(claims))] if claims else []


def _independent() -> Finding:
    text = (
        "Each trial must be independent of the others. If one user makes several, use values per user as input instead."
    )
    return kinds.INDEPENDENT_TRIALS.note(f"{text} The number of trials must have been fixed in advance.")


# The end of the page


def results(study: Shares) -> Results:
    """Every number of the page, unrounded."""
    return published(study, findings(study), {"differences": {"units": [], "values": []}})


def published(study: Either, findings: list[Finding], more: dict[str, Any]) -> Results:
    """What both kinds of significance study publish, and `more`."""
    both = {
        "columns": dict(study.data.columns),
        "family": study.family,
        "wrong_methods": lessons.wrong().to_dict("records"),
        "lessons": lessons.figures(),
    }
    return record.results(study, "significance", findings, both | more)
