"""What the log says of compiled functions: whether jax's own cache on disk had their programs."""

import jax
import pytest

import msjax as ms
from msjax import Tensor, ops
from tests.programs.stores import store_in


@pytest.fixture
def store(tmp_path, monkeypatch):
    with store_in(tmp_path / "msjax", tmp_path / "jax", monkeypatch) as made:
        yield made


def double(x):
    return ops.tanh(x) * 2


def said(caplog, x=(1.0, 2.0)):
    caplog.clear()
    ms.jit(double)(Tensor(list(x)))
    return [record.getMessage() for record in caplog.records]


def test_the_log_says_whether_a_function_was_found(store, monkeypatch, caplog):
    monkeypatch.setenv("GLOG_v", "1")
    assert said(caplog) == ["double was compiled"]
    assert said(caplog) == ["double was found in jax's cache on disk"]
    assert said(caplog, (1.0, 2.0, 3.0)) == ["double was compiled"]
    jax.config.update("jax_enable_compilation_cache", False)
    assert said(caplog) == ["double was compiled"]


def test_other_levels_say_nothing(store, monkeypatch, caplog):
    monkeypatch.setenv("GLOG_v", "2")
    assert said(caplog) == []
