"""Operations: what they give, sizes without reading, and errors."""

import numpy as np
import pytest

from msjax import dataset as ds


def numbers(n=6, name="v"):
    return ds.NumpySlicesDataset({name: np.arange(n)}, shuffle=False)


def column(data, name="v"):
    return [row[name].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def test_building_and_sizing_call_nothing():
    def never(*_):
        raise AssertionError("called")

    data = numbers().map(never).batch(4, per_batch_map=never).repeat(2).shuffle(4).take(3)
    assert len(data) == 3 and data.get_col_names() == ["v"] and data.get_batch_size() == 4 and data.get_repeat_count() == 2
    assert bool(numbers().filter(never))


@pytest.mark.parametrize(
    "build, size",
    [
        (lambda d: d.batch(4), 2),
        (lambda d: d.batch(4, drop_remainder=True), 1),
        (lambda d: d.padded_batch(4, pad_info={}), 2),
        (lambda d: d.skip(4).repeat(3), 6),
        (lambda d: d.repeat().take(10), 10),
        (lambda d: d.repeat(), 6),
        (lambda d: d.filter(lambda v: v > 2), 3),
        (lambda d: d + numbers(2), 8),
        (lambda d: ds.zip((d, numbers(2, "w"))), 2),
        (lambda d: d.zip(numbers(2, "w").repeat()), 6),
        (lambda d: d.batch(lambda info: info.get_batch_num() + 1), 3),
        (lambda d: d.flat_map(lambda v: numbers(int(v) + 1)), 21),
        (lambda d: d.bucket_batch_by_length("v", [3], [2, 2], element_length_function=lambda v: v), 4),
    ],
)
def test_sizes_are_how_many_rows_come(build, size):
    data = build(numbers())
    assert len(data) == size
    if data.get_repeat_count() > 0:
        assert len(list(data.create_dict_iterator(num_epochs=1, output_numpy=True))) == size


@pytest.mark.parametrize(
    "build, error, message",
    [
        (lambda d: d.map(3), ValueError, "For 'map', 'operations' should be functions or transforms, but got 3"),
        (lambda d: d.map(ds.vision.HWC2CHW), ValueError, "should hold transforms, but got the class HWC2CHW; call it"),
        (lambda d: d.map(abs, "v", cache=1), NotImplementedError, "no cache server"),
        (lambda d: d.map(abs, "v", column_order=["v"]), TypeError, "For 'map', there is no argument 'column_order'"),
        (lambda d: d.batch(0), ValueError, "For 'batch', 'batch_size' should be positive, but got 0"),
        (lambda d: d.batch(2.0), TypeError, "For 'batch', 'batch_size' should be an int, but got float 2.0"),
        (
            lambda d: d.batch(2, per_batch_map=lambda v: v, input_columns="v"),
            ValueError,
            "is called with 1 columns and the BatchInfo",
        ),
        (lambda d: d.batch(lambda: 2), ValueError, "For 'batch', 'batch_size' is called with the BatchInfo"),
        (lambda d: d.batch(2, input_columns="v"), ValueError, "'input_columns' is for 'per_batch_map', which is missing"),
        (lambda d: d.padded_batch(2, pad_info=[]), TypeError, "For 'padded_batch', 'pad_info' should be a dict"),
        (
            lambda d: d.padded_batch(2, pad_info={"v": ([2.0], 0)}),
            TypeError,
            "the shape in 'pad_info' of 'v' should be a list of int",
        ),
        (lambda d: d.bucket_batch_by_length("v", [6, 3], [1, 1, 1]), ValueError, "'bucket_boundaries' should rise"),
        (lambda d: d.shuffle(1), ValueError, "For 'shuffle', 'buffer_size' should be in"),
        (lambda d: d.repeat(0), ValueError, "For 'repeat', 'count' should be positive, or -1 for all, but got 0"),
        (lambda d: d.skip(-1), ValueError, "For 'skip', 'count'"),
        (lambda d: d.take("1"), TypeError, "For 'take', 'count' should be an int, but got str '1'"),
        (lambda d: d.filter(3), TypeError, "For 'filter', 'predicate' should be a function, but got int 3"),
        (lambda d: d.project(("v",)), TypeError, "For 'project', 'columns' should be a str or a list of str"),
        (lambda d: d.rename(["v"], ["a", "b"]), ValueError, "For 'rename', 'output_columns' should be as many"),
        (lambda d: d + 3, TypeError, "For 'concat', 'datasets' should be a dataset or a list of them, but got int 3"),
        (lambda d: ds.zip([d, d]), TypeError, "For 'zip', 'datasets' should be a tuple of datasets"),
        (lambda d: d.split([1.0, 5]), ValueError, "only ints or only floats"),
        (lambda d: d.split([1, 2]), RuntimeError, "should add up to 6, the number of rows, but their sum is 3"),
        (lambda d: d.apply(lambda _: 3), TypeError, "'apply_func' should return a dataset, but returned int 3"),
        (lambda d: d.create_dict_iterator(num_epochs=0), RuntimeError, "'num_epochs' should be positive"),
        (lambda d: d.create_tuple_iterator("w"), RuntimeError, "there is no column 'w'; the columns are"),
    ],
)
def test_arguments(build, error, message):
    with pytest.raises(error, match=message):
        build(numbers())


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda d: d.map(abs, "w"), r"map: there is no column 'w'; the columns are \['v'\]"),
        (lambda d: d.map(lambda v: (v, v)), r"map: row 0, .*the result: TypeError: 2 value\(s\) came for the 1 output column"),
        (
            lambda d: d.map(ds.vision.HWC2CHW()),
            "map: row 0, .*operation HWC2CHW: RuntimeError: HWC2CHW: the image should have numbers",
        ),
        (lambda d: d.batch(2, per_batch_map=lambda v, info: 1 / 0), "batch: batch 0, per_batch_map .*ZeroDivisionError"),
        (lambda d: d.batch(lambda info: 0), "batch: batch 0, batch_size .*should be positive, but got 0"),
        (lambda d: d.filter(lambda v: np.ones(2)), "filter: row 0, predicate .*it should return a bool"),
        (lambda d: d.padded_batch(2, pad_info={"v": ([2], 0)}), "padded_batch: batch 0, column 'v': .*its rows have 0 axes"),
        (lambda d: ds.zip((d, d)), r"zip: there would be two columns of the same name among \['v', 'v'\]"),
        (lambda d: d + numbers(1, "w"), r"concat: the datasets should have the same columns, but got \['v'\] and \['w'\]"),
        (lambda d: d + ds.NumpySlicesDataset({"v": [0.5]}), "concat: column 'v' should have the same type and rank"),
        (lambda d: d.flat_map(lambda row: 3), "'func' should return a dataset, but returned int 3"),
        (lambda d: d.bucket_batch_by_length("v", [2], [1, 1]), "bucket_batch_by_length: row 0, columns .*IndexError"),
    ],
)
def test_errors_of_reading(build, message):
    with pytest.raises(RuntimeError, match=message):
        list(build(numbers()))


