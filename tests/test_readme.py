"""README says what is true: its metric table, its commands, its files."""

import re

from readme_table import FINDINGS, PARAMETERS, README, SCHEMA, findings, parameters, schema, updated


def test_the_metric_table_is_the_catalogue():
    text = README.read_text(encoding="utf-8")
    assert updated(text) == text, "run make outputs"


def test_the_docs_list_the_parameters_of_every_report():
    assert PARAMETERS.read_text(encoding="utf-8") == parameters(), "run make outputs"


def test_the_docs_list_every_kind_of_finding():
    assert FINDINGS.read_text(encoding="utf-8") == findings(), "run make outputs"


def test_the_schema_lists_every_code():
    assert SCHEMA.read_text(encoding="utf-8") == schema(), "run make outputs"
    assert '"EK101", ' in schema()


def test_every_file_that_is_linked_exists():
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert local
    assert not [link for link in local if not (README.parent / link).exists()]


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"(?:`|^    )make (\w+)", README.read_text(encoding="utf-8"), re.MULTILINE))
    rules = (README.parent / "Makefile").read_text(encoding="utf-8")
    assert {"report", "test"} <= targets
    assert not [target for target in targets if f"\n{target}:" not in rules]
