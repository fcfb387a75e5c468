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


_FAILING_HOOKS = """
    import jax
    import jax.numpy as jnp
    import pytest
    from flax import nnx
    from msjax import hooks

    def wrong(module, args, output):
        assert output.shape == (9,), "of the hook"

    def run():
        model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
        hooks.register_forward_hook(model, wrong)
        nnx.jit(lambda model, x: model(x))(model, jnp.ones((1, 2)))

    @pytest.fixture
    def runs_at_the_end():
        yield
        run()

    def test_fails():
        run()

    def test_fails_twice():
        run()
        assert not "of the test"

    def test_passes():
        model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
        hooks.register_forward_hook(model, lambda module, args, output: None)
        assert model(jnp.ones((1, 2))).shape == (1, 3)

    def test_ends_wrong(runs_at_the_end):
        pass

    def test_passes_again():
        hooks.barrier()
"""


def test_a_hook_that_fails_in_a_compiled_program_fails_its_own_test(pytester):
    pytester.makepyfile(_FAILING_HOOKS)
    result = pytester.runpytest_inprocess("-p", "pytest_msjax", "-p", "no:cacheprovider", "-p", "no:xdist", "-rA", "-W", "ignore")
    result.assert_outcomes(passed=3, failed=2, errors=1)
    result.stdout.fnmatch_lines_random([
        "PASSED *::test_passes", "PASSED *::test_passes_again", "FAILED *::test_fails*", "FAILED *::test_fails_twice*", "ERROR *::test_ends_wrong*",
        "E *AssertionError: of the hook", "E *A hook failed, too: AssertionError: of the hook", "E *AssertionError: assert not 'of the test'",
    ])  # fmt: skip


@pytest.mark.parametrize("given", [(), ("--msjax-modes", "grap")], ids=["mark", "option"])
def test_an_unknown_mode(pytester, given):
    mode = "graph" if given else "grap"
    pytester.makepyfile(f"import pytest\n\n@pytest.mark.msjax_modes({mode!r})\ndef test_mode(msjax_mode):\n    pass\n")
    result = pytester.runpytest_inprocess("-p", "pytest_msjax", "-p", "no:cacheprovider", "-p", "no:xdist", *given)
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*there is no mode 'grap'; the modes are pynative, graph, functional."])
