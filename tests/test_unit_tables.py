"""Tables of values per unit as people have them: each is understood rightly, or refused in one
line.
"""

import numpy as np
import pandas as pd
import pytest
from engine_samples import compared as read_by_blocks
from significance_tables import (
    long as one_row_per_query_and_system,
    rng as seeded_rng,
    told as messages_of_findings,
    wide as two_systems_on_60_queries,
)

from evalkit.arrays import InputError
from evalkit.limits import Limits, ReadingLimits
from evalkit.parameters import reports
from evalkit.studies import interleaving, significance

READ_AT_ONCE_AND_BY_BLOCKS = pytest.mark.parametrize(
    "read", [significance.read, read_by_blocks], ids=["at once", "by blocks"]
)


def first_comparison(table, **parameters):
    return significance.read(table, **parameters).comparisons.iloc[0]


def compared_units(table, **parameters):
    """The number of units of the first comparison."""
    return first_comparison(table, **parameters)["n"]


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
    """A table of the systems a and b on 60 queries has a further column of numbers whose name
    (`name`) is usual for ids, repetitions or positions. It is no third system, changes no
    comparison, and is named among the columns not compared.
    """
    study = significance.read(two_systems_on_60_queries().assign(**{name: np.arange(60) * 10.0}))
    assert set(study.systems) == {"a", "b"}
    without_column = first_comparison(two_systems_on_60_queries())
    assert study.comparisons.iloc[0][["n", "p"]].tolist() == without_column[["n", "p"]].tolist()
    assert f"not compared: {name}" in messages_of_findings(study)


# Tables that could be meant in two ways


def ten_questions_per_group(groups, group_column, question_column, shape):
    """The values of two systems on the questions 0 to 9 of each group: two columns a and b if wide,
    one row per system if long.
    """
    rows = [
        (
            group,
            question,
            seeded_rng(question + 7 * (place + 1)).random(),
            seeded_rng(question + place).random(),
        )
        for place, group in enumerate(groups)
        for question in range(10)
    ]
    names = [group_column, question_column]
    table = pd.DataFrame(rows, columns=[*names, "a", "b"])
    if shape == "wide":
        return table
    return table.melt(id_vars=names, var_name="model", value_name="correct")


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_questions_numbered_anew_in_each_data_set_are_refused_as_units(shape):
    """The data sets arc and mmlu have ten questions each, both numbered 0 to 9, with the values of
    two systems (`shape`: a column per system, or a row per system). Question 3 of arc and question
    3 of mmlu could be two questions, or two draws of one, so that the table is refused; the message
    says how to decide.
    """
    table = ten_questions_per_group(["arc", "mmlu"], "dataset", "question_id", shape)
    with pytest.raises(
        InputError,
        match=r"rows of one question_id differ in 'dataset': .* columns='unit=question_id'",
    ):
        significance.read(table)


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_questions_numbered_anew_in_each_data_set_are_compared_if_the_unit_is_clear(shape):
    """The data sets arc and mmlu have ten questions each, both numbered 0 to 9: ambiguous as units.
    The number of units compared shows how the table was understood once the unit is named, ids are
    unique, or one data set alone is given.
    """
    table = ten_questions_per_group(["arc", "mmlu"], "dataset", "question_id", shape)
    assert compared_units(table, columns="unit=question_id") == 10  # each with two draws
    assert compared_units(table, unit="dataset") == 2
    unique_ids = table["dataset"] + table["question_id"].astype(str)
    assert compared_units(table.assign(question_id=unique_ids)) == 20
    assert compared_units(table[table["dataset"] == "arc"]) == 10


@READ_AT_ONCE_AND_BY_BLOCKS
@pytest.mark.parametrize("shape", ["long", "wide"])
@pytest.mark.parametrize("question", ["question_id", "task"])
@pytest.mark.parametrize("subjects", [[0, 1, 2, 3], ["0", "1", "2", "3"]], ids=["int", "str"])
def test_questions_numbered_anew_in_each_subject_are_refused_as_units(
    subjects, question, shape, read
):
    """Each of four subjects, themselves numbers or texts, has the questions 0 to 9, with the values
    of two systems (`shape`: a column or a row per system). Whether question 3 of two subjects is
    one question is unknown; the message says how to decide. `question` is the name of the column of
    questions; `read` reads the table at once or by blocks.
    """
    table = ten_questions_per_group(subjects, "subject", question, shape)
    with pytest.raises(
        InputError,
        match=f"rows of one {question} differ in 'subject': .* set unit=subject to compare",
    ):
        read(table)


