"""With torchlens 2.36.1."""

import tempfile

import gpt2
import torch
import torchlens
from torchlens import attribution, mechinterp

# What says which number is meant, or brings values into one form, is none of a task's lines.
SHARED = ("number",)
NO = {
    "sweep": "`patch_residual_grid` refuses the first block's input",
    "compiled": "it unwraps compiled models",
    "ablate": "heads can be read, but not chosen for `intervene`",
    "tune": "no lenses that are trained",
    "paths": "edges of operations, one at a time",
    "edges": "edges of operations, one at a time",
    "edges_integrated": "edges of operations, one at a time",
    "circuit": "no circuits",
    "faithfulness": "no circuits",
    "probe": "no probes",
    "features": "no graphs of features",
}


def setup():
    return gpt2.setup()


def number(output):
    return output.logits[:, -1, 3].sum()


def cache(model, tokens, encoder, decoder):
    log = torchlens.trace(model, tokens)
    return [log.modules[f"transformer.h.{i}"].out for i in range(4)]


def parts(model, tokens, encoder, decoder):
    return mechinterp.residual_decomposition(torchlens.trace(model, tokens)).stack()


def patterns(model, tokens, encoder, decoder):
    log = torchlens.trace(model, tokens)
    return [log.modules[f"transformer.h.{i}.attn"].facets["pattern"] for i in range(4)]


def edited(model, tokens, place, edit):
    """The logits with one module's output changed."""
    return torchlens.trace(model, tokens, intervene=torchlens.when(torchlens.module(place), edit))["output_1"].out


def steer(model, tokens, encoder, decoder):
    return edited(model, tokens, "transformer.h.1", lambda value, *, hook: value + decoder[0])


def attribute(model, tokens, encoder, decoder):
    given, layers = of_embeddings(model, tokens), [f"model.transformer.h.{i}" for i in range(4)]
    return [attribution.layer_attribution(*given, target=number, layer=layer).values for layer in layers]


def gradients(model, tokens, encoder, decoder):
    log = torchlens.trace(model, tokens, capture=torchlens.options.CaptureOptions(save_grads=True))
    log.log_backward(log["output_1"].out[:, -1, 3].sum())
    return [log.modules[f"transformer.h.{i}"].grad for i in range(4)]


def heads(model, tokens, encoder, decoder):
    log = torchlens.trace(model, tokens)
    found = mechinterp.apply_norm_scale(log, mechinterp.attention_head_contributions(log)).stack()
    return found.unflatten(0, (4, 5))[:, :4].flatten(0, 1) @ model.lm_head.weight.T


def lens(model, tokens, encoder, decoder):
    found = mechinterp.residual_accumulation(torchlens.trace(model, tokens), include_mid=False).stack()
    return model.lm_head(model.transformer.ln_f(found))


def direct(model, tokens, encoder, decoder):
    log = torchlens.trace(model, tokens)
    found = mechinterp.attention_head_contributions(log)
    return (
        mechinterp.direct_logit_contributions(log, found, answer=3).values.unflatten(0, (4, 5))[:, :4].flatten(0, 1)[:, :, 0, 0]
    )


def splice(model, tokens, encoder, decoder):
    def edit(value, *, hook):
        features = torch.relu(value @ encoder)
        steered = features.clone()
        steered[..., 5] = 2
        return value + (steered - features) @ decoder

    return edited(model, tokens, "transformer.h.1", edit)


def transcoder(model, tokens, encoder, decoder):
    log = torchlens.trace(model, tokens)
    features = torch.relu(log.modules["transformer.h.1.ln_2"].out @ encoder)
    features[..., 5] = 2
    return edited(model, tokens, "transformer.h.1.mlp", lambda value, *, hook: features @ decoder)


def transplant(model, tokens, encoder, decoder):
    value = torchlens.trace(model, tokens.flip(0)).modules["transformer.h.1"].out[:, 3:4]
    return edited(model, tokens, "transformer.h.2", lambda base, *, hook: torch.cat([base[:, :-1], value], 1))


class OfEmbeddings(torch.nn.Module):
    """The logits of embeddings."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, embeddings):
        return self.model(inputs_embeds=embeddings)


def of_embeddings(model, tokens):
    return OfEmbeddings(model), model.transformer.wte(tokens).detach()


def integrated(model, tokens, encoder, decoder):
    baseline = model.transformer.wte(0 * tokens).detach()
    return attribution.integrated_gradients(*of_embeddings(model, tokens), target=number, baseline=baseline).values


def occlusion(model, tokens, encoder, decoder):
    rows = [attribution.occlusion_map(*of_embeddings(model, each[None]), target=number, window=(1, 64)).values for each in tokens]
    return torch.cat(rows)


def conductance(model, tokens, encoder, decoder):
    given = of_embeddings(model, tokens)
    return attribution.layer_conductance(*given, target=number, layer="model.transformer.h.1").values


def shap(model, tokens, encoder, decoder):
    given, zeros = of_embeddings(model, tokens), torch.zeros(1, 16, 64)
    return attribution.gradient_shap(*given, target=number, baselines=zeros, n_samples=32).values


def smoothed(model, tokens, encoder, decoder):
    given = of_embeddings(model, tokens)
    return attribution.smoothgrad(*given, target=number, n_samples=16).values  # of absolute values


def collect(model, tokens, encoder, decoder):
    with tempfile.TemporaryDirectory() as folder:
        rows = torch.cat(gpt2.batches(tokens))
        torchlens.extract_dataset(model, rows, torchlens.module("transformer.h.1"), 2, output_dir=folder, progress=False)
        return torch.cat(list(torchlens.dataset_extraction.load_extraction(folder).activations.values())).reshape(-1, 64)


def monitor(model, tokens, encoder, decoder):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    log = torchlens.trace(model, tokens, capture=torchlens.options.CaptureOptions(save_grads=True))
    log.log_backward(log["output_1"].out[:, -1, 3].sum())
    optimizer.step()
    optimizer.zero_grad()
    return [log.modules[f"transformer.h.{i}"].grad.square().mean().sqrt() for i in range(4)]
