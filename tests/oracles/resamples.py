"""Write resamples.json: the tests of two classifiers by mlxtend, and the differences in accuracy on
the resamples that it drew.

    python -m venv /some/folder && /some/folder/bin/pip install mlxtend==0.25.0
    /some/folder/bin/python tests/oracles/resamples.py

GaussianNB less LinearDiscriminantAnalysis, of the first four columns of scikit-learn's breast
cancer data. The file names the versions. tests/test_split_claims.py compares.
"""

import json
from functools import partial
from importlib.metadata import version
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

TOOLS = ("mlxtend", "scikit-learn", "numpy", "scipy")


def mlxtend_tests():
    """The tests by their names in the file."""
    from mlxtend import evaluate

    return {
        "holdouts": partial(evaluate.paired_ttest_resampled, num_rounds=10, test_size=0.3),
        "ten folds": partial(evaluate.paired_ttest_kfold_cv, cv=10, shuffle=True),
        "five times two folds": evaluate.paired_ttest_5x2cv,
        "five times two folds, F": evaluate.combined_ftest_5x2cv,
    }


class Accuracy:
    """A scorer that keeps what it returns."""

    def __init__(self):
        self.values = []

    def __call__(self, estimator, x, y):
        """The share of rows that are classified correctly."""
        self.values.append(float(estimator.score(x, y)))
        return self.values[-1]


def case(test):
    """What a test says, and the differences on its resamples."""
    table = load_breast_cancer()
    x = table.data[:, :4]
    scorer = Accuracy()
    statistic, p = test(
        GaussianNB(), LinearDiscriminantAnalysis(), x, table.target, scoring=scorer, random_seed=1
    )
    pairs = zip(scorer.values[::2], scorer.values[1::2], strict=True)
    return {"differences": [a - b for a, b in pairs], "statistic": statistic, "p": p}


if __name__ == "__main__":
    stored = {"tools": {name: version(name) for name in TOOLS}, "rows": 569}
    stored |= {name: case(test) for name, test in mlxtend_tests().items()}
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
