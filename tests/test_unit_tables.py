"""Tables of values per unit as people have them: each is understood rightly, or refused in one
line.
"""

import numpy as np
import pandas as pd
import pytest
from engine_samples import compared
from significance_tables import long, rng, told, wide

from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading
from evalkit.parameters import reports
from evalkit.studies import interleaving, significance


def first(table, **parameters):
    return significance.read(table, **parameters).comparisons.iloc[0]


@pytest.mark.parametrize(
    "name",
    [
        "sample",
        "repeat",
        "seed",
        "fold",
        "trial",
        "id",
        "user_id",
        "rank",
        "position",
        "Unnamed: 0",
        "questionId",
    ],
)
def test_ids_repetitions_and_positions_are_no_systems(name):
    study = significance.read(wide().assign(**{name: np.arange(60) * 10.0}))
    assert set(study.systems) == {"a", "b"}
    assert study.comparisons.iloc[0][["n", "p"]].tolist() == first(wide())[["n", "p"]].tolist()
    assert f"not compared: {name}" in told(study)


# Tables that could be meant in two ways


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_questions_numbered_anew_in_each_data_set_are_not_taken_for_draws(shape):
    rows = [
        (name, i, rng(i + 7).random(), rng(i).random())
        for name in ("arc", "mmlu")
        for i in range(10)
    ]
    table = pd.DataFrame(rows, columns=["dataset", "question_id", "a", "b"])
    if shape == "long":
        table = table.melt(
            id_vars=["dataset", "question_id"], var_name="model", value_name="correct"
        )
    with pytest.raises(
        InputError,
        match=r"rows of one question_id differ in 'dataset': .* columns='unit=question_id'",
    ):
        significance.read(table)
    assert first(table, columns="unit=question_id")["n"] == 10
    assert (
        first(table.assign(question_id=table["dataset"] + table["question_id"].astype(str)))["n"]
        == 20
    )
    assert first(table, unit="dataset")["n"] == 2
    assert first(table[table["dataset"] == "arc"])["n"] == 10


@pytest.mark.parametrize("shape", ["long", "wide"])
@pytest.mark.parametrize("unit", ["question_id", "task"])
@pytest.mark.parametrize("of", [int, str])
def test_questions_numbered_anew_in_each_subject_are_not_taken_for_draws(shape, unit, of):
    rows = [
        (of(s), i, rng(i + 7 * s).random(), rng(i + s).random())
        for s in range(4)
        for i in range(10)
    ]
    table = pd.DataFrame(rows, columns=["subject", unit, "a", "b"])
    if shape == "long":
        table = table.melt(id_vars=["subject", unit], var_name="model", value_name="correct")
    for read in (significance.read, compared):
        with pytest.raises(
            InputError,
            match=f"rows of one {unit} differ in 'subject': .* set unit=subject to compare",
        ):
            read(table)
    assert first(table, unit="subject")["n"] == 4
    assert first(table, columns=f"unit={unit}")["n"] == 10


@pytest.mark.parametrize("name", ["all", "Macro", "overall"])
def test_a_row_of_means_is_no_unit(name):
    table = wide()
    numbers = table.select_dtypes("number")
    summary = pd.DataFrame([numbers.mean().round(4).to_dict() | {"query": name}])
    with pytest.raises(InputError, match=f"query '{name}' holds the means of the others"):
        significance.read(pd.concat([table, summary]))
    assert first(pd.concat([table, summary.assign(a=99.0)]))["n"] == 61


@pytest.mark.parametrize("shape", ["wide", "long"])
@pytest.mark.parametrize(
    "name", ["Total", " Grand total:", "Durchschnitt", "std", "25%", "weighted avg", "mean"]
)
def test_a_row_of_totals_or_of_statistics_is_refused_with_its_place(name, shape):
    table = pd.concat([wide(), pd.DataFrame({"query": [name], "a": [31.0], "b": [1.5]})])
    data, row = (table, 61) if shape == "wide" else (long(table, "gain"), 61)
    for read in (significance.read, compared):
        with pytest.raises(InputError) as refusal:
            read(data)
        said = (
            f"data frame: query must name a unit in each row, got {name!r} (row {row}), which "
            f"summarises the others; "
        )
        assert str(refusal.value).startswith(said)


