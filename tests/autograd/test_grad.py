"""grad, value_and_grad, get_grad: what they return and refuse, in which type and order."""

import gc
from collections import namedtuple

import pytest

import msjax as ms
from msjax import Parameter, ParameterTuple, Tensor, nn, ops
from tests.autograd.product import DV, DW, DX, DY, V, W, X, Y, cube, f, numbers
from tests.x64 import present

# ---- the forms of results

FORMS = [
    (0, None, DX),
    (1, None, DY),
    (True, None, DY),
    ((0,), None, DX),
    ((0, 1), None, (DX, DY)),
    ((1, 0), None, (DY, DX)),
    (0, W, (DX, DW)),
    (0, [W], (DX, (DW,))),
    ((0,), [W], (DX, (DW,))),
    ((0, 1), (W, V), ((DX, DY), (DW, DV))),
    (0, ParameterTuple([V, W]), (DX, (DV, DW))),
    (0, [W, W], (DX, (DW, DW))),
    (0, [], (DX, ())),
    (None, W, DW),
    (None, [W, V], (DW, DV)),
    (None, ParameterTuple([W]), (DW,)),
]


@pytest.mark.parametrize("position, weights, want", FORMS, ids=range(len(FORMS)))
def test_forms(position, weights, want):
    assert numbers(ms.grad(f, position, weights)(X, Y)) == want
    value, grads = ms.value_and_grad(f, position, weights)(X, Y)
    assert value.tolist() == [15.0, 48.0] and numbers(grads) == want


IDS = [
    (0, None, (0, DX)),
    ((0,), None, (0, DX)),
    ((1, 0), None, ((1, DY), (0, DX))),
    (0, [W, V], ((0, DX), (("w", DW), ("v", DV)))),
    (None, [W], (("w", DW),)),
    (None, W, ("w", DW)),
]


@pytest.mark.parametrize("position, weights, want", IDS, ids=range(len(IDS)))
def test_return_ids(position, weights, want):
    assert numbers(ms.grad(f, position, weights, return_ids=True)(X, Y)) == want
    assert numbers(ms.value_and_grad(f, position, weights, return_ids=True)(X, Y)[1]) == want


def test_get_grad():
    grads = ms.grad(f, (0, 1), [W, V], return_ids=True)(X, Y)
    assert [numbers(ms.get_grad(grads, key)) for key in (0, 1, W, V)] == [DX, DY, DW, DV]
    assert numbers(ms.get_grad(ms.grad(f, 1, return_ids=True)(X, Y), 1)) == DY
    assert numbers(ms.get_grad(ms.grad(f, None, [W], return_ids=True)(X, Y), W)) == DW
    for missing in (2, Parameter(1.0, name="q")):
        with pytest.raises(RuntimeError, match="there is no gradient for"):
            ms.get_grad(grads, missing)
    for bad in ("w", 1.0, True, None):
        with pytest.raises(TypeError, match="identifier"):
            ms.get_grad(grads, bad)


def test_has_aux():
    g = lambda x, y: (x * y * W, x + 1, (y + 2, "text"))  # noqa: E731
    aux = ([2.0, 3.0], ([7.0, 8.0], "text"))
    assert numbers(ms.grad(g, has_aux=True)(X, Y)) == (DX, aux)
    assert numbers(ms.grad(g, (0, 1), [W], has_aux=True)(X, Y)) == (((DX, DY), (DW,)), aux)
    assert numbers(ms.value_and_grad(g, has_aux=True)(X, Y)) == (([15.0, 48.0], *aux), DX)


def test_aux_is_a_plain_value():
    """What is handed back is not on the tape any more."""
    _, (aux,) = ms.grad(lambda x: (x * x, x * 3), has_aux=True)(X)
    assert ms.grad(lambda x: x * aux)(X).tolist() == [3.0, 6.0]
    assert aux.__jax_array__().tolist() == [3.0, 6.0]


def test_value_of_several_outputs():
    g = lambda x: (x * x, x * 3)  # noqa: E731
    assert numbers(ms.value_and_grad(g)(X)) == (([1.0, 4.0], [3.0, 6.0]), [5.0, 7.0])


# ---- what is differentiated

