"""The words and tables of the interleaving page on simulated experiments."""

from typing import Any

from evalkit.drawing import claim_plots, plots, tables
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Cell, Column, Html, count, each, escape, of_rows, text, value
from evalkit.findings import kinds
from evalkit.findings.kinds import Finding
from evalkit.numbers import signed, signed_percent
from evalkit.pages import pieces
from evalkit.studies.planning import BAIT, CANDIDATE, FEWEST_GROUPS, KINDS, PRODUCTION, Planning, as_record

pieces.listed(__name__)


HOW = {"true": "true lift", "measured": "measured by an A/B test", "cuped": "measured with CUPED"}


@pieces.of_a_part
def answer(study: Planning) -> Html:
    """How many times the users an A/B test needs, raw and with CUPED, and the world in words."""
    row = study.worlds.set_index("world").loc[study.name]
    text = (
        f"In the simulated world '{study.name}' interleaving (sign of each user's preference) needs about "
        f"{_about(row['interleaving'])} users to agree with the truth in 95% of experiments; the best raw A/B metric "
        f"({row['raw_metric']}) {_times(row['raw_times'])} times as many, the best with CUPED "
        f"({row['cuped_metric'].removesuffix(', CUPED')}) {_times(row['cuped_times'])} times."
    )
    return tables.stack([tables.paragraph(text), tables.findings(of_planning(study))])


def _about(users: float) -> str:
    """Two leading digits."""
    return f"{float(f'{users:.2g}'):,.0f}"


def _times(ratio: float) -> str:
    return f"{float(f'{ratio:.2g}'):,.0f}" if ratio >= 10 else f"{ratio:.1f}"


@pieces.of_a_part
def needed(study: Planning) -> Html:
    """Users by design and criterion."""
    columns: dict[str, Column] = {
        "design": text("design"),
        "effect": value("effect", signed),
        "sd per user": value("sd"),
        "95% agree": count("agree_95", _about),
        "80% power": count("power_80", _about),
        "95% power": count("power_95", _about),
        "noise": text("error", "±{:.0%}".format),
        "times": count("times", _times),
    }
    note = (
        "95% agree: the sign is right in 95% of experiments, the published criterion; power: two-sided at 0.05. "
        "An A/B test counts both arms. Noise: one standard error of the simulation. Times: against the first row."
    )
    by_design = of_rows(f"Users needed, from {study.users:,} simulated users", study.needed, columns, note)
    return tables.folded("Users needed by design", by_design)


@pieces.of_a_part
def worlds(study: Planning) -> Html:
    """What the ratio depends on: the click model and heavy users."""
    columns: dict[str, Column] = {
        "world": text("world"),
        "interleaving": count("interleaving", _about),
        "best raw A/B": each(lambda row: _of_metric(row["raw"], row["raw_metric"])),
        "best A/B with CUPED": each(lambda row: _of_metric(row["cuped"], row["cuped_metric"])),
        "raw ratio": count("raw_times", _times),
        "CUPED ratio": count("cuped_times", _times),
    }
    note = (
        "cascade: a play ends the session; positions: it does not; even users: all equally active. The ratio depends "
        "on heavy users, on what ends a session, and on how the A/B test is analysed: it is not a universal constant."
    )
    by_world = of_rows("Users for 95% agreement, simulated, by assumption", study.worlds, columns, note)
    return tables.folded("The same under other assumptions", by_world)


def _of_metric(users: float, metric: str) -> Cell:
    """A number of users, and the metric that needs so many."""
    text = _about(users)
    return Cell(f"{text} {metric}", markup=f"{text}<br>{escape(metric)}")


@pieces.of_a_part
def stages(study: Planning) -> Html:
    """Interleaving keeps s of m candidates, an A/B test decides among them."""
    first = study.stages.iloc[0]
    columns: dict[str, Column] = {
        "design": each(
            lambda row: f"{row['design']}, keep {row['keep']}" if row["design"] == "two stages" else row["design"]
        ),
        "users": count("users"),
        "the best one wins": text("best_wins", "{:.0%}".format),
        "effect chosen": text("chosen", "{:.0%}".format),
    }
    kept = "s of them kept by interleaving and A/B-tested with production"
    note = (
        f"{first['users_interleaved']:,} users per interleaved candidate, {first['users_arm']:,} per A/B arm (plays "
        f"with "
        "CUPED); 10,000 repetitions, with the simulated effects as the truth. Effect chosen: mean effect of the winner "
        "as a share of that of the best candidate."
    )
    by_design = of_rows(f"Two stages, simulated: {study.rankers} candidates, {kept}", study.stages, columns, note)
    return tables.folded("First interleaving, then an A/B test (two stages)", by_design)


