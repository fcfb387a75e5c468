"""What is read of compiled programs, on programs for the machine at hand; the compilers for accelerators may not be here."""

import jax
import jax.numpy as jnp
import pytest

from tests.accelerators import targets


def test_what_launches_something_is_counted():
    def step(a, b):
        out = jnp.sort(jnp.sin(a) * 2 + b) @ a
        return jax.lax.fori_loop(0, 3, lambda i, v: jnp.cos(v @ a), out)

    text = jax.jit(step).lower(jnp.ones((64, 64)), jnp.ones((64, 64))).compile().as_text()
    found = targets.kernels(text)
    # A fused elementwise part, a sort, a product; in the loop a product, a fusion and its counter.
    assert 4 <= found <= 12
    more = jax.jit(lambda a, b: step(a, b) @ jnp.sort(b)).lower(jnp.ones((64, 64)), jnp.ones((64, 64))).compile().as_text()
    assert targets.kernels(more) >= found + 2


def test_a_missing_compiler_is_named(monkeypatch):
    monkeypatch.setattr(targets.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(targets.Missing, match=r"no compiler for cuda: .* is not installed \(pip install"):
        targets.Target("h100")
