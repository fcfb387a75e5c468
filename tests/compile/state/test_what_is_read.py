"""What a program is compiled for is what its code reads: other attributes and variables of the same names change without compiling anew."""

import logging
import types
import warnings

import pytest

import msjax as ms
from msjax import nn, ops
from msjax.engine.compile.code_names import names_of_class
from tests.compile.calls import Calls, f32, in_graph_mode

i = 0


class Scaled(nn.Cell):
    """Has an attribute of a global's name, and keeps what no code reads."""

    def __init__(self):
        super().__init__()
        self.i = 2
        self.latest = None
        self.kept = []

    def construct(self, x):
        return x * self.i


@pytest.fixture
def messages(caplog):
    with caplog.at_level(logging.WARNING, "msjax"):
        yield lambda: [record.getMessage() for record in caplog.records if "same shapes" in record.getMessage()]


@pytest.mark.parametrize("compiled", [ms.jit, in_graph_mode])
def test_an_attribute_is_no_global(compiled):
    global i
    traced = []
    fast = compiled(Calls(lambda self, x: traced.append(1) or x * self.i, i=2))
    for i in range(5):
        assert fast(f32(3)).asnumpy() == 6 and i < 5
    assert len(traced) == 1


def test_a_global_is_read(messages):
    global i
    f = ms.jit(lambda x: x * i)
    for i in range(1, 5):
        assert f(f32(3)).asnumpy() == 3 * i
    assert f.compilations() == 4 and len(messages()) == 1
    assert "test_a_global_is_read" in messages()[0] and "the variable i is 3, and was 2" in messages()[0]


def test_attributes_that_no_code_reads():
    net = Scaled()
    f = ms.jit(net)
    for n in range(4):
        net.latest = f(f32(3))
        net.kept = [net.latest, n]
        net.kept.append(n)
        net.new = {"n": n}
    assert f.compilations() == 1
    net.i = 5
    assert f(f32(3)).asnumpy() == 15 and f.compilations() == 2


def test_attributes_of_cells_within(messages):
    inner = Scaled()
    f = ms.jit(Calls(lambda self, x: self.inner(x) + 1, inner=inner))
    for n in range(3):
        assert f(f32(3)).asnumpy() == 7
        inner.latest, inner.kept = n, [n]
    assert f.compilations() == 1 and not messages()
    for n in range(3, 6):
        inner.i = n
        assert f(f32(3)).asnumpy() == 3 * n + 1
    assert len(messages()) == 1 and "the attribute Scaled.i is 4, and was 3" in messages()[0]


class Helped(nn.Cell):
    """Has methods that nothing in the class itself calls."""

    def __init__(self):
        super().__init__()
        self.by_helper = self.by_name = self.by_len = 1

    def construct(self, x):
        return x

    def helper(self, x):
        return x * self.by_helper

    def __len__(self):
        return self.by_len


def _reads(cell):
    return cell.by_name


