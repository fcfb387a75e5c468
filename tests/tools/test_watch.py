"""watch: the statistics, where they go, and that nothing is left of it."""

import csv
import sys
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx

import msjax as ms
from msjax import hooks, nn, train
from msjax.core.tools.watching import handle
from msjax.core.tools.watching.report import bars
from msjax.core.tools.watching.sinks import SCALARS
from msjax.core.tools.watching.statistics import rows_of, statistics
from msjax.tools import hooks_of, rules, watch


def network():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU(), nn.Dense(3, 1))
    for i, p in enumerate(net.get_parameters()):
        p.set_data(ms.Tensor(np.linspace(-1, 1, p.size).reshape(p.shape).astype("float32") + i))
    return net, nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))


X = ms.Tensor(np.float32([[1, -2], [3, 4]]))


def steps(net, step, count, **options):
    with watch(net, **options) as watched:
        for _ in range(count):
            step(X)
    assert not any(hooks_of(cell) for _, cell in net.cells_and_names())
    return watched


@pytest.mark.long
@pytest.mark.parametrize("compiled", [False, True])
def test_values(compiled):
    net, step = network()
    before = {name: p.asnumpy().copy() for name, p in net.parameters_and_names()}
    activation = net[1](net[0](X)).asnumpy()
    watched = steps(net, ms.jit(step) if compiled else step, 1, every=1)
    rows = {(row.kind, row.name): row for row in watched.rows}
    parameters = list(before)
    assert set(rows) == {
        *(("activation", name) for name in ("", "0", "1", "2")), *(("gradient", name) for name in ("", "0", "1", "2", *parameters)),
        *(("parameter", name) for name in parameters), *(("update", name) for name in parameters),
    }  # fmt: skip
    row = rows["activation", "1"]
    expected = [activation.mean(), activation.std(), np.linalg.norm(activation), (activation == 0).mean()]
    np.testing.assert_allclose([row.mean, row.std, row.norm, row.zeros], expected, rtol=1e-5)
    counts, edges = np.histogram(activation, 30, (activation.min(), activation.max()))
    np.testing.assert_array_equal(row.histogram.counts, counts)
    np.testing.assert_allclose(row.histogram.edges, edges, rtol=1e-6)
    for name, p in net.parameters_and_names():
        np.testing.assert_allclose(rows["parameter", name].mean, before[name].mean(), rtol=1e-5)
        np.testing.assert_allclose(rows["update", name].norm, np.linalg.norm(p.asnumpy() - before[name]), rtol=1e-5)
        np.testing.assert_allclose(rows["update", name].norm, 0.1 * rows["gradient", name].norm, rtol=1e-4)


@pytest.mark.long
def test_statistics_of_arrays_of_all_sizes():
    random = np.random.default_rng(0)
    values = [random.normal(3, 2, shape).astype("float32") for shape in [(1,), (255,), (256,), (3, 100), (129, 129)]]
    values += [np.full(5, 2, "float16"), np.zeros(0, "float32"), np.array([3 + 4j, 0], "complex64"), np.float32([1, np.nan, 3])]
    table = np.asarray(jax.jit(statistics, static_argnums=1)([jnp.asarray(v) for v in values], 4))
    for value, (mean, std, norm, zeros, low, high, nan, infinite, *counts) in zip(
        [*values[:6], np.abs(values[7])], table[[*range(6), 7]]
    ):
        value = value.astype("float64")
        expected = [value.mean(), value.std(), np.linalg.norm(value.ravel()), (value == 0).mean(), value.min(), value.max()]
        np.testing.assert_allclose([mean, std, norm, zeros, low, high], expected, rtol=2e-5, atol=1e-6)
        assert nan == infinite == 0
        edges = (value.min(), value.max()) if value.min() < value.max() else (value.min(), value.min() + 1)
        np.testing.assert_array_equal(counts, np.histogram(value, 4, edges)[0])
    assert not table[6].any() and np.isnan(table[8][:3]).all() and table[8][4:].tolist() == [1, 3, 1, 0, 1, 0, 0, 1]
    of_large = np.asarray(statistics([jnp.asarray(values[4]).at[0, 0].set(np.nan).at[1].set(np.inf)], 4))[0]
    assert of_large[6:8].tolist() == [1, 129] and of_large[8:].sum() == 129 * 128 - 1 and np.isfinite(of_large[4:6]).all()
    assert np.asarray(statistics([jnp.float32([1, np.nan, -3])], 4, ("min", "max", "nan"))).tolist() == [[-3, 1, 1]]


