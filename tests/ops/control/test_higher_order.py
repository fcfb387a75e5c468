"""Functions of functions: vmap, Jacobians, maps, loops."""

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn, ops

A = np.array([1.0, 2.0], np.float32)
ONES = np.ones((3, 2), np.float32)


def product(x, y):
    return x * y


def both(x, y):
    return x * y, x + y


def test_vmap():
    out = ops.vmap(product, in_axes=(0, None), out_axes=1)(Tensor(A), Tensor(A))
    assert out.tolist() == [[1, 2], [2, 4]]
    a, (b,) = ops.vmap(lambda x: (x.sum(), [x * 2]))(Tensor(ONES))
    assert a.tolist() == [2, 2, 2] and b.shape == (3, 2)
    nested = ops.vmap(ops.vmap(lambda x: x * x))(Tensor(ONES))
    assert nested.tolist() == ONES.tolist()


def test_gradients_flow_through_vmap_to_all_that_the_function_reaches():
    net = nn.Dense(2, 2, weight_init="ones")
    by_weight, by_bias = ms.grad(lambda x: ops.vmap(net)(x).sum(), None, net.trainable_params())(Tensor(ONES))
    assert by_weight.tolist() == [[3, 3], [3, 3]] and by_bias.tolist() == [3, 3]
    by_x = ms.grad(lambda x: ops.vmap(lambda row: (row * x).sum())(Tensor(ONES)).sum())(Tensor(A))
    assert by_x.tolist() == [3, 3]


def _size(x):
    return (NET(x.expand_dims(0)) ** 2).sum()


NET = nn.Dense(2, 2, weight_init="ones", bias_init="zeros")


class _Size:
    own = staticmethod(_size)

    def __call__(self, x):
        return _size(x)


class _Gradient(nn.Cell):
    def construct(self, x):
        return ms.grad(_size)(x)


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize(
    "function",
    [
        ms.grad(_size),
        ms.grad(ms.jit(_size)),
        ops.GradOperation()(_size),
        ms.grad(lambda x: ops.vmap(_size)(x.expand_dims(0)).sum()),
        ms.grad(_Size()),
        ms.grad(_Size.own),
        _Gradient(),
    ],
)
def test_functions_for_each_example_reach_weights_through_what_msjax_made_of_them_and_through_classes(function, mode):
    """Such functions were not looked into, and the weights' gradients, which are recorded, made an error of each call."""
    ms.set_context(mode=mode)
    try:
        each = ops.vmap(function)(Tensor(ONES * A))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert each.tolist() == [[12, 12]] * 3


