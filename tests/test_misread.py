"""Tables that would be read as something else than they are: refused, or read as meant."""

import json

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit.__main__ import main
from evalkit.arrays import InputError, ParameterError
from evalkit.reading.tables.parts import HEAD

rng = np.random.default_rng(66)
ROWS = 20
VALUES_A, VALUES_B = rng.random((2, ROWS)).round(3)  # of two systems, between 0 and 1
CELLS = {
    "(0.5)": [f"({value})" for value in VALUES_B],
    "1.2k": [f"{value}k" for value in VALUES_B],
    "7/10": [f"{i % 10}/10" for i in range(ROWS)],
    "np.float64(0.5)": [f"np.float64({value})" for value in VALUES_B],
    "PASS": ["PASS" if value > 0.5 else "FAIL" for value in VALUES_B],
    "correct": ["correct" if value > 0.5 else "incorrect" for value in VALUES_B],
}


def saved_table(table, folder, name):
    """The path of a table in a file of the format of the name."""
    path = folder / name
    if path.suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("file", ["t.csv", "t.jsonl"])
@pytest.mark.parametrize("form", CELLS)
def test_a_system_does_not_vanish_with_its_cells(tmp_path, file, form):
    table = pd.DataFrame({"query": [f"q{i}" for i in range(ROWS)], "a": VALUES_A, "b": CELLS[form]})
    with pytest.raises(InputError, match="b must hold numbers, got"):
        ek.significance(saved_table(table, tmp_path, file))


def test_ids_such_as_bm25_are_no_numbers():
    table = pd.DataFrame({"query": [f"bm{i}" for i in range(ROWS)], "a": VALUES_A, "b": VALUES_B})
    assert ek.significance(table).systems == ("a", "b")


def with_grouped_thousands(values):
    """Whole numbers as German tables write them."""
    return [f"{int(value):,}".replace(",", ".") for value in values]


@pytest.mark.parametrize(("file", "separator"), [("t.csv", ";"), ("t.tsv", "\t")])
def test_points_before_three_digits_beside_whole_numbers_are_thousands(tmp_path, file, separator):
    """Values up to 9000 are written as in German tables, such as 1.234 for 1234 and, without a
    point, 567. In a file with this separator, 1.234 could be read as a number near 1. Every report
    refuses this.
    """
    actual = with_grouped_thousands(VALUES_A * 9000)
    forecast = with_grouped_thousands(VALUES_B * 9000)
    lines = [f"{a}{separator}{f}\n" for a, f in zip(actual, forecast, strict=True)]
    path = tmp_path / file
    path.write_text(f"actual{separator}forecast\n" + "".join(lines))
    with pytest.raises(InputError, match=r"seems to group thousands by points"):
        ek.rating(path)
    with pytest.raises(InputError, match=r"seems to group thousands by points"):
        ek.significance(path, systems="actual,forecast")


