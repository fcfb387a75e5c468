"""Writes to items of items against what MindSpore 2.10 on CPUs has recorded in PyNative mode."""

import json
import pathlib

import numpy as np

from msjax import ops
from tests.autograd.view_chains import part_of

RECORDED = pathlib.Path(__file__).parent / "data" / "view_items.json"


def item_of(item):
    return item[0] if isinstance(item, list) and isinstance(item[0], list) else part_of([item])[0]


def test_writes_to_items_of_items_are_those_of_mindspore():
    wrong = []
    for chain, written in json.loads(RECORDED.read_text()):
        x = ops.zeros((2, 3, 4))
        part = x
        for item in chain[:-1]:
            part = part[item_of(item)]
        part[item_of(chain[-1])] = 7.0
        found = np.flatnonzero(x.asnumpy()).tolist()
        if found != written:
            wrong.append((chain, written, found))
    assert not wrong, wrong[:5]


def test_items_of_a_copy_of_a_copy_are_written():
    x = ops.zeros((3, 2))
    x[[2, 0]][[1]][0] = 7.0
    assert x.asnumpy().tolist() == [[7.0, 7.0], [0.0, 0.0], [0.0, 0.0]]
