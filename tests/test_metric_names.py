"""Names of metrics as people and tools write them: examples/metric_names.toml."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sk

import evalkit as ek
from evalkit.__main__ import main
from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup
from evalkit.parameters.kinds import SeveralMeanings

EXAMPLES = tomllib.loads(
    (Path(__file__).parent / "examples" / "metric_names.toml").read_text(encoding="utf-8")
)
RNG = np.random.default_rng(65)
ROWS = 120


def scores() -> pd.DataFrame:
    """Two systems' probabilities of 120 rows of two classes."""
    label = RNG.integers(0, 2, ROWS)
    frame = {"id": range(ROWS), "label": label}
    for name, noise in (("a", 0.2), ("b", 0.4)):
        frame[f"score_{name}"] = np.clip(0.3 + 0.4 * label + RNG.normal(0, noise, ROWS), 0, 1)
    return pd.DataFrame(frame)


def forecasts() -> pd.DataFrame:
    """Forecasts of 120 positive values."""
    actual = RNG.gamma(3.0, 2.0, ROWS)
    return pd.DataFrame({"actual": actual, "forecast": actual + RNG.uniform(0, 1, ROWS)})


def labels_of(name: str, structure: str) -> list[str]:
    """The metric that a name stands for, or the several ones with which it is refused."""
    try:
        return [lookup.find_metric(name, structure).label]
    except SeveralMeanings as refusal:
        return list(refusal.definitions)


@pytest.mark.parametrize(
    ("structure", "name", "metrics"),
    [row[1:] for row in EXAMPLES["names"]],
    ids=[f"{tool}: {name} of {structure}" for tool, structure, name, _ in EXAMPLES["names"]],
)
def test_a_usual_name_is_its_metric_or_all_that_it_may_mean(structure, name, metrics):
    assert labels_of(name, structure) == metrics


def test_there_are_sixty_names_of_ten_tools():
    assert len(EXAMPLES["names"]) >= 60
    assert len({tool for tool, *_ in EXAMPLES["names"]}) >= 10


@pytest.mark.parametrize(("tool", "structure", "name"), EXAMPLES["absent"])
def test_a_metric_that_is_not_there_is_refused_without_hint_at_another(tool, structure, name):
    with pytest.raises(ParameterError, match=re.escape(repr(name))) as error:
        lookup.find_metric(name, structure)
    assert "did you mean" not in str(error.value)


@pytest.mark.parametrize(("structure", "name", "hint"), EXAMPLES["slips"])
def test_a_slip_is_hinted_at_with_its_cut_off(structure, name, hint):
    with pytest.raises(ParameterError) as error:
        lookup.find_metric(name, structure)
    assert str(error.value).partition("; did you mean ")[2] == (f"{hint!r}?" if hint else "")


@pytest.mark.parametrize(("structure", "name", "says"), EXAMPLES["beside"])
def test_a_name_of_something_beside_the_metrics_is_told_where_it_stands(structure, name, says):
    with pytest.raises(ParameterError, match=re.escape(says)):
        lookup.find_metric(name, structure)


def with_cut(metric) -> str:
    """The metric's name, with a cut-off if it must have one: precision@1, f^1, recall@fpr0.5."""
    if metric.cut != "must":
        return metric.name
    return f"{metric.before_cut}{min(metric.most, 1)}"


@pytest.mark.parametrize("structure", lookup.TABLES)
def test_a_name_is_found_in_every_case_and_with_every_separator(structure):
    for metric in lookup.TABLES[structure].values():
        name = with_cut(metric)
        for spelling in (name.upper(), name.replace("_", " "), name.replace("_", "-")):
            assert lookup.find_metric(spelling, structure).metric.name == metric.name


def test_every_metric_has_a_title():
    every = [metric for table in lookup.TABLES.values() for metric in table.values()]
    assert [metric.name for metric in every if not metric.title] == []


# ---- equal to the tools --------------------------------------------------------------------------


def scorers(structure: str) -> list[str]:
    """The scorers of scikit-learn among the examples."""
    rows = EXAMPLES["names"]
    return [
        name
        for tool, structure_of_name, name, _ in rows
        if tool == "scikit-learn" and structure_of_name == structure
    ]


TAKE_SCORES = {"roc_auc", "average_precision", "neg_log_loss", "neg_brier_score", "d2_brier_score"}


@pytest.mark.parametrize("name", scorers("counts"))
def test_a_scorer_of_two_classes_has_the_value_of_scikit_learn(name):
    frame = scores()
    value = ek.classification(frame, systems="a", metrics=name).estimates["value"].item()
    predicted = frame.score_a if name in TAKE_SCORES else frame.score_a >= 0.5
    assert value == pytest.approx(sk.get_scorer(name)._score_func(frame.label, predicted))


