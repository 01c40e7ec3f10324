"""The words and tables of the interleaving page on the log of sessions, and what joins its three parts."""

from evalkit.definitions.preference_metrics import credit_share, session_wins, user_share
from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, Results, escape, interval, number, p_value
from evalkit.pages import experiment_page, page, planning_page
from evalkit.statistics import perunit
from evalkit.studies.interleaving import Interleaving, Online
from evalkit.studies.provenance import table as origin_table
from evalkit.studies.words import counted, plural

NO_LOG = "No log of interleaved sessions was given: set log=FILE."
UNFAIR = 0.001  # below this p the coin or the assignment is broken, whatever the result


def title(o: Online) -> Html:
    """The title and what was asked."""
    asked = []
    if o.log:
        n = o.log.users
        pair = " or ".join(sorted(o.log.systems))
        asked.append(f"Which ranker do {n:,} {plural(o.log.unit_name, n)} prefer when one list mixes theirs: {pair}?")
    if o.users:
        n, first = sum(o.users.sizes.values()), o.users.primary.label
        asked.append(f"Which arm of {n:,} {plural(o.users.unit_name, n)} is ahead, by {first}?")
    asked.append("How many users does each design need?" if o.planning else "")
    return tables.heading("Interleaving and A/B report", " ".join(asked).strip())


def verdict(o: Online) -> Html:
    """The answer of the log, then of the A/B table."""
    pieces = []
    if o.log:
        label = "Interleaving (bundled log: its users and clicks are simulated)" if o.log.simulated else "Interleaving"
        pieces += [tables.paragraph(label), _doubted(page.verdict(o.log), _fairness(o.log))]
    if o.users:
        label = f"A/B test{experiment_page.SAMPLE if o.users.sample else ''}"
        pieces += [tables.paragraph(label), _doubted(page.verdict(o.users), experiment_page.design(o.users))]
    return tables.stack(pieces)


def _doubted(answer: Html, found: list[tuple[str, bool]]) -> Html:
    """The verdict, and below it what forbids to rely on it."""
    against = [one for one in found if one[1]]
    return tables.stack([answer, tables.notes(against)]) if against else answer


def notes(s: Interleaving | None) -> Html:
    """What to know of the log before the numbers; a warning where it could change the answer."""
    if s is None:
        return tables.paragraph(NO_LOG)
    log, n, silent = s.data.log, s.users, s.silent
    columns = ", ".join(f"{role} = {name}" for role, name in s.data.columns.items())
    unit, shown = plural(s.unit_name, n), f"{log.unit.size:,} {plural('session', log.unit.size)}"
    found = [(f"{counted(log.team.size, 'item')} shown in {shown} of {n:,} {unit}. Columns: {columns}.", False)]
    if s.simulated:
        simulated = (
            "The users and clicks of this log are simulated (data/interleaving/README.md); no real log is public."
        )
        found.insert(0, (simulated, True))
    if silent:
        found.append((f"{silent:,} {unit} gave no arm any credit: no share, left out of it.", silent > n / 2))
    found.append(_heavy(s))
    if not s.data.clustered:
        text = "No user column: each session counts as a unit. Where users come back, p is too small."
        found.append((text, True))
    else:
        wrong = f"Sessions counted as if independent would have given p {p_value(s.session_p)} (sign test)"
        found.append((f"{wrong}: shown to warn, as sessions of one {s.unit_name} resemble each other.", False))
    return tables.notes([*found, *_fairness(s)])


def _heavy(s: Interleaving) -> tuple[str, bool]:
    side, even = s.sides()[0], 1 / len(s.systems)
    mean, total = (perunit.mean(metric(side)) for metric in (user_share, credit_share))
    text = (
        f"The most active tenth of the {plural(s.unit_name, 2)} gave {s.heavy:.0%} of the credit. Two estimands: "
        f"{s.systems[0]} has {number(mean)} as the mean of each {s.unit_name}'s share, {number(total)} of all credit."
    )
    return text, (mean - even) * (total - even) < 0


def _fairness(s: Interleaving) -> list[tuple[str, bool]]:
    worst = float(s.balance["adjusted"].min())
    found = [(f"Fair coin: smallest adjusted p over the positions {p_value(worst)}.", worst < UNFAIR)]
    uneven = int(s.checks.set_index("check").at["sessions with uneven teams", "count"])
    if uneven:
        share = uneven / s.data.log.unit.size
        text = f"In {uneven:,} sessions ({share:.1%}) one team leads by more than a draft by rounds allows."
        found.append((text, share > 0.01))
    if s.data.repeated:
        twice = f"{counted(s.data.repeated, 'item')} {'was' if s.data.repeated == 1 else 'were'} shown twice"
        found.append((f"{twice} in one session, which no draft does.", True))
    return found


