"""Where jax differentiates, `ms.no_grad()` and writes that are not recorded leave the gradients as on the tape."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops


def gradients(fn, x):
    """{way: the gradient of the sum of what a function of a Tensor returns}, for each way to differentiate it."""

    class Net(nn.Cell):
        def construct(self, x):
            return fn(x)

    apply, params, buffers = ms.functionalize(Net())
    return {
        "tape": ms.grad(fn)(ms.Tensor(x)).asnumpy(),
        "objects": jax.grad(lambda x: fn(ms.Tensor(x)).sum()._value)(jnp.asarray(x)),
        "compiled objects": jax.grad(lambda x: ms.jit(fn)(ms.Tensor(x)).sum()._value)(jnp.asarray(x)),
        "functionalized": jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))(jnp.asarray(x)),
    }


def constant(x):
    with ms.no_grad():
        y = x * 2
    return x * y


def enabled_within(x):
    with ms.no_grad():
        with ms.enable_grad():
            y = x * 2
        z = x * 5
    return y + z


def decorated(x):
    @ms.no_grad()
    def twice(x):
        return x * 2

    return x * twice(x)


def written(x):
    y = x * 3
    with ms.no_grad():
        y[0] = 10
        y.mul_(2)
    return y * y


def written_view(x):
    y = x * 3
    row = y[0:1]
    with ms.no_grad():
        row.add_(1)
    return y * 2 + row


def written_by_another_name(x):
    y = x * 3
    y.detach()[1] = 7
    return y * y


def read_by_another_name(x):
    y = x * 3
    z = y.detach()
    y.mul_(2)
    return y * z


class Triple(nn.Cell):
    def construct(self, x):
        return x * 2

    def bprop(self, x, out, grad):
        return (grad * 3,)


def constant_by(fn):
    def product(x):
        with ms.no_grad():
            y = fn(x)
        return x * y

    return product


@pytest.mark.parametrize(
    ("fn", "wanted"),
    [
        (constant_by(Triple()), [2.0, 4.0]),
        (constant_by(ops.HookBackward(lambda grads: None)), [1.0, 2.0]),
        (constant_by(ms.grad(lambda x: x * x)), [2.0, 4.0]),
        (constant, [2.0, 4.0]),
        (enabled_within, [2.0, 2.0]),
        (decorated, [2.0, 4.0]),
        (written, [3 * 2 * 20.0, 3 * 2 * 12.0]),
        (written_view, [3 * (2 + 2.0), 3 * 2.0]),  # the row has one element, and is added to both
        (written_by_another_name, [3 * 2 * 3.0, 3 * 2 * 7.0]),
        (read_by_another_name, [6 * 6.0, 6 * 12.0]),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_is_not_recorded_has_no_gradient(fn, wanted):
    for way, found in gradients(fn, np.array([1.0, 2.0], np.float32)).items():
        np.testing.assert_allclose(found, wanted, err_msg=way)


def test_a_gradient_of_jax_within_no_grad_is_that_gradient():
    with ms.no_grad():
        assert jax.grad(lambda x: (ms.Tensor(x) * 3)._value)(2.0) == 3
        assert jax.jit(jax.grad(lambda x: ops.square(ms.Tensor(x))._value))(2.0) == 4


def test_a_parameter_that_is_written_stays_a_leaf():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")

        def construct(self, x):
            self.w[0] = 5
            self.w.mul_(2)
            return (self.w * x).sum()

    x = ms.Tensor([3.0, 4.0])
    net = Net()
    (grad,) = ms.grad(net, None, net.trainable_params())(x)
    apply, params, buffers = ms.functionalize(Net())
    of_jax = jax.grad(lambda params: apply(params, buffers, x.asnumpy())[0])(params)
    assert grad.asnumpy().tolist() == of_jax["w"].tolist() == [3.0, 4.0]
