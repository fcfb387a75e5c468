"""The mixtures as models of six kinds, with the hooks of msjax."""

from __future__ import annotations

import equinox
import flax.linen as linen
import haiku
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import msjax as ms
from msjax import hooks, nn
from tests.mixtures.plain_mixtures import ACTS, within

REGISTER = {kind: getattr(hooks, f"register_{kind}_hook") for kind in ("forward_pre", "forward", "backward_pre", "backward")}


class CellOwner(nn.Cell):
    """A Cell: its construct calls the next one directly if that is a Cell, and otherwise by `ms.from_jax`."""

    def __init__(self, owner, inner):
        super().__init__()
        self.owner, self.after = owner, inner
        self.w = ms.Parameter(ms.Tensor(list(owner.weight), ms.float32), name=f"{owner.name}.w")
        self.act = ms.from_jax(ACTS[owner.act])
        if inner is not None and inner.owner.kind == "cell":
            self.cell = inner.module

    def construct(self, x):
        x = self.act(x * self.w)
        if self.after is None:
            return x
        if self.owner.around == "direct" and self.after.owner.kind == "cell":
            return self.cell(x)
        return ms.from_jax(lambda v: within(self.owner.around, _anew(self.after), v))(x)


def _anew(built):
    """A new function each time: what jax has traced of a function keeps the hooks that were there (docs/limits.md)."""
    return lambda v: built.call(v)


def _compute(owner, after, weight, x):
    x = ACTS[owner.act](x * weight)
    return x if after is None else within(owner.around, _anew(after), x)


class NnxOwner(nnx.Module):
    def __init__(self, owner, inner):
        self.w = nnx.Param(jnp.asarray(np.array(owner.weight, np.float32)))
        self.run = _Static(owner, inner)

    def __call__(self, x):
        return self.run(self.w[...], x)


class _Static:
    """A function that nnx does not look into."""

    def __init__(self, owner, inner):
        self.owner, self.inner = owner, inner

    def __call__(self, weight, x):
        return _compute(self.owner, self.inner, weight, x)


class LinenOwner(linen.Module):
    run: _Static

    @linen.compact
    def __call__(self, x):
        return self.run(np.array(self.run.owner.weight, np.float32), x)


class EquinoxOwner(equinox.Module):
    w: jax.Array
    run: _Static = equinox.field(static=True)

    def __call__(self, x):
        return self.run(self.w, x)


class HaikuOwner(haiku.Module):
    def __init__(self, run):
        super().__init__(name="own")
        self.run = run

    def __call__(self, x):
        return self.run(np.array(self.run.owner.weight, np.float32), x)


class Built:
    """A model of an owner and those within.

    Args:
        owner: the `generate.Owner`.
        log: gets (name, kind, sum of what the hook saw).

    Attributes:
        call: the model as a function of an array.
        module: the Cell, or None.
        inner: the model within, or None.
    """

    def __init__(self, owner, log):
        self.owner, self.log = owner, log
        self.inner = None if owner.inner is None else Built(owner.inner, log)
        self.module, self.handles, self._of_function = None, {}, {}
        run = _Static(owner, self.inner)
        match owner.kind:
            case "cell":
                cell = self.module = CellOwner(owner, self.inner)
                self.model, self.where = cell, ""
                self.call = lambda x: cell(ms.Tensor(x))._value
            case "nnx":
                self.model, self.where = NnxOwner(owner, self.inner), ""
                self.call = self.model
            case "linen":
                self.model, self.where = hooks.hooked(LinenOwner(run)), ""
                self.call = lambda x: self.model.apply({}, x)
            case "equinox":
                self.model, self.where = hooks.hooked(EquinoxOwner(jnp.asarray(np.array(owner.weight, np.float32)), run)), ""
                self.call = self.model
            case "haiku":
                transformed = haiku.without_apply_rng(haiku.transform(lambda x: HaikuOwner(run)(x)))
                self.model, self.where = hooks.hooked(transformed), "own"
                self.call = lambda x: self.model.apply({}, x)
            case "function":
                self.model = None
                self.call = lambda x: self._function(x)
        for hook in owner.hooks:
            self.register(hook.kind, self.hook(hook.kind, hook.factor))

    def chain(self):
        return [self, *([] if self.inner is None else self.inner.chain())]

    def _function(self, x):
        def plain(x):
            return _compute(self.owner, self.inner, np.array(self.owner.weight, np.float32), x)

        names = {"forward_pre": "pre", "forward": "post"}
        return hooks.with_hooks(plain, **{names.get(kind, kind): hook for kind, hook in self._of_function.items()})(x)

    def hook(self, kind, factor):
        """A hook: an observer that writes into the log, or a modifier that multiplies."""
        if factor is not None:
            return self._modifier(kind, factor)
        name, log = self.owner.name, self.log

        def note(values):
            first = values[0] if isinstance(values, tuple) else values
            log.append((name, kind, None if first is None else float(first.sum())))

        if self.owner.kind == "function":
            return {
                "forward_pre": lambda args: note(args),
                "forward": lambda args, out: note(out),
                "backward_pre": lambda go: note(go),
                "backward": lambda gi, go: note(gi),
            }[kind]
        return {
            "forward_pre": lambda module, args: note(args),
            "forward": lambda module, args, out: note(out),
            "backward_pre": lambda module, go: note(go),
            "backward": lambda module, gi, go: note(gi),
        }[kind]

    def _modifier(self, kind, factor):
        def times(value):
            if isinstance(value, tuple):
                return tuple(None if v is None else v * factor for v in value)
            return value * factor

        if self.owner.kind == "function":
            return {
                "forward_pre": lambda args: times(args),
                "forward": lambda args, out: times(out),
                "backward_pre": lambda go: times(go),
                "backward": lambda gi, go: times(gi),
            }[kind]
        return {
            "forward_pre": lambda module, args: times(args),
            "forward": lambda module, args, out: times(out),
            "backward_pre": lambda module, go: times(go),
            "backward": lambda module, gi, go: times(gi),
        }[kind]

    def register(self, kind, hook, key=None):
        """Register a hook under a key, its kind by default."""
        if self.model is None:
            self._of_function[kind] = hook
        elif self.module is not None:
            self.handles[key or kind] = getattr(self.module, f"register_{kind}_hook")(hook)
        else:
            self.handles[key or kind] = REGISTER[kind](self.model, hook, self.where)

    def remove(self, kind):
        if self.model is None:
            del self._of_function[kind]
        else:
            self.handles.pop(kind).remove()
