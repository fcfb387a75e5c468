"""Float settings in the formulas of optimizers: operands of the compiled step, so that other values need no other program."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from msjax.core.base.arrays import is_tracer
from msjax.core.base.typing import JaxArray, PyTree
from msjax.engine.programs.compiler_options import is_nested, options_for

# How many programs of one step are kept: one for each combination of what its formula decides by its settings.
_PROGRAMS = 8


class Setting:
    """A float setting, or what a formula computes of such settings, while the formula is traced.

    Arithmetic with other settings and numbers is Python's, in 64 bits, as with floats: it is done for each set of values before
    the program runs. Where a setting meets an array, it becomes an operand. Where the formula decides something by it, or takes
    its `float`, the program is for that case only.
    """

    __slots__ = ("_trace", "_expression")

    def __init__(self, trace: _Trace, expression: Any):
        self._trace = trace
        self._expression = expression

    def __jax_array__(self) -> JaxArray:
        return self._trace.operand(self._expression)

    def __float__(self) -> float:
        return self._trace.decide((float, self._expression))

    def __bool__(self) -> bool:
        return self._trace.decide((bool, self._expression))

    def __neg__(self) -> Setting:
        return Setting(self._trace, (operator.neg, self._expression))

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def _add_method(fn, name, reflected):
    def method(self, other):
        if isinstance(other, (int, float, Setting)):
            pair = self._expression, other._expression if isinstance(other, Setting) else other
            expression = (fn, *(reversed(pair) if reflected else pair))
            return self._trace.decide(expression) if fn in _COMPARISONS else Setting(self._trace, expression)
        return fn(other, self.__jax_array__()) if reflected else fn(self.__jax_array__(), other)

    setattr(Setting, name, method)


_COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
for _fn in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow):
    _add_method(_fn, f"__{_fn.__name__}__", False)
    _add_method(_fn, f"__r{_fn.__name__}__", True)
for _fn in _COMPARISONS:
    _add_method(_fn, f"__{_fn.__name__}__", False)


def _evaluate(expression, values):
    """An expression is a number, (None, place of a setting), or (function, *expressions)."""
    if expression.__class__ is not tuple:
        return expression
    fn, *parts = expression
    return values[parts[0]] if fn is None else fn(*[_evaluate(part, values) for part in parts])


def _same(a, b):
    return a == b or (a != a and b != b)


class _Trace:
    """One trace of a step for the values of its settings."""

    def __init__(self, program, values, given):
        self.program = program
        self.values = values
        self.given = given

    def operand(self, expression):
        """The operand for an expression; beyond the number of operands, a constant, with a program for this value only."""
        places = self.program.operands
        if expression not in places:
            if len(places) == len(self.given):
                return jnp.asarray(self.decide((float, expression)))
            places[expression] = len(places)
        return self.given[places[expression]]

    def decide(self, expression):
        answer = self.program.cases[expression] = _evaluate(expression, self.values)
        return answer


class _StepProgram:
    """The compiled step for one combination of what the formula decides by its settings.

    Attributes:
        operands: the place among the operands for each expression that meets an array.
        cases: what the expressions were that something was decided by.
    """

    def __init__(self, step, values, options):
        self.operands: dict[Any, int] = {}
        self.cases: dict[Any, Any] = {}
        self.values = values
        self.room = 16 + 4 * len(values)
        self.constants = False

        def traced(given, *args):
            trace = _Trace(self, self.values, given)
            settings = [Setting(trace, (None, place)) for place in range(len(self.values))]
            return step([float(v) for v in settings] if self.constants else settings, *args)

        traced.__name__ = step.__name__
        self.compiled = jax.jit(traced, compiler_options=options)

    def trace(self, args):
        """Find out what the formula computes of its settings; jax keeps the trace for the call."""
        given = self.given(self.values)
        try:
            self.compiled.trace(given, *args)
        except Exception:
            # A formula that takes floats only, as functions of jax.numpy do; its own errors come again.
            self.constants = True
            self.compiled.trace(given, *args)

    def fits(self, values):
        return all(_same(_evaluate(expression, values), answer) for expression, answer in self.cases.items())

    def given(self, values):
        """The operands of the program, for which it has more room than it needs; jax drops the rest of them."""
        found = [jnp.asarray(float(_evaluate(expression, values))) for expression in self.operands]
        return found + [jnp.asarray(0.0)] * (self.room - len(found))


class CompiledStep:
    """A function of settings and arrays, compiled so that it needs no other program for other values of its settings.

    Args:
        step: called with a list of settings, which are floats or `Setting`, and with lists of arrays.
    """

    def __init__(self, step: Callable[..., Any]):
        self._step = step
        self._programs: list[_StepProgram] = []

    def with_settings(self, values: Sequence[float]) -> Callable[..., PyTree]:
        """The function of the arrays alone."""
        last: Any = (None, None, None, None)

        def run(*args):
            nonlocal last
            if any(is_tracer(arrays[0]) for arrays in args[:2] if arrays):
                return self._step(values, *args)
            # What an array is made for: its dtype, and the mesh of `jax.set_mesh`.
            made_for = jax.config.jax_enable_x64, jax.sharding.get_abstract_mesh()  # pyright: ignore[reportAttributeAccessIssue]
            program, given, known, given_for = last
            program = program if given_for == made_for else None
            while True:
                if program is None:
                    program = self._program(values, args)
                    known, given = len(program.operands), program.given(values)
                program.values = values
                try:
                    out = program.compiled(given, *args)
                except ValueError as error:
                    if not is_nested(error):
                        raise
                    return self._step(values, *args)
                if program.fits(values) and len(program.operands) == known:
                    if not is_tracer(given[0]):
                        last = program, given, known, made_for
                    return out
                program = None  # another trace, for other shapes, has found more

        return run

    def _program(self, values, args):
        for program in self._programs:
            if program.fits(values):
                return program
        shapes = [(array.shape, array.dtype) for array in args[0]]
        # With the default options, XLA compiles equal updates once, but takes four times as long for one.
        options = options_for(args[0]) if len(shapes) < 4 * len(set(shapes)) else {}
        program = _StepProgram(self._step, values, options)
        program.trace(args)
        self._programs = [program, *self._programs[: _PROGRAMS - 1]]
        return program
