"""ops.HookBackward and ops.InsertGradientOf."""

import pytest

import msjax as ms
from msjax import Tensor, nn, ops
from tests.x64 import present

X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 5.0])


def numbers(grads):
    return tuple(g.tolist() for g in grads)


def test_observer_gets_a_tuple():
    log = []
    hook = ops.HookBackward(lambda grads: log.append((type(grads), numbers(grads))))
    assert ms.grad(lambda x: hook(x * 2) * 3)(X).tolist() == [6.0, 6.0]
    assert log == [(tuple, ([3.0, 3.0],))]


def test_forward_is_the_identity():
    hook = ops.HookBackward(lambda grads: 1 / 0)
    assert hook(X).tolist() == X.tolist()
    assert [t.tolist() for t in hook(X, Y)] == [X.tolist(), Y.tolist()]
    assert hook() == ()


def test_replacement():
    for returned in (lambda g: g[0] * 10, lambda g: (g[0] * 10,)):
        assert ms.grad(lambda x, r=returned: ops.HookBackward(r)(x * 2))(X).tolist() == [20.0, 20.0]


def test_several_inputs():
    log = []
    hook = ops.HookBackward(lambda grads: log.append(numbers(grads)) or (grads[0] * 10, grads[1] * 100))

    def f(x, y):
        a, b = hook(x * 2, y)
        return a * b

    dx, dy = ms.grad(f, (0, 1))(X, Y)
    assert log == [([3.0, 5.0], [2.0, 4.0])]
    assert (dx.tolist(), dy.tolist()) == ([60.0, 100.0], [200.0, 400.0])


def test_unused_one_of_several_has_zeros():
    log = []
    hook = ops.HookBackward(lambda grads: log.append(numbers(grads)))
    ms.grad(lambda x, y: hook(x, y)[0])(X, Y)
    assert log == [([1.0, 1.0], [0.0, 0.0])]


def test_accumulated_gradient_once_per_application():
    log = []
    hook = ops.HookBackward(lambda grads: log.append(numbers(grads)))

    def f(x):
        y = hook(x)
        return y * 2 + y * y

    ms.grad(f)(X)
    assert log == [([4.0, 6.0],)]
    log.clear()
    ms.grad(lambda x: hook(hook(x) * 2))(X)
    assert log == [([1.0, 1.0],), ([2.0, 2.0],)]


def test_runs_in_reverse_order_of_creation():
    log = []
    tap = {name: ops.HookBackward(lambda grads, name=name: log.append(name)) for name in "abc"}
    ms.grad(lambda x: tap["b"](tap["a"](x) * 2) + tap["c"](x))(X)
    assert log == ["c", "b", "a"]


SILENT = [
    ("not on the way out", lambda hook, x, y: (hook(x), x * 2)[1]),
    ("stopped after", lambda hook, x, y: ops.stop_gradient(hook(x)) * x),
    ("stopped before", lambda hook, x, y: hook(ops.stop_gradient(x)) * x),
    ("constant", lambda hook, x, y: hook(Tensor([1.0, 1.0])) * x),
    ("path of another input", lambda hook, x, y: hook(y) * x),
]


@pytest.mark.parametrize("f", [s[1] for s in SILENT], ids=[s[0] for s in SILENT])
def test_does_not_run_where_no_wanted_gradient_passes(f):
    log = []
    hook = ops.HookBackward(lambda grads: log.append(grads))
    ms.grad(lambda x, y: f(hook, x, y))(X, Y)
    assert log == []


@pytest.mark.parametrize("dtype", [ms.int32, ms.int64, ms.uint8, ms.float16, ms.bfloat16, ms.float64], ids=str)
def test_types(dtype):
    seen = []
    hook = ops.HookBackward(lambda grads: seen.append((grads[0].dtype, grads[0].tolist())) or (grads[0] * 2,))
    dx = ms.grad(lambda x, y: hook(x) * y)(Tensor([2, 3], dtype), Tensor([4, 5], dtype))
    assert seen == [(present(dtype), [4, 5])] and dx.dtype is present(dtype) and dx.tolist() == [8, 10]


