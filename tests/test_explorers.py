"""The explorers of rows and of queries: the most missed and the most moved, with what each system
says.
"""

import re

import numpy as np
import pandas as pd
import pytest

from evalkit.limits import Limits, ReadingLimits
from evalkit.metrics.rows import ErrorKind
from evalkit.pages import classification_page, explorer, ranking_page
from evalkit.parameters.reports import ClassificationParameters
from evalkit.reading.inputs import lists as ranked_lists
from evalkit.studies import classification, ranking, rating, row_study

ERROR_OF_THREE_DECIMALS = 6e-4  # the largest error of a number that is shown with three decimals


def scores_of_good_a_and_poor_b(n_rows=80, seed=2, **further_columns):
    """Rows r0000, r0001, ... with a label and probabilities of two systems: `score_a` tells the
    classes apart well, `score_b` badly.
    """
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n_rows)
    scores = {
        f"score_{name}": rng.beta(1 + skill * label, 1 + skill * (1 - label))
        for name, skill in (("a", 2.0), ("b", 0.5))
    }
    ids = [f"r{i:04d}" for i in range(n_rows)]
    return pd.DataFrame({"id": ids, "label": label, **scores, **further_columns})


def rows_on_page(study):
    """The table of single rows on the page of a study, as a frame."""
    (frame,) = explorer.explorer(study).to_frames()
    return frame


def test_rows_are_listed_by_the_leaders_miss_with_the_scores_of_each_system():
    """The page of a study of 80 rows, in the segments part = x and part = y, lists single rows.
    System a, the better one, leads; rows are sorted by its miss, |label − score|, and a last column
    has the difference of both misses. All numbers are computed anew from the table; the page shows
    three decimals.
    """
    table = scores_of_good_a_and_poor_b(n_rows=80, part=np.tile(["x", "y"], 40))
    frame = rows_on_page(classification.read(table, segments="part")).set_index("row")
    assert list(frame) == ["part", "label", "a", "b", "miss a", "miss a − b"]
    assert frame["miss a"].is_monotonic_decreasing
    for row in table.to_dict("records"):
        listed = frame.loc[row["id"]]
        miss_a = abs(row["label"] - row["score_a"])
        miss_b = abs(row["label"] - row["score_b"])
        assert listed["a"] == pytest.approx(row["score_a"], abs=ERROR_OF_THREE_DECIMALS)
        assert listed["miss a"] == pytest.approx(miss_a, abs=ERROR_OF_THREE_DECIMALS)
        assert listed["miss a − b"] == pytest.approx(miss_a - miss_b, abs=ERROR_OF_THREE_DECIMALS)
        assert listed["part"] == f"part {row['part']}"
        assert listed["label"] == str(row["label"])


def test_rows_with_the_largest_and_the_most_different_errors_are_chosen_in_turn():
    """40 of 3,000 rows are chosen in turn: by the error of the leader, a, and by how much the
    errors of a and b differ. At least the first 20 of either kind are among them; as some rows
    belong to both, there is room for further ones.
    """
    study = classification.read(scores_of_good_a_and_poor_b(3000))
    missed = row_study.list_largest_errors(study, max_rows=40)
    assert study.leader == "a"
    error_a = np.abs(study.data.actual - study.data.score["a"])
    error_b = np.abs(study.data.actual - study.data.score["b"])
    largest_error_of_a = np.argsort(-error_a)[:20]  # numbers of rows
    largest_difference = np.argsort(-np.abs(error_a - error_b))[:20]
    assert {*largest_error_of_a, *largest_difference} <= {*missed.rows}
    assert len(missed.rows) == 40


def test_a_page_lists_as_many_of_many_rows_as_it_has_room_for():
    """A page lists at most MOST = 500 rows, whose HTML takes about ROOM = 10,000 characters at
    most. Of these 3,000 rows fewer than 500 fit. As rows differ in length, the HTML may exceed ROOM
    by 20 %; more than 60 rows show that the room is used.
    """
    page_part = explorer.explorer(classification.read(scores_of_good_a_and_poor_b(3000)))
    n_listed = len(page_part.to_frames()[0])
    assert 60 < n_listed <= explorer.MOST
    assert len(page_part.html) < 1.2 * explorer.ROOM
    assert f"The {n_listed} rows with the largest or most unlike errors" in page_part.html
    assert (
        "Of 3,000 rows, those with the largest errors of a, "
        "and those where the errors of a and b differ most." in page_part.html
    )


