"""The words and tables of the interleaving page on simulated experiments."""

from typing import Any

from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, escape, number, signed
from evalkit.pages import online_findings, pieces
from evalkit.studies.planning import Planning, as_record

pieces.listed(__name__)

NO_WORLD = "No world was simulated: set world to cascade or positions."


def answer(s: Planning | None) -> Html:
    """How many times the users an A/B test needs, raw and with CUPED, and the world in words."""
    if s is None:
        return tables.paragraph(NO_WORLD)
    row = s.worlds.set_index("world").loc[s.name]
    text = (
        f"In the simulated world '{s.name}' interleaving (sign of each user's preference) needs about "
        f"{_about(row['interleaving'])} users to agree with the truth in 95 % of experiments; the best raw A/B metric "
        f"({row['raw_metric']}) {_times(row['raw_times'])} times as many, the best with CUPED "
        f"({row['cuped_metric'].removesuffix(', CUPED')}) {_times(row['cuped_times'])} times."
    )
    return tables.stack([tables.paragraph(text), tables.findings(online_findings.of_planning(s))])


def _about(users: float) -> str:
    """Two leading digits."""
    return f"{float(f'{users:.2g}'):,.0f}"


def _times(ratio: float) -> str:
    return f"{float(f'{ratio:.2g}'):,.0f}" if ratio >= 10 else f"{ratio:.1f}"


def needed(s: Planning | None) -> Html:
    """Users by design and criterion."""
    if s is None:
        return Html("")
    rows = [
        [
            Cell(escape(row["design"])),
            Cell(signed(row["effect"], 4)),
            Cell(number(row["sd"], 2)),
            *(Cell(f"{_about(row[name])}") for name in ("agree_95", "power_80", "power_95")),
            Cell(f"±{row['error']:.0%}"),
            Cell(_times(row["times"])),
        ]
        for row in s.needed.to_dict("records")
    ]
    heads = ["design", "effect", "sd a user", "95 % agree", "80 % power", "95 % power", "noise", "times"]
    note = (
        "95 % agree: the sign is right in 95 % of experiments, the published criterion; power: two-sided at 0.05. "
        "An A/B test counts both arms. Noise: one standard error of the simulation. Times: against the first row."
    )
    return tables.table(f"Users needed, from {s.users:,} simulated users", heads, rows, note)


def worlds(s: Planning | None) -> Html:
    """What the ratio hangs on: the click model and heavy users."""
    if s is None:
        return Html("")
    rows = [
        [
            Cell(escape(row["world"])),
            Cell(_about(row["interleaving"])),
            Cell(f"{_about(row['raw'])}<br>{escape(row['raw_metric'])}"),
            Cell(f"{_about(row['cuped'])}<br>{escape(row['cuped_metric'])}"),
            Cell(_times(row["raw_times"])),
            Cell(_times(row["cuped_times"])),
        ]
        for row in s.worlds.to_dict("records")
    ]
    heads = ["world", "interleaving", "best raw A/B", "best A/B with CUPED", "raw ratio", "CUPED ratio"]
    note = (
        "cascade: a play ends the session; positions: it does not; even users: all equally active. The ratio hangs on "
        "heavy users, on what ends a session, and on what the A/B side may do: it is no constant of nature."
    )
    return tables.table("Users for 95 % agreement, simulated, by what is assumed", heads, rows, note)


def stages(s: Planning | None) -> Html:
    """Interleaving keeps s of m candidates, an A/B test decides among them."""
    if s is None:
        return Html("")
    first = s.stages.iloc[0]
    rows = [
        [
            Cell(escape(f"{row['design']}, keep {row['keep']}" if row["design"] == "two stages" else row["design"])),
            Cell(f"{row['users']:,}"),
            Cell(f"{row['best_wins']:.0%}"),
            Cell(f"{row['chosen']:.0%}"),
        ]
        for row in s.stages.to_dict("records")
    ]
    caption = (
        f"Two stages, simulated: {s.rankers} candidates, s of them kept by interleaving and A/B-tested with production"
    )
    note = (
        f"{first['users_interleaved']:,} users interleaved a candidate, {first['users_arm']:,} an A/B arm (plays with "
        "CUPED); 10,000 repeats, the simulated effects taken as the truth. Chosen: mean effect of the winner against "
        "that of the best candidate."
    )
    return tables.table(caption, ["design", "users", "the best one wins", "effect chosen"], rows, note)


def definitions() -> list[tuple[str, str]]:
    """The words of this part."""
    agree = (
        "users N with P(wrong sign) = 5 %: 1.645² · sd² / effect², sd² / N the variance of the effect found; a test "
        "at a two-sided 0.05 needs 2.90 times as many for 80 % power, 4.80 times for 95 %"
    )
    win = "interleaving, win: +½ or −½ by which ranker got more of the user's plays, 0 for a tie; share: the share − ½"
    model = "Netflix Technology Blog, 29 November 2017, on personalization algorithms and interleaving, figures 5 and 6"
    return [("95 % agree", agree), ("win and share", win), ("model of the figures", model)]


def answers(s: Planning) -> dict[str, Any]:
    """Every number of this part; the world's numbers are its assumptions."""
    return {
        "simulated": True,
        "world": s.name,
        "assumptions": as_record(s.world),
        "users": s.users,
        "needed": s.needed.to_dict("records"),
        "counted": s.groups.to_dict("records"),
        "worlds": s.worlds.to_dict("records"),
        "candidates": s.candidates.to_dict("records"),
        "correlation": {how: s.correlation(how) for how in ("true", "measured", "cuped")},
        "families": s.families.to_dict("records"),
        "stages": s.stages.to_dict("records"),
    }
