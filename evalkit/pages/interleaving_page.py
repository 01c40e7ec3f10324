"""The words and tables of the interleaving page on the log of sessions, and what joins its three parts."""

from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, Results, escape, interval, number, p_value
from evalkit.findings.finding import Finding
from evalkit.pages import experiment_page, online_findings, page, pieces, planning_page
from evalkit.studies import online_diagnostics as diagnostics
from evalkit.studies.interleaving import Interleaving, Online
from evalkit.studies.provenance import table as origin_table
from evalkit.studies.words import plural

pieces.listed(__name__)

NO_LOG = "No log of interleaved sessions was given: set log=FILE."


def title(o: Online) -> Html:
    """The title and what was asked."""
    asked = []
    if o.log:
        n = o.log.users
        pair = " or ".join(sorted(o.log.systems))
        asked.append(f"Which ranker do {n:,} {plural(o.log.unit_name, n)} prefer when one list mixes theirs: {pair}?")
    if o.users:
        n, first = diagnostics.users(o.users), o.users.primary.label
        asked.append(f"Which arm of {n:,} {plural(o.users.unit_name, n)} is ahead, by {first}?")
    asked.append("How many users does each design need?" if o.planning else "")
    return tables.heading("Interleaving and A/B report", " ".join(asked).strip())


def verdict(o: Online) -> Html:
    """The answer of the log, then of the A/B table."""
    pieces = []
    if o.log:
        label = "Interleaving (bundled log: its users and clicks are simulated)" if o.log.simulated else "Interleaving"
        pieces += [tables.paragraph(label), _doubted(page.verdict(o.log), online_findings.fairness(o.log))]
    if o.users:
        label = f"A/B test{experiment_page.SAMPLE if o.users.sample else ''}"
        pieces += [tables.paragraph(label), _doubted(page.verdict(o.users), online_findings.design(o.users))]
    return tables.stack(pieces)


def _doubted(answer: Html, design: list[Finding]) -> Html:
    """The verdict, and below it what forbids to rely on it."""
    against = [finding for finding in design if finding.matters]
    return tables.stack([answer, tables.findings(against)]) if against else answer


def findings(s: Interleaving | None) -> Html:
    """What to know of the log before the numbers."""
    return tables.paragraph(NO_LOG) if s is None else tables.findings(online_findings.of_log(s))


def estimates(s: Interleaving | None) -> Html:
    """The arms in rows, the ways to count preference in columns."""
    if s is None:
        return Html("")
    n, arms = s.users, len(s.systems)
    tie = "½ is a tie" if arms == 2 else f"even is 1/{arms} of a share, ½ of a preference or of wins"
    caption = f"Preference with its {s.settings.level:.0%} interval, {n:,} {plural(s.unit_name, n)}, {tie}"
    return page.estimates(s, caption)


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
    note = "p: chi-square against a fair coin, one coin a session; by Holm over the positions. "
    note += f"Below {diagnostics.BROKEN}: broken."
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
            f"{o.log.tests_are}; sessions are no units: their sign test names a winner of two equal rankers in 47 % of "
            "experiments with 2,000 users of the default simulated world"
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
    return Results(page.about("interleaving", o.given, o.sources, o.gate, online_findings.of(o)) | more)


def _log_results(s: Interleaving) -> dict:
    counts = {"items": s.data.log.team.size, "sessions": s.data.log.unit.size, "users": s.users}
    return page.answers(s) | {
        "simulated": s.simulated,
        "columns": dict(s.data.columns),
        "population": counts | {"unit": s.unit_name, "heavy": s.heavy, "repeated_items": s.data.repeated},
        "delta_ab": diagnostics.delta_ab(s),
        "session_p": s.session_p,
        "balance": s.balance.to_dict("records"),
        "by_position": s.by_position.to_dict("records"),
        "checks": s.checks.to_dict("records"),
    }