def test_rows_without_an_error_are_not_listed_if_there_are_more_rows_than_room():
    """The forecast is wrong, by 1, on every tenth of 60 rows alone. At most 40 rows may be listed.
    These are not filled up with rows without an error: only the six wrong ones are listed.
    """
    actual = np.arange(60.0)
    every_tenth = np.arange(60) % 10 == 0
    table = pd.DataFrame({"id": range(60), "actual": actual, "forecast": actual + every_tenth})
    missed = row_study.list_largest_errors(rating.read(table, metrics="mae"), max_rows=40)
    listed = [missed.input_rows.id[row] for row in missed.rows]
    assert listed == ["0", "10", "20", "30", "40", "50"]


def test_each_segment_has_its_most_missed_rows():
    """Of 3,000 rows 20 are in the segment "few", the rest in "many"; at most 40 are listed. They
    are chosen in turns from four rankings: all rows by the error of system a, all rows by the
    difference of the errors of a and b, and the rows of each segment by the error of a. Every turn
    takes the next row of the first two rankings, and the 1st, 3rd, 5th … turn also the next row of
    each segment. So 11 turns take 11 rows of each of the first two and 6 of each segment, 34 rows
    or, as some are the same, fewer. These fit into 40, so that the 6 rows of "few" with the largest
    errors must be listed.
    """
    part = np.where(np.arange(3000) < 2980, "many", "few")
    study = classification.read(scores_of_good_a_and_poor_b(3000, part=part), segments="part")
    missed = row_study.list_largest_errors(study, max_rows=40)
    few = np.arange(2980, 3000)
    worst_first = few[np.argsort(-missed.misses.errors["a"][few])]
    assert {*worst_first[:6]} <= {*missed.rows}
    assert "overall and per segment" in explorer.explorer(study).html


def test_each_row_has_the_texts_of_its_unused_columns_across_files(tmp_path):
    """A study of two CSV files, with 50 and 30 rows, does not use the columns city and age; their
    texts are read from the files again for the first 40 rows listed. Row i has the city <b>i</b>
    and, if i is odd, the age i; an empty cell is left out.
    """
    table = scores_of_good_a_and_poor_b(
        n_rows=80,
        city=[f"<b>{i}</b>" for i in range(80)],
        age=np.where(np.arange(80) % 2, np.arange(80.0), np.nan),
    )
    table.iloc[:50].to_csv(tmp_path / "1.csv", index=False)
    table.iloc[50:].to_csv(tmp_path / "2.csv", index=False)
    missed = row_study.list_largest_errors(
        classification.read(str(tmp_path / "*.csv")), max_rows=80
    )
    first_rows = missed.rows[:40]
    for row, texts in zip(first_rows, missed.unused_values(40), strict=True):
        expected = {"city": f"<b>{row}</b>"}
        if row % 2:
            expected["age"] = str(row)
            texts["age"] = texts["age"].removesuffix(".0")  # the CSV has 7.0 for an age of 7
        assert texts == expected


def test_the_first_rows_of_a_page_open_to_their_unused_columns():
    """The column city is not used by the study. Of the 80 rows the first OPENED = 30 listed open
    (<details>) to it. Its texts are escaped, so that <b> is no HTML.
    """
    table = scores_of_good_a_and_poor_b(n_rows=80, city=[f"<b>{i}</b>" for i in range(80)])
    html = explorer.explorer(classification.read(table)).html
    assert html.count("<details><summary>r") == explorer.OPENED < len(table)
    assert "city: &lt;b&gt;" in html


def test_scores_that_are_not_probabilities_are_ranked():
    """Scores of a are ten times a probability: some exceed 1, so that |label − score| makes no
    sense. The error of a row is then |label − (rank − ½) / n|, with the rank of its score among the
    n rows.
    """
    table = scores_of_good_a_and_poor_b()
    table["score_a"] = 10 * table["score_a"]
    misses = classification.read(table).data.row_errors
    relative_rank = (table["score_a"].rank() - 0.5) / len(table)
    expected = np.abs(table["label"] - relative_rank).to_numpy()
    assert misses.errors["a"] == pytest.approx(expected)
    assert misses.error_kind is ErrorKind.RANK


def test_a_class_without_probabilities_is_hit_or_missed():
    """The error is 1 on the two rows, the fourth and the last, with a wrong class."""
    table = pd.DataFrame({"y_true": list("abcabc"), "y_pred": list("abccba")})
    (errors,) = classification.read(table).data.row_errors.errors.values()
    assert errors.tolist() == [0, 0, 0, 1, 0, 1]


