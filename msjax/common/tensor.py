"""Tensor: a jax array with MindSpore's interface.

A Tensor holds one jax array (or, while jax traces, a tracer). Arrays are immutable: an in-place change gives the
Tensor another array. Operators and most methods are attached by msjax.ops, hooks
and gradients by msjax.engine.autograd: this file has what needs neither. It is longer than 400 lines since these are one class.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from msjax.common import _format, dtype as mstype
from msjax.common.arrays import as_array, concrete, is_leaf as is_leaf, value_now
from msjax.common.attached import TensorMethods
from msjax.common.dtype import Type
from msjax.common.run_state import Node
from msjax.core.base.arrays import CONCRETE, is_tracer
from msjax.core.base.checks import check_no_cycle
from msjax.core.base.typing import JaxArray, PyTree
from msjax.core.door import STATE

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from msjax.common.initializers import Initializer

# What an operator takes for an operand.
TensorLike: TypeAlias = "Tensor | jax.Array | np.ndarray[Any, Any] | np.generic[Any] | complex"
# What Tensor() and msjax.numpy take for data: operands, and nested lists of them.
ArrayLike: TypeAlias = "TensorLike | Sequence[Any]"
Shape: TypeAlias = "int | Sequence[int] | Tensor"


class Tensor(TensorMethods):
    """An n-dimensional array with a data type, printed as MindSpore prints it.

    Args:
        input_data: a number, a (nested) list or tuple, a numpy or jax array, whose data is copied; or another Tensor, whose memory the
            new one shares if it has the same data type.
        dtype (ms.dtype, optional): the data type. By default that of the data; Python floats become Float32, ints
            Int64 and bools Bool.
        shape (tuple, optional): with `init` only, the shape.
        init (Initializer or str, optional): makes the data, in the place of `input_data`.

    Raises:
        TypeError: the data is not numeric, ragged, or `dtype` is no data type.

    Example:
        >>> import msjax as ms
        >>> x = ms.Tensor([1.0, 2.0])
        >>> print(x * 2, x.dtype)
        [2. 4.] Float32
        >>> (x,)
        (Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00]),)
    """

    _value: JaxArray
    # Defaults of what few tensors have: a place on the tape (see msjax.common.run_state), hooks, a gradient.
    _node: Node | None  # always there, but in views that have to be read anew
    _oidx: int = 0
    _hooks: Any = None  # a HookList, whose class lies above
    _post_hooks: Any = None  # those that run after its `grad` has changed
    _grad: Tensor | None = None
    _retains: bool = False
    _stopped: bool = False
    # A weak reference to the tracer that the value was when something was computed from it; see `used`.
    _used: Callable[[], Any] | None = None
    _make_without_data: Any  # `msjax.common.initializer` puts it here
    # MindSpore's names: whether an initializer's numbers have not been drawn yet, and the initializer. They are drawn at once here.
    has_init: bool = False
    init: Any = None
    init_flag: bool = False
    _stands_for: Tensor  # of the input of a cell with backward hooks the caller's Tensor, of the result of a write to a Parameter the Parameter

    # numpy's operators defer to Tensor's reflected ones.
    __array_priority__ = 1000

    def __init__(
        self,
        input_data: ArrayLike | None = None,
        dtype: Type | None = None,
        shape: int | Sequence[int] | None = None,
        init: Initializer | str | None = None,
        const_arg: bool = False,
    ):
        if dtype is not None and not isinstance(dtype, Type):
            raise TypeError(f"For 'Tensor', 'dtype' should be a data type such as ms.float32, but got {dtype!r}.")
        if init is not None and (input_data is not None or dtype is None or shape is None):
            raise ValueError("For 'Tensor', give either 'input_data', or 'init' with 'shape' and 'dtype', not both.")
        if input_data is None:
            if dtype is None:
                raise TypeError("For 'Tensor', 'input_data' should be numbers or a Tensor, but got None.")
            return self._make_without_data(init, shape, dtype)
        if isinstance(input_data, Tensor) and type(self) is Tensor:
            # As in MindSpore, it shares the other one's memory; gradients flow through it.
            made = input_data.astype(input_data.dtype if dtype is None else dtype)
            self.__dict__.update(made.__dict__)
            if "_view" in self.__dict__:
                self.__dict__["_view"].root.__dict__["_views"].add(self)
            return
        self._value, self._node = as_array(input_data, dtype), None

    # ---- shape and type

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis, a tuple of ints."""
        return self._value.shape

    @property
    def dtype(self) -> Type:
        """The data type, such as ``ms.float32``."""
        return mstype.from_np(self._value.dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._value.size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._value.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._value.size * self._value.dtype.itemsize

    def dim(self) -> int:
        """The number of axes."""
        return self.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return self._value.size

    nelement = numel

    def element_size(self) -> int:
        """Bytes of one element."""
        return self._value.dtype.itemsize

    def is_floating_point(self) -> bool:
        """True for float16, bfloat16, float32 and float64."""
        return self.dtype.kind == "f"

    def is_complex(self) -> bool:
        """True for complex64 and complex128."""
        return self.dtype.kind == "c"

    def is_signed(self) -> bool:
        """True if the data type has negative numbers."""
        return self.dtype.kind in "ifc"

    def is_pinned(self) -> bool:
        """False: jax has no pinned memory of its own for host arrays."""
        return False

    def init_data(self, slice_index: int | None = None, shape: Any = None, opt_shard_group: str | None = None) -> Tensor:
        """The Tensor itself: its numbers are there from the start. The arguments are without effect."""
        return self

    def value(self) -> Tensor:
        """The Tensor itself (of a Parameter: its value)."""
        return self

    @property
    def device(self) -> str:
        """Where the data is: "CPU", "GPU" or "TPU"."""
        if is_tracer(self._value):
            return jax.default_backend().upper()
        return next(iter(self._value.devices())).platform.upper()

    # ---- conversion to Python and numpy

    def asnumpy(self) -> np.ndarray:
        """The data as a numpy array of the same shape and dtype, a copy that may be written to.

        Raises:
            TypeError: the value is not known yet, since the program is being compiled.
        """
        return np.array(concrete(self, "asnumpy()"))

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The same as `asnumpy`."""
        return self.asnumpy()

    def tolist(self) -> Any:
        """The data as nested lists of Python numbers; a number for a 0-d Tensor."""
        return np.asarray(concrete(self, "tolist()")).tolist()

    def item(self, index: int | tuple[int, ...] | None = None) -> Any:
        """The only element as a Python number, or the element at `index`.

        Args:
            index (int or tuple of int, optional): a flat index or one per axis.

        Raises:
            ValueError: several elements and no index.
        """
        array = np.asarray(concrete(self, "item()"))
        if index is not None:
            return array[index].item() if isinstance(index, tuple) else array.ravel()[index].item()
        if array.size != 1:
            raise ValueError(f"For 'Tensor.item', the Tensor should have one element, but its shape is {self.shape}.")
        return array.item()

    def __bool__(self) -> bool:
        if self._value.size != 1:
            raise ValueError(
                f"The truth value of a Tensor of shape {self.shape} is ambiguous; use t.any() or t.all() for one answer."
            )
        return bool(np.asarray(concrete(self, "bool()")).reshape(()))

    def _number(self, kind, name):
        if self._value.size != 1:
            raise ValueError(f"Only a Tensor of one element becomes a Python {name}, but got shape {self.shape}.")
        return kind(np.asarray(concrete(self, f"{name}()")).reshape(())[()])

    def __int__(self) -> int:
        return self._number(int, "int")

    def __float__(self) -> float:
        return self._number(float, "float")

    def __complex__(self) -> complex:
        return self._number(complex, "complex")

    def __index__(self) -> int:
        if self.dtype.kind not in "iub":
            raise TypeError(f"Only a Tensor of integers or a bool can be an index, but got dtype {self.dtype}.")
        return self._number(int, "index")

    def __len__(self) -> int:
        if not self._value.ndim:
            raise TypeError("A 0-d Tensor has no len().")
        return self._value.shape[0]

    def __array__(self, dtype: np.typing.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        array = np.asarray(concrete(self, "numpy"))
        return array.astype(dtype) if dtype is not None and array.dtype != dtype else np.array(array)

    def __dlpack__(self, **options: Any) -> Any:
        return self.__jax_array__().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        array: Any = self.__jax_array__()
        return array.__dlpack_device__()

    def __jax_array__(self) -> JaxArray:
        """The jax array, for code outside of msjax; an error if that would cut a recorded gradient."""
        if self._node is not None and self._node.live():
            raise RuntimeError(_ESCAPES.format(shape=self.shape, dtype=self.dtype))
        value = self._value
        # Hooks of compiled programs get numpy arrays, since most of these values never go back to a device.
        return jnp.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else value

    def __hash__(self) -> int:
        return id(self)

    def __format__(self, spec: str) -> str:
        return text_of(self, "format", spec) if spec else str(self)

    def __str__(self) -> str:
        return text_of(self, "str")

    def __repr__(self) -> str:
        return text_of(self, "repr")

    # ---- copies

    def __copy__(self) -> Tensor:
        return wrap(self._value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return memo.setdefault(id(self), wrap(self._value))

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensor, (np.asarray(concrete(self, "pickle")),)

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            if name == "_value" or name == "_node":
                view = self.__dict__.get("_view")
                if view is not None:
                    return view.read(self, name)
                if name == "_node":
                    return None
            offered = "; docs/api.md lists what it offers, and ms.from_jax(fn) makes an operator of any jax function"
            raise AttributeError(f"msjax's Tensor has no attribute {name!r}{'' if name.startswith('_') else offered}.")

    @staticmethod
    def from_numpy(array: np.ndarray) -> Tensor:
        """A Tensor with a copy of a numpy array's data. Unlike in MindSpore, later writes to the array don't show in it."""
        if not isinstance(array, np.ndarray):
            raise TypeError(f"For 'from_numpy', the argument should be a numpy array, but got {type(array).__name__}.")
        return of_numpy(wrap(as_array(array)))


from_numpy = Tensor.from_numpy

_ESCAPES = """A Tensor of shape {shape} and dtype {dtype}, whose gradient is being recorded, was given to code outside of msjax
(jax.numpy, jax.tree or a jax transformation), which would cut its gradient without a word. Ways out:
  1. use the msjax operator: ops.sin(x) in the place of jnp.sin(x);
  2. lift the jax function to an operator: ms.from_jax(fn)(x);
  3. where no gradient is wanted, say so: ops.stop_gradient(x), or `with ms.no_grad():` around the computation."""


def defer_to_tensor(self: object, _other: object) -> Any:
    """Replaces an operator that Parameters and Buffers would inherit from nnx.Variable, so that Python treats them as Tensors.

    ``p += 1`` makes a new Tensor, as ``p + 1`` does, and ``p << 1`` is a TypeError.
    """
    return NotImplemented


def text_of(tensor: Tensor, kind: str, spec: str = "") -> str:
    """The Tensor as text.

    Args:
        kind: "str" or "repr", or "format" for its only element in the format `spec`.

    While a program is traced, the text of a traced value is a placeholder that each run of the program fills in.
    """
    known = value_now(tensor)
    if known is not None:
        if kind == "repr" and tensor.__dict__.get("_from_numpy") is tensor._value:
            kind = "numpy"
        return _format.value_text(known, kind, spec)
    return STATE.mark(tensor, kind, spec) or f"Tensor(shape={list(tensor.shape)}, dtype={tensor.dtype}, value= <traced>)"


def of_numpy(tensor: Tensor) -> Tensor:
    """Let a Tensor that came from numpy have numpy's text in containers, until it is written to, as where it shares numpy's memory in MindSpore."""
    tensor.__dict__["_from_numpy"] = tensor._value
    return tensor


def wrap(value: JaxArray | None, node: Node | None = None, oidx: int = 0, _new: Callable[..., Any] = object.__new__) -> Tensor:
    """A Tensor around a jax array, or None where a value comes later, without checks; on the tape, it is output number `oidx` of `node`."""
    tensor = _new(Tensor)
    tensor._value = value
    tensor._node = node
    if oidx:
        tensor._oidx = oidx
    return tensor


def root_of(tensor: Tensor) -> Tensor:
    """The Tensor whose memory a view shares; any other Tensor itself."""
    view = tensor.__dict__.get("_view")
    return tensor if view is None else view.root


def mark_used(operands: Iterable[Any]) -> None:
    """Note that something is computed from the present values of those Tensors among the operands that jax traces."""
    for operand in operands:
        if isinstance(operand, Tensor) and is_tracer(operand._value):
            operand._used = weakref.ref(operand._value)


def used(tensor: Tensor) -> bool:
    """Whether something was computed already from the present value, which jax traces."""
    return tensor._used is not None and tensor._used() is tensor._value


def filled_like(value: JaxArray, number: float, dtype: Any = None) -> Tensor:
    """A Tensor of the shape, device and, by default, dtype of a jax array, full of a number; jax would compile a program for each shape."""
    if not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer) or len(value.sharding.device_set) > 1:
        return wrap(jnp.full_like(value, number, dtype))
    kind = value.dtype if dtype is None else dtype
    if not value.shape and not value.committed:
        return wrap(_scalar(number, kind))
    return wrap(jax.device_put(np.full(value.shape, number, kind), value.sharding if value.committed else None))


@partial(jax.jit, static_argnums=(0, 1))
def _scalar(number, dtype):
    """A 0-d array, as every gradient of a loss begins with: in a twentieth of the time of `jax.device_put`."""
    return jnp.full((), number, dtype)


def renewed(value: PyTree) -> PyTree:
    """Nested containers with new Tensors of the same values at the same places of the tape.

    A recomputed cell, or one with a `bprop`, returns none of its arguments, in any mode: a write to a result leaves them alone.
    """
    return jax.tree.map(lambda v: wrap(v._value, v._node, v._oidx) if is_tensor(v) else v, value, is_leaf=is_tensor)


def being_traced(args: Iterable[Any], kwargs: Mapping[str, Any] | None = None) -> bool:
    """Whether a call becomes part of a program: one is being traced, or jax traces a Tensor among the arguments, see `has_tracers`."""
    return STATE.trace is not None or has_tracers(args, kwargs)


def has_tracers(args: Iterable[Any], kwargs: Mapping[str, Any] | None = None, depth: int = 0) -> bool:
    """Whether jax traces a Tensor among the arguments of a call; `depth` is of the container that holds them.

    Raises:
        RuntimeError: a list or dict among them holds itself.
    """
    if depth == 50:
        check_no_cycle(args)
    pending = [*args, *kwargs.values()] if kwargs else [*args]
    for arg in pending:
        if isinstance(arg, Tensor):
            if arg._value.__class__ not in CONCRETE and is_tracer(arg._value):
                return True
        elif arg.__class__ is tuple:
            pending += arg
        elif arg is not None and not isinstance(arg, (float, int, str)) and not callable(arg):
            # What holds itself must not reach jax's C++ code, which leaves Python's count of nested calls wrong.
            inside = arg if arg.__class__ is list else arg.values() if arg.__class__ is dict else tensors_in(arg)
            if has_tracers(inside, None, depth + 1):
                return True
    return False


jax.tree_util.register_pytree_with_keys(
    Tensor,
    lambda t: (((jax.tree_util.GetAttrKey("value"), t.__jax_array__()),), None),
    lambda _, children: wrap(*children),
    lambda t: ((t.__jax_array__(),), None),
)


def tensor(
    input_data: ArrayLike | None = None,
    dtype: Type | None = None,
    shape: int | Sequence[int] | None = None,
    init: Initializer | str | None = None,
    const_arg: bool = False,
) -> Tensor:
    """A new Tensor; the arguments are those of `Tensor`.

    Example:
        >>> import msjax as ms
        >>> print(ms.tensor([1, 2, 3]).dtype == ms.Tensor([1, 2, 3]).dtype)
        True
    """
    return Tensor(input_data, dtype, shape, init, const_arg)


def is_tensor(obj: object) -> TypeIs[Tensor]:
    """True for a Tensor or Parameter.

    Example:
        >>> import msjax as ms
        >>> ms.is_tensor(ms.Tensor(1.0)), ms.is_tensor(1.0)
        (True, False)
    """
    return isinstance(obj, Tensor)


def tensors_in(value: PyTree) -> list[Tensor]:
    """The Tensors in nested containers."""
    return [leaf for leaf in jax.tree.leaves(value, is_leaf=is_tensor) if isinstance(leaf, Tensor)]
