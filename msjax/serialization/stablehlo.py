"""``ms.export`` and ``ms.load``: a network's program in a file, as StableHLO.

MindSpore's own files (MindIR, ONNX, AIR) hold graphs of MindSpore's operators, which only MindSpore runs. Here, the file holds what
jax.export writes: the program in StableHLO, for which jax promises compatibility, with the Parameters inside.
"""

from __future__ import annotations

import os
import zlib
from typing import Any

import jax

from msjax.common.tensor import Tensor, wrap
from msjax.core.base.checks import check_kind, check_options, check_value
from msjax.core.base.whole_files import whole_file
from msjax.functional.functionalize import functionalize
from msjax.nn.cell.base import Cell
from msjax.serialization.formats import no_encryption

__all__ = ["export", "load"]

_MARK = b"msjax_crc"  # ends a file, before a checksum; what reads programs takes no notice of it
_ENDINGS = {"MINDIR": ".mindir", "STABLEHLO": ".stablehlo"}


# MindSpore's settings of both, besides encryption.
_EXPORT = ("file_name", "file_format", "enc_key", "enc_mode", "dataset", "incremental", "custom_func", "obf_func", "obf_config")
_LOAD = ("file_name", "dec_key", "dec_mode", "obf_func")


def export(net: Any, *inputs: Any, file_name: str, file_format: str = "MINDIR", **kwargs: Any) -> None:
    """Write a network's program for certain shapes into a file, with its Parameters. `load` reads it.

    The file holds StableHLO for CPUs, NVIDIA's GPUs and TPUs, less those for which one of its operators has no program, whatever the
    ending; only programs that use jax can read it.

    Args:
        net (Cell or function): the network; the Parameters that a function uses are constants.
        inputs (Tensor): what it is called with; values don't matter, shapes and dtypes do.
        file_name (str): the file; the ending ".mindir" or ".stablehlo" is added.
        file_format (str): "MINDIR" or "STABLEHLO": the ending. Default: "MINDIR".
        **kwargs: MindSpore's other settings, without effect.

    Raises:
        ValueError: another format, such as "ONNX".
        TypeError: an input is not a Tensor, or there is no such setting.
        NotImplementedError: `enc_key` is given.
        ImportError: the package flatbuffers is missing.

    Example:
        >>> import tempfile
        >>> from msjax import Tensor, export, load, nn
        >>> x = Tensor([[1.0, -1.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     export(nn.ReLU(), x, file_name=f"{folder}/relu")
        ...     print(nn.GraphCell(load(f"{folder}/relu.mindir"))(x))
        [[1. 0.]]
    """
    check_options(kwargs, _EXPORT, "export", what="setting")
    no_encryption(kwargs.get("enc_key"), "enc_key", "export")
    check_value(file_format, file_format in _ENDINGS, f"be one of {', '.join(_ENDINGS)}", "file_format", "export")
    for value in inputs:
        check_kind(value, isinstance(value, Tensor), "be Tensors", "the inputs", "export")
    _check_flatbuffers("export")
    apply, params, buffers = functionalize(net if isinstance(net, Cell) or not callable(net) else _OfFunction(net))

    def program(*values):
        return apply(params, buffers, *values)[0]

    shapes = [jax.ShapeDtypeStruct(value.shape, value._value.dtype) for value in inputs]
    exported = _exported(jax.jit(program), shapes)
    ending = _ENDINGS[file_format]
    with whole_file(os.fspath(file_name).removesuffix(ending) + ending) as file:
        data = exported.serialize()
        file.write(data + _MARK + zlib.crc32(data).to_bytes(4, "big"))


class _OfFunction(Cell):
    """A cell that calls a function."""

    def __init__(self, function):
        super().__init__()
        self._function = function

    def construct(self, *inputs):
        return self._function(*inputs)


def _exported(program, shapes):
    """For as many platforms as have a program of it."""
    errors = []
    for platforms in (("cpu", "cuda", "tpu"), ("cpu", "cuda"), ("cpu",)):
        try:
            return jax.export.export(program, platforms=platforms)(*shapes)
        except (NotImplementedError, ValueError) as error:  # an operator without a program there, or one that can't be written
            errors.append(error)
    raise errors[-1]


class Graph:
    """A program that `load` has read. ``nn.GraphCell(graph)`` is callable.

    Attributes:
        exported: jax's object, a jax.export.Exported.
    """

    def __init__(self, exported: Any):
        self.exported = exported

    def __call__(self, *inputs: Any) -> Any:
        out = self.exported.call(*[value._value if isinstance(value, Tensor) else value for value in inputs])
        return jax.tree.map(wrap, out)

    def __repr__(self) -> str:
        return f"Graph({', '.join(map(str, self.exported.in_avals))}) -> ({', '.join(map(str, self.exported.out_avals))})"


def load(file_name: str, **kwargs: Any) -> Graph:
    """Read a program that `export` has written.

    Args:
        file_name (str): the file.
        **kwargs: MindSpore's other settings, without effect.

    Returns:
        Graph, for `nn.GraphCell`.

    Raises:
        FileNotFoundError: there is no such file.
        TypeError: there is no such setting.
        NotImplementedError: `dec_key` is given.
        ValueError: the file holds something else, such as a MindIR file that MindSpore has written.
        ImportError: the package flatbuffers is missing.
    """
    check_options(kwargs, _LOAD, "load", what="setting")
    no_encryption(kwargs.get("dec_key"), "dec_key", "load")
    _check_flatbuffers("load")
    with open(file_name, "rb") as file:
        data = file.read()
    if data[-4 - len(_MARK) : -4] == _MARK and zlib.crc32(data[: -4 - len(_MARK)]) != int.from_bytes(data[-4:], "big"):
        raise ValueError(f"For 'load', {file_name!r} is damaged: its checksum is another one.")
    try:
        return Graph(jax.export.deserialize(bytearray(data)))
    except Exception as error:
        raise ValueError(
            f"For 'load', {file_name!r} should be a file that msjax's export has written (StableHLO); MindSpore's own MindIR files can't "
            "be read."
        ) from error


def _check_flatbuffers(who):
    try:
        import flatbuffers  # noqa: F401 - jax.export needs it
    except ImportError as error:
        raise ImportError(
            f"For '{who}', jax needs the package flatbuffers to write and read programs: pip install 'msjax[export]'.",
            name="flatbuffers",
        ) from error
