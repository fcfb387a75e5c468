"""With nnsight 0.8.1."""

import functools
import tempfile

import gpt2
import nnsight
import numpy as np
import torch

NO = {
    "integrated": "attributions by hand",
    "occlusion": "attributions by hand",
    "conductance": "attributions by hand",
    "shap": "attributions by hand",
    "smoothed": "attributions by hand",
    "edges": "paths by hand",
    "edges_integrated": "paths by hand",
    "paths": "paths by hand",
    "circuit": "circuits by hand",
    "faithfulness": "circuits by hand",
    "probe": "no probes",
    "features": "no graphs of features",
}


def setup():
    torch.set_grad_enabled(False)
    model, given = gpt2.setup()
    return nnsight.NNsight(model), given


def cache(model, tokens, encoder, decoder):
    with model.trace(tokens):
        found = nnsight.save([block.output for block in model.transformer.h])
    return found


def parts(model, tokens, encoder, decoder):
    inner = model.transformer
    with model.trace(tokens):
        found = [inner.wte.output, inner.wpe.output]
        for block in inner.h:
            found += [block.attn.output[0], block.mlp.output]
        stack = torch.stack(torch.broadcast_tensors(*found)).save()
    return stack


def patterns(model, tokens, encoder, decoder):
    with model.trace(tokens):
        found = nnsight.save([block.attn.output[1] for block in model.transformer.h])
    return found


def steer(model, tokens, encoder, decoder):
    with model.trace(tokens):
        model.transformer.h[1].output = model.transformer.h[1].output + decoder[0]
        logits = model.output.logits.save()
    return logits


def sweep(model, tokens, encoder, decoder):
    with model.trace(tokens):
        clean = nnsight.save([block.input for block in model.transformer.h])
    found = []
    for layer, block in enumerate(model.transformer.h):
        for position in range(16):
            with model.trace(tokens.flip(0)):
                block.input[:, position] = clean[layer][:, position]
                number = model.output.logits[0, -1, 3].save()
            found.append(number)
    return torch.stack(found).reshape(4, 16)


def attribute(model, tokens, encoder, decoder):
    with torch.enable_grad(), model.trace(tokens):
        values = [block.output for block in model.transformer.h]
        with model.output.logits[:, -1, 3].sum().backward():
            found = nnsight.save([value * value.grad for value in reversed(values)])
    return found[::-1]


def gradients(model, tokens, encoder, decoder):
    with torch.enable_grad(), model.trace(tokens):
        values = [block.output for block in model.transformer.h]
        with model.output.logits[:, -1, 3].sum().backward():
            found = nnsight.save([value.grad for value in reversed(values)])
    return found[::-1]


def compiled(model, tokens, encoder, decoder):
    with compiling(model).trace(tokens):
        found = nnsight.save([block.output for block in compiling(model).transformer.h])
    return found


@functools.cache
def compiling(model):
    return nnsight.NNsight(torch.compile(model._module))


def heads(model, tokens, encoder, decoder):
    with model.trace(tokens):
        z = nnsight.save([block.attn.c_proj.input for block in model.transformer.h])
        last = model.transformer.ln_f.input.save()
    scale = last.var(-1, unbiased=False, keepdim=True).add(1e-5).sqrt()
    kernels = [block.attn.c_proj.weight.reshape(4, 16, 64) for block in model.transformer.h]
    parts = torch.cat([torch.einsum("bthe,hed->hbtd", each.unflatten(-1, (4, 16)), kernel) for each, kernel in zip(z, kernels)])
    return (parts - parts.mean(-1, keepdim=True)) / scale @ model.lm_head.weight.T


def direct(model, tokens, encoder, decoder):
    with model.trace(tokens):
        z = nnsight.save([block.attn.c_proj.input[:, -1] for block in model.transformer.h])
        last = model.transformer.ln_f.input[:, -1].save()
    scale = last.var(-1, unbiased=False, keepdim=True).add(1e-5).sqrt()
    kernels = [block.attn.c_proj.weight.reshape(4, 16, 64) for block in model.transformer.h]
    parts = torch.cat([torch.einsum("bhe,hed->hbd", each.unflatten(-1, (4, 16)), kernel) for each, kernel in zip(z, kernels)])
    return (parts - parts.mean(-1, keepdim=True)) / scale @ model.lm_head.weight[3]


def lens(model, tokens, encoder, decoder):
    with model.trace(tokens):
        first = model.transformer.h[0].input.save()
        stack = nnsight.save([block.output for block in model.transformer.h])
    return torch.stack([model.lm_head._module(model.transformer.ln_f._module(each)) for each in [first, *stack]])


def tune(model, tokens, encoder, decoder):
    kernel, bias = torch.zeros(4, 64, 64, requires_grad=True), torch.zeros(4, 64, requires_grad=True)
    optimizer = torch.optim.SGD([kernel, bias], lr=1)
    for batch in gpt2.batches(tokens):
        with model.trace(batch):
            values = nnsight.save([block.input for block in model.transformer.h])
            truth = model.output.logits.log_softmax(-1).save()
        with torch.enable_grad():
            moved = (
                torch.stack(list(values))
                + torch.einsum("lbtd,lde->lbte", torch.stack(list(values)), kernel)
                + bias[:, None, None]
            )
            guess = model.lm_head._module(model.transformer.ln_f._module(moved)).log_softmax(-1)
            (truth.exp() * (truth - guess)).sum(-1).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return kernel


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


def transcoder(model, tokens, encoder, decoder):
    with model.trace(tokens):
        features = torch.relu(model.transformer.h[1].mlp.input @ encoder)
        features[..., 5] = 2
        model.transformer.h[1].mlp.output = features @ decoder
        logits = model.output.logits.save()
    return logits


def transplant(model, tokens, encoder, decoder):
    with model.trace(tokens.flip(0)):
        value = model.transformer.h[1].output[:, 3].save()
    with model.trace(tokens):
        model.transformer.h[2].output[:, -1] = value
        logits = model.output.logits.save()
    return logits


def collect(model, tokens, encoder, decoder):
    with tempfile.TemporaryDirectory() as folder:
        for number, batch in enumerate(gpt2.batches(tokens)):
            with model.trace(batch):
                value = model.transformer.h[2].input.save()
            np.save(f"{folder}/{number}.npy", value.reshape(-1, 64).numpy())
        return np.concatenate([np.load(f"{folder}/{number}.npy") for number in range(8)])


def monitor(model, tokens, encoder, decoder):
    optimizer = torch.optim.SGD(model._module.parameters(), lr=0.1)
    with torch.enable_grad(), model.trace(tokens):
        values = [block.output for block in model.transformer.h]
        with model.output.logits[:, -1, 3].sum().backward():
            found = nnsight.save([value.grad.square().mean().sqrt() for value in reversed(values)])
    optimizer.step()
    optimizer.zero_grad()
    return found[::-1]
