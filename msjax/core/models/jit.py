"""hooks.jit: a compiled function whose observers are called after each run, with values that are outputs of the program.

Of equinox models among its arguments and results, the leaves that are no arrays are static, as for eqx.filter_jit.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Hashable
from typing import Any

import jax

from msjax.core.base import jax_slots
from msjax.core.base.errors import check_function
from msjax.core.base.split import Split, opened
from msjax.core.base.typing import PyTree
from msjax.core.base.weak import Recent, identity
from msjax.core.jaxprs.observers import with_observed
from msjax.core.models.frameworks.framework import registry_of

# The programs of so many hooked models are kept, those that were used last.
_MOST = 64


def jit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function, as nnx.jit and jax.jit do, and call its observers after each run.

    Under nnx.jit and jax.jit, hooks get their values by callbacks, late and on another thread. Here the values are outputs of the
    program: when the call returns, all its observers have been called, on the caller's thread, in the order and with the values of
    the same code without jit; in a scan, once a step; what the backward pass of a checkpoint computes again calls none again. Hooks that
    return a value are part of the program. Without hooks, it is the program that nnx.jit or jax.jit would compile.

    Args:
        fn (callable): a function; among its arguments and results may be flax nnx modules, as for nnx.jit, or equinox models, as for
            eqx.filter_jit: what is no array in them is static. If left out, this returns a decorator.
        options: those of nnx.jit (of jax.jit, if no argument is an nnx module): static_argnums, static_argnames, donate_argnums,
            donate_argnames, in_shardings, out_shardings and so on.

    Returns:
        A function with the arguments and results of `fn`. Its first call compiles; when hooks come, the next call compiles
        once more; when they go, the earlier program is used. Programs for a hooked model among the arguments go with it, and those for
        64 such models at most are kept. `.lower(...).compile()`
        is a program for some arguments, and calls the observers, too. Within other jitted or differentiated code, it is
        nnx.jit(fn) or jax.jit(fn). Give it the model as an argument: of a model that `fn` closes over, it keeps, as those do, the
        weights and hooks of the first call.

    Raises:
        TypeError: `fn` can't be called; or what nnx.jit and jax.jit raise.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Sequential(nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0)), nnx.relu)
        >>> handle = ms.hooks.register_forward_hook(model, lambda module, args, output: print("output:", output), "layers.0")
        >>> gradients = ms.hooks.jit(nnx.grad(lambda model, x: model(x).sum()))(model, jnp.array([2.0]))
        output: [2.]
        >>> handle.remove()
    """
    if fn is None:
        return functools.partial(jit, **options)
    check_function(fn, "jit")
    return _Jitted(fn, options)


