"""Operators of MindSpore that run on Ascend only, or on a parameter server: programs import their names, and seldom use them."""

from __future__ import annotations

from msjax.core.base.lazy import on_first_use

__all__: list[str] = []

_INFERENCE = (
    "it is an operator of Ascend's inference. Write it with other operators, or lift a function of jax arrays with ms.from_jax."
)
_QUANTIZED = "there are no quantized operators here. Lift a function of jax arrays with ms.from_jax."
_OPTIMIZER = "the optimizers of nn compute a step as one program, too."
_DESCRIPTION = "it describes a kernel for MindSpore's devices. ops.Custom runs Python functions, which need no description."
_SERVER = "there are no parameter servers here; processes train together in data parallelism."

# {pattern: what to do without it}, for `base.lazy.on_first_use`.
NOT_OFFERED: dict[str, str] = {
    "NPU*FloatStatus*": "only Ascend notes overflow while it computes. ops.FloatStatus() and nn.TrainOneStepWithLossScaleCell read the gradients.",
    **dict.fromkeys(
        (
            "PagedAttention*", "PromptFlashAttention", "IncreFlashAttention", "ReshapeAndCache", "KVCacheScatterUpdate", "Moe*",
            "GroupTopk", "FusedAddTopKDiv", "TopKRouter", "GenerateEodMaskV2", "ApplyRotaryPosEmb", "PromptKVCache", "DecoderKVCache",
            "MatmulDDS", "DSDMatmul",
        ),
        _INFERENCE,
    ),
    **dict.fromkeys(("*QuantBatchMatmul", "GroupedMatmul*", "DynamicQuantExt", "FakeQuant*", "MinMaxUpdate*", "Quant", "Dequant"), _QUANTIZED),
    **dict.fromkeys(("FusedWeightScaleApplyMomentum", "FusedCastAdamWeightDecay", "FusedSparse*", "AdamNoUpdateParam"), _OPTIMIZER),
    **dict.fromkeys(("*RegOp", "DataType", "custom_info_register", "op_info_register"), _DESCRIPTION),
    **dict.fromkeys(("Push", "Pull"), _SERVER),
    "DynamicGRUV2": "use nn.GRU, whose weights are PyTorch's.",
    "LSTM": "use nn.LSTM, which has a Parameter for each weight.",
    "CustomOpBuilder": "it compiles operators in C++. A Pallas kernel can be lifted with ms.from_jax.",
    "GetNext": "data sinking feeds batches to a program; iterate over the Dataset.",
    **dict.fromkeys(("AlltoAllV", "MoveTo", "Morph", "_VirtualDataset"), "functionalize the network and give its parameters jax shardings."),
    **dict.fromkeys(("PSROIPooling", "PsROIPooling", "DeformableOffsets"), "write it with ops.grid_sample, or lift a function of jax arrays with ms.from_jax."),
}  # fmt: skip

# For MindSpore's files of which no name is offered.
__getattr__, __dir__ = on_first_use(__name__, NOT_OFFERED, door="msjax.ops")
