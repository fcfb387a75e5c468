"""find_nan and guard name the planted fault: the pass, the cell, the operation, the line, the step."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from flax import linen, nnx

import msjax as ms
from msjax import hooks, nn, ops
from msjax.core.tools.checking import Check
from msjax.core.tools.guarding.guard_places import _Look
from msjax.tools import Fault, find_nan, guard, hooks_of

# {name: (what a cell computes, pass, names of the operation)}: the first four in the forward pass, the others in the backward.
FAULTS = {
    "log": (lambda x: ops.log(-x * x - 1), "forward", ["log"]),
    "sqrt": (lambda x: ops.sqrt(-x * x - 1), "forward", ["sqrt"]),
    "difference": (lambda x: ops.exp(x * 0 + 1000) - ops.exp(x * 0 + 1000), "forward", ["Sub", "sub"]),
    "quotient": (lambda x: (x * 0) / (x * 0), "forward", ["Div", "div"]),
    "root": (lambda x: x + ops.sqrt(x * 0), "backward", ["Mul", "sqrt"]),
    "norm": (lambda x: x + ops.sqrt((x * x * 0).sum()), "backward", ["Mul", "ReduceSum", "sum", "sqrt"]),
    "where": (lambda x: ops.where(x < 1e9, x, ops.exp(x * 0 + 1000) * x), "backward", ["Mul"]),
    "own bprop": (None, "backward", ["log"]),
}


class Planted(nn.Cell):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def construct(self, x):
        return self.fn(x)


class PlantedBprop(nn.Cell):
    def construct(self, x):
        return x * 2

    def bprop(self, x, out, dout):
        return (ops.log(-dout * dout - 1),)


class GoodBprop(nn.Cell):
    def construct(self, x):
        return x * 1

    def bprop(self, x, out, dout):
        return (dout,)


class LeNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, pad_mode="valid")
        self.act = nn.ReLU()
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(8, 4)
        self.fc2 = nn.Dense(4, 2)

    def construct(self, x):
        return self.fc2(self.act(self.fc1(self.flatten(self.act(self.conv(x))))))


class Block(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm((width,))
        self.qkv = nn.Dense(width, 3 * width)
        self.out = nn.Dense(width, width)

    def construct(self, x):
        q, k, v = ops.split(self.qkv(self.norm(x)), x.shape[-1], axis=-1)
        weights = ops.softmax(ops.matmul(q, k.swapaxes(-1, -2)) / 2.0, -1)
        return x + self.out(ops.matmul(weights, v))


class Transformer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Block(4), Block(4)])
        self.head = nn.Dense(4, 2)

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def plant(net, path, fault):
    """Put a fault behind a cell; returns the path where it is."""
    holder, name = net, path
    while "." in name:
        child, name = name.split(".", 1)
        holder = holder[int(child)] if child.isdigit() else getattr(holder, child)
    fn = FAULTS[fault][0]
    both = nn.SequentialCell(getattr(holder, name), PlantedBprop() if fn is None else Planted(fn))
    setattr(holder, name, both)
    return f"{path}.1"


NETS = {"LeNet": (LeNet, (1, 1, 4, 4), "fc1"), "transformer": (Transformer, (1, 3, 4), "blocks.1.out")}


def run(net, x, mode):
    """The fault that is found in one step of training."""
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    if mode == "find_nan":
        return find_nan(net, x, show=False)
    step = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())
    if mode == "graph":
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9))
    elif mode == "compiled":
        step = ms.jit(step)
    before = [p.asnumpy().copy() for p in net.get_parameters()]
    with guard(net), pytest.raises(Fault) as raised:
        step(x, ms.Tensor(np.ones((*x.shape[:-1], 2) if x.ndim == 3 else (1, 2), "float32"))) if mode == "graph" else step(x)
    for p, value in zip(net.get_parameters(), before):
        np.testing.assert_array_equal(p.asnumpy(), value)
    assert not any(hooks_of(cell) for _, cell in net.cells_and_names())
    return raised.value


# Each fault is found in one of the networks, and some of them in other modes.
CASES = [(list(NETS)[i % 2], fault, "find_nan") for i, fault in enumerate(FAULTS)] + [
    ("LeNet", "log", "pynative"), ("LeNet", "root", "pynative"), ("LeNet", "where", "compiled"), ("LeNet", "quotient", "graph"),
    ("transformer", "norm", "pynative"), ("transformer", "sqrt", "compiled"), ("transformer", "root", "graph"),
    ("transformer", "own bprop", "compiled"), ("LeNet", "own bprop", "graph"),
]  # fmt: skip


@pytest.mark.parametrize("net, fault, mode", CASES)
def test_planted_in_cells(net, fault, mode):
    make, shape, at = NETS[net]
    net = make()
    path = plant(net, at, fault)
    found = run(net, ms.Tensor(np.linspace(-1, 1, np.prod(shape)).reshape(shape).astype("float32")), mode)
    _, phase, operations = FAULTS[fault]
    assert (found.phase, found.operation in operations) == (phase, True), found
    assert found.path == path and found.call == 1
    if fault != "own bprop":
        assert "lambda x:" in found.line.code and fault in found.line.code
    assert found.output.nan and found.inputs


class Layer(nnx.Module):
    """A layer, or, with an axis in front, a stack of them."""

    def __init__(self, fault, bad, layers=3):
        self.kernel = nnx.Param(jnp.full((layers, 2, 2), 0.5))
        self.sign = nnx.Param(jnp.ones(layers).at[bad].set(-1))
        self.fault = fault

    def __call__(self, x):
        return self.fault(x @ self.kernel[...], self.sign[...])


class Stack(nnx.Module):
    def __init__(self, fault, bad=1):
        self.layers = Layer(fault, bad)

    def __call__(self, x):
        return nnx.scan(lambda x, layer: (layer(x), None))(x, self.layers)[0]


IN_STACK = {
    "log": (lambda x, sign: x + jnp.log(sign), "forward", ["log"]),
    "sqrt": (lambda x, sign: x + jnp.sqrt(sign), "forward", ["sqrt"]),
    "root": (lambda x, sign: x + jnp.sqrt(jnp.maximum(sign, 0) * x * x), "backward", ["mul", "integer_pow"]),
    "norm": (lambda x, sign: x + jnp.linalg.norm(x * jnp.maximum(sign, 0)), "backward", ["mul"]),
}


@pytest.mark.parametrize("bad", [0, 2])
@pytest.mark.parametrize("fault", IN_STACK)
def test_planted_in_a_scan_of_nnx(fault, bad):
    fn, phase, operations = IN_STACK[fault]
    found = find_nan(Stack(fn, bad), jnp.ones((1, 2)), show=False)
    assert (found.phase, found.path, found.cls, found.step) == (phase, "layers", "Layer", (bad,)), found
    assert found.operation in operations and "lambda x, sign" in found.line.code


def test_guarded_function_keeps_the_state_of_modules():
    net = Stack(IN_STACK["root"][0], bad=1)

    @guard
    def step(net, x):
        loss, grads = nnx.value_and_grad(lambda net: net(x).sum())(net)
        nnx.update(net, jax.tree.map(lambda p, g: p - 0.1 * g, nnx.state(net, nnx.Param), grads))
        return loss

    before = jax.tree.leaves(nnx.state(net))
    with pytest.raises(Fault) as raised:
        step(net, jnp.ones((1, 2)))
    assert (raised.value.phase, raised.value.path, raised.value.step) == ("backward", "layers", (1,))
    assert all(map(np.array_equal, before, jax.tree.leaves(nnx.state(net))))
    net.layers.sign[...] = jnp.ones(3)
    step(net, jnp.ones((1, 2)))
    assert not np.array_equal(before[0], jax.tree.leaves(nnx.state(net))[0])


def test_guard_of_a_module_in_nnx_jit():
    net = Stack(IN_STACK["log"][0])
    with guard(net), pytest.raises(Fault, match=r"layers \(Layer\)"):
        nnx.jit(lambda net, x: net(x))(net, jnp.ones((1, 2)))
        ms.hooks.barrier()


def test_functionalized():
    """In a program of jax's own, the cell is named; in a guarded function, the operation, too."""
    net = nn.SequentialCell(nn.Dense(2, 2), Planted(FAULTS["root"][0]), nn.Dense(2, 1))
    apply, params, buffers = ms.functionalize(net)
    x = jnp.ones((1, 2), "float32")
    gradient = jax.value_and_grad(lambda params, x: apply(params, buffers, x)[0].sum())
    with guard(net), pytest.raises(Fault) as raised:
        jax.jit(gradient)(params, x)
        ms.hooks.barrier()
    assert (raised.value.phase, raised.value.path) == ("backward", "1")
    with pytest.raises(Fault) as raised:
        guard(gradient)(params, x)
    assert (raised.value.phase, raised.value.path, raised.value.operation) == ("backward", "1", "mul")


