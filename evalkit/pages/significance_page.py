"""The words, tables and figures of the significance page: values by unit, evaluations, successes
and trials.
"""

import math
from collections.abc import Iterator
from functools import partial

import pandas as pd

from evalkit import numbers, report
from evalkit.arrays import Record
from evalkit.drawing import figures, paragraphs, plots
from evalkit.drawing.cells import Cell
from evalkit.drawing.columns import Column, by_row, count, named, p_column, pair, value, words
from evalkit.drawing.paragraphs import paragraph
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.tables import of_rows
from evalkit.findings import kinds
from evalkit.findings.kinds import Finding
from evalkit.numbers import (
    counted,
    interval,
    listed,
    number,
    p_value,
    percent,
    plural,
    signed,
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
    columns_read,
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
    beyond,
    equivalence_level,
    most_units,
    rank_tiers,
)
from evalkit.studies.judges import JudgedOutputs
from evalkit.studies.paired import Significance
from evalkit.studies.significance import Shares

pieces.offered(__name__)

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
    question = f"What can be claimed about {systems}, from {counted(study.trials, 'trial')}?"
    return first_screen.heading("Significance report", question, study)


def equivalence_of_shares(study: Shares) -> Html:
    """The rule by which two shares are equivalent: the interval and the margin."""
    inside = percent(equivalence_level(study))
    margin = study.settings.margin
    return paragraph(f"Equivalent: the {inside} interval lies within ±{margin:g}.")


def definitions_of_shares(study: Shares) -> Html:
    """The methods behind the numbers shown."""
    return paragraphs.definitions(page.metric_definitions(study) + texts.meanings("shares"))


@pieces.where(lambda study: len(study.headline) and study.null is not None)
def null_of_shares(study: Shares) -> figures.Figure | Html:
    """What chance alone would have given, and where the observed share stands; a sentence in its
    place if there are too many trials to draw.
    """
    n = study.counts(study.opponents[0])[1]
    shares = study.null_shares()
    if shares is None:
        return paragraph(texts.sentence("significance.not_drawn", trials=n))
    step_note = ""
    if shares.step > 1:
        step_note = f" One outcome in {shares.step:,} is drawn."
    p = float(study.headline.iloc[0]["p"])
    trials = counted(n, "trial")
    caption = texts.sentence(
        "significance.null_of_shares",
        alternative=study.sided,
        p=p_value(p),
        few=step_note,
        opponents=study.opponents[0],
        seen=shares.observed,
        trials=trials,
        null=study.null,
    )
    return figures.picture(
        plots.null_shares,
        shares.k,
        shares.probability,
        caption=caption,
        height=HEIGHT,
        observed=shares.observed,
        in_p=shares.in_p,
        xlabel=f"successes of {trials}",
    )


def findings_of_shares(study: Shares) -> Iterator[Finding]:
    """Every finding of trials: what was read, then what the tests assume and where they differ."""
    n = study.trials
    yield kinds.ROWS_READ.note(
        n, "trials", trials=counted(n, "trial"), columns=columns_read(study.data.columns)
    )
    if study.small:
        yield kinds.FEW_UNITS.warning(
            len(study.small), "trials", few=FEW, systems=listed(study.small)
        )
    pairs = study.beyond_exact
    if pairs:
        exact = "Fisher's test" if study.null is None else "the exact binomial test"
        yield kinds.SCORE_TEST.note(
            len(pairs), most=study.most_exact, exact=exact, pairs=listed(pairs)
        )
    claims = []
    for row in study.two_answers.to_dict("records"):
        limits = interval(row["low"], row["high"], signed)
        claims.append(f"{row['first']} − {row['second']} (p {p_value(row['p'])}, {limits})")
    if claims:
        yield kinds.TEST_AND_INTERVAL.warning(len(claims), claims=listed(claims, PAIRS))
    yield kinds.INDEPENDENT_TRIALS.note()


def results_of_shares(study: Shares) -> report.Results:
    """Every number of the page, unrounded."""
    return published(study, {"differences": NO_DIFFERENCES})


def published(study: Either, fields: Record) -> report.Results:
    """What both kinds of significance study publish, and further fields. fields: by name."""
    all_fields: dict[str, object] = {
        "columns": dict(study.data.columns),
        "family": study.family,
        "lessons": lessons.figures(),
    }
    all_fields |= as_json.records(wrong_methods=lessons.wrong())
    all_fields |= fields
    return as_json.results(study, every_finding(study), all_fields)