@pytest.mark.parametrize("shape", ["long", "wide"])
@pytest.mark.parametrize("question", ["question_id", "task"])
@pytest.mark.parametrize("subjects", [[0, 1, 2, 3], ["0", "1", "2", "3"]], ids=["int", "str"])
def test_questions_numbered_anew_in_each_subject_are_compared_if_the_unit_is_named(
    subjects, question, shape
):
    """Each of four subjects, themselves numbers or texts, has the questions 0 to 9 in the column
    called `question`, with the values of two systems. The units are the 4 subjects or the 10
    questions, as named.
    """
    table = ten_questions_per_group(subjects, "subject", question, shape)
    assert compared_units(table, unit="subject") == 4
    assert compared_units(table, columns=f"unit={question}") == 10


@pytest.mark.parametrize("name", ["all", "Macro", "overall"])
def test_a_row_with_the_means_of_the_others_is_refused_as_a_unit(name):
    """After 60 queries a further row, named like a summary (`name`), holds the mean of each system,
    rounded to four decimals. It is no unit.
    """
    table = two_systems_on_60_queries()
    means = table[["a", "b"]].mean().round(4)
    summary = pd.DataFrame([means.to_dict() | {"query": name}])
    with pytest.raises(InputError, match=f"query '{name}' holds the means of the others"):
        significance.read(pd.concat([table, summary]))


@pytest.mark.parametrize("name", ["all", "Macro", "overall"])
def test_a_row_that_is_only_called_like_a_summary_is_a_unit(name):
    """After 60 queries a further row is named like a summary (`name`), but its value of system a is
    99, not the mean of the 60 others.
    """
    table = two_systems_on_60_queries()
    row = pd.DataFrame({"query": [name], "a": [99.0], "b": [table["b"].mean().round(4)]})
    assert compared_units(pd.concat([table, row])) == 60 + 1


@READ_AT_ONCE_AND_BY_BLOCKS
@pytest.mark.parametrize("shape", ["wide", "long"])
@pytest.mark.parametrize(
    "name", ["Total", " Grand total:", "Durchschnitt", "std", "25%", "weighted avg", "mean"]
)
def test_a_row_of_totals_or_of_statistics_is_refused_with_its_place(name, shape, read):
    """A table of the systems a and b on 60 queries (`shape`: a column or a row per system) has a
    further row whose query is called like a summary (`name`), such as "Total". It is the 61st row:
    in a table with a row per system, the rows of a come first. `read` reads at once or by blocks.
    """
    summary = pd.DataFrame({"query": [name], "a": [31.0], "b": [1.5]})
    table = pd.concat([two_systems_on_60_queries(), summary])
    with pytest.raises(InputError) as refusal:
        read(table if shape == "wide" else one_row_per_query_and_system(table, "gain"))
    assert str(refusal.value).startswith(
        f"data frame: query must name a unit in each row, got {name!r} (row 61), which "
        "summarises the others; "
    )


@READ_AT_ONCE_AND_BY_BLOCKS
@pytest.mark.parametrize("shape", ["wide", "long"])
@pytest.mark.parametrize(
    "form", ["{}**", "{}±0.02", "{} (0.02)", "{} [0.7, 0.9]", "{} ms", "**{}**", "{}† "]
)
def test_a_system_whose_cells_carry_marks_is_refused_and_never_left_out(form, shape, read):
    """In a table of the systems a and b on 60 queries (`shape`: a column or a row per system) the
    values of b are texts with a mark (`form`), such as "0.512**" or "0.512 ms". A column of texts
    is otherwise ignored, which would leave out system b without a word. `read` reads at once or by
    blocks.
    """
    table = two_systems_on_60_queries().round(3)
    table["b"] = [form.format(value) for value in table["b"]]
    with pytest.raises(
        # the column of the marked texts: b, or value if there is a row per system
        InputError,
        match=r"(b|value) must hold numbers, got .* \(row \d+\).*no marks",
    ):
        read(table if shape == "wide" else one_row_per_query_and_system(table, "gain"))


COUNTS = seeded_rng(4).integers(1, 9000, 60)  # of any kind, not in any order


