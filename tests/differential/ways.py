"""The ways to run a program: each calls the network once for every stage, and tells outputs, gradients and the log of hooks."""

import contextlib
import types
import warnings

import jax
import numpy as np

import msjax as ms
from msjax import ops
from tests.differential import kit


class Stage:
    """What one call gave.

    Attributes:
        outputs, grads, state, arguments: lists of arrays; the last two are what Parameters and arguments hold afterwards.
        log: of the calls of hooks and what was printed.
        error: None or an exception.
    """

    def __init__(self):
        self.outputs = self.grads = self.state = self.arguments = self.error = None
        self.log, self.warnings = [], []


def run(source, way, hooked=True):
    """The stages of a program in a way."""
    module = types.ModuleType("generated")
    exec(compile(source, "<generated>", "exec"), module.__dict__)
    cells = kit.CELLS[:] = module.build()
    net = cells[0]
    runner = WAYS[way](net, *module.WANTED)
    stages = []
    kit.HANDLES.clear()
    with _settings(module.DIALECT, way):
        for number, kind in enumerate(module.STAGES):
            if hooked:
                _register(module.HOOKS, number, cells, kit.HANDLES)
            # Other values at each stage, so that none can be left over from the stage before.
            kit.SCALE = 1 + number
            args, kwargs = module.inputs()
            for since, until, register in module.INPUT_HOOKS if hooked else ():
                if since <= number and (until is None or number < until):
                    register(args)
            state = {p: p._value for p in net.get_parameters()}
            stages.append(_stage(runner, kind, args, kwargs))
            if stages[-1].error is not None:
                # A compiled program has run to its end, with all its writes, when a hook raises.
                for parameter, value in state.items():
                    parameter.set_data(ms.Tensor(value))
    for handle in kit.HANDLES.values():
        handle.remove()
    return stages


def _register(hooks, number, cells, handles):
    for h, since, until, register in hooks:
        if until == number and h in handles:
            handles.pop(h).remove()
        elif since == number and until != number:
            handles[h] = register(cells)


def _stage(runner, kind, args, kwargs):
    stage = Stage()
    kit.LOG.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with contextlib.redirect_stdout(kit.Printed()):
                out, grads = (runner.grad if kind == "grad" else runner.forward)(args, kwargs)
                ms.hooks.barrier()
            stage.outputs = [np.asarray(v) for v in _arrays(out)]
            stage.state = [p.asnumpy() for p in runner.net.get_parameters()]
            stage.arguments = [] if isinstance(runner, Functional) else _arrays((args, kwargs))
            stage.grads = [None if g is None else np.asarray(g) for g in grads]
        except Exception as error:
            stage.error = error
            with contextlib.suppress(Exception):
                ms.hooks.barrier()
    stage.log = list(kit.LOG)
    stage.warnings = [str(w.message) for w in caught]
    return stage


@contextlib.contextmanager
def _settings(dialect, way):
    mode, before = ms.get_context("mode"), ms.get_context("hook_dialect")
    ms.set_context(mode=ms.GRAPH_MODE if way == "graph" else ms.PYNATIVE_MODE, hook_dialect=dialect)
    try:
        yield
    finally:
        ms.set_context(mode=mode, hook_dialect=before)


def _arrays(value):
    return [
        v.asnumpy() if isinstance(v, ms.Tensor) else v for v in jax.tree.leaves(value, is_leaf=lambda v: isinstance(v, ms.Tensor))
    ]


class _Way:
    def __init__(self, net, positions, weights):
        self.net = net
        self.positions = positions
        self.weights = list(net.trainable_params()) if weights else []


class Grad(_Way):
    """`ms.value_and_grad` in the mode that is set."""

    def forward(self, args, kwargs):
        return self.net(*args, **kwargs), ()

    def grad(self, args, kwargs):
        return self.split(self.differentiated()(*args, **kwargs))

    def differentiated(self):
        return ms.value_and_grad(self.net, tuple(self.positions) or None, self.weights or None)

    def split(self, result):
        out, grads = result
        if not self.positions:
            grads = ((), grads)
        elif not self.weights:
            grads = (grads, ())
        of_inputs, of_weights = grads
        if isinstance(of_inputs, ms.Tensor):
            of_inputs = (of_inputs,)
        return out, _arrays([*of_inputs, *of_weights])


class Jit(Grad):
    """The same in `ms.jit`, one function for all stages."""

    def __init__(self, *given):
        super().__init__(*given)
        grad = self.differentiated()
        self.compiled = ms.jit(lambda *args, **kwargs: grad(*args, **kwargs))
        self.compiled_forward = ms.jit(lambda *args, **kwargs: self.net(*args, **kwargs))

    def forward(self, args, kwargs):
        return self.compiled_forward(*args, **kwargs), ()

    def grad(self, args, kwargs):
        return self.split(self.compiled(*args, **kwargs))


class Everything(Grad):
    """`ms.value_and_grad` of all float Tensors among the arguments and all Parameters: the reference of `.backward()`."""

    def grad(self, args, kwargs):
        given = enumerate((*args, *kwargs.values()))
        positions = [i for i, value in given if any(t.is_floating_point() for t in kit.tensors_in(value))]
        weights = list(self.net.trainable_params())
        out, grads = ms.value_and_grad(self.net, tuple(positions), weights or None)(*args, **kwargs)
        return out, [g for g in _arrays(grads) if g.dtype == np.float32]


