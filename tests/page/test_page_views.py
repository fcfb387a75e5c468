"""What `tools.page` makes of faults, comparisons and studies, and the same data without the page."""

import sys

import jax.numpy as jnp
import numpy as np
import pytest

import msjax as ms
from msjax import nn, tools
from msjax.core.models.capture import Captured
from msjax.core.page.page import Page
from msjax.core.study.attributions import Attribution
from msjax.core.study.edges import Edges
from msjax.core.study.patching import PatchSweep
from msjax.core.study.stream import Decomposed
from msjax.core.tools.comparing import Comparison, Row
from tests.page.made_runs import run_of


def view(thing, **options):
    (found,) = tools.page(thing, **options).to_dict()["views"]
    return found


def divided(x, weights):
    y = x / weights
    return jnp.exp(y).sum()


@pytest.fixture
def crash(tmp_path):
    path = str(tmp_path / "crash.npz")
    with pytest.raises(tools.Fault) as caught:
        tools.guard(divided, "inf", bundle=path)(jnp.array([[1.0, 2.0], [3.0, 4.0]], "float32"), jnp.array([1.0, 0.0], "float32"))
    return caught.value


def test_the_chain_goes_from_the_result_back_to_the_cause(crash):
    found = view(crash)
    links = [(link["operation"], (link["line"] or "").partition(": ")[2]) for link in found["chain"]]
    assert links[0] == ("the result", "") and links[-1] == ("div", "y = x / weights")
    cause = found["chain"][-1]
    assert cause["origin"] and cause["inputs"][1] == "float32[1, 2]: min 0, max 1, mean 0.5"
    assert cause["output"] == "float32[2, 2]: 2 of 4 infinite, min 1, max 3, mean 2"
    assert all(link["output"] for link in found["chain"][1:])


def test_the_batch_and_how_to_replay_it(crash):
    found = view(crash)
    assert [(array["name"], array["shape"]) for array in found["batch"]] == [("args[0]", [2, 2]), ("args[1]", [2])]
    assert found["batch"][0]["rows"] == [[0, 1.0, 2.0, 1.5, 0, 0], [1, 3.0, 4.0, 3.5, 0, 0]]
    assert found["replay"] == f"msjax.tools.replay({crash.bundle!r}, step)"


def test_a_bundle_tells_of_its_fault(crash):
    assert view(crash.bundle)["chain"] == view(crash)["chain"] and view(crash.bundle)["batch"] == view(crash)["batch"]
    assert tools.replay(crash.bundle, divided, show=False).operation == "div"


def test_a_comparison():
    rows = [
        Row("activation", "a", "a", (2,), (2,), 0.0, True),
        Row("activation", "b", "b", (2,), (3,), np.nan, False),
        Row("parameter", "c", None, (1,), None, np.nan, False),
    ]
    found = view(Comparison(rows, ("msjax", "torch")))
    assert [(row["a"], row["difference"], row["first"]) for row in found["rows"]] == [
        ("a", 0.0, False),
        ("b", None, True),
        ("c", None, False),
    ]
    assert found["verdict"] == ["First difference, forward: activation b: shapes [2] and [3]", "Only in a: c"]


def test_a_sweep_says_how_much_came_back():
    sweep = PatchSweep(jnp.array([[1.0, 3.0]]), ("layer", "position"), ["mlp"], jnp.float32(5), jnp.float32(1))
    found = view(sweep, labels={"position": ["a", "b"]})
    share, metric = found["maps"]
    assert share["values"] == [[0, 0.5]] and metric["values"] == [[1, 3]]
    assert share["labels"] == {"layer": ["mlp"], "position": ["a", "b"]} and found["notes"] == ["clean 5, corrupt 1"]


def test_arrays_over_named_axes():
    found = view({"x": np.zeros((2, 3, 2))}, axes=("row", "token"), labels={"token": ["a", "b"]})["maps"][0]
    assert (
        found["axes"] == ["axis 0", "row", "token"] and found["shape"] == [2, 3, 2] and found["labels"] == {"token": ["a", "b"]}
    )
    with pytest.raises(ValueError, match="there should be 2 labels for the axis 'token' of 'x', but there are 1"):
        tools.page({"x": np.zeros((3, 2))}, axes=("row", "token"), labels={"token": ["a"]})
    with pytest.raises(TypeError, match="should be an array of real numbers"):
        tools.page({"x": np.array(["a"])})


def test_a_captured_step():
    captured = Captured({"a": jnp.array([3.0, 4.0]), "b.c": jnp.array([1, 2])}, {"a": jnp.array([2.0, 2.0]), "b.c": None}, {})
    nodes = view(captured, edited=["b.*"])["graph"]
    assert [(n["name"], n["norm"], n["gradient"], n["edited"]) for n in nodes] == [
        ("a", pytest.approx(12.5**0.5), 2.0, False),
        ("b.c", None, None, True),
    ]
    with pytest.raises(ValueError, match=r"'edited' names 'd', but captured are a, b\.c"):
        tools.page(captured, edited=["d"])