OUTPUTS = [
    ("vector", lambda x: x * x, [2.0, 4.0]),
    ("matrix", lambda x: x.reshape(2, 1) * x, [6.0, 6.0]),
    ("tuple", lambda x: (x, x * x), [3.0, 5.0]),
    ("list", lambda x: [x, x * x], [3.0, 5.0]),
    ("dict", lambda x: {"a": x * 2, "b": [x * 3]}, [5.0, 5.0]),
    ("nested", lambda x: (x, (x * x, [x])), [4.0, 6.0]),
    ("with a number", lambda x: (x, 3), [1.0, 1.0]),
    ("the input", lambda x: x, [1.0, 1.0]),
    ("the input twice", lambda x: (x, x), [2.0, 2.0]),
    ("input and result", lambda x: (x * 10, x), [11.0, 11.0]),
    ("one value twice", lambda x: (lambda y: (y, y))(x * 2), [4.0, 4.0]),
    ("constant", lambda x: Y, [0.0, 0.0]),
    ("stopped", lambda x: ops.stop_gradient(x), [0.0, 0.0]),
    ("of another", lambda x: Y * 2, [0.0, 0.0]),
    ("scalar", lambda x: x.sum() * x.sum(), [6.0, 6.0]),
]


@pytest.mark.parametrize("fn, want", [o[1:] for o in OUTPUTS], ids=[o[0] for o in OUTPUTS])
def test_outputs_are_summed(fn, want):
    assert ms.grad(fn)(X).tolist() == want
    assert ms.value_and_grad(fn)(X)[1].tolist() == want


@pytest.mark.parametrize("returned", [3.0, None, "text", (), {}], ids=str)
def test_nothing_to_differentiate(returned):
    with pytest.raises(TypeError, match="nothing to differentiate"):
        ms.grad(lambda x: returned)(X)


def test_arguments_in_containers():
    assert numbers(ms.grad(lambda p: p[0] * p[1])((X, Y))) == ([5.0, 6.0], [1.0, 2.0])
    assert numbers(ms.grad(lambda p: p["a"] * p["b"][0])({"a": X, "b": [Y]})) == {"a": [5.0, 6.0], "b": ([1.0, 2.0],)}
    assert numbers(ms.grad(lambda p, y: p[0] * y, 1)([X], Y)) == [1.0, 2.0]


def test_what_mutable_returned_has_a_gradient_of_its_own_among_several():
    a, b, c = Tensor(2.0), Tensor(3.0), Tensor(4.0)
    f = lambda x, l: x * l[0] * l[1] * l[1]  # noqa: E731
    assert numbers(ms.grad(f, (0, 1))(a, [b, c])) == 48.0
    assert numbers(ms.grad(f, (0, 1))(a, ms.mutable((b, c)))) == (48.0, (32.0, 48.0))
    compiled = ms.jit(lambda *args: ms.grad(f, (0, 1))(*args))
    for gradient in (ms.grad(f, (0, 1)), compiled, ms.ops.GradOperation(get_all=True)(f)):
        assert numbers(gradient(a, ms.mutable([b, c]))) == (48.0, [32.0, 48.0])
        assert numbers(gradient(a, ms.mutable([b, 3.0]))) == (27.0, [18.0, 0.0])
    nested = ms.grad(lambda x, d: x * d["u"] * d["v"][0], (0, 1))(a, ms.mutable({"u": b, "v": (c,)}))
    assert numbers(nested) == (12.0, {"u": 8.0, "v": (6.0,)})


def test_a_container_that_holds_itself_is_an_error():
    itself = {}
    itself["itself"] = itself
    for call in (lambda: ms.grad(lambda x, d: x * 2)(X, itself), lambda: ms.mutable(itself)):
        with pytest.raises(RuntimeError, match="holds itself"):
            call()


def test_numbers_have_no_gradient():
    assert ms.grad(lambda n, x: x * n)(3.0, X) == ()
    assert numbers(ms.grad(lambda n, x: x * n, (0, 1))(3.0, X)) == [3.0, 3.0]


def test_keyword_arguments():
    g = lambda x, y=2.0: x * x * y  # noqa: E731
    assert numbers(ms.grad(g)(X)) == [4.0, 8.0]
    assert numbers(ms.grad(g)(X, y=Y)) == [10.0, 24.0]
    assert numbers(ms.grad(g, 1)(X, y=Y)) == [1.0, 4.0]
    assert numbers(ms.grad(g, (0, 1))(x=X, y=Y)) == ([10.0, 24.0], [1.0, 4.0])
    assert numbers(ms.grad(g, 1)(y=Y, x=X)) == [10.0, 24.0]


def test_one_tensor_at_two_positions_has_a_gradient_for_each():
    assert numbers(ms.grad(lambda x, y: x * x * y, (0, 1))(X, X)) == ([2.0, 8.0], [1.0, 4.0])
    assert numbers(ms.grad(lambda x, y: x * x * y)(X, X)) == [2.0, 8.0]
    assert numbers(ms.grad(lambda x, y: x * x * y, 1)(X, X)) == [1.0, 4.0]


