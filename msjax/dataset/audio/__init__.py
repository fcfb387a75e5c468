"""Transforms of sounds: for `map`, or called on arrays of (..., time) and spectrograms of (..., frequency, time)."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.dataset.audio.effects import *
from msjax.dataset.audio.filters import *
from msjax.dataset.audio.modulations import *
from msjax.dataset.audio.phases import *
from msjax.dataset.audio.spectra import *
from msjax.dataset.audio.utils import *

_PLACEHOLDERS = {"[A-Z]*": "a function of numpy arrays does for `map` what a transform does."}

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, _PLACEHOLDERS)
