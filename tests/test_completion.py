"""`evalkit completion`: what bash completes after the script that it prints."""

import subprocess

import pytest

from evalkit import __main__ as command
from evalkit.parameters import REPORTS


@pytest.fixture
def script(capsys):
    assert command.main(["completion", "bash"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "words, completed",
    [
        (["ins"], ["inspect"]),
        (["report", "ra"], ["ranking", "rating"]),
        (["parameters", ""], list(REPORTS)),
        (["inspect", "a.csv", "--report", "val"], ["validation"]),
        (["report", "ranking", "-p", "qr"], ["qrels"]),
        (["report", "rating", "-p", "qr"], []),
        (["report", "ranking", "--"], ["--help", "--name", "--each"]),
        (["report", "ranking", "-p", "preds", "ra"], []),
    ],
)
def test_bash_completes(script, words, completed):
    line = " ".join(f"'{word}'" for word in ["evalkit", *words])
    asked = f"COMP_WORDS=({line}); COMP_CWORD={len(words)}; _evalkit; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    ended = subprocess.run(["bash", "-c", script + asked], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == completed
    assert not ended.stderr


def test_every_command_and_parameter_is_completed(script, capsys):
    assert command.main(["completion", "zsh"]) == 0
    assert capsys.readouterr().out.endswith(script)
    assert all(f" {name}" in script for report in REPORTS.values() for name in list(report.options())[1:])
