"""The interleaving page: sessions, what joins them with the A/B test, and simulated experiments."""

from collections.abc import Callable, Iterator
from functools import partial, wraps
from operator import attrgetter
from typing import TypeVar

from evalkit.arrays import Record
from evalkit.catalogue.metric import MetricAtK
from evalkit.drawing import figures, paragraphs, plots, shown
from evalkit.drawing.cells import Cell, escape
from evalkit.drawing.columns import (
    Column,
    column_by_row,
    count,
    limits,
    p_column,
    text,
    value,
    words,
)
from evalkit.drawing.paragraphs import muted_paragraph
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.tables import of_rows
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, WARNING, Finding
from evalkit.numbers import count_with_noun, number, p_value, plural, signed_number, signed_percent
from evalkit.pages import as_json, experiment_page, first_screen, page, pieces, texts
from evalkit.pages.shared_findings import columns_in_words, of_sample, one_row_per_unit
from evalkit.report import Results
from evalkit.studies import interleaving, provenance, randomisation, units
from evalkit.studies.interleaving import Interleaving, Online, excess_of_fair_share
from evalkit.studies.planning import (
    BAIT,
    CANDIDATE_NOISE,
    FEWEST_GROUPS,
    KINDS,
    PRODUCTION_NOISE,
    Planning,
    as_record,
)

pieces.offer_pieces(__name__)


def title(study: Online) -> Html:
    """The title and what was asked, a question for each part of the report."""
    questions = []
    designs = []
    if study.log:
        designs.append("Interleaving")
        users = count_with_noun(study.log.users, study.log.unit_name)
        rankers = " or ".join(sorted(study.log.systems))
        questions.append(f"Which ranker do {users} prefer in interleaved lists: {rankers}?")
    if study.users:
        designs.append("A/B")
        users = count_with_noun(study.users.users, study.users.unit_name)
        metric = study.users.primary_metric
        sought = "is ahead" if metric.metric.direction else "is the highest"
        questions.append(f"Which arm of {users} {sought}, by {metric.label}?")
    if study.planning:
        questions.append("How many users does each design need?")
    report = f"{' and '.join(designs)} report"
    return first_screen.heading(report, " ".join(questions), study)


def verdict(study: Online) -> Html:
    """The gate where one is set, then the answer of the log and that of the A/B table; each named
    if there are both.
    """
    parts = first_screen.gate(study)
    if study.log:
        if study.log.simulated:
            note = "The bundled log: its users and clicks are simulated."
            parts.append(muted_paragraph(note))
        elif study.users:
            parts.append(muted_paragraph("Interleaving"))
        parts.append(first_screen.verdict(study.log))
    if study.users:
        if study.log:
            parts.append(muted_paragraph("A/B test"))
        parts.append(first_screen.verdict(study.users))
    return stack(parts)


@pieces.where_it_exists
def findings(study: Interleaving) -> Html:
    """What to know of the log before the numbers."""
    return shown.findings(findings_of_log(study), "log-")


@pieces.where_it_exists
def estimates(study: Interleaving) -> Html:
    """The arms in rows, the ways to count preference in columns."""
    users = count_with_noun(study.users, study.unit_name)
    arms = len(study.systems)
    tie = "½ is a tie"
    if arms > 2:
        tie = f"a tie is a share of 1/{arms}, or ½ for preference and wins"
    caption = f"Preference with its {study.settings.level:.0%} interval, {users}, {tie}"
    return page.estimates(study, caption)


comparisons = pieces.where_it_exists(page.comparisons)
segments = pieces.where_it_exists(page.segments)


