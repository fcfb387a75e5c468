"""The rows of the table: which contender is compared with which, and the figure to hold."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One comparison of training steps: (a - a0) / (b - b0).

    Attributes:
        name: as the table shows it.
        a, b: names of contenders.
        target: the largest ratio that is wanted; None for none. For LeNet-5 of batch 1, `small`, where given.
        a0, b0: contenders whose time is taken off first; None for nothing.
        only: the case that the row is for; None for all.
    """

    name: str
    a: str
    b: str
    target: float | None = None
    small: float | None = None
    a0: str | None = None
    b0: str | None = None
    only: str | None = None

    def contenders(self):
        return [c for c in (self.a, self.b, self.a0, self.b0) if c is not None]

    def ratios(self, times):
        """One ratio for each repetition; `times` has a list of seconds for each contender."""
        zeros = [0.0] * len(times[self.a])
        a0 = times[self.a0] if self.a0 else zeros
        b0 = times[self.b0] if self.b0 else zeros
        return [(a - x) / (b - y) for a, b, x, y in zip(times[self.a], times[self.b], a0, b0)]

    def target_of(self, case):
        return self.small if self.small is not None and case == "LeNet-5, batch 1" else self.target


ROWS = (
    Row("compiled / jax.jit by hand", "compiled", "jax.jit", 1.02),
    Row("compiled / jax.jit by hand, plain kernels", "compiled", "jax.jit, plain"),
    Row("compiled with observers / jax.jit by hand", "compiled, observers", "jax.jit", 1.10, small=1.25),
    Row("compiled with observers / compiled", "compiled, observers", "compiled"),
    Row("compiled with modifiers / the same by hand", "compiled, modifiers", "jax.jit, modifiers", 1.05),
    Row("compiled, every cell guarded / compiled", "compiled, guard", "compiled", 1.05),
    Row("compiled, every cell guarded / compiled, waited for", "compiled, guard", "compiled, waited for", 1.05),
    Row("compiled, watched at each hundredth step / compiled", "compiled, watch", "compiled", 1.02),
    Row("captured statistics / the same by hand", "functionalized, statistics", "jax.jit, statistics", 1.05),
    Row("functionalized under jax.jit / jax.jit by hand", "functionalized", "jax.jit", 1.02),
    Row(
        "a hook under jax.jit / jax.debug.callback there", "functionalized, hooks", "functionalized, debug.callback", 0.15, a0="functionalized", b0="functionalized"
    ),
    Row("PyNative / eager jax.value_and_grad", "pynative", "jax eager", 0.15),
    Row("PyNative with hooks / PyNative", "pynative, hooks", "pynative", 1.40),
    Row("PyNative / PyTorch eager", "pynative", "torch"),
    Row("PyNative with hooks / PyTorch eager with hooks", "pynative, hooks", "torch, hooks", 1.0),
    Row("PyNative / MindSpore PyNative", "pynative", "mindspore pynative", 0.1),
    Row("PyNative with hooks / MindSpore with hooks", "pynative, hooks", "mindspore pynative, hooks", 0.1),
    Row("compiled / PyTorch eager", "compiled", "torch"),
    Row("compiled / torch.compile", "compiled", "torch.compile"),
    Row("compiled / MindSpore graph mode", "compiled", "mindspore graph"),
)  # fmt: skip
