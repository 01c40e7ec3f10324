"""The words, tables and figures of the significance page: values by unit, evaluations, successes
and trials.
"""

import math
from collections.abc import Iterator

import pandas as pd

from evalkit import numbers, report
from evalkit.arrays import Record
from evalkit.drawing import figures, paragraphs, plots
from evalkit.drawing.cells import Cell
from evalkit.drawing.columns import (
    Column,
    column_by_row,
    count,
    p_column,
    pair,
    prefixed_interval_column,
    value,
    words,
)
from evalkit.drawing.paragraphs import muted_paragraph
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.tables import of_rows
from evalkit.findings import kinds
from evalkit.findings.kinds import Finding
from evalkit.numbers import (
    count_with_noun,
    interval,
    listed,
    number,
    p_value,
    percent,
    plural,
    signed_number,
    signed_percent,
)
from evalkit.pages import (
    as_json,
    first_screen,
    judges_page,
    lessons_page as lesson,
    page,
    pieces,
    shared_findings,
    texts,
)
from evalkit.pages.pieces import also
from evalkit.pages.shared_findings import (
    columns_in_words,
    counts,
    disagreeing_metrics,
    leader_picked,
    metrics_without_direction,
    rank_gaps,
    skewed_differences,
    unshared_queries,
)
from evalkit.parameters.reports import SUCH, THESE
from evalkit.studies import diagnostics, lessons, paired, significance
from evalkit.studies.diagnostics import (
    FEW,
    alpha,
    equivalence_level,
    most_units,
    one_minus_level,
    rank_tiers,
)
from evalkit.studies.judges import JudgedOutputs
from evalkit.studies.paired import Significance
from evalkit.studies.significance import Shares

pieces.offer_pieces(__name__)

compared = pieces.where(lambda study: len(study.headline))


Either = Significance | Shares
PAIRS = 3  # pairs that a line names
NO_DIFFERENCES: Record = {"units": [], "values": []}  # of single units
HEIGHT = 2.9  # inches of a figure


def title_of_shares(study: Shares) -> Html:
    """The title and what was asked."""
    against = ""
    if study.null is not None:
        against = f" against a share of {study.null:g}"
    elif len(study.systems) > 1:
        against = " against each other"
    systems = f"{listed(study.data.systems)}{against}"
    question = (
        f"What can be claimed about {systems}, from {count_with_noun(study.trials, 'trial')}?"
    )
    return first_screen.heading("Significance report", question, study)


def equivalence_of_shares(study: Shares) -> Html:
    """The rule by which two shares are equivalent: the interval and the margin."""
    inside = percent(equivalence_level(study))
    margin = study.settings.margin
    return muted_paragraph(f"Equivalent: the {inside} interval lies within ±{margin:g}.")


def definitions_of_shares(study: Shares) -> Html:
    """The methods behind the numbers shown."""
    return paragraphs.definitions(page.metric_definitions(study) + texts.meanings("shares"))


@pieces.where(lambda study: len(study.headline) and study.null is not None)
def null_of_shares(study: Shares) -> figures.Figure | Html:
    """The binomial distribution of the number of successes of the headline's first system under the
    null share, with the observed number and the outcomes that p adds up. A sentence in its place
    for so many trials that p is from the score test, not from this distribution.
    """
    system, _null_share = study.headline_systems
    n_trials = study.counts(system).trials
    distribution = study.null_shares()
    if distribution is None:
        return muted_paragraph(texts.sentence("significance.not_drawn", trials=n_trials))
    step_note = ""
    if distribution.step > 1:  # there are more possible outcomes than a figure can show
        step_note = f" One outcome in {distribution.step:,} is drawn."
    p = float(study.headline.iloc[0]["p"])
    trials = count_with_noun(n_trials, "trial")
    caption = texts.sentence(
        "significance.null_of_shares",
        alternative=study.question_of_tests,
        p=p_value(p),
        few=step_note,
        opponents=system,
        seen=distribution.observed,
        trials=trials,
        null=study.null,
    )
    return figures.figure_drawn_by(
        plots.draw_null_probabilities,
        distribution.k,
        distribution.probability,
        caption=caption,
        height=HEIGHT,
        observed=distribution.observed,
        in_p=distribution.in_p,
        xlabel=f"successes of {trials}",
    )


def findings_of_shares(study: Shares) -> Iterator[Finding]:
    """Every finding of a study of successes and trials: how much was read, systems of few trials,
    comparisons too large for an exact test, those whose test and interval disagree on significance,
    and the assumption of independent trials.
    """
    n_trials = study.trials
    yield kinds.ROWS_READ.note(
        n_trials,
        "trials",
        trials=count_with_noun(n_trials, "trial"),
        columns=columns_in_words(study.data.columns),
    )
    systems_of_few_trials = study.small
    if systems_of_few_trials:
        yield kinds.FEW_UNITS.warning(
            len(systems_of_few_trials), "trials", few=FEW, systems=listed(systems_of_few_trials)
        )
    pairs_by_score_test = study.beyond_exact
    if pairs_by_score_test:
        exact = "Fisher's test" if study.null is None else "the exact binomial test"
        yield kinds.SCORE_TEST.note(
            len(pairs_by_score_test),
            most=study.most_exact,
            exact=exact,
            pairs=listed(pairs_by_score_test),
        )
    disagreements = []
    for row in study.two_answers.to_dict("records"):
        limits = interval(row["low"], row["high"], signed_number)
        disagreements.append(f"{row['first']} − {row['second']} (p {p_value(row['p'])}, {limits})")
    if disagreements:
        yield kinds.TEST_AND_INTERVAL.warning(
            len(disagreements), claims=listed(disagreements, PAIRS)
        )
    yield kinds.INDEPENDENT_TRIALS.note()


