# For type checkers, in place of attached.py: they can't see what is attached later, and the files that do that import Dataset.
class DatasetMethods:
    from msjax.dataset.operations.methods import (
        _add as __add__,
        _zip as zip,
        apply as apply,
        batch as batch,
        bucket_batch_by_length as bucket_batch_by_length,
        concat as concat,
        device_que as device_que,
        filter as filter,
        flat_map as flat_map,
        map as map,
        padded_batch as padded_batch,
        project as project,
        rename as rename,
        repeat as repeat,
        shuffle as shuffle,
        skip as skip,
        split as split,
        sync_update as sync_update,
        sync_wait as sync_wait,
        take as take,
    )
    from msjax.dataset.text.vocab import build_vocab as build_vocab
