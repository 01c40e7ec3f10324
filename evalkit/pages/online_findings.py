"""What to know of interleaved sessions, of an A/B table and of simulated experiments before the numbers, in words."""

from evalkit.drawing.tables import number, p_value
from evalkit.findings import inputs, methods, online
from evalkit.findings.finding import NOTE, WARNING, Finding
from evalkit.pages.shared_findings import columns_read, counts, slices
from evalkit.studies import online_diagnostics as diagnostics
from evalkit.studies.diagnostics import alpha
from evalkit.studies.experiment import Experiment
from evalkit.studies.interleaving import Interleaving, Online
from evalkit.studies.planning import CANDIDATE, PRODUCTION, Planning
from evalkit.studies.words import counted, plural

RAND = (
    "RAND health insurance experiment, health plans as arms. 'Better' says more visits to a doctor, not better health. "
    "The extract names no person: a unit is a block of consecutive rows that agree in all but visits, about a person; "
    "families, not persons, were assigned, so the intervals are still somewhat narrow."
)


def of(o: Online) -> list[Finding]:
    """Every finding of an interleaving report: of the log, of the users, of the planning."""
    log, users = of_log(o.log) if o.log else [], of_users(o.users) if o.users else []
    return [*log, *users, *(of_planning(o.planning) if o.planning else [])]


# The log


def of_log(s: Interleaving) -> list[Finding]:
    """Every finding of a log of sessions."""
    return [*_simulated(s), _items(s), *_silent(s), _heavy(s), _sessions(s), *fairness(s), *slices(s)]


def _simulated(s: Interleaving) -> list[Finding]:
    text = "The users and clicks of this log are simulated (data/interleaving/README.md); no real log is public."
    return [online.SIMULATED.warning(text)] if s.simulated else []


def _items(s: Interleaving) -> Finding:
    log, columns = s.data.log, columns_read(s.data.columns)
    place = f"shown in {counted(log.unit.size, 'session')} of {counted(s.users, s.unit_name)}"
    return inputs.ROWS_READ.note(f"{counted(log.team.size, 'item')} {place}. Columns: {columns}.", log.team.size)


def _silent(s: Interleaving) -> list[Finding]:
    text = f"{counted(s.silent, s.unit_name)} credited no arm; their share is undefined and they are left out."
    severity = WARNING if diagnostics.mostly_silent(s) else NOTE
    return [online.NO_CREDIT.rated(severity, text, s.silent)] if s.silent else []


def _heavy(s: Interleaving) -> Finding:
    e = diagnostics.estimands(s)
    text = (
        f"The most active tenth of the {plural(s.unit_name, 2)} gave {s.heavy:.0%} of the credit. Two estimands: "
        f"{s.systems[0]} has {number(e.by_user)} as the mean of each {s.unit_name}'s share, {number(e.of_credit)} of "
        "all credit."
    )
    return online.HEAVY_USERS.rated(WARNING if e.turned else NOTE, text)


def _sessions(s: Interleaving) -> Finding:
    if not s.data.clustered:
        text = "No user column: each session counts as a unit. Where users come back, p is too small."
        return inputs.SESSIONS_AS_UNITS.warning(text)
    text = f"Sessions counted as if independent would have given p {p_value(s.session_p)} (sign test)"
    return online.SESSION_TEST.note(f"{text}: shown to warn, as sessions of one {s.unit_name} resemble each other.")


def fairness(s: Interleaving) -> list[Finding]:
    """What the preference stands on: the coin, the teams and the items of the draft."""
    p, uneven, repeated = diagnostics.coin_p(s), diagnostics.uneven(s), s.data.repeated
    coin = f"Fair coin: smallest adjusted p over the positions {p_value(p)}."
    findings = [online.COIN.rated(WARNING if p < diagnostics.BROKEN else NOTE, coin)]
    if uneven.sessions:
        text = f"In {uneven.sessions:,} sessions ({uneven.share:.1%}) one team leads by more than a draft by rounds "
        severity = WARNING if uneven.many else NOTE
        findings.append(online.UNEVEN_TEAMS.rated(severity, f"{text}allows.", uneven.sessions))
    if repeated:
        text = f"{counted(repeated, 'item')} {'was' if repeated == 1 else 'were'} shown twice in one session, which no "
        findings.append(online.REPEATED_ITEMS.warning(f"{text}draft does.", repeated))
    return findings