@pieces.where_it_exists
def checks(study: Interleaving) -> Html:
    """Two tables: how many of the items at each position each arm's team has, with the test of a
    fair coin, folded; and how often the log has what team drafting cannot give. With two arms the
    items of the first tell those of the second.
    """
    has_many_arms = len(study.systems) > 2

    def items_of_arm(row: Record) -> str:
        """The items of the arm at a position, of those of all arms."""
        return f"{row['count']:,} of {row['n']:,}"

    balance_columns: dict[str, Column] = {"position": count("position", show=str)}
    if has_many_arms:
        balance_columns["arm"] = words("system")
        balance_columns["items"] = column_by_row(items_of_arm)
    else:
        balance_columns[f"items of {study.systems[0]}"] = column_by_row(items_of_arm)
    balance_columns |= {
        "share": limits("share"),
        "p": p_column("p"),
        "adjusted p": p_column("adjusted"),
    }
    note = texts.sentence("interleaving.checks_note", broken=randomisation.BROKEN_BELOW_P)
    balance_table = of_rows(
        "Balance of teams by position (position 1: the coin)",
        study.shown_balance,
        balance_columns,
        note,
    )
    check_columns = {
        "check": text("check"),
        "count": count("count", show="{:,.0f}".format),
        "of": count("of", show="{:,.0f}".format),
        "share": text("share", show="{:.1%}".format),
    }
    return stack(
        [
            folded("The balance of teams in numbers", balance_table),
            of_rows("Checks of the log", study.checks, check_columns),
        ]
    )


def definitions(study: Online) -> Html:
    """What the words of the page mean, for each part that the report has: the metrics and tests of
    the log, those of the A/B table, the words of the planning.
    """
    words_and_meanings = []
    if study.log:
        users = plural(study.log.unit_name, 2)
        words_and_meanings += page.metric_definitions(study.log)
        tests_in_words = study.log.tests_text
        words_and_meanings += texts.meanings("log", tests=tests_in_words, users=users)
    if study.users:
        words_and_meanings += experiment_page.definitions(study.users)
    if study.planning:
        words_and_meanings += texts.meanings("planning")
    return paragraphs.definitions(words_and_meanings)


def origin(study: Online) -> Html:
    """Inputs, parameters, versions, the command."""
    metrics: list[MetricAtK] = []
    for of_input in study.studies:
        metrics += of_input.settings.metrics
    return paragraphs.provenance(provenance.table(study, metrics))


def results(study: Online) -> Results:
    """Every number of the page, unrounded; null for a part that was not given; beside it the file
    of the units.
    """
    units.write_if_asked("interleaving", study.study_by_input)
    fields: dict[str, object] = {"log": None, "users": None, "planning": None}
    if study.log:
        fields["log"] = _log_results(study.log)
    if study.users:
        fields["users"] = experiment_page.answers(study.users)
    if study.planning:
        fields["planning"] = planned(study.planning)
    return Results(as_json.header(study, every_finding(study)) | fields)


def _log_results(study: Interleaving) -> dict[str, object]:
    """Every number of the log's part of the page."""
    fields = as_json.answers(study) | {
        "simulated": study.simulated,
        "columns": dict(study.table.columns),
        "population": {
            "items": study.items,
            "sessions": study.sessions,
            "users": study.users,
            "unit": study.unit_name,
            "heavy": study.heavy,
            "repeated_items": study.session_table.repeated_items,
        },
        "delta_ab": interleaving.delta_ab(study),
        "session_p": study.session_p,
    }
    return fields | as_json.frames_as_records(
        balance=study.balance, by_position=study.by_position, checks=study.checks
    )


def every_finding(study: Online) -> Iterator[Finding]:
    """Every finding of an interleaving report: of the log, of the users, of the planning."""
    if study.log:
        yield from findings_of_log(study.log)
    if study.users:
        yield from experiment_page.findings_of_users(study.users)
    if study.planning:
        yield _simulated_experiments(study.planning)


def findings_of_log(study: Interleaving) -> Iterator[Finding]:
    """Every finding of a log of sessions, those on the input first, those on the sample last."""
    yield from _sessions(study)
    yield from one_row_per_unit(study, study.sessions, "sessions")
    yield from fairness(study)
    yield from of_sample(study)


