"""Hooks in compiled programs: the same calls, in the same order, with the same values as in PyNative mode."""

import gc
import weakref

import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from msjax.core.hooks.delivery import HookNeedsValue


def f32(*values):
    return ms.Tensor(np.array(values, np.float32))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(2, 2, weight_init="ones", bias_init="ones")
        self.relu = nn.ReLU()

    def construct(self, x):
        y = self.relu(self.fc(x))
        y = ops.HookBackward(lambda grads: print("tap", grads[0]))(y)
        y.register_hook(lambda grad: print("tensor hook", grad))
        return y * 3


def register(net):
    for name, cell in net.cells_and_names():
        cell.register_forward_pre_hook(lambda c, args, n=name: print("pre", n, args[0]))
        cell.register_forward_hook(lambda c, args, out, n=name: print("forward", n, out))
        cell.register_backward_pre_hook(lambda c, go, n=name: print("backward pre", n, go[0]))
        cell.register_backward_hook(lambda c, gi, go, n=name: print("backward", n, gi, go))
    net.fc.weight.register_hook(lambda grad: print("weight", grad))


@pytest.mark.parametrize("dialect", ["tutorial", "mindspore-2.10"])
def test_printed_output_is_that_of_pynative_mode(capsys, dialect):
    ms.set_context(hook_dialect=dialect)
    net = Net()
    register(net)
    x = f32([1, 2], [3, 4])
    weights = net.trainable_params()

    def script():
        net(x)
        print(ms.grad(net)(x))
        print(ms.value_and_grad(net, None, weights)(x))
        print(ops.GradOperation(get_all=True, get_by_list=True)(net, weights)(x))

    script()
    script()
    expected = capsys.readouterr().out
    ms.set_context(mode=ms.GRAPH_MODE)
    script()
    script()
    assert capsys.readouterr().out == expected
    assert "backward fc" in expected and "weight" in expected


def test_the_commonest_hook_gets_one_concrete_entry_a_run():
    net, log = Net(), []
    net.relu.register_forward_hook(lambda cell, x, y: log.append((cell, x, y)))
    ms.set_context(mode=ms.GRAPH_MODE)
    for k in range(3):
        net(f32([k, k]))
    assert len(log) == 3 and all(cell is net.relu for cell, _, _ in log)
    assert [float(y.sum()) for _, _, y in log] == [2, 6, 10]


def test_modifiers_are_differentiated_and_traced_once():
    net, runs = Net(), []

    def double(cell, args, output):
        runs.append(1)
        return output * 2

    net.relu.register_forward_hook(double)
    net.fc.register_backward_hook(lambda cell, gi, go: (gi[0] * 10,))
    expected = ms.grad(net)(f32([1, 2])).asnumpy()
    ms.set_context(mode=ms.GRAPH_MODE)
    runs.clear()
    for _ in range(3):
        np.testing.assert_array_equal(ms.grad(net)(f32([1, 2])).asnumpy(), expected)
    assert len(runs) == 1


def test_registered_after_the_first_call_and_removed(capsys):
    net = nn.ReLU()
    ms.set_context(mode=ms.GRAPH_MODE)
    net(f32(1))
    handle = net.register_forward_hook(lambda cell, x, y: print("fires"))
    net(f32(1))
    handle.remove()
    net(f32(1))
    assert capsys.readouterr().out == "fires\n"


def test_remove_hook_of_a_parameter_reaches_the_compiled_program():
    net = nn.Dense(2, 2)
    net.weight.register_hook(lambda grad: grad * 2)
    ms.set_context(mode=ms.GRAPH_MODE)
    step = ms.grad(net, None, [net.weight])
    assert (step(f32([1, 1]))[0].asnumpy() == 2).all()
    net.weight.remove_hook()
    assert (step(f32([1, 1]))[0].asnumpy() == 1).all()


def test_what_a_modifier_prints_is_printed_at_each_run(capsys):
    net = nn.ReLU()

    def hook(cell, args, output):
        print("before", output)
        return output + 1

    net.register_forward_hook(hook)
    ms.set_context(mode=ms.GRAPH_MODE)
    net(f32(1))
    net(f32(2))
    assert capsys.readouterr().out == "before [1.]\nbefore [2.]\n"


