"""The plugin of pytest: its fixtures, its assertions, and what it shows of a failing test."""

import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops
from msjax.tools import hooks_of
from pytest_msjax import HookLog, assert_gradients, assert_same_in_all_modes

pytest_plugins = ["pytester"]


def test_plugin(pytester):
    pytester.makepyfile("""
        import numpy as np
        import pytest
        import msjax as ms
        from msjax import nn

        X = ms.Tensor(np.ones((1, 2), "float32"))

        def test_log(hook_log):
            net = nn.SequentialCell(nn.Tanh(), nn.ReLU())
            log = hook_log(net)
            ms.grad(net)(X)
            assert log.calls == [
                ("forward", "0"), ("forward", "1"), ("forward", ""), ("backward", ""), ("backward", "1"), ("backward", "0"),
            ]
            assert log.values[0][0].shape == (1, 2)

        @pytest.mark.msjax_modes
        def test_modes(msjax_mode):
            net = nn.SequentialCell(nn.Dense(2, 2, weight_init="ones", bias_init="zeros"), nn.BatchNorm1d(2))
            assert msjax_mode(net)(X).asnumpy().shape == (1, 2)
            assert (ms.get_context("mode") == ms.GRAPH_MODE) == (msjax_mode.name == "graph")

        def test_fails(hook_log):
            net = nn.SequentialCell(nn.Tanh(), nn.Dense(3, 3))
            hook_log(net, "0")
            net(X)
    """)
    result = pytester.runpytest_inprocess("-p", "pytest_msjax", "-p", "no:cacheprovider", "-p", "no:xdist", "-rA", "-W", "ignore")
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines([
        "*The error came from the cell SequentialCell.1 (Dense).*", "*last hook calls*", "forward   0 *float32[[]1, 2[]]",
    ])  # fmt: skip
    result.stdout.fnmatch_lines(["*test_modes[[]functional[]]*"])
    only = pytester.runpytest_inprocess(
        "-p", "pytest_msjax", "-p", "no:xdist", "--msjax-modes", "graph", "-k", "modes", "-W", "ignore"
    )
    only.assert_outcomes(passed=1, deselected=2)


def test_assert_same_in_all_modes():
    net = nn.SequentialCell(nn.Dense(2, 2), nn.ReLU())
    assert_same_in_all_modes(net, np.float32([[1, 2]]))
    modes = []

    class Differs(nn.Cell):
        def construct(self, x):
            modes.append(ms.get_context("mode"))
            return x * len(modes)

    with pytest.raises(AssertionError, match="PyNative mode and graph mode differ"):
        assert_same_in_all_modes(Differs(), np.float32([1.0]))


def test_assert_gradients():
    assert_gradients(lambda x, y: ops.sin(x) * y, np.float64([0.5, 1]), np.float64([2, 3]))

    class Wrong(nn.Cell):
        def construct(self, x):
            return x * x

        def bprop(self, x, out, dout):
            return (dout * x,)

    with pytest.raises(AssertionError, match="the gradient with respect to input 0, against differences"):
        assert_gradients(Wrong(), np.float64([1.0, 2.0]))


def test_a_long_log():
    net = nn.ReLU()
    log = HookLog(net)
    for _ in range(14):
        net(ms.Tensor([1.0]))
    log.remove()
    assert str(log).splitlines()[0] == "... 2 calls before" and not hooks_of(net)
    log.clear()
    assert log.calls == []
