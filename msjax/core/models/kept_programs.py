"""compile: programs of captures that are kept, and found again by what is captured of which model. run_with_cache: a model's result, and what its
modules put out, in one call."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import jax

from msjax.core.base.arrays import is_tracer, staged
from msjax.core.base.errors import check_function, on_behalf_of
from msjax.core.base.held_state import contents_of
from msjax.core.base.split import Split
from msjax.core.base.weak import Recent, Same, identity
from msjax.core.hooks.hook import HookSite
from msjax.core.models.capture import capture_options, objects_among, run_same_program, with_written, write_to
from msjax.core.models.frameworks.framework import Pure, framework_of, framework_of_function, no_weights, registry_of
from msjax.core.models.hooked import as_model, called_as, unhooked
from msjax.core.models.inputs import call_of
from msjax.core.models.where import names_of, where_key

# So many programs are kept, those that were used last.
_MOST = 64
# A program that is compiled for few runs is compiled anew when it runs for so many times: what optimizing takes is paid by 21 to 112 quicker runs; of
# programs of four layers of 64 features, which run for 10 ms, by 200 to 2,000.
_FEW = 32
_KEPT: Recent[Any, Callable[..., Any]] = Recent()


def compile(
    model: Any,
    where: str | Iterable[str] | Callable[[str], bool] = "*",
    *,
    edit: dict[str, Callable[[Any, Any], Any]] | None = None,
    stop_after: str | None = None,
    gradients: bool = False,
    statistic: Callable[[jax.Array], Any] | None = None,
    loss: Callable[[Any], jax.Array] | None = None,
) -> Callable[..., tuple[Any, Any]]:
    """A compiled capture, which is kept: asked for again with the same model, places and functions, it compiles nothing.

    Args:
        model: an nnx module, a Cell, or another model or function, as for `capture`. Its weights are inputs of the program, so that a
            trained or edited model needs no new one; those that a plain function closes over are part of it, as for jax.jit. A Cell is traced
            at each call, since its attributes may have changed, and its program is found by what it computes.
        where, edit, stop_after, gradients, statistic, loss: see `capture`; functions are told apart by identity.

    Returns:
        A function, called like the model (a linen module or haiku transform like its `apply`, a Cell with arrays), that returns
        (out, `Captured`). What is no array among its arguments is static. The state of the model, and of nnx modules among
        the arguments, changes as by a plain call; with `stop_after`, the result is None and the state stays.

    Raises:
        TypeError, ValueError: as `capture`.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Sequential(nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0)), nnx.relu)
        >>> run = ms.hooks.compile(model, "layers.0", edit={"layers.0": lambda value, index: value + 1})
        >>> out, found = run(jnp.array([2.0]))
        >>> print(out, found.activations["layers.0"])
        [3.] [3.]
    """
    with on_behalf_of("compile"):
        options = capture_options(where, gradients, statistic, loss, edit, None, stop_after)._replace(writes=True)
    key = (
        where_key(where),
        tuple((pattern, Same(fn)) for pattern, fn in (edit or {}).items()),
        stop_after,
        gradients,
        Same(statistic),
        Same(loss),
    )

    def run(*args, **kwargs):
        def program(pure, state, args, kwargs):
            return with_written(lambda *given: pure.run(given[0], options, *given[1:]))(state, args, kwargs)

        with on_behalf_of("compile"):
            (out, found, new), written = run_kept(model, ("compile", *key), program, args, kwargs)
        if new is not None:
            pure_of(model).done(new)
        if objects_among((args, kwargs)) is not None:
            write_to((pure_of(model).state, args, kwargs), written)
        return out, found

    return run


def pure_of(model: Any) -> Pure:
    """A model, or a function, with its state as an argument."""
    hooked = as_model(model)
    fn = called_as(hooked)
    check_function(fn, "hooks")
    framework = framework_of_function(fn)
    if framework is not None:
        return framework.pure(fn)
    if hasattr(fn, "msjax_derived"):
        of, call = fn.msjax_derived
        pure = pure_of(of)

        def run(state, options, args, kwargs):
            def with_state(*args, **kwargs):
                return call(pure._replace(state=state), args, kwargs)

            return (*options.of_function(with_state)(*args, **kwargs), None)

        return Pure(Same(fn), pure.state, run, owner=pure.owner, changes=pure.changes, weights=pure.weights)
    owner = getattr(model, "__self__", None)
    if owner is not None:
        anchor = Same(owner), model.__name__
    else:
        # A haiku transform is a tuple of functions.
        anchor = Same(getattr(model, "apply", model) if isinstance(model, tuple) else model)
    registry = registry_of(hooked) or registry_of(owner)
    weights = no_weights if registry is None else functools.partial(registry.weights, hooked)
    return Pure(
        anchor, (), lambda state, options, args, kwargs: (*options.of_function(fn)(*args, **kwargs), None), weights=weights
    )


def derived(who: str, model: Any, call: Callable[[Pure, tuple[Any, ...], dict[str, Any]], Any]) -> Callable[..., Any]:
    """A function called like a model that does something else with its runs, such as an ablated model; weights and places are the model's.

    Args:
        call: ``call(pure, args, kwargs)``, where `pure` is the model as it is then.
    """

    def run(*args, **kwargs):
        with on_behalf_of(who):
            return call(pure_of(model), args, kwargs)

    run.msjax_derived = model, call
    return run


def run_kept(
    model: Any, key: Any, program: Callable[..., Any], *given: Any, options: Callable[[Any], dict[str, Any]] | None = None
) -> Any:
    """Run a compiled function of a model, which is kept.

    Args:
        key: what the program is found by, beside the model.
        program (callable): ``program(pure, state, *given)``, where `pure` is the model as a `Pure`.
        options (callable, optional): gives the compiler's options for operands, such as `options_of_few_runs`: for the first runs, since
            programs that go on running are compiled with jax's own.
    """
    pure = pure_of(model)
    split = Split.of((pure.state, *given))
    without_state = pure._replace(state=None, done=None, owner=None)

    def run(split):
        return Split.of(program(without_state, *split.joined()))

    if pure.changes:
        return run_same_program(lambda arrays: run(Split(arrays, split.rest)), split.arrays).joined()
    chosen = {} if options is None or staged() or any(map(is_tracer, split.arrays)) else options(split.arrays)

    owner = None if pure.owner is None else identity(pure.owner)
    found_by = pure.anchor, owner, key, bool(chosen), contents_of(split.rest[0])
    owners = () if pure.owner is None else (pure.owner,)
    return _KEPT.of(found_by, lambda: _first_quick(run, chosen) if chosen else jax.jit(run), _MOST, owners)(split).joined()


def _first_quick(fn, options):
    """A compiled function whose first runs have the compiler's options for few runs."""
    quick, optimized, runs = jax.jit(fn, compiler_options=options), jax.jit(fn), itertools.count()
    return lambda split: (quick if next(runs) < _FEW else optimized)(split)


