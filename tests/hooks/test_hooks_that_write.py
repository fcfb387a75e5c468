"""Hooks that return nothing, but write to Tensors or count: the same values as in PyNative mode, and each write once a run."""

import functools
import sys
import warnings

import pytest

import msjax as ms
from msjax import Tensor, nn, ops

SWITCHED_ON = False


def halve(log):
    def hook(cell, *_):
        cell.weight.set_data(cell.weight * 0.5)

    return hook


def assign(log):
    return lambda cell, *_: (ops.assign(cell.weight, cell.weight + 1), None)[1]


def set_an_item(log):
    def hook(cell, *_):
        cell.weight[0] = cell.weight[0] + 1

    return hook


def set_in_place(log):
    def hook(cell, *_):
        cell.weight *= 0.5

    return hook


def read_values(log):
    def hook(cell, *_):
        cell.weight.set_data(Tensor(cell.weight.asnumpy() + 1))

    return hook


def halve_and_count(log):
    def hook(cell, *_):
        cell.calls += 1
        log.append(cell.calls)
        cell.weight.mul_(0.5)

    return hook


def undeclared(log):
    def hook(cell, *given):
        cell.calls += 1
        log.append(cell.calls)
        cell.weight.mul_(0.5)
        return given[-1] * 2 if SWITCHED_ON else None

    return hook


def by_a_helper(log):
    def change(cell):
        cell.weight.set_data(cell.weight * 0.5)

    def hook(cell, *_):
        change(cell)

    return hook


def by_an_item_of_a_helper(log):
    def change(weight):
        weight[0] = 0.5

    def hook(cell, *_):
        change(cell.weight)

    return hook


HOOKS = [
    halve, assign, set_an_item, set_in_place, read_values, halve_and_count, undeclared, by_a_helper, by_an_item_of_a_helper,
]  # fmt: skip


# Ways to write that the code of a hook doesn't name.
def of_a_view(cell):
    cell.weight[0][1:].mul_(0.5)


def by_data(cell):
    cell.weight.data = cell.weight * 0.5


def of_a_tensor(cell):
    cell.factor.mul_(0.5)


WRITERS = [of_a_view, by_data, of_a_tensor]


def weights_and_outputs(make, kind, compiled):
    net, log = nn.Dense(2, 1, weight_init="ones", bias_init="zeros"), []
    net.calls = 0
    getattr(net, f"register_{kind}_hook")(make(log))
    step = ms.jit(net) if compiled else net
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of them run in PyNative mode
        outputs = [step(Tensor([[2.0, 3.0]])).tolist() for _ in range(3)]
    return outputs, net.weight.tolist(), net.calls, log


@pytest.mark.parametrize("kind", ["forward_pre", "forward"])
@pytest.mark.parametrize("make", HOOKS, ids=lambda make: make.__name__)
def test_the_same_as_in_pynative_mode(make, kind):
    assert weights_and_outputs(make, kind, True) == weights_and_outputs(make, kind, False)


class Scaled(nn.Dense):
    def __init__(self):
        super().__init__(2, 1, weight_init="ones", bias_init="zeros")
        self.factor, self.calls = Tensor([1.0]), 0

    def construct(self, x):
        return super().construct(x) * self.factor


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_a_hook_whose_helper_writes_and_that_counts_does_both_once_a_run(write):
    def run(compiled):
        net, step = Scaled(), {"write": write}

        def hook(cell, inputs):
            cell.calls += 1
            step["write"](cell)
            return inputs if SWITCHED_ON else None

        net.register_forward_pre_hook(hook)
        function = ms.jit(net) if compiled else net
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it runs in PyNative mode
            return [function(Tensor([[2.0, 3.0]])).tolist() for _ in range(3)], net.calls

    assert run(compiled=True) == run(compiled=False)


def calls_while_compiled(n):
    """How many functions of msjax run while a network of `n` cells with Parameters is compiled, whose hooks are tried."""
    record = {"f": lambda value: None}
    net = nn.SequentialCell([nn.PReLU() for _ in range(n)])
    for cell in net:
        cell.register_forward_hook(lambda cell, inputs, output: record["f"](output))
    calls, step, folder = 0, ms.jit(net), ms.__path__[0]

    def count(frame, event, _argument):
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename.startswith(folder)

    sys.setprofile(count)
    try:
        step(Tensor([1.0]))
    finally:
        sys.setprofile(None)
    return calls


def test_a_hook_that_is_tried_costs_the_same_in_any_network():
    calls_while_compiled(2)
    few, more, most = map(calls_while_compiled, (10, 20, 40))
    assert most - more < 2.1 * (more - few)


