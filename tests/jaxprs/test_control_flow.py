"""capture through every form of control flow, alone and nested: values, gradients, statistics and edits, against the loops written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, PartitionSpec

import msjax as ms

WEIGHTS = jnp.arange(1.0, 9.0).reshape(2, 4)
X = jnp.array([[0.1, 0.5, -0.3, 0.7], [0.2, -0.4, 0.9, 0.3]])


def in_scan(f):
    return lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0]


def in_reversed_scan(f):
    return lambda x: lax.scan(lambda c, _: (f(c), None), x, jnp.arange(3), reverse=True)[0]


def in_while(f):
    return lambda x: lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, f(s[1])), (0, x))[1]


def in_cond(f):
    return lambda x: lax.cond(x.sum() < 1e9, f, lambda x: x * 7, x)


def in_switch(f):
    return lambda x: lax.switch(1 + 0 * x.astype(int).sum(), [jnp.cos, f, jnp.sin], x)


def in_shard_map(f):
    mesh = Mesh(np.array(jax.devices()[:2]), ("d",))
    return jax.shard_map(f, mesh=mesh, in_specs=PartitionSpec("d"), out_specs=PartitionSpec("d"))


def in_custom_jvp(f):
    g = jax.custom_jvp(lambda x: f(x))
    g.defjvp(lambda primals, tangents: jax.jvp(f, primals, tangents))
    return lambda x: g(x)


def in_custom_vjp(f):
    g = jax.custom_vjp(lambda x: f(x))
    g.defvjp(lambda x: (f(x), x), lambda x, ct: jax.vjp(f, x)[1](ct))
    return lambda x: g(x)


# name: (what wraps a function of an array, the size of the axis that it adds or None, how often it calls the function)
FORMS = {
    "jit": (jax.jit, None, 1),
    "scan": (in_scan, 3, 3),
    "reversed": (in_reversed_scan, 3, 3),
    "fori": (lambda f: lambda x: lax.fori_loop(0, 2, lambda i, c: f(c), x), 2, 2),
    "while": (in_while, None, 2),
    "cond": (in_cond, None, 1),
    "switch": (in_switch, None, 1),
    "checkpoint": (jax.checkpoint, None, 1),
    "vmap": (jax.vmap, None, 1),
    "shard_map": (in_shard_map, None, 1),
    "custom_jvp": (in_custom_jvp, None, 1),
    "custom_vjp": (in_custom_vjp, None, 1),
}
NESTED = [
    "jit scan",
    "scan jit",
    "scan scan",
    "scan cond",
    "cond scan",
    "scan checkpoint",
    "checkpoint scan",
    "jit scan checkpoint jit",
    "vmap scan",
    "scan vmap",
    "vmap vmap",
    "vmap checkpoint jit",
    "scan custom_jvp",
    "custom_jvp scan",
    "scan custom_vjp",
    "custom_vjp scan",
    "vmap custom_vjp",
    "custom_vjp custom_jvp",
    "checkpoint custom_vjp",
    "custom_vjp checkpoint jit",
    "shard_map scan",
    "shard_map cond",
    "shard_map checkpoint",
    "jit shard_map scan custom_vjp",
    "scan switch",
    "reversed scan",
    "scan while",
    "while scan",
    "while cond",
    "jit while checkpoint",
]


def some(first, step):
    """All forms, and some of the nested ones: each of these is in one test."""
    return [*FORMS, *NESTED[first::step]]


def step(x, name=lambda v: v):
    return name(jnp.sin(x) * 1.5) ** 2 + 0.1 * x


def function(case, inner=step):
    """x -> number, in whose forms `step` runs with the place "y"."""
    f = lambda x: inner(x, lambda v: ms.hooks.site("y", v))  # noqa: E731
    for form in reversed(case.split()):
        f = FORMS[form][0](f)
    return lambda x: (f(x) * WEIGHTS).sum()


def written_out(case, x=X, edit=lambda v, number: v):
    """(result, values of the place, gradients), one a call, computed by a plain loop."""
    times = int(np.prod([FORMS[form][2] for form in case.split()]))

    def run(x, shifts):
        values = []

        def name(v):
            values.append(edit(v + shifts[len(values)], len(values)))
            return values[-1]

        for _ in range(times):
            x = step(x, name)
        return (x * WEIGHTS).sum(), values

    (out, values), grads = jax.value_and_grad(run, 1, has_aux=True)(x, [jnp.zeros_like(x)] * times)
    return out, np.array(values), np.array(grads)


def by_hand(case, x, edit=lambda v: v):
    """(result, values of the place), differentiable."""
    values = []

    def name(v):
        values.append(edit(v))
        return values[-1]

    for _ in range(int(np.prod([FORMS[form][2] for form in case.split()]))):
        x = step(x, name)
    return (x * WEIGHTS).sum(), values


def arranged(case, found):
    """The calls of `written_out` as capture arranges them: loops' axes in front, the last step alone of a while_loop."""
    forms = case.split()
    found = found.reshape(*[FORMS[form][2] for form in forms], *X.shape)
    for axis, form in reversed(list(enumerate(forms))):
        if form == "while":
            found = found.take(-1, axis)
        elif form == "reversed":
            found = np.flip(found, axis)
        elif FORMS[form][1] is None:
            found = found.squeeze(axis)
    if "shard_map" in forms:
        found = np.moveaxis(found, -2, 0)[..., None, :]
    return found


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("case", some(0, 2))
def test_values_and_gradients(case):
    f = function(case)
    out, values, grads = written_out(case)
    if "while" in case:
        with pytest.raises(ValueError, match="'y' is inside of a while_loop, which has no gradient"):
            ms.hooks.capture(f, gradients=True)(X)
    run = ms.hooks.capture(f, "y", gradients="while" not in case)
    for transform in (lambda f: f, jax.jit) if case in FORMS else (jax.jit,):
        result, found = transform(run)(X)
        close(result, out)
        assert list(found.activations) == ["y"]
        close(found.activations["y"], arranged(case, values))
        assert bool(found.counts) == any(form in case for form in ("cond", "switch", "while"))
        if "while" not in case:
            close(found.gradients["y"], arranged(case, grads))


