"""The demonstration: train LeNet-5 on real digits in PyNative mode and show the hooks at work."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

import numpy as np

from msjax import context, nn, ops
from msjax.common.random import set_seed
from msjax.common.tensor import Tensor
from msjax.demo import picture
from msjax.demo.digits import split
from msjax.demo.five_hooks import table_of, watch
from msjax.demo.lenet import LeNet5
from msjax.tools import rules, watch as tools_watch

_BATCH = 32
_DEFAULT_PICTURE = "msjax-demo.png"
_PAGE = "msjax-demo.html"
_EVERY = 8  # steps of training, of which the page shows one


class DemoError(Exception):
    """The demonstration can't run as requested; the message says why."""


def run_demo(epochs: int = 12, seed: int = 0, picture_path: str | None = None, console: Any = None) -> float:
    """Train LeNet-5 on the embedded digits, show the five forms of hooks on the first batch, print the test accuracy.

    The training is on a page, msjax-demo.html in the working folder.

    Args:
        epochs (int): passes over the training images, at least 1.
        seed (int): the seed of the weights and of the order of images, from 0 to 2**32 - 1.
        picture_path (str, optional): where the picture of activations and gradients goes. By default
            msjax-demo.png in the working folder, if matplotlib is installed.
        console (rich.console.Console, optional): where the text goes; standard output by default.

    Returns:
        float, the accuracy on the 360 test images.

    Raises:
        DemoError: a value out of its range, or a picture that can't be written.
    """
    from rich.console import Console

    if epochs < 1:
        raise DemoError(f"the number of epochs should be at least 1, but is {epochs}")
    if not 0 <= seed < 2**32:
        raise DemoError(f"the seed should be from 0 to 2**32 - 1, but is {seed}")
    drawing, why_not = _can_draw(picture_path)
    console = console or Console()
    with _pynative():
        started = time.perf_counter()
        set_seed(seed)
        train, test = split(seed)
        net = LeNet5()
        loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
        console.print(f"LeNet-5 on {len(train[1]) + len(test[1])} handwritten digits (UCI, CC BY 4.0), in PyNative mode\n")
        seen = watch(net, loss_fn, Tensor(train[0][:_BATCH]), Tensor(train[1][:_BATCH]))
        console.print(table_of(seen))
        _print_gradient(console, seen, int(train[1][0]))
        page = _train(console, net, loss_fn, train, epochs, seed)
        scores = net(Tensor(test[0])).asnumpy()
        accuracy = float(np.mean(scores.argmax(-1) == test[1]))
        if drawing is not None:
            _draw(console, net, test, drawing)
        else:
            console.print(f"No picture: {why_not}.", markup=False)  # with markup, "[viz]" is a style
        console.print(page, soft_wrap=True, markup=False)
        seconds = time.perf_counter() - started
        console.print(f"Test accuracy: {accuracy:.4f} on {len(test[1])} images, after {epochs} epochs and {seconds:.0f} s")
    return accuracy


@contextlib.contextmanager
def _pynative():
    """Set PyNative mode and the tutorial's dialect, and restore the program's settings afterwards."""
    mode, dialect = context.get_context("mode"), context.get_context("hook_dialect")
    context.set_context(mode=context.PYNATIVE_MODE, hook_dialect="tutorial")
    try:
        yield
    finally:
        context.set_context(mode=mode, hook_dialect=dialect)


def _can_draw(asked):
    """(path, None) if the picture can be drawn, else (None, the reason); DemoError if a picture was requested."""
    path = Path(asked if asked is not None else _DEFAULT_PICTURE)
    try:
        why_not = picture.check_drawable(path)
    except ImportError:
        why_not = "matplotlib is not installed; pip install 'msjax[viz]' brings it"
    if why_not is not None and asked is not None:
        raise DemoError(f"can't write the picture {str(path)!r}: {why_not}")
    return (path, None) if why_not is None else (None, why_not)


def _print_gradient(console, seen, digit):
    """Print the gradient at the first image's scores: (softmax - one-hot label) / batch size."""
    gradient = next(s.value for s in seen if s.hook == "ops.HookBackward")[0]
    console.print(f"HookBackward's gradient for the first image, a {digit}: only the score of {digit} is to grow")
    for half in (range(5), range(5, 10)):
        console.print("   ".join(f"{i}: {gradient[i]:+.4f}" for i in half), highlight=False)
    console.print()


def _watched(net):
    """(a watch of the network whose page is written, what the demonstration says of the page)."""
    looked_at = [rules.dead(then=_no_warning), rules.gradient_norm(then=_no_warning)]
    try:
        return tools_watch(net, _EVERY, to=_PAGE, rules=looked_at), f"The training as a page: {_PAGE} (msjax view {_PAGE})"
    except OSError as error:
        return tools_watch(net, _EVERY), f"No page: {error}."


def _no_warning(path, message, step):
    """What a rule says is on the page."""


def _train(console, net, loss_fn, train, epochs, seed):
    """Train, and return what is said of the page."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    images, labels = train
    optimizer = nn.Momentum(net.trainable_params(), learning_rate=0.01, momentum=0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss_fn), optimizer)
    net.set_train()
    rng = np.random.default_rng(seed)
    batches = len(labels) // _BATCH
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    loss = 0.0
    watched, said = _watched(net)
    with watched, Progress(*columns, console=console) as progress:
        task = progress.add_task("training", total=epochs * batches)
        for epoch in range(1, epochs + 1):
            order = rng.permutation(len(labels))
            for i in range(batches):
                chosen = order[i * _BATCH : (i + 1) * _BATCH]
                loss = float(step(Tensor(images[chosen]), Tensor(labels[chosen])))
                watched.note(loss=loss)
                progress.update(task, advance=1, description=f"epoch {epoch}/{epochs}, loss {loss:.3f}")
    net.set_train(False)
    return said


def _draw(console, net, test, path):
    image, digit = Tensor(test[0][:1]), int(test[1][0])
    activations, gradients = picture.capture(net, image, digit)
    probability = float(ops.softmax(net(image))[0, digit])
    try:
        picture.draw(path, activations, gradients, digit, probability)
    except OSError as error:
        console.print(f"No picture: {error}.", markup=False)
        return
    console.print(f"Activations and gradients of each layer, caught by hooks: {path}", soft_wrap=True, markup=False)
