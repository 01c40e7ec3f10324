"""Text tables without a header, and ranked lists known by their content: MS MARCO files, TREC files named .tsv."""

import numpy as np
import pandas as pd
import pytest
from engine_samples import classified

from evalkit.arrays import InputError, ParameterError
from evalkit.catalogue import lookup
from evalkit.limits import Limits, Reading
from evalkit.metrics import rankings
from evalkit.pages import ranking_page
from evalkit.reading.engines import backends as engine
from evalkit.reading.inputs import runs
from evalkit.reading.inputs.rows import Ranked
from evalkit.reading.reductions import sharded
from evalkit.reading.reductions.sharded import PerQuery
from evalkit.reading.tables import sources
from evalkit.studies import classification, interleaving, ranking, rating, significance, validation

MARCO = "".join(f"{q}\t{q}{i:02}\t{i}\n" for q in (1048585, 2, 3) for i in range(1, 6))
MARCO_QRELS = "1048585\t0\t104858502\t1\n2\t0\t201\t1\n3\t0\t999\t1\n"
RUN = "q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1.5 t\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_ms_marco_files_are_read_by_their_content(here):
    (here / "run.dev.tsv").write_text(MARCO)
    (here / "qrels.dev.tsv").write_text(MARCO_QRELS)
    study = ranking.read("run.dev.tsv", "qrels.dev.tsv", metrics="mrr@10")
    assert study.runs.query.tolist() == ["1048585", "2", "3"]
    assert study.values()["run.dev"].tolist() == [0.5, 1, 0]
    assert study.runs.accounts["run.dev"].rows == 15
    assert "query = field 1, item = field 2, rank = field 3" in ranking_page.findings(study).html


@pytest.mark.parametrize("name", ["bm25.tsv", "bm25.csv", "bm25", "bm25.txt"])
@pytest.mark.parametrize("blank", [" ", "\t"])
def test_trec_files_are_known_by_their_content_whatever_their_name(here, name, blank):
    (here / name).write_text(RUN.replace(" ", blank))
    (here / "qrels.tsv").write_text("q1 0 b 1\n".replace(" ", blank))
    data = runs.read(name, "qrels.tsv")
    assert data.systems == ("bm25",)
    assert rankings.reciprocal_rank(data.rankings["bm25"]) == [0.5]


def test_three_fields_that_are_no_ranks_are_no_run(here):
    """A file of judgements without a header has three fields, too: what the third one is must be said."""
    (here / "qrels.tsv").write_text("q1\td1\t2\nq1\td2\t1\nq2\td3\t3\n")
    frame = pd.DataFrame({"query": ["q1", "q2"], "item": ["d1", "d3"], "score": [1.0, 2.0]})
    with pytest.raises(InputError, match="seems to be no header; set header=none"):
        runs.read(frame, "qrels.tsv")
    columns = "query=1,item=2,score=3,grade=3"
    run = headless(here, frame)
    study = ranking.read(run, "qrels.tsv", header="none", columns=columns, metrics="mrr")
    assert study.runs.query.tolist() == ["q1", "q2"]


# A table without a header in every report ----------------------------------------------------------------------------


def headless(here, frame: pd.DataFrame, name: str = "t.csv", **options: object) -> str:
    frame.to_csv(here / name, index=False, header=False, **options)
    return name


def test_classification_without_a_header(here):
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 300)
    frame = pd.DataFrame(
        {"label": label, "score": (rng.random(300) + label / 2).round(3) / 2, "u": np.arange(300) // 3}
    )
    name = headless(here, frame)
    with pytest.raises(InputError, match=r"t\.csv: .*there seems to be no header; set header=none and name columns by"):
        classification.read(name)
    study = classification.read(name, header="none", columns="label=1,score=2", unit="3", metrics="roc_auc")
    expected = classification.read(frame, unit="u", metrics="roc_auc").estimates
    assert study.estimates["value"].tolist() == expected["value"].tolist()
    assert study.estimates["low"].tolist() == expected["low"].tolist()


def test_rating_without_a_header(here):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"actual": rng.random(200), "forecast": rng.random(200)})
    name = headless(here, frame, "t.tsv", sep="\t")
    with pytest.raises(InputError, match="there seems to be no header"):
        rating.read(name)
    with pytest.raises(ParameterError, match="there seems to be no header"):
        rating.read(name, columns="actual=1,forecast=2")
    study = rating.read(name, header="none", columns="actual=1,forecast=2", metrics="mae")
    assert study.estimates["value"].tolist() == rating.read(frame, metrics="mae").estimates["value"].tolist()


