"""record and compare: two modes, two frameworks, and a port with planted mistakes."""

import sys
from pathlib import Path

import equinox
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx

import msjax as ms
from msjax import hooks, nn
from msjax.core.tools.comparing import Comparison, Row
from msjax.tools import Record, compare, hooks_of, record
from tests.tools.nets_for_records import LeNet, Transformer

pytest.importorskip("safetensors")
DATA = Path(__file__).parent / "data"
OTHER_NAMES = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var"}


def port(recorded, net):
    """A network with the recorded Parameters, in training mode."""
    values = recorded.of("parameter")
    for name, parameter in net.parameters_and_names():
        holder, dot, last = name.rpartition(".")
        value = values.get(name, values.get(f"{holder}{dot}{OTHER_NAMES.get(last)}"))
        if value is not None and value.shape == parameter.shape:
            parameter.set_data(ms.Tensor(value))
    net.set_train()
    return net


@pytest.mark.parametrize(
    "file, net", [("lenet_mindspore", LeNet), ("transformer_mindspore", Transformer), ("lenet_torch", LeNet)]
)
def test_a_right_port(file, net):
    original = Record.read(DATA / f"{file}.safetensors")
    found = compare(original, port(original, net()))
    kinds = {row.kind for row in found.rows}
    assert {"activation", "gradient", "parameter", "parameter_gradient"} <= kinds
    wrong = [row for row in found.rows if not row.same and row.kind != "buffer"]
    assert not wrong, found
    # PyTorch updates running_var with the unbiased variance of the batch, as MindSpore does.
    assert found.first_state is None or file == "lenet_torch", found


MISTAKES = [
    # (the mistake, first difference forward, backward, of parameters and buffers)
    ({"pad_mode": "same"}, "activation conv1: shapes [2, 2, 4, 4] and [2, 2, 6, 6]", "gradient fc1 ", None),
    ({"momentum": 0.1}, None, None, "buffer norm.running_mean / norm.moving_mean"),
    ({"flatten": "NHWC"}, "activation fc1 ", "gradient fc1 ", None),
]


@pytest.mark.parametrize("mistake, forward, backward, state", MISTAKES)
def test_planted_mistakes_of_a_port(mistake, forward, backward, state):
    original = Record.read(DATA / "lenet_torch.safetensors")
    found = compare(original, port(original, LeNet(**mistake)))
    assert not found
    assert (found.first_forward is None) == (forward is None), found
    if forward:
        assert str(found.first_forward).startswith(forward)
        assert str(found.first_backward).startswith(backward), found
    if state:
        assert str(found.first_state).startswith(state), found


@pytest.mark.long
def test_modes_and_files(tmp_path):
    net = nn.SequentialCell(nn.Dense(2, 3), nn.BatchNorm1d(3), nn.ReLU())
    net.set_train()
    x, path = np.float32([[1, 2], [3, 5]]), tmp_path / "a.safetensors"
    mean = net[1].moving_mean.asnumpy().copy()
    one = record(net, x, path=path)
    np.testing.assert_array_equal(net[1].moving_mean.asnumpy(), mean)
    assert list(one.of("gradient")) == list(one.of("activation")) == ["0", "1", "2", ""]
    for mode in ("graph", "functional"):
        found = compare(path, record(net, x, mode=mode))
        assert found and len(found.rows) == 18, found
    assert ms.get_context("mode") == ms.PYNATIVE_MODE
    assert not any(hooks_of(cell) for _, cell in net.cells_and_names())
    assert compare(str(path), net) and str(compare(path, net)).startswith("All 18 arrays agree.")
    assert repr(Record.read(path)) == "<record of 4 calls and 19 arrays, msjax>"


def test_wrong_gradient_of_a_bprop():
    class Scaled(nn.Cell):
        scale = 1.0

        def construct(self, x):
            return x * 1

        def bprop(self, x, out, dout):
            return (dout * self.scale,)

    net, x = nn.SequentialCell(nn.Tanh(), Scaled()), np.float32([1, 2])
    right = record(net, x)
    net[1].scale = 1.01
    found = compare(right, record(net, x, mode="functional"))
    assert found.first_forward is None and len(found.rows) == 6, found
    assert str(found.first_backward).startswith("gradient 0 "), found


def test_calls_of_one_cell():
    relu = nn.Tanh()
    found = record(nn.SequentialCell(relu, relu), np.float32([0.5]))
    assert [name for name, _ in found.order] == ["0", "0#1", ""]
    gradients = found.of("gradient")
    np.testing.assert_allclose(gradients["0"], 1 - np.tanh(np.tanh(0.5)) ** 2, rtol=1e-6)
    np.testing.assert_array_equal(gradients["0#1"], [1])


