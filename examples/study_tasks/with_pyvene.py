"""With pyvene 0.1.8."""

import gpt2
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
