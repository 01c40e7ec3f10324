"""Sound designs that test a row several times, read without a false alarm, and planted leaks."""

import re
from collections.abc import Callable, Iterable
from itertools import product

import numpy as np
import pandas as pd
import pytest
from validation_tables import noise, severe
from whole_pages import told

from evalkit.arrays import InputError
from evalkit.drawing import curve_plots
from evalkit.offline import leakage, splits
from evalkit.pages import validation_page
from evalkit.studies import significance, validation

IDS = 120


def predicted(ids: np.ndarray, fold: object, seed: int) -> pd.DataFrame:
    """Out-of-fold predictions of these ids, whose labels depend on nothing but the id."""
    rng = np.random.default_rng(seed)
    label = ids % 2
    score = np.clip(rng.normal(0.4 + 0.2 * label, 0.2, ids.size), 0, 1)
    return pd.DataFrame({"id": ids, "label": label, "score": score, "fold": fold})


def joined(folds: dict[str, np.ndarray]) -> pd.DataFrame:
    return pd.concat([predicted(ids, name, at) for at, (name, ids) in enumerate(folds.items())])


def holdouts(count: int = 10, share: float = 0.2) -> pd.DataFrame:
    rng = np.random.default_rng(count)
    size = round(share * IDS)
    return joined({f"split{i}": rng.permutation(IDS)[:size] for i in range(count)})


def out_of_bag() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    drawn = [np.unique(rng.integers(IDS, size=IDS)) for _ in range(20)]
    return joined(
        {f"Bootstrap{i:02d}": np.setdiff1d(range(IDS), ids) for i, ids in enumerate(drawn)}
    )


def pairs_left_out() -> pd.DataFrame:
    pairs = product(range(0, 30, 2), range(1, 30, 2))
    return joined({f"pair {i}": np.array(pair) for i, pair in enumerate(pairs)})