def results_of_shares(study: Shares) -> report.Results:
    """Every number of the page, unrounded."""
    return published(study, {"differences": NO_DIFFERENCES})


def published(study: Either, fields: Record) -> report.Results:
    """The results of a study for its JSON file: the fields that studies of units and of successes
    have in common, and the given ones, by name, which only this kind of study has.
    """
    common_fields: dict[str, object] = {
        "columns": dict(study.data.columns),  # by role, the column that was read for it
        "family": study.family,  # in words: the comparisons that were made
        "lessons": lessons.figures(),
    }
    common_fields |= as_json.frames_as_records(wrong_methods=lessons.wrong())
    return as_json.results(study, every_finding(study), common_fields | dict(fields))


RANK_TESTS = {"wilcoxon": "Wilcoxon", "sign": "the sign test"}  # in the words of a finding


@also(Shares, findings_of_shares)
def every_finding(study: Significance) -> Iterator[Finding]:
    """Every finding of a significance report: those on the input, and where systems are compared
    those on the units and on the tests.
    """
    yield from _data(study)
    yield from _units(study)
    if isinstance(study, JudgedOutputs):
        yield from judges_page.findings(study)
    if not len(study.headline):
        return
    yield from _very_many_units(study)
    yield from _clusters(study)
    yield from shared_findings.few_units(study, int(study.comparisons["n"].min()))
    yield from _equal_units(study)
    yield from leader_picked(study)
    yield from skewed_differences(study)
    yield from _tests(study)
    yield from disagreeing_metrics(study)
    yield from _interim_analyses(study)


def _data(study: Significance) -> Iterator[Finding]:
    """What was read and what of it was unusual: rows, missing and unmatched units, logs; of an
    earlier report also whether its differences are means over other units than its values.
    """
    columns = ""
    if study.data.columns:
        columns = f" Columns: {columns_in_words(study.data.columns)}."
    rows = len(study.data)
    units = count_with_noun(study.unit_count, study.unit_name)
    if rows != study.unit_count:  # the units are clusters of rows
        units = f"{count_with_noun(rows, 'row')} of {units}, which are the units"
    yield kinds.ROWS_READ.note(
        rows,
        "units",
        units=units,
        columns=columns,
        systems=count_with_noun(len(study.systems), "system"),
        metrics=count_with_noun(len(study.settings.metrics), "metric"),
    )
    yield from metrics_without_direction(study)
    yield from study.data.findings
    yield from _logs(study)
    yield from shared_findings.rows_without_match(study.data.alone)
    yield from unshared_queries(study.data.list_accounts)
    yield from rank_gaps(study.data.list_accounts)
    is_earlier_report = bool(study.data.reported_estimates)  # its estimates are known, not computed
    if is_earlier_report:
        yield kinds.EARLIER_REPORT.note()
        unequal_means = paired.other_means(study)
        if unequal_means is not None:
            yield kinds.OTHER_MEANS.warning(
                of_differences=number(unequal_means.of_differences, 4),
                between=number(unequal_means.between, 4),
            )


def _units(study: Significance) -> Iterator[Finding]:
    """What may be wrong with the units: pairs of systems without common units, metrics in which a
    system seems to have another unit of measurement, units without a value, and folds of one table,
    which are not independent units.
    """
    if pairs_without_common_units := study.uncompared:
        pairs = [f"{first} and {second}" for first, second in pairs_without_common_units]
        yield kinds.OTHER_QUESTIONS.warning(len(pairs), pairs=listed(pairs, joint="; "))
    for scales in diagnostics.other_scales(study):
        finding = kinds.OTHER_SCALES.warning(
            metric=scales.metric,
            large=scales.large,
            small=scales.small,
            times=number(scales.times, 2),
        )
        yield finding.for_metrics([scales.metric], study.primary_metric.label)
    if undefined_counts := paired.undefined(study):  # by "SYSTEM METRIC", only those above 0
        yield kinds.UNDEFINED_VALUES.warning(
            max(undefined_counts.values()), "units", counts=counts(undefined_counts)
        )
    # The variance over folds is corrected for the rows that their training sets share if the ratio
    # of test to training rows is known: from the names of the folds, or stated by the user. If
    # units only seem to be folds, a warning is all that can be given.
    cross_validations = study.splits_named
    if cross_validations is not None:
        yield kinds.CORRECTED_FOLDS.note(
            None, "named", repeats=cross_validations.repeats, folds=cross_validations.folds
        )
    elif study.p.test_to_train:
        yield kinds.CORRECTED_FOLDS.note(None, "asked")
    elif study.splits:
        yield kinds.FOLDS_AS_UNITS.warning(unit=study.splits)


def _very_many_units(study: Significance) -> Iterator[Finding]:
    """What takes the place of methods that visit every unit many times."""
    if study.has_many_units:
        most_units_listed = study.settings.limits.reading.max_listed
        yield kinds.VERY_MANY_UNITS.note(
            study.unit_count, most=most_units_listed, units=plural(study.unit_name, 2)
        )


