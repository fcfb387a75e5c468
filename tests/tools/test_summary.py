"""tools.summary: rows, totals, and how it prints; nothing of the network changes."""

import flax.linen as linen
import jax
import numpy as np
import pytest
from flax import nnx

import msjax as ms
from msjax import nn
from msjax.tools import hooks_of, summary


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.body = nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4), nn.ReLU())
        self.relu = self.body[2]
        self.spare = nn.Dense(2, 2)

    def construct(self, x, twice=False):
        x = self.body(x)
        return (self.relu(x), x.sum()) if twice else self.relu(x)


def x32(*shape):
    return ms.Tensor(np.zeros(shape, np.float32))


def test_rows():
    found = summary(Net(), x32(5, 3))
    assert [(r.path, r.cls_name, r.outputs, r.calls, r.trainable, r.other) for r in found.rows] == [
        ("", "Net", (((5, 4), "Float32"),), 1, 0, 0),
        ("body", "SequentialCell", (((5, 4), "Float32"),), 1, 0, 0),
        ("body.0", "Dense", (((5, 4), "Float32"),), 1, 16, 0),
        ("body.1", "BatchNorm1d", (((5, 4), "Float32"),), 1, 8, 8),
        ("body.2", "ReLU", (((5, 4), "Float32"),), 2, 0, 0),
        ("spare", "Dense", None, 0, 6, 0),
    ]
    assert (found.trainable, found.other) == (30, 8)


def test_text_and_html():
    net = Net()
    net.relu.register_forward_hook(print)
    net.body[0].weight.register_hook(print)
    found = summary(net, x32(5, 3))
    text, page = str(found), found._repr_html_()
    for part in (
        "body",
        "BatchNorm1d",
        "Float32 [5, 4] x2",
        "8 (+8 not trained)",
        "not called",
        "forward: print",
        "gradient of weight",
    ):
        assert part in text and part in page, part
    assert text.splitlines()[-1].split() == ["in", "all", "30", "(+8", "not", "trained)"]
    assert "<script" not in page and page.startswith("<pre")


def test_several_outputs_keyword_arguments_and_shapes_only():
    net = Net()
    assert summary(net, x32(5, 3), twice=True).rows[0].outputs == (((5, 4), "Float32"), ((), "Float32"))
    shapes = summary(net, jax.ShapeDtypeStruct((7, 3), np.float32))
    assert shapes.rows[0].outputs == (((7, 4), "Float32"),)
    assert all(row.outputs is None for row in summary(net).rows)


def test_nothing_changes_and_nothing_runs(capsys):
    net = Net()
    net.set_train()
    net.relu.register_forward_hook(print)
    before = {p.name: p.asnumpy() for p in net.get_parameters()}, [hooks_of(cell) for _, cell in net.cells_and_names()]
    summary(net, ms.Tensor(np.ones((5, 3), np.float32)))
    assert capsys.readouterr().out == ""
    for name, value in before[0].items():
        np.testing.assert_array_equal(dict(net.parameters_dict())[name].asnumpy(), value)
    assert [hooks_of(cell) for _, cell in net.cells_and_names()] == before[1]


def test_shared_parameters_count_once():
    class Tied(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Dense(3, 3), nn.Dense(3, 3)
            self.b.weight = self.a.weight

        def construct(self, x):
            return self.b(self.a(x))

    assert summary(Tied(), x32(1, 3)).trainable == 9 + 3 + 3


def test_errors():
    class Looks(nn.Cell):
        def construct(self, x):
            return x if float(x.sum()) > 0 else -x

    net = Looks()
    with pytest.raises(RuntimeError, match=r"(?s)summary.*shapes only.*float\(\)"):
        summary(net, x32(2))
    assert not hooks_of(net)
    with pytest.raises(
        TypeError,
        match=r"For \'summary\', the model should be a flax nnx module, a Cell, or what hooks\.hooked\(model\) returns .* but got",
    ):
        summary(3)
    with pytest.raises(ValueError):
        summary(Net(), x32(5, 2))


def test_modules_of_flax_nnx():
    class Model(nnx.Module):
        def __init__(self, rngs):
            self.blocks = nnx.List([nnx.Linear(4, 4, rngs=rngs)])
            self.norm = nnx.BatchNorm(4, rngs=rngs)
            self.drop = nnx.Dropout(0.5, rngs=rngs)

        def __call__(self, x):
            return {"out": self.drop(self.norm(self.blocks[0](self.blocks[0](x))))}

    model = Model(nnx.Rngs(0))
    calls = []
    ms.hooks.register_forward_hook(model, lambda module, args, output: calls.append(output), "norm")
    rows = {row.path: row for row in summary(model, jax.ShapeDtypeStruct((2, 4), "float32")).rows}
    assert [row.label for row in rows.values()] == ["(network)", "  drop", "  norm", "  blocks.0"] and not calls
    assert rows["blocks.0"].calls == 2 and rows["blocks.0"].trainable == 20 and rows["norm"].other == 8
    assert rows[""].outputs == (((2, 4), "float32"),) and rows[""].trainable == 0 and rows["drop"].other == 0
    assert rows["norm"].hooks == "forward: <lambda>"
    with ms.hooks.register_forward_pre_hook(model, print, "drop.set_attributes"):
        assert hooks_of(model.drop) == {"forward_pre of set_attributes": ["print"]}
    text = str(ms.tools.tree(model))
    assert "msjax_hooks=<forward: <lambda>>" in text and "kernel=Param(" in text


def test_a_variable_that_holds_a_plain_number():
    layer = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    layer.scale = nnx.Variable(3.0)
    assert [(row.trainable, row.other) for row in summary(layer).rows] == [(6, 1)]


def test_hooked_models():
    model = ms.hooks.hooked(linen.Sequential([linen.Dense(3), linen.BatchNorm(use_running_average=True)]))
    x = jax.ShapeDtypeStruct((2, 4), "float32")
    variables = jax.eval_shape(model.init, jax.random.key(0), x)
    with ms.hooks.register_forward_hook(model, print, "layers_0"):
        rows = {row.path: row for row in summary(model, variables, x).rows}
    assert (rows["layers_0"].trainable, rows["layers_0"].hooks, rows["layers_0"].cls_name) == (15, "forward: print", "Dense")
    assert (rows["layers_1"].trainable, rows["layers_1"].other, rows[""].outputs) == (6, 6, (((2, 3), "float32"),))
    equinox, haiku = pytest.importorskip("equinox"), pytest.importorskip("haiku")
    mlp = ms.hooks.hooked(equinox.nn.MLP(4, 2, 3, 1, key=jax.random.key(0)))
    table = summary(mlp, jax.ShapeDtypeStruct((4,), "float32"))
    assert [(row.path, row.trainable) for row in table.rows] == [("", 0), ("layers.0", 15), ("layers.1", 8)]
    assert "msjax_hooks=<none>" in str(ms.tools.tree(mlp))
    transform = ms.hooks.hooked(haiku.transform_with_state(lambda x: haiku.BatchNorm(True, True, 0.9)(haiku.Linear(3)(x), True)))
    params, state = jax.eval_shape(transform.init, jax.random.key(0), x)
    table = summary(transform, params, state, None, x)
    assert [(row.path, row.calls, row.trainable) for row in table.rows][:2] == [("linear", 1, 15), ("batch_norm", 1, 6)]