def test_some_statistics_alone(tmp_path):
    net, step = network()
    watched = steps(net, ms.jit(step), 1, every=1, what="activation", statistics=("norm", "zeros"), to=str(tmp_path / "rows.csv"))
    expected = steps(*network(), 1, every=1, what="activation").rows
    assert [row.name for row in watched.rows] == [row.name for row in expected]
    np.testing.assert_allclose([[row.norm, row.zeros] for row in watched.rows], [[r.norm, r.zeros] for r in expected], rtol=1e-6)
    row = watched.rows[0]
    assert row.statistics == ("norm", "zeros") and np.isnan(row.mean) and not row.histogram.counts.size
    assert "norm" in str(watched) and "histogram" not in str(watched) and "from" not in str(watched)
    with open(tmp_path / "rows.csv") as file:
        read = next(csv.DictReader(file))
    assert read["mean"] == "" and float(read["norm"]) == pytest.approx(row.norm)
    with pytest.raises(ValueError, match="the rule dead needs statistics=\\['zeros'\\], but 'statistics' is \\['norm'\\]"):
        watch(net, statistics="norm", rules=[rules.dead()])
    with pytest.raises(ValueError, match="'statistics' should be some of mean, std"):
        watch(net, statistics="median")


def test_rows_of_infinite_values():
    """They have no edges of a histogram, and numpy warns of nothing."""
    table = np.float32([[np.nan, np.nan, np.inf, 0, np.nan, np.nan, 0, 2, 0, 0], [1.5, 0.5, 1.6, 0, 1, 2, 0, 0, 3, 3]])
    one, other = rows_of(7, [("activation", "a"), ("gradient", "b")], table)
    assert (one.step, one.kind, one.name, one.scalars[2:4], one.inf) == (7, "activation", "a", (np.inf, 0), 2)
    assert other.histogram.counts.tolist() == [3, 3] and other.histogram.edges.tolist() == [1, 1.5, 2]


def test_written_when_it_is_there():
    net, step = network()
    written = []
    watched = watch(net, every=2, what="parameter", to=lambda data, step: written.append(step))
    step = ms.jit(step)
    for _ in range(4):
        step(X)
    assert {row.step for row in watched.rows} == {2, 4} and written == [2, 4]
    step(X)
    watched.remove()
    assert written == [2, 4]


@pytest.mark.parametrize("compiled", [False, True])
def test_every(compiled):
    net, step = network()
    run = ms.jit(step) if compiled else step
    run(X)
    net.set_train()  # programs look again at what they were compiled for: the optimizer has made its state
    run(X)
    before = run.compilations() if compiled else 0
    watched = steps(net, run, 7, every=3, what=("activation", "update"), where="0")
    assert [(row.step, row.kind) for row in watched.rows] == [
        (3, "activation"), (3, "update"), (3, "update"), (6, "activation"), (6, "update"), (6, "update"),
    ]  # fmt: skip
    if compiled:
        # One that counts steps, one with the statistics; afterwards that without `watch` again.
        assert run.compilations() == before + 2
        run(X)
        assert run.compilations() == before + 2