def estimates(s: Interleaving | None) -> Html:
    """The arms in rows, the ways to count preference in columns."""
    if s is None:
        return Html("")
    n, arms = s.users, len(s.systems)
    tie = "½ is a tie" if arms == 2 else f"even is 1/{arms} of a share, ½ of a preference or of wins"
    caption = f"Preference with its {s.settings.level:.0%} interval, {n:,} {plural(s.unit_name, n)}, {tie}"
    undefined = int(s.estimates["undefined"].max())
    note = f"{undefined:,} without credit are left out of the shares of each {s.unit_name}." if undefined else ""
    return page.estimates(s, caption, note)


def comparisons(s: Interleaving | None) -> Html:
    """The difference of the arms by each way to count."""
    return Html("") if s is None else page.comparisons(s)


def segments(s: Interleaving | None) -> Html:
    """The preference by segment of the sessions."""
    return Html("") if s is None else page.segments(s)


def checks(s: Interleaving | None) -> Html:
    """The draft's balance by position, then the counts that no draft should have."""
    if s is None:
        return Html("")
    several = len(s.systems) > 2
    first = [
        [
            Cell(f"{row.position}"),
            *([Cell(escape(row.system), "text")] if several else []),
            Cell(f"{row.count:,} of {row.n:,}"),
            Cell(f"{number(row.share)} {interval(row.low, row.high)}"),
            Cell(p_value(row.p)),
            Cell(p_value(row.adjusted)),
        ]
        for row in s.coins.itertuples(index=False)
    ]
    items = ["arm", "items"] if several else [f"items of {s.systems[0]}"]
    heads = ["position", *items, "share", "p", "adjusted p"]
    note = f"p: chi-square against a fair coin, one coin a session; by Holm over the positions. Below {UNFAIR}: broken."
    balance = tables.table("Balance of teams by position (position 1: the coin)", heads, first, note)
    rest = [_check(row) for row in s.checks.to_dict("records")]
    return tables.stack([balance, tables.table("Checks of the log", ["check", "count", "of", "share"], rest)])


def _check(row: dict) -> list[Cell]:
    return [
        Cell(escape(row["check"])),
        Cell(f"{row['count']:,.0f}"),
        Cell(f"{row['of']:,.0f}"),
        Cell(f"{row['share']:.1%}"),
    ]


def definitions(o: Online) -> Html:
    """Exactly the metrics shown, then the tests, then the words of the planning."""
    items = []
    if o.log:
        items += page.metric_definitions(o.log)
        draft = (
            "the rankers pick in turns from their lists, a coin says who is first; an outcome on an item is credit of "
            "the team that picked it; neutral items give credit to nobody"
        )
        test = (
            "two-sided sign flips (Fisher randomisation) of each user's difference between two arms, whose inversion "
            "gives the interval; ratios of sums by the delta method over users; sessions are no units: their sign test "
            "names a winner of two equal rankers in 47 % of experiments with 2,000 users of the default simulated world"
        )
        items += [("interleaving", draft), ("test of the log", test)]
    items += experiment_page.definitions(o.users) if o.users else []
    items += planning_page.definitions() if o.planning else []
    return tables.definitions(items)


def origin(o: Online) -> Html:
    """Inputs, parameters, versions, the command."""
    return tables.provenance(origin_table(o.sources, o.given, "interleaving", o.seed))


def results(o: Online) -> Results:
    """Every number of the page, unrounded; null for a part that was not given."""
    more = {
        "log": _log_results(o.log) if o.log else None,
        "users": experiment_page.answers(o.users) if o.users else None,
        "planning": planning_page.answers(o.planning) if o.planning else None,
    }
    return Results(page.about("interleaving", o.given, o.sources, o.gate) | more)


def _log_results(s: Interleaving) -> dict:
    counts = {"items": s.data.log.team.size, "sessions": s.data.log.unit.size, "users": s.users}
    wins = perunit.mean(session_wins(s.sides()[0]))
    return page.answers(s) | {
        "simulated": s.simulated,
        "columns": dict(s.data.columns),
        "population": counts | {"unit": s.unit_name, "heavy": s.heavy, "repeated_items": s.data.repeated},
        "delta_ab": wins - 0.5 if len(s.systems) == 2 else None,
        "session_p": s.session_p,
        "balance": s.balance.to_dict("records"),
        "by_position": s.by_position.to_dict("records"),
        "checks": s.checks.to_dict("records"),
    }
