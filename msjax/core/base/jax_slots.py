"""The one file that uses what jax offers no public way for.

jax keeps the names of `jax`, `jax.lax`, `jax.numpy` and the like for three months at least. It promises nothing for `jax.core`,
`jax.extend`, `jax.interpreters`, `jax.experimental` and for attributes that its pages don't describe. Of these, other files use
what primitives and interpreters of jaxprs are made of (tests/test_architecture.py lists it); the rest is here.
tests/base/test_jax_slots.py says what is expected of each.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import itertools
import pickle
import re
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import jax
import jax.api_util
import jax.core
import jax.extend.core
import jax.extend.linear_util
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend import source_info_util
from jax.interpreters import ad, mlir

# The versions of jax with which all of this was seen to work.
CHECKED = ("0.10.2", "0.12.0")


try:
    # trace_state() is equal to an earlier one exactly where the same transformations of jax are under way.
    trace_state = jax.extend.core.get_opaque_trace_state
    with jax.core.eval_context():
        # The state outside of all transformations.
        NO_TRACE = trace_state()

    # ``with within_trace(trace)``: jax computes as part of that transformation, one around the innermost.
    within_trace = jax.extend.core.set_current_trace

    # user_context(default) is a variable of each thread whose value is part of the key of every cache of jax: what was traced under
    # one value is not used under another. When one is made, jax forgets all that it has traced so far.
    user_context = jax.make_user_context

    # settings_token() is the same object exactly where all settings that tracing depends on are the same, those of ``with``
    # statements and the variables of `user_context` included: what jax's own cache has for them.
    settings_token = functools.partial(
        jax.extend.linear_util.cache(lambda _: object()),
        jax.extend.linear_util.wrap_init(lambda: None, debug_info=jax.api_util.debug_info("msjax", lambda: None, (), {})),
    )

    # The effects of an equation that has none.
    NO_EFFECTS = jax.extend.core.no_effects

    # ``with take_current_trace() as trace`` is the innermost transformation that is under way.
    take_current_trace = jax.extend.core.take_current_trace

    # What jax notes of a function that it traced.
    DebugInfo = jax.extend.core.DebugInfo
except AttributeError as error:
    raise ImportError(
        f"jax {jax.__version__} has no {error.name!r} in {getattr(error.obj, '__name__', error.obj)}, which msjax needs. "
        f"msjax/core/base/jax_slots.py was checked with jax {', '.join(CHECKED)}."
    ) from error


# ---- where jax stands: inside of which transformation


def current_trace() -> Any:
    """jax's object for the innermost transformation that is under way; one for computing at once if there is none."""
    with take_current_trace() as trace:
        return trace


def _outward() -> Iterator[Any]:
    """jax's objects for the transformations that are under way, from the innermost outward."""
    trace = current_trace()
    while trace is not None:
        yield trace
        trace = getattr(trace, "parent_trace", None)


def enclosing_traces() -> list[Any]:
    """jax's objects for the transformations that are under way, from the innermost outward to the first that records a program: code
    may use the values of all of these."""
    traces = []
    for trace in _outward():
        traces.append(trace)
        if hasattr(trace, "frame"):
            break
    return traces


def transposing() -> bool:
    """Whether a function is traced by `jax.linear_transpose`, as by gmres: it is run backwards alone, so that its values are never there."""
    return any(type(trace).__name__ == "JaxprTrace" for trace in enclosing_traces())


def trace_of(value: Any) -> Any:
    """jax's object for the transformation that a tracer belongs to; None for a value that is no tracer."""
    return getattr(value, "_trace", None)


# What jax traces by itself, perhaps later, and takes what it closes over for constants.
_APART = {"custom_jvp jvp", "custom_vjp fwd", "custom_vjp bwd", "closure_convert"}


def outside_of_rule(value: Any) -> bool:
    """Whether a rule of a custom_jvp or custom_vjp is traced now, or what `jax.closure_convert` is given, and a tracer, which that may not
    use, belongs to what is around it."""
    own = trace_of(value)
    inner = itertools.takewhile(lambda trace: trace is not own, _outward())
    return any(getattr(trace.frame.debug_info, "traced_for", None) in _APART for trace in inner if hasattr(trace, "frame"))


# ---- settings


def settings() -> dict[str, Any]:
    """jax's settings by name, as they are for this thread."""
    return jax.config.values


# ---- jaxprs


@functools.cache
def debug_effects() -> frozenset[Any]:
    """The effects of `jax.debug.callback`, which keep jax from dropping an equation on whose results nothing depends."""
    return frozenset(jax.make_jaxpr(lambda: jax.debug.callback(lambda: None))().effects)