def test_graph_mode_and_model():
    net, _ = network()
    ms.set_context(mode=ms.GRAPH_MODE)
    model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.01))
    data = [(np.ones((2, 2), "float32"), np.ones((2, 1), "float32"))] * 4
    watched = watch(net, every=2, what="gradient", where="2")
    model.train(1, data, callbacks=watched)
    assert [(row.step, row.name) for row in watched.rows] == [
        (s, n) for s in (2, 4) for n in ("2", *(f"2.{p}" for p in ("weight", "bias")))
    ] or {(row.step, row.name) for row in watched.rows} == {(s, n) for s in (2, 4) for n in ("2", "2.weight", "2.bias")}
    assert not any(hooks_of(cell) for _, cell in net.cells_and_names())


def test_optimizer_outside_of_the_program():
    net, _ = network()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    grad = ms.jit(ms.grad(lambda x: net(x).sum(), None, net.trainable_params()))
    with watch(net, every=2, what=("gradient", "update"), where="2") as watched:
        for _ in range(3):
            optimizer(grad(X))
    rows = {(row.step, row.kind, row.name): row for row in watched.rows}
    assert set(rows) == {
        (2, k, n) for k, n in (("gradient", "2"), *((k, f"2.{p}") for k in ("gradient", "update") for p in ("weight", "bias")))
    }
    np.testing.assert_allclose(rows[2, "update", "2.weight"].norm, 0.1 * rows[2, "gradient", "2.weight"].norm, rtol=1e-4)


class Pair(nnx.Module):
    def __init__(self):
        self.first, self.second = (nnx.Linear(2, 2, use_bias=False, rngs=nnx.Rngs(0)) for _ in range(2))

    def __call__(self, x):
        return self.second(self.first(x))


def test_nnx_module():
    model = Pair()
    traces = []

    @nnx.jit
    def step(model, x):
        traces.append(x)
        grads = nnx.grad(lambda model: model(x).sum())(model)
        nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, nnx.state(model), grads))

    x = jnp.ones((1, 2))
    with watch(model, every=2, where="second") as watched:
        for _ in range(4):
            before = np.linalg.norm(model.second.kernel[...])
            step(model, x)
            watched.next_step()
    kinds = [("activation", "second"), ("gradient", "second"), ("parameter", "second.kernel"), ("update", "second.kernel")]
    assert {(row.step, row.kind, row.name) for row in watched.rows} == {(s, *kind) for s in (2, 4) for kind in kinds}
    assert len(traces) == 2  # one without statistics, one with
    last = {row.kind: row for row in watched.rows if row.step == 4}
    np.testing.assert_allclose(last["parameter"].norm, before, rtol=1e-6)
    assert type(model.second) is nnx.Linear


def test_what_follows_the_last_step_is_none():
    with watch(Pair(), every=1, what="parameter") as watched:
        for _ in range(2):
            watched.next_step()
    assert {row.step for row in watched.rows} == {1, 2}


def test_statistics_that_nobody_has_read_leave_the_device():
    model = Pair()
    with watch(model, every=1, what="parameter", statistics="norm") as watched:
        watched.next_step()
        before = len(jax.live_arrays())
        for _ in range(300):
            watched.next_step()
        assert len(jax.live_arrays()) < before + 150
    norm = np.linalg.norm(model.first.kernel[...])
    assert [row.norm for row in watched.rows if row.name == "first.kernel"] == pytest.approx([norm] * 301)


def test_no_compilation_after_the_second_step(caplog):
    """Without a program, the statistics are compiled at the end of the first step, with all that the model has."""
    net, step = network()
    step(X)
    with watch(net, every=4) as watched, jax.log_compiles():
        step(X)
        step(X)
        caplog.clear()
        for _ in range(8):
            step(X)
    assert {row.step for row in watched.rows} == {4, 8} and not caplog.messages
    assert {row.name for row in watched.rows if row.kind == "activation"} == {"", "0", "1", "2"}


