"""Tables of values per unit as people have them: each is understood rightly, or refused in one line."""

import numpy as np
import pandas as pd
import pytest
from engine_samples import compared
from significance_tables import long, rng, told, wide

from evalkit.arrays import InputError, ParameterError
from evalkit.studies import interleaving, significance


def answers(questions=20, samples=5, **columns) -> pd.DataFrame:
    """Sampled answers of two models, of which a is right more often."""
    rows = pd.MultiIndex.from_product(
        [[f"q{i:02}" for i in range(questions)], ["a", "b"], range(samples)], names=["question_id", "model", "sample"]
    ).to_frame(index=False)
    right = np.where(rows["model"] == "a", 0.8, 0.4)
    category = rows["question_id"].str[-1].map(lambda digit: "even" if int(digit) % 2 == 0 else "odd")
    correct = (rng(1).random(len(rows)) < right).astype(int)
    return rows.assign(category=category, correct=correct, **columns)


def first(table, **parameters):
    return significance.read(table, **parameters).comparisons.iloc[0]


# Long tables


@pytest.mark.parametrize("words", [2, 3])
def test_a_column_of_which_half_is_numbers_is_meant_as_numbers(words):
    table = (
        wide(4).assign(c=["0.1", "0.2", "x", "y"]) if words == 2 else wide(5).assign(c=["0.1", "0.2", "x", "y", "z"])
    )
    if words == 2:
        with pytest.raises(InputError, match=r"c must hold numbers, got 'x' \(row 3\)"):
            significance.read(table)
    else:
        assert "c" not in significance.read(table).systems


def test_a_long_table_of_sampled_answers_compares_models_by_question():
    table = answers()
    study = significance.read(table)
    assert set(study.systems) == {"a", "b"}
    row = study.comparisons.iloc[0]
    assert row[["first", "second", "n", "unit"]].tolist() == ["a", "b", 20, "question"]
    means = table.groupby(["question_id", "model"])["correct"].mean().unstack()
    assert row["difference"] == pytest.approx((means["a"] - means["b"]).mean())
    assert "200 rows are draws, 5 per question_id and system" in told(study)
    assert "unit = question_id, system = model, value = correct" in told(study)


def test_each_unit_counts_once_however_many_draws_it_has():
    table = answers(samples=1)
    many = pd.concat([table, *[table[table["question_id"] == "q00"]] * 50])
    assert first(many)["difference"] == pytest.approx(first(table)["difference"])
    assert first(many)["p"] == first(table)["p"]
    assert "140 rows are draws, up to 51 per" in told(significance.read(many))


def test_a_unit_beside_the_question_is_the_cluster():
    table = answers()
    table["category"] = [f"c{int(q[1:]) % 7}" for q in table["question_id"]]
    study = significance.read(table, unit="category")
    row = study.comparisons.iloc[0]
    assert (row["n"], row["unit"]) == (7, "category")
    assert row["difference"] == pytest.approx(first(table)["difference"])
    assert "20 rows of 7 categories" in told(study)
    assert "unit = question_id, cluster = category" in told(study)


def test_a_table_without_a_value_column_is_refused_with_the_candidates():
    table = answers().rename(columns={"correct": "seconds"}).assign(tokens=3.0)
    with pytest.raises(InputError, match="must have one column of values, got the candidates 'seconds', 'tokens'; say"):
        significance.read(table)
    assert set(significance.read(table, columns="value=seconds").systems) == {"a", "b"}
    with pytest.raises(InputError, match="must have a numeric column of values; the other columns are"):
        significance.read(table.drop(columns=["seconds", "tokens"]))


def test_the_only_column_of_numbers_is_the_value_and_the_page_says_so():
    study = significance.read(answers().rename(columns={"correct": "seconds"}).assign(rank=1, seed=3, user_id=9))
    assert set(study.systems) == {"a", "b"}
    assert "The values are those of seconds, the only numeric column" in told(study)
    assert "Numeric columns that were not compared: " in told(study)


