"""The compiler's options, on CPUs: for the programs of operators those that suit small ones, for large ones those that compile in parallel."""

from __future__ import annotations

import collections
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax

from msjax.core.base import jax_slots
from msjax.core.base.compiler_options import options_for, platform_of, quick_options
from msjax.engine.programs.tiers import TieredProgram, usable_cores

# The operations that move elements, and from how many elements on XLA's fusion emitters, which take most of the time of a
# compilation, are worth it: they run the first ones two to four times as fast as XLA's older code, and the others, of which sliding
# windows are made, up to 1.8 times.
_MOVES = {
    **dict.fromkeys(["transpose", "reshape", "scatter", "scatter-add", "scatter_add", "gather"], 1 << 15),
    **dict.fromkeys(["pad", "slice", "dynamic_slice"], 1 << 19),
}
# The operations whose last bits the options would change.
_DIFFERS = {"cbrt"}
# Beside one of these, moving elements costs little.
_PRODUCTS = {"dot_general", "conv_general_dilated"}


# Of primitives of msjax's own, the functions that their programs are made of.
EQUATIONS_OF: dict[Any, Callable[..., Any]] = {}


def equations(jaxpr: Any) -> list[Any]:
    """The equations of a jaxpr and of those within it; where there is a choice of platforms, those for the default one."""
    found = []
    for eqn in jaxpr.eqns:
        if made_of := EQUATIONS_OF.get(eqn.primitive):
            operands = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.invars]
            found += equations(jax.make_jaxpr(functools.partial(made_of, **eqn.params))(*operands).jaxpr)
            continue
        found.append(eqn)
        inner = jax_slots.inner_jaxprs(eqn)
        if platforms := eqn.params.get("branches_platforms"):
            chosen = next(i for i, names in enumerate(platforms) if names is None or jax.default_backend() in names)
            inner = [eqn.params["branches"][chosen].jaxpr]
        for each in inner:
            found += equations(each)
    return found


def _moves(eqn, count):
    """Whether an equation moves elements; `count` is that of the equations of its program."""
    if eqn.primitive.name == "reshape":
        # Alone, it moves nothing.
        before, after = ([n for n in v.aval.shape if n != 1] for v in (eqn.invars[0], eqn.outvars[0]))
        return count > 1 and before != after
    return eqn.primitive.name in _MOVES


def compile_operator(fn: Callable[..., Any], values: Sequence[Any]) -> tuple[Callable[..., Any], bool]:
    """The program of a function of arrays: `jax.jit` with the options that suit it and the operands of its first call.

    Returns:
        (the program, whether operands of another size may need other options). It can't be called where jax traces: see
        `is_nested`.
    """
    jitted = jax.jit(fn)
    options = options_for(values)
    if not options:
        return jitted, False
    # Tracing is not repeated when the function is called: jax keeps the trace with `fn`.
    eqns = equations(jitted.trace(*values).jaxpr.jaxpr)
    names = {eqn.primitive.name for eqn in eqns}
    if names & _DIFFERS:
        return jitted, False
    moves = [] if names & _PRODUCTS else [eqn for eqn in eqns if _moves(eqn, len(eqns))]
    if any(max(math.prod(v.aval.shape) for v in (*e.invars, *e.outvars)) >= _MOVES[e.primitive.name] for e in moves):
        return jitted, True
    return jax.jit(fn, compiler_options=options), bool(moves)


# A kernel that writes its result into its operand's memory is compiled to a loop of vectors, a check that the two don't overlap, which
# fails each time, and a loop of single elements, which runs. So small arrays get new memory, which costs nothing.
_IN_PLACE = 1 << 15

# Of an operand that is read by several equations, XLA copies all before it writes to its memory, as it does not know yet in which order they
# run. From so many bytes on, new memory costs less: ResNet-18's step takes 0.94 of the time, LeNet's with all new 1.12.
_COPIED = 1 << 20

# From so many equations on, a program is compiled for seconds, and has two tiers, if they are distinct, or compute so few elements each
# that running them at level 0 costs little, as in gradients of gradients: a PINN's step of 3,000 is compiled in 1.5 s instead of 5, and runs
# for 23 ms instead of 9. Of others, such as ResNet-50's step, XLA's newer code compiles equal kernels once; and small ones keep their last
# bits. ResNet-18's step (369) would begin after a third of the time, but 20 steps at level 0 and both compilations take 1.4 times as long.
_LARGE = 1000
_FEW = 1 << 15
_LEVEL = "xla_backend_optimization_level"