def test_three_decimals_beside_other_decimals_are_decimals(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{1 + a:.3f};{1 + b:.3f};{a:.2f}\n" for a, b in zip(VALUES_A, VALUES_B, strict=True)]
    path.write_text("actual;forecast;z\n" + "".join(rows))
    assert ek.rating(path, metrics="mae").estimates["value"].iloc[0] < 1


@pytest.mark.parametrize("mark", [-999, -1, 99, 9999])
def test_marks_of_missing_values_are_no_values(mark):
    """Values lie between 0 and 1, but rows 0, 7 and 14 of 20 have a number such as -999, which
    tables often use for a missing value. It must not be averaged as a value, of a system or of a
    forecast: the message names it and the 3 rows.
    """
    marked = np.where(np.arange(ROWS) % 7 == 0, mark, VALUES_B)
    with pytest.raises(
        InputError, match=rf"value of b must not mark missing values by numbers, got {mark} in 3"
    ):
        ek.significance(pd.DataFrame({"query": range(ROWS), "a": VALUES_A, "b": marked}))
    with pytest.raises(
        InputError, match=rf"forecast must not mark missing values by numbers, got {mark} in 3"
    ):
        ek.rating(pd.DataFrame({"actual": VALUES_A, "forecast": marked}))


def test_minus_one_beside_whole_numbers_is_a_value():
    rewards = np.arange(ROWS) % 3 - 1.0
    table = pd.DataFrame({"query": range(ROWS), "a": VALUES_A, "b": rewards})
    assert ek.significance(table).systems == ("a", "b")


LISTS = pd.DataFrame(
    {
        "query": np.repeat(list("xyxzywxz"), 4),
        "item": [f"d{i}" for i in range(32)],
        "score": rng.random(32),
        "grade": np.arange(32) % 2,
    }
)


@pytest.mark.parametrize("name", ["query_id", "qid", "user_id"])
def test_the_id_beside_a_text_of_a_query_must_be_named(name):
    table = LISTS.assign(**{name: np.repeat(range(8), 4)})
    with pytest.raises(InputError, match=f"say which: columns='query={name}' or"):
        ek.ranking(table)
    chosen = ek.ranking(table, columns=f"query={name}", metrics="reciprocal_rank")
    assert chosen.estimates["n"].iloc[0] == 8


def test_another_grade_must_be_named():
    with pytest.raises(InputError, match="'grade' and 'relevance' differ"):
        ek.ranking(LISTS.assign(relevance=rng.integers(0, 4, 32)))


def test_a_score_that_rises_with_the_rank_is_a_distance():
    ranks = LISTS.groupby("query")["score"].rank()
    with pytest.raises(InputError, match="it rises from rank to rank; negate it"):
        ek.ranking(LISTS.assign(rank=ranks))
    with pytest.raises(InputError, match="it is called a distance"):
        ek.ranking(LISTS.rename(columns={"score": "l2_dist"}), columns="score=l2_dist")


@pytest.mark.parametrize(
    "names",
    [
        ["feedback.correctness", "feedback.helpfulness"],
        ["scores.Factuality", "metrics.duration"],
        ["QA Correctness.score", "Toxicity.score"],
    ],
)
def test_metrics_of_one_system_are_no_systems(names):
    with pytest.raises(InputError, match="must be a system, got metrics"):
        ek.significance(pd.DataFrame({"id": range(ROWS), names[0]: VALUES_A, names[1]: VALUES_B}))


@pytest.mark.parametrize("step", ["epoch", "global_step"])
def test_steps_of_a_training_are_no_units(step):
    with pytest.raises(InputError, match=r"of a training run, not a unit|columns of a tracker"):
        ek.significance(pd.DataFrame({step: range(ROWS), "run_a": VALUES_A, "run_b": VALUES_B}))


@pytest.mark.parametrize("date", ["date", "week"])
def test_totals_by_day_are_no_users(date):
    days = {date: [*range(14)] * 2, "variant": ["A"] * 14 + ["B"] * 14, "orders": [2, 3] * 14}
    with pytest.raises(InputError, match="one row per user, got several totals per variant"):
        ek.interleaving(users=pd.DataFrame(days), metrics="orders")


def test_a_column_has_one_role():
    table = pd.DataFrame({"y": VALUES_A > 0.5, "s": VALUES_B})
    with pytest.raises(ParameterError, match="'y' can have one role, got label and score"):
        ek.classification(table, columns="label=y,score=y")


def test_the_page_names_the_column_of_weights():
    table = pd.DataFrame({"actual": VALUES_A, "forecast": VALUES_B, "weight": VALUES_B * 100})
    assert any("by the column weight;" in text for text in ek.rating(table).findings["message"])


SCORES_BY_QUERY = {f"q{i}": {"a": 0.5, "b": 0.9 if i % 2 else 0.1} for i in range(6)}
QRELS = {f"q{i}": {"a": 1, "b": 0} for i in range(6)}


def test_dicts_of_scores_by_query_and_item_are_lists():
    other = {query: {"a": np.float32(0.9), "b": 0.1} for query in SCORES_BY_QUERY}
    study = ek.ranking({"m": SCORES_BY_QUERY, "n": other}, QRELS, metrics="reciprocal_rank")
    assert dict(study.estimates[["system", "value"]].to_numpy()) == {"m": 0.75, "n": 1.0}


def test_each_of_several_files_is_a_system_called_by_its_name(tmp_path):
    of_a = pd.DataFrame({"question": range(ROWS), "quality": VALUES_A})
    of_b = pd.DataFrame({"question": range(ROWS), "quality": VALUES_B})
    paths = [saved_table(of_a, tmp_path, "a.csv"), saved_table(of_b, tmp_path, "b.csv")]
    study = ek.significance(paths, columns="unit=question,value=quality")
    assert {*study.systems} == {"a", "b"}


def test_remote_paths_are_refused_by_their_reason():
    for path in ("s3://bucket/x.csv", "https://host/x.csv", "gs://bucket/x.csv"):
        with pytest.raises(InputError, match="only files on this machine are read"):
            ek.rating(path)


HOSTILE = "x\x1b]0;pwn\x07\x1b[31mred\nFAKE\r\x9b2J\u202eend"  # sets titles, colours and lines


def files_with_hostile_names(folder):
    """Files whose names of systems, columns, classes, units and values are hostile."""
    scores = {f"score_{HOSTILE}": VALUES_B, "score_b": VALUES_A}
    tables = {
        "wide": {"label": VALUES_A > 0.5, **scores, HOSTILE: [HOSTILE] * ROWS},
        "values": {
            "query": [f"{HOSTILE}{i}" for i in range(ROWS)],
            HOSTILE: VALUES_A,
            "b": VALUES_B,
        },
        "text": {HOSTILE: [HOSTILE] * ROWS},
        "cell": {"label": VALUES_A > 0.5, "score": [HOSTILE] * ROWS},
        "twice": {"id": [HOSTILE] * ROWS, "label": VALUES_A > 0.5, "score": VALUES_B},
    }
    paths = {name: str(folder / f"{name}.parquet") for name in tables}
    for name, columns in tables.items():
        pd.DataFrame(columns).to_parquet(paths[name])
    return paths


def check_that_nothing_hostile_is_printed(shown):
    """Check that a terminal gets no control characters, and no line of its own from a name."""
    text = shown.out + shown.err
    assert text
    assert not set("\x1b\x07\r\x9b\u202e") & set(text)
    assert not any(line.strip().startswith("FAKE") for line in text.splitlines())


@pytest.mark.parametrize("name", ["wide", "values", "text", "cell", "twice"])
@pytest.mark.parametrize(
    "command", [["inspect"], ["inspect", "--why"], ["report", "ranking", "-p", "preds"]]
)
def test_control_characters_do_not_reach_a_terminal(tmp_path, capsys, command, name):
    main([*command, files_with_hostile_names(tmp_path)[name]])
    check_that_nothing_hostile_is_printed(capsys.readouterr())


@pytest.mark.usefixtures("undrawn")  # what is printed matters, not the page
def test_control_characters_of_a_report_do_not_reach_a_terminal(tmp_path, capsys):
    """The text HOSTILE has escape sequences, line ends and the word FAKE. It is the name of a
    system, of a segment and of its value, and the title of the report. None of the commands that
    read the report may print these characters or a line that begins with FAKE.
    """
    wide = files_with_hostile_names(tmp_path)["wide"]
    folder = str(tmp_path / "r")
    policy = tmp_path / "p.toml"
    policy.write_text('name = "a\\u001b[31m\\nFAKE"\n[[rules]]\nthat = "roc_auc"\n')
    report = ["report", "-p", "preds", wide, "-p", "segments", HOSTILE, "-p", "title", HOSTILE]
    results = f"{folder}/classification.json"
    commands = [
        [*report, "-o", folder],
        ["report", "classification", "--each", wide, "-o", str(tmp_path / "s")],
        ["summary", results],
        ["index", folder],
        ["diff", folder, folder, "-o", str(tmp_path / "d")],
        ["check", results, f"roc_auc of {HOSTILE} >= 0.9"],
        ["check", results, str(policy)],
        ["check", "--plan", str(policy), results],
        ["explain", "roc_auc", "--theirs", "0.5", "-p", "preds", wide],
    ]
    for command in commands:
        main(command)
        check_that_nothing_hostile_is_printed(capsys.readouterr())


@pytest.mark.parametrize(
    "command",
    [
        [HOSTILE],
        ["report", HOSTILE],
        ["report", "rating", "-p", HOSTILE, "1"],
        ["report", "rating", "-p", "preds", HOSTILE],
        ["report", "rating", "-f", HOSTILE],
        ["inspect", HOSTILE],
        ["summary", HOSTILE],
        ["index", HOSTILE],
        ["diff", HOSTILE, HOSTILE],
        ["check", HOSTILE],
        ["explain", HOSTILE, "--theirs", "1"],
        ["explain", "mae", "--theirs", HOSTILE],
        ["parameters", HOSTILE],
        ["notebook", HOSTILE],
    ],
)
def test_control_characters_of_arguments_do_not_reach_a_terminal(capsys, command):
    assert main(command) != 0
    check_that_nothing_hostile_is_printed(capsys.readouterr())


def test_control_characters_of_a_figure_do_not_reach_a_terminal(tmp_path, capfd):
    table = pd.DataFrame({"query": PROMPTS * 2, "a\x1b[31m": VALUES_A[:16], "b": VALUES_B[:16]})
    path = saved_table(table, tmp_path, "t.jsonl")
    main(["report", "significance", "-p", "preds", str(path), "-o", str(tmp_path)])
    shown = capfd.readouterr()
    assert "\x1b" not in shown.out + shown.err


def test_a_name_that_is_not_in_utf_8_is_refused(capsys):
    assert main(["report", "rating", "-p", "preds", "caf\udce9.csv"]) == 2
    assert "must be UTF-8" in capsys.readouterr().err


@pytest.mark.usefixtures("undrawn")
def test_parameters_may_be_in_yaml(tmp_path, capsys):
    path = saved_table(pd.DataFrame({"actual": VALUES_A, "forecast": VALUES_B}), tmp_path, "t.csv")
    file = tmp_path / "p.yaml"
    file.write_text(f"preds: {path}\nmetrics: [mae]\nbaseline: null\n")
    assert main(["report", "rating", "-f", str(file), "-o", str(tmp_path)]) == 0


def saved_json(content, folder, name):
    """The path of a JSON document."""
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def test_json_files_of_scores_by_query_and_item_are_lists(tmp_path):
    qrels = saved_json(QRELS, tmp_path, "qrels.json")
    runs = [saved_json(SCORES_BY_QUERY, tmp_path, "m.json"), saved_json(QRELS, tmp_path, "n.json")]
    study = ek.ranking(runs, qrels, metrics="reciprocal_rank")
    assert dict(study.estimates[["system", "value"]].to_numpy()) == {"m": 0.75, "n": 1.0}


def test_a_key_twice_in_json_is_refused(tmp_path):
    path = tmp_path / "run.json"
    path.write_text('{"q1": {"a": 1, "a": 2}}')
    with pytest.raises(InputError, match="a key must appear once, got 'a' again"):
        ek.ranking(path, QRELS)


def test_metrics_by_query_are_refused_with_the_report_that_reads_them(tmp_path):
    """A JSON file has the metrics map and ndcg for each query. It looks like a ranked list, a score
    for each query and item, with metrics as items. The ranking report refuses it and names the
    significance report with the columns to state, which then reads it.
    """
    metrics_by_query = {f"q{i}": {"map": i / 8, "ndcg": i / 9} for i in range(6)}
    paths = [saved_json(metrics_by_query, tmp_path, f"{system}.json") for system in ("m", "n")]
    columns = "unit=query,metric=item,value=score"
    with pytest.raises(InputError, match=f"per system to report significance, with .*{columns}"):
        ek.ranking(paths)
    assert ek.significance(paths, columns=columns).systems == ("m", "n")


def test_chunks_of_one_item_are_refused_with_the_way():
    twice = pd.concat([LISTS, LISTS.head(1)])
    with pytest.raises(InputError, match="chunks of one item, keep the row with its best score"):
        ek.ranking(twice)


RECOMMENDED = pd.DataFrame(
    {"user_id": list("uuuvv"), "item_id": list("abcab"), "rank": [1, 2, 3, 1, 2]}
)
BOUGHT = pd.DataFrame({"user": list("uuv"), "item": list("acb")})


@pytest.mark.parametrize("file", ["t.csv", "t.jsonl"])
@pytest.mark.parametrize("names", [("user", "item"), ("userId", "movieId"), ("query", "doc_id")])
def test_judgements_without_grades_are_relevant_items(tmp_path, file, names):
    table = BOUGHT.set_axis(names, axis=1)
    for qrels in (table, saved_table(table, tmp_path, file)):
        study = ek.ranking(RECOMMENDED, qrels, metrics="precision@2,recall@3")
        assert list(study.estimates["value"]) == [0.5, 1.0]
        assert "EK152" in set(study.findings["code"])


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("minutes", [0, 3, 5]),
        ("esci_label", ["E", "E", "S"]),
        ("split", ["test", "train", "test"]),
    ],
)
def test_a_column_that_could_be_the_grade_must_be_named(name, cells):
    """Judgements are a table of a user and an item per row, with one more column."""
    judgements = BOUGHT.assign(**{name: cells})
    with pytest.raises(InputError, match=f"'{name}' could be: columns='grade={name}'"):
        ek.ranking(RECOMMENDED, judgements)


