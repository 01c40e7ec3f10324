"""What the ranking page says of lists beside relevance: diversity, novelty and coverage, from the table of items."""

import pandas as pd

from evalkit.drawing.tables import Html, by_system, limits, paragraph, stack
from evalkit.numbers import counted, listed, percent
from evalkit.pages import pieces
from evalkit.reading.inputs.lists import SHALLOWEST, Stock
from evalkit.studies import beyond_relevance
from evalkit.studies.ranking import Ranking

pieces.listed(__name__)

MEANING = {
    "diversity by category": "pairs of items of a list with different categories / all pairs (ILD, Hamming distance)",
    "diversity by features": "mean cosine distance of two items of a list (ILD)",
    "novelty by interactions": "mean of −log2 p in bits, where p is the interactions of an item / those of all items",
    "novelty by users": "mean of −log2 p in bits, where p is the share of the users that had the item (MIUF)",
    "coverage": "items that at least one list shows / items of the table; no interval if no list alone changes it",
    "Gini of exposure": (
        "how unevenly the items of the table are shown: 0 if all are shown in as many lists, near 1 if a few have all"
    ),
}


def of_lists(study: Ranking) -> Html:
    """Each measure of each system with its interval."""
    if study.catalogue is None:
        return Html("")
    if study.runs.retrieved is None:
        text = f"Not computed: there are too many lists to keep the first {SHALLOWEST} items of each."
        return paragraph(text)
    frame = beyond_relevance.measures(study)
    caption = f"The first {study.depth} items of each list, with {percent(study.settings.level)} intervals"
    names = dict.fromkeys(frame["metric"])
    table = by_system(caption, frame, "metric", limits("value"), _left_out(study.catalogue, frame))
    return stack([table, paragraph(" ".join(f"{_capital(name)}: {MEANING[name]}." for name in names))])


def _left_out(catalogue: Stock, frame: pd.DataFrame) -> str:
    """How many items the table has, and how many are left out of each measure."""
    most = frame.groupby("metric", sort=False)["left_out"].max()
    some = listed(f"{name} up to {n:,}" for name, n in most.items() if n)
    size = f"{counted(len(catalogue), 'item')} in the table."
    return f"{size} Shown items left out for lack of an entry, per system: {some}." if some else size


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
