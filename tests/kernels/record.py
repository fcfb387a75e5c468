"""Record what PyTorch and MindSpore compute in all cases: ``python -m tests.kernels.record --torch PYTHON --mindspore PYTHON``.

The two arguments are interpreters that have the libraries (PyTorch 2.13.0 and MindSpore 2.10.0 wrote the present file); `--rows TEXT`
records only rows with that text anew. MindSpore ends the process or hangs in some calls: those rows are PyTorch's alone.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
from tests.kernels import records
from tests.kernels.cases import PER_ROW, make, weights
from tests.kernels.tables import ROWS

# After so many seconds in one row, the process is ended: MindSpore hangs in some calls.
LONGEST = 120


class Torch:
    def __init__(self):
        import torch

        self.torch = torch
        self.names = {"torch": torch, "F": torch.nn.functional, "tnn": torch.nn, "loaded": self.loaded}

    def text(self, row):
        return row.torch

    def loaded(self, module, *arrays):
        with self.torch.no_grad():
            for parameter, array in zip(module.parameters(), arrays, strict=True):
                parameter.copy_(array)
        return module

    def evaluate(self, case, code):
        torch = self.torch
        tensors = {n: torch.tensor(a).to(getattr(torch, case.dtypes[n])) for n, a in case.flushed.items()}
        inputs = [tensors[n].requires_grad_() for n in case.differentiated]
        outs = flat(eval(code, {**self.names, **case.settings, **tensors}), torch.Tensor)
        found = [
            outs,
            *derivatives(
                lambda: self.gradients(outs, inputs, case.second), lambda grads: self.gradients(grads, inputs, False), case
            ),
        ]
        return [part and [t.detach().to(torch.float64).numpy(force=True) for t in part] for part in found]

    def gradients(self, outs, inputs, again):
        torch = self.torch
        outs = [(o, weights(tuple(o.shape), i)) for i, o in enumerate(outs) if o.requires_grad and o.is_floating_point()]
        if not outs:
            return [torch.zeros_like(x) for x in inputs]
        found = torch.autograd.grad(
            [o for o, _ in outs], inputs, [torch.tensor(w).to(o.dtype) for o, w in outs], create_graph=again, allow_unused=True
        )
        return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, found)]


class MindSpore:
    def __init__(self):
        import mindspore as ms

        ms.set_context(mode=ms.PYNATIVE_MODE, device_target="CPU")
        self.ms = ms
        self.names = {"ms": ms, "ops": ms.ops, "nn": ms.nn, "mint": ms.mint, "loaded": self.loaded}

    def text(self, row):
        return row.call

    def loaded(self, cell, *arrays):
        for parameter, array in zip(cell.get_parameters(), arrays, strict=True):
            parameter.set_data(array)
        return cell

    def evaluate(self, case, code):
        ms = self.ms
        tensors = {
            n: ms.Tensor(a).astype(getattr(ms, case.dtypes[n] + "_" * (case.dtypes[n] == "bool")))
            for n, a in case.flushed.items()
        }
        names = case.differentiated
        inputs, at = [tensors[n] for n in names], tuple(range(len(names)))

        def call(*values):
            return flat(eval(code, {**self.names, **case.settings, **tensors, **dict(zip(names, values))}), ms.Tensor)

        def total(outs):
            parts = [
                (o * ms.Tensor(weights(o.shape, i)).astype(o.dtype)).sum() for i, o in enumerate(outs) if o.is_floating_point()
            ]
            return sum(parts[1:], parts[0]) if parts else None

        def gradients(*values):
            if not values or not any(o.is_floating_point() for o in found[0]):
                return [ms.ops.zeros_like(x) for x in values]
            return tupled(ms.grad(lambda *v: total(call(*v)), at)(*values))

        found = [call(*inputs)]
        has_floats = inputs and any(o.is_floating_point() for o in found[0])

        def second(_):
            return tupled(ms.grad(lambda *v: total(gradients(*v)), at)(*inputs)) if has_floats else gradients(*inputs)

        found += derivatives(lambda: finished(gradients(*inputs)), lambda grads: finished(second(grads)), case)
        return [part and [np.asarray(t.astype(ms.float64).asnumpy()) for t in part] for part in found]


def derivatives(first, second, case):
    """[gradients, second derivatives], None for those that a library does not have."""
    if not case.differentiated:
        return [[], []]
    try:
        grads = first()
    except Exception:
        return [None, None if case.second else []]
    if not case.second:
        return [grads, []]
    try:
        return [grads, second(grads)]
    except Exception:
        return [grads, None]


def finished(tensors):
    """The Tensors, computed: MindSpore reports a failure only when it is asked for a value."""
    for tensor in tensors:
        tensor.asnumpy()
    return tensors


def tupled(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def flat(value, kind):
    """The Tensors among the results."""
    if isinstance(value, kind):
        return [value]
    return [t for v in value for t in flat(v, kind)] if isinstance(value, (tuple, list)) else []


LIBRARIES = {"torch": Torch, "mindspore": MindSpore}


def chosen(wanted):
    return [row for row in ROWS if re.search(wanted, row.key)]


def child(library, wanted, first, out):
    """Compute the chosen rows from number `first` on, and append each to the file `out`."""
    warnings.simplefilter("ignore")
    library = LIBRARIES[library]()
    with open(out, "ab") as file:
        for row in chosen(wanted)[first:]:
            text, found = library.text(row), []
            code = compile(text, "row", "eval") if text else None
            for number in range(PER_ROW if code else 0):
                case = make(row, number)
                if len(found) == 3 and all(isinstance(f, str) and not refused(f) for f in found):
                    found += found[-1:] * (PER_ROW - 3)
                    break
                try:
                    found.append(library.evaluate(case, code))
                except Exception as error:
                    found.append(f"{type(error).__name__}: {str(error)[:300]}")
            pickle.dump((row.key, found), file)
            file.flush()


def run(library, python, wanted):
    """{row's key: results of its cases} of one library; a row in which the process ends has none."""
    folder = tempfile.mkdtemp()
    found, at, out, rows = {}, 0, f"{folder}/{library}", chosen(wanted)
    while at < len(rows):
        open(out, "wb").close()
        command = [python, str(pathlib.Path(__file__).resolve()), "--child", library, wanted, str(at), out]
        with open(f"{folder}/log", "w") as log:
            started, process = time.time(), subprocess.Popen(command, stdout=log, stderr=log)
            while process.poll() is None:
                time.sleep(1)
                if time.time() - max(os.stat(out).st_mtime, started) > LONGEST:
                    process.kill()
        with open(out, "rb") as file:
            while True:
                try:
                    key, results = pickle.load(file)
                except EOFError:
                    break
                found[key], at = results, at + 1
        if at < len(rows):
            print(f"{library} ended in {rows[at].key}", flush=True)
            found[rows[at].key], at = [], at + 1
    return found


def refused(error):
    """Whether a library refuses a call, rather than has no kernel for it."""
    return not any(
        text in error
        for text in ("unregistered", "Unsupported", "not implemented for", "Kernel select failed", "not supported on CPU")
    )


def agree(a, b):
    """Where two arrays agree; elements are compared as floats."""
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= 2e-3 * np.maximum(np.abs(a), np.abs(b)) + 1e-30
    return (a == b) | near | (np.isnan(a) & np.isnan(b))


def merged(case, torch, mindspore):
    """(state, digest, codes) of a case."""
    empty = np.zeros(0, np.uint32)
    torch, mindspore = (None if isinstance(found, str) and not refused(found) else found for found in (torch, mindspore))
    if not isinstance(torch, list) and not isinstance(mindspore, list):
        return (records.REFUSED if isinstance(torch, str) and isinstance(mindspore, str) else records.NOTHING), 0, empty
    if not isinstance(torch, list):
        # PyTorch refuses what MindSpore takes: they don't agree.
        if torch is not None:
            return records.NOTHING, 0, empty
        torch, mindspore, state = mindspore, None, records.MINDSPORE_ONLY
    else:
        state = records.BOTH if isinstance(mindspore, list) else records.TORCH_ONLY
    shapes = [a.shape for a in torch[0]]
    if state == records.BOTH and [a.shape for a in mindspore[0]] != shapes:
        return records.NOTHING, 0, empty
    codes = []
    inputs = [case.arrays[name] for name in case.differentiated]
    for part, other in zip(torch, mindspore if state == records.BOTH else (None,) * 3):
        if part is None:
            part, other = other, None
        if part is None:
            codes += [np.full(records.summary(x).size, records.LEFT_OUT) for x in inputs]
            continue
        for i, array in enumerate(part):
            own = records.encode(records.summary(array))
            if other is not None:
                own = np.where(agree(records.summary(array), records.summary(other[i])), own, records.LEFT_OUT)
            codes.append(own)
    return state, records.digest(shapes), np.concatenate(codes).astype(np.uint32) if codes else empty


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", required=True, help="a Python that has PyTorch")
    parser.add_argument("--mindspore", required=True, help="a Python that has MindSpore")
    parser.add_argument("--rows", default="", help="only rows in whose text this pattern is found")
    parser.add_argument("--keep", help="a file for the whole results of both")
    args = parser.parse_args()
    torch, mindspore = run("torch", args.torch, args.rows), run("mindspore", args.mindspore, args.rows)
    if args.keep:
        pathlib.Path(args.keep).write_bytes(pickle.dumps((torch, mindspore)))
    recorded = records.load() if args.rows and records.FILE.exists() else {}
    for row in ROWS:
        if row.key in torch or row.key in mindspore:
            ours, theirs = torch.get(row.key) or [None] * PER_ROW, mindspore.get(row.key) or [None] * PER_ROW
            recorded[row.key] = [merged(make(row, i), *pair) for i, pair in enumerate(zip(ours, theirs))]
    records.save({row.key: recorded[row.key] for row in ROWS if row.key in recorded})
    print(f"{len(recorded)} rows, {records.FILE.stat().st_size} bytes")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
    else:
        main()
