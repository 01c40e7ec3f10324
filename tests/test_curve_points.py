"""Points of curves and their bands: many systems are resampled only where a figure shows them."""

import numpy as np
import pandas as pd
import pytest

from evalkit.metrics import curves
from evalkit.pages import binary_page, page
from evalkit.studies import classification, score_curves
from evalkit.studies.binary import BinaryStudy

SYSTEMS = page.CURVES + 2


@pytest.fixture
def study():
    g = np.random.default_rng(1)
    label = g.random(300) < 0.4
    scores = {f"score_{j}": np.clip(0.4 + 0.03 * j * label + g.normal(0, 0.15, 300), 0, 1) for j in range(SYSTEMS)}
    return classification.read(preds=pd.DataFrame({"label": label.astype(int)} | scores), metrics="roc_auc")


def test_bands_are_made_once_for_both_curves_and_only_of_systems_that_are_drawn(study, monkeypatch):
    resampled, resample = [], BinaryStudy.resample
    monkeypatch.setattr(BinaryStudy, "resample", lambda self, name: resampled.append(name) or resample(self, name))
    binary_page.curve_plot(study)
    assert resampled == study.order[: page.CURVES]
    for kind in ("roc", "pr"):
        every, some = study.bands(kind), study.bands(kind, study.order[2:4])
        assert list(every["system"].unique()) == study.order
        own = every[every["system"].isin(study.order[2:4])].reset_index(drop=True)
        pd.testing.assert_frame_equal(own, some)
        drawn = resample(study, study.order[2])
        alone = score_curves.band(study.order[2], drawn, kind, level=0.95)
        pd.testing.assert_frame_equal(alone, some[some["system"] == study.order[2]])
    assert sorted(resampled) == sorted(study.order)


def test_crossings_are_those_of_each_pair_alone(study):
    rows = study.crossings
    assert len(rows) == 2 * len(study.pairs) == SYSTEMS * (SYSTEMS - 1)
    for row in rows[rows["curve"] == "pr"].to_dict("records"):
        first, second = (curves.precision_recall_curve(study.table(row[name])) for name in ("first", "second"))
        assert row["crossings"] == pytest.approx(curves.crossings(first, second).tolist(), abs=1e-12)
    assert rows["crossings"].map(len).max() > 0
