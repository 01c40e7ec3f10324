"""The words and tables of the interleaving page on the log of sessions, and what joins its three parts."""

from typing import Any

from evalkit.drawing import plots, tables
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Column, Html, Results, count, each, limits, of_rows, p_column, text, words
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, WARNING, Finding
from evalkit.numbers import counted, number, p_value, plural, signed
from evalkit.pages import experiment_page, first_screen, page, pieces, planning_page, record
from evalkit.pages.shared_findings import columns_read, contrary, held, picked, skewed, slices
from evalkit.studies import experiment, interleaving, units
from evalkit.studies.interleaving import Interleaving, Online, less_even
from evalkit.studies.provenance import table as origin_table

pieces.listed(__name__)


def title(o: Online) -> Html:
    """The title and what was asked."""
    asked = []
    if o.log:
        n = o.log.users
        pair = " or ".join(sorted(o.log.systems))
        asked.append(f"Which ranker do {n:,} {plural(o.log.unit_name, n)} prefer in interleaved lists: {pair}?")
    if o.users:
        n, first = o.users.users, o.users.primary.label
        asked.append(f"Which arm of {n:,} {plural(o.users.unit_name, n)} is ahead, by {first}?")
    asked.append("How many users does each design need?" if o.planning else "")
    return first_screen.heading("Interleaving and A/B report", " ".join(asked).strip(), o)


def verdict(o: Online) -> Html:
    """The answer of the log, then of the A/B table."""
    pieces = []
    if o.log:
        label = "Interleaving (bundled log: its users and clicks are simulated)" if o.log.simulated else "Interleaving"
        pieces += [tables.paragraph(label), _doubted(first_screen.verdict(o.log), fairness(o.log))]
    if o.users:
        label = f"A/B test{experiment_page.SAMPLE if o.users.sample else ''}"
        pieces += [tables.paragraph(label), _doubted(first_screen.verdict(o.users), experiment_page.design(o.users))]
    return tables.stack(pieces)


def _doubted(answer: Html, design: list[Finding]) -> Html:
    """The verdict, and below it what forbids to rely on it."""
    against = [finding for finding in design if finding.matters]
    return tables.stack([answer, tables.findings(against)]) if against else answer


@pieces.of_a_part
def findings(study: Interleaving) -> Html:
    """What to know of the log before the numbers."""
    return tables.findings(of_log(study))


@pieces.of_a_part
def estimates(study: Interleaving) -> Html:
    """The arms in rows, the ways to count preference in columns."""
    n, arms = study.users, len(study.systems)
    tie = "½ is a tie" if arms == 2 else f"a tie is a share of 1/{arms}, or ½ for preference and wins"
    caption = f"Preference with its {study.settings.level:.0%} interval, {n:,} {plural(study.unit_name, n)}, {tie}"
    return page.estimates(study, caption)


@pieces.of_a_part
def comparisons(study: Interleaving) -> Html:
    """The difference of the arms by each way to count."""
    return page.comparisons(study)


@pieces.of_a_part
def segments(study: Interleaving) -> Html:
    """The preference by segment of the sessions."""
    return page.segments(study)


@pieces.of_a_part
def checks(study: Interleaving) -> Html:
    """The draft's balance by position, then the counts that no draft should have."""
    several = len(study.systems) > 2
    arm: dict[str, Column] = {"arm": words("system")} if several else {}
    columns: dict[str, Column] = {
        "position": count("position", str),
        **arm,
        "items" if several else f"items of {study.systems[0]}": each(lambda row: f"{row['count']:,} of {row['n']:,}"),
        "share": limits("share"),
        "p": p_column("p"),
        "adjusted p": p_column("adjusted"),
    }
    note = "p: chi-square test against a fair coin, one coin per session; adjusted by Holm over the positions. "
    note += f"Below {experiment.BROKEN}: broken."
    by_position = of_rows("Balance of teams by position (position 1: the coin)", study.coins, columns, note)
    balance = tables.folded("The balance of teams in numbers", by_position)
    counts = {
        "check": text("check"),
        "count": count("count", "{:,.0f}".format),
        "of": count("of", "{:,.0f}".format),
        "share": text("share", "{:.1%}".format),
    }
    return tables.stack([balance, of_rows("Checks of the log", study.checks, counts)])