def compile_program(fn: Callable[..., Any], jaxpr: Any, donated: Sequence[int] = ()) -> Callable[..., Any]:
    """The program of a whole function, such as a step of training: `jax.jit` with the options that suit it.

    Args:
        donated: the positions of the operands whose memory may be written to. In that of small ones, a large program writes nothing.
    """
    plain = jax.jit(fn, donate_argnums=donated)
    options = large_options()
    if not options:
        return plain
    eqns = equations(jaxpr)
    if len(eqns) < _LARGE:
        return plain
    distinct = {(e.primitive.name, *[getattr(v.aval, "shape", ()) for v in (*e.invars, *e.outvars)]) for e in eqns}
    if not _PRODUCTS & {name for name, *_ in distinct}:
        return plain
    if len(distinct) >= _LARGE:
        in_place = tuple(i for i in donated if _bytes(jaxpr.invars[i].aval) >= _IN_PLACE)
        jitted = jax.jit(fn, donate_argnums=in_place, compiler_options=options)
    elif sum(v.aval.size for e in eqns for v in e.outvars if hasattr(v.aval, "size")) < _FEW * len(eqns) and _LEVEL in options:
        jitted = plain
    else:
        return plain
    # Where LLVM's level is given, by jax's setting or XLA_FLAGS, all is compiled at that.
    quick = TieredProgram(jitted, {**options, _LEVEL: 0}) if _LEVEL in options else jitted

    def program(*values):
        if platform_of(values) != "cpu":
            return plain(*values)
        try:
            return quick(*values)
        except ValueError as error:
            if not is_nested(error):
                raise
            return plain(*values)

    program.__name__ = getattr(fn, "__name__", "program")
    return program


def worth_donating(jaxpr: Any, operands: Sequence[int]) -> tuple[int, ...]:
    """Of the positions of operands that a program replaces, those whose memory it should write to: on CPUs, not what XLA would copy first."""
    if jax.default_backend() != "cpu":
        return tuple(operands)
    reads = collections.Counter([id(v) for eqn in jaxpr.eqns for v in eqn.invars])
    return tuple(i for i in operands if reads[id(v := jaxpr.invars[i])] < 2 or _bytes(v.aval) < _COPIED)


def _bytes(aval):
    return aval.size * getattr(aval.dtype, "itemsize", 0)


# Tried for whole steps, and not worth it: other `xla_cpu_experimental_ynn_fusion_type`, as no rule says which steps gain (one core, jax 0.10.2).
# Products by Eigen: LSTM 0.95 at 256 samples, but 1.19 at 8, transformer 1.04 to 1.09. Convolutions, too: LeNet-5 0.86 at 32 images, 1.10 at
# 256, U-Net 1.08 to 1.11, ResNet-18 1.01, MobileNetV3-small 1.00 to 1.02: gradients of weights gain, the others lose. Without YNNPACK's
# reductions: LSTM 1.07 to 1.17, U-Net 1.24 to 1.49, transformer 1.18.
# Tried for steps with observers, and not safe: barriers behind what hooks see that last until XLA emits code (`xla_disable_hlo_passes` with
# "cse_barrier_expander"): XLA ends the process where one lies in a loop or a branch. `jax_slots.from_memory` does the same safely.
# Tried for PyNative steps: jax's `jax_cpu_enable_async_dispatch` off: 20 dense layers forward and back 0.7 of the time, but LeNet-5 with one image no
# less (2.6 to 3.3 ms each way, beside others).
# Tried for the step of MobileNetV3-small, which LLVM compiles for 6 of 7 s of the processor, and not worth it:
# * XNNPACK's and YNNPACK's fusions (8.1 and 12.5 s where the options below take 7.4), newer code in four pieces (12.9), vectors of 128 bits
#   (9.9); AVX2 only, 512 bits, no metadata on aliases, other numbers of pieces, no checks of emitted code: within the noise;
# * loops not unrolled and `xla_cpu_optimize_for_size`, for the whole process only: 3.4 s, but steps of 10.2 to 11.3 ms instead of 8 to 9;
# * small Parameters joined to one vector: 8 % less code, as taking it apart is nearly as long; updates as calls that XLA does not inline:
#   each gets a copy of what it calls; flattened, or with the momentum as one reduction: taken apart again;
# * updates as a program of their own, compiled meanwhile: each later step takes 5 to 6 % longer, and all gradients live at once.
@functools.cache
def large_options() -> dict[str, Any]:
    """The options for large programs: those for small ones, but in pieces that LLVM compiles in parallel."""
    name, options = "xla_cpu_parallel_codegen_split_count", dict(quick_options())
    if name in options:
        # More pieces than cores, since they are not equally long.
        options[name] = max(2, min(round(2 * usable_cores()), 32))
    return options


def is_nested(error: Exception) -> bool:
    """Whether an exception is jax's refusal to call a program of `compile_operator` within a transformation, which ignores its options."""
    return isinstance(error, ValueError) and "can only be passed to top-level" in str(error)