def _sessions(study: Interleaving) -> Iterator[Finding]:
    """What was read; how many users credit no arm; the share of all credit that the tenth of users
    with the most credit gave, a warning if the arm that leads by credit trails by users; and the p
    of a test with sessions as units, or that without a user column they are the units.
    """
    if study.simulated:
        yield kinds.SIMULATED.warning(None, "log")
    users = count_with_noun(study.users, study.unit_name)
    units = plural(study.unit_name, 2)
    yield kinds.ROWS_READ.note(
        study.items,
        "log",
        users=users,
        columns=columns_in_words(study.table.columns),
        items=count_with_noun(study.items, "item"),
        sessions=count_with_noun(study.sessions, "session"),
    )
    users_without_credit = study.silent_users
    if users_without_credit:
        severity = WARNING if study.mostly_silent else NOTE
        yield kinds.NO_CREDIT.finding_with_severity(
            severity,
            users_without_credit,
            users=count_with_noun(users_without_credit, study.unit_name),
        )
    shares = interleaving.first_shares(study)  # of the first arm: a mean over users; of all credit
    severity = WARNING if shares.winners_differ else NOTE
    yield kinds.HEAVY_USERS.finding_with_severity(
        severity,
        None,
        "log",
        units=units,
        unit=study.unit_name,
        heavy=study.heavy,
        arm=study.systems[0],
        by_user=number(shares.mean_over_users),
        of_credit=number(shares.of_credit),
    )
    has_user_column = study.clustered  # sessions of a user are then one unit
    if has_user_column:
        yield kinds.SESSION_TEST.note(p=p_value(study.session_p), unit=study.unit_name)
    else:
        yield kinds.SESSIONS_AS_UNITS.warning()


def fairness(study: Interleaving) -> Iterator[Finding]:
    """Whether the lists were drafted fairly, without which the preference is biased: a test that a
    fair coin drew the teams, sessions in which one team has more items than a draft allows, and
    items that stand twice in a list.
    """
    smallest_p = float(study.balance["adjusted"].min())  # adjusted by Holm over the positions
    positions = count_with_noun(study.balance["position"].nunique(), "position")
    if smallest_p < randomisation.BROKEN_BELOW_P:
        yield kinds.COIN.warning(None, "broken", positions=positions, p=p_value(smallest_p))
    else:
        yield kinds.COIN.note(None, "fair", positions=positions, p=p_value(smallest_p))
    uneven_sessions = interleaving.uneven(study)
    if uneven_sessions.number:
        severity = WARNING if uneven_sessions.share > interleaving.MANY_UNEVEN else NOTE
        yield kinds.UNEVEN_TEAMS.finding_with_severity(
            severity,
            uneven_sessions.number,
            uneven=uneven_sessions.number,
            share=uneven_sessions.share,
        )
    n_repeated_items = study.session_table.repeated_items
    if n_repeated_items:
        verb = "was" if n_repeated_items == 1 else "were"
        items = f"{count_with_noun(n_repeated_items, 'item')} {verb}"
        yield kinds.REPEATED_ITEMS.warning(n_repeated_items, items=items)


@pieces.where_it_exists
def balance(study: Interleaving) -> figures.Figure | Html:
    """The share of an arm's team in the items at each position, less its share under a fair coin,
    with intervals; a row for each position and arm, of two arms for the first alone, as the second
    has the rest.
    """
    arms = len(study.systems)
    has_many_arms = arms > 2
    whose = "each arm's" if has_many_arms else f"{study.systems[0]}'s"
    fair_share = f"1/{arms}" if has_many_arms else "½"
    labels = []
    for row in study.shown_balance.itertuples():  # the rows that are drawn
        arm = f", {row.system}" if has_many_arms else ""
        labels.append(f"position {row.position}{arm} (n = {row.n:,})")
    excesses = excess_of_fair_share(study)  # of the same rows: value, low, high
    excesses.insert(0, "name", labels)
    in_words = [
        f"{row.name} {signed_number(row.value)}" for row in excesses.itertuples(index=False)
    ]
    caption = texts.sentence(
        "interleaving.balance", whose=whose, fraction=fair_share, level=study.settings.level
    )
    return figures.figure_drawn_by(
        plots.intervals,
        excesses,
        caption=caption,
        says="; ".join(in_words),
        height=figures.figure_height(len(excesses), each=0.24),
        label=f"share of {whose} items − {fair_share}",
        zero=True,
    )