def test_a_backward_modifier_that_needs_values_runs_in_pynative_mode():
    net = nn.ReLU()

    def clip(cell, gi, go):
        return ms.Tensor(np.clip(gi[0].asnumpy(), -1, 1))

    net.register_backward_hook(clip)
    ms.set_context(mode=ms.GRAPH_MODE)
    with pytest.warns(UserWarning, match="clip"):
        out = ms.grad(lambda x: net(x) * f32(5, 0.5))(f32(1, 1))
    np.testing.assert_array_equal(out.asnumpy(), [1, 0.5])


def test_a_forward_modifier_that_needs_values_says_how_to_split_it():
    net = nn.SequentialCell(nn.ReLU())

    def hook(cell, args, output):
        return output if float(output.sum()) > 0 else output * 2

    net[0].register_forward_hook(hook)
    with pytest.raises(HookNeedsValue, match=r"(?s)hook.*cell SequentialCell.0.*two hooks.*observe=True"):
        ms.jit(net)(f32(1))
    assert float(net(f32(1))[0]) == 1  # and nothing is left behind


def test_observe_and_traced_override():
    net, seen = nn.ReLU(), []

    def maybe(cell, args, output):
        seen.append(float(output.sum()))
        return output if False else None

    net.register_forward_hook(maybe, observe=True)
    jitted = ms.jit(net)
    jitted(f32(1))
    jitted(f32(2))
    assert seen == [1, 2]
    other = nn.ReLU()
    other.register_forward_hook(lambda cell, args, output: output * 2, observe=True)
    for run in (other, ms.jit(other)):
        with pytest.raises(TypeError, match=r"observer.*traced=True"):
            run(f32(1))


def test_an_exception_in_an_observer_leaves_by_its_own_type():
    net = Net()

    def bad(cell, args, output):
        raise ZeroDivisionError("mine")

    handle = net.relu.register_forward_hook(bad)
    ms.set_context(mode=ms.GRAPH_MODE)
    with pytest.raises(ZeroDivisionError, match="mine"):
        ms.grad(net)(f32([1, 2]))
    handle.remove()
    np.testing.assert_array_equal(ms.grad(net)(f32([1, 2])).asnumpy(), [[6, 6]])


def test_wrong_returns_name_hook_and_cell():
    net = nn.SequentialCell(nn.ReLU())
    net[0].register_backward_hook(lambda cell, gi, go: (gi[0].astype(ms.float16),))
    ms.set_context(mode=ms.GRAPH_MODE)
    with pytest.raises(ValueError, match=r"(?s)lambda.*cell SequentialCell\.0.*Float16.*Float32"):
        ms.grad(net)(f32(1))


def test_custom_bprop_and_insert_gradient_of():
    class Triple(nn.Cell):
        def construct(self, x):
            return x * 3

        def bprop(self, x, out, dout):
            return (dout * 100,)

    net, tap = Triple(), ops.InsertGradientOf(lambda grad: grad * 2)
    ms.set_context(mode=ms.GRAPH_MODE)
    assert float(ms.grad(lambda x: tap(net(x)))(f32(1))[0]) == 200


def test_training_step_is_one_program_and_equals_pynative():
    def train(mode):
        ms.set_seed(1)
        net = nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dense(4, 2))
        net.set_train()
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
        seen = []
        net[0].register_backward_hook(lambda cell, gi, go: seen.append(go[0].asnumpy()))
        ms.set_context(mode=mode)
        rng = np.random.default_rng(0)
        losses = [
            float(step(ms.Tensor(rng.normal(size=(5, 3)).astype(np.float32)), ms.Tensor(np.ones((5, 2), np.float32))))
            for _ in range(5)
        ]
        ms.set_context(mode=ms.PYNATIVE_MODE)
        return losses, [p.asnumpy() for p in net.get_parameters()], seen, float(optimizer.global_step[0])

    eager, compiled = train(ms.PYNATIVE_MODE), train(ms.GRAPH_MODE)
    np.testing.assert_allclose(compiled[0], eager[0], rtol=1e-5)
    for a, b in zip(compiled[1], eager[1]):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert len(compiled[2]) == len(eager[2]) == 5 and compiled[3] == 5
    np.testing.assert_allclose(compiled[2][-1], eager[2][-1], rtol=1e-4, atol=1e-6)