def test_what_is_concatenated_has_rows():
    for data, number in ((numbers() + numbers().skip(10), 1), (numbers().filter(lambda v: False) + numbers(), 0)):
        with pytest.raises(ValueError, match=f"concat: dataset {number} has no rows; each should have some"):
            list(data)
        with pytest.raises(ValueError, match="has no rows"):
            len(data)


def test_batches_name_columns_that_differ():
    data = ds.GeneratorDataset([np.zeros(1), np.zeros(2)], ["v"], shuffle=False)
    with pytest.raises(
        RuntimeError, match=r"batch: batch 0: column 'v' has rows of shape \(1,\) and \(2,\); padded_batch pads them"
    ):
        list(data.batch(2))


def test_map_places_columns():
    data = ds.NumpySlicesDataset({"a": [1], "b": [2], "c": [3]}, shuffle=False)
    assert data.map(lambda b, c: (b, c, b + c), ["b", "c"], ["b", "c", "d"]).get_col_names() == ["b", "c", "d", "a"]
    assert data.map(lambda c, a: (c, a), ["c", "a"], ["x", "y"]).get_col_names() == ["y", "b", "x"]
    assert data.map(lambda a, b: (b, a)).get_col_names() == ["a", "b", "c"]


def test_an_endless_repeat_of_nothing_ends():
    assert list(numbers().filter(lambda v: False).repeat()) == []


def test_iterators_go_through_epochs():
    rows = numbers(2).create_dict_iterator(num_epochs=2, output_numpy=True)
    assert [[int(row["v"]) for row in rows] for _ in range(2)] == [[0, 1], [0, 1]]
    with pytest.raises(RuntimeError, match="has gone through its 2 epochs"):
        next(rows)


def test_shuffle_moves_rows_forward_less_than_its_buffer():
    got = column(numbers(200).shuffle(5))
    assert sorted(got) == list(range(200)) and got != sorted(got)
    assert all(value <= at + 4 for at, value in enumerate(got))