def _clusters(study: Significance) -> Iterator[Finding]:
    """The columns whose values would be clusters: with them as units the interval of the headline
    pair would be wider.
    """
    pair = " − ".join(study.headline_systems)
    for column, values, wider in study.clusters():
        yield kinds.POSSIBLE_CLUSTERS.warning(
            values, column=column, values=values, pair=pair, wider=wider
        )


def _equal_units(study: Significance) -> Iterator[Finding]:
    """The pairs of systems with equal values of the primary metric on more than half of their
    units, so that few units decide between them; of several such pairs the first `PAIRS` in words.
    """
    if not study.has_differences:  # the values of single units are not known
        return
    pairs, is_one_size = paired.equal_units(study)  # is_one_size: all pairs have as many units
    if pairs.empty:
        return
    ties_in_words = []
    for row in pairs.head(PAIRS).itertuples():
        ties = f"{row.first} and {row.second} on {row.ties:,}"
        if not is_one_size:
            ties = f"{ties} of {row.of:,}"
        ties_in_words.append(ties)
    units = f" {plural(study.unit_name, 2)}"
    if is_one_size:  # their number is named once, after all pairs
        units = f" of {pairs['of'].iloc[0]:,}{units}"
    pair_note = f" ({len(pairs)} such pairs)" if len(pairs) > PAIRS else ""
    yield kinds.EQUAL_UNITS.note(
        len(pairs),
        metric=study.primary_metric.label,
        pairs=", ".join(ties_in_words),
        units=units,
        more=pair_note,
    )


def _tests(study: Significance) -> Iterator[Finding]:
    """How many p-values are estimated by importance sampling; whether the t-test agrees with the
    reported test on significance; and on how many comparisons a rank test disagrees with it.
    """
    n_estimated = paired.estimated_tails(study)
    if n_estimated:
        yield kinds.SMALL_P.note(n_estimated, n=n_estimated, of=len(study.comparisons))
    disagreements = paired.disagreements(study)
    if disagreements is None:  # no other test fits these values
        return
    threshold = f"{alpha(study):g}"
    n_compared_with_t = disagreements.n_compared_with_t
    if len(disagreements.by_t):
        pairs = []
        for row in disagreements.by_t.head(PAIRS).itertuples():
            p_values = f"p {p_value(row.p)}, t {p_value(row.t)}"
            pairs.append(f"{row.first} − {row.second} {row.metric} ({p_values})")
        yield kinds.TESTS_DISAGREE.warning(
            len(disagreements.by_t), threshold=threshold, pairs="; ".join(pairs)
        )
    elif n_compared_with_t:
        small_counts = {1: "the one comparison", 2: "both comparisons"}
        comparisons = small_counts.get(n_compared_with_t, f"all {n_compared_with_t} comparisons")
        yield kinds.TESTS_AGREE.note(n_compared_with_t, how=comparisons, threshold=threshold)
    n_by_rank_test = disagreements.by_rank
    if n_by_rank_test:
        tests = ", ".join(f"{RANK_TESTS[test]} on {n}" for test, n in n_by_rank_test.items())
        yield kinds.OTHER_TESTS.note(
            max(n_by_rank_test.values()), tests=tests, every=disagreements.n
        )


def _interim_analyses(study: Significance) -> Iterator[Finding]:
    """That the data are analysed several times while they grow."""
    if study.p.looks > 1:
        yield kinds.LOOKS.warning(
            study.p.looks,
            "units",
            looks=study.p.looks,
            alpha=alpha(study),
            rate=paired.false_rejection_probability(study),
            level=one_minus_level(study.test_level),
        )


def _headline_p(study: Significance) -> str:
    """The p-value of the headline in words; where it is corrected for several analyses these are
    named, as it is then no share of the draws.
    """
    corrected = f", corrected for {study.p.looks} analyses" if study.p.looks > 1 else ""
    return f"p {p_value(study.headline.iloc[0]['p'])}{corrected}"


@compared
def differences(study: Either) -> figures.Figure | Html:
    """The primary differences of all pairs with their intervals, around 0, and the margin."""
    margin = study.settings.margin
    band = f"; band: the margin ±{margin:g}" if margin else ""
    caption = texts.sentence(
        "significance.differences",
        study,
        level=percent(study.settings.level),
        colours=page.colours_of(study),
        band=band,
    )
    return page.forest(study, plots.draw_equivalence_forest, caption, margin=margin)


@also(Shares, pieces.empty_piece)
@pieces.where(lambda study: len(study.headline) and study.has_differences)
def distribution(study: Significance) -> figures.Figure | Html:
    """A histogram of the differences of the headline pair in the primary metric, one per unit; its
    caption says on how many units the first system is higher, equal and lower.
    """
    sizes = study.effect(study.primary_metric, study.headline_systems).sizes
    units = plural(study.unit_name, 2)
    n = sizes.wins + sizes.ties + sizes.losses
    colours = ""
    if study.primary_metric.metric.direction != 0:  # 0: neither high nor low values are better
        colours = " Green: better, orange: worse."
    caption = texts.sentence(
        "significance.distribution", study, n=n, sizes=sizes, units=units, colours=colours
    )
    return figures.figure_drawn_by(
        plots.histogram,
        study.distribution(),
        caption=caption,
        height=HEIGHT,
        xlabel=f"difference in {study.primary_metric.label}",
        ylabel=units,
        direction=study.primary_metric.metric.direction,
    )