RANKED = {"wilcoxon": "Wilcoxon", "sign": "the sign test"}


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
    """What was read; of an earlier report that its values and its differences may be means over
    different things.
    """
    columns = ""
    if study.data.columns:
        columns = f" Columns: {columns_read(study.data.columns)}."
    rows = len(study.data)
    units = counted(study.unit_count, study.unit_name)
    if rows != study.unit_count:
        units = f"{counted(rows, 'row')} of {units}, which are the units"
    yield kinds.ROWS_READ.note(
        rows,
        "units",
        units=units,
        columns=columns,
        systems=counted(len(study.systems), "system"),
        metrics=counted(len(study.settings.metrics), "metric"),
    )
    yield from metrics_without_direction(study)
    yield from study.data.findings
    yield from _logs(study)
    yield from shared_findings.unmatched(study.data.alone)
    yield from unshared_queries(study.data.accounts)
    yield from rank_gaps(study.data.accounts)
    if study.data.known:
        yield kinds.EARLIER_REPORT.note()
        means = paired.other_means(study)
        if means is not None:
            mean_difference, difference_of_means = means
            yield kinds.OTHER_MEANS.warning(
                of_differences=number(mean_difference, 4), between=number(difference_of_means, 4)
            )


def _units(study: Significance) -> Iterator[Finding]:
    """Pairs that share no units, metrics of other scales, undefined values, and folds as units."""
    if uncompared := study.uncompared:
        pairs = listed((f"{first} and {second}" for first, second in uncompared), joint="; ")
        yield kinds.OTHER_QUESTIONS.warning(len(uncompared), pairs=pairs)
    for metric, large, small, times in diagnostics.other_scales(study):
        finding = kinds.OTHER_SCALES.warning(
            metric=metric, large=large, small=small, times=number(times, 2)
        )
        yield finding.for_metrics([metric], study.primary.label)
    if undefined_counts := paired.undefined(study):
        yield kinds.UNDEFINED_VALUES.warning(
            max(undefined_counts.values()), "units", counts=counts(undefined_counts)
        )
    splits = study.splits_named
    if splits is not None:
        yield kinds.CORRECTED_FOLDS.note(None, "named", repeats=splits.repeats, folds=splits.folds)
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
    pair = " − ".join(study.opponents)
    for column, values, wider in study.clusters():
        yield kinds.POSSIBLE_CLUSTERS.warning(
            values, column=column, values=values, pair=pair, wider=wider
        )


def _equal_units(study: Significance) -> Iterator[Finding]:
    """The pairs that are equal on many units; their numbers of units are named once if all pairs
    have the same.
    """
    if not study.has_differences:
        return
    pairs, is_one_size = paired.equal_units(study)
    if pairs.empty:
        return
    units = plural(study.unit_name, 2)
    texts_of_pairs = []
    for row in pairs.head(PAIRS).itertuples():
        ties = f"{row.first} and {row.second} on {row.ties:,}"
        if not is_one_size:
            ties = f"{ties} of {row.of:,}"
        texts_of_pairs.append(ties)
    of_units = f" of {pairs['of'].iloc[0]:,}" if is_one_size else ""
    pair_note = f" ({len(pairs)} such pairs)" if len(pairs) > PAIRS else ""
    yield kinds.EQUAL_UNITS.note(
        len(pairs),
        metric=study.primary.label,
        pairs=", ".join(texts_of_pairs),
        units=f"{of_units} {units}",
        more=pair_note,
    )


def _tests(study: Significance) -> Iterator[Finding]:
    """p-values by importance sampling; whether sign flips and t agree; tests of ranks that answer
    differently.
    """
    n = paired.estimated_tails(study)
    if n:
        yield kinds.SMALL_P.note(n, n=n, of=len(study.comparisons))
    tests = paired.disagreements(study)
    if tests is None:
        return
    threshold = f"{alpha(study):g}"
    if len(tests.by_t):
        disagreements = []
        for row in tests.by_t.head(PAIRS).itertuples():
            p_values = f"p {p_value(row.p)}, t {p_value(row.t)}"
            disagreements.append(f"{row.first} − {row.second} {row.metric} ({p_values})")
        yield kinds.TESTS_DISAGREE.warning(
            len(tests.by_t), threshold=threshold, pairs="; ".join(disagreements)
        )
    elif tests.n_compared_with_t:
        small_counts = {1: "the one comparison", 2: "both comparisons"}
        how = small_counts.get(
            tests.n_compared_with_t, f"all {tests.n_compared_with_t} comparisons"
        )
        yield kinds.TESTS_AGREE.note(tests.n_compared_with_t, how=how, threshold=threshold)
    if tests.by_rank:
        named = ", ".join(f"{RANKED[name]} on {n}" for name, n in tests.by_rank.items())
        yield kinds.OTHER_TESTS.note(max(tests.by_rank.values()), tests=named, every=tests.n)


