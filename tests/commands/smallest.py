"""The commands of tests/ and of the pages, and what runs each of them in its smallest form."""

import contextlib
import dataclasses
import io
import runpy
import sys


@dataclasses.dataclass(frozen=True)
class Command:
    """A module that is run by `python -m`.

    Attributes:
        words: the arguments of its smallest form.
        prints: what the output has in it, if all is well.
        suite: whether it takes a second or two, and runs as a test; the others run by `python -m tests.commands`, in `.ci/run`.
        ends: its exit statuses: for some, how the figures are says which.
    """

    words: str
    prints: str
    suite: bool = False
    ends: tuple[int | None, ...] = (None, 0)


COMMANDS = {
    "tests.bench": Command("--quick --rows /", "the same losses"),  # a slash: all rows of steps
    "tests.bench.first_capture": Command("--repeat 1 --layers 1", "captured"),
    "tests.bench.growth": Command("--quick --only parameters", "exponent"),
    "tests.bench.kernels": Command("--batches 1 --networks lenet --repeat 1", "of them take more than", ends=(0, 1)),
    "tests.bench.lenet_backward": Command("", "Set MSJAX_BENCH_TORCH", suite=True),
    "tests.bench.many_programs": Command("--programs 8 --kept 4", "8  ", suite=True),
    "tests.bench.nnx_hooks": Command("--repeat 1 --layers 1", "the observers removed"),
    "tests.bench.pipelines": Command("--rows 64", "rows/s"),
    "tests.differential": Command("--cases 1 --ways graph", "1 cases, 0 differ", suite=True),
    "tests.engine": Command("--owners cell --ways jit_forward --kinds forward", "1 of 1 equal"),
    "tests.kernels": Command("--cases 1 --rows ops.logaddexp(x,", "'same': 1", suite=True),
    "tests.kernels.record": Command("--help", "a Python that has PyTorch", suite=True),
    "tests.libraries": Command("--sources nowhere --only nothing", "", suite=True),
    "tests.page.browser": Command("--quick", "pages"),
    "tests.mindspore_tests": Command("--help", "a checkout of MindSpore's test repository", suite=True),
    "tests.mixtures": Command("--cases 1 --ways 1", "1 cases, 0 differ", suite=True),
    "tests.mixtures.soak": Command("--minutes 0.05", "rounds; after the warm-up", ends=(None, 0, 1)),
    "tests.programs.attacks": Command("--list --quick", "replaced", suite=True),
}
# What runs by itself elsewhere.
ELSEWHERE = {
    "tests.accelerators": ".ci/run, with the compilers",
    "tests.commands": ".ci/run",
    "tests.wings": "tests/wings/test_wings.py, of which it is the whole",
    "msjax": "tests/test_cli.py",
    "zensical": "not used yet",
    "pip": "not ours",
    "venv": "not ours",
}


def run(name: str) -> str:
    """What a command prints in its smallest form, run in this process.

    Raises:
        AssertionError: it ends in another way, or does not print what it should.
    """
    command, printed, ended = COMMANDS[name], io.StringIO(), None
    before, sys.argv = sys.argv, [name, *command.words.split()]
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_module(name, run_name="__main__", alter_sys=True)
    except SystemExit as error:
        ended = error.code
    finally:
        sys.argv = before
    text = printed.getvalue() + (ended if isinstance(ended, str) else "")
    assert isinstance(ended, str) or ended in command.ends, f"{name} ends with {ended}:\n{text}"
    assert command.prints in text, f"{name} does not print {command.prints!r}:\n{text}"
    return text