def test_turns_are_short_while_a_file_is_written():
    net, step = network()
    usual, seen = sys.getswitchinterval(), []

    class Writer:
        def add_scalar(self, name, value, step):
            seen.append(sys.getswitchinterval())

        def add_histogram_raw(self, *args, **kwargs):
            pass

        def flush(self):
            pass

    steps(net, step, 2, every=1, what="parameter", to=[Writer(), Writer()])
    assert seen and max(seen) < usual == sys.getswitchinterval()


def test_hooked_model():
    model = hooks.hooked(linen.Dense(1, kernel_init=linen.initializers.ones))
    x = jnp.ones((1, 2))
    params = model.init(jax.random.key(0), x)
    step = hooks.jit(jax.grad(lambda params: model.apply(params, x).sum()))
    with watch(model, every=2) as watched:
        for _ in range(2):
            step(params)
            watched.next_step()
    assert [(row.step, row.kind, row.name, row.mean) for row in watched.rows] == [
        (2, "activation", "", 2.0),
        (2, "gradient", "", 1.0),
    ]
    with pytest.raises(ValueError, match="whose weights are elsewhere"):
        watch(model, what="update")
    with pytest.raises(TypeError, match=r"Give hooks.hooked\(model\)"):
        watch(linen.Dense(1))
    with pytest.warns(UserWarning, match="next_step"):
        watch(model).remove()


@pytest.mark.parametrize("jit", [jax.jit, ms.hooks.jit])
@pytest.mark.parametrize("around", [lambda f: f, jax.checkpoint], ids=["plain", "checkpoint"])
def test_examples_of_vmap_are_one_place(jit, around):
    model = hooks.hooked(linen.Dense(1, kernel_init=linen.initializers.ones))
    x = jnp.arange(12, dtype=jnp.float32).reshape(2, 3, 2)
    params = model.init(jax.random.key(0), x[0, 0])

    def loss(params):
        rows = jax.vmap(jax.vmap(around(lambda x: model.apply(params, x))))(x)
        return (rows**2).sum()

    step = jit(jax.grad(loss))
    with watch(model, every=2) as watched:
        for _ in range(2):
            step(params)
            watched.next_step()
    found = {(row.kind, row.mean, row.histogram.counts.sum()) for row in watched.rows}
    assert found == {("activation", 11.0, 6), ("gradient", 22.0, 6)} and {row.name[:2] for row in watched.rows} <= {"", "#1"}


def test_csv_and_function(tmp_path):
    net, step = network()
    path, logged = tmp_path / "a.csv", []
    watched = steps(net, step, 2, every=1, what="parameter", to=[path, lambda data, step: logged.append((step, data))])
    with open(path) as file:
        rows = list(csv.DictReader(file))
    assert [(int(r["step"]), r["name"]) for r in rows] == [(row.step, row.name) for row in watched.rows]
    np.testing.assert_allclose([float(r["norm"]) for r in rows], [row.norm for row in watched.rows], rtol=1e-6)
    assert [s for s, _ in logged] == [1, 2] and logged[0][1]["parameter/0.weight/mean"] == watched.rows[0].mean
    assert logged[0][1]["parameter/0.weight/histogram"].counts.sum() == 6


def test_tensorboard(tmp_path):
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.record_writer import RecordWriter  # noqa: F401

    net, step = network()
    steps(net, step, 1, every=1, what="activation", to=str(tmp_path / "run"))
    (file,) = (tmp_path / "run").iterdir()
    content, at, tags = file.read_bytes(), 0, {}
    while at < len(content):
        size = int.from_bytes(content[at : at + 8], "little")
        event = Event.FromString(content[at + 12 : at + 12 + size])
        at += 16 + size
        tags.update({value.tag: value for value in event.summary.value})
    assert "activation/1/norm" in tags and tags["activation/1"].histo.num == 6


