"""A part of the planted faults of `tests.tools.planted`; with the environment variable MSJAX_ALL_PLANTED, all of them."""

import itertools
import os

import pytest

from tests.tools.planted import framework_rows, other_rows, plain_rows, verdict

# Of the plain and the framework rows, so many, in so many tests, which may run at the same time.
PARTS, EVERY = 3, 1 if os.environ.get("MSJAX_ALL_PLANTED") else 4


@pytest.mark.parametrize("part", range(PARTS))
def test_named_at_their_place(part):
    rows = [*itertools.islice(itertools.chain(plain_rows(), framework_rows()), part, None, PARTS)][::EVERY]
    missed = {row.name: told for row in rows if (told := verdict(row, row.run()))}
    assert rows and not missed


def test_other_faults():
    rows = [*other_rows()]
    missed = {row.name: told for row in rows if (told := verdict(row, row.run()))}
    assert len(rows) == 5 and not missed