@pieces.where_it_exists
def by_position(study: Interleaving) -> figures.Figure | Html:
    """Outcome, such as clicks, per shown item by position and arm."""
    outcome = study.table.columns["outcome"]
    n = max(study.by_position["n"])
    bands = f"{study.settings.level:.0%} bands, {plural(study.unit_name, 2)} as units (jackknife)"
    caption = f"{outcome.capitalize()} per item shown, by position and arm, {bands}"
    if study.simulated:
        caption += ", simulated clicks"
    lines = []
    for name, line in study.by_position.groupby("system", sort=False):
        lines.append(f"{name}: {', '.join(map(number, line['value']))}")
    return figures.figure_drawn_by(
        plots.curves,
        page.rows_of_figure(study, study.by_position),
        caption=f"{caption}.",
        says="; ".join(lines),
        x="position",
        y="value",
        xlabel="position in the list",
        ylabel=f"{outcome} per item (n ≤ {n:,} {plural(study.unit_name, n)})",
    )


# what the preferences of simulated rankers are compared with: the columns plays_NAME, in words
COMPARED_WITH = {"true": "true lift", "measured": "A/B test", "cuped": "A/B test with CUPED"}


@pieces.where_it_exists
def answer(study: Planning) -> Html:
    """How many users interleaving needs in the simulated world of this report, how many times as
    many an A/B test needs with its best metric, raw or with CUPED, and what the simulations assume.
    """
    users_needed = study.worlds.set_index("world").loc[study.name]
    answer_text = texts.sentence(
        "interleaving.answer",
        name=study.name,
        raw=users_needed["raw_metric"],
        raw_times=_ratio(users_needed["raw_times"]),
        times=_ratio(users_needed["cuped_times"]),
        users=_two_digits(users_needed["interleaving"]),
        cuped=users_needed["cuped_metric"].removesuffix(", CUPED"),
    )
    return stack([muted_paragraph(answer_text), _assumed(study)])


def _assumed(study: Planning) -> Html:
    """What the simulations assume, where their numbers begin."""
    finding = _simulated_experiments(study)
    return Html(shown.findings_html([finding], "planning-"), str(finding))


def _two_digits(users: float) -> str:
    """A number of users to two digits, of many that they are: 12,345 as "12,000"."""
    return f"{float(f'{users:.2g}'):,.0f}"


def _ratio(ratio: float) -> str:
    """A ratio of numbers of users to two digits: "1.4", "38", "120"."""
    return _two_digits(ratio) if ratio >= 10 else f"{ratio:.1f}"


@pieces.where_it_exists
def needed(study: Planning) -> Html:
    """A folded table with a row for each design, interleaving or A/B with a metric: its effect, the
    standard deviation between users, and about how many users it needs for 95% agreement with the
    truth and for 80% and 95% power.
    """
    columns: dict[str, Column] = {
        "design": text("design"),
        "effect": value("effect", show=signed_number),
        "sd per user": value("sd"),
        "95% agree": count("agree_95", show=_two_digits),
        "80% power": count("power_80", show=_two_digits),
        "95% power": count("power_95", show=_two_digits),
        "noise": text("error", show="±{:.0%}".format),  # the simulation's, in these numbers
        "times": count("times", show=_ratio),
    }
    note = texts.sentence("interleaving.needed_note")
    by_design = of_rows(
        f"Users needed, from {study.users:,} simulated users", study.needed, columns, note
    )
    return folded("Users needed by design", by_design)


