"""Write corp.json: CORP decompositions and isotonic means by model-diagnostics, on rows that stand
beside them.

    python -m venv /some/folder && /some/folder/bin/pip install model-diagnostics==1.5.0
    /some/folder/bin/python tests/oracles/corp.py

The file names the versions. tests/test_calibration.py compares.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np

TOOLS = ("model-diagnostics", "scikit-learn", "numpy", "scipy", "polars")
ROWS = 150
PARTS = ("miscalibration", "discrimination", "uncertainty", "score")


def parts(actual, forecast, weight, loss):
    """The decomposition as a dict."""
    from model_diagnostics.scoring import decompose

    frame = decompose(actual, forecast, weights=weight, scoring_function=loss)
    return {name: float(frame[name][0]) for name in PARTS}


def case(actual, forecast, weight, losses):
    """One table of rows with its decompositions and the isotonic mean of each row."""
    from model_diagnostics._utils.isotonic import IsotonicRegression

    fitted = IsotonicRegression(functional="mean").fit(forecast, actual, sample_weight=weight)
    columns = {"actual": actual, "forecast": forecast} | (
        {} if weight is None else {"weight": weight}
    )
    return {
        "rows": {name: column.tolist() for name, column in columns.items()},
        "parts": {name: parts(actual, forecast, weight, loss) for name, loss in losses.items()},
        "isotonic": fitted.predict(forecast).tolist(),
    }


def main():
    """Write the file."""
    from model_diagnostics.scoring import LogLoss, SquaredError

    rng = np.random.default_rng(17)
    forecast = rng.gamma(2, 2, ROWS).round(1)  # ties
    actual, weight = (
        rng.gamma(0.8, forecast / 0.7 + 0.1).round(2),
        rng.integers(1, 6, ROWS).astype(float),
    )
    chance = rng.beta(1, 2, ROWS).round(2).clip(0.01, 0.99)
    label = (rng.random(ROWS) < chance**1.3).astype(float)
    squared, binary = (
        {"squared_error": SquaredError()},
        {"brier": SquaredError(), "log_loss": LogLoss()},
    )
    cases = {
        "forecasts": case(actual, forecast, None, squared),
        "weighted_forecasts": case(actual, forecast, weight, squared),
        "probabilities": case(label, chance, None, binary),
        "weighted_probabilities": case(label, chance, weight, binary),
    }
    content = {"versions": {name: version(name) for name in TOOLS}, "cases": cases}
    Path(__file__).with_suffix(".json").write_text(json.dumps(content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