def test_a_table_with_more_rows_than_memory_may_hold_says_that_no_row_is_listed():
    """The table has 600 rows, and 100 may be held in memory. A longer table is read by blocks, of
    which no single rows are kept; the page says so in place of the list.
    """
    at_most_100_rows = Limits(reading=ReadingLimits(rows=100, shard=100))
    parameters = ClassificationParameters.from_raw({"preds": scores_of_good_a_and_poor_b(600)})
    study = classification.study_of(parameters, at_most_100_rows)
    assert (
        "Single rows are not listed: of more than 100 rows none is kept."
        in classification_page.explorer(study).html
    )


def test_the_json_has_the_rows_that_the_page_lists_unrounded():
    """The page lists those of 3,000 rows that systems a and b miss most: `rows_on_page` is this
    list as a frame, with the score ("a"), the miss |label − score| ("miss a") and their difference,
    to three decimals. The JSON of the report has the same rows in the same order, under "missed",
    and for each row an entry per system with its score ("says") and its miss.
    """
    study = classification.read(scores_of_good_a_and_poor_b(3000))
    on_page = rows_on_page(study)
    in_json = classification_page.results(study).results["missed"]
    assert [row["row"] for row in in_json] == on_page["row"].tolist()
    for exact, rounded in zip(in_json, on_page.to_dict("records"), strict=True):
        by_system = {system["system"]: system for system in exact["systems"]}
        a, b = by_system["a"], by_system["b"]
        assert rounded["a"] == pytest.approx(a["says"], abs=ERROR_OF_THREE_DECIMALS)
        assert rounded["b"] == pytest.approx(b["says"], abs=ERROR_OF_THREE_DECIMALS)
        assert rounded["miss a"] == pytest.approx(a["miss"], abs=ERROR_OF_THREE_DECIMALS)
        assert rounded["miss a − b"] == pytest.approx(
            a["miss"] - b["miss"], abs=ERROR_OF_THREE_DECIMALS
        )


def lists_by_good_x_and_noisy_y(queries=30, items=8, seed=1):
    """Lists of graded items for queries q00, q01, ... by the systems x (good) and y (noisy), in
    random order of rows; the `kind` of query i is k0, k1 or k2, by i modulo 3.
    """
    rng = np.random.default_rng(seed)
    grade = rng.integers(0, 3, (queries, items))
    frames = []
    for system, noise in (("x", 1.0), ("y", 3.0)):
        score = grade + rng.normal(0, noise, grade.shape)
        query, item = np.indices(grade.shape).reshape(2, -1)
        names = [f"q{i:02d}" for i in query], [f"i{i}" for i in item]
        columns = {
            "query": names[0],
            "item": names[1],
            "score": score.ravel(),
            "grade": grade.ravel(),
        }
        frames.append(
            pd.DataFrame({"system": system} | columns | {"kind": [f"k{i % 3}" for i in query]})
        )
    return pd.concat(frames).sample(frac=1, random_state=seed)


def test_queries_are_listed_by_the_size_of_their_difference_with_the_values_of_the_study():
    """The page lists the queries q00, q01, … with the nDCG@10 of the systems x and y and their
    difference, the largest differences first. The segment of query i, by the column `kind`, is k0,
    k1 or k2, by i modulo 3.
    """
    study = ranking.read(lists_by_good_x_and_noisy_y(), segments="kind")
    (shown,) = ranking_page.explorer(study).to_frames()  # the list as a frame
    assert list(shown)[:5] == ["query", "kind", "ndcg@10 x", "ndcg@10 y", "difference"]
    differences = study.differences()
    values = study.values()
    assert shown["difference"].abs().is_monotonic_decreasing
    for row in shown.to_dict("records"):
        query = row["query"]  # such as q07
        query_number = int(query[1:])
        assert row["kind"] == f"kind k{query_number % 3}"
        # three decimals are shown, rounded by up to 5e-4
        assert row["ndcg@10 x"] == pytest.approx(values["x"][query], abs=5.1e-4)
        assert row["difference"] == pytest.approx(differences[query], abs=5.1e-4)