@pytest.mark.parametrize("fault, at, operation", [("own bprop", 1, "log"), ("root", 0, "mul")])
def test_functionalized_with_a_bprop(fault, at, operation):
    """Such a network runs on the tape, after an attempt off it has come to the bprop."""
    cells = [nn.Tanh(), PlantedBprop()] if fault == "own bprop" else [Planted(FAULTS[fault][0]), GoodBprop()]
    net = nn.SequentialCell(nn.SequentialCell(*cells), nn.Tanh())
    apply, params, buffers = ms.functionalize(net)
    found = find_nan(jax.value_and_grad(lambda x: apply(params, buffers, x)[0].sum()), jnp.ones(2, "float32"), show=False)
    assert (found.phase, found.path, found.operation, found.call) == ("backward", f"0.{at}", operation, 1), found


class Log(linen.Module):
    def __call__(self, x):
        return jnp.log(x)


def test_hooked_model():
    model, x = linen.Sequential([linen.Dense(2, kernel_init=linen.initializers.ones), Log()]), -jnp.ones((1, 3))
    hooked = hooks.hooked(model)
    params = hooked.init(jax.random.key(0), x)
    for found in (find_nan(model, params, x, show=False), find_nan(lambda x: hooked.apply(params, x).sum(), x, show=False)):
        assert (found.phase, found.path, found.operation) == ("forward", "layers_1", "log")
    for step in (hooked.apply, hooks.jit(hooked.apply)):
        # A GPU's program is waited for where guard ends.
        with pytest.raises(Fault, match=r"layers_1 \(Log\)"), guard(hooked):
            step(params, x)
    with pytest.raises(TypeError, match=r"give hooks.hooked\(model\), and run that: a model of linen"):
        guard(model)