def test_document_001():
    """The worked example of MindSpore's page: two operators with one hook, then a hook that multiplies by itself."""
    log = []
    hook = ops.HookBackward(lambda grads: log.append(grads))

    def f(x, y):
        z = hook(x * y)
        return z * y

    print_, grads = log, ops.GradOperation(get_all=True)(f)(Tensor(1, ms.float32), Tensor(2, ms.float32))
    assert str(print_) == "[(Tensor(shape=[], dtype=Float32, value= 2),)]"
    assert str(grads) == "(Tensor(shape=[], dtype=Float32, value= 4), Tensor(shape=[], dtype=Float32, value= 4))"


def test_second_order():
    log = []
    hook = ops.HookBackward(lambda grads: log.append(numbers(grads)) or (grads[0] * grads[0],))
    f = lambda x: hook(x * x) * x  # noqa: E731
    # the first gradient is x**2 * 2x + x**2
    assert ms.grad(f)(X).tolist() == [3.0, 20.0]
    assert ms.grad(ms.grad(f))(X).tolist() == [8.0, 28.0]


def test_inside_a_cell_and_as_a_member():
    log = []

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.hook = ops.HookBackward(lambda grads: log.append(numbers(grads)), "some id")

        def construct(self, x):
            return self.hook(x * 2) * 3

    net = Net()
    assert ms.grad(net)(X).tolist() == [6.0, 6.0] and log == [([3.0, 3.0],)]
    assert net.hook.name == "HookBackward" and net.hook.cell_id == "some id"


def test_any_callable_and_any_id():
    class Counts:
        n = 0

        def __call__(self, grads):
            self.n += 1

    counts = Counts()
    ms.grad(ops.HookBackward(counts, cell_id=7))(X)
    assert counts.n == 1
    log = []
    ms.grad(ops.HookBackward(log.append))(X)
    assert len(log) == 1


@pytest.mark.parametrize("bad", [3, None, "print"], ids=str)
def test_constructor_refuses(bad):
    with pytest.raises(TypeError, match=r"HookBackward.*must be callable"):
        ops.HookBackward(bad)


@pytest.mark.parametrize("bad", [3, None, [1.0], (Tensor(1.0),)], ids=lambda v: type(v).__name__)
def test_inputs_are_tensors(bad):
    with pytest.raises(TypeError, match=r"HookBackward.*should be a Tensor"):
        ops.HookBackward(print)(X, bad)


# ---- InsertGradientOf


def test_insert_gradient_of():
    log = []

    def halve(grad):
        log.append((type(grad), grad.tolist()))
        return grad / 2

    insert = ops.InsertGradientOf(halve)
    assert insert(X).tolist() == X.tolist()
    assert ms.grad(lambda x: insert(x * 2) * 3)(X).tolist() == [3.0, 3.0]
    assert log == [(Tensor, [3.0, 3.0])]
    assert ms.grad(lambda x: insert(x) * insert(x))(X).tolist() == [1.0, 2.0]


def test_insert_gradient_of_second_order():
    square = ops.InsertGradientOf(lambda grad: grad * grad)
    f = lambda x: square(x * x) * x  # noqa: E731
    assert ms.grad(ms.grad(f))(X).tolist() == [8.0, 28.0]


def test_insert_gradient_of_errors():
    with pytest.raises(TypeError, match=r"InsertGradientOf.*should be a Tensor"):
        ops.InsertGradientOf(lambda grad: grad)(3)
    not_callable = ops.InsertGradientOf(3)
    with pytest.raises(TypeError, match=r"InsertGradientOf.*callable"):
        ms.grad(not_callable)(X)
    with pytest.raises(TypeError, match=r"InsertGradientOf function .*returned float"):
        ms.grad(ops.InsertGradientOf(lambda grad: 1.0))(X)
