"""The plan of a capture: which places a jaxpr has, which of them are selected, and which equations stay as they are."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np

from msjax.core.base import jax_slots
from msjax.core.base.errors import called, check_function, describe
from msjax.core.base.jax_slots import inner_equations
from msjax.core.base.typing import JaxArray
from msjax.core.hooks.place_names import OperationName, Part, matches_place, split_part, split_steps, steps_asked
from msjax.core.hooks.places import Edits, Measure, index_p, place_p
from msjax.core.jaxprs.evaluate import in_groups, segments
from msjax.core.jaxprs.source_lines import SourceLines

if TYPE_CHECKING:
    from msjax.core.jaxprs.control_flow import Rule


class Patterns:
    """Which names are selected: a pattern (fnmatch), several, or a function of the name.

    Single operations are selected only by patterns with an "@" (their names with source lines) or a "/" (those with modules), parts of
    modules only by patterns that end in ":in", ":out[1]" and the like.

    Attributes:
        lines, operations: whether single operations are asked for, by the one or the other.
        parts: (pattern of a path, Part) of the parts of modules that are asked for.
    """

    def __init__(self, select: str | Iterable[str] | Callable[[str], bool], what: str = "select"):
        self.given = select
        if isinstance(select, str):
            select = [select]
        if isinstance(select, (list, tuple, set, frozenset)) and all(isinstance(p, str) for p in select):
            self.patterns: list[str | Callable[[str], bool]] = list(select)
        elif callable(select):
            self.patterns = [check_function(select, "capture", what, ("name",))]
        else:
            raise TypeError(
                f"For '{called('capture')}', '{what}' should be a pattern, a list of patterns or a function, but got {describe(select)}."
            )
        self.matched = set()
        texts = [p for p in self.patterns if isinstance(p, str)]
        self.lines: bool = any("@" in text for text in texts)
        self.operations: bool = any("/" in text and "@" not in text for text in texts)
        asked = [split_part(text) for text in dict.fromkeys([*texts, *(split_steps(text)[0] for text in texts)])]
        self.parts: list[tuple[str, Part]] = [(path, part) for path, part in asked if part is not None]

    def __call__(self, *names: str) -> bool:
        """True if one of a place's names counts; it is remembered which patterns have matched."""
        here = {i for i, pattern in enumerate(self.patterns) if any(_matches(pattern, name) for name in names)}
        self.matched |= here
        return bool(here)

    def match(self, name: str) -> bool:
        """True if a name counts."""
        return any(_matches(pattern, name) for pattern in self.patterns)

    def looks_at(self, path: str) -> bool:
        """Whether anything of the module with this path may be selected: its output, an element of it, or an operation in the module."""
        # Which of several calls a name means, "path#1" and so on, shows only in the program; a function may ask for such a name, too.
        of_calls = [pattern if callable(pattern) else _OF_CALL.sub("", pattern) for pattern in self.patterns]
        return (
            self.operations
            or any(callable(pattern) or _matches(pattern, path) for pattern in of_calls)
            or any(fnmatch.fnmatchcase(path, paths) for paths, _ in self.parts)
        )

    def steps_of(self, name: str) -> list[tuple[int, ...]]:
        """What is asked for of a selected place: () for it as a whole, and the numbers of single steps."""
        here = [p for p in self.patterns if _matches(p, name) or _matches(p, name.partition("#")[0])]
        return list(dict.fromkeys(steps_asked(pattern, name) for pattern in here)) or [()]

    def unmatched(self, names: Sequence[str] | None = None) -> list[str | Callable[[str], bool]]:
        """The patterns that have matched nothing, or that match none of these names."""
        if names is None:
            return [p for i, p in enumerate(self.patterns) if i not in self.matched]
        return [p for p in self.patterns if not any(_matches(p, name) for name in names)]


_OF_CALL = re.compile(r"#\d+$")


def _matches(pattern, name):
    if not isinstance(pattern, str):
        return "@" not in name and not isinstance(name, OperationName) and pattern(name)
    return matches_place(pattern, name) or bool(steps_asked(pattern, name))


class Shape(NamedTuple):
    """Of an array: its shape, dtype, the axes of a shard_map's mesh over which it varies, and its sharding over axes that are explicit."""

    shape: tuple[Any, ...]
    dtype: Any
    varying: frozenset[Any] = frozenset()
    sharding: jax.sharding.NamedSharding | None = None

    @classmethod
    def of(cls, aval: Any) -> Shape:
        """The `Shape` of an abstract value with a shape and a dtype."""
        return cls(aval.shape, aval.dtype, jax_slots.varying_axes(aval), _explicit(aval))

    def stacked(self, size: int) -> Shape:
        """The shape of `size` such arrays, stacked along a new first axis."""
        sharding = self.sharding and self.sharding.update(spec=jax.P(None, *self.sharding.spec))
        return self._replace(shape=(size, *self.shape), sharding=sharding)

    def zeros(self) -> JaxArray | np.ndarray:
        """An array of zeros."""
        if self.dtype == jax.dtypes.float0:
            return np.zeros(self.shape, self.dtype)
        value = jnp.zeros(self.shape, self.dtype, out_sharding=self.sharding)
        return jax.lax.pcast(value, tuple(self.varying), to="varying") if self.varying else value


