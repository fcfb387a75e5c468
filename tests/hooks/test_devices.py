"""Hooks of sharded programs: large values, shardings that stay, several processes."""

import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

import msjax as ms
from msjax import nn
from msjax.core.tools.checking import Check
from msjax.core.tools.watching.statistics import statistics
from tests.accelerators.devices import eight_devices


def split():
    return NamedSharding(Mesh(np.array(jax.devices()), ("d",)), P("d"))


def logged(steps, place):
    """What observers and a traced modifier see and make of sharded values of 1 MB."""
    net, log = nn.SequentialCell(nn.Tanh(), nn.Sigmoid()), []
    net[0].register_forward_hook(lambda cell, inputs, output: log.append(("forward", output.asnumpy()[::37, 5])), observe=True)
    net[1].register_backward_hook(lambda cell, gi, go: log.append(("backward", gi[0].asnumpy()[::37, 5])), observe=True)
    net[0].register_backward_hook(lambda cell, gi, go: (gi[0] * 2,))
    apply, params, buffers = ms.functionalize(net)
    f = jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))
    x = jax.device_put((np.arange(512 * 512, dtype=np.float32).reshape(512, 512) % 17) / 7, place)
    for i in range(steps):
        gradient = f(x * (1 + i / 100))
    ms.hooks.barrier()
    return log, gradient


def test_large_sharded_values_arrive_in_order_as_on_one_device():
    log, gradient = logged(10, split())
    one, expected = logged(10, SingleDeviceSharding(jax.devices()[0]))
    assert [kind for kind, _ in log] == ["forward", "backward"] * 10
    for (_, value), (_, other) in zip(log, one):
        np.testing.assert_allclose(value, other, rtol=1e-5)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5)
    assert gradient.sharding.spec == P("d")


@pytest.mark.long
def test_flags_see_a_nan_on_any_device():
    for dtype in (jnp.float32, jnp.float16, jnp.bfloat16, jnp.float64):
        for number in (0, 5):
            x = jax.device_put(jnp.ones((8, 2), dtype).at[number, 1].set(jnp.nan), split())
            for on in ("nan", "inf"):
                check = Check(on, "guard")
                assert bool(jax.jit(check.traced)(x)) and not bool(jax.jit(check.traced)(jnp.ones((8, 2), dtype)))
        infinite = jax.device_put(jnp.ones((8, 2), dtype).at[0, 1].set(-jnp.inf), split())
        assert [bool(jax.jit(Check(on, "guard").traced)(infinite)) for on in ("nan", "inf")] == [False, True]


def test_statistics_of_arrays_with_explicit_axes():
    mesh = jax.make_mesh((4, 2), ("a", "b"), axis_types=(AxisType.Explicit,) * 2, devices=eight_devices())
    rng = np.random.default_rng(0)
    large, small = (rng.normal(size=shape).astype(np.float32) for shape in ((8, 4096), (4, 6)))
    program = jax.jit(lambda *values: statistics(values, 30))
    split_up = jax.device_put(large, NamedSharding(mesh, P("a", "b"))), jax.device_put(small, NamedSharding(mesh, P("b")))
    np.testing.assert_allclose(program(*split_up), program(large, small), rtol=1e-5, atol=1e-6)


PROCESS = """
    import sys
    import jax
    import numpy as np

    number, port = int(sys.argv[1]), sys.argv[2]
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", 2, number)

    import msjax as ms
    from msjax import nn
    from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

    mesh = Mesh(np.array(jax.devices()), ("d",))
    whole = np.arange(8, dtype=np.float32)
    x = jax.make_array_from_callback((8,), NamedSharding(mesh, P("d")), lambda index: whole[index])

    def run(name, register, around):
        net, log = nn.Sigmoid(), []
        register(net, log)
        apply, params, buffers = ms.functionalize(net)
        f = jax.jit(around(jax.grad(lambda x: apply(params, buffers, x)[0].sum())))
        gradient = jax.block_until_ready(f(x))
        ms.hooks.barrier()
        plain = float(jax.nn.sigmoid(0.0) * (1 - jax.nn.sigmoid(0.0)))
        first = [float(part.data[0]) / plain for part in gradient.addressable_shards if part.index[0].start in (0, None)]
        print(name, *log, *[f"times{factor:.0f}" for factor in first], flush=True)

    def observed(net, log):
        net.register_forward_hook(lambda cell, inputs, output: log.append(output.shape[0]), observe=True)
        net.register_backward_hook(lambda cell, gi, go: log.append(gi[0].shape[0]), observe=True)

    def tripled(net, log):
        net.register_backward_hook(lambda cell, gi, go: log.append(isinstance(jax.numpy.asarray(gi[0]), jax.core.Tracer)) or gi[0] * 3)

    def each_device(f):
        return jax.shard_map(f, mesh=mesh, in_specs=P("d"), out_specs=P("d"))

    run("jit-observers", observed, lambda f: f)
    run("shard_map-observers", observed, each_device)
    run("jit-traced-modifier", tripled, lambda f: f)
    run("shard_map-traced-modifier", tripled, each_device)
"""