def jaxpr_of(invars: Sequence[Any], outvars: Sequence[Any], eqns: Sequence[Any], name: str) -> jax.extend.core.Jaxpr:
    """A jaxpr of equations of other jaxprs, with the name that jax's messages show."""
    info = DebugInfo(name, name, ("",) * len(invars), ("",) * len(outvars))
    effects = frozenset().union(*[eqn.effects for eqn in eqns])
    return jax.extend.core.Jaxpr((), list(invars), list(outvars), list(eqns), effects, info)


def inlined(closed: jax.extend.core.ClosedJaxpr) -> Callable[..., Any]:
    """A function of a jaxpr's operands; where jax traces it, the equations are copied, as those of a function of `jax.jit(inline=True)`."""
    with jax.disable_jit(False):
        sample = jax.make_jaxpr(jax.jit(lambda x: x + 1))(0.0).eqns[0]
    # True, or from jax 0.12 on, a member of an enumeration.
    at_once = getattr(type(sample.params["inline"]), "JAX_EARLY", True)
    params = {**sample.params, "jaxpr": closed, "name": "program", "inline": at_once}
    params |= {key: params[key] * len(closed.in_avals) for key in ("in_shardings", "in_layouts", "donated_invars")}
    params |= {key: params[key] * len(closed.out_avals) for key in ("out_shardings", "out_layouts")}
    return functools.partial(sample.primitive.bind, **params)


@jax.jit
def _itself(value):
    return value


def _called(value):
    with set_xla_metadata(inlineable="false"):
        return _itself(value)


def from_memory(value: Any) -> Any:
    """A value that a program hands out, for those who use it within: on CPUs, their kernels read it, and don't compute it anew.

    It passes a call that XLA does not dissolve, which does nothing. Unlike a barrier that lasts until code is emitted, such a call may lie in
    a loop or a branch.
    """
    return jax.lax.platform_dependent(value, cpu=_called, default=lambda value: value)


def inner_jaxprs(*eqns: jax.extend.core.JaxprEqn) -> list[jax.extend.core.Jaxpr | jax.extend.core.ClosedJaxpr]:
    """The jaxprs among the parameters of equations, closed ones with their constants; jax's own function leaves these out."""
    found = []
    for eqn in eqns:
        for value in eqn.params.values():
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, (jax.extend.core.Jaxpr, jax.extend.core.ClosedJaxpr)):
                    found.append(each)
    return found


def inner_equations(*eqns: jax.extend.core.JaxprEqn) -> list[jax.extend.core.JaxprEqn]:
    """The equations of those jaxprs; of a custom_vjp's forward, too, which closes over values."""
    return [eqn for jaxpr in inner_jaxprs(*eqns) for eqn in jaxpr.eqns]


def with_constants_as_inputs(jaxpr: jax.extend.core.Jaxpr) -> jax.extend.core.Jaxpr:
    """A jaxpr that takes the constants of another one before its inputs."""
    given = [*jaxpr.constvars, *jaxpr.invars]
    return jaxpr.replace(constvars=(), invars=given, debug_info=jaxpr.debug_info._replace(arg_names=("",) * len(given)))


def traced_so_far(outputs: Sequence[Any]) -> jax.extend.core.ClosedJaxpr:
    """What jax has traced until now, as a jaxpr without inputs; its outputs are tracers of the innermost transformation, or arrays."""
    trace = current_trace()
    out = [x if trace_of(x) is trace else trace.to_jaxpr_tracer(x, source_info_util.current()) for x in outputs]
    frame = trace.frame
    constants = frame.constvar_to_val
    jaxpr = jaxpr_of([], [x.val for x in out], frame.get_eqns(), "traced_so_far")
    return jax.extend.core.ClosedJaxpr(jaxpr.replace(constvars=list(constants)), list(constants.values()))


@contextlib.contextmanager
def context_of(eqn: jax.extend.core.JaxprEqn) -> Iterator[None]:
    """A context with what jax had set when it traced an equation: its source line and name stack, and settings such as the mesh."""
    info = eqn.source_info
    names = source_info_util.current_name_stack() + info.name_stack
    with source_info_util.user_context(info.traceback, name_stack=names), eqn.ctx.manager:
        yield


def traceback_of(eqn: jax.extend.core.JaxprEqn) -> Any:
    """The calls that led to an equation: a hashable object whose `frames` have `file_name`, `line_num` and `function_name`.

    None if jax didn't note them.
    """
    return eqn.source_info.traceback


def place_of(eqn: jax.extend.core.JaxprEqn) -> Hashable:
    """The calls that led to an equation, but for those in which jax traces: those of an operation are its derivatives', too."""
    frames = () if (traceback := traceback_of(eqn)) is None else zip(*traceback.raw_frames())
    return tuple((code, at) for code, at in frames if not _TRACING.search(code.co_filename))