def test_modules_and_functions():
    model = nnx.Sequential(nnx.Linear(2, 3, rngs=nnx.Rngs(0)), nnx.relu)
    x = jnp.ones((1, 2), "float32")
    found = record(model, x)
    assert found.order == [("layers.0", "Linear"), ("", "Sequential")]
    net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())
    net[0].weight.set_data(ms.Tensor(np.asarray(model.layers[0].kernel[...]).T))
    net[0].bias.set_data(ms.Tensor(np.zeros(3, "float32")))
    both = compare(found, record(net, x), names={"layers.0": "0", "layers.0.kernel": "0.weight"})
    # The kernel is the transposed weight, which is said; the ReLU is a module on one side only.
    wrong = {(row.a, row.b) for row in both.rows if not row.same and row.kind in ("activation", "parameter")}
    assert [row.same for row in both.rows if row.a == "layers.0.bias"] == [True, True]
    assert wrong == {(None, "1")} and both, both
    assert [row.layout for row in both.rows if row.a == "layers.0.kernel"] == ["transposed", "transposed"]
    assert str(both) == "All 8 arrays agree, 2 of them in another layout.\nOnly in b: 1"
    assert record(lambda x: ms.hooks.site("double", x * 2), jnp.ones(2)).of("gradient")["double"].tolist() == [1, 1]


def test_models_of_other_frameworks():
    x = jnp.ones((1, 2), "float32")
    model = linen.Sequential([linen.Dense(2, kernel_init=linen.initializers.ones), linen.relu])
    params = model.init(jax.random.key(0), x)
    found = record(model, params, x)
    assert found.order == [("layers_0", "Dense"), ("", "Sequential")]
    assert found.arrays["parameter_gradient/layers_0.kernel"].tolist() == [[1, 1], [1, 1]]
    leaky = linen.Sequential([linen.Dense(2), linen.leaky_relu])
    negative = jax.tree.map(jnp.negative, params)
    both = compare(record(model, negative, x), record(leaky, negative, x))
    assert str(both.first_forward) == "activation (network) [1, 2]: 1 of the largest value"
    dense = hooks.hooked(equinox.nn.Linear(2, 2, key=jax.random.key(0)))
    found = record(dense, x[0])
    assert set(found.of("parameter_gradient")) == {"weight", "bias"} and found.order == [("", "Linear")]


def _dense(*sizes):
    return nn.Dense(*sizes, weight_init="ones", bias_init="zeros")


def test_matching_by_order_class_and_shape():
    one = nn.SequentialCell(_dense(2, 3), nn.ReLU(), _dense(3, 2))

    class Other(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.act, self.last = _dense(2, 3), nn.ReLU(), _dense(3, 2)

        def construct(self, x):
            return self.last(self.act(self.first(x)))

    found = compare(one, Other(), np.ones((1, 2), "float32"))
    pairs = {(row.a, row.b) for row in found.rows if row.kind == "activation"}
    assert pairs == {("0", "first"), ("1", "act"), ("2", "last"), ("", "")}
    assert {(row.a, row.b) for row in found.rows if row.kind == "parameter"} >= {
        ("0.weight", "first.weight"),
        ("2.bias", "last.bias"),
    }
    assert found


def test_reports():
    x = np.float32([[1, 2]])
    found = compare(nn.SequentialCell(nn.Tanh(), nn.ReLU()), nn.SequentialCell(nn.Tanh(), nn.Sigmoid(), nn.ReLU()), x)
    text = str(found)
    assert "FIRST DIFFERENCE" in text and "First difference, forward: activation 1 [1, 2]: 0.332" in text
    assert "FIRST DIFFERENCE" in found._repr_html_() and "color: #800000" in found._repr_html_()
    assert [row.b for row in found.rows if row.a is None and row.kind == "activation"] == ["2"]
    assert "First difference, backward: gradient 0 [1, 2]" in text and "Only in b: 2" in text
    assert "First cell with an error of its own: activation 1 [1, 2]" in text and "ReLU" in text and "Sigmoid" in text
    assert max(map(len, text.splitlines())) <= 80, text


def test_first_error_of_its_own():
    """What comes behind an error differs, too, but has none of its own; a second error is seen as one."""

    class Scaled(nn.Cell):
        def __init__(self, by):
            super().__init__()
            self.by = by

        def construct(self, x):
            return x * self.by

    def net(*factors):
        return nn.SequentialCell(*[Scaled(by) for by in factors])

    x = np.ones((1, 2), "float32")
    original = record(net(1.0, 2.0, 3.0, 4.0), x)
    port = net(1.0, 2.5, 3.0, 4.5)
    found = compare(original, port)
    assert [row.a for row in found.rows if not row.same and row.kind == "activation"] == ["1", "2", "3", ""]
    assert (found.first_own_error.a, found.first_own_error.difference) == ("1", 0.2)
    port[1].by = 2.0
    assert compare(original, port).first_own_error.a == "3" and not hooks_of(port[3])
    model = nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.Linear(2, 2, rngs=nnx.Rngs(1)))
    other = nnx.clone(model)
    other.layers[1].bias[...] = jnp.ones(2, "float32")
    assert compare(model, other, x).first_own_error.a == "layers.1"


