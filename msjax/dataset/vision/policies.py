"""Policies of augmentation: operations on images, drawn by chance, with their strengths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from msjax.core.base.checks import check_int, check_kind, check_number, check_value
from msjax.dataset.checks import check_data, check_enum, check_list
from msjax.dataset.enums import Named
from msjax.dataset.run import row_rng
from msjax.dataset.transforms.base import call_in_turn
from msjax.dataset.vision.angles import Rotate, affine
from msjax.dataset.vision.chance import _Sometimes
from msjax.dataset.vision.colors import AdjustSharpness, AutoContrast, Equalize, Invert, Posterize, Solarize, adjust
from msjax.dataset.vision.enums import Inter
from msjax.dataset.vision.image import ImageTransform, size_of
from msjax.dataset.vision.sizes import check_fill

__all__ = ["AutoAugment", "AutoAugmentPolicy", "RandAugment", "RandomAdjustSharpness", "TrivialAugmentWide", "UniformAugment"]


class AutoAugmentPolicy(Named):
    """The data on which the policies of `AutoAugment` were found: IMAGENET, CIFAR10, SVHN."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


# The published policies: pairs of (operation, probability, strength from 0 to 9), as in "Posterize .4 8".
_POLICIES = {
    AutoAugmentPolicy.IMAGENET: """
        Posterize .4 8, Rotate .6 9; Solarize .6 5, AutoContrast .6; Equalize .8, Equalize .6; Posterize .6 7, Posterize .6 6;
        Equalize .4, Solarize .2 4; Equalize .4, Rotate .8 8; Solarize .6 3, Equalize .6; Posterize .8 5, Equalize 1;
        Rotate .2 3, Solarize .6 8; Equalize .6, Posterize .4 6; Rotate .8 8, Color .4 0; Rotate .4 9, Equalize .6;
        Equalize 0, Equalize .8; Invert .6, Equalize 1; Color .6 4, Contrast 1 8; Rotate .8 8, Color 1 2;
        Color .8 8, Solarize .8 7; Sharpness .4 7, Invert .6; ShearX .6 5, Equalize 1; Color .4 0, Equalize .6;
        Equalize .4, Solarize .2 4; Solarize .6 5, AutoContrast .6; Invert .6, Equalize 1; Color .6 4, Contrast 1 8;
        Equalize .8, Equalize .6""",
    AutoAugmentPolicy.CIFAR10: """
        Invert .1, Contrast .2 6; Rotate .7 2, TranslateX .3 9; Sharpness .8 1, Sharpness .9 3; ShearY .5 8, TranslateY .7 9;
        AutoContrast .5, Equalize .9; ShearY .2 7, Posterize .3 7; Color .4 3, Brightness .6 7; Sharpness .3 9, Brightness .7 9;
        Equalize .6, Equalize .5; Contrast .6 7, Sharpness .6 5; Color .7 7, TranslateX .5 8; Equalize .3, AutoContrast .4;
        TranslateY .4 3, Sharpness .2 6; Brightness .9 6, Color .2 8; Solarize .5 2, Invert 0; Equalize .2, AutoContrast .6;
        Equalize .2, Equalize .6; Color .9 9, Equalize .6; AutoContrast .8, Solarize .2 8; Brightness .1 3, Color .7 0;
        Solarize .4 5, AutoContrast .9; TranslateY .9 9, TranslateY .7 9; AutoContrast .9, Solarize .8 3; Equalize .8, Invert .1;
        TranslateY .7 9, AutoContrast .9""",
    AutoAugmentPolicy.SVHN: """
        ShearX .9 4, Invert .2; ShearY .9 8, Invert .7; Equalize .6, Solarize .6 6; Invert .9, Equalize .6;
        Equalize .6, Rotate .9 3; ShearX .9 4, AutoContrast .8; ShearY .9 8, Invert .4; ShearY .9 5, Solarize .2 6;
        Invert .9, AutoContrast .8; Equalize .6, Rotate .9 3; ShearX .9 4, Solarize .3 3; ShearY .8 8, Invert .7;
        Equalize .9, TranslateY .6 6; Invert .9, Equalize .6; Contrast .3 3, Rotate .8 4; Invert .8, TranslateY 0 2;
        ShearY .7 6, Solarize .4 8; Invert .6, Rotate .8 4; ShearY .3 7, TranslateX .9 3; ShearX .1 6, Invert .6;
        Solarize .7 2, TranslateY .6 7; ShearY .8 4, Invert .8; ShearX .7 9, TranslateY .8 3; ShearY .8 5, AutoContrast .7;
        ShearX .7 2, Invert .1""",
}
_SIGNED = frozenset("ShearX ShearY TranslateX TranslateY Rotate Brightness Color Contrast Sharpness".split())
_PLAIN = {"AutoContrast": AutoContrast, "Equalize": Equalize, "Invert": Invert}