@pytest.mark.parametrize(
    "form", ["{}**", "{}±0.02", "{} (0.02)", "{} [0.7, 0.9]", "{} ms", "**{}**", "{}† "]
)
def test_a_system_whose_cells_carry_marks_is_refused_and_never_left_out(form):
    table = wide().round(3)
    table["b"] = [form.format(value) for value in table["b"]]
    for data in (table, long(table, "gain")):
        for read in (significance.read, compared):
            with pytest.raises(
                InputError, match=r"(b|value) must hold numbers, got .* \(row \d+\).*no marks"
            ):
                read(data)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(
            (name, "columns of a tracker")
            for name in ("Step", "run - acc__MIN", "param_C", "params_lr", "fit_time")
        ),
        *(
            (name, "columns of a tracker")
            for name in ("rank_test_score", "learning_rate", "split0_test_score")
        ),
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
        assert f"every column of numbers must be a system, got {kind}: {name}; name" in str(
            refusal.value
        )
        assert {*read(table, systems=f"a,{name}").systems} == {"a", name}


@pytest.mark.parametrize(
    "name", ["length", "num_rel", "zip_code", "diff", "best", "p", "t", "df", "Date", "n_tokens"]
)
def test_what_describes_a_unit_or_its_values_is_no_system_unless_it_is_named(name):
    table = wide().assign(**{name: rng(4).integers(1, 9000, 60)})
    for read in (significance.read, compared):
        assert {*read(table).systems} == {"a", "b"}
        assert {*read(table, systems=f"a,{name}").systems} == {"a", name}
    assert f"not compared: {name}" in told(significance.read(table))


def test_seven_equal_steps_may_be_chance_and_eight_are_a_running_number():
    table = wide().head(8).assign(rounds=np.arange(8) * 10.0)
    assert "rounds" in significance.read(table.head(7)).systems
    with pytest.raises(InputError, match="got a running number: rounds"):
        significance.read(table)


@pytest.mark.parametrize("first", [19000101, 19991201, 20991201])
def test_dates_of_three_centuries_are_no_values(first):
    with pytest.raises(InputError, match="got dates: due"):
        significance.read(wide().head(20).assign(due=first + np.arange(20)[::-1] ** 2 % 28))


@pytest.mark.parametrize("names", [("solved", "style"), ("passed", "correct"), ("1st", "2nd")])
def test_metrics_may_be_called_like_answers(names):
    table = pd.concat([long(wide(), name) for name in names])
    assert {*significance.read(table).estimates["metric"]} == {*names}


def test_of_several_usual_columns_of_values_one_must_be_named():
    table = long(wide(), "gain").rename(columns={"value": "score"}).drop(columns="metric")
    table = table.assign(accuracy=(table["score"] > 1).astype(int))
    with pytest.raises(InputError, match=r"'score', 'accuracy'.*columns='value=score'"):
        significance.read(table)
    named = significance.read(table, columns="value=accuracy")
    assert named.estimates["value"].between(0, 1).all()


@pytest.mark.parametrize("label", ["arm", "group"])
def test_totals_of_an_ab_test_are_no_values_but_successes_and_trials(label):
    table = pd.DataFrame({label: ["a", "b"], "users": [1000, 1010], "conversions": [100, 130]})
    columns = f"system={label},successes=conversions,trials=users"
    with pytest.raises(
        InputError, match=f"look like totals of each {label}; for shares set columns='{columns}'"
    ):
        significance.read(table)
    assert significance.read(table, columns=columns).systems == ("a", "b")
    with pytest.raises(
        InputError, match=f"users must have one row per user, got one per {label}; for totals use"
    ):
        interleaving.read(users=table, columns=f"arm={label}", metrics="conversions/users")


# Units that are numbered within clusters ----------------------------------------------------------

SEGMENTS = (2, 5, 9, 3, 7, 4)  # of each document
SCORES = rng(4).normal(0, 1, (2, sum(SEGMENTS)))


