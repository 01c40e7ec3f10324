"""The interleaving page: sessions, what joins them with the A/B test, and simulated experiments."""

from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any

from evalkit.drawing import figures, paragraphs, plots, shown
from evalkit.drawing.cells import Cell, escape
from evalkit.drawing.columns import Column, count, each, named, text
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


def title(o: Online) -> Html:
    """The title and what was asked."""
    questions = []
    if o.log:
        who = counted(o.log.users, o.log.unit_name)
        pair = " or ".join(sorted(o.log.systems))
        questions.append(f"Which ranker do {who} prefer in interleaved lists: {pair}?")
    if o.users:
        who = counted(o.users.users, o.users.unit_name)
        question = "is ahead" if o.users.primary.metric.direction else "is the highest"
        questions.append(f"Which arm of {who} {question}, by {o.users.primary.label}?")
    if o.planning:
        questions.append("How many users does each design need?")
    designs = []
    if o.log:
        designs.append("Interleaving")
    if o.users:
        designs.append("A/B")
    return first_screen.heading(f"{' and '.join(designs)} report", " ".join(questions), o)


def verdict(o: Online) -> Html:
    """The answer of the log, then of the A/B table; each named if there are both."""
    parts = first_screen.gate(o)
    if o.log:
        if o.log.simulated:
            note = "The bundled log: its users and clicks are simulated."
            parts.append(paragraph(note))
        elif o.users:
            parts.append(paragraph("Interleaving"))
        parts.append(first_screen.verdict(o.log))
    if o.users:
        if o.log:
            parts.append(paragraph("A/B test"))
        parts.append(first_screen.verdict(o.users))
    return stack(parts)


@pieces.where_it_exists
def findings(study: Interleaving) -> Html:
    """What to know of the log before the numbers."""
    return shown.findings(of_log(study), "log-")


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
    """The draft's balance by position, then the counts that no draft should have."""
    has_many_arms = len(study.systems) > 2
    items = "items" if has_many_arms else f"items of {study.systems[0]}"
    columns = named("position i")
    if has_many_arms:
        columns |= named("arm=system w")
    columns[items] = each(lambda row: f"{row['count']:,} of {row['n']:,}")
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


def definitions(o: Online) -> Html:
    """Exactly the metrics shown, then the tests, then the words of the planning."""
    items = []
    if o.log:
        items += page.metric_definitions(o.log)
        items += texts.meanings("log", tests=o.log.tests_are, users=plural(o.log.unit_name, 2))
    if o.users:
        items += experiment_page.definitions(o.users)
    if o.planning:
        items += texts.meanings("planning")
    return paragraphs.definitions(items)


def origin(o: Online) -> Html:
    """Inputs, parameters, versions, the command."""
    metrics = [chosen for study in o.studies for chosen in study.settings.metrics]
    return paragraphs.provenance(provenance.table(o, metrics))


def results(o: Online) -> Results:
    """Every number of the page, unrounded; null for a part that was not given; beside it the file
    of the units.
    """
    units.write_if_asked("interleaving", o.study_by_input)
    fields = {
        "log": _log_results(o.log) if o.log else None,
        "users": experiment_page.answers(o.users) if o.users else None,
        "planning": planned(o.planning) if o.planning else None,
    }
    return Results(as_json.about(o, every_finding(o)) | fields)


def _log_results(study: Interleaving) -> dict[str, Any]:
    counts = {"items": study.items, "sessions": study.sessions, "users": study.users}
    return as_json.answers(study) | {
        "simulated": study.simulated,
        "columns": dict(study.table.columns),
        "population": counts
        | {
            "unit": study.unit_name,
            "heavy": study.heavy,
            "repeated_items": study.session_table.repeated_items,
        },
        "delta_ab": interleaving.delta_ab(study),
        "session_p": study.session_p,
        **as_json.records(
            balance=study.balance, by_position=study.by_position, checks=study.checks
        ),
    }


def every_finding(o: Online) -> list[Finding]:
    """Every finding of an interleaving report: of the log, of the users, of the planning."""
    findings_of_parts = []
    if o.log:
        findings_of_parts += of_log(o.log)
    if o.users:
        findings_of_parts += experiment_page.of_users(o.users)
    if o.planning:
        findings_of_parts += of_planning(o.planning)
    return findings_of_parts


def of_log(study: Interleaving) -> list[Finding]:
    """Every finding of a log of sessions."""
    return [
        *_log(study),
        *one_row_per_unit(study, study.sessions, "sessions"),
        *fairness(study),
        *of_sample(study),
    ]


