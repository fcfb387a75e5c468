"""The planner and the interpreter of jaxprs themselves: which steps a plan has, what leaves it, and that it computes the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from msjax import hooks
from msjax.core.hooks.places import Edits, Tracing
from msjax.core.jaxprs.control_flow import RULES
from msjax.core.jaxprs.evaluate import Plain
from msjax.core.jaxprs.interpreter import Interpreter, Program
from msjax.core.jaxprs.plan import Here, Inside, Patterns, Planner

X = jnp.arange(3.0)


def planned(fn, select="*", **options):
    program = Program(fn, (X,), {}, Tracing(Edits()))
    planner = Planner(RULES, Patterns(select), **options)
    return program, planner, planner.block(program.closed)


def run(program, block):
    outs, got = Interpreter().run(block, program.inputs)
    return program.result(outs), got


def two_places(x):
    y = hooks.site("first", jnp.sin(x) + 1)
    return hooks.site("second", y * 2) - x


def test_equations_between_places_become_one_step():
    program, _, block = planned(two_places)
    assert [type(step) for step in block.steps] == [Plain, Here, Plain, Here, Plain]
    assert [found.name for found in block.found] == ["first", "second"]
    out, got = run(program, block)
    np.testing.assert_allclose(out, two_places(X))
    np.testing.assert_allclose(got[0][0], jnp.sin(X) + 1)
    np.testing.assert_allclose(got[1][0], (jnp.sin(X) + 1) * 2)


def test_a_program_of_which_nothing_is_selected_has_no_steps():
    program, planner, block = planned(two_places, "third")
    assert block.steps == [] and block.found == []
    assert [place.name for place in planner.listed] == ["first", "second"]
    out, got = run(program, block)
    np.testing.assert_allclose(out, two_places(X))
    assert got == []


def test_only_what_is_needed_leaves_a_plain_step():
    _, _, block = planned(two_places, "first")
    before, _, behind = block.steps
    assert len(before.outvars) == 1 and len(behind.outvars) == 1
    assert before.invars == [block.closed.jaxpr.invars[0]]


def test_a_place_in_a_scan_is_stacked():
    def fn(x):
        return jax.lax.scan(lambda c, w: (hooks.site("step", c * w), None), x, jnp.array([2.0, 3.0]))[0]

    program, planner, block = planned(fn)
    (inside,) = [step for step in block.steps if isinstance(step, Inside)]
    assert inside.found[0].out[0].shape == (2, 3) and inside.blocks[0].found[0].out[0].shape == (3,)
    assert planner.listed[0].path == "scan"
    out, got = run(program, block)
    np.testing.assert_allclose(out, X * 6)
    np.testing.assert_allclose(got[0][0], jnp.stack([X * 2, X * 6]))


def test_a_function_that_is_used_twice_is_planned_once():
    inner = jax.jit(lambda x: hooks.site("inner", jnp.cos(x)))
    program, _, block = planned(lambda x: inner(inner(x)))
    one, two = [step for step in block.steps if isinstance(step, Inside)]
    assert one.blocks[0].steps is two.blocks[0].steps
    assert [found.name for found in block.found] == ["inner", "inner#1"]
    np.testing.assert_allclose(run(program, block)[0], jnp.cos(jnp.cos(X)))


def test_gradients_come_in_as_probes_of_floating_places_only():
    def fn(x):
        n = hooks.site("number", jnp.argmax(x))
        return hooks.site("value", x * 2).sum() * n

    _, _, block = planned(fn, gradients=True)
    assert [[shape.shape for shape in found.probes] for found in block.found] == [[], [(3,)]]


def test_a_place_that_a_value_cannot_leave_is_an_error():
    def fn(x):
        return jax.lax.while_loop(lambda c: hooks.site("condition", c.sum()) < 3, lambda c: c + 1, x)

    with pytest.raises(ValueError, match=r"the place .condition. is inside of .*, from where its value can't be returned"):
        planned(fn)


@pytest.mark.parametrize(
    ("select", "name", "counts"),
    [("a*", "ab", True), ("a*", "b", False), ("*", "add@f.py:1", False), ("*@*", "add@f.py:1", True), ("a[0]", "a[0]", True)],
)
def test_patterns(select, name, counts):
    patterns = Patterns(["never", select])
    assert patterns(name) is counts
    assert patterns.unmatched() == (["never"] if counts else ["never", select])
