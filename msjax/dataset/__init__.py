"""Data pipelines: sources of rows, operations on them, samplers, and transforms of images and text.

Nothing here needs more than numpy, except for what decodes, resizes or recolours images, which needs Pillow
(``pip install 'msjax[data]'``).
"""

import sys
from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.dataset import (
    audio as audio,
    config as config,
    debug as debug,
    operations as operations,
    text as text,
    transforms as transforms,
    vision as vision,
)
from msjax.dataset.callback import DSCallback as DSCallback
from msjax.dataset.dataset import Dataset as Dataset
from msjax.dataset.enums import Shuffle as Shuffle
from msjax.dataset.iterators import DictIterator as DictIterator, Iterator as Iterator, TupleIterator as TupleIterator
from msjax.dataset.operations.batch import BatchDataset as BatchDataset, BatchInfo as BatchInfo
from msjax.dataset.operations.methods import zip as zip
from msjax.dataset.samplers import *
from msjax.dataset.sources.image_folder import ImageFolderDataset as ImageFolderDataset
from msjax.dataset.sources.mind import MindDataset as MindDataset
from msjax.dataset.sources.named_boxes import *
from msjax.dataset.sources.named_images import *
from msjax.dataset.sources.named_sounds import *
from msjax.dataset.sources.named_texts import *
from msjax.dataset.sources.packed_images import *
from msjax.dataset.sources.python_objects import *
from msjax.dataset.sources.text_files import CSVDataset as CSVDataset, TextFileDataset as TextFileDataset
from msjax.dataset.sources.tf_record import *
from msjax.ops.dispatch.docs import complete_examples

_PLACEHOLDERS = {
    "[A-Z]*Dataset": "it doesn't read such files. A GeneratorDataset takes any Python object that does.",
    "[A-Z]*": "the page on data pipelines lists what there is.",
}

if TYPE_CHECKING:
    from msjax.dataset.waited_callback import WaitedDSCallback as WaitedDSCallback
else:
    __getattr__, __dir__ = on_first_use(__name__, _PLACEHOLDERS)

for _name, _value in [*globals().items()]:
    if isinstance(_value, type) and issubclass(_value, Dataset) and "Example:" not in (_value.__doc__ or "Example:"):
        _value.__doc__ = (
            f"{str(_value.__doc__).rstrip()}\n\n    Example:\n        >>> issubclass(ds.{_name}, ds.Dataset)\n        True\n    "
        )
for _name, _module in [*sys.modules.items()]:
    if _name.startswith("msjax.dataset."):
        _package = _name.split(".")[2]
        _of_transforms = _package in ("audio", "text", "transforms", "vision")
        complete_examples(
            vars(_module), f"from msjax.dataset import {_package}" if _of_transforms else "from msjax import dataset as ds"
        )

# MindSpore's other names for the packages of transforms, for imports such as "import msjax.dataset.vision.c_transforms".
for _package, _others in (
    (audio, "transforms"), (text, "transforms utils"), (transforms, "c_transforms py_transforms transforms"),
    (vision, "c_transforms transforms utils"),
):  # fmt: skip
    sys.modules.update((f"{_package.__name__}.{_other}", _package) for _other in _others.split())
