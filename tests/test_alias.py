"""msjax under the name mindspore, inside a program."""

import importlib
import sys

import pytest

import msjax
from msjax import alias


@pytest.fixture
def mindspore():
    """mindspore, as install_as_mindspore makes it; gone after the test."""
    modules, finders = dict(sys.modules), list(sys.meta_path)
    msjax.install_as_mindspore(x64=False)
    yield importlib.import_module("mindspore")
    sys.meta_path[:] = finders
    for name in [name for name in sys.modules if name == "mindspore" or name.startswith("mindspore.")]:
        if name not in modules:
            del sys.modules[name]


def test_the_same_modules_and_objects(mindspore):
    assert mindspore is msjax
    import mindspore.common.dtype
    import mindspore.context as context
    import mindspore.nn as nn
    from mindspore import Parameter, Tensor, ops
    from mindspore.common.initializer import Normal
    from mindspore.common.tensor import Tensor as Again

    assert nn is msjax.nn and ops is msjax.ops and context is msjax.context
    assert mindspore.common.dtype is msjax.common.dtype
    assert Tensor is Again is msjax.Tensor and Parameter is msjax.Parameter
    assert Normal is msjax.common.initializer.Normal


@pytest.mark.parametrize(
    "module, name, real",
    [
        ("mindspore.nn.layer.conv", "Conv2d", "msjax.nn"),
        ("mindspore.nn.layer", "ReLU", "msjax.nn"),
        ("mindspore.nn.loss.loss", "L1Loss", "msjax.nn"),
        ("mindspore.nn.optim.momentum", "Momentum", "msjax.nn"),
        ("mindspore.nn.wrap.cell_wrapper", "WithLossCell", "msjax.nn"),
        ("mindspore.ops.operations.nn_ops", "HookBackward", "msjax.ops"),
        ("mindspore.ops.function.math_func", "matmul", "msjax.ops"),
        ("mindspore.ops.composite", "GradOperation", "msjax.ops"),
        ("mindspore.ops.functional", "stop_gradient", "msjax.ops"),
        ("mindspore.common.seed", "set_seed", "msjax"),
        ("mindspore.experimental.optim.sgd", "SGD", "msjax.experimental.optim"),
        ("mindspore.experimental.optim.adamw", "AdamW", "msjax.experimental.optim"),
    ],
)
def test_modules_that_msjax_splits_in_another_way(mindspore, module, name, real):
    found = getattr(importlib.import_module(module), name)
    assert found is getattr(importlib.import_module(real), name)


def test_forwarding_modules_leave_the_real_modules_alone(mindspore):
    conv = sys.modules["msjax.nn.layer.conv"]
    importlib.import_module("mindspore.nn.layer.conv")
    assert msjax.nn.layer.conv is conv and conv.__name__ == "msjax.nn.layer.conv" and conv.__spec__.name == "msjax.nn.layer.conv"
    assert not hasattr(conv, "__path__")


def test_every_forwarding_module_has_a_target(mindspore):
    # The table has no other reader than the finder of modules.
    assert alias._FORWARDING["mindspore.nn.layer.math"] == "msjax.nn"
    for name, real in alias._FORWARDING.items():
        if importlib.util.find_spec(real) is not None:
            importlib.import_module(name)


def test_star_imports(mindspore):
    namespace = {}
    exec("from mindspore.nn.layer.activation import *", namespace)
    assert namespace["ReLU"] is msjax.nn.ReLU


def test_what_is_not_offered(mindspore):
    with pytest.raises(ModuleNotFoundError, match=r"msjax doesn't offer mindspore\.hub\."):
        importlib.import_module("mindspore.hub")
    with pytest.raises(ImportError, match=r"msjax doesn't offer mindspore\.nn\.layer\.conv\.Nothing\."):
        exec("from mindspore.nn.layer.conv import Nothing")
    with pytest.raises(AttributeError, match=r"msjax doesn't offer mindspore\.Nothing\."):
        mindspore.Nothing  # noqa: B018


def test_placeholders_are_imported_and_complain_when_used(mindspore):
    import mindspore.dataset as ds
    from mindspore import ops
    from mindspore.dataset import OBSMindDataset, transforms, vision
    from mindspore.dataset.vision import Inter
    from mindspore.mindrecord import MindPage

    class Own(ds.FakeImageDataset):
        def __init__(self):
            pass

    assert ds.vision is vision and Inter.BICUBIC == 3 and vision.Inter.LINEAR is Inter.BILINEAR
    assert ds.OBSMindDataset is OBSMindDataset
    assert not isinstance(1, OBSMindDataset)
    for make in (
        OBSMindDataset,
        MindPage,
        transforms.Plugin,
        vision.MixUp,
        Own,
    ):
        name = make.__name__ if make is not Own else "FakeImageDataset"
        with pytest.raises(NotImplementedError, match=rf"^msjax doesn't offer mindspore\..*{name}: "):
            make("somewhere")
    with pytest.raises(AttributeError, match=r"doesn't offer mindspore\.dataset\.Nothing: .* So it has no 'GLOBAL'"):
        ds.Nothing.GLOBAL  # noqa: B018
    with pytest.raises(AttributeError, match=r"msjax doesn't offer mindspore\.dataset\.nothing\."):
        ds.nothing  # noqa: B018
    with pytest.raises(ImportError, match=r"msjax doesn't offer mindspore\.dataset\.vision\.nothing\."):
        exec("from mindspore.dataset.vision import nothing")
    offered = {*dir(ops), *dir(mindspore), *dir(mindspore.train), *dir(ds)}
    assert offered.isdisjoint({"Symbol", "OBSMindDataset"})


def test_other_names_of_modules(mindspore):
    from mindspore.ops import P, ReduceOp

    assert P is mindspore.ops.operations and ReduceOp.SUM == "sum"


def test_twice_is_once(mindspore):
    finders = list(sys.meta_path)
    msjax.install_as_mindspore(x64=False)
    assert sys.meta_path == finders


def test_the_real_one_may_not_be_there_already(monkeypatch):
    monkeypatch.setitem(sys.modules, "mindspore", object())
    with pytest.raises(ImportError, match="has to come first"):
        msjax.install_as_mindspore()