@pytest.mark.long
@pytest.mark.skipif(len(jax.devices()) < 2, reason="two processes can't be one program on one device")
def test_what_each_of_two_processes_sees():
    """The table of docs/limits.md: two processes with two devices each, and an array of 8 numbers split over the four."""
    import os
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    command = [sys.executable, "-c", textwrap.dedent(PROCESS)]
    processes = [
        subprocess.Popen(
            [*command, str(i), str(port)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for i in (0, 1)
    ]
    try:
        results = [process.communicate(timeout=150) for process in processes]
    finally:
        for process in processes:
            process.kill()
    seen = []
    for process, (out, err) in zip(processes, results):
        assert process.returncode == 0, err
        lines = [line.split() for line in out.splitlines()]
        seen.append({line[0]: line[1:] for line in lines if line and line[0].startswith(("jit-", "shard_map-"))})
    # The first number is on a device of the first process: there, by how much the hooks have multiplied its gradient.
    assert seen[0]["jit-observers"] == ["8", "8", "times1"] and seen[1]["jit-observers"] == []
    assert seen[0]["shard_map-observers"] == [*seen[1]["shard_map-observers"], "times1"] == ["2"] * 4 + ["times1"]
    # Called once, while each process traces, with a tracer; part of the program on each device.
    for around in ("jit", "shard_map"):
        assert seen[0][f"{around}-traced-modifier"] == ["True", "times3"] and seen[1][f"{around}-traced-modifier"] == ["True"]


def test_observers_of_sharded_programs_are_lowered_for_every_platform():
    net = nn.SequentialCell(nn.Tanh(), nn.Sigmoid())
    for cell in net:
        cell.register_forward_hook(lambda cell, inputs, output: None)
        cell.register_backward_hook(lambda cell, gi, go: None)
    apply, params, buffers = ms.functionalize(net)
    f = jax.jit(jax.grad(lambda x: apply(params, buffers, x)[0].sum()))
    traced = f.trace(jax.device_put(jnp.ones((8, 4), jnp.float32), split()))
    for platform, call in {"cpu": "callback", "cuda": "callback", "tpu": "stablehlo.send"}.items():
        assert traced.lower(lowering_platforms=(platform,)).as_text().count(call) >= 1


def test_hooks_and_captures_where_the_axes_of_the_mesh_are_explicit():
    mesh = jax.make_mesh((8,), ("d",), axis_types=(AxisType.Explicit,), devices=eight_devices())
    with jax.set_mesh(mesh):
        net, log = nn.SequentialCell(nn.Tanh(), nn.Sigmoid()), []
        net[0].register_forward_hook(lambda cell, inputs, output: log.append(output.asnumpy()), observe=True)
        net[0].register_forward_hook(lambda cell, inputs, output: output * 2)
        net[1].register_backward_hook(lambda cell, gi, go: log.append(gi[0].asnumpy()), observe=True)
        apply, params, buffers = ms.functionalize(net)

        def loss(x):
            return apply(params, buffers, ms.hooks.site("x", x))[0].sum()

        x = jax.device_put(jnp.linspace(-1.0, 1.0, 32).reshape(16, 2), P("d"))
        gradient = jax.jit(jax.grad(loss))(x)
        ms.hooks.barrier()  # which compiles for each device by itself
        out = jnp.tanh(x)
        half = jax.nn.sigmoid(2 * out) * (1 - jax.nn.sigmoid(2 * out))
        np.testing.assert_allclose(log[0], out, rtol=1e-5)
        np.testing.assert_allclose(log[1], half, rtol=1e-5)
        np.testing.assert_allclose(gradient, half * 2 * (1 - out**2), rtol=1e-5)
        for capturing in (ms.hooks.capture(loss, "x", gradients=True), jax.jit(ms.hooks.capture(loss, "x", gradients=True))):
            found = capturing(x)[1].gradients["x"]
            np.testing.assert_allclose(found, gradient, rtol=1e-5)
            assert found.sharding.spec == P("d", None)


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
@pytest.mark.parametrize("inside", [False, True])
def test_captured_gradients_and_shard_map(kind, inside):
    def loss(x):
        return (ms.hooks.site("y", x * 2) ** 2).sum()

    x = jnp.arange(16.0)
    with jax.set_mesh(jax.make_mesh((8,), ("d",), axis_types=(kind,), devices=eight_devices())):
        x = jax.device_put(x, P("d"))
        if inside:
            found = jax.shard_map(
                lambda x: ms.hooks.capture(loss, "y", gradients=True)(x)[1].gradients["y"], in_specs=P("d"), out_specs=P("d")
            )(x)
        else:
            total = jax.shard_map(lambda x: jax.lax.psum(loss(x), "d"), in_specs=P("d"), out_specs=P())
            found = ms.hooks.capture(total, "y", gradients=True)(x)[1].gradients["y"].reshape(-1)
        np.testing.assert_array_equal(found, 4 * np.arange(16.0))