class _Policy(ImageTransform):
    """The base of policies: `_strength` gives that of an operation for a bin, `_operations` those for an image."""

    _gives_arrays = True
    # The largest strengths: of skewing, of turning in degrees, of changes of colour, and the number of bits that posterizing drops.
    _shear, _turn, _colour, _bits = 0.3, 30.0, 0.9, 4

    def __init__(self, interpolation: Inter, fill_value: int | tuple[int, ...]):
        who = type(self).__name__
        self.interpolation: Any = check_enum(interpolation, Inter, "interpolation", who)
        self.fill_value: Any = check_fill(fill_value, who)

    def _move(self, size):
        """The largest move along an axis, in pixels."""
        return 150.0 / 331.0 * size

    def _strength(self, name, share, image):
        """The strength of an operation at a share of the largest one."""
        height, width = size_of(image)
        most = {
            "ShearX": self._shear, "ShearY": self._shear, "TranslateX": self._move(width), "TranslateY": self._move(height),
            "Rotate": self._turn,
        }.get(name, self._colour)  # fmt: skip
        if name == "Posterize":
            return 8 - round(share * self._bits)
        return 255 * (1 - share) if name == "Solarize" else most * share

    def _changed(self, image, name, share, rng):
        """The image after one operation with a share of its greatest strength, in a direction that is drawn where it has two."""
        strength = self._strength(name, share, image)
        return self._change(image, name, -strength if name in _SIGNED and rng.random() < 0.5 else strength)

    def _change(self, image, name, strength):
        who, resample, fill = type(self).__name__, self.interpolation, self.fill_value
        if name == "Identity":
            return image
        if name in _PLAIN:
            return _PLAIN[name]()(image)
        if name == "Posterize":
            return Posterize(int(strength))(image)
        if name == "Solarize":
            return Solarize((round(strength), 255))(image)
        if name == "Rotate":
            return Rotate(strength, resample, fill_value=fill)(image)
        if name in ("Brightness", "Color", "Contrast", "Sharpness"):
            return adjust(image, name, 1 + strength, who)
        height, width = size_of(image)
        shear, move = (0.0, 0.0), (0.0, 0.0)
        if name.startswith("Shear"):
            angle = math.degrees(math.atan(strength))
            shear = (angle, 0.0) if name == "ShearX" else (0.0, angle)
        else:
            move = (int(strength) / width, 0.0) if name == "TranslateX" else (0.0, int(strength) / height)
        return affine(image, 0.0, move, 1.0, shear, resample, fill, who)

    def _check_array(self, array):
        super()._check_array(array)
        fits = array.ndim == 3 and array.shape[2] == 3 and array.dtype == np.uint8
        check_data(array, fits, "the image should have the type uint8 and the axes (height, width, 3)", type(self).__name__)


_SPACE = (
    "Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness", "Posterize",
    "Solarize", "AutoContrast", "Equalize",
)  # fmt: skip