def _of_linen(slope):
    class Net(linen.Module):
        @linen.compact
        def __call__(self, x):
            return linen.Dense(2)(linen.LayerNorm(epsilon=slope)(linen.Dense(4)(x)))

    return Net(), [Net().init(jax.random.key(0), jnp.ones((2, 3)))]


def _of_equinox(slope):
    keys = jax.random.split(jax.random.key(0))
    layers = [equinox.nn.Linear(3, 4, key=keys[0]), equinox.nn.LayerNorm(4, eps=slope), equinox.nn.Linear(4, 2, key=keys[1])]
    return equinox.nn.Sequential(layers), []


def _of_haiku(slope):
    net = hk.transform(lambda x: hk.Linear(2)(hk.LayerNorm(-1, True, True, eps=slope)(hk.Linear(4)(x))))
    net = hk.without_apply_rng(net)
    return net, [net.init(jax.random.key(0), jnp.ones((2, 3)))]


@pytest.mark.parametrize(
    ("make", "where"), [(_of_linen, "LayerNorm_0"), (_of_equinox, "layers.1"), (_of_haiku, "layer_norm")], ids=["linen", "equinox", "haiku"]
)  # fmt: skip
def test_first_error_of_its_own_in_models_of_other_frameworks(make, where):
    (model, params), (other, _) = make(1e-5), make(0.5)
    x = jnp.linspace(-1, 1, 3) if make is _of_equinox else jnp.linspace(-1, 1, 6).reshape(2, 3)
    found = compare(model, other, *params, x)
    assert found.first_own_error.b == where and found.first_forward.b == where
    found = compare(model, hooks.hooked(other), *params, x)
    assert found.first_own_error.b == where
    assert compare(model, model, *params, x).first_own_error is None


def test_layouts_of_convolutions():
    kernel, image = np.random.default_rng(0).normal(size=(2, 3, 4, 5)), np.random.default_rng(1).normal(size=(1, 3, 4, 2))
    one, other = Record("torch"), Record("flax")
    for made, transpose in ((one, False), (other, True)):
        made.call("conv", "Conv", [image.transpose(0, 2, 3, 1) if transpose else image])
        made.values(
            "parameter", {"conv.kernel" if transpose else "conv.weight": kernel.transpose(2, 3, 1, 0) if transpose else kernel}
        )
    found = compare(one, other)
    assert found and [row.layout for row in found.rows] == ["NCHW and NHWC", "OIHW and HWIO"]
    other.arrays["parameter/conv.kernel"] = other.arrays["parameter/conv.kernel"] + 1
    assert not compare(one, other)


def test_parameters_follow_their_cells():
    """Two cells that stand in each other's place by name, and are paired by `names`."""
    a, b = nn.SequentialCell(_dense(2, 2), _dense(2, 2)), nn.SequentialCell(_dense(2, 2), _dense(2, 2))
    a[1].weight.set_data(a[1].weight * 2)
    b[0].weight.set_data(b[0].weight * 2)
    x = np.ones((1, 2), "float32")
    found = compare(record(a, x), record(b, x), names={"0": "1", "1": "0"})
    pairs = {(row.a, row.b): row.same for row in found.rows if row.kind == "parameter"}
    assert pairs == {
        ("0.weight", "1.weight"): True,
        ("0.bias", "1.bias"): True,
        ("1.weight", "0.weight"): True,
        ("1.bias", "0.bias"): True,
    }


def test_tolerance_of_what_computed_it():
    """A result that is cast to Float32 was computed in BFloat16 all the same."""
    one, other = Record("msjax"), Record("msjax")
    for made, noise in ((one, 0.0), (other, 0.01)):
        made.call("half", "Dense", [jnp.ones(3, jnp.bfloat16)])
        made.call("", "Net", [np.ones(3, "float32") + np.float32(noise)])
    assert compare(one, other) and not compare(one, other, rtol=1e-4)


