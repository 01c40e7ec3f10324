"""Lessons of statistics, computed live: a coin, a hundred intervals, common mistakes, repeated
analyses.
"""

from functools import partial

from evalkit.drawing import figures, plots, tables
from evalkit.drawing.cells import Cell, number_cell
from evalkit.drawing.columns import each, named, text
from evalkit.drawing.paragraphs import paragraph
from evalkit.drawing.pieces import Html, stack
from evalkit.drawing.tables import of_rows
from evalkit.numbers import number
from evalkit.pages import page, texts
from evalkit.studies import lessons


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
    """Heads of ten flips of a fair coin."""
    frame = lessons.coin()
    flips = lessons.FLIPS
    caption = (
        f"Heads of {flips} flips of a fair coin. Red: 8 heads or more, {number(0.0546875, 4)} "
        f"together."
    )
    k = frame["heads"].to_numpy(float)
    chance = frame["chance"].to_numpy(float)
    return figures.picture(
        plots.null_shares,
        k,
        chance,
        caption=caption,
        height=2.4,
        seen=8,
        counted=k >= 8,
        xlabel=f"heads of {flips} flips",
    )


def on_coin() -> Html:
    frame = lessons.coin()
    rows = [
        [number_cell(r["heads"], 0), *_rejected(r["one_sided"]), *_rejected(r["two_sided"])]
        for r in frame[frame["heads"] >= 7].to_dict("records")
    ]
    heads = ["heads", "p, more heads", "at 0.05", "p, not fair", "at 0.05"]
    exact = tables.table("Ten flips of a fair coin, exactly", heads, rows)
    return stack([exact, coin(), paragraph(texts.sentence("lessons.on_coin_text"))])


def _rejected(p: float) -> tuple[Cell, Cell]:
    return number_cell(p, 4), Cell("rejected" if p < 0.05 else "not rejected", kind="text")


def on_hundred() -> Html:
    listed = ", ".join(f"{r.z_with_s:.1%} at n = {r.n}" for r in lessons.coverage().itertuples())
    text = texts.sentence("lessons.on_hundred_text", listed=listed, replicate=lessons.replicate())
    return stack([hundred(), paragraph(text)])


def on_mistakes() -> Html:
    rows: list[page.Row] = [
        [
            r["setting"],
            *(
                part
                for way in ("wrong", "right")
                for part in (word(r[way]), f"{r[f'{way}_rate']:.0%}")
            ),
        ]
        for r in lessons.wrong().to_dict("records")
    ]
    heads = [
        "situation (nominal error rate 5%)",
        "wrong method",
        "error rate",
        "better method",
        "error rate",
    ]
    near = f"rates are accurate to about {lessons.noise():.0f} percentage points"
    note = (
        f"Simulated with a fixed seed, {lessons.RUNS} runs (Wilcoxon {lessons.FEWER_RUNS}): {near}."
    )
    return tables.table("Error rates of common mistakes", heads, rows, note)


def word(text: str) -> Cell:
    return Cell(text, kind="text")


def on_looks() -> Html:
    columns = named(
        "analyses=looks i | false positives at 0.05 each=rate share | Pocock: p at each "
        "analysis=pocock four | "
        "O'Brien–Fleming: p at the last=obrien_fleming four",
        share=partial(text, show="{:.1%}".format),
        four=lambda name: each(lambda row: number_cell(row[name], 4)),
    )
    note = (
        "Set the parameter looks to the planned number of times the data are tested as they grow, "
        "the same at each. Equally spaced analyses "
    )
    caption = "False positives from repeated analyses, and the bounds that correct for them"
    return of_rows(caption, lessons.looks(), columns, f"{note}are assumed.")
