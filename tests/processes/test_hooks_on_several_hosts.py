"""What hooks see on each of two processes that run one sharded program: the table of docs/accelerators.md."""

import os
import socket
import subprocess
import sys
import textwrap

import pytest

PROCESS = """
    import sys
    import jax

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{sys.argv[2]}", 2, int(sys.argv[1]))

    import jax.numpy as jnp
    import numpy as np
    from flax import nnx
    from jax.experimental.multihost_utils import process_allgather
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    import msjax as ms
    from msjax import hooks

    mesh = Mesh(np.array(jax.devices()), ("data",))
    whole = np.arange(8, dtype=np.float32).reshape(8, 1)
    x = jax.make_array_from_callback((8, 1), NamedSharding(mesh, P("data")), lambda index: whole[index])
    model = nnx.Sequential(nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0)), jnp.tanh)
    graph, state = nnx.split(model)
    state = jax.tree.map(lambda v: jax.make_array_from_callback(v.shape, NamedSharding(mesh, P()), lambda i: np.asarray(v)[i]), state)

    def say(*values):
        print("said", *values, flush=True)

    def own(value):
        return [float(v) for part in value.addressable_shards for v in part.data.ravel()]

    def run(register):
        def loss(state, x):
            model = nnx.merge(graph, state)
            register(model)
            return (model(x) ** 2).sum()

        hooks.jit(jax.grad(loss))(state, x)

    def shards(model):
        hooks.register_forward_hook(model, lambda m, args, out: say("shards", out.shape, own(out)), "layers.0", observe=True)
        hooks.register_backward_hook(model, lambda m, gi, go: say("gradient", own(go[0])[:1]), "layers.0", observe=True)

    def asked(model):
        def hook(m, args, out):
            say("whole", process_allgather(out, tiled=True).ravel().tolist())

        hooks.register_forward_hook(model, hook, "layers.0", observe=True)

    run(shards)
    run(asked)
    found = jax.jit(lambda state, x: hooks.capture(nnx.merge(graph, state), "layers.0", statistic=jnp.sum)(x)[1])(state, x)
    say("statistic", float(found.activations["layers.0"]))
    found = jax.jit(lambda state, x: hooks.capture(nnx.merge(graph, state), "layers.0")(x)[1])(state, x)
    say("activation", own(found.activations["layers.0"]))

    nnx.update(model, state)
    step = hooks.jit(nnx.grad(lambda model, x: (model(jnp.where(x == 5, jnp.nan, x)) ** 2).sum()))
    try:
        with ms.tools.guard(model):
            step(model, x)
        say("guard", "nothing")
    except ms.tools.Fault as fault:
        say("guard", fault.path)
"""


@pytest.mark.long
def test_what_each_of_two_processes_sees():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=1", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", textwrap.dedent(PROCESS)]
    processes = [
        subprocess.Popen([*command, str(i), str(port)], env=environment, stdout=-1, stderr=-1, text=True) for i in range(2)
    ]
    try:
        results = [process.communicate(timeout=150) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for number, (process, (out, err)) in enumerate(zip(processes, results)):
        assert process.returncode == 0, err
        said = [line.removeprefix("said ") for line in out.splitlines() if line.startswith("said ")]
        parts = [4.0 * number + i for i in range(4)]
        assert said[0] == f"shards (8, 1) {parts}"
        assert said[1].startswith("gradient [")
        assert said[2] == f"whole {[float(i) for i in range(8)]}"
        # A statistic is of the whole; what is captured stays where it is; a flag of one process is raised on all.
        assert said[3:] == ["statistic 28.0", f"activation {parts}", "guard layers.0"]
