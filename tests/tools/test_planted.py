"""A part of the planted faults of `tests.tools.planted`; with the environment variable MSJAX_ALL_PLANTED, all of them."""

import itertools
import os

import pytest

from tests.tools.planted import framework_rows, other_rows, plain_rows, rows as rows_of_all, verdict
from tests.tools.planted_checks import cell_rows, checked_rows, framework_checks

# Of these rows, so many, in so many tests, which may run at the same time.
PARTS, EVERY = 6, 1 if os.environ.get("MSJAX_ALL_PLANTED") else 4


@pytest.mark.parametrize("part", range(PARTS))
def test_named_at_their_place(part):
    rows = [
        *itertools.islice(
            itertools.chain(plain_rows(), framework_rows(), checked_rows(), framework_checks(), cell_rows()), part, None, PARTS
        )
    ][::EVERY]
    missed = {row.name: told for row in rows if (told := verdict(row, row.run()))}
    assert rows and not missed


@pytest.mark.long
def test_other_faults():
    rows = [*other_rows()]
    missed = {row.name: told for row in rows if (told := verdict(row, row.run()))}
    assert len(rows) == 5 and not missed


@pytest.mark.long
def test_that_there_are_enough():
    assert sum(1 for _ in rows_of_all()) >= 155