def test_a_usual_name_of_the_value_beats_other_numbers():
    study = significance.read(answers(latency=1.5))
    assert study.comparisons.iloc[0]["difference"] == first(answers())["difference"]
    assert "not compared: sample, latency" in told(study)


def test_systems_that_are_columns_make_a_table_with_a_system_column_wide():
    table = wide().assign(model="m", sample=1)
    assert set(significance.read(table, systems="a,b").systems) == {"a", "b"}
    assert set(significance.read(wide().assign(seed=1.0), systems="a,seed").systems) == {"a", "seed"}


def test_which_text_names_the_unit_must_be_clear():
    table = answers().rename(columns={"question_id": "prompt text"})
    with pytest.raises(
        InputError,
        match=r"must name the unit.*'prompt text', 'category'; say which: columns='unit=prompt te",
    ):
        significance.read(table)
    assert first(table, columns="unit=prompt text")["n"] == 20


def test_a_run_of_numbers_beside_a_model_is_a_repetition():
    study = significance.read(answers().rename(columns={"sample": "run"}))
    assert set(study.systems) == {"a", "b"}
    wide_runs = pd.DataFrame({"run": range(10), "a": rng(1).random(10), "b": rng(2).random(10)})
    assert set(significance.read(wide_runs).systems) == {"a", "b"}


def test_repeated_folds_are_folds_of_their_repetition():
    rows = pd.MultiIndex.from_product([range(3), range(5), ["a", "b"]], names=["repeat", "fold", "system"])
    table = rows.to_frame(index=False).assign(value=rng(1).random(30))
    row = first(table)
    assert (row["n"], row["unit"]) == (15, "fold")
    assert "draws" not in told(significance.read(table))
    once = table[table["repeat"] == 0].drop(columns="repeat")
    assert (first(once)["n"], first(once)["unit"]) == (5, "fold")


def test_true_and_false_are_1_and_0(tmp_path):
    table = answers()
    expected = first(table)
    table["correct"] = table["correct"].astype(bool)
    table.to_csv(tmp_path / "long.csv", index=False)
    for data in (table, str(tmp_path / "long.csv")):
        assert first(data)[["difference", "p"]].tolist() == expected[["difference", "p"]].tolist()


# Wide tables


@pytest.mark.parametrize(
    "name",
    ["sample", "repeat", "seed", "fold", "trial", "id", "user_id", "rank", "position", "Unnamed: 0", "questionId"],
)
def test_ids_repetitions_and_positions_are_no_systems(name):
    study = significance.read(wide().assign(**{name: np.arange(60) * 10.0}))
    assert set(study.systems) == {"a", "b"}
    assert study.comparisons.iloc[0][["n", "p"]].tolist() == first(wide())[["n", "p"]].tolist()
    assert f"not compared: {name}" in told(study)


def test_rows_of_one_unit_in_a_wide_table_are_draws():
    table = wide()
    noise = rng(4).normal(0, 0.3, 120)
    twice = pd.concat([table] * 2, ignore_index=True)
    twice["a"] += noise
    study = significance.read(twice.assign(seed=np.repeat([1, 2], 60)))
    row = study.comparisons.iloc[0]
    assert (row["n"], row["unit"]) == (60, "query")
    assert "120 rows are draws, 2 per query" in told(study)
    more = pd.concat([twice, *[twice[twice["query"] == "q3"]] * 30])
    assert first(more)["difference"] == pytest.approx(row["difference"])


def test_questions_within_a_named_cluster():
    table = wide().assign(user=[f"u{i % 6}" for i in range(60)])
    study = significance.read(table, unit="user")
    assert (study.comparisons.iloc[0]["n"], study.comparisons.iloc[0]["unit"]) == (6, "user")
    twice = significance.read(pd.concat([table] * 2), unit="user")
    assert "120 rows are draws, 2 per query" in told(twice)
    assert twice.comparisons.iloc[0]["p"] == study.comparisons.iloc[0]["p"]


