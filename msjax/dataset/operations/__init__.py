"""Operations on datasets, which are attached to `Dataset` as methods."""

from msjax.dataset.operations import methods as methods
