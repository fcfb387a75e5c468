"""What happens when hooks can't be registered, return the wrong thing or raise: the errors, and the passes after them."""

import functools
import re
import traceback

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, hooks, nn, ops
from tests.x64 import X64, present

X = Tensor([1.0, 2.0])


class Scale(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(Tensor([3.0, 4.0]))

    def construct(self, x):
        return x * self.w


class Two(nn.Cell):
    def construct(self, x, y):
        return x * y, x + y


class Net(nn.Cell):
    """A cell with one input (`one`) and one with two (`two`) inside another."""

    def __init__(self):
        super().__init__()
        self.block = nn.SequentialCell(Scale())
        self.two = Two()

    @property
    def one(self):
        return self.block[0]

    def construct(self, x):
        a, b = self.two(self.block(x), x)
        return a + b


CLEAN = [10.0, 21.0]  # the gradient of Net at X: d(3 x**2 + 3x + x), d(4 x**2 + 4x + x)


def raises_named(error, words, run):
    """The error that `run` raises, whose message has all words."""
    with pytest.raises(error) as caught:
        run()
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"
    return caught.value


# Returned for one gradient of shape (2,) and dtype Float32: value, error, what the message names.
ONE = [
    ([X], TypeError, "[Tensor(shape=[2], dtype=Float32)]"),
    (1.0, TypeError, "float 1.0"),
    ("text", TypeError, "str 'text'"),
    (False, TypeError, "bool False"),
    ({}, TypeError, "dict {}"),
    ((), TypeError, "()"),
    ((None,), TypeError, "NoneType None"),
    ((1.0,), TypeError, "float 1.0"),
    ((X, X), TypeError, "(Tensor(shape=[2], dtype=Float32), Tensor(shape=[2], dtype=Float32))"),
    (np.ones(2, np.float32), TypeError, "ndarray(shape=[2], dtype=float32)"),
    ((np.ones(2, np.float32),), TypeError, "ndarray(shape=[2], dtype=float32)"),
    (Tensor([1.0, 2.0, 3.0]), ValueError, "(3,)"),
    (Tensor([1.0]), ValueError, "(1,)"),
    (Tensor([1.0, 2.0], ms.float16), ValueError, "Float16"),
    *([(Tensor([1.0, 2.0], ms.float64), ValueError, "Float64")] if X64 else []),
    (Tensor([1, 2]), ValueError, str(present(ms.int64))),
]
IDS = [f"{type(r[0]).__name__}-{i}" for i, r in enumerate(ONE)]


@pytest.mark.parametrize("returned, error, words", ONE, ids=IDS)
@pytest.mark.parametrize("kind", ["backward_pre", "backward"])
def test_backward_hooks_of_one(kind, returned, error, words):
    net = Net()

    def my_hook(*args):
        return returned

    handle = getattr(net.one, f"register_{kind}_hook")(my_hook)
    kind = kind.replace("_", " ") + " hook"
    expected = "Tensor(shape=[2], dtype=Float32)" if error is TypeError else "shape (2,) and dtype Float32"
    raises_named(error, [kind, "my_hook", "Net.block.0 (Scale)", words, expected], lambda: ms.grad(net)(X))
    handle.remove()
    assert ms.grad(net)(X).tolist() == CLEAN


@pytest.mark.parametrize("returned, error, words", ONE, ids=IDS)
def test_hook_backward_of_one(returned, error, words):
    def my_hook(grads):
        return returned

    bad, good = ops.HookBackward(my_hook), ops.HookBackward(lambda grads: None)
    f = lambda x, hook: hook(x * 2)  # noqa: E731
    raises_named(error, ["HookBackward", "my_hook", words], lambda: ms.grad(f)(X, bad))
    assert ms.grad(f)(X, good).tolist() == [2.0, 2.0]


TWO = [
    (X, TypeError),
    ((X,), TypeError),
    ((X, X, X), TypeError),
    ([X, X], TypeError),
    ((X, None), TypeError),
    ((None, None), TypeError),
    ((X, 1.0), TypeError),
    ((X, Tensor([1.0, 2.0], ms.float16)), ValueError),
    ((Tensor(1.0), X), ValueError),
]


@pytest.mark.parametrize("returned, error", TWO, ids=range(len(TWO)))
@pytest.mark.parametrize("kind", ["backward_pre", "backward"])
def test_backward_hooks_of_two(kind, returned, error):
    net = Net()
    handle = getattr(net.two, f"register_{kind}_hook")(lambda *args: returned)
    expected = "2 Tensor(s)" if error is TypeError else "shape (2,) and dtype Float32"
    raises_named(error, [kind.replace("_", " "), "<lambda>", "Net.two (Two)", expected], lambda: ms.grad(net)(X))
    handle.remove()
    assert ms.grad(net)(X).tolist() == CLEAN


@pytest.mark.parametrize(
    "returned, came", [("text", "(str 'text')"), ((), "()"), ((X, X), "(Tensor(shape=[2]"), ([X], "([Tensor")]
)
@pytest.mark.parametrize("compiled", [False, True])
def test_what_fails_with_a_forward_pre_hooks_arguments_names_the_hook(compiled, returned, came):
    net = Net()
    net.block.register_forward_pre_hook(lambda cell, inputs: None)
    with net.block.register_forward_pre_hook(lambda cell, inputs: returned):
        run = ms.jit(net) if compiled else net
        raises_named(
            Exception,
            ["the forward pre hook", "<lambda>", "of cell Net.block (SequentialCell) returned: " + came],
            lambda: run(X),
        )
    assert net(X).tolist() == [7.0, 26.0]


NOT_TENSORS = [(X,), [X], 1.0, "text", False, {}, (), np.ones(2, np.float32)]


@pytest.mark.parametrize("returned", NOT_TENSORS, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("on", ["tensor", "parameter"])
def test_tensor_hooks(on, returned):
    net = Net()

    def my_hook(grad):
        return returned

    def f(x):
        y = net(x) * 1
        if on == "tensor":
            y.register_hook(my_hook)
        return y

    if on == "parameter":
        net.one.w.register_hook(my_hook)
    words = ["Tensor hook", "my_hook", type(returned).__name__ if not isinstance(returned, (tuple, list)) else "", "shape (2,)"]
    raises_named(RuntimeError, words, lambda: ms.grad(f, 0, net.trainable_params())(X))


def test_tensor_hook_shape():
    def f(x):
        y = x * 2
        y.register_hook(lambda grad: Tensor([1.0, 2.0, 3.0]))
        return y

    raises_named(ValueError, ["<lambda>", "(3,)", "(2,)"], lambda: ms.grad(f)(X))


PRE_WITH_KWARGS = [
    (X, RuntimeError),
    ((X,), RuntimeError),
    ((X, {}, 1), RuntimeError),
    ([X, {}], RuntimeError),
    (3, RuntimeError),
    ((X, {}), TypeError),
    (((X,), None), TypeError),
    (((X,), [1]), TypeError),
]


@pytest.mark.parametrize("returned, error", PRE_WITH_KWARGS, ids=range(len(PRE_WITH_KWARGS)))
def test_forward_pre_hook_with_kwargs(returned, error):
    net = Net()

    def my_hook(cell, args, kwargs):
        return returned

    handle = net.one.register_forward_pre_hook(my_hook, with_kwargs=True)
    raises_named(error, ["forward pre hook", "my_hook", "Net.block.0 (Scale)"], lambda: net(X))
    handle.remove()
    assert ms.grad(net)(X).tolist() == CLEAN


# ---- exceptions in hooks


class Trouble(Exception):
    pass


def broken(*args):
    raise Trouble("mine")


BROKEN = f"{__file__}:{broken.__code__.co_firstlineno}"

PLACES = {
    "forward_pre": lambda net: net.one.register_forward_pre_hook(broken),
    "forward": lambda net: net.one.register_forward_hook(broken),
    "backward_pre": lambda net: net.one.register_backward_pre_hook(broken),
    "backward": lambda net: net.one.register_backward_hook(broken),
    "parameter": lambda net: net.one.w.register_hook(broken),
    "root forward": lambda net: net.register_forward_hook(broken),
    "root backward": lambda net: net.register_backward_hook(broken),
}
RUNS = {
    "grad": lambda net: ms.grad(net, 0, net.trainable_params())(X),
    "value_and_grad": lambda net: ms.value_and_grad(net, 0, net.trainable_params())(X),
    "GradOperation": lambda net: ops.GradOperation(get_by_list=True)(net, net.trainable_params())(X),
    "vjp": lambda net: ms.vjp(net, X, weights=net.trainable_params())[1](X),
    "inside another grad": lambda net: ms.grad(lambda x: ms.grad(net, 0, net.trainable_params())(x)[0])(X),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_exceptions_keep_type_and_traceback_and_the_next_pass_is_right(place, run):
    net = Net()
    want = ms.grad(net, 0, net.trainable_params())(X)
    handle = place(net)
    with pytest.raises(Trouble, match="mine") as caught:
        run(net)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "broken"
    handle.remove()
    assert net(X).tolist() == [7.0, 26.0]
    got = ms.grad(net, 0, net.trainable_params())(X)
    assert got[0].tolist() == want[0].tolist() == CLEAN and got[1][0].tolist() == want[1][0].tolist()
    # Nothing of the failed pass is recorded any more: Tensors and Parameters leave msjax freely.
    assert np.asarray(X).tolist() == [1.0, 2.0] and X.__jax_array__().tolist() == [1.0, 2.0]


def _graph_mode(net):
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.grad(net)(X)


def _functional(jit):
    def run(net):
        apply, params, buffers = ms.functionalize(net)
        jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))(X._value)
        ms.hooks.barrier()

    return run


GRADIENT_WAYS = {
    "PyNative": lambda net: ms.grad(net)(X),
    "ms.jit": lambda net: ms.jit(ms.grad(net))(X),
    "graph mode": _graph_mode,
    "jax": _functional(lambda function: function),
    "jax.jit": _functional(jax.jit),
    "hooks.jit": _functional(hooks.jit),
}


@pytest.mark.parametrize("way", GRADIENT_WAYS.values(), ids=GRADIENT_WAYS)
@pytest.mark.parametrize("kind", ["forward_pre", "forward", "backward_pre", "backward"])
def test_an_exception_of_a_hook_names_hook_and_cell_once(kind, way):
    net = Net()
    getattr(net.one, f"register_{kind}_hook")(broken)
    with pytest.raises(Trouble, match="mine") as caught:
        way(net)
    (note,) = [note for note in caught.value.__notes__ if "JAX has removed its internal frames" not in note]
    assert note == f"raised by the {kind.replace('_', ' ')} hook broken ({BROKEN}) of cell Net.block.0 (Scale)"


def test_an_exception_of_a_gradient_hook_names_it():
    x = ops.ones(2)
    x.register_hook(broken)
    with pytest.raises(Trouble) as caught:
        ms.grad(lambda x: x * 2)(x)
    assert caught.value.__notes__ == [f"raised by the Tensor hook broken ({BROKEN})"]


@pytest.mark.parametrize("kind", ["forward_pre", "forward", "backward_pre", "backward"])
def test_wrong_number_of_parameters(kind):
    net = Net()
    handle = getattr(net.one, f"register_{kind}_hook")(lambda: None)
    with pytest.raises(TypeError, match=re.escape("takes 0 positional arguments")):
        ms.grad(net)(X)
    handle.remove()
    assert ms.grad(net)(X).tolist() == CLEAN


def test_wrong_number_of_parameters_of_gradient_hooks():
    with pytest.raises(TypeError, match=r"2 positional arguments|missing 1 required"):
        ms.grad(ops.HookBackward(lambda a, b: None))(X)

    def f(x):
        y = x * 2
        y.register_hook(lambda: None)
        return y

    with pytest.raises(TypeError, match="0 positional arguments"):
        ms.grad(f)(X)


def test_keyboard_interrupt_leaves_a_clean_state():
    net = Net()

    def interrupt(*args):
        raise KeyboardInterrupt

    for kind in ("forward", "backward"):
        handle = getattr(net.one, f"register_{kind}_hook")(interrupt)
        with pytest.raises(KeyboardInterrupt):
            ms.grad(net)(X)
        handle.remove()
        assert ms.grad(net)(X).tolist() == CLEAN


def test_exception_caught_inside_the_differentiated_function():
    net = Net()
    net.one.register_forward_hook(broken)

    def f(x):
        try:
            net(x)
        except Trouble:
            return x * 7

    assert ms.grad(f)(X).tolist() == [7.0, 7.0]


def test_one_exception_object_raised_again_and_again():
    error = Trouble("same")
    net = Net()

    def again(*args):
        raise error

    net.one.register_forward_hook(again)
    for _ in range(3):
        with pytest.raises(Trouble):
            net(X)
    (note,) = error.__notes__
    assert note.startswith("raised by the forward hook ") and note.endswith(" of cell Net.block.0 (Scale)")


def test_generator_exit_and_system_exit_pass():
    net = Net()

    def leave(*args):
        raise SystemExit(3)

    net.one.register_backward_hook(leave)
    with pytest.raises(SystemExit):
        ms.grad(net)(X)


async def waits(*_args):
    """A coroutine function: calling it runs nothing."""


def yields(*_args):
    yield


class Waits:
    async def __call__(self, *_args):
        """A call gives a coroutine."""


REGISTER = {
    "forward_pre": lambda hook, **options: nn.ReLU().register_forward_pre_hook(hook, **options),
    "forward": lambda hook, **options: nn.ReLU().register_forward_hook(hook, **options),
    "backward_pre": lambda hook, **options: nn.ReLU().register_backward_pre_hook(hook, **options),
    "backward": lambda hook, **options: nn.ReLU().register_backward_hook(hook, **options),
    "HookBackward": lambda hook, **options: ops.HookBackward(hook, **options),
    "hook_gradient": lambda hook, **options: ms.hooks.hook_gradient(hook, **options),
}
PLAIN = {
    "InsertGradientOf": lambda hook: ops.InsertGradientOf(hook),
    "cell": lambda hook: nn.register_cell_forward_hook(hook),
    "tensor": lambda hook: ms.Tensor(1.0).register_hook(hook),
    "saved": lambda hook: nn.ReLU().register_saved_tensors_hooks(hook, hook),
    "state_dict": lambda hook: nn.ReLU().register_state_dict_pre_hook(hook),
}


@pytest.mark.parametrize(
    "hook", [waits, yields, Waits(), functools.partial(waits, 1)], ids=["async", "generator", "object", "partial"]
)
@pytest.mark.parametrize("register", [*REGISTER, *PLAIN])
def test_hooks_whose_call_runs_nothing_are_refused(register, hook):
    with pytest.raises(TypeError, match=r"coroutine or generator function"):
        (REGISTER | PLAIN)[register](hook)


@pytest.mark.parametrize("register", ["register_forward_hook", "register_forward_pre_hook"])
def test_a_hook_that_returns_a_coroutine_is_named(register):
    net = nn.SequentialCell(nn.ReLU())
    getattr(net[0], register)(lambda *given: waits(*given))
    with pytest.raises(
        TypeError, match=r"hook .*<lambda>.* of cell SequentialCell\.0 \(ReLU\) returned a coroutine: nothing of it has run"
    ):
        net(X)


@pytest.mark.parametrize("register", REGISTER)
def test_contradicting_options_are_refused(register):
    for value in (True, False):
        with pytest.raises(ValueError, match=r"observe=.* and traced=.* contradict"):
            REGISTER[register](print, observe=value, traced=value)
    with pytest.raises(TypeError, match=r"'observe' should be True, False or None, but got str 'yes'"):
        REGISTER[register](print, observe="yes")
