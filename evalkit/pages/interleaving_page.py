"""The interleaving page: sessions, what joins them with the A/B test, and simulated experiments."""

from collections.abc import Callable, Iterator
from functools import partial, wraps
from operator import attrgetter
from typing import TypeVar

from evalkit.arrays import Record
from evalkit.catalogue.metric import MetricAtK
from evalkit.drawing import figures, paragraphs, plots, shown
from evalkit.drawing.cells import Cell, escape
from evalkit.drawing.columns import Column, by_row, count, named, text
from evalkit.drawing.paragraphs import paragraph
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.tables import of_rows
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, WARNING, Finding
from evalkit.numbers import counted, number, p_value, plural, signed, signed_percent
from evalkit.pages import as_json, experiment_page, first_screen, page, pieces, texts
from evalkit.pages.shared_findings import columns_read, of_sample, one_row_per_unit
from evalkit.report import Results
from evalkit.studies import interleaving, provenance, randomisation, units
from evalkit.studies.interleaving import Interleaving, Online, excess_of_fair_share
from evalkit.studies.planning import (
    BAIT,
    CANDIDATE,
    FEWEST_GROUPS,
    KINDS,
    PRODUCTION,
    Planning,
    as_record,
)

pieces.offered(__name__)


def title(study: Online) -> Html:
    """The title and what was asked, a question for each part of the report."""
    questions = []
    designs = []
    if study.log:
        designs.append("Interleaving")
        users = counted(study.log.users, study.log.unit_name)
        rankers = " or ".join(sorted(study.log.systems))
        questions.append(f"Which ranker do {users} prefer in interleaved lists: {rankers}?")
    if study.users:
        designs.append("A/B")
        users = counted(study.users.users, study.users.unit_name)
        metric = study.users.primary
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
            parts.append(paragraph(note))
        elif study.users:
            parts.append(paragraph("Interleaving"))
        parts.append(first_screen.verdict(study.log))
    if study.users:
        if study.log:
            parts.append(paragraph("A/B test"))
        parts.append(first_screen.verdict(study.users))
    return stack(parts)


@pieces.where_it_exists
def findings(study: Interleaving) -> Html:
    """What to know of the log before the numbers."""
    return shown.findings(findings_of_log(study), "log-")


@pieces.where_it_exists
def estimates(study: Interleaving) -> Html:
    """The arms in rows, the ways to count preference in columns."""
    users = counted(study.users, study.unit_name)
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
    """How many items of each arm stand at each position, folded; then how often the log has what no
    draft of two lists should have.
    """
    has_many_arms = len(study.systems) > 2
    items = "items" if has_many_arms else f"items of {study.systems[0]}"
    columns = named("position i")
    if has_many_arms:
        columns |= named("arm=system w")
    columns[items] = by_row(lambda row: f"{row['count']:,} of {row['n']:,}")
    columns |= named("share [] | p p | adjusted p=adjusted p")
    note = texts.sentence("interleaving.checks_note", broken=randomisation.BROKEN)
    by_position = of_rows(
        "Balance of teams by position (position 1: the coin)", study.coins, columns, note
    )
    balance = folded("The balance of teams in numbers", by_position)
    counts = named(
        "check | count whole | of whole | share", whole=partial(count, show="{:,.0f}".format)
    )
    counts["share"] = text("share", "{:.1%}".format)
    return stack([balance, of_rows("Checks of the log", study.checks, counts)])


