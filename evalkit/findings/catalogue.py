"""All kinds of findings by code: docs/findings.md and the codes in the JSON schema are made from them."""

from types import ModuleType

from evalkit.findings import inputs, methods, predictions, splits
from evalkit.findings.finding import Kind

THEMES: dict[str, tuple[str, ModuleType]] = {
    "EK1": ("Input: rows, columns, labels, judgements", inputs),
    "EK2": ("Sample: units, weights, slices", inputs),
    "EK3": ("Predictions: ranks, scores, thresholds", predictions),
    "EK4": ("Tests and intervals", methods),
    "EK5": ("Splits and leakage", splits),
    "EK6": ("Fits and checks that are missing", splits),
    "EK7": ("Interleaving, A/B tests and simulations", methods),
}


def kinds() -> list[Kind]:
    """Every kind, by code.

    >>> kinds()[0].code
    'EK101'
    """
    modules = dict.fromkeys(module for _, module in THEMES.values())
    every = [value for module in modules for value in vars(module).values() if isinstance(value, Kind)]
    return sorted(every, key=lambda kind: kind.code)


def markdown() -> str:
    """A table in Markdown for each theme."""
    return "\n".join(_theme(theme, heading) for theme, (heading, _) in THEMES.items())


def _theme(theme: str, heading: str) -> str:
    rows = [f"| {k.code} | {k.name} | {k.meaning} | {k.advice} |" for k in kinds() if k.code.startswith(theme)]
    return "\n".join(
        [f"## {heading}\n", "| code | name | what it means | what to do |", "|---|---|---|---|", *rows, ""]
    )
