"""DatasetHelper and what takes the rows of its dataset."""

import numpy as np
import pytest

from msjax import DatasetHelper, connect_network_with_dataset, nn, train
from msjax.dataset import NumpySlicesDataset


def rows():
    data = {"x": np.arange(24, dtype=np.float32).reshape(8, 3), "y": np.arange(8, dtype=np.int32)}
    return NumpySlicesDataset(data, shuffle=False).batch(2)


def test_one_epoch_each_time():
    helper = train.DatasetHelper(rows(), dataset_sink_mode=False, sink_size=3)
    for _ in range(2):
        batches = list(helper)
        assert [type(b) for b in batches] == [list] * 4
        assert [b[1].asnumpy().tolist() for b in batches] == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_the_network_takes_the_rows():
    helper = DatasetHelper(rows(), sink_size=3)
    seen = []

    class Net(nn.Cell):
        def construct(self, x, y):
            seen.append(y.asnumpy().tolist())
            return x.sum()

    net = connect_network_with_dataset(Net(), helper)
    for _ in range(2):
        for inputs in helper:
            assert inputs == () and net(*inputs).shape == ()
    assert seen == [[0, 1], [2, 3], [4, 5], [6, 7], [0, 1], [2, 3]]
    assert helper.sink_size() == 3 and DatasetHelper(rows()).sink_size() == 4
    assert helper.types_shapes()[1] == helper.get_data_info()[1] == [[2, 3], [2]]


@pytest.mark.parametrize(
    "make, kind, words",
    [
        (lambda: DatasetHelper(3), TypeError, "should be a Dataset"),
        (lambda: DatasetHelper(rows(), "a"), TypeError, "dataset_sink_mode"),
        (lambda: DatasetHelper(rows(), True, 0), ValueError, "'sink_size' should be positive or -1, but got 0"),
        (lambda: DatasetHelper(rows(), True, 1.5), TypeError, "sink_size"),
        (lambda: DatasetHelper(rows(), True, -1, 0), ValueError, "'epoch_num' should be positive, but got 0"),
        (lambda: connect_network_with_dataset(nn.ReLU(), DatasetHelper(rows(), False)), RuntimeError, "dataset sink mode"),
    ],
)
def test_errors(make, kind, words):
    with pytest.raises(kind, match=words):
        make()
