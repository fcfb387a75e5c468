"""Views: Tensors that are parts of others, or others in another shape, and share their memory.

Arrays are immutable, so a view is a Tensor that knows the Tensor whose memory it shares, its root, and the steps that lead from it. Each
step is an operator that reads from a Tensor and one that writes to it (`Rule`). A write to a view computes a new value of the root in one
program. A write to the root makes its views stale: they have no value until they are read, and then read the root. What is
never written costs a weak reference.

How the elements of a view lie in the memory of its root is told by strides, as numpy has them, though jax stores each array for itself and
in order: which reshapes are views, and whether several elements of a view are one in memory.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.lib.stride_tricks import as_strided

from msjax.common.node import RootLeaf
from msjax.common.parameter import Parameter
from msjax.common.run_state import STATE
from msjax.common.tensor import Tensor, wrap
from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer
from msjax.engine.autograd.imperative import retain_grad
from msjax.engine.autograd.inplace import WRITING, leave_hooks, rebind, update
from msjax.engine.autograd.op import Op, apply


def each(steps: Iterable[Any], arrays: Iterable[Any]) -> list[tuple[Any, tuple[Any, ...]]]:
    """(step, its operands) for each step, from the operands of all steps in a row."""
    arrays = iter(arrays)
    return [(step, tuple(itertools.islice(arrays, step.count))) for step in steps]


def type_of(root: Any) -> np.dtype[Any]:
    """The type of an array that stands for a root's memory."""
    # The strides of what shows real parts depend on it. Types that are not numpy's own have none.
    return root._value.dtype if root._value.dtype.kind == "c" else np.dtype(f"V{root._value.dtype.itemsize}")


