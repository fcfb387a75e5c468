"""Writes to items of items against what MindSpore 2.10 on CPUs has recorded in PyNative mode.

Here run so few that all kinds of items follow each other; ``python -m tests.autograd.test_view_items`` runs all 200.
"""

import itertools
import json
import pathlib
import sys

import numpy as np

from msjax import ops
from tests.autograd.view_chains import part_of

RECORDED = pathlib.Path(__file__).parent / "data" / "view_items.json"


def item_of(item):
    return item[0] if isinstance(item, list) and isinstance(item[0], list) else part_of([item])[0]


def kind_of(item):
    return type(item).__name__ if not isinstance(item, list) else "positions" if isinstance(item[0], list) else "slice"


def few(recorded):
    """The first chains, the shortest ahead, by which each kind of item comes first, and after each other one."""
    covered, chosen = set(), []
    for chain, written in sorted(recorded, key=lambda case: len(case[0])):
        kinds = [kind_of(item) for item in chain]
        pairs = {(len(chain) > 2, *pair) for pair in itertools.pairwise(kinds)}
        if not pairs <= covered:
            covered |= pairs
            chosen.append((chain, written))
    return chosen


def wrong_of(recorded):
    """The chains that write to other elements, with those that they should write to, and those that they do."""
    wrong = []
    for chain, written in recorded:
        x = ops.zeros((2, 3, 4))
        part = x
        for item in chain[:-1]:
            part = part[item_of(item)]
        part[item_of(chain[-1])] = 7.0
        found = np.flatnonzero(x.asnumpy()).tolist()
        if found != written:
            wrong.append((chain, written, found))
    return wrong


def test_writes_to_items_of_items_are_those_of_mindspore():
    chosen = few(json.loads(RECORDED.read_text()))
    assert len(chosen) >= 9 and wrong_of(chosen) == []


def test_items_of_a_copy_of_a_copy_are_written():
    x = ops.zeros((3, 2))
    x[[2, 0]][[1]][0] = 7.0
    assert x.asnumpy().tolist() == [[7.0, 7.0], [0.0, 0.0], [0.0, 0.0]]


if __name__ == "__main__":
    wrong = wrong_of(json.loads(RECORDED.read_text()))
    print(*wrong, f"{len(wrong)} chains differ", sep="\n")
    sys.exit(bool(wrong))
