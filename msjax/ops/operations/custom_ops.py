"""Custom: a Python function of numpy arrays as an operator; DynamicRNN; and what programs use to define operators of their own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common.dtype import as_dtype, from_np, to_jax
from msjax.common.tensor import Tensor, wrap
from msjax.core.base.checks import check_kind
from msjax.core.base.errors import callable_name, check_function
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.operator import operator
from msjax.ops.primitive import Form, Primitive

__all__ = [
    "Custom", "DynamicRNN", "PrimitiveWithInfer", "PrimitiveWithCheck", "prim_arg_register", "prim_attr_register",
]  # fmt: skip


class Custom(Primitive):
    """A Python function of numpy arrays as an operator.

    In compiled programs, XLA calls the function on the host. It must not use msjax or jax.

    Args:
        func (callable): from numpy arrays to a numpy array, or to a tuple of them.
        out_shape (callable, list or tuple, optional): the shape of the result, or a function of the inputs' shapes that returns it; for
            several results, a tuple of shapes. By default that of the first input.
        out_dtype (callable or ms.dtype, optional): the same for the type.
        func_type (str): "pyfunc". MindSpore's others compile code for Ascend or CPU kernels.
        bprop (callable, optional): the gradient, a function of the inputs, the result and its gradient (Tensors) that returns the
            inputs' gradients. By default no gradient flows.
        reg_info: without effect.

    Inputs:
        - **inputs** (Tensor) - what `func` takes.

    Outputs:
        Tensor, or a tuple of Tensors.

    Raises:
        NotImplementedError: another `func_type`.
        TypeError: `func` can't be called, or an input is not a Tensor.
        RuntimeError: `func` returned another shape than `out_shape` says.

    Example:
        >>> import numpy as np
        >>> from msjax import Tensor, ops
        >>> double = ops.Custom(lambda x: x * 2, lambda shape: shape, lambda dtype: dtype, func_type="pyfunc")
        >>> print(double(Tensor([1.0, 2.0])))
        [2. 4.]
    """

    def __init__(
        self,
        func: Callable[..., Any],
        out_shape: Any = None,
        out_dtype: Any = None,
        func_type: str = "pyfunc",
        bprop: Callable[..., Any] | None = None,
        reg_info: Any = None,
    ):
        super().__init__("Custom")
        if func_type != "pyfunc":
            raise NotImplementedError(
                f"For 'Custom', func_type {func_type!r} is not offered: it compiles code for MindSpore's devices. A Python function of numpy "
                "arrays (func_type='pyfunc'), or one of jax arrays (ms.from_jax), takes its place."
            )
        check_function(func, "Custom")
        self.func = func
        self.out_shape, self.out_dtype, self.bprop = out_shape, out_dtype, bprop
        self._op = Op("Custom", self._kernel, differentiable=bprop is not None)

    def __call__(self, *inputs: Any) -> Any:
        for value in inputs:
            check_kind(value, isinstance(value, Tensor), "be Tensors", "the inputs", "Custom")
        return apply(self._op, inputs)

    def _kernel(self, *values):
        results = self._results(values)
        single = isinstance(results, jax.ShapeDtypeStruct)

        def on_host(*arrays):
            out = self.func(*map(np.asarray, arrays))
            outs = (out,) if single else tuple(out)
            made = []
            for found, expected in zip(outs, (results,) if single else results):
                found = np.asarray(found, expected.dtype)
                if found.shape != expected.shape:
                    raise RuntimeError(
                        f"For 'Custom', {callable_name(self.func)} returned shape {found.shape}, but 'out_shape' says {expected.shape}."
                    )
                made.append(found)
            return made[0] if single else tuple(made)

        call = functools.partial(jax.pure_callback, on_host, results)
        if self.bprop is None:
            return call(*values)
        called = jax.custom_vjp(call)
        called.defvjp(lambda *values: ((out := call(*values)), (values, out)), self._backward)
        return called(*values)

    def _backward(self, kept, gradient):
        values, out = kept
        grads = self.bprop(*map(wrap, values), jax.tree.map(wrap, out), jax.tree.map(wrap, gradient))  # pyright: ignore[reportOptionalCall]
        grads = grads if isinstance(grads, (tuple, list)) else (grads,)
        return tuple(g._value if isinstance(g, Tensor) else jnp.asarray(g, v.dtype) for g, v in zip(grads, values))

    def _results(self, values):
        shapes = self.out_shape
        if callable(shapes):
            shapes = shapes(*[tuple(v.shape) for v in values])
        shapes = values[0].shape if shapes is None else shapes
        types = self.out_dtype
        if callable(types) and not isinstance(types, type):
            types = types(*[from_np(v.dtype) for v in values])
        types = from_np(values[0].dtype) if types is None else types
        if shapes and isinstance(shapes[0], (tuple, list)):
            types = types if isinstance(types, (tuple, list)) else [types] * len(shapes)
            return tuple(jax.ShapeDtypeStruct(tuple(s), to_jax(as_dtype(t))) for s, t in zip(shapes, types))
        return jax.ShapeDtypeStruct(tuple(shapes), to_jax(as_dtype(types)))


@operator(5, name="DynamicRNN")
def _lstm(x, w, b, h, c, forget_bias, cell_clip, forward):
    def step(carry, x):
        h, c = carry
        i, j, f, o = jnp.split(jnp.concatenate([x, h], 1) @ w + b, 4, axis=1)
        i, j, f, o = jax.nn.sigmoid(i), jnp.tanh(j), jax.nn.sigmoid(f + forget_bias), jax.nn.sigmoid(o)
        c = c * f + i * j
        if cell_clip > 0:
            c = jnp.clip(c, -cell_clip, cell_clip)
        h = jnp.tanh(c) * o
        return (h, c), (h, h, c, i, j, f, o, jnp.tanh(c))

    return jax.lax.scan(step, (h[0], c[0]), x, reverse=not forward)[1]


class DynamicRNN(Form):
    """An LSTM over a sequence: called with (x, w, b, None, init_h, init_c).

    Args:
        cell_type (str): "LSTM". Default: "LSTM".
        direction (str): "UNIDIRECTIONAL" or "REDIRECTIONAL", from the end. Default: "UNIDIRECTIONAL".
        cell_clip (float): the largest value of the cell's state; negative for no limit. Default: -1.0.
        forget_bias (float): added to the forget gate. Default: 0.0.
        cell_depth, use_peephole, keep_prob, num_proj, time_major, activation, is_training: only the defaults are offered.

    Inputs:
        - **x** (Tensor) - (steps, batch, input size).
        - **w** (Tensor) - (input size + hidden size, 4 * hidden size), for the gates i, j, f and o.
        - **b** (Tensor) - (4 * hidden size,).
        - **seq_length** - None.
        - **init_h**, **init_c** (Tensor) - (1, batch, hidden size).

    Outputs:
        tuple of eight Tensors (steps, batch, hidden size): the output, h, c, the gates i, j, f and o, and tanh(c).

    Raises:
        NotImplementedError: a setting that is not offered.
    """

    cell_type: str = "LSTM"
    direction: str = "UNIDIRECTIONAL"
    cell_depth: int = 1
    use_peephole: bool = False
    keep_prob: float = 1.0
    cell_clip: float = -1.0
    num_proj: int = 0
    time_major: bool = True
    activation: str = "tanh"
    forget_bias: float = 0.0
    is_training: bool = True

    def __call__(self, x: Tensor, w: Tensor, b: Tensor, seq_length: None, init_h: Tensor, init_c: Tensor) -> Any:
        offered = {
            "cell_type": "LSTM", "cell_depth": 1, "use_peephole": False, "num_proj": 0, "time_major": True, "activation": "tanh",
        }  # fmt: skip
        for name, value in offered.items():
            if getattr(self, name) != value:
                raise NotImplementedError(f"For 'DynamicRNN', '{name}' should be {value!r}, but got {getattr(self, name)!r}.")
        if seq_length is not None:
            raise NotImplementedError("For 'DynamicRNN', 'seq_length' should be None: all sequences have the same length.")
        return _lstm(x, w, b, init_h, init_c, self.forget_bias, self.cell_clip, self.direction == "UNIDIRECTIONAL")


class PrimitiveWithInfer(Primitive):
    """The base of operators that a program defines with its own rules of shapes; calling one needs a ``__call__`` of its own.

    Args:
        name (str): the operator's name.
    """


class PrimitiveWithCheck(PrimitiveWithInfer):
    """The same, for operators whose rules only check."""


def prim_attr_register(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of an operator's ``__init__``: its arguments become attributes.

    Args:
        fn (callable): the ``__init__``.
    """
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def init(self, *args, **kwargs):
        Primitive.__init__(self, type(self).__name__)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            self.add_prim_attr(name, value)
            self.init_attrs[name] = value
        fn(self, *args, **kwargs)

    return init


prim_arg_register = prim_attr_register