def test_several_wrong_cells_are_listed_at_once(tmp_path):
    table = wide().astype({"b": object})
    table.loc[[1, 5, 7, 9], "b"] = "n/a"
    table.to_csv(tmp_path / "wide.csv", index=False)
    with pytest.raises(InputError, match=r"'n/a' \(row 2\), 'n/a' \(row 6\), 'n/a' \(row 8\) and 1 more; leave a cell"):
        significance.read(str(tmp_path / "wide.csv"))


def test_decimal_commas_are_refused_and_never_the_unit(tmp_path):
    table = wide().drop(columns="query").map(lambda x: f"{x:.3f}".replace(".", ","))
    table.to_csv(tmp_path / "wide.csv", index=False, sep=";")
    with pytest.raises(InputError, match=r"a must hold numbers, got .* decimal point"):
        significance.read(str(tmp_path / "wide.csv"))


def test_a_column_without_values_is_told():
    study = significance.read(wide().assign(c=np.nan))
    assert "Columns without any value: c." in told(study)


# trec_eval -q


def trec_eval(folder, run, values, head="") -> str:
    lines = [f"{m:<22}\t{q}\t{v:.4f}\n" for q, row in values.items() for m, v in row.items()]
    lines += [f"{m:<22}\tall\t0.5000\n" for m in next(iter(values.values()))]
    path = folder / f"{run}.txt"
    path.write_text("".join([head, *lines]))
    return str(path)


@pytest.mark.parametrize("head", ["", "runid                 \tall\t{}\n"])
def test_the_output_of_trec_eval_is_read_by_query(tmp_path, head):
    table = wide(30)
    paths = []
    for name in ("a", "b"):
        values = {q: {"map": v, "P_10": v / 2} for q, v in zip(table["query"], table[name].round(4), strict=True)}
        paths.append(trec_eval(tmp_path, name, values, head.format(name)))
    study = significance.read(",".join(paths))
    row = study.comparisons.iloc[0]
    assert row[["metric", "first", "second", "n", "unit"]].tolist() == ["map", "a", "b", 30, "query"]
    expected = (table["a"].round(4) - table["b"].round(4)).mean()
    assert row["difference"] == pytest.approx(expected)
    assert "4 summary lines ('all') left out" in told(study)
    assert "Measures that were not compared: P_10. [EK103]" in told(study)
    both = significance.read(paths, metrics="P_10,map")
    assert [chosen.label for chosen in both.settings.metrics] == ["P_10", "map"]


def test_what_trec_eval_cannot_mean_is_refused(tmp_path):
    path = trec_eval(tmp_path, "a", {"q1": {"map": 0.5}})
    with pytest.raises(InputError, match="two files hold the run 'a'"):
        significance.read([path, path])
    (tmp_path / "all.txt").write_text("map\tall\t0.5\nP_5\tall\t0.2\n")
    with pytest.raises(InputError, match="the values of each query, got only the summary 'all'; run trec_eval with -q"):
        significance.read(str(tmp_path / "all.txt"))
    (tmp_path / "bad.txt").write_text("map\tq1\t0.5\nmap\tq2\tx\n")
    with pytest.raises(InputError, match=r"must be a number, got 'x' \(line 2\)"):
        significance.read(str(tmp_path / "bad.txt"))
    with pytest.raises(ParameterError, match="unit: only for "):
        significance.read(path, unit="query")


# Tables that could be meant in two ways


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_questions_numbered_anew_in_each_data_set_are_not_taken_for_draws(shape):
    rows = [(name, i, rng(i + 7).random(), rng(i).random()) for name in ("arc", "mmlu") for i in range(10)]
    table = pd.DataFrame(rows, columns=["dataset", "question_id", "a", "b"])
    if shape == "long":
        table = table.melt(id_vars=["dataset", "question_id"], var_name="model", value_name="correct")
    with pytest.raises(InputError, match=r"rows of one question_id differ in 'dataset': .* columns='unit=question_id'"):
        significance.read(table)
    assert first(table, columns="unit=question_id")["n"] == 10
    assert first(table.assign(question_id=table["dataset"] + table["question_id"].astype(str)))["n"] == 20
    assert first(table, unit="dataset")["n"] == 2
    assert first(table[table["dataset"] == "arc"])["n"] == 10


