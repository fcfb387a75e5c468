"""GradOperation: forms of results, sens."""

import pytest

import msjax as ms
from msjax import ParameterTuple, Tensor, nn, ops
from tests.autograd.product import DV, DW, DX, DY, V, W, X, Y, cube, f, numbers
from tests.x64 import present

G = ops.GradOperation
OPERATIONS = [
    ({}, W, DX),
    ({"get_all": True}, W, (DX, DY)),
    ({"get_by_list": True}, W, DW),
    ({"get_by_list": True}, [W, V], (DW, DV)),
    ({"get_by_list": True}, ParameterTuple([W]), (DW,)),
    ({"get_all": True, "get_by_list": True}, [W], ((DX, DY), (DW,))),
]


@pytest.mark.parametrize("options, weights, want", OPERATIONS, ids=range(len(OPERATIONS)))
def test_grad_operation(options, weights, want):
    assert numbers(G(**options)(f, weights)(X, Y)) == want
    tens = Tensor([10.0, 10.0])
    tenfold = numbers(G(sens_param=True, **options)(f, weights)(X, Y, tens))
    scale = lambda v: tuple(map(scale, v)) if isinstance(v, tuple) else [10 * n for n in v]  # noqa: E731
    assert tenfold == scale(want)


def test_grad_operation_takes_the_weights_of_a_cell():
    dense = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    dense.bias.requires_grad = False
    assert numbers(G(get_by_list=True)(dense)(Tensor([[1.0, 2.0]]))) == ([[1.0, 2.0]],)


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_beside_tensors_lists_and_dicts_have_no_gradient(mode):
    ms.set_context(mode=mode)

    def product(x, pair, y):
        first, second = pair.values() if isinstance(pair, dict) else pair
        return x * first * second * y

    two, three, five, seven = (Tensor([float(n)]) for n in (2, 3, 5, 7))
    for pair in ((three, five), [three, five], {"a": three, "b": five}):
        assert numbers(G(get_all=True)(product)(two, pair, seven)) == ([105.0], [30.0])
        assert numbers(ms.grad(product, (0, 1, 2))(two, pair, seven)) == ([105.0], [30.0])
        # Asked for alone, they have nested ones.
        alone = ms.grad(product, 1)(two, pair, seven)
        first, second = alone.values() if isinstance(alone, dict) else alone
        assert numbers((first, second)) == ([70.0], [42.0])


def test_sens():
    square = lambda x: (x * x, x)  # noqa: E731
    assert numbers(G(sens_param=True)(square)(X, (X, Y))) == [7.0, 14.0]
    assert numbers(G(sens_param=True)(cube)(X, sens=Y)) == [15.0, 72.0]
    assert numbers(G(sens_param=True)(cube)(X, 2.0)) == [6.0, 24.0]
    assert numbers(G(get_all=True)(lambda n, x: x * n)(3.0, X)) == ([3.0, 3.0],)


SENS_ERRORS = [
    ((X,), RuntimeError, "out of range"),
    ((), TypeError, "last argument"),
    ((X, Tensor([1.0])), ValueError, r"shape \(1,\)"),
    ((X, Tensor([1, 1])), TypeError, str(present(ms.int64))),
    ((X, Tensor([1.0, 1.0], ms.float16)), TypeError, "Float16"),
    ((X, (X, X)), RuntimeError, "each of 1 outputs, but got 2"),
]


@pytest.mark.parametrize("args, error, words", SENS_ERRORS, ids=range(len(SENS_ERRORS)))
def test_sens_errors(args, error, words):
    with pytest.raises(error, match=words):
        G(sens_param=True)(cube)(*args)


@pytest.mark.parametrize("name", ["get_all", "get_by_list", "sens_param"])
def test_grad_operation_flags_are_bools(name):
    with pytest.raises(TypeError, match=f"'{name}' should be a bool"):
        G(**{name: 1})


def test_grad_operation_needs_weights_or_a_cell():
    with pytest.raises(ValueError, match="weights"):
        G(get_by_list=True)(cube)
    with pytest.raises(TypeError, match="function or a Cell"):
        G()(3)


@pytest.mark.parametrize("of_output, of_sens", [((1,), ()), ((), (1,)), ((1,), (1, 1))])
def test_one_element_is_sens_of_one_element(of_output, of_sens):
    f = lambda x: (x * x).sum().reshape(of_output)  # noqa: E731
    assert numbers(G(sens_param=True)(f)(X, ops.full(of_sens, 3.0))) == [6 * v for v in X.asnumpy().tolist()]
