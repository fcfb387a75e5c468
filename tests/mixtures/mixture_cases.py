"""Random mixtures of models, as data: who calls whom, within which loop, branch, rule or transformation of jax, and with which hooks."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

OWNERS = ("cell", "nnx", "linen", "equinox", "haiku", "function")
# What lies between an owner and the one that it calls; `direct` several times, since it is the commonest.
AROUND = (
    "direct", "direct", "scan", "fori", "while", "cond", "switch", "remat", "vmap", "custom_vjp", "custom_jvp", "shard_map", "jit",
)  # fmt: skip
KINDS = ("forward_pre", "forward", "backward_pre", "backward")


@dataclass
class Hook:
    """One hook.

    Attributes:
        kind: one of `KINDS`.
        factor: what a modifier multiplies by; None for an observer.
        goes: whether its handle is removed before the second run.
    """

    kind: str
    factor: float | None
    goes: bool = False


@dataclass
class Owner:
    """One owner of hooks: it computes ``act(x * weight)`` and calls the next one with that.

    Attributes:
        kind: one of `OWNERS`.
        name: it is in the log under this name.
        act: a name of `plain.ACTS`.
        weight: two numbers.
        hooks: at most one of each kind.
        around: how it calls `inner`, one of `AROUND`.
        inner: the owner within, or None.
    """

    kind: str
    name: str
    act: str
    weight: tuple[float, float]
    hooks: list[Hook] = field(default_factory=list)
    around: str = "direct"
    inner: Owner | None = None

    def chain(self) -> list[Owner]:
        """This owner and those within, outermost first."""
        return [self, *([] if self.inner is None else self.inner.chain())]

    def weighted(self) -> list[Owner]:
        """The Cells whose weights have a gradient: jax gives none of what a rule or a while loop uses besides its arguments."""
        found = []
        for owner in self.chain():
            if owner.kind == "cell":
                found.append(owner)
            if owner.around in ("custom_vjp", "custom_jvp", "while"):
                break
        return found


@dataclass
class Case:
    """A mixture, and what happens to it.

    Attributes:
        root: the outermost owner.
        fault: the name of an owner whose forward hook, another one, raises in a run of its own; None for none.
        adds: the name of an owner whose forward hook, another one, registers a modifier in the first run; None for none.
        pick: chooses the ways to run.
    """

    root: Owner
    fault: str | None
    adds: str | None
    pick: int


def case(seed: int, number: int) -> Case:
    """A case by its number: always the same one."""
    draw = random.Random(f"{seed}/{number}")
    root = None
    for level in reversed(range(draw.choice((1, 2, 2, 3, 3, 4)))):
        hooks = []
        for kind in KINDS:
            if draw.random() < 0.4:
                factor = draw.choice((None, None, 2.0, 0.5, 3.0, -1.0))
                hooks.append(Hook(kind, factor, draw.random() < 0.5))
        weight = (draw.choice((1.0, 2.0, 0.5)), draw.choice((1.0, -1.0, 1.5)))
        act = draw.choice(("sin", "square", "double", "tanh", "same"))
        around = draw.choice(AROUND) if root else "direct"
        if around == "shard_map" and any(owner.around == "shard_map" for owner in root.chain()):
            around = "direct"  # jax maps no axis of devices twice
        root = Owner(draw.choice(OWNERS), f"m{level}", act, weight, hooks, around, root)
    assert root is not None
    owners = root.chain()
    fault = draw.choice(owners).name if draw.random() < 0.2 else None
    adds = draw.choice(owners).name if draw.random() < 0.2 else None
    return Case(root, fault, adds, draw.randrange(1 << 30))
