"""OcclusionSensitivity: which parts of an image a classification depends on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_float, check_int, check_kind
from msjax.nn.metrics.metric import Metric, rearrange_inputs


class OcclusionSensitivity(Metric):
    """How much a network's prediction falls when the surroundings of each point of a picture are covered.

    Args:
        pad_val (float): what they are covered with. Default: 0.0.
        margin (int): how far the cover reaches. Default: 2.
        n_batch (int): how many pictures the network is called with at a time. Default: 128.
        b_box (list or tuple, optional): the part of the picture to look at: the first and the last point of each axis.

    Inputs of `update` are the network, a picture of shape (1, ...), and a class.
    """

    def __init__(self, pad_val: float = 0.0, margin: int = 2, n_batch: int = 128, b_box: Sequence[Any] | None = None):
        super().__init__()
        check_float(pad_val, "pad_val", "OcclusionSensitivity")
        for name, value in (("margin", margin), ("n_batch", n_batch)):
            check_int(value, name, "OcclusionSensitivity")
        self.pad_val, self.margin, self.n_batch, self.b_box = pad_val, margin, n_batch, b_box
        self.clear()

    def clear(self) -> None:
        self._baseline = 0.0
        self._sensitivity: Any = None

    def _box(self, shape):
        if self.b_box is None:
            return np.zeros(len(shape), int), np.asarray(shape) - 1
        if len(self.b_box) != 2 * len(shape):
            raise ValueError(
                f"For 'OcclusionSensitivity', 'b_box' should have {2 * len(shape)} entries, but has {len(self.b_box)}."
            )
        first = np.maximum(np.asarray(self.b_box[::2]), 0)
        last = np.asarray(self.b_box[1::2])
        last = np.where(last < 0, np.asarray(shape) - 1, last)
        if (last >= shape).any() or (first > last).any():
            raise ValueError(f"For 'OcclusionSensitivity', 'b_box' {self.b_box} does not lie in the picture of shape {shape}.")
        return first, last

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        self._check_inputs(inputs, 3, "network, picture, label")
        network: Any = inputs[0]
        picture, label = self._convert_data(inputs[1]), self._convert_data(inputs[2])
        check_kind(network, callable(inputs[0]), "be a Cell", "the network", "OcclusionSensitivity.update")
        if picture.shape[0] != 1 or label.size != 1:
            raise RuntimeError(
                f"For 'OcclusionSensitivity.update', one picture and one label are expected, but their shapes are {picture.shape} "
                f"and {label.shape}."
            )
        label, shape = int(label.reshape(())), np.asarray(picture.shape[1:])
        first, last = self._box(shape)
        self._baseline = float(network(Tensor(picture)).asnumpy()[0, label])
        found, covered = [], []
        points = list(np.ndindex(*(last - first + 1)))
        for i, offset in enumerate(points):
            point = first + offset
            cover = tuple(slice(a, b) for a, b in zip(np.maximum(point - self.margin, 0), np.minimum(point + self.margin, shape)))
            one = picture.copy()
            one[(0, *cover)] = self.pad_val
            covered.append(one)
            if len(covered) == self.n_batch or i == len(points) - 1:
                found.append(network(Tensor(np.concatenate(covered))).asnumpy()[:, label])
                covered = []
        self._sensitivity = np.concatenate(found).reshape(last - first + 1)

    def eval(self) -> np.ndarray:
        self._check_updated(self._sensitivity is not None)
        return self._baseline - np.squeeze(self._sensitivity)
