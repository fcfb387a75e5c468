"""``mindspore.train.train_thor``: names that programs import beside other optimizers, and may never use."""

from msjax.core.base.lazy import on_first_use

_SENTENCE = "msjax has no second-order optimizer; nn.Lamb and nn.AdamWeightDecay are first-order ones for the same networks."

__getattr__, __dir__ = on_first_use(__name__, dict.fromkeys(("ConvertModelUtils", "ConvertNetUtils", "ModelThor"), _SENTENCE))
