"""The classification metrics against the public tools, on the sets that are here."""

from pathlib import Path


def test_every_value_equals_the_tools_or_is_explained(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "oracles"))
    import classification

    status = classification.main()
    printed = capsys.readouterr().out
    assert status == 0, printed
    total = printed.splitlines()[-1]
    assert int(total.split()[1]) > 5_000
    assert total.endswith(" 0 MISMATCHES")


def test_a_wrong_value_is_a_mismatch(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "oracles"))
    from classification import Tally

    found = Tally()
    found.check("here", 0.5, 0.5 + 1e-8)
    found.check("here", 0.5, 0.5)
    found.check("here", float("nan"), 0.0)
    assert found.wrong == ["here: evalkit 0.5, expected 0.50000001"]
    assert (found.equal, found.explained.total()) == (1, 1)
