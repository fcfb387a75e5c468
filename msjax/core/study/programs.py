"""Runs of a model on a tape: the program of a model of any framework, with its places, for whoever reads the tape; numbers of its results, their
gradients and integrals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.checks import check_int
from msjax.core.base.errors import called, describe, near
from msjax.core.hooks.place_names import matches_place
from msjax.core.hooks.places import Edits, Tracing
from msjax.core.jaxprs.interpreter import Program
from msjax.core.jaxprs.plan import Patterns
from msjax.core.models.capture import CaptureOptions, with_written, write_to
from msjax.core.models.inputs import Call
from msjax.core.study.tape import Node, Tape


class TapeOptions(CaptureOptions):
    """Capture options that run `work` on the model's program instead of returning values of places.

    Attributes:
        work: ``work(program)``, whose result is that of the run.
        inputs: the arrays that the model is called with, but for its weights.
    """

    work: Callable[[OnTape], Any]
    inputs: Sequence[Any]

    def of_function(self, fn: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
        return self._run(fn, lambda result: result)

    def of_pure_call(self, names: Sequence[str], call: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
        return self._run(call, lambda result: result[0])

    def _run(self, fn, chosen):
        def run(*args, **kwargs):
            program = Program(with_written(fn) if self.writes else fn, args, kwargs, Tracing(Edits(), self.parts, scopes=True))
            return None, self.work(OnTape(program, chosen, self.inputs, (args, kwargs) if self.writes else None))

        return run


class OnTape:
    """A model's program with its arguments, which runs on tapes; `given` are the arguments that change as by a plain call, if they do."""

    def __init__(self, program: Program, chosen: Callable[[Any], Any], inputs: Sequence[Any], given: Any):
        self._program = program
        self._chosen = chosen
        self._inputs = inputs
        self._given = given

    def run(self, tape: Tape) -> tuple[list[Node], Any]:
        """(the nodes of the program's results, what the model returns)."""
        nodes = tape.run(self._program.closed, self._program.inputs, self._inputs)
        result = self._program.result([node.value for node in nodes])
        if self._given is not None:
            result, written = result
            write_to(self._given, written)
        return nodes, self._chosen(result)


class _NoPlaces(CaptureOptions):
    """Capture options without places: the run returns the model's result alone."""

    def of_function(self, fn: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
        def run(*args, **kwargs):
            # Of nnx modules among the arguments, the call gets copies: a program may run the model many times on the same ones.
            args, kwargs = jax.tree.map(lambda leaf: leaf, (args, kwargs))
            return fn(*args, **kwargs), None

        return run

    def of_pure_call(self, names: Sequence[str], call: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
        return self.of_function(call)


def result_of(pure: Any, state: Any, call: Call) -> Any:
    """Run a model, as `run_kept` gives it, and return its result."""
    return pure.run(state, _NoPlaces(Patterns([]), Edits(), False, None, jnp.sum, None), *call)[0]


def on_tape(
    pure: Any, state: Any, patterns: Iterable[str], call: Call, work: Callable[[OnTape], Any], *, writes: bool = False
) -> Any:
    """Call ``work(program)`` with the program of a model, as `run_kept` gives it, and with places of these patterns beside the outputs of its
    modules; with `writes`, nnx modules among the arguments change as by a plain call."""
    options = TapeOptions(Patterns(["*", *patterns]), Edits(), False, None, jnp.sum, None, writes=writes)
    options.work = work
    weights = {id(array) for _, array, _ in pure.weights(call[0])}
    options.inputs = [leaf for leaf in jax.tree.leaves(call) if id(leaf) not in weights]
    return pure.run(state, options, *call)[1]


def matching(tape: Tape, patterns: Iterable[str], who: str) -> list[str]:
    """The names of the places that patterns select, in program order; ValueError if a pattern selects none."""
    found: list[str] = []
    for pattern in patterns:
        names = [n for n, base in tape.bases.items() if n == pattern or matches_place(pattern, base) or matches_place(pattern, n)]
        if not names:
            there = ", ".join(map(repr, [n for n in tape.places if ":" not in n][:30]))
            raise ValueError(
                f"For '{called(who)}', no place with floating-point values was selected by {pattern!r}; there are {there}"
                f"{near(pattern, tape.places)}."
            )
        found += names
    return sorted(dict.fromkeys(found), key=lambda name: tape.places[name].number)


def first_array(result: Any) -> jax.Array:
    """The first array of floats in a model's result, such as its logits."""
    leaves = [leaf for leaf in jax.tree.leaves(result) if jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)]
    if not leaves:
        raise ValueError(f"For '{called('stream')}', the model's result has no floating-point values.")
    return leaves[0]


def gradient_of(metric: Callable[[Any], jax.Array] | None, result: Any) -> tuple[jax.Array, Any]:
    """(a metric of a model's result, its gradient with respect to the first array of floats in it)."""
    leaves, treedef = jax.tree.flatten(result)
    first = first_array(result)
    at = next(i for i, leaf in enumerate(leaves) if leaf is first)

    def of(array):
        joined = jax.tree.unflatten(treedef, [*leaves[:at], array, *leaves[at + 1 :]])
        return jnp.sum(array) if metric is None else number_of(metric, joined)

    return jax.value_and_grad(of)(leaves[at])


def number_of(metric: Callable[[Any], jax.Array], result: Any) -> jax.Array:
    """The metric of a model's result, which has to be a number."""
    number = metric(result)
    if jnp.shape(number):
        raise ValueError(f"For '{called('stream')}', the metric should return a number, but returned {describe(number)}.")
    return number


def check_steps(steps: Any, who: str) -> None:
    """TypeError or ValueError unless an integral can have so many points: finding 1,000 takes a second, and a time that grows with their cube."""
    check_int(steps, "steps", who, low=1, high=1000)


def integral(fn: Callable[[jax.Array], Any], steps: int) -> Any:
    """The integral over [0, 1] of a function of a number of jax's default dtype, to a pytree of arrays, by Gauss-Legendre's rule, as accurate as one
    of so many points can be."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    rule = jnp.asarray((points + 1) / 2, float), jnp.asarray(weights / 2, float)
    each = jax.lax.map(lambda at: jax.tree.map(lambda v: (v * at[1]).astype(v.dtype), fn(at[0])), rule)
    return jax.tree.map(lambda v: v.sum(0), each)
