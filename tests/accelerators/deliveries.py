"""Hooks in steps of `ms.jit` and in callbacks, compiled or lowered for one chip; tests/accelerators/scale.py has the other deliveries."""

import contextlib
import re
from unittest import mock

import jax

import msjax as ms
from msjax import hooks
from msjax.core.hooks.batching import CallsAsOutputs
from msjax.engine.compile import attempt
from msjax.ops.dispatch import platforms
from tests.bench import cells, contenders

CASE = "LeNet-5, batch 32"
# What hands a value to the host, in optimized programs and in lowered ones.
TO_HOST = re.compile(r"callback|infeed|outfeed|stablehlo\.send|host_transfer")
# What a program for a platform calls the host with.
CALL = {
    "cuda": "xla_ffi_partitioned_python_gpu_callback|xla_ffi_python_gpu_callback",
    "tpu": r"stablehlo\.send",
    "cpu": "xla_ffi_(partitioned_)?python_cpu_callback|callback",
}


def _nothing(net):
    """No hooks."""


def _tensor_hooks(net):
    """A hook on the gradient of each Parameter, which halves it."""
    for parameter in net.trainable_params():
        parameter.register_hook(lambda gradient: gradient * 0.5)


def _watch(net):
    ms.tools.watch(net, every=1, to=lambda data, step: None)


# {name: what puts hooks on a network, or a context of the call}
OF_STEPS = {
    "none": _nothing,
    "observers": contenders.observers,
    "modifiers": contenders.modifiers,
    "Tensor hooks": _tensor_hooks,
    "guard": ms.tools.guard,
    "watch": _watch,
}


def step_of_ms_jit(target, register):
    """The Program of a training step under `ms.jit`, hooks and all, as it is compiled where the target's device is the default."""
    net, inputs, labels = contenders.network(CASE)
    step = cells.training_step(ms, net)
    around = register(net)
    found = []

    def keep(fn, jaxpr, donated=()):
        found.append((fn, [v.aval for v in jaxpr.invars], donated))
        return make(fn, jaxpr, donated)

    make = attempt.compile_program
    # The process has a CPU only, for which programs are traced without the other platforms' kernels.
    with mock.patch.object(attempt, "compile_program", keep), mock.patch.object(platforms, "_only_cpus", lambda: False):
        with around if around is not None else contextlib.nullcontext():
            ms.jit(lambda *batch: step(*batch))(inputs, labels)
    hooks.barrier()
    fn, avals, donated = found[-1]
    with CallsAsOutputs():
        return target.compile(fn, *target.placed([jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]), donate=donated)


def _functionalized(register):
    net, inputs, _ = contenders.network("LeNet-5, batch 1")
    register(net)
    apply, params, buffers = ms.functionalize(net)
    return jax.grad(lambda params, x: apply(params, buffers, x)[0].sum()), (params, inputs._value)


# {name: what registers hooks that jax.jit itself delivers by callbacks}
CALLBACKS = {"observers": contenders.observers}


def calls_of_host(target, register):
    """How often a step under `jax.jit` calls the host on the target's platform, in the lowered program."""
    fn, arguments = _functionalized(register)
    text = target.lower(fn, *target.placed(arguments)).as_text()
    return len(re.findall(CALL[target.platform], text))
