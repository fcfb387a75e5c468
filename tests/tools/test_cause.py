"""find_nan names the cause of a wrong result, whatever was computed before it, and never reports a wrong result as right."""

import equinox
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from jax.sharding import AxisType, PartitionSpec as P

import msjax as ms
from msjax import nn, ops
from msjax.tools import Fault, find_nan, guard


def length(x):
    return jnp.sqrt(x * x).sum()


@jax.custom_vjp
def doubled(x):
    return x * 2


def forward_rule(x):
    return x * 2, x


def backward_rule(x, ct):
    return (ct * jnp.log(-x * x - 1),)


doubled.defvjp(forward_rule, backward_rule)


def in_scan(x):
    def step(carry, i):
        return carry * jnp.sqrt(i), carry

    return jax.lax.scan(step, x, 20 - jnp.arange(40, dtype=x.dtype))[0].sum()


def in_reverse_scan(x):
    return jax.lax.scan(lambda c, i: (c * jnp.sqrt(i), c), x, jnp.arange(40, dtype=x.dtype) - 3.5, reverse=True)[0].sum()


def in_while(x):
    return jax.lax.while_loop(lambda s: s[0] < 3000, lambda s: (s[0] + 1, s[1] - jnp.log(2.0 - s[0] * 0.5)), (0, x))[1].sum()


def in_the_first_step_of_while(x):
    return jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + jnp.log(s[0] - 0.5)), (0, x))[1].sum()


def masked(x):
    return jnp.where(x > 0, jnp.log(x), 0.0).sum() + jnp.sqrt(x.min())


def mean_of_others(x):
    return jnp.nanmean(jnp.log(x)) + jnp.arccos(x.min() * 4)


def own_reducer(x):
    return jax.lax.reduce_window(x, np.float32(1), lambda a, b: jnp.log(b) * a, (2,), (1,), "VALID").sum()


# {name: (function, argument, operation, the function that the line is in, more)}
def innermost(found):
    """The name of the function that a fault's line is in."""
    return found.line.function.rpartition(".")[2]