@pytest.mark.parametrize("case", some(1, 6))
def test_statistic(case):
    lanes = case.count("vmap")
    # Under vmap, a statistic sees the value of one example.
    axes = {0: (-2, -1), 1: (-1,), 2: ()}[lanes]
    gradients = "while" not in case
    run = jax.jit(
        ms.hooks.capture(function(case), gradients=gradients, statistic=lambda a: {"sum": a.sum(), "big": (a > 0).any()})
    )
    _, values, grads = written_out(case)
    found = run(X)[1]
    close(found.activations["y"]["sum"], arranged(case, values).sum(axes))
    np.testing.assert_array_equal(found.activations["y"]["big"], (arranged(case, values) > 0).any(axes))
    assert found.activations["y"]["big"].dtype == bool
    if gradients:
        close(found.gradients["y"]["sum"], arranged(case, grads).sum(axes))
        np.testing.assert_array_equal(found.gradients["y"]["big"], (arranged(case, grads) > 0).any(axes))


@pytest.mark.parametrize("case", some(3, 6))
def test_edit(case):
    def edit(v, index):
        return v * 3 - 1

    f = function(case)
    out, values, grads = written_out(case, edit=lambda v, number: v * 3 - 1)
    result, found = jax.jit(ms.hooks.capture(f, "y", edit={"y": edit}, gradients="while" not in case))(X)
    close(result, out)
    close(found.activations["y"], arranged(case, values))
    if found.gradients:
        # With respect to the value after the edit.
        close(found.gradients["y"] * 3, arranged(case, grads))
        only = ms.hooks.capture(f, [], edit={"y": edit})
        close(jax.jit(jax.grad(lambda x: only(x)[0]))(X), jax.grad(lambda x: by_hand(case, x, lambda v: v * 3 - 1)[0])(X))


@pytest.mark.parametrize("case", ["scan", "reversed", "fori", "while", "scan scan", "scan while", "vmap scan", "checkpoint scan"])
def test_edit_of_one_step(case):
    """Only one iteration is edited, chosen by the index."""
    loops = [form for form in case.split() if FORMS[form][2] > 1]
    sizes = [FORMS[form][2] for form in loops]

    def edit(v, index):
        here = index[0] == 1
        for level in range(1, len(loops)):
            here = here & (index[level] == 1)
        return jnp.where(here, 0.25, v)

    number = int(np.ravel_multi_index([1] * len(sizes), sizes))
    out, values, _ = written_out(case, edit=lambda v, n: jnp.full_like(v, 0.25) if n == number else v)
    result, found = jax.jit(ms.hooks.capture(function(case), edit={"y": edit}))(X)
    close(result, out)
    close(found.activations["y"], arranged(case, values))


@pytest.mark.parametrize("case", [case for case in some(5, 6) if "while" not in case])
def test_under_transformations(case):
    """The captured function inside of grad and vmap, and activations as part of what is differentiated."""
    f = function(case)

    def penalized(x):
        out, found = ms.hooks.capture(f)(x)
        return out + (found.activations["y"] ** 2).sum()

    def reference(x):
        out, values = by_hand(case, x)
        return out + sum((v**2).sum() for v in values)

    close(jax.jit(jax.grad(penalized))(X), jax.grad(reference)(X))
    if "shard_map" not in case:
        rows = jnp.stack([X, X / 2])
        _, found = jax.vmap(ms.hooks.capture(f, gradients=True))(rows)
        for row, values, grads in zip(rows, found.activations["y"], found.gradients["y"]):
            _, expected, slopes = written_out(case, row)
            close(values, arranged(case, expected))
            close(grads, arranged(case, slopes))


def test_while_loop_whose_examples_end_at_different_steps():
    def doubled(n):
        return jax.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, ms.hooks.site("y", s[1] * 2)), (0, 1.0))[1]

    steps = jnp.array([1, 3, 2])
    out, found = ms.hooks.capture(jax.vmap(doubled), "y", max_steps=4)(steps)
    close(out, [2.0, 8.0, 4.0])
    # An example that has ended computes its last step again, as in jax.
    close(found.activations["y"][:3], [[2, 2, 2], [4, 4, 4], [4, 8, 8]])
    np.testing.assert_array_equal(found.counts["y"], [1, 1, 1, 0])
    close(ms.hooks.capture(jax.vmap(doubled), edit={"y": lambda v, index: v + 1})(steps)[0], [3.0, 15.0, 7.0])