def test_a_wide_significance_table_without_a_header_is_not_read_as_systems_called_0_5(here):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"q": [f"q{i}" for i in range(40)], "a": rng.random(40), "b": rng.random(40)})
    name = headless(here, frame)
    with pytest.raises(InputError, match="there seems to be no header; set header=none"):
        significance.read(name)
    study = significance.read(name, header="none", unit="1")
    assert study.systems == ("2", "3")
    assert sorted(study.estimates["value"]) == sorted(significance.read(frame, unit="q").estimates["value"])
    assert study.estimates["n"].tolist() == [40, 40]
    whole = pd.DataFrame({"q": [f"q{i}" for i in range(40)], "5": rng.random(40), "10": rng.random(40)})
    whole.to_csv("k.csv", index=False)
    with pytest.raises(InputError, match="header=first if the first line is the header"):
        significance.read("k.csv")
    assert significance.read("k.csv", header="first", unit="q").systems == ("5", "10")


def test_validation_without_a_header(here):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"label": rng.integers(0, 2, 200), "score": rng.random(200), "fold": np.arange(200) % 5})
    name = headless(here, frame)
    with pytest.raises(InputError, match="there seems to be no header"):
        validation.read(name)
    study = validation.read(name, header="none", columns="label=1,score=2,fold=3", metrics="accuracy")
    expected = validation.read(frame, metrics="accuracy")
    assert study.headline.to_dict() == expected.headline.to_dict()
    features = headless(here, pd.DataFrame({"x": rng.random(60), "y": rng.random(60), "t": np.arange(60) % 2}), "f.csv")
    with pytest.raises(InputError, match="there seems to be no header"):
        validation.read(features=features)
    assert validation.read(features=features, header="none", target="3", seconds=1).examples.columns["label"] == "3"


def test_interleaving_without_a_header(here):
    rows = [(f"s{i}", p, "ab"[(i + p) % 2], int(i % 3 == p), f"u{i}") for i in range(60) for p in (1, 2)]
    frame = pd.DataFrame(rows, columns=["session", "position", "team", "outcome", "user"])
    name = headless(here, frame)
    with pytest.raises(InputError, match="there seems to be no header"):
        interleaving.read(name)
    columns = "session=1,position=2,team=3,outcome=4,user=5"
    study = interleaving.read(name, header="none", columns=columns, simulated_users=1000)
    expected = interleaving.read(frame, simulated_users=1000)
    assert study.log.estimates["value"].tolist() == expected.log.estimates["value"].tolist()


def test_ranking_without_a_header_and_a_table_of_queries(here):
    frame = pd.DataFrame({"q": ["a", "a", "b"], "d": ["x", "y", "x"], "s": [0.5, 0.25, 0.5], "g": [0, 1, 1]})
    name = headless(here, frame)
    columns = "query=1,item=2,score=3,grade=4"
    study = ranking.read(name, header="none", columns=columns, metrics="mrr")
    assert study.values()["t"].tolist() == [0.5, 1]


def test_two_equal_cells_in_the_first_row_are_no_two_columns_of_one_name(here):
    (here / "t.csv").write_text("0,0\n1,1\n")
    with pytest.raises(InputError, match="column names must be distinct, got '0' and '0'; there seems to be no header"):
        rating.read("t.csv")