@pytest.mark.parametrize("shape", ["long", "wide"])
@pytest.mark.parametrize("unit", ["question_id", "task"])
@pytest.mark.parametrize("of", [int, str])
def test_questions_numbered_anew_in_each_subject_are_not_taken_for_draws(shape, unit, of):
    rows = [(of(s), i, rng(i + 7 * s).random(), rng(i + s).random()) for s in range(4) for i in range(10)]
    table = pd.DataFrame(rows, columns=["subject", unit, "a", "b"])
    if shape == "long":
        table = table.melt(id_vars=["subject", unit], var_name="model", value_name="correct")
    for read in (significance.read, compared):
        with pytest.raises(InputError, match=f"rows of one {unit} differ in 'subject': .* set unit=subject to compare"):
            read(table)
    assert first(table, unit="subject")["n"] == 4
    assert first(table, columns=f"unit={unit}")["n"] == 10


def test_draws_told_apart_by_their_answers_are_draws():
    table = answers().drop(columns="sample")
    assert first(table.assign(response=[f"answer {i}" for i in range(len(table))]))["n"] == 20
    assert first(answers(seed=["s1"] * 200))["n"] == 20


@pytest.mark.parametrize("name", ["all", "Macro", "overall"])
def test_a_row_of_means_is_no_unit(name):
    table = wide()
    numbers = table.select_dtypes("number")
    summary = pd.DataFrame([numbers.mean().round(4).to_dict() | {"query": name}])
    with pytest.raises(InputError, match=f"query '{name}' holds the means of the others"):
        significance.read(pd.concat([table, summary]))
    assert first(pd.concat([table, summary.assign(a=99.0)]))["n"] == 61


@pytest.mark.parametrize("shape", ["wide", "long"])
@pytest.mark.parametrize("name", ["Total", " Grand total:", "Durchschnitt", "std", "25%", "weighted avg", "mean"])
def test_a_row_of_totals_or_of_statistics_is_refused_with_its_place(name, shape):
    table = pd.concat([wide(), pd.DataFrame({"query": [name], "a": [31.0], "b": [1.5]})])
    data, row = (table, 61) if shape == "wide" else (long(table, "gain"), 61)
    for read in (significance.read, compared):
        with pytest.raises(InputError) as refusal:
            read(data)
        said = (
            f"data frame: query must name a unit in each row, got {name!r} (row {row}), which summarises the others; "
        )
        assert str(refusal.value).startswith(said)


def test_a_table_of_statistics_as_pandas_describes_it_is_refused(tmp_path):
    wide().describe().to_csv(tmp_path / "described.csv")
    with pytest.raises(InputError, match=r"column 1 must name a unit in each row, got 'count' \(row 1\)"):
        significance.read(str(tmp_path / "described.csv"))
    assert first(wide().assign(query=[f"total recall {i}" for i in range(60)]))["n"] == 60


@pytest.mark.parametrize("form", ["{}**", "{}±0.02", "{} (0.02)", "{} [0.7, 0.9]", "{} ms", "**{}**", "{}† "])
def test_a_system_whose_cells_carry_marks_is_refused_and_never_left_out(form):
    table = wide().round(3)
    table["b"] = [form.format(value) for value in table["b"]]
    for data in (table, long(table, "gain")):
        for read in (significance.read, compared):
            with pytest.raises(InputError, match=r"(b|value) must hold numbers, got .* \(row \d+\).*no marks"):
                read(data)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "columns of a tracker") for name in ("Step", "run - acc__MIN", "param_C", "params_lr", "fit_time")),
        *((name, "columns of a tracker") for name in ("rank_test_score", "learning_rate", "split0_test_score")),
        ("days", "dates"),
        ("rounds", "a running number"),
    ],
)
def test_columns_that_are_plainly_no_systems_are_refused_unless_they_are_named(name, kind):
    values = {"dates": 20240101 + np.arange(60) % 28, "a running number": np.arange(60) * 10}
    table = wide().assign(**{name: values.get(kind, rng(4).integers(1, 9000, 60) + 0.0)})
    for read in (significance.read, compared):
        with pytest.raises(InputError) as refusal:
            read(table.sample(frac=1, random_state=2))
        assert f"every column of numbers must be a system, got {kind}: {name}; name" in str(refusal.value)
        assert {*read(table, systems=f"a,{name}").systems} == {"a", name}