@pieces.where_it_exists
def worlds(study: Planning) -> Html:
    """A folded table with a row for each simulated world, a set of assumptions on clicks and heavy
    users: about how many users interleaving needs, and an A/B test with its best metric, raw and
    with CUPED; and the ratios of the A/B tests to interleaving.
    """
    columns: dict[str, Column] = {
        "world": text("world"),
        "interleaving": count("interleaving", show=_two_digits),
        "best raw A/B": _users_and_metric("raw"),
        "best A/B with CUPED": _users_and_metric("cuped"),
        "raw ratio": count("raw_times", show=_ratio),
        "CUPED ratio": count("cuped_times", show=_ratio),
    }
    note = texts.sentence("interleaving.worlds_note")
    by_world = of_rows(
        "Users for 95% agreement, simulated, by assumption", study.worlds, columns, note
    )
    return folded("The same under other assumptions", by_world)


def _users_and_metric(name: str) -> Column:
    """A column of tables with two lines in a cell: the number of users, from the column `name` of
    the frame, and below it the metric with which an A/B test needs so many, from NAME_metric.
    """

    def users_and_metric(row: Record) -> Cell:
        """The number of users of a row, and the metric below it."""
        users = _two_digits(row[name])
        metric = row[f"{name}_metric"]
        return Cell(f"{users} {metric}", markup=f"{users}<br>{escape(metric)}")

    return column_by_row(users_and_metric)


@pieces.where_it_exists
def stages(study: Planning) -> Html:
    """A folded table with a row for each design to choose among many candidates: an A/B test of
    all, or of the few (`keep`) that interleaving leaves. It has the users needed, how often the
    best candidate wins, and the effect of the winner as a share of the best one's.
    """
    design = study.stages["design"]
    design_with_keep = design + ", keep " + study.stages["keep"].astype(str)
    has_two_stages = design == "two stages"
    stages = study.stages.assign(design=design.mask(has_two_stages, design_with_keep))
    columns: dict[str, Column] = {
        "design": text("design"),
        "users": count("users"),
        "the best one wins": text("best_wins", show="{:.0%}".format),
        "effect chosen": text("chosen", show="{:.0%}".format),
    }
    kept = "s of them kept by interleaving and A/B-tested with production"
    any_row = study.stages.iloc[0]  # all designs have these numbers of users in common
    note = texts.sentence(
        "interleaving.stages_note",
        users_arm=any_row["users_arm"],
        users_interleaved=any_row["users_interleaved"],
    )
    by_design = of_rows(
        f"Two stages, simulated: {study.rankers} candidates, {kept}", stages, columns, note
    )
    return folded("First interleaving, then an A/B test (two stages)", by_design)


def planned(study: Planning) -> dict[str, object]:
    """Every number of the planning, for the JSON file: the assumptions of the simulated world, and
    what was simulated under them.
    """
    return {
        "simulated": True,
        "world": study.name,
        "assumptions": as_record(study.world),
        "users": study.users,
        **as_json.frames_as_records(
            needed=study.needed,
            counted=study.groups,
            worlds=study.worlds,
            candidates=study.candidates,
            families=study.families,
            stages=study.stages,
        ),
        "curves": study.curves.to_dict("list"),
        "correlation": {lift: study.correlation(lift) for lift in COMPARED_WITH},
    }


def _simulated_experiments(study: Planning) -> Finding:
    """That the experiments of the planning are simulated, and what is assumed."""
    return kinds.SIMULATED.warning(
        study.users,
        "world",
        assumed=assumptions(study),
        production=PRODUCTION_NOISE,
        candidate=CANDIDATE_NOISE,
    )


def assumptions(study: Planning) -> str:
    """What the simulations assume of clicks and of users, in words, for captions."""
    click = "a play never ends the session (position-based)"
    if study.world.leave == 1:
        click = "a play ends the session"
    spread = "the same for all: no heavy users"
    if study.world.spread:
        spread = f"lognormal with sigma {study.world.spread:g}"
    return texts.sentence("interleaving.assumptions", study, spread=spread, click=click)


