"""Writes lists.json: overlap, diversity, novelty and coverage of small lists as public tools
compute them.

    pip install rectools==0.19.0 rbo==0.1.3
    python tests/oracles/lists.py

RBO is `RankingSimilarity(a, b).rbo_ext(p)` of rbo: equation 32 of Webber, Moffat and Zobel 2010. Of
RecTools: `IntraListDiversity` with the Hamming distance of one category per item (1 for another
category, else 0), `MeanInvUserFreq` = mean of -log2(users who had the item / users), and
`CatalogCoverage(normalize=True)` = items shown / items of the catalogue. RecTools has no Gini
coefficient: that one is Σ (2i - n - 1) x_i / (n Σ x), x ascending, as RecBole's GiniIndex defines
it, summed up here term by term.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

K, SEED = 5, 17
ITEMS = [f"i{i}" for i in range(12)]
TOOLS = ("rectools", "rbo", "pandas", "numpy")


def lists(rng, lengths):
    """Lists of so many items, by a popularity that falls with the number of the item."""
    weight = 1 / np.arange(1, len(ITEMS) + 1)
    return [rng.choice(ITEMS, n, replace=False, p=weight / weight.sum()).tolist() for n in lengths]


def of_rectools(rows, catalogue, users, had):
    """Per list diversity and novelty, and the coverage of all lists."""
    from rectools import Columns
    from rectools.metrics import CatalogCoverage, IntraListDiversity, MeanInvUserFreq
    from rectools.metrics.distances import PairwiseHammingDistanceCalculator

    reco = pd.DataFrame(
        [(i, item, rank) for i, row in enumerate(rows) for rank, item in enumerate(row, start=1)],
        columns=[Columns.User, Columns.Item, Columns.Rank],
    )
    features = catalogue.set_index("item")[["category"]]
    previous = pd.DataFrame(had, columns=[Columns.User, Columns.Item])
    diversity = IntraListDiversity(K, PairwiseHammingDistanceCalculator(features)).calc_per_user(
        reco
    )
    novelty = MeanInvUserFreq(K).calc_per_user(reco, previous)
    assert previous[Columns.User].nunique() == users
    return {
        "diversity": diversity.tolist(),
        "novelty": novelty.tolist(),
        "coverage": CatalogCoverage(K, normalize=True).calc(reco, catalog=ITEMS),
    }


def gini(rows):
    """Of how many lists show each item of the catalogue, term by term."""
    shown = sorted(sum(item in row[:K] for row in rows) for item in ITEMS)
    n = len(shown)
    return sum((2 * i - n - 1) * x for i, x in enumerate(shown, start=1)) / (n * sum(shown))


def overlaps(first, second):
    """RBO of every pair of lists at three persistences."""
    from rbo import RankingSimilarity

    pairs = list(zip(first, second, strict=True))
    return {
        str(p): [RankingSimilarity(a, b).rbo_ext(p=p) for a, b in pairs] for p in (0.5, 0.9, 0.98)
    }


def main():
    """Draw lists and a catalogue, ask the tools, write their figures."""
    rng = np.random.default_rng(SEED)
    first, second = lists(rng, [8, 5, 10, 1, 12, 6]), lists(rng, [8, 9, 4, 3, 12, 2])
    catalogue = pd.DataFrame({"item": ITEMS, "category": rng.integers(0, 3, len(ITEMS))})
    users = 9
    had = [(u, item) for i, item in enumerate(ITEMS) for u in range(users) if u < max(1, users - i)]
    catalogue["users"] = [sum(item == other for _, other in had) for item in ITEMS]
    full = [row for row in first if len(row) >= K]
    figures = of_rectools(full, catalogue, users, had) | {"gini": gini(full)}
    content = {
        "versions": {tool: version(tool) for tool in TOOLS},
        "k": K,
        "catalogue": catalogue.to_dict("list"),
        "users": users,
        "first": first,
        "second": second,
        "rbo": overlaps(first, second),
        "shown": full,
        "figures": figures,
    }
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
