"""Descriptions of custom operators, as programs register them: what they say is kept, though only Python functions run here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from msjax.core.base.checks import check_kind, check_type, check_value

__all__ = [
    "AiCPURegOp", "CpuRegOp", "CustomRegOp", "DataType", "RegOp", "TBERegOp", "custom_info_register", "op_info_register",
]  # fmt: skip

_TYPES = {
    "BOOL": "bool", "I8": "int8", "U8": "uint8", "I16": "int16", "U16": "uint16", "I32": "int32", "U32": "uint32", "I64": "int64",
    "U64": "uint64", "F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16",
}  # fmt: skip
_LAYOUTS = {
    "None": "", "Default": "DefaultFormat", "5HD": "NC1HWC0", "FracZ": "FRACTAL_Z", "FracNZ": "FRACTAL_NZ",
    "C1HWNCoC0": "C1HWNCoC0", "NCHW": "NCHW", "NHWC": "NHWC", "HWCN": "HWCN", "NDHWC": "NDHWC", "ChannelLast": "ChannelLast",
    "Default_Tuple": "DefaultFormat", "Default_List": "DefaultFormat",
}  # fmt: skip
_VIDEO = {"NCDHW": "NCDHW", "NDC1HWC0": "NDC1HWC0"}
_BYTES = {**_VIDEO, "NC1HWC0": "NC1HWC0"}
_FLOATS = {
    **_VIDEO, "DHWCN": "DHWCN", "FRACTAL_Z_3D": "FRACTAL_Z_3D", "FracZNLSTM": "FRACTAL_ZN_LSTM", "FracZNRNN": "FRACTAL_ZN_RNN",
    "ND_RNNBIAS": "ND_RNN_BIAS",
}  # fmt: skip
_MORE = {"I8": _BYTES, "U8": _BYTES, "I32": _VIDEO, "F16": _FLOATS, "F32": _FLOATS, "BF16": _FLOATS}


class DataType:
    """Pairs of a data type and a layout, such as ``DataType.F32_Default``, which is ("float32", "DefaultFormat")."""

    None_None: tuple[str, str] = ("", "")
    None_Default: tuple[str, str] = ("", "DefaultFormat")


for _short, _type in _TYPES.items():
    for _name, _layout in {**_LAYOUTS, **_MORE.get(_short, {})}.items():
        setattr(DataType, f"{_short}_{_name}", (_type, _layout))
for _short, _type in (("C64", "complex64"), ("C128", "complex128")):
    for _name in ("Default", "Default_Tuple"):
        setattr(DataType, f"{_short}_{_name}", (_type, "DefaultFormat"))


class RegOp:
    """Base of the descriptions of operators. Each method adds to the description and returns it.

    Args:
        op_name (str): the operator's name.

    Raises:
        ValueError: it is no str.

    Example:
        >>> from msjax import ops
        >>> D = ops.DataType
        >>> info = ops.CustomRegOp("twice").input(0, "x").output(0, "y").dtype_format(D.F32_Default, D.F32_Default)
        >>> info.target("CPU").get_op_info()["outputs"]
        [{'index': 0, 'name': 'y', 'paramType': 'required'}]
    """

    _kind: str | None = None
    _tensor_keys: tuple[tuple[str, type], ...] = (("index", int), ("name", str), ("paramType", str))
    _attr_keys: tuple[str, ...] = ("name", "type", "value")

    def __init__(self, op_name: str = ""):
        check_value(op_name, isinstance(op_name, str), "be a str", "op_name", type(self).__name__)
        self.op_name = op_name
        self.inputs: list[dict[str, Any]] = []
        self.outputs: list[dict[str, Any]] = []
        self.attr_: list[dict[str, Any]] = []
        self.fusion_type_ = ""
        self.dtype_format_: list[tuple[tuple[str, ...], ...]] = []
        self._more: dict[str, Any] = {} if self._kind is None else {"imply_type": self._kind}

    def _entry(self, keys, values, more) -> dict[str, Any]:
        entry = {}
        for (key, kind), value in zip(keys, values):
            if value is not None:
                self._check(value, kind, key)
                entry[key] = value
        return entry | more

    def _check(self, value, kind, name):
        fits = isinstance(value, kind) and (kind is not int or not isinstance(value, bool))
        check_kind(value, fits, f"be of type {kind.__name__}", name, type(self).__name__)

    def input(self, index: int | None = None, name: str | None = None, param_type: str | None = None, **kwargs: Any) -> Self:
        """Describe an input."""
        self.inputs.append(self._entry(self._tensor_keys, (index, name, param_type), kwargs))
        return self

    def output(self, index: int | None = None, name: str | None = None, param_type: str | None = None, **kwargs: Any) -> Self:
        """Describe an output."""
        self.outputs.append(self._entry(self._tensor_keys, (index, name, param_type), kwargs))
        return self

    def attr(self, *values: str | None, **kwargs: Any) -> Self:
        """Describe an attribute, by its name, its type and what else this kind of description has."""
        self.attr_.append(self._entry([(key, str) for key in self._attr_keys], values, kwargs))
        return self

    def dtype_format(self, *args: tuple[str, ...]) -> Self:
        """Allow one combination of data types and layouts, a `DataType` for each input and output.

        Raises:
            ValueError: there are not as many as inputs and outputs.
        """
        if len(args) != len(self.inputs) + len(self.outputs):
            raise ValueError(
                f"For '{type(self).__name__}', 'dtype_format' should have one for each of the {len(self.inputs)} inputs and "
                f"{len(self.outputs)} outputs, but got {len(args)}."
            )
        for each in args:
            self._check(each, tuple, "dtype_format")
        self.dtype_format_.append(args)
        return self

    def fusion_type(self, fusion_type: str) -> Self:
        """Say how the operator may be fused."""
        self._check(fusion_type, str, "fusion_type")
        self.fusion_type_ = fusion_type
        return self

    def get_op_info(self) -> dict[str, Any]:
        """The description as a dict."""
        info = {"op_name": self.op_name, "inputs": self.inputs, "outputs": self.outputs, "attr": self.attr_}
        return info | {"fusion_type": self.fusion_type_, "dtype_format": self.dtype_format_} | self._more


class CpuRegOp(RegOp):
    """The description of an operator for CPUs; see `RegOp`."""

    _kind = "CPU"


class AiCPURegOp(CpuRegOp):
    """The description of an operator for the CPUs of an accelerator; see `RegOp`."""

    _kind = "AiCPU"


class CustomRegOp(RegOp):
    """The description of an `ops.Custom`; see `RegOp`."""

    _attr_keys = ("name", "paramType", "type", "defaultValue")

    def __init__(self, op_name: str = "Custom"):
        super().__init__(op_name)
        self._more = {"target": "UnKnown"}

    def input(
        self, index: int | None = None, name: str | None = None, param_type: str | None = "required", **kwargs: Any
    ) -> Self:
        """Describe an input."""
        return super().input(index, name, param_type, **kwargs)

    def output(
        self, index: int | None = None, name: str | None = None, param_type: str | None = "required", **kwargs: Any
    ) -> Self:
        """Describe an output."""
        return super().output(index, name, param_type, **kwargs)

    def attr(
        self, name: str | None = None, param_type: str | None = None, value_type: str | None = None,
        default_value: str | None = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Describe an attribute."""
        return super().attr(name, param_type, value_type, default_value, **kwargs)

    def target(self, target: str | None = None) -> Self:
        """Say on which devices it runs: "CPU", "GPU" or "Ascend"."""
        if target is not None:
            self._check(target, str, "target")
            self._more["target"] = target
        return self


