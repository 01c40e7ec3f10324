"""hypothesis without a time limit and with the same examples on every run; sample reports, made once a process."""

import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def sample_reports(tmp_path_factory):
    """The folder of the reports of all bundled samples, made by one command."""
    from evalkit import __main__ as command
    from evalkit.parameters import REPORTS

    folder = tmp_path_factory.mktemp("samples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert command.main(["report", *sorted(REPORTS), "-o", "reports"]) == 0
    return folder / "reports"