def test_buckets_can_be_padded_to_their_boundary():
    data = ds.GeneratorDataset([np.ones(n) for n in (1, 2)], ["v"], shuffle=False)
    to_boundary = data.bucket_batch_by_length("v", [4], [2, 2], pad_info={"v": ([None], 0)}, pad_to_bucket_boundary=True)
    assert to_boundary.output_shapes() == [[2, 3]]
    with pytest.raises(RuntimeError, match="row 1 is as long as the last boundary"):
        list(data.bucket_batch_by_length("v", [2], [2, 2], pad_info={}, pad_to_bucket_boundary=True))


def test_shapes_that_vary():
    data = ds.GeneratorDataset([np.ones((n, 3)) for n in (1, 2)], ["v"], shuffle=False)
    assert data.output_shapes() == [[1, 3]] and data.output_shapes(estimate=True) == [[None, 3]]


def test_callbacks_of_map_see_epochs_and_rows():
    seen = []

    class Note(ds.DSCallback):
        def ds_epoch_begin(self, ds_run_context):
            seen.append(("epoch", ds_run_context.cur_epoch_num))

        def ds_step_begin(self, ds_run_context):
            seen.append((ds_run_context.cur_step_num_in_epoch, ds_run_context.cur_step_num))

    rows = numbers(4).map(lambda v: v, callbacks=Note(2)).create_dict_iterator(num_epochs=2)
    for _ in range(2):
        list(rows)
    assert seen == [("epoch", 1), (1, 1), (3, 3), ("epoch", 2), (1, 5), (3, 7)]
    seen.clear()
    list(numbers(2).map(lambda v: v, callbacks=Note(3)).repeat(2))
    assert seen == [("epoch", 1), (1, 1), (4, 4)]
    with pytest.raises(AttributeError, match="should define one of ds_begin"):
        numbers(1).map(lambda v: v, callbacks=ds.DSCallback())


def test_rows_wait_for_the_training():
    seen = []

    class Note(ds.WaitedDSCallback):
        def sync_step_begin(self, train_run_context, ds_run_context):
            seen.append(ds_run_context.cur_step_num)

    before = ds.config.get_callback_timeout()
    note = Note(2)
    for _ in numbers(4).map(lambda v: v, callbacks=note).batch(2):
        note.step_end(None)
    assert seen == [3]
    try:
        ds.config.set_callback_timeout(1)
        with pytest.raises(RuntimeError, match=r"ds_step_begin timed out after 1 second\(s\): step 1 of the training"):
            list(numbers(4).map(lambda v: v, callbacks=Note(2)))
    finally:
        ds.config.set_callback_timeout(before)


def test_config_files(tmp_path):
    path = tmp_path / "c.json"
    path.write_text('{"prefetch_size": 7, "no_such_thing": 1}')
    try:
        with pytest.raises(RuntimeError, match="could not be loaded: KeyError: 'set_no_such_thing'"):
            ds.config.load(str(path))
        assert ds.config.get_prefetch_size() == 7
    finally:
        ds.config.set_prefetch_size(16)
    with pytest.raises(TypeError, match="For 'set_prefetch_size', 'value' should be an int"):
        ds.config.set_prefetch_size("2")


def test_padded_batch_takes_a_function_of_sizes():
    ragged = ds.GeneratorDataset([np.arange(n) for n in (1, 3, 2)], ["v"], shuffle=False)
    data = ragged.padded_batch(lambda info: info.get_batch_num() + 1, pad_info={})
    assert [row.tolist() for (row,) in data.create_tuple_iterator(output_numpy=True)] == [[[0]], [[0, 1, 2], [0, 1, 0]]]


def test_buckets_are_padded_by_default_and_lengths_are_counts():
    ragged = ds.GeneratorDataset([np.arange(n) for n in (1, 3, 2)], ["v"], shuffle=False)
    assert [row.shape for (row,) in ragged.bucket_batch_by_length("v", [4], [2, 1])] == [(2, 3), (1, 2)]
    for length in (2.5, -1):
        with pytest.raises(RuntimeError, match="a length should be an int and not negative"):
            list(ragged.bucket_batch_by_length("v", [4], [2, 1], lambda v: length))  # noqa: B023


def test_batches_of_dicts_are_dicts_of_batches():
    rows = ds.GeneratorDataset([({"a": 1, "b": {"c": [2]}},), ({"a": 3, "b": {"c": [4]}},)], ["d"], shuffle=False)
    ((batch,),) = rows.batch(2).create_tuple_iterator(output_numpy=True)
    assert batch["a"].tolist() == [1, 3] and batch["b"]["c"].tolist() == [[2], [4]]
    with pytest.raises(RuntimeError, match="has dicts with other keys than"):
        list(ds.GeneratorDataset([({"a": 1},), ({"b": 1},)], ["d"], shuffle=False).batch(2))