class Backward(Grad):
    """`.backward()` of the sum of the outputs."""

    def grad(self, args, kwargs):
        inputs = [t.requires_grad_() for t in kit.tensors_in((args, kwargs)) if t.is_floating_point()]
        weights = list(self.net.trainable_params())
        for parameter in weights:
            parameter.grad = None
        out = self.net(*args, **kwargs)
        total = sum(ops.sum(tensor) for tensor in kit.tensors_in(out) if tensor.is_floating_point())
        if total.requires_grad:
            total.backward()
        # Beside Tensors, lists and dicts have no gradient in the reference.
        given = [*args, *kwargs.values()]
        alone = [t for t in given if isinstance(t, ms.Tensor) and t.is_floating_point()]
        compared = (*(alone or inputs), *weights)
        return out, [np.zeros(t.shape, "float32") if t.grad is None else t.grad.asnumpy() for t in compared]


class Functional(_Way):
    """`ms.functionalize` under `jax.grad`, not compiled."""

    def wrap(self, function):
        return function

    def prepare(self, args, kwargs):
        apply, params, buffers = ms.functionalize(self.net)
        leaves, structure = jax.tree.flatten((args, kwargs), is_leaf=lambda v: isinstance(v, ms.Tensor))
        at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, ms.Tensor)]

        def call(params, buffers, arrays):
            given = list(leaves)
            for i, array in zip(at, arrays):
                given[i] = array
            args, kwargs = jax.tree.unflatten(structure, given)
            return apply(params, buffers, *args, **kwargs)

        return call, params, buffers, {i: leaves[i]._value for i in at}

    def write_back(self, buffers):
        ms.write_back(self.net, None, buffers)

    def forward(self, args, kwargs):
        call, params, buffers, arrays = self.prepare(args, kwargs)
        out, buffers = self.wrap(call)(params, buffers, list(arrays.values()))
        self.write_back(buffers)
        return out, ()

    def grad(self, args, kwargs):
        call, params, buffers, arrays = self.prepare(args, kwargs)
        names = {id(p): name for name, p in self.net.parameters_and_names()}
        weights = [names[id(p)] for p in self.weights]
        # Which leaf a position is: those before it count.
        positions = [len(jax.tree.leaves(args[:i], is_leaf=lambda v: isinstance(v, ms.Tensor))) for i in self.positions]

        def loss(wanted, params, arrays):
            params = {**params, **wanted[1]} if weights else params
            out, after = call(params, buffers, list({**arrays, **wanted[0]}.values()))
            leaves = [v for v in jax.tree.leaves(out) if hasattr(v, "dtype") and v.dtype == np.float32]
            return sum(v.sum() for v in leaves), (out, after)

        wanted = ({i: arrays[i] for i in positions}, {name: params[name] for name in weights})
        (of_inputs, of_weights), (out, after) = self.wrap(jax.grad(loss, has_aux=True))(wanted, params, arrays)
        self.write_back(after)
        return out, [*(of_inputs[i] for i in positions), *(of_weights[name] for name in weights)]


class FunctionalJit(Functional):
    """`ms.functionalize` under `jax.jit(jax.grad(...))`."""

    def wrap(self, function):
        return jax.jit(function)


class Inputs(Grad):
    """`ms.value_and_grad` of all inputs, with weights that are constants, as jax has them: the reference of the objects under jax's
    transformations."""

    def __init__(self, net, positions, weights):
        super().__init__(net, positions, False)
        for parameter in net.get_parameters():
            parameter.requires_grad = False

    def grad(self, args, kwargs):
        given = enumerate((*args, *kwargs.values()))
        self.positions = [i for i, value in given if any(t.is_floating_point() for t in kit.tensors_in(value))]
        out, grads = super().grad(args, kwargs)
        return out, [g for g in grads if g.dtype == np.float32]


class Objects(Functional):
    """The network's own objects under `jax.grad`, not compiled; with respect to all inputs."""

    def __init__(self, net, positions, weights):
        super().__init__(net, positions, False)

    def prepare(self, args, kwargs):
        leaves, structure = jax.tree.flatten((args, kwargs), is_leaf=lambda v: isinstance(v, ms.Tensor))
        at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, ms.Tensor)]

        def call(params, buffers, arrays):
            given = list(leaves)
            for i, array in zip(at, arrays):
                given[i] = ms.Tensor(array)
            args, kwargs = jax.tree.unflatten(structure, given)
            out = self.net(*args, **kwargs)
            return jax.tree.map(lambda t: t._value, out, is_leaf=lambda v: isinstance(v, ms.Tensor)), None

        return call, {}, None, {i: leaves[i]._value for i in at}

    def write_back(self, buffers):
        """The objects' own."""

    def grad(self, args, kwargs):
        call, params, buffers, arrays = self.prepare(args, kwargs)
        floats = {i: array for i, array in arrays.items() if array.dtype == np.float32}

        def loss(wanted):
            out, _ = call(params, buffers, list({**arrays, **wanted}.values()))
            leaves = [v for v in jax.tree.leaves(out) if hasattr(v, "dtype") and v.dtype == np.float32]
            return sum(v.sum() for v in leaves), out

        grads, out = self.wrap(jax.grad(loss, has_aux=True))(floats)
        return out, list(grads.values())


class ObjectsJit(Objects):
    """The network's own objects under `jax.jit(jax.grad(...))`."""

    def wrap(self, function):
        return jax.jit(function)


WAYS = {
    "pynative": Grad,
    "everything": Everything,
    "backward": Backward,
    "jit": Jit,
    "graph": Grad,
    "functional": Functional,
    "functional_jit": FunctionalJit,
    "inputs": Inputs,
    "objects": Objects,
    "objects_jit": ObjectsJit,
}
