"""Numbers and their nouns agree on every page, and every n is of what stands beside it."""

import numpy as np
import pandas as pd

from evalkit.pages import binary_page, classification_page, page, ranking_page, rating_page, significance_page
from evalkit.studies import classification, ranking, rating, significance


def trials(tmp_path, rows):
    path = tmp_path / "trials.csv"
    path.write_text("system,successes,trials\n" + "\n".join(rows) + "\n")
    return significance.read(str(path))


def test_differences_of_unlike_sizes_each_say_their_n(tmp_path):
    study = trials(tmp_path, ["a,1,2", "b,3,4", "c,7,10"])
    picture = significance_page.differences(study)
    sizes = study.comparisons["n"].tolist()
    assert len(set(sizes)) > 1
    least, most = min(sizes), max(sizes)
    assert f"(n = {least} to {most} trials)" in picture.svg
    for row in study.comparisons.to_dict("records"):
        assert f"{row['first']} − {row['second']} (n = {row['n']})" in picture.svg
    table = page.comparisons(study).html
    assert f"n = {least} to {most} trials" in table or f"{least} to {most} trials" in table
    assert all(f"n = {n}</span>" in table for n in sizes)


def test_estimates_of_unlike_sizes_each_say_their_n(tmp_path):
    study = trials(tmp_path, ["a,1,2", "b,3,4", "c,7,10"])
    assert all(f"n = {n}</span>" in page.estimates(study, "caption").html for n in (2, 4, 10))
    equal = trials(tmp_path, ["a,1,10", "b,3,10"])
    assert "n = " not in page.estimates(equal, "caption").html
    assert "trials)" in significance_page.differences(equal).svg
    assert " to " not in significance_page.differences(equal).svg


def test_one_positive_and_one_query_are_singular():
    data = pd.DataFrame({"label": [1, 0, 0, 0], "score": [0.9, 0.1, 0.2, 0.3]})
    study = classification.read(data)
    text = binary_page.curve_plot(study).caption + binary_page.findings(study).text
    assert "1 positive, 3 negatives" in text
    assert "Only 1 row of the smaller class" in text
    run = pd.DataFrame({"query": "q", "item": list("abc"), "score": [3.0, 2.0, 1.0], "grade": [1, 0, 0]})
    alone = ranking.read(run)
    words = ranking_page.title(alone).text + ranking_page.estimates(alone).text + ranking_page.curves(alone).caption
    assert "on 1 judged query?" in words
    assert "over 1 query" in words
    assert "1 queries" not in words


def test_captions_say_the_units_that_the_intervals_are_over():
    rng = np.random.default_rng(1)
    user = np.repeat([f"u{i}" for i in range(40)], 5)
    actual = rng.random(200)
    table = pd.DataFrame({"actual": actual, "forecast": actual + rng.normal(0, 0.1, 200), "user_id": user})
    study = rating.read(table, unit="user_id")
    assert set(study.estimates["n"]) == {40}
    assert "n = 40 users with 200 rows" in rating_page.estimates(study).html
    assert "n = 200 rows" in rating_page.estimates(rating.read(table)).html
    label = rng.integers(0, 2, 200)
    scores = pd.DataFrame(
        {"label": label, "score": np.clip(0.3 * label + 0.7 * rng.random(200), 0, 1), "user_id": user}
    )
    clustered = classification.read(scores, unit="user_id")
    n = int(clustered.estimates["n"].max())
    assert f"n = {n} users with 200 rows" in classification_page.estimates(clustered).html
