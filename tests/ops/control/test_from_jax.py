"""from_jax: functions of jax arrays as operators."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from flax.errors import TraceContextError

import msjax as ms
from msjax import Parameter, Tensor, nn

X, Y = Tensor([1.0, 2.0]), Tensor([5.0, 6.0])


def test_value_and_gradient():
    sinc = ms.from_jax(jnp.sinc)
    out = sinc(X)
    assert type(out) is Tensor
    np.testing.assert_allclose(out.asnumpy(), np.sinc([1.0, 2.0]), atol=1e-7)
    np.testing.assert_allclose(ms.grad(sinc)(X).asnumpy(), jax.grad(lambda v: jnp.sinc(v).sum())(X.asnumpy()), rtol=1e-5)
    assert sinc.__name__ == "sinc"


def test_pytrees_in_and_out():
    @ms.from_jax
    def mix(tree, *, scale):
        a, (b,) = tree["a"], tree["b"]
        return {"sum": a + b, "product": [a * b * scale]}

    out = mix({"a": X, "b": (Y,)}, scale=2.0)
    assert out["sum"].tolist() == [6.0, 8.0] and out["product"][0].tolist() == [10.0, 24.0]
    dx, dy = ms.grad(lambda x, y: mix({"a": x, "b": (y,)}, scale=2.0)["product"][0], (0, 1))(X, Y)
    assert (dx.tolist(), dy.tolist()) == ([10.0, 12.0], [2.0, 4.0])


def test_arrays_and_numbers_as_arguments():
    add = ms.from_jax(lambda a, b, c: a + b * c)
    assert add(X, np.array([1.0, 1.0], np.float32), 3).tolist() == [4.0, 5.0]
    assert add(X, jnp.ones(2, jnp.float32), 3.0).dtype is ms.float32


def test_static_arguments():
    total = ms.from_jax(jnp.sum, static_argnums=1, static_argnames="keepdims")
    m = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert total(m, 0).tolist() == [4.0, 6.0]
    assert total(m, 1).tolist() == [3.0, 7.0]
    assert total(m, 1, keepdims=True).tolist() == [[3.0], [7.0]]
    assert ms.grad(lambda m: total(m, 0) * X)(m).tolist() == [[1.0, 2.0], [1.0, 2.0]]


def test_the_structure_of_the_result_follows_static_arguments():
    @ms.from_jax
    def same(x):
        return x

    wrap = ms.from_jax(lambda x, n: [x] * n, static_argnums=1)
    assert len(wrap(X, 2)) == 2 and len(wrap(X, 3)) == 3 and len(wrap(X, 2)) == 2
    assert same((X, [Y]))[1][0].tolist() == [5.0, 6.0] and same(X).tolist() == [1.0, 2.0]


def test_inside_cells_hooks_and_gradients():
    w = Parameter(Tensor([3.0, 4.0]), name="w")
    times = ms.from_jax(lambda a, b: a * b)
    dx, dw = ms.grad(lambda x: times(x, w), 0, w)(X)
    assert (dx.tolist(), dw.tolist()) == ([3.0, 4.0], [1.0, 2.0])

    def f(x):
        y = times(x, x)
        y.register_hook(lambda grad: times(grad, Tensor([10.0, 10.0])))
        return y

    assert ms.grad(f)(X).tolist() == [20.0, 40.0]


def test_higher_order():
    cube = ms.from_jax(lambda x: x**3)
    assert ms.grad(ms.grad(cube))(X).tolist() == [6.0, 12.0]
    assert ms.grad(ms.grad(ms.grad(cube)))(X).tolist() == [6.0, 6.0]


def test_custom_vjp_of_jax_counts():
    @jax.custom_vjp
    def double(x):
        return x * 2

    double.defvjp(lambda x: (x * 2, None), lambda _, ct: (ct * 100,))
    assert ms.grad(ms.from_jax(double))(X).tolist() == [100.0, 100.0]


def test_integers_have_no_gradient():
    pick = ms.from_jax(lambda x, i: x[i])
    index = Tensor([1, 1])
    assert ms.grad(pick)(X, index).tolist() == [0.0, 2.0]
    assert ms.grad(pick, 1)(X, index).tolist() == [0, 0]


def test_under_jax_transformations():
    square = ms.from_jax(jnp.square)
    assert jax.jit(square)(X).tolist() == [1.0, 4.0]
    assert jax.vmap(lambda t: square(t) * 2)(X).tolist() == [2.0, 8.0]
    assert ms.jvp(square, X, Y)[1].tolist() == [10.0, 24.0]


def test_compiles_once_per_signature():
    runs = []

    @ms.from_jax
    def traced(x):
        runs.append(x.shape)
        return x * 2

    for _ in range(3):
        traced(X)
        traced(Y)
    assert len(runs) == 1
    traced(Tensor([1.0]))
    assert len(runs) == 2


def test_errors():
    with pytest.raises(TypeError, match="from_jax"):
        ms.from_jax(3)
    with pytest.raises(ValueError, match=r"(?s)<lambda>.*shape=\[2\].*shape=\[3\]"):
        ms.from_jax(lambda a, b: a + b)(X, Tensor([1.0, 2.0, 3.0]))

    def mine(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ms.from_jax(mine)(X)


# ---- Tensors that the function uses besides its arguments


class Scaled(ms.nn.Cell):
    """x * w, and a function after it."""

    def __init__(self, after):
        super().__init__()
        self.after = after
        self.w = Parameter(Tensor([1.0, 1.0]), name="w")

    def construct(self, x):
        return self.after(x * self.w)


class Held:
    """An object of the user's that is no cell."""

    def __init__(self, net):
        self.net = net

    def __call__(self, v):
        return self.net(Tensor(v))._value

    def method(self, v):
        return self(v)