def test_the_same_tensor_reached_by_name_counts_too():
    """As in MindSpore: what is differentiated is the Tensor, not the argument."""
    assert numbers(ms.grad(lambda a: a * X)(X)) == [2.0, 4.0]
    copied = X * 1
    assert numbers(ms.grad(lambda a: a * X)(copied)) == [1.0, 2.0]


def test_inputs_are_left_as_they_were():
    x = Tensor([1.0, 2.0])
    ms.grad(lambda x: x * x)(x)
    assert x.__jax_array__().tolist() == [1.0, 2.0]

    def writes(x):
        x[0] = 5.0
        return x * x

    assert ms.grad(writes)(x).tolist() == [0.0, 4.0]
    assert x.tolist() == [5.0, 2.0] and x.__jax_array__().tolist() == [5.0, 2.0]


def test_what_a_function_leaves_behind_is_a_plain_value():
    kept = []

    def keeps(x):
        kept[:] = [x * 2, ms.grad(lambda z: z * x)(Y)]
        return x * x

    for run in (lambda: ms.grad(keeps)(X), lambda: ms.grad(ms.grad(keeps))(X), lambda: ms.value_and_grad(keeps)(X)):
        run()
        assert kept[0].__jax_array__().tolist() == [2.0, 4.0]
        assert kept[1].__jax_array__().tolist() == [1.0, 2.0]
        assert ms.grad(lambda x: x * kept[0])(X).tolist() == [2.0, 4.0]


def test_what_an_inner_function_leaves_behind_is_a_plain_value():
    kept = []

    def outer(x):
        ms.grad(lambda z: kept.append(z * 2) or z)(Y)
        assert kept[-1].__jax_array__().tolist() == [10.0, 12.0]
        return x * kept[-1]

    assert ms.grad(outer)(X).tolist() == [10.0, 12.0]


def test_control_flow_on_values():
    def g(x):
        n = 0
        while x.sum() < 100:
            x, n = x * x, n + 1
        return x * n

    assert ms.grad(g)(Tensor([1.0, 3.0])).tolist() == [24.0, 52488.0]


def test_function_is_run_once():
    runs = []
    ms.grad(lambda x: runs.append(1) or x * x)(X)
    assert runs == [1]


def test_names_of_gradient_functions():
    assert ms.grad(f).__name__ == "grad_f" and ms.value_and_grad(nn.ReLU()).__name__ == "value_and_grad_ReLU"


# ---- data types

TYPES = [ms.int8, ms.int16, ms.int32, ms.int64, ms.uint8, ms.float16, ms.bfloat16, ms.float32, ms.float64]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_gradients_have_the_type_of_what_they_belong_to(dtype):
    x, y = Tensor([1, 2], dtype), Tensor([3.0, 5.0])
    dx, dy = ms.grad(lambda x, y: x * y, (0, 1))(x, y)
    assert dx.dtype is present(dtype) and dx.tolist() == [3, 5]
    assert dy.dtype is ms.float32 and dy.tolist() == [1.0, 2.0]
    square = ms.grad(lambda x: x * x)(x)
    assert square.dtype is present(dtype) and square.tolist() == [2, 4]
    assert ms.grad(lambda x: x.astype(ms.float32) * 3)(x).tolist() == [3, 3]


def test_document_001():
    """Gradients of integers, as on MindSpore's page."""
    grads = ops.GradOperation(get_all=True)(ops.mul)(Tensor(1, ms.int32), Tensor(2, ms.int32))
    assert str(grads) == "(Tensor(shape=[], dtype=Int32, value= 2), Tensor(shape=[], dtype=Int32, value= 1))"


def test_bool_inputs_have_zeros():
    b = Tensor([True, False])
    db, dx = ms.grad(lambda b, x: b * x, (0, 1))(b, X)
    assert db.dtype is ms.bool_ and db.tolist() == [False, False] and dx.tolist() == [1.0, 0.0]


def test_complex():
    z = Tensor([1 + 2j])
    assert ms.grad(lambda z: z * 3)(z).dtype is present(ms.complex128)