def definitions() -> list[tuple[str, str]]:
    """The words of this part."""
    agree = (
        "the number of users N with P(wrong sign) = 5%: 1.645² · sd² / effect², where sd² / N is the variance of the "
        "estimated effect; a two-sided test at 0.05 needs 2.90 times as many for 80% power, 4.80 times for 95%"
    )
    win = "interleaving, win: +½ or −½ by which ranker got more of the user's plays, 0 for a tie; share: the share − ½"
    model = "Netflix Technology Blog, 29 November 2017, on personalization algorithms and interleaving, figures 5 and 6"
    return [("95% agree", agree), ("win and share", win), ("model of the figures", model)]


def answers(study: Planning) -> dict[str, Any]:
    """Every number of this part; the world's numbers are its assumptions."""
    return {
        "simulated": True,
        "world": study.name,
        "assumptions": as_record(study.world),
        "users": study.users,
        "needed": study.needed.to_dict("records"),
        "counted": study.groups.to_dict("records"),
        "curves": study.curves.to_dict("list"),
        "worlds": study.worlds.to_dict("records"),
        "candidates": study.candidates.to_dict("records"),
        "correlation": {how: study.correlation(how) for how in ("true", "measured", "cuped")},
        "families": study.families.to_dict("records"),
        "stages": study.stages.to_dict("records"),
    }


# Findings


def of_planning(study: Planning) -> list[Finding]:
    """That its experiments are simulated, and what is assumed."""
    text = (
        f"Simulated, not observed. Assumed: {assumptions(study)}; rankers order by true affinity plus normal noise, "
        f"{PRODUCTION:g} against {CANDIDATE:g}; CUPED uses the same metric from an equally long period before."
    )
    return [kinds.SIMULATED.warning(text, study.users)]


def assumptions(study: Planning) -> str:
    """The world in words, for captions."""
    w = study.world
    click = "a play ends the session" if w.leave == 1 else "a play never ends the session (position-based)"
    spread = f"lognormal with sigma {w.spread:g}" if w.spread else "the same for all: no heavy users"
    return (
        f"expected sessions per user {w.sessions:g}, {spread}; {w.candidates} candidates, lists of {w.k}; the next "
        f"position is examined with probability {w.stay:g}, {click}"
    )


# Pictures


@pieces.of_a_part
def errors(study: Planning) -> Picture | Html:
    """How often an experiment prefers the worse ranker, against its number of users, by design."""
    need = study.needed.set_index("design")["agree_95"]
    caption = (
        "Simulated, not observed: probability that an experiment of n users prefers the worse of two rankers (noise "
        f"{PRODUCTION:g} and {CANDIDATE:g}). Lines: normal approximation from {study.users:,} simulated users whose "
        f"true effects are known; points: shares of at least {FEWEST_GROUPS} experiments of n users, ties counted "
        f"half. "
        f"Assumed: {assumptions(study)}. N users see the interleaved list, or N/2 each arm."
    )
    listed = "; ".join(
        f"{name} reaches 5% at {need[name]:,.0f} users" for name in dict.fromkeys(study.curves["system"])
    )
    return plots.picture(
        claim_plots.draw_errors,
        study.curves,
        study.groups,
        alt=f"{caption} {listed}.",
        caption=caption,
        size=(plots.WIDTH, 3.2),
    )


@pieces.of_a_part
def agreement(study: Planning) -> Picture | Html:
    """The interleaving preference of many rankers against their true and their measured A/B lift."""
    r = {how: study.correlation(how) for how in HOW}
    caption = (
        f"Simulated, not observed: {study.rankers} rankers against production, one point each; {study.each:,} users "
        f"interleaved and as many in an A/B test, half in each arm. Pearson's r of preference and lift in the titles. "
        "All rank by affinity, and every play has the same value; the figure folded below has others."
    )
    titles = [f"{HOW[how]}, r = {r[how]:.2f}" for how in HOW]
    data = [study.candidates[["share", f"plays_{how}"]].to_numpy() for how in HOW]
    alt = f"{caption} {'; '.join(titles)}."
    return plots.row(claim_plots.draw_agreement, data, titles, alt=alt, caption=caption, panels=3)


@pieces.of_a_part
def families(study: Planning) -> Picture | Html:
    """Preference against the true lifts for rankers by affinity, click-bait and diverse ones."""
    rankers = study.families
    caption = (
        f"Simulated, not observed: {len(rankers)} rankers against production on the same {study.each:,} users, one "
        f"point each; the line is fitted to those by affinity. Here an item's presentation, N(0, {BAIT:g}²) in logits, "
        f"raises the probability of a play and lowers its hours as much, and a session wants one of {KINDS} kinds of "
        "items. Click-bait gains plays and loses hours. Interleaving cannot show the value of a diverse list as a "
        "whole, because half of each drafted list comes from another ranker."
    )
    listed = "; ".join(
        f"{row.family} {row.ranker}: share {signed(row.share)}, plays {signed_percent(row.plays)}, "
        f"hours {signed_percent(row.hours)}"
        for row in rankers.itertuples(index=False)
    )
    drawn = plots.row(claim_plots.draw_families, rankers, alt=f"{caption} {listed}.", caption=caption, panels=2)
    return drawn.folded("Rankers that a preference misjudges (click-bait and diverse lists)")
