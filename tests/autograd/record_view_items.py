"""Run random chains of items in MindSpore and write them to data/view_items.json: ``python tests/autograd/record_view_items.py``.

Run it with a Python that has MindSpore (2.10.0 on CPUs wrote the present file), from the root of the repository.
"""

import json
import pathlib
import random
import sys

import mindspore as ms
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
from tests.autograd.view_chains import part_of

COUNT = 200


def random_item(draw, size, picks):
    kind = draw.random()
    if picks and kind < 0.25:
        return [draw.sample(range(size), draw.randrange(1, size + 1))]
    if kind < 0.6:
        return draw.randrange(-size, size)
    start = draw.randrange(size)
    return [start, draw.randrange(start + 1, size + 1), 1]


def item_of(item):
    return item[0] if isinstance(item, list) and isinstance(item[0], list) else part_of([item])[0]


def random_chain(number):
    """Items of items of a Tensor of shape (2, 3, 4); the last one is written."""
    draw = random.Random(number)
    at = np.arange(24).reshape(2, 3, 4)
    chain = []
    while at.ndim and len(chain) < draw.randrange(2, 5):
        chain.append(random_item(draw, at.shape[0], not any(isinstance(i, list) and isinstance(i[0], list) for i in chain)))
        at = at[item_of(chain[-1])]
    return chain


if __name__ == "__main__":
    cases = []
    for number in range(COUNT):
        chain = random_chain(number)
        x = ms.Tensor(np.zeros((2, 3, 4), np.float32))
        part = x
        for item in chain[:-1]:
            part = part[item_of(item)]
        part[item_of(chain[-1])] = 7.0
        cases.append([chain, np.flatnonzero(x.asnumpy()).tolist()])
    path = pathlib.Path(__file__).parent / "data" / "view_items.json"
    path.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
    print(len(cases), "cases")
