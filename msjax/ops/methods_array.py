"""Tensor methods that arrange, pick and put elements."""

from msjax.ops import arrange, indexing


def _iterate(self):
    if not self._value.ndim:
        raise TypeError("A 0-d Tensor can't be iterated.")
    return (self[i] for i in range(self._value.shape[0]))


def _shape_arguments(args):
    return args[0] if len(args) == 1 and not isinstance(args[0], int) else args


def _reshape(self, *shape_):
    """The same elements in another shape, given as ints or a tuple; one -1 is worked out."""
    return arrange.reshape(self, _shape_arguments(shape_))


def _transpose(self, *axes):
    """The axes in another order, given as ints or a tuple; reversed by default."""
    axes = _shape_arguments(axes)
    return arrange.transpose(self, axes if axes or self.ndim == 0 else tuple(range(self.ndim))[::-1])


def _permute(self, *axis):
    """The axes in another order, given as ints or a tuple."""
    return arrange.permute(self, _shape_arguments(axis))


def _astype(self, dtype, copy=True):
    """The elements converted to another data type, given as a type or its name."""
    return arrange.cast(self, dtype)


def _expand(self, *size):
    """The Tensor repeated to a larger shape; -1 keeps the size of an axis."""
    return arrange.broadcast_to(self, _shape_arguments(size))


def _caster(code):
    def method(self):
        return arrange.cast(self, code)

    method.__doc__ = f"The elements converted to {code}."
    return method


def _item_set(self, index_, value):
    indexing.setitem(self, index_, value)


def _T(self):
    """The Tensor with its axes reversed."""
    return _transpose(self)


METHODS = {
    "__getitem__": indexing.getitem,
    "__setitem__": _item_set,
    "__iter__": _iterate,
    "T": property(_T),
    "reshape": _reshape,
    "view": _reshape,
    "transpose": _transpose,
    "permute": _permute,
    "swapaxes": arrange.swapaxes,
    "expand_dims": arrange.expand_dims,
    "unsqueeze": arrange.unsqueeze,
    "squeeze": arrange.squeeze,
    "flatten": lambda self, order="C", *, start_dim=0, end_dim=-1: arrange.flatten(
        self, order, start_dim=start_dim, end_dim=end_dim
    ),
    "ravel": lambda self: arrange.reshape(self, (-1,)),
    "broadcast_to": _expand,
    "expand": _expand,
    "tile": arrange.tile,
    "split": arrange.split,
    "astype": _astype,
    "to": _astype,
    "type_as": lambda self, other: arrange.cast(self, other.dtype),
    "int": _caster("int32"),
    "long": _caster("int64"),
    "half": _caster("float16"),
    "float": _caster("float32"),
    "bool": _caster("bool"),
}
