"""Text of Tensors in compiled code: printed, returned, logged, raised."""

import logging
import sys

import pytest

import msjax as ms
from msjax import nn
from tests.compile.calls import Calls, f32, in_graph_mode, warned

TEXTS = {
    "cut": lambda x: str(x)[:4],
    "padded": lambda x: "%10s|" % str(x),
    "padded tensor": lambda x: "%10s|" % x,
    "replaced": lambda x: str(x).replace(".", ","),
    "length": lambda x: str(len(str(x))),
    "joined": lambda x: "a" + str(x),
    "f-string": lambda x: f"{x}"[1:3],
    "format": lambda x: "{!s:>12}|".format(*[x]),
    "f-string padded": lambda x: f"{x!s:>12}|",
    "text of a list": lambda x: str([x, (x, 1)])[3:],
    "repr": lambda x: repr(x).lower(),
    "split": lambda x: f"{x} {x}".split(),
    "percent": lambda x: "%-8r." % (x,),
    "joined list": lambda x: ", ".join(map(str, [x, x])),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_of_tensors_returned_or_printed(name, capsys):
    def f(x):
        text = TEXTS[name](x)
        print("text:", text)
        print(TEXTS[name](x + 1), end="!\n")
        return text

    x = f32(1.5, 2)
    expected = f(x)
    printed = capsys.readouterr().out
    jitted = ms.jit(f)
    for _ in range(2):
        assert warned(jitted, x)[0] == expected and capsys.readouterr().out == printed
    out, messages = warned(in_graph_mode(Calls(lambda self, x: f(x))), x)
    assert out == expected and capsys.readouterr().out == printed and "text of a Tensor" in messages[0]


def test_text_that_goes_to_print_is_compiled(capsys):
    @ms.jit(fullgraph=True)
    def f(x, n):
        print(x, [x, n], (x,), {"x": x}, sep=" | ")
        print(f"{x} {n + 0.5:.2f} {x.sum():.1f}" + " and " + str(x) + repr(x), "%s%%, %5.1f %s" % (x, n, n))
        print("{} {!r:s} {:.2f}".format(*(x, n, x.sum())), flush=True)
        sys.stdout.write(f"{x}\n")
        print(*[x, n])
        return x

    x = f32(1, 2)
    f(x, 3)
    first = capsys.readouterr().out
    f(x, 3)
    assert capsys.readouterr().out == first
    inspect_plain = f.__wrapped__
    inspect_plain(x, 3)
    assert capsys.readouterr().out == first


def test_text_in_logs_and_messages(caplog, capsys):
    logger = logging.getLogger("msjax.test")

    @ms.jit
    def f(x):
        try:
            logger.warning("value %s", x)
            if x.shape != (1,):
                raise ValueError(f"bad {x}")
        except Exception as error:
            logger.warning("caught %s", error)
        return x

    for k in (1, 2):
        _, messages = warned(f, f32(k))
        assert len(messages) == (k == 1)
    warned(f, f32(1, 2))
    assert caplog.messages == ["value [1.]", "value [2.]", "value [1. 2.]", "caught bad [1. 2.]"]
    assert "Logging error" not in capsys.readouterr().err


def test_text_in_modifiers_and_files(capsys, tmp_path):
    net = nn.ReLU()
    said = []
    file = open(tmp_path / "log", "w")

    def modifier(cell, args, out):
        said.append(f"out {out}")
        print("to a file", out, file=file)
        return out * 2

    net.register_forward_hook(modifier)
    jitted = ms.jit(net)
    _, messages = warned(jitted, f32(1))
    warned(jitted, f32(2))
    file.close()
    assert said == ["out [1.]", "out [2.]"] and len(messages) == 1
    assert (tmp_path / "log").read_text() == "to a file [1.]\nto a file [2.]\n"


def test_a_print_that_python_has_specialized_is_compiled(capsys):
    def show(x):
        print(x)
        return x * 2

    for _ in range(40):
        show(ms.Tensor(1.0))
    capsys.readouterr()
    compiled = ms.jit(show)
    for value in (2.0, 3.0):
        compiled(ms.Tensor(value))
    assert capsys.readouterr().out == "2.0\n3.0\n" and compiled.compilations() == 1