# how far the red draws of the null distribution lie, by the kind of question
RED = {
    "two-sided": "Red: at least as far from 0 as observed",
    "greater": "Red: at least as large as observed",
    "less": "Red: at most as large as observed",
}
NONE_RED = {
    "two-sided": "None is as far from 0 as observed",
    "greater": "None is as large as observed",
    "less": "None is as small as observed",
}


@also(Shares, null_of_shares)
@pieces.where(lambda study: len(study.headline) and study.can_flip_signs)
def null_distribution(study: Significance) -> figures.Figure | Html:
    """A histogram of the mean difference of the headline pair under the null hypothesis that the
    sign of each unit's difference is random, with the observed difference. Draws at least as
    extreme as observed are red; p is their share (a mid-p counts equally extreme ones half).
    """
    row = study.headline.iloc[0]
    observed = row["difference"]
    null_means = study.null_draws()
    drawn_things = "sign vectors"
    if study.has_many_units:  # too many to flip the sign of each
        how_drawn = f"{null_means.size:,} draws from the normal distribution of such means"
        drawn_things = "draws"
    elif study.every_sign_vector:
        how_drawn = "all sign vectors"
    else:
        how_drawn = f"{null_means.size:,} random sign vectors"
    alternative = study.settings.alternative
    meaning_of_red = NONE_RED[study.question_of_tests]
    if plots.is_as_extreme(null_means, observed, alternative).any():
        meaning_of_red = RED[study.question_of_tests]
    mid_p_note = ""
    if study.mid_p:
        as_far = "with exactly the observed mean" if alternative.one_sided else "exactly as far"
        mid_p_note = f" (mid-p: sign vectors {as_far} count half)"
    caption = texts.sentence(
        "significance.null_distribution",
        study,
        how=how_drawn,
        n=row["n"],
        far=meaning_of_red,
        observed=signed_number(observed),
        p=_headline_p(study) + mid_p_note,
    )
    return figures.figure_drawn_by(
        plots.null_distribution,
        null_means,
        caption=caption,
        height=HEIGHT,
        observed=float(observed),
        alternative=alternative,
        xlabel=f"mean difference in {study.primary_metric.label} under the null",
        ylabel=f"share of {drawn_things}",
    )


@also(Shares, pieces.empty_piece)
def ranks(study: Significance) -> figures.Figure | Html:
    """The critical-difference diagram (Demšar): the systems by their mean rank over units; bars
    join those within Nemenyi's critical difference. Of many systems the best are drawn. Empty for
    fewer than three systems, and where these tests do not apply.
    """
    rank_tests = paired.mean_ranks(study)
    if rank_tests is None:
        return Html("")
    drawn_ranks = rank_tests.mean_ranks
    n_systems = len(drawn_ranks)
    n_units = rank_tests.units
    best = diagnostics.words(study).best  # "best", or "highest" if no direction is known
    omission_note = ""
    if n_systems > page.PAIRS_DRAWN:
        best_first = sorted(drawn_ranks, key=drawn_ranks.__getitem__)
        drawn_ranks = {name: drawn_ranks[name] for name in best_first[: page.PAIRS_DRAWN]}
        omission_note = f" The figure shows the {page.PAIRS_DRAWN} {best}."
    ranks_in_words = ", ".join(f"{name} {rank:.2f}" for name, rank in drawn_ranks.items())
    rough_note = ""
    if diagnostics.rough_ranks(n_systems, n_units):
        small_size = f"k · n below {diagnostics.LITTLE}"
        rough_note = f" With {small_size} both p-values are rough approximations."
    caption = texts.sentence(
        "significance.ranks",
        study,
        k=n_systems,
        n=n_units,
        units=plural(study.unit_name, n_units),
        distance=rank_tests.critical_difference,
        friedman=p_value(rank_tests.friedman),
        iman_davenport=p_value(rank_tests.iman_davenport),
        rough=rough_note,
        more=omission_note,
    )
    rows, _ = figures.grid(len(drawn_ranks), across=2)  # of names, half on each side
    return figures.figure_drawn_by(
        plots.critical_difference,
        drawn_ranks,
        caption=caption,
        says=ranks_in_words,
        height=figures.figure_height(rows, head=1.9, each=0.34),
        distance=rank_tests.critical_difference,
        label=f"mean rank, {best} left",
    )


@also(Shares, pieces.empty_piece)
def power(study: Significance) -> figures.Figure | Html:
    """The power of a paired t-test of the headline pair against the true difference: a curve for
    the number of units of the input, one for a quarter and one for four times as many. Empty if no
    pair is compared, or no t-test fits it.
    """
    if study.headline.empty:
        return Html("")
    power_by_difference = paired.power_curve(study)
    if power_by_difference.empty:
        return Html("")
    differences_per_unit = study.paired(study.primary_metric, study.headline_systems)
    caption = texts.sentence(
        "significance.power",
        study,
        alpha=one_minus_level(study.family_level),
        deviation=number(differences_per_unit.spread),
        n=differences_per_unit.n,
        units=plural(study.unit_name, differences_per_unit.n),
    )
    return figures.figure_drawn_by(
        plots.power,
        power_by_difference,
        caption=caption,
        height=HEIGHT,
        observed=float(study.headline.iloc[0]["difference"]),
        margin=study.settings.margin,
        xlabel=f"true difference in {study.primary_metric.label}",
    )