VERDICTS = ["A"] * 4 + ["B"] * 2 + ["tie"] * 2
PROMPTS = [f"p{i}" for i in range(8)]


@pytest.mark.parametrize("file", ["t.csv", "t.jsonl"])
def test_verdicts_are_shares_of_wins(tmp_path, file):
    """Each of 8 prompts has a winner. A wins 4, B wins 2, and 2 are ties, each half a win: (4 + 1)
    / 8 and (2 + 1) / 8. The table is read from a frame and from a file. The finding EK132 tells
    that verdicts were read.
    """
    table = pd.DataFrame({"prompt_id": PROMPTS, "winner": VERDICTS})
    for preds in (table, saved_table(table, tmp_path, file)):
        study = ek.significance(preds)
        rates = study.estimates.set_index("system")["value"]
        assert dict(rates) == {"A": 0.625, "B": 0.375}
        # sign test of 4 to 2: 2 (C(6, 0) + C(6, 1) + C(6, 2)) / 2⁶ = 2 · 22 / 64
        assert study.comparisons["p"].iloc[0] == pytest.approx(0.6875)
        assert "EK132" in set(study.findings["code"])


def test_verdicts_between_models_on_either_side_are_of_the_models():
    sides = [["new", "old"], ["old", "new"]] * 4
    table = pd.DataFrame(sides, columns=["model_a", "model_b"])
    verdicts = ["model_a", "model_b", "tie (bothbad)", "new"] * 2
    rates = ek.significance(table.assign(winner=verdicts)).estimates.set_index("system")["value"]
    assert dict(rates) == {"new": 0.875, "old": 0.125}