def test_guard_of_a_model_under_vmap(monkeypatch):
    """One look for all examples."""
    model, looks, look = hooks.hooked(linen.Dense(1)), [], _Look.__call__
    monkeypatch.setattr(_Look, "__call__", lambda self, flag: (looks.append(flag), look(self, flag)))
    params = {"params": {"kernel": jnp.ones((2, 1)), "bias": jnp.ones(1)}}
    x = jnp.ones((5, 2)).at[3, 1].set(np.nan)
    step = jax.jit(lambda params, x: jax.vmap(lambda row: model.apply(params, row))(x).sum())
    with pytest.raises(Fault, match="Dense"), guard(model, gradients=False):
        step(params, x)
        hooks.barrier()
    assert [bool(look) for look in looks] == [True]


def test_training_goes_on():
    net = nn.SequentialCell(nn.Dense(2, 2), nn.BatchNorm1d(2), Planted(lambda x: ops.log(x)))
    step = ms.jit(nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 0.1)))
    with guard(net, on="inf") as guarded:
        good, bad = ms.Tensor([[1.0, 2.0], [3.0, 5.0]]), ms.Tensor([[np.inf, 2.0], [3.0, 5.0]])
        for batch in (bad, bad):
            before = {p.name: p.asnumpy().copy() for p in net.get_parameters()}
            with pytest.raises(Fault):
                step(batch)
            assert all(np.array_equal(before[p.name], p.asnumpy()) for p in net.get_parameters())
        assert guarded.model is net
    step(good)


