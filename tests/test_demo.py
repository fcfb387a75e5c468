"""The demonstration, in a short variant, and the data in it."""

import importlib.resources
import io
import sys

import numpy as np
import pytest

import msjax as ms
from msjax import nn
from msjax.core.page.page import Page
from msjax.demo import DemoError, digits, five_hooks, run_demo
from msjax.demo.lenet import LeNet5
from msjax.tools import hooks_of


@pytest.fixture
def console():
    from rich.console import Console

    return Console(file=io.StringIO(), width=80)


def first_batch(n=4):
    (images, labels), _ = digits.split(0)
    return ms.Tensor(images[:n]), ms.Tensor(labels[:n])


def test_the_digits():
    images, labels = digits.load_digits()
    assert images.shape == (1797, 8, 8) and images.dtype == np.uint8 and images.max() == 16
    np.testing.assert_array_equal(np.bincount(labels), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180])
    files = importlib.resources.files("msjax.demo")
    assert len((files / "digits.npz").read_bytes()) < 100_000
    source = (files / "DIGITS.md").read_text()
    assert "10.24432/C50P49" in source and "CC BY 4.0" in source


def test_enlarging():
    flat = np.full((1, 8, 8), 8, np.uint8)
    np.testing.assert_allclose(digits.enlarge(flat), np.zeros((1, 1, 32, 32)), atol=1e-7)
    ramp = np.broadcast_to(np.arange(8, dtype=np.uint8), (1, 8, 8))
    expected = np.clip((np.arange(32) + 0.5) / 4 - 0.5, 0, 7) / 8 - 1
    np.testing.assert_allclose(digits.enlarge(ramp)[0, 0, 5], expected, rtol=1e-6)


def test_the_split():
    (images, labels), (test_images, test_labels) = digits.split(3)
    assert images.shape == (1437, 1, 32, 32) and test_images.shape == (360, 1, 32, 32)
    assert images.dtype == np.float32 and labels.dtype == np.int32
    np.testing.assert_array_equal(np.sort(np.concatenate([labels, test_labels])), np.sort(digits.load_digits()[1]))


@pytest.mark.long
def test_the_five_hooks():
    ms.set_seed(0)
    net, loss_fn = LeNet5(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    images, labels = first_batch()
    seen = five_hooks.watch(net, loss_fn, images, labels)
    assert [(s.hook, s.argument, s.value.shape) for s in seen] == [
        ("register_forward_pre_hook", "inputs", (4, 6, 14, 14)),
        ("register_forward_hook", "inputs", (4, 6, 14, 14)),
        ("register_forward_hook", "output", (4, 16, 10, 10)),
        ("ops.HookBackward", "grads", (4, 10)),
        ("register_backward_pre_hook", "grad_output", (4, 16, 10, 10)),
        ("register_backward_hook", "grad_input", (4, 6, 14, 14)),
        ("register_backward_hook", "grad_output", (4, 16, 10, 10)),
    ]
    scores = net(images).asnumpy()
    softmax = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    expected = (softmax - np.eye(10)[labels.asnumpy()]) / 4
    np.testing.assert_allclose(seen[3].value, expected, rtol=1e-4, atol=1e-7)
    assert not hooks_of(net.conv2), "the hooks were taken away again"


@pytest.mark.long
def test_a_short_run(console, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ms.set_context(mode=ms.GRAPH_MODE, hook_dialect="mindspore-1")
    accuracy = run_demo(epochs=2, seed=1, console=console)
    assert (ms.get_context("mode"), ms.get_context("hook_dialect")) == (ms.GRAPH_MODE, "mindspore-1")
    text = console.file.getvalue()
    assert accuracy > 0.85
    for form in ("forward_pre", "forward", "backward_pre", "backward"):
        assert f" register_{form}_hook " in text
    assert "ops.HookBackward" in text and "epoch 2/2" in text and f"Test accuracy: {accuracy:.4f}" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    run = Page.read("msjax-demo.html").views[0]["runs"][0]
    assert list(run["kinds"]) == ["activation", "gradient", "parameter", "update"]
    assert "conv1" in run["kinds"]["activation"]["names"] and run["kinds"]["activation"]["last"][-1] == 88
    loss = run["numbers"]["loss"]["planes"]["value"][0]
    assert len(loss) == 88 and loss[-10:].mean() < loss[:10].mean() / 4


@pytest.mark.long
def test_the_picture(tmp_path):
    pytest.importorskip("matplotlib")
    from msjax.demo import picture

    net, (images, _) = LeNet5(), first_batch(1)
    activations, gradients = picture.capture(net, images, 6)
    assert {n: v.shape for n, v in activations.items()} == {n: v.shape for n, v in gradients.items()}
    np.testing.assert_array_equal(gradients["fc3"], np.eye(10, dtype=np.float32)[6])
    assert not any(hooks_of(cell) for cell in net.cells())
    path = tmp_path / "seen.png"
    picture.draw(path, activations, gradients, 6, 0.5)
    assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 20_000


@pytest.mark.parametrize(
    "path, reason",
    [
        ("no/such/folder/a.png", "there is no folder"),
        ("picture.bmp3", "a picture's name should end in one of"),
        ("picture", "a picture's name should end in one of"),
    ],
)
def test_pictures_that_cannot_be_written(path, reason, tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(DemoError, match=reason):
        run_demo(epochs=1, picture_path=tmp_path / path)


@pytest.mark.long
def test_without_matplotlib(monkeypatch, tmp_path, console):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(DemoError, match=r"matplotlib is not installed; pip install 'msjax\[viz\]' brings it"):
        run_demo(epochs=1, picture_path=tmp_path / "a.png")
    monkeypatch.chdir(tmp_path)
    run_demo(epochs=1, console=console)
    assert "pip install 'msjax[viz]' brings it." in console.file.getvalue().replace("\n", " ")


def test_values_out_of_range():
    with pytest.raises(DemoError, match="the number of epochs should be at least 1, but is 0"):
        run_demo(epochs=0)
    with pytest.raises(DemoError, match="the seed should be from 0"):
        run_demo(seed=2**32)
