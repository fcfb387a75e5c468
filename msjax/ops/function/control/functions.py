"""Control flow, function helpers, and MindSpore's names for Python's own operators."""

from __future__ import annotations

import functools
import math
import operator as py
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from msjax.common.arrays import as_array
from msjax.common.dtype import Type, as_dtype
from msjax.common.tensor import Tensor, is_tensor, wrap
from msjax.core.base.arrays import known_value
from msjax.core.base.checks import check_kind
from msjax.core.base.errors import describe
from msjax.engine.autograd.op import Op, apply
from msjax.engine.autograd.recording import check_function_or_cell
from msjax.ops.dispatch.docs import titled
from msjax.ops.function.control.lifted import Lifted
from msjax.ops.primitive import Primitive

__all__ = [
    "Assert", "ForiLoop", "Partial", "PyFunc", "Scan", "WhileLoop", "add_flags", "constexpr", "partial", "bool_and",
    "bool_eq", "bool_not", "bool_or", "dict_getitem", "in_dict", "is_", "is_not", "list_equal", "list_getitem", "list_len",
    "make_list", "make_slice", "make_tuple", "not_in_dict", "scalar_add", "scalar_div", "scalar_eq", "scalar_floordiv",
    "scalar_ge", "scalar_gt", "scalar_le", "scalar_log", "scalar_lt", "scalar_max", "scalar_min", "scalar_mod", "scalar_mul",
    "scalar_ne", "scalar_pow", "scalar_sub", "scalar_uadd", "scalar_usub", "string_concat", "string_eq", "tuple_equal",
    "tuple_getitem", "tuple_len", "tuple_reversed", "shape_mul",
]  # fmt: skip


