"""The study of one slice is that of its rows alone, wherever they are read from; each figure draws
it.
"""

import numpy as np
import online_samples
import pandas as pd
import pytest
from engine_samples import SMALL, binary, classified

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.limits import USUAL
from evalkit.pages import classification_page

RNG = np.random.default_rng(4)
ROWS = (
    binary(400)
    .sort_values("id")
    .assign(
        age=RNG.integers(20, 80, 400),
        plan=RNG.choice(["a", "b c", "it's"], 400),
        town=RNG.choice([None, "x"], 400),
    )
)
SEGMENTS = "age,plan,town"


def same(study, other):
    """Both studies have the same numbers."""
    assert study.order == other.order
    pd.testing.assert_frame_equal(study.estimates, other.estimates)
    pd.testing.assert_frame_equal(study.comparisons, other.comparisons)


def of_slice(study, rows):
    """Each slice of a study that has a row for each of these, and its rows."""
    return [(part.name, rows[part.member]) for part in study.slices]


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
@pytest.mark.parametrize("limits", [USUAL, SMALL], ids=["held", "blocks"])
def test_rows_of_a_slice_are_read_alone(ending, limits, tmp_path):
    path = tmp_path / f"rows.{ending}"
    given = {"segments": SEGMENTS, "metrics": "roc_auc,f1", "threshold": "best_f1"}
    write = {
        "csv": lambda: ROWS.to_csv(path, index=False),
        "parquet": lambda: ROWS.to_parquet(path),
    }
    write.get(ending, lambda: ROWS.to_json(path, orient="records"))()
    whole = of_slice(classified(ROWS, **given), ROWS)
    study = classified(str(path), limits, **given)
    assert [part.name for part in study.slices] == [name for name, _ in whole]
    assert {"plan=it's", "town=(none)", "age=(36, 51]"} <= {name for name, _ in whole}
    for name, rows in whole[:: 1 if limits is USUAL and ending == "csv" else 3]:
        same(study.segment(name), classified(rows, limits, **given))


def test_forecasts_of_a_slice():
    rows = ROWS.rename(
        columns={"label": "actual", "score_good": "forecast_a", "score_weak": "forecast_b"}
    )
    rows = rows.assign(actual=2 * rows["actual"])  # 0 and 1 beside probabilities are classes
    study = ek.rating(rows, segments="plan", unit="user_id")
    for name, own in of_slice(study, rows):
        same(study.segment(name), ek.rating(own, segments="plan", unit="user_id"))


def test_queries_of_a_slice_with_their_items():
    items = pd.DataFrame({"item": [f"i{i}" for i in range(9)], "category": np.arange(9) % 3})
    lists = pd.DataFrame(
        {"query": np.repeat([f"q{i}" for i in range(40)], 9), "item": [*items["item"]] * 40}
    )
    lists = lists.assign(
        lang=np.repeat(RNG.choice(["de", "fr"], 40), 9), grade=RNG.integers(0, 3, 360)
    )
    both = pd.concat([lists.assign(system=name, score=RNG.random(360)) for name in "ab"])
    study = ek.ranking(both, items=items, segments="lang")
    for part in study.slices:
        own = study.segment(part.name)
        alone = ek.ranking(both[both["lang"] == part.label], items=items)
        same(own, alone)
        for frame in ("curves", "precision_recall", "likeness"):
            pd.testing.assert_frame_equal(getattr(own, frame), getattr(alone, frame))
        assert own.tables.diversity.text == alone.tables.diversity.text
        assert own.top("a", 3, 5) == alone.top("a", 3, 5)


def test_a_slice_of_the_log_or_of_the_users():
    log = online_samples.more_logs(3)
    users = online_samples.users()
    given = {"metrics": "orders", "world": "none"}
    given |= {"segments": ("device", "country")}
    study = ek.interleaving(log, users, **given)
    web = study.segment("device=web")
    same(web.log, ek.interleaving(log[log["device"] == "web"], world="none").log)
    assert web.users is None
    of_x = study.segment("country=x")
    same(
        of_x.users,
        ek.interleaving(users=users[users["country"] == "x"], metrics="orders", world="none").users,
    )
    assert of_x.log is None
    assert ek.interleaving().segment("device=phone").log.settings.baseline == "current"


def test_figures_of_a_slice():
    study = ek.classification(ROWS, segments="plan", metrics="roc_auc")
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    drawn, whole = (study.plot.calibration(segment=segment) for segment in ("plan=a", None))
    alone = ek.classification(ROWS[ROWS["plan"] == "a"]).plot.calibration()
    lines = [
        [line.get_xydata() for line in ax.figure.axes[0].lines]
        for ax in map(first, (drawn, alone, whole))
    ]
    pyplot.close("all")
    assert all(map(np.array_equal, lines[0], lines[1]))
    assert not all(map(np.array_equal, lines[0], lines[2]))
    page = study.segment("plan=a")
    assert "Only plan=a" in classification_page.title(page).text
    assert ".segment(&#x27;plan=a&#x27;)" in classification_page.origin(page).html
    with pytest.raises(
        ParameterError, match=r"no slice 'plan=aa' \(did you mean 'plan=a'\?\), there are plan=a, "
    ):
        study.segment("plan=aa")
    with pytest.raises(ParameterError, match="there are none; set segments to a column"):
        ek.classification(ROWS).segment("plan=a")
    with pytest.raises(ParameterError, match=r"only a figure of study.plot .* got 'plan=a'"):
        classification_page.calibration_plot(study)(segment="plan=a")


def first(axes):
    """The first of some axes."""
    return np.asarray(axes, object).flat[0]


@pytest.mark.parametrize("limits", [USUAL, SMALL], ids=["held", "blocks"])
def test_a_slice_of_a_number_with_an_exponent_has_a_plain_label(limits):
    rows = ROWS.assign(dose=[f"{number:.3e}" for number in np.arange(400) % 3 + 0.5])
    study = classified(rows, limits, segments="dose", metrics="roc_auc")
    assert [part.name for part in study.slices] == ["dose=0.5", "dose=1.5", "dose=2.5"]
