"""What the random cases have found, one test each; what concerns functionalized networks is in tests/functional."""

import jax
import pytest

import msjax as ms
from msjax import nn, ops

X = [[1.0, -2.0, 3.0]]


class Writes(nn.Cell):
    def construct(self, x, *_):
        x.mul_(x)
        return x * 2


class Outer(nn.Cell):
    def __init__(self, further):
        super().__init__()
        self.writes = Writes()
        self.further = further

    def construct(self, x):
        y = x * 1
        self.writes(y, *self.further)
        return y


@pytest.mark.parametrize("further", [(), (ms.Tensor(X), 3)])
def test_a_write_to_an_argument_is_seen_outside_of_a_cell_with_backward_hooks(further):
    net, log = Outer(further), []
    for _ in range(2):
        out, grad = ms.value_and_grad(net)(ms.Tensor(X))
        assert out.asnumpy().tolist() == [[1.0, 4.0, 9.0]] and grad.asnumpy().tolist() == [[2.0, -4.0, 6.0]]
        net.writes.register_backward_hook(lambda cell, grad_input, grad_output: log.append(grad_output[0]))
    x = ms.Tensor(X)
    ms.grad(net.writes)(x)
    assert x.asnumpy().tolist() == [[1.0, 4.0, 9.0]] and log


@pytest.mark.parametrize("compiled", [False, True])
def test_a_second_sweep_runs_the_hooks_that_the_gradient_really_passes(compiled):
    log = []

    class Linear(nn.Cell):
        def __init__(self):
            super().__init__()
            self.insert = ops.InsertGradientOf(lambda grad: log.append(grad.asnumpy().tolist()))

        def construct(self, x):
            return self.insert(x) + x

    net = Linear()
    second = ms.grad(lambda x: ms.grad(net)(x))
    x = ms.Tensor(X)
    found = (ms.jit(lambda x: second(x)) if compiled else second)(x)
    assert found.asnumpy().tolist() == [[0.0, 0.0, 0.0]]
    assert log == [[[1.0, 1.0, 1.0]]]


@pytest.mark.parametrize("way", ["jit", "functional"])
def test_a_backward_hook_that_gets_only_none_is_called_at_each_run_in_its_place(way):
    log = []

    class Pair(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dead = nn.ReLU()

        def construct(self, x):
            return x * 2, self.dead(x)

    net = nn.SequentialCell(Pair())
    pair = net[0]
    pair.register_backward_pre_hook(lambda cell, grads: log.append(("pre", grads[1])))
    pair.dead.register_backward_hook(lambda cell, grad_input, grad_output: log.append((grad_input, grad_output)))
    x = ms.Tensor(X)
    expected = [("pre", None), ((None,), (None,))]
    ms.grad(lambda x: net(x)[0])(x)
    assert log == expected
    log.clear()
    if way == "jit":
        compiled = ms.jit(lambda x: ms.grad(lambda x: net(x)[0])(x))
    else:
        apply, params, buffers = ms.functionalize(net)
        grad = jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0][0].sum()))
        compiled = lambda x: grad(x._value)  # noqa: E731
    for runs in range(1, 4):
        compiled(x)
        ms.hooks.barrier()
        assert log == expected * runs


def test_a_print_that_python_has_specialized_is_compiled(capsys):
    def show(x):
        print(x)
        return x * 2

    for _ in range(40):
        show(ms.Tensor(1.0))
    capsys.readouterr()
    compiled = ms.jit(show)
    for value in (2.0, 3.0):
        compiled(ms.Tensor(value))
    assert capsys.readouterr().out == "2.0\n3.0\n" and compiled.compilations() == 1


@pytest.mark.parametrize("operator", [ops.HookBackward, ops.InsertGradientOf])
def test_a_write_to_what_an_operator_with_a_hook_was_given_leaves_its_result(operator):
    through = operator(lambda grad: None)

    def net(x):
        y = through(x)
        x.add_(x)
        return y

    x = ms.Tensor(X)
    assert net(x).asnumpy().tolist() == X
    assert ms.value_and_grad(net)(ms.Tensor(X))[0].asnumpy().tolist() == X


class Counting(nn.Cell):
    """Multiplies with a state that each call writes."""

    def __init__(self):
        super().__init__()
        self.count = ms.Parameter(ms.Tensor(1.0), name="count", requires_grad=False)

    def construct(self, x):
        ops.assign(self.count, self.count + 1)
        return x * self.count


def test_recompute_starts_its_second_run_from_the_state_of_the_first():
    net = Counting()
    net.recompute()
    for n in (2.0, 3.0):
        assert float(ms.grad(net)(ms.Tensor(1.0))) == n and float(net.count) == n


class Nested(nn.Cell):
    def __init__(self, inner=None):
        super().__init__()
        self.inner = inner

    def construct(self, x):
        return (x if self.inner is None else self.inner(x)) * 2


