"""With Captum 0.9.0."""

import gpt2
import torch
from captum.attr import GradientShap, LayerConductance, LayerIntegratedGradients, NoiseTunnel, Occlusion, Saliency

setup = gpt2.setup


def integrated(model, tokens, encoder, decoder):
    found = LayerIntegratedGradients(lambda tokens: model(tokens).logits[:, -1, 3], model.transformer.wte)
    return found.attribute(tokens, 0 * tokens, n_steps=50, return_convergence_delta=True)[0]


def of_embeddings(model):
    return lambda embeddings: model(inputs_embeds=embeddings).logits[:, -1, 3]


def occlusion(model, tokens, encoder, decoder):
    return Occlusion(of_embeddings(model)).attribute(model.transformer.wte(tokens).detach(), (1, 64))


def conductance(model, tokens, encoder, decoder):
    found = LayerConductance(of_embeddings(model), model.transformer.h[1])
    return found.attribute(model.transformer.wte(tokens).detach(), n_steps=50)


def shap(model, tokens, encoder, decoder):
    given = model.transformer.wte(tokens).detach()
    return GradientShap(of_embeddings(model)).attribute(given, torch.zeros(1, 16, 64), n_samples=32)


def smoothed(model, tokens, encoder, decoder):
    given = model.transformer.wte(tokens).detach()
    return NoiseTunnel(Saliency(of_embeddings(model))).attribute(given, nt_samples=16, stdevs=0.1, abs=False)