# The table of users


def of_users(s: Experiment) -> list[Finding]:
    """Every finding of an A/B table."""
    bundled = [online.BUNDLED.warning(RAND)] if s.sample else []
    arms = f"{plural(s.unit_name, 2).capitalize()} by arm: {counts(s.sizes)}. Columns: {columns_read(s.columns)}."
    return [*bundled, online.ARMS.note(arms, diagnostics.users(s)), *design(s), *_concentration(s), *slices(s)]


def design(s: Experiment) -> list[Finding]:
    """What the verdict stands on: users in one arm each, the planned shares, the looks."""
    n = s.assigned.crossed
    text = f"{n:,} {plural(s.unit_name, n)} seen in several arms: left out of all."
    severity = WARNING if diagnostics.many_crossed(s) else NOTE
    crossed = [online.CROSSED.rated(severity, text, n)] if n else []
    return [*crossed, _ratio(s), *_looks(s)]


def _ratio(s: Experiment) -> Finding:
    if s.sample_ratio is None:
        return online.SAMPLE_RATIO.note("Sample ratio: not tested, the planned shares are unknown.")
    planned = "the planned shares" if s.options.shares else "equal arms"
    text = f"Sample ratio against {planned}: p {p_value(s.sample_ratio)}."
    broken = f" Below {diagnostics.BROKEN}: the assignment is broken, whatever the result."
    misassigned = diagnostics.misassigned(s)
    return online.SAMPLE_RATIO.warning(text + broken) if misassigned else online.SAMPLE_RATIO.note(text)


def _concentration(s: Experiment) -> list[Finding]:
    if not s.concentration or s.plain is None:
        return []
    listed = ", ".join(f"the top {top:.0%} has {share:.0%}" for top, share in s.concentration.items())
    return [online.HEAVY_USERS.note(f"Heavy users: of all {s.plain.label} {listed}.")]


def _looks(s: Experiment) -> list[Finding]:
    cost = s.looks
    if cost is None:
        return []
    text = (
        f"{cost['looks']:.0f} looks at {alpha(s):.2g} each: a false positive in "
        f"{cost['false_positive_rate']:.1%} of experiments without a difference. "
        f"To pay for them the last p must lie below {number(cost['obrien_fleming'], 4)} (O'Brien–Fleming) or "
        f"{number(cost['pocock'], 4)} (Pocock)."
    )
    severity = WARNING if diagnostics.only_without_looks(s) else NOTE
    return [methods.LOOKS.rated(severity, text, int(cost["looks"]))]


# The planning


def of_planning(s: Planning) -> list[Finding]:
    """That its experiments are simulated, and what is assumed."""
    text = (
        f"Simulated, not observed. Assumed: {assumptions(s)}; rankers order by true affinity plus normal noise, "
        f"{PRODUCTION:g} against {CANDIDATE:g}; CUPED has the same metric of an equally long period before."
    )
    return [online.SIMULATED.warning(text, s.users)]


def assumptions(s: Planning) -> str:
    """The world in words, for captions."""
    w = s.world
    click = "a play ends the session" if w.leave == 1 else "a play never ends the session (position-based)"
    spread = f"lognormal with sigma {w.spread:g}" if w.spread else "the same for all: no heavy users"
    return (
        f"expected sessions a user {w.sessions:g}, {spread}; {w.candidates} candidates, lists of {w.k}; the next "
        f"position is looked at with probability {w.stay:g}, {click}"
    )
