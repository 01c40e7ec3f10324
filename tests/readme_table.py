"""Writes what README.md has from elsewhere, each between two markers: `python tests/readme_table.py`.

The table of metrics comes from the catalogue, the ratios of speed from what the benchmarks wrote.
"""

from pathlib import Path

from evalkit.definitions import catalogue

TOP = Path(__file__).resolve().parents[1]
README, RESULTS = TOP / "README.md", TOP / "benchmarks" / "RESULTS.md"
METRICS = "<!-- metrics: made by make outputs -->\n", "<!-- end of metrics -->"
SPEED = "<!-- speed: made by make outputs from benchmarks/RESULTS.md -->\n", "<!-- end of speed -->"
CLAIMS = "<!-- claims -->\n", "<!-- end of claims -->"


def updated(text: str) -> str:
    """README's text with the tables as they are now."""
    text = _between(text, METRICS, catalogue.markdown() + "\n")
    return _between(text, SPEED, claims())


def claims() -> str:
    """The table of ratios that the benchmarks wrote."""
    return RESULTS.read_text(encoding="utf-8").split(CLAIMS[0])[1].split(CLAIMS[1])[0]


def _between(text: str, marks: tuple[str, str], new: str) -> str:
    before, rest = text.split(marks[0])
    return f"{before}{marks[0]}{new}{marks[1]}{rest.split(marks[1])[1]}"


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")
