"""The frozen cases on Spark give their numbers."""

import pytest
from frozen import compare, freeze, needs
from frozen.cases import CASES

ON_SPARK = [case for case in CASES if needs.SPARK in case.needs]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    needs.tables(folder)
    return folder


@pytest.mark.parametrize("case", ON_SPARK, ids=[case.name for case in ON_SPARK])
def test_every_number_is_the_frozen_one(session, case, made):
    frozen = freeze.load(freeze.FOLDERS[False])[case.name]
    found = compare.differences(frozen, freeze.run(case, made))
    assert [str(one) for one in found if not one.by_processor] == []
