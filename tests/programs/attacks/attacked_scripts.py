"""The scripts that attacks run: what a user's program computes, and how it says what it got."""

import textwrap

HEAD = """\
import json
import jax
import jax.numpy as jnp
import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

COMPILED = []


def count(event, **_):
    if event == "/jax/core/compile/backend_compile_duration":
        COMPILED.append(+1)


jax.monitoring.register_event_duration_secs_listener(lambda event, seconds, **_: count(event))
jax.monitoring.register_event_listener(lambda event, **_: COMPILED.append(-1) if event == "/jax/compilation_cache/cache_hits" else None)


def show(name, *values):
    print(name, *[a if a is None else (a.dtype.name, a.shape, a.tobytes().hex()) for a in map(jnp.asarray, values)])


X = Tensor(np.linspace(-2, 2, 6, dtype=np.float32))


def of(name, *settings, x=X):
    fn = lambda x: getattr(ops, name)(x, *settings)
    show(name, fn(x).asnumpy(), ms.grad(lambda x: fn(x).sum())(x).asnumpy())
"""

TAIL = """
print(json.dumps({"compiled": sum(COMPILED)}))
"""

# What most attacks compute.
OPERATORS = """\
of("tanh")
of("gelu", "tanh")
of("softsign")
of("hardswish")
of("fast_gelu")
of("log", x=X * X + 1)
"""

# Also programs that jax itself keeps.
PROGRAMS = """\
of("tanh")
of("softsign")
step = ms.jit(lambda x: ops.tanh(x) * 2 + ops.softsign(x))
show("ms.jit", step(X).asnumpy())
show("jax.jit", jax.jit(lambda x: jnp.tanh(x) * 3)(X.asnumpy()), jax.jit(lambda x: jnp.cos(x) * 3)(X.asnumpy()))
ms.set_seed(1)
net = nn.SequentialCell(nn.Dense(6, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dense(4, 2)).set_train()
seen = []
net[2].register_backward_hook(lambda cell, grad_input, grad_output: seen.append(grad_input[0].asnumpy()))
optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
loss, grads = ms.value_and_grad(lambda x: net(x).sum(), None, optimizer.parameters)(Tensor(np.eye(6, dtype=np.float32)))
optimizer(grads)
show("net", loss.asnumpy(), *seen, *[g.asnumpy() for g in grads], *[p.asnumpy() for p in net.get_parameters()])
"""


def script(*parts):
    """The text of a script."""
    return "\n".join([HEAD, *[textwrap.dedent(part) for part in parts], TAIL])