def _interim_analyses(study: Significance) -> Iterator[Finding]:
    """That the data are analysed several times while they grow."""
    if study.p.looks > 1:
        yield kinds.LOOKS.warning(
            study.p.looks,
            "units",
            looks=study.p.looks,
            alpha=alpha(study),
            rate=paired.false_positives(study),
            level=beyond(study.test_level),
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
    return page.forest(study, plots.forest, caption, margin=margin)


@also(Shares, pieces.nothing)
@pieces.where(lambda study: len(study.headline) and study.has_differences)
def distribution(study: Significance) -> figures.Figure | Html:
    """The differences of single units of the headline pair, as a histogram."""
    sizes = study.effect(study.primary, study.opponents)[0]
    units = plural(study.unit_name, 2)
    n = sizes.wins + sizes.ties + sizes.losses
    colours = ""
    if study.primary.metric.direction != 0:
        colours = " Green: better, orange: worse."
    caption = texts.sentence(
        "significance.distribution", study, n=n, sizes=sizes, units=units, colours=colours
    )
    return figures.picture(
        plots.histogram,
        study.distribution(),
        caption=caption,
        height=HEIGHT,
        xlabel=f"difference in {study.primary.label}",
        ylabel=units,
        direction=study.primary.metric.direction,
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
    """What chance alone would have given, and where the observed difference stands."""
    row = study.headline.iloc[0]
    draws = study.null_draws()
    drawn_things = "sign vectors"
    if study.has_many_units:
        how = f"{draws.size:,} draws from the normal distribution of such means"
        drawn_things = "draws"
    elif study.every_sign_vector:
        how = "all sign vectors"
    else:
        how = f"{draws.size:,} random sign vectors"
    alternative = study.settings.alternative
    far = NONE_RED[study.sided]
    if plots.at_least_as_far(draws, row["difference"], alternative).any():
        far = RED[study.sided]
    half = ""
    if study.mid_p:
        as_far = "with exactly the observed mean" if alternative.one_sided else "exactly as far"
        half = f" (mid-p: sign vectors {as_far} count half)"
    caption = texts.sentence(
        "significance.null_distribution",
        study,
        how=how,
        n=row["n"],
        far=far,
        observed=signed(row["difference"]),
        p=_headline_p(study) + half,
    )
    return figures.picture(
        plots.null_distribution,
        draws,
        caption=caption,
        height=HEIGHT,
        observed=float(row["difference"]),
        alternative=alternative,
        xlabel=f"mean difference in {study.primary.label} under the null",
        ylabel=f"share of {drawn_things}",
    )


@also(Shares, pieces.nothing)
def ranks(study: Significance) -> figures.Figure | Html:
    """The critical-difference diagram of three systems or more, with the limits of its
    approximations.
    """
    summary = paired.mean_ranks(study)
    if summary is None:
        return Html("")
    k = len(summary.mean_ranks)
    n = summary.units
    means = summary.mean_ranks
    if k > page.PAIRS_DRAWN:
        best_first = sorted(means, key=means.__getitem__)
        means = {name: means[name] for name in best_first[: page.PAIRS_DRAWN]}
    ranks_in_words = ", ".join(f"{name} {rank:.2f}" for name, rank in means.items())
    best = diagnostics.words(study).best
    omission_note = f" The figure shows the {page.PAIRS_DRAWN} {best}." if len(means) < k else ""
    rough_note = ""
    if diagnostics.rough_ranks(k, n):
        small_size = f"k · n below {diagnostics.LITTLE}"
        rough_note = f" With {small_size} both p-values are rough approximations."
    caption = texts.sentence(
        "significance.ranks",
        study,
        k=k,
        n=n,
        units=plural(study.unit_name, n),
        distance=summary.critical_difference,
        friedman=p_value(summary.friedman),
        iman_davenport=p_value(summary.iman_davenport),
        rough=rough_note,
        more=omission_note,
    )
    rows, _ = figures.grid(len(means), across=2)
    return figures.picture(
        plots.critical_difference,
        means,
        caption=caption,
        says=ranks_in_words,
        height=figures.tall(rows, head=1.9, each=0.34),
        distance=summary.critical_difference,
        label=f"mean rank, {best} left",
    )


@also(Shares, pieces.nothing)
def power(study: Significance) -> figures.Figure | Html:
    """What true difference so many units show, and what a quarter or four times as many would."""
    if study.headline.empty:
        return Html("")
    frame = paired.power_curve(study)
    if frame.empty:
        return Html("")
    differences_per_unit = study.paired(study.primary, study.opponents)
    caption = texts.sentence(
        "significance.power",
        study,
        alpha=beyond(study.family_level),
        deviation=number(differences_per_unit.spread),
        n=differences_per_unit.n,
        units=plural(study.unit_name, differences_per_unit.n),
    )
    return figures.picture(
        plots.power,
        frame,
        caption=caption,
        height=HEIGHT,
        observed=float(study.headline.iloc[0]["difference"]),
        margin=study.settings.margin,
        xlabel=f"true difference in {study.primary.label}",
    )


@also(Shares, pieces.nothing)
@pieces.where(lambda study: len(study.headline) and study.can_flip_signs)
def duality(study: Significance) -> figures.Figure | Html:
    """The headline's test and interval as one picture: p of every mean, and α cuts out the
    interval.
    """
    row = study.headline.iloc[0]
    alpha_of_each = beyond(study.interval_level)
    digits = numbers.decimals([row["difference"]], [row["low"]], [row["high"]])
    test = "t" if study.has_many_units else "sign flips"
    excludes_0 = float(row["p"]) < beyond(study.settings.level)
    zero = "outside" if excludes_0 else "inside"
    finite_limits = [limit for limit in (row["low"], row["high"]) if math.isfinite(limit)]
    caption = texts.sentence(
        "significance.duality",
        study,
        each=alpha_of_each,
        interval=interval(row["low"], row["high"], signed, digits),
        test=test,
        level=percent(study.settings.level),
        p=_headline_p(study),
        zero=zero,
    )
    return figures.picture(
        plots.duality,
        study.p_curve(),
        caption=caption,
        height=HEIGHT,
        observed=float(row["difference"]),
        p_of_observed=study.p_of_observed,
        alpha=alpha_of_each,
        limits=tuple(finite_limits),
        sided=first_screen.sided(study),
        label=f"mean difference in {study.primary.label} under the null",
    )


JOINT = "joint sign flips of the whole family"
NORMAL = "normal draws for the whole family, with the covariance of joint sign flips"


@also(Shares, title_of_shares)
@also(JudgedOutputs, judges_page.title)
def title(study: Significance) -> Html:
    """The title and what was asked."""
    baseline = study.settings.baseline
    candidates = [name for name in study.systems if name != baseline]
    systems = counted(len(candidates), "system")
    if baseline:
        systems = f"{systems} against {baseline}"
    n = counted(most_units(study), study.unit_name)
    question = f"What can be claimed about {systems} on {study.primary.label}, from {n}?"
    return first_screen.heading("Significance report", question, study)


def estimates(study: Either) -> Html:
    """Systems in rows, metrics in columns."""
    sample = plural(study.unit_name, 2)
    if study.settings.unit:
        sample = f"rows, whole {sample} as units,"
    level = percent(study.estimates["level"].iloc[0])
    return page.estimates(study, f"{study.value_is} over {sample} with its {level} interval")


@also(Shares, pieces.nothing)
def other_tests(study: Significance) -> Html:
    """The same pairs by every other test, folded."""
    if study.headline.empty:
        return Html("")
    frame = paired.other_tests(study)
    if frame.empty:
        return Html("")
    columns: dict[str, Column] = {"first − second": pair}
    if frame["metric"].nunique() > 1:
        columns["metric"] = words("metric")
    tests = []
    explanations = []
    for test, (head, text) in texts.DEFINITIONS["other_tests"].items():
        if frame[test].notna().any():
            tests.append(test)
            columns[head] = p_column(test)
            explanations.append(f"{head}: {text}")
    if study.settings.unit:
        units = plural(study.unit_name, 2)
        of_whole_units = " and ".join(test for test in ("t", "bootstrap") if test in tests)
        verb = "take" if "bootstrap" in tests else "takes"
        of_means = f"the other tests the mean of each {study.unit_name}"
        explanations.append(f"{of_whole_units} {verb} whole {units}, {of_means}")
    note = f"{'; '.join(explanations)}."
    caption = "Other tests of the same differences, unadjusted unless stated"
    table = of_rows(caption, frame, columns, note)
    return folded("The same pairs by other tests", table)


@also(Shares, pieces.nothing)
@pieces.where(lambda study: len(study.headline) and study.has_differences)
def effects(study: Significance) -> Html:
    """How large each difference is: the primary metric's pairs, the other metrics folded."""
    frame = paired.effects(study)
    is_deciding = frame["metric"] == study.primary.label
    caption = f"Effect sizes: differences in {study.primary.label}"
    note = texts.sentence("significance.effects_note")
    first = _effect_table(frame[is_deciding], caption, note)
    further_caption = "Effect sizes: differences in the other metrics"
    further = _effect_table(frame[~is_deciding], further_caption, "")
    return stack([first, folded("The other metrics", further)])


def _effect_table(effects: pd.DataFrame, caption: str, note: str) -> Html:
    """A row per difference; it names the metric if there are several. effects: of
    `paired.effects`.
    """
    columns: dict[str, Column] = {"first − second": pair}
    if effects["metric"].nunique() > 1:
        columns["metric"] = words("metric")
    # each is "head = column kind" or "column kind"; kind ±: a number with its sign, #: without;
    # share: defined below, as the usual kinds have no percentage with a sign
    columns |= named(
        "difference ± | relative share | d_z=standardised ± | P(first higher)=superiority #",
        share=partial(value, show=signed_percent),
    )
    columns["higher / equal / lower"] = by_row(
        lambda row: f"{row['wins']:,} / {row['ties']:,} / {row['losses']:,}"
    )
    return of_rows(caption, effects, columns, note)


@compared
def equivalence(study: Either) -> Html:
    """TOST and non-inferiority against the margin; without one nothing."""
    return _equivalence(study) if study.settings.margin is not None else Html("")


@also(Shares, equivalence_of_shares)
def _equivalence(study: Significance) -> Html:
    """A row per pair: its interval for equivalence, and whether that shows that the difference lies
    within the margin, and that the first system is not worse by more than the margin.
    """
    margin = study.settings.margin
    inside = percent(equivalence_level(study))

    def is_within(row: Record) -> Cell:
        """Whether the difference lies within the margin."""
        tests = paired.margin_tests(study, row)
        return _shown_or_not(is_shown=tests.is_within, is_refuted=tests.is_beyond)

    def is_not_worse(row: Record) -> Cell:
        """Whether the first system is not worse by more than the margin."""
        tests = paired.margin_tests(study, row)
        return _shown_or_not(is_shown=tests.is_not_worse, is_refuted=tests.is_worse)

    columns: dict[str, Column] = {
        "first − second": pair,
        f"{inside} interval": by_row(
            lambda row: interval(row["equivalence_low"], row["equivalence_high"], signed)
        ),
        f"within ±{margin:g}": by_row(is_within),
    }
    if study.primary.metric.direction != 0:
        columns[f"not worse by {margin:g}"] = by_row(is_not_worse)
    note = texts.sentence("significance._equivalence_note", inside=inside, alpha=alpha(study))
    caption = f"Equivalence and non-inferiority in {study.primary.label}, margin {margin:g}"
    deciding = study.comparisons[study.comparisons["metric"] == study.primary.label]
    return of_rows(caption, deciding, columns, note)


def _shown_or_not(*, is_shown: bool, is_refuted: bool) -> Cell:
    """Whether a claim is shown by the data, its contrary, or neither."""
    if is_shown:
        return lesson.text_cell("yes")
    if is_refuted:
        return lesson.text_cell("no")
    return lesson.text_cell("not established")


@also(Shares, pieces.nothing)
def needed(study: Significance) -> Html:
    """How many units would show which difference."""
    if study.headline.empty:
        return Html("")
    frame = paired.needed(study)
    if frame.empty:
        return Html("")
    units = plural(study.unit_name, 2)
    columns: dict[str, Column] = {
        "true difference": value("difference"),
        "which is": words("which"),
        f"{units} for 80%": count("n_80", _count),
        f"{units} for 90%": count("n_90", _count),
    }
    caption = texts.sentence("significance.needed", study, alpha=beyond(study.family_level))
    return of_rows(caption, frame, columns, texts.sentence("significance.needed_note"))


def _count(n: float) -> str:
    """A number of units that are needed, rounded up."""
    return f"{numbers.whole_units(n):,}"


def teaching(study: Either) -> Html:
    """Why the answers above are made as they are: lessons, folded, computed live."""
    duality_text = texts.sentence("significance._duality_text", sided=first_screen.sided(study))
    on_duality = stack([duality(study), paragraph(duality_text)])
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
    """Every number of the page, unrounded."""
    fields: dict[str, object] = {"differences": NO_DIFFERENCES}
    if len(study.headline):
        ranks = paired.mean_ranks(study)
        ranks_by_name = None if ranks is None else ranks._asdict()
        fields = {
            "looks": {"looks": study.p.looks, "level_of_each": study.test_level},
            **as_json.records(
                effects=paired.effects(study),
                other_tests=paired.other_tests(study),
                tiers=rank_tiers(study),
                needed=paired.needed(study),
            ),
            "ranks": ranks_by_name,
            "power": paired.power_curve(study).to_dict("list"),
            "null_distribution": paired.null_histogram(study),
            "p_curve": study.p_curve().to_dict("list"),
            "differences": study.each_difference(),
        }
    fields |= as_json.records(
        draws=significance.variation(study),
        claims=significance.claims(study),
        claim_means=significance.claim_means(study),
        logs=significance.logged(study),
    )
    if isinstance(study, JudgedOutputs):
        fields["judge"] = as_json.records(**judges_page.frames(study))
    fields["answer"] = first_screen.answer(study, _made_claims(study))
    return published(study, fields)


# Evaluations: repeated draws, tasks, and what logs say of themselves ------------------------------


@also(Shares, first_screen.verdict)
@also(JudgedOutputs, judges_page.verdict)
def verdict(study: Significance) -> Html:
    """The first screen; where several claims are possible, which one is made, and how sure it
    is.
    """
    return first_screen.verdict(study, _made_claims(study))


def _made_claims(study: Significance) -> list[str]:
    """The claim that is made, and how sure it is, in a sentence; none if only one is possible."""
    p = ""
    if len(study.headline) == 1:
        p = f" (adjusted p {p_value(study.headline.iloc[0]['adjusted'])})"
    what = "verdict" if len(study.headline) else "value"
    sentences = []
    for row in significance.claims(study).to_dict("records"):
        if row["made"]:
            claim = _with_noun(study, row["claim"])
            sentences.append(texts.sentence("significance.made", what=what, claim=claim, p=p))
    return sentences


def _with_noun(study: Significance, claim: str) -> str:
    """A claim, or a sentence of several, with the input's own noun in place of "questions"."""
    return claim.replace("questions", plural(significance.question_noun(study), 2))


@also(Shares, pieces.nothing)
def draws(study: Significance) -> Html:
    """What varies between units and within them, and what more of both would buy."""
    frame = significance.variation(study)
    if frame.empty:
        return Html("")
    units = plural(significance.question_noun(study), 2)
    cluster_note = "" if study.unit is None else f" Errors are clustered by {study.unit_name}."
    caption = texts.sentence(
        "significance.draws", metric=significance.metric_with_draws(study), units=units
    )
    columns = named("system=what w") | {units: count("units")}
    columns |= named("draws # | between # | within # | standard error=error #")
    columns[f"twice the {units}"] = value("twice_units")
    columns |= named("twice the draws=twice_draws # | endless draws=endless_draws #")
    note = texts.sentence("significance.draws_note", units=units, many=cluster_note)
    return of_rows(caption, frame, columns, note)


@also(Shares, pieces.nothing)
def claims(study: Significance) -> Html:
    """What the claim covers, and what the other ones would give."""
    frame = significance.claims(study)
    if frame.empty:
        return Html("")
    questions = plural(significance.question_noun(study), 2)
    several_tasks = study.data.tasks is not None

    def claim(row: Record) -> Cell:
        """A claim in words, marked if the page makes it."""
        mark = " (the claim of this page; limits here by t)" if row["made"] else ""
        return Cell(_with_noun(study, row["claim"]) + mark)

    columns = {"claim": by_row(claim)}
    if several_tasks:
        columns |= named("mean w")
    columns |= named("value [_] | its standard error=value_error #")
    varying = {THESE: "only their draws vary", SUCH: "a new sample of them"}
    new_tasks = "a new sample of these, each with its questions"
    meanings = []
    for covered in significance.coverage(study):
        meanings.append(f"{covered.capitalize()}: {varying.get(covered, new_tasks)}.")
    if several_tasks:
        meanings.append("Pooled: the mean over all; macro: the mean of the means of tasks.")
    in_words = _with_noun(study, " ".join(meanings))
    note = texts.sentence("significance.claims_note", every=in_words, macro=_macro_note(study))
    if len(study.headline):
        columns |= named("difference [_] | standard error=difference_error # | p p")
    if len(study.pairs) > 1:
        columns["pairs that differ"] = by_row(
            lambda row: Cell(f"{row['apart']:,} of {row['pairs']:,}")
        )
        columns |= named("unpaired n")
        note += texts.sentence("significance.pairs_note", questions=questions, alpha=alpha(study))
    subject = study.leader
    if len(study.headline):
        subject = f"{study.leader}, and {' − '.join(study.opponents)}"
    of_leader = of_rows(
        texts.sentence("significance.claims", study, of=subject), frame, columns, note
    )
    if len(study.systems) == 1:
        return of_leader
    return stack([of_leader, _claim_means(study)])


def _claim_means(study: Significance) -> Html:
    """The mean of every system by what is claimed."""

    def claim(row: Record) -> Cell:
        return Cell(_with_noun(study, row["claim"]))

    frame = significance.claim_means(study)
    columns = named("system w")
    columns["claim"] = by_row(claim)
    if study.data.tasks is not None:
        columns |= named("mean w")
    columns |= named("value [_] | its standard error=value_error #")
    return of_rows(texts.sentence("significance.claim_means", study), frame, columns)


def _macro_note(study: Significance) -> str:
    """How the error of a mean of the means of tasks is computed; "" if there are no tasks."""
    if study.data.tasks is None:
        return ""
    n = significance.single_tasks(study)
    tasks = len(set(study.data.tasks))
    question = significance.question_noun(study)
    single = ""
    if n == tasks:
        single = texts.sentence("significance.only_single_tasks", question=question)
    elif n:
        single = texts.sentence(
            "significance.single_tasks", tasks=counted(n, "task"), question=question
        )
    return texts.sentence("significance.macro_note", single=single)


@also(Shares, pieces.nothing)
def logged(study: Significance) -> Html:
    """What the logs state, beside what their rows give, where the two differ."""
    columns = (
        "system w | task w | metric w | the log's mean=stated # | mean of its rows=mean # | "
        "the log's standard error=stated_error # | of its rows=error # | why w"
    )
    caption = texts.sentence("significance.logged")
    note = texts.sentence("significance.logged_note")
    return of_rows(caption, _differing(study), columns, note)


def _differing(study: Significance) -> pd.DataFrame:
    """The rows of logs whose own numbers are not those of their questions."""
    frame = significance.logged(study)
    return frame if frame.empty else frame[frame["why"] != ""]


def _logs(study: Significance) -> Iterator[Finding]:
    """Whether the logs' own numbers are those of their rows, and which logs hold fewer rows than
    they count.
    """
    frame = significance.logged(study)
    if not len(frame):
        return
    n = len(_differing(study))
    if n:
        verb = "differs" if n == 1 else "differ"
        yield kinds.NUMBERS_OF_LOGS.warning(n, "differ", n=n, verb=verb, of=len(frame))
    else:
        yield kinds.NUMBERS_OF_LOGS.note(len(frame), "same", of=len(frame))
    short = frame[frame["stated_questions"] > frame["questions"]].drop_duplicates(
        ["system", "task"]
    )
    logs = []
    for row in short.itertuples():
        counts_of_log = f"{row.questions:,} of {row.stated_questions:,}"
        logs.append(f"{row.system} on {row.task}: {counts_of_log}")
    if logs:
        yield kinds.SHORT_LOGS.warning(len(logs), what=listed(logs))


@also(JudgedOutputs, judges_page.judge)
def judge(study: Either) -> Html:
    """The judge: what its labels correct, its bias and its agreement with the oracle; empty for
    values that no judge gave.
    """
    return pieces.nothing(study)


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
