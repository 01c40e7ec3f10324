"""The A/B test of users on the interleaving page."""

import math
from collections.abc import Iterator

from evalkit.drawing import figures, plots, shown
from evalkit.drawing.columns import count, limits, p_column, text, value, words
from evalkit.drawing.paragraphs import muted_paragraph
from evalkit.drawing.pieces import Html, stack
from evalkit.drawing.tables import of_rows
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, WARNING, Finding, measured
from evalkit.numbers import count_with_noun, listed, number, p_value, plural, signed_number
from evalkit.pages import as_json, page, pieces, texts
from evalkit.pages.shared_findings import (
    columns_in_words,
    counts,
    disagreeing_metrics,
    leader_picked,
    metrics_without_direction,
    one_row_per_unit,
    slices,
)
from evalkit.studies import diagnostics, experiment
from evalkit.studies.experiment import Experiment

pieces.offer_pieces(__name__)


@pieces.where_it_exists
def findings(study: Experiment) -> Html:
    """What to know of the table before the numbers."""
    return shown.findings(findings_of_users(study), "users-")


@pieces.where_it_exists
def estimates(study: Experiment) -> Html:
    """The arms in rows, the metrics in columns."""
    users = count_with_noun(study.users, study.unit_name)
    return page.estimates(study, f"Arms with their {study.settings.level:.0%} intervals, {users}")


@pieces.where_it_exists
def comparisons(study: Experiment) -> Html:
    """The differences of the arms on every metric."""
    return page.comparisons(study)


@pieces.where_it_exists
@pieces.where(lambda study: len(study.lifts))
def effects(study: Experiment) -> figures.Figure | Html:
    """The lift in every metric with its interval on one axis. If several pairs of arms are compared
    each row names its pair, otherwise the caption does.
    """
    rows = study.lifts.head(page.PAIRS_DRAWN)
    pairs = rows["first"] + " − " + rows["second"]
    names = rows["metric"] + ": " + pairs
    whose = ""
    if pairs.nunique() == 1:  # the pair stands in the caption
        names = rows["metric"]
        whose = f"{pairs.iloc[0]}: "
    frame = rows[["value", "low", "high"]].assign(name=names)
    frame["colour"] = [page.VERDICT_COLOURS[verdict].code for verdict in rows["verdict"]]
    caption = texts.sentence("experiment.effects", whose=whose, level=study.settings.level)
    return figures.figure_drawn_by(
        plots.intervals,
        frame,
        caption=caption,
        says=page.differences_in_words(frame),
        label="lift in %",
        zero=True,
        height=figures.figure_height(len(frame)),
    )


@pieces.where_it_exists
def adjustments(study: Experiment) -> Html:
    """A table of the difference of the headline's two arms in one mean, `study.plain`: unadjusted,
    and by each way to make its interval shorter (CUPED, strata, a cap). Empty if no metric is a
    mean.
    """
    if not len(study.adjustments) or study.plain is None:
        return Html("")
    columns = {
        "measured": text("way"),
        "estimand": words("estimand"),
        "difference": limits("difference", show=signed_number),
        "p": p_column("p"),
        # with this share of the users the way gives an interval as wide as that of all users
        # unadjusted
        "users": text("users", "{:.0%}".format),
    }
    pair = " − ".join(study.headline_systems)
    n = max(study.adjustments["n"])
    caption = f"{pair} in mean {study.plain.label}, {n:,} {plural(study.unit_name, 2)}"
    note = texts.sentence("experiment.adjustments_note")
    return of_rows(caption, study.adjustments, columns, note)


@pieces.where_it_exists
def users_for(study: Experiment) -> Html:
    """A table of the users per arm that would show a lift of a mean, `study.plain`, with 80% power:
    a row for each lift, without and with CUPED. Empty if no metric is a mean, or the mean of the
    second arm is 0 or unknown, so that no lift is defined.
    """
    if not len(study.users_for) or study.plain is None:
        return Html("")
    columns = {
        "lift": text("lift", "{:.0%}".format),
        "difference": value("difference", signed_number),
        "users per arm": count("raw", _three_digits),
    }
    if study.p.before:  # the covariate of CUPED, from before the experiment
        columns[f"with CUPED on {study.p.before}"] = count("cuped", _three_digits)
    what = f"{study.plain.label} over {study.headline_systems[1]}"
    caption = (
        f"Users needed to detect a lift in {what} with 80% power, from the standard deviation in "
        f"this table"
    )
    return of_rows(caption, study.users_for, columns)


