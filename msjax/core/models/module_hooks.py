"""Hooks on the modules of a model, or on the cells of a network, selected by their paths; the model isn't edited."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import jax

from msjax.core.base.checks import check_bool
from msjax.core.base.errors import check_arity, check_hook
from msjax.core.hooks.hook import Adapter, Hook, RemovableHandle
from msjax.core.hooks.kinds import replaces_nothing
from msjax.core.models.array_hooks import SITE
from msjax.core.models.hooked import framework_with_hooks
from msjax.core.models.where import Where


def register_forward_pre_hook(
    model: Any, hook: Callable[..., Any], where: Where = "", *, prepend: bool = False, with_kwargs: bool = False,
    observe: bool | None = None, traced: bool | None = None,
) -> RemovableHandle:  # fmt: skip
    """Register a hook that runs before modules of a model, selected by their paths.

    Args:
        model: a flax nnx module, a Cell, or what `hooked` made of another model.
        hook (callable): ``hook(module, args)``; None keeps the positional arguments, a tuple replaces them, anything else becomes
            their only one. With `with_kwargs`, ``hook(module, args, kwargs)``, which returns None or ``(args, kwargs)``. The
            arguments are jax arrays, in pytrees, as the module gets them (Tensors for a Cell).
        where: which modules: "" is the model itself, a glob over dotted paths such as ``"blocks.*.mlp"`` (fnmatch: ``*`` also
            crosses dots), a type, a function ``(path, module) -> bool``, or several of these in a list. Hooks run around
            ``__call__``; but for Cells, ``"embed.attend"`` selects the method `attend` of the module "embed".
        prepend (bool): True puts it before the hooks that are there.
        with_kwargs (bool): True if the hook takes the keyword arguments, too.
        observe, traced (bool, optional): in compiled programs, True says that the hook only observes (it is called after each
            run, with concrete values), or that it is part of the program; by default its code tells.

    Returns:
        A handle; ``handle.remove()`` takes the hook off all modules, and so does the end of a ``with`` block.

    Raises:
        ValueError: no module matches `where` (the message lists the paths); `observe` and `traced` contradict each other.
        TypeError: `model` takes no hooks; `hook` can't be called, or not with these arguments.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.List([nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0))])
        >>> with ms.hooks.register_forward_pre_hook(model, lambda module, args: args[0] * 10, "0"):
        ...     print(model[0](jnp.array([2.0])))
        [20.]
    """
    options = {"with_kwargs": with_kwargs, "observe": observe, "traced": traced}
    return _register(model, "forward_pre", hook, where, prepend, options)


def register_forward_hook(
    model: Any, hook: Callable[..., Any], where: Where = "", *, prepend: bool = False, with_kwargs: bool = False,
    always_call: bool = False, cast: bool = False, observe: bool | None = None, traced: bool | None = None,
) -> RemovableHandle:  # fmt: skip
    """Register a hook that runs after modules of a model, selected by their paths.

    Args:
        model: see `register_forward_pre_hook`.
        hook (callable): ``hook(module, args, output)``; None keeps the output, anything else replaces it (another structure or
            dtype is warned of). With `with_kwargs`, ``hook(module, args, kwargs, output)``.
        where, prepend, with_kwargs, observe, traced: see `register_forward_pre_hook`.
        always_call (bool): True runs the hook even if the call raised; it then gets the output so far, or None.
        cast (bool): True gives what the hook returns the dtypes of the output.

    Returns a handle, and raises, as `register_forward_pre_hook` does. The module's call raises TypeError where the hook returns, say, text for
    an array, and ValueError for a shape that would broadcast.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0))
        >>> handle = ms.hooks.register_forward_hook(model, lambda module, args, output: print("output:", output))
        >>> _ = nnx.jit(lambda model, x: model(x))(model, jnp.array([2.0]))
        >>> ms.hooks.barrier()
        output: [2.]
        >>> handle.remove()
    """
    options = {"with_kwargs": with_kwargs, "always_call": always_call, "observe": observe, "traced": traced}
    if check_bool(cast, "cast", "register_forward_hook"):
        check_hook(hook, "register_forward_hook")
        hook = _Cast(hook)
    return _register(model, "forward", hook, where, prepend, options)


class _Cast(Adapter):
    """A forward hook, and what it returns with the dtypes of the output."""

    def __call__(self, *given: Any) -> Any:
        result, output = self.fn(*given), given[-1]
        if replaces_nothing(result) or jax.tree.structure(result) != jax.tree.structure(output):
            return result
        return jax.tree.map(lambda new, old: new.astype(old.dtype) if isinstance(new, jax.Array) else new, result, output)


def register_backward_pre_hook(
    model: Any, hook: Callable[..., Any], where: Where = "", *, prepend: bool = False, observe: bool | None = None,
    traced: bool | None = None,
) -> RemovableHandle:  # fmt: skip
    """Register a hook that runs, in the backward pass, before that of modules selected by their paths.

    Args:
        model: see `register_forward_pre_hook`.
        hook (callable): ``hook(module, grad_output)`` with a tuple of one gradient for each array of the output, None where none
            arrives. None keeps them; a tuple of arrays of the same shapes and dtypes (for one output, an array) replaces them.
        where, prepend, observe, traced: see `register_forward_pre_hook`.

    Returns a handle, and raises, as `register_forward_pre_hook` does.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0))
        >>> with ms.hooks.register_backward_pre_hook(model, lambda module, grad_output: grad_output[0] * 10):
        ...     print(nnx.grad(lambda model: model(jnp.array([2.0])).sum())(model).kernel[...])
        [[20.]]
    """
    return _register(model, "backward_pre", hook, where, prepend, {"observe": observe, "traced": traced})


def register_backward_hook(
    model: Any, hook: Callable[..., Any], where: Where = "", *, prepend: bool = False, observe: bool | None = None,
    traced: bool | None = None,
) -> RemovableHandle:  # fmt: skip
    """Register a hook that runs, in the backward pass, after that of modules selected by their paths.

    Args:
        model: see `register_forward_pre_hook`.
        hook (callable): ``hook(module, grad_input, grad_output)``: a tuple of the gradients with respect to the arrays among the
            positional arguments, None for one that carries none, and the tuple of those that arrived at the outputs. None keeps
            them; a tuple of as many arrays as there are inputs (for one input, an array) replaces the gradients of the inputs.
        where, prepend, observe, traced: see `register_forward_pre_hook`.

    Returns a handle, and raises, as `register_forward_pre_hook` does.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0))
        >>> with ms.hooks.register_backward_hook(model, lambda module, grad_input, grad_output: grad_input[0] * 10):
        ...     print(jax.grad(lambda x: model(x).sum())(jnp.array([2.0])))
        [10.]
    """
    return _register(model, "backward", hook, where, prepend, {"observe": observe, "traced": traced})


def path(module: object) -> str:
    """The path of a hooked module in the model that it was registered through.

    Args:
        module: an nnx module as hooks get it.

    Raises:
        ValueError: the module has no hooks.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> model = nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))
        >>> with ms.hooks.register_forward_hook(model, lambda module, *_: print(ms.hooks.path(module)), "layers.*"):
        ...     _ = model(jnp.ones(2))
        layers.0
    """
    # After each run, nnx.jit empties modules for a moment and fills them again. The thread that calls the hooks of this run may come in between.
    late, end = threading.current_thread() is not threading.main_thread(), time.monotonic() + 1
    while (site := getattr(module, "__dict__", {}).get(SITE)) is None and late and time.monotonic() < end:
        time.sleep(0.001)
    if site is None:
        raise ValueError(f"For 'path', the module {type(module).__name__} has no hooks; hooks.paths(model) lists all modules.")
    return site.path


# What a hook of each kind is called with.
_ARGUMENTS = {
    "forward_pre": ("module", "args"),
    "forward": ("module", "args", "output"),
    "backward_pre": ("module", "grad_output"),
    "backward": ("module", "grad_input", "grad_output"),
}


def _register(model, kind, fn, where, prepend, options):
    who, arguments = f"register_{kind}_hook", _ARGUMENTS[kind]
    check_hook(fn, who, options["observe"], options["traced"])
    for name, value in (("prepend", prepend), *options.items()):
        if name not in ("observe", "traced"):
            check_bool(value, name, who)
    check_arity(fn, who, (*arguments[:2], "kwargs", *arguments[2:]) if options.get("with_kwargs") else arguments)
    return put_hook(model, kind, Hook.registered(fn, **options), where, prepend)


def put_hook(model: Any, kind: str, hook: Hook, where: Where, prepend: bool = False) -> RemovableHandle:
    """Register a Hook that is made already, as `register_forward_hook` and its kin do. One that comes again finds the programs that were compiled
    with it.
    """
    framework = framework_with_hooks(model, f"register_{kind}_hook")
    hook.removed = False
    return framework.register(model, kind, hook, where, prepend)
