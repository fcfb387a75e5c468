"""With pyvene 0.1.8."""

import tempfile

import gpt2
import numpy as np
import pyvene
import torch


def setup():
    torch.set_grad_enabled(False)
    return gpt2.setup()


def lens(model, tokens, encoder, decoder):
    places = ["transformer.h[0].input", *(f"transformer.h[{i}].output" for i in range(4))]
    collect = [{"component": place, "intervention": pyvene.CollectIntervention()} for place in places]
    (_, values), _ = pyvene.IntervenableModel(collect, model=model)({"input_ids": tokens})
    return torch.stack([model.lm_head(model.transformer.ln_f(torch.stack(list(each)).reshape(2, 16, 64))) for each in values])


def ablate(model, tokens, encoder, decoder):
    def edit(base, source):
        z = base.clone()
        z[..., 32:48] = z[..., 32:48].mean((0, 1))
        return z

    place = "transformer.h[1].attn.c_proj.input"
    return pyvene.IntervenableModel({"component": place, "intervention": edit}, model=model)({"input_ids": tokens})[1].logits


def splice(model, tokens, encoder, decoder):
    def edit(base, source):
        features = torch.relu(base @ encoder)
        steered = features.clone()
        steered[..., 5] = 2
        return base + (steered - features) @ decoder

    place = "transformer.h[2].input"
    return pyvene.IntervenableModel({"component": place, "intervention": edit}, model=model)({"input_ids": tokens})[1].logits


def collect(model, tokens, encoder, decoder):
    place = {"component": "transformer.h[2].input", "intervention": pyvene.CollectIntervention()}
    collecting = pyvene.IntervenableModel(place, model=model)
    with tempfile.TemporaryDirectory() as folder:
        for number, batch in enumerate(gpt2.batches(tokens)):
            (_, values), _ = collecting({"input_ids": batch})
            np.save(f"{folder}/{number}.npy", torch.stack(list(values)).reshape(-1, 64).numpy())
        return np.concatenate([np.load(f"{folder}/{number}.npy") for number in range(8)])
