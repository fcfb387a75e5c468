"""What is read of compiled programs, on programs for the machine at hand; the compilers for accelerators may not be here."""

import jax
import jax.numpy as jnp
import pytest

from tests.accelerators import batches, more_rows, targets
from tests.kernels.left_out import NAMES as LEFT_OUT


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


def test_what_only_moves_values_and_pieces_of_one_collective_are_not_counted_twice():
    text = """
ENTRY %main (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  %start = (f32[8]{0:S(1)}, f32[8]{0}, u32[]{:S(2)}) copy-start(%a)
  %done = f32[8]{0:S(1)} copy-done(%start)
  %first = f32[8]{0} all-gather(%done), channel_id=7, dimensions={0}
  %second = f32[8]{0} all-gather(%done), channel_id=7, dimensions={0}
  %joined = f32[8]{0:S(1)} custom-call(%done, %done), custom_call_target="ConcatBitcast"
  ROOT %sum = f32[8]{0} all-reduce(%first), channel_id=8, to_apply=%add
}
"""
    assert targets.collectives(text) == {"all-gather": 1, "all-reduce": 1}
    assert targets.kernels(text) == 3
    # A copy that stays in the same memory is a kernel.
    assert targets.kernels(text.replace("S(1)", "T(8)")) == 5


def test_a_missing_compiler_is_named(monkeypatch):
    monkeypatch.setattr(targets.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(targets.Missing, match=r"no compiler for cuda: .* is not installed \(pip install"):
        targets.Target("h100")


def test_an_operator_that_stops_compiling_is_named():
    eig = next(iter(batches.NOT_THERE["v5e", "float32"][0]))
    said = "NotImplementedError: ops.eig has no program for TPUs."
    found = batches.unexpected(
        "v5e", "float32", {"ops.relu(x)": "XlaRuntimeError: UNIMPLEMENTED", eig: said}, {eig, "ops.relu(x)"}
    )
    assert found == ["ops.relu(x): XlaRuntimeError: UNIMPLEMENTED"]
    # What is compiled at last, and what fails without a sentence, are told, too.
    assert batches.unexpected("v5e", "float32", {}, {eig}) == [f"{eig}: is compiled now"]
    assert batches.unexpected("v5e", "float32", {eig: "KeyError: eig"}, {eig}) == [f"{eig}: KeyError: eig"]


def test_batches_that_fail_are_halved():
    class Failing:
        def placed(self, shapes):
            return shapes

        def compile(self, fn, *shapes):
            if any(shape == ["bad"] for shape in shapes):
                raise ValueError("no")

    programs = [batches.Traced(str(i), None, ["bad"] if i in (3, 17) else []) for i in range(20)]
    assert batches.failing(Failing(), programs, 8) == {"3": "ValueError: no", "17": "ValueError: no"}


def test_every_operator_has_a_row_or_a_reason():
    have = {name for row in more_rows.ROWS for name in row.names}
    assert not [name for name in LEFT_OUT if name not in have and name not in more_rows.NOT_COMPILED]
    programs, refused = batches.all_traced(more_rows.ROWS[:: len(more_rows.ROWS) // 12], "float32")
    assert len(programs) >= 10 and not refused