@pytest.mark.parametrize("name", scorers("forecasts"))
def test_a_scorer_of_forecasts_has_the_value_of_scikit_learn(name):
    frame = forecasts()
    value = ek.rating(frame, metrics=name).estimates["value"].item()
    assert value == pytest.approx(sk.get_scorer(name)._score_func(frame.actual, frame.forecast))


# ---- several meanings ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "metric", ["average_precision", "pr_auc_davis_goadrich", "pr_auc_trapezoid"]
)
def test_a_name_of_several_metrics_is_refused_with_their_values(metric):
    """The name "PR AUC" may mean each of three metrics (`metric`), and is refused. The error lists
    each with its definition in brackets, in which one semicolon may stand, and the values of the
    systems a and b: "pr_auc_trapezoid (its definition) = 0.91 (a), 0.83 (b)".
    """
    frame = scores()
    with pytest.raises(ParameterError) as error:
        ek.classification(frame, metrics="PR AUC")
    values = ek.classification(frame, metrics=metric).estimates.set_index("system")["value"]
    values_of_both = re.escape(f"= {values['a']:.4g} (a), {values['b']:.4g} (b)")
    definition = r"\([^;]*(; [^;]*)?\)"
    assert re.search(f"{metric} {definition} {values_of_both}", str(error.value))


def test_a_name_of_several_metrics_of_ranked_lists_is_refused_with_their_values():
    with pytest.raises(ParameterError) as error:
        ek.ranking(metrics="HR@10", systems="lda_cosine")
    for metric in ("hit_rate@10", "hit_ratio@10"):
        value = ek.ranking(metrics=metric, systems="lda_cosine").estimates["value"].item()
        assert re.search(rf"{metric} \([^)]*\) = {value:.4g} \(lda_cosine\)", str(error.value))


def test_the_command_refuses_a_name_of_several_metrics_as_bad_input(tmp_path, capsys):
    scores().to_csv(tmp_path / "scores.csv", index=False)
    given = ["-p", "preds", str(tmp_path / "scores.csv"), "-p", "metrics", "PR AUC"]
    assert main(["report", "classification", *given, "-o", str(tmp_path / "out")]) == 2
    assert "'PR AUC' has several meanings" in capsys.readouterr().err


def test_values_that_cannot_be_computed_leave_the_definitions():
    frame = pd.DataFrame({"id": range(6), "label": list("abcabc"), "predicted": list("abbabc")})
    with pytest.raises(ParameterError, match=r"'auc' has several meanings.* roc_auc_ovr") as error:
        ek.classification(frame, metrics="auc")
    assert " = " not in str(error.value)


# ---- other parameters ----------------------------------------------------------------------------


def judged_metrics(study) -> set[str]:
    """The metrics that the rules of a gate are about."""
    return {name for _, _, rows in study.gate.rules for name in rows["metric"]}


def test_a_gate_takes_the_usual_name():
    study = ek.classification(scores(), metrics="acc,AUROC", gate="ROC-AUC.value >= 0.5")
    assert judged_metrics(study) == {"roc_auc"}


def test_a_gate_of_a_name_of_several_metrics_takes_the_one_of_the_report():
    study = ek.ranking(metrics="hit_rate@10", gate="HR@10.value >= 0.01")
    assert judged_metrics(study) == {"hit_rate@10"}


def test_a_gate_takes_no_negative_of_a_metric():
    with pytest.raises(ParameterError, match="got 'neg_log_loss'"):
        judged_metrics(
            ek.classification(scores(), metrics="log_loss", gate="neg_log_loss.value >= -0.5")
        )


def test_lower_is_better_takes_the_usual_name():
    study = ek.rating(forecasts(), metrics="MAE", lower_is_better="mean absolute error")
    assert study.primary_metric.label == "mae"


def test_a_diff_takes_the_usual_name(tmp_path):
    for name in ("old", "new"):
        study = ek.classification(scores(), metrics="accuracy,roc_auc")
        study.save(tmp_path / f"{name}.units.parquet")
    diff = ek.diff(tmp_path / "old.units.parquet", tmp_path / "new.units.parquet", metrics="AUC")
    assert diff.primary_metric.label == "roc_auc"


def test_an_own_metric_may_have_an_alias_as_its_name():
    @ek.mean()
    def hit(label, score):
        return abs(label - score)

    assert ek.classification(scores(), metrics=[hit]).primary_metric.label == "hit"