@also(Shares, pieces.empty_piece)
@pieces.where(lambda study: len(study.headline) and study.can_flip_signs)
def duality(study: Significance) -> figures.Figure | Html:
    """The duality of the headline's test and its interval: the p-value of each hypothetical mean
    difference as a curve; the hypotheses with p of at least α form the interval.
    """
    row = study.headline.iloc[0]
    low = row["low"]
    high = row["high"]
    # the curve has uncorrected p-values, so that with several interim analyses the interval, which
    # is corrected for them, is cut out at a smaller α
    alpha_of_limits = one_minus_level(study.interval_level)
    places = numbers.decimals([row["difference"]], [low], [high])
    test = "t" if study.has_many_units else "sign flips"
    excludes_0 = float(row["p"]) < one_minus_level(study.settings.level)
    zero = "outside" if excludes_0 else "inside"
    finite_limits = [limit for limit in (low, high) if math.isfinite(limit)]
    caption = texts.sentence(
        "significance.duality",
        study,
        each=alpha_of_limits,
        interval=interval(low, high, signed_number, places),
        test=test,
        level=percent(study.settings.level),
        p=_headline_p(study),
        zero=zero,
    )
    return figures.figure_drawn_by(
        plots.draw_p_value_curve,
        study.p_curve(),
        caption=caption,
        height=HEIGHT,
        observed=float(row["difference"]),
        p_of_observed=study.p_of_observed,
        alpha=alpha_of_limits,
        limits=tuple(finite_limits),
        sided=first_screen.sided(study),
        label=f"mean difference in {study.primary_metric.label} under the null",
    )


JOINT = "joint sign flips of the whole family"
NORMAL = "normal draws for the whole family, with the covariance of joint sign flips"


@also(Shares, title_of_shares)
@also(JudgedOutputs, judges_page.title)
def title(study: Significance) -> Html:
    """The title and what was asked."""
    baseline = study.settings.baseline
    candidates = [name for name in study.systems if name != baseline]
    systems = count_with_noun(len(candidates), "system")
    if baseline:
        systems = f"{systems} against {baseline}"
    n = count_with_noun(most_units(study), study.unit_name)
    question = f"What can be claimed about {systems} on {study.primary_metric.label}, from {n}?"
    return first_screen.heading("Significance report", question, study)


def estimates(study: Either) -> Html:
    """Systems in rows, metrics in columns."""
    sample = plural(study.unit_name, 2)
    if study.settings.unit:
        sample = f"rows, whole {sample} as units,"
    level = percent(study.estimates["level"].iloc[0])
    return page.estimates(study, f"{study.value_is} over {sample} with its {level} interval")


@also(Shares, pieces.empty_piece)
def other_tests(study: Significance) -> Html:
    """A folded table with a row for each pair and metric: the p-values of other tests, such as t,
    bootstrap and Wilcoxon, a column for each that could be computed for some row. Empty if no pair
    is compared.
    """
    if study.headline.empty:
        return Html("")
    p_values = paired.other_tests(study)
    if p_values.empty:
        return Html("")
    columns: dict[str, Column] = {"first − second": pair}
    if p_values["metric"].nunique() > 1:
        columns["metric"] = words("metric")
    tests = []
    explanations = []
    for test, (head, explanation) in texts.DEFINITIONS["other_tests"].items():
        is_computed = p_values[test].notna().any()
        if is_computed:
            tests.append(test)
            columns[head] = p_column(test)
            explanations.append(f"{head}: {explanation}")
    if study.settings.unit:  # rows lie in clusters, which the tests treat in two ways
        clusters = plural(study.unit_name, 2)
        cluster_tests = [test for test in ("t", "bootstrap") if test in tests]
        verb = "take" if "bootstrap" in cluster_tests else "takes"
        of_whole_clusters = f"{' and '.join(cluster_tests)} {verb} whole {clusters}"
        of_means = f"the other tests the mean of each {study.unit_name}"
        explanations.append(f"{of_whole_clusters}, {of_means}")
    note = f"{'; '.join(explanations)}."
    caption = "Other tests of the same differences, unadjusted unless stated"
    table = of_rows(caption, p_values, columns, note)
    return folded("The same pairs by other tests", table)


@also(Shares, pieces.empty_piece)
@pieces.where(lambda study: len(study.headline) and study.has_differences)
def effects(study: Significance) -> Html:
    """How large each difference is: the primary metric's pairs, the other metrics folded."""
    frame = paired.effects(study)
    is_deciding = frame["metric"] == study.primary_metric.label
    caption = f"Effect sizes: differences in {study.primary_metric.label}"
    note = texts.sentence("significance.effects_note")
    first = _effect_table(frame[is_deciding], caption, note)
    further_caption = "Effect sizes: differences in the other metrics"
    further = _effect_table(frame[~is_deciding], further_caption, "")
    return stack([first, folded("The other metrics", further)])


def _effect_table(effects: pd.DataFrame, caption: str, note: str) -> Html:
    """A table of effect sizes, a row for each pair of systems and metric; the metric is named if
    there are several. effects: the frame of `paired.effects`, or some of its rows.
    """

    def counts_of_units(row: Record) -> str:
        """On how many units the first system is higher, equal and lower."""
        return f"{row['wins']:,} / {row['ties']:,} / {row['losses']:,}"

    columns: dict[str, Column] = {"first − second": pair}
    if effects["metric"].nunique() > 1:
        columns["metric"] = words("metric")
    columns |= {
        "difference": value("difference", show=signed_number),
        "relative": value("relative", show=signed_percent),
        "d_z": value("standardised", show=signed_number),
        "P(first higher)": value("superiority"),
        "higher / equal / lower": column_by_row(counts_of_units),
    }
    return of_rows(caption, effects, columns, note)