def test_per_batch_map_may_change_the_number_of_rows_only_by_arrays():
    data = ds.NumpySlicesDataset([1, 2, 3], ["v"], shuffle=False)
    made = data.batch(3, per_batch_map=lambda v, info: np.array(v[:1]), input_columns="v")
    assert [row.tolist() for (row,) in made.create_tuple_iterator(output_numpy=True)] == [[1]]
    with pytest.raises(RuntimeError, match="a list should have a value for each of the 3 rows, but has 1"):
        list(data.batch(3, per_batch_map=lambda v, info: (v[:1],), input_columns="v"))


def test_shards_of_concatenated_datasets_share_no_row():
    def shards(n, **options):
        for i in range(n):
            data = ds.NumpySlicesDataset([0, 1, 2, 3], ["v"], shuffle=False) + ds.NumpySlicesDataset(
                [4, 5, 6], ["v"], shuffle=False
            )
            data.use_sampler(ds.DistributedSampler(n, i, shuffle=False, **options))
            rows = [int(v) for (v,) in data]
            assert len(data) == len(rows)
            yield rows

    assert list(shards(3)) == [[0, 3, 6], [1, 4], [2, 5]]
    with pytest.raises(ValueError, match="can't have 'shuffle' or 'num_samples'"):
        list(shards(2, num_samples=1))


def test_what_is_shuffled_and_sharded():
    data = ds.NumpySlicesDataset([1, 2, 3], ["v"], shuffle=False)
    assert not data.is_shuffled() and not data.batch(2).is_sharded()
    assert data.shuffle(2).batch(2).is_shuffled() and ds.NumpySlicesDataset([1]).is_shuffled()
    assert (data + ds.NumpySlicesDataset([1], ["v"], num_shards=2, shard_id=0)).is_sharded()
    assert not ds.GeneratorDataset(lambda: iter([(1,)]), ["v"]).is_shuffled()


def test_fractions_of_a_split_are_rounded_to_even():
    data = ds.NumpySlicesDataset({"v": np.arange(10)}, shuffle=False)
    for sizes, counts in (([0.25, 0.25, 0.5], [3, 2, 5]), ([0.15, 0.85], [2, 8]), ([0.45, 0.55], [4, 6])):
        assert [len(part) for part in data.split(sizes, randomize=False)] == counts
    with pytest.raises(RuntimeError, match="a part without any"):
        data.split([0.05, 0.95])


def test_a_result_of_map_may_replace_another_column():
    data = ds.NumpySlicesDataset({"a": [1, 2], "b": [10, 20], "c": [5, 6]}, shuffle=False)
    replaced = data.map(lambda a: a + 100, ["a"], ["b"])
    assert replaced.get_col_names() == ["b", "c"]
    assert [[v.tolist() for v in row] for row in replaced.create_tuple_iterator(output_numpy=True)] == [[101, 5], [102, 6]]
    assert [row[0].tolist() for row in replaced.batch(2).create_tuple_iterator(output_numpy=True)] == [[101, 102]]


def test_of_several_datasets_the_last_one_says_how_large_batches_are():
    first, second = (ds.NumpySlicesDataset({name: np.arange(6)}, shuffle=False) for name in "ab")
    assert ds.zip((first.batch(2), second.batch(3).repeat(2))).get_batch_size() == 3
    assert ds.zip((first.repeat(4), second.repeat(2))).get_repeat_count() == 2
    assert ds.zip((first.batch(2), second)).get_batch_size() == 1


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("mode, expected", [("SKIP", [1, 3, 4]), ("REPLACE", [1, 3, 4, 1])])
def test_rows_that_fail(mode, expected, workers):
    def fails(v):
        if v == 2:
            raise ValueError("two")
        return v

    data = ds.NumpySlicesDataset([1, 2, 3, 4], ["v"], shuffle=False).map(fails, num_parallel_workers=workers)
    try:
        ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode[mode])
        assert [int(v) for (v,) in data.create_tuple_iterator(output_numpy=True)] == expected
    finally:
        ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.RETURN)


def test_a_column_may_be_padded_to_the_batch_s_largest_size_with_none():
    data = ds.GeneratorDataset([np.ones(1), np.ones(2)], ["v"], shuffle=False).padded_batch(2, pad_info={"v": None})
    assert [row["v"].tolist() for row in data.create_dict_iterator(output_numpy=True)] == [[[1, 0], [1, 1]]]