def definitions(o: Online) -> Html:
    """Exactly the metrics shown, then the tests, then the words of the planning."""
    items = []
    if o.log:
        items += page.metric_definitions(o.log)
        draft = (
            "the rankers pick in turns from their lists, and a coin decides who is first; an outcome on an item "
            "credits "
            "the team that picked it; neutral items credit nobody"
        )
        test = (
            f"{o.log.tests_are}; sessions are not independent: a sign test over sessions declares a winner between two "
            "equal rankers in 47% of experiments with 2,000 users of the default simulated world"
        )
        users = plural(o.log.unit_name, 2)
        win = f"{users} who gave the first arm more credit, both the same, the second more; session_wins: more sessions"
        items += [("interleaving", draft), ("test of the log", test), (f"{users} won / tied / lost", win)]
    items += experiment_page.definitions(o.users) if o.users else []
    items += planning_page.definitions() if o.planning else []
    return tables.definitions(items)


def origin(o: Online) -> Html:
    """Inputs, parameters, versions, the command."""
    metrics = [chosen for study in o.studies for chosen in study.settings.metrics]
    return tables.provenance(origin_table(o.sources, o.given, "interleaving", o.seed, metrics))


def results(o: Online) -> Results:
    """Every number of the page, unrounded; null for a part that was not given; beside it the file of the units."""
    units.leave("interleaving", o.tables_of)
    more = {
        "log": _log_results(o.log) if o.log else None,
        "users": experiment_page.answers(o.users) if o.users else None,
        "planning": planning_page.answers(o.planning) if o.planning else None,
    }
    return Results(record.about("interleaving", o.given, o.sources, o.gate, every_finding(o)) | more)


def _log_results(study: Interleaving) -> dict:
    counts = {"items": study.items, "sessions": study.sessions, "users": study.users}
    return record.answers(study) | {
        "simulated": study.simulated,
        "columns": dict(study.columns),
        "population": counts | {"unit": study.unit_name, "heavy": study.heavy, "repeated_items": study.kept.repeated},
        "delta_ab": interleaving.delta_ab(study),
        "session_p": study.session_p,
        "balance": study.balance.to_dict("records"),
        "by_position": study.by_position.to_dict("records"),
        "checks": study.checks.to_dict("records"),
    }


# Findings


def every_finding(o: Online) -> list[Finding]:
    """Every finding of an interleaving report: of the log, of the users, of the planning."""
    log, users = of_log(o.log) if o.log else [], experiment_page.of_users(o.users) if o.users else []
    return [*log, *users, *(planning_page.of_planning(o.planning) if o.planning else [])]


def of_log(study: Interleaving) -> list[Finding]:
    """Every finding of a log of sessions."""
    return [
        *_simulated(study),
        _items(study),
        *_silent(study),
        _heavy(study),
        _sessions(study),
        *held(study, study.sessions, "sessions"),
        *fairness(study),
        *picked(study),
        *contrary(study),
        *skewed(study),
        *slices(study),
    ]


def _simulated(study: Interleaving) -> list[Finding]:
    text = "The users and clicks of this log are simulated (data/interleaving/README.md); no real log is public."
    return [kinds.SIMULATED.warning(text)] if study.simulated else []


def _items(study: Interleaving) -> Finding:
    columns, n = columns_read(study.columns), study.items
    place = f"shown in {counted(study.sessions, 'session')} of {counted(study.users, study.unit_name)}"
    return kinds.ROWS_READ.note(f"{counted(n, 'item')} {place}. Columns: {columns}.", n)


def _silent(study: Interleaving) -> list[Finding]:
    text = f"{counted(study.silent, study.unit_name)} credited no arm; they are left out of shares of credit, and "
    text += "their sessions are ties in session_wins."
    severity = WARNING if study.silent > study.users / 2 else NOTE
    return [kinds.NO_CREDIT.rated(severity, text, study.silent)] if study.silent else []