def test_a_hook_that_only_writes_is_part_of_the_program():
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    net.register_forward_pre_hook(halve([]))
    step = ms.jit(net, fullgraph=True)
    assert [step(Tensor([[2.0, 3.0]])).tolist() for _ in range(2)] == [[[2.5]], [[1.25]]]
    assert step.compilations() == 1


def first_item(cell, inputs, output):
    output[0] = 0.0


def in_place(cell, inputs):
    inputs[0].mul_(2.0)


def item_of_gradient(cell, grad_output):
    grad_output[0][1] = 7.0


def gradient_in_place(cell, grad_input, grad_output):
    grad_input[0].mul_(2.0)


def item(grads):
    grads[0][1] = 7.0


WRITTEN = {"forward": first_item, "forward_pre": in_place, "backward_pre": item_of_gradient, "backward": gradient_in_place}
WANTED = {
    "forward": [0.0, 36.0],
    "forward_pre": [48.0, 144.0],
    "backward_pre": [6.0, 42.0],
    "backward": [24.0, 72.0],
    "operator": [6.0, 42.0],
}


@pytest.mark.parametrize("compiled", [False, True], ids=["pynative", "jit"])
@pytest.mark.parametrize("kind", WANTED)
def test_what_a_hook_writes_to_its_arguments_goes_on(kind, compiled):
    class Triple(nn.Cell):
        def construct(self, x):
            return x * 6 if kind in ("operator", "backward_pre") else x * x * 6

    triple, tap = Triple(), ops.HookBackward(item)
    if kind != "operator":
        getattr(triple, f"register_{kind}_hook")(WRITTEN[kind])
    gradient = ms.grad(lambda x: tap(triple(x)) if kind == "operator" else triple(x))
    gradient = ms.jit(gradient) if compiled else gradient
    assert [gradient(Tensor([1.0, 3.0])).tolist() for _ in range(2)] == [WANTED[kind]] * 2


LATEST = None


class Store:
    def __init__(self, found):
        self.found = found

    def __call__(self, cell, inputs, output):
        self.found["fc"] = output

    def put(self, value):
        self.found["fc"] = value


def in_partial(found, cell, inputs, output):
    found["fc"] = output


def into_global(cell, inputs, output):
    global LATEST
    LATEST = output


def put(found, value):
    found["fc"] = value


class Keep:
    def __init__(self, net):
        self.net = net

    def save(self, value):
        self.net.latest = value


class KeepLatest(Keep):
    def save(self, cell, inputs, output):
        super().save(output)


class Features(nn.Cell):
    """Returns what a hook of its layer has stored in the same run."""

    def __init__(self, make):
        super().__init__()
        self.fc = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
        self.found, self.latest = {"fc": None}, None
        self.hook = self.fc.register_forward_hook(make(self))

    def construct(self, x):
        self.fc(x)
        return self.latest if self.latest is not None else self.found["fc"] if self.found["fc"] is not None else LATEST

    def item(self):
        def hook(cell, inputs, output):
            self.found["fc"] = output

        return hook

    def attribute(self):
        def hook(cell, inputs, output):
            self.latest = output

        return hook

    def returned(self):
        def hook(cell, inputs, output):
            self.found["fc"] = output
            return self.found["fc"]

        return hook

    def by_a_function(self):
        store = Store(self.found)

        def hook(cell, inputs, output):
            store.put(output)

        return hook


STORING = {
    "item": Features.item,
    "attribute": Features.attribute,
    "by a function": Features.by_a_function,
    "update": lambda net: lambda cell, inputs, output: net.found.update(fc=output),
    "__setitem__": lambda net: lambda cell, inputs, output: net.found.__setitem__("fc", output),
    "returned": Features.returned,
    "object": lambda net: Store(net.found),
    "partial": lambda net: functools.partial(in_partial, net.found),
    "global": lambda net: into_global,
    "given to a function": lambda net: lambda cell, inputs, output: put(net.found, output),
    "setattr": lambda net: lambda cell, inputs, output: setattr(net, "latest", output),
    "super": lambda net: KeepLatest(net).save,
}


@pytest.mark.parametrize("way", ["ms.jit", "graph mode"])
@pytest.mark.parametrize("what", STORING)
def test_what_a_hook_stores_is_read_in_the_same_run(what, way):
    global LATEST
    LATEST = None
    net = Features(STORING[what])
    if way == "graph mode":
        ms.set_context(mode=ms.GRAPH_MODE)
    step = ms.jit(net) if way == "ms.jit" else net
    with pytest.warns(UserWarning, match="stores into what the code may read"):
        assert [step(Tensor([[k, 1.0]])).tolist() for k in (1.0, 2.0, 3.0)] == [[[2.0]], [[3.0]], [[4.0]]]


