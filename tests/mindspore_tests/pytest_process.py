"""Runs tests by pytest in a process of its own: ``python pytest_process.py RESULTS SECONDS {msjax|mindspore} TEST ...``, in the folder of the tests.

Each test's result is a line of JSON in the file RESULTS: first that it begins, then how it ended, so that it is known which one a process has
died of. It is run as a script, since MindSpore's tests are a package ``tests`` of their own.
"""

import json
import os
import signal
import sys
import types

import numpy
import pytest


class _TooLong(BaseException):
    """A test has taken longer than it may."""


class _Results:
    """A plugin of pytest that writes results."""

    def __init__(self, path, seconds, wanted):
        self._file = open(path, "a")
        self._seconds = seconds
        self._wanted = wanted  # names of tests; all if there are none

    def pytest_collection_modifyitems(self, items):
        if self._wanted:
            items[:] = [item for item in items if item.nodeid in self._wanted]

    def write(self, **entry):
        print(json.dumps(entry), file=self._file, flush=True)

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(
                test=report.nodeid, ends="not collected", why=_last_line(report.longrepr), text=str(report.longrepr)[-1500:]
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        self.write(test=item.nodeid, begins=True)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        def ended(number, frame):
            raise _TooLong(f"it took more than {self._seconds} s")

        signal.signal(signal.SIGALRM, ended)
        signal.alarm(self._seconds)
        try:
            return (yield)
        finally:
            signal.alarm(0)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            place = getattr(report.longrepr, "reprcrash", None)
            self.write(
                test=report.nodeid, ends="failed", text=str(report.longrepr)[-1500:],
                why=place.message.strip()[:300] if place else _last_line(report.longrepr), where=str(place.path) if place else "",
            )  # fmt: skip
        elif report.when == "call" or report.skipped:
            self.write(test=report.nodeid, ends=report.outcome)


def _make_way():
    """What MindSpore's conftest files import of its insides, and none of its tests tests."""
    # Of their package for a simulator that only MindSpore's own build has, the functions of numpy alone, not those that it registers.
    module = types.ModuleType("tests.vm_impl")
    module.__path__ = [os.path.join(os.environ["TESTS_ROOT"], "tests", "vm_impl")]
    sys.modules["tests.vm_impl"] = module
    from tests.vm_impl import vm_interface

    module.vm = vm_interface.vm
    # After each test, a fixture ends the threads of iterators that were left. Here they end with their iterators.
    from mindspore.dataset.engine import iterators

    iterators._cleanup = iterators._unset_iterator_cleanup = lambda: None
    # A file of tests imports one more, marks of effects, which one of its tests uses.
    from mindspore import common

    common._monad = sys.modules["mindspore.common._monad"] = types.SimpleNamespace(U=None, IO=None)


def _as_floats(a, dtype=numpy.float64):
    return numpy.asarray(a, dtype if numpy.issubdtype(dtype, numpy.inexact) else numpy.float64)


def _names_of_numpy_1():
    """The names that MindSpore's tests use of numpy 1, beside which MindSpore runs, and which numpy 2 has taken away."""
    for name, value in {
        "NINF": -numpy.inf, "PINF": numpy.inf, "Inf": numpy.inf, "NaN": numpy.nan, "complex_": numpy.complex128, "float_": numpy.float64,
        "unicode_": numpy.str_, "string_": numpy.bytes_, "in1d": numpy.isin, "product": numpy.prod,
        "asfarray": _as_floats,
    }.items():  # fmt: skip
        if not hasattr(numpy, name):
            setattr(numpy, name, value)


def _last_line(text):
    return (str(text).strip().splitlines() or [""])[-1][:300]


def main():
    results, seconds, which, *tests = sys.argv[1:]
    sys.path.pop(0)
    sys.path.insert(0, os.environ["TESTS_ROOT"])
    if which == "msjax":
        from msjax.alias import install_as_mindspore

        install_as_mindspore()
        _names_of_numpy_1()
        _make_way()
    root = os.environ["TESTS_ROOT"]
    # A test that is not found would end pytest at once: files are collected, and tests chosen among theirs.
    files = list(dict.fromkeys(os.path.join(root, test.partition("::")[0]) for test in tests))
    # numpy 1, beside which they were recorded, calls its bool_ so, too.
    wanted = {name for test in tests if "::" in test for name in (test, test.replace("bool_", "bool"))}
    without = [f"-pno:{plugin}" for plugin in ("cacheprovider", "pytest_msjax", "xdist")]
    options = ["-q", "--no-header", "-Wignore", "--continue-on-collection-errors", "--rootdir", root, *without]
    return pytest.main([*options, *files], plugins=[_Results(results, int(seconds), wanted)])


if __name__ == "__main__":
    raise SystemExit(main())