def test_runs_get_names_and_lie_in_one_view():
    a, b = (Page("p", [{"kind": "run", "title": "Run", "runs": [run_of(["m"], 2).data()]}]) for _ in range(2))
    assert [run["name"] for run in view(tools.page(a, b))["runs"]] == ["made 1", "made 2"]
    assert [run["name"] for run in view(tools.page(a, b, names=["one", "two"]))["runs"]] == ["one", "two"]
    with pytest.raises(ValueError, match="at most 1 names"):
        tools.page(a, names=["one", "two"])


def test_what_cannot_be_shown():
    with pytest.raises(TypeError, match="there should be something to show"):
        tools.page()
    with pytest.raises(TypeError, match="can't be shown"):
        tools.page(3)


def test_what_a_study_found():
    edges = Edges(("input", "a"), ("b",), jnp.array([[1.0], [2.0]])).to_dict()["maps"][0]
    assert edges["values"] == [[1], [2]] and edges["labels"] == {"sender": ["input", "a"], "reader": ["b"]}
    parts = view(Decomposed(("a", "b"), jnp.array([[[3.0, 4.0]], [[0.0, 2.0]]]), jnp.array([[3.0, 6.0]])))["maps"][0]
    assert parts["values"] == [[5], [2]] and parts["axes"] == ["part", "axis 0"]
    assert view(Attribution(jnp.array([[1.0, -1.0]]), jnp.zeros(1)))["maps"][0]["values"] == [[1, -1]]


def test_what_was_found_has_its_data_itself(crash):
    sweep = PatchSweep(jnp.array([[1.0, 3.0]]), ("layer", "position"), ["mlp"], jnp.float32(5), jnp.float32(1))
    captured = Captured({"a": jnp.array([3.0, 4.0])}, {}, {})
    compared = Comparison([Row("activation", "a", "b", (2,), (2,), 0.25, False)], ("x", "y"))
    net = nn.Dense(1, 1)
    with tools.watch(net, every=1, what="activation") as watched:
        net(ms.Tensor([[1.0]], ms.float32))
    for thing in (sweep, captured, compared, watched, crash):
        assert thing.to_dict().items() <= view(thing).items()
        assert thing._repr_html_().count("<iframe") == 1
    assert "<pre" in crash._repr_html_() and "<pre" in watched._repr_html_()  # the table, above the page


def test_a_notebook_shows_a_document_of_its_own():
    shown = Page('"><script>', [])._repr_html_()
    assert shown.startswith("<iframe") and 'sandbox="allow-scripts allow-downloads"' in shown
    assert "<script" not in shown and shown.count('"') == 8


def test_rows_of_pandas():
    pytest.importorskip("pandas")
    run = tools.page(Page("p", [{"kind": "run", "title": "Run", "runs": [run_of(["a", "b"], 2).data()]}])).to_pandas()
    assert run[["name", "step", "norm"]].values.tolist() == [["a", 1, 2], ["a", 2, 3], ["b", 1, 2], ["b", 2, 3]]
    study = tools.page({"x": np.eye(2)}, axes=("row", "token"), labels={"token": ["a", "b"]}).to_pandas()
    assert study.columns.tolist() == ["map", "row", "token", "value"] and len(study) == 4


def test_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="needs pandas"):
        tools.page({"x": np.eye(2)}).to_pandas()


@pytest.mark.long
def test_plots():
    pytest.importorskip("matplotlib")
    page = tools.page(
        Page("p", [{"kind": "run", "title": "Run", "runs": [run_of(["a", "b"], 3).data()]}]),
        {"x": np.eye(2)},
        {"s": np.float32(2)},
    )
    panels = page.plot().axes
    assert [axes.get_title() for axes in panels if axes.get_title()] == ["made norm of activations", "x", "s"]
    compared = Comparison([Row("activation", "a", "a", (2,), (2,), 0.25, False)], ("x", "y")).plot().axes[0]
    assert compared.images[0].get_array().tolist() == [[0.25]] and compared.get_yticklabels()[0].get_text() == "a"
    flows = Captured({"a": jnp.array([3.0, 3.0]), "b": jnp.array([4.0])}, {"a": jnp.array([1.0, 1.0])}, {}).plot().axes[0]
    np.testing.assert_array_equal(flows.images[0].get_array().filled(-1), [[3, 1], [4, -1]])
    np.testing.assert_array_equal(panels[0].images[0].get_array(), [[2, 3, 4]] * 2)
    with pytest.raises(ValueError, match="there should be numbers"):
        tools.page(tools.Fault("NaN", "forward", "a")).plot()
