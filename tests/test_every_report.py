"""The files of every report on its sample: small, nothing loaded, the same again, and what the schema says."""

import json
import re

import jsonschema
import pytest
from made_once import ROOT, report

from evalkit.parameters import REPORTS

LARGEST = 300_000  # bytes of a page
ELSEWHERE = re.compile(r"""(src|href|url)\s*[=(]\s*["']?\s*(https?:)?//""")
each = pytest.mark.parametrize("name", sorted(REPORTS))


@each
def test_the_page_is_small_and_loads_nothing(name, sample_reports):
    text = (sample_reports / f"{name}.html").read_text(encoding="utf-8")
    assert len(text.encode()) < LARGEST
    assert not ELSEWHERE.search(text)
    assert str(ROOT) not in text
    assert text.count("<details>") >= 3


@each
def test_the_json_is_what_the_schema_says(name, sample_reports):
    text = (sample_reports / f"{name}.json").read_text(encoding="utf-8")
    results = json.loads(text)
    assert "NaN" not in text
    assert str(ROOT) not in text
    schema = jsonschema.Draft202012Validator(json.loads((ROOT / "evalkit" / "schema.json").read_text(encoding="utf-8")))
    schema.validate(results)
    of = results if "estimates" in results else results["log"]
    del of["estimates"]
    assert not schema.is_valid(results)


@pytest.mark.parametrize("name", ["significance", "validation"])
def test_alone_it_has_the_bytes_that_it_has_as_one_of_several(name, sample_reports, tmp_path):
    report(name, "-o", str(tmp_path))
    for ending in ("html", "ipynb", "json"):
        file = f"{name}.{ending}"
        assert (tmp_path / file).read_bytes() == (sample_reports / file).read_bytes(), ending