def test_plot():
    pytest.importorskip("matplotlib")
    from msjax.core.tools.watching.sinks import LivePlot

    net, step = network()
    plot = LivePlot()
    watched = steps(net, step, 2, every=1, what=("activation", "parameter"))
    for number in (1, 2):
        plot(number, [row for row in watched.rows if row.step == number])
    titles = [axes.get_title() for axes in plot.figure.axes]
    assert titles == ["norm of activations", "norm of parameters"] and len(plot.figure.axes[0].lines) == 4


def test_report():
    net, step = network()
    watched = watch(net, every=1, what=("activation", "parameter"), where="0")
    assert "No statistics yet" in str(watched) and repr(watched) == "<watch of 0 statistics>"
    step(X)
    watched.remove()
    lines = str(watched).splitlines()
    assert lines[0] == "Step 1" and lines[1].split()[:4] == ["kind", "name", "norm", "mean"]
    kinds = [line.split()[:2] for line in lines[3:]]
    assert kinds == [["activation", "0"], ["parameter", "0.weight"], ["parameter", "0.bias"]]
    assert "0.weight" in watched._repr_html_()
    assert lines[1].split() == ["kind", "name", "norm", "mean", "zeros", "histogram"]
    assert hooks_of(watched.model[0]) == {}  # nothing is left of the hooks of its Parameters
    assert bars(np.array([0.0, 1.0, 100.0, 50.0])) == " ▁█▄"


def test_wrong_arguments():
    net = nn.ReLU()
    with pytest.raises(TypeError, match="should be a flax nnx module, a Cell, or what hooks"):
        watch(3)
    with pytest.raises(ValueError, match="'what' should be some of activation"):
        watch(net, what="loss")
    with pytest.raises(TypeError, match="'to' should be a folder for TensorBoard"):
        watch(net, to=3)
    with pytest.raises(ValueError, match="no module matches"):
        watch(net, where="fc")


@pytest.mark.parametrize("jit", [nnx.jit, jax.jit, ms.hooks.jit])
def test_written_from_a_program_of_jax(jit, tmp_path):
    model, written = nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.relu), []
    if jit is jax.jit:
        graphdef, _ = nnx.split(model)
        gradient = nnx.grad(lambda m, x: m(x).sum())
        step = jax.jit(lambda state, x: gradient(nnx.merge(graphdef, state), x))
    else:
        step = jit(nnx.grad(lambda m, x: m(x).sum()))
    to = [str(tmp_path / "rows.csv"), lambda data, step: written.append(step)]
    with watch(model, every=2, what=("activation", "parameter"), to=to) as watched:
        for _ in range(4):
            step(nnx.state(model) if jit is jax.jit else model, jnp.ones((1, 2)))
            watched.next_step()
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert set(written) == {2, 4} and lines[0].endswith("min,max,nan,inf") and len(lines) == 1 + len(watched.rows)


def test_tensorboard_has_the_last_rows_after_the_block_of_each_watch_of_one_second(tmp_path, monkeypatch):
    net, step = network()
    monkeypatch.setattr(time, "time", lambda: 1e9)
    settings = dict(every=1, what="activation", where="0", to=str(tmp_path))
    with watch(net, **settings), watch(net, **settings):
        for _ in range(3):
            step(X)
    assert [file.read_bytes().count(b"activation/0/norm") for file in tmp_path.iterdir()] == [3, 3]


def test_destination_that_fails(capfd):
    """It gets no more rows, and nothing is left for the end of the program."""
    net, step = network()

    def full(data, step):
        raise OSError("disk full")

    watched = watch(net, every=1, what="parameter", to=full)
    with pytest.raises(OSError, match="disk full") as raised:
        for _ in range(3):
            step(X)
        watched.remove()
    assert raised.value.__notes__[0].startswith("watch: 'to' failed at step 1 and gets no more rows")
    watched.remove()
    assert watched not in handle._OPEN and len({row.step for row in watched.rows}) >= 1