def test_steps_have_no_slope():
    for step in (lambda x: (x > 1) * 3.0, lambda x: x.argmax(), lambda x: x // 2):
        assert ms.grad(step)(X).tolist() == [0.0, 0.0]


# ---- higher order

ORDERS = [
    ("second", lambda: ms.grad(ms.grad(cube))(X), [6.0, 12.0]),
    ("third", lambda: ms.grad(ms.grad(ms.grad(cube)))(X), [6.0, 6.0]),
    ("fourth", lambda: ms.grad(ms.grad(ms.grad(ms.grad(cube))))(X), [0.0, 0.0]),
    ("mixed", lambda: ms.grad(ms.grad(lambda x, y: x * x * y * y), 1)(X, Y), [20.0, 48.0]),
    ("weights then input", lambda: ms.grad(ms.grad(lambda x: x * x * W * W, None, W))(X), [12.0, 32.0]),
    ("input then weights", lambda: ms.grad(ms.grad(lambda x: x * x * W * W), None, W)(X), [12.0, 32.0]),
    ("weights twice", lambda: ms.grad(ms.grad(lambda x: x * W * W, None, W), None, W)(X), [2.0, 4.0]),
    ("value inside", lambda: ms.grad(lambda x: ms.value_and_grad(cube)(x)[0])(X), [3.0, 12.0]),
    ("value and gradient inside", lambda: ms.grad(lambda x: sum(ms.value_and_grad(cube)(x)))(X), [9.0, 24.0]),
    ("value of a gradient", lambda: ms.value_and_grad(ms.grad(cube))(X), ([3.0, 12.0], [6.0, 12.0])),
    ("GradOperation inside", lambda: ms.grad(lambda x: ops.GradOperation(get_all=True)(cube)(x)[0])(X), [6.0, 12.0]),
    ("gradient of the inner input only", lambda: ms.grad(lambda x: ms.grad(lambda y: x * y)(Y))(X), [1.0, 1.0]),
    ("inner gradient is constant", lambda: ms.grad(lambda x: ms.grad(lambda y: y * y)(Y) * x)(X), [10.0, 12.0]),
    ("inner input returned", lambda: ms.grad(lambda x: ms.grad(lambda y: y)(x) * x)(X), [1.0, 1.0]),
    ("stopped inner gradient", lambda: ms.grad(lambda x: ops.stop_gradient(ms.grad(cube)(x)) * x)(X), [3.0, 12.0]),
    ("vjp inside", lambda: ms.grad(lambda x: ms.vjp(cube, x)[1](Y)[0])(X), [30.0, 72.0]),
    ("vjp's gradient", lambda: ms.grad(lambda v: ms.vjp(cube, X)[1](v)[0])(Y), [3.0, 12.0]),
    ("gradient of sens", lambda: ms.grad(lambda s: ops.GradOperation(sens_param=True)(cube)(X, s))(Y), [3.0, 12.0]),
    ("jvp outside", lambda: ms.jvp(cube, X, Y), ([1.0, 8.0], [15.0, 72.0])),
    ("with aux", lambda: ms.grad(ms.grad(lambda x: (cube(x), x), has_aux=True))(X), [7.0, 13.0]),
]


@pytest.mark.parametrize("run, want", [o[1:] for o in ORDERS], ids=[o[0] for o in ORDERS])
def test_higher_order(run, want):
    assert numbers(run()) == want


def test_hessian_vector_product_of_a_network():
    net = nn.SequentialCell(nn.Dense(2, 2, weight_init="ones", bias_init="zeros"), nn.Tanh())
    x = Tensor([[0.5, -0.25]])
    inner = ms.grad(lambda x: net(x).sum())
    got = ms.grad(lambda x: (inner(x) * Tensor([[1.0, 2.0]])).sum())(x)
    # with s = 0.25: f = 2 tanh(s), so the Hessian is -4 tanh(s) (1 - tanh(s)**2) in every element
    t = float(ops.tanh(Tensor(0.25)))
    assert got.asnumpy().ravel().tolist() == pytest.approx([-4 * t * (1 - t * t) * 3] * 2, rel=1e-5)


# ---- errors of grad

REFUSED = [
    ({"grad_position": None}, ValueError, "can't both be None"),
    ({"grad_position": -1}, ValueError, "negative"),
    ({"grad_position": (0, -1)}, ValueError, "negative"),
    ({"grad_position": (0, 0)}, ValueError, "once"),
    ({"grad_position": ()}, RuntimeError, "empty tuple"),
    ({"grad_position": [0]}, TypeError, "grad_position"),
    ({"grad_position": "a"}, TypeError, "grad_position"),
    ({"grad_position": 1.0}, TypeError, "grad_position"),
    ({"grad_position": (0, "a")}, TypeError, "grad_position"),
    ({"weights": 3}, TypeError, "weights"),
    ({"weights": [X]}, TypeError, "weights"),
    ({"weights": [3]}, TypeError, "weights"),
    ({"has_aux": 1}, TypeError, "has_aux"),
    ({"return_ids": 1}, TypeError, "return_ids"),
]


@pytest.mark.parametrize("options, error, words", REFUSED, ids=range(len(REFUSED)))
@pytest.mark.parametrize("make", [ms.grad, ms.value_and_grad])
def test_refused(make, options, error, words):
    with pytest.raises(error, match=f"'{make.__name__}'.*{words}"):
        make(f, **options)


def test_refused_when_called():
    for position in (2, (0, 5)):
        with pytest.raises(RuntimeError, match=r"out of range.* with 2 arguments"):
            ms.grad(f, position)(X, Y)
    with pytest.raises(TypeError, match="function or a Cell"):
        ms.grad(3)
    for bad in (lambda x: x, lambda x: (x,), lambda x: 3):
        with pytest.raises(ValueError, match="at least two outputs"):
            ms.grad(bad, has_aux=True)(X)


def test_state_is_clean_after_an_error():
    def fails(x):
        x * 2
        raise KeyError("no")

    x, w = Tensor([1.0, 2.0]), Parameter(Tensor([3.0, 4.0]), name="w")
    for run in (lambda: ms.grad(fails, 0, w)(x), lambda: ms.grad(ms.grad(fails))(x), lambda: ms.vjp(fails, x)):
        with pytest.raises(KeyError):
            run()
        assert x.__jax_array__().tolist() == [1.0, 2.0]
        assert ms.grad(lambda x: x * w, 0, w)(x)[1].tolist() == [1.0, 2.0]


# ---- stop_gradient


def test_stop_gradient():
    assert ms.grad(lambda x: ops.stop_gradient(x) * x)(X).tolist() == [1.0, 2.0]
    out = ops.stop_gradient((X, [3, {"a": Y}]))
    assert numbers(out) == ([1.0, 2.0], [3, {"a": [5.0, 6.0]}]) and type(out) is tuple
    assert ops.stop_gradient("text") == "text"
    pair = namedtuple("Pair", ["first", "second"])(X, 3)
    assert numbers(ops.stop_gradient(pair)._asdict()) == {"first": [1.0, 2.0], "second": 3}
    assert [t.dtype for t in ops.mixed_precision_cast(ms.float16, pair._replace(second=Y))] == [ms.float16, ms.float16]
    assert ms.grad(lambda x: ops.stop_gradient(x * 2) + x)(X).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "position, args, want",
    [((0, 1), (2.0, 3), 12.0), ((0, 1, 2), (2.0, 3, 1.0), (12.0, 12.0)), ((1, 2), (2.0, 3, 4), ()), (1, (2.0, 3), ())],
)
def test_numbers_among_the_positions_have_no_gradient(compiled, position, args, want):
    def product(x, y, z=1):
        return x * x * y * z

    gradient = ms.grad(ms.jit(product) if compiled else product, position)
    assert numbers(gradient(*(Tensor(a) if isinstance(a, float) else a for a in args))) == want