class Outer(nn.Cell):
    """Calls what another class has."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def construct(self, x):
        return self.inner.helper(x) + _reads(self.inner) + len(self.inner)


def test_methods_and_functions_that_others_call():
    inner = Helped()
    f = ms.jit(Outer(inner))
    assert f(f32(3)).asnumpy() == 5
    inner.by_helper = 2
    assert f(f32(3)).asnumpy() == 8
    inner.by_name = 10
    assert f(f32(3)).asnumpy() == 17
    inner.by_len = 100
    assert f(f32(3)).asnumpy() == 116
    assert f.compilations() == 4


def test_computed_names_and_code_that_is_not_looked_into():
    net = Scaled()
    net.scale_1, net.deep = 2, 3

    def level(n):
        return (lambda x: x * net.deep) if n == 0 else (lambda inner: lambda x: inner(x))(level(n - 1))

    deep = level(9)
    f = ms.jit(Calls(lambda self, x: x * getattr(self.net, f"scale_{1}"), net=net))
    g = ms.jit(Calls(lambda self, x: deep(x), net=net))
    assert f(f32(3)).asnumpy() == 6 and g(f32(3)).asnumpy() == 9
    net.scale_1, net.deep = 4, 5
    assert f(f32(3)).asnumpy() == 12 and g(f32(3)).asnumpy() == 15


def test_a_cell_that_changes_its_lists_between_steps():
    traced = []

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
            self.gradients, self.largest = [], ms.Tensor(0.0)

        def construct(self, x):
            traced.append(1)
            return self.fc(x).sum(), (x * x).sum()

        def update(self, gradients):
            self.gradients = [*gradients]
            self.gradients.append(ops.stack([g.abs().max() for g in gradients]))
            self.largest = self.gradients[-1].max()

    class Step(nn.Cell):
        def __init__(self, network):
            super().__init__()
            self.network = network
            self.grad = ops.GradOperation(get_by_list=True, sens_param=True)(network, network.trainable_params())

        def construct(self, x):
            one, other = self.network(x)
            return self.grad(x, (ops.ones_like(one), ops.zeros_like(other)))

    net = Net()
    fast = in_graph_mode(Step(net))
    for n in range(1, 4):
        gradients = fast(ms.Tensor([[float(n), 2.0]]))
        net.update(gradients)
        assert gradients[0].asnumpy().tolist() == [[n, 2.0]] and net.largest.asnumpy() == max(n, 2)
        if n == 1:
            first = len(traced)
    assert len(traced) == first


def test_arguments_are_told_once(messages):
    f = ms.jit(lambda x, scale: x * scale)
    for scale in range(1, 7):
        assert f(f32(3), scale).asnumpy() == 3 * scale
    assert f.compilations() == 6 and len(messages()) == 1 and "argument 1 is 3, and was 2" in messages()[0]


def test_other_shapes_tell_nothing(messages):
    f = ms.jit(lambda x: x * 2)
    for n in range(1, 6):
        f(ops.ones((n,)))
    assert f.compilations() == 5 and not messages()


def test_names_in_the_code_of_layers_and_optimizers():
    traced = []

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(ms.Tensor([2.0]), name="w")
            self.kept = []

        def construct(self, x):
            traced.append(1)
            return (self.w * x).sum()

        def keep(self, gradients):
            self.kept = [*gradients]

    class Scaled(nn.SGD):
        def __init__(self, parameters):
            super().__init__(parameters, 1.0)
            self.scale = 1.0

        def construct(self, gradients):
            return super().construct(tuple(g * self.scale for g in gradients))

    net = Net()
    assert "keep" in names_of_class(nn.Adam).libraries  # a name of msjax's own code, which is no way to the user's method
    adam, grad = nn.Adam([net.w], 0.0), ms.value_and_grad(net, None, [net.w])
    step = ms.jit(lambda x: (lambda found: (adam(found[1]), found[1])[1])(grad(x)))
    for _ in range(3):
        net.keep(step(f32(3.0)))
    first = len(traced)
    net.keep(step(f32(4.0)))
    assert len(traced) == first and step.compilations() == 1

    # What a library's method reads of the user's subclass counts.
    sgd = Scaled([net.w])
    descend = ms.jit(lambda g: sgd((g,)))
    descend(f32(1.0))
    sgd.scale = 2.0
    sgd.unused = 3
    descend(f32(1.0))
    assert net.w.asnumpy().tolist() == [-1.0] and descend.compilations() == 2


class State:
    """A plain object that a script changes between calls."""

    def __init__(self):
        self.scale = 2.0
        self.step = 0
        self.losses = []


@pytest.mark.parametrize("state", [State(), types.SimpleNamespace(scale=2.0, step=0, losses=[])], ids=["class", "namespace"])
def test_attributes_of_plain_objects(state):
    f = ms.jit(lambda x: x * state.scale)
    for n in range(4):
        state.losses.append(f(f32(3)))
        state.step += 1
        state.new = n
    assert f.compilations() == 1
    state.scale = 5.0
    assert f(f32(3)).asnumpy() == 15 and f.compilations() == 2
    vars(state).pop("scale")
    with pytest.raises(AttributeError, match="scale"):
        f(f32(3))
    state.scale = 2.0
    assert f(f32(3)).asnumpy() == 6


def test_what_hides_an_attribute_of_a_class_is_seen():
    class Settings:
        factor = 2.0

    settings = Settings()
    f = ms.jit(lambda x: x * settings.factor)
    assert f(f32(3)).asnumpy() == 6
    settings.factor = 4.0
    assert f(f32(3)).asnumpy() == 12
    del settings.factor
    assert f(f32(3)).asnumpy() == 6


def test_attributes_that_code_only_assigns_to():
    net = Calls(lambda self, x: setattr_latest(self, x), latest=None)
    f = ms.jit(net)
    for n in range(3):
        f(f32(3))
        net.latest = n
    assert f.compilations() == 1


def setattr_latest(cell, x):
    cell.latest = x * 2
    return x


def test_a_tensor_that_code_only_writes():
    def call(self, x):
        self.latest = x * 2
        return x

    f = ms.jit(net := Calls(call, latest=f32(1)))
    for n in range(3):
        assert f(f32(n)).asnumpy() == n and net.latest.asnumpy() == 2 * n


def read_or(value, default):
    try:
        return float(value)
    except Exception:
        return default


class Careful(nn.Cell):
    """Catches whatever the value of a Tensor raises."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def construct(self, x):
        self.seen.append(read_or(x.sum(), None))
        return x * 2


@pytest.mark.parametrize("compiled", [ms.jit, in_graph_mode])
def test_code_that_catches_the_error_of_a_missing_value_runs_in_pynative_mode(compiled):
    net = Careful()
    fast = compiled(net)
    with pytest.warns(UserWarning, match="runs in PyNative mode: float.. needs the value of a Tensor"):
        for value in (1.0, 2.0):
            assert fast(f32(value)).tolist() == [2 * value]
    assert net.seen == [1.0, 2.0]


@pytest.mark.parametrize("compiled", [ms.jit, in_graph_mode])
@pytest.mark.parametrize("replaces", [True, False])
def test_a_hook_that_catches_the_error_of_a_missing_value_gets_the_value(compiled, replaces):
    net, seen = nn.ReLU(), []

    def hook(cell, inputs, output):
        seen.append(read_or(output, None))
        return output * 2 if replaces else output

    net.register_forward_hook(hook)
    fast = compiled(net)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one of them runs in PyNative mode
        assert [fast(f32(value)).tolist() for value in (1.0, 2.0)] == ([[2.0], [4.0]] if replaces else [[1.0], [2.0]])
    assert seen == [1.0, 2.0]