@contextlib.contextmanager
def own_lines() -> Iterator[None]:
    """A context in which equations get the calls that really lead to them, also where jax would give them those of another equation."""
    names = source_info_util.current_name_stack()
    with source_info_util.user_context(_NoTraceback(), name_stack=names):
        yield


class _NoTraceback:
    """Stands where jax looks for calls that it is to note: it is false, so that jax takes those that are under way."""

    def __bool__(self) -> bool:
        return False

    def as_python_traceback(self) -> None:
        """What jax adds to an exception: nothing."""


def name_stack_of(eqn: jax.extend.core.JaxprEqn) -> str:
    """The scopes of `jax.named_scope` around an equation, and the transformations that made it, as a text."""
    return str(eqn.source_info.name_stack)


def module_scope(path: str, call: int) -> Any:
    """A context manager that notes, with each operation within, that it belongs to call number `call` of the module of a path."""
    return jax.named_scope(f"msjax<{path}|{call}>")


_TRACING = re.compile(r"jax\W_src\W(core|interpreters\W.*|pjit|api|traceback_util|source_info_util|linear_util|profiler)\.py$")
_MODULE_SCOPE = re.compile(r"msjax<([^>|]*)\|(\d+)>")


def marked_scope(eqn: jax.extend.core.JaxprEqn) -> tuple[str, int] | None:
    """(path, number of the call) of the innermost `module_scope` around an equation; None if there is none in its jaxpr."""
    found = _MODULE_SCOPE.findall(name_stack_of(eqn))
    return (found[-1][0], int(found[-1][1])) if found else None


def file_of(closed: jax.extend.core.ClosedJaxpr) -> str:
    """The file, and the line, of the function that a jaxpr was traced from; "" if jax didn't note it."""
    info = closed.jaxpr.debug_info
    return ((info.func_src_info or "") if info is not None else "").rpartition(" at ")[2]


def varying_axes(aval: Any) -> frozenset[Any]:
    """The axes of a `jax.shard_map`'s mesh over which an abstract value varies."""
    return getattr(getattr(aval, "manual_axis_type", None), "varying", frozenset())


def zeros_of(aval: Any) -> jax.Array:
    """Zeros of an abstract value's shape, dtype and sharding, which vary over the same axes of a mesh."""
    return ad.instantiate_zeros(ad.Zero(aval))


# ---- lowering: the operations of a program that is being lowered


def platform_of(ctx: mlir.LoweringRuleContext) -> str:
    """The name of the platform that a program is lowered for."""
    return ctx.module_context.platforms[0]


def device_count(ctx: mlir.LoweringRuleContext) -> int:
    """The number of devices that a program is lowered for, as far as jax partitions it; 1 within `jax.shard_map`."""
    return getattr(ctx.module_context.axis_context, "num_devices", 1)


def manual_axes(ctx: mlir.LoweringRuleContext) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """(the manual axes, all axes) of the mesh of the `jax.shard_map` that is being lowered; None outside of one."""
    axes: Any = ctx.module_context.axis_context
    manual = getattr(axes, "manual_axes", None)
    return None if manual is None else (tuple(manual), tuple(axes.mesh.axis_names))


def lowering_here(ctx: mlir.LoweringRuleContext) -> tuple[mlir.LoweringRuleContext, bool]:
    """(a context in which `emit_callback` works, whether this machine has the platform that the program is lowered for)."""
    module = ctx.module_context
    try:
        module.get_backend()
        jax.local_devices(backend=module.platforms[0])  # a compiler alone has none
    except (ValueError, RuntimeError):
        module = copy.copy(module)
        module.backend = _AbsentBackend(module.platforms[0])
        return ctx.replace(module_context=module), False
    return ctx, True


class _AbsentBackend:
    """The client of a platform that this machine lacks: enough to lower for it, not to run."""

    def __init__(self, platform: str):
        self.platform = platform

    def make_python_callback_from_host_send_and_recv(self, callback, *_):
        return callback


def emit_callback(
    ctx: mlir.LoweringRuleContext,
    on_host: Callable[..., tuple[Any, ...]],
    operands: Sequence[Any],
    sharding: tuple[str, str] | None = None,
) -> Sequence[Any]:
    """Emit the operation that calls a Python function with numpy arrays, and return its results.

    Args:
        on_host: a function from numpy arrays, the `operands`, to a tuple of them, of the types that the rule's `avals_out` say.
        sharding: (attribute, its text) that say on which devices it is called.
    """
    avals: Any = ctx.avals_in
    results: Any  # values of MLIR, one for each output
    results, _, _ = mlir.emit_python_callback(
        ctx, on_host, None, list(operands), avals, ctx.avals_out, has_side_effect=True, returns_token=False
    )
    if sharding is not None and results:
        name, text = sharding
        operation: Any = results[0]
        operation.owner.attributes[name] = mlir.ir.Attribute.parse(text)
    return results


