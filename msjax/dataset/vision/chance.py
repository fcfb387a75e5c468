"""Transforms of an image's colours by chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msjax.core.base.checks import check_kind, check_number, check_value, is_number
from msjax.dataset.checks import check_list, check_range
from msjax.dataset.run import row_rng
from msjax.dataset.transforms.base import call_in_turn
from msjax.dataset.vision.colors import AutoContrast, Equalize, Invert, Posterize, Solarize, adjust, shift_hue
from msjax.dataset.vision.image import ImageTransform

__all__ = [
    "RandomAutoContrast", "RandomColor", "RandomColorAdjust", "RandomEqualize", "RandomGrayscale", "RandomInvert",
    "RandomPosterize", "RandomSelectSubpolicy", "RandomSharpness", "RandomSolarize",
]  # fmt: skip


class RandomColorAdjust(ImageTransform):
    """Brightness, contrast, saturation and hue by chance. Needs Pillow.

    Args:
        brightness, contrast, saturation (float, or tuple or list of two): the least and the largest factor; a number x is from
            ``max(0, 1 - x)`` to ``1 + x``. Default: (1, 1).
        hue (float, or tuple or list of two): the least and the largest move around the circle of colours, in [-0.5, 0.5]; a number
            x is (-x, x). Default: (0, 0).

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> vision.RandomColorAdjust(brightness=(0.5, 0.5))(np.full((1, 1, 3), 100, np.uint8))
        array([[[50, 50, 50]]], dtype=uint8)
    """

    def __init__(
        self,
        brightness: float | Sequence[float] = (1, 1),
        contrast: float | Sequence[float] = (1, 1),
        saturation: float | Sequence[float] = (1, 1),
        hue: float | Sequence[float] = (0, 0),
    ):
        who = "RandomColorAdjust"
        self.brightness: tuple[int, Any] | tuple[Any, ...] = self._factors(brightness, "brightness")
        self.contrast: tuple[int, Any] | tuple[Any, ...] = self._factors(contrast, "contrast")
        self.saturation: tuple[int, Any] | tuple[Any, ...] = self._factors(saturation, "saturation")
        if is_number(hue):
            hue = check_number(hue, "hue", who, low=0, high=0.5)
            hue = (-hue, hue)
        self.hue: tuple[Any, ...] = check_range(hue, "hue", who, -0.5, 0.5)

    @staticmethod
    def _factors(value, name):
        if is_number(value):
            value = check_number(value, name, "RandomColorAdjust", low=0)
            return max(0, 1 - value), 1 + value
        return check_range(value, name, "RandomColorAdjust", low=0)

    def _apply(self, image):
        rng = row_rng()
        steps = [("Brightness", self.brightness), ("Contrast", self.contrast), ("Color", self.saturation), ("Hue", self.hue)]
        for at in rng.permutation(len(steps)):
            kind, bounds = steps[at]
            amount = float(rng.uniform(*bounds))
            if kind == "Hue" and amount:
                image = shift_hue(image, amount, "RandomColorAdjust")
            elif kind != "Hue" and amount != 1:
                image = adjust(image, kind, amount, "RandomColorAdjust")
        return image


class RandomColor(ImageTransform):
    """More or less colour, by a factor between the two of `degrees`, by default (0.1, 1.9); 0 is grey, 1 leaves the image. Needs Pillow.

    Example:
        >>> vision.RandomColor((0.0, 0.0))(np.array([[[255, 0, 0]]], np.uint8))
        array([[[76, 76, 76]]], dtype=uint8)
    """

    _kind = "Color"

    def __init__(self, degrees: Sequence[float] = (0.1, 1.9)):
        self.degrees: tuple[Any, ...] = check_range(degrees, "degrees", type(self).__name__, low=0)

    def _apply(self, image):
        return adjust(image, self._kind, float(row_rng().uniform(*self.degrees)), type(self).__name__)


class RandomSharpness(RandomColor):
    """Sharper or softer, by chance: as `RandomColor`, where 0 is blurred. Needs Pillow.

    Example:
        >>> vision.RandomSharpness()(np.full((3, 3, 3), 9, np.uint8))[1, 1]
        array([9, 9, 9], dtype=uint8)
    """

    _kind = "Sharpness"


class _Sometimes(ImageTransform):
    """Another transform, by chance."""

    _gives_arrays = True

    _other: type[Any]

    def __init__(self, prob: Any = 0.5, *settings: Any):
        self.prob: Any = check_number(prob, "prob", type(self).__name__, low=0, high=1)
        self._transform = self._other(*settings)

    def _apply(self, image):
        return self._transform._apply(image) if row_rng().random() < self.prob else image


class RandomInvert(_Sometimes):
    """`Invert`, with the probability `prob`. Default: 0.5.

    Example:
        >>> vision.RandomInvert(1.0)(np.array([[5]], np.uint8))
        array([[250]], dtype=uint8)
    """

    _other = Invert


class RandomEqualize(_Sometimes):
    """`Equalize`, with the probability `prob`. Default: 0.5.

    Example:
        >>> vision.RandomEqualize(0.0)(np.array([[5]], np.uint8))
        array([[5]], dtype=uint8)
    """

    _other = Equalize


class RandomAutoContrast(_Sometimes):
    """`AutoContrast` with its `cutoff` and `ignore`, with the probability `prob`. Default: 0.5.

    Example:
        >>> vision.RandomAutoContrast(prob=1.0)(np.array([[100, 150]], np.uint8))
        array([[  0, 255]], dtype=uint8)
    """

    _other = AutoContrast

    def __init__(self, cutoff: float = 0.0, ignore: Any = None, prob: float = 0.5):
        super().__init__(prob, cutoff, ignore)


class RandomGrayscale(ImageTransform):
    """A Pillow image without colours, with the probability `prob`, by default 0.1: of mode L where it was, otherwise RGB.

    Example:
        >>> from PIL import Image
        >>> vision.RandomGrayscale(1.0)(Image.new("RGB", (1, 1), "red")).getpixel((0, 0))
        (76, 76, 76)
    """

    _takes = ("pil",)

    def __init__(self, prob: float = 0.1):
        self.prob: Any = check_number(prob, "prob", "RandomGrayscale", low=0, high=1)

    def _apply(self, image):
        return image.convert("L").convert("L" if image.mode == "L" else "RGB") if row_rng().random() < self.prob else image


class RandomPosterize(ImageTransform):
    """`Posterize` with a number of bits by chance, between the two of `bits`, of which a number is both. Default: (8, 8).

    Example:
        >>> vision.RandomPosterize((1, 1))(np.array([[200]], np.uint8))
        array([[128]], dtype=uint8)
    """

    _gives_arrays = True

    def __init__(self, bits: int | Sequence[int] = (8, 8)):
        self.bits: tuple[Any, ...] = check_range((bits, bits) if is_number(bits) else bits, "bits", "RandomPosterize", 1, 8)

    def _apply(self, image):
        low, high = self.bits
        return Posterize(int(row_rng().integers(low, high + 1)))._apply(image)


class RandomSolarize(ImageTransform):
    """`Solarize` with two bounds by chance, both between the two of `threshold`. Default: (0, 255).

    Example:
        >>> vision.RandomSolarize((10, 10))(np.array([[10, 20]], np.uint8))
        array([[245, 235]], dtype=uint8)
    """

    _gives_arrays = True

    def __init__(self, threshold: Sequence[int] = (0, 255)):
        self.threshold: tuple[Any, ...] = check_range(threshold, "threshold", "RandomSolarize", 0, 255)

    def _apply(self, image):
        low, high = self.threshold
        return Solarize(sorted(int(v) for v in row_rng().integers(low, high + 1, 2)))._apply(image)


class RandomSelectSubpolicy(ImageTransform):
    """The transforms of one of several policies, drawn by chance; each of them by its own chance.

    Args:
        policy (list): the policies, each a list of ``(transform, probability)``.

    Raises:
        TypeError, ValueError: no list, an empty one, or something else in it.

    Example:
        >>> vision.RandomSelectSubpolicy([[(vision.HorizontalFlip(), 1)]])(np.array([[[1], [2]]], np.uint8)).ravel()
        array([2, 1], dtype=uint8)
    """

    def __init__(self, policy: list[list[tuple[Any, float]]]):
        who = "RandomSelectSubpolicy"
        for number, steps in enumerate(check_list(policy, "policy", who)):
            for at, step in enumerate(check_list(steps, f"policy[{number}]", who)):
                name = f"policy[{number}][{at}]"
                check_value(step, isinstance(step, tuple) and len(step) == 2, "be a tuple (transform, probability)", name, who)
                check_kind(step[0], callable(step[0]), "be callable", f"the transform of '{name}'", who)
                check_number(step[1], f"the probability of {name}", who, low=0, high=1)
        self.policy: list[list[tuple[Any, float]]] = policy

    def _apply(self, image):
        rng = row_rng()
        steps = self.policy[int(rng.integers(len(self.policy)))]
        return call_in_turn([transform for transform, chance in steps if rng.random() < chance], (image,))
