"""Run random chains of views in PyTorch and write them to data/view_chains.json.gz: ``python tests/autograd/record_view_chains.py``.

Run it with a Python that has PyTorch (2.13.0 wrote the present file), from the root of the repository.
"""

import gzip
import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
from tests.autograd.view_chains import put, random_case, random_steps, take

COUNT = 5000


def numbers(x):
    x = x.detach()
    return torch.view_as_real(x.resolve_conj()).reshape(-1).tolist() if x.is_complex() else x.reshape(-1).tolist()


def taken(x, view):
    """What PyTorch refuses to write to as one of several views it allows as a single one."""
    name, *given = view
    if name in ("split", "chunk"):
        count, axis, i = given
        size = count if name == "split" else -(-x.shape[axis] // count)
        return x.narrow(axis, i * size, min(size, x.shape[axis] - i * size))
    if name == "unbind":
        return x.select(*given)
    return x[given[0]] if name == "iterate" else take(x, view, torch, "transpose")


def record(number):
    draw, shape, dtype = random_case(number)
    dtype_, floats = getattr(torch, dtype), dtype.startswith("float")
    size = torch.Size(shape).numel()
    w = torch.arange(1, size + 1).reshape(shape).to(dtype_).requires_grad_(floats)
    v = torch.arange(8).to(dtype_).requires_grad_(floats)
    tensors, loss = [w * 1], []

    def take_view(i, view):
        try:
            tensors.append(taken(tensors[i], view))
        except RuntimeError:
            return None
        return tuple(tensors[-1].shape)

    def write(i, what, quiet):
        try:
            with torch.set_grad_enabled(not quiet):
                put(tensors[i], what, v)
        except RuntimeError as error:
            if "more than one element" in str(error):
                return "refused"
            raise
        return "done"

    def read(i):
        x = tensors[i]
        loss.append((x * (torch.arange(x.numel()) % 5 - 1).reshape(x.shape).to(x.dtype)).sum())

    steps = random_steps(draw, shape, floats, dtype == "complex64", take_view, write, read)
    for i in range(len(tensors)):
        read(i)
    grads = None
    if floats:
        total = sum(x for x in loss if x.requires_grad)
        if isinstance(total, torch.Tensor):
            try:
                total.backward()
            except RuntimeError:
                return None  # PyTorch's own backward pass writes to an expanded gradient
        grads = [[0.0] * size if w.grad is None else numbers(w.grad), [0.0] * 8 if v.grad is None else numbers(v.grad)]
    shared = [x.stride() for x in tensors]
    return {"number": number, "steps": steps, "values": [numbers(x) for x in tensors], "strides": shared, "grads": grads}


def short(value):
    """Whole numbers without a point."""
    if isinstance(value, float) and value == int(value):
        return int(value)
    if isinstance(value, list):
        return [short(v) for v in value]
    return {k: short(v) for k, v in value.items()} if isinstance(value, dict) else value


if __name__ == "__main__":
    torch.set_num_threads(1)
    cases, number = [], 0
    while len(cases) < COUNT:
        case = record(number)
        number += 1
        if case is not None:
            cases.append(short(case))
    path = pathlib.Path(__file__).parent / "data" / "view_chains.json.gz"
    text = "\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(len(cases), "cases,", path.stat().st_size, "bytes")