def test_names_in_a_narrow_terminal():
    row = Row("parameter_gradient", "a" * 20, "b" * 20, (2,), (2,), 0.5, False)
    narrow = Comparison([row], ("torch", "msjax"))
    narrow.width = 60
    text = str(narrow)
    assert "a" * 20 in text and "b" * 20 in text, text


def test_errors(tmp_path):
    with pytest.raises(ValueError, match="'mode' should be one of pynative, graph, functional"):
        record(nn.ReLU(), np.ones(1), mode="jit")
    with pytest.raises(ValueError, match="'names' has 'fc9', but the names in a are"):
        compare(nn.ReLU(), nn.ReLU(), np.ones(1, "float32"), names={"fc9": "0"})
    from safetensors.numpy import save_file

    save_file({"x": np.ones(1)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="is no record"):
        compare(tmp_path / "other.safetensors", nn.ReLU())
    whole = (tmp_path / "other.safetensors").read_bytes()
    for name, content, expected in (("empty", b"", "is empty"), ("cut", whole[:-3], "cut off"), ("text", b"a,b\n", "no record")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=rf"{name}' .* bytes\) .*{expected}"):
            compare(tmp_path / name, nn.ReLU())
    with pytest.raises(FileNotFoundError, match="There is no file"):
        Record.read(tmp_path / "none")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_live_torch_module(tmp_path):
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    x = np.float32([[1, 2]])
    original = record(net, x)
    found = compare(original, port(original, nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())))
    assert found and found.frameworks == ("torch", "msjax")


def test_recorder_of_other_frameworks_needs_no_msjax():
    source = Path(sys.modules["msjax.core.tools.foreign"].__file__).read_text()
    assert "import msjax" not in source and "from msjax" not in source and "import jax" not in source


class Scaled(nnx.Module):
    def __init__(self):
        self.dense = nnx.Linear(2, 2, rngs=nnx.Rngs(0))

    def __call__(self, x, *, scale):
        return self.dense(x) * scale, 0.0  # such as a loss of experts, where there are none


class ScaledCell(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(2, 2)

    def construct(self, x, scale=None):
        return self.dense(x) * scale


@pytest.mark.parametrize("mode", [None, "graph", "functional"])
@pytest.mark.parametrize("net", [Scaled, ScaledCell])
def test_models_with_keywords(net, mode, tmp_path):
    if net is Scaled and mode is not None:
        return
    model, x, scale = net(), jnp.ones((1, 2), "float32"), jnp.array([2.0, 0.0], "float32")
    found = record(model, x, scale=scale, mode=mode, path=tmp_path / "run.safetensors")
    weight = "dense.kernel" if net is Scaled else "dense.weight"
    gradient = found.arrays[f"parameter_gradient/{weight}"]
    assert (gradient if net is Scaled else gradient.T).tolist() == [[2, 0], [2, 0]]
    assert compare(tmp_path / "run.safetensors", model) and compare(model, model, hooks.Inputs(x, scale=scale))
    assert not compare(found, model, x, scale=scale + 1)


class Times(nn.Cell):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def construct(self, x):
        return x * self.factor


@pytest.mark.parametrize("dtype, factor", [("int32", 3), ("complex64", 2 + 1e-3j)])
@pytest.mark.parametrize("make", [Times, lambda factor: lambda x: hooks.site("scaled", x * factor)], ids=["cell", "function"])
def test_results_without_a_gradient_are_compared(make, dtype, factor):
    x = np.array([1, 2]).astype(dtype)
    x = ms.Tensor(x) if make is Times else jnp.asarray(x)
    with pytest.raises(ValueError, match=r"gradients=False|the result's sum"):
        record(make(2), x)
    assert compare(make(2), make(2), x) and not compare(make(2), make(factor), x)
    assert dtype == "int32" or compare(make(2), make(2 + 1e-6j), x)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "complex64"])
def test_types_that_numpy_lacks_are_written_and_read(dtype, tmp_path):
    x = jnp.array([1, 2], dtype)
    record(lambda x: hooks.site("scaled", x * 2), x, gradients=False, path=tmp_path / "r.safetensors")
    found = Record.read(tmp_path / "r.safetensors")
    assert found.of("activation")["scaled"].tolist() == [2, 4]
    assert found.types.get("activation/scaled") == (None if dtype == "complex64" else dtype)
    assert compare(found, lambda x: hooks.site("scaled", x * 2), x)