def flags_of_verdicts(a, b, tie):
    """Eight verdicts as three columns of 0 and 1 of these names: A wins 4, B 2, and 2 are ties."""
    a_wins = [1, 1, 1, 1, 0, 0, 0, 0]
    b_wins = [0, 0, 0, 0, 1, 1, 0, 0]
    is_tie = [0, 0, 0, 0, 0, 0, 1, 1]
    return pd.DataFrame({"prompt_id": PROMPTS, a: a_wins, b: b_wins, tie: is_tie})


NAMES_OF_FLAGS = pytest.mark.parametrize(
    "names", [("winner_model_a", "winner_model_b", "winner_tie"), ("win_a", "win_b", "win_tie")]
)


@pytest.mark.parametrize("file", ["t.csv", "t.jsonl"])
@NAMES_OF_FLAGS
def test_verdicts_may_be_columns_of_0_and_1(tmp_path, file, names):
    """A tie is half a win of each: (4 + 1) / 8 and (2 + 1) / 8."""
    path = saved_table(flags_of_verdicts(*names), tmp_path, file)
    rates = ek.significance(path).estimates.set_index("system")["value"]
    assert dict(rates) == {"A": 0.625, "B": 0.375}


@NAMES_OF_FLAGS
def test_verdicts_in_columns_of_0_and_1_are_of_the_models_that_the_table_names(names):
    table = flags_of_verdicts(*names).assign(model_a="new", model_b="old")
    rates = ek.significance(table).estimates.set_index("system")["value"]
    assert dict(rates) == {"new": 0.625, "old": 0.375}


