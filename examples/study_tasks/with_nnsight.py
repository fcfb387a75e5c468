"""With nnsight 0.8.1."""

import tempfile

import gpt2
import nnsight
import numpy as np
import torch


def setup():
    torch.set_grad_enabled(False)
    model, given = gpt2.setup()
    return nnsight.NNsight(model), given


def heads(model, tokens, encoder, decoder):
    with model.trace(tokens):
        z = nnsight.save([block.attn.c_proj.input for block in model.transformer.h])
        last = model.transformer.ln_f.input.save()
    scale = last.var(-1, unbiased=False, keepdim=True).add(1e-5).sqrt()
    kernels = [block.attn.c_proj.weight.reshape(4, 16, 64) for block in model.transformer.h]
    parts = torch.cat([torch.einsum("bthe,hed->hbtd", each.unflatten(-1, (4, 16)), kernel) for each, kernel in zip(z, kernels)])
    return (parts - parts.mean(-1, keepdim=True)) / scale @ model.lm_head.weight.T


def lens(model, tokens, encoder, decoder):
    with model.trace(tokens):
        first = model.transformer.h[0].input.save()
        stack = nnsight.save([block.output for block in model.transformer.h])
    each = [first, *(v[0] if isinstance(v, tuple) else v for v in stack)]
    return torch.stack([model.lm_head._module(model.transformer.ln_f._module(v)) for v in each])


def ablate(model, tokens, encoder, decoder):
    with model.trace(tokens):
        z = model.transformer.h[1].attn.c_proj.input
        z[..., 32:48] = z[..., 32:48].mean((0, 1))
        logits = model.output.logits.save()
    return logits


def splice(model, tokens, encoder, decoder):
    with model.trace(tokens):
        value = model.transformer.h[2].input
        features = torch.relu(value @ encoder)
        steered = features.clone()
        steered[..., 5] = 2
        model.transformer.h[2].input = value + (steered - features) @ decoder
        logits = model.output.logits.save()
    return logits


def collect(model, tokens, encoder, decoder):
    with tempfile.TemporaryDirectory() as folder:
        for number, batch in enumerate(gpt2.batches(tokens)):
            with model.trace(batch):
                value = model.transformer.h[2].input.save()
            np.save(f"{folder}/{number}.npy", value.reshape(-1, 64).numpy())
        return np.concatenate([np.load(f"{folder}/{number}.npy") for number in range(8)])