@pytest.mark.parametrize("bad", [0, 1])
def test_guards_of_two_networks_in_one_program(bad):
    nets = [
        nn.SequentialCell(nn.Dense(1, 1, "ones", "zeros"), Planted(FAULTS["log"][0] if i == bad else ops.tanh)) for i in (0, 1)
    ]
    count = ms.Parameter(ms.Tensor(0.0), requires_grad=False)

    @ms.jit
    def both(x):
        count.set_data(count + 1)
        return nets[0](x) + nets[1](x)

    with guard(nets[0]), guard(nets[1]), pytest.raises(Fault) as raised:
        both(ms.Tensor([[1.0]]))
    assert raised.value.path == "1" and float(count) == 0.0


def test_nothing_wrong():
    net = LeNet()
    x = ms.Tensor(np.ones((1, 1, 4, 4), "float32"))
    assert find_nan(net, x, show=False) is None
    step = ms.jit(ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params()))
    plain = step(x)
    compilations = step.compilations()
    watching = guard(net)
    for _ in range(2):
        with watching:
            guarded = step(x)
        assert step.compilations() == compilations + 1
        step(x)
    assert step.compilations() == compilations + 1
    np.testing.assert_allclose(plain[0].asnumpy(), guarded[0].asnumpy(), rtol=1e-5)


def test_predicate_and_masked_values():
    net = nn.SequentialCell(nn.Tanh(), Planted(lambda x: x * 100))
    found = find_nan(net, ms.Tensor([1.0]), on=lambda x: jnp.abs(x) > 50, show=False)
    assert (found.path, found.operation, found.what) == ("1", "Mul", "value for which <lambda> holds")
    # A NaN that where() leaves out of the result, and whose gradient is zero.
    assert find_nan(lambda x: jnp.where(x < 0, 1.0, jax.lax.stop_gradient(jnp.log(x))).sum(), -jnp.ones(2), show=False) is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_flag_of_an_array(dtype):
    values = [[1.0, -2.0], [np.nan, 0.0], [0.0, -np.nan], [np.inf, 0.0], [0.0, -np.inf]]
    flags = {on: jax.jit(Check(on, "guard").traced) for on in ("nan", "inf")}
    arrays = [np.repeat(np.array(v, ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype), 9) for v in values]
    found = {on: [bool(flag(array)) for array in arrays] for on, flag in flags.items()}
    assert found == {"nan": [False, True, True, False, False], "inf": [False, True, True, True, True]}
    assert not flags["inf"](arrays[0][:0])


def test_flag_of_a_large_array():
    for on, wrong in (("inf", np.inf), ("nan", np.nan)):
        flag = jax.jit(Check(on, "guard").traced)
        x = np.ones((65, 64), "float32")
        x[0, 0] = -np.inf if on == "nan" else 0
        assert not flag(x)
        x[64, 63] = wrong
        assert flag(x)


def test_reports(capsys):
    fault = find_nan(lambda x: jnp.log(x).sum(), jnp.array([1.0, -1.0]))
    assert capsys.readouterr().out.strip() == str(fault)
    lines = str(fault).splitlines()
    assert lines[0] == "The first NaN is in the forward pass" and lines[-1].startswith("  input 0    float")
    assert fault._repr_html_().startswith("<pre") and "min -1, max 1" in fault._repr_html_()
    find_nan(lambda x: jnp.exp(x).sum(), jnp.array([1.0]))
    assert capsys.readouterr().out == "No NaN was found.\n"
    given = find_nan(lambda x: x * 2, jnp.array([np.nan]), show=False)
    assert "argument x was wrong before anything was computed" in str(given)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="'on' should be 'nan', 'inf' or a function"):
        guard(nn.ReLU(), on="zero")
    with pytest.raises(TypeError, match="should be a Cell, a flax nnx module or a function"):
        find_nan(3)
