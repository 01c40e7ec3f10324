"""The pictures of the interleaving page: the log, heavy users, and the simulated experiments."""

from typing import Any

from evalkit.drawing import planning_plots, plots, tables
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html, interval, number, signed, signed_percent
from evalkit.pages import pieces
from evalkit.pages.interleaving_page import NO_LOG
from evalkit.pages.online_findings import assumptions
from evalkit.pages.planning_page import NO_WORLD
from evalkit.studies.experiment import Experiment
from evalkit.studies.interleaving import Interleaving
from evalkit.studies.online_diagnostics import less_even
from evalkit.studies.planning import BAIT, CANDIDATE, FEWEST_GROUPS, KINDS, PRODUCTION, Planning
from evalkit.studies.words import plural

pieces.listed(__name__)

HOW = {"true": "true lift", "measured": "measured by an A/B test", "cuped": "measured with CUPED"}


def balance(s: Interleaving | None) -> Picture | Html:
    """The arms' shares of the items at each position, of two arms the first's, around the fair coin."""
    if s is None:
        return tables.paragraph(NO_LOG)
    found = s.coins
    whose = f"{s.systems[0]}'s" if len(s.systems) == 2 else "each arm's"
    each = [f", {row.system}" if len(s.systems) > 2 else "" for row in found.itertuples()]
    names = [f"position {row.position}{arm} (n = {row.n:,})" for arm, row in zip(each, found.itertuples(), strict=True)]
    frame = less_even(s)
    fraction = "½" if len(s.systems) == 2 else f"1/{len(s.systems)}"
    caption = (
        f"Share of {whose} items at each position less {fraction}, which a fair coin gives, with Wilson "
        f"{s.settings.level:.0%} intervals; n: items with a team. Position 1 is the coin itself."
    )
    label: dict[str, Any] = {"label": f"share of {whose} items − {fraction}", "zero": True}
    told = "; ".join(f"{name} {signed(value)}" for name, value in zip(names, frame["value"], strict=True))
    size = plots.tall(len(frame), each=0.24)
    frame.insert(0, "name", names)
    return plots.picture(plots.intervals, frame, alt=f"{caption} {told}", caption=caption, size=size, **label)


def by_position(s: Interleaving | None) -> Picture | Html:
    """Outcome per shown item by position and arm."""
    if s is None:
        return Html("")
    outcome, n = s.data.columns["outcome"], max(s.by_position["n"])
    caption = (
        f"{outcome.capitalize()} per item shown, by position and arm, {s.settings.level:.0%} bands, "
        f"{s.unit_name}s as units (delta method){', simulated clicks' if s.simulated else ''}."
    )
    told = "; ".join(
        f"{name}: {', '.join(number(value) for value in line['value'])}"
        for name, line in s.by_position.groupby("system", sort=False)
    )
    labels: dict[str, Any] = {
        "x": "position",
        "y": "value",
        "xlabel": "position in the list",
        "ylabel": f"{outcome} per item (n ≤ {n:,} {plural(s.unit_name, n)})",
    }
    return plots.picture(plots.curves, s.by_position, alt=f"{caption} {told}", caption=caption, **labels)


def heavy_users(s: Experiment | None) -> Picture | Html:
    """The difference with heavy users capped at falling quantiles."""
    if s is None or not len(s.caps) or s.plain is None:
        return Html("")
    n, first, second = max(s.caps["n"]), *s.opponents
    caption = (
        f"{first} − {second}: difference in mean {s.plain.label}, values above each quantile of all users set to it; "
        f"{s.settings.level:.0%} intervals (Welch). A capped mean is another estimand."
    )
    told = "; ".join(
        f"{row.name}: {signed(row.value)} {interval(row.low, row.high, signed)}"
        for row in s.caps.itertuples(index=False)
    )
    label: dict[str, Any] = {
        "label": f"difference in mean {s.plain.label} (n = {n:,} {plural(s.unit_name, n)})",
        "zero": True,
    }
    size = plots.tall(len(s.caps))
    return plots.picture(plots.intervals, s.caps, alt=f"{caption} {told}", caption=caption, size=size, **label)


def errors(s: Planning | None) -> Picture | Html:
    """How often an experiment prefers the worse ranker, against its number of users, by design."""
    if s is None:
        return Html("")
    need = s.needed.set_index("design")["agree_95"]
    caption = (
        f"Simulated, not observed: chance that an experiment of so many users prefers the worse of two rankers (noise "
        f"{PRODUCTION:g} and {CANDIDATE:g}). Lines: normal approximation from {s.users:,} simulated users whose true "
        f"effects are known; points: at least {FEWEST_GROUPS} experiments of n users counted, a tie half. "
        f"Assumed: {assumptions(s)}. N users see the "
        "interleaved list, or N/2 each arm."
    )
    told = "; ".join(f"{name} reaches 5 % at {need[name]:,.0f} users" for name in dict.fromkeys(s.curves["system"]))
    return plots.picture(
        planning_plots.draw_errors, s.curves, s.groups, alt=f"{caption} {told}.", caption=caption, size=(7.6, 3.6)
    )


def agreement(s: Planning | None) -> Picture | Html:
    """The interleaving preference of many rankers against their true and their measured A/B lift."""
    if s is None:
        return tables.paragraph(NO_WORLD)
    r = {how: s.correlation(how) for how in HOW}
    caption = (
        f"Simulated, not observed: {s.rankers} rankers against production, one point each; {s.each:,} users "
        f"interleaved and as many in an A/B test, half in each arm. Pearson's r of preference and lift in the titles. "
        "All rank by affinity, and a play of any item is worth the same; below, rankers for which that is not so."
    )
    titles = [f"{HOW[how]}, r = {r[how]:.2f}" for how in HOW]
    data = [s.candidates[["share", f"plays_{how}"]].to_numpy() for how in HOW]
    told = f"{caption} {'; '.join(titles)}."
    return plots.picture(
        planning_plots.draw_agreement, data, titles, alt=told, caption=caption, size=(7.6, 2.9), panels=(1, 3)
    )


def families(s: Planning | None) -> Picture | Html:
    """Preference against the true lifts for rankers by affinity, click-bait and diverse ones."""
    if s is None:
        return Html("")
    found = s.families
    caption = (
        f"Simulated, not observed: {len(found)} rankers against production on the same {s.each:,} users, one point "
        "each; the line is through those by affinity. Here an item's wrapping, "
        f"N(0, {BAIT:g}²) in logits, raises the chance of a play and takes as much off its hours, and a session wants "
        f"one of {KINDS} kinds of items. Click-bait wins plays, loses hours; what a diverse list is worth as a whole, "
        "a drafted list, half of it another ranker's, does not show."
    )
    told = "; ".join(
        f"{row.family} {row.ranker}: share {signed(row.share)}, plays {signed_percent(row.plays)}, "
        f"hours {signed_percent(row.hours)}"
        for row in found.itertuples(index=False)
    )
    return plots.picture(
        planning_plots.draw_families, found, alt=f"{caption} {told}.", caption=caption, size=(7.6, 3.2), panels=(1, 2)
    )