@compared
def equivalence(study: Either) -> Html:
    """TOST and non-inferiority against the margin; without one nothing."""
    return _equivalence(study) if study.settings.margin is not None else Html("")


@also(Shares, equivalence_of_shares)
def _equivalence(study: Significance) -> Html:
    """A table of the equivalence tests (TOST) in the primary metric, a row for each pair: the
    interval that decides; whether the difference is shown to lie within the margin; and whether
    the first system is shown not to be worse by the margin (non-inferiority).
    """
    margin = study.settings.margin
    level = percent(equivalence_level(study))

    def deciding_interval(row: Record) -> str:
        """The interval of which each limit is the limit of a one-sided test."""
        return interval(row["equivalence_low"], row["equivalence_high"], signed_number)

    def is_within(row: Record) -> Cell:
        """Whether the difference lies within the margin: yes, no or not established."""
        tests = paired.margin_tests(study, row)
        return _yes_no_or_open(is_shown=tests.is_within, is_refuted=tests.is_beyond)

    def is_not_worse(row: Record) -> Cell:
        """Whether the first system is not worse by the margin: yes, no or not established."""
        tests = paired.margin_tests(study, row)
        return _yes_no_or_open(is_shown=tests.is_not_worse, is_refuted=tests.is_worse)

    columns: dict[str, Column] = {
        "first − second": pair,
        f"{level} interval": column_by_row(deciding_interval),
        f"within ±{margin:g}": column_by_row(is_within),
    }
    if study.primary_metric.metric.direction != 0:  # else neither system can be called worse
        columns[f"not worse by {margin:g}"] = column_by_row(is_not_worse)
    note = texts.sentence("significance._equivalence_note", inside=level, alpha=alpha(study))
    caption = f"Equivalence and non-inferiority in {study.primary_metric.label}, margin {margin:g}"
    is_primary = study.comparisons["metric"] == study.primary_metric.label
    return of_rows(caption, study.comparisons[is_primary], columns, note)


def _yes_no_or_open(*, is_shown: bool, is_refuted: bool) -> Cell:
    """Whether a claim is shown by the data, its contrary, or neither."""
    if is_shown:
        return lesson.text_cell("yes")
    if is_refuted:
        return lesson.text_cell("no")
    return lesson.text_cell("not established")


@also(Shares, pieces.empty_piece)
def needed(study: Significance) -> Html:
    """A table of how many units a paired t-test of the headline pair needs for 80% and for 90%
    power, a row for each true difference, such as the margin or the observed one. Empty if no pair
    is compared, or no t-test fits it.
    """
    if study.headline.empty:
        return Html("")
    units_by_difference = paired.needed(study)
    if units_by_difference.empty:
        return Html("")
    units = plural(study.unit_name, 2)
    columns: dict[str, Column] = {
        "true difference": value("difference"),
        "which is": words("which"),
        f"{units} for 80%": count("n_80", show=_rounded_up),
        f"{units} for 90%": count("n_90", show=_rounded_up),
    }
    caption = texts.sentence(
        "significance.needed", study, alpha=one_minus_level(study.family_level)
    )
    note = texts.sentence("significance.needed_note")
    return of_rows(caption, units_by_difference, columns, note)


def _rounded_up(n: float) -> str:
    """A number of units that are needed, rounded up."""
    return f"{numbers.whole_units(n):,}"


def teaching(study: Either) -> Html:
    """Lessons on the statistics behind the answers above, each folded under a line that sums it up;
    their numbers are computed or simulated, those of the third on the input of the report.
    """
    duality_text = texts.sentence("significance._duality_text", sided=first_screen.sided(study))
    on_duality = stack([duality(study), muted_paragraph(duality_text)])
    lessons_by_summary = {
        "Is the coin fair? 8 heads in 10 flips are not enough evidence, 9 are": lesson.on_coin(),
        "What 95% confidence means: a hundred intervals, some of which miss": lesson.on_hundred(),
        "A test and its interval say the same (duality)": on_duality,
        "Common mistakes and their error rates": lesson.on_mistakes(),
        "Repeated analyses of growing data (sequential testing)": lesson.on_looks(),
    }
    return stack(folded(summary, piece) for summary, piece in lessons_by_summary.items())


@also(Shares, definitions_of_shares)
@also(JudgedOutputs, judges_page.definitions)
def definitions(study: Significance) -> Html:
    """The methods behind the numbers shown."""
    joint = NORMAL if study.has_many_units else JOINT
    methods = texts.meanings("significance", joint=joint, sided=first_screen.sided(study))
    return paragraphs.definitions(page.metric_definitions(study) + methods)


findings, origin = page.findings, page.origin