class TBERegOp(RegOp):
    """The description of an operator of Ascend; see `RegOp`. What is set beyond that is a method of the same name as in MindSpore."""

    _attr_keys = ("name", "paramType", "type", "value", "defaultValue")
    # The method, the key of the description, the value before, and what it may be.
    _settings = {
        "async_flag": ("async_flag", False, bool), "binfile_name": ("binfile", "", str), "compute_cost": ("compute_cost", 10, int),
        "kernel_name": ("kernel", "", str), "partial_flag": ("partial_flag", False, bool), "reshape_type": ("reshape_type", "", str),
        "dynamic_rank_support": ("dynamicRankSupport", False, bool), "dynamic_shape": ("dynamicShapeSupport", False, bool),
        "dynamic_compile_static": ("dynamicCompileStatic", False, bool), "need_check_supported": ("needCheckSupport", False, bool),
        "is_dynamic_format": ("dynamicFormat", False, bool), "op_pattern": ("op_pattern", "", str),
        "real_input_index": ("real_input_index", [], list), "input_to_attr_index": ("input_to_attr_index", [], list),
        "unknown_shape_formats": ("unknown_shape_formats", [], list),
    }  # fmt: skip

    def __init__(self, op_name: str = ""):
        super().__init__(op_name)
        self._more = {"imply_type": "TBE", **{key: value for key, value, _ in self._settings.values()}}

    def __getattr__(self, name: str) -> Callable[[Any], Self]:
        if name not in type(self)._settings:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")
        key, _, kind = type(self)._settings[name]

        def store(value: Any) -> Self:
            self._check(value, kind, name)
            self._more[key] = value
            return self

        return store

    def _tensor(self, values, key_of_compile, more):
        keys = (("index", int), ("name", str), (key_of_compile, bool), ("paramType", str), ("shape", str), ("valueDepend", str))
        return self._entry(keys, values, more)

    def input(
        self, index: int | None = None, name: str | None = None, need_compile: bool | None = None, param_type: str | None = None,
        shape: str | None = None, value_depend: str | None = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Describe an input."""
        self.inputs.append(self._tensor((index, name, need_compile, param_type, shape, value_depend), "needCompile", kwargs))
        return self

    def output(
        self, index: int | None = None, name: str | None = None, need_compile: bool | None = None, param_type: str | None = None,
        shape: str | None = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Describe an output."""
        self.outputs.append(self._tensor((index, name, need_compile, param_type, shape), "need_compile", kwargs))
        return self


def custom_info_register(*reg_info: dict[str, Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that gives a function for `ops.Custom` its descriptions, as its attribute ``reg_info``."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        function.reg_info = reg_info
        return function

    return register


def op_info_register(op_info: dict[str, Any] | str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that registers the description of an operator that the function implements; the function stays as it is.

    Raises:
        TypeError: the description is no dict or str.
    """
    check_type(op_info, (dict, str), "op_info", "op_info_register")
    return lambda function: function
