"""Hooks for plain jax code: hook_gradient, with_hooks, probe."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms

X = jnp.array([1.0, 2.0, 3.0])


def test_hook_gradient_observes_and_replaces():
    log = []
    see = ms.hooks.hook_gradient(lambda g: log.append(g))
    double = ms.hooks.hook_gradient(lambda g: g * 2)

    def f(x):
        return (double(see(x) ** 2)).sum()

    for transform in (lambda g: g, jax.jit):
        np.testing.assert_array_equal(transform(jax.grad(f))(X), X * 4)
        ms.hooks.barrier()
        assert len(log) == 1 and isinstance(log[0], jax.Array)
        np.testing.assert_array_equal(log.pop(), X * 4)
    np.testing.assert_array_equal(f(X), 14.0)


def test_hook_gradient_of_pytrees_and_its_errors():
    swap = ms.hooks.hook_gradient(lambda g: {"a": g["b"], "b": g["a"]})
    g = jax.jit(jax.grad(lambda t: swap(t)["a"] * 2 + swap(t)["b"] * 5))({"a": 1.0, "b": 1.0})
    assert float(g["a"]) == 5 and float(g["b"]) == 2
    with pytest.raises(TypeError, match="callable"):
        ms.hooks.hook_gradient(3)
    for wrong, name in ((lambda g: (g, g), r"\(array"), (lambda g: "x", "str 'x'"), (lambda g: object(), "object")):
        with pytest.raises(TypeError, match=rf"<lambda> \(.*\) should return None or array\(.*\), but returned {name}"):
            jax.grad(lambda x: ms.hooks.hook_gradient(wrong)(x) * 2)(1.0)  # noqa: B023
    with pytest.raises(ValueError, match="expected"):
        jax.grad(lambda x: ms.hooks.hook_gradient(lambda g: jnp.ones(3))(x) * 2)(1.0)


def test_with_hooks_order_and_arguments():
    log = []
    f = ms.hooks.with_hooks(
        lambda x, y: x * y,
        pre=lambda args: log.append(("pre", [float(a) for a in args])),
        post=lambda args, out: log.append(("post", [float(a) for a in args], float(out))),
        backward_pre=lambda go: log.append(("backward pre", float(go))),
        backward=lambda gi, go: log.append(("backward", [float(g) for g in gi], float(go))),
    )
    expected = [
        ("pre", [2, 3]),
        ("post", [2, 3], 6),
        ("backward pre", 10),
        ("backward", [30, 20], 10),
    ]
    for transform in (lambda g: g, jax.jit):
        out = transform(jax.grad(lambda x, y: f(x, y) * 10, (0, 1)))(2.0, 3.0)
        assert [float(v) for v in out] == [30, 20]
        ms.hooks.barrier()
        assert log == expected
        log.clear()


def test_with_hooks_modifiers():
    f = ms.hooks.with_hooks(
        jnp.sin,
        pre=lambda args: (args[0] * 2,),
        post=lambda args, out: out + 1,
        backward_pre=lambda go: go * 3,
        backward=lambda gi, go: (gi[0] * 5,),
    )
    np.testing.assert_allclose(jax.jit(f)(1.0), np.sin(2.0) + 1, rtol=1e-6)
    # The pre hook's factor lies outside of the backward hooks.
    np.testing.assert_allclose(jax.jit(jax.grad(f))(1.0), 2 * 3 * 5 * np.cos(2.0), rtol=1e-6)
    assert f.__name__ == "sin"


def test_a_post_hook_whose_result_would_broadcast():
    """It was taken as it is, as a module's forward hook's is not."""
    f = ms.hooks.with_hooks(jnp.sin, post=lambda args, output: output[:1])
    with pytest.raises(ValueError, match=r"<lambda> .* returned array\(shape=\[1\].* would broadcast in silence"):
        f(X)


def test_with_hooks_under_vmap_and_scan():
    log = []
    f = ms.hooks.with_hooks(lambda x: x * 2, backward=lambda gi, go: log.append(float(gi[0])))
    jax.block_until_ready(jax.jit(jax.vmap(jax.grad(lambda x: f(x) * x)))(X))
    ms.hooks.barrier()
    assert log == [2, 4, 6]
    log.clear()
    jax.block_until_ready(jax.jit(jax.grad(lambda x: jax.lax.scan(lambda c, v: (c + f(v), None), 0.0, x)[0]))(X))
    ms.hooks.barrier()
    assert log == [2, 2, 2]


def test_probe_is_an_output_under_any_transformation():
    def loss(x, p):
        return (ms.hooks.probe(x * 2, p) ** 2).sum()

    expected = float(((2 * 2 * X) ** 2).sum())
    assert float(jax.grad(loss, 1)(X, 0.0)) == expected
    assert float(jax.jit(jax.grad(loss, 1))(X, 0.0)) == expected
    rows = jnp.stack([X, X * 2])
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(loss, 1), (0, None)))(rows, 0.0), [expected, expected * 4])
    largest = jax.grad(lambda x, p: (ms.hooks.probe(x, p, lambda g: jnp.max(jnp.abs(g))) ** 2).sum(), 1)(X, 0.0)
    assert float(largest) == 6
    scanned = jax.grad(lambda p: jax.lax.scan(lambda c, v: (c + ms.hooks.probe(v, p), None), 0.0, X)[0])(0.0)
    assert float(scanned) == 3


def test_a_wrapper_may_take_other_arguments_than_what_it_wraps():
    def scale(name, args, output):
        return output * len(name)

    @functools.wraps(scale)
    def adapted(args, output):
        return scale("abc", args, output)

    assert ms.hooks.with_hooks(jnp.square, post=adapted)(jnp.array(2.0)) == 12