# ---- executables


def compiler_flags() -> bytes:
    """The flags that XLA has read from XLA_FLAGS, and its defaults for all others, as bytes that differ where they do."""
    from jax.experimental import serialize_executable

    options = serialize_executable.xc.CompileOptions()  # pyright: ignore[reportPrivateImportUsage]
    options.executable_build_options.debug_options  # noqa: B018  # without it, they are left out
    return options.SerializeAsString()


def serialized(compiled: jax.stages.Compiled) -> tuple[bytes, Any]:
    """(an executable as bytes, the structure of its results)."""
    from jax.experimental import serialize_executable

    payload, _, out_tree = serialize_executable.serialize(compiled)
    return payload, out_tree


def deserialized(
    payload: bytes, in_tree: Any, out_tree: Any, device: Any, check: Callable[..., None]
) -> tuple[jax.stages.Compiled, CheckedExecutable]:
    """The program of an executable that `serialized` has made, for one device.

    Args:
        in_tree, out_tree: the structures of ``(positional arguments, keyword arguments)`` and of the results.
        device: a `jax.Device`, which is no type to a type checker.
        check: see `CheckedExecutable`.

    Raises:
        pickle.UnpicklingError: the payload refers to something that no executable needs.
        ValueError: it is the executable of a function with other operands or results.
    """
    unloaded, infos, _ = _unpickler()(io.BytesIO(payload), device.client, [device]).load()
    if len(unloaded.output_avals) != out_tree.num_leaves:
        raise ValueError("it is the executable of a function with another number of results")
    args_info = in_tree.unflatten(infos)  # raises for another number of operands
    executable: Any = CheckedExecutable(unloaded.load(), check)
    return jax.stages.Compiled(executable, [], args_info, out_tree, no_kwargs=True), executable


@functools.cache
def _unpickler():
    """jax's own unpickler of executables, without the calls of any functions that pickles allow."""
    from jax.experimental import serialize_executable

    allowed: dict[tuple[str, str], Any] = {}

    class Unpickler(serialize_executable._JaxPjrtUnpickler):
        def find_class(self, module, name):
            found = allowed.get((module, name))
            if found is None:
                found = super().find_class(module, name)
                of = str(getattr(found, "__module__", "")).partition(".")[0]
                is_class = isinstance(found, type) and of in ("jax", "jaxlib")
                if not (is_class or found is np.dtype or (of == "jax" and name.lstrip("_").startswith("unpickle_"))):
                    raise pickle.UnpicklingError(f"an executable should not need {module}.{name}")
                allowed[module, name] = found
            return found

    return Unpickler


class CheckedExecutable:
    """The executable within a `jax.stages.Compiled`, with a check of each call that jax's fast path doesn't know.

    jax comes to `call` whenever the fast path meets a new combination of operands and settings, and checks less there than before
    it compiles: neither weak types nor settings.

    Args:
        executable: jax's own.
        check: called with the operands that are not None; raises where the program was compiled for another call.

    Attributes:
        checked: whether a call has come to the check.
    """

    def __init__(self, executable: Any, check: Callable[..., None]):
        self.executable = executable
        self.check = check
        self.checked = False
        self._fast_path = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.executable, name)

    def create_cpp_call(self, params: Any) -> Any:
        """Called by jax to make the fast path of a program; since `params` have this object as the executable, it goes on to `call` for calls that it doesn't know."""
        if params.executable is not self:
            return None
        fast_path = self.executable.create_cpp_call(params)
        # Weakly, since it refers to this object, and Python can't collect such a cycle.
        self._fast_path = None if fast_path is None else weakref.ref(fast_path)
        return fast_path

    def fast_path(self) -> Callable[..., Any] | None:
        """The fast path of a `jax.stages.Compiled` that has been called; None if jax made none."""
        return None if self._fast_path is None else self._fast_path()

    def call(self, *operands: Any) -> Any:
        """The outputs for the operands that are not None."""
        self.checked = True
        self.check(*operands)
        return self.executable.call(*operands)


# ---- jax's own cache on disk

# The events of `jax.monitoring` that a program is looked for in that cache, and that it was found there.
CACHE_REQUEST = "/jax/compilation_cache/compile_requests_use_cache"
CACHE_HIT = "/jax/compilation_cache/cache_hits"


def forget_cache_folder() -> None:
    """Have jax read the settings of that cache again; by itself, it reads them only before it first compiles."""
    from jax.experimental.compilation_cache import compilation_cache

    compilation_cache.reset_cache()