def negatives_drawn() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    pairs = zip(range(0, IDS, 2), rng.integers(IDS // 2, size=IDS // 2) * 2 + 1, strict=True)
    return joined({f"pair {i}": np.array(pair) for i, pair in enumerate(pairs)})


def repeated(name_format: str) -> pd.DataFrame:
    """Five times five folds, whose column of folds names both."""
    folds = {}
    for repeat in range(5):
        ids = np.random.default_rng(repeat).permutation(IDS)
        for fold in range(5):
            folds[name_format.format(repeat=repeat, fold=fold)] = ids[fold::5]
    return joined(folds)


NAMINGS = (
    "rep{repeat}_fold{fold}",
    "Fold{fold}.Rep{repeat}",
    "Repeat{repeat}_Fold{fold}",
    "{repeat}-{fold}",
    "r{repeat}f{fold}",
    "cv {repeat} / {fold}",
    "Wiederholung {repeat}, Teil {fold}",
    "Fold {fold} of 5, repeat {repeat}",
    "ds2_rep{repeat}_fold{fold}",
)
SOUND: dict[str, Callable[[], pd.DataFrame]] = {
    "ten holdouts of 20%": holdouts,
    "three holdouts of 20%": lambda: holdouts(3),
    "two holdouts of 30%": lambda: holdouts(2, 0.3),
    "one hundred holdouts of 10%": lambda: holdouts(100, 0.1),
    "out of bag": out_of_bag,
    "pairs left out": pairs_left_out,
    "a negative drawn for each positive": negatives_drawn,
}


@pytest.mark.parametrize("design", SOUND)
def test_a_sound_design_that_tests_ids_again_raises_no_alarm(design):
    study = validation.read(SOUND[design]())
    assert study.word != "fail"
    assert not [finding for finding in study.audit_findings if finding.name == "id on both sides"]


@pytest.mark.parametrize("name_format", NAMINGS)
def test_repeated_folds_named_in_the_column_of_folds_raise_no_alarm(name_format):
    study = validation.read(repeated(name_format))
    assert not severe(study)
    assert study.word != "fail"


def test_two_systems_on_folds_drawn_anew_are_compared():
    one = holdouts()
    other = one.assign(system="b", score=1 - one["score"])
    study = validation.read(pd.concat([one.assign(system="a"), other]))
    assert not severe(study)


@pytest.mark.parametrize("name_format", [*NAMINGS[:3], *NAMINGS[-3:]])
def test_repeated_folds_without_ids_are_refused(name_format):
    with pytest.raises(InputError, match="an id column must say which rows are the same"):
        validation.read(repeated(name_format).drop(columns="id"))


def test_one_named_repeat_needs_no_ids():
    table = repeated("Fold{fold}.Rep{repeat}").query("fold.str.endswith('Rep1')")
    study = validation.read(table.drop(columns="id"))
    assert (study.examples.repeats, len(study.tests), study.distinct) == (1, 5, IDS)


def wide(table: pd.DataFrame) -> pd.DataFrame:
    """The scores of two systems in columns."""
    return table.rename(columns={"score": "score_a"}).assign(score_b=0.9 * table["score"])


@pytest.mark.parametrize("design", SOUND)
def test_ids_of_wide_tables_count_once(design):
    table = SOUND[design]()
    assert validation.read(wide(table)).distinct == validation.read(table).distinct


@pytest.mark.parametrize("name", ["rowIndex", "row_ids", "row_id"])
@pytest.mark.parametrize("form", [pd.DataFrame.copy, wide])
def test_usual_names_of_ids_are_read(name, form):
    table = form(repeated("Fold{fold}.Rep{repeat}"))
    study = validation.read(table.rename(columns={"id": name}))
    assert (study.examples.columns["id"], study.distinct) == (name, IDS)


def test_customers_who_come_once_a_year_with_other_labels_are_no_repeats():
    table = repeated("{repeat}-{fold}")
    label = table["id"] // 2 + table["fold"].str[0].astype(int)
    study = validation.read(table.assign(label=label % 2))
    assert study.examples.repeats == 1


@pytest.mark.parametrize("name_format", NAMINGS)
def test_repeats_named_in_the_column_of_folds_are_those_of_a_column_of_repeats(name_format):
    """A table of five repeats of five folds has only a column of folds, with names such as
    "Fold3.Rep1", which `name_format` writes as "Fold{fold}.Rep{repeat}". It must give the same
    intervals as a table with the repeat in a column of its own.
    """
    study_of_names = validation.read(repeated(name_format))
    table = repeated("{repeat} {fold}")
    table[["repeat", "fold"]] = table["fold"].str.split(" ", expand=True)
    study_of_columns = validation.read(table)
    assert study_of_names.examples.repeats == 5
    compared = ["value", "low", "high", "n"]
    pd.testing.assert_frame_equal(
        study_of_names.intervals[compared], study_of_columns.intervals[compared]
    )


def test_a_missing_fold_and_a_short_repeat_leave_the_repeats_readable():
    table = repeated("Fold{fold}.Rep{repeat}")
    gone = (table["fold"] == "Fold2.Rep3") | (table["fold"].str.endswith("Rep4") & (table.id < 30))
    study = validation.read(table[~gone])
    assert (study.examples.repeats, len(study.tests)) == (5, 24)


@pytest.mark.parametrize("name_format", ["Fold{fold}.Rep{repeat}", "{repeat}-{fold}"])
def test_an_id_in_two_folds_of_one_named_repeat_is_severe(name_format):
    """A table of five repeats of five folds names both in the column of folds, such as
    "Fold3.Rep1", as `name_format` says. A row of fold 0 of repeat 0 is added to fold 1 of the same
    repeat. Its id is then among the rows for training and for testing, a severe finding.
    """
    table = repeated(name_format)
    fold_0 = name_format.format(repeat=0, fold=0)
    fold_1 = name_format.format(repeat=0, fold=1)
    first_row_of_fold_0 = table[table["fold"] == fold_0].iloc[[0]]
    same_row_in_fold_1 = first_row_of_fold_0.assign(fold=fold_1)
    study = validation.read(pd.concat([table, same_row_in_fold_1]))
    assert "id on both sides" in severe(study)


def test_dates_as_names_of_folds_are_no_repeats():
    table = repeated("2024-{repeat}-{fold}")
    one_split = table[table["fold"].str.startswith("2024-0")]
    assert validation.read(one_split).examples.repeats == 1


def with_training_rows() -> pd.DataFrame:
    """Ten holdouts with their training rows, whose scores are too good."""
    tested = holdouts().rename(columns={"fold": "repeat"}).assign(fold="test")
    tables = [tested]
    for name, drawn in tested.groupby("repeat"):
        rest = predicted(np.setdiff1d(range(IDS), drawn["id"]), "train", 99)
        tables.append(rest.assign(repeat=name, score=rest["label"].astype(float)))
    return pd.concat(tables)


def test_holdouts_train_on_the_rows_that_the_file_names():
    study = validation.read(with_training_rows().query("id > 9 or fold == 'test'"))
    train, test = study.folds.sizes
    assert (set(test), max(train)) == ({24}, 90)
    assert "whose training and test rows the fold column names" in study.folds.rule


@pytest.mark.parametrize(
    "name_format", ["{repeat}_{fold}", "{fold} {repeat}", "({repeat}, '{fold}')"]
)
def test_holdouts_named_with_their_set_are_those_of_a_column_of_repeats(name_format):
    table = with_training_rows()
    names = [name_format.format(repeat=row.repeat, fold=row.fold) for row in table.itertuples()]
    study = validation.read(table.assign(fold=names).drop(columns="repeat"))
    kept = ["value", "low", "high", "n"]
    pd.testing.assert_frame_equal(study.intervals[kept], validation.read(table).intervals[kept])


def test_rows_of_a_validation_set_are_tested_in_each_repeat():
    table = with_training_rows()
    other = table.assign(fold=table["fold"].replace("test", "validation"))
    assert validation.read(other).fold_values("score") == pytest.approx(
        validation.read(table).fold_values("score")
    )


@pytest.mark.parametrize("gone", ["test", "train"])
def test_a_repeat_without_one_of_its_sets_is_named(gone):
    table = with_training_rows().query("fold != @gone or repeat != 'split3'")
    with pytest.raises(InputError, match=r"in each repeat, got only '.*' in repeat 'split3'"):
        validation.read(table)


def test_training_rows_of_holdouts_do_not_change_the_estimates():
    """But for the interval of Nadeau and Bengio, whose correction takes the number of training
    rows, which only one of the two files names.
    """
    with_training = validation.read(with_training_rows())
    tested_rows = validation.read(holdouts())
    assert_same_uncorrected_intervals(with_training, tested_rows)
    by_fold = tested_rows.fold_values("score")
    assert with_training.fold_values("score") == pytest.approx(by_fold)


def assert_same_uncorrected_intervals(study, other):
    is_corrected = study.intervals["what"].str.contains("Nadeau–Bengio")
    assert is_corrected.sum() == 1
    compared = ["value", "low", "high"]
    pd.testing.assert_frame_equal(
        study.intervals.loc[~is_corrected, compared], other.intervals.loc[~is_corrected, compared]
    )


def test_a_test_row_among_the_training_rows_of_its_holdout_is_severe():
    table = with_training_rows()
    leaked = table[table["fold"] == "test"].iloc[[0]].assign(fold="train")
    assert "id on both sides" in severe(validation.read(pd.concat([table, leaked])))


def test_ids_that_folds_test_again_count_once():
    study = validation.read(repeated("rep{repeat}_fold{fold}"))
    pooled = study.intervals.set_index("what").loc["pooled out of fold, ids with all their repeats"]
    assert (pooled["n"], pooled["unit"]) == (IDS, "id")


def test_each_fold_drawn_anew_trains_on_the_ids_that_it_does_not_test():
    study = validation.read(holdouts())
    train, test = study.folds.sizes
    ids = len({*holdouts()["id"]})
    assert set(train + test) == {ids}


def test_the_page_says_that_folds_were_drawn_anew():
    study = validation.read(holdouts())
    assert f"{len({*holdouts()['id']})} ids in 10 folds" in validation_page.title(study).text
    assert "Each of the 10 folds was drawn anew" in validation_page.findings(study).text


def test_holdouts_called_test_in_each_repeat_are_read():
    frame = holdouts()
    frame = frame.assign(repeat=frame["fold"], fold="test")
    assert validation.read(frame).word != "fail"


@pytest.mark.parametrize("count, share", [(10, 0.2), (3, 0.3)])
def test_folds_drawn_anew_by_rows_leak_through_their_groups(count, share):
    frame = holdouts(count, share)
    study = validation.read(frame.assign(group=frame["id"] // 4))
    assert severe(study)["group on both sides"].count > 0


def test_folds_drawn_anew_by_whole_groups_do_not_leak():
    frame = holdouts()
    whole = pd.concat(
        [frame.assign(id=frame["id"] * 2 + half, group=frame["id"]) for half in (0, 1)]
    )
    assert not severe(validation.read(whole.assign(label=whole["group"] % 2)))


# Planted leaks in one hundredth of the rows


def five_folds(n: int = 500) -> pd.DataFrame:
    ids = np.random.default_rng(5).permutation(n)
    return predicted(ids, [f"fold{i % 5}" for i in range(n)], 5)


def test_an_id_in_two_folds_of_one_split_is_severe():
    frame = five_folds()
    again = frame.iloc[:5].assign(fold=[f"fold{(i + 1) % 5}" for i in range(5)])
    assert severe(validation.read(pd.concat([frame, again])))["id on both sides"].count == 10


def test_an_id_marked_as_training_and_test_row_is_severe():
    frame = five_folds()
    sides = np.where(frame["fold"] == "fold0", "test", "train")
    frame = frame.assign(fold=sides, id=np.where(frame["id"] < 10, frame["id"] // 2, frame["id"]))
    frame = frame.drop_duplicates(["id", "fold"])
    assert "id on both sides" in severe(validation.read(frame))


def test_ids_whose_rows_have_other_labels_are_no_design():
    frame = five_folds()
    frame = frame.assign(id=np.arange(500) // 3)
    assert "id on both sides" in severe(validation.read(frame))


def test_a_group_in_two_folds_is_severe():
    frame = five_folds()
    group = np.where(np.arange(500) < 5, 0, np.arange(500))
    assert severe(validation.read(frame.assign(group=group)))["group on both sides"].count == 5


def test_training_rows_from_the_future_are_severe():
    frame = five_folds()
    blocks = frame.sort_values("fold").assign(time=np.arange(500))
    assert not severe(validation.read(blocks))
    moved = blocks.assign(time=np.where(np.arange(500) % 100 == 7, 499, blocks["time"]))
    assert "time travel" in severe(validation.read(moved))


def test_copies_of_one_row_in_a_hundred_are_severe():
    """The first ten of 1,000 rows are copied to the end of the table. With five random folds, four
    of five pairs of row and copy are in different folds on average; both are then test rows with a
    copy among the training rows. That is up to 20 rows; more than ten must be counted, and the
    finding is severe.
    """
    frame = noise(1000)
    copied = pd.concat([frame, frame.iloc[:10]], ignore_index=True)
    folds = splits.k_fold(len(copied), seed=0, k=5)
    features = copied.drop(columns="label")
    finding = leakage.duplicates(folds, features, copied["label"])
    assert finding is not None
    assert finding.severity == "severe"
    assert finding.count > 10


def test_an_id_twice_in_one_fold_is_refused_whatever_the_design():
    frame = holdouts()
    with pytest.raises(InputError, match="must occur once per fold"):
        validation.read(pd.concat([frame, frame.iloc[[0]]]))


# Scores of splits


def scores_on_100_splits(name: str, splits: Iterable[object]) -> pd.DataFrame:
    """Scores of two models on 100 splits, and a column called `name` with the names `splits`."""
    rng = np.random.default_rng(36)
    base = 0.8 + rng.normal(0, 0.03, 100)
    frame = pd.DataFrame({"svm": base + rng.normal(0.012, 0.03, 100), "logreg": base})
    return frame.assign(**{name: list(splits)})


CARET_NAMES = [  # of ten repeats of ten folds, as caret writes them
    f"Fold{fold:02d}.Rep{repeat}" for repeat in range(1, 11) for fold in range(1, 11)
]
SPLITS_BY_COLUMN = {
    "split": range(100),
    "iteration": range(100),
    "cv_fold": range(100),
    "Resample": [*CARET_NAMES[:-1], "Fold10.Rep11"],
    "name": [f"split {number}" for number in range(100)],
}


@pytest.mark.parametrize("name", SPLITS_BY_COLUMN)
@pytest.mark.parametrize("form", ["wide", "long"])
def test_scores_of_splits_are_said_to_be_dependent(name, form):
    frame = scores_on_100_splits(name, SPLITS_BY_COLUMN[name])
    if form == "long":
        frame = frame.melt(name, var_name="model", value_name="score")
    assert "share training rows are not independent. [EK410]" in told(significance.read(frame))


NAMES_BY_COLUMN = {  # column -> its 100 names of ten repeats of ten folds
    "Resample": CARET_NAMES,
    "id": [f"rep{repeat}_fold{fold}" for repeat in range(10) for fold in range(10)],
}


@pytest.mark.parametrize(("column", "names"), NAMES_BY_COLUMN.items(), ids=NAMES_BY_COLUMN)
@pytest.mark.parametrize("form", ["wide", "long"])
def test_scores_of_all_folds_of_named_repeats_are_corrected(column, names, form):
    """Two models have scores on 100 splits, whose names say that they are ten repeats of ten folds,
    such as "Fold01.Rep1" or "rep0_fold0". A test fold then has 1/9 as many rows as its training
    rows, so that the p-value must be that of the same scores with test_to_train = 1/9 stated and no
    names.
    """
    frame = scores_on_100_splits(column, names)
    if form == "long":
        frame = frame.melt(column, var_name="model", value_name="score")
    study = significance.read(frame)
    plain_numbers = scores_on_100_splits("split", range(100))
    study_with_stated_ratio = significance.read(plain_numbers, test_to_train=1 / 9)
    expected = study_with_stated_ratio.comparisons["p"].item()
    assert study.comparisons["p"].item() == pytest.approx(expected, rel=1e-10)
    assert "named as 10 repeats of 10 folds" in told(study)


@pytest.mark.parametrize("gone", [1, 2, 11])
def test_each_repeat_of_scores_may_lack_one_fold(gone):
    frame = scores_on_100_splits("Resample", CARET_NAMES)
    study = significance.read(frame.drop(index=range(0, gone * 10, 11)))
    assert study.p.test_to_train == 1 / 9
    assert "named as 10 repeats of 10 folds" in told(study)


def test_repeats_of_different_numbers_of_folds_are_not_corrected():
    frame = scores_on_100_splits("Resample", CARET_NAMES).iloc[:-2]
    assert "[EK410]" in told(significance.read(frame))


def test_the_ratio_that_is_asked_for_goes_before_that_of_the_names():
    study = significance.read(scores_on_100_splits("Resample", CARET_NAMES), test_to_train=0.5)
    assert study.p.test_to_train == 0.5


def test_scores_of_splits_that_are_corrected_raise_no_warning():
    study = significance.read(scores_on_100_splits("split", range(100)), test_to_train=1 / 9)
    assert "[EK410]" not in told(study)


@pytest.mark.parametrize("name", ["question", "trial", "site"])
def test_other_units_are_no_splits(name):
    study = significance.read(scores_on_100_splits(name, [f"n{number}" for number in range(100)]))
    assert study.splits == ""


# Copies of one split ------------------------------------------------------------------------------


def one_split() -> pd.DataFrame:
    table = repeated("{repeat} {fold}")
    return table[table["fold"].str.startswith("0")]


def copied_repeats(**more) -> pd.DataFrame:
    """The folds of one split, three times in a column of repeats."""
    return pd.concat([one_split().assign(repeat=repeat, **more) for repeat in range(3)])


def copied_folds() -> pd.DataFrame:
    """The folds of one split, again under other names."""
    again = one_split()
    return pd.concat([again, again.assign(fold=again["fold"].str.replace("0 ", "1 "))])


def renamed_folds() -> pd.DataFrame:
    """The folds of one split, with other names in the second repeat."""
    first = one_split().assign(repeat=0)
    return pd.concat([first, first.assign(repeat=1, fold="fold " + first["fold"])])


def decisive(table: pd.DataFrame) -> tuple[float, float]:
    """The limits that decide."""
    row = validation.read(table).intervals.query("honest").iloc[0]
    return row["low"], row["high"]


COPIES = {
    "repeats": copied_repeats,
    "folds": copied_folds,
    "renamed folds": renamed_folds,
}


@pytest.mark.parametrize("form", COPIES)
def test_copies_of_a_split_do_not_narrow_the_interval(form):
    assert decisive(COPIES[form]()) == pytest.approx(decisive(one_split()))


@pytest.mark.parametrize("form", COPIES)
def test_copies_of_a_split_are_named(form):
    assert "copies of others with the same ids and scores" in told(validation.read(COPIES[form]()))


def test_a_copy_beside_sound_repeats_is_left_out_alone():
    table = repeated("{repeat} {fold}")
    table["repeat"] = table["fold"].str[0]
    copy = table[table["repeat"] == "1"].assign(repeat="9")
    assert decisive(pd.concat([table, copy])) == pytest.approx(decisive(table))


def test_other_folds_with_the_same_scores_are_no_copies():
    table = repeated("{repeat} {fold}").assign(score=lambda d: d["id"] % 7 / 7)
    table["repeat"] = table["fold"].str[0]
    assert validation.read(table).examples.repeats == 5


def test_copies_of_one_holdout_are_refused():
    one = one_split().assign(fold="a")
    with pytest.raises(InputError, match="got 2 copies of one: 'a', 'b'"):
        validation.read(pd.concat([one, one.assign(fold="b")]))


# The map of the folds -----------------------------------------------------------------------------


def test_the_map_of_repeated_folds_is_of_the_first_repeat():
    study = validation.read(repeated("Fold{fold}.Rep{repeat}"))
    drawn = study.stretches(IDS)
    assert {name[:4] for name in drawn["fold"]} == {"Rep0"}
    assert drawn["fold"].nunique() == 5


def test_every_row_of_the_first_repeat_is_tested_once_in_the_map():
    drawn = validation.read(repeated("Fold{fold}.Rep{repeat}")).stretches(IDS)
    assert drawn.query("kind == 'test'")["width"].sum() == IDS


def test_the_map_says_that_it_is_of_one_repeat():
    study = validation.read(repeated("Fold{fold}.Rep{repeat}"))
    assert "5 folds of the first of 5 repeats, 120 rows" in validation_page.fold_map(study).caption


def test_the_labels_of_many_folds_do_not_overlap():
    study = validation.read(repeated("Fold{fold}.Rep{repeat}"))
    labels = re.findall(r"Rep\d/Fold\d<", validation_page.folds(study).svg)
    assert 0 < len(labels) * len("Rep1/Fold1 ") <= curve_plots.LETTERS_BELOW + len("Rep1/Fold1 ")


# Labels that are texts, as caret writes them ---------------------------------------------------


def caret(no: str = "no", yes: str = "yes") -> pd.DataFrame:
    """caret's savePredictions of repeated folds: the classes, and a column of scores for each."""
    table = repeated("Fold{fold}.Rep{repeat}")
    names = {0: no, 1: yes}
    return pd.DataFrame(
        {
            "pred": np.where(table["score"] > 0.5, yes, no),
            "obs": table["label"].map(names),
            no: 1 - table["score"],
            yes: table["score"],
            "rowIndex": table["id"],
            "Resample": table["fold"],
        }
    )


def accuracy(table: pd.DataFrame, **options: object) -> float:
    study = validation.read(table, metrics="accuracy", **options)
    return study.estimate(study.primary_metric, study.systems[0]).value


def test_labels_of_yes_and_no_give_the_values_of_1_and_0():
    assert accuracy(caret()) == accuracy(repeated("Fold{fold}.Rep{repeat}"))


@pytest.mark.parametrize("names", [("FALSE", "TRUE"), ("N", "Y"), ("No", "Yes")])
def test_usual_pairs_of_labels_are_read(names):
    table = repeated("Fold{fold}.Rep{repeat}")
    labelled = table.assign(label=table["label"].map(dict(enumerate(names))))
    assert accuracy(labelled) == accuracy(table)


def test_classes_keep_their_names():
    assert validation.read(caret()).examples.classes == ("no", "yes")


def test_the_class_that_names_the_scores_is_the_one_they_are_of():
    columns = "label=obs,fold=Resample,score=healthy"
    of_first = accuracy(caret("healthy", "ill"), columns=columns)
    of_second = accuracy(caret("healthy", "ill"), columns=columns.replace("healthy", "ill"))
    assert of_first == of_second


def test_scores_of_no_named_class_are_refused():
    table = repeated("Fold{fold}.Rep{repeat}")
    labelled = table.assign(label=table["label"].map({0: "healthy", 1: "ill"}))
    with pytest.raises(InputError, match="must say which class the scores are of, got 'healthy'"):
        validation.read(labelled)


def test_a_third_text_is_refused():
    table = caret()[["obs", "yes", "rowIndex", "Resample"]]
    table.loc[table["rowIndex"] == 7, "obs"] = "maybe"
    with pytest.raises(InputError, match="got 'maybe' as one of 3"):
        validation.read(table, columns="label=obs,score=yes,fold=Resample,id=rowIndex")


def test_texts_are_no_numbers_to_forecast():
    with pytest.raises(InputError, match="obs must be a number, got 'yes'"):
        validation.read(caret(), task="number")