@READ_AT_ONCE_AND_BY_BLOCKS
@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [
        *(
            ("columns of a tracker", name, COUNTS + 0.0)
            for name in (
                "Step",
                "run - acc__MIN",
                "param_C",
                "params_lr",
                "fit_time",
                "rank_test_score",
                "learning_rate",
                "split0_test_score",
            )
        ),
        ("dates", "days", 20240101 + np.arange(60) % 28),
        ("a running number", "rounds", np.arange(60) * 10),
    ],
)
def test_columns_that_are_plainly_not_systems_are_refused_unless_they_are_named(
    kind, name, values, read
):
    """A table of the systems a and b on 60 queries has a further column of numbers, `name`. Columns
    of an experiment tracker are recognised by their names, dates and running numbers by their
    values, in whatever order the rows are: hence the shuffled rows. `kind` is the message's word
    for the column. `read` reads at once or by blocks.
    """
    table = two_systems_on_60_queries().assign(**{name: values})
    shuffled = table.sample(frac=1, random_state=2)
    with pytest.raises(InputError) as refusal:
        read(shuffled)
    message = f"every column of numbers must be a system, got {kind}: {name}; name"
    assert message in str(refusal.value)
    assert {*read(table, systems=f"a,{name}").systems} == {"a", name}


@READ_AT_ONCE_AND_BY_BLOCKS
@pytest.mark.parametrize(
    "name", ["length", "num_rel", "zip_code", "diff", "best", "p", "t", "df", "Date", "n_tokens"]
)
def test_what_describes_a_unit_or_its_values_is_no_system_unless_it_is_named(name, read):
    """A table of the systems a and b on 60 queries has a further column of numbers that describes a
    unit or its values by its name (`name`). It is ignored, and the page says so, unless the
    parameter `systems` names it.
    """
    table = two_systems_on_60_queries().assign(**{name: COUNTS})
    assert {*read(table).systems} == {"a", "b"}
    assert {*read(table, systems=f"a,{name}").systems} == {"a", name}
    assert f"not compared: {name}" in messages_of_findings(significance.read(table))


def test_seven_equal_steps_may_be_chance_and_eight_are_a_running_number():
    """The column rounds is 0, 10, 20, …: with seven rows it is taken for a system, with eight for a
    running number, which is refused.
    """
    table = two_systems_on_60_queries().head(8).assign(rounds=np.arange(8) * 10.0)
    assert "rounds" in significance.read(table.head(7)).systems
    with pytest.raises(InputError, match="got a running number: rounds"):
        significance.read(table)


@pytest.mark.parametrize("first_date", [19000101, 19991201, 20991201])
def test_dates_of_three_centuries_are_no_values(first_date):
    """The column due holds dates as whole numbers, such as 19991201, with days in no order. Read as
    numbers they would be a system.
    """
    days = np.arange(20)[::-1] ** 2 % 28  # in no order
    with pytest.raises(InputError, match="got dates: due"):
        significance.read(two_systems_on_60_queries().head(20).assign(due=first_date + days))


@pytest.mark.parametrize("names", [("solved", "style"), ("passed", "correct"), ("1st", "2nd")])
def test_metrics_may_be_called_like_answers(names):
    """The table has a row per query, system and metric. The names of the metrics (`names`) would
    also be usual as values of a column of answers; they must be taken for metrics.
    """
    table = pd.concat(
        [one_row_per_query_and_system(two_systems_on_60_queries(), name) for name in names]
    )
    assert {*significance.read(table).estimates["metric"]} == {*names}


def test_of_several_usual_columns_of_values_one_must_be_named():
    """A table has a row per query and system and two columns whose names are usual for values:
    score, a number, and accuracy, which is 1 if that number is above 1 and else 0. One must be
    named by `columns`; the systems' estimates are then the means of that column.
    """
    # with the columns query, system and value
    values = one_row_per_query_and_system(two_systems_on_60_queries(), metric="gain")
    table = pd.DataFrame({"query": values["query"], "system": values["system"]})
    table["score"] = values["value"]
    table["accuracy"] = (values["value"] > 1).astype(int)
    with pytest.raises(InputError, match=r"'score', 'accuracy'.*columns='value=score'"):
        significance.read(table)
    study = significance.read(table, columns="value=accuracy")
    shares = table.groupby("system")["accuracy"].mean()
    estimates = study.estimates.set_index("system")["value"]
    assert estimates.to_dict() == pytest.approx(shares.to_dict())