def _log(study: Interleaving) -> Iterator[Finding]:
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
    yield kinds.HEAVY_USERS.rated(
        WARNING if shares.winners_differ else NOTE,
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
    repeated = study.session_table.repeated_items
    uneven, share = interleaving.uneven(study)
    broken = p < randomisation.BROKEN
    yield kinds.COIN.rated(
        WARNING if broken else NOTE,
        None,
        "broken" if broken else "fair",
        positions=counted(study.balance["position"].nunique(), "position"),
        p=p_value(p),
    )
    if uneven:
        severity = WARNING if share > interleaving.MANY_UNEVEN else NOTE
        yield kinds.UNEVEN_TEAMS.rated(severity, uneven, uneven=uneven, share=share)
    if repeated:
        verb = "was" if repeated == 1 else "were"
        items = f"{counted(repeated, 'item')} {verb}"
        yield kinds.REPEATED_ITEMS.warning(repeated, items=items)


@pieces.where_it_exists
def balance(study: Interleaving) -> figures.Figure | Html:
    """The arms' shares of the items at each position, of two arms the first's, around the fair
    coin.
    """
    shares = study.coins
    whose = f"{study.systems[0]}'s" if len(study.systems) == 2 else "each arm's"
    names = []
    for row in shares.itertuples():
        arm = f", {row.system}" if len(study.systems) > 2 else ""
        names.append(f"position {row.position}{arm} (n = {row.n:,})")
    frame = excess_of_fair_share(study)
    fraction = "½" if len(study.systems) == 2 else f"1/{len(study.systems)}"
    caption = texts.sentence(
        "interleaving.balance", whose=whose, fraction=fraction, level=study.settings.level
    )
    options: dict[str, Any] = {"label": f"share of {whose} items − {fraction}", "zero": True}
    options["height"] = figures.tall(len(frame), each=0.24)
    listed = "; ".join(
        f"{name} {signed(value)}" for name, value in zip(names, frame["value"], strict=True)
    )
    frame.insert(0, "name", names)
    return figures.picture(plots.intervals, frame, caption=caption, says=listed, **options)


@pieces.where_it_exists
def by_position(study: Interleaving) -> figures.Figure | Html:
    """Outcome per shown item by position and arm."""
    outcome = study.table.columns["outcome"]
    n = max(study.by_position["n"])
    caption = (
        f"{outcome.capitalize()} per item shown, by position and arm, {study.settings.level:.0%} "
        f"bands, "
    )
    caption += (
        f"{plural(study.unit_name, 2)} as units "
        f"(jackknife){', simulated clicks' if study.simulated else ''}."
    )
    listed = "; ".join(
        f"{name}: {', '.join(number(value) for value in line['value'])}"
        for name, line in study.by_position.groupby("system", sort=False)
    )
    labels: dict[str, Any] = {"x": "position", "y": "value", "xlabel": "position in the list"}
    labels["ylabel"] = f"{outcome} per item (n ≤ {n:,} {plural(study.unit_name, n)})"
    rows = page.rows_of_figure(study, study.by_position)
    return figures.picture(plots.curves, rows, caption=caption, says=listed, **labels)


HOW = {"true": "true lift", "measured": "A/B test", "cuped": "A/B test with CUPED"}


@pieces.where_it_exists
def answer(study: Planning) -> Html:
    """How many times the users an A/B test needs, raw and with CUPED, and the world in words."""
    row = study.worlds.set_index("world").loc[study.name]
    text = texts.sentence(
        "interleaving.answer",
        name=study.name,
        raw=row["raw_metric"],
        raw_times=_times(row["raw_times"]),
        times=_times(row["cuped_times"]),
        users=_about(row["interleaving"]),
        cuped=row["cuped_metric"].removesuffix(", CUPED"),
    )
    return stack([paragraph(text), _assumed(study)])


def _assumed(study: Planning) -> Html:
    """What the simulations assume, where their numbers begin."""
    findings_list = of_planning(study)
    return Html(shown.notes(findings_list, "planning-"), "\n".join(map(str, findings_list)))


def _about(users: float) -> str:
    """Two leading digits."""
    return f"{float(f'{users:.2g}'):,.0f}"


def _times(ratio: float) -> str:
    return f"{float(f'{ratio:.2g}'):,.0f}" if ratio >= 10 else f"{ratio:.1f}"


@pieces.where_it_exists
def needed(study: Planning) -> Html:
    """Users by design and criterion."""
    spec = (
        "design | effect ± | sd per user=sd # | 95% agree=agree_95 about | 80% power=power_80 "
        "about | "
    )
    columns = named(f"{spec}95% power=power_95 about | noise=error noise | times times", **ABOUT)
    note = texts.sentence("interleaving.needed_note")
    by_design = of_rows(
        f"Users needed, from {study.users:,} simulated users", study.needed, columns, note
    )
    return folded("Users needed by design", by_design)


@pieces.where_it_exists
def worlds(study: Planning) -> Html:
    """What the ratio depends on: the click model and heavy users."""
    spec = (
        "world | interleaving about | best raw A/B=raw metric | best A/B with CUPED=cuped metric | "
    )
    columns = named(f"{spec}raw ratio=raw_times times | CUPED ratio=cuped_times times", **ABOUT)
    note = texts.sentence("interleaving.worlds_note")
    by_world = of_rows(
        "Users for 95% agreement, simulated, by assumption", study.worlds, columns, note
    )
    return folded("The same under other assumptions", by_world)


def _of_metric(users: float, metric: str) -> Cell:
    """A number of users, and the metric that needs so many."""
    text = _about(users)
    return Cell(f"{text} {metric}", markup=f"{text}<br>{escape(metric)}")


ABOUT: dict[str, Callable[[str], Column]] = {
    "about": partial(count, show=_about),
    "times": partial(count, show=_times),
    "noise": partial(text, show="±{:.0%}".format),
    "metric": lambda name: each(lambda row: _of_metric(row[name], row[f"{name}_metric"])),
}


@pieces.where_it_exists
def stages(study: Planning) -> Html:
    """Interleaving keeps s of m candidates, an A/B test decides among them."""
    first = study.stages.iloc[0]
    has_two_stages = study.stages["design"] == "two stages"
    design_with_keep = study.stages["design"] + ", keep " + study.stages["keep"].astype(str)
    stages = study.stages.assign(
        design=study.stages["design"].where(~has_two_stages, design_with_keep)
    )
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


def planned(study: Planning) -> dict[str, Any]:
    """Every number of this part; the world's numbers are its assumptions."""
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
        ),
        **as_json.records(families=study.families, stages=study.stages),
        "curves": study.curves.to_dict("list"),
        "correlation": {how: study.correlation(how) for how in ("true", "measured", "cuped")},
    }


