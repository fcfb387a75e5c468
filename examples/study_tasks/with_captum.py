"""With Captum 0.9.0."""

import gpt2
from captum.attr import LayerIntegratedGradients

setup = gpt2.setup


def integrated(model, tokens, encoder, decoder):
    found = LayerIntegratedGradients(lambda tokens: model(tokens).logits[:, -1, 3], model.transformer.wte)
    return found.attribute(tokens, 0 * tokens, n_steps=50, return_convergence_delta=True)[0]