def _explicit(aval):
    sharding = getattr(aval, "sharding", None)
    return sharding if isinstance(sharding, jax.sharding.NamedSharding) and any(sharding.spec) else None


@dataclass(frozen=True)
class Found:
    """A selected place, with what leaves the equation or jaxpr that it is looked at from.

    Attributes:
        name: its name, with "#1" and so on if it is not the first of the name.
        kind: "site", "checkpoint_name" or "operation".
        tree: how the leaves of its value fit together.
        measures: of each leaf of its value.
        trees: of each leaf, how its statistic fits together.
        out: Shape of each value that leaves: the statistics of all leaves; if `counted`, last, how often the program
            passed the place.
        probes: the same of each zero that comes in, whose gradient is the place's; of a leaf that has no gradient, none.
        probed: of each leaf, the dtypes of its statistics; None if it has no gradient.
        counted: True if a cond or a while_loop decides whether the program passes the place.
        edits: what changes its value.
        stacked: whether values of several steps or devices stand together.
    """

    name: str
    kind: str
    tree: Any
    measures: tuple[Any, ...]
    trees: tuple[Any, ...]
    out: tuple[Any, ...]
    probes: tuple[Any, ...]
    probed: tuple[Any, ...]
    edits: tuple[Any, ...] = ()
    counted: bool = False
    stacked: bool = False

    def with_axis(self, size: int) -> Found:
        """The place as it is outside of the loop around it: its values have an axis of steps in front."""
        return self._with_shapes(lambda a: a.stacked(size))

    def from_devices(self, axes: Sequence[str], n: int, sharding: jax.sharding.NamedSharding | None) -> Found:
        """The place as it is outside of the shard_map over these axes around it: its values have an axis of `n` devices in front."""
        return self._with_shapes(lambda a: Shape((n, *a.shape), a.dtype, a.varying - set(axes), sharding))

    def _with_shapes(self, change):
        return replace(self, out=tuple(map(change, self.out)), probes=tuple(map(change, self.probes)), stacked=True)

    def with_count(self) -> Found:
        """The place with one more value, the last: how many times the program passed it."""
        if self.counted:
            return self
        return replace(self, counted=True, out=(*self.out, Shape((), jnp.dtype("int32"))))


@dataclass
class Block:
    """A jaxpr as a list of steps.

    Attributes:
        steps: what `interpreter.Interpreter` runs, one after the other; none if all of it stays as it is.
        found: the selected places inside, in program order.
        indexed: True if an edit inside may ask for the numbers of the iterations.
    """

    closed: jex.ClosedJaxpr
    steps: list[Any] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    indexed: bool = False


@dataclass
class Here:
    """A selected place."""

    eqn: jex.JaxprEqn
    found: Found


@dataclass
class Counter:
    """An equation that asks for the number of an iteration."""

    eqn: jex.JaxprEqn


@dataclass
class Inside:
    """An equation with places in jaxprs of its own.

    Attributes:
        found: those places, as they are seen from outside; last, the equation's own result if `here` says that it is a place, too.
    """

    eqn: jex.JaxprEqn
    rule: Any  # a Rule
    blocks: Sequence[Block]
    found: list[Found]
    here: Here | None = None


@dataclass
class Listed:
    """A place of a program, whether selected or not; shape and dtype are None if it has several values.

    Attributes:
        loops: how many steps the loops around it have, the outermost first; 0 where the program doesn't tell.
    """

    name: str
    kind: str
    shape: tuple[int, ...] | None
    dtype: np.dtype[Any] | None
    path: str
    module: str | None = None
    call: int = 0
    places: tuple[str, ...] = ()
    loops: tuple[int, ...] = ()


