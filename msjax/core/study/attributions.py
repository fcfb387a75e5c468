"""Attributions to a model's inputs, and conductance of its layers: those of Captum, for models and functions of jax."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.arrays import is_tracer
from msjax.core.base.checks import check_int, check_kind, check_numeric, check_one_of, check_value, is_int, is_numeric
from msjax.core.base.compiler_options import options_of_few_runs
from msjax.core.base.errors import called, check_function, describe, on_behalf_of
from msjax.core.base.weak import Same
from msjax.core.models.capture import capture_options
from msjax.core.models.inputs import call_of
from msjax.core.models.kept_programs import run_kept
from msjax.core.models.where import names_of
from msjax.core.page.viewed import maps_view, plot, repr_html, to_dict, to_pandas
from msjax.core.study.programs import check_steps, integral, result_of
from msjax.core.study.verbs import broadcasts


class Attribution(NamedTuple):
    """Attributions of a number, one for each example.

    Attributes:
        values: of the input's shape.
        delta: (examples,): what the attributions of an example add up to, less what they should: the difference of the number on the input and
            on the baseline.
    """

    values: jax.Array
    delta: jax.Array

    def view(self) -> dict[str, Any]:
        """The data of its view on a page: a map of the values."""
        return maps_view({"attribution": self.values}, (), {}, "Attribution")

    to_dict, to_pandas, plot, _repr_html_ = to_dict, to_pandas, plot, repr_html


def _each(metric, result, count):
    """The number of each example."""
    numbers = metric(result)
    if jnp.shape(numbers) != (count,):
        raise ValueError(
            f"For '{called('attribute')}', the metric should return a number for each of {count} examples, but returned {describe(numbers)}."
        )
    return numbers


class _Input(NamedTuple):
    """The argument of a call that is attributed to: its number from 0, or its name."""

    at: int | str

    def of(self, call):
        """Its value."""
        return call[isinstance(self.at, str)][self.at]

    def replaced(self, call, value):
        """The call with another value."""
        args, kwargs = call
        if isinstance(self.at, str):
            return args, {**kwargs, self.at: value}
        return (*args[: self.at], value, *args[self.at + 1 :]), kwargs


def _checked(who, call, wrt, metric, baseline=0.0, noise=0.0, steps=1, **counts):
    """The `_Input` that `wrt` says."""
    check_function(metric, who, "metric", ("result",))
    check_steps(steps, who)
    for name, count in counts.items():
        check_int(count, name, who, low=1)
    check_kind(wrt, is_int(wrt) or isinstance(wrt, str), "be the number or the keyword of an argument", "wrt", who)
    args, kwargs = call
    there = wrt in kwargs if isinstance(wrt, str) else -len(args) <= wrt < len(args)
    found = _Input(wrt if isinstance(wrt, str) else wrt % max(len(args), 1))
    given: Any = found.of(call) if there else None
    if not is_numeric(given) or not jnp.issubdtype(jnp.result_type(given), jnp.inexact):
        raise ValueError(
            f"For '{who}', wrt={wrt!r} should be the number, or the keyword, of an argument that is an array of floats. For tokens, attribute "
            "to their embeddings: hooks.attribute(model, tokens, at='embed', ...)."
        )
    shape = jnp.shape(given)
    check_value(given, shape and shape[0], "have an axis of at least one example", f"the argument wrt={wrt!r}", who)
    for name, value in (("baseline", baseline), ("noise", noise)):
        check_numeric(value, name, who)
        check_value(value, broadcasts(jnp.shape(value), shape), f"broadcast to the input, of shape {shape}", name, who)
    check_value(noise, is_tracer(noise) or np.all(np.asarray(noise) >= 0), "be a standard deviation, not negative", "noise", who)
    return found


def _check_key(key, who):
    kind = getattr(key, "dtype", None)
    fits = kind is not None and (kind == jnp.uint32 or jnp.issubdtype(kind, jax.dtypes.prng_key))
    check_kind(key, fits, "be one of jax.random, such as jax.random.key(0)", "key", who)


def _on_input(who, model, call, wrt, metric, key, work, *given):
    """Run ``work(numbers, x, *given)``, where ``numbers(x)`` are the metrics of the examples, in a compiled program, which is kept."""

    def program(pure, state, call, given):
        x = jnp.asarray(wrt.of(call))
        return work(lambda x: _each(metric, result_of(pure, state, wrt.replaced(call, x)), x.shape[0]), x, *given)

    with on_behalf_of(who):
        return run_kept(model, (who, wrt, Same(metric), *key), program, call, given, options=options_of_few_runs)


def _slope(numbers, x):
    return jax.grad(lambda x: numbers(x).sum())(x)


def _attribution(values, numbers, x, baselines):
    """The `Attribution` of values that should add up to the difference of the number on the input and its mean on (baselines, ...)."""
    # In one loop, so that the model stands in the program once.
    found = jax.lax.map(lambda i: numbers(jnp.where(i < 0, x, baselines[i]).astype(x.dtype)), jnp.arange(-1, baselines.shape[0]))
    return Attribution(values, values.reshape(values.shape[0], -1).sum(-1) - (found[0] - found[1:].mean(0)))


def _integrated(numbers, x, baseline, steps):
    change = x - baseline
    return integral(lambda part: _slope(numbers, (baseline + part * change).astype(x.dtype)), steps) * change


def integrated_gradients(
    model: Any,
    *args: Any,
    metric: Callable[[Any], jax.Array],
    wrt: int | str = -1,
    baseline: Any = 0.0,
    steps: int = 50,
    **kwargs: Any,
) -> Attribution:
    """Integrated gradients (Sundararajan et al., 2017) with the error of convergence.

    Args:
        model: an nnx module, or another model or function, as for `capture`.
        args, kwargs: what it is called with.
        metric: from the model's result to a number for each example, such as ``lambda logits: logits[:, 3]``.
        wrt: the number of the argument that is attributed to, from the end if negative, or its keyword. Its first axis is that of examples.
        baseline: an array that broadcasts to it. Default: zeros.
        steps: points of the Gauss-Legendre rule, at most 1,000.

    Returns:
        An `Attribution`. The program is compiled, and kept.

    Raises:
        ValueError: the argument isn't an array of floats; the metric isn't one number for each example.

    Example:
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> found = ms.hooks.integrated_gradients(lambda x: x[:, 0] * x[:, 1], jnp.array([[2.0, 3.0]]), metric=lambda out: out)
        >>> print(found.values.round(4), abs(found.delta) < 1e-5)
        [[3. 3.]] [ True]
    """
    call = call_of(args, kwargs)
    at = _checked("integrated_gradients", call, wrt, metric, baseline, steps=steps)

    def work(numbers, x, baseline):
        return _attribution(_integrated(numbers, x, baseline, steps), numbers, x, jnp.asarray(baseline)[None])

    return _on_input("integrated_gradients", model, call, at, metric, (steps,), work, baseline)


def noise_tunnel(
    model: Any,
    *args: Any,
    metric: Callable[[Any], jax.Array],
    key: jax.Array,
    wrt: int | str = -1,
    noise: Any = 0.1,
    samples: int = 16,
    kind: str = "smoothgrad",
    method: str = "gradient",
    baseline: Any = 0.0,
    steps: int = 16,
    **kwargs: Any,
) -> jax.Array:
    """Attributions averaged over noisy inputs: SmoothGrad (Smilkov et al., 2017), its square (Hooker et al., 2019) or variance (Adebayo et al., 2018).

    Args:
        model, args, kwargs, metric, wrt: see `integrated_gradients`.
        key: of jax.random.
        noise: the standard deviation of what is added to the input, a number or an array that broadcasts to it.
        samples: how many inputs.
        kind: "smoothgrad" for the mean, "smoothgrad_sq" for that of the squares, "vargrad" for the variance.
        method: "gradient" or "integrated gradients", with `baseline` and `steps`.

    Returns:
        An array of the input's shape.
    """
    _check_key(key, "noise_tunnel")
    kinds = {"smoothgrad": lambda v: v.mean(0), "smoothgrad_sq": lambda v: (v**2).mean(0), "vargrad": lambda v: v.var(0)}
    check_one_of(kind, kinds, "kind", "noise_tunnel")
    check_one_of(method, ("gradient", "integrated gradients"), "method", "noise_tunnel")
    call = call_of(args, kwargs)
    at = _checked("noise_tunnel", call, wrt, metric, baseline, noise, steps, samples=samples)

    def work(numbers, x, key, noise, baseline):
        def of(key):
            noisy = (x + noise * jax.random.normal(key, x.shape, x.dtype)).astype(x.dtype)
            return _slope(numbers, noisy) if method == "gradient" else _integrated(numbers, noisy, baseline, steps)

        return kinds[kind](jax.lax.map(of, jax.random.split(key, samples)))

    return _on_input("noise_tunnel", model, call, at, metric, (samples, kind, method, steps), work, key, noise, baseline)


def gradient_shap(
    model: Any,
    *args: Any,
    metric: Callable[[Any], jax.Array],
    key: jax.Array,
    baselines: Any,
    wrt: int | str = -1,
    noise: Any = 0.0,
    samples: int = 32,
    **kwargs: Any,
) -> Attribution:
    """Expected gradients, SHAP's gradient form (Lundberg and Lee, 2017; Erion et al., 2021).

    Args:
        model, args, kwargs, metric, wrt: see `integrated_gradients`.
        key: of jax.random.
        baselines: an array (baselines, ...) of inputs without the axis of examples; each sample takes one by chance.
        noise: the standard deviation of what is added to the input.
        samples: of the expectation.

    Returns:
        An `Attribution`; `delta` compares with the mean over all baselines.
    """
    check_kind(baselines, is_numeric(baselines), "be an array", "baselines", "gradient_shap")
    _check_key(key, "gradient_shap")
    baselines, call = jnp.asarray(baselines), call_of(args, kwargs)
    at = _checked("gradient_shap", call, wrt, metric, noise=noise, samples=samples)
    shape, noisy = jnp.shape(at.of(call))[1:], not (isinstance(noise, (int, float)) and noise == 0)
    if not len(baselines.shape) or baselines.shape[1:] != shape or not len(baselines):
        raise ValueError(
            f"For 'gradient_shap', the baselines should be of shape {('baselines', *shape)}, but got {describe(baselines)}."
        )

    def work(numbers, x, key, baselines, noise):
        def of(key):
            first, second, third = jax.random.split(key, 3)
            start = baselines[jax.random.randint(first, (x.shape[0],), 0, baselines.shape[0])].astype(x.dtype)
            end = (x + noise * jax.random.normal(second, x.shape, x.dtype)).astype(x.dtype) if noisy else x
            part = jax.random.uniform(third, (x.shape[0],) + (1,) * (x.ndim - 1), x.dtype)
            return _slope(numbers, start + part * (end - start)) * (end - start)

        values = jax.lax.map(of, jax.random.split(key, samples)).mean(0)
        return _attribution(values, numbers, x, baselines[:, None])

    return _on_input("gradient_shap", model, call, at, metric, (samples, noisy), work, key, baselines, noise)


def occlusion(
    model: Any,
    *args: Any,
    metric: Callable[[Any], jax.Array],
    window: Sequence[int],
    strides: Sequence[int] | None = None,
    wrt: int | str = -1,
    baseline: Any = 0.0,
    chunk: int = 32,
    **kwargs: Any,
) -> jax.Array:
    """How much the metric falls where a window of the input is covered (Zeiler and Fergus, 2014), averaged over the windows that cover a value.

    Args:
        model, args, kwargs, metric, wrt: see `integrated_gradients`.
        window: its size along each axis but that of examples.
        strides: how far it moves, at most by its size, which is the default. The last window along an axis ends with the axis.
        baseline: what covers the input.
        chunk: so many runs at a time are vectorized, which bounds the memory.

    Returns:
        An array of the input's shape.
    """
    for name, sizes in (("window", window), ("strides", strides)):
        fits = isinstance(sizes, (tuple, list)) and all(map(is_int, sizes))
        check_kind(sizes, fits or (name == "strides" and sizes is None), "be a tuple of ints", name, "occlusion")
    call, window = call_of(args, kwargs), tuple(window)
    at = _checked("occlusion", call, wrt, metric, baseline, chunk=chunk)
    strides = window if strides is None else tuple(strides)

    def work(numbers, x, baseline):
        sizes = x.shape[1:]
        fit = all(0 < step <= w <= s for step, w, s in zip(strides, window, sizes))
        if not (fit and len(window) == len(strides) == len(sizes)):
            raise ValueError(
                f"For 'occlusion', window={window} and strides={strides} should have a number for each axis of {sizes}: a window that fits, and "
                "strides that are no wider, so that each value is covered."
            )
        along = [sorted({min(at, s - w) for at in range(0, s - w + step, step)}) for s, w, step in zip(sizes, window, strides)]
        starts = jnp.asarray(list(itertools.product(*along)), jnp.int32)
        before = numbers(x)

        def of(start):
            mask = jnp.ones(sizes, bool)
            for axis, (at, size) in enumerate(zip(start, window)):
                numbers_along = jnp.arange(sizes[axis]).reshape([-1 if i == axis else 1 for i in range(len(sizes))])
                mask &= (numbers_along >= at) & (numbers_along < at + size)
            fall = before - numbers(jnp.where(mask, baseline, x).astype(x.dtype))
            return fall.reshape(-1, *[1] * len(sizes)) * mask, mask

        found, masks = jax.lax.map(of, starts, batch_size=min(chunk, len(starts)))
        return found.sum(0) / jnp.maximum(masks.sum(0), 1)

    return _on_input("occlusion", model, call, at, metric, (window, strides, chunk), work, baseline)


def conductance(
    model: Any,
    *args: Any,
    at: str | Sequence[str],
    metric: Callable[[Any], jax.Array],
    wrt: int | str = -1,
    baseline: Any = 0.0,
    steps: int = 50,
    **kwargs: Any,
) -> dict[str, jax.Array]:
    """Conductance of layers (Dhamdhere et al., 2019): how much of the integrated gradients of the input flows through each of their values.

    Args:
        model, args, kwargs, metric, wrt, baseline, steps: see `integrated_gradients`. The path from the baseline to the input has so many steps.
        at: places, as for `capture`.

    Returns:
        {place: array of the value's shape}. All values of a layer through which everything flows add up to the difference of the metric.
    """
    at, call = names_of(at, "at", "conductance"), call_of(args, kwargs)
    of_input = _checked("conductance", call, wrt, metric, baseline, steps=steps)

    def program(pure, state, call, baseline):
        x = jnp.asarray(of_input.of(call))

        def on(part):
            return of_input.replaced(call, (baseline + part * (x - baseline)).astype(x.dtype))

        def values(part):
            return dict(pure.run(state, capture_options(at), *on(part))[1].activations)

        def of(part):
            options = capture_options(at, True, loss=lambda result: _each(metric, result, x.shape[0]).sum())
            slopes = pure.run(state, options, *on(part))[1].gradients
            _, moved = jax.jvp(values, (part,), (jnp.ones_like(part),))
            return jax.tree.map(jnp.multiply, dict(slopes), moved)

        return integral(of, steps)

    with on_behalf_of("conductance"):
        key = "conductance", at, of_input, Same(metric), steps
        return dict(run_kept(model, key, program, call, baseline, options=options_of_few_runs))
