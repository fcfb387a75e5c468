"""Transformations of distributions: their names can be imported."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if not TYPE_CHECKING:
    _NAMES = ("Bijector", "Exp", "GumbelCDF", "Invert", "PowerTransform", "ScalarAffine", "Softplus")
    _PLACEHOLDERS = dict.fromkeys(_NAMES, "write it as a Cell, or lift a function of jax arrays with ms.from_jax.")
    __getattr__, __dir__ = on_first_use(__name__, _PLACEHOLDERS)
