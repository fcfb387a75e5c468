"""stream: the residual stream of a transformer of any framework, found in its program."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from msjax.core.base.checks import (
    check_axis_number,
    check_bool,
    check_int,
    check_kind,
    check_one_of,
    check_optimizer,
    check_positive_int,
    check_str,
    check_value,
)
from msjax.core.base.compiler_options import options_of_few_runs
from msjax.core.base.errors import check_function, describe, number_among, on_behalf_of
from msjax.core.base.weak import Same
from msjax.core.models.inputs import batches_of, call_of, inputs_of
from msjax.core.models.kept_programs import run_kept
from msjax.core.models.where import names_of
from msjax.core.page.viewed import maps_view, plot, repr_html, to_dict, to_pandas
from msjax.core.study.edges import Edges, Graph, kept_only, scores
from msjax.core.study.heads import attention, head_parts, split_parts
from msjax.core.study.parts import Carried, Parts, components
from msjax.core.study.programs import check_steps, first_array, gradient_of, matching, on_tape
from msjax.core.study.tape import Tape


class Decomposed(NamedTuple):
    """A value as the sum of what modules have added; ``found["blocks.0.mlp"]`` is one of them.

    Attributes:
        names: of the parts, in program order.
        values: the parts, stacked: (parts, ...). Their sum is `total`, but for rounding.
        total: the value as the model computes it.
    """

    names: tuple[str, ...]
    values: jax.Array
    total: jax.Array

    def __getitem__(self, key: Any) -> Any:
        return self.values[number_among(key, self.names)] if isinstance(key, str) else tuple.__getitem__(self, key)

    def view(self) -> dict[str, Any]:
        """The data of its view on a page: how large each part is, along all axes but the last."""
        norms = jnp.linalg.norm(self.values.astype(jnp.float32), axis=-1)
        axes = ("part", *(f"axis {i}" for i in range(norms.ndim - 1)))
        return maps_view({"norms of the parts": norms}, axes, {"part": self.names}, "Decomposed")

    to_dict, to_pandas, plot, _repr_html_ = to_dict, to_pandas, plot, repr_html


class Stream:
    """The residual stream of a model, as `stream` makes it."""

    def __init__(self, model: Any, blocks: str, start: str | None):
        self.model, self.blocks, self.start = model, blocks, start
        # "*" doesn't cross dots here.
        self._is_block = lambda path: path.count(".") == blocks.count(".") and fnmatch.fnmatchcase(path, blocks)

    def _kept(self, name, key, work, patterns, call, *given, options=options_of_few_runs):
        """Run ``work(program, *given)`` in a compiled program, which is kept; `options` as for `run_kept`."""
        wanted = [*([] if self.start else [f"{self.blocks}:in[0]"]), *patterns]

        def program(pure, state, call, given):
            return on_tape(pure, state, wanted, call, lambda program: work(program, *given))

        with on_behalf_of(name):
            return run_kept(self.model, (name, self.blocks, self.start, *key), program, call, given, options=options)

    def _tape(self, edit=None, derivatives=False):
        def entrance(name):
            path, part, _ = name.partition(":in[0]")
            return name == self.start if self.start else bool(part) and self._is_block(path)

        return Tape(edit, entrance, self._is_block, derivatives)

    def _walked(self, program):
        """(tape, nodes of the results, the model's result, node where the stream begins) of a run."""
        tape = self._tape()
        outs, result = program.run(tape)
        if not tape.entered or not tape.left:
            there = ", ".join(map(repr, [name for name in tape.places if ":" not in name][:30]))
            raise ValueError(
                f"For 'stream', no blocks are called with an array first and return one: blocks={self.blocks!r}, start={self.start!r}; "
                f"there are {there}."
            )
        return tape, outs, result, tape.places[tape.entered[0]]

    def _target(self, tape, outs, at):
        if at is None:
            return tape.places[tape.left[-1]]
        if at == "" and "" not in tape.places:
            return next(node for node in outs if jnp.issubdtype(jnp.result_type(node.value), jnp.inexact))
        return tape.places[matching(tape, [at], "stream")[-1]]

    def _not_linear(self, at, carried, target):
        node = target
        while node.ins and not any(each in carried for each in node.ins):
            node = next((each for each in node.ins if each.ins), node.ins[0])
        what = f"{at!r}" if at else "the model's result" if at == "" else "the last block's output"
        return ValueError(
            f"For 'stream', {what} is no sum of what blocks add: {node.made!r} in {node.module!r} isn't linear in the residual stream. "
            "Name an earlier place: at=..."
        )

    def decompose(
        self, *args: Any, at: str | None = None, heads: bool = False, split: dict[str, Any] | None = None, **kwargs: Any
    ) -> Decomposed:
        """What the embeddings, every module and, if asked for, every head have added to a value.

        Args:
            args, kwargs: what the model is called with.
            at: the place whose value is decomposed: a block, ``"blocks.3:in[0]"``, what comes behind the blocks, such as the last norm,
                or "" for the model's result: norms and scales are frozen then, so that each part is a logit attribution. Default: the last
                block's output.
            heads: True for the results of each head, through the output kernel, in the place of those of attention modules. Attention is
                found by its softmax.
            split (dict, optional): {place: axis, or (axis, number of heads)} of other values that are split along an axis: heads that aren't
                found, as ``{"blocks.*.attn.out:in": -2}``, or neurons, as ``{"blocks.*.mlp.out:in": -1}``.

        Returns:
            A `Decomposed`. Parameters that are added, such as a bias, are parts named "module/parameter"; those
            that are looked up outside of a module for embeddings, "module/embedding".

        Raises:
            ValueError: there are no such blocks or places; the value isn't linear in the residual stream.
        """
        if at is not None:
            check_str(at, "at", "decompose")
        check_bool(heads, "heads", "decompose")
        check_kind(split, split is None or isinstance(split, dict), "be a dict of places", "split", "decompose")
        split = {at: how if isinstance(how, tuple) else (how,) for at, how in (split or {}).items()}
        for place, (axis, *count) in split.items():
            check_axis_number(axis, f"split[{place!r}]", "decompose")
            should = "be an axis, or an axis and a number of heads"
            check_value(split[place], len(count) < 2, should, f"split[{place!r}]", "decompose")
            for number in count:
                check_positive_int(number, f"split[{place!r}][1]", "decompose")

        def work(program):
            tape, outs, _, entrance = self._walked(program)
            given = {entrance.number: Parts.of(components(entrance))}
            given |= head_parts(tape.nodes, entrance) if heads else {}
            for pattern, how in split.items():
                for name in matching(tape, [pattern], "stream"):
                    given[tape.places[name].number] = split_parts(name, tape.places[name], how)
            carried = Carried(tape.nodes, [entrance], [tape.nodes[n] for n in given if n != entrance.number])
            target = self._target(tape, outs, at)
            if target not in carried:
                raise self._not_linear(at, carried, target)
            found = carried.parts(target, given, affine=True).merged()
            return tuple(found), jnp.stack(list(found.values())), target.value

        patterns = [p for p in (at, *split) if p and ":" in p]
        key = (at, heads, tuple(split.items()))
        return Decomposed(*self._kept("decompose", key, work, patterns, call_of(args, kwargs)))

    def direct(
        self, *args: Any, at: str | Iterable[str], metric: Callable[[Any], jax.Array] | None = None, **kwargs: Any
    ) -> dict[str, jax.Array]:
        """How much each value of some places adds to a number directly: past no other block, with norms frozen.

        Args:
            args, kwargs: what the model is called with.
            at: places: what modules put out, or within a block what stands before its last projection, for heads and neurons:
                ``"blocks.*.attn.out:in"``, ``"blocks.*.mlp.down:in"``.
            metric (callable, optional): from the model's result to a number, such as the difference of two logits; to first order. Default: the sum.

        Returns:
            {place: array of the value's shape}: add it up over what isn't looked at, such as features, for that of positions and heads.
        """
        at = check_value(names_of(at, "at", "direct"), at, "name at least one place", "at", "direct")
        if metric is not None:
            check_function(metric, "direct", "metric", ("result",))

        def work(program):
            tape, outs, result, entrance = self._walked(program)
            names = matching(tape, at, "stream")
            nodes = {name: tape.places[name] for name in names}
            stream = [entrance, *[node for node in nodes.values() if not node.inside]]
            carried = Carried(tape.nodes, stream, [node for node in nodes.values() if node.inside])
            _, slope = gradient_of(metric, result)
            target = next(node for node in outs if node.value is first_array(result))
            if target not in carried:
                raise self._not_linear("", carried, target)

            def added(deltas):
                given = {nodes[name].number: Parts((name,), (delta[None],)) for name, delta in deltas.items()}
                parts = carried.parts(target, given, affine=False)
                return sum([jnp.vdot(piece.sum(0), slope) for piece in parts.pieces], jnp.zeros(()))

            slopes = jax.grad(added)({name: jnp.zeros_like(node.value) for name, node in nodes.items()})
            return {name: slopes[name] * node.value for name, node in nodes.items()}

        return dict(self._kept("direct", (at, Same(metric)), work, [p for p in at if ":" in p], call_of(args, kwargs)))

    def lens(self, *args: Any, translators: Any = None, **kwargs: Any) -> Any:
        """What the model would return if it ended after each block: the logit lens (nostalgebraist, 2020).

        Args:
            args, kwargs: what the model is called with.
            translators (optional): those that `tune` returns, for the tuned lens (Belrose et al., 2023).

        Returns:
            The model's result with an axis in front: what comes into the first block, then one for each block.
        """
        return self._kept("lens", (), self._lenses, (), call_of(args, kwargs), translators)

    def _lenses(self, program, translators):
        tape, _, _, entrance = self._walked(program)
        values = jnp.stack([entrance.value, *[tape.places[name].value for name in tape.left]])
        if translators is not None:
            count, features = values.shape[0] - 1, values.shape[-1]
            shapes = list(map(jnp.shape, translators)) if isinstance(translators, (tuple, list)) else describe(translators)
            if shapes != [(count, features, features), (count, features)]:
                raise ValueError(
                    f"For 'lens', translators should be what tune returns for {count} blocks of {features} features, but got {shapes}."
                )
            kernel, bias = translators
            moved = jnp.einsum("l...d,lde->l...e", values[:-1], kernel) + jnp.expand_dims(bias, range(1, values.ndim - 1))
            values = values.at[:-1].add(moved.astype(values.dtype))
        last = tape.left[-1]

        def ended(value):
            return program.run(self._tape(lambda name, node, _: value if name == last else node.value))[1]

        return jax.vmap(ended)(values)

    @on_behalf_of("tune")
    def tune(self, batches: Iterable[Any], optimizer: Any) -> tuple[jax.Array, jax.Array]:
        """Train the translators of the tuned lens: an affine map for each block, by the divergence of its logits from the model's.

        Args:
            batches: of arguments of the model: arrays, tuples, or `Inputs`. Each is one step.
            optimizer: of optax, such as ``optax.adam(1e-3)``.

        Returns:
            (kernels, of shape (blocks, features, features); biases): for `lens`. What they give is added to the value.
        """
        translators, state = None, None
        check_optimizer(optimizer, "tune")

        def loss(translators, program):
            logits = jax.nn.log_softmax(first_array(self._lenses(program, translators)))
            return (jnp.exp(logits[-1]) * (logits[-1] - logits[:-1])).sum(-1).mean()

        def first(program):
            tape, _, _, entrance = self._walked(program)
            shape = len(tape.left), entrance.value.shape[-1]
            return jnp.zeros((*shape, shape[1])), jnp.zeros(shape)

        def work(program, translators, state):
            slopes = jax.grad(loss)(translators, program)
            updates, state = optimizer.update(slopes, state, translators)
            return jax.tree.map(jnp.add, translators, updates), state

        for batch in batches_of(batches, "tune"):
            call = inputs_of(batch)
            if translators is None:
                translators = self._kept("tune", ("first",), first, (), call)
                state = optimizer.init(translators)
            key = (Same(optimizer.update),)
            translators, state = self._kept("tune", key, work, (), call, translators, state, options=None)
        if translators is None:
            raise ValueError("For 'tune', there should be at least one batch, but there is none.")
        return translators

    @on_behalf_of("edges")
    def edges(
        self,
        clean: Any,
        corrupt: Any,
        *,
        metric: Callable[[Any], jax.Array],
        method: str = "attribution",
        heads: bool = False,
        steps: int = 8,
        chunk: int = 32,
    ) -> Edges:
        """How the metric on clean inputs changes if one module or head reaches one later module as on corrupt inputs.

        Args:
            clean, corrupt: the inputs of the two runs: an array, a tuple of the arguments, or an `Inputs`.
            metric: from the model's result to a number.
            method: "attribution" (edge attribution patching, Syed et al., 2023), which is of first order; "integrated gradients" (Hanna et al.,
                2024), with gradients on the way from the clean to the corrupt inputs of the first block; or "patching" (path patching,
                Goldowsky-Dill et al., 2023), exact: a run for each edge.
            heads: True for the heads of attention as senders, in the place of attention modules.
            steps: points of the integral, by Gauss-Legendre's rule.
            chunk: of "patching", so many runs at a time are vectorized, which bounds the memory.

        Returns:
            `Edges`. Readers are the modules that are called with the residual stream alone, such as the norms within blocks.

        Raises:
            ValueError: `method` is none of these, or there are no such modules.
        """
        check_one_of(method, ("attribution", "integrated gradients", "patching"), "method", "edges")
        check_function(metric, "edges", "metric", ("result",))
        check_bool(heads, "heads", "edges")
        check_steps(steps, "edges")
        check_int(chunk, "chunk", "edges", low=1)

        def work(program, corrupt):
            parts, end = corrupt
            graph = self._graph(program, heads)

            def again(read, enter=None):
                return graph.again(program, self._tape(derivatives=True), read, enter)

            return tuple(graph.parts), tuple(graph.present), scores(graph, parts, again, metric, method, steps, chunk, end)

        key = Same(metric), method, heads, steps, chunk
        parts, options = self._parts_of(corrupt, heads), options_of_few_runs if method == "attribution" else None
        return Edges(*self._kept("edges", key, work, ("*:in",), inputs_of(clean), parts, options=options))

    def _graph(self, program, heads):
        tape, _, result, entrance = self._walked(program)
        return Graph(tape, result, entrance, self._is_block, heads)

    def _parts_of(self, given, heads):
        """({sender: what it adds}, what comes into the first block) on some inputs."""

        def work(program):
            graph = self._graph(program, heads)
            return dict(graph.parts), graph.entrance.value

        return self._kept("parts", (heads,), work, ("*:in",), inputs_of(given))

    @on_behalf_of("mean")
    def mean(self, batches: Iterable[Any], *, heads: bool = False) -> dict[str, jax.Array]:
        """What each module or head adds in the mean over a reference set, for mean ablation.

        Args:
            batches: of arguments of the model: arrays, tuples, or `Inputs`. One after the other is in memory.
            heads: True for the heads of attention.

        Returns:
            {sender: the mean over batches and their first axis, which has length 1}.
        """
        total, count = None, 0
        check_bool(heads, "heads", "mean")
        for batch in batches_of(batches, "mean"):
            parts, _ = self._parts_of(batch, heads)
            sums = {name: value.sum(0, keepdims=True) for name, value in parts.items()}
            total = sums if total is None else jax.tree.map(jnp.add, total, sums)
            count += next(iter(parts.values())).shape[0]
        if total is None or not count:
            raise ValueError("For 'mean', there should be at least one batch with an example, but there is none.")
        return {name: value / count for name, value in total.items()}

    def run_with_edges(
        self, args: Any, kept: Any, senders: tuple[str, ...], readers: tuple[str, ...], reference: Any, heads: bool
    ) -> Any:
        """What the model returns if only those edges that are kept, by a mask (senders, readers), carry what they do on these inputs; see
        `Circuit.run`, whose `args` and `reference` it takes."""
        reference = reference if isinstance(reference, dict) else self._parts_of(reference, heads)[0]

        def work(program, kept, reference):
            found: list[Graph] = []
            # Nothing of this run is part of the compiled program.
            jax.eval_shape(lambda: found.append(self._graph(program, heads)))
            # Heads are found in the body of the softmax, which has a derivative of its own.
            return found[0].again(program, self._tape(), kept_only(kept, senders, readers, reference, heads))

        return self._kept("circuit", (senders, readers, heads), work, ("*:in",), inputs_of(args), jnp.asarray(kept), reference)

    def patterns(self, *args: Any, **kwargs: Any) -> dict[str, jax.Array]:
        """The attention patterns, {path of a module: array (..., heads, queries, keys)}: softmaxes that are multiplied with values."""

        def work(program):
            tape, _, _, entrance = self._walked(program)
            return {module: each.pattern for module, each in attention(tape.nodes, entrance).items()}

        return dict(self._kept("patterns", (), work, (), call_of(args, kwargs)))


def stream(model: Any, blocks: str = "blocks.*", *, start: str | None = None) -> Stream:
    """The residual stream of a transformer of flax, equinox or haiku that nobody has adapted.

    It is found by tracing: what the program adds to the first argument of the first block until the last block returns. Layers in a
    scan are unrolled, in what is compiled here.

    Args:
        model: an nnx module, or another model or function, as for `capture`.
        blocks: the path of the blocks, "*" within one part of it, such as ``"blocks.*"`` or, in a scan, ``"layers"``. They take the stream as
            their first positional argument, and return it, alone or first.
        start (str, optional): the name of the place where the stream begins, for functions whose blocks are named by `site`.

    Returns:
        A `Stream`, whose methods are called like the model: `decompose`, `direct`, `lens`, `patterns`.

    Raises:
        TypeError: `blocks` is no text.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> from flax import nnx
        >>> class Block(nnx.Module):
        ...     def __init__(self):
        ...         self.mlp = nnx.Linear(2, 2, use_bias=False, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0))
        ...     def __call__(self, x):
        ...         return x + self.mlp(x)
        >>> model = nnx.Sequential(Block(), Block())
        >>> found = ms.hooks.stream(model, "layers.*").decompose(jnp.array([[1.0, 2.0]]))
        >>> print(found.names, found.values[:, 0, 0], found.total[0, 0])
        ('input', 'layers.0.mlp', 'layers.1.mlp') [1. 3. 9.] 13.0
    """
    check_str(blocks, "blocks", "stream")
    if start is not None:
        check_str(start, "start", "stream")
    return Stream(model, blocks, start)