@pytest.mark.parametrize("failing", ["forward", "forward_pre"])
def test_hooks_with_always_call_run_after_an_observer_of_a_compiled_program_failed(failing):
    net, log = Nested(Nested()), []

    def fail(*args):
        raise KeyError("enough")

    getattr(net.inner, f"register_{failing}_hook")(fail)
    net.inner.register_forward_hook(lambda cell, args, out: log.append("not called"))
    for name, cell in (("outer", net), ("inner", net.inner)):
        cell.register_forward_hook(
            lambda c, args, out, n=name: log.append((n, float(args[0]), out and float(out))), always_call=True
        )
    net.register_forward_hook(lambda cell, args, out: 1 / 0, always_call=True, observe=True)
    compiled = ms.jit(net)
    for run in (net, compiled, compiled):
        log.clear()
        with pytest.warns(UserWarning, match="in cell Nested.*raised ZeroDivisionError"), pytest.raises(KeyError, match="enough"):
            run(ms.Tensor(1.0))
        assert log == [("inner", 1.0, 2.0 if failing == "forward" else None), ("outer", 1.0, None)]


class Loop(nn.Cell):
    """A cell within a loop of jax's."""

    def __init__(self):
        super().__init__()
        self.within = nn.ReLU()
        self.tap = ops.HookBackward(lambda grads: None)

    def construct(self, x):
        step = lambda carry, _: (self.within(ms.Tensor(carry))._value * 2, None)  # noqa: E731
        x = ms.from_jax(lambda value: jax.lax.scan(step, value, None, length=2)[0])(x)
        print("after the loop")
        return self.tap(x)


def test_hooks_in_a_loop_come_before_what_follows_it(capsys):
    net = Loop()
    net.within.register_forward_hook(lambda cell, args, out: print("forward", float(out)))
    net.within.register_backward_hook(lambda cell, grad_input, grad_output: print("backward", float(grad_output[0])))
    net.register_forward_hook(lambda cell, args, out: print("net"))
    lines = ["forward 1.0", "forward 2.0", "after the loop", "net", "backward 2.0", "backward 4.0"]
    ms.grad(net)(ms.Tensor(1.0))
    assert capsys.readouterr().out.split("\n") == [*lines, ""]


def test_an_eager_gradient_of_a_functionalized_network_calls_hooks_in_a_loop_once_and_in_order():
    net, log = Loop(), []
    net.within.register_forward_hook(lambda cell, args, out: log.append(float(out)))
    net.register_forward_hook(lambda cell, args, out: log.append("net"))
    apply, params, buffers = ms.functionalize(net)
    # Not known before the first run: the tap makes it start again.
    for _ in range(2):
        log.clear()
        jax.grad(lambda x: apply(params, buffers, x)[0])(1.0)
        assert log == [1.0, 2.0, "net"]


def test_a_result_of_a_compiled_function_that_stops_its_gradient_carries_none():
    @ms.jit
    def both(x):
        stopped = ops.stop_gradient(x * 2)
        return stopped, stopped + 1, x * 3

    def net(x):
        stopped, constant, y = both(x)
        assert [t.requires_grad for t in (stopped, constant, y)] == [False, False, True]
        constant.register_hook(lambda grad: pytest.fail("no gradient flows here"))
        with pytest.raises(RuntimeError, match=r"result of ops\.stop_gradient"):
            stopped.register_hook(lambda grad: grad)
        return stopped * y + constant

    assert float(ms.grad(net)(ms.Tensor(2.0))) == 12.0


def test_recompute_registers_tensor_hooks_once():
    class Hooked(nn.Cell):
        def construct(self, x):
            x.register_hook(lambda grad: grad * 10)
            y = x * x
            y.register_hook(lambda grad: grad * 100)
            return y

    net = Hooked()
    net.recompute()
    assert float(ms.grad(net)(ms.Tensor(3.0))) == 6000.0


class Passing(nn.Cell):
    """A loop of jax's whose gradient doesn't depend on the values that go through it."""

    def __init__(self, log, loop):
        super().__init__()
        self.inner = nn.Identity()
        self.loop = loop
        self.log = log
        self.inner.register_forward_pre_hook(lambda cell, inputs: log.append("forward"))
        self.inner.register_backward_pre_hook(lambda cell, grads: log.append("backward"))

    def construct(self, x):
        x = x * 1
        x.register_hook(lambda grad: self.log.append("tensor"))
        return ms.from_jax(self.loop(lambda value: self.inner(ms.Tensor(value))._value))(x)


LOOPS = {
    "vmap": lambda f: jax.vmap(f),
    "scan": lambda f: lambda x: jax.lax.scan(lambda carry, _: (f(carry), None), x, None, length=1)[0],
}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_s_own_hooks_come_before_its_gradient_s(loop):
    log = []
    net = Passing(log, LOOPS[loop])
    for function in (net, ms.jit(net)):
        log.clear()
        ms.grad(lambda x, f=function: f(f(x)))(ms.Tensor(X))
        assert log == ["forward"] * 2 + ["backward", "tensor"] * 2


def test_hooks_before_a_loop_s_gradient_leave_no_tracer_in_it():
    log = []
    net = Passing(log, LOOPS["scan"])
    apply, params, buffers = ms.functionalize(nn.SequentialCell(net, net))
    grad = jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))(ms.Tensor(X)._value)
    ms.hooks.barrier()
    assert grad.tolist() == [[1.0, 1.0, 1.0]] and log == ["forward"] * 2 + ["backward", "tensor"] * 2