@pytest.fixture(params=["arm", "group"])
def totals_of_ab_test(request):
    """One row per arm, with its totals of users and conversions; the column of the arm has this
    name.
    """
    return pd.DataFrame(
        {request.param: ["a", "b"], "users": [1000, 1010], "conversions": [100, 130]}
    )


def test_totals_of_an_ab_test_are_compared_as_shares_if_the_columns_are_named(totals_of_ab_test):
    """The table has one row per arm, a and b, with its totals of users and of conversions; the
    column of the arm is called arm or group. It is no table of values per unit: the message says
    how to compare the shares conversions / users, and a second call does so.
    """
    arm = totals_of_ab_test.columns[0]
    columns = f"system={arm},successes=conversions,trials=users"
    with pytest.raises(
        InputError, match=f"look like totals of each {arm}; for shares set columns='{columns}'"
    ):
        significance.read(totals_of_ab_test)
    assert significance.read(totals_of_ab_test, columns=columns).systems == ("a", "b")


def test_totals_of_an_ab_test_are_refused_as_a_table_of_users(totals_of_ab_test):
    """The table has one row per arm, a and b, with its totals of users and of conversions, where
    one row per user is needed; the column of the arm is called arm or group.
    """
    arm = totals_of_ab_test.columns[0]
    with pytest.raises(
        InputError, match=f"users must have one row per user, got one per {arm}; for totals use"
    ):
        interleaving.read(
            users=totals_of_ab_test, columns=f"arm={arm}", metrics="conversions/users"
        )


# Units that are numbered within clusters ----------------------------------------------------------

SEGMENTS = (2, 5, 9, 3, 7, 4)  # of each document
SCORES = seeded_rng(4).normal(0, 1, (2, sum(SEGMENTS)))  # of the systems a and b


def scores_of_segments(name="segment", *, numbers=True, **columns):
    """The scores of two systems on the segments of six documents, one row each. The segments are
    numbered anew in each document, in a column of this name.
    """
    document = np.repeat(list("uvwxyz"), SEGMENTS)
    segment = np.concatenate([np.arange(1, n + 1) for n in SEGMENTS])
    names = {name: segment if numbers else np.char.add("s", segment.astype(str)), "doc": document}
    tables = [
        pd.DataFrame({"system": system} | names | columns | {"score": scores})
        for system, scores in zip("ab", SCORES, strict=True)
    ]
    return pd.concat(tables, ignore_index=True)


def value_by_system(study):
    return dict(zip(study.estimates["system"], study.estimates["value"], strict=True))


def means(table, **parameters):
    """The mean of each system if documents are the units."""
    return value_by_system(significance.read(table, unit="doc", **parameters))


# each segment counts once; means of documents would give those with few segments more weight
MEANS_OVER_SEGMENTS = pytest.approx(dict(zip("ab", SCORES.mean(axis=1), strict=True)), rel=1e-12)


@pytest.mark.parametrize("name", ["segment", "sentence", "row", "turn"])
@pytest.mark.parametrize("numbers", [True, False])
def test_segments_are_averaged_and_documents_vary_whatever_their_numbers_are_called(name, numbers):
    """Two systems have scores on the segments of six documents, numbered anew in each by numbers or
    texts ("s1"), in a column `name`. With unit=doc the value of a system is the mean over segments,
    and the six documents are the independent units.
    """
    table = scores_of_segments(name, numbers=numbers)
    assert means(table) == MEANS_OVER_SEGMENTS
    study = significance.read(table, unit="doc")
    assert study.unit_count == 6
    assert study.data.columns["unit"] == name


def test_a_text_that_does_not_tell_segments_apart_does_not_identify_them():
    """Two systems have scores on the segments of six documents. A column language is "de" in all
    rows: the column segment identifies segments, and means are over segments.
    """
    assert means(scores_of_segments(language="de")) == MEANS_OVER_SEGMENTS


def test_segments_with_several_draws_are_averaged_over_segments():
    """Two systems have scores on the segments of six documents, each in two trials with the same
    values.
    """
    draws = pd.concat([scores_of_segments(trial=trial) for trial in (1, 2)])
    assert means(draws) == MEANS_OVER_SEGMENTS


