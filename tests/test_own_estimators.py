"""Estimators of the user's own: found in the working directory, never in place of what is installed."""

import sys

from evalkit.offline import fitting


def test_a_module_in_the_working_directory_is_found_and_hides_nothing(tmp_path, monkeypatch):
    source = "from sklearn.dummy import DummyClassifier\n\nclass Own(DummyClassifier):\n    pass\n"
    (tmp_path / "evalkit_own_models.py").write_text(source)
    (tmp_path / "sklearn.py").write_text("raise SystemExit('imported from the working directory')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    assert type(fitting.load("evalkit_own_models.Own", "estimator", "classes")).__name__ == "Own"
    assert fitting.load("sklearn.dummy.DummyClassifier", "estimator", "classes")
    assert sys.path[-1] == str(tmp_path)
