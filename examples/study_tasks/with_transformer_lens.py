"""With TransformerLens 4.3, whose bridge takes a model of transformers from memory, and a tokenizer from a folder."""

import functools
import tempfile

import gpt2
import numpy as np
import torch
from transformer_lens import patching
from transformer_lens.model_bridge import TransformerBridge
from transformer_lens.tools.analysis import (
    EdgeAttributionConfig,
    attribution_patch,
    direct_logit_attribution,
    faithfulness as faithfulness_of,
    fit_sparse_probe,
    get_act_patch_direct_path_all_sources,
)

# What says which number is meant, or brings values into one form, is none of a task's lines.
SHARED = ("first", "by_modules")
NO = {
    "integrated": "attributions by hand",
    "occlusion": "attributions by hand",
    "conductance": "attributions by hand",
    "shap": "attributions by hand",
    "smoothed": "attributions by hand",
    "edges_integrated": "ig_steps above 1 raises NotImplementedError",
    "features": "circuit-tracer does that, on TransformerLens 3.2",
}


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


def gradients(model, tokens, encoder, decoder):
    slopes = []
    backward = [(f"blocks.{i}.hook_resid_post", lambda slope, hook: slopes.append(slope)) for i in range(4)]
    with torch.enable_grad(), model.hooks(bwd_hooks=backward):
        model(tokens)[:, -1, 3].sum().backward()
    return slopes[::-1]


def compiled(model, tokens, encoder, decoder):
    found = []
    with model.hooks([(f"blocks.{i}.hook_resid_post", lambda value, hook: found.append(value)) for i in range(4)]):
        compiling(model)(tokens)
    return found


@functools.cache
def compiling(model):
    return torch.compile(model)


def direct(model, tokens, encoder, decoder):
    return direct_logit_attribution(model, tokens, 3, unit="head").attribution[:16]


def tune(model, tokens, encoder, decoder):
    kernel, bias = torch.zeros(4, 64, 64, requires_grad=True), torch.zeros(4, 64, requires_grad=True)
    optimizer = torch.optim.SGD([kernel, bias], lr=1)
    for batch in gpt2.batches(tokens):
        logits, found = model.run_with_cache(batch)
        values, truth = found.accumulated_resid(incl_mid=False)[:4], logits.log_softmax(-1)
        with torch.enable_grad():
            moved = values + torch.einsum("lbtd,lde->lbte", values, kernel) + bias[:, None, None]
            guess = model.unembed(model.ln_final(moved)).log_softmax(-1)
            (truth.exp() * (truth - guess)).sum(-1).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return kernel


def transcoder(model, tokens, encoder, decoder):
    kept = []

    def read(value, hook):
        kept.append(torch.relu(value @ encoder))
        kept[0][..., 5] = 2

    edits = [("blocks.1.mlp.hook_in", read), ("blocks.1.mlp.hook_out", lambda value, hook: kept[0] @ decoder)]
    return model.run_with_hooks(tokens, fwd_hooks=edits)


def transplant(model, tokens, encoder, decoder):
    _, found = model.run_with_cache(tokens.flip(0))

    def edit(value, hook):
        return torch.cat([value[:, :-1], found["resid_post", 1][:, 3:4]], 1)

    return model.run_with_hooks(tokens, fwd_hooks=[("blocks.2.hook_resid_post", edit)])


def paths(model, tokens, encoder, decoder):
    (_, clean), (_, corrupt) = model.run_with_cache(tokens.flip(0)), model.run_with_cache(tokens)
    return get_act_patch_direct_path_all_sources(
        model, tokens, clean, corrupt, lambda logits: logits[:, -1, 3].sum(), verbose=False
    )


def first(logits):
    return logits[0, -1, 3]


def by_modules(scores):
    """Scores of edges, added up over positions and over the heads that read: from embeddings, heads and MLPs to modules and the end."""
    found = torch.zeros(21, 9)
    for (writer, reader), score in scores.items():
        row = 0 if writer.layer is None else 1 + 5 * writer.layer + (4 if writer.head is None else writer.head)
        found[row, {"mlp_in": 2 * reader.layer + 1, "logits": 8}.get(reader.kind, 2 * reader.layer)] += score
    return found


def edges(model, tokens, encoder, decoder):
    with torch.enable_grad():
        found = attribution_patch(model, tokens[1:], tokens[:1], first, EdgeAttributionConfig("edge"))
    return by_modules(found.edge_scores)


def circuit(model, tokens, encoder, decoder):
    with torch.enable_grad():
        found = attribution_patch(model, tokens[1:], tokens[:1], first, EdgeAttributionConfig("edge")).top_edges(16)
    return faithfulness_of(model, tokens[:1], tokens[1:], first, found).recovered


def faithfulness(model, tokens, encoder, decoder):
    with torch.enable_grad():
        found = attribution_patch(model, tokens[1:], tokens[:1], first, EdgeAttributionConfig("edge")).edge_scores
    kept = [edge for edge in found if edge[0].layer in (None, 0, 1)]
    others = [edge for edge in found if edge[0].layer not in (None, 0, 1)]
    return [faithfulness_of(model, tokens[:1], tokens[1:], first, each).recovered for each in (kept, others)]


def probe(model, tokens, encoder, decoder):
    found = [model.run_with_cache(each, names_filter="blocks.1.hook_resid_post")[1] for each in gpt2.batches(tokens)]
    rows = torch.cat([each["blocks.1.hook_resid_post"].reshape(-1, 64) for each in found])
    labels = torch.cat(gpt2.batches(tokens)).ravel() % 2
    return fit_sparse_probe(rows, labels, k=64).coefficients  # logistic, of a part of the rows


def monitor(model, tokens, encoder, decoder):
    optimizer, sizes = torch.optim.SGD(model.parameters(), lr=0.1), []
    watch = [(f"blocks.{i}.hook_resid_post", lambda slope, hook: sizes.append(slope.square().mean().sqrt())) for i in range(4)]
    with torch.enable_grad(), model.hooks(bwd_hooks=watch):
        model(tokens)[:, -1, 3].sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    return sizes[::-1]
