"""Operators that a platform has no program for: an error with a sentence when they are lowered for it, eagerly or in a program."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import ops
from msjax.common.tensor import wrap
from msjax.core.hooks.batching import CallsAsOutputs
from msjax.ops.dispatch.platforms import on_cpu

# Newer jax has LU factors of half-precision matrices on no platform, so that the error names none.
FACTORS = jax.__version_info__ < (0, 12)
MATRIX = np.eye(4, dtype=np.float32) * 2
REFUSED = [
    ("tpu", "float32", lambda x: ops.eig(x)[0], "ops.eig has no program for TPUs."),
    ("tpu", "float32", ops.eigvals, "ops.eigvals has no program for TPUs."),
    ("tpu", "bfloat16", ops.inverse, "ops.inverse has no program for matrices of BFloat16: cast them to float32 for TPUs."),
    ("cpu", "bfloat16", ops.det, "ops.det has no program for matrices of BFloat16: cast them to float32 for CPUs."),
    ("cpu", "float16", lambda x: ops.matrix_solve(x, x), "ops.matrix_solve has no program for matrices of Float16"),
    ("tpu", "float16", lambda x: ops.slogdet(x)[1], "ops.slogdet has no program for matrices of Float16"),
    ("cpu", "float16", ops.logdet, "ops.logdet has no program for matrices of Float16"),
]


@pytest.mark.parametrize("platform, dtype, op, text", REFUSED)
def test_the_reason_is_named(platform, dtype, op, text):
    x = jnp.asarray(MATRIX, dtype)
    text = text if FACTORS or dtype == "float32" else text.partition(" for TPUs")[0].partition(" for CPUs")[0]
    with pytest.raises(NotImplementedError, match=f"^{text}"):
        jax.jit(lambda x: jnp.asarray(op(wrap(x)))).trace(x).lower(lowering_platforms=(platform,))


def test_eager_calls_and_gradients_have_the_reason_too():
    x = ms.Tensor(MATRIX, ms.bfloat16)
    with pytest.raises(NotImplementedError, match=r"^ops\.inverse has no program for matrices of BFloat16"):
        ops.inverse(x)
    with pytest.raises(NotImplementedError, match=r"^ops\.inverse has no program"):
        ms.grad(lambda x: ops.inverse(x).sum())(x)
    with pytest.raises(NotImplementedError, match=r"^ops\.eigvals has no program for TPUs"):
        jax.jit(jax.grad(lambda x: jnp.abs(jnp.asarray(ops.eigvals(wrap(x)))).sum())).trace(MATRIX).lower(
            lowering_platforms=("tpu",)
        )
    with pytest.raises(TypeError, match=r"For 'eig': the matrices should be of Float32, .* but are of BFloat16"):
        ops.eig(x)


def test_what_has_a_program_is_computed():
    assert float(ops.det(ms.Tensor(MATRIX[:2, :2], ms.bfloat16))) == 4  # by a formula, without factors
    np.testing.assert_allclose(ops.eigvals(ms.Tensor(MATRIX)).asnumpy(), [2, 2, 2, 2])
    found = jax.grad(lambda x: jnp.abs(jnp.asarray(ops.eigvals(wrap(x)))).sum())(jnp.diag(jnp.arange(1.0, 4.0)))
    np.testing.assert_allclose(found, np.eye(3), atol=1e-6)
    if not FACTORS:
        return
    # A GPU's program has it; nothing of the other branch is left in it.
    text = (
        jax.jit(lambda x: jnp.asarray(ops.inverse(wrap(x))))
        .trace(jnp.asarray(MATRIX, jnp.bfloat16))
        .lower(lowering_platforms=("cuda",))
    )
    assert "msjax_refused" not in text.as_text()


def test_what_hooks_jit_traces_is_lowered_for_any_platform():
    with CallsAsOutputs():
        traced = jax.jit(lambda x: on_cpu(lambda x: x + 3, lambda x: x + 5, x)).trace(1.0)
    for platform, constant in (("cpu", "3.0"), ("cuda", "5.0"), ("tpu", "5.0")):
        text = traced.lower(lowering_platforms=(platform,)).as_text()
        assert (constant in text) and ({"3.0": "5.0", "5.0": "3.0"}[constant] not in text)
