"""Prints a table of planted faults: what each tool names in each mode, and what it should. Takes minutes.

    python -m tests.tools.fault_table [PART ...]

The parts are nan, scan, anomaly, watch, compare and check. The exit status is 1 if a fault was not named at its place. The tests of the
tools have a few of these faults.
"""

import contextlib
import io
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import msjax as ms
from msjax import nn
from msjax.compat.program_check.check import check_programs
from msjax.tools import Fault, compare, detect_anomaly, find_nan, guard, record, watch
from tests.tools.test_faults import FAULTS, IN_STACK, NETS, Planted, Stack, plant
from tests.tools.test_program_check import EXPECTED, PROGRAM


def inputs(shape):
    return ms.Tensor(np.linspace(-1, 1, np.prod(shape)).reshape(shape).astype("float32"))


@contextlib.contextmanager
def graph_mode():
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        yield
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def step_of(net, mode):
    """A function of the inputs that makes one step in a mode."""
    weights = net.trainable_params()
    gradient = ms.value_and_grad(lambda x: net(x).sum(), None, weights)
    if mode == "PyNative":
        return gradient
    if mode == "ms.jit":
        return ms.jit(gradient)
    if mode == "graph":
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(weights, 0.1))

        def run(x):
            with graph_mode():
                return step(x, ms.Tensor(np.ones((*x.shape[:-1], 2) if x.ndim == 3 else (1, 2), "float32")))

        return run
    apply, params, buffers = ms.functionalize(net)
    step = jax.value_and_grad(lambda params, x: apply(params, buffers, x)[0].sum())
    step = guard(step) if mode == "function" else jax.jit(step)
    return lambda x: jax.block_until_ready(step(params, jnp.asarray(x)))


def caught(run, *within):
    """The place of the Fault that a function raises: "phase path"."""
    with contextlib.ExitStack() as stack, contextlib.redirect_stderr(io.StringIO()):
        for context in within:
            stack.enter_context(context)
        try:
            run()
            ms.hooks.barrier()
        except Fault as fault:
            return place(fault)
    return "nothing"


def place(fault):
    return "nothing" if fault is None else f"{fault.phase} {fault.path} {fault.step or ''}".strip()


def planted():
    """(model, network, inputs, fault, pass, path) of all faults in Cells."""
    for model, (make, shape, at) in NETS.items():
        for fault in FAULTS:
            net = make()
            yield model, net, inputs(shape), fault, FAULTS[fault][1], plant(net, at, fault)


def nan_finders():
    for model, net, x, fault, phase, path in planted():
        expected = f"{phase} {path}"
        yield model, fault, "PyNative", "find_nan", expected, lambda net=net, x=x: place(find_nan(net, x, show=False))
        for mode in ("PyNative", "ms.jit", "graph", "function", "jax.jit"):
            within = () if mode == "function" else (guard(net),)
            step = step_of(net, mode)
            yield model, fault, mode, "guard", expected, lambda step=step, x=x, within=within: caught(lambda: step(x), *within)


def nan_finders_in_a_scan():
    x = jnp.ones((1, 2))

    def gradient(net, x):
        return nnx.value_and_grad(lambda net: net(x).sum())(net)

    for fault, (fn, phase, _) in IN_STACK.items():
        for bad in (0, 2):
            net = Stack(fn, bad)
            full, short = f"{phase} layers ({bad},)", f"{phase} layers"
            yield "nnx scan", fault, f"layer {bad}", "find_nan", full, lambda net=net: place(find_nan(net, x, show=False))
            yield "nnx scan", fault, f"function, {bad}", "guard", full, lambda net=net: caught(lambda: guard(gradient)(net, x))
            for mode, jit in (("nnx.jit", nnx.jit), ("hooks.jit", ms.hooks.jit)):
                yield (
                    "nnx scan",
                    fault,
                    f"{mode}, {bad}",
                    "guard",
                    short,
                    lambda net=net, jit=jit: caught(lambda: jit(gradient)(net, x), guard(net)),
                )


