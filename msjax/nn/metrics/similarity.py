"""Similarity metrics for masks, vectors and texts."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_int, check_same_shape, check_value, is_number
from msjax.nn.metrics.metric import MeanMetric, Metric, rearrange_inputs

__all__ = ["BleuScore", "CosineSimilarity", "Dice"]


class Dice(MeanMetric):
    """Twice the product of predictions and labels over the sum of their squares.

    That is taken of each batch, and their sum divided by the number of samples, as MindSpore does.

    Args:
        smooth (float): added below, against a division by zero. Default: 1e-5.
    """

    def __init__(self, smooth: float = 1e-5):
        super().__init__()
        self.smooth: float = check_value(smooth, is_number(smooth) and smooth > 0, "be positive", "smooth", "Dice")

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        pred, label = self._pair(inputs)
        check_same_shape(pred, label, "both inputs", "Dice.update")
        self._count += len(label)
        pred, label = pred.ravel(), label.ravel()
        self._sum += 2 * float(np.dot(pred, label)) / (float(np.dot(pred, pred) + np.dot(label, label)) + self.smooth)


class CosineSimilarity(Metric):
    """The similarity of each row of a matrix to each other row.

    Args:
        similarity (str): "cosine", or "dot" for the product without normalizing. Default: "cosine".
        reduction (str): "none", "sum" or "mean" over the last axis. Default: "none".
        zero_diagonal (bool): whether the diagonal is zero. Default: True.
    """

    def __init__(self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True):
        super().__init__()
        for name, value, known in (
            ("similarity", similarity, ("cosine", "dot")), ("reduction", reduction, ("none", "sum", "mean"))
        ):  # fmt: skip
            check_value(value, value in known, f"be one of {', '.join(known)}", name, "CosineSimilarity")
        check_bool(zero_diagonal, "zero_diagonal", "CosineSimilarity")
        self.similarity, self.reduction, self.zero_diagonal = similarity, reduction, zero_diagonal
        self.clear()

    def clear(self) -> None:
        self.sqr_mtx_res: Any = 0
        self._updated = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        self._check_inputs(inputs, 1, "matrix")
        rows = self._convert_data(inputs[0])
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, ord=2, axis=1, keepdims=True)
        self.sqr_mtx_res = rows @ rows.T
        self._updated = True

    def eval(self) -> np.ndarray:
        self._check_updated(self._updated)
        matrix = self.sqr_mtx_res.copy()
        if self.zero_diagonal:
            np.fill_diagonal(matrix, 0)
        return {"none": lambda m: m, "mean": lambda m: m.mean(axis=-1), "sum": lambda m: m.sum(axis=-1)}[self.reduction](matrix)


class BleuScore(Metric):
    """How much translations share with reference translations: runs of up to n words.

    Args:
        n_gram (int): the longest runs, 1 to 4. Default: 4.
        smooth (bool): whether one is added to counts of runs. Default: False.

    Inputs of `update` are a list of translations (lists of words), and a list of lists of references for each.
    """

    def __init__(self, n_gram: int = 4, smooth: bool = False):
        super().__init__()
        check_int(n_gram, "n_gram", "BleuScore", low=1, high=4)
        check_bool(smooth, "smooth", "BleuScore")
        self.n_gram, self.smooth = n_gram, smooth
        self.clear()

    def clear(self) -> None:
        self._matched = np.zeros(self.n_gram)
        self._there = np.zeros(self.n_gram)
        self._length = self._reference_length = 0
        self._updated = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        self._check_inputs(inputs, 2, "translations, references")
        translations, references = inputs
        if len(translations) != len(references):
            raise ValueError(
                f"For 'BleuScore.update', there should be references for each translation, but there are {len(translations)} "
                f"translations and {len(references)} references."
            )
        for translation, choices in zip(translations, references):
            self._length += len(translation)
            self._reference_length += min((abs(len(r) - len(translation)), len(r)) for r in choices)[1]
            own = self._runs(translation)
            allowed = Counter()
            for reference in choices:
                allowed |= self._runs(reference)
            for run, count in (own & allowed).items():
                self._matched[len(run) - 1] += count
            for run, count in own.items():
                self._there[len(run) - 1] += count
        self._updated = True

    def _runs(self, words) -> Counter:
        return Counter(tuple(words[i : i + n]) for n in range(1, self.n_gram + 1) for i in range(len(words) - n + 1))

    def eval(self) -> float:
        self._check_updated(self._updated)
        if self._matched.min() == 0:
            return 0.0
        smooth = 1 if self.smooth else 0
        precision = (self._matched + smooth) / (self._there + smooth)
        penalty = 1.0 if self._length > self._reference_length else math.exp(1 - self._reference_length / self._length)
        return float(penalty * math.exp(np.log(precision).mean()))