def test_programs_keep_no_cell_alive():
    net = Net()
    register(net)
    ms.set_context(mode=ms.GRAPH_MODE)
    net(f32([1, 2]))
    gone = weakref.ref(net)
    del net
    gc.collect()
    assert gone() is None


def test_programs_of_removed_hooks_are_dropped():
    net = nn.SequentialCell(nn.Tanh(), nn.Tanh())
    jitted, x, hooks = ms.jit(net), f32([1, 2]), []
    gradient = ms.grad(jitted)
    for _ in range(4):

        def observe(*args):
            pass

        hooks.append(weakref.ref(observe))
        with net[0].register_forward_hook(observe), net[1].register_backward_hook(observe):
            gradient(x)
        gradient(x)
        del observe
    gc.collect()
    # Those of the last hooks may stay until the next are registered.
    assert [hook() is None for hook in hooks[:-1]] == [True] * 3


def test_programs_of_removed_tensor_hooks_are_dropped():
    weight = ms.Parameter(f32(2), name="weight")
    step = ms.jit(lambda x: ms.grad(lambda x: x * weight, None, [weight])(x))
    hooks = []
    for factor in (1, 2, 3):

        def scale(grad, factor=factor):
            return grad * factor

        hooks.append(weakref.ref(scale))
        handle = weight.register_hook(scale)
        assert step(f32(5))[0].tolist() == [5 * factor]
        handle.remove()
        del scale, handle
    gc.collect()
    assert [hook() is None for hook in hooks[:-1]] == [True] * 2


def test_hooks_of_all_cells():
    net, names = Net(), []
    ms.set_context(mode=ms.GRAPH_MODE)
    handle = nn.register_cell_forward_hook(lambda cell, args, output: names.append(type(cell).__name__))
    net(f32([1, 2]))
    handle.remove()
    net(f32([1, 2]))
    assert names == ["Dense", "ReLU", "Net"]


def _double(cell, args, output):
    return output * 2


def test_observers_come_and_go_without_compiling():
    net, seen = nn.SequentialCell(nn.Tanh(), nn.Tanh()), []
    step = ms.jit(ms.value_and_grad(lambda x: net(x).sum()))
    x, compilations = f32([1, 2]), []

    def observer(name):
        return lambda cell, *values: seen.append((name, cell, values[-1]))

    def again(handles):
        step(x)
        for handle in handles:
            handle.remove()
        step(x)
        compilations.append(step.compilations())

    again([net[0].register_forward_hook(observer(0)), net[1].register_backward_hook(observer(0))])
    for n in range(1, 4):
        again([net[0].register_forward_hook(observer(n)), net[1].register_backward_hook(observer(n))])
    assert compilations == [2] * 4
    assert [(name, cell) for name, cell, _ in seen] == [(n, net[i]) for n in range(4) for i in (0, 1)]
    np.testing.assert_allclose(seen[-2][2].asnumpy(), np.tanh([[1, 2]]), rtol=1e-6)
    # In the order of registration, that of the hooks of all cells first; the one that was removed is the one that is gone.
    del seen[:]
    first, second = (net[0].register_forward_hook(observer(name)) for name in "ab")
    step(x)
    first.remove()
    step(x)
    with net[0].register_forward_hook(observer("c"), prepend=True):
        step(x)
    with nn.register_cell_forward_hook(observer("all")):
        step(x)
    assert [name for name, cell, _ in seen if cell is net[0]] == [*"ab", "b", *"cb", "all", "b"]
    # A modifier is found by its function and options.
    second.remove()
    before, results = step.compilations(), []
    for _ in range(3):
        with net[1].register_forward_hook(_double):
            results.append(step(x)[0].item())
        results.append(step(x)[0].item())
    assert results == results[:2] * 3 and results[0] == 2 * results[1] and step.compilations() == before + 1


def test_code_that_registers_an_observer_for_one_call_has_it_called():
    net, seen = nn.SequentialCell(nn.Tanh()), []

    @ms.jit
    def step(x):
        with net[0].register_forward_hook(lambda cell, args, output: seen.append(output)):
            return net(x)

    for _ in range(3):
        step(f32([1, 2]))
    assert len(seen) == 3