@also(Shares, results_of_shares)
def results(study: Significance) -> report.Results:
    """Every number of the page, unrounded, for its JSON file: those of comparisons only if systems
    are compared, those of draws, claims and logs as empty lists if the input has none.
    """
    fields: dict[str, object] = {"differences": NO_DIFFERENCES}
    if len(study.headline):
        rank_tests = paired.mean_ranks(study)
        ranks = None
        if rank_tests is not None:  # they apply to three systems or more
            ranks = rank_tests._asdict()
        fields = {
            "looks": {"looks": study.p.looks, "level_of_each": study.test_level},
            **as_json.frames_as_records(
                effects=paired.effects(study),
                other_tests=paired.other_tests(study),
                tiers=rank_tiers(study),
                needed=paired.needed(study),
            ),
            "ranks": ranks,
            "power": paired.power_curve(study).to_dict("list"),
            "null_distribution": paired.null_histogram(study),
            "p_curve": study.p_curve().to_dict("list"),
            "differences": study.each_difference(),
        }
    fields |= as_json.frames_as_records(
        draws=significance.variation(study),
        claims=significance.claims(study),
        claim_means=significance.claim_means(study),
        logs=significance.logged(study),
    )
    if isinstance(study, JudgedOutputs):
        fields["judge"] = as_json.frames_as_records(**judges_page.frames(study))
    fields["answer"] = first_screen.answer(study, _claims_of_page(study))
    return published(study, fields)


# Evaluations: repeated draws, tasks, and what logs say of themselves ------------------------------


@also(Shares, first_screen.verdict)
@also(JudgedOutputs, judges_page.verdict)
def verdict(study: Significance) -> Html:
    """The first screen; where several claims are possible, which one is made, and how sure it
    is.
    """
    return first_screen.verdict(study, _claims_of_page(study))


def _claims_of_page(study: Significance) -> list[str]:
    """A sentence that says what the page's verdict is about, such as "these questions" or "such
    tasks", with the p-value if there is one comparison. Empty if the input allows one claim alone,
    which then needs no words.
    """
    p = ""
    if len(study.headline) == 1:
        p = f" (adjusted p {p_value(study.headline.iloc[0]['adjusted'])})"
    what = "verdict" if len(study.headline) else "value"
    possible_claims = significance.claims(study)  # empty for one; "made": by this page
    sentences = []
    for row in possible_claims.to_dict("records"):
        if row["made"]:
            claim = _with_noun(study, row["claim"])
            sentences.append(texts.sentence("significance.made", what=what, claim=claim, p=p))
    return sentences


def _with_noun(study: Significance, claim: str) -> str:
    """A claim, or a sentence of several, with the input's own noun in place of "questions"."""
    return claim.replace("questions", plural(significance.question_noun(study), 2))


@also(Shares, pieces.empty_piece)
def draws(study: Significance) -> Html:
    """A table for inputs with several draws (repeated trials) of a unit, a row for each system and
    the headline's difference: the standard deviations between units and between the draws of a
    unit, the standard error of the mean, and what it would be with more units or more draws. Empty
    without several draws.
    """
    variation = significance.variation(study)
    if variation.empty:
        return Html("")
    units = plural(significance.question_noun(study), 2)
    cluster_note = "" if study.unit is None else f" Errors are clustered by {study.unit_name}."
    caption = texts.sentence(
        "significance.draws", metric=significance.metric_with_draws(study), units=units
    )
    columns: dict[str, Column] = {
        "system": words("what"),
        units: count("units"),
        "draws": value("draws"),
        "between": value("between"),
        "within": value("within"),
        "standard error": value("error"),
        f"twice the {units}": value("twice_units"),
        "twice the draws": value("twice_draws"),
        "endless draws": value("endless_draws"),
    }
    note = texts.sentence("significance.draws_note", units=units, many=cluster_note)
    return of_rows(caption, variation, columns, note)


@also(Shares, pieces.empty_piece)
def claims(study: Significance) -> Html:
    """A table with a row for each claim that the input allows: that results hold for these
    questions, such questions, such clusters or such tasks. A claim says what another sample would
    have anew, and so decides the errors, limits and p of the leader's mean and of the headline's
    difference. Below it, if there are several systems, the mean of each. Empty for a single claim.
    """
    possible_claims = significance.claims(study)
    if possible_claims.empty:
        return Html("")

    def claim(row: Record) -> Cell:
        """A claim in words, marked if the page makes it."""
        mark = " (the claim of this page; limits here by t)" if row["made"] else ""
        return Cell(_with_noun(study, row["claim"]) + mark)

    def pairs_that_differ(row: Record) -> Cell:
        """How many of all pairs of systems differ (`apart`) by a z-test, of how many."""
        return Cell(f"{row['apart']:,} of {row['pairs']:,}")

    columns: dict[str, Column] = {"claim": column_by_row(claim)} | _columns_of_claimed_mean(study)
    note = texts.sentence(
        "significance.claims_note", every=_meanings_of_claims(study), macro=_macro_note(study)
    )
    subject = study.leader
    if len(study.headline):
        subject = f"{study.leader}, and {' − '.join(study.headline_systems)}"
        columns |= {
            "difference": prefixed_interval_column("difference"),
            "standard error": value("difference_error"),
            "p": p_column("p"),
        }
    if len(study.pairs) > 1:
        columns["pairs that differ"] = column_by_row(pairs_that_differ)
        columns["unpaired"] = count("unpaired")
        questions = plural(significance.question_noun(study), 2)
        note += texts.sentence("significance.pairs_note", questions=questions, alpha=alpha(study))
    caption = texts.sentence("significance.claims", study, of=subject)
    of_leader = of_rows(caption, possible_claims, columns, note)
    if len(study.systems) == 1:
        return of_leader
    return stack([of_leader, _claim_means(study)])