def test_a_header_of_counted_numbers_is_a_header(here):
    """As pandas writes a table whose columns have no names."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.random((60, 3))).assign(target=np.arange(60) % 2)
    frame.to_csv("t.csv", index=False)
    assert len(validation.read(features="t.csv", seconds=1).examples) == 60
    frame.drop(columns="target").to_csv("u.csv", index=False)
    with pytest.raises(InputError) as error:
        validation.read(features="u.csv")
    assert "no header" not in str(error.value)


def test_header_takes_none_or_first(here):
    with pytest.raises(ParameterError, match="header must be one of none, first, got 'yes'"):
        ranking.read(header="yes")


# Item ids with blanks in run lines -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line, got",
    [
        ("q1 Q0 my doc 2 3.0 tag", "'q1 Q0 my doc 2 3.0 tag'"),
        ("q1 Q0 d 2 7 3.0 tag", "'q1 Q0 d 2 7 3.0 tag'"),
        ("q1 Q0 d 1.5 2 tag", "'q1 Q0 d 1.5 2 tag'"),
        ("q1 Q0 d x 2 tag", "'q1 Q0 d x 2 tag'"),
    ],
)
def test_a_run_line_whose_item_has_a_blank_is_refused(here, line, got):
    (here / "a.run").write_text(RUN + line + "\n")
    message = f"a.run: line 3 must be a run line, 'query Q0 item rank score tag', without blanks in ids, got {got}"
    with pytest.raises(InputError) as error:
        runs.read("a.run", pd.DataFrame({"query": ["q1"] * 3, "item": list("abc"), "grade": 1}))
    assert str(error.value).startswith(message)


def test_a_run_of_one_line_whose_item_has_a_blank_is_refused(here):
    (here / "a.run").write_text("q1 Q0 d 2 7 3.0 tag\n")
    with pytest.raises(InputError, match=r"line 1 must be a run line, .* without blanks in ids"):
        runs.read("a.run", pd.DataFrame({"query": ["q1"], "item": ["d"], "grade": [1]}))


def test_a_judgement_line_whose_item_has_a_blank_is_refused(here):
    (here / "qrels").write_text("q1 0 a 1\nq1 0 my 2 1\n")
    (here / "a.run").write_text(RUN)
    with pytest.raises(InputError, match=r"qrels: line 2 must be a judgement line, .* without blanks in ids"):
        runs.read("a.run", "qrels")


def test_tags_may_hold_blanks_and_ranks_may_start_at_0(here):
    (here / "a.run").write_text("q1 Q0 a 0 2.5 my own tag\nq1 Q0 b 1 1.5 run 2\nq1 Q0 c -1 1 3.0\n")
    data = runs.read("a.run", pd.DataFrame({"query": ["q1"] * 3, "item": list("abc"), "grade": 1}))
    assert sum(one.rows for one in data.accounts.values()) == 3


# Out of core ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ms marco", "no header"])
def test_duckdb_out_of_core_reads_the_same_ranked_lists(here, kind):
    if kind == "ms marco":
        (here / "run.tsv").write_text(MARCO)
        (here / "qrels.tsv").write_text(MARCO_QRELS)
        files, columns = (sources.parts("run.tsv"), sources.parts("qrels.tsv")), {}
    else:
        (here / "run.csv").write_text("".join(f"q{i % 9},d{i},{i % 7 / 4},{i % 2}\n" for i in range(90)))
        files, columns = (
            (sources.parts("run.csv", "none"), None),
            {"query": "1", "item": "2", "score": "3", "grade": "4"},
        )
    ask = PerQuery(lookup.find("map", "rankings"), 1.0)
    whole = runs.read(*files, columns=columns)
    with engine.opened(engine.budget(250 * 10**6, threads=2)) as opened:
        measured = sharded.measured(opened, Ranked.of(*files, columns=columns), [ask])
    assert whole.accounts == measured.accounts
    for system in whole.systems:
        in_memory, out_of_core = (data.measure(system, ask).numerator for data in (whole, measured))
        assert np.array_equal(in_memory, out_of_core, equal_nan=True)


def test_duckdb_out_of_core_reads_labels_and_scores_without_a_header(here):
    rng = np.random.default_rng(6)
    label = rng.integers(0, 2, 300)
    frame = pd.DataFrame({"label": label, "score": (rng.random(300) + label / 2).round(3) / 2})
    options = {"header": "none", "columns": "label=1,score=2", "metrics": "roc_auc"}
    whole = classification.read(headless(here, frame), **options).estimates
    limits = Limits(reading=Reading(rows=10))
    assert classified("t.csv", limits, **options).estimates["value"].tolist() == whole["value"].tolist()
