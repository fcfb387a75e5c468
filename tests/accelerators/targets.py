"""What programs are compiled for: chips that are described, not there."""

import dataclasses
import functools
import importlib.util
import os
import re
from pathlib import Path

import jax
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

# libtpu asks the machine's cloud for these, if they are not given.
_TPU = {"TPU_SKIP_MDS_QUERY": "1", "TPU_ACCELERATOR_TYPE": "v5litepod-8", "TPU_WORKER_HOSTNAMES": "localhost"}
# What takes a place in the schedule of a program, but launches nothing.
_NO_KERNEL = frozenset(
    "parameter constant tuple get-tuple-element bitcast after-all partition-id replica-id call while conditional opt-barrier "
    "async-done async-update copy-done slice-done all-reduce-done all-gather-done collective-permute-done send-done recv-done "
    "domain".split()
)
# A TPU's copies into its fast memory and out of it, which the compiler puts beside kernels, and what joins the pieces of one.
_MOVED = re.compile(r" (?:copy|slice)-start\(|custom_call_target=\"ConcatBitcast\"")
_COLLECTIVE = re.compile(
    r" (all-reduce|all-gather|reduce-scatter|collective-permute|all-to-all)(?:-start)?\((?:.*?channel_id=(\d+))?"
)
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = (?:\([^=]*?\)|\S+) ([a-z][\w\-]*)\(")


class Missing(Exception):
    """A compiler that isn't installed."""


@dataclasses.dataclass(frozen=True)
class Program:
    """What a compiled program says of itself.

    Attributes:
        kernels: how many instructions of its schedule launch something.
        collectives: {kind: how many}.
        temporary, outputs: bytes of memory on each device.
        text: the optimized HLO.
    """

    kernels: int
    collectives: dict
    temporary: int
    outputs: int
    text: str


class Target:
    """One kind of chip, and how many of them.

    Args:
        name: "h100" or "v5e".
        shape: for H100s slices x hosts x GPUs, as "1x1x8"; for TPUs the grid, as "2x4".
    """

    def __init__(self, name, shape=None):
        self.name = name
        self.platform = {"h100": "cuda", "v5e": "tpu"}[name]
        needed = {"cuda": "jax_plugins.xla_cuda13", "tpu": "libtpu"}[self.platform]
        try:
            found = importlib.util.find_spec(needed)
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise Missing(f"no compiler for {self.platform}: {needed} is not installed (pip install 'msjax[accelerators]')")
        if self.platform == "cuda":
            target = Path(__file__).with_name("h100.txtpb").read_text()
            described = topologies.get_topology_desc(
                platform="cuda", topology_name="", target_config=target, topology=shape or "1x1x1"
            )
            # Autotuning needs a GPU.
            self.options = {"xla_gpu_autotune_level": 0}
        else:
            for variable, value in _TPU.items():
                os.environ.setdefault(variable, value)
            described = topologies.get_topology_desc(platform="tpu", topology_name=f"v5e:{shape or '2x2'}")
            self.options = {}
        self.devices = np.array(described.devices).reshape(-1)

    @functools.cached_property
    def one(self):
        """The sharding of programs for a single chip."""
        return jax.sharding.SingleDeviceSharding(self.devices[0])

    def mesh(self, *sizes, names=("data", "model")):
        return Mesh(self.devices.reshape(*sizes), names)

    def placed(self, tree, sharding=None):
        """Arrays or shapes as shapes that lie on the target; `sharding` is one, or a function of (path, shape)."""

        def place(path, value):
            own = sharding(path, value) if callable(sharding) else sharding or self.one
            return jax.ShapeDtypeStruct(np.shape(value), value.dtype, sharding=own)

        return jax.tree_util.tree_map_with_path(place, tree)

    def lower(self, fn, *args, donate=()):
        return jax.jit(fn, donate_argnums=donate).trace(*args).lower(lowering_platforms=(self.platform,))

    def compile(self, fn, *args, donate=()):
        """Compile a function of arguments that `placed` made."""
        program = self.lower(fn, *args, donate=donate).compile(compiler_options=self.options)
        text, memory = program.as_text(), program.memory_analysis()
        return Program(
            kernels(text),
            collectives(text),
            memory.temp_size_in_bytes,
            memory.output_size_in_bytes,
            text,
        )


def collectives(text):
    """{kind: how many}. A TPU's program may have one piece by piece in several kernels: these have one channel."""
    found = _COLLECTIVE.findall(text)
    kinds = [kind for kind, channel in found if not channel] + [kind for kind, channel in set(found) if channel]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


def kernels(text):
    """How many instructions of the scheduled computations launch something: those of fusions and reducers don't."""
    count, scheduled = 0, False
    inner = set(re.findall(r"(?:calls|to_apply|comparator|select|scatter)=%?([\w.\-]+)", text))
    for line in text.splitlines():
        if line and not line[0].isspace():
            name = re.match(r"(?:ENTRY )?%?([\w.\-]+) ", line)
            scheduled = line.startswith("ENTRY") or (name is not None and name[1] not in inner and "{" in line)
        elif scheduled and (found := _INSTRUCTION.match(line)):
            count += found[1] not in _NO_KERNEL and not ("S(1)" in line and _MOVED.search(line))
    return count


def on(mesh, *spec):
    return NamedSharding(mesh, PartitionSpec(*spec))