def _three_digits(users: float) -> str:
    """A number of users with three significant digits, as it is an estimate: 12,345 as "12,300"."""
    return f"{float(f'{users:.3g}'):,.0f}"


@pieces.where_it_exists
@pieces.where(lambda study: len(study.by_segment))
def segments(study: Experiment) -> Html:
    """The first metric by segment, and what n counts."""
    n = muted_paragraph(f"n: {plural(study.unit_name, 2)} of the larger arm.")
    return stack([page.segments(study), n])


def definitions(study: Experiment) -> list[tuple[str, str]]:
    """The metrics shown, the tests, CUPED and the cap."""
    return page.metric_definitions(study) + texts.meanings("users", tests=study.tests_text)


def answers(study: Experiment) -> dict[str, object]:
    """Every number of the A/B test for the JSON, unrounded."""
    # by the top share of users, such as "0.01", their share of the total
    shares = {f"{top:g}": share for top, share in study.concentration.items()}
    return as_json.answers(study) | {
        "columns": dict(study.table.columns),
        "population": {"sizes": study.sizes, "crossed": study.crossed, "unit": study.unit_name},
        "sample_ratio": study.sample_ratio.p,
        "covariate_p": study.balance.p,
        "baseline": study.settings.baseline,
        **as_json.frames_as_records(
            adjustments=study.adjustments, caps=study.caps, users_for=study.users_for
        ),
        "concentration": shares,
        "looks": study.looks,
    }


def findings_of_users(study: Experiment) -> Iterator[Finding]:
    """Every finding of an A/B table, those on the input first, those on the sample last."""
    if study.sample:  # without input, the bundled sample is read
        yield kinds.BUNDLED.warning()
    yield _arms(study)
    if "metrics" not in study.p.given_values:  # then the columns of numbers suggest them
        yield _columns_as_metrics(study)
    yield from metrics_without_direction(study)
    yield from design(study)
    users = plural(study.unit_name, 2)
    yield from one_row_per_unit(study, study.users, users)  # in memory, if there are many users
    yield from _distribution(study)
    yield from leader_picked(study)
    yield from disagreeing_metrics(study)
    yield from slices(study)


def _arms(study: Experiment) -> Finding:
    """How many users each arm has; and which arm is the baseline, if the user named none and it was
    recognised by its name, such as "control".
    """
    baseline = ""
    if study.settings.baseline and study.p.baseline != study.settings.baseline:
        baseline = f" Its name makes {study.settings.baseline} the baseline."
    return kinds.ARMS.note(
        study.users,
        users=plural(study.unit_name, 2).capitalize(),
        sizes=counts(study.sizes),
        columns=columns_in_words(study.table.columns),
        baseline=baseline,
    )


def _columns_as_metrics(study: Experiment) -> Finding:
    """Which columns are compared as metrics where none was named."""
    columns = [chosen.label for chosen in study.settings.metrics]
    further = ""
    if len(columns) > 1:
        further = f", beside {listed(columns[1:])}"
    return kinds.METRICS_OF_COLUMNS.note(len(columns), first=columns[0], others=further)