@pytest.mark.parametrize("fails", [False, True])
def test_no_step_waits_for_a_file(fails):
    """A SummaryWriter, as all that msjax writes to itself, is called in another thread; `rows` and the end of the block wait for it."""
    net, step = network()
    go_on, written = threading.Event(), []

    class Writer:
        def add_scalar(self, name, value, step):
            assert go_on.wait(60)
            if fails:
                raise OSError("disk full")
            written.append(step)

        def add_histogram_raw(self, *args, **kwargs):
            pass

        def flush(self):
            pass

    watched = watch(net, every=1, what="parameter", where="0", to=Writer())
    for _ in range(3):
        step(X)
    assert not written
    go_on.set()
    if fails:
        with pytest.raises(OSError, match="disk full") as raised:
            watched.remove()
        assert raised.value.__notes__[0].startswith("watch: 'to' failed at step 1 and gets no more rows")
    watched.remove()
    assert written == [row.step for row in watched.rows for _ in SCALARS] * (not fails)


def test_compiled_at_the_start():
    net, step = network()
    step = ms.jit(step)
    with watch(net, every=10):
        step(X)
        step(X)
        compiled = step.compilations()
        for _ in range(20):
            step(X)
        assert step.compilations() == compiled


def test_wrong_values_in_the_table():
    net = nn.SequentialCell(nn.ReLU(), nn.Tanh())
    with watch(net, every=1, what="activation") as watched:
        net(ms.Tensor([1.0, np.nan, np.inf, 2.0, 2.5], ms.float32))
    row = next(row for row in watched.rows if row.name == "0")
    assert (row.nan, row.inf, row.min, row.max, row.histogram.counts.sum()) == (1, 1, 1, 2.5, 3)
    text = str(watched)
    assert "NaN" in text and "inf" in text and max(map(len, text.splitlines())) <= 80 and "NaN" in watched._repr_html_()


@pytest.mark.long
def test_few_operations():
    x, y = jnp.ones(3), jnp.ones((2, 3))
    alone = str(jax.make_jaxpr(lambda x: statistics([x], 4, ("mean", "norm")))(x))
    assert "dot_general" not in alone  # nothing is laid beside it
    twice = str(jax.make_jaxpr(lambda x, y: statistics([y, x, y], 4, ("mean", "norm")))(x, y))
    once = str(jax.make_jaxpr(lambda x, y: statistics([y, x], 4, ("mean", "norm")))(x, y))
    assert twice.count("concatenate") == once.count("concatenate")
    assert np.asarray(statistics([y, x, y], 4, ("mean", "norm"))).tolist() == [[1, np.sqrt(np.float32(n))] for n in (6, 3, 6)]


def test_parameters_are_copied_only_for_steps_that_write_over_them(monkeypatch):
    copied, copy = [], handle._copied
    monkeypatch.setattr(handle, "_copied", lambda values: copied.append(1) or copy(values))
    model = nnx.Linear(1, 1, use_bias=False, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0))

    def halve(model):
        model.kernel[...] /= 2

    keeps, writes_over = nnx.jit(halve), nnx.jit(halve, donate_argnums=0)
    with ms.tools.watch(model, every=1, what=("parameter", "update"), statistics="mean") as watched:
        for step in (keeps, keeps, keeps):
            step(model)
            watched.next_step()
        assert len(copied) == 1
        writes_over(model)
        with pytest.warns(UserWarning, match="step 4 has no statistics of parameters and updates"):
            watched.next_step()
        for step in (writes_over, keeps):
            step(model)
            watched.next_step()
    assert len(copied) == 4  # for steps 1, 5, 6, and a seventh that might come
    found = {(row.step, row.kind): row.mean for row in watched.rows}
    steps = {1: 1, 2: 1 / 2, 3: 1 / 4, 5: 1 / 16, 6: 1 / 32}
    assert found == {(n, kind): sign * v for n, v in steps.items() for kind, sign in (("parameter", 1), ("update", -0.5))}