@pytest.mark.parametrize(
    "hooked",
    [
        lambda count: ms.from_jax(ms.hooks.hook_gradient(lambda grad: count())),
        lambda count: ms.from_jax(ms.hooks.with_hooks(lambda x: x * 1, backward=lambda grad_input, grad_output: count())),
        lambda count: ms.from_jax(ms.hooks.with_hooks(lambda x: x * 1, backward_pre=lambda grad_output: count())),
        lambda count: ops.HookBackward(lambda grad: count()),
    ],
    ids=["hook_gradient", "backward", "backward_pre", "HookBackward"],
)
def test_what_hooks_of_functions_count_is_read_in_the_same_run(hooked):
    counts = {"calls": 0}

    def count():
        counts["calls"] += 1

    function = hooked(count)

    def step(x):
        return ms.grad(lambda x: (function(x) ** 2).sum())(x) * counts["calls"]

    with pytest.warns(UserWarning, match="stores into what the code may read"):
        assert [ms.jit(step)(Tensor([k])).tolist() for k in (1.0, 2.0)] == [[2.0], [8.0]]


def test_what_only_hooks_store_is_no_hindrance():
    net, found = nn.Dense(2, 1, weight_init="ones", bias_init="zeros"), {}
    net.register_forward_hook(lambda cell, inputs, output: found.__setitem__("out", output))
    net.register_backward_hook(lambda cell, grad_input, grad_output: found.update(gradient=grad_input[0]))
    step = ms.jit(lambda x: ms.grad(net)(x), fullgraph=True)
    for k in (1.0, 2.0):
        step(Tensor([[k, 1.0]]))
        assert found["out"].tolist() == [[k + 1]] and found["gradient"].tolist() == [[1.0, 1.0]]
    assert step.compilations() == 1


class Penalized(nn.Cell):
    """Adds what a hook has appended in the same run to its result."""

    def __init__(self):
        super().__init__()
        self.fc, self.penalties = nn.Dense(2, 1, weight_init="ones", bias_init="zeros"), []
        self.fc.register_forward_hook(self.penalize)

    def penalize(self, cell, inputs, output):
        self.penalties.append((output * output).sum())

    def construct(self, x):
        self.penalties.clear()
        return self.fc(x).sum() + sum(self.penalties)


def latest_of_closure():
    fc, seen = nn.Dense(2, 1, weight_init="ones", bias_init="zeros"), []
    fc.register_forward_hook(lambda cell, inputs, output: seen.append((output * output).sum()))

    def step(x):
        return fc(x).sum() + seen[-1]

    return step


@pytest.mark.parametrize("way", [ms.jit, lambda fn: ms.jit(lambda x: ms.value_and_grad(fn)(x)[0])], ids=["forward", "gradient"])
@pytest.mark.parametrize("make", [Penalized, latest_of_closure])
def test_what_a_hook_appends_is_read_in_the_same_run(make, way):
    step = way(make())
    with pytest.warns(UserWarning, match="stores into what the code may read"):
        assert [float(step(Tensor([[k, 1.0]]))) for k in (1.0, 2.0, 3.0)] == [6.0, 12.0, 20.0]


def test_a_list_to_which_code_and_hooks_only_append_is_a_log():
    net, log = nn.Dense(2, 1, weight_init="ones", bias_init="zeros"), []
    net.register_forward_hook(lambda cell, inputs, output: log.append(output.sum()))

    @functools.partial(ms.jit, fullgraph=True)
    def step(x):
        with net.register_forward_hook(lambda cell, inputs, output: log.extend([output.shape])):
            return net(x)

    for k in (1.0, 2.0):
        step(Tensor([[k, 1.0]]))
    assert [float(log[0]), log[1], float(log[2]), log[3]] == [2.0, (1, 1), 3.0, (1, 1)]
    assert step.compilations() == 1


@pytest.mark.parametrize(
    "hook",
    [
        lambda cell, inputs: (inputs[0] * ops.ones(()),),
        lambda cell, inputs: (inputs[0].reshape(()).reshape((1,)),),
        lambda cell, inputs, empty=(): (*inputs, *empty, *()),
    ],
)
def test_hooks_with_constant_tuples(hook):
    net = nn.ReLU()
    net.register_forward_pre_hook(hook)
    assert ms.jit(net)(Tensor([2.0])).tolist() == net(Tensor([2.0])).tolist() == [2.0]