@NAMES_OF_FLAGS
def test_verdicts_in_columns_of_0_and_1_must_have_one_1_in_each_row(names):
    table = flags_of_verdicts(*names)
    _, b, _ = names
    table[b] = 1 - table[b]  # the first row has a 1 for A already
    with pytest.raises(InputError, match=r"row 1: columns .* must have one 1 in each row, got"):
        ek.significance(table)


def test_verdicts_of_two_games_are_refused_with_the_way():
    games = {"g1_winner": ["model_1", "model_2", "tie"], "g2_winner": ["model_1", "tie", "tie"]}
    with pytest.raises(InputError, match="write one row for each of them"):
        ek.significance(pd.DataFrame({"model_1": "x", "model_2": "y", **games}))


def test_verdicts_between_more_than_two_models_are_refused():
    table = pd.DataFrame({"model_a": list("xxyy"), "model_b": list("yzzz"), "winner": "model_a"})
    with pytest.raises(InputError, match="must name the same two models in each row, got 3"):
        ek.significance(table)


def test_a_cell_that_is_no_verdict_is_refused():
    table = pd.DataFrame({"model_a": "x", "model_b": "y", "winner": [*VERDICTS, "error"]})
    with pytest.raises(InputError, match=r"two systems \('x', 'y'\) or a tie .* 'error' \(row 9\)"):
        ek.significance(table)


