"""A few of the attacks on programs on disk by real processes; `python -m tests.programs.attacks` makes all of them."""

import sys

import pytest

from tests.programs.attacks.attack_case import Case
from tests.programs.attacks.attack_table import ATTACKS, QUICK


@pytest.fixture(scope="module")
def known():
    """The runs without programs on disk."""
    return {}


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and names pipes of other processes")
@pytest.mark.parametrize("name", QUICK)
def test_results_are_those_without_programs_on_disk(name, forks, known, tmp_path):
    case = Case(tmp_path, forks, known)
    ATTACKS[name](case)
    assert case.bites is name.startswith("replaced")