@on_behalf_of("run_with_cache")
def run_with_cache(
    model: Callable[..., Any],
    *args: Any,
    where: str | Iterable[str] | Callable[[str], bool] = "*",
    edit: dict[str, Callable[[Any, Any], Any]] | None = None,
    stop_after: str | None = None,
    **kwargs: Any,
) -> tuple[Any, dict[str, Any]]:
    """Call a model, and keep the values of its places.

    Args:
        model: an nnx module, a Cell, a function of jax arrays, or another model, as for `capture`.
        args, kwargs: what it is called with; jax arrays, also of a Cell.
        where (str, list of str, or callable): which places, as `capture` selects them. Default: all but single operations.
        edit (dict, optional): {pattern: ``fn(value, index)``}, as for `capture`.
        stop_after (str, optional): the name of the last place that is computed.

    Returns:
        (out, cache): what the model returns, as jax arrays (None with `stop_after`), and {name: value} in program order. The
        state of the model (statistics of BatchNorm, random keys), and of nnx modules among the arguments, changes as by a plain call; with `stop_after` it stays. The program of a model is
        compiled, and kept, unless it has hooks, or `where` or `edit` are functions; what is no array among its arguments is static then.

    Raises:
        TypeError, ValueError: as `capture`.

    Example:
        >>> import jax.numpy as jnp
        >>> from msjax import hooks, nn
        >>> net = nn.SequentialCell(nn.Dense(2, 1, weight_init="ones", bias_init="zeros"), nn.ReLU())
        >>> out, cache = hooks.run_with_cache(net, jnp.array([[1.0, -3.0]], "float32"))
        >>> print({name: value.tolist() for name, value in cache.items()})
        {'0': [[-2.0]], '1': [[0.0]], '': [[0.0]]}
        >>> out, cache = hooks.run_with_cache(net, jnp.array([[1.0, -3.0]], "float32"), stop_after="0")
        >>> print(out, list(cache))
        None ['0']
    """
    args, kwargs = call_of(args, kwargs)
    where = where if callable(where) else names_of(where, "where", "run_with_cache")
    # A plain function, which may close over other values each time, is traced.
    is_model = framework_of_function(model) is not None or unhooked(model) is not None
    if is_model and (stop_after is not None or _is_found_again(model, where, edit, (args, kwargs))):
        out, found = compile(model, where, edit=edit, stop_after=stop_after)(*args, **kwargs)
    else:
        out, found = pure_of(model).once(capture_options(where, edit=edit, stop_after=stop_after), args, kwargs)
    return out, found.activations


def _is_found_again(model, where, edit, given):
    """Whether a compiled program would be found again by later calls like this one, and does what the model does when it runs by itself."""
    if callable(where) or edit is not None or any(map(is_tracer, jax.tree.leaves((model, given)))):
        return False
    # Observers are called when their module runs, not after the program.
    owner = getattr(model, "__self__", model)
    framework = framework_of(owner)
    return not any(HookSite.models_with_hooks) and (framework is None or not framework.tables(owner))