@pytest.mark.parametrize("cells", [["pass", "fail"], ["win", "loss"], ["yes", "no"]])
def test_judgements_of_one_system_are_no_verdicts(cells):
    with pytest.raises(InputError):
        ek.significance(pd.DataFrame({"prompt_id": PROMPTS, "verdict": cells * 4}))


def test_other_reports_answer_verdicts_by_the_command_that_reads_them():
    table = pd.DataFrame({"prompt_id": PROMPTS, "winner": VERDICTS})
    for read in (ek.rating, ek.classification, ek.ranking):
        with pytest.raises(InputError, match=r"evalkit\.significance\(preds=data\)"):
            read(table)


SCORES_OF_BOTH_CLASSES = pd.DataFrame(
    {"label": VALUES_A > 0.5, "score_ham": VALUES_B, "score_spam": 1 - VALUES_B}
)


@pytest.mark.parametrize("file", ["t.csv", "t.jsonl"])
def test_scores_of_both_classes_are_no_two_systems(tmp_path, file):
    for preds in (SCORES_OF_BOTH_CLASSES, saved_table(SCORES_OF_BOTH_CLASSES, tmp_path, file)):
        with pytest.raises(InputError, match=r"sum to 1 in every row.*columns='score=score_spam'"):
            ek.classification(preds)