def memory(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array that stands for a root's memory; it allocates nothing, and only its strides are read."""
    return as_strided(np.zeros(1, dtype), shape, [step * dtype.itemsize for step in contiguous_strides(shape)], writeable=False)


def walked(x: Any, steps: Iterable[Any]) -> Any:
    """Apply the steps to an array; None if a reshape among them would copy."""
    for step, operands in steps:
        if step.rule.layout is None:
            try:
                x = np.reshape(x, step.shape, copy=False)
            except ValueError:
                return None
        else:
            x = step.rule.layout(x, *operands, *step.static)
            x = x if step.output is None else x[step.output]
    return x


@functools.lru_cache(maxsize=4096)
def laid(shape: tuple[int, ...], dtype: np.dtype[Any], steps: Any) -> tuple[Any, Any] | None:
    """(shape, strides in bytes) of a view, whatever its slices' starts; None if a step would copy."""
    x = walked(memory(shape, dtype), [(step, (None,) * step.count) for step in steps])
    return None if x is None else (x.shape, x.strides)


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements from one to the next along each axis of what lies in order."""
    strides = [1]
    for n in reversed(shape[1:]):
        strides.append(strides[-1] * max(n, 1))
    return tuple(reversed(strides)) if len(shape) else ()


@dataclass(frozen=True, eq=False)
class Rule:
    """How an operator that makes views reads and writes. Its functions take jax arrays: the Tensor's, then the operator's other operands and
    its settings.

    Attributes:
        read: the operator's own function; `operator` puts it in.
        write (callable, optional): ``write(x, value, ...)`` returns x with `value` in the place of what is read; by default elements are
            written one by one.
        parts: whether the elements of the result are parts of numbers.
        layout (callable, optional): does to a numpy array of the Tensor's strides what `read` does; by default the step keeps the order of
            elements and changes the shape.
        repeats: whether elements may be read more than once.
        holds (callable, optional): for a Tensor and the other arguments, whether the result is a view at all.
    """

    read: Any = None
    write: Callable[..., Any] | None = None
    layout: Callable[..., Any] | None = None
    repeats: bool = False
    parts: bool = False
    holds: Callable[..., bool] | None = None

    @property
    def identity(self) -> tuple[Any, ...]:
        """What programs with it depend on."""
        return self.read, self.write


class Step(NamedTuple):
    """One step from a root to a view: a rule, its settings, the number of its operands and that of the result it takes, None for its only
    one; and the shape of the view, None for a part that is only written."""

    rule: Rule
    static: tuple[Any, ...]
    count: int
    output: int | None
    shape: tuple[int, ...] | None


class View:
    """The place of a view.

    Args:
        base: the Tensor that it was taken from.
        step: the last one; None for all of the base, without its gradient.
        operands: of that step.
        detached: whether no gradient passes from the root to the view.

    Attributes:
        root: the Tensor whose memory it shares, no view itself.
        steps, operands: all from the root on.
        outside: whether it was taken outside of a functionalized network that has run since: its gradients don't pass through it.
    """

    __slots__ = ("root", "detached", "outside", "steps", "operands")

    def __init__(self, base: Tensor, step: Step | None, operands: tuple[Any, ...] = (), detached: bool = False):
        before: View | None = base.__dict__.get("_view")
        own = () if step is None else (step,)
        if before is None:
            self.root: Tensor = base
            self.steps: tuple[Step, ...] = own
            self.operands: tuple[Any, ...] = operands
            self.detached = detached
            self.outside = False
        else:
            self.root, self.steps, self.operands = before.root, before.steps + own, before.operands + operands
            self.detached, self.outside = detached or before.detached, before.outside

    def _read(self):
        if self.steps:
            with STATE.swap(cast=None, recording=not self.detached, stopped=None):
                found = apply(_READ, (self.root, *self.operands), (self.steps,))
        else:
            found = wrap(self.root._value)
        if (self.detached or (self.outside and STATE.in_functional_run())) and is_tracer(found._value):
            found._value = jax.lax.stop_gradient(found._value)
        return found

    def read(self, view: Tensor, name: str) -> Any:
        """Give a stale view what the root holds now; returns its attribute `name`."""
        own, root = view.__dict__, self.root
        while True:
            seen = root._value
            found, retained = self._read(), False
            if "_node" not in own:
                if found._node is None and root._node is not None and root._node.base.open and not self.detached:
                    # Under a gradient function, which does not see what is recorded outside of it.
                    own["_value"] = found._value
                    return found._value if name == "_value" else None
                own["_node"], own["_oidx"] = found._node, found._oidx
                if view._retains:
                    # `grad` should hold the gradient of what is there now.
                    view._retains = False
                    retained = found._node is not None and found._node.live()
            own["_value"] = found._value
            if root._value is seen:
                break
            _make_stale(view, self, True)  # another thread has written meanwhile
        if retained:
            retain_grad(view)
        return own[name]

    def write(self, view: Tensor, new: Tensor) -> None:
        """Write a new value of a view to the root.

        Raises:
            RuntimeError: several elements of the view are one in memory.
        """
        recording, root = STATE.recording, self.root
        _put(root, self.steps, self.operands, new, self.detached)
        if new._value.dtype == root._value.dtype and not STATE.stops_jax():
            own = view.__dict__
            own["_value"] = new._value
            if self.detached and recording:
                own["_node"], own["_oidx"] = new._node, new._oidx
            elif root._node is None:
                own.setdefault("_node", None)

    def repeats(self) -> bool:
        """Whether several elements of the view are one in memory."""
        return _repeats(self.root, self.steps)

    def fill(self, value: Any) -> None:
        """Write one value everywhere, also where several elements are one in memory."""
        _put(self.root, self.steps, self.operands, value, self.detached, alike=True)


class Views(list):
    """Weak references to the views of a root."""

    _most = 8

    def add(self, view: Tensor) -> None:
        """Add a view; what has died since is left out when the list has doubled."""
        with WRITING:
            self.append(weakref.ref(view))
            if len(self) > self._most:
                self[:] = [ref for ref in self if ref() is not None]
                self._most = max(8, 2 * len(self))

    def _living(self):
        """(view, its place) of those that live, and have not got memory of their own."""
        with WRITING:
            views = [ref() for ref in self]
        return [(view, view.__dict__["_view"]) for view in views if view is not None and "_view" in view.__dict__]

    def move(self, root: Tensor) -> None:
        """Make another Tensor, of the same value, the root."""
        root.__dict__["_views"] = self
        for _, place in self._living():
            place.root = root

    def remain_outside(self) -> None:
        """Mark the present views as taken outside of a functionalized network that is going to run."""
        for _, place in self._living():
            place.outside = True

    def changed(self, recorded: bool = False) -> None:
        """Make the views stale, since the root has another value.

        Args:
            recorded: whether that has another place on the tape, too.
        """
        for view, place in self._living():
            _make_stale(view, place, recorded)


def _make_stale(view, place, recorded):
    own = view.__dict__
    node = own.get("_node")
    # A scope that is over has recorded nothing that counts.
    if node is not None and not place.detached and node.__class__ is not RootLeaf:
        if recorded or not node.base.open:
            leave_hooks(own, node)
            own.pop("_node", None)
            own.pop("_oidx", None)
    elif recorded and node is None and not place.detached:
        own.pop("_node", None)
    own.pop("_value", None)


def without_gradient(tensor: Tensor) -> Tensor:
    """A Tensor of the same memory that no gradient passes through."""
    out = wrap(jax.lax.stop_gradient(tensor._value) if is_tracer(tensor._value) else tensor._value)
    _attach(tensor, out, View(tensor, None, detached=True))
    return out


def view_of(base: Any, out: Any, rule: Rule, operands: tuple[Any, ...] = (), static: tuple[Any, ...] = ()) -> Any:
    """Make results of an operator views of its first operand, if they share its memory.

    Args:
        base: the operand.
        out: a Tensor, or a tuple of them.
        rule: the operator's.
        operands, static: its further operands, and settings.

    Returns:
        `out`.
    """
    if not isinstance(base, Tensor) or (rule.holds is not None and not rule.holds(base._value, *operands, *static)):
        return out
    for i, part in enumerate(out) if out.__class__ is tuple else [(None, out)]:
        _attach(base, part, View(base, Step(rule, static, len(operands), i, part._value.shape), operands))
    return out


def pick(base: Tensor, out: Tensor, rule: Rule, operands: tuple[Any, ...], static: tuple[Any, ...]) -> Tensor:
    """Remember of which Tensor an index of lists, masks or Tensors has picked elements; returns them, `out`.

    They are a copy. But as in MindSpore, what is assigned to items of them is written to that Tensor, too.
    """
    place = View(base, Step(rule, static, len(operands), None, None), operands)
    root, steps, operands = place.root, place.steps, place.operands
    # Those that are copies themselves come first.
    further = [(ref, (*s, *steps), o + operands, d) for ref, s, o, d in root.__dict__.get("_picked", ())]
    out.__dict__["_picked"] = [(weakref.ref(root), steps, operands, place.detached), *further]
    return out


def write_items(base: Tensor, value: Any, rule: Rule, operands: tuple[Any, ...], static: tuple[Any, ...]) -> bool:
    """Write to items of a Tensor where that must also reach another Tensor: its root, or the one it was picked from.

    Args:
        base: the Tensor.
        value: what is written: a Tensor, number or array, whose shape is broadcast to that of the items.
        rule, operands, static: the items, as for `view_of`.

    Returns:
        Whether all is done; if not, the items of `base` itself are still to be written.
    """
    own = base.__dict__
    if "_view" not in own and "_picked" not in own:
        return False
    place = View(base, Step(rule, static, len(operands), None, None), operands)
    root, steps, operands = place.root, place.steps, place.operands
    # A leaf that is a view passes on its own gradient, not that of the root.
    done = "_view" in own and (base._node is None or not base._node.is_leaf)
    if done:
        _put(root, steps, operands, value, place.detached)
    for ref, before, more, detached in root.__dict__.get("_picked", ()):
        origin = ref()
        # What requires a gradient in PyTorch's manner follows PyTorch's rule.
        if origin is not None and (origin._node.__class__ is not RootLeaf or isinstance(origin, Parameter)):
            _put(origin, (*before, *steps), more + operands, value, detached)
    return done


def _attach(base, out, view):
    if STATE.cast is not None and base._value.dtype != out._value.dtype:
        return  # computed from a copy of another type
    root, steps = view.root, view.steps
    if len(steps) > 1 and steps[-1].rule.layout is None and laid(root.shape, type_of(root), steps) is None:
        return  # a copy: the last step changes the shape of what doesn't lie in memory in order
    out.__dict__["_view"] = view
    views = root.__dict__.get("_views")
    if views is None:
        views = root.__dict__["_views"] = Views()
    views.add(out)


def _repeats(root, steps):
    """Whether several elements of a view are one in memory."""
    found = laid(root.shape, type_of(root), steps) if any(step.rule.repeats for step in steps) else None
    return found is not None and any(stride == 0 and n > 1 for n, stride in zip(*found))


def _put(root, steps, operands, new, detached, alike=False):
    if not alike and _repeats(root, steps):
        raise RuntimeError(
            f"A view of shape {steps[-1].shape} was written to in which several elements are one element of its base, a Tensor of shape "
            f"{root.shape}, since it\nwas expanded. Ways out: write to the base, or to a copy: y = y.copy(), then y[...] = 0."
        )
    with STATE.swap(
        cast=None, recording=STATE.recording and not detached, stopped=jax_slots.trace_state() if detached else STATE.stopped
    ):
        if steps or not isinstance(new, Tensor) or new._value.dtype != root._value.dtype:
            update(root, lambda: apply(_WRITE, (root, new, *operands), (steps,)))
        else:
            rebind(root, new)


def layout_of(tensor: Tensor) -> tuple[tuple[int, ...], int]:
    """The elements from one to the next along each axis of a Tensor in its root's memory, and how many come before its first one.

    Raises:
        TypeError: an index is not known yet, since the program is being compiled.
    """
    place = tensor.__dict__.get("_view")
    if place is None:
        return contiguous_strides(tensor.shape), 0
    x = memory(place.root.shape, type_of(place.root))
    first = walked(x, each(place.steps, place.operands))
    offset = first.__array_interface__["data"][0] - x.__array_interface__["data"][0]
    return tuple([step // first.itemsize for step in first.strides]), offset // first.itemsize


# ---- programs


def _read(x, *rest):
    *arrays, steps = rest
    return _read_steps(x, each(steps, arrays))


def _read_steps(x, steps):
    for step, operands in steps:
        out = step.rule.read(x, *operands, *step.static)
        x = out if step.output is None else out[step.output]
    return x


def _write(x, value, *rest):
    *arrays, steps = rest
    return _written(x, jnp.asarray(value), each(steps, arrays))


def _written(x, value, steps):
    if not steps:
        return _fitted(value, x.shape).astype(x.dtype)
    if any(step.rule.write is None for step, _ in steps):
        parts = [i for i, (step, _) in enumerate(steps) if step.rule.parts]
        if parts:
            # Elements of another type, up to the last step that shows parts of numbers; it is one by one behind it.
            *before, last = steps[: parts[-1] + 1]
            whole = _read_steps(x, before)
            value = _written(_read_steps(whole, [last]), value, steps[parts[-1] + 1 :])
            return _written(x, last[0].rule.write(whole, value, *last[1], *last[0].static), before)
        positions = _read_steps(jnp.arange(x.size).reshape(x.shape), steps)
        return x.ravel().at[positions].set(_fitted(value, positions.shape).astype(x.dtype)).reshape(x.shape)
    (step, operands), *further = steps
    if further:
        value = _written(_read_steps(x, steps[:1]), value, further)
    elif step.shape is not None:
        value = _fitted(value, step.shape)
    output = () if step.output is None else (step.output,)
    return step.rule.write(x, value, *operands, *step.static, *output)


def _fitted(value, shape):
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value[0]
    return jnp.broadcast_to(value, shape)


_READ = Op("getitem", _read, int_grad=(0,))
_WRITE = Op("setitem", _write, int_grad=(0, 1))