def _heavy(study: Interleaving) -> Finding:
    by_user, of_credit, turned = interleaving.estimands(study)
    text = (
        f"The most active tenth of the {plural(study.unit_name, 2)} gave {study.heavy:.0%} of the credit. Two "
        f"estimands: {study.systems[0]} has {number(by_user)} as the mean of each {study.unit_name}'s share, "
        f"{number(of_credit)} of all credit."
    )
    return kinds.HEAVY_USERS.rated(WARNING if turned else NOTE, text)


def _sessions(study: Interleaving) -> Finding:
    if not study.clustered:
        text = "No user column: each session counts as a unit. If users return, p is too small."
        return kinds.SESSIONS_AS_UNITS.warning(text)
    text = f"Treating sessions as independent would give p {p_value(study.session_p)} (sign test)"
    return kinds.SESSION_TEST.note(f"{text}. Do not rely on it: sessions of one {study.unit_name} are correlated.")


def fairness(study: Interleaving) -> list[Finding]:
    """What the preference stands on: the coin, the teams and the items of the draft."""
    p, repeated = float(study.balance["adjusted"].min()), study.kept.repeated
    uneven, share = interleaving.uneven(study)
    positions = counted(study.balance["position"].nunique(), "position")
    smallest = f"(smallest adjusted p over {positions}: {p_value(p)})."
    if p < experiment.BROKEN:
        findings = [kinds.COIN.warning(f"A fair coin does not explain how the items were shared out {smallest}")]
    else:
        findings = [kinds.COIN.note(f"The items were shared out as by a fair coin {smallest}")]
    if uneven:
        text = f"In {uneven:,} sessions ({share:.1%}) one team leads by more items than a draft by rounds "
        severity = WARNING if share > interleaving.MANY_UNEVEN else NOTE
        findings.append(kinds.UNEVEN_TEAMS.rated(severity, f"{text}allows.", uneven))
    if repeated:
        text = f"{counted(repeated, 'item')} {'was' if repeated == 1 else 'were'} shown twice in one session, which no "
        findings.append(kinds.REPEATED_ITEMS.warning(f"{text}draft does.", repeated))
    return findings


# Pictures


@pieces.of_a_part
def balance(study: Interleaving) -> Picture | Html:
    """The arms' shares of the items at each position, of two arms the first's, around the fair coin."""
    shares = study.coins
    whose = f"{study.systems[0]}'s" if len(study.systems) == 2 else "each arm's"
    each = [f", {row.system}" if len(study.systems) > 2 else "" for row in shares.itertuples()]
    names = [
        f"position {row.position}{arm} (n = {row.n:,})" for arm, row in zip(each, shares.itertuples(), strict=True)
    ]
    frame = less_even(study)
    fraction = "½" if len(study.systems) == 2 else f"1/{len(study.systems)}"
    caption = (
        f"Share of {whose} items at each position minus {fraction}, the share under a fair coin, with Wilson "
        f"{study.settings.level:.0%} intervals; n: items with a team. Position 1 is the coin itself."
    )
    label: dict[str, Any] = {"label": f"share of {whose} items − {fraction}", "zero": True}
    listed = "; ".join(f"{name} {signed(value)}" for name, value in zip(names, frame["value"], strict=True))
    size = plots.WIDTH, plots.tall(len(frame), each=0.24)
    frame.insert(0, "name", names)
    return plots.picture(plots.intervals, frame, alt=f"{caption} {listed}", caption=caption, size=size, **label)


@pieces.of_a_part
def by_position(study: Interleaving) -> Picture | Html:
    """Outcome per shown item by position and arm."""
    outcome, n = study.columns["outcome"], max(study.by_position["n"])
    caption = (
        f"{outcome.capitalize()} per item shown, by position and arm, {study.settings.level:.0%} bands, "
        f"{plural(study.unit_name, 2)} as units (jackknife){', simulated clicks' if study.simulated else ''}."
    )
    listed = "; ".join(
        f"{name}: {', '.join(number(value) for value in line['value'])}"
        for name, line in study.by_position.groupby("system", sort=False)
    )
    labels: dict[str, Any] = {
        "x": "position",
        "y": "value",
        "xlabel": "position in the list",
        "ylabel": f"{outcome} per item (n ≤ {n:,} {plural(study.unit_name, n)})",
    }
    return plots.picture(plots.curves, study.by_position, alt=f"{caption} {listed}", caption=caption, **labels)
