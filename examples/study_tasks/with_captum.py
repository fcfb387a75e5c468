"""With Captum 0.9.0."""

import functools
import tempfile

import gpt2
import numpy as np
import torch
from captum.attr import (
    GradientShap,
    LayerActivation,
    LayerConductance,
    LayerFeatureAblation,
    LayerGradientXActivation,
    LayerIntegratedGradients,
    NoiseTunnel,
    Occlusion,
    Saliency,
)
from weights import relu

setup = gpt2.setup
# What says which number is meant, or brings values into one form, is none of a task's lines.
SHARED = ("number", "of_embeddings")
NO = {
    "steer": "no edits of values",
    "ablate": "numbers of ablated runs alone, no logits",
    "splice": "no edits of values",
    "transcoder": "no edits of values",
    "transplant": "no edits of values",
    "tune": "no lenses",
    "direct": "no residual stream",
    "paths": "no paths",
    "edges": "no paths",
    "edges_integrated": "no paths",
    "circuit": "no paths",
    "faithfulness": "no paths",
    "probe": "no probes",
    "monitor": "not for training",
    "features": "no transcoders",
}


def number(model):
    return lambda tokens: model(tokens).logits[:, -1, 3]


def cache(model, tokens, encoder, decoder):
    return LayerActivation(number(model), list(model.transformer.h)).attribute(tokens)


def parts(model, tokens, encoder, decoder):
    inner = model.transformer
    layers = [inner.wte, inner.wpe, *(each for block in inner.h for each in (block.attn.c_proj, block.mlp))]
    return torch.stack(torch.broadcast_tensors(*LayerActivation(number(model), layers).attribute(tokens)))


def patterns(model, tokens, encoder, decoder):
    found = LayerActivation(number(model), [block.attn for block in model.transformer.h]).attribute(tokens)
    return [weights for _, weights in found]


def sweep(model, tokens, encoder, decoder):
    first, positions, found = lambda tokens: model(tokens).logits[:1, -1, 3].sum(), torch.arange(16)[None, :, None], []
    layers = [model.transformer.drop, *model.transformer.h[:3]]
    with torch.no_grad():
        for layer, value in zip(layers, LayerActivation(first, layers).attribute(tokens)):
            fall = LayerFeatureAblation(first, layer).attribute(tokens.flip(0), layer_baselines=value, layer_mask=positions)
            found.append(first(tokens.flip(0)) - fall[0, :, 0])
    return found


def attribute(model, tokens, encoder, decoder):
    return LayerGradientXActivation(number(model), list(model.transformer.h)).attribute(tokens)


def gradients(model, tokens, encoder, decoder):
    found = LayerGradientXActivation(number(model), list(model.transformer.h), multiply_by_inputs=False)
    return found.attribute(tokens)


def compiled(model, tokens, encoder, decoder):
    return LayerActivation(number(compiling(model)), list(model.transformer.h)).attribute(tokens)


@functools.cache
def compiling(model):
    return torch.compile(model)


def heads(model, tokens, encoder, decoder):
    blocks = model.transformer.h
    z = LayerActivation(number(model), [block.attn.c_proj for block in blocks]).attribute(tokens, attribute_to_layer_input=True)
    last = LayerActivation(number(model), model.transformer.ln_f).attribute(tokens, attribute_to_layer_input=True)
    scale = last.var(-1, unbiased=False, keepdim=True).add(1e-5).sqrt()
    kernels = [block.attn.c_proj.weight.reshape(4, 16, 64) for block in blocks]
    parts = torch.cat([torch.einsum("bthe,hed->hbtd", each.unflatten(-1, (4, 16)), kernel) for each, kernel in zip(z, kernels)])
    return (parts - parts.mean(-1, keepdim=True)) / scale @ model.lm_head.weight.T


def lens(model, tokens, encoder, decoder):
    layers = [model.transformer.drop, *model.transformer.h]
    values = LayerActivation(number(model), layers).attribute(tokens)
    return torch.stack([model.lm_head(model.transformer.ln_f(each)) for each in values])


def integrated(model, tokens, encoder, decoder):
    found = LayerIntegratedGradients(number(model), model.transformer.wte)
    return found.attribute(tokens, 0 * tokens, n_steps=50, return_convergence_delta=True)[0]


def collect(model, tokens, encoder, decoder):
    found = LayerActivation(number(model), model.transformer.h[1])
    with tempfile.TemporaryDirectory() as folder:
        for i, batch in enumerate(gpt2.batches(tokens)):
            np.save(f"{folder}/{i}.npy", found.attribute(batch).reshape(-1, 64).detach().numpy())
        return np.concatenate([np.load(f"{folder}/{i}.npy") for i in range(8)])


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


def gaps(model, tokens, encoder, decoder):
    """How far conductances are from adding up to the change of the number: of this model, and of a network with a ReLU."""
    first, second, third, x = map(torch.tensor, relu())
    net = torch.nn.Sequential(torch.nn.Linear(6, 16, False), torch.nn.Tanh(), torch.nn.Linear(16, 16, False), torch.nn.ReLU())
    net.append(torch.nn.Linear(16, 1, False))
    net.load_state_dict({"0.weight": first.T, "2.weight": second.T, "4.weight": third.T})

    def gap(number, layer, x):
        found = LayerConductance(number, layer).attribute(x, n_steps=50)
        return (found.reshape(len(x), -1).sum(1) - number(x) + number(0 * x)).abs().max()

    of_model = gap(of_embeddings(model), model.transformer.h[1], model.transformer.wte(tokens).detach())
    return [of_model, gap(lambda x: net(x)[:, 0], net[1], x)]