def test_the_top_of_a_list_has_its_items_by_descending_score():
    """`study.top(system, query_number, n)` gives the first n items of a ranked list, with their
    grades. The rows of the table stand in random order. For the first ten queries the five items of
    system y must be those with its highest scores, which pandas finds in the table.
    """
    table = lists_by_good_x_and_noisy_y()
    study = ranking.read(table)
    for query_number, query in enumerate(study.runs.query[:10]):
        of_list = table[(table["query"] == query) & (table["system"] == "y")]
        first_5 = of_list.sort_values("score", ascending=False).head(5)
        items_with_grades = list(zip(first_5["item"], first_5["grade"].astype(float), strict=True))
        assert study.top("y", query_number, 5) == items_with_grades


def test_of_many_queries_the_500_that_differ_most_are_shown_with_one_metric():
    """The study has 510 queries, more than the 500 that a page lists. Only the first 50 listed open
    to their ranked lists, which would take too much room for all. The columns are those of the
    primary metric alone, nDCG@10, and of the similarity of the two lists.
    """
    page_part = ranking_page.explorer(ranking.read(lists_by_good_x_and_noisy_y(queries=510)))
    (shown,) = page_part.to_frames()
    assert len(shown) == 500
    assert page_part.html.count("<details><summary>q") == 50
    assert list(shown)[1:] == ["ndcg@10 x", "ndcg@10 y", "difference", "overlap@10", "RBO"]
    assert "The 500 queries that differ most" in page_part.html


def test_each_query_shows_the_similarity_of_its_two_lists():
    """For each query the page shows how similar the ranked lists of x and y are: the overlap of
    their first ten items, computed here as common items / items of the longer list, and the
    rank-biased overlap (RBO) of the study.
    """
    study = ranking.read(lists_by_good_x_and_noisy_y())
    (shown,) = ranking_page.explorer(study).to_frames()
    rbo = study.likeness.set_index("query")["rbo"]
    for row in shown.to_dict("records"):
        query_number = list(study.runs.query).index(row["query"])
        items_x = [item for item, _ in study.top("x", query_number, 10)]
        items_y = [item for item, _ in study.top("y", query_number, 10)]
        n_common = len({*items_x} & {*items_y})
        overlap = n_common / max(len(items_x), len(items_y))
        # two decimals are shown, rounded by up to 5e-3
        assert row["overlap@10"] == pytest.approx(overlap, abs=5.1e-3)
        assert row["RBO"] == pytest.approx(rbo[row["query"]], abs=5.1e-3)


def test_a_query_opens_to_the_lists_of_both_systems_side_by_side():
    """Systems x and y rank eight items for each query. The first query of the page opens to two
    sections, one per system, with 8 items (<li>) each.
    """
    study = ranking.read(lists_by_good_x_and_noisy_y(items=8))
    html = ranking_page.explorer(study).html
    first_query = html.split("<details><summary>q")[1].split("</details>")[0]
    assert re.findall("<section>(.)<ol>", first_query) == list(study.compared_systems)
    assert first_query.count("<li>") == 2 * 8


def test_without_the_items_in_memory_queries_have_values_and_no_lists(monkeypatch):
    """The items of ranked lists stay in memory if KEPT, a number of rows, has room for at least the
    first SHALLOWEST items of each list. Here it has room for one row less, for 30 queries and two
    systems, so that none is kept. The only part of the page that opens (<details>) is then the
    table itself, without the lists of its queries, and their similarity is unknown.
    """
    monkeypatch.setattr(ranked_lists, "KEPT", 30 * 2 * ranked_lists.SHALLOWEST - 1)
    study = ranking.read(lists_by_good_x_and_noisy_y(queries=30))
    page_part = ranking_page.explorer(study)
    assert page_part.html.count("<details") == 1
    (shown,) = page_part.to_frames()
    assert len(shown) == 30
    assert "RBO" not in shown
    assert not len(study.likeness)


def test_no_more_rows_of_a_list_are_kept_than_there_is_room_for(monkeypatch):
    """Memory has room for 3 items (KEPT) of each of the lists of 30 queries by two systems, and
    keeps them, as they are at least 2 (SHALLOWEST). Of a list the 10 first items are asked for: the
    answer has the 3 first, which a study with room for all gives as well.
    """
    monkeypatch.setattr(ranked_lists, "SHALLOWEST", 2)
    monkeypatch.setattr(ranked_lists, "KEPT", 30 * 2 * 3)
    fifth_query = 4
    kept = ranking.read(lists_by_good_x_and_noisy_y(queries=30)).top("x", fifth_query, 10)
    monkeypatch.undo()  # room for all
    assert kept == ranking.read(lists_by_good_x_and_noisy_y(queries=30)).top("x", fifth_query, 3)