class _Jitted:
    def __init__(self, fn, options):
        functools.update_wrapper(self, fn)
        self._fn = fn
        self._options = options
        self._has_static = any(name.startswith("static") for name in options)
        # {(kind, whether it is observed): the jitted function} of calls without hooked models, and by these models' identities.
        self._plain = {}
        self._made: Recent[Hashable, dict[Any, Any]] = Recent()
        self._kinds: Recent[Any, tuple[str, list[Any]]] = Recent()

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, **kwargs):
        kind, hooked = self._kind(args, kwargs)
        # Within another program, that one hands out the values.
        observed = jax_slots.trace_state() == jax_slots.NO_TRACE
        return _called(self._jitted(kind, hooked, observed), kind, args, kwargs, observed)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Lower the function for these arguments, as nnx.jit and jax.jit do. `.compile()` of the result is a program that calls the observers, too.

        The values for the observers are further results of the lowered program, last in its text.
        """
        kind, hooked = self._kind(args, kwargs)
        if kind == "equinox":
            args, kwargs = split((args, kwargs))
        return _ObservedStage(self._jitted(kind, hooked, True).lower(*args, **kwargs), kind)

    def _kind(self, args, kwargs):
        """What is among the arguments: "nnx" modules, "equinox" models, or only "arrays"; and what lives as long as the hooked ones among them."""
        of_nnx: Any = importlib.import_module("msjax.core.models.frameworks.nnx") if "flax.nnx" in sys.modules else None
        if of_nnx is not None and any(isinstance(value, of_nnx.nnx.Module) for value in args):
            return "nnx", of_nnx.hooked_among((args, kwargs))
        structure = jax.tree.structure((args, kwargs))
        kind, registries = self._kinds.of(structure, lambda: _kind_of((args, kwargs), of_nnx), _MOST)
        if of_nnx is not None and kind == "nnx":
            return kind, of_nnx.hooked_among((args, kwargs))
        if self._has_static:  # they are no part of the structure
            static = [registry_of(value) for value in (*args, *kwargs.values())]
            registries = [*registries, *[each for each in static if each is not None and each not in registries]]
        return kind, [registry.life() for registry in registries]

    def _jitted(self, kind, hooked, observed):
        """The jitted function for calls with these hooked models; if `observed`, one that also returns the `Observed`."""
        made, key = self._plain, (kind, observed)
        if hooked:
            # jax keeps programs, and what they refer to, as long as these functions.
            made = self._made.of(tuple(map(identity, hooked)), dict, _MOST, hooked)
        if key not in made:
            own, options, compile_it = on_split(self._fn) if kind == "equinox" else self._fn, self._options, jax.jit
            if kind == "nnx":
                from flax.nnx import jit as compile_it

                from msjax.core.models.frameworks.nnx import on_modules
            fn = own
            if observed:
                on_arrays = functools.wraps(own)(lambda *args, **kwargs: with_observed(own, args, kwargs))
                fn = on_modules(own) if kind == "nnx" else on_arrays
                if options.get("out_shardings") is not None:
                    options = {**options, "out_shardings": (options["out_shardings"], None)}
            made[key] = compile_it(fn, **options)
        return made[key]


def _kind_of(given, of_nnx):
    """The kind of arguments, and the registries of the equinox models among them."""
    stops = is_equinox if of_nnx is None else lambda v: of_nnx.is_object_or_state(v) or is_equinox(v)
    leaves = jax.tree.leaves(given, is_leaf=stops)
    if of_nnx is not None and any(map(of_nnx.is_object, leaves)):
        return "nnx", []
    models = [leaf for leaf in leaves if is_equinox(leaf)]
    if not models:
        return "arrays", []
    return "equinox", importlib.import_module("msjax.core.models.frameworks.equinox").registries_among(models)


class _ObservedStage:
    """A `Lowered` or `Compiled` of jax.jit or nnx.jit, whose calls tell the observers; it passes on what it has not itself."""

    def __init__(self, stage, kind):
        self._stage = stage
        self._kind = kind

    def __getattr__(self, name):
        return getattr(self._stage, name)

    def compile(self, *args, **kwargs):
        return _ObservedStage(self._stage.compile(*args, **kwargs), self._kind)

    def __call__(self, *args, **kwargs):
        return _called(self._stage, self._kind, args, kwargs)


def _called(program, kind, args, kwargs, observed=True):
    """Run a program and return its result; with `observed`, its further outputs go to the observers, who are called after the run."""
    if kind == "equinox":
        args, kwargs = split((args, kwargs))
    out = program(*args, **kwargs)
    if observed:
        out, found = out
        if found.after is not None:
            found.after(found.values)
    return join(out) if kind == "equinox" else out


def is_equinox(value: object) -> bool:
    """Whether a value is a module of equinox, which isn't imported for that."""
    equinox = sys.modules.get("equinox")
    return equinox is not None and isinstance(value, equinox.Module)


def split(tree: PyTree) -> PyTree:
    """A pytree in which equinox models have become `Split`, and nnx modules with pytree=False nodes."""
    return opened(jax.tree.map(lambda v: Split.of(v) if is_equinox(v) else v, tree, is_leaf=is_equinox))


def join(tree: PyTree) -> PyTree:
    """The inverse of `split`."""
    return jax.tree.map(lambda v: v.joined() if isinstance(v, Split) else v, tree, is_leaf=lambda v: isinstance(v, Split))


def on_split(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function on arguments that are `split`; so is its result."""

    @functools.wraps(fn)
    def call(*args, **kwargs):
        args, kwargs = join((args, kwargs))
        return split(fn(*args, **kwargs))

    return call