@pieces.where_it_exists
def errors(study: Planning) -> figures.Figure | Html:
    """How often an experiment prefers the worse ranker, against its number of users, by design."""
    users_needed = study.needed.set_index("design")["agree_95"]
    caption = texts.sentence(
        "interleaving.errors",
        fewest=FEWEST_GROUPS,
        assumptions=assumptions(study),
        production=PRODUCTION_NOISE,
        candidate=CANDIDATE_NOISE,
        users=study.users,
    )
    reached = []
    for name in dict.fromkeys(study.curves["system"]):
        reached.append(f"{name} reaches 5% at {users_needed[name]:,.0f} users")
    return figures.figure_drawn_by(
        plots.draw_errors,
        study.curves,
        study.groups,
        caption=caption,
        says=f"{'; '.join(reached)}.",
        height=3.2,
    )


@pieces.where_it_exists
def agreement(study: Planning) -> figures.Figure | Html:
    """The preference for many simulated rankers against their lift in plays, a panel for each way
    in which the lift is known.
    """
    caption = texts.sentence(
        "interleaving.agreement", rankers=study.rankers, each=study.users_per_ranker
    )
    titles = []
    data = []  # share and lift, shape (rankers, 2)
    for lift, in_words in COMPARED_WITH.items():
        correlation = number(study.correlation(lift), 2)
        titles.append(f"{in_words}, r\u00a0=\u00a0{correlation}")
        data.append(study.candidates[["share", f"plays_{lift}"]].to_numpy())
    says = f"{'; '.join(titles)}."
    return figures.row(plots.draw_agreement, data, titles, caption=caption, says=says, panels=3)


@pieces.where_it_exists
def families(study: Planning) -> figures.Figure | Html:
    """The preference that interleaving shows for simulated rankers against their true lifts in
    plays and in hours: rankers by affinity, whose preference follows the lifts, and click-bait and
    diverse ones, whose preference misleads. Folded.
    """
    rankers = study.families
    caption = texts.sentence(
        "interleaving.families",
        rankers=len(rankers),
        each=study.users_per_ranker,
        bait=BAIT,
        kinds=KINDS,
    )
    in_words = []
    for row in rankers.itertuples(index=False):
        lifts = f"plays {signed_percent(row.plays)}, hours {signed_percent(row.hours)}"
        in_words.append(f"{row.family} {row.ranker}: share {signed_number(row.share)}, {lifts}")
    says = f"{'; '.join(in_words)}."
    figure = figures.row(plots.draw_families, rankers, caption=caption, says=says, panels=2)
    return figure.folded("Rankers that a preference misjudges (click-bait and diverse lists)")


Part = TypeVar("Part")  # of the report: the study of the log, of the users, or the planning
Piece = TypeVar("Piece")


def _on_part(
    get_part: Callable[[Online], Part], piece: Callable[[Part], Piece]
) -> Callable[[Online], Piece]:
    """A piece about one part of the report as a piece of the whole report.

    get_part: returns the part, None if there is none, for which the piece stays empty.
    """

    @wraps(piece)
    def piece_of_report(study: Online) -> Piece:
        return piece(get_part(study))

    return piece_of_report


_on_log = partial(_on_part, attrgetter("log"))
_on_users = partial(_on_part, attrgetter("users"))
_on_planning = partial(_on_part, attrgetter("planning"))
SUMMARY = (
    verdict,
    _on_log(estimates),
    _on_users(experiment_page.estimates),
    _on_planning(answer),
)
PIECES = (
    title,
    verdict,
    _on_log(findings),
    _on_log(estimates),
    _on_log(comparisons),
    _on_log(by_position),
    _on_log(segments),
    _on_log(balance),
    _on_log(checks),
    _on_users(experiment_page.findings),
    _on_users(experiment_page.estimates),
    _on_users(experiment_page.comparisons),
    _on_users(experiment_page.effects),
    _on_users(experiment_page.adjustments),
    _on_users(experiment_page.heavy_users),
    _on_users(experiment_page.segments),
    _on_users(experiment_page.users_for),
    _on_planning(answer),
    _on_planning(errors),
    _on_planning(needed),
    _on_planning(worlds),
    _on_planning(agreement),
    _on_planning(families),
    _on_planning(stages),
    definitions,
    origin,
)