def test_lists_among_tensors_have_no_gradient():
    """As in MindSpore: the gradients are those of the arguments that are Tensors, so that grads[1] is that of the second Tensor."""
    a, b = Tensor(2.0), Tensor(7.0)
    found = ms.grad(lambda a, several, b: a * several[0] * several[1] * b, (0, 1, 2))(a, [Tensor(3.0), Tensor(4.0)], b)
    assert [float(g) for g in found] == [84, 24]


def test_the_collector_of_circles_comes_less_often_while_a_gradient_is_computed_and_as_before_afterwards():
    before = gc.get_threshold()
    seen = []

    def note(cell, grad_input, grad_output):
        seen.append(gc.get_threshold())

    net = nn.SequentialCell(nn.ReLU(), nn.ReLU())
    net[1].register_backward_hook(note)
    gradient = ms.grad(net)
    try:
        gc.set_threshold(700, 10, 10)
        gradient(ms.Tensor([1.0, -1.0]))
        assert len(seen) == 1 and seen[0][0] > 10_000 and seen[0][1:] == (10, 10) and gc.get_threshold() == (700, 10, 10)
        with pytest.raises(ZeroDivisionError):
            ms.grad(lambda x: x * (1 / 0))(ms.Tensor(1.0))
        assert gc.get_threshold() == (700, 10, 10)
        for own in ((0, 10, 10), (1_000_000, 10, 10)):  # switched off, and rarer than that
            gc.set_threshold(*own)
            gradient(ms.Tensor([1.0, -1.0]))
            assert seen[-1] == gc.get_threshold() == own
        gc.set_threshold(700, 10, 10)
        ms.grad(lambda x: gc.set_threshold(900, 9, 9) or x * 2)(ms.Tensor(1.0))
        assert gc.get_threshold() == (900, 9, 9)  # what the function itself has set stays
    finally:
        gc.set_threshold(*before)
