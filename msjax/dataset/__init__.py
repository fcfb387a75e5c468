"""Data pipelines: sources of rows, operations on them, samplers, and transforms of images and text.

Nothing here needs more than numpy, except for what decodes, resizes or recolours images, which needs Pillow
(``pip install msjax[data]``).
"""

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