@jax.custom_vjp
def doubled(v):
    return v * 2


doubled.defvjp(lambda v: (v * 2, None), lambda _, ct: (ct * 3,))


class Inner(ms.nn.Cell):
    def construct(self, x):
        return x * 2


def hooked_inner():
    inner = Inner()
    inner.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 100,))
    return ms.from_jax(lambda v: inner(Tensor(v))._value)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("after, slope", [(ms.from_jax(doubled), 3.0), (hooked_inner(), 200.0)])
@pytest.mark.parametrize("lifted", [lambda net: lambda v: net(Tensor(v))._value, Held, lambda net: Held(net).method])
def test_rules_and_hooks_within_count_beside_gradients_of_weights(after, slope, lifted, compiled):
    net = Scaled(after)
    lift = ms.from_jax(lifted(net))
    gradient = ms.grad(lift, 0, [net.w])
    dx, (dw,) = (ms.jit(gradient) if compiled else gradient)(X)
    assert dx.tolist() == [slope, slope] and dw.tolist() == [slope, slope * 2]
    assert ms.grad(lift)(X).tolist() == [slope, slope]


def test_present_values_of_weights_are_used():
    net = Scaled(lambda x: x)
    lift = ms.from_jax(lambda v: net(Tensor(v))._value)
    assert lift(X).tolist() == [1.0, 2.0] and ms.grad(lift)(X).tolist() == [1.0, 1.0]
    net.w.set_data(Tensor([3.0, 4.0]))
    assert lift(X).tolist() == [3.0, 8.0] and ms.grad(lift)(X).tolist() == [3.0, 4.0]
    assert ms.jit(lift)(X).tolist() == [3.0, 8.0]


def test_a_tensor_of_a_closure_has_its_gradient():
    def f(x):
        y = x * x
        return ms.from_jax(lambda v: (y * Tensor(v))._value)(x)

    assert ms.grad(f)(X).tolist() == [3.0, 12.0]  # x ** 3


def test_backward_reaches_weights():
    net = Scaled(lambda x: x)
    ms.from_jax(lambda v: net(Tensor(v))._value)(X).sum().backward()
    assert net.w.grad.tolist() == [1.0, 2.0]


