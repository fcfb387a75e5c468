"""With torchlens 2.36."""

import gpt2
import torch
import torchlens


def setup():
    torch.set_grad_enabled(False)
    return gpt2.setup()


def lens(model, tokens, encoder, decoder):
    log = torchlens.trace(model, tokens)
    values = [log.modules["transformer.drop"].out, *(log.modules[f"transformer.h.{i}"].out for i in range(4))]
    return torch.stack([model.lm_head(model.transformer.ln_f(each)) for each in values])


def splice(model, tokens, encoder, decoder):
    def edit(value, *, hook):
        features = torch.relu(value @ encoder)
        steered = features.clone()
        steered[..., 5] = 2
        return value + (steered - features) @ decoder

    where = torchlens.module("transformer.h.1")
    log = torchlens.trace(model, tokens, intervene=torchlens.when(where, edit))
    return log["output_1"].out