def partial(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """A function with its first arguments given, as functools.partial."""
    return functools.partial(check_function_or_cell(fn, "partial"), *args, **kwargs)


class Partial(Primitive):
    """Makes a function with its first arguments given: ``Partial()(fn, *args)``."""

    def __call__(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        return functools.partial(check_function_or_cell(fn, "Partial"), *args, **kwargs)


def constexpr(
    fn: Callable[..., Any] | None = None,
    get_instance: bool = True,
    name: str | None = None,
    reuse_result: bool = True,
    check: bool = True,
) -> Callable[..., Any]:
    """Decorator: a function of constants, evaluated while a program is compiled. Any Python function is, here.

    Example:
        >>> @ops.constexpr
        ... def double(n):
        ...     return 2 * n
        >>> double(3)
        6
    """
    return (lambda f: f) if fn is None else fn


def add_flags(fn: Callable[..., Any] | None = None, **flags: Any) -> Callable[..., Any]:
    """Decorator: keep flags with a function or Cell, in its attribute ``_func_graph_flags``."""

    def decorate(f):
        f._func_graph_flags = (getattr(f, "_func_graph_flags", None) or {}) | flags
        return f

    return decorate if fn is None else decorate(fn)


# ---- control flow


def _unknown(value):
    return isinstance(value, Tensor) and known_value(value._value) is None


def _int(value):
    if isinstance(value, Tensor) and not _unknown(value):
        value = value.item()
    check_kind(value, isinstance(value, (int, Tensor)) and not isinstance(value, bool), "be ints", "the bounds", "ForiLoop")
    return value


def _carried(fn, value):
    """A call of `fn` on nested Tensors, ready for a jax loop: (the call, its values)."""
    call = Lifted(fn, (value,))
    if len(call.places) != len(call.leaves):
        value = jax.tree.map(lambda v: v if isinstance(v, Tensor) else Tensor(v), value, is_leaf=is_tensor)
        call = Lifted(fn, (value,))
    return call


class WhileLoop(Primitive):
    """A loop that goes on while a condition holds: ``WhileLoop()(cond_func, loop_func, init_val)``.

    Inputs:
        - **cond_func** (callable) - from the value to a Bool.
        - **loop_func** (callable) - from the value to the next one, of the same shapes and types.
        - **init_val** - the first value: a Tensor, number, or nested tuples or lists of them.

    Outputs:
        The value for which the condition no longer holds.

    Example:
        >>> from msjax import Tensor, ops
        >>> print(ops.WhileLoop()(lambda x: x < 10, lambda x: x * 2, Tensor(3)))
        12
    """

    def __call__(self, cond_func: Callable[..., Any], loop_func: Callable[..., Any], init_val: Tensor) -> Tensor:
        check_function_or_cell(cond_func, "WhileLoop")
        check_function_or_cell(loop_func, "WhileLoop")
        value = init_val
        while True:
            go_on = cond_func(value)
            if _unknown(go_on):
                return self._compiled(cond_func, loop_func, value)
            if not go_on:
                return value
            value = loop_func(value)

    def _compiled(self, cond_func, loop_func, value):
        body = _carried(loop_func, value)
        test = Lifted(cond_func, jax.tree.unflatten(body.structure, body.leaves))

        def kernel(*values):
            own, outer = values[: len(body.tensors)], values[len(body.tensors) :]
            known = [t._value for t in test.reached]
            return jax.lax.while_loop(lambda v: test.run(*v, *known)[0].reshape(()), lambda v: body.run(*v, *outer), tuple(own))

        outs = body.apply("WhileLoop", kernel)
        return jax.tree.unflatten(body.structure, outs)[0]


class ForiLoop(Primitive):
    """A loop over ints: ``ForiLoop()(lower, upper, loop_func, init_val)``.

    Inputs:
        - **lower**, **upper** (int) - the loop counts from `lower` up to but not including `upper`.
        - **loop_func** (callable) - ``loop_func(i, value)`` gives the next value.
        - **init_val** - the first value.
        - **unroll** (bool) - accepted for compatibility with MindSpore.

    Outputs:
        The last value.

    Example:
        >>> from msjax import Tensor, ops
        >>> print(ops.ForiLoop()(0, 4, lambda i, x: x + i, Tensor(0)))
        6
    """

    def __call__(self, lower: int, upper: int, loop_func: Callable[..., Any], init_val: Tensor, unroll: bool = True) -> Tensor:
        check_function_or_cell(loop_func, "ForiLoop")
        lower, upper = _int(lower), _int(upper)  # pyright: ignore[reportAssignmentType]
        if not isinstance(lower, Tensor) and not isinstance(upper, Tensor):
            value = init_val
            for i in range(lower, upper):
                value = loop_func(i, value)
            return value
        start = lower if isinstance(lower, Tensor) else Tensor(lower, upper.dtype)
        step = WhileLoop()(lambda v: v[0] < upper, lambda v: (v[0] + 1, loop_func(v[0], v[1])), (start, init_val))
        return step[1]


class Scan(Primitive):
    """A loop that carries a value along a list: ``Scan()(loop_func, init, xs)``.

    Inputs:
        - **loop_func** (callable) - ``loop_func(carry, x)`` gives the next carried value and a result.
        - **init** - the first carried value.
        - **xs** (list, tuple or Tensor) - the elements to loop over; None for `length` steps without elements.
        - **length** (int, optional) - how many steps; by default as many as there are elements.
        - **unroll** (bool) - accepted for compatibility with MindSpore.

    Outputs:
        The last carried value and the list of results.

    Example:
        >>> from msjax import ops
        >>> print(ops.Scan()(lambda carry, x: (carry + x, carry * x), 1, [1, 2, 3]))
        (7, [1, 4, 12])
    """

    def __call__(
        self, loop_func: Callable[..., Any], init: Any, xs: Sequence[Any] | None, length: int | None = None, unroll: bool = True
    ) -> tuple[Any, list[Any]]:
        check_function_or_cell(loop_func, "Scan")
        if xs is None:
            if not isinstance(length, int):
                raise ValueError(f"For 'Scan', without 'xs' the 'length' should be an int, but got {describe(length)}.")
            xs = [None] * length
        elif length is not None and length != len(xs):
            raise ValueError(f"For 'Scan', 'length' is {length}, but 'xs' has {len(xs)} elements.")
        carry, results = init, []
        for x in xs:
            carry, y = loop_func(carry, x)
            results.append(y)
        return carry, results


# ---- Python code in programs


class PyFunc(Primitive):
    """Calls a Python function of numpy arrays, also from compiled programs.

    Args:
        fn (callable): from numpy arrays to an array or a tuple of them.
        in_types, in_shapes (list): of the inputs; not checked.
        out_types (list of ms.dtype), out_shapes (list of tuple): of the results.
        stateful (bool): accepted for compatibility with MindSpore, without effect.

    Outputs:
        A tuple of Tensors. No gradient flows through it.

    Example:
        >>> from msjax import Tensor, float32, ops
        >>> double = ops.PyFunc(lambda x: 2 * x, [float32], [(2,)], [float32], [(2,)])
        >>> print(*double(Tensor([1.0, 2.0])))
        [2. 4.]
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        in_types: list[Any],
        in_shapes: list[int],
        out_types: list[Type],
        out_shapes: list[tuple[int]],
        stateful: bool = True,
    ):
        super().__init__("PyFunc")
        check_function_or_cell(fn, "PyFunc")
        self.fn = fn
        self.out_types: list[Type] = [as_dtype(t) for t in out_types]
        self.out_shapes: list[tuple[int]] = list(out_shapes)

    def __call__(self, *inputs: Any) -> tuple[Tensor, ...]:
        tensors = [x if isinstance(x, Tensor) else Tensor(x) for x in inputs]
        if not any(_unknown(t) for t in tensors):
            return tuple(wrap(as_array(a)) for a in self._run(*(t.asnumpy() for t in tensors)))
        shapes = tuple(jax.ShapeDtypeStruct(tuple(s), t.np) for s, t in zip(self.out_shapes, self.out_types))
        call = Op("PyFunc", lambda *values: jax.pure_callback(self._run, shapes, *values), differentiable=False)
        return apply(call, tensors)

    def _run(self, *arrays):
        out = self.fn(*(np.asarray(a) for a in arrays))
        out = out if isinstance(out, (tuple, list)) else (out,)
        return tuple(np.asarray(o, t.np).reshape(s) for o, t, s in zip(out, self.out_types, self.out_shapes))


class Assert(Primitive):
    """Raises if a condition doesn't hold: ``Assert()(condition, values)``.

    Args:
        summarize (int): how many elements of each value the message shows. Default: 3.

    Raises:
        RuntimeError: the condition is false.
    """

    def __init__(self, summarize: int = 3):
        super().__init__("Assert")
        self.summarize = summarize

    def __call__(self, condition: object, input_data: Sequence[Any]) -> object:
        if not condition:
            shown = [v.asnumpy().ravel()[: self.summarize].tolist() if isinstance(v, Tensor) else v for v in input_data]
            raise RuntimeError(f"For 'Assert', the condition is false; the values are {shown}.")
        return condition


# ---- Python's operators by name


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args, **kwargs):
        return function(*args, **kwargs)

    call.__wrapped__ = function
    return titled(call, name, f"MindSpore's name for {name.replace('_', ' ').strip()} on Python values.")


bool_and: Callable[..., Any] = _named("bool_and", lambda x, y: x and y)
bool_eq: Callable[..., Any] = _named("bool_eq", py.eq)
bool_not: Callable[..., Any] = _named("bool_not", py.not_)
bool_or: Callable[..., Any] = _named("bool_or", lambda x, y: x or y)
dict_getitem: Callable[..., Any] = _named("dict_getitem", py.getitem)
in_dict: Callable[..., Any] = _named("in_dict", lambda x, y: x in y)
is_: Callable[..., Any] = _named("is_", py.is_)
is_not: Callable[..., Any] = _named("is_not", py.is_not)
list_equal: Callable[..., Any] = _named("list_equal", py.eq)
list_getitem: Callable[..., Any] = _named("list_getitem", py.getitem)
list_len: Callable[..., Any] = _named("list_len", len)
make_list: Callable[..., Any] = _named("make_list", lambda *values: list(values))
make_slice: Callable[..., Any] = _named("make_slice", lambda start, stop, step: slice(start, stop, step))
make_tuple: Callable[..., Any] = _named("make_tuple", lambda *values: values)
not_in_dict: Callable[..., Any] = _named("not_in_dict", lambda x, y: x not in y)
scalar_add: Callable[..., Any] = _named("scalar_add", lambda x, y: x + y)
scalar_div: Callable[..., Any] = _named("scalar_div", lambda x, y: x / y)
scalar_eq: Callable[..., Any] = _named("scalar_eq", lambda x, y: x == y)
scalar_floordiv: Callable[..., Any] = _named("scalar_floordiv", lambda x, y: x // y)
scalar_ge: Callable[..., Any] = _named("scalar_ge", lambda x, y: x >= y)
scalar_gt: Callable[..., Any] = _named("scalar_gt", lambda x, y: x > y)
scalar_le: Callable[..., Any] = _named("scalar_le", lambda x, y: x <= y)
scalar_log: Callable[..., Any] = _named("scalar_log", math.log)
scalar_lt: Callable[..., Any] = _named("scalar_lt", lambda x, y: x < y)
scalar_max: Callable[..., Any] = _named("scalar_max", lambda x, y: max(x, y))
scalar_min: Callable[..., Any] = _named("scalar_min", lambda x, y: min(x, y))
scalar_mod: Callable[..., Any] = _named("scalar_mod", lambda x, y: x % y)
scalar_mul: Callable[..., Any] = _named("scalar_mul", lambda x, y: x * y)
scalar_ne: Callable[..., Any] = _named("scalar_ne", lambda x, y: x != y)
scalar_pow: Callable[..., Any] = _named("scalar_pow", lambda x, y: x**y)
scalar_sub: Callable[..., Any] = _named("scalar_sub", lambda x, y: x - y)
scalar_uadd: Callable[..., Any] = _named("scalar_uadd", lambda x: +x)
scalar_usub: Callable[..., Any] = _named("scalar_usub", lambda x: -x)
string_concat: Callable[..., Any] = _named("string_concat", py.add)
string_eq: Callable[..., Any] = _named("string_eq", py.eq)
tuple_equal: Callable[..., Any] = _named("tuple_equal", py.eq)
tuple_getitem: Callable[..., Any] = _named("tuple_getitem", py.getitem)
tuple_len: Callable[..., Any] = _named("tuple_len", len)
tuple_reversed: Callable[..., Any] = _named("tuple_reversed", lambda values: values[::-1])


def shape_mul(input_data: Sequence[int]) -> int:
    """The product of the sizes in a shape."""
    return math.prod(input_data)