def test_what_would_be_cut_is_an_error():
    net = Scaled(lambda x: x)
    hidden = [[[[[[[[net]]]]]]]]  # deeper than is looked

    def use(v):
        found = hidden
        while isinstance(found, list):
            found = found[0]
        return found(Tensor(v))._value

    text = "The gradient of the Parameter 'w' is being recorded outside of a function that jax differentiates or compiles"
    for fn in (
        ms.from_jax(use),
        lambda x: ms.vmap(lambda t: Tensor(use(t._value)))(x),
        lambda x: Tensor(jax.jit(use)(x.asnumpy())),
    ):
        with pytest.raises(RuntimeError, match=text):
            ms.grad(lambda x, fn=fn: fn(x) * x, 0, [net.w])(X)
    # jax's own transformation, called as it is: the tape doesn't see what it does.
    with pytest.raises(RuntimeError, match=text):
        ms.grad(lambda x: x * Tensor(jax.grad(lambda v: net(Tensor(v))._value.sum())(jnp.ones(2))), 0, [net.w])(X)


def test_what_cells_within_write_to_their_parameters_stays():
    net = nn.BatchNorm1d(2, momentum=0.5)
    net.set_train()
    x = ms.Tensor([[1.0, 4.0], [3.0, 0.0]])
    lifted = ms.from_jax(lambda v: net(ms.Tensor(v))._value)
    lifted(x)
    assert net.moving_mean.asnumpy().tolist() == [1.0, 1.0]
    ms.jit(lambda x: lifted(x))(x)
    assert net.moving_mean.asnumpy().tolist() == [1.5, 1.5]
    ms.grad(lambda x: lifted(x), 0, net.trainable_params())(x)
    assert net.moving_mean.asnumpy().tolist() == [1.75, 1.75]
    with pytest.raises(jax.errors.UnexpectedTracerError, match="was written to within it"):
        ms.from_jax(lambda v: jax.vmap(lambda w: net(ms.Tensor(w))._value)(v))(x.expand_dims(0))
    assert net.moving_mean.asnumpy().tolist() == [1.75, 1.75]


def test_weights_that_an_nnx_module_no_longer_has_go():
    linear, x = nnx.Linear(2, 1, rngs=nnx.Rngs(0)), Tensor([[1.0, 2.0]])
    lifted = ms.from_jax(linear)
    ways = lifted, ms.grad(lifted), ms.jit(lambda x: lifted(x))
    earlier = []
    for _ in range(3):
        earlier.append(weakref.ref(linear.kernel.get_value()))
        for way in ways:
            way(x)
        linear.kernel[...] = linear.kernel[...] * 2
    gc.collect()
    assert [weights() is None for weights in earlier[:2]] == [True, True]


def test_other_weights_of_an_nnx_module_need_no_other_program():
    traced = []

    class Scaled(nnx.Module):
        def __init__(self):
            self.weight, self.times, self.key = nnx.Param(jnp.ones(2)), nnx.Variable(2), nnx.Variable(jax.random.key(0))

        def __call__(self, x):
            traced.append(1)
            return x * self.weight * self.times.get_value() + jax.random.bernoulli(self.key.get_value(), 0.0, (2,))

    model, x = Scaled(), Tensor([1.0, 2.0])
    lifted = ms.from_jax(model)
    gradient, found = ms.grad(lifted), []
    for weight in (1.0, 2.0, 3.0):
        model.weight[...] = jnp.full(2, weight)
        found.append((lifted(x).tolist(), gradient(x).tolist()))
        if weight == 1.0:
            traced.clear()
    assert found == [([2 * w, 4 * w], [2 * w, 2 * w]) for w in (1.0, 2.0, 3.0)] and not traced
    model.times.set_value(5)
    assert lifted(x).tolist() == [15.0, 30.0]
    model.weight = nnx.Param(jnp.full(2, 7.0))
    assert lifted(x).tolist() == [35.0, 70.0]
    assert model.weight.get_value().tolist() == [7.0, 7.0]


def test_modules_of_nnx_that_write_to_their_variables_are_refused_with_what_to_do():
    x = ms.Tensor(np.ones((2, 3), np.float32))
    for module in nnx.BatchNorm(3, rngs=nnx.Rngs(0)), nnx.Dropout(0.5, rngs=nnx.Rngs(0)):
        with pytest.raises(TraceContextError) as raised:
            ms.from_jax(module)(x)
        assert raised.value.__notes__[0] == (
            f"{type(module).__name__} writes to variables of nnx, as layers do in training: `ms.from_jax` takes it as it is in `module.eval()`"
        )
        module.eval()
        assert ms.from_jax(module)(x).shape == (2, 3)
