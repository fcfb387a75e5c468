"""With TransformerLens 4.3, whose bridge takes a model of transformers from memory, and a tokenizer from a folder."""

import tempfile

import gpt2
import numpy as np
import torch
from transformer_lens import patching
from transformer_lens.model_bridge import TransformerBridge


def setup():
    torch.set_grad_enabled(False)
    plain, given = gpt2.setup()
    with gpt2.saved(plain) as folder:
        model = TransformerBridge.boot_transformers(folder, hf_model=plain, device="cpu")
    model.enable_compatibility_mode(no_processing=True)
    return model.eval(), given


def heads(model, tokens, encoder, decoder):
    _, cache = model.run_with_cache(tokens)
    return cache.stack_head_results(apply_ln=True) @ model.W_U


def lens(model, tokens, encoder, decoder):
    _, cache = model.run_with_cache(tokens)
    return model.unembed(model.ln_final(cache.accumulated_resid(incl_mid=False)))


def ablate(model, tokens, encoder, decoder):
    def edit(z, hook):
        z = z.clone()
        z[:, :, 2] = z[:, :, 2].mean((0, 1))
        return z

    return model.run_with_hooks(tokens, fwd_hooks=[("blocks.1.attn.hook_z", edit)])


def splice(model, tokens, encoder, decoder):
    def edit(value, hook):
        features = torch.relu(value @ encoder)
        steered = features.clone()
        steered[..., 5] = 2
        return value + (steered - features) @ decoder

    return model.run_with_hooks(tokens, fwd_hooks=[("blocks.1.hook_resid_post", edit)])


def cache(model, tokens, encoder, decoder):
    _, found = model.run_with_cache(tokens)
    return [found["resid_post", i] for i in range(4)]


def parts(model, tokens, encoder, decoder):
    _, found = model.run_with_cache(tokens)
    return found.decompose_resid(mode="all")


def patterns(model, tokens, encoder, decoder):
    _, found = model.run_with_cache(tokens)
    return [found["pattern", i] for i in range(4)]


def steer(model, tokens, encoder, decoder):
    return model.run_with_hooks(tokens, fwd_hooks=[("blocks.1.hook_resid_post", lambda value, hook: value + decoder[0])])


def sweep(model, tokens, encoder, decoder):
    _, clean = model.run_with_cache(tokens)
    return patching.get_act_patch_resid_pre(model, tokens.flip(0), clean, lambda logits: logits[0, -1, 3])


def attribute(model, tokens, encoder, decoder):
    names, values, slopes = [f"blocks.{i}.hook_resid_post" for i in range(4)], [], []
    forward = [(name, lambda value, hook: values.append(value.detach())) for name in names]
    backward = [(name, lambda slope, hook: slopes.append(slope)) for name in names]
    with torch.enable_grad(), model.hooks(forward, backward):
        model(tokens)[:, -1, 3].sum().backward()
    return [value * slope for value, slope in zip(values, slopes[::-1])]


def collect(model, tokens, encoder, decoder):
    with tempfile.TemporaryDirectory() as folder:
        for number, batch in enumerate(gpt2.batches(tokens)):
            _, cache = model.run_with_cache(batch, names_filter="blocks.1.hook_resid_post")
            np.save(f"{folder}/{number}.npy", cache["blocks.1.hook_resid_post"].reshape(-1, 64).numpy())
        return np.concatenate([np.load(f"{folder}/{number}.npy") for number in range(8)])