def test_scores_that_sum_to_1_in_the_first_rows_alone_are_of_two_systems():
    """Columns are recognised by their first `HEAD` = 2,000 rows. The columns score_ham and
    score_spam sum to 1 in all of these, as the probabilities of two classes would. In the last row
    of the longer table they sum to 0.3, so that they must be the scores of two systems.
    """
    repeats = HEAD // len(SCORES_OF_BOTH_CLASSES) + 2  # more than HEAD rows in all
    table = pd.concat([SCORES_OF_BOTH_CLASSES] * repeats, ignore_index=True)
    table.loc[len(table) - 1, "score_spam"] = 0.0
    table.loc[len(table) - 1, "score_ham"] = 0.3
    assert len(ek.classification(table, metrics="roc_auc").systems) == 2


@pytest.mark.parametrize("file", ["t.csv", "t.jsonl"])
def test_a_probability_called_pos_is_that_of_the_other_class(tmp_path, file):
    table = SCORES_OF_BOTH_CLASSES.set_axis(["label", "neg", "pos"], axis=1)
    for preds in (table, saved_table(table, tmp_path, file)):
        with pytest.raises(InputError, match=r"'neg' and 'pos' sum to 1 in every row"):
            ek.classification(preds)


LONG_SCORES_OF_BOTH_CLASSES = SCORES_OF_BOTH_CLASSES.reset_index(names="id").melt(
    ["id", "label"], var_name="model", value_name="score"
)


@pytest.mark.parametrize("file", ["t.csv", "t.jsonl"])
def test_scores_of_both_classes_in_a_long_table_are_no_two_systems(tmp_path, file):
    """A long table has a row for each id and each of score_ham and score_spam in the column model.
    The two sum to 1 for each id, as the probabilities of two classes do, so that they are not two
    systems. This is refused, in a frame and in a file, with the parameter that reads one of them.
    """
    for preds in (
        LONG_SCORES_OF_BOTH_CLASSES,
        saved_table(LONG_SCORES_OF_BOTH_CLASSES, tmp_path, file),
    ):
        with pytest.raises(InputError, match=r"sum to 1 in every row.*systems='score_spam'"):
            ek.classification(preds)


def test_one_class_of_a_long_table_is_read_by_its_name():
    study = ek.classification(LONG_SCORES_OF_BOTH_CLASSES, systems="score_spam", metrics="roc_auc")
    wide = ek.classification(SCORES_OF_BOTH_CLASSES, columns="score=score_spam", metrics="roc_auc")
    assert study.estimates["value"].tolist() == wide.estimates["value"].tolist()


def test_scores_of_both_classes_are_read_if_the_user_says_what_they_are():
    """The columns score_ham and score_spam sum to 1 in each row, as the probabilities of two
    classes do, which is refused unless the user says what is meant. They may be named as the score
    of one class, which is one system, or as two systems.
    """
    spam = ek.classification(SCORES_OF_BOTH_CLASSES, columns="score=score_spam", metrics="roc_auc")
    assert len(spam.systems) == 1
    both = ek.classification(
        SCORES_OF_BOTH_CLASSES, systems="score_ham,score_spam", metrics="roc_auc"
    )
    assert len(both.systems) == 2


def test_a_run_whose_scores_contradict_its_ranks_is_named(tmp_path):
    lines = [f"q{q} Q0 d{i} {i + 1} {s} t\n" for q in range(3) for i, s in enumerate((1, 3, 2))]
    (tmp_path / "a.run").write_text("".join(lines))
    qrels = {f"q{q}": {"d1": 1} for q in range(3)}
    findings = ek.ranking(tmp_path / "a.run", qrels).findings.set_index("code")["message"]
    assert "a.run in 3 of the first 3 lists" in findings["EK153"]


def test_equal_ranks_contradict_nothing(tmp_path):
    lines = [f"q Q0 d{i} 0 {i} t\n" for i in range(3)]
    (tmp_path / "a.run").write_text("".join(lines))
    assert "EK153" not in set(ek.ranking(tmp_path / "a.run", {"q": {"d1": 1}}).findings["code"])


