"""Data pipelines: sources of rows, operations on them, samplers, and transforms of images and text.

Nothing here needs more than numpy, except for what decodes, resizes or recolours images, which needs Pillow
(``pip install msjax[data]``).
"""

import sys
from typing import TYPE_CHECKING

from msjax.dataset import config, operations, text, transforms, vision
from msjax.dataset.callback import DSCallback
from msjax.dataset.dataset import Dataset
from msjax.dataset.enums import Shuffle
from msjax.dataset.iterators import DictIterator, Iterator, TupleIterator
from msjax.dataset.operations.batch import BatchDataset, BatchInfo
from msjax.dataset.operations.methods import zip
from msjax.dataset.samplers import (
    BuiltinSampler,
    DistributedSampler,
    IterSampler,
    PKSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
)
from msjax.dataset.sources.cifar import Cifar10Dataset, Cifar100Dataset
from msjax.dataset.sources.generator import GeneratorDataset
from msjax.dataset.sources.image_folder import ImageFolderDataset
from msjax.dataset.sources.mnist import FashionMnistDataset, KMnistDataset, MnistDataset
from msjax.dataset.sources.numpy_slices import NumpySlicesDataset
from msjax.dataset.sources.text_files import CSVDataset, TextFileDataset
from msjax.lazy import NO_MINDRECORD, placeholder_or_error

_NO_SOURCE = "it doesn't read such files. A GeneratorDataset takes any Python object that does."


if not TYPE_CHECKING:

    def __getattr__(name):
        sentence = NO_MINDRECORD if name == "MindDataset" else _NO_SOURCE
        return placeholder_or_error(__name__, name, {name: sentence} if name[:1].isupper() else {}, sys._getframe(1))
