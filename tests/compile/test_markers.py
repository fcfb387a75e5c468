"""Settings for MindSpore's compiler: checked, and without effect."""

import pytest

import msjax as ms
from msjax import nn


def test_jit_config_and_cells():
    config = ms.JitConfig(jit_level="O1", anything=3)
    assert config.jit_config_dict["jit_level"] == "O1" and config.jit_config_dict["anything"] == 3
    nn.ReLU().set_jit_config(config)
    with pytest.raises(ValueError, match=r"'jit_level'.*'O7'"):
        ms.JitConfig(jit_level="O7")
    with pytest.raises(TypeError, match="JitConfig"):
        nn.ReLU().set_jit_config({"jit_level": "O1"})


def test_marks_return_what_they_mark():
    class Plain:
        pass

    def function():
        pass

    assert ms.jit_class(Plain) is Plain
    assert ms.lazy_inline(function) is function and ms.no_inline(function) is function and ms.lazy_inline()(function) is function
    with pytest.raises(TypeError, match="class"):
        ms.jit_class(3)


def test_mutable_checks_what_it_is_given():
    value = ((1, ms.Tensor(2.0)), {"a": [True]})
    assert ms.mutable(value) == value
    with pytest.raises(TypeError, match="mutable"):
        ms.mutable((1, "a"))
