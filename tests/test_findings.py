"""Findings: each code is one documented kind, of pages that give its facts; directions that are
assumed.
"""

import ast
import re
import sys
from dataclasses import replace
from pathlib import Path
from string import Formatter

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from engine_samples import compared as read_in_blocks
from online_samples import users

import evalkit as ek
from evalkit.catalogue import lookup
from evalkit.drawing.shown import findings
from evalkit.findings import kinds
from evalkit.findings.kinds import (
    NO_DIRECTION,
    NOTE,
    SEVERE,
    WARNING,
    Finding,
    FindingKind,
    measured,
    ordered,
)
from evalkit.pages import experiment_page, significance_page, texts
from evalkit.parameters.reports import PARAMETERS_BY_NOTEBOOK
from evalkit.studies import interleaving, significance

TRUST = Path(__file__).resolve().parents[1] / "benchmarks" / "trust"
PACKAGE = Path(__file__).resolve().parents[1] / "evalkit"
KINDS = kinds.all_kinds()
KIND = FindingKind(
    code="EK999",
    name="name",
    meaning="What it means.",
    advice="What to do.",
    says={"": "{fact}", "other": "Fine."},
)


def test_a_code_and_a_name_are_of_one_kind():
    assert (
        len({kind.code for kind in KINDS}) == len({kind.name for kind in KINDS}) == len(KINDS) > 90
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
def test_every_kind_has_a_theme_a_name_a_meaning_and_advice(kind):
    """A kind of finding has a code, such as EK806, whose beginning, EK8, is a theme; a short name
    in lower case; and two texts of whole sentences, without "|", which would end a cell of a table
    in Markdown.
    """
    assert re.fullmatch(r"EK[1-9]\d\d", kind.code)
    assert kind.code[:3] in kinds.THEMES
    assert re.fullmatch(r"[a-z][\w -]{3,35}", kind.name)
    for sentence in (kind.meaning, kind.advice):
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "|" not in sentence


SOURCES = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}


def kinds_named_in(source):
    """The kinds that a module names, as kinds.SMALL_CLASS; the module `kinds` has severities, as
    kinds.NOTE, beside them.
    """
    if "from evalkit.findings import kinds" not in source:
        return set()
    return set(re.findall(r"\bkinds\.([A-Z_]+)\b", source)) - set(kinds.Severity.__members__)


def test_every_kind_that_the_package_names_exists_and_every_kind_is_named():
    named = {name for source in SOURCES.values() for name in kinds_named_in(source)}
    assert named == set(kinds.KINDS)


def test_every_measured_sentence_that_a_module_names_exists():
    for path, source in SOURCES.items():
        named = set(re.findall(r"\bmeasured\.([A-Z_]+)\b", source))
        assert named <= set(vars(kinds.measured)), path


def texts_and_facts_of_sentences(function):
    """For each sentence that a function of a page says: the texts that the sentence can have, and
    the names of the facts that the function passes.
    """
    nodes = list(ast.walk(function))
    named = {}
    assigned = (
        node for node in nodes if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign)
    )
    for node in (node for node in assigned if node.value is not None):
        dicts = [part for part in ast.walk(node.value) if isinstance(part, ast.Dict)]
        keys = {key.value for part in dicts for key in part.keys if isinstance(key, ast.Constant)}
        for name in ast.walk(node.targets[0] if isinstance(node, ast.Assign) else node.target):
            named[ast.unparse(name)] = named.get(ast.unparse(name), set()) | keys
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        of = ast.unparse(call.func)
        if (
            made := re.fullmatch(r"kinds\.([A-Z_]+)\.(note|warning|rated)|texts\.said", of)
        ) is not None:
            words = {
                part.value
                for arg in call.args
                for part in ast.walk(arg)
                if isinstance(part, ast.Constant)
            }
            says = kinds.KINDS[made[1]].says if made[1] else texts.CAPTIONS
            facts = {
                fact
                for k in call.keywords
                for fact in ([k.arg] if k.arg else named[ast.unparse(k.value)])
            }
            facts |= {"study"} if not made[1] and len(call.args) > 1 else set()
            yield [says[form] for form in says if form in words] or [*says.values()], facts


