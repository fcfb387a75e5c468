"""Groups of processes, and functions of jax arrays that run over all processes of a group."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.checks import check_kind, check_str, check_value, is_int
from msjax.core.base.errors import describe
from msjax.core.door import STATE, VERSION
from msjax.engine.processes import progress
from msjax.engine.processes.joining import ALONE, Place, join, place_in_environment

# XLA's own errors begin with their kind, such as UNAVAILABLE.
_OF_XLA = re.compile("[A-Z_]+: ")

WORLD_NAMES = ("hccl_world_group", "nccl_world_group", "mccl_world_group")


class Group:
    """Some processes, by their numbers among all, in an order.

    Attributes:
        rank: the number of this process in the group; None if it is not in it.
        operators: what `msjax.ops.function.collectives` has made for this group.
    """

    def __init__(self, name: str, ranks: tuple[int, ...]):
        self.name: str = name
        self.ranks: tuple[int, ...] = ranks
        self.size: int = len(ranks)
        self.operators: dict[Any, Any] = {}
        own = PROCESSES.place.rank
        self.rank: int | None = ranks.index(own) if own in ranks else None

    def number_of(self, rank: int, who: str = "") -> int:
        """The number in this group of the process with a number among all; RuntimeError, whose text `who` begins, if it isn't in the group."""
        if rank not in self.ranks:
            who = f"{who}, process" if who else "Process"
            raise RuntimeError(f"{who} {rank} is not in group {self.name!r}, which has the processes {list(self.ranks)}.")
        return self.ranks.index(rank)

    @cached_property
    def mesh(self) -> jax.sharding.Mesh:
        """One device of each process."""
        first = {}
        for device in jax.devices():
            first.setdefault(device.process_index, device)
        return jax.sharding.Mesh(np.array([first[rank] for rank in self.ranks]), (self.name,))

    @cached_property
    def _everywhere(self):
        return jax.sharding.NamedSharding(self.mesh, jax.sharding.PartitionSpec())

    def jit(self, fn: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        """`jax.jit` for a function with collectives over this group's axis.

        Every process of the group calls the result with arrays of its own, of the same shapes, and gets results of its own.
        """
        if self.size == 1:
            return jax.jit(fn, **options)
        # To jax, each argument is one array that is the same everywhere. It need not be, since shard_map doesn't look: that
        # way the arrays of the processes keep their shapes, and none is copied.
        everywhere = jax.sharding.PartitionSpec()
        spread = jax.jit(jax.shard_map(fn, mesh=self.mesh, in_specs=everywhere, out_specs=everywhere, check_vma=False), **options)

        def run(*values):
            if self.size == PROCESSES.place.size:
                progress.advance(PROCESSES.place.local_rank)
            try:
                out = spread(*map(self._shared, values))
            except (RuntimeError, ValueError) as error:
                if not _OF_XLA.match(str(error)):
                    raise
                # If another process is gone, the launcher will end this one. Its own error would only hide the cause.
                progress.wait_for_launcher()
                raise RuntimeError(f"Communication between the processes of group {self.name!r} failed: {error}") from error
            return jax.tree.map(lambda array: array.addressable_data(0), out)

        return run

    def jit_operator(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """`jit` for an operator that runs by itself, whose results other operators take."""
        compiled = self.jit(fn)
        if self.size == 1 or self.mesh.devices.flat[0].platform != "cpu":
            return compiled

        def run(*values):
            # jax has separate programs for arrays that are tied to a device, as these results are. One from numpy isn't.
            return jax.tree.map(lambda array: jnp.asarray(np.asarray(array)), compiled(*values))

        return run

    def _shared(self, value):
        value = jnp.asarray(value)
        return jax.make_array_from_single_device_arrays(value.shape, self._everywhere, [value])

    def axis_in_trace(self) -> str:
        """The name of the mesh axis for jax's collectives, that of the group, in a kernel that is being traced; notes that the program has them."""
        STATE.communicates_in(self)
        return self.name


class _Processes:
    """The processes of this program as this one knows them.

    Attributes:
        place: this process among them; `ALONE` before `initialize`.
        initialized: whether `initialize` has run.
        groups: {name: Group}, the whole world under each of its names.
    """

    def __init__(self):
        self.place: Place = ALONE
        self.initialized: bool = False
        self.groups: dict[str, Group] = {}
        self._pairs: dict[tuple[int, int], Group] = {}

    def initialize(self) -> None:
        """Join the processes that the launcher has started; does nothing the second time.

        Raises:
            ValueError: an environment variable does not fit.
            RuntimeError: jax ran something before, or the others have not come in time.
        """
        if self.initialized:
            return
        place = place_in_environment()
        if place.size > 1:
            progress.advance(place.local_rank)
            join(place)
        self._set(place)

    def _set(self, place):
        self.place, self.groups, self._pairs = place, {}, {}
        self.initialized = True
        VERSION.changed()

    def release(self) -> None:
        """Leave the other processes; afterwards this one is alone."""
        if self.place.size > 1:
            jax.distributed.shutdown()
        self._set(ALONE)
        self.initialized = False

    def group(self, name: str | None = None) -> Group:
        """The group of a name, None for all processes; TypeError if the name is no str, RuntimeError if there is no such group."""
        name = WORLD_NAMES[0] if name is None or name in WORLD_NAMES else name
        if not isinstance(name, str):
            raise TypeError(f"The name of a group should be a str, but got {describe(name)}.")
        found = self.groups.get(name)
        if found is None:
            if name != WORLD_NAMES[0]:
                made = ", ".join(map(repr, self.groups)) or "none"
                raise RuntimeError(f"There is no group {name!r}; create_group makes groups, and has made {made}.")
            found = self.groups[name] = Group(name, tuple(range(self.place.size)))
        return found

    def create(self, name: str, ranks: Sequence[int]) -> Group:
        """Make a group of some processes.

        Raises:
            TypeError: the name is not a str, or the ranks are not a list of int.
            ValueError: the name is empty or that of the whole world, ranks repeat or don't exist, or the group exists with others.
        """
        check_str(name, "group", "create_group")
        fits = isinstance(ranks, (list, tuple)) and all(map(is_int, ranks))
        check_kind(ranks, fits, "be a list of int", "rank_ids", "create_group")
        check_value(name, name and name not in WORLD_NAMES, "be a new name", "group", "create_group")
        fits = ranks and len(set(ranks)) == len(ranks) and all(0 <= rank < self.place.size for rank in ranks)
        check_value(ranks, fits, f"be different numbers from 0 to {self.place.size - 1}", "rank_ids", "create_group")
        there = self.groups.get(name)
        if there is not None and there.ranks != tuple(ranks):
            raise ValueError(f"For 'create_group', the group {name!r} exists, with the processes {list(there.ranks)}.")
        if there is None:
            there = self.groups[name] = Group(name, tuple(ranks))
            VERSION.changed()
        return there

    def pair(self, ranks: tuple[int, int]) -> Group:
        """The group of two processes that send each other something."""
        found = self._pairs.get(ranks)
        if found is None:
            found = self._pairs[ranks] = Group(f"processes {ranks[0]} and {ranks[1]}", ranks)
        return found

    def destroy(self, name: str) -> None:
        """Drop a group; ValueError if it is that of all processes, RuntimeError if there is no such group."""
        if name in WORLD_NAMES:
            raise ValueError(f"For 'destroy_group', the group of all processes, {name!r}, ends with release().")
        self.group(name)
        del self.groups[name]
        VERSION.changed()

    def axes(self) -> list[tuple[str, int]]:
        """(name, size) of the axes of the groups that this process is in, for tracing a program that may use any of them."""
        groups = set(self.groups.values()) | ({self.group()} if self.place.size > 1 else set())
        return [(group.name, group.size) for group in groups if group.size > 1 and group.rank is not None]


PROCESSES = _Processes()
