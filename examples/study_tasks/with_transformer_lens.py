"""With TransformerLens 3.2, whose HookedTransformer takes weights from memory."""

import gpt2
import torch
from transformer_lens import HookedTransformer, HookedTransformerConfig
from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights


def setup():
    torch.set_grad_enabled(False)
    plain, given = gpt2.setup()
    sizes = {"n_layers": 4, "n_heads": 4, "d_model": 64, "d_head": 16, "d_mlp": 256, "d_vocab": 100, "n_ctx": 16}
    config = HookedTransformerConfig(**sizes, act_fn="gelu_new", normalization_type="LN", device="cpu")
    model = HookedTransformer(config)
    model.load_state_dict(convert_gpt2_weights(plain, config), strict=False)
    return model.eval(), given


def heads(model, tokens, encoder, decoder):
    _, cache = model.run_with_cache(tokens)
    return cache.stack_head_results(apply_ln=True) @ model.W_U


def lens(model, tokens, encoder, decoder):
    _, cache = model.run_with_cache(tokens)
    return model.unembed(model.ln_final(cache.accumulated_resid(incl_mid=False)))


def ablate(model, tokens, encoder, decoder):
    def edit(z, hook):
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