def _columns_of_claimed_mean(study: Significance) -> dict[str, Column]:
    """The columns of a mean by what is claimed: whether it is pooled or macro, if units have tasks;
    its value with limits; its standard error.
    """
    columns: dict[str, Column] = {}
    if study.data.tasks is not None:
        columns["mean"] = words("mean")
    columns["value"] = prefixed_interval_column("value")
    columns["its standard error"] = value("value_error")
    return columns


def _meanings_of_claims(study: Significance) -> str:
    """What another sample would have anew under each claim that the input allows, in sentences;
    with tasks also what a pooled and a macro mean are.
    """
    new_in_sample = {THESE: "only their draws vary", SUCH: "a new sample of them"}
    new_clusters = "a new sample of these, each with its questions"
    sentences = []
    for covered in significance.coverage(study):
        sentences.append(f"{covered.capitalize()}: {new_in_sample.get(covered, new_clusters)}.")
    if study.data.tasks is not None:
        sentences.append("Pooled: the mean over all; macro: the mean of the means of tasks.")
    return _with_noun(study, " ".join(sentences))


def _claim_means(study: Significance) -> Html:
    """A table with a row for each claim that the input allows and each system: the mean of the
    primary metric, with the limits and the standard error that follow from the claim.
    """

    def claim(row: Record) -> Cell:
        """A claim in words, such as "such questions"."""
        return Cell(_with_noun(study, row["claim"]))

    columns: dict[str, Column] = {"system": words("system"), "claim": column_by_row(claim)}
    columns |= _columns_of_claimed_mean(study)
    caption = texts.sentence("significance.claim_means", study)
    return of_rows(caption, significance.claim_means(study), columns)


def _macro_note(study: Significance) -> str:
    """How the standard error of a macro mean (the mean of the means of tasks) is computed, also if
    tasks have a single question and so no variance of their own; "" if there are no tasks.
    """
    if study.data.tasks is None:
        return ""
    n_tasks = len(set(study.data.tasks))
    n_tasks_of_one_question = significance.single_tasks(study)
    question = significance.question_noun(study)
    note_on_one_question = ""
    if n_tasks_of_one_question == n_tasks:
        note_on_one_question = texts.sentence("significance.only_single_tasks", question=question)
    elif n_tasks_of_one_question:
        note_on_one_question = texts.sentence(
            "significance.single_tasks",
            tasks=count_with_noun(n_tasks_of_one_question, "task"),
            question=question,
        )
    return texts.sentence("significance.macro_note", single=note_on_one_question)


@also(Shares, pieces.empty_piece)
def logged(study: Significance) -> Html:
    """A table of the means and standard errors that evaluation logs state but that do not follow
    from their rows, beside those computed from the rows, and why they differ. Empty if all agree.
    """
    columns: dict[str, Column] = {
        "system": words("system"),
        "task": words("task"),
        "metric": words("metric"),
        "the log's mean": value("stated"),
        "mean of its rows": value("mean"),
        "the log's standard error": value("stated_error"),
        "of its rows": value("error"),
        "why": words("why"),
    }
    caption = texts.sentence("significance.logged")
    note = texts.sentence("significance.logged_note")
    return of_rows(caption, _differing_log_numbers(study), columns, note)


def _differing_log_numbers(study: Significance) -> pd.DataFrame:
    """The rows of `significance.logged` whose stated numbers are not those of the log's rows."""
    log_numbers = significance.logged(study)
    return log_numbers if log_numbers.empty else log_numbers[log_numbers["why"] != ""]


def _logs(study: Significance) -> Iterator[Finding]:
    """Whether the means and standard errors that evaluation logs state are those of their rows, and
    which logs hold rows of fewer questions than they state. No finding if the input has no logs.
    """
    log_numbers = significance.logged(study)  # a row for each system, task and metric
    n_rows = len(log_numbers)
    if not n_rows:
        return
    n_differing = len(_differing_log_numbers(study))
    if n_differing:
        verb = "differs" if n_differing == 1 else "differ"
        yield kinds.NUMBERS_OF_LOGS.warning(
            n_differing, "differ", n=n_differing, verb=verb, of=n_rows
        )
    else:
        yield kinds.NUMBERS_OF_LOGS.note(n_rows, "same", of=n_rows)
    lacks_questions = log_numbers["stated_questions"] > log_numbers["questions"]
    # a log has the same questions for all its metrics
    incomplete_logs = log_numbers[lacks_questions].drop_duplicates(["system", "task"])
    logs_in_words = []
    for row in incomplete_logs.itertuples():
        questions = f"{row.questions:,} of {row.stated_questions:,}"
        logs_in_words.append(f"{row.system} on {row.task}: {questions}")
    if logs_in_words:
        yield kinds.SHORT_LOGS.warning(len(logs_in_words), what=listed(logs_in_words))


@also(JudgedOutputs, judges_page.judge)
def judge(study: Either) -> Html:
    """The judge: what its labels correct, its bias and its agreement with the oracle; empty for
    values that no judge gave.
    """
    return pieces.empty_piece(study)


SUMMARY = (verdict, page.comparisons, estimates)
PIECES = (
    title,
    verdict,
    findings,
    differences,
    page.comparisons,
    other_tests,
    estimates,
    judge,
    page.segment_plot,
    page.segments,
    claims,
    logged,
    effects,
    equivalence,
    distribution,
    null_distribution,
    ranks,
    page.tiers,
    power,
    needed,
    draws,
    teaching,
    duality,
    definitions,
    origin,
)
