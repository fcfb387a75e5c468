"""Draws each layer's activations and gradients, which hooks collect."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from msjax.common.tensor import Tensor
from msjax.engine.autograd.grad import value_and_grad

if TYPE_CHECKING:
    from msjax.demo.lenet import LeNet5


LAYERS = ("conv1", "conv2", "fc1", "fc2", "fc3")
# The number of rows in which a layer's channels or features are laid out.
_ROWS = {"image": 1, "conv1": 1, "conv2": 2, "fc1": 4, "fc2": 3, "fc3": 1}


def capture(net: LeNet5, image: Tensor, digit: int) -> Any:
    """Collect activations and gradients of one image by a forward and a backward pre hook on each layer.

    Two dicts, from the layer's name, and "image", to an array without the batch's axis; the gradients are those of the digit's score.
    """
    activations, gradients = {}, {}
    with contextlib.ExitStack() as hooks:
        for name in LAYERS:

            def keep_output(cell, inputs, output, name=name):
                activations[name] = output.asnumpy()[0]

            def keep_gradient(cell, grad_output, name=name):
                gradients[name] = grad_output[0].asnumpy()[0]

            hooks.enter_context(getattr(net, name).register_forward_hook(keep_output))
            hooks.enter_context(getattr(net, name).register_backward_pre_hook(keep_gradient))
        _, gradient = value_and_grad(lambda x: net(x)[0, digit])(image)
    activations["image"], gradients["image"] = image.asnumpy()[0], gradient.asnumpy()[0]
    return activations, gradients


def check_drawable(path: Any) -> str | None:
    """None if a picture can be written to `path` (pathlib.Path), else the reason why not."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    known = sorted(FigureCanvasAgg.get_supported_filetypes())
    if path.suffix[1:].lower() not in known:
        return f"a picture's name should end in one of {', '.join('.' + k for k in known)}"
    if path.is_dir():
        return "it is a folder"
    if not path.parent.is_dir():
        return f"there is no folder {str(path.parent)!r}"
    return None


def draw(path: Path, activations: Any, gradients: Any, digit: int, score: float) -> None:
    """Write the picture."""
    from matplotlib.figure import Figure

    names = ("image", *LAYERS)
    figure = Figure(figsize=(13, 11), layout="constrained")
    figure.suptitle(f"LeNet-5 sees a {digit} (probability {score:.3f}): what each layer puts out, and the gradient of the score")
    axes = figure.subplots(len(names), 2, height_ratios=[1.6, 1.5, 1.5, 0.9, 0.8, 0.9])
    for row, name in enumerate(names):
        for axis, values, what in zip(axes[row], (activations[name], gradients[name]), ("", "gradient at ")):
            title = f"{what}{name}, {_shape(values)}"
            if name == "fc3":
                _bars(axis, values, title, digit)
            else:
                _maps(figure, axis, values, title, _ROWS[name], gray=name == "image" and not what)
    figure.savefig(path, dpi=110)


def _shape(values):
    if values.ndim == 1:
        return f"{values.size} features"
    channels, height, width = values.shape
    return f"{channels} x {height} x {width}"


def _maps(figure, axis, values, title, rows, gray):
    """Channels side by side with a line between them, or features as cells of a grid."""
    tiles = values if values.ndim == 3 else values[:, None, None]
    gap = 1 if values.ndim == 3 and len(tiles) > 1 else 0
    count, height, width = tiles.shape
    columns = -(-count // rows)
    sheet = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap), np.nan)
    for i, tile in enumerate(tiles):
        top, left = i // columns * (height + gap), i % columns * (width + gap)
        sheet[top : top + height, left : left + width] = tile
    limit = float(np.abs(values).max()) or 1.0
    # NaN, the lines between channels, stays transparent over the axis's own colour.
    axis.set_facecolor("0.35")
    shown = axis.imshow(sheet, cmap="gray" if gray else "RdBu_r", vmin=-limit, vmax=limit)
    axis.set_title(title, fontsize=10)
    axis.set_xticks([])
    axis.set_yticks([])
    figure.colorbar(shown, ax=axis, fraction=0.03, pad=0.01, format="%.2g", panchor=False)


def _bars(axis, values, title, digit):
    axis.bar(range(len(values)), values, color=["tab:red" if i == digit else "tab:gray" for i in range(len(values))])
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set_title(title, fontsize=10)
    axis.set_xticks(range(len(values)))
    axis.set_xlabel("digit")
