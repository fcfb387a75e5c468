"""Six tasks with TransformerLens, on a model of its own of the same size."""

import torch
from transformer_lens import patching
from transformer_lens.config import TransformerBridgeConfig
from transformer_lens.model_bridge.sources.native import boot


def read(model, tokens):
    return model.run_with_cache(tokens, names_filter=lambda name: name.endswith("resid_post"))[1]


def gradients(model, tokens):
    found = {}
    model.add_hook(lambda name: name.endswith("resid_post"), lambda grad, hook: found.update({hook.name: grad}), dir="bwd")
    model(tokens, return_type="loss").backward()
    model.reset_hooks()
    return found


def ablate(model, tokens):
    return model.run_with_hooks(tokens, fwd_hooks=[("blocks.0.hook_attn_out", lambda value, hook: value * 0)])


def pattern(model, tokens):
    return model.run_with_cache(tokens)[1]["pattern", 0]


def sweep(model, clean, corrupt, metric):
    _, cache = model.run_with_cache(clean)
    return patching.get_act_patch_resid_pre(model, corrupt, cache, metric)  # over layers and positions


def train(model, optimizer, tokens, steps):
    sizes = []
    model.add_hook(
        lambda name: name.endswith("resid_post"), lambda grad, hook: sizes.append(grad.square().mean().sqrt()), dir="bwd"
    )
    for _ in range(steps):
        optimizer.zero_grad()
        model(tokens, return_type="loss").backward()
        optimizer.step()
    model.reset_hooks()
    return sizes


if __name__ == "__main__":
    torch.manual_seed(0)
    sizes = {"n_layers": 2, "d_model": 16, "n_ctx": 8, "d_head": 8, "n_heads": 2, "d_vocab": 16, "d_mlp": 32}
    model, tokens = boot(TransformerBridgeConfig(**sizes, act_fn="gelu", device="cpu")).eval(), torch.arange(8).reshape(1, 8)
    print(len(read(model, tokens)), len(gradients(model, tokens)), pattern(model, tokens).shape)
    print(ablate(model, tokens).shape, sweep(model, tokens, (tokens + 1) % 16, lambda out: out[0, -1, 0]).shape)
    print(len(train(model, torch.optim.SGD(model.parameters(), 0.1), tokens, 3)))
