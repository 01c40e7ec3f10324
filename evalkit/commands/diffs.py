"""`evalkit diff OLD NEW`: the diff of two reports, or of every report that two folders share."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit import report
from evalkit.commands import batch, requests
from evalkit.commands.batch import Planned
from evalkit.commands.requests import Refused


def main(options: Any) -> int:
    """Make the diffs and print the table of each on stderr; return the exit status."""
    planned = plan(options)
    outcomes = batch.run(planned, options.workers)
    for outcome in outcomes:
        if outcome.results is not None:
            print(f"\n{table(outcome.results)}", file=sys.stderr)
    if len(planned) > 1:
        print(f"\n{batch.table(planned, outcomes)}", file=sys.stderr)
    return batch.status(outcomes)


def plan(options: Any) -> list[Planned]:
    """All diffs that are asked for. Raises Refused for fewer than two reports, and for folders that share none."""
    given = [Path(path) for path in options.reports]
    if len(given) < 2:
        raise Refused("diff needs two reports, OLD and NEW, got one")
    every = {"diff": given}
    if all(path.is_dir() for path in given[-2:]):
        names = shared(*given[-2:])
        if options.name is not None and len(names) > 1:
            raise Refused(f"--name names one report, got {len(names)}")
        every = {f"diff-{name}": [path / f"{name}{report.UNITS}" for path in given] for name in names}
    path, settings = requests.find("diff", options.folder_of_notebooks), requests.settings(options.file)
    planned = ((options.name or name, parameters(paths)) for name, paths in every.items())
    return [batch.planned(name, path, more, options, settings) for name, more in planned]


def parameters(reports: Sequence[Path]) -> dict[str, str]:
    """The parameters of a diff as text; of earlier folders those that have the report."""
    *earlier, old, new = map(str, reports)
    there = [path for path in earlier if Path(path).exists() or not path.endswith(report.UNITS)]
    return {"old": old, "new": new} | ({"earlier": json.dumps(there)} if there else {})


def shared(old: Path, new: Path) -> list[str]:
    """The reports of both folders; says which are only in one. Raises Refused where there are none."""
    names = [{report.stem(file) for file in path.glob(f"*{report.UNITS}")} for path in (old, new)]
    both, alone = sorted(names[0] & names[1]), ", ".join(sorted(names[0] ^ names[1]))
    if not both:
        have = f"have {alone}" if alone else "have none"
        raise Refused(f"{old} and {new} must share a report with units (NAME{report.UNITS}); they {have}")
    if alone:
        print(f"evalkit: note: only in one of the folders: {alone}", file=sys.stderr)
    return both


def table(results: Mapping[str, Any]) -> str:
    """The change of each metric of each system and its terms, for a terminal."""
    import pandas as pd

    from evalkit.pages import diff_page

    if results["same"]:
        return "no difference: the same units with the same values"
    frame = pd.DataFrame(results["account"]).fillna(float("nan"))
    account = diff_page.account_table(frame).text
    return "\n".join([account, *diff_page.most_changed(frame["metric"][0], results["most_changed"])])
