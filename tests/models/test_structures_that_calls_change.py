"""Captured calls of flax nnx models that change what the model consists of: attributes that come, grow and go."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import msjax as ms
from msjax import nn
from msjax.hooks import capture, run_with_cache


class Kept(nnx.Variable):
    pass


class Model(nnx.Module):
    def __init__(self, change):
        self.first, self.second = (nnx.Linear(3, 3, rngs=nnx.Rngs(i)) for i in range(2))
        self.old, self.items, self.note = Kept(jnp.zeros(3)), nnx.List([]), "new"
        self.change = change

    def __call__(self, x):
        x = self.first(x)
        self.change(self, x)
        return self.second(x)


def grown(model, x):
    values = model.old.get_value()
    model.old.set_value((*values, x.sum()) if isinstance(values, tuple) else (x.sum(),))


def shrunk(model, x):
    model.old.set_value(())


def appended(model, x):
    model.items.append(Kept(x.mean(0)))


def appended_module(model, x):
    model.items.append(nnx.Linear(3, 2, rngs=nnx.Rngs(len(model.items))))
    model.items[-1](x)


def made_lazily(model, x):
    if not hasattr(model, "third"):
        model.third = nnx.Linear(3, 2, rngs=nnx.Rngs(5))
    model.third(x)


def array_kept(model, x):
    model.last = nnx.data(x)


def arrays_kept(model, x):
    model.last = nnx.data({"mean": x.mean(0), "max": Kept(x.max(0))})


def taken_away(model, x):
    if hasattr(model, "old"):
        del model.old, model.note


CHANGES = [grown, shrunk, appended, appended_module, made_lazily, array_kept, arrays_kept, taken_away]
WAYS = {
    "capture": lambda model, x: capture(model, "second")(x)[0],
    "run_with_cache": lambda model, x: run_with_cache(model, x)[0],
    "an edit": lambda model, x: capture(model, [], edit={"first": lambda value, index: value})(x)[0],
    "under nnx.jit": lambda model, x: nnx.jit(lambda model, x: capture(model, "second")(x)[0])(model, x),
}


def plainly(model, x):
    return nnx.jit(lambda model, x: model(x))(model, x)


def parts(model):
    """(what the model consists of, its arrays)."""
    state = nnx.state(model)
    plain = {
        path: {k: v for k, v in vars(each).items() if isinstance(v, (str, int))}
        for path, each in nnx.iter_graph(model)
        if isinstance(each, nnx.Module)
    }
    return (sorted(map(str, dict(nnx.to_flat_state(state)))), plain), jax.tree.leaves(state)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_the_model_has_what_a_plain_call_gives_it(change, way):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 3)), jnp.float32)
    model, like = Model(change), Model(change)
    for _ in range(3):
        np.testing.assert_allclose(WAYS[way](model, x), plainly(like, x), atol=1e-6)
        (structure, arrays), (expected, values) = parts(model), parts(like)
        assert structure == expected
        assert [a.dtype for a in arrays] == [a.dtype for a in values]
        for a, b in zip(arrays, values, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_new_attribute_that_shares_a_variable_is_refused():
    def tied(model, x):
        model.same = model.old

    model = Model(tied)
    with pytest.raises(
        ValueError, match="an attribute 'same' that shares a variable with another of the model: call the model once"
    ):
        capture(model, "second")(jnp.ones((5, 3)))
    model(jnp.ones((5, 3)))
    capture(model, "second")(jnp.ones((5, 3)))
    assert model.same is model.old


class Keeps(nn.Cell):
    """Keeps what it has computed, a Tensor and a list with one, as MindSpore's programs do."""

    def construct(self, x):
        self.last = x * 2
        self.all = [self.last, "text"]
        return self.last


class Around(nnx.Module):
    def __init__(self):
        self.cell, self.out = Keeps(), nnx.Linear(3, 3, rngs=nnx.Rngs(0))

    def __call__(self, x):
        return self.out(self.cell(ms.Tensor(x))._value)


@pytest.mark.parametrize("run", [lambda model, x: capture(model, "out")(x), run_with_cache])
def test_tensors_that_a_cell_in_the_model_keeps(run):
    model = Around()
    for factor in (1.0, 3.0):
        run(model, jnp.full((1, 3), factor))
        assert isinstance(model.cell.last, ms.Tensor) and model.cell.all[1] == "text"
        assert model.cell.last.asnumpy().tolist() == model.cell.all[0].asnumpy().tolist() == [[2 * factor] * 3]