def anomalies():
    for model, net, x, fault, phase, path in planted():
        if phase != "backward":
            continue
        for mode in ("PyNative", "ms.jit", "graph"):
            step = step_of(net, mode)

            def run(step=step, x=x):
                with detect_anomaly():
                    try:
                        step(x)
                    except FloatingPointError as error:
                        return str(error).partition("in cell ")[2].split(" (")[0].partition(".")[2]
                return "nothing"

            # The path is that from the outermost cell which is called.
            yield model, fault, mode, "anomaly", f"network._backbone.{path}" if mode == "graph" else path, run


def watched():
    for model, net, x, fault, phase, path in planted():
        # A gradient is that of a cell's output: the first wrong one is that of the cell before the fault.
        expected = f"activation {path}" if phase == "forward" else f"gradient {path[:-1]}0"
        for mode in ("PyNative", "ms.jit", "graph"):
            step = step_of(net, mode)

            def run(net=net, step=step, x=x):
                with watch(net, every=1, what=("activation", "gradient")) as found:
                    step(x)
                return next((f"{row.kind} {row.name}" for row in found.rows if np.isnan(row.mean)), "nothing")

            yield model, fault, mode, "watch", expected, run


class WrongGradient(nn.Cell):
    def construct(self, x):
        return x * 1

    def bprop(self, x, out, dout):
        return (dout * 1.01,)


def comparisons():
    scaled, right = (lambda: Planted(lambda x: x * 1.01)), (lambda: Planted(lambda x: x * 1))
    for model, (make, shape, at) in NETS.items():
        x = inputs(shape)
        for fault, behind, phase, path in (
            ("scaled output", scaled, "forward", "1"),
            ("wrong bprop", WrongGradient, "backward", "0"),
            ("other weight", right, "forward", "0"),
        ):

            def net_with(behind, fault="", make=make, at=at):
                ms.set_seed(1)
                net = make()
                plant(net, at, "log")
                cells = dict(net.cells_and_names())[at]
                cells[1] = behind()
                if fault == "other weight":
                    cells[0].weight.set_data(cells[0].weight * 1.01)
                return net

            for mode in ("pynative", "graph", "functional"):

                def run(behind=behind, fault=fault, mode=mode, net_with=net_with, x=x, phase=phase):
                    found = compare(record(net_with(right), x), record(net_with(behind, fault), x, mode=mode))
                    first = found.first_forward if phase == "forward" else found.first_backward
                    if fault == "wrong bprop" and found.first_forward is not None:
                        return f"forward {found.first_forward.a}"
                    return "nothing" if first is None else f"{phase} {first.a}"

                yield model, fault, mode, "compare", f"{phase} {at}.{path}", run


def checks():
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(PROGRAM)
        file.flush()
        ms.install_as_mindspore()
        found = {lack.name: lack.line for lack in sorted(check_programs([file.name]).lacks, reverse=True)}
    for line, name in sorted(EXPECTED):
        lines = [n for n, other in EXPECTED if other == name]
        yield (
            "program",
            name,
            "",
            "check",
            f"line {line}",
            lambda name=name, line=line, lines=lines: f"line {line if found.get(name) in lines else found.get(name)}",
        )


PARTS = {
    "nan": nan_finders, "scan": nan_finders_in_a_scan, "anomaly": anomalies, "watch": watched, "compare": comparisons, "check": checks,
}  # fmt: skip


def main(parts):
    rows = missed = 0
    for part in parts or PARTS:
        for model, fault, mode, tool, expected, run in PARTS[part]():
            found = run()
            rows, missed = rows + 1, missed + (found != expected)
            mark = "" if found == expected else "   <-- MISSED"
            print(f"{model:12} {fault:24.40} {mode:12} {tool:9} {expected:28} {found}{mark}", flush=True)
    print(f"{rows} planted faults, {rows - missed} named at their place")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
