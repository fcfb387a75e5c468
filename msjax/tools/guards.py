"""guard: stops a step of training at the first NaN, tells where it came from, and leaves the state as it was."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from msjax.common.arrays import is_tracer
from msjax.common.bases import is_cell
from msjax.common.tensor import tensors_in, wrap
from msjax.compile.trace import Call, RunRejected
from msjax.functional.functionalize import state_of
from msjax.functional.module_hooks import register_backward_pre_hook, register_forward_hook
from msjax.functional.module_paths import paths
from msjax.hooks.delivery import run_traced_hook
from msjax.state import STATE
from msjax.tools.fault import Check, Fault, On, no_tensor
from msjax.tools.hook_set import HookSet
from msjax.tools.program_search import search
from msjax.tools.pynative_search import Search

if TYPE_CHECKING:
    from msjax.nn.cell import Cell


class Place(NamedTuple):
    """One value that is looked at: the outputs of a cell, or the gradient of them or of a Parameter."""

    phase: str
    path: str
    cls: str

    def fault(self, check: Check, note: str = "") -> Fault:
        return Fault(check.what, self.phase, self.path, cls=self.cls, note=note)


def guard(model: Cell | nnx.Module, on: On = "nan", gradients: bool = True) -> Any:
    """Raise a `Fault` at the first NaN of a network, with the cell, operation and line that it came from.

    Of a Cell or an nnx module, it is a context manager, in which the outputs of all cells are looked at, and the gradients with respect
    to them and to Parameters. What msjax compiles (``ms.jit``, graph mode) has one flag more for each of these and calls nothing
    back; a step whose flag is raised changes no Parameter, buffer or optimizer state, and is run again in PyNative mode to find the
    operation. In PyNative mode, buffers get the values from before the call. So training can go on, with the next batch, say, if
    the exception is caught. What jax compiles calls the guard back where a flag is raised, tells the module only, and raises at the
    next ``ms.hooks.barrier()``.

    Of a function of jax arrays, such as a step of training that would be compiled by jax.jit or nnx.jit, it is a function to call in its
    place: it is compiled, its results and the state of nnx modules among its arguments are looked at, and, if one is wrong, the
    operation is found as by `find_nan`, and the modules keep the state that they had.

    Args:
        model: a Cell, an nnx module, or a function of jax arrays.
        on (str or callable): what is looked for: "nan"; "inf" for infinite values, too; or a function from a jax array to an array
            of bools. Default: "nan".
        gradients (bool): whether gradients are looked at. Default: True.

    Returns:
        A context manager, or a function.

    Raises:
        Fault: in the ``with`` block or by the function: a `FloatingPointError` with the place as attributes.
        TypeError, ValueError: `model` or `on` is something else.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn, ops
        >>> class Log(nn.Cell):
        ...     def construct(self, x):
        ...         return ops.log(x)
        >>> net = nn.SequentialCell(nn.Tanh(), Log())
        >>> step = ms.jit(ms.value_and_grad(net))
        >>> with ms.tools.guard(net):
        ...     for x in (ms.Tensor(1.0), ms.Tensor(-1.0)):
        ...         try:
        ...             _ = step(x)
        ...         except ms.tools.Fault as fault:
        ...             print(fault.phase, fault.path, fault.operation)
        forward 1 log
    """
    check = Check(on, "guard")
    if is_cell(model):
        return _CellGuard(model, check, gradients)
    if isinstance(model, nnx.Module):
        return _ModuleGuard(model, check, gradients)
    if not callable(model):
        raise no_tensor(model, "guard")
    return _guarded(model, check)


class _Guard:
    def __init__(self, model: Cell | nnx.Module, check: Check, gradients: bool):
        self.model, self.check, self.gradients = model, check, gradients

    def _gradient(self, place, module, grads):
        self.look(place, jax.tree.leaves(grads))

    def look(self, place: Place, values: Sequence[Any], args: tuple[Any, ...] | None = None) -> None:
        """Look at the arrays of a place: now, or by a flag in the program."""
        values = [v for v in values if self.check.applies(v)]
        if not values:
            return
        if not any(map(is_tracer, values)):
            if self.check(values):
                self.found(place, args)
            return
        trace = STATE.trace
        if trace is not None and trace.silent:
            return  # a forward pass that is computed again
        if trace is not None and trace.here():
            self._flag(trace, place, values)
        else:
            flag = self._flag_of(values)
            run_traced_hook(lambda flag: self._arrived(place, flag), (wrap(flag),), "guard", observe=True, carried=())

    def _flag_of(self, values):
        return functools.reduce(jnp.logical_or, map(self.check.traced, values))

    def _arrived(self, place, flag):
        if bool(flag._value):
            raise place.fault(self.check, _COMPILED_BY_JAX)

    def _flag(self, trace, place, values):
        raise NotImplementedError

    def found(self, place: Place, args: tuple[Any, ...] | None) -> None:
        """Raise the fault of a place that is wrong."""
        raise NotImplementedError


class _Flags(NamedTuple):
    """The flags of a program that is being traced.

    Attributes:
        seen: {id: value} of the values that have one.
        found: (place, flag), in order of execution.
    """

    seen: dict[int, Any]
    found: list[tuple[Place, Any]]


class _CellGuard(_Guard):
    """The guard of a Cell."""

    def __init__(self, model: Cell | nnx.Module, check: Check, gradients: bool):
        super().__init__(model, check, gradients)
        self._search: Any = None
        self._flags: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._before = []
        self._hooks = HookSet()
        self._hooks.add(model, "forward_pre", self._begin)
        for path, cell in model.cells_and_names():
            name = type(cell).__name__
            self._hooks.add(cell, "forward", functools.partial(self._after, Place("forward", path, name)))
            if gradients:
                self._hooks.add(cell, "backward_pre", functools.partial(self._gradient, Place("backward", path, name)))
        for path, parameter in model.parameters_and_names() if gradients else ():
            if parameter.requires_grad:
                place = Place("backward", path, "Parameter")
                self._hooks.add_of_parameter(parameter, functools.partial(self._of_parameter, place))

    def __enter__(self) -> _CellGuard:
        self._hooks.on()
        self._search = Search(self.check, self.model, eager=False).__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._search.__exit__(*exception)
        self._hooks.off()

    def _begin(self, cell, args):
        if STATE.trace is None and not STATE.functional:
            trained, rest = state_of(self.model)
            self._before = [(tensor, tensor._value) for tensor in (*trained.values(), *rest.values())]
            self._search.first = None

    def _after(self, place, cell, args, output):
        self.look(place, [t._value for t in tensors_in([output])])

    def _gradient(self, place, cell, grads):
        self.look(place, [t._value for t in tensors_in(grads)])

    def _of_parameter(self, place, grad):
        self.look(place, [grad._value])
        return grad  # so that it is part of the program

    def found(self, place: Place, args: tuple[Any, ...] | None) -> None:
        for tensor, value in self._before:
            tensor._value = value
        monitor = STATE.monitor
        first = monitor.first if isinstance(monitor, Search) else None
        raise first or place.fault(self.check)

    # ---- in a program

    def _flag(self, trace, place, values):
        if trace not in self._flags:
            self._flags[trace] = _Flags({}, [])
            trace.at_end.append(functools.partial(self._close, self._flags[trace]))
        seen, found = self._flags[trace]
        # The output of a cell is often that of the last cell in it, too.
        values = [v for v in values if id(v) not in seen]
        seen.update({id(v): v for v in values})
        if values:
            found.append((place, self._flag_of(values)))

    def _close(self, flags, trace, changed):
        """The end of a program: what it writes keeps its value if a flag is raised, and the first of the flags goes out."""
        places, raised = [place for place, _ in flags.found], jnp.stack([flag for _, flag in flags.found])
        wrong = raised.any()
        for tensor, before in changed:
            new = tensor._value
            if (new.shape, new.dtype) == (before.shape, before.dtype):
                tensor._value = jnp.where(wrong, before, new)
        first = jnp.where(wrong, raised.argmax(), -1).astype(jnp.int32)
        # Before the observers of this run, which are called when it is run again.
        trace.events.insert(0, Call(functools.partial(self._check_flag, places), (wrap(first),), "guard", trace))
        flags.seen.clear()
        flags.found.clear()

    def _check_flag(self, places, first):
        number = int(first._value)
        if number >= 0:
            raise _Rejected(self, places[number])

    def explain(self, place: Place, run: Callable[[], Any]) -> None:
        """Run a step in PyNative mode, in which its fault was raised, and raise it.

        Raises:
            Fault: always.
        """
        with Search(self.check, self.model):
            try:
                run()
            except Fault as fault:
                raise fault from None
        raise place.fault(self.check, "in PyNative mode, the same step has no such value")


class _Rejected(RunRejected):
    def __init__(self, guard: _CellGuard, place: Place):
        super().__init__(f"a {guard.check.what} in {place.path}")
        self.guard, self.place = guard, place

    def again(self, run: Callable[[], Any]) -> Any:
        return self.guard.explain(self.place, run)


class _ModuleGuard(_Guard):
    """The guard of an nnx module."""

    def __enter__(self) -> _ModuleGuard:
        self._handles = []
        for path, module in paths(self.model).items():
            name, here = type(module).__name__, lambda p, _module, path=path: p == path
            forward = functools.partial(self._after, Place("forward", path, name))
            self._handles.append(register_forward_hook(self.model, forward, here, traced=True))
            if self.gradients:
                backward = functools.partial(self._gradient, Place("backward", path, name))
                self._handles.append(register_backward_pre_hook(self.model, backward, here, traced=True))
        return self

    def __exit__(self, *_exception: Any) -> None:
        for handle in self._handles:
            handle.remove()

    def _after(self, place, module, args, output):
        self.look(place, jax.tree.leaves(output), (module, args))

    def found(self, place: Place, args: tuple[Any, ...] | None) -> None:
        fault = None
        if args is not None:
            module, args = args
            self.__exit__()
            try:
                _, fault = search(lambda m, a: (m(*a), None), (module, args), {}, self.check, [module])
            finally:
                self.__enter__()
        if fault is not None and fault.path is not None:
            fault.path = ".".join(filter(None, (place.path, fault.path)))
        raise fault or place.fault(self.check)


def _guarded(fn, check):
    @jax.jit
    def program(args, kwargs):
        out = fn(*args, **kwargs)
        modules = [m for m in jax.tree.leaves((args, kwargs), is_leaf=_is_module) if _is_module(m)]
        flags = [check.traced(v) for v in jax.tree.leaves((out, modules)) if check.applies(v)]
        return out, modules, functools.reduce(jnp.logical_or, flags, jnp.array(False))

    @functools.wraps(fn, updated=())
    def guarded(*args, **kwargs):
        out, changed, wrong = program(args, kwargs)
        modules = [m for m in jax.tree.leaves((args, kwargs), is_leaf=_is_module) if _is_module(m)]
        if wrong:

            def again(args, kwargs):
                return fn(*args, **kwargs), jax.tree.leaves((args, kwargs))

            _, fault = search(again, (args, kwargs), {}, check, modules)
            raise fault or Fault(check.what, "forward", None, note="when it was run again, the function had no such value")
        for module, new in zip(modules, changed):
            nnx.update(module, nnx.state(new))
        return out

    return guarded


def _is_module(value):
    return isinstance(value, nnx.Module)


_COMPILED_BY_JAX = "in a program that jax compiled: tools.guard(step) or tools.find_nan(step, ...) finds the operation"