def definitions(study: Online) -> Html:
    """Exactly the metrics shown, then the tests, then the words of the planning."""
    items = []
    if study.log:
        users = plural(study.log.unit_name, 2)
        items += page.metric_definitions(study.log)
        items += texts.meanings("log", tests=study.log.tests_are, users=users)
    if study.users:
        items += experiment_page.definitions(study.users)
    if study.planning:
        items += texts.meanings("planning")
    return paragraphs.definitions(items)


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
    return fields | as_json.records(
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
    """What was read, users who credit no arm, what the users with the most sessions weigh, and
    whether sessions of one user are taken together.
    """
    if study.simulated:
        yield kinds.SIMULATED.warning(None, "log")
    users = counted(study.users, study.unit_name)
    units = plural(study.unit_name, 2)
    yield kinds.ROWS_READ.note(
        study.items,
        "log",
        users=users,
        columns=columns_read(study.table.columns),
        items=counted(study.items, "item"),
        sessions=counted(study.sessions, "session"),
    )
    if study.silent:
        severity = WARNING if study.mostly_silent else NOTE
        yield kinds.NO_CREDIT.rated(
            severity, study.silent, users=counted(study.silent, study.unit_name)
        )
    shares = interleaving.first_shares(study)
    severity = WARNING if shares.winners_differ else NOTE
    yield kinds.HEAVY_USERS.rated(
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
    if study.clustered:
        yield kinds.SESSION_TEST.note(p=p_value(study.session_p), unit=study.unit_name)
    else:
        yield kinds.SESSIONS_AS_UNITS.warning()


def fairness(study: Interleaving) -> Iterator[Finding]:
    """What the preference stands on: the coin, the teams and the items of the draft."""
    p = float(study.balance["adjusted"].min())
    positions = counted(study.balance["position"].nunique(), "position")
    if p < randomisation.BROKEN:
        yield kinds.COIN.warning(None, "broken", positions=positions, p=p_value(p))
    else:
        yield kinds.COIN.note(None, "fair", positions=positions, p=p_value(p))
    uneven = interleaving.uneven(study)
    if uneven.number:
        severity = WARNING if uneven.share > interleaving.MANY_UNEVEN else NOTE
        yield kinds.UNEVEN_TEAMS.rated(
            severity, uneven.number, uneven=uneven.number, share=uneven.share
        )
    repeated = study.session_table.repeated_items
    if repeated:
        verb = "was" if repeated == 1 else "were"
        items = f"{counted(repeated, 'item')} {verb}"
        yield kinds.REPEATED_ITEMS.warning(repeated, items=items)


@pieces.where_it_exists
def balance(study: Interleaving) -> figures.Figure | Html:
    """The arms' shares of the items at each position less the share of a fair coin; of two arms the
    first's.
    """
    arms = len(study.systems)
    has_many_arms = arms > 2
    whose = "each arm's" if has_many_arms else f"{study.systems[0]}'s"
    fraction = f"1/{arms}" if has_many_arms else "½"
    names = []
    for row in study.coins.itertuples():
        arm = f", {row.system}" if has_many_arms else ""
        names.append(f"position {row.position}{arm} (n = {row.n:,})")
    frame = excess_of_fair_share(study)
    frame.insert(0, "name", names)
    excesses = [f"{row.name} {signed(row.value)}" for row in frame.itertuples(index=False)]
    caption = texts.sentence(
        "interleaving.balance", whose=whose, fraction=fraction, level=study.settings.level
    )
    return figures.picture(
        plots.intervals,
        frame,
        caption=caption,
        says="; ".join(excesses),
        height=figures.tall(len(frame), each=0.24),
        label=f"share of {whose} items − {fraction}",
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
    return figures.picture(
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
    """How many times the users of interleaving an A/B test needs, raw and with CUPED, and what the
    simulations assume.
    """
    row = study.worlds.set_index("world").loc[study.name]
    text = texts.sentence(
        "interleaving.answer",
        name=study.name,
        raw=row["raw_metric"],
        raw_times=_times(row["raw_times"]),
        times=_times(row["cuped_times"]),
        users=_two_digits(row["interleaving"]),
        cuped=row["cuped_metric"].removesuffix(", CUPED"),
    )
    return stack([paragraph(text), _assumed(study)])


def _assumed(study: Planning) -> Html:
    """What the simulations assume, where their numbers begin."""
    finding = _simulated_experiments(study)
    return Html(shown.notes([finding], "planning-"), str(finding))


def _two_digits(users: float) -> str:
    """A number of users to two digits, of many that they are: 12,345 as "12,000"."""
    return f"{float(f'{users:.2g}'):,.0f}"


def _times(ratio: float) -> str:
    """A ratio of numbers of users to two digits: "1.4", "38", "120"."""
    return _two_digits(ratio) if ratio >= 10 else f"{ratio:.1f}"


@pieces.where_it_exists
def needed(study: Planning) -> Html:
    """The users that each design needs, by what they are to show, folded."""
    columns = named(
        "design | effect ± | sd per user=sd # | 95% agree=agree_95 about | 80% power=power_80 "
        "about | 95% power=power_95 about | noise=error noise | times times",
        **COLUMNS,
    )
    note = texts.sentence("interleaving.needed_note")
    by_design = of_rows(
        f"Users needed, from {study.users:,} simulated users", study.needed, columns, note
    )
    return folded("Users needed by design", by_design)


@pieces.where_it_exists
def worlds(study: Planning) -> Html:
    """The users needed under other assumptions on clicks and heavy users, folded."""
    columns = named(
        "world | interleaving about | best raw A/B=raw metric | best A/B with CUPED=cuped metric | "
        "raw ratio=raw_times times | CUPED ratio=cuped_times times",
        **COLUMNS,
    )
    note = texts.sentence("interleaving.worlds_note")
    by_world = of_rows(
        "Users for 95% agreement, simulated, by assumption", study.worlds, columns, note
    )
    return folded("The same under other assumptions", by_world)


def _with_metric(name: str) -> Column:
    """A column of numbers of users; below each the metric that needs so many, of column
    NAME_metric.
    """

    def users_and_metric(row: Record) -> Cell:
        """The number of users of a row, and the metric below it."""
        users = _two_digits(row[name])
        metric = row[f"{name}_metric"]
        return Cell(f"{users} {metric}", markup=f"{users}<br>{escape(metric)}")

    return by_row(users_and_metric)


# further notations of `named`, by what stands behind a column
COLUMNS: dict[str, Callable[[str], Column]] = {
    "about": partial(count, show=_two_digits),
    "times": partial(count, show=_times),
    "noise": partial(text, show="±{:.0%}".format),
    "metric": _with_metric,
}


@pieces.where_it_exists
def stages(study: Planning) -> Html:
    """How often the best of several candidates wins if an A/B test decides among all, or among the
    few that interleaving keeps; folded.
    """
    first = study.stages.iloc[0]
    design = study.stages["design"]
    design_with_keep = design + ", keep " + study.stages["keep"].astype(str)
    stages = study.stages.assign(design=design.where(design != "two stages", design_with_keep))
    columns = "design | users n | the best one wins=best_wins % | effect chosen=chosen %"
    keep_text = "s of them kept by interleaving and A/B-tested with production"
    note = texts.sentence(
        "interleaving.stages_note",
        users_arm=first["users_arm"],
        users_interleaved=first["users_interleaved"],
    )
    by_design = of_rows(
        f"Two stages, simulated: {study.rankers} candidates, {keep_text}", stages, columns, note
    )
    return folded("First interleaving, then an A/B test (two stages)", by_design)


def planned(study: Planning) -> dict[str, object]:
    """Every number of the planning; the world's numbers are its assumptions."""
    return {
        "simulated": True,
        "world": study.name,
        "assumptions": as_record(study.world),
        "users": study.users,
        **as_json.records(
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
        production=PRODUCTION,
        candidate=CANDIDATE,
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
        production=PRODUCTION,
        candidate=CANDIDATE,
        users=study.users,
    )
    reached = []
    for name in dict.fromkeys(study.curves["system"]):
        reached.append(f"{name} reaches 5% at {users_needed[name]:,.0f} users")
    return figures.picture(
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
    """Preference against the true lifts for rankers by affinity, click-bait and diverse ones."""
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
        in_words.append(f"{row.family} {row.ranker}: share {signed(row.share)}, {lifts}")
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
