"""Tensors that compiled code keeps after the call are found, without a look at other threads' objects."""

import gc

import msjax as ms
from tests.compile.calls import f32, warned


def test_compiling_looks_at_no_foreign_objects(monkeypatch):
    def forbidden(*_args, **_kwargs):
        raise AssertionError("scanned all objects")

    monkeypatch.setattr(gc, "get_objects", forbidden)
    kept = []
    f = ms.jit(lambda x: kept.append(x * 2) or x)
    _, messages = warned(f, f32(1))
    assert kept[-1].tolist() == [2] and "kept after the call" in messages[0]


def test_tensors_kept_in_many_places_are_found():
    class Keeper:
        pass

    keeper = Keeper()

    def attribute(x):
        keeper.value = x * 2
        return x

    def nested(x):
        keeper.value = {"a": [(x * 2,)]}
        return x

    def closure(x):
        y = x * 2
        keeper.value = lambda: y
        return x

    for function in (attribute, nested, closure):
        keeper.value = None
        _, messages = warned(ms.jit(function), f32(1))
        assert len(messages) == 1, function