@pytest.mark.parametrize(("cell", "got"), [(None, "nothing"), ("€ 5", "'€ 5'"), ("-", "'-'")])
@pytest.mark.parametrize("file", ["t.csv", "t.jsonl"])
def test_what_is_wrong_with_a_column_of_users_is_said(tmp_path, file, cell, got):
    """The revenue of the fourth user, in a frame and in a file, is a cell that is no number. The
    message has its row and what was got.
    """
    revenue = [str(i * i % 7) for i in range(ROWS)]
    revenue[3] = cell  # the fourth row
    users = pd.DataFrame({"user": range(ROWS), "arm": ["A", "B"] * (ROWS // 2), "revenue": revenue})
    for table in (users, saved_table(users, tmp_path, file)):
        with pytest.raises(InputError, match=f"row 4: revenue must be a number, got {got}"):
            ek.interleaving(users=table)


SIDES = pd.Series(["x", "y"] * (ROWS // 2), name="side")  # a value for each row


def test_segments_may_be_a_series_beside_arrays():
    label = VALUES_A > 0.5
    study = ek.classification(y_true=label, y_score=VALUES_B, metrics="roc_auc", segments=SIDES)
    assert {*study.by_segment["slice"]} == {"x", "y"}


def test_segments_may_not_be_a_series_beside_a_table():
    table = pd.DataFrame({"label": VALUES_A > 0.5, "score": VALUES_B})
    with pytest.raises(ParameterError, match="add these values to it as 'side'"):
        ek.classification(table, segments=SIDES)


PREDICTIONS = pd.DataFrame(
    {
        "id": [f"i{i}" for i in range(ROWS)],
        "y_true": VALUES_A > 0.5,
        "forest": VALUES_A,
        "logit": VALUES_B,
    }
)
LONG_PREDICTIONS = PREDICTIONS.melt(["id", "y_true"], var_name="model", value_name="forecast")


@pytest.mark.parametrize("file", ["t.csv", "t.jsonl"])
@pytest.mark.parametrize(
    ("table", "report"),
    [
        (PREDICTIONS, "classification"),
        (
            LONG_PREDICTIONS.assign(
                y_true=LONG_PREDICTIONS["forecast"] / 2, horizon=1 + LONG_PREDICTIONS.index % 3
            ),
            "rating",
        ),
        (
            LONG_PREDICTIONS.assign(y_pred=["x", "y"] * ROWS, y_true=["x"] * ROWS + ["y"] * ROWS),
            "classification",
        ),
    ],
)
def test_predictions_are_answered_by_the_report_that_reads_them(tmp_path, file, table, report):
    with pytest.raises(InputError, match=f"evalkit report {report} "):
        ek.significance(saved_table(table, tmp_path, file))


def test_labels_of_no_usual_name_beside_probabilities_are_declared():
    table = PREDICTIONS.rename(columns={"y_true": "default"})
    table["default"] = table["default"].astype(int)
    more = pd.concat([table, table.assign(id=table["id"] + "x", forest=VALUES_B, logit=VALUES_A)])
    assert "EK133" in set(ek.significance(more).findings["code"])


@pytest.mark.parametrize("order", [("a.csv", "b.csv"), ("b.csv", "a.csv")], ids=str)
def test_a_label_found_by_the_scores_of_one_file_is_that_of_all_files(tmp_path, monkeypatch, order):
    """The column of labels, "bought", has no usual name: it is found as a column of 0 and 1 that
    the scores separate. The scores in file a do; those in file b are noise. So the label is found
    by file a, whichever file comes first in `order`.
    """
    monkeypatch.chdir(tmp_path)
    label = np.arange(40) % 2
    table = pd.DataFrame({"id": range(40), "bought": label})
    saved_table(table.assign(prob=label / 2 + rng.random(40) / 2), tmp_path, "a.csv")
    saved_table(table.assign(prob=rng.random(40)), tmp_path, "b.csv")
    study = ek.classification(list(order), metrics="roc_auc")
    assert sorted(study.systems) == ["a", "b"]