def of_documents(name="segment", *, numbers=True, **columns):
    """Scores of two systems on the segments of six documents, one row each."""
    document = np.repeat(list("uvwxyz"), SEGMENTS)
    segment = np.concatenate([np.arange(1, n + 1) for n in SEGMENTS])
    names = {name: segment if numbers else np.char.add("s", segment.astype(str)), "doc": document}
    sides = [
        pd.DataFrame({"system": system} | names | columns | {"score": side})
        for system, side in zip("ab", SCORES, strict=True)
    ]
    return pd.concat(sides, ignore_index=True)


def means(table, **parameters):
    study = significance.read(table, unit="doc", **parameters)
    return dict(zip(study.estimates["system"], study.estimates["value"], strict=True))


OVER_SEGMENTS = pytest.approx(dict(zip("ab", SCORES.mean(axis=1), strict=True)), rel=1e-12)


@pytest.mark.parametrize("name", ["segment", "sentence", "row", "turn"])
@pytest.mark.parametrize("numbers", [True, False])
def test_segments_are_averaged_and_documents_vary_whatever_their_numbers_are_called(name, numbers):
    table = of_documents(name, numbers=numbers)
    assert means(table) == OVER_SEGMENTS
    study = significance.read(table, unit="doc")
    assert study.unit_count == 6
    assert study.data.columns["unit"] == name


def test_a_text_that_does_not_tell_segments_apart_does_not_identify_them():
    assert means(of_documents(language="de")) == OVER_SEGMENTS


def test_segments_with_several_draws_are_averaged_over_segments():
    draws = pd.concat([of_documents(trial=trial) for trial in (1, 2)])
    assert means(draws) == OVER_SEGMENTS


def test_a_measurement_of_each_row_does_not_identify_segments():
    table = of_documents()
    table.insert(0, "latency", rng(2).random(len(table)))
    assert means(table, columns="value=score") == OVER_SEGMENTS


def test_segments_of_a_table_read_by_blocks_are_averaged_over_segments(tmp_path):
    limits = Limits(reading=Reading(rows=10, shard=10))
    of_documents().to_csv(tmp_path / "scores.csv", index=False)
    p = reports.SignificanceParameters.from_raw(
        {"preds": str(tmp_path / "scores.csv"), "unit": "doc"}
    )
    estimates = significance.study_of(p, limits).estimates
    assert dict(zip(estimates["system"], estimates["value"], strict=True)) == OVER_SEGMENTS


def test_draws_of_a_document_stay_draws():
    several = pd.concat([of_documents().drop(columns="segment").assign(trial=t) for t in (1, 2)])
    one = several.drop_duplicates(["system", "doc", "trial"])
    study = significance.read(one, unit="doc")
    assert (len(study.data), study.unit_name) == (6, "doc")


@pytest.mark.parametrize("name", ["sent", "k"])
@pytest.mark.parametrize("more", [{}, {"metrics": "bleu"}], ids=["", "metrics"])
def test_a_column_that_numbers_segments_is_no_candidate_for_the_value(name, more):
    table = of_documents(name).rename(columns={"score": "bleu"})
    assert means(table, **more) == OVER_SEGMENTS


@pytest.mark.parametrize("name", ["sent", "k"])
def test_metrics_names_the_column_of_values(name):
    table = of_documents(name).rename(columns={"score": "bleu"}).assign(chrf=7.0)
    assert means(table, metrics="bleu") == OVER_SEGMENTS


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", ["sent", "k"])
def test_a_column_that_numbers_segments_is_no_system_of_a_wide_table(name, first):
    table = of_documents(name).pivot(index=["doc", name], columns="system", values="score")
    table = table.reset_index().assign(**{name: lambda d: d[name] - 1 + first})
    assert significance.read(table, unit="doc").systems == ("a", "b")


def test_whole_numbers_that_number_no_segments_are_a_system():
    table = pd.DataFrame({"doc": list("uuvv"), "a": [1, 2, 2, 5], "b": [2, 3, 1, 2]})
    assert significance.read(table, unit="doc").systems == ("a", "b")


def test_documents_with_one_row_of_each_system_are_units_whatever_else_is_measured():
    table = of_documents().drop_duplicates(["system", "doc"]).drop(columns="segment")
    study = significance.read(table.assign(tokens=rng(7).integers(1, 4, len(table))), unit="doc")
    assert study.comparisons["n"].tolist() == [len(SEGMENTS)]
