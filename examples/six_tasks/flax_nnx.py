"""What flax nnx itself offers for the six tasks: `nnx.capture`, with the model as it is."""

from flax import nnx
from jax_models import TOKENS, Model


def read(model, tokens):
    found = nnx.capture(model, nnx.Intermediate, method_outputs=nnx.Intermediate)(tokens)[1]
    return [block["__call__"] for block in found["blocks"].values()]


gradients = ablate = pattern = sweep = train = None  # the model has to be edited: `self.sow`, `self.perturb`, or code of its own


if __name__ == "__main__":
    print([out[0].shape for out in read(Model(nnx.Rngs(0)), TOKENS)])