def fields_of(text):
    """The names of the replacement fields of a format string: {"rows", "of"} for "{rows.first} of
    {of}".
    """
    names = [name for _, name, _, _ in Formatter().parse(text) if name]
    return {re.split(r"[.\[]", name)[0] for name in names}


def test_a_page_gives_each_sentence_the_facts_that_its_text_has_fields_for():
    """A page says a sentence by a call that passes facts, rows=9, to a text with fields, "{rows}
    rows are duplicates". The calls are found in the source, so that sentences which only rare data
    cause are checked too. `kinds.measured` has sentences on what simulations measured: a field with
    the name of one of them needs no fact, as every page fills it in.
    """
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.glob("pages/*.py")]
    functions = [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    sentences = [
        sentence for function in functions for sentence in texts_and_facts_of_sentences(function)
    ]
    assert len(sentences) > 130  # there are 190; far fewer would mean that calls were overlooked
    measured_sentences = set(vars(kinds.measured))
    for possible_texts, names_of_facts in sentences:
        for text in possible_texts:
            assert fields_of(text) - measured_sentences == names_of_facts, text


def test_severe_findings_come_first_and_others_keep_their_order():
    several = [
        Finding(KIND, *of) for of in ((NOTE, "a"), (WARNING, "b"), (SEVERE, "c"), (WARNING, "d"))
    ]
    assert [one.message for one in ordered(several)] == ["c", "b", "d", "a"]


def test_the_record_of_a_finding_in_the_json_has_what_its_kind_and_the_finding_say():
    """A finding on 3 of 9 rows, of which it names two as examples, `rows`. Its record in the JSON
    must have the code, the name and the advice of its kind, and the other fields of the finding.
    """
    kind = FindingKind("EK999", "small class", "What it means.", "What to do.")
    finding = Finding(kind, WARNING, message="3 of 9 rows.", count=3, of=9, rows=(0, 4))
    assert finding.record() == {
        "code": "EK999",
        "name": "small class",
        "severity": "warning",
        "message": "3 of 9 rows.",
        "advice": "What to do.",
        "count": 3,
        "of": 9,
        "rows": [0, 4],
    }


def test_the_page_says_what_to_do_where_it_matters():
    shown = findings(
        [KIND.warning(fact="Look <here>."), KIND.finding_with_severity(NOTE, None, "other")]
    )
    code = '<span class="muted" title="name: What to do.">EK999</span>'
    assert f'<li id="EK999" class="warn">Look &lt;here&gt;. What to do. {code}</li>' in shown.html
    assert f"<li>Fine. {code}</li>" in shown.html
    assert shown.text == "Look <here>. [EK999]\nFine. [EK999]"


def html_by_place(html):
    """The HTML of the findings by the place to which the page moves it; each place occurs once."""
    parts = re.findall(r"<!--at (\w+)-->(.*?)<!--/at-->", html)
    by_place = dict(parts)
    assert len(by_place) == len(parts)
    return by_place


def first_words_of_items(html):
    return re.findall(r"<li[^>]*>(\w+)", html)


@pytest.fixture
def four_warnings_and_a_note():
    """The HTML of five findings, whose texts are a to e: a warning that belongs to the slices, then
    three warnings and a note that belong to the verdict, or else to the metrics.
    """
    of_slices = FindingKind("EK998", "name", "Meaning.", "Advice.", {"": "{fact}"}, at=("slices",))
    of_verdict = FindingKind(
        "EK999", "name", "Meaning.", "Advice.", {"": "{fact}"}, at=("verdict", "metrics")
    )
    warnings = [of_slices.warning(fact="a")]
    warnings += [of_verdict.warning(fact=fact) for fact in "bcd"]
    return findings([*warnings, of_verdict.note(fact="e")]).html


def test_two_warnings_about_the_verdict_stand_beside_it_and_all_others_in_their_sections(
    four_warnings_and_a_note,
):
    """The findings a to e have places on the page. The warning a belongs to the slices. The
    warnings b, c and d and the note e belong to the verdict, or else to the metrics. Two warnings
    have room at the verdict, which shows no note: d and e go to the metrics.
    """
    html = html_by_place(four_warnings_and_a_note)
    del html["strip"]  # the number of all findings, at the top of the page
    assert {place: first_words_of_items(items) for place, items in html.items()} == {
        "verdict": ["b", "c"],
        "metrics": ["d", "e"],
        "slices": ["a"],
    }
    assert list(html) == ["verdict", "metrics", "slices"]


def test_all_findings_are_counted_and_linked_once_per_kind(four_warnings_and_a_note):
    strip = html_by_place(four_warnings_and_a_note)["strip"]
    assert "5 findings, 4 warnings among them" in strip
    assert re.findall('href="#(.*?)"', strip) == ["EK999", "EK998"]


def test_notes_on_what_was_read_stand_folded_at_the_end():
    """Three findings, with the texts rows, tests and labels, belong to the section on metrics. The
    note "rows" is about what was read, as its code begins with EK1: it must stand folded at the end
    of the page. The section keeps "tests", a note on tests (EK4), and "labels", which is about what
    was read, too, but a warning, and so comes first.
    """
    on_input = replace(KIND, code="EK121", at=("metrics",))
    on_tests = replace(KIND, code="EK414", at=("metrics",))
    html = findings(
        [on_input.note(fact="rows"), on_tests.note(fact="tests"), on_input.warning(fact="labels")]
    ).html
    assert first_words_of_items(html_by_place(html)["metrics"]) == ["labels", "tests"]
    end = html.rsplit("<!--/at-->", 1)[1]
    assert end.startswith('<details class="noted"><summary>1 note on what was read</summary>')
    assert first_words_of_items(end) == ["rows"]


def test_three_notes_of_a_section_are_folded_and_two_are_not():
    kind = replace(KIND, code="EK414", at=("metrics",))
    three_notes = [kind.note(fact=fact) for fact in "abc"]
    section = html_by_place(findings(three_notes).html)["metrics"]
    assert section.startswith('<details class="noted"><summary>3 notes</summary>')
    assert "<details" not in html_by_place(findings(three_notes[:2]).html)["metrics"]


def test_advice_names_parameters_that_exist():
    """The advice writes parameters of the reports in backticks, such as `unit=user`. In the same
    way it writes `id`, which is a column, and `all`, which is a value.
    """
    parameters = {name for report in PARAMETERS_BY_NOTEBOOK.values() for name in report.options()}
    named_in_advice = {
        name
        for kind in KINDS
        for name in re.findall(r"`(\w+)(?:=\w+)?`", kind.meaning + kind.advice)
    }
    assert len(named_in_advice) > 10  # the pattern finds names at all
    assert named_in_advice - parameters - {"id", "all"} == set()


def test_what_is_declared_is_a_sentence_of_the_pages(monkeypatch):
    monkeypatch.syspath_prepend(str(TRUST))
    import declared

    sentences = {text for text in vars(measured).values() if isinstance(text, str)}
    assert {exception.told for exception in declared.DECLARED} <= sentences
    assert sys.modules["declared"].__file__ == str(TRUST / "declared.py")


@pytest.mark.parametrize(
    "name",
    [
        "SMALL_CLASS",
        "RARE_POSITIVES",
        "RARE",
        "HEAVY",
        "SPARSE",
        "WHOLE",
        "ZIPF",
        "SHOWN",
        "UNEQUAL",
        "UNEQUAL_ERRORS",
        "RARE_MISSES",
        "LEADER",
        "BEST",
        "POOLED",
    ],
)
def test_a_sentence_ends_and_has_a_figure(name):
    text = getattr(measured, name)
    assert text.endswith(".")
    assert re.search(r"\d% ", text)


RNG = np.random.default_rng(5)
LESS = RNG.normal(1, 0.2, 40)  # `good` has lower values than `bad`


def table_where_good_has_lower_values(column="value", **further_columns):
    """Values of the systems good and bad in the column of that name, one row per unit and system;
    those of good are lower.
    """
    both = np.concatenate([LESS, LESS + RNG.normal(0.5, 0.1, 40)])
    return pd.DataFrame(
        {"query": [*range(40)] * 2, "system": ["good"] * 40 + ["bad"] * 40, column: both}
        | further_columns
    )


def better_system(study):
    """The better system of the only pair."""
    row = study.headline.iloc[0]
    return row["first"] if row["verdict"] == "better" else row["second"]


def warnings_of_direction(study):
    """The messages that it is not known whether higher or lower is better."""
    return [
        finding.message
        for finding in significance_page.every_finding(study)
        if finding.kind is NO_DIRECTION
    ]


LOWER = "loss wer WER perplexity ppl error cost time regret eer fid cer ter log_loss logLoss"
UNITS = "latency_ms time_s Latency_(sec) error_%"


@pytest.mark.parametrize("name_of_losses", f"{LOWER} {UNITS}".split())
@pytest.mark.parametrize("read_study", [significance.read, read_in_blocks])
def test_a_column_of_losses_is_lower_is_better_under_its_own_name(name_of_losses, read_study):
    """A column named loss, wer or latency_ms is known to be better if it is lower. The system good
    has the lower values, whether the table is read at once or in blocks.
    """
    study = read_study(table_where_good_has_lower_values(name_of_losses))
    assert study.primary_metric.label == name_of_losses
    assert better_system(study) == "good"
    assert warnings_of_direction(study) == []


@pytest.mark.parametrize(
    "name_of_gains", ["accuracy", "F1", "ndcg@10", "reward", "neg_log_loss", "-loss", "watch_time"]
)
def test_a_column_of_gains_is_higher_is_better_without_a_warning(name_of_gains):
    """The table has lower values for the system good than for the system bad. As accuracy, or as
    -loss, higher is better: the system named bad wins.
    """
    table = table_where_good_has_lower_values(name_of_gains)
    study = ek.significance(table, columns=f"value={name_of_gains}")
    assert study.primary_metric.label == name_of_gains
    assert better_system(study) == "bad"
    assert warnings_of_direction(study) == []


NAMES_WITHOUT_DIRECTION = ["value", "closeness", "terrain", "minutes", "cost_reduction", "Wert"]
at_once_and_in_blocks = pytest.mark.parametrize(
    "read_study", [significance.read, read_in_blocks], ids=["at once", "by blocks"]
)


@pytest.mark.parametrize("name", NAMES_WITHOUT_DIRECTION)
@at_once_and_in_blocks
def test_a_name_that_tells_no_direction_is_warned_of_with_what_to_set(name, read_study):
    """A column named closeness or minutes may be better if it is higher or if it is lower. The
    system bad, which has the higher values, is called higher and not better.
    """
    study = read_study(table_where_good_has_lower_values(name))
    assert study.headline.iloc[0][["first", "verdict"]].tolist() == ["bad", "higher"]
    assert f"If lower ones are, set lower_is_better={name!r}" in warnings_of_direction(study)[0]
    assert "whether higher or lower is better is not known" in str(study)
    assert not re.search(r"\b(better|worse) than\b", str(study))


@pytest.mark.parametrize("name_without_direction", NAMES_WITHOUT_DIRECTION)
@at_once_and_in_blocks
def test_a_direction_that_is_set_decides_without_a_warning(name_without_direction, read_study):
    """A column named closeness or minutes may be better if it is higher or if it is lower. The
    system good has the lower values: it wins if lower_is_better names the column, and loses if
    lower_is_better names no column.
    """
    table = table_where_good_has_lower_values(name_without_direction)
    lower_is_better = read_study(table, lower_is_better=name_without_direction)
    assert better_system(lower_is_better) == "good"
    assert warnings_of_direction(lower_is_better) == []
    higher_is_better = read_study(table, lower_is_better="none")
    assert better_system(higher_is_better) == "bad"
    assert warnings_of_direction(higher_is_better) == []


def test_whole_words_decide_and_no_part_of_one():
    assert {
        lookup.direction(name)
        for name in ("glossy", "lossless", "water", "costume", "timer", "interrogate")
    } == {None}


@pytest.fixture(scope="module")
def units_file_and_better_system(tmp_path_factory):
    """The file of units of a rating report by the user's own metric my_own, which is better if it
    is lower, and the name of the better system in that report.
    """
    folder = tmp_path_factory.mktemp("rated")
    (folder / "mine.py").write_text(
        "import evalkit as ek\n\n@ek.mean(best='low')\ndef my_own(actual, forecast): return "
        "abs(actual - forecast)\n"
    )
    actual = RNG.normal(0, 1, 60)
    frame = {
        "actual": actual,
        "forecast_good": actual + 0.1,
        "forecast_bad": actual + RNG.normal(0.6, 0.1, 60),
    }
    study = ek.rating(pd.DataFrame(frame), metrics=f"{folder / 'mine.py'}:my_own")
    study.save(folder / "rated.units.parquet")
    return folder / "rated.units.parquet", better_system(study)


def test_the_units_of_a_report_keep_the_direction_that_they_state(units_file_and_better_system):
    """The file holds the values per row of the user's metric my_own, in the column numerator, and
    states that it is better if it is lower, which its name does not tell. So the same system must
    be better if the file is read for another report, by its path or as an Arrow table, at once or
    in blocks.
    """
    file, better_system_of_report = units_file_and_better_system
    for data in (str(file), pq.read_table(file)):
        for read_study in (significance.read, read_in_blocks):
            study = read_study(data, columns="value=numerator")
            assert study.primary_metric.label == "my_own"
            assert better_system(study) == better_system_of_report
            assert warnings_of_direction(study) == []


@pytest.mark.usefixtures("undrawn")
def test_an_earlier_report_keeps_the_direction_that_it_states(tmp_path):
    """The name "minutes" does not say whether fewer are better; a report states it by
    lower_is_better. Read again from its JSON, without this parameter, the system good, with the
    lower values, must still be better, and no warning say that the direction is unknown.
    """
    earlier = ek.significance(
        table_where_good_has_lower_values("minutes"), lower_is_better="minutes"
    )
    earlier.save(tmp_path / "earlier.json")
    study = ek.significance(str(tmp_path / "earlier.json"))
    assert (better_system(study), warnings_of_direction(study)) == ("good", [])


def test_a_share_of_errors_is_lower_is_better():
    counts = pd.DataFrame({"system": ["good", "bad"], "errors": [10, 60], "n": [100, 100]})
    assert better_system(ek.significance(counts, columns="successes=errors,trials=n")) == "good"


def ab_test_where_b_is_higher(metric, **parameters):
    """The study of users in the arms a, with values of 0 to 2, and b, with values of 8 and 9."""
    data = users(orders=[1, 9, 0, 9, 1, 8, 2, 9]).rename(columns={"orders": metric})
    return interleaving.read(users=data, metrics=metric, world="none", **parameters).users


def is_warned_of_direction(study_of_users):
    findings_of_users = experiment_page.findings_of_users(study_of_users)
    return any(finding.kind is NO_DIRECTION for finding in findings_of_users)


@pytest.mark.parametrize(("metric", "better_arm"), [("latency_ms", "a"), ("orders", "b")])
def test_metrics_of_an_ab_test_have_the_direction_of_their_names(metric, better_arm):
    study = ab_test_where_b_is_higher(metric)
    assert better_system(study) == better_arm
    assert not is_warned_of_direction(study)


def test_a_metric_of_an_ab_test_whose_name_tells_no_direction_is_warned_of():
    study = ab_test_where_b_is_higher("amount")
    assert study.headline.iloc[0][["first", "verdict"]].tolist() == ["b", "higher"]
    assert is_warned_of_direction(study)


@pytest.mark.parametrize("metric", ["latency_ms", "orders", "amount"])
def test_a_direction_that_is_set_decides_metrics_of_an_ab_test(metric):
    study = ab_test_where_b_is_higher(metric, best="low")
    assert better_system(study) == "a"
    assert not is_warned_of_direction(study)


@pytest.mark.parametrize(
    ("grades", "metrics", "orders"),
    [
        (["bad", "ok", "good"], "accuracy,kappa_quadratic", ["bad, good, ok"]),
        (["2", "10", "none"], "kappa_quadratic", ["2, 10, none"]),
        (["1", "2", "10"], "kappa_quadratic", []),
        (["bad", "ok", "good"], "accuracy,kappa", []),
    ],
)
def test_grades_in_alphabetical_order_are_warned_of_with_the_order(grades, metrics, orders):
    ratings = {"label": grades * 4, "predicted": grades[::-1] * 4}
    found = ek.classification(ratings, metrics=metrics).findings.query("code == 'EK134'")
    assert [re.findall("the order (.*):", message)[0] for message in found["message"]] == orders
