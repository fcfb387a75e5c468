"""Pipelines: the operations that Dataset is given after its class are known to type checkers, too."""

from typing import assert_type

from msjax import dataset as ds
from msjax.dataset.operations.batch import BatchDataset
from msjax.dataset.operations.combine import ConcatDataset, ZipDataset
from msjax.dataset.operations.map import MapDataset

data = ds.NumpySlicesDataset([1, 2], ["v"])
assert_type(data.batch(2), BatchDataset)
assert_type(data.shuffle(2).map([abs], "v"), MapDataset)
assert_type(data + data, ConcatDataset)
assert_type(data.zip((data,)), ZipDataset)
assert_type(data.get_dataset_size(), int)
assert_type(ds.config.get_prefetch_size(), int)
data.no_such_operation(2)  # pyright: ignore[reportAttributeAccessIssue]