def of_planning(study: Planning) -> list[Finding]:
    """That its experiments are simulated, and what is assumed."""
    return [
        kinds.SIMULATED.warning(
            study.users,
            "world",
            assumed=assumptions(study),
            production=PRODUCTION,
            candidate=CANDIDATE,
        )
    ]


def assumptions(study: Planning) -> str:
    """The world in words, for captions."""
    w = study.world
    click = (
        "a play ends the session"
        if w.leave == 1
        else "a play never ends the session (position-based)"
    )
    spread = (
        f"lognormal with sigma {w.spread:g}" if w.spread else "the same for all: no heavy users"
    )
    return texts.sentence("interleaving.assumptions", study, spread=spread, click=click)


@pieces.where_it_exists
def errors(study: Planning) -> figures.Figure | Html:
    """How often an experiment prefers the worse ranker, against its number of users, by design."""
    need = study.needed.set_index("design")["agree_95"]
    caption = texts.sentence(
        "interleaving.errors",
        fewest=FEWEST_GROUPS,
        assumptions=assumptions(study),
        production=PRODUCTION,
        candidate=CANDIDATE,
        users=study.users,
    )
    reached = [
        f"{name} reaches 5% at {need[name]:,.0f} users"
        for name in dict.fromkeys(study.curves["system"])
    ]
    data = (study.curves, study.groups)
    says = f"{'; '.join(reached)}."
    return figures.picture(plots.draw_errors, *data, caption=caption, says=says, height=3.2)


@pieces.where_it_exists
def agreement(study: Planning) -> figures.Figure | Html:
    """Interleaving preference of many simulated rankers against their true A/B lift and the
    measured one.
    """
    r = {how: study.correlation(how) for how in HOW}
    caption = texts.sentence(
        "interleaving.agreement", rankers=study.rankers, each=study.users_per_ranker
    )
    titles = [f"{HOW[how]}, r\u00a0=\u00a0{number(r[how], 2)}" for how in HOW]
    data = [study.candidates[["share", f"plays_{how}"]].to_numpy() for how in HOW]
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
    listed = "; ".join(
        f"{row.family} {row.ranker}: share {signed(row.share)}, plays {signed_percent(row.plays)}, "
        f"hours {signed_percent(row.hours)}"
        for row in rankers.itertuples(index=False)
    )
    figure = figures.row(plots.draw_families, rankers, caption=caption, says=f"{listed}.", panels=2)
    return figure.folded("Rankers that a preference misjudges (click-bait and diverse lists)")


def _pieces_of(part: str, *pieces: Callable[[Any], Any]) -> list[Callable[[Online], Any]]:
    """Pieces about one part of the report, as pieces of the whole report.

    part: log, users or planning.
    """

    def of_report(piece: Callable[[Any], Any]) -> Callable[[Online], Any]:
        return wraps(piece)(lambda o: piece(getattr(o, part)))

    return list(map(of_report, pieces))


_USERS = experiment_page
SUMMARY = (
    verdict,
    *_pieces_of("log", estimates),
    *_pieces_of("users", _USERS.estimates),
    *_pieces_of("planning", answer),
)
PIECES = (
    *(
        title,
        verdict,
        *_pieces_of(
            "log", findings, estimates, comparisons, by_position, segments, balance, checks
        ),
    ),
    *_pieces_of(
        "users",
        _USERS.findings,
        _USERS.estimates,
        _USERS.comparisons,
        _USERS.effects,
        _USERS.adjustments,
        _USERS.heavy_users,
    ),
    *_pieces_of("users", _USERS.segments, _USERS.users_for),
    *_pieces_of("planning", answer, errors, needed, worlds, agreement, families, stages),
    *(definitions, origin),
)
