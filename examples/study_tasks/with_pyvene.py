"""With pyvene 0.1.8."""

import functools
import tempfile

import gpt2
import numpy as np
import pyvene
import torch

NO = {
    "patterns": "of the tuples that modules return, the first value alone",
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
    "tune": "no lenses",
    "features": "no graphs of features",
}


def setup():
    torch.set_grad_enabled(False)
    return gpt2.setup()


def collected(model, places, tokens):
    """The values of some places."""
    collect = [{"component": place, "intervention": pyvene.CollectIntervention()} for place in places]
    (_, values), _ = pyvene.IntervenableModel(collect, model=model)({"input_ids": tokens})
    return [torch.stack(list(each)) for each in values]


def edited(model, tokens, edits):
    """The logits with the values of some places given by functions of (base, source)."""
    edits = [{"component": place, "intervention": edit} for place, edit in edits.items()]
    return pyvene.IntervenableModel(edits, model=model)({"input_ids": tokens})[1].logits


def cache(model, tokens, encoder, decoder):
    return collected(model, [f"transformer.h[{i}].output" for i in range(4)], tokens)


def parts(model, tokens, encoder, decoder):
    places = [f"transformer.h[{i}].{name}.output" for i in range(4) for name in ("attn", "mlp")]
    found = collected(model, ["transformer.wte.output", "transformer.wpe.output", *places], tokens)
    return torch.stack(torch.broadcast_tensors(*[each.reshape(-1, 16, 64) for each in found]))


def steer(model, tokens, encoder, decoder):
    return edited(model, tokens, {"transformer.h[1].output": lambda base, source: base + decoder[0]})


def sweep(model, tokens, encoder, decoder):
    found = []
    for layer in range(4):
        place = {"component": f"transformer.h[{layer}].input", "intervention": pyvene.VanillaIntervention()}
        patching = pyvene.IntervenableModel(place, model=model)
        for position in range(16):
            where = {"sources->base": position}
            found.append(patching({"input_ids": tokens.flip(0)}, [{"input_ids": tokens}], where)[1].logits[0, -1, 3])
    return torch.stack(found).reshape(4, 16)


def with_gradients(model, tokens):
    """The values of the blocks, which know their gradients."""
    values = []

    def keep(base, source):
        values.append(base.detach().requires_grad_() if not values else base)
        values[-1].retain_grad()
        return values[-1]

    with torch.enable_grad():
        edited(model, tokens, {f"transformer.h[{i}].output": keep for i in range(4)})[:, -1, 3].sum().backward()
    return values


def attribute(model, tokens, encoder, decoder):
    return [value * value.grad for value in with_gradients(model, tokens)]


def gradients(model, tokens, encoder, decoder):
    return [value.grad for value in with_gradients(model, tokens)]


def compiled(model, tokens, encoder, decoder):
    return collected(compiling(model), [f"transformer.h[{i}].output" for i in range(4)], tokens)


@functools.cache
def compiling(model):
    return torch.compile(model)


def heads(model, tokens, encoder, decoder):
    *z, last = collected(model, [*(f"transformer.h[{i}].attn.c_proj.input" for i in range(4)), "transformer.ln_f.input"], tokens)
    scale = last.var(-1, unbiased=False, keepdim=True).add(1e-5).sqrt()
    kernels = [block.attn.c_proj.weight.reshape(4, 16, 64) for block in model.transformer.h]
    parts = torch.cat([torch.einsum("bthe,hed->hbtd", each.unflatten(-1, (4, 16)), kernel) for each, kernel in zip(z, kernels)])
    return (parts - parts.mean(-1, keepdim=True)) / scale @ model.lm_head.weight.T


def direct(model, tokens, encoder, decoder):
    return heads(model, tokens, encoder, decoder)[:, :, -1, 3]


def lens(model, tokens, encoder, decoder):
    values = collected(model, ["transformer.h[0].input", *(f"transformer.h[{i}].output" for i in range(4))], tokens)
    return torch.stack([model.lm_head(model.transformer.ln_f(each)) for each in values])


def ablate(model, tokens, encoder, decoder):
    def edit(base, source):
        z = base.clone()
        z[..., 32:48] = z[..., 32:48].mean((0, 1))
        return z

    return edited(model, tokens, {"transformer.h[1].attn.c_proj.input": edit})


def splice(model, tokens, encoder, decoder):
    def edit(base, source):
        features = torch.relu(base @ encoder)
        steered = features.clone()
        steered[..., 5] = 2
        return base + (steered - features) @ decoder

    return edited(model, tokens, {"transformer.h[2].input": edit})


def transcoder(model, tokens, encoder, decoder):
    kept = []

    def read(base, source):
        kept.append(torch.relu(base @ encoder))
        kept[0][..., 5] = 2
        return base

    edits = {"transformer.h[1].mlp.input": read, "transformer.h[1].mlp.output": lambda base, source: kept[0] @ decoder}
    return edited(model, tokens, edits)


def transplant(model, tokens, encoder, decoder):
    (value,) = collected(model, ["transformer.h[1].output"], tokens.flip(0))

    def edit(base, source):
        return torch.cat([base[:, :-1], value[:, 3:4]], 1)

    return edited(model, tokens, {"transformer.h[2].output": edit})


def collect(model, tokens, encoder, decoder):
    place = {"component": "transformer.h[2].input", "intervention": pyvene.CollectIntervention()}
    collecting = pyvene.IntervenableModel(place, model=model)
    with tempfile.TemporaryDirectory() as folder:
        for number, batch in enumerate(gpt2.batches(tokens)):
            (_, values), _ = collecting({"input_ids": batch})
            np.save(f"{folder}/{number}.npy", torch.stack(list(values)).reshape(-1, 64).numpy())
        return np.concatenate([np.load(f"{folder}/{number}.npy") for number in range(8)])


def monitor(model, tokens, encoder, decoder):
    sizes = {}

    def watch(name):
        def hook(base, source):
            base.register_hook(lambda slope: sizes.update({name: slope.square().mean().sqrt()}))
            return base

        return {"component": f"transformer.h[{name}].output", "intervention": hook}

    watched = pyvene.IntervenableModel([watch(i) for i in range(4)], model=model)
    watched.enable_model_gradients()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.enable_grad():
        watched({"input_ids": tokens})[1].logits[:, -1, 3].sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    return [sizes[i] for i in range(4)]