def test_systems_that_share_the_form_of_a_name_are_systems():
    table = wide().rename(columns={"a": "old_time", "b": "new_time"})
    assert {*significance.read(table).systems} == {"old_time", "new_time"}


@pytest.mark.parametrize("names", [("ndcg@10", "map"), ("train_score", "test_score"), ("precision", "f1-score")])
def test_metrics_of_one_system_are_no_systems(names):
    with pytest.raises(InputError, match=f"got metrics: {names[0]}, {names[1]}; name the columns to compare"):
        significance.read(wide().rename(columns=dict(zip("ab", names, strict=True))))


@pytest.mark.parametrize("name", ["length", "num_rel", "zip_code", "diff", "best", "p", "t", "df", "Date", "n_tokens"])
def test_what_describes_a_unit_or_its_values_is_no_system_unless_it_is_named(name):
    table = wide().assign(**{name: rng(4).integers(1, 9000, 60)})
    for read in (significance.read, compared):
        assert {*read(table).systems} == {"a", "b"}
        assert {*read(table, systems=f"a,{name}").systems} == {"a", name}
    assert f"not compared: {name}" in told(significance.read(table))


@pytest.mark.parametrize("label", ["arm", "group"])
def test_totals_of_an_ab_test_are_no_values_but_successes_and_trials(label):
    table = pd.DataFrame({label: ["a", "b"], "users": [1000, 1010], "conversions": [100, 130]})
    columns = f"system={label},successes=conversions,trials=users"
    with pytest.raises(InputError, match=f"look like totals of each {label}; for shares set columns='{columns}'"):
        significance.read(table)
    assert significance.read(table, columns=columns).systems == ("a", "b")
    with pytest.raises(InputError, match=f"users must have one row per user, got one per {label}; for totals use"):
        interleaving.read(users=table, columns=f"arm={label}", metrics="conversions/users")


def test_the_label_is_no_system():
    table = wide()
    study = significance.read(table.assign(label=np.arange(len(table)) % 2))
    assert "label" not in study.systems
    assert "not compared: label" in told(study)
    assert "label" in significance.read(table.assign(label=0.5), systems="a,label").systems


def test_a_table_of_pairs_of_systems_is_refused():
    table = pd.DataFrame({"model_a": ["x", "y"] * 20, "model_b": ["y", "x"] * 20, "winner": ["a"] * 40, "turn": 1})
    with pytest.raises(InputError, match="'model_a' and 'model_b' name two systems in each row"):
        significance.read(table)


def test_the_unit_named_beside_draws_is_the_unit_and_counts_once():
    table = answers(samples=1).drop(columns="category").rename(columns={"question_id": "passage", "sample": "seed"})
    more = table[table["passage"] == "q00"]
    many = pd.concat([table, *[more.assign(seed=i) for i in range(1, 40)]])
    assert first(many, unit="passage")["n"] == 20
    assert first(many, unit="passage")["difference"] == pytest.approx(first(table, unit="passage")["difference"])


def test_a_system_named_twice_is_one_system():
    table = wide()
    for form in (table, long(table, "gain")):
        assert significance.read(form, systems="a,b,a").systems == ("a", "b")


def test_a_column_of_a_frame_without_a_name_is_called_by_its_place():
    """As in a text table, whose index pandas writes without a name."""
    assert first(wide().rename(columns={"query": ""}))[["n", "unit"]].tolist() == [60, "column 1"]