def test_a_measurement_of_each_row_does_not_identify_segments():
    """Two systems have scores on the segments of six documents. The first column, latency, has
    another number in each row, and must not be taken for the segment.
    """
    table = scores_of_segments()
    table.insert(0, "latency", seeded_rng(2).random(len(table)))
    assert means(table, columns="value=score") == MEANS_OVER_SEGMENTS


def test_segments_of_a_table_read_by_blocks_are_averaged_over_segments(tmp_path):
    """Two systems have scores on the 30 segments of six documents, the units, which have 2 to 9
    segments each. The 60 rows are read ten at a time, so that documents are split between blocks.
    The value of a system must still be its mean over the 30 segments, MEANS_OVER_SEGMENTS, and not
    over the means of documents.
    """
    ten_rows_at_a_time = Limits(reading=ReadingLimits(rows=10, shard=10))
    scores_of_segments().to_csv(tmp_path / "scores.csv", index=False)
    parameters = reports.SignificanceParameters.from_raw(
        {"preds": str(tmp_path / "scores.csv"), "unit": "doc"}
    )
    study = significance.study_of(parameters, ten_rows_at_a_time)
    assert value_by_system(study) == MEANS_OVER_SEGMENTS


def test_draws_of_a_document_stay_draws():
    """Each of two systems has a score of each of six documents, once as trial 1 and once as trial
    2. A column "trial" numbers repeated draws, unlike one that numbers segments: the two draws of a
    document make one unit, so that the study's data are six units, called doc.
    """
    scores = scores_of_segments().drop(columns="segment")
    one_score_per_document = scores.drop_duplicates(["system", "doc"])
    draws = pd.concat([one_score_per_document.assign(trial=trial) for trial in (1, 2)])
    study = significance.read(draws, unit="doc")
    assert len(study.data) == 6
    assert study.unit_name == "doc"


@pytest.mark.parametrize("name", ["sent", "k"])
@pytest.mark.parametrize("more", [{}, {"metrics": "bleu"}], ids=["", "metrics"])
def test_a_column_that_numbers_segments_is_no_candidate_for_the_value(name, more):
    """Two systems have BLEU scores on the segments of six documents, numbered in a column of an
    unusual name (`name`). That column holds numbers too, but numbers the segments: bleu is the only
    column of values, with or without the parameter metrics.
    """
    table = scores_of_segments(name).rename(columns={"score": "bleu"})
    assert means(table, **more) == MEANS_OVER_SEGMENTS


@pytest.mark.parametrize("name", ["sent", "k"])
def test_metrics_names_the_column_of_values(name):
    """Two columns, bleu and chrf, may hold the values; the parameter metrics names one."""
    table = scores_of_segments(name).rename(columns={"score": "bleu"}).assign(chrf=7.0)
    assert means(table, metrics="bleu") == MEANS_OVER_SEGMENTS


@pytest.mark.parametrize("first_number", [0, 1])
@pytest.mark.parametrize("name", ["sent", "k"])
def test_a_column_that_numbers_segments_is_no_system_of_a_wide_table(name, first_number):
    """A table has a row per document and segment, with a column per system, a and b, and a column
    `name` that numbers the segments of each document from 0 or 1.
    """
    table = scores_of_segments(name).pivot(index=["doc", name], columns="system", values="score")
    table = table.reset_index()
    table[name] += first_number - 1
    assert significance.read(table, unit="doc").systems == ("a", "b")


def test_whole_numbers_that_number_no_segments_are_a_system():
    """The systems a and b have whole numbers as values. In one of the documents u and v each of
    them does not count from 1: a is 2 and 5 in v, b is 2 and 3 in u. So they do not number
    segments.
    """
    table = pd.DataFrame({"doc": list("uuvv"), "a": [1, 2, 2, 5], "b": [2, 3, 1, 2]})
    assert significance.read(table, unit="doc").systems == ("a", "b")


def test_documents_with_one_row_of_each_system_are_units_whatever_else_is_measured():
    """Two systems have one score of each of six documents. A column tokens has small whole numbers,
    which do not number segments, as there is one row per document and system.
    """
    table = scores_of_segments().drop_duplicates(["system", "doc"]).drop(columns="segment")
    study = significance.read(
        table.assign(tokens=seeded_rng(7).integers(1, 4, len(table))), unit="doc"
    )
    assert study.comparisons["n"].tolist() == [len(SEGMENTS)]
