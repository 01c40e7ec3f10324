"""Lessons of statistics at the end of the significance page, computed live: a coin, a hundred
intervals, common mistakes, repeated analyses. They need no study.
"""

from evalkit.drawing import figures, plots, tables
from evalkit.drawing.cells import Cell, number_cell
from evalkit.drawing.columns import Column, column_by_row, count, text
from evalkit.drawing.paragraphs import muted_paragraph
from evalkit.drawing.pieces import Html, stack
from evalkit.drawing.tables import of_rows
from evalkit.numbers import number
from evalkit.pages import texts
from evalkit.studies import lessons

SEEN = 8  # heads of the example: not enough against a fair coin
FEWEST_HEADS = 7  # of a row of the table


def hundred() -> figures.Figure:
    """A hundred simulated intervals by Student's t, and by the normal quantile with an estimated
    standard deviation.
    """
    frame = lessons.hundred()
    missed = frame[~frame["covers"]].groupby("method", sort=False).size()
    caption = texts.sentence(
        "lessons.hundred",
        missed_t=missed["t"],
        missed_z=missed["z with s"],
        few=lessons.FEW,
        mean=lessons.MEAN,
        sigma=lessons.SIGMA,
        samples=lessons.SAMPLES,
    )
    return figures.row(
        plots.sample_intervals,
        frame,
        caption=caption,
        height=2.9,
        panels=2,
        truth=lessons.MEAN,
        label="height (cm)",
    )


def coin() -> figures.Figure:
    """The probability of each number of heads in ten flips of a fair coin. Red: `SEEN` heads or
    more, whose probabilities add up to the one-sided p of `SEEN` heads.
    """
    frame = lessons.coin()
    flips = lessons.FLIPS
    heads = frame["heads"].to_numpy(float)
    probability = frame["chance"].to_numpy(float)
    is_as_many = heads >= SEEN
    p = number(float(frame.set_index("heads").at[SEEN, "one_sided"]), 4)
    caption = f"Heads of {flips} flips of a fair coin. Red: {SEEN} heads or more, {p} together."
    return figures.figure_drawn_by(
        plots.draw_null_probabilities,
        heads,
        probability,
        caption=caption,
        height=2.4,
        observed=SEEN,
        in_p=is_as_many,
        xlabel=f"heads of {flips} flips",
    )


def on_coin() -> Html:
    """A table of the p-values of 7 heads or more in ten flips, one-sided and two-sided; a figure of
    the probability of every number of heads; and a paragraph on what p means.
    """
    frame = lessons.coin()
    rows = []
    for row in frame[frame["heads"] >= FEWEST_HEADS].to_dict("records"):
        cells = [number_cell(row["heads"], 0)]
        for p in (row["one_sided"], row["two_sided"]):
            cells += [number_cell(p, 4), _rejected(p)]
        rows.append(cells)
    columns = ["heads", "p, more heads", "at 0.05", "p, not fair", "at 0.05"]
    exact = tables.table("Ten flips of a fair coin, exactly", columns, rows)
    return stack([exact, coin(), muted_paragraph(texts.sentence("lessons.on_coin_text"))])


def _rejected(p: float) -> Cell:
    """Whether a test at 0.05 rejects that the coin is fair."""
    result = "rejected" if p < 0.05 else "not rejected"
    return text_cell(result)


def on_hundred() -> Html:
    """The figure of a hundred intervals, and what their 95% means."""
    coverages = []
    for row in lessons.coverage().itertuples():
        coverages.append(f"{row.z_with_s:.1%} at n = {row.n}")
    text = texts.sentence(
        "lessons.on_hundred_text", listed=", ".join(coverages), replicate=lessons.replicate()
    )
    return stack([hundred(), muted_paragraph(text)])


def on_mistakes() -> Html:
    """A table with a row for each common mistake: how often the wrong and the better method reject
    a true null hypothesis, or miss the true value, where 5% should.
    """
    rows = []
    for row in lessons.wrong().to_dict("records"):
        cells: list[Cell | str] = [row["setting"]]
        cells += [text_cell(row["wrong"]), f"{row['wrong_rate']:.0%}"]
        cells += [text_cell(row["right"]), f"{row['right_rate']:.0%}"]
        rows.append(cells)
    heads = [
        "situation (nominal error rate 5%)",
        "wrong method",
        "error rate",
        "better method",
        "error rate",
    ]
    precision = f"rates are accurate to about {lessons.noise():.0f} percentage points"
    runs = f"{lessons.SIMULATION_RUNS} runs (Wilcoxon {lessons.FEWER_RUNS})"
    note = f"Simulated with a fixed seed, {runs}: {precision}."
    return tables.table("Error rates of common mistakes", heads, rows, note)


def text_cell(text: str) -> Cell:
    """A cell of words, which a table aligns to the left."""
    return Cell(text, kind="text")


def on_looks() -> Html:
    """A table with a row for each number of interim analyses: the probability that one of them
    rejects a true null hypothesis if each is at 0.05, and the bounds for p with which all together
    reject it with probability 0.05, by Pocock and by O'Brien and Fleming.
    """
    columns: dict[str, Column] = {
        "analyses": count("looks", show=str),
        "false positives at 0.05 each": text("rate", show="{:.1%}".format),
        "Pocock: p at each analysis": _with_four_decimals("pocock"),
        "O'Brien–Fleming: p at the last": _with_four_decimals("obrien_fleming"),
    }
    note = (
        "Set the parameter looks to the planned number of times the data are tested as they grow, "
        "the same at each. Equally spaced analyses are assumed."
    )
    caption = "False positives from repeated analyses, and the bounds that correct for them"
    return of_rows(caption, lessons.looks(), columns, note)


def _with_four_decimals(name: str) -> Column:
    """A column of numbers with four decimals."""
    return column_by_row(lambda row: number_cell(row[name], 4))
