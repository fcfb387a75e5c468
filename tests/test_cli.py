"""The command line: scripts and modules run with msjax under the name mindspore."""

import functools
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from msjax.cli import main

HOOKED = """
import numpy as np
import mindspore as ms
from mindspore import nn

ms.set_context(mode=ms.PYNATIVE_MODE)

def double(cell, inputs, output):
    return output + output

def show(cell, first, second):
    print(type(cell).__name__, first[0], second[0])

net = nn.ReLU()
net.register_forward_hook(double)
net.register_backward_hook(show)
print(ms.grad(net)(ms.Tensor(np.ones([1]).astype(np.float32))))
print(ms.get_context("mode"), ms.Tensor(3).dtype)
"""


def run(*arguments, cwd, input=None, **environment):
    """`python -m msjax` in a process of its own."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MSJAX_", "JAX_", "XLA_"))}
    command = [sys.executable, "-m", "msjax", *map(str, arguments)]
    # What the commands compile is kept with what tests compile.
    clean["MSJAX_COMPILE_CACHE"] = str(Path(__file__).parent.parent / ".jax_cache")
    return subprocess.run(command, cwd=cwd, env=clean | environment, input=input, capture_output=True, text=True, timeout=300)


@pytest.fixture
def quickly(forks):
    """The same in a fork of a process that has imported msjax, for what does not depend on how the process began."""
    return functools.partial(forks.command, MSJAX_COMPILE_CACHE=str(Path(__file__).parent.parent / ".jax_cache"))


@pytest.fixture
def write(tmp_path):
    def write(name, text) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.mark.parametrize(
    "dialect, cell, first, second",
    [
        # The node on the outputs stands before the forward hook, so that both gradients are within it.
        (None, "ReLU", "2.0", "2.0"),
        ("tutorial", "ReLU", "2.0", "2.0"),
        # It stands after the forward hook: what arrives there is the gradient of the result.
        ("mindspore-2.10", "ReLU", "2.0", "1.0"),
        # A text for the cell; the gradient that arrives comes first.
        ("mindspore-1", "str", "2.0", "2.0"),
    ],
)
def test_dialects(quickly, write, tmp_path, dialect, cell, first, second):
    script = write("hooked.py", HOOKED.replace("first[0], second[0]", "float(first[0]), float(second[0])"))
    result = quickly("run", *(("--dialect", dialect) if dialect else ()), script, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [f"{cell} {first} {second}", "[2.]", "1 Int64"]


@pytest.mark.long
def test_the_dialect_from_the_environment(write, tmp_path):
    script = write("dialect.py", "import mindspore as ms\nprint(ms.get_context('hook_dialect'))\n")
    assert run("run", script, cwd=tmp_path, MSJAX_HOOK_DIALECT="mindspore-1").stdout == "mindspore-1\n"
    failed = run("run", script, cwd=tmp_path, MSJAX_HOOK_DIALECT="pytorch")
    assert failed.returncode == 1
    assert "MSJAX_HOOK_DIALECT should be one of tutorial, mindspore-2.10, mindspore-1, but is 'pytorch'" in failed.stderr


def test_mode_stands_against_what_the_script_sets(quickly, write, tmp_path):
    script = write("mode.py", "import mindspore as ms\nms.set_context(mode=ms.PYNATIVE_MODE)\nprint(ms.get_context('mode'))\n")
    assert quickly("run", "--mode", "graph", script, cwd=tmp_path).stdout == "0\n"
    assert quickly("run", script, cwd=tmp_path).stdout == "1\n"


def test_numpy_prints_its_numbers_as_numpy_1_does(quickly, write, tmp_path):
    script = write("losses.py", "import numpy as np, mindspore\nprint([np.float32(2)], {'a': np.True_})\n")
    assert quickly("run", script, cwd=tmp_path).stdout == "[2.0] {'a': True}\n"


SHOW = """
    import sys, os
    import neighbour
    print(__name__, os.path.basename(__file__), neighbour.VALUE, *sys.argv[1:])
    print(sys.argv[0])
