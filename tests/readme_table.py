"""Writes the catalogue's table of metrics into README.md, between its two markers: `python tests/readme_table.py`."""

from pathlib import Path

from evalkit.definitions import catalogue

README = Path(__file__).resolve().parents[1] / "README.md"
START, END = "<!-- metrics: made by make outputs -->\n", "<!-- end of metrics -->"


def updated(text: str) -> str:
    """README's text with the table as the catalogue has it now."""
    before, rest = text.split(START)
    return f"{before}{START}{catalogue.markdown()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")
