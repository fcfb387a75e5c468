"""Options and matrices of transforms of sounds, under the name that MindSpore has for them."""

from msjax.dataset.audio.enums import *
from msjax.dataset.audio.filter_banks import *