ONES = np.ones(3, "float32")
CASES = {
    "checkpoint": (jax.checkpoint(length), 0 * ONES, "mul", "length", {"phase": "backward", "derivative": "mul"}),
    "filter_checkpoint": (equinox.filter_checkpoint(length), 0 * ONES, "mul", "length", {"phase": "backward"}),
    "backward rule": (lambda x: doubled(x).sum(), ONES, "log", "backward_rule", {"phase": "backward", "derivative": ""}),
    "scan": (in_scan, ONES, "sqrt", "step", {"step": (21,)}),
    "reverse scan": (in_reverse_scan, ONES, "sqrt", "<lambda>", {"step": (3,)}),
    "while": (in_while, ONES, "log", "<lambda>", {"step": (5,)}),
    "the first step of a while": (in_the_first_step_of_while, ONES, "log", "<lambda>", {"step": (0,)}),
    "masked before": (masked, np.array([1.0, -1.0], "float32"), "sqrt", "masked", {}),
    "nanmean before": (mean_of_others, np.array([1.0, -1.0], "float32"), "acos", "mean_of_others", {}),
    "own reducer": (own_reducer, -ONES, "reduce_window", "own_reducer", {}),
    "inv": (lambda x: jnp.linalg.inv(x).sum(), np.ones((3, 3), "float32"), "triangular_solve", "<lambda>", {}),
    "index": (lambda x: jnp.take(jnp.ones(3), 7) * x[0], ONES, "gather", "<lambda>", {}),
    "cond": (lambda x: jax.lax.cond(x[0] > 0, jnp.sqrt, jnp.log, x).sum(), -ONES, "log", "<lambda>", {}),
    "power": (lambda x: (x ** jnp.asarray(0.5)).sum() * 0, 0 * ONES, "mul", "<lambda>", {"phase": "backward", "derivative": "pow"}),
    "vmapped row": (lambda x: jax.vmap(lambda v: jnp.log(v) * 2)(x).sum(), ONES - [0, 2, 0], "log", "<lambda>", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_origin(name):
    fn, x, operation, function, more = CASES[name]
    found = find_nan(fn, jnp.asarray(x), show=False, gradients=False if "while" in name or name == "own reducer" else None)
    assert (found.operation, innermost(found)) == (operation, function), found
    assert {key: getattr(found, key) for key in more} == more, found
    assert found.chain[0].operation.startswith("the ") and found.chain[-1].line == found.line
    assert max(map(len, str(found).splitlines())) <= 80


def test_infinite_derivative():
    """The power of 0 is 0; its derivative, another power, is not."""
    cause = find_nan(lambda x: ((x * x) ** 0.5).sum(), jnp.zeros(3), show=False).cause
    assert (cause.phase, cause.operation, cause.derivative) == ("backward", "pow", "pow")


def test_what_cannot_be_looked_into_is_named():
    fn, x, *_ = CASES["own reducer"]
    assert "within the reduce_window, which can't be looked into" in str(
        find_nan(fn, jnp.asarray(x), gradients=False, show=False)
    ).replace("\n             ", " ")


def test_infinite_constants():
    for fn in (lambda x: (x * np.array([1, np.inf])).sum(), lambda x: (x * np.inf).sum()):
        found = find_nan(fn, jnp.ones(2), on="inf", show=False)
        assert (found.operation, innermost(found)) == ("mul", "<lambda>") and "a constant was wrong before" in str(found)


def test_arguments_by_name():
    class Scale(nnx.Module):
        def __init__(self):
            self.inner = nnx.List([nnx.Param(jnp.array([1.0, np.nan]))])

        def __call__(self, x):
            return x * self.inner[0][...]

    assert "the Param inner.0 was wrong before" in str(find_nan(Scale(), jnp.ones(2), show=False))
    given = find_nan(lambda batch, scale: (batch["x"] * scale).sum(), {"x": jnp.array([np.nan])}, scale=2.0, show=False)
    assert "argument batch['x'] was wrong before" in str(given)
    # A NaN that no result depends on is no fault.
    assert find_nan(lambda x: jnp.where(jnp.isnan(x), 0.0, 1.0).sum(), jnp.array([np.nan]), show=False) is None


def test_user_line_of_a_library():
    optimizer = optax.adam(0.1, eps=0.0)

    def step(weights, state, x):
        gradient = jax.grad(lambda w: (w * x).sum())(weights)
        updates, state = optimizer.update(gradient, state, weights)
        return optax.apply_updates(weights, updates), state

    found = find_nan(step, jnp.ones(2), optimizer.init(jnp.ones(2)), jnp.array([0.0, 1.0]), show=False)
    assert found.operation == "div" and "optax" in found.line.file
    assert found.called_from.code == "updates, state = optimizer.update(gradient, state, weights)"


@pytest.mark.long
@pytest.mark.skipif(len(jax.devices()) < 8, reason="needs 8 devices")
@pytest.mark.parametrize("check_vma", [True, False])
def test_device_of_a_shard_map(check_vma):
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)

    def local(x, w):
        def step(carry, row):
            return carry + jnp.log(row), None

        total = jax.lax.scan(step, 0 * x[0], x)[0]
        return jax.lax.psum(total.sum() * w.sum(), "data")[None]

    mapped = jax.shard_map(local, mesh=mesh, in_specs=(P("data"), P("model")), out_specs=P("model"), check_vma=check_vma)
    found = find_nan(lambda x, w: mapped(x, w).sum(), jnp.ones((8, 2)).at[5, 1].set(-1.0), jnp.ones(4), show=False)
    assert (found.operation, found.device, found.step, innermost(found)) == ("log", "data 2, model 0", (1,), "step"), found


class Masked(nn.Cell):
    def construct(self, x):
        logs = ops.where(x > 0, ops.log(x), 0 * x)
        return logs + ops.sqrt(x + 0.5)


def test_masked_in_pynative_mode():
    x = ms.Tensor([1.0, -1.0], ms.float32)
    assert find_nan(Masked(), ms.Tensor([1.0, -0.25], ms.float32), gradients=False, show=False) is None
    found = find_nan(Masked(), x, show=False)
    assert (found.phase, found.operation, found.line.number) == ("forward", "sqrt", found.chain[-1].line.number), found
    assert [passed.operation for passed in found.chain] == ["the result", "Add", "sqrt"]
    net = nn.SequentialCell(Masked(), nn.Tanh())
    for step in (net, ms.jit(ms.value_and_grad(net))):
        with guard(net), pytest.raises(ms.tools.Fault) as raised:
            step(x)
        assert (raised.value.path, raised.value.operation) == ("0", "sqrt"), raised.value


def test_a_program_that_is_wrong_only_as_a_whole():
    """Whatever is done to its operations one by one, a wrong result isn't reported as right."""

    def told(x):
        return jax.pure_callback(lambda v: next(values), jax.ShapeDtypeStruct((), "float32"), x)

    values = iter([np.float32(0), np.float32(np.nan), np.float32(0)])
    found = find_nan(told, jnp.float32(1), gradients=False, show=False)
    assert found.operation is None and "the operation is not known: it is within the function" in " ".join(str(found).split())


@pytest.mark.parametrize("look", ["find_nan", "guard", "guard of a jit around", "guard, checks"])
def test_a_jit_that_closes_over_arrays(look):
    x = jnp.arange(3.0) - 1
    inner = jax.jit(lambda w: jnp.sin(jnp.log(w * x)))

    def gradient(w):
        return jax.grad(lambda w: inner(w).sum())(w)

    w = jnp.ones(3)
    if look == "find_nan":
        fault = find_nan(inner, w)
    else:
        step = jax.jit(gradient) if "around" in look else inner
        with pytest.raises(Fault) as caught:
            guard(step, **({"checks": "all"} if "checks" in look else {}))(w)
        fault = caught.value
    assert fault.operation == "log"
    right = x + 2
    assert find_nan(jax.jit(lambda w: jnp.sin(jnp.log(w * right))), w) is None


class Scaled(nnx.Module):
    def __init__(self):
        self.kernel, self.scale = nnx.Param(jnp.ones((3, 4, 2))), nnx.Param(jnp.array([jnp.nan, 1.0]))

    def __call__(self, x):
        return jnp.einsum("bd,dhk->bhk", x, self.kernel[...]) * (1 + self.scale[...])


def test_what_fits_operands_is_no_derivative(capsys):
    fault = find_nan(Scaled(), jnp.ones((5, 3)))
    assert "<- mul test_cause.py" in str(fault) and "<- add test_cause.py" in str(fault)
    assert "derivative" not in str(fault)