def test_vmap_of_several_cells():
    cells = nn.CellList([nn.Dense(2, 1, weight_init=w, bias_init="zeros") for w in ("ones", "zeros")])
    out = ops.vmap(cells)(Tensor(np.stack([ONES, ONES])))
    assert out.asnumpy()[..., 0].tolist() == [[2, 2, 2], [0, 0, 0]]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: ops.vmap(3), TypeError),
        (lambda: ops.vmap(product, in_axes=None), ValueError),
        (lambda: ops.vmap(product, in_axes=(0,))(Tensor(A), Tensor(A)), ValueError),
        (lambda: ops.vmap(product, in_axes=(None, None))(Tensor(A), Tensor(A)), ValueError),
        (lambda: ops.jacrev(product, -1)(Tensor(A), Tensor(A)), ValueError),
        (lambda: ops.jacrev(product, None)(Tensor(A), Tensor(A)), TypeError),
        (lambda: ops.HyperMap()(product, (1, 2), (1,)), ValueError),
        (lambda: ops.Assert()(False, [Tensor(A)]), RuntimeError),
    ],
)
def test_bad_input(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("jacobian", [ops.jacrev, ops.jacfwd])
def test_jacobians(jacobian):
    x = Tensor(A)
    assert jacobian(product)(x, x).tolist() == [[1, 0], [0, 2]]
    rows = jacobian(both, (0, 1))(x, x)
    assert [[t.tolist() for t in row] for row in rows] == [[[[1, 0], [0, 2]]] * 2, [[[1, 0], [0, 1]]] * 2]
    main, aux = jacobian(both, 0, has_aux=True)(x, x)
    assert main.tolist() == [[1, 0], [0, 2]] and aux.tolist() == [2, 4]


def test_jacobians_of_jacobians_and_gradients_of_them():
    hessian = ms.jacfwd(ms.jacrev(lambda x: (x**3).sum()))
    assert hessian(Tensor(A)).tolist() == [[6, 0], [0, 12]]
    assert ms.grad(lambda x: ms.jacrev(lambda q: q**3)(x).sum())(Tensor(A)).tolist() == [6, 12]


@pytest.mark.long
def test_directions():
    out, along = ops.linearize(lambda x: x * x * x, Tensor(A))
    assert out.tolist() == [1, 8] and along(Tensor(A)).tolist() == [3, 24]
    out, found = ops.jet(lambda x: x * x * x, Tensor(A), Tensor([[1.0, 1.0], [0.0, 0.0]]))
    assert out.tolist() == [1, 8] and found.tolist() == [[3, 12], [6, 12]]
    assert ops.derivative(lambda x: x * x * x, Tensor(A), 2)[1].tolist() == [6, 12]


def test_maps():
    x = Tensor(A)
    out = ops.HyperMap()(lambda q: q * 2, (x, [x, 3]))
    assert out[0].tolist() == [2, 4] and out[1][1] == 6 and isinstance(out[1], tuple)
    assert ops.HyperMap(product)((1, 2), (3, 4)) == (3, 8)
    assert ops.Map()(len, ((1, 2), (3,))) == (2, 1)


def test_functions_chosen_by_type():
    add = ops.MultitypeFuncGraph("add")

    @add.register("Tensor", "Tensor")
    def _(x, y):
        return x + y

    @add.register("Number", "Tensor")
    def _(x, y):
        return y - x

    assert add(Tensor(A), Tensor(A)).tolist() == [2, 4]
    assert ops.HyperMap()(ops.partial(add, 1), (Tensor(A),))[0].tolist() == [0, 1]
    with pytest.raises(ValueError):
        add(Tensor(A), 1)


def test_functions_for_types_that_are_absent():
    scale = ops.MultitypeFuncGraph("scale")

    @scale.register("Number", "RowTensor")
    def _rows(a, b):
        raise AssertionError

    @scale.register("Number", "Tensor")
    def _dense(a, b):
        return a * b

    assert scale(2, ms.Tensor([1.0, 2.0])).tolist() == [2, 4]


def test_loops():
    assert ops.ForiLoop()(0, 3, lambda i, v: v + i, Tensor(A)).tolist() == [4, 5]
    assert ops.WhileLoop()(lambda v: v.sum() < 20, lambda v: v * 2, Tensor(A)).tolist() == [8, 16]
    assert ops.Scan()(lambda c, x: (c + x, c * x), 1, [1, 2, 3]) == (7, [1, 4, 12])

    def compiled(v):
        return ops.WhileLoop()(lambda q: q.sum() < 20, lambda q: q * 2, Tensor(v))

    assert jax.jit(compiled)(A).tolist() == [8, 16]


def test_python_functions_in_programs():
    double = ops.PyFunc(lambda x: 2 * x, [ms.float32], [(2,)], [ms.float32], [(2,)])
    assert double(Tensor(A))[0].tolist() == [2, 4]
    assert jax.jit(lambda v: double(Tensor(v))[0])(A).tolist() == [2, 4]
    assert ops.scalar_add(1, 2) == 3 and ops.tuple_getitem((5, 6), 1) == 6 and ops.make_tuple(1, 2) == (1, 2)


def test_a_function_as_the_first_argument_chooses_by_type_too():
    apply = ops.MultitypeFuncGraph("apply")
    apply.register("Function", "Tensor")(lambda fn, x: fn(x))
    assert float(apply(lambda x: x * 2, Tensor(1.0))) == 2
