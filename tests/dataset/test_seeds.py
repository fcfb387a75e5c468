"""Random numbers: the same seed gives the same rows, whatever the workers do."""

import io
import itertools

import numpy as np
import pytest
from PIL import Image

import msjax as ms
from msjax import dataset as ds
from msjax.common.seeds import SEEDS
from msjax.dataset import config, transforms, vision


@pytest.fixture(autouse=True)
def seed_put_back():
    before = SEEDS.data
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


def test_two_shuffles_of_one_pipeline_draw_differently_without_a_seed():
    config.set_data_seed(None)
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


def photo_pipeline(*, workers=1, processes=False, batch=4, **options):
    files = []
    for i in range(10):
        file = io.BytesIO()
        Image.fromarray(np.random.default_rng(i).integers(256, size=(20 + i, 31, 3), dtype=np.uint8)).save(file, "PNG")
        files.append((np.frombuffer(file.getvalue(), np.uint8), i))
    data = ds.GeneratorDataset(files, ["v", "label"], shuffle=False)
    operations = [
        vision.Decode(), vision.Resize((24, 29)), vision.RandomCrop(16), vision.RandomHorizontalFlip(), vision.RandomVerticalFlip(),
        vision.Normalize((123.7, 116.3, 103.5), (58.4, 57.1, 57.4)), vision.HWC2CHW(),
    ]  # fmt: skip
    how = {"num_parallel_workers": workers, "python_multiprocessing": processes}
    data = data.map(operations, "v", **how).map(transforms.TypeCast(np.float32), "label", **how)
    return data.batch(batch, **options) if batch else data


@pytest.mark.parametrize("workers, processes", [(1, False), (2, False), (2, True)])
def test_whole_batches_are_made_of_the_same_rows(workers, processes):
    """Rows that go from one transform to the next as pixels, and are normalized together, equal rows that are arrays in between."""
    ds.config.set_seed(4)
    rows = photo_pipeline(batch=None).create_tuple_iterator(output_numpy=True)
    images, labels = map(np.stack, zip(*rows))
    made = photo_pipeline(workers=workers, processes=processes).create_tuple_iterator(output_numpy=True)
    got = list(made)
    assert [len(label) for _, label in got] == [4, 4, 2]
    assert all(v.dtype == np.float32 and v.flags.c_contiguous and v.flags.writeable for row in got for v in row)
    assert (np.concatenate([v for v, _ in got]) == images).all()
    assert (np.concatenate([label for _, label in got]) == labels).all()


def test_a_chain_of_transforms_gives_what_they_give_one_by_one():
    image = np.random.default_rng(0).integers(256, size=(31, 40, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    operations = [
        vision.Decode(), vision.Resize((25, 33)), vision.CenterCrop(21), vision.HorizontalFlip(), vision.Crop((1, 2), 17),
        vision.VerticalFlip(), vision.Resize(9, vision.Inter.NEAREST), vision.Resize((12, 5)), vision.Rescale(0.5, 1.0),
        vision.Normalize((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)), vision.HWC2CHW(), transforms.TypeCast(np.float16),
    ]  # fmt: skip
    value = np.frombuffer(file.getvalue(), np.uint8)
    data = ds.NumpySlicesDataset(([value, value],), ["v"])
    for n, operation in enumerate(operations, 1):
        value = operation(value)
        for (got,) in data.map(operations[:n], "v").batch(2).create_tuple_iterator(output_numpy=True):
            assert got.dtype == value.dtype and (got == value).all() and got.shape == (2, *value.shape)


def test_an_error_in_a_batch_names_its_row():
    rows = [np.zeros((4, 4, 3 if i != 2 else 2), np.uint8) for i in range(4)]
    data = ds.NumpySlicesDataset((rows,), ["v"], shuffle=False).map([vision.Normalize((1.0,) * 3, (1.0,) * 3)], "v").batch(4)
    with pytest.raises(RuntimeError, match=r"^map: row 2, columns \['v'\], operation Normalize: .* the image has 2: "):
        list(data)
    with pytest.raises(RuntimeError, match=r"^batch: batch 0: column 'v' has rows of shape \(4, 4, 3\) and \(4, 4, 2\)"):
        list(ds.NumpySlicesDataset((rows,), ["v"], shuffle=False).map([vision.Rescale(1.0, 0.0)], "v").batch(4))