def design(study: Experiment) -> Iterator[Finding]:
    """The findings on the design of the experiment: users seen in several arms, arms without their
    planned shares of users, arms that differed before the experiment, interim analyses (looks).
    """
    if study.crossed:
        severity = WARNING if study.many_crossed else NOTE
        users = count_with_noun(study.crossed, study.unit_name)
        yield kinds.CROSSED.finding_with_severity(severity, study.crossed, users=users)
    yield _sample_ratio(study)
    if study.p.before:
        yield _balance(study)
    looks = study.looks  # None without interim analyses
    if looks:
        # a warning if a result is significant only as long as the interim analyses do not count
        severity = WARNING if experiment.only_without_looks(study) else NOTE
        yield kinds.LOOKS.finding_with_severity(
            severity,
            int(looks["looks"]),  # their number
            "users",
            looks=looks["looks"],
            alpha=diagnostics.alpha(study),
            rate=looks["false_positive_rate"],  # of a test at `alpha` after each look
            # the p below which the last analysis is significant, by either bound
            obrien_fleming=number(looks["obrien_fleming"], 4),
            pocock=number(looks["pocock"], 4),
        )


def _sample_ratio(study: Experiment) -> Finding:
    """Whether the arms have the planned shares of users, and what to do if not."""
    check = study.sample_ratio
    if math.isnan(check.p):  # not tested
        return kinds.SAMPLE_RATIO.note(None, "unknown")
    facts = {"plan": check.words, "p": p_value(check.p)}
    if check.severity is NOTE:
        return kinds.SAMPLE_RATIO.note(None, "fits", **facts)
    if study.p.shares:
        return kinds.SAMPLE_RATIO.finding_with_severity(check.severity, None, "planned", **facts)
    # the user gave no shares: the plan may have been other than the equal shares that are tested
    return kinds.SAMPLE_RATIO.finding_with_severity(check.severity, None, "unplanned", **facts)


def _balance(study: Experiment) -> Finding:
    """Whether the arms had the same mean before the experiment, and what to do if not."""
    check = study.balance
    facts = {"column": study.p.before, "means": check.words, "p": p_value(check.p)}
    if check.severity is NOTE:
        return kinds.BALANCE.note(None, "fits", **facts)
    return kinds.BALANCE.finding_with_severity(check.severity, None, "differs", **facts)


def _distribution(study: Experiment) -> Iterator[Finding]:
    """The findings on the values of the users: how much of the total the top users contribute, and
    arms in which so few users differ from the most frequent value, often 0, that the interval of a
    mean is too short. Nothing if no metric is a mean.
    """
    if study.plain is None:  # `plain` is the mean that these findings are about
        return
    concentration = study.concentration  # the share of the total, by the top share of users
    if concentration:
        shares = []
        for top, share in concentration.items():
            shares.append(f"{share:.0%} by the top {top:.0%}")
        simulated = ""  # how far tests err on so few heavy users
        smallest_top = experiment.TOPS[0]
        if concentration[smallest_top] > experiment.TOP_HEAVY:
            simulated = f" {measured.ZIPF}"
        yield kinds.HEAVY_USERS.note(
            None,
            "users",
            metric=study.plain.label,
            shares=", ".join(shares),
            simulated=simulated,
        )
    unusual_users = experiment.few_others(study)  # by arm, the number of those that differ
    if unusual_users:
        yield kinds.FEW_UNITS.warning(
            min(unusual_users.values()),
            "unusual",
            users=plural(study.unit_name, 2).capitalize(),
            metric=study.plain.label,
            counts=counts(unusual_users),
        )


@pieces.where_it_exists
def heavy_users(study: Experiment) -> figures.Figure | Html:
    """The difference of the headline's two arms in one mean, `study.plain`, with its interval:
    uncapped, and with values above a quantile set to it, for lower and lower quantiles. If it
    changes much, heavy users decide it. Empty if no metric is a mean.
    """
    differences = study.caps  # a row for each cap: name, value, low, high, n
    if not len(differences) or study.plain is None:
        return Html("")
    n = max(differences["n"])
    first, second = study.headline_systems  # the arms
    caption = texts.sentence(
        "experiment.heavy_users",
        first=first,
        second=second,
        label=study.plain.label,
        level=study.settings.level,
    )
    label = f"difference in mean {study.plain.label} (n = {n:,} {plural(study.unit_name, n)})"
    return figures.figure_drawn_by(
        plots.intervals,
        differences,
        caption=caption,
        says=page.differences_in_words(differences),
        label=label,
        zero=True,
        height=figures.figure_height(len(differences)),
    )
