"""A plugin of pytest for networks written with msjax, silent until a test uses it.

It imports msjax, and with it jax, only when one of its fixtures or functions is used. Where a test has imported `msjax.hooks` itself, what
hooks of compiled programs raise is raised in that test.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

MODES = ("pynative", "graph", "functional")

# How many hook calls of a failing test are shown.
_SHOWN = 12

_LOGS = pytest.StashKey[list["HookLog"]]()


class HookLog:
    """The hook calls of a network, in order, as data that compares well.

    Args:
        model: a Cell or a flax nnx module.
        where: which cells, as for `msjax.hooks.register_forward_hook`.

    Attributes:
        calls (list of tuples): (kind, path), such as ("forward", "fc1") and ("backward", "fc1").
        values (list): for each call, numpy arrays: of the outputs, or of the gradients that arrived at the outputs.
    """

    def __init__(self, model: Any, where: Any = "*"):
        import msjax as ms

        self.calls: list[tuple[str, str]] = []
        self.values: list[list[Any]] = []
        self._handles = []
        for path, module in ms.hooks.paths(model).items():
            here = _selects(where, path, module)
            if not here:
                continue
            exact = lambda p, _module, path=path: p == path  # noqa: E731
            for kind, register in (
                ("forward", ms.hooks.register_forward_hook),
                ("backward", ms.hooks.register_backward_pre_hook),
            ):
                hook = lambda module, *given, kind=kind, path=path: self._keep(kind, path, given[-1])  # noqa: E731
                self._handles.append(register(model, hook, exact, observe=True))

    def _keep(self, kind, path, values):
        import jax
        import numpy as np

        from msjax.common.tensor import is_leaf

        self.calls.append((kind, path))
        leaves = jax.tree.leaves(values, is_leaf=is_leaf)
        self.values.append([np.asarray(v.asnumpy() if hasattr(v, "asnumpy") else v) for v in leaves if hasattr(v, "dtype")])

    def clear(self) -> None:
        """Forget the calls so far."""
        self.calls.clear()
        self.values.clear()

    def remove(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            handle.remove()

    def __str__(self) -> str:
        lines = []
        for (kind, path), values in list(zip(self.calls, self.values))[-_SHOWN:]:
            shapes = ", ".join(f"{v.dtype}{list(v.shape)}" for v in values)
            lines.append(f"{kind:<9} {path or '(the model)':<24} {shapes}")
        if len(self.calls) > _SHOWN:
            lines.insert(0, f"... {len(self.calls) - _SHOWN} calls before")
        return "\n".join(lines)


def _selects(where, path, module):
    from msjax.core.models.where import matches

    return matches(path, module, where, "hook_log")


@pytest.fixture
def hook_log(request: pytest.FixtureRequest) -> Iterator[Callable[..., HookLog]]:
    """``hook_log(model, where="*")`` registers hooks that log their calls; see `HookLog`. They are gone after the test."""
    logs = request.node.stash.setdefault(_LOGS, [])

    def log(model: Any, where: Any = "*") -> HookLog:
        logs.append(HookLog(model, where))
        return logs[-1]

    yield log
    for one in logs:
        one.remove()


def assert_same_in_all_modes(
    net: Any, *inputs: Any, rtol: float | None = None, atol: float | None = None, gradients: bool = True
) -> None:
    """Assert that a network computes the same in PyNative mode, in graph mode and as a pure function, gradients included.

    Args:
        net: a Cell.
        inputs: what it is called with.
        rtol, atol: see `msjax.tools.compare`.
        gradients: whether gradients are compared.

    Raises:
        AssertionError: with the first cell that differs.
    """
    from msjax.tools import compare, record

    first = record(net, *inputs, gradients=gradients, mode="pynative")
    for mode in MODES[1:]:
        found = compare(first, record(net, *inputs, gradients=gradients, mode=mode), rtol=rtol, atol=atol)
        if not found:
            raise AssertionError(f"PyNative mode and {mode} mode differ.\n{found}")


def assert_gradients(fn: Callable[..., Any], *inputs: Any, step: float = 1e-3, rtol: float = 1e-2, atol: float = 1e-3) -> None:
    """Assert that the gradient of a function is right: by central differences, and by jax's own derivative.

    Args:
        fn: from Tensors to a Tensor or several, whose sum is differentiated; a Cell, too.
        inputs: numpy arrays or Tensors of floating-point numbers.
        step: of the differences.
        rtol, atol: how far the differences may be off, relative and absolute; jax's derivative has to agree a hundred times better.

    Raises:
        AssertionError: with the number of the input and the place where it is wrong.
    """
    import jax
    import numpy as np

    import msjax as ms
    from msjax.common.tensor import tensors_in

    arrays = [np.asarray(x.asnumpy() if hasattr(x, "asnumpy") else x) for x in inputs]

    def total(*tensors):
        return sum(t.sum() for t in tensors_in([fn(*tensors)]) if t.is_floating_point())

    def value(arrays):
        with ms.no_grad():
            return float(total(*map(ms.Tensor, arrays)).asnumpy())

    found = ms.grad(total, tuple(range(len(arrays))))(*map(ms.Tensor, arrays))
    found = [g.asnumpy() for g in (found if isinstance(found, tuple) else (found,))]
    by_jax = jax.grad(lambda arrays: total(*map(ms.Tensor, arrays))._value)(arrays)
    for number, (x, gradient, other) in enumerate(zip(arrays, found, by_jax)):
        message = f"the gradient with respect to input {number}"
        np.testing.assert_allclose(gradient, other, rtol / 100, atol / 100, err_msg=f"{message}, against jax.grad")
        differences = np.zeros_like(x)
        for place in np.ndindex(x.shape):
            sides = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[number][place] += sign * step
                sides.append(value(moved))
            differences[place] = (sides[0] - sides[1]) / (2 * step)
        np.testing.assert_allclose(gradient, differences, rtol, atol, err_msg=f"{message}, against differences")


# ---- modes


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("msjax").addoption(
        "--msjax-modes", default=None, metavar="MODES",
        help="run tests with the fixture msjax_mode in these modes only: some of pynative,graph,functional",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "msjax_modes(*modes): run the test in these modes of msjax; by default pynative, graph, functional"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("msjax_modes")
    if marker is None and "msjax_mode" not in metafunc.fixturenames:
        return
    modes = marker.args if marker is not None and marker.args else MODES
    _check_modes(modes, "msjax_modes")
    chosen = metafunc.config.getoption("--msjax-modes")
    if chosen is not None:
        _check_modes(chosen.split(","), "--msjax-modes")
        modes = [mode for mode in modes if mode in chosen.split(",")]
    if "msjax_mode" not in metafunc.fixturenames:
        metafunc.fixturenames.append("msjax_mode")
    metafunc.parametrize("msjax_mode", modes, indirect=True)


def _check_modes(modes, where):
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown:
        raise pytest.UsageError(f"{where}: there is no mode {unknown[0]!r}; the modes are {', '.join(MODES)}.")


@pytest.fixture
def msjax_mode(request: pytest.FixtureRequest) -> Iterator[Callable[[Any], Any]]:
    """Sets a mode for the test. It is a function from a Cell to what runs it in this mode, with its name as attribute `name`."""
    import msjax as ms

    name = getattr(request, "param", "pynative")
    before = ms.get_context("mode")
    ms.set_context(mode=ms.GRAPH_MODE if name == "graph" else ms.PYNATIVE_MODE)

    def run(net: Any) -> Any:
        return _functional(net) if name == "functional" else net

    run.name = name
    yield run
    ms.set_context(mode=before)


def _functional(net):
    import jax

    import msjax as ms
    from msjax.common.tensor import is_leaf, wrap

    def call(*args, **kwargs):
        apply, params, buffers = ms.functionalize(net)
        args, kwargs = jax.tree.map(lambda v: getattr(v, "_value", v), (args, kwargs), is_leaf=is_leaf)
        out, buffers = jax.jit(apply)(params, buffers, *args, **kwargs)
        ms.write_back(net, None, buffers)
        return jax.tree.map(lambda v: wrap(v) if isinstance(v, jax.Array) else v, out)

    return call


# ---- what hooks raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Raises what hooks of programs that the test has started raise, in this test: they run in another thread, and the next test would be told."""
    try:
        result = yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        try:
            _wait_for_hooks()
        except Exception as other:
            error.add_note(f"A hook failed, too: {type(other).__name__}: {other}")
        raise
    _wait_for_hooks()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Any:
    """The same of fixtures, when they end."""
    result = yield
    _wait_for_hooks()
    return result


def _wait_for_hooks():
    worker = sys.modules.get("msjax.core.hooks.worker")
    if worker is not None:
        worker.barrier()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
    """Adds to the report of a failing test the cell that the error came from, and the last hook calls."""
    report = yield
    if call.excinfo is not None and report.failed:
        notes = getattr(call.excinfo.value, "__notes__", ())
        cells = [note for note in notes if note.startswith("in cell ")]
        if cells:
            report.sections.append(("msjax", f"The error came from the {cells[0].removeprefix('in ')}."))
        for log in item.stash.get(_LOGS, ()):
            if log.calls:
                report.sections.append(("last hook calls", str(log)))
    return report