"""


def test_a_script_gets_its_arguments_and_its_folder(quickly, write, tmp_path):
    write("inner/neighbour.py", "VALUE = 7")
    write("inner/show.py", SHOW)
    result = quickly("run", "inner/show.py", "--mode", "x", "-h", cwd=tmp_path)
    assert result.stdout.splitlines() == ["__main__ show.py 7 --mode x -h", "inner/show.py"], result.stderr


def test_a_module_is_found_from_the_working_folder(quickly, write, tmp_path):
    write("neighbour.py", "VALUE = 8")
    write("package/__init__.py", "")
    path = write("package/show.py", SHOW)
    result = quickly("run", "-m", "package.show", "-m", "y", cwd=tmp_path)
    assert result.stdout.splitlines() == ["__main__ show.py 8 -m y", str(path)], result.stderr


AS_PYTHON = """
import sys, threading, time

for name in ("__name__", "__package__", "__cached__", "__file__", "__annotations__"):
    print(name, globals()[name])
print(sys.argv, sys.path[0], __spec__ and __spec__.name, type(__loader__).__name__, type(__builtins__).__name__)
number = 5

def later():
    threading.main_thread().join()
    import __main__
    print(number, __main__.number)

threading.Thread(target=later).start()
"""


@pytest.mark.long
def test_a_script_sees_what_it_sees_under_python(write, tmp_path):
    write("inner/show.py", AS_PYTHON)
    write("package/__main__.py", AS_PYTHON)
    (tmp_path / "link.py").symlink_to(tmp_path / "inner" / "show.py")
    for words in (["inner/../link.py", "a"], ["-", "a"], ["package"]):
        source = AS_PYTHON if words[0] == "-" else None
        there = subprocess.run([sys.executable, *words], cwd=tmp_path, input=source, capture_output=True, text=True, timeout=60)
        here = run("run", *words, cwd=tmp_path, input=source)
        assert here.stdout == there.stdout and here.stdout.endswith("5 5\n"), here.stderr


@pytest.mark.long
def test_code_from_the_command_line(tmp_path):
    code = "import sys; print(sys.argv, repr(sys.path[0]), __name__, sorted(globals())); import mindspore; 1 / 0"
    here = run("run", "-c", code, "-c", "--mode", cwd=tmp_path)
    there = subprocess.run(
        [sys.executable, "-c", code.replace("import mindspore", "mindspore = 3"), "-c", "--mode"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (here.stdout, here.returncode) == (there.stdout, there.returncode), here.stderr
    assert here.stderr.splitlines()[:2] == there.stderr.splitlines()[:2]


def test_a_traceback_begins_in_the_script(quickly, write, tmp_path):
    script = write(
        "broken.py",
        """
        from mindspore import Tensor, nn

        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.fc = nn.Dense(3, 2)

            def construct(self, x):
                return self.fc(x)

        Net()(Tensor([[1.0, 2.0]]))
        """,
    )
    result = quickly("run", script, cwd=tmp_path)
    # Above it stands the traceback of the cause, jax's error.
    lines = result.stderr.rpartition("Traceback (most recent call last):\n")[2].splitlines()
    assert result.returncode == 1 and result.stdout == ""
    assert lines[0] == f'  File "{script}", line 12, in <module>'
    assert "runpy" not in result.stderr and "cli.py" not in result.stderr
    assert lines[-1] == "in cell Net.fc (Dense)"


@pytest.mark.long
def test_an_interrupted_script_ends_as_under_python(write, tmp_path):
    # A process that was started in the background of a shell ignores the signal.
    text = "import os, signal; signal.signal(signal.SIGINT, signal.default_int_handler)\nos.kill(os.getpid(), signal.SIGINT)\n"
    script = write("interrupted.py", text)
    result = run("run", script, cwd=tmp_path)
    lines = result.stderr.splitlines()
    assert result.returncode == -signal.SIGINT and lines[0].startswith("Traceback") and lines[-1] == "KeyboardInterrupt"
    assert lines[1].startswith(f'  File "{script}", line 2, in <module>') and "cli.py" not in result.stderr


@pytest.mark.long
def test_how_a_script_ends_is_how_the_command_ends(quickly, write, tmp_path):
    assert quickly("run", write("leaves.py", "import sys\nsys.exit(7)"), cwd=tmp_path).returncode == 7
    result = quickly("run", write("says.py", "import sys\nsys.exit('over and out')"), cwd=tmp_path)
    assert result.returncode == 1 and result.stderr.count("over and out") == 1
    result = quickly("run", write("wrong.py", "x = = 1"), cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr.splitlines()[0].endswith('wrong.py", line 1') and "runpy" not in result.stderr


def test_missing_names_say_so(quickly, write, tmp_path):
    script = write(
        "missing.py",
        """
        import mindspore as ms

        for line in (
            "import mindspore.hub",
            "from mindspore import hub",
            "from mindspore import NoSuchThing",
            "from mindspore.nn import NoSuchThing",
            "from mindspore.nn.layer.conv import NoSuchThing",
            "ms.ops.no_such_op",
        ):
            try:
                exec(line)
            except (ImportError, AttributeError) as error:
                print(type(error).__name__, error)
        import mindspore.hub
        """,
    )
    result = quickly("run", script, cwd=tmp_path)
    assert result.stdout.splitlines() == [
        "ModuleNotFoundError msjax doesn't offer mindspore.hub.",
        "ImportError msjax doesn't offer mindspore.hub.",
        "ImportError msjax doesn't offer mindspore.NoSuchThing.",
        "ImportError msjax doesn't offer mindspore.nn.NoSuchThing.",
        "ImportError msjax doesn't offer mindspore.nn.layer.conv.NoSuchThing.",
        "AttributeError msjax doesn't offer mindspore.ops.no_such_op.",
    ]
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == "ModuleNotFoundError: msjax doesn't offer mindspore.hub."


def test_info(quickly, tmp_path):
    lines = quickly("info", cwd=tmp_path).stdout.splitlines()
    rows = {line[:13].strip(): line[14:] for line in lines}
    assert rows["mode"] == "pynative" and rows["hook dialect"] == "tutorial" and rows["64-bit types"].startswith("off")
    assert rows["devices"].startswith("cpu:0")
    assert rows["float32"].startswith("products default, convolutions default")
    assert {"msjax", "jax", "flax", "optax", "numpy", "python"} <= set(rows)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["run", "no_such_script.py"], "msjax run: error: there is no script 'no_such_script.py'"),
        (
            ["run", "--workers", "2", "-"],
            "msjax run: error: several processes can't read one program from standard input; write it to a file",
        ),
        (["demo", "--epochs", "0"], "msjax demo: error: the number of epochs should be at least 1, but is 0"),
        (["demo", "--seed", "-1"], "msjax demo: error: the seed should be from 0 to 2**32 - 1, but is -1"),
    ],
)
def test_what_cannot_be_done(arguments, message, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr().err.strip() == message


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "the following arguments are required: COMMAND"),
        (["run"], "the following arguments are required: SCRIPT, ARGS"),
        (["fly"], "invalid choice: 'fly'"),
        (["run", "--dialect", "pytorch", "x.py"], "argument --dialect: invalid choice: 'pytorch'"),
        (["run", "--mode", "eager", "x.py"], "argument --mode: invalid choice: 'eager'"),
        (["demo", "--epochs", "many"], "argument --epochs: invalid int value: 'many'"),
    ],
)
def test_wrong_command_lines(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_a_module_that_is_not_there(quickly, tmp_path):
    result = quickly("run", "-m", "no_such_module", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (2, "msjax run: error: No module named no_such_module\n")


POOL = """
import multiprocessing, subprocess, sys
import mindspore as ms

def work(x):
    return ms.get_context("mode"), ms.get_context("hook_dialect"), float((ms.Tensor(x) * 2).asnumpy())

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply_async(work, (3.0,)).get(timeout=120))
    code = "import mindspore.nn as nn, mindspore, msjax; print(mindspore is msjax, nn.Cell is msjax.nn.Cell, mindspore.Tensor(3).dtype)"
    print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120).stdout)
"""


@pytest.mark.long
def test_children_of_a_script_import_mindspore(write, tmp_path):
    done = run("run", "--dialect", "mindspore-1", "--mode", "graph", write("pool.py", POOL), cwd=tmp_path)
    assert done.stdout.splitlines()[:2] == ["(0, 'mindspore-1', 6.0)", "True True Int64"], done.stderr
