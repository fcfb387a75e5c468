"""Random numbers: the same seed gives the same rows, whatever the workers do."""

import itertools

import numpy as np
import pytest

import msjax as ms
from msjax import dataset as ds
from msjax.dataset import config, transforms, vision


@pytest.fixture(autouse=True)
def seed_put_back():
    before = config.data_seed()
    yield
    config.set_data_seed(before)


def values(data, name="v"):
    return [row[name].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def image_pipeline(**options):
    images = np.arange(20 * 36, dtype=np.uint8).reshape(20, 6, 6, 1)
    data = ds.NumpySlicesDataset({"v": images})
    return data.map(
        [vision.RandomCrop(3), vision.RandomHorizontalFlip(), transforms.RandomChoice([np.negative, np.copy])], "v", **options
    )


def test_workers_draw_what_one_thread_draws():
    ds.config.set_seed(4)
    alone = values(image_pipeline())
    assert values(image_pipeline(num_parallel_workers=3)) == alone
    assert values(image_pipeline(num_parallel_workers=2, python_multiprocessing=True)) == alone


def test_epochs_differ_and_runs_repeat():
    def epochs():
        rows = image_pipeline().create_dict_iterator(num_epochs=2, output_numpy=True)
        return [[row["v"].tolist() for row in rows] for _ in range(2)]

    ms.set_seed(4)
    first, second = epochs()
    assert first != second
    assert epochs() == [first, second]
    ds.config.set_seed(5)
    assert epochs()[0] != first


def test_passes_of_repeat_differ():
    ds.config.set_seed(4)
    got = values(ds.NumpySlicesDataset({"v": np.arange(30)}).repeat(2))
    assert sorted(got[:30]) == sorted(got[30:]) == list(range(30))
    assert got[:30] != got[30:]


def test_without_a_seed_each_run_differs():
    config.set_data_seed(None)
    data = ds.NumpySlicesDataset({"v": np.arange(50)})
    assert values(data) != values(data)


def test_two_shuffles_of_one_pipeline_draw_differently():
    ds.config.set_seed(4)
    a = ds.NumpySlicesDataset({"a": np.arange(30)}, shuffle=False).shuffle(30)
    b = ds.NumpySlicesDataset({"b": np.arange(30)}, shuffle=False).shuffle(30)
    rows = list(ds.zip((a, b)).create_dict_iterator(num_epochs=1, output_numpy=True))
    assert any(row["a"] != row["b"] for row in rows)


@pytest.mark.parametrize("seed", [None, 3])
def test_shards_share_one_order_in_each_epoch(seed):
    config.set_data_seed(seed)
    shards = [ds.NumpySlicesDataset({"v": np.arange(12)}, num_shards=3, shard_id=i) for i in range(3)]
    rows = [shard.create_dict_iterator(num_epochs=2, output_numpy=True) for shard in shards]
    epochs = [[[int(row["v"]) for row in it] for it in rows] for _ in range(2)]
    for epoch in epochs:
        assert sorted(itertools.chain(*epoch)) == list(range(12))
    assert epochs[0] != epochs[1]


def test_parts_of_a_split_have_no_row_in_common():
    for data in (
        ds.NumpySlicesDataset({"v": np.arange(20)}),
        ds.NumpySlicesDataset({"v": np.arange(20)}, shuffle=False).map(lambda v: v),
        ds.NumpySlicesDataset({"v": np.arange(20)}, shuffle=False).shuffle(20),
        ds.GeneratorDataset(lambda: iter(range(20)), ["v"]),
    ):
        parts = data.split([0.5, 0.25, 0.25])
        for _ in range(2):
            assert sorted(itertools.chain(*(values(part) for part in parts))) == list(range(20))
        assert [len(part) for part in parts] == [10, 5, 5]


def test_eager_calls_repeat_under_a_seed():
    image = np.arange(100).reshape(10, 10)
    ds.config.set_seed(1)
    crop = vision.RandomCrop(4)
    assert (crop(image) == crop(image)).all()


def test_several_images_are_changed_alike():
    image = np.arange(400, dtype=np.uint8).reshape(20, 20)
    config.set_data_seed(None)
    a, b = vision.RandomCrop(4)(image, image)
    assert (a == b).all()