class RandAugment(_Policy):
    """Several of 14 operations, drawn by chance, all with one strength. Needs Pillow.

    Args:
        num_ops (int): how many. Default: 2.
        magnitude (int): the strength, below `num_magnitude_bins`. Default: 9.
        num_magnitude_bins (int): how many strengths there are, at least 2. Default: 31.
        interpolation (Inter): for what moves pixels. Default: `Inter.NEAREST`.
        fill_value (int or tuple): what stands where nothing is. Default: 0.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: the image is no array of uint8 with three channels.

    Example:
        >>> vision.RandAugment(num_ops=0)(np.full((1, 2, 3), 7, np.uint8))[0, 0]
        array([7, 7, 7], dtype=uint8)
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Inter = Inter.NEAREST,
        fill_value: int | tuple[int, ...] = 0,
    ):
        super().__init__(interpolation, fill_value)
        who = "RandAugment"
        self.num_ops: int = check_int(num_ops, "num_ops", who, low=0, high=2**24)
        self.num_magnitude_bins: int = check_int(num_magnitude_bins, "num_magnitude_bins", who, low=2, high=2**24)
        self.magnitude: int = check_int(magnitude, "magnitude", who, low=0, high=num_magnitude_bins - 1)

    def _apply(self, image):
        rng = row_rng()
        share = self.magnitude / (self.num_magnitude_bins - 1)
        for _ in range(self.num_ops):
            name = _SPACE[int(rng.integers(len(_SPACE)))]
            image = self._changed(image, name, share, rng)
        return image


class TrivialAugmentWide(_Policy):
    """One of 14 operations, with one of many strengths, both drawn by chance. Needs Pillow.

    Args:
        num_magnitude_bins (int): how many strengths there are, at least 2. Default: 31.
        interpolation, fill_value: as in `RandAugment`.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: the image is no array of uint8 with three channels.

    Example:
        >>> vision.TrivialAugmentWide()(np.zeros((4, 5, 3), np.uint8)).shape
        (4, 5, 3)
    """

    _shear, _turn, _colour, _bits = 0.99, 135.0, 0.99, 6

    def __init__(self, num_magnitude_bins: int = 31, interpolation: Inter = Inter.NEAREST, fill_value: int | tuple[int, ...] = 0):
        super().__init__(interpolation, fill_value)
        self.num_magnitude_bins: int = check_int(
            num_magnitude_bins, "num_magnitude_bins", "TrivialAugmentWide", low=2, high=2**24
        )

    def _move(self, size):
        return 32.0

    def _apply(self, image):
        rng = row_rng()
        name = _SPACE[int(rng.integers(len(_SPACE)))]
        share = int(rng.integers(self.num_magnitude_bins)) / (self.num_magnitude_bins - 1)
        return self._changed(image, name, share, rng)


class AutoAugment(_Policy):
    """One of the 25 pairs of operations that were found for a data set, drawn by chance. Needs Pillow.

    Args:
        policy (AutoAugmentPolicy): the data set. Default: `AutoAugmentPolicy.IMAGENET`.
        interpolation, fill_value: as in `RandAugment`.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: the image is no array of uint8 with three channels.

    Example:
        >>> vision.AutoAugment(vision.AutoAugmentPolicy.CIFAR10)(np.zeros((4, 5, 3), np.uint8)).shape
        (4, 5, 3)
    """

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Inter = Inter.NEAREST,
        fill_value: int | tuple[int, ...] = 0,
    ):
        super().__init__(interpolation, fill_value)
        self.policy: Any = check_enum(policy, AutoAugmentPolicy, "policy", "AutoAugment")
        self._pairs: list[list[list[str]]] = [
            [step.split() for step in pair.split(",")] for pair in _POLICIES[self.policy].split(";")
        ]

    def _apply(self, image):
        rng = row_rng()
        for name, chance, *strength in self._pairs[int(rng.integers(len(self._pairs)))]:
            if rng.random() < float(chance):
                share = int(strength[0]) / 9 if strength else 0.0
                image = self._changed(image, name, share, rng)
        return image


class UniformAugment(ImageTransform):
    """Several of a list of transforms, drawn by chance, each of them then applied or not by chance.

    Args:
        transforms (list): the transforms.
        num_ops (int): how many, at most as many as there are. Default: 2.

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> vision.UniformAugment([vision.Invert()], 1)(np.zeros((1, 1, 3), np.uint8)).shape
        (1, 1, 3)
    """

    def __init__(self, transforms: list[Any], num_ops: int = 2):
        who = "UniformAugment"
        for number, one in enumerate(check_list(transforms, "transforms", who)):
            check_kind(one, callable(one), "be callable", f"transforms[{number}]", who)
        self.num_ops: int = check_int(num_ops, "num_ops", who, low=1, high=2**24)
        fits = num_ops <= len(transforms)
        check_value(num_ops, fits, f"be at most the number of transforms, {len(transforms)}", "num_ops", who)
        self.transforms: list[Any] = transforms

    def _apply(self, image):
        rng = row_rng()
        chosen = [self.transforms[i] for i in rng.permutation(len(self.transforms))[: self.num_ops] if rng.random() < 0.5]
        return call_in_turn(chosen, (image,))


class RandomAdjustSharpness(_Sometimes):
    """`AdjustSharpness` by the factor `degree`, with the probability `prob`. Default: 0.5.

    Example:
        >>> vision.RandomAdjustSharpness(2.0)(np.zeros((4, 5, 3), np.uint8)).shape
        (4, 5, 3)
    """

    _other = AdjustSharpness

    def __init__(self, degree: float, prob: float = 0.5):
        super().__init__(prob, check_number(degree, "degree", "RandomAdjustSharpness", low=0))