@dataclass(eq=False)
class Planner:
    """Makes Blocks of jaxprs.

    Attributes:
        rules: {name of a primitive: Rule}, of `control_flow`.
        select (Patterns): which places leave the program.
        edits (Edits): which are edited; those of sites have been applied when the function was traced.
        gradients (bool): True if gradients of the places are wanted.
        statistic: from an array to a pytree of arrays, or None.
        lines (bool): True to count single operations as places, by their source lines.
        operations (bool): True to count them by their modules, and functions with a jit of their own as well.
        max_steps (int, optional): how many steps of a while_loop are kept; None for the last one alone.
    """

    rules: dict[str, Rule]
    select: Callable[..., bool]
    edits: Edits | None = None
    gradients: bool = False
    statistic: Callable[..., Any] | None = None
    lines: bool = False
    operations: bool = False
    max_steps: int | None = None

    def __post_init__(self):
        self.sources = SourceLines()
        self.module: tuple[str, int] = "", 0  # the path of the module around, and which call of it this is
        self.loops: tuple[int, ...] = ()  # as of a `Listed`
        self.functions: list[str] = []  # of jax, of which the equation is the last operation
        self.counts = {}
        self.listed = []
        self.programs = {}
        self.measured = {}

    def block(
        self,
        closed: jex.ClosedJaxpr,
        path: tuple[Any, ...] = (),
        line: str | None = None,
        barrier: str | None = None,
        hidden: bool = False,
    ) -> Block:
        """The Block of a ClosedJaxpr.

        Args:
            path: the forms of control flow around it.
            line: the source line that its operations are told to be at, where they have no line of their own.
            barrier: why no value can leave it, or None.
            hidden: True if what it computes has been computed before, so that its places are no places.
        """
        block = Block(closed)
        key: list[Any] = [id(closed)]
        around = self.module
        ending = self.sources.ending(closed.jaxpr.eqns) if self.operations else []

        def step_of(i, eqn):
            if self.operations:
                self.module = jax_slots.marked_scope(eqn) or around
                self.functions = ending[i]
            return self._step(eqn, path, line, barrier, hidden)

        steps = in_groups(closed.jaxpr.eqns, step_of)
        for step in steps:
            if isinstance(step, list):
                continue
            i = id(step.eqn)
            if isinstance(step, Here):
                block.found.append(step.found)
                block.indexed = block.indexed or bool(step.found.edits)
                key.append((i, replace(step.found, name="")))
            elif isinstance(step, Counter):
                block.indexed = True
                key.append(i)
            else:
                block.found += step.found
                block.indexed = block.indexed or any(b.indexed for b in step.blocks)
                own = () if step.here is None else (replace(step.here.found, name=""),)
                block.indexed = block.indexed or bool(step.here is not None and step.here.found.edits)
                key.append((i, *(id(b.steps) for b in step.blocks), *own))
        self.module = around
        if any(not isinstance(step, list) for step in steps):
            # A jaxpr that is used several times in the same way (a layer with a jit of its own) stays one program.
            used = tuple(key)
            if used not in self.programs:
                self.programs[used] = segments(closed.jaxpr, steps)
            block.steps = self.programs[used]
        return block

    def _step(self, eqn, path, line, barrier, hidden):
        primitive = eqn.primitive
        if primitive is index_p:
            # Without edits, the program is written anew, and evaluated later.
            return None if self.edits is None else Counter(eqn)
        if primitive is place_p or primitive.name == "name":
            name, kind = eqn.params["name"], "site" if primitive is place_p else "checkpoint_name"
            # What jax.grad of nested checkpoints computes for the first time may be part of what it computes again.
            return None if hidden and name in self.counts else self._place(eqn, [name], kind, path, barrier)
        rule = self.rules.get(primitive.name)
        if rule is None:
            inner = jax_slots.inner_jaxprs(eqn)
            for jaxpr in inner:
                self.block(close(jaxpr), (*path, primitive.name), line, barrier or f"a {primitive.name}", hidden)
            if inner or not (self.lines or self.operations) or not eqn.outvars or hidden:
                return None
            return self._operation(eqn, primitive.name, "operation", line, path, barrier)
        blocks, functions, module, loops = [], self.functions, self.module, self.loops
        if primitive.name in ("scan", "while", "shard_map"):
            self.loops = (*loops, eqn.params.get("length", 0))
        for body in rule.bodies(eqn):
            at = line or (self.sources.of_library(eqn, body.closed) if self.lines or self.operations else None)
            blocks.append(self.block(body.closed, (*path, body.label), at, barrier or body.barrier, hidden or body.recomputed))
        here, self.functions, self.module, self.loops = None, functions, module, loops
        if self.operations and "name" in eqn.params and eqn.outvars and not hidden and len(blocks) == 1:
            here = self._operation(eqn, eqn.params["name"], "function", line, path, barrier)
        touched = any(block.steps for block in blocks)
        if not touched and rule.has_own_derivative and self.edits is not None and self.edits.rows:
            # jax would call the user's rule of derivation when the edits are forgotten.
            touched = any(_has_edited(e) for block in blocks for e in block.closed.jaxpr.eqns)
        if not touched:
            return here
        found = list(rule.found(eqn, [b.found for b in blocks], self.max_steps))
        return Inside(eqn, rule, blocks, found if here is None else [*found, here.found], here)

    def _numbered(self, name):
        count = self.counts[name] = self.counts.get(name, -1) + 1
        return type(name)(f"{name}#{count}") if count else name

    def _operation(self, eqn, name, kind, line, path, barrier):
        names = [self.sources.name(eqn, line)] if self.lines and kind == "operation" else []
        if self.operations:
            names += [OperationName(f"{self.module[0]}/{own}") for own in dict.fromkeys([name, *self.functions])]
        return self._place(eqn, names, kind, path, barrier)

    def _place(self, eqn, names, kind, path, barrier):
        """The step of a place, if one of its names is selected or edited.

        Args:
            names: by which it may be asked for; it is called by the first that is.
        """
        names = [(name, self._numbered(name)) for name in names]
        outs = [v.aval for v in eqn.outvars]
        single = outs[0] if len(outs) == 1 else None
        places = [numbered for name, numbered in names if isinstance(name, OperationName)]
        shape, dtype = getattr(single, "shape", None), getattr(single, "dtype", None)
        self.listed.append(Listed(names[0][1], kind, shape, dtype, "/".join(path), *self.module, tuple(places), self.loops))
        edits = ()
        if self.edits is not None:
            found = [edit for both in names for edit in self.edits.of_call(*both, traced=kind == "site")]
            # A function that is given for several names of an operation changes it once; that of another step is another edit.
            edits = tuple({(id(e.fn), e.pattern if "[" in str(e.pattern) else None): e for e in found}.values())
        asked = [numbered for name, numbered in names if self.select(name, numbered)]
        selected, numbered = bool(asked), (asked or [names[0][1]])[0]
        if not selected and not edits:
            return None
        if barrier is not None:
            raise ValueError(
                f"For '{called('capture')}', the place {numbered!r} is inside of {barrier}, from where its value can't be returned. Places "
                "can be reached inside of jit, scan, the body of while_loop, cond, checkpoint, vmap, shard_map, custom_jvp and "
                "custom_vjp; leave this one out of the selection, or use an observer (register_forward_hook)."
            )
        if selected and self.gradients and "while" in path:
            raise ValueError(
                f"For '{called('capture')}', the place {numbered!r} is inside of a while_loop, which has no gradient in reverse mode: leave it "
                "out of the selection, capture it without gradients=True, or write the loop as a lax.scan or a fori_loop with "
                "a fixed number of steps."
            )
        return Here(eqn, self._found(eqn, numbered, kind, outs, edits, selected))

    def _found(self, eqn, name, kind, outs, edits, selected):
        if kind == "site":
            tree, batched = eqn.params["treedef"], eqn.params["batched"]
        else:
            tree, batched = jax.tree.structure(outs[0] if len(outs) == 1 else tuple(outs)), ((),) * len(outs)
        if not selected:
            return Found(name, "edited", tree, (), (), (), (), (), edits)
        measures = tuple(Measure(self.statistic, axes) for axes in batched)
        trees, out, probes, probed = [], [], [], []
        for aval, measure in zip(outs, measures):
            treedef, shapes = self._measured(aval, measure)
            trees.append(treedef)
            out += shapes
            differentiable = self.gradients and jnp.issubdtype(aval.dtype, jnp.inexact)
            probed.append(tuple(s.dtype for s in shapes) if differentiable else None)
            probes += [_floating(s) for s in shapes] if differentiable else []
        return Found(name, kind, tree, measures, tuple(trees), tuple(out), tuple(probes), tuple(probed), edits)

    def _measured(self, aval, measure):
        """(the structure, the shapes) of the statistic of an array."""
        shape = Shape.of(aval)
        key = (shape, measure.axes)
        if key not in self.measured:
            given = jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=shape.sharding)
            shapes, treedef = jax.tree.flatten(jax.eval_shape(measure.tree, given))
            self.measured[key] = treedef, [Shape(s.shape, s.dtype, shape.varying, _explicit(s)) for s in shapes]
        return self.measured[key]


def _floating(shape):
    return shape if jnp.issubdtype(shape.dtype, jnp.inexact) else shape._replace(dtype=jnp.zeros((), float).dtype)


def _has_edited(eqn):
    if eqn.primitive is place_p:
        return eqn.params["edited"]
    return any(map(_has_edited, inner_equations(eqn)))


def close(jaxpr: jex.Jaxpr | jex.ClosedJaxpr) -> jex.ClosedJaxpr:
    """A ClosedJaxpr; jax keeps jaxprs that close over nothing as they are."""
    return jaxpr if isinstance(jaxpr, jex.ClosedJaxpr) else jex.ClosedJaxpr(jaxpr, ())
