"""Which values of a metric are better: as the input states, else as its name says; what says nothing is told."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from engine_samples import compared
from online_samples import SMALL, users

import evalkit as ek
from evalkit.catalogue import lookup
from evalkit.findings.kinds import ASSUMED_DIRECTION
from evalkit.pages import experiment_page, significance_page
from evalkit.studies import interleaving, significance

RNG = np.random.default_rng(5)
LESS = RNG.normal(1, 0.2, 40)  # `good` has lower values than `bad`


def table(value="value", **more):
    """One row a unit and system, values in the column of that name."""
    both = np.concatenate([LESS, LESS + RNG.normal(0.5, 0.1, 40)])
    return pd.DataFrame({"query": [*range(40)] * 2, "system": ["good"] * 40 + ["bad"] * 40, value: both} | more)


def better(study):
    """The better system of the only pair."""
    row = study.headline.iloc[0]
    return row["first"] if row["verdict"] == "better" else row["second"]


def warned(study):
    """The findings on directions that are assumed."""
    return [f.message for f in significance_page.every_finding(study) if f.kind is ASSUMED_DIRECTION]


LOWER = "loss wer WER perplexity ppl error cost time regret eer fid cer ter log_loss logLoss"
UNITS = "latency_ms time_s Latency_(sec) error_%"


@pytest.mark.parametrize("name", f"{LOWER} {UNITS}".split())
@pytest.mark.parametrize("read", [significance.read, compared])
def test_a_column_of_losses_is_lower_is_better_under_its_own_name(name, read):
    study = read(table(name))
    assert (study.primary.label, better(study), warned(study)) == (name, "good", [])


@pytest.mark.parametrize("name", ["accuracy", "F1", "ndcg@10", "reward", "neg_log_loss", "-loss", "watch_time"])
def test_a_column_of_gains_is_higher_is_better_without_a_warning(name):
    study = ek.significance(table(name), columns=f"value={name}")
    assert (study.primary.label, better(study), warned(study)) == (name, "bad", [])


@pytest.mark.parametrize("name", ["value", "closeness", "terrain", "minutes", "cost_reduction", "Wert"])
@pytest.mark.parametrize("read", [significance.read, compared])
def test_a_name_that_says_nothing_is_told_with_what_to_set(name, read):
    study = read(table(name))
    assert better(study) == "bad"
    assert f"higher was taken to be better. If lower is, set lower_is_better={name!r}" in warned(study)[0]
    assert "higher is better, which is assumed" in str(study)
    turned = read(table(name), lower_is_better=name)
    assert (better(turned), warned(turned)) == ("good", [])


def test_whole_words_decide_and_no_part_of_one():
    assert {lookup.direction(name) for name in ("glossy", "lossless", "water", "costume", "timer", "interrogate")} == {
        None
    }


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    """The units of a rating report by an own metric of which less is better, and its better system."""
    folder = tmp_path_factory.mktemp("rated")
    (folder / "mine.py").write_text(
        "import evalkit as ek\n\n@ek.mean(best='low')\ndef my_own(actual, forecast): return abs(actual - forecast)\n"
    )
    actual = RNG.normal(0, 1, 60)
    frame = {"actual": actual, "forecast_good": actual + 0.1, "forecast_bad": actual + RNG.normal(0.6, 0.1, 60)}
    study = ek.rating(pd.DataFrame(frame), metrics=f"{folder / 'mine.py'}:my_own")
    study.save(folder / "rated.units.parquet")
    return folder / "rated.units.parquet", better(study)


def test_the_units_of_a_report_keep_the_direction_that_they_state(rated):
    file, good = rated
    for data in (str(file), pq.read_table(file)):
        for read in (significance.read, compared):
            study = read(data, columns="value=numerator")
            assert (study.primary.label, better(study), warned(study)) == ("my_own", good, [])


def test_an_earlier_report_keeps_the_direction_that_it_states(tmp_path):
    ek.significance(table("minutes"), lower_is_better="minutes").save(tmp_path / "earlier.json")
    study = ek.significance(str(tmp_path / "earlier.json"))
    assert (better(study), warned(study)) == ("good", [])


def test_a_share_of_errors_is_lower_is_better():
    counts = pd.DataFrame({"system": ["good", "bad"], "errors": [10, 60], "n": [100, 100]})
    assert better(ek.significance(counts, columns="successes=errors,trials=n")) == "good"


@pytest.mark.parametrize("metric, first, told", [("latency_ms", "a", 0), ("orders", "b", 0), ("amount", "b", 1)])
def test_metrics_of_an_ab_test_have_the_direction_of_their_names(metric, first, told):
    data = users(orders=[1, 9, 0, 9, 1, 8, 2, 9]).rename(columns={"orders": metric})
    study = interleaving.read(users=data, metrics=metric, **SMALL).users
    assert (better(study), len([f for f in experiment_page.of_users(study) if f.kind is ASSUMED_DIRECTION])) == (
        first,
        told,
    )
    less = interleaving.read(users=data, metrics=metric, best="low", **SMALL).users
    assert (better(less), [f for f in experiment_page.of_users(less) if f.kind is ASSUMED_DIRECTION]) == ("a", [])
